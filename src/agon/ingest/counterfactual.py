"""Recorded games of the counterfactual paper as turns, from its facts (parquet) or from the original layout.

Both ways end in the same two tables, matches and rows, which are checked against the game's rules; so the same game
gives the same turns, and the same match id, whichever way it came. A script's tokens are 0: the records count the
words that a script is made to say, but no model is asked. `fallback` is "void" where a seat has no action.
"""

import json
from collections.abc import Callable, Container, Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np
import pandas as pd
import pyarrow as pya
import pyarrow.parquet as pq

from agon import AgonError
from agon.games import MatrixGame
from agon.ingest.base import Bad, Ingested
from agon.ingest.files import files
from agon.ingest.game_json import Conditions, Played, Settings, Unusable, played
from agon.records import COUNT, TEXT, shown, typed

T = TypeVar("T")

STYLES = ("zs", "cot", "spp")
SCRIPTS = ("srep", "pp", "mf", "ap", "tft")

MATCHES = pya.schema(
    [(name, pya.string()) for name in ("source_path", "model", "prompt", "opponent", "payoffs")]
    + [("self_consistency", pya.bool_()), ("temperature", pya.float64())]
    + [(name, pya.int64()) for name in ("match", "repetition", "max_tokens")]
)
ROUNDS = pya.schema(
    [(name, pya.string()) for name in ("action", "opponent_action")]
    + [(name, pya.float64()) for name in ("points", "opponent_points")]
    + [(name, pya.int64()) for name in ("match", "round", "tokens", "opponent_tokens")]
    + [("valid", pya.bool_())]
)

Payoffs = frozenset[tuple[str, str, float]]
"""A symmetric game of two: own action, the other's action, own points."""
Known = dict[Payoffs, MatrixGame]

VOID, FOREIGN = -1, -2
"""In place of an action's position in the game: none, and one that is not in the game."""


class Match(NamedTuple):
    """One recorded game of a known variant: who played it under which conditions."""

    path: str
    key: str
    """Its id, from its conditions: the same whichever way it came."""
    game: MatrixGame
    model: str
    agents: tuple[str, str]
    repetition: int
    config: str

    @property
    def models(self) -> tuple[str, str | None]:
        """By seat: an opponent that is no script is the same model."""
        return self.model, None if self.agents[1] in SCRIPTS else self.model


def ingest(path: Path, games: Sequence[MatrixGame]) -> Ingested:
    """The games under `path`: a folder with matches.parquet and rounds.parquet, or the original layout."""
    known = {_payoffs_of(game): game for game in games if game.seats == 2}
    facts = any((path / f"{name}.parquet").exists() for name in ("matches", "rounds"))
    matches, rows, bad = _facts(path, known) if facts else _originals(path, known)
    reasons = _contradictions(matches, rows)
    reasons |= _repeated(matches, but=reasons)
    bad += [Bad(matches[place].path, reason) for place, reason in reasons.items()]
    kept = [place for place in range(len(matches)) if place not in reasons]
    rows = rows.assign(match=_numbers(kept, len(matches))[rows.match])
    turns = _turns([matches[place] for place in kept], rows[rows.match >= 0].reset_index(drop=True))
    return Ingested(turns, sorted(bad), len(kept))


# ---- the two ways in: matches, rows (by match, round and seat; match is a position in matches), bad ones ----


