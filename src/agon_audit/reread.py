"""Recorded answers, read by another rule: the answers that it reads otherwise, and the matches that have such an answer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from agon.models import Answer, Request
from agon.models.base import ReadingRule
from agon.models.ledger import Replayed
from agon.plan import Match
from agon.play.match import Trajectory
from agon.play.run import play_at_once

CHANGES = ("lost", "gained", "other")
"""The effects of another rule on an answer: it is no action any more, it is one now, or it is another action."""


@dataclass(frozen=True, slots=True)
class Reread(Replayed):
    """The recorded answers of a model, each also read by another rule. The match goes on as it was recorded."""

    rule: ReadingRule = "strict"
    rows: list[tuple[str, int, str, str]] = field(default_factory=list)
    """Match, seat, the rule of the recording, and the change (empty: none) of every answer."""

    async def report_reading(
        self, request: Request, answer: Answer, fault: str, reread: Callable[[ReadingRule], Any]
    ) -> None:
        """Notes how the other rule reads an answer."""
        recorded_rule = answer.reading_rule or request.reading_rule
        before, after = reread(recorded_rule), reread(self.rule)
        change = "" if before == after else "lost" if after is None else "gained" if before is None else "other"
        match, seat = request.sample.split("/")[:2]
        self.rows.append((match, int(seat), recorded_rule, change))


def reread_matches(
    matches: Sequence[Match], models: Mapping[str, Reread]
) -> tuple[pd.DataFrame, list[tuple[Match, Trajectory]], list[Match]]:
    """The readings of every recorded answer of `matches`, the matches that no change concerns, and those not recorded to the end.

    The table has one row for each answer: match, seat, agent, model, recorded (the rule of the recording), change (one of CHANGES; empty:
    none). Answers of matches that are not recorded to their end are left out.
    """
    played: list[tuple[Match, Trajectory]] = []
    incomplete: list[Match] = []
    play_at_once(
        [match for match in matches if any(seat.model for seat in match.seats)],
        models,
        lambda match, trajectory: played.append((match, trajectory)),
        incomplete,
    )
    seats = {match.id: match.seats for match, _ in played}
    rows = [
        (match, seat, seats[match][seat].agent, name, rule, change)
        for name, model in models.items()
        for match, seat, rule, change in model.rows
        if match in seats
    ]
    table = pd.DataFrame(rows, columns=["match", "seat", "agent", "model", "recorded", "change"])
    changed = set(table[table.change.ne("")]["match"])
    return table, [(match, trajectory) for match, trajectory in played if match.id not in changed], incomplete
