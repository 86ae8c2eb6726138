"""OpenAI's protocol of responses, which it recommends for its newest models. An answer is a list of items."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agon.errors import AgonError
from agon.models.base import Answer, Message, clean, ended_of
from agon.models.openai import OpenAI
from agon.models.remote import (
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


@dataclass(kw_only=True)
class Responses(OpenAI):
    """A model behind /responses. The provider stores nothing, so every request contains the whole conversation.

    With the parameter `effort`, encrypted reasoning comes with the answer and goes back with it.
    """

    max_tokens_name: str = "max_output_tokens"

    path = "/responses"
    parameter_names = frozenset({"temperature", "top_p", "max_tokens", "effort"})

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.logprobs is not None:
            raise AgonError(
                f"model {self.model}: logprobs are only at /chat/completions: use _target_: agon.models.openai.OpenAI"
            )

    def body(self, messages: Sequence[Message]) -> dict[str, Any]:
        """The body of a request without schema, tools and `extra`."""
        names = {"temperature": "temperature", "top_p": "top_p", "max_tokens": self.max_tokens_name}
        body = {
            "model": self.model,
            "input": [item for turn in with_calls(messages) for item in _items(*turn)],
            "store": False,
        }
        if effort := self.parameters.get("effort"):
            body |= {"reasoning": {"effort": effort}, "include": ["reasoning.encrypted_content"]}
        return body | rename_parameters(self.parameters, names)

    def with_schema(self, body: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
        """The body with the schema."""
        return body | {"text": {"format": {"type": "json_schema", "name": "answer", "strict": True, "schema": schema}}}

    def with_tools(self, body: dict[str, Any], tools: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """The body with the tools."""
        functions = [
            {"type": "function", "name": name, "parameters": schema, "strict": True} for name, schema in tools.items()
        ]
        return body | {"tools": functions, "tool_choice": "required", "parallel_tool_calls": False}

    def read(self, content: Any) -> Answer:
        """The answer in the JSON of a response. Raises KeyError or others if there is none."""
        if content.get("error") or content.get("status") not in ("completed", "incomplete"):
            raise ValueError
        items, usage = content["output"], object_in(content, "usage")
        contents = [block for item in items if item["type"] == "message" for block in item["content"]]
        refusal = "".join(block["refusal"] for block in contents if block["type"] == "refusal")
        text = "".join(block["text"] for block in contents if block["type"] == "output_text")
        thoughts = [
            summary["text"] for item in items if item["type"] == "reasoning" for summary in item.get("summary") or []
        ]
        blocks = [item for item in items if item["type"] == "reasoning" and item.get("encrypted_content")]
        if calls := [item for item in items if item["type"] == "function_call"]:
            text, single = join_calls(text, [(item["name"], item["arguments"]) for item in calls])
            if single:
                blocks += [item for item in items if item["type"] in ("message", "function_call")]
        tokens_in, tokens_out = count(usage, "input_tokens"), count(usage, "output_tokens")
        details = object_in(usage, "input_tokens_details")
        input_tokens, cached, written = (
            tokens_in or 0,
            count(details, "cached_tokens") or 0,
            count(details, "cache_write_tokens"),
        )
        unclear = None in (tokens_in, tokens_out) or cached > input_tokens or has_bad_count(details, "cached_tokens")
        return Answer(
            text=clean(refusal or text),
            thinking=clean("\n\n".join(thoughts)),
            tokens_in=input_tokens,
            tokens_cached=min(cached, input_tokens),
            tokens_written=min(written or 0, max(0, input_tokens - cached)),
            tokens_out=tokens_out or 0,
            id=str(content.get("id") or ""),
            stop="refusal" if refusal else _stop(content),
            unreported=unclear or (written is None and self.writing_costs_more),
            usd=charge_of(usage),
            opaque=storable(blocks),
        )


def _items(message: Message, call: dict[str, Any] | None, before: dict[str, Any] | None) -> list[dict[str, Any]]:
    """The items of a message: its reasoning, then its text.

    The message after a tool call is sent as the result of the call.
    """
    if call is not None:
        return list(message.opaque)
    if before is not None and message.role == "user":
        return [{"type": "function_call_output", "call_id": before["call_id"], "output": text_of(message)}]
    return [*message.opaque, {"role": message.role, "content": text_of(message)}]


def _stop(content: Mapping[str, Any]) -> str:
    """The reason why a response ended.

    If it or a message in it is incomplete, and the reason says nothing of that, the reason is "incomplete".
    """
    reason = str(object_in(content, "incomplete_details").get("reason") or content["status"])
    states = [content["status"], *(item.get("status") for item in content["output"] if item["type"] == "message")]
    return "incomplete" if "incomplete" in states and ended_of(reason) in ("stop", "unknown") else reason
