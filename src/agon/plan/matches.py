"""Matches: all that an experiment plays, with ids and seeds that are hashes of each match's own content."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import combinations_with_replacement, product
from math import comb, prod
from pathlib import Path
from typing import Any

from agon.conf import (
    CONF,
    compose_together,
    distinct,
    expand_settings,
    id_name,
    load,
    settings_of,
)
from agon.errors import AgonError, count
from agon.games import Game
from agon.models import Model
from agon.models.standin import StandIn
from agon.plan.experiment import Cell, Challenge, Experiment, Pairing, Tournament, experiment_of, named
from agon.plan.seats import Seat, entrants_of, hash_of, identity_of, models_named, seat_of
from agon.plan.symmetry import difference
from agon.plan.trial import try_out

MATCHES, DECISIONS = 1_000_000, 100_000_000
"""An experiment of more is planned only if it is said to be large."""


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
    """The game's own, which build it again."""
    cell: str = ""
    """The condition of a study."""
    subjects: tuple[int, ...] = ()
    """The seats of those whom that study is about."""


def plan(experiment: dict[str, Any], conf: Path = CONF, *, large: bool = False) -> list[Match]:
    """The matches of an experiment (the contents of a file in conf/experiment), in a fixed order.

    In a tournament every unordered group of agents meets in one seating, each with itself included; in a pairing every
    combination over the seats. All play `repetitions` times, in every game; a match that is asked for several times is there once.
    Raises AgonError for settings that do not fit, for games, agents and models that are not there, for scripts that
    cannot play a game, and, unless it is `large`, for more than MATCHES or DECISIONS.
    """
    asked = experiment_of(experiment)
    _compose_files(asked, conf)
    models = models_of(experiment, conf)
    for each in asked.meetings:
        each.games = expand_settings(each.games, conf)
    games = {name: load("game", name, conf) for each in asked.meetings for name in each.games}
    for game in games.values():
        if type(game.seats) is not int or game.seats < 1:
            raise AgonError(f"{game.name}: seats is {game.seats!r}; it must be a whole number, 1 at least")
    distinct([*games.values()])
    if not large:
        _require_small(asked, games, conf)
    found: dict[str, Match] = {}
    tried: set[tuple[str, str]] = set()
    for each in asked.meetings:
        for game_name in each.games:
            game, rules = games[game_name], settings_of("game", game_name, conf)
            for group in _groups(each, game, conf):
                seats = [seat_of(name, game, models, conf) for name in group]
                for who, seat in _players([seat for seat, _ in seats], models).items():
                    if (who, game.name) not in tried:
                        try_out(seat, game, who)
                        tried.add((who, game.name))
                content = hash_of({"game": identity_of(rules), "seats": [own for _, own in seats]})
                seated = tuple(seat for seat, _ in seats)
                for repetition in range(each.repetitions or asked.repetitions):
                    match = _match(asked.name, game, seated, repetition, content, rules)
                    if isinstance(each, Pairing) and each.cell:
                        match = _in_cell(match, each.cell)
                    found[match.id] = match
    if not found:
        raise AgonError(f"experiment {asked.name} plays nothing: {ALONE}")
    return list(found.values())


def _compose_files(asked: Experiment, conf: Path) -> None:
    """Composes all files that an experiment names, at once."""
    agents, models = named(asked)
    games = [re.split("[/~]", name)[0] for each in asked.meetings for name in each.games]
    sampling = [asked.sampling] if asked.sampling else []
    compose_together({"game": games, "agent": agents, "model": models, "sampling": sampling}, conf)


ALONE = (
    "`take: different` seats models that differ, and there are fewer of them than seats that ask one: name more models"
)


def cautions(experiment: dict[str, Any], conf: Path = CONF) -> list[str]:
    """What is to be known of an experiment before anything is paid for, a line each: who sits where decides, or part of it is empty.

    Raises AgonError as `plan` does for settings that do not fit.
    """
    asked, said = experiment_of(experiment), list[str]()
    for each in asked.meetings:
        games = {name: load("game", name, conf) for name in expand_settings(each.games, conf)}
        if isinstance(each, Pairing) and not any(True for game in games.values() for _ in _groups(each, game, conf)):
            said.append(
                f"a pairing in {', '.join(dict.fromkeys(game.name for game in games.values()))} plays nothing: {ALONE}"
            )
        if not isinstance(each, Tournament):
            continue
        entrants = sorted({entrant for name in each.agents for entrant in entrants_of(name, each.models, conf)})
        unlike = {
            game.name: (why, game.seats) for game in games.values() if len(entrants) > 1 and (why := difference(game))
        }
        listed = ", ".join(each.agents)
        for game, (why, seats) in unlike.items():
            said.append(
                f"the seats of {game} differ ({why}), and a tournament seats each group once, in alphabetical order, so that players "
                f"and seats cannot be told apart; in the place of tournaments write pairings with all orders: "
                f"seats: [{', '.join([f'[{listed}]'] * seats)}]"
                + (", with take: different for models that meet each other" if len(each.models) > 1 else "")
            )
    return list(dict.fromkeys(said))


