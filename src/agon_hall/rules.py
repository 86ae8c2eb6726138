"""Rules for people: those that models are told, cut out of the prompt of the game. There is no other text of them."""

import json
import re
from collections.abc import Iterator
from typing import Any

import jinja2

from agon.agents.prompts import has_prompt, prompts, template_of
from agon.agents.telling import STYLE
from agon.games import Observation
from agon.games.base import PUBLIC
from agon.games.html import format_value, items, prose, text
from agon.games.pages import page_of
from agon.games.spaces import Space
from agon.loop import start_match

RULES = ("rules", "the game")
"""Headings of a prompt under which everybody reads how the game goes, with what stands before the first heading."""
OWN = ("objective", "your part")
"""The same that a seat alone reads: what it is after, and what it has been told."""
SHORT = 90
"""Letters of a question that is a heading."""
ANSWERS = re.compile(r"\n?[^\n]*(\[move\]|move line).*", re.DOTALL)
"""How an answer is to be written, at the end of a question: people have a form."""


def rules_text(view: Observation, game: Any, start: Any, noted: bool = True) -> str:
    """The rules of a match as HTML, for whoever has the view; `start` is the match's first state.

    The public reads the rules as they are told to the first seat, which is `noted`. Who is not asked is not told what it may answer then.
    """
    if view.rules is None:
        return "<p>One player alone is shown what this match is about, and nothing of it is public: there is nothing to watch.</p>"
    if not has_prompt(view.rules):
        return _facts(view.rules)
    texts = prompts(template_of(view.rules), STYLE)
    reader = view._replace(seat=max(view.seat, 0), legal=view.legal or _legal(game, start, view.seat))
    first, *sections = re.split(r"^# +(.*)$", texts.system(reader), flags=re.MULTILINE)
    headings = RULES if view.seat == PUBLIC else RULES + OWN
    chosen_sections = [
        f"# {name}\n{words}"
        for name, words in zip(sections[::2], sections[1::2], strict=True)
        if name.lower() in headings
    ]
    note = "<p>As the first player is told:</p>" if view.seat == PUBLIC and noted else ""
    return note + prose("\n".join([first, *chosen_sections]))


def require_rules(game: Any) -> None:
    """Raises AgonError for a game whose prompt is broken: its rules, or its first questions."""
    _, (state, views, _), _ = start_match(game, 0)
    for seat in range(game.seats):
        rules_text(game.observe(state, seat), game, state)
    for view in views.values():
        question_text(view)


class Placeholder(jinja2.ChainableUndefined):
    """In a prompt, the place of what its reader is not told: dots, whatever is asked of it."""

    def __str__(self) -> str:
        return "…"

    def __iter__(self) -> Iterator[str]:
        yield "…"

    def __call__(self, *given: object) -> "Placeholder":  # type: ignore[override]  # noqa: D102
        return self


def _legal(game: Any, start: Any, seat: int) -> Space | Placeholder:
    """What a seat may answer at first; for the public, and seats that are not asked first, what all may answer alike."""
    spaces = {player: game.legal_actions(start, player) for player in game.to_move(start)}
    if seat in spaces:
        return spaces[seat]
    alike = {json.dumps(space.as_json(), sort_keys=True) for space in spaces.values()}
    return next(iter(spaces.values())) if len(spaces) == game.seats and len(alike) == 1 else Placeholder(name="legal")


def _facts(rules: Any) -> str:
    """The facts of a game that has no prompt, as they are."""
    fields: Any = getattr(rules, "_fields", None) or getattr(rules, "__dataclass_fields__", ())
    facts = {name: format_value(getattr(rules, name)) for name in fields if not name.startswith("_")}
    return items(f"<strong>{text(name.replace('_', ' '))}</strong>: {text(value)}" for name, value in facts.items())


def question_text(view: Observation) -> str:
    """What a seat is asked, as HTML: by its family's page, or as models are asked, without how they are to write an answer."""
    if family_question := page_of(view.rules).question(view):
        return f"<h2>{family_question}</h2>"
    prompt = prompts(template_of(view.rules), STYLE).turn(view, len(view.past)) if has_prompt(view.rules) else ""
    first, _, more = ANSWERS.sub("", prompt).strip().partition("\n")
    title = first or f"Round {view.round}: your answer ({view.phase})"
    return (
        f"<h2>{text(title)}</h2>{prose(more)}"
        if len(title) <= SHORT
        else f"<h2>Your answer</h2>{prose(title)}{prose(more)}"
    )


def title(game: Any) -> str:
    """What a game is called at its table: not by a name that says how to play it, where models are not told one either."""
    return page_of(game).title or str(game.name).replace("_", " ").capitalize()
