"""Reading an answer: the protocol case by case, any text at all, and every decision of the recorded games."""

import os
import tarfile
from collections import Counter
from pathlib import Path
from time import process_time
from timeit import repeat, timeit

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from zstandard import ZstdDecompressor

from agon import ROOT
from agon.games import Choice
from agon.games.reading import read

RPS = Choice(("rock", "paper", "scissors"))
STREET = Choice(("Straße", "ÇA", "go", "go left", "A+", "A", "(b)", "[c]", "A1", "石"))


def action(text: str, legal: Choice = RPS, last: bool = False) -> str | None:
    """What is read, after a look at the rest of the reading."""
    found = read(text, legal, last)
    assert (found.action is None) == bool(found.fault)
    assert "\n" not in found.fault
    assert found.action is None or found.action in legal
    return found.action


MESSAGES = [
    "[move] rock",
    "[move] (it wins) rock",
    "[move] (it wins) ROCK\n",
    "[move] Rock.",
    "I think so.\n\n[move] (over\ntwo lines) rock\n\nPaper and scissors are worse.",
    "**[move] (it wins) rock**",
    "```\n[move] rock\n```",
    "`[move] rock`",
    "[move] (an open ( is no second one) rock",
    "[move] (paper, not [yet scissors) rock",
    "[move] (why) rock(et)",
    "[move] rock_",
    "[move] ( ) rock",
    "(b) [move] rock (or paper)",
    "\u200b[move] rock\u200b",
    "[move] (é → ü, 石) rock",
    "<think>[move] paper, or [move] scissors?</think>\n[move] rock",
    "maybe [move] paper\n</think>\n\n[move] rock",
    "<think>a</think><think>[b]</think>[move] rock",
    "[move] rock <think>[move] paper",
]


def test_one_move_message_is_read():
    for last in (False, True):
        assert [text for text in MESSAGES if action(text, last=last) != "rock"] == []


STRAYS = [
    ("", "the answer is empty"),
    (" \n", "the answer is empty"),
    ("<think>[move] rock", "the answer is empty"),
    ("<think>[move] rock</think>", "the answer is empty"),
    ("I would rather not play.", "there is no [move] tag"),
    ("rock", "there is no [move] tag"),
    ("(move) rock", "there is no [move] tag"),
    ("[ move ] rock", "there is no [move] tag"),
    ("[m\u043eve] rock", "there is no [move] tag"),  # a Cyrillic o
    ("[move rock", "there is no [move] tag"),
    ("[]", "there is no [move] tag"),
    ("[hint] rock", "there is no [move] tag"),
    ("[MOVE] rock", "the tag [move] is not in small letters"),
    ("see [1 or [move] rock", "a square bracket before the [move] tag is not closed"),
    ("[move] rock [move] rock", "there are 2 [move] tags"),
    ("[move] rock [Move] paper [move] rock", "there are 3 [move] tags"),
    ("[move] rock [/move]", "besides [move] there is something else in square brackets"),
    ("[hint] Your turn.\n[move] rock", "besides [move] there is something else in square brackets"),
    ("[move] (after [rock, paper]) rock", "besides [move] there is something else in square brackets"),
    ("[move] (it (rock) wins) rock", "there are parentheses inside the explanation's"),
    ("[move] (it wins, rock", "the explanation's parenthesis is not closed"),
    ("[move] () rock", "the explanation's parentheses are empty"),
    ("[move]rock", "after the tag there is not a space"),
    ("[move]\nrock", "after the tag there is not a space"),
    ("[move]: rock", "after the tag there is not a space"),
    ("**[move]** (it wins) rock", "after the tag there is not a space"),
    ("[move] (it wins)rock", "after the explanation there is not a space"),
    ("[move] (it wins)\nrock", "after the explanation there is not a space"),
    ("[move]  rock", "between the tag and the action there is not just one space"),
    ("[move] `rock`", "between the tag and the action there is not just one space"),
    ('[move] (it wins) "rock"', "between the explanation and the action there is not just one space"),
    ("[move] (it wins) \u200brock", "between the explanation and the action there is not just one space"),
    ("[move]", "after the tag there is no valid action"),
    ("[move] I choose rock", "after the tag there is no valid action"),
    ("[move] lizard", "after the tag there is no valid action"),
    ("[move] r\u043eck", "after the tag there is no valid action"),
    ("[move] r\u200bock", "after the tag there is no valid action"),
    ("[move] rocket", "after the tag there is no valid action"),
    ("[move] bedrock", "after the tag there is no valid action"),
    ("[move] rock2", "after the tag there is no valid action"),
    ("[move] (it wins)", "after the explanation there is no valid action"),
    ("[move] (it wins) (surely) rock", "after the explanation there is no valid action"),
]


