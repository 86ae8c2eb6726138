"""The bill, unpaid: what a plan would ask of each model, counted by playing it against answers of the expected length."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

from agon.models import Answer, Model, Request
from agon.models.base import key_of, require_distinct
from agon.models.recording import Recording
from agon.plan import Match
from agon.play import play_async

LETTERS = 4
"""Letters to a token, about, in English."""
SECONDS = 0.7, 0.02
"""What a call may take: at least, and for each token of the answer."""


class Asked(NamedTuple):
    """What one match asks of one model: numbers of calls and of tokens."""

    calls: float = 0.0
    tokens_in: float = 0.0
    tokens_cached: float = 0.0
    tokens_out: float = 0.0


@dataclass(frozen=True, slots=True)
class Bill:
    """What matches would ask of one model."""

    model: str
    matches: int
    asked: Asked
    usd: float | None
    """Without what prompt caches may save; None where the price is not known."""
    seconds: float
    """At the model's limits, at about 0.7 s and 0.02 s per token of answer for a call."""


class _Guess:
    """Answers with a legal move after the expected number of tokens, and counts; what is recorded it gives for nothing."""

    instant = True

    def __init__(self, model: Model, recording: Recording | None = None) -> None:
        self.most, self.thinks = model.parameters.get("max_tokens"), model.thinks
        self.identity, self.recording = model.identity, recording
        self.asked = Asked()

    async def answer(self, request: Request) -> Answer:
        if self.recording and (found := self.recording.get(key_of(self.identity, request))) is not None:
            return found
        sizes = [len(message.text) for message in request.messages]
        out = request.expected + self.thinks
        out = out if self.most is None else min(out, self.most)
        new = Asked(1, sum(sizes) / LETTERS, (sum(sizes[:-1]) if len(sizes) > 2 else 0) / LETTERS, out)
        self.asked = Asked(*map(sum, zip(self.asked, new, strict=True)))
        legal = request.view.legal
        move = f"[move] {legal.spelled(legal.example(Random(request.sample)))}"
        return Answer(move.rjust(min(out, request.expected) * LETTERS), tokens_in=int(new.tokens_in), tokens_out=out)


def bills(matches: Sequence[Match], models: Mapping[str, Model], recording: Recording | None = None) -> list[Bill]:
    """What `matches` would still ask of each model, beside what `recording` holds; every new answer being readable."""
    require_distinct(models)
    known = recording.calls_of if recording else Counter[str]()
    counts: dict[str, list[Any]] = {name: [0, Asked()] for name in models}
    cache: dict[Any, dict[str, Asked]] = defaultdict(dict)
    for match in matches:
        names = list(dict.fromkeys(seat.model for seat in match.seats if seat.model))
        if not names:
            continue
        begun = recording if known[match.id] else None
        limits = tuple((models[name].parameters.get("max_tokens"), models[name].thinks) for name in names)
        seats = tuple((seat.agent, seat.model and names.index(seat.model)) for seat in match.seats)
        alike = match.id if begun else (match.game, seats, limits)
        if alike not in cache:
            guesses = {name: _Guess(models[name], begun) for name in names}
            _played(match, guesses)
            cache[alike] = {str(place): guesses[name].asked for place, name in enumerate(names)}
        asked = [cache[alike][str(place)] for place in range(len(names))]
        for name, each in zip(names, asked, strict=True):
            counts[name][0] += each.calls > 0
            counts[name][1] = Asked(*map(sum, zip(counts[name][1], each, strict=True)))
    return [_bill(name, models[name], *counts[name]) for name in models]


def _played(match: Match, guesses: Mapping[str, _Guess]) -> None:
    try:
        play_async(match, guesses, instant=True).send(None)
    except StopIteration:
        return


def _bill(name: str, model: Model, matches: int, asked: Asked) -> Bill:
    each = SECONDS[0] + SECONDS[1] * asked.tokens_out / (asked.calls or 1)
    seconds = max(
        asked.calls * each / model.concurrency,
        asked.calls / (model.requests_per_minute or float("inf")) * 60,
        (asked.tokens_in + asked.tokens_out) / (model.tokens_per_minute or float("inf")) * 60,
    )
    return Bill(name, matches, asked, model.cost(asked.tokens_in, 0, asked.tokens_out), seconds)
