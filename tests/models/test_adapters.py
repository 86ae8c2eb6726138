"""Both adapters against a provider that fails as told: what is sent, what is read, what each failure means, and no secrets."""

import asyncio
import json
import math
import os
import pickle
import re
import time
import traceback
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import get_args
from unittest import mock

import msgspec
import pytest
from anthropic.types import Model as Claudes
from fault_server import FAULTS, FaultServer, conversation
from hypothesis import given
from hypothesis import strategies as st
from openai.types import ChatModel

from agon import ROOT, AgonError
from agon.conf import CONF, load, settings_of
from agon.models import Answer, CallFailed, Request, extend, message
from agon.models.anthropic import Anthropic
from agon.models.errors import failure, hide_pieces, one_line, refusal, seconds_to_wait
from agon.models.openai import OpenAI
from agon.models.recording import Exchange
from agon.models.remote import charge_of, storable
from agon.models.responses import Responses

KINDS = [OpenAI, Anthropic, Responses]
CANARY = "canary-5f0c1e77d2"
SHORT = Request((message("system", "The rules."), message("user", "Your move?")), "match/0/0")
LONG = Request((*SHORT.messages, message("assistant", "[move] hare"), message("user", "And now?")), "match/0/1")


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("SOME_KEY", CANARY)


def model(kind, server, **settings):
    """A model at the server."""
    address = server.anthropic if kind is Anthropic else server.openai
    given = {"model": "m", "key": "SOME_KEY", "base_url": address, "parameters": {"max_tokens": 100}, "timeout": 20.0}
    return kind(**given | settings)


def asked(kind, request=SHORT, times=1, settings=None, **server):
    """(what each of `times` calls in turn answered or raised, the server)."""

    async def play():
        async with FaultServer(**server) as running:
            asked_model, found = model(kind, running, **settings or {}), []
            for _ in range(times):
                try:
                    found.append(await asked_model.answer(request))
                except CallFailed as failed:
                    found.append(failed)
            await asked_model.close()
            return found, running

    return asyncio.run(play())


def the_answer(kind, request=SHORT, **server):
    [found], _ = asked(kind, request, **server)
    return found


# --- what is sent


def sent(kind, request=LONG, **settings):
    _, server = asked(kind, request, settings=settings)
    return server.bodies[0]


def test_openai_is_sent_the_conversation_as_it_is():
    assert sent(
        OpenAI, parameters={"temperature": 0.7, "top_p": 1.0, "max_tokens": 50, "effort": "low", "seed": 3}
    ) == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "The rules."},
            {"role": "user", "content": "Your move?"},
            {"role": "assistant", "content": "[move] hare"},
            {"role": "user", "content": "And now?"},
        ],
        "temperature": 0.7,
        "top_p": 1.0,
        "max_completion_tokens": 50,
        "reasoning_effort": "low",
        "seed": 3,
    }


def test_the_newer_protocol_is_sent_items_and_told_to_store_nothing():
    schema = {"type": "object", "properties": {"action": {"enum": ["hare"]}}, "required": ["action"]}
    body = sent(
        Responses, replace(LONG, schema=schema), parameters={"temperature": 0.7, "max_tokens": 50, "effort": "low"}
    )
    assert body == {
        "model": "m",
        "input": [
            {"role": "system", "content": "The rules."},
            {"role": "user", "content": "Your move?"},
            {"role": "assistant", "content": "[move] hare"},
            {"role": "user", "content": "And now?"},
        ],
        "store": False,
        "temperature": 0.7,
        "max_output_tokens": 50,
        "reasoning": {"effort": "low"},
        "include": ["reasoning.encrypted_content"],
        "text": {"format": {"type": "json_schema", "name": "answer", "strict": True, "schema": schema}},
    }


@pytest.mark.parametrize(
    "content",
    [
        {"error": {"code": "server_error", "message": "broke"}},
        {"status": "failed"},
        {"status": "cancelled"},
        {"output": None},
    ],
)
def test_the_newer_protocol_tells_failures_in_good_responses(content):
    good = {"id": "1", "status": "completed", "output": [], "usage": {"input_tokens": 1, "output_tokens": 0}}
    assert read(Responses, good).text == ""
    with pytest.raises((ValueError, TypeError)):
        read(Responses, good | content)


def test_the_newer_protocol_tells_no_log_probabilities():
    with pytest.raises(AgonError, match="logprobs are only at /chat/completions"):
        Responses(model="m", logprobs="chat")


def test_older_servers_are_sent_max_tokens():
    body = sent(OpenAI, max_tokens_name="max_tokens")
    assert body["max_tokens"] == 100
    assert "max_completion_tokens" not in body


def test_anthropic_is_sent_the_system_apart_and_marks_for_the_cache():
    mark = {"cache_control": {"type": "ephemeral"}}
    assert sent(Anthropic, parameters={"temperature": 1.0, "max_tokens": 4000, "thinking": 2000, "effort": "high"}) == {
        "model": "m",
        "system": [{"type": "text", "text": "The rules."} | mark],
        "messages": [
            {"role": "user", "content": "Your move?"},
            {"role": "assistant", "content": "[move] hare"},
            {"role": "user", "content": [{"type": "text", "text": "And now?"} | mark]},
        ],
        "temperature": 1.0,
        "max_tokens": 4000,
        "thinking": {"type": "enabled", "budget_tokens": 2000},
        "output_config": {"effort": "high"},
    }


