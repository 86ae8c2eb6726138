"""The vocabulary of statements: rows of data decide, and the verdict and its text come from one object."""

import pandas as pd
import pytest

from agon_papers import statements
from agon_papers.comparisons import Decision, found, joined, listed, printed_as, rounded
from agon_papers.draws import within_cells
from agon_papers.statements import Missing, Part, Statement, decide, described, filled, load, selected
from agon_papers.verdicts import Judged, row

POINTS = pd.DataFrame(
    [
        (model, opponent, repetition, points + repetition, rounds)
        for model, opponent, points, rounds in (
            ("A", "tft", 10, 1), ("A", "pp", 20, 2), ("B", "tft", 30, 3), ("B", "pp", 5, 4), ("C", "tft", 1, 5), ("C", "pp", 2, 6)
        )
        for repetition in (0, 1)
    ],
    columns=["model", "opponent", "repetition", "points", "rounds"],
)  # fmt: skip
SAID = {"kind": "exact", "section": "1", "claim": "c", "published": "p", "why": "w."}


class Given:
    draws = correlated = None

    @property
    def groups(self):
        kinds = {"first": "tft", "second": "pp"}
        return {"good": ["A", "B"], "weak": ["C"], "cell": ["model", "opponent"], "kinds": kinds}

    def rows(self, table, where):
        return selected(POINTS, where)


class Drawn(Given):
    """The same of many record sets: each cell's two matches, one of them drawn."""

    def __init__(self):
        self.matches = POINTS.assign(match=range(len(POINTS)))
        self.draws = within_cells(pd.Index(self.matches.match), self.matches.model + self.matches.opponent, 0)

    def rows(self, table, where):
        return selected(self.matches, where)


def double(evidence, times=2):
    """Points, so many times over."""
    return times * POINTS.groupby("model").points.mean()


def odd(evidence):
    """Holds if there is a row."""
    return found(pd.Series({"rows": len(POINTS)}), "all: value > 0", "{values:.0f}", groups=evidence.groups)


FUNCTIONS = {"double": double, "odd": odd}


def decided(**fields):
    return decide(Given(), Statement(**{"measure": "points", **SAID, **fields}), FUNCTIONS, Drawn())


