"""Certificates: that a game is a twin of another, or what speaks against it; and what moved in a near-twin.

A twin is stepped beside its original: whatever is done in one is done in the other, and every seat must see, may do and is paid
what the map says. A family says what solves its games in `solutions.py`: `solutions(game)`, facts by name.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property, lru_cache
from itertools import islice, product
from math import isclose, prod
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from agon.agents.telling import told
from agon.conf import CONF, load
from agon.errors import count
from agon.games.base import PUBLIC, Game, IllegalAction, Observation
from agon.games.spaces import Choice, Space
from agon_twins.family import of_family
from agon_twins.isomorphism import OWN, PAYOFFS, Isomorphism
from agon_twins.names import claims, smaller
from agon_twins.twin import map_of

STATES = 2_000
"""States that are visited one after another, each with all that can be done in it."""
WIDEST = 200
"""Where more can be done at once, no state is visited but in random play."""
MENU = 2
"""In a small version a seat whose answers cannot be listed, or are more than a dozen, has so many of them, and none."""
FEW = 12
PLAYS, ENOUGH, FURTHER = 20, 200, 2
"""Matches of random actions: at most so many, and after four none where so many states have come up in them; and in further settings."""
VOID = 0.1
"""How often a seat in random play gives no readable action."""


class Check(NamedTuple):
    """What was found out about a claim."""

    counterexample: str
    """Where and in what the two differ, in one line; empty where they do not."""
    states: int
    """Pairs of states that were compared."""
    plays: int
    """Matches that were played to their end."""
    complete: bool
    """Whether these were all states that there are."""
    depth: int = 0
    """In so many first steps all that can be done was done."""

    @property
    def how(self) -> str:
        """What was compared, in words."""
        if self.complete:
            return f"all {count(self.states, 'state')}"
        first = f"all that can be done in the first {count(self.depth, 'step')}, and " if self.depth else ""
        return f"{first}{count(self.plays, 'random match')}: {count(self.states, 'state')}"


class _Differs(Exception):
    """The two games differ."""


class _Asked(NamedTuple):
    """What a seat is asked in a state."""

    phase: str
    legal: Space
    there: Space
    """What it may do in the twin."""


def _bare(view: Observation) -> Observation:
    """A view without what is compared by itself: what may be answered, rules and telling."""
    return Observation(view.seat, view.round, None, view.past, None, view.phase, view.role)


@dataclass(frozen=True)
class _Pair:
    """A game, what is said to be its twin, and the map."""

    game: Game[Any]
    twin: Game[Any]
    map: Isomorphism
    _alike: dict[tuple[int, int], Any] = field(default_factory=dict)
    """Rules that are alike."""
    _answered: set[tuple[Space, Space, int, str]] = field(default_factory=set)
    """What may be answered that has been compared: much of it comes again in other states."""

    def compare_seats(self) -> None:
        """What is said of the seats before anything is played. Raises _Differs."""
        self._same("the number of seats", self.game.seats, self.twin.seats)
        tested = sorted(map(self.map.seat, self.game.tested))
        self._same("the seats under test", tested, sorted(self.twin.tested))
        self._same("the roles", self.map.by_seats([self.map.text(role) for role in self.game.roles]), self.twin.roles)
        self._same("the number of rounds", self.game.fixed_rounds, self.twin.fixed_rounds)
        for seat in (PUBLIC, *range(self.game.seats)):
            secrets = sorted(map(self.map.text, self.game.secrets(seat)))
            self._same("what it must not see", secrets, sorted(self.twin.secrets(self.map.seat(seat))), seat)

    def compare(self, state: Any, there: Any) -> dict[int, _Asked]:
        """All that can be known of a state; what each seat to move is asked. Raises _Differs."""
        asked, asked_there = self.game.to_move(state), self.twin.to_move(there)
        self._same("who is to move", sorted(map(self.map.seat, asked)), sorted(asked_there))
        found = {}
        for seat in asked:
            view, its = self.game.observe(state, seat), self.map.seat(seat)
            self._views(view, self.twin.observe(there, its), seat)
            legal = self.game.legal_actions(state, seat), self.twin.legal_actions(there, its)
            self._spaces(*legal, seat, view.phase)
            found[seat] = _Asked(view.phase, *legal)
        self._views(self.game.watch(state), self.twin.watch(there), PUBLIC)
        return found

    def step(self, state: Any, there: Any, actions: Mapping[int, Any], asked: Mapping[int, _Asked]) -> tuple[Any, Any]:
        """Both after some actions of the original. Raises _Differs."""
        mapped = {}
        for seat, action in sorted(actions.items(), key=lambda each: self.map.seat(each[0])):
            mapped[self.map.seat(seat)] = None if action is None else self.map.value(action, asked[seat].phase)
        state, paid = self.game.step(state, actions)
        try:
            there, paid_there = self.twin.step(there, mapped)
        except IllegalAction as error:
            raise _Differs(f"the twin refuses {mapped}: {error}") from None
        wanted = self.map.paid(paid)
        if None in actions.values() and all(map(isclose, paid_there, wanted_void := self._unshifted.paid(paid))):
            wanted = wanted_void
        for seat, (one, other) in enumerate(zip(wanted, paid_there, strict=True)):
            if not isclose(one, other, rel_tol=1e-9, abs_tol=1e-9):
                raise _Differs(f"{self._who(self.map.inverse.seat(seat))} is paid {other:g} there, not {one:g}")
        return state, there

    @cached_property
    def _unshifted(self) -> Isomorphism:
        """What a round that does not count pays: nothing is added."""
        return replace(self.map, shift=0)

    def _views(self, view: Observation, there: Observation, seat: int) -> None:
        bare, bare_there = _bare(view), _bare(there)
        if (mapped := self.map.view(bare)) != bare_there:
            for name in ("seat", "round", "phase", "role", "past"):
                said = {"past": "what it has seen"}.get(name, f"its {name}")
                self._same(said, getattr(mapped, name), getattr(there, name), seat)
        rules = self.map.rules_of(view)
        if (id(rules), id(there.rules)) not in self._alike:
            for path, one, other in differences(rules, there.rules):
                said = f"{path or 'of the rules'}: {_short(one)} is said there to be {_short(other)}"
                raise _Differs(f"{self._who(seat)} is told {said}")
            self._alike[id(rules), id(there.rules)] = rules, there.rules
        if self.map.inverse.view(bare_there) != bare:
            raise _Differs(f"what {self._who(seat)} sees there could mean several things: two of them look alike")

    def _spaces(self, legal: Space, there: Space, seat: int, phase: str) -> None:
        if (known := (legal, there, seat, phase)) in self._answered:
            return
        mapped = self.map.space(legal, phase)
        if type(mapped) is not type(there):
            raise _Differs(f"{self._who(seat)} answers by {type(there).__name__} there, not by {type(mapped).__name__}")
        self._same("what it may do", mapped.as_json(), there.as_json(), seat)
        dice = Random(f"{legal} {seat}")
        samples = list(legal.listed() or [legal.example(dice) for _ in range(5)])[:WIDEST]
        images: dict[Any, Any] = {}
        for action in samples:
            image = self.map.value(action, phase)
            if image not in there:
                raise _Differs(f"{self._who(seat)} may do {_short(action)}, and not {_short(image)} there")
            if (first := images.setdefault(_key(image), action)) != action:
                raise _Differs(f"{_short(first)} and {_short(action)} are both {_short(image)} there")
        listed = there.listed()
        for action in listed[:WIDEST] if listed is not None else [there.example(dice) for _ in range(5)]:
            if self.map.inverse.value(action, phase) not in legal:
                raise _Differs(f"{self._who(seat)} may do {_short(action)} there, which is nothing in the original")
        for action in samples:  # a word of the original means something there only if it is one of the map
            if (action in there) != (self.map.inverse.value(action, phase) in legal):
                raise _Differs(f"{self._who(seat)} may do {_short(action)} in one of the two only")
        if isinstance(legal, Choice) and listed is not None and len(set(listed)) < len(listed):
            raise _Differs(f"{self._who(seat)} is offered {_short(listed)}: one option twice")
        self._answered.add(known)

    def _same(self, what: str, wanted: Any, found: Any, seat: int | None = None) -> None:
        if wanted != found and next(differences(wanted, found), None):
            path, one, other = next(differences(wanted, found))
            whose = "" if seat is None else f" of {self._who(seat)}"
            raise _Differs(f"{what}{whose}{f' ({path})' if path else ''} is {_short(other)} there, not {_short(one)}")

    def _who(self, seat: int) -> str:
        return "the public" if seat == PUBLIC else f"seat {seat}"


def check(
    game: Game[Any], twin: Game[Any], map: Isomorphism, states: int = STATES, plays: int = PLAYS, menu: int = 0
) -> Check:
    """Whether `twin` is `game` under `map`.

    Every state is compared, from the start on, as long as there are at most `states`, with every action of every seat, and none
    at all; where there are more, random matches are played to their end as well, half of them by actions drawn in the twin.
    `menu`: where answers are many, so many of them stand for all.
    """
    pair, seen, done = _Pair(game, twin, map), 0, 0
    history: tuple[Any, ...] = ()
    try:
        pair.compare_seats()
        state, there = game.start(_dice(0)), twin.start(_dice(0))
        waiting, complete = deque([(state, there, history)]), True
        while waiting and complete:
            state, there, history = waiting.popleft()
            asked = pair.compare(state, there)
            seen += 1
            for actions in _everything(asked, menu):
                if actions is None or seen + len(waiting) >= states:
                    complete = False
                    break
                waiting.append((*_stepped(pair, state, there, actions, asked), (*history, actions)))
        listed, depth = seen, len(history)
        for number in range(0 if complete else plays):
            if done >= 4 and seen - listed >= ENOUGH:
                break
            history = ()
            state, there, dice = game.start(_dice(number)), twin.start(_dice(number)), Random(number)
            while asked := pair.compare(state, there):
                seen += 1
                actions = {seat: _drawn(each, map, dice, number % 2 == 1) for seat, each in asked.items()}
                state, there = _stepped(pair, state, there, actions, asked)
                history = (*history, actions)
            seen, done = seen + 1, done + 1
    except _Differs as found:
        return Check(f"{_told(history)}: {found}", seen, done, False)
    return Check("", seen, done, complete, depth)


def _stepped(
    pair: _Pair, state: Any, there: Any, actions: Mapping[int, Any], asked: Mapping[int, _Asked]
) -> tuple[Any, Any]:
    try:
        return pair.step(state, there, actions, asked)
    except _Differs as found:
        raise _Differs(f"{found}, when {_short(dict(actions))} is done") from None


def _dice(number: int) -> Random:
    return Random(f"certificate {number}")


def _everything(asked: Mapping[int, _Asked], menu: int) -> Iterator[dict[int, Any] | None]:
    """All that can be done at once, nothing included; None where it is too much to be listed."""
    options = [_options(each.legal, menu) for each in asked.values()]
    known = [[*each, None] for each in options if each is not None]
    if len(known) < len(asked) or prod(map(len, known)) > WIDEST:
        yield None
    elif asked:
        for chosen in product(*known):
            yield dict(zip(asked, chosen, strict=True))


def _options(legal: Space, menu: int) -> Sequence[Any] | None:
    """What may be answered, or a `menu` of it where that is much."""
    listed, dice = legal.listed(), Random(0)
    if not menu or (listed is not None and len(listed) <= FEW):
        return listed
    return list({_key(each): each for each in (legal.example(dice) for _ in range(menu))}.values())


def _drawn(asked: _Asked, map: Isomorphism, dice: Random, in_twin: bool) -> Any:
    if dice.random() < VOID:
        return None
    return map.inverse.value(asked.there.example(dice), asked.phase) if in_twin else asked.legal.example(dice)


def _told(history: Sequence[Mapping[int, Any]]) -> str:
    """Where a match stands, in words."""
    if not history:
        return "at the start"
    said = "; ".join(_short(dict(each)) for each in history[-2:])
    return f"after {count(len(history), 'step')} ({'... ' if len(history) > 2 else ''}{said})"


def _key(value: Any) -> str:
    return repr(value)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def differences(one: Any, other: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Where two values of facts differ: the path to it, and both. What a game is called does not count."""
    if one is other:
        return
    if is_dataclass(one) and type(one) is type(other):
        pairs = [(each.name, getattr(one, each.name), getattr(other, each.name)) for each in fields(one) if each.init]
    elif isinstance(one, tuple) and hasattr(one, "_fields") and type(one) is type(other):
        pairs = list(zip(one._fields, one, other, strict=True))
    elif isinstance(one, Mapping) and isinstance(other, Mapping) and set(one) == set(other):
        pairs = [(str(key), value, other[key]) for key, value in one.items()]
    elif isinstance(one, tuple | list) and isinstance(other, tuple | list) and len(one) == len(other):
        pairs = [(str(place), *both) for place, both in enumerate(zip(one, other, strict=True))]
    else:
        if one != other:
            yield path, one, other
        return
    for name, first, second in pairs:
        if (path or name not in OWN) and name != "digest":
            yield from differences(first, second, f"{path} {name}".strip())


