"""The strict reading: one legal action and nothing else, whatever the space, and never a guess."""

from random import Random
from time import process_time
from timeit import timeit

import pytest
from games.test_conformance import ALL
from hypothesis import given
from hypothesis import strategies as st
from models.questions import questions

from agon import ROOT
from agon.agents.reads import Constrained
from agon.agents.telling import parse_reply
from agon.games import Choice
from agon.games.reading import read
from agon.games.schemas import read_answer
from agon.games.spaces import Form, Number, Offer, Text
from agon.games.strict import read_strictly
from agon.models import Answer

PD = Choice(("cooperation", "defection"))
AMOUNT, WORDS = Number(0, 20), Text(200)
SPACES = {"cooperation, defection": PD, "0 to 20": AMOUNT, "a text": WORDS}


def strict(text, legal=PD):
    """The action, after a look at the rest of the reading."""
    reading = read_strictly(text, legal)
    assert (reading.action is None) == bool(reading.fault) and "\n" not in reading.fault
    assert reading.action is None or reading.action in legal
    return reading.action


def rows_of_the_docs():
    """(space, answer, what each rule reads) of the table in docs/reading-rules.md."""
    lines = (ROOT / "docs/reading-rules.md").read_text().splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if line.startswith("|")]
    for space, answer, *readings in cells[2:]:
        told = [reading.replace("\\", "") for reading in readings]
        yield (
            SPACES[space],
            answer.strip("`").replace("⏎", "\n"),
            [None if each == "no action" else each for each in told],
        )


def test_the_docs_say_what_each_rule_reads():
    rows = list(rows_of_the_docs())
    found = [[read_strictly(answer, legal).action, read(answer, legal).action] for legal, answer, _ in rows]
    assert len(rows) > 25
    assert [[each and str(each) for each in pair] for pair in found] == [told for *_, told in rows]


@pytest.mark.parametrize(
    "text",
    [
        "[move] not cooperation",
        "[move] cooperation? No.",
        "[move] cooperation - no, defection",
        "[move] cooperation, defection",
        "[move] cooperation instead of defection",
        "[move] cooperation⟶defection",
        "[move] defection-like cooperation",
        "[move] (cooperation) (defection) cooperation",
        "[move] cooperationdefection",
        "[move] cooperation [move] cooperation",
        "[move]\ncooperation",
        "[move] 1. cooperation",
        "[move] coop",
        "I refuse to [move] cooperation",
        "Cooperation is what they expect of me, so I choose defection.",
        "[move] <cooperation|defection>",
        "[move] (cooperation",
    ],
)
def test_what_is_not_one_action_alone_is_none(text):
    assert strict(text) is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<thinking>", "</thinking>"),
        ("<THINK>", "</THINK>"),
        ("<thought>", "</thought>"),
        ("<inner_thoughts>", "</inner_thoughts>"),
        ('<reasoning effort="high">', "</reasoning>"),
        ("<antThinking>", "</antThinking>"),
        ("<seed:think>", "</seed:think>"),
        ("[THINK]", "[/THINK]"),
        ("◁think▷", "◁/think▷"),
        ("<|begin_of_thought|>", "<|end_of_thought|>"),
        ("<|thinking|>", "<|/thinking|>"),
        ("", "</thinking>"),
        ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
        ("analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
        ("<|start|>assistant<|channel|>commentary<|message|>", "<|end|><|channel|>final<|message|>"),
        ("<|channel>thought\n", "<channel|>"),
        ("```thinking", "```"),
        ("~~~~ Reasoning", "~~~~"),
        ("````thoughts\n```\nx\n```", "````"),
    ],
)
def test_thoughts_are_no_answer_in_whatever_form(before, after):
    thought = f"{before}\nThe naive line would be\n[move] cooperation\n"
    assert strict(f"{thought}{after}\nI defect.") is None
    assert strict(f"{thought}{after}\n[move] defection") == "defection"
    assert not before or strict(thought) is None
    object_ = '{"thought": "", "action": "defection"}'
    assert read_answer(f"{thought}{after}\n{object_}", PD).action == "defection"


MARKS = [
    "**{}**",
    "*{}*",
    "__{}__",
    "`{}`",
    '"{}"',
    "'{}'",
    "“{}”",
    "«{}»",
    "\u00a0{}",
    "<b>{}</b>",
    "<answer>{}</answer>",
    ": {}",
    "{}\u200b",
]
SHARES = Offer(("Ann", "Bob"))
ASKED = Form((("what", PD), ("much", AMOUNT)))
ACTIONS = [
    (PD, "defection", "defection"),
    (AMOUNT, "10", 10),
    (WORDS, "It is soft", "It is soft"),
    (SHARES, "Ann: 30, Bob: 70", (30, 70)),
    (ASKED, "what: defection; much: 10", ("defection", 10)),
]


@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize(("legal", "text", "action"), ACTIONS)
def test_marks_that_change_nothing_are_alike_in_all_spaces(legal, text, action, mark):
    assert strict("[move] " + mark.format(text), legal) == action
    assert strict(f"```\n[move] {mark.format(text)}\n```", legal) == action
    assert strict(mark.format(f"[move] {text}"), legal) == action


