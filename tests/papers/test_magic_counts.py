"""The counts behind the MAgIC paper's percentages, and the tests on them."""

import pandas as pd
import pytest

from agon import ROOT
from agon_papers.magic.counts import GAMES, definitions, fitting, granularity, p_values, significance
from agon_papers.magic.facts import read_facts

FACTS = ROOT / "data/published/magic"


def test_formula_5_exceeds_one():
    definition = definitions()["self_awareness"]["literal"]
    assert definition.numerators.max() / definition.denominator == pytest.approx(1.6)


def test_three_gains_of_21_are_significant_for_one_kind_of_t_test_only():
    found = p_values(10, 13, 21)
    assert round(found["t_least"], 3) == 0.041 and min(found["t"], found["fisher"], found["paired_least"]) > 0.05


def test_no_change_is_no_evidence():
    assert p_values(5, 5, 10) == {"t": 1.0, "fisher": 1.0, "paired_least": 1.0, "paired_most": 1.0, "t_least": 1.0}


@pytest.fixture(scope="module")
def facts():
    if not FACTS.is_dir():
        pytest.skip("the published facts are not there: `dvc pull data.dvc` or `make repro`")
    return read_facts(FACTS)


@pytest.fixture(scope="module")
def tested(facts):
    return granularity(facts)


@pytest.mark.parametrize(("metric", "reading", "fit"), [
    ("judgement", "literal", 15), ("reasoning", "literal", 13), ("reasoning", "reconciled", 15), ("deception", "reconciled", 15),
    ("self_awareness", "literal", 9), ("self_awareness", "reconciled", 6), ("coordination", "literal", 2),
    ("coordination", "reconciled", 14), ("rationality", "literal", 15),
])  # fmt: skip
def test_how_many_cells_fit_their_definition(tested, metric, reading, fit):
    found = fitting(tested).set_index(["metric", "reading"]).loc[(metric, reading)]
    assert (found.cells, found.fit) == (15, fit)


def test_every_cell_is_tested_and_counts_are_near(tested, facts):
    printed = pd.concat([facts.tables[n].assign(table=n) for n in (1, 2, 4)])
    keys = ["table", "model", "metric"]
    assert len(tested[keys].drop_duplicates()) == (printed.model != "Average improvement").sum()
    near = tested[tested.n.notna() & (tested.metric != "prisoner_score") & tested.fits]
    assert ((100 * near.k / near.n - near.published.astype(float)).abs() <= 0.05 + 1e-9).all()


def test_the_one_game_count_that_is_not_21(tested):
    row = tested[(tested.metric == "prisoner_wr") & ~tested.fits & (tested.reading == "literal")]
    assert row.model.tolist() == ["Llama-2-70B+PGM"] and row.other_n.iloc[0].startswith("13 26 39")


def test_significance_of_known_pairs(tested):
    found = significance(tested).set_index(["model", "metric"])
    assert len(found) == 49
    cooperation = found.loc[("GPT-4", "cooperation")]
    assert (cooperation.k_vanilla, cooperation.k_enhanced, cooperation.n) == (10, 13, 21)
    assert cooperation.paired_least == 0.25  # three games more, none less: 2 / 2**3
    assert (found.paired_least <= found.paired_most).all() and (found.holm_fisher >= found.fisher).all()


def test_no_gain_is_certain_if_the_decisions_of_a_game_are_all_alike(tested):
    found = significance(tested).set_index(["model", "metric"])
    free = found[found.all_fisher < 0.05]
    assert (
        len(free) == 6
        and (free.gain > 0).all()
        and set(free.index.get_level_values("metric")) == {"reasoning", "rationality"}
    )
    assert not (found.all_fisher_games < 0.05).any()  # over all 49
    within = found[found.holm_fisher_games < 0.05]  # over the seven of a model
    assert [*within.index] == [("Claude 2", "rationality"), ("Llama-2-70B", "rationality")]
    assert (found.fisher_games >= found.fisher - 1e-12)[found.games < found.n].all()


def test_every_ability_has_as_many_games_as_its_roles_have(facts):
    settings = facts.tables[3].query("field == 'competitions'").set_index("scenario").value.astype(int)
    social = settings[[name for name in settings.index if name in set(facts.credits.game.str.lower())]]
    assert GAMES["reasoning"] == GAMES["self_awareness"] == 2 * social.sum() and GAMES["judgement"] == social.sum()
    assert all(GAMES[name] == settings.max() for name in ("cooperation", "coordination"))
    assert GAMES["rationality"] == 2 * settings.max()
