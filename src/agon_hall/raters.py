"""Raters: people with a personal link, who judge one turn at a time. They see neither who played nor any other judgement.

The experimenter chooses the games, their order and the dimensions. Every answer is saved before the next turn appears, and
unsaved entries are kept as a draft.
"""

import json
import os
import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import msgspec
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agon.agents.languages import say_in
from agon.errors import AgonError
from agon.games.rating.game import ORDERS, THEORY_OF_MIND
from agon.games.rating.logs import logs
from agon.games.rating.words import ORDER, lines_html, outcome_lines, turns
from agon.games.sentences import Say
from agon.paths import display_path
from agon_hall.annotations import LONGEST, Page, Sheet, rubric, setting, shuffled
from agon_hall.web import NoPage, read_form, redirect, render

LOGS = "data/logs/tradecraft"
"""The usual folder of logs."""
STUDIED = ("persuasion", "adaptability", THEORY_OF_MIND)
"""The dimensions that people judged in paper TradeCraft, section C.3."""
TENTHS = [place / 10 for place in range(11)]
"""The steps of a score, as of the published assessor."""


# ---- accounts


class Rater(msgspec.Struct, forbid_unknown_fields=True):
    """A person who may rate, and the logs to rate. Only a hash of the key is saved."""

    key: str
    until: str
    """The day after which the link is void, as 2026-12-31."""
    logs: str = LOGS
    """The folder of logs, from the project's root; all of it in the order of agon_hall.annotations.shuffled."""
    dimensions: tuple[str, ...] = STUDIED
    language: str = "en"
    """The language of their pages (conf/language)."""


def raters(folder: Path) -> dict[str, Rater]:
    """Name -> rater, from `folder`/raters.json; empty without that file. Raises AgonError."""
    path = folder / "raters.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Rater]) if path.exists() else {}
    except (OSError, msgspec.MsgspecError) as error:
        raise AgonError(f"{display_path(path)} cannot be read: {error}") from None


def admit(
    folder: Path, names: Sequence[str], games: str, days: int, again: bool = False, language: str = "en"
) -> dict[str, str]:
    """Gives each name a key that nobody else has, and saves the raters in `folder`/raters.json. Returns name -> key.

    `games`: the folder of logs. `days`: how long the links are valid. `language`: that of the pages. `again`: raters who have a
    link get a new one, and the old one is void; answers stay. Raises AgonError.
    """
    accounts, links = raters(folder), dict[str, str]()
    shuffled_games = shuffled(logs(games))
    say_in(language)  # raises for a faulty file
    until = (datetime.now(UTC) + timedelta(days=days)).date().isoformat()
    for name in names:
        Sheet(shuffled_games, name, folder, STUDIED)
        if name in accounts and not again:
            raise AgonError(f"{name} has a link already: --force makes a new one, and the old one void")
        links[name] = secrets.token_urlsafe(24)
        accounts[name] = Rater(_hash(links[name]), until, games, language=language)
    _write(folder / "raters.json", msgspec.json.encode(accounts))
    return links


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
        raise AgonError(f"{display_path(path)} cannot be written: {error.strerror or error}") from None


# ---- the page


class Question(NamedTuple):
    """Something to be judged of one player."""

    key: str
    """The name of its entry."""
    label: str
    options: Sequence[tuple[str, str, str]]
    """(value that is sent, key of the keyboard that chooses it, its words)."""
    value: str
    """The chosen value; empty for none."""


