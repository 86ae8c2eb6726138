"""What a seat sees as one text, and what it answers as another: for models, people, environments, and a user's own agents."""

import json
import re
from collections.abc import Callable

from agon.agents.prompts import prompts, template_of
from agon.games import Dice, Observation
from agon.games.reading import Reading, read
from agon.games.spaces import Space

STYLE = "zs"
"""How an answer is asked for: a file in prompts/styles."""
CUT = "(earlier lines are left out)"
LINE = 3_000
"""Characters of a line, where not everything can be told."""


def told(view: Observation, asked: bool = True, reach: int | None = None, ascii_only: bool = False) -> str:
    """All that a seat knows, from the game's own prompts: the rules, what has happened, and, when it is `asked`, the question.

    `reach`: characters at most; where there are more, what happened first is left out. `ascii_only`: see `in_ascii`.
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
    parts[2] = _newest(parts[2], reach - len("\n\n".join(parts)) + len(parts[2]))
    return "\n\n".join(parts)[:reach]


def _newest(text: str, room: int) -> str:
    """As many of the last lines as there is room for, and that something is left out; of a long line its beginning."""
    if len(text) <= room:
        return text
    kept: list[str] = []
    room -= len(CUT)
    for line in reversed(text.split("\n")):
        short = line if len(line) <= LINE else f"{line[:LINE]} (the rest is left out)"
        room -= len(short) + 1
        if room < 0:
            break
        kept.append(short)
    return "\n".join([CUT, *reversed(kept)])


def answered(text: object, legal: Space) -> Reading:
    """The action in a seat's answer: after [move] as its prompt has it, or the answer is nothing but the action.

    Of a game played by calls of tools it is the one JSON object with "tool" in it. No action, and why, for all else.
    """
    if not isinstance(text, str):
        return Reading(None, f"an answer is a text, not {type(text).__name__}", "")
    found = read(text, legal)
    bare = None if found.action is not None or "[move]" in text else read(f"[move] {text.strip()}", legal)
    return bare if bare is not None and bare.action is not None else found


def teller(view: Observation, dice: Dice, *, answer: Callable[[str], str]) -> object:
    """A script out of a function from text to text; an answer that cannot be read does nothing."""
    return answered(answer(told(view)), view.legal).action


def in_ascii(text: str) -> str:
    """A text of printable ASCII and line breaks: all else as JSON escapes, which mean the same within a JSON text."""
    return re.sub(r"[^\n -~]", lambda found: json.dumps(found[0])[1:-1].replace("\x7f", "\\u007f"), text)
