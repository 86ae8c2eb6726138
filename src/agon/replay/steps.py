"""A match stepped once more with its recorded actions, which shows what the game let every seat know."""

import json
from functools import cache, partial
from typing import Any, NamedTuple

import pandas as pd

from agon.conf import built, name_now
from agon.errors import AgonError, visible
from agon.games import Game, IllegalAction, Observation
from agon.games.pages import UNREADABLE, asked_for, news
from agon.loop import started
from agon.turns import action_of, tidy


class Step(NamedTuple):
    """What was done at once."""

    turn: int
    views: dict[int, Observation]
    """What each seat that was asked saw."""
    actions: dict[int, Any]
    """What it did; None where that could not be read."""
    payoffs: tuple[float, ...]
    """What the step paid every seat (points)."""
    state: Any
    """The game's state before it."""


class Replay(NamedTuple):
    """A match from its start to its end."""

    game: Game[Any]
    steps: list[Step]
    state: Any
    """The last one."""


def one_match(turns: pd.DataFrame, name: str) -> pd.DataFrame:
    """The turns of one match. Raises AgonError.

    `name`: its id; or GAME/VARIANT, for the first such match; or GAME/VARIANT/AGENT, for the first at which this agent sits, by the
    name that it has now or by an old one.
    """
    own = turns[turns.match == name]
    if own.empty:
        game, variant, agent, *_ = [*name.split("/"), None, None]
        found = turns[(turns.game == game) & (turns.variant == variant)]
        named = found.agent.astype("str").map(partial(name_now, "agent"))
        seated = found if agent is None else found[named == name_now("agent", agent)]
        own = found[found.match == seated.match.iloc[0]] if len(seated) else found[:0]
    if own.empty:
        near = turns[turns.game == game] if (turns.game == game).any() else turns
        names = sorted(set(near.game.astype(str) + "/" + near.variant.astype(str)))
        more = ", ..." if len(names) > 9 else ""
        offer = f"there are {', '.join(names[:9])}{more}; an id is {near.match.iloc[0]}" if names else "there are none"
        raise AgonError(f"there is no match {name!r} among these turns: {offer}")
    return own.sort_values(["turn", "seat"]).reset_index(drop=True)


def games_of(games: pd.DataFrame) -> list[Game[Any]]:
    """The games of a table (agon.turns.read_games), built again. Raises AgonError for a row that has no settings."""
    return [_built(row.game, row.variant, row.settings) for row in games.itertuples(index=False)]


@cache
def _built(name: str, variant: str, settings: str) -> Game[Any]:
    described = json.loads(settings)
    if not described:
        raise AgonError(f"the table of games has no settings of {name} {variant}: it cannot be built again")
    try:
        game = built(described)
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError) as error:
        raise AgonError(f"{name} {variant} cannot be built as it was played: {error}") from error
    if not isinstance(game, Game):
        raise AgonError(f"the settings of {name} {variant} in the table of games make no game")
    return game


def replayed(turns: pd.DataFrame, games: pd.DataFrame) -> Replay:
    """The match of `turns` (all its rows) in the one of `games` that it was played in (agon.turns.read_games).

    Raises AgonError where that game asks other seats, or pays otherwise, than the records say, and when there is no such game.
    """
    first, error, fitting = turns.iloc[0], None, list[Replay]()
    found = games[games.game.eq(first.game) & games.variant.eq(first.variant) & games.rules.eq(first.rules)]
    for game in games_of(found):  # several where tables were put together
        try:
            fitting.append(stepped(game, turns))
        except AgonError as fault:
            error = fault
    if len({_seen(replay) for replay in fitting}) > 1:
        raise AgonError(
            f"several games are called {first.game} {first.variant}, and match {first.match} may be of any: "
            "give the games of one file of turns alone"
        )
    if fitting:
        return fitting[0]
    raise error or AgonError(
        f"the table of games has no {first.game} {first.variant} of rules {first.rules}: match {first.match} cannot be replayed"
    )


