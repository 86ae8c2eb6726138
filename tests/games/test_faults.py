"""A game with a mistake in it is refused in one line that says where the mistake is, and never plays on in silence."""

import asyncio
import json
import re
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from inspect import GEN_CLOSED, GEN_SUSPENDED, getgeneratorstate
from itertools import count
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from harness import Told, at_the_table, seated

from agon import AgonError
from agon.agents.llm import LLM
from agon.agents.prompts import template_of
from agon.conf.building import check_description
from agon.games import Choice, Game, Observation
from agon.games.spaces import Number, Space
from agon.loop import start_match
from agon.plan import Seat
from agon.plan.trial import try_out
from agon.play import play_now, turns_table

HERE = "tests/games/test_faults.py"


@dataclass(frozen=True)
class Sound(Game):
    """Two rounds in which nothing goes wrong. Its rules are a list, which cannot be looked up."""

    name: str = "sound"
    variant: str = "default"
    seats: int = 2

    def start(self, dice):
        return 0

    def to_move(self, state):
        return (0,) if state < 2 else ()

    def legal_actions(self, state, seat):
        return Choice(("a", "b"))

    def observe(self, state, seat):
        return Observation(seat, state + 1, self.legal_actions(state, seat), (), [self.name])

    def step(self, state, actions):
        return state + 1, (1.0, 0.0)


@dataclass(frozen=True)
class Pays(Sound):
    payoffs: Any = ()

    def step(self, state, actions):
        return state + 1, self.payoffs


@dataclass(frozen=True)
class Notes(Sound):
    noted: tuple = ()

    def notes(self, state):
        return self.noted


@dataclass(frozen=True)
class Raises(Sound):
    raised: type = ValueError
    verb: str = "step"

    def start(self, dice):
        return self._do("start", 0)

    def to_move(self, state):
        return self._do("to_move", super().to_move(state))

    def observe(self, state, seat):
        return self._do("observe", super().observe(state, seat))

    def step(self, state, actions):
        return self._do("step", super().step(state, actions))

    def notes(self, state):
        return self._do("notes", ())

    def _do(self, verb, found):
        if verb == self.verb:
            raise self.raised("no good")
        return found


def first(view, dice):
    return "a"


def tried(game, player=first):
    """What is said of a game when it is tried out, and when it is played."""
    found = []
    for run in (
        lambda: try_out(Seat("first", player), game),
        lambda: play_now(seated(first, first, game=game)),
    ):
        with pytest.raises(AgonError) as refused:
            run()
        found.append(str(refused.value))
    assert found[0].startswith("game sound cannot be played: ") and found[1].startswith("match m0 (sound default: ")
    assert not [line for line in found if "\n" in line]
    return found


def test_a_sound_game_is_played_and_its_rules_need_not_be_looked_up():
    try_out(Seat("first", first), Sound())
    assert len(turns_table([(match := seated(first, first, game=Sound()), play_now(match))])) == 2
    assert template_of([]) == template_of([]) == template_of(3)


def test_payoffs_are_a_finite_number_for_every_seat():
    for payoffs in [
        (nan, 0.0),
        (0.0, inf),
        (inf, -inf),
        (1.0,),
        (1.0, 2.0, 3.0),
        (),
        ("1", "2"),
        ((1, 2), 3),
        {0: 1.0, 1: 2.0},
        None,
        3,
    ]:
        for message in tried(Pays(payoffs=payoffs)):
            assert f"ValueError: a step paid {payoffs!r}: it pays each of the 2 seats a finite number (Pays" in message


@dataclass(frozen=True)
class Moves(Sound):
    moves: Any = ()

    def to_move(self, state):
        return self.moves


def test_seats_to_move_are_different_seats_of_the_game():
    for moves in [(2,), (-1,), (0, 0), 1, None, "01", ("0",), (0.5,), ([0],)]:
        for message in tried(Moves(moves=moves)):
            assert f"ValueError: to_move gives {moves!r}: it must give a tuple of different seats" in message


@pytest.mark.parametrize("action", ["c", 1, ["a"], {"a": 1}, ""])
def test_an_action_that_is_not_legal_stops_a_match_of_any_game(action):
    why = f"IllegalAction: seat 0 may not play {action!r} in sound: only a, b (round 1, phase move)"
    for found, run in (
        (f"agent wild cannot play sound: {why}", lambda player: try_out(Seat("wild", player), Sound())),
        (f"against first): {why}", lambda player: play_now(seated(player, first, game=Sound()))),
    ):
        with pytest.raises(AgonError, match=re.escape(found)):
            run(lambda view, dice: action)


