"""Self-consistency around any agent and in any game: a vote, of which one voice stays in the conversation."""

import asyncio
import itertools
from collections import Counter
from dataclasses import replace
from functools import partial
from random import Random

import pytest
from harness import PD, RPS, Told, at_the_table, seated, small
from hypothesis import given, settings
from hypothesis import strategies as st
from patience import LONG

from agon import AgonError
from agon.agents.llm import LLM
from agon.agents.prompts import Prompts
from agon.agents.styles import SelfConsistency
from agon.games.matrix.scripts import grim
from agon.models import Answer, CallFailed
from agon.play import turns_table

BAD = "I would rather not say."
PLAIN = partial(LLM, attempts=1)
THREE = small([[[[1, 2, 3]] * 2] * 2] * 2, rounds=3)


def vote_of(k, agent=PLAIN):
    return partial(SelfConsistency, k=k, agent=agent)


def number_of(request):
    """Which of the k samples a request belongs to."""
    return int(request.sample.rpartition("/")[2].split(".")[1])


def votes(*letters):
    """For `Told`: sample i says the action of the i-th letter, with its own words; "-" is unreadable, "!" refused."""

    def say(request):
        letter = letters[number_of(request)]
        if letter == "!":
            return CallFailed("400", "no", "void")
        label = next((label for label in request.view.legal.options if label[0] == letter), None)
        return f"voice {number_of(request)}: " + (BAD if label is None else f"[move] {label}")

    return say


def decided(*letters, game=RPS, rounds=1, number=0, agent=PLAIN, live=False):
    """(turns of the voting seat, its model) after a vote with these letters in every round."""
    model = Told(votes(*letters), instant=not live)
    match = seated(
        vote_of(len(letters), agent),
        lambda view, dice: view.legal.options[0],
        game=replace(game, rounds=rounds),
        number=number,
    )
    turns = turns_table([(match, at_the_table(match, model, live=live))])
    return turns[turns.seat == 0].reset_index(drop=True), model


def test_all_samples_share_one_question_that_is_written_once(monkeypatch):
    written, turn = Counter(), Prompts.turn
    monkeypatch.setattr(Prompts, "turn", lambda *about: written.update([about[1].round]) or turn(*about))
    _, model = decided(*"rrpps", rounds=3)
    assert written == {1: 1, 2: 1, 3: 1} and len(model.asked) == 15
    assert [len({request.messages[-1].text for request in model.asked[i : i + 5]}) for i in (0, 5, 10)] == [1] * 3


# --- the vote


@pytest.mark.parametrize(
    ("said", "done"), [("rpr", "rock"), ("ppp", "paper"), ("spp", "paper"), ("r", "rock"), ("rps--rp-p", "paper")]
)
def test_what_most_say_is_done(said, done):
    turns, model = decided(*said)
    assert len(model.asked) == len(said) and turns.valid[0] and turns.action[0] == done


@given(st.lists(st.sampled_from("rps-!"), min_size=1, max_size=7), st.integers(0, 5))
@settings(max_examples=60, deadline=None)
def test_the_action_is_one_of_those_said_most(said, number):
    turns, _ = decided(*said, number=number)
    heard = Counter(letter for letter in said if letter not in "-!")
    if heard:
        assert heard[turns.action[0][0]] == max(heard.values()) and turns.valid[0]
    else:
        assert not isinstance(turns.action[0], str) and not turns.valid[0]


def test_a_tie_is_broken_by_the_matchs_dice():
    ties = ["".join(label[0] for label in decided(*"rpps", "r", rounds=8, number=n)[0].action) for n in range(20)]
    again = ["".join(label[0] for label in decided(*"rpps", "r", rounds=8, number=n)[0].action) for n in range(20)]
    shares = Counter("".join(ties))
    assert ties == again and set(shares) == {"r", "p"} and 50 < shares["r"] < 110


def test_unreadable_answers_have_no_vote():
    turns, _ = decided(*"---p!")
    assert (turns.action[0], turns.fallback[0], turns.valid[0]) == ("paper", "", True)


def test_when_no_answer_is_readable_the_turn_has_the_first_reason():
    turns, _ = decided(*"---")
    assert turns.fallback[0] == "forfeit: there is no [move] tag" and not turns.valid[0] and turns.payoff[0] == 0


def test_or_a_random_legal_action_is_taken():
    agent = partial(LLM, attempts=1, on_invalid="random_legal")
    turns, _ = decided(*"---", rounds=20, agent=agent)
    assert set(turns.action) == {"rock", "paper", "scissors"} and not turns.valid.any()
    assert set(turns.fallback) == {"random_legal: there is no [move] tag"}


def test_one_readable_voice_is_stronger_than_a_random_action():
    turns, _ = decided(*"--s", rounds=5, agent=partial(LLM, attempts=1, on_invalid="random_legal"))
    assert set(turns.action) == {"scissors"} and turns.valid.all()


# --- the conversation


def test_the_first_voice_that_said_it_stays_and_the_others_do_not():
    _, model = decided(*"prr", rounds=2)
    said = [message.text for message in model.asked[-1].messages if message.role == "assistant"]
    assert said == ["voice 1: [move] rock"]


