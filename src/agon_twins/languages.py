"""Languages: whether a prompt set tells a game in another language as the set `ours` does in English.

A text is compared line by line. A line has the same form in both languages (heading, item of a list, move line), and
the same facts in the same order: numbers, names, quoted words, and identifiers such as `craft_done`.
conf/language/NAME.yaml names the set of a language. It also has the words for numbers, and for names that prose
translates (chameleon: Chamäleon).
"""

import re
from collections.abc import Collection, Iterator, Mapping
from itertools import chain
from typing import Any

from agon.agents.languages import ENGLISH, language_of
from agon.errors import AgonError
from agon.games import Game, Observation
from agon.games.base import Event
from agon_twins.told import NUMERALS, strings, texts
from agon_twins.walks import deal, deals, walks

FEW = 4
"""Most deals of a game in which texts are compared."""
FACT = r'"(?:[^"\\]|\\.)*"|-?\d+(?:[.,/]\d+)*|\b[a-z]+(?:_[a-z]+)+\b|\[move\]'
"""A quoted text, a number, an identifier, or the tag of an answer."""
ARTICLE = "(?-i:A)"
"""The name `a`, which English prose has as an article in small letters."""
PROSE = re.compile(r"(?<!\[)\b[a-z]{2,}\b")
"""A word of prose."""


def language_fault(game: Game[Any], language: str) -> str:
    """The first difference between what a game's seats are told in English and in `language`, in one line.

    It is empty if there is none. Compares the rules in every style and all questions, in the matches of constant
    players, scripts and solvers, in at most FEW deals of the game.
    Raises AgonError for a language without a prompt set, and for a game whose family does not have this set.
    """
    other_language = language_of(language)
    if other_language is None:
        raise AgonError(
            f"there is no conf/language/{language}.yaml with games: write there the prompt set and its words"
        )
    visited = set[tuple[str, str]]()
    for number in deals(game).seeds[:FEW]:
        for view, since, first in _questions(game, number):
            other_texts = texts(view, since, first, other_language.prompts)
            for (what, text), (_, other) in zip(texts(view, since, first), other_texts, strict=True):
                if (text, other) not in visited:
                    fault = text_fault(text, other, names_of(view), other_language.words) or _untranslated(text, other)
                    if fault:
                        return f"{what} of seat {view.seat} in round {view.round}: {fault}"
                visited.add((text, other))
    return ""


def _questions(game: Game[Any], number: int) -> Iterator[tuple[Observation, int, bool]]:
    """Every question in a deal, the number of events told before, and whether it is the first of its seat and phase."""
    questions = set[tuple[int, str]]()
    for history in walks(game, number):
        state, before = game.start(deal(number)), dict[int, int]()
        for actions in chain(history, [None]):
            for seat in game.to_move(state):
                view = game.observe(state, seat)
                yield view, before.get(seat, 0), (seat, view.phase) not in questions
                questions.add((seat, view.phase))
                before[seat] = len(view.past)
            if actions is not None:
                state, _ = game.step(state, actions)


def names_of(view: Observation) -> set[str]:
    """The names that a seat may read, in small letters. Words of players are none where prompts quote them.

    Of the rules, lists alone have names: players, actions, airlines.
    """
    rules = view.rules._asdict() if hasattr(view.rules, "_asdict") else vars(view.rules)
    settings = [value for key, value in rules.items() if isinstance(value, tuple) and key != "quoted"]
    phases = rules.get("quoted", ())
    events = [
        _texts_in(event.value) if isinstance(event, Event) else event
        for event in view.past
        if getattr(event, "phase", "") not in phases
    ]
    space = view.legal.as_json()
    form = space.get("form", {})
    options = [space.get("choice"), space.get("offer"), *form, *[part.get("choice") for part in form.values()]]
    return {name for name in strings([events, options, view.role, settings]) if name}


def _texts_in(value: Any) -> Any:
    """The parts of a fact that a text tells as they are: amounts with items (`2 stick`), names outside records."""
    if isinstance(value, Mapping):
        amounts = [f"{part} {name}" for name, part in value.items() if isinstance(part, int)]
        return [*amounts, *[_texts_in(part) for part in value.values() if not isinstance(part, str)]]
    return [*map(_texts_in, value)] if isinstance(value, list | tuple) else value


def text_fault(text: str, other: str, names: Collection[str], words: Mapping[str, str]) -> str:
    """The first difference between a text and the same in another language, in one line; empty if there is none.

    `names`: those in the text, in small letters. `words`: their translations, and those of numbers and headings.
    """
    lines, other_lines = text.strip().splitlines(), other.strip().splitlines()
    for line, other_line in zip(lines, other_lines, strict=False):
        facts, other_facts = facts_of(line, names), facts_of(other_line, names, words)
        heading = words.get(line[2:].lower()) if line.startswith("# ") else None
        if _form(line) != _form(other_line) or (heading and other_line != f"# {heading}"):
            return f"{other_line!r} has not the form of {line!r}" + (f", which is {heading!r}" if heading else "")
        if facts != other_facts:
            translation, original = (", ".join(words_of_line) or "no facts" for words_of_line in (other_facts, facts))
            return f"{other_line!r} tells {translation}, and not {original} as {line!r}"
    return "" if len(lines) == len(other_lines) else f"there are {len(other_lines)} lines, not {len(lines)}"


def _form(line: str) -> str:
    """The beginning of a line, which tells a heading, an item, a move line and prose apart."""
    return "prose" if line[:1].isalnum() else line[:1]


def _untranslated(text: str, other: str) -> str:
    """The first line of prose that both texts have; empty if there is none. The form of an answer stays as it is."""
    both = {line for line in {*text.splitlines()} & {*other.splitlines()} if not line.startswith("[move]")}
    return next(
        (f"{line!r} is not translated" for line in sorted(both) if len(PROSE.findall(re.sub(FACT, "", line))) > 2), ""
    )


def facts_of(line: str, names: Collection[str], words: Mapping[str, str] = ENGLISH.words) -> list[str]:
    """The facts of a line in their order, in English words. `words`: the translations; by default it is English."""
    names = {*names, "move line"}
    spoken = {words.get(numeral, numeral): str(number) for number, numeral in enumerate(NUMERALS) if number > 1}
    spoken |= {words.get(name, name).casefold(): name for name in names} | {name: name for name in names}
    longest = sorted(spoken, key=len, reverse=True)
    pattern = "|".join(rf"(?<!\w){re.escape(word) if word != 'a' else ARTICLE}(?!\w)" for word in longest)
    return [_plain(fact, spoken) for fact in re.findall(f"{pattern}|{FACT}", line, re.IGNORECASE)]


def _plain(fact: str, spoken: Mapping[str, str]) -> str:
    bare = fact.strip('"').casefold()
    return spoken.get(bare, bare.replace(",", ".") if bare[-1:].isdigit() else bare)
