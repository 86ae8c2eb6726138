"""Action spaces: what they hold, what they draw, and what they look like in the records."""

import json
import pickle
from math import inf, nan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agon.agents import seat_dice
from agon.games import spaces
from agon.games.reading import read
from agon.games.schemas import read_answer, write_answer
from agon.games.spaces import Choice, Form, Number, Offer, Space, Text

SPACES = [
    Choice(("stag", "hare")),
    Number(0, 100),
    Number(5, 50, 5),
    Text(20),
    Text(1),
    Offer(("A", "B", "C")),
    Offer(("A", "B"), 10, None),
    Form((("who", Choice(("a", "b"))), ("word", Text(9)), ("points", Number(1, 3)))),
]
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@settings(max_examples=240)
@given(space=st.sampled_from(SPACES), seed=st.integers(0, 2**32))
def test_an_example_is_legal_and_stays_so_through_json(space, seed):
    action = space.example(seat_dice(seed, 0))
    assert action in space and json.loads(json.dumps(action)) in space and hash(action) is not None


def test_a_space_is_plain_data_in_the_records_and_a_copy_is_the_same():
    for space in SPACES:
        copy = pickle.loads(pickle.dumps(space))
        assert json.loads(json.dumps(space.as_json())) == space.as_json() == copy.as_json()
        assert space.example(seat_dice(1, 0)) in copy


@settings(max_examples=480)
@given(space=st.sampled_from(SPACES), action=anything)
def test_any_json_value_is_legal_or_not_without_an_error(space, action):
    assert (action in space) in (True, False)
    assert None not in space and {} not in space and b"stag" not in space


def legal(space, actions):
    """Those of `actions` that the space has."""
    return [action for action in actions if action in space]


def test_a_number_is_whole_and_within_its_bounds():
    assert legal(Number(0, 100), [-1, 101, 1.0, True, "5", [5], inf, 10**400]) == []


def test_a_number_is_on_a_step():
    assert [n for n in range(-5, 60) if n in Number(5, 50, 15)] == [5, 20, 35, 50]


def test_a_text_is_not_blank_not_too_long_and_can_be_written():
    assert legal(Text(20), ["", "  ", "x" * 21, "\ud800", 7, ["x"], "é 😀", "a  b"]) == ["é 😀", "a  b"]


SEPARATORS = ["\n", "\r\n", "\r", "\v", "\f", "\x1c", "\x85", "\u2028", "\u2029", "\t"]
HIDDEN = [
    "\u202e",
    "\u202d",
    "\u2066",
    "\u2069",
    "\u200f",
    "\u061c",
    "\u200b",
    "\ufeff",
    "\x00",
    "\x1b",
    "\x7f",
    "\U000e0041",
]


@pytest.mark.parametrize("mark", SEPARATORS + HIDDEN, ids=ascii)
def test_a_text_is_one_line_for_every_way_of_reading(mark):
    """The answers of a free, of a constrained and of a form's reading, and what the space itself takes."""
    space, line = Text(40), "a b" if mark in SEPARATORS else "ab"
    constrained = read_answer(write_answer(f"a{mark}b"), space).action
    assert constrained == space.format(f"a{mark}b") == line
    if "\n" not in mark:  # here the free line ends
        assert read(f"[move] a{mark}b", space).action == line
    form = Form((("word", space), ("more", space)))
    assert read(f"[move] {json.dumps(['a' + mark + 'b', 'c'])}", form).action == (line, "c")
    assert read_answer(write_answer({"word": f"a{mark}b", "more": "c"}), form).action == (line, "c")
    assert line in space and f"a{mark}b" not in space and mark not in space
    assert read_answer(write_answer(mark), space).fault == '"action" is not a legal one'


def test_an_offer_is_a_share_for_each_that_sum_to_the_total():
    others = [(40, 30, 31), (50, 50), (120, -20, 0), (nan, 50, 50), (inf, 0, 0), (True, 49, 50), ("40", 30, 30)]
    assert legal(Offer(("A", "B", "C")), [*others, 100, 10**400]) == []


