"""Raters: people with a link of their own, who judge a turn at a time, blind to who played and to all other judgements.

Which games they judge, in which order and in which dimensions, is the experimenter's to say; every answer is kept before the next
turn is shown, and what is filled in but not yet saved is kept as a draft.
"""

import json
import os
import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from markupsafe import Markup

from agon.errors import AgonError
from agon.games.rating.annotations import LONGEST, Page, Sheet, logs, rubric, setting, shuffled
from agon.games.rating.game import ORDERS, THEORY_OF_MIND
from agon.games.rating.words import known, told, turns
from agon.paths import shown

LOGS = "data/logs/tradecraft"
"""The folder of logs that are rated."""
STUDIED = ("persuasion", "adaptability", THEORY_OF_MIND)
"""What people judged in paper TradeCraft, C.3."""
TENTHS = [place / 10 for place in range(11)]
"""The steps of a score, which are those of the published assessor."""


# ---- accounts


class Rater(msgspec.Struct, forbid_unknown_fields=True):
    """Who may rate what. Of its key only a hash is kept."""

    key: str
    until: str
    """The day after which the link is void, as 2026-12-31."""
    logs: str = LOGS
    """The folder of logs, from the project's root; all of it in the order of agon.games.rating.annotations.shuffled."""
    dimensions: tuple[str, ...] = STUDIED


def raters(folder: Path) -> dict[str, Rater]:
    """Name -> rater, of `folder`/raters.json; none where it is not there. Raises AgonError."""
    path = folder / "raters.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Rater]) if path.exists() else {}
    except (OSError, msgspec.MsgspecError) as error:
        raise AgonError(f"{shown(path)} cannot be read: {error}") from None


def admitted(folder: Path, names: Sequence[str], games: str, days: int, again: bool = False) -> dict[str, str]:
    """Gives each name a key that nobody else has, and keeps who may rate in `folder`/raters.json. Returns name -> key.

    `again`: who has a link gets a new one, and the old one is void; answers stay. Raises AgonError.
    """
    there, made = raters(folder), dict[str, str]()
    shuffled_games = shuffled(logs(games))
    until = (datetime.now(UTC) + timedelta(days=days)).date().isoformat()
    for name in names:
        Sheet(shuffled_games, name, folder, STUDIED)
        if name in there and not again:
            raise AgonError(f"{name} has a link already: --force makes a new one, and the old one void")
        made[name] = secrets.token_urlsafe(24)
        there[name] = Rater(_hash(made[name]), until, games)
    _write(folder / "raters.json", msgspec.json.encode(there))
    return made


def _hash(key: str) -> str:
    return sha256(key.encode()).hexdigest()


