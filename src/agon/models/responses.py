"""OpenAI's newer protocol, in which answers are lists of items; its newest models are meant to be asked through it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agon.errors import AgonError
from agon.models.base import Answer, Message, clean
from agon.models.ends import ended_of
from agon.models.openai import OpenAI
from agon.models.remote import charged, count, one_call, opaque, part, renamed, text_of, unreadable, with_calls


@dataclass(kw_only=True)
class Responses(OpenAI):
    """A model behind /responses. Nothing is stored at the provider: every request has the whole conversation.

    Where an `effort` is named the model's reasoning comes with its answer, enciphered, and goes back with it.
    """

    max_tokens_name: str = "max_output_tokens"

    path = "/responses"
    known = frozenset({"temperature", "top_p", "max_tokens", "effort"})

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.logprobs is not None:
            raise AgonError(
                f"model {self.model}: logprobs are told at /chat/completions: _target_: agon.models.openai.OpenAI"
            )

    def body(self, messages: Sequence[Message]) -> dict[str, Any]:
        """The request as it is sent, but for `extra`."""
        names = {"temperature": "temperature", "top_p": "top_p", "max_tokens": self.max_tokens_name}
        body = {
            "model": self.model,
            "input": [item for turn in with_calls(messages) for item in _items(*turn)],
            "store": False,
        }
        if effort := self.parameters.get("effort"):
            body |= {"reasoning": {"effort": effort}, "include": ["reasoning.encrypted_content"]}
        return body | renamed(self.parameters, names)

    def constrained(self, body: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
        """The body with the schema."""
        return body | {"text": {"format": {"type": "json_schema", "name": "answer", "strict": True, "schema": schema}}}

    def calling(self, body: dict[str, Any], tools: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """The body with the tools."""
        offered = [
            {"type": "function", "name": name, "parameters": takes, "strict": True} for name, takes in tools.items()
        ]
        return body | {"tools": offered, "tool_choice": "required", "parallel_tool_calls": False}

    def read(self, content: Any) -> Answer:
        """The answer in a response's JSON. Raises KeyError and the like when there is none."""
        if content.get("error") or content.get("status") not in ("completed", "incomplete"):
            raise ValueError
        items, usage = content["output"], part(content, "usage")
        contents = [block for item in items if item["type"] == "message" for block in item["content"]]
        refusal = "".join(block["refusal"] for block in contents if block["type"] == "refusal")
        text = "".join(block["text"] for block in contents if block["type"] == "output_text")
        thoughts = [
            summary["text"] for item in items if item["type"] == "reasoning" for summary in item.get("summary") or []
        ]
        blocks = [item for item in items if item["type"] == "reasoning" and item.get("encrypted_content")]
        if calls := [item for item in items if item["type"] == "function_call"]:
            text, single = one_call(text, [(item["name"], item["arguments"]) for item in calls])
            if single:
                blocks += [item for item in items if item["type"] in ("message", "function_call")]
        tokens_in, tokens_out = count(usage, "input_tokens"), count(usage, "output_tokens")
        details = part(usage, "input_tokens_details")
        sent, cached, written = (
            tokens_in or 0,
            count(details, "cached_tokens") or 0,
            count(details, "cache_write_tokens"),
        )
        unclear = None in (tokens_in, tokens_out) or cached > sent or unreadable(details, "cached_tokens")
        return Answer(
            text=clean(refusal or text),
            thinking=clean("\n\n".join(thoughts)),
            tokens_in=sent,
            tokens_cached=min(cached, sent),
            tokens_written=min(written or 0, max(0, sent - cached)),
            tokens_out=tokens_out or 0,
            id=str(content.get("id") or ""),
            stop="refusal" if refusal else _stop(content),
            unreported=unclear or (written is None and self.writing_costs_more),
            usd=charged(usage),
            opaque=opaque(blocks),
        )


def _items(message: Message, call: dict[str, Any] | None, before: dict[str, Any] | None) -> list[dict[str, Any]]:
    """A message as items, after the reasoning that came with it; what follows the call of a tool tells what came of it."""
    if call is not None:
        return list(message.opaque)
    if before is not None and message.role == "user":
        return [{"type": "function_call_output", "call_id": before["call_id"], "output": text_of(message)}]
    return [*message.opaque, {"role": message.role, "content": text_of(message)}]


def _stop(content: Mapping[str, Any]) -> str:
    """Why a response ended. One that is not complete, or has a message that is not, was cut off whatever its reason is called."""
    reason = str(part(content, "incomplete_details").get("reason") or content["status"])
    states = [content["status"], *(item.get("status") for item in content["output"] if item["type"] == "message")]
    return "incomplete" if "incomplete" in states and ended_of(reason) in ("stop", "unknown") else reason
