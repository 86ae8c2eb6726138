"""Usage in past recordings: the ratios of recorded to expected calls and tokens."""

import re
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
from agon.plan.experiment import experiment_of
from agon.plan.matches import labels_in
from agon.record.dry_run import Counts, DryRunModel, Questions, play_out, question_of, seat_of, sum_counts
from agon.record.load import Load, Spread

MOST_SEATS = 16
"""The most recorded seats that are used for one agent in one game with one model."""
OTHER_MODELS = 2.0
"""A range from recordings of other models is wider by this factor."""
Tokens = Annotated[int, msgspec.Meta(ge=0, le=10**9)]


class _Line(msgspec.Struct):
    """The fields of a line of a recording that estimates use."""

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
    """Compares recordings with their expected usage. `folder` has a subfolder for every experiment."""

    folder: Path
    conf: Path = CONF
    _matches_by_games: dict[frozenset[str], list[tuple[Match, Mapping[str, Model]]]] = field(default_factory=dict)
    _ratios_by_key: dict[Any, tuple[Load, str] | None] = field(default_factory=dict)
    _expected: dict[str, list[DryRunModel]] = field(default_factory=dict)

    @cached_property
    def lines(self) -> dict[str, list[_Line]]:
        """Match -> its recorded exchanges. Each is there once, even if several experiments recorded the match."""
        lines_of: dict[str, dict[str, _Line]] = defaultdict(dict)
        decoder = msgspec.json.Decoder(_Line)
        for path in filter(Path.is_file, sorted(self.folder.glob(f"*/{FILE}"))):
            for raw in path.read_bytes().splitlines():
                with suppress(msgspec.MsgspecError, RecursionError, ValueError):  # not an exchange
                    if (line := decoder.decode(raw)).exchange:
                        lines_of[line.sample.partition("/")[0]][line.exchange] = line
        return {match: [*lines.values()] for match, lines in lines_of.items()}

    def matches(self, games: frozenset[str]) -> list[tuple[Match, Mapping[str, Model]]]:
        """The recorded matches in `games` (names) of the experiments in conf, with their models.

        An experiment with a fault is passed over.
        """
        if games not in self._matches_by_games:
            matches: dict[str, tuple[Match, Mapping[str, Model]]] = {}
            for path in sorted(self.folder.glob(f"*/{FILE}")):
                with suppress(AgonError):
                    if path.parent.name in names("experiment", self.conf):
                        experiment = self._part(settings_of("experiment", path.parent.name, self.conf), games)
                        models = models_of(experiment, self.conf)
                        matches |= {
                            match.id: (match, models)
                            for match in plan(experiment, self.conf, large=True)
                            if match.id in self.lines
                        }
            self._matches_by_games[games] = [*matches.values()]
        return self._matches_by_games[games]

    def _part(self, experiment: dict[str, Any], games: frozenset[str]) -> dict[str, Any]:
        """An experiment without the files whose games have other names. Raises AgonError if nothing is left."""
        files = {name for meeting in experiment_of(experiment).meetings for name in meeting.games}
        kept = {name for name in files if labels_in(re.split("[/~]", name)[0], self.conf).get("name") in {None, *games}}
        part = dict(experiment)
        for kind in {"tournaments", "pairings", "challenges"} & experiment.keys():
            own = [
                meeting | {"games": [name for name in meeting["games"] if name in kept]} for meeting in experiment[kind]
            ]
            part[kind] = [meeting for meeting in own if meeting["games"]]
        experiment_of(part)
        return part

    def of(
        self, match: Match, seat: int, model: Model, own_matches: Sequence[Match], models: Mapping[str, Model]
    ) -> tuple[Load, str] | None:
        """Ratios of recorded to expected usage of an agent in a game, and their source in words. None: there are no
        recordings.

        `own_matches`: the matches of the present experiment. Recordings of other models count only if there are none of
        this model.
        """
        agent = match.seats[seat].agent
        key = (match.game.name, agent, model.identity)
        if key not in self._ratios_by_key:
            games = frozenset(planned.game.name for planned in own_matches)
            recorded = {planned.id: (planned, models) for planned in own_matches if planned.id in self.lines}
            recorded |= {other.id: (other, other_models) for other, other_models in self.matches(games)}
            same_game = [pair for pair in recorded.values() if pair[0].game.name == match.game.name]
            self._ratios_by_key[key] = None
            for same in (True,) if isinstance(model, StandIn) else (True, False):  # models say nothing about a script
                ratios = list(islice(self._ratios(same_game, agent, model, same), MOST_SEATS))
                if ratios:
                    seats = "seat" if len(ratios) == 1 else "seats"
                    basis = f"{len(ratios)} recorded {seats} of {agent} in {match.game.name}" + (
                        "" if same else ", of other models"
                    )
                    self._ratios_by_key[key] = (
                        Load(*(_spread(column, same) for column in zip(*ratios, strict=True))),
                        basis,
                    )
                    break
        return self._ratios_by_key[key]

    def _ratios(
        self, recorded: Iterable[tuple[Match, Mapping[str, Model]]], agent: str, model: Model, same: bool
    ) -> Iterator[tuple[float, float, float]]:
        """For every recorded seat: calls, tokens sent and tokens received, divided by the expected ones."""
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
                actual: Questions = defaultdict(Counts)
                for line in self.lines[match.id]:
                    if (
                        seat_of(line.sample) == number
                        and identity_of(line.model, line.parameters) == recorded_model.identity
                    ):
                        counted = Counts(1, line.tokens_in, line.tokens_out)
                        actual[question_of(line.sample)] = actual[question_of(line.sample)].plus(counted)
                if match.id not in self._expected:
                    self._expected[match.id] = play_out(match, models)
                dry_runs = {dry_run.identity: dry_run for dry_run in self._expected[match.id]}
                expected = dry_runs[recorded_model.identity].by_question()
                questions = [question for question in actual if question in expected]
                if not any(actual[question].tokens_in for question in questions):
                    continue
                real, dry = (sum_counts(counts[question] for question in questions) for counts in (actual, expected))
                tokens_out = real.tokens_out / (dry.tokens_out or 1)
                yield real.calls / dry.calls, real.tokens_in / dry.tokens_in, tokens_out

    def seconds(self, model: Model) -> Spread | None:
        """Seconds of a call to a model, by recorded calls. If there are none, by those with another max_tokens.

        None: there are none.
        """
        means: dict[bool, list[float]] = {True: [], False: []}
        for lines in self.lines.values():
            for exactly, values in means.items():
                times = [line.seconds for line in lines if line.seconds and _is_of_model(line, model, exactly)]
                if times:
                    values.append(fmean(times))
        values = means[True] or means[False]
        return _spread(values, True) if values else None


def _bare_identity(model: Model) -> str:
    """The identity of a model without its max_tokens."""
    return _without_limit(model.identity)


@cache
def _without_limit(identity: str) -> str:
    fields = msgspec.json.decode(identity)
    return identity_of(
        fields["model"], {name: value for name, value in fields["parameters"].items() if name != "max_tokens"}
    )


def _is_of_model(line: _Line, model: Model, exactly: bool) -> bool:
    identity = identity_of(line.model, line.parameters)
    return identity == model.identity if exactly else _without_limit(identity) == _bare_identity(model)


def _spread(values: Sequence[float], same: bool) -> Spread:
    """The range of values, wider if they are few or belong to other models."""
    wider = (1 + 1 / len(values)) * (1 if same else OTHER_MODELS)
    return Spread(min(values) / wider, fmean(values), max(values) * wider)
