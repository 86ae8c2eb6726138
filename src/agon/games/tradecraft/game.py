"""TradeCraft. A turn is a proposal, the partner's decision and crafting by all players. Every action is the call of a tool."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

from agon.errors import require_choice
from agon.games.base import (
    PUBLIC,
    Dice,
    Event,
    Game,
    Histories,
    Note,
    Observation,
    Times,
    check_counts,
    empty_histories,
    refuse_illegal,
    reveal,
)
from agon.games.tradecraft.amounts import (
    Hand,
    amount_of,
    covers,
    exchange_items,
    floor_hand,
    hand_from_json,
    hand_of,
    hand_to_json,
    minus,
    plus,
    shortage,
)
from agon.games.tradecraft.calls import TOOLS, Calls, Object
from agon.games.tradecraft.recipes import Craft, Recipe, Refusal, Ruleset

End = Literal["turn", "first"]
Phase = Literal["propose", "decide", "craft"]


class Facts(NamedTuple):
    """The rules of a match, which all players know."""

    name: str
    seats: int
    players: tuple[str, ...]
    ruleset: Ruleset
    turns: int
    """The number of turns, at most."""
    end: End
    attempts: int
    calls: int
    length: int
    reachable: frozenset[str]
    """Items that can appear in the match: all that can be made from all initial hands together."""


class Trade(NamedTuple):
    """A proposal that awaits its partner's decision."""

    proposer: int
    partner: int
    offer: Hand
    request: Hand


class State(NamedTuple):
    """Where a match stands."""

    turn: int
    phase: Phase
    hands: tuple[Hand, ...]
    """In seat order."""
    seen: Histories
    refused: int = 0
    """The number of refused proposals in this turn."""
    calls: tuple[int, ...] = ()
    """The number of calls of each seat in this phase."""
    trade: Trade | None = None
    done: frozenset[int] = frozenset()
    """The seats that have finished crafting."""
    over: bool = False
    winners: tuple[int, ...] = ()
    notes: tuple[tuple[int, str, Any], ...] = ()
    """The game's answers to the calls of the last step, for the turns' column `detail`."""


