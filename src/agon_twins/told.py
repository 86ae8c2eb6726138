"""The texts of a twin: the words that may change, the sentences that a frame may have, and all texts of an observation.

A text of a twin must be the original's text in the new words, and nothing else. Three rules make that a comparison of games:
words that change are names, no number changes unless the game pays or counts accordingly, and a frame does not speak of the rules.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields, is_dataclass
from itertools import zip_longest
from typing import Any

from agon.agents.prompts import OURS, prompts, template_of
from agon.agents.telling import STYLE
from agon.games.base import Event, Observation
from agon_twins.isomorphism import OWN

STYLES = ("cot", "spp")
"""Further styles in which a question is asked."""
FAULT = "there is no move line"
"""A fault of an answer, to see how a seat is asked again."""
NUMERALS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
"""Number words, from 0."""
RULES = re.compile(
    "points?|scores?|payoffs?|pays|paid|gets?|earns?|costs?|wins?|won|loses?|lost|rewards?|rewarded|punish(?:ed|es)?"
    "|bonus|fine|penalty|prize|refund|rounds|illegal|forbidden|allowed|must|cannot|final|last|deadline"
    "|double[sd]?|twice|half|hundred|thousand|least|most|worth"
)
"""Words by which a frame, or a name of several words, speaks of the rules."""
QUANTITIES = re.compile(
    "half|doubled?|twice|thrice|triple|dozen|hundred|thousand|million|percent|first|second|third|last|once"
    "|many|few|more|less|fewer|all|none|no|not|never|always|only|both|each|every|any|some|other|another|same|different"
    "|equal|equally|higher|lower|high|low|greater|smaller|larger|large|small|most|least|up|down|plus|minus|times|multiplied|divided"
    "|before|after|next|previous|and|or|if|but|nor|than|as|by|at|in|on|of|to|for|from|with|without|the|a|an|is|are|was|were|be"
    "|gets?|gives?|pays?|paid|costs?|wins?|loses?|scores?|beats?|chooses?|plays?|must|may|can|cannot|you|your|they|their|nobody|everybody|who|whoever|what|when|where"
    f"|best|worst|better|worse|{'|'.join(NUMERALS)}"
)
"""Words that count, compare, join or pay. They are no names, whatever is declared."""
STATEMENT = re.compile(
    f"{RULES.pattern}|you|your|they|more|less|best|better|worst|worse|always|never|not|no|nobody|everybody|if|is|are"
)
"""Words that make a statement of a name of several words."""
WORD = re.compile(r"[^\W\d_]+|\d+(?:[.,]\d+)*")
STEM = 6
"""The first letters by which a frame's word is known for an action's."""


def rules_text(view: Observation) -> str:
    """The rules that a seat reads first."""
    return prompts(template_of(view.rules), STYLE).system(view)


def texts(view: Observation, since: int, everything: bool, prompt_set: str = OURS) -> Iterator[tuple[str, str]]:
    """(name, text) of all that a seat reads in a prompt set. `since`: the number of events that it has read before.

    `everything`: also the rules in each style, the whole history, and the question when it is asked again.
    """
    source = template_of(view.rules, prompt_set=prompt_set)
    question = prompts(source, STYLE)
    yield "the question", question.turn(view, since)
    if everything:
        yield "the rules", question.system(view)
        yield "the history", question.turn(view, 0)
        yield "the last question", question.turn(view, len(view.past))
        yield "the second question", question.again(FAULT, view)
        for style in STYLES:
            yield f"the rules in style {style}", prompts(source, style).system(view)


def strings(value: Any) -> Iterator[str]:
    """All whole texts in a fact, in small letters: they are names. Phases and the names of fields are none."""
    if isinstance(value, str):
        yield value.casefold()
    elif isinstance(value, Event):
        yield from strings(value.value)
    elif isinstance(value, Mapping):
        yield from strings([*value, *value.values()])
    elif isinstance(value, tuple | list | frozenset | set):
        for part in value:
            yield from strings(part)
    elif is_dataclass(value):
        names = [item.name for item in fields(value) if item.init and item.name not in (*OWN, "phase")]
        yield from strings([getattr(value, name) for name in names])


def states_number(word: str, is_label: bool) -> bool:
    """Whether a word states a number. The number in a label, such as `Player 1`, states nothing, unless it stands alone."""
    parts = WORD.findall(word.casefold())
    numbers = [part for part in parts if part[0].isdigit() or part in NUMERALS]
    return bool(numbers) and (numbers == parts or not is_label)


def numbers_in(text: str) -> set[float]:
    """The numbers of a text that are written in digits."""
    return {float(number.replace(",", "")) for number in WORD.findall(text) if number[0].isdigit()}


def first_difference(text: str, other: str) -> tuple[str, str]:
    """The first lines in which two texts differ."""
    pairs = zip_longest(text.splitlines(), other.splitlines(), fillvalue="")
    return next(((line, twin_line) for line, twin_line in pairs if line != twin_line), ("", ""))


def fault_of_name(name: str, old: str, labels: Collection[str], is_label: bool) -> str:
    """Why a new word is no name for an old one; empty where it may be one.

    `labels`: all names of the twin, in small letters. `is_label`: whether the old one is among the facts of the game.
    """
    name = name.casefold()
    parts = WORD.findall(name)
    is_numbered = len(parts) > 1 and re.sub(r"\d+", "", name) == re.sub(r"\d+", "", old.casefold())
    if not is_numbered and (number := next((part for part in parts if part[0].isdigit() or part in NUMERALS), None)):
        return f"it holds the number {number}"
    if len(parts) > 5:
        return "it is longer than five words"
    if re.search(r"[,:;!?](\s|$)|\w{4}\.(\s|$)", name):
        return "it is punctuated like a sentence"
    if (len(parts) > 1 or not is_label) and (word := next(filter(STATEMENT.fullmatch, parts), None)):
        return f"it holds {word!r}, which says something of the rules"
    if label := next((label for label in sorted(labels) if label != name and has(name, label)), None):
        return f"it holds {label!r}, the name of something else"
    return ""


def fault_of_frame(frame: str, numbers: Collection[float], names: Collection[str]) -> str:
    """The fault of a frame that speaks of the rules; empty where it does not.

    `numbers`: those that are true of the twin: factors, and the number of seats. `names`: options, players and secrets.
    """
    stems = {name: name[:STEM] if name.isalpha() else name for name in sorted(names)}
    for sentence in re.split(r"[.:;!?](?:\s|$)", frame):
        parts = WORD.findall(sentence.casefold())
        counts = {float(NUMERALS.index(part)) for part in parts if part in NUMERALS} - {*numbers}
        stated = numbers_in(sentence)
        rule = next(filter(RULES.fullmatch, parts), None)
        fault = ""
        if wrong := stated - {*numbers}:
            fault = f"says {min(wrong):g}, which is no factor of the twin"
        elif name := next(
            (name for name, stem in stems.items() if re.search(rf"\b{re.escape(stem)}", sentence, re.I)), ""
        ):
            fault = f"speaks of {name!r}"
        elif rule and (counts or not stated):
            fault = f"speaks of the rules, by the word {rule!r}"
        if fault:
            return f"the frame {fault}: {sentence.strip()!r}"
    return ""


def has(text: str, phrase: str) -> bool:
    """Whether a text has a phrase, in whole words."""
    return phrase.casefold() in text.casefold() and bool(
        re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", text, re.IGNORECASE)
    )
