"""How precisely players choose what pays: the logit quantal response of McKelvey and Palfrey (1995), fitted to choices.

Two methods (Bland and Turocy, Quantal response equilibrium as a structural model for estimation, 2023): `fit` takes what actions paid
against what the others really did; `fit_equilibrium` takes what they pay where both players respond so, each to the other.
"""

from collections.abc import Sequence
from itertools import islice, pairwise
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from agon.errors import AgonError
from agon.turns import decoded, replaced, tidy

Numbers = NDArray[np.float64]

HALVINGS = 80
"""Of an interval in which a precision lies."""
ONE, ALIKE = "one unit: no interval", "all units are alike: no interval"
MOST = 1000.0
"""Precision at which a branch of equilibria ends, in one over the largest difference of payoffs."""
STEPS = 3000
"""Along a branch, at most."""
STRIDE = 0.2
"""How long a step may be, absolutely, or as a share of the precision where that is above 1."""
BEND = 0.95
"""Cosine of the angle between a step and the next, at least."""
FORK = 1e-4
"""Longest step over a fork: where a longer one would be over one, it may be a jump to another branch near by."""
EXACT = 1e-10
"""How far the logarithm of a chance may be from that of the reply to the others' chances."""
SAME = 1e-6
"""Log-likelihoods that differ by less for each choice are the same."""


class Fit(NamedTuple):
    """A precision, and its interval at 95 %; absent (nan) what cannot be said."""

    precision: float
    low: float
    high: float
    why: str = ""
    """Why something is absent, or the precision infinite."""


def _absent(why: str, precision: float = np.nan) -> Fit:
    return Fit(precision, np.nan, np.nan, why)


def fit(counts: Numbers, worth: Numbers) -> Fit:
    """The most likely precision of choices `counts` (units x sides x actions), where actions are `worth` so much (sides x actions).

    A side chooses an action with a chance in proportion to exp(precision x worth): 0 is uniform, infinite always best. Sides share
    one precision; who does worse than uniform play has 0. Units, such as matches, are drawn: the interval is Student's t with the
    variance between them (a sandwich); it is absent for one unit, where units are alike, and where the precision is infinite.
    """
    total = counts.sum(axis=(0, 2)) if counts.size else np.zeros(len(worth))
    scale = float(np.ptp(worth, axis=1).max())
    if not counts.sum():
        return _absent("no choices")
    if scale == 0:
        return _absent("all actions are worth the same against what the others did")
    values = (worth - worth.max(axis=1, keepdims=True)) / scale
    chosen = float((counts.sum(axis=0) * values).sum())

    def chances(precision: float) -> Numbers:
        found = np.exp(precision * values - (precision * values).max(axis=1, keepdims=True))
        return found / found.sum(axis=1, keepdims=True)

    def excess(precision: float) -> float:
        """How much more the choices are worth than the model's."""
        return chosen - float((total * (chances(precision) * values).sum(axis=1)).sum())

    side = 1.0 if excess(0.0) >= 0 else -1.0  # of 0; worse than uniform is below it
    end = float((total * (values.max(axis=1) if side > 0 else values.min(axis=1))).sum())
    if abs(end - chosen) <= 1e-12 * total.sum() and excess(0.0):
        return _absent("always the best" if side > 0 else "always the worst", np.inf if side > 0 else 0.0)
    low, high = 0.0, 1.0
    while side * excess(side * high) > 0:
        low, high = high, 2 * high
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if side * excess(side * middle) > 0 else (low, middle)
    best = side * (low + high) / 2
    if len(counts) < 2:
        return _absent(ONE, max(0.0, best) / scale)
    shares = chances(best)
    mean = (shares * values).sum(axis=1)
    own = ((counts * values).sum(axis=2) - counts.sum(axis=2) * mean).sum(axis=1)
    information = float((total * ((shares * values**2).sum(axis=1) - mean**2)).sum())
    error = float((own**2).sum() * len(own) / (len(own) - 1)) ** 0.5 / information
    if error < 1e-9:
        return _absent(ALIKE, max(0.0, best) / scale)
    half = float(stdtrit(len(own) - 1, 0.975)) * error
    point, low, high = (max(0.0, each) / scale for each in (best, best - half, best + half))
    return Fit(point, low, high)


def fit_equilibrium(counts: Numbers, own: Numbers, other: Numbers) -> Fit:
    """The most likely precision of choices `counts` (units x 2 sides x actions) in a logit quantal response equilibrium.

    `own` and `other` are what each side is paid (actions of the first side x of the second). Both sides have the same precision, and
    each responds to the other's chances, not to what the other did. The equilibria are those of the principal branch, which begins at
    uniform play; the best of the whole branch is taken, as pygambit.qre.logit_estimate does, and who does worse than uniform play
    has 0. Where the branch forks, as in games that are alike for both sides, it is followed straight on. The interval is that of `fit`.
    """
    total = counts.sum(axis=0)
    if not total.sum():
        return _absent("no choices")
    scale = float(max(np.ptp(own), np.ptp(other))) or 1.0
    branch = Branch(own / scale, other / scale)
    path = branch.path()
    found = _best_of(branch, path, counts)
    forks = (here.precision / scale for here, ahead in pairwise(path) if here.side != ahead.side)
    whys = [found.why] * bool(found.why)
    whys += [f"the equilibria fork at {at:.3g}, and are followed straight on" for at in islice(forks, 1)]
    return Fit(found.precision / scale, found.low / scale, found.high / scale, "; ".join(whys))


