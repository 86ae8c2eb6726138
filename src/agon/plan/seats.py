"""Seats: who sits there, and what tells its matches apart, whatever the code is called and wherever it lies."""

import functools
import inspect
import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from agon.conf import id_name, load, name_now, settings_of
from agon.errors import AgonError, fault_of
from agon.games import Game
from agon.models import Model
from agon.models.base import require_distinct
from agon.plan.experiment import Sampling
from agon.registry import kind_of, located

PERSON = "human"
"""In the place of an agent's name: a person, who sits at no table of an experiment."""


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


def seat_of(entrant: str, game: Game[Any], models: Mapping[str, Model], conf: Path) -> tuple[Seat, list[Any]]:
    """The seat, and what tells its matches apart: the agent's settings, and its model's identity and prompts."""
    asked, _, model = entrant.partition("@")
    name = name_now("agent", asked, conf)
    player, settings = player_of(name, conf), settings_of("agent", name, conf)
    if not model:
        return Seat(name, player), [id_name("agent", name, conf), identity_of(settings)]
    texts = player.texts(game, **keywords_of(player)).text
    unfit = getattr(player, "unfit", None)
    if unfit and (fault := unfit(None, models[model], **keywords_of(player))):
        raise AgonError(f"agent {name} cannot ask model {model}: {fault}")
    return Seat(name, player, model), [
        id_name("agent", name, conf),
        identity_of(settings, getattr(player, "idle", frozenset()), getattr(player, "usual", {})),
        models[model].identity,
        texts,
    ]


def entrants_of(name: str, models: Sequence[str], conf: Path, copies: int = 0) -> list[str]:
    """The agent, by the name that it has now, with each model that it asks; `copies` of one that asks none of them, at least one."""
    asked, _, own = name.partition("@")
    agent = name_now("agent", asked, conf)
    asks = getattr(player_of(agent, conf), "asks_model", False)
    if own and not asks:
        raise AgonError(f"agent {agent} asks no model, but {name} gives it one")
    if own or not asks:
        return [f"{agent}@{own}" if own else agent] * max(copies, 1)
    if not models:
        raise AgonError(f"agent {agent} asks a model: add models: [...] beside it, or write {agent}@MODEL")
    return [f"{agent}@{model}" for model in models]


@functools.cache
def player_of(name: str, conf: Path) -> Any:
    """What conf/agent/`name`.yaml describes: a script, or a class of agents. Raises AgonError."""
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


def keywords_of(player: object) -> dict[str, Any]:
    """Its settings, which it is made with."""
    return getattr(player, "keywords", {})


def models_named(names: Sequence[str], sampling: str | None, conf: Path) -> dict[str, Model]:
    """Models of conf/model, with the parameters of a file of conf/sampling. Raises AgonError."""
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


def identity_of(settings: Any, idle: Set[str] = frozenset(), usual: Mapping[str, Any] | None = None) -> Any:
    """Settings as ids hash them: every `_target_` by its kind, never by where its code is, without the `idle` and the `usual` ones."""
    usual = usual or {}
    if isinstance(settings, list):
        return [identity_of(value, idle, usual) for value in settings]
    if not isinstance(settings, dict):
        return settings
    return {
        key: _kind(value) if key == "_target_" else identity_of(value, idle, usual)
        for key, value in settings.items()
        if key not in idle and not (key in usual and value == usual[key])
    }


@functools.cache
def _kind(target: str) -> str:
    made = located(target)
    kind = kind_of(made)
    if CLAIMED.setdefault(kind, made) is not made:
        one, other = (f"{each.__module__}.{each.__qualname__}" for each in (CLAIMED[kind], made))
        raise AgonError(
            f"{one} and {other} would both be {kind} in ids, as if they were one: give one of them a name of its own, @kind(...)"
        )
    return kind


CLAIMED: dict[str, Any] = {}
"""Kind -> the class or function that has it."""


def hash_of(content: object) -> str:
    """A hash of what JSON holds: ids, seeds and configs are such."""
    return blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=8).hexdigest()
