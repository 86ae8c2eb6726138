"""What the notebook statistics simulates: designs, propositions on their margin, and how often intervals cover."""

import numpy as np
import pandas as pd
import pytest
from claims import functions_of

from agon import ROOT

KEPT = ("SETS", "FAR", "AWAY", "POWER", "kinds")
"""Names that functions of the notebook lean on."""
DRAWN = np.random.default_rng(3).normal(size=500)


@pytest.fixture(scope="module")
def its():
    """The functions of the notebook, by name."""
    return functions_of("statistics", KEPT, repetitions=400, intervals=2000)


@pytest.fixture
def table():
    """Matches of three models in two or five matches against each of four opponents."""
    dice = np.random.default_rng(7)
    cells = [(model, opponent) for model in "ABC" for opponent in ("pp", "tft", "mf", "srep")]
    rows = [cell for place, cell in enumerate(cells) for _ in range(2 if place % 2 else 5)]
    return pd.DataFrame(rows, columns=["model", "opponent"]).assign(points=dice.normal(size=len(rows)).round(1))


def test_a_design_has_the_means_and_the_spread_of_its_cells(its, table):
    cells = its["cells_of"](table, ["model", "opponent"], "points", ["model", "opponent"])
    groups = table.groupby(["model", "opponent"]).points
    assert [n for _, n in cells] == [*groups.size()]
    assert [values.mean() for values, _ in cells] == pytest.approx([*groups.mean()])
    assert [values.var() for values, _ in cells] == pytest.approx([*groups.var()])
    alike = its["cells_of"](table, ["model", "opponent"], "points", ["model"])
    assert len(alike[0][0]) == 14 and alike[0][0] - alike[0][0].mean() == pytest.approx(
        alike[1][0] - alike[1][0].mean()
    )


@pytest.mark.parametrize(("deviations", "statistic"), [(False, "mean"), (True, "std")])
def test_numbers_of_record_sets_are_those_of_their_matches(its, table, deviations, statistic):
    cells = its["cells_of"](table, ["model", "opponent"], "points", ["model"])
    design = its["Matches"](cells, "spread" if deviations else "mean", sd=deviations)
    points = design.play(np.random.default_rng(1), 3)
    found = design.numbers(points)
    wanted = [pd.Series(record).groupby(design.cell).agg(statistic) for record in points]
    assert found == pytest.approx(np.array(wanted))
    weights = design.weights[:2].astype(int)
    drawn = design.numbers(points[0], design.weights[:2])
    wanted = [pd.Series(points[0]).repeat(own).groupby(design.cell.repeat(own)).agg(statistic) for own in weights]
    assert drawn == pytest.approx(np.array(wanted), nan_ok=True)


@pytest.mark.parametrize(("scale", "method"), [("ranks", "spearman"), ("signs", "kendall")])
def test_correlations_are_those_of_pandas(its, scale, method):
    given = np.random.default_rng(2).integers(0, 5, size=(20, 16)).astype(float)
    wanted = [pd.Series(row[:8]).corr(pd.Series(row[8:]), method=method) for row in given]
    assert its["alike"](its[scale])(given)[:, 0] == pytest.approx(wanted)


def test_what_lies_on_its_margin_is_decided_in_one_of_twenty(its, table):
    cells = its["cells_of"](table, ["model", "opponent"], "points", ["model"])
    case = its["Case"]("comparison", "", "", its["Matches"](cells * 2), its["lead"](2))
    found = its["simulated"](case)
    assert 0.02 < found["holds"] < 0.09 and 0.02 < found["fails"] < 0.09 and 0.91 < found["covers"] < 0.98
    assert 0.4 < found["holds_2"] < 0.8 < found["holds_3"] and 0.4 < found["fails_2"] < 0.8 < found["fails_3"]


def test_stopping_is_seldom_wrong_and_mostly_right(its):
    won = [np.array([0.0, 1.0])]
    assert its["stopping"]("won", won, 0, 200)["wrong"] <= 0.05
    assert its["stopping"]("won", won, 0.5, 200)["right"] > 0.9


def test_students_t_covers_normal_values_and_bootstraps_do_not(its):
    normal = its["Means"]("p", "normal", [[its["cell"](DRAWN)]], None)
    found = pd.DataFrame([its["coverage"](normal, 3, kind) for kind in its["kinds"]]).set_index("interval")
    assert found.covers["in use"] == pytest.approx(0.95, abs=4 * found.error["in use"]) and found.given.min() == 1
    assert found.covers["bootstrap percentiles"] < 0.8 and found.covers["BCa"] < 0.85


def test_a_fixed_cell_is_no_noise_to_what_is_in_use(its):
    hits = np.array([[1.0, 2, 101, 102]])
    widths = {name: np.ptp(interval(hits, np.ones_like(hits), 2, None)) for name, interval in its["kinds"].items()}
    assert widths["in use"] < 5 < 90 < widths["bootstrap percentiles"]


def test_samples_that_are_all_alike_have_no_interval_without_limits(its):
    ones = np.ones((1, 3))
    found = {name: interval(ones, ones, 1, (0, 1))[0].tolist() for name, interval in its["kinds"].items()}
    assert np.isnan(found["Student's t"]).all() and np.isnan(found["BCa"]).all()
    assert found["in use"] == [pytest.approx(0.025 ** (1 / 3)), 1] and found["bootstrap percentiles"] == [1, 1]


def test_rows_without_spread_are_left_out(its):
    rows = [[its["cell"](np.ones(4))], [its["cell"](DRAWN)]]
    units, truth = its["drawn"](its["Means"]("p", "m", rows, None), 5)
    assert len(truth) == 2000 and set(truth) == {DRAWN.mean()} and units.shape == (2000, 5, 2)


def test_the_tables_that_are_shown_have_every_design_and_interval(its):
    shown = pd.read_csv(ROOT / "docs/statistics/intervals.csv")
    assert set(shown.interval) == set(its["kinds"]) and set(shown.n) == {2, 3, 5, 10, 30}
    assert set(shown.paper) == {"Counterfactual", "TradeCraft", "MAgIC"} and shown.error.max() < 0.01
