"""One match, played: the only place where games meet agents."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from agon.agents import Place, Reply, together
from agon.errors import AgonError
from agon.games import Game, Observation
from agon.games.base import Note, known_notes
from agon.loop import started
from agon.models import Answering, Halted
from agon.plan import Match, raised


class Played:
    """A match as it was played, a row for every seat asked or paid in a step; the rows become the turns table."""

    __slots__ = ("answers", "details", "payoffs", "rows", "views")

    def __init__(self) -> None:
        self.views: list[Observation] = []
        """What the row's seat saw."""
        self.answers: list[Any] = []
        """What it answered: the bare action of a script, or a Reply."""
        self.payoffs: list[float] = []
        """What the step paid it (points)."""
        self.rows: list[int] = []
        """Rows of each step."""
        self.details: dict[int, dict[str, Any]] = {}
        """What only this game knows, by row."""

    def add(
        self,
        views: dict[int, Observation],
        answers: dict[int, Any],
        payoffs: tuple[float, ...],
        notes: Iterable[Note] = (),
    ) -> None:
        """One more step. A seat that was paid without being asked has a row, with nothing to answer."""
        paid = [seat for seat, worth in enumerate(payoffs) if seat in views or worth]
        for seat, what, value in known_notes(notes, paid):
            self.details.setdefault(len(self.views) + paid.index(seat), {})[what] = value
        some = next(iter(views.values()))
        self.views += [views.get(seat) or some._replace(legal=None, role="", seat=seat) for seat in paid]
        self.answers += [answers.get(seat) for seat in paid]
        self.payoffs += [payoffs[seat] for seat in paid]
        self.rows.append(len(paid))


def play_now(match: Match) -> Played:
    """A match between scripts, without an event loop (an await costs more than a script's answer)."""
    game, scripts, played = match.game, [seat.player for seat in match.seats], Played()
    everyone, noting = game.seats, type(game).notes is not Game.notes
    try:
        under_way, (_, views, _), dice = started(game, match.seed)
        send = under_way.send
        while views:
            asked, actions = views, {seat: scripts[seat](view, dice[seat]) for seat, view in views.items()}
            state, views, payoffs = send(actions)
            if len(asked) == everyone and not noting:  # nearly always; the same as Played.add
                played.views += asked.values()
                played.answers += actions.values()
                played.payoffs += payoffs
                played.rows.append(everyone)
            else:
                played.add(asked, actions, payoffs, game.notes(state))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a game, or a script, may raise anything
        raise AgonError(f"match {match.id} ({who(match)}): {raised(error, game)}") from error
    return played


async def play_async(
    match: Match,
    models: Mapping[str, Answering],
    *,
    instant: bool = False,
    moved: Callable[[Any, tuple[float, ...]], object] = lambda state, payoffs: None,
    so_far: "Played | None" = None,
) -> Played:
    """A match; seats that move at once are asked at once, and may answer in any order.

    The result depends on the match and its players' answers alone, not on what else is being played. With `instant`,
    for players that never wait, it runs to its end without an event loop. `moved` is told every state, the first one
    included, and what the step to it paid; `so_far`, an empty Played, grows with the match. Raises AgonError for what players do wrong;
    Halted when a model cannot be asked now.
    """
    game, immediate = match.game, [seat.immediate for seat in match.seats]

    async def answer(seat: int, view: Observation) -> Reply:
        reply = await players[seat].act(view, dice[seat])
        if not isinstance(reply, Reply):
            raise TypeError(f"seat {seat} answered with {type(reply).__name__}, not with a Reply")
        return reply

    played = Played() if so_far is None else so_far
    try:
        players = [
            seat.player if immediate[place] else seat.player(Place(match.id, place, models.get(seat.model or "")))
            for place, seat in enumerate(match.seats)
        ]
        under_way, (state, views, payoffs), dice = started(game, match.seed)
        moved(state, payoffs)
        while views:
            replies = {seat: Reply(players[seat](view, dice[seat])) for seat, view in views.items() if immediate[seat]}
            slow = [seat for seat in views if not immediate[seat]]
            if instant:
                for seat in slow:
                    replies[seat] = await answer(seat, views[seat])
            else:
                found = await together([answer(seat, views[seat]) for seat in slow])
                replies |= zip(slow, found, strict=True)
            asked = views
            state, views, payoffs = under_way.send({seat: replies[seat].action for seat in asked})
            played.add(asked, replies, payoffs, game.notes(state))
            moved(state, payoffs)
    except (AgonError, Halted, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError):
        raise
    except BaseException as error:
        raise AgonError(f"match {match.id} ({who(match)}): {raised(error, game)}") from error
    return played


def who(match: Match) -> str:
    """What a match is called in messages: its game and its players."""
    return f"{match.game.name} {match.game.variant}: {' against '.join(seat.agent for seat in match.seats)}"
