"""The page over everything: right numbers, hostile text stays text."""

import re
from base64 import b64decode

import nbformat
import pandas as pd
import pytest

from agon import ROOT, AgonError, figures
from agon_papers.report import agreement, index

CELLS = pd.DataFrame(
    {
        "paper": "p", "table": 1, "row": "r", "column": ["a", "a", "b", "b"], "statistic": ["mean", "sd"] * 2,
        "published": 1.0, "recomputed": 1.0, "agrees": [True, True, True, False], "reading": "literal",
    }
)  # fmt: skip
CLAIMS = pd.DataFrame(
    {
        "paper": "p",
        "section": "7",
        "claim": ["x", "y", "<b>z</b>"],
        "published": "more",
        "recomputed": "less",
        "verdict": ["holds", "holds", "fails"],
        "verdict_section": ["holds", "undecided", "fails"],
        "why": "1 < 2",
        "statement": ["more_x", "more_y", "more_z"],
        "reason": [None, None, "few"],
        "n": [20, None, None],
        "unit": ["match", None, None],
        "rule": ["share", "exact", "exact"],
    }
)
VARIANTS = pd.DataFrame(
    {
        "paper": "p", "table": [1, 2, 3], "captioned_variant": ["label", "joint", "all"], "variant": ["payoff", "joint", "all"],
        "agree": [1334, 20, None], "of": [1335, 20, None], "runner_up": ["joint", "label", None], "runner_up_agree": [7, 3, None],
    }
)  # fmt: skip
FINDINGS = pd.DataFrame(
    {
        "paper": "p",
        "question": ["Who?", "Why?"],
        "finding": ["Most do", "Few know"],
        "figure": ["one", "two"],
        "statements": ["x; <b>z</b>", "y"],
    }
)
PAPERS = {"p": {"title": "A paper", "heads": ["7"]}}
CITATION = {"authors": [{"name": "<script>"}], "version": "<script>", "license": "MIT", "message": "<script>"}
HOSTILE = '<script>alert("x")</script>'


def test_a_cell_agrees_when_mean_and_deviation_do():
    assert agreement.agreed(CELLS).to_dict("records") == [
        {"paper": "p", "reading": "literal", "agree": 1, "of": 2, "absent": 0}
    ]


def test_cells_without_a_number_and_words_are_counted_apart():
    lacking = CELLS.assign(row="s", recomputed=[None, None, 1.0, 1.0], agrees=[False, False, True, True])
    words = CELLS.iloc[:2].assign(row="t", column=["a", "b"], statistic="grade", agrees=[True, False])
    cells = pd.concat([CELLS, lacking.astype({"recomputed": float}), words])
    assert agreement.agreed(cells)[["agree", "of", "absent"]].to_numpy().tolist() == [[2, 3, 1]]
    assert agreement.graded(cells)[["agree", "of"]].to_numpy().tolist() == [[1, 2]]
    assert agreement.absent(cells, {1: "lost"}).to_dict("records") == [
        {"table": 1, "reading": "literal", "cells": 1, "why": "lost"}
    ]
    line = agreement.summary_line(cells, CLAIMS)
    assert "2 of 3 printed cells agree; 1 more cannot be recomputed" in line and "1 of 2 words fit" in line


