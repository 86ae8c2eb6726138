"""Counts of TradeCraft: wins, invalid calls by kind, turns, rejections, trades and gifts of each player, and the first seat's advantage.

Turns are those of the game or those of recorded games: phases propose, decide and craft, `action` the call
of a tool, `detail` the answer of the table. Every call is of one kind (KINDS) at most, and a default is nobody's call.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from agon.errors import AgonError
from agon.games.tradecraft import story
from agon.metrics.interval import RATE, SHARE, pooled
from agon.turns import tidy

KINDS = ("refused_proposal", "refused_craft", "failed_check", "wrong_phase", "malformed", "unreadable")
"""Kinds of invalid calls: a proposal or a craft that the rules refuse; a check of a craft that fails; a tool of another phase; an
unknown tool or item, no decision, or a bad message; no readable call at all."""

METRICS = {
    "win": "whether it got its target (1 or 0)",
    "trades": "accepted proposals in which something changed hands",
    "gifts_given": "trades in which it got nothing",
    "gifts_received": "trades in which it gave nothing",
    "turns": "turns of the game",
    "all_win": "whether every player got its target (1 or 0)",
    "none_win": "whether no player got its target (1 or 0)",
    "invalid": "invalid calls per turn, failed checks left out",
    "invalid_with_checks": "invalid calls per turn",
    "empty_proposal": "valid proposals of nothing, per turn",
    "rejected": "rejected share of the proposals that it decided on",
    "not_accepted": "share that was not accepted of the proposals that it received",
    "turned_down": "share of its own proposals that was not accepted",
}
"""The metrics of `measured`, with a line on each: those of `trading` that any match and player can have."""
OF_ASKING = {"invalid", "invalid_with_checks"}
"""Metrics of whether answers could be read, not of the play (agon.scores)."""
RANGES = dict.fromkeys(["win", "all_win", "none_win", "rejected", "not_accepted", "turned_down"], (0.0, 1.0))
"""The metrics with a least and a greatest value (agon.scores)."""

SHARES = {"win", "all_win", "some_win", "none_win", "rejected", "undecided", "not_accepted", "turned_down"}
"""The metrics of `trading` that count an event at most once. All others can count it several times."""

TRIED = {"submit_proposal": "refused_proposal", "craft_apply": "refused_craft", "craft_check": "failed_check"}

PHASES = ("propose", "decide", "craft")

USED = ("match", "round", "turn", "phase", "seat", "asked", "action", "attempts", "fallback", "detail", "payoff")


def trading(turns: pd.DataFrame, by: Sequence[str] = ("agent",), cluster: str = "match") -> pd.DataFrame:
    """Long form: the `by` keys (columns of turns), metric, value, n, low, high; intervals are between matches.

    `cluster`: another column that a whole match shares, such as its problem: they are between these.

    Of a seat's games: win; trades (accepted, and something changed hands), gifts_given, gifts_received (trades in which one side
    gives nothing), per game. Of games (n counts a game once): turns; all_win, some_win, none_win.
    Per turn of its games: each of KINDS, and each with its fault (`refused_craft: wrong amounts`); invalid, their sum without
    failed checks; invalid_with_checks, with them; empty_proposal, valid but of nothing; default: WHY, moves of the table for it.
    Of proposals received: rejected (of its decisions alone), undecided (defaults, of all received), not_accepted (both, of all).
    A decision counts by its effect, not by its word.
    Of its own proposals: turned_down (defaults included).
    Per turn of its games, if there are any: replaced, random calls in the place of its own. Nobody made them: trades that contain
    one do not count, and results are those of games without any.
    """
    calls = _calls(turns, [*by, cluster])
    seats = calls.drop_duplicates(["match", "seat"])[_keys([*by, cluster])]
    tally = _tally_all(calls, by).merge(seats, on=["match", "seat"])
    limits = {name: SHARE if name in SHARES else RATE for name in tally.metric.unique()}
    table = pooled(tally, [*by, "metric"], cluster, limits)
    return table.sort_values([*by, "metric"], kind="stable").reset_index(drop=True)


def measured(turns: pd.DataFrame, games: pd.DataFrame, names: Collection[str], seats: Sequence[int]) -> pd.DataFrame:
    """For `compare`: one row per match and seat with match, seat, and what `trading` counts there, absent where there is nothing."""
    tally = _tally_all(_calls(turns, []), ["seat"])
    sums = tally[tally.metric.isin(names)].groupby(["match", "seat", "metric"])[["hits", "n"]].sum()
    return (sums.hits / sums.n).unstack("metric").reset_index()


def _tally_all(calls: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Match, seat, metric, hits and n for all metrics of `trading`. A metric of games has one row for each of the `by` keys."""
    games = _games(calls, by)
    parts = [*_results(_clean(games, calls), by), *_faults(calls, games), *_decisions(calls, games)]
    return pd.concat([part for part in parts if len(part)])


