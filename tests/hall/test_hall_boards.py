"""Boards: all that a view holds can be read, nothing else is there, and what comes from outside is text."""

import re
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import NamedTuple
from unicodedata import category

from collecting import over
from games.test_conformance import ALL, answer
from harness import PD, RPS, small
from hypothesis import given
from hypothesis import strategies as st
from magic_games import AIRLINES, any_legal, chameleon, cost_sharing, prisoners, public_goods, undercover
from tradecraft_games import TARGETS, Table, tradecraft

from agon.agents import seat_dice
from agon.agents.prompts import prompts, template_of
from agon.errors import visible
from agon.games import Choice, Observation
from agon.games import html as look
from agon.games.base import PUBLIC, Event
from agon.games.cost_sharing.game import CostSharing
from agon.games.html import as_text, bars, lines
from agon.games.matrix import MatrixGame
from agon.games.pages import Scene, page_of
from agon.games.pages import board_of as parts
from agon.games.rating.game import Rating
from agon.games.sentences import number
from agon.games.tradecraft import TradeCraft
from agon.games.tradecraft.game import item_info
from agon.games.tradecraft.page import _way, about_item
from agon.games.tradecraft.recipes import Recipe, Ruleset
from agon_hall.rules import rules_text

every_game = over(ALL)
HOSTILE = (
    "<script>alert(1)</script>",
    "<svg onload=alert(1)>",
    "[a](javascript:alert(1))",
    "left\u202eright",
    "a\u200bb\x00c\x1bd",
    "'\"><img src=x onerror=alert(1)>",
    "x" * 100_000,
    "\u05d0\u05d1 \u0627",
)
TAGS = {
    *("h1", "h2", "h3", "p", "ul", "ol", "li", "table", "caption", "thead", "tbody", "tr", "th", "td", "div", "span"),
    *("strong", "em", "small", "br", "bdi", "details", "summary", "code"),
    *("svg", "title", "desc", "text", "line", "polyline", "rect", "path", "circle", "ellipse"),
}
NAMES = {
    *("class", "scope", "tabindex", "role", "aria-label", "open", "viewbox", "width", "height", "xmlns"),
    *("x", "y", "x1", "x2", "y1", "y2", "points", "fill", "stroke", "stroke-width", "stroke-dasharray"),
    *("font-size", "font-weight", "font-style", "text-anchor", "aria-hidden", "aria-current"),
    *("d", "cx", "cy", "r", "rx", "ry"),
}


