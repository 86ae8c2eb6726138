"""Figures: the same table gives the same bytes, and what must be on a picture is on it."""

import pandas as pd

from agon import figures

TABLE = pd.DataFrame(
    {
        "table": 3, "game": "pd", "metric": "total_points", "captioned_variant": "payoff", "variant": "joint",
        "model": ["A", "A", "B", "B"], "prompt": "zs", "opponent": ["zs", "tft", "zs", "tft"],
        "value": [96.0, 35.0, 64.0, float("nan")], "sd": [0.0, 1.4, 2.0, float("nan")], "n": [5, 2, 5, 2],
    }
)  # fmt: skip


def drawn():
    return figures.published_table(TABLE, [("A zs", "tft")])


def texts(made):
    return [text.get_text() for axes in made.axes for text in [*axes.texts, axes.title, axes._left_title]]


def test_the_same_table_gives_the_same_bytes(tmp_path):
    for name in ("one", "two"):
        figures.save(drawn(), tmp_path / name)
    for ending in (".png", ".svg"):
        assert (tmp_path / f"one{ending}").read_bytes() == (tmp_path / f"two{ending}").read_bytes()


def test_a_wrong_caption_is_said_on_the_picture():
    assert any("captioned payoff, in truth the joint variant" in text for text in texts(drawn()))


def test_the_sizes_are_on_the_picture():
    assert any("over 2 or 5 matches" in text for text in texts(drawn()))


def test_a_cell_that_is_not_as_printed_is_marked():
    assert "35.0 ± 1.4 *" in texts(drawn()) and "96.0 ± 0.0" in texts(drawn())


def test_lines_differ_in_marker_and_dash_as_well_as_in_colour():
    made, (axes,) = figures.figure(1, 1, (3, 3))
    table = pd.DataFrame({"x": [1, 2] * 3, "by": list("aabbcc"), "value": range(6)})
    figures.lines(axes, table, "x", "by", "t", ("x", "y"))
    looks = {(line.get_marker(), line.get_linestyle()) for line in axes.get_lines()}
    assert len(looks) == 3 and made is axes.figure
