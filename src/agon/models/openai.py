"""OpenAI's chat protocol through its SDK, for its own models and for all servers with this protocol (base_url)."""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import msgspec

from agon.errors import AgonError
from agon.models import llamacpp
from agon.models.base import Answer, CallFailed, Message, Request, clean, ended_of
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
    with_source,
)

TOP_LOGPROBS = 20
"""A chat gives the log-probabilities of at most this many tokens, the likeliest ones."""

METADATA_NAME = "agon"
"""The field of a batch's metadata with our name for it."""
THOUGHT = re.compile(r"\s*<reasoning>(.*?)</reasoning>\s*", re.DOTALL)
"""The form in which Bedrock shows thinking."""
UNDER_WAY = {"validating", "in_progress", "finalizing", "cancelling"}
"""States of a batch that is not finished."""
FULL = 600.0
"""Seconds to wait after too much was submitted at once."""


class _Response(msgspec.Struct):
    status_code: int
    body: msgspec.Raw = msgspec.Raw(b"{}")


class _Error(msgspec.Struct):
    code: str | int | None = None
    message: str | None = None


class _Result(msgspec.Struct):
    """A line of the results of a batch."""

    custom_id: str
    response: _Response | None = None
    error: _Error | None = None


_result = msgspec.json.Decoder(_Result, strict=False)  # some servers write the status as text


