"""Models beside each other, one's own beside those of the counterfactual paper: cooperation by round, and the round of comprehension.

`cooperation_figure(cooperation_by_round("transcripts/mine.parquet"))` is the figure of your matches beside the paper's.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from textwrap import fill
from typing import TypeAlias

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from agon import figures
from agon.conf import name_now, new_names, offered
from agon.errors import AgonError
from agon.games.matrix.metrics import limits, per_match, shares_over_rounds
from agon.games.tables import equilibrium_table, payoff_table
from agon.metrics import summary
from agon.metrics.interval import proportion_interval
from agon.paths import input_path, shown
from agon.turns import read, read_games
from agon_papers.counterfactual.cells import MODELS, SPELLED, VARIANTS

Turns: TypeAlias = str | Path | pd.DataFrame
"""A turns table, or the file that holds one."""
RECORDED = "transcripts/counterfactual.parquet"
PEERS = ["zs", "cot", "spp"]
"""What models are called as opponents."""
OWN = " (own)"
"""What follows the name of a model that is not the paper's."""
FEW = 3
"""Decisions behind a point for which an interval is drawn."""
FAMILIES = {"pd": "Prisoner's dilemma family", "rps": "Rock, paper, scissors family"}


@dataclass(frozen=True)
class Compared:
    """Which matches are compared, a row each, and of what."""

    matches: pd.DataFrame
    """match, game, variant, model (as figures call it), agent, opponent, own; the player in seat 0 is the one that is looked at."""
    turns: pd.DataFrame
    """Of the paper's models, or of any, where nothing stands beside them."""
    own: pd.DataFrame | None
    """One's own turns."""
    games: pd.DataFrame
    """The games of both tables (agon.turns.read_games)."""
    left_out: str
    """What is in one of the tables alone, in words."""
    others: tuple[str, ...] = ()
    """Opponents that both have met, and that are not among these matches: each can be looked at alone."""

    @cached_property
    def opponents(self) -> str:
        """Whom all of them played against, in words."""
        met = set(self.matches.opponent)
        if met != set(PEERS):
            return ", ".join(sorted(met))
        seats = pd.concat([part[["match", "model"]].drop_duplicates().astype(str) for part in self.parts()])
        return "models" if seats.match.duplicated().any() else "copies of themselves"

    @property
    def agents(self) -> str:
        """How the models were asked, in words."""
        return ", ".join(sorted(set(self.matches.agent)))

    def named(self, rows: pd.DataFrame) -> pd.DataFrame:
        """`rows` of compared matches, with `model` as figures call it, and `own`."""
        names = self.matches.set_index("match")
        ids = rows.match.astype(str)
        return rows.assign(model=ids.map(names.model), own=ids.map(names.own).astype(bool))

    def parts(self) -> Iterator[pd.DataFrame]:
        """The compared matches of each table, which keep their own types."""
        for table in (self.turns, self.own):
            if table is not None:
                yield table[table.match.isin(self.matches.match)]


