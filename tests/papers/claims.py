"""The statements of a paper's notebook, decided without Jupyter."""

import io
from contextlib import redirect_stdout
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
import pandas as pd

from agon import ROOT


def decided(paper: str, **parameters: Any) -> pd.DataFrame:
    """The claims of notebooks/PAPER_claims.ipynb, run with these parameters; the index is the name of the statement."""
    return executed(paper, **parameters)["statement"].table().set_index("statement")


def executed(paper: str, **parameters: Any) -> dict[str, Any]:
    """All names of that notebook after its code cells ran, in one namespace; what it shows is dropped, and what it writes too."""
    cells = nbformat.read(ROOT / f"notebooks/{paper}_claims.ipynb", as_version=4).cells
    names: dict[str, Any] = {"__name__": "__main__"}
    with TemporaryDirectory() as folder, redirect_stdout(io.StringIO()):
        for number, cell in enumerate(cells):
            if cell.cell_type == "code":
                exec(compile(cell.source, f"<{paper}_claims, cell {number}>", "exec"), names)
            if "parameters" in cell.metadata.get("tags", ()):
                given = {"out": folder} | parameters
                assert given.keys() <= names.keys(), f"the notebook has no parameter {given.keys() - names.keys()}"
                names |= given
    return names
