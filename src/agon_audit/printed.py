"""Printed numbers beside recorded games: are they what the rows give, and can they be right at all?

The file of numbers is written by the user who audits. Its column `how` holds expressions of Python, which are run. So a file of numbers
is read only when the user names it, and never because it lies among the audited files.
"""

import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from math import ceil, floor, isfinite
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from agon.errors import AgonError, visible
from agon.metrics.interval import proportion_interval
from agon.metrics.record_sets import BLOCK, LOOKS, SURE, required_share, within_cells
from agon.paths import display_path, require_finite

COLUMNS = "where", "value", "kind", "how", "n", "unit"
"""where: place in the text; value: as printed; kind: one of KINDS; how: an expression over `turns`, true or false for a
statement; n: number of values in a mean or share; unit: the step of a single value, 1 unless given."""
KINDS = "number", "mean", "share", "percent", "test", "interval", "statement"
AGREES, CUT, DIFFERS, IMPOSSIBLE, UNDECIDED = (
    "agrees",
    "agrees if it was cut off, not rounded",
    "differs",
    "impossible",
    "cannot be checked",
)
HOLDS, FAILS, OPEN = "holds", "fails", "undecided"
"""Verdicts on statements."""
WRONG = DIFFERS, IMPOSSIBLE, FAILS


class Decision(NamedTuple):
    """A printed number, and the decision on it."""

    where: str
    value: str
    recomputed: float
    verdict: str
    why: str


def read_numbers(path: Path) -> pd.DataFrame:
    """The file of printed numbers: CSV with COLUMNS, of which how, n and unit may be missing or empty. Raises AgonError."""
    try:
        table = pd.read_csv(require_finite(path), dtype="str", keep_default_na=False)
    except (OSError, ValueError, pd.errors.ParserError) as error:
        raise AgonError(f"{display_path(path)} cannot be read: {visible(str(error).partition(chr(10))[0])}") from None
    if not {"where", "value", "kind"} <= set(table) <= set(COLUMNS):
        raise AgonError(
            f"{display_path(path)}: its columns are {', '.join(table)}; they must be where, value, kind, and may be how, n, unit"
        )
    if wrong := next((kind for kind in table.kind if kind not in KINDS), None):
        raise AgonError(f"{display_path(path)}: kind is {wrong!r}, and must be {', '.join(KINDS)}")
    return table.reindex(columns=COLUMNS, fill_value="")


def decide_all(numbers: pd.DataFrame, turns: pd.DataFrame) -> list[Decision]:
    """A decision on every printed number. `turns`: the tidy rows, with `paid` and `score`, for the expressions in `how`."""
    return [_decide(row, turns) for row in numbers.itertuples(index=False)]


def _decide(row: Any, turns: pd.DataFrame) -> Decision:
    def decision(verdict: str, why: str, recomputed: float = np.nan) -> Decision:
        return Decision(row.where, row.value, recomputed, verdict, why)

    if row.kind in ("test", "interval"):
        return decision(*(decide_test if row.kind == "test" else decide_interval)(row.value))
    if row.kind == "statement":
        return decision(*decide_statement(row.how, turns))
    printed = _printed(row.value)
    if printed is None:
        return decision(UNDECIDED, "it is no number")
    if row.n:
        try:
            impossible = grim(printed, int(row.n), float(row.unit or 1), row.kind == "percent")
        except (ValueError, OverflowError):
            return decision(UNDECIDED, f"n is {row.n[:80]!r} and unit {row.unit[:80]!r}: they must be numbers above 0")
        if impossible:
            return decision(IMPOSSIBLE, impossible)
    if not row.how:
        return (
            decision(AGREES, f"a {row.kind} of {row.n} values can be this")
            if row.n
            else decision(UNDECIDED, "how and n are empty")
        )
    try:
        value = float(_run(row.how, turns))
    except Exception as error:  # an expression of the user may raise anything
        return decision(UNDECIDED, _fault(row.how, error))
    if not isfinite(value):
        return decision(UNDECIDED, "the expression gives no number", value)
    value *= 100 if row.kind == "percent" else 1
    return decision(*compare(printed, value), value)