@pytest.mark.parametrize(("kind", "name"), [(OpenAI, "stop"), (Anthropic, "stop_sequences")])
def test_texts_at_which_to_stop_are_sent_by_the_protocols_own_name(kind, name):
    assert sent(kind, parameters={"max_tokens": 9, "stop": ["\n\n", "[end]"]})[name] == ["\n\n", "[end]"]


def test_anthropic_without_cache_is_sent_no_marks():
    assert "cache_control" not in json.dumps(sent(Anthropic, cache=False))


@pytest.mark.parametrize(
    ("thinking", "form"), [("adaptive", {"type": "adaptive"}), (0, {"type": "disabled"}), (None, None)]
)
def test_thinking_may_also_be_adaptive_off_or_left_to_the_model(thinking, form):
    assert sent(Anthropic, parameters={"max_tokens": 9, "thinking": thinking}).get("thinking") == form


@pytest.mark.parametrize("kind", KINDS)
def test_extra_is_sent_as_it_is_and_null_is_not_sent(kind):
    body = sent(kind, parameters={"max_tokens": 9, "temperature": None, "extra": {"user": "u", "max_tokens": 3}})
    assert body["user"] == "u"
    assert body["max_tokens"] == 3
    assert "temperature" not in body


@pytest.mark.parametrize("kind", KINDS)
def test_a_blank_message_is_sent_as_words_since_providers_refuse_blanks(kind):
    request = Request((*SHORT.messages, message("assistant", " \n"), message("user", "Again?")), "s")
    assert "(no answer)" in conversation(sent(kind, request))


@pytest.mark.parametrize("kind", KINDS)
def test_any_text_arrives_as_it_was_written(kind):
    text = '猪 "quoted" \\ 🦌\u2028\x00 end'
    assert conversation(sent(kind, Request((message("user", text),), "s"))) == [text]


@pytest.mark.parametrize("kind", KINDS)
def test_half_a_surrogate_pair_does_not_stop_a_run(kind):
    assert conversation(sent(kind, Request((message("user", "deer \ud83e"),), "s"))) == ["deer ?"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_key_is_sent_and_a_server_without_keys_gets_none_of_ours(kind, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", CANARY)
    monkeypatch.setenv("OPENAI_ADMIN_KEY", CANARY)
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", CANARY)
    _, server = asked(kind)
    assert server.given == CANARY
    _, server = asked(kind, settings={"key": None})
    assert CANARY not in str(server.headers)


# --- what is read


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_is_read_with_its_usage(kind):
    def text(body):
        return "said\n" + conversation(body)[-1]

    answer = the_answer(kind, LONG, answer=text, thinking="think " * 8)
    assert (answer.text, answer.thinking) == ("said\nAnd now?", "think " * 8)
    assert answer.tokens_in == sum(len(message.text) for message in LONG.messages) // 4
    assert answer.tokens_cached == len("The rules.Your move?") // 4
    assert answer.tokens_out == (len("said\nAnd now?") // 4) + len("think " * 8) // 4
    assert answer.stop in ("stop", "end_turn", "completed")
    assert answer.id
    assert 0 < answer.seconds < 20
    assert not answer.recorded


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_answer_is_an_answer(kind):
    assert the_answer(kind, script=["empty"]).text == ""
    assert the_answer(kind, script=["length"]).stop in ("length", "max_tokens", "max_output_tokens")


@pytest.mark.parametrize("kind", KINDS)
def test_a_refusal_is_an_answer_that_says_so(kind):
    answer = the_answer(kind, script=["refusal"])
    assert answer.stop == "refusal"
    assert answer.text == ("" if kind is Anthropic else "I can't help with that.")


def read(kind, content):
    return kind(model="m").read(content)


def chat(message, **usage):
    return {"id": "1", "choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}


def test_other_servers_forms_of_thinking_are_read():
    assert read(OpenAI, chat({"content": "a", "reasoning": "b"})).thinking == "b"
    assert read(OpenAI, chat({"content": None, "reasoning_content": "b"})).text == ""
    assert read(OpenAI, chat({"content": "a", "reasoning_content": {"tokens": 3}, "reasoning": None})).text == "a"
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "b"}]}, {"type": "text", "text": "a"}]
    answer = read(OpenAI, chat({"content": parts}))
    assert (answer.text, answer.thinking) == ("a", "b")


def test_other_servers_forms_of_usage_are_read():
    answer = read(OpenAI, chat({"content": "a"}, prompt_tokens=10, prompt_cache_hit_tokens=8, completion_tokens=None))
    assert (answer.tokens_in, answer.tokens_cached, answer.tokens_out) == (10, 8, 0)
    apart = read(OpenAI, chat({"content": "a"}, prompt_tokens=10, completion_tokens=5, total_tokens=35))
    assert apart.tokens_out == 25  # thinking is in the total alone
    assert read(OpenAI, {"choices": [{"message": {"content": "a"}}], "usage": None}).tokens_in == 0


