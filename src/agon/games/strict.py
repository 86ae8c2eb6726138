"""The strict reading of answers: one move line that holds one legal action and nothing else, in every action space.

New recordings are read like this. `agon.games.reading` has the reading of the counterfactual paper, for its replays and for recordings
that were made with it. What the strict reading refuses is asked again; it never guesses.
"""

import re
from collections.abc import Iterator
from typing import Any, Protocol
from unicodedata import category

from agon.games.reading import Reading, strip_thinking

_TAG = re.compile(r"\[move\]", re.IGNORECASE)
_FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[ \t]*\w*[ \t]*$", re.MULTILINE)
_ONE_FENCE = re.compile(r"\s*(`{3,}|~{3,})[ \t]*\w*[ \t]*\n(.*)\n[ \t]*\1\s*", re.DOTALL)
_THOUGHT = (
    r"[\w:.-]{0,30}(?:think|thought|reason|reflect|analy|scratch|monolog|deliberat|consider|ration|brainstorm|internal|cot\b)"
    r"[\w:.-]{0,30}"
)
_THOUGHTS = re.compile(
    rf"[<\[◁⟨【]\|?(?:(/|end_of_)|begin_of_)?{_THOUGHT}(?:\s[^<>\[\]]{{0,80}})?\|?[>\]▷⟩】]", re.IGNORECASE
)
"""A tag around thoughts, in any spelling. The group says that it closes them."""
_FENCED_THOUGHTS = re.compile(
    rf"^[ \t]*(`{{3,}}|~{{3,}})[ \t]*{_THOUGHT}[ \t]*\n.*?(?:^[ \t]*\1[ \t]*$|\Z)",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)
"""A code fence whose name says that it holds thoughts. One that is not closed holds all the rest."""
_SPECIAL = re.compile(r"<\|?(start|channel|message|end|return|call)\|?>(?<=\|>)|<\|(channel)>")
"""Marks of answers that are written in channels."""
_ELEMENT = re.compile(r"[<\[](/?)([A-Za-z][\w:-]{0,40})(?:\s[^<>\[\]]{0,80})?[>\]]")
_OPEN_ENDS = {
    *(
        "move",
        "answer",
        "final",
        "final_answer",
        "action",
        "choice",
        "decision",
        "response",
        "reply",
        "output",
        "result",
    ),
    *("b", "strong", "i", "em", "u", "p", "div", "span", "code", "pre"),
}
"""Elements in which the move line may stand: they hold the answer, or only change how it looks."""
_FIRST = re.compile(r"[\W_]*[^\s/,;:(]+")
_PAIRS = {mark: mark for mark in "\"'*_`"} | {
    "<": ">",
    "\u201c": "\u201d",  # double quotes, and single ones
    "\u201e": "\u201c",
    "\u00ab": "\u00bb",
    "\u2018": "\u2019",
    "\u2039": "\u203a",
}
"""Opening mark -> its closing mark."""
_EMPHASIS = "*`"
_BLANK = " \t\r\u200b\u200e\u200f\u2060\ufeff"
_OPENING = re.compile(r"<[A-Za-z][\w-]{0,40}>")
_CLOSING = re.compile(r"</[A-Za-z][\w-]{0,40}>|\[/move\]", re.IGNORECASE)
_ENDS_SENTENCE = frozenset(".!?:)\u2026\u3002\uff1a")
PASSES = 8
"""The most marks around an action, one inside the other, and the most full stops."""


class MarkedSpace(Protocol):
    """An action space, as far as the strict reading goes (agon.games.spaces.Space)."""

    def parse_marked(self, text: str) -> Any | None:
        """The legal action of a text that may bear marks."""

    def read_strictly(self, text: str) -> Reading:
        """The action in an answer without its thoughts."""


def read_strictly(text: str, legal: MarkedSpace) -> Reading:
    """The one legal action in an answer; None and a fault for any other answer. Thoughts are no part of the answer."""
    bare = strip_thoughts(text)
    if not bare.strip() and text.strip():
        return Reading(None, "there is nothing but thoughts")
    return legal.read_strictly(bare)


def read_move(text: str, legal: MarkedSpace, skip_breaks: bool = False) -> Reading:
    """The action after the one [move] tag.

    Before the tag its line has only marks, or whole sentences. After it comes the action alone, or an explanation in parentheses and
    the action. `skip_breaks`: the action may begin below the line of the tag.
    """
    text = _FENCE.sub("", text) if "```" in text or "~~~" in text else text
    tags = list(_TAG.finditer(text))
    if len(tags) != 1:
        return Reading(None, f"there are {len(tags)} [move] tags" if tags else _no_tag(text))
    before, after = text[: tags[0].start()], text[tags[0].end() :]
    if ("</" in text or "[/" in text) and (element := _element_around(text, tags[0].start())):
        return Reading(None, f"the [move] tag stands inside {element}")
    if (marks := _marks_before(before[before.rfind("\n") + 1 :])) is None:
        return Reading(None, "the [move] tag stands within a sentence")
    after = after.lstrip() if skip_breaks else after
    line = after.partition("\n")[0]
    if (action := legal.parse_marked(_joined(marks, line))) is not None:
        return Reading(action, "")
    explanation, rest = _explanation(after)
    rest = rest.partition("\n")[0]
    if explanation and (action := legal.parse_marked(_joined(marks, rest))) is not None:
        return Reading(action, "", explanation)
    first = _FIRST.match(line)
    if first and legal.parse_marked(first[0]) is not None:
        return Reading(None, "behind the action there is more in its line")
    return Reading(None, "after [move] there is not one legal action and nothing else in its line")


