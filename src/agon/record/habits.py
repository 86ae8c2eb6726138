"""What recordings tell of how much models are asked, beyond what is expected."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

import msgspec

from agon.conf import CONF, names, settings_of
from agon.errors import AgonError
from agon.models import Model
from agon.models.base import identity_of
from agon.models.recording import FILE
from agon.models.standin import StandIn
from agon.plan import Match, models_of, plan
from agon.record.load import Load, Spread
from agon.record.supposed import Counted, Questions, Supposed, played_out, question_of, seat_of, summed

LOOKED_AT = 16
"""Recorded seats that are looked at for one agent in one game with one model."""
OTHERS = 2.0
"""Factor by which a range is wider that comes from recordings of other models."""
Tokens = Annotated[int, msgspec.Meta(ge=0, le=10**9)]


class _Line(msgspec.Struct):
    """Of a recording's line, what an estimate needs."""

    exchange: str = ""
    model: str = ""
    parameters: dict[str, Any] = {}
    sample: Annotated[str, msgspec.Meta(pattern=r"^[^/]+/[0-9]{1,6}/")] = "match/0/0"
    tokens_in: Tokens = 0
    tokens_cached: Tokens = 0
    tokens_out: Tokens = 0
    seconds: Annotated[float, msgspec.Meta(ge=0, le=1e7)] = 0.0


@dataclass
class Habits:
    """What recordings tell of how much models are asked, beyond what is expected. `folder` holds recordings by experiment."""

    folder: Path
    conf: Path = CONF
    _seen: dict[Any, tuple[Load, str] | None] = field(default_factory=dict)
    _expected: dict[str, list[Supposed]] = field(default_factory=dict)

    @cached_property
    def lines(self) -> dict[str, list[_Line]]:
        """Match -> its recorded exchanges, each once: several experiments may have recorded the same match."""
        found: dict[str, dict[str, _Line]] = defaultdict(dict)
        read = msgspec.json.Decoder(_Line)
        for path in filter(Path.is_file, sorted(self.folder.glob(f"*/{FILE}"))):
            for raw in path.read_bytes().splitlines():
                with suppress(msgspec.MsgspecError, RecursionError, ValueError):  # what is no exchange tells nothing
                    if (line := read.decode(raw)).exchange:
                        found[line.sample.partition("/")[0]][line.exchange] = line
        return {match: [*lines.values()] for match, lines in found.items()}

    @cached_property
    def matches(self) -> list[tuple[Match, Mapping[str, Model]]]:
        """Recorded matches of the experiments in conf, and their models."""
        found: dict[str, tuple[Match, Mapping[str, Model]]] = {}
        for path in sorted(self.folder.glob(f"*/{FILE}")):
            with suppress(AgonError):
                if path.parent.name in names("experiment", self.conf):
                    experiment = settings_of("experiment", path.parent.name, self.conf)
                    models = models_of(experiment, self.conf)
                    found |= {
                        each.id: (each, models)
                        for each in plan(experiment, self.conf, large=True)
                        if each.id in self.lines
                    }
        return list(found.values())

    def of(
        self, match: Match, seat: int, model: Model, own: Sequence[Match], models: Mapping[str, Model]
    ) -> tuple[Load, str] | None:
        """By what factors an agent in a game asks a model more than is expected, and how that is known; None where it is not.

        `own` are the matches of the experiment that is estimated. Recordings of the same model come first.
        """
        agent = match.seats[seat].agent
        wanted = (match.game.name, agent, model.identity)
        if wanted not in self._seen:
            known = {each.id: (each, models) for each in own if each.id in self.lines}
            known |= {each.id: (each, theirs) for each, theirs in self.matches}
            alike = [(each, theirs) for each, theirs in known.values() if each.game.name == match.game.name]
            self._seen[wanted] = None
            for same in (True,) if isinstance(model, StandIn) else (True, False):  # one script tells nothing of another
                ratios = list(islice(self._ratios(alike, agent, model, same), LOOKED_AT))
                if ratios:
                    seats = "seat" if len(ratios) == 1 else "seats"
                    told = f"{len(ratios)} recorded {seats} of {agent} in {match.game.name}" + (
                        "" if same else ", of other models"
                    )
                    self._seen[wanted] = Load(*(_range([each[n] for each in ratios], same) for n in range(3))), told
                    break
        return self._seen[wanted]

    def _ratios(
        self, known: Iterable[tuple[Match, Mapping[str, Model]]], agent: str, model: Model, same: bool
    ) -> Iterator[tuple[float, float, float]]:
        """Of recorded seats: calls, tokens sent and received, as multiples of what was expected."""
        for match, models in known:
            for number, seat in enumerate(match.seats):
                asked = models.get(seat.model or "")
                if seat.agent != agent or asked is None or (_apart(asked) == _apart(model)) is not same:
                    continue
                if isinstance(asked, StandIn) and not same:
                    continue
                actual: Questions = defaultdict(Counted)
                for line in self.lines[match.id]:
                    if seat_of(line.sample) == number and identity_of(line.model, line.parameters) == asked.identity:
                        own = Counted(1, line.tokens_in, line.tokens_out)
                        actual[question_of(line.sample)] = actual[question_of(line.sample)].plus(own)
                if match.id not in self._expected:
                    self._expected[match.id] = played_out(match, models)
                expected = next(
                    each for each in self._expected[match.id] if each.identity == asked.identity
                ).by_question()
                common = [each for each in actual if each in expected]
                if common and sum(actual[each].tokens_in for each in common):
                    sums = [summed(part[each] for each in common) for part in (actual, expected)]
                    yield (sums[0][0] / sums[1][0], sums[0][1] / sums[1][1], sums[0][2] / (sums[1][2] or 1))

    def seconds(self, model: Model) -> Spread | None:
        """Seconds of a call to a model, by recorded ones; where there are none, by those with another max_tokens."""
        means: dict[bool, list[float]] = {True: [], False: []}
        for lines in self.lines.values():
            for exactly, known in means.items():
                own = [each.seconds for each in lines if each.seconds and _same(each, model, exactly)]
                if own:
                    known.append(fmean(own))
        found = means[True] or means[False]
        return _range(found, True) if found else None


def _apart(model: Model) -> str:
    """What tells a model apart, whatever the longest answer that is allowed."""
    return _unbounded(model.identity)


@cache
def _unbounded(identity: str) -> str:
    known = msgspec.json.decode(identity)
    return identity_of(
        known["model"], {name: value for name, value in known["parameters"].items() if name != "max_tokens"}
    )


def _same(line: _Line, model: Model, exactly: bool) -> bool:
    identity = identity_of(line.model, line.parameters)
    return identity == model.identity if exactly else _unbounded(identity) == _apart(model)


def _range(values: Sequence[float], same: bool) -> Spread:
    """From the least to the greatest of some values, wider where they are few, or of other models."""
    wider = (1 + 1 / len(values)) * (1 if same else OTHERS)
    return Spread(min(values) / wider, fmean(values), max(values) * wider)
