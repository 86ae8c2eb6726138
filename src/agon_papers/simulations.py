"""How often the rule of docs/statements-rule.md errs, and how often intervals cover: by simulation, on the papers' own designs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit
from scipy.stats import rankdata

from agon.metrics.interval import percentile_interval
from agon_papers import draws
from agon_papers.comparisons import Trial
from agon_papers.draws import SEED, within_cells
from agon_papers.verdicts import LOOKS, settle

Numbers = NDArray[np.float64]
Interval = Callable[[Numbers, float], Numbers]
CHUNK = 50
"""Simulated records that are worked on at a time."""
FAR = 1e6
"""Added to what is to lie far from its margin."""


@dataclass(frozen=True, eq=False)
class Design:
    """Fixed cells. For each the values that a match can have, all as likely, and how many matches it has."""

    values: Sequence[Numbers]
    sizes: Sequence[int]

    @classmethod
    def of(cls, table: pd.DataFrame, cell: Sequence[str], measure: str, alike: Sequence[str] = ()) -> "Design":
        """That of a table of matches. A cell's matches vary about its mean as all those do that have the same `alike`.

        Two or five matches are too few to tell how a cell varies. Deviations are stretched, so that their variance is not too small.
        """
        table = table.reset_index(drop=True)
        groups = table.groupby([*cell], observed=True)[measure]
        n = groups.transform("size")
        off = (table[measure] - groups.transform("mean")) * np.sqrt(n / (n - 1))
        kind = table.groupby([*alike], observed=True).ngroup() if alike else pd.Series(0, table.index)
        shapes = {key: each.to_numpy() for key, each in off.groupby(kind)}
        cells = [(each, shapes[kind[each.index[0]]]) for _, each in groups]
        return cls([each.mean() + shape - shape.mean() for each, shape in cells], [len(each) for each, _ in cells])

    def twice(self) -> "Design":
        """Every cell once more, after all others: two players who are alike."""
        return Design([*self.values, *self.values], [*self.sizes, *self.sizes])

    @property
    def means(self) -> Numbers:
        """Of the cells."""
        return np.array([each.mean() for each in self.values])

    @cached_property
    def cells(self) -> NDArray[np.intp]:
        """Of each match: its cell."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def played(self, dice: np.random.Generator, records: int) -> Numbers:
        """So many records: records x matches."""
        parts = zip(self.values, self.sizes, strict=True)
        return np.concatenate([dice.choice(values, size=(records, n)) for values, n in parts], axis=1)

    def weights(self, whole: bool) -> NDArray[np.float64]:
        """How often each match is in each record set that the rule draws, to its last look: record sets x matches."""
        blocks = range(max(LOOKS))
        each = [
            within_cells(pd.RangeIndex(len(self.cells)), pd.Series(self.cells), block, whole=whole) for block in blocks
        ]
        return np.concatenate([one.weights for one in each]).astype(float)


@dataclass(frozen=True)
class Case:
    """A proposition that lies on its margin, in a design."""

    kind: str
    design: str
    says: str
    of: Design
    gaps: Callable[[Numbers], Numbers]
    """Of the numbers of cells (the last axis): what must be above its margin, a column each; or which rows are counted."""
    spreads: bool = False
    """Whether the numbers are standard deviations of cells, not means."""
    counts: bool = False
    """Whether the rows that are true are counted."""
    far: int = 0
    """So many parts, the last, are true beyond doubt."""
    bent: bool = False
    """Whether numbers are moved to the records' mean first (`agon_papers.statements`)."""
    shares: bool = False
    """Whether the cells are shares of yes and no, which are drawn as printed counts are."""


