"""Figures of pairs: what is drawn is what the tables say."""

import pandas as pd

from agon import figures
from agon_papers.tradecraft import pictures

AXES = {"a": "Axis A", "b": "Axis B", "c": "Axis C"}


def scores():
    rows = [(name, dimension, 0.5, 0.4, 0.6, 0.52, 10, 40) for name in ("x", "y") for dimension in AXES]
    return pd.DataFrame(rows, columns=["name", "dimension", "value", "low", "high", "printed", "games", "n"])


def pair(**scores_by_panel):
    return pictures.pair_dots(scores_by_panel, AXES, "Who?", 0.025)


def test_a_panel_has_a_mark_for_each_score_and_another_for_the_printed_one():
    axes, *others = pair(a=scores()).axes
    recomputed, printed = axes.get_lines()[:2]
    assert list(recomputed.get_xdata()) == [0.5] * 3 and list(printed.get_xdata()) == [0.52] * 3
    assert (printed.get_ydata() - recomputed.get_ydata()).min() > 0.1
    assert [text.get_text() for text in axes.texts] == list(AXES.values())
    assert not any(other.get_visible() for other in others)


def test_a_score_that_differs_is_marked_with_both_numbers():
    table = scores()
    table.loc[1, "printed"] = 0.6
    [marked] = [text for text in pair(a=scores(), b=table).axes[1].texts if "printed" in text.get_text()]
    assert marked.get_text() == "0.50, printed 0.60" and marked.get_position()[1] == 1


def test_the_same_table_gives_the_same_bytes(tmp_path):
    for name in ("one", "two"):
        figures.save(pair(a=scores()), tmp_path / name)
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_bars_say_what_they_count():
    row = {"name": "x", "n": 9, "unit": "turns", "games": 3, "printed": 2.0, "value": 1.0, "low": 0.5, "high": 1.5}
    made = pictures.bar_figure({"calls per turn": pd.DataFrame([row | {"least": 1.9, "most": 2.1}])}, "Bars", [])
    (axes,) = made.axes
    assert axes.get_xlabel() == "calls per turn"
    assert [text.get_text() for text in axes.texts] == [" 2.00", "x (9 turns, 3 games)"]


def test_heads_add_up_to_the_games():
    row = {"one": "x", "other": "y", "only_one": 4, "only_other": 3, "both": 0, "neither": 3, "printed": "as printed"}
    (axes,) = pictures.head_figure(pd.DataFrame([row]), "Heads", "games").axes
    assert [text.get_text() for text in axes.texts if text.get_text()] == ["4", "3", "3", "x against y\nas printed"]
    assert sum(patch.get_width() for patch in axes.patches) == 10


def test_outcomes_have_both_sources():
    rows = [(source, name, 0.6, 0.5, 9, 8, 0.2, 0.1, 0.3, 5) for source in ("one", "two") for name in AXES]
    names = ["source", "dimension", "winners", "losers", "n_winners", "n_losers", "delta", "low", "high", "games"]
    made = pictures.outcome_figure(pd.DataFrame(rows, columns=names), AXES, "Figure", ["b"])
    for axes in made.axes:
        assert [text.get_text() for text in axes.texts] == ["Axis A", "Axis B *", "Axis C"]
