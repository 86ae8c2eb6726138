"""Every dependency has a licence that docs/licences.md names; what is copyleft or unknown is explained there."""

import runpy

from agon import ROOT

LICENCES = runpy.run_path(str(ROOT / ".ci/licences.py"))
PACKAGES, LISTED = LICENCES["pinned"](), LICENCES["listed"]()
INSTALLED = ("anthropic", "click", "dvc", "hydra-core", "openai", "pandas", "papermill", "pytest")
EXPLAINED = {
    name
    for row in LICENCES["PAGE"].read_text().partition(LICENCES["LISTED"])[0].splitlines()
    if row.startswith("| ")
    for name in row.split(" | ")[0].removeprefix("| ").split(", ")
}


def unexplained(package: str, licence: str) -> bool:
    return bool(LICENCES["COPYLEFT"].search(licence)) and package not in EXPLAINED


def test_the_page_lists_what_the_locks_have_and_nothing_else():
    assert set(LISTED) == set(PACKAGES), "make licences"


def test_every_installed_package_has_the_licence_that_the_page_says():
    installed = {package: LICENCES["licence"](package) for package in PACKAGES}
    installed = {package: licence for package, licence in installed.items() if licence is not None}
    assert set(INSTALLED) <= set(installed), "what this project runs on is installed"
    assert {package: licence for package, licence in installed.items() if licence != LISTED[package]} == {}, (
        "make licences"
    )


def test_copyleft_and_unknown_licences_are_explained():
    assert [package for package, licence in LISTED.items() if unexplained(package, licence)] == []


def test_a_new_copyleft_licence_would_be_noticed():
    gpl = ["GPL-3.0-only", "LGPLv2+", "GNU General Public License v2 (GPLv2)", "AGPL-3.0"]
    assert [licence for licence in [*gpl, "EPL-2.0", "MPL-2.0", "unknown"] if not unexplained("new", licence)] == []
    assert not unexplained("new", "MIT")
