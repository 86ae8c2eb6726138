"""Forms: every action of every game can be entered and is sent as it is, once; what is no action is refused and stays."""

import re
from dataclasses import dataclass
from functools import partial

from collecting import over
from games.test_conformance import ALL
from harness import play_out
from magic_games import any_legal, chameleon, cost_sharing, public_goods
from tradecraft_games import Table, tradecraft

from agon.agents import seat_dice
from agon.games import Choice
from agon.games.inputs import Button, ListField, TickField
from agon.games.matrix import MatrixGame
from agon.games.pages import Scene, page_of
from agon.games.spaces import Form, Number, Offer, Space, Text
from agon.games.tradecraft.recipes import Craft
from agon_hall import forms
from agon_hall.web import Sent, parse_form

every_game = over(ALL)
EMPTY = {"offer": {}, "request": {}}


class Widget:
    """A field or a button of a sheet, as a person finds it."""

    def __init__(self, sheet, thing):
        self.sheet, self.thing, self.label = sheet, thing, thing.label

    @property
    def options(self):
        return self.thing.options

    @property
    def value(self):
        if hasattr(self.thing, "chosen"):
            return self.thing.chosen(self.sheet.entries)
        return self.sheet.entries.get(self.thing.key, self.thing.value)

    @value.setter
    def value(self, value):
        self.sheet.put(self.thing, value)


def wire(values):
    """What a browser sends."""
    return Sent([(name, value) for name, all_ in values.items() for value in all_])


class Sheet:
    """A form, what it has sent, and the ways in which a person fills it in, as a browser sends it: strings and nothing else."""

    def __init__(self, view, answer="", aids=None):
        self.view, self.made = view, partial(forms.answer_form, Scene(view, aids=aids))
        self.sent, self.answer, self.why, self.entries = [], answer, "", {}

    def _wire(self, **more):
        """What a browser sends of all fields."""
        sent = {}
        for each in (widget for widget in self.widgets if not isinstance(widget.thing, Button)):
            chosen = each.value if isinstance(each.thing, TickField) else [each.value]
            if isinstance(each.thing, ListField):
                sent[each.thing.key] = [label for label, value in each.options.items() if value in chosen]
            else:
                sent[each.thing.key] = [str(each.value if each.value is not None else "")]
        return sent | more

    def put(self, thing, value):
        sent = self._wire(press=[""])
        chosen = value if isinstance(thing, TickField) else [value]
        labels = [label for label, each in getattr(thing, "options", {}).items() if each in chosen]
        sent[thing.key] = labels if isinstance(thing, ListField) else [str(value)]
        self.entries = forms.press(self.made, self.entries, wire(sent)).entries

    @property
    def widgets(self):
        return [Widget(self, each) for each in forms._all(self.made(self.entries)) if not isinstance(each, str)]

    def labelled(self, start):
        return next(each for each in self.widgets if each.label.startswith(start))

    def press(self, name):
        button = self.labelled(name).thing
        pressed = forms.press(self.made, self.entries, wire(self._wire(press=[button.key or button.label])))
        self.entries, self.why = pressed.entries, pressed.why
        if pressed.actions is not None:
            assert all(each in self.view.legal for each in pressed.actions)
            self.sent.append(pressed.actions)
            self.why = self.answer
        return self

    def enter(self, **values):
        for label, value in values.items():
            self.labelled(label).value = value
        return self

    @property
    def drawn(self):
        return forms.draw(self.made, self.entries, "answer", "0", self.why)

    @property
    def html(self):
        """All that can be read in it, without pictures."""
        return re.sub(r'<span class="item"><svg.*?</svg>(.*?)</span>', r"\1", self.drawn)

    @property
    def todo(self):
        """The crafts of a workshop."""
        return self.entries.get("todo", ())

    def boxes(self):
        """The fields for what goes into a craft, by item."""
        return {each.label.partition(" (")[0]: each for each in self.widgets if "(you have" in each.label}

    @property
    def said(self):
        return (re.search('<p role="alert".*?</p>', self.drawn, re.DOTALL) or [""])[0]