def test_the_counts_by_table_add_up_and_count_bounds_once():
    bounds = CELLS.assign(table="t", statistic=["least", "most"] * (len(CELLS) // 2))
    counts = agreement.by_table(pd.concat([CELLS, bounds]))["literal"]
    assert counts.drop(index="all").sum().tolist() == counts.loc["all"].tolist()
    whole = agreement.agreed(pd.concat([CELLS, bounds]))[["agree", "of", "absent"]].iloc[0].tolist()
    assert counts.loc["all"].tolist() == whole == [2 * n for n in (1, 2, 0)]


def test_the_front_page_has_the_main_finding_and_then_the_gravest():
    findings = pd.concat([FINDINGS, FINDINGS.tail(1).assign(question="How?")])
    about = pd.DataFrame({"paper": ["p", "p", "q"], "finding": ["How?", "How?", "Why?"]})
    assert index.gravest_first(findings, about).question.tolist() == ["Who?", "How?", "Why?"]


def test_verdicts_are_counted_and_absent_ones_are_nought():
    assert agreement.verdicts(CLAIMS).to_dict("records") == [
        {"paper": "p", "holds": 2, "as_chance": 0, "fails": 1, "undecided": 0, "unchecked": 0, "turned": 1}
    ]


def test_the_line_says_what_agreed_and_what_to_open():
    line = agreement.summary_line(CELLS, CLAIMS)
    assert "1 of 2 printed cells agree" in line and line.endswith("open reports/index.html\n")


def test_the_count_that_leans_on_a_choice_is_beside_the_runners_up():
    found = agreement.leaning(VARIANTS).to_dict("records")
    assert found == [{"paper": "p", "agree": 1354, "runner_up_agree": 10, "of": 1355}]


def notebook(folder, title):
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(f"# {title}")]), folder / "n.ipynb")
    return {folder / "n.ipynb": ""}


def test_the_page_says_what_the_count_leans_on(tmp_path):
    page = " ".join(index.index(CELLS, CLAIMS, VARIANTS, FINDINGS, PAPERS, notebook(tmp_path, "Why?"), {}).split())
    assert "Of the 1,355 cells in such sets 1,354 agree. With each set's second-best variant 10 would agree." in page
    words = re.findall(r"<td[^>]*>([^<]*)", page.partition('<td data-label="captioned">label</td>')[2])
    assert words[:5] == ["payoff", "1,334", "1,335", "joint", "7"]


def test_every_figure_has_its_headline_and_links_its_notebook(tmp_path):
    given = {
        "one": index.Figure("n", "Most do", False, [400, 200]),
        "left_over": index.Figure("", "left over", True, [800, 200]),
    }
    page = index.index(CELLS, CLAIMS, VARIANTS, FINDINGS, PAPERS, notebook(tmp_path, "Why?"), given)
    first, second = (
        re.findall(rf'<figure class="{kind}" id="(.*?)".*?</p>', page, re.S) for kind in ("narrow", "wide")
    )
    assert (first, second) == (["one"], ["left_over"])
    assert "<figcaption>Most do</figcaption>" in page and "<figcaption>left over</figcaption>" in page
    assert page.count('<p class="small">From <a href="n.html">Why?</a></p>') == 1


def test_a_card_says_who_plays_in_its_notebook(tmp_path):
    of = notebook(tmp_path, "Why?")
    page = index.index(
        CELLS, CLAIMS, VARIANTS, FINDINGS, PAPERS, of, {}, players={next(iter(of)).stem: "scripts <alone>"}
    )
    assert '<a href="n.html">Why?</a><br>' in page and "scripts &lt;alone&gt;" in page


def test_a_figure_is_known_by_its_folder_and_its_drawing(tmp_path):
    for name, width in (("a/figures/one", 4), ("b/figures/two_thirds", 8)):
        chart, [axes] = figures.figure(1, 1, (width, 2))
        if width == 4:
            axes.set_title("Few & far", loc="left")
        figures.save(chart, tmp_path / name)
    assert index.makers(tmp_path) == {
        "one": ("a", "Few & far", False, [384, 192]),
        "two_thirds": ("b", "two thirds", True, [768, 192]),
    }


def test_hostile_titles_and_names_stay_text(tmp_path):
    claims = CLAIMS.assign(claim=HOSTILE, statement=HOSTILE, reason=HOSTILE, unit=HOSTILE)
    findings = FINDINGS.assign(finding=HOSTILE, statements=HOSTILE)
    tables = [each.assign(paper=HOSTILE) for each in (CELLS, claims, VARIANTS, findings)]
    made, explorers = {HOSTILE: index.Figure("n", HOSTILE, False, [400, 200])}, {"explore_claims.html": HOSTILE}
    page = index.index(
        *tables, {HOSTILE: {"title": HOSTILE}}, notebook(tmp_path, f"{HOSTILE}?"), made, explorers, citation=CITATION
    )
    assert page.count("<script") == page.count("</script") == 1 and page.count("&lt;script&gt;") > 10  # figure.js
    game = {"actions": [f"</script>{HOSTILE}"], "points": [[0]]}
    page = index.index(CELLS, CLAIMS, VARIANTS, FINDINGS, PAPERS, notebook(tmp_path, "?"), {}, game=game)
    assert page.count("<script") == page.count("</script") == 3


