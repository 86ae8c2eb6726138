"""The real small model, live: whatever is killed, nothing is paid for twice; what it weighs are its own probabilities.

Needs `make pocket`.
"""

import asyncio
import json
import math
import os
import re
import urllib.request
from collections import Counter
from dataclasses import replace
from functools import cache

import pytest
from models.test_local import begun, lacking, real, servers
from patience import LONG
from project import Project

from agon.agents.reads import Weighed, softmax
from agon.conf import load
from agon.games.spaces import Choice
from agon.models import Request, extend
from agon.turns import read

pytestmark = [real, pytest.mark.slow]

ROUNDS = 3
WAYS = ("once", "zs_constrained", "zs_weighed")


@pytest.fixture
def project(tmp_path):
    """A project in which the small model plays a short game in all three ways of reading."""
    made = Project(tmp_path / "project")
    made.conf("game", "short", defaults=["pd", "_self_"], variant="short", rounds=ROUNDS)
    made.conf("agent", "once", defaults=["zs", "_self_"], attempts=1)
    made.conf("model", "server", defaults=["smollm2", "_self_"], concurrency=1, parameters={"max_tokens": 24})
    made.experiment("tiny", 1, seats=(WAYS, ("uniform",)), games=("short",))
    return made


def exchanges(recording):
    """How often each call was answered, by its key."""
    lines = [json.loads(line) for line in recording.read_text().splitlines()]
    return Counter(line["exchange"] for line in lines if "exchange" in line)


def calls(output):
    """The calls that a record says it has made."""
    return int(re.search(r"exchanges; ([\d,]+) calls", output)[1])


def test_after_kills_of_server_and_agon_nothing_is_paid_twice(project):
    recording = project.recordings("tiny") / "exchanges.jsonl"
    process = project.start("record", "experiment=tiny")
    begun(process, recording, 2).kill()
    begun(process, recording, 5)
    process.kill()
    process.communicate(LONG)
    known = exchanges(recording)
    assert 5 <= known.total() < ROUNDS * len(WAYS)
    again = project.run("record", "experiment=tiny")
    assert again.returncode == 0, again.stderr
    whole = exchanges(recording)
    assert known.keys() < whole.keys() and set(whole.values()) == {1}
    assert len(whole) == ROUNDS * len(WAYS) == len(known) + calls(again.stdout)
    for verb in ("play", "record"):
        last = project.run(verb, "experiment=tiny")
        assert last.returncode == 0, last.stderr
    assert calls(last.stdout) == 0 and exchanges(recording) == whole
    turns = read(project.folder / "transcripts/tiny.parquet")
    asked = turns[turns.model.notna()]
    assert len(asked) == ROUNDS * len(WAYS) and asked[asked.agent != "once"].action.notna().all()
    assert (asked.tokens_in > 100).all() and asked[asked.agent == "once"].tokens_out.between(1, 24).all()
    told = [json.loads(detail) for detail in asked[asked.agent == "zs_weighed"].detail]
    assert len(told) == ROUNDS
    for each in told:
        assert math.fsum(chance for _, chance in each["chances"]) == pytest.approx(1) and 0 < each["mass"] <= 1


def chatml(*said):
    """A conversation as the weights' own template writes it, written here by hand."""
    return "".join(f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in said) + "<|im_start|>assistant\n"


def asking(address, secret):
    """How the server is asked, beside agon."""

    def ask(path, **body):
        headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
        request = urllib.request.Request(address.removesuffix("/v1") + path, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    return ask


def every(ask, before):
    """What the server says of every token there is after some others, without any bias."""
    body = {"prompt": before, "n_predict": 1, "n_probs": 100_000, "temperature": 0, "cache_prompt": False}
    [first] = ask("/completion", **body)["completion_probabilities"]
    found = {each["id"]: each["logprob"] for each in first["top_logprobs"]}
    assert math.fsum(map(math.exp, found.values())) == pytest.approx(1, abs=1e-3)
    return found


def test_what_it_weighs_are_its_own_probabilities_of_whole_answers():
    said = [("system", "You play a game. Answer with a move line."), ("user", "cooperation or defection?")]
    said += [("assistant", "[move] defection"), ("user", "Round 2: choose your action.")]
    messages = ()
    for role, text in said:
        messages = extend(messages, role, text)
    options = Weighed().options(Choice(("cooperation", "defection", "cooper")))
    model = replace(load("model", "smollm2"), concurrency=1)

    async def both():
        try:
            request = Request(messages, "match/0/0", options=options)
            answer, again = await model.answer(request), await model.answer(request)
            assert answer.weights == again.weights
            return answer.weights, await asyncio.to_thread(independent)
        finally:
            await model.close()

    def independent():
        ask = asking(model.base_url, model._secret())
        begin = ask("/tokenize", content=chatml(*said), parse_special=True, add_special=True)["tokens"]
        after, found = cache(lambda *before: every(ask, [*begin, *before])), []
        for option in options:
            own = ask("/tokenize", content=option + "<|im_end|>", parse_special=True)["tokens"]
            found.append(math.fsum(after(*own[:place])[token] for place, token in enumerate(own)))
        return found

    weights, own = asyncio.run(both())
    assert servers(os.getpid()) == [] and not lacking()
    assert weights == pytest.approx(own, abs=0.05)
    assert softmax(weights) == pytest.approx(softmax(own), abs=0.02)
