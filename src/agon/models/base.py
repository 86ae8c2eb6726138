"""Requests to models and their answers. Adapters, the stand-in and the ledger all use these classes."""

import json
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Protocol, TypedDict, get_args

import msgspec

from agon.errors import AgonError, describe_fault

Role = Literal["system", "user", "assistant"]

ReadingRule = Literal["strict", "as_done"]
"""Which answers are read as an action. strict: those of agon.games.strict. as_done: those that the papers' code reads
(agon.games.reading). Recordings from before the strict reading were made with as_done."""

Ended = Literal["stop", "length", "filter", "error", "unknown"]
"""Why an answer ended, in one word for all providers.

stop: the model ended it, perhaps with a tool call. length: a limit (max_tokens, the context) cut it off. filter: the
provider held back a part of it, or refused. error: it failed. unknown: nobody says, as in old recordings.
"""
ENDS: tuple[Ended, ...] = get_args(Ended)
CUT: dict[Ended, str] = {"length": "cut off at the limit of tokens", "filter": "held back or refused by the provider"}
"""Ends of answers that are not complete -> the same in words."""

_STOPS = "stop end_turn stop_sequence tool_use tool_calls function_call completed complete eos eos_token end weighed"
_PARTS: dict[Ended, str] = {
    "filter": "filter refus safety recitation blocklist blocked prohibited sensitive spii guardrail toxic language",
    "error": "error fail abort cancel malformed unexpected timeout timed_out insufficient no_image other",
    "stop": "stop eos",
    "length": "length max limit window pause incomplete token repetition too_many",
}
"""Parts of the providers' words, in the order in which they are looked for. Providers spell one reason in many ways."""


def ended_of(word: str) -> Ended:
    """The meaning of a provider's word for why an answer ended. unknown: the word has no known part."""
    plain = word.strip().lower().replace(" ", "_")
    if plain in _STOPS.split():
        return "stop"
    return next((end for end, parts in _PARTS.items() if any(part in plain for part in parts.split())), "unknown")


class Message(NamedTuple):
    """A message of a conversation. The function `message` makes it."""

    role: Role
    text: str
    id: str
    """A hash of the conversation up to here."""
    before: str
    """Id of the previous message. Empty for the first."""
    opaque: tuple[dict[str, Any], ...] = ()
    """For an answer: the JSON objects that go back to its provider (`Answer.opaque`). The id does not hash them."""


def clean(text: str | None) -> str:
    """Text that can be stored. Half a surrogate pair, as a cut may leave it, becomes a question mark."""
    return (text or "").encode("utf-8", "replace").decode()


def message(role: Role, text: str, before: str = "", opaque: tuple[dict[str, Any], ...] = ()) -> Message:
    """A message that follows the one with the id `before`."""
    text = text if text.isascii() else clean(text)
    digest = blake2b(f"{before}\n{role}\n{text}".encode(), digest_size=9)
    return Message(role, text, digest.hexdigest(), before, opaque)


def extend(
    messages: tuple[Message, ...], role: Role, text: str, opaque: tuple[dict[str, Any], ...] = ()
) -> tuple[Message, ...]:
    """A conversation with one more message."""
    return (*messages, message(role, text, messages[-1].id if messages else "", opaque))


@dataclass(frozen=True, slots=True)
class Request:
    """A question to a model."""

    messages: tuple[Message, ...]
    """The whole conversation: the system message, then user and assistant by turns. The last message is the user's."""
    sample: str
    """Match, seat and number of the call. It tells requests with equal text apart, so that no two matches share an
    answer."""
    expected: int = 0
    """The expected tokens of the answer. Only estimates use it."""
    view: Any = None
    """The seat's Observation. The stand-in plays by it, and a ledger counts its rounds. It is not sent to providers and not recorded."""
    schema: Mapping[str, Any] | None = None
    """The JSON schema of the answer, if the provider can enforce one. None: any text."""
    tools: Mapping[str, Mapping[str, Any]] | None = None
    """Tools, of which the model must call one: name -> JSON schema of the arguments. None: no tools."""
    options: tuple[str, ...] = ()
    """Complete answers to weigh. The model then writes no text, but gives the log-probability of every option
    (`Answer.weights`)."""
    reading_rule: ReadingRule = "strict"
    """How the agent reads the answer. It is recorded with a new answer, and is no part of the key."""


