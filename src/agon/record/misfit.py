"""Why recorded answers are not those of an experiment: what differs between the questions of then and of now."""

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
from agon.play import play_async

LOOKED_AT = 50
"""So many matches are looked at: an experiment's questions begin alike."""


class _Line(msgspec.Struct):
    """What is compared of a recording's line: an exchange's model, or a message."""

    model: str = ""
    parameters: dict[str, Any] = {}
    message: str = ""
    after: str = ""
    role: str = ""
    text: str = ""


class _Listener(NamedTuple):
    """In the place of a model: takes down what it is asked, and answers nothing."""

    asked: list[Request]
    instant: bool = True

    async def answer(self, request: Request) -> Answer:
        self.asked.append(request)
        raise Halted("only the first question is looked at")


def misfit(matches: Sequence[Match], models: Mapping[str, Model], recording: Recording) -> str:
    """In a line, that nothing recorded is an answer to these matches, and what differs; empty where something is.

    Also empty where nothing is recorded at all.
    """
    held = sum(recording.calls_of.values())
    if not held or any(match.id in recording.calls_of for match in matches):
        return ""
    lines = list(_lines(recording))
    known = {identity_of(line.model, line.parameters) for line in lines if line.model}
    own = {model.identity for model in models.values()}
    systems = {line.message: line.text for line in lines if line.role == "system"}
    first = {line.text for line in lines if line.role == "user" and line.after in systems}
    told = [request.messages for request in _openings(matches)]
    if not known or not told:
        why = "what was asked"
    elif not own & known:
        why = f"the model or its parameters ({_changed(min(known), min(own))})"
    elif not {each[0].text for each in told} & set(systems.values()):
        why = f"the system prompt ({_line(systems.values(), told[0][0].text)})"
    elif not {each[1].text for each in told if len(each) > 1} & first:
        why = "the first question"
    else:
        why = "a setting of the game or of an agent, or a later question"
    return f"the recording has {count(held, 'answer')}, none of these matches: what differs is {why}"


def _lines(recording: Recording) -> Iterator[_Line]:
    with recording.path.open("rb") as stream:
        for raw in stream:
            with suppress(msgspec.DecodeError):  # torn, or by another hand: it is not compared
                yield msgspec.json.decode(raw, type=_Line)


def _openings(matches: Sequence[Match]) -> list[Request]:
    """The first questions of some of the matches."""
    asked: list[Request] = []
    for match in islice((match for match in matches if any(seat.model for seat in match.seats)), LOOKED_AT):
        listener = _Listener(asked)
        try:
            play_async(match, {seat.model: listener for seat in match.seats if seat.model}, instant=True).send(None)
        except (Halted, StopIteration):
            continue
    return asked


def _changed(then: str, now: str) -> str:
    """What two identities of models do not have in common."""
    old, new = ({"model": each["model"]} | each["parameters"] for each in (json.loads(then), json.loads(now)))
    names = sorted(name for name in {*old, *new} if old.get(name) != new.get(name))
    return "; ".join(f"{name}: recorded with {old.get(name)!r:.80}, now {new.get(name)!r:.80}" for name in names)


def _line(known: Iterable[str], text: str) -> str:
    """The first line in which a text differs from the one most like it."""
    like = max(dict.fromkeys(known), key=lambda each: len({*each.splitlines()} & {*text.splitlines()}), default="")
    for number, (then, now) in enumerate(zip_longest(like.splitlines(), text.splitlines()), 1):
        if then != now:
            return f"line {number}: recorded with {then!r:.80}, now {now!r:.80}"
    return "its end"
