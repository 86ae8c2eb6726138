"""Certificates: proof that a game is a twin of another, or a counterexample; and the solutions that move in a near-twin.

A twin is stepped beside its original, with the same actions. In every state each seat's view, action space and payoff must be what the
map says. `solutions(game)` in a family's `twins.py` gives what solves its games: facts by name.
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

from agon.agents.telling import observation_text
from agon.conf import CONF, load
from agon.errors import count
from agon.games.base import PUBLIC, Game, IllegalAction, Observation
from agon.games.spaces import Choice, Space
from agon_twins.family import of_family
from agon_twins.isomorphism import OWN, PAYOFFS, Isomorphism
from agon_twins.names import claims, smaller
from agon_twins.twin import map_of

STATES = 2_000
"""Most states that are visited with all joint actions."""
WIDEST = 200
"""Most joint actions of a state. Beyond, states are visited in random play only."""
MENU = 2
"""Answers of a seat in a small version, beside none, where its answers cannot be listed or are more than FEW."""
FEW = 12
PLAYS, ENOUGH, FURTHER = 20, 200, 2
"""Most matches of random play; the number of states after which four matches are enough; matches in each further setting."""
VOID = 0.1
"""How often a seat in random play gives no readable action."""


class Check(NamedTuple):
    """The result of checking a claim."""

    counterexample: str
    """Where the two differ, and in what, in one line; empty where they do not."""
    states: int
    """Number of pairs of states that were compared."""
    plays: int
    """Number of matches that were played to their end."""
    complete: bool
    """Whether these were all states of the game."""
    depth: int = 0
    """Number of first steps in which all joint actions were tried."""

    @property
    def how(self) -> str:
        """The extent of the comparison, in words."""
        if self.complete:
            return f"all {count(self.states, 'state')}"
        first = f"all that can be done in the first {count(self.depth, 'step')}, and " if self.depth else ""
        return f"{first}{count(self.plays, 'random match')}: {count(self.states, 'state')}"


class _Differs(Exception):
    """The two games differ."""


class _Question(NamedTuple):
    """The phase and the action space of a seat to move, in the original and in the twin."""

    phase: str
    legal: Space
    twin_legal: Space


def _bare(view: Observation) -> Observation:
    """A view without its action space, rules and wording, which are compared by themselves."""
    return Observation(view.seat, view.round, None, view.past, None, view.phase, view.role)


@dataclass(frozen=True)
class _Pair:
    """A game, what is said to be its twin, and the map."""

    game: Game[Any]
    twin: Game[Any]
    map: Isomorphism
    _alike: dict[tuple[int, int], Any] = field(default_factory=dict)
    """Pairs of equal rules, by their ids."""
    _answered: set[tuple[Space, Space, int, str]] = field(default_factory=set)
    """Action spaces that were compared: many come again in other states."""

    def compare_seats(self) -> None:
        """Compares the facts of the seats before the first action. Raises _Differs."""
        self._same("the number of seats", self.game.seats, self.twin.seats)
        tested = sorted(map(self.map.seat, self.game.tested))
        self._same("the seats under test", tested, sorted(self.twin.tested))
        self._same("the roles", self.map.by_seats([self.map.text(role) for role in self.game.roles]), self.twin.roles)
        self._same("the number of rounds", self.game.fixed_rounds, self.twin.fixed_rounds)
        for seat in (PUBLIC, *range(self.game.seats)):
            secrets = sorted(map(self.map.text, self.game.secrets(seat)))
            self._same("what it must not see", secrets, sorted(self.twin.secrets(self.map.seat(seat))), seat)

    def compare(self, state: Any, twin_state: Any) -> dict[int, _Question]:
        """Compares a state, as every seat and the public see it; returns the questions of the seats to move. Raises _Differs."""
        movers, twin_movers = self.game.to_move(state), self.twin.to_move(twin_state)
        self._same("who is to move", sorted(map(self.map.seat, movers)), sorted(twin_movers))
        questions = {}
        for seat in movers:
            view, twin_seat = self.game.observe(state, seat), self.map.seat(seat)
            self._views(view, self.twin.observe(twin_state, twin_seat), seat)
            legal = self.game.legal_actions(state, seat), self.twin.legal_actions(twin_state, twin_seat)
            self._spaces(*legal, seat, view.phase)
            questions[seat] = _Question(view.phase, *legal)
        self._views(self.game.watch(state), self.twin.watch(twin_state), PUBLIC)
        return questions

    def step(
        self, state: Any, twin_state: Any, actions: Mapping[int, Any], questions: Mapping[int, _Question]
    ) -> tuple[Any, Any]:
        """Both states after actions of the original. Raises _Differs where payoffs differ."""
        mapped = {}
        for seat, action in sorted(actions.items(), key=lambda item: self.map.seat(item[0])):
            mapped[self.map.seat(seat)] = None if action is None else self.map.value(action, questions[seat].phase)
        state, payoffs = self.game.step(state, actions)
        try:
            twin_state, twin_payoffs = self.twin.step(twin_state, mapped)
        except IllegalAction as error:
            raise _Differs(f"the twin refuses {mapped}: {error}") from None
        expected = self.map.map_payoffs(payoffs)
        if None in actions.values() and all(
            map(isclose, twin_payoffs, of_void := self._unshifted.map_payoffs(payoffs))
        ):
            expected = of_void
        for seat, (one, other) in enumerate(zip(expected, twin_payoffs, strict=True)):
            if not isclose(one, other, rel_tol=1e-9, abs_tol=1e-9):
                raise _Differs(f"{self._who(self.map.inverse.seat(seat))} is paid {other:g} there, not {one:g}")
        return state, twin_state

    @cached_property
    def _unshifted(self) -> Isomorphism:
        """The map of payoffs of a void round: nothing is added."""
        return replace(self.map, shift=0)

    def _views(self, view: Observation, twin_view: Observation, seat: int) -> None:
        bare, bare_twin = _bare(view), _bare(twin_view)
        if (mapped := self.map.view(bare)) != bare_twin:
            for name in ("seat", "round", "phase", "role", "past"):
                what = "what it has seen" if name == "past" else f"its {name}"
                self._same(what, getattr(mapped, name), getattr(twin_view, name), seat)
        rules = self.map.rules_of(view)
        if (id(rules), id(twin_view.rules)) not in self._alike:
            for path, one, other in differences(rules, twin_view.rules):
                fact = f"{path or 'of the rules'}: {_short(one)} is said there to be {_short(other)}"
                raise _Differs(f"{self._who(seat)} is told {fact}")
            self._alike[id(rules), id(twin_view.rules)] = rules, twin_view.rules
        if self.map.inverse.view(bare_twin) != bare:
            raise _Differs(f"what {self._who(seat)} sees there could mean several things: two of them look alike")

    def _spaces(self, legal: Space, twin_space: Space, seat: int, phase: str) -> None:
        if (key := (legal, twin_space, seat, phase)) in self._answered:
            return
        mapped = self.map.space(legal, phase)
        if type(mapped) is not type(twin_space):
            raise _Differs(
                f"{self._who(seat)} answers by {type(twin_space).__name__} there, not by {type(mapped).__name__}"
            )
        self._same("what it may do", mapped.as_json(), twin_space.as_json(), seat)
        dice = Random(f"{legal} {seat}")
        samples = list(legal.enumerate() or [legal.example(dice) for _ in range(5)])[:WIDEST]
        images: dict[Any, Any] = {}
        for action in samples:
            image = self.map.value(action, phase)
            if image not in twin_space:
                raise _Differs(f"{self._who(seat)} may do {_short(action)}, and not {_short(image)} there")
            if (first := images.setdefault(_key(image), action)) != action:
                raise _Differs(f"{_short(first)} and {_short(action)} are both {_short(image)} there")
        twin_actions = twin_space.enumerate()
        twin_samples = [twin_space.example(dice) for _ in range(5)] if twin_actions is None else twin_actions[:WIDEST]
        for action in twin_samples:
            if self.map.inverse.value(action, phase) not in legal:
                raise _Differs(f"{self._who(seat)} may do {_short(action)} there, which is nothing in the original")
        for action in samples:  # a word of the original means something there only if it is one of the map
            if (action in twin_space) != (self.map.inverse.value(action, phase) in legal):
                raise _Differs(f"{self._who(seat)} may do {_short(action)} in one of the two only")
        if isinstance(legal, Choice) and twin_actions is not None and len(set(twin_actions)) < len(twin_actions):
            raise _Differs(f"{self._who(seat)} is offered {_short(twin_actions)}: one option twice")
        self._answered.add(key)

    def _same(self, what: str, expected: Any, value: Any, seat: int | None = None) -> None:
        if expected != value and next(differences(expected, value), None):
            path, one, other = next(differences(expected, value))
            whose = "" if seat is None else f" of {self._who(seat)}"
            raise _Differs(f"{what}{whose}{f' ({path})' if path else ''} is {_short(other)} there, not {_short(one)}")

    def _who(self, seat: int) -> str:
        return "the public" if seat == PUBLIC else f"seat {seat}"


def check(
    game: Game[Any], twin: Game[Any], map: Isomorphism, states: int = STATES, plays: int = PLAYS, menu: int = 0
) -> Check:
    """Whether `twin` is `game` under `map`.

    Compares at most `states` states, from the start on, with every joint action, none included. If the game has more, it also plays
    random matches, half of them by actions drawn in the twin. `menu`: the number of answers that stand for many; 0: all of them.
    """
    pair, compared, played = _Pair(game, twin, map), 0, 0
    history: tuple[Any, ...] = ()
    try:
        pair.compare_seats()
        state, twin_state = game.start(_dice(0)), twin.start(_dice(0))
        queue, complete = deque([(state, twin_state, history)]), True
        while queue and complete:
            state, twin_state, history = queue.popleft()
            questions = pair.compare(state, twin_state)
            compared += 1
            for actions in _joint_actions(questions, menu):
                if actions is None or compared + len(queue) >= states:
                    complete = False
                    break
                queue.append((*_step_pair(pair, state, twin_state, actions, questions), (*history, actions)))
        listed_states, depth = compared, len(history)
        for number in range(0 if complete else plays):
            if played >= 4 and compared - listed_states >= ENOUGH:
                break
            history = ()
            state, twin_state, dice = game.start(_dice(number)), twin.start(_dice(number)), Random(number)
            while questions := pair.compare(state, twin_state):
                compared += 1
                actions = {
                    seat: _draw_action(question, map, dice, number % 2 == 1) for seat, question in questions.items()
                }
                state, twin_state = _step_pair(pair, state, twin_state, actions, questions)
                history = (*history, actions)
            compared, played = compared + 1, played + 1
    except _Differs as difference:
        return Check(f"{_explain_position(history)}: {difference}", compared, played, False)
    return Check("", compared, played, complete, depth)


def _step_pair(
    pair: _Pair, state: Any, twin_state: Any, actions: Mapping[int, Any], questions: Mapping[int, _Question]
) -> tuple[Any, Any]:
    try:
        return pair.step(state, twin_state, actions, questions)
    except _Differs as difference:
        raise _Differs(f"{difference}, when {_short(dict(actions))} is done") from None


def _dice(number: int) -> Random:
    return Random(f"certificate {number}")


def _joint_actions(questions: Mapping[int, _Question], menu: int) -> Iterator[dict[int, Any] | None]:
    """All joint actions, each seat's void one included; a single None where they are too many to list."""
    options = [_options(question.legal, menu) for question in questions.values()]
    menus = [[*question, None] for question in options if question is not None]
    if len(menus) < len(questions) or prod(map(len, menus)) > WIDEST:
        yield None
    elif questions:
        for actions in product(*menus):
            yield dict(zip(questions, actions, strict=True))