def _write(path: Path, data: bytes) -> None:
    """Writes a file that only its owner can read, in one go. Raises AgonError."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        new = path.with_name(f".{path.name}.new")
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except OSError as error:
        raise AgonError(f"{shown(path)} cannot be written: {error.strerror or error}") from None


# ---- the page


class Question(NamedTuple):
    """Something to be judged of one player."""

    key: str
    """The name of its entry."""
    label: str
    options: Sequence[tuple[str, str]]
    """What is sent, and the key of the keyboard that chooses it."""
    value: str
    """What has been chosen; empty for nothing."""


class RatersDesk:
    """The raters' page, as agon.games.pages.Desk says. Answers go to `folder`/NAME.csv, drafts to `folder`/drafts/NAME.json."""

    template = Path(__file__).with_name("annotate.html")

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._sheets: dict[tuple[str, str], Sheet] = {}

    def opened(self, key: str) -> str:
        """Whose key it is; empty for one that is nobody's, or void. Raises AgonError."""
        today, own = datetime.now(UTC).date().isoformat(), _hash(key)
        found = [name for name, each in raters(self.folder).items() if secrets.compare_digest(each.key, own)]
        return next((name for name in found if raters(self.folder)[name].until >= today), "")

    def progress(self) -> list[tuple[str, str]]:
        """Every rater, and how far it is. Raises AgonError."""
        made = []
        for name, each in raters(self.folder).items():
            sheet = self._sheet(name)
            done = len(sheet.pages) - len(sheet.left())
            made.append((name, f"{done} of {len(sheet.pages)} turns; the link holds until {each.until}"))
        return made

    def _sheet(self, who: str) -> Sheet:
        own = raters(self.folder)[who]
        if (who, own.logs) not in self._sheets:
            self._sheets[who, own.logs] = Sheet(shuffled(logs(own.logs)), who, self.folder, own.dimensions)
        return self._sheets[who, own.logs]

    def shown(self, who: str, asked: Mapping[str, str]) -> dict[str, Any]:
        """The turn that a rater asks for (`turn`, from 1), none past the first that is open, or that one; then the end.

        Raises AgonError.
        """
        sheet = self._sheet(who)
        left, wanted, pages = sheet.left(), asked.get("turn", ""), len(sheet.pages)
        first = _first(sheet)
        at = (
            min(first, max(int(wanted) - 1, 0)) if wanted.isascii() and wanted.isdigit() and len(wanted) < 10 else first
        )
        made = {"turn_at": at, "pages": pages, "done": pages - len(left), "faults": (), "why_not": ""}
        if at == pages:
            return made | {"title": "All turns"}
        page = sheet.pages[at]
        kept, draft = self._kept(sheet, page), self._drafts(who).get(_called(page))
        return (
            made
            | self._page(sheet, page, kept if draft is None else draft)
            | {"draft": draft is not None, "kept": page not in left}
        )

    def _page(self, sheet: Sheet, page: Page, given: Mapping[str, str]) -> dict[str, Any]:
        """All that one turn's page says, filled in as `given`."""
        log, matches = page.game.seen, list(dict.fromkeys(each.game.match for each in sheet.pages))
        own = [Markup(told(turn)) for turn in turns(log)[: page.turn]]
        return {
            "title": f"Turn {sheet.pages.index(page) + 1} of {len(sheet.pages)}",
            "where": f"Match {matches.index(page.game.match) + 1} of {len(matches)}, its turn {page.turn}.",
            "turn": page.turn,
            "before": own[:-1],
            "now": own[-1],
            "known": known(log),
            "setting": setting(page.game).replace("`", ""),
            "rubrics": [(each.replace("_", " "), rubric(each)) for each in sheet.dimensions],
            "players": [(f"Player {seat + 1}", _questions(sheet, seat, given)) for seat in range(len(log.players))],
            "why": given.get("why", ""),
            "longest": LONGEST,
        }

    def sent(self, who: str, form: Mapping[str, str]) -> dict[str, Any]:
        """Keeps what a rater has sent: `go` is save, back, or nothing, which keeps a draft.

        Returns {"to": the parameters of the page to go to}, or the page again with what is wrong. Raises AgonError.
        """
        sheet = self._sheet(who)
        at = form.get("at", "")
        if not (at.isascii() and at.isdigit() and len(at) < 10 and int(at) < min(_first(sheet) + 1, len(sheet.pages))):
            raise AgonError("this turn is not yet, or not at all, for you to judge: open your link again")
        page, place = sheet.pages[int(at)], int(at)
        asked = [each for seat in _seats(page) for each in _questions(sheet, seat, form)]
        own = {each.key: each.value for each in asked if each.value in dict(each.options)}
        own["why"] = form.get("why", "").replace("\r\n", "\n")
        missing, fault = list[tuple[str, str]](), ""
        try:
            if len(own["why"]) > LONGEST:
                raise AgonError(f"the reason has {len(own['why'])} characters; at most {LONGEST} are allowed")
            if form.get("go") == "save":
                filled = [
                    (seat, each) for seat in _seats(page) for each in _questions(sheet, seat, own) if not each.value
                ]
                missing = [(each.key, f"Player {seat + 1}: {each.label}") for seat, each in filled]
                if not missing:
                    sheet.rate(page, _answers(sheet, page, own), own["why"])
            self._draft(who, page, own if own != self._kept(sheet, page) else None)
        except AgonError as error:
            fault = str(error)
        if missing or fault:
            made = self.shown(who, {"turn": str(place + 1)}) | self._page(sheet, page, own)
            return made | {"faults": missing, "why_not": fault}
        if form.get("go") != "save":
            return (
                {"to": {"turn": str(max(place, 1))}}
                if form.get("go") == "back"
                else self.shown(who, {"turn": str(place + 1)})
            )
        return {"to": {"turn": str(_first(sheet) + 1)}}

    def _kept(self, sheet: Sheet, page: Page) -> dict[str, str]:
        """The answers to a page that are kept, as the form has them."""
        answers, why = sheet.given(page)
        made = {"why": why}
        for seat, player in enumerate(page.game.seen.players):
            for dimension, value in answers.get(player, {}).items():
                if dimension == THEORY_OF_MIND:
                    yes = zip(ORDERS, value, strict=True)
                    made |= {f"{seat}/{dimension}/{order}": "yes" if each else "no" for order, each in yes}
                else:
                    made[f"{seat}/{dimension}"] = f"{value:.15g}"
        return made

    def _drafts(self, who: str) -> dict[str, dict[str, str]]:
        """What a rater has filled in and not saved, by turn; none where that cannot be read."""
        try:
            return dict(json.loads((self.folder / "drafts" / f"{who}.json").read_text(encoding="utf-8")))
        except (OSError, ValueError):
            return {}

    def _draft(self, who: str, page: Page, given: Mapping[str, str] | None) -> None:
        """Keeps a draft of a page; None: there is none any more."""
        before = self._drafts(who)
        now = {key: each for key, each in before.items() if key != _called(page)}
        now |= {} if given is None else {_called(page): dict(given)}
        if now != before:
            _write(self.folder / "drafts" / f"{who}.json", json.dumps(now).encode())


