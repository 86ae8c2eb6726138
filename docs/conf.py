"""The site (`make site`): guides, executed notebooks and docstrings as one set of pages with a search, by Sphinx.

The site's folders are those of the project, so that a link that works in a clone works on the site: reports/NAME.ipynb becomes
reports/NAME.html, docs/NAME.md becomes docs/NAME.html. What is no page is copied.
"""

import base64
import json
import os
import re
import shutil
from html import escape, unescape
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from nbconvert.filters import markdown2html

from agon.notebook.page import drawing, radar, sanitized

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[1]
START = "reports/index"
COPIED = (
    *("reports/*.html", "reports/*.ipynb"),
    *(f"results/{each}/*" for each in ("figures", "tables", "replication", "notebooks/*/*")),
    *("conf/*/*.yaml", "src/agon/agents/prompts/styles/*", "src/agon/agents/prompts/prompt_sets/*/*"),
    "src/agon/games/matrix/prompt_sets/*/*",
)
"""Files that pages link to, or to whose folders they do."""

project, author, copyright = "agon", "agon contributors", "agon contributors, MIT License"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.apidoc", "sphinx.ext.viewcode"]
root_doc = START
source_suffix = {".md": "markdown", ".ipynb": "markdown", ".html": "markdown", ".rst": "restructuredtext"}
include_patterns = [
    "README.md",
    "CHANGES.md",
    "data/README.md",
    "docs/**.md",
    "docs/reference/**.rst",
    "reports/*.ipynb",
    f"{START}.html",
]
exclude_patterns = [
    ".*",
    "docs/reference/*/modules.rst",
    "site",
    "src",
    "store",
    "runs",
    "results",
    "tests",
    "transcripts",
    "reports/*.failed.ipynb",
]
html_theme, html_title = "furo", "agon"
html_static_path, html_css_files = ["theme"], ["site.css"]
html_search_scorer = str(ROOT / "docs/theme/search.js")
html_copy_source = html_show_sphinx = False
html_theme_options = {"top_of_page_buttons": []}
myst_enable_extensions = ["attrs_inline"]
myst_heading_anchors = 4
viewcode_follow_imported_members = False
toc_object_entries = False  # the menu of every page would have them all
default_role = "code"  # docstrings write names in single backquotes
autodoc_default_options = {"ignore-module-all": True}  # what a package takes from its modules stands there
autodoc_member_order, autodoc_typehints = "bysource", "signature"
PACKAGES = (
    "agon",
    "agon_audit",
    "agon_design",
    "agon_environments",
    "agon_hall",
    "agon_papers",
    "agon_problems",
    "agon_twins",
)
apidoc_modules = [
    {
        "path": f"../src/{package}",
        "destination": f"docs/reference/{package}",
        "separate_modules": False,
        "module_first": True,
        "exclude_patterns": ["**/study/template/**"],
        "automodule_options": {"members", "show-inheritance", "undoc-members"},
    }
    for package in PACKAGES
]
autodoc_mock_imports = ["inspect_ai", "pyspiel", "xllamacpp"]  # optional
suppress_warnings = ["myst.header", "ref.python"]  # names that several modules have

NAVIGATION = {
    "Findings": ["reports/*_findings.ipynb", "docs/explorers.md"],
    "Start": ["README.md", "docs/tutorials/*.md"],
    "Paper: counterfactual games": ["reports/counterfactual_*.ipynb"],
    "Paper: MAgIC": ["reports/magic_*.ipynb"],
    "Paper: TradeCraft": ["reports/tradecraft_*.ipynb"],
    "More notebooks": ["reports/*.ipynb"],
    "How to": ["docs/how-to/*.md"],
    "About": ["docs/*.md", "data/README.md", "CHANGES.md"],
    "Reference": [f"docs/reference/{package}/{package}.rst" for package in PACKAGES],
}
"""Headings of the menu, and the files below each: a file stands under the first whose pattern it follows."""


def fenced(text: str, kind: str) -> str:
    """A block that nothing in its text can end."""
    fence = "`" * max([3, *(1 + len(ticks) for ticks in re.findall("`+", text))])
    return f"{fence}{kind}\n{text}\n{fence}\n"


def html(text: str) -> str:
    """HTML as it is."""
    return fenced(text, "{raw} html")


def vector(picture: bytes) -> str:
    """The address, from reports/, of the drawing of which this is the picture; else the picture itself."""
    if found := drawing(picture, ROOT / "results/figures"):
        return f"../results/figures/{found.name}"
    return f"data:image/png;base64,{base64.b64encode(picture).decode()}"