@pytest.mark.parametrize("number", ["10", "10.", "10.0", "$10", "€ 10", "10 €", "£10.00", "**10**", '"10"', "10.00."])
def test_a_number_is_the_same_alone_and_in_a_form_or_an_offer(number):
    assert strict(f"[move] {number}", AMOUNT) == 10
    assert strict(f"[move] what: defection; much: {number}", ASKED) == ("defection", 10)
    assert strict(f"[move] Ann: {number}, Bob: 90", SHARES) == (10, 90)


@pytest.mark.parametrize("number", ["10 points", "10.5", "ten", "1,000", "10-12", "21", "-1", "$", "10.0.0"])
def test_what_is_no_number_alone_is_none(number):
    assert strict(f"[move] {number}", AMOUNT) is None


def test_a_text_keeps_what_is_inside_it():
    assert strict('[move] "a" and "b"', WORDS) == '"a" and "b"'
    assert strict("[move] It costs $5.0. Or *more*, (so) I say", WORDS) == "It costs $5.0. Or *more*, (so) I say"


def test_the_fault_says_what_to_mend():
    faults = {
        "": "the answer is empty",
        "<thinking>[move] cooperation": "there is nothing but thoughts",
        "well": "there is no [move] tag",
        "[move] cooperation\n[MOVE] defection": "there are 2 [move] tags",
        "I never play [move] cooperation": "the [move] tag stands within a sentence",
        "<plan>[move] cooperation</plan>": "the [move] tag stands inside <plan>",
        "[move] cooperation, I think": "behind the action there is more in its line",
        "[move] hare": "after [move] there is not one legal action and nothing else in its line",
    }
    assert {text: read_strictly(text, PD).fault for text in faults} == faults


OBJECT = '{"thought": "so", "action": "defection"}'


@pytest.mark.parametrize("text", [f"```json\n{OBJECT}\n```", f"\n```\n{OBJECT}\n```\n", f"~~~\n{OBJECT}\n~~~", OBJECT])
def test_an_object_in_one_fence_is_read(text):
    assert read_answer(text, PD) == ("defection", "", "so")


def test_fences_with_more_beside_them_are_named():
    fault = "the answer is not one whole JSON object: it must not have words or a second block beside its code fence"
    for text in (f"Here:\n```json\n{OBJECT}\n```", f"```\n{OBJECT}\n```\n```\n{OBJECT}\n```"):
        assert read_answer(text, PD)[:2] == (None, fault)
    before = read_answer(f"```json\n{OBJECT}\n```", PD, strict=False)
    assert before == (None, "the answer is not one whole JSON object", "")


def test_the_rule_of_the_recording_comes_before_the_agents():
    answer = Answer(f"```json\n{OBJECT}\n```")
    assert [Constrained().read(answer, PD, None, rule).action for rule in ("strict", "as_done")] == ["defection", None]


def test_an_answer_to_a_text_environment_is_an_action_and_nothing_else():
    answers = [
        "cooperation",
        "**Cooperation.**",
        "[move] cooperation",
        "Cooperation is expected of me.",
        "cooperation\ndefection",
    ]
    assert [parse_reply(each, PD).action for each in answers] == ["cooperation"] * 3 + [None] * 2
    assert parse_reply("<think>defection</think>cooperation", PD).action == "cooperation"
    assert parse_reply("Cooperation is expected of me.", PD).fault == "there is no [move] tag"


@pytest.mark.parametrize("name", ALL)
def test_every_question_of_every_game_reads_what_it_writes(name):
    for place, request in questions(name, "free").items():
        space = request.view.legal
        for seed in range(5):
            answer = f"So.\n[move] {space.format(space.example(Random(seed)))}\n"
            assert strict(answer, space) == read(answer, space).action is not None, place


LABEL = st.text(st.characters(exclude_categories=["C", "Z", "P", "S"]), min_size=1, max_size=8)


@given(
    st.lists(LABEL, min_size=2, max_size=4, unique_by=str.casefold),
    st.sampled_from(["", " ", "/", ", ", " or ", " not "]),
)
def test_two_labels_are_never_one_action(labels, between):
    legal, text = Choice(tuple(labels)), f"[move] {labels[0]}{between}{labels[1]}"
    assert strict(text, legal) in (
        None,
        *(label for label in labels if f"[move] {label}".casefold() == text.casefold()),
    )


@given(
    st.text()
    | st.lists(
        st.sampled_from(
            ["[move]", " cooperation", "<think>", "</b>", "(", ")", "\n", "**", "<|channel|>", "final", "```", "."]
        )
    ).map("".join)
)
def test_any_text_gives_a_legal_action_or_a_fault(text):
    for legal in (PD, AMOUNT, WORDS, SHARES, ASKED):
        strict(text, legal)


@pytest.mark.parametrize(
    "piece",
    ["[", "(", "<think>", "<a>", "</a>", "<|channel|>", "[move] ", "*", '"', "```\n", "```think\n", ". ", "<a ", "x"],
)
def test_a_million_characters_are_read_in_a_few_seconds(piece):
    many = piece * (10**6 // len(piece))
    for text in (many, f"[move] ({many}", f"[move] {many}", f"{many}[move] cooperation"):
        assert timeit(lambda text=text: read_strictly(text, PD), timer=process_time, number=1) < 4, text[:40]