def parse_bare(text: str, legal: MarkedSpace) -> Any | None:
    """The action that is a whole answer of one line, without a [move] tag. None: it is no action."""
    line = strip_thoughts(text).strip()
    return None if "\n" in line else legal.parse_marked(line)


def _no_tag(text: str) -> str:
    return "there is no [move] tag" if text.strip() else "the answer is empty"


def _element_around(text: str, place: int) -> str:
    """The element that encloses a place and does not hold an answer, as its opening tag. Empty: there is none."""
    opened: dict[str, str] = {}
    for element in _ELEMENT.finditer(text):
        name = element[2].lower()
        if name in _OPEN_ENDS:
            continue
        if element.start() < place:
            if element[1]:
                opened.pop(name, None)
            else:
                opened[name] = element[0]
        elif element[1] and name in opened:
            return opened[name]
    return ""


def _marks_before(head: str) -> str | None:
    """The marks between the last sentence in the beginning of a line and the tag. None: the tag stands within a sentence."""
    for _ in range(PASSES):
        bare = head.rstrip()
        start = bare.rfind("<") if bare.endswith(">") else -1
        if start < 0 or not _OPENING.fullmatch(bare[start:]):
            break
        head = bare[:start]
    end = next((place for place in range(len(head), 0, -1) if head[place - 1].isalnum()), 0)
    if end and not _ENDS_SENTENCE & {*head[end:]}:
        return None
    return "".join(letter for letter in head[end:] if letter in _PAIRS)[-PASSES:]


def _joined(marks: str, line: str) -> str:
    """The line with the marks that stand before its tag, if it ends with their closing marks."""
    closing = "".join(_PAIRS[mark] for mark in reversed(marks))
    return marks + line if marks and line.rstrip(_BLANK + ".").endswith(closing) else line


def _explanation(text: str) -> tuple[str, str]:
    """The explanation in parentheses with which a text begins, and the rest. Empty where there is none, or where it is not closed."""
    text = text.lstrip(f"{_BLANK}{_EMPHASIS}:\u00a0")
    depth = 0
    for mark in re.finditer(r"[()]", text) if text.startswith("(") else ():
        depth += 1 if mark[0] == "(" else -1
        if depth == 0:
            return text[1 : mark.start()].strip(), text[mark.end() :]
    return "", text


def unmark(text: str) -> Iterator[str]:
    """The text without marks around it that change no meaning, then also without the full stop at its end."""
    yield (plain := _without_marks(text))
    for _ in range(PASSES):
        if not plain.endswith((".", "\u3002")):
            return
        yield (plain := _without_marks(plain[:-1]))


def _without_marks(text: str) -> str:
    """The text without blanks, a colon, emphasis, quotes, tags and code marks around it."""
    text = "".join(" " if category(letter) == "Zs" else letter for letter in text) if not text.isascii() else text
    for _ in range(PASSES):
        before, text = text, text.strip(_BLANK + _EMPHASIS)
        if opening := _OPENING.match(text):
            text = text[opening.end() :]
        start = max(text.rfind("<"), text.rfind("[")) if text.endswith((">", "]")) else -1
        if start >= 0 and _CLOSING.fullmatch(text, start):
            text = text[:start]
        text = text[1:] if text.startswith(": ") else text
        if (
            len(text) > 1
            and (end := _PAIRS.get(text[0])) == text[-1]
            and not {text[0], end} & {*text.strip(text[0] + text[-1])}
        ):
            text = text[1:-1]
        if text == before:
            break
    return text


def without_currency(text: str) -> str:
    """A number without a sign of a currency before or behind it."""
    text = text.strip()
    if text and category(text[0]) == "Sc":
        text = text[1:].strip()
    return text[:-1].strip() if text and category(text[-1]) == "Sc" else text


def strip_thoughts(text: str) -> str:
    """The text without its thoughts, in whatever tags, channels or named code fences they stand.

    Text before a lone closing tag is a thought, too, and so is all after a tag that is not closed.
    """
    if "<|" in text or "|>" in text:
        text = _final_channel(text)
    if "```" in text or "~~~" in text:
        text = _FENCED_THOUGHTS.sub("", text)
    return strip_thinking(text, _THOUGHTS)


def _final_channel(text: str) -> str:
    """The text of an answer that is written in channels: what is in the final one, or in none."""
    kept, header, end, is_kept = [""], None, 0, True
    for mark in _SPECIAL.finditer(text):
        piece, end, name = text[end : mark.start()], mark.end(), mark[1] or mark[2]
        if header is not None:
            header += piece
        elif is_kept:
            kept.append(piece)
        is_closing = mark[0] == "<channel|>"
        if name in ("start", "channel") and not is_closing:
            header, is_kept = "", False
        elif name == "message":
            if header is None:  # the channel's name stands there without a mark before it
                header = kept.pop() if len(kept) > 1 else ""
            is_kept, header = header.split()[:1] in (["final"], ["assistant"]), None
        else:
            is_kept, header = True, None
    return "".join([*kept, text[end:] if is_kept and header is None else ""])


def one_object(text: str) -> tuple[str, str]:
    """The JSON of an answer, without its thoughts and the code fence around it, and the fault of its fences (empty: none)."""
    bare = strip_thoughts(text)
    if (fenced := _ONE_FENCE.fullmatch(bare)) and not _FENCE.search(fenced[2]):
        return fenced[2], ""
    return bare, "it must not have words or a second block beside its code fence" if _FENCE.search(bare) else ""
