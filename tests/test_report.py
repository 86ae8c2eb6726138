"""The page over everything: right numbers, hostile text stays text."""

import nbformat
import pandas as pd
import pytest

from agon import AgonError, report

CELLS = pd.DataFrame(
    {
        "paper": "p", "table": 1, "row": "r", "column": ["a", "a", "b", "b"], "statistic": ["mean", "sd"] * 2,
        "published": 1.0, "recomputed": 1.0, "agrees": [True, True, True, False], "reading": "literal",
    }
)  # fmt: skip
CLAIMS = pd.DataFrame({"paper": "p", "claim": ["x", "y", "z"], "verdict": ["holds", "holds", "fails"]})
HOSTILE = '<script>alert("x")</script>'


def test_a_cell_agrees_when_mean_and_deviation_do():
    assert report.agreed(CELLS).to_dict("records") == [{"paper": "p", "reading": "literal", "agree": 1, "of": 2}]


def test_verdicts_are_counted_and_absent_ones_are_nought():
    assert report.verdicts(CLAIMS).to_dict("records") == [{"paper": "p", "holds": 2, "fails": 1, "unchecked": 0}]


def test_the_line_says_what_agreed_and_what_to_open():
    line = report.summary_line(CELLS, CLAIMS)
    assert "1 of 2 printed cells agree" in line and line.endswith("open reports/index.html\n")


def test_hostile_titles_and_names_stay_text(tmp_path):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(f"# {HOSTILE}?")])
    nbformat.write(notebook, tmp_path / "n.ipynb")
    page = report.index(CELLS.assign(paper=HOSTILE), CLAIMS.assign(paper=HOSTILE), {tmp_path / "n.ipynb": ""}, [])
    assert "<script" not in page and page.count("&lt;script&gt;") == 3


def test_a_missing_table_is_named(tmp_path):
    with pytest.raises(AgonError, match=r"none_cells\.csv is not there"):
        report.gathered([tmp_path / "none_cells.csv"])
