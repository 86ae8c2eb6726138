"""Observations as text and answers as actions, for environments, people and a user's own functions."""

import json
import re
from collections.abc import Callable

from agon.agents.prompts import prompts, template_of
from agon.games import Dice, Observation
from agon.games.reading import Reading
from agon.games.spaces import Space
from agon.games.strict import parse_bare, read_strictly

STYLE = "zs"
"""The style of the question: a file in prompts/styles."""
CUT = "(earlier lines are left out)"
LINE = 3_000
"""The most characters of one line in a text that is cut."""


def observation_text(view: Observation, asked: bool = True, reach: int | None = None, ascii_only: bool = False) -> str:
    """An observation as text, from the game's own prompts: the rules, the history, and the question if the seat is `asked`.

    `reach`: the most characters. A longer text loses the beginning of its history, with a note (CUT). If the rules and the question
    alone are too long, the text loses its end, without a note. `ascii_only`: see `in_ascii`.
    """
    texts = prompts(template_of(view.rules), STYLE)
    question = texts.turn(view, len(view.past))
    news = texts.turn(view, 0).removesuffix(question).strip()
    parts = [texts.system(view).strip(), "# What has happened", news or "Nothing yet."]
    if asked:
        parts += ["# Now", question.strip()]
    if ascii_only:
        parts = [in_ascii(part) for part in parts]
    if reach is None:
        return "\n\n".join(parts)
    parts[2] = _last_lines(parts[2], reach - len("\n\n".join(parts)) + len(parts[2]))
    return "\n\n".join(parts)[:reach]


def _last_lines(text: str, limit: int) -> str:
    """The last lines that fit into `limit` characters, after a note that lines are missing. Long lines are cut."""
    if len(text) <= limit:
        return text
    lines: list[str] = []
    limit -= len(CUT)
    for line in reversed(text.split("\n")):
        cut_line = line if len(line) <= LINE else f"{line[:LINE]} (the rest is left out)"
        limit -= len(cut_line) + 1
        if limit < 0:
            break
        lines.append(cut_line)
    return "\n".join([CUT, *reversed(lines)])


def parse_reply(text: object, legal: Space) -> Reading:
    """Parses the action in a seat's answer. It follows [move], as the prompt says, or is the whole answer.

    In a game that is played by calls of tools it is the one JSON object with the key "tool".
    Any other answer gives no action and a fault.
    """
    if not isinstance(text, str):
        return Reading(None, f"an answer is a text, not {type(text).__name__}", "")
    reading = read_strictly(text, legal)
    bare = None if reading.action is not None or "[move]" in text.lower() else parse_bare(text, legal)
    return reading if bare is None else Reading(bare, "")


def teller(view: Observation, dice: Dice, *, answer: Callable[[str], str]) -> object:
    """A script that asks a function from text to text. An unreadable answer gives no action (None)."""
    return parse_reply(answer(observation_text(view)), view.legal).action


def in_ascii(text: str) -> str:
    """The text in printable ASCII and line breaks. Other characters become JSON escapes, so that JSON keeps its meaning."""
    return re.sub(r"[^\n -~]", lambda match: json.dumps(match[0])[1:-1].replace("\x7f", "\\u007f"), text)