@dataclass(frozen=True)
class TradeCraft(Game[State]):
    """Paper TradeCraft, section 3. Everybody has a hand of items and a target that only it knows; hands are public.

    A turn: one player, in rotation, proposes a trade to another, who accepts or rejects; then all craft at once, with
    fractions, and a hand is floored when its player is done. Whoever holds its target at the end of a turn wins (`end` turn:
    several may), or at once (`end` first). Each winner is paid 1.

    An action is the call of a tool. A wrong call is refused with a reason, and changes nothing. After `attempts` refused
    proposals, after `calls` calls in one phase, and for an action that could not be read, the game moves for the player:
    it proposes nothing to the next seat, rejects, or ends the player's crafting.
    """

    name: str
    variant: str
    ruleset: Ruleset
    hands: Sequence[Mapping[str, int]]
    """Items by seat."""
    targets: Sequence[Mapping[str, int]]
    """The items that each seat must hold to win."""
    turns: int = 15
    end: End = "turn"
    attempts: int = 5
    calls: int = 40
    length: int = 2000
    """The length of a message or thought in characters, at most."""
    rules: int = 1
    independent = True
    """Seats that act at once do not depend on each other: one that gives no readable action leaves the others' turns valid."""
    seats: int = field(init=False)
    _facts: Facts = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        seats = len(self.hands)
        if seats < 2 or len(self.targets) != seats:
            raise ValueError(
                f"{self.name}: {seats} hands and {len(self.targets)} targets; each of 2 or more players has one"
            )
        check_counts(self.name, turns=self.turns, attempts=self.attempts, calls=self.calls, length=self.length)
        require_choice(f"{self.name}: end", self.end, End)
        hands = tuple(self._items(hand, f"the hand of seat {seat}") for seat, hand in enumerate(self.hands))
        targets = tuple(self._items(target, f"the target of seat {seat}") for seat, target in enumerate(self.targets))
        for seat, (hand, target) in enumerate(zip(hands, targets, strict=True)):
            if not target or covers(hand, target):
                raise ValueError(f"{self.name}: seat {seat} needs a target that it does not hold at the start")
        for name, value in (("hands", hands), ("targets", targets), ("seats", seats)):
            object.__setattr__(self, name, value)
        reachable = self.ruleset.reachable({item for hand in hands for item in hand})
        limits = self.turns, self.end, self.attempts, self.calls, self.length
        object.__setattr__(self, "_facts", Facts(self.name, seats, self.players, self.ruleset, *limits, reachable))

    def __hash__(self) -> int:
        return hash((self.name, self.variant, self.ruleset))

    def _items(self, hand: Mapping[str, Any], whose: str) -> dict[str, int]:
        items = {}
        for item, amount in hand_of(hand).items():
            if item not in self.ruleset.items:
                raise ValueError(f"{self.name}: {whose} names {item}, which ruleset {self.ruleset.name} does not have")
            if not isinstance(amount, int):
                raise ValueError(f"{self.name}: {whose} has {amount} {item}; it must be a whole number")
            items[item] = amount
        return items

    @cached_property
    def max_rounds(self) -> int:
        """`turns`; a match may end before."""
        return self.turns

    def times_asked(self, seat: int) -> Times:
        """At least one call in each phase of one turn; at most all `calls` in two phases of every turn.

        With two seats, one proposes and the other decides. Then all craft, unless the match ends before (`end` first).
        """
        least = (seat == 0) + (seat == 1 == self.seats - 1) + (self.end == "turn")
        return Times(least, 2 * self.turns * self.calls)

    def start(self, dice: Dice) -> State:
        """No chance: a problem fixes hands, targets and seats."""
        seen = empty_histories(self.seats)
        for seat, target in enumerate(self.targets):
            seen = reveal(seen, Event("target", None, Object(hand_to_json(target))), (seat,))
        return self._next_turn(State(0, "craft", tuple(self.hands), seen))

    def to_move(self, state: State) -> tuple[int, ...]:
        """The proposer, its partner, or all seats that have not finished crafting."""
        if state.over:
            return ()
        if state.phase == "propose":
            return (self._proposer(state),)
        if state.trade is not None:
            return (state.trade.partner,)
        return tuple(seat for seat in range(self.seats) if seat not in state.done)

    def legal_actions(self, state: State, seat: int) -> Calls:
        """Calls of tools."""
        others = {}
        if state.phase == "propose":  # while all craft, hands are nobody else's business
            others = {player: state.hands[other] for other, player in enumerate(self.players) if other != seat}
        return Calls(state.phase, TOOLS[state.phase], state.hands[seat], others, self.ruleset)

    def observe(self, state: State, seat: int) -> Observation:
        """The events that the seat knows. They hide the targets of others, messages between others, and crafts in progress."""
        return Observation(
            seat, state.turn, self.legal_actions(state, seat), state.seen[seat], self._facts, state.phase
        )

    def seat_facts(self, seat: int) -> dict[str, Any]:
        """The target of the seat."""
        return {"target": hand_to_json(self.targets[seat])}

    def notes(self, state: State) -> tuple[Note, ...]:
        """The game's answers to the calls of the last step."""
        return state.notes

    def watch(self, state: State) -> Observation:
        """Hands, and trades with their terms. Targets, messages and proposals stay hidden."""
        return Observation(PUBLIC, state.turn, None, state.seen[PUBLIC], self._facts, state.phase)

    def step(self, state: State, actions: Mapping[int, Any]) -> tuple[State, tuple[float, ...]]:
        """One call of each seat to move. A call that is refused changes nothing but the count of calls. Raises IllegalAction."""
        refuse_illegal(self, state, actions)
        state = state._replace(notes=())
        move = {"propose": self._propose, "decide": self._decide, "craft": self._craft}[state.phase]
        for seat, call in sorted(actions.items()):
            state = move(state, seat, call)
            if call is not None and seat in self.to_move(state) and state.calls[seat] >= self.calls:
                state = move(state, seat, None)
        if state.phase == "craft" and not state.over:
            if self.end == "first" and (winners := self._holders(state)):
                state = self._finish(state, winners)
            if not state.over and len(state.done) == self.seats:
                state = self._next_turn(state)
        return state, tuple(float(state.over and seat in state.winners) for seat in range(self.seats))

    def _proposer(self, state: State) -> int:
        return (state.turn - 1) % self.seats

    def _next_turn(self, state: State) -> State:
        """The end of a turn, and the start of the next."""
        winners = self._holders(state)
        if winners or state.turn == self.turns:
            return self._finish(state, winners)
        state = state._replace(
            turn=state.turn + 1, phase="propose", refused=0, calls=(0,) * self.seats, done=frozenset()
        )
        value = Object(turn=state.turn, proposer=self.players[self._proposer(state)])
        return state._replace(seen=reveal(reveal(state.seen, Event("turn", None, value)), self._hands_event(state)))

    def _holders(self, state: State) -> tuple[int, ...]:
        """Seats that hold their target."""
        return tuple(seat for seat in range(self.seats) if covers(state.hands[seat], self.targets[seat]))

    def _finish(self, state: State, winners: tuple[int, ...]) -> State:
        return state._replace(over=True, winners=winners, seen=reveal(state.seen, self._hands_event(state)))

    def _hands_event(self, state: State) -> Event:
        hands = {player: hand_to_json(hand) for player, hand in zip(self.players, state.hands, strict=True)}
        return Event("hands", None, Object(hands))

    def _answer(self, state: State, seat: int, call: Mapping[str, Any], answer: Any, **details: Any) -> State:
        """Tells the seat, and nobody else, the answer (JSON or a Refusal), and counts the call."""
        copy = json.loads(json.dumps(call))  # whatever the player does with its own
        fault, text = answer if isinstance(answer, Refusal) else ("", answer)
        value = Object(call=copy, ok=not fault, fault=fault, answer=text)
        calls = tuple(count + (place == seat) for place, count in enumerate(state.calls))
        facts = {"ok": not fault, **({"fault": fault, "says": text} if fault else {}), **details}
        notes = state.notes + tuple((seat, what, fact) for what, fact in facts.items())
        return state._replace(calls=calls, notes=notes, seen=reveal(state.seen, Event("answer", seat, value), (seat,)))

    def _answer_query(self, state: State, seat: int, call: Mapping[str, Any]) -> State:
        """Answers a call that changes nothing: a query, or a tool of another phase."""
        answer = answer_query(self._facts, state.hands[seat], state.seen[seat], state.phase, call)
        return self._answer(state, seat, call, answer)

    def _propose(self, state: State, seat: int, call: Mapping[str, Any] | None) -> State:
        if call is None:
            return self._record_proposal(
                state, Trade(seat, (seat + 1) % self.seats, {}, {}), "", self._default_reason(state, seat)
            )
        if call["tool"] != "submit_proposal":
            return self._answer_query(state, seat, call)
        trade = self._parse_trade(state, seat, call)
        if isinstance(trade, Refusal):
            state = self._answer(state, seat, call, trade)._replace(refused=state.refused + 1)
            return self._propose(state, seat, None) if state.refused == self.attempts else state
        return self._record_proposal(self._answer(state, seat, call, "sent"), trade, str(call.get("message") or ""))

    def _default_reason(self, state: State, seat: int) -> str:
        """The reason for which the game moves for the seat."""
        if state.phase == "propose" and state.refused == self.attempts:
            return "refused proposals"
        return "call limit" if state.calls[seat] >= self.calls else "no action"

    def _record_proposal(self, state: State, trade: Trade, message: str, default: str = "") -> State:
        value = Object(
            partner=self.players[trade.partner],
            offer=hand_to_json(trade.offer),
            request=hand_to_json(trade.request),
            message=message,
            default=bool(default),
        )
        notes = state.notes + (((trade.proposer, "default", default),) if default else ())
        notes += ((trade.proposer, "hands", [hand_to_json(hand) for hand in state.hands]),)
        seen = reveal(state.seen, Event("proposal", trade.proposer, value), (trade.proposer, trade.partner))
        return state._replace(phase="decide", trade=trade, seen=seen, notes=notes, calls=(0,) * self.seats)

    def _parse_trade(self, state: State, seat: int, call: Mapping[str, Any]) -> Trade | Refusal:
        """The trade that a call proposes, or the reason why it is refused."""
        others = [player for other, player in enumerate(self.players) if other != seat]
        partner = call.get("partner")
        if not isinstance(partner, str) or partner not in others:
            who = "yourself" if partner == self.players[seat] else "nobody here"
            return Refusal("bad partner", f"partner is {who}: it must be {' or '.join(others)}")
        if fault := self._message_fault(call.get("message", "")):
            return Refusal("bad message", fault)
        sides: list[Hand] = []
        for what, holder in (("offer", seat), ("request", self.players.index(partner))):
            try:
                side = hand_of(call.get(what))
            except ValueError as error:
                return Refusal("bad amounts", f"{what}: {error} ({{}} is nothing)")
            for item, amount in side.items():
                stock = state.hands[holder].get(item, 0)
                if not isinstance(amount, int):
                    return Refusal("bad amounts", f"{what}: {amount} {item} cannot be traded, only whole numbers")
                if amount > stock:
                    has = f"{self.players[holder]} has {stock} {item[:80]}"
                    return Refusal("beyond the hand", f"{what}: {has}, not {amount}")
            sides.append(side)
        return Trade(seat, self.players.index(partner), *sides)

    def _message_fault(self, message: object) -> str:
        if not isinstance(message, str):
            return "message must be a text"
        if len(message) > self.length:
            return f"message has {len(message)} characters; at most {self.length} are allowed"
        return ""

    def _decide(self, state: State, seat: int, call: Mapping[str, Any] | None) -> State:
        if call is None:
            return self._record_decision(state, seat, "reject", "", self._default_reason(state, seat))
        if call["tool"] != "decide":
            return self._answer_query(state, seat, call)
        decision, message = call.get("decision"), call.get("message", "")
        word = decision.strip().lower() if isinstance(decision, str) else ""
        if word not in ("accept", "reject"):
            return self._answer(state, seat, call, Refusal("bad decision", "decision must be accept or reject"))
        if fault := self._message_fault(message):
            return self._answer(state, seat, call, Refusal("bad message", fault))
        return self._record_decision(self._answer(state, seat, call, "taken"), seat, word, message)

    def _record_decision(self, state: State, seat: int, word: str, message: str, default: str = "") -> State:
        trade = state.trade
        assert trade is not None
        value = Object(decision=word, message=message, default=bool(default))
        seen = reveal(state.seen, Event("decision", seat, value), (trade.proposer, seat))
        players = Object(proposer=self.players[trade.proposer], partner=self.players[seat])
        notes = state.notes + (((seat, "default", default),) if default else ())
        state = state._replace(phase="craft", trade=None, calls=(0,) * self.seats)
        if word == "reject":
            others = [other for other in range(self.seats + 1) if other not in (trade.proposer, seat)]
            return state._replace(seen=reveal(seen, Event("rejected", None, players), others), notes=notes)
        hands, proposer = list(state.hands), trade.proposer
        hands[proposer], hands[seat] = exchange_items(hands[proposer], hands[seat], trade.offer, trade.request)
        state = state._replace(hands=tuple(hands))
        terms = Object(**players, offer=hand_to_json(trade.offer), request=hand_to_json(trade.request))
        seen = reveal(reveal(seen, Event("trade", None, terms)), self._hands_event(state))
        return state._replace(seen=seen, notes=(*notes, (seat, "hands", [hand_to_json(hand) for hand in hands])))

    def _craft(self, state: State, seat: int, call: Mapping[str, Any] | None) -> State:
        tool = None if call is None else call["tool"]
        if call is None or tool == "craft_done":
            default = self._default_reason(state, seat) if call is None else ""
            hand = floor_hand(state.hands[seat])
            if call is None:
                extra = ((seat, "default", default), (seat, "hand", hand_to_json(hand)))
                state = state._replace(notes=state.notes + extra)
            else:
                state = self._answer(state, seat, call, {"hand": hand_to_json(hand)}, hand=hand_to_json(hand))
            return state._replace(hands=_with(state.hands, seat, hand), done=state.done | {seat})
        if tool not in ("craft_check", "craft_apply"):
            return self._answer_query(state, seat, call)
        craft = find_craft(self.ruleset, state.hands[seat], call)
        if isinstance(craft, Refusal):
            return self._answer(state, seat, call, craft)
        if tool == "craft_check":
            return self._answer(state, seat, call, "it would be allowed")
        hand = plus(minus(state.hands[seat], craft.inputs), craft.outputs)
        state = self._answer(state, seat, call, {"hand": hand_to_json(hand)}, hand=hand_to_json(hand))
        return state._replace(hands=_with(state.hands, seat, hand))


