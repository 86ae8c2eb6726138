"""The hall's own sentences in the language of a study.

Rules and questions come from a prompt set (agon.agents.languages). Boards and forms are in English.
"""

from collections.abc import Callable, Mapping

Say = Callable[..., str]
"""Takes an English sentence and the values for its {}. Returns the sentence in another language."""


def translator(words: Mapping[str, str]) -> Say:
    """A function that translates sentences by `words` (English -> other).

    A sentence that `words` lacks stays English.
    """

    def say(sentence: str, *values: object) -> str:
        translation = words.get(sentence, sentence)
        if not values:
            return translation
        first, *others = translation.split("{}")
        return first + "".join(f"{value}{after}" for value, after in zip(values, others, strict=True))

    return say


ENGLISH = translator({})
