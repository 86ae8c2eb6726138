"""Makes docs/deviations.md from docs/deviations/: rows from severity.csv, differences.csv and verdicts.csv, text from page.txt.

Run python .ci/deviations.py after you have changed a row or the text.
"""

import csv
import re
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def rows(name: str, **wanted: str) -> list[dict[str, str]]:
    """The rows of a table that have the wanted values, without these columns."""
    with (DOCS / f"deviations/{name}.csv").open(encoding="utf-8", newline="") as file:
        found = [row for row in csv.DictReader(file) if all(row[key] == value for key, value in wanted.items())]
    return [{key: value for key, value in row.items() if key not in wanted} for row in found]


def table(found: list[dict[str, str]]) -> str:
    """Rows as Markdown."""
    lines = [list(found[0]), ["---"] * len(found[0]), *(list(row.values()) for row in found)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines).replace("| --- |", "|---|").replace(" --- |", "---|")


def marked(mark: re.Match[str]) -> str:
    """The table that stands in the place of a mark, {{ NAME: SECTION }}."""
    name, section = mark.groups()
    if name == "severity":
        return table(rows(name))
    if name == "differences":
        return table(rows(name, paper=section))
    verdicts = [
        {"where": f"{row['paper']} {row['section']}", "statement": f"`{row['statement']}`"}
        | {key: row[key] for key in ("before", "now", "why")}
        for row in rows(name, changed_by=section)
    ]
    return table(verdicts)


def page() -> str:
    """The page."""
    text = (DOCS / "deviations/page.txt").read_text(encoding="utf-8")
    return re.sub(r"^\{\{ (\w+): (.*) \}\}$", marked, text, flags=re.MULTILINE)


if __name__ == "__main__":
    (DOCS / "deviations.md").write_text(page(), encoding="utf-8")
