"""The checks of recorded games: what does not fit, in which rows, and what may be an innocent cause."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from agon.errors import count
from agon.games.reading import folded
from agon_audit.replies import readings
from agon_audit.rules import Payment
from agon_audit.turns import CHANCE_SEAT, Games

KEPT = 1_000
"""So many rows of each check are kept; all are counted."""
CLOSE = 1e-6
"""Numbers that differ by less, relative to the larger one, are equal."""
RARE = 0.05
"""Where a rule is inferred from the rows, at most this share of them may break it; else it is taken for no rule."""
PLACE = ["file", "line", "match", "round", "seat"]

Words = Callable[[pd.DataFrame], Sequence[str]]
"""Rows -> a sentence on each."""


@dataclass
class Case:
    """What the checks look at: games, and what their rules say about every row."""

    games: Games
    payment: Payment
    rounds: np.ndarray
    """The fixed number of rounds of each row's match; NaN where the rules do not say it."""
    has_table: np.ndarray
    """Whether a row has rules that pay every round by its actions."""
    words: Sequence[str]
    """Actions of the rules."""
    transcripts: dict[int, str] = field(default_factory=dict)
    """Hash of a transcript -> its match, of all files so far."""


@dataclass
class Found:
    """The outcome of a check."""

    looked: int
    """How many cells, rounds or matches were looked at."""
    count: int = 0
    rows: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=[*PLACE, "what"]))
    """The first KEPT of them: PLACE, and `what`, a sentence."""
    notes: Sequence[str] = ()
    skipped: str = ""
    """Why nothing was looked at."""


@dataclass(frozen=True)
class Check:
    """A check, with all that a page says about it."""

    name: str
    title: str
    causes: str
    """Innocent causes that a reader should think of."""
    find: Callable[[Case], Found]
    needs: Sequence[str] = ()
    """Columns without which it cannot be made."""
    is_difference: bool = True
    """False: what it finds may be right, and is shown as a note that changes no exit code."""

    def run(self, case: Case) -> Found:
        """The outcome, or what is missing for it."""
        missing = [name for name in self.needs if not case.games.has(name)]
        return Found(0, skipped=f"{' and '.join(missing)} not recorded") if missing else self.find(case)


CHECKS: list[Check] = []


def check(
    name: str, title: str, causes: str, *needs: str, is_difference: bool = True
) -> Callable[..., Callable[[Case], Found]]:
    """Adds a function to CHECKS."""

    def add(find: Callable[[Case], Found]) -> Callable[[Case], Found]:
        CHECKS.append(Check(name, title, causes, find, needs, is_difference))
        return find

    return add


def where(case: Case, mask: np.ndarray, looked: int, words: Words, notes: Sequence[str] = ()) -> Found:
    """The rows of a mask, with words."""
    rows = case.games.rows[mask].head(KEPT)
    return Found(looked, int(mask.sum()), rows[PLACE].assign(what=list(words(rows))), notes)


