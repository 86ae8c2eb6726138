"""From configuration to matches: what will be played, with ids and seeds that are hashes of each match's own content."""

import functools
import inspect
import json
import sysconfig
import traceback
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import combinations_with_replacement, count, product
from math import comb, prod
from pathlib import Path
from random import Random
from typing import Annotated, Any, NamedTuple

import msgspec

from agon import AgonError, fault_of, kind_of, located, shown
from agon import count as counted
from agon.conf import CONF, distinct, expand_settings, load, names, reason, require_own_names, settings_of
from agon.games import Dice, Game, IllegalAction, Observation
from agon.games.base import known_notes
from agon.games.spaces import Space
from agon.loop import started
from agon.models import Model
from agon.models.base import require_distinct
from agon.models.standin import StandIn

MATCHES, DECISIONS = 1_000_000, 100_000_000
"""An experiment of more is planned only if it is said to be large."""
TRIED = 100
"""Steps for which a game is tried out before models are asked."""
LIBRARIES = frozenset(Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib"))
SHARED = tuple(f"{shown(Path(__file__).with_name(name))}:" for name in ("plan.py", "loop.py", "play.py"))
"""Code that runs in every match."""
PEOPLE = "people"
"""What matches with people at their tables are called, as experiments are."""
PERSON = "human"
"""In the place of an agent's name: a person, who sits at no table of an experiment."""


class Unfit(AgonError):
    """An agent's settings do not go with a game."""


@dataclass(frozen=True, slots=True)
class Seat:
    """Who sits there: the name of a file in conf/agent, and that of the file in conf/model behind it, if any."""

    agent: str
    player: Any
    """A Script, or a class of agents of which each match makes its own, at a Place."""
    model: str | None = None

    @property
    def immediate(self) -> bool:
        """Whether the player is a script, which answers at once."""
        return not inspect.isclass(getattr(self.player, "func", self.player))


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


class Sampling(msgspec.Struct, forbid_unknown_fields=True):
    """A file in conf/sampling: parameters that models have; null ones are left out."""

    temperature: Annotated[float, msgspec.Meta(ge=0)] | None = None
    top_p: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    max_tokens: Annotated[int, msgspec.Meta(ge=1)] | None = None
    thinking: Annotated[int, msgspec.Meta(ge=0)] | str | None = None
    effort: str | None = None
    seed: int | None = None
    extra: dict[str, Any] | None = None


class Tournament(msgspec.Struct, forbid_unknown_fields=True):
    """Agents that all meet, themselves included, in every one of some games (names in conf/).

    An agent that asks a model is there once for each of `models`; `agent@model` names one.
    """

    games: Annotated[list[str], msgspec.Meta(min_length=1)]
    agents: Annotated[list[str], msgspec.Meta(min_length=1)]
    models: list[str] = []
    """None named: those of the experiment."""
    repetitions: Annotated[int, msgspec.Meta(ge=1)] | None = None


class Pairing(msgspec.Struct, forbid_unknown_fields=True):
    """Seat by seat, who may sit there: every combination plays, in every one of some games (names in conf/).

    An agent that asks a model asks each of `models` in turn, the same one at all seats; `agent@model` names one.
    """

    games: Annotated[list[str], msgspec.Meta(min_length=1)]
    seats: Annotated[list[Annotated[list[str], msgspec.Meta(min_length=1)]], msgspec.Meta(min_length=1)]
    models: list[str] = []
    """None named: those of the experiment."""
    repetitions: Annotated[int, msgspec.Meta(ge=1)] | None = None


class Challenge(msgspec.Struct, forbid_unknown_fields=True):
    """Each challenger against each defender, in every one of some games that say which seats are under test (`tested`).

    The challenger sits at these seats and the defender at all others; one that asks a model is there once for each of
    `models`; `agent@model` names one.
    """

    games: Annotated[list[str], msgspec.Meta(min_length=1)]
    challengers: Annotated[list[str], msgspec.Meta(min_length=1)]
    defenders: Annotated[list[str], msgspec.Meta(min_length=1)]
    models: list[str] = []
    """None named: those of the experiment."""
    repetitions: Annotated[int, msgspec.Meta(ge=1)] | None = None


class Experiment(msgspec.Struct, forbid_unknown_fields=True):
    """A file in conf/experiment: its own name, the matches per pairing, and who meets whom."""

    name: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-]+\Z")]
    repetitions: Annotated[int, msgspec.Meta(ge=1)]
    tournaments: list[Tournament] = []
    pairings: list[Pairing] = []
    challenges: list[Challenge] = []
    models: list[str] = []
    """Models of the tournaments and pairings that name none themselves."""
    sampling: str | None = None
    """A file in conf/sampling: parameters of every model, unless its own file says otherwise."""
    prereg: str | None = None
    """A file with hypotheses, exclusions and stopping (agon.inference.prereg)."""

    @property
    def meetings(self) -> list[Tournament | Pairing | Challenge]:
        """All of them."""
        return [*self.tournaments, *self.pairings, *self.challenges]


