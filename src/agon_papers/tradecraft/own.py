"""Games played here in the form of the paper's (`Facts`), so that its tables and figures can be made of them."""

from dataclasses import replace

import pandas as pd

from agon.errors import AgonError
from agon.games.rating.game import THEORY_OF_MIND
from agon.games.rating.metrics import averages
from agon.games.tradecraft.metrics import players
from agon_papers.tradecraft.facts import DIMENSIONS, MODELS, PANELS, PERSONAS, Facts, group_of

PASS = 2
"""The pass of `Facts.scores` that the paper's figures are made of."""


def own_facts(turns: pd.DataFrame, scores: pd.DataFrame, paper: Facts) -> Facts:
    """Own games of two models, and the scores of one rater (agon.games.rating.metrics.scores), as `Facts`.

    Players of different models are called by their model. Players of one model are called by their persona, with -1
    and -2 where both have the same; each of these has every seat equally often. `paper`: the printed numbers. Those of
    a persona stand beside the same persona. Raises AgonError for games of more than one model's personas.
    """
    seats = _seats(turns)
    wide = seats.pivot(index="match", columns="seat", values=["name", "model", "persona", "won"])
    wide.columns = [f"{column}_{seat}" for column, seat in wide.columns]
    games = wide.join(seats.drop_duplicates("match").set_index("match")[["matchup", "problem", "turns"]]).reset_index()
    games = games.rename(columns={"match": "game"}).assign(logged=True, cut=False)
    games[[f"{column}_{seat}" for column in ("target", "hand") for seat in (0, 1)]] = None
    scored = scores[scores.dimension.isin(list(DIMENSIONS)) & scores.match.isin(games.game)]
    scored = scored.rename(columns={"match": "game", "value": "score"}).assign(**{"pass": PASS})
    return replace(
        paper,
        turns=turns[turns.match.astype("str").isin(games.game)],
        games=games.astype({"won_0": bool, "won_1": bool}),
        scores=scored[["pass", "game", "dimension", "turn", "seat", "score"]],
        figure_4=_printed(paper, seats),
        log_turns=int(games.turns.max()),
    )


def panels(facts: Facts) -> dict[str, tuple[str, str]]:
    """Panel of Figure 4 -> its two players. The pairs of models are a1, a2 ..., as the paper's a to c have other models."""
    pairs = facts.seats[~facts.seats.group.isin(PERSONAS)].groupby("matchup").name.unique()
    models = {f"a{number}": (names[0], names[1]) for number, (_, names) in enumerate(pairs.items(), 1)}
    return models | {panel: (_own_name(one), _own_name(other)) for panel, (one, other) in _persona_panels().items()}


def theory_of_mind(scores: pd.DataFrame, facts: Facts) -> pd.DataFrame:
    """Table 2: the share of turns that show an order. Columns: name, order, value, n, low, high, games.

    `scores`: the ratings by one rater. Names are models, in the games between models, and personas.
    The orders are called as in the printed table.
    """
    orders = scores[scores.dimension == THEORY_OF_MIND].rename(columns={"aspect": "order"})
    orders = orders.replace({"order": {"third": "third or higher"}})
    table = orders.merge(facts.seats[["match", "seat", "group"]], on=["match", "seat"]).rename(
        columns={"group": "name"}
    )
    games = table.groupby("name").match.nunique().rename("games").reset_index()
    shares = averages(table, ["name", "order"]).merge(games, on="name")
    return shares.sort_values(["name", "order"], ignore_index=True)


def coverage(facts: Facts, paper: Facts) -> pd.DataFrame:
    """How much of the paper's design was played: players, played, designed (numbers of games; played ends at designed).

    A row per pair of personas, and per pair of models that met. In the design each pair plays every problem of the
    paper's games in both seatings. Games of other problems are not in the design.
    """
    problems = _problems(paper)
    games = facts.games[facts.games.problem.isin(problems)].matchup.value_counts()
    players = facts.seats.groupby("matchup", sort=False).name.unique()
    names = {panel: tuple(map(_own_name, pair)) for panel, pair in _persona_panels().items()}
    pairs = {matchup: tuple(pair) for matchup, pair in players.items() if matchup not in names} | names
    designed = 2 * len(problems)
    rows = [(" against ".join(pair), min(games.get(matchup, 0), designed)) for matchup, pair in pairs.items()]
    return pd.DataFrame(rows, columns=["players", "played"]).assign(designed=designed)


def missing_problems(facts: Facts, paper: Facts) -> list[str]:
    """The problems of the paper's games that nobody has played here."""
    return sorted(_problems(paper) - set(facts.games.problem))


