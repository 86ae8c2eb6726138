"""How people see TradeCraft: hands, one's own target and the way to it, proposals and decisions, what was crafted."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from heapq import heappop, heappush
from math import ceil, inf
from typing import Any, ClassVar, NamedTuple

import pandas as pd

from agon.games.base import Event, Observation
from agon.games.html import count, items, listed, table, text
from agon.games.inputs import Entered, LineField, Thing
from agon.games.pages import FamilyPage, Parts, Scene, happened
from agon.games.tradecraft.amounts import Amount, Hand, amount_of, exact
from agon.games.tradecraft.amounts import listed as in_words
from agon.games.tradecraft.game import Facts, history, item_info, known
from agon.games.tradecraft.inputs import decision, goods, proposal, takes, workshop
from agon.games.tradecraft.recipes import Recipe, Refusal, Ruleset
from agon.games.tradecraft.story import read

SHOWN = 30
"""Proposals, and ways to make an item, that are shown."""
DEEPEST = 12
"""Levels of a tree that are drawn."""
LARGEST = 80
"""Items of a tree that are drawn with what they are made of."""
ASKED = {"propose": "Propose a trade", "decide": "Accept this trade?", "craft": "Craft, then finish your turn"}
FORMS = {"propose": proposal, "decide": decision, "craft": workshop}
"""Phase -> what is asked, and what it is answered by."""


# ---- what a target is made of: look-ups in the ruleset ----


class Node(NamedTuple):
    """So many of an item, and what to do for them."""

    item: str
    wanted: Amount
    held: Amount
    """Of these, what one's own hand has; no piece is counted twice."""
    others: tuple[tuple[str, Amount], ...]
    """Who else holds it, and how much."""
    recipe: Recipe | None
    """How the rest can be made; None where nothing is missing, or nothing makes it."""
    times: int
    ways: int
    """Recipes that make it."""
    kind: str
    """The tag that the item was chosen from; empty where a recipe names the item."""
    parts: tuple["Node", ...]


@lru_cache(maxsize=256)
def work(ruleset: Ruleset, held: frozenset[str], own: frozenset[str]) -> dict[str, float]:
    """For each item that can be made from those held, how much work it is: about as many recipes."""
    best: dict[str, float] = {}
    queue = [(0.0 if item in own else 0.5, item) for item in sorted(held)]
    while queue:
        cost, item = heappop(queue)
        if item in best:
            continue
        best[item] = cost
        for recipe in ruleset.used_in(item):
            if recipe.makes not in best and (more := _work(ruleset, best, recipe)) < inf:
                heappush(queue, (more, recipe.makes))
    return best


def _work(ruleset: Ruleset, best: Mapping[str, float], recipe: Recipe) -> float:
    """How much a recipe is, its ingredients included; infinite where one cannot be had."""
    needs = [
        min((best[item] for item in ruleset.members(need) if item in best), default=inf) for need, _ in recipe.needs
    ]
    return 1 + sum(needs) + 0.1 * recipe.fuelled


def tree(ruleset: Ruleset, target: Hand, own: Hand, others: Mapping[str, Hand]) -> list[Node]:
    """One node per item of a target; each missing item is made by the recipe that is the least work from all hands."""
    pool = frozenset(own).union(*others.values())
    best = work(ruleset, pool, frozenset(own))
    left: dict[str, Amount] = dict(own)
    room = LARGEST

    def grown(item: str, wanted: Amount, kind: str, above: frozenset[str]) -> Node:
        nonlocal room
        room -= 1
        taken = min(wanted, left.get(item, 0))
        left[item] = left.get(item, 0) - taken
        missing = wanted - taken
        elsewhere = tuple((player, hand[item]) for player, hand in others.items() if hand.get(item))
        ways = ruleset.made_by(item)
        recipe = min(ways, key=lambda each: _work(ruleset, best, each), default=None)
        covered = sum(amount for _, amount in elsewhere) >= missing
        if missing <= 0 or recipe is None or covered or item in above or len(above) > DEEPEST or room < 0:
            return Node(item, wanted, taken, elsewhere, None, 0, len(ways), kind, ())
        times = ceil(missing / recipe.number)
        parts = tuple(
            grown(picked(need), count * times, need[1:] if need.startswith("#") else "", above | {item})
            for need, count in recipe.needs
        )
        return Node(item, wanted, taken, elsewhere, recipe, times, len(ways), kind, parts)

    def picked(need: str) -> str:
        """The member of a tag that is at hand, or the least work."""
        members = ruleset.members(need) or (need,)
        return min(members, key=lambda item: (-min(left.get(item, 0), 1), best.get(item, inf), members.index(item)))

    return [grown(item, amount, "", frozenset()) for item, amount in target.items()]


