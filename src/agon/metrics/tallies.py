"""Counts of the decisions and games of the seats under test in MAgIC's games; rates are made of them.

Definitions: Xu et al., MAgIC (arXiv 2311.08562), section 3.2 and A.2, in a strict reading; names with `_published` count as the
released code does. An action in place of an unreadable answer is never right, and never rational. A game with such an action counts
for none of the metrics of whole games, and such a round is no standard for the other seats.
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
"""Metric of `per_match` -> its meaning in a line; `tallies` has more metrics."""
OF_ASKING = {"valid"}
"""Metrics of the answers' form, not of the play (agon.scores)."""
RANGES = dict.fromkeys([name for name in METRICS if name not in ("score", "payback")], (0.0, 1.0))
"""Metric -> its limits, where it has two (agon.scores)."""

USED = [
    *("match", "game", "variant", "repetition", "round", "turn", "phase", "seat", "agent", "model"),
    *("legal", "action", "ended", "asked", "fallback", "detail", "payoff"),
]
"""Columns of turns that are read."""

STEP = [
    *("match", "turn", "round", "phase", "seat", "player"),
    *("legal", "asked", "value", "readable", "replaced", "payoff", "tested", "spy", "opening"),
]
"""Columns of the rows that `_steps` gives."""
NOTHING = pd.DataFrame({"match": [], "metric": [], "hits": []}).astype({"match": str, "metric": str})
"""Hits of no rows."""


def tallies(turns: pd.DataFrame, seats: pd.DataFrame) -> pd.DataFrame:
    """One row per challenger, defender, setting and metric: KEYS, metric, hits, n; all repetitions and roles of a setting together.

    `seats`: agon.games.tables.seat_table. The challenger sits at the seats under test, the defender at the others: agents, or agent@model.
    Raises AgonError for games that `seats` does not know, and, naming them, for games of `seats` that somebody has not played.
    """
    rows = _with_seats(turns, seats)
    _refuse_gaps(rows, seats)
    hits = _count_hits(rows).merge(rows.drop_duplicates("match")[["match", *KEYS]], on="match")
    return hits.groupby([*KEYS, "metric"], sort=True).hits.agg(hits="sum", n="size").reset_index()


def per_match(turns: pd.DataFrame, seats: pd.DataFrame) -> pd.DataFrame:
    """One row per match: match, and a column for each metric that counts in it: its rate over the seats under test.

    `seats` and errors are those of `tallies`, but a run need not be complete.
    """
    return (
        _count_hits(_with_seats(turns, seats)).groupby(["match", "metric"]).hits.mean().unstack("metric").reset_index()
    )


def _count_hits(rows: pd.DataFrame) -> pd.DataFrame:
    """Match, metric, hits of every event that counts."""
    complete = rows[~rows.groupby("match").replaced.transform("any")]
    ends = _ends(complete)
    parts = [*_wins(ends), *_deceptions(complete, ends), *_answers(rows), _reasoning(rows), _bargains(complete)]
    parts += [*_rational(rows), *_points(complete, ends)]
    return pd.concat([part for part in parts if len(part)])


def _with_seats(turns: pd.DataFrame, seats: pd.DataFrame) -> pd.DataFrame:
    """The turns with the columns of their seats. `value`: the decoded action; `readable`: whether the seat itself gave it."""
    rows = tidy(turns)[USED].astype({"game": str, "variant": str, "match": str, "agent": str})
    rows = rows.merge(seats, on=["game", "variant", "seat"], how="left").sort_values(["match", "turn", "seat"])
    if rows.tested.isna().any():
        game, variant = rows[rows.tested.isna()][["game", "variant"]].iloc[0]
        raise AgonError(f"the seats of {game} {variant} are not known: add the game to the table of seats")
    rows["tested"] = rows.tested.astype(bool)
    rows["value"] = _decode(rows.action)
    rows["replaced"] = replaced(rows)
    rows["readable"] = rows.action.notna() & ~rows.replaced
    rows["entrant"] = rows.agent + ("@" + rows.model.astype("str")).where(rows.model.notna(), "")
    sides = rows[["match", "tested", "entrant"]].drop_duplicates().sort_values("entrant", kind="stable")
    names = sides.groupby(["match", "tested"]).entrant.agg("+".join).unstack()
    if True not in names or names[True].isna().any():
        raise AgonError("nobody is under test in some matches: only games with seats under test have abilities")
    who = names.reindex(columns=[True, False]).fillna("nobody").set_axis(["challenger", "defender"], axis=1)
    return rows.merge(who, left_on="match", right_index=True)


def _decode(column: pd.Series) -> pd.Series:
    action_of_text = {text: action_of(text) for text in column.dropna().unique()}
    return pd.Series([action_of_text.get(text) for text in column], index=column.index, dtype=object)


