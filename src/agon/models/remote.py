"""The common part of adapters: the key from the environment, a client for every event loop, time limits."""

import asyncio
import json
import os
import re
from abc import abstractmethod
from collections.abc import Awaitable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import blake2b
from importlib import import_module
from time import perf_counter
from typing import Any, ClassVar, NamedTuple, TypeVar
from urllib.parse import urlsplit

import msgspec

from agon.errors import AgonError
from agon.games.schemas import write_call
from agon.models.base import Answer, CallFailed, Message, Model, Request, clean, ended_of
from agon.models.errors import READ, broken_answer, error_text, failure, hide_pieces, one_line

T = TypeVar("T")
NO_WORDS = "(no answer)"
"""Replaces a blank message, which some providers refuse."""

MOST_BYTES_OF_A_TOKEN = 16
"""On average over a text. English has about 4, and no language more than 12. Servers that count fewer tokens are not
believed."""
BYTES_OF_A_PART = 64
"""Reading an item of JSON takes as long as reading this many bytes of text."""
CLOCKS_DIFFER = 3600.0
"""The most seconds by which a provider's clock may be behind ours."""
CALLS = {"tool_use", "function_call", "tool_calls"}
"""Types of tool calls in `opaque`: those of Anthropic, of /responses and of chats."""
CONVERSATION = {"model", "messages", "input", "system"}
"""Fields of a request's body that a recording has as messages and model."""
SCHEMAS = {"schema", "parameters", "input_schema"}
"""Fields of a request's body that hold a JSON schema."""
SECRET_HEADER = re.compile("auth(?!or(s|ity|ship|[-_]|$))|cookie|secret|password|(key|token)$", re.I)
"""Fits the names of headers that would hold a key, and not X-Author."""
JSON_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')
"""A text in JSON, with its quotes."""
DEAREST = 10_000
"""USD. Higher prices of a call are not believed."""
MOST = 10**9
"""Tokens. Higher counts of a call are not believed."""


class Results(NamedTuple):
    """The results of a finished batch."""

    answers: list[tuple[str, bytes | CallFailed]]
    """(key of a request, body of its response or the failure), in any order. A key may occur twice."""
    rest: CallFailed
    """The failure of all requests that are not in `answers`."""


