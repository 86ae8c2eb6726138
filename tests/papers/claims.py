"""Notebooks run without Jupyter, and the statements of a paper's notebook decided."""

import ast
import io
import re
from collections.abc import Iterable
from contextlib import redirect_stdout
from functools import cache
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
import pandas as pd

from agon import ROOT
from agon_papers.verdict import Records


def claims_table(paper: str, **parameters: Any) -> pd.DataFrame:
    """The claims of notebooks/PAPER_claims.ipynb, run with these parameters; the index is the name of the statement."""
    return executed(f"{paper}_claims", **parameters)["statement"].table().set_index("statement")


def executed(notebook: str, **parameters: Any) -> dict[str, Any]:
    """All names of notebooks/NOTEBOOK.ipynb after its code cells ran, in one namespace. What it shows and writes is dropped."""
    cells = nbformat.read(ROOT / f"notebooks/{notebook}.ipynb", as_version=4).cells
    names: dict[str, Any] = {"__name__": "__main__"}
    with TemporaryDirectory() as folder, redirect_stdout(io.StringIO()):
        for number, cell in enumerate(cells):
            if cell.cell_type == "code":
                exec(compile(cell.source, f"<{notebook}, cell {number}>", "exec"), names)
            if "parameters" in cell.metadata.get("tags", ()):
                given = {"out": folder} | parameters
                assert given.keys() <= names.keys(), f"the notebook has no parameter {given.keys() - names.keys()}"
                names |= given
    return names


def functions_of(notebook: str, constants: Iterable[str] = (), **names: Any) -> dict[str, Any]:
    """The functions, classes and imports of notebooks/NOTEBOOK.ipynb by name, with these constants; nothing else of it runs."""

    def defines(node: ast.stmt) -> bool:
        if isinstance(node, ast.Assign | ast.AugAssign):
            return ast.unparse(node).startswith(tuple(f"{name} " for name in constants))
        return isinstance(node, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef)

    names["__name__"] = notebook
    for cell in nbformat.read(ROOT / f"notebooks/{notebook}.ipynb", as_version=4).cells:
        if cell.cell_type == "code":
            tree = ast.parse(cell.source)
            tree.body = [node for node in tree.body if defines(node)]
            exec(compile(tree, notebook, "exec"), names)
    return names


@cache
def cells_of(paper: str) -> tuple[list[str], dict[str, str]]:
    """Code of that notebook: of the cells that import and define, and of each statement, by its name."""
    notebook = nbformat.read(ROOT / f"notebooks/{paper}_claims.ipynb", as_version=4)
    sources = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    statements = {re.search(r"^def (\w+)", text, re.MULTILINE)[1]: text for text in sources if "@statement(" in text}
    defining = [text for text in sources if text.startswith(("from ", "import ", "def ", "statement = "))]
    return defining, statements


def decide(paper: str, records: Records, names: Iterable[str] = ()) -> pd.DataFrame:
    """These statements of that notebook (all, if none is named), decided from other records."""
    defining, statements = cells_of(paper)
    namespace: dict[str, Any] = {"__name__": "__main__", "records": records}
    with redirect_stdout(io.StringIO()):
        for source in [*defining, *(statements[name] for name in names or statements)]:
            exec(compile(source, f"<{paper}_claims>", "exec"), namespace)
    return namespace["statement"].table().set_index("statement")
