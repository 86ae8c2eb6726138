"""Reads an answer as an action, by the protocol of the counterfactual paper's recorded games, for every action space.

An answer may hold anything, and exactly one move message: `[move] (optional explanation) action`.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Protocol
from unicodedata import category, normalize

_TAG = "[move]"
_MOVE = re.compile(re.escape(_TAG), re.IGNORECASE)
_BRACKETED = re.compile(r"\[[^\]]+\]")
_THINKING = re.compile("<(/?)think>")
_MARKS = re.compile(r"[\W_]*")


class Reading(NamedTuple):
    """The reading of one answer."""

    action: Any | None
    """The legal action, in the game's spelling; None where none could be read."""
    fault: str
    """The reason why there is no action, in a few words; empty when there is one."""
    note: str = ""
    """The explanation that came with the action."""


class ReadableSpace(Protocol):
    """An action space, as far as reading goes (agon.games.spaces.Space)."""

    def read(self, text: str, last: bool = False) -> Reading:
        """The action in an answer."""


def read(text: str, legal: ReadableSpace, last: bool = False) -> Reading:
    """The action in an answer; None, never a guess, where the answer strays from the protocol.

    Thinking (`<think>...</think>`) is no part of the answer. `last`: if it is unreadable, the player is not asked again
    (see `read_label`).
    """
    return legal.read(strip_thinking(text) if "think>" in text else text, last)


def read_label(text: str, options: tuple[str, ...], last: bool = False) -> Reading:
    """The one of the labels `options` that an answer names.

    As done: nothing but the one [move], in small letters, may be in square brackets anywhere; one space stands before the
    explanation and one before the action; the first ) ends the explanation. What surrounds the message does not matter.
    Not as done: the action must end where a word ends.
    `last`: if it is unreadable, the player is not asked again. As done, its first complete message then counts, whatever
    other tags there are.
    """
    labels = _labels(options)
    tags = labels.tags(text)
    if (last or tags == [_TAG]) and (reading := _message(text, labels)):
        return reading
    return Reading(None, _fault(text, tags, labels))


def read_line(text: str, parse: Callable[[str], Any | None], skip_breaks: bool = False) -> Reading:
    """The action that `parse` reads in the line after the one [move].

    `parse` returns None for text that is no legal action. `skip_breaks`: the action may begin below the line of the tag.
    """
    _, tag, after = text.partition(_TAG)
    if not tag:
        return Reading(None, "there is no [move] tag" if text.strip() else "the answer is empty")
    if _TAG in after:
        return Reading(None, f"there are {text.count(_TAG)} [move] tags")
    line = (after.strip() if skip_breaks else after).partition("\n")[0].strip(" \t*`")
    action = parse(line.strip())
    return Reading(None, "what follows the tag is no valid action") if action is None else Reading(action, "")


def read_parts(text: str, parts: Sequence[tuple[str, Callable[[str], Any | None]]], between: str) -> Any | None:
    """A tuple of the values after each `name:`, read by the part's function; all must be there in the order of `parts`.

    None where a value cannot be read, or in more than one way: a text may contain the name of the next part.
    """
    values, at = [], 0
    marks = [*(rf"{re.escape(between)} {re.escape(name)}:" for name, _ in parts[1:]), r"\Z"]
    for (name, parse), mark in zip(parts, marks, strict=False):
        start = re.compile(f"{re.escape(name)}:", re.IGNORECASE).match(text, at)
        if start is None:
            return None
        ends = [end.start() for end in re.compile(mark, re.IGNORECASE).finditer(text, start.end())]
        ways = [(parse(text[start.end() : end].strip()), end + len(between) + 1) for end in ends]
        readings = [(value, after) for value, after in ways if value is not None]
        if len(readings) != 1:
            return None
        value, at = readings[0]
        values.append(value)
    return tuple(values)


