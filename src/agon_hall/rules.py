"""Rules for people: the parts of the game's prompt that hold the rules. People and models read the same text."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import jinja2

from agon.agents.languages import ENGLISH, Language, language_for
from agon.agents.prompts import has_prompt, prompts, template_of
from agon.agents.telling import STYLE
from agon.games import Observation
from agon.games.base import PUBLIC
from agon.games.html import format_value, items, prose, text
from agon.games.pages import page_of
from agon.games.sentences import ENGLISH as IN_ENGLISH
from agon.games.sentences import Say
from agon.games.spaces import Space
from agon.loop import start_match
from agon_hall.web import NONE

RULES = ("rules", "the game", "objective")
"""Headings of the prompt's sections for everybody. The text before the first heading is for everybody too."""
OWN_RULES = ("your part",)
"""Headings of the prompt's sections for one seat alone: its private information."""
SHORT = 90
"""The most letters of a question that becomes a heading."""
ANSWERS = r"(?is)\n?[^\n]*(\[move\]|{}).*"
"""The instructions for an answer, at the end of a question: {} is the language's `move line`. People have a form."""


def rules_text(
    view: Observation,
    game: Any,
    start: Any,
    with_note: bool = True,
    words: Mapping[str, str] = NONE,
    say: Say = IN_ENGLISH,
) -> str:
    """The rules of a match as HTML, for the reader of the view; `start` is the match's first state.

    They are in the language of `say` if the game's family has prompts in it, and else in English.

    The public reads the first seat's rules; `with_note` adds a line that says so. A seat that is not asked first does
    not read which answers are possible at the start. `words` takes the place of sentences of the prompt
    (`FamilyPage.rewording`).
    """
    if view.rules is None:
        return f"<p>{say('One player alone is shown what this match is about: there is nothing to watch.')}</p>"
    if not has_prompt(view.rules):
        return _facts(view.rules)
    told = language_for(view.rules, say.language)
    texts = prompts(template_of(view.rules, prompt_set=told.prompts), STYLE)
    reader = view._replace(seat=max(view.seat, 0), legal=view.legal or _legal(game, start, view.seat))
    system = texts.system(reader)
    for sentence, replacement in words.items():
        told_sentence, told_replacement = (told.sentences.get(each, each) for each in (sentence, replacement))
        system = system.replace(told_sentence, told_replacement)
    first, *sections = re.split(r"^# +(.*)$", system, flags=re.MULTILINE)
    headings = RULES if view.seat == PUBLIC else RULES + OWN_RULES
    chosen_sections = [
        f"# {name}\n{words}"
        for name, words in zip(sections[::2], sections[1::2], strict=True)
        if name.lower() in {told.words[heading].lower() for heading in headings}
    ]
    note = f"<p>{say('As the first player is told:')}</p>" if view.seat == PUBLIC and with_note else ""
    return note + _spoken(prose("\n".join([first, *chosen_sections])), told, say.language)


def _spoken(html: str, told: Language, language: str) -> str:
    """A game's text on a page in `language`, marked with its own language for readers aloud."""
    return html if language == "en" else f'<div lang="{"en" if told is ENGLISH else language}">{html}</div>'


def require_rules(game: Any) -> None:
    """Raises AgonError if the rules or the first questions in a game's prompt cannot be drawn."""
    _, (state, views, _), _ = start_match(game, 0)
    for seat in range(game.seats):
        rules_text(game.observe(state, seat), game, state)
    for view in views.values():
        question_text(view)


class Placeholder(jinja2.ChainableUndefined):
    """Dots, in the place of a prompt's value that the reader does not know. All attributes and calls give dots too."""

    def __str__(self) -> str:
        return "…"

    def __iter__(self) -> Iterator[str]:
        yield "…"

    def __call__(self, *values: object) -> "Placeholder":  # type: ignore[override]  # noqa: D102
        return self


def _legal(game: Any, start: Any, seat: int) -> Space | Placeholder:
    """The action space of a seat at the start. For other readers it is the space that all seats share, or dots."""
    spaces = {player: game.legal_actions(start, player) for player in game.to_move(start)}
    if seat in spaces:
        return spaces[seat]
    alike = {json.dumps(space.as_json(), sort_keys=True) for space in spaces.values()}
    return next(iter(spaces.values())) if len(spaces) == game.seats and len(alike) == 1 else Placeholder(name="legal")


def _facts(rules: Any) -> str:
    """The facts of a game without a prompt, as a list."""
    fields: Any = getattr(rules, "_fields", None) or getattr(rules, "__dataclass_fields__", ())
    facts = {name: format_value(getattr(rules, name)) for name in fields if not name.startswith("_")}
    return items(f"<strong>{text(name.replace('_', ' '))}</strong>: {text(value)}" for name, value in facts.items())


def question_text(view: Observation, say: Say = IN_ENGLISH) -> str:
    """The question to a seat, as HTML.

    It comes from the family's page, or from the prompt without its answer format, in the language as in `rules_text`.
    """
    if family_question := page_of(view.rules).question(view, say):
        return f"<h2>{family_question}</h2>"
    told = language_for(view.rules, say.language)
    texts = prompts(template_of(view.rules, prompt_set=told.prompts), STYLE) if has_prompt(view.rules) else None
    prompt = texts.turn(view, len(view.past)) if texts else ""
    first, _, more = re.sub(ANSWERS.format(told.words["move line"]), "", prompt).strip().partition("\n")
    title = first or say("Round {}: your answer ({})", view.round, view.phase)
    html = (
        f"<h2>{text(title)}</h2>{prose(more)}"
        if len(title) <= SHORT
        else f"<h2>{text(told.words['your answer'])}</h2>{prose(title)}{prose(more)}"
    )
    return _spoken(html, told, say.language)


def title(game: Any) -> str:
    """The title of a game at its table. Where models do not learn the name of the game, people do not either."""
    return page_of(game).title or str(game.name).replace("_", " ").capitalize()
