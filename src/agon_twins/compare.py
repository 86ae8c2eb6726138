"""Compares a game with its claimed twin, state by state, with the same actions: texts, payoffs and notes.

In every state the map must give the twin's observations, texts, legal actions, payoffs and notes, for each seat and for
the public. `check` visits all states of a small game. In a larger one it walks where players walk (agon_twins.walks).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from math import isclose
from random import Random
from typing import Any, NamedTuple

from agon.agents.prompts import has_prompt
from agon.agents.telling import observation_text, parse_reply
from agon.games.base import PUBLIC, Game, IllegalAction, Observation, families, family_module
from agon.games.reading import folded
from agon.games.spaces import Choice, Space
from agon_twins.family import of_family
from agon_twins.isomorphism import OWN, Isomorphism, Words
from agon_twins.told import (
    QUANTITIES,
    fault_of_frame,
    fault_of_name,
    first_difference,
    has,
    numbers_in,
    rules_text,
    states_number,
    strings,
    texts,
)
from agon_twins.twin import Twin, amount_note, heads
from agon_twins.walks import deal

SAMPLES = 200
"""Most actions of a space that are compared."""
EXAMPLES = 5
"""Actions that are compared of a space that cannot be listed."""
GLOSSARY = 4
"""A frame that explains so many new words may explain a secret one among them."""


class Differs(Exception):
    """The two games differ."""


class Question(NamedTuple):
    """The phase and the action space of a seat to move, in the original and in the twin."""

    phase: str
    legal: Space
    twin_legal: Space


@dataclass(eq=False)
class Node:
    """A pair of states that was compared."""

    state: Any
    twin_state: Any
    questions: Mapping[int, Question]
    """Those of the seats to move."""
    since: Mapping[int, int]
    """Seat -> the number of events in its view when it was last asked."""
    children: dict[str, "Node"] = field(default_factory=dict)
    """The next states that were compared, by actions."""


def _bare(view: Observation) -> Observation:
    """A view without its action space, rules and wording, which are compared by themselves."""
    return view._replace(legal=None, rules=None, wording=None)


@dataclass
class Pair:
    """A game, the game that is said to be its twin, and the map."""

    game: Game[Any]
    twin: Game[Any]
    map: Isomorphism
    names: frozenset[str] = frozenset()
    """Words of the game's texts that only name things."""
    all_texts: bool = False
    """Whether all texts are compared in each state. Else all but the question are compared once for each seat, phase and round."""
    changed: set[str] = field(default_factory=set)
    """Words that change in texts. They were judged to be names."""
    granted: set[str] = field(default_factory=set)
    """Declared names that do change."""
    has_texts: bool = True
    """Whether the game has a prompt."""
    offered: dict[str, set[str]] = field(default_factory=dict)
    """Phase -> its options."""
    chosen: dict[str, set[str]] = field(default_factory=dict)
    """Phase -> the options that were taken."""
    paid: set[int] = field(default_factory=set)
    """Seats that were paid something else than 0."""
    _alike: dict[tuple[int, int], Any] = field(default_factory=dict)
    """Pairs of equal rules, by their ids."""
    _spaces: set[tuple[Space, Space, int, str]] = field(default_factory=set)
    """Action spaces that were compared: many come again in other states."""
    _asked: set[tuple[Any, ...]] = field(default_factory=set)
    """(seat, phase, round) whose texts were all compared; a seat that is not to move has no round."""
    _lines: set[str] = field(default_factory=set)
    """Lines of texts that were judged."""
    _labels: set[str] = field(default_factory=set)
    """Whole texts among the facts of the game."""

    # ---- before the first action

    def compare_settings(self) -> None:
        """Compares the facts that are fixed before the first action, and judges the amounts. Raises Differs."""
        game, twin, map = self.game, self.twin, self.map
        for what, expected, value in (
            ("the number of seats", game.seats, twin.seats),
            ("the names of the players", map.by_seats([map.text(name) for name in game.players]), twin.players),
            ("the seats under test", sorted(map.seat(seat) for seat in game.tested), sorted(twin.tested)),
            ("the roles", map.by_seats([map.text(role) for role in game.roles]), twin.roles),
            ("the number of rounds", game.fixed_rounds, twin.fixed_rounds),
            ("the most rounds or turns", game.max_rounds, twin.max_rounds),
            ("whether seats are independent", game.independent, twin.independent),
        ):
            self._same(what, expected, value)
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
        if map.unit != 1 and self._amounts is not None:
            if wrong := sorted(map.amounts - self._amounts):
                raise Differs(f"{', '.join(wrong)} is multiplied by {map.unit}, and is no amount of the game")
            if rest := sorted(self._amounts - map.amounts):
                raise Differs(f"{', '.join(rest)} is an amount of the game, too, and is not multiplied by {map.unit}")

    @cached_property
    def _amounts(self) -> frozenset[str] | None:
        """The fields that the family counts as amounts; None where it does not say, because it has no twins.py."""
        return of_family(self.game, "AMOUNTS", frozenset() if family_module(self.game, "twins") else None)

    @cached_property
    def frame(self) -> str:
        """The twin's free text, without the note on its amounts."""
        frame = self.twin.frame if isinstance(self.twin, Twin) else ""
        return frame.removesuffix(amount_note(self.map.unit)).strip()

    @property
    def given(self) -> tuple[str, ...]:
        """Facts that are taken for granted, because they cannot be compared."""
        parts = [f"what is only a name: {', '.join(sorted(self.granted))}"] if self.granted else []
        if not self.has_texts:
            parts.append("all texts, because the game has no prompt")
        if self.frame:
            parts.append("the frame, a free text, says nothing of the rules")
        if self._amounts is None and self.map.amounts:
            parts.append(f"{', '.join(sorted(self.map.amounts))} are all amounts")
        return tuple(parts)

    def compare_start(self, node: Node, elsewhere: bool = False) -> None:
        """Compares the words, frame and payoffs in the first texts. Raises Differs.

        `elsewhere`: whether this is a further setting, which need not tell any word of the map.
        """
        self._same("the payoff table", self.map.rules(self.game.normal_form), self.twin.normal_form)
        self._judge_frame(node)
        if not isinstance(self.twin, Twin) or not has_prompt(self.game.watch(node.state).rules):
            return
        if self.map.words.pairs and not (elsewhere or self.changed):
            raise Differs(f"none of the words {', '.join(old for old, _ in self.map.words.pairs)} is told")
        views = [self.game.observe(node.state, seat) for seat in range(self.game.seats)]
        twin_views = [self.twin.observe(node.twin_state, self.map.seat(view.seat)) for view in views]
        for view, twin_view in zip(views, twin_views, strict=True):
            if self.twin.frame not in observation_text(twin_view):
                raise Differs(f"the frame is told nowhere to {_who(view.seat)}")
        public, twin_public = self.game.watch(node.state), self.twin.watch(node.twin_state)
        reader = public._replace(seat=0, legal=views[0].legal)
        twin_reader = twin_public._replace(seat=twin_views[0].seat, legal=twin_views[0].legal)
        rules = rules_text(self._unworded.view(reader))
        self._compare_text("what the public reads of the rules", rules, rules_text(twin_reader), reader)
        self._compare_scale(views)

    def _judge_frame(self, node: Node) -> None:
        map, twin = self.map, self.twin
        choices = [question.legal.options for question in node.questions.values() if isinstance(question.legal, Choice)]
        options = {name for choice in choices for option in choice for name in (option, map.text(option))}
        explained = [new for _, new in map.words.pairs if has(self.frame, new)]
        secrets = twin.secrets(PUBLIC) if len(explained) < GLOSSARY else ()
        factors = (map.factor, map.shift, map.unit, map.factor / map.unit, twin.seats, 1)
        numbers = {abs(float(factor)) for factor in factors}
        if fault := fault_of_frame(self.frame, numbers, {*options, *twin.players, *secrets}):
            raise Differs(fault)

    def _compare_scale(self, views: Sequence[Observation]) -> None:
        """A factor of payoffs must be told: by other numbers in the prompt, by the note on all amounts, or in the frame."""
        factor, shift, unit = self.map.factor, self.map.shift, self.map.unit
        if (factor, shift) == (1, 0) or ((factor, shift) == (unit, 0) and self.map.amounts == self._amounts):
            return
        plain = replace(self._unworded, factor=1, shift=0)
        if self._amounts is None:
            plain = replace(plain, unit=1)
        stated = {float(number) for number in (factor, shift) if number not in (0, 1)}
        same = all(observation_text(plain.view(view)) == observation_text(self._unworded.view(view)) for view in views)
        if same and not stated <= numbers_in(self.frame):
            raise Differs(f"payoffs are times {float(factor):g}, and no text says so: say it in the frame")

    # ---- a state

    def start(self, number: int) -> Node:
        """Both games with the chance of a deal. Raises Differs."""
        return self._compare(self.game.start(deal(number)), self.twin.start(deal(number)), {})

    def step(self, node: Node, actions: Mapping[int, Any]) -> Node:
        """The states after actions of the original. Raises Differs; IllegalAction for what the original refuses."""
        if known := node.children.get(key := repr(actions)):
            return known
        mapped = {}
        for seat, action in sorted(actions.items(), key=lambda item: self.map.seat(item[0])):
            phase = node.questions[seat].phase
            mapped[self.map.seat(seat)] = None if action is None else self.map.value(action, phase)
            option = action.get("tool") if isinstance(action, Mapping) else action
            if isinstance(option, str):
                self.chosen.setdefault(phase, set()).add(option)
        state, payoffs = self.game.step(node.state, actions)
        self.paid.update(seat for seat, points in enumerate(payoffs) if points)
        try:
            try:
                twin_state, twin_payoffs = self.twin.step(node.twin_state, mapped)
            except IllegalAction as error:
                raise Differs(f"the twin refuses {mapped}: {error}") from None
            self._payoffs(payoffs, twin_payoffs, None in actions.values())
        except Differs as difference:
            raise Differs(f"{difference}, when {short(dict(actions))} is done") from None
        node.children[key] = self._compare(state, twin_state, node.since)
        return node.children[key]

    def _payoffs(self, payoffs: Sequence[float], twin_payoffs: Sequence[float], void: bool) -> None:
        expected = self.map.map_payoffs(payoffs)
        if void and all(map(isclose, twin_payoffs, of_void := self._unshifted.map_payoffs(payoffs))):
            expected = of_void
        for seat, (one, other) in enumerate(zip(expected, twin_payoffs, strict=True)):
            if not _equal(one, other):
                raise Differs(f"{_who(self.map.inverse.seat(seat))} is paid {other:g} there, not {one:g}")

    @cached_property
    def _unshifted(self) -> Isomorphism:
        """The map of payoffs of a void round: nothing is added."""
        return replace(self.map, shift=0)

    @cached_property
    def _unworded(self) -> Isomorphism:
        """The map without its words."""
        return replace(self.map, words=Words())

    def _compare(self, state: Any, twin_state: Any, since: Mapping[int, int]) -> Node:
        """Compares a state, as every seat and the public sees it."""
        movers, twin_movers = self.game.to_move(state), self.twin.to_move(twin_state)
        self._same("who is to move", sorted(self.map.seat(seat) for seat in movers), sorted(twin_movers))
        questions, events_seen = {}, dict(since)
        for seat in range(self.game.seats):
            view, twin_seat = self.game.observe(state, seat), self.map.seat(seat)
            twin_view = self.twin.observe(twin_state, twin_seat)
            self._views(view, twin_view, seat)
            if seat in movers:
                legal = self.game.legal_actions(state, seat), self.twin.legal_actions(twin_state, twin_seat)
                questions[seat], events_seen[seat] = Question(view.phase, *legal), len(view.past)
                self._actions(questions[seat], seat)
                self._same("what the form shows", legal[1].as_json(), twin_view.legal.as_json(), seat)
            self._texts(view, twin_view, seat, since.get(seat, 0) if seat in movers else None)
        self._views(self.game.watch(state), self.twin.watch(twin_state), PUBLIC)
        notes = [
            (self.map.seat(seat), what, self.map.value(value, what)) for seat, what, value in self.game.notes(state)
        ]
        self._same("what is noted", sorted(notes, key=repr), sorted(map(tuple, self.twin.notes(twin_state)), key=repr))
        return Node(state, twin_state, {seat: questions[seat] for seat in movers}, events_seen)

    def _views(self, view: Observation, twin_view: Observation, seat: int) -> None:
        bare, bare_twin = _bare(view), _bare(twin_view)
        if (mapped := self.map.view(bare)) != bare_twin:
            for name in ("seat", "round", "phase", "role", "past"):
                what = "what it has seen" if name == "past" else f"its {name}"
                self._same(what, getattr(mapped, name), getattr(twin_view, name), seat)
        rules = self.map.rules_of(view)
        if (id(rules), id(twin_view.rules)) not in self._alike:
            self._same("the family of its prompts and pages", families(view.rules), families(twin_view.rules), seat)
            for path, one, other in differences(rules, twin_view.rules):
                fact = f"{path or 'of the rules'}: {short(one)} is said there to be {short(other)}"
                raise Differs(f"{_who(seat)} is told {fact}")
            self._alike[id(rules), id(twin_view.rules)] = rules, twin_view.rules
            self._labels.update(strings(view.rules))
        if self.map.inverse.view(bare_twin) != bare:
            raise Differs(f"what {_who(seat)} sees there could mean several things: two of them look alike")

    # ---- texts

    def _texts(self, view: Observation, twin_view: Observation, seat: int, since: int | None) -> None:
        """Compares all that a seat reads: the original's texts in the new words, and nothing else.

        `since`: the events that it was told before; None where it is not to move.
        """
        if not has_prompt(view.rules):
            self.has_texts = False
            return
        key = (seat, view.phase, None if since is None else view.round)
        everything = key not in self._asked or (self.all_texts and since is not None)
        if since is None and not everything:
            return
        self._asked.add(key)
        unworded = view if self.map.only_words else self._unworded.view(view)
        expected = texts(unworded, since or 0, everything)
        for (what, text), (_, twin_text) in zip(expected, texts(twin_view, since or 0, everything), strict=True):
            self._compare_text(f"{what} of {_who(seat)}", text, twin_text, view)

    def _compare_text(self, what: str, text: str, twin_text: str, view: Observation) -> None:
        """Compares a text about a view of the original, before its words change, with the twin's."""
        new_text = self.map.words.forth(text)
        if isinstance(self.twin, Twin) and self.twin.frame:
            for head in heads():
                twin_text = twin_text.replace(f"{head}{self.twin.frame}\n", head, 1)
        if twin_text != new_text:
            line, twin_line = first_difference(new_text, twin_text)
            raise Differs(f"{what} says {twin_line!r} there, not {line!r}")
        for line in {*text.splitlines()} - self._lines:
            self._judge_line(line, what, view)

    def _judge_line(self, line: str, what: str, view: Observation) -> None:
        """Judges the words that change in a line of the original."""
        words = self.map.words
        if (back := words.back(words.forth(line))) != line:
            raise Differs(f"{what} could mean {line!r} or {back!r}")
        for old, new in sorted(words.changes(line)):
            if old not in self.changed:
                if old.casefold() not in self._labels:
                    self._labels.update(strings((view.past, view.role, view.legal)))
                self._judge_word(old, new, f"{short(line)} tells {new!r} for {old!r}")
                self.changed.add(old)
        self._lines.add(line)

    def _judge_word(self, old: str, new: str, where: str) -> None:
        is_label = old.casefold() in self._labels
        if states_number(old, is_label):
            raise Differs(f"a number changes, and nothing is paid or counted accordingly: {where}")
        if not is_label:
            if QUANTITIES.fullmatch(old.casefold()) or old.casefold() not in self.names:
                raise Differs(f"a word of the rules changes, which is no name: {where}")
            self.granted.add(old.casefold())
        labels = {self.map.text(label).casefold() for label in self._labels}
        if new.casefold() not in self._labels | self.names and (fault := fault_of_name(new, old, labels, is_label)):
            raise Differs(f"{new!r} is no name for {old!r}: {fault}")

    # ---- actions

    def _actions(self, question: Question, seat: int) -> None:
        """Compares the actions of a seat, and the reading of its answers."""
        phase, legal, twin_legal = question
        options = legal.options if isinstance(legal, Choice) else legal.as_tools()
        self.offered.setdefault(phase, set()).update(options)
        if (key := (legal, twin_legal, seat, phase)) in self._spaces:
            return
        mapped, dice = self.map.space(legal, phase), Random(f"{legal} {seat}")
        self._same("how it answers", type(mapped).__name__, type(twin_legal).__name__, seat)
        self._same("what it may do", mapped.as_json(), twin_legal.as_json(), seat)
        actions = legal.enumerate() or [legal.example(dice) for _ in range(EXAMPLES)]
        images: dict[str, Any] = {}
        for action in actions[:SAMPLES]:
            image = self.map.value(action, phase)
            if image not in twin_legal:
                raise Differs(f"{_who(seat)} may do {short(action)}, and not {short(image)} there")
            if (
                images.setdefault(folded(twin_legal.format(image)), action) != action
                or self.map.inverse.value(image, phase) != action
            ):
                raise Differs(f"{short(image)} means there both {short(action)} and something else")
            if _reading(action, legal) == action and _reading(image, twin_legal) != image:
                raise Differs(f"{_who(seat)} cannot say {short(image)} there: its answer is read as something else")
        self._spaces.add(key)

    def unreached(self, ends: int) -> tuple[str, ...]:
        """An end, payments and options that no match came to."""
        parts = [] if ends else ["an end"]
        unpaid = [seat for seat in range(self.game.seats) if seat not in self.paid]
        parts += [f"a payment to seat {seat}" for seat in unpaid] if self.paid else ["any payment"]
        for phase, options in self.offered.items():
            if missing := sorted(options - self.chosen.get(phase, set())):
                parts.append(f"in the phase {phase}: {', '.join(missing)}")
        return tuple(parts)

    def _same(self, what: str, expected: Any, value: Any, seat: int | None = None) -> None:
        if expected != value and (difference := next(differences(expected, value), None)):
            path, one, other = difference
            whose = "" if seat is None else f" of {_who(seat)}"
            raise Differs(f"{what}{whose}{f' ({path})' if path else ''} is {short(other)} there, not {short(one)}")


def _who(seat: int) -> str:
    return "the public" if seat == PUBLIC else f"seat {seat}"


def _equal(one: float, other: float) -> bool:
    return isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)


def _reading(action: Any, legal: Space) -> Any:
    """The action that is read in the answer that a player writes for an action."""
    return parse_reply(legal.format(action), legal).action


def short(value: object) -> str:
    """A value in 80 characters at most."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def differences(one: Any, other: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """(path, one value, other value) of each difference of two facts. The names of games and digests do not count."""
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
        parts = enumerate(zip(one, other, strict=True))
        pairs = [(str(getattr(first, "id", place)), first, second) for place, (first, second) in parts]
    else:
        if one != other:
            yield path, one, other
        return
    for name, first, second in pairs:
        if (path or name not in OWN) and name != "digest":
            yield from differences(first, second, f"{path} {name}".strip())