def _with(hands: tuple[Hand, ...], seat: int, hand: Hand) -> tuple[Hand, ...]:
    return (*hands[:seat], hand, *hands[seat + 1 :])


def find_craft(ruleset: Ruleset, hand: Hand, call: Mapping[str, Any]) -> Craft | Refusal:
    """The craft that a call asks for, or the reason why it is refused.

    The call names `inputs` and `outputs`, or `recipe` (an id) and `times`. In the second form it names `inputs`, too, if there is a
    choice of ingredients.
    """
    try:
        by_id = call.get("recipe") is not None
        craft = (
            _craft_by_id(ruleset, hand, call)
            if by_id
            else ruleset.match_craft(*map(hand_of, _inputs_and_outputs(call)))
        )
    except ValueError as error:
        return Refusal("bad amounts", str(error))
    if isinstance(craft, Refusal):
        return craft
    if lacking := shortage(hand, craft.inputs):
        missing = ", ".join(f"{amount} {item}" for item, amount in lacking.items())
        return Refusal("not in the hand", f"the hand lacks {missing}")
    return craft


def _inputs_and_outputs(call: Mapping[str, Any]) -> tuple[Any, Any]:
    if missing := [what for what in ("inputs", "outputs") if call.get(what) is None]:
        raise ValueError(f"{' and '.join(missing)} missing: give inputs and outputs, or recipe and times")
    return call["inputs"], call["outputs"]


