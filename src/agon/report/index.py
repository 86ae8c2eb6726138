"""The report's front page, reports/index.html, and the folders to which it links."""

import json
import re
import shutil
from collections.abc import Iterable, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

from agon.errors import AgonError
from agon.report.agreement import agreed, chosen, differing, graded, leaning, verdicts, weighed

PAGES = Environment(
    loader=PackageLoader("agon.report"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    keep_trailing_newline=True,
)


def gather(notebooks: Path, target: Path) -> None:
    """Copies the outputs of every notebook (`notebooks`/NAME/tables ...) into one folder per kind, under `target`.

    Raises AgonError where two notebooks wrote a file of the same name.
    """
    for kind in ("tables", "figures", "replication"):
        shutil.rmtree(target / kind, ignore_errors=True)
        (target / kind).mkdir(parents=True)
        for path in sorted(notebooks.glob(f"*/{kind}/*")):
            if (target / kind / path.name).exists():
                raise AgonError(f"two notebooks have written {kind}/{path.name}: rename one")
            shutil.copyfile(path, target / kind / path.name)


def makers(figures: Iterable[str], notebooks: Iterable[Path]) -> dict[str, str]:
    """Figure -> the notebook whose code names it (a {number} stands for any text), or "" for none."""
    patterns = {}
    for path in notebooks:
        for name in re.findall(r"\bfigures/([^\"']+)", "".join(map(_source, _cells(path)))):
            patterns[re.sub(r"\{.*?\}", "*", name)] = path.stem
    return {
        figure: next((maker for pattern, maker in patterns.items() if fnmatch(figure, pattern)), "")
        for figure in figures
    }


def _cells(notebook: Path) -> list[dict[str, Any]]:
    return list(json.loads(notebook.read_text(encoding="utf-8"))["cells"])


def _source(cell: Mapping[str, Any]) -> str:
    return "".join(cell["source"])


def index(
    cells: pd.DataFrame,
    claims: pd.DataFrame,
    variants: pd.DataFrame,
    findings: pd.DataFrame,
    papers: Mapping[str, Mapping[str, Any]],
    notebooks: Mapping[Path, str],
    figures: Mapping[str, str],
    explorers: Mapping[str, str] | None = None,
    players: Mapping[str, str] | None = None,
) -> str:
    """The front page: findings on each paper, and links to every notebook and figure. All text is escaped.

    `findings`: rows of `agon_papers.findings`, a paper's main finding first. `papers`: paper -> title, link (if any), and `heads`,
    the sections that sum it up. `notebooks`: path -> the figure that is its picture. `figures`: figure -> the notebook that made it,
    or "". `explorers`: page -> its description. `players`: notebook -> its players, or its subject.
    """
    cards = [
        _card(path, picture if picture in figures else "") | {"of": (players or {}).get(path.stem, "")}
        for path, picture in notebooks.items()
    ]
    titles = {card["name"]: card["title"] for card in cards}
    words = graded(cells)
    reconciled = words[words.reading == "reconciled"]
    bars = weighed(claims, {name: [str(head) for head in about.get("heads", ())] for name, about in papers.items()})
    return PAGES.get_template("index.html.j2").render(
        papers=[
            {
                "name": name,
                "title": about.get("title", name),
                "link": about.get("link", ""),
                "findings": list(findings[findings.paper == name].itertuples()),
                "bars": [(weight, row.to_dict()) for weight, row in bars.loc[name].iterrows()]
                if name in bars.index
                else [],
            }
            for name, about in papers.items()
        ],
        explorers=explorers or {},
        cells=list(agreed(cells).itertuples()),
        graded=list(words.itertuples()),
        words=int((reconciled.of - reconciled.agree).sum()),
        differing=list(differing(cells).itertuples()),
        claims=list(verdicts(claims).itertuples()),
        leaning=list(leaning(variants).itertuples()),
        variants=list(chosen(variants).itertuples()),
        notebooks=cards,
        figures=[{"name": name, "maker": maker, "title": titles.get(maker, "")} for name, maker in figures.items()],
    )


def _card(path: Path, picture: str) -> dict[str, str]:
    title = _source(_cells(path)[0]).splitlines()[0].lstrip("# ")
    return {"name": path.stem, "title": title, "picture": picture and f"{picture}.png"}
