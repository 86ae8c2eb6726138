"""In the place of models: what a match asks, and answers as they may be expected, before anything is paid."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from random import Random
from typing import NamedTuple

from agon.agents.keeping import Full
from agon.games.schemas import written
from agon.models import Answer, Model, Request
from agon.models.base import key_of
from agon.models.recording import Recording
from agon.plan import Match
from agon.play import play_async

LETTERS = 5.0, 4.0, 2.5
"""Letters to a token: at the most, about, and at the least, in languages with Latin letters."""
SHORTEST, CORRECTION = 4.0, 60.0
"""Tokens of the shortest answer, and of what is said of one that cannot be read."""


class Counted(NamedTuple):
    """What was asked, or is expected to be."""

    calls: float = 0.0
    tokens_in: float = 0.0
    tokens_out: float = 0.0
    most: float = 0.0
    """Tokens that the answers may have."""
    least: float = 0.0
    """Tokens that they have at the least; none where answers are weighed, for some servers count none there."""

    def plus(self, other: "Counted") -> "Counted":
        """Both together."""
        return Counted(*map(sum, zip(self, other, strict=True)))


Questions = dict[str, Counted]
"""Sample of a question, without the number of the try -> what its tries took."""


def question_of(sample: str) -> str:
    """A sample without the number of the try."""
    return sample.rpartition(".")[0]


def seat_of(question: str) -> int:
    """The seat that is asked."""
    return int(question.split("/")[1])


def summed(parts: Iterable[Counted]) -> Counted:
    """All together."""
    found = Counted()
    for each in parts:
        found = found.plus(each)
    return found


class Supposed:
    """In the place of a model: answers as it may be expected to, and writes down what it was asked. `room` is the model's."""

    instant = True

    def __init__(self, model: Model, recording: Recording | None = None, room: int | None = None) -> None:
        self.identity, self.recording, self.room = model.identity, recording, room
        self.most, self.thinks = model.parameters.get("max_tokens") or math.inf, model.thinks
        self.asked: list[tuple[str, Counted]] = []
        """Question of every call, and what it takes."""
        self.held: list[tuple[str, bool]] = []
        """Question of every call that is recorded, and whether all before it are, so that it is sure to be needed."""
        self.begun: list[str] = []
        """Samples that nobody has recorded, of all models of the match."""
        self.steps = self.before = 0
        """Steps of the match in which it was asked."""
        self.full = False
        """Whether the match ended because a conversation did not fit into the model's room."""

    async def answer(self, request: Request) -> Answer:
        """What is recorded, else what may be expected."""
        if self.recording and (found := self.recording.get(key_of(self.identity, request))) is not None:
            self.held.append((question_of(request.sample), not self.begun))
            return found
        sent = sum(len(each.text) for each in request.messages) / LETTERS[1]
        tokens, most = self._length(request)
        least = 0.0 if request.options else min(SHORTEST, tokens)
        self.begun.append(request.sample)
        self.asked.append((question_of(request.sample), Counted(1, sent, tokens, most, least)))
        text = "" if request.options else self._said(request, min(tokens, request.expected))
        weights = (0.0,) * len(request.options)
        return Answer(text, tokens_in=round(sent), tokens_out=round(tokens), weights=weights)

    def _length(self, request: Request) -> tuple[float, float]:
        """Tokens of an answer, and of the longest. What is weighed says nothing: a letter is one token, of words each is asked for."""
        if not request.options:
            return min(request.expected + self.thinks, self.most), self.most
        letters = sum(map(len, request.options))
        if letters == len(request.options):
            return 1, 1
        return letters / LETTERS[1], letters / LETTERS[2] + len(request.options)

    def _said(self, request: Request, tokens: float) -> str:
        legal = request.view.legal
        action = legal.example(Random(request.sample))
        move = f"[move] {legal.spelled(action)}" if request.schema is None else written(legal.as_value(action))
        return move.rjust(int(tokens * LETTERS[1]))

    def moved(self) -> None:
        """A step of the match is over."""
        self.steps, self.before = self.steps + (len(self.asked) > self.before), len(self.asked)

    def of_seat(self, seat: int) -> list[Counted]:
        """Its calls for a seat, in order."""
        return [each for question, each in self.asked if seat_of(question) == seat]

    def by_question(self) -> Questions:
        """What each question takes."""
        found: Questions = defaultdict(Counted)
        for question, each in self.asked:
            found[question] = found[question].plus(each)
        return found


def played_out(
    match: Match,
    models: Mapping[str, Model],
    recording: Recording | None = None,
    roomy: bool = False,
) -> list[Supposed]:
    """The models of a match, in the order of its seats, after it was played with them; `roomy`: whatever fits into them."""
    rooms = {seat.model: None if roomy else models[seat.model].room for seat in match.seats if seat.model}
    found = {each: Supposed(models[each], recording, room) for each, room in rooms.items()}

    for each in found.values():
        each.begun = next(iter(found.values())).begun

    def moved(*_: object) -> None:
        for each in found.values():
            each.moved()

    try:
        play_async(match, found, instant=True, moved=moved).send(None)
    except Full:
        for each in found.values():
            each.full = True
    except StopIteration:
        pass
    return [*found.values()]