def _best_of(branch: "Branch", path: Sequence["Point"], counts: Numbers) -> Fit:
    """The most likely point of a path."""
    total = counts.sum(axis=0)
    same = SAME * float(total.sum())
    likely = [branch.likelihood(each, total) for each in path]
    if max(likely) - min(likely) <= same:
        return _absent("every precision has the same equilibrium")
    if path[-1].precision < MOST:
        return _absent("the equilibria cannot be followed to the end")
    best = max([path[0], *branch.peaks(path, total)], key=lambda each: branch.likelihood(each, total))
    if likely[-1] >= branch.likelihood(best, total) - same:
        return _absent("no precision is more likely than an infinite one", np.inf)
    if len(counts) < 2:
        return _absent(ONE, best.precision)
    slope = (best.along[:-1] / best.along[-1]).reshape(total.shape)  # of the logarithms of chances, in the precision
    information = float((total.sum(axis=1) * (best.chances * slope**2).sum(axis=1)).sum())
    if abs(best.along[-1]) < SAME or information <= same:
        return _absent("the equilibria there have no slope in the precision: no interval", best.precision)
    scores = (counts * slope).sum(axis=(1, 2))
    error = float(((scores - scores.mean()) ** 2).sum() * len(counts) / (len(counts) - 1)) ** 0.5 / information
    if error < 1e-9:
        return _absent(ALIKE, best.precision)
    middle = best.precision or float(scores.sum()) / information  # at 0, as far below it as the choices say
    half = float(stdtrit(len(counts) - 1, 0.975)) * error
    return Fit(best.precision, max(0.0, middle - half), max(0.0, middle + half))


class Point(NamedTuple):
    """A point of a branch (the logarithms of all chances, then the precision), and the direction of the branch there."""

    point: Numbers
    along: Numbers
    side: float = 1.0
    """Sign of the determinant: the other one beyond a fork."""

    @property
    def precision(self) -> float:
        """In one over points."""
        return float(self.point[-1])

    @property
    def chances(self) -> Numbers:
        """Of each side's actions (sides x actions)."""
        return np.exp(self.point[:-1].reshape(2, -1))


class Branch:
    """The principal branch of the logit equilibria of two sides, followed by its length: it may turn back in the precision.

    `own` and `other` as of `fit_equilibrium`; their largest difference should be about 1.
    Turocy, A dynamic homotopy interpretation of the logistic quantal response equilibrium correspondence (2005). Every point is
    exact to EXACT, and the number of steps is limited: pygambit's own tracing does not end in every game.
    """

    def __init__(self, own: Numbers, other: Numbers) -> None:
        self.own, self.other, self.many = own, other, len(own)
        self.one = np.eye(2 * self.many + 1)

    def path(self) -> list[Point]:
        """From uniform play to a precision of MOST, or as far as it can be followed."""
        start = np.append(np.full(2 * self.many, -np.log(self.many)), 0.0)
        begun = self.moved(Point(start, self.one[-1]), 0.0, bend=0.0)
        found, by = [begun] if begun else [], STRIDE
        while found and len(found) < STEPS and by > EXACT and 0 <= found[-1].precision < MOST:
            by = min(by, STRIDE * max(1.0, found[-1].precision))
            ahead = self.moved(found[-1], by)
            found += [ahead] if ahead else []
            by *= 1.5 if ahead else 0.5
        return found

    def moved(self, here: Point, by: float, bend: float = BEND) -> Point | None:
        """The point so far along, by Newton's method; none where it is not found, or where the branch bends too much on the way."""
        point = here.point + by * here.along
        for _ in range(8):
            if not point[:-1].max() < 1:  # a logarithm of a chance
                return None
            away, slopes = self.gap(point)
            square = np.vstack([slopes, here.along])
            if abs(away).max() <= EXACT:
                along = np.linalg.solve(square, self.one[-1])
                along /= np.linalg.norm(along)
                side = float(np.linalg.slogdet(square).sign)
                jumped = along @ here.along < bend or (side != here.side and by > FORK)
                return None if jumped else Point(point, along, side)
            point = point - np.linalg.solve(square, np.append(away, 0.0))
        return None

    def gap(self, point: Numbers) -> tuple[Numbers, Numbers]:
        """By how much the logarithms of chances are not those of the replies to them; and the slopes of that, at each of the point."""
        (first, second), many = np.exp(point[:-1].reshape(2, -1)), self.many
        worth = np.array([self.own @ second, first @ self.other])
        replies = point[-1] * (worth - worth.max(axis=1, keepdims=True))
        replies -= np.log(np.exp(replies).sum(axis=1, keepdims=True))
        moves = np.zeros((2, many, 2 * many + 1))  # of precision x worth
        moves[0, :, many:-1], moves[1, :, :many] = point[-1] * self.own * second, point[-1] * self.other.T * first
        moves[:, :, -1] = worth
        moves -= np.exp(replies)[:, None] @ moves
        return point[:-1] - replies.ravel(), self.one[:-1] - moves.reshape(2 * many, -1)

    def peaks(self, path: Sequence[Point], total: Numbers) -> list[Point]:
        """Where choices made so often (sides x actions) are most likely: between points of which one rises, and the next falls."""
        found = []
        for here, ahead in pairwise(path):
            if self.rise(here, total) <= SAME * total.sum() or self.rise(ahead, total) > 0:
                continue
            low, high = 0.0, float((ahead.point - here.point) @ here.along)
            while high - low > EXACT:
                middle = (low + high) / 2
                if between := self.moved(here, middle, bend=0.0):
                    ahead = between
                low, high = (middle, high) if between and self.rise(between, total) > 0 else (low, middle)
            found.append(ahead)
        return found

    def likelihood(self, here: Point, total: Numbers) -> float:
        """Its logarithm."""
        return float(here.point[:-1] @ total.ravel())

    def rise(self, here: Point, total: Numbers) -> float:
        """By how much it grows along the branch."""
        return float(here.along[:-1] @ total.ravel())


