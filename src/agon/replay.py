"""A match once more, from its turns: its game is stepped with the recorded actions, which shows what every seat saw."""

import functools
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from itertools import product
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from agon import AgonError, input_files, visible
from agon.conf import CONF, distinct, expand_settings, load
from agon.games import Choice, Game, IllegalAction, Observation
from agon.games.base import NormalForm
from agon.games.pages import UNREADABLE, asked_for, news
from agon.loop import started
from agon.turns import action_of, decoded, tidy

OWN_NAME = re.compile(r"^name: (\w+)\s*(?:#.*)?$", re.MULTILINE)
"""The name of a game's family in its file; without one, it is that of the file it builds upon."""
BUILT_UPON = re.compile(r"^defaults: \[(\w+), _self_\]", re.MULTILINE)


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

    `name`: its id; or GAME/VARIANT, for the first such match; or GAME/VARIANT/AGENT, for the first at which this agent sits.
    """
    own = turns[turns.match == name]
    if own.empty:
        game, variant, agent, *_ = [*name.split("/"), None, None]
        found = turns[(turns.game == game) & (turns.variant == variant)]
        seated = found[(found.agent == agent) | (agent is None)]
        own = found[found.match == seated.match.iloc[0]] if len(seated) else found[:0]
    if own.empty:
        near = turns[turns.game == game] if (turns.game == game).any() else turns
        names = sorted(set(near.game.astype(str) + "/" + near.variant.astype(str)))
        more = ", ..." if len(names) > 9 else ""
        offer = f"there are {', '.join(names[:9])}{more}; an id is {near.match.iloc[0]}" if names else "there are none"
        raise AgonError(f"there is no match {name!r} among these turns: {offer}")
    return own.sort_values(["turn", "seat"]).reset_index(drop=True)


def replayed(turns: pd.DataFrame) -> Replay:
    """The match of `turns` (all its rows) in the game of conf/game that is called so.

    Raises AgonError where that game asks other seats, or pays otherwise, than the records say, and when there is no such game.
    """
    first, error, fitting = turns.iloc[0], None, list[Replay]()
    games = called({(first.game, first.variant)})  # there may be several, under other readings of its rules
    for game in games + [each.everybody for each in games if each.everybody is not each]:
        try:
            fitting.append(stepped(game, turns))
        except AgonError as found:
            error = found
    if len({_seen(replay) for replay in fitting}) > 1:
        raise AgonError(
            f"several games of conf/game are called {first.game} {first.variant}, and match {first.match} may be of any: rename a setting"
        )
    if fitting:
        return fitting[0]
    raise error or AgonError(
        f"no game of conf/game is called {first.game} {first.variant}: match {first.match} cannot be replayed"
    )


def games_of(*tables: pd.DataFrame) -> list[Game[Any]]:
    """The games of conf/game that are called as those that were played in tables of turns.

    Raises AgonError when different ones that have payoff tables are called the same, and where one has other options, other payoffs
    or another version of its rules than the turns say.
    """
    played = {pair for turns in tables for pair in turns[["game", "variant"]].drop_duplicates().itertuples(index=False)}
    found = sorted(called(played), key=lambda game: (game.name, game.variant))
    distinct([game for game in found if game.normal_form is not None])
    for turns in tables:
        offering(found, turns)
    return found


def offering(games: Sequence[Game[Any]], turns: pd.DataFrame) -> list[Game[Any]]:
    """`games` without those that are called as one of `turns` but have other rules.

    Other rules: another version of them (the column `rules`); for games with a payoff table also other options, or the same in
    another order, and other payoffs than `turns` say of the actions that were taken. Of columns that are missing nothing is asked.
    Raises AgonError where none is left of those that are called so.
    """
    fit = _of_options(games, turns) if "legal" in turns else list(games)
    for faults in (_other_versions(fit, turns), _other_payoffs(fit, turns)):
        fit = [game for game in fit if id(game) not in faults]
        left = {(game.name, game.variant) for game in fit}
        for game, why in faults.values():
            if (game.name, game.variant) not in left:
                raise AgonError(f"{why}: give the game in {_file(game)} another name or variant")
    return fit


Faults = dict[int, tuple[Game[Any], str]]
"""Games that do not fit to turns, by their id, and why in words."""


def _other_versions(games: Sequence[Game[Any]], turns: pd.DataFrame) -> Faults:
    """Games whose version of the rules is another."""
    if "rules" not in turns:
        return {}
    said: dict[tuple[str, str], set[int]] = {}
    for name, variant, rules in turns[["game", "variant", "rules"]].drop_duplicates().itertuples(index=False):
        said.setdefault((str(name), str(variant)), set()).add(int(rules))
    return {
        id(game): (
            game,
            f"these turns of {game.name} {game.variant} were played by rules {min(others)}, not {game.rules}",
        )
        for game in games
        if (others := said.get((game.name, game.variant), set()) - {game.rules})
    }


def _other_payoffs(games: Sequence[Game[Any]], turns: pd.DataFrame) -> Faults:
    """Games with a payoff table that pay otherwise, in rounds in which every seat took an action."""
    faults: Faults = {}
    if not {"match", "turn", "seat", "action", "valid", "payoff"} <= set(turns):
        return faults
    done = turns.loc[
        turns.valid & turns.action.notna(), ["game", "variant", "match", "turn", "seat", "action", "payoff"]
    ]
    for game in games:
        if (form := game.normal_form) is None:
            continue
        for profile, points in _paid(done[done.game.eq(game.name) & done.variant.eq(game.variant)], form.seats):
            if points != (wanted := form.payoffs(profile)):
                one, other = (", ".join(f"{each:g}" for each in paid) for paid in (points, wanted))
                told = (
                    f"these turns of {game.name} {game.variant} were paid {one} for {', '.join(profile)}, not {other}"
                )
                faults.setdefault(id(game), (game, told))
    return faults


def _paid(turns: pd.DataFrame, seats: int) -> Iterator[tuple[tuple[str, ...], tuple[float, ...]]]:
    """What seats did at once, and what that paid them: every such pair once."""
    match = turns["match"].astype("category").cat.codes.to_numpy(dtype=np.int64)
    step, seat = match << 32 | turns.turn.to_numpy(), turns.seat.to_numpy()
    order = np.arange(len(step)) if (np.diff(step) >= 0).all() else np.lexsort([seat, step])
    step, seat = step[order], seat[order]
    first = np.arange(max(0, len(step) - seats + 1))
    for place in range(seats):
        first = first[(seat[first + place] == place) & (step[first + place] == step[first])]
    actions, paid = decoded(turns.action).cat, turns.payoff.to_numpy()[order]
    taken = actions.codes.to_numpy()[order]
    columns = [each[first + place] for each in (taken, paid) for place in range(seats)]
    for row in pd.DataFrame(dict(enumerate(columns))).drop_duplicates().itertuples(index=False):
        yield tuple(actions.categories[code] for code in row[:seats]), tuple(row[seats:])


def _offered(game: Game[Any], form: NormalForm) -> tuple[str, ...]:
    """The options of a normal-form game in the order in which players see them, which is not always that of its payoff table."""
    state = game.start(Random(0))
    space = game.legal_actions(state, game.to_move(state)[0])
    return tuple(space.options) if isinstance(space, Choice) else form.options


def _of_options(games: Sequence[Game[Any]], turns: pd.DataFrame) -> list[Game[Any]]:
    """`games` without those of other options than `turns` say. Raises AgonError where none is left of those that are called so."""
    said: dict[tuple[str, str], set[tuple[str, ...]]] = {}
    for game, variant, legal in turns[["game", "variant", "legal"]].dropna().drop_duplicates().itertuples(index=False):
        if isinstance(offered := action_of(str(legal)), dict) and isinstance(options := offered.get("choice"), list):
            said.setdefault((str(game), str(variant)), set()).add(tuple(map(str, options)))
    has = {id(game): _offered(game, form) for game in games if (form := game.normal_form) is not None}
    fit = [
        game
        for game in games
        if id(game) not in has or said.get((game.name, game.variant), {has[id(game)]}) == {has[id(game)]}
    ]
    left = {(game.name, game.variant) for game in fit}
    for game in games:
        if (pair := (game.name, game.variant)) not in left:
            played = " or ".join(sorted(", ".join(each) for each in said[pair]))
            raise AgonError(
                f"these turns of {' '.join(pair)} were played with other options ({played}) than {_file(game)} has "
                f"({', '.join(has[id(game)])}): give the game there another name or variant"
            )
    return fit


def _file(game: Game[Any]) -> str:
    """Which file of conf/game describes a game."""
    for path in input_files(CONF / "game", "*.yaml"):
        with suppress(AgonError):
            if any(_game(each) is game for each in expand_settings([path.stem])):
                return f"conf/game/{path.name}"
    return "conf/game"


class Sight(NamedTuple):
    """What a seat saw when it was asked, and what came of it; as a text the same in words."""

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


def seen_by(turns: pd.DataFrame, match: str, seat: int, round: int) -> list[Sight]:
    """What a seat (from 0) saw whenever it was asked in a round (from 1), of any game. `match`: see `one_match`.

    Raises AgonError for a match, seat or round that is not there, and for what cannot be replayed.
    """
    replay = replayed(one_match(tidy(turns), match))
    asked = [step for step in replay.steps if seat in step.views]
    if not asked:
        raise AgonError(f"seat {seat} was never asked in match {match}: seats are 0 to {replay.game.seats - 1}")
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


def _seen(replay: Replay) -> str:
    """What the seats were told, as text."""
    return repr([[(seat, view.past, view.role) for seat, view in step.views.items()] for step in replay.steps])


def called(wanted: Collection[tuple[str, str]]) -> list[Game[Any]]:
    """The games of conf/game that are called so (game, variant)."""
    names, variants, made = {name for name, _ in wanted}, {variant for _, variant in wanted}, []
    twins = [variant.partition("~") for variant in variants]
    files = (
        {path.stem: path.read_text(encoding="utf-8") for path in input_files(CONF / "game", "*.yaml")} if wanted else {}
    )
    for file, text in files.items():
        if "\nname:" not in text and (base := BUILT_UPON.search(text)):
            text = files.get(base[1], text)
        own = OWN_NAME.search(text)
        if own and own[1] not in names:  # to compose all files takes a second
            continue
        with suppress(AgonError):  # another game's file is broken, or its settings are not there
            made += [
                _game(each) for each in expand_settings([file]) if "/" not in each or each.partition("/")[2] in variants
            ]
        with suppress(AgonError):
            for each, tail in product(expand_settings([file]), {mark + twin for _, mark, twin in twins if mark}):
                if "/" not in each or each.partition("/")[2] + tail in variants:
                    with suppress(AgonError):  # the twin of another game
                        made.append(_game(each + tail))
    return [game for game in made if (game.name, game.variant) in wanted]


_game = functools.cache(functools.partial(load, "game"))


def stepped(game: Game[Any], turns: pd.DataFrame) -> Replay:
    """The match of `turns` in this game. Raises AgonError where it asks other seats, or pays otherwise, than the records say."""
    match, rules = turns.match.iloc[0], turns.rules.iloc[0]
    if rules != game.rules:
        raise AgonError(
            f"match {match} was played by rules {rules} of {game.name}, and conf/game has rules {game.rules}"
        )
    under_way, (state, views, _), _ = started(game, _seed(match))
    done = list[Step]()
    for turn, rows in turns.groupby("turn", sort=True):
        asked = rows[rows.legal.notna()]
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


def _differ(match: str, turn: Any, what: str) -> AgonError:
    return AgonError(f"match {match}, turn {turn}: records and game differ: {what}")


def _seed(match: str) -> int:
    try:
        return int(match, 16)
    except ValueError:  # ids of other origin; no game so far throws dice before its first move
        return 0
