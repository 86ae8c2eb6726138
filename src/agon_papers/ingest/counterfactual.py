"""Recorded games of the counterfactual paper as turns, from its facts (parquet) or from the original layout.

Both end in the same two tables, matches and rows, which are checked against the game's rules. So a game has the same
turns and the same match id in both. A script's tokens are 0: the records count the words that a script is made to say,
but no model is asked. `fallback` is "void" where a seat has no action.
"""

import json
from collections.abc import Callable, Container, Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from agon.games import Game
from agon.games.base import NormalForm
from agon.turns import action_text, typed
from agon_papers.ingest.base import LARGEST, Bad, Conditions, Ingested, Unusable, categorical, is_name
from agon_papers.ingest.facts import read_facts
from agon_papers.ingest.game_json import read_originals

STYLES = ("zs", "cot", "spp")
SCRIPTS = ("srep", "pp", "mf", "ap", "tft")

Payoffs = frozenset[tuple[str, str, float]]
"""A symmetric game of two: own action, the other's action, own points."""
Variants = dict[Payoffs, tuple[Game[Any], NormalForm]]

VOID, FOREIGN = -1, -2
"""Stand for an action's position in the game: there is no action, or one that the game does not have."""


class Match(NamedTuple):
    """One recorded game of a known variant, with its players and conditions."""

    path: str
    key: str
    """Its id, a hash of its conditions: the same for facts and originals."""
    game: Game[Any]
    form: NormalForm
    model: str
    agents: tuple[str, str]
    repetition: int
    config: str
    left_out: str

    @property
    def models(self) -> tuple[str, str | None]:
        """The model of each seat: an opponent that is no script is the same model."""
        return self.model, None if self.agents[1] in SCRIPTS else self.model


def ingest(path: Path, games: Sequence[Game[Any]]) -> Ingested:
    """The games under `path`: a folder with matches.parquet and rounds.parquet, or the original layout."""
    variants = {
        _payoffs_of(form): (game, form)
        for game in games
        if (form := game.normal_form) is not None and form.seats == 2 and game.fixed_rounds
        if len(set(form.action_sets)) == 1
    }
    published = any((path / f"{name}.parquet").exists() for name in ("matches", "rounds"))
    conditions, rows, bad = read_facts(path) if published else read_originals(path)
    matches: list[Match | None] = []
    for recorded in conditions:
        try:
            matches.append(_match(recorded, variants))
        except Unusable as reason:
            matches.append(None)
            bad.append(Bad(recorded.path, str(reason)))
    usable, rows = _select([match is not None for match in matches], matches, rows)
    reasons = _contradictions(usable, rows)
    reasons |= _repetitions(usable, skip=reasons)
    bad += [Bad(usable[place].path, reason) for place, reason in reasons.items()]
    consistent, rows = _select([place not in reasons for place in range(len(usable))], usable, rows)
    bad += [Bad(match.path, match.left_out) for match in consistent if match.left_out]
    return Ingested(_turns(consistent, rows), sorted(bad), len(consistent))


def _select(mask: list[bool], matches: Sequence[Match | None], rows: pd.DataFrame) -> tuple[list[Match], pd.DataFrame]:
    """The matches where `mask` is true, and their rows under the matches' new positions."""
    selection = [match for match, keep in zip(matches, mask, strict=True) if keep and match]
    if len(selection) < len(matches):
        place = np.where(mask, np.cumsum(mask) - 1, -1)[rows.match]
        rows = rows.assign(match=place)[place >= 0].reset_index(drop=True)
    return selection, rows


# ---- conditions -> match ----


