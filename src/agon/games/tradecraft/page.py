"""The page of TradeCraft for people: hands, the player's target and the way to it, proposals, trades and crafts."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from math import ceil
from typing import Any, ClassVar

import pandas as pd

from agon.games.base import Event, Observation
from agon.games.html import items, table, text
from agon.games.inputs import Button, Entered, Group, LineField, Thing
from agon.games.pages import FamilyPage, Parts, Scene
from agon.games.sentences import ENGLISH, Say
from agon.games.tradecraft.amounts import amount_of, covers, floor_hand, format_hand, hand_from_json, shortage
from agon.games.tradecraft.game import Facts, history, item_info, table_view
from agon.games.tradecraft.inputs import (
    NODES,
    decision,
    goods,
    goods_text,
    inputs_text,
    item_html,
    item_name,
    proposal,
    target_of,
    workshop,
)
from agon.games.tradecraft.planner.search import Impossible, Plan, plan
from agon.games.tradecraft.planner.trading import union
from agon.games.tradecraft.recipes import Recipe, Refusal, Ruleset
from agon.games.tradecraft.story import read

SHOWN = 30
"""The number of proposals, and of ways to make an item, on the page."""
ASKED = {"propose": "Propose a trade", "decide": "Accept this trade?", "craft": "Craft, then finish your turn"}
DECIDED = {"accept": "you accept", "reject": "you reject"}
OUTCOMES = {"accept": "accepted", "reject": "rejected"}
FORMS = {"propose": proposal, "decide": decision, "craft": workshop}
"""Phase -> its form."""


PHASES = {"propose": "Propose a trade", "decide": "Accept or reject it", "craft": "Craft"}
"""Phase -> its name above the board, in order."""


class TradeCraftPage(FamilyPage):
    """The board and the forms of TradeCraft."""

    title = "TradeCraft"
    needed: ClassVar = ("turn", "own", "hands")
    aids: ClassVar = {
        "tree": "one way to make the target, step by step, and what others would have to give for it",
        "possible": "what the own hand can make now",
        "look up": "what makes an item and what it is used in, without a call",
        "amounts": "in the workshop, ingredients that fit are filled in",
    }

    def rewording(self, game: Any, aids: Collection[str] | None) -> Mapping[str, str]:
        """Sentences without tools, which people do not have."""
        looks = aids is None or "look up" in aids
        return {
            " A side may be empty: {} is nothing.": " A side may be empty.",
            "item_info says how many smelts": f"{'“Look up an item”' if looks else 'The form'} says how many smelts",
            "the tools tell you what is right": "the page tells you what is right",
        }

    def hopeless(self, game: Any) -> tuple[int, ...]:
        """The seats whose target cannot be made of all that all hold. A search that is not finished shows nothing."""
        hands = union([floor_hand(hand) for hand in game.hands])
        answers = [plan(game.ruleset, hands, target, NODES) for target in game.targets]
        return tuple(seat for seat, answer in enumerate(answers) if isinstance(answer, Impossible))

    def board(self, scene: Scene) -> Parts:
        """Turn and target, hands, the way to the target, what happened."""
        facts, hands, target = scene.view.rules, _hands_in_view(scene), target_of(scene.view)
        return {
            "turn": _turn(scene, facts),
            "own": _target_card(scene, hands, target),
            "hands": _hands(scene, hands, target),
            "tree": _way(scene, facts.ruleset, hands, target),
            "possible": _possible(scene, facts.ruleset, hands),
            "log": _log(scene),
        }

    def latest(self, event: Event, names: Sequence[str], say: Say) -> str:
        """A proposal or a decision; the log has the terms."""
        if event.seat is None or event.phase not in ("proposal", "decision"):
            return ""
        return f"{names[event.seat]}: {say(OUTCOMES.get(event.value.get('decision'), 'a proposal'))}"

    def question(self, view: Observation, say: Say) -> str:
        """The question of the phase."""
        return say(ASKED[view.phase])

    def confirmation(self, view: Observation, action: Any, say: Say) -> str:
        """A call in words."""
        match dict(action):
            case {"tool": "submit_proposal", "offer": offer, "request": request, "partner": partner}:
                return say("you offer {} {} for {}", partner, goods_text(offer, say), goods_text(request, say))
            case {"tool": "decide", "decision": decision}:
                return say(DECIDED[decision])
            case {"tool": "craft_done"}:
                return say("you finish crafting")
            case {"tool": "craft_apply", "outputs": outputs}:
                return say("you craft {}", goods_text(outputs, say))
        return say("you look something up")

    def closing(self, scene: Scene, game: Any, state: Any) -> str:
        """The target of every player, and whether it was held at the end."""
        lines, say = [], scene.say
        names = [say("You") if seat == scene.own else scene.who(seat) for seat in scene.order if seat in state.winners]
        for seat in scene.order:
            wanted = scene.who(seat), goods(game.targets[seat], say)
            if seat in state.winners:
                lines.append(f"<strong>{say('{} wanted {}, and held it: a win, 1 point.', *wanted)}</strong>")
            else:
                lines.append(say("{} wanted {}, and did not hold it at the end: no point.", *wanted))
        headline = say("Who wins: {}.", say.join(names) or say("nobody"))
        return f"<p><strong>{headline}</strong></p>{items(lines)}"

    def form(self, scene: Scene, entered: Entered) -> Sequence[Thing]:
        """A proposal, a decision, or a workshop in which crafts are tried before they are sent."""
        return FORMS[scene.view.phase](scene, entered)

    def ask(self, scene: Scene, entered: Entered) -> Sequence[Thing]:
        """A box in which a player can look up any item of the rules, and a button for each item on the table."""
        if not scene.given("look up"):
            return ()
        facts, name, say = scene.view.rules, str(entered.get("item") or "").strip(), scene.say
        answer = f'<div role="status">{about_item(facts, name, say)}</div>' if name else ""
        on_table = sorted({*target_of(scene.view), *(item for hand in _hands_in_view(scene).values() for item in hand)})
        names = [item_name(item) for item in sorted(facts.reachable)]
        return (
            LineField(key="item", label=say("Look up an item"), press="look up", suggestions=names),
            Button(say("Look it up"), lambda: dict(entered), main=False, key="look up"),
            answer,
            f"<p>{say('Or one that is on the table or that you need:')}</p>",
            Group([Button(item_name(item), partial(dict, item=item), main=False) for item in on_table], "chips"),
        )

    def from_rows(self, turns: pd.DataFrame, before: int | None) -> str:
        """All offers of the finished turns, and the hands after them."""
        story = read(turns)
        finished = [turn for turn in story.turns if before is None or turn.number < before]
        hands = finished[-1].after if finished else story.turns[0].before
        deals = []
        for deal in (turn.deal for turn in finished):
            terms = f"gives {text(format_hand(deal.offer))}; wants {text(format_hand(deal.request))}; <b>{text(deal.outcome)}</b>"
            messages = [
                f"; {who} says {text(message)}"
                for who, message in (("it", deal.message), ("the partner", deal.reply))
                if message
            ]
            deals.append(f"turn {deal.turn}, {text(deal.proposer)} to {text(deal.partner)}: {terms}{''.join(messages)}")
        rows = [[text(player), text(format_hand(hand))] for player, hand in zip(story.players, hands, strict=True)]
        return (
            f"<h2>What the rows tell of the trade</h2>"
            f"{table('Hands before this turn of the game', ['Player', 'Hand'], rows)}"
            f"<h3>Offers so far</h3>{items(deals, 'ol') or '<p>None yet.</p>'}"
        )


page = TradeCraftPage()


def _hands_in_view(scene: Scene) -> dict[str, Mapping[str, Any]]:
    """Player -> hand: as last shown to all; the own hand as it is now."""
    public: Mapping[str, Any] = next((event.value for event in reversed(scene.view.past) if event.phase == "hands"), {})
    hands: dict[str, Mapping[str, Any]] = {player: hand_from_json(hand) for player, hand in public.items()}
    if not scene.watched and public:
        hands[scene.players[scene.own]] = table_view(scene.view).hand
    return hands


def _turn(scene: Scene, facts: Facts) -> str:
    """The number of the turn, and before the end its proposer and its phase, as HTML."""
    turn = next((event.value for event in reversed(scene.view.past) if event.phase == "turn"), None)
    say = scene.say
    if turn is None:
        return f"<h2>{say('Not begun')}</h2>"
    title = f"<h2>{say('Turn {} of at most {}', turn['turn'], facts.turns)}</h2>"
    if scene.over:
        return title
    now = ' aria-current="step"'
    steps = "".join(f"<li{now if phase == scene.view.phase else ''}>{say(name)}</li>" for phase, name in PHASES.items())
    whose = f"<p>{say('Proposer of this turn: {}.', scene.called(turn['proposer']))}</p>"
    return f'{title}{whose}<ol class="steps">{steps}</ol>'


def _target_card(scene: Scene, hands: Mapping[str, Mapping[str, Any]], target: Mapping[str, Any]) -> str:
    say = scene.say
    if scene.watched:
        return f"<p>{say('You watch: targets, messages and what was proposed stay hidden from you.')}</p>"
    hand = hands.get(scene.players[scene.own], {})
    missing = shortage(hand, target)
    state = say("Still missing: {}.", goods(missing, say)) if missing else say("You hold it.")
    big = f'<span class="big">{goods(target, say)}</span>'
    aim = say("Your target: {}", big) if scene.over else say("Your target, known to you alone: {}", big)
    return f'<div class="card"><p>{aim}</p><p>{state}</p></div>'


def _hands(scene: Scene, hands: Mapping[str, Mapping[str, Any]], target: Mapping[str, Any]) -> str:
    """A row per item that anybody holds."""
    seats, say = [seat for seat in scene.order if scene.players[seat] in hands], scene.say
    rows, none = [], f'<span class="soft">{say("none")}</span>'
    for item in sorted({item for hand in hands.values() for item in hand}):
        name = f"{item_html(item)} <small>({say('your target')})</small>" if item in target else item_html(item)
        amounts = [hands[scene.players[seat]].get(item) for seat in seats]
        rows.append([name, *(none if amount is None else text(amount) for amount in amounts)])
    return table(say("Who holds what"), [say("Item"), *(scene.who(seat) for seat in seats)], rows, True)


def _way(scene: Scene, ruleset: Ruleset, hands: Mapping[str, Mapping[str, Any]], target: Mapping[str, Any]) -> str:
    """The shortest way to the target, alone or with what others hold; amounts and alternatives are exact (the planner's)."""
    if not target or not hands or scene.over:
        return ""
    hand, say = hands[scene.players[scene.own]], scene.say
    if covers(hand, target):
        return ""
    answer, heading = plan(ruleset, hand, target, NODES), say("Your own hand is enough. One way, the shortest:")
    gives: list[str] = []
    if not isinstance(answer, Plan):
        others = [floor_hand(held) for player, held in hands.items() if player != scene.players[scene.own]]
        answer = plan(ruleset, union([hand, *others]), target, NODES)
        heading = say("Your own hand is not enough. One way, the shortest, if others give you what it takes:")
        if isinstance(answer, Plan):
            gives = [
                say("get {} {}", ceil(amount), item_html(item)) + _from(scene, hands, item)
                for item, amount in shortage(hand, answer.uses).items()
            ]
    if isinstance(answer, Plan):
        crafts = [say("craft {} out of {}", goods(step.outputs, say), goods(step.inputs, say)) for step in answer.steps]
        body = f"<p>{heading}</p>{items([*gives, *crafts], 'ol')}"
    elif isinstance(answer, Impossible):
        body = f"<p>{say('With what all hold now it cannot be made, whatever is traded.')}</p>"
    else:
        body = f"<p>{say('Whether it can be made with what all hold now was not found out.')}</p>"
    return f"<h3>{say('How to make your target')}</h3>{body}"


def _from(scene: Scene, hands: Mapping[str, Mapping[str, Any]], item: str) -> str:
    """The other players who hold an item, with their amounts."""
    who = [
        scene.say("{} has {}", scene.called(player), text(hand[item]))
        for player, hand in hands.items()
        if hand.get(item) and player != scene.players[scene.own]
    ]
    return f" ({', '.join(who)})"


def _possible(scene: Scene, ruleset: Ruleset, hands: Mapping[str, Mapping[str, Any]]) -> str:
    """The recipes for which the own hand is enough, as HTML."""
    if scene.watched or not hands or scene.over:
        return ""
    recipes = ruleset.possible(hands[scene.players[scene.own]])
    lines, say = items(recipe_line(ruleset, recipe, scene.say) for recipe in recipes), scene.say
    title = say("What your hand can make now: {}", say.count(len(recipes), "recipe"))
    return f"<details><summary>{title}</summary>{lines}</details>"


def _log(scene: Scene) -> str:
    """The log that this view knows, newest first: proposals, decisions, trades and the own crafts."""
    say, past = scene.say, scene.view.past
    entries = [(entry.get("turn", 0), 0, _proposal(scene, entry)) for entry in history(past)]
    entries += [(turn, 1, say("You crafted {}.", what)) for turn, what in _crafts(past, scene.view.rules.ruleset, say)]
    lines = [say("Turn {}: {}", text(turn), line) for turn, _, line in sorted(entries, key=lambda entry: entry[:2])]
    nothing = say("No trade or rejection yet.") if scene.watched else say("Nothing has happened yet.")
    earlier = [say("{} more", len(lines) - SHOWN)] if len(lines) > SHOWN else []
    log = items([*reversed(lines[-SHOWN:]), *earlier])
    return f"<h3>{say('What happened, newest first')}</h3>{log}" if lines else f"<p>{nothing}</p>"


def _proposal(scene: Scene, entry: Mapping[str, Any]) -> str:
    """A proposal as a sentence, with the terms and messages that the view knows."""
    who, whom, say = scene.called(entry.get("proposer")), scene.called(entry.get("partner")), scene.say
    terms = say("terms are not known to others")
    if entry.get("default"):
        terms = say("nothing, as no proposal came")
    elif "offer" in entry:
        offer, request = goods(entry["offer"], say), goods(entry["request"], say)
        terms = say("gives {}, asks for {}", offer, request)
        if not entry["offer"] and not entry["request"]:
            terms = say("nothing")
    outcomes = {word: f"<strong>{say(outcome)}</strong>" for word, outcome in OUTCOMES.items()}
    messages = "".join(
        f"<br>{say('{} says: “{}”', player, text(entry[key]))}"
        for key, player in (("message", who), ("reply", whom))
        if entry.get(key)
    )
    outcome = outcomes.get(str(entry.get("outcome")), say("not decided yet"))
    return say("{} to {}: {}; {}.", who, whom, terms, outcome) + messages


def _crafts(past: Sequence[Event], ruleset: Ruleset, say: Say) -> Iterator[tuple[Any, str]]:
    turn = 0
    for event in past:
        if event.phase == "turn":
            turn = event.value["turn"]
        elif event.phase == "answer" and event.value["call"].get("tool") == "craft_apply" and event.value["ok"]:
            yield turn, _craft(ruleset, event.value["call"], say)


def _craft(ruleset: Ruleset, call: Mapping[str, Any], say: Say) -> str:
    """A craft in words, from a call with inputs and outputs, or with a recipe and a number of times."""
    recipe, outputs = ruleset.recipe(str(call.get("recipe"))), call.get("outputs")
    if recipe:
        outputs = {recipe.makes: recipe.number * amount_of(call.get("times"))}
    made = goods(outputs if isinstance(outputs, Mapping) else {}, say)
    inputs = call.get("inputs")
    return say("{} out of {}", made, goods(inputs, say)) if isinstance(inputs, Mapping) else made


def about_item(facts: Facts, name: str, say: Say = ENGLISH) -> str:
    """The recipes that make and take an item, and its worth as fuel, as HTML; looking it up is no action."""
    part = name.strip().lower().replace(" ", "_")
    info = item_info(facts, name if name in facts.reachable else part)
    if isinstance(info, Refusal):
        known = sorted(facts.reachable)
        near = [item for item in known if part and part in item.lower()] or get_close_matches(part, known)
        hint = f" {say('Did you mean: {}?', text(', '.join(map(item_name, near[:SHOWN]))))}" if near else ""
        return f"<p>{say('There is no item “{}”.', text(name[:SHOWN]))}{hint}</p>"
    ways = [facts.ruleset.recipe(way["recipe"]) for way in info["made_by"][:SHOWN]]
    makers = [recipe_line(facts.ruleset, recipe, say) for recipe in ways if recipe]
    if len(info["made_by"]) > SHOWN:
        makers.append(say("{} more", len(info["made_by"]) - SHOWN))
    uses = [item_name(str(way)) for way in info["used_in"][:SHOWN]]
    if len(info["used_in"]) > SHOWN:
        uses.append(say("{} more", len(info["used_in"]) - SHOWN))
    lines = [f"{say('Made by:')}{items(makers)}" if makers else say("Nothing makes it.")]
    lines.append(say("Used in: {}.", text(say.join(uses))) if uses else say("Used in nothing."))
    if info["smelts"] is not None:
        lines.append(say("As fuel: worth {} smelts.", text(info["smelts"])))
    if not info["can_come_up"]:
        lines.append(say("It cannot come up in this match."))
    return f"<p><strong>{item_html(info['item'])}</strong></p>{items(lines)}"


def recipe_line(ruleset: Ruleset, recipe: Recipe, say: Say) -> str:
    """A recipe in words, as HTML."""
    made = f"{recipe.number} {item_name(recipe.makes)}"
    return text(say("{} out of {}", made, inputs_text(ruleset, recipe, 1, say)))
