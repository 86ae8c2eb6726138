"""What a model is asked and what it answers. Providers, the stand-in and the recorder all speak this."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Protocol, TypedDict

import msgspec

from agon.errors import AgonError, describe_fault
from agon.models.ends import Ended

Role = Literal["system", "user", "assistant"]


class Message(NamedTuple):
    """One message of a conversation; made by `message`."""

    role: Role
    text: str
    id: str
    """A hash of the conversation up to here."""
    before: str
    """Id of the message before; empty for the first."""
    opaque: tuple[dict[str, Any], ...] = ()
    """Of an answer, what its provider wants back with it (`Answer.opaque`); ids do not hash it."""


def clean(text: str | None) -> str:
    """Text that can be stored: half a surrogate pair, where an answer was cut off, becomes a question mark."""
    return (text or "").encode("utf-8", "replace").decode()


def message(role: Role, text: str, before: str = "", opaque: tuple[dict[str, Any], ...] = ()) -> Message:
    """A message, after the one with the id `before`."""
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
    """One question to a model."""

    messages: tuple[Message, ...]
    """The whole conversation: a system message first, then user and assistant in turn, ending with user."""
    sample: str
    """Which of equally worded requests this is: match, seat and number of the call, so that no two matches share an answer."""
    expected: int = 0
    """About how many tokens the answer will have; for estimates alone."""
    view: Any = None
    """What the seat saw (an Observation). For the stand-in alone; no provider is sent it, and recordings do not hold it."""
    schema: Mapping[str, Any] | None = None
    """The JSON schema that the answer must keep, where the provider can enforce it; None: any text."""
    tools: Mapping[str, Mapping[str, Any]] | None = None
    """Tools of which the model must call one: name -> JSON schema of its arguments; None: none are offered."""
    options: tuple[str, ...] = ()
    """Whole answers to be weighed: wanted is no text, but how likely each of them is (`Answer.weights`)."""


Weight = Annotated[float, msgspec.Meta(ge=-1e9, le=1e-3)]
"""Natural logarithm of a probability; a little above 0 it may be by rounding."""

Tokens = Annotated[int, msgspec.Meta(ge=0, lt=2**53)]
"""A number of tokens that can be kept; what an adapter answers is checked before it is."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    text: str
    """The answer proper; empty when there was none (a refusal without words, a call cut off while thinking)."""
    thinking: str = ""
    """What the provider shows of the thinking before it."""
    tokens_in: Tokens = 0
    """Tokens sent, those read from the provider's cache included."""
    tokens_cached: Tokens = 0
    """Of these, read from the provider's prompt cache."""
    tokens_out: Tokens = 0
    """Tokens received, thinking included."""
    seconds: Annotated[float, msgspec.Meta(ge=0, le=1e9)] = 0.0
    """From sending to the last byte, of the call that succeeded."""
    id: str = ""
    """The provider's name for this answer."""
    stop: str = ""
    """Why it ended, in the provider's word: stop, length, end_turn, refusal ..."""
    exchange: str = ""
    """Key of the recorded exchange; empty where nothing was recorded."""
    recorded: bool = False
    """Whether it was read from a recording rather than paid for now."""
    tokens_written: Tokens = 0
    """Of the tokens sent, written to the provider's prompt cache."""
    unreported: bool = False
    """Whether the provider did not say, or not credibly, what the call took: a budget then counts the most that it can be."""
    weights: tuple[Weight, ...] = ()
    """Of each of the request's options, the logarithm of the probability that the model answers just so, at temperature 1."""
    usd: Annotated[float, msgspec.Meta(ge=0, le=1e6)] | None = None
    """What the provider says that it charged; None where it does not say: then the cost is reckoned from tokens and prices."""
    opaque: tuple[dict[str, Any], ...] = ()
    """What the provider wants back, as it came, where the answer stands in a conversation (thinking with its signature). It is no
    text of the answer, and nobody else reads it."""
    ended: Ended = "unknown"
    """Why it ended, in agon's word (agon.models.ends); of a live call what `stop` means, and unknown until it is recorded."""


class CallFailed(Exception):
    """A call without an answer. Its text is one line that holds no secret."""

    def __init__(
        self, kind: str, text: str, then: Literal["retry", "void", "stop"] = "retry", after: float | None = None
    ) -> None:
        super().__init__(clean(text))
        self.kind = kind
        """For counting: a status (429), or timeout, connection, not JSON, no answer in it."""
        self.then = then
        """retry: it may pass; void: this conversation is refused for good; stop: every call will fail (key, settings)."""
        self.after = after
        """Seconds the provider asks to wait; None where it does not say."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.kind, str(self), self.then, self.after)  # exceptions are not pickled whole otherwise


class TooLong(CallFailed):
    """The conversation does not fit into the model's context."""


class _Sampling(TypedDict, total=False):
    """Of the parameters, what is counted with, and what must be of a form."""

    max_tokens: Annotated[int, msgspec.Meta(ge=1)] | None
    stop: list[str] | None
    extra: dict[str, Any] | None


class _Limits(msgspec.Struct):
    """Of a model's settings, those that are counted with."""

    concurrency: Annotated[int, msgspec.Meta(ge=1)]
    tries: Annotated[int, msgspec.Meta(ge=1)]
    pause: Annotated[float, msgspec.Meta(ge=0, le=3600)]
    timeout: Annotated[float, msgspec.Meta(gt=0, le=86_400)]
    requests_per_minute: Annotated[float, msgspec.Meta(gt=0)] | None
    tokens_per_minute: Annotated[float, msgspec.Meta(gt=0)] | None
    price: dict[Literal["input", "cached", "written", "output"], Annotated[float, msgspec.Meta(ge=0)] | None]
    context: Annotated[int, msgspec.Meta(ge=1)] | None
    model: Annotated[str, msgspec.Meta(pattern=r"\S")]
    batch: Annotated[float, msgspec.Meta(gt=0, le=1)] | None
    priced: Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d{2}(-\d{2})?$")] | None
    parameters: _Sampling


