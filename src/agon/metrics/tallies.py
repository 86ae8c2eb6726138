"""MAgIC's games, counted: how the decisions and games of the seats under test came out. agon.metrics.abilities makes rates of it.

Definitions: Xu et al., MAgIC (arXiv 2311.08562), section 3.2 and A.2, in a strict reading; `_published` is what the released
code counts. What was done for want of a readable answer is never right, and never rational; a game in which a random action, or
any other, stood in for an answer counts for none of the metrics of whole games, nor does such a round as what others are measured by.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import pandas as pd

from agon.errors import AgonError
from agon.turns import action_of, cut_off, replaced, tidy

KEYS = ["challenger", "defender", "game", "setting"]

METRICS = {
    "judgement": "share of its ballots, as one of the crowd, that name the spy",
    "reasoning": "share of its suspicions that are right, of the spy or of what others suspect",
    "spy_win": "whether it was not found out as the spy (1 or 0)",
    "self_awareness": "share of interviews in which it names itself and its role",
    "cooperation": "whether the costs were agreed on (1 or 0)",
    "coordination_of_games": "whether the costs were agreed on as it proposed (1 or 0)",
    "rationality": "share of rounds of defection, or in which nobody gave less",
    "valid": "share of its answers that could be read",
    "score": "points at the end of the dilemma of three",
    "payback": "points received from the pool",
}
"""What `per_match` has of games with seats under test, and in a line what it is; `tallies` counts more."""
OF_ASKING = {"valid"}
"""Of these, those that say how asking went, not what was played (agon.scores)."""
RANGES = dict.fromkeys([name for name in METRICS if name not in ("score", "payback")], (0.0, 1.0))
"""Of these, those that have a least and a most value (agon.scores)."""

USED = [
    *("match", "game", "variant", "repetition", "round", "turn", "phase", "seat", "agent", "model"),
    *("legal", "action", "ended", "asked", "fallback", "detail", "payoff"),
]
"""Columns of turns that count."""

STEP = [
    *("match", "turn", "round", "phase", "seat", "player"),
    *("legal", "asked", "value", "readable", "replaced", "payoff", "tested", "spy", "opening"),
]
"""Columns of a row that is looked at by itself."""
NOTHING = pd.DataFrame({"match": [], "metric": [], "hits": []}).astype({"match": str, "metric": str})
"""What counts where nothing does."""


def tallies(turns: pd.DataFrame, seats: pd.DataFrame) -> pd.DataFrame:
    """One row per challenger, defender, setting and metric: KEYS, metric, hits, n; all repetitions and roles of a setting together.

    `seats`: agon.games.tables.seat_table. The challenger sits at the seats under test, the defender at the others: agents, or agent@model.
    Raises AgonError for games that `seats` does not know, and, naming them, for games of `seats` that somebody has not played.
    """
    rows = _seated(turns, seats)
    _refuse_gaps(rows, seats)
    scored = _counted(rows).merge(rows.drop_duplicates("match")[["match", *KEYS]], on="match")
    return scored.groupby([*KEYS, "metric"], sort=True).hits.agg(hits="sum", n="size").reset_index()


def per_match(turns: pd.DataFrame, seats: pd.DataFrame) -> pd.DataFrame:
    """One row per match: match, and a column for each metric that counts in it: its rate over the seats under test.

    `seats`, and errors, as of `tallies`; but a run need not be complete.
    """
    return _counted(_seated(turns, seats)).groupby(["match", "metric"]).hits.mean().unstack("metric").reset_index()


def _counted(rows: pd.DataFrame) -> pd.DataFrame:
    """Match, metric, hits of every time that something counts."""
    played = rows[~rows.groupby("match").replaced.transform("any")]
    ends = _ends(played)
    parts = [*_wins(ends), *_deceptions(played, ends), *_answers(rows), _reasoning(rows), _bargains(played)]
    parts += [*_rational(rows), *_points(played, ends)]
    return pd.concat([part for part in parts if len(part)])


def _seated(turns: pd.DataFrame, seats: pd.DataFrame) -> pd.DataFrame:
    """The turns with what is known of their seats; `value`: the action decoded, `readable`: whether the seat itself gave it."""
    rows = tidy(turns)[USED].astype({"game": str, "variant": str, "match": str, "agent": str})
    rows = rows.merge(seats, on=["game", "variant", "seat"], how="left").sort_values(["match", "turn", "seat"])
    if rows.tested.isna().any():
        game, variant = rows[rows.tested.isna()][["game", "variant"]].iloc[0]
        raise AgonError(f"the seats of {game} {variant} are not known: add the game to the table of seats")
    rows["tested"] = rows.tested.astype(bool)
    rows["value"] = _decoded(rows.action)
    rows["replaced"] = replaced(rows)
    rows["readable"] = rows.action.notna() & ~rows.replaced
    rows["entrant"] = rows.agent + ("@" + rows.model.astype("str")).where(rows.model.notna(), "")
    sides = rows[["match", "tested", "entrant"]].drop_duplicates().sort_values("entrant", kind="stable")
    names = sides.groupby(["match", "tested"]).entrant.agg("+".join).unstack()
    if True not in names or names[True].isna().any():
        raise AgonError("nobody is under test in some matches: only games with seats under test have abilities")
    who = names.reindex(columns=[True, False]).fillna("nobody").set_axis(["challenger", "defender"], axis=1)
    return rows.merge(who, left_on="match", right_index=True)


def _decoded(column: pd.Series) -> pd.Series:
    known = {text: action_of(text) for text in column.dropna().unique()}
    return pd.Series([known.get(text) for text in column], index=column.index, dtype=object)


def _refuse_gaps(rows: pd.DataFrame, seats: pd.DataFrame) -> None:
    wanted = sorted(set(seats[seats.tested][["game", "variant"]].itertuples(index=False, name=None)))
    played = rows.drop_duplicates("match")
    for (challenger, defender), own in played.groupby(["challenger", "defender"]):
        counts = Counter(own[["repetition", "game", "variant"]].itertuples(index=False, name=None))
        needed = [(repetition, *each) for repetition in sorted(own.repetition.unique()) for each in wanted]
        for wrong, what in (
            ([key for key in needed if key not in counts], "are not there"),
            ([key for key, times in counts.items() if times > 1], "are there twice"),
        ):
            if wrong:
                names = [f"{game}/{variant} (repetition {number})" for number, game, variant in wrong[:3]]
                more = f" and {len(wrong) - 3:,} more" if len(wrong) > 3 else ""
                raise AgonError(
                    f"incomplete run, not scored: {challenger} against {defender}: "
                    f"{len(wrong):,} of {len(needed):,} games {what}: {', '.join(names)}{more}"
                )


def _ends(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per match and seat: `total` (points), and whether nobody had more (`top`)."""
    totals = rows.groupby(["match", "seat"]).payoff.sum().rename("total")
    ends = rows.drop_duplicates(["match", "seat"]).merge(totals, left_on=["match", "seat"], right_index=True)
    return ends.assign(top=ends.total >= ends.groupby("match").total.transform("max") - 1e-9)


