"""Ratings by people. A sheet goes through logs turn by turn and saves every answer at once, as scores in a CSV file."""

import csv
import errno
import io
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pandas as pd

from agon.agents.languages import language_for
from agon.agents.prompts import Template, source_of
from agon.errors import AgonError
from agon.games import Dice
from agon.games.rating.game import DIMENSIONS, ORDERS, THEORY_OF_MIND, Rating, Ratings, State
from agon.games.rating.metrics import COLUMNS
from agon.paths import display_path
from agon.turns import no_formula

KEPT = [*COLUMNS, "why"]
"""The columns of a file of annotations: those of scores, and the justification."""
LONGEST = 2000
"""Characters of a justification, at most."""

Answers = Mapping[str, Mapping[str, Any]]
"""Player -> dimension -> a number from 0 to 1, or (first, second, third) for theory of mind."""


def shuffled(games: Sequence[Rating]) -> list[Rating]:
    """The games in the order in which raters see them. It does not depend on the order of the records.

    The order is the same for all raters. So those who stop early have rated the same turns and can be compared.
    """
    mixed = sorted(games, key=lambda game: (game.match, game.variant))
    Random("annotations").shuffle(mixed)
    return mixed


class Page(NamedTuple):
    """A turn of a match. A rater judges all players in it at once, and sees all turns before it."""

    game: Rating
    turn: int


class Sheet:
    """The ratings of some logs by one person, in the file WHO.csv of a folder (`path`). A new sheet continues where it ends.

    `repetition`: the number of this round of ratings, from 0. Raises AgonError for an invalid name or dimension, and for two
    logs of one match.
    """

    def __init__(
        self,
        games: Sequence[Rating],
        who: str,
        folder: Path,
        dimensions: Sequence[str] = DIMENSIONS,
        repetition: int = 0,
    ) -> None:
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,40}", who):
            raise AgonError(f"{who!r} is no name for a file: use letters, digits, - and _")
        if unknown := [dimension for dimension in dimensions if dimension not in DIMENSIONS]:
            raise AgonError(f"there is no dimension {unknown[0]}: there are {', '.join(DIMENSIONS)}")
        if len({game.match for game in games}) < len(games):
            raise AgonError("two of the logs are of the same match: each must have an id of its own in `match`")
        self.rater, self.path = f"human:{who}", folder / f"{who}.csv"
        self.dimensions, self.repetition = tuple(dimensions), repetition
        self._saved = pd.DataFrame()
        self._stamp: tuple[int, int, int] | None = None
        self.pages = [Page(game, turn + 1) for game in games for turn in range(len(game.seen.turns))]

    def open_pages(self) -> list[Page]:
        """The pages that are not answered in full, in order."""
        rows = self._saved_rows()
        answered = set(zip(rows["match"], rows["view"], rows.dimension, rows.turn, rows.seat, strict=True))
        return [page for page in self.pages if not answered.issuperset(self._keys_of(page))]

    def _keys_of(self, page: Page) -> Iterator[tuple[str, str, str, int, int]]:
        seats = range(len(page.game.seen.players))
        return ((page.game.match, page.game.view, *key) for key in product(self.dimensions, [page.turn], seats))

    def answers_to(self, page: Page) -> tuple[dict[str, dict[str, Any]], str]:
        """The saved answers to a page, in the form that `rate` takes, and the justification; empty for an unanswered page."""
        rows = self._saved_rows()
        rows = rows[(rows["match"] == page.game.match) & (rows["view"] == page.game.view) & (rows.turn == page.turn)]
        answers: dict[str, dict[str, Any]] = {}
        for seat, player in enumerate(page.game.seen.players):
            value = rows[rows.seat == seat].set_index(["dimension", "aspect"]).value.to_dict()
            for dimension in self.dimensions:
                orders = dimension == THEORY_OF_MIND
                values = [value.get((dimension, aspect)) for aspect in (ORDERS if orders else ("",))]
                if None not in values:
                    answers.setdefault(player, {})[dimension] = tuple(map(bool, values)) if orders else values[0]
        return answers, "" if rows.empty else str(rows.why.iloc[-1])

    def _saved_rows(self) -> pd.DataFrame:
        """The rows of this rater and repetition in the file. The file is read again only if it has changed."""
        status = self.path.stat() if self.path.exists() else None
        stamp = status and (status.st_size, status.st_mtime_ns, status.st_ino)
        if stamp is None or stamp != self._stamp:
            table = annotations(self.path)
            self._saved, self._stamp = table[(table.rater == self.rater) & (table.repetition == self.repetition)], stamp
        return self._saved

    def text(self, page: Page) -> pd.DataFrame:
        """The log up to and with the turn to be judged, for agon.figures.viewer.shown: columns turn, player, what."""
        rows = [
            (turn, entry.pop("player", ""), json.dumps(entry, ensure_ascii=False))
            for turn, entries in enumerate(page.game.seen.turns[: page.turn], 1)
            for entry in map(json.loads, entries)
        ]
        return pd.DataFrame(rows, columns=["turn", "player", "what"])

    def drawn(self, page: Page, dice: Dice) -> dict[str, dict[str, Any]]:
        """Random answers, for scripts."""

        def value(dimension: str) -> Any:
            return Ratings(1, ("",), dimension == THEORY_OF_MIND).example(dice)[0][2]

        return {
            player: {dimension: value(dimension) for dimension in self.dimensions} for player in page.game.seen.players
        }

    def rate(self, page: Page, answers: Answers, why: str = "") -> None:
        """Saves the answers to a page, for all players and dimensions at once. They are on the disk when it returns.

        Another answer to a page replaces the first one; an equal one is not written again. Raises AgonError, and saves nothing, for
        invalid answers, and where the file cannot be written.
        """
        players = page.game.seen.players
        if len(why) > LONGEST:
            raise AgonError(f"the reason has {len(why)} characters; at most {LONGEST} are allowed")
        if set(answers) != set(players):
            raise AgonError(f"rate each of {', '.join(players)}, and nobody else")
        rows = []
        for seat, player in enumerate(players):
            if set(answers[player]) != set(self.dimensions):
                raise AgonError(f"{player}: rate each of {', '.join(self.dimensions)}, and nothing else")
            for dimension in self.dimensions:
                value = answers[player][dimension]
                orders = dimension == THEORY_OF_MIND
                if fault := Ratings(1, players, orders).fault_of(value):
                    raise AgonError(f"{player}, {dimension}: {fault}")
                both = zip(ORDERS, value, strict=True) if orders else [("", value)]
                head = (page.game.match, self.rater, self.repetition, page.game.view, dimension)
                rows += [(*head, aspect, page.turn, seat, float(number), _plain(why)) for aspect, number in both]
        same = self.answers_to(page) == ({player: dict(answers[player]) for player in players}, _plain(why))
        _append(self.path, [] if same else rows)


