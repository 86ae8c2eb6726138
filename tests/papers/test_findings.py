"""What stands below a picture: the paper's statements as they were decided, and links."""

import pandas as pd
import pytest

from agon import AgonError
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
LINKS = {"how": "Counted.", "data": "tables/t.csv", "notebook": "n"}


def test_a_finding_lists_statements_verdicts_and_links():
    findings = Findings("p", CLAIMS)
    text = findings.explain("Do they?", "Two do", "picture", list(CLAIMS.claim), **LINKS).data
    assert "**Fails** (section 7): They learn." in text and "explore_claims.html#statement=p.tie%20%26%20tie" in text
    assert "<b>" not in text and "(../results/tables/t.csv)" in text and "(n.html)" in text
    assert "(../docs/statements-rule.md)" in text and "the matches" not in text
    assert "(m.html#x=1)" in findings.explain("?", "!", "other", [], **LINKS, matches="m.html#x=1").data
    [row, _] = findings.table().to_dict("records")
    assert list(row) == COLUMNS and row["verdicts"] == "fails; holds" and row["finding"] == "Two do"


def test_a_statement_that_is_none_is_refused():
    with pytest.raises(AgonError, match=r"no statement of p reads .They guess.: see column claim of p_claims\.csv"):
        Findings("p", CLAIMS).explain("?", "!", "picture", ["They guess"], **LINKS)


def test_what_the_abstract_says_besides_is_listed_with_its_verdict():
    claims = pd.DataFrame(
        {
            "paper": "p",
            "statement": ["a", "b", "c"],
            "section": ["abstract, 7", "abstract", "8"],
            "claim": ["A", "B", "C"],
            "verdict": ["fails"] * 3,
        }
    )
    findings = Findings("p", claims)
    findings.explain("?", "!", "picture", ["A"], **LINKS)
    assert (
        findings.remaining_statements().data
        == "- **Fails** (section abstract): B. [How it was decided](explore_claims.html#statement=p.b)"
    )
    findings.explain("?", "!!", "other", ["B"], **LINKS)
    assert findings.remaining_statements().data == "None: all of them are above."
