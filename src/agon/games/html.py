"""HTML for people: text that is never markup, tables, lists and pictures. What players wrote is never trusted."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from html.parser import HTMLParser
from typing import Any

from agon.games.sentences import ENGLISH, Say

LONG = 600
"""Characters: longer texts are shown in a box that scrolls."""
LINES = 12
"""Texts of more lines are shown in such a box, too."""
WIDE = 5
"""Wider tables (columns) can be scrolled by the keyboard, as they may not fit a phone."""


def escaped(value: Any) -> str:
    """Any value as HTML of its text, never markup; empty for an absent one."""
    return escape(plain("" if value is None or value != value else str(value))).replace("\n", "<br>")


def plain(words: str) -> str:
    """`words`, in which code points stand for invisible characters and for those that change the direction of writing."""
    if words.isascii() and words.isprintable():
        return words
    return "".join(
        f"\\u{ord(letter):04x}" if letter not in "\n\t" and unicodedata.category(letter)[0] == "C" else letter
        for letter in words
    )


def text(value: Any) -> str:
    """Any value as HTML that is never markup: invisible characters as code points, and long texts in a box that scrolls."""
    string, safe = str(value), escaped(value)
    if not string.isascii() and any(unicodedata.bidirectional(letter) in ("R", "AL") for letter in string):
        safe = f"<bdi>{safe}</bdi>"  # or it would change the direction of the text beside it
    if len(string) <= LONG and string.count("\n") < LINES:
        return safe
    return f'<span class="long" tabindex="0" role="group" aria-label="long text">{safe}</span>'


def label(value: Any, limit: int = 80) -> str:
    """Any value as one line of plain text of at most `limit` characters, for widgets and pictures."""
    words = " ".join(plain(str(value)[: 2 * limit]).split())
    return words if len(words) <= limit and len(str(value)) <= 2 * limit else words[: limit - 1] + "…"


def format_value(value: Any) -> str:
    """A value in words: nested tuples by line, mappings as names and values, without empty texts."""
    if isinstance(value, Mapping):
        nested = any(isinstance(item, Mapping | tuple | list) for item in value.values())
        between, to = ("; ", ": ") if nested else (", ", " ")
        return between.join(f"{name}{to}{format_value(item)}" for name, item in value.items() if item != "")
    if isinstance(value, tuple | list) and value and all(isinstance(item, tuple | list) for item in value):
        return "\n".join(map(format_value, value))
    if isinstance(value, tuple | list):
        return ", ".join(map(format_value, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]], numbers: bool = False) -> str:
    """A table in a box that scrolls; all of it is HTML. The first cell of a row is its heading."""
    top = "".join(f'<th scope="col">{heading}</th>' if heading else "<td></td>" for heading in head)
    cell = '<td class="number">' if numbers else "<td>"
    body = "".join(
        f'<tr><th scope="row">{first}</th>{"".join(f"{cell}{value}</td>" for value in values)}</tr>'
        for first, *values in rows
    )
    wide = ' tabindex="0"' if len(head) > WIDE else ""
    return (
        f'<div class="scroll"{wide}><table><caption>{caption}</caption>'
        f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def items(lines: Iterable[str], tag: str = "ul") -> str:
    """A list; all of it is HTML. Empty without lines."""
    body = "".join(f"<li>{line}</li>" for line in lines)
    return f"<{tag}>{body}</{tag}>" if body else ""


def alert(reason: object) -> str:
    """An error message."""
    return f'<p role="alert" class="alert">{text(reason)}</p>'


def prose(words: str) -> str:
    """A text for models as HTML: its paragraphs, headings (# ...) and lists (- ..., 1. ...); all else is text."""
    parts, entries, tag = list[str](), list[str](), ""
    for line in [*words.strip().split("\n"), ""]:
        entry = re.match(r"(- )|\d+\. ", line)
        kind = ("ul" if entry[1] else "ol") if entry else ""
        if kind != tag:
            parts.append(items(entries, tag))
            entries, tag = [], kind
        if entry:
            entries.append(text(line[entry.end() :]))
        elif line.startswith("# "):
            parts.append(f"<h3>{text(line[2:])}</h3>")
        elif line.strip():
            parts.append(f"<p>{text(line)}</p>")
    return "".join(parts)


class _Words(HTMLParser):
    """Turns our own HTML into plain text: rows of tables and entries of lists become lines."""

    def __init__(self) -> None:
        super().__init__()
        self.content, self._depth, self._cells, self._drawing = "", 0, 0, False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._drawing |= tag == "svg"
        self._depth += tag in ("ul", "ol")
        if tag == "svg":
            title = dict(attrs).get("aria-label")
            self.content += f"\n{title}\n" if title else ""
        elif tag == "li":
            self.content += f"\n{'  ' * (self._depth - 1)}- "
        elif tag in ("td", "th"):
            self.content += " | " if self._cells else ""
            self._cells += 1
        elif tag == "br":
            self.content += ", "
        elif tag in ("p", "h2", "h3", "tr", "div", "caption", "summary"):
            self.content += "\n"
        self._cells *= tag != "tr"

    def handle_endtag(self, tag: str) -> None:
        self._drawing &= tag != "svg"
        self._depth -= tag in ("ul", "ol")
        self.content += "\n" if tag in ("p", "h2", "h3", "tr", "div", "caption", "summary", "ul", "ol") else ""

    def handle_data(self, data: str) -> None:
        self.content += "" if self._drawing else data


def as_text(html: str) -> str:
    """Our own HTML as plain text, for models: bars between cells, lists with dashes, pictures by their labels."""
    words = _Words()
    words.feed(html)
    words.close()
    return re.sub(r"\n\s*\n+", "\n", words.content).strip()


# --- pictures: inline SVG with every name written beside what it names, to be read in grey and by ear

WIDTH = 420
INKS = ("#0b4f9e", "#a3161b", "#14652d", "#6b3fa0", "#7a4a00", "#00606b")
DASHES = ("", "7 4", "2 4", "9 3 2 3", "12 4", "4 2")
FILLS = ("#cfe0f5", "#ffffff", "#d9ead3", "#f2dcc4", "#e4daf0", "#f5f5c8")


def _picture(title: str, description: str, height: float, body: str) -> str:
    """A picture with its title and a description; both are plain text."""
    name, details = label(title, 120), label(description, 600)
    return (
        f'<svg role="img" aria-label="{escaped(f"{name}. {details}")}" viewBox="0 0 {WIDTH} {height:g}" width="{WIDTH}" '
        f'xmlns="http://www.w3.org/2000/svg"><title>{escaped(name)}</title><desc>{escaped(details)}</desc>{body}</svg>'
    )


def _words(x: float, y: float, words: str, more: str = "") -> str:
    """Plain text in a picture."""
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="13"{more}>{escaped(words)}</text>'


def lines(
    title: str,
    series: Sequence[tuple[str, Sequence[float]]],
    now: int | None = None,
    along: str = "round",
    say: Say = ENGLISH,
) -> str:
    """One line per player over rounds, its name and last number at its end; a mark at `now`. Empty for fewer than two rounds.

    `title` and `along` come in the language of `say`.
    """
    if not series or len(series[0][1]) < 2:
        return ""
    left, right, top, bottom = 52, WIDTH - 140, 26, 158
    values = [value for _, points in series for value in points]
    low, high, last = min(0, *values), max(1, *values), len(series[0][1]) - 1
    at = last if now is None else now
    middle = ' text-anchor="middle"'

    def across(place: int) -> float:
        return left + (right - left) * place / last

    def down(value: float) -> float:
        return bottom - (bottom - top) * (value - low) / (high - low)

    body = [_words(0, 14, label(title, 48), ' font-weight="600"')]
    body += [
        f'<line x1="{left}" x2="{right}" y1="{down(value):.1f}" y2="{down(value):.1f}" stroke="#8a8f98"/>'
        + _words(left - 5, down(value) + 5, say.number(round(value, 1)), ' text-anchor="end"')
        for value in sorted({low, high})
    ]
    body += [_words(across(place), bottom + 17, str(place + 1), middle) for place in (0, last)]
    body.append(_words((left + right) / 2, bottom + 17, along, middle))
    for place, (_, points) in enumerate(series):
        path = " ".join(f"{across(x):.1f},{down(value):.1f}" for x, value in enumerate(points))
        wide = max(2, 4 - place)  # the first lines are wider, so that later ones on top of them do not hide them
        body.append(
            f'<polyline points="{path}" fill="none" stroke="{INKS[place % len(INKS)]}" stroke-width="{wide}" '
            f'stroke-dasharray="{DASHES[place % len(DASHES)]}"/>'
        )
    for place, y in _apart([down(points[-1]) for _, points in series], 16, top, bottom + 4):
        name, points = series[place]
        body.append(
            f'<line x1="{right + 3}" x2="{right + 11}" y1="{down(points[-1]):.1f}" y2="{y:.1f}" '
            f'stroke="{INKS[place % len(INKS)]}"/>'
            + _words(right + 14, y + 5, f"{label(name, 12)} {say.number(round(points[-1], 1))}")
        )
    if now is not None:
        body.append(
            f'<line x1="{across(at):.1f}" x2="{across(at):.1f}" y1="{top - 4}" y2="{bottom + 4}" stroke="#000000"/>'
            + _words(across(at), bottom + 32, "now", middle)
        )
    ends = [(name, round(points[at], 2)) for name, points in series]
    said = "; ".join(
        say("{} {} points", name, end) if now is None else f"{name} {say.number(end)}" for name, end in ends
    )
    description = say("After {} rounds: {}", last + 1, said) if now is None else f"Now: {said}"
    return _picture(title, description, bottom + 40, "".join(body))


def _apart(heights: Sequence[float], gap: float, top: float, bottom: float) -> list[tuple[int, float]]:
    """(index, height) of each label from top to bottom, moved so that they are at least `gap` apart."""
    positions: list[tuple[int, float]] = []
    for which in sorted(range(len(heights)), key=lambda place: heights[place]):
        positions.append((which, max(heights[which], positions[-1][1] + gap if positions else top)))
    for back in range(len(positions) - 1, -1, -1):
        which, at = positions[back]
        limit = bottom if back == len(positions) - 1 else positions[back + 1][1] - gap
        positions[back] = which, min(at, limit)
    return positions


def bars(
    title: str,
    rows: Sequence[tuple[str, Sequence[float] | None]],
    parts: Sequence[str],
    total: float,
    say: Say = ENGLISH,
) -> str:
    """A bar for each row, cut into `parts` by their shares of `total`. A row of None has no proposal.

    A part has its name and number in it, or its number alone, as far as there is room; the description has all of them.
    """
    scale = max([total, *(sum(shares) for _, shares in rows if shares)]) or 1
    body, y, descriptions = [], 4.0, []
    for name, shares in rows:
        body.append(_words(0, y + 13, label(name, 40)))
        y += 18
        if shares is None:
            body.append(_words(6, y + 15, say("no proposal that could be read"), ' font-style="italic"'))
            descriptions.append(f"{name}: {say('none')}")
        else:
            body.append(_bar(shares, parts, scale, y, say))
            descriptions.append(
                f"{name}: " + ", ".join(f"{part} {say.number(s)}" for part, s in zip(parts, shares, strict=True))
            )
        y += 34
    return _picture(title, "; ".join(descriptions), y, "".join(body))


def _bar(shares: Sequence[float], parts: Sequence[str], scale: float, y: float, say: Say) -> str:
    """One bar, 26 pixels high."""
    x, body = 1.0, []
    for place, (part, share) in enumerate(zip(parts, shares, strict=True)):
        wide = (WIDTH - 2) * max(share, 0) / scale
        fill = FILLS[place % len(FILLS)]
        body.append(f'<rect x="{x:.1f}" y="{y:g}" width="{wide:.1f}" height="26" fill="{fill}" stroke="#1a1a1a"/>')
        for words in (f"{label(part, 14)} {say.number(share)}", say.number(share)):
            if len(words) * 7.5 < wide - 4:
                body.append(_words(x + wide / 2, y + 18, words, ' text-anchor="middle"'))
                break
        x += wide
    return "".join(body)