def test_notes_are_of_seats_that_are_asked_or_paid():
    for seat in (2, -1, 1.5, None, "0", [0]):
        for message in tried(Notes(noted=((seat, "word", "x"),))):
            assert f"notes: 'word' is noted of seat {seat!r}, which this step neither asked nor paid (Notes" in message


def test_notes_are_triples_of_json_values():
    for noted in (((0, "word"),), ((0, "word", {1}),), 3):
        with pytest.raises(AgonError, match=r"game sound cannot be played: \w+Error: .* \(Notes"):
            try_out(Seat("first", first), Notes(noted=noted))


@pytest.mark.parametrize(
    ("raised", "verb"),
    [
        (KeyError, "start"),
        (StopIteration, "start"),
        (SystemExit, "to_move"),
        (StopIteration, "observe"),
        (GeneratorExit, "observe"),
        (KeyError, "step"),
        (GeneratorExit, "step"),
        (StopIteration, "step"),
        (asyncio.CancelledError, "step"),
        (BaseException, "step"),
        (SystemExit, "notes"),
        (StopIteration, "notes"),
        (GeneratorExit, "notes"),
    ],
)
def test_whatever_a_game_raises_is_said_with_its_place(raised, verb):
    for said in tried(Raises(raised=raised, verb=verb)):
        assert f"{raised.__name__}: " in said and "no good" in said and f" (Raises.{verb}, {HERE}:" in said
    match = seated(first, LLM, game=Raises(raised=raised, verb=verb))
    for live in (False, True) if verb != "notes" or issubclass(raised, (Exception, SystemExit)) else ():
        with pytest.raises(AgonError, match=rf"{raised.__name__}: .*no good.* \(Raises.{verb}, {HERE}:"):
            at_the_table(match, None, Told(lambda request: "[move] a"), live=live)


def test_whatever_a_script_raises_is_said_with_its_place():
    for raised in (SystemExit, GeneratorExit, asyncio.CancelledError, ZeroDivisionError):

        def broken(view, dice, raised=raised):
            raise raised("no good")

        with pytest.raises(AgonError, match=rf"agent b cannot play sound: {raised.__name__}: no good \(Sound, {HERE}:"):
            try_out(Seat("b", broken), Sound())
        with pytest.raises(AgonError, match=rf"against first\): {raised.__name__}: no good \(Sound, {HERE}:"):
            play_now(seated(broken, first, game=Sound()))


def test_an_interrupt_is_no_mistake_of_the_game():
    with pytest.raises(KeyboardInterrupt):
        play_now(seated(first, first, game=Raises(raised=KeyboardInterrupt)))
    with pytest.raises(KeyboardInterrupt):
        try_out(Seat("first", first), Raises(raised=KeyboardInterrupt))


def test_a_match_that_is_left_ends_quietly():
    match, (_, views, _), _ = start_match(Sound(), 0)
    assert views and getgeneratorstate(match) == GEN_SUSPENDED
    match.close()
    assert getgeneratorstate(match) == GEN_CLOSED


# --- spaces of a reader's own


class Own(Space):
    def __contains__(self, action):
        return action in ("a", "b")

    def as_json(self):
        return {"own": 2}

    def example(self, dice):
        return "a"


@dataclass
class Unhashable(Own):
    size: int = 2


@dataclass(frozen=True)
class Listed(Own):
    sizes: list = field(default_factory=list)


class Spelled(Own):
    """Says how an action is written, but not how it is read."""

    def format(self, action):
        return f"the {action}"


@dataclass(frozen=True)
class Asks(Sound):
    space: Any = None

    def legal_actions(self, state, seat):
        return self.space


@pytest.mark.parametrize(
    ("space", "why"),
    [
        (Unhashable(), r"TypeError: Unhashable is not hashable \(.*\): a space is a frozen dataclass, without lists"),
        (Listed(), r"TypeError: Listed is not hashable \(.*\): a space is a frozen dataclass, without lists"),
        (Spelled(), r"ValueError: Spelled writes 'the a', which it does not read: give it a method parse \(or read\)"),
        (
            Choice(("a", "[move]")),
            r"ValueError: '\[move\]' cannot be an option: an answer with this text would be read as something else",
        ),
        (("a", "b"), r"AttributeError: 'tuple' object has no attribute 'format'"),
    ],
    ids=["unhashable", "a list", "not read", "an option", "a tuple"],
)
def test_a_space_that_cannot_be_recorded_or_answered_is_refused(space, why):
    for player in (first, LLM):
        with pytest.raises(AgonError, match=rf"^game sound cannot be played: {why} \(Asks"):
            try_out(Seat("x", player), Asks(space=space))


