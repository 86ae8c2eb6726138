"""The pages over all notebooks: what agreed, in a table, in a line, and in reports/index.html."""

import json
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

from agon import AgonError

PAGES = Environment(
    loader=PackageLoader("agon"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    keep_trailing_newline=True,
)


def gather(notebooks: Path, target: Path) -> None:
    """Copies what every notebook has written (`notebooks`/NAME/tables ...) into one folder for each kind, under `target`.

    Raises AgonError where two notebooks have written a file of the same name.
    """
    for kind in ("tables", "figures", "replication"):
        shutil.rmtree(target / kind, ignore_errors=True)
        (target / kind).mkdir(parents=True)
        for path in sorted(notebooks.glob(f"*/{kind}/*")):
            if (target / kind / path.name).exists():
                raise AgonError(f"two notebooks have written {kind}/{path.name}: rename one")
            shutil.copyfile(path, target / kind / path.name)


def gathered(paths: Sequence[Path]) -> pd.DataFrame:
    """The tables of several papers (csv), one below the other. Raises AgonError for one that is not there."""
    missing = [path.name for path in paths if not path.is_file()]
    if missing:
        raise AgonError(f"{', '.join(missing)} is not there: run the notebook that writes it first, or `dvc repro`")
    return pd.concat([pd.read_csv(path) for path in paths], ignore_index=True)


def whole_cells(cells: pd.DataFrame) -> pd.DataFrame:
    """One row per printed cell (mean and sd together): `agrees` when both do."""
    return cells.groupby(["paper", "reading", "table", "row", "column"], sort=False).agrees.all().reset_index()


def agreed(cells: pd.DataFrame) -> pd.DataFrame:
    """paper, reading, agree, of, absent: printed cells (mean and standard deviation together) that agree, of those recomputed.

    absent: those that cannot be recomputed. Words (statistic: grade) are no numbers, and not counted: `graded`.
    """
    numbers = cells[cells.statistic != "grade"]
    keys = ["paper", "reading"]
    found = whole_cells(numbers[numbers.recomputed.notna()]).groupby(keys).agrees.agg(agree="sum", of="size")
    absent = whole_cells(numbers[numbers.recomputed.isna()]).groupby(keys).size().rename("absent")
    return found.join(absent, how="outer").fillna(0).astype(int).reset_index()


def graded(cells: pd.DataFrame) -> pd.DataFrame:
    """The same of words that are read as grades."""
    words = cells[(cells.statistic == "grade") & cells.recomputed.notna()]
    return words.groupby(["paper", "reading"]).agrees.agg(agree="sum", of="size").reset_index()


def absent(cells: pd.DataFrame, why: Mapping[str, str]) -> pd.DataFrame:
    """table, reading, cells, why: how many printed cells cannot be recomputed. `why`: by table."""
    lacking = whole_cells(cells[cells.recomputed.isna()])
    counts = lacking.groupby(["table", "reading"], sort=False).size().rename("cells").reset_index()
    return counts.assign(why=counts.table.map(why))


def differing(cells: pd.DataFrame) -> pd.DataFrame:
    """The printed cells that do not agree even as reconciled: paper, table, row, column, published, recomputed."""
    numbers = cells[cells.recomputed.notna() & (cells.statistic != "grade")]
    parts = numbers[(numbers.reading == "reconciled") & ~numbers.agrees]
    keys = ["paper", "table", "row", "column"]
    return parts.groupby(keys, sort=False)[["published", "recomputed"]].agg(_both).reset_index()


def _both(values: pd.Series) -> str:
    return " ± ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in values)


def verdicts(claims: pd.DataFrame) -> pd.DataFrame:
    """paper, holds, fails, undecided, unchecked: numbers of statements; turned: those whose verdict changes with their section's others."""
    counts = pd.crosstab(claims.paper, claims.verdict).reindex(columns=VERDICTS, fill_value=0)
    turned = (claims.verdict != claims.verdict_section).groupby(claims.paper).sum()
    return counts.set_axis(["holds", "fails", "undecided", "unchecked"], axis=1).assign(turned=turned).reset_index()


VERDICTS = ["holds", "fails", "undecided", "cannot be checked"]
WEIGHTS = ["abstract", "introduction and conclusion", "details"]


def weights(claims: pd.DataFrame, heads: Mapping[str, Sequence[str]]) -> list[str]:
    """One of WEIGHTS for every statement, by where its paper puts it. `heads`: by paper, sections in which it sums itself up."""

    def weight(paper: str, section: str) -> str:
        named = {each.strip() for each in section.split(",")}
        return WEIGHTS[0] if "abstract" in named else WEIGHTS[1] if named & set(heads.get(paper, ())) else WEIGHTS[2]

    return [weight(paper, str(section)) for paper, section in zip(claims.paper, claims.section, strict=True)]


def weighed(claims: pd.DataFrame, heads: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Numbers of statements by verdict (columns), paper and weight (rows), see `weights`."""
    own = pd.Categorical(weights(claims, heads), WEIGHTS)
    return pd.crosstab([claims.paper, own], claims.verdict).reindex(columns=VERDICTS, fill_value=0)


def summary_line(cells: pd.DataFrame, claims: pd.DataFrame) -> str:
    """What `make repro` says at its end."""
    lines = [
        f"{row.paper}, {row.reading}: {row.agree:,} of {row.of:,} printed cells agree"
        + f"; {row.absent:,} more cannot be recomputed" * bool(row.absent)
        for row in agreed(cells).itertuples()
    ]
    lines += [
        f"{row.paper}, {row.reading}: {row.agree} of {row.of} words fit the models' ranks"
        for row in graded(cells).itertuples()
    ]
    lines += [
        f"{row.paper}: {row.holds} statements hold, {row.fails} fail, {row.undecided} are undecided, {row.unchecked} cannot be checked"
        for row in verdicts(claims).itertuples()
    ]
    return "\n".join([*lines, "open reports/index.html", ""])


def agreement(cells: pd.DataFrame, claims: pd.DataFrame) -> str:
    """The same as JSON, for `dvc metrics`: paper -> reading -> agree, of, absent (cells); paper -> verdict -> statements."""
    found: dict[str, Any] = {}
    for row in agreed(cells).itertuples():
        found.setdefault(str(row.paper), {})[str(row.reading)] = {
            name: int(getattr(row, name)) for name in ("agree", "of", "absent")
        }
    for paper, counts in verdicts(claims).set_index("paper").iterrows():
        found.setdefault(str(paper), {})["statements"] = {str(verdict): int(count) for verdict, count in counts.items()}
    return json.dumps(found, indent=1) + "\n"


def leaning(variants: pd.DataFrame) -> pd.DataFrame:
    """paper, agree, runner_up_agree, of: over all cells whose variant was found by agreement, see `true_variants` of a replication.

    How many agree with the variants taken, and how many would with each set's next best.
    """
    counts = ["agree", "runner_up_agree", "of"]
    return _chosen(variants).groupby("paper")[counts].sum().astype(int).reset_index()


def _chosen(variants: pd.DataFrame) -> pd.DataFrame:
    return variants.dropna(subset="runner_up").astype(dict.fromkeys(["agree", "runner_up_agree", "of"], int))


def makers(figures: Iterable[str], notebooks: Iterable[Path]) -> dict[str, str]:
    """Name of every figure -> name of the notebook whose code says that it saves it (a {number} stands for anything), or nothing."""
    said = {}
    for path in notebooks:
        for name in re.findall(r"\bfigures/([^\"']+)", "".join(map(_source, _cells(path)))):
            said[re.sub(r"\{.*?\}", "*", name)] = path.stem
    return {
        figure: next((maker for pattern, maker in said.items() if fnmatch(figure, pattern)), "") for figure in figures
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
    """The page on which a reader begins: what each paper's records say, and links to every notebook and figure. All text is escaped.

    `findings`: rows of `agon_papers.findings`, the first of a paper standing for it. `papers`: of each its title, its link where it has
    one, and the sections that are its `heads`. `notebooks`: each with the figure that is its picture. `figures`: name of a figure ->
    name of the notebook that made it, or nothing. `explorers`: page -> what it shows. `players`: name of a notebook -> who plays
    there, or what it is about.
    """
    cards = [
        _card(path, picture if picture in figures else "") | {"of": (players or {}).get(path.stem, "")}
        for path, picture in notebooks.items()
    ]
    titles = {card["name"]: card["title"] for card in cards}
    words = graded(cells)
    reconciled = words[words.reading == "reconciled"]
    bars = weighed(claims, {name: [str(each) for each in about.get("heads", ())] for name, about in papers.items()})
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
        variants=list(_chosen(variants).itertuples()),
        notebooks=cards,
        figures=[{"name": name, "maker": maker, "title": titles.get(maker, "")} for name, maker in figures.items()],
    )


def _card(path: Path, picture: str) -> dict[str, str]:
    title = _source(_cells(path)[0]).splitlines()[0].lstrip("# ")
    return {"name": path.stem, "title": title, "picture": picture and f"{picture}.png"}
