"""Makes docs/deviations.md and docs/not-judged.md from docs/deviations/: rows from the CSV files, texts from the files in .txt.

It puts the words of each statement before its name. Run python .ci/deviations.py after you have changed a row, a text or a statement.
"""

import ast
import csv
import json
import re
from functools import cache
from pathlib import Path
from urllib.parse import quote

DOCS = Path(__file__).parents[1] / "docs"
PAGES = ("deviations", "not-judged")


@cache
def claims() -> dict[str, str]:
    """Name of a statement -> its words: the first paragraph of the docstring in a notebook PAPER_claims.

    A number that the notebook fills in is three dots.
    """
    found = {}
    for path in sorted((DOCS.parent / "notebooks").glob("*_claims.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            source = "".join(cell["source"])
            for each in ast.parse(source).body if "@statement(" in source else []:
                if isinstance(each, ast.FunctionDef):
                    first = (ast.get_docstring(each) or "").partition("\n\n")[0]
                    found[each.name] = re.sub(r"\{\w+\}", "...", " ".join(first.split())).rstrip(".")
    return found


def worded(name: str) -> str:
    """A statement in words, with its name; another name as it is."""
    return f'"{claims()[name]}" (`{name}`)' if name in claims() else f"`{name}`"


def rows(name: str, **wanted: str) -> list[dict[str, str]]:
    """The rows of a table that have the wanted values, without these columns."""
    with (DOCS / f"deviations/{name}.csv").open(encoding="utf-8", newline="") as file:
        found = [row for row in csv.DictReader(file) if all(row[key] == value for key, value in wanted.items())]
    return [{key: value for key, value in row.items() if key not in wanted} for row in found]


def table(found: list[dict[str, str]]) -> str:
    """Rows as Markdown."""
    lines = [list(found[0]), ["---"] * len(found[0]), *(list(row.values()) for row in found)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines).replace("| --- |", "|---|").replace(" --- |", "---|")


def linked(paper: str, row: dict[str, str]) -> dict[str, str]:
    """A difference, whose severity leads to the finding about it, if there is one."""
    about = {each["where"]: each["finding"] for each in rows("findings", paper=paper)}
    if row["where"] not in about:
        return row
    anchor = quote(about[row["where"]].replace(" ", "-"))
    return row | {"severity": f"[{row['severity']}](../notebooks/{paper}_findings.ipynb#{anchor})"}


def marked(mark: re.Match[str]) -> str:
    """The table that stands in the place of a mark, {{ NAME: SECTION }}."""
    name, section = mark.groups()
    if name == "severity":
        return table(rows(name))
    if name == "differences":
        return table([linked(section, row) for row in rows(name, paper=section)])
    verdicts = [
        {"where": f"{row['paper']} {row['section']}", "statement": worded(row["statement"])}
        | {key: row[key] for key in ("before", "now", "why")}
        for row in rows(name, changed_by=section)
    ]
    return table(verdicts)


def page(name: str) -> str:
    """A page of PAGES."""
    text = (DOCS / f"deviations/{name}.txt").read_text(encoding="utf-8")
    text = re.sub(r"`(\w+)`", lambda found: worded(found[1]), text)
    return re.sub(r"^\{\{ (\w+): (.*) \}\}$", marked, text, flags=re.MULTILINE)


if __name__ == "__main__":
    for each in PAGES:
        (DOCS / f"{each}.md").write_text(page(each), encoding="utf-8")
