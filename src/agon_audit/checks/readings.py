"""Several readings of a reply as an action. None of them is the right one for every experiment."""

import re
from collections.abc import Sequence

import pandas as pd

from agon.games.reading import folded, strip_thinking

WHOLE, TAGGED = "the whole reply", "the text after the tag"
NAMES = WHOLE, "the only action named", "the first action named", "the last action named"
"""The readings; TAGGED is one more where the mapping has a tag."""
MOST_LABELS = 50
"""More different actions are not looked for in replies."""
SHORT = 2
"""Labels of at most so many letters must be written as they are: `a` is a word too."""


def readings(replies: pd.Series, actions: Sequence[str], tag: str) -> dict[str, pd.Series] | None:
    """Name of a reading -> the action in each reply, absent where it names none. None for more than MOST_LABELS different actions."""
    labels = list(dict.fromkeys(actions))
    if len(labels) > MOST_LABELS:
        return None
    names = [*NAMES, TAGGED] if tag else NAMES
    reader = _Reader(labels, tag)
    answers = {reply: reader.read(reply) for reply in replies.dropna().unique()}
    empty = (None,) * len(names)
    lines = [answers.get(reply, empty) if isinstance(reply, str) else empty for reply in replies]
    return {
        name: pd.Series(column, replies.index, dtype="str")
        for name, column in zip(names, zip(*lines, strict=True), strict=True)
    }


class _Reader:
    """Finds labels in texts."""

    def __init__(self, labels: Sequence[str], tag: str) -> None:
        fold = len({folded(label) for label in labels}) == len(labels)
        self._label = {label: label for label in labels}
        if fold:
            self._label |= {folded(label): label for label in labels if len(label) > SHORT}
        parts = [
            re.escape(label) if len(label) <= SHORT or not fold else f"(?i:{re.escape(label)})"
            for label in sorted(labels, key=len, reverse=True)
        ]
        self._pattern = re.compile(rf"(?<![^\W_])(?:{'|'.join(parts)})(?![^\W_])")
        self._tag = re.compile(re.escape(tag), re.IGNORECASE) if tag else None

    def read(self, reply: str) -> tuple[str | None, ...]:
        """The action by each reading."""
        text = strip_thinking(reply)
        labels = [self._label_of(word) for word in self._pattern.findall(text)]
        only = labels[0] if len({*labels}) == 1 else None
        ends = (labels[0], labels[-1]) if labels else (None, None)
        whole = self._label_of(text.strip(" \t\r\n.*`\"'_()[]"))
        if self._tag is None:
            return whole, only, *ends
        *_, after = [None, *(mark.end() for mark in self._tag.finditer(text))]
        tagged = None if after is None else self._pattern.search(text, after)
        return whole, only, *ends, self._label_of(tagged[0]) if tagged else None

    def _label_of(self, word: str) -> str | None:
        return self._label.get(word) or self._label.get(folded(word))
