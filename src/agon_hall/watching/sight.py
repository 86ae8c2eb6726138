"""What a player saw, as far as it is recorded: the page of a person, the prompt of a model, the data of a script."""

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from agon.errors import AgonError
from agon.games.base import PUBLIC
from agon.games.sentences import join_words
from agon.models.recording import FILE
from agon.paths import ROOT
from agon.plan import PERSON
from agon.turns import PARTIAL
from agon_hall.watching.match import MatchRecord, parse_detail
from agon_hall.watching.prompts import Prompts

ABSENT = "not recorded"


class Sight(NamedTuple):
    """The way in which a player saw a match."""

    how: str
    """The way, in a sentence or two."""
    aids: Sequence[str] = ()
    """The aids that are recorded."""
    board: bool = True
    """Whether they saw a board. A model sees none."""
    prompt: Sequence[tuple[str, str]] = ()
    """The roles and texts that a model was sent at this place."""


def sight_of(record: MatchRecord, at: int, seat: int) -> Sight:
    """The sight of a seat, or PUBLIC, at a place."""
    if seat == PUBLIC:
        return _public_sight(record)
    rows = record.turns[record.turns.seat == seat]
    if rows.empty:
        return Sight(f"How this seat saw the match is {ABSENT}: it has no row.")
    first = rows.iloc[0]
    if not pd.isna(first.model):
        return _model_sight(record, at, seat)
    if first.agent != PERSON:
        return Sight(
            "A script, which was given what the game let it know as data. Here that is drawn as a board, without aids."
        )
    aids = recorded_aids(record.turns, seat)
    if aids is None:
        return Sight(f"A person. Which aids their page had is {ABSENT}, so none is shown.")
    return Sight(f"The page of a person: {_board_with(aids)}.", aids)


def _public_sight(record: MatchRecord) -> Sight:
    """Watchers of a table see the aids of its people. Nobody watches a match without people."""
    turns = record.turns
    people = turns[(turns.agent == PERSON) & turns.model.isna()].seat.unique()
    if not len(people):
        return Sight("What anybody may know. Nobody watched: no person was at the table.")
    aids = [recorded for seat in people if (recorded := recorded_aids(turns, seat)) is not None]
    if not aids:
        return Sight(f"What anybody may know. Which aids the page had is {ABSENT}, so none is shown.")
    return Sight(f"What anybody who watched could see: {_board_with(aids[0])}.", aids[0])


def _board_with(aids: Sequence[str]) -> str:
    return f"a board with the aids {join_words(aids)}" if aids else "a board without aids"


def recorded_aids(turns: pd.DataFrame, seat: int) -> list[str] | None:
    """The aids of a seat, from the `detail` of its first row; None if that has none."""
    rows = turns[(turns.seat == seat) & turns.detail.notna()]
    aids = next((aids for detail in rows.detail if isinstance(aids := parse_detail(detail).get("aids"), list)), None)
    return None if aids is None else [str(aid) for aid in aids]


# ---- prompts of models


def _model_sight(record: MatchRecord, at: int, seat: int) -> Sight:
    reads_prompt = "A model, which reads a prompt and sees no page."
    row = next((row for row in record.rows(at) if row.seat == seat), None)
    if row is None or (pd.isna(row.legal) and pd.isna(row.action)):
        return Sight(f"{reads_prompt} It was not asked at this step.", board=False)
    try:
        prompt = () if pd.isna(row.exchange) else prompt_of(str(row.experiment), str(row.exchange))
    except AgonError as error:
        return Sight(f"{reads_prompt} Its prompt cannot be read: {error}", board=False)
    about_prompt = "Its prompt, as it was sent:" if prompt else f"Its prompt is {ABSENT} here."
    return Sight(f"{reads_prompt} {about_prompt}", board=False, prompt=prompt)


def prompt_of(experiment: str, exchange: str, folder: Path = ROOT / "data/recordings") -> tuple[tuple[str, str], ...]:
    """The role and text of every message before a recorded answer; empty if no recording has it.

    Raises AgonError for a damaged recording.
    """
    path = folder / PARTIAL.sub("", experiment) / FILE
    if not path.is_file() or path.resolve().parent.parent != folder.resolve():
        return ()
    status = path.stat()
    recording = _recording(path.parent, status.st_mtime_ns, status.st_size)
    return tuple((line.role, line.text) for line in recording.prompt(exchange))


@functools.lru_cache(maxsize=2)
def _recording(folder: Path, modified: int, size: int) -> Prompts:
    """A recording. It is read again when its file has changed."""
    return Prompts(folder)