def _options(legal: Space, menu: int) -> Sequence[Any] | None:
    """The actions of a space, or `menu` of them where they are many; None where they cannot be listed."""
    options, dice = legal.enumerate(), Random(0)
    if not menu or (options is not None and len(options) <= FEW):
        return options
    return list({_key(action): action for action in (legal.example(dice) for _ in range(menu))}.values())


def _draw_action(question: _Question, map: Isomorphism, dice: Random, in_twin: bool) -> Any:
    if dice.random() < VOID:
        return None
    return (
        map.inverse.value(question.twin_legal.example(dice), question.phase)
        if in_twin
        else question.legal.example(dice)
    )


def _explain_position(history: Sequence[Mapping[int, Any]]) -> str:
    """The position of a match, in words."""
    if not history:
        return "at the start"
    last = "; ".join(_short(dict(actions)) for actions in history[-2:])
    return f"after {count(len(history), 'step')} ({'... ' if len(history) > 2 else ''}{last})"


def _key(value: Any) -> str:
    return repr(value)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def differences(one: Any, other: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """(path, one value, other value) of each difference of two facts. The names of games do not count."""
    if one is other:
        return
    if is_dataclass(one) and type(one) is type(other):
        names = [item.name for item in fields(one) if item.init]
        pairs = [(name, getattr(one, name), getattr(other, name)) for name in names]
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
    """What solves a game, by the names of its family; empty where the family does not say. Cached for all twins of a game."""
    solve = of_family(game, "solutions")
    return solve(game) if solve else {}


def solution_changes(game: Game[Any], other: Game[Any], map: Isomorphism) -> dict[str, tuple[Any, Any]]:
    """The solutions of `game` under `map` that differ from those of `other`: name -> (from, to)."""
    points = of_family(game, "POINTS", ())
    before = {name: map.value(value, PAYOFFS if name in points else name) for name, value in solutions(game).items()}
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


def rule_changes(game: Game[Any], other: Game[Any], map: Isomorphism) -> list[str]:
    """The paths at which the rules of two games differ at the start, beyond `map`; at most twenty."""
    states = [(side, side.start(_dice(0))) for side in (game, other)]
    view, other_view = (side.observe(state, side.to_move(state)[0]) for side, state in states)
    paths = differences(map.view(view).rules, other_view.rules)
    return [path for path, _, _ in islice(paths, 20)]


# ---- the table


def all_certificates(conf: Path = CONF) -> Iterator[dict[str, Any]]:
    """A certificate for each twin and near-twin that conf/twin declares, in the order of its files. Raises AgonError."""
    for (name, twin), claim in claims(conf).items():
        game, other = load("game", name, conf), load("game", f"{name}~{twin}", conf)
        row = {"game": game.name, "setting": game.variant, "twin": twin}
        row |= {"claim": "twin" if claim.twin else "near-twin"}
        row |= certificate(game, other, claim.twin, states=1 if claim.small else STATES)
        yield row | (_check_elsewhere(name, twin, conf) if claim.twin and row["holds"] else {})


def _check_elsewhere(name: str, twin: str, conf: Path) -> dict[str, Any]:
    """Columns on whether a twin is one in the small version of its game, and in other settings, with the first counterexample."""
    columns, claim = dict[str, Any](), claims(conf)[name, twin]
    if pair := smaller(name, twin, conf):
        small = check(*pair, map_of(pair[1]), plays=0, menu=MENU)
        compared = f"{'all' if small.complete else 'the first'} {count(small.states, 'state')} where {format_fact(claim.small)}"
        columns = {"small version": compared, "holds": not small.counterexample}
        columns["counterexample"] = small.counterexample and f"where {format_fact(claim.small)}, {small.counterexample}"
    for setting in claim.also if columns.get("holds", True) else ():
        game, other = load("game", setting, conf), load("game", f"{setting}~{twin}", conf)
        result = check(game, other, map_of(other), states=1, plays=FURTHER)
        fault = result.counterexample or "".join(_format_changes(solution_changes(game, other, map_of(other)))[:1])
        columns |= {"holds": not fault, "counterexample": fault and f"in {setting}, {fault}"}
        if fault:
            break
    return columns | {"also holds in": ", ".join(claim.also) if columns.get("holds") else ""}


def certificate(game: Game[Any], other: Game[Any], claimed: bool, states: int = STATES) -> dict[str, Any]:
    """Checks the claim that another game is a twin (`claimed`), or else a near-twin. Returns the columns of its certificate.

    `holds`: whether the claim is proved. A twin has no difference, and the solutions of the original. A near-twin asks the same seats for
    the same, says what is different, and has another solution. `compared`: the extent of the comparison, or the facts of the rules that
    differ. `told`: how many lines of the text at the start differ. `same solutions`, `moved`: the solutions of both, and the others,
    from and to.
    """
    map = map_of(other)
    shift, lines, new = solution_changes(game, other, map), _lines(game), _lines(other)
    if claimed:
        result = check(game, other, map, states)
        fault, compared = result.counterexample or "".join(_format_changes(shift)[:1]), result.how
        silent = f"none of the words {', '.join(old for old, _ in map.words.pairs)} is told" if map.words.pairs else ""
    else:
        result = Check(compare_questions(game, other, map), 1, 0, complete=False)
        fault = result.counterexample or ("" if shift else "what solves the one solves the other")
        facts = rule_changes(game, other, map)
        compared = "; ".join(facts) or "the texts alone"
        silent = "" if facts else "what is told is the same, so that nobody can know of the change"
    if not fault and lines == new and silent:
        fault = f"at the start: {silent}"
    return {
        "holds": not fault,
        "compared": compared,
        "told": f"{sum(line not in lines for line in new)} of {count(len(new), 'line')} differ",
        "states": result.states,
        "plays": result.plays,
        "same solutions": ", ".join(sorted(set(solutions(game)) - set(shift))),
        "moved": "; ".join(_format_changes(shift)),
        "counterexample": fault,
    }


def _lines(game: Game[Any]) -> list[str]:
    """The lines of the first texts to the seats that move first."""
    state = game.start(_dice(0))
    return [line for seat in game.to_move(state) for line in observation_text(game.observe(state, seat)).splitlines()]


def compare_questions(game: Game[Any], other: Game[Any], map: Isomorphism) -> str:
    """The difference in seats to move, or in their action spaces, at the start, in a line; empty where there is none."""
    state, twin_state = game.start(_dice(0)), other.start(_dice(0))
    seats = sorted(map.seat(seat) for seat in game.to_move(state))
    if seats != sorted(other.to_move(twin_state)):
        return f"at the start: {list(other.to_move(twin_state))} are to move there, not {seats}"
    for seat in game.to_move(state):
        phase = game.observe(state, seat).phase
        space = map.space(game.legal_actions(state, seat), phase).as_json()
        if space != (twin_space := other.legal_actions(twin_state, map.seat(seat)).as_json()):
            return f"at the start: what seat {seat} may do is {_short(twin_space)} there, not {_short(space)}"
    return ""


def _format_changes(shift: Mapping[str, tuple[Any, Any]]) -> list[str]:
    """Each solution that moves, from and to, in words."""
    texts = []
    for name, (one, other) in shift.items():
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            keys = [key for key in {**one, **other} if not _alike(one.get(key), other.get(key))]
            one, other = ({key: solution[key] for key in keys if key in solution} for solution in (one, other))
        texts.append(f"{name}: from {format_fact(one)} to {format_fact(other)}")
    return texts


def format_fact(value: Any) -> str:
    """A fact in one line, the same in every run."""
    if isinstance(value, Mapping):
        items = sorted(value.items(), key=lambda item: format_fact(item[0]))
        return ", ".join(f"{format_fact(key)} {format_fact(part)}" for key, part in items) or "nothing"
    if isinstance(value, frozenset | set):
        return "{" + ", ".join(sorted(map(format_fact, value))) + "}"
    if isinstance(value, tuple | list):
        return " ".join(map(format_fact, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