# ---- what people see ----


class TradeCraftPage(FamilyPage):
    """Of TradeCraft."""

    aids: ClassVar = {
        "tree": "one way to make the target, and what of it is at hand or missing",
        "possible": "what the own hand can make now",
        "look up": "what makes an item and what it is used in, without a call",
        "amounts": "in the workshop, ingredients that fit are filled in",
    }

    def board(self, scene: Scene) -> Parts:
        """Turn and target, hands, the way to the target, what was proposed, what one crafted."""
        facts, held, target = scene.view.rules, _held(scene), _target(scene)
        return {
            "turn": _turn(scene, facts),
            "own": _own(scene, held, target),
            "hands": _hands(scene, held, target),
            "tree": _tree(scene, facts.ruleset, held, target),
            "possible": _possible(scene, facts.ruleset, held),
            "proposals": _proposals(scene),
            "crafted": _crafted(scene),
        }

    def latest(self, event: Event, named: Sequence[str]) -> str:
        """Of what was said only a decision; the board has the rest in words."""
        return (event.seat is not None and happened(event, named, event.value.get("decision", ""))) or ""

    def question(self, view: Observation) -> str:
        """By phase."""
        return ASKED[view.phase]

    def form(self, scene: Scene, entered: Entered) -> Sequence[Thing]:
        """A proposal, a decision, or a workshop in which crafts are tried before they are sent."""
        return FORMS[scene.view.phase](scene, entered)

    def ask(self, scene: Scene, entered: Entered) -> Sequence[Thing]:
        """A box to look up any item in; it is answered from the rules of the match."""
        if not scene.given("look up"):
            return ()
        name = str(entered.get("item") or "").strip()
        found = f'<div role="status">{about_item(scene.view.rules, name)}</div>' if name else ""
        return LineField(key="item", label="Look up an item (then Enter)", most=200), found

    def from_rows(self, turns: pd.DataFrame, before: int | None) -> str:
        """All offers of finished turns of the game, and what was then held."""
        story = read(turns)
        done = [turn for turn in story.turns if before is None or turn.number < before]
        held = done[-1].after if done else story.turns[0].before
        made = []
        for deal in (turn.deal for turn in done):
            terms = (
                f"gives {text(in_words(deal.offer))}; wants {text(in_words(deal.request))}; <b>{text(deal.outcome)}</b>"
            )
            said = [
                f"; {who} says {text(each)}"
                for who, each in (("it", deal.message), ("the partner", deal.reply))
                if each
            ]
            made.append(f"turn {deal.turn}, {text(deal.proposer)} to {text(deal.partner)}: {terms}{''.join(said)}")
        rows = [[text(player), text(in_words(hand))] for player, hand in zip(story.players, held, strict=True)]
        return (
            f"<h2>What the rows tell of the trade</h2>"
            f"{table('Hands before this turn of the game', ['Player', 'Hand'], rows)}"
            f"<h3>Offers so far</h3>{items(made, 'ol') or '<p>None yet.</p>'}"
        )


page = TradeCraftPage()


def _held(scene: Scene) -> dict[str, Mapping[str, Any]]:
    """Player -> hand: as last shown to all, and one's own as it is now."""
    shown: Mapping[str, Any] = next((event.value for event in reversed(scene.view.past) if event.phase == "hands"), {})
    found: dict[str, Mapping[str, Any]] = {player: exact(hand) for player, hand in shown.items()}
    if not scene.watched and shown:
        found[scene.players[scene.own]] = known(scene.view).hand
    return found


def _target(scene: Scene) -> Mapping[str, Any]:
    """What one's own seat must hold; nothing for who only watches."""
    return next((exact(event.value) for event in scene.view.past if event.phase == "target"), {})


