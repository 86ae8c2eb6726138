"""Every provider of conf/model that speaks OpenAI's protocol in its own way: what its answers and errors look like is understood."""

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from aiohttp import web

from agon.conf import load
from agon.models import CallFailed, Request, message

REQUEST = Request((message("system", "The rules of the game."), message("user", "Your move?")), "s")
KEY = "canary-5f0c1e77d2-canary"


def chat(message, finish="stop", usage=None, **more):
    choice = {"index": 0, "message": {"role": "assistant"} | message, "finish_reason": finish}
    return {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [choice],
        "usage": usage,
    } | more


@dataclass(frozen=True)
class Dialect:
    """What one provider sends, and how it is to be read."""

    answer: dict[str, Any]
    read: dict[str, Any]
    """Of the answer: tokens_in, tokens_cached, tokens_out, thinking ..."""
    errors: list[tuple[int, Any, dict[str, str], str, str, float | None]]
    """(status, body, headers; words in the message, what follows, seconds to wait)."""
    sent: dict[str, Any] = field(default_factory=dict)
    """Of the body of a request."""


TOKENS = {"tokens_in": 20, "tokens_cached": 0, "tokens_out": 8, "unreported": False, "stop": "stop"}
DIALECTS = {
    "openrouter": Dialect(
        chat(
            {
                "content": "[move] hare",
                "refusal": None,
                "reasoning": "They hunt.",
                "reasoning_details": [{"type": "reasoning.text"}],
            },
            usage={
                "prompt_tokens": 20,
                "completion_tokens": 8,
                "total_tokens": 28,
                "cost": 0.00031,
                "is_byok": False,
                "prompt_tokens_details": {"cached_tokens": 5, "cache_write_tokens": 0},
                "cost_details": {},
                "completion_tokens_details": {"reasoning_tokens": 4},
            },
            provider="DeepInfra",
            native_finish_reason="stop",
            system_fingerprint=None,
        ),
        TOKENS | {"tokens_cached": 5, "thinking": "They hunt."},
        [
            (
                402,
                {"error": {"message": "Insufficient credits. Add more", "code": 402}, "user_id": "u"},
                {},
                "402: Insufficient credits",
                "stop",
                None,
            ),
            (
                429,
                {"error": {"message": "Rate limit exceeded: free-models", "code": 429}},
                {"Retry-After": "3"},
                "Rate limit",
                "retry",
                3.0,
            ),
            (
                403,
                {"error": {"message": "Input was flagged", "code": 403, "metadata": {"reasons": ["violence"]}}},
                {},
                "flagged",
                "void",
                None,
            ),
            (
                200,
                {"error": {"message": "Provider returned error", "code": 502}, "user_id": "u"},
                {},
                "Provider returned error",
                "retry",
                None,
            ),
            (
                200,
                chat({"content": ""}, "error")
                | {"choices": [{"message": {"content": ""}, "finish_reason": "error", "error": {"code": 502}}]},
                {},
                "no answer in it",
                "retry",
                None,
            ),
        ],
        {"provider": {"allow_fallbacks": False, "order": ["deepinfra"]}, "max_tokens": 16000},
    ),
    "gemini": Dialect(
        chat({"content": "[move] hare"}, usage={"prompt_tokens": 20, "completion_tokens": 3, "total_tokens": 28}),
        TOKENS,  # thinking is in the total alone
        [
            (
                400,
                [{"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT"}}],
                {},
                "400: API key not valid.",
                "stop",
                None,
            ),
            (
                429,
                [
                    {
                        "error": {
                            "code": 429,
                            "message": "Quota exceeded",
                            "status": "RESOURCE_EXHAUSTED",
                            "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}],
                        }
                    }
                ],
                {},
                "Quota exceeded",
                "retry",
                34.5,
            ),
            (
                400,
                [{"error": {"code": 400, "message": "The input token count (1200000) exceeds the maximum"}}],
                {},
                "exceeds",
                "void",
                None,
            ),
            (
                503,
                [{"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}],
                {},
                "overloaded",
                "retry",
                None,
            ),
        ],
        {"reasoning_effort": "low", "max_tokens": 16000},
    ),
    "grok": Dialect(
        chat(
            {"content": "[move] hare", "reasoning_content": "They hunt.", "refusal": None},
            usage={
                "prompt_tokens": 20,
                "completion_tokens": 3,
                "total_tokens": 28,
                "num_sources_used": 0,
                "prompt_tokens_details": {"text_tokens": 20, "cached_tokens": 4},
                "cost_in_usd_ticks": 37756000,
                "completion_tokens_details": {"reasoning_tokens": 5},
            },
        ),
        TOKENS | {"tokens_cached": 4, "thinking": "They hunt."},
        [
            (
                400,
                {"code": "Client specified an invalid argument", "error": f"Incorrect API key provided: {KEY}"},
                {},
                "Incorrect API key",
                "stop",
                None,
            ),
            (
                403,
                {"code": "permission-denied", "error": "Content violates usage guidelines. Failed check: SAFETY"},
                {},
                "violates",
                "void",
                None,
            ),
            (
                429,
                {"code": "Some resource has been exhausted", "error": "Too many requests"},
                {},
                "Too many",
                "retry",
                None,
            ),
        ],
        {"max_completion_tokens": 16000},
    ),
    "qwen": Dialect(
        chat(
            {"content": "[move] hare", "reasoning_content": ""},
            usage={
                "prompt_tokens": 20,
                "completion_tokens": 8,
                "total_tokens": 28,
                "prompt_tokens_details": {"cached_tokens": 0},
            },
        ),
        TOKENS,
        [
            (
                400,
                {
                    "error": {
                        "code": "data_inspection_failed",
                        "message": "Input data may contain inappropriate content.",
                        "type": "data_inspection_failed",
                        "param": None,
                    },
                    "request_id": "r",
                },
                {},
                "inappropriate",
                "void",
                None,
            ),
            (
                400,
                {
                    "error": {
                        "code": "invalid_parameter_error",
                        "message": "Range of input length should be [1, 258048]",
                        "type": "invalid_request_error",
                    }
                },
                {},
                "Range of input",
                "void",
                None,
            ),
            (
                401,
                {"error": {"code": "invalid_api_key", "message": "Incorrect API key provided."}},
                {},
                "invalid_api_key",
                "stop",
                None,
            ),
            (
                429,
                {"error": {"code": "limit_requests", "message": "You exceeded your current requests list."}},
                {},
                "limit",
                "retry",
                None,
            ),
        ],
        {"enable_thinking": False, "max_tokens": 16000},
    ),
    "bedrock": Dialect(
        chat(
            {"content": "<reasoning>They hunt.</reasoning>[move] hare", "refusal": None},
            usage={"prompt_tokens": 20, "completion_tokens": 8, "total_tokens": 28},
            service_tier="default",
        ),
        TOKENS | {"thinking": "They hunt."},
        [
            (
                403,
                {"Message": "Bedrock API key is not valid"},
                {"x-amzn-ErrorType": "AccessDeniedException"},
                "not valid",
                "stop",
                None,
            ),
            (
                429,
                {"message": "Too many tokens, please wait before trying again."},
                {"x-amzn-RequestId": "r"},
                "please wait",
                "retry",
                None,
            ),
            (
                400,
                {"error": {"message": "Input is too long for requested model.", "type": "invalid_request_error"}},
                {},
                "too long",
                "void",
                None,
            ),
        ],
        {"max_completion_tokens": 16000},
    ),
    "vllm": Dialect(
        chat(
            {"content": "[move] hare", "reasoning_content": "They hunt.", "tool_calls": []},
            kv_transfer_params=None,
            prompt_logprobs=None,
            usage={"prompt_tokens": 20, "completion_tokens": 8, "total_tokens": 28, "prompt_tokens_details": None},
        ),
        TOKENS | {"thinking": "They hunt."},
        [
            (
                400,
                {
                    "object": "error",
                    "message": "This model's maximum context length is 40960 tokens.",
                    "type": "BadRequestError",
                    "code": 400,
                },
                {},
                "BadRequestError: 400: This",
                "void",
                None,
            ),
            (
                404,
                {"error": {"message": "The model `m` does not exist.", "type": "NotFoundError", "code": 404}},
                {},
                "does not exist",
                "stop",
                None,
            ),
            (503, "", {}, "503", "retry", None),
        ],
    ),
    "ollama": Dialect(
        chat(
            {"content": "[move] hare", "reasoning": "They hunt."},
            system_fingerprint="fp_ollama",
            usage={"prompt_tokens": 20, "completion_tokens": 8, "total_tokens": 28},
        ),
        TOKENS | {"thinking": "They hunt."},
        [
            (
                404,
                {
                    "error": {
                        "message": 'model "m" not found, try pulling it first',
                        "type": "not_found_error",
                        "param": None,
                    }
                },
                {},
                "try pulling it first",
                "stop",
                None,
            ),
            (
                500,
                {"error": {"message": "llama runner process has terminated", "type": "api_error"}},
                {},
                "terminated",
                "retry",
                None,
            ),
        ],
    ),
}
NAMES = sorted(DIALECTS)


@asynccontextmanager
async def serving(status, body, headers, asked):
    async def answer(request):
        asked.append((await request.json(), dict(request.headers)))
        text = body if isinstance(body, str) else json.dumps(body)
        return web.Response(status=status, text=text, headers=headers, content_type="application/json")

    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    await runner.cleanup()


def called(name, status, body, headers=()):
    """(what came of one call, what was sent)."""
    asked = []

    async def run():
        async with serving(status, body, dict(headers), asked) as url:
            model = replace(load("model", name), base_url=url)
            try:
                return await model.answer(REQUEST)
            except CallFailed as failed:
                return failed
            finally:
                await model.close()

    return asyncio.run(run()), asked[0]


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    for name in NAMES:
        if key := load("model", name).key:
            monkeypatch.setenv(key, KEY)


@pytest.mark.parametrize("name", NAMES)
def test_an_answer_is_read_and_its_usage_believed(name):
    answer, (sent, headers) = called(name, 200, DIALECTS[name].answer)
    assert answer.text == "[move] hare"
    assert {each: getattr(answer, each) for each in DIALECTS[name].read} == DIALECTS[name].read
    assert sent["model"] == load("model", name).model and DIALECTS[name].sent.items() <= sent.items()
    assert headers["Authorization"] == f"Bearer {KEY if load('model', name).key else 'none'}"


@pytest.mark.parametrize(("name", "error"), [(name, each) for name in NAMES for each in DIALECTS[name].errors])
def test_an_error_says_what_is_wrong_and_what_follows(name, error):
    status, body, headers, words, then, after = error
    failed, _ = called(name, status, body, headers)
    assert isinstance(failed, CallFailed)
    assert words in str(failed) and (failed.then, failed.after) == (then, after) and KEY not in str(failed)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("finish", ["length", "content_filter"])
def test_an_answer_cut_off_before_its_first_word_has_no_words(name, finish):
    answer, _ = called(name, 200, chat({}, finish, {"prompt_tokens": 20, "completion_tokens": 0, "total_tokens": 28}))
    assert (answer.text, answer.stop, answer.tokens_out) == ("", finish, 8)
