"""Playing: turns depend on the matches alone, whatever is void, slow, interrupted or already played."""

import asyncio
import os
import shutil
import signal
import time
from dataclasses import replace
from pathlib import Path
from random import Random

import pandas as pd
import pytest
from harness import GAMES, PD, RPS, anything, experiment, first, letters, small
from hypothesis import given
from hypothesis import strategies as st
from patience import LONG, until
from prepared import Command
from project import KILLS

from agon import ROOT, AgonError
from agon.agents import Reply
from agon.games.matrix import MatrixGame
from agon.games.matrix.scripts import alternator, best_reply_to_last, grim, tit_for_tat
from agon.plan import Match, Seat, plan
from agon.play import merge_turns, play, play_at_once, play_now, turns_table
from agon.turns import matches, validated


class Slow:
    """Any legal action, after a while that has nothing to do with the dice."""

    lasting = Random(1)

    def __init__(self, place):
        self.place = place

    async def act(self, view, dice):
        await asyncio.sleep(self.lasting.random() / 500)
        return Reply(dice.choice(view.legal.options), "I think", tokens_in=7, tokens_out=2, seconds=0.5)


class Mumbling(Slow):
    """Unreadable in every third round."""

    async def act(self, view, dice):
        reply = await super().act(view, dice)
        return reply if view.round % 3 else Reply(None, "mmm", attempts=6, fallback="void")


class Wrong(Slow):
    """Not a legal action."""

    async def act(self, view, dice):
        return Reply(["cheat"])


class Counting(Slow):
    """Counts how often it is made."""

    made = 0

    def __init__(self, place):
        super().__init__(place)
        Counting.made += 1


def match(*players, game=PD, number=0):
    """A match of these players by hand."""
    seats = tuple(Seat(getattr(p, "__name__", "?"), p, "m" if isinstance(p, type) else None) for p in players)
    return Match("test", f"{number:04}", number, game, seats, number, "config")


def many(*players, game=PD, count=12):
    return [match(*players, game=game, number=number) for number in range(count)]


def same(one, other):
    pd.testing.assert_frame_equal(one, other, check_categorical=False)
    return True


# --- what a match becomes


def test_a_row_is_a_seat_asked_once(tmp_path):
    turns = play([match(grim, tit_for_tat)], tmp_path)
    assert len(turns) == 2 * 16 and validated(turns) is turns
    assert list(turns.seat[:4]) == [0, 1, 0, 1] and list(turns["round"][:4]) == list(turns.turn[:4]) == [1, 1, 2, 2]


def test_a_row_says_who_played_what_and_what_it_cost(tmp_path):
    row = play([match(grim, Slow)], tmp_path).iloc[1]
    assert (row.agent, row.model, row.seat, row.reply) == ("Slow", "m", 1, "I think")
    assert (row.tokens_in, row.tokens_out, row.tokens, row.seconds) == (7, 2, 9, 0.5)
    assert row.legal == '{"choice": ["cooperation", "defection"]}' and row.action in ("cooperation", "defection")


def test_scripts_have_no_model_and_cost_nothing(tmp_path):
    turns = play([match(grim, grim)], tmp_path)
    assert turns.model.isna().all() and turns.tokens.eq(0).all() and turns.attempts.eq(1).all() and turns.valid.all()


@pytest.mark.parametrize("name", GAMES)
def test_payoffs_of_turns_sum_to_the_match_totals(name, tmp_path):
    game = GAMES[name]
    turns = play(many(anything, Mumbling, game=game, count=3), tmp_path)
    paid = sum(game.payoffs(pair) != () and game.payoffs(pair)[0] for pair in pairs_of(turns))
    assert matches(turns)[lambda t: t.seat == 0].total.sum() == paid


def pairs_of(turns):
    """The label pairs of every turn; None where void."""
    shown = turns.action.astype(object).where(turns.action.notna(), None)
    labels = list(shown)
    return list(zip(labels[::2], labels[1::2], strict=True))


@pytest.mark.parametrize("seats", [1, 3, 4])
def test_any_number_of_seats_may_play(seats, tmp_path):
    payoff = list(range(seats))
    for _ in range(seats):
        payoff = [payoff, payoff]
    turns = play([match(*[anything] * seats, game=small(payoff))], tmp_path)
    assert list(turns.seat) == [*range(seats)] * 2 and list(turns.payoff) == [*range(seats)] * 2


def test_matches_of_different_games_go_in_one_table(tmp_path):
    three = small([[[[1, 2, 3]] * 2] * 2] * 2)
    others = match(anything, Slow, game=RPS, number=1), match(*[anything] * 3, game=three, number=2)
    turns = play([match(anything, anything), *others], tmp_path)
    assert turns.match.astype(str).value_counts().to_dict() == {"0000": 32, "0001": 48, "0002": 6}


# --- void


def test_an_unreadable_reply_makes_the_turn_void_for_all(tmp_path):
    turns = play([match(tit_for_tat, Mumbling)], tmp_path)
    void = turns[turns["round"] % 3 == 0]
    assert not void.valid.any() and void.payoff.eq(0).all() and turns[turns["round"] % 3 > 0].valid.all()


