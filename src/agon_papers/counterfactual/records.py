"""The records behind the statements of the counterfactual paper, and names for groups of models, styles and opponents."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from agon.metrics.record_sets import SEED
from agon_papers import verdict
from agon_papers.counterfactual.cells import MODELS as SHORT
from agon_papers.counterfactual.cells import VARIANTS, agreement, statistics, true_variants
from agon_papers.counterfactual.chance import CONSTANT, UNIFORM, Opponents, all_opponents, steady
from agon_papers.resampling import Units, stretch_deviations
from agon_papers.verdict import Missing, select_rows

MODELS = tuple(SHORT.values())
"""The models of the tables, in their order."""

THINKING = {"C3.7S": "C3.7S(T)", "C4S": "C4S(T)"}
"""Model -> the same model with thinking."""

PLAIN, VOTED = ["zs", "cot", "spp"], ["sc-zs", "sc-cot", "sc-spp"]
PEERS = ["zs", "spp", "cot"]
"""Language models as opponents, by their style."""
SCRIPTS = {"pd": ["srep", "pp", "mf", "tft"], "rps": ["srep", "pp", "ap", "tft"]}
PD_SCRIPTS, RPS_SCRIPTS = SCRIPTS.values()
PATTERNED = ["pp", "ap", "tft"]

CLAUDE = ["C3.5Sv2", "C3.7S", "C3.7S(T)", "C4S", "C4S(T)"]
CLAUDE_37, CLAUDE_4 = ["C3.7S", "C3.7S(T)"], ["C4S", "C4S(T)"]
ADVANCED = [*CLAUDE_37, *CLAUDE_4]
TWINS = [*THINKING, *THINKING.values()]
STRONG, WARY = ["C3.5Sv2", "C3.7S", "C3.7S(T)", "L3.3-70B"], ["C4S", "C4S(T)", "DS-R1"]
"""In the prisoner's dilemma, by the paper, the strong models cooperate with each other, the wary mostly do not."""
WEAK = ["DS-R1", "Mistral"]

CELL = ["variant", "model", "agent", "opponent"]
DEFINITIONS = {
    "as printed": ("opponent_comprehension", "efficiency"),
    "as done": ("opponent_comprehension_as_done", "efficiency_as_done"),
}
"""The two definitions of the round of comprehension (m) and of efficiency: their columns."""
COMPREHENSION = {f"m {name}": m for name, (m, _) in DEFINITIONS.items()}
EFFICIENCY = {f"efficiency {name}": efficiency for name, (_, efficiency) in DEFINITIONS.items()}

DESIGN = ["game", *CELL]
"""Columns of a cell: matches are drawn anew within it."""

BY_CHANCE = [
    *("total_points", "opponent_comprehension", "opponent_comprehension_as_done"),
    *("cooperation_rate", "distance_to_uniform"),
]
"""Columns with values of simulated players, who have no tokens and no void rounds."""
UNUSED = [
    *("experiment", "repetition", "seat", "least", "most", "exploitability", "replaced"),
    *("regret", "void", "cooperation_of_readable"),
]
"""Columns without a statement. Resamples are drawn faster without them."""
NOT_BY_CHANCE = ["tokens", "efficiency", "efficiency_as_done", "validity_rate"]