def shown(output: dict) -> str:
    """What a cell gave, safe: texts are escaped or sanitized, for models may have written them."""
    data = {kind: "".join(text) for kind, text in output.get("data", {}).items()}
    if "image/png" in data:
        alt = output["metadata"].get("image/png", {}).get("alt", "")
        place = vector(base64.b64decode(data["image/png"]))
        name = "" if place.startswith("data:") else f' id="{anchor(Path(place).stem)}"'
        drawn = f'<a{name} href="{place}"><img class="agon-figure" src="{place}" alt="{escape(alt)}"></a>'
        return html(drawn + radar(output["metadata"].get("image/png", {}).get("agon_radar")))
    if "text/html" in data:
        return html(f'<div class="agon-output">{sanitized(data["text/html"])}</div>')
    if "text/markdown" in data:
        return html(f'<div class="agon-output">{local(sanitized(markdown2html(data["text/markdown"])))}</div>')
    return html(f"<pre>{escape(data.get('text/plain') or ''.join(output.get('text', '')))}</pre>")


def anchor(heading: str) -> str:
    """The site's anchor of a heading, from that of its page in reports/."""
    return re.sub(r"[^a-z0-9]+", "-", unescape(unquote(heading)).lower()).strip("-")


def local(text: str) -> str:
    """Links of an output, and of the data of a page, to a guide are links to its page; those to a heading have the site's address."""
    text = re.sub(r'("\.\./docs/[^"#]*)\.md', r"\1.html", text)
    return re.sub(r'("\w+_findings\.html#)([^"]+)', lambda found: found[1] + anchor(found[2]), text)


CODE = html('<details class="agon-code"><summary>code</summary>')


def from_notebook(source: str) -> str:
    """An executed notebook in MyST's Markdown: its set-up and its code are folded."""
    cells = json.loads(source)["cells"]
    silent = next((place for place, cell in enumerate(cells) if cell.get("outputs")), 1)
    parts, opened = [], False
    for place, cell in enumerate(cells):
        text = "".join(cell["source"])
        if place == 1 < silent:
            parts.append(html('<details class="agon-code"><summary>how this page is set up</summary>'))
        if place == silent > 1:
            parts.append(html("</details>"))
        if cell["cell_type"] == "markdown":
            opened = "code" in cell.get("metadata", {}).get("tags", [])  # it is about the code that follows
            parts += [*[CODE] * opened, text]
        elif text:
            parts += [*[CODE] * (not opened), fenced(text, "python"), html("</details>")]
            opened = False
        parts += map(shown, cell.get("outputs", []))
    return "\n\n".join(parts)


def from_page(source: str) -> str:
    """The landing page with the site around it: its style counts for itself alone."""
    style, body = (re.search(rf"<{tag}>(.*)</{tag}>", source, re.DOTALL)[1] for tag in ("style", "body"))
    _, heading, rest = re.split(r"</?h1>", body, maxsplit=2)
    style, rest = style.replace(":root", "&"), re.sub("</?main>", "", rest)
    return f"# {heading}\n\n" + html(f'<style>.agon {{{style}}}</style><div class="agon">{local(rest)}</div>') + menu()


def menu() -> str:
    """The tables of contents that make the site's menu."""
    parts, named = [], set()
    for caption, patterns in NAVIGATION.items():
        files = [path for pattern in patterns for path in sorted(ROOT.glob(pattern))]
        files = [path for path in files if path not in named and not path.name.endswith(".failed.ipynb")]
        named |= {*files}
        pages = [f"/{path.relative_to(ROOT).with_suffix('')}" for path in files]
        lines = [f"What agon is, and how to start <{page}>" if page == "/README" else page for page in pages]
        parts.append(fenced("\n".join([":hidden:", f":caption: {caption}", "", *lines]), "{toctree}"))
    return "\n\n" + "\n".join(parts)


def explorers() -> str:
    """A list of the pages that are copied as they are, by their titles."""
    lines = [""]
    for path in sorted(ROOT.glob("reports/explore_*.html")):
        title = re.search(r"<title>(.*?)</title>", path.read_text(encoding="utf-8"), re.DOTALL)
        lines.append(f"- [{title[1].strip() if title else path.stem}](../reports/{path.name})")
    return "\n".join(lines)


