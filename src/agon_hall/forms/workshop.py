"""The workshop: crafts are listed, checked and undone here, and sent all at once with the end of the turn."""

from collections.abc import Sequence
from typing import Any

import panel as pn

from agon.games import Observation
from agon.games.base import Event
from agon.games.tradecraft.calls import Call
from agon.games.tradecraft.game import Answer, crafted, known
from agon.games.tradecraft.recipes import (
    Amount,
    Hand,
    Recipe,
    Refusal,
    Ruleset,
    amount_of,
    floored,
    minus,
    plus,
    whole,
    written,
)
from agon_hall.boards.trading import goods, takes
from agon_hall.forms.fields import ENDLESS, NOTHING, UNCHOSEN, InvalidEntry, Sender, options
from agon_hall.look import block, button, count, items, line, stack, styled, text, wrapped


def calls_made(past: Sequence[Event]) -> int:
    """Calls that a seat has made in the phase it is in: they are what it knows last."""
    made = 0
    for event in reversed(past):
        if event.phase != "answer":
            break
        made += 1
    return made


class Workshop:
    """A recipe, how often, with what where there is a choice; the list of crafts; and the end of the turn."""

    def __init__(self, view: Observation, form: Sender) -> None:
        self.rules: Ruleset = view.rules.ruleset
        self._form, self._own = form, known(view).hand
        self._room = view.rules.calls - calls_made(view.past) - 1
        self.todo: list[tuple[Call, Hand]] = []
        """Crafts, and the hand after each."""
        self.recipe = styled(pn.widgets.Select, "What to make", options=NOTHING, value=UNCHOSEN, max_width=640)
        self.times = styled(pn.widgets.TextInput, "How many times", value="1", max_length=ENDLESS, max_width=200)
        self.boxes: dict[str, Any] = {}
        self.inputs = wrapped()
        self.takes, self.list = block(""), block("")
        self.add = button("Add to the list", self._add, main=False, max_width=300)
        self.undo = button("Take the last one off the list", self._undo, main=False, max_width=300)
        self.finish = button("Finish without crafting", self._finish, max_width=400)
        self.recipe.param.watch(lambda event: self._chosen(), "value")
        self.times.param.watch(lambda event: self._chosen(), "value")
        self.times.param.watch(lambda event: self._add(), "enter_pressed")
        self.panel = stack(
            self.recipe, self.times, self.takes, self.inputs, self.add, self.list, self.undo, self.finish,

        )  # fmt: skip
        self._listed()

    @property
    def widgets(self) -> list[Any]:
        """All that can be typed into or pressed."""
        return [self.recipe, self.times, *self.boxes.values(), self.add, self.undo, self.finish]

    @property
    def hand(self) -> Hand:
        """What is held after the crafts of the list."""
        return self.todo[-1][1] if self.todo else self._own

    def _listed(self) -> None:
        """The list has changed."""
        possible = _different(self.rules.possible(self.hand)) if len(self.todo) < self._room else []
        named = options([_label(recipe) for recipe in possible])
        kept = self.recipe.value
        ids = [recipe.id for recipe in possible]
        found = NOTHING | dict(zip(named, ids, strict=True))
        self.recipe.param.update(options=found, value=kept if kept in ids else UNCHOSEN)
        for widget in (self.recipe, self.times, self.add):
            widget.visible = bool(ids)
        lines = [f"{goods(call['outputs'])} out of {goods(call['inputs'])}" for call, _ in self.todo]
        lost = minus(self.hand, floored(self.hand))
        more = f"<p>Finishing loses broken pieces: {goods(written(lost))}.</p>" if lost else ""
        none = "" if ids else "<p>There is nothing more that your hand can make.</p>"
        if len(self.todo) >= self._room:
            none = "<p>The list is full: no more steps are allowed in this turn.</p>"
        head = f"<h3>To do: {count(len(self.todo), 'craft')}</h3>" if lines else "<h3>To do: nothing yet</h3>"
        after = f"<p>Your hand {'after these' if lines else 'now'}: {goods(written(self.hand))}.</p>"
        self.list.object = f"{none}{head}{items(lines, 'ol')}{after}{more}"
        self.undo.visible = bool(lines)
        self.finish.label = "Craft these and finish the turn" if lines else "Finish without crafting"
        self._chosen()

    def _chosen(self) -> None:
        """Another recipe, or another number of times: says what it takes, and asks with what where there is a choice."""
        recipe = None if self.recipe.value is UNCHOSEN else self.rules.recipe(self.recipe.value)
        self.boxes = {}
        said = ""
        if recipe is not None:
            times = self._times()
            makes = recipe.number * (times or 1)
            said = f"<p>Takes {text(takes(self.rules, recipe, times or 1))}; makes {makes} {text(recipe.makes)}.</p>"
            found = self.rules.filled(recipe, times, self.hand) if times else None
            if isinstance(found, Refusal) and found.fault == "wrong amounts":
                self.boxes = self._choices(recipe, times)
                said += "<p>There is a choice. Say how much of each goes in (amounts may be fractions such as 1/8 for fuel):</p>"
        self.takes.object = said
        self.inputs.objects = list(self.boxes.values())

    def _times(self) -> int:
        """How many times; 0 for what is no number."""
        try:
            times = amount_of((self.times.value or "").strip())
        except ValueError:
            return 0
        return times if isinstance(times, int) else 0

    def _choices(self, recipe: Recipe, times: int) -> dict[str, Any]:
        """A box for each item of the hand that may go in, filled in with one way that fits."""
        wanted = suggested(self.rules, recipe, times, self.hand)
        members = {item for need, _ in recipe.needs for item in self.rules.members(need)}
        fuels = set(self.rules.fuel) if recipe.fuelled else set()
        return {
            item: styled(
                pn.widgets.TextInput,
                f"{line(item, 40)} (you have {amount})",
                value=str(wanted.get(item, "")),
                max_length=ENDLESS,
                width=190,
                sizing_mode=None,
            )
            for item, amount in sorted(self.hand.items())
            if item in members | fuels
        }

    def _add(self) -> None:
        """One craft more, if the hand allows it."""
        try:
            found = crafted(self.rules, self.hand, self._call())
        except InvalidEntry as error:
            return self._form.refuse(str(error))
        if isinstance(found, Answer):
            return self._form.refuse(f"{str(found.says)[:1].upper()}{str(found.says)[1:]}.")
        call = Call(tool="craft_apply", inputs=written(found.inputs), outputs=written(found.outputs))
        self.todo.append((call, plus(minus(self.hand, found.inputs), found.outputs)))
        self._form.clear()
        return self._listed()

    def _call(self) -> dict[str, Any]:
        if self.recipe.value is UNCHOSEN or len(self.todo) >= self._room:
            raise InvalidEntry("Choose what to make first.")
        if not (times := self._times()):
            raise InvalidEntry(f"How many times: “{line(self.times.value, 40)}” is no whole number of 1 or more.")
        call: dict[str, Any] = {"recipe": self.recipe.value, "times": times}
        if self.boxes:
            entered = {item: (box.value or "").strip() for item, box in self.boxes.items()}
            call["inputs"] = {item: amount for item, amount in entered.items() if amount not in ("", "0")}
        return call

    def _undo(self) -> None:
        if self.todo:
            self.todo.pop()
        self._listed()

    def _finish(self) -> None:
        self._form.send([*(call for call, _ in self.todo), Call(tool="craft_done")])


def _different(recipes: Sequence[Recipe]) -> list[Recipe]:
    """Of recipes that take and make the same, at different stations, the first."""
    return list({recipe._replace(id="", station=""): recipe for recipe in reversed(recipes)}.values())[::-1]


def _label(recipe: Recipe) -> str:
    """A recipe in one short line."""
    parts = [f"{number} {'any ' + need[1:] if need.startswith('#') else need}" for need, number in recipe.needs]
    return f"{recipe.number} {recipe.makes} from {' + '.join([*parts, *(['fuel'] if recipe.fuelled else [])])}"


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
