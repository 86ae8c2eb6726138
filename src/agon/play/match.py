"""Plays one match. No other module brings games and agents together."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agon.agents import Place, Reply, together
from agon.errors import AgonError
from agon.games import Observation
from agon.games.base import Note, check_notes
from agon.loop import start_match
from agon.models import Answering, Halted
from agon.plan import Match, describe_failure


@dataclass(slots=True, eq=False)
class Trajectory:
    """The course of one match: a row for each seat that was asked or paid in a step. The rows become the turns table."""

    views: list[Observation] = field(default_factory=list)
    """The observation of each row's seat."""
    answers: list[Any] = field(default_factory=list)
    """The answer of each row's seat: the action of a script, or a Reply."""
    payoffs: list[float] = field(default_factory=list)
    """The payoff of each row's seat (points)."""
    rows: list[int] = field(default_factory=list)
    """The number of rows of each step."""
    details: dict[int, dict[str, Any]] = field(default_factory=dict)
    """Row -> the game's own notes on it."""
    fixed: bool = False
    """Whether the match was played to its end and nobody threw dice: every match of these seats is the same."""

    def add(
        self,
        views: dict[int, Observation],
        answers: dict[int, Any],
        payoffs: tuple[float, ...],
        notes: Iterable[Note] = (),
    ) -> None:
        """Adds a step. A seat that was paid without being asked has a row without an answer."""
        if len(views) < len(payoffs):
            view = next(iter(views.values()))
            only_paid = {
                seat: view._replace(legal=None, role="", seat=seat) for seat, payoff in enumerate(payoffs) if payoff
            }
            views = dict(sorted((only_paid | views).items()))
            payoffs = tuple([payoffs[seat] for seat in views])
        seats = [*views]
        for seat, what, value in check_notes(notes, seats):
            self.details.setdefault(len(self.views) + seats.index(seat), {})[what] = value
        self.views += views.values()
        self.answers += map(answers.get, seats)
        self.payoffs += payoffs
        self.rows.append(len(seats))


def play_now(match: Match) -> Trajectory:
    """Plays a match between scripts, without an event loop: an await costs more than a script's answer.

    Raises AgonError for errors of the game and of the scripts.
    """
    game, scripts, trajectory = match.game, [seat.player for seat in match.seats], Trajectory()
    try:
        steps, (_, views, _), dice = start_match(game, match.seed)
        while views:
            views_before, actions = views, {seat: scripts[seat](view, dice[seat]) for seat, view in views.items()}
            state, views, payoffs = steps.send(actions)
            trajectory.add(views_before, actions, payoffs, game.notes(state))
        trajectory.fixed = not any(dice_of_seat.thrown for dice_of_seat in dice)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a game, or a script, may raise anything
        raise AgonError(f"match {match.id} ({match_name(match)}): {describe_failure(error, game)}") from error
    return trajectory


async def play_async(
    match: Match,
    models: Mapping[str, Answering],
    *,
    instant: bool = False,
    moved: Callable[[Any, tuple[float, ...]], object] = lambda state, payoffs: None,
    so_far: "Trajectory | None" = None,
) -> Trajectory:
    """Plays a match. Seats that move simultaneously are asked at the same time, and may answer in any order.

    The result depends on the match and its players' answers alone, not on other matches that run. With `instant`, for
    players that never wait, it runs to its end without an event loop. It calls `moved` with every state, the first one
    included, and the payoffs of the step before. It adds each step to `so_far`, an empty Trajectory (None: a new one),
    and returns it. Raises AgonError for errors of the game and of players, and Halted when a model cannot be asked now.
    """
    game, immediate = match.game, [seat.immediate for seat in match.seats]

    async def answer(seat: int, view: Observation) -> Reply:
        reply = await players[seat].act(view, dice[seat])
        if not isinstance(reply, Reply):
            raise TypeError(f"seat {seat} answered with {type(reply).__name__}, not with a Reply")
        return reply

    trajectory = Trajectory() if so_far is None else so_far
    try:
        players = [
            seat.player if immediate[place] else seat.player(Place(match.id, place, models.get(seat.model or "")))
            for place, seat in enumerate(match.seats)
        ]
        steps, (state, views, payoffs), dice = start_match(game, match.seed)
        moved(state, payoffs)
        while views:
            replies = {seat: Reply(players[seat](view, dice[seat])) for seat, view in views.items() if immediate[seat]}
            slow = [seat for seat in views if not immediate[seat]]
            if instant:
                for seat in slow:
                    replies[seat] = await answer(seat, views[seat])
            else:
                slow_replies = await together([answer(seat, views[seat]) for seat in slow])
                replies |= zip(slow, slow_replies, strict=True)
            views_before = views
            state, views, payoffs = steps.send({seat: replies[seat].action for seat in views_before})
            trajectory.add(views_before, replies, payoffs, game.notes(state))
            moved(state, payoffs)
    except (AgonError, Halted, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError):
        raise
    except BaseException as error:  # a game, or a player, may raise anything
        raise AgonError(f"match {match.id} ({match_name(match)}): {describe_failure(error, game)}") from error
    return trajectory


def play_instantly(
    match: Match,
    models: Mapping[str, Answering],
    moved: Callable[[Any, tuple[float, ...]], object] = lambda state, payoffs: None,
) -> Trajectory:
    """Plays a match whose players never wait, without an event loop. `moved`: see `play_async`.

    Raises AgonError for an agent that waits, and what `play_async` raises.
    """
    try:
        play_async(match, models, instant=True, moved=moved).send(None)
    except StopIteration as end:
        trajectory: Trajectory = end.value
        return trajectory
    raise AgonError(f"match {match.id} ({match_name(match)}): an agent waits for something other than its model")


def match_name(match: Match) -> str:
    """The name of a match in messages: its game and its players."""
    return f"{match.game.name} {match.game.variant}: {' against '.join(seat.agent for seat in match.seats)}"