def fill(space, widgets, action):
    """Enters an action into the widgets of a space; gives those that are left."""
    first, *rest = widgets
    if isinstance(space, Choice):
        first.value = action
    elif isinstance(space, Number | Text):
        first.value = str(action)
    elif isinstance(space, Offer):
        for widget, share in zip(widgets, action, strict=False):
            widget.value = repr(share)
        rest = widgets[len(action) :]
    elif isinstance(space, Form):
        rest = widgets
        for value, (_, part) in zip(action, space.parts, strict=True):
            rest = fill(part, rest, value)
    else:
        for value, why, (_, _, rated, reason) in zip(widgets[::2], widgets[1::2], action, strict=False):
            value.value = [place for place, each in enumerate(rated) if each] if space.orders else repr(rated)
            why.value = reason
        rest = widgets[2 * len(action) :]
    return rest


def entered(view, action):
    """What a form sends when an action is entered into it."""
    sheet = Sheet(view)
    if getattr(view.legal, "tools", None):
        return traded(sheet, view, action)
    if isinstance(view.legal, Choice) and len(view.legal.options) <= 8:
        return sheet.press(action).sent
    (button,) = fill(view.legal, sheet.widgets, action)
    return sheet.press(button.label).sent


def traded(sheet, view, call):
    if call["tool"] == "decide":
        return sheet.press(call["decision"].capitalize()).sent
    if call["tool"] == "submit_proposal":
        sheet.enter(Trade=call["partner"])
        for whose, side in (("you have", "offer"), ("they have", "request")):
            for item, amount in call[side].items():
                sheet.labelled(f"{item.replace('_', ' ')} ({whose}").value = str(amount)
        return sheet.press("Send" if call["offer"] or call["request"] else "Propose nothing").sent
    if call["tool"] == "craft_apply":
        found = view.rules.ruleset.match_craft(call["inputs"], call["outputs"])
        assert isinstance(found, Craft)
        sheet.enter(What=found.recipe.id)
        for item, box in sheet.boxes().items():
            box.value = str(call["inputs"].get(item.replace(" ", "_"), ""))
        sheet.press("Add to the list")
    return sheet.press("Finish" if call["tool"] == "craft_done" else "Craft these").sent


@every_game
def test_a_form_sends_an_action_as_it_is_and_nothing_before_it(name):
    def answer(view, dice):
        names = [each.label for each in Sheet(view).widgets]
        assert all(each.strip() and each.isprintable() for each in names) and len(set(names)) == len(names)
        if "Send" in names:
            sheet = Sheet(view).press("Send")
            ticked = getattr(view.legal, "orders", False)  # nothing ticked is an answer
            assert ticked or (not sheet.sent and 'role="alert"' in sheet.said)
        action = any_legal(view._replace(legal=page_of(view.rules).playable(view)), dice)
        if "Go on" in names[0]:
            assert Sheet(view).press("Go on").sent == [[action]]
            return action
        ((first, *more),) = entered(view, action)
        assert first == action and type(first) is type(action) and all(each in view.legal for each in (first, *more))
        assert more == (
            [{"tool": "craft_done"}]
            if action != first or getattr(first, "get", {}.get)("tool") == "craft_apply"
            else []
        )
        return action

    play_out(ALL[name], seat_dice(4, 0), answer)


def at(game, *actions):
    """What the first seat to move sees after these steps."""
    state = game.start(seat_dice(0, -1))
    for chosen in actions:
        state, _ = game.step(state, chosen)
    return game.observe(state, game.to_move(state)[0])


def in_space(space):
    """A view of a game of one space."""
    return at(public_goods())._replace(legal=space, rules=None)


def test_what_is_refused_is_said_and_can_be_sent_again():
    sheet = Sheet(at(public_goods()), "too <b>late</b>").enter(Your="7").press("Send")
    assert "too &lt;b&gt;late" in sheet.said and sheet.labelled("Your").value == "7"
    sheet.answer = ""
    assert sheet.press("Send").sent == [[7], [7]] and not sheet.said


def test_a_number_is_one_line_sent_by_enter_and_has_its_steps():
    sheet = Sheet(in_space(Number(10, 100, 5))).enter(Your="12").press("Send")
    assert not sheet.sent and "in steps of 5" in sheet.said
    assert sheet.enter(Your=" +15 ").press("Send").sent == [[15]]
    drawn = Sheet(at(public_goods())).drawn
    assert 'data-press="Send"' in drawn  # by the script; without one the first button of a form is pressed:
    assert re.search(r'<button name="press" value="([^"]*)"', drawn)[1] == "Send"
    assert 'inputmode="numeric"' in drawn


@over(["", "  ", "12.5", "101", "-1", "ten", "1e1", "\uff17", "0x10", "9" * 5000, "<b>1</b>"])
def test_what_is_no_number_of_the_range_is_refused_and_stays(typed):
    sheet = Sheet(at(public_goods())).enter(Your=typed).press("Send")
    assert not sheet.sent and 'role="alert"' in sheet.said and "from 0 to 100" in sheet.said
    assert sheet.labelled("Your").value == typed and "<b>1" not in sheet.said


