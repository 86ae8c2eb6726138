"""Are the gains of Table 4 more than chance? Exact tests on the counts that its percentages stand for."""

from functools import cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import binom, fisher_exact, ttest_ind_from_stats

from agon_papers.magic.cells import pairs
from agon_papers.magic.facts import ABILITIES, AVERAGE, PGM, Facts

TESTS = ("fisher", "paired_least", "paired_most")


def significance(facts: Facts, tested: pd.DataFrame) -> pd.DataFrame:
    """Every pair of Table 4 with two-sided p values, from the reconciled counts of `tested` (agon_papers.magic.counts.granularity).

    Decisions are taken as independent.
    Columns: model, metric, vanilla, enhanced, gain; n, k_vanilla, k_enhanced; counted (both cells are such counts, not only near them);
    t (two samples, as the paper may have done), fisher (two samples, exact); paired_least and paired_most: the smallest and largest p
    that McNemar's exact test can have, over all ways to pair the decisions of two players; holm_ of the last three, over the
    seven abilities of a model.
    """
    counts = tested[(tested.table == 4) & (tested.reading == "reconciled")].set_index(["model", "metric"])
    before, after = pairs(facts.wide(4).drop(AVERAGE, errors="ignore"))
    rows = []
    for model in before.index:
        for metric in ABILITIES:
            one, two = counts.loc[(model, metric)], counts.loc[(model + PGM, metric)]
            rows.append(
                {
                    "model": model,
                    "metric": metric,
                    "vanilla": before[metric][model],
                    "enhanced": after[metric][model],
                    "gain": round(after[metric][model] - before[metric][model], 2),
                    "n": one.n,
                    "k_vanilla": one.k,
                    "k_enhanced": two.k,
                    "counted": bool(one.fits and two.fits),
                    **p_values(one.k, two.k, one.n),
                }
            )
    table = pd.DataFrame(rows)
    for test in TESTS:
        table[f"holm_{test}"] = table.groupby("model", sort=False)[test].transform(lambda p: holm(p.to_numpy()))
    return table


@cache
def p_values(before: int, after: int, n: int) -> dict[str, float]:
    """Two-sided p of k of n against k of n: t, fisher, paired_least, paired_most."""
    least, most = mcnemar_bounds(before, after, n)
    samples = [number for k in (before, after) for number in (k / n, (k * (n - k) / n / (n - 1)) ** 0.5, n)]
    return {
        "t": float(ttest_ind_from_stats(*samples).pvalue) if before != after else 1.0,
        "fisher": float(fisher_exact([[before, n - before], [after, n - after]]).pvalue),
        "paired_least": least,
        "paired_most": most,
    }


def mcnemar_bounds(before: int, after: int, n: int) -> tuple[float, float]:
    """Smallest and largest p of McNemar's exact test over all pairings: which decisions changed is not known, only how many net."""
    low, high = sorted((before, after))
    fewest = np.arange(min(low, n - high) + 1)
    changed = 2 * fewest + (high - low)
    p = np.minimum(1.0, 2 * binom.cdf(fewest, changed, 0.5))
    return float(p.min()), float(p.max())


def holm(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Holm's correction."""
    order = np.argsort(p, kind="stable")
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(1, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return corrected


def improved(tested: pd.DataFrame, test: str, level: float) -> pd.Series:
    """Model -> abilities that beliefs raise with p below `level`."""
    better = (tested.gain > 0) & (tested[test] < level)
    return better.groupby(tested.model, sort=False).sum()