def _run(how: str, turns: pd.DataFrame) -> Any:
    """The value of an expression of the user."""
    return eval(how, {"turns": turns, "np": np, "pd": pd})


def _fault(how: str, error: Exception) -> str:
    return f"{how}: {type(error).__name__}: {str(error).partition(chr(10))[0][:100]}"


def decide_statement(how: str, turns: pd.DataFrame) -> tuple[str, str]:
    """Whether an expression that is true or false (or a table of these) is so in nearly all resamples, as in docs/statements-rule.md.

    Matches are drawn within their cell: those with the same condition and players. In a resample `match` is a number.
    """
    players = ["seat", "player"] if "player" in turns else ["seat"]
    shared = (
        "condition and players"
        if "player" in turns
        else "the condition (the mapping names no player, so players may differ)"
    )
    units = turns.drop_duplicates(["match", "seat"]).astype({"match": "str"}).set_index("match")
    names = (
        units[["condition", *players]].astype("str").agg("/".join, axis=1).groupby("match", sort=False).agg("/".join)
    )
    cells, unit = pd.factorize(names)[0], names.index.get_indexer(turns.match.astype("str"))
    free, agreeing, draws = len(cells) - len(set(cells)), 0, 0
    try:
        holds = bool(np.all(_run(how, turns)))
        said = f"it is {'true' if holds else 'false'} of these rows. Matches were compared that have {shared} in common"
        if not free:
            return UNDECIDED, f"{said}, but each match stands alone there, so nothing says how much results vary"
        required = required_share(free)
        for block in range(LOOKS[-1]):
            for weights in within_cells(cells, block):
                times = weights[unit]
                copy = np.arange(times.sum()) - np.repeat(times.cumsum() - times, times)
                rows = np.repeat(np.arange(len(turns)), times)
                drawn = turns.take(rows).assign(match=unit[rows] + copy * len(cells)).reset_index(drop=True)
                agreeing += bool(np.all(_run(how, drawn))) == holds
            draws += BLOCK
            if block + 1 in LOOKS:
                low, high = proportion_interval(agreeing, draws, SURE)
                if not low <= required <= high:
                    break
    except Exception as error:  # an expression of the user may raise anything
        return UNDECIDED, _fault(how, error)
    why = f"{said}: {agreeing / draws:.1%} of {draws} resamples say the same, and {required:.1%} are needed"
    return (OPEN if agreeing < required * draws else HOLDS if holds else FAILS), why


LARGEST = 300
"""The largest power of ten of a printed number, above and below 1. A float can hold no more."""


def _printed(text: str) -> Decimal | None:
    """The number that a text prints; None for a text that is none."""
    try:
        number = Decimal(text.strip().replace("\N{MINUS SIGN}", "-").replace(",", "").removesuffix("%"))
    except InvalidOperation:
        return None
    return (
        number
        if number.is_finite() and max(abs(number.adjusted()), -int(number.as_tuple().exponent)) <= LARGEST
        else None
    )


def _step(printed: Decimal) -> float:
    """One unit of the last printed digit."""
    return 10.0 ** int(printed.as_tuple().exponent)


def compare(printed: Decimal, value: float) -> tuple[str, str]:
    """Whether a value is printed correctly to its digits."""
    step, distance = _step(printed), value - float(printed)
    slack = step * 1e-6
    if abs(distance) <= step / 2 + slack:
        return AGREES, ""
    if 0 <= distance * (1 if value >= 0 else -1) < step:
        return CUT, f"{value:.10g} rounded is another number"
    return DIFFERS, f"recomputed is {value:.10g}, by {abs(distance) / step:.3g} units of the last digit"


def grim(printed: Decimal, n: int, unit: float = 1, percent: bool = False) -> str:
    """Why a mean of `n` values that are multiples of `unit` cannot be printed so; empty where it can (Brown and Heathers 2017)."""
    scale = 100 if percent else 1
    value, half = float(printed) / scale, _step(printed) / scale / 2
    if n < 1 or unit <= 0:
        raise ValueError("n and unit are above 0")
    sums = {floor(value * n / unit), ceil(value * n / unit)}
    means = sorted(total * unit / n for total in sums)
    if any(abs(mean - value) <= half * (1 + 1e-6) for mean in means):
        return ""
    return f"{n} values give {' or '.join(f'{mean * scale:.6g}' for mean in means)}, and nothing between"


