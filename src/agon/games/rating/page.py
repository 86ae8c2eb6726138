"""How people rate: the log in words, the page of a seat in the game of rating, and the raters' page.

On the raters' page a turn is judged at a time, blind to who played and to all other judgements, and kept before the next is shown.
"""

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agon import AgonError
from agon.games.html import alert, items, label, text
from agon.games.inputs import (
    Button,
    Entered,
    Field,
    Group,
    InvalidEntry,
    LineField,
    ListField,
    RadioField,
    TextField,
    Thing,
    TickField,
    share_of,
)
from agon.games.pages import FamilyPage, Parts, Scene
from agon.games.rating.annotations import LONGEST, Page, Sheet, logs, rubric, setting, shuffled
from agon.games.rating.game import ORDERS, THEORY_OF_MIND, Rating, Ratings, Shown

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


# ---- the page of a seat ----


class RatingPage(FamilyPage):
    """Of rating."""

    own_agents = ("rater", "rater_counts", "rater_random")

    def board(self, scene: Scene) -> Parts:
        """The dimension, and the log turn by turn."""
        log = scene.view.rules
        known = {"What the players were to get hold of": log.targets, "Who won": log.result}
        told = "".join(f"<p>{name}: {said(json.loads(each))}</p>" for name, each in known.items() if each)
        turns = "".join(
            f"<details open><summary>Turn {place}</summary>{items(map(entry, turn))}</details>"
            for place, turn in enumerate(log.turns, 1)
        )
        asked = f"<h2>{text(scene.view.phase.replace('_', ' ').capitalize())}</h2>"
        match = f"<p>A finished match of {text(log.game or 'a game')}. Players wrote to each other, never to you.</p>"
        return {"asked": asked, "log": f"<h3>The match</h3>{match}{told}{turns}"}

    def form(self, scene: Scene, entered: Entered) -> Sequence[Thing]:
        """A score, or three yes or no, and a reason, for every turn and player."""
        space: Ratings = scene.view.legal
        rows = [
            Group((_value(space, f"{turn}/{player}", f"Turn {turn}, {label(player, 40)}"), _why(turn, player)))
            for turn, player in space.units()
        ]
        ticks = ["<p>Tick what is shown; what is not ticked counts as not shown.</p>"] if space.orders else []
        return [*ticks, *rows, Button("Send", lambda: [_ratings(space, entered)], wide=200)]

    def desks(self, folder: Path) -> Mapping[str, Callable[[Entered], Sequence[Thing]]]:
        """The raters' page."""
        return {"annotate": RatersDesk(folder / "annotations").things}


page = RatingPage()


def _value(space: Ratings, key: str, who: str) -> Thing:
    if space.orders:
        orders = {f"{who}: {order} order": place for place, order in enumerate(ORDERS)}
        return TickField(key=key, label=f"{who}: what is shown", options=orders, value=[], wide=300)
    return LineField(key=key, label=f"{who}: score, 0 to 1", wide=260)


def _why(turn: int, player: str) -> Thing:
    return LineField(
        key=f"{turn}/{player}/why", label=f"Turn {turn}, {label(player, 40)}: why (may be empty)", wide=320
    )


def _ratings(space: Ratings, entered: Entered) -> tuple[Any, ...]:
    """A rating for every turn and player. Raises InvalidEntry."""
    found = []
    for turn, player in space.units():
        given = entered.get(f"{turn}/{player}")
        value: Any = tuple(place in (given or ()) for place in range(len(ORDERS))) if space.orders else share_of(given)
        if not space.orders and (value is None or value > 1):
            raise InvalidEntry(f"Turn {turn}, {label(player, 40)}: enter a score from 0 to 1, such as 0.7.")
        found.append((turn, player, value, entered.get(f"{turn}/{player}/why") or ""))
    rated = tuple(found)
    if fault := space.fault(rated):
        raise InvalidEntry(fault[:1].upper() + fault[1:] + ".")
    return rated


# ---- the raters' page ----


