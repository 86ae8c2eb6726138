"""What of its conversation a model is shown: what stays in it, and that it fits into the model's context."""

from collections.abc import Iterable
from math import ceil
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from agon.errors import AgonError
from agon.models import Answer, Answering, Halted, Message, Request, TooLong, extend

OVERFLOWS = ("stop", "cut")
BELIEVED = 2000
"""Tokens that a provider may add to a conversation, or to an answer that is not shown whole; and two for each byte. More is no count."""
AROUND = 8
"""Tokens that a chat template puts around a message, at most."""
WIDER = 1.1
"""By so much more tokens are counted for a text than were for others of the same conversation."""


class Keeps(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An agent's setting `keeps`: everything, readable, or these settings."""

    unreadable: bool = True
    """Whether answers that could not be read stay, and what was said of them. If not, they leave when the question is decided."""
    rounds: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """The last rounds that stay, the present one included; None: all."""
    summary: Annotated[int, msgspec.Meta(ge=10, le=2000)] | None = None
    """Words of a summary that takes the place of what leaves: whenever twice as many `rounds` are there, the model is asked for one.
    None: there is none."""


def keeps_of(given: object) -> Keeps:
    """From an agent's settings. Raises AgonError."""
    if isinstance(given, Keeps):
        return given
    try:
        named = {"everything": Keeps(), "readable": Keeps(unreadable=False)}
        found = named[given] if isinstance(given, str) else msgspec.convert(given, Keeps)
    except (KeyError, msgspec.ValidationError):
        raise AgonError(
            f"keeps is {given!r}; it is everything, readable, or some of unreadable (true, false), rounds (the last ones) and "
            "summary (words, 10 to 2000)"
        ) from None
    if found.summary and not found.rounds:
        raise AgonError("keeps: a summary is of rounds that leave: say how many stay, rounds: N")
    return found


class Full(AgonError, Halted):
    """A conversation does not fit into the model's context, and nothing of it may leave."""

    final = True

    def __init__(self, why: object) -> None:
        super().__init__(
            f"the conversation does not fit into the model's context ({why}); `overflow: cut` in the agent's file lets the oldest "
            "rounds leave, but not the rules and the last question; `keeps` says what stays in the first place"
        )


class Begun(NamedTuple):
    """Where a round begins in a conversation."""

    round: int
    place: int


def rechained(messages: Iterable[Message]) -> tuple[Message, ...]:
    """The same messages as a conversation of their own."""
    made: tuple[Message, ...] = ()
    for each in messages:
        made = extend(made, each.role, each.text, each.opaque)
    return made


def without(messages: tuple[Message, ...], place: int) -> tuple[Message, ...]:
    """A conversation without what lies between its first message and `place`."""
    return rechained((messages[0], *messages[place:]))


def moved(begun: Iterable[Begun], place: int) -> tuple[Begun, ...]:
    """Where rounds begin, when what lies between the first message and `place` has left."""
    return tuple(Begun(each.round, each.place - place + 1) for each in begun if each.place >= place)


class Measured:
    """A model that is asked nothing that does not fit: what a conversation takes is counted before it is sent.

    Counted is what the provider has told of the conversation's beginning, and for the rest a bound: half a token for each ASCII
    letter, one for each other byte, or what this conversation's text took so far, if that is more. It hangs on recorded answers
    alone, so that a replay comes to the same.
    """

    def __init__(self, model: Answering, room: int) -> None:
        self.model, self.room = model, room
        self.told: dict[str, tuple[int, int]] = {}
        """Id of a question -> tokens up to it, and with its answer."""
        self.rate = 0.0
        """Tokens of a byte, at most so far."""

    @property
    def instant(self) -> bool:
        """Whether answers come without waiting."""
        return self.model.instant

    async def heard(self, request: Request, answer: Answer, fault: str) -> None:
        """Passed on to who records."""
        if (heard := getattr(self.model, "heard", None)) is not None:
            await heard(request, answer, fault)

    async def answer(self, request: Request) -> Answer:
        """The answer. Raises TooLong where there is no room for it."""
        if (tokens := self.tokens(request.messages)) > self.room:
            raise TooLong("too long", f"about {tokens:,} tokens, and there is room for {self.room:,}", "void")
        answer = await self.model.answer(request)
        sent = sum(len(each.text.encode()) for each in request.messages)
        said = len((answer.text + answer.thinking).encode())
        if answer.tokens_in and not request.options and answer.tokens_in < BELIEVED + 2 * sent:
            answered = min(answer.tokens_out, BELIEVED + 2 * said)
            self.told[request.messages[-1].id] = answer.tokens_in, answer.tokens_in + answered
            self.rate = max(self.rate, answer.tokens_in / max(sent, 1))
        return answer

    def tokens(self, messages: tuple[Message, ...]) -> int:
        """About how many tokens a conversation has, rather too many than too few."""
        for place in range(len(messages) - 1, -1, -1):
            if known := self.told.get(messages[place].id):
                alone, answered = known
                rest = messages[place + 2 :]
                return ceil((answered if place + 1 < len(messages) else alone) + sum(map(self._bound, rest)))
        if self.rate:  # its beginning has left
            sent = sum(len(each.text.encode()) for each in messages)
            return ceil(WIDER * self.rate * sent) + AROUND * len(messages)
        return ceil(sum(map(self._bound, messages)))

    def _bound(self, message: Message) -> float:
        text = message.text
        size = len(text.encode())
        return max((len(text) if text.isascii() else 2 * size) / 2, WIDER * self.rate * size) + AROUND


def measured(model: Answering) -> Answering:
    """A model as an agent asks it."""
    room: int | None = getattr(model, "room", None)
    return model if room is None else Measured(model, room)


def overflow_of(given: Any) -> Literal["stop", "cut"]:
    """From an agent's settings. Raises AgonError."""
    if given not in OVERFLOWS:
        raise AgonError(f"overflow is {given!r}; it must be stop or cut")
    found: Literal["stop", "cut"] = given
    return found