def _craft_by_id(ruleset: Ruleset, hand: Hand, call: Mapping[str, Any]) -> Craft | Refusal:
    recipe = ruleset.recipe(call["recipe"]) if isinstance(call["recipe"], str) else None
    if recipe is None:
        return Refusal(
            "no such recipe", f"there is no recipe {str(call['recipe'])[:80]!r}: item_info names those of an item"
        )
    try:
        times = amount_of(call.get("times"))
    except ValueError as error:
        raise ValueError(f"times: {error}") from None
    if not isinstance(times, int):
        raise ValueError(f"times is {times}; it must be a whole number")
    if call.get("inputs") is None:
        return ruleset.fill_craft(recipe, times, hand)
    return ruleset.match_craft(hand_of(call["inputs"]), {recipe.makes: recipe.number * times})


def answer_query(facts: Facts, hand: Hand, past: Sequence[Event], phase: str, call: Mapping[str, Any]) -> Any:
    """The answer (JSON) to a query, or the refusal of a tool that does not belong to the phase."""
    tool = call["tool"]
    if tool not in TOOLS[phase]:
        allowed = f"this is the time for {', '.join(TOOLS[phase])}"
        if any(tool in tools for tools in TOOLS.values()):
            return Refusal("wrong phase", f"not now: {allowed}")
        return Refusal("no such tool", f"there is no such tool: {allowed}")
    if tool == "item_info":
        return item_info(facts, call.get("name"))
    if tool == "possible_recipes_from_hand":
        return [describe_recipe(facts.ruleset, recipe) for recipe in facts.ruleset.possible(hand)]
    if tool == "history":
        return history(past)
    text = call.get("text")
    if not isinstance(text, str) or len(text) > facts.length:
        return Refusal("bad message", f"text must be a text of at most {facts.length} characters")
    return "noted"