def test_a_stray_answer_has_no_action_but_a_fault():
    assert [text for text, _ in STRAYS if action(text) is not None] == []
    assert [(text, read(text, RPS).fault) for text, _ in STRAYS] == STRAYS


def test_the_explanation_is_kept():
    assert read("[move] ( Any (thing,\nat all. ) rock", RPS) == ("rock", "", "Any (thing,\nat all.")
    assert read("[move] rock (it wins)", RPS).note == ""


def test_any_labels_can_be_read():
    cases = [
        ("STRASSE", "Straße"),
        ("straße!", "Straße"),
        ("strasse", "Straße"),
        ("c\u0327a", "ÇA"),  # the cedilla as a character of its own
        ("go", "go"),
        ("go left", "go left"),
        ("Go right", "go"),
        ("going", None),
        ("a", "A"),
        ("A+", "A+"),
        ("a1", "A1"),
        ("A12", None),
        ("At last", None),
        ("A\u0301", None),
        ("(b)", "(b)"),
        ("(because) (B)", "(b)"),
        ("b", None),
        ("[c]", "[c]"),
        ("(not [this]) [C]", "[c]"),
        ("石。", "石"),
    ]
    assert [(answer, action(f"[move] {answer}", STREET)) for answer, _ in cases] == cases


def test_case_counts_where_labels_differ_in_nothing_else():
    both = Choice(("a", "A", "b"))
    assert [action(f"[move] {answer}", both) for answer in ("a", "A", "b", "B")] == ["a", "A", "b", None]


def test_nothing_is_read_where_nothing_can_be_chosen():
    assert action("[move] rock", Choice(())) is None
    assert action("[move] rock", Choice(("",))) is None


def test_the_last_answer_counts_for_its_first_complete_message():
    cases = [
        ("[move] rock\n[hint] You lost.\n[move] paper", "rock"),
        ("[move] Let me see.\n[move] (now) paper\n[move] rock", "paper"),
        ("[move] (not yet)\n[MOVE] (now) paper", "paper"),
        ("[move] (not [yet] [move] (now) paper", "paper"),
        ("[1] [move] (now [then]) paper", "paper"),
        ("[move] (one (two)) paper [move] `rock`", None),
        ("[abort]", None),
    ]
    assert [text for text, _ in cases if action(text) is not None] == []
    assert [(text, action(text, last=True)) for text, _ in cases] == cases


ANY = st.text(max_size=40) | st.lists(
    st.sampled_from(
        ["[move]", "[MOVE]", " ", " (", ")", "[", "]", "<think>", "</think>", "rock", "Paper", "x", "\n", "*"]
    ),
    max_size=12,
).map("".join)
LABEL = st.text(st.characters(exclude_characters="[]()<>"), min_size=1, max_size=8)
EXPLANATION = st.text(st.characters(exclude_characters="[]()<"), min_size=1, max_size=40)


@given(
    ANY, st.sampled_from([RPS, STREET]) | st.lists(LABEL, unique=True, max_size=4).map(tuple).map(Choice), st.booleans()
)
def test_any_text_gives_a_legal_action_or_a_fault(text, legal, last):
    found = read(text, legal, last)
    assert (found.action in legal) if found.action is not None else found.fault


