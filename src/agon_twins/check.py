"""Checks whether a game is a twin of another: all states of a small game, and the walks of players in a larger one."""

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, product
from math import prod
from random import Random
from typing import Any, NamedTuple

from agon.errors import count
from agon.games.base import Game, IllegalAction
from agon.games.spaces import Space
from agon_twins.compare import Differs, Node, Pair, Question, short
from agon_twins.isomorphism import Isomorphism
from agon_twins.walks import LONG, History, deal, deals, walks

STATES = 5_000
"""Most states that are visited with all joint actions."""
WIDEST = 200
"""Most joint actions of a state. Beyond, states are visited in walks only."""
MENU = 2
"""Answers of a seat in a small version, beside none, where its answers cannot be listed or are more than FEW."""
FEW = 12
"""Most answers of a seat that a small version has one by one."""
PLAYS, ENOUGH = 12, 100
"""Most matches of random play; the number of their states after which two matches are enough."""
VOID = 0.1
"""How often a seat in random play gives no readable action."""


class Check(NamedTuple):
    """The result of checking a claim."""

    counterexample: str
    """The first difference in one line: its place and kind. Empty if there is none."""
    states: int
    """Number of pairs of states that were compared."""
    plays: int
    """Number of walks to the end of a match."""
    complete: bool
    """Whether these were all states of the game."""
    deals: str = ""
    """Which deals were compared, in words."""
    unreached: tuple[str, ...] = ()
    """An end, a payment or an option that no walk came to."""
    given: tuple[str, ...] = ()
    """Facts that are taken for granted."""
    sample: bool = False
    """Whether a few answers stood for many."""

    @property
    def how(self) -> str:
        """The extent of the comparison, in words."""
        if self.complete:
            return f"all {count(self.states, 'state')}"
        return f"{count(self.states, 'state')} of {count(self.plays, 'match', 'matches')}"


class _Walker:
    """Steps a pair through matches. Each pair of states is compared once."""

    def __init__(self, pair: Pair) -> None:
        self.pair, self.starts, self.states, self.ends = pair, dict[int, Node](), 0, 0
        self.history: History = ()
        self.sample = False

    def start(self, number: int) -> Node:
        """The start of a deal. Raises Differs."""
        self.history = ()
        if number not in self.starts:
            self.states += 1
            self.starts[number] = self.pair.start(number)
        return self.starts[number]

    def step(self, node: Node, actions: Mapping[int, Any]) -> Node:
        """The node after actions. Raises Differs; IllegalAction for what the original refuses."""
        self.history = (*self.history, actions)
        before = len(node.children)
        child = self.pair.step(node, actions)
        self.states += len(node.children) - before
        return child

    def visit_all(self, number: int, states: int, menu: int) -> bool:
        """Visits the states of a deal by all joint actions, at most `states`. Returns whether these were all. Raises Differs."""
        queue = deque[tuple[History, Node]]([((), self.start(number))])
        while queue:
            history, node = queue.popleft()
            spaces = {seat: question.legal for seat, question in node.questions.items()}
            self.sample |= menu > 0 and any(map(_has_many, spaces.values()))
            for actions in joint_actions(spaces, menu):
                if actions is None or self.states >= states:
                    return False
                self.history = history
                queue.append(((*history, actions), self.step(node, actions)))
            self.ends += not node.questions
        return True

    def follow(self, number: int, history: History) -> None:
        """Walks a history, as far as the original allows it. Raises Differs."""
        node = self.start(number)
        for actions in history:
            if set(actions) != set(node.questions):
                return
            try:
                node = self.step(node, actions)
            except IllegalAction:
                return
        self.ends += not node.questions

    def wander(self, number: int, seed: int) -> None:
        """A random match. With an odd seed its actions are drawn in the twin. Raises Differs."""
        node, dice = self.start(number), Random(seed)
        while node.questions and len(self.history) < LONG:
            questions = node.questions.items()
            actions = {seat: self._draw_action(question, dice, in_twin=seed % 2 == 1) for seat, question in questions}
            node = self.step(node, actions)
        self.ends += not node.questions

    def _draw_action(self, question: Question, dice: Random, in_twin: bool) -> Any:
        if dice.random() < VOID:
            return None
        if in_twin:
            return self.pair.map.inverse.value(question.twin_legal.example(dice), question.phase)
        return question.legal.example(dice)


