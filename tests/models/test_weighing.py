"""Answers that are enforced or weighed, at the adapters: what is sent, what is told, and that what is told is exact."""

import asyncio
import json
import math
from itertools import permutations, product

import pytest
from fault_server import FaultServer
from jsonschema import Draft202012Validator
from models import toy
from test_adapters import KINDS, SHORT, asked, key, model, sent  # noqa: F401 - key is a fixture

from agon import AgonError
from agon.agents.reads import Weighed, softmax
from agon.games.schemas import answer_schema
from agon.games.spaces import Choice, Form, Number, Offer, Text
from agon.models import CallFailed, Request
from agon.models.anthropic import Anthropic
from agon.models.ledger import Ledger, Live, Replayed
from agon.models.limits import Budget
from agon.models.openai import OpenAI
from agon.models.recording import Recording, Writer

SCHEMA = answer_schema(Form((("who", Choice(("a", "b"))), ("n", Number(1, 3)), ("why", Text(40)))).schema(), 80)
LABELS = ("cooperation", "cooper", "coop", "coop er", "defection", "de", 'say "no"', "stag", "7", "71")
"""Labels of several tokens, and labels that begin with another."""
LLAMA = {"logprobs": "llama.cpp"}


def weigh(options, settings=LLAMA, **server):
    """The answer to a request to weigh options, and the server."""
    request = Request(SHORT.messages, "match/0/0", options=options)
    [found], running = asked(OpenAI, request, settings=settings, **server)
    return found, running


def lines(labels):
    return Weighed().options(Choice(tuple(labels)))


def begun(request=SHORT):
    """The conversation's tokens as the toy model has them."""
    said = [{"role": each.role, "content": each.text} for each in request.messages]
    return toy.tokens(toy.prompt(said))


# --- enforced


def test_openai_is_sent_the_schema_to_be_kept_strictly():
    form = sent(OpenAI, Request(SHORT.messages, "s", schema=SCHEMA))["response_format"]
    assert form == {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA}}


def test_llama_cpp_ends_an_answer_by_schema_not_by_max_tokens():
    request, settings = Request(SHORT.messages, "s", schema=SCHEMA), {"max_tokens_name": "max_tokens"}
    for logprobs, most in ((None, 9), ("llama.cpp", -1)):
        _, server = asked(OpenAI, request, settings=settings | {"logprobs": logprobs, "parameters": {"max_tokens": 9}})
        assert server.bodies[0]["max_tokens"] == most


def test_anthropic_is_sent_what_it_enforces_beside_its_effort():
    settings = {"max_tokens": 99, "effort": "low"}
    config = sent(Anthropic, Request(SHORT.messages, "s", schema=SCHEMA), parameters=settings)["output_config"]
    assert config["effort"] == "low" and config["format"]["type"] == "json_schema"
    assert "maxLength" not in config["format"]["schema"]["properties"]["thought"]


def test_older_claudes_must_call_a_tool_whose_input_is_the_answer():
    request = Request(SHORT.messages, "s", schema=SCHEMA)
    [found], server = asked(Anthropic, request, settings={"structured": "tool"})
    assert server.bodies[0]["tool_choice"] == {"type": "tool", "name": "answer"}
    assert Draft202012Validator(SCHEMA).is_valid(json.loads(found.text))


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_schema_nothing_is_enforced(kind):
    assert not {"response_format", "output_config", "tools"} & set(sent(kind))


@pytest.mark.parametrize(
    ("kind", "space"),
    [
        *product(KINDS, [Choice(("a", "ab")), Number(0, 9), Text(30)]),
        (OpenAI, Offer(("A", "B"))),
    ],  # Anthropic's SDK drops patterns
    ids=str,
)
def test_what_a_server_that_obeys_answers_fits(kind, space):
    schema = answer_schema(space.schema(), 80)
    [found], _ = asked(kind, Request(SHORT.messages, "s", schema=schema))
    assert Draft202012Validator(schema).is_valid(json.loads(found.text))


# --- weighed


def test_weights_are_the_log_probabilities_of_whole_answers():
    found, _ = weigh(lines(LABELS))
    brute = [toy.logprob(begun(), f"[move] {label}") for label in LABELS]
    assert found.weights == pytest.approx(brute, abs=1e-9)
    whole = math.fsum(map(math.exp, brute))
    assert softmax(found.weights) == pytest.approx([math.exp(each) / whole for each in brute])
    assert math.fsum(softmax(found.weights)) == pytest.approx(1, abs=1e-9)


def test_the_first_token_alone_would_be_wrong():
    found, _ = weigh(lines(("cooperation", "cooper", "defection")))
    exact = softmax(found.weights)
    after = toy.logprobs(tuple([*begun(), *toy.tokens("[move] ")][-5:]))
    naive = softmax([after[toy.tokens(label)[0]] for label in ("cooperation", "cooper", "defection")])
    assert naive[0] == naive[1], "both begin with the token `cooper`"
    assert exact[0] != pytest.approx(exact[1], rel=0.1)


