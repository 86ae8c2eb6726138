"""OpenAI's chat protocol, through its SDK: its own models, and every server that speaks it (base_url)."""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import msgspec

from agon.errors import AgonError
from agon.models import llamacpp
from agon.models.base import Answer, CallFailed, Message, Request, clean
from agon.models.ends import ended_of
from agon.models.errors import one_line, refusal
from agon.models.remote import (
    CLOCKS_DIFFER,
    Remote,
    Results,
    charged,
    count,
    one_call,
    opaque,
    part,
    renamed,
    text_of,
    unreadable,
    with_calls,
)

TOP_LOGPROBS = 20
"""A chat gives the log-probabilities of this many of the likeliest tokens, at most."""

OURS = "agon"
"""Name of a batch's metadata that tell our name for it."""
THOUGHT = re.compile(r"\s*<reasoning>(.*?)</reasoning>\s*", re.DOTALL)
"""How Bedrock tells of thinking."""
UNDER_WAY = {"validating", "in_progress", "finalizing", "cancelling"}
"""Of a batch's states, those after which others come."""
FULL = 600.0
"""Seconds to wait where too much has been handed in at once."""


class _Response(msgspec.Struct):
    status_code: int
    body: msgspec.Raw = msgspec.Raw(b"{}")


class _Error(msgspec.Struct):
    code: str | int | None = None
    message: str | None = None


class _Result(msgspec.Struct):
    """A line of a batch's output."""

    custom_id: str
    response: _Response | None = None
    error: _Error | None = None


_result = msgspec.json.Decoder(_Result, strict=False)  # some servers write the status as text


