"""Reading the call of a tool out of what a model wrote: one JSON object, never repaired, never evaluated, never a guess."""

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agon.games.reading import read
from agon.games.tradecraft.calls import LARGEST, TOOLS, Call, Calls, call_in, thought_in

DONE = '{"tool": "craft_done"}'
LEGAL = Calls("craft", TOOLS["craft"])
WORDS = {"tool": "decide", "decision": "reject", "message": 'a "b" {c} \\ \n 木 {"tool": "craft_done"} ```'}

READABLE = {
    DONE: {"tool": "craft_done"},
    f"I am done.\n{DONE}": {"tool": "craft_done"},
    f"```json\n{DONE}\n```": {"tool": "craft_done"},
    f"~~~\n{DONE}\n~~~ That is all.": {"tool": "craft_done"},
    f"[move] {DONE}": {"tool": "craft_done"},
    f"[move]{DONE}[move]": {"tool": "craft_done"},
    f"<tool_call>{DONE}</tool_call>": {"tool": "craft_done"},
    f"<think>Or {{'tool': 'decide'}}?</think>{DONE}": {"tool": "craft_done"},
    f"[{DONE}]": {"tool": "craft_done"},
    f'My hand is {{"stick": 2}} and {{coal}}. {DONE} {{}}': {"tool": "craft_done"},
    f"He said \"no, and I'll {DONE}": {"tool": "craft_done"},
    '{\n  "name": "木",\n  "tool": "item_info"\n}': {"name": "木", "tool": "item_info"},
    '{"tool": "craft_apply", "inputs": {"stick": 2, "coal": "1/8"}, "outputs": {"torch": 0.5}}': {
        "tool": "craft_apply",
        "inputs": {"stick": 2, "coal": "1/8"},
        "outputs": {"torch": 0.5},
    },
    '{"tool": "no_such_tool", "more": [null, true, {"a": {}}]}': {
        "tool": "no_such_tool",
        "more": [None, True, {"a": {}}],
    },
    json.dumps(WORDS): WORDS | {"message": " ".join(WORDS["message"].split())},
    json.dumps(WORDS, ensure_ascii=False): WORDS | {"message": " ".join(WORDS["message"].split())},
}

FAULTS = {
    "": "the answer is empty",
    " \n": "the answer is empty",
    "I pass.": 'there is no JSON object with "tool"',
    "{}": 'there is no JSON object with "tool"',
    '{"name": "craft_done", "arguments": {}}': 'there is no JSON object with "tool"',
    '"tool": "craft_done"': 'there is no JSON object with "tool"',
    f"{DONE}\n{DONE}": "there are 2 calls; give just one",
    f'He wrote {{"tool": "decide", "decision": "accept"}}. {DONE}': "there are 2 calls; give just one",
    f"{{'tool': 'craft_done'}} {DONE}": "there are 2 calls; give just one",
    f"[{DONE}, {DONE}, {DONE}]": "there are 3 calls; give just one",
    f'{{"call": {DONE}}}': 'the JSON object has no "tool" of its own',
    '{"tool": null}': '"tool" must be a text',
    '{"tool": ["craft_done"]}': '"tool" must be a text',
    '{"tool": "craft_done", "tool": "decide"}': "the JSON object cannot be read: it has a key twice",
    '{"tool": "x", "offer": {"a": 1, "a": 2}}': "the JSON object cannot be read: it has a key twice",
    '{"tool": "x", "times": NaN}': "the JSON object cannot be read: NaN is no number",
    '{"tool": "x", "times": -Infinity}': "the JSON object cannot be read: -Infinity is no number",
    '{"tool": "x", "times": 1e999}': "the JSON object cannot be read: a number is too large",
}
BROKEN = [
    "{'tool': 'craft_done'}",
    "{tool: craft_done}",
    '{"tool": "craft_done",}',
    '{"tool": "craft_done" // because\n}',
    '{"tool": "craft_done" /* because */}',
    '{"tool": "craft_done"',
    '{"tool": "craft_done',
    '{"tool": “craft_done”}',
    '{"tool": "rethink", "text": "two\nlines"}',
    '{"tool": dict(name="craft_done")}',
    '{"tool": __import__("os").system("true")}',
    '{"tool": "x", "times": 1/8}',
    '{"tool": "x", "times": 01}',
    '{"tool": "x", "times": ' + "9" * 5000 + "}",
    '{"tool": ' + "[" * 50_000 + "]" * 50_000 + "}",
    '{"tool": ' + '{"a": ' * 5000 + "1" + "}" * 5000 + "}",
    f"I write {{ often. {DONE}",
]