@pytest.mark.parametrize(
    ("fields", "holds", "text"),
    [
        ({"how": "mean per model", "test": "most: value > 10"}, True, "2 of 3: A 15.5, B 18.0, C 2.0"),
        ({"how": "mean per model", "test": "all: value > 10", "say": "{part:models}"}, False, "2 of 3 models"),
        ({"how": "mean per model", "test": "all of good: value > 10", "say": "{named:.0f}"}, True, "A 16, B 18"),
        ({"how": "mean per model", "test": "2+: value > 10", "say": "{span}"}, True, "2.0 to 18.0"),
        ({"how": "mean per model", "test": "70%: value > 10", "say": "{n}"}, False, "3"),
        ({"how": "mean per model", "test": "half: value < median", "say": "{median}"}, False, "15.5"),
        ({"how": "mean per model", "test": "largest: B", "say": "{ranked:.0f}"}, True, "B 18, A 16, C 2"),
        ({"how": "mean per model", "test": "smallest: weak", "say": "{lowest} {highest}"}, True, "2.0 18.0"),
        ({"how": "mean per model", "test": "order: B > A > weak", "say": "{mean}"}, True, "11.8"),
        ({"how": "mean per model", "test": "all of good: value > at('C')", "say": "{bottom:.0f}; {smallest}; {largest}"},
         True, "C 2, A 16, B 18; C 2.0; B 18.0"),
        ({"how": "mean per model", "say": "good {good.span}, weak {C}"}, None, "good 15.5 to 18.0, weak C 2.0"),
        ({"how": ["mean per cell", "spread opponent"], "where": {"model": "A"}, "say": "{tft to pp}; {pp of tft:.0f}"},
         None, "A 10.5 to 20.5; A 20 of 10"),
        ({"how": "mean, count per model", "where": {"opponent": "pp"}, "line": "{name}: {mean:.1f} of {count:.0f}"},
         None, "A: 20.5 of 2; B: 5.5 of 2; C: 2.5 of 2"),
        ({"how": ["mean per cell", "spread opponent", "idxmax"], "test": "all of pp: value == 'A'"}, True, "1 of 1: pp: A, tft: B"),
        ({"how": "mean per model", "test": "order: weak < the others", "say": ""}, True, ""),
        ({"measure": ["points", "rounds"], "say": "{rounds.sum:.0f}, {rounds.unique:.1g}"}, None, "42, 1 or 2 or 3 or 4 or 5 or 6"),
        ({"how": "mean per model", "test": "span: 2.0 to 18", "say": ""}, True, ""),
        ({"how": "mean per cell", "test": "all of pp: value < 21", "say": "{part:by opponent}"}, True, "pp 3 of 3"),
        ({"how": ["mean per cell", "spread opponent"], "test": "most: tft > pp", "say": "{part}; {means}"},
         False, "1 of 3; pp 9.5, tft 14.2"),
        ({"how": ["mean per cell", "spread opponent"], "test": "any: largest == 'tft'", "say": "{tft.span}"}, True, "1.5 to 30.5"),
        ({"how": ["mean per cell", "spread opponent", "pp - tft"], "test": "any: value > 9"}, True, "1 of 3: A 10.0, B -25.0, C 1.0"),
        ({"how": ["mean per cell", "spread model"], "test": "order: good > weak"},
         True, "2 of 2: A pp 20.5, tft 10.5; B pp 5.5, tft 30.5; C pp 2.5, tft 1.5"),
        ({"how": "mean, sd per cell", "test": "all: sd < 1", "say": "{sd.span:.2f}"}, True, "0.71 to 0.71"),
        ({"how": ["mean per model", "rank"], "test": "all of A: value == 2", "say": "{named:.0f}"}, True, "A 2"),
        ({"how": "interval per model", "where": {"model": "C"}, "test": "all: low <= 2 <= high", "say": "{intervals}"},
         True, "C +2.0 (+1.5 to +2.5); 95 % intervals, 4 cells each"),
        ({"how": "interval", "where": {"model": "weak"}, "say": "{intervals:.2f matches}"}, None, "+2.00 (+1.50 to +2.50, 4 matches)"),
        ({"measure": ["points", "rounds"], "how": ["mean per model", "spearman"], "test": "all: value < 0"},
         True, "1 of 1: rank correlation -0.5"),
        ({"measure": ["points", "rounds"], "how": ["mean per model", "pearson"], "say": "{value:.2f}"}, None, "correlation -0.78"),
        ({"how": "mean per model", "where": {"model": "A"}, "printed": {"A": 15.5}, "test": "all: as_printed"}, True, "1 of 1: A 15.5"),
        ({"how": "mean per model", "test": "all: value > 16", "doubt": "all: value > 1"}, None, "1 of 3: A 15.5, B 18.0, C 2.0"),
        ({"only": "opponent == 'tft'", "measure": "points * 2", "how": "sum per model", "digits": 0}, None, "A 42, B 122, C 6"),
        ({"table": "double", "args": {"times": 3}, "measure": "", "test": "largest: B", "say": "{values:.0f}"}, True, "A 46, B 54, C 6"),
        ({"decide": "odd"}, True, "rows 12"),
        ({"each": "kinds", "where": {"opponent": "{each}"}, "how": "mean per model", "test": "smallest: C", "say": "{top:.0f}"},
         True, "first: B 30, A 10, C 2; second: A 20, B 6, C 2"),
        ({"how": "mean per model", "parts": [{"test": "all: value > 1", "say": "{part}"}, {"where": {"model": "A"}, "say": "{values}"}]},
         True, "3 of 3; A 15.5"),
        ({"how": "mean per model", "count": "value > 16", "say": "{part}"}, None, "1 of 3"),
    ],
)  # fmt: skip
def test_a_row_decides_and_says_its_numbers(fields, holds, text):
    found = decided(**fields)
    assert (found.holds, found.text) == (holds, text)


def test_a_statement_that_cannot_be_decided_says_why():
    absent = row(
        "x",
        "said",
        Statement(**SAID, measure="points", where={"model": "D"}),
        lambda: Judged(decided(where={"model": "D"}), "", {}),
    )
    assert absent["verdict"] == "cannot be checked" and absent["why"] == "Missing: no records of model D."
    with pytest.raises(Missing, match="top-p is not recorded"):
        decided(missing="top-p is not recorded")


