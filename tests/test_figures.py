"""Figures: the same table gives the same bytes, and what must be on a picture is on it."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from agon import figures

SHOWN = pd.DataFrame([[96.0, 35.0], [64.0, float("nan")]], index=["A", "B"], columns=["zs", "tft"])
MARKED = pd.DataFrame([[False, True], [False, False]], index=SHOWN.index, columns=SHOWN.columns)


def drawn(values=SHOWN):
    made, [axes] = figures.figure(1, 1, (6, 3))
    text = values.map("{:.1f}".format).where(values.notna(), "none").rename_axis(index="model", columns="opponent")
    figures.heatmap(axes, values, text, "Points of a match", "points", outlined=MARKED.set_axis(values.index))
    return made


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
    assert shown.data == (tmp_path / "one.png").read_bytes() and shown.alt == "Points of a match"


def test_a_dot_in_a_name_is_no_ending(tmp_path):
    figures.save(drawn(), tmp_path / "v1.5")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["v1.5.png", "v1.5.svg"]


def test_an_outlined_cell_is_marked():
    made = drawn()
    assert [cell_text(made, 0, column).get_text() for column in (0, 1)] == ["96.0", "35.0*"]
    [frame] = made.axes[0].patches
    assert (frame.get_xy(), frame.get_fill()) == ((1, 0), False)


def test_a_cell_without_a_value_has_its_text():
    assert cell_text(drawn(), 1, 1).get_text() == "none"


@pytest.mark.parametrize(("limits", "ends"), [(None, 5), ((-2, 3), 3)])
def test_signed_values_part_at_nought_in_colour(limits, ends):
    _, [axes] = figures.figure(1, 1, (4, 3))
    values = pd.DataFrame([[-1.0, 5.0], [0.0, 2.0]])
    figures.heatmap(axes, values, values.astype(str), "t", "points", limits=limits)
    mesh = axes.collections[0]
    assert mesh.get_clim() == (-ends, ends) and mesh.get_cmap().name == "PuOr"


def test_values_of_one_sign_do_not():
    assert drawn().axes[0].collections[0].get_cmap().name == "cividis"


def test_a_dark_cell_has_light_letters():
    made = drawn()
    light, dark = (sum(to_rgb(cell_text(made, 0, column).get_color())) for column in (1, 0))
    assert light > 2.9 and dark < 1


def test_rows_and_columns_say_what_they_are():
    axes = drawn().axes[0]
    assert (axes.get_ylabel(), axes.get_xlabel()) == ("model", "opponent")
    assert [name.get_text() for name in axes.get_yticklabels()] == ["A", "B"]


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
    lines = main(axes)
    colours = [to_rgb(line.get_color()) for line in lines]
    assert not set(colours[8:]) & set(colours[:8]) and colours[8] != colours[9]
    assert [line.get_markerfacecolor() == "white" for line in lines] == [False] * 8 + [True] * 2


def colours_seen(axes, y):
    """The colours that are on a level of a picture of lines: of its dashes, and of its marks."""
    made = axes.figure
    made.set_dpi(200)
    made.draw_without_rendering()
    canvas = FigureCanvasAgg(made)
    canvas.draw()
    pixels = np.asarray(canvas.buffer_rgba())[..., :3]
    (left, row), (right, _) = (axes.transData.transform((x, y)) for x in axes.get_xlim())
    level = pixels[len(pixels) - round(row) - 1, round(left) + 3 : round(right) - 3]
    return {tuple(each) for each in level.tolist()}


@pytest.mark.parametrize("places", [[*range(1, 17)], ["default", "label", "payoff", "joint"]])
def test_lines_that_lie_on_each_other_are_all_seen(places):
    names = [*"abcdef"]
    table = pd.DataFrame([{"x": x, "by": by, "value": float(by != "f")} for by in names for x in places])
    _, [axes] = figures.figure(1, 1, (6, 3))
    figures.lines(axes, table, "x", "by", "", ("x", "y"), bold=["e"])
    wanted = {
        by: tuple(round(255 * each) for each in to_rgb(line.get_color()))
        for by, line in zip(names, main(axes), strict=True)
    }
    on_top, below = colours_seen(axes, 1.0), colours_seen(axes, 0.0)
    assert {by for by, colour in wanted.items() if colour in on_top} == set("abcde")
    assert {by for by, colour in wanted.items() if colour in below} == {"f"}
    assert all(set(line.get_ydata()) == {float(by != "f")} for by, line in zip(names, main(axes), strict=True))


def main(axes):
    """The lines that the legend names."""
    return [line for line in axes.get_lines() if not line.get_label().startswith("_")]


def test_a_name_with_dollars_is_drawn_as_it_is(tmp_path):
    made = drawn(SHOWN.rename(index={"A": r"$\broken$"}))
    figures.save(made, tmp_path / "one")
    assert made.axes[0].get_yticklabels()[0].get_text() == r"$\broken$"
