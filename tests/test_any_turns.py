"""Notebooks that show matches take any turns: what is there is drawn, what is not is said, and nothing of the shipped data is needed."""

import ast

import nbformat
import pytest

from agon import ROOT, AgonError
from agon.turns import read, read_games, write, write_games

SMOKE = "tests/smoke"


def executed(name, out, **parameters):
    """What a notebook's cells leave behind, run one after another; its last text."""
    found = dict[str, object]()
    cells = [
        each for each in nbformat.read(ROOT / f"notebooks/{name}.ipynb", as_version=4).cells if each.cell_type == "code"
    ]
    for number, cell in enumerate(cells):
        *statements, last = map(ast.unparse, ast.parse(cell.source).body)
        exec("\n".join(statements) if number + 1 == len(cells) else cell.source, found)
        found |= {"out": str(out), **parameters} if number == 0 else {}
    return eval(last, found).data


def some(folder, source, **wanted):
    """A table with some rows of a sample."""
    turns = read(f"{SMOKE}/{source}.parquet")
    for name, value in wanted.items():
        turns = turns[turns[name].eq(value)]
    write_games(read_games(f"{SMOKE}/{source}.parquet"), folder / "turns.parquet")
    write(turns.reset_index(drop=True), folder / "turns.parquet")
    return str(folder / "turns.parquet")


def drawn(folder):
    return {path.stem for path in folder.glob("figures/*.png")}


@pytest.mark.parametrize("game", ["pd", "rps"])
def test_one_game_in_one_variant_is_enough_for_live_games(tmp_path, game):
    turns = some(tmp_path, "standin_turns", game=game, variant="default")
    said = executed("counterfactual_live", tmp_path, turns_path=turns)
    assert "standin" in said and drawn(tmp_path) == {f"counterfactual_live_{game}"}


def test_games_that_the_paper_does_not_have_are_drawn_without_it(tmp_path):
    turns = read(some(tmp_path, "standin_turns", game="pd", variant="label"))
    recorded = read(f"{SMOKE}/counterfactual_turns.parquet")
    write_games(read_games(f"{SMOKE}/counterfactual_turns.parquet"), tmp_path / "recorded.parquet")
    write(recorded[recorded.variant.ne("label")].reset_index(drop=True), tmp_path / "recorded.parquet")
    write(turns, tmp_path / "turns.parquet")
    paths = {"turns_path": str(tmp_path / "turns.parquet"), "published_path": str(tmp_path / "recorded.parquet")}
    assert "did not play any of these cells" in executed("counterfactual_live", tmp_path, **paths)


def test_moves_are_shown_of_any_models(tmp_path):
    said = executed("counterfactual_play", tmp_path, turns_path=f"{SMOKE}/pocket.parquet")
    assert "pd, label: the models' overall mix" in said and len(drawn(tmp_path)) == 3


def test_moves_of_a_single_game_leave_the_other_out(tmp_path):
    turns = some(tmp_path, "pocket", game="pd", variant="payoff")
    said = executed("counterfactual_play", tmp_path, turns_path=turns, compare="")
    assert said.count("\n") == 0 and drawn(tmp_path) == {"counterfactual_cooperation", "counterfactual_distance"}


def test_own_models_are_in_the_findings(tmp_path):
    said = executed("counterfactual_play", tmp_path, compare=f"{SMOKE}/pocket.parquet", opponents=["tft"])
    assert "smollm2_even zs_constrained (own), pd, default: " in said and "(recorded models: " in said


@pytest.mark.parametrize(
    ("page", "other", "fault"),
    [
        ("counterfactual_live", "magic_standin", "use turns of the counterfactual games"),
        ("magic_live", "standin_turns", "use turns of MAgIC's games"),
        ("magic_live", "tradecraft/turns", "use turns of MAgIC's games"),
        ("tradecraft_live", "standin_turns", "no matches of TradeCraft between two models"),
    ],
)
def test_turns_of_another_paper_are_refused(tmp_path, page, other, fault):
    with pytest.raises(AgonError, match=fault):
        executed(page, tmp_path, turns_path=f"{SMOKE}/{other}.parquet")


def test_trades_without_ratings_leave_their_figures_out(tmp_path):
    turns = f"{SMOKE}/tradecraft/turns.parquet"  # of models, whose panels need ratings
    said = executed("tradecraft_live", tmp_path, turns_path=turns, ratings_path="")
    assert "Nobody has scored them" in said and not any("4a" in name for name in drawn(tmp_path))


@pytest.mark.parametrize("game", ["pd", "rps"])
def test_a_tournament_of_one_game_is_enough(tmp_path, game):
    turns = some(tmp_path, "scripted_turns", game=game, variant="default")
    said = executed("scripted", tmp_path, turns_path=turns, simulated=50)
    null = {"scripted_null"} if game == "rps" else set()
    assert f"{game} default: " in said and drawn(tmp_path) == {f"scripted_{game}"} | null


def test_own_games_of_one_family_leave_the_others_out(tmp_path):
    turns = some(tmp_path, "magic_standin", game="public_goods")
    said = executed("magic_live", tmp_path, turns_path=turns)
    assert (
        "no win rate" in said and "No area" in said and "own:" not in (tmp_path / "tables/magic_live_9.csv").read_text()
    )


def test_own_models_are_beside_the_printed_ones_in_every_table(tmp_path):
    said = executed("magic_live", tmp_path)
    assert "own: standin_magic (143 of 143 games): win rate" in said
    assert drawn(tmp_path) == {f"magic_live_{number}" for number in (1, 4, 6, 9, 10)}
    tables = {path.stem: path.read_text() for path in tmp_path.glob("tables/*.csv")}
    assert all("own: standin_magic" in tables[f"magic_live_{number}"] for number in (1, 2, 4, 9, 10))
