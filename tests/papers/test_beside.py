"""One's own models beside the paper's: like beside like, marked as own, and what cannot be compared is said."""

from functools import partial

import pytest
from claims import functions_of

from agon import AgonError
from agon.conf import current_name
from agon.turns import decoded, read, read_games
from agon_papers.counterfactual import beside
from agon_papers.counterfactual.cells import MODELS

RECORDED, MINE = "tests/smoke/counterfactual_turns.parquet", "tests/smoke/pocket.parquet"
GAMES = read_games(MINE, RECORDED)
OWN = "smollm2_even zs_constrained (own)"
draw = functions_of("counterfactual_play")["cooperation_figure"]


@pytest.fixture(scope="module")
def recorded():
    return read(RECORDED)


@pytest.fixture(scope="module")
def mine():
    return read(MINE)


@pytest.fixture(scope="module")
def table(recorded, mine):
    return beside.cooperation_of(beside.comparison(mine, recorded, opponents=["best_reply_to_last"], games=GAMES))


def matches_of(turns, opponent, **columns):
    """Rows of seat 0 in matches against an opponent, by its name or by the paper's."""
    met = turns.match[turns.seat.eq(1) & turns.agent.map(partial(current_name, "agent")).eq(opponent)]
    rows = turns[turns.seat.eq(0) & turns.match.isin(met)]
    for name, value in columns.items():
        rows = rows[rows[name].eq(value)]
    return rows


def test_own_and_recorded_models_are_counted_alike(table, recorded, mine):
    (short,) = {MODELS[name] for name in recorded.model.dropna().unique()}
    assert set(table.model[~table.own]) == {short} and OWN in set(table.model[table.own])
    for name, turns, columns in ((short, recorded, {"agent": "zs"}), (OWN, mine, {"agent": "zs_constrained"})):
        rows = matches_of(turns, "best_reply_to_last", game="pd", variant="default", round=3, **columns)
        rows = rows[rows.valid & rows.action.notna()]
        [found] = table[table.model.eq(name) & table.variant.eq("default") & table["round"].eq(3)].itertuples()
        assert found.n == len(rows) and found.value == pytest.approx(decoded(rows.action).eq("cooperation").mean())


def test_only_opponents_that_both_have_met_are_compared(recorded, mine):
    found = beside.comparison(mine, recorded, games=GAMES)
    assert set(found.matches.opponent) == {"zs"} and found.opponents == "zs"  # models come before scripts
    assert "left out, unless opponents=[...] names them: best_reply_to_last, pp, srep" in found.left_out
    assert found.others == ("best_reply_to_last", "pp", "srep"), "each can be looked at alone"
    assert beside.comparison(mine, recorded, opponents=["best_reply_to_last"], games=GAMES).others == ()
    others = mine.match.isin(mine.match[mine.seat.eq(1) & mine.model.isna()])
    assert set(beside.comparison(mine[others], recorded, games=GAMES).matches.opponent) == {
        "pp",
        "srep",
        "best_reply_to_last",
    }
    alone = beside.comparison(None, recorded, games=GAMES)
    assert set(alone.matches.opponent) == set(beside.PEERS) and alone.opponents == "copies of themselves"
    assert set(beside.comparison(None, recorded, opponents=["srep"], games=GAMES).matches.opponent) == {"srep"}


def test_any_turns_do_and_names_are_labels_where_there_are_no_others(mine):
    found = beside.comparison(None, mine, games=GAMES)
    assert not found.matches.own.any()
    assert {"smollm2", "smollm2_brief zs_weighed", "smollm2_brief zs_once"} <= set(found.matches.model)
    assert set(found.matches.match) == set(mine.match)
    one = mine[mine.game.eq("pd") & mine.variant.eq("default")]
    made = draw(beside.cooperation_of(beside.comparison(None, one, games=GAMES)), "title")
    assert len(made.axes) == 1


def test_own_lines_are_thick_and_named_as_own(table):
    made = draw(table, "title")
    lines = [line for line in made.axes[0].get_lines() if not line.get_label().startswith("_")]
    widths = {line.get_label(): line.get_linewidth() for line in lines}
    own = [width for name, width in widths.items() if name.endswith("(own)")]
    assert own and min(own) > max(width for name, width in widths.items() if not name.endswith("(own)"))
    assert [axes.get_title(loc="left").splitlines()[0] for axes in made.axes] == ["default", "label", "payoff", "joint"]
    assert "own: at least 3" in made.axes[0].get_title(loc="left") and "bars" in made.axes[-1].get_xlabel()


def test_intervals_of_ones_own_cover_the_share_and_others_have_none(table):
    own = table[table.own]
    assert (own.low <= own.value).all() and (own.value <= own.high).all() and table[~table.own].low.isna().all()


def test_the_round_of_comprehension_is_that_of_the_metrics(recorded, mine):
    found = beside.comparison(mine, recorded, opponents=["best_reply_to_last"], usual=["zs"], games=GAMES)
    table, matches = beside.comprehension_of(found), beside.metrics_of(found)
    [row] = table[table.model.eq(OWN) & table.game.eq("pd") & table.variant.eq("label")].itertuples()
    values = matches[matches.model.eq(OWN) & matches.game.eq("pd") & matches.variant.eq("label")]
    assert row.value == values.opponent_comprehension_as_done.mean() and row.n == len(values) and row.never == 17
    void = "smollm2_brief zs_once (own)"  # none of its answers could be read: that is no comprehension
    assert set(found.matches.agent) == {"zs"} and void in set(found.matches.model) - set(table.model)


def test_what_is_in_one_table_alone_is_said(recorded, mine):
    some = mine[mine.game.eq("pd") & mine.variant.eq("default")]
    told = beside.comparison(
        some, recorded[recorded.variant.eq("default")], opponents=["best_reply_to_last"], games=GAMES
    ).left_out
    assert told.startswith("not played: rps default")
    told = beside.comparison(mine, recorded[recorded.variant.eq("default")], games=GAMES).left_out
    assert "not recorded: " in told and "pd joint (" in told


def test_what_cannot_be_compared_is_one_line(recorded, mine):
    both = recorded.match.isin(recorded.match[recorded.agent.eq("mf")])
    with pytest.raises(AgonError, match="no opponent that both have met"):
        beside.comparison(mine, recorded[both], games=GAMES)
    with pytest.raises(AgonError, match="is in both tables"):
        beside.comparison(recorded, recorded, games=GAMES)
    with pytest.raises(AgonError, match="no match with agent 'nobody': there are"):
        beside.comparison(mine, recorded, agents=["nobody"], games=GAMES)
    with pytest.raises(AgonError, match="no match with model 'nobody': there are"):
        beside.comparison(mine, recorded, models=["nobody"], games=GAMES)
    with pytest.raises(AgonError, match="the turns table is empty: no match was played"):
        beside.comparison(mine[:0], recorded, games=GAMES)
    strange = mine.assign(game=mine.game.astype(str).replace("pd", "hawk_dove").astype("category"))
    with pytest.raises(AgonError, match=r"no game of .* is among the paper's: it has hawk_dove default.* they are pd"):
        beside.comparison(strange[strange.game.eq("hawk_dove")], recorded, games=GAMES)


def test_files_can_be_compared():
    table = beside.cooperation_of(beside.comparison(MINE, RECORDED))
    assert table.own.any() and not table.own.all()
