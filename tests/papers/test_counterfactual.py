"""The printed cells against the recorded matches."""

import numpy as np
import pandas as pd
import pytest
from claims import cells_of, executed

from agon import ROOT
from agon.conf import configuration, games
from agon.games.matrix.metrics import per_match
from agon.games.tables import games_table, payoff_table
from agon_papers.counterfactual import cells as counterfactual
from agon_papers.ingest import ingest
from agon_papers.propositions import rounds_to
from agon_papers.report.agreement import whole_cells

FACTS = ROOT / "data/published/counterfactual"
pytestmark = pytest.mark.skipif(
    not FACTS.is_dir(), reason="the published facts are not there: `dvc pull data.dvc` or `make repro`"
)


@pytest.fixture(scope="module")
def matches():
    played = games(configuration()["recorded"]["counterfactual"])
    return per_match(ingest("counterfactual", FACTS, played).turns, payoff_table(games_table(played)))


@pytest.fixture(scope="module")
def published():
    return pd.read_csv(FACTS / "tables.csv", dtype={"mean": str, "std": str})


@pytest.fixture(scope="module")
def counts(matches, published):
    return counterfactual.agreement(counterfactual.statistics(matches, "reconciled"), published)


@pytest.fixture(scope="module")
def variants(counts, published):
    return counterfactual.true_variants(counts, published)


@pytest.fixture(scope="module")
def reconciled(matches, published, variants):
    return counterfactual.cells(counterfactual.statistics(matches, "reconciled"), published, "reconciled", variants)


@pytest.fixture(scope="module")
def records():
    """The file of all recorded turns."""
    path = ROOT / "transcripts/counterfactual.parquet"
    if not path.exists():
        pytest.skip("no transcripts yet: make repro")
    return str(path)


def literal(matches, published):
    return counterfactual.cells(counterfactual.statistics(matches, "literal"), published, "literal")


def test_all_but_three_cells_agree_when_reconciled(reconciled):
    whole = whole_cells(reconciled)
    assert (len(whole), whole.agrees.sum()) == (7120, 7117)


def test_the_literal_reading_is_another(matches, published):
    whole = whole_cells(literal(matches, published))
    assert (len(whole), whole.agrees.sum()) == (7120, 4338)


def test_every_caption_finds_its_variant_by_far(variants):
    found = variants.dropna(subset="agree")
    assert len(found) == 28 and (found.runner_up_agree < 0.6 * found.agree).all()


def test_the_runner_up_is_the_variant_with_the_next_most_cells(counts, variants):
    for (table, caption), of_one in counts.groupby(["table", "captioned_variant"]):
        row = variants[(variants.table == table) & (variants.captioned_variant == caption)].iloc[0]
        agree = of_one.set_index("variant").agree
        assert agree[row.variant] == row.agree == agree.max() and row.of == of_one["of"].max()
        assert agree[row.runner_up] == row.runner_up_agree == agree.drop(row.variant).max()


def test_intervals_change_no_value(matches):
    with_them, without = (counterfactual.statistics(matches, "reconciled", intervals=on) for on in (True, False))
    pd.testing.assert_frame_equal(with_them.drop(columns=["low", "high"]), without.drop(columns=["low", "high"]))


def test_the_three_that_differ_are_named_with_a_cause(records):
    paths = {"tables_path": str(FACTS / "tables.csv"), "words_path": str(FACTS / "table_25.csv")}
    found = executed("counterfactual_tables", turns_path=records, **paths)["differences"]
    assert found[["table", "row", "column"]].values.tolist() == [
        [3, "C3.7S sc-cot", "tft"], [3, "C3.7S(T) sc-zs", "tft"], [16, "C3.7S sc-cot", "spp"],
    ]  # fmt: skip
    assert not found.likely_cause.eq("unknown").any()


def test_a_cell_without_records_is_absent_and_does_not_agree(matches, published):
    cells = literal(matches[matches.model != "Mistral Large (24.07)"], published)
    gone = cells[cells.row.str.startswith("Mistral")]
    assert len(gone) and gone.recomputed.isna().all() and not gone.agrees.any()


