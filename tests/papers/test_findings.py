"""A finding: its answer, its picture, and the text below: the paper's statements as they were decided, and links."""

import re

import nbformat
import pandas as pd
import pytest
import yaml

from agon import ROOT, AgonError, figures
from agon_papers.findings import COLUMNS, Findings

CLAIMS = pd.DataFrame(
    {
        "paper": "p",
        "statement": ["learn", "tie & tie"],
        "section": ["7", "<b>8</b>"],
        "claim": ["They learn", "They & others tie"],
        "verdict": ["fails", "holds"],
    }
)
TOLD = {
    "found": "Two.",
    "marks": "Dots.",
    "sure": "n = 9.",
    "wrong": "Chance.",
    "data": "tables/t.csv",
    "notebook": "n",
}


@pytest.fixture
def picture(tmp_path):
    chart, _ = figures.figure(1, 1, (2, 2))
    return figures.save(chart, tmp_path / "learning")


def test_a_finding_lists_statements_verdicts_and_links(picture):
    findings = Findings("p", CLAIMS, "findings@p")
    links = {"A typical match": "m.html#match=1", "All": "explore_matches.html", "One": "explore_matches.html#match=2"}
    answer, shown, below = findings.explain("Do they?", "Two do", picture, list(CLAIMS.claim), **TOLD, links=links)
    text = below.data
    assert answer.data == "**Two do.**" and shown is picture
    assert "**Fails** (section 7): They learn." in text and "(&lt;b&gt;8&lt;/b&gt;)" in text
    back = "from=p_findings.html%23Do-they%253F)"
    assert f"#statement=p.tie%20%26%20tie&{back}" in text
    assert f"[All](explore_matches.html#{back}" in text and f"[One](explore_matches.html#match=2&{back}" in text
    assert "<b>" not in text and "(../results/tables/t.csv)" in text and "(n.html)" in text
    assert "[A typical match](m.html#match=1)" in text and "`dvc repro findings@p`" in text
    for words in (
        "**We find:** Two.",
        "**In the picture:** Dots.",
        "**How sure:** n = 9.",
        "**What could be wrong:** Chance.",
    ):
        assert words in text
    [row] = findings.table().to_dict("records")
    assert list(row) == COLUMNS and row["verdicts"] == "fails; holds" and row["finding"] == "Two do"
    assert row["figure"] == "learning"
    *_, again = findings.explain("Do they?", "Two do", picture, [], **TOLD)
    assert "`dvc repro findings@p`" in again.data


def test_a_statement_that_is_none_is_refused(picture):
    with pytest.raises(AgonError, match=r"no statement of p reads .They guess.: see column claim of p_claims\.csv"):
        Findings("p", CLAIMS, "s").explain("?", "!", picture, ["They guess"], **TOLD)


def test_an_answer_has_at_most_twenty_words(picture):
    findings = Findings("p", CLAIMS, "s")
    findings.explain("?", " ".join(["so"] * 19) + " 5 %", picture, [], **TOLD)
    with pytest.raises(AgonError, match="more than 20 words: so so"):
        findings.explain("?", "so " * 21, picture, [], **TOLD)


@pytest.mark.parametrize("paper", ["counterfactual", "magic", "tradecraft"])
def test_the_headings_of_findings_are_their_questions(paper):
    cells = nbformat.read(ROOT / f"notebooks/{paper}_findings.ipynb", as_version=4).cells
    headings = {cell.source.splitlines()[0].removeprefix("## ") for cell in cells if cell.cell_type == "markdown"}
    asked = re.findall(r'findings\.explain\(\s+"([^"]+)"', "\n".join(cell.source for cell in cells))
    assert len(asked) > 3 and set(asked) <= headings


@pytest.mark.parametrize("paper", ["counterfactual", "magic", "tradecraft"])
def test_the_stage_that_a_page_names_makes_it(paper):
    source = (ROOT / f"notebooks/{paper}_findings.ipynb").read_text()
    [stage] = re.findall(r'read_results\(\\"\w+_claims\\"\),\s*(?:\\n",\s*")?\s*\\"([\w@]+)\\"', source)
    stages = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
    name, _, key = stage.partition("@")
    made = stages[name]["do"]["cmd"].replace("${key}", key) if key else stages[name]["cmd"]
    assert made == f"python -m agon notebook {paper}_findings"


def test_what_the_abstract_says_besides_is_listed_with_its_verdict(picture):
    claims = pd.DataFrame(
        {
            "paper": "p",
            "statement": ["a", "b", "c"],
            "section": ["abstract, 7", "abstract", "8"],
            "claim": ["A", "B", "C"],
            "verdict": ["fails"] * 3,
        }
    )
    findings = Findings("p", claims, "s")
    findings.explain("?", "!", picture, ["A"], **TOLD)
    assert (
        findings.remaining_statements().data
        == "- **Fails** (abstract): B. [How it was decided](explore_claims.html#statement=p.b&from=p_findings.html)"
    )
    findings.explain("?", "!!", picture, ["B"], **TOLD)
    assert findings.remaining_statements().data == "None: all of them are above."