@lru_cache(maxsize=64)
def solutions(game: Game[Any]) -> Mapping[str, Any]:
    """What solves a game, by the names of its family; nothing where the family does not say. Found once for all twins of a game."""
    solve = of_family(game, "solutions")
    return solve(game) if solve else {}


def moved(game: Game[Any], other: Game[Any], map: Isomorphism) -> dict[str, tuple[Any, Any]]:
    """The solutions of `game`, as `map` says them, that are not those of `other`: from and to."""
    points = of_family(game, "POINTS", ())
    before = {name: map.value(each, PAYOFFS if name in points else name) for name, each in solutions(game).items()}
    after = solutions(other)
    return {name: (value, after.get(name)) for name, value in before.items() if not _alike(value, after.get(name))}


def _alike(one: Any, other: Any) -> bool:
    """Equality, but for the last digits of numbers."""
    if isinstance(one, float) and isinstance(other, int | float):
        return isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    if isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
        return all(_alike(first, second) for first, second in zip(one, other, strict=True))
    if isinstance(one, Mapping) and isinstance(other, Mapping) and set(one) == set(other):
        return all(_alike(one[key], other[key]) for key in one)
    return bool(one == other)


def changed(game: Game[Any], other: Game[Any], map: Isomorphism) -> list[str]:
    """What differs between what two games say of their rules at the start, beyond `map`: paths, at most twenty."""
    views = [each.observe(state, each.to_move(state)[0]) for each in (game, other) for state in [each.start(_dice(0))]]
    found = differences(map.view(views[0]).rules, views[1].rules)
    return [path for path, _, _ in islice(found, 20)]


