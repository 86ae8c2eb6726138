"""Asking until a question is decided: matches come in blocks, and bets are settled after every few of them.

A block is one match of each of two conditions in the same cell, which is drawn anew each time, each cell with the same chance: so a
block's difference is on average the mean difference over cells. All follows from the matches in their order, and so from what is
recorded: a run that was killed plays the same matches as one that was not, and decides the same.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from random import Random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agon.conf import id_name, offered
from agon.errors import AgonError
from agon.games.tables import games_table
from agon.models import Halted
from agon.models.ledger import Ledger, Replayed
from agon.models.recording import Recording
from agon.plan import Match
from agon.play import Played, play_at_once
from agon.play import table as turns_of
from agon.record import record
from agon.scores import known, scores
from agon_design.power import sides
from agon_design.prereg import Until, condition_now
from agon_design.sequential import decided, interval

AHEAD = 4
"""Blocks that are played before bets are settled again."""

Side = tuple[Match, int]
"""A match, and the seat that counts in it."""
Block = tuple[Side, Side]
"""Of the first condition, and of the second."""


class Answer(NamedTuple):
    """The question, and what the matches say of it."""

    first: str
    second: str
    blocks: int
    """That it took, or that there are."""
    sign: int
    """Of the second condition less the first: 1, -1, or 0 where it is undecided."""
    low: float
    """Of the difference, at any time (1 - error)."""
    high: float

    def __str__(self) -> str:
        """In words."""
        word = {1: "more than", -1: "less than", 0: "undecided against"}[self.sign]
        return f"{self.second} {word} {self.first} after {self.blocks:,} blocks (difference {self.low:+.3g} to {self.high:+.3g})"


def conditions(until: Until) -> tuple[str, str]:
    """The two of a question, as they are called now."""
    column, _, listed = until.by.partition(":")
    first, second = (condition_now(column, each) for each in listed.split(","))
    return first, second


def blocks(matches: Sequence[Match], until: Until) -> list[Block]:
    """Blocks in their order, up to the first whose cell has no more matches. Raises AgonError for a question they cannot answer."""
    if until.metric not in (names := [each.name for each in known()]):
        raise AgonError(f"there is no metric {until.metric!r}: {offered(until.metric, names, 'agon list metrics')}")
    column, (first, second) = until.by.partition(":")[0], conditions(until)
    asking = any(seat.model for match in matches for seat in match.seats)
    cells: dict[tuple[str, ...], dict[str, list[Side]]] = {}
    for match in matches:
        side = sides(match, asking)[0]
        condition, other = (side.agent, side.model) if column == "agent" else (side.model, side.agent)
        if condition in (first, second):
            opponent = "+".join(id_name("agent", each) for each in side.opponent.split("+"))  # old names keep the order
            cell = (match.game.name, match.game.variant, other, opponent, side.opponent_model)
            cells.setdefault(cell, {first: [], second: []})[condition].append((match, side.seat))
    shared = {cell: own for cell, own in sorted(cells.items()) if all(own.values())}
    if not shared:
        raise AgonError(f"until.by={until.by}: the two share no cell, in which alone they can be compared")
    pairs = {cell: list(zip(*own.values(), strict=False)) for cell, own in shared.items()}
    dice, found = Random("/".join(map(str, shared))), list[Block]()
    while left := pairs[dice.choice(list(pairs))]:
        found.append(left.pop(0))
    return found


def differences(some: Sequence[Block], until: Until, models: Mapping[str, Replayed]) -> NDArray[np.float64]:
    """The second less the first, as a share of the range, in recorded blocks; a block in which either has no metric is left out.

    Raises AgonError for a value outside of the range.
    """
    done = list[tuple[Match, Played]]()
    play_at_once([match for block in some for match, _ in block], models, lambda *each: done.append(each))
    values: dict[tuple[str, int], float] = {}
    with suppress(AgonError):  # no match has the metric, as where nothing could be read
        games = games_table([match.game for match, _ in done])
        table = scores(turns_of(done), games, [until.metric]).dropna()
        values = {(row[0], row[1]): row[2] for row in table.itertuples(index=False, name=None)}
    low, high = until.range
    if beyond := [(match, value) for (match, _), value in values.items() if not low <= value <= high]:
        match, value = beyond[0]
        raise AgonError(
            f"match {match} has {until.metric} {value:g}, outside of until.range=[{low:g}, {high:g}]: "
            "the test needs a range that holds all values"
        )
    pairs = [[values.get((match.id, seat), np.nan) for match, seat in block] for block in some]
    apart = np.diff(pairs, axis=1)[:, 0] / (high - low)
    return apart[~np.isnan(apart)]


def answer(apart: NDArray[np.float64], until: Until) -> Answer:
    """What differences of blocks say of the question."""
    n, sign = decided(apart, until.error)
    width = until.range[1] - until.range[0]
    low, high = interval(apart[:n], until.error)
    return Answer(*conditions(until), n, sign, low * width, high * width)


async def record_until(
    planned: Sequence[Block],
    until: Until,
    ledger: Ledger,
    recording: Recording,
    concurrency: int | None = None,
    say: Callable[[Answer], object] = lambda _: None,
) -> tuple[Answer, list[Halted]]:
    """Records blocks until the question is decided: the answer, and why matches did not come to their end, if some did not."""
    recorded = {name: Replayed(name, each.identity, recording, each.room) for name, each in ledger.models.items()}
    apart = np.zeros(0)
    for at in range(0, len(planned), AHEAD):
        some = planned[at : at + AHEAD]
        if halted := await record([match for block in some for match, _ in block], ledger, concurrency):
            return answer(apart, until), halted
        apart = np.concatenate([apart, differences(some, until, recorded)])
        say(answer(apart, until))
        if decided(apart, until.error).sign:
            break
    return answer(apart, until), []
