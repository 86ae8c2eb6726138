"""What claims on the counterfactual games are decided from: selections of matches, and how numbers are said."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import pandas as pd

from agon.metrics import summary
from agon_papers.counterfactual.cells import MODELS as SHORT
from agon_papers.statements import Missing

MODELS = tuple(SHORT.values())
"""The models of the tables, in their order."""

THINKING = {"C3.7S": "C3.7S(T)", "C4S": "C4S(T)"}
"""Model -> the same model with thinking."""

CLAUDE_4 = ("C4S", "C4S(T)")
STRONG = ("C3.5Sv2", "C3.7S", "C3.7S(T)", "L3.3-70B")
WARY = (*CLAUDE_4, "DS-R1")
"""In the prisoner's dilemma, by the paper: those that cooperate with each other, and those that mostly do not."""

VARIANTS = ("default", "label", "payoff", "joint")
PLAIN, VOTED = ("zs", "cot", "spp"), ("sc-zs", "sc-cot", "sc-spp")
STYLES = (*PLAIN, *VOTED)
PEERS = ("zs", "spp", "cot")
SCRIPTS = {"pd": ("srep", "pp", "mf", "tft"), "rps": ("srep", "pp", "ap", "tft")}
COMPREHENSION = {"as printed": "opponent_comprehension", "as done": "opponent_comprehension_as_done"}
EFFICIENCY = {"as printed": "efficiency", "as done": "efficiency_as_done"}
CELL = ["variant", "model", "agent", "opponent"]

Result = tuple[bool, str]
"""Whether the numbers support the claim, and the numbers."""

Pairs = Mapping[str, Sequence[float]]
"""Name -> mean and standard deviation, as printed."""


@dataclass(frozen=True)
class Evidence:
    """The tables that claims are decided from: those of `claims`, models by their short names, and each caption's true variant."""

    matches: pd.DataFrame
    shares: pd.DataFrame
    payoffs: pd.DataFrame
    captions: pd.DataFrame
    settings: pd.DataFrame | None = None

    def rows(self, **wanted: str | Sequence[str]) -> pd.DataFrame:
        """Matches with the wanted game (always named), variant, model, agent, opponent; by default all of the tables.

        Raises Missing when any wanted cell has no match.
        """
        every = {
            "variant": VARIANTS,
            "model": MODELS,
            "agent": STYLES,
            "opponent": (*PEERS, *SCRIPTS[str(wanted["game"])]),
        }
        return _selected(self.matches, {**every, **wanted})

    def actions(self, **wanted: str | Sequence[str]) -> pd.DataFrame:
        """Counts of actions: index model, one column per action. Raises Missing as `rows` does."""
        rows = _selected(self.shares, {"model": MODELS, **wanted})
        counts = rows.assign(count=rows.value * rows.n).pivot_table(
            index="model", columns="action", values="count", aggfunc="sum", fill_value=0
        )
        return counts.round().astype(int)

    def cells(self, metric: str, **wanted: str | Sequence[str]) -> pd.Series:
        """Means over repetitions, index (variant, model, agent, opponent): the cells of the paper's tables."""
        return self.rows(**wanted).groupby(CELL)[metric].mean().dropna()

    def spreads(self, metric: str, **wanted: str | Sequence[str]) -> pd.Series:
        """Sample standard deviations over repetitions, index as `cells`."""
        return self.rows(**wanted).groupby(CELL)[metric].std(ddof=1).dropna()

    def by_model(self, metric: str, **wanted: str | Sequence[str]) -> pd.Series:
        """Means over all matches of each model, in the order of the tables."""
        means = self.rows(**wanted).groupby("model")[metric].mean()
        return means.reindex([name for name in MODELS if name in means.index])

    def changes(self, metric: str, variant: str, **wanted: str | Sequence[str]) -> pd.DataFrame:
        """What `variant` adds to the cells of default: index model, value, low, high, n (bootstrap over cells)."""
        after, before = (
            self.cells(metric, variant=name, **wanted).droplevel("variant") for name in (variant, "default")
        )
        table = (after - before).dropna().rename("change").reset_index()
        order = [name for name in MODELS if name in set(table.model)]
        return summary(table, ["change"], ["model"]).set_index("model").reindex(order)

    def matrix(self, game: str, variant: str) -> pd.DataFrame:
        """What the first seat is paid: index its action, columns the other's, in the game's order."""
        rules = _selected(self.payoffs, {"game": game, "variant": variant})
        rules = rules[rules.seat == 0]
        return rules.pivot_table(index="action", columns="others", values="payoff", sort=False)[
            [*dict.fromkeys(rules.action)]
        ]

    def shown(self, table: int, caption: str) -> str:
        """The variant whose matches gave a printed table's numbers under `caption`. Raises Missing when none gave most."""
        found = self.captions[(self.captions.table == table) & (self.captions.captioned_variant == caption)]
        if found.empty or not 2 * found.agree.iloc[0] > found["of"].iloc[0]:
            raise Missing(f"the variant of most numbers of Table {table} ({caption}) is not known")
        return str(found.variant.iloc[0])