def judged(dimensions: Sequence[str]) -> str:
    """The rubrics of some dimensions in Markdown, in the words of the models' prompt."""
    return "\n".join(f"- **{dimension}**: {'<br>'.join(rubric(dimension))}" for dimension in dimensions)


def rubric(dimension: str, language: str = "en") -> list[str]:
    """The rubric of a dimension, line by line, in the words of the models' prompt."""
    prompt_set = language_for(Rating, language).prompts
    return (
        Template(source_of(Rating, "prompt.md", prompt_set=prompt_set), ("rubric",))
        .render("rubric", dimension)
        .splitlines()
    )


def setting(game: Rating, language: str = "en") -> str:
    """A description of the match, in the words of the models' prompt."""
    language_of_game = language_for(game, language)
    template = Template(source_of(Rating, "prompt.md", prompt_set=language_of_game.prompts), ("system",))
    whole = template.render("system", game.observe(State(0), 0), "")
    return whole.partition(f"# {language_of_game.words['the game']}\n")[2].partition("\n\n")[0].strip()


def annotations(*paths: Path) -> pd.DataFrame:
    """The scores in files of annotations, with `why`. Of two answers to a page, the last one counts. A missing file has no scores.

    A line that was cut off while it was written is ignored: that answer was never saved. Raises AgonError for a file that
    cannot be read, or that has other columns.
    """
    rows = []
    for path in paths:
        try:
            text = path.read_text(encoding="utf-8-sig", errors="replace") if path.exists() else ""
        except OSError as error:
            raise AgonError(f"{display_path(path)} cannot be read: {error.strerror or error}") from None
        head = text.partition("\n")[0].replace('"', "").rstrip("\r")
        if not ",".join(KEPT).startswith(head):  # a beginning may be there alone, where writing was cut off
            raise AgonError(f"{display_path(path)} is no file of annotations: its columns must be {','.join(KEPT)}")
        for number, line in enumerate(text.split("\n")):
            if number and line and (row := _row(line)) is not None:
                rows.append(row)
    table = pd.DataFrame(rows, columns=KEPT).astype(
        {"repetition": "int64", "turn": "int64", "seat": "int64", "value": "float64"}
    )
    return table.drop_duplicates([name for name in COLUMNS if name != "value"], keep="last").reset_index(drop=True)


def _row(line: str) -> list[Any] | None:
    try:
        (cells,) = csv.reader([line], strict=True)
        fields = dict(zip(KEPT, cells, strict=True))
        counts = {name: int(fields[name]) for name in ("repetition", "turn", "seat")}
        return list((fields | counts | {"value": float(fields["value"])}).values())
    except (ValueError, csv.Error):
        return None


def _append(path: Path, rows: Sequence[Sequence[Any]]) -> None:
    """Appends lines to a file, durably. If the last line was cut off, a new line comes first. Raises AgonError."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with path.open("ab+", buffering=0) as file:  # unbuffered: one write, so that no other can come between
            end = file.seek(0, os.SEEK_END)
            file.seek(max(0, end - 1))
            before = "" if file.read(1) == b"\n" else "\n" if end else ",".join(KEPT) + "\n"
            whole = (before + text.getvalue()).encode()
            if file.write(whole) != len(whole):
                raise OSError(errno.ENOSPC, "No space left on device")
            os.fsync(file.fileno())
    except OSError as error:
        raise AgonError(
            f"{display_path(path)} cannot be written, the answer is not kept: {error.strerror or error}"
        ) from None


def _plain(why: str) -> str:
    """The justification in one line, because a line of the file is an answer."""
    return no_formula(" ".join(why.encode("utf-8", "replace").decode().split()))