def cases(matches: pd.DataFrame, games: pd.DataFrame) -> list[Case]:
    """One proposition for each kind and size of design that the papers' statements have.

    `matches`: game, variant, model, agent, opponent, total_points of the counterfactual paper's matches; the model whose cells vary most
    stands for any. `games`: matchup, score (a mean of game and player), lead (-1, 0, 1) of TradeCraft's.
    """
    pd_matches = matches[(matches.game == "pd") & (matches.variant == "default")]
    by = ["model", "agent", "opponent"]
    model = pd_matches.groupby(by, observed=True).total_points.std().groupby("model").mean().idxmax()
    own = pd_matches[pd_matches.model == model]
    one = Design.of(own, ["agent", "opponent"], "total_points", ["opponent"])
    few = Design.of(own[own.opponent == "pp"], ["agent"], "total_points")
    styles = Design.of(pd_matches[pd_matches.opponent == "pp"], ["model", "agent"], "total_points", ["model"])
    pairs = pd_matches[pd_matches.opponent.isin(["pp", "tft"])]
    votes = Design.of(
        pairs.assign(voted=pairs.agent.str.startswith("sc-")), ["voted", *by], "total_points", ["model", "opponent"]
    )
    usual = games.groupby("matchup").score.std().sort_values().index[len(set(games.matchup)) // 2]
    pair = Design.of(games[games.matchup == usual], ["matchup"], "score")
    leads = Design.of(games[games.matchup == games.groupby("matchup").lead.std().idxmax()], ["matchup"], "lead")
    apart = Design([*(values + 5 for values in one.values), *one.values], [*one.sizes, *one.sizes])
    eight = Design([*one.values] * 8, [*one.sizes] * 8)
    cells, half = len(one.sizes), len(votes.sizes) // 2
    middle = np.median(styles.means)

    def first_less_second(means: Numbers) -> Numbers:
        halves = np.split(means, 2, axis=-1)
        return (halves[0].mean(axis=-1) - halves[1].mean(axis=-1))[..., None]

    def first_less_others(means: Numbers) -> Numbers:
        models = means.reshape(*means.shape[:-1], 8, -1).mean(axis=-1)
        return models[..., :1] - models[..., 1:]

    def chances(n: int, share: float, players: int = 2) -> Design:
        values = np.zeros(1000)
        values[: round(1000 * share)] = 1
        return Design([values] * players, [n] * players)

    dilemma = f"prisoner's dilemma, {model}"
    return [
        Case(
            "level", f"{dilemma}: {cells} cells of 5 or 2 matches", "a mean", one, lambda m: m.mean(axis=-1)[..., None]
        ),
        Case("level", "TradeCraft: 10 games of a pair", "a mean lead", leads, lambda m: m),
        Case("comparison", f"{dilemma}: 2 x {cells} cells", "one mean above another", one.twice(), first_less_second),
        Case("comparison", f"{dilemma}: 2 x 6 cells", "one mean above another", few.twice(), first_less_second),
        Case(
            "comparison",
            "TradeCraft: 2 x 10 games",
            "one mean score above another",
            pair.twice(),
            first_less_second,
        ),
        Case(
            "comparison",
            "MAgIC: 2 x 21 games",
            "one share above another",
            chances(21, 0.6),
            first_less_second,
            shares=True,
        ),
        Case(
            "comparison",
            "MAgIC: 2 x 80 ballots",
            "one share above another",
            chances(80, 0.8),
            first_less_second,
            shares=True,
        ),
        Case(
            "comparison",
            "MAgIC: 2 x 420 decisions",
            "one share above another",
            chances(420, 0.7),
            first_less_second,
            shares=True,
        ),
        Case(
            "equivalence",
            f"{dilemma}: 2 x {cells} cells",
            "within a margin of 5",
            apart,
            lambda m: -abs(first_less_second(m)),
        ),
        Case(
            "order", f"{dilemma}: 8 x {cells} cells", "above seven, one of them at par", eight, first_less_others, far=6
        ),
        Case("extreme", f"{dilemma}: 8 x {cells} cells", "above seven, all at par", eight, first_less_others),
        Case(
            "extreme",
            "MAgIC: 8 x 80 ballots",
            "above seven, one of them at par",
            chances(80, 0.8, 8),
            first_less_others,
            far=6,
            shares=True,
        ),
        Case(
            "share",
            "prisoner's dilemma: 48 cells against pp",
            "cells in a range",
            styles,
            lambda m: np.where((m >= 53.5) & (m <= 63.5), 1.0, 0.0),
            counts=True,
        ),
        Case(
            "share",
            "prisoner's dilemma: 48 cells against pp",
            "cells above a bound",
            styles,
            lambda m: np.where(m > middle, 1.0, 0.0),
            counts=True,
        ),
        Case(
            "correlation",
            f"prisoner's dilemma: {half} pairs of cells",
            "with and without votes",
            votes,
            _ranked_alike,
            bent=True,
        ),
        Case(
            "spread", f"{dilemma}: 2 x {cells} cells", "one varies more", one.twice(), first_less_second, spreads=True
        ),
    ]


def _ranked_alike(means: Numbers) -> Numbers:
    """Rank correlation of the first half of the cells and the second."""
    one, other = (rankdata(each, axis=-1) for each in np.split(means, 2, axis=-1))
    one, other = (each - each.mean(axis=-1, keepdims=True) for each in (one, other))
    value = (one * other).sum(axis=-1) / np.sqrt((one**2).sum(axis=-1) * (other**2).sum(axis=-1))
    return np.asarray(value)[..., None]


def simulated(cases: Iterable[Case], repetitions: int) -> pd.DataFrame:
    """Each case in so many simulated records: kind, design, says, repetitions; holds, fails (shares so decided), covers (share of intervals
    that have the true number in them), and the standard error of each (column error_...).
    """
    rows = []
    for case in cases:
        found = pd.DataFrame(_decided(case, repetitions), columns=["holds", "fails", "covers"])
        shares = found.mean()
        errors = (shares * (1 - shares) / repetitions) ** 0.5
        rows.append(
            {
                "kind": case.kind,
                "design": case.design,
                "says": case.says,
                "repetitions": repetitions,
                **shares,
                **errors.add_prefix("error_"),
            }
        )
    return pd.DataFrame(rows)


def _decided(case: Case, repetitions: int) -> list[tuple[bool, bool, bool]]:
    """For each repetition: whether the proposition is said to hold, to fail, and whether the interval has the true number."""
    dice = np.random.default_rng([SEED, *case.kind.encode(), *case.design.encode()])
    design, weights = case.of, case.of.weights(case.spreads)
    nature = case.gaps(_cells(design, design.played(dice, 4000), np.ones((1, len(design.cells))), case.spreads)[0])
    margin = nature.sum(axis=-1).mean() / nature.shape[-1] if case.counts else nature.mean(axis=0)
    if not (case.counts or case.bent or case.spreads):
        margin = case.gaps(design.means)
    far = np.where(np.arange(nature.shape[-1]) >= nature.shape[-1] - case.far, FAR, 0.0)
    out: list[tuple[bool, bool, bool]] = []
    for _ in range(0, repetitions, CHUNK):
        played = design.played(dice, min(CHUNK, repetitions - len(out)))
        own = case.gaps(_cells(design, played, np.ones((1, len(design.cells))), case.spreads))[0]
        if case.shares:
            n = np.array(design.sizes)
            hits = np.rint(_cells(design, played, np.ones((1, len(design.cells))), spreads=False)[0] * n)
            drawn = case.gaps(dice.beta(hits + 0.5, n - hits + 0.5, size=(len(weights), *hits.shape)))
        else:
            drawn = case.gaps(
                _cells(design, _stretched(design, played) if case.spreads else played, weights, case.spreads)
            )
        if case.bent:
            drawn = drawn - drawn.mean(axis=0) + own
        for one, many in zip(own, drawn.swapaxes(0, 1), strict=True):
            out.append(_verdict(case, one, many, margin, far))
    return out


def _verdict(case: Case, one: Numbers, many: Numbers, margin: Numbers, far: Numbers) -> tuple[bool, bool, bool]:
    """`one`: the records' gaps; `many`: record sets x gaps."""
    if case.counts:
        made = [_counted(each, float(margin)) for each in (one[None], many)]
    else:
        made = [_compared(each - margin + far) for each in (one[None], many)]
    recorded, drawn = made
    size = (np.inf, 0) if case.shares else (len(case.of.cells), len(case.of.sizes))
    found = settle([recorded], lambda block: [_block(drawn, block)], *size)
    low, high = found.tests[0].estimate.quantile(found.tails)
    truth = float(margin) if case.counts else 0.0
    holds = bool(recorded.parts.all(axis=None))
    return found.decided and holds, found.decided and not holds, bool(low - 1e-9 <= truth <= high + 1e-9)


def _compared(gaps: Numbers) -> Trial:
    return Trial(pd.Series(gaps.min(axis=1)), pd.DataFrame(gaps > 0))


def _counted(rows: Numbers, share: float) -> Trial:
    sizes = pd.Series(rows.shape[1], range(len(rows)))
    trial = Trial(pd.Series(rows.mean(axis=1)), pd.DataFrame(), sizes, f"{100 * share:.6f}%")
    return trial.having(pd.Series(rows.sum(axis=1)))


def _block(trial: Trial, block: int) -> Trial:
    place = slice(draws.BLOCK * block, draws.BLOCK * (block + 1))
    sizes = None if trial.sizes is None else trial.sizes.iloc[place]
    return Trial(trial.estimate.iloc[place], trial.parts.iloc[place], sizes, trial.quantifier)


def _cells(design: Design, played: Numbers, weights: Numbers, spreads: bool) -> Numbers:
    """The mean of each cell, or its standard deviation: record sets x records x cells."""
    made = np.empty((len(weights), len(played), len(design.sizes)))
    for cell, n in enumerate(design.sizes):
        place = slice(sum(design.sizes[:cell]), sum(design.sizes[:cell]) + n)
        own, values = weights[:, place], played[:, place]
        total = own.sum(axis=1)[:, None]
        mean = own @ values.T / total
        if spreads:
            squares = own @ (values**2).T
            mean = np.sqrt(np.maximum(squares - total * mean**2, 0) / (total - 1))
        made[:, :, cell] = mean
    return made


def _stretched(design: Design, played: Numbers) -> Numbers:
    sizes = np.array(design.sizes)
    means = _cells(design, played, np.ones((1, played.shape[1])), spreads=False)[0][:, design.cells]
    return means + (played - means) * np.sqrt(sizes / (sizes - 1))[design.cells]


def coverage(
    populations: Mapping[str, Sequence[Numbers]],
    sizes: Sequence[int],
    intervals: Mapping[str, Interval],
    repetitions: int,
) -> pd.DataFrame:
    """How often the 95 % interval of a mean of n values has the true mean in it: measure, interval, n, repetitions, covers, error.

    `populations`: measure -> for each row of a table the values that a match can have, all as likely; all rows together. Rows whose values
    are all alike are left out. `intervals`: name -> what gives the ends for each row of an array samples x n.
    """
    rows = []
    for measure, every in populations.items():
        dice = np.random.default_rng([SEED, *measure.encode()])
        varied = [values for values in every if np.ptp(values) > 0]
        each = -(-repetitions // len(varied))
        for n in sizes:
            samples = [dice.choice(values, size=(each, n)) for values in varied]
            truth = np.repeat([values.mean() for values in varied], each)
            for name, interval in intervals.items():
                low, high = interval(np.concatenate(samples), 0.95).T
                covers = float(((low <= truth + 1e-9) & (truth - 1e-9 <= high)).mean())
                error = (covers * (1 - covers) / len(truth)) ** 0.5
                rows.append((measure, name, n, len(truth), covers, error))
    return pd.DataFrame(rows, columns=["measure", "interval", "n", "repetitions", "covers", "error"])


def student(block: Numbers, level: float) -> Numbers:
    """Student's interval of the mean of each row."""
    n = block.shape[1]
    half = stdtrit(n - 1, (1 + level) / 2) * block.std(axis=1, ddof=1) / np.sqrt(n)
    return np.column_stack([block.mean(axis=1) - half, block.mean(axis=1) + half])


INTERVALS: Mapping[str, Interval] = {"bootstrap percentiles": percentile_interval, "Student's t": student}
