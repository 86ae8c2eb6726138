"""From configuration to matches: what will be played, with ids and seeds that are hashes of each match's own content."""

import difflib
import functools
import inspect
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Annotated, Any

import msgspec
from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException
from hydra.utils import instantiate
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError  # type: ignore[import-untyped]

from agon import ROOT, AgonError
from agon.games import MatrixGame

CONF = ROOT / "conf"


@dataclass(frozen=True, slots=True)
class Seat:
    """Who sits there: the name of a file in conf/agent, and the model behind it, if any."""

    agent: str
    player: Any
    """A Script, or a class of agents of which each match makes its own."""
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
    game: MatrixGame
    seats: tuple[Seat, ...]
    repetition: int
    config: str
    """Hash of the game's and players' settings."""


class Tournament(msgspec.Struct, forbid_unknown_fields=True):
    """Agents that all meet, themselves included, in every one of some games (names in conf/)."""

    games: Annotated[list[str], msgspec.Meta(min_length=1)]
    agents: Annotated[list[str], msgspec.Meta(min_length=1)]


class Settings(msgspec.Struct, forbid_unknown_fields=True):
    """conf/config.yaml as composed."""

    debug: bool
    fresh: bool
    concurrency: Annotated[int, msgspec.Meta(ge=1)]
    source: str
    path: str
    out: Annotated[str, msgspec.Meta(pattern=r"\.parquet$")] | None
    experiment: dict[str, Any]


class Experiment(msgspec.Struct, forbid_unknown_fields=True):
    """A file in conf/experiment: its own name, the matches per pairing, and who meets whom."""

    name: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-]+$")]
    repetitions: Annotated[int, msgspec.Meta(ge=1)]
    tournaments: Annotated[list[Tournament], msgspec.Meta(min_length=1)]


def configuration(overrides: Sequence[str] = (), conf: Path = CONF) -> dict[str, Any]:
    """conf/config.yaml with `overrides` (Hydra's syntax). Raises AgonError in one line for what is not there."""
    for override in overrides:
        group, _, name = override.partition("=")
        if (conf / group).is_dir() and not (conf / group / f"{name}.yaml").is_file():
            raise AgonError(f"there is no {group} {name!r} in conf/{group}: {_offered(name, _names(conf, group))}")
    settings = _composed("config", overrides, conf)
    try:
        msgspec.convert(settings, Settings)
    except msgspec.ValidationError as error:
        raise AgonError(f"the settings do not fit: {error}") from None
    return settings


def thing(group: str, name: str, conf: Path = CONF) -> Any:
    """What conf/`group`/`name`.yaml describes, built by its `_target_`. Raises AgonError when there is no such file."""
    settings = settings_of(group, name, conf)
    try:
        return instantiate(settings)
    except (HydraException, OmegaConfBaseException, TypeError, ValueError) as error:
        raise AgonError(f"conf/{group}/{name}.yaml cannot be built: {_reason(error)}") from error


@functools.cache
def settings_of(group: str, name: str, conf: Path = CONF) -> dict[str, Any]:
    """conf/`group`/`name`.yaml as plain data. Raises AgonError when there is no such file."""
    if name not in _names(conf, group):
        raise AgonError(f"there is no {group} {name!r} in conf/{group}: {_offered(name, _names(conf, group))}")
    settings: dict[str, Any] = _composed(f"{group}/{name}", (), conf)[group]
    return settings


def games(names: Sequence[str] | None = None) -> list[MatrixGame]:
    """The games of conf/game, all or those named."""
    return _distinct([thing("game", name) for name in (_names(CONF, "game") if names is None else names)])


def _distinct(games: list[MatrixGame]) -> list[MatrixGame]:
    known: dict[tuple[str, str], MatrixGame] = {}
    for game in games:
        if known.setdefault((game.name, game.variant), game) != game:
            raise AgonError(
                f"two games in conf/game are called {game.name}, variant {game.variant}: give one another `variant`"
            )
    return games


def plan(experiment: dict[str, Any], conf: Path = CONF) -> list[Match]:
    """The matches of an experiment (the contents of a file in conf/experiment), in a fixed order.

    Every unordered group of agents meets, each with itself included, `repetitions` times, in every game;
    a match that several tournaments ask for is there once.
    Raises AgonError for settings that do not fit, and for games and agents that are not there.
    """
    try:
        asked = msgspec.convert(experiment, Experiment)
    except msgspec.ValidationError as error:
        raise AgonError(f"the experiment's settings do not fit: {error}") from None
    found = []
    for tournament in asked.tournaments:
        agents = {
            name: (Seat(name, _player(name, conf)), settings_of("agent", name, conf)) for name in tournament.agents
        }
        for game_name in tournament.games:
            game, rules = thing("game", game_name, conf), settings_of("game", game_name, conf)
            for pair in combinations_with_replacement(agents, game.seats):
                content = _hash({"game": rules, "seats": [(name, agents[name][1]) for name in pair]})
                found += [
                    _match(asked.name, game, tuple(agents[name][0] for name in pair), repetition, content)
                    for repetition in range(asked.repetitions)
                ]
    return list({match.id: match for match in found}.values())


def _match(experiment: str, game: MatrixGame, seats: tuple[Seat, ...], repetition: int, content: str) -> Match:
    own = _hash([content, repetition])
    return Match(experiment, own, int(own, 16), game, seats, repetition, content)


def _player(name: str, conf: Path) -> Any:
    player: functools.partial[Any] = thing("agent", name, conf)
    return functools.partial(player.func, **player.keywords) if player.keywords else player.func  # Hydra's own is slow


def _hash(content: Any) -> str:
    return blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=8).hexdigest()


def _names(conf: Path, group: str) -> list[str]:
    return sorted(path.stem for path in (conf / group).glob("*.yaml"))


def _offered(name: str, names: Sequence[str]) -> str:
    last = {key.rpartition(".")[2]: key for key in names}
    close = difflib.get_close_matches(name, names, 1) or [last[key] for key in difflib.get_close_matches(name, last, 1)]
    return f"did you mean {close[0]}?" if close else f"there are {', '.join(names) or 'none'}"


def _composed(name: str, overrides: Sequence[str], conf: Path) -> dict[str, Any]:
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(str(conf.resolve()), version_base="1.3"):
            composed = compose(name, overrides=list(overrides))
        settings: dict[str, Any] = OmegaConf.to_container(composed, resolve=True)  # type: ignore[assignment]
    except (HydraException, OmegaConfBaseException, YAMLError, ValueError) as error:
        unknown = re.match(r"Key '.*' is not in struct\s+full_key: (\S+)", _reason(error))
        if unknown:
            keys = _keys(_composed(name, (), conf))
            raise AgonError(f"there is no setting {unknown[1]!r} in conf/: {_offered(unknown[1], keys)}") from error
        raise AgonError(_reason(error)) from error
    return settings


def _keys(settings: dict[str, Any], above: str = "") -> list[str]:
    found = []
    for key, value in settings.items():
        found += [f"{above}{key}", *(_keys(value, f"{above}{key}.") if isinstance(value, dict) else ())]
    return found


def _reason(error: BaseException) -> str:
    while error.__cause__ is not None:
        error = error.__cause__
    return " ".join(str(error).split())