def _facts(folder: Path, known: Known) -> tuple[list[Match], pd.DataFrame, list[Bad]]:
    facts, rounds = _read(folder / "matches.parquet", MATCHES), _read(folder / "rounds.parquet", ROUNDS)
    if facts.match.duplicated().any():
        raise AgonError(f"{shown(folder / 'matches.parquet')} has two matches of one number: get the file again")
    matches: list[Match] = []
    bad: list[Bad] = []
    usable = []
    for place, fact in enumerate(facts.itertuples(index=False)):
        try:
            matches.append(_match(_conditions(fact), known))
            usable.append(place)
        except Unusable as reason:
            bad.append(Bad(fact.source_path, str(reason)))
    found = pd.Index(facts.match).get_indexer(rounds.match)
    if lost := (found < 0).sum():
        bad.append(Bad("rounds.parquet", f"{lost} rounds left out: matches.parquet does not have their matches"))
    place = np.append(_numbers(usable, len(facts)), -1)[found]
    rounds = rounds.assign(match=place)[place >= 0].sort_values(["match", "round"], kind="stable")
    rows = {name: rounds[name].to_numpy().repeat(2) for name in ("match", "round", "valid")}
    for name in ("action", "points", "tokens"):
        rows[name] = rounds[[name, f"opponent_{name}"]].to_numpy().ravel()
    rows["action"] = pd.Categorical(rows["action"])
    return matches, pd.DataFrame(rows), bad


def _read(path: Path, schema: pya.Schema) -> pd.DataFrame:
    try:
        table = pq.read_table(path, columns=schema.names).select(schema.names).cast(schema)
    except FileNotFoundError:
        raise AgonError(f"{shown(path)} is not there: `dvc pull` brings the published facts") from None
    except (pya.ArrowException, KeyError, OSError) as error:
        raise AgonError(f"{shown(path)} cannot be read ({str(error).splitlines()[0]}): get it again") from None
    gaps = [name for name in schema.names if not name.endswith("action") and table[name].null_count]
    if gaps:
        raise AgonError(f"{shown(path)} has empty cells in {', '.join(gaps)}: get it again")
    return table.to_pandas()


def _conditions(fact: Any) -> Conditions:
    try:
        settings = msgspec.json.decode(fact.payoffs, type=Settings)
    except (msgspec.DecodeError, RecursionError) as error:
        raise Unusable(f"payoffs cannot be read: {error}") from None
    return Conditions(
        path=fact.source_path,
        model=fact.model,
        style=fact.prompt,
        self_consistency=fact.self_consistency,
        opponent=fact.opponent,
        repetition=fact.repetition,
        temperature=fact.temperature,
        max_tokens=fact.max_tokens,
        settings=settings,
    )


def _originals(path: Path, known: Known) -> tuple[list[Match], pd.DataFrame, list[Bad]]:
    games: list[tuple[Match, Played]] = []
    bad: list[Bad] = []
    for found in files(path, "game.json"):
        if isinstance(found, Bad):
            bad.append(found)
            continue
        try:
            game = played(found.path, found.data)
            games.append((_match(game.conditions, known), game))
        except Unusable as reason:
            bad.append(Bad(found.path, str(reason)))
            continue
        for seat, told in enumerate(game.told):
            bad += [Bad(found.path, f"replies of seat {seat} left out: {told.fault}")] if told.fault else []
    games.sort(key=lambda game: game[0].path)
    return [match for match, _ in games], _rows([game for _, game in games]), bad


def _rows(games: list[Played]) -> pd.DataFrame:
    rounds = [len(game.valid) for game in games]

    def by_seat(pairs: Iterable[tuple[list[T], list[T]]]) -> list[T]:
        return [value for one, other in pairs for pair in zip(one, other, strict=True) for value in pair]

    replies = by_seat((one.replies, other.replies) for one, other in (game.told for game in games))
    attempts = by_seat((one.attempts, other.attempts) for one, other in (game.told for game in games))
    return pd.DataFrame(
        {
            "match": np.arange(len(games)).repeat(rounds).repeat(2),
            "round": np.concatenate([np.arange(1, count + 1) for count in [0, *rounds]]).repeat(2),
            "valid": np.array([valid for game in games for valid in game.valid], np.bool_).repeat(2),
            "action": _labelled(by_seat(game.moves for game in games)),
            "points": np.array(by_seat(game.points for game in games), np.float64),
            "tokens": np.array(by_seat(game.tokens for game in games), np.int64),
            "reply": pd.array(pya.array(replies, pya.large_string()), TEXT),
            "attempts": pd.array(attempts, COUNT),
        }
    )


