"""Seats: the agent and model at a seat, and their identity, which does not depend on the name or place of code."""

import functools
import inspect
import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from agon.conf import build, current_name, id_name, load, settings_of
from agon.errors import AgonError, describe_fault
from agon.games import Game
from agon.models import Model
from agon.models.base import require_distinct
from agon.plan.experiment import Sampling
from agon.registry import kind_of, locate

PERSON = "human"
"""The agent's name that stands for a person. No experiment seats a person."""


@dataclass(frozen=True, slots=True)
class Seat:
    """The player of a seat: the name of a file in conf/agent, and the name of a file in conf/model if it asks one."""

    agent: str
    player: Any
    """A Script, or a class of agents, from which each match makes an instance at a Place."""
    model: str | None = None
    prompts: str | None = None
    """The prompt set of a player that asks a model."""

    def __str__(self) -> str:
        """The player in words, such as `zs@gpt_4o`."""
        return f"{self.agent}@{self.model}" if self.model else self.agent

    @property
    def immediate(self) -> bool:
        """Whether the player is a script, which answers without waiting."""
        return not inspect.isclass(getattr(self.player, "func", self.player))


def seat_of(
    entrant: str, game: Game[Any], models: Mapping[str, Model], conf: Path, prompts: str | None = None
) -> tuple[Seat, list[Any]]:
    """The seat of an `entrant` (agent, or agent@model), and its identity: the agent's name and settings, its model's identity and prompts.

    `prompts`: the prompt set of an agent that asks a model; None: the one that its file names. Raises AgonError.
    """
    agent, _, model = entrant.partition("@")
    name = current_name("agent", agent, conf)
    prompt_set = prompts if model else None
    player, settings = player_of(name, conf, prompt_set), _settings_of(name, conf, prompt_set)
    if not model:
        return Seat(name, player), [id_name("agent", name, conf), identity_of(settings)]
    texts = player.texts(game, **keywords_of(player)).text
    unfit = getattr(player, "unfit", None)
    if unfit and (fault := unfit(None, models[model], **keywords_of(player))):
        raise AgonError(f"agent {name} cannot ask model {model}: {fault}")
    return Seat(name, player, model, _prompt_set(settings)), [
        id_name("agent", name, conf),
        identity_of(settings, getattr(player, "idle", frozenset()), getattr(player, "usual", {})),
        models[model].identity,
        texts,
    ]


def entrants_of(name: str, models: Sequence[str], conf: Path, copies: int = 0) -> list[str]:
    """An agent as entrants, by its current name: once with each of `models` if it asks one, as agent@model.

    An agent that asks no model, or names its own, enters `copies` times, and at least once. Raises AgonError.
    """
    name_in_conf, _, model_of_name = name.partition("@")
    agent = current_name("agent", name_in_conf, conf)
    asks = getattr(player_of(agent, conf), "asks_model", False)
    if model_of_name and not asks:
        raise AgonError(f"agent {agent} asks no model, but {name} gives it one")
    if model_of_name or not asks:
        return [f"{agent}@{model_of_name}" if model_of_name else agent] * max(copies, 1)
    if not models:
        raise AgonError(f"agent {agent} asks a model: add models: [...] beside it, or write {agent}@MODEL")
    return [f"{agent}@{model}" for model in models]


@functools.cache
def player_of(name: str, conf: Path, prompts: str | None = None) -> Any:
    """What conf/agent/`name`.yaml describes: a script, or a class of agents, with another prompt set if `prompts` names one.

    Raises AgonError.
    """
    player: functools.partial[Any] = build(_settings_of(name, conf, prompts)) if prompts else load("agent", name, conf)
    if not isinstance(player, functools.partial):
        raise AgonError(
            f"conf/agent/{name}.yaml needs _target_ and _partial_: true; to build upon another agent: defaults: [zs, _self_]"
        )
    try:  # a script is called with a view and dice, an agent's class with a place
        arguments = (None,) if inspect.isclass(player.func) else (None, None)
        inspect.signature(player.func).bind(*arguments, **player.keywords)
    except TypeError as error:
        raise AgonError(f"conf/agent/{name}.yaml does not fit {player.func.__qualname__}: {error}") from None
    if not player.keywords:
        return player.func
    bound = functools.partial(player.func, **player.keywords)  # with the attributes of its function
    for attribute in ("asks_model", "idle", "usual", "texts", "unfit"):
        if hasattr(player.func, attribute):
            setattr(bound, attribute, getattr(player.func, attribute))
    return bound


def _settings_of(name: str, conf: Path, prompts: str | None) -> dict[str, Any]:
    """The settings of an agent, with another prompt set if `prompts` names one. Raises AgonError for an agent without `prompts`."""
    settings = settings_of("agent", name, conf)
    if not prompts:
        return settings
    changed = _replace_prompts(settings, prompts)
    if changed is None:
        raise AgonError(
            f"agent {name} has no setting prompts, and the experiment asks for prompts: {prompts}: "
            "take the line out of the experiment, or give the agent a parameter `prompts`"
        )
    return changed


def _prompt_set(settings: dict[str, Any]) -> str:
    """The prompt set of an agent that asks a model. An agent that wraps another one has the set of that one."""
    wrapped = settings.get("agent")
    return _prompt_set(wrapped) if isinstance(wrapped, dict) else str(settings.get("prompts", "ours"))


def _replace_prompts(settings: dict[str, Any], prompts: str) -> dict[str, Any] | None:
    """The settings with another prompt set, also those of a wrapped agent. None: there is no setting `prompts`."""
    if isinstance(wrapped := settings.get("agent"), dict):
        changed = _replace_prompts(wrapped, prompts)
        return changed and settings | {"agent": changed}
    return settings | {"prompts": prompts} if "prompts" in settings else None


def keywords_of(player: object) -> dict[str, Any]:
    """The settings of a player, which are its keyword arguments."""
    return getattr(player, "keywords", {})


def models_named(names: Sequence[str], sampling: str | None, conf: Path) -> dict[str, Model]:
    """Models of conf/model by name, with the parameters of a file of conf/sampling; their own parameters count first. Raises AgonError."""
    sampling_settings = {} if sampling is None else settings_of("sampling", sampling, conf)
    try:
        msgspec.convert(sampling_settings, Sampling)
    except msgspec.ValidationError as error:
        raise AgonError(
            f"conf/sampling/{sampling}.yaml does not fit: {describe_fault(error, Sampling, sampling_settings)}"
        ) from None
    models = {}
    for name in dict.fromkeys(filter(None, names)):
        model = load("model", name, conf)
        parameters = {**sampling_settings, **model.parameters}
        models[name] = replace(model, parameters={key: value for key, value in parameters.items() if value is not None})
    require_distinct(models)
    return models


def identity_of(settings: Any, idle: Set[str] = frozenset(), usual: Mapping[str, Any] | None = None) -> Any:
    """Settings as ids hash them: `_target_` is replaced by its kind; settings that are `idle` or at their `usual` value are left out."""
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
    target_object = locate(target)
    kind = kind_of(target_object)
    if OWNERS.setdefault(kind, target_object) is not target_object:
        one, other = (f"{owner.__module__}.{owner.__qualname__}" for owner in (OWNERS[kind], target_object))
        raise AgonError(f"ids would call both {one} and {other} {kind}: give one of them another name with @kind(...)")
    return kind


OWNERS: dict[str, Any] = {}
"""Kind -> the class or function that has it."""


def hash_of(content: object) -> str:
    """A hash of JSON data, as 16 hexadecimal digits: an id, a seed or a config."""
    return blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=8).hexdigest()