def _players(seats: Sequence[Seat], models: Mapping[str, Model]) -> dict[str, Seat]:
    """Who is tried out, by what they are called: those who sit there, and the scripts that speak for stand-ins."""
    found = {f"agent {seat.agent}": seat for seat in seats}
    speaking = {seat.model: models[seat.model] for seat in seats if seat.model}
    policies = {name: model.policy for name, model in speaking.items() if isinstance(model, StandIn)}
    return found | {f"model {name}": Seat(name, policy) for name, policy in policies.items()}


def _require_small(asked: Experiment, games: Mapping[str, Game[Any]], conf: Path) -> None:
    """Raises AgonError, with what it comes to, for an experiment of more than MATCHES or DECISIONS."""
    matches = decisions = calls = 0
    for each in asked.meetings:
        for name in each.games:
            game = games[name]
            played = _sizes(each, game, conf) * (each.repetitions or asked.repetitions)
            rounds = game.max_rounds or 1
            matches += played
            decisions += played * rounds * game.seats
            calls += played * rounds * game.seats * (bool(each.models) or "@" in str(each))
    if matches > MATCHES or decisions > DECISIONS:
        raise AgonError(
            f"experiment {asked.name} comes to {count(matches, 'match')} of {decisions:,} decisions, of which models may be asked "
            f"for {calls:,}: take fewer repetitions, rounds or agents, or say large=true"
        )


def _sizes(each: "Tournament | Pairing | Challenge", game: Game[Any], conf: Path) -> int:
    """How many groups sit down together, at most, without naming them."""

    def among(names: Sequence[str], copies: int = 0) -> int:
        return sum(len(entrants_of(name, each.models, conf, copies)) for name in names)

    if isinstance(each, Tournament):
        return comb(among(each.agents) + game.seats - 1, game.seats)
    if isinstance(each, Challenge):
        return among(each.challengers) * among(each.defenders)
    if each.take == "different":
        return prod(map(among, each.seats))
    return prod(map(len, each.seats)) * (1 if each.take == "first" else max(len(each.models), 1))


def _groups(each: Tournament | Pairing | Challenge, game: Game[Any], conf: Path) -> Iterator[tuple[str, ...]]:
    """Who sits down together, as agent or agent@model; a tournament's seats do not depend on the order of its list."""
    if isinstance(each, Tournament):
        entrants = {entrant for name in each.agents for entrant in entrants_of(name, each.models, conf)}
        yield from combinations_with_replacement(sorted(entrants, key=lambda each: _id_name(each, conf)), game.seats)
        return
    if isinstance(each, Challenge):
        if not (tested := game.tested):
            raise AgonError(f"{game.name} {game.variant} says of no seat that it is under test: it takes no challenge")
        sides = [
            [e for name in names for e in entrants_of(name, each.models, conf)]
            for names in (each.challengers, each.defenders)
        ]
        for challenger, defender in product(*sides):
            yield tuple(challenger if seat in tested else defender for seat in range(game.seats))
        return
    if len(each.seats) != game.seats:
        raise AgonError(f"{game.name} has {game.seats} seats, the pairing gives {len(each.seats)}")
    models = each.models[:1] if each.take == "first" else each.models
    for combination in product(*each.seats):
        if each.take == "different":
            for group in product(*(entrants_of(name, models, conf) for name in combination)):
                asked = [entrant for entrant in group if "@" in entrant]
                if len({entrant.partition("@")[2] for entrant in asked}) == len(asked):
                    yield group
        else:
            yield from zip(*(entrants_of(name, models, conf, len(models)) for name in combination), strict=True)


def _id_name(entrant: str, conf: Path) -> str:
    """An entrant by the name that ids hash, so that a new name of an agent seats nobody elsewhere."""
    agent, mark, model = entrant.partition("@")
    return f"{id_name('agent', agent, conf)}{mark}{model}"


def _match(
    experiment: str,
    game: Game[Any],
    seats: tuple[Seat, ...],
    repetition: int,
    content: str,
    settings: Mapping[str, Any],
) -> Match:
    own = hash_of([content, repetition])
    return Match(experiment, own, int(own, 16), game, seats, repetition, content, settings)


def shared_chance(study: str, cell: str, repetition: int) -> str:
    """The chance that all matches of a cell and a repetition have, as 16 hexadecimal digits."""
    return blake2b(json.dumps([study, cell, repetition]).encode(), digest_size=8).hexdigest()


def _in_cell(match: Match, cell: Cell) -> Match:
    chance = shared_chance(match.experiment, cell.name, match.repetition)
    own = blake2b(f"{match.id} {chance}".encode(), digest_size=8).hexdigest()
    return replace(match, id=own, seed=int(chance, 16), cell=cell.name, subjects=tuple(cell.subjects))


def models_of(experiment: dict[str, Any], conf: Path = CONF) -> dict[str, Model]:
    """The models that an experiment asks, by name, with its sampling parameters. Raises AgonError."""
    asked = experiment_of(experiment)
    return models_named(named(asked)[1], asked.sampling, conf)


def agents_of(experiment: dict[str, Any]) -> set[str]:
    """The agents that an experiment names, as it names them. Raises AgonError."""
    return {*named(experiment_of(experiment))[0]}
