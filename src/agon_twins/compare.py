"""Compares a game with what is said to be its twin: as told, as paid and as noted, state by state, with the same actions.

In every state, what each seat and the public sees and reads, what each may do, what it is paid, and what is noted of it must be what
the map says. `check` visits all states of a small game. In a larger one it walks where players walk (agon_twins.walks).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from math import isclose
from random import Random
from typing import Any, NamedTuple

from agon.agents.prompts import has_prompt
from agon.agents.telling import observation_text
from agon.games.base import PUBLIC, Game, IllegalAction, Observation
from agon.games.spaces import Choice, Space
from agon_twins.family import of_family
from agon_twins.isomorphism import OWN, Isomorphism, Words
from agon_twins.told import (
    QUANTITIES,
    fault_of_frame,
    fault_of_name,
    first_difference,
    numbers_in,
    states_number,
    strings,
    texts,
)
from agon_twins.twin import HEADS, Twin, amount_note
from agon_twins.walks import deal

SAMPLES = 200
"""Most actions of a space that are compared."""
LENGTHS = frozenset({"rounds", "round", "turns", "turn", "seats", "seat", "players", "calls", "attempts", "length"})
"""Fields that are no amounts: they count what happens in the game."""


class Differs(Exception):
    """The two games differ."""


class Question(NamedTuple):
    """The phase and the action space of a seat to move, in the original and in the twin."""

    phase: str
    legal: Space
    twin_legal: Space


class Node(NamedTuple):
    """A pair of states that was compared."""

    state: Any
    twin_state: Any
    told_state: Any
    """The state of the game that the twin's rules describe; None where its rules are no game."""
    questions: Mapping[int, Question]
    """Those of the seats to move."""


def _bare(view: Observation) -> Observation:
    """A view without its action space, rules and wording, which are compared by themselves."""
    return Observation(view.seat, view.round, None, view.past, None, view.phase, view.role)