@dataclass(kw_only=True)
class Remote(Model):
    """A model behind a provider's SDK."""

    key: str | None = None
    """Name of the environment variable with the key. None: the server wants no key."""
    base_url: str | None = None
    """The server's address. None: the provider's own (`home`). The environment does not change it."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers of every request, such as OpenAI-Organization. The environment adds none. Never a key."""
    most_bytes: int = 4_000_000
    """The most bytes of a response, unpacked, and of its JSON items times `BYTES_OF_A_PART`. For a larger response the
    call fails. An answer of 100,000 tokens has 500,000 bytes; long lists of logprobs may have more. Parsing a response
    blocks all other work: 50 MB for half a second."""
    poll: float = 30.0
    """Seconds between two requests for the state of a batch."""
    _client: Any = field(default=None, init=False, repr=False, compare=False)
    _loop: Any = field(default=None, init=False, repr=False, compare=False)

    sdk: ClassVar[str]
    """The module of the provider's SDK."""
    home: ClassVar[str]
    """The provider's own address."""
    path: ClassVar[str]
    """The path of requests under base_url."""
    parameter_names: ClassVar[frozenset[str]]
    """The parameters of the protocol."""
    by_proxy: ClassVar[bool] = True
    """Whether the environment's proxies are used."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.key is not None and not re.fullmatch(r"[A-Z][A-Z0-9_]{0,60}", self.key):
            raise AgonError(
                f"model {self.model}: `key` takes the NAME of an environment variable (capitals, like OPENAI_API_KEY), "
                "never the key itself; if it was one, take it out of the file and renew it"
            )
        if (self.key or "").startswith("AGON_"):
            raise AgonError(
                f"model {self.model}: {self.key} is a secret of agon's own; `key` names the variable of a provider's key"
            )
        if self.base_url is not None and (fault := _address_fault(str(self.base_url))):
            raise AgonError(f"model {self.model}: base_url {fault}")
        self.headers = dict(self.headers or {})
        if not all(isinstance(part, str) and part.isprintable() for header in self.headers.items() for part in header):
            raise AgonError(
                f"model {self.model}: headers must be texts by name, such as {{OpenAI-Organization: org-1}}"
            )
        if secret := sorted(filter(SECRET_HEADER.search, self.headers)):
            raise AgonError(
                f"model {self.model}: the header {secret[0]} has a key: remove it, and name its environment variable in `key`"
            )
        if not isinstance(self.most_bytes, int) or self.most_bytes < 1:
            raise AgonError(f"model {self.model}: most_bytes is a number of bytes, 1 or more, not {self.most_bytes!r}")
        unknown = sorted(set(self.parameters) - self.parameter_names - {"extra"})
        if unknown:
            names = ", ".join(sorted(self.parameter_names))
            raise AgonError(f"model {self.model}: there is no parameter {unknown[0]!r} here, only {names}, and extra")

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | dict.fromkeys(("_client", "_loop"))  # connections stay in their process

    @property
    def address(self) -> str:
        """The address that is asked."""
        return self.base_url or self.home

    @property
    def host(self) -> str:
        """The host that is asked, with its port if the address has one."""
        return urlsplit(self.address).netloc

    @property
    def key_name(self) -> str:
        """Name of the environment variable with the key. Empty: no key is sent."""
        return self.key or ""

    def sent(self, request: Request) -> dict[str, Any]:
        """The fields of the request's body without the conversation and without the values of `parameters`. Schemas are hashes."""
        if request.options:
            return {}
        body = self.request_body(replace(request, messages=request.messages[-1:]))
        parameters = {json.dumps(value) for value in self.parameters.values()}
        extra = self.parameters.get("extra") or {}
        fields = {name: value for name, value in body.items() if name not in CONVERSATION and name not in extra}
        return {name: _with_hashes(value) for name, value in fields.items() if json.dumps(value) not in parameters}

    @property
    def rewrites_body(self) -> bool:
        """Whether the SDK's client changes the body before it sends it."""
        return False

    @abstractmethod
    def make_client(self, key: str) -> Any:
        """A client of the SDK. It tries every call once, with up to `concurrency` connections. Raises CallFailed."""

    @abstractmethod
    def body(self, messages: Sequence[Message]) -> dict[str, Any]:
        """The body of a request without schema, tools and `extra`."""

    @abstractmethod
    def with_schema(self, body: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
        """The body with a schema that the answer must keep."""

    @abstractmethod
    def with_tools(self, body: dict[str, Any], tools: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """The body with tools. The model must call exactly one of them."""

    async def weigh(self, request: Request) -> Answer:
        """An answer with the log-probability of every option. Raises CallFailed if the provider gives no exact ones."""
        raise CallFailed("settings", f"model {self.model}: its protocol has no log-probabilities", "stop")

    async def submit(self, name: str, requests: Mapping[str, Request]) -> str:
        """Submits a batch under our `name` and returns the provider's id. `requests`: key -> request.

        Raises CallFailed.
        """
        raise self._no_batches()

    async def find_batch(self, name: str, keys: Collection[str], since: float, others: Collection[str]) -> str | None:
        """The provider's id of the batch that was submitted under our `name`. None: the provider has no such batch.

        keys: those of its requests. since: the time of submission in seconds since 1970. others: ids of other batches.
        Raises CallFailed.
        """
        raise self._no_batches()

    async def results(self, batch: str) -> "Results | None":
        """The results of a batch with the provider's id `batch`. None: it is not finished. Raises CallFailed."""
        raise self._no_batches()

    def _no_batches(self) -> CallFailed:
        return CallFailed(
            "settings", f"model {self.model}: its protocol has no batches here: leave batch=true out", "stop"
        )

    @abstractmethod
    def read(self, content: Any) -> Answer:
        """The answer in the JSON of a response. It is `unreported` if the usage is incomplete.

        Raises KeyError or others if there is none.
        """

    async def answer(self, request: Request) -> Answer:
        """Makes one try of a call. Raises CallFailed, whatever happens."""
        await self.in_time(self._connect())
        start = perf_counter()
        if request.options:
            return replace(await self.in_time(self.weigh(request)), seconds=perf_counter() - start)
        data = await self.in_time(self._send(request))
        return replace(self.read_response(data, request), seconds=perf_counter() - start)

    async def _send(self, request: Request) -> bytes:
        return await self.post(self.path, self.request_body(request))

    def request_body(self, request: Request) -> dict[str, Any]:
        """The complete body of a request."""
        body = self.body(
            request.messages if request.tools else [_without_calls(message) for message in request.messages]
        )
        if request.schema is not None:
            body = self.with_schema(body, request.schema)
        if request.tools:
            body = self.with_tools(body, request.tools)
        return body | (self.parameters.get("extra") or {})

    async def in_time(self, call: Awaitable[T]) -> T:
        """The result of a call of the SDK within the time limit. Raises CallFailed."""
        try:
            async with asyncio.timeout(self.timeout):  # the SDKs' own limit starts again with every byte
                return await call
        except CallFailed:
            raise
        except Exception as error:
            fault = failure(error, self.key)
        raise fault  # outside of `except`, so that the context does not show the request with the key

    def read_response(self, data: bytes, request: Request) -> Answer:
        """The answer in the body of a response, without the key. Raises CallFailed."""
        result = self._answer_in(data, request.messages)
        if isinstance(result, CallFailed):
            raise result
        answer = self._without_key(result)
        if ended_of(answer.stop) == "error":
            raise broken_answer(answer.stop)
        return answer

    def has_answer(self, data: bytes) -> bool:
        """Whether the body of a response has an answer."""
        return not isinstance(self._answer_in(data, ()), CallFailed)

    async def post(self, path: str, body: dict[str, Any]) -> bytes:
        """The body of the response to a request. Raises the SDK's errors."""
        client = await self._connect()
        if self.rewrites_body:
            return bytes((await client.post(path, cast_to=self._response_class, body=body)).content)
        if path.startswith("/"):
            path = self.address.rstrip("/") + path
        # with bytes and a complete address the SDK takes a sixth less time
        return bytes((await client.post(path, cast_to=self._response_class, content=msgspec.json.encode(body))).content)

    def content(self, data: bytes) -> Any:
        """The JSON in the body of a response, whatever its content type. Raises CallFailed."""
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
        """The failure for a response without an answer."""
        return CallFailed(
            "no answer", one_line(f"no answer in it: {error_text(data.decode('utf-8', 'replace'))}", self.key)
        )

    def _answer_in(self, data: bytes, messages: Sequence[Message]) -> Answer | CallFailed:
        try:
            content = self.content(data)
        except CallFailed as fault:
            return fault
        try:
            answer = with_source(self.read(content), content)
            bytes_in = len("".join([message.text for message in messages]).encode())
            bytes_out = len((answer.text + answer.thinking).encode())
        except Exception:  # servers put anything anywhere
            return self.no_answer(data)
        too_few = (
            bytes_in > answer.tokens_in * MOST_BYTES_OF_A_TOKEN or bytes_out > answer.tokens_out * MOST_BYTES_OF_A_TOKEN
        )
        return replace(answer, unreported=True) if too_few else answer

    async def close(self) -> None:
        """Closes connections."""
        client, self._client = self._client, None
        if client is not None and self._loop is asyncio.get_running_loop():
            await client.close()

    async def _connect(self) -> Any:
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            for module in (self.sdk, "agon.models.http"):
                await asyncio.to_thread(import_module, module)  # takes a second, so others go on meanwhile
        if self._client is None or self._loop is not loop:
            self._client, self._loop = self.make_client(self._secret()), loop
            # The SDKs add headers from the environment. The name is private (tests/test_environment.py notices if it goes).
            self._client._custom_headers = dict(self.headers)
        return self._client

    @property
    def _response_class(self) -> Any:
        """The class with which an SDK returns a response unread."""
        from httpx2 import Response

        return Response

    def http_client(self, kind: Any) -> Any:
        """An HTTP client of the SDK's class. It has `concurrency` connections and reads at most `most_bytes`."""
        from agon.models.http import limited_client

        return limited_client(kind, self.concurrency, self.most_bytes, self.by_proxy)

    @property
    def obstacle(self) -> str:
        """What is wrong with the key."""
        try:
            self._secret()
        except CallFailed as fault:
            return str(fault)
        return ""

    def _secret(self) -> str:
        if self.key is None:
            return "none"
        value = os.environ.get(self.key, "").strip()
        if not value:
            raise CallFailed("key", f"the environment variable {self.key}, for its key, is not set", "stop")
        if not (value.isascii() and value.isprintable()) or " " in value:
            raise CallFailed("key", f"the environment variable {self.key} holds something that cannot be a key", "stop")
        return value

    def _without_key(self, answer: Answer) -> Answer:
        """The answer without the key and pieces of it, since some servers echo the request."""
        texts = ("text", "thinking", "id", "stop", "served", "provider", "fingerprint")
        hidden: dict[str, Any] = {name: hide_pieces(getattr(answer, name), self.key) for name in texts}
        if answer.opaque:
            content = JSON_TEXT.sub(
                lambda match: json.dumps(hide_pieces(json.loads(match[0]), self.key)), json.dumps(answer.opaque)
            )
            hidden["opaque"] = tuple(json.loads(content))
        return replace(answer, **hidden)


def with_source(answer: Answer, content: Any) -> Answer:
    """The answer with what the JSON of its response says about who answered."""
    values = (content.get(name) for name in ("model", "provider", "system_fingerprint"))
    served, provider, fingerprint = (_name_in(value[: READ + 1]) if isinstance(value, str) else "" for value in values)
    return replace(answer, served=served, provider=provider, fingerprint=fingerprint)


@lru_cache(64)
def _name_in(text: str) -> str:
    """A name in a response as one line without secrets, kept because the search for secrets is slow and names are few."""
    return clean(one_line(text))


def _with_hashes(value: Any) -> Any:
    """JSON in which every schema is a hash, because schemas are long and differ only with the legal actions."""
    if isinstance(value, list):
        return [_with_hashes(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    return {
        name: blake2b(json.dumps(part, sort_keys=True).encode(), digest_size=8).hexdigest()
        if name in SCHEMAS and isinstance(part, Mapping)
        else _with_hashes(part)
        for name, part in value.items()
    }


def object_in(content: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The JSON object under a name. Empty: there is something else."""
    value = content.get(name)
    return value if isinstance(value, dict) else {}


def count(usage: Mapping[str, Any], name: str) -> int | None:
    """The number of tokens under a name, as number or text. None: there is no possible number."""
    try:
        tokens = float(usage.get(name))  # type: ignore[arg-type]
    except (OverflowError, TypeError, ValueError):
        return None
    return int(tokens) if 0 <= tokens < MOST else None


def charge_of(usage: Mapping[str, Any]) -> float | None:
    """The USD that the server says it charged. None: it does not say.

    OpenRouter has `cost`, and for a user's own key also the price at the other provider. Perplexity has `total_cost`,
    DeepInfra `estimated_cost`, and xAI ticks (10**10 to a dollar).
    """
    cost, ticks = usage.get("cost", usage.get("estimated_cost")), usage.get("cost_in_usd_ticks")
    elsewhere = (
        object_in(usage, "cost_details").get("upstream_inference_cost") if usage.get("is_byok") is True else None
    )
    if isinstance(cost, bool) or isinstance(ticks, bool):
        return None
    try:
        usd = float(cost["total_cost"] if isinstance(cost, dict) else cost if ticks is None else ticks / 1e10)
        usd += float(elsewhere or 0)
    except (KeyError, OverflowError, TypeError, ValueError):
        return None
    return usd if 0 <= usd <= DEAREST else None


def storable(blocks: Any) -> tuple[dict[str, Any], ...]:
    """The JSON objects among `blocks`, in a form that can be stored."""
    objects = [block for block in blocks if isinstance(block, dict)] if isinstance(blocks, list) else []
    try:
        return tuple(json.loads(clean(json.dumps(objects, ensure_ascii=False, allow_nan=False))))
    except ValueError:  # numbers that JSON does not have
        return ()


def join_calls(text: str, calls: Sequence[tuple[str, Any]]) -> tuple[str, bool]:
    """The text of an answer with tool calls (name, arguments), and whether there is a single readable call.

    If not, the text shows the calls unchanged, so that the model can learn what is wrong.
    """
    if len(calls) == 1:
        with suppress(ValueError, RecursionError):
            return write_call(text, *calls[0]), True
    return "\n".join([text, *(f"{name}({arguments})" for name, arguments in calls)]).strip(), False


def _without_calls(message: Message) -> Message:
    """A message with its tool calls as text only, because providers accept no calls if no tools are offered."""
    if not message.opaque or not any(block.get("type") in CALLS for block in message.opaque):
        return message
    return message._replace(
        opaque=tuple(block for block in message.opaque if block.get("type") not in {*CALLS, "text", "message"})
    )


def with_calls(messages: Sequence[Message]) -> Iterator[tuple[Message, dict[str, Any] | None, dict[str, Any] | None]]:
    """(message, its tool call, the tool call of the previous message). None: no call.

    A call is an item of `opaque` in the form of the provider's protocol.
    """
    before = None
    for message in messages:
        blocks = message.opaque
        call = next((block for block in blocks if block.get("type") in CALLS), None) if blocks else None
        yield message, call, before
        before = call


def has_bad_count(usage: Mapping[str, Any], *names: str) -> bool:
    """Whether the usage has a value that is no number of tokens under any of these names."""
    return any(usage.get(name) is not None and count(usage, name) is None for name in names)


def rename_parameters(parameters: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """The parameters in `names` under the provider's names, without those that are null."""
    return {names[name]: value for name, value in parameters.items() if name in names and value is not None}


def text_of(message: Message) -> str:
    """The text of a message, never blank."""
    return NO_WORDS if not message.text or message.text.isspace() else message.text


def _address_fault(url: str) -> str:
    """Why nothing can be asked at an address; empty if it can. The address is not repeated, because it may hold a key."""
    if not re.fullmatch(r"https?://[^\s/?#]+[^\s]*", url):
        return "must begin with https:// or http:// and a host"
    if "@" in urlsplit(url).netloc:
        return "holds a name or a password: take it out of the file and renew it; `key` names the variable of a key"
    try:
        _ = urlsplit(url).port
    except ValueError:
        return "has a port that is no number up to 65535"
    if set("?#") & set(url):  # the SDKs would write the path of their requests behind it
        return "must have no ? and no #; if a key stands there, renew it, and name the variable of the new one in `key`"
    return ""
