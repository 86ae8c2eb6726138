"""Context management: which messages of a conversation a model is sent, and whether they fit into its context window."""

from collections.abc import Iterable
from math import ceil
from typing import Literal, NamedTuple

import msgspec

from agon.errors import AgonError
from agon.models import Answer, Answering, Halted, Message, Request, TooLong, extend
from agon.models.base import Count

Overflow = Literal["stop", "cut"]
"""What happens to a conversation that does not fit into the model's context: the match stops, or its oldest rounds leave."""
MOST_OVERHEAD = 2000
"""A provider's count of tokens is believed up to this many plus two for each byte. A higher count is ignored."""
TEMPLATE_TOKENS = 8
"""A chat template adds at most this many tokens to a message."""
MARGIN = 1.1
"""Safety factor on the tokens per byte that this conversation has shown so far."""


class ContextPolicy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An agent's setting `keeps`: everything, readable, or these settings."""

    unreadable: bool = True
    """Whether unreadable answers and the replies to them stay. If not, they leave once the question is decided."""
    rounds: Count | None = None
    """Number of last rounds that stay, with the present one. None: all stay."""


Keeps = Literal["everything", "readable"] | ContextPolicy
"""The types of that setting."""


def keeps_of(setting: object) -> ContextPolicy:
    """The context policy of an agent's setting. Raises AgonError."""
    if isinstance(setting, ContextPolicy):
        return setting
    try:
        policies = {"everything": ContextPolicy(), "readable": ContextPolicy(unreadable=False)}
        return policies[setting] if isinstance(setting, str) else msgspec.convert(setting, ContextPolicy)
    except (KeyError, msgspec.ValidationError):
        raise AgonError(
            f"keeps is {setting!r}; it is everything, readable, or some of unreadable (true, false) and rounds (the last ones)"
        ) from None


class Full(AgonError, Halted):
    """A conversation does not fit into the model's context, and nothing of it may leave."""

    final = True

    def __init__(self, why: object) -> None:
        super().__init__(
            f"the conversation does not fit into the model's context ({why}); `overflow: cut` in the agent's file lets the oldest "
            "rounds leave, but not the rules and the last question; `keeps` says what stays in the first place"
        )


class RoundStart(NamedTuple):
    """Where a round begins in a conversation."""

    round: int
    place: int


def drop_before(messages: tuple[Message, ...], place: int) -> tuple[Message, ...]:
    """A new conversation without the messages between the first one and `place`. Each message names the one before it."""
    conversation = messages[:1]
    for message in messages[place:]:
        conversation = extend(conversation, message.role, message.text, message.opaque)
    return conversation


def shift_starts(starts: Iterable[RoundStart], place: int) -> tuple[RoundStart, ...]:
    """The starts of rounds after `drop_before(messages, place)`."""
    return tuple(RoundStart(start.round, start.place - place + 1) for start in starts if start.place >= place)


class BudgetedModel:
    """A model that refuses conversations of more than `room` tokens before they are sent.

    The provider's own count is used for the beginning of a conversation that it has seen. A new message is bounded from above: half a
    token for each character if all are ASCII, else one for each byte; or the highest rate of this conversation if that is more; and
    TEMPLATE_TOKENS. The bound depends on recorded answers alone. A replay therefore refuses the same conversations.
    """

    def __init__(self, model: Answering, room: int) -> None:
        self.model, self.room, self.instant = model, room, model.instant
        self.report_reading = getattr(model, "report_reading", None)
        """How an answer was read is told to the model, if it takes such reports (Live.report_reading)."""
        self.counts: dict[str, tuple[int, int]] = {}
        """Id of a question -> tokens up to the question, tokens up to its answer."""
        self.tokens_per_byte = 0.0
        """Highest rate so far."""

    async def answer(self, request: Request) -> Answer:
        """Asks the model. Raises TooLong where the conversation does not fit."""
        if (tokens := self.tokens(request.messages)) > self.room:
            raise TooLong("too long", f"about {tokens:,} tokens, and there is room for {self.room:,}", "void")
        answer = await self.model.answer(request)
        bytes_sent = sum(len(message.text.encode()) for message in request.messages)
        bytes_received = len((answer.text + answer.thinking).encode())
        if answer.tokens_in and not request.options and answer.tokens_in < MOST_OVERHEAD + 2 * bytes_sent:
            tokens_out = min(answer.tokens_out, MOST_OVERHEAD + 2 * bytes_received)
            self.counts[request.messages[-1].id] = answer.tokens_in, answer.tokens_in + tokens_out
            self.tokens_per_byte = max(self.tokens_per_byte, answer.tokens_in / max(bytes_sent, 1))
        return answer

    def tokens(self, messages: tuple[Message, ...]) -> int:
        """An upper bound on the tokens of a conversation."""
        for place in range(len(messages) - 1, -1, -1):
            if counts := self.counts.get(messages[place].id):
                up_to, with_answer = counts
                rest = messages[place + 2 :]
                return ceil((with_answer if place + 1 < len(messages) else up_to) + sum(map(self._bound, rest)))
        if self.tokens_per_byte:  # the beginning was dropped
            size = sum(len(message.text.encode()) for message in messages)
            return ceil(MARGIN * self.tokens_per_byte * size) + TEMPLATE_TOKENS * len(messages)
        return ceil(sum(map(self._bound, messages)))

    def _bound(self, message: Message) -> float:
        text = message.text
        size = len(text.encode())
        return (
            max((len(text) if text.isascii() else 2 * size) / 2, MARGIN * self.tokens_per_byte * size) + TEMPLATE_TOKENS
        )


def limit_context(model: Answering) -> Answering:
    """The model with its limit of tokens enforced, if the limit is known."""
    room: int | None = getattr(model, "room", None)
    return model if room is None else BudgetedModel(model, room)
