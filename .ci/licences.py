"""Lists the licences of all packages in the locks, in docs/licences.md (`make licences`); tests/test_licences.py reads it too.

A package names its licence in its own metadata: as an expression, in classifiers, or in words. Nothing is guessed: a package
that names none is listed as unknown. The page must explain every copyleft licence.
"""

import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/licences.md"
LOCKS = ("requirements.lock", ".ci/installer.lock", ".ci/pocket.lock", ".ci/site.lock")
LISTED = "## All packages\n"

ELSEWHERE = {
    "appnope": "BSD-2-Clause",
    "httpx2-jsfetch": "BSD-3-Clause",
    "pywin32": "Python Software Foundation License",
    "pywinpty": "MIT License",
}
"""Packages of other systems are never installed here. These are the licences in their metadata."""

COPYLEFT = re.compile(r"GPL|General Public|EPL|Eclipse|MPL|Mozilla|CDDL|EUPL|CeCILL|SSPL|OSL|Unknown|Proprietary", re.I)
"""Licences that ask for more than a notice, and unknown ones."""


def pinned() -> list[str]:
    """Every package of the locks."""
    text = "".join((ROOT / lock).read_text() for lock in LOCKS)
    return sorted(set(re.findall(r"^([a-z0-9._-]+)==", text, re.MULTILINE)))


def licence(package: str) -> str | None:
    """What an installed package says of its licence; None when it is not installed."""
    try:
        said = metadata(package)
    except PackageNotFoundError:
        return ELSEWHERE.get(package)
    classified = [
        each.rpartition(" :: ")[2] for each in said.get_all("Classifier", []) if each.startswith("License ::")
    ]
    words = next(iter((said.get("License") or "").strip().splitlines()), "")
    expression = said.get("License-Expression")
    named = [each for each in classified if each != "OSI Approved"]
    return expression or "; ".join(named) or (words if words.upper() != "UNKNOWN" else "") or "unknown"


def listed() -> dict[str, str]:
    """Package -> licence, as the page has them."""
    rows = re.findall(
        r"^\| (.+) \| (.+) \|$", PAGE.read_text().partition(LISTED)[2].partition("|---|---|")[2], re.MULTILINE
    )
    return {name: kind for kind, names in rows for name in names.split(", ")}


def table() -> Iterator[str]:
    """A row per licence."""
    before, kinds = listed(), dict[str, list[str]]()
    for package in pinned():
        kinds.setdefault(licence(package) or before.get(package, "unknown"), []).append(package)
    yield from ("", "| licence, as the package says it | packages |", "|---|---|")
    yield from (f"| {kind} | {', '.join(names)} |" for kind, names in sorted(kinds.items()))


if __name__ == "__main__":
    PAGE.write_text(PAGE.read_text().partition(LISTED)[0] + LISTED + "\n".join(table()) + "\n")
