"""From what a model wrote to the call of a tool: exactly one JSON object with "tool" in it, wherever it stands in the answer.

Fences, tags, a [move] before it and words after it do not matter; nor do objects that are no calls, such as {"stick": 2}.
What only resembles a call (single quotes, comments, a comma too many, NaN, a key twice, a brace that is not closed) is a
fault, as are several calls: nothing is repaired, and nothing is ever evaluated.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

from agon.games.tradecraft.calls import LARGEST, Call

DIGITS = 100
"""A whole number has so many at most."""
_INSIDE = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[{}]', re.DOTALL)
"""What matters for where an object ends: texts, and braces that are in none; a text that is not closed goes to the end."""
_NAMED = re.compile(r"\btool\b")
_BEFORE = re.compile(r"(?:\[move\]|```\w*|<\w{1,20}>|\s)+\Z")
"""Marks between a thought and the call."""


class Found(NamedTuple):
    """What was made of one answer."""

    call: Call | None
    fault: str
    """One sentence that says why there is no call; empty when there is one."""
    source: str = ""
    """The call as it was written."""


def call_in(text: str) -> Found:
    """The one call in an answer (without its thinking, see agon.games.reading.spoken), whether or not a game allows it."""
    if not text.strip():
        return Found(None, "the answer is empty")
    if len(text) > LARGEST:
        return Found(None, f"the answer has {len(text)} characters; at most {LARGEST} can be read")
    tried = [_read(source) for source in _objects(text) if _NAMED.search(source)]
    found = [each for each in tried if each is not None]
    if len(found) == 1:
        return found[0]
    return Found(
        None, f"there are {len(found)} calls; give just one" if found else 'there is no JSON object with "tool"'
    )


def thought_in(text: str, source: str) -> str:
    """What an answer says before its call, as written in `source`; all of it where there is none."""
    before = text.rpartition(source)[0] if source and source in text else text
    return _BEFORE.sub("", before).strip()


def _objects(text: str) -> Iterator[str]:
    """All that stands between outermost braces; the last one may lack its end."""
    start = text.find("{")
    while start >= 0:
        end = _end(text, start)
        yield text[start:end]
        start = text.find("{", end)


def _end(text: str, start: int) -> int:
    depth = 0
    for token in _INSIDE.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(token[0], 0)
        if depth == 0:
            return token.end()
    return len(text)


def _read(source: str) -> Found | None:
    """The call that is written there, or what is wrong with it; None where there is no call."""
    try:
        read = json.loads(source, object_pairs_hook=_once, parse_constant=_refused, parse_float=_float, parse_int=_int)
    except json.JSONDecodeError as error:
        return Found(None, f"the JSON object cannot be read: {error.msg} (character {error.pos + 1} of it)", source)
    except (ValueError, RecursionError) as error:
        fault = str(error) if type(error) is ValueError else "it is nested too deep"
        return Found(None, f"the JSON object cannot be read: {fault}", source)
    if "tool" in read:
        tool = read["tool"]
        return Found(Call(read), "", source) if isinstance(tool, str) else Found(None, '"tool" must be a text', source)
    return Found(None, 'the JSON object has no "tool" of its own', source) if '"tool"' in source else None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("it has a key twice")
    return made


def _refused(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number")


def _float(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise ValueError("a number is too large")
    return value


def _int(digits: str) -> int:
    if len(digits) > DIGITS:
        raise ValueError("a number is too large")
    return int(digits)
