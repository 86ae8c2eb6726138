"""The MAgIC paper's printed numbers: its tables, the numbers of its text and figures, and its credits.

It holds facts only.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from agon_papers.magic.abilities import ABILITIES as METRICS
from agon_papers.verdict import Missing

PAPER = "magic"

ABILITIES = [*METRICS]
"""The seven abilities, in the order of the radars' axes."""

SETTINGS, COMPETITIONS, ROUNDS = 20, 21, 5
"""Games per social role, games per game-theory role, and rounds of a game-theory game (Table 3)."""

STRONGEST, SECOND, WEAKEST = "GPT o1", "GPT-4-turbo", "Llama-2-70B"
"""The models whose areas the paper compares."""

MODELS = ["GPT o1", "GPT-4-turbo", "GPT-4", "GPT-3.5-turbo", "Claude 2", "PaLM 2", "Cohere", "Llama-2-70B"]
"""The rows of Table 1, in its order."""

PAIRED = MODELS[1:]
"""The models in Table 4, which has them without and with beliefs."""

DETAILED = ["Llama-2-70B", "GPT-3.5-turbo", "GPT-4"]
"""The models of Table 2."""

WIN_RATES = ["cost_sharing_wr", "prisoner_wr", "public_good_wr"]
"""The columns of Table 2 that are shares of games."""

PGM = "+PGM"
"""Suffix of a model's name in Table 4 if it has beliefs."""

AVERAGE = "Average improvement"
"""The last row of Table 4."""

SOURCES = {
    "abilities": (1, MODELS),
    "pairs": (4, (*PAIRED, *(name + PGM for name in PAIRED))),
    "details": (2, (*DETAILED, *(name + PGM for name in DETAILED))),
}
"""Name of a table in claims -> (its number, the rows that it must have)."""


@dataclass(frozen=True)
class Facts:
    """The paper's numbers as printed text. tables: number -> model, metric, value (Table 3: scenario, field, value)."""

    tables: Mapping[int, pd.DataFrame]
    text: pd.DataFrame
    figures: pd.DataFrame
    credits: pd.DataFrame

    def wide(self, table: int) -> pd.DataFrame:
        """A table's numbers: index model in the printed order, a column per metric."""
        rows = self.tables[table]
        numbers = rows.assign(value=rows.value.astype(float)).pivot(index="model", columns="metric", values="value")
        return numbers.loc[rows.model.unique(), rows.metric.unique()]

    def complete_table(self, what: str) -> pd.DataFrame:
        """The rows that SOURCES names, as `wide`. Raises Missing for a missing row."""
        table, models = SOURCES[what]
        rows = self.wide(table)
        if absent := [name for name in models if name not in rows.index]:
            raise Missing(f"Table {table} here has no row {', '.join(absent)}")
        return rows.loc[[*models]]

    def text_number(self, key: str) -> float:
        """A number of the paper's text."""
        return float(self.text.set_index("key").value[key])

    def figure_text(self, figure: int, item: str) -> str:
        """The text of an item of a figure."""
        return str(self.figures.set_index(["figure", "item"]).value[figure, item])

    def figure_rows(self, figure: int, item: str) -> list[list[float]]:
        """The numbers of an item of a figure. ' / ' separates rows, and blanks separate numbers."""
        return [[float(number) for number in row.split()] for row in self.figure_text(figure, item).split(" / ")]

    def scenario_field(self, scenario: str, field: str) -> str:
        """A field of Table 3."""
        return str(self.tables[3].set_index(["scenario", "field"]).value[scenario, field])


def read_facts(folder: Path) -> Facts:
    """Reads a folder with table_1.csv to table_4.csv, text.csv, figures.csv and credits.csv."""
    tables = {number: pd.read_csv(folder / f"table_{number}.csv", dtype=str) for number in (1, 2, 3, 4)}
    text, figures = (pd.read_csv(folder / f"{name}.csv", dtype={"value": str}) for name in ("text", "figures"))
    return Facts(tables, text, figures, pd.read_csv(folder / "credits.csv"))
