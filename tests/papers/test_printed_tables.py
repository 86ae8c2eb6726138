"""The printed tables as recomputed: what each cell, mark and title says."""

import pandas as pd

from agon_papers.counterfactual.cells import describe_matches
from agon_papers.counterfactual.tables import published_table, title

TABLE = pd.DataFrame(
    {
        "table": 3, "game": "pd", "metric": "total_points", "captioned_variant": "payoff", "variant": "joint",
        "model": ["A", "A", "B", "B"], "prompt": "zs", "opponent": ["zs", "tft", "zs", "tft"],
        "value": [96.0, 35.0, 64.0, float("nan")], "sd": [0.0, 1.4, 2.0, float("nan")], "n": [5, 2, 5, 2],
    }
)  # fmt: skip


def test_cells_have_the_printed_format_with_marks_and_gaps():
    shown = published_table(TABLE, [("A zs", "tft")])
    assert shown.to_dict("index") == {
        "A zs": {"zs": "96.0 ± 0.0", "tft": "35.0 ± 1.4 *"},
        "B zs": {"zs": "64.0 ± 2.0", "tft": "none"},
    }
    assert (shown.index.name, shown.columns.name) == ("model and style", "opponent")


def test_the_title_says_metric_unit_sizes_and_a_wrong_caption():
    said = title(TABLE)
    assert said.startswith("Table 3: total points (points per match), prisoner's dilemma family")
    assert "captioned payoff, in truth the joint variant" in said and said.endswith("2 or 5 matches in a cell")


def test_models_that_are_in_no_table_are_named():
    names = ["DeepSeek-R1"] * 3 + ["Llama 3.1 405B Instruct"]
    said = describe_matches(pd.DataFrame({"model": names, "opponent": ["zs", "tft", "mf", "srep"]}))
    assert said.startswith(
        "4 matches: 3 of the 1 models in the tables, 1 of Llama 3.1 405B Instruct, which is in no table"
    )
    assert "against srep alone" in said
