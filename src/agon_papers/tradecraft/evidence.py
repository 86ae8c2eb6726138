"""The tables that statements of the TradeCraft paper are about, by name; the index names their rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from agon_papers.comparisons import Groups
from agon_papers.draws import Draws, coded, within_cells
from agon_papers.statements import Missing, selected
from agon_papers.tradecraft import counts, scores
from agon_papers.tradecraft.cells import RADAR, ROUNDING, cells
from agon_papers.tradecraft.facts import DIMENSIONS, MODELS, PANELS, PERSONAS, Facts, group_of
from agon_papers.tradecraft.replay import replay

STRATEGIC = ("goal_alignment", "strategic_planning", "information_utilization")
"""The dimensions in which the paper says that winners and losers differ."""

GROUPS: Groups = {
    "models": MODELS,
    "personas": PERSONAS,
    "passes": list(scores.PASSES.values()),
    "radars": [f"figure 4{panel}" for panel in PANELS],
    "pairs of models": ["ge_vs_4o", "4o_vs_cl", "ge_vs_cl"],
    "different preferences": (mixed := ["com_vs_coo", "com_vs_un", "un_vs_coo"]),
    "the same preference": (alike := ["com1_vs_com2", "coo1_vs_coo2", "un1_vs_un2"]),
    "personas' pairs": [*mixed, *alike],
    "strategic dimensions": [DIMENSIONS[name] for name in STRATEGIC],
    **{f"rivals of {one}": [other for other in kind if other != one] for kind in (MODELS, PERSONAS) for one in kind},
}

PLAIN: Mapping[str, Callable[[Facts], pd.DataFrame]] = {
    "all_scores": lambda facts: facts.scores,
    "logged_hands": lambda facts: replay(facts).hands,
    "last_hands": lambda facts: replay(facts).ends,
    "printed_cells": lambda facts: pd.concat([cells(facts, reading) for reading in scores.READINGS]),
    "coverage": scores.coverage,
    "assessor_twice": scores.retest,
    "ways_to_pool": lambda facts: scores.ways(facts, RADAR + ROUNDING),
    "meanings_of_invalid": counts.invalid_definitions,
}
"""Tables that statements take as they are; the others are properties of `Evidence`."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """The facts, and tables of them. Asking for one raises Missing if the games are not all there."""

    facts: Facts
    draws: Draws | None = None
    groups: ClassVar[Groups] = GROUPS
    unit: ClassVar[str] = "game"
    correlated: ClassVar[None] = None

    def rows(self, table: str, where: Mapping[str, Sequence[Any]]) -> pd.DataFrame:
        """The rows of a table with the wanted values. Raises Missing if there are none."""
        return selected(self._plain(table) if table in PLAIN else getattr(self, table), where)

    @cache  # noqa: B019 - one evidence lives as long as its claims
    def _plain(self, table: str) -> pd.DataFrame:
        return PLAIN[table](self.whole)

    def drawn(self, drawing: str, block: int) -> "Evidence":
        """Evidence of record sets with games drawn within their pair of players; standard deviations are never of single games."""
        if block not in self._drawn:
            games = self.whole.players.drop_duplicates("match")
            made = replace(self, draws=within_cells(pd.Index(games.match), games.matchup, block))
            made.__dict__.update(whole=self.whole, players=self.players, scores=self.scores)
            self._drawn[block] = made
        return self._drawn[block]

    @cached_property
    def _drawn(self) -> "dict[int, Evidence]":
        return {}

    def by_chance(self) -> None:
        """Nothing: what a uniform trader would score, no assessor has said."""

    @cached_property
    def whole(self) -> Facts:
        """The facts, if every pair of players has played all its ten games."""
        games = self.facts.players.groupby("matchup").match.nunique()
        if len(games) < len(PANELS) or (games < 10).any():
            raise Missing("the records of some pair of players are not all here")
        return self.facts

    @cached_property
    def players(self) -> pd.DataFrame:
        """Counts by game and seat (`Facts.counted`); index group; winners: how many the game has; lost: the other has won; alone: won, and
        the other has not (1; -1: the reverse); hands, targets: of its two players.
        """
        table = self.whole.counted
        game = table.groupby("match")
        both = {f"{name}s": game[name].transform(" and ".join) for name in ("hand", "target")}
        winners = game.won.transform("sum")
        lost = (winners - table.won).astype(bool)
        alone = table.won.astype(int) - lost
        return table.assign(winners=winners, lost=lost, alone=alone, **both).set_index("group")

    @cached_property
    def rates(self) -> pd.DataFrame:
        """`counts.rates`; index group."""
        return counts.rates(self.whole).set_index("group").loc[[*MODELS, *PERSONAS]]

    @cached_property
    def calls(self) -> pd.DataFrame:
        """The recorded calls (agon.games.tradecraft.story); flag, spelled: as logged; forced: a craft that was refused and done."""
        table = self.whole.calls
        noted = {name: [detail.get(name) for detail in table.detail] for name in ("flag", "spelled", "applied")}
        return table.assign(**noted).assign(forced=lambda calls: calls.applied.eq(True) & ~calls.ok)

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """`counts.heads` of all pairs; index: the group of the first."""
        table = counts.heads(self.whole)
        return table.set_index(table.one.map(group_of))

    @cached_property
    def wins_by_seat(self) -> pd.DataFrame:
        """`counts.seats` by problem, or all; first_alone, second_alone: without games that both won; p: if these were as likely."""
        table = counts.seats(self.whole)
        table = table.assign(first_alone=table["first"] - table.both, second_alone=table.second - table.both)
        return table.assign(p=[chance(*each) for each in zip(table.first_alone, table.second_alone, strict=True)])

    @cached_property
    def scores(self) -> pd.DataFrame:
        """`scores.scored`, logged turns; pass, label: names of pass and dimension; kind: of preferences of the
        two players; primed: they have one; outcome: won or lost; hits, n: for `contrasted`.
        """
        table = scores.scored(self.whole)
        same = np.where(table.group == table.against, "same preference", "two preferences")
        kind = np.where(table.group.isin(PERSONAS), same, "models")
        group = pd.Categorical(table.group, [*MODELS, *PERSONAS])
        names = {"pass": table.repetition.map(scores.PASSES), "label": table.dimension.map(DIMENSIONS)}
        outcome = np.where(table.won.astype(bool), "won", "lost")
        made = table.assign(group=group, kind=kind, outcome=outcome, hits=table.value, n=1, **names)
        return coded(made, but=["match"]).assign(primed=kind != "models")

    @cached_property
    def outcomes(self) -> pd.DataFrame:
        """`scores.outcomes`; index: the pass; label: the dimension's name."""
        table = scores.outcomes(self.whole)
        return table.assign(label=table.dimension.map(DIMENSIONS)).set_index(table.source.rename("pass"))

    @cached_property
    def printed_bars(self) -> pd.DataFrame:
        """The printed bars: index name; measure, printed, defined (what Table 1 defines), ratio of the two."""
        table = self.rows("printed_cells", {"table": ["figure 4j", "figure 4k"], "reading": ["literal"]})
        names = {"column": "measure", "published": "printed", "recomputed": "defined"}
        return table.rename(columns=names).assign(ratio=table.published / table.recomputed).set_index("row")


def chance(one: int, other: int) -> float:
    """Two-sided p of a split among games that one of two won alone, if each were as likely."""
    return float(binomtest(one, one + other).pvalue) if one + other else np.nan