def differ(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Whether numbers that are both known differ."""
    scale = np.maximum(1, np.maximum(np.abs(first), np.abs(second)))
    return np.abs(first - second) > CLOSE * scale  # comparisons with NaN are false


def pairs(values: pd.DataFrame, form: str) -> Words:
    """Words that put two columns of numbers, in the order of the rows, into a form."""
    return lambda rows: [
        form.format(*(f"{value:.10g}" for value in line)) for line in values.loc[rows.index].to_numpy()
    ]


# ---- cells ----


@check(
    "numbers",
    "cells that hold no number",
    "another decimal mark, a unit behind the number, or columns that have shifted",
)
def numbers(case: Case) -> Found:
    """Text where a number belongs."""
    bad, rows = case.games.unreadable, case.games.rows
    names = [name for name in ("points", "total", "final", "result", "round", "seat") if name in rows]
    what = [
        f"{name}: {text!r:.60} is no number"
        for name, text in zip(bad.get("column", ()), bad.get("text", ()), strict=True)
    ]
    places = bad.reindex(columns=PLACE).assign(what=what)
    return Found(int(rows[names].notna().sum().sum()) + len(bad), len(bad), places.head(KEPT))


@check(
    "actions",
    "actions that are not in the game",
    "another spelling, a word of another language, or rules of another variant",
    "action",
)
def actions(case: Case) -> Found:
    """Actions that the rules do not have."""
    legal = case.payment.legal
    return where(
        case,
        legal == 0,
        int((~np.isnan(legal)).sum()),
        lambda rows: [f"{text!r:.80} is no action of the game" for text in rows.action],
    )


@check(
    "offered",
    "actions that were not offered",
    "a list of actions that belongs to the step before or after",
    "action",
    "legal",
)
def offered(case: Case) -> Found:
    """Actions that are not in the list that the log has for this seat and round."""
    rows = case.games.rows[["action", "legal"]].dropna()

    def is_missing(action: str, text: str) -> bool:
        try:
            values = json.loads(text)
        except (ValueError, RecursionError):
            return False
        return isinstance(values, list) and str(action) not in map(str, values)

    mask = np.zeros(len(case.games.rows), bool)
    mask[rows.index] = [is_missing(*pair) for pair in zip(rows.action, rows.legal, strict=True)]
    return where(case, mask, len(rows), lambda rows: [f"{text!r:.80} was not offered" for text in rows.action])


@check(
    "applied",
    "actions that were applied though the player sent another or none",
    "a program that takes a fallback on purpose",
    "action",
    "submitted",
)
def applied(case: Case) -> Found:
    """What a player sent against what was applied."""
    rows = case.games.rows
    sent, action = rows.submitted.astype("str"), rows.action.astype("str")
    mask = (action.notna() & sent.ne(action).fillna(True) & (rows.seat != CHANCE_SEAT)).to_numpy(bool)
    return where(
        case,
        mask,
        int(action.notna().sum()),
        lambda rows: [
            f"sent {one!r:.40}, applied {other!r:.40}" for one, other in zip(rows.submitted, rows.action, strict=True)
        ],
    )


# ---- points ----


def _wrong_points(case: Case) -> tuple[np.ndarray, np.ndarray, int]:
    """Rows whose points are not as paid; of these the rows of rounds that pay the same to other seats; and how many are known."""
    rows, paid = case.games.rows, case.payment.paid
    points = rows.points.to_numpy()
    wrong = differ(points, paid)
    tables = [
        pd.DataFrame({"group": case.games.group, "value": value}).sort_values(["group", "value"])
        for value in (points, paid)
    ]
    same = ~differ(tables[0].value.to_numpy(), tables[1].value.to_numpy()) & tables[1].value.notna().to_numpy()
    alike = pd.Series(same).groupby(tables[0].group.to_numpy()).all()
    return (
        wrong,
        wrong & alike.reindex(case.games.group).to_numpy(bool),
        int((~np.isnan(points) & ~np.isnan(paid)).sum()),
    )


def _paid(case: Case, form: str) -> Words:
    return pairs(pd.DataFrame({"paid": case.payment.paid, "points": case.games.rows.points}), form)


@check(
    "points",
    "points that the rules do not pay",
    "rules of another variant, rounding, or a fee that is not in the mapping",
    "points",
)
def points(case: Case) -> Found:
    """Points of a round against the payoffs of its actions."""
    wrong, exchanged, looked = _wrong_points(case)
    if not looked:
        return Found(0, skipped="no rules say what a round pays")
    return where(case, wrong & ~exchanged, looked, _paid(case, "the rules pay {}, recorded are {}"))


@check(
    "exchanged", "points that belong to the other seat", "a column for the first player that holds the second", "points"
)
def exchanged(case: Case) -> Found:
    """Rounds that have the right points in the wrong seats."""
    _, mask, looked = _wrong_points(case)
    if not looked:
        return Found(0, skipped="no rules say what a round pays")
    return where(
        case, mask, looked, _paid(case, "the rules pay {} to this seat, recorded are {}: those of another seat")
    )


@check(
    "same_actions",
    "the same actions with other points",
    "payoffs that depend on more than the actions of the round",
    "points",
    "action",
)
def same_actions(case: Case) -> Found:
    """Where no rules are known: points that nearly all other rounds with these actions do not have."""
    rows = case.games.rows
    unknown = np.isnan(case.payment.paid) & rows.points.notna().to_numpy() & rows.action.notna().to_numpy()
    if not unknown.any():
        return Found(0, skipped="the rules say what every round pays" if len(rows) else "there are no rows")
    keys = rows.assign(profile=case.games.profile)[unknown]
    usual = _usual(keys, "points", ["condition", "seat", "profile"])
    mask = np.zeros(len(rows), bool)
    mask[np.flatnonzero(unknown)] = differ(keys.points.to_numpy(), usual.to_numpy(float))
    if mask.mean() > RARE:
        return Found(0, skipped="the same actions often pay different points, so payoffs depend on more than these")
    values = pd.DataFrame({"usual": usual, "points": rows.points})
    return where(case, mask, int(unknown.sum()), pairs(values, "these actions usually pay {}, recorded are {}"))


def _usual(rows: pd.DataFrame, column: str, keys: list[str]) -> pd.Series:
    """The most frequent value of a column among rows that are alike in `keys`; of equally frequent ones the first."""
    counts = rows.groupby([*keys, column], observed=True, sort=False, dropna=False).size().rename("n").reset_index()
    best = counts.sort_values("n", ascending=False, kind="stable").drop_duplicates(keys)[[*keys, column]]
    merged = rows[keys].merge(best, on=keys, how="left")
    return pd.Series(merged[column].array, rows.index)


@check(
    "totals",
    "totals that do not add up",
    "points given outside of the rounds, or a total from before the round",
    "total",
)
def totals(case: Case) -> Found:
    """The total of each round against the total before and the points of the round."""
    rows = case.games.rows
    step = rows.points.to_numpy() if "points" in rows else case.payment.paid
    order = np.lexsort((rows["round"], rows.seat, rows.match.cat.codes))
    total = rows.total.to_numpy()[order]
    starts = (
        pd.DataFrame({"match": rows.match.cat.codes, "seat": rows.seat}).iloc[order].diff().ne(0).any(axis=1).to_numpy()
    )
    before = np.where(starts, 0, np.concatenate([[0], total[:-1]]))
    expected = np.empty(len(rows))
    expected[order] = before + step[order]
    mask = differ(rows.total.to_numpy(), expected)
    looked = int((~np.isnan(rows.total.to_numpy()) & ~np.isnan(expected)).sum())
    if not looked:
        return Found(0, skipped="the points of the rounds are not known")
    return where(
        case,
        mask,
        looked,
        pairs(
            pd.DataFrame({"sum": expected, "total": rows.total}),
            "the total before and the points make {}, recorded is {}",
        ),
    )


@check(
    "finals",
    "points of a match that are not the sum of its rounds",
    "rounds that are left out of the log, or a bonus",
    "final",
)
def finals(case: Case) -> Found:
    """Final points against the sum of points, else the last total."""
    rows = case.games.rows
    by_seat = rows.groupby(["match", "seat"], observed=True, sort=False)
    if "points" in rows:
        expected = by_seat.points.transform("sum", skipna=False)
    elif "total" in rows:
        expected = by_seat.total.transform("last")
    else:
        return Found(0, skipped="neither points nor totals are recorded")
    mask = case.games.first & differ(rows.final.to_numpy(), expected.to_numpy())
    looked = int((case.games.first & rows.final.notna() & expected.notna()).sum())
    return where(
        case,
        mask,
        looked,
        pairs(pd.DataFrame({"sum": expected, "final": rows.final}), "the rounds make {}, recorded are {}"),
    )


@check(
    "scores",
    "points of a match that the rules do not pay",
    "a forfeit that has its own points, or a score that was scaled",
)
def scores(case: Case) -> Found:
    """The recorded points of a whole match against those that its actions earn by the rules."""
    rows, score, paid = case.games.rows, case.games.score, case.payment.paid_total
    first = case.games.first & ~np.isnan(score) & ~np.isnan(paid)
    if "points" in rows:
        first &= np.isnan(case.payment.paid)  # else every round is compared
    if not first.any():
        return Found(0, skipped="rounds are compared instead" if "points" in rows else "no rules say what a match pays")
    values = pd.DataFrame({"paid": paid, "score": score})
    return where(
        case, first & differ(score, paid), int(first.sum()), pairs(values, "the rules pay {}, recorded are {}")
    )


@check(
    "void",
    "rounds that are paid although an action is missing",
    "an action that was lost in the log, or a default action",
    "points",
    "action",
)
def void(case: Case) -> Found:
    """Points without an action, where the rules pay actions."""
    rows = case.games.rows
    looked = rows.action.isna().to_numpy() & np.isnan(case.payment.paid) & case.has_table
    if not looked.any():
        return Found(int(rows.action.isna().sum()))
    mask = looked & rows.points.fillna(0).ne(0).to_numpy()
    return where(
        case, mask, int(looked.sum()), lambda rows: [f"no action, and {value:.10g} points" for value in rows.points]
    )


# ---- rounds and seats ----


@check(
    "replay",
    "matches that cannot be played by the rules",
    "rules of another variant, rows that are missing, or a forfeit",
)
def replay(case: Case) -> Found:
    """The first move of a match that does not fit."""
    faults = case.payment.faults
    looked = int((case.games.first & (case.payment.legal == 1)).sum()) or len(faults)
    mask = np.zeros(len(case.games.rows), bool)
    mask[list(faults)] = True
    if not looked:
        return Found(0, skipped="no match was replayed move by move")
    return where(case, mask, looked, lambda rows: [faults[place] for place in rows.index])


def _spans(case: Case) -> pd.DataFrame:
    """First and last round of each match, how many there are, and how many there must be (NaN: not fixed)."""
    rows = case.games.rows.assign(fixed=case.rounds)
    rows = rows[rows.seat != CHANCE_SEAT]
    spans = rows.groupby("match", observed=True, sort=False).agg(
        first=("round", "min"),
        last=("round", "max"),
        n=("round", "nunique"),
        fixed=("fixed", "first"),
        file=("file", "first"),
    )
    return spans.assign(base=spans.groupby("file", observed=True)["first"].transform("min"))


@check(
    "rounds_missing",
    "matches with missing rounds",
    "a crash that was continued, or a match that ended early on purpose",
)
def rounds_missing(case: Case) -> Found:
    """Gaps in the numbers of rounds, and rounds that the rules have and the match has not."""
    rows, spans = case.games.rows, _spans(case)
    if not case.games.mapping.round:
        return Found(0, skipped="rounds have no numbers")
    wanted = spans.fixed.fillna(spans["last"] - spans.base + 1)
    missing = (wanted - spans.n)[wanted > spans.n]
    mask = ~rows.duplicated("match").to_numpy() & rows.match.isin(missing.index).to_numpy()
    return where(
        case,
        mask,
        len(spans),
        lambda rows: [f"it has {spans.n[name]} of {count(int(wanted[name]), 'round')}" for name in rows.match],
    )


@check("rounds_beyond", "rounds after the end of the match", "a number of rounds of another variant")
def rounds_beyond(case: Case) -> Found:
    """Rounds that the rules do not have."""
    rows, spans = case.games.rows, _spans(case)
    known = ~np.isnan(case.rounds)
    if not known.any():
        return Found(0, skipped="the rules fix no number of rounds")
    base = rows.match.map(spans.base).to_numpy(float)
    mask = known & (rows["round"].to_numpy() - base + 1 > case.rounds)
    return where(
        case, mask, int(known.sum()), lambda rows: [f"round {number} is after the last one" for number in rows["round"]]
    )


@check("rounds_repeated", "rounds that are there twice", "two matches with one name, or a log that was written twice")
def rounds_repeated(case: Case) -> Found:
    """Two rows with the same match, round and seat."""
    rows = case.games.rows
    mask = rows.duplicated(["match", "round", "seat"]).to_numpy() & (rows.seat != CHANCE_SEAT).to_numpy()
    same = rows.duplicated([name for name in rows if name not in ("line", "total")]).to_numpy()
    return where(
        case,
        mask,
        len(rows),
        lambda part: [
            f"the round is there again, {'with the same' if same[at] else 'with other'} values" for at in part.index
        ],
    )


@check("rounds_order", "rounds out of order", "a log that several processes wrote")
def rounds_order(case: Case) -> Found:
    """A row with a smaller round than the row before of the same match and seat."""
    rows = case.games.rows
    before = rows.groupby(["match", "seat"], observed=True, sort=False)["round"].shift()
    mask = (rows["round"] < before).to_numpy()
    return where(case, mask, len(rows), lambda part: [f"it comes after round {before[at]:.0f}" for at in part.index])


@check(
    "seats",
    "rounds in which a seat is missing or too many are there",
    "rows that were left out because an answer could not be read",
)
def seats(case: Case) -> Found:
    """Rounds with other seats than the match has elsewhere."""
    rows = case.games.rows
    present = rows[~rows.duplicated(["match", "round", "seat"]) & (rows.seat != CHANCE_SEAT)]
    group = case.games.group
    number = pd.Series(group[present.index]).value_counts().reindex(group, fill_value=0).to_numpy()
    usual = pd.Series(number).groupby(rows.match.cat.codes.to_numpy()).transform("max").to_numpy()
    first = ~pd.Series(group).duplicated().to_numpy()
    mask = first & (number < usual)
    inferred = first & ~case.has_table
    if (mask & inferred).sum() > RARE * inferred.sum():
        mask, first = mask & ~inferred, first & ~inferred
    if not first.any():
        return Found(0, skipped="seats take turns, so a round does not have all of them")
    return where(
        case,
        mask,
        int(first.sum()),
        lambda part: [f"{number[at]} of {count(int(usual[at]), 'seat')} are there" for at in part.index],
    )


@check(
    "players",
    "seats whose player changes within a match",
    "two matches with one name, or seats that were exchanged on purpose",
    "player",
)
def players(case: Case) -> Found:
    """Another player than in the first row of the match and seat."""
    rows = case.games.rows
    codes = rows.assign(code=rows.player.cat.codes).groupby(["match", "seat"], observed=True, sort=False).code
    first = codes.transform("first")
    mask = rows.player.cat.codes.ne(first).to_numpy()
    names = rows.player.cat.categories
    return where(
        case,
        mask,
        len(rows),
        lambda part: [
            f"{player}, and before {names[first[at]] if first[at] >= 0 else 'nobody'}"
            for at, player in part.player.items()
        ],
    )


# ---- what was said, and what it counted as ----


@check(
    "replies",
    "actions that the reply does not name",
    "a second answer that was asked for and not logged, or a misread reply",
    "action",
    "reply",
)
def replies(case: Case) -> Found:
    """Replies that are nothing but another action, or name another one after the mapping's tag. Other readings are notes."""
    rows = case.games.rows
    said = readings(rows.reply, [*map(str, rows.action.cat.categories), *case.words], case.games.mapping.tag)
    if said is None:
        return Found(0, skipped="there are too many different actions to look for them in replies")
    action = rows.action.astype("str")
    notes = []
    for name in said:
        readable = said[name].notna() & action.notna()
        changed = readable & said[name].ne(action)
        matches = rows.match[changed].nunique()
        notes.append(
            f"read as {name}: {readable.sum():,} replies name an action, {changed.sum():,} another one than was applied ({count(matches, 'match')})"
        )
    clear = (
        said["the whole reply"].fillna(said["the text after the tag"])
        if case.games.mapping.tag
        else said["the whole reply"]
    )
    mask = (clear.notna() & action.notna() & clear.ne(action)).to_numpy(bool)
    return where(
        case,
        mask,
        int(clear.notna().sum()),
        lambda part: [f"said {clear[at]!r:.40}, applied {action[at]!r:.40}" for at in part.index],
        notes,
    )


INCOMPLETE = {
    *("length", "max_tokens", "model_length", "content_filter", "filter", "refusal", "error", "failed"),
    *("timeout", "forfeit", "cancelled", "invalid", "illegal"),
}
"""Reasons to end with which no answer is whole, as providers and programs call them."""


@check(
    "incomplete",
    "answers that were cut off, refused or forfeited and count as actions",
    "an action that stands before the cut",
    "action",
    "ended",
)
def incomplete(case: Case) -> Found:
    """An action whose answer was not whole."""
    rows = case.games.rows
    mask = (rows.ended.astype("str").str.lower().isin(INCOMPLETE) & rows.action.notna()).to_numpy(bool)
    counts = rows.action[mask].astype("str").value_counts().head(5)
    notes = (
        [f"they count as: {', '.join(f'{name!r:.40} {number:,} times' for name, number in counts.items())}"]
        if mask.any()
        else []
    )
    return where(
        case,
        mask,
        int(rows.ended.notna().sum()),
        lambda part: [
            f"ended with {why}, counts as {text!r:.40}" for why, text in zip(part.ended, part.action, strict=True)
        ],
        notes,
    )


@check(
    "silent",
    "actions without a reply",
    "a default action, or a reply that was not logged",
    "action",
    "reply",
    is_difference=False,
)
def silent(case: Case) -> Found:
    """An action with an empty reply, of a player who replies otherwise."""
    rows = case.games.rows
    empty = rows.reply.isna() | rows.reply.astype("str").str.strip().eq("")
    speaks = (~empty).groupby(rows.player if "player" in rows else rows.seat, observed=True).transform("mean") > 0.5
    mask = (empty & speaks & rows.action.notna()).to_numpy(bool)
    return where(
        case,
        mask,
        int((speaks & rows.action.notna()).sum()),
        lambda part: [f"no reply, applied {text!r:.40}" for text in part.action],
    )


# ---- results and labels ----


def _results(case: Case) -> tuple[pd.DataFrame, pd.Series]:
    """Score and result of each match and seat, and whether the score is the highest of the match."""
    rows = case.games.rows.assign(score=case.games.score)[case.games.first]
    rows = rows[rows.score.notna() & rows.result.notna()]
    best = rows.groupby("match", observed=True).score.transform("max")
    return rows, ~pd.Series(differ(rows.score.to_numpy(), best.to_numpy()), rows.index)


@check(
    "winners",
    "winners that did not have the most points",
    "a forfeit, or a game in which fewer points are better",
    "result",
)
def winners(case: Case) -> Found:
    """A seat with the highest result and not the highest score."""
    rows, is_best = _results(case)
    top = rows.result == rows.groupby("match", observed=True).result.transform("max")
    draws = rows.groupby("match", observed=True).result.transform("nunique") == 1
    mask = np.zeros(len(case.games.rows), bool)
    mask[rows.index[top & ~is_best & ~draws]] = True
    return where(
        case,
        mask,
        rows.match.nunique(),
        lambda part: [
            f"counts as the winner with {case.games.score[at]:.10g} points, and another has more" for at in part.index
        ],
    )


@check("ties", "ties that count as something else", "a rule that breaks ties, such as the earlier move", "result")
def ties(case: Case) -> Found:
    """Seats that share the highest score and have different results."""
    rows, is_best = _results(case)
    best = rows[is_best]
    by_match = best.groupby("match", observed=True)
    tied = best[by_match.seat.transform("size") > 1]
    apart = tied[tied.groupby("match", observed=True).result.transform("nunique") > 1]
    mask = np.zeros(len(case.games.rows), bool)
    mask[apart[~apart.duplicated("match")].index] = True
    values = tied.result.value_counts().head(5)
    notes = (
        [f"{count(tied.match.nunique(), 'tie')}, scored as {', '.join(f'{value:.10g}' for value in values.index)}"]
        if len(tied)
        else []
    )
    return where(
        case,
        mask,
        rows.match.nunique(),
        lambda part: [f"seats tie at {case.games.score[at]:.10g}, and their results differ" for at in part.index],
        notes,
    )


@check("labels", "labels that contradict the action", "a label that is derived from points, or from the other seat")
def labels(case: Case) -> Found:
    """A column that must follow from the action by the mapping, or does so in nearly all rows."""
    rows, found, looked, notes = case.games.rows, [], 0, []
    for name, label in case.games.mapping.labels.items():
        column = rows[f"label {name}"].astype("str")
        known = rows.action.notna() & column.notna()
        table = rows[known].assign(label=column[known], profile=case.games.profile[known])
        if label.values is not None:
            expected = table.action.astype("str").map({action: _text(value) for action, value in label.values.items()})
            wrong = expected.notna() & ~_same(expected, table.label)
        else:
            ways = {text: _usual(table, "label", keys) for text, keys in LABEL_KEYS.items()}
            how, expected = min(ways.items(), key=lambda way: (~_same(way[1], table.label)).sum())
            wrong = ~_same(expected, table.label)
            notes.append(f"{name} follows from {how}, but for {wrong.sum():,} of {len(wrong):,} rows")
            if wrong.mean() > RARE:
                notes[-1] = (
                    f"{name} follows from no action: at best from {how}, but for {wrong.sum():,} of {len(wrong):,} rows"
                )
                wrong &= False
        looked += len(table)
        found.append(
            rows.loc[wrong.index[wrong], PLACE].assign(
                what=[
                    f"{name} is {table.label[at]!r:.40}, from the action follows {expected[at]!r:.40}"
                    for at in wrong.index[wrong]
                ]
            )
        )
    if not found:
        return Found(0, skipped="the mapping names no labels")
    together = pd.concat(found)
    return Found(looked, len(together), together.head(KEPT), notes)


LABEL_KEYS = {"the action": ["condition", "action"], "the actions of all seats": ["condition", "seat", "profile"]}


def _text(value: object) -> str:
    return f"{value:.10g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _same(first: pd.Series, second: pd.Series) -> pd.Series:
    """Whether texts are the same word or the same number."""
    as_numbers = [pd.to_numeric(column, errors="coerce") for column in (first, second)]
    return (first.map(folded, na_action="ignore") == second.map(folded, na_action="ignore")) | (
        as_numbers[0] == as_numbers[1]
    )


# ---- what was seen ----


@check(
    "leaks",
    "hidden facts in what another seat saw",
    "a word that stands there by chance, or a fact that may be known by then",
    "view",
    "hidden",
)
def leaks(case: Case) -> Found:
    """The hidden fact of one seat, as a whole word, in the view of another seat. Facts of less than three letters are not looked for."""
    rows = case.games.rows
    facts = rows[rows.hidden.notna()].drop_duplicates(["match", "seat"]).groupby("match", observed=True)
    by_match = {match: dict(zip(part.seat, part.hidden.map(folded), strict=True)) for match, part in facts}
    mask, what, looked = np.zeros(len(rows), bool), {}, 0
    for at, match, seat, view in zip(rows.index, rows.match, rows.seat, rows["view"], strict=True):
        own = by_match.get(match, {})
        others = {fact for other, fact in own.items() if other != seat and fact != own.get(seat) and len(fact) > 2}
        if not others or not isinstance(view, str):
            continue
        looked += 1
        words = f" {' '.join(''.join(letter if letter.isalnum() else ' ' for letter in folded(view)).split())} "
        if shown := [fact for fact in sorted(others) if f" {fact} " in words]:
            mask[at], what[at] = True, f"it shows {shown[0]!r:.40}, which is hidden from this seat"
    return where(case, mask, looked, lambda part: [what[at] for at in part.index])


@check("order", "orders of options that are none", "an order that counts from 1", "order")
def order(case: Case) -> Found:
    """An order that does not name each option once."""
    column = case.games.rows.order.astype("category")
    size = len(case.games.mapping.options)

    def is_order(text: str) -> bool:
        try:
            values = json.loads(text.replace("'", '"'))
        except (ValueError, RecursionError):
            return False
        return (
            isinstance(values, list)
            and len({*map(str, values)}) == len(values)
            and len(values) == (size or len(values))
        )

    good = {text: is_order(text) for text in column.cat.categories}
    mask = column.map(good).eq(False).fillna(False).to_numpy(bool)
    counts = column.value_counts().head(6)
    return where(
        case,
        mask,
        int(column.notna().sum()),
        lambda part: [f"{text!r:.60} does not name each option once" for text in part.order],
        [f"orders: {', '.join(f'{text} {number:,} times' for text, number in counts.items())}"],
    )


@check(
    "transcripts",
    "matches that are the same although chance takes part",
    "a fixed seed, temperature 0, or a file that was copied",
)
def transcripts(case: Case) -> Found:
    """Matches of one condition and the same players with the same actions and replies in all rounds."""
    if not case.games.mapping.chance:
        return Found(0, skipped="the mapping does not say that chance makes matches differ")
    hashes = match_hashes(case.games, ["condition", "player", "reply"])
    earlier, seen = dict[str, str](), case.transcripts
    for match, value in hashes.items():
        if (other := seen.setdefault(value, match)) != match:
            earlier[match] = other
    rows = case.games.rows
    mask = ~rows.duplicated("match").to_numpy() & rows.match.isin(list(earlier)).to_numpy()
    return where(case, mask, len(hashes), lambda part: [f"it is the same as {earlier[name]}" for name in part.match])


def match_hashes(games: Games, columns: Sequence[str]) -> pd.Series:
    """Match -> a number for its rounds, seats, actions and points, and these columns where they are recorded."""
    names = ["round", "seat", *(name for name in ("action", "points", *columns) if name in games.rows)]
    rows = pd.util.hash_pandas_object(
        games.rows[names].astype({name: "str" for name in names if name not in ("round", "seat")}), index=False
    )
    return rows.groupby(games.rows.match.to_numpy(), observed=True, sort=False).sum()