def item_info(facts: Facts, name: object) -> dict[str, Any] | Refusal:
    """The recipes that make or take an item, among those that can come up in the match, and its worth as fuel (smelts)."""
    if not isinstance(name, str) or name not in facts.ruleset.items:
        return Refusal("no such item", f"there is no item {str(name)[:80]!r}")
    worth = facts.ruleset.fuel.get(name)
    return {
        "item": name,
        "made_by": [
            describe_recipe(facts.ruleset, recipe) for recipe in _reachable_recipes(facts, facts.ruleset.made_by(name))
        ],
        "used_in": [recipe.id for recipe in _reachable_recipes(facts, facts.ruleset.used_in(name))],
        "smelts": None if worth is None else str(worth),
        "can_come_up": name in facts.reachable,
    }


def _reachable_recipes(facts: Facts, recipes: Sequence[Recipe]) -> list[Recipe]:
    ruleset = facts.ruleset
    return [
        recipe
        for recipe in recipes
        if recipe.makes in facts.reachable
        and all(any(item in facts.reachable for item in ruleset.members(need)) for need, _ in recipe.needs)
    ]


def describe_recipe(ruleset: Ruleset, recipe: Recipe) -> dict[str, Any]:
    """A recipe for players: its id, its ingredients in words, and its product."""
    return {"recipe": recipe.id, "takes": ruleset.format_inputs(recipe), "makes": {recipe.makes: recipe.number}}