def first_seat(turns: pd.DataFrame, by: Sequence[str] = (), cluster: str = "match") -> pd.DataFrame:
    """The value of proposing first: by, metric first_seat_advantage, value, n (games), low, high.

    The share of games that the first seat wins less the other seats' mean share. `by`, `cluster`: columns that a whole match shares.
    """
    keys = list(dict.fromkeys([*by, cluster]))
    calls = _calls(turns, keys)
    games = _clean(_games(calls, keys), calls)
    won = games.assign(first=games.won.where(games.seat == 0), others=games.won.where(games.seat != 0))
    means = won.groupby(list(dict.fromkeys(["match", *keys])), dropna=False)[["first", "others"]].mean().reset_index()
    tally = means.assign(metric="first_seat_advantage", hits=means["first"] - means.others, n=1)
    return pooled(tally, [*by, "metric"], cluster, (-1.0, 1.0))


def players(turns: pd.DataFrame) -> pd.DataFrame:
    """The players of all matches: match, seat, agent, model, won; a row per match and seat."""
    rows = _plain(turns, ("match", "seat", "agent", "model", "payoff"))
    sums = rows.groupby(["match", "seat"]).payoff.sum()
    seats = rows.drop_duplicates(["match", "seat"]).sort_values(["match", "seat"], kind="stable")
    won = sums[pd.MultiIndex.from_frame(seats[["match", "seat"]])].to_numpy() > 0
    return seats[["match", "seat", "agent", "model"]].assign(won=won).reset_index(drop=True)


def _keys(by: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(["match", "seat", *by]))


