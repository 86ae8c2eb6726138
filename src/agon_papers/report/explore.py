"""Interactive pages: data and plain JavaScript in one HTML file, without server or network."""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import pandas as pd
from markupsafe import Markup

from agon.errors import AgonError
from agon_papers.report.index import PAGES

PARTS = files("agon_papers.report").joinpath("templates/explore")
CODED = 0.5
"""Share of different values below which a column of text is written as values and codes."""


def packed(table: pd.DataFrame) -> dict[str, Any]:
    """Column -> its values, or, to save space, {"values": the different ones, "codes": the place of each row's value, -1 for none}.

    Absent values are null. Raises AgonError for a number that is not finite.
    """
    columns: dict[str, Any] = {}
    for name, column in table.items():
        if isinstance(column.dtype, pd.CategoricalDtype) or (
            pd.api.types.is_string_dtype(column) and column.nunique() < CODED * len(column)
        ):
            codes, values = pd.factorize(column)
            columns[str(name)] = {"values": [str(value) for value in values], "codes": codes.tolist()}
        else:
            columns[str(name)] = [None if pd.isna(value) else _short(value) for value in column.tolist()]
    return columns


def _short(value: Any) -> Any:
    """A value, as an integer where it is a whole number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def page(
    title: str,
    about: Sequence[str],
    links: Mapping[str, str],
    data: Mapping[str, Any],
    scripts: Sequence[str],
    notes: Mapping[str, Mapping[str, str]] | None = None,
) -> str:
    """One HTML file: the bar of all pages, `about` (paragraphs), `links` (text -> target), and `scripts` that show `data`.

    `notes`: summary -> a folded list of names and their meanings.

    All text is escaped, in `data` also `<`. A Content-Security-Policy allows these scripts alone, and no loading. The same input
    gives the same bytes. Raises AgonError for numbers that are not finite.
    """
    code = "\n".join(["(() => {", part("base.js"), *scripts, "})();"])
    style = part("style.css")
    try:
        text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError as error:
        raise AgonError(f"explorer {title!r}: {error}") from None
    policy = f"default-src 'none'; script-src {_hashed(code)}; style-src {_hashed(style)}; base-uri 'none'; form-action 'none'"
    return PAGES.get_template("explore/page.html.j2").render(
        title=title,
        about=about,
        links=links,
        notes=notes or {},
        policy=Markup(policy),
        style=Markup(style),
        code=Markup(code),
        data=Markup(text.replace("<", "\\u003c")),
    )


def browser(**settings: Any) -> tuple[dict[str, Any], list[str]]:
    """Data and scripts of a page with a table to search and filter: see templates/explore/browse.js."""
    return settings, [part("browse.js")]


def stepper(own: str, **settings: Any) -> tuple[dict[str, Any], list[str]]:
    """Data and scripts of a page that steps through matches; `own` is the script of their moves: see templates/explore/stepper.js."""
    return settings, [own, part("stepper.js")]


def part(name: str) -> str:
    """A file of templates/explore."""
    return PARTS.joinpath(name).read_text(encoding="utf-8")


def _hashed(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
