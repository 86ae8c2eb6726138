"""Points of rounds and matches, against the rules and against each other."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from agon_audit.checks.base import KEPT, RARE, VOID, Case, Found, both, check, differ, skip, usual, where

AGAINST_RULES = "the rules pay {paid:.10g}, recorded are {points:.10g}"
IN_WHICH = ", in which the log has "
OFTEN = "the same actions often pay different points, so points depend on more than the condition and the actions"
NO_RULES = "no rules say what a round pays"


def _wrong(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """Whether the points of a row differ from the payment, and whether its round has the right points, maybe in other seats."""
    points, paid = case.games.rows.points.to_numpy(), case.payment.paid
    sorted_, group = [], case.games.group
    for values in (points, paid):
        order = np.lexsort((values, group))
        sorted_.append(values[order])
    same = ~differ(*sorted_) & ~np.isnan(sorted_[1])
    alike = pd.Series(same).groupby(np.sort(group)).all()
    return differ(points, paid), alike.reindex(group).to_numpy(bool)


@check(
    "points",
    "points that the rules do not pay",
    "rules of another variant, rounding, or a fee that is not in the mapping",
    "points",
)
def points(case: Case) -> Found:
    """Points of a round against the payoffs of its actions."""
    wrong, alike = _wrong(case)
    for words, number in _rounds(case):
        case.counts[words] += number
    return _against_rules(case, wrong & ~alike)


def _rounds(case: Case) -> Iterator[tuple[str, int]]:
    """The actions of each kind of round that a table pays, in words, and how many rounds have them."""
    games = case.games
    rows = games.rows.assign(group=games.group, profile=games.profile)[case.has_table & ~np.isnan(case.payment.paid)]
    kinds = rows[~rows.group.duplicated()].groupby(["condition", "profile"], observed=True).group.agg(["first", "size"])
    examples = rows[rows.group.isin(kinds["first"])].sort_values("seat")
    actions = examples.action.astype("str").fillna(VOID).groupby(examples.group).agg(", ".join)
    for (condition, _), (example, number) in kinds.iterrows():
        yield _words(condition, actions[example]), int(number)


def _words(condition: str, actions: str) -> str:
    return f"rounds{' of ' * bool(condition)}{condition} with {actions}"


def _against_rules(case: Case, mask: np.ndarray) -> Found:
    """The rows of a mask, and how many rounds have these actions and these points."""
    games, paid = case.games, case.payment.paid
    if not (looked := both(games.rows.points.to_numpy(), paid)):
        return skip(NO_RULES)
    notes = dict[str, tuple[int, int]]()
    if mask.any():
        rows = games.rows.assign(paid=paid, group=games.group, profile=games.profile)
        wrong = rows[rows.group.isin(rows.group[mask])].sort_values("seat", kind="stable")
        hashes = pd.util.hash_pandas_object(wrong[["seat", "points", "paid"]], index=False) ^ wrong.profile
        wrong = wrong.assign(kind=hashes.groupby(wrong.group).transform("sum"))
        kinds = (
            wrong[~wrong.group.duplicated()].groupby(["condition", "kind"], observed=True).group.agg(["size", "first"])
        )
        for (condition, _), (number, example) in kinds.nlargest(KEPT, "size").iterrows():
            round_ = wrong[wrong.group == example]
            points, pays = (", ".join(round_[name].map("{:.10g}".format)) for name in ("points", "paid"))
            words = _words(condition, ", ".join(round_.action.astype("str").fillna(VOID)))
            notes[f"{words}{IN_WHICH}{points} and the rules pay {pays}"] = int(number), case.counts[words]
    return where(case, mask, looked, AGAINST_RULES, notes, paid=paid)


@check(
    "exchanged", "points that belong to the other seat", "a column for the first player that holds the second", "points"
)
def exchanged(case: Case) -> Found:
    """Rounds that have the right points in the wrong seats."""
    wrong, alike = _wrong(case)
    return _against_rules(case, wrong & alike)


@check(
    "same_actions",
    "the same actions with other points",
    "payoffs that depend on more than the actions of the round",
    "points",
    "action",
)
def same_actions(case: Case) -> Found:
    """Where no rules are known: points that nearly all other rounds with these actions do not have."""
    if case.games.mapping.format == "agon":
        return skip("matches of agon are replayed instead")
    rows = case.games.rows.assign(profile=case.games.profile)
    part = rows[np.isnan(case.payment.paid) & rows.points.notna() & rows.action.notna() & case.games.whole]
    if part.empty:
        return skip("the rules say what every round pays, or no round has the actions of all seats")
    expected = usual(part, "points", ["condition", "seat", "profile"]).reindex(rows.index)
    mask = differ(rows.points.to_numpy(), expected.to_numpy(float))
    share = pd.Series(mask[part.index]).groupby(part.condition.array, observed=True).mean()
    often = share.index[share > RARE]
    for condition in often:
        case.unchecked(OFTEN, str(condition))
    mask &= ~rows.condition.isin(often).to_numpy()
    looked = int((~part.condition.isin(often)).sum())
    return where(
        case, mask, looked, "these actions usually pay {usual:.10g}, recorded are {points:.10g}", usual=expected
    )


@check(
    "totals",
    "totals that do not add up",
    "points given outside of the rounds, or a total from before the round",
    "total",
)
def totals(case: Case) -> Found:
    """The total of each round against the total before and the points of the round."""
    rows = case.games.rows
    step = rows.points if "points" in rows else pd.Series(case.payment.paid)
    ordered = rows.assign(step=step).sort_values("round", kind="stable")
    before = ordered.groupby(["match", "seat"], observed=True, sort=False).total.shift(fill_value=0)
    total, expected = rows.total.to_numpy(), (before + ordered.step).reindex(rows.index).to_numpy()
    looked = both(total, expected)
    if not looked:
        return skip("the points of the rounds are not known")
    return where(
        case,
        differ(total, expected),
        looked,
        "the total before and the points make {expected:.10g}, recorded is {total:.10g}",
        expected=expected,
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
        expected = by_seat.points.transform("sum", skipna=False).to_numpy()
    elif "total" in rows:
        expected = by_seat.total.transform("last").to_numpy()
    else:
        return skip("neither points nor totals are recorded")
    final = np.where(case.games.first, rows.final, np.nan)
    return where(
        case,
        differ(final, expected),
        both(final, expected),
        "the rounds make {expected:.10g}, recorded are {final:.10g}",
        expected=expected,
    )


@check(
    "scores",
    "points of a match that the rules do not pay",
    "a forfeit that has its own points, or a score that was scaled",
)
def scores(case: Case) -> Found:
    """The recorded points of a whole match against those that its actions earn by the rules, where rounds are not compared."""
    rows, paid = case.games.rows, case.payment.paid_total
    score = np.where(case.games.first, case.games.score, np.nan)
    if "points" in rows:
        score[~np.isnan(case.payment.paid)] = np.nan
    looked = both(score, paid)
    if not looked:
        return skip("rounds are compared instead" if "points" in rows else "no rules say what a match pays")
    return where(
        case,
        differ(score, paid),
        looked,
        "the rules pay {paid:.10g}, recorded are {score:.10g}",
        paid=paid,
        score=score,
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
    looked = rows.action.isna() & np.isnan(case.payment.paid) & case.has_table
    return where(case, looked & rows.points.fillna(0).ne(0), int(looked.sum()), "no action, and {points:.10g} points")
