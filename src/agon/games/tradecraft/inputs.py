"""The forms of TradeCraft for people: a proposal, a decision, and a workshop for trying crafts before they are sent."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from agon.games.base import Event
from agon.games.html import count, items, join_words, label, text
from agon.games.inputs import (
    UNCHOSEN,
    Button,
    Entered,
    FieldSet,
    Group,
    InvalidEntry,
    LineField,
    ListField,
    Thing,
    options,
    text_fields,
    with_unchosen,
)
from agon.games.pages import Scene
from agon.games.spaces import Text
from agon.games.tradecraft.amounts import Amount, Hand, amount_of, floor_hand, hand_to_json, minus, plus, whole
from agon.games.tradecraft.calls import Call
from agon.games.tradecraft.game import find_craft, table_view
from agon.games.tradecraft.icons import icon
from agon.games.tradecraft.recipes import Recipe, Refusal, Ruleset

NONE = ("", "0")
"""Entries that mean no piece of an item."""
MEMBERS = 4
"""The number of items that explain a tag."""


def proposal(scene: Scene, entered: Entered) -> list[Thing]:
    """The form of a proposal: partner, offer, request and message."""
    facts, now = scene.view.rules, table_view(scene.view)
    others = [player for seat, player in enumerate(facts.players) if seat != scene.own]
    partner = entered.get("partner", others[0])
    gives = _amounts("give", now.hand, "you have", entered)
    gets = _amounts(f"get/{partner}", now.hands.get(partner, {}), "they have", entered)
    prompt = "Message, which only your partner reads; may be empty"
    message = text_fields(Text(facts.length), "message", prompt, entered, optional=True)

    def call(offer: Mapping[str, int], request: Mapping[str, int]) -> list[Any]:
        sides = {"offer": offer, "request": request}
        return [Call(tool="submit_proposal", partner=partner, **sides, message=message.read())]

    def send() -> list[Any]:
        offer, request = gives.read(), gets.read()
        if not offer and not request:
            raise InvalidEntry(
                "Nothing is given and nothing is asked for. To do without a trade, press “Propose nothing”."
            )
        return call(offer, request)

    def send_nothing() -> list[Any]:
        typed = [
            str(value or "").strip() for key, value in entered.items() if key.startswith(("give/", f"get/{partner}/"))
        ]
        if any(value not in NONE for value in typed):
            raise InvalidEntry("You have entered items. Clear them first, or press “Send this proposal”.")
        return call({}, {})

    try:
        summary = f"You give {goods(gives.read())}. You get {goods(gets.read())} from {text(partner)}."
    except InvalidEntry as error:
        summary = text(error)
    return [
        ListField(key="partner", label="Trade with", value=others[0], options=options(others)),
        "<h3>You give</h3>" + ("" if gives.things else "<p>You have nothing to give.</p>"),
        Group(gives.things),
        f"<h3>You get from {text(partner)}</h3>" + ("" if gets.things else "<p>That player has nothing to give.</p>"),
        Group(gets.things),
        *message.things,
        f'<div class="card" role="status"><p>{summary}</p></div>',
        Button("Send this proposal", send),
        Button("Propose nothing", send_nothing, main=False),
    ]


def _amounts(key: str, hand: Mapping[str, Any], whose: str, entered: Entered) -> FieldSet:
    """A field for each item of a hand. Items whose field is empty or 0 are not in the amounts that `read` returns."""
    stock = {item: int(amount) for item, amount in sorted(hand.items()) if amount >= 1}

    def read() -> dict[str, int]:
        amounts = {}
        for item, most in stock.items():
            typed = str(entered.get(f"{key}/{item}") or "").strip()
            if typed in NONE:
                continue
            try:
                amount = amount_of(typed)
            except ValueError:
                amount = 0
            if not isinstance(amount, int) or not amount > 0:
                raise InvalidEntry(f"{label(item_name(item), 40)}: “{label(typed, 40)}” is no whole number.")
            if amount > most:
                raise InvalidEntry(f"{label(item_name(item), 40)}: {whose} {most}, not {amount}.")
            amounts[item] = amount
        return amounts

    lines = [
        LineField(key=f"{key}/{item}", label=f"{label(item_name(item), 40)} ({whose} {most})", keys="numeric")
        for item, most in stock.items()
    ]
    return FieldSet(tuple(lines), read)


def decision(scene: Scene, entered: Entered) -> list[Thing]:
    """The form of a decision: the proposal in words, a reply and two buttons."""
    prompt = "Reply, which only the proposer reads; may be empty"
    message = text_fields(Text(scene.view.rules.length), "message", prompt, entered, optional=True)

    def decide(word: str) -> list[Any]:
        return [Call(tool="decide", decision=word, message=message.read())]

    buttons = [
        Button(name, partial(decide, word), main=word == "accept")
        for name, word in (("Accept", "accept"), ("Reject", "reject"))
    ]
    return [_proposal_html(table_view(scene.view).proposal), *message.things, *buttons]


def _proposal_html(trade: Mapping[str, Any] | None) -> str:
    """The proposal in the words of the player who decides."""
    if trade is None:
        return "<p>There is no proposal.</p>"
    who = text(trade["proposer"])
    if trade["default"]:
        return f'<div class="card"><p>{who} made no proposal; accepting or rejecting changes nothing.</p></div>'
    message = f"{who} says: “{text(trade['message'])}”" if trade["message"] else f"{who} says nothing to it."
    terms = f"you get <strong>{goods(trade['offer'])}</strong>, you give <strong>{goods(trade['request'])}</strong>"
    return f'<div class="card"><p>{who} proposes: {terms}.</p><p>{message}</p></div>'


def calls_made(past: Sequence[Event]) -> int:
    """The number of calls of a seat in its current phase: the answers at the end of its events."""
    calls = 0
    for event in reversed(past):
        if event.phase != "answer":
            break
        calls += 1
    return calls


def workshop(scene: Scene, entered: Entered) -> list[Thing]:
    """The form for crafting: a recipe, its number of times, its inputs if there is a choice; the list of crafts; a button to finish.

    `entered["todo"]` is the list of crafts: pairs of a call and the hand after it.
    """
    view, todo = scene.view, tuple(entered.get("todo", ()))
    rules: Ruleset = view.rules.ruleset
    hand: Hand = todo[-1][1] if todo else table_view(view).hand
    room = view.rules.calls - calls_made(view.past) - 1
    possible = _distinct(rules.possible(hand)) if len(todo) < room else []
    recipe = next(
        (possible_recipe for possible_recipe in possible if possible_recipe.id == entered.get("recipe")), None
    )
    typed = str(entered.get("times", "1") or "").strip()
    times = _times(typed)
    inputs = _inputs(scene, recipe, times, hand, f"input/{len(todo)}", entered) if recipe else {}

    def add() -> Mapping[str, Any]:
        if recipe is None:
            raise InvalidEntry("Choose what to make first.")
        if not times:
            raise InvalidEntry(f"How many times: “{label(typed, 40)}” is no whole number of 1 or more.")
        call: dict[str, Any] = {"recipe": recipe.id, "times": times}
        if inputs:
            entries = {item: str(entered.get(line.key, line.value) or "").strip() for item, line in inputs.items()}
            call["inputs"] = {item: amount for item, amount in entries.items() if amount not in NONE}
        craft = find_craft(rules, hand, call)
        if isinstance(craft, Refusal):
            raise InvalidEntry(f"{craft.text[:1].upper()}{craft.text[1:]}.")
        call = Call(tool="craft_apply", inputs=hand_to_json(craft.inputs), outputs=hand_to_json(craft.outputs))
        return {**entered, "todo": (*todo, (call, plus(minus(hand, craft.inputs), craft.outputs)))}

    def undo() -> Mapping[str, Any]:
        return {**entered, "todo": todo[:-1]}

    def finish() -> list[Any]:
        return [*(call for call, _ in todo), Call(tool="craft_done")]

    choices = dict(
        zip(
            options([_label(possible_recipe) for possible_recipe in possible]),
            [possible_recipe.id for possible_recipe in possible],
            strict=True,
        )
    )
    fields: list[Thing] = [
        ListField(key="recipe", label="What to make", value=UNCHOSEN, options=with_unchosen(choices)),
        LineField(key="times", label="How many times", value="1", press="add", keys="numeric"),
        "" if recipe is None else _needs_html(rules, recipe, times or 1, bool(inputs)),
        Group(tuple(inputs.values())),
        Button("Add to the list", add, main=False, key="add"),
    ]
    taken_off: list[Thing] = [Button("Take the last one off the list", undo, main=False)]
    end = "Craft these and finish the turn" if todo else "Finish without crafting"
    return [
        *(fields if possible else []),
        _list(todo, hand, bool(possible), len(todo) >= room),
        *(taken_off if todo else []),
        Button(end, finish, key="finish"),
    ]


def _list(todo: Sequence[tuple[Call, Hand]], hand: Hand, more: bool, full: bool) -> str:
    """The list of crafts and the hand after them, as HTML."""
    lines = [f"{goods(call['outputs'])} out of {goods(call['inputs'])}" for call, _ in todo]
    none = "" if more else "<p>There is nothing more that your hand can make.</p>"
    if full:
        none = "<p>The list is full: no more steps are allowed in this turn.</p>"
    head = f"<h3>To do: {count(len(todo), 'craft') if todo else 'nothing yet'}</h3>"
    after = f"<p>Your hand {'after these' if lines else 'now'}: {goods(hand_to_json(hand))}.</p>"
    fractions = minus(hand, floor_hand(hand))
    broken = f"<p>Finishing loses broken pieces: {goods(hand_to_json(fractions))}.</p>" if fractions else ""
    return f"{none}{head}{items(lines, 'ol')}{after}{broken}"


def _needs_html(rules: Ruleset, recipe: Recipe, times: int, choice: bool) -> str:
    """The ingredients and the product of a recipe, as HTML."""
    line = f"<p>Takes {text(inputs_text(rules, recipe, times))}; makes {recipe.number * times} {text(item_name(recipe.makes))}.</p>"
    how = "Say how much of each goes in (amounts may be fractions such as 1/8 for fuel):"
    return line + (f"<p>There is a choice. {how}</p>" if choice else "")


def _times(typed: str) -> int:
    """The number of times; 0 for an entry that is no whole number."""
    try:
        times = amount_of(typed)
    except ValueError:
        return 0
    return times if isinstance(times, int) else 0


def _inputs(scene: Scene, recipe: Recipe, times: int, hand: Hand, key: str, entered: Entered) -> dict[str, LineField]:
    """A field for each item of the hand that may be an input, if there is a choice. As an aid, one valid choice is filled in."""
    rules: Ruleset = scene.view.rules.ruleset
    craft = rules.fill_craft(recipe, times, hand) if times else None
    if not isinstance(craft, Refusal) or craft.fault != "wrong amounts":
        return {}
    suggestion = suggest_inputs(rules, recipe, times, hand) if scene.given("amounts") else {}
    members = {item for need, _ in recipe.needs for item in rules.members(need)}
    fuels = set(rules.fuel) if recipe.fuelled else set()
    return {
        item: LineField(
            key=f"{key}/{recipe.id}/{times}/{item}",
            label=f"{label(item_name(item), 40)} (you have {amount})",
            value=str(suggestion.get(item, "")),
        )
        for item, amount in sorted(hand.items())
        if item in members | fuels
    }


def _distinct(recipes: Sequence[Recipe]) -> list[Recipe]:
    """The recipes without those that differ from an earlier one only in their station."""
    return list({recipe._replace(id="", station=""): recipe for recipe in reversed(recipes)}.values())[::-1]


def _label(recipe: Recipe) -> str:
    """A recipe in one short line."""
    parts = [
        f"{number} {'any ' + item_name(need[1:]) if need.startswith('#') else item_name(need)}"
        for need, number in recipe.needs
    ]
    return (
        f"{recipe.number} {item_name(recipe.makes)} from {' + '.join([*parts, *(['fuel'] if recipe.fuelled else [])])}"
    )


def suggest_inputs(rules: Ruleset, recipe: Recipe, times: int, hand: Hand) -> dict[str, Amount]:
    """One choice of inputs: of each kind the items with the largest amounts, and then the fuels worth least."""
    stock, inputs = dict(hand), dict[str, Amount]()

    def take(item: str, amount: Amount) -> None:
        stock[item] -= amount
        inputs[item] = whole(inputs.get(item, 0) + amount)

    for need, number in sorted(recipe.needs, key=lambda value: len(rules.members(value[0]))):
        pieces_left = number * times
        for item in sorted(set(rules.members(need)) & stock.keys(), key=lambda value: (-stock[value], value)):
            pieces = min(int(stock[item]), pieces_left)
            if pieces > 0:
                take(item, pieces)
                pieces_left -= pieces
    heat: Amount = times if recipe.fuelled else 0
    for item in sorted(set(rules.fuel) & stock.keys(), key=lambda value: (rules.fuel[value], value)):
        fuel_amount = min(stock[item], heat / rules.fuel[item])
        if fuel_amount > 0:
            take(item, whole(fuel_amount))
            heat = whole(heat - fuel_amount * rules.fuel[item])
    return {item: amount for item, amount in inputs.items() if amount}


# ---- in words ----


def item_name(item: str) -> str:
    """The name of an item for people: `oak log`, not `oak_log`."""
    return item.replace("_", " ")


def item_html(item: str) -> str:
    """An item as HTML, with its picture."""
    return f'<span class="item">{icon(item)}{text(item_name(item))}</span>'


def goods(hand: Mapping[str, Any]) -> str:
    """A hand as HTML: `2 oak log and 1 iron`, with pictures, or `nothing`."""
    return join_words([f"{text(amount)} {item_html(item)}" for item, amount in hand.items()]) or "nothing"


def inputs_text(ruleset: Ruleset, recipe: Recipe, times: int = 1) -> str:
    """The ingredients of some operations in words. A tag names only its first few items."""
    parts = []
    for need, number in recipe.needs:
        members = ruleset.members(need)
        more = [f"{len(members) - MEMBERS} more"] if len(members) > MEMBERS + 1 else []
        few = join_words([*map(item_name, members[: MEMBERS if more else None]), *more], "and" if more else "or")
        parts.append(
            f"{number * times} {f'any of {item_name(need[1:])} ({few})' if need.startswith('#') else item_name(need)}"
        )
    return " + ".join([*parts, *([f"fuel for {count(times, 'smelt')}"] if recipe.fuelled else [])])
