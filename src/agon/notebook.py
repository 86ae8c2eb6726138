"""Notebooks through papermill: checked parameters in, an executed copy without clock times and an HTML page out."""

import logging
import re
import warnings
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import nbformat
import papermill
import yaml  # type: ignore[import-untyped]
from bleach import ALLOWED_ATTRIBUTES, ALLOWED_TAGS, clean  # type: ignore[import-untyped]
from nbconvert import HTMLExporter
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from papermill.exceptions import PapermillException, PapermillExecutionError

from agon import ROOT, AgonError, input_files, input_path
from agon.conf import settings_of


def parameters(name: str, overrides: Sequence[str] = ()) -> dict[str, Any]:
    """What notebooks/`name`.ipynb is run with: conf/notebook/`name`.yaml and `overrides` (name=value).

    Raises AgonError for an unknown notebook or parameter.
    """
    source = input_path(f"notebooks/{name}.ipynb")
    known = sorted(path.stem for path in input_files("notebooks", "*.ipynb"))
    if name not in known:
        raise AgonError(f"there is no notebook {name!r}: there are {', '.join(known)}")
    try:
        given: Any = OmegaConf.to_container(OmegaConf.from_dotlist(list(overrides)))
        settings = settings_of("notebook", name) | given
    except (OmegaConfBaseException, yaml.YAMLError, AttributeError, RecursionError, TypeError, ValueError) as error:
        raise AgonError(f"parameters {' '.join(overrides)} cannot be read: {_line(error)}") from None
    declared = papermill.inspect_notebook(str(source))
    if unknown := sorted(set(settings) - set(declared)):
        raise AgonError(f"notebook {name} has no parameter {unknown[0]!r}: it has {', '.join(declared) or 'none'}")
    return settings


def run(name: str, parameters: Mapping[str, Any]) -> Path:
    """Runs notebooks/`name`.ipynb with `parameters`, all of which it declares.

    Writes reports/`name`.ipynb and .html, byte for byte the same for the same inputs; returns the former.
    Raises AgonError when a cell fails (the failed copy is kept beside).
    """
    source = input_path(f"notebooks/{name}.ipynb")
    target = ROOT / "reports" / f"{name}.ipynb"
    target.parent.mkdir(exist_ok=True)
    failed = target.with_suffix(".failed.ipynb")
    logging.getLogger("papermill").setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            papermill.execute_notebook(
                str(source),
                str(failed),
                dict(parameters),
                cwd=str(ROOT),
                kernel_name="python3",
                progress_bar=False,
                log_output=False,
                extra_arguments=["--log-level=50"],
                request_save_on_cell_execute=False,
            )
    except PapermillExecutionError as error:
        said = f"{error.ename}: {_line(error.evalue) or _failing(error.traceback)}"
        raise AgonError(f"notebook {name}, cell {error.exec_count}: {said} (see reports/{failed.name})") from error
    except PapermillException as error:
        raise AgonError(f"notebook {name} did not run: {_line(error)}") from error
    executed = nbformat.read(failed, as_version=4)
    settle(executed)
    nbformat.write(executed, target)
    target.with_suffix(".html").write_text(page(executed, name), encoding="utf-8")
    failed.unlink()
    return target


def _failing(traceback: Sequence[str]) -> str:
    """The line of a cell that failed without a word, as Jupyter marks it."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(traceback))
    marked = re.findall(r"^-+> *\d+ (.*)$", plain, re.MULTILINE)
    return _line(marked[0] if marked else plain)


def _line(error: object) -> str:
    return " ".join(str(error).split())[:300]


def settle(notebook: Any) -> None:
    """Takes out what differs from run to run: clock times, cell ids, versions of the kernel's parts."""
    notebook.metadata.pop("papermill", None)
    notebook.metadata.get("language_info", {}).pop("version", None)
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
        cell.metadata.pop("execution", None)
        cell.metadata.pop("papermill", None)


HEADINGS, TABLES = ("h1", "h2", "h3", "h4", "h5", "h6"), ("table", "thead", "tbody", "tr", "th", "td")
TAGS = {*ALLOWED_TAGS, *HEADINGS, *TABLES, "p", "br", "hr", "pre", "div", "span"}
ATTRIBUTES = {**ALLOWED_ATTRIBUTES, "*": ["class", "id"], "th": ["colspan", "rowspan"], "td": ["colspan", "rowspan"]}
"""What text and outputs may hold; nbconvert's own choice shows headings and most of a table as source."""


def page(notebook: Any, title: str) -> str:
    """The notebook as one HTML page, with its text and outputs sanitized, and every picture's alternative text."""
    exporter = HTMLExporter(
        sanitize_html=True,
        mathjax_url="",
        require_js_url="",
        exclude_input_prompt=True,
        exclude_output_prompt=True,
        filters={"clean_html": sanitized},
    )
    exporter.log.setLevel(logging.ERROR)  # it warns of the texts that are put in below
    body, _ = exporter.from_notebook_node(notebook, resources={"metadata": {"name": title}})
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if alt := output.get("metadata", {}).get("image/png", {}).get("alt"):
                body = body.replace('alt="No description has been provided for this image"', f'alt="{escape(alt)}"', 1)
    return str(body)


def sanitized(element: str | bytes) -> str:
    """HTML with nothing in it that runs or styles."""
    text = element.decode() if isinstance(element, bytes) else str(element)
    text = re.sub(r"<(style|script)\b.*?</\1\s*>", "", text, flags=re.DOTALL | re.IGNORECASE)
    return str(clean(text, tags=TAGS, attributes=ATTRIBUTES))