def test_all_samples_of_a_turn_are_asked_the_same():
    _, model = decided(*"prs", rounds=4)
    for same in zip(*[iter(model.asked)] * 3, strict=True):
        assert same[0].messages == same[1].messages == same[2].messages and len({each.sample for each in same}) == 3


def test_every_sample_is_asked_again_for_itself():
    def say(request):
        again = request.messages[-1].text.startswith("Your answer cannot be used")
        return "[move] paper" if again or number_of(request) == 2 else BAD

    model = Told(say)
    match = seated(vote_of(3, LLM), grim_rps, game=replace(RPS, rounds=1))
    turn = turns_table([(match, at_the_table(match, model))]).iloc[0]
    assert turn.attempts == len(model.asked) == 5 and turn.action == "paper"


def grim_rps(view, dice):
    return "rock"


def test_the_history_stays_a_prefix_from_turn_to_turn():
    _, model = decided(*"prr", rounds=5)
    turns = [request.messages for request in model.asked[::3]]
    assert all(after[: len(before)] == before for before, after in itertools.pairwise(turns))


# --- cost


def test_tokens_and_attempts_add_up_and_time_is_the_slowest_voices():
    def say(request):
        n = 10 ** number_of(request)
        return Answer("[move] rock", tokens_in=n, tokens_out=2 * n, seconds=n / 8)

    match = seated(vote_of(3), grim_rps, game=replace(RPS, rounds=1))
    turn = turns_table([(match, at_the_table(match, Told(say)))]).iloc[0]
    assert (turn.attempts, turn.tokens_in, turn.tokens_out, turn.seconds) == (3, 111, 222, 100 / 8)


# --- at once


class Meeting(Told):
    """Answers when as many as `expected` are asking, and not before."""

    def __init__(self, say, expected):
        super().__init__(say, instant=False)
        self.barrier = asyncio.Barrier(expected)

    async def answer(self, request):
        async with asyncio.timeout(LONG):
            await self.barrier.wait()
        return await super().answer(request)


@pytest.mark.parametrize("seats", [1, 2])
def test_all_voices_of_all_seats_are_asked_at_once(seats):
    model = Meeting(votes(*"prrps"), 5 * seats)
    players = [vote_of(5)] * seats + [grim_rps] * (2 - seats)
    at_the_table(seated(*players, game=replace(RPS, rounds=2)), *[model] * 2, live=True)
    assert len(model.asked) == 2 * 5 * seats


class Whenever(Told):
    """Answers in another order than it was asked."""

    async def answer(self, request):
        await asyncio.sleep(Random(request.sample).random() / 200)
        return await super().answer(request)


@pytest.mark.parametrize("on_invalid", ["forfeit", "random_legal"])
def test_which_voice_is_first_changes_nothing(on_invalid):
    def say(request):
        dice = Random(request.sample)
        return BAD if dice.random() < 0.7 else f"[move] {dice.choice(request.view.legal.options)}"

    match = seated(*[vote_of(3, partial(LLM, attempts=1, on_invalid=on_invalid))] * 2, game=RPS)
    at_once = turns_table([(match, at_the_table(match, Told(say), Told(say)))])
    live = turns_table([(match, at_the_table(match, Whenever(say, False), Whenever(say, False), live=True))])
    assert at_once.equals(live) and 0 < at_once.valid.mean() < 1


# --- in any game, around any style


def test_it_votes_in_a_game_for_three():
    models = [Told(votes(*letters)) for letters in ("aab", "bba", "b-a")]
    match = seated(*[vote_of(3)] * 3, game=THREE)
    turns = turns_table([(match, at_the_table(match, *models))])
    assert (
        turns.valid.all()
        and set(turns[turns.seat == 0].action) == {"a"}
        and set(turns[turns.seat == 1].action) == {"b"}
    )
    assert [len(model.asked) for model in models] == [9, 9, 9]


@pytest.mark.parametrize("style", ["zs", "cot", "spp"])
def test_any_style_may_be_asked_several_times(style):
    _, model = decided(*"cdc", game=PD, agent=partial(LLM, style=style))
    _, plain = decided("c", game=PD, agent=partial(LLM, style=style))
    assert {request.messages for request in model.asked} == {plain.asked[0].messages}
    assert SelfConsistency.texts(PD, partial(LLM, style=style)) is LLM.texts(PD, style=style)


@pytest.mark.parametrize("k", [0, "three"])
def test_a_vote_of_nobody_is_refused(k):
    with pytest.raises(AgonError, match=f"k is {k}; it must be at least 1"):
        at_the_table(seated(vote_of(k), grim), Told(votes("c")))


@pytest.mark.parametrize("agent", [vote_of(2), grim, "zs"])
def test_only_answers_of_an_llm_are_voted_over(agent):
    with pytest.raises(AgonError, match="it votes over answers of an LLM"):
        SelfConsistency.texts(PD, agent)
        at_the_table(seated(vote_of(3, agent), grim), Told(votes("c")))
