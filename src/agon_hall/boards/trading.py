"""The board of TradeCraft: hands, one's own target and the way to it, proposals and decisions, what was crafted."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import panel as pn

from agon.games.base import Event
from agon.games.tradecraft.game import Facts, history, item_info, known
from agon.games.tradecraft.recipes import Recipe, Ruleset, amount_of
from agon_hall.boards.scene import Scene
from agon_hall.boards.tree import Node, tree
from agon_hall.look import block, count, items, listed, stack, styled, table, text

SHOWN = 30
"""Proposals, and ways to make an item, that are shown."""
MEMBERS = 4
"""Items that a tag is explained by."""


def goods(hand: Mapping[str, Any]) -> str:
    """A hand in words, as HTML: `2 wood and 1 iron`, or `nothing`."""
    return text(listed([f"{amount} {item}" for item, amount in hand.items()]) or "nothing")


def hands_of(scene: Scene) -> dict[str, Mapping[str, Any]]:
    """Player -> hand: as last shown to all, and one's own as it is now."""
    shown: Mapping[str, Any] = next((event.value for event in reversed(scene.view.past) if event.phase == "hands"), {})
    hands: dict[str, Mapping[str, Any]] = {player: _numbers(hand) for player, hand in shown.items()}
    if not scene.watched and shown:
        hands[scene.players[scene.own]] = known(scene.view).hand
    return hands


def _numbers(hand: Mapping[str, Any]) -> dict[str, Any]:
    return {item: amount if isinstance(amount, int) else Fraction(amount) for item, amount in hand.items()}


def target_of(scene: Scene) -> Mapping[str, Any]:
    """What one's own seat must hold; nothing for who only watches."""
    return next((_numbers(event.value) for event in scene.view.past if event.phase == "target"), {})


def trading(scene: Scene) -> dict[str, str]:
    """Turn and target, hands, the way to the target, what was proposed, what one crafted."""
    facts, hands, target = scene.view.rules, hands_of(scene), target_of(scene)
    return {
        "turn": _turn(scene, facts),
        "target": _target(scene, hands, target),
        "hands": _hands(scene, hands, target),
        "tree": _tree(scene, facts.ruleset, hands, target),
        "possible": _possible(scene, facts.ruleset, hands),
        "proposals": _proposals(scene),
        "crafted": _crafted(scene),
    }


def _turn(scene: Scene, facts: Facts) -> str:
    turn = next((event.value for event in reversed(scene.view.past) if event.phase == "turn"), None)
    if turn is None:
        return "<h2>Not begun</h2>"
    return f"<h2>Turn {turn['turn']} of at most {facts.turns}</h2><p>Proposer of this turn: {scene.called(turn['proposer'])}.</p>"


def _target(scene: Scene, hands: Mapping[str, Mapping[str, Any]], target: Mapping[str, Any]) -> str:
    if scene.watched:
        return "<p>You watch: targets, messages and what was proposed stay hidden from you.</p>"
    own = hands.get(scene.players[scene.own], {})
    lacking = {item: amount - own.get(item, 0) for item, amount in target.items() if amount > own.get(item, 0)}
    state = f"Still missing: {goods(lacking)}." if lacking else "You hold it."
    return f'<div class="card"><p>Your target, known to you alone: <span class="big">{goods(target)}</span></p><p>{state}</p></div>'


def _hands(scene: Scene, hands: Mapping[str, Mapping[str, Any]], target: Mapping[str, Any]) -> str:
    """A row per item that anybody holds."""
    seats = [seat for seat in scene.order if scene.players[seat] in hands]
    held = sorted({item for hand in hands.values() for item in hand})
    rows = []
    for item in held:
        name = f"{text(item)} <small>(your target)</small>" if item in target else text(item)
        amounts = [hands[scene.players[seat]].get(item) for seat in seats]
        rows.append([name, *('<span class="soft">none</span>' if each is None else text(each) for each in amounts)])
    return table("Who holds what", ["Item", *(scene.who(seat) for seat in seats)], rows, True)


def _tree(scene: Scene, ruleset: Ruleset, hands: Mapping[str, Mapping[str, Any]], target: Mapping[str, Any]) -> str:
    if not target or not hands:
        return ""
    mine = scene.players[scene.own]
    others = {player: hand for player, hand in hands.items() if player != mine}
    nodes = tree(ruleset, target, hands[mine], others)
    said = "<p>One way, of few recipes; there may be others.</p>"
    if any(map(_burns, nodes)):
        fuels = {item: ruleset.fuel[item] for hand in hands.values() for item in hand if item in ruleset.fuel}
        worth = ", ".join(f"{item} (worth {worth} smelts)" for item, worth in sorted(fuels.items()))
        said += f"<p>Fuel in all hands: {text(worth or 'none')}.</p>"
    return (
        f'<h3>How to make your target</h3>{said}<ul class="tree">{"".join(_node(scene, each) for each in nodes)}</ul>'
    )


