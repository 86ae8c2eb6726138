"""Replays a match with its recorded actions, which shows the observation of every seat."""

import json
from functools import cache, partial
from typing import Any, NamedTuple

import pandas as pd

from agon.conf import build, current_name
from agon.errors import AgonError, visible
from agon.games import Game, IllegalAction, Observation
from agon.games.pages import UNREADABLE, describe_entry, describe_space
from agon.loop import TABLE, start_match
from agon.turns import action_of, tidy


class Step(NamedTuple):
    """One step of a match."""

    turn: int
    views: dict[int, Observation]
    """Seat -> its observation, for the seats that were asked."""
    actions: dict[int, Any]
    """Seat -> its action; None where it could not be read."""
    payoffs: tuple[float, ...]
    """The payoff of every seat in this step (points)."""
    state: Any
    """The game's state before it."""


class Replay(NamedTuple):
    """A match from its start to its end."""

    game: Game[Any]
    steps: list[Step]
    state: Any
    """The state at the end."""


def one_match(turns: pd.DataFrame, name: str) -> pd.DataFrame:
    """The turns of one match. Raises AgonError.

    `name` is its id; or GAME/VARIANT, for the first such match; or GAME/VARIANT/AGENT, for the first in which this agent plays.
    The agent may have its current name or an old one.
    """
    rows = turns[turns.match == name]
    if rows.empty:
        game, variant, agent, *_ = [*name.split("/"), None, None]
        matches_of_game = turns[(turns.game == game) & (turns.variant == variant)]
        agents = matches_of_game.agent.astype("str").map(partial(current_name, "agent"))
        matches_of_agent = matches_of_game if agent is None else matches_of_game[agents == current_name("agent", agent)]
        rows = (
            matches_of_game[matches_of_game.match == matches_of_agent.match.iloc[0]]
            if len(matches_of_agent)
            else matches_of_game[:0]
        )
    if rows.empty:
        near = turns[turns.game == game] if (turns.game == game).any() else turns
        names = sorted(set(near.game.astype(str) + "/" + near.variant.astype(str)))
        more = ", ..." if len(names) > 9 else ""
        hint = f"there are {', '.join(names[:9])}{more}; an id is {near.match.iloc[0]}" if names else "there are none"
        raise AgonError(f"there is no match {name!r} among these turns: {hint}")
    return rows.sort_values(["turn", "seat"]).reset_index(drop=True)


def games_of(games: pd.DataFrame) -> list[Game[Any]]:
    """The games of a table (agon.turns.read_games), built again. Raises AgonError for a row that has no settings."""
    return [_build_game(row.game, row.variant, row.settings) for row in games.itertuples(index=False)]


@cache
def _build_game(name: str, variant: str, settings: str) -> Game[Any]:
    composed_settings = json.loads(settings)
    if not composed_settings:
        raise AgonError(f"the table of games has no settings of {name} {variant}: it cannot be built again")
    try:
        game = build(composed_settings)
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError) as error:
        raise AgonError(f"{name} {variant} cannot be built as it was played: {error}") from error
    if not isinstance(game, Game):
        raise AgonError(f"the settings of {name} {variant} in the table of games make no game")
    return game


def replay_match(turns: pd.DataFrame, games: pd.DataFrame) -> Replay:
    """Replays the match of `turns` (all its rows) in its game, which is one of `games` (agon.turns.read_games).

    Raises AgonError where that game asks other seats, or pays otherwise, than the records, and when there is no such game.
    """
    first, error, replays = turns.iloc[0], None, list[Replay]()
    games_of_name = games[games.game.eq(first.game) & games.variant.eq(first.variant) & games.rules.eq(first.rules)]
    for game in games_of(games_of_name):  # several where tables were put together
        try:
            replays.append(replay_in(game, turns))
        except AgonError as fault:
            error = fault
    if len({_history_text(replay) for replay in replays}) > 1:
        raise AgonError(
            f"several games are called {first.game} {first.variant}, and match {first.match} may be of any: "
            "give the games of one file of turns alone"
        )
    if replays:
        return replays[0]
    raise error or AgonError(
        f"the table of games has no {first.game} {first.variant} of rules {first.rules}: match {first.match} cannot be replayed"
    )


