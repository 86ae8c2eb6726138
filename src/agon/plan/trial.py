"""Trials: whether a player can play a game, before anything is planned or paid; and what a match that failed came to."""

import json
import sysconfig
import traceback
from contextlib import suppress
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from agon import AgonError, shown
from agon.conf import reason
from agon.games import Dice, Game, IllegalAction, Observation
from agon.games.base import known_notes
from agon.games.spaces import Space
from agon.loop import started
from agon.plan.seats import Seat, keywords_of

TRIED = 100
"""Steps for which a game is tried out before models are asked."""
LIBRARIES = frozenset(Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib"))
SHARED = tuple(f"{shown(Path(__file__).parents[1])}/{name}" for name in ("plan/", "loop.py:", "play/"))
"""Code that runs in every match."""


class Unfit(AgonError):
    """An agent's settings do not go with a game."""


def try_out(seat: Seat, game: Game[Any]) -> None:
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
                require_fit(seat.agent, seat.player, game, view)
            asked, actions = views, {place: script(view, dice[place]) for place, view in views.items()}
            state, views, payoffs = match.send(actions)
            paid = [place for place in range(game.seats) if place in asked or payoffs[place]]
            json.dumps([*known_notes(game.notes(state), paid)])
    except (KeyboardInterrupt, Unfit):
        raise
    except BaseException as error:  # a game, or a script, may raise anything
        raise AgonError(f"agent {seat.agent} cannot play {game.name}: {raised(error, game)}") from error


def require_fit(agent: str, player: Any, game: Game[Any], view: Observation) -> None:
    """Raises Unfit for an agent whose settings do not go with what it is asked."""
    unfit = getattr(player, "unfit", None)
    if unfit and (fault := unfit(view.legal, None, **keywords_of(player))):
        raise Unfit(f"agent {agent} cannot play {game.name} (phase {view.phase}): {fault}")


def questions_of(game: Game[Any]) -> list[Observation]:
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