def test_a_missing_table_is_named(tmp_path):
    with pytest.raises(AgonError, match=r"none_cells\.csv is not there"):
        agreement.gathered([tmp_path / "none_cells.csv"])


def test_the_page_begins_with_findings_and_their_weight(tmp_path):
    claims = CLAIMS.assign(section=["abstract, 2", "1, 7", "2"])
    drawings = {"one": '<svg width="300pt" height="150pt"></svg>'}
    page = index.index(CELLS, claims, VARIANTS, FINDINGS, PAPERS, notebook(tmp_path, "?"), {}, drawings=drawings)
    shown = [
        page.index(text)
        for text in ("A paper", "Who?", 'alt="Most do"', "Few know", "In the abstract: 1 of 1 statement holds")
    ]
    assert shown == sorted(shown)
    assert "In the introduction and the conclusion: 1 of 1" in page
    assert "In the other sections: 0 of 1 statement hold, 1 fails" in page


def test_a_picture_does_not_repeat_the_words_beside_it(tmp_path):
    chart, _ = figures.figure(1, 1, (figures.NARROW, 2))
    figures.headline(chart, "Most do")
    figures.save(chart, tmp_path / "one")
    drawn = (tmp_path / "one.svg").read_text()
    given = CELLS, CLAIMS, VARIANTS, FINDINGS, PAPERS, notebook(tmp_path, "?"), {}
    page = index.index(*given, drawings={"one": drawn})
    source = b64decode(re.search(r"svg\+xml;base64,([^\"]+)", page)[1]).decode()
    assert "Most do" in drawn and "Most do" not in source and "<path" in source


def test_a_finding_is_beside_what_the_paper_says(tmp_path):
    page = index.index(
        CELLS, CLAIMS, VARIANTS, FINDINGS, PAPERS, notebook(tmp_path, "?"), {}, {"explore_claims.html": "all"}
    )
    assert '<a href="explore_claims.html#statement=p.more_x">x</a>' in page and "n&nbsp;=&nbsp;20&nbsp;matches" in page
    assert page.count('<a tabindex="-1" class="square ') == len(CLAIMS)


def test_the_page_says_how_often_the_rule_errs(tmp_path):
    rates = pd.DataFrame(
        {
            "holds": [0.01, 0.02, 0.03], "fails": [0.02, 0.02, 0.08], "holds_3": [0.9, 0.9, 0.8], "fails_3": [1.0, 0.25, 0.9],
        }
    )  # fmt: skip
    page = index.index(CELLS, CLAIMS, VARIANTS, FINDINGS, PAPERS, notebook(tmp_path, "?"), {}, rates=rates)
    assert (
        "says <em>holds</em> in 2.0&nbsp;% of these studies" in page and "as often (median; at most 8.0&nbsp;%)" in page
    )
    assert "Together the two are 4.0&nbsp;% (median; at most 11.0&nbsp;%)" in page
    assert "right verdict in 90&nbsp;% of these studies (median). In 1 of 6 cases" in page


def test_the_page_says_what_could_be_wrong_with_it(tmp_path):
    rule = "- 2026-01-01: no change\n## Changed after it was applied\n- 2026-01-02: one\n  more\n- 2026-01-03: two\n"
    moved = pd.DataFrame({"changed_by": ["Verdicts that the rule changed", "another", "another", "a third"]})
    changed = index.rule_changes(rule, moved)
    page = index.index(CELLS, CLAIMS, VARIANTS, FINDINGS, PAPERS, notebook(tmp_path, "?"), {}, changed=changed)
    assert "as printed, 1 of 2 numbers agree (p 1 of 2)" in page and "Read as printed, 1 of 2 agree." in page
    assert "2 of the 3 statements are about what was printed" in page and "1 hold and 1 fail as they stand" in page
    assert page.count("(undecided if corrected for all tests of its section)") == 1
    assert "changed 2 times after it was applied. These changes gave 3 statements another verdict" in page
    assert "1 more got another verdict when the rule replaced earlier tests" in page
    assert "1 more is undecided. Of these, 1 has the verdict <em>holds</em> now" in page