class Halted(Exception):
    """A match cannot go on now, through no fault of its players; its text says why. What it has recorded is kept."""

    final: ClassVar[bool] = False
    """Whether it would end at the same place again, asked with the same settings."""


@dataclass(kw_only=True)
class Model(ABC):
    """One file of conf/model: how a model is reached, what it costs, and how hard it may be asked."""

    model: str
    """The provider's name for it."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Sampling: temperature, top_p, max_tokens (all output, thinking included), thinking (budget in tokens), effort, seed,
    stop (a list of texts at which an answer ends, without them); under `extra` anything else, sent as it is."""
    price: Mapping[str, float | None] = field(default_factory=dict)
    """USD per million tokens: input, cached (input read from the provider's cache), written (to it), output; absent or null is
    unknown."""
    priced: str | None = None
    """When that was the price: a month or a day, 2026-11 or 2026-11-22."""
    context: int | None = None
    """Tokens that fit, answer included; None is unknown."""
    concurrency: int = 8
    """Calls in flight at once."""
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    batch: float | None = None
    """What a request costs in the provider's batch interface, as a share of the price (0.5: half); None: it is not used."""
    thinks: int = 0
    """About how many tokens it thinks before an answer, within max_tokens; for plan's estimate alone."""
    timeout: float = 120.0
    """Seconds for one try."""
    tries: int = 8
    """Times one call is tried when the provider fails."""
    pause: float = 0.5
    """Seconds before the second try, doubled at each further one; a provider's own wish comes first."""

    def __post_init__(self) -> None:
        """Refuses settings with which nothing can be asked. Raises AgonError."""
        self.parameters, self.price = self.parameters or {}, self.price or {}
        try:
            msgspec.convert({name: getattr(self, name) for name in _Limits.__struct_fields__}, _Limits)
        except msgspec.ValidationError as error:
            raise AgonError(f"model {self.model}: the settings do not fit: {describe_fault(error, _Limits)}") from None
        try:
            json.dumps(dict(self.parameters), allow_nan=False)
        except (RecursionError, TypeError, ValueError) as error:
            raise AgonError(f"model {self.model}: the parameters cannot be sent as JSON: {error}") from None

    @property
    def identity(self) -> str:
        """What makes its answers its own, as JSON: matches and recordings are told apart by this, not by price or limits."""
        return identity_of(self.model, self.parameters)

    @property
    def room(self) -> int | None:
        """Tokens that a conversation may have: its context, less the longest answer; None: not known."""
        return None if self.context is None else self.context - (self.parameters.get("max_tokens") or 0)

    @property
    def weighs(self) -> Literal["", "letters", "words"]:
        """Which options it can weigh exactly: any words (letters too), single letters alone, or none."""
        return ""

    @property
    def calls(self) -> bool:
        """Whether it calls tools that it is offered."""
        return True

    @abstractmethod
    async def answer(self, request: Request) -> Answer:
        """One call, tried once. Raises CallFailed."""

    def let_go(self) -> None:  # noqa: B027 - most have none
        """Ends waiting for answers that can still be fetched by another run; nothing to do where there are none."""

    async def close(self) -> None:  # noqa: B027 - most have none
        """Ends connections; nothing to do where there are none."""

    @property
    def writing_costs_more(self) -> bool:
        """Whether tokens written to the provider's cache cost more than others."""
        return (self.price.get("written") or 0) > (self.price.get("input") or 0)

    def cost(
        self, tokens_in: float, tokens_cached: float, tokens_out: float, tokens_written: float = 0
    ) -> float | None:
        """USD; None where a price that is needed is unknown. Reading from and writing to a cache cost as input unless priced."""
        price = {**dict.fromkeys(("cached", "written"), self.price.get("input")), **_known_prices(self.price)}
        parts = [
            (tokens_in - tokens_cached - tokens_written, price.get("input")),
            (tokens_cached, price["cached"]),
            (tokens_written, price["written"]),
            (tokens_out, price.get("output")),
        ]
        if any(tokens and usd is None for tokens, usd in parts):
            return None
        return sum(tokens * (usd or 0) for tokens, usd in parts) / 1e6


def _known_prices(price: Mapping[str, float | None]) -> dict[str, float]:
    return {name: usd for name, usd in price.items() if usd is not None}


class Answering(Protocol):
    """Where an agent's questions go: a live model behind its recording, or the recording alone."""

    @property
    def instant(self) -> bool:
        """Whether answers come without waiting."""

    async def answer(self, request: Request) -> Answer:
        """The answer. Raises CallFailed, and what ends a whole run."""


def require_distinct(models: Mapping[str, Model]) -> None:
    """Raises AgonError where two files of conf/model are one model to matches and recordings."""
    names: dict[str, str] = {}
    for name, model in models.items():
        if (other := names.setdefault(model.identity, name)) != name:
            raise AgonError(
                f"models {other} and {name} cannot be told apart: they have the same `model` and parameters, and would share "
                "one recording; take one, or give one something of its own under parameters.extra"
            )


def identity_of(model: str, parameters: Mapping[str, Any]) -> str:
    """A model's identity, as JSON."""
    return json.dumps({"model": model, "parameters": dict(parameters)}, sort_keys=True)


def key_of(identity: str, request: Request) -> str:
    """The key of an exchange: a hash of model and parameters (`identity`, as JSON), conversation and sample."""
    return blake2b(f"{identity}\n{request.messages[-1].id}\n{request.sample}".encode(), digest_size=12).hexdigest()