def precision(
    turns: pd.DataFrame,
    payoffs: pd.DataFrame,
    by: Sequence[str] = ("agent", "model", "opponent"),
    seats: Sequence[int] = (0,),
    method: Literal["reply", "equilibrium"] = "reply",
) -> pd.DataFrame:
    """One row per game, variant and cell (`by`): matches, decisions, precision, low, high, why; see `fit`, or `fit_equilibrium`.

    reply: an action is worth what it pays on average, in points per round, against the mix of all that the others did in the cell (the
    empirical method of pygambit.qre). equilibrium: both players of the cell have one precision, in the equilibrium of one round.
    Precision is in one over points. Rounds in which either action is void or replaced do not count.
    `payoffs` as of agon.games.matrix.metrics.per_match; `by` may name agent, model, opponent, opponent_model, match.
    Raises AgonError for a game without payoffs, or of other than two players.
    """
    turns = tidy(turns)
    told = turns.assign(action=decoded(turns.action).astype("str").where(turns.action.notna() & ~replaced(turns)))
    told = told[["match", "game", "variant", "round", "seat", "agent", "model", "action"]].astype({"match": "str"})
    rows = []
    for seat in seats:
        other = told[told.seat == 1 - seat][["match", "round", "agent", "model", "action"]]
        named = {"agent": "opponent", "model": "opponent_model", "action": "others"}
        both = told[told.seat == seat].merge(other.rename(columns=named), on=["match", "round"])
        both = both[both.action.notna() & both.others.notna()]
        for key, own in both.groupby(["game", "variant", *by], dropna=False, observed=True):
            tables = [
                payoffs[(payoffs.game == key[0]) & (payoffs.variant == key[1]) & (payoffs.seat == each)]
                for each in (seat, 1 - seat)
            ]
            if any(table.empty for table in tables):
                raise AgonError(f"no payoffs for {key[0]}, {key[1]}: add the game to the payoff table")
            if (seats_of_it := len(payoffs[(payoffs.game == key[0]) & (payoffs.variant == key[1])].seat.unique())) != 2:
                raise AgonError(
                    f"{key[0]}, {key[1]} has {seats_of_it} players: precision is of games of two, so filter turns for them"
                )
            paid, theirs = (table.pivot(index="action", columns="others", values="payoff") for table in tables)
            chosen, others = (_counts(own, *each) for each in (("action", paid.index), ("others", theirs.index)))
            if method == "equilibrium":
                both_counts = np.stack([chosen, others], axis=1)
                found = fit_equilibrium(both_counts, paid[theirs.index].to_numpy(), theirs[paid.index].to_numpy().T)
            else:
                mix = others.sum(axis=0) / others.sum()
                found = fit(chosen[:, None], (paid[theirs.index].to_numpy() @ mix)[None])
            rows.append((*key, len(chosen), len(own), *found))
    return pd.DataFrame(rows, columns=["game", "variant", *by, "matches", "decisions", *Fit._fields])


def _counts(rows: pd.DataFrame, what: str, actions: pd.Index) -> Numbers:
    """How often each action was taken, matches x actions."""
    found = rows.groupby(["match", what], observed=True).size().unstack(fill_value=0)
    return found.reindex(columns=actions, fill_value=0).to_numpy(dtype=float)