def _problems(paper: Facts) -> set[str]:
    """The problems of the paper's games, as games here are called: minecraft_public-00 for 0."""
    return {f"minecraft_public-{int(number):02}" for number in paper.games.problem.dropna()}


def seatings(facts: Facts) -> pd.DataFrame:
    """How often each player of a pair had each seat, by problem: matchup, problem, name, first, second, balanced."""
    table = facts.seats.groupby(["matchup", "problem", "name", "seat"]).size().unstack("seat", fill_value=0)
    table = table.reindex(columns=[0, 1], fill_value=0).set_axis(["first", "second"], axis=1)
    return table.assign(balanced=table["first"] == table.second).reset_index()


def _seats(turns: pd.DataFrame) -> pd.DataFrame:
    """A row per seat of the matches between two models: match, seat, model, persona, name, matchup, problem, turns, won."""
    rows = turns[turns.game.eq("tradecraft")]
    seats = players(rows).dropna(subset="model") if len(rows) else pd.DataFrame({"match": []})
    seats = seats[seats.groupby("match").match.transform("size") == 2]
    if seats.empty:
        raise AgonError("there are no matches of TradeCraft between two models in these turns")
    matches = rows.groupby("match", observed=True).agg(
        problem=("variant", "first"), turns=("round", "max"), repetition=("repetition", "first")
    )
    matches = matches.set_axis(matches.index.astype("str")).astype({"problem": "str"})
    seats = seats.merge(matches, left_on="match", right_index=True)
    seats["persona"] = seats.agent.map(_persona)
    seats["name"] = _names(seats)
    panels = {frozenset(map(_own_name, names)): panel for panel, names in _persona_panels().items()}
    pairs = {match: frozenset(names) for match, names in seats.groupby("match").name}
    matchups = {match: panels.get(pair) or "_vs_".join(sorted(pair)) for match, pair in pairs.items()}
    seats["matchup"] = seats.match.map(matchups)
    return seats.sort_values(["match", "seat"], ignore_index=True)


def _names(seats: pd.DataFrame) -> pd.Series:
    """The name of the player on each seat; see `own_facts`. Raises AgonError for personas of several models."""
    matches = seats.groupby("match")
    alike = matches.model.transform("nunique") == 1
    models = sorted(seats[alike].model.unique())
    if len(models) > 1:
        raise AgonError(f"personas of several models ({', '.join(models)}) are in these turns: give the turns of one")
    names = seats.persona.where(alike, seats.model)
    same = alike & matches.persona.transform("nunique").eq(1)
    first = seats.assign(name=names)[same & seats.seat.eq(0)].sort_values(["repetition", "match"])
    nth = first.groupby(["problem", "name"]).cumcount()
    order = seats.match.map(dict(zip(first["match"], nth, strict=True))).fillna(0).astype(int)
    number = 1 + (seats.seat + order) % 2  # in every other match of a problem the two exchange their seats
    return names.mask(same, names + "-" + number.astype(str))


def _persona(agent: str) -> str:
    """The persona of an agent of conf/agent: tradecraft_cooperative is cooperative, and one without a persona unprimed."""
    return group_of(agent) if group_of(agent) in PERSONAS else "unprimed"


def _persona_panels() -> dict[str, tuple[str, str]]:
    return {panel: names for panel, names in PANELS.items() if group_of(names[0]) in PERSONAS}


def _own_name(name: str) -> str:
    """A persona's name without the paper's model: gemini-cooperative-1 is cooperative-1."""
    return name.removeprefix("gemini-")


def _printed(paper: Facts, seats: pd.DataFrame) -> pd.DataFrame:
    """Figure 4 with own names: the printed values of personas, and rows without a printed value for the pairs of models."""
    printed = paper.figure_4.assign(name=paper.figure_4.name.map(_own_name))
    persona_panels = printed.panel.isin(list(_persona_panels()))
    printed = printed[persona_panels | printed.panel.isin(["j", "k"])]
    printed = printed.assign(matchup=printed.matchup.mask(persona_panels, printed.panel))
    models = seats[~seats.name.map(group_of).isin(PERSONAS)].drop_duplicates(["matchup", "name"])
    rows = [
        (f"a{number}", matchup, name, measure)
        for number, (matchup, part) in enumerate(models.groupby("matchup"), 1)
        for name in part.name
        for measure in DIMENSIONS
    ]
    bars = sorted(set(printed.measure) - set(DIMENSIONS))
    rows += [("j", None, name, measure) for name in sorted(set(models.name) - set(MODELS)) for measure in bars]
    new = pd.DataFrame(rows, columns=["panel", "matchup", "name", "measure"])
    return pd.concat([new, printed], ignore_index=True)