Count = Annotated[int, msgspec.Meta(ge=1)]
"""A setting: a whole number, 1 at least. The types of settings are checked where conf is read (agon.conf.gate)."""
Weight = Annotated[float, msgspec.Meta(ge=-1e9, le=1e-3)]
"""Natural logarithm of a probability. Rounding may put it a little above 0."""

Tokens = Annotated[int, msgspec.Meta(ge=0, lt=2**53)]
"""A number of tokens. Numbers of adapters are checked before they are recorded."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a model."""

    text: str
    """The text without the thinking. Empty: there was none (the model refused silently, or was cut off while it was
    thinking)."""
    thinking: str = ""
    """The thinking before the text, as far as the provider shows it."""
    tokens_in: Tokens = 0
    """Tokens sent, with those from the provider's cache."""
    tokens_cached: Tokens = 0
    """Tokens sent that the provider read from its prompt cache."""
    tokens_out: Tokens = 0
    """Tokens received, with the thinking."""
    seconds: Annotated[float, msgspec.Meta(ge=0, le=1e9)] = 0.0
    """Seconds from sending to the last byte, of the successful call."""
    id: str = ""
    """The provider's id of the answer."""
    stop: str = ""
    """The provider's word for why the answer ended: stop, length, end_turn, refusal ..."""
    exchange: str = ""
    """Key of the recorded exchange. Empty: nothing was recorded."""
    recorded: bool = False
    """Whether the answer comes from a recording, so that nothing is paid."""
    tokens_written: Tokens = 0
    """Tokens sent that the provider wrote to its prompt cache."""
    unreported: bool = False
    """Whether the provider did not say credibly how many tokens the call took. A budget then counts the highest
    possible cost."""
    weights: tuple[Weight, ...] = ()
    """For every option of the request, the log-probability that the model answers exactly so, at temperature 1."""
    usd: Annotated[float, msgspec.Meta(ge=0, le=1e6)] | None = None
    """The price in USD that the provider says it charged. None: it does not say; the cost follows from tokens and
    prices."""
    opaque: tuple[dict[str, Any], ...] = ()
    """JSON objects that go back to the provider unchanged when the conversation continues (such as thinking with its
    signature). Nothing else reads them."""
    ended: Ended = "unknown"
    """Why the answer ended, in agon's word. The ledger derives it from `stop`; an adapter may leave it unknown."""
    served: str = ""
    """The model that the reply names. Empty: it names none."""
    provider: str = ""
    """The provider behind a router. Empty: the reply names none."""
    fingerprint: str = ""
    """The fingerprint of the system that answered. Empty: the reply names none."""
    reading_rule: ReadingRule | None = None
    """How the answer was read when it was recorded, and is read in each replay. None: as the agent's settings say."""


class CallFailed(Exception):
    """A call without an answer. Its text is one line without secrets."""

    def __init__(
        self, kind: str, text: str, then: Literal["retry", "void", "stop"] = "retry", after: float | None = None
    ) -> None:
        super().__init__(clean(text))
        self.kind = kind
        """The kind of failure, for counts: a status (429), or words such as timeout, connection, not JSON."""
        self.then = then
        """retry: a later try may succeed. void: this conversation is refused for good. stop: every call will fail
        (key, settings)."""
        self.after = after
        """Seconds that the provider asks to wait. None: it does not say."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (
            self.kind,
            str(self),
            self.then,
            self.after,
        )  # else exceptions lose their attributes when pickled


class TooLong(CallFailed):
    """The conversation does not fit into the model's context."""