def test_the_verdict_and_the_text_are_those_of_one_decision():
    got = row("x", "said", Statement(**SAID), lambda: Judged(Decision(False, "1 of 3"), "fails", {}))
    assert (got["verdict"], got["recomputed"], got["why"]) == ("fails", "1 of 3", "w.")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("nonsense = 1", "statements.toml, [x]: there is no setting nonsense"),
        ('test = "mots: value > 1"', "statements.toml, [x]: `mots: value > 1` is no test"),
        ('parts = [{ kind = "fact" }]', "statements.toml, [x]: "),
        (
            'test = "all: value < margin"',
            "statements.toml, [x]: a test that names the margin needs the `range` of what it measures",
        ),
        (
            'parts = [{ decide = "odd", kind = "level" }]',
            "statements.toml, [x]: [0]: what a function decides is not drawn anew: its kind is exact",
        ),
        ('how = "maen per model"', "statements.toml, [x]: `maen per model` is neither a step nor an expression"),
        ('parts = [{ tset = "all: value > 1" }]', "statements.toml, [x]: [0]: there is no setting tset"),
        ('test = "order: A"', "statements.toml, [x]: `order: A` orders nothing"),
        (
            'test = "order: A > B > A"',
            "statements.toml, [x]: `order: A > B > A` can never hold: it has one name on both",
        ),
        ('test = "span: 90 to 10"', "statements.toml, [x]: `span: 90 to 10` can never hold: 90 is above 10"),
        ('test = "always"', "statements.toml, [x]: `always` is true of anything: it can be a doubt, and no test"),
        ('test = "0+: value > 1"', "statements.toml, [x]: `0+: value > 1` can never fail, or never hold"),
        ('test = "150%: value > 1"', "statements.toml, [x]: `150%: value > 1` can never fail, or never hold"),
        ('test = "under 0%: value > 1"', "statements.toml, [x]: `under 0%: value > 1` can never fail, or never hold"),
        (
            'test = "all: 90 <= value <= 10"',
            "statements.toml, [x]: `all: 90 <= value <= 10` can never hold: 90 is above 10",
        ),
        ("digits = 400", "statements.toml, [x]: digits"),
        ("range = -5", "statements.toml, [x]: range"),
        (
            "measure = \"points.to_csv('made.csv')\"",
            "statements.toml, [x]: `points.to_csv('made.csv')` is no expression",
        ),
        ('only = "open(1)"', "statements.toml, [x]: `open(1)` is no expression"),
        ('test = "all: value.eval(1) > 1"', "statements.toml, [x]: `value.eval(1) > 1` is no expression"),
        ('how = "[each for each in value]"', "statements.toml, [x]: `[each for each in value]` is no expression"),
    ],
)
def test_a_bad_row_gets_one_line_that_names_it(tmp_path, text, line):
    path = tmp_path / "statements.toml"
    path.write_text(f'[x]\nkind = "exact"\nsection = "1"\nclaim = "c"\npublished = "p"\nwhy = ""\n{text}\n')
    with pytest.raises(ValueError, match="statements") as caught:
        load(path, Statement)
    assert str(caught.value).startswith(line) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "fields",
    [
        {"test": "all: vlaue > 1"},
        {"test": "all of D: value > 1"},
        {"only": "points > 1000", "test": "all: value > 1"},
        {"only": "points > 1000", "test": "none: value > 1"},
        {"measure": "points / 0 * 0", "test": "none: value > 5"},
        {"test": "largest: D"},
        {"test": "smallest: A, D"},
        {"args": {"times": 3}},
        {"say": "{vlaue}"},
        {"say": "{part}"},
        {"line": "{vlaue}"},
    ],
)
def test_a_row_that_does_not_fit_its_table_gets_one_line(fields):
    with pytest.raises(
        ValueError,
        match=r"no row is named|has no (row|number) to test|takes no args|cannot be read|the words name|does not fit",
    ) as caught:
        decided(how="mean per model", **fields)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("fields", [{"where": {"modle": "A"}}, {"measure": "piont"}, {"how": "mean per modle"}])
def test_a_row_that_names_what_is_not_there_is_quoted(fields):
    with pytest.raises(ValueError, match="the statement 'c' does not fit its table: ") as caught:
        row("x", "said", Statement(**SAID), lambda: decided(**fields))
    assert "\n" not in str(caught.value)


def test_names_fill_all_texts_but_those_of_the_words():
    one = filled(
        Statement(**{**SAID, "claim": "over {bound}"}, test="all: value > {bound}", say="{part}"), {"bound": 3}
    )
    assert (one.claim, one.test, one.say) == ("over 3", "all: value > 3", "{part}")


def test_a_row_is_described_in_words():
    fields = {"where": {"model": "good"}, "how": "mean per model", "test": "most: value > 1", "doubt": "always"}
    said = described(Statement(**SAID, measure="points", **fields), {})
    assert said == "points, where model good → mean per model → holds if most: value > 1, otherwise undecided"
    other = Statement(**SAID, table="double", args={"times": 3}, test="largest: B", each="kinds")
    said = described(other, FUNCTIONS)
    assert said == "Points, so many times over (times 3) → holds if largest: B (for each of kinds)"


@pytest.mark.parametrize(
    ("holds", "expected"), [([True, True], True), ([True, None], None), ([True, None, False], False), ([], None)]
)
def test_several_decisions_are_as_sure_as_the_least_sure(holds, expected):
    shown = Decision(None, "shown", decides=False)
    assert joined([shown, *(Decision(each, "") for each in holds)]) == Decision(expected, "shown", bool(holds))


def test_numbers_round_as_they_are_printed():
    assert printed_as(64.05, "64.0") and printed_as(64.05, 64.1) and not printed_as(64.06, 64.0) and printed_as(2.5, 3)
    assert rounded(pd.Series([0.05, 0.149999]), 1).tolist() == [0.1, 0.1]
    assert listed({("A", "b"): 1.0, "C": "text"}) == "A b 1.0, C: text"


def test_every_field_of_a_row_is_explained():
    assert [name for name in Part.__struct_fields__ if f"`{name}" not in statements.__doc__] == []


@pytest.mark.parametrize(
    ("p", "said"), [(3e-7, "p < 0.001"), (0.0002, "p < 0.001"), (0.001, "p = 0.001"), (0.03, "p = 0.03")]
)
def test_a_chance_below_one_in_a_thousand_is_said_to_be_so(p, said):
    table = pd.DataFrame({"p": [p]}, index=["A"])
    assert found(table, "all: p < 1", "{lines}", line="p = {p:.1g}, two-sided").text == f"{said}, two-sided"