def test_a_space_that_says_only_what_it_must_is_played():
    game = Asks(space=Own())
    try_out(Seat("x", LLM), game)
    turns = turns_table([(match := seated(first, first, game=game), play_now(match))])
    assert list(turns.legal) == ['{"own": 2}'] * 2 and list(turns.action) == ["a"] * 2 and turns.valid.all()


# --- fields that are called like what every game has


def test_fields_in_the_place_of_what_is_computed_are_required_and_kept():
    @dataclass(frozen=True, kw_only=True)
    class Named(Sound):
        players: tuple[str, ...]
        roles: tuple[str, ...]
        tested: tuple[int, ...]
        fixed_rounds: int = 2

    with pytest.raises(TypeError, match="missing 3 required keyword-only arguments: 'players', 'roles', and 'tested'"):
        Named()
    game = Named(players=("Ada", "Bob"), roles=("in", "out"), tested=(1,))
    assert (game.players, game.roles, game.tested, game.fixed_rounds) == (("Ada", "Bob"), ("in", "out"), (1,), 2)
    assert Sound().players == ("Player 1", "Player 2") and Sound().tested == ()


def test_a_field_that_is_called_like_a_method_is_refused():
    for name in ("secrets", "notes", "watch", "step", "seat_facts"):
        message = rf"Bad has a field {name}, which is a method of every game: rename the field"
        with pytest.raises(TypeError, match=message):
            type("Bad", (Sound,), {"__annotations__": {name: "tuple"}, name: ()})
        with pytest.raises(TypeError, match=message):
            type("Bad", (Sound,), {"__annotations__": {name: "int"}, name: lambda self: self})


@dataclass(frozen=True)
class Rarely(Sound):
    """It ends with some dice alone."""

    def start(self, dice):
        return 0 if dice.random() < 0.5 else -(10**9)


def test_a_match_that_does_not_end_is_stopped_when_it_is_played():
    ends = [number for number in range(20) if start_match(Rarely(), number)[1][0] == 0]
    assert 0 < len(ends) < 20
    play_now(seated(first, first, game=Rarely(), number=ends[0]))
    endless = next(number for number in range(20) if number not in ends)
    with pytest.raises(AgonError, match="a match has not ended after 20,000 steps: to_move still gives seats"):
        play_now(seated(first, first, game=Rarely(), number=endless))


@dataclass(frozen=True)
class Counts(Sound):
    """It reckons with every answer, also with one that could not be read."""

    def step(self, state, actions):
        return state + sum(1 + 0 * len(each) for each in actions.values()), (1.0, 0.0)


def test_a_game_that_fails_without_an_answer_is_refused_for_models():
    try_out(Seat("first", first), Counts())
    why = rf"^sound fails where an answer cannot be read \(action None\): TypeError: .* \(Counts.step, {HERE}:"
    with pytest.raises(AgonError, match=why):
        try_out(Seat("zs", LLM, "x"), Counts())
    try_out(Seat("zs", LLM, "x"), Sound())


@dataclass(frozen=True)
class Misfit(Sound):
    """What else a game may say wrongly of itself: fields that are given replace what is sound."""

    sees: Any = None
    people: Any = ("a", "b")
    parts: Any = ()
    lasts: Any = 2

    @property
    def players(self):
        return self.people

    @property
    def roles(self):
        return self.parts

    def to_move(self, state):
        return (0,) if state < self.lasts else ()

    def observe(self, state, seat):
        return super().observe(state, seat)._replace(**(self.sees or {}))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"sees": {"seat": 1}}, "observe: the observation of seat 0 says that it is for seat 1"),
        ({"sees": {"round": 0}}, "observe: the round is 0; it must be a whole number, 1 at least"),
        ({"sees": {"round": "x"}}, "observe: the round is 'x'; it must be a whole number, 1 at least"),
        (
            {"lasts": inf},
            "a match has not ended after 20,000 steps: to_move still gives seats; .* max_rounds says how many",
        ),
    ],
)
def test_what_a_game_says_of_itself_must_fit(changes, why):
    for player in (first, LLM):
        with pytest.raises(AgonError, match=f"^game sound cannot be played: ValueError: {why}"):
            try_out(Seat("x", player), Misfit(**changes))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"parts": ("spy",)}, r"roles is \('spy',\); it must have a text for each of 2 seats"),
        ({"parts": (None, "spy")}, r"roles is \(None, 'spy'\); it must have a text for each of 2 seats"),
        ({"people": ("a",)}, r"players is \('a',\); it must have a text for each of 2 seats"),
        ({"seats": 0}, "seats is 0; it must be a whole number, 1 at least"),
        ({"name": " "}, "name is ' '; it must be a word that can be printed"),
    ],
)
def test_a_game_is_described_before_it_is_planned(changes, why):
    with pytest.raises(AgonError, match=f"^{why}"):
        check_description(Misfit(**changes))


