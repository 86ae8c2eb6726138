"""How precisely players reply to what the others do: the logit quantal response of McKelvey and Palfrey (1995), fitted to choices."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from agon import AgonError
from agon.turns import decoded, replaced, tidy

Numbers = NDArray[np.float64]

HALVINGS = 80
"""Of the interval in which a precision lies."""


class Fit(NamedTuple):
    """A precision, and its interval at 95 %; absent (nan) what cannot be said."""

    precision: float
    low: float
    high: float


def fit(counts: Numbers, worth: Numbers) -> Fit:
    """The most likely precision of choices `counts` (units x sides x actions), where actions are `worth` so much (sides x actions).

    A side chooses an action with a chance in proportion to exp(precision x worth): 0 is uniform, infinite always best. Sides share
    one precision; who does worse than uniform play has 0. Units, such as matches, are drawn: the interval is Student's t with the
    variance between them (a sandwich); it is absent for one unit, where units are alike, and where the precision is infinite.
    """
    total = counts.sum(axis=(0, 2)) if counts.size else np.zeros(len(worth))
    scale = float(np.ptp(worth, axis=1).max())
    if not counts.sum() or scale == 0:
        return Fit(np.nan, np.nan, np.nan)
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
        return Fit(np.inf if side > 0 else 0.0, np.nan, np.nan)
    low, high = 0.0, 1.0
    while side * excess(side * high) > 0:
        low, high = high, 2 * high
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if side * excess(side * middle) > 0 else (low, middle)
    best = side * (low + high) / 2
    if len(counts) < 2:
        return Fit(max(0.0, best) / scale, np.nan, np.nan)
    shares = chances(best)
    mean = (shares * values).sum(axis=1)
    own = ((counts * values).sum(axis=2) - counts.sum(axis=2) * mean).sum(axis=1)
    information = float((total * ((shares * values**2).sum(axis=1) - mean**2)).sum())
    error = float((own**2).sum() * len(own) / (len(own) - 1)) ** 0.5 / information
    if error < 1e-9:
        return Fit(max(0.0, best) / scale, np.nan, np.nan)
    half = float(stdtrit(len(own) - 1, 0.975)) * error
    found = (max(0.0, each) / scale for each in (best, best - half, best + half))
    return Fit(*found)


def precision(
    turns: pd.DataFrame,
    payoffs: pd.DataFrame,
    by: Sequence[str] = ("agent", "model", "opponent"),
    seats: Sequence[int] = (0,),
) -> pd.DataFrame:
    """One row per game, variant and cell (`by`): matches, decisions, precision, low, high; see `fit`.

    An action is worth what it pays on average, in points per round, against the mix of all that the others did in the cell: the
    empirical method of pygambit.qre. Precision is in one over points. Rounds in which either action is void or replaced do not count.
    `payoffs` as of agon.games.matrix.metrics.per_match; `by` may name agent, model, opponent, opponent_model, match.
    Raises AgonError for a game without payoffs.
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
            table = payoffs[(payoffs.game == key[0]) & (payoffs.variant == key[1]) & (payoffs.seat == seat)]
            if table.empty:
                raise AgonError(f"no payoffs for {key[0]}, {key[1]}: add the game to the payoff table")
            worth = table.payoff * table.others.map(own.others.value_counts(normalize=True)).fillna(0).astype(float)
            worth = worth.groupby(table.action).sum()
            counts = own.groupby(["match", "action"], observed=True).size().unstack(fill_value=0)
            counts = counts.reindex(columns=worth.index, fill_value=0).to_numpy(dtype=float)
            rows.append((*key, len(counts), len(own), *fit(counts[:, None], worth.to_numpy()[None])))
    return pd.DataFrame(rows, columns=["game", "variant", *by, "matches", "decisions", *Fit._fields])
