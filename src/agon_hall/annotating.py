"""The raters' page: one turn at a time, judged blind to who played and to all other judgements, and kept before the next is shown."""

import json
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import panel as pn

from agon import AgonError
from agon.games.rating.annotations import LONGEST, Page, Sheet, log_of, logs, rubric, setting, shuffled
from agon.games.rating.game import ORDERS, THEORY_OF_MIND, Rating
from agon_hall.look import WIDGETS, Block, Stack, block, button, stack, styled, text

LOGS = "data/logs/tradecraft"
"""The folder of logs that are rated."""
STUDIED = ("persuasion", "adaptability", THEORY_OF_MIND)
"""What people judged in paper TradeCraft, C.3."""
TENTHS = [place / 10 for place in range(11)]
"""The steps of a score, which are those of the published assessor."""
SETTLED = 1.0
"""Seconds: a click that comes sooner, upon a page that nobody has touched, is the second half of a double click."""

STYLE = """
.log { max-height: 36em; overflow: auto; border: 1px solid var(--line); padding: .3em .8em; }
.log .now { border-left: 6px solid var(--accent); background: var(--tint); padding: .1em .7em; } .log li { margin: .35em 0; }
.phase, i { color: var(--soft); } h1 { font-size: 1.4em; } h2 { font-size: 1.08em; }
"""
"""For the log, beside the style sheet of all pages."""
RADIOS = """
.bk-input-group { flex-wrap: wrap; gap: 0; }
.bk-input-group > label, .bk-input-group.bk-inline > label:not(:first-child) { flex: 1 1 165px; margin: 0; padding: .25em 0;
  font-weight: 400; white-space: nowrap; }
input[type=radio] { min-height: 0; width: 20px; height: 20px; margin: 0 .4em 0 0; vertical-align: -4px; }
"""
BOX = {"border": "1px solid #8a8f98", "border-radius": "4px"}
READ, ASKED = ({"flex": flex, "min-width": "0", "max-width": "100%"} for flex in ("3 1 340px", "2 1 320px"))
"""What is read stands beside what is asked where there is room, and above it on a phone."""
UNANSWERED = (None, "")
"""What radio buttons and lists hold until somebody answers."""


def page(
    folder: Path,
    games: Sequence[Rating] | str = LOGS,
    who: str | None = None,
    dimensions: Sequence[str] = STUDIED,
) -> pn.viewable.Viewable:
    """Asks for a rater's name unless given, and then about turn after turn; answers go to `folder`/NAME.csv.

    `games`: what is rated, or its folder from the project's root.
    """
    place = stack(max_width=1400)

    def begin(name: str) -> None:
        own = logs(games) if isinstance(games, str) else games
        place[:] = [Desk(Sheet(shuffled(own), name, folder, dimensions)).panel]

    if who is None:
        place[:] = [_door(begin)]
        return place
    try:
        begin(who)
    except AgonError as error:
        place[:] = [_block(_alert(str(error)))]
    return place


def _door(begin: Callable[[str], None]) -> Stack:
    """Asks who rates."""
    field, said = styled(pn.widgets.TextInput, "Your rater name: letters, digits, - and _", max_length=40), _block("")

    def enter() -> None:
        try:
            begin(field.value.strip())
        except AgonError as error:
            said.object = _alert(str(error))

    field.param.watch(lambda event: enter(), "enter_pressed")
    told = (
        "<h1>Rate games</h1><p>You read games turn by turn and judge what each player did. You are told neither who played nor "
        "what others think of it.</p><p>Choose a name. Your answers and reasons are kept under it, and nothing else about "
        "you. Type it again to go on where you stopped: whoever types it sees and can change its answers.</p>"
    )
    return stack(_block(told), field, said, button("Start", enter))