def compared(
    own: Turns | None = None,
    recorded: Turns = RECORDED,
    models: Sequence[str] = (),
    agents: Sequence[str] = (),
    opponents: Sequence[str] = (),
    usual: Sequence[str] = (),
    games: pd.DataFrame | None = None,
) -> Compared:
    """The matches in which like can be laid beside like: games and variants that were recorded, agents and opponents that both have.

    `own`: turns of one's own; None: of `recorded` alone, which may be any turns. `models`, `agents` and `opponents` choose; without
    them: the paper's eight models or else all, the `usual` agents or else all that both have or else all, and, where the paper's
    models are, models as opponents or else all that both have met. An
    agent of one's own counts as the style of the paper that its name begins with (zs_constrained as zs).
    `games`: the games of both tables, where turns are given and no files; else they are read beside the files.
    Matches of other games than two players' with a table of payoffs are left out. Raises AgonError where nothing can be compared.
    """
    for name, given in (("models", models), ("agents", agents), ("opponents", opponents)):
        if isinstance(given, str):
            raise AgonError(f"{name}={given} is a text: write a list, {name}=[{given}]")
    opponents = [name_now("agent", each) for each in opponents]
    games = _games(*([recorded] if own is None else [own, recorded])) if games is None else games
    theirs, mine, told = _turns(recorded), None, [""]
    found = _players(theirs, games)
    of_paper = found.model.isin(list(MODELS))
    if not models and of_paper.any():
        found = found[of_paper]
    found = found.assign(own=False)
    if own is not None:
        mine = _turns(own)
        if mine.empty:
            raise AgonError(f"{_called(own)} is empty: no match was played")
        ours, there = _players(mine, games).assign(own=True), set(_pairs(found))
        if twice := set(ours.match) & set(found.match):
            raise AgonError(f"match {min(twice)} is in both tables: name turns of your own")
        known = ours[_pairs(ours).isin(there)]
        if known.empty and there:
            whose = "the paper's" if of_paper.any() else "those recorded"
            raise AgonError(
                f"no game of {_called(own)} is among {whose}: it has {_listed(set(_pairs(mine)))}, and they are {_listed(there)}"
            )
        told = _left_out(ours, known, there)
        found = pd.concat([found, known], ignore_index=True)
    if missing := [each for each in models if not found.model.eq(each).any()]:
        raise AgonError(f"no match with model {missing[0]!r}: {offered(missing[0], sorted(set(found.model)))}")
    if models:
        found = found[found.model.isin(list(models)) | found.own]
    every = found
    of_agents = _chosen(found, "agent", agents, usual)
    found = _chosen(of_agents, "opponent", opponents, PEERS if of_paper.any() else ())
    met = [set(rows.opponent) for _, rows in of_agents.groupby("own")] if own is not None else [set()]
    alone = () if opponents else tuple(sorted(set.intersection(*met) - set(found.opponent)))
    if found.empty or (own is not None and found.own.nunique() < 2):
        raise AgonError("no match is left to compare: choose other models, agents or opponents")
    for what in ("agent", "opponent"):
        if own is not None and (others := sorted(set(every[what][every.own]) - set(found[what][found.own]))):
            told.append(f"not among these without {what}s=[...]: {', '.join(others)}")
    label = found.model.map(MODELS).fillna(found.model)
    several = found.groupby("model").asked.transform("nunique").gt(1) & (not of_paper.any())
    strange = found.own & ~found.asked.isin(found.agent[~found.own])
    named = label.where(~(several | strange), label + " " + found.asked)
    found["model"] = np.where(found.own, named + OWN, named)
    left_out = "; ".join(filter(None, told))
    found = found.drop(columns="asked").reset_index(drop=True)
    met = _pairs(games).isin(set(_pairs(found)))
    return Compared(found, theirs, mine, games[met], left_out, alone)


def cooperation_by_round(own: Turns | None = None, recorded: Turns = RECORDED, **chosen: Sequence[str]) -> pd.DataFrame:
    """How often the first (kind) action was taken, round by round, in games of two actions: one's `own` models beside the paper's.

    Of valid decisions, all matches together. Columns: game, variant, model, round, action, value (share), n (decisions, one of each
    match), own, and for one's own low, high (Clopper and Pearson's 95 % interval). `chosen`: see `compared`.
    """
    return cooperation_of(compared(own, recorded, **chosen))


def cooperation_of(found: Compared) -> pd.DataFrame:
    """`cooperation_by_round` of what is compared."""
    parts = []
    for turns in found.parts():
        seat = turns[turns.seat.eq(0)]
        kind = {text: options[0] for text, options in _options(seat).items() if len(options) == 2}
        seat = seat[seat.legal.isin(list(kind))]
        shares = shares_over_rounds(found.named(seat), ["game", "variant", "model", "own"])
        first = seat[["game", "variant", "legal"]].drop_duplicates().astype(str)
        first = first.assign(action=first.legal.map(kind)).drop(columns="legal")
        parts.append(shares.astype({"game": str, "variant": str}).merge(first, on=["game", "variant", "action"]))
    table = pd.concat(parts, ignore_index=True).sort_values(["own", "model", "round"], kind="stable", ignore_index=True)
    bounds = [
        proportion_interval(round(row.value * row.n), row.n) if row.own else (np.nan, np.nan)
        for row in table.itertuples()
    ]
    low, high = zip(*bounds, strict=True) if bounds else ((), ())
    variants = pd.Categorical(table.variant, in_order(table.variant), ordered=True)
    columns = ["game", "variant", "model", "round", "action", "value", "n", "own", "low", "high"]
    return table.assign(variant=variants, low=low, high=high)[columns]