class Read(HTMLParser):
    """What HTML is made of, and the text in it. Everything that is not ours is an error."""

    def __init__(self, html):
        super().__init__()
        self.text, self.open = "", []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert tag in TAGS and {name for name, _ in attrs} <= NAMES, (tag, attrs)
        if tag not in ("br",) and not self.get_starttag_text().endswith("/>"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.get_starttag_text().endswith("/>") or tag in self.open:
            assert self.open.pop() == tag

    def handle_startendtag(self, tag, attrs):
        assert tag in TAGS and {name for name, _ in attrs} <= NAMES, (tag, attrs)

    def handle_data(self, data):
        assert all(letter in "\n\t" or category(letter)[0] != "C" for letter in data), data
        self.text += data

    def handle_comment(self, data):
        raise AssertionError(data)


def html_of(view, totals=None, names=()):
    return "".join(parts(Scene(view, totals, names)).values())


def text_of(view, totals=None, names=()):
    return Read(html_of(view, totals, names)).text


def rules_of(game, view):
    """The rules of a game for whoever has this view."""
    return rules_text(view, game, game.start(seat_dice(0, -1)))


def everybody(game, state):
    """What each seat and the public see."""
    return {seat: game.observe(state, seat) for seat in range(game.seats)} | {PUBLIC: game.watch(state)}


def states(game, script=answer, seed=4):
    """All states of a match in which the seats are still asked."""
    dice, state = seat_dice(seed, 0), game.start(seat_dice(seed, -1))
    while asked := game.to_move(state):
        yield state
        state, _ = game.step(state, {seat: script(game.observe(state, seat), dice) for seat in asked})
    if not isinstance(game, Rating):
        yield state


# --- every game


@every_game
def test_boards_have_the_same_parts_throughout_and_can_be_read_by_ear(name):
    game, boards = ALL[name], {}
    for state in states(game):
        for seat, view in everybody(game, state).items():
            fresh = parts(Scene(view, (2.5,) * game.seats, ("Ada", "Bo", "Cy")))
            assert list(boards.setdefault(seat, fresh)) == list(fresh)
            html = "".join(fresh.values())
            Read(html)
            pictures = html.count("<svg") - html.count("aria-hidden")
            assert pictures == html.count('<svg role="img" aria-label="') == html.count("<title>")
            assert html.count("<table>") == html.count("<caption>") and "<th>" not in html


@every_game
def test_every_match_ends_with_how_it_ended(name):
    game = ALL[name]
    *_, last = states(game)
    if not game.to_move(last):
        for seat in range(game.seats):
            view = game.observe(last, seat)
            told = Read(page_of(game).closing(Scene(view, (1.0,) * game.seats), game, last)).text
            assert f"{game.players[seat]} (you)" in told or "point" in told
            assert set(page_of(game).needed) & set(parts(Scene(view)))


def words_of(told):
    """A text without what marks it up."""
    return re.sub(r"(?m)^(# |- |\d+\. )|\s+", "", told)


@every_game
def test_people_read_the_rules_in_the_words_of_models(name):
    game = ALL[name]
    for view in everybody(game, game.start(seat_dice(0, -1))).values():
        told = Read(rules_of(game, view)).text
        assert len(told.split()) > 10
        for what in ("rounds", "turns", "seats", "fee", "multiplier", "endowment") if view.rules else ():
            if isinstance(value := getattr(view.rules, what, None), int | float):
                counted = (what, value) == ("seats", 2) and "one other player" in told
                assert counted or number(value) in told + text_of(view), what
        if view.legal is None:
            continue
        system = prompts(template_of(game), "zs").system(view)
        before, rules, *_ = re.split(r"^# (?:Rules|The game)\n|^# .*\n", system, flags=re.MULTILINE)
        assert words_of(told).startswith(words_of(before) + name_of(system) + words_of(rules))
        assert "[move]" not in told and "How to answer" not in told


def name_of(system):
    """The heading of its rules."""
    return re.search("^# (Rules|The game)$", system, re.MULTILINE)[1].replace(" ", "")


def test_what_only_a_seat_is_told_is_not_among_the_public_s_rules():
    game = chameleon()
    for state in states(game, fixed):
        public, seat = rules_of(game, game.watch(state)), rules_of(game, game.observe(state, 0))
        assert "The word is: cat" in seat and "Get as many credits" in seat
        assert "Your part" not in public and "cat" not in public.replace("indicat", "") and "Animals" not in public


# --- nothing hidden


def alike(one, other, seats, script):
    """Whether the boards of these seats are the same in two games, played alike, that differ in what is hidden from them."""
    for first, second in zip(states(one, script), states(other, script), strict=True):
        for seat in seats:
            views = [
                game.watch(at) if seat == PUBLIC else game.observe(at, seat)
                for game, at in ((one, first), (other, second))
            ]
            assert html_of(views[0]) == html_of(views[1])
            assert rules_of(one, views[0]) == rules_of(other, views[1])
    return True


def fixed(view, dice):
    """The same answers whatever is hidden."""
    if isinstance(view.legal, Choice):
        return view.legal.options[0]
    return "a clue" if view.phase in ("clue", "guess") else any_legal(view, dice)


def test_a_secret_word_is_on_no_board_of_others():
    assert alike(chameleon("cat"), chameleon("dog"), (2, PUBLIC), fixed)
    assert alike(undercover(spy_word="dog"), undercover(spy_word="owl"), (1, 2, PUBLIC), fixed)
    assert alike(undercover("cat"), undercover("owl"), (0, PUBLIC), fixed)


def test_ballots_of_others_are_on_nobody_s_board():
    def voting(ballot):
        return lambda view, dice: ballot if view.phase == "vote" and view.seat == 0 else fixed(view, dice)

    assert alike(chameleon(), chameleon(), (1, 2, PUBLIC), fixed)
    for one, other in zip(
        states(chameleon(), voting("Player 3")), states(chameleon(), voting("Player 2")), strict=False
    ):
        game = chameleon()
        mine, theirs = game.observe(one, 1), game.observe(other, 1)
        if mine.past == theirs.past:
            assert html_of(mine) == html_of(theirs)


def test_targets_of_others_are_on_nobody_s_board():
    other = tradecraft(targets=[TARGETS[0], {"iron_sword": 1}])
    table, twin = Table(), Table(other)
    for step in (lambda t: t.proposes(offer={"stick": 1}), lambda t: t.decides("accept"), lambda t: t.done()):
        for seat in (0, PUBLIC):
            views = [
                each.game.watch(each.state) if seat == PUBLIC else each.game.observe(each.state, seat)
                for each in (table, twin)
            ]
            assert html_of(views[0]) == html_of(views[1]) and "iron_sword" not in html_of(views[0])
        step(table), step(twin)


def test_what_two_players_say_and_what_is_refused_is_on_no_third_board():
    table = Table(tradecraft(3)).proposes(offer={"stick": 3}, message="a secret").decides("reject", "no way")
    for seat, told in ((0, True), (1, True), (2, False), (PUBLIC, False)):
        view = table.game.watch(table.state) if seat == PUBLIC else table.game.observe(table.state, seat)
        said = text_of(view)
        assert ("a secret" in said) == ("no way" in said) == ("gives 3 stick" in said) == told
        assert "rejected" in said


def test_what_others_craft_is_shown_when_all_are_done():
    table = Table().proposes().decides("reject").crafts(0, recipe="oak_planks", times="2/2")
    assert "Turn 1: You crafted 4 oak planks" in text_of(table.game.observe(table.state, 0))
    table.crafts(0, inputs={"oak_planks": 2}, outputs={"stick": 4})
    assert "Turn 1: You crafted 4 stick out of 2 oak planks" in text_of(table.game.observe(table.state, 0))
    for view in (table.game.observe(table.state, 1), table.game.watch(table.state)):
        assert "4 oak_planks" not in text_of(view)


# --- what each kind shows


def test_payoffs_are_read_from_ones_own_side():
    game = MatrixGame("m", "x", ("a", "b"), (((3, 4), (0, 5)), ((6, 1), (2, 7))), 2)
    state = game.start(None)
    assert "<strong>you 0</strong><br>the other 5" in html_of(game.observe(state, 0))
    assert "<strong>you 5</strong><br>the other 0" in html_of(game.observe(state, 1))
    assert "Player 1 0</strong><br>Player 2 5" in html_of(game.watch(state))


def test_rounds_are_paid_as_they_were_played():
    state = PD.start(None)
    for actions in (("cooperation", "defection"), ("defection", None)):
        state, _ = PD.step(state, dict(enumerate(actions)))
    *_, last = states(RPS)
    assert "All 24 rounds are played" in text_of(RPS.observe(last, 0))
    for seat in (0, 1):
        said = text_of(PD.observe(state, seat))
        assert (
            "All rounds" in said
            and "defection6 points" in said
            and "nothing that could be read" in said
            and "Round 3 of 16" in said
        )
    assert "Player 1 (you)" not in text_of(PD.watch(state))
    assert "After 2 rounds: you 1 points; Player 2 6 points" in html_of(PD.observe(state, 0))


def test_a_game_of_three_that_treats_all_alike_is_told_by_numbers():
    said = text_of(prisoners().observe(prisoners().start(None), 2))
    assert "1 cooperate, 1 defect" in said and "the same for everybody" in said
    odd = small([[[[each, 0, 0] for each in (1, 2)]] * 2] * 2, "ab")
    assert odd.seats == 3 and "Player 1 (you) plays" in text_of(odd.observe(odd.start(None), 0))


def test_what_is_left_and_in_the_pool_is_said():
    game = public_goods(2)
    state = game.start(None)
    state, _ = game.step(state, {0: 40, 1: 10, 2: None})
    said = text_of(game.observe(state, 0))
    assert (
        "You have 60 of 100 points left" in said and "In the pool: 50 points. Times 2 that is 100, or 33.3333" in said
    )
    assert "You have" not in text_of(game.watch(state))


def test_role_word_clues_and_the_accused_are_said():
    game = chameleon()
    *_, last = states(game, fixed)
    crowd, spy = text_of(game.observe(last, 0)), text_of(game.observe(last, 2))
    assert "cat" in crowd and "not the chameleon" in crowd and "cat" not in spy and "You are: the chameleon" in spy
    for said in (crowd, spy, text_of(game.watch(last))):
        assert said.count("a clue") >= 3 and "Accused: " in said and "Animals" in said
    assert "Your ballot" in crowd and "Your ballot" not in text_of(game.watch(last))


def test_proposals_and_votes_are_said():
    game = cost_sharing(rounds=2)
    *_, last = states(game, lambda view, dice: (60, 25, 15) if view.phase == "propose" else "Player 2")
    said = text_of(game.observe(last, 1), (1.0, 1.0, 1.0), ("Ada", "Bo", "Cy"))
    assert (
        "Player 1 (Ada), Player 2 (you), Player 3 (Cy)" in said
        and "All agree." in said
        and "A 60" in said
        and "60 %" in said
    )


def test_the_way_to_a_target_has_exact_amounts_and_others_gifts():
    table = Table()
    said = as_text(html_of(table.game.observe(table.state, 0)))
    assert "get 1 cobblestone (Player 2 has 4)" in said and "craft 1 stone shovel out of" in said
    assert "craft" not in text_of(table.game.watch(table.state))


def test_no_piece_of_a_hand_is_counted_twice_and_alternatives_are_seen():
    rules = Ruleset(
        "r",
        ("a", "b", "c", "d"),
        (
            Recipe("b", "x", (("a", 2),), "b", 1),
            Recipe("c", "x", (("a", 1), ("b", 1)), "c", 1),
            Recipe("c2", "x", (("d", 1),), "c", 1),
        ),
    )

    def way(own, other):
        held = {"Player 1": own, "Player 2": other}
        return as_text(_way(Scene(Table().view(0)), rules, held, {"c": 1}))

    assert "Your own hand is enough" in way({"a": 3}, {})
    assert "get 1 a (Player 2 has 9)" in way({"a": 2}, {"a": 9})
    assert "craft 1 c out of 1 d" in way({"d": 1}, {})
    assert "cannot be made, whatever is traded" in way({"a": 1}, {"a": 1})
    assert way({"c": 1}, {}) == ""


def test_items_are_looked_up_on_the_board_without_a_call():
    view = Table().view(0)
    box, _, nothing, _, on_table = page_of(view.rules).ask(Scene(view), {})
    _, _, answer, *_ = page_of(view.rules).ask(Scene(view), {box.key: "stick"})
    assert nothing == "" and "out of 2 any of planks" in answer
    assert "stick" in box.suggestions and "oak planks" in box.suggestions
    cobblestone = next(button for button in on_table.things if button.label == "cobblestone")
    assert cobblestone.do() == {"item": "cobblestone"}
    facts = Table().game.observe(Table().state, 0).rules
    assert "4 oak planks out of 1 any of oak logs" in Read(about_item(facts, "oak_planks")).text
    assert "there is no item" in about_item(facts, "oak_plank").lower() and "oak planks" in about_item(
        facts, "oak_plank"
    )
    assert "&lt;b&gt;" in about_item(facts, "<b>")
    assert about_item(facts, " Oak Planks ") == about_item(facts, "oak_planks")
    assert "Did you mean: oak planks" in about_item(facts, "oka plnaks")


def test_a_page_says_how_many_lines_it_leaves_out(monkeypatch):
    table = Table().proposes().decides("reject").done().proposes("Player 1").decides("reject").done()
    monkeypatch.setattr("agon.games.tradecraft.page.SHOWN", 1)
    view = table.game.observe(table.state, 0)
    item, ways = next(
        (item, len(item_info(view.rules, item)["made_by"]))
        for item in sorted(view.rules.reachable)
        if len(item_info(view.rules, item)["made_by"]) > 1
    )
    assert f"\n  - {ways - 1} more\n" in as_text(about_item(view.rules, item))
    log = as_text(parts(Scene(view))["log"])
    assert log.count("Turn 2: ") == 1 and "Turn 1: " not in log and log.endswith("- 1 more")


class Facts(NamedTuple):
    name: str = "new"
    limit: int = 7


def test_a_game_that_nobody_knows_has_a_board_and_rules():
    past = (Event("bid", 1, 5), Event("said", None, {"a": 1}), Event("bid", 0, None))
    view = Observation(0, 3, Choice(("x",)), past, Facts(), "bid", "buyer")
    said = text_of(view)
    assert said.index("bid: (unreadable)") < said.index("bid: 5") and "buyer" in said and "Round 3" in said
    assert "limit: 7" in Read(rules_of(PD, view)).text
    for seat in (0, PUBLIC):
        assert "Player 2" in text_of(view._replace(past=(("x", "y"),), seat=seat, rules=None.__class__))


# --- hostile texts


@dataclass(frozen=True)
class Answers:
    """A strategy that says one hostile text wherever a text is asked for."""

    text: str

    def __call__(self, view, dice):
        if view.phase in ("clue", "guess"):
            return view.legal.parse(self.text[:500]) or "x"
        return any_legal(view, dice)


def hostile_games(text):
    """One game of each family, with a text wherever a setting, a player or a ruleset may put one."""
    short = text[:60]
    other, third = f"{short}2", f"{short}3"
    options = (
        visible(text).replace("\n", " "),
        visible(other).replace("\n", " "),
    )  # what cannot be printed is no label
    yield MatrixGame("m", text, options, (((1, 1), (0, 0)), ((0, 0), (1, 1))), 3)
    yield MatrixGame("m", text, options, [[[[1, 2, 3]] * 2] * 2] * 2, 3)
    if any(map(str.isalnum, text)):
        yield chameleon(word="cat", topic=text)
        yield chameleon(word=text, clues=("soft", "quick", "small"))
        yield undercover(word=text)
    airlines = [(name, *rest) for name, (_, *rest) in zip((text, other, third), AIRLINES, strict=True)]
    yield CostSharing("c", text, airlines, ((40, 30, 30), (50, 25, 25), (50, 25, 25)))
    made = Recipe(f"{short} id", "x", ((f"#{other}", 1), (text, 1)), third, 1, True)
    rules = Ruleset(
        text, (text, other, third), (made,), {other: (other,)}, {text: ALL["tradecraft"].ruleset.fuel["coal"]}
    )
    yield TradeCraft("t", text, rules, [{text: 3}, {other: 3}], [{third: 1}, {third: 2}])


@over(HOSTILE)
def test_hostile_texts_are_text_on_every_board_and_in_all_rules(text):
    for game in hostile_games(text):
        for state in list(states(game, Answers(text)))[:: 9 if len(text) > 1000 else 1]:
            for view in everybody(game, state).values():
                drawn = html_of(view, (1.0,) * game.seats, (text, text, text)) + rules_of(game, view)
                said = Read(drawn).text
                assert "<script" not in drawn and "\u202e" not in drawn and "<img" not in drawn
                assert "nan" not in said.lower().split()


@over(HOSTILE)
def test_hostile_messages_are_text(text):
    game = tradecraft(3, length=200_000)
    table = Table(game).proposes(message=text).decides("reject", text)
    for view in everybody(game, table.state).values():
        drawn = html_of(view)
        Read(drawn)
        assert drawn.count('class="long"') == (2 * (len(text) > 600) if view.seat in (0, 1) else 0)


def test_a_rating_shows_its_log_as_text_and_nothing_to_the_public():
    game = ALL["rating"]
    state = game.start(None)
    assert "Turn 1" in text_of(game.observe(state, 0)) and "Turn 1" not in text_of(game.watch(state))
    log = '{"match": "m", "game": "<b>", "players": ["<i>", "B"], "turns": [[{"player": "<i>", "says": "<script>", "\\u202e": [1, {}]}]]}'
    game = Rating("r", "x", log, full=True)
    drawn = html_of(game.observe(game.start(None), 0))
    Read(drawn)
    assert "&lt;script&gt;" in drawn and "\u202e" not in drawn


# --- how it looks


def test_text_is_escaped_once_and_long_texts_scroll_in_a_box():
    assert look.text("<a>\n&\u202e") == "&lt;a&gt;<br>&amp;\\u202e"
    assert look.text(None) == "" and look.text(3) == "3"
    assert look.text("\u05d0") == "<bdi>\u05d0</bdi>"
    assert 'class="long" tabindex="0"' in look.text("x" * 601) and 'class="long"' in look.text("\n" * 12)
    assert "long" not in look.text("x" * 600)


@given(st.text())
def test_any_text_is_text_and_can_all_be_seen(value):
    assert Read(look.text(value)).open == [] and look.label(value).isprintable()


def test_labels_and_numbers_are_written_for_people():
    assert look.label("a\n b\u202e") == "a b\\u202e" and look.label("x" * 90) == "x" * 79 + "…"
    assert len(look.label("x" * 10**6)) == 80
    numbers = {1_000_000: "1,000,000", 0.25: "0.25", 3.0: "3", -1: "-1", 1 / 3: "0.3333"}
    assert {value: number(value) for value in numbers} == numbers


def test_pictures_hold_for_any_numbers():
    for values in ([0, 0], [-5, 3], [1e9, 2e9], [0.5, 0.25]):
        assert Read(lines("title", [("a", values), ("b", values), ("c", values)])).text
    assert lines("title", [("a", [1])]) == "" and lines("title", []) == ""
    assert "none" in bars("t", [("a", None), ("b", (0, 0)), ("c", (300, 1))], ("x", "y"), 100)