@dataclass(kw_only=True)
class OpenAI(Remote):
    """A model behind /chat/completions."""

    max_tokens_name: str = "max_completion_tokens"
    """What the server calls max_tokens; many know only max_tokens."""

    logprobs: Literal["chat", "llama.cpp"] | None = None
    """How the server tells log-probabilities, for agents that weigh: of the likeliest first tokens in a chat, which is exact for
    single letters; or by llama.cpp's own addresses, which is exact for any words. None: it does not."""

    sdk = "openai"
    path = "/chat/completions"
    known = frozenset({"temperature", "top_p", "max_tokens", "effort", "seed", "stop"})

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.logprobs not in (None, "chat", "llama.cpp"):
            raise AgonError(f"model {self.model}: logprobs is {self.logprobs!r}; it must be chat, llama.cpp or null")

    @property
    def weighs(self) -> Literal["", "letters", "words"]:
        """What can be weighed, by `logprobs`."""
        return "" if self.logprobs is None else "letters" if self.logprobs == "chat" else "words"

    def connected(self, key: str) -> Any:
        """The SDK's client, which tries once and keeps up to `concurrency` connections."""
        from openai import (
            AsyncOpenAI,
            DefaultAioHttpClient,
        )  # here: it takes half a second, and a plan needs none of it

        return AsyncOpenAI(
            api_key=key,
            base_url=self.base_url,
            max_retries=0,
            timeout=self.timeout,
            http_client=self.http_client(DefaultAioHttpClient),
        )

    def body(self, messages: Sequence[Message]) -> dict[str, Any]:
        """The request as it is sent, but for `extra`."""
        names = {
            "temperature": "temperature",
            "top_p": "top_p",
            "max_tokens": self.max_tokens_name,
            "effort": "reasoning_effort",
            "seed": "seed",
            "stop": "stop",
        }
        turns = [_message_body(*turn) for turn in with_calls(messages)]
        return {"model": self.model, "messages": turns} | renamed(self.parameters, names)

    def constrained(self, body: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
        """The body with the schema. Of llama.cpp's server, which ends answers by it, they are never cut off by max_tokens."""
        form = {"name": "answer", "strict": True, "schema": schema}
        whole = {self.max_tokens_name: -1} if self.logprobs == "llama.cpp" else {}
        return body | whole | {"response_format": {"type": "json_schema", "json_schema": form}}

    def calling(self, body: dict[str, Any], tools: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """The body with the tools. Of llama.cpp's server, which ends answers by their grammar, they are never cut off by max_tokens."""
        offered = [
            {"type": "function", "function": {"name": name, "parameters": takes, "strict": True}}
            for name, takes in tools.items()
        ]
        whole = {self.max_tokens_name: -1} if self.logprobs == "llama.cpp" else {}
        return body | whole | {"tools": offered, "tool_choice": "required", "parallel_tool_calls": False}

    async def submit(self, name: str, requests: Mapping[str, Request]) -> str:
        """Hands in a batch as a file; its metadata tells our name for it."""
        url = f"/v1{self.path}"
        lines = [
            json.dumps({"custom_id": key, "method": "POST", "url": url, "body": self.whole(request)})
            for key, request in requests.items()
        ]
        client = await self._connect()
        file = await client.files.create(file=(f"{name}.jsonl", "\n".join(lines).encode()), purpose="batch")
        batch = await client.batches.create(
            input_file_id=file.id, endpoint=url, completion_window="24h", metadata={OURS: name}
        )
        return str(batch.id)

    async def submitted(self, name: str, keys: Collection[str], since: float, others: Collection[str]) -> str | None:
        """The provider's id of the batch whose metadata tell our name; the list begins with the newest."""
        client = await self._connect()
        async for batch in client.batches.list(limit=100):
            if (batch.metadata or {}).get(OURS) == name:
                return str(batch.id)
            if batch.created_at < since - CLOCKS_DIFFER:
                break
        return None

    async def results(self, batch: str) -> Results | None:
        """What came of a batch; answers and errors are in files of their own."""
        client = await self._connect()
        state = await client.batches.retrieve(batch)
        if state.status in UNDER_WAY:
            return None
        if state.status == "completed" and not (state.output_file_id or state.error_file_id):  # it may come later
            raise CallFailed("no result", "it is completed, but names no file of results")
        answers = list[tuple[str, bytes | CallFailed]]()
        for file in filter(None, (state.output_file_id, state.error_file_id)):
            data = (await client.files.content(file)).content
            answers += [result for raw in data.splitlines() if (result := self._result(raw)) is not None]
        error = state.errors.data[0] if state.errors and state.errors.data else None
        return Results(answers, _unanswered(state.status, error and error.code, error and error.message))

    def _result(self, raw: bytes) -> tuple[str, bytes | CallFailed] | None:
        try:
            line = _result.decode(raw)
        except msgspec.DecodeError:  # its request is among those without a line
            return None
        if line.response is None and line.error is None:
            return None
        if line.response is None or line.response.status_code != 200:
            status, body = (0, b"") if line.response is None else (line.response.status_code, bytes(line.response.body))
            if status:
                return line.custom_id, refusal(status, {}, body.decode("utf-8", "replace"), self.key)
            error = line.error or _Error()
            code = str(error.code or "")
            return line.custom_id, _unanswered(code.removeprefix("batch_"), code, error.message)
        return line.custom_id, bytes(line.response.body)

    async def weighed(self, request: Request) -> Answer:
        """How likely each option is as the whole answer; in a chat, as its first token.

        Raises CallFailed, in a chat also for a letter that is not among the likeliest tokens: its probability is not told.
        """
        body = self.body(request.messages)
        if self.logprobs == "llama.cpp":
            return await llamacpp.weighed(self._native, body["messages"], request.options)
        if self.logprobs is None or any(len(option) > 1 for option in request.options):
            raise CallFailed("settings", f"model {self.model}: it cannot tell how likely whole answers are", "stop")
        settings = {"logprobs": True, "top_logprobs": TOP_LOGPROBS, self.max_tokens_name: 1}
        data = await self.post(self.path, body | settings | (self.parameters.get("extra") or {}))
        content = self.content(data)
        try:
            answer, first = self.read(content), content["choices"][0]["logprobs"]["content"][0]
            logprobs = {token["token"]: float(token["logprob"]) for token in first["top_logprobs"]}
        except Exception:  # servers put anything anywhere
            raise self.no_answer(data) from None
        if missing := [option for option in request.options if option not in logprobs]:
            raise CallFailed(
                "logprobs", f"{missing[0]} is not among the {len(logprobs)} first tokens that it tells", "void"
            )
        return replace(answer, text="", weights=tuple(logprobs[option] for option in request.options))

    async def _native(self, path: str, body: dict[str, Any]) -> Any:
        """The JSON with which llama.cpp's server answers at an address of its own, which has no /v1."""
        return self.content(await self.post(str(self.base_url).rstrip("/").removesuffix("/v1") + path, body))

    def read(self, content: Any) -> Answer:
        """The answer in a response's JSON. Raises KeyError and the like when there is none."""
        choice, usage = content["choices"][0], part(content, "usage")
        message = choice["message"]
        calls = [(call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls") or []]
        refusal, thoughts = message.get("refusal"), (message.get("reasoning_content"), message.get("reasoning"))
        thinking = next((text for text in thoughts if text and isinstance(text, str)), "")
        if choice.get("error"):  # OpenRouter's way to tell that its provider failed
            raise ValueError
        cut = ended_of(str(choice.get("finish_reason"))) in ("length", "filter", "error")  # it may have no text at all
        text = refusal or (message.get("content") if thinking or cut or calls else message["content"])
        if isinstance(text, str) and (thought := THOUGHT.match(text)) and not thinking:
            thinking, text = thought[1], text[thought.end() :]
        if isinstance(text, list):  # Mistral's thinking models answer in parts
            thinking = "".join(
                piece["text"] for part in text if part["type"] == "thinking" for piece in part["thinking"]
            )
            text = "".join(part["text"] for part in text if part["type"] == "text")
        blocks = message.get("reasoning_details")  # OpenRouter's
        if calls:
            text, single = one_call(text or "", calls)
            if single:
                fields = {name: message[name] for name in ("content", "tool_calls") if name in message}
                blocks = [*(blocks or []), {"type": "tool_calls", **fields}]
        tokens_in, tokens_out = count(usage, "prompt_tokens"), count(usage, "completion_tokens")
        sent = tokens_in or 0
        with_thinking = (count(usage, "total_tokens") or 0) - sent  # some servers leave it out of completion_tokens
        details = part(usage, "prompt_tokens_details")
        cached = count(details, "cached_tokens") or count(usage, "prompt_cache_hit_tokens") or 0  # DeepSeek's name
        written = count(details, "cache_write_tokens")
        unclear = None in (tokens_in, tokens_out) or unreadable(usage, "total_tokens") or cached > sent
        return Answer(
            text=clean(text),
            thinking=clean(thinking),
            tokens_in=sent,
            tokens_cached=min(cached, sent),
            tokens_written=min(written or 0, max(0, sent - cached)),
            tokens_out=max(tokens_out or 0, with_thinking),
            id=str(content.get("id") or ""),
            stop="refusal" if refusal else str(choice.get("finish_reason") or ""),
            unreported=unclear or (written is None and self.writing_costs_more),
            usd=charged(usage),
            opaque=opaque(blocks),
        )


def _message_body(message: Message, call: dict[str, Any] | None, before: dict[str, Any] | None) -> dict[str, Any]:
    """A message as it is sent; what follows the call of a tool tells what came of it."""
    if before is not None and message.role == "user":
        return {"role": "tool", "tool_call_id": before["tool_calls"][0]["id"], "content": text_of(message)}
    thoughts = [block for block in message.opaque if block is not call]
    body = {"role": message.role, "content": text_of(message)}
    if call is not None:
        body |= {name: value for name, value in call.items() if name != "type"}
    return body | ({"reasoning_details": thoughts} if thoughts else {})


def _unanswered(status: str, code: str | None, message: str | None) -> CallFailed:
    """Why a batch in that state has no answer to a request."""
    why = one_line(f"the batch is {status}: {': '.join(filter(None, (code, message)))}".removesuffix(": "))
    if status in ("expired", "cancelled"):  # such requests are not charged
        return CallFailed(status, why)
    if status == "failed" and "limit" in (code or ""):
        return CallFailed("429", why, after=FULL)
    return CallFailed("failed", why, "stop") if status == "failed" else CallFailed("no result", why)