class RatersDesk:
    """What raters see and send. Answers go to `folder`/NAME.csv, drafts to `folder`/drafts/NAME.json."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._sheets: dict[tuple[str, str], Sheet] = {}

    def owner(self, key: str) -> str:
        """The name of the rater with this key; empty for an unknown or expired key. Raises AgonError."""
        today, hash_of_key = datetime.now(UTC).date().isoformat(), _hash(key)
        owners = [
            name
            for name, rater in raters(self.folder).items()
            if secrets.compare_digest(rater.key, hash_of_key) and rater.until >= today
        ]
        return owners[0] if owners else ""

    def progress(self) -> list[tuple[str, str]]:
        """(name, progress) of every rater. Raises AgonError."""
        lines = []
        for name, rater in raters(self.folder).items():
            sheet = self._sheet(name)
            answered = len(sheet.pages) - len(sheet.open_pages())
            lines.append((name, f"{answered} of {len(sheet.pages)} turns; the link holds until {rater.until}"))
        return lines

    def _say(self, who: str) -> Say:
        return say_in(raters(self.folder)[who].language)

    def _sheet(self, who: str) -> Sheet:
        rater = raters(self.folder)[who]
        if (who, rater.logs) not in self._sheets:
            self._sheets[who, rater.logs] = Sheet(shuffled(logs(rater.logs)), who, self.folder, rater.dimensions)
        return self._sheets[who, rater.logs]

    def context(self, who: str, query: Mapping[str, str]) -> dict[str, Any]:
        """The turn that a rater asks for (`turn`, from 1), or the first open turn. No turn after the first open one is
        shown. If none is open, it is the end page.

        Raises AgonError.
        """
        sheet = self._sheet(who)
        open_pages, turn, pages = sheet.open_pages(), query.get("turn", ""), len(sheet.pages)
        first = _first(sheet)
        at = min(first, max(int(turn) - 1, 0)) if turn.isascii() and turn.isdigit() and len(turn) < 10 else first
        say = self._say(who)
        fields = {"turn_at": at, "pages": pages, "done": pages - len(open_pages), "faults": (), "why_not": ""}
        fields |= {"say": say, "lang": say.language}
        if at == pages:
            return fields | {"title": say("All turns are answered")}
        page = sheet.pages[at]
        answers, draft = self._saved_entries(sheet, page), self._drafts(who).get(_page_key(page))
        return (
            fields
            | self._page(sheet, page, answers if draft is None else draft, say)
            | {"draft": draft is not None, "kept": page not in open_pages}
        )

    def _page(self, sheet: Sheet, page: Page, entries: Mapping[str, str], say: Say) -> dict[str, Any]:
        """The fields of the page of one turn, filled in with `entries`."""
        log, matches = page.game.seen, list(dict.fromkeys(other.game.match for other in sheet.pages))
        turns_html = [Markup(lines_html(turn, say)) for turn in turns(log, say)[: page.turn]]
        return {
            "title": say("Turn {} of {}", sheet.pages.index(page) + 1, len(sheet.pages)),
            "where": say("Match {} of {}, its turn {}.", matches.index(page.game.match) + 1, len(matches), page.turn),
            "turn": page.turn,
            "before": turns_html[:-1],
            "now": turns_html[-1],
            "known": outcome_lines(log, say),
            "setting": setting(page.game, say.language).replace("`", ""),
            "rubrics": [(_name(dimension, say), rubric(dimension, say.language)) for dimension in sheet.dimensions],
            "players": [
                (f"Player {seat + 1}", _questions(sheet, seat, entries, say)) for seat in range(len(log.players))
            ],
            "why": entries.get("why", ""),
            "longest": LONGEST,
        }

    def submit(self, who: str, form: Mapping[str, str]) -> dict[str, Any]:
        """Handles a rater's form. `go` is save, back or absent; without save the entries are kept as a draft.

        Returns {"to": the parameters of the next page}, or the page again with its faults. Raises AgonError.
        """
        sheet, say = self._sheet(who), self._say(who)
        at = form.get("at", "")
        if not (at.isascii() and at.isdigit() and len(at) < 10 and int(at) < min(_first(sheet) + 1, len(sheet.pages))):
            raise AgonError(say("this turn is not yet, or not at all, for you to judge: open your link again"))
        page, place = sheet.pages[int(at)], int(at)
        questions = [question for seat in _seats(page) for question in _questions(sheet, seat, form, say)]
        entries = {
            question.key: question.value
            for question in questions
            if question.value in {sent for sent, _, _ in question.options}
        }
        entries["why"] = form.get("why", "").replace("\r\n", "\n")
        missing, fault = list[tuple[str, str]](), ""
        try:
            if len(entries["why"]) > LONGEST:
                raise AgonError(
                    say("the reason has {} characters; at most {} are allowed", len(entries["why"]), LONGEST)
                )
            if form.get("go") == "save":
                unanswered = [
                    (seat, question)
                    for seat in _seats(page)
                    for question in _questions(sheet, seat, entries, say)
                    if not question.value
                ]
                missing = [(question.key, f"Player {seat + 1}: {question.label}") for seat, question in unanswered]
                if not missing:
                    sheet.rate(page, _answers(sheet, page, entries), entries["why"])
            self._save_draft(who, page, entries if entries != self._saved_entries(sheet, page) else None)
        except AgonError as error:
            fault = str(error)
        if missing or fault:
            fields = self.context(who, {"turn": str(place + 1)}) | self._page(sheet, page, entries, say)
            return fields | {"faults": missing, "why_not": fault}
        if form.get("go") != "save":
            return (
                {"to": {"turn": str(max(place, 1))}}
                if form.get("go") == "back"
                else self.context(who, {"turn": str(place + 1)})
            )
        return {"to": {"turn": str(_first(sheet) + 1)}}

    def _saved_entries(self, sheet: Sheet, page: Page) -> dict[str, str]:
        """The saved answers to a page, as entries of the form."""
        answers, why = sheet.answers_to(page)
        entries = {"why": why}
        for seat, player in enumerate(page.game.seen.players):
            for dimension, value in answers.get(player, {}).items():
                if dimension == THEORY_OF_MIND:
                    yes = zip(ORDERS, value, strict=True)
                    entries |= {f"{seat}/{dimension}/{order}": "yes" if answer else "no" for order, answer in yes}
                else:
                    entries[f"{seat}/{dimension}"] = f"{value:.15g}"
        return entries

    def _drafts(self, who: str) -> dict[str, dict[str, str]]:
        """Key of a page -> the rater's unsaved entries; empty if the file cannot be read."""
        try:
            text = (self.folder / "drafts" / f"{who}.json").read_bytes()
            return msgspec.json.decode(text, type=dict[str, dict[str, str]])
        except (OSError, ValueError, msgspec.MsgspecError, RecursionError):
            return {}

    def _save_draft(self, who: str, page: Page, entries: Mapping[str, str] | None) -> None:
        """Saves a draft of a page; without `entries`, deletes it."""
        before = self._drafts(who)
        after = {key: draft for key, draft in before.items() if key != _page_key(page)}
        after |= {} if entries is None else {_page_key(page): dict(entries)}
        if after != before:
            _write(self.folder / "drafts" / f"{who}.json", json.dumps(after).encode())