@pytest.mark.parametrize("told", [{}, [], "many", None])
def test_an_answer_without_usage_is_an_answer(told):
    assert read(OpenAI, chat({"content": "a"}) | {"usage": told}).tokens_in == 0


def check_tokens(number):
    """Fails unless a count of tokens, whatever it is, is written so that it can be read again."""
    answer = read(OpenAI, chat({"content": "a"}, prompt_tokens=number, completion_tokens=number, total_tokens=number))
    other = read(Anthropic, {"content": [], "usage": {"input_tokens": number, "output_tokens": number}})
    line = msgspec.json.encode(
        Exchange("k", "m", {}, "a", "s", tokens_in=answer.tokens_in, tokens_out=answer.tokens_out)
    )
    assert msgspec.json.decode(line, type=Exchange).tokens_in == other.tokens_in in (0, 1, 10)
    assert type(other.tokens_out) is int


def test_however_tokens_are_told_the_recording_can_be_read_again():
    for number in [10.0, 10.4, "10", float("nan"), float("inf"), -10, 10**20, [10], True]:
        check_tokens(number)


def test_no_more_is_read_from_the_cache_than_was_sent():
    details = {"cached_tokens": 1000, "cache_write_tokens": 1000}
    answer = read(OpenAI, chat({"content": "a"}, prompt_tokens=10, prompt_tokens_details=details))
    assert (answer.tokens_cached, answer.tokens_written) == (10, 0)


def test_ids_and_reasons_that_are_numbers_are_written_as_text():
    number = {"id": 7, "choices": [{"message": {"content": "a"}, "finish_reason": 3}]}
    assert (read(OpenAI, number).id, read(OpenAI, number).stop) == ("7", "3")
    assert read(Anthropic, {"id": 7, "content": [], "stop_reason": 3}).id == "7"


@pytest.mark.parametrize("kind", KINDS)
def test_a_key_that_the_server_echoes_is_not_in_the_answer(kind, monkeypatch):
    monkeypatch.setenv("SOME_KEY", CANARY)
    found, _ = asked(kind, times=2, answer=lambda body: f"Bearer {CANARY} [move] hare")
    assert [each.text for each in found] == ["Bearer [hidden] [move] hare"] * 2


LONG_KEY = "sk-proj-nA7xQ2mZ9tB4vK8sD1fG6hJ3"
PIECES = {
    "its beginning": LONG_KEY[:12],
    "its end": LONG_KEY[-8:],
    "its middle": LONG_KEY[9:20],
    "twice": f"{LONG_KEY}{LONG_KEY}",
    "a space in it": f"{LONG_KEY[:13]} {LONG_KEY[13:]}",
    "in two lines": f"{LONG_KEY[:20]}\n  {LONG_KEY[20:]}",
    "letters apart": " ".join(LONG_KEY),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("piece", PIECES.values(), ids=PIECES)
def test_a_piece_of_a_key_that_a_server_echoes_is_hidden(kind, piece, monkeypatch):
    monkeypatch.setenv("SOME_KEY", LONG_KEY)
    [found], _ = asked(kind, answer=lambda body: f"a, {piece}. [move] hare")
    assert found.text == "a, [hidden]. [move] hare"


def test_a_key_in_what_goes_back_to_the_provider_is_hidden(monkeypatch):
    monkeypatch.setenv("SOME_KEY", LONG_KEY)
    model = OpenAI(model="m", key="SOME_KEY")
    deep = json.loads("[" * 700 + "]" * 700)
    answer = Answer("a", opaque=({"type": "t", "data": f"\\\n{LONG_KEY[8:]}", "deep": deep}, {"quote": '"\\"'}))
    hidden = model._without_key(answer).opaque
    assert hidden == ({"type": "t", "data": "\\\n[hidden]", "deep": deep}, {"quote": '"\\"'})


def test_a_text_without_a_long_piece_of_the_key_stays(monkeypatch):
    monkeypatch.setenv("SOME_KEY", LONG_KEY)
    for text in (LONG_KEY[:7], LONG_KEY[-7:], f"sk-proj- {LONG_KEY[:3]} and so on", "", " \n"):
        assert hide_pieces(text.replace("sk-proj-", "sk-"), "SOME_KEY") == text.replace("sk-proj-", "sk-")


@pytest.mark.parametrize("kind", KINDS)
def test_no_server_sends_the_conversation_elsewhere(kind):
    for script in (["elsewhere"], [None, "elsewhere"]):
        answers, server = asked(kind, times=len(script), script=script)
        assert (answers[-1].kind, answers[-1].then, server.requests) == ("307", "stop", len(script))
        assert "use that address as base_url (http" in str(answers[-1])


@pytest.mark.parametrize(
    ("price", "says"),
    [
        (
            {"inptu": 1},
            "price: a name is 'inptu', and must be cached or input or output or written: did you mean input?",
        ),
        ({"dollars": 1}, "price: a name is 'dollars', and must be cached or input or output or written"),
    ],
)
def test_a_price_that_has_another_name_gets_the_nearest(price, says):
    with pytest.raises(AgonError, match=f"^model m: the settings do not fit: {re.escape(says)}$"):
        OpenAI(model="m", price=price)


BAD_SETTINGS = (
    [("concurrency", 0), ("concurrency", "8"), ("tries", 0), ("timeout", "soon"), ("requests_per_minute", 0)]
    + [("price", {"input": "cheap"}), ("price", {"input": -1}), ("parameters", {"max_tokens": -5})]
    + [("parameters", {"max_tokens": 5, "extra": 5}), ("timeout", None), ("timeout", math.inf), ("pause", math.inf)]
)


def test_settings_with_which_nothing_can_be_asked_are_refused():
    for setting, value in BAD_SETTINGS:
        with pytest.raises(AgonError, match=rf"^model m: the settings do not fit: {setting}"):
            OpenAI(**{"model": "m", setting: value})


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"most_bytes": 0}, "most_bytes is a number of bytes"),
        ({"most_bytes": "4 MB"}, "most_bytes is a number of bytes"),
        ({"parameters": {"temperature": math.nan}}, "cannot be sent as JSON"),
        ({"parameters": {"extra": {"day": {1, 2}}}}, "cannot be sent as JSON"),
    ],
)
def test_what_cannot_be_sent_is_refused_before_anything_is(settings, says):
    with pytest.raises(AgonError, match=rf"^model m: .*{says}"):
        OpenAI(model="m", **settings)


USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


USAGES = [
    ({}, {}, False),
    ({"completion_tokens": None}, {}, True),
    ({"prompt_tokens": -1}, {}, True),
    ({"total_tokens": math.nan}, {}, True),
    ({"total_tokens": None}, {}, False),
    ({"prompt_tokens_details": {"cached_tokens": 11}}, {}, True),
    ({"prompt_tokens_details": {"cached_tokens": 10}}, {}, False),
    ({}, {"input": 1.0, "written": 1.25}, True),
    ({"prompt_tokens_details": {"cache_write_tokens": 0}}, {"input": 1.0, "written": 1.25}, False),
]


def test_usage_is_believed_where_it_is_whole():
    def is_unreported(changed, price):
        content = chat({"content": "a"}) | {"usage": USAGE | changed}
        return OpenAI(model="m", price=price).read(content).unreported

    assert [row for row in USAGES if is_unreported(*row[:2]) is not row[2]] == []


@pytest.mark.parametrize("kind", KINDS)
def test_usage_that_is_absurdly_small_is_not_believed(kind):
    def long(body):
        return "word " * 20

    assert not the_answer(kind, answer=long).unreported
    request = Request((message("user", "word " * 100),), "s")  # the server counts a token for four letters
    assert not the_answer(kind, request, answer=long).unreported
    few = mock.patch.object(FaultServer, "_usage", lambda *_: (0, 1, 1, 0))
    with few:
        assert the_answer(kind, request, answer=long).unreported


@pytest.mark.parametrize("kind", KINDS)
def test_a_response_may_be_as_long_as_is_said_and_no_longer(kind):
    long = {"answer": lambda body: "x" * 100_000}
    assert asked(kind, **long)[0][0].text == "x" * 100_000
    [failed], _ = asked(kind, settings={"most_bytes": 100_000}, **long)
    assert (failed.kind, failed.then) == ("too large", "retry")


def test_anthropic_counts_cache_writes_and_reads_as_sent():
    usage = {"input_tokens": 3, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 100, "output_tokens": 7}
    answer = read(Anthropic, {"content": [{"type": "redacted_thinking", "data": "x"}], "usage": usage})
    assert (answer.tokens_in, answer.tokens_cached, answer.tokens_out, answer.text) == (123, 100, 7, "")


def test_half_a_surrogate_pair_does_not_get_into_a_recording():
    assert read(OpenAI, chat({"content": "deer \ud83e"})).text == "deer ?"


# --- what failures mean

MEANT = {
    "429": ("429", "retry", None),
    "429 after": ("429", "retry", 7.0),
    "429 after ms": ("429", "retry", 7.0),
    "429 date": ("429", "retry", ...),
    "429 quota": ("429", "stop", None),
    "402": ("402", "stop", None),
    "408": ("408", "retry", None),
    "409": ("409", "retry", None),
    "500": ("500", "retry", None),
    "503": ("503", "retry", None),
    "529": ("529", "retry", None),
    "401": ("401", "stop", None),
    "elsewhere": ("307", "stop", None),
    "403": ("403", "stop", None),
    "404": ("404", "stop", None),
    "400": ("400", "stop", None),
    "policy": ("400", "void", None),
    "flagged": ("400", "void", None),
    "long": ("400", "void", None),
    "long prompt": ("400", "void", None),
    "413": ("413", "void", None),
    "html": ("not JSON", "retry", None),
    "malformed": ("not JSON", "retry", None),
    "no answer": ("no answer", "retry", None),
    "error in 200": ("no answer", "retry", None),
    "list": ("no answer", "retry", None),
    "silence": ("timeout", "retry", None),
    "drop": ("connection", "retry", None),
    "cut": ("connection", "retry", None),
    "drip": ("timeout", "retry", None),
}
"""Fault -> kind, then, after (... is some seconds)."""