def test_only_the_seat_that_could_not_be_read_is_without_an_action(tmp_path):
    void = play([match(tit_for_tat, Mumbling)], tmp_path)[lambda t: t["round"] == 3].set_index("seat")
    assert void.action.isna().tolist() == [False, True]
    assert (void.fallback[1], void.attempts[1], void.reply[1]) == ("void", 6, "mmm")


def test_a_script_that_gives_nothing_is_void_too(tmp_path):
    turns = play([match(grim, lambda view, dice: None)], tmp_path)
    assert not turns.valid.any() and turns.payoff.sum() == 0


def test_others_see_a_void_action_as_none():
    played = play_now(match(lambda view, dice: None, grim))
    assert (played.views[3].seat, letters(played.views[3].past[0])) == (1, "C-")


# --- what is wrong


@pytest.mark.parametrize("action", ["cheat", 3, ["cheat"]])
def test_a_scripts_illegal_action_names_the_match(action, tmp_path):
    with pytest.raises(AgonError, match=r"match 0000 .pd default: grim against .*seat 1 may not play"):
        play([match(grim, lambda view, dice: action)], tmp_path)


def test_an_illegal_reply_names_the_match(tmp_path):
    with pytest.raises(
        AgonError, match=r"match 0000 .pd default: grim against Wrong.: IllegalAction: seat 1 may not play"
    ):
        play([match(grim, Wrong)], tmp_path)


def test_what_was_played_before_an_error_is_kept(tmp_path):
    good = many(Counting, grim, count=3)
    with pytest.raises(AgonError):
        play([*good, match(grim, Wrong, number=9)], tmp_path, concurrency=1)
    Counting.made = 0
    assert len(play(good, tmp_path)) == 3 * 32 and Counting.made == 0


# --- order, concurrency


@pytest.mark.parametrize("players", [(Slow, Slow), (Slow, Mumbling), (anything, Mumbling), (Mumbling, tit_for_tat)])
def test_concurrency_changes_nothing(players, tmp_path):
    asked = many(*players)
    one, three, fifty = (play(asked, tmp_path / str(n), concurrency=n) for n in (1, 3, 50))
    assert same(one, three) and same(one, fifty)


def test_scripts_between_slow_players_keep_their_place(tmp_path):
    players = (Slow, Slow), (grim, grim), (Slow, grim), (anything, grim)
    asked = [match(*pair, number=number) for number, pair in enumerate(players)]
    assert list(play(asked, tmp_path).match[::32]) == ["0000", "0001", "0002", "0003"]


def test_a_match_does_not_depend_on_what_else_is_played(tmp_path):
    asked = many(anything, Slow, count=6)
    alone, among = play(asked[4:5], tmp_path / "alone"), play(asked[::-1], tmp_path / "among")
    assert same(alone, among[among.match == "0004"].reset_index(drop=True))


def test_repetitions_of_chance_differ(tmp_path):
    turns = play(plan(experiment(agents=["uniform"], repetitions=8)), tmp_path)
    assert turns.groupby("match", observed=True).action.agg(lambda labels: "".join(labels)).nunique() == 8


def test_each_seat_has_dice_of_its_own(tmp_path):
    turns = play([match(anything, anything, number=3)], tmp_path)
    assert turns[turns.seat == 0].action.tolist() != turns[turns.seat == 1].action.tolist()


# --- repetitions without dice are played once


def void(view, dice):
    """No action."""


def provoked(view, dice):
    """Kind, and any legal action once the other was not."""
    kind, _ = view.legal.options
    return anything(view, dice) if any(other != kind for _, other in view.past) else kind


def repeated(game, players, count):
    """Repetitions as a plan has them: with the same game and the same seats."""
    first_match = match(*players, game=game)
    return [replace(first_match, id=f"{id(first_match)}-{n}", seed=n, repetition=n) for n in range(count)]


two_by_two = st.lists(st.lists(st.tuples(*[st.integers(-9, 9)] * 2), min_size=2, max_size=2), min_size=2, max_size=2)
any_scripts = st.tuples(
    *[st.sampled_from((tit_for_tat, grim, alternator, best_reply_to_last, anything, provoked, void))] * 2
)


@given(st.lists(st.tuples(two_by_two, any_scripts, st.integers(1, 4)), min_size=1, max_size=5), st.integers(1, 6))
def test_repetitions_have_the_turns_of_matches_played_alone(meetings, rounds):
    asked = [
        repetition
        for payoff, players, count in meetings
        for repetition in repeated(small(payoff, rounds=rounds), players, count)
    ]
    together = []
    play_at_once(asked, {}, lambda *pair: together.append(pair))
    assert [found for found, _ in together] == asked
    pd.testing.assert_frame_equal(turns_table(together), turns_table([(found, play_now(found)) for found in asked]))


@pytest.mark.parametrize("name", ["chameleon", "cost_sharing", "public_goods", "tradecraft", "undercover"])
def test_repetitions_of_other_families_have_the_same_turns(name, tmp_path):
    game = first(name)
    asked = repeated(game, [void] * game.seats, 3)
    assert same(play(asked, tmp_path), turns_table([(found, play_now(found)) for found in asked]))


