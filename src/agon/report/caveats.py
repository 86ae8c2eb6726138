"""What is to be known of a notebook's data before its findings are believed: that they are a sample, not whole, or cut off."""

from collections.abc import Iterable
from typing import Any

from IPython import get_ipython
from IPython.display import Markdown, display

from agon.paths import input_path, shown
from agon.turns import cut_off, endings, is_turns, partial, read

SAMPLES = "/tests/smoke/"
"""The folder of small parts of the report's data, on which notebooks can be tried."""

_told: list[str] = []
"""What every finding of this process's notebook bears."""


def caveats(paths: Iterable[str]) -> list[str]:
    """Of files that a notebook reads: which are samples, which turns are not of whole experiments, and which have answers that were
    cut off. Raises AgonError.
    """
    known = {path: input_path(path) for path in paths if path}
    samples = [shown(path) for path in known.values() if SAMPLES in f"{path.resolve().as_posix()}/"]
    told = [f"SAMPLE, not the report's data: {', '.join(samples)}"] if samples else []
    turns = [path for path in known.values() if path.suffix == ".parquet" and is_turns(path)]
    for path in turns:
        table = read(path, ["experiment", "ended"])
        told += [f"PARTIAL: {each}" for each in partial(table)]
        told += [f"NOT WHOLE: {endings(table)} ({shown(path)})"] if cut_off(table).any() else []
    return told


def beware(*paths: str) -> None:
    """From now on every finding of this notebook (a figure, a table, a text) says what is to be known of the files that it reads.

    Nothing is said where there is nothing to say. Call it where the data are loaded. Raises AgonError.
    """
    _told[:] = caveats(paths)
    if (shell := get_ipython()) is not None:
        shell.events.register("post_run_cell", _tell)


def told() -> str:
    """What figures bear, in a line."""
    return "; ".join(_told)


def _tell(cell: Any) -> None:
    """Below a cell that has shown something."""
    if _told and cell.result is not None:
        text = Markdown("  \n".join(f"**{each}**" for each in _told))  # type: ignore[no-untyped-call]
        display(text)  # type: ignore[no-untyped-call]