def _first(sheet: Sheet) -> int:
    """The place of the first open turn; how many there are where none is. What comes later is not shown before."""
    return next((sheet.pages.index(each) for each in sheet.left()), len(sheet.pages))


def _called(page: Page) -> str:
    return f"{page.game.match}/{page.turn}"


def _seats(page: Page) -> range:
    return range(len(page.game.seen.players))


def _questions(sheet: Sheet, seat: int, given: Mapping[str, str]) -> list[Question]:
    """What is asked about one player; a number between the steps stays among the options."""
    made = []
    for dimension in sheet.dimensions:
        if dimension == THEORY_OF_MIND:
            for order in ORDERS:
                key = f"{seat}/{dimension}/{order}"
                made.append(
                    Question(key, f"theory of mind, {order} order", [("yes", "y"), ("no", "n")], given.get(key, ""))
                )
            continue
        key = f"{seat}/{dimension}"
        known_ = given.get(key, "")
        steps = sorted(
            {*(f"{step:g}" for step in TENTHS), *([known_] if _score(known_) is not None else [])}, key=float
        )
        keys = {f"{step:g}": str(place) if place < 10 else "t" for place, step in enumerate(TENTHS)}
        made.append(Question(key, dimension.replace("_", " "), [(step, keys.get(step, "")) for step in steps], known_))
    return made


def _score(typed: str) -> float | None:
    try:
        value = float(typed) if len(typed) < 20 else 2.0
    except ValueError:
        return None
    return value if 0 <= value <= 1 else None


def _answers(sheet: Sheet, page: Page, own: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """What a form holds, as a sheet takes it."""
    made: dict[str, dict[str, Any]] = {}
    for seat, player in enumerate(page.game.seen.players):
        for dimension in sheet.dimensions:
            if dimension == THEORY_OF_MIND:
                value: Any = tuple(own[f"{seat}/{dimension}/{order}"] == "yes" for order in ORDERS)
            else:
                value = _score(own[f"{seat}/{dimension}"])
            made.setdefault(player, {})[dimension] = value
    return made
