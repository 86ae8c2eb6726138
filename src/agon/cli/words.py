"""Numbers in the output of commands."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agon.errors import count

if TYPE_CHECKING:
    from agon.record.estimate import Estimate


def bill_of(rows: Sequence[Estimate]) -> str:
    """The expected calls and US dollars in words, with ranges, and the models of unknown price."""
    unpriced = [row.model for row in rows if row.usd is None]
    (low, calls, high), (least, usd, most) = (
        [sum(part[place] for part in parts) for place in range(3)]
        for parts in ([row.load.calls for row in rows], [row.usd or (0.0, 0.0, 0.0) for row in rows])
    )
    return (
        f"about {count(round(calls), 'call')}, {usd:,.2f} USD"
        + f" ({range_of(low, high)} calls, {range_of(least, most, ',.2f')} USD)"
        + (f"; without the cost of {', '.join(unpriced)}: conf/model does not say its price" if unpriced else "")
    )


def number_of(value: float, form: str = ",.0f") -> str:
    """Formats a number that may be infinite."""
    return format(value, form) if math.isfinite(value) else "no limit"


def range_of(low: float, high: float, form: str = ",.0f") -> str:
    """Formats a range whose end may be infinite."""
    return f"{low:{form}} to {high:{form}}" if math.isfinite(high) else f"{low:{form}} or more"


def clock(seconds: float) -> str:
    """A time in seconds, minutes, hours or days."""
    if not math.isfinite(seconds):
        return "no limit"
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3 * 86_400:
        return f"{seconds / 60:.0f} min" if seconds < 3600 else f"{seconds / 3600:,.1f} h"
    return f"{seconds / 86_400:,.0f} days"


def bar_of(total: int, unit: str = "match") -> Any:
    """A progress bar whose rate is the mean since its start."""
    from tqdm import tqdm

    tqdm.monitor_interval = 0  # bars are shown twice a second; no monitor thread
    disable = not sys.stderr.isatty() and "AGON_PROGRESS" not in os.environ
    return tqdm(total=total, unit=unit, disable=disable, smoothing=0, dynamic_ncols=True)
