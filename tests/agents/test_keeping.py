"""What stays in a model's conversation, and that it fits into the model's context."""

from itertools import pairwise

import pytest
from harness import PD, Told, at_the_table, in_turn, seated
from hypothesis import given, settings
from hypothesis import strategies as st

from agon import AgonError
from agon.agents.keeping import BudgetedModel, ContextPolicy, Full, drop_before, keeps_of
from agon.agents.llm import LLM
from agon.agents.styles import SelfConsistency
from agon.conf import build, load
from agon.games.matrix.scripts import tit_for_tat
from agon.models import Answer, TooLong, extend, message
from agon.plan.seats import identity_of

GOOD = "[move] cooperation"


def agent(**settings):
    def made(place):
        return LLM(place, **settings)

    made.__name__ = "agent"
    return type("Agent", (), {"__new__": staticmethod(lambda cls, place: made(place))})


def asked_of(model, **settings):
    """The match of an agent with these settings against a script, and what its model was asked."""
    played = at_the_table(seated(agent(**settings), tit_for_tat), model, None)
    return played.answers[::2], model.asked


def roles(request):
    return [each.role for each in request.messages]


def chained(request):
    """Whether every message names the one before."""
    return all(one.id == two.before for one, two in pairwise(request.messages))


def in_order(request):
    """System first, then user and assistant in turn, ending with user."""
    return roles(request) == ["system", *(["user", "assistant"] * len(request.messages))[: len(request.messages) - 1]]


@pytest.mark.parametrize(
    "given", ["all", "", 5, {"rounds": 0}, {"last": 3}, {"summary": 50}, {"rounds": 3, "summary": 5}]
)
def test_what_keeps_cannot_be_is_said_in_a_line(given):
    with pytest.raises(AgonError, match=r"^keeps"):
        keeps_of(given)
    with pytest.raises(AgonError, match=r"^keeps does not fit"):
        build({"_target_": "agon.agents.llm.LLM", "_partial_": True, "keeps": given})


def test_everything_is_the_default_and_hashes_to_nothing():
    told = {"_target_": "agon.agents.llm.LLM", "style": "zs"}
    default = {"keeps": "everything", "overflow": "stop", "reads": "free"}
    assert identity_of(told | default, LLM.idle, LLM.usual) == identity_of(told)
    assert identity_of(told | {"keeps": "readable"}, LLM.idle, LLM.usual) != identity_of(told)
    assert identity_of({"agent": told | default}, SelfConsistency.idle, SelfConsistency.usual) == identity_of(
        {"agent": told}
    )


def test_unreadable_answers_leave_once_the_question_is_decided():
    model = Told(in_turn("dunno", "what?", GOOD))
    _, asked = asked_of(model, keeps="readable")
    texts = [each.text for each in asked[-1].messages]
    assert "dunno" in [each.text for each in asked[2].messages]  # while it is asked again they are there
    assert "dunno" not in texts and "what?" not in texts and texts.count(GOOD) == PD.rounds - 1
    assert all(in_order(each) and chained(each) for each in asked)


def test_where_no_answer_can_be_read_a_sign_stays_and_no_wrong_words():
    _, asked = asked_of(Told(lambda request: "dunno"), keeps="readable", attempts=2)
    assert "dunno" not in [each.text for each in asked[-2].messages] and in_order(asked[-2])


@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_the_last_rounds_stay(rounds):
    model = Told(lambda request: f"round {request.view.round}: {GOOD}")
    replies, asked = asked_of(model, keeps={"rounds": rounds})
    for request in asked:
        now = request.view.round
        said = [each.text.split()[1].strip(":") for each in request.messages if each.role == "assistant"]
        assert said == [str(each) for each in range(max(1, now - rounds + 1), now)]
        assert in_order(request) and chained(request)
    assert replies[rounds].detail == {"left_out": 2} and replies[rounds - 1].detail is None


@pytest.mark.parametrize("keeps", ["readable", {"rounds": 2}])
def test_votes_over_several_answers_share_one_conversation(keeps):
    model = Told(lambda request: GOOD)
    player = type(
        "Voter",
        (),
        {"__new__": staticmethod(lambda cls, place: SelfConsistency(place, k=3, agent=lambda p: LLM(p, keeps=keeps)))},
    )
    at_the_table(seated(player, tit_for_tat), model, None)
    assert all(in_order(each) and chained(each) for each in model.asked)
    assert len({each.sample for each in model.asked}) == len(model.asked)


