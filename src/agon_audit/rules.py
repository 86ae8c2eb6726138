"""The rules of recorded games: the actions, and their payoffs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from agon.conf import load
from agon.errors import AgonError, visible
from agon_audit.mapping import Rules
from agon_audit.turns import CHANCE_SEAT, Games

if TYPE_CHECKING:
    import pandas as pd

VOID, UNKNOWN = -1, -2
"""Stand for an action's position: there is no action, or one that the game does not have."""


@dataclass
class Payment:
    """The verdict of rules on rows of recorded games, in their order."""

    legal: np.ndarray
    """1: the action is one of the game; 0: it is not; NaN: the rules do not say."""
    paid: np.ndarray
    """Points that the rules pay in this round; NaN where they do not say."""
    paid_total: np.ndarray
    """The same for the whole match."""
    faults: dict[int, str] = field(default_factory=dict)
    """Place of a row -> why the match cannot be replayed from there."""
    skipped: list[str] = field(default_factory=list)
    """Parts that could not be checked, and why."""

    @classmethod
    def unknown(cls, rows: int) -> Payment:
        """A payment that says nothing about any row."""
        legal, paid, paid_total = np.full((3, rows), np.nan)
        return cls(legal, paid, paid_total)


class Judge(Protocol):
    """Rules that can be applied."""

    @property
    def source(self) -> str:
        """Where they come from, in words."""

    @property
    def rounds(self) -> int | None:
        """The fixed number of rounds."""

    @property
    def content(self) -> str:
        """Text that changes if the rules change."""

    def apply(self, games: Games, rows: pd.DataFrame) -> Payment:
        """The payment of `rows` of `games`, which hold whole matches."""


@dataclass(frozen=True)
class Table:
    """A game in normal form. `payoff` has one axis for each seat, and a last one for the points of each seat."""

    source: str
    actions: Sequence[Sequence[str]]
    payoff: np.ndarray
    rounds: int | None = None
    void: float | None = None

    def __post_init__(self) -> None:
        shape = (*map(len, self.actions), len(self.actions))
        if self.payoff.shape != shape:
            raise AgonError(f"{self.source}: payoff has shape {self.payoff.shape}, and the actions need {shape}")
        if any(len(set(own)) != len(own) for own in self.actions):
            raise AgonError(f"{self.source}: a seat has the same action twice")

    @property
    def content(self) -> str:
        """Actions, payoffs, rounds and what a void round pays."""
        return json.dumps([self.actions, self.payoff.tolist(), self.rounds, self.void])

    def apply(self, games: Games, rows: pd.DataFrame) -> Payment:
        """The payoffs of all rounds at once. A round in which a seat has no row or two rows pays nothing that is known."""
        seats = len(self.actions)
        place = self._places(games, rows)
        seat = rows.seat.to_numpy()
        inside = (seat >= 0) & (seat < seats)
        group = np.unique(games.group[rows.index], return_inverse=True)[1]
        profile = np.full((group.max(initial=-1) + 1, seats), UNKNOWN)
        profile[group[inside], seat[inside]] = place[inside]
        rows_of_seat = np.zeros(profile.shape, np.int64)
        np.add.at(rows_of_seat, (group[inside], seat[inside]), 1)
        whole = (rows_of_seat == 1).all(axis=1)
        points = np.full(profile.shape, np.nan)
        known = whole & (profile >= 0).all(axis=1)
        points[known] = self.payoff[tuple(profile[known].T)]
        if self.void is not None:
            points[whole & (profile != UNKNOWN).all(axis=1) & (profile == VOID).any(axis=1)] = self.void
        paid = np.full(len(rows), np.nan)
        paid[inside] = points[group[inside], seat[inside]]
        total = rows[["match", "seat"]].assign(paid=paid).groupby(["match", "seat"], observed=True).paid
        return Payment(
            np.where(place == VOID, np.nan, (place >= 0) & inside),
            paid,
            total.transform("sum", skipna=False).to_numpy(),
        )

    def _places(self, games: Games, rows: pd.DataFrame) -> np.ndarray:
        """The position of each row's action among the actions of its seat."""
        place = np.where(rows.action.isna(), VOID, UNKNOWN)
        options, place_of_option = len(games.mapping.options), games.place[rows.index]
        if options:
            shown = place_of_option < options
            return np.where(shown, place_of_option, place)
        codes, names = rows.action.cat.codes.to_numpy(), list(map(str, rows.action.cat.categories))
        for seat, own in enumerate(self.actions):
            at = {action: number for number, action in enumerate(own)}
            of_code = np.array([*(at.get(name, UNKNOWN) for name in names), VOID])
            mine = rows.seat.to_numpy() == seat
            place[mine] = of_code[codes[mine]]
        return place


class Tree(Protocol):
    """A game whose matches are replayed one by one."""

    def replay(self, moves: Sequence[tuple[int, int, str]]) -> Replay:
        """The match of these moves: (round, seat, action)."""


