"""Every kind of game is played to its end by keys alone, on German pages, on a phone in the dark or on a wide screen in the light."""

import re
from time import monotonic

import pytest
from driving import KINDS, fits
from patience import LONG

from agon.agents.languages import say_in
from agon.plan import PERSON

SAY = say_in("de")
LOOKS = (
    {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"},
    {"viewport": {"width": 1280, "height": 800}, "color_scheme": "light"},
)
FOCUSED = "element => element === document.activeElement"
SEEN = """() => { const top = document.querySelector("#status").getBoundingClientRect().bottom;
  const at = document.querySelector("#ask :is(h2, p)").getBoundingClientRect(); return [top <= at.top + 1, at.bottom <= innerHeight]; }"""
"""Whether the question's first line is below the line that says whose turn it is, and above the end of the window."""


def reach(each, wanted):
    """Tab moves the focus there."""
    wanted.wait_for()
    for _ in range(150):
        if wanted.evaluate(FOCUSED):
            return
        each.page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not reach {wanted}")


def press(each, button):
    reach(each, button)
    each.page.keyboard.press("Enter")


def write(each, field, words):
    reach(each, field)
    each.page.keyboard.press("Control+a")
    each.page.keyboard.type(words)


def answer(each, phase, number):
    """Fills in what the question has, and presses the first button that sends it."""
    form = each.page.locator("#answer-form")
    shares = iter(("20", "30", "50"))
    texts = {
        "clue": f"Hinweis {number}",
        "guess": "ein Ballon",
        "evaluate": "ein Ballon",
        "contribute": "1",
        "bid": "1",
    }
    if phase == "propose" and form.locator("select").count():  # a trade: items are added by their buttons
        for place, which in enumerate(("geben", "verlangen")):
            press(each, form.get_by_role("button", name=re.compile(f"^1 .* {which}$")).first)
            form.locator("input[value='1']").nth(place).wait_for()
        return press(each, each.button(SAY("Send this proposal")))
    if phase == "craft":
        return press(each, form.locator("button[value=finish]"))
    if phase == "decide":
        return press(each, each.button(SAY("Accept")))
    for field in form.locator("input:not([type=hidden]), textarea").all():
        write(each, field, next(shares) if phase == "propose" else texts[phase])
    for field in form.locator("select").all():
        reach(each, field)
        each.page.keyboard.press("ArrowDown")
    send = each.button(SAY("Send"))
    return press(each, send if send.count() else form.locator("button:visible").first)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_game_is_played_by_keys_alone_on_german_pages(server, person, kind):
    others = ["anything"] * (1 if kind in ("pd", "rps", "tradecraft") else 2)
    row = server.opened(kind, [PERSON, *others], language="de")
    each = person(**LOOKS[sorted(KINDS).index(kind) % 2], reduced_motion="reduce")
    each.page.goto(server.link("seat", row, 0))
    write(each, each.page.get_by_role("textbox").first, "Ada")
    press(each, each.button(SAY("I agree, and sit down")))
    press(each, each.button(SAY("I have read the rules")))
    seen, before, end = set(), None, monotonic() + LONG
    while SAY("The match is over.") not in each.status():
        assert monotonic() < end, each.page.locator("body").aria_snapshot()
        number = each.page.locator("#answer-form [name=question]")
        if not each.asked() or (question := number.first.get_attribute("value")) == before:
            each.page.wait_for_timeout(50)
            continue
        before, (round_, phase) = question, each.asked()
        if phase not in seen:
            seen.add(phase)
            fits(each, SAY("Your turn, round {}.", round_))
        each.page.wait_for_timeout(50)
        assert each.page.evaluate(SEEN) == [True, True], (phase, question)
        answer(each, phase, before)
    heading = each.page.get_by_role("heading", name=SAY("How it ended"))
    fits(each, SAY("How it ended"))
    assert heading.bounding_box()["y"] < each.page.viewport_size["height"] / 2
    assert seen and not each.errors