class Opened(MatrixGame):
    """Its first round is drawn by the game's dice."""

    def start(self, dice):
        opening = tuple(dice.choice(self.options) for _ in range(2))
        return ((opening,), (opening[::-1],))


def test_repetitions_differ_where_the_game_itself_throws_dice(tmp_path):
    game = Opened("opened", "test", PD.options, PD.payoff, 3)
    turns = play(repeated(game, (tit_for_tat, tit_for_tat), 12), tmp_path)
    assert turns.groupby("match", observed=True).action.agg("".join).nunique() > 1


def test_a_script_without_dice_plays_the_first_repetition_alone(tmp_path):
    asked, calls = repeated(PD, (grim, lambda view, dice: calls.append(1) or grim(view, dice)), 5), []
    assert len(play(asked, tmp_path)) == 5 * 32 and len(calls) == 16


# --- the journal


def test_what_the_journal_holds_is_not_played_again(tmp_path):
    asked = many(Counting, grim, count=5)
    Counting.made = 0
    first = play(asked[:3], tmp_path)
    again = play(asked, tmp_path)
    assert Counting.made == 5 and same(first, again[: len(first)])


def test_tick_counts_what_is_kept_and_what_is_played(tmp_path):
    asked, ticks = many(anything, grim, count=5), []
    play(asked[:3], tmp_path)
    play(asked, tmp_path, tick=ticks.append)
    assert ticks == [3, 2]


@pytest.mark.parametrize("torn", [b"", b"PAR1", b"no parquet at all"])
def test_a_torn_part_is_dropped_and_its_matches_are_played_again(torn, tmp_path):
    asked = many(anything, grim)
    whole = play(asked, tmp_path)
    (part,) = tmp_path.glob("*.parquet")
    part.write_bytes(torn or part.read_bytes()[:-100])
    assert same(play(asked, tmp_path), whole) and len(list(tmp_path.glob("*.parquet"))) == 1


def test_a_match_that_two_parts_hold_is_taken_once():
    asked = many(anything, grim, count=3)
    part, other = (turns_table([(m, play_now(m)) for m in some]) for some in (asked[:2], asked[1:]))
    assert same(
        merge_turns([part, other], [match.id for match in asked]), turns_table([(m, play_now(m)) for m in asked])
    )


def test_matches_of_the_journal_that_are_not_asked_for_stay_out(tmp_path):
    play(many(anything, grim, count=5), tmp_path)
    assert play(many(anything, grim, count=2), tmp_path).match.nunique() == 2


# --- kill -9

TIMES = KILLS or 3


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of the project, so that a run leaves nothing behind in ours, and nobody's edits reach it."""
    folder = tmp_path_factory.mktemp("project")
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("*.pyc.*"))
    shutil.copytree(ROOT / "conf", folder / "conf")
    journal = folder / "src/agon/play/run.py"
    source = journal.read_text()
    assert "matches, seconds = 1000, 2.0" in source
    journal.write_text(source.replace("matches, seconds = 1000, 2.0", "matches, seconds = 100, 0.05"))
    return folder


def start(project: Path, out: str) -> Command:
    agents = "[tit_for_tat, grim, win_stay_lose_shift, srep, best_reply_to_last, uniform]"
    command = [
        "play",
        "experiment.name=killed",
        f"experiment.repetitions={max(60, 10 * TIMES)}",
    ]
    command += [f"experiment.tournaments=[{{games: [pd, pd_joint], agents: {agents}}}]", f"out={out}"]
    place = {**os.environ, "PYTHONPATH": str(project / "src")}
    return Command(command, project, place)


def finish(project: Path, out: str) -> bytes:
    running = start(project, out)
    assert running.wait(LONG + 5 * TIMES) == 0, running.communicate(LONG)[1]
    return (project / out).read_bytes()


def parts(project: Path) -> set[Path]:
    return set((project / ".agon/played/killed").glob("*/*.parquet"))


@pytest.mark.slow
def test_a_run_that_is_killed_and_started_again_gives_the_same_bytes(project):
    undisturbed = finish(project, "whole.parquet")
    shutil.rmtree(project / ".agon")
    chance, killed = Random(11), 0
    for _ in range(TIMES):
        before, running = parts(project), start(project, "torn.parquet")
        begun = lambda running=running, before=before: running.poll() is not None or parts(project) - before  # noqa: E731
        until(begun, "a part", pause=0.005)
        time.sleep(chance.random() / (1 + TIMES))
        running.send_signal(signal.SIGKILL)
        killed += running.wait(LONG) == -signal.SIGKILL
    print(f"{killed} kills, {len(parts(project))} parts")
    assert killed and parts(project), "no run was killed while it was playing: give it more repetitions"
    kept = {path: path.stat().st_mtime_ns for path in parts(project)}
    assert finish(project, "torn.parquet") == undisturbed
    assert {path: path.stat().st_mtime_ns for path in kept} == kept, "what was played before the kill was played again"
