"""The forms of TradeCraft for people: a proposal, a decision, and a workshop for trying crafts before they are sent."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from agon.games.base import Event, Observation
from agon.games.html import items, label, text
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
from agon.games.sentences import Say
from agon.games.spaces import Text
from agon.games.tradecraft.amounts import (
    Amount,
    Hand,
    amount_of,
    covers,
    floor_hand,
    hand_from_json,
    hand_to_json,
    minus,
    plus,
    whole,
)
from agon.games.tradecraft.calls import Call
from agon.games.tradecraft.game import find_craft, table_view
from agon.games.tradecraft.icons import icon
from agon.games.tradecraft.planner.search import Plan, plan
from agon.games.tradecraft.recipes import Recipe, Refusal, Ruleset

NONE = ("", "0")
"""Entries that mean no piece of an item."""
THIS_TRADE, NO_TRADE = "Send this proposal", "Propose nothing"
"""The buttons of a proposal."""
FAULTS = {
    "wrong amounts": "These amounts do not make it: see above what it takes.",
    "no such recipe": "This cannot be made of these items.",
    "not in the hand": "Your hand does not have that much.",
    "bad amounts": "One of the amounts is no number.",
}
"""Why a craft is refused -> a sentence for pages in other languages; in English the refusal has its own words."""
NODES = 200
"""The branches of the search for a way to the target, at most: half a second."""
MEMBERS = 4
"""The number of items that explain a tag."""


def target_of(view: Observation) -> dict[str, Amount]:
    """The target of the own seat; empty for a spectator."""
    return next((hand_from_json(event.value) for event in view.past if event.phase == "target"), {})


def proposal(scene: Scene, entered: Entered) -> list[Thing]:
    """The form of a proposal: partner, offer, request and message."""
    facts, now, say = scene.view.rules, table_view(scene.view), scene.say
    others = [player for seat, player in enumerate(facts.players) if seat != scene.own]
    partner = entered.get("partner", others[0])
    gives = _amounts("give", now.hand, "you have {}", "give 1 {}", entered, say)
    gets = _amounts(f"get/{partner}", now.hands.get(partner, {}), "they have {}", "ask for 1 {}", entered, say)
    prompt = say("Message, which only your partner reads; may be empty")
    message = text_fields(Text(facts.length), "message", prompt, entered, say, optional=True)

    def call(offer: Mapping[str, int], request: Mapping[str, int]) -> list[Any]:
        sides = {"offer": offer, "request": request}
        return [Call(tool="submit_proposal", partner=partner, **sides, message=message.read())]

    def send() -> list[Any]:
        offer, request = gives.read(), gets.read()
        if not offer and not request:
            why = say("Nothing is given and nothing is asked for.")
            raise InvalidEntry(f"{why} {say('To do without a trade, press “{}”.', say(NO_TRADE))}")
        return call(offer, request)

    def send_nothing() -> list[Any]:
        typed = [
            str(value or "").strip() for key, value in entered.items() if key.startswith(("give/", f"get/{partner}/"))
        ]
        if any(value not in NONE for value in typed):
            raise InvalidEntry(say("You have entered items. Clear them first, or press “{}”.", say(THIS_TRADE)))
        return call({}, {})

    try:
        got = goods(gets.read(), say), text(partner)
        summary = f"{say('You give {}.', goods(gives.read(), say))} {say('You get {} from {}.', *got)}"
    except InvalidEntry as error:
        summary = text(error)
    return [
        ListField(key="partner", label=say("Trade with"), value=others[0], options=options(others)),
        f"<h3>{say('You give')}</h3>" + ("" if gives.things else f"<p>{say('You have nothing to give.')}</p>"),
        *gives.things,
        f"<h3>{say('You get from {}', text(partner))}</h3>"
        + ("" if gets.things else f"<p>{say('That player has nothing to give.')}</p>"),
        *gets.things,
        *message.things,
        f'<div class="card" role="status"><p>{summary}</p></div>',
        Button(say(THIS_TRADE), send),
        Button(say(NO_TRADE), send_nothing, main=False),
    ]


def _amounts(key: str, hand: Mapping[str, Any], whose: str, one: str, entered: Entered, say: Say) -> FieldSet:
    """A field for each item of a hand; `whose` says who has {} of it. A button called `one` adds one {}.

    Items whose field is empty or 0 are not in the amounts that `read` returns.
    """
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
                named = label(item_name(item), 40), label(typed, 40)
                raise InvalidEntry(say("{}: “{}” is no whole number.", *named))
            if amount > most:
                has = say(whose, most)
                raise InvalidEntry(say("{}: {}, not {}.", label(item_name(item), 40), has, amount))
            amounts[item] = amount
        return amounts

    def add_one(item: str) -> Mapping[str, Any]:
        return {**entered, f"{key}/{item}": str(read().get(item, 0) + 1)}

    lines = [
        LineField(key=f"{key}/{item}", label=f"{label(item_name(item), 40)} ({say(whose, most)})", keys="numeric")
        for item, most in stock.items()
    ]
    more = [
        Button(say(one, label(item_name(item), 40)), partial(add_one, item), main=False, key=f"+/{key}/{item}")
        for item in stock
    ]
    return FieldSet((Group(more, "chips"), Group(lines)) if lines else (), read)


def decision(scene: Scene, entered: Entered) -> list[Thing]:
    """The form of a decision: the proposal in words, a reply and two buttons."""
    say = scene.say
    prompt = say("Reply, which only the proposer reads; may be empty")
    message = text_fields(Text(scene.view.rules.length), "message", prompt, entered, say, optional=True)

    def decide(word: str) -> list[Any]:
        return [Call(tool="decide", decision=word, message=message.read())]

    buttons = [
        Button(name, partial(decide, word), main=word == "accept")
        for name, word in ((say("Accept"), "accept"), (say("Reject"), "reject"))
    ]
    return [_proposal_html(table_view(scene.view).proposal, say), *message.things, *buttons]


def _proposal_html(trade: Mapping[str, Any] | None, say: Say) -> str:
    """The proposal in the words of the player who decides."""
    if trade is None:
        return f"<p>{say('There is no proposal.')}</p>"
    who, words = text(trade["proposer"]), trade["message"]
    if trade["default"]:
        none = say("{} made no proposal; accepting or rejecting changes nothing.", who)
        return f'<div class="card"><p>{none}</p></div>'
    message = say("{} says: “{}”", who, text(words)) if words else say("{} says nothing to it.", who)
    get, give = (f"<strong>{goods(trade[side], say)}</strong>" for side in ("offer", "request"))
    return (
        f'<div class="card"><p>{say("{} proposes: you get {}, you give {}.", who, get, give)}</p><p>{message}</p></div>'
    )


def calls_made(past: Sequence[Event]) -> int:
    """The number of calls of a seat in its current phase: the answers at the end of its events."""
    calls = 0
    for event in reversed(past):
        if event.phase != "answer":
            break
        calls += 1
    return calls


def workshop(scene: Scene, entered: Entered) -> list[Thing]:
    """The form for crafting: the way to the target, a recipe with its number of times, and a button to finish.

    If there is a choice of inputs, there is a field for each. `entered["todo"]` is the list of crafts: pairs of a call
    and the hand after it.
    """
    view, todo, say = scene.view, tuple(entered.get("todo", ())), scene.say
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
            raise InvalidEntry(say("Choose what to make first."))
        if not times:
            raise InvalidEntry(say("How many times: “{}” is no whole number of 1 or more.", label(typed, 40)))
        call: dict[str, Any] = {"recipe": recipe.id, "times": times}
        if inputs:
            entries = {item: str(entered.get(line.key, line.value) or "").strip() for item, line in inputs.items()}
            call["inputs"] = {item: amount for item, amount in entries.items() if amount not in NONE}
        craft = find_craft(rules, hand, call)
        if isinstance(craft, Refusal):
            why = say(FAULTS.get(craft.fault, craft.text))
            raise InvalidEntry(why if say.language != "en" else f"{craft.text[:1].upper()}{craft.text[1:]}.")
        call = Call(tool="craft_apply", inputs=hand_to_json(craft.inputs), outputs=hand_to_json(craft.outputs))
        return {**entered, "todo": (*todo, (call, plus(minus(hand, craft.inputs), craft.outputs)))}

    def undo() -> Mapping[str, Any]:
        return {**entered, "todo": todo[:-1]}

    def finish() -> list[Any]:
        return [*(call for call, _ in todo), Call(tool="craft_done")]

    choices = dict(
        zip(
            options([_label(possible_recipe, say) for possible_recipe in possible]),
            [possible_recipe.id for possible_recipe in possible],
            strict=True,
        )
    )
    fields: list[Thing] = [
        ListField(key="recipe", label=say("What to make"), value=UNCHOSEN, options=with_unchosen(choices, say)),
        LineField(key="times", label=say("How many times"), value="1", press="add", keys="numeric"),
        "" if recipe is None else _needs_html(rules, recipe, times or 1, bool(inputs), say),
        Group(tuple(inputs.values())),
        Button(say("Add to the list"), add, main=False, key="add"),
    ]
    undo_button: list[Thing] = [Button(say("Take the last one off the list"), undo, main=False, key="undo")]
    end = say("Craft these and finish the turn") if todo else say("Finish without crafting")
    return [
        *(_next_steps(scene, hand, todo, room, entered) if scene.given("tree") else []),
        *(fields if possible else []),
        _list(todo, hand, bool(possible), len(todo) >= room, say),
        *(undo_button if todo else []),
        Button(end, finish, key="finish"),
    ]


def _next_steps(scene: Scene, hand: Hand, todo: tuple[Any, ...], room: int, entered: Entered) -> list[Thing]:
    """Buttons that put the next step of the way to the target, or all of its steps, on the list of crafts."""
    target, say, crafts = target_of(scene.view), scene.say, list[tuple[Call, Hand]]()
    way = None if covers(hand, target) else plan(scene.view.rules.ruleset, hand, target, NODES)
    for step in way.steps if isinstance(way, Plan) else ():
        hand = plus(minus(hand, step.inputs), step.outputs)
        call = Call(tool="craft_apply", inputs=hand_to_json(step.inputs), outputs=hand_to_json(step.outputs))
        crafts.append((call, hand))
    if not crafts or len(todo) + len(crafts) > room:
        return []

    def add(number: int) -> Mapping[str, Any]:
        return {**entered, "todo": (*todo, *crafts[:number])}

    product, ingredients = (goods_text(crafts[0][0][side], say) for side in ("outputs", "inputs"))
    every = Button(say("Add all {} steps to the list", len(crafts)), partial(add, len(crafts)), main=False, key="steps")
    return [
        f"<p>{say('Your hand is enough for your target. The next step:')}</p>",
        Button(say("{} out of {}", product, ingredients), partial(add, 1), main=False, key="step"),
        *([every] if len(crafts) > 1 else []),
    ]


def _list(todo: Sequence[tuple[Call, Hand]], hand: Hand, more: bool, full: bool, say: Say) -> str:
    """The list of crafts and the hand after them, as HTML."""
    lines = [say("{} out of {}", goods(call["outputs"], say), goods(call["inputs"], say)) for call, _ in todo]
    none = "" if more else f"<p>{say('There is nothing more that your hand can make.')}</p>"
    if full:
        none = f"<p>{say('The list is full: no more steps are allowed in this turn.')}</p>"
    head = say("To do: {}", say.count(len(todo), "craft") if todo else say("nothing yet"))
    held, fractions = goods(hand_to_json(hand), say), minus(hand, floor_hand(hand))
    after = say("Your hand after these: {}.", held) if lines else say("Your hand now: {}.", held)
    lost = say("Finishing loses broken pieces: {}.", goods(hand_to_json(fractions), say)) if fractions else ""
    return f"{none}<h3>{head}</h3>{items(lines, 'ol')}<p>{after}</p>{f'<p>{lost}</p>' if lost else ''}"


def _needs_html(rules: Ruleset, recipe: Recipe, times: int, choice: bool, say: Say) -> str:
    """The ingredients and the product of a recipe, as HTML."""
    takes, makes = text(inputs_text(rules, recipe, times, say)), text(item_name(recipe.makes))
    line = f"<p>{say('Takes {}; makes {} {}.', takes, recipe.number * times, makes)}</p>"
    how = say("There is a choice. Say how much of each goes in (amounts may be fractions such as 1/8 for fuel):")
    return line + (f"<p>{how}</p>" if choice else "")


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
            label=f"{label(item_name(item), 40)} ({scene.say('you have {}', str(amount))})",
            value=str(suggestion.get(item, "")),
        )
        for item, amount in sorted(hand.items())
        if item in members | fuels
    }


def _distinct(recipes: Sequence[Recipe]) -> list[Recipe]:
    """The recipes without those that differ from an earlier one only in their station."""
    return list({recipe._replace(id="", station=""): recipe for recipe in reversed(recipes)}.values())[::-1]


def _label(recipe: Recipe, say: Say) -> str:
    """A recipe in one short line."""
    parts = [
        f"{number} {say('any {}', item_name(need[1:])) if need.startswith('#') else item_name(need)}"
        for need, number in recipe.needs
    ]
    made, fuel = f"{recipe.number} {item_name(recipe.makes)}", [say("fuel")] if recipe.fuelled else []
    return say("{} from {}", made, " + ".join([*parts, *fuel]))


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


def goods(hand: Mapping[str, Any], say: Say) -> str:
    """A hand as HTML: `2 oak log and 1 iron`, with pictures, or `nothing`."""
    return say.join([f"{text(amount)} {item_html(item)}" for item, amount in hand.items()]) or say("nothing")


def goods_text(hand: Mapping[str, Any], say: Say) -> str:
    """A hand as plain text: `2 oak log and 1 iron`, or `nothing`."""
    return say.join([f"{amount} {item_name(item)}" for item, amount in hand.items()]) or say("nothing")


def inputs_text(ruleset: Ruleset, recipe: Recipe, times: int, say: Say) -> str:
    """The ingredients of some operations in words. A tag names only its first few items."""
    parts = []
    for need, number in recipe.needs:
        members = ruleset.members(need)
        more = [say("{} more", len(members) - MEMBERS)] if len(members) > MEMBERS + 1 else []
        few = say.join([*map(item_name, members[: MEMBERS if more else None]), *more], "and" if more else "or")
        kind = say("any of {} ({})", item_name(need[1:]), few) if need.startswith("#") else item_name(need)
        parts.append(f"{number * times} {kind}")
    return " + ".join([*parts, *([say("fuel for {}", say.count(times, "smelt"))] if recipe.fuelled else [])])