def leaks(failed):
    """Whether anything that is shown of a failure holds the key."""
    shown = "".join(traceback.format_exception(failed)) + repr(failed) + str(vars(failed)) + repr(failed.__context__)
    return CANARY in shown


def test_every_fault_has_a_meaning_here():
    assert set(MEANT) | {"empty", "length", "refusal"} == set(FAULTS)


def check_failure(kind, fault):
    """Fails unless a provider's fault is the failure that it means, in one line, without the key, after one attempt."""
    slow = fault in ("silence", "drip")
    [first, failed, last], server = asked(
        kind, times=3, script=[None, fault], settings={"timeout": 1.5 if slow else 20.0, "concurrency": 1}
    )
    assert isinstance(failed, CallFailed)
    name, then, after = MEANT[fault]
    assert (failed.kind, failed.then) == (name, then)
    assert 20 < failed.after <= 30 if after is ... else failed.after == after
    assert re.fullmatch(r"[^\n]{1,300}", str(failed))
    assert not leaks(failed)
    assert first.text == last.text == "[move] cooperation"  # the only connection is in order again
    assert server.requests == 3


@pytest.mark.parametrize("kind", KINDS)
def test_a_failure_is_told_in_one_line_and_tried_once(kind):
    errors = {}
    for fault in MEANT:
        try:
            check_failure(kind, fault)
        except AssertionError as error:
            errors[fault] = str(error)
    assert errors == {}


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_key_stops_without_telling_it(kind):
    failed = the_answer(kind, key="another")
    assert (failed.kind, failed.then) == ("401", "stop")
    assert "Incorrect API key provided: [hidden]" in str(failed)
    assert not leaks(failed)


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_that_is_not_there_is_a_failed_connection(kind):
    async def play():
        with pytest.raises(CallFailed) as caught:
            await kind(model="m", base_url="http://127.0.0.1:9/v1", parameters={"max_tokens": 9}).answer(SHORT)
        return caught.value

    failed = asyncio.run(play())
    assert (failed.kind, failed.then) == ("no connection", "retry")


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_or_unusable_key_breaks_the_call_and_nothing_before(kind, monkeypatch):
    for value in (None, "", "  ", "two words", "clé-secrète"):
        monkeypatch.delenv("SOME_KEY") if value is None else monkeypatch.setenv("SOME_KEY", value)
        [failed], server = asked(kind)
        assert (failed.kind, failed.then, server.requests) == ("key", "stop", 0), value
        assert "SOME_KEY" in str(failed)
        assert value is None or not value.strip() or value not in str(failed)


@pytest.mark.parametrize("kind", KINDS)
def test_a_key_with_a_line_end_is_a_key(kind, monkeypatch):
    monkeypatch.setenv("SOME_KEY", f"{CANARY}\n")
    _, server = asked(kind, key=CANARY)
    assert server.answers == 1


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_of_the_key_is_in_a_model_that_has_used_it(kind):
    async def play():
        async with FaultServer() as server:
            used = model(kind, server)
            await used.answer(SHORT)
            shown = repr(used) + str(used) + used.identity
            copy = pickle.loads(pickle.dumps(used))
            await used.close()
            assert (await copy.answer(SHORT)).text
            await copy.close()
            return shown + repr(pickle.dumps(used))

    assert CANARY not in asyncio.run(play())