class _Sampling(TypedDict, total=False):
    """The parameters whose types are checked."""

    max_tokens: Count | None
    stop: list[str] | None
    extra: dict[str, Any] | None


class _Limits(msgspec.Struct):
    """The settings whose types are checked."""

    concurrency: Count
    tries: Count
    pause: Annotated[float, msgspec.Meta(ge=0, le=3600)]
    timeout: Annotated[float, msgspec.Meta(gt=0, le=86_400)]
    requests_per_minute: Annotated[float, msgspec.Meta(gt=0)] | None
    tokens_per_minute: Annotated[float, msgspec.Meta(gt=0)] | None
    price: dict[Literal["input", "cached", "written", "output"], Annotated[float, msgspec.Meta(ge=0)] | None]
    context: Count | None
    model: Annotated[str, msgspec.Meta(pattern=r"\S")]
    batch: Annotated[float, msgspec.Meta(gt=0, le=1)] | None
    priced: Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d{2}(-\d{2})?$")] | None
    parameters: _Sampling


class Halted(Exception):
    """A match cannot go on now. Its players are not to blame. The text says why. What was recorded is kept."""

    final: ClassVar[bool] = False
    """Whether the match would halt at the same place again with the same settings."""


class RunOver(Halted):
    """No match of a run can go on."""


@dataclass(kw_only=True)
class Model(ABC):
    """A file of conf/model: the way to reach a model, its price and its limits."""

    model: str
    """The provider's name of the model."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Sampling: temperature, top_p, max_tokens (of the output with thinking), thinking (budget in tokens), effort,
    seed, stop (a list of texts; the answer ends before them). Everything under `extra` is sent unchanged."""
    price: Mapping[str, float | None] = field(default_factory=dict)
    """USD per million tokens: input, cached (input from the provider's cache), written (to the cache), output. Absent
    or null: unknown."""
    priced: str | None = None
    """The month or day of that price: 2026-11 or 2026-11-22."""
    context: int | None = None
    """Size of the context window in tokens, with the answer. None: unknown."""
    concurrency: int = 8
    """The most calls in flight at once."""
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    batch: float | None = None
    """The price of a request in the provider's batch interface, as a share of `price` (0.5: half). None: no such
    interface is used."""
    thinks: int = 0
    """The approximate tokens of thinking before an answer, within max_tokens. Only estimates use it."""
    timeout: float = 120.0
    """The most seconds of one try."""
    tries: int = 8
    """The most tries of one call when the provider fails."""
    pause: float = 0.5
    """Seconds before the second try, doubled before each further one. If the provider names a time, that time counts
    instead."""

    def __post_init__(self) -> None:
        """Checks the settings. Raises AgonError."""
        self.parameters, self.price = self.parameters or {}, self.price or {}
        try:
            settings = {name: getattr(self, name) for name in _Limits.__struct_fields__}
            msgspec.convert(settings, _Limits)
        except msgspec.ValidationError as error:
            raise AgonError(
                f"model {self.model}: the settings do not fit: {describe_fault(error, _Limits, settings)}"
            ) from None
        try:
            json.dumps(dict(self.parameters), allow_nan=False)
        except (RecursionError, TypeError, ValueError) as error:
            raise AgonError(f"model {self.model}: the parameters cannot be sent as JSON: {error}") from None

    @property
    def identity(self) -> str:
        """The identity of the model as JSON, for ids of matches and keys of recordings.

        Price and limits are no part of it.
        """
        return identity_of(self.model, self.parameters)

    @property
    def room(self) -> int | None:
        """The most tokens of a conversation: the context less the longest answer. None: unknown."""
        return None if self.context is None else self.context - (self.parameters.get("max_tokens") or 0)

    @property
    def host(self) -> str:
        """The host that is asked, with its port if the address has one. Empty: none, the model runs on this machine."""
        return ""

    @property
    def key_name(self) -> str:
        """Name of the environment variable with the key. Empty: no key is sent."""
        return ""

    @property
    def place(self) -> str:
        """Its host and the variable with its key, in words."""
        where = f"at {self.host}" if self.host else "on this machine"
        return f"{where}, {f'with {self.key_name}' if self.key_name else 'without a key'}"

    def sent(self, request: Request) -> dict[str, Any]:
        """Fields that a request has beside the conversation and `parameters`, as far as recordings keep them."""
        return {}

    @property
    def weighs(self) -> Literal["", "letters", "words"]:
        """The options that it can weigh exactly: words (any text), letters (single ones only), or none (empty)."""
        return ""

    @property
    def calls(self) -> bool:
        """Whether it can call tools."""
        return True

    @property
    def obstacle(self) -> str:
        """Why no call can be made from here, such as a missing key. Empty if nothing is known before the first call."""
        return ""

    @abstractmethod
    async def answer(self, request: Request) -> Answer:
        """Makes one try of a call. Raises CallFailed."""

    def let_go(self) -> None:  # noqa: B027 - most models need nothing here
        """Stops waiting for answers that another run can still fetch. Does nothing if there are none."""

    async def close(self) -> None:  # noqa: B027 - most models need nothing here
        """Closes connections. Does nothing if there are none."""

    @property
    def writing_costs_more(self) -> bool:
        """Whether tokens that are written to the provider's cache cost more than others."""
        return (self.price.get("written") or 0) > (self.price.get("input") or 0)

    def cost(
        self, tokens_in: float, tokens_cached: float, tokens_out: float, tokens_written: float = 0
    ) -> float | None:
        """The cost in USD. None: a necessary price is unknown.

        Without prices of their own, cached and written tokens cost as input.
        """
        price = {**dict.fromkeys(("cached", "written"), self.price.get("input")), **_prices(self.price)}
        parts = [
            (tokens_in - tokens_cached - tokens_written, price.get("input")),
            (tokens_cached, price["cached"]),
            (tokens_written, price["written"]),
            (tokens_out, price.get("output")),
        ]
        if any(tokens and usd is None for tokens, usd in parts):
            return None
        return sum(tokens * (usd or 0) for tokens, usd in parts) / 1e6


