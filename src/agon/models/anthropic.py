"""Anthropic's messages protocol through its SDK, for its own service and for Amazon Bedrock."""

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
    charge_of,
    count,
    has_bad_count,
    join_calls,
    object_in,
    rename_parameters,
    storable,
    text_of,
    with_calls,
)

CACHE = "cache_read_input_tokens", "cache_creation_input_tokens"
"""Fields of `usage` with the tokens that were read from the prompt cache, and written to it. Absent if there is no cache."""
NAMES = {"temperature": "temperature", "top_p": "top_p", "max_tokens": "max_tokens", "stop": "stop_sequences"}
"""Parameters that are sent unchanged -> their names in this protocol."""

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
"""Type of an error in a batch -> its HTTP status outside of batches."""


class _Outcome(msgspec.Struct):
    type: str
    message: msgspec.Raw = msgspec.Raw(b"{}")
    error: dict[str, Any] = {}


class _Result(msgspec.Struct):
    """A line of the results of a batch."""

    custom_id: str
    result: _Outcome


_result = msgspec.json.Decoder(_Result)
THOUGHTS = "thinking", "redacted_thinking"
"""Types of blocks that go back to the provider with their answer. It checks their signatures."""

_BEDROCK = "https://bedrock-runtime.{}.amazonaws.com"
"""Bedrock's address in a region."""
TOOL = "answer"
"""Name of the tool with which a schema is enforced (`structured`: tool)."""


@dataclass(kw_only=True)
class Anthropic(Remote):
    """A model behind /v1/messages. The parameter `thinking` may also be "adaptive", or 0 for no thinking."""

    bedrock: bool = False
    """Whether requests go through Amazon Bedrock. Without a `key`, AWS's own settings identify the user."""
    region: str | None = None
    """Bedrock's region. None: the one of AWS's own settings."""
    cache: bool = True
    """Whether the provider caches the conversation for the next call. Writing to the cache costs a quarter more,
    reading little."""

    structured: Literal["format", "tool"] = "format"
    """The way to enforce a schema. format: the format of the output. tool: a tool that must be called, for models
    before Claude 4.5."""

    sdk = "anthropic"
    home = "https://api.anthropic.com"
    path = "/v1/messages"
    parameter_names = frozenset({"temperature", "top_p", "max_tokens", "thinking", "effort", "stop"})

    @property
    def address(self) -> str:
        """The address that is asked. For Bedrock without a `region` the one of AWS's own settings stands in it."""
        if self.bedrock and self.base_url is None:
            return _BEDROCK.format(self.region or "REGION")
        return super().address

    @property
    def rewrites_body(self) -> bool:
        """Whether the SDK's client changes the body. For Bedrock it moves the model into the address."""
        return self.bedrock

    def make_client(self, key: str) -> Any:
        """A client of the SDK. It tries every call once, with up to `concurrency` connections. Raises CallFailed."""
        # here, because the SDK takes a second to import and a plan does not need it
        from anthropic import AsyncAnthropic, AsyncAnthropicBedrock, DefaultAioHttpClient

        if not self.parameters.get("max_tokens"):
            raise CallFailed(
                "settings", f"model {self.model}: set parameters.max_tokens, its protocol has no default", "stop"
            )
        if self.bedrock and self.key is None and find_spec("boto3") is None:
            raise CallFailed("settings", f"model {self.model}: Bedrock needs pip install 'anthropic[bedrock]'", "stop")
        common: dict[str, Any] = {
            "max_retries": 0,
            "timeout": self.timeout,
            "http_client": self.http_client(DefaultAioHttpClient),
        }
        if self.bedrock:
            client = AsyncAnthropicBedrock(
                api_key=key if self.key else None, aws_region=self.region, base_url=self.base_url, **common
            )
            client.base_url = self.base_url or _BEDROCK.format(
                client.aws_region
            )  # the SDK takes it from the environment
            return client
        return AsyncAnthropic(api_key=key, base_url=self.address, **common)

    def body(self, messages: Sequence[Message]) -> dict[str, Any]:
        """The body of a request without schema, tools and `extra`. It marks the conversation for the cache."""
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
            **rename_parameters(self.parameters, NAMES),
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

    def with_schema(self, body: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
        """The body with the schema.

        The provider does not enforce limits of numbers and texts: they become descriptions.
        """
        if self.structured == "tool":
            tool = {"name": TOOL, "description": "Gives the answer.", "input_schema": schema}
            return body | {"tools": [tool], "tool_choice": {"type": "tool", "name": TOOL}}
        from anthropic import transform_schema

        form = {"type": "json_schema", "schema": transform_schema(dict(schema))}
        return body | {"output_config": {**body.get("output_config", {}), "format": form}}

    def with_tools(self, body: dict[str, Any], tools: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """The body with the tools. It requires a call, unless the model thinks, because the provider then does not allow that."""
        schemas = [{"name": name, "input_schema": schema} for name, schema in tools.items()]
        kind = "auto" if body.get("thinking", {}).get("type") in ("adaptive", "enabled") else "any"
        return body | {"tools": schemas, "tool_choice": {"type": kind, "disable_parallel_tool_use": True}}

    async def submit(self, name: str, requests: Mapping[str, Request]) -> str:
        """Submits a batch. The protocol has no place for our name."""
        client = await self._connect()
        items = [{"custom_id": key, "params": self.request_body(request)} for key, request in requests.items()]
        return str((await client.messages.batches.create(requests=items)).id)

    async def find_batch(self, name: str, keys: Collection[str], since: float, others: Collection[str]) -> str | None:
        """The provider's id of the batch with these requests. None: there is no such batch.

        Only the results of a batch show its requests. Raises CallFailed if an unfinished batch has the same number of
        requests.
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
        """The results of a batch. None: it is not finished."""
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
        except msgspec.DecodeError:  # its request counts as one without a line
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
        """The answer in the JSON of a response. Raises KeyError or others if there is none."""
        blocks, usage = content["content"], object_in(content, "usage")
        calls = [block for block in blocks if block["type"] == "tool_use"]
        text = "".join(block["text"] for block in blocks if block["type"] == "text")
        types: tuple[str, ...] = THOUGHTS
        if [block["name"] for block in calls] == [TOOL]:
            text = json.dumps(calls[0]["input"], ensure_ascii=False)
        elif calls:
            text, single = join_calls(text, [(block["name"], block["input"]) for block in calls])
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
            unreported=None in parts or cache.count(None) == 1 or has_bad_count(usage, *CACHE),
            usd=charge_of(usage),
            opaque=storable([block for block in blocks if block["type"] in types]),
        )


def _content(
    message: Message, call: dict[str, Any] | None, before: dict[str, Any] | None
) -> str | list[dict[str, Any]]:
    """The content of a message. The blocks of an answer's thinking stand before it, unchanged, as the provider
    requires.

    A tool call goes back unchanged. The message after it is sent as the result of the call.
    """
    if call is not None:
        return [dict(block) for block in message.opaque]
    text = text_of(message)
    if before is not None and message.role == "user":
        return [{"type": "tool_result", "tool_use_id": before["id"], "content": text}]
    return [*message.opaque, {"type": "text", "text": text}] if message.opaque else text