def test_a_model_may_be_used_in_one_event_loop_after_another():
    def twice(kind):
        async def once(used, server):
            async with server:
                used.base_url = server.anthropic if kind is Anthropic else server.openai
                answer = await used.answer(SHORT)
                await used.close()
                return answer.text

        used = kind(model="m", parameters={"max_tokens": 9})
        return [asyncio.run(once(used, FaultServer())) for _ in range(2)]

    assert [twice(kind) for kind in KINDS] == [["[move] cooperation"] * 2] * len(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_there_are_as_many_connections_as_calls_may_be_in_flight(kind):
    async def play():
        async with FaultServer(latency=0.3) as server:
            many = model(kind, server, concurrency=150)
            await asyncio.gather(*(many.answer(SHORT) for _ in range(150)))
            await many.close()
            return server.most

    assert asyncio.run(play()) == 150


@pytest.mark.parametrize("kind", KINDS)
def test_a_call_that_is_cancelled_is_cancelled(kind):
    async def play():
        async with FaultServer(script=["silence"]) as server:
            used = model(kind, server)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(used.answer(SHORT), 1.0)
            await used.close()

    asyncio.run(play())


def test_a_proxy_that_the_environment_names_is_used(monkeypatch):
    async def play():
        async with FaultServer() as proxy:
            monkeypatch.setenv("http_proxy", proxy.url)
            monkeypatch.setenv("no_proxy", "elsewhere.test")
            asked_model = OpenAI(model="m", base_url="http://model.test/v1")
            found = [await asked_model.answer(request) for request in (SHORT, LONG)]
            await asked_model.close()
            return found, proxy.headers

    found, headers = asyncio.run(play())
    assert len(found) == 2 and [each["Host"] for each in headers] == ["model.test", "model.test"]


def test_a_model_that_has_been_closed_can_be_asked_again():
    async def play():
        async with FaultServer() as server:
            asked_model = model(OpenAI, server)
            for _ in range(2):
                await asked_model.answer(SHORT)
                await asked_model.answer(LONG)
                await asked_model.close()
            return server.requests

    assert asyncio.run(play()) == 4


def test_seconds_are_those_of_the_call():
    start = time.monotonic()
    found, _ = asked(OpenAI, times=3, latency=0.05)
    assert all(0.05 <= answer.seconds <= time.monotonic() - start for answer in found)


def test_a_failure_survives_being_sent_to_another_process():
    failed = pickle.loads(pickle.dumps(CallFailed("429", "slow down", "retry", 3.0)))
    assert (failed.kind, str(failed), failed.then, failed.after) == ("429", "slow down", "retry", 3.0)


def test_anthropic_says_that_max_tokens_is_missing():
    [failed], _ = asked(Anthropic, settings={"parameters": {}})
    assert failed.then == "stop"
    assert "max_tokens" in str(failed)


def test_bedrock_without_its_package_says_which(monkeypatch):
    monkeypatch.setattr("agon.models.anthropic.find_spec", lambda name: None)
    [failed], _ = asked(Anthropic, settings={"bedrock": True, "key": None, "region": "us-west-2"})
    assert failed.then == "stop"
    assert "pip install 'anthropic[bedrock]'" in str(failed)


def test_bedrock_asks_at_its_own_path_with_the_model_in_it():
    [failed], server = asked(Anthropic, settings={"bedrock": True, "region": "us-west-2"})
    assert failed.kind == "404"  # /model/m/invoke is not served here
    assert server.requests == 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_misspelt_parameter_is_refused(kind):
    with pytest.raises(AgonError, match="temprature"):
        kind(model="m", parameters={"temprature": 1.0})


def test_faults_at_a_rate_do_not_depend_on_the_order_of_arrival():
    requests = [Request((message("user", f"question {number}"),), "s") for number in range(300)]

    async def met(order):
        async with FaultServer(faults={"500": 0.1, "429": 0.1}, seed=3, latency=0.002, spread=0.8) as server:
            used = model(OpenAI, server, concurrency=50)
            await asyncio.gather(*(used.answer(request) for request in order), return_exceptions=True)
            await used.close()
            assert server.requests == 300 == server.answers + server.met.total()
            return server.met

    forward, backward = asyncio.run(met(requests)), asyncio.run(met(requests[::-1]))
    assert forward == backward
    assert 30 < forward.total() < 90


# --- the rules of errors, on their own


ERROR_BODIES = [
    ('{"error": {"message": "m", "type": "t", "code": "t"}}', "t: m"),
    ('{"type": "error", "error": {"type": "t", "message": "m"}}', "t: m"),
    ('{"error": "model not found"}', "model not found"),
    ('{"object": "error", "message": "m", "type": "BadRequestError", "code": 400}', "BadRequestError: 400: m"),
    ('{"detail": "Not Found"}', "Not Found"),
    ('{"Message": "The security token is invalid"}', "The security token is invalid"),
    ("plain\nwords", "plain words"),
    ("[]", "[]"),
    ("null", "None"),
]


def test_every_provider_s_error_message_is_found():
    messages = {body: str(refusal(400, {}, body)) for body, _ in ERROR_BODIES}
    assert messages == {body: f"status 400: {text}" for body, text in ERROR_BODIES}


VOID_MESSAGES = [
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 129000 tokens",
    "prompt is too long: 210000 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 199000 + 20000 > 200000",
    "the request exceeds the available context size",
    "Input is too long for requested model.",
    "Your request was rejected as a result of our safety system: content_policy_violation",
    "The response was filtered due to the prompt triggering Azure OpenAI's content management policy",
    "Output blocked by content filtering policy",
    "Content Exists Risk",
]


def test_what_concerns_one_conversation_voids_it_alone():
    actions = {text: refusal(400, {}, json.dumps({"error": {"message": text}})).then for text in VOID_MESSAGES}
    assert actions == dict.fromkeys(VOID_MESSAGES, "void")


STATUSES = [
    (400, "Your credit balance is too low to access the API", "stop"),
    (400, "max_tokens is too large: 100000. This model supports at most 16384 completion tokens", "stop"),
    (422, "Unsupported value: 'temperature' does not support 0.7 with this model", "stop"),
    (429, "Rate limit reached. Add a payment method at the billing page to increase it", "retry"),
    (429, "insufficient_quota: check your plan and billing details", "stop"),
    (503, "model is warming up", "retry"),
    (301, "moved", "stop"),
]


def test_statuses_are_told_apart_by_their_words():
    def action(status, text):
        return refusal(status, {}, json.dumps({"error": {"message": text}})).then

    assert [(status, text, action(status, text)) for status, text, _ in STATUSES] == STATUSES


WAITS = [
    ({}, None),
    ({"retry-after": "3"}, 3.0),
    ({"retry-after": "0.25"}, 0.25),
    ({"retry-after": "0"}, 0.0),
    ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
    ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
    ({"retry-after": "-1"}, None),
    ({"retry-after-ms": "-5000", "retry-after": "-5"}, None),
    ({"retry-after": "nan"}, None),
    ({"retry-after": "inf"}, None),
    ({"retry-after": "tomorrow"}, None),
    ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
    ({"retry-after": "Mon, 01 Jan 2024 99999999999:00:00 GMT"}, None),
    ({"retry-after": "Mon, 01 Jan 0001 00:00:00 +2359"}, 0.0),
    ({"retry-after": "Mon, 01 Jan 2024 00:00:00 +99999999999"}, None),
]


def test_retry_after_is_seconds_milliseconds_or_a_date():
    assert [(headers, seconds_to_wait(headers)) for headers, _ in WAITS] == WAITS


@pytest.mark.parametrize("key", ["THEIR_KEY", None])
def test_a_refused_key_or_model_says_what_to_do(key, monkeypatch):
    monkeypatch.setenv("THEIR_KEY", "quince-is-the-whole-key")
    body = json.dumps({"error": {"message": "no such thing: quince-is-the-whole-key"}})
    said = {status: str(refusal(status, {}, body, key)) for status in (401, 403, 404, 402)}
    assert all("nothing is paid for a refused call; status" in said[status] for status in (401, 403, 404))
    assert [status for status, text in said.items() if "THEIR_KEY" in text] == ([401, 403] if key else [])
    assert "correct `model` or `base_url`" in said[404] and said[402].startswith("status 402")
    assert not key or "quince" not in "".join(said.values())


def test_a_date_to_come_is_seconds_from_now():
    assert 58 < seconds_to_wait({"retry-after": format_datetime(datetime.now(UTC) + timedelta(seconds=60), True)}) <= 60


@given(st.text(), st.text())
def test_no_header_is_too_strange(after, milliseconds):
    seconds = seconds_to_wait({"retry-after": after, "retry-after-ms": milliseconds})
    assert seconds is None or seconds >= 0


LEAKY_TEXTS = [
    f"Incorrect API key provided: {CANARY}.",
    f"headers: {{'Authorization': 'Bearer {CANARY}'}}",
    "key sk-ant-api03-abcdef is wrong",
    "Incorrect API key provided: sk-proj-ab**********cdef. You can find your key at ...",
    "authorization: bearer abc.def.ghi",
    "x" * 295 + CANARY,
    " " * 9_990 + CANARY,
    "x " * 4_995 + CANARY + "y" * 9_999,
    f"your key {CANARY[:12]}... is wrong",
]


def test_secrets_are_hidden_even_where_a_text_is_cut():
    lines = [one_line(text, "SOME_KEY") for text in LEAKY_TEXTS]
    assert [line for line in lines if len(line) > 300 or re.search(r"canary|sk-|abc\.def|cdef", line)] == []


def test_control_characters_are_spelled_out():
    assert one_line("a\x1b[31mb\0c\u202ed\ne") == r"a\x1b[31mb\x00c\u202ed e"


def test_the_length_of_a_text_does_not_matter():
    text, start = "no " * 20_000_000, time.thread_time()
    assert len(one_line(text, "SOME_KEY")) == 300
    assert time.thread_time() - start < 0.1


def test_an_error_whose_response_is_something_else_is_a_failure():
    error = RuntimeError("denied")
    error.response = {"Error": {"Code": "AccessDenied"}}  # as botocore's have it
    assert (failure(error).kind, failure(error).then) == ("RuntimeError", "stop")


def test_the_values_of_all_variables_that_sound_secret_are_hidden(monkeypatch):
    monkeypatch.setenv("AWS_SESSION_TOKEN", "FwoGZXIvYXdz")
    assert one_line("token FwoGZXIvYXdz expired") == "token [hidden] expired"


@given(st.text(), st.text(alphabet=st.characters(min_codepoint=33, max_codepoint=126), min_size=8))
def test_no_text_tells_the_key(text, value):
    with mock.patch.dict(os.environ, {"DRAWN": value}):
        shown = one_line(f"{text}{value}{text}", "DRAWN")
    assert value not in shown or value in "[hidden][hidden]..."
    assert "\n" not in shown
    assert len(shown) <= 300


def test_what_nobody_foresaw_stops():
    failed = failure(RuntimeError("Could not resolve AWS credentials from session"))
    assert (failed.kind, failed.then) == ("RuntimeError", "stop")


# --- conf/model

NAMES = sorted(path.stem for path in (CONF / "model").glob("*.yaml"))


def test_every_model_of_conf_can_be_built_without_a_key():
    def is_sound(built):
        prices = set(built.price) <= {"input", "cached", "output", "written"}
        return built.model and prices and built.concurrency >= 1 and built.timeout > 0

    assert NAMES and [name for name in NAMES if not is_sound(load("model", name))] == []


def test_every_file_of_conf_names_a_variable_and_holds_no_key():
    keys = {name: settings_of("model", name).get("key") or "ANY_API_KEY" for name in NAMES}
    assert {name: key for name, key in keys.items() if not re.fullmatch(r"[A-Z_]+_API_KEY", key)} == {}


def test_the_paper_s_models_are_there():
    paper = "claude_3_5_sonnet_v2 claude_3_7_sonnet claude_3_7_sonnet_thinking claude_sonnet_4 claude_sonnet_4_thinking"
    assert set(NAMES) > {*paper.split(), "deepseek_r1", "llama_3_1_405b", "llama_3_3_70b", "mistral_large_24_07"}


def test_current_models_are_called_what_the_sdks_call_them():
    known = {*get_args(ChatModel), *get_args(get_args(Claudes)[0])}
    files = {
        name: (ROOT / f"conf/model/{name}.yaml").read_text() for name in NAMES if name.startswith(("gpt_", "claude_"))
    }
    current = [name for name, text in files.items() if "History:" not in text]
    current = [name for name in current if not load("model", name).base_url]
    named = {load("model", name).model for name in current if not getattr(load("model", name), "bedrock", False)}
    assert named <= known
    assert len(named) >= 10


# --- what providers say that they charged, and what they want back


CHARGES = [
    ({"cost": 0.00123}, 0.00123),  # OpenRouter
    ({"cost": 0.001, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.02}}, 0.021),
    ({"cost": 0.001, "is_byok": False, "cost_details": {"upstream_inference_cost": 0.02}}, 0.001),
    ({"cost": {"total_cost": 0.006}}, 0.006),  # Perplexity
    ({"estimated_cost": 4.1e-5}, 4.1e-5),  # DeepInfra
    ({"cost_in_usd_ticks": 37756000}, 0.0037756),  # xAI
    ({}, None),
    ({"cost": None}, None),
    ({"cost": -1}, None),
    ({"cost": "much"}, None),
    ({"cost": math.nan}, None),
    ({"cost": math.inf}, None),
    ({"cost": {"total": 1}}, None),
    ({"cost_in_usd_ticks": [1]}, None),
    ({"cost": 10**400}, None),
]


