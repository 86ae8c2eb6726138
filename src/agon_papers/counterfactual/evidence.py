"""What the statements on the counterfactual games are decided from: selections of matches, and the names that stand for several."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from agon.conf import new_names
from agon_papers.comparisons import Groups
from agon_papers.counterfactual.cells import MODELS as SHORT
from agon_papers.counterfactual.cells import VARIANTS
from agon_papers.draws import DRAW, SEED, Draws, coded, stretched, within_cells
from agon_papers.statements import Missing, selected

MODELS = tuple(SHORT.values())
"""The models of the tables, in their order."""

TWINS = {"C3.7S": "C3.7S(T)", "C4S": "C4S(T)"}
"""Model -> the same model with thinking."""

PLAIN, VOTED = ("zs", "cot", "spp"), ("sc-zs", "sc-cot", "sc-spp")
PEERS = ("zs", "spp", "cot")
SCRIPTS = {"pd": ("srep", "pp", "mf", "tft"), "rps": ("srep", "pp", "ap", "tft")}

GROUPS: Groups = {
    "cell": ("variant", "model", "agent", "opponent"),
    "plain": PLAIN,
    "voted": VOTED,
    "peers": PEERS,
    "patterned": ("pp", "ap", "tft"),
    "claude": ("C3.5Sv2", "C3.7S", "C3.7S(T)", "C4S", "C4S(T)"),
    "claude_37": ("C3.7S", "C3.7S(T)"),
    "claude_4": ("C4S", "C4S(T)"),
    "advanced": ("C3.7S", "C3.7S(T)", "C4S", "C4S(T)"),
    "strong": ("C3.5Sv2", "C3.7S", "C3.7S(T)", "L3.3-70B"),
    "wary": ("C4S", "C4S(T)", "DS-R1"),
    "weak": ("DS-R1", "Mistral"),
    "twins": (*TWINS, *TWINS.values()),
    "games": {"PD": "pd", "RPS": "rps"},
    "comprehension": {"as printed": "opponent_comprehension", "as done": "opponent_comprehension_as_done"},
    "efficiency": {"as printed": "efficiency", "as done": "efficiency_as_done"},
}
"""Names of several. In the prisoner's dilemma, by the paper, the `strong` models cooperate with each other, the `wary` mostly do not."""


CELL = ["game", "variant", "model", "agent", "opponent"]
"""The design, which stays as it is when matches are drawn anew."""

CHANCE_SETS = 10
"""Record sets of uniform play."""

BY_CHANCE = (
    *("total_points", "opponent_comprehension", "opponent_comprehension_as_done"),
    *("cooperation_rate", "distance_to_uniform"),
)
"""What uniform play says something about: it has no tokens and no void rounds."""


KEPT = 8
"""Selections of rows that are remembered: a statement asks for few, and often for the same."""