@dataclass(frozen=True, eq=False)
class Records(verdict.Records):
    """Matches, with the models' short names, and tables beside them; see `records_of`."""

    matches: pd.DataFrame
    shares: pd.DataFrame
    payoffs: pd.DataFrame
    captions: pd.DataFrame
    settings: pd.DataFrame | None = None
    cycles: Mapping[tuple[str, str], Sequence[str]] | None = None
    moves: pd.DataFrame | None = None
    players: ClassVar[tuple[str, Sequence[str]]] = (UNIFORM, CONSTANT)
    not_by_chance: ClassVar[Sequence[str]] = NOT_BY_CHANCE
    unit: ClassVar[str] = "match"

    def rows(self, table: str, where: Mapping[str, Any]) -> pd.DataFrame:
        """Rows of a table. Matches are of the paper's variants, models, styles and opponents, unless `where` names others.

        Opponent "scripts" stands for SCRIPTS of each game. "steady" keeps the opponents that are the same in all these variants: of
        those that are named with it, or of all. Tables: matches, all (of any model), actions (shares of actions), payoffs (of the
        first seat), both_payoffs, captions, settings, moves (a row for each round of these matches).
        Raises Missing if a cell has no row, and if no opponent is the same.
        """
        choices = {key: [value] if isinstance(value, str | int) else [*value] for key, value in where.items()}
        match table:
            case "matches":
                games = choices.get("game", [*SCRIPTS])
                return pd.concat([self._matches({**choices, "game": [game]}) for game in games])
            case "all":
                return self.matches.assign(tabled=self.matches.model.isin(MODELS))
            case "actions":
                return complete(self.shares, {"model": MODELS, **choices})
            case "payoffs":
                return select_rows(self.payoffs[self.payoffs.seat == 0], choices)
            case "both_payoffs":
                return select_rows(self.payoffs, choices)
            case "captions":
                rows = select_rows(self.captions, choices)
                for row in rows.itertuples():
                    self.true_variant(row.table, row.captioned_variant)
                return rows
            case "settings":
                if self.settings is None or self.settings.empty:
                    raise Missing("the matches' temperature and token limit are not among the tables given (settings)")
                return self.settings
            case "moves":
                if self.moves is None or self.moves.empty:
                    raise Missing("the players' moves are not among the tables given (moves)")
                return self.rows("matches", where)[[*DESIGN, "match"]].merge(self.moves, on="match")
        raise ValueError(f"there is no table {table}")

    def redraws(self, table: pd.DataFrame, drawing: str, by: Sequence[str] = ()) -> Callable[[int], pd.DataFrame]:
        """Draws matches within their cells; for spreads and correlations, of stretched deviations. Other tables stay as they are."""
        if "match" in table and drawing in ("spread", "correlation"):
            wide = self._stretched.loc[table.match].set_index(table.index)
            table = table.assign(**wide[wide.columns.intersection(table.columns)])
        return self._units.redraws(table, by, whole=drawing == "spread")

    def cells(self, tables: Sequence[pd.DataFrame]) -> Sequence[int]:
        """The number of these matches in each of their cells."""
        return self._units.sizes(tables)

    def by_chance(self, table: pd.DataFrame, player: str, number: int) -> pd.DataFrame:
        """The matches as another player plays them, drawn from simulated ones.

        `player`: UNIFORM or one of CONSTANT. Raises Missing without `cycles`, and for the players' moves.
        """
        if "match" not in table:
            return table
        if self.cycles is None or not {"total_points", "value"} & {*table}:
            raise Missing("nothing says what uniform play gives here")
        draws = self._chance_sets(player, number).iloc[self._units.places(table)]
        if "value" in table:
            places = draws.columns.get_indexer(table.action)
            rounds = self.matches["rounds"].iloc[self._units.places(table)].to_numpy()
            return table.assign(value=draws.to_numpy()[np.arange(len(draws)), places], n=rounds)
        return table.drop(columns=NOT_BY_CHANCE, errors="ignore").assign(
            **{name: draws[name].to_numpy() for name in BY_CHANCE}
        )

    def true_variant(self, table: int, variant: str) -> str:
        """The variant of most numbers of a printed table under this caption. Raises Missing if no variant has more than half."""
        rows = self.captions[(self.captions.table == table) & (self.captions.captioned_variant == variant)]
        if rows.empty or not 2 * rows.agree.iloc[0] > rows["of"].iloc[0]:
            raise Missing(f"the variant of most numbers of Table {table} ({variant}) is not known")
        return str(rows.variant.iloc[0])

    def _matches(self, where: Mapping[str, Sequence[Any]]) -> pd.DataFrame:
        [game] = where["game"]
        usual = {"variant": VARIANTS, "model": MODELS, "agent": [*PLAIN, *VOTED], "opponent": [*PEERS, *SCRIPTS[game]]}
        choices = usual | {**where}
        if "scripts" in choices["opponent"]:
            choices["opponent"] = SCRIPTS[game]
        if "steady" in choices["opponent"]:
            names = [name for name in choices["opponent"] if name != "steady"] or usual["opponent"]
            choices["opponent"] = self._steady(names, game, choices["variant"])
        return complete(self.matches, choices)

    def _steady(self, names: Sequence[str], game: str, variants: Sequence[str]) -> list[str]:
        """Those of these opponents that are the same in all these variants. Raises Missing if none is."""
        known = [self._opponents[game, variant] for variant in variants if (game, variant) in self._opponents]
        same = steady(names, known) if known else [*names]
        if not same:
            raise Missing(f"the script {', '.join(names)} is not the same opponent in {' and '.join(variants)}")
        return same

    @cached_property
    def _units(self) -> Units:
        return Units(self.matches, DESIGN)

    @cached_property
    def _stretched(self) -> pd.DataFrame:
        """The numbers of each match, with stretched deviations."""
        return stretch_deviations(self.matches, DESIGN).set_index("match").select_dtypes("float")

    @cached_property
    def _opponents(self) -> dict[tuple[str, str], Opponents]:
        return {(games.game, games.variant): games for games in all_opponents(self.payoffs, self.cycles or {})}

    @cached_property
    def _simulated(self) -> dict[tuple[str, ...], pd.DataFrame]:
        """(player, game, variant, opponent) -> simulated matches."""
        return {}

    def _chance_sets(self, player: str, number: int) -> pd.DataFrame:
        """A row for each recorded match: what another player got in a simulated one against the same opponent."""
        if (player, number) in self._sets:
            return self._sets[player, number]
        dice = np.random.default_rng([SEED, number])
        parts = []
        for (game, variant, against), rows in self.matches.groupby(["game", "variant", "against"], sort=False):
            key = (player, game, variant, against)
            if key not in self._simulated:
                seed = np.random.default_rng([SEED, *"".join(key).encode()])
                self._simulated[key] = self._opponents[game, variant].play(player, against, seed)
            pool = self._simulated[key][[*BY_CHANCE, *self._opponents[game, variant].options]]
            parts.append(pool.iloc[dice.integers(0, len(pool), len(rows))].set_axis(rows.match))
        table = pd.concat(parts).loc[self.matches.match]
        self._sets[player, number] = table
        return table

    @cached_property
    def _sets(self) -> dict[tuple[str, int], pd.DataFrame]:
        return {}