def test_a_label_that_begins_another_has_only_its_own_answers():
    found, _ = weigh(lines(("coop", "coop er")))
    short, before = toy.logprob(begun(), "[move] coop"), [*begun(), *toy.tokens("[move] coop")]
    assert found.weights[0] == pytest.approx(short)
    unended = short - toy.logprobs(tuple(before[-5:]))[toy.END]
    assert found.weights[1] < unended, "what goes on is a part of what begins so"


def test_weights_do_not_depend_on_the_order_of_the_options():
    known = dict(zip(LABELS[:4], weigh(lines(LABELS[:4]))[0].weights, strict=True))
    for order in list(permutations(LABELS[:4]))[1::7]:
        assert weigh(lines(order))[0].weights == tuple(known[label] for label in order)


def test_options_share_the_calls_of_their_common_beginning():
    found, server = weigh(lines(("cooperation", "cooper")))
    paths = [[*toy.tokens(f"[move] {label}"), toy.END] for label in ("cooperation", "cooper")]
    every = {tuple(path[:length]) for path in paths for length in range(1, len(path) + 1)}
    calls = [body["prompt"] for body in server.bodies if "logit_bias" in body]
    assert len(calls) == len(every) == found.tokens_out and found.tokens_in == len(begun())


def test_letters_are_read_off_the_first_tokens_of_a_chat():
    after = toy.logprobs(tuple(begun()[-5:]))
    best = sorted(range(len(after)), key=lambda token: -after[token])[:20]
    told = [toy.VOCABULARY[token] for token in best if len(toy.VOCABULARY[token]) == 1][:3]
    found, server = weigh(tuple(told), {"logprobs": "chat"})
    assert found.weights == pytest.approx([after[toy.VOCABULARY.index(letter)] for letter in told])
    body = server.bodies[0]
    assert (body["logprobs"], body["top_logprobs"], body["max_completion_tokens"]) == (True, 20, 1)


def test_a_letter_that_a_chat_does_not_tell_of_is_not_guessed():
    after = toy.logprobs(tuple(begun()[-5:]))
    worst = min((each for each in toy.VOCABULARY if len(each) == 1), key=lambda each: after[toy.VOCABULARY.index(each)])
    found, _ = weigh((worst,), {"logprobs": "chat"})
    assert (
        isinstance(found, CallFailed)
        and found.then == "void"
        and "not among the 20 likeliest first tokens" in str(found)
    )


@pytest.mark.parametrize("settings", [{}, {"logprobs": "chat"}])
def test_what_a_provider_does_not_tell_exactly_is_refused_in_a_line(settings):
    found, server = weigh(lines(("a", "b")), settings)
    assert isinstance(found, CallFailed) and found.then == "stop" and not server.bodies
    assert "has no probabilities of whole answers" in str(found)


def test_anthropic_tells_no_log_probabilities():
    request = Request(SHORT.messages, "s", options=("A", "B"))
    [found], _ = asked(Anthropic, request)
    assert found.then == "stop" and str(found) == "model m: its protocol has no log-probabilities"


def test_a_setting_that_is_none_of_them_is_refused():
    with pytest.raises(AgonError, match="logprobs is 'all'; it must be chat"):
        OpenAI(model="m", logprobs="all")


def test_a_template_that_changes_answers_is_refused():
    found, _ = weigh(lines(("a", "b")), template=lambda messages: toy.prompt(messages[:2]) + "!" * (len(messages) > 2))
    assert found.then == "stop" and "chat template changes answers" in str(found)


@pytest.mark.parametrize("fault", ["500", "drop", "malformed", "no answer", "list", "401"])
@pytest.mark.parametrize("before", [0, 3, 9])
def test_a_server_that_fails_amid_the_calls_fails_the_question(fault, before):
    found, _ = weigh(lines(("a", "b")), LLAMA, script=[*[None] * before, fault])
    assert isinstance(found, CallFailed) and found.then == ("stop" if fault == "401" else "retry")


def test_weights_are_recorded_and_replayed_without_the_model(tmp_path):
    request = Request(SHORT.messages, "match/0/0", options=lines(("cooperation", "defection")))

    async def record():
        async with FaultServer() as server:
            writer = Writer(Recording(tmp_path / "r"), tmp_path / "lock")
            asked_model = model(OpenAI, server, **LLAMA)
            live = Live("m", asked_model, Ledger({"m": asked_model}, writer, Budget()))
            found = await live.answer(request), await live.answer(request)
            writer.close()
            await asked_model.close()
            return asked_model.identity, found

    identity, (new, again) = asyncio.run(record())
    replayed = asyncio.run(Replayed("m", identity, Recording(tmp_path / "r")).answer(request))
    assert new.weights == again.weights == replayed.weights and len(new.weights) == 2 and replayed.recorded
