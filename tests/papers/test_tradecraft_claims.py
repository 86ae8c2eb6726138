"""The verdicts on the TradeCraft paper's statements: stable, computed, and turned by the records they lean on."""

import ast
import inspect
import re
from dataclasses import replace

import nbformat
import pandas as pd
import pytest
from claims import claims_table, executed
from statsmodels.stats.multitest import multipletests

from agon import ROOT
from agon.games.tradecraft.settings import problem
from agon_papers import propositions
from agon_papers.ingest import ingest
from agon_papers.tradecraft.records import Records
from agon_papers.tradecraft.scores import outcomes
from agon_papers.verdict import COLUMNS, Missing, Rows, Statements

FACTS, RESULTS = ROOT / "data/published/tradecraft", ROOT / "results/replication/tradecraft_claims.csv"

FAIL = """
first_to_craft_wins only_allowed_crafts_are_done decisions_are_taken_as_said scores_are_averaged_over_games
invalid_bars_count_violations rejection_bars_are_shares turn_bars_are_means
claude_beats_gemini cooperative_beats_competitive unprimed_beats_competitive
nobody_succeeds_alone targets_are_craftable many_recipes_burn_fuel rulesets_have_items
""".split()  # noqa: SIM905
UNPUBLISHED = ["first_order_is_strong", "no_second_order", "humans_agree_on_theory_of_mind"]
UNCHECKED = """
gpt_and_claude_are_even nine_dimensions forty_setups first_order_ranks_the_models orientation_works_indirectly humans_agree_on_persuasion
humans_agree_on_adaptability assessor_is_reliable
""".split()  # noqa: SIM905

pytestmark = pytest.mark.usefixtures("few_draws")


@pytest.fixture(scope="module")
def turns(tmp_path_factory):
    if not FACTS.is_dir():
        pytest.skip("the published facts are not there: `dvc pull data.dvc` or `make repro`")
    path = tmp_path_factory.mktemp("turns") / "turns.parquet"
    ingest("tradecraft", FACTS, []).turns.to_parquet(path)
    return path


@pytest.fixture(scope="module")
def notebook(turns, few_draws):
    return executed("tradecraft_claims", turns_path=turns, facts_path=FACTS)


@pytest.fixture(scope="module")
def facts(notebook):
    return notebook["facts"]


@pytest.fixture(scope="module")
def found(notebook):
    return notebook["decided"].set_index("statement")


@pytest.fixture(scope="module")
def verdict_of(notebook):
    """The verdict on one statement, and its numbers, by other facts; what the records themselves say, whatever is drawn."""

    def verdict_of(name, facts):
        statement = Statements("tradecraft", Records(facts), notebook["printed_text"])
        statement("", "exact", "")(notebook[name])
        return statement.rows[0]

    return verdict_of


def estimates(statement, records):
    """Those of its tests, of the records themselves."""
    defaults = {name: each.default for name, each in inspect.signature(statement).parameters.items()}
    asked = {name: each for name, each in defaults.items() if isinstance(each, Rows)}
    tables = {name: records.rows(each.table, each.where) for name, each in asked.items()}
    return [test.estimate for test in propositions.tests_of(statement(**tables))]


def test_verdicts_that_nothing_is_drawn_for_are_stable(found):
    exact = found[found.rule == "exact"].verdict
    expected = dict.fromkeys(exact.index, "holds") | dict.fromkeys(FAIL, "fails")
    assert exact.to_dict() == expected | dict.fromkeys([*UNPUBLISHED, *UNCHECKED], "cannot be checked")
    assert found.draws[exact.index].isna().all()


@pytest.mark.skipif(not RESULTS.exists(), reason="no results yet: make repro")
def test_statements_and_their_numbers_are_those_of_the_results(found, notebook, facts):
    known = pd.read_csv(RESULTS).set_index("statement").loc[found.index]
    same = ["paper", "section", "claim", "published", "rule", "n", "unit"]
    assert len(known) == 84 and found[same].astype(object).fillna("").equals(known[same].astype(object).fillna(""))
    exact = found.rule == "exact"
    assert (found.verdict == known.verdict)[exact].all()
    records = Records(facts)
    for name, row in known[~exact].iterrows():  # of which of its tests the estimate is, depends on what is drawn
        assert any(row.estimate == pytest.approx(each, rel=1e-9) for each in estimates(notebook[name], records)), name