def stepped(game: Game[Any], turns: pd.DataFrame) -> Replay:
    """The match of `turns` in this game. Raises AgonError where it asks other seats, or pays otherwise, than the records say."""
    match, rules = turns.match.iloc[0], turns.rules.iloc[0]
    if rules != game.rules:
        raise AgonError(f"match {match} was played by rules {rules} of {game.name}, and this is of rules {game.rules}")
    under_way, (state, views, _), _ = started(game, _seed(match))
    done = list[Step]()
    for turn, rows in turns.groupby("turn", sort=True):
        asked = rows[rows.asked]
        if list(asked.seat) != list(views):
            raise _differ(match, turn, f"seats {list(asked.seat)} were asked, the game asks {list(views)}")
        read = [None if pd.isna(action) else action_of(action) for action in asked.action]
        actions, seen, before = dict(zip(views, read, strict=True)), views, state
        try:
            state, views, payoffs = under_way.send(actions)
        except IllegalAction as error:
            raise _differ(match, turn, str(error)) from None
        paid = rows.set_index("seat").payoff
        if any(paid.get(seat, 0.0) != worth for seat, worth in enumerate(payoffs)):
            raise _differ(match, turn, f"it paid {paid.to_dict()}, the game pays {list(payoffs)}")
        done.append(Step(int(turn), seen, actions, payoffs, before))
    if views:
        raise AgonError(f"match {match} is not at its end after turn {len(done)}: rows are missing")
    return Replay(game, done, state)


def _seen(replay: Replay) -> str:
    """What the seats were told, as text."""
    return repr([[(seat, view.past, view.role) for seat, view in step.views.items()] for step in replay.steps])


def _differ(match: str, turn: Any, what: str) -> AgonError:
    return AgonError(f"match {match}, turn {turn}: records and game differ: {what}")


def _seed(match: str) -> int:
    try:
        return int(match, 16)
    except ValueError:  # ids of other origin; no game so far throws dice before its first move
        return 0


class Sight(NamedTuple):
    """What the game let a seat know when it was asked, and what came of it; as a text the same in words.

    Which words a model was sent, and what a person's page had beyond this, is no part of it: see docs/look-at-a-match.md.
    """

    turn: int
    view: Observation
    """As data: what it knew (`past`), what it could answer (`legal`), the round, its role, the game's rules."""
    told: tuple[str, ...]
    """What it knew, in words, oldest first."""
    action: Any
    """What it did; None where that could not be read."""
    payoff: float
    """What the step paid it (points)."""

    def __str__(self) -> str:
        view = self.view
        role = f", as {view.role}" if view.role else ""
        did = UNREADABLE if self.action is None else view.legal.spelled(self.action)
        answers = f"could answer {asked_for(view.legal.as_json())}"
        lines = [
            f"round {view.round}, {view.phase}{role}",
            *self.told,
            answers,
            f"did {did}, and was paid {self.payoff:g}",
        ]
        return visible("\n  ".join(line.replace("\n", "\n    ") for line in lines))


def seen_by(turns: pd.DataFrame, games: pd.DataFrame, match: str, seat: int, round: int) -> list[Sight]:
    """What the game let a seat (from 0) know whenever it was asked in a round (from 1), of any game. `match`: see `one_match`.

    Raises AgonError for a match, seat or round that is not there, and for what cannot be replayed.
    """
    replay = replayed(one_match(tidy(turns), match), games)
    asked = [step for step in replay.steps if seat in step.views]
    if not asked:
        seats = ", ".join(f"{number} ({player})" for number, player in enumerate(replay.game.players))
        raise AgonError(f"seat {seat} was never asked in match {match}: seats are {seats}")
    found = [step for step in asked if step.views[seat].round == round]
    if not found:
        rounds = sorted({step.views[seat].round for step in asked})
        raise AgonError(
            f"seat {seat} was not asked in round {round} of match {match}: in {', '.join(map(str, rounds))}"
        )
    named = replay.game.players
    return [
        Sight(
            *(step.turn, view, tuple(news(each, view, place, named) for place, each in enumerate(view.past))),
            *(step.actions[seat], step.payoffs[seat]),
        )
        for step in found
        for view in [step.views[seat]]
    ]
