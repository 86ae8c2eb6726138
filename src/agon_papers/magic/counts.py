"""Could a printed share be a count over its sample, and are the gains of Table 4 more than chance? Exact tests on counts."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import lcm
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import binom, fisher_exact, ttest_ind_from_stats

from agon.metrics.exact import holm, mcnemar_bounds
from agon.metrics.interval import proportion_interval
from agon_papers.magic.facts import ABILITIES, AVERAGE, COMPETITIONS, PGM, ROUNDS, SETTINGS, Facts

VOTES, SPIED = 4 * SETTINGS, 2 * SETTINGS
"""Ballots of two crowd seats, and games as spy, in both social games."""

SELF = {"chameleon": 9 * SETTINGS, "undercover": 6 * SETTINGS}
"""Interviews on one's own role: 3 or 2 a seat and game, of one seat as spy and of two as crowd."""

INTERVIEWS = sum(SELF.values())
DECISIONS = 2 * COMPETITIONS * ROUNDS

LONGEST = 300
"""Sample sizes tried for `other_n`: more interviews there are not."""

Numbers = NDArray[np.int64]


class Printed(NamedTuple):
    """A printed number, exactly: `number` / 10**`digits`."""

    number: int
    digits: int


def as_printed(text: str, filled: bool = False) -> Printed:
    """'9.5' is 95 / 10; so is '9.50', as the tables fill up to three digits, unless the filling counts (`filled`)."""
    whole, _, fraction = text.partition(".")
    fraction = fraction if filled else fraction.rstrip("0") or "0"
    return Printed(int(whole + fraction), len(fraction))


@dataclass(frozen=True, eq=False)
class Definition:
    """What a number counts, and every value that it can take: numerators over one denominator, times `scale` (100: percent)."""

    says: str
    numerators: Numbers
    denominator: int
    scale: int = 100
    n: int | None = None

    def nearest(self, numbers: int | Numbers, digits: int) -> Any:
        """The numerators whose values are nearest to `numbers` / 10**`digits`; of two the smaller one."""
        wanted, values = numbers * self.denominator, self.numerators * self.scale * 10**digits
        at = np.searchsorted(values, wanted)
        lower, upper = np.maximum(at - 1, 0), np.minimum(at, len(values) - 1)
        return self.numerators[np.where(wanted - values[lower] <= values[upper] - wanted, lower, upper)]

    def off(self, numbers: int | Numbers, digits: int) -> Any:
        """How far the nearest values lie above the numbers, in units of their last digit over `denominator`: exact."""
        return self.nearest(numbers, digits) * self.scale * 10**digits - numbers * self.denominator

    def fits(self, printed: Printed) -> bool:
        """Whether some value rounds to a printed number; exactly half may round either way."""
        return bool(2 * abs(self.off(*printed)) <= self.denominator)

    def how(self, printed: Printed) -> str:
        """How the nearest value became a printed number: rounded, cut off, rounded up, or in none of these ways (empty)."""
        off = self.off(*printed)
        if 2 * abs(off) <= self.denominator:
            return "rounded"
        return "" if abs(off) >= self.denominator else "cut off" if off > 0 else "rounded up"

    @cache  # noqa: B019 - definitions are kept as long as the program runs
    def chance(self, digits: int) -> float:
        """Share of all printable values (0 to 100, with that many decimals) that fit: what a fit is worth."""
        every = np.arange(100 * 10**digits + 1)
        return float((2 * np.abs(self.off(every, digits)) <= self.denominator).mean())


def counted(n: int, says: str, scale: int = 100, step: int = 1, most: int = 1) -> Definition:
    """k / n for k from 0 to `most` n, in steps."""
    numerators = np.arange(0, most * n + 1, step, dtype=np.int64)
    return Definition(says, numerators, n, scale, n if (step, most) == (1, 1) else None)