def test_what_the_provider_says_it_charged_is_read():
    wrong = [(usage, charge_of(usage)) for usage, usd in CHARGES if charge_of(usage) != (usd and pytest.approx(usd))]
    assert wrong == []


SIGNED = ({"type": "thinking", "thinking": "hm", "signature": "c2ln"}, {"type": "redacted_thinking", "data": "eHg="})


def test_anthropic_gets_its_thinking_back_unchanged_before_its_answer():
    model = Anthropic(model="m", parameters={"max_tokens": 9, "thinking": 5})
    blocks = [*SIGNED, {"type": "text", "text": "[move] a"}]
    answer = model.read({"content": blocks, "usage": {"input_tokens": 3, "output_tokens": 2}})
    assert answer.opaque == SIGNED and answer.text == "[move] a" and answer.thinking == "hm"
    messages = extend(SHORT.messages, "assistant", answer.text, answer.opaque)
    sent = model.body(extend(messages, "user", "and now?"))["messages"]
    assert sent[-2] == {"role": "assistant", "content": blocks}
    assert messages[-1].id == extend(SHORT.messages, "assistant", answer.text)[-1].id


def test_openrouter_gets_its_details_of_reasoning_back():
    model = OpenAI(model="m")
    details = [{"type": "reasoning.encrypted", "data": "x\ud800", "id": "r1"}]
    content = {"choices": [{"message": {"content": "a", "reasoning": "hm", "reasoning_details": details}}], "usage": {}}
    answer = model.read(content)
    assert answer.thinking == "hm" and answer.opaque == ({"type": "reasoning.encrypted", "data": "x?", "id": "r1"},)
    sent = model.body(extend(extend(SHORT.messages, "assistant", "a", answer.opaque), "user", "b"))["messages"]
    assert sent[-2]["reasoning_details"] == list(answer.opaque) and "reasoning_details" not in sent[-1]


def test_the_newer_protocol_gets_its_reasoning_back_before_the_answer():
    model = Responses(model="m", parameters={"effort": "low"})
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]}
    usage = {"input_tokens": 9, "output_tokens": 9, "cost_in_usd_ticks": 10**9}
    answer = model.read({"status": "completed", "output": [reasoning, said], "usage": usage})
    assert answer.opaque == (reasoning,) and answer.text == "a" and answer.usd == 0.1
    messages = extend(extend(SHORT.messages, "assistant", "a", answer.opaque), "user", "b")
    body = model.body(messages)
    assert body["include"] == ["reasoning.encrypted_content"] and not body["store"]
    assert body["input"][-3:] == [reasoning, {"role": "assistant", "content": "a"}, {"role": "user", "content": "b"}]


@pytest.mark.parametrize("wrong", ["a word", [1, None], {"type": "x"}, None])
def test_what_is_no_list_of_objects_does_not_go_back(wrong):
    assert storable(wrong) == ()