def _steps(rows: pd.DataFrame, *keys: str) -> Iterator[tuple[str, list[Any]]]:
    """(match, rows) of every group of `keys`, the first of which is the match, in order."""
    places = [STEP.index(key) for key in keys]
    for group, found in groupby(rows[STEP].itertuples(index=False), key=itemgetter(*places)):
        yield group if len(keys) == 1 else group[0], list(found)


def _scored(rows: pd.DataFrame, metric: Any, hits: Any) -> pd.DataFrame:
    if rows.empty:
        return NOTHING
    return pd.DataFrame({"match": rows["match"], "metric": metric, "hits": hits}).astype({"hits": float})


def _wins(ends: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """The part of the credits that the role could get; agreement; being on top. One a game, also where two seats are under test."""
    own = ends[ends.tested]
    hits = (own.total / own.credits).where(own.win == "credits", own.top)
    hits = hits.where(own.win != "agreement", own.total > 0)
    yield (
        _scored(own, "win_" + own.role.str.replace("-", "_"), hits)
        .groupby(["match", "metric"], as_index=False)
        .hits.mean()
    )
    agreed = own[own.win == "agreement"]
    yield _scored(agreed, "cooperation", agreed.total > 0)


def _deceptions(rows: pd.DataFrame, ends: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Games as the spy that were not lost; wrong guesses, of those that a caught spy made readably, against the crowd under test."""
    spies = ends[ends.player == ends.spy]
    own = spies[spies.tested]
    yield _scored(own, "spy_win", own.total > 0)
    made = rows[(rows.phase == "guess") & rows.readable & ~rows.tested]["match"]
    met = spies[spies["match"].isin(made)]
    yield _scored(met, "misled_guess", met.total == 0)


def _answers(rows: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Answers that could be read; those replaced and those cut off, if there are any; right ballots of the crowd; name and
    role both right, over all and by game."""
    asked = rows[rows.tested & rows.asked]
    yield _scored(asked, "valid", asked.readable)
    if rows.replaced.any():
        yield _scored(asked, "replaced", asked.replaced)
    if (cut := cut_off(asked)).any():
        yield _scored(asked, "cut_off", cut)
    ballots = asked[(asked.phase == "vote") & asked.spy.notna() & (asked.player != asked.spy)]
    yield _scored(ballots, "judgement", ballots.readable & (ballots.value == ballots.spy))
    told = asked[asked.phase == "identify"]
    right = told.readable & (told.value == told.player + ", " + told.role)
    yield _scored(told, "self_awareness", right)
    yield _scored(told, "self_awareness_" + told.game, right)


def _reasoning(rows: pd.DataFrame) -> pd.DataFrame:
    """Suspicions of the seats under test, beside the truth (gold) and beside what the others say themselves at the time (inter).

    Strict: nobody is nobody; a view that its owner does not have (the chameleon names a word instead) or did not say readably
    is nothing to compare with. Published: whoever has no suspicion suspects Player 1.
    """
    found: list[tuple[str, str, bool]] = []
    for match, interview in _steps(rows[rows.phase == "evaluate"], "match", "turn"):
        views, owns = {}, {}
        for row in interview:
            parts = list(json.loads(row.legal)["form"])
            owns[row.player] = row.player in parts
            views[row.player] = dict(zip(parts, row.value, strict=True)) if row.readable else {}
        for row in interview:
            if row.tested:
                found += [(match, name, right) for name, right in _suspicions(row, views, owns)]
    return pd.DataFrame(found, columns=["match", "metric", "hits"]).astype({"hits": float})


def _suspicions(
    own: Any, views: Mapping[str, Mapping[str, str]], owns: Mapping[str, bool]
) -> Iterator[tuple[str, bool]]:
    """What one interview counts for: `views` of all players asked then, `owns`: whether they have one of their own."""
    said, others = views[own.player], [player for player in views if player != own.player]
    right = {other: said.get(other) == views[other][other] for other in others if owns[other] and views[other]}
    if owns[own.player]:
        yield from (("gold", said.get(own.player) == own.spy), ("reasoning", said.get(own.player) == own.spy))
    for each in right.values():
        yield from (("inter_pairwise", each), ("reasoning", each))
    if right:
        yield "inter_joint", all(right.values())
    gold = _coded(own.player, own.player, views) == own.spy
    inter = all(_coded(own.player, other, views) == _coded(other, other, views) for other in others)
    yield from (("gold_published", gold), ("reasoning_published", gold))
    yield from (("inter_joint_published", inter), ("reasoning_published", inter))


def _coded(player: str, whose: str, views: Mapping[str, Mapping[str, str]]) -> str:
    """Whom `player` says that `whose` suspects, as the released code has it: the first player where it is nobody."""
    said = views[player].get(whose, "")
    return said if said in views else min(views)


def _bargains(rows: pd.DataFrame) -> pd.DataFrame:
    """Agreements on the shares that the seat under test proposed in that round, whoever else did; its share in them (percent)."""
    found: list[tuple[str, str, float]] = []
    for match, game in _steps(rows[rows.win == "agreement"], "match"):
        own = next(row for row in game if row.tested)
        agreement = sum(row.payoff for row in game) > 0
        agreed, mine = _agreed(game, own.player) if agreement else (None, None)
        same = agreed is not None and agreed == mine
        found.append((match, "coordination_of_games", same))
        if agreement:
            found.append((match, "coordination_of_agreements", same))
        if agreed is not None:
            found.append((match, "cost", agreed[own.seat]))
    return pd.DataFrame(found, columns=["match", "metric", "hits"]).astype({"hits": float})


def _agreed(game: Sequence[Any], player: str) -> tuple[Any, Any]:
    """The shares that all voted for in the last round, and those that `player` proposed in it; None where they could not be read."""
    last = max(row.round for row in game)
    table = {row.player: json.loads(row.opening) for row in game if last == 1 and isinstance(row.opening, str)}
    own = None
    for row in game:
        if row.round == last and row.phase == "propose":
            table[row.player] = row.value
            own = row.value if row.player == player and row.readable else own
    voted = next(row.value for row in game if row.round == last and row.phase == "vote")
    return table[voted], own


def _rational(rows: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Rounds of defection, and rounds in which nobody put less into the pool (ties count), over all such rounds and by game."""
    moves = rows[rows.tested & rows.defection.notna()]
    given = _given(rows)
    others = given.replaced.groupby([given["match"], given.turn]).transform("sum") - given.replaced
    given = given[others == 0]
    least = given.readable & (given.points <= given.groupby(["match", "turn"]).points.transform("min"))
    for part, hits in (
        (moves, moves.readable & (moves.value == moves.defection)),
        (given[given.tested], least[given.tested]),
    ):
        yield _scored(part, "rationality", hits)
        yield _scored(part, "rationality_" + part.game, hits)


def _given(rows: pd.DataFrame) -> pd.DataFrame:
    """Every contribution, with the `points` that went into the pool: what was more than the seat had left did not."""
    given = rows[rows.endowment.notna()]
    over = [json.loads(detail).get("overspend", 0) if isinstance(detail, str) else 0 for detail in given.detail]
    return given.assign(points=pd.to_numeric(given.value).fillna(0) - over)


def _points(rows: pd.DataFrame, ends: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Points at the end of the dilemma; points received from the pool."""
    dilemmas = ends[ends.tested & ends.defection.notna()]
    yield _scored(dilemmas, "score", dilemmas.total)
    goods = ends[ends.tested & ends.endowment.notna()]
    sums = _given(rows).groupby(["match", "seat"]).points.sum().rename("given")
    goods = goods.merge(sums, left_on=["match", "seat"], right_index=True)
    yield _scored(goods, "payback", goods.total - goods.endowment + goods.given)
