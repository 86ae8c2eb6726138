"""A prompt holds what the recording holds."""

import asyncio
from functools import partial
from random import Random

import pytest
from harness import PD, RPS, anything

from agon import AgonError
from agon.agents.llm import LLM
from agon.agents.styles import SelfConsistency
from agon.models import Answer, CallFailed, Model
from agon.models.ledger import Ledger, Live, Replayed
from agon.models.limits import Budget
from agon.models.recording import FILE, Recording, Writer
from agon.plan import Match, Seat
from agon.play import play, play_async
from agon_hall.watching.prompts import Prompts

CONVERSATIONS = {}
"""(match, seat) -> the conversation as the agent itself has it."""


class Remembering(LLM):
    """A model's agent that leaves its conversation behind."""

    def take(self, *decided):
        reply = super().take(*decided)
        CONVERSATIONS[self.place.match, self.place.seat] = self.messages
        return reply


class Moody(Model):
    """Thinks now and then; mumbles, falls silent and refuses, by dice from the call's own name."""

    async def answer(self, request):
        dice = Random(request.sample)
        mood = dice.random()
        if mood < 0.03:
            raise CallFailed("400", "not this one", "void")
        move = dice.choice(request.view.legal.options)
        text = "" if mood < 0.1 else "hm" if mood < 0.2 else f"[move] {move}"
        thinking = f"thought {dice.random()}" if mood < 0.6 else ""
        return Answer(text, thinking, 100, 90, 7, 0.25, f"id {request.sample}", "stop" if text else "length")


ZS = Seat("zs", partial(Remembering, style="zs", attempts=2), "moody")
VOTES = Seat("votes", partial(SelfConsistency, k=3, agent=partial(Remembering, style="cot", attempts=2)), "moody")
SCRIPT = Seat("anything", anything)


def match(number, *seats, game=PD):
    return Match("test", f"{number:04}", number, game, seats, number, "0")


MATCHES = [match(1, ZS, SCRIPT), match(2, VOTES, ZS, game=RPS), match(3, SCRIPT, VOTES), match(4, SCRIPT, SCRIPT)]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Turns as they are replayed, and the folder of the recording."""
    folder = tmp_path_factory.mktemp("recorded")
    model = Moody(model="moody-1", parameters={"temperature": 1.0, "max_tokens": 50, "effort": "low"})
    writer = Writer(Recording(folder), folder / "lock")
    clock = iter(range(1_000_000, 2_000_000))
    live = Live("moody", model, Ledger({"moody": model}, writer, Budget()), lambda: next(clock))
    for each in MATCHES[:3]:
        asyncio.run(play_async(each, {"moody": live}))
    writer.close()
    return play(MATCHES, folder / "journal", {"moody": Replayed("moody", model.identity, Recording(folder))}), folder


def test_a_damaged_recording_is_named_by_line(recorded, tmp_path):
    for broken in ("not JSON\n", '{"exchange": 3}\n'):
        (tmp_path / FILE).write_text((recorded[1] / FILE).read_text() + broken)
        with pytest.raises(AgonError, match=r"is damaged in line \d+"):
            Prompts(tmp_path)


def test_a_torn_last_line_is_passed_over(recorded, tmp_path):
    (tmp_path / FILE).write_text((recorded[1] / FILE).read_text() + '{"exchange": "x", "text": "tor')
    assert Prompts(tmp_path).messages.keys() == Prompts(recorded[1]).messages.keys()


def test_a_lost_message_is_named(recorded):
    with pytest.raises(AgonError, match="lacks the message nowhere"):
        Prompts(recorded[1]).conversation("nowhere")


def test_a_prompt_is_the_conversation_before_its_answer(recorded):
    turns, recording = recorded[0], Prompts(recorded[1])
    last = turns[turns.exchange.notna()].groupby(["match", "seat"], observed=True).exchange.last()
    assert len(last) == 4
    for place, exchange in last.items():
        prompt = [(line.role, line.text) for line in recording.prompt(exchange)]
        conversation = [(message.role, message.text) for message in CONVERSATIONS[place]]
        assert prompt and prompt == conversation[: len(prompt)] and len(conversation) == len(prompt) + 1
    assert recording.prompt("nothing") == []