def check(
    game: Game[Any],
    twin: Game[Any],
    map: Isomorphism,
    states: int = STATES,
    plays: int = PLAYS,
    menu: int = 0,
    names: Collection[str] = (),
    recorded: Sequence[History] = (),
    elsewhere: bool = False,
) -> Check:
    """Whether `twin` is `game` under `map`.

    Compares all states, by every joint action, none included. If the game has more than `states`, it walks where players do
    (agon_twins.walks), along `recorded` matches, and in `plays` random matches, half of them by actions drawn in the twin.
    `menu`: the number of answers that stand for many; 0: all of them. `names`: words of the game's texts that only name things.
    `elsewhere`: whether this is a further setting, in which scripts are not walked after, and no word of the map need be told.
    """
    small = bool(menu) or is_small(game, states)
    pair, dealt = Pair(game, twin, map, frozenset(name.casefold() for name in names), all_texts=small), deals(game)
    walker, complete, fault = _Walker(pair), not dealt.chance, ""
    try:
        pair.compare_settings()
        for number in dealt.seeds:
            pair.compare_start(walker.start(number), elsewhere)
            complete = walker.visit_all(number, states if small else 1, menu) and complete
        if not complete and plays:
            for number in dealt.seeds:
                for history in chain(() if elsewhere else walks(game, number), recorded):
                    walker.follow(number, history)
            before = walker.states
            for seed in range(plays):
                if seed >= 2 and walker.states - before >= ENOUGH:
                    break
                walker.wander(dealt.seeds[seed % len(dealt.seeds)], seed)
    except Differs as difference:
        fault = f"{_explain_position(walker.history)}: {difference}"
    unreached = () if fault else pair.unreached(walker.ends)
    complete = complete and not fault
    return Check(fault, walker.states, walker.ends, complete, dealt.how, unreached, pair.given, walker.sample)


@lru_cache(maxsize=256)
def is_small(game: Game[Any], states: int = STATES) -> bool:
    """Whether a game has at most `states` states by all joint actions."""
    visited, queue = 1, deque([game.start(deal(0))])
    while queue:
        state = queue.popleft()
        for actions in joint_actions({seat: game.legal_actions(state, seat) for seat in game.to_move(state)}, 0):
            visited += 1
            if actions is None or visited > states:
                return False
            queue.append(game.step(state, actions)[0])
    return True


def joint_actions(spaces: Mapping[int, Space], menu: int) -> Iterator[dict[int, Any] | None]:
    """All joint actions, each seat's void one included; a single None where they cannot be listed, or are more than WIDEST."""
    options = [_options(legal, menu) for legal in spaces.values()]
    menus = [[*actions, None] for actions in options if actions is not None]
    if len(menus) < len(spaces) or prod(map(len, menus)) > WIDEST:
        yield None
    elif spaces:
        for actions in product(*menus):
            yield dict(zip(spaces, actions, strict=True))


def _options(legal: Space, menu: int) -> Sequence[Any] | None:
    """The actions of a space, or `menu` of them where they are many; None where they cannot be listed."""
    if not menu or not _has_many(legal):
        return legal.enumerate()
    dice = Random(0)
    return list({repr(action): action for action in (legal.example(dice) for _ in range(menu))}.values())


def _has_many(legal: Space) -> bool:
    """Whether a space has so many actions that some stand for all in a small version."""
    options = legal.enumerate()
    return options is None or len(options) > FEW


def _explain_position(history: History) -> str:
    """The position of a match, in words."""
    if not history:
        return "at the start"
    last = "; ".join(short(dict(actions)) for actions in history[-2:])
    return f"after {count(len(history), 'step')} ({'... ' if len(history) > 2 else ''}{last})"