def plan(experiment: dict[str, Any], conf: Path = CONF, *, large: bool = False) -> list[Match]:
    """The matches of an experiment (the contents of a file in conf/experiment), in a fixed order.

    In a tournament every unordered group of agents meets, each with itself included; in a pairing every combination
    over the seats. All play `repetitions` times, in every game; a match that is asked for several times is there once.
    Raises AgonError for settings that do not fit, for games, agents and models that are not there, for scripts that
    cannot play a game, and, unless it is `large`, for more than MATCHES or DECISIONS.
    """
    asked = _experiment(experiment)
    models = models_of(experiment, conf)
    for each in asked.meetings:
        each.games = expand_settings(each.games, conf)
    games = {name: load("game", name, conf) for each in asked.meetings for name in each.games}
    require_own_names(games, conf)
    distinct([*games.values()])
    if not large:
        _require_small(asked, games, conf)
    found: dict[str, Match] = {}
    tried: set[tuple[str, str]] = set()
    for each in asked.meetings:
        for game_name in each.games:
            game, rules = games[game_name], settings_of("game", game_name, conf)
            for group in _groups(each, game, conf):
                seats = [_seat(name, game, models, conf) for name in group]
                for seat in {seat.agent: seat for seat, _ in seats if (seat.agent, game.name) not in tried}.values():
                    _try_out(seat, game)
                    tried.add((seat.agent, game.name))
                content = _hash({"game": _identity(rules), "seats": [own for _, own in seats]})
                seated = tuple(seat for seat, _ in seats)
                for repetition in range(each.repetitions or asked.repetitions):
                    match = _match(asked.name, game, seated, repetition, content)
                    found[match.id] = match
    return list(found.values())


def _require_small(asked: Experiment, games: Mapping[str, Game[Any]], conf: Path) -> None:
    """Raises AgonError, with what it comes to, for an experiment of more than MATCHES or DECISIONS."""
    matches = decisions = calls = 0
    for each in asked.meetings:
        for name in each.games:
            game = games[name]
            played = _sizes(each, game, conf) * (each.repetitions or asked.repetitions)
            rounds: Any = game.fixed_rounds or getattr(game, "rounds", None) or 1
            matches += played
            decisions += played * rounds * game.seats
            calls += played * rounds * game.seats * (bool(each.models) or "@" in str(each))
    if matches > MATCHES or decisions > DECISIONS:
        raise AgonError(
            f"experiment {asked.name} comes to {counted(matches, 'match')} of {decisions:,} decisions, of which models may be asked "
            f"for {calls:,}: take fewer repetitions, rounds or agents, or say large=true"
        )


def _sizes(each: "Tournament | Pairing | Challenge", game: Game[Any], conf: Path) -> int:
    """How many groups sit down together, at most, without naming them."""

    def among(names: Sequence[str], copies: int = 0) -> int:
        return sum(len(_entrants(name, each.models, conf, copies)) for name in names)

    if isinstance(each, Tournament):
        return comb(among(each.agents) + game.seats - 1, game.seats)
    if isinstance(each, Challenge):
        return among(each.challengers) * among(each.defenders)
    return prod(map(len, each.seats)) * max(len(each.models), 1)


class Seating(NamedTuple):
    """One table, for a match outside any experiment."""

    game: Any
    seats: tuple[Seat, ...]
    """Where a person sits, a Seat without player."""
    models: dict[str, Model]
    config: str
    """Hash of the game's and players' settings."""