class _Labels(NamedTuple):
    """The rules by which one game's actions are recognised."""

    forms: tuple[tuple[str, str], ...]
    """(a space and the folded label, the label), longest first: a label may begin with another."""
    fold: Callable[[str], str]
    """Normalises texts before they are compared; case matters only where labels differ in nothing else."""
    reach: int
    """The number of characters that is enough for any label, however its accents are encoded."""
    bracketed: bool
    """Whether labels contain square brackets; then only [move] tags are counted."""

    def tags(self, text: str) -> list[str]:
        if self.bracketed:
            return _MOVE.findall(text)
        return _BRACKETED.findall(
            text, 0, text.rfind("]") + 1
        )  # without the last ] each later [ would scan the whole rest

    def at(self, text: str, start: int) -> str | None:
        """The label after one space at `start`; None where there is none."""
        following = self.fold(text[start : start + self.reach])
        for form, label in self.forms:
            if following.startswith(form) and not _inside_word(following, len(form)):
                return label
        return None


@lru_cache(maxsize=1024)
def _labels(options: tuple[str, ...]) -> _Labels:
    fold = folded if len({folded(label) for label in options}) == len(options) else str
    forms = [(" " + fold(label), label) for label in options if label]
    forms.sort(key=lambda pair: len(pair[0]), reverse=True)
    reach = 4 * max([len(form) for form, _ in forms], default=0) + 4
    return _Labels(tuple(forms), fold, reach, any("[" in label or "]" in label for label in options))


def folded(text: str) -> str:
    """A label in the form in which labels are compared, without case and the encoding of accents."""
    text = text.casefold()
    return text if text.isascii() else normalize("NFC", text)


def _inside_word(text: str, at: int) -> bool:
    """Whether letters, marks or digits stand on both sides."""
    return at < len(text) and category(text[at])[0] in "LMN" and category(text[at - 1])[0] in "LMN"


def _message(text: str, labels: _Labels) -> Reading | None:
    """The first complete move message."""
    close = 0
    for tag in _MOVE.finditer(text):
        after = tag.end()
        if text.startswith(" (", after):
            if close < after + 2:  # else the last ) that was found is still the nearest
                close = text.find(")", after + 2)
                close = len(text) if close < 0 else close
            if close > after + 2 and (action := labels.at(text, close + 1)) is not None:
                return Reading(action, "", text[after + 2 : close].strip())
        if (action := labels.at(text, after)) is not None:
            return Reading(action, "")
    return None


def strip_thinking(text: str, tags: re.Pattern[str] = _THINKING) -> str:
    """The text without its thinking. Text before a lone closing tag is thinking, too.

    `tags` match the tags around it; their first group is not empty where a tag closes.
    """
    parts: list[str] = []
    start, thinking = 0, False
    for tag in tags.finditer(text):
        if tag[1] and not thinking:
            parts.clear()
        elif not thinking:
            parts.append(text[start : tag.start()])
        start, thinking = tag.end(), not tag[1]
    return "".join(parts) if thinking else "".join([*parts, text[start:]])


def _fault(text: str, tags: list[str], labels: _Labels) -> str:
    if not text.strip():
        return "the answer is empty"
    moves = [tag for tag in tags if tag.lower() == _TAG]
    if len(moves) > 1:
        return f"there are {len(moves)} [move] tags"
    if not moves and _TAG in text:
        return "a square bracket before the [move] tag is not closed"
    if not moves:
        return "there is no [move] tag"
    if len(tags) > 1:
        return "besides [move] there is something else in square brackets"
    if moves != [_TAG]:
        return "the tag [move] is not in small letters"
    place, rest = "the tag", text[text.index(_TAG) + len(_TAG) :]
    if rest.startswith(" ("):
        explanation, closed, rest = rest[2:].partition(")")
        if not closed:
            return "the explanation's parenthesis is not closed"
        if not explanation:
            return "the explanation's parentheses are empty"
        if "(" in explanation:
            return "there are parentheses inside the explanation's"
        place = "the explanation"
    if not rest.startswith(" ") and rest.strip():
        return f"after {place} there is not a space"
    marks = _MARKS.match(rest)
    if marks and labels.at(" " + rest[marks.end() :], 0) is not None:
        return f"between {place} and the action there is not just one space"
    return f"after {place} there is no valid action"
