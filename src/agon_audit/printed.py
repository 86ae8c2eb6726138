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
from agon.paths import display_path

COLUMNS = "where", "value", "kind", "how", "n", "unit"
"""where: place in the text; value: as printed; kind: one of KINDS; how: an expression over `turns`; n: number of values in a mean or
share; unit: the step of a single value, 1 unless given."""
KINDS = "number", "mean", "share", "percent", "test"
AGREES, CUT, DIFFERS, IMPOSSIBLE, UNDECIDED = (
    "agrees",
    "agrees if it was cut off, not rounded",
    "differs",
    "impossible",
    "cannot be checked",
)
WRONG = DIFFERS, IMPOSSIBLE


class Decision(NamedTuple):
    """A printed number, and what was decided."""

    where: str
    value: str
    recomputed: float
    verdict: str
    why: str


def read_numbers(path: Path) -> pd.DataFrame:
    """The file of printed numbers: CSV with COLUMNS, of which how, n and unit may be missing or empty. Raises AgonError."""
    try:
        table = pd.read_csv(path, dtype="str", keep_default_na=False)
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

    if row.kind == "test":
        return decision(*decide_test(row.value))
    printed = _printed(row.value)
    if printed is None:
        return decision(UNDECIDED, "it is no number")
    if row.n:
        try:
            impossible = grim(printed, int(row.n), float(row.unit or 1), row.kind == "percent")
        except ValueError:
            return decision(UNDECIDED, f"n is {row.n!r} and unit {row.unit!r}: they must be numbers")
        if impossible:
            return decision(IMPOSSIBLE, impossible)
    if not row.how:
        return (
            decision(AGREES, f"a {row.kind} of {row.n} values can be this")
            if row.n
            else decision(UNDECIDED, "how and n are empty")
        )
    try:
        value = float(eval(row.how, {"turns": turns, "np": np, "pd": pd}))
    except Exception as error:  # an expression of the user may raise anything
        return decision(UNDECIDED, f"{row.how}: {type(error).__name__}: {str(error).partition(chr(10))[0][:100]}")
    if not isfinite(value):
        return decision(UNDECIDED, "the expression gives no number", value)
    return decision(*compare(printed, value * (100 if row.kind == "percent" else 1)), value)


def _printed(text: str) -> Decimal | None:
    try:
        number = Decimal(text.strip().replace("\N{MINUS SIGN}", "-").replace(",", "").removesuffix("%"))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


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
    """The two-sided p at both ends of what a rounded statistic may be."""
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