class Desk:
    """One person's way through a sheet: the turn it has come to, and the questions about it."""

    def __init__(self, sheet: Sheet) -> None:
        self.sheet, self.at = sheet, -1
        self._head, self._log, self._said = _block(""), _block(""), _block("")
        self._shown = 0.0
        self._questions: Questions | None = None
        self._place = stack()
        self._back = button("Back", lambda: self.show(self.at - 1), main=False, max_width=140)
        self._save = button("Save and next", self._pressed, max_width=260)
        buttons = pn.Row(self._back, self._save, sizing_mode="stretch_width")
        read = stack(self._log, _block(_rules(sheet)), styles=READ, sizing_mode=None)
        asked = stack(self._place, self._said, buttons, styles=ASKED, sizing_mode=None)
        both = pn.FlexBox(read, asked, sizing_mode="stretch_width")
        self.panel = stack(self._head, both)
        self.show(self._next())

    def _next(self) -> int:
        """The first turn after this one that is not answered, or the first of all; the end when there is none."""
        left = [self.sheet.pages.index(each) for each in self.sheet.left()]
        return next((place for place in left if place > self.at), left[0] if left else len(self.sheet.pages))

    def show(self, at: int) -> None:
        """Goes to a turn by its place; past the last one stands that all is answered."""
        pages = self.sheet.pages
        self.at = min(max(at, 0), len(pages))
        over = self.at == len(pages)
        done = f"{len(pages) - len(self.sheet.left())} of {len(pages)} are answered."
        self._said.object, self._shown = "", time.monotonic()
        self._back.disabled, self._save.visible, self._log.visible = self.at == 0, not over, not over
        if over:
            self._questions, self._place[:] = None, []
            self._head.object = f'<div role="status"><h1>All turns are answered</h1><p>{done} Thank you.</p></div>'
            return
        now = pages[self.at]
        matches = list(dict.fromkeys(each.game.match for each in pages))
        where = f"Match {matches.index(now.game.match) + 1} of {len(matches)}, its turn {now.turn}. {done}"
        self._head.object = f'<div role="status"><h1>Turn {self.at + 1} of {len(pages)}</h1><p>{where}</p></div>'
        self._log.object = _story(now)
        self._questions = Questions(now, self.sheet)
        self._place[:] = [self._questions.panel]

    def _pressed(self) -> None:
        asked = self._questions
        if asked is None or (asked.untouched and time.monotonic() - self._shown < SETTLED):
            return
        try:
            if missing := asked.missing():
                raise AgonError(f"please answer {'; '.join(missing)}")
            self.sheet.rate(self.sheet.pages[self.at], asked.answers(), str(asked.why.value))
        except AgonError as error:
            self._said.object = _alert(f"Not kept yet: {error}")
            return
        self.show(self._next())


class Questions:
    """The widgets for one turn, with what was answered before; nothing is answered by itself."""

    def __init__(self, now: Page, sheet: Sheet) -> None:
        given, why = sheet.given(now)
        self._players, self._dimensions = log_of(now.game).players, sheet.dimensions
        self._fields: dict[tuple[int, str], list[Any]] = {}
        boxes = []
        for seat, player in enumerate(self._players):
            shown: list[Any] = [_block(f"<h2>{_name(seat)}</h2>")]
            for dimension in self._dimensions:
                own = _fields(dimension, given.get(player, {}).get(dimension))
                if dimension == THEORY_OF_MIND:
                    shown.append(_block("<b>theory of mind shows</b>"))
                self._fields[seat, dimension] = own
                shown += own
            boxes.append(stack(*shown, styles=BOX, margin=(4, 8)))
        self.why = styled(
            pn.widgets.TextAreaInput, "Why (optional)", value=why, max_length=LONGEST, rows=2, max_width=None
        )
        self.panel = stack(*boxes, self.why)

    @property
    def untouched(self) -> bool:
        """Whether nothing has been answered or written."""
        return not self.why.value and all(
            each.value in UNANSWERED for fields in self._fields.values() for each in fields
        )

    def missing(self) -> list[str]:
        """What is not answered, by player."""
        found = {
            seat: [
                each.label for one in self._dimensions for each in self._fields[seat, one] if each.value in UNANSWERED
            ]
            for seat in range(len(self._players))
        }
        return [f"{_name(seat)}: {', '.join(names)}" for seat, names in found.items() if names]

    def answers(self) -> dict[str, dict[str, Any]]:
        """As a sheet takes them."""
        return {
            player: {
                dimension: tuple(each.value for each in self._fields[seat, dimension])
                if dimension == THEORY_OF_MIND
                else self._fields[seat, dimension][0].value
                for dimension in self._dimensions
            }
            for seat, player in enumerate(self._players)
        }