# ---- the table


def certified(conf: Path = CONF) -> Iterator[dict[str, Any]]:
    """A certificate for each twin and near-twin that conf/twin declares, in the order of its files. Raises AgonError."""
    for (name, called), claim in claims(conf).items():
        game, other = load("game", name, conf), load("game", f"{name}~{called}", conf)
        row = {"game": game.name, "setting": game.variant, "twin": called}
        row |= {"claim": "twin" if claim.twin else "near-twin"}
        row |= certificate(game, other, claim.twin, states=1 if claim.small else STATES)
        yield row | (_elsewhere(name, called, conf) if claim.twin and row["holds"] else {})


def _elsewhere(name: str, called: str, conf: Path) -> dict[str, Any]:
    """Whether a twin is one in the small version of its game, and in other settings; the first counterexample."""
    found, claim = dict[str, Any](), claims(conf)[name, called]
    if pair := smaller(name, called, conf):
        small = check(*pair, map_of(pair[1]), plays=0, menu=MENU)
        said = f"{'all' if small.complete else 'the first'} {count(small.states, 'state')} where {spelled(claim.small)}"
        found = {"small version": said, "holds": not small.counterexample}
        found["counterexample"] = small.counterexample and f"where {spelled(claim.small)}, {small.counterexample}"
    for each in claim.also if found.get("holds", True) else ():
        game, other = load("game", each, conf), load("game", f"{each}~{called}", conf)
        seen = check(game, other, map_of(other), states=1, plays=FURTHER)
        fault = seen.counterexample or "".join(_shift(moved(game, other, map_of(other)))[:1])
        found |= {"holds": not fault, "counterexample": fault and f"in {each}, {fault}"}
        if fault:
            break
    return found | {"also holds in": ", ".join(claim.also) if found.get("holds") else ""}