@dataclass(kw_only=True)
class OpenAI(Remote):
    """A model behind /chat/completions."""

    max_tokens_name: str = "max_completion_tokens"
    """The server's name for max_tokens. Many servers know only max_tokens."""

    logprobs: Literal["chat", "llama.cpp"] | None = None
    """The source of log-probabilities, for agents that weigh options. chat: those of the likeliest first tokens, which
    are exact for single letters. llama.cpp: this server's own addresses, which are exact for any words. None: there is
    no source."""

    sdk = "openai"
    home = "https://api.openai.com/v1"
    path = "/chat/completions"
    parameter_names = frozenset({"temperature", "top_p", "max_tokens", "effort", "seed", "stop"})

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.logprobs not in (None, "chat", "llama.cpp"):
            raise AgonError(f"model {self.model}: logprobs is {self.logprobs!r}; it must be chat, llama.cpp or null")

    @property
    def weighs(self) -> Literal["", "letters", "words"]:
        """The options that it can weigh, which depend on `logprobs`."""
        return "" if self.logprobs is None else "letters" if self.logprobs == "chat" else "words"

    def make_client(self, key: str) -> Any:
        """A client of the SDK. It tries every call once, with up to `concurrency` connections. Raises CallFailed."""
        # here, because it takes half a second and a plan does not need it
        from openai import AsyncOpenAI, DefaultAioHttpClient

        client = AsyncOpenAI(
            api_key=key,
            base_url=self.address,
            max_retries=0,
            timeout=self.timeout,
            http_client=self.http_client(DefaultAioHttpClient),
        )
        client.organization = client.project = None  # the SDK takes them from the environment
        return client

    def body(self, messages: Sequence[Message]) -> dict[str, Any]:
        """The body of a request without schema, tools and `extra`."""
        names = {
            "temperature": "temperature",
            "top_p": "top_p",
            "max_tokens": self.max_tokens_name,
            "effort": "reasoning_effort",
            "seed": "seed",
            "stop": "stop",
        }
        turns = [_message_body(*turn) for turn in with_calls(messages)]
        return {"model": self.model, "messages": turns} | rename_parameters(self.parameters, names)

    def with_schema(self, body: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
        """The body with the schema.

        For llama.cpp's server it lifts the limit of max_tokens, because the schema ends the answer there.
        """
        form = {"name": "answer", "strict": True, "schema": schema}
        unlimited = {self.max_tokens_name: -1} if self.logprobs == "llama.cpp" else {}
        return body | unlimited | {"response_format": {"type": "json_schema", "json_schema": form}}

    def with_tools(self, body: dict[str, Any], tools: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """The body with the tools.

        For llama.cpp's server it lifts the limit of max_tokens, because the tools' grammar ends the answer there.
        """
        functions = [
            {"type": "function", "function": {"name": name, "parameters": takes, "strict": True}}
            for name, takes in tools.items()
        ]
        unlimited = {self.max_tokens_name: -1} if self.logprobs == "llama.cpp" else {}
        return body | unlimited | {"tools": functions, "tool_choice": "required", "parallel_tool_calls": False}

    async def submit(self, name: str, requests: Mapping[str, Request]) -> str:
        """Submits a batch as a file. Its metadata contain our name."""
        url = f"/v1{self.path}"
        lines = [
            json.dumps({"custom_id": key, "method": "POST", "url": url, "body": self.request_body(request)})
            for key, request in requests.items()
        ]
        client = await self._connect()
        file = await client.files.create(file=(f"{name}.jsonl", "\n".join(lines).encode()), purpose="batch")
        batch = await client.batches.create(
            input_file_id=file.id, endpoint=url, completion_window="24h", metadata={METADATA_NAME: name}
        )
        return str(batch.id)

    async def find_batch(self, name: str, keys: Collection[str], since: float, others: Collection[str]) -> str | None:
        """The provider's id of the batch whose metadata contain our name. None: there is no such batch.

        The provider's list begins with the newest.
        """
        client = await self._connect()
        async for batch in client.batches.list(limit=100):
            if (batch.metadata or {}).get(METADATA_NAME) == name:
                return str(batch.id)
            if batch.created_at < since - CLOCKS_DIFFER:
                break
        return None

    async def results(self, batch: str) -> Results | None:
        """The results of a batch, from its files of answers and errors. None: it is not finished. Raises CallFailed."""
        client = await self._connect()
        state = await client.batches.retrieve(batch)
        if state.status in UNDER_WAY:
            return None
        if state.status == "completed" and not (
            state.output_file_id or state.error_file_id
        ):  # the files may come later
            raise CallFailed("no result", "it is completed, but names no file of results")
        answers = list[tuple[str, bytes | CallFailed]]()
        for file in filter(None, (state.output_file_id, state.error_file_id)):
            data = (await client.files.content(file)).content
            answers += [result for raw in data.splitlines() if (result := self._result(raw)) is not None]
        error = state.errors.data[0] if state.errors and state.errors.data else None
        return Results(answers, _batch_failure(state.status, error and error.code, error and error.message, self.key))

    def _result(self, raw: bytes) -> tuple[str, bytes | CallFailed] | None:
        try:
            line = _result.decode(raw)
        except msgspec.DecodeError:  # its request counts as one without a line
            return None
        if line.response is None and line.error is None:
            return None
        if line.response is None or line.response.status_code != 200:
            status, body = (0, b"") if line.response is None else (line.response.status_code, bytes(line.response.body))
            if status:
                return line.custom_id, refusal(status, {}, body.decode("utf-8", "replace"), self.key)
            error = line.error or _Error()
            code = str(error.code or "")
            return line.custom_id, _batch_failure(code.removeprefix("batch_"), code, error.message, self.key)
        return line.custom_id, bytes(line.response.body)

    async def weigh(self, request: Request) -> Answer:
        """An answer with the log-probability of every option as the whole answer, or in a chat as its first token.

        Raises CallFailed, in a chat also if a letter is not among the likeliest tokens, because its probability is then
        unknown.
        """
        body = self.body(request.messages)
        if self.logprobs == "llama.cpp":
            return await llamacpp.weigh(self._native, body["messages"], request.options)
        if self.logprobs is None or any(len(option) > 1 for option in request.options):
            raise CallFailed("settings", f"model {self.model}: it has no probabilities of whole answers", "stop")
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
                "logprobs", f"{missing[0]} is not among the {len(logprobs)} likeliest first tokens", "void"
            )
        weights = tuple(logprobs[option] for option in request.options)
        return with_source(replace(answer, text="", weights=weights), content)

    async def _native(self, path: str, body: dict[str, Any]) -> Any:
        """The JSON from one of llama.cpp's own addresses, which have no /v1."""
        return self.content(await self.post(self.address.rstrip("/").removesuffix("/v1") + path, body))

    def read(self, content: Any) -> Answer:
        """The answer in the JSON of a response. Raises KeyError or others if there is none."""
        choice, usage = content["choices"][0], object_in(content, "usage")
        message = choice["message"]
        calls = [(call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls") or []]
        refusal, thoughts = message.get("refusal"), (message.get("reasoning_content"), message.get("reasoning"))
        thinking = next((text for text in thoughts if text and isinstance(text, str)), "")
        if choice.get("error"):  # OpenRouter's form of a failure of its provider
            raise ValueError
        # an answer that was cut off may have no text
        cut = ended_of(str(choice.get("finish_reason"))) in ("length", "filter", "error")
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
            text, single = join_calls(text or "", calls)
            if single:
                fields = {name: message[name] for name in ("content", "tool_calls") if name in message}
                blocks = [*(blocks or []), {"type": "tool_calls", **fields}]
        tokens_in, tokens_out = count(usage, "prompt_tokens"), count(usage, "completion_tokens")
        input_tokens = tokens_in or 0
        # some servers leave thinking out of completion_tokens
        with_thinking = (count(usage, "total_tokens") or 0) - input_tokens
        details = object_in(usage, "prompt_tokens_details")
        cached = count(details, "cached_tokens") or count(usage, "prompt_cache_hit_tokens") or 0  # DeepSeek's name
        written = count(details, "cache_write_tokens")
        unclear = None in (tokens_in, tokens_out) or has_bad_count(usage, "total_tokens") or cached > input_tokens
        return Answer(
            text=clean(text),
            thinking=clean(thinking),
            tokens_in=input_tokens,
            tokens_cached=min(cached, input_tokens),
            tokens_written=min(written or 0, max(0, input_tokens - cached)),
            tokens_out=max(tokens_out or 0, with_thinking),
            id=str(content.get("id") or ""),
            stop="refusal" if refusal else str(choice.get("finish_reason") or ""),
            unreported=unclear or (written is None and self.writing_costs_more),
            usd=charge_of(usage),
            opaque=storable(blocks),
        )


def _message_body(message: Message, call: dict[str, Any] | None, before: dict[str, Any] | None) -> dict[str, Any]:
    """A message in the protocol's form. The message after a tool call is sent as the result of the call."""
    if before is not None and message.role == "user":
        return {"role": "tool", "tool_call_id": before["tool_calls"][0]["id"], "content": text_of(message)}
    thoughts = [block for block in message.opaque if block is not call]
    body: dict[str, Any] = {"role": message.role, "content": text_of(message)}
    if call is not None:
        body |= {name: value for name, value in call.items() if name != "type"}
    if thoughts:
        body["reasoning_details"] = thoughts
    return body


def _batch_failure(status: str, code: str | None, message: str | None, key: str | None) -> CallFailed:
    """The failure of a request without an answer, by the state of its batch."""
    why = one_line(f"the batch is {status}: {': '.join(filter(None, (code, message)))}".removesuffix(": "), key)
    if status in ("expired", "cancelled"):  # such requests are not charged
        return CallFailed(status, why)
    if status == "failed" and "limit" in (code or ""):
        return CallFailed("429", why, after=FULL)
    return CallFailed("failed", why, "stop") if status == "failed" else CallFailed("no result", why)
