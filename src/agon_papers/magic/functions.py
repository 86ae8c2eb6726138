"""Tables of the MAgIC paper's numbers that depend on more than the facts; rows of statements.toml name them, with `args`."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from scipy.stats import chi2_contingency

from agon_papers.draws import DRAW, by_draw
from agon_papers.magic import cells, counts
from agon_papers.magic.evidence import Evidence
from agon_papers.magic.facts import ABILITIES, PGM, STRONGEST


def average_gains(evidence: Evidence, before: str = "pairs") -> pd.DataFrame:
    """Mean gain of the pairs of Table 4 by metric, and their n; `before`: the table of the numbers without beliefs."""
    _, after = cells.pairs(evidence.pairs)
    gains = after - getattr(evidence, before).reindex(after.index)
    if by_draw(gains):
        return gains.rename_axis(columns="metric").groupby(level=DRAW).mean().stack().to_frame("value")
    return pd.DataFrame({"value": gains.mean(), "n": len(gains)}).rename_axis("metric")


def area_gain_ways(evidence: Evidence) -> pd.Series:
    """The gain of the areas in percent, averaged in four ways."""
    areas, single = cells.area_gains(evidence.pairs), evidence.gains.loc[(slice(None), [*ABILITIES]), "percent"]
    return pd.Series(
        {
            "mean of the models' gains": areas.gain.mean(),
            "gain of the mean area": cells.pooled_gain(areas),
            "median gain": areas.gain.median(),
            "mean gain of single abilities": single.mean(),
        }
    )


def area_needed(evidence: Evidence, gain: str) -> pd.Series:
    """The area that the strongest model would need with beliefs, for the mean area to gain so many percent."""
    gains, factor = cells.area_gains(evidence.pairs), 1 + float(gain) / 100
    needed = factor * (gains.vanilla.sum() + evidence.abilities.area[STRONGEST]) - gains.enhanced.sum()
    return pd.Series({f"{STRONGEST}{PGM}, not printed, had area": needed})


def social_gains(evidence: Evidence, before: str = "pairs") -> pd.DataFrame:
    """What beliefs add to the four social win rates together (points of 400), and the most that rounding hides.

    `before`: the table of the win rate without beliefs.
    """
    roles = evidence.roles[evidence.roles.reading == "reconciled"]
    vanilla, enhanced = cells.pairs(roles)
    other = 7 * (evidence.pairs.win_rate - getattr(evidence, before).win_rate).reindex(vanilla.index)
    gain = enhanced.social - vanilla.social + other
    return pd.DataFrame({"value": gain, "error": vanilla.social_error + enhanced.social_error})


def equal_rates(evidence: Evidence, metrics: Sequence[str]) -> pd.DataFrame:
    """Chi-squared test, by ability, that all models of Table 1 have one rate: p. Decisions are taken as independent."""
    rows = evidence.tested[(evidence.tested.table == 1) & (evidence.tested.reading == "reconciled")]
    p = {}
    for metric in metrics:
        counts_of = rows.xs(metric, level="metric")[["k", "n"]].astype(int)
        p[metric] = chi2_contingency(np.array([counts_of.k, counts_of.n - counts_of.k])).pvalue
    return pd.DataFrame({"p": p}).rename_axis("metric")


def improved(evidence: Evidence, level: str) -> pd.DataFrame:
    """In how many abilities each model gains with p below a level, by test and, in columns holm_, after Holm's correction."""
    tests = [prefix + test for prefix in ("", "holm_") for test in counts.TESTS]
    table = evidence.significance
    rises = {test: (table.gain > 0) & (table[test] < float(level)) for test in tests}
    return pd.DataFrame(rises).groupby(level="model", sort=False).sum()


def settings(evidence: Evidence, source: str) -> pd.DataFrame:
    """A source's settings as Figure 10 writes them, the points in both orders: value, listed (whether an axis has it)."""
    facts = evidence.facts
    read: dict[str, Callable[[str], str]] = {
        "Figure 8": lambda name: facts.drawn(8, name),
        "Table 3": lambda name: facts.listed("prisoner", f"sample_{name}"),
    }
    points = {
        f"{first} first": "-".join(map(read[source], (first, "one_defect", "two_defect")))
        for first in ("cooperate", "defect")
    }
    sample = {"multiplier": facts.listed("public_good", "sample_multiplier")} if source == "Table 3" else {}
    values = pd.Series(points | sample)
    return pd.DataFrame({"value": values, "listed": values.isin(evidence.axes.value.str.split(", ").explode())})
