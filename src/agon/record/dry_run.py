"""A dry run of matches. Stand-ins count the requests and give answers of the expected length. Nothing is paid."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from random import Random
from typing import NamedTuple

from agon.agents.keeping import Full
from agon.games.schemas import write_answer
from agon.models import Answer, Model, Request
from agon.models.base import key_of
from agon.models.recording import Recording
from agon.plan import Match
from agon.play import play_instantly

LETTERS = 5.0, 4.0, 2.5
"""Letters to a token in languages with Latin letters: high, middle, low."""
SHORTEST, CORRECTION = 4.0, 60.0
"""Tokens of the shortest answer, and of the reply to an unreadable one."""


class Counts(NamedTuple):
    """Counts of calls and tokens, recorded or expected."""

    calls: float = 0.0
    tokens_in: float = 0.0
    tokens_out: float = 0.0
    most: float = 0.0
    """The most tokens that the answers can have."""
    least: float = 0.0
    """The least tokens that the answers can have. For weighed options 0, because some servers count no tokens there."""

    def plus(self, other: "Counts") -> "Counts":
        """The sum."""
        return Counts(*map(sum, zip(self, other, strict=True)))


Questions = dict[str, Counts]
"""Sample without the number of the attempt -> counts of all attempts."""


def question_of(sample: str) -> str:
    """A sample without the number of the attempt."""
    return sample.rpartition(".")[0]


def seat_of(question: str) -> int:
    """The seat that is asked."""
    return int(question.split("/")[1])


def sum_counts(parts: Iterable[Counts]) -> Counts:
    """The sum of all parts."""
    total = Counts()
    for part in parts:
        total = total.plus(part)
    return total


class DryRunModel:
    """Replaces a model: gives answers of the expected length and counts the calls. `room`: `Model.room`."""

    instant = True

    def __init__(self, model: Model, recording: Recording | None = None, room: int | None = None) -> None:
        self.identity, self.recording, self.room = model.identity, recording, room
        self.most, self.thinks = model.parameters.get("max_tokens") or math.inf, model.thinks
        self.calls: list[tuple[str, Counts]] = []
        """(question, counts) of every call."""
        self.recorded: list[tuple[str, bool]] = []
        """(question, whether all earlier calls are recorded, so that the match surely needs it) of every recorded
        call."""
        self.unrecorded: list[str] = []
        """Samples that are not recorded. All models of the match share the list."""
        self.steps = self.before = 0
        """Number of steps in which the model was asked, and number of calls before the present step."""
        self.full = False
        """Whether the match ended because a conversation did not fit into `room`."""

    async def answer(self, request: Request) -> Answer:
        """The recorded answer, else one of the expected length."""
        answer = self.recording.get(key_of(self.identity, request)) if self.recording else None
        if answer is not None:
            self.recorded.append((question_of(request.sample), not self.unrecorded))
            return answer
        tokens_in = sum(len(message.text) for message in request.messages) / LETTERS[1]
        tokens, most = self._length(request)
        least = 0.0 if request.options else min(SHORTEST, tokens)
        self.unrecorded.append(request.sample)
        self.calls.append((question_of(request.sample), Counts(1, tokens_in, tokens, most, least)))
        text = "" if request.options else self._text(request, min(tokens, request.expected))
        weights = (0.0,) * len(request.options)
        return Answer(text, tokens_in=round(tokens_in), tokens_out=round(tokens), weights=weights)

    def _length(self, request: Request) -> tuple[float, float]:
        """Expected and greatest tokens of an answer. A weighed letter is one token.

        All tokens of weighed words are paid.
        """
        if not request.options:
            return min(request.expected + self.thinks, self.most), self.most
        letters = sum(map(len, request.options))
        if letters == len(request.options):
            return 1, 1
        return letters / LETTERS[1], letters / LETTERS[2] + len(request.options)

    def _text(self, request: Request, tokens: float) -> str:
        legal = request.view.legal
        action = legal.example(Random(request.sample))
        move = f"[move] {legal.format(action)}" if request.schema is None else write_answer(legal.encode(action))
        return move.rjust(int(tokens * LETTERS[1]), "\n")

    def end_step(self) -> None:
        """Ends a step. Counts it if the model was asked in it."""
        self.steps, self.before = self.steps + (len(self.calls) > self.before), len(self.calls)

    def of_seat(self, seat: int) -> list[Counts]:
        """The counts of a seat's calls, in order."""
        return [counts for question, counts in self.calls if seat_of(question) == seat]

    def by_question(self) -> Questions:
        """The counts of each question."""
        questions: Questions = defaultdict(Counts)
        for question, counts in self.calls:
            questions[question] = questions[question].plus(counts)
        return questions


def play_out(
    match: Match,
    models: Mapping[str, Model],
    recording: Recording | None = None,
    roomy: bool = False,
) -> list[DryRunModel]:
    """Plays a match with stand-ins for its models, and returns one for each model, in the order of the seats.

    `roomy`: with unlimited context. Raises AgonError for an agent that waits for something other than its model.
    """
    rooms = {seat.model: None if roomy else models[seat.model].room for seat in match.seats if seat.model}
    stand_ins = {name: DryRunModel(models[name], recording, room) for name, room in rooms.items()}

    for stand_in in stand_ins.values():
        stand_in.unrecorded = next(iter(stand_ins.values())).unrecorded

    def end_step(*_: object) -> None:
        for stand_in in stand_ins.values():
            stand_in.end_step()

    try:
        play_instantly(match, stand_ins, end_step)
    except Full:
        for stand_in in stand_ins.values():
            stand_in.full = True
    return [*stand_ins.values()]
