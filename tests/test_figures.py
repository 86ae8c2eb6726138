"""Figures: the same table gives the same bytes, and what must be on a picture is on it."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.image import imread as read

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


def titles(made):
    return " ".join(axes.get_title(loc="left") for axes in made.axes)


def cell_texts(made):
    [found] = [artist for artist in made.axes[0].get_children() if isinstance(artist, figures.CellTexts)]
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
    texts = cell_texts(drawn()).texts
    assert texts.loc["A zs", "tft"] == "35.0 ± 1.4 *" and texts.loc["A zs", "zs"] == "96.0 ± 0.0"


def test_a_cell_without_records_says_so():
    assert cell_texts(drawn()).texts.loc["B zs", "tft"] == "none"


def test_rows_and_columns_say_what_they_are():
    made = drawn()
    assert (cell_texts(made).texts.index.name, made.axes[0].get_xlabel()) == ("model and style", "opponent")


def test_the_texts_of_cells_are_drawn(tmp_path):
    made = drawn()
    figures.save(made, tmp_path / "with")
    cell_texts(made).set_visible(False)
    figures.save(made, tmp_path / "without")
    with_them, without = (read(tmp_path / f"{name}.png") for name in ("with", "without"))
    x, y = (
        made.axes[0].transData.transform((1, 0)).astype(int)
    )  # the dark cell of A zs against tft: its letters are white
    around = slice(with_them.shape[0] - y - 4, with_them.shape[0] - y + 4), slice(x - 20, x + 20)
    whitest = [picture[around].min(axis=2).max() for picture in (with_them, without)]
    assert whitest[0] > 0.9 and whitest[1] < 0.5


def test_names_of_rows_are_given_room():
    made = drawn()
    made.get_layout_engine().execute(made)
    assert cell_texts(made).get_window_extent().x0 >= 0


def test_lines_differ_in_marker_and_dash_as_well_as_in_colour():
    made, (axes,) = figures.figure(1, 1, (3, 3))
    table = pd.DataFrame({"x": [1, 2] * 3, "by": list("aabbcc"), "value": range(6)})
    figures.lines(axes, table, "x", "by", "t", ("x", "y"))
    looks = {(line.get_marker(), line.get_linestyle()) for line in axes.get_lines()}
    assert len(looks) == 3 and made is axes.figure