@given(EXPLANATION, EXPLANATION, st.sampled_from(RPS.options), st.booleans())
def test_no_explanation_changes_what_is_read(before, explanation, label, last):
    assert action(f"{before}\n[move] ({explanation}) {label}\n{explanation}", RPS, last) == label
    assert read(f"[move] ({explanation}) {label}", RPS) == (label, "", explanation.strip())


@given(st.lists(LABEL, unique=True, min_size=1).map(tuple), st.text(max_size=10))
def test_every_label_is_read_as_the_game_spells_it(labels, explanation):
    note = explanation.translate(dict.fromkeys(map(ord, "[]()<"), "x")) or "so"
    assert [action(f"[move] ({note}) {label}", Choice(labels)) for label in labels] == list(labels)


PIECES = [
    "[",
    "]",
    "[]",
    "[x",
    "(",
    "[move]",
    "[move] (",
    "[move] ()",
    "[move] (x) ",
    "<think>",
    "</think>",
    " ",
    "é",
    "*",
]


@pytest.mark.parametrize("last", [False, True])
def test_a_million_characters_are_read_in_well_under_a_second(last):
    for piece in PIECES:
        many = piece * (10**6 // len(piece))
        for text in (many, f"{many}])", f"[move] ({many}", f"[move] (x) {many}rock"):
            assert timeit(lambda text=text: read(text, RPS, last), timer=process_time, number=1) < 0.8, piece


def test_an_ordinary_answer_takes_microseconds():
    text = f"The other has played paper twice.\n\n[move] (Scissors cut paper, and that is {'so ' * 40}) Scissors\n"
    assert 190 < len(text) < 210
    assert min(repeat(lambda: read(text, RPS), timer=process_time, number=5_000, repeat=7)) / 5_000 < 8e-6


# ---- the recorded games ----

ENDS_A_ROUND = "You scored "
ASKED_AGAIN = 5
"""Times an answer was sent back. Then the same answer stands once more in the context: the program read it again, as the last."""


@pytest.fixture(scope="module")
def recorded() -> list[tuple[str, Choice, bool, str | None]]:
    """Every message of a model's seat: its text, what was legal, whether it was the last, and the move that it was taken for."""
    beside = ROOT / "../shared/published/counterfactual/raw_sample.tar.zst"
    sample = Path(os.environ.get("AGON_RAW_SAMPLE", beside)).resolve()
    if not sample.exists():
        pytest.skip("no recorded games here: set AGON_RAW_SAMPLE to raw_sample.tar.zst")
    with (
        sample.open("rb") as packed,
        tarfile.open(fileobj=ZstdDecompressor().stream_reader(packed), mode="r|") as archive,
    ):
        members = (archive.extractfile(member) for member in archive if member.name.endswith("/game.json"))
        games = [msgspec.json.decode(member.read()) for member in members if member]
    decisions = []
    for record in games:
        names = record["game_settings"]
        legal = Choice(tuple(names[letter] for letter in "abc" if letter in names))
        for seat in (0, 1):
            if record[f"player_{seat}_player_type"] not in {"default", "zs", "cot", "spp"}:
                continue
            moves = iter(record[f"player_{seat}_moves"])
            answers = []
            for message in record[f"player_{seat}_context"]:
                text = "".join(part.get("text", "") for part in message["content"])
                if message["role"] == "assistant":
                    answers.append(text)
                    continue
                for move in [next(moves) for _ in range(text.count(ENDS_A_ROUND))]:
                    taken = [None] * (len(answers) - 1) + [move]
                    decisions += [(said, legal, at == ASKED_AGAIN, taken[at]) for at, said in enumerate(answers)]
                    answers = []
    return decisions


def test_recorded_answers_are_read_as_they_were(recorded):
    assert [(text, move) for text, legal, last, move in recorded if action(text, legal, last) != move] == []
    counts = Counter(move for *_, move in recorded)
    assert len(recorded) > 14_000
    assert counts.pop(None) > 1_200
    assert len(counts) == 7
    assert min(counts.values()) > 1_000