def certificate(game: Game[Any], other: Game[Any], claimed: bool, states: int = STATES) -> dict[str, Any]:
    """What was found out about the claim that another game is a twin, or else a near-twin.

    `holds`: whether it is proved. Of a twin: no difference was found, and what solves it is what solves the original. Of a near-twin: it
    asks the same seats for the same, says what is different, and something that solves the original does not solve it.
    `compared`: what was, or which facts of the rules are others; `told`: how much of what is told at the start differs;
    `same solutions`, `moved`: what solves both, and what does not, from and to.
    """
    map = map_of(other)
    shift, lines, new = moved(game, other, map), _lines(game), _lines(other)
    if claimed:
        found = check(game, other, map, states)
        fault, compared = found.counterexample or "".join(_shift(shift)[:1]), found.how
        silent = f"none of the words {', '.join(old for old, _ in map.words.pairs)} is told" if map.words.pairs else ""
    else:
        found = Check(asked_alike(game, other, map), 1, 0, complete=False)
        fault = found.counterexample or ("" if shift else "what solves the one solves the other")
        facts = changed(game, other, map)
        compared = "; ".join(facts) or "the texts alone"
        silent = "" if facts else "what is told is the same, so that nobody can know of the change"
    if not fault and lines == new and silent:
        fault = f"at the start: {silent}"
    return {
        "holds": not fault,
        "compared": compared,
        "told": f"{sum(line not in lines for line in new)} of {count(len(new), 'line')} differ",
        "states": found.states,
        "plays": found.plays,
        "same solutions": ", ".join(sorted(set(solutions(game)) - set(shift))),
        "moved": "; ".join(_shift(shift)),
        "counterexample": fault,
    }