TEST = re.compile(
    r"(?P<name>t|F|z|r|chi2|\u03c7\u00b2|\u03c72|X2)\s*(?:\(\s*(?P<df>\d+(?:\.\d+)?)(?:\s*,\s*(?:N\s*=\s*)?(?P<df2>\d+(?:\.\d+)?))?\s*\))?\s*=\s*(?P<value>[-\u2212]?[\d.]+)"
    r"\s*[,;]\s*p\s*(?P<sign>[<>=])\s*(?P<p>[\d.]+)"
)
"""A test as printed, such as `t(28) = 2.20, p = .036` or `F(2, 57) = 3.15, p < .05`."""


def decide_test(text: str) -> tuple[str, str]:
    """Whether a printed p fits the printed statistic and degrees of freedom, rounding considered (as statcheck does)."""
    found = TEST.search(text)
    if found is None:
        return UNDECIDED, "it is no test in the form `t(28) = 2.20, p = .036`"
    statistic, p = _printed(found["value"]), _printed(found["p"])
    degrees = [float(found[name]) for name in ("df", "df2") if found[name]]
    needed = {"F": 2, "z": 0}.get(found["name"], 1)
    if statistic is None or p is None or len(degrees) < needed or min(degrees, default=1) <= 0:
        return UNDECIDED, "a number is missing, or degrees of freedom that are above 0"
    half = _step(statistic) / 2
    near = max(abs(float(statistic)) - half, 0.0)
    values = list(_p_values(found["name"], degrees, (near, abs(float(statistic)) + half)))
    least, most = min(values), max(values)
    slack = _step(p) / 2

    def fits(low: float, high: float) -> bool:
        if found["sign"] == "=":
            return low <= float(p) + slack and high >= float(p) - slack
        return low < float(p) if found["sign"] == "<" else high > float(p)

    if fits(least, most):
        return AGREES, ""
    if found["name"] in "tzr" and fits(least / 2, most / 2):
        return AGREES, "if the test is one-sided"
    return DIFFERS, f"the statistic gives p between {least:.3g} and {most:.3g}"


def _p_values(name: str, degrees: list[float], ends: tuple[float, float]) -> Iterator[float]:
    """The two-sided p at both ends of the range of a rounded statistic."""
    for value in ends:
        if name == "t":
            yield 2 * stats.t.sf(value, degrees[0])
        elif name == "z":
            yield 2 * stats.norm.sf(value)
        elif name == "F":
            yield stats.f.sf(value, *degrees)
        elif name == "r":
            bounded = min(value, 1 - 1e-12)
            yield 2 * stats.t.sf(bounded * (degrees[0] / (1 - bounded**2)) ** 0.5, degrees[0])
        else:
            yield stats.chi2.sf(value, degrees[0])


NUMBER = r"[-\u2212]?[\d.]+"
ESTIMATE = re.compile(rf"\b(?P<name>M|mean|share|SD|SE|n)\s*=\s*(?P<value>{NUMBER})(?P<percent>%?)", re.IGNORECASE)
INTERVAL = re.compile(
    rf"(?P<level>\d+(?:\.\d+)?)\s?%\s*CI\s*[:=]?\s*[\[(]\s*(?P<low>{NUMBER})%?\s*(?:[,;\u2013]|to)\s*(?P<high>{NUMBER})%?\s*[\])]"
)
"""Together an interval as printed: `M = 3.25, SD = 1.10, n = 40, 95% CI [2.90, 3.60]` or `share = 62%, n = 50, 95% CI [47, 75]`."""
OF_SHARES: dict[str, Any] = {"Clopper and Pearson": "exact", "Wilson": "wilson", "Wilson, corrected": "wilsoncc"}
"""Whose interval of a share -> its name in scipy."""
MOST_VALUES = 1e12
"""The most values that a share or mean may have."""
Range = tuple[float, float]
"""The least and the largest value that a printed number may stand for."""


