"""A provider that can be told to fail: both protocols, on this machine only. Also its own process: python fault_server.py --help.

What happens to a request is a hash of the seed, its body and how often that body has come: the same whatever the order of arrival.
"""

import argparse
import asyncio
import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from random import Random
from typing import Any

from aiohttp import web

sys.path.append(str(Path(__file__).parents[1]))  # as a script, or imported from elsewhere
from models import toy
from models.batch_server import Batches

Body = dict[str, Any]
HTML = "<!DOCTYPE html><html><body><h1>502 Bad Gateway</h1></body></html>"


def status(code: int, kind: str, message: str, **headers: str) -> dict[str, Any]:
    """An error as both providers put it, and the headers with it."""
    content = {"type": "error", "error": {"type": kind, "code": kind, "message": message}}
    return {"status": code, "text": json.dumps(content), "content_type": "application/json", "headers": headers}


ERRORS: dict[str, Callable[["FaultServer"], dict[str, Any]]] = {
    "429": lambda server: status(429, "rate_limit_error", "slow down; see the billing page for a higher limit"),
    "429 after": lambda server: status(429, "rate_limit_error", "slow down", **{"Retry-After": f"{server.after:g}"}),
    "429 after ms": lambda server: status(
        429, "rate_limit_error", "slow", **{"retry-after-ms": f"{server.after * 1000:g}"}
    ),
    "429 date": lambda server: status(
        429,
        "rate_limit_error",
        "slow",
        **{"Retry-After": format_datetime(datetime.now(UTC) + timedelta(seconds=30), True)},
    ),
    "429 quota": lambda server: status(429, "insufficient_quota", "You exceeded your current quota"),
    "402": lambda server: status(402, "invalid_request_error", "Insufficient Balance"),
    "408": lambda server: status(408, "timeout_error", "too slow"),
    "409": lambda server: status(409, "conflict_error", "try again"),
    "500": lambda server: status(500, "api_error", "something\nbroke"),
    "503": lambda server: {"status": 503, "text": HTML, "content_type": "text/html"},
    "529": lambda server: status(529, "overloaded_error", "Overloaded"),
    "401": lambda server: status(
        401, "authentication_error", f"Incorrect API key provided: {server.given}. Bearer {server.given}"
    ),
    "403": lambda server: status(403, "permission_error", "not for you"),
    "404": lambda server: status(404, "not_found_error", "no such model"),
    "400": lambda server: status(400, "invalid_request_error", "Unknown parameter: 'temprature'"),
    "policy": lambda server: status(400, "invalid_request_error", "Output blocked by content filtering policy"),
    "flagged": lambda server: status(
        400, "invalid_prompt", "your prompt was flagged as potentially violating our usage policy"
    ),
    "long": lambda server: status(400, "context_length_exceeded", "This model's maximum context length is 8 tokens"),
    "long prompt": lambda server: status(
        400, "invalid_request_error", "prompt is too long: 200001 tokens > 200000 maximum"
    ),
    "413": lambda server: status(413, "request_too_large", "Request exceeds the maximum size"),
    "elsewhere": lambda server: {"status": 307, "headers": {"Location": f"{server.url}/elsewhere"}},
    "html": lambda server: {"text": HTML, "content_type": "text/html"},
    "malformed": lambda server: {"text": '{"id": "1", "choices": [', "content_type": "application/json"},
    "no answer": lambda server: {"text": '{"id": "1", "object": "nothing"}', "content_type": "application/json"},
    "error in 200": lambda server: status(200, "server_error", "upstream failed"),
    "list": lambda server: {"text": "[1, 2]", "content_type": "application/json"},
}
"""Fault -> the response to it."""

FAULTS = (*ERRORS, "silence", "drop", "cut", "drip", "empty", "length", "refusal")
"""All of them; the last three are answers, of a kind. silence: none ever; drop, cut: the connection ends before, amid the body."""


