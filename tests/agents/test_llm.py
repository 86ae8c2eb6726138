"""A language model at the table: reads, asks again with what was wrong, gives up in time, and counts what it cost."""

import asyncio
import itertools
from dataclasses import replace
from functools import partial
from random import Random

import pytest
from harness import MATRIX, PD, RPS, Told, at_the_table, in_turn, seated
from hypothesis import given, settings
from hypothesis import strategies as st
from patience import LONG

from agon import AgonError
from agon.agents import Place, seat_dice
from agon.agents.llm import LLM
from agon.agents.styles import SelfConsistency
from agon.conf.building import build
from agon.games.matrix.scripts import grim
from agon.models import Answer, CallFailed
from agon.models.base import identity_of, key_of
from agon.play import turns_table

GOOD, BAD = "[move] defection", "I would rather not say."
REFUSED = CallFailed("400", "status 400: content policy", "void")


def alone(*texts, game=PD, rounds=1, player=LLM, against=grim, number=0):
    """(turns of the model's seat, the model) when it says these texts, one after another, to a script."""
    model = Told(in_turn(*texts))
    match = seated(player, against, game=replace(game, rounds=rounds), number=number)
    turns = turns_table([(match, at_the_table(match, model))])
    return turns[turns.seat == 0].reset_index(drop=True), model


def only(*texts, **settings):
    """The one turn that comes of these texts."""
    turns, _ = alone(*texts, **settings)
    return turns.iloc[0]


# --- reading and asking again


def test_a_readable_answer_is_the_action():
    turn = only("Let me think. [move] (it pays) Defection")
    assert (turn.action, turn.valid, turn.attempts, turn.fallback) == ("defection", True, 1, "")
    assert turn.reply == "Let me think. [move] (it pays) Defection"


def test_an_unreadable_answer_is_asked_again_with_what_was_wrong():
    turns, model = alone(BAD, "[move] defect", "[move] defection [move] defection", GOOD)
    faults = [request.messages[-1].text.partition(".")[0] for request in model.asked[1:]]
    assert faults == [
        "Your answer cannot be used: there is no [move] tag",
        "Your answer cannot be used: after [move] there is not one legal action and nothing else in its line",
        "Your answer cannot be used: there are 2 [move] tags",
    ]
    assert (turns.action[0], turns.valid[0], turns.attempts[0], turns.reply[0]) == ("defection", True, 4, GOOD)


@pytest.mark.parametrize("attempts", [1, 2, 5])
def test_at_most_so_many_answers_are_asked_for(attempts):
    turns, model = alone(BAD, player=partial(LLM, attempts=attempts))
    assert len(model.asked) == turns.attempts[0] == attempts


def test_the_last_answer_that_is_allowed_may_still_be_readable():
    assert only(BAD, BAD, GOOD, player=partial(LLM, attempts=3)).valid


def test_without_a_readable_answer_the_turn_is_forfeit_and_says_why():
    turn = only(BAD)
    assert (turn.action is None or turn.action != turn.action) and not turn.valid and turn.payoff == 0
    assert (turn.fallback, turn.attempts, turn.reply) == ("forfeit: there is no [move] tag", 5, BAD)


def test_or_a_random_legal_action_is_taken_and_the_turn_is_invalid():
    turn = only(BAD, player=partial(LLM, on_invalid="random_legal"))
    assert turn.action in ("cooperation", "defection") and turn.payoff > 0 and not turn.valid
    assert turn.fallback == "random_legal: there is no [move] tag"


def test_random_legal_actions_come_from_the_matchs_dice():
    def drawn(number):
        turns, _ = alone(BAD, rounds=12, player=partial(LLM, on_invalid="random_legal", attempts=1), number=number)
        return "".join(turns.action)

    assert drawn(1) == drawn(1) and len({drawn(number) for number in range(8)}) == 8