@over([("", "Write something"), (" \n ", "Write something"), ("x" * 100_000, "100,000"), ("\ud800", "cannot")])
def test_a_text_that_is_no_clue_is_refused_with_the_reason_and_stays(case):
    typed, why = case
    sheet = Sheet(in_space(Text(500))).enter(Your=typed).press("Send")
    assert not sheet.sent and why in sheet.said and sheet.labelled("Your").value == typed


def test_characters_are_counted_while_one_types():
    sheet = Sheet(in_space(Text(500)))
    assert "500 characters left" in sheet.html
    sheet.enter(Your="four")
    assert "496 characters left" in sheet.html
    sheet.enter(Your="x" * 501)
    assert "1 character too many" in sheet.html


def test_a_choice_of_many_is_a_list_in_which_nothing_is_chosen():
    sheet = Sheet(in_space(Choice(tuple(f"option {each}" for each in range(9))))).press("Send")
    assert not sheet.sent and "choose one" in sheet.said
    foreign = forms.press(sheet.made, {}, wire({"press": ["Send"], "answer": ["option 9"]}))
    assert "choose one" in foreign.why
    assert sheet.enter(Your="option 8").press("Send").sent == [["option 8"]]


def test_a_division_is_empty_and_says_what_is_missing():
    sheet = Sheet(at(cost_sharing()))
    assert [each.value for each in sheet.widgets[:3]] == ["", "", ""]
    assert not sheet.press("Send").sent
    sheet.enter(A="40", B="30")
    assert "<strong>70</strong> of 100" in sheet.html and "30</strong> missing" in sheet.html
    assert "enter a share" in sheet.press("Send").said and not sheet.sent
    sheet.enter(C="40").press("Send")
    assert not sheet.sent and "sum to 110" in sheet.said and "<svg" in sheet.html
    assert sheet.enter(C="29.9").press("Send").sent == [[(40, 30, 29.9)]]


@over(["33,3", "1e1", "-5", "101", "nan", "inf", "half", "<i>"])
def test_what_is_no_share_is_refused(typed):
    sheet = Sheet(at(cost_sharing())).enter(A=typed, B="30", C="30").press("Send")
    assert not sheet.sent and "is no number from 0 to 100" in sheet.said and sheet.labelled("A").value == typed


def test_parts_say_which_of_them_is_wrong():
    view = in_space(Form((("one", Number(1, 3)), ("two", Text(5)))))
    sheet = Sheet(view).enter(one="2", two="too long").press("Send")
    assert not sheet.sent and "two: The text has 8 characters" in sheet.said
    assert sheet.enter(two="fine").press("Send").sent == [[(2, "fine")]]


@dataclass(frozen=True)
class Pairs(Space):
    """A space that no form has heard of."""

    def __contains__(self, action):
        return isinstance(action, tuple | list) and len(action) == 2 and sum(action) == 4

    def as_json(self):
        return {"pairs": 4}

    def example(self, dice):
        return (1, 3)

    def format(self, action):
        return "1 and 3"


def test_a_space_that_nobody_knows_is_filled_in_as_json():
    sheet = Sheet(in_space(Pairs()))
    assert "[1, 3]" in sheet.html and "1 and 3" in sheet.html
    for typed in ("", "{", "[1, 2]", "NaN", "[" * 100_000):
        assert not sheet.enter(Your=typed).press("Send").sent and 'role="alert"' in sheet.said
    assert sheet.enter(Your="[2, 2]").press("Send").sent == [[(2, 2)]]


def test_labels_that_look_alike_are_told_apart_and_cannot_turn_text_about():
    options = ("a\u202eb", "a\\u202eb", "a" * 100_000, "")
    sheet = Sheet(in_space(Choice(options)))
    assert len({each.label for each in sheet.widgets}) == 4 and all(len(each.label) < 200 for each in sheet.widgets)
    for button in sheet.widgets:
        assert button.label.isprintable()
    assert sheet.press("aaa").sent == [["a" * 100_000]]


def test_options_of_a_game_are_pressed_by_their_names():
    game = MatrixGame("m", "x", ("<script>", "**bold**"), (((1, 1), (0, 0)), ((0, 0), (1, 1))), 1)
    assert Sheet(at(game)).press("<script>").sent == [["<script>"]]