def _match(conditions: Conditions, variants: Variants) -> Match:
    variant = variants.get(_payoffs(tuple(conditions.settings.items())))
    if variant is None:
        raise Unusable(f"payoffs {json.dumps(conditions.settings):.200} are no known variant")
    if conditions.style not in STYLES or conditions.opponent not in STYLES + SCRIPTS:
        raise Unusable(f"{conditions.style:.20} against {conditions.opponent:.20} are no known players")
    if conditions.repetition < 0:
        raise Unusable(f"repetition is {conditions.repetition}: they are numbered from 0")
    for name, is_wrong in (
        ("model", not is_name(conditions.model)),
        ("repetition", conditions.repetition > LARGEST),
        ("temperature", not 0 <= conditions.temperature <= LARGEST),
        ("max_tokens", not 0 <= conditions.max_tokens <= LARGEST),
    ):
        if is_wrong:
            raise Unusable(f"its {name} cannot be {getattr(conditions, name)!r:.40}")
    game, form = variant
    agents = "sc-" * conditions.self_consistency + conditions.style, conditions.opponent
    return Match(
        path=conditions.path,
        key=_hash([conditions.model, agents, game.name, game.variant, conditions.repetition]),
        game=game,
        form=form,
        model=conditions.model,
        agents=agents,
        repetition=conditions.repetition,
        config=_config(conditions.temperature, conditions.max_tokens, form),
        left_out=conditions.left_out,
    )


@lru_cache
def _payoffs(settings: tuple[tuple[str, float | str], ...]) -> Payoffs:
    """The payoffs of recorded settings: letters name actions, `ab` is what a earns against b; a missing cell is zero-sum."""
    names = {key: name for key, name in settings if isinstance(name, str)}
    points = {key: value for key, value in settings if not isinstance(value, str)}
    cells = {a + b: (a, b) for a in list(names)[:9] for b in list(names)[:9]}
    if not cells.keys() >= points.keys():
        return frozenset()
    return frozenset((names[a], names[b], points.get(cell, -points.get(b + a, 0))) for cell, (a, b) in cells.items())


def _payoffs_of(game: NormalForm) -> Payoffs:
    return frozenset((row, column, game.payoffs((row, column))[0]) for row, column in product(*game.action_sets))


@lru_cache
def _config(temperature: float, max_tokens: int, game: NormalForm) -> str:
    options = game.action_sets[0]
    payoffs = [[game.payoffs((row, column)) for column in options] for row in options]
    return _hash([temperature, max_tokens, options, payoffs])


def _hash(content: list[Any]) -> str:
    return blake2b(json.dumps(content).encode(), digest_size=8).hexdigest()


# ---- contradictions ----


def _repetitions(matches: list[Match], skip: Container[int]) -> dict[int, str]:
    """Place of a match -> the earlier match that it repeats, in words."""
    first: dict[str, int] = {}
    reasons = {}
    for place, match in enumerate(matches):
        if place in skip:
            continue
        earlier = first.setdefault(match.key, place)
        if earlier != place:
            reasons[place] = f"is the same match as {matches[earlier].path}"
    return reasons


def _contradictions(matches: list[Match], rows: pd.DataFrame) -> dict[int, str]:
    """Place of a match -> the first contradiction of its game's rules."""
    games = list(dict.fromkeys(match.form for match in matches))
    game = np.array([games.index(match.form) for match in matches], dtype=np.int64)
    rounds = np.array([match.game.fixed_rounds for match in matches], dtype=np.int64)
    place = rows.match.to_numpy()[::2]
    counts = np.bincount(place, minlength=len(matches))
    reasons = {int(at): f"has {counts[at]} rounds, not {rounds[at]}" for at in np.flatnonzero(counts != rounds)}

    labels = list(rows.action.cat.categories)
    label = rows.action.cat.codes.to_numpy().reshape(-1, 2)
    moves = np.array([*labels, None], object)[label]
    actions = _positions(games, labels)[game[place, None], label]
    payoffs = _points(games)[game[place], actions[:, 0], actions[:, 1]]
    points = rows.points.to_numpy().reshape(-1, 2)
    valid = rows.valid.to_numpy()[::2]
    number = np.arange(len(place)) - (counts.cumsum() - counts)[place] + 1
    tokens = rows.tokens.to_numpy().reshape(-1, 2)
    checks: list[tuple[np.ndarray, Callable[[int], str]]] = [
        (rows["round"].to_numpy()[::2] != number, lambda at: "is missing or not in its place"),
        (((tokens < 0) | (tokens > LARGEST)).any(axis=1), lambda at: f"tokens are {_pair(tokens[at])}"),
        ((actions == FOREIGN).any(axis=1), lambda at: f"{_pair(moves[at])} are not both moves of the game"),
        ((actions >= 0).all(axis=1) != valid, lambda at: f"valid is {valid[at]}, the moves {_pair(moves[at])}"),
        (
            (points != payoffs).any(axis=1),
            lambda at: f"{_pair(moves[at])} pay {_pair(payoffs[at])}, not {_pair(points[at])}",
        ),
    ]
    for mask, explain in checks:
        for at in np.flatnonzero(mask)[np.unique(place[mask], return_index=True)[1]]:
            reason = " ".join(explain(at).split())  # one line, whatever a move is called
            reasons.setdefault(int(place[at]), f"round {number[at]}: {reason}")
    return reasons