def test_what_was_said_wrongly_stays_in_the_conversation():
    _, model = alone(BAD, GOOD, rounds=2)
    roles = [(message.role, message.text) for message in model.asked[-1].messages]
    assert [role for role, _ in roles] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert [text for role, text in roles if role == "assistant"] == [BAD, GOOD]


def test_an_answer_without_words_leaves_a_sign_in_the_conversation():
    turns, model = alone("", GOOD)
    assert model.asked[1].messages[2].text == "(no answer)" and turns.valid[0]


# --- the provider refuses


@pytest.mark.parametrize(("on_invalid", "acts"), [("forfeit", False), ("random_legal", True)])
def test_a_conversation_that_the_provider_refuses_is_void_with_the_reason(on_invalid, acts):
    turn = only(REFUSED, player=partial(LLM, on_invalid=on_invalid))
    assert turn.fallback == f"{on_invalid}: refused by the provider: status 400: content policy"
    assert isinstance(turn.action, str) == acts and not turn.valid
    assert (turn.attempts, turn.tokens_in, turn.tokens_out) == (1, 0, 0)


def test_a_refusal_after_a_wrong_answer_counts_both():
    turn = only(BAD, REFUSED)
    assert (turn.attempts, turn.tokens_in, turn.reply) == (2, 7, BAD)


def test_after_a_refusal_the_match_goes_on_and_roles_still_take_turns():
    turns, model = alone(REFUSED, GOOD, rounds=3)
    assert turns.valid.tolist() == [False, True, True]
    assert [m.role for m in model.asked[-1].messages] == ["system", *["user", "assistant"] * 2, "user"]


# --- what it cost


def test_tokens_attempts_and_seconds_are_those_of_all_answers():
    said = [
        Answer(text, tokens_in=n, tokens_out=2 * n, seconds=n / 8) for n, text in ((100, BAD), (20, BAD), (3, GOOD))
    ]
    turn = only(*said)
    assert (turn.attempts, turn.tokens_in, turn.tokens_out, turn.tokens, turn.seconds) == (3, 123, 246, 369, 123 / 8)


@pytest.mark.parametrize(("known", "tokens"), [((7, 3), [7, 3, 10]), ((0, 0), [None] * 3)])
def test_tokens_that_the_provider_does_not_say_are_absent(known, tokens):
    turn = only(Answer(GOOD, tokens_in=known[0], tokens_out=known[1], unreported=True))
    found = turn[["tokens_in", "tokens_out", "tokens"]]
    assert found.astype(object).where(found.notna(), None).tolist() == tokens


@pytest.mark.parametrize(
    ("recorded", "cached"), [((True, True), True), ((True, False), False), ((False, False), False)]
)
def test_a_turn_is_cached_when_all_its_answers_were_recorded(recorded, cached):
    said = [Answer(text, recorded=kept, exchange=text) for text, kept in zip((BAD, GOOD), recorded, strict=True)]
    turn = only(*said)
    assert turn.cached == cached and turn.exchange == GOOD


# --- the history


def histories(*texts, rounds=6, attempts=5):
    _, model = alone(*texts, rounds=rounds, player=partial(LLM, attempts=attempts))
    return [request.messages for request in model.asked]


@given(st.lists(st.sampled_from([GOOD, BAD, "", "[move] cooperation", REFUSED]), max_size=20))
@settings(max_examples=40, deadline=None)
def test_every_request_begins_with_all_of_the_one_before(said):
    for before, after in itertools.pairwise(histories(*said, GOOD)):
        assert after[: len(before)] == before and [message.role for message in after[len(before) :]] == [
            "assistant",
            "user",
        ]
        assert [message.before for message in after[1:]] == [message.id for message in after[:-1]]


def test_every_message_has_its_own_id_even_where_texts_recur():
    ids = [message.id for message in histories(BAD, attempts=2)[-1]]
    assert len(set(ids)) == len(ids)


def test_the_same_conversation_has_the_same_ids():
    assert histories(BAD, GOOD) == histories(BAD, GOOD)