def cooperation_figure(table: pd.DataFrame, title: str = "Cooperation over rounds") -> Figure:
    """`cooperation_by_round` as lines, a panel for every variant; one's own models are thick and marked as own.

    Raises AgonError where there is no game of two actions.
    """
    if table.empty:
        raise AgonError("there is no game of two actions, in which one could cooperate")
    places = ordered(table)
    few = table[["low", "high"]].where(table.n.ge(FEW))
    drawn = table.assign(**few) if table.own.any() else table.drop(columns=["low", "high"])
    made, axes = figures.figure(1, len(places), (max(6.5, 3.25 * len(places)), 4.4), share=True)
    names = list(pd.unique(table.model))
    for place, (game, variant) in zip(axes, places, strict=True):
        rows = drawn[(drawn.game == game) & (drawn.variant == variant)]
        name, counted = variant if table.game.nunique() == 1 else f"{game} {variant}", numbers(rows, "point")
        head = "\n".join([name, *counted.split(", ")]) if table.own.any() else f"{name} ({counted})"
        labels = ("round", f"share of decisions\nto {cooperate(table)}" if place is axes[0] else "")
        figures.lines(place, rows, "round", "model", head, labels, order=names, bold=_own(table))
    figures.legend(made, axes[0], columns=4, spelled=SPELLED)
    least = table[~table.own].n.min() if (~table.own).any() else table.n.min()
    bars = f"; bars: 95 % intervals of one's own, where n is {FEW} or more" if table.own.any() else ""
    title = fill(title, int(11.5 * made.get_figwidth()))
    made.suptitle(f"{title}\n95 % margin of a {'recorded ' * bool(bars)}point: at most ±{0.98 / least**0.5:.2f}{bars}")
    return made


def cooperate(table: pd.DataFrame) -> str:
    """What the first actions of a table's games are called."""
    others = [action for action in dict.fromkeys(table.action) if action != "cooperation"]
    return "cooperate" + (f" (or for {', '.join(others)})" if others else "")


def comprehension(own: Turns | None = None, recorded: Turns = RECORDED, **chosen: Sequence[str]) -> pd.DataFrame:
    """The round from which the opponent is understood, by game, variant and model: one's `own` models beside the paper's.

    As `agon.metrics.summary` gives it (value, sd, n, low, high), with `own`, and `never`: the round that stands for never. `chosen`: see
    `compared`; without `agents` the zero-shot ones (zs), where both have them.
    """
    return comprehension_of(compared(own, recorded, **({"usual": ["zs"]} | chosen)))


def comprehension_of(found: Compared) -> pd.DataFrame:
    """`comprehension` of what is compared, but for one's own matches in which no decision could be read."""
    matches = metrics_of(found)
    matches = matches[~matches.own | matches.void.lt(matches.rounds)]
    keys, cells = ["own", "game", "variant", "model"], ["agent", "opponent"]
    table = summary(matches, ["opponent_comprehension_as_done"], keys, limits=limits(matches), cells=cells)
    never = 1 + matches.groupby("game").rounds.max()
    return table.assign(
        never=table.game.map(never), variant=pd.Categorical(table.variant, in_order(table.variant), ordered=True)
    )


def metrics_of(found: Compared) -> pd.DataFrame:
    """agon.games.matrix.metrics.per_match of what is compared, with `own`."""
    rules, equilibria = payoff_table(found.games), equilibrium_table(found.games)
    parts = [found.named(per_match(turns, rules, equilibria)) for turns in found.parts()]
    labels = dict.fromkeys(("game", "variant", "agent", "opponent"), str)
    return pd.concat([part.astype(labels) for part in parts], ignore_index=True)


def ordered(table: pd.DataFrame) -> list[tuple[str, str]]:
    """Games and variants of a table, the paper's first and in its order."""
    found = list(dict.fromkeys(zip(table.game.astype(str), table.variant.astype(str), strict=True)))
    place = {name: number for number, name in enumerate(in_order(table.variant))}
    return sorted(found, key=lambda each: (each[0] not in FAMILIES, each[0], place[each[1]]))


def in_order(variants: pd.Series) -> list[str]:
    """Names of variants, the paper's first and in its order."""
    there = [str(each) for each in pd.unique(variants)]
    return [each for each in VARIANTS if each in there] + sorted(set(there) - set(VARIANTS))


def _turns(given: Turns) -> pd.DataFrame:
    return given if isinstance(given, pd.DataFrame) else read(given)


