"""What models behind a network have in common: a key in the environment, one client per event loop, a time limit."""

import asyncio
import json
import os
import re
from abc import abstractmethod
from collections.abc import Awaitable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from time import perf_counter
from typing import Any, ClassVar, NamedTuple, TypeVar

import msgspec

from agon.errors import AgonError
from agon.games.schemas import calling
from agon.models.base import Answer, CallFailed, Message, Model, Request, clean
from agon.models.ends import ended_of
from agon.models.errors import READ, SHORTEST, broken_off, failure, one_line, words

T = TypeVar("T")
NO_WORDS = "(no answer)"
"""Stands for a blank message, which some providers refuse in a conversation."""

MOST_BYTES_OF_A_TOKEN = 16
"""On average over a text. English has about 4, and no language more than 12; a server that counts fewer tokens is not believed."""
BYTES_OF_A_PART = 64
"""Of JSON that holds many parts, each item takes as long to read as so many bytes of text."""
CLOCKS_DIFFER = 3600.0
"""Seconds by which a provider's clock may be behind ours."""
CALLS = {"tool_use", "function_call", "tool_calls"}
"""Types of calls of tools in `opaque`: Anthropic's, those of /responses, and what is kept of a chat's message that makes one."""
DEAREST = 10_000
"""USD: no call costs as much."""
MOST = 10**9
"""No call has so many tokens: a server that says so is not believed."""


class Results(NamedTuple):
    """What came of a batch that is over."""

    answers: list[tuple[str, bytes | CallFailed]]
    """Key of a request, and the body of the response to it, or why there is none; in any order, and some may be there twice."""
    rest: CallFailed
    """What holds for requests without such a line."""