def _turn(scene: Scene, facts: Facts) -> str:
    turn = next((event.value for event in reversed(scene.view.past) if event.phase == "turn"), None)
    if turn is None:
        return "<h2>Not begun</h2>"
    proposer = scene.called(turn["proposer"])
    return f"<h2>Turn {turn['turn']} of at most {facts.turns}</h2><p>Proposer of this turn: {proposer}.</p>"


def _own(scene: Scene, held: Mapping[str, Mapping[str, Any]], target: Mapping[str, Any]) -> str:
    if scene.watched:
        return "<p>You watch: targets, messages and what was proposed stay hidden from you.</p>"
    own = held.get(scene.players[scene.own], {})
    lacking = {item: amount - own.get(item, 0) for item, amount in target.items() if amount > own.get(item, 0)}
    state = f"Still missing: {goods(lacking)}." if lacking else "You hold it."
    wanted = f'Your target, known to you alone: <span class="big">{goods(target)}</span>'
    return f'<div class="card"><p>{wanted}</p><p>{state}</p></div>'


def _hands(scene: Scene, held: Mapping[str, Mapping[str, Any]], target: Mapping[str, Any]) -> str:
    """A row per item that anybody holds."""
    seats = [seat for seat in scene.order if scene.players[seat] in held]
    rows = []
    for item in sorted({item for hand in held.values() for item in hand}):
        name = f"{text(item)} <small>(your target)</small>" if item in target else text(item)
        amounts = [held[scene.players[seat]].get(item) for seat in seats]
        rows.append([name, *('<span class="soft">none</span>' if each is None else text(each) for each in amounts)])
    return table("Who holds what", ["Item", *(scene.who(seat) for seat in seats)], rows, True)


def _tree(scene: Scene, ruleset: Ruleset, held: Mapping[str, Mapping[str, Any]], target: Mapping[str, Any]) -> str:
    if not target or not held:
        return ""
    mine = scene.players[scene.own]
    nodes = tree(ruleset, target, held[mine], {player: hand for player, hand in held.items() if player != mine})
    said = "<p>One way, of few recipes; there may be others.</p>"
    if any(map(_burns, nodes)):
        fuels = {item: ruleset.fuel[item] for hand in held.values() for item in hand if item in ruleset.fuel}
        worth = ", ".join(f"{item} (worth {worth} smelts)" for item, worth in sorted(fuels.items()))
        said += f"<p>Fuel in all hands: {text(worth or 'none')}.</p>"
    body = "".join(_node(scene, each) for each in nodes)
    return f'<h3>How to make your target</h3>{said}<ul class="tree">{body}</ul>'


def _possible(scene: Scene, ruleset: Ruleset, held: Mapping[str, Mapping[str, Any]]) -> str:
    """What one's own hand is enough for."""
    if scene.watched or not held:
        return ""
    found = ruleset.possible(held[scene.players[scene.own]])
    made = items(recipe_line(ruleset, recipe) for recipe in found)
    return f"<details><summary>What your hand can make now: {count(len(found), 'recipe')}</summary>{made}</details>"


def _burns(node: Node) -> bool:
    return (node.recipe is not None and node.recipe.fuelled) or any(map(_burns, node.parts))


def _node(scene: Scene, node: Node) -> str:
    """An item, where it is to be had, and under it what it is made of."""
    name = f"<strong>{text(node.wanted)} {text(node.item)}</strong>"
    if node.kind:
        name += f' <span class="soft">(any of {text(node.kind)} does)</span>'
    missing = node.wanted - node.held
    if missing <= 0:
        return f'<li><span class="good">✓ you have</span> {name}</li>'
    said = [f"you have {text(node.held)}"] if node.held else []
    said += [f"{scene.called(player)} has {text(amount)}" for player, amount in node.others]
    where = f": {', '.join(said)}" if said else ""
    if node.recipe is None:
        mark = "↔ from others" if node.others else '<span class="bad">✗ missing</span>'
        return f"<li>{mark} {name}{where}</li>"
    other = f", {count(node.ways - 1, 'other way', 'other ways')}" if node.ways > 1 else ""
    fire = f" + fuel for {count(node.times, 'smelt')}" if node.recipe.fuelled else ""
    each = f"one operation makes {node.recipe.number}"
    if node.times > 1:
        each = f"{node.times} operations, {node.recipe.number} each"
    parts = "".join(_node(scene, part) for part in node.parts)
    return f'<li>⚒ make {name}{where} <span class="soft">({each}{fire}{other})</span><ul>{parts}</ul></li>'


