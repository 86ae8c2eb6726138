"""The page of an audit: the files, the rules, what agrees, what differs, and what could not be checked."""

from importlib.resources import files
from typing import Any

from jinja2 import Environment

from agon.errors import count
from agon_audit.audit import NOTES, OF_FOLDER, Audit
from agon_audit.checks import CHECKS
from agon_audit.printed import UNDECIDED, WRONG

UNITS = {"csv": "line", "jsonl": "line", "axelrod": "line", "kaggle": "step", "inspect": "sample"}
"""Format -> the unit that the number of a row counts in its files; in other formats it is the row."""
ON_PAGE = 5
"""So many rows of each check are on the page; the table found.csv has more."""
ABOUT = {name: (title, causes) for name, title, causes in OF_FOLDER}
ABOUT |= {check.name: (check.title, check.causes) for check in CHECKS}
"""Name of a check -> title and innocent causes."""


def page(audit: Audit) -> str:
    """One HTML file without scripts. All text of the audited files is escaped."""
    parts: dict[str, list[dict[str, Any]]] = {"different": [], "agreeing": [], "skipped": []}
    for name, found in audit.found.items():
        title, causes = ABOUT[name]
        kind = "skipped" if found.skipped else "different" if found.count else "agreeing"
        parts[kind].append(
            {"name": name, "title": title, "causes": causes, "found": found, "rows": found.rows.head(ON_PAGE)}
        )
    template = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(
        files("agon_audit").joinpath("page.html").read_text("utf-8")
    )
    rules = list(
        dict.fromkeys(f"{name}: {judge.source}" if name else judge.source for name, judge in audit.rules.items())
    )
    unit = UNITS.get(audit.mapping.format, "row")
    return template.render(
        audit=audit, count=count, most=NOTES, unit=unit, summary=summary(audit), wrong=WRONG, rules=rules, **parts
    )


def summary(audit: Audit) -> str:
    """The audit in a sentence. A decision is one seat in one round."""
    files_, matches = count(len(audit.files), "file"), count(audit.matches, "match")
    found = count(audit.differences, "difference") if audit.differences else "no difference"
    unchecked = sum(number.verdict == UNDECIDED for number in audit.numbers)
    open_ = f" {unchecked} of {count(len(audit.numbers), 'printed number')} could not be checked." if unchecked else ""
    open_ += "" if audit.rules else " Without rules in the mapping no payoff could be checked."
    return f"{files_}, {matches} and {count(audit.rows, 'decision')} were audited: {found}.{open_}"
