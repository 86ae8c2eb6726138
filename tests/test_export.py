"""Exports hold what the turns hold, and prompts what the recording holds."""

import asyncio
import json
from functools import partial
from random import Random

import pandas as pd
import pytest
from harness import PD, RPS, anything

from agon import AgonError
from agon.agents.llm import LLM
from agon.agents.styles import SelfConsistency
from agon.bridges import jsonl
from agon.bridges.rows import Prompts
from agon.models import Answer, CallFailed, Model
from agon.models.ledger import Ledger, Live, Replayed
from agon.models.limits import Budget
from agon.models.recording import FILE, Recording, Writer
from agon.plan import Match, Seat
from agon.play import play, play_async
from agon.turns import COLUMNS, action_text, matches, typed

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


@pytest.fixture(scope="module")
def turns(recorded):
    return recorded[0]


def described(turns):
    """Turns with what scripts and models do not have: details, odd actions and ids, seats that were only paid."""
    offers = ['{"give": 1}', "3", '"3"', "x", None] * (len(turns) // 5 + 1)
    return typed(
        dict(turns.items())
        | {
            "match": "a/b " + turns.match.astype(str),
            "action": offers[: len(turns)],
            "detail": [None if seat else '{"heard": ["ü\\u2028", null]}' for seat in turns.seat],
            "legal": turns.legal.astype(object).where(turns["round"] > 1, None),
        }
    )


# --- JSON lines


def exported(folder):
    """The files as a reader without agon takes them; no file may hold what JSON does not know (NaN)."""

    def refused(word):
        raise AssertionError(f"{word} is no JSON")

    return [
        [json.loads(line, parse_constant=refused) for line in path.read_text().splitlines()]
        for path in sorted(folder.glob("*.jsonl"))
    ]


def as_turns(files):
    """The turns table that the files tell of."""
    rows = []
    for head, *lines, _ in files:
        players = {player["seat"]: player for player in head["seats"]}
        of_match = {name: value for name, value in head.items() if name != "seats"}
        rows += [of_match | line | players[line["seat"]] for line in lines]
    for row in rows:
        for name in ("action", "legal", "detail"):
            row[name] = None if row[name] is None else (action_text if name == "action" else json.dumps)(row[name])
    return typed({name: [row[name] for row in rows] for name in COLUMNS})


@pytest.mark.parametrize("change", [lambda turns: turns, described], ids=["played", "described"])
def test_json_lines_hold_the_turns(turns, change, tmp_path, monkeypatch):
    monkeypatch.setattr("agon.bridges.rows.AT_ONCE", 3)  # of four matches
    turns = change(turns)
    assert jsonl(turns, tmp_path) == 4 == len(exported(tmp_path))
    again = as_turns(exported(tmp_path)).astype(object)
    wanted = turns.astype(object).assign(
        detail=[None if text is pd.NA else json.dumps(json.loads(text)) for text in turns.detail]
    )
    for name in COLUMNS:
        known = wanted[name].notna()
        assert again[name].notna().equals(known), name
        assert again[name][known].tolist() == wanted[name][known].tolist(), name


def test_the_first_line_is_the_match_and_the_last_its_totals(turns, tmp_path):
    jsonl(turns, tmp_path)
    table = matches(turns).set_index(["match", "seat"])
    for head, *lines, last in exported(tmp_path):
        rows = turns[turns.match == head["match"]]
        assert len(lines) == len(rows) and head["seats"][0].keys() == {"seat", "agent", "model"}
        for total in last["totals"]:
            wanted = table.loc[(head["match"], total["seat"])]
            assert (total["points"], total["valid"]) == (wanted.total, wanted.valid)
    assert [player["model"] for player in head["seats"]] == [None, None]


def test_a_files_name_is_the_matchs_id_and_stays_in_the_folder(turns, tmp_path):
    jsonl(described(turns), tmp_path / "in")
    assert next(path.name for path in tmp_path.rglob("*.jsonl")).startswith("a%2Fb%20000")
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_exporting_again_replaces_only_the_same_experiments(turns, tmp_path):
    def files():
        return {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    jsonl(turns, tmp_path)
    first = files()
    jsonl(turns, tmp_path)
    assert files() == first
    fewer = turns[turns.match != "0001"]
    with pytest.raises(AgonError, match="holds 1 other match: --force deletes them"):
        jsonl(fewer, tmp_path)
    assert files() == first
    strange = tmp_path / "mine.jsonl"
    strange.write_text("not a match\n")
    for replace in (False, True):
        with pytest.raises(AgonError, match="holds 2 other matches: empty it"):
            jsonl(fewer, tmp_path, replace)
    strange.unlink()
    assert files() == first
    jsonl(fewer, tmp_path, replace=True)
    assert files() == {name: text for name, text in first.items() if name != "0001.jsonl"}


def test_a_folder_that_cannot_be_written_is_named(turns, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(AgonError, match="file cannot be written"):
        jsonl(turns, tmp_path / "file")


# --- prompts


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
