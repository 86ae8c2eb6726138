"""Trials: whether a player can play a game, before anything is planned or paid; and what a match that failed came to."""

import json
import sysconfig
import traceback
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

from agon.conf import reason
from agon.errors import AgonError
from agon.games import Dice, Game, IllegalAction, Observation
from agon.games.base import known_notes
from agon.games.spaces import Choice, Space
from agon.loop import ENDLESS, longest, started
from agon.paths import shown
from agon.plan.seats import Seat, keywords_of

TRIED = 100
"""Steps for which a game is tried out before models are asked."""
LIBRARIES = frozenset(Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib"))
SHARED = tuple(f"{shown(Path(__file__).parents[1])}/{name}" for name in ("plan/", "loop.py:", "play/"))
"""Code that runs in every match."""


class Unfit(AgonError):
    """An agent's settings do not go with a game."""


def try_out(seat: Seat, game: Game[Any], who: str = "") -> None:
    """Plays a match of a script with itself, twice at once; for who asks a model the first steps of one, of any legal actions.

    Raises AgonError for a script that cannot play the game, for a game that cannot be recorded or answered in words, for either
    that is not the same twice with the same dice, and for a match that does not end. `who`: what it calls the seat.
    """
    spaces, script = set[type[Space]](), seat.player if seat.immediate else _example
    whole = seat.immediate or game.max_rounds is None
    try:
        most = longest(game)
        _require_people(game)
        (match, (_, views, _), dice), (again, (_, others, _), same) = started(game, 0), started(game, 0)
        for _ in range(most if whole else min(TRIED, most)):
            for place, view in views.items():
                _require_placed(place, view)
                if type(view.legal) not in spaces:
                    _check(view.legal)
                    spaces.add(type(view.legal))
                require_fit(seat.agent, seat.player, game, view)
            _require_same(views, others)
            if not views:
                break
            asked, actions = views, {place: script(view, dice[place]) for place, view in views.items()}
            json.dumps([*actions.values()], allow_nan=False)
            if actions != {place: script(view, same[place]) for place, view in others.items()}:
                raise ValueError(f"it does not answer the same twice, with the same dice: {actions}")
            (state, views, payoffs), (_, others, repaid) = match.send(actions), again.send(actions)
            if [*payoffs] != [*repaid]:
                raise ValueError(f"the same match pays {payoffs} and {repaid}: all chance is drawn from the dice")
            paid = [place for place in range(game.seats) if place in asked or payoffs[place]]
            json.dumps([*known_notes(game.notes(state), paid)], allow_nan=False)
        else:
            if whole:
                raise ValueError(ENDLESS.format(most))
    except (KeyboardInterrupt, Unfit):
        raise
    except BaseException as error:  # a game, or a script, may raise anything
        raise AgonError(f"{who or f'agent {seat.agent}'} cannot play {game.name}: {raised(error, game)}") from error
    if not seat.immediate:
        _require_forfeits(game)


def _require_forfeits(game: Game[Any]) -> None:
    """Raises AgonError for a game that fails in its first steps where half of the answers cannot be read."""
    try:
        coin, (match, (_, views, _), dice) = Random(0), started(game, 0)
        for _ in range(TRIED):
            if not views:
                break
            played = {place: _example(view, dice[place]) for place, view in views.items()}
            state, views, _ = match.send({place: coin.choice((each, None)) for place, each in played.items()})
            json.dumps([*known_notes(game.notes(state), range(game.seats))], allow_nan=False)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a game may raise anything
        raise AgonError(
            f"{game.name} fails where an answer cannot be read (action None): {raised(error, game)}"
        ) from error


def _require_people(game: Game[Any]) -> None:
    """Raises ValueError for a game without seats, and for names or roles that are not one text for each of them."""
    if type(game.seats) is not int or game.seats < 1:
        raise ValueError(f"seats is {game.seats!r}; it must be a whole number, 1 at least")
    for what, told, counts in (
        ("players", game.players, {game.seats}),
        ("roles", game.roles, {0, game.seats}),
    ):
        if len(told) not in counts or not all(isinstance(each, str) for each in told):
            raise ValueError(f"{what} is {told!r}; it must have a text for each of {game.seats} seats")


def _require_placed(place: int, view: Observation) -> None:
    """Raises ValueError for a view that says it is another seat's, or of no round."""
    if view.seat != place:
        raise ValueError(f"observe: what seat {place} sees says it is of seat {view.seat!r}")
    if type(view.round) is not int or view.round < 1:
        raise ValueError(f"observe: the round is {view.round!r}; it must be a whole number, 1 at least")


def _require_same(views: Mapping[int, Observation], others: Mapping[int, Observation]) -> None:
    """Raises ValueError where the same match, played twice, asks something else."""
    for place in sorted({*views, *others}):
        if place not in views or place not in others or _asked(views[place]) != _asked(others[place]):
            raise ValueError(
                f"seat {place} is not asked the same twice in the same match: all chance is drawn from the dice, in start"
            )


def _asked(view: Observation) -> tuple[object, ...]:
    return (view.round, view.phase, view.role, view.past, view.legal.as_json())


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
    for option in space.options if isinstance(space, Choice) else ():
        if space.read(f"[move] {option}").action != option:
            raise ValueError(f"{option[:80]!r} cannot be an option: an answer of it would not be read as it")


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