def _labelled(moves: Iterable[str | None]) -> pd.Categorical:
    labels = sorted({move for move in moves if move is not None})
    codes = {label: code for code, label in enumerate(labels)}
    return pd.Categorical.from_codes([codes.get(move, -1) for move in moves], labels)


def _numbers(places: Sequence[int], length: int) -> np.ndarray:
    """Old place -> place among `places`, -1 where it is not among them."""
    numbers = np.full(length, -1)
    numbers[places] = np.arange(len(places))
    return numbers


# ---- which match it is ----


def _match(conditions: Conditions, known: Known) -> Match:
    game = known.get(_payoffs(tuple(conditions.settings.items())))
    if game is None:
        raise Unusable(f"payoffs {json.dumps(conditions.settings):.200} are no known variant")
    if conditions.style not in STYLES or conditions.opponent not in STYLES + SCRIPTS:
        raise Unusable(f"{conditions.style:.20} against {conditions.opponent:.20} are no known players")
    if conditions.repetition < 0:
        raise Unusable(f"repetition is {conditions.repetition}: they are numbered from 0")
    agents = "sc-" * conditions.self_consistency + conditions.style, conditions.opponent
    return Match(
        path=conditions.path,
        key=_hash([conditions.model, agents, game.name, game.variant, conditions.repetition]),
        game=game,
        model=conditions.model,
        agents=agents,
        repetition=conditions.repetition,
        config=_config(conditions.temperature, conditions.max_tokens, game),
    )


@lru_cache
def _payoffs(settings: tuple[tuple[str, float | str], ...]) -> Payoffs:
    """What recorded settings pay: letters name actions, `ab` is what a earns against b; what is left out is zero-sum."""
    names = {key: name for key, name in settings if isinstance(name, str)}
    points = {key: value for key, value in settings if not isinstance(value, str)}
    cells = {a + b: (a, b) for a in list(names)[:9] for b in list(names)[:9]}
    if not cells.keys() >= points.keys():
        return frozenset()
    return frozenset((names[a], names[b], points.get(cell, -points.get(b + a, 0))) for cell, (a, b) in cells.items())


def _payoffs_of(game: MatrixGame) -> Payoffs:
    return frozenset((own, other, game.payoffs((own, other))[0]) for own in game.options for other in game.options)


@lru_cache
def _config(temperature: float, max_tokens: int, game: MatrixGame) -> str:
    return _hash([temperature, max_tokens, game.options, game.payoff])


def _hash(content: list[Any]) -> str:
    return blake2b(json.dumps(content).encode(), digest_size=8).hexdigest()


# ---- what a record may not say ----


def _repeated(matches: list[Match], but: Container[int]) -> dict[int, str]:
    first: dict[str, int] = {}
    places = [place for place in range(len(matches)) if place not in but]
    seen = [(place, first.setdefault(matches[place].key, place)) for place in places]
    return {place: f"is the same match as {matches[before].path}" for place, before in seen if before != place}


def _contradictions(matches: list[Match], rows: pd.DataFrame) -> dict[int, str]:
    """Place of a match -> the first thing in it that its game's rules do not allow."""
    games = list(dict.fromkeys(match.game for match in matches))
    game = np.array([games.index(match.game) for match in matches], dtype=np.int64)
    wanted = np.array([match.game.rounds for match in matches], dtype=np.int64)
    place = rows.match.to_numpy()[::2]
    counts = np.bincount(place, minlength=len(matches))
    reasons = {int(at): f"has {counts[at]} rounds, not {wanted[at]}" for at in np.flatnonzero(counts != wanted)}

    labels = list(rows.action.cat.categories)
    label = rows.action.cat.codes.to_numpy().reshape(-1, 2)
    moves = np.array([*labels, None], object)[label]
    actions = _positions(games, labels)[game[place, None], label]
    paid = _points(games)[game[place], actions[:, 0], actions[:, 1]]
    points = rows.points.to_numpy().reshape(-1, 2)
    valid = rows.valid.to_numpy()[::2]
    due = np.arange(len(place)) - (counts.cumsum() - counts)[place] + 1
    checks: list[tuple[np.ndarray, Callable[[int], str]]] = [
        (rows["round"].to_numpy()[::2] != due, lambda at: "is missing or not in its place"),
        ((actions == FOREIGN).any(axis=1), lambda at: f"{_pair(moves[at])} are not both moves of the game"),
        ((actions >= 0).all(axis=1) != valid, lambda at: f"valid is {valid[at]}, the moves {_pair(moves[at])}"),
        ((points != paid).any(axis=1), lambda at: f"{_pair(moves[at])} pay {_pair(paid[at])}, not {_pair(points[at])}"),
    ]
    for wrong, reason in checks:
        for at in np.flatnonzero(wrong)[np.unique(place[wrong], return_index=True)[1]]:
            reasons.setdefault(int(place[at]), f"round {due[at]}: {reason(at)}")
    return reasons


