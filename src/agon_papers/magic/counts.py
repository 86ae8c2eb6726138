"""Could a printed share be a count over its sample? Every value that its definition allows, and which sample sizes would do instead."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from math import lcm
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import beta, binom

from agon_papers.magic.facts import ABILITIES, AVERAGE, Facts
from agon_papers.magic.roles import COMPETITIONS, ROUNDS, SETTINGS

VOTES, SPIED = 4 * SETTINGS, 2 * SETTINGS
"""Ballots of two crowd seats, and games as spy, in both social games."""

SELF = {"chameleon": 9 * SETTINGS, "undercover": 6 * SETTINGS}
"""Interviews on one's own role: 3 or 2 a seat and game, of one seat as spy and of two as crowd."""

INTERVIEWS = sum(SELF.values())
DECISIONS = 2 * COMPETITIONS * ROUNDS

LONGEST = 300
"""Sample sizes tried for `other_n`: more interviews there are not."""


class Printed(NamedTuple):
    """A printed number, exactly: `number` / 10**`digits`."""

    number: int
    digits: int


def as_printed(text: str, filled: bool = False) -> Printed:
    """'9.5' is 95 / 10; so is '9.50', as the tables fill up to three digits, unless the filling counts (`filled`)."""
    whole, _, fraction = text.partition(".")
    fraction = fraction if filled else fraction.rstrip("0") or "0"
    return Printed(int(whole + fraction), len(fraction))


@dataclass(frozen=True)
class Definition:
    """What a number counts, and every value that it can take: numerators over one denominator, times `scale` (100: percent)."""

    says: str
    numerators: NDArray[np.int64]
    denominator: int
    scale: int = 100
    n: int | None = None

    def nearest(self, printed: Printed) -> int:
        """The numerator whose value is nearest to a printed number."""
        exact = printed.number * self.denominator / (self.scale * 10**printed.digits)
        at = int(np.searchsorted(self.numerators, exact))
        two = self.numerators[max(0, at - 1) : at + 1]
        return int(two[np.abs(two - exact).argmin()])

    def off(self, printed: Printed) -> int:
        """How far the nearest value lies above a printed number, in units of its last digit over `denominator`: exact."""
        return self.nearest(printed) * self.scale * 10**printed.digits - printed.number * self.denominator

    def fits(self, printed: Printed) -> bool:
        """Whether some value rounds to a printed number; exactly half may round either way."""
        return 2 * abs(self.off(printed)) <= self.denominator


def counted(n: int, says: str, scale: int = 100, step: int = 1, most: int = 1) -> Definition:
    """k / n for k from 0 to `most` n, in steps."""
    numerators = np.arange(0, most * n + 1, step, dtype=np.int64)
    return Definition(says, numerators, n, scale, n if (step, most) == (1, 1) else None)


