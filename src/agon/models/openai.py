"""OpenAI's chat protocol, through its SDK: its own models, and every server that speaks it (base_url)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agon.models.base import Answer, Message, clean
from agon.models.remote import Remote, count, part, renamed, text_of, unreadable


@dataclass(kw_only=True)
class OpenAI(Remote):
    """A model behind /chat/completions."""

    max_tokens_name: str = "max_completion_tokens"
    """What the server calls max_tokens; many know only max_tokens."""

    sdk = "openai"
    path = "/chat/completions"
    known = frozenset({"temperature", "top_p", "max_tokens", "effort", "seed", "stop"})

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
        said = [{"role": message.role, "content": text_of(message)} for message in messages]
        return {"model": self.model, "messages": said} | renamed(self.parameters, names)

    def read(self, content: Any) -> Answer:
        """The answer in a response's JSON. Raises KeyError and the like when there is none."""
        choice, usage = content["choices"][0], part(content, "usage")
        message = choice["message"]
        refusal, thoughts = message.get("refusal"), (message.get("reasoning_content"), message.get("reasoning"))
        thinking = next((each for each in thoughts if each and isinstance(each, str)), "")
        text = refusal or (message.get("content") if thinking else message["content"])
        if isinstance(text, list):  # Mistral's thinking models answer in parts
            thinking = "".join(each["text"] for part in text if part["type"] == "thinking" for each in part["thinking"])
            text = "".join(part["text"] for part in text if part["type"] == "text")
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
        )
