"""The raters' page: one turn at a time, judged blind to who played and to all other judgements, and kept before the next is shown."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agon import AgonError
from agon.games.html import alert, text
from agon.games.inputs import Button, Entered, Field, Group, LineField, ListField, RadioField, TextField, Thing
from agon.games.rating.annotations import LONGEST, Page, Sheet, log_of, logs, rubric, setting, shuffled
from agon.games.rating.game import ORDERS, THEORY_OF_MIND, Rating
from agon.games.rating.words import story

LOGS = "data/logs/tradecraft"
"""The folder of logs that are rated."""
STUDIED = ("persuasion", "adaptability", THEORY_OF_MIND)
"""What people judged in paper TradeCraft, C.3."""
TENTHS = [place / 10 for place in range(11)]
"""The steps of a score, which are those of the published assessor."""
SETTLED = 1.0
"""Seconds: a click that comes sooner, upon a page that nobody has touched, is the second half of a double click."""
UNANSWERED = (None, "")
"""What round buttons and lists hold until somebody answers."""
DOOR = (
    "<h1>Rate games</h1><p>You read games turn by turn and judge what each player did. You are told neither who played nor "
    "what others think of it.</p><p>Choose a name. Your answers and reasons are kept under it, and nothing else about "
    "you. Type it again to go on where you stopped: whoever types it sees and can change its answers.</p>"
)


class RatersDesk:
    """Asks for a rater's name unless given, and then about turn after turn; answers go to `folder`/NAME.csv.

    `games`: what is rated, or its folder from the project's root.
    """

    def __init__(
        self,
        folder: Path,
        games: Sequence[Rating] | str = LOGS,
        who: str | None = None,
        dimensions: Sequence[str] = STUDIED,
    ) -> None:
        self.folder, self.games, self.dimensions, self.who = folder, games, dimensions, who
        self._begun: Mapping[str, Any] | None = None
        """What is entered at first where the rater is known."""

    def things(self, entered: Entered) -> Sequence[Thing]:
        """The door, or the turn that the rater has come to: `sheet`, `at` and `since` of what is entered say which."""
        if "sheet" in entered:
            return _turn(entered)
        if self.who is None:
            return self._door(entered)
        self._begun = self._begun or self._begin(self.who)
        return _turn({**self._begun, **entered}) if "sheet" in self._begun else [alert(self._begun["fault"])]

    def _door(self, entered: Entered) -> list[Thing]:
        label = "Your rater name: letters, digits, - and _"
        fault = alert(entered["fault"]) if "fault" in entered else ""
        start = Button("Start", lambda: {**entered, **self._begin(str(entered.get("who") or "").strip())})
        return [DOOR, LineField(key="who", label=label, most=40, press="Start"), fault, start]

    def _begin(self, who: str) -> dict[str, Any]:
        """The first turn that a rater has not answered, or why there is none."""
        try:
            own = logs(self.games) if isinstance(self.games, str) else self.games
            return _next(Sheet(shuffled(own), who, self.folder, self.dimensions), -1)
        except AgonError as error:
            return {"fault": str(error)}


def _at(sheet: Sheet, at: int) -> dict[str, Any]:
    """A turn, by its place; past the last one stands that all is answered."""
    return {"sheet": sheet, "at": min(max(at, 0), len(sheet.pages)), "since": time.monotonic()}


def _next(sheet: Sheet, at: int) -> dict[str, Any]:
    """The first turn after one that is not answered, or the first of all; the end when there is none."""
    left = [sheet.pages.index(each) for each in sheet.left()]
    return _at(sheet, next((place for place in left if place > at), left[0] if left else len(sheet.pages)))


def _turn(entered: Entered) -> list[Thing]:
    """The log up to a turn, and the questions about it, with what was answered before; nothing is answered by itself."""
    sheet, at = entered["sheet"], entered["at"]
    pages = sheet.pages
    done = f"{len(pages) - len(sheet.left())} of {len(pages)} are answered."
    back = [Button("Back", lambda: _at(sheet, at - 1), main=False, wide=140)] if at else []
    if at == len(pages):
        return [f'<div role="status"><h1>All turns are answered</h1><p>{done} Thank you.</p></div>', *back]
    now: Page = pages[at]
    matches = list(dict.fromkeys(each.game.match for each in pages))
    where = f"Match {matches.index(now.game.match) + 1} of {len(matches)}, its turn {now.turn}. {done}"
    given, reason = sheet.given(now)
    players = log_of(now.game).players
    fields = {
        (player, dimension): _fields(f"{at}/{seat}", dimension, given.get(player, {}).get(dimension))
        for seat, player in enumerate(players)
        for dimension in sheet.dimensions
    }
    why = TextField(key=f"{at}/why", label="Why (optional)", value=reason, most=LONGEST, rows=2, wide=1000)
    save = Button("Save and next", lambda: _saved(entered, now, fields, why), wide=260)
    boxes = [Group(_box(seat, player, fields, sheet.dimensions), "box") for seat, player in enumerate(players)]
    fault = alert(f"Not kept yet: {entered['fault']}") if "fault" in entered else ""
    return [
        f'<div role="status"><h1>Turn {at + 1} of {len(pages)}</h1><p>{where}</p></div>',
        Group(
            (
                Group((story(log_of(now.game), now.turn), _rules(sheet)), "read"),
                Group((*boxes, why, fault, Group((*back, save))), "asked"),
            ),
            "columns",
        ),
    ]


Fields = Mapping[tuple[str, str], Sequence[Field]]
"""(player, dimension) -> its entries: one, or one for each of ORDERS."""


def _fields(key: str, dimension: str, known: Any) -> list[Field]:
    """The entries for one player and dimension; each has one of UNANSWERED until it is answered."""
    if dimension != THEORY_OF_MIND:
        steps = {"not answered": ""} | {f"{step:g}": step for step in sorted({*TENTHS, known} - {None})}
        value = "" if known is None else known
        name = f"{dimension.replace('_', ' ')}, 0 to 1"
        return [ListField(key=f"{key}/{dimension}", label=name, options=steps, value=value, wide=220)]
    return [
        RadioField(
            key=f"{key}/{dimension}/{order}",
            label=f"{order} order",
            options={f"{order} order: yes": True, f"{order} order: no": False},
            value=value,
        )
        for order, value in zip(ORDERS, known or [None] * len(ORDERS), strict=True)
    ]


def _box(seat: int, player: str, fields: Fields, dimensions: Sequence[str]) -> list[Thing]:
    """The questions about one player."""
    shown: list[Thing] = [f"<h2>Player {seat + 1}</h2>"]
    for dimension in dimensions:
        shown += ["<b>theory of mind shows</b>"] if dimension == THEORY_OF_MIND else []
        shown += fields[player, dimension]
    return shown


def _saved(entered: Entered, now: Page, fields: Fields, why: Field) -> Mapping[str, Any]:
    """The next turn when the answers are kept, or why they are not."""
    sheet, players = entered["sheet"], log_of(now.game).players

    def values(entries: Sequence[Field]) -> list[Any]:
        return [entered.get(each.key, each.value) for each in entries]

    reason = str(entered.get(why.key, why.value) or "")
    touched = reason or any(value not in UNANSWERED for own in fields.values() for value in values(own))
    if not touched and time.monotonic() - entered["since"] < SETTLED:
        return entered
    missing = []
    for seat, player in enumerate(players):
        entries = [each for dimension in sheet.dimensions for each in fields[player, dimension]]
        open_ = [each.label for each in entries if entered.get(each.key, each.value) in UNANSWERED]
        missing += [f"Player {seat + 1}: {', '.join(open_)}"] if open_ else []
    if missing:
        return {**entered, "fault": f"please answer {'; '.join(missing)}"}
    answers = {
        player: {
            dimension: tuple(values(own)) if dimension == THEORY_OF_MIND else values(own)[0]
            for dimension in sheet.dimensions
            for own in [fields[player, dimension]]
        }
        for player in players
    }
    try:
        sheet.rate(now, answers, reason)
    except AgonError as error:
        return {**entered, "fault": str(error)}
    return _next(sheet, entered["at"])


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