def summed(says: str, *parts: tuple[Sequence[int] | NDArray[np.int64], int]) -> Definition:
    """Sums of one value of each part (numerators, denominator)."""
    whole = lcm(*(denominator for _, denominator in parts))
    found = np.zeros(1, dtype=np.int64)
    for numerators, denominator in parts:
        found = np.unique(np.add.outer(found, np.asarray(numerators, dtype=np.int64) * (whole // denominator)))
    return Definition(says, found, whole)


def _self_awareness_printed() -> Definition:
    weighted = 3 * np.arange(SELF["chameleon"] + 1), 5 * SELF["chameleon"]
    plain = np.arange(SELF["undercover"] + 1), SELF["undercover"]
    return summed("0.6 of the Chameleon share plus the whole Undercover share", weighted, plain)


def _deception_printed() -> Definition:
    guesses = lcm(*range(1, SETTINGS + 1))
    shares = np.unique([guesses // n * k for n in range(1, SETTINGS + 1) for k in range(n + 1)])
    says = "games not lost as spy plus a quarter of the wrong guesses provoked"
    return summed(says, (np.arange(SPIED + 1), SPIED), (shares, 4 * guesses))


def _win_rate(says: str, credits_of: Sequence[int]) -> Definition:
    parts = [(np.arange(2 * most + 1), 7 * most) for most in credits_of]
    return summed(says, *parts, (np.arange(3 * COMPETITIONS + 1), 7 * COMPETITIONS))


def _costs(agreed: int, step: int, words: str) -> Definition:
    return counted(agreed, f"mean over agreed games, {words}", 1, step, 100)


Maker = Callable[[int], Definition]


def _as_printed_and_done(make: Maker) -> dict[str, Maker]:
    return {"literal": make, "reconciled": make}


GAME = f"games of {COMPETITIONS}"
DEFINITIONS: dict[str, dict[str, Maker]] = {
    "win_rate": {
        "literal": lambda _: _win_rate("mean of seven roles, all social credits over 2n", (SPIED, SPIED)),
        "reconciled": lambda _: _win_rate("mean of seven roles, Undercover credits over 3n", (SPIED, 3 * SETTINGS)),
    },
    "judgement": _as_printed_and_done(lambda _: counted(VOTES, "right ballots")),
    "reasoning": {
        "literal": lambda _: counted(3 * INTERVIEWS, "right deductions, two predictions each by itself"),
        "reconciled": lambda _: counted(2 * INTERVIEWS, "right deductions, two predictions as one"),
    },
    "deception": {
        "literal": lambda _: _deception_printed(),
        "reconciled": lambda _: counted(SPIED, "games not lost as spy"),
    },
    "self_awareness": {
        "literal": lambda _: _self_awareness_printed(),
        "reconciled": lambda _: counted(INTERVIEWS, "right self-identifications, pooled"),
    },
    "cooperation": _as_printed_and_done(lambda _: counted(COMPETITIONS, f"agreed {GAME}")),
    "coordination": {
        "literal": lambda agreed: counted(agreed, "agreed games with the challenger's shares"),
        "reconciled": lambda _: counted(COMPETITIONS, f"{GAME} agreed with the challenger's shares"),
    },
    "rationality": _as_printed_and_done(lambda _: counted(DECISIONS, "rounds of defection or least contribution")),
    "cost_sharing_wr": _as_printed_and_done(lambda _: counted(COMPETITIONS, f"agreed {GAME}")),
    "prisoner_wr": _as_printed_and_done(lambda _: counted(COMPETITIONS, f"won {GAME}")),
    "public_good_wr": _as_printed_and_done(lambda _: counted(COMPETITIONS, f"won {GAME}")),
    "cost_sharing_cost": {
        **_as_printed_and_done(lambda agreed: _costs(agreed, 1, "whole percents")),
        "prompted": lambda agreed: _costs(agreed, 5, "steps of five percent, as the released prompt asks for"),
    },
    "prisoner_score": _as_printed_and_done(lambda _: counted(COMPETITIONS, f"points over {GAME}", 1, 1, 100)),
    "public_good_payback": _as_printed_and_done(
        lambda _: counted(30 * COMPETITIONS, "thirds of multiplied pools", 1, 1, 300)
    ),
}
"""Column -> reading -> the definition, given the number of agreed games. Literal: the paper's formula. Reconciled: what most cells fit."""

AVERAGED = ("win_rate", "cost_sharing_cost", "prisoner_score", "public_good_payback")
"""Columns that are no share of one sample."""

LEANING = ("coordination", "cost_sharing_cost")
"""Columns whose definition counts agreed games."""


def granularity(facts: Facts) -> pd.DataFrame:
    """Every printed cell of Tables 1, 2 and 4 under each reading: can it be what it is said to be?

    Columns: table, model, metric, published (text), reading, definition, n and k (where it is a count), nearest (value), low, high (95 %,
    Clopper and Pearson, decisions taken as independent), fits (filling zeros aside), fits_digits (all printed digits), how (rounded, cut
    off, rounded up, or nothing), chance (share of all printable values that would fit), other_n (the six smallest sample sizes up to
    LONGEST over which a count would fit).
    """
    agreed = _agreed(facts)
    printed = pd.concat([facts.tables[number].assign(table=number) for number in (1, 2, 4)])
    rows: list[dict[str, Any]] = []
    for cell in printed[printed.model != AVERAGE].itertuples():
        for reading in DEFINITIONS[cell.metric]:
            given = agreed.get(cell.model) if cell.metric in LEANING else None
            if given is not None or cell.metric not in LEANING:
                said = {"table": cell.table, "model": cell.model, "metric": cell.metric, "published": cell.value}
                rows.append({**said, "reading": reading, **_tested(cell.metric, reading, given, cell.value)})
    return pd.DataFrame(rows).astype({"n": "Int64", "k": "Int64"})


def _agreed(facts: Facts) -> dict[str, int]:
    """Model -> agreed games, from Cooperation in Tables 1 and 4."""
    found = pd.concat([facts.tables[1], facts.tables[4]])
    found = found[(found.metric == "cooperation") & (found.model != AVERAGE)].set_index("model").value.astype(float)
    return {str(name): round(value * COMPETITIONS / 100) for name, value in found.items()}


@cache
def _tested(metric: str, reading: str, agreed: int | None, text: str) -> dict[str, Any]:
    definition, printed = _defined(metric, reading, agreed), as_printed(text)
    k, n = definition.nearest(printed), definition.n
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
        "how": _how(definition, printed),
        "chance": _chance(metric, reading, agreed, printed.digits),
        "other_n": " ".join(map(str, sizes(printed)[:6])) if metric not in AVERAGED else "",
    }


@cache
def _defined(metric: str, reading: str, agreed: int | None) -> Definition:
    return DEFINITIONS[metric][reading](agreed or 0)


@cache
def _chance(metric: str, reading: str, agreed: int | None, digits: int) -> float:
    return chance(_defined(metric, reading, agreed), digits)


def _how(definition: Definition, printed: Printed) -> str:
    if definition.fits(printed):
        return "rounded"
    off = definition.off(printed)
    return "" if abs(off) >= definition.denominator else "cut off" if off > 0 else "rounded up"


def proportion_interval(k: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Clopper and Pearson's interval of a share: exact for independent decisions."""
    tail = (1 - level) / 2
    low = float(beta.ppf(tail, k, n - k + 1)) if k else 0.0
    return low, float(beta.ppf(1 - tail, k + 1, n - k)) if k < n else 1.0


def sizes(printed: Printed, most: int = LONGEST) -> list[int]:
    """Every n up to `most` for which some k / n, in percent, rounds to a printed number."""
    return [n for n in range(1, most + 1) if counted(n, "").fits(printed)]


def chance(definition: Definition, digits: int) -> float:
    """Share of all printable values (0 to 100, with that many decimals) that fit: what a fit is worth."""
    every = 100 * 10**digits + 1
    return sum(definition.fits(Printed(number, digits)) for number in range(every)) / every


def common_sizes(texts: Sequence[str], most: int = 1000) -> list[int]:
    """Every n up to `most` over which all these printed percentages are counts."""
    numbers = {as_printed(text) for text in texts}
    return [n for n in range(1, most + 1) if all(counted(n, "").fits(number) for number in numbers)]


def fitting(tested: pd.DataFrame) -> pd.DataFrame:
    """How many cells of each column fit: metric, reading, definition, cells, fit, chance (of one), by_luck (that as many fit).

    `tested`: `granularity`. Cells that Tables 1 and 4 both print are counted once.
    """
    once = tested.drop_duplicates(["model", "metric", "published", "reading"])
    order = ["win_rate", *ABILITIES, *tested.metric.unique()]
    found = once.groupby(["metric", "reading"], sort=False).agg(
        definition=("definition", "first"), cells=("fits", "size"), fit=("fits", "sum"), chance=("chance", "mean")
    )
    found = found.loc[[key for name in dict.fromkeys(order) for key in found.index if key[0] == name]]
    return found.assign(by_luck=binom.sf(found.fit - 1, found.cells, found.chance)).reset_index()