def history(past: Sequence[Event]) -> list[dict[str, Any]]:
    """The proposals that a seat knows, oldest first: turn, proposer, partner, outcome, and the terms if it knows them.

    Messages between others are null.
    """
    proposals: list[dict[str, Any]] = []
    unknown = {"message": None, "reply": None}
    turn: dict[str, Any] = {}
    for event in past:
        if event.phase == "turn":
            turn = dict(event.value)
        elif event.phase == "proposal":
            proposals.append(turn | event.value)
        elif event.phase == "decision":
            proposals[-1] = proposals[-1] | {"outcome": event.value["decision"], "reply": event.value["message"]}
        elif event.phase == "rejected":
            proposals.append(turn | event.value | {"outcome": "reject"} | unknown)
        elif event.phase == "trade" and (not proposals or proposals[-1].get("turn") != turn["turn"]):
            proposals.append(turn | event.value | {"outcome": "accept"} | unknown)
    return proposals


class TableView(NamedTuple):
    """A seat's knowledge of the current state of the match."""

    hand: dict[str, Any]
    """Its own."""
    hands: dict[str, dict[str, Any]]
    """Player -> hand, as last shown to all players."""
    target: dict[str, Any]
    proposal: Mapping[str, Any] | None
    """The proposal on which the seat decides: proposer, partner, offer, request, message."""


def hands_by_seat(view: Observation, table: TableView) -> list[Hand]:
    """The hands of all seats, in seat order: the seat's own as it is now, those of others as last shown to all."""
    return [table.hand if seat == view.seat else table.hands[player] for seat, player in enumerate(view.rules.players)]


def table_view(view: Observation) -> TableView:
    """The knowledge of the seat of a view, from its events."""
    events = view.past
    player_of_seat = view.rules.players[view.seat]
    hands: dict[str, Any] = {}
    hand: dict[str, Any] | None = None
    proposal = None
    for event in reversed(events):
        if (
            event.phase == "answer"
            and hand is None
            and isinstance(event.value["answer"], dict)
            and "hand" in event.value["answer"]
        ):
            hand = event.value["answer"]["hand"]
        elif event.phase == "proposal" and view.phase == "decide" and proposal is None:
            proposal = {"proposer": view.rules.players[event.seat], **event.value}
        elif event.phase == "hands":
            hands = event.value
            break
    return TableView(
        hand_from_json(hands[player_of_seat] if hand is None else hand),
        {player: hand_from_json(held) for player, held in hands.items()},
        hand_from_json(events[0].value),
        proposal,
    )