def _possible(scene: Scene, ruleset: Ruleset, hands: Mapping[str, Mapping[str, Any]]) -> str:
    """What one's own hand is enough for."""
    if scene.watched or not hands:
        return ""
    found = ruleset.possible(hands[scene.players[scene.own]])
    lines = items(recipe_line(ruleset, recipe) for recipe in found)
    return f"<details><summary>What your hand can make now: {count(len(found), 'recipe')}</summary>{lines}</details>"


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
    each = (
        f"one operation makes {node.recipe.number}"
        if node.times == 1
        else f"{node.times} operations, {node.recipe.number} each"
    )
    made = f'<span class="soft">({each}{fire}{other})</span>'
    parts = "".join(_node(scene, part) for part in node.parts)
    return f"<li>⚒ make {name}{where} {made}<ul>{parts}</ul></li>"


def _proposals(scene: Scene) -> str:
    """What is known of proposals, newest first."""
    found = history(scene.view.past)
    if not found:
        return "<p>Nothing has been proposed yet.</p>" if not scene.watched else "<p>No trade or rejection yet.</p>"
    lines = [_proposal(scene, each) for each in reversed(found[-SHOWN:])]
    return f"<h3>Proposals, newest first</h3>{items(lines)}"


def _proposal(scene: Scene, each: Mapping[str, Any]) -> str:
    """One proposal as a sentence; terms and messages where they are known."""
    who, whom = scene.called(each.get("proposer")), scene.called(each.get("partner"))
    terms = "terms are not known to others"
    if each.get("default"):
        terms = "nothing, as no proposal came"
    elif "offer" in each:
        terms = f"gives {goods(each['offer'])}, asks for {goods(each['request'])}"
    outcome = {"accept": "<strong>accepted</strong>", "reject": "<strong>rejected</strong>"}.get(
        str(each.get("outcome")), "not decided yet"
    )
    said = "".join(
        f"<br>{player} says: “{text(each[key])}”"
        for key, player in (("message", who), ("reply", whom))
        if each.get(key)
    )
    return f"Turn {text(each.get('turn', '?'))}: {who} to {whom}: {terms}; {outcome}.{said}"


def _crafted(scene: Scene) -> str:
    """What this seat crafted, newest first; nobody else sees it."""
    lines = [f"Turn {turn}: {line}" for turn, line in _crafts(scene.view.past, scene.view.rules.ruleset)]
    return f"<h3>What you crafted, newest first</h3>{items(reversed(lines[-SHOWN:]))}" if lines else ""


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


class LookUp:
    """A box to look up any item in; it is answered from the rules of the match, and is no action."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self.box = styled(pn.widgets.TextInput, "Look up an item (then Enter)", max_length=200)
        self.found = block("")
        self.box.param.watch(lambda event: self._asked(event.new), "value")
        self.panel = stack(self.box, self.found)

    def _asked(self, name: str) -> None:
        self.found.object = f'<div role="status">{about_item(self._facts, name.strip())}</div>' if name.strip() else ""


def about_item(facts: Facts, name: str) -> str:
    """What makes an item, what it is used in and what it is worth as fuel, as HTML; looking it up is no action."""
    says: Any = item_info(facts, name).says
    if isinstance(says, str):
        near = (
            sorted(item for item in facts.known if name.strip().lower() in item.lower())[:SHOWN] if name.strip() else []
        )
        return f"<p>{text(says[:1].upper() + says[1:])}.{' Did you mean: ' + text(', '.join(near)) + '?' if near else ''}</p>"
    ways = [facts.ruleset.recipe(each["recipe"]) for each in says["made_by"][:SHOWN]]
    made = [recipe_line(facts.ruleset, recipe) for recipe in ways if recipe]
    used = listed([str(each) for each in says["used_in"][:SHOWN]])
    more = f" and {len(says['used_in']) - SHOWN} more" if len(says["used_in"]) > SHOWN else ""
    lines = ["Nothing makes it." if not made else "Made by:" + items(made)]
    lines.append(f"Used in: {text(used)}{more}." if used else "Used in nothing.")
    if says["smelts"] is not None:
        lines.append(f"As fuel: worth {text(says['smelts'])} smelts.")
    if not says["can_come_up"]:
        lines.append("It cannot come up in this match.")
    return f"<p><strong>{text(says['item'])}</strong></p>{items(lines)}"


def recipe_line(ruleset: Ruleset, recipe: Recipe) -> str:
    """A recipe in words, as HTML."""
    return text(f"{recipe.number} {recipe.makes} out of {takes(ruleset, recipe)}")


def takes(ruleset: Ruleset, recipe: Recipe, times: int = 1) -> str:
    """What some operations take, in words; of tags with many items only the first few."""
    parts = []
    for need, number in recipe.needs:
        members = ruleset.members(need)
        more = [f"{len(members) - MEMBERS} more"] if len(members) > MEMBERS + 1 else []
        few = listed([*members[: MEMBERS if more else None], *more], "and" if more else "or")
        parts.append(f"{number * times} {f'any of {need[1:]} ({few})' if need.startswith('#') else need}")
    return " + ".join([*parts, *([f"fuel for {count(times, 'smelt')}"] if recipe.fuelled else [])])