@dataclass(kw_only=True)
class Remote(Model):
    """A model that is reached through a provider's SDK."""

    key: str | None = None
    """Name of the environment variable that holds the key; None: the server wants none."""
    base_url: str | None = None
    """The server's address; None is the provider's own."""
    most_bytes: int = 4_000_000
    """Bytes of one response, unpacked, and `BYTES_OF_A_PART` times the parts of its JSON: of a longer one no more is read, and
    the call has failed. An answer of a hundred thousand tokens has half a million; long lists of logprobs may have more. What is
    read stops all other work while it is read: 50 MB for half a second."""
    poll: float = 30.0
    """Seconds between two looks at a batch."""
    _client: Any = field(default=None, init=False, repr=False, compare=False)
    _loop: Any = field(default=None, init=False, repr=False, compare=False)

    sdk: ClassVar[str]
    """The module of the provider's SDK."""
    path: ClassVar[str]
    """Where requests go, under base_url."""
    known: ClassVar[frozenset[str]]
    """The parameters that the protocol has."""
    by_proxy: ClassVar[bool] = True
    """Whether the proxies that the environment names are used."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.key is not None and not re.fullmatch(r"[A-Z][A-Z0-9_]{0,60}", self.key):
            raise AgonError(
                f"model {self.model}: `key` takes the NAME of an environment variable (capitals, like OPENAI_API_KEY), "
                "never the key itself; if it was one, take it out of the file and renew it"
            )
        if not isinstance(self.most_bytes, int) or self.most_bytes < 1:
            raise AgonError(f"model {self.model}: most_bytes is a number of bytes, 1 or more, not {self.most_bytes!r}")
        unknown = sorted(set(self.parameters) - self.known - {"extra"})
        if unknown:
            offered = ", ".join(sorted(self.known))
            raise AgonError(f"model {self.model}: there is no parameter {unknown[0]!r} here, only {offered}, and extra")

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | dict.fromkeys(("_client", "_loop"))  # connections stay in their process

    @property
    def rewritten(self) -> bool:
        """Whether the SDK's client sends something else than the body that it is given."""
        return False

    @abstractmethod
    def connected(self, key: str) -> Any:
        """The SDK's client, which tries once and keeps up to `concurrency` connections."""

    @abstractmethod
    def body(self, messages: Sequence[Message]) -> dict[str, Any]:
        """The request as it is sent, but for `extra`."""

    @abstractmethod
    def constrained(self, body: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
        """The request's body, so that the answer must keep a schema."""

    @abstractmethod
    def calling(self, body: dict[str, Any], tools: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """The request's body, so that one of the tools must be called, and just one."""

    async def weighed(self, request: Request) -> Answer:
        """How likely each of the request's options is. Raises CallFailed where the provider does not tell exactly."""
        raise CallFailed("settings", f"model {self.model}: its protocol tells no log-probabilities", "stop")

    async def submit(self, name: str, requests: Mapping[str, Request]) -> str:
        """Hands in a batch of requests, by their keys, under a name of ours; the provider's id for it. Raises CallFailed."""
        raise self._no_batches()

    async def submitted(self, name: str, keys: Collection[str], since: float, others: Collection[str]) -> str | None:
        """The provider's id of the batch that was handed in under `name` after `since` (a time); None where it has none.

        `others`: ids of other batches. Raises CallFailed.
        """
        raise self._no_batches()

    async def results(self, batch: str) -> "Results | None":
        """What came of a batch, by its provider's id; None while it is not over. Raises CallFailed."""
        raise self._no_batches()

    def _no_batches(self) -> CallFailed:
        return CallFailed(
            "settings", f"model {self.model}: its protocol has no batches here: leave batch=true out", "stop"
        )

    @abstractmethod
    def read(self, content: Any) -> Answer:
        """The answer in a response's JSON, `unreported` where the usage lacks a part. Raises KeyError and the like when there is none."""

    async def answer(self, request: Request) -> Answer:
        """One call, tried once. Raises CallFailed, whatever happens."""
        await self.within(self._connect())
        start = perf_counter()
        if request.options:
            return replace(await self.within(self.weighed(request)), seconds=perf_counter() - start)
        data = await self.within(self._send(request))
        return replace(self.read_whole(data, request), seconds=perf_counter() - start)

    async def _send(self, request: Request) -> bytes:
        return await self.post(self.path, self.whole(request))

    def whole(self, request: Request) -> dict[str, Any]:
        """The body of a request."""
        body = self.body(
            request.messages if request.tools else [_without_calls(message) for message in request.messages]
        )
        if request.schema is not None:
            body = self.constrained(body, request.schema)
        if request.tools:
            body = self.calling(body, request.tools)
        return body | (self.parameters.get("extra") or {})

    async def within(self, call: Awaitable[T]) -> T:
        """What a call of the SDK gives within the time limit. Raises CallFailed."""
        try:
            async with asyncio.timeout(self.timeout):  # the SDKs' own limit starts anew with every byte that comes
                return await call
        except CallFailed:
            raise
        except Exception as error:
            failed = failure(error, self.key)
        raise failed  # out here it has no context: what the SDK raised holds the request, and that the key

    def read_whole(self, data: bytes, request: Request) -> Answer:
        """The answer in a response's body, without the key. Raises CallFailed."""
        result = self._answer_in(data, request.messages)
        if isinstance(result, CallFailed):
            raise result
        whole = self._without_key(result)
        if ended_of(whole.stop) == "error":
            raise broken_off(whole.stop)
        return whole

    def readable(self, data: bytes) -> bool:
        """Whether there is an answer in a response's body."""
        return not isinstance(self._answer_in(data, ()), CallFailed)

    async def post(self, path: str, body: dict[str, Any]) -> bytes:
        """A response's body. Raises what the SDK raises."""
        client = await self._connect()
        if self.rewritten:
            return bytes((await client.post(path, cast_to=self._whole, body=body)).content)
        if self.base_url and path.startswith("/"):
            path = self.base_url.rstrip("/") + path
        # bytes for a whole address take an SDK a sixth less of its time
        return bytes((await client.post(path, cast_to=self._whole, content=msgspec.json.encode(body))).content)

    def content(self, data: bytes) -> Any:
        """The JSON in a response's body, whatever kind of content the server calls it. Raises CallFailed."""
        if sum(data.count(sign) for sign in (b"[", b"{", b",")) * BYTES_OF_A_PART > self.most_bytes:
            raise CallFailed("too large", f"the answer has more parts than most_bytes={self.most_bytes} allows")
        try:
            try:
                return json.loads(data)
            except UnicodeDecodeError:
                return json.loads(data.decode("utf-8", "replace"))
        except (RecursionError, ValueError):
            beginning = data[:READ].decode("utf-8", "replace") or "(nothing)"
            raise CallFailed("not JSON", one_line(f"the answer is not JSON: {beginning}", self.key)) from None

    def no_answer(self, data: bytes) -> CallFailed:
        """For a response without what was asked for."""
        return CallFailed("no answer", one_line(f"no answer in it: {words(data.decode('utf-8', 'replace'))}", self.key))

    def _answer_in(self, data: bytes, messages: Sequence[Message]) -> Answer | CallFailed:
        try:
            content = self.content(data)
        except CallFailed as failed:
            return failed
        try:
            answer = self.read(content)
            sent, received = (
                sum(len(text.encode()) for text in texts)
                for texts in ([message.text for message in messages], [answer.text, answer.thinking])
            )
        except Exception:  # servers put anything anywhere
            return self.no_answer(data)
        too_few = (
            sent > answer.tokens_in * MOST_BYTES_OF_A_TOKEN or received > answer.tokens_out * MOST_BYTES_OF_A_TOKEN
        )
        return replace(answer, unreported=True) if too_few else answer

    async def close(self) -> None:
        """Ends connections."""
        client, self._client = self._client, None
        if client is not None and self._loop is asyncio.get_running_loop():
            await client.close()

    async def _connect(self) -> Any:
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            for module in (self.sdk, "agon.models.bounded"):
                await asyncio.to_thread(import_module, module)  # a second, in which everybody else goes on
        if self._client is None or self._loop is not loop:
            self._client, self._loop = self.connected(self._secret()), loop
        return self._client

    @property
    def _whole(self) -> Any:
        """How an SDK is asked for the response as it is."""
        from httpx2 import Response

        return Response

    def http_client(self, kind: Any) -> Any:
        """The SDK's own kind of HTTP client, as large as is needed, which reads no more than `most_bytes`."""
        from agon.models.bounded import bounded

        return bounded(kind, self.concurrency, self.most_bytes, self.by_proxy)

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
        texts = {name: getattr(answer, name) for name in ("text", "thinking", "id", "stop")}
        texts["opaque"] = json.dumps(answer.opaque)
        if len(key) < SHORTEST or not any(key in text for text in texts.values()):
            return answer
        hidden = {name: text.replace(key, "[hidden]") for name, text in texts.items()}
        return replace(answer, **hidden | {"opaque": tuple(json.loads(hidden["opaque"]))})


def part(content: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The JSON object of that name; empty where the server has something else there."""
    value = content.get(name)
    return value if isinstance(value, dict) else {}


def count(usage: Mapping[str, Any], name: str) -> int | None:
    """The number of tokens of that name, however the server writes it; None where it tells none that can be."""
    try:
        tokens = float(usage.get(name))  # type: ignore[arg-type]
    except (OverflowError, TypeError, ValueError):
        return None
    return int(tokens) if 0 <= tokens < MOST else None


def charged(usage: Mapping[str, Any]) -> float | None:
    """USD that the server says it charged; None where it does not say.

    OpenRouter's `cost`, to which comes what the owner of a key pays elsewhere; Perplexity's `total_cost`; DeepInfra's
    `estimated_cost`; xAI's ticks, of which a dollar has 10**10.
    """
    cost, ticks = usage.get("cost", usage.get("estimated_cost")), usage.get("cost_in_usd_ticks")
    elsewhere = part(usage, "cost_details").get("upstream_inference_cost") if usage.get("is_byok") is True else None
    if isinstance(cost, bool) or isinstance(ticks, bool):
        return None
    try:
        usd = float(cost["total_cost"] if isinstance(cost, dict) else cost if ticks is None else ticks / 1e10)
        usd += float(elsewhere or 0)
    except (KeyError, OverflowError, TypeError, ValueError):
        return None
    return usd if 0 <= usd <= DEAREST else None


def opaque(blocks: Any) -> tuple[dict[str, Any], ...]:
    """JSON objects that go back to the provider as they came, in a form that can be stored."""
    objects = [block for block in blocks if isinstance(block, dict)] if isinstance(blocks, list) else []
    try:
        return tuple(json.loads(clean(json.dumps(objects, ensure_ascii=False, allow_nan=False))))
    except ValueError:  # numbers that JSON does not have: they could not be sent
        return ()


def one_call(text: str, calls: Sequence[tuple[str, Any]]) -> tuple[str, bool]:
    """The answer's text where tools were called, by name and arguments, and whether it is a single call that can be read.

    Another is told as it came, so that it can be said what is wrong with it.
    """
    if len(calls) == 1:
        with suppress(ValueError, RecursionError):
            return calling(text, *calls[0]), True
    return "\n".join([text, *(f"{name}({arguments})" for name, arguments in calls)]).strip(), False


def _without_calls(message: Message) -> Message:
    """A message whose calls of tools are text: where no tools are offered, providers take no calls."""
    if not any(block.get("type") in CALLS for block in message.opaque):
        return message
    return message._replace(
        opaque=tuple(block for block in message.opaque if block.get("type") not in {*CALLS, "text", "message"})
    )


def with_calls(messages: Sequence[Message]) -> Iterator[tuple[Message, dict[str, Any] | None, dict[str, Any] | None]]:
    """Each message, the call of a tool that it makes, and the one that the message before makes; None where there is none.

    A call is a part of `opaque`, as its provider's protocol has it.
    """
    before = None
    for message in messages:
        call = next((block for block in message.opaque if block.get("type") in CALLS), None)
        yield message, call, before
        before = call


def unreadable(usage: Mapping[str, Any], *names: str) -> bool:
    """Whether something is told under any of these names, but no number of tokens."""
    return any(usage.get(name) is not None and count(usage, name) is None for name in names)


def renamed(parameters: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Those parameters that are in `names`, by the provider's names; null ones are left out."""
    return {names[name]: value for name, value in parameters.items() if name in names and value is not None}


def text_of(message: Message) -> str:
    """A message's text, never blank."""
    return NO_WORDS if not message.text or message.text.isspace() else message.text
