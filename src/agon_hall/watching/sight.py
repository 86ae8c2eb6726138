"""What somebody saw, as far as it is recorded: the page of a person, the prompt of a model, the view of a script."""

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from agon.bridges.rows import Recorded
from agon.errors import AgonError
from agon.games.base import PUBLIC
from agon.games.html import listed
from agon.models.recording import FILE
from agon.paths import ROOT
from agon.plan import PERSON
from agon.turns import PARTIAL
from agon_hall.watching.match import Watched, held

ABSENT = "not recorded"


class Sight(NamedTuple):
    """How somebody saw a match, and with which aids."""

    how: str
    """In a sentence or two."""
    aids: Sequence[str] = ()
    """Those that are recorded."""
    board: bool = True
    """Whether they saw a board: a model reads, and sees none."""
    prompt: Sequence[tuple[str, str]] = ()
    """Of a model that was asked at this place: role -> text, as they were sent."""


def sight_of(watched: Watched, at: int, seat: int) -> Sight:
    """How a seat, or PUBLIC, saw a match at a place."""
    if seat == PUBLIC:
        return _public(watched)
    own = watched.turns[watched.turns.seat == seat]
    if own.empty:
        return Sight(f"How this seat saw the match is {ABSENT}: it has no row.")
    first = own.iloc[0]
    if not pd.isna(first.model):
        return _model(watched, at, seat)
    if first.agent != PERSON:
        return Sight(
            "A script, which was given what the game let it know as data. Here that is drawn as a board, without aids."
        )
    aids = aids_recorded(watched.turns, seat)
    if aids is None:
        return Sight(f"A person. Which aids their page had is {ABSENT}, so none is shown.")
    return Sight(f"The page of a person: {_with(aids)}.", aids)


def _public(watched: Watched) -> Sight:
    """Who watches a table sees the aids that its people do; nobody watched matches without people."""
    turns = watched.turns
    people = turns[(turns.agent == PERSON) & turns.model.isna()].seat.unique()
    if not len(people):
        return Sight("What anybody may know. Nobody watched: no person was at the table.")
    aids = [found for seat in people if (found := aids_recorded(turns, seat)) is not None]
    if not aids:
        return Sight(f"What anybody may know. Which aids the page had is {ABSENT}, so none is shown.")
    return Sight(f"What anybody who watched could see: {_with(aids[0])}.", aids[0])


def _with(aids: Sequence[str]) -> str:
    return f"a board with the aids {listed(aids)}" if aids else "a board without aids"


def aids_recorded(turns: pd.DataFrame, seat: int) -> list[str] | None:
    """The aids of a seat, as the first of its rows names them; None where it does not say."""
    own = turns[(turns.seat == seat) & turns.detail.notna()]
    found = next((aids for detail in own.detail if isinstance(aids := held(detail).get("aids"), list)), None)
    return None if found is None else [str(each) for each in found]


# ---- what models read


def _model(watched: Watched, at: int, seat: int) -> Sight:
    said = "A model, which reads a prompt and sees no page."
    row = next((row for row in watched.rows(at) if row.seat == seat), None)
    if row is None or (pd.isna(row.legal) and pd.isna(row.action)):
        return Sight(f"{said} It was not asked at this step.", board=False)
    try:
        prompt = () if pd.isna(row.exchange) else prompt_of(str(row.experiment), str(row.exchange))
    except AgonError as error:
        return Sight(f"{said} Its prompt cannot be read: {error}", board=False)
    found = "Its prompt, as it was sent:" if prompt else f"Its prompt is {ABSENT} here."
    return Sight(f"{said} {found}", board=False, prompt=prompt)


def prompt_of(experiment: str, exchange: str, folder: Path = ROOT / "data/recordings") -> tuple[tuple[str, str], ...]:
    """What a model was sent before it gave a recorded answer: role and text of every message; empty where no recording has it.

    Raises AgonError for a recording that is damaged.
    """
    path = folder / PARTIAL.sub("", experiment) / FILE
    if not path.is_file() or path.resolve().parent.parent != folder.resolve():
        return ()
    about = path.stat()
    recorded = _recorded(path.parent, about.st_mtime_ns, about.st_size)
    return tuple((line.role, line.text) for line in recorded.prompt(exchange))


@functools.lru_cache(maxsize=2)
def _recorded(folder: Path, changed: int, size: int) -> Recorded:
    """A recording; read again when its file is another."""
    return Recorded(folder)
