"""The page of an executed notebook. One switch shows its code. Its only scripts are agon's: Back closes a figure, and a radar.

It is the same for the same inputs.
"""

import itertools
import json
import posixpath
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from html import escape, unescape
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from bleach import ALLOWED_ATTRIBUTES, ALLOWED_TAGS, clean  # type: ignore[import-untyped]
from jinja2 import Environment, PackageLoader, StrictUndefined
from nbconvert import HTMLExporter
from nbconvert.filters import markdown2html
from nbformat.v4 import new_markdown_cell, new_notebook
from pygments.formatters import HtmlFormatter  # type: ignore[import-untyped]


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


def _marked(notebook: Any) -> Any:
    """A copy that marks the cells between the title and the first output, which the page shows with the code.

    So is a text that says what a cell does, if the cell has no outputs or the text is one sentence. It also marks the
    pictures whose title the output before has told already.
    """
    copy = deepcopy(notebook)
    cells = copy.cells
    first_output = next((place for place, cell in enumerate(cells) if cell.get("outputs")), 0)
    silent = [place for place in range(1, first_output) if cells[place].cell_type == "code"]
    if silent and silent[-1] > 1:
        for cell in cells[1 : silent[-1] + 1]:
            cell.metadata["agon_setup"] = True
    for text, code in itertools.pairwise(cells):
        about_code = not code.get("outputs") or ". " not in " ".join(text.source.split())
        if text.source.startswith("This cell ") and code.cell_type == "code" and about_code:
            text.metadata["agon_setup"] = True
    for before, output in itertools.pairwise(output for cell in cells for output in cell.get("outputs", [])):
        alt = output.get("metadata", {}).get("image/png", {}).get("alt")
        if alt and f"**{alt}.**" == before.get("data", {}).get("text/markdown"):
            output.metadata["agon_told"] = True
    return copy


def page(
    notebook: Any,
    name: str,
    links: Mapping[str, str] | None = None,
    figures: Path | None = None,
    guides: Sequence[str] = (),
) -> str:
    """The notebook as one HTML page. Its text and outputs are sanitized, one switch shows its code, and figures are drawings (SVG).

    `links`: text -> target of the links at its top and end. `figures`: the folder with the notebook's figures, as PNG
    and SVG. `guides`: files of docs/, without .md, that have a page beside this one, named by the last part of their
    path. Links lead to these pages.
    """
    exporter = HTMLExporter(
        raw_template=TEMPLATES.joinpath("page.html.j2").read_text(encoding="utf-8"),
        extra_loaders=[PackageLoader("agon.notebook")],
        sanitize_html=True,
        exclude_input_prompt=True,
        exclude_output_prompt=True,
        anchor_link_text="link to this",
        filters={
            "clean_html": lambda element: _plain(sanitized(element)),
            "drawn": lambda output: _drawn(output, figures),
        },
    )
    notebook = _marked(notebook)
    texts = [sanitized(markdown2html(cell.source)) for cell in notebook.cells if cell.cell_type == "markdown"]
    resources = {
        "metadata": {"name": name},
        "way": list((links or {}).items()),
        "headings": [heading for text in texts for heading in HEADING.findall(text)],
        "highlighting": HIGHLIGHTING,
    }
    body, _ = exporter.from_notebook_node(notebook, resources=resources)
    text = WORDS.sub(lambda found: found[1] or LONG.sub(_breakable, found[3]), str(body))
    if 'class="larger"' in text:
        script = TEMPLATES.joinpath("figure.js").read_text(encoding="utf-8")
        text = f"<script>\n{script}</script>\n</body>".join(text.rsplit("</body>", 1))
    return _beside(text, guides)


WORDS = re.compile(r"(<(script|style|title)\b.*?</\2>|<[^>]*>)|([^<]+)", re.DOTALL)
"""The words of a page, in the third group: what is no tag, and no script, style or title."""
LONG = re.compile(r"[^\s&;]{20,}")
"""A word that is too long for a line on a phone, such as a path."""


def _breakable(word: re.Match[str]) -> str:
    """A long word that a line may end after a sign, and not within a part."""
    return re.sub(r"(?<=\w[/_.=@:,])(?=[^\W\d])", "<wbr>", word[0])


def _beside(html: str, guides: Sequence[str]) -> str:
    """Links to guides that are pages in reports/ lead to these."""
    pages = "|".join(map(re.escape, guides)) or "(?!)"
    return re.sub(rf'href="\.\./docs/(?:{pages})\.md(?=["#])', lambda link: f'href="{Path(link[0]).stem}.html', html)


