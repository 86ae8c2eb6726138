"""What models behind a network have in common: a key in the environment, one client per event loop, a time limit."""

import asyncio
import functools
import os
import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, ClassVar

from agon import AgonError
from agon.models.base import Answer, CallFailed, Message, Model, Request
from agon.models.errors import failure, one_line, words

NO_WORDS = "(no answer)"
"""Stands for a blank message, which some providers refuse in a conversation."""

SHORTEST = 16
"""Letters of a key that is looked for in answers: what servers without keys are given for one (EMPTY) may be a word."""
MOST = 10**9
"""No call has so many tokens: a server that says so is not believed."""


@dataclass(kw_only=True)
class Remote(Model):
    """A model that is reached through a provider's SDK."""

    key: str | None = None
    """Name of the environment variable that holds the key; None: the server wants none."""
    base_url: str | None = None
    """The server's address; None is the provider's own."""
    _client: Any = field(default=None, init=False, repr=False, compare=False)
    _loop: Any = field(default=None, init=False, repr=False, compare=False)

    path: ClassVar[str]
    """Where requests go, under base_url."""
    known: ClassVar[frozenset[str]]
    """The parameters that the protocol has."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.key is not None and not re.fullmatch(r"[A-Z][A-Z0-9_]{0,60}", self.key):
            raise AgonError(
                f"model {self.model}: `key` takes the NAME of an environment variable (capitals, like OPENAI_API_KEY), "
                "never the key itself; if it was one, take it out of the file and renew it"
            )
        unknown = sorted(set(self.parameters) - self.known - {"extra"})
        if unknown:
            offered = ", ".join(sorted(self.known))
            raise AgonError(f"model {self.model}: there is no parameter {unknown[0]!r} here, only {offered}, and extra")

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | dict.fromkeys(("_client", "_loop"))  # connections stay in their process

    @abstractmethod
    def connected(self, key: str) -> Any:
        """The SDK's client, which tries once and keeps up to `concurrency` connections."""

    @abstractmethod
    def body(self, messages: Sequence[Message]) -> dict[str, Any]:
        """The request as it is sent, but for `extra`."""

    @abstractmethod
    def read(self, content: Any) -> Answer:
        """The answer in a response's JSON. Raises KeyError and the like when there is none."""

    async def answer(self, request: Request) -> Answer:
        """One call, tried once. Raises CallFailed."""
        body = self.body(request.messages) | (self.parameters.get("extra") or {})
        try:
            client = self._connect()
            start = perf_counter()
            async with asyncio.timeout(self.timeout):  # the SDKs' own limit starts anew with every byte that comes
                content = await client.post(self.path, cast_to=object, body=body)
            seconds = perf_counter() - start
        except CallFailed:
            raise
        except Exception as error:
            failed = failure(error, self.key)
        else:
            try:
                return self._without_key(replace(self.read(content), seconds=seconds))
            except (AttributeError, IndexError, KeyError, TypeError, ValueError):
                failed = self._nothing_in(content)
        raise failed  # out here it has no context: what the SDK raised holds the request, and that the key

    async def close(self) -> None:
        """Ends connections."""
        client, self._client = self._client, None
        if client is not None and self._loop is asyncio.get_running_loop():
            await client.close()

    def _connect(self) -> Any:
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            self._client, self._loop = self.connected(self._secret()), loop
        return self._client

    def http_client(self, kind: Any) -> Any:
        """The SDK's own kind of HTTP client, as large as is needed."""
        from httpx2 import Limits

        limits = Limits(max_connections=self.concurrency, max_keepalive_connections=self.concurrency)
        return kind(limits=limits, follow_redirects=False, verify=_trusted())

    def _secret(self) -> str:
        if self.key is None:
            return "none"
        value = os.environ.get(self.key, "").strip()
        if not value:
            raise CallFailed(
                "key", f"the environment variable {self.key}, for the key of {self.model}, is not set", "stop"
            )
        if not (value.isascii() and value.isprintable()) or " " in value:
            raise CallFailed("key", f"the environment variable {self.key} holds something that cannot be a key", "stop")
        return value

    def _without_key(self, answer: Answer) -> Answer:
        """The answer, without the key in it: some servers echo what they are sent."""
        key = os.environ.get(self.key or "", "").strip()
        if len(key) < SHORTEST or not any(key in getattr(answer, name) for name in ("text", "thinking", "id")):
            return answer
        text, thinking, id_ = (each.replace(key, "[hidden]") for each in (answer.text, answer.thinking, answer.id))
        return replace(answer, text=text, thinking=thinking, id=id_)

    def _nothing_in(self, content: Any) -> CallFailed:
        if isinstance(content, str):
            return CallFailed("not JSON", one_line(f"the answer is not JSON: {content or '(nothing)'}", self.key))
        return CallFailed("no answer", one_line(f"no answer in it: {words(content)}", self.key))


def part(content: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The JSON object of that name; empty where the server has something else there."""
    found = content.get(name)
    return found if isinstance(found, dict) else {}


def count(usage: Mapping[str, Any], name: str) -> int:
    """The number of tokens of that name, however the server writes it; 0 where it tells none."""
    try:
        tokens = int(float(usage.get(name) or 0))
    except (TypeError, ValueError, OverflowError):
        return 0
    return tokens if 0 < tokens < MOST else 0


def renamed(parameters: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Those parameters that are in `names`, by the provider's names; null ones are left out."""
    return {names[name]: value for name, value in parameters.items() if name in names and value is not None}


def text_of(message: Message) -> str:
    """A message's text, never blank."""
    return NO_WORDS if not message.text or message.text.isspace() else message.text


@functools.cache
def _trusted() -> Any:
    """Whom all clients of this process trust: to read the certificates takes 20 ms."""
    from httpx2 import create_ssl_context

    return create_ssl_context()