def records_of(
    matches: pd.DataFrame,
    shares: pd.DataFrame,
    payoffs: pd.DataFrame,
    published: pd.DataFrame,
    settings: pd.DataFrame | None = None,
    cycles: Mapping[tuple[str, str], Sequence[str]] | None = None,
    moves: pd.DataFrame | None = None,
) -> Records:
    """Prepares the tables: the models' short names, and the true variant of each caption.

    `matches`: agon.games.matrix.metrics.per_match of the player under test, all recorded matches. `shares`: action_shares of
    seat 0 by game, variant, model, agent, opponent and match. `payoffs`: rows of agon.games.payoff_rows. `published`: tables.csv.
    `settings`: one row per match with temperature and max_tokens. `cycles`: as of `chance.cycles_of`, for the values by chance and
    for the opponents that are the same in several variants. `moves`: match, round, model_action and script_action (the
    opponent's). Statements that need a table which is None cannot be checked.
    """
    text = published.astype({"mean": str, "std": str})
    captions = true_variants(agreement(statistics(matches, "reconciled"), text), text)
    known_shares = short(shares[shares.match.isin(matches.match)])
    return Records(prepared(matches, payoffs), known_shares, payoffs, captions, settings, cycles, moves)


def complete(table: pd.DataFrame, choices: Mapping[str, Sequence[Any]]) -> pd.DataFrame:
    """The rows with these values. Raises Missing if any combination of them has no row."""
    fits = pd.concat([table[key].isin(values) for key, values in choices.items()], axis=1).all(axis=1)
    rows = table[fits]
    cells = rows[[*choices]].drop_duplicates()
    gaps = prod(map(len, choices.values())) - len(cells)
    if gaps:
        absent = [
            f"{key} {value}" for key, values in choices.items() for value in values if value not in set(cells[key])
        ]
        product = pd.MultiIndex.from_product(choices.values())
        first = product[~product.isin(pd.MultiIndex.from_frame(cells))][0]
        which = "any wanted cell" if cells.empty else ", ".join(absent) or "some cells"
        raise Missing(f"no records of {which}; {gaps} cells, the first {' '.join(map(str, first))}")
    return rows


