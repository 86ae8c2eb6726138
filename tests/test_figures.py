"""Figures: the same table gives the same bytes, and what must be on a picture is on it."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from agon import figures
from agon.figures.strata import ROWS, strata_figure
from agon_papers.counterfactual import pictures

TABLE = pd.DataFrame(
    {
        "table": 3, "game": "pd", "metric": "total_points", "captioned_variant": "payoff", "variant": "joint",
        "model": ["A", "A", "B", "B"], "prompt": "zs", "opponent": ["zs", "tft", "zs", "tft"],
        "value": [96.0, 35.0, 64.0, float("nan")], "sd": [0.0, 1.4, 2.0, float("nan")], "n": [5, 2, 5, 2],
    }
)  # fmt: skip


def drawn():
    return pictures.published_table(TABLE, [("A zs", "tft")])


def titles(made):
    return " ".join(axes.get_title(loc="left") for axes in made.axes)


def cell_text(made, row, column):
    """What a cell's text is: rows and columns are counted from the upper left."""
    [found] = [text for text in made.axes[0].texts if text.get_position() == (column + 0.5, row + 0.5)]
    return found


def test_the_same_table_gives_the_same_bytes(tmp_path):
    for name in ("one", "two"):
        figures.save(drawn(), tmp_path / name)
    for ending in (".png", ".svg"):
        assert (tmp_path / f"one{ending}").read_bytes() == (tmp_path / f"two{ending}").read_bytes()


def test_a_figure_saved_twice_gives_the_same_bytes(tmp_path):
    made = drawn()
    for name in ("one", "two"):
        figures.save(made, tmp_path / name)
    for ending in (".png", ".svg"):
        assert (tmp_path / f"one{ending}").read_bytes() == (tmp_path / f"two{ending}").read_bytes()


def test_a_last_bit_that_differs_does_not_show(tmp_path):
    shown = {}
    for name, width in (("one", 0.7), ("two", np.nextafter(0.7, 1))):
        made = Figure()
        polar = made.add_axes((0.1, 0.1, width, 0.7), projection="polar")
        polar.plot([0, 1, 2], [1, 2, 3], marker="o")
        figures.save(made, tmp_path / name)
        shown[name] = (tmp_path / f"{name}.svg").read_text()
    assert shown["one"] == shown["two"] and 'clip-path="url(#p' in shown["one"]


def test_saving_gives_the_picture_with_its_title_in_words(tmp_path):
    shown = figures.save(drawn(), tmp_path / "one")
    assert shown.data == (tmp_path / "one.png").read_bytes() and shown.alt.startswith("Table 3: total points")


def test_a_dot_in_a_name_is_no_ending(tmp_path):
    figures.save(drawn(), tmp_path / "v1.5")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["v1.5.png", "v1.5.svg"]


def test_a_wrong_caption_is_said_on_the_picture():
    assert "captioned payoff, in truth the joint variant" in titles(drawn())


def test_the_sizes_are_on_the_picture():
    assert "over 2 or 5 matches" in titles(drawn())


def test_a_cell_that_is_not_as_printed_is_marked():
    made = drawn()
    assert [cell_text(made, 0, column).get_text() for column in (0, 1)] == ["96.0 ± 0.0", "35.0 ± 1.4 *"]
    [frame] = made.axes[0].patches
    assert (frame.get_xy(), frame.get_fill()) == ((1, 0), False)


def test_a_cell_without_records_says_so():
    assert cell_text(drawn(), 1, 1).get_text() == "none"


def test_a_dark_cell_has_light_letters():
    made = drawn()
    light, dark = (sum(to_rgb(cell_text(made, 0, column).get_color())) for column in (1, 0))
    assert light > 2.9 and dark < 1


def test_rows_and_columns_say_what_they_are():
    axes = drawn().axes[0]
    assert (axes.get_ylabel(), axes.get_xlabel()) == ("model and style", "opponent")
    assert [name.get_text() for name in axes.get_yticklabels()] == ["A zs", "B zs"]


def test_lines_differ_in_marker_and_dash_as_well_as_in_colour():
    made, (axes,) = figures.figure(1, 1, (3, 3))
    table = pd.DataFrame({"x": [1, 2] * 3, "by": list("aabbcc"), "value": range(6)})
    figures.lines(axes, table, "x", "by", "t", ("x", "y"))
    looks = {(line.get_marker(), line.get_linestyle()) for line in axes.get_lines()}
    assert len(looks) == 3 and made is axes.figure


def test_a_bold_line_looks_like_no_other():
    table = pd.DataFrame([{"x": x, "by": by, "value": x} for by in map(str, range(10)) for x in (1, 2)])
    _, [axes] = figures.figure(1, 1, (4, 3))
    figures.lines(axes, table, "x", "by", "", ("x", "y"), bold=["8", "9"])
    lines = axes.get_lines()
    colours = [to_rgb(line.get_color()) for line in lines]
    assert not set(colours[8:]) & set(colours[:8]) and colours[8] != colours[9]
    assert [line.get_markerfacecolor() == "white" for line in lines] == [False] * 8 + [True] * 2


@pytest.mark.parametrize(("models", "opponents", "rows"), [(4, 5, 20), (30, 20, 30), (300, 1, ROWS)])
def test_the_rows_of_strata_have_names_however_many_there_are(models, opponents, rows):
    cells = [{"model": f"m{model}", "opponent": f"o{other}"} for model in range(models) for other in range(opponents)]
    apart = np.linspace(-1, 1, len(cells))
    strata = pd.DataFrame(cells).assign(n_first=2, n_second=3, difference=apart, low=apart - 1, high=apart + 1)
    whole = {"metric": "points", "first": "a", "second": "b", "difference": 0, "low": -0.1, "high": 0.1}
    whole |= {"n_first": 2 * len(cells), "n_second": 3 * len(cells), "how": "welch"}
    [axes] = strata_figure(strata, pd.Series(whole), ["model", "opponent"]).axes
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert len(names) == len(set(names)) == rows + 1 and names[-1].startswith("all (")
    assert ("farthest from 0" in titles(axes.figure)) == (rows == ROWS)


def test_a_name_with_dollars_is_drawn_as_it_is(tmp_path):
    made = pictures.published_table(TABLE.replace("A", r"$\broken$"))
    figures.save(made, tmp_path / "one")
    assert made.axes[0].get_yticklabels()[0].get_text() == r"$\broken$ zs"
