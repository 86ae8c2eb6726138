"""Numbers and tables as commands print them."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from agon.errors import count, visible

if TYPE_CHECKING:
    from pandas import DataFrame

    from agon.record.estimate import Estimate


def say_columns(head: list[list[str]], table: DataFrame) -> None:
    """Prints a table in columns, numbers to three digits."""
    lines = [
        [
            each if isinstance(each, str) else "-" if each != each else f"{each:,.3g}" if each % 1 else f"{each:,.0f}"
            for each in row
        ]
        for row in table.itertuples(index=False)
    ]
    rows = [*head, *lines]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        click.echo(visible("  ".join(map(str.ljust, row, widths)).rstrip()))


def bill_of(rows: Sequence[Estimate]) -> str:
    """About how many calls and US dollars, from a low to a high; models of unknown price are named."""
    unknown = [each.model for each in rows if each.usd is None]
    (low, calls, high), (least, usd, most) = (
        [sum(part[place] for part in parts) for place in range(3)]
        for parts in ([each.load.calls for each in rows], [each.usd or (0.0, 0.0, 0.0) for each in rows])
    )
    return (
        f"about {count(round(calls), 'call')}, {usd:,.2f} USD"
        + f" ({low:,.0f} to {number_of(high)} calls, {least:,.2f} to {number_of(most, ',.2f')} USD)"
        + (f"; the money for {', '.join(unknown)} is not in it, whose price conf/model does not say" if unknown else "")
    )


def number_of(value: float, form: str = ",.0f") -> str:
    """A number that may be infinite."""
    return format(value, form) if math.isfinite(value) else "no bound"


def clock(seconds: float) -> str:
    """A time in seconds, minutes, hours or days."""
    if not math.isfinite(seconds):
        return "no bound"
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3 * 86_400:
        return f"{seconds / 60:.0f} min" if seconds < 3600 else f"{seconds / 3600:,.1f} h"
    return f"{seconds / 86_400:,.0f} days"


def bar_of(total: int, unit: str = "match") -> Any:
    """A bar whose rate is the mean since it began, and which says so whatever happens meanwhile."""
    from tqdm import tqdm

    tqdm.monitor_interval = (
        0  # bars are shown twice a second; without a thread more nothing is said where there can be none
    )
    disable = not sys.stderr.isatty() and "AGON_PROGRESS" not in os.environ
    return tqdm(total=total, unit=unit, disable=disable, smoothing=0, dynamic_ncols=True)
