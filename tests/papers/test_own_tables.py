"""The counterfactual paper's tables with rows of one's own models."""

from types import SimpleNamespace

import pandas as pd
import pytest
from claims import functions_of

from agon import ROOT
from agon.games.matrix.metrics import per_match
from agon.games.tables import payoff_table
from agon.turns import read, read_games
from agon_papers.counterfactual import cells
from agon_papers.prompt_sets import describe_prompts

own = SimpleNamespace(**functions_of("counterfactual_live"))
PRINTED = pd.DataFrame(
    {
        "table": 2, "game": "pd", "metric": "total_points", "captioned_variant": "label", "model": ["A", "A"],
        "prompt": ["zs", "sc-zs"], "opponent": ["tft", "zs"], "mean": ["35.0", "96.0"], "std": ["1.4", "0.0"],
    }
)  # fmt: skip
VARIANTS = pd.DataFrame({"table": [2], "captioned_variant": ["label"], "variant": ["payoff"]})


def stats(**columns):
    row = {
        "game": "pd", "metric": "total_points", "variant": "payoff", "model": "mine", "prompt": "zs", "opponent": "tft",
        "value": 40.0, "sd": 2.0, "n": 5,
    }  # fmt: skip
    return pd.DataFrame([row | columns])


@pytest.fixture(scope="module")
def matches():
    """The matches of the paper's records, and the payoffs of its games."""
    path = ROOT / "transcripts/counterfactual.parquet"
    if not path.exists():
        pytest.skip("no transcripts yet: make repro")
    rules = payoff_table(read_games(path))
    return own.with_paper_names(per_match(read(path), rules)), rules


def test_an_own_row_stands_above_the_printed_ones():
    text = own.table_beside(PRINTED, stats(), VARIANTS)
    assert list(text.index) == ["mine (own) zs", "A zs", "A sc-zs"]
    assert text.loc["mine (own) zs"].to_dict() == {"tft": "40.0 ± 2.0 (n 5)", "zs": ""}
    assert text.loc["A sc-zs", "zs"] == "96.0 ± 0.0"


def test_an_own_cell_is_of_the_variant_that_was_played_under_the_caption():
    assert list(own.table_beside(PRINTED, stats(variant="label"), VARIANTS).index) == ["A zs", "A sc-zs"]


def test_a_single_match_has_no_deviation():
    text = own.table_beside(PRINTED, stats(sd=float("nan"), n=1), VARIANTS)
    assert text.loc["mine (own) zs", "tft"] == "40.0 (n 1)"


def test_agents_have_the_names_of_the_paper_s_tables():
    agents, opponents = ["zs_sc3", "cot", "zs_constrained"], ["best_reply_to_last", "spp", "grim"]
    table = own.with_paper_names(pd.DataFrame({"agent": agents, "opponent": opponents, "model": "mine"}))
    assert table.agent.tolist() == ["sc-zs", "cot", "zs"] and table.opponent.tolist() == ["tft", "spp", "grim"]
    assert table.model.tolist() == ["mine", "mine", "mine zs_constrained"]


def test_a_copy_of_a_recorded_model_has_the_numbers_of_that_model(matches):
    rows, _ = matches
    copy = rows[rows.model == "Claude 3.7 Sonnet"].assign(model="copy")
    keys, recorded = ["game", "metric", "variant", "prompt", "opponent"], rows[rows.model == "Claude 3.7 Sonnet"]
    mine, theirs = (
        cells.statistics(table, "reconciled", names={name: name}).set_index(keys).value
        for table, name in ((copy, "copy"), (recorded, "Claude 3.7 Sonnet"))
    )
    assert len(mine) > 100 and mine.sub(theirs).abs().max() == 0


def test_a_copy_of_a_recorded_model_gets_a_place_beside_that_model(matches):
    rows, rules = matches
    recorded = rows[rows.model.isin(list(cells.MODELS))]
    copy = recorded[recorded.model == "DeepSeek-R1"].astype({"model": str}).assign(model="copy")
    words = pd.read_csv(ROOT / "tests/smoke/counterfactual_words.csv")
    table, unranked = own.words_beside(copy, recorded, rules, words)
    assert unranked == [] and table.index[0] == "copy (own)" and len(table) == 1 + words.model.nunique()
    assert all(" of 9)" in table.loc["copy (own)", column] for column in ("PD", "RPS", "Efficiency"))
    few = copy[copy.variant == "default"]
    assert own.words_beside(few, recorded, rules, words)[1] == ["copy"]


@pytest.mark.parametrize(
    ("prompts", "warns"), [(["as_played"], False), (["ours"], True), (["as_played", "ours"], True), ([None], True)]
)
def test_a_page_says_its_prompt_set_and_warns_of_another(prompts, warns):
    turns = pd.DataFrame({"model": "mine", "asked": True, "prompts": prompts})
    line = describe_prompts(turns, "counterfactual")
    assert all(f"`{name}`" in line for name in prompts if name) and ("Warning" in line) == warns