def test_the_page_names_what_does_not_agree_and_why(tmp_path):
    cells = CELLS.assign(reading="reconciled", published=[1.0, 1.0, 1.0, 7.5])
    page = index.index(cells, CLAIMS, VARIANTS, FINDINGS, PAPERS, notebook(tmp_path, "?"), {})
    assert "The 1 printed numbers that do not agree" in page and ">7.5<" in page
    statistics = {"most": "the records allow at most 7.85", "copy": "another place prints 7.85", "mean": "rounds to 8"}
    for statistic, why in statistics.items():
        one = cells.iloc[3:].assign(statistic=statistic, published=8.0, recomputed=7.85, agrees=False)
        assert agreement.differing(one).why.tolist() == [why]


def test_the_difference_between_the_readings_is_split_by_its_cause():
    rows = [  # table, column, agrees literally, agrees as reconciled; None: cannot be recomputed
        ("1", "a", True, True), ("1", "b", False, True), ("2", "label", False, True), ("2", "payoff", False, True),
        ("3", "c", False, True), ("3", "d", None, True), ("3", "e", True, False), ("3", "f", False, False),
    ]  # fmt: skip
    cells = pd.DataFrame(
        [
            {"paper": "p", "table": table, "row": "r", "column": column, "statistic": "mean", "reading": reading}
            | {"recomputed": None if agrees is None else 1.0, "agrees": bool(agrees)}
            for table, column, *both in rows
            for reading, agrees in zip(agreement.READINGS, both, strict=True)
        ]
    )
    captions = [(1, "label", "payoff"), (2, "label", "joint"), (2, "payoff", "payoff")]
    variants = pd.DataFrame(captions, columns=["table", "captioned_variant", "variant"]).assign(paper="p")
    [found] = agreement.causes(cells, variants).to_dict("records")
    assert found == {
        **{"paper": "p", "literal": 2, "variant": 2, "calculation": 2, "known": 1, "lost": 1, "reconciled": 6}
    }
    assert found["literal"] + found["variant"] + found["calculation"] + found["known"] - found["lost"] == 6


@pytest.mark.parametrize(("turned", "said"), [(1, False), (-1, True)])
def test_the_page_says_if_the_rules_of_its_game_are_turned_round(turned, said, tmp_path):
    points = [[0, -turned, turned], [turned, 0, -turned], [-turned, turned, 0]]
    game = {"actions": ["rock", "paper", "scissors"], "points": points}
    page = index.index(CELLS, CLAIMS, VARIANTS, FINDINGS, PAPERS, notebook(tmp_path, "?"), {}, game=game)
    assert ("the usual rules turned round" in page) is said


CELLS_OF_PAPER, VARIANTS_OF_PAPER = (
    ROOT / f"results/replication/counterfactual_{name}.csv" for name in ("cells", "variants")
)


@pytest.mark.skipif(not CELLS_OF_PAPER.exists(), reason="no results yet: make repro")
def test_the_readme_splits_the_difference_by_its_causes():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    cells, variants = agreement.gathered([CELLS_OF_PAPER]), pd.read_csv(VARIANTS_OF_PAPER)
    [row] = agreement.causes(cells, variants).itertuples()
    assert row.known == row.lost == 0 and row.literal + row.variant + row.calculation == row.reconciled
    assert f"**Why {row.literal:,}?**" in text and f"**Why {row.reconciled:,}?**" in text
    assert f"{row.variant:,} cells agree only with the variant that was played" in text
    assert f"Another {row.calculation:,} cells agree only by the authors' own calculation" in text
    assert f"With these {row.variant + row.calculation:,} cells" in text