def test_every_row_has_the_numbers_that_decide_it(found):
    table = found.reset_index()[COLUMNS]
    assert not found.index.duplicated().any() and not table.claim.duplicated().any()
    assert table.recomputed[table.verdict != "cannot be checked"].str.contains(r"\d").all()
    assert table.why.str.len().gt(5).all() and found.why[UNPUBLISHED].str.startswith("Missing: ").all()
    assert not table[["claim", "published", "why"]].apply(lambda column: column.str.contains("[{}]")).any(axis=None)
    drawn = found[found.stability.notna()]
    assert len(drawn) >= 30 and drawn.unit.eq("game").all() and drawn.p.between(0, 1).all()


def test_a_sample_decides_nothing_that_needs_all_games():
    table = claims_table("tradecraft")  # by default
    missing = table.why.str.startswith("Missing: the records of some pair of players are not all here")
    assert missing.sum() >= 60 and set(table.verdict[missing]) == {"cannot be checked"}
    assert table.verdict[["rulesets_have_items", "targets_are_craftable"]].eq("fails").all()


def test_games_are_drawn_within_their_pair_and_go_with_both_passes(facts):
    records = Records(facts)
    players, scores = records.rows("players", {}), records.rows("scores", {})
    drawn = [records.redraws(table, "mean")(0) for table in (players, scores)]
    assert (drawn[0].groupby("matchup").match.count() == 20).all() and len(records.cells([players, scores])) == 9
    games = [table[table.match.isin(scores.match)].groupby("match").size() for table in (drawn[0], players)]
    times = [(games[0] / games[1]).dropna(), drawn[1].groupby("match").size() / scores.groupby("match").size()]
    assert times[0].equals(times[1].dropna())
    assert records.redraws(records.rows("rates", {}), "mean")(0).equals(records.rows("rates", {}))
    with pytest.raises(Missing):
        records.by_chance(players, "uniform", 0)
    with pytest.raises(Missing, match="no records of group nobody"):
        records.rows("players", {"group": ["gpt-4o", "nobody"]})


def test_numbers_that_were_counted_by_hand(found):
    text = found.recomputed
    assert "gpt-4o (defaults 23, rejected 38, chosen 20, chosen_reject 15)" in text["gpt_rejections_are_choices"]
    assert "games: won alone 7, lost alone 3, both won 0, neither 0" in text["gpt_beats_gemini"]
    assert "takes more crafts: 4 of 5; problems in which the second's does: 0 of 5" in text["setup_is_fair"]
    assert "easier" not in found.why["setup_is_fair"]


def test_an_even_split_is_chance(notebook):
    p = notebook["p_if_even"]
    even, ahead = pd.Series([1] * 4 + [-1] * 4 + [0]), pd.Series([1] * 7 + [-1] * 3)
    assert p(even, "two-sided") == 1 and [round(p(ahead, side), 2) for side in ("two-sided", "greater")] == [0.34, 0.17]


def test_a_gap_is_that_of_the_means_in_either_pass(notebook, facts):
    table = Records(facts).rows("scores", {"group": ["gpt-4o", "claude"], "dimension": "cooperation"})
    means = notebook["by_pass"](table, "group")
    assert means.loc["gpt-4o"].round(3).to_dict() == {"second pass": 0.517, "first pass": 0.506}
    assert means.loc["claude"].round(3).to_dict() == {"second pass": 0.632, "first pass": 0.594}
    tests = notebook["below"](table, "gpt-4o")[:-1]
    assert [round(test.estimate, 3) for test in tests] == [-0.115, -0.087] and all(test.true for test in tests)


