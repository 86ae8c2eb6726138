"""Conditions whose cells are thin: matches in cells in conditions, by a linear mixed model (Laird and Ware 1982; statsmodels' MixedLM)."""

import warnings
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit

from agon.errors import AgonError


@dataclass(frozen=True)
class Levels:
    """What `levels` found."""

    conditions: pd.DataFrame
    """One row per condition: condition, n, cells, estimate, low, high, and beside it pooled (the mean of its cells' means)."""
    pairs: pd.DataFrame
    """One row per two conditions: first, second, difference (the second less the first), low, high, p."""
    spreads: pd.DataFrame
    """One row per level: level (cell: what all conditions share in a cell; own: what one has there alone; match), sd."""
    converged: bool


def levels(values: pd.DataFrame, value: str, condition: str, cell: str, level: float = 0.95) -> Levels:
    """Fits value = condition + cell + (condition in cell) + match to `values`, a row per match; the last three are drawn.

    So cells are taken as a sample, unlike in `agon.metrics.differences`: intervals speak of other such cells too, and are wider. Cells
    of few matches are drawn towards what the others have in common. By restricted maximum likelihood, with Student's t of as many degrees
    of freedom as a balanced design has: cells less 1, for pairs times conditions less 1.
    Raises AgonError for fewer than two conditions, three cells, or two matches in some cell.
    """
    from statsmodels.regression.mixed_linear_model import MixedLM

    rows = values[[value, condition, cell]].dropna().set_axis(["value", "condition", "cell"], axis=1)
    rows = rows.astype({"value": float, "condition": str, "cell": str}).sort_values(
        ["cell", "condition"], ignore_index=True
    )
    sizes = rows.groupby(["condition", "cell"]).value.agg(["size", "mean", "var"])
    names = sorted(rows.condition.unique())
    if len(names) < 2 or rows.cell.nunique() < 3 or sizes["size"].max() < 2:
        raise AgonError("matches in cells in conditions take two conditions, three cells, and two matches in some cell")
    if not (sizes["var"] > 0).any():
        raise AgonError(f"all matches of a cell have the same {value}: there is no spread to tell cells apart by")
    model = MixedLM.from_formula(
        "value ~ 0 + condition", rows, groups="cell", re_formula="1", vc_formula={"own": "0 + C(condition)"}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of spreads of 0, and of what `converged` says
        found = model.fit(reml=True)
    k = len(names)
    estimate, covariance = np.asarray(found.fe_params), np.asarray(found.cov_params())[:k, :k]
    df = rows.cell.nunique() - 1
    wide = float(stdtrit(df * (k - 1), (1 + level) / 2))
    half = float(stdtrit(df, (1 + level) / 2)) * np.sqrt(np.diag(covariance))
    counted = sizes.groupby("condition").agg(n=("size", "sum"), cells=("size", "size"), pooled=("mean", "mean"))
    conditions = pd.DataFrame(
        {"condition": names, "estimate": estimate, "low": estimate - half, "high": estimate + half}
    )
    conditions = conditions.merge(counted, left_on="condition", right_index=True)
    pairs = []
    for one, other in combinations(range(k), 2):
        apart = estimate[other] - estimate[one]
        error = float(covariance[one, one] + covariance[other, other] - 2 * covariance[one, other]) ** 0.5
        p = float(2 * stdtr(df * (k - 1), -abs(apart) / error))
        pairs.append((names[one], names[other], apart, apart - wide * error, apart + wide * error, p))
    spread = [float(np.asarray(found.cov_re)[0, 0]), float(found.vcomp[0]), float(found.scale)]
    return Levels(
        conditions[["condition", "n", "cells", "estimate", "low", "high", "pooled"]],
        pd.DataFrame(pairs, columns=["first", "second", "difference", "low", "high", "p"]),
        pd.DataFrame({"level": ["cell", "own", "match"], "sd": np.sqrt(np.maximum(spread, 0))}),
        bool(found.converged),
    )