def guide(name: str, text: str, links: Mapping[str, str], guides: Sequence[str] = ()) -> str:
    """A guide (docs/NAME.md, whose text is `text`) as a page in reports/. `guides`: all that are pages there.

    Its headings have the anchors that they have elsewhere: words in small letters.
    """
    head, mark, rest = text.partition("\n## ")
    cells = [new_markdown_cell(part) for part in (head, mark + rest) if part]
    html = page(new_notebook(cells=cells), f"agon: {head.partition(chr(10))[0].lstrip('# ')}", links)
    html = re.sub(r'(<h\d id="|href="#)([^"]+)"', lambda anchor: f'{anchor[1]}{_slug(unescape(anchor[2]))}"', html)
    ways = "|".join(map(re.escape, links.values())) or "(?!)"
    folder = f"../docs/{name}/.."
    html = re.sub(
        rf'href="(?!#|[a-z]+:|(?:{ways})")([^"#]+)',
        lambda link: f'href="{posixpath.normpath(f"{folder}/{link[1]}")}',
        html,
    )
    html = re.sub(r'href="\.\./notebooks/(\w+)\.ipynb', r'href="\1.html', html)
    html = re.sub(r'href="\.\./reports/(\w+\.html)', r'href="\1', html)
    return _beside(html, guides)


def _slug(heading: str) -> str:
    return re.sub(r"[^\w-]", "", unquote(heading).lower())


HEADING = re.compile(r'<h2 id="([^"]+)">(.*?)<a\b')
"""Anchor and text of a heading of the second level."""
DARK = "@media (prefers-color-scheme: dark)"
HIGHLIGHTING = (
    f"{HtmlFormatter(style='vs').get_style_defs('.highlight')}\n"
    f"{DARK} {{ {HtmlFormatter(style='github-dark').get_style_defs('.highlight')} }}"
)
"""Style of code, light and dark."""
TEMPLATES = files("agon.notebook").joinpath("templates")
FIGURE = Environment(loader=PackageLoader("agon.notebook"), autoescape=True, undefined=StrictUndefined).get_template(
    "figure.html.j2"
)
"""A figure that a tap enlarges."""
WIDE = 420
"""Pixels: a drawing that is wider does not shrink on a phone, but scrolls in its own box."""


def drawing(picture: bytes, folder: Path | None) -> Path | None:
    """The drawing (SVG) in `folder` that shows the same as a picture (PNG) of figures.save, if there is one."""
    for path in sorted(folder.glob("*.png")) if folder else []:
        if path.stat().st_size == len(picture) and path.read_bytes() == picture:
            return path.with_suffix(".svg")
    return None


def title_of(drawing: str) -> str:
    """The title of a drawing (SVG) of figures.save; empty for another one."""
    found = re.search(r"<title>(.*?)</title>", drawing, re.DOTALL)
    return unescape(found[1]) if found else ""


def size_of(drawing: str) -> list[int]:
    """Width and height of a drawing (SVG) in pixels."""
    return [round(float(size) * 4 / 3) for size in re.findall(r'\b(?:width|height)="([\d.]+)pt"', drawing)[:2]]


def is_wide(drawing: str) -> bool:
    """Whether a drawing (SVG) is too wide for a phone: see WIDE."""
    return size_of(drawing)[0] > WIDE


def without_headline(drawing: str) -> str:
    """A drawing without the title that figures.headline wrote at its top; unchanged if there is none."""
    headline = re.search(r'<g id="headline">.*?</g>\n?', drawing, re.DOTALL)
    if headline is None:
        return drawing
    top = max(float(y) for y in re.findall(r'(?:translate\(\S+ | y=")([\d.]+)', headline[0])) + 5
    drawing = re.sub(r" *<(title|metadata)>.*?</\1>\n?", "", drawing.replace(headline[0], ""), flags=re.DOTALL)
    return re.sub(
        r'height="([\d.]+)pt" viewBox="0 0 (\S+) (\S+)"',
        lambda size: f'height="{float(size[1]) - top:g}pt" viewBox="0 {top:g} {size[2]} {float(size[3]) - top:g}"',
        drawing,
        count=1,
    )


def _drawn(output: Any, folder: Path | None) -> str:
    """A picture among the outputs as a figure: as a drawing where there is one, of a size that a phone can show.

    Its title is real text: above it if the output before has not told it, and always if it fills the screen. A tap on the
    drawing does that. Another tap, Close, Escape or Back (templates/figure.js) ends it, and the page has not moved.
    """
    about = output.get("metadata", {}).get("image/png", {})
    alt, below = about.get("alt", ""), radar(about.get("agon_radar"))
    data = str(output.data["image/png"])
    file = None
    with suppress(ValueError):  # an output that is no picture has no drawing
        file = drawing(b64decode(data), folder)
    if file is None:
        return f'<figure><img class="drawn" src="data:image/png;base64,{escape(data)}" alt="{escape(alt)}"></figure>{below}'
    whole = file.read_text(encoding="utf-8")
    text = without_headline(whole)
    shown = FIGURE.render(
        name=file.stem,
        title=alt,
        told=output.metadata.get("agon_told") or text == whole,
        size=size_of(text),
        wide=is_wide(text),
        source=f"data:image/svg+xml;base64,{b64encode(text.encode()).decode()}",
    )
    return shown + below