def summed(says: str, *parts: tuple[Sequence[int] | Numbers, int]) -> Definition:
    """Sums of one value of each part (numerators, denominator)."""
    whole = lcm(*(denominator for _, denominator in parts))
    found = np.zeros(1, dtype=np.int64)
    for numerators, denominator in parts:
        found = np.unique(np.add.outer(found, np.asarray(numerators, dtype=np.int64) * (whole // denominator)))
    return Definition(says, found, whole)


@cache
def definitions(agreed: int | None = None) -> dict[str, dict[str, Definition]]:
    """Column -> reading -> the definition. Literal: the paper's formula. Reconciled: what most cells fit.

    `agreed`: games that ended in agreement; where it is not known, what counts these games has no definition.
    """
    games, chameleon, undercover = f"games of {COMPETITIONS}", SELF["chameleon"], SELF["undercover"]
    guesses = lcm(*range(1, SETTINGS + 1))
    misled = np.unique([guesses // n * k for n in range(1, SETTINGS + 1) for k in range(n + 1)])
    spied, guessed = (np.arange(SPIED + 1), SPIED), (misled, 4 * guesses)
    selves = (3 * np.arange(chameleon + 1), 5 * chameleon), (np.arange(undercover + 1), undercover)

    def both(definition: Definition) -> dict[str, Definition]:
        return {"literal": definition, "reconciled": definition}

    def win_rate(words: str, *credits_of: int) -> Definition:
        parts = [(range(2 * most + 1), 7 * most) for most in credits_of]
        played = range(3 * COMPETITIONS + 1), 7 * COMPETITIONS
        return summed(f"mean of seven roles, {words}", *parts, played)

    found = {
        "win_rate": {
            "literal": win_rate("all social credits over 2n", SPIED, SPIED),
            "reconciled": win_rate("Undercover credits over 3n", SPIED, 3 * SETTINGS),
        },
        "judgement": both(counted(VOTES, "right ballots")),
        "reasoning": {
            "literal": counted(3 * INTERVIEWS, "right deductions, two predictions each by itself"),
            "reconciled": counted(2 * INTERVIEWS, "right deductions, two predictions as one"),
        },
        "deception": {
            "literal": summed("games not lost as spy plus a quarter of the wrong guesses provoked", spied, guessed),
            "reconciled": counted(SPIED, "games not lost as spy"),
        },
        "self_awareness": {
            "literal": summed("0.6 of the Chameleon share plus the whole Undercover share", *selves),
            "reconciled": counted(INTERVIEWS, "right self-identifications, pooled"),
        },
        "cooperation": both(counted(COMPETITIONS, f"agreed {games}")),
        "rationality": both(counted(DECISIONS, "rounds of defection or least contribution")),
        "cost_sharing_wr": both(counted(COMPETITIONS, f"agreed {games}")),
        "prisoner_wr": both(counted(COMPETITIONS, f"won {games}")),
        "public_good_wr": both(counted(COMPETITIONS, f"won {games}")),
        "prisoner_score": both(counted(COMPETITIONS, f"points over {games}", 1, 1, 100)),
        "public_good_payback": both(counted(30 * COMPETITIONS, "thirds of multiplied pools", 1, 1, 300)),
    }
    if agreed is None:
        return found
    costs = {"whole percents": 1, "steps of five percent, as the released prompt asks for": 5}
    exact, stepped = (
        counted(agreed, f"mean over agreed games, {words}", 1, step, 100) for words, step in costs.items()
    )
    return found | {
        "coordination": {
            "literal": counted(agreed, "agreed games with the challenger's shares"),
            "reconciled": counted(COMPETITIONS, f"{games} agreed with the challenger's shares"),
        },
        "cost_sharing_cost": {**both(exact), "prompted": stepped},
    }


AVERAGED = ("win_rate", "cost_sharing_cost", "prisoner_score", "public_good_payback")
"""Columns that are no share of one sample."""


def granularity(facts: Facts) -> pd.DataFrame:
    """Every printed cell of Tables 1, 2 and 4 under each reading: can it be what it is said to be?

    Columns: table, model, metric, published (text), reading, definition, n and k (where it is a count), nearest (value), low, high (95 %,
    Clopper and Pearson, decisions taken as independent), fits (filling zeros aside), fits_digits (all printed digits), how (rounded, cut
    off, rounded up, or nothing), chance (share of all printable values that would fit), other_n (the six smallest sample sizes up to
    LONGEST over which a count would fit).
    """
    printed = pd.concat([facts.tables[number].assign(table=number) for number in (1, 2, 4)])
    printed = printed[printed.model != AVERAGE].rename(columns={"value": "published"})
    shares = printed[printed.metric == "cooperation"].set_index("model").published.astype(float)
    agreed = {str(model): round(share * COMPETITIONS / 100) for model, share in shares.items()}
    rows = [
        cell | {"reading": reading} | _tested(definition, cell["published"])
        for cell in printed[["table", "model", "metric", "published"]].to_dict("records")
        for reading, definition in definitions(agreed.get(cell["model"])).get(cell["metric"], {}).items()
    ]
    table = pd.DataFrame(rows).astype({"n": "Int64", "k": "Int64"})
    smallest = table.published.map(lambda text: " ".join(map(str, sizes(as_printed(text))[:6])))
    return table.assign(other_n=smallest.mask(table.metric.isin(AVERAGED), ""))


@cache
def _tested(definition: Definition, text: str) -> dict[str, Any]:
    """The columns of `granularity` for one printed number."""
    printed, n = as_printed(text), definition.n
    k = int(definition.nearest(*printed))
    low, high = proportion_interval(k, n) if n else (np.nan, np.nan)
    return {
        "definition": definition.says,
        "n": n,
        "k": k if n else None,
        "nearest": definition.scale * k / definition.denominator,
        "low": 100 * low,
        "high": 100 * high,
        "fits": definition.fits(printed),
        "fits_digits": definition.fits(as_printed(text, filled=True)),
        "how": definition.how(printed),
        "chance": definition.chance(printed.digits),
    }


@cache
def sizes(printed: Printed, most: int = LONGEST) -> list[int]:
    """Every n up to `most` for which some k / n, in percent, rounds to a printed number."""
    return [n for n in range(1, most + 1) if counted(n, "").fits(printed)]


def fitting(tested: pd.DataFrame) -> pd.DataFrame:
    """How many cells of each column fit: metric, reading, definition, cells, fit, chance (of one), by_luck (that as many fit).

    `tested`: `granularity`. Cells that Tables 1 and 4 both print are counted once.
    """
    once = tested.drop_duplicates(["model", "metric", "published", "reading"])
    found = once.groupby(["metric", "reading"], sort=False).agg(
        definition=("definition", "first"), cells=("fits", "size"), fit=("fits", "sum"), chance=("chance", "mean")
    )
    return found.assign(by_luck=binom.sf(found.fit - 1, found.cells, found.chance)).reset_index()


TESTS = ("fisher", "paired_least", "paired_most")


def significance(tested: pd.DataFrame) -> pd.DataFrame:
    """Every pair of Table 4 with two-sided p values, from the reconciled counts of `tested` (`granularity`).

    Decisions are taken as independent.
    Columns: model, metric, vanilla, enhanced, gain; n, k_vanilla, k_enhanced; counted (both cells are such counts, not only near them);
    t (two samples, as the paper may have done), fisher (two samples, exact); paired_least and paired_most: the smallest and largest p
    that McNemar's exact test can have, over all ways to pair the decisions of two players; holm_ of the last three, over the
    seven abilities of a model.
    """
    cells = tested[(tested.table == 4) & (tested.reading == "reconciled") & tested.metric.isin(ABILITIES)]
    enhanced = cells.model.str.endswith(PGM)
    after = cells[enhanced].assign(model=cells.model.str.removesuffix(PGM))
    both = cells[~enhanced].merge(after, on=["model", "metric", "n"], suffixes=("_vanilla", "_enhanced"))
    both = both.assign(
        vanilla=both.published_vanilla.astype(float),
        enhanced=both.published_enhanced.astype(float),
        gain=lambda table: (table.enhanced - table.vanilla).round(2),
        counted=both.fits_vanilla & both.fits_enhanced,
    )
    table = both[["model", "metric", "vanilla", "enhanced", "gain", "n", "k_vanilla", "k_enhanced", "counted"]]
    counts = zip(table.k_vanilla, table.k_enhanced, table.n, strict=True)
    table = table.join(pd.DataFrame([p_values(*each) for each in counts]))
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


def improved(tested: pd.DataFrame, test: str, level: float) -> pd.Series:
    """Model -> abilities that beliefs raise with p below `level`."""
    better = (tested.gain > 0) & (tested[test] < level)
    return better.groupby(tested.model, sort=False).sum()