def _prices(price: Mapping[str, float | None]) -> dict[str, float]:
    return {name: usd for name, usd in price.items() if usd is not None}


class Answering(Protocol):
    """The agents' interface to a model: a live model with its recording, or the recording alone."""

    @property
    def instant(self) -> bool:
        """Whether answers come at once, without awaiting anything."""

    async def answer(self, request: Request) -> Answer:
        """The answer. Raises CallFailed, Halted and AgonError."""


def require_distinct(models: Mapping[str, Model]) -> None:
    """Raises AgonError if two files of conf/model have the same identity."""
    names: dict[str, str] = {}
    for name, model in models.items():
        if (other := names.setdefault(model.identity, name)) != name:
            raise AgonError(
                f"models {other} and {name} cannot be told apart: they have the same `model` and parameters, and would share "
                "one recording; take one, or give one something of its own under parameters.extra"
            )


def require_callable(models: Mapping[str, Model]) -> None:
    """Raises AgonError if some of these models cannot be called from here. Its line names all obstacles."""
    names = defaultdict[str, list[str]](list)
    for name, model in models.items():
        if obstacle := model.obstacle:
            names[obstacle].append(name)
    if names:
        faults = "; ".join(f"{obstacle} (for {', '.join(of)})" for obstacle, of in names.items())
        raise AgonError(f"nothing was asked: {faults}")


def identity_of(model: str, parameters: Mapping[str, Any]) -> str:
    """The identity of a model as JSON."""
    return json.dumps({"model": model, "parameters": dict(parameters)}, sort_keys=True)


def key_of(identity: str, request: Request) -> str:
    """The key of an exchange: a hash of the model's identity, the conversation and the sample."""
    return blake2b(f"{identity}\n{request.messages[-1].id}\n{request.sample}".encode(), digest_size=12).hexdigest()