def seating(
    game_name: str, entrants: Sequence[str], sampling: str | None = None, conf: Path = CONF, everybody: bool = False
) -> Seating:
    """A game (FILE or FILE/SETTING) and who sits there: PERSON, or an agent, as agent or agent@model.

    `sampling` is a file of conf/sampling for its models; `everybody`: no seat is singled out as the one under test, so that
    all speak for themselves. Raises AgonError as `plan` does.
    """
    game, settings = load("game", game_name, conf), settings_of("game", game_name, conf)
    require_own_names({game_name: game}, conf)
    if everybody and game.everybody is not game:
        game, settings = game.everybody, settings | {"tested": []}
    if len(entrants) != game.seats:
        raise AgonError(f"{game.name} has {game.seats} seats, and {len(entrants)} are given")
    models = _models([each.partition("@")[2] for each in entrants], sampling, conf)
    seats, content = [], list[Any]()
    for each in entrants:
        if each != PERSON:
            _entrants(each, (), conf)
        seat, own = (Seat(PERSON, None), [PERSON]) if each == PERSON else _seat(each, game, models, conf)
        if each != PERSON:
            _try_out(seat, game)
        seats.append(seat)
        content.append(own)
    return Seating(game, tuple(seats), models, _hash({"game": _identity(settings), "seats": content}))


def agents_for(game_name: str, conf: Path = CONF) -> dict[str, bool]:
    """The agents of conf/agent that can play a game, and whether each asks a model."""
    found, game = {}, load("game", game_name, conf)
    questions = _questions(game)
    for name in names("agent", conf):
        with suppress(AgonError):
            player = _player(name, conf)
            if asks := bool(getattr(player, "asks_model", False)):
                player.texts(game, **_keywords(player))
                for view in questions:
                    _require_fit(name, player, game, view)
            else:
                _try_out(Seat(name, player), game)
            found[name] = asks
    return found


def models_for(game_name: str, conf: Path = CONF) -> list[str]:
    """The models of conf/model that may be asked in a game: stand-ins that can play it first, then those that are real."""
    game, stand_ins, real = load("game", game_name, conf), [], []
    for name, policy in _policies(conf).items():
        if policy is None:
            real.append(name)
            continue
        with suppress(AgonError):
            _try_out(Seat(name, policy), game)
            stand_ins.append(name)
    return stand_ins + real


@functools.cache
def _policies(conf: Path) -> dict[str, Any]:
    """The scripts that the stand-ins of conf/model speak for; None for models that are real."""
    found = {name: load("model", name, conf) for name in names("model", conf)}
    return {name: model.policy if isinstance(model, StandIn) else None for name, model in found.items()}


def _try_out(seat: Seat, game: Game[Any]) -> None:
    """Plays a match of a script with itself; for who asks a model the first steps of one, of any legal actions.

    Raises AgonError for a script that cannot play the game, and for a game that cannot be recorded or answered in words.
    """
    spaces, script = set[type[Space]](), seat.player if seat.immediate else _example
    try:
        match, (_, views, _), dice = started(game, 0)
        for _ in count() if seat.immediate else range(TRIED):
            if not views:
                break
            for view in views.values():
                if type(view.legal) not in spaces:
                    _check(view.legal)
                    spaces.add(type(view.legal))
                _require_fit(seat.agent, seat.player, game, view)
            asked, actions = views, {place: script(view, dice[place]) for place, view in views.items()}
            state, views, payoffs = match.send(actions)
            paid = [place for place in range(game.seats) if place in asked or payoffs[place]]
            json.dumps([*known_notes(game.notes(state), paid)])
    except (KeyboardInterrupt, Unfit):
        raise
    except BaseException as error:  # a game, or a script, may raise anything
        raise AgonError(f"agent {seat.agent} cannot play {game.name}: {raised(error, game)}") from error


def _require_fit(agent: str, player: Any, game: Game[Any], view: Observation) -> None:
    """Raises Unfit for an agent whose settings do not go with what it is asked."""
    unfit = getattr(player, "unfit", None)
    if unfit and (fault := unfit(view.legal, None, **_keywords(player))):
        raise Unfit(f"agent {agent} cannot play {game.name} (phase {view.phase}): {fault}")


def _questions(game: Game[Any]) -> list[Observation]:
    """What is asked in the first steps of a match of any legal actions; of a game that fails, before it does."""
    found = list[Observation]()
    with suppress(Exception):
        match, (_, views, _), dice = started(game, 0)
        for _ in range(TRIED):
            if not views:
                break
            found += views.values()
            _, views, _ = match.send({place: _example(view, dice[place]) for place, view in views.items()})
    return found


