"""German pages: every sentence of boards, forms and studies has a translation, and none is left in English."""

import ast
import re
from functools import cache, partial

import jinja2
import pytest
import yaml
from bs4 import BeautifulSoup
from collecting import over
from games.test_conformance import ALL, answer

from agon import ROOT, AgonError
from agon.agents import seat_dice
from agon.agents.languages import say_in
from agon.conf import names
from agon.errors import count
from agon.games.base import PUBLIC
from agon.games.pages import Scene, board_of, narrate, page_of
from agon.games.rating.game import Rating
from agon.games.sentences import ENGLISH, NUMBER, Say
from agon_hall import forms
from agon_hall.people import consent
from agon_hall.rules import question_text, title

HALL, GAMES = ROOT / "src/agon_hall", ROOT / "src/agon/games"
HOSTS = ("lobby.py", "monitor.py", "new_table.py")
"""Modules of pages for hosts alone, which are in English."""
TEMPLATES = [*(HALL / "templates").glob("*.html"), *GAMES.rglob("*.html")]
GERMAN = say_in("de")
SHARED = "ada bo cy nobody also am an bis die du hat in json name person so undercover was"
"""Words of both languages, names of people, and an action that stays as it is."""


def said_by(call):
    """The sentences of a call of `say`, `say.count` or `say.join`."""
    texts = [
        [
            each.value
            for each in (arg, getattr(arg, "body", None), getattr(arg, "orelse", None))
            if isinstance(each, ast.Constant)
        ]
        for arg in call.args
    ]
    match call.func:
        case ast.Name("say") | ast.Attribute(attr="say"):
            return texts[0]
        case ast.Attribute(ast.Name("say") | ast.Attribute(attr="say"), "count"):
            return [f"{{}} {count(times, noun)[2:]}" for times in (1, 2) for noun in texts[1]]
        case ast.Attribute(ast.Name("say") | ast.Attribute(attr="say"), "join"):
            return texts[1] if len(texts) > 1 else ["and"]
    return []