@dataclass
class FaultServer:
    """`async with FaultServer(...) as server` serves at server.url; a model's base_url is server.openai or server.anthropic."""

    answer: Callable[[Body], str] = lambda body: "[move] cooperation"
    faults: Mapping[str, float] = field(default_factory=dict)
    """Share of requests that meet each fault."""
    script: Sequence[str | None] = ()
    """Faults of the first requests in order of arrival, None for a good answer; `faults` holds for those after them."""
    seed: int = 0
    latency: float = 0.0
    """Seconds before an answer; with a spread, their median."""
    spread: float = 0.0
    """Sigma of the latency's logarithm."""
    after: float = 7.0
    """What the fault "429 after" asks to wait, in seconds."""
    key: str | None = None
    """The key that is wanted; None: any."""
    thinking: str = ""
    """What comes as thinking with every answer."""
    template: Callable[[Sequence[Body]], str] = toy.prompt
    """How /apply-template makes a text of a conversation."""
    keep: bool = True
    """Whether to keep `bodies`."""

    batch: dict[str, Any] = field(default_factory=dict)
    """How batches go: settings of batch_server.Batches."""

    requests: int = 0
    answers: int = 0
    """Requests that were answered properly, and whose answer was sent whole."""
    inside: int = 0
    most: int = 0
    """The most requests inside at once."""
    met: Counter[str] = field(default_factory=Counter)
    """Faults met, by name."""
    bodies: list[Body] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    given: str = ""
    """The key that came with the last request."""
    url: str = ""
    _seen: Counter[bytes] = field(default_factory=Counter)
    _runner: web.AppRunner | None = None

    def __post_init__(self) -> None:
        self.batches = Batches(self._in_batch, **self.batch)
        unknown = {*self.faults, *filter(None, self.script)} - set(FAULTS)
        if unknown:
            raise ValueError(f"no such faults: {unknown}; there are {', '.join(FAULTS)}")

    @property
    def openai(self) -> str:
        return f"{self.url}/v1"

    @property
    def anthropic(self) -> str:
        return self.url

    async def __aenter__(self) -> "FaultServer":
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self, port: int = 0) -> "FaultServer":
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post("/v1/chat/completions", self._openai)
        app.router.add_post("/v1/messages", self._anthropic)
        app.router.add_post("/v1/responses", self._newer)
        app.router.add_get("/stats", self._stats)
        self.batches.routes(app)
        for path in ("/apply-template", "/tokenize", "/completion"):
            app.router.add_post(path, self._native)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port, backlog=1024)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    def stats(self) -> dict[str, Any]:
        """The counts, as JSON; GET /stats answers them."""
        return {
            "requests": self.requests,
            "answers": self.answers,
            "most": self.most,
            "met": dict(self.met),
        }

    async def _stats(self, request: web.Request) -> web.Response:
        return web.json_response(self.stats())

    async def _openai(self, request: web.Request) -> web.StreamResponse:
        return await self._respond(request, self._chat_completion)

    async def _anthropic(self, request: web.Request) -> web.StreamResponse:
        return await self._respond(request, self._message)

    async def _newer(self, request: web.Request) -> web.StreamResponse:
        return await self._respond(request, self._items)

    def _in_batch(self, body: Body) -> Body:
        form = self._items if "input" in body else self._message if "max_tokens" in body else self._chat_completion
        return form(body, None)

    async def _native(self, request: web.Request) -> web.StreamResponse:
        """llama.cpp's own addresses, for the toy model."""
        forms: dict[str, Callable[[Body], Body]] = {
            "/apply-template": lambda body: {"prompt": self.template(body["messages"])},
            "/tokenize": lambda body: {"tokens": toy.tokens(body["content"])},
            "/completion": toy.completion,
        }
        return await self._respond(request, lambda body, fault: forms[request.path](body))

    async def _respond(self, request: web.Request, form: Callable[[Body, str | None], Body]) -> web.StreamResponse:
        raw = await request.read()
        self.requests += 1
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            number, self._seen[raw] = self._seen[raw], self._seen[raw] + 1
            body = json.loads(raw)
            if self.keep:
                self.bodies.append(body)
                self.headers.append(dict(request.headers))
            self.given = (
                request.headers.get("Authorization", "") or request.headers.get("x-api-key", "")
            ).removeprefix("Bearer ")
            dice = Random(f"{self.seed}/{number}/".encode() + raw)
            fault = self._fault(dice)
            if self.latency:
                await asyncio.sleep(self.latency * math.exp(self.spread * dice.gauss(0, 1)))
            return await self._send(request, form(body, fault), fault)
        finally:
            self.inside -= 1

    def _fault(self, dice: Random) -> str | None:
        drawn = dice.random()
        if self.requests <= len(self.script):
            fault = self.script[self.requests - 1]
        else:
            fault = None
            for name, share in self.faults.items():
                if 0 <= drawn < share:
                    fault = name
                drawn -= share
        if self.key is not None and self.given != self.key:
            fault = "401"
        if fault:
            self.met[fault] += 1
        return fault

    async def _send(self, request: web.Request, content: Body, fault: str | None) -> web.StreamResponse:
        if fault in ERRORS:
            return web.Response(**ERRORS[fault](self))
        if fault == "silence":
            await asyncio.sleep(3600)
        if fault == "drop":
            request.transport.abort()
            return web.Response()
        text = json.dumps(content).encode()
        response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": str(len(text))})
        await response.prepare(request)
        if fault == "cut":
            await response.write(text[: len(text) // 2])
            request.transport.abort()
            return response
        for piece in [text[place : place + 1] for place in range(len(text))] if fault == "drip" else [text]:
            await response.write(piece)
            if fault == "drip":
                await asyncio.sleep(0.05)
        await response.write_eof()
        self.answers += 1
        return response

    def _said(self, body: Body, fault: str | None) -> str:
        if fault in ("empty", "length"):
            return ""
        return self.answer(body) if toy.schema_in(body) is None else toy.obeyed(body)

    def _chat_completion(self, body: Body, fault: str | None) -> Body:
        text = self._said(body, fault)
        message: Body = {"role": "assistant", "content": text, "refusal": None}
        if fault == "refusal":
            message |= {"content": None, "refusal": "I can't help with that."}
        if self.thinking:
            message["reasoning_content"] = self.thinking
        known, sent, received, thought = self._usage(body, text)
        return {
            "id": f"chatcmpl-{self.requests}",
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": [
                {
                    "index": 0,
                    "message": message,
                    "logprobs": toy.first_tokens(body) if body.get("logprobs") else None,
                    "finish_reason": "length" if fault == "length" else "stop",
                }
            ],
            "usage": {
                "prompt_tokens": sent,
                "completion_tokens": received + thought,
                "total_tokens": sent + received + thought,
                "prompt_tokens_details": {"cached_tokens": known},
                "completion_tokens_details": {"reasoning_tokens": thought},
            },
        }

    def _items(self, body: Body, fault: str | None) -> Body:
        text = self._said(body, fault)
        part = {"type": "output_text", "text": text, "annotations": []}
        if fault == "refusal":
            part = {"type": "refusal", "refusal": "I can't help with that."}
        known, sent, received, thought = self._usage(body, text)
        thoughts = [{"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": self.thinking}]}]
        return {
            "id": f"resp_{self.requests}",
            "object": "response",
            "status": "incomplete" if fault == "length" else "completed",
            "error": None,
            "incomplete_details": {"reason": "max_output_tokens"} if fault == "length" else None,
            "output": [
                *(thoughts if self.thinking else []),
                {"type": "message", "role": "assistant", "content": [part]},
            ],
            "usage": {
                "input_tokens": sent,
                "input_tokens_details": {"cached_tokens": known, "cache_write_tokens": 0},
                "output_tokens": received + thought,
                "output_tokens_details": {"reasoning_tokens": thought},
                "total_tokens": sent + received + thought,
            },
        }

    def _message(self, body: Body, fault: str | None) -> Body:
        text = self._said(body, fault)
        blocks: list[Body] = (
            [{"type": "thinking", "thinking": self.thinking, "signature": "s"}] if self.thinking else []
        )
        if "tools" in body:
            blocks += [{"type": "tool_use", "id": "t", "name": body["tools"][0]["name"], "input": json.loads(text)}]
        elif fault not in ("empty", "refusal"):
            blocks += [
                {"type": "text", "text": text[: len(text) // 2]},
                {"type": "text", "text": text[len(text) // 2 :]},
            ]
        known, sent, received, thought = self._usage(body, text)
        cached = known if "cache_control" in json.dumps(body) else 0
        return {
            "id": f"msg_{self.requests}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": blocks,
            "stop_reason": {"length": "max_tokens", "refusal": "refusal"}.get(fault or "", "end_turn"),
            "stop_sequence": None,
            "usage": {
                "input_tokens": 0 if cached else sent,
                "cache_creation_input_tokens": sent - cached if cached else 0,
                "cache_read_input_tokens": cached,
                "output_tokens": received + thought,
            },
        }

    def _usage(self, body: Body, text: str) -> tuple[int, int, int, int]:
        """Tokens known from the call before (all but the last two messages), sent, received as text, as thinking: 4 letters each."""
        lengths = [len(_text(message["content"])) for message in _messages(body)]
        system = len(_text(body.get("system", "")))
        known = system + sum(lengths[:-2]) if len(lengths) > 2 else 0
        return known // 4, (system + sum(lengths)) // 4, len(text) // 4, len(self.thinking) // 4


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def conversation(body: Body) -> list[str]:
    """The texts of a request, whichever its protocol, system first: for `answer` functions."""
    system = [_text(body["system"])] if "system" in body else []
    return system + [_text(message["content"]) for message in _messages(body)]


def _messages(body: Body) -> Sequence[Body]:
    """Those of either of OpenAI's protocols, or of Anthropic's."""
    return body["messages"] if "messages" in body else [each for each in body["input"] if "role" in each]


async def serve(options: argparse.Namespace) -> None:
    """Serves until stopped; the first line printed is the address."""
    faults = {name: float(share) for name, _, share in (each.rpartition("=") for each in options.fault)}
    server = FaultServer(
        faults=faults,
        seed=options.seed,
        latency=options.latency,
        spread=options.spread,
        after=options.after,
        keep=False,
    )
    if options.answer:
        server.answer = lambda body: options.answer
    await server.start(options.port)
    print(server.url, flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--fault", action="append", default=[], metavar="NAME=SHARE", help=", ".join(FAULTS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds; the median with --spread")
    parser.add_argument("--spread", type=float, default=0.0, help="sigma of the latency's logarithm")
    parser.add_argument("--after", type=float, default=7.0, help="seconds that '429 after' asks for")
    parser.add_argument("--answer", default="", help="the text of every answer")
    asyncio.run(serve(parser.parse_args()))
