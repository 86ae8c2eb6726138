"""Usage history: how recorded calls and tokens compare with the expected ones."""

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
from agon.record.supposed import Counted, DryRunModel, Questions, play_out, question_of, seat_of, sum_counts

MOST_SEATS = 16
"""The most recorded seats that are used for one agent in one game with one model."""
OTHER_MODELS = 2.0
"""A range from recordings of other models is wider by this factor."""
Tokens = Annotated[int, msgspec.Meta(ge=0, le=10**9)]


class _Line(msgspec.Struct):
    """The fields of a recording's line that an estimate uses."""

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
    """The recordings in `folder`, one subfolder for each experiment, compared with their expected usage."""

    folder: Path
    conf: Path = CONF
    _seen: dict[Any, tuple[Load, str] | None] = field(default_factory=dict)
    _expected: dict[str, list[DryRunModel]] = field(default_factory=dict)

    @cached_property
    def lines(self) -> dict[str, list[_Line]]:
        """Match -> its recorded exchanges, each once: several experiments may have recorded the same match."""
        lines_of: dict[str, dict[str, _Line]] = defaultdict(dict)
        decoder = msgspec.json.Decoder(_Line)
        for path in filter(Path.is_file, sorted(self.folder.glob(f"*/{FILE}"))):
            for raw in path.read_bytes().splitlines():
                with suppress(msgspec.MsgspecError, RecursionError, ValueError):  # not an exchange
                    if (line := decoder.decode(raw)).exchange:
                        lines_of[line.sample.partition("/")[0]][line.exchange] = line
        return {match: [*lines.values()] for match, lines in lines_of.items()}

    @cached_property
    def matches(self) -> list[tuple[Match, Mapping[str, Model]]]:
        """Recorded matches of the experiments in conf, and their models."""
        matches: dict[str, tuple[Match, Mapping[str, Model]]] = {}
        for path in sorted(self.folder.glob(f"*/{FILE}")):
            with suppress(AgonError):
                if path.parent.name in names("experiment", self.conf):
                    experiment = settings_of("experiment", path.parent.name, self.conf)
                    models = models_of(experiment, self.conf)
                    matches |= {
                        match.id: (match, models)
                        for match in plan(experiment, self.conf, large=True)
                        if match.id in self.lines
                    }
        return list(matches.values())

    def of(
        self, match: Match, seat: int, model: Model, own_matches: Sequence[Match], models: Mapping[str, Model]
    ) -> tuple[Load, str] | None:
        """Ratios of recorded to expected usage of an agent in a game, and their source in words. None: there are no recordings.

        `own_matches`: the matches of the experiment in question. Recordings of the same model come first.
        """
        agent = match.seats[seat].agent
        key = (match.game.name, agent, model.identity)
        if key not in self._seen:
            recorded = {each.id: (each, models) for each in own_matches if each.id in self.lines}
            recorded |= {each.id: (each, theirs) for each, theirs in self.matches}
            alike = [(each, theirs) for each, theirs in recorded.values() if each.game.name == match.game.name]
            self._seen[key] = None
            for same in (True,) if isinstance(model, StandIn) else (True, False):  # one script tells nothing of another
                ratios = list(islice(self._ratios(alike, agent, model, same), MOST_SEATS))
                if ratios:
                    seats = "seat" if len(ratios) == 1 else "seats"
                    basis = f"{len(ratios)} recorded {seats} of {agent} in {match.game.name}" + (
                        "" if same else ", of other models"
                    )
                    self._seen[key] = Load(*(_spread([each[n] for each in ratios], same) for n in range(3))), basis
                    break
        return self._seen[key]

    def _ratios(
        self, recorded: Iterable[tuple[Match, Mapping[str, Model]]], agent: str, model: Model, same: bool
    ) -> Iterator[tuple[float, float, float]]:
        """For each recorded seat: calls, tokens sent and tokens received, as multiples of the expected ones."""
        for match, models in recorded:
            for number, seat in enumerate(match.seats):
                recorded_model = models.get(seat.model or "")
                if (
                    seat.agent != agent
                    or recorded_model is None
                    or (_bare_identity(recorded_model) == _bare_identity(model)) is not same
                ):
                    continue
                if isinstance(recorded_model, StandIn) and not same:
                    continue
                actual: Questions = defaultdict(Counted)
                for line in self.lines[match.id]:
                    if (
                        seat_of(line.sample) == number
                        and identity_of(line.model, line.parameters) == recorded_model.identity
                    ):
                        counted = Counted(1, line.tokens_in, line.tokens_out)
                        actual[question_of(line.sample)] = actual[question_of(line.sample)].plus(counted)
                if match.id not in self._expected:
                    self._expected[match.id] = play_out(match, models)
                expected = next(
                    each for each in self._expected[match.id] if each.identity == recorded_model.identity
                ).by_question()
                questions = [each for each in actual if each in expected]
                if questions and sum(actual[each].tokens_in for each in questions):
                    sums = [sum_counts(part[each] for each in questions) for part in (actual, expected)]
                    yield (sums[0][0] / sums[1][0], sums[0][1] / sums[1][1], sums[0][2] / (sums[1][2] or 1))

    def seconds(self, model: Model) -> Spread | None:
        """Seconds of a call to a model, from recorded calls, else from calls with another max_tokens. None: there are none."""
        means: dict[bool, list[float]] = {True: [], False: []}
        for lines in self.lines.values():
            for exactly, values in means.items():
                times = [each.seconds for each in lines if each.seconds and _is_of_model(each, model, exactly)]
                if times:
                    values.append(fmean(times))
        found = means[True] or means[False]
        return _spread(found, True) if found else None


def _bare_identity(model: Model) -> str:
    """The identity of a model without its max_tokens."""
    return _unbounded(model.identity)


@cache
def _unbounded(identity: str) -> str:
    fields = msgspec.json.decode(identity)
    return identity_of(
        fields["model"], {name: value for name, value in fields["parameters"].items() if name != "max_tokens"}
    )


def _is_of_model(line: _Line, model: Model, exactly: bool) -> bool:
    identity = identity_of(line.model, line.parameters)
    return identity == model.identity if exactly else _unbounded(identity) == _bare_identity(model)


def _spread(values: Sequence[float], same: bool) -> Spread:
    """The range of values, widened where they are few or belong to other models."""
    wider = (1 + 1 / len(values)) * (1 if same else OTHER_MODELS)
    return Spread(min(values) / wider, fmean(values), max(values) * wider)
