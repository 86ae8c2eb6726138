"""What people fill in in TradeCraft: a proposal, a decision, and a workshop in which crafts are tried before they are sent."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from agon.games.base import Event
from agon.games.html import count, items, label, listed, text
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
    unchosen,
)
from agon.games.pages import Scene
from agon.games.spaces import Text
from agon.games.tradecraft.amounts import Amount, Hand, amount_of, floored, minus, plus, whole, written
from agon.games.tradecraft.calls import Call
from agon.games.tradecraft.game import crafted, known
from agon.games.tradecraft.icons import icon
from agon.games.tradecraft.recipes import Recipe, Refusal, Ruleset

NONE = ("", "0")
"""What is typed for no piece of an item."""
MEMBERS = 4
"""Items that a tag is explained by."""


def proposal(scene: Scene, entered: Entered) -> list[Thing]:
    """Whom to trade with, what to give and get, and a message."""
    facts, now = scene.view.rules, known(scene.view)
    others = [player for seat, player in enumerate(facts.players) if seat != scene.own]
    partner = entered.get("partner", others[0])
    gives = _amounts("give", now.hand, "you have", entered)
    gets = _amounts(f"get/{partner}", now.hands.get(partner, {}), "they have", entered)
    told = "Message, which only your partner reads; may be empty"
    message = text_fields(Text(facts.length), "message", told, entered, optional=True)

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
        if any(each not in NONE for each in typed):
            raise InvalidEntry("You have entered items. Clear them first, or press “Send this proposal”.")
        return call({}, {})

    try:
        said = f"You give {goods(gives.read())}. You get {goods(gets.read())} from {text(partner)}."
    except InvalidEntry as error:
        said = text(error)
    return [
        ListField(key="partner", label="Trade with", value=others[0], options=options(others)),
        "<h3>You give</h3>" + ("" if gives.things else "<p>You have nothing to give.</p>"),
        Group(gives.things),
        f"<h3>You get from {text(partner)}</h3>" + ("" if gets.things else "<p>That player has nothing to give.</p>"),
        Group(gets.things),
        *message.things,
        f'<div class="card" role="status"><p>{said}</p></div>',
        Button("Send this proposal", send),
        Button("Propose nothing", send_nothing, main=False),
    ]


def _amounts(key: str, hand: Mapping[str, Any], whose: str, entered: Entered) -> FieldSet:
    """How many of each item of a hand, none to begin with; what is left empty, or 0, is not in what is read."""
    held = {item: int(amount) for item, amount in sorted(hand.items()) if amount >= 1}

    def read() -> dict[str, int]:
        found = {}
        for item, most in held.items():
            typed = str(entered.get(f"{key}/{item}") or "").strip()
            if typed in NONE:
                continue
            try:
                amount = amount_of(typed)
            except ValueError:
                amount = 0
            if not isinstance(amount, int) or not amount > 0:
                raise InvalidEntry(f"{label(named(item), 40)}: “{label(typed, 40)}” is no whole number.")
            if amount > most:
                raise InvalidEntry(f"{label(named(item), 40)}: {whose} {most}, not {amount}.")
            found[item] = amount
        return found

    lines = [
        LineField(key=f"{key}/{item}", label=f"{label(named(item), 40)} ({whose} {most})", keys="numeric")
        for item, most in held.items()
    ]
    return FieldSet(tuple(lines), read)


def decision(scene: Scene, entered: Entered) -> list[Thing]:
    """The proposal in words, and what to say to it."""
    told = "Reply, which only the proposer reads; may be empty"
    message = text_fields(Text(scene.view.rules.length), "message", told, entered, optional=True)

    def decide(word: str) -> list[Any]:
        return [Call(tool="decide", decision=word, message=message.read())]

    buttons = [
        Button(name, partial(decide, word), main=word == "accept")
        for name, word in (("Accept", "accept"), ("Reject", "reject"))
    ]
    return [_told(known(scene.view).proposal), *message.things, *buttons]


def _told(trade: Mapping[str, Any] | None) -> str:
    """A proposal, as the one who decides reads it."""
    if trade is None:
        return "<p>There is no proposal.</p>"
    who = text(trade["proposer"])
    if trade["default"]:
        return f'<div class="card"><p>{who} made no proposal; accepting or rejecting changes nothing.</p></div>'
    said = f"{who} says: “{text(trade['message'])}”" if trade["message"] else f"{who} says nothing to it."
    terms = f"you get <strong>{goods(trade['offer'])}</strong>, you give <strong>{goods(trade['request'])}</strong>"
    return f'<div class="card"><p>{who} proposes: {terms}.</p><p>{said}</p></div>'


def calls_made(past: Sequence[Event]) -> int:
    """Calls that a seat has made in the phase it is in: they are what it knows last."""
    made = 0
    for event in reversed(past):
        if event.phase != "answer":
            break
        made += 1
    return made


def workshop(scene: Scene, entered: Entered) -> list[Thing]:
    """A recipe, how often, with what where there is a choice; the list of crafts; and the end of the turn.

    `todo` of what is entered are the crafts of the list: (call, the hand after it).
    """
    view, todo = scene.view, tuple(entered.get("todo", ()))
    rules: Ruleset = view.rules.ruleset
    hand: Hand = todo[-1][1] if todo else known(view).hand
    room = view.rules.calls - calls_made(view.past) - 1
    possible = _different(rules.possible(hand)) if len(todo) < room else []
    recipe = next((each for each in possible if each.id == entered.get("recipe")), None)
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
            put = {item: str(entered.get(line.key, line.value) or "").strip() for item, line in inputs.items()}
            call["inputs"] = {item: amount for item, amount in put.items() if amount not in NONE}
        found = crafted(rules, hand, call)
        if isinstance(found, Refusal):
            raise InvalidEntry(f"{found.text[:1].upper()}{found.text[1:]}.")
        made = Call(tool="craft_apply", inputs=written(found.inputs), outputs=written(found.outputs))
        return {**entered, "todo": (*todo, (made, plus(minus(hand, found.inputs), found.outputs)))}

    def undo() -> Mapping[str, Any]:
        return {**entered, "todo": todo[:-1]}

    def finish() -> list[Any]:
        return [*(call for call, _ in todo), Call(tool="craft_done")]

    choices = dict(zip(options([_label(each) for each in possible]), [each.id for each in possible], strict=True))
    fields: list[Thing] = [
        ListField(key="recipe", label="What to make", value=UNCHOSEN, options=unchosen(choices)),
        LineField(key="times", label="How many times", value="1", press="add", keys="numeric"),
        "" if recipe is None else _needed(rules, recipe, times or 1, bool(inputs)),
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
    """The crafts that are to be done, and the hand after them."""
    lines = [f"{goods(call['outputs'])} out of {goods(call['inputs'])}" for call, _ in todo]
    none = "" if more else "<p>There is nothing more that your hand can make.</p>"
    if full:
        none = "<p>The list is full: no more steps are allowed in this turn.</p>"
    head = f"<h3>To do: {count(len(todo), 'craft') if todo else 'nothing yet'}</h3>"
    after = f"<p>Your hand {'after these' if lines else 'now'}: {goods(written(hand))}.</p>"
    lost = minus(hand, floored(hand))
    broken = f"<p>Finishing loses broken pieces: {goods(written(lost))}.</p>" if lost else ""
    return f"{none}{head}{items(lines, 'ol')}{after}{broken}"


def _needed(rules: Ruleset, recipe: Recipe, times: int, choice: bool) -> str:
    """What a recipe takes and makes."""
    said = (
        f"<p>Takes {text(takes(rules, recipe, times))}; makes {recipe.number * times} {text(named(recipe.makes))}.</p>"
    )
    how = "Say how much of each goes in (amounts may be fractions such as 1/8 for fuel):"
    return said + (f"<p>There is a choice. {how}</p>" if choice else "")


def _times(typed: str) -> int:
    """How many times; 0 for what is no number."""
    try:
        times = amount_of(typed)
    except ValueError:
        return 0
    return times if isinstance(times, int) else 0


def _inputs(scene: Scene, recipe: Recipe, times: int, hand: Hand, key: str, entered: Entered) -> dict[str, LineField]:
    """Where there is a choice, a field for each item of the hand that may go in; as an aid, one way that fits is filled in."""
    rules: Ruleset = scene.view.rules.ruleset
    found = rules.filled(recipe, times, hand) if times else None
    if not isinstance(found, Refusal) or found.fault != "wrong amounts":
        return {}
    wanted = suggested(rules, recipe, times, hand) if scene.given("amounts") else {}
    members = {item for need, _ in recipe.needs for item in rules.members(need)}
    fuels = set(rules.fuel) if recipe.fuelled else set()
    return {
        item: LineField(
            key=f"{key}/{recipe.id}/{times}/{item}",
            label=f"{label(named(item), 40)} (you have {amount})",
            value=str(wanted.get(item, "")),
        )
        for item, amount in sorted(hand.items())
        if item in members | fuels
    }


def _different(recipes: Sequence[Recipe]) -> list[Recipe]:
    """Of recipes that take and make the same, at different stations, the first."""
    return list({recipe._replace(id="", station=""): recipe for recipe in reversed(recipes)}.values())[::-1]


def _label(recipe: Recipe) -> str:
    """A recipe in one short line."""
    parts = [
        f"{number} {'any ' + named(need[1:]) if need.startswith('#') else named(need)}" for need, number in recipe.needs
    ]
    return f"{recipe.number} {named(recipe.makes)} from {' + '.join([*parts, *(['fuel'] if recipe.fuelled else [])])}"


def suggested(rules: Ruleset, recipe: Recipe, times: int, hand: Hand) -> dict[str, Amount]:
    """One way to do a recipe some times: of each kind what there is most of, and the first fuel that is left."""
    left, taken = dict(hand), dict[str, Amount]()

    def take(item: str, amount: Amount) -> None:
        left[item] -= amount
        taken[item] = whole(taken.get(item, 0) + amount)

    for need, number in sorted(recipe.needs, key=lambda each: len(rules.members(each[0]))):
        wanted = number * times
        for item in sorted(set(rules.members(need)) & left.keys(), key=lambda each: (-left[each], each)):
            pieces = min(int(left[item]), wanted)
            if pieces > 0:
                take(item, pieces)
                wanted -= pieces
    heat: Amount = times if recipe.fuelled else 0
    for item in sorted(set(rules.fuel) & left.keys(), key=lambda each: (rules.fuel[each], each)):
        burnt = min(left[item], heat / rules.fuel[item])
        if burnt > 0:
            take(item, whole(burnt))
            heat = whole(heat - burnt * rules.fuel[item])
    return {item: amount for item, amount in taken.items() if amount}


# ---- in words ----


def named(item: str) -> str:
    """An item as people write it: `oak log`, not `oak_log`."""
    return item.replace("_", " ")


def shown(item: str) -> str:
    """An item as HTML, with its picture."""
    return f'<span class="item">{icon(item)}{text(named(item))}</span>'


def goods(hand: Mapping[str, Any]) -> str:
    """A hand as HTML: `2 oak log and 1 iron`, with pictures, or `nothing`."""
    return listed([f"{text(amount)} {shown(item)}" for item, amount in hand.items()]) or "nothing"


def takes(ruleset: Ruleset, recipe: Recipe, times: int = 1) -> str:
    """What some operations take, in words; of tags with many items only the first few."""
    parts = []
    for need, number in recipe.needs:
        members = ruleset.members(need)
        more = [f"{len(members) - MEMBERS} more"] if len(members) > MEMBERS + 1 else []
        few = listed([*map(named, members[: MEMBERS if more else None]), *more], "and" if more else "or")
        parts.append(f"{number * times} {f'any of {named(need[1:])} ({few})' if need.startswith('#') else named(need)}")
    return " + ".join([*parts, *([f"fuel for {count(times, 'smelt')}"] if recipe.fuelled else [])])
