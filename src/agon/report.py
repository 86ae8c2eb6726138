"""The pages over all notebooks: what agreed, in a table, in a line, and in reports/index.html."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import nbformat
import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

from agon import AgonError
from agon.replication.counterfactual import whole_cells

PAGES = Environment(
    loader=PackageLoader("agon"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    keep_trailing_newline=True,
)


def gathered(paths: Sequence[Path]) -> pd.DataFrame:
    """The tables of several papers (csv), one below the other. Raises AgonError for one that is not there."""
    missing = [path.name for path in paths if not path.is_file()]
    if missing:
        raise AgonError(f"{', '.join(missing)} is not there: run the notebook that writes it first, or `dvc repro`")
    return pd.concat([pd.read_csv(path) for path in paths], ignore_index=True)


def agreed(cells: pd.DataFrame) -> pd.DataFrame:
    """paper, reading, agree, of: printed cells (mean and standard deviation together) that agree."""
    return whole_cells(cells).groupby(["paper", "reading"]).agrees.agg(agree="sum", of="size").reset_index()


def verdicts(claims: pd.DataFrame) -> pd.DataFrame:
    """paper, holds, fails, unchecked: numbers of statements."""
    counts = pd.crosstab(claims.paper, claims.verdict).reindex(
        columns=["holds", "fails", "cannot be checked"], fill_value=0
    )
    return counts.set_axis(["holds", "fails", "unchecked"], axis=1).reset_index()


def summary_line(cells: pd.DataFrame, claims: pd.DataFrame) -> str:
    """What `make repro` says at its end."""
    lines = [
        f"{row.paper}, {row.reading}: {row.agree:,} of {row.of:,} printed cells agree"
        for row in agreed(cells).itertuples()
    ]
    lines += [
        f"{row.paper}: {row.holds} statements hold, {row.fails} fail, {row.unchecked} cannot be checked"
        for row in verdicts(claims).itertuples()
    ]
    return "\n".join([*lines, "open reports/index.html", ""])


def index(cells: pd.DataFrame, claims: pd.DataFrame, notebooks: Mapping[Path, str], figures: Sequence[Path]) -> str:
    """The page that links every notebook, each with the figure named as its picture, and every figure. All text is escaped."""
    names = sorted(path.stem for path in figures)
    return PAGES.get_template("index.html.j2").render(
        cells=list(agreed(cells).itertuples()),
        claims=list(verdicts(claims).itertuples()),
        notebooks=[_card(path, picture if picture in names else "") for path, picture in notebooks.items()],
        figures=names,
    )


def _card(path: Path, picture: str) -> dict[str, str]:
    title = nbformat.read(path, as_version=4).cells[0].source.splitlines()[0].lstrip("# ")
    return {"name": path.stem, "title": title, "picture": picture and f"{picture}.png"}