def replay_in(game: Game[Any], turns: pd.DataFrame) -> Replay:
    """Replays the match of `turns` in this game.

    Raises AgonError where the game asks other seats, or pays otherwise, than the records, and where its dice are not known.
    """
    match, rules = turns.match.iloc[0], turns.rules.iloc[0]
    if rules != game.rules:
        raise AgonError(f"match {match} was played by rules {rules} of {game.name}, and this is of rules {game.rules}")
    seed = _seed(match)
    match_steps, (state, views, _), dice = start_match(game, seed or 0)
    if seed is None and dice[TABLE].thrown:
        raise AgonError(
            f"match {match} cannot be replayed: {game.name} begins with dice, and this id does not give them"
        )
    steps = list[Step]()
    for turn, rows in turns.groupby("turn", sort=True):
        asked_rows = rows[rows.asked]
        if list(asked_rows.seat) != list(views):
            raise _difference(match, turn, f"seats {list(asked_rows.seat)} were asked, the game asks {list(views)}")
        actions_in_order = [None if pd.isna(action) else action_of(action) for action in asked_rows.action]
        actions, views_before, before = dict(zip(views, actions_in_order, strict=True)), views, state
        try:
            state, views, payoffs = match_steps.send(actions)
        except IllegalAction as error:
            raise _difference(match, turn, str(error)) from None
        payoff_of = rows.set_index("seat").payoff
        if any(payoff_of.get(seat, 0.0) != payoff for seat, payoff in enumerate(payoffs)):
            raise _difference(match, turn, f"it paid {payoff_of.to_dict()}, the game pays {list(payoffs)}")
        steps.append(Step(int(turn), views_before, actions, payoffs, before))
    if views:
        raise AgonError(f"match {match} is not at its end after turn {len(steps)}: rows are missing")
    return Replay(game, steps, state)


def _history_text(replay: Replay) -> str:
    """The histories and roles of all observations, as text."""
    return repr([[(seat, view.past, view.role) for seat, view in step.views.items()] for step in replay.steps])


def _difference(match: str, turn: Any, what: str) -> AgonError:
    return AgonError(f"match {match}, turn {turn}: records and game differ: {what}")


def _seed(match: str) -> int | None:
    """The seed of a match, which is its id. None: the id is from elsewhere."""
    try:
        return int(match, 16)
    except ValueError:
        return None


class Sight(NamedTuple):
    """The observation of a seat when it was asked, its action and its payoff; `str` gives it in words.

    The prompt of a model, and the aids on a person's page, are no part of it: see docs/what-comes-out.md.
    """

    turn: int
    view: Observation
    """As data: the history (`past`), the action space (`legal`), the round, the role, and the version of the rules."""
    told: tuple[str, ...]
    """The history in words, oldest first."""
    action: Any
    """The seat's action; None where it could not be read."""
    payoff: float
    """The payoff of the step (points)."""

    def __str__(self) -> str:
        view = self.view
        role = f", as {view.role}" if view.role else ""
        action = UNREADABLE if self.action is None else view.legal.format(self.action)
        choices = f"could answer {describe_space(view.legal.as_json())}"
        lines = [
            f"round {view.round}, {view.phase}{role}",
            *self.told,
            choices,
            f"did {action}, and was paid {self.payoff:g}",
        ]
        return visible("\n  ".join(line.replace("\n", "\n    ") for line in lines))


def seen_by(turns: pd.DataFrame, games: pd.DataFrame, match: str, seat: int, round: int) -> list[Sight]:
    """The observations of a seat (from 0) in a round (from 1), with its actions and payoffs. `match`: see `one_match`.

    Raises AgonError for a match, seat or round that does not exist, and for a match that cannot be replayed.
    """
    replay = replay_match(one_match(tidy(turns), match), games)
    steps = [step for step in replay.steps if seat in step.views]
    if not steps:
        seats = ", ".join(f"{number} ({player})" for number, player in enumerate(replay.game.players))
        raise AgonError(f"seat {seat} was never asked in match {match}: seats are {seats}")
    steps_of_round = [step for step in steps if step.views[seat].round == round]
    if not steps_of_round:
        rounds = sorted({step.views[seat].round for step in steps})
        raise AgonError(
            f"seat {seat} was not asked in round {round} of match {match}: in {', '.join(map(str, rounds))}"
        )
    players = replay.game.players
    return [
        Sight(
            *(
                step.turn,
                view,
                tuple(describe_entry(event, view, place, players) for place, event in enumerate(view.past)),
            ),
            *(step.actions[seat], step.payoffs[seat]),
        )
        for step in steps_of_round
        for view in [step.views[seat]]
    ]