# --- TradeCraft


def test_a_proposal_is_said_in_words_and_bounded_by_hands():
    sheet = Sheet(Table().game.observe(Table().state, 0))
    sheet.enter(stick="2", cobblestone="4")
    assert "You give 2 stick. You get 4 cobblestone from Player 2." in sheet.html
    for typed, why in (
        ("6", "you have 5, not 6"),
        ("1/2", "no whole number"),
        ("-1", "no whole number"),
        ("x", "no whole"),
    ):
        assert why in sheet.enter(stick=typed).press("Send").said and not sheet.sent
    call = {"tool": "submit_proposal", "partner": "Player 2", "offer": {"stick": 5}, "request": {"cobblestone": 4}}
    sheet.enter(stick="5", Message="for both").press("Send")
    assert sheet.sent == [[call | {"message": "for both"}]]


def test_nothing_is_proposed_only_on_purpose():
    sheet = Sheet(Table().game.observe(Table().state, 0)).press("Send")
    assert not sheet.sent and "Propose nothing" in sheet.said
    assert not sheet.enter(stick="1").press("Propose nothing").sent
    assert sheet.enter(stick="").press("Propose nothing").sent[0][0] | EMPTY == sheet.sent[0][0]


def test_an_item_is_added_by_a_press_as_often_as_it_is_held():
    sheet = Sheet(Table().game.observe(Table().state, 0))
    sheet.press("give 1 stick").press("give 1 stick").press("ask for 1 iron ingot")
    assert "You give 2 stick. You get 1 iron ingot from Player 2." in sheet.html
    assert "they have 1, not 2" in sheet.press("ask for 1 iron ingot").press("Send").said and not sheet.sent
    sheet.enter(iron="x").press("ask for 1 iron ingot")
    assert "no whole number" in sheet.said and sheet.labelled("iron ingot (they").value == "x"


def test_a_partner_of_several_is_chosen_and_its_items_are_asked_for():
    table = Table(tradecraft(3))
    sheet = Sheet(table.game.observe(table.state, 0))
    assert [each for each in sheet.widgets if each.label.startswith("cobblestone")]
    sheet.enter(Trade="Player 3")
    assert not [each for each in sheet.widgets if each.label.startswith("cobblestone")]
    sheet.enter(wheat="1").press("Send")
    assert sheet.sent[0][0]["partner"] == "Player 3" and sheet.sent[0][0]["request"] == {"wheat": 1}


def test_a_proposal_is_decided_on_with_a_reply():
    table = Table().proposes(offer={"stick": 1}, request={"iron_ingot": 1}, message="<b>please</b>")
    sheet = Sheet(table.game.observe(table.state, 1))
    told = sheet.html
    assert "you get <strong>1 stick</strong>" in told and "you give <strong>1 iron ingot</strong>" in told
    assert "&lt;b&gt;please" in told and "<b>" not in told
    assert not sheet.enter(Reply="x" * 2001).press("Accept").sent
    assert sheet.enter(Reply="no").press("Reject").sent == [[{"tool": "decide", "decision": "reject", "message": "no"}]]


def workshop(table=None):
    table = table or Table().proposes().decides("reject")
    return table, Sheet(table.game.observe(table.state, 0))


def test_the_way_to_the_target_goes_on_the_list_step_by_step_or_whole():
    hands = [{"oak_log": 3, "cobblestone": 3}, {"dirt": 1}]
    table, sheet = workshop(
        Table(tradecraft(hands=hands, targets=[{"stone_pickaxe": 1}, {"dirt": 2}]))
        .idle()
        .proposes("Player 1")
        .decides("reject")
    )
    first = next(each.label for each in sheet.widgets if " out of " in each.label)
    whole = Sheet(sheet.view).press("Add all")
    assert f"<li>{first}" in sheet.press(first).html and len(sheet.todo) == 1 < len(whole.todo)
    while any(each.label.startswith("Add all") for each in sheet.widgets):
        sheet.press(next(each.label for each in sheet.widgets if " out of " in each.label))
    assert whole.todo[-1][1].get("stone_pickaxe") == 1 and len(sheet.todo) == len(whole.todo) - 1
    assert not any(" out of " in each.label for each in whole.widgets)
    (calls,) = whole.press("Craft these").sent
    for call in calls[:-1]:
        assert table.only(0, call).told(0, "answer")[-1]["ok"]
    assert calls[-1] == {"tool": "craft_done"}


