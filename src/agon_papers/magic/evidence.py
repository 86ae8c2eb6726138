"""The tables that the MAgIC paper's statements are decided from: whole tables of the paper, and what follows from them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from agon.metrics.granularity import as_printed, sizes
from agon_papers import draws
from agon_papers.comparisons import Groups
from agon_papers.magic import bounds, cells, counts
from agon_papers.magic.facts import (
    ABILITIES,
    AVERAGE,
    COMPETITIONS,
    DETAILED,
    MODELS,
    PAIRED,
    PGM,
    SECOND,
    SOURCES,
    Facts,
)
from agon_papers.statements import Missing, selected

GROUPS: Groups = {
    "abilities": ABILITIES,
    "measures": {"win rate": "win_rate", "area": "area"},
    "played": ("cost_sharing_wr", "prisoner_wr", "public_good_wr"),
    "gpts": ("GPT o1", "GPT-4-turbo", "GPT-4", "GPT-3.5-turbo"),
    "rivals": ("Claude 2", "PaLM 2", "Cohere"),
    "behind_turbo": tuple(name for name in MODELS if name != SECOND),
    "paired": PAIRED,
    "detailed": DETAILED,
    "with_beliefs": tuple(name + PGM for name in DETAILED),
}
"""Names of several. measures: the two ways in which the paper ranks models; played: the win rates that Table 2 prints."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """The facts, and tables of them. Rows of the paper's tables that are asked for must all be there: else Missing is raised."""

    facts: Facts
    correlated: int | None = None
    whole_games: bool = False
    """Whether counts are drawn as if all decisions of a game were alike, and not as if they were independent."""
    unit: ClassVar[str] = "decision"
    draws: ClassVar[None] = None

    @property
    def groups(self) -> Groups:
        """GROUPS."""
        return GROUPS

    def rows(self, table: str, where: Mapping[str, Sequence[Any]]) -> pd.DataFrame:
        """The rows of one of the tables below ("": abilities); those of a single metric are named by model alone. Raises ValueError."""
        if not hasattr(Evidence, table := table or "abilities"):
            raise ValueError(f"there is no table {table}")
        rows = selected(getattr(self, table), where)
        return rows.droplevel("metric") if "metric" in rows.index.names and len(where.get("metric", ())) == 1 else rows

    def drawn(self, drawing: str, block: int) -> "Evidence":
        """Record sets with the counts behind printed shares drawn anew; for correlations, the models are drawn instead.

        The paper's tables, and what follows from them, have DRAW as the first level of their index.
        """
        if drawing == "correlation":
            return replace(self, correlated=block)
        if block not in self._drawn:
            self._drawn[block] = replace(self)
            self._drawn[block].__dict__.update(self._drawn_tables(block))
        return self._drawn[block]

    @cached_property
    def _drawn(self) -> "dict[int, Evidence]":
        return {}

    def _drawn_tables(self, block: int) -> "dict[str, pd.DataFrame]":
        """The paper's tables of all record sets, by what `Evidence` calls them."""
        counted = counts.granularity(self.facts)
        known = counted.metric.isin([*ABILITIES, *GROUPS["played"]]) & counted.n.notna()
        known &= counted.reading == "reconciled"
        made: dict[str, pd.DataFrame] = {}
        for name, (table, models) in SOURCES.items():
            if not set(models) <= set(self.facts.wide(table).index):
                continue  # a statement that asks for it is told what is missing
            whole = self.facts.whole(name)
            values = np.broadcast_to(whole.to_numpy(dtype=float), (draws.BLOCK, *whole.shape)).copy()
            for cell in counted[known & (counted.table == table) & counted.model.isin(models)].itertuples():
                place = whole.index.get_loc(cell.model), whole.columns.get_loc(cell.metric)
                key = f"{cell.model} {cell.metric} {cell.published}"
                units = counts.GAMES.get(str(cell.metric), cell.n) if self.whole_games else cell.n
                values[:, *place] = 100 * draws.jeffreys(cell.k * units / cell.n, units, key, block)
            index = pd.MultiIndex.from_product([range(draws.BLOCK), whole.index], names=[draws.DRAW, whole.index.name])
            made[name] = pd.DataFrame(values.reshape(len(index), -1), index, whole.columns)
            if name in ("abilities", "pairs"):
                made[name] = made[name].assign(area=cells.areas(made[name]))
        return made

    def by_chance(self) -> None:
        """Nothing: the printed numbers have no uniform player."""

    @cached_property
    def abilities(self) -> pd.DataFrame:
        """Table 1 with the areas, by model."""
        return self._with_area("abilities")

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """Table 4 with the areas and without its last row, by model as printed."""
        return self._with_area("pairs")

    @cached_property
    def details(self) -> pd.DataFrame:
        """Table 2, by model as printed."""
        return self.facts.whole("details")

    @cached_property
    def details_and_abilities(self) -> pd.DataFrame:
        """Table 2 with the columns of Table 4."""
        return self.details.join(self.pairs)

    @cached_property
    def scores(self) -> pd.DataFrame:
        """Table 1 by model and metric: value."""
        return self.abilities.stack().to_frame("value")

    @cached_property
    def gains(self) -> pd.DataFrame:
        """Table 4 by model and metric: before, after (with beliefs), gain, percent (of before), change (rise, stay or fall)."""
        return _gains(self.pairs)

    @cached_property
    def detail_gains(self) -> pd.DataFrame:
        """Table 2 in the same way."""
        return _gains(self.details)

    @cached_property
    def ways_to_gain(self) -> pd.DataFrame:
        """By model: what beliefs add to its area, in percent and in points, and to its win rate; win_rate_before."""
        wide = self.gains.unstack("metric")
        columns = {"percent_of_area": wide.percent.area, "area": wide.gain.area, "win_rate": wide.gain.win_rate}
        return pd.DataFrame({**columns, "win_rate_before": wide.before.win_rate})

    @cached_property
    def copies(self) -> pd.DataFrame:
        """Numbers that Tables 1 and 4 both print, by model and metric: table_1, table_4, others (rows of Table 4 that print table_4)."""
        table = self.scores.join(self.pairs.stack().rename("table_4"), how="inner").rename(columns={"value": "table_1"})
        table = table.drop("area", level="metric")
        same = {key: self.pairs.index[self.pairs[key[1]] == value].drop(key[0]) for key, value in table.table_4.items()}
        return table.assign(others={key: ", ".join(names) for key, names in same.items()})

    @cached_property
    def last_row(self) -> pd.DataFrame:
        """The last row of Table 4, by metric (`cells.last_row`)."""
        table = cells.last_row(self.facts).set_index("metric")
        if table.empty:
            raise Missing(f"Table 4 here has no row {AVERAGE}")
        self._need("pairs")
        return table

    @cached_property
    def orders(self) -> pd.DataFrame:
        """Areas in all orders of the axes, by order (`cells.axis_orders`)."""
        self._need("abilities", "pairs")
        orders = cells.axis_orders(self.facts)
        return orders.set_index(orders.order.mask(orders.index == 0, "the paper's order"))

    @cached_property
    def tested(self) -> pd.DataFrame:
        """`counts.granularity` by model and metric, with few_games: what a share could be over instead, up to twice the competitions."""
        self._need("abilities", "pairs", "details")
        table = counts.granularity(self.facts)
        few = [" or ".join(map(str, sizes(as_printed(text), 2 * COMPETITIONS))) for text in table.published]
        return table.assign(few_games=few).set_index(["model", "metric"])

    @cached_property
    def fits(self) -> pd.DataFrame:
        """`counts.fitting` by reading."""
        return counts.fitting(self.tested.reset_index()).set_index("reading")

    @cached_property
    def significance(self) -> pd.DataFrame:
        """`counts.significance` by model and metric, with the gain as counted: more (how many), counted_gain (percent)."""
        table = counts.significance(self.tested.reset_index()).set_index(["model", "metric"])
        more = table.k_enhanced - table.k_vanilla
        return table.assign(more=more, counted_gain=100 * more / table.n)

    @cached_property
    def roles(self) -> pd.DataFrame:
        """What the printed numbers leave to the social roles under both readings, by model (`bounds.roles`)."""
        self._need("details", "pairs")
        tables = [bounds.roles(self.facts, reading).assign(reading=reading) for reading in cells.READINGS]
        return pd.concat(tables).set_index("model")

    @cached_property
    def pools(self) -> pd.DataFrame:
        """`bounds.pools` by model."""
        return bounds.pools(self.facts).set_index("model").loc[self.details.index]

    @cached_property
    def defections(self) -> pd.DataFrame:
        """`bounds.defections` by model."""
        return bounds.defections(self.facts).set_index("model").loc[self.details.index]

    @cached_property
    def said(self) -> pd.DataFrame:
        """The numbers of the paper's text, by key: value."""
        return self.facts.text.set_index("key")[["value"]].astype(float)

    @cached_property
    def credits(self) -> pd.DataFrame:
        """The credits of A.2, by label: game, role, outcome, credits."""
        return self.facts.credits.set_index("label")

    @cached_property
    def competitions(self) -> pd.DataFrame:
        """How many settings Table 3 gives each scenario: value."""
        rows = self.facts.tables[3]
        return rows[rows.field == "competitions"].set_index("scenario")[["value"]].astype(int)

    @cached_property
    def roles_played(self) -> pd.DataFrame:
        """How many roles a challenger plays: those of A.2, and a scenario of Table 3 that has no roles for each other one."""
        social = self.facts.credits[["game", "role"]].drop_duplicates()
        others = self.facts.tables[3].scenario.nunique() - social.game.nunique()
        return pd.DataFrame({"value": {"social roles": len(social), "other games": others}})

    @cached_property
    def axes(self) -> pd.DataFrame:
        """The settings on Figure 10's axes: value (text)."""
        scores = self.facts.drawn(10, "prisoner_settings").replace(" ", "-").replace("-/-", ", ")
        multipliers = self.facts.drawn(10, "multipliers").replace(" ", ", ")
        return pd.DataFrame({"value": {"scores": scores, "multipliers": multipliers}}).rename_axis("axis")

    @cached_property
    def multipliers(self) -> pd.DataFrame:
        """The multipliers on Figure 10's axis: value."""
        [multipliers] = self.facts.drawn_rows(10, "multipliers")
        return pd.DataFrame({"value": multipliers})

    @cached_property
    def lone_defector(self) -> pd.DataFrame:
        """A round of Figure 8's dilemma in which one defects: value (points), by what a seat does."""
        return pd.DataFrame(
            {"value": cells.dilemma_scores(self.facts, "DCC")}, ["who defects", "one other", "the other"]
        )

    @cached_property
    def accused(self) -> pd.DataFrame:
        """The games of Figures 5 and 7, by model and variant (with beliefs, without): figure, most (whom most ballots name; even), caught
        (the spy), outcome (of the spy: lost, even or won).
        """
        rows = []
        for cell in self.facts.figures[self.facts.figures.item.str.startswith("ballots_")].itertuples():
            model = cell.item.removeprefix("ballots_")
            ranked = pd.Series(cell.value.split()).value_counts()
            even = len(ranked) > 1 and ranked.iloc[0] == ranked.iloc[1]
            caught = not even and ranked.index[0] == self.facts.drawn(cell.figure, "spy")
            outcome = "even" if even else "lost" if caught else "won"
            variant = "with beliefs" if model.endswith(PGM) else "without"
            rows.append((model, variant, cell.figure, "even" if even else ranked.index[0], caught, outcome))
        columns = ["model", "variant", "figure", "most", "caught", "outcome"]
        return pd.DataFrame(rows, columns=columns).set_index(["model", "variant"])

    @cached_property
    def ticked(self) -> pd.DataFrame:
        """The scenarios that Table 3 ticks for each ability."""
        rows = self.facts.tables[3].sort_values("scenario")
        return rows[rows.value == "ticked"].groupby("field").scenario.agg(", ".join).to_frame("value")

    @cached_property
    def case_beliefs(self) -> pd.DataFrame:
        """The rows of Figure 5's matrices, by matrix and row: value, their sum."""
        items = self.facts.figures[self.facts.figures.figure == 5].item
        matrices = {item: self.facts.drawn_rows(5, item) for item in items if item.startswith("matrix")}
        rows = {(item, n): sum(row) for item, matrix in matrices.items() for n, row in enumerate(matrix)}
        return pd.Series(rows).rename_axis(["matrix", "row"]).to_frame("value")

    @cached_property
    def case(self) -> pd.DataFrame:
        """Figure 8's games replayed: value (scores of the three seats), printed; challenger (seat, from 1), won (nobody has more)."""
        seat, rows = int(self.facts.drawn(8, "challenger")), {}
        for label, variant in (("with beliefs", "pgm"), ("without", "vanilla")):
            scores = cells.dilemma_scores(self.facts, self.facts.drawn(8, f"moves_{variant}"))
            rows[label] = {
                "value": " ".join(map(str, scores)),
                "printed": self.facts.drawn(8, f"final_scores_{variant}"),
                "challenger": seat,
                "won": scores[seat - 1] == max(scores),
            }
        return pd.DataFrame(rows).T.astype({"challenger": int, "won": bool})

    def _with_area(self, table: str) -> pd.DataFrame:
        whole = self.facts.whole(table)
        return whole.assign(area=cells.areas(whole))

    def _need(self, *tables: str) -> None:
        for table in tables:
            self.facts.whole(table)


def _gains(table: pd.DataFrame) -> pd.DataFrame:
    before, after = (half.stack() for half in cells.pairs(table))
    gain = after - before
    change = np.sign(gain).map({1: "rise", 0: "stay", -1: "fall"})
    return pd.DataFrame(
        {"before": before, "after": after, "gain": gain, "percent": 100 * gain / before, "change": change}
    )