def test_verdicts_turn_with_who_won(verdict_of, facts):
    games = facts.games.assign(won_0=facts.games.won_1, won_1=facts.games.won_0)
    turned = replace(facts, games=games)
    row = verdict_of("gpt_beats_gemini", turned)
    assert row["verdict"] == "fails" and "won alone 3, lost alone 7" in row["recomputed"]
    assert verdict_of("gemini_dominates_nobody", turned)["verdict"] == "fails"
    assert verdict_of("winners_align", turned)["verdict"] == "fails"
    one = replace(facts, games=facts.games.assign(won_1=facts.games.won_1 & ~facts.games.won_0))
    assert verdict_of("first_to_craft_wins", one)["verdict"] == "holds"


@pytest.mark.parametrize(("name", "who", "dimension", "score", "expected"), [
    ("gpt_cooperates_least", "gpt-4o", "cooperation", 1.0, "fails"),
    ("gemini_conceals_least", "gemini", "intention_concealment", 1.0, "fails"),
    ("cooperative_aligns", "cooperative", "goal_alignment", 1.0, "holds"),
    ("competitive_conceals", "competitive", "intention_concealment", 0.0, "fails"),
    ("claude_is_uniform", "claude", "persuasion", 0.0, "fails"),
    ("scores_lie_within_bounds", "claude", "persuasion", 1.1, "fails"),
])  # fmt: skip
def test_verdicts_turn_with_the_scores(verdict_of, facts, name, who, dimension, score, expected):
    seats = facts.seats.set_index(["match", "seat"]).group
    players = seats.reindex(pd.MultiIndex.from_frame(facts.scores[["game", "seat"]])).to_numpy()
    changed = (players == who) & (facts.scores.dimension == dimension)
    scores = facts.scores.assign(score=facts.scores.score.mask(changed, score))
    assert verdict_of(name, replace(facts, scores=scores))["verdict"] == expected


def test_verdicts_turn_with_what_is_printed(facts, verdict_of, notebook, monkeypatch):
    assert verdict_of("claude_beats_gemini", facts)["verdict"] == "fails"
    monkeypatch.setitem(notebook["printed_text"], "gemini_claude", "1")
    assert verdict_of("claude_beats_gemini", facts)["verdict"] == "holds"
    bars = facts.figure_4.assign(value=facts.figure_4.value.mask(facts.figure_4.measure == "rejection", 0.9))
    assert verdict_of("rejection_bars_are_shares", replace(facts, figure_4=bars))["verdict"] == "holds"


def test_no_number_of_the_paper_is_typed():
    cells = nbformat.read(ROOT / "notebooks/tradecraft_claims.ipynb", as_version=4).cells
    nodes = [node for cell in cells if cell.cell_type == "code" for node in ast.walk(ast.parse(cell.source))]
    statements = [node for node in nodes if isinstance(node, ast.FunctionDef) and node.decorator_list]
    assert len(statements) == 84
    for node in statements:
        published = node.decorator_list[0].args[2].value
        claim = ast.get_docstring(node).partition("\n\n")[0]
        names = r"\{[\w-]+\}|GPT-4o|\[0, 1\]"
        assert not re.search(r"\d", re.sub(names, "", f"{claim} {published}")), node.name


def test_the_first_seats_targets_are_never_the_shorter_ones(facts):
    found = Records(facts).rows("targets", {})
    assert found.harder.value_counts().to_dict() == {"first": 4, "neither": 1} and found.trades.eq(1).all()
    for number, row in found.iterrows():  # the certified problems are the recorded ones, seat by seat
        certified = problem(ROOT / f"data/problems/minecraft_public/{int(number):02}.json")
        recorded = facts.players[facts.players.problem == number].groupby("seat").target.unique()
        assert [[*each] for each in recorded] == [[*each] for each in certified.targets]
        assert [row["first"], row["second"]] == [goal.operations for goal in certified.certificate.goals]


def test_winners_are_certain_in_the_same_dimensions_by_both_passes(facts):
    found = outcomes(facts)
    found["sure"] = multipletests(found.p, method="holm")[1] < 0.05
    sure = found[found.sure & (found.delta > 0)].groupby("dimension").size()
    assert sure.eq(2).all() and len(sure) == 5 and found.sure.sum() == 10
    [near] = found[~found.sure & ((found.low > 0) | (found.high < 0))].to_dict("records")
    assert (near["dimension"], near["source"]) == ("intention_concealment", "first pass")
