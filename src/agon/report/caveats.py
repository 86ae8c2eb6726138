"""Caveats of a notebook's data: a sample, a partial experiment, an end of asking by repeated looks, answers that were cut off."""

from collections.abc import Iterable
from typing import Any

from IPython import get_ipython
from IPython.display import Markdown, display

from agon.paths import display_path, input_path
from agon.report.registration import last_look
from agon.turns import PARTIAL, cut_off, endings, is_turns, partial, read

SAMPLES = "/tests/smoke/"
"""The folder of small samples of the report's data, for trials of notebooks."""

_shown: list[str] = []
"""The caveats of this process's notebook."""


def caveats(paths: Iterable[str]) -> list[str]:
    """The caveats of files that a notebook reads: samples, partial experiments, repeated looks, cut-off answers. Raises AgonError."""
    places = {path: input_path(path) for path in paths if path}
    samples = [display_path(path) for path in places.values() if SAMPLES in f"{path.resolve().as_posix()}/"]
    lines = [f"SAMPLE, not the report's data: {', '.join(samples)}"] if samples else []
    turns = [path for path in places.values() if path.suffix == ".parquet" and is_turns(path)]
    for path in turns:
        table = read(path, ["experiment", "ended"])
        lines += [f"PARTIAL: {experiment}" for experiment in partial(table)]
        looks = {name: last_look(name) for name in table.experiment.unique()}
        lines += [
            f"LOOKED AT REPEATEDLY: {look.metric} in {PARTIAL.sub('', name)}: {look.answer}; this interval holds, others are too narrow"
            for name, look in looks.items()
            if look
        ]
        lines += [f"NOT WHOLE: {endings(table)} ({display_path(path)})"] if cut_off(table).any() else []
    return lines


def show_caveats(*paths: str) -> None:
    """From now on every output of this notebook (a figure, a table, a text) bears the caveats of the files at `paths`, if any.

    Call it where the data are loaded. Raises AgonError.
    """
    _shown[:] = caveats(paths)
    if (shell := get_ipython()) is not None:
        shell.events.register("post_run_cell", _display_caveats)


def caveat_line() -> str:
    """The notebook's caveats in a line, for figures."""
    return "; ".join(_shown)


def _display_caveats(cell: Any) -> None:
    """Displays the caveats below a cell with a result."""
    if _shown and cell.result is not None:
        text = Markdown("  \n".join(f"**{line}**" for line in _shown))  # type: ignore[no-untyped-call]
        display(text)  # type: ignore[no-untyped-call]