@dataclass
class Replay:
    """A match under its rules."""

    count: int
    """How many moves fit."""
    payoffs: list[tuple[float, ...]]
    """The points of every seat at the end; several where chance is not recorded. Empty where the end was not reached."""
    fault: str = ""
    """Why the move after these does not fit, or why there should be more."""
    skipped: str = ""
    """Why the match cannot be replayed at all."""


@dataclass(frozen=True)
class Matches:
    """Rules that replay each match."""

    source: str
    tree: Tree
    content: str
    rounds: int | None = None

    def apply(self, games: Games, rows: pd.DataFrame) -> Payment:
        """Replays each match, and compares the points at its end."""
        payment = Payment.unknown(len(rows))
        start = rows.index
        for _, match in rows.groupby("match", observed=True, sort=False):
            places = start.get_indexer(match.index)
            match = match[match.action.notna()].sort_values("round", kind="stable")
            moves = list(zip(match["round"], match.seat, match.action.astype("str"), strict=True))
            replay = self.tree.replay(moves)
            if replay.skipped:
                payment.skipped.append(replay.skipped)
                continue
            order = start.get_indexer(match.index)
            payment.legal[order[: replay.count]] = 1
            if replay.fault:
                at = min(replay.count, len(order) - 1)
                payment.faults[int(order[at] if len(order) else places[0])] = replay.fault
            if replay.payoffs:
                recorded = dict(zip(match.seat, games.score[match.index], strict=True))
                points = min(replay.payoffs, key=partial(_distance, recorded))
                seats = rows.seat.to_numpy()[places]
                inside = (seats >= 0) & (seats < len(points))
                payment.paid_total[places[inside]] = np.array(points)[seats[inside]]
        payment.skipped = list(dict.fromkeys(payment.skipped))
        return payment


def _distance(recorded: Mapping[int, float], points: Sequence[float]) -> float:
    """The distance between computed and recorded points."""
    return sum(
        abs(points[seat] - value) for seat, value in recorded.items() if 0 <= seat < len(points) and value == value
    )


class GambitTree:
    """A game in extensive form, from a file of Gambit. Chance may be recorded (seat -1) or not."""

    def __init__(self, path: Path) -> None:
        import pygambit

        self._game, self._at = pygambit.read_efg(str(path)), pygambit.H.path
        self._players = list(self._game.players)

    def replay(self, moves: Sequence[tuple[int, int, str]]) -> Replay:
        """Follows all paths that the recorded actions leave open."""
        paths = [((), (0.0,) * len(self._players))]
        for number, (_, seat, action) in enumerate(moves):
            ahead = [
                (step := (*path, action), self._paid(step, points))
                for path, points in self._closed(paths, recorded=seat == CHANCE_SEAT)
                if self._seat(path) == seat and action in self._game.get_actions(self._at(*path))
            ]
            if not ahead:
                return Replay(number, [], f"seat {seat} cannot play {action!r} here")
            paths = ahead
        ends = [(path, points) for path, points in self._closed(paths) if self._seat(path) is None]
        return Replay(len(moves), [points for _, points in ends], "" if ends else "the game is not at its end here")

    def _seat(self, path: tuple[str, ...]) -> int | None:
        player = self._game.get_player(self._at(*path))
        return None if player is None else self._players.index(player) if player in self._players else CHANCE_SEAT

    def _paid(self, path: tuple[str, ...], points: tuple[float, ...]) -> tuple[float, ...]:
        outcome = self._game.get_outcome(self._at(*path))
        if outcome is None:
            return points
        payoffs = self._game.get_outcome_payoffs(outcome)
        return tuple(value + float(payoffs[player]) for value, player in zip(points, self._players, strict=True))

    def _closed(self, paths: Sequence[Any], recorded: bool = False) -> Iterator[Any]:
        """These paths, with every chance event that nobody recorded played in all ways."""
        for path, points in paths:
            if recorded or self._seat(path) != CHANCE_SEAT:
                yield path, points
            else:
                steps = [(*path, action) for action in self._game.get_actions(self._at(*path))]
                yield from self._closed([(step, self._paid(step, points)) for step in steps])


