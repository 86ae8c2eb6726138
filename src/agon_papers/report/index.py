"""The report's front page, reports/index.html, and the folders to which it links."""

import json
import re
import shutil
from base64 import b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from agon.errors import AgonError
from agon.notebook.page import is_wide, size_of, title_of, without_headline
from agon_papers.report.agreement import (
    COUNTED,
    VERDICTS,
    WEIGHTS,
    agreed,
    causes,
    chosen,
    differing,
    graded,
    leaning,
    verdicts,
    weights,
)

PAGES = Environment(
    loader=ChoiceLoader([PackageLoader("agon_papers.report"), PackageLoader("agon.notebook")]),
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


def gravest_first(findings: pd.DataFrame, about: pd.DataFrame) -> pd.DataFrame:
    """Findings in the order of the front page: of each paper its first, then those about the most grave differences.

    `about`: docs/deviations/findings.csv, a row for each grave difference and the finding about it.
    """
    counts = about.value_counts(["paper", "finding"])
    grave = [counts.get((row.paper, row.question), 0) for row in findings.itertuples()]
    order = findings.assign(main=~findings.paper.duplicated(), grave=grave)
    return order.sort_values(["main", "grave"], ascending=False, kind="stable")[[*findings]]


class Figure(NamedTuple):
    """A figure of a notebook."""

    maker: str
    """The notebook that made it."""
    headline: str
    """Its title, or its name in words if it has none."""
    wide: bool
    """Whether it is wider than a phone."""
    size: list[int]
    """Its width and height in pixels."""


def makers(notebooks: Path) -> dict[str, Figure]:
    """Name -> figure, of the drawings in `notebooks`/NAME/figures."""
    drawings = {path: path.read_text(encoding="utf-8") for path in sorted(notebooks.glob("*/figures/*.svg"))}
    return {
        path.stem: Figure(path.parts[-3], title_of(text) or path.stem.replace("_", " "), is_wide(text), size_of(text))
        for path, text in drawings.items()
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
    notebooks: Sequence[Path],
    figures: Mapping[str, Figure],
    explorers: Mapping[str, str] | None = None,
    players: Mapping[str, str] | None = None,
    rates: pd.DataFrame | None = None,
    game: Mapping[str, Any] | None = None,
    citation: Mapping[str, Any] | None = None,
    drawings: Mapping[str, str] | None = None,
    changed: Mapping[str, int] | None = None,
) -> str:
    """The front page: findings on each paper, and links to every notebook and figure. All text is escaped.

    `findings`: rows of `agon_papers.findings`, a paper's main finding first. `papers`: paper ->
    title, link and records (addresses, if any), and `heads`,
    the sections that sum it up. `notebooks`: in the order of the page. `figures`: name -> figure (`makers`).
    `explorers`: page -> its description. `players`: notebook -> its players, or its subject. `rates`: docs/statistics/rule.csv,
    how often the rule decides at a margin, and beyond. `game`: what templates/play.js needs. `citation`: CITATION.cff.
    `drawings`: figure -> its SVG, of the main findings. `changed`: what `rule_changes` counts.
    """
    cards = [{"name": path.stem, "title": _title(path), "of": (players or {}).get(path.stem, "")} for path in notebooks]
    titles = {card["name"]: card["title"] for card in cards}
    words = graded(cells)
    reconciled = words[words.reading == "reconciled"]
    weight = pd.Series(
        weights(claims, {name: list(map(str, about.get("heads", ()))) for name, about in papers.items()})
    )
    numbers = agreed(cells)
    return PAGES.get_template("index.html.j2").render(
        papers=[
            {
                "name": name,
                "title": about.get("title", name),
                "link": about.get("link", ""),
                "records": about.get("records", ""),
                "of": (players or {}).get(f"{name}_findings", ""),
                "findings": [
                    _beside(row, claims, drawings or {}) for row in findings[findings.paper == name].itertuples()
                ],
                "squares": [
                    (of_weight, _squares(claims[(claims.paper == name) & (weight == of_weight).to_numpy()]))
                    for of_weight in WEIGHTS
                    if ((claims.paper == name) & (weight == of_weight).to_numpy()).any()
                ],
            }
            for name, about in papers.items()
        ],
        explorers=explorers or {},
        cells=list(numbers.itertuples(index=False)),
        counted=COUNTED,
        causes=list(causes(cells, variants).itertuples(index=False)),
        total=_sums(numbers, "reconciled"),
        literal=_sums(numbers, "literal"),
        corrected=_corrected(claims),
        exact=_exact(claims),
        changed=changed or {},
        graded=[(paper, list(rows.itertuples())) for paper, rows in words.groupby("paper")],
        words=int((reconciled.of - reconciled.agree).sum()),
        differing=list(differing(cells).itertuples(index=False)),
        claims=list(verdicts(claims).itertuples(index=False)),
        verdicts=claims.verdict.value_counts().reindex(VERDICTS, fill_value=0).to_dict(),
        leaning=list(leaning(variants).itertuples()),
        variants=list(chosen(variants).itertuples(index=False)),
        notebooks=cards,
        figures=[
            {"name": name, "title": titles.get(figure.maker, "")} | figure._asdict() for name, figure in figures.items()
        ],
        errors=_error_rates(rates) if rates is not None else {},
        turned=game is not None and _is_turned(game),
        game=game and Markup(json.dumps(game).replace("<", "\\u003c")),
        citation=citation or {},
    )


def _is_turned(game: Mapping[str, Any]) -> bool:
    """Whether a game is rock, paper, scissors in which what usually loses wins."""
    usual = [("rock", "scissors"), ("scissors", "paper"), ("paper", "rock")]
    place = {action: number for number, action in enumerate(game["actions"])}
    return set(place) == {"rock", "paper", "scissors"} and all(
        game["points"][place[winner]][place[loser]] < 0 for winner, loser in usual
    )


def _beside(finding: Any, claims: pd.DataFrame, drawings: Mapping[str, str]) -> dict[str, Any]:
    """A finding, its drawing ("" for none) and the drawing's size, and the rows of the paper's statements about it.

    The drawing is without the words of the finding, which the page says.
    """
    rows = claims[claims.paper == finding.paper].drop_duplicates("claim").set_index("claim", drop=False)
    statements = [rows.loc[claim] for claim in str(finding.statements).split("; ") if claim in rows.index]
    drawing = without_headline(drawings.get(finding.figure, ""))
    return {
        "question": finding.question,
        "finding": finding.finding,
        "figure": finding.figure,
        "drawing": drawing and f"data:image/svg+xml;base64,{b64encode(drawing.encode()).decode()}",
        "size": size_of(drawing),
        "statements": statements,
    }


def _squares(claims: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """(verdict, its statements), in the order of VERDICTS."""
    return [(verdict, claims[claims.verdict == verdict]) for verdict in VERDICTS if (claims.verdict == verdict).any()]


def _sums(numbers: pd.DataFrame, reading: str) -> dict[str, int]:
    """agree, of, absent: the cells of all papers in a reading."""
    return {
        str(name): int(n) for name, n in numbers[numbers.reading == reading][["agree", "of", "absent"]].sum().items()
    }


def _corrected(claims: pd.DataFrame) -> dict[str, int]:
    """The statements that only the correction for all tests of a section makes undecided, and those of them that hold without it."""
    turned = claims[(claims.verdict_section == "undecided") & (claims.verdict != "undecided")]
    return {"undecided": len(turned), "holds": int((turned.verdict == "holds").sum())}


def _exact(claims: pd.DataFrame) -> dict[str, int]:
    """The statements that are decided without resamples, all statements, and those of the former that hold and that fail."""
    verdicts = claims.verdict[claims.rule == "exact"]
    numbers = {name: int((verdicts == name).sum()) for name in ("holds", "fails")}
    return {"of": len(verdicts), "all": len(claims)} | numbers


def rule_changes(rule: str, verdicts: pd.DataFrame) -> dict[str, int]:
    """times: changes of the rule after it was applied. since: verdicts that these changed. first: those that the rule itself changed.

    `rule`: docs/statements-rule.md. `verdicts`: docs/deviations/verdicts.csv, in which each statement is once.
    """
    times = re.findall(r"^- \d{4}-\d\d-\d\d:", rule.partition("## Changed after it was applied")[2], re.MULTILINE)
    first = int((verdicts.changed_by == "Verdicts that the rule changed").sum())
    return {"times": len(times), "first": first, "since": len(verdicts) - first}


def _error_rates(rates: pd.DataFrame) -> dict[str, float]:
    """The median and the highest share of a verdict exactly on a threshold, and of both verdicts together.

    found: the median share of right verdicts three errors from it. hard: the number of cases, of all `cases`, in which they
    are fewer than half. A case is a design and a verdict.
    """
    wrong, right = (rates[[f"holds{far}", f"fails{far}"]].stack() for far in ("", "_3"))
    decided = rates.holds + rates.fails
    return {
        "both": float(decided.median()),
        "both_highest": float(decided.max()),
        "median": float(wrong.median()),
        "highest": float(wrong.max()),
        "found": float(right.median()),
        "hard": int((right < 1 / 2).sum()),
        "cases": len(right),
    }


def _title(notebook: Path) -> str:
    return _source(_cells(notebook)[0]).splitlines()[0].lstrip("# ")
