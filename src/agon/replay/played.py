"""Which games of conf/game turns are of: those that are called so, and have the same rules, options and payoffs."""

import functools
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from itertools import product
from random import Random
from typing import Any

import numpy as np
import pandas as pd

from agon.conf import CONF, distinct, expand_settings, load
from agon.errors import AgonError
from agon.games import Choice, Game
from agon.games.base import NormalForm
from agon.paths import input_files
from agon.turns import action_of, decoded

OWN_NAME = re.compile(r"^name: (\w+)\s*(?:#.*)?$", re.MULTILINE)
"""The name of a game's family in its file; without one, it is that of the file it builds upon."""
BUILT_UPON = re.compile(r"^defaults: \[(\w+), _self_\]", re.MULTILINE)


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