class SpielTree:
    """A game of OpenSpiel. Actions are its numbers or its words."""

    def __init__(self, name: str) -> None:
        import pyspiel

        self._game = pyspiel.load_game(name)
        self._sampled = self._game.get_type().chance_mode == pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC

    def replay(self, moves: Sequence[tuple[int, int, str]]) -> Replay:
        """Plays the recorded actions."""
        if self._sampled:
            return Replay(
                0, [], skipped="OpenSpiel draws the chance events of this game itself, so no match can be replayed"
            )
        state, at = self._game.new_initial_state(), 0
        while True:
            if state.is_chance_node():
                outcomes = state.legal_actions()
                if at < len(moves) and moves[at][1] == CHANCE_SEAT:
                    if (action := _number_of(state, CHANCE_SEAT, moves[at][2])) is None:
                        return Replay(at, [], f"chance cannot be {moves[at][2]!r} here")
                    at += 1
                elif len(outcomes) == 1:
                    action = outcomes[0]
                else:
                    return Replay(
                        0, [], skipped="its chance events are not recorded, so its matches cannot be replayed"
                    )
                state.apply_action(action)
                continue
            if state.is_terminal() or at == len(moves):
                break
            simultaneous = state.is_simultaneous_node()
            seats = [*range(self._game.num_players())] if simultaneous else [state.current_player()]
            step = {seat: action for round_, seat, action in moves[at : at + len(seats)] if round_ == moves[at][0]}
            if sorted(step) != seats:
                return Replay(at, [], f"seats {seats} are to move, and seats {sorted(step)} have moved")
            actions = [_number_of(state, seat, step[seat]) for seat in seats]
            if None in actions:
                seat = seats[actions.index(None)]
                return Replay(at, [], f"seat {seat} cannot play {step[seat]!r} here")
            _ = state.apply_actions(actions) if simultaneous else state.apply_action(actions[0])
            at += len(seats)
        if not state.is_terminal():
            return Replay(at, [], "the game is not at its end here")
        payoffs = [tuple(state.returns())]
        return Replay(at, payoffs, f"the game is over after {at} of its {len(moves)} moves" if at < len(moves) else "")


def _number_of(state: Any, seat: int, action: str) -> int | None:
    """The number of a legal action, of its number or its words."""
    legal = state.legal_actions() if seat == CHANCE_SEAT else state.legal_actions(seat)
    return next((one for one in legal if action in (str(one), state.action_to_string(seat, one))), None)


def read_rules(rules: Rules, folder: Path) -> Judge:
    """The rules that a mapping names. Files lie in `folder`, unless their path is absolute. Raises AgonError."""
    if rules.game:
        return conf_rules(rules)
    if rules.openspiel:
        return openspiel_rules(rules.openspiel, rules.rounds)
    if rules.file:
        return _gambit_rules(folder / Path(rules.file).expanduser(), rules)
    try:
        payoff = np.array(rules.payoff, dtype=np.float64)
    except (ValueError, TypeError):
        raise AgonError("rules: payoff must be numbers, in lists of the same length at each level") from None
    seats = payoff.shape[-1] if payoff.ndim else 0
    nested = bool(rules.actions) and isinstance(rules.actions[0], list)
    actions: Any = rules.actions if nested else [rules.actions] * seats
    return Table("the payoff table of the mapping", actions, payoff, rules.rounds, rules.void)


def conf_rules(rules: Rules) -> Table:
    """The rules of a file of conf/game. Raises AgonError where its game is in no normal form."""
    try:
        game = load("game", rules.game)
    except AgonError as error:
        raise AgonError(f"rules: game: {error} (`agon list games` names all)") from None
    form = game.normal_form
    if form is None:
        raise AgonError(
            f"rules: game: conf/game/{rules.game}.yaml is no game in normal form, so only turns of agon can be replayed in it"
        )
    return form_rules(form, f"conf/game/{rules.game}.yaml", rules.rounds or game.fixed_rounds, rules.void)


def form_rules(form: Any, source: str, rounds: int | None, void: float | None) -> Table:
    """The rules of a game in normal form (agon.games.base.NormalForm)."""
    return Table(source, [*map(list, form.action_sets)], np.array(form.payoff, dtype=np.float64), rounds, void)


def _gambit_rules(path: Path, rules: Rules) -> Judge:
    import pygambit

    if not path.is_file():
        raise AgonError(f"rules: there is no file {path}")
    source, digest = f"the file {path.name}", sha256(path.read_bytes()).hexdigest()
    try:
        if path.suffix == ".efg":
            return Matches(source, GambitTree(path), digest, rules.rounds)
        game = pygambit.read_nfg(str(path))
    except (ValueError, OSError) as error:
        raise AgonError(f"rules: Gambit cannot read {path.name}: {visible(str(error))[:200]}") from None
    actions = [list(game.get_strategies(player)) for player in game.players]
    payoff = np.stack([np.array(array, dtype=np.float64) for array in game.to_arrays()], axis=-1)
    return Table(source, actions, payoff, rules.rounds, rules.void)


SPIEL_NAME = re.compile(r"\w+(\((\w+=[\w.+-]*,?)*\))?")
"""A name with simple parameters. Games inside of games, and paths, are not read from files of others."""


def openspiel_rules(name: str, rounds: int | None = None) -> Judge:
    """A game of OpenSpiel. Raises AgonError where it is not installed, and for a game that it does not have or that reads a file."""
    try:
        import pyspiel
    except ImportError:
        raise AgonError("OpenSpiel is not installed, so its games cannot be replayed: pip install open_spiel") from None
    if not SPIEL_NAME.fullmatch(name) or re.search(r"file\w*=\w", name):
        raise AgonError(f"{visible(name)[:80]!r} is no game of OpenSpiel with plain parameters")
    try:
        return Matches(f"OpenSpiel's {name}", SpielTree(name), name, rounds)
    except (pyspiel.SpielError, ValueError, RuntimeError) as error:
        raise AgonError(f"OpenSpiel has no game {name!r}: {visible(str(error)).splitlines()[0][:100]}") from None
