"""Actions as constrained JSON: every legal action fits its schema and reads back to itself, and what fits is legal."""

import json
from functools import cache

import pytest
from harness import GAMES
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from models.questions import questions
from test_conformance import ALL
from test_spaces import SPACES, Pair, forms, names, one_line

from agon.agents import seat_dice
from agon.agents.pgm.suspicion import Suspicions
from agon.agents.reads import Called
from agon.games import spaces
from agon.games.rating.game import Ratings
from agon.games.schemas import (
    answer_schema,
    describe_schema,
    find_mismatch,
    keys,
    limit_texts,
    read_answer,
    read_call,
    write_answer,
    write_call,
)
from agon.games.spaces import Choice, Form, Number, Offer, Text
from agon.loop import start_match

SHORT = {"way": "constrained", "thought": 0}
HARD = ["yes", "yes, but", 'say "no"', "no\\n", "ß", "SS", "猪", "🦌", "{}", "[move] yes", " a", ""]
"""Labels that begin with another, quote, escape, or are the same to who does not look closely."""
EVERY = [*SPACES, Choice(tuple(HARD)), Number(0, 5000), Suspicions(("A", "B", "C"))]
EVERY += [Number(0, 50_000, 7), Ratings(2, ("Player 1", "Player 2")), Ratings(1, ("a b", "a_b"), orders=True), Pair()]
tried = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def offers(of):
    """An offer of these names, and shares that sum to its total, with up to six decimals."""
    return st.lists(st.integers(0, 10**9), min_size=len(of), max_size=len(of)).map(
        lambda parts: (Offer(of, max(1, sum(parts)) / 10**6), tuple(part / 10**6 for part in parts))
    )


leaves = st.one_of(
    names.flatmap(lambda of: st.tuples(st.just(Choice(of)), st.sampled_from(of))),
    st.integers().map(lambda number: (Number(number - 7, number + 7, 7), number)),
    st.integers(0, 10**6).map(lambda place: (Number(-3, 10**9, 5), 5 * place - 3)),
    one_line.map(lambda text: (Text(99), text)),
    names.flatmap(offers),
)


def fits(value, schema):
    """Whether a value fits, as our check and jsonschema agree."""
    own, theirs = not find_mismatch(value, schema), Draft202012Validator(schema).is_valid(value)
    assert own == theirs or (own < theirs and "integer" in json.dumps(schema)), (
        value,
        schema,
    )  # theirs takes 1.0 for 1
    return own


def through(space, action, thought="because"):
    """An action, written as a model would, and what is read of it."""
    return read_answer(write_answer(space.encode(action), thought), space)


def seen(game, steps=40):
    """Spaces that a game of random actions asks for."""
    match, (_, views, _), dice = start_match(game, 5)
    for _ in range(steps):
        if not views:
            return
        yield from [view.legal for view in views.values()]
        _, views, _ = match.send({seat: view.legal.example(dice[seat]) for seat, view in views.items()})


@cache
def met(name):
    """Spaces of a game, those that its agents make for roles and beliefs included; one of each kind of question."""
    return [request.view.legal for request in questions(name, SHORT).values()]


def fitting(schema):
    """Any value that fits a schema of agon.games.schemas."""
    if "anyOf" in schema:
        return st.one_of(map(fitting, schema["anyOf"]))
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if schema["type"] == "object":
        return st.fixed_dictionaries({name: fitting(part) for name, part in schema["properties"].items()})
    if schema["type"] == "integer":
        return st.integers(schema["minimum"], schema["maximum"])
    if schema["type"] == "boolean":
        return st.booleans()
    if "pattern" in schema:
        return st.from_regex(schema["pattern"], fullmatch=True, alphabet="0123456789./")
    return st.text(st.characters(codec="utf-8"), min_size=schema.get("minLength", 0), max_size=schema["maxLength"])


def blank(value, schema):
    """Whether there is a text in a value that must not be blank, and is: this alone a schema cannot say."""
    if "anyOf" in schema:
        return any(blank(value, each) for each in schema["anyOf"] if not find_mismatch(value, each))
    if schema.get("type") == "object":
        return any(blank(value[name], part) for name, part in schema["properties"].items())
    return bool(schema.get("minLength")) and not spaces.one_line(value)