def _positions(games: list[MatrixGame], labels: Sequence[str]) -> np.ndarray:
    """[game, label] -> the action's position in the game; the last column, for no label, is VOID."""
    places = [{option: place for place, option in enumerate(game.options)} for game in games]
    return np.array([[*(place.get(label, FOREIGN) for label in labels), VOID] for place in places], ndmin=2)


def _points(games: list[MatrixGame]) -> np.ndarray:
    """[game, own position, the other's, seat] -> points; 0 for everybody where a position is VOID, the last one."""
    size = max((len(game.options) for game in games), default=0) + 2
    points = np.zeros((len(games), size, size, 2))
    for at, game in enumerate(games):
        for (i, own), (j, other) in product(enumerate(game.options), repeat=2):
            points[at, i, j] = game.payoffs((own, other))
    return points


def _pair(values: Iterable[str | float | None]) -> str:
    shown = ("none" if value is None else value[:20] if isinstance(value, str) else f"{value:g}" for value in values)
    return " and ".join(shown)


# ---- turns ----


def _turns(matches: list[Match], rows: pd.DataFrame) -> pd.DataFrame:
    match = rows.match.to_numpy()
    seat = np.arange(len(rows)) % 2

    def each(values: Iterable[Any]) -> pd.Categorical:
        return pd.Categorical(list(values))[match]

    def by_seat(values: Iterable[Sequence[Any]]) -> pd.Categorical:
        return pd.Categorical([value for pair in values for value in pair])[2 * match + seat]

    action = rows.action.cat.remove_unused_categories().array
    agent = by_seat(match.agents for match in matches)
    recorded = {name: rows[name] for name in ("reply", "attempts") if name in rows}
    return typed(
        {
            "experiment": pd.Categorical.from_codes(np.zeros(len(rows), np.int8), ["counterfactual"]),
            "match": pd.Categorical.from_codes(match, [match.key for match in matches]),
            "game": each(match.game.name for match in matches),
            "variant": each(match.game.variant for match in matches),
            "rules": np.array([match.game.rules for match in matches], np.int64)[match],
            "repetition": np.array([match.repetition for match in matches], np.int64)[match],
            "round": rows["round"],
            "turn": rows["round"],
            "phase": pd.Categorical.from_codes(np.zeros(len(rows), np.int8), ["move"]),
            "seat": seat,
            "agent": agent,
            "model": by_seat(match.models for match in matches),
            "legal": by_seat(_legal(match.game) for match in matches),
            "action": action.rename_categories([json.dumps(label) for label in action.categories]),
            "valid": rows.valid,
            "fallback": pd.Categorical.from_codes((action.codes < 0).astype(np.int8), ["", "void"]),
            "payoff": rows.points,
            "tokens": np.where(agent.isin(SCRIPTS), 0, rows.tokens),
            "config": each(match.config for match in matches),
            **recorded,
        }
    )


@lru_cache
def _legal(game: MatrixGame) -> tuple[str, ...]:
    state = game.start(Random(0))
    return tuple(json.dumps(game.legal_actions(state, seat).as_json()) for seat in range(game.seats))