# --- the context


class Tokens:
    """A model that counts a token for so many bytes, has room for so many, and refuses what is longer."""

    instant = True

    def __init__(self, room, per=4, told=True, wrong=0):
        self.room, self.per, self.told, self.wrong = room, per, told, wrong
        self.asked, self.refused = [], 0

    def size(self, request):
        return sum(len(each.text.encode()) for each in request.messages) // self.per

    async def answer(self, request):
        self.asked.append(request)
        if (size := self.size(request)) > self.room - self.wrong:
            self.refused += 1
            raise TooLong("400", f"status 400: exceed_context_size_error: {size} tokens", "void")
        return Answer(LONG, tokens_in=size if self.told else 0, tokens_out=len(LONG) // self.per + 1)


def smallest():
    """Tokens of the first question, with 4 letters to a token."""
    model = Tokens(10**9)
    asked_of(model)
    return model.size(model.asked[0])


LONG = f"{'I think of it again and again. ' * 20}\n{GOOD}"


@given(per=st.sampled_from([2, 3, 4, 5]), more=st.integers(0, 4000), told=st.booleans())
@settings(deadline=None, max_examples=25)
def test_what_does_not_fit_is_never_sent(per, more, told):
    room = 4 * smallest() + more
    model = Tokens(room, per, told)
    try:
        replies, asked = asked_of(model, overflow="cut")
    except Full:
        return
    assert model.refused == 0 and len(replies) == PD.rounds and all(map(in_order, asked)) and all(map(chained, asked))
    left = [(reply.detail or {}).get("left_out", 0) for reply in replies]
    assert all(each % 2 == 0 for each in left)


def test_a_long_match_is_cut_and_its_turns_say_so():
    model = Tokens(3 * smallest())
    replies, _ = asked_of(model, overflow="cut")
    assert model.refused == 0 and len(replies) == PD.rounds and not any(reply.fallback for reply in replies)
    assert sum((reply.detail or {}).get("left_out", 0) for reply in replies) > 0


def test_without_leave_to_cut_the_match_stops_and_says_why():
    with pytest.raises(
        Full, match=r"does not fit into the model's context \(about .* tokens, and there is room for .*overflow: cut"
    ):
        asked_of(Tokens(3 * smallest()))


def test_what_the_server_refuses_for_its_length_is_no_forfeit():
    room = 4 * smallest()
    model = Tokens(room, wrong=room - int(1.5 * smallest()))
    replies, _ = asked_of(model, overflow="cut")
    assert model.refused > 0 and not any(reply.fallback for reply in replies)
    with pytest.raises(Full, match="exceed_context_size_error"):
        asked_of(Tokens(room, wrong=room - int(1.5 * smallest())))


def test_a_model_whose_context_is_not_known_is_asked_anything():
    model = Told(lambda request: GOOD)
    assert len(asked_of(model)[0]) == PD.rounds


def test_a_replay_cuts_at_the_same_places():
    room = 3 * smallest()
    one, two = Tokens(room), Tokens(room)
    asked_of(one, overflow="cut"), asked_of(two, overflow="cut")
    assert [each.messages for each in one.asked] == [each.messages for each in two.asked]


@given(texts=st.lists(st.text(max_size=300), min_size=1, max_size=8))
def test_nothing_is_counted_as_less_than_two_letters_for_a_token(texts):
    messages = ()
    for place, text in enumerate(texts):
        messages = extend(messages, "assistant" if place % 2 else "user", text)
    count = BudgetedModel(Told(lambda request: GOOD), 10).tokens(messages)
    assert count >= sum(len(each.encode()) if not each.isascii() else len(each) / 2 for each in texts)


def test_a_conversation_without_its_middle_is_a_conversation():
    messages = (message("system", "s"),)
    for place in range(6):
        messages = extend(
            messages, "assistant" if place % 2 else "user", str(place), ({"a": place},) if place % 2 else ()
        )
    left = drop_before(messages, 3)
    assert [each.text for each in left] == ["s", "2", "3", "4", "5"] and left[2].opaque == ({"a": 3},)
    assert all(one.id == two.before for one, two in pairwise(left))


def test_the_room_of_a_model_is_its_context_less_its_longest_answer():
    model = load("model", "smollm2")
    assert model.room == model.context - model.parameters["max_tokens"]
    assert keeps_of("everything") == ContextPolicy()
