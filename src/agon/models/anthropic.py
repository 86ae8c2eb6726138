"""Anthropic's messages protocol, through its SDK: its own service, and Amazon Bedrock."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal

import msgspec

from agon.models.base import Answer, CallFailed, Message, Request, clean
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

CACHE = "cache_read_input_tokens", "cache_creation_input_tokens"
"""Of the usage, what concerns the provider's prompt cache; absent where there is none."""
NAMES = {"temperature": "temperature", "top_p": "top_p", "max_tokens": "max_tokens", "stop": "stop_sequences"}
"""Parameters that are sent as they are, by the names of this protocol."""

STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "overloaded_error": 529,
    "api_error": 500,
}
"""Kind of an error -> the status that it has outside of batches."""


class _Outcome(msgspec.Struct):
    type: str
    message: msgspec.Raw = msgspec.Raw(b"{}")
    error: dict[str, Any] = {}


class _Result(msgspec.Struct):
    """A line of a batch's results."""

    custom_id: str
    result: _Outcome


_result = msgspec.json.Decoder(_Result)
THOUGHTS = "thinking", "redacted_thinking"
"""Blocks that go back with the answer that they came with; their signatures are checked."""

TOOL = "answer"
"""The tool that must be called where that is how a schema is enforced."""


@dataclass(kw_only=True)
class Anthropic(Remote):
    """A model behind /v1/messages. Its parameter `thinking` may also be "adaptive", or 0 for none."""

    bedrock: bool = False
    """Whether it is asked through Amazon Bedrock; without a `key`, AWS's own settings say who asks."""
    region: str | None = None
    """Bedrock's region; None: AWS's own settings say."""
    cache: bool = True
    """Whether the provider keeps the conversation so far for the next call; writing that costs a quarter more, reading little."""

    structured: Literal["format", "tool"] = "format"
    """How a schema is enforced: as the format of the output, or, for models before Claude 4.5, as a tool that must be called."""

    sdk = "anthropic"
    path = "/v1/messages"
    known = frozenset({"temperature", "top_p", "max_tokens", "thinking", "effort", "stop"})

    @property
    def rewritten(self) -> bool:
        """Whether the SDK's client sends something else: for Bedrock the model is in the address."""
        return self.bedrock

    def connected(self, key: str) -> Any:
        """The SDK's client, which tries once and keeps up to `concurrency` connections."""
        # here: the SDK takes a second to import, and a plan needs none of it
        from anthropic import AsyncAnthropic, AsyncAnthropicBedrock, DefaultAioHttpClient

        if not self.parameters.get("max_tokens"):
            raise CallFailed(
                "settings", f"model {self.model}: set parameters.max_tokens, its protocol has no default", "stop"
            )
        if self.bedrock and self.key is None and find_spec("boto3") is None:
            raise CallFailed("settings", f"model {self.model}: Bedrock needs pip install 'anthropic[bedrock]'", "stop")
        common: dict[str, Any] = {
            "base_url": self.base_url,
            "max_retries": 0,
            "timeout": self.timeout,
            "http_client": self.http_client(DefaultAioHttpClient),
        }
        if self.bedrock:
            return AsyncAnthropicBedrock(api_key=key if self.key else None, aws_region=self.region, **common)
        return AsyncAnthropic(api_key=key, **common)

    def body(self, messages: Sequence[Message]) -> dict[str, Any]:
        """The request as it is sent, but for `extra`; what the next call will begin with is marked for the cache."""
        mark = {"cache_control": {"type": "ephemeral"}} if self.cache else {}
        system = "\n\n".join(text_of(message) for message in messages if message.role == "system")
        turns: list[dict[str, Any]] = [
            {"role": message.role, "content": _content(message, *calls)}
            for message, *calls in with_calls(messages)
            if message.role != "system"
        ]
        if isinstance(text := turns[-1]["content"], str):
            turns[-1]["content"] = [{"type": "text", "text": text}]
        turns[-1]["content"][-1] |= mark
        body: dict[str, Any] = {
            "model": self.model,
            "messages": turns,
            **renamed(self.parameters, NAMES),
        }
        if system:
            body["system"] = [{"type": "text", "text": system} | mark]
        thinking, effort = self.parameters.get("thinking"), self.parameters.get("effort")
        if thinking == "adaptive":
            body["thinking"] = {"type": "adaptive"}
        elif thinking is not None:
            body["thinking"] = {"type": "enabled", "budget_tokens": thinking} if thinking else {"type": "disabled"}
        if effort:
            body["output_config"] = {"effort": effort}
        return body

    def constrained(self, body: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
        """The body with the schema, as far as the provider enforces it: limits of numbers and texts become descriptions."""
        if self.structured == "tool":
            tool = {"name": TOOL, "description": "Gives the answer.", "input_schema": schema}
            return body | {"tools": [tool], "tool_choice": {"type": "tool", "name": TOOL}}
        from anthropic import transform_schema

        form = {"type": "json_schema", "schema": transform_schema(dict(schema))}
        return body | {"output_config": {**body.get("output_config", {}), "format": form}}

    def calling(self, body: dict[str, Any], tools: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """The body with the tools. While it thinks, the provider lets nobody demand that one is called."""
        offered = [{"name": name, "input_schema": takes} for name, takes in tools.items()]
        kind = "auto" if body.get("thinking", {}).get("type") in ("adaptive", "enabled") else "any"
        return body | {"tools": offered, "tool_choice": {"type": kind, "disable_parallel_tool_use": True}}

    async def submit(self, name: str, requests: Mapping[str, Request]) -> str:
        """Hands in a batch. Its protocol keeps no name for it."""
        client = await self._connect()
        items = [{"custom_id": key, "params": self.whole(request)} for key, request in requests.items()]
        return str((await client.messages.batches.create(requests=items)).id)

    async def submitted(self, name: str, keys: Collection[str], since: float, others: Collection[str]) -> str | None:
        """The provider's id of the batch with these requests; None where there is none.

        The requests of a batch show in its results: where one of as many requests is under way, it raises CallFailed.
        """
        client = await self._connect()
        async for batch in client.messages.batches.list(limit=100):
            if batch.created_at.timestamp() < since - CLOCKS_DIFFER:
                break
            if batch.id in others or sum(batch.request_counts.model_dump().values()) != len(keys):
                continue
            if batch.processing_status != "ended":
                raise CallFailed("under way", f"batch {batch.id} may be ours, which shows when it is over")
            if any(key in keys for key, _ in await self._lines(batch.id)):
                return str(batch.id)
        return None

    async def results(self, batch: str) -> Results | None:
        """What came of a batch."""
        client = await self._connect()
        if (await client.messages.batches.retrieve(batch)).processing_status != "ended":
            return None
        return Results(await self._lines(batch), CallFailed("no result", "the batch is over, without a result for it"))

    async def _lines(self, batch: str) -> list[tuple[str, bytes | CallFailed]]:
        client = await self._connect()
        response = await client.messages.batches.with_raw_response.results(batch)
        return [
            result for raw in response.http_response.content.splitlines() if (result := self._result(raw)) is not None
        ]

    def _result(self, raw: bytes) -> tuple[str, bytes | CallFailed] | None:
        try:
            line = _result.decode(raw)
        except msgspec.DecodeError:  # its request is among those without a line
            return None
        kind = line.result.type
        if kind == "succeeded":
            return line.custom_id, bytes(line.result.message)
        if kind == "errored":
            error = line.result.error.get("error", {})
            return line.custom_id, refusal(STATUSES.get(error.get("type"), 500), {}, json.dumps(error), self.key)
        kind = {"canceled": "cancelled"}.get(kind, kind)
        return line.custom_id, CallFailed(
            kind if kind in ("expired", "cancelled") else "no result", f"the batch is over: {one_line(kind)}"
        )

    def read(self, content: Any) -> Answer:
        """The answer in a response's JSON. Raises KeyError and the like when there is none."""
        blocks, usage = content["content"], part(content, "usage")
        calls = [block for block in blocks if block["type"] == "tool_use"]
        text = "".join(block["text"] for block in blocks if block["type"] == "text")
        types: tuple[str, ...] = THOUGHTS
        if [block["name"] for block in calls] == [TOOL]:
            text = json.dumps(calls[0]["input"], ensure_ascii=False)
        elif calls:
            text, single = one_call(text, [(block["name"], block["input"]) for block in calls])
            types = (*THOUGHTS, "text", "tool_use") if single else THOUGHTS
        parts = [count(usage, f"{name}_tokens") for name in ("input", "output")]
        cache = [count(usage, name) for name in CACHE]
        tokens_in, tokens_out, cached, written = (tokens or 0 for tokens in parts + cache)
        return Answer(
            text=clean(text),
            thinking=clean("".join(block["thinking"] for block in blocks if block["type"] == "thinking")),
            tokens_in=tokens_in + written + cached,
            tokens_cached=cached,
            tokens_written=written,
            tokens_out=tokens_out,
            id=str(content.get("id") or ""),
            stop=str(content.get("stop_reason") or ""),
            unreported=None in parts or cache.count(None) == 1 or unreadable(usage, *CACHE),
            usd=charged(usage),
            opaque=opaque([block for block in blocks if block["type"] in types]),
        )


def _content(
    message: Message, call: dict[str, Any] | None, before: dict[str, Any] | None
) -> str | list[dict[str, Any]]:
    """A message; before an answer stand the blocks of its thinking, unchanged, as the provider asks.

    One that calls a tool goes back as it came, and what follows tells what came of the call.
    """
    if call is not None:
        return [dict(block) for block in message.opaque]
    text = text_of(message)
    if before is not None and message.role == "user":
        return [{"type": "tool_result", "tool_use_id": before["id"], "content": text}]
    return [*message.opaque, {"type": "text", "text": text}] if message.opaque else text