def test_payoffs_are_plain_numbers_in_the_order_of_seats():
    for payoffs in ({1.0, 2.0}, (Decimal(1), Decimal(2)), iter((1, 2)), np.array([1.0, 2.0]), (np.float32("nan"), 1)):
        with pytest.raises(AgonError, match="it pays each of the 2 seats a finite number"):
            try_out(Seat("x", first), Pays(payoffs=payoffs))
    try_out(Seat("x", first), Pays(payoffs=[1, np.float64(0.5)]))


@pytest.mark.parametrize(
    ("payoffs", "paid"),
    [
        ((np.int64(0), np.int64(3)), [0, 3]),
        ((np.float32(0.5), 1), [0.5, 1]),
        ((np.uint8(2), np.float16(0.25)), [2, 0.25]),
        ((Fraction(1, 4), Fraction(6, 2)), [0.25, 3]),
    ],
    ids=str,
)
def test_numbers_of_numpy_and_fractions_are_paid_and_noted(payoffs, paid):
    game = Pays(payoffs=payoffs)
    try_out(Seat("x", first), game)
    turns = turns_table([(match := seated(first, first, game=game), play_now(match))])
    assert turns[turns["turn"] == 1].payoff.tolist() == paid
    noted = Notes(noted=((0, "value", payoffs[0]),))
    turns = turns_table([(match := seated(first, first, game=noted), play_now(match))])
    assert json.loads(turns.detail.iloc[0]) == {"value": paid[0]}


def test_a_number_of_numpy_bounds_a_space():
    space = Number(np.int64(0), np.int64(20), np.int8(5))
    assert json.dumps(space.as_json()) == '{"number": [0, 20], "step": 5}' and space == Number(0, 20, 5)


def test_truth_values_bound_no_number():
    with pytest.raises(TypeError, match="low of a number is a whole number, not True"):
        Number(True, 20)


@dataclass(frozen=True)
class Cast(Sound):
    told: str = "proposer"
    parts: tuple[str, ...] = ()

    @property
    def roles(self):
        return self.parts

    def observe(self, state, seat):
        return super().observe(state, seat)._replace(role=self.told)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({}, "the role of seat 0 is 'proposer', and the game's roles has none: declare one for each seat"),
        (
            {"parts": ("responder", "proposer")},
            "the role of seat 0 is 'proposer', and the game's roles says 'responder'",
        ),
        ({"parts": ("", "proposer")}, "roles says ''"),
        ({"parts": ("proposer", "responder")}, None),
        ({"parts": ("spy", "crowd"), "told": ""}, None),
    ],
)
def test_the_role_that_a_seat_is_told_is_the_games(changes, why):
    for player in (first, LLM):
        if why is None:
            try_out(Seat("x", player), Cast(**changes))
        else:
            with pytest.raises(AgonError, match=why):
                try_out(Seat("x", player), Cast(**changes))


@dataclass(frozen=True)
class Drawn(Sound):
    """Chance that is not drawn from the dice: in what it pays, or in what may be answered."""

    what: str = ""

    def legal_actions(self, state, seat):
        return Choice(("a", f"b{next(COUNTER)}")) if self.what == "legal" else super().legal_actions(state, seat)

    def step(self, state, actions):
        return state + 1, (float(next(COUNTER)) if self.what == "payoffs" else 1.0, 0.0)


COUNTER = count()


@pytest.mark.parametrize(
    ("what", "why"), [("legal", "seat 0 is asked differently"), ("payoffs", "the same match pays")]
)
def test_a_game_that_draws_chance_elsewhere_than_from_the_dice_is_refused(what, why):
    for player in (first, LLM):
        with pytest.raises(AgonError, match=f"^game sound cannot be played: ValueError: {why}"):
            try_out(Seat("x", player), Drawn(what=what))


def test_a_script_is_the_same_twice_and_what_it_answers_can_be_recorded():
    with pytest.raises(AgonError, match="it answers differently with the same dice"):
        try_out(Seat("x", lambda view, dice: "ab"[next(COUNTER) % 2]), Sound())
    with pytest.raises(
        AgonError, match="agent x cannot play sound: TypeError: Object of type set is not JSON serializable"
    ):
        try_out(Seat("x", lambda view, dice: {1}), Sound())
    with pytest.raises(AgonError, match="game sound cannot be played: ValueError: Out of range float"):
        try_out(Seat("x", first), Notes(noted=((0, "x", nan),)))