@dataclass(frozen=True)
class Pair:
    """A game, what is said to be its twin, and the map."""

    game: Game[Any]
    twin: Game[Any]
    map: Isomorphism
    names: frozenset[str] = frozenset()
    """Words of the game's texts that only name things."""
    _alike: dict[tuple[int, int], Any] = field(default_factory=dict)
    """Pairs of equal rules, by their ids."""
    _answered: set[tuple[Space, Space, int, str]] = field(default_factory=set)
    """Action spaces that were compared: many come again in other states."""
    _asked: set[tuple[int, str, bool]] = field(default_factory=set)
    """(seat, phase, whether it is to move) whose texts were compared in all styles. Those of a waiting seat are compared once."""
    _labels: set[str] = field(default_factory=set)
    """Whole texts among the facts of the game."""
    _approved: set[str] = field(default_factory=set)
    """Words that may change."""
    granted: set[str] = field(default_factory=set)
    """Declared names that do change."""
    offered: dict[str, set[str]] = field(default_factory=dict)
    """Phase -> its options."""
    chosen: dict[str, set[str]] = field(default_factory=dict)
    """Phase -> the options that were taken."""
    paid: set[int] = field(default_factory=set)
    """Seats that were paid something else than 0."""

    # ---- before the first action

    def compare_settings(self) -> None:
        """Compares what is fixed before the first action, and judges words, amounts and frame. Raises Differs."""
        game, twin, map = self.game, self.twin, self.map
        self._same("the number of seats", game.seats, twin.seats)
        self._same("the names of the players", map.by_seats([map.text(name) for name in game.players]), twin.players)
        self._same("the seats under test", sorted(map.seat(seat) for seat in game.tested), sorted(twin.tested))
        self._same("the roles", map.by_seats([map.text(role) for role in game.roles]), twin.roles)
        self._same("the number of rounds", game.fixed_rounds, twin.fixed_rounds)
        self._same("the most rounds or turns", game.max_rounds, twin.max_rounds)
        self._same("whether seats are independent", game.independent, twin.independent)
        for seat in (PUBLIC, *range(game.seats)):
            secrets = sorted(map.text(secret) for secret in game.secrets(seat))
            self._same("what it must not see", secrets, sorted(twin.secrets(map.seat(seat))), seat)
        for seat in range(game.seats):
            self._same("how often it is asked", game.times_asked(seat), twin.times_asked(map.seat(seat)), seat)
            facts = {
                what: value if what == "win" else map.value(value, what)
                for what, value in game.seat_facts(seat).items()
            }
            self._same("what is noted of it", facts, twin.seat_facts(map.seat(seat)), seat)
        self._labels.update(strings((game.players, game.roles, [game.secrets(seat) for seat in range(game.seats)])))
        self._judge_amounts()

    def _judge_amounts(self) -> None:
        known = of_family(self.game, "AMOUNTS")
        wrong = self.map.amounts & LENGTHS if known is None else self.map.amounts - known
        if self.map.unit != 1 and wrong:
            raise Differs(f"{', '.join(sorted(wrong))} is multiplied by {self.map.unit}, and is no amount of the game")

    def _judge_frame(self, options: frozenset[str]) -> None:
        map = self.map
        factors = [map.factor, map.shift, map.unit, map.factor / map.unit, self.game.seats, 1]
        numbers = frozenset(abs(float(factor)) for factor in factors)
        if fault := fault_of_frame(self.frame, numbers, options):
            raise Differs(fault)

    @cached_property
    def frame(self) -> str:
        """The twin's free text, without the note on its amounts."""
        if not isinstance(self.twin, Twin):
            return ""
        return self.twin.frame.removesuffix(amount_note(self.map.unit)).strip()

    @property
    def given(self) -> tuple[str, ...]:
        """What is not compared, or taken for granted."""
        parts = []
        if self.granted:
            parts.append(f"{', '.join(sorted(self.granted))}: only names")
        if self.frame:
            parts.append("the frame: free text")
        if self.map.unit != 1 and of_family(self.game, "AMOUNTS") is None:
            parts.append(f"{', '.join(sorted(self.map.amounts))}: amounts")
        return tuple(parts)

    def compare_start(self, node: Node) -> None:
        """Compares what the first texts say of words, frame and payoffs. Raises Differs."""
        options = [question.legal.options for question in node.questions.values() if isinstance(question.legal, Choice)]
        names = [name.casefold() for choice in options for option in choice for name in (option, self.map.text(option))]
        self._judge_frame(frozenset(names))
        if not isinstance(self.twin, Twin) or not has_prompt(self.game.watch(node.state).rules):
            return
        seats = range(self.game.seats)
        if self.twin.frame:
            for seat in seats:
                view = self.twin.observe(node.twin_state, self.map.seat(seat))
                if self.twin.frame not in observation_text(view):
                    raise Differs(f"the frame is told nowhere to {self._who(seat)}")
        self._compare_scale([self.game.observe(node.state, seat) for seat in seats])

    def _compare_scale(self, views: Sequence[Observation]) -> None:
        factor, shift = self.map.factor, self.map.shift
        if (factor, shift) in ((1, 0), (self.map.unit, 0)):
            return
        unscaled = replace(self._unworded, factor=1, shift=0)
        same = all(
            observation_text(unscaled.view(view)) == observation_text(self._unworded.view(view)) for view in views
        )
        stated = {float(number) for number in (factor, shift) if number not in (0, 1)}
        if same and not stated <= numbers_in(self.frame):
            raise Differs(f"payoffs are times {float(factor):g}, and no text says so: say it in the frame")

    # ---- a state

    def start(self, number: int) -> Node:
        """Both games with the chance of a deal. Raises Differs."""
        twin_state = self.twin.start(deal(number))
        node = self.compare(self.game.start(deal(number)), twin_state, None)
        told = self._told_game(twin_state)
        return node._replace(told_state=told and told.start(deal(number)))

    def _told_game(self, twin_state: Any) -> Game[Any] | None:
        """The game that the twin's rules describe, where they are one."""
        rules = self.twin.watch(twin_state).rules
        return rules if isinstance(rules, Game) else None

    def compare(self, state: Any, twin_state: Any, told_state: Any) -> Node:
        """Compares a state, as every seat and the public sees it. Raises Differs."""
        movers, twin_movers = self.game.to_move(state), self.twin.to_move(twin_state)
        self._same("who is to move", sorted(self.map.seat(seat) for seat in movers), sorted(twin_movers))
        questions = {}
        for seat in range(self.game.seats):
            view, twin_seat = self.game.observe(state, seat), self.map.seat(seat)
            twin_view = self.twin.observe(twin_state, twin_seat)
            self._views(view, twin_view, seat)
            if seat in movers:
                legal = self.game.legal_actions(state, seat), self.twin.legal_actions(twin_state, twin_seat)
                self._spaces(*legal, seat, view.phase)
                self._offer(view.phase, legal[0])
                questions[seat] = Question(view.phase, *legal)
                self._same("what the form shows", legal[1].as_json(), twin_view.legal.as_json(), seat)
            self._texts(view, twin_view, seat, seat in movers)
        self._views(self.game.watch(state), self.twin.watch(twin_state), PUBLIC)
        self._notes(state, twin_state)
        return Node(state, twin_state, told_state, {seat: questions[seat] for seat in movers})

    def _notes(self, state: Any, twin_state: Any) -> None:
        notes = [
            (self.map.seat(seat), what, self.map.value(value, what)) for seat, what, value in self.game.notes(state)
        ]
        twin_notes = [tuple(note) for note in self.twin.notes(twin_state)]
        for note in notes:
            if note not in twin_notes:
                raise Differs(f"of seat {self.map.inverse.seat(note[0])} {note[1]} {short(note[2])} is not noted there")
        for note in twin_notes:
            if note not in notes:
                raise Differs(
                    f"of seat {self.map.inverse.seat(note[0])} {note[1]} {short(note[2])} is noted there only"
                )

    def step(self, node: Node, actions: Mapping[int, Any]) -> Node:
        """The states after actions of the original. Raises Differs; IllegalAction for what the original refuses."""
        mapped = {}
        for seat, action in sorted(actions.items(), key=lambda item: self.map.seat(item[0])):
            phase = node.questions[seat].phase
            mapped[self.map.seat(seat)] = None if action is None else self.map.value(action, phase)
            self._choose(phase, action)
        state, payoffs = self.game.step(node.state, actions)
        self.paid.update(seat for seat, points in enumerate(payoffs) if points)
        try:
            try:
                twin_state, twin_payoffs = self.twin.step(node.twin_state, mapped)
            except IllegalAction as error:
                raise Differs(f"the twin refuses {mapped}: {error}") from None
            self._payoffs(payoffs, twin_payoffs, None in actions.values())
            told_state = self._step_told(node, mapped, twin_payoffs)
        except Differs as difference:
            raise Differs(f"{difference}, when {short(dict(actions))} is done") from None
        return self.compare(state, twin_state, told_state)

    def _payoffs(self, payoffs: Sequence[float], twin_payoffs: Sequence[float], void: bool) -> None:
        expected = self.map.map_payoffs(payoffs)
        if void and all(map(isclose, twin_payoffs, of_void := self._unshifted.map_payoffs(payoffs))):
            expected = of_void
        for seat, (one, other) in enumerate(zip(expected, twin_payoffs, strict=True)):
            if not isclose(one, other, rel_tol=1e-9, abs_tol=1e-9):
                raise Differs(f"{self._who(self.map.inverse.seat(seat))} is paid {other:g} there, not {one:g}")

    def _step_told(self, node: Node, mapped: Mapping[int, Any], twin_payoffs: Sequence[float]) -> Any:
        """The told game after the same actions: it pays as the twin pays."""
        if node.told_state is None or (told := self._told_game(node.twin_state)) is None:
            return None
        try:
            state, payoffs = told.step(node.told_state, mapped)
        except IllegalAction as error:
            raise Differs(f"the rules that are told forbid {mapped}: {error}") from None
        for seat, (one, other) in enumerate(zip(payoffs, twin_payoffs, strict=True)):
            if not isclose(one, other, rel_tol=1e-9, abs_tol=1e-9):
                who = self._who(self.map.inverse.seat(seat))
                raise Differs(f"{who} is paid {other:g} there, and is told that this pays {one:g}")
        return state

    @cached_property
    def _unshifted(self) -> Isomorphism:
        """The map of payoffs of a void round: nothing is added."""
        return replace(self.map, shift=0)

    @cached_property
    def _unworded(self) -> Isomorphism:
        """The map without its words."""
        return replace(self.map, words=Words())

    def _views(self, view: Observation, twin_view: Observation, seat: int) -> None:
        bare, bare_twin = _bare(view), _bare(twin_view)
        if (mapped := self.map.view(bare)) != bare_twin:
            for name in ("seat", "round", "phase", "role", "past"):
                what = "what it has seen" if name == "past" else f"its {name}"
                self._same(what, getattr(mapped, name), getattr(twin_view, name), seat)
        rules = self.map.rules_of(view)
        if (id(rules), id(twin_view.rules)) not in self._alike:
            for path, one, other in differences(rules, twin_view.rules):
                fact = f"{path or 'of the rules'}: {short(one)} is said there to be {short(other)}"
                raise Differs(f"{self._who(seat)} is told {fact}")
            self._alike[id(rules), id(twin_view.rules)] = rules, twin_view.rules
            self._labels.update(strings(view.rules))
        if self.map.inverse.view(bare_twin) != bare:
            raise Differs(f"what {self._who(seat)} sees there could mean several things: two of them look alike")

    # ---- texts

    def _texts(self, view: Observation, twin_view: Observation, seat: int, asked: bool) -> None:
        """Compares all that a seat reads: the original's texts in the new words, and nothing else."""
        if not has_prompt(view.rules):
            self.granted.add("all texts (the game has no prompt)")
            return
        everything = (seat, view.phase, asked) not in self._asked
        if not asked and not everything:
            return
        self._asked.add((seat, view.phase, asked))
        expected = texts(self._unworded.view(view), everything)
        for (what, text), (_, twin_text) in zip(expected, texts(twin_view, everything), strict=True):
            new_text = self.map.words.forth(text)
            if isinstance(self.twin, Twin) and self.twin.frame:
                for head in HEADS:
                    twin_text = twin_text.replace(f"{head}{self.twin.frame}\n", head, 1)
            if twin_text != new_text:
                line, twin_line = first_difference(new_text, twin_text)
                raise Differs(f"{what} of {self._who(seat)} says {twin_line!r} there, not {line!r}")
            if (back := self.map.words.back(new_text)) != text:
                line, other = first_difference(text, back)
                raise Differs(f"{what} of {self._who(seat)} could mean {line!r} or {other!r}")
            for old, new in self.map.words.changes(text):
                if old not in self._approved:
                    self._judge_word(old, new, view, text)

    def _judge_word(self, old: str, new: str, view: Observation, text: str) -> None:
        """Whether a word that changes is a name. Raises Differs."""
        line = next(line for line in text.splitlines() if old in line)
        where = f"{short(line)} tells {new!r} for {old!r}"
        if old.casefold() not in self._labels:
            self._labels.update(strings((view.past, view.role, view.legal)))
        is_label = old.casefold() in self._labels
        if states_number(old, is_label):
            raise Differs(f"a number changes, and nothing is paid or counted accordingly: {where}")
        if not is_label:
            if QUANTITIES.fullmatch(old.casefold()) or old.casefold() not in self.names:
                raise Differs(f"a word of the rules changes, which is no name: {where}")
            self.granted.add(old.casefold())
        if new.casefold() not in self._labels and (fault := fault_of_name(new)):
            raise Differs(f"{new!r} is no name for {old!r}: {fault}")
        self._approved.add(old)

    # ---- actions

    def _offer(self, phase: str, legal: Space) -> None:
        if isinstance(legal, Choice):
            self.offered.setdefault(phase, set()).update(legal.options)
        elif phase not in self.offered:
            self.offered[phase] = set(legal.as_tools())

    def _choose(self, phase: str, action: Any) -> None:
        tool = action.get("tool") if isinstance(action, Mapping) else action
        if isinstance(tool, str):
            self.chosen.setdefault(phase, set()).add(tool)

    def unreached(self, ends: int) -> tuple[str, ...]:
        """What no match came to."""
        parts = [] if ends else ["an end"]
        unpaid = [seat for seat in range(self.game.seats) if seat not in self.paid]
        parts += [f"a payment to seat {seat}" for seat in unpaid] if self.paid else ["any payment"]
        for phase, options in self.offered.items():
            parts += [f"{phase} {option}" for option in sorted(options - self.chosen.get(phase, set()))]
        return tuple(parts)

    def _spaces(self, legal: Space, twin_space: Space, seat: int, phase: str) -> None:
        if (key := (legal, twin_space, seat, phase)) in self._answered:
            return
        mapped = self.map.space(legal, phase)
        if type(mapped) is not type(twin_space):
            raise Differs(
                f"{self._who(seat)} answers by {type(twin_space).__name__} there, not by {type(mapped).__name__}"
            )
        self._same("what it may do", mapped.as_json(), twin_space.as_json(), seat)
        dice = Random(f"{legal} {seat}")
        samples = list(legal.enumerate() or [legal.example(dice) for _ in range(5)])[:SAMPLES]
        images: dict[Any, Any] = {}
        for action in samples:
            image = self.map.value(action, phase)
            if image not in twin_space:
                raise Differs(f"{self._who(seat)} may do {short(action)}, and not {short(image)} there")
            if (first := images.setdefault(repr(image), action)) != action:
                raise Differs(f"{short(first)} and {short(action)} are both {short(image)} there")
        twin_actions = twin_space.enumerate()
        twin_samples = [twin_space.example(dice) for _ in range(5)] if twin_actions is None else twin_actions[:SAMPLES]
        for action in twin_samples:
            if self.map.inverse.value(action, phase) not in legal:
                raise Differs(f"{self._who(seat)} may do {short(action)} there, which is nothing in the original")
        for action in samples:  # a word of the original means something there only if it is one of the map
            if (action in twin_space) != (self.map.inverse.value(action, phase) in legal):
                raise Differs(f"{self._who(seat)} may do {short(action)} in one of the two only")
        if isinstance(legal, Choice) and twin_actions is not None and len(set(twin_actions)) < len(twin_actions):
            raise Differs(f"{self._who(seat)} is offered {short(twin_actions)}: one option twice")
        self._answered.add(key)

    def _same(self, what: str, expected: Any, value: Any, seat: int | None = None) -> None:
        if expected != value and next(differences(expected, value), None):
            path, one, other = next(differences(expected, value))
            whose = "" if seat is None else f" of {self._who(seat)}"
            raise Differs(f"{what}{whose}{f' ({path})' if path else ''} is {short(other)} there, not {short(one)}")

    def _who(self, seat: int) -> str:
        return "the public" if seat == PUBLIC else f"seat {seat}"


def short(value: object) -> str:
    """A value in 80 characters at most."""
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
