"""The site: what is made of a notebook is safe and whole, and every link of every page leads somewhere."""

import json
import re
import runpy
from pathlib import Path

import pytest
from links import WIDTHS, Page, dead, widths

from agon import ROOT

SITE = ROOT / "site"
CONF = runpy.run_path(str(ROOT / "docs/conf.py"))
HOSTILE = "```{include} /etc/passwd\n```\n<script>alert(1)</script>"


def notebook(*outputs, source="1"):
    """One with a title and a cell, as it lies in reports/."""
    cells = [{"cell_type": "markdown", "source": "# Why?"}]
    return json.dumps({"cells": [*cells, {"cell_type": "code", "source": source, "outputs": list(outputs)}]})


@pytest.mark.parametrize("kind", ["text/html", "text/markdown", "text/plain"])
def test_what_a_cell_gave_is_no_directive_and_runs_nothing(kind):
    text = CONF["from_notebook"](notebook({"data": {kind: HOSTILE}, "metadata": {}}))
    assert "<script" not in text
    fence = "`" * 3
    opened = None
    for line in text.splitlines():  # every line of what was given lies within a fence that is longer than its own
        ticks = len(line) - len(line.lstrip("`"))
        if opened is None and ticks >= 3:
            assert "{include}" not in line
            opened = ticks
        elif opened is not None and ticks >= opened and line.strip("`") == "":
            opened = None
    assert opened is None and fence in text


def test_code_that_holds_a_fence_does_not_leave_its_block():
    assert "\n````python\nx = '```'\n````\n" in CONF["from_notebook"](notebook(source="x = '```'"))


def test_a_picture_has_its_words():
    picture = {"data": {"image/png": "AAAA"}, "metadata": {"image/png": {"alt": 'points & "rounds"'}}}
    assert 'alt="points &amp; &quot;rounds&quot;"' in CONF["from_notebook"](notebook(picture))


@pytest.mark.parametrize(
    ("page", "link", "leads"),
    [
        ("docs/where-things-are", "how-to/add-a-game.md", "how-to/add-a-game.md"),
        ("docs/where-things-are", "../src/agon/loop.py", "../_modules/agon/loop.html"),
        ("docs/how-to/add-a-game", "../../src/agon/games/__init__.py", "../../_modules/agon/games.html"),
        ("docs/where-things-are", "../conf/model", "../conf/model/index.html"),
        ("docs/where-things-are", "https://dvc.org", "https://dvc.org"),
    ],
)
def test_a_link_leads_to_a_page_of_the_site(page, link, leads):
    assert CONF["to_site"](page, f"[x]({link})").startswith(f"[x]({leads})")


@pytest.mark.skipif(not (ROOT / "reports/statistics.ipynb").exists(), reason="no reports yet: make repro")
def test_a_link_to_a_notebook_leads_to_its_executed_page():
    assert CONF["to_site"]("docs/glossary", "[x](../notebooks/statistics.ipynb)") == "[x](../reports/statistics.ipynb)"


@pytest.mark.skipif(not (SITE / "index.html").exists(), reason="no site yet: make site")
def test_every_link_of_the_site_leads_somewhere():
    pages = {path: Page(path) for path in SITE.rglob("*.html")}
    assert len(pages) > 100
    assert dead(pages, SITE) == []


@pytest.mark.skipif(not (SITE / "index.html").exists(), reason="no site yet: make site")
def test_a_folder_that_is_linked_has_a_list():
    folders = [path for path in (SITE / "results").rglob("*") if path.is_dir()]
    assert folders and all((folder / "index.html").exists() for folder in folders)


@pytest.mark.skipif(not (SITE / "index.html").exists(), reason="no site yet: make site")
def test_the_site_asks_no_other_server_for_anything():
    asked = re.compile(r"""<(?:script|img|link|iframe)\b[^>]*\b(?:src|href)=["'](?:https?:)?//""")
    for path in SITE.rglob("*.html"):
        assert not asked.search(path.read_text(encoding="utf-8")), path


@pytest.mark.skipif(not (SITE / "index.html").exists(), reason="no site yet: make site")
@pytest.mark.parametrize("name", ["README", "docs/glossary", "docs/commands", "reports/counterfactual_findings"])
def test_no_page_of_the_site_scrolls_sideways(name, visit):
    assert visit(SITE / f"{name}.html", widths) == dict.fromkeys(WIDTHS, 0)


@pytest.mark.skipif(not (ROOT / "reports/index.html").exists(), reason="no reports yet: make repro")
def test_the_front_page_scrolls_nowhere_sideways(visit):
    assert visit(ROOT / "reports/index.html", widths) == dict.fromkeys(WIDTHS, 0)


def test_a_search_ranks_guides_and_findings_before_modules(tmp_path, visit):
    found = [
        "docs/reference/agon/agon",
        "CHANGES",
        "docs/where-things-are",
        "reports/magic_findings",
        "docs/all-changes",
        "docs/how-to/use-as-environment",
    ]
    code = Path(CONF["html_search_scorer"]).read_text(encoding="utf-8")
    (tmp_path / "page.html").write_text("<!DOCTYPE html>")
    asked = f"pages => {{ {code} return pages.map(page => Scorer.score([page, 't', '', null, 5, '', '']) > 5) }}"
    first = visit(tmp_path / "page.html", lambda page: page.evaluate(asked, found))
    assert first == [False, False, True, True, False, True]
