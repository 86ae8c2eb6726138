"""The games beside turns: as they were played, without conf."""

import shutil
from itertools import product
from pathlib import Path

import pandas as pd
import pytest
from harness import GAMES as MATRIX

from agon import ROOT, AgonError
from agon.conf import expand_settings, games, settings_of
from agon.games.tables import games_table, payoff_table, seat_table
from agon.replay import games_of
from agon.turns import GAMES, games_path, read_games, write_games

FAMILIES = ["chameleon", "undercover", "cost_sharing", "prisoner3", "public_goods", "tradecraft_brief", "rating"]
NAMES = expand_settings([*MATRIX, *FAMILIES])
PD = MATRIX["pd"]


def test_every_game_comes_back_from_its_row(tmp_path):
    held = games(NAMES)
    write_games(games_table(held, [settings_of("game", name) for name in NAMES]), tmp_path / "turns.parquet")
    table = read_games(tmp_path / "turns.parquet")
    found = {(game.name, game.variant): game for game in games_of(table)}
    assert found == {(game.name, game.variant): game for game in held} and list(table) == list(GAMES)


def test_payoffs_and_seats_are_those_of_the_engine():
    table = games_table(games(NAMES))
    paid = payoff_table(table).set_index(["game", "variant", "seat", "action", "others"]).payoff
    for game in games(NAMES):
        form = game.normal_form
        for profile in product(*form.action_sets) if form else ():
            keys = [
                (game.name, game.variant, seat, own, " ".join(profile[:seat] + profile[seat + 1 :]))
                for seat, own in enumerate(profile)
            ]
            assert tuple(paid[key] for key in keys) == form.payoffs(profile)
    seats = seat_table(table).groupby(["game", "variant"]).tested.apply(lambda tested: [*tested])
    assert all(
        seats[game.name, game.variant] == [seat in game.tested for seat in range(game.seats)] for game in games(NAMES)
    )


def test_games_of_several_files_are_there_once(tmp_path):
    for name in ("one", "two"):
        write_games(games_table([PD]), tmp_path / f"{name}.parquet")
    assert len(read_games(tmp_path / "one.parquet", tmp_path / "two.parquet")) == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "is missing. It says which games were played"),
        (b"PAR1", "cannot be read"),
        ("turns", "has no column"),
    ],
)
def test_what_is_no_table_of_games_is_one_line(tmp_path, content, said):
    path = Path(shutil.copy(ROOT / "tests/smoke/scripted_turns.parquet", tmp_path / "turns.parquet"))
    if content == "turns":
        shutil.copy(ROOT / "tests/smoke/scripted_turns.parquet", games_path(path))
    elif content:
        games_path(path).write_bytes(content)
    with pytest.raises(AgonError, match=said):
        read_games(path)


def test_a_game_that_is_not_described_cannot_be_built_again():
    with pytest.raises(AgonError, match="no settings of pd default"):
        games_of(games_table([PD]))


def test_a_row_that_names_other_code_is_not_run(tmp_path):
    marker = tmp_path / "made"
    row = games_table([PD], [{"_target_": "os.mkdir", "path": str(marker)}])
    with pytest.raises(AgonError, match="_target_"):
        games_of(row)
    assert not marker.exists()


def test_a_table_without_games_has_no_payoffs_and_no_seats():
    table = games_table([])
    assert payoff_table(table).empty and seat_table(table).empty and isinstance(table, pd.DataFrame)
