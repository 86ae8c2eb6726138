"""Asks until a question is decided: matches come in blocks, and a sequential test follows every few blocks.

A block is one match of each of two conditions in the same cell. Each block draws its cell anew, each cell with the same chance, so that
the expected difference of a block is the mean difference over cells. The decision depends only on the matches in their order, and so on
the recording: a run that was killed plays the same matches as one that was not, and decides the same.
"""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agon.conf import id_name
from agon.errors import AgonError, count
from agon.games.tables import games_table
from agon.models import Halted, Model
from agon.models.base import require_callable
from agon.models.ledger import Ledger, Replayed
from agon.models.recording import Recording
from agon.plan import Match
from agon.play import Trajectory, play_at_once
from agon.play import turns_table as turns_of
from agon.record import record
from agon.record.estimate import estimates
from agon.scores import measure, require_metrics, with_all
from agon_design.power import sides
from agon_design.prereg import Until, condition_now
from agon_design.sequential import decide_sign, interval

AHEAD = 4
"""Number of blocks between two tests."""

Side = tuple[Match, int]
"""A match, and the seat that counts in it."""
Block = tuple[Side, Side]
"""The sides of the first and of the second condition."""


class Answer(NamedTuple):
    """The two conditions of a question, and the decision between them."""

    first: str
    second: str
    blocks: int
    """Number of blocks up to the decision, or of all blocks."""
    sign: int
    """The sign of the second condition less the first; 0 where it is undecided."""
    low: float
    """Lower end of the interval of the difference; it holds at any time (1 - error)."""
    high: float

    def __str__(self) -> str:
        """The answer in words."""
        word = {1: "more than", -1: "less than", 0: "undecided against"}[self.sign]
        end = f"after {count(self.blocks, 'block')} (difference {self.low:+.3g} to {self.high:+.3g})"
        return f"{self.second} {word} {self.first} {end}"


def conditions(until: Until) -> tuple[str, str]:
    """The two conditions of a question, by their present names."""
    column, _, names = until.by.partition(":")
    first, second = (condition_now(column, name) for name in names.split(","))
    return first, second


def blocks(matches: Sequence[Match], until: Until) -> list[Block]:
    """Blocks in their order, up to the first whose cell has no more matches.

    Raises AgonError for a metric that does not exist, and where the two conditions share no cell.
    """
    require_metrics([until.metric])
    column, (first, second) = until.by.partition(":")[0], conditions(until)
    asking = any(seat.model for match in matches for seat in match.seats)
    cells: dict[tuple[str, ...], dict[str, list[Side]]] = {}
    for match in matches:
        side = sides(match, asking)[0]
        condition, other = (side.agent, side.model) if column == "agent" else (side.model, side.agent)
        if condition in (first, second):
            opponent = "+".join(id_name("agent", item) for item in side.opponent.split("+"))  # old names keep the order
            cell = (match.game.name, match.game.variant, other, opponent, side.opponent_model)
            cells.setdefault(cell, {first: [], second: []})[condition].append((match, side.seat))
    shared = {cell: of_cell for cell, of_cell in sorted(cells.items()) if all(of_cell.values())}
    if not shared:
        raise AgonError(f"until.by={until.by}: the two share no cell, in which alone they can be compared")
    pairs = {cell: list(zip(*of_cell.values(), strict=False)) for cell, of_cell in shared.items()}
    dice, order = Random("/".join(map(str, shared))), list[Block]()
    while remaining := pairs[dice.choice(list(pairs))]:
        order.append(remaining.pop(0))
    return order


def dependence(models: Mapping[str, Model]) -> list[str]:
    """Warnings about models whose repetitions are not independent matches, as the test takes them to be."""
    warnings = []
    for name, model in models.items():
        parameters = dict(model.parameters) | (model.parameters.get("extra") or {})
        reasons = ["answers at temperature 0"] if parameters.get("temperature") == 0 else []
        reasons += ["always has the same seed"] if parameters.get("seed") is not None else []
        if reasons:
            warnings.append(
                f"{name} {' and '.join(reasons)}: repetitions of a match can be copies of each other. "
                "The test takes each as a new match, and may decide too soon; set another temperature, or no seed"
            )
    return warnings


def differences(group: Sequence[Block], until: Until, models: Mapping[str, Replayed]) -> NDArray[np.float64]:
    """The differences of recorded blocks, second less first, as shares of the range. Blocks without both metrics are left out.

    Raises AgonError for a value outside of the range, and where the metric cannot be computed.
    """
    courses = list[tuple[Match, Trajectory]]()
    play_at_once([match for block in group for match, _ in block], models, lambda *pair: courses.append(pair))
    table = measure(with_all(turns_of(courses)), games_table([match.game for match, _ in courses]), [until.metric])
    values = {(row[0], row[1]): row[2] for row in table.dropna().itertuples(index=False, name=None)}
    low, high = until.range
    if beyond := [(match, value) for (match, _), value in values.items() if not low <= value <= high]:
        match, value = beyond[0]
        raise AgonError(
            f"match {match} has {until.metric} {value:g}, outside of until.range=[{low:g}, {high:g}]: "
            "the test needs a range that holds all values"
        )
    pairs = [[values.get((match.id, seat), np.nan) for match, seat in block] for block in group]
    apart = np.diff(pairs, axis=1)[:, 0] / (high - low)
    return apart[~np.isnan(apart)]


def answer(steps: NDArray[np.float64], until: Until) -> Answer:
    """The answer that the differences of blocks give."""
    n, sign = decide_sign(steps, until.error)
    width = until.range[1] - until.range[0]
    low, high = interval(steps[:n], until.error)
    return Answer(*conditions(until), n, sign, low * width, high * width)


async def record_until(
    planned: Sequence[Block],
    until: Until,
    ledger: Ledger,
    recording: Recording,
    concurrency: int | None = None,
    say: Callable[[Answer], object] = lambda _: None,
) -> tuple[Answer, list[Halted]]:
    """Records blocks until the question is decided. Returns the answer, and the reasons of matches that were halted."""
    recorded = {name: Replayed(name, model.identity, recording, model.room) for name, model in ledger.models.items()}
    apart = np.zeros(0)
    for at in range(0, len(planned), AHEAD):
        group = planned[at : at + AHEAD]
        matches = [match for block in group for match, _ in block]
        rows = estimates(matches, ledger.models, recording)
        require_callable({row.model: ledger.models[row.model] for row in rows if row.questions})
        if halted := await record(matches, ledger, concurrency):
            return answer(apart, until), halted
        apart = np.concatenate([apart, differences(group, until, recorded)])
        say(answer(apart, until))
        if decide_sign(apart, until.error).sign:
            break
    return answer(apart, until), []
