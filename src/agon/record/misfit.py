"""Explains why a recording has no answers for an experiment: the first difference between the questions."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice, zip_longest
from typing import Any, NamedTuple

import msgspec

from agon.errors import count
from agon.models import Answer, Halted, Model, Request
from agon.models.base import identity_of
from agon.models.recording import Recording
from agon.plan import Match
from agon.play import play_instantly

MOST_MATCHES = 50
"""The most matches that are compared, because the questions of an experiment begin alike."""


class _Line(msgspec.Struct):
    """The fields of a line of a recording that are compared: an exchange's model, or a message."""

    model: str = ""
    parameters: dict[str, Any] = {}
    message: str = ""
    after: str = ""
    role: str = ""
    text: str = ""


class _Listener(NamedTuple):
    """Replaces a model: stores the first request, then halts the match."""

    requests: list[Request]
    instant: bool = True

    async def answer(self, request: Request) -> Answer:
        self.requests.append(request)
        raise Halted("only the first question is looked at")


def explain_cache_miss(matches: Sequence[Match], models: Mapping[str, Model], recording: Recording) -> str:
    """A line that says what differs, if no recorded answer belongs to these matches.

    Empty if an answer does, or if nothing is recorded.
    """
    answers = sum(recording.calls_of.values())
    if not answers or any(match.id in recording.calls_of for match in matches):
        return ""
    lines = list(_lines(recording))
    then = {identity_of(line.model, line.parameters) for line in lines if line.model}
    now = {model.identity for model in models.values()}
    systems = {line.message: line.text for line in lines if line.role == "system"}
    first_questions = {line.text for line in lines if line.role == "user" and line.after in systems}
    openings = [request.messages for request in _openings(matches)]
    if not then or not openings:
        difference = "what was asked"
    elif not now & then:
        difference = f"the model or its parameters ({_model_difference(min(then), min(now))})"
    elif not {messages[0].text for messages in openings} & set(systems.values()):
        difference = f"the system prompt ({_line_difference(systems.values(), openings[0][0].text)})"
    elif not {messages[1].text for messages in openings if len(messages) > 1} & first_questions:
        difference = "the first question"
    else:
        difference = "a setting of the game or of an agent, or a later question"
    return f"the recording has {count(answers, 'answer')}, none of them of these matches: what differs is {difference}"


def _lines(recording: Recording) -> Iterator[_Line]:
    with recording.path.open("rb") as stream:
        for raw in stream:
            with suppress(msgspec.DecodeError):  # an incomplete or unknown line is not compared
                yield msgspec.json.decode(raw, type=_Line)


def _openings(matches: Sequence[Match]) -> list[Request]:
    """The first questions of some of the matches."""
    requests: list[Request] = []
    for match in islice((match for match in matches if any(seat.model for seat in match.seats)), MOST_MATCHES):
        listener = _Listener(requests)
        with suppress(Halted):
            play_instantly(match, {seat.model: listener for seat in match.seats if seat.model})
    return requests


def _model_difference(then: str, now: str) -> str:
    """The parameters in which two identities of models differ."""
    old, new = (
        {"model": identity["model"]} | identity["parameters"] for identity in (json.loads(then), json.loads(now))
    )
    names = sorted(name for name in {*old, *new} if old.get(name) != new.get(name))
    return "; ".join(f"{name}: recorded with {old.get(name)!r:.80}, now {new.get(name)!r:.80}" for name in names)


def _line_difference(texts: Iterable[str], text: str) -> str:
    """The first line in which a text differs from the most similar of `texts`."""
    lines = {*text.splitlines()}
    nearest = max(dict.fromkeys(texts), key=lambda other: len(lines & {*other.splitlines()}), default="")
    for number, (then, now) in enumerate(zip_longest(nearest.splitlines(), text.splitlines()), 1):
        if then != now:
            return f"line {number}: recorded with {then!r:.80}, now {now!r:.80}"
    return "its end"