def _example(view: Observation, dice: Dice) -> object:
    return view.legal.example(dice)


def _check(space: Space) -> None:
    """Raises TypeError or ValueError for a space that cannot be looked up, or does not read what it writes."""
    name = type(space).__name__
    try:
        hash(space)
    except TypeError as error:
        raise TypeError(f"{name} is not hashable ({error}): a space is a frozen dataclass, without lists") from None
    said = space.spelled(space.example(Random(0)))
    if type(space).read is Space.read and space.read(f"[move] {said}").action is None:
        raise ValueError(f"{name} writes {said[:80]!r}, which it does not read: give it a method parsed (or read)")


def raised(error: BaseException, game: object) -> str:
    """What a match of a game came to, in one line: the error, the game's class, and where in the code of games and scripts it was."""
    while error.__cause__ is not None:
        error = error.__cause__
    said = f"{type(error).__name__}: {reason(error)}".removesuffix(": ")
    if isinstance(error, IllegalAction):  # who acts is at fault
        return said
    lines = [(Path(each.filename), each.lineno) for each in traceback.extract_tb(error.__traceback__)]
    own = [f"{shown(path)}:{line}" for path, line in lines if not any(map(path.is_relative_to, LIBRARIES))]
    own = [each for each in own if not each.startswith(SHARED)]
    return f"{said} ({', '.join([type(game).__name__, *own[-1:]])})"


def models_of(experiment: dict[str, Any], conf: Path = CONF) -> dict[str, Model]:
    """The models that an experiment asks, by name, with its sampling parameters. Raises AgonError."""
    asked = _experiment(experiment)
    return _models(_named(asked)[1], asked.sampling, conf)


def composed(experiment: dict[str, Any], conf: Path = CONF) -> dict[str, Any]:
    """All settings that an experiment uses: its own, and by name those of its games, agents, models and sampling.

    Nothing else in conf/ or data/ decides what is played. Raises AgonError for what is not there.
    """
    asked = _experiment(experiment)
    agents, models = _named(asked)
    used = {
        "game": expand_settings([name for each in asked.meetings for name in each.games], conf),
        "agent": agents,
        "model": models,
        "sampling": [asked.sampling or ""],
    }
    parts = {
        group: {name: settings_of(group, name, conf) for name in sorted(set(names) - {""})}
        for group, names in used.items()
    }
    return {"experiment": experiment, **parts}


def _named(asked: Experiment) -> tuple[list[str], list[str]]:
    """The agents and the models that an experiment names, as often as it does."""
    entrants = [name for each in asked.tournaments for name in each.agents]
    entrants += [name for each in asked.challenges for name in (*each.challengers, *each.defenders)]
    entrants += [name for each in asked.pairings for seat in each.seats for name in seat]
    models = [name for each in asked.meetings for name in each.models]
    split = [name.partition("@") for name in entrants]
    return [agent for agent, _, _ in split], models + [model for _, _, model in split if model]


def _models(names: Sequence[str], sampling: str | None, conf: Path) -> dict[str, Model]:
    shared = {} if sampling is None else settings_of("sampling", sampling, conf)
    try:
        msgspec.convert(shared, Sampling)
    except msgspec.ValidationError as error:
        raise AgonError(f"conf/sampling/{sampling}.yaml does not fit: {fault_of(error, Sampling)}") from None
    found = {}
    for name in dict.fromkeys(filter(None, names)):
        model = load("model", name, conf)
        merged = {**shared, **model.parameters}
        found[name] = replace(model, parameters={key: value for key, value in merged.items() if value is not None})
    require_distinct(found)
    return found


def _experiment(experiment: dict[str, Any]) -> Experiment:
    try:
        asked = msgspec.convert(experiment, Experiment)
    except msgspec.ValidationError as error:
        raise AgonError(f"the experiment's settings do not fit: {fault_of(error, Experiment)}") from None
    if not asked.meetings:
        raise AgonError(f"experiment {asked.name} plays nothing: give it tournaments, pairings or challenges")
    for each in asked.meetings:
        each.models = each.models or asked.models
    return asked


