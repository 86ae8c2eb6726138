"""Sentences of pages in the language of their reader, and numbers as that language writes them.

Code has the English sentences; a file of conf/language has their translations. Models never read these pages.
"""

import re
from collections.abc import Mapping, Sequence

from agon.errors import AgonError, count

NUMBER = "1,000.5"
"""The sentence whose translation shows how a language writes numbers."""


def number(value: float) -> str:
    """A number for people: 1,000,000; 0.25; at most four decimals."""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4f}".rstrip("0").rstrip(".")


def join_words(words: Sequence[str], last: str = "and") -> str:
    """`a, b and c`."""
    return f" {last} ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


class Say:
    """Says English sentences in another language: `say("Round {} of {}", 1, 5)`.

    `words`: English -> the other language, a file of conf/language. A sentence that they lack stays English.
    Raises AgonError if the translation of `1,000.5` is no such number.
    """

    def __init__(self, words: Mapping[str, str], language: str = "en") -> None:
        self.words, self.language = words, language
        marks = re.fullmatch(r"1(\D?)000(\D)5", words.get(NUMBER, NUMBER))
        if marks is None:
            raise AgonError(f"language: {NUMBER!r} must be said as that number, not {words[NUMBER]!r}")
        self.thousands, self.decimal = marks.groups()

    def __call__(self, sentence: str, *values: object) -> str:
        """The sentence, with values for its {}. Numbers are written as the language writes them."""
        translation = self.words.get(sentence, sentence)
        if not values:
            return translation
        first, *others = translation.split("{}")
        texts = [self.number(value) if isinstance(value, int | float) else value for value in values]
        return first + "".join(f"{value}{after}" for value, after in zip(texts, others, strict=True))

    def number(self, value: float, decimals: int | None = None) -> str:
        """A number with as many `decimals`; None for those that it needs, at most four."""
        english = number(value) if decimals is None else f"{value:,.{decimals}f}"
        return english.translate(str.maketrans({",": self.thousands, ".": self.decimal}))

    def count(self, value: float, noun: str, nouns: str = "") -> str:
        """`1 round`, `2 rounds`. Languages have sentences for both: `{} round` and `{} rounds`."""
        return self(f"{{}} {count(1 if value == 1 else 2, noun, nouns)[2:]}", value)

    def join(self, words: Sequence[str], last: str = "and") -> str:
        """`a, b and c`."""
        return join_words(words, self(last))


ENGLISH = Say({})