class RatersDesk:
    """Asks for a rater's name, and then about turn after turn; answers go to `folder`/NAME.csv.

    `games`: what is rated, or its folder from the project's root.
    """

    def __init__(self, folder: Path, games: Sequence[Rating] | str = LOGS, dimensions: Sequence[str] = STUDIED) -> None:
        self.folder, self.games, self.dimensions = folder, games, dimensions

    def things(self, entered: Entered) -> Sequence[Thing]:
        """The door, or the turn that the rater has come to: `sheet`, `at` and `since` of what is entered say which."""
        if "sheet" in entered:
            return _turn(entered)
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
    players = now.game.seen.players
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
                Group((story(now.game.seen, now.turn), _rules(sheet)), "read"),
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
    sheet, players = entered["sheet"], now.game.seen.players

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
    games = {each.game.seen.game: each.game for each in sheet.pages}
    told = "".join(f"<p>{text(setting(each)).replace('`', '')}</p>" for each in games.values())
    lines = {each.replace("_", " "): "<br>".join(map(text, rubric(each))) for each in sheet.dimensions}
    asked = "".join(f"<p><b>{name}</b>: {said}</p>" for name, said in lines.items())
    judged = "What is judged: what each player does in this turn, in the light of what came before"
    return (
        f"<details><summary>What was played</summary>{told}</details>"
        f"<details open><summary>{judged}</summary>{asked}</details>"
    )


# ---- logs in words ----


Names = Mapping[str, str]
"""Player, as the log has it -> what it is called; a player that is not there is called as the log does."""
LOGGED: Names = {}


def story(log: Shown, turn: int) -> str:
    """A log up to and with a turn, with players by their seats; what came before it is folded."""
    names = {name: f"Player {seat + 1}" for seat, name in enumerate(log.players)}
    *before, last = [
        f"<ul>{''.join(f'<li>{entry(each, names)}</li>' for each in own)}</ul>" for own in log.turns[:turn]
    ]
    past = "".join(f"<h2>Turn {place}</h2>{each}" for place, each in enumerate(before, 1))
    span = f"turns 1 to {len(before)}" if len(before) > 1 else "turn 1"
    folded = f"<details><summary>Before it: {span}</summary>{past}</details>" if before else ""
    known = {"Targets": log.targets, "Who won": log.result}
    told = "".join(f"<p>{name}: {said(json.loads(each), names)}</p>" for name, each in known.items() if each)
    return (
        f'<div class="log" tabindex="0" role="region" aria-label="What happened">{told}{folded}'
        f'<div class="now"><h2>Turn {turn}: judge this one</h2>{last}</div></div>'
    )


def entry(line: str, names: Names = LOGGED) -> str:
    """What one player did, or the table: every field with its name."""
    own = json.loads(line)
    who, phase, call = own.pop("player", ""), own.pop("phase", ""), own.get("call")
    if isinstance(call, dict) and not call.keys() & own.keys():
        own = call | {key: value for key, value in own.items() if key != "call"}
    head = (
        f'<strong>{_plain(who, names)}</strong> <span class="phase">{_plain(phase, names)}</span> '
        if who or phase
        else ""
    )
    return head + "; ".join(f"<em>{_plain(name, names)}</em> {said(value, names)}" for name, value in own.items())


def said(value: Any, names: Names = LOGGED, nested: bool = False) -> str:
    """A JSON value in words; texts that could be taken for something else are quoted."""
    if isinstance(value, dict):
        words = ", ".join(f"{_plain(key, names)} {said(each, names, True)}" for key, each in value.items())
        return f"({words})" if nested or not words else words
    if isinstance(value, list):
        return f"[{', '.join(said(each, names, True) for each in value)}]"
    if value == "":
        return "(empty)"
    if isinstance(value, str):
        known = _plain(value, names)
        return known if re.fullmatch(r"[\w/ -]{1,40}", value) else f"“{known}”"
    return text(json.dumps(value))


def _plain(words: Any, names: Names) -> str:
    """A text, with players by other names: their own may tell who they are."""
    if not names:
        return text(words)
    pattern = "|".join(re.escape(each) for each in sorted(names, key=len, reverse=True))
    return text(re.sub(rf"(?<!\w)(?:{pattern})(?!\w)", lambda found: names[found[0]], str(words)))