def _positions(games: list[NormalForm], labels: Sequence[str]) -> np.ndarray:
    """[game, label] -> the action's position in the game; the last column, for no label, is VOID."""
    places = [{option: place for place, option in enumerate(game.action_sets[0])} for game in games]
    return np.array([[*(place.get(label, FOREIGN) for label in labels), VOID] for place in places], np.int64, ndmin=2)


def _points(games: list[NormalForm]) -> np.ndarray:
    """[game, own position, the other's, seat] -> points; 0 for both seats where a position is VOID, the last one."""
    size = max((len(game.action_sets[0]) for game in games), default=0) + 2
    points = np.zeros((len(games), size, size, 2))
    for at, game in enumerate(games):
        for (i, row), (j, column) in product(enumerate(game.action_sets[0]), repeat=2):
            points[at, i, j] = game.payoffs((row, column))
    return points


def _pair(values: Iterable[str | float | None]) -> str:
    """Two values in words."""
    words = ("none" if value is None else value[:20] if isinstance(value, str) else f"{value:g}" for value in values)
    return " and ".join(words)


# ---- turns ----


def _turns(matches: list[Match], rows: pd.DataFrame) -> pd.DataFrame:
    match = rows.match.to_numpy()
    seat = np.arange(len(rows)) % 2

    def by_match(values: Iterable[str]) -> pd.Categorical:
        return categorical(list(values))[match]

    def by_seat(values: Iterable[Sequence[str | None]]) -> pd.Categorical:
        return categorical([value for pair in values for value in pair])[2 * match + seat]

    action = rows.action.cat.remove_unused_categories().array
    agent = by_seat(match.agents for match in matches)
    recorded = {name: rows[name] for name in ("reply", "attempts") if name in rows}
    return typed(
        {
            "experiment": pd.Categorical.from_codes(np.zeros(len(rows), np.int8), ["counterfactual"]),
            "match": pd.Categorical.from_codes(match, [match.key for match in matches]),
            "game": by_match(match.game.name for match in matches),
            "variant": by_match(match.game.variant for match in matches),
            "rules": np.array([match.game.rules for match in matches], np.int64)[match],
            "repetition": np.array([match.repetition for match in matches], np.int64)[match],
            "round": rows["round"],
            "turn": rows["round"],
            "phase": pd.Categorical.from_codes(np.zeros(len(rows), np.int8), ["move"]),
            "seat": seat,
            "agent": agent,
            "model": by_seat(match.models for match in matches),
            "legal": by_seat(_legal(match.game) for match in matches),
            "action": action.rename_categories([action_text(label) for label in action.categories]),
            "valid": rows.valid,
            "fallback": pd.Categorical.from_codes((action.codes < 0).astype(np.int8), ["", "void"]),
            "payoff": rows.points,
            "tokens": np.where(agent.isin(SCRIPTS), 0, rows.tokens),
            "config": by_match(match.config for match in matches),
            **recorded,
        }
    )


@lru_cache
def _legal(game: Game[Any]) -> tuple[str, ...]:
    state = game.start(Random(0))
    return tuple(json.dumps(game.legal_actions(state, seat).as_json()) for seat in range(game.seats))
