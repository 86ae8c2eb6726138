"""Turns as files that other programs read: JSON lines, one file per match, and Inspect's eval logs, one per model."""

from pathlib import Path

import pandas as pd

from agon.bridges.rows import jsonl
from agon.errors import AgonError

__all__ = ["inspect_log", "jsonl"]


def inspect_log(turns: pd.DataFrame, file: Path, recording: Path | None = None) -> list[Path]:
    """Logs for Inspect, see agon.bridges.inspect.write; the files. Raises AgonError, also where inspect-ai is missing."""
    try:
        from agon.bridges.inspect import write
    except ImportError:
        raise AgonError("Inspect's log format needs inspect-ai: see docs/how-to/export.md") from None
    return write(turns, file, recording)