@pytest.mark.parametrize(("value", "printed", "decimals", "agrees"), [
    (64.04, 64.0, 1, True), (64.05, 64.0, 1, True), (64.05, 64.1, 1, True), (64.06, 64.0, 1, False), (float("nan"), 0, 1, False),
])  # fmt: skip
def test_a_value_agrees_when_it_rounds_to_the_printed_one(value, printed, decimals, agrees):
    args = (pd.Series([number]) for number in (value, float(printed), decimals))
    assert rounds_to(*args).item() is agrees


REVIEWED = {  # by a statistician with other code: sd, detectable, matches per cell for 2 points, power for them
    ("pd", "one cell, no self-consistency"): (12.8, 25.9, 642, 0.06),
    ("pd", "one cell, no self-consistency, default alone"): (3.9, 7.9, 61, 0.11),
    ("pd", "one cell, self-consistency"): (11.7, 66, 538, 0.05),
    ("rps", "one cell, no self-consistency"): (8.7, 17.5, 296, 0.06),
    ("rps", "one cell, self-consistency"): (9.3, 53, 342, 0.05),
}


@pytest.fixture(scope="module")
def power(records):
    """The names of the notebook counterfactual_power after its run on all records."""
    return executed("counterfactual_power", turns_path=records)


def test_what_the_design_detects_is_what_others_found(power):
    found = power["of_cells"].set_index(["game", "design"])
    for key, (sd, least, each, chance) in REVIEWED.items():
        row = found.loc[key]
        assert (round(row.sd, 1), row.needed, round(row.power_for_wanted, 2)) == (sd, each, chance)
        assert row.detectable == pytest.approx(least, abs=0.5 if least > 50 else 0.05)


def test_a_model_over_all_cells_is_known_far_better_than_in_one(power):
    models, own = power["of_models"], power["of_cells"].set_index(["game", "design"]).detectable
    assert len(models) == 64 and set(models.cells) == {42}
    for game, rows in models[models.variant == "default"].groupby("game"):
        assert rows.detectable.max() < own[game, "one cell, no self-consistency, default alone"] / 2
    large = power["differences"].groupby("of").large.mean()
    assert large["models"] > large["cells"]


def test_the_mean_of_cells_has_the_error_that_draws_of_it_have(power):
    dice, sizes, spreads = np.random.default_rng(2), (2, 3, 6), (1.0, 4.0, 2.0)
    rows = pd.DataFrame({"cell": np.repeat([0, 1, 2], sizes)})
    means, errors = [], []
    for _ in range(300):
        points = rows.assign(points=dice.normal(0, np.repeat(spreads, sizes))).groupby("cell").points
        found = power["over_cells"](points.agg(n="size", mean="mean", variance="var"))
        means.append(found["mean"])
        errors.append(found.error**2)
    assert np.mean(errors) ** 0.5 == pytest.approx(np.std(means), rel=0.15)


def test_hidden_reasoning_is_among_the_recorded_tokens():
    """What the statements on thinking say of tokens: a first round, whose prompt is the same, takes more with thinking."""
    if not (facts := ROOT / "data/published/counterfactual").is_dir():
        pytest.skip("the published facts are not there: `dvc pull data.dvc` or `make repro`")
    matches = pd.read_parquet(facts / "matches.parquet").query("not self_consistency")
    rounds = pd.read_parquet(facts / "rounds.parquet").merge(matches, on="match").sort_values(["match", "round"])
    cheapest = rounds.groupby("match").first().groupby(["game", "prompt", "model"]).tokens.min().unstack("model")
    rounds["falls"] = rounds.groupby("match").tokens.diff() < 0  # what is sent again only grows
    falls = rounds[rounds.prompt == "zs"].groupby("model").falls.mean()
    for plain in ("Claude 3.7 Sonnet", "Claude Sonnet 4"):
        assert (cheapest[f"{plain} (Thinking)"] > cheapest[plain]).sum() == 6
        assert falls[f"{plain} (Thinking)"] > 3 * falls[plain]
    texts = [" ".join(text.split()) for text in cells_of("counterfactual")[1].values()]
    assert sum("hidden reasoning is in them" in text for text in texts) == 4
