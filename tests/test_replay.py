"""Replays: every game comes out as it was played, and what does not fit is said in a line."""

import json
from dataclasses import dataclass, fields

import pandas as pd
import pytest
from harness import GAMES
from magic_games import any_or_void, seen

from agon import AgonError
from agon.conf import expand_settings, games, settings_of
from agon.games.matrix import MatrixGame
from agon.games.tables import games_table
from agon.plan import Match, Seat
from agon.play import play_now, turns_table
from agon.replay import one_match, replay_in, replay_match, seen_by
from agon.turns import read, read_games

FAMILIES = ["chameleon", "undercover", "cost_sharing", "prisoner3", "public_goods"]
EVERY = [*GAMES.values(), *games(FAMILIES)]
NAMES = expand_settings([*GAMES, *FAMILIES, "tradecraft_brief", "rating"])
TABLE = games_table(games(NAMES), [settings_of("game", name) for name in NAMES])


def played(game, number=0):
    match = Match("test", f"{number:x}", number, game, (Seat("any", any_or_void),) * game.seats, 0, "c")
    done = play_now(match)
    return done, turns_table([(match, done)])


@pytest.mark.parametrize("game", EVERY[::7], ids=lambda game: f"{game.name}-{game.variant}")
def test_every_seat_sees_what_it_saw(game):
    for number in range(3):
        done, turns = played(game, number)
        again = replay_match(turns, TABLE)
        views = [view for step in again.steps for view in step.views.values()]
        assert [seen(view) for view in views] == [seen(view) for view in done.views if view.legal is not None]
        assert again.game == game and not game.to_move(again.state)


def test_all_games_of_conf_can_be_replayed():
    for game in EVERY:
        done, turns = played(game)
        again = replay_match(turns, TABLE)
        asked = [answer for answer, view in zip(done.answers, done.views, strict=True) if view.legal is not None]
        answers = [action for step in again.steps for action in step.actions.values()]
        assert json.dumps(answers) == json.dumps(asked)
        assert sum(sum(step.payoffs) for step in again.steps) == pytest.approx(turns.payoff.sum())


def test_recorded_games_are_replayed_too():
    turns = read("tests/smoke/counterfactual_turns.parquet")
    games = read_games("tests/smoke/counterfactual_turns.parquet")
    for match in turns.match.unique()[:5]:
        assert len(replay_match(one_match(turns, match), games).steps) == turns[turns.match == match]["round"].max()


CHAMELEON = next(game for game in EVERY if game.name == "chameleon")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            lambda turns: turns[turns.turn != 2],
            r"turn 3: records and game differ: seats \[0, 1, 2\] were asked, the game asks \[0\]",
        ),
        (lambda turns: turns[turns.turn < 9], "not at its end after turn 8: rows are missing"),
        (lambda turns: turns.assign(payoff=turns.payoff + 1), "turn 1: records and game differ: it paid"),
        (lambda turns: turns.assign(action='"Player 9"'), "turn 1: records and game differ: seat 0 may not play"),
        (lambda turns: turns.assign(rules=9), "the table of games has no chameleon 01-chameleon of rules 9"),
        (lambda turns: turns.assign(variant="none"), "the table of games has no chameleon none of rules 2"),
    ],
    ids=["gap", "cut", "paid", "illegal", "rules", "unknown"],
)
def test_what_does_not_fit_is_refused(changed, said):
    _, turns = played(CHAMELEON)
    with pytest.raises(AgonError, match=said):
        replay_match(changed(turns), TABLE)


@dataclass(frozen=True)
class Shuffled(MatrixGame):
    """A game that begins with dice."""

    def start(self, dice):
        dice.random()
        return super().start(dice)


def test_dice_that_an_id_does_not_give_are_not_guessed():
    plain = EVERY[0]
    shuffled = Shuffled(**{field.name: getattr(plain, field.name) for field in fields(plain) if field.init})
    for game in (plain, shuffled):
        assert replay_in(game, played(game)[1]).game == game
    assert replay_in(plain, played(plain)[1].assign(match="game no. 7")).game == plain
    with pytest.raises(AgonError, match=r"match game no\. 7 cannot be replayed: pd begins with dice"):
        replay_in(shuffled, played(shuffled)[1].assign(match="game no. 7"))


def test_a_match_is_found_by_its_id_or_as_the_first_of_its_setting():
    both = pd.concat([played(CHAMELEON, number)[1].astype({"match": str}) for number in (10, 11)])
    assert set(one_match(both, "b").match) == {"b"}
    both["agent"] = both.agent.astype(str).where(both.match == "a", "other")
    assert set(one_match(both, f"chameleon/{CHAMELEON.variant}").match) == {"a"}
    assert set(one_match(both, f"chameleon/{CHAMELEON.variant}/other").match) == {"b"}
    with pytest.raises(AgonError, match=f"no match 'x' among these turns: there are chameleon/{CHAMELEON.variant}"):
        one_match(both, "x")
    with pytest.raises(AgonError, match="no match"):
        one_match(both, f"chameleon/{CHAMELEON.variant}/nobody")
    with pytest.raises(AgonError, match="there are none"):
        one_match(both[:0], "x")


# --- what a seat saw


@pytest.mark.parametrize(
    "game",
    {game.name: game for game in EVERY + games(["tradecraft_brief", "rating"])[::40]}.values(),
    ids=lambda game: game.name,
)
def test_what_a_seat_saw_is_told_of_any_game_in_words_and_as_data(game):
    done, turns = played(game)
    mixed = turns.astype({"match": str}).sample(frac=1, random_state=1)
    asked = [(view, answer) for view, answer in zip(done.views, done.answers, strict=True) if view.legal is not None]
    for view, _ in asked[-3:]:
        same = [(each, answer) for each, answer in asked if (each.seat, each.round) == (view.seat, view.round)]
        found = seen_by(mixed, TABLE, turns.match[0], view.seat, view.round)
        assert [seen(sight.view) for sight in found] == [seen(each) for each, _ in same]
        assert json.dumps([sight.action for sight in found]) == json.dumps([answer for _, answer in same])
        assert all(len(sight.told) == len(sight.view.past) for sight in found)
        for sight, (each, _) in zip(found, same, strict=True):
            assert str(sight).startswith(f"round {each.round}, {each.phase}") and "could answer" in str(sight)


def test_a_seat_or_round_that_is_not_there_is_said():
    turns = read("tests/smoke/scripted_turns.parquet")
    with pytest.raises(
        AgonError, match=r"seat 2 was never asked in match pd/default: seats are 0 \(Player 1\), 1 \(Player 2\)"
    ):
        seen_by(turns, TABLE, "pd/default", 2, 1)
    with pytest.raises(AgonError, match="seat 0 was not asked in round 17 of match pd/default: in 1, 2"):
        seen_by(turns, TABLE, "pd/default", 0, 17)
