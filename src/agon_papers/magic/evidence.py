"""What claims on the MAgIC paper's numbers are decided from: whole tables, and what follows from them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from scipy.stats import kendalltau

from agon_papers.counterfactual.cells import rounds_to
from agon_papers.magic import bounds as magic_roles
from agon_papers.magic import cells as magic
from agon_papers.magic import counts as magic_counts
from agon_papers.magic.facts import AVERAGE, PGM, Facts, decimals
from agon_papers.statements import Missing

Result = tuple[bool | None, str]
"""Whether the numbers support the claim (None: they do not decide it), and the numbers."""

LEVEL = 0.05
"""Below it, chance is not taken for the cause."""


@dataclass(frozen=True)
class Evidence:
    """The facts, and tables of them in which every row is there. Asking for an incomplete one raises Missing."""

    facts: Facts

    @cached_property
    def abilities(self) -> pd.DataFrame:
        """Table 1."""
        return self.facts.whole("abilities")

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """Table 4 without its last row."""
        return self.facts.whole("pairs")

    @cached_property
    def details(self) -> pd.DataFrame:
        """Table 2."""
        return self.facts.whole("details")

    @cached_property
    def changes(self) -> pd.DataFrame:
        """What beliefs add, by model (index) and metric."""
        before, after = magic.pairs(self.pairs)
        return after - before

    @cached_property
    def printed_average(self) -> pd.Series:
        """The last row of Table 4."""
        table = self.facts.wide(4)
        if AVERAGE not in table.index:
            raise Missing(f"Table 4 here has no row {AVERAGE}")
        return table.loc[AVERAGE]

    @cached_property
    def measures(self) -> dict[str, pd.Series]:
        """The two ways in which the paper ranks the models of Table 1."""
        return {"win rate": self.abilities.win_rate, "area": magic.areas(self.abilities)}

    @cached_property
    def area_gains(self) -> pd.DataFrame:
        """Areas without and with beliefs."""
        return magic.area_gains(self.pairs)

    @cached_property
    def orders(self) -> pd.DataFrame:
        """Areas in all orders of the axes."""
        self._need("abilities", "pairs")
        return magic.axis_orders(self.facts)

    @cached_property
    def tested(self) -> pd.DataFrame:
        """Which cells can be the counts they are said to be."""
        self._need("abilities", "pairs", "details")
        return magic_counts.granularity(self.facts)

    @cached_property
    def significance(self) -> pd.DataFrame:
        """The pairs of Table 4 with p values, by model and metric."""
        return magic_counts.significance(self.tested)

    @cached_property
    def roles(self) -> dict[str, pd.DataFrame]:
        """What the printed numbers leave to the social roles: reading -> table, by model."""
        self._need("details", "pairs")
        return {reading: magic_roles.roles(self.facts, reading).set_index("model") for reading in magic.READINGS}

    def _need(self, *tables: str) -> None:
        for table in tables:
            self.facts.whole(table)

    def detail(self, column: str) -> pd.DataFrame:
        """A column of Table 2: index model, columns vanilla and enhanced."""
        before, after = magic.pairs(self.details[column])
        return pd.DataFrame({"vanilla": before, "enhanced": after})

    def pair(self, model: str, metric: str) -> tuple[float, float]:
        """A cell of Table 4 without and with beliefs."""
        return self.pairs[metric][model], self.pairs[metric][model + PGM]


def both(evidence: Evidence, read: Callable[[pd.Series], Result]) -> Result:
    """`read` of the win rates and of the areas; supported only if it is by both."""
    found = {name: read(values) for name, values in evidence.measures.items()}
    return all(held for held, _ in found.values()), "; ".join(f"{name}: {text}" for name, (_, text) in found.items())


def ranked(values: pd.Series, most: int = 8, digits: int = 1) -> str:
    """'GPT o1 62.1, GPT-4-turbo 57.2', the largest first; thousands without decimals."""
    return inorder(values.nlargest(most), digits)


def inorder(values: pd.Series, digits: int = 1) -> str:
    """The same in the order given."""
    return ", ".join(f"{name} {value:,.{0 if value >= 1000 else digits}f}" for name, value in values.items())


def against(column: pd.DataFrame, digits: int = 1) -> str:
    """'GPT-4 47.6 to 61.9' for every row of a column of Table 2."""
    return ", ".join(
        f"{row.Index} {row.vanilla:.{digits}f} to {row.enhanced:.{digits}f}" for row in column.itertuples()
    )


def top(values: pd.Series, model: str) -> Result:
    """Whether a model has the largest value."""
    return values.idxmax() == model, ranked(values, 3)


def quoted(evidence: Evidence, key: str) -> Result:
    """Whether a number of the text is the one in Table 1; if not, which row has it."""
    row = evidence.facts.text.set_index("key").loc[key]
    column = evidence.abilities[row.metric]
    found, others = column[row.model], column.index[column == float(row.value)]
    text = f"{row.model} {found:.1f}"
    if found != float(row.value) and len(others):
        text += f"; {float(row.value):.1f} is that of {', '.join(others)}"
    return bool(found == float(row.value)), text


def averaged(evidence: Evidence, key: str) -> Result:
    """Whether a gain named in the text is the mean of the pairs' gains."""
    row = evidence.facts.text.set_index("key").loc[key]
    mean = evidence.changes[row.metric].mean()
    held = rounds_to(pd.Series([mean]), pd.Series([float(row.value)]), decimals(pd.Series([row.value]))).item()
    return bool(held), f"mean of {len(evidence.changes)} pairs {mean:.2f}"


def rising(one: pd.Series, other: pd.Series) -> Result:
    """Whether two columns rank the rows alike by more than chance (Kendall's tau); undecided if alike, but not by more than that."""
    found = kendalltau(one, other.reindex(one.index))
    held = found.statistic > 0 and (True if found.pvalue < LEVEL else None)
    return held, f"Kendall's tau {found.statistic:+.2f}, p = {found.pvalue:.2g}, n = {len(one)}"


def significant(evidence: Evidence, model: str, metric: str) -> Result:
    """Whether a gain is significant: by the exact test of two samples and by every pairing, by none of them, or undecided."""
    row = evidence.significance.set_index(["model", "metric"]).loc[(model, metric)]
    text = f"{row.vanilla:.1f} to {row.enhanced:.1f} ({row.k_vanilla} to {row.k_enhanced} of {row.n})"
    if row.gain <= 0:
        return False, f"{text}: it does not rise"
    p = np.array([row.fisher, row.paired_least, row.paired_most])
    text += f"; p = {row.fisher:.2g} (two samples), {row.paired_least:.2g} to {row.paired_most:.2g} (paired, by which decisions changed)"
    return (True if (p < LEVEL).all() else False if (p >= LEVEL).all() else None), text


def fitted(evidence: Evidence, metric: str) -> Result:
    """Whether all printed values of an ability can be what its formula counts, and would hardly be by luck."""
    found = magic_counts.fitting(evidence.tested).set_index(["metric", "reading"]).loc[metric]
    texts = {
        name: f"{row.definition}: {row.fit} of {row.cells} fit (a made-up number would with a chance of {row.chance:.0%})"
        for name, row in found.iterrows()
    }
    literal = found.loc["literal"]
    other = "" if texts["literal"] == texts["reconciled"] else f"; {texts['reconciled']}"
    held = bool(literal.fit == literal.cells)
    return (None if held and literal.by_luck >= LEVEL else held), texts["literal"] + other