def _groups(each: Tournament | Pairing | Challenge, game: Game[Any], conf: Path) -> Iterator[tuple[str, ...]]:
    """Who sits down together, as agent or agent@model; a tournament's seats do not depend on the order of its list."""
    if isinstance(each, Tournament):
        entrants = sorted({entrant for name in each.agents for entrant in _entrants(name, each.models, conf)})
        yield from combinations_with_replacement(entrants, game.seats)
        return
    if isinstance(each, Challenge):
        if not (tested := game.tested):
            raise AgonError(f"{game.name} {game.variant} says of no seat that it is under test: it takes no challenge")
        sides = [
            [e for name in names for e in _entrants(name, each.models, conf)]
            for names in (each.challengers, each.defenders)
        ]
        for challenger, defender in product(*sides):
            yield tuple(challenger if seat in tested else defender for seat in range(game.seats))
        return
    if len(each.seats) != game.seats:
        raise AgonError(f"{game.name} has {game.seats} seats, the pairing gives {len(each.seats)}")
    for combination in product(*each.seats):
        yield from zip(*(_entrants(name, each.models, conf, len(each.models)) for name in combination), strict=True)


def _entrants(name: str, models: Sequence[str], conf: Path, copies: int = 0) -> list[str]:
    """The agent with each model that it asks; `copies` of one that asks none of them, at least one."""
    agent, _, own = name.partition("@")
    asks = getattr(_player(agent, conf), "asks_model", False)
    if own and not asks:
        raise AgonError(f"agent {agent} asks no model, but {name} gives it one")
    if own or not asks:
        return [name] * max(copies, 1)
    if not models:
        raise AgonError(f"agent {agent} asks a model: add models: [...] beside it, or write {agent}@MODEL")
    return [f"{agent}@{model}" for model in models]


def _seat(entrant: str, game: Game[Any], models: Mapping[str, Model], conf: Path) -> tuple[Seat, list[Any]]:
    """The seat, and what tells its matches apart: the agent's settings, and its model's identity and prompts."""
    name, _, model = entrant.partition("@")
    player, settings = _player(name, conf), settings_of("agent", name, conf)
    if not model:
        return Seat(name, player), [name, _identity(settings)]
    texts = player.texts(game, **_keywords(player)).text
    unfit = getattr(player, "unfit", None)
    if unfit and (fault := unfit(None, models[model], **_keywords(player))):
        raise AgonError(f"agent {name} cannot ask model {model}: {fault}")
    return Seat(name, player, model), [
        name,
        _identity(settings, getattr(player, "idle", frozenset()), getattr(player, "usual", {})),
        models[model].identity,
        texts,
    ]


def _identity(settings: Any, idle: Set[str] = frozenset(), usual: Mapping[str, Any] | None = None) -> Any:
    """Settings as ids hash them: every `_target_` by its kind, never by where its code is, without the `idle` and the `usual` ones."""
    usual = usual or {}
    if isinstance(settings, list):
        return [_identity(value, idle, usual) for value in settings]
    if not isinstance(settings, dict):
        return settings
    return {
        key: _kind(value) if key == "_target_" else _identity(value, idle, usual)
        for key, value in settings.items()
        if key not in idle and not (key in usual and value == usual[key])
    }


@functools.cache
def _kind(target: str) -> str:
    return kind_of(located(target))


def _match(experiment: str, game: Game[Any], seats: tuple[Seat, ...], repetition: int, content: str) -> Match:
    own = _hash([content, repetition])
    return Match(experiment, own, int(own, 16), game, seats, repetition, content)


@functools.cache
def _player(name: str, conf: Path) -> Any:
    player: functools.partial[Any] = load("agent", name, conf)
    if not isinstance(player, functools.partial):
        raise AgonError(
            f"conf/agent/{name}.yaml needs _target_ and _partial_: true; to build upon another agent: defaults: [zs, _self_]"
        )
    try:  # a script is asked with view and dice, an agent made at a place
        asked = (None,) if inspect.isclass(player.func) else (None, None)
        inspect.signature(player.func).bind(*asked, **player.keywords)
    except TypeError as error:
        raise AgonError(f"conf/agent/{name}.yaml does not fit {player.func.__qualname__}: {error}") from None
    if not player.keywords:
        return player.func
    made = functools.partial(player.func, **player.keywords)  # so it can be told what its function says of itself
    for known in ("asks_model", "idle", "usual", "texts", "unfit"):
        if hasattr(player.func, known):
            setattr(made, known, getattr(player.func, known))
    return made


def _keywords(player: object) -> dict[str, Any]:
    return getattr(player, "keywords", {})


def _hash(content: object) -> str:
    return blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=8).hexdigest()