def prepared(matches: pd.DataFrame, payoffs: pd.DataFrame) -> pd.DataFrame:
    """Matches with the models' short names and the columns by which statements compare.

    New columns: style (without the vote) and voting (plain, voted); base (model without thinking) and thinking (plain, thinking);
    against (opponent, or models); reach (by how many points totals against this opponent can differ); mutual (points of mutual
    cooperation), best_of_cycle (of the best reply to every action in turn) and
    ceiling (mutual in the prisoner's dilemma, best_of_cycle in rock, paper, scissors).
    """
    table = short(matches.drop(columns=UNUSED, errors="ignore"))
    first = payoffs[payoffs.seat == 0]
    mutual = first.groupby(["game", "variant"], sort=False).payoff.first().rename("mutual")
    best_replies = first.groupby(["game", "variant", "others"]).payoff.max()
    best = best_replies.groupby(["game", "variant"]).mean().rename("best_of_cycle")
    table = table.join(mutual, on=["game", "variant"]).join(best, on=["game", "variant"])
    bases = {twin: model for model, twin in THINKING.items()}
    table = table.assign(ceiling=table.mutual.where(table.game == "pd", table.best_of_cycle) * table.rounds)
    table = table.assign(
        style=table.agent.str.removeprefix("sc-"),
        voting=table.agent.str.startswith("sc-").map({True: "voted", False: "plain"}),
        base=table.model.replace(bases),
        thinking=table.model.isin(bases).map({True: "thinking", False: "plain"}),
        against=(against := table.opponent.where(~table.opponent.isin(PEERS), "models")),
        reach=_reach(table.assign(against=against), payoffs),
        mutual=table.mutual * table.rounds,
        best_of_cycle=table.best_of_cycle * table.rounds,
    )
    texts = table.columns[[not is_numeric_dtype(kind) for kind in table.dtypes]]
    return table.astype(dict.fromkeys(texts, object))  # small tables of objects are drawn and grouped fastest


def _reach(matches: pd.DataFrame, payoffs: pd.DataFrame) -> pd.Series:
    """By how many points totals of a match can differ."""
    keys = ["game", "variant", "against"]
    found = {
        (game, variant, opponent): Opponents(game, variant, payoffs).reach(opponent)
        for game, variant, opponent in matches[keys].astype(str).drop_duplicates().itertuples(index=False)
    }
    index = pd.MultiIndex.from_frame(matches[keys].astype(str))
    return pd.Series(index.map(found), matches.index, dtype=float)


def short(table: pd.DataFrame) -> pd.DataFrame:
    """A table with plain text instead of categories, and with the short names of models."""
    text = [name for name in ("game", "variant", "model", "agent", "opponent", "action") if name in table]
    models = [name for name in ("model", "opponent_model") if name in table]
    return table.astype(dict.fromkeys(text, object)).replace(dict.fromkeys(models, SHORT))