def _fields(dimension: str, known: Any) -> list[Any]:
    """The widgets for one player and dimension; each has one of UNANSWERED until it is answered."""
    if dimension != THEORY_OF_MIND:
        steps = sorted({*TENTHS, known} - {None})
        options = {"not answered": ""} | {f"{step:g}": step for step in steps}
        name = f"{dimension.replace('_', ' ')}, 0 to 1"
        value = "" if known is None else known
        return [styled(pn.widgets.Select, name, options=options, value=value, max_width=220)]
    fields = []
    for order, value in zip(ORDERS, known or [None] * len(ORDERS), strict=True):
        options = {f"{order} order: yes": True, f"{order} order: no": False}
        looks = {"inline": True, "sizing_mode": "stretch_width", "stylesheets": [WIDGETS, RADIOS]}
        field = pn.widgets.RadioBoxGroup(label=f"{order} order", options=options, **looks)
        field.value = value  # once more: made without a value, it takes the first option
        fields.append(field)
    return fields


def _rules(sheet: Sheet) -> str:
    """What was played and what is judged, in the words that models are given."""
    games = {log_of(each.game).game: each.game for each in sheet.pages}
    told = "".join(f"<p>{text(setting(each)).replace('`', '')}</p>" for each in games.values())
    lines = {each.replace("_", " "): "<br>".join(map(text, rubric(each))) for each in sheet.dimensions}
    asked = "".join(f"<p><b>{name}</b>: {said}</p>" for name, said in lines.items())
    judged = "What is judged: what each player does in this turn, in the light of what came before"
    return (
        f"<details><summary>What was played</summary>{told}</details>"
        f"<details open><summary>{judged}</summary>{asked}</details>"
    )


def _story(now: Page) -> str:
    """The log up to and with the turn to be judged; what came before it is folded."""
    log = log_of(now.game)
    *before, last = [
        f"<ul>{''.join(_entry(each, log.players) for each in entries)}</ul>" for entries in log.turns[: now.turn]
    ]
    past = "".join(f"<h2>Turn {turn}</h2>{each}" for turn, each in enumerate(before, 1))
    span = f"turns 1 to {len(before)}" if len(before) > 1 else "turn 1"
    folded = f"<details><summary>Before it: {span}</summary>{past}</details>" if before else ""
    known = {"Targets": log.targets, "Who won": log.result}
    told = "".join(f"<p>{name}: {_said(json.loads(each), log.players)}</p>" for name, each in known.items() if each)
    return (
        f'<div class="log" tabindex="0" role="region" aria-label="What happened">{told}{folded}'
        f'<div class="now"><h2>Turn {now.turn}: judge this one</h2>{last}</div></div>'
    )


def _entry(line: str, players: Sequence[str]) -> str:
    """What one player did, or the table: every field with its name."""
    own = json.loads(line)
    who, phase, call = own.pop("player", ""), own.pop("phase", ""), own.get("call")
    if isinstance(call, dict) and not call.keys() & own.keys():
        own = call | {key: value for key, value in own.items() if key != "call"}
    head = f'<b>{_plain(who, players)}</b> <span class="phase">{_plain(phase, players)}</span> ' if who or phase else ""
    fields = [f"<i>{_plain(name, players)}</i> {_said(value, players)}" for name, value in own.items()]
    return f"<li>{head}{'; '.join(fields)}</li>"


def _said(value: Any, players: Sequence[str], nested: bool = False) -> str:
    """A JSON value in words; texts that could be taken for something else are quoted."""
    if isinstance(value, dict):
        words = ", ".join(f"{_plain(key, players)} {_said(each, players, True)}" for key, each in value.items())
        return f"({words})" if nested or not words else words
    if isinstance(value, list):
        return f"[{', '.join(_said(each, players, True) for each in value)}]"
    if value == "":
        return "(empty)"
    if isinstance(value, str):
        known = _plain(value, players)
        return known if re.fullmatch(r"[\w/ -]{1,40}", value) else f"“{known}”"
    return text(json.dumps(value))


def _plain(words: Any, players: Sequence[str]) -> str:
    """A text, with players by their seats: their own names may tell who they are."""
    names = {name: _name(seat) for seat, name in enumerate(players)}
    pattern = "|".join(re.escape(each) for each in sorted(names, key=len, reverse=True))
    return text(re.sub(rf"(?<!\w)(?:{pattern})(?!\w)", lambda found: names[found[0]], str(words)))


def _name(seat: int) -> str:
    return f"Player {seat + 1}"


def _alert(reason: str) -> str:
    return f'<p role="alert" class="alert">{text(reason)}</p>'


def _block(html: str) -> Block:
    return block(html, STYLE)
