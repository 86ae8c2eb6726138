"""Languages (conf/language): the prompt set that tells games in a language, words that code looks for in it, and sentences of pages."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

import msgspec

from agon.agents.prompts import OURS, prompt_sets
from agon.conf import CONF, file_of, names
from agon.errors import AgonError
from agon.games.base import families
from agon.games.sentences import Say

FOUND = ("the game", "move line", "objective", "rules", "your answer", "your part")
"""English words that code looks for in prompts, or sets above them: headings, and the line with the answer."""


class Language(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How games are told in a language: `games` in its file of conf/language."""

    prompts: str
    """The prompt set."""
    words: dict[str, str]
    """English -> the set's word: those of FOUND, numbers, and names of games that its prose translates."""
    sentences: dict[str, str] = {}
    """Sentence of the rules that pages leave out or replace -> the set's sentence, and what replaces it for people."""


ENGLISH = Language(OURS, {word: word.capitalize() for word in FOUND})


def language_of(name: str, conf: Path = CONF) -> Language | None:
    """The language of conf/language/NAME.yaml. None where there is no such file, or its `games` is missing.

    Raises AgonError for a `games` that lacks something.
    """
    games = file_of("language", name, conf).get("games") if name in names("language", conf) else None
    if games is None:
        return None
    try:
        language = msgspec.convert(games, Language)
    except msgspec.ValidationError as error:
        raise AgonError(f"conf/language/{name}.yaml: games: {error}") from None
    if missing := [word for word in FOUND if not language.words.get(word)]:
        raise AgonError(
            f"conf/language/{name}.yaml: games.words has no {', no '.join(missing)}: write how the prompts say it"
        )
    return language


def say_in(name: str, more: Mapping[str, str] = MappingProxyType({}), conf: Path = CONF) -> Say:
    """Says the sentences of pages in the language NAME; those of `more` take the place of the file's.

    Raises AgonError for a translation without the place of an amount or a name, or with marks of HTML.
    """
    language_of(name, conf)  # raises for a `games` that lacks something
    of_file = file_of("language", name, conf) if name in names("language", conf) else {}
    words = {sentence: text for sentence, text in of_file.items() if sentence != "games"} | dict(more)
    for sentence, text in words.items():
        if not isinstance(text, str) or text.count("{}") != sentence.count("{}"):
            raise AgonError(f"language {name}: {sentence!r} needs a translation with as many {{}}, not {text!r}")
        if set("<>&") & set(text):
            raise AgonError(f"language {name}: {sentence!r} needs a translation without <, > and &, not {text!r}")
    return Say(words, name)


@cache
def all_languages(conf: Path = CONF) -> tuple[Language, ...]:
    """English, and the languages of conf/language in which games are told. Raises AgonError."""
    return (ENGLISH, *filter(None, (language_of(name, conf) for name in names("language", conf))))


def language_for(game: object, name: str, conf: Path = CONF) -> Language:
    """The language NAME for a game, or its public rules; ENGLISH where the family has no prompt set in it."""
    language = language_of(name, conf)
    return language if language and _has_set(families(game), language.prompts) else ENGLISH


@cache
def _has_set(folders: tuple[Path, ...], prompt_set: str) -> bool:
    return prompt_set in prompt_sets(folders)