def to_site(docname: str, text: str) -> str:
    """Links to what has a page on the site lead to this page, those to other files to their copy."""
    here = (ROOT / docname).parent

    def changed(found: re.Match) -> str:
        file, _, heading = found[1].partition("#")
        if "://" in file or not file:
            return found[0]
        target = Path(os.path.normpath(here / file))
        name = target.relative_to(ROOT).as_posix()
        if name.startswith("notebooks/") or target.suffix == ".html":
            executed = ROOT / "reports" / f"{target.stem}.ipynb"
            if executed.is_file():
                return f"]({os.path.relpath(executed, here)}{'#' * bool(heading)}{anchor(heading)})"
        if target.suffix == ".py" and name.startswith("src/"):
            name = f"_modules/{name.removeprefix('src/').removesuffix('.py').removesuffix('/__init__')}.html"
        elif target.suffix == ".md" and name.startswith("src/"):
            return f"](<path:/{name}>)"
        elif target.is_file() and not name.startswith(("reports/", "results/")):
            return found[0]  # a page, a picture, or a file that MyST offers for download
        elif target.is_dir():
            name += "/index.html"
        return f"]({os.path.relpath(ROOT / name, here)}{'#' * bool(heading)}{heading}){{.external}}"

    return re.sub(r"\]\(([^)\s]+)\)", changed, text)


def read(app: "Sphinx", docname: str, source: list[str]) -> None:
    """Of whatever kind a page's source is, Sphinx gets Markdown."""
    kind = Path(app.env.doc2path(docname)).suffix
    if docname == START:
        source[0] = from_page(source[0])
    elif kind == ".ipynb":
        source[0] = to_site(docname, from_notebook(source[0]))
    elif kind == ".md":
        source[0] = to_site(docname, source[0] + explorers() * (docname == "docs/explorers"))


HEAD = '<!DOCTYPE html><html lang="en"><meta charset="utf-8">'


def refresh(target: str, title: str) -> str:
    """A page that leads to another."""
    way = f'<meta http-equiv="refresh" content="0; url={target}"><a href="{target}">{title}</a></html>'
    return f"{HEAD}<title>{title}</title>{way}"


def copy(app: "Sphinx", failed: Exception | None) -> None:
    """Puts beside the pages what they link to, with a list in every folder, and a way in."""
    out = Path(app.outdir)
    files = sorted(path for pattern in COPIED for path in ROOT.glob(pattern) if path.is_file())
    for path in files:
        target = out / path.relative_to(ROOT)
        if path.suffix != ".html" or app.env.path2doc(f"{path.with_suffix('.ipynb')}") not in app.env.found_docs:
            target.parent.mkdir(parents=True, exist_ok=True)
            guide = next((out / "docs").rglob(path.name), None)
            if path.suffix == ".html" and guide:  # a guide that is also a page of the report
                target.write_text(refresh(os.path.relpath(guide, target.parent), path.stem), encoding="utf-8")
            else:
                shutil.copyfile(path, target)
            if path.name.startswith("explore_"):
                target.write_text(local(path.read_text(encoding="utf-8")), encoding="utf-8")
    folders = {above for path in files for above in (out / path.relative_to(ROOT)).parents if above.is_relative_to(out)}
    for folder in sorted(folders - {out, out / "reports"}):
        names = [f"{each.name}{'/index.html' * each.is_dir()}" for each in sorted(folder.iterdir())]
        items = "".join(
            f'<li><a href="{name}">{name.removesuffix("/index.html")}</a></li>'
            for name in names
            if name != "index.html"
        )
        title, way = folder.relative_to(out), os.path.relpath(out / f"{START}.html", folder)
        body = f'<h1>{title}</h1><p><a href="{way}">agon</a></p><ul>{items}</ul></html>'
        (folder / "index.html").write_text(f"{HEAD}<title>{title}</title>{body}", encoding="utf-8")
    (out / "index.html").write_text(refresh(f"{START}.html", "agon"), encoding="utf-8")


def plain(app: "Sphinx", kind: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """Docstrings are plain text, not reStructuredText: what would be its markup is said to be none."""
    if any(re.match(r"`.*` {2,}\S", line) for line in lines):  # set in columns
        lines[:] = ["::", "", *(f"    {line}" for line in lines)]
    else:
        lines[:] = [
            re.sub(r"(`[^`]+`)(?=\w)", r"\1\\ ", re.sub(r"(?<![\w`])(\w+)_(?=\W|$)", r"\1\\_", line)) for line in lines
        ]


def setup(app: "Sphinx") -> None:
    """Sphinx calls it."""
    app.connect("source-read", read)
    app.connect("autodoc-process-docstring", plain)
    app.connect("build-finished", copy)