def close(one, other):
    """Whether two actions are the same, but for decimals after the sixth."""
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(close, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(close(one[name], other[name]) for name in one)
    return one == pytest.approx(other, abs=2e-6) if float in (type(one), type(other)) else one == other


@settings(max_examples=400)
@given(space=st.sampled_from(EVERY), seed=st.integers(0, 2**32))
def test_a_legal_action_fits_its_schema_and_reads_back_to_itself(space, seed):
    action = space.example(seat_dice(seed, 0))
    assert fits(space.encode(action), space.schema())
    reading = through(space, action)
    assert close(reading.action, action) and reading.action in space and reading.note == "because"


def test_every_question_of_every_game_has_a_schema():
    for space in [space for game in ALL.values() for space in seen(game)]:
        action = space.example(seat_dice(1, 0))
        assert fits(space.encode(action), space.schema()) and close(through(space, action).action, action)
        assert describe_schema(space.schema()) and json.loads(json.dumps(space.schema())) == space.schema()


def accepted(space, data):
    """Draws a value that fits a space's schema: whether it is read as a legal action, which is read back as itself."""
    schema = space.schema()
    value = data.draw(fitting(schema))
    assert fits(value, schema)
    reading = read_answer(write_answer(value, "because"), space)
    if blank(value, schema):
        return reading.fault == '"action" is not a legal one'
    assert reading.fault == "" and reading.action in space
    return fits(space.encode(reading.action), schema) and close(through(space, reading.action).action, reading.action)


@settings(tried, max_examples=500)
@given(space=st.sampled_from([space for space in EVERY if type(space) is not Pair]), data=st.data())
def test_whatever_fits_is_read_as_a_legal_action(space, data):
    assert accepted(space, data)


@pytest.mark.parametrize("name", ALL)
@tried
@given(data=st.data())
def test_whatever_fits_in_a_game_is_read_as_a_legal_action(name, data):
    assert accepted(data.draw(st.sampled_from(met(name))), data)


def test_an_offer_of_any_total_is_scaled_to_no_more_than_it():
    assert read_answer(write_answer({"0": "200050"}), Offer(("0",), 0.047239)).action == (0.047239,)


@tried
@given(st.data(), st.recursive(leaves, forms, max_leaves=5))
def test_whatever_fits_any_form_of_any_labels_is_read_as_a_legal_action(data, asked):
    assert accepted(asked[0], data)


@tried
@given(st.recursive(leaves, forms, max_leaves=5))
def test_whatever_is_legal_can_be_said_and_is_read_back(asked):
    space, action = asked
    assert action in space and fits(space.encode(action), space.schema())
    assert close(through(space, action).action, action)


def test_the_schema_of_a_finite_space_accepts_only_its_actions():
    spaces = [space for space in EVERY if space.enumerate() is not None]
    values = [*HARD, "x", "Yes", "yes,", -7, 0, 5, 7, 5001, 1.0, True, None, [], {}, "0"]
    assert len(spaces) > 3
    for space in spaces:
        every = space.enumerate()
        assert [through(space, action).action for action in every[:600]] == list(every[:600])
        assert all(action in space for action in every[:600]) and len(set(every)) == len(every)
        for value in [value for value in values if fits(value, space.schema())]:
            assert read_answer(write_answer(value), space).action in space


@given(st.data(), names.filter(all))
def test_any_labels_are_told_apart(data, labels):
    space, wrong = Choice(labels), data.draw(st.text())
    assert [through(space, label).action for label in labels] == list(labels)
    assert (read_answer(write_answer(wrong), space).action is not None) == (wrong in labels)


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=5), names)
def test_shares_of_any_sum_are_read_in_proportion(parts, labels):
    space = Offer(labels)
    shares = [parts[place % len(parts)] for place in range(len(labels))]
    action = read_answer(write_answer(dict(zip(keys(labels), map(str, shares), strict=True))), space).action
    assert action in space
    if any(shares) and action != tuple(shares):
        assert [share * sum(shares) for share in action] == pytest.approx([100 * share for share in shares], abs=1e-3)


@given(st.lists(st.text(), min_size=1, max_size=6, unique=True))
def test_keys_are_different_and_plain(given_names):
    found = keys(given_names)
    assert len(set(found)) == len(found) == len(given_names)
    assert all(key.isascii() and 0 < len(key) <= 64 for key in found)