def _refuse_gaps(rows: pd.DataFrame, seats: pd.DataFrame) -> None:
    games = sorted(set(seats[seats.tested][["game", "variant"]].itertuples(index=False, name=None)))
    played = rows.drop_duplicates("match")
    for (challenger, defender), rows_of_pair in played.groupby(["challenger", "defender"]):
        counts = Counter(rows_of_pair[["repetition", "game", "variant"]].itertuples(index=False, name=None))
        due = [(repetition, *game) for repetition in sorted(rows_of_pair.repetition.unique()) for game in games]
        for faulty, fault in (
            ([key for key in due if key not in counts], "are not there"),
            ([key for key, times in counts.items() if times > 1], "are there twice"),
        ):
            if faulty:
                names = [f"{game}/{variant} (repetition {number})" for number, game, variant in faulty[:3]]
                more = f" and {len(faulty) - 3:,} more" if len(faulty) > 3 else ""
                raise AgonError(
                    f"incomplete run, not scored: {challenger} against {defender}: "
                    f"{len(faulty):,} of {len(due):,} games {fault}: {', '.join(names)}{more}"
                )


def _ends(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per match and seat: `total` points, and `top`: whether no seat had more."""
    totals = rows.groupby(["match", "seat"]).payoff.sum().rename("total")
    ends = rows.drop_duplicates(["match", "seat"]).merge(totals, left_on=["match", "seat"], right_index=True)
    return ends.assign(top=ends.total >= ends.groupby("match").total.transform("max") - 1e-9)


def _steps(rows: pd.DataFrame, *keys: str) -> Iterator[tuple[str, list[Any]]]:
    """(match, rows) of every group of `keys`, the first of which is the match, in order."""
    places = [STEP.index(key) for key in keys]
    for group, group_rows in groupby(rows[STEP].itertuples(index=False), key=itemgetter(*places)):
        yield group if len(keys) == 1 else group[0], list(group_rows)


def _hits(rows: pd.DataFrame, metric: Any, hits: Any) -> pd.DataFrame:
    if rows.empty:
        return NOTHING
    return pd.DataFrame({"match": rows["match"], "metric": metric, "hits": hits}).astype({"hits": float})


def _wins(ends: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Share of the role's possible credits, agreement, or top place. One value a game, even with two seats under test."""
    tested = ends[ends.tested]
    hits = (tested.total / tested.credits).where(tested.win == "credits", tested.top)
    hits = hits.where(tested.win != "agreement", tested.total > 0)
    yield (
        _hits(tested, "win_" + tested.role.str.replace("-", "_"), hits)
        .groupby(["match", "metric"], as_index=False)
        .hits.mean()
    )
    bargains = tested[tested.win == "agreement"]
    yield _hits(bargains, "cooperation", bargains.total > 0)


def _deceptions(rows: pd.DataFrame, ends: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Games that the spy did not lose; and against a crowd under test, wrong guesses of a caught spy, of its readable ones."""
    spies = ends[ends.player == ends.spy]
    tested = spies[spies.tested]
    yield _hits(tested, "spy_win", tested.total > 0)
    guessed = rows[(rows.phase == "guess") & rows.readable & ~rows.tested]["match"]
    caught = spies[spies["match"].isin(guessed)]
    yield _hits(caught, "misled_guess", caught.total == 0)


def _answers(rows: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Readable, replaced and cut-off answers (the last two if there are any); right ballots of the crowd; interviews with
    both name and role right, over all and by game."""
    decisions = rows[rows.tested & rows.asked]
    yield _hits(decisions, "valid", decisions.readable)
    if rows.replaced.any():
        yield _hits(decisions, "replaced", decisions.replaced)
    if (cut := cut_off(decisions)).any():
        yield _hits(decisions, "cut_off", cut)
    ballots = decisions[(decisions.phase == "vote") & decisions.spy.notna() & (decisions.player != decisions.spy)]
    yield _hits(ballots, "judgement", ballots.readable & (ballots.value == ballots.spy))
    interviews = decisions[decisions.phase == "identify"]
    right = interviews.readable & (interviews.value == interviews.player + ", " + interviews.role)
    yield _hits(interviews, "self_awareness", right)
    yield _hits(interviews, "self_awareness_" + interviews.game, right)


def _reasoning(rows: pd.DataFrame) -> pd.DataFrame:
    """Suspicions of the seats under test against the truth (gold), and against the others' own answers of that time (inter).

    In the strict reading a missing suspicion is of nobody, and a view is not compared if its owner has none (the chameleon names a
    word instead) or gave none that could be read. In the published one a player without a suspicion suspects Player 1.
    """
    hits: list[tuple[str, str, bool]] = []
    for match, interview in _steps(rows[rows.phase == "evaluate"], "match", "turn"):
        views, has_view = {}, {}
        for row in interview:
            parts = list(json.loads(row.legal)["form"])
            has_view[row.player] = row.player in parts
            views[row.player] = dict(zip(parts, row.value, strict=True)) if row.readable else {}
        for row in interview:
            if row.tested:
                hits += [(match, name, right) for name, right in _suspicions(row, views, has_view)]
    return pd.DataFrame(hits, columns=["match", "metric", "hits"]).astype({"hits": float})


def _suspicions(
    subject: Any, views: Mapping[str, Mapping[str, str]], has_view: Mapping[str, bool]
) -> Iterator[tuple[str, bool]]:
    """Metrics and hits of one interview. `views`: player -> answers of that time; `has_view`: whether it has a suspicion itself."""
    view, others = views[subject.player], [player for player in views if player != subject.player]
    right = {other: view.get(other) == views[other][other] for other in others if has_view[other] and views[other]}
    if has_view[subject.player]:
        yield from (
            ("gold", view.get(subject.player) == subject.spy),
            ("reasoning", view.get(subject.player) == subject.spy),
        )
    for is_right in right.values():
        yield from (("inter_pairwise", is_right), ("reasoning", is_right))
    if right:
        yield "inter_joint", all(right.values())
    gold = _released_suspect(subject.player, subject.player, views) == subject.spy
    inter = all(
        _released_suspect(subject.player, other, views) == _released_suspect(other, other, views) for other in others
    )
    yield from (("gold_published", gold), ("reasoning_published", gold))
    yield from (("inter_joint_published", inter), ("reasoning_published", inter))


def _released_suspect(player: str, whose: str, views: Mapping[str, Mapping[str, str]]) -> str:
    """The player that `whose` suspects according to `player`, as in the released code: the first player stands for nobody."""
    suspect = views[player].get(whose, "")
    return suspect if suspect in views else min(views)


def _bargains(rows: pd.DataFrame) -> pd.DataFrame:
    """Agreements on the shares that the seat under test proposed in that round (others may have too); its share in them (percent)."""
    hits: list[tuple[str, str, float]] = []
    for match, game in _steps(rows[rows.win == "agreement"], "match"):
        own_row = next(row for row in game if row.tested)
        agreement = sum(row.payoff for row in game) > 0
        agreed_shares, own_shares = _voted_shares(game, own_row.player) if agreement else (None, None)
        is_own = agreed_shares is not None and agreed_shares == own_shares
        hits.append((match, "coordination_of_games", is_own))
        if agreement:
            hits.append((match, "coordination_of_agreements", is_own))
        if agreed_shares is not None:
            hits.append((match, "cost", agreed_shares[own_row.seat]))
    return pd.DataFrame(hits, columns=["match", "metric", "hits"]).astype({"hits": float})


def _voted_shares(game: Sequence[Any], player: str) -> tuple[Any, Any]:
    """The shares that won the last round's vote, and those that `player` proposed in it; None for an unreadable proposal."""
    last = max(row.round for row in game)
    table = {row.player: json.loads(row.opening) for row in game if last == 1 and isinstance(row.opening, str)}
    own_shares = None
    for row in game:
        if row.round == last and row.phase == "propose":
            table[row.player] = row.value
            own_shares = row.value if row.player == player and row.readable else own_shares
    winner = next(row.value for row in game if row.round == last and row.phase == "vote")
    return table[winner], own_shares


def _rational(rows: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Rounds of defection, and rounds in which no other seat contributed less (ties count), over all such rounds and by game."""
    moves = rows[rows.tested & rows.defection.notna()]
    contributions = _contributions(rows)
    others = (
        contributions.replaced.groupby([contributions["match"], contributions.turn]).transform("sum")
        - contributions.replaced
    )
    contributions = contributions[others == 0]
    least = contributions.readable & (
        contributions.points <= contributions.groupby(["match", "turn"]).points.transform("min")
    )
    for part, hits in (
        (moves, moves.readable & (moves.value == moves.defection)),
        (contributions[contributions.tested], least[contributions.tested]),
    ):
        yield _hits(part, "rationality", hits)
        yield _hits(part, "rationality_" + part.game, hits)


def _contributions(rows: pd.DataFrame) -> pd.DataFrame:
    """Every contribution, with the `points` that went into the pool: never more than the seat had left."""
    contributions = rows[rows.endowment.notna()]
    overspends = [
        json.loads(detail).get("overspend", 0) if isinstance(detail, str) else 0 for detail in contributions.detail
    ]
    return contributions.assign(points=pd.to_numeric(contributions.value).fillna(0) - overspends)


def _points(rows: pd.DataFrame, ends: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Points at the end of the dilemma; points received from the pool."""
    dilemmas = ends[ends.tested & ends.defection.notna()]
    yield _hits(dilemmas, "score", dilemmas.total)
    goods = ends[ends.tested & ends.endowment.notna()]
    sums = _contributions(rows).groupby(["match", "seat"]).points.sum().rename("given")
    goods = goods.merge(sums, left_on=["match", "seat"], right_index=True)
    yield _hits(goods, "payback", goods.total - goods.endowment + goods.given)
