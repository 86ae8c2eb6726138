"""Trials: a player plays a game before anything is planned or paid; and a message for a match that failed."""

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
from agon.games.base import check_notes, families
from agon.games.spaces import Choice, Space
from agon.loop import ENDLESS, longest, start_match
from agon.paths import display_path
from agon.plan.seats import Seat, keywords_of

TRIAL_STEPS = 100
"""The most steps of a trial with random actions."""
LIBRARIES = frozenset(Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib"))
LOOP_CODE = tuple(f"{display_path(Path(__file__).parents[1])}/{name}" for name in ("plan/", "loop.py:", "play/"))
"""Beginnings of the paths of code that runs in every match. Error messages do not name such code."""


class Unfit(AgonError):
    """An agent's settings do not go with a game."""


def try_out(seat: Seat, game: Game[Any], name: str = "") -> None:
    """Plays a match of a script with itself, two copies side by side.

    For an agent that asks a model, random legal actions take its place. The match is then played to its end only if the game has no
    `max_rounds`, else for TRIAL_STEPS steps at most, and once more with unreadable answers. `name`: the seat's name in messages.

    Raises AgonError if the script cannot play the game, if the game cannot be recorded or answered in words, if two
    copies with the same dice differ, or if the match does not end; and Unfit if the agent's settings do not fit the game.
    """
    spaces, script = set[type[Space]](), seat.player if seat.immediate else _draw_action
    who, is_script = name or f"agent {seat.agent}", False
    whole = seat.immediate or game.max_rounds is None
    try:
        most = longest(game)
        (match, (_, views, _), dice), (copy, (_, copy_views, _), copy_dice) = start_match(game, 0), start_match(game, 0)
        for _ in range(most if whole else min(TRIAL_STEPS, most)):
            for place, view in views.items():
                _require_own_view(place, view, game)
                if type(view.legal) not in spaces:
                    _check_space(view.legal)
                    spaces.add(type(view.legal))
                require_fit(seat.agent, seat.player, game, view)
            _require_same(views, copy_views)
            if not views:
                break
            is_script = seat.immediate
            views_before, actions = views, {place: script(view, dice[place]) for place, view in views.items()}
            json.dumps([*actions.values()], allow_nan=False)
            if actions != {place: script(view, copy_dice[place]) for place, view in copy_views.items()}:
                raise ValueError(f"it answers differently with the same dice: {actions}")
            is_script = False
            (state, views, payoffs), (_, copy_views, payoffs_again) = match.send(actions), copy.send(actions)
            if [*payoffs] != [*payoffs_again]:
                raise ValueError(f"the same match pays {payoffs} and {payoffs_again}: draw all chance from the dice")
            seats_in_turns = [place for place in range(game.seats) if place in views_before or payoffs[place]]
            json.dumps([*check_notes(game.notes(state), seats_in_turns)], allow_nan=False)
        else:
            if whole:
                raise ValueError(ENDLESS.format(most))
    except (KeyboardInterrupt, Unfit):
        raise
    except BaseException as error:  # a game, or a script, may raise anything
        why = _explain_other_family(seat, game)
        if why or is_script or (seat.immediate and isinstance(error, IllegalAction)):
            raise AgonError(f"{who} cannot play {game.name}: {why or describe_failure(error, game)}") from error
        raise AgonError(f"game {game.name} cannot be played: {describe_failure(error, game)}") from error
    if not seat.immediate:
        _require_forfeits(game)


def _explain_other_family(seat: Seat, game: Game[Any]) -> str:
    """A message that a script was written for games of another family. Empty: it was not."""
    script = getattr(seat.player, "func", seat.player)
    script_families = families(script)
    if not seat.immediate or not script_families or script_families[0] in families(game):
        return ""
    return f"it is a script for games of {script_families[0].name}; `anything` draws any legal action of any game"


def _require_forfeits(game: Game[Any]) -> None:
    """Raises AgonError for a game that fails in its first steps where half of the answers cannot be read."""
    try:
        coin, (match, (_, views, _), dice) = Random(0), start_match(game, 0)
        for _ in range(TRIAL_STEPS):
            if not views:
                break
            actions = {place: _draw_action(view, dice[place]) for place, view in views.items()}
            state, views, _ = match.send({place: coin.choice((action, None)) for place, action in actions.items()})
            json.dumps([*check_notes(game.notes(state), range(game.seats))], allow_nan=False)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a game may raise anything
        raise AgonError(
            f"{game.name} fails where an answer cannot be read (action None): {describe_failure(error, game)}"
        ) from error


def _require_own_view(place: int, view: Observation, game: Game[Any]) -> None:
    """Raises ValueError for a view with another seat's number or role, or without a round."""
    if view.seat != place:
        raise ValueError(f"observe: the observation of seat {place} says that it is for seat {view.seat!r}")
    if type(view.round) is not int or view.round < 1:
        raise ValueError(f"observe: the round is {view.round!r}; it must be a whole number, 1 at least")
    if view.role and view.role != (role := game.roles[place] if game.roles else ""):
        of_game = f"roles says {role!r}" if game.roles else "roles has none: declare one for each seat"
        raise ValueError(f"observe: the role of seat {place} is {view.role!r}, and the game's {of_game}")


def _require_same(views: Mapping[int, Observation], copy_views: Mapping[int, Observation]) -> None:
    """Raises ValueError where the two copies of a match ask something else."""
    for place in sorted({*views, *copy_views}):
        if place not in views or place not in copy_views or _question(views[place]) != _question(copy_views[place]):
            raise ValueError(
                f"seat {place} is asked differently when the same match is played again: draw all chance from the dice, in start"
            )


def _question(view: Observation) -> tuple[object, ...]:
    return (view.round, view.phase, view.role, view.past, view.legal.as_json())


def require_fit(agent: str, player: Any, game: Game[Any], view: Observation) -> None:
    """Raises Unfit for an agent whose settings do not fit the question."""
    unfit = getattr(player, "unfit", None)
    if unfit and (fault := unfit(view.legal, None, **keywords_of(player))):
        raise Unfit(f"agent {agent} cannot play {game.name} (phase {view.phase}): {fault}")


def questions_of(game: Game[Any]) -> list[Observation]:
    """The observations in the first steps of a match of random legal actions; of a game that fails, those before the failure."""
    questions = list[Observation]()
    with suppress(Exception):
        match, (_, views, _), dice = start_match(game, 0)
        for _ in range(TRIAL_STEPS):
            if not views:
                break
            questions += views.values()
            _, views, _ = match.send({place: _draw_action(view, dice[place]) for place, view in views.items()})
    return questions


def _draw_action(view: Observation, dice: Dice) -> object:
    return view.legal.example(dice)


def _check_space(space: Space) -> None:
    """Raises TypeError or ValueError for a space that is not hashable, or does not read the text that it writes."""
    name = type(space).__name__
    try:
        hash(space)
    except TypeError as error:
        raise TypeError(f"{name} is not hashable ({error}): a space is a frozen dataclass, without lists") from None
    text = space.format(space.example(Random(0)))
    readings = space.read(f"[move] {text}"), space.read_strictly(f"[move] {text}")
    if type(space).read is Space.read and any(reading.action is None for reading in readings):
        raise ValueError(f"{name} writes {text[:80]!r}, which it does not read: give it a method parse (or read)")
    for option in space.options if isinstance(space, Choice) else ():
        if any(read(f"[move] {option}").action != option for read in (space.read, space.read_strictly)):
            raise ValueError(
                f"{option[:80]!r} cannot be an option: an answer with this text would be read as something else"
            )


def describe_failure(error: BaseException, game: object) -> str:
    """A failed match in one line: the error, the game's class, and the place in the code of the game or script."""
    while error.__cause__ is not None:
        error = error.__cause__
    message = f"{type(error).__name__}: {reason(error)}".removesuffix(": ")
    if isinstance(error, IllegalAction):  # the player is at fault
        return message
    calls = [(Path(call.filename), call.lineno, call.name) for call in traceback.extract_tb(error.__traceback__)]
    own = [call for call in calls if not any(map(call[0].is_relative_to, LIBRARIES))]
    places = [(f"{display_path(path)}:{line}", verb) for path, line, verb in own]
    places = [place for place in places if not place[0].startswith(LOOP_CODE)]
    method = next((f".{verb}" for _, verb in places[:1] if hasattr(Game, verb) and verb[0] != "_"), "")
    return f"{message} ({', '.join([type(game).__name__ + method, *(place for place, _ in places[-1:])])})"
