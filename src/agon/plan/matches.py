"""The matches of an experiment. The id and the seed of a match are hashes of its own content."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import combinations_with_replacement, islice, product
from pathlib import Path
from typing import Any

from agon.conf import (
    CONF,
    compose_together,
    document,
    expand_settings,
    id_name,
    load,
    names,
    require_distinct_games,
    settings_of,
)
from agon.errors import AgonError, count
from agon.games import Game
from agon.models import Model
from agon.models.standin import StandIn
from agon.paths import input_path
from agon.plan.experiment import Cell, Challenge, Experiment, Pairing, Tournament, experiment_of, names_in_experiment
from agon.plan.seats import Seat, entrants_of, hash_of, identity_of, models_named, seat_of
from agon.plan.symmetry import difference
from agon.plan.trial import try_out

MATCHES, DECISIONS = 1_000_000, 100_000_000
"""The size above which an experiment must be declared large."""


@dataclass(frozen=True, slots=True)
class Match:
    """One match, ready to be played."""

    experiment: str
    id: str
    seed: int
    game: Game[Any]
    seats: tuple[Seat, ...]
    repetition: int
    config: str
    """Hash of the game's and players' settings."""
    settings: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """The settings from which the game can be built again."""
    cell: str = ""
    """The condition of a study."""
    subjects: tuple[int, ...] = ()
    """The seats of the subjects of that study."""


def plan(experiment: dict[str, Any], conf: Path = CONF, *, large: bool = False) -> list[Match]:
    """The matches of an experiment (the contents of a file in conf/experiment), in a fixed order.

    In a tournament every unordered group of agents meets in one seating, and each agent also meets itself. In a pairing
    every combination over the seats plays. In a challenge every challenger meets every defender. All play `repetitions`
    times, in every game. A match that occurs several times is planned once. Raises AgonError for settings that do not
    fit, for names of games, agents and models that do not exist, and for scripts that cannot play a game. Unless
    `large`, it also raises AgonError for more than MATCHES or DECISIONS.
    """
    settings = experiment_of(experiment)
    agents, model_names = names_in_experiment(settings)
    game_files = [re.split("[/~]", name)[0] for meeting in settings.meetings for name in meeting.games]
    sampling = [settings.sampling] if settings.sampling else []
    compose_together({"game": game_files, "agent": agents, "model": model_names, "sampling": sampling}, conf)
    models = models_named(model_names, settings.sampling, conf)
    for meeting in settings.meetings:
        meeting.games = expand_settings(meeting.games, conf)
    games = {name: load("game", name, conf) for meeting in settings.meetings for name in meeting.games}
    require_distinct_games([*games.values()])
    if not large:
        _require_small(settings, games, conf)
    matches: dict[str, Match] = {}
    trials: set[tuple[str, str]] = set()
    for meeting in settings.meetings:
        for game_name in meeting.games:
            game, rules = games[game_name], settings_of("game", game_name, conf)
            for group in _groups(meeting, game, conf):
                seats = [seat_of(name, game, models, conf, settings.prompts) for name in group]
                for name, seat in _players([seat for seat, _ in seats], models).items():
                    if (name, game.name) not in trials:
                        try_out(seat, game, name)
                        trials.add((name, game.name))
                content = hash_of({"game": identity_of(rules), "seats": [identity for _, identity in seats]})
                players = tuple(seat for seat, _ in seats)
                for repetition in range(meeting.repetitions or settings.repetitions):
                    id_ = hash_of([content, repetition])
                    match = Match(settings.name, id_, int(id_, 16), game, players, repetition, content, rules)
                    if isinstance(meeting, Pairing) and meeting.cell:
                        match = _in_cell(match, meeting.cell)
                    matches[match.id] = match
    if not matches:
        raise AgonError(f"experiment {settings.name} plays nothing: {ALONE}")
    return list(matches.values())


ALONE = "`take: different` needs a different model for each seat that asks one: name more models"


def cautions(experiment: dict[str, Any], conf: Path = CONF) -> list[str]:
    """Warnings about an experiment, one line each: the seats of a game differ, a pairing plays nothing, another file has a game's name, or
    a model's context has no place for a question beside the longest answer.

    Raises AgonError as `plan` does for settings that do not fit.
    """
    settings = experiment_of(experiment)
    lines = [*_namesakes({name for meeting in settings.meetings for name in meeting.games}, conf)]
    for meeting in settings.meetings:
        games = {name: load("game", name, conf) for name in expand_settings(meeting.games, conf)}
        if isinstance(meeting, Pairing) and not any(
            True for game in games.values() for _ in _groups(meeting, game, conf)
        ):
            lines.append(
                f"a pairing in {', '.join(dict.fromkeys(game.name for game in games.values()))} plays nothing: {ALONE}"
            )
        if not isinstance(meeting, Tournament):
            continue
        entrants = sorted({entrant for name in meeting.agents for entrant in entrants_of(name, meeting.models, conf)})
        unlike = {
            game.name: (why, game.seats) for game in games.values() if len(entrants) > 1 and (why := difference(game))
        }
        agents = ", ".join(meeting.agents)
        for game, (why, seats) in unlike.items():
            lines.append(
                f"the seats of {game} differ ({why}), and a tournament seats each group once, in alphabetical order, so that players "
                f"and seats cannot be told apart; in the place of tournaments write pairings with all orders: "
                f"seats: [{', '.join([f'[{agents}]'] * seats)}]"
                + (", with take: different for models that meet each other" if len(meeting.models) > 1 else "")
            )
    for name, model in models_of(experiment, conf).items():
        if model.room is not None and model.room <= 0:
            lines.append(
                f"no question fits into the context of {name}: it has {model.context:,} tokens, and max_tokens keeps "
                f"{model.parameters['max_tokens']:,} for the answer; set a smaller max_tokens, or correct context in conf/model/{name}.yaml"
            )
    return list(dict.fromkeys(lines))


def _namesakes(games: Set[str], conf: Path) -> Iterator[str]:
    """A line for each other file of conf/game whose game has the name and variant of one of `games`."""
    labels_of: dict[str, tuple[str, str]] = {}
    for file in names("game", conf):
        with suppress(AgonError, RecursionError):  # a file with a fault is named when somebody asks for it
            labels = labels_in(file, conf)
            if {
                "name",
                "variant",
            } <= labels.keys():  # other files have them in `settings`, or in the game that they wrap
                labels_of[file] = labels["name"], labels["variant"]
    for file in sorted(games & labels_of.keys()):
        name, variant = labels_of[file]
        for other in sorted(other for other in labels_of if other != file and labels_of[other] == labels_of[file]):
            yield (
                f"conf/game/{file}.yaml and conf/game/{other}.yaml are both called {name}, variant {variant}: tables cannot tell their "
                "matches apart; give one another `variant`"
            )


def labels_in(file: str, conf: Path) -> dict[str, str]:
    """The name and variant in a file of conf/game, or in a file that it builds upon. To compose all files would take ten times as long."""
    settings, files = document(input_path(conf / f"game/{file}.yaml")), names("game", conf)
    labels, bases = dict[str, str](), settings.get("defaults")
    for base in bases if isinstance(bases, list) else ():  # Hydra names the fault of a list that is none
        labels |= labels_in(base, conf) if base in files else {}
    return labels | {key: str(settings[key]) for key in ("name", "variant") if key in settings}


def _players(seats: Sequence[Seat], models: Mapping[str, Model]) -> dict[str, Seat]:
    """The players to try out, by name: those at the seats, and the scripts of models that are stand-ins."""
    players = {f"agent {seat.agent}": seat for seat in seats}
    models_here = {seat.model: models[seat.model] for seat in seats if seat.model}
    policies = {name: model.policy for name, model in models_here.items() if isinstance(model, StandIn)}
    return players | {f"model {name}": Seat(name, policy) for name, policy in policies.items()}


def _require_small(experiment: Experiment, games: Mapping[str, Game[Any]], conf: Path) -> None:
    """Raises AgonError, with the counts, for an experiment of more than MATCHES or DECISIONS."""
    matches = decisions = calls = 0
    for meeting in experiment.meetings:
        for name in meeting.games:
            game = games[name]
            groups = sum(
                1 for _ in islice(_groups(meeting, game, conf), MATCHES + 1)
            )  # of more, the rest is not counted
            size = groups * (meeting.repetitions or experiment.repetitions)
            turns = size * (game.max_rounds or 1) * game.seats
            matches, decisions = matches + size, decisions + turns
            calls += turns * (bool(meeting.models) or "@" in str(meeting))
            if matches > MATCHES or decisions > DECISIONS:
                raise AgonError(
                    f"experiment {experiment.name} has at least {count(matches, 'match')} with {decisions:,} decisions, of which "
                    f"models make up to {calls:,}: use fewer repetitions, rounds or agents, or add large=true"
                )


def _groups(meeting: Tournament | Pairing | Challenge, game: Game[Any], conf: Path) -> Iterator[tuple[str, ...]]:
    """The groups of a meeting, as agent or agent@model. The order of a tournament's list does not matter."""
    if isinstance(meeting, Tournament):
        entrants = {entrant for name in meeting.agents for entrant in entrants_of(name, meeting.models, conf)}
        yield from combinations_with_replacement(
            sorted(entrants, key=lambda entrant: _id_name(entrant, conf)), game.seats
        )
        return
    if isinstance(meeting, Challenge):
        if not (subjects := game.tested):
            raise AgonError(f"{game.name} {game.variant} has no seat under test, so it cannot be in a challenge")
        sides = [
            [entrant for name in names for entrant in entrants_of(name, meeting.models, conf)]
            for names in (meeting.challengers, meeting.defenders)
        ]
        for challenger, defender in product(*sides):
            yield tuple(challenger if seat in subjects else defender for seat in range(game.seats))
        return
    if len(meeting.seats) != game.seats:
        raise AgonError(f"{game.name} has {game.seats} seats, the pairing gives {len(meeting.seats)}")
    models = meeting.models[:1] if meeting.take == "first" else meeting.models
    is_different = meeting.take == "different"
    copies = 0 if is_different else len(models)
    entrants_of_seats = [[entrants_of(name, models, conf, copies) for name in names] for names in meeting.seats]
    for combination in product(*entrants_of_seats):
        yield from different_models(combination) if is_different else zip(*combination, strict=True)


