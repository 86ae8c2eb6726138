"""Numbers and tables in the output of commands."""

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
    """Prints a table in columns: texts as they are, whole numbers in full, other numbers to three digits, "-" for absent ones."""
    lines = [
        [
            value
            if isinstance(value, str)
            else "-"
            if value != value
            else f"{value:,.3g}"
            if value % 1
            else f"{value:,.0f}"
            for value in row
        ]
        for row in table.itertuples(index=False)
    ]
    rows = [*head, *lines]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        click.echo(visible("  ".join(map(str.ljust, row, widths)).rstrip()))


def bill_of(rows: Sequence[Estimate]) -> str:
    """The expected calls and US dollars in words, with ranges, and the models of unknown price."""
    unpriced = [row.model for row in rows if row.usd is None]
    (low, calls, high), (least, usd, most) = (
        [sum(part[place] for part in parts) for place in range(3)]
        for parts in ([row.load.calls for row in rows], [row.usd or (0.0, 0.0, 0.0) for row in rows])
    )
    return (
        f"about {count(round(calls), 'call')}, {usd:,.2f} USD"
        + f" ({low:,.0f} to {number_of(high)} calls, {least:,.2f} to {number_of(most, ',.2f')} USD)"
        + (f"; without the cost of {', '.join(unpriced)}: conf/model does not say its price" if unpriced else "")
    )


def number_of(value: float, form: str = ",.0f") -> str:
    """Formats a number that may be infinite."""
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
    """A progress bar whose rate is the mean since its start."""
    from tqdm import tqdm

    tqdm.monitor_interval = 0  # bars are shown twice a second; no monitor thread
    disable = not sys.stderr.isatty() and "AGON_PROGRESS" not in os.environ
    return tqdm(total=total, unit=unit, disable=disable, smoothing=0, dynamic_ncols=True)