@cache
def sentences():
    """The sentences that pages say, and all texts of the code, which it may say too."""
    told, texts = {NUMBER, consent().words, *map(title, ALL.values())}, set()
    for path in TEMPLATES:
        for call in jinja2.Environment().parse(path.read_text(encoding="utf-8")).find_all(jinja2.nodes.Call):
            if getattr(call.node, "name", "") == "say" and isinstance(call.args[0], jinja2.nodes.Const):
                told.add(call.args[0].value)
    for path in [*HALL.glob("*.py"), *GAMES.rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(ast.Name("Refusal"), [ast.Constant(str(words)), *_]) if (
                    path.parent == HALL and path.name not in HOSTS
                ):
                    told.add(words)
                case ast.Call():
                    told.update(said_by(node))
                case ast.Constant(str(words)):
                    texts |= {words, words.replace("_", " "), f"{words} order"}
    return told, texts


def test_every_sentence_has_a_translation_and_each_translation_a_sentence():
    told, texts = sentences()
    assert told - GERMAN.words.keys() == set()
    assert GERMAN.words.keys() - told - texts == set()
    assert len(told) > 400 and "Your turn, round {}." in told


@pytest.mark.parametrize("name", names("language"))
def test_a_translation_has_the_places_and_no_sentence_twice(name):
    file = ROOT / f"conf/language/{name}.yaml"
    keys = [node.value for node, _ in yaml.compose(file.read_text(encoding="utf-8")).value]
    assert len(keys) == len(set(keys))
    assert say_in(name).number(1234.5, 2) == {"de": "1.234,50"}.get(name)


class Words(dict):
    """Translations that remember what they lack."""

    def __init__(self):
        super().__init__(GERMAN.words)
        self.lacks = set()

    def get(self, sentence, default=None):
        if sentence not in self:
            self.lacks.add(sentence)
        return super().get(sentence, default)


def drawn(game, state, view, say):
    """All that a seat's page shows of a game, as HTML."""
    scene, page = (
        Scene(view, (2.5,) * game.seats, ("Ada", "Bo", "Cy"), over=not game.to_move(state), say=say),
        page_of(game),
    )
    shown = list(board_of(scene).values())
    players = [say("you") if seat == view.seat else player for seat, player in enumerate(game.players)]
    for place, item in enumerate(view.past):
        shown.append(
            page.latest(item, players, say) if hasattr(item, "phase") else narrate(item, place, players, scene)
        )
    if view.seat != PUBLIC and view.rules is not None:
        shown.append(forms.draw(partial(page.ask, scene), {"item": "planks"}, "look", say=say))
        if not game.to_move(state):
            shown.append(page.closing(scene, game, state))
    if view.legal is not None:
        form = partial(forms.answer_form, scene)
        shown += [forms.draw(form, entries, "answer", say=say) for entries in ({}, {"answer": "7", "answer/0": "7"})]
        shown += [
            question_text(view, say),
            page.confirmation(view, view.legal.example(seat_dice(0, 1)), say),
        ]
    return "".join(f"<div>{each}</div>" for each in shown)


def pieces(html):
    """The texts of a page, each piece between marks by itself, and those that are heard alone."""
    soup = BeautifulSoup(html, "html.parser")
    heard = [tag[name] for name in ("aria-label", "placeholder") for tag in soup.find_all(attrs={name: True})]
    for option in soup.find_all(["datalist", "option"]):
        option.extract()
    return {" ".join(text.split()) for text in [*soup.stripped_strings, *heard]}


def data_of(game, state):
    """The words of a game's data: names, items, words, and what players wrote."""
    settings = getattr(game, "variant", ""), game.players, state
    named = re.findall(
        r"[a-z]+", repr([settings, getattr(game, "action_sets", ()), getattr(game, "airlines", ())]).lower()
    )
    views = [game.observe(state, seat) for seat in range(game.seats)]
    typed = [getattr(item, "value", item) for view in views for item in view.past]
    typed += [view.legal.example(seat_dice(0, 1)) for view in views if view.legal]
    named += [word for text in typed for word in re.findall("[a-z]+", str(text).lower())]
    items = getattr(getattr(game, "ruleset", None), "items", ())
    return {*named, *(word for item in items for word in item.lower().split("_"))}


@over(ALL)
def test_a_german_page_has_no_english(name):
    game, words = ALL[name], Words()
    german, dice, state = Say(words, "de"), seat_dice(4, 0), ALL[name].start(seat_dice(4, -1))
    while True:
        asked = game.to_move(state)
        data = data_of(game, state)
        for view in [*(game.observe(state, seat) for seat in range(game.seats)), game.watch(state)]:
            if isinstance(game, Rating) and view.legal is None:
                continue
            english = pieces(drawn(game, state, view, ENGLISH))
            for text in pieces(drawn(game, state, view, german)) & english:
                left = set(re.findall(r"[a-z]{2,}", text.lower())) - data - {*SHARED.split()}
                assert not left, text
        if not asked or isinstance(game, Rating):  # a rating shows the same board throughout
            break
        state, _ = game.step(state, {seat: answer(game.observe(state, seat), dice) for seat in asked})
    assert {lack for lack in words.lacks if re.search("[a-z]", lack)} - {*game.players} == set()


def test_a_number_is_written_and_read_as_the_language_does():
    assert GERMAN.number(1234.5) == "1.234,5" and GERMAN("Round {} of {}", 1000, 2000) == "Runde 1.000 von 2.000"
    assert GERMAN.count(1, "point") == "1 Punkt" and GERMAN.count(0, "point") == "0 Punkte"
    from agon.games.inputs import parse_share

    assert parse_share("33,3", GERMAN) == parse_share("33.3", GERMAN) == parse_share("33.3", ENGLISH) == 33.3
    assert parse_share("33,3", ENGLISH) is None


@pytest.mark.parametrize(
    ("sentence", "told", "fault"),
    [
        ("Round {}.", "Runde.", "with as many"),
        ("Send", "<b>Absenden</b>", "without <, > and &"),
        (NUMBER, "tausend", "must be said as that number"),
    ],
)
def test_a_translation_that_cannot_be_said_is_refused(sentence, told, fault):
    with pytest.raises(AgonError, match=fault):
        say_in("de", {sentence: told})
