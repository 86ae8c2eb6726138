"""What a twin tells: which words may change, what a frame may say, and all texts of an observation.

A text of a twin must be the original's text in the new words, and nothing else. Three rules make that a comparison of games:
words that change are names, no number changes unless the game pays or counts accordingly, and a frame does not speak of the rules.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from itertools import zip_longest
from typing import Any

from agon.agents.prompts import prompts, template_of
from agon.agents.telling import STYLE
from agon.games.base import Observation
from agon.games.spaces import Space

STYLES = ("cot", "spp")
"""Further styles in which a question is asked."""
FAULT = "there is no move line"
"""A fault of an answer, to see how a seat is asked again."""
NUMERALS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
"""Number words, from 0."""
QUANTITIES = re.compile(
    "half|double|twice|thrice|triple|dozen|hundred|thousand|million|percent|first|second|third|last|once"
    "|many|few|more|less|fewer|most|least|all|none|no|not|never|always|only|both|each|every|any|some|other|another|same|different"
    "|equal|equally|higher|lower|high|low|greater|smaller|larger|large|small|up|down|plus|minus|times|multiplied|divided"
    "|before|after|next|previous|and|or|if|but|nor|than|as|by|at|in|on|of|to|for|from|with|without|the|a|an|is|are|was|were|be"
    "|gets?|got|gives?|pays?|paid|costs?|wins?|loses?|scores?|beats?|must|may|can|cannot"
    "|you|your|they|their|nobody|everybody|who|whoever|what|when|where|best|worst|better|worse"
    f"|{'|'.join(NUMERALS)}"
)
"""Words that count, compare, join or pay. They are no names, whatever is declared."""
RULES = re.compile(
    "points?|scores?|payoffs?|pays|paid|gets|bonus|fine|penalty|rounds|illegal|forbidden|allowed|must|cannot"
    "|doubled?|twice|half|hundred|thousand|least|most|worth"
)
"""Words by which a frame speaks of the rules."""
WORD = re.compile(r"[^\W\d_]+|\d+(?:[.,]\d+)*")


def texts(view: Observation, everything: bool) -> Iterator[tuple[str, str]]:
    """(what, text) of all that a seat reads. `everything`: in each style, and when it is asked again, too."""
    source = template_of(view.rules)
    question = prompts(source, STYLE)
    yield "the rules", question.system(view)
    yield "the history", question.turn(view, 0)
    if everything:
        for style in STYLES:
            yield f"the rules in style {style}", prompts(source, style).system(view)
        yield "the last question", question.turn(view, len(view.past))
        yield "the second question", question.again(FAULT, view)


def strings(value: Any) -> Iterator[str]:
    """All whole texts in a fact: they are names."""
    if isinstance(value, str):
        yield value.casefold()
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from strings(key)
            yield from strings(part)
    elif isinstance(value, tuple | list | frozenset | set):
        for part in value:
            yield from strings(part)
    elif isinstance(value, Space):
        yield from strings(value.as_json())
    elif is_dataclass(value):
        for item in fields(value):
            if item.init:
                yield from strings(getattr(value, item.name))


def states_number(word: str, is_label: bool) -> bool:
    """Whether a word states a number. The number in a label, such as `Player 1`, states nothing, unless it stands alone."""
    parts = WORD.findall(word.casefold())
    numbers = [part for part in parts if part[0].isdigit() or part in NUMERALS]
    return bool(numbers) and (numbers == parts or not is_label)


def numbers_in(text: str) -> set[float]:
    """The numbers of a text that are written in digits."""
    return {float(number.replace(",", "")) for number in re.findall(r"(?<![\w.])\d+(?:[.,]\d+)*", text)}


def first_difference(text: str, other: str) -> tuple[str, str]:
    """The first lines in which two texts differ."""
    pairs = zip_longest(text.splitlines(), other.splitlines(), fillvalue="")
    return next(((line, twin_line) for line, twin_line in pairs if line != twin_line), ("", ""))


def fault_of_name(name: str) -> str:
    """Why a new word is no name; empty where it may be one."""
    parts = WORD.findall(name.casefold())
    if number := next((part for part in parts if part[0].isdigit()), None):
        return f"it holds the number {number}"
    if rule := next((part for part in parts if RULES.fullmatch(part) or part in NUMERALS), None):
        return f"it holds {rule!r}, which says something of the rules" if len(parts) > 1 else ""
    return "it is longer than five words" if len(parts) > 5 else ""


def fault_of_frame(frame: str, numbers: frozenset[float], actions: frozenset[str]) -> str:
    """What a frame says of the rules; empty where it says nothing of them.

    `numbers`: those that are true of the twin: factors, and the number of seats. `actions`: the options of the game.
    """
    for sentence in re.split(r"[.:;!?](?:\s|$)", frame):
        parts = WORD.findall(sentence.casefold())
        values = [float(part.replace(",", "")) if part[0].isdigit() else None for part in parts]
        stated = {value for value in values if value is not None}
        if wrong := stated - numbers:
            return f"the frame says {min(wrong):g}, which is no factor of the twin: {sentence.strip()!r}"
        if action := next((action for action in sorted(actions) if _has(sentence, action)), None):
            return f"the frame speaks of the action {action!r}: {sentence.strip()!r}"
        counts = {float(NUMERALS.index(part)) for part in parts if part in NUMERALS} - numbers
        rule = next((part for part in parts if RULES.fullmatch(part)), None)
        if rule and (counts or not stated):
            return f"the frame speaks of the rules, by the word {rule!r}: {sentence.strip()!r}"
    return ""


def _has(text: str, phrase: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", text, re.IGNORECASE) is not None
