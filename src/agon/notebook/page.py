"""The page of an executed notebook. No script runs in it, its code is folded, and it is the same for the same inputs."""

import logging
import re
from collections.abc import Mapping
from copy import deepcopy
from html import escape
from importlib.resources import files
from typing import Any

from bleach import ALLOWED_ATTRIBUTES, ALLOWED_TAGS, clean  # type: ignore[import-untyped]
from nbconvert import HTMLExporter


def settle(notebook: Any) -> None:
    """Removes the parts that differ from run to run: clock times, cell ids, versions of the kernel."""
    notebook.metadata.pop("papermill", None)
    notebook.metadata.get("language_info", {}).pop("version", None)
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
        cell.metadata.pop("execution", None)
        cell.metadata.pop("papermill", None)


HEADINGS, TABLES = ("h1", "h2", "h3", "h4", "h5", "h6"), ("table", "thead", "tbody", "tr", "th", "td")
TAGS = {*ALLOWED_TAGS, *HEADINGS, *TABLES, "p", "br", "hr", "pre", "div", "span"}
ATTRIBUTES = {**ALLOWED_ATTRIBUTES, "*": ["class", "id"], "th": ["colspan", "rowspan"], "td": ["colspan", "rowspan"]}
"""The HTML that text and outputs may contain. nbconvert's own choice shows headings and most of a table as source."""


def title(notebook: Any) -> str:
    """The first line of a notebook's first cell, which is its question."""
    first = notebook.cells[0].source if notebook.cells else ""
    return str(first).strip().partition("\n")[0].lstrip("# ")


def _mark_setup(notebook: Any) -> Any:
    """A copy that marks the cells between the title and the first output, so that the page folds them."""
    copy = deepcopy(notebook)
    cells = copy.cells
    first_output = next((place for place, cell in enumerate(cells) if cell.get("outputs")), 0)
    silent = [place for place in range(1, first_output) if cells[place].cell_type == "code"]
    if silent and silent[-1] > 1:
        cells[1].metadata["agon_setup"], cells[silent[-1]].metadata["agon_setup"] = "first", "last"
    return copy


def page(notebook: Any, name: str, links: Mapping[str, str] | None = None) -> str:
    """The notebook as one HTML page, with its text and outputs sanitized, its code folded, and every picture's alternative text.

    `links`: text -> target of the links at its top.
    """
    exporter = HTMLExporter(
        raw_template=files("agon.notebook").joinpath("page.html.j2").read_text(encoding="utf-8"),
        sanitize_html=True,
        mathjax_url="",
        require_js_url="",
        exclude_input_prompt=True,
        exclude_output_prompt=True,
        filters={"clean_html": lambda element: _plain(sanitized(element))},
    )
    notebook = _mark_setup(notebook)
    exporter.log.setLevel(logging.ERROR)  # it warns of the texts that are put in below
    body, _ = exporter.from_notebook_node(
        notebook, resources={"metadata": {"name": name}, "way": list((links or {}).items())}
    )
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if alt := output.get("metadata", {}).get("image/png", {}).get("alt"):
                body = body.replace('alt="No description has been provided for this image"', f'alt="{escape(alt)}"', 1)
    return str(body)


def _plain(html: str) -> str:
    """Tables with a dash for a missing value, and without a minus before zero."""
    html = re.sub(r"<td>(NaN|nan|None|<NA>|&lt;NA&gt;)</td>", "<td>–</td>", html)  # noqa: RUF001
    return re.sub(r"<td>-(0(?:\.0+)?)</td>", r"<td>\1</td>", html)


def sanitized(element: str | bytes) -> str:
    """HTML without scripts and styles."""
    text = element.decode() if isinstance(element, bytes) else str(element)
    text = re.sub(r"<(style|script)\b.*?</\1\s*>", "", text, flags=re.DOTALL | re.IGNORECASE)
    return str(clean(text, tags=TAGS, attributes=ATTRIBUTES))
