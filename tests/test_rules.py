"""What tables say of settings is what the engines say."""

import json

from harness import PD
from magic_games import chameleon, cost_sharing, family, prisoners, public_goods, undercover

from agon.games.tables import games_table, seat_table


def rows(game):
    return seat_table(games_table([game])).to_dict("records")


def test_every_seat_has_its_true_role_and_the_spy_is_named():
    for game in (chameleon(tested=(0, 1)), undercover(spy=2, tested=(2,))):
        found = rows(game)
        assert [row["role"] for row in found] == list(game.roles)
        assert [row["tested"] for row in found] == [seat in game.tested for seat in range(3)]
        assert {row["spy"] for row in found} == {"Player 3"}
    assert {row["credits"] for row in rows(chameleon())} == {2} and {row["credits"] for row in rows(undercover())} == {
        3
    }


def test_both_roles_of_a_file_are_one_setting():
    found = seat_table(games_table(family("chameleon").values()))
    assert found.groupby("setting").variant.nunique().eq(2).all() and found.setting.nunique() == 20
    assert seat_table(games_table(family("prisoner3").values())).setting.nunique() == 21


def test_the_table_proposes_for_seats_that_are_not_under_test():
    said = [row["opening"] for row in rows(cost_sharing(tested=(1,)))]
    assert json.loads(said[0]) == [40, 30, 30] and not isinstance(said[1], str)
    assert seat_table(games_table([cost_sharing()])).opening.isna().all()


def test_dilemmas_say_what_defects_and_what_there_is_to_give():
    assert {(row["defection"], row["win"]) for row in rows(prisoners(tested=(0,)))} == {("defect", "top")}
    assert {row["endowment"] for row in rows(public_goods())} == {100}


def test_games_without_seats_under_test_have_none():
    assert not seat_table(games_table([PD])).tested.any()