def _games(*given: Turns) -> pd.DataFrame:
    """The games beside files of turns. Raises AgonError for turns that are in no file."""
    if any(isinstance(each, pd.DataFrame) for each in given):
        raise AgonError("turns that are in no file need games=, their table of games (agon.turns.read_games)")
    return read_games(*given)


def _called(given: Turns) -> str:
    return "the turns table" if isinstance(given, pd.DataFrame) else shown(input_path(given))


def _listed(pairs: Iterable[tuple[str, str]]) -> str:
    return ", ".join(sorted(map(" ".join, pairs)))


def _players(turns: pd.DataFrame, games: pd.DataFrame) -> pd.DataFrame:
    """match, game, variant, model, agent (the paper's style, where it is one), asked (its own name), opponent; of two-seat matches."""
    columns = ["match", "game", "variant", "model", "agent"]
    pair = [
        turns.loc[turns.seat.eq(seat), columns].drop_duplicates("match").astype(object).set_index("match")
        for seat in (0, 1)
    ]
    others = set(turns.match[turns.seat.gt(1)])
    found = pair[0][~pair[0].index.isin(others)].join(pair[1].agent.rename("opponent"), how="inner").reset_index()
    paid = games[games.options.map(len) > 0]
    found = found[_pairs(found).isin(set(_pairs(paid)))]
    found = found.assign(asked=found.agent, agent=_styles(found.agent), opponent=_styles(found.opponent))
    return found.assign(model=found.model.where(found.model.notna(), found.asked))


def _pairs(table: pd.DataFrame) -> pd.Series:
    """(game, variant) of every row."""
    return pd.Series(list(zip(table.game, table.variant, strict=True)), index=table.index, dtype=object)


def _styles(agents: pd.Series) -> pd.Series:
    """Agents as the paper calls such; scripts by the names of conf/agent, by which those of both sides are the same."""
    names = agents.astype(str).replace(new_names("agent")).str.replace(r"^(zs|cot|spp)_sc\d+$", r"sc-\1", regex=True)
    return names.str.replace(r"^(zs|cot|spp)_.*$", r"\1", regex=True)


def _chosen(found: pd.DataFrame, what: str, wanted: Sequence[str], usual: Sequence[str]) -> pd.DataFrame:
    """Rows whose `what` is among those wanted; without any, those that both sides have, the usual ones first. Raises AgonError."""
    sides = [set(rows[what]) for _, rows in found.groupby("own")]
    if wanted:
        if missing := [each for each in wanted if not any(each in side for side in sides)]:
            raise AgonError(f"no match with {what} {missing[0]!r}: {offered(missing[0], sorted(set().union(*sides)))}")
        return found[found[what].isin(list(wanted))]
    both = set.intersection(*sides) if sides else set()
    if not both and what == "opponent":
        told = " and ".join(", ".join(sorted(side)[:8]) for side in sides)
        raise AgonError(f"no opponent that both have met, without which nothing can be compared: {told}")
    kept = both & set(usual) or both
    return found[found[what].isin(kept)] if kept else found


def _left_out(ours: pd.DataFrame, known: pd.DataFrame, there: set[tuple[str, str]]) -> list[str]:
    """Which games are in one of two tables alone, in words."""
    told = []
    if counts := Counter(_pairs(ours[~ours.index.isin(known.index)])):
        told.append(
            "not recorded: " + ", ".join(f"{game} {variant} ({n} matches)" for (game, variant), n in counts.items())
        )
    if lacks := there - set(_pairs(known)):
        told.append("not played: " + _listed(lacks))
    return told


def _options(seat: pd.DataFrame) -> dict[str, list[str]]:
    """JSON of what can be answered -> the actions, where one of several is chosen."""
    texts = [text for text in seat.legal.unique() if isinstance(text, str)]
    return {text: list(json.loads(text).get("choice", ())) for text in texts}


def _own(table: pd.DataFrame) -> list[str]:
    return list(pd.unique(table.model[table.own]))


def numbers(rows: pd.DataFrame, what: str) -> str:
    """How many decisions or matches lie behind every point of a picture, one's own apart."""
    theirs, own = (part.n.min() for part in (rows[~rows.own], rows[rows.own]))
    told = [] if np.isnan(theirs) else [f"n at least {theirs:.0f} per {what}"]
    return ", ".join(told + ([] if np.isnan(own) else [f"own: at least {own:.0f}"]))
