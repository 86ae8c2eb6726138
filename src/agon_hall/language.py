"""The hall's own sentences in the language of a study; what games say (rules, boards, questions) is not among them."""

from collections.abc import Callable, Mapping

Say = Callable[..., str]
"""A sentence in English, and what is put in the place of each {} -> the sentence in another language."""


def translator(words: Mapping[str, str]) -> Say:
    """Says sentences by `words`, English -> other; those that are not there in English."""

    def say(sentence: str, *given: object) -> str:
        translation = words.get(sentence, sentence)
        first, *others = translation.split("{}")
        return (
            first + "".join(f"{value}{after}" for value, after in zip(given, others, strict=True))
            if given
            else translation
        )

    return say


ENGLISH = translator({})