def _first(sheet: Sheet) -> int:
    """The index of the first open page, or the number of pages if all are answered. Later pages stay hidden."""
    return next((sheet.pages.index(page) for page in sheet.open_pages()), len(sheet.pages))


def _page_key(page: Page) -> str:
    return f"{page.game.match}/{page.turn}"


def _seats(page: Page) -> range:
    return range(len(page.game.seen.players))


def _name(dimension: str, say: Say) -> str:
    return say(dimension.replace("_", " "))


def _questions(sheet: Sheet, seat: int, entries: Mapping[str, str], say: Say) -> list[Question]:
    """The questions about one player. An entry between the steps stays among the options."""
    questions = []
    for dimension in sheet.dimensions:
        if dimension == THEORY_OF_MIND:
            for order in ORDERS:
                key = f"{seat}/{dimension}/{order}"
                asked = say("theory of mind, {}", say(ORDER[order]))
                answers = [("yes", "y", say("yes")), ("no", "n", say("no"))]
                questions.append(Question(key, asked, answers, entries.get(key, "")))
            continue
        key = f"{seat}/{dimension}"
        entry = entries.get(key, "")
        steps = sorted({*(f"{step:g}" for step in TENTHS), *([entry] if _score(entry) is not None else [])}, key=float)
        keys = {f"{step:g}": str(place) if place < 10 else "t" for place, step in enumerate(TENTHS)}
        questions.append(
            Question(
                key,
                _name(dimension, say),
                [(step, keys.get(step, ""), say.number(float(step))) for step in steps],
                entry,
            )
        )
    return questions


def _score(typed: str) -> float | None:
    try:
        value = float(typed) if len(typed) < 20 else 2.0
    except ValueError:
        return None
    return value if 0 <= value <= 1 else None


def _answers(sheet: Sheet, page: Page, entries: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """The answers of a form, as `Sheet.rate` takes them."""
    answers: dict[str, dict[str, Any]] = {}
    for seat, player in enumerate(page.game.seen.players):
        for dimension in sheet.dimensions:
            if dimension == THEORY_OF_MIND:
                value: Any = tuple(entries[f"{seat}/{dimension}/{order}"] == "yes" for order in ORDERS)
            else:
                value = _score(entries[f"{seat}/{dimension}"])
            answers.setdefault(player, {})[dimension] = value
    return answers


# ---- the address


async def annotate(request: Request) -> Response:
    """The page of the rater whose key is in the address. The experimenter sees everybody's progress instead."""
    desk: RatersDesk = request.app.state.raters
    key = request.query_params.get("key", "")
    try:
        who = desk.owner(key) if key else ""
        if not who:
            return _without_rater(request, desk, key)
        if request.method == "POST":
            context = desk.submit(who, dict(await read_form(request)))
            if "to" in context:
                return redirect(f"/annotate?{urlencode({'key': key, **context['to']})}")
        else:
            context = desk.context(who, dict(request.query_params))
    except AgonError as error:
        raise NoPage("This cannot be done", str(error), HTTPStatus.CONFLICT) from None
    status = HTTPStatus.UNPROCESSABLE_ENTITY if context.get("faults") or context.get("why_not") else HTTPStatus.OK
    links = {"researcher": False, "link": lambda query: f"/annotate?{urlencode({'key': key, **query})}"}
    return render(request, "annotate.html", status, **links, **context)


def _without_rater(request: Request, desk: RatersDesk, key: str) -> Response:
    """The page without a valid key: everybody's progress for the experimenter, a refusal for all others."""
    if not key:
        if request.scope.get("researcher"):
            return render(request, "raters.html", title="Annotate", raters=desk.progress())
        return redirect("/login?next=/annotate")
    why = "This link is not valid, or not any more. Ask whoever gave it to you for a new one."
    raise NoPage("Nothing to see here", why, HTTPStatus.FORBIDDEN, "/annotate with a link that is not valid")


routes = [Route("/annotate", annotate, methods=["GET", "POST"])]
