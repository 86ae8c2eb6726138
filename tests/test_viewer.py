"""The viewer: what seats saw and did is what the engine says, and nothing that a player wrote is more than text."""

import pandas as pd
import pytest
from harness import GAMES, first
from magic_games import any_or_void, saying

from agon.conf import games
from agon.figures import viewer
from agon.games.spaces import one_line
from agon.notebook.page import sanitized
from agon.plan import Match, Seat
from agon.play import play_now, turns_table
from agon.replay import replay_in

CLUES = games(["chameleon/01-crowd"])[0]
FAMILIES = ["chameleon", "undercover", "cost_sharing", "prisoner3", "public_goods"]


def viewed(game, answers=any_or_void, **changes):
    match = Match("test", "a", 10, game, (Seat("any", answers),) * game.seats, 0, "c")
    turns = turns_table([(match, play_now(match))]).assign(**changes)
    return replay_in(game, turns), turns


@pytest.mark.parametrize("game", [GAMES["pd"], *[first(name) for name in FAMILIES]], ids=lambda game: game.name)
def test_every_game_can_be_looked_at(game):
    replay, turns = viewed(game)
    seated = viewer.seating(replay, turns)
    assert len(seated) == game.seats and seated.points.sum() == pytest.approx(turns.payoff.sum())
    assert len(viewer.course(replay, turns)) == turns.legal.notna().sum()
    assert len(viewer.sights(replay)) == len(replay.steps) + 1
    last = viewer.worth(replay).groupby("player", sort=False).value.last()
    assert last.tolist() == pytest.approx(seated.points.tolist())
    assert {"name", "variant", "rounds"} <= set(viewer.setting(game).what)
    assert "<td>" in viewer.shown(viewer.course(replay, turns)).data


def test_each_seat_is_shown_what_it_was_told_and_no_more():
    replay, _ = viewed(CLUES, saying(vote=["Player 2", "Player 1", "Player 1"], guess="a horse"))
    seen, spy = viewer.sights(replay), viewer.players(replay)[CLUES.spy]
    before = seen[(seen.turn != "end") & (seen.phase != "guess")]
    assert not before[spy].str.contains(CLUES.word).any()
    for player in set(viewer.players(replay)) - {spy}:
        assert before[player].iloc[0].endswith(f"word: {CLUES.word}")
        assert seen[player].iloc[-1].endswith("accused: Player 1\nPlayer 1, guess: a horse")
        assert f"{spy}, vote" not in " ".join(seen[player])


def test_ballots_are_who_voted_for_whom():
    replay, _ = viewed(CLUES, saying(vote=["Player 2", None, "Player 1"]))
    assert viewer.ballots(replay).vote.tolist() == ["Player 2", "(unreadable)", "Player 1"]
    assert viewer.ballots(viewed(GAMES["rps"])[0]).empty
    zero = replay._replace(steps=[step._replace(actions=dict.fromkeys(step.views, 0)) for step in replay.steps])
    assert viewer.ballots(zero).vote.tolist() == [0, 0, 0]


def test_rounds_are_told_from_the_seats_side():
    replay, _ = viewed(GAMES["pd"], lambda view, dice: ("cooperation", None)[view.seat])
    last = viewer.sights(replay).iloc[-1]
    assert last["Player 1"] == "round 16: own cooperation, Player 2 (unreadable)"
    assert last["Player 2"] == "round 16: own (unreadable), Player 1 cooperation"


HOSTILE = "<script>alert(1)</script>\n<img src=x onerror=alert(2)> | $\\href{javascript:x}{y}$ & \u202egnp.exe\x1b[31m"


def test_what_players_write_is_only_text():
    replay, turns = viewed(
        CLUES, lambda view, dice: one_line(HOSTILE) if view.phase == "clue" else any_or_void(view, dice), reply=HOSTILE
    )
    for made in (viewer.course(replay, turns), viewer.sights(replay), pd.DataFrame({HOSTILE: [1]})):
        shown = viewer.shown(made).data
        assert "<script" not in shown and "<img" not in shown and "\u202e" not in shown and "\x1b" not in shown
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown and "&lt;img" in shown
        assert "mathjax_ignore" in shown.partition(">")[0]
        assert "&lt;script&gt;" in sanitized(shown) and "<script" not in sanitized(shown)
    assert "&lt;/script&gt;<br>&lt;img" in shown and "\\u202egnp.exe\\u001b[31m" in shown


def test_absent_values_are_shown_as_nothing():
    row = pd.DataFrame({"a": [None], "b": [pd.NA], "c": [float("nan")], "d": [0.0]})
    assert viewer.shown(row).data.count("<td></td>") == 3