def test_an_offer_may_miss_the_total_by_the_tolerance():
    shares = [(40, 30, 30), [33.3, 33.3, 33.3], (100, 0, 0), (40.2, 30.2, 30)]
    assert legal(Offer(("A", "B", "C")), shares) == shares


def test_an_offer_whose_sum_is_not_checked_may_sum_to_anything():
    assert (90, 90, 90) in Offer(("A", "B", "C"), tolerance=None)


def test_a_form_has_a_legal_answer_to_every_question():
    others = [("a", "x"), ("a", "x", 4), ("c", "x", 1), "ax1", ("a", "x", 1, 1)]
    assert legal(SPACES[-1], [*others, ["a", "x", 1]]) == [["a", "x", 1]]


words = st.text(st.characters(codec="utf-8"), min_size=1, max_size=9).map(lambda each: spaces.one_line(each) or "x")
one_line = words | st.sampled_from(["b", "a; b: 1; b: 2", "x; B: y", '["q", 1]', "ß; c: ss", "a: b"])
names = st.lists(words | st.sampled_from("abc"), min_size=1, max_size=4, unique_by=str.casefold).map(tuple)
amounts = st.floats(0, allow_infinity=False) | st.integers(0, 2**53)


def offers(of):
    shares = st.tuples(*[amounts] * len(of))
    return st.tuples(st.builds(Offer, st.just(of), st.just(inf), st.none()), shares)


leaves = st.one_of(
    names.flatmap(lambda of: st.tuples(st.just(Choice(of)), st.sampled_from(of))),
    st.integers().map(lambda number: (Number(number - 7, number + 7, 7), number)),
    one_line.map(lambda text: (Text(99), text)),
    names.flatmap(offers),
)


@st.composite
def forms(draw, inner):
    """A form of one to three parts, and an answer to it."""
    of = draw(names)
    parts = [draw(inner) for _ in of]
    return Form(tuple((name, space) for name, (space, _) in zip(of, parts, strict=True))), tuple(a for _, a in parts)


@settings(max_examples=300, deadline=None)
@given(st.recursive(leaves, forms, max_leaves=4))
def test_every_action_is_read_back_as_it_is_written(asked):
    space, action = asked
    assert action in space
    assert "\n" not in space.format(action) and space.parse(space.format(action)) == action


class Pair(Space):
    """A space of a reader's own that says only what it must."""

    def __contains__(self, action):
        return action in ((1, 3), (3, 1))

    def as_json(self):
        return {"pair": 4}

    def example(self, dice):
        return dice.choice(((1, 3), (3, 1)))


def test_a_space_of_ones_own_is_written_and_read_as_json():
    assert read(f"[move] {Pair().format((1, 3))}", Pair()).action == (1, 3)
    for text in ["", "[1, 3", "[1, 4]", "NaN", "[1, NaN]", "[" * 100_000, "1 and 3"]:
        assert read(f"[move] {text}", Pair()).action is None, text[:20]


def test_a_text_that_holds_the_name_of_the_next_part_is_written_as_json():
    form = Form((("word", Text(99)), ("points", Number(1, 3))))
    cases = [
        ("word: a; points: 3; points: 2", None),
        ("word: STRASSE ß ß; POINTS: 3", ("STRASSE ß ß", 3)),
        ("word: x; points: 3; points", None),
        ("points: 3; word: x", None),
        ('["x; points: 3", 2]', ("x; points: 3", 2)),
        ("3", None),
    ]
    assert [(text, form.parse(text)) for text, _ in cases] == cases


def test_what_can_be_read_in_two_ways_is_not_read():
    form = Form((("a", Text(9)), ("b", Text(9))))
    assert form.parse("a: x; b: y; b: z") is None
    assert form.format(("x; b: y", "z")) == '["x; b: y", "z"]' and form.format(("x", "y")) == "a: x; b: y"