def different_models(seats: Sequence[Sequence[str]], used: Set[str] = frozenset()) -> Iterator[tuple[str, ...]]:
    """The groups with one entrant for each seat of which no two ask the same model, and none asks a model that is `used`."""
    if not seats:
        yield ()
    for entrant in seats[0] if seats else ():
        model = entrant.partition("@")[2]
        if model not in used:
            for others in different_models(seats[1:], used | {model} - {""}):
                yield entrant, *others


def _id_name(entrant: str, conf: Path) -> str:
    """An entrant with the agent's name that ids hash, so that renaming an agent changes nobody's seat."""
    agent, mark, model = entrant.partition("@")
    return f"{id_name('agent', agent, conf)}{mark}{model}"


def shared_chance(study: str, cell: str, repetition: int) -> str:
    """The seed of all matches of a cell and a repetition, as 16 hexadecimal digits."""
    return blake2b(json.dumps([study, cell, repetition]).encode(), digest_size=8).hexdigest()


def _in_cell(match: Match, cell: Cell) -> Match:
    chance = shared_chance(match.experiment, cell.name, match.repetition)
    id_ = blake2b(f"{match.id} {chance}".encode(), digest_size=8).hexdigest()
    return replace(match, id=id_, seed=int(chance, 16), cell=cell.name, subjects=tuple(cell.subjects))


def models_of(experiment: dict[str, Any], conf: Path = CONF) -> dict[str, Model]:
    """The models that an experiment asks, by name, with its sampling parameters. Raises AgonError."""
    checked = experiment_of(experiment)
    return models_named(names_in_experiment(checked)[1], checked.sampling, conf)


def agents_of(experiment: dict[str, Any]) -> set[str]:
    """The names of an experiment's agents, as the experiment writes them. Raises AgonError."""
    return {*names_in_experiment(experiment_of(experiment))[0]}