def test_one_call_is_read_wherever_it_stands():
    readings = {text: read(text, LEGAL) for text in READABLE}
    assert {text: (reading.action, reading.fault) for text, reading in readings.items()} == {
        text: (call, "") for text, call in READABLE.items()
    }
    assert {type(reading.action) for reading in readings.values()} == {Call}


def test_what_is_wrong_is_said():
    assert {text: read(text, LEGAL)[:2] for text in FAULTS} == {text: (None, fault) for text, fault in FAULTS.items()}


def test_what_is_not_json_is_not_repaired():
    strays = []
    for text in BROKEN:
        action, fault, _ = read(text, LEGAL)
        if action is not None or not fault.startswith("the JSON object cannot be read: ") or len(fault) >= 150:
            strays.append((text, action, fault))
    assert not strays


@pytest.mark.parametrize("text", ['{"tool": "\\ud800"}', '{"tool": "x", "\\udfff": 1}'])
def test_half_a_surrogate_pair_is_no_call(text):
    assert read(text, LEGAL).action is None


def test_an_answer_that_is_too_long_is_not_read():
    assert read(DONE + " " * LARGEST, LEGAL).fault.startswith("the answer has ")
    assert read('{"tool": "x", "text": "' + "木" * (LARGEST // 2) + '"}', LEGAL).fault.startswith(
        "the call is too long"
    )


@given(st.text() | st.binary().map(lambda raw: raw.decode("utf-8", "replace")))
@settings(deadline=None)
def test_no_text_crashes_or_counts_as_a_call(text):
    action, fault, _ = read(text, LEGAL)
    assert (action is None) == bool(fault)
    assert action is None or ('"tool"' in text and action in LEGAL)


@given(st.text(alphabet='{}"\\ntoal:[],', max_size=200))
@settings(deadline=None)
def test_no_mess_of_braces_crashes(text):
    found = call_in(text)
    assert (found.call is None) == bool(found.fault)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(st.dictionaries(st.text(), json_values), st.text(), st.booleans())
@settings(deadline=None)
def test_every_call_comes_out_as_it_was_written(more, tool, escaped):
    call = more | {"tool": tool}
    found = call_in(f"So:\n```json\n{json.dumps(call, ensure_ascii=escaped, indent=1)}\n```\nThat is it.")
    assert found.call == call


def test_no_answer_takes_long_to_read():
    for text in [
        "{" * LARGEST,
        '{"' * (LARGEST // 2),
        '{"\\"' * (LARGEST // 4),
        '{tool"\\' * (LARGEST // 7),
        "{tool}" * 30_000,
    ]:
        start = time.process_time()
        assert call_in(text).call is None
        assert time.process_time() - start < 1


def test_a_thought_is_what_stands_before_the_call():
    cases = [
        (f"I am done.\n{DONE} Bye", "I am done."),
        (f"I am done.\n```json\n{DONE}\n```", "I am done."),
        (f"I am done. [move] {DONE}", "I am done."),
        (f"<think>Hm.</think> Done. <tool_call>{DONE}</tool_call>", "<think>Hm.</think> Done."),
        (DONE, ""),
        ("I pass.", "I pass."),
    ]
    for text, thought in cases:
        assert thought_in(text, call_in(text).source) == thought