Cells = tuple[pd.DataFrame, np.ndarray]
"""The combinations of some columns in the order of their first rows, and for each row of a table the number of its own."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """The tables that statements are decided from: those of `claims`, models by their short names, and each caption's true variant.

    `uniform`: matches of a player that chooses uniformly, if there are any. `openings`: by match, the opponent's first move (action).
    `draws`: see agon_papers.draws.
    """

    matches: pd.DataFrame
    shares: pd.DataFrame
    payoffs: pd.DataFrame
    captions: pd.DataFrame
    settings: pd.DataFrame | None = None
    uniform: pd.DataFrame | None = None
    openings: pd.DataFrame | None = None
    draws: Draws | None = None
    kept: dict[tuple[int, str], tuple[pd.DataFrame, pd.DataFrame]] = field(default_factory=dict)
    """Which matches, and what was asked for last -> these matches, and the rows: the record sets of a statement share them."""
    unit: ClassVar[str] = "match"
    correlated: ClassVar[None] = None

    @property
    def groups(self) -> Groups:
        """GROUPS."""
        return GROUPS

    def rows(self, table: str, where: Mapping[str, Sequence[Any]]) -> pd.DataFrame:
        """Rows of a table; by default matches of all games, variants, models, styles and opponents of the paper's tables.

        Tables: "" (matches), "all" (of any model), "actions" (shares of actions), "payoffs" (of the first seat), "captions", "settings",
        "openings" (matches with the opponent's first move).
        Raises Missing when any wanted cell has no row.
        """
        match table:
            case "":
                asked = id(self.matches), repr(where)
                if asked not in self.kept:
                    games = where.get("game", SCRIPTS)
                    rows = pd.concat([self._matches({**where, "game": [game]}) for game in games])
                    if len(self.kept) >= KEPT:
                        self.kept.pop(next(iter(self.kept)))
                    self.kept[asked] = self.matches, rows
                return self.kept[asked][1]
            case "all":
                return self.matches.assign(tabled=self.matches.model.isin(MODELS))
            case "actions":
                return complete(self.shares, {"model": MODELS, **where})
            case "payoffs":
                return selected(self.payoffs[self.payoffs.seat == 0], where)
            case "captions":
                rows = selected(self.captions, where)
                for row in rows.itertuples():
                    self.shown(row.table, row.captioned_variant)
                return rows
            case "settings":
                if self.settings is None or self.settings.empty:
                    raise Missing("the matches' temperature and token limit are not among the tables given (settings)")
                return self.settings
            case "openings":
                if self.openings is None or self.openings.empty:
                    raise Missing("the opponents' first moves are not among the tables given (openings)")
                return self.rows("", where).merge(self.openings[["match", "action"]], on="match")
        raise ValueError(f"there is no table {table}")

    def drawn(self, drawing: str, block: int) -> "Evidence":
        """Evidence of record sets with matches drawn within their cells; for spreads and correlations their deviations are stretched."""
        whole, wide = drawing == "spread", drawing in ("spread", "correlation")
        if (whole, wide, block) not in self._drawn:
            base = self._stretched if wide else self
            cells = base.matches.groupby(CELL, observed=True, sort=False).ngroup()
            draws = within_cells(pd.Index(base.matches.match), cells, block, whole=whole)
            self._drawn[whole, wide, block] = replace(base, draws=draws)
        return self._drawn[whole, wide, block]

    @cached_property
    def _drawn(self) -> "dict[tuple[bool, bool, int], Evidence]":
        return {}

    @cached_property
    def _stretched(self) -> "Evidence":
        return replace(self, matches=stretched(self.matches, CELL))

    def by_chance(self) -> "Evidence | None":
        """Evidence of record sets in which every model chose uniformly, in as many matches; None without `uniform`."""
        return self._by_chance

    @cached_property
    def _by_chance(self) -> "Evidence | None":
        if self.uniform is None:
            return None
        keys = ["game", "variant", "opponent"]
        pool = self.uniform.astype(dict.fromkeys(keys, object))
        pool["opponent"] = pool.opponent.replace(
            {now: old for old, now in new_names("agent").items()}
        )  # as the paper has it
        places = pool.groupby(keys, sort=False).indices
        dice, sets = np.random.default_rng(SEED), []
        wanted = self.matches[keys].astype(object)
        wanted = wanted.assign(opponent=wanted.opponent.where(~wanted.opponent.isin(PEERS), "uniform"))
        groups = wanted.reset_index(drop=True).groupby(keys, sort=False).indices
        for number in range(CHANCE_SETS):
            taken = np.empty(len(wanted), dtype=np.intp)
            for key, rows in groups.items():
                taken[rows] = dice.choice(places[key], len(rows))
            values = {name: pool[name].to_numpy()[taken] for name in BY_CHANCE}
            hidden = self.matches.columns.intersection(["tokens", "efficiency", "efficiency_as_done", "validity_rate"])
            sets.append(self.matches.drop(columns=hidden).assign(**values, **{DRAW: number}))
        return replace(self, matches=coded(pd.concat(sets, ignore_index=True)), shares=self.shares.iloc[:0])

    def _matches(self, where: Mapping[str, Sequence[Any]]) -> pd.DataFrame:
        [game] = where["game"]
        opponents = [
            name for one in where.get("opponent", ()) for name in (SCRIPTS[game] if one == "scripts" else [one])
        ]
        wanted = {"variant": VARIANTS, "model": MODELS, "agent": (*PLAIN, *VOTED), **where}
        wanted |= {"opponent": opponents or (*PEERS, *SCRIPTS[game])}
        columns = tuple(wanted)
        if columns not in self._cells:
            table = self.matches[[*columns]]
            first = ~table.duplicated()
            self._cells[columns] = (
                table[first],
                table.groupby([*columns], observed=True, sort=False, dropna=False).ngroup().to_numpy(),
            )
        return complete(self.matches, wanted, self._cells[columns])

    @cached_property
    def _cells(self) -> dict[tuple[str, ...], Cells]:
        """Of the matches, by columns."""
        return {}

    def matrix(self, game: str, variant: str) -> pd.DataFrame:
        """What the first seat is paid: index its action, columns the other's, in the game's order."""
        rules = self.rows("payoffs", {"game": [game], "variant": [variant]})
        order = [*dict.fromkeys(rules.action)]
        return rules.pivot_table(index="action", columns="others", values="payoff", sort=False)[order]

    def shown(self, table: int, caption: str) -> str:
        """The variant whose matches gave a printed table's numbers under `caption`. Raises Missing when none gave most."""
        found = self.captions[(self.captions.table == table) & (self.captions.captioned_variant == caption)]
        if found.empty or not 2 * found.agree.iloc[0] > found["of"].iloc[0]:
            raise Missing(f"the variant of most numbers of Table {table} ({caption}) is not known")
        return str(found.variant.iloc[0])


def complete(table: pd.DataFrame, wanted: Mapping[str, Sequence[Any]], known: Cells | None = None) -> pd.DataFrame:
    """The rows with the wanted values. Raises Missing when any combination of these has no row.

    `known`: the table's cells by the wanted columns.
    """
    every = table[[*wanted]] if known is None else known[0]
    fits = pd.concat([every[key].isin(values) for key, values in wanted.items()], axis=1).all(axis=1)
    rows = table[fits if known is None else fits.to_numpy()[known[1]]]
    cells = every[fits].drop_duplicates()
    gaps = prod(map(len, wanted.values())) - len(cells)
    if gaps:
        absent = [
            f"{key} {value}" for key, values in wanted.items() for value in values if value not in set(cells[key])
        ]
        whole = pd.MultiIndex.from_product(wanted.values())
        first = whole[~whole.isin(pd.MultiIndex.from_frame(cells))][0]
        which = "any wanted cell" if cells.empty else ", ".join(absent) or "some cells"
        raise Missing(f"no records of {which}; {gaps} cells, the first {' '.join(map(str, first))}")
    return rows


def prepared(matches: pd.DataFrame, payoffs: pd.DataFrame) -> pd.DataFrame:
    """Matches with the models' short names and what statements compare by.

    Columns more: style (without the vote) and voting (plain, voted); base (model without thinking) and thinking (plain, thinking);
    against (opponent, or models); mutual (points of mutual cooperation), best_of_cycle (of the best reply to every action in turn) and
    ceiling (the former in the prisoner's dilemma, the latter in rock, paper, scissors).
    """
    table = short(matches)
    first = payoffs[payoffs.seat == 0]
    rules = first.assign(paid=first.payoff).groupby(["game", "variant"], sort=False)
    mutual = rules.paid.first().rename("mutual")
    best = (
        first.groupby(["game", "variant", "others"])
        .payoff.max()
        .groupby(["game", "variant"])
        .mean()
        .rename("best_of_cycle")
    )
    table = table.join(mutual, on=["game", "variant"]).join(best, on=["game", "variant"])
    bases = {twin: model for model, twin in TWINS.items()}
    table = table.assign(ceiling=table.mutual.where(table.game == "pd", table.best_of_cycle) * table.rounds)
    made = table.assign(
        style=pd.Categorical(table.agent.str.removeprefix("sc-"), PLAIN),
        voting=table.agent.str.startswith("sc-").map({True: "voted", False: "plain"}),
        base=table.model.replace(bases),
        thinking=table.model.isin(bases).map({True: "thinking", False: "plain"}),
        against=table.opponent.where(~table.opponent.isin(PEERS), "models"),
        mutual=table.mutual * table.rounds,
        best_of_cycle=table.best_of_cycle * table.rounds,
    )
    return coded(made, but=["match", "model", "opponent_model"])


def short(table: pd.DataFrame) -> pd.DataFrame:
    """Plain text instead of categories, and the tables' names of models."""
    text = [name for name in ("game", "variant", "model", "agent", "opponent", "action") if name in table]
    models = [name for name in ("model", "opponent_model") if name in table]
    return table.astype(dict.fromkeys(text, object)).replace(dict.fromkeys(models, SHORT))