# --- samples


@pytest.mark.parametrize("player", [LLM, partial(SelfConsistency, k=3, agent=partial(LLM, attempts=2))])
def test_no_two_requests_of_a_match_have_the_same_sample(player):
    models = [Told(lambda request: BAD if request.view.round % 2 else "[move] rock") for _ in range(2)]
    at_the_table(seated(player, player, game=RPS), *models)
    samples = [request.sample for model in models for request in model.asked]
    assert len(set(samples)) == len(samples) > 2 * 24


def test_two_matches_never_share_an_answer_however_alike():
    one, other = (alone(GOOD, number=number)[1].asked[0] for number in (1, 2))
    identity = identity_of("m", {})
    assert one.messages == other.messages and key_of(identity, one) != key_of(identity, other)


def test_other_parameters_make_another_key():
    request = alone(GOOD)[1].asked[0]
    assert len({key_of(identity_of("m", {"temperature": t}), request) for t in (0.0, 0.7, 1.0)}) == 3


def test_a_request_says_how_long_an_answer_is_expected():
    assert alone(GOOD, player=partial(LLM, answer_tokens=250))[1].asked[0].expected == 250


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


def test_both_seats_are_asked_at_once():
    model = Meeting(lambda request: "[move] cooperation", 2)
    played = at_the_table(seated(LLM, LLM, game=replace(PD, rounds=3)), model, model, live=True)
    assert len(played.rows) == 3 and len(model.asked) == 6


class Whenever(Told):
    """Answers after a while that depends on the seat and the round."""

    async def answer(self, request):
        await asyncio.sleep((request.view.seat + request.view.round) % 2 / 500)
        return await super().answer(request)


@pytest.mark.parametrize("on_invalid", ["forfeit", "random_legal"])
def test_who_answers_first_changes_nothing(on_invalid):
    def say(request):
        return BAD if Random(request.sample).random() < 0.4 else "[move] paper"

    match = seated(*[partial(LLM, on_invalid=on_invalid, attempts=2)] * 2, game=RPS)
    at_once = turns_table([(match, at_the_table(match, Told(say), Told(say)))])
    live = turns_table(
        [(match, at_the_table(match, Whenever(say, instant=False), Whenever(say, instant=False), live=True))]
    )
    assert at_once.equals(live) and not at_once.valid.all()


# --- what does not fit


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"attempts": 0}, "attempts does not fit: it must be a whole number, at least 1"),
        ({"on_invalid": "forfiet"}, "it is 'forfiet', and must be forfeit or random_legal: did you mean forfeit?"),
        ({"style": "rhyme"}, "there is no prompt styles/rhyme.md"),
        ({"atempts": 3}, "atempts"),
    ],
)
def test_a_setting_that_does_not_fit_is_said_in_a_line(setting, said):
    with pytest.raises(AgonError, match=said) as caught:
        alone(GOOD, player=build({"_target_": "agon.agents.llm.LLM", "_partial_": True, **setting}))
    assert "\n" not in str(caught.value)


def test_an_agent_without_a_model_says_how_to_name_one():
    with pytest.raises(AgonError, match=r"needs a model: name one in the experiment \(models: "):
        at_the_table(seated(LLM, grim))


@pytest.mark.parametrize("name", MATRIX)
def test_it_plays_every_game(name):
    turns, model = alone(
        f"[move] {MATRIX[name].options[-1]}", game=MATRIX[name], rounds=4, against=lambda v, d: v.legal.options[0]
    )
    assert turns.valid.all() and len(model.asked) == 4


def test_a_place_says_who_asks():
    model = Told(in_turn(GOOD))
    view = PD.observe(PD.start(seat_dice(0, -1)), 1)
    asyncio.run(LLM(Place("abc", 1, model)).act(view, seat_dice(1, 1)))
    assert model.asked[0].sample == "abc/1/0.0.0" and model.asked[0].view is view