def _lines(game: Game[Any]) -> list[str]:
    """What the seats that are asked first are told."""
    state = game.start(_dice(0))
    return [line for seat in game.to_move(state) for line in told(game.observe(state, seat)).splitlines()]


def asked_alike(game: Game[Any], other: Game[Any], map: Isomorphism) -> str:
    """Whether the same seats are asked for the same at the start; what differs, in a line."""
    state, there = game.start(_dice(0)), other.start(_dice(0))
    asked = sorted(map.seat(seat) for seat in game.to_move(state))
    if asked != sorted(other.to_move(there)):
        return f"at the start: {list(other.to_move(there))} are to move there, not {asked}"
    for seat in game.to_move(state):
        phase = game.observe(state, seat).phase
        one = map.space(game.legal_actions(state, seat), phase).as_json()
        if one != (found := other.legal_actions(there, map.seat(seat)).as_json()):
            return f"at the start: what seat {seat} may do is {_short(found)} there, not {_short(one)}"
    return ""


def _shift(shift: Mapping[str, tuple[Any, Any]]) -> list[str]:
    """What has moved, from and to, in words."""
    found = []
    for name, (one, other) in shift.items():
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            keys = [key for key in {**one, **other} if not _alike(one.get(key), other.get(key))]
            one, other = ({key: each[key] for key in keys if key in each} for each in (one, other))
        found.append(f"{name}: from {spelled(one)} to {spelled(other)}")
    return found


def spelled(value: Any) -> str:
    """A fact in one line, the same in every run."""
    if isinstance(value, Mapping):
        return (
            ", ".join(f"{spelled(key)} {spelled(each)}" for key, each in sorted(value.items(), key=repr_of))
            or "nothing"
        )
    if isinstance(value, frozenset | set):
        return "{" + ", ".join(sorted(map(spelled, value))) + "}"
    if isinstance(value, tuple | list):
        return " ".join(map(spelled, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def repr_of(item: tuple[Any, Any]) -> str:
    """By what facts are sorted."""
    return spelled(item[0])