def test_the_way_is_not_on_the_form_without_its_aid_or_without_what_it_takes():
    table, sheet = workshop()
    for shown in (sheet, Sheet(table.game.observe(table.state, 0), aids=("amounts",))):
        assert not [each for each in shown.widgets if " out of " in each.label or each.label.startswith("Add all")]


def test_crafts_are_listed_checked_and_sent_with_the_end_of_the_turn():
    table, sheet = workshop()
    sheet.enter(What="oak_planks", How="2").press("Add")
    assert "8 oak planks out of 2 oak log" in sheet.html and len(sheet.todo) == 1
    sheet.press("Take the last one off")
    assert sheet.todo == () and "Finish without crafting" in [each.label for each in sheet.widgets]
    sheet.enter(What="oak_planks", How="3").press("Add")
    assert sheet.todo == () and "does not hold that" in sheet.said
    sheet.enter(How="1").press("Add")
    assert sheet.said == "" and sheet.todo[-1][1]["oak_planks"] == 4
    sheet.press("Craft these")
    (calls,) = sheet.sent
    assert [each["tool"] for each in calls] == ["craft_apply", "craft_done"]
    for call in calls:
        table.only(0, call)
    assert table.game.observe(table.state, 0).past[-1].value["ok"] and 0 in table.state.done
    assert table.state.hands[0]["oak_planks"] == 4


def test_a_choice_of_fuel_is_asked_for_and_filled_in_with_one_that_fits():
    _, sheet = workshop()
    options = sheet.labelled("What").options.values()
    sheet.enter(What=next(each for each in options if str(each).startswith("iron_ingot")))
    assert sheet.boxes() and any(box.value for box in sheet.boxes().values())
    for box in sheet.boxes().values():
        box.value = ""
    sheet.press("Add")
    assert not sheet.todo and 'role="alert"' in sheet.said
    sheet.enter(**{"raw iron": "1", "coal": "1/8"}).press("Add")
    assert "7/8 coal" in sheet.html and "loses broken pieces" in sheet.html
    assert sheet.press("Craft these").sent[0][0]["inputs"] == {"coal": "1/8", "raw_iron": 1}


def test_what_is_suggested_fits():
    _, sheet = workshop()
    for recipe in list(sheet.labelled("What").options.values())[1:]:
        sheet.enter(What=recipe).press("Add")
        assert len(sheet.todo) == 1, recipe
        sheet.press("Take the last one off")


def test_a_list_is_no_longer_than_the_calls_that_are_left():
    table = Table(tradecraft(calls=3)).proposes().decides("reject")
    table, sheet = workshop(table.only(0, {"tool": "rethink", "text": "hm"}))
    sheet.enter(What="oak_planks").press("Add")
    assert len(sheet.todo) == 1 and "The list is full" in sheet.html
    for call in sheet.press("Craft these").sent[0]:
        assert 0 in table.game.to_move(table.state)
        table.only(0, call)
    assert table.state.hands[0]["oak_planks"] == 4 and (0, "default", "call limit") not in table.state.notes


def test_a_refused_list_stays():
    _, sheet = workshop()
    sheet.answer = "the turn is over"
    sheet.enter(What="oak_planks").press("Add").press("Craft these")
    assert "the turn is over" in sheet.said and len(sheet.todo) == 1


def test_the_chameleon_is_asked_for_the_word_in_its_interview():
    game = chameleon(spy=0)
    state = game.start(seat_dice(0, -1))
    while game.observe(state, 0).phase != "evaluate":
        state, _ = game.step(
            state, {seat: any_legal(game.observe(state, seat), seat_dice(1, seat)) for seat in game.to_move(state)}
        )
    names = [each.label.partition(" (")[0] for each in Sheet(game.observe(state, 0)).widgets]
    assert names == ["The secret word, as far as you can tell", "Player 2 suspects", "Player 3 suspects", "Send"]


def test_lines_end_as_everywhere_else_and_what_was_not_sent_stays():
    view = in_space(Text(500))
    made = partial(forms.answer_form, Scene(view))
    assert parse_form("answer=a%0D%0Ab&press=") == Sent({"answer": "a\nb", "press": ""})
    assert forms.press(made, {"answer": "kept"}, wire({"press": [""]})).entries == {"answer": "kept"}
    assert forms.press(made, {}, wire({"press": ["no such button"], "answer": ["x"]})) == ({"answer": "x"}, "", None)
    assert forms.press(made, {}, wire({"no such field": ["x"], "press": ["Send"], "answer": ["x"]})).actions == ["x"]
