"""Radars: the same table gives the same bytes, and what must be on a picture is on it."""

import pandas as pd
import pytest
from claims import executed
from matplotlib.text import Text

from agon import figures
from agon_papers.magic import radar

NAMES = ["judgement", "reasoning", "deception", "self_awareness", "trust"]
TABLE = pd.DataFrame(
    [[90.0, 35.0, 65.0, 73.0, 10.0, 9000.0, 62.0], [40.0, 30.0, 70.0, 20.0, 50.0, 3000.0, 63.0]],
    index=["A", "B"],
    columns=[*NAMES, "area", "win_rate"],
)


def drawn():
    return {
        "abilities": radar.ability_figure(TABLE, NAMES, "abilities", "a note"),
        "pairs": radar.pair_figure(TABLE, TABLE.loc[["B"]] + 10, NAMES, "pairs"),
    }


def texts(made):
    return " ".join(
        text.get_text() for axes in made.axes for text in [*axes.texts, axes.title, *axes.get_yticklabels()]
    )


@pytest.mark.parametrize("name", ["abilities", "pairs"])
def test_a_phone_shows_the_whole_picture_in_letters_of_twelve_pixels(name):
    made = drawn()[name]
    made.draw_without_rendering()
    letters = [text for text in made.findobj(Text) if text.get_text().strip()]
    assert made.get_figwidth() == figures.NARROW and min(text.get_fontsize() for text in letters) >= 10
    whole = made.get_tightbbox()
    assert whole.x0 >= 0 and whole.x1 <= figures.NARROW


@pytest.mark.parametrize("name", ["abilities", "pairs"])
def test_the_same_table_gives_the_same_bytes(tmp_path, name):
    for copy in ("one", "two"):
        figures.save(drawn()[name], tmp_path / copy)
    for ending in (".png", ".svg"):
        assert (tmp_path / f"one{ending}").read_bytes() == (tmp_path / f"two{ending}").read_bytes()


def test_a_radar_is_closed_and_names_its_axes():
    made = radar.ability_figure(TABLE, NAMES, "t")
    line = made.axes[0].get_lines()[-1]
    assert line.get_ydata()[0] == line.get_ydata()[-1] == 90 and len(line.get_ydata()) == len(NAMES) + 1
    assert all(name in texts(made) for name in ("Judge.", "Self-aw.", "trust", "area 9,000"))


def test_an_own_model_looks_unlike_the_printed_ones():
    made = radar.ability_figure(TABLE, NAMES, "t", own=["B"])
    printed, own = (axes.get_lines()[-1] for axes in made.axes[:2])
    assert printed.get_color() != own.get_color() and printed.get_marker() != own.get_marker()
    assert [axes.title.get_fontweight() for axes in made.axes[:2]] == ["normal", "bold"]
    assert [bar.get_hatch() for bar in made.axes[2].patches] == [None, radar.HATCH]
    assert {"own", "as printed"} <= {text.get_text() for text in made.legends[0].get_texts()}


def test_a_name_of_several_lines_takes_one_beside_the_bars():
    assert "a player *" in texts(radar.ability_figure(TABLE.rename(index={"A": "a\nplayer"}), NAMES, "t"))


def test_a_model_ranked_otherwise_by_win_rate_is_marked():
    assert "A *" in texts(drawn()["abilities"]) and "B *" in texts(drawn()["abilities"])
    assert "*" not in texts(radar.ability_figure(TABLE.assign(win_rate=[63.0, 62.0]), NAMES, "t"))


def test_a_pair_says_what_it_gains_and_what_is_not_printed():
    said = texts(drawn()["pairs"])
    assert "area 9,000\nbeliefs not printed\nwin rate 62.0" in said and "area 3,000 to 3,010\n(+0%)" in said


def test_two_polygons_differ_without_colour():
    one, two = radar.VANILLA, radar.ENHANCED
    assert one["ls"] != two["ls"] and "marker" in two and "marker" not in one


def test_gains_beyond_chance_are_framed_and_counted():
    names = executed("magic_tables")
    cells = [text.get_text() for text in names["axes"].texts]
    starred = names["pairs"].all_fisher < 0.05
    assert [cell.endswith("*") for cell in cells] == starred.tolist() and any(starred)
    alike = (names["pairs"].all_fisher_games < 0.05).sum() or "none"
    counts = (
        f"{sum(starred)} of {len(cells)} abilities change significantly if decisions are independent, and {alike} if"
    )
    assert counts in names["gain_title"]
