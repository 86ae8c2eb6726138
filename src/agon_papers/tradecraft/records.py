"""The records behind the TradeCraft paper's statements: tables of games, scores, rules and set-ups."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from agon_papers import verdict
from agon_papers.resampling import Units
from agon_papers.tradecraft import counts, scores, setups
from agon_papers.tradecraft.cells import RADAR, ROUNDING, cells
from agon_papers.tradecraft.facts import MODELS, PANELS, PERSONAS, Facts
from agon_papers.tradecraft.replay import replay
from agon_papers.verdict import Missing, select_rows


def players(facts: Facts) -> pd.DataFrame:
    """Counts by game and seat (`Facts.counts`).

    New columns. hands, targets: those of both players. winners: the number of winners of the game. lost: the other
    player won. alone: 1 if the player won and the other did not, -1 in the reverse case, else 0.
    """
    table = facts.counts
    game = table.groupby("match")
    both = {f"{name}s": game[name].transform(" and ".join) for name in ("hand", "target")}
    winners = game.won.transform("sum")
    has_lost = (winners - table.won).astype(bool)
    return table.assign(winners=winners, lost=has_lost, alone=table.won.astype(int) - has_lost, **both)


def score_sums(facts: Facts) -> pd.DataFrame:
    """The assessor's scores by game, player and dimension. Columns: the sum over the logged turns (`first pass total`),
    their number (`first pass turns`), and the same for the second pass.

    kind: models; for personas, same preference or two preferences. primed: the players are personas. outcome: won or
    lost.
    """
    table = scores.score_table(facts)
    same = np.where(table.group == table.against, "same preference", "two preferences")
    kind = np.where(table.group.isin(PERSONAS), same, "models")
    outcome = np.where(table.won.astype(bool), "won", "lost")
    table = table.assign(kind=kind, outcome=outcome, run=table.repetition.map(scores.PASSES))
    keys = ["match", "matchup", "name", "group", "against", "kind", "outcome", "dimension"]
    sums = table.groupby([*keys, "run"]).value.agg(total="sum", turns="size").unstack("run", fill_value=0)
    wide = sums.set_axis([f"{run} {name}" for name, run in sums], axis=1).reset_index()
    return wide.assign(primed=wide.kind != "models")


def rates(facts: Facts) -> pd.DataFrame:
    """`counts.rates` with the index group."""
    return counts.rates(facts).set_index("group").loc[[*MODELS, *PERSONAS]]


def calls(facts: Facts) -> pd.DataFrame:
    """The recorded calls (agon.games.tradecraft.story). flag, spelled: as logged.

    forced: a refused craft that took effect.
    """
    table = facts.calls
    logged = {name: [detail.get(name) for detail in table.detail] for name in ("flag", "spelled", "applied")}
    return table.assign(**logged).assign(forced=lambda calls: calls.applied.eq(True) & ~calls.ok)


OF_GAMES: Mapping[str, Callable[[Facts], pd.DataFrame]] = {
    "players": players,
    "scores": score_sums,
    "all_scores": lambda facts: facts.scores,
    "calls": calls,
    "hands": lambda facts: replay(facts).hands,
    "ends": lambda facts: replay(facts).ends,
    "rates": rates,
    "cells": lambda facts: pd.concat([cells(facts, reading) for reading in scores.READINGS]),
    "coverage": scores.coverage,
    "retest": scores.retest,
    "ways": lambda facts: scores.ways(facts, RADAR + ROUNDING),
    "invalid": counts.invalid_definitions,
}
"""Tables that need all games."""

OF_RULES: Mapping[str, Callable[[Facts], pd.DataFrame]] = {
    "rulesets": lambda facts: setups.rulesets(),
    "problems": lambda facts: setups.problems(facts.players.problem),
    "targets": lambda facts: setups.targets(facts.players.problem),
    "goals": lambda facts: setups.goals(),
}
"""Tables of rules and set-ups."""


@dataclass(frozen=True, eq=False)
class Records(verdict.Records):
    """Tables of the facts. The units of resampling are games."""

    facts: Facts
    unit: ClassVar[str] = "game"

    def rows(self, table: str, where: Mapping[str, Any]) -> pd.DataFrame:
        """The rows of a table with the values `where`. Raises Missing if no row has a value, and for missing games."""
        if table not in self._tables:
            of = OF_RULES.get(table) or OF_GAMES[table]
            self._tables[table] = of(self.facts if table in OF_RULES else self.complete_facts)
        return select_rows(self._tables[table], where)

    def redraws(self, table: pd.DataFrame, drawing: str, by: Sequence[str] = ()) -> Callable[[int], pd.DataFrame]:
        """Draws games within their pair of players, for every `drawing`. Tables without games stay unchanged."""
        return self._games.redraws(table, by)

    def cells(self, tables: Sequence[pd.DataFrame]) -> Sequence[int]:
        """The number of games of each pair of players."""
        return self._games.sizes(tables)

    @cached_property
    def complete_facts(self) -> Facts:
        """The facts. Raises Missing if a pair of players has fewer than ten games."""
        games = self.facts.players.groupby("matchup").match.nunique()
        if len(games) < len(PANELS) or (games < 10).any():
            raise Missing("the records of some pair of players are not all here")
        return self.facts

    @cached_property
    def _tables(self) -> dict[str, pd.DataFrame]:
        return {}

    @cached_property
    def _games(self) -> Units:
        return Units(self.facts.players.drop_duplicates("match"), ["matchup"])