def _proposals(scene: Scene) -> str:
    """What is known of proposals, newest first."""
    found = history(scene.view.past)
    if not found:
        return "<p>Nothing has been proposed yet.</p>" if not scene.watched else "<p>No trade or rejection yet.</p>"
    return f"<h3>Proposals, newest first</h3>{items(_proposal(scene, each) for each in reversed(found[-SHOWN:]))}"


def _proposal(scene: Scene, each: Mapping[str, Any]) -> str:
    """One proposal as a sentence; terms and messages where they are known."""
    who, whom = scene.called(each.get("proposer")), scene.called(each.get("partner"))
    terms = "terms are not known to others"
    if each.get("default"):
        terms = "nothing, as no proposal came"
    elif "offer" in each:
        terms = f"gives {goods(each['offer'])}, asks for {goods(each['request'])}"
    outcomes = {"accept": "<strong>accepted</strong>", "reject": "<strong>rejected</strong>"}
    said = "".join(
        f"<br>{player} says: “{text(each[key])}”"
        for key, player in (("message", who), ("reply", whom))
        if each.get(key)
    )
    outcome = outcomes.get(str(each.get("outcome")), "not decided yet")
    return f"Turn {text(each.get('turn', '?'))}: {who} to {whom}: {terms}; {outcome}.{said}"


def _crafted(scene: Scene) -> str:
    """What this seat crafted, newest first; nobody else sees it."""
    made = [f"Turn {turn}: {what}" for turn, what in _crafts(scene.view.past, scene.view.rules.ruleset)]
    return f"<h3>What you crafted, newest first</h3>{items(reversed(made[-SHOWN:]))}" if made else ""


def _crafts(past: Sequence[Event], ruleset: Ruleset) -> Iterator[tuple[Any, str]]:
    turn = 0
    for event in past:
        if event.phase == "turn":
            turn = event.value["turn"]
        elif event.phase == "answer" and event.value["call"].get("tool") == "craft_apply" and event.value["ok"]:
            yield turn, _craft(ruleset, event.value["call"])


def _craft(ruleset: Ruleset, call: Mapping[str, Any]) -> str:
    """A craft that was done: asked for by what goes in and comes out, or by a recipe and a number of times."""
    recipe, made = ruleset.recipe(str(call.get("recipe"))), call.get("outputs")
    if recipe:
        made = {recipe.makes: recipe.number * amount_of(call.get("times"))}
    inputs = f" out of {goods(call['inputs'])}" if isinstance(call.get("inputs"), Mapping) else ""
    return goods(made if isinstance(made, Mapping) else {}) + inputs


def about_item(facts: Facts, name: str) -> str:
    """What makes an item, what it is used in and what it is worth as fuel, as HTML; looking it up is no action."""
    says = item_info(facts, name)
    if isinstance(says, Refusal):
        near = [item for item in sorted(facts.known) if name.strip() and name.strip().lower() in item.lower()]
        hint = f" Did you mean: {text(', '.join(near[:SHOWN]))}?" if near else ""
        return f"<p>{text(says.text[:1].upper() + says.text[1:])}.{hint}</p>"
    ways = [facts.ruleset.recipe(each["recipe"]) for each in says["made_by"][:SHOWN]]
    made = [recipe_line(facts.ruleset, recipe) for recipe in ways if recipe]
    used = listed([str(each) for each in says["used_in"][:SHOWN]])
    more = f" and {len(says['used_in']) - SHOWN} more" if len(says["used_in"]) > SHOWN else ""
    told = ["Nothing makes it." if not made else "Made by:" + items(made)]
    told.append(f"Used in: {text(used)}{more}." if used else "Used in nothing.")
    if says["smelts"] is not None:
        told.append(f"As fuel: worth {text(says['smelts'])} smelts.")
    if not says["can_come_up"]:
        told.append("It cannot come up in this match.")
    return f"<p><strong>{text(says['item'])}</strong></p>{items(told)}"


def recipe_line(ruleset: Ruleset, recipe: Recipe) -> str:
    """A recipe in words, as HTML."""
    return text(f"{recipe.number} {recipe.makes} out of {takes(ruleset, recipe)}")