def _selected(table: pd.DataFrame, wanted: Mapping[str, str | Sequence[str]]) -> pd.DataFrame:
    lists = {key: [values] if isinstance(values, str) else list(values) for key, values in wanted.items()}
    rows = table[pd.concat([table[key].isin(values) for key, values in lists.items()], axis=1).all(axis=1)]
    cells = rows[[*lists]].drop_duplicates()
    gaps = prod(map(len, lists.values())) - len(cells)
    if gaps:
        absent = [f"{key} {value}" for key, values in lists.items() for value in values if value not in set(cells[key])]
        whole = pd.MultiIndex.from_product(lists.values())
        first = whole[~whole.isin(pd.MultiIndex.from_frame(cells))][0]
        which = "any wanted cell" if cells.empty else ", ".join(absent) or "some cells"
        raise Missing(f"no records of {which}; {gaps} cells, the first {' '.join(first)}")
    return rows


def captioned(evidence: Evidence, table: int, meant: str, read: Callable[[str], Result]) -> Result:
    """`read` of the variant that a statement is about; where its table shows another variant, that reading too."""
    shown = evidence.shown(table, meant)
    held, text = read(meant)
    if shown == meant:
        return held, text
    also, other = read(shown)
    return (
        held,
        f"{meant} itself: {text} | {shown}, which Table {table} shows: {other} ({'holds' if also else 'fails'} there)",
    )


def recaptioned(evidence: Evidence, tables: Mapping[str, int], compare: Callable[..., Result]) -> Result:
    """`compare` of the variants named in `tables`, and again of the variants that these tables show under those names."""
    held, text = compare(*tables)
    shown = [evidence.shown(table, meant) for meant, table in tables.items()]
    if shown == list(tables):
        return held, text
    also, other = compare(*shown)
    return held, f"{text} | as captioned: {other} ({'holds' if also else 'fails'} there)"


def every(definitions: Mapping[str, str], read: Callable[[str], Result]) -> Result:
    """`read` under each definition of a metric; supported only if it is under all."""
    found = {name: read(metric) for name, metric in definitions.items()}
    return all(held for held, _ in found.values()), "; ".join(f"{name}: {text}" for name, (_, text) in found.items())


def most(mask: pd.Series) -> bool:
    """More than half."""
    return bool(mask.mean() > 0.5)


def part(mask: pd.Series, of: str = "cells") -> str:
    """'37 of 48 cells'."""
    return f"{int(mask.sum())} of {len(mask)} {of}"


def span(values: pd.Series, digits: int = 1) -> str:
    """'27.0 to 50.6'."""
    return f"{values.min():.{digits}f} to {values.max():.{digits}f}"


def listed(values: Mapping[str, float] | pd.Series, digits: int = 1) -> str:
    """'C4S 40.2, DS-R1 33.6'."""
    return ", ".join(f"{name} {value:.{digits}f}" for name, value in values.items())


def ranked(values: pd.Series, digits: int = 1) -> str:
    """As `listed`, the largest first; equal values stay in their order."""
    return listed(values.sort_values(ascending=False, kind="stable"), digits)


def intervals(changes: pd.DataFrame, digits: int = 1) -> str:
    """'C4S -3.1 (-6.0 to -0.2)', with the number of cells behind each."""
    each = (
        f"{row.Index} {row.value:+.{digits}f} ({row.low:+.{digits}f} to {row.high:+.{digits}f})"
        for row in changes.itertuples()
    )
    return f"{', '.join(each)}; 95 % intervals, {' or '.join(str(n) for n in sorted(set(changes.n)))} cells each"


def rounded(rows: pd.DataFrame, by: str, metric: str) -> dict[str, list[float]]:
    """Mean and standard deviation of each group, rounded as the tables print them."""
    found = rows.groupby(by)[metric].agg(["mean", "std"]).round(1)
    return {str(name): [float(mean), float(std)] for name, mean, std in found.itertuples()}


def paired(found: Pairs, names: Iterable[str]) -> str:
    """'zs 10.6 ± 13.1, cot 19.6 ± 5.6'."""
    return ", ".join(f"{name} {found[name][0]} ± {found[name][1]}" for name in names)


def within(values: pd.Series, low: float, high: float, digits: int = 1) -> pd.Series:
    """Which values, rounded as the tables print them, lie from `low` to `high`."""
    half = 0.5 * 10**-digits
    return (values >= low - half - 1e-9) & (values < high + half - 1e-9)


def mean_of(rows: pd.DataFrame, metric: str) -> tuple[float, float, float, int]:
    """Mean, 95 % bootstrap interval and n over matches."""
    found = summary(rows.assign(all=0), [metric], ["all"]).iloc[0]
    return float(found.value), float(found.low), float(found.high), int(found.n)