def radar(data: Any) -> str:
    """A radar whose axes a reader moves: see templates/radar.js for `data`, which is shown as text. None: no radar."""
    if not data:
        return ""
    text = json.dumps(data).replace("<", "\\u003c")
    style, code = (TEMPLATES.joinpath(f"radar.{kind}").read_text(encoding="utf-8") for kind in ("css", "js"))
    values = f'<script type="application/json">{text}</script>'
    return f'<div class="radar"><style>{style}</style>{values}<script>{code}</script></div>'


LETTERS = 36
"""Letters that fit beside each other on a phone."""
SENTENCE = 60
"""Letters of a cell beyond which its table is text: on a phone its rows stand below each other, with the columns' names."""
MARGIN = 2
"""Letters that the margin of a column takes."""


def _plain(html: str) -> str:
    """Tables with a dash for a missing value, without a minus before zero, row numbers and empty headings, and in boxes if they scroll."""
    html = re.sub(r"<td>(NaN|nan|None|<NA>|&lt;NA&gt;)</td>", "<td>–</td>", html)  # noqa: RUF001
    html = re.sub(r"<td>-(0(?:\.0+)?)</td>", r"<td>\1</td>", html)
    html = re.sub(r"<table\b.*?</table>", lambda table: _unnumbered(table[0]), html, flags=re.DOTALL)
    html = re.sub(r"<th\b([^>]*)>\s*</th>", r"<td\1></td>", html)
    return re.sub(r"<table\b.*?</table>", lambda table: _boxed(table[0]), html, flags=re.DOTALL)


def _unnumbered(table: str) -> str:
    """A table without its first column, if this has no name and only the rows' numbers."""
    rows = re.split(r"(?<=</tr>)", table)[:-1]
    firsts = [re.search(r"<tr\b[^>]*>\s*(<th\b[^>]*>(.*?)</th>)", row, re.DOTALL) for row in rows]
    numbers = [first and first[2].strip() for first in firsts]
    if len(rows) < 2 or numbers[0] != "" or not all(number and number.isdigit() for number in numbers[1:]):
        return table
    for first in firsts:
        table = table.replace(first[0], first[0].removesuffix(first[1]), 1) if first else table
    return table


def _boxed(table: str) -> str:
    """A table in a box that scrolls. If it is too wide for a phone, the keyboard reaches the box, which has the columns' names.

    A table with sentences is stacked on a phone instead: see SENTENCE.
    """
    rows = [re.findall(r"<t[hd]\b[^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in table.split("</tr>")]
    cells = [[unescape(re.sub(r"<[^>]*>", "", cell)) for cell in row] for row in rows]
    words = [[max(map(len, cell.split()), default=0) for cell in row] for row in cells]
    wide = sum(max(column) + MARGIN for column in itertools.zip_longest(*words, fillvalue=0))
    names = list(filter(None, cells[0]))
    if "colspan" not in table and max(map(len, itertools.chain(*cells)), default=0) > SENTENCE:
        head, *rest = table.split("</tr>")
        table = "</tr>".join([head, *(_labelled(row, cells[0]) for row in rest)])
        table = re.sub(r'<table(?: class="([^"]*)")?', r'<table class="stacked \1"', table, count=1)
        wide = 0
    attributes = f' role="group" tabindex="0" aria-label="table: {escape(", ".join(names))}"' if wide > LETTERS else ""
    return f'<div class="table"{attributes}>{table}</div>'


def _labelled(row: str, names: Sequence[str]) -> str:
    """A row of a table, of which every cell has the name of its column."""
    left = iter(names)
    return re.sub(r"<(t[hd])\b", lambda cell: f'<{cell[1]} data-label="{escape(next(left, ""))}"', row)


def sanitized(element: str | bytes) -> str:
    """HTML without scripts and styles."""
    text = element.decode() if isinstance(element, bytes) else str(element)
    text = re.sub(r"<(style|script)\b.*?</\1\s*>", "", text, flags=re.DOTALL | re.IGNORECASE)
    return str(clean(text, tags=TAGS, attributes=ATTRIBUTES))