def _plain(turns: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Some columns, with categories as text."""
    table = tidy(turns)[list(dict.fromkeys(columns))]
    labels = [name for name in table if isinstance(table[name].dtype, pd.CategoricalDtype)]
    return table.astype(dict.fromkeys(labels, "str"))


def _calls(turns: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """The turns with the columns story.READ, the kind of each invalid call, and `own`: whether the player itself made the call."""
    if not turns.phase.isin(PHASES).any():
        raise AgonError(f"there are no turns of TradeCraft: its phases are {', '.join(PHASES)}")
    rows = _plain(turns, [*USED, *by]).sort_values(["match", "turn", "seat"], kind="stable").reset_index(drop=True)
    rows = story.calls(rows)
    idle = rows.action.isna() & rows.attempts.eq(0).fillna(False)  # a player that stopped by itself, and was not asked
    rows["default"] = rows.default.mask(idle, rows.fallback)
    requested = rows.asked & ~idle
    instead = rows.fallback.ne("") & rows.fallback.ne(
        rows.default
    )  # a random call in the place of one that could not be read
    unread = requested & (rows.action.isna() | instead)
    faulty = requested & ~unread & ~rows.ok
    kind = (
        rows.tool.map(TRIED).where(~rows.fault.isin(["wrong phase", "no such tool"]), "malformed").fillna("malformed")
    )
    kind = kind.mask(rows.fault.eq("wrong phase"), "wrong_phase")
    rows["kind"] = kind.where(faulty, "").mask(unread, "unreadable")
    rows["own"] = requested & ~unread
    rows["replaced"] = instead & rows.action.notna()
    return rows


def _games(calls: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """A row per match and seat: won, turns (of the game), wins (seats that won), seats, and the `by` keys."""
    games = calls.groupby(["match", "seat"], as_index=False).agg(paid=("payoff", "sum"))
    games["won"] = games.paid > 0
    sizes = games.groupby("match").won.agg(wins="sum", seats="size")
    games = games.merge(sizes, left_on="match", right_index=True)
    games = games.merge(calls.groupby("match")["round"].max().rename("turns"), left_on="match", right_index=True)
    return games.merge(calls.drop_duplicates(["match", "seat"])[_keys(by)], on=["match", "seat"])


def _clean(games: pd.DataFrame, calls: pd.DataFrame) -> pd.DataFrame:
    """The games in which no call is a random one in place of a player's."""
    return games[~games["match"].isin(calls["match"][calls.replaced])]


def _tally(rows: pd.DataFrame, metric: Any, hits: Any, n: Any = 1) -> pd.DataFrame:
    """The table that `pooled` takes: a row per match and seat."""
    tally = pd.DataFrame({"match": rows["match"], "seat": rows.seat, "metric": metric, "hits": hits, "n": n})
    return tally.astype({"hits": float, "n": int})


def _results(games: pd.DataFrame, by: Sequence[str]) -> Iterator[pd.DataFrame]:
    yield _tally(games, "win", games.won)
    once = games.drop_duplicates(list(dict.fromkeys(["match", *by])))
    yield _tally(once, "turns", once.turns)
    yield _tally(once, "all_win", once.wins == once.seats)
    yield _tally(once, "some_win", (once.wins > 0) & (once.wins < once.seats))
    yield _tally(once, "none_win", once.wins == 0)


def _faults(calls: pd.DataFrame, games: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Counts per turn of the seat's games. A fault or default that never occurs is no metric."""
    invalid = calls[calls.kind != ""]
    groups = {kind: invalid[invalid.kind == kind] for kind in KINDS}
    if calls.replaced.any():
        groups["replaced"] = calls[calls.replaced]
    groups |= {"invalid": invalid[invalid.kind != "failed_check"], "invalid_with_checks": invalid}
    faulty = invalid[invalid.fault.ne("") & invalid.kind.ne("wrong_phase")]
    groups |= {f"{kind}: {fault}": rows for (kind, fault), rows in faulty.groupby(["kind", "fault"], sort=True)}
    proposals = calls[calls.own & calls.ok & calls.tool.eq("submit_proposal") & calls.default.eq("")]
    empty = [not call.get("offer") and not call.get("request") for call in proposals.call]
    groups["empty_proposal"] = proposals[np.array(empty, dtype=bool)]
    for why, rows in calls[calls.default != ""].groupby("default", sort=True):
        groups[f"default: {why}"] = rows
    for metric, rows in groups.items():
        counts = rows.groupby(["match", "seat"]).size().rename("count")
        both = games.merge(counts, left_on=["match", "seat"], right_index=True, how="left")
        yield _tally(both, metric, both["count"].fillna(0), both.turns)


def _decisions(calls: pd.DataFrame, games: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """The outcomes of proposals, for those who receive and those who make them, and the trades of both."""
    ends = calls[calls.phase.eq("decide") & ((calls.tool.eq("decide") & calls.ok) | calls.default.ne(""))]
    decided = ends[ends.own & ends.default.eq("")]
    yield _tally(decided, "rejected", decided.effect.eq("reject"))
    ends = ends[~ends.replaced]
    idle = ~ends.index.isin(decided.index)
    yield _tally(ends, "undecided", idle)
    accepted = ends.effect.eq("accept") & ends.default.eq("")
    yield _tally(ends, "not_accepted", ~accepted)
    proposals = _final_proposals(calls)
    terms = ends.assign(accepted=accepted).merge(proposals, on=["match", "round"], suffixes=("", "_of"))
    valid = terms[terms.own_of]
    yield _tally(valid.assign(seat=valid.proposer), "turned_down", ~valid.accepted)
    yield from _trades(valid[valid.accepted], games)


def _final_proposals(calls: pd.DataFrame) -> pd.DataFrame:
    """The proposal of each turn: match, round, proposer, own (its own call), gives, asks (how many items).

    A turn with a default has none.
    """
    proposals = calls[calls.phase.eq("propose") & calls.ok & calls.tool.eq("submit_proposal") & calls.default.eq("")]
    table = proposals[["match", "round"]].assign(
        proposer=proposals.seat,
        own=proposals.own,
        gives=[len(call.get("offer") or ()) for call in proposals.call],
        asks=[len(call.get("request") or ()) for call in proposals.call],
    )
    return table.drop_duplicates(["match", "round"], keep="last")


def _trades(terms: pd.DataFrame, games: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Accepted proposals per game, for both sides of them."""
    sides = [(terms.proposer, terms.gives, terms.asks), (terms.seat, terms.asks, terms.gives)]
    parts = [pd.DataFrame({"match": terms["match"], "seat": s, "gives": g, "gets": t}) for s, g, t in sides]
    sides_of_trades = pd.concat(parts)
    sides_of_trades = sides_of_trades.assign(
        trades=(sides_of_trades.gives + sides_of_trades.gets > 0),
        gifts_given=sides_of_trades.gives.gt(0) & sides_of_trades.gets.eq(0),
        gifts_received=sides_of_trades.gets.gt(0) & sides_of_trades.gives.eq(0),
    )
    counts = sides_of_trades.groupby(["match", "seat"])[["trades", "gifts_given", "gifts_received"]].sum()
    both = games.merge(counts, left_on=["match", "seat"], right_index=True, how="left")
    for metric in counts:
        yield _tally(both, metric, both[metric].fillna(0).astype(float))
