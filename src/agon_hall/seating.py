"""The seating of a table, for one match outside any experiment, and the agents that can sit there."""

import functools
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from agon.conf import CONF, compose_together, load, names, settings_of
from agon.errors import AgonError
from agon.models import Model
from agon.models.standin import StandIn
from agon.plan.seats import (
    PERSON,
    Seat,
    entrants_of,
    hash_of,
    identity_of,
    keywords_of,
    models_named,
    player_of,
    seat_of,
)
from agon.plan.trial import questions_of, require_fit, try_out

PEOPLE = "people"
"""The experiment name of all matches at tables."""


class Seating(NamedTuple):
    """The game and players of one table."""

    game: Any
    seats: tuple[Seat, ...]
    """The seat of a person has no player."""
    models: dict[str, Model]
    config: str
    """The hash of the game's and players' settings."""
    settings: dict[str, Any]
    """The settings of the game."""


def seating(
    game_name: str,
    entrants: Sequence[str],
    sampling: str | None = None,
    conf: Path = CONF,
    everybody: bool = False,
    asides: bool = True,
) -> Seating:
    """The seating of a game (FILE or FILE/SETTING). An entrant is PERSON or an agent (agent or agent@model).

    `sampling` is a file of conf/sampling for the models. With `everybody` no seat is under test, so that all players
    speak for themselves. Without `asides` nobody is asked questions that change nothing. Raises AgonError as `plan`
    does.
    """
    game, settings = load("game", game_name, conf), settings_of("game", game_name, conf)
    if everybody and game.without_tested is not game:
        game, settings = game.without_tested, _changed(settings, "tested", [])
    if not asides and game.asides:
        game, settings = game.without_asides, _changed(settings, game.asides, False)
    if len(entrants) != game.seats:
        raise AgonError(f"{game.name} has {game.seats} seats, and {len(entrants)} are given")
    models = models_named([entrant.partition("@")[2] for entrant in entrants], sampling, conf)
    seats, content = [], list[Any]()
    for entrant in entrants:
        if entrant != PERSON:
            entrants_of(entrant, (), conf)
        seat, identity = (Seat(PERSON, None), [PERSON]) if entrant == PERSON else seat_of(entrant, game, models, conf)
        if entrant != PERSON:
            try_out(seat, game)
        seats.append(seat)
        content.append(identity)
    config = hash_of({"game": identity_of(settings), "seats": content})
    return Seating(game, tuple(seats), models, config, settings)


def _changed(settings: Mapping[str, Any], name: str, value: Any) -> dict[str, Any]:
    """The settings of a game with another value of one; for a twin, of the game beneath."""
    return {**settings, **({"of": _changed(settings["of"], name, value)} if "of" in settings else {name: value})}


def agents_for(game_name: str, conf: Path = CONF) -> dict[str, bool]:
    """The agents of conf/agent that can play a game -> whether the agent asks a model."""
    agents, game = {}, load("game", game_name, conf)
    questions = questions_of(game)
    compose_together({"agent": names("agent", conf)}, conf)
    for name in names("agent", conf):
        with suppress(AgonError):
            player = player_of(name, conf)
            if asks := bool(getattr(player, "asks_model", False)):
                player.texts(game, **keywords_of(player))
                for view in questions:
                    require_fit(name, player, game, view)
            else:
                try_out(Seat(name, player), game)
            agents[name] = asks
    return agents


def models_for(game_name: str, conf: Path = CONF) -> list[str]:
    """The models of conf/model for a game: first the stand-ins that can play it, then the real models."""
    game, stand_ins, real = load("game", game_name, conf), [], []
    for name, policy in _policies(conf).items():
        if policy is None:
            real.append(name)
            continue
        with suppress(AgonError):
            try_out(Seat(name, policy), game)
            stand_ins.append(name)
    return stand_ins + real


@functools.cache
def _policies(conf: Path) -> dict[str, Any]:
    """Model of conf/model -> the script behind a stand-in; None for a real model."""
    compose_together({"model": names("model", conf)}, conf)
    models = {name: load("model", name, conf) for name in names("model", conf)}
    return {name: model.policy if isinstance(model, StandIn) else None for name, model in models.items()}