def decide_interval(text: str) -> tuple[str, str]:
    """Whether a printed interval fits the printed mean and spread, or share and number of values, rounding considered."""
    found = INTERVAL.search(text)
    estimates = {match["name"].lower().replace("mean", "m"): match for match in ESTIMATE.finditer(text)}
    scale = 100 if "share" in estimates and estimates["share"]["percent"] else 1
    texts = {name: match["value"] for name, match in estimates.items()} | (found.groupdict() if found else {})
    values = {name: _range(value, scale if name in ("share", "low", "high") else 1) for name, value in texts.items()}
    level, n = (sum(values.get(name, (np.nan, np.nan))) / 2 for name in ("level", "n"))
    n = n if 0 < n <= MOST_VALUES else np.nan
    centre = values.get("share") or values.get("m")
    if centre is None or not 0 < level < 100 or np.isnan([*values.values()]).any():
        return UNDECIDED, "it is no interval in the form `M = 3.25, SD = 1.10, n = 40, 95% CI [2.90, 3.60]`"
    low, high = values["low"], values["high"]
    if centre[1] < low[0] or centre[0] > high[1]:
        return DIFFERS, "the mean lies outside of the interval"
    if "share" in values:
        ways = _intervals_of_share(centre, n, level / 100)
        missing = f"no share of {n:g} values is printed so" if n >= 1 else ""
    else:
        spread = values.get("sd", (np.nan, np.nan))
        ways = _intervals_of_mean(centre, values.get("se") or (spread[0] / n**0.5, spread[1] / n**0.5), n, level / 100)
        missing = ""
    for name, ends in ways.items():
        if _overlap(ends[0], low) and _overlap(ends[1], high):
            return AGREES, f"an interval of {name}"
    for name, ends in ways.items():
        if not np.isnan(ends).any():
            ends_of_first = " to ".join(f"{sum(end) / 2 * scale:.4g}" for end in ends)
            return DIFFERS, f"the interval of {name} is {ends_of_first}"
    return (IMPOSSIBLE, missing) if missing else (UNDECIDED, "it needs a number n above 0, and for a mean SD or SE")


def _range(text: str, scale: int) -> Range:
    """The range of values that a printed number may stand for; NaN for a text that is no number."""
    number = _printed(text)
    if number is None:
        return np.nan, np.nan
    half = _step(number) * (0.5 + 1e-6)
    return (float(number) - half) / scale, (float(number) + half) / scale


def _overlap(first: Range, second: Range) -> bool:
    return first[0] <= second[1] and second[0] <= first[1]


def _intervals_of_mean(mean: Range, error: Range, n: float, level: float) -> dict[str, tuple[Range, Range]]:
    """Whose interval -> the ranges of its ends, by a standard error."""
    quantiles = {"Student's t": stats.t.isf((1 - level) / 2, n - 1) if n > 1 else np.nan}
    quantiles["the normal distribution"] = stats.norm.isf((1 - level) / 2)
    return {
        name: ((mean[0] - q * error[1], mean[1] - q * error[0]), (mean[0] + q * error[0], mean[1] + q * error[1]))
        for name, q in quantiles.items()
    }


def _intervals_of_share(share: Range, n: float, level: float) -> dict[str, tuple[Range, Range]]:
    """Whose interval -> the ranges of its ends, over all counts that are printed as this share; none where no count is."""
    if not n >= 1 or (first := ceil(max(share[0], 0) * n)) > (last := floor(min(share[1], 1) * n)):
        return {}
    ways = {}
    for name, method in OF_SHARES.items():
        few, many = (stats.binomtest(k, round(n)).proportion_ci(level, method) for k in (first, last))
        ways[name] = (few.low, many.low), (few.high, many.high)
    half = [stats.norm.isf((1 - level) / 2) * (k / n * (1 - k / n) / n) ** 0.5 for k in (first, last)]
    few, many = first / n, last / n
    ways["the normal distribution"] = (few - half[0], many - half[1]), (few + half[0], many + half[1])
    return ways