@settings(max_examples=100)
@given(names, one_line)
def test_a_form_with_any_questions_reads_back(questions, text):
    space = Form((*((name, Choice(("a", "ab"))) for name in questions), ("why", Text(99))))
    assert through(space, (*["ab"] * len(questions), text)).action == (*["ab"] * len(questions), text)


def test_what_is_no_answer_is_no_action_and_says_why():
    legal = next(seen(GAMES["pd"]))
    cases = [
        ("", "the answer is empty"),
        ("cooperation", "the answer is not one whole JSON object"),
        ('{"thought": "so", "action": "coop', "the answer is not one whole JSON object"),
        ('{"action": "cooperation", "action": "defection"}', "the answer is not one whole JSON object"),
        ('{"thought": "so"}', 'there is no "action" in the answer'),
        ('["cooperation"]', 'there is no "action" in the answer'),
        ('{"action": "Cooperation"}', '"action": it must be one of "cooperation", "defection"'),
        ('{"action": ["cooperation"]}', '"action": it must be one of "cooperation", "defection"'),
        ("[" * 100_000, "the answer is not one whole JSON object"),
    ]
    for text, fault in cases:
        assert read_answer(text, legal)[:2] == (None, fault)


def test_thinking_before_an_answer_is_no_part_of_it():
    legal = next(seen(GAMES["pd"]))
    assert read_answer('<think>{"action": 1}</think> {"action": "defection"}', legal).action == "defection"


def test_a_blank_text_fits_no_space():
    assert read_answer(write_answer(" \n"), Text(9)).fault == '"action" is not a legal one'


def test_half_a_surrogate_pair_can_be_written_down():
    assert read_answer(r'{"action": "so \ud83d"}', Text(9)).action == "so ?"


def test_texts_of_an_action_can_be_kept_short():
    def longest(schema):
        inner = [*schema.get("anyOf", ()), *schema.get("properties", {}).values()]
        return max([schema.get("maxLength", 0), *map(longest, inner)])

    for space in [space for game in ALL.values() for space in seen(game)]:
        whole, short = space.schema(), limit_texts(space.schema(), 20)
        assert longest(short) == min(longest(whole), 20) and limit_texts(whole, 10**6) == whole


def test_an_answer_reasons_first_where_it_may():
    schema = answer_schema(Choice(("a", "b")).schema(), 80)
    assert list(schema["properties"]) == ["thought", "action"] and schema["required"] == ["thought", "action"]
    assert list(answer_schema(Choice(("a", "b")).schema(), 0)["properties"]) == ["action"]


def test_a_schema_is_described_in_words():
    for space, words in [
        (Choice(("a", "b")), 'one of "a", "b"'),
        (Number(0, 100), "a whole number from 0 to 100"),
        (Number(5, 50, 15), "a whole number from 5 to 50 in steps of 15"),
        (Number(0, 9999), "a whole number from 0 to 9999"),
        (Text(9), "a text of at most 9 characters"),
        (Form((("who am I", Choice(("a",))),)), 'an object with\n- "who_am_I": "a"'),
    ]:
        assert describe_schema(space.schema()) == words


@tried
@given(data=st.data())
def test_whatever_fits_a_tool_is_read_as_a_legal_call_of_it(data):
    space = data.draw(st.sampled_from(met("tradecraft")))
    tools = Called().request_fields(space)["tools"]
    name = data.draw(st.sampled_from(sorted(tools)))
    given = data.draw(fitting(tools[name]))
    reading = read_call(write_call("So.", name, json.dumps(given)), space)
    assert fits(given, tools[name]) and reading.fault == "" and reading.action in space
    assert name.startswith(reading.action["tool"]) and reading.action["tool"] in space.tools
    assert reading.note == f"So.\n{given['thought']}".strip()


def test_what_is_no_call_of_one_tool_is_refused_in_words():
    space = next(space for space in met("tradecraft") if "craft_done" in space.tools)
    for text, fault in [
        ("I would rather talk.", "no tool is called; there are item_info, "),
        (write_call("", "fly", {}), "it is none of the "),
        (write_call("", "craft_done", {"times": 1}), "it is none of the "),
        ("craft_done({})\ncraft_done({})", "no tool is called"),
    ]:
        reading = read_call(text, space)
        assert reading.action is None and fault in reading.fault


def test_games_without_tools_are_refused():
    assert met("pd")
    for space in met("pd"):
        assert Called().fault(space) == "its actions are not calls of tools: choose an agent with reads: constrained"
