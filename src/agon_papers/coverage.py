"""How often intervals of means have the true mean in them: by simulation, on the papers' own designs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from agon.games.matrix.metrics import limits
from agon.metrics.interval import SHARE, Limits, pooled, summary
from agon_papers.draws import SEED

Numbers = NDArray[np.float64]
RESAMPLES = 2000
"""Of a bootstrap."""
CHUNK = 500
"""Samples that are worked on at a time."""


@dataclass(frozen=True)
class Samples:
    """Samples of n units of each cell: samples x units, units of the same cell side by side."""

    hits: Numbers
    """What is summed up: of matches their values."""
    sizes: Numbers
    """Over what: of matches 1."""
    cells: int
    """Fixed cells, as many units of each."""
    limits: tuple[float, float] | None

    @property
    def mean(self) -> Numbers:
        """Of each sample."""
        return np.asarray(self.hits.sum(axis=1) / self.sizes.sum(axis=1))

    @cached_property
    def resampled(self) -> Numbers:
        """Means of resamples of all units of a sample, sorted: samples x RESAMPLES."""
        units = self.hits.shape[1]
        weights = np.random.default_rng(units).multinomial(units, np.full(units, 1 / units), size=RESAMPLES).T
        return np.sort((self.hits @ weights) / (self.sizes @ weights), axis=1)


@dataclass(frozen=True)
class Design:
    """Rows of a table. A row has one or several fixed cells, with all that a unit can be there: units x (hits, size), all as likely."""

    paper: str
    measure: str
    rows: Sequence[Sequence[Numbers]]
    limits: tuple[float, float] | None
    clusters: bool = False
    """Whether units are clusters of decisions or turns, not matches that count alike."""

    def samples(self, n: int, repetitions: int) -> tuple[Samples, Numbers]:
        """So many samples, as many of every row, and the true mean of each. Rows in which all units are alike are left out."""
        dice = np.random.default_rng([SEED, n, *self.measure.encode()])
        varied = [row for row in self.rows if any(np.ptp(cell[:, 0] / cell[:, 1]) > 0 for cell in row)]
        each = -(-repetitions // len(varied))
        drawn = [np.concatenate([dice.choice(cell, (each, n)) for cell in row], axis=1) for row in varied]
        truth = [np.mean([cell[:, 0].sum() / cell[:, 1].sum() for cell in row]) for row in varied]
        units = np.concatenate(drawn)
        return Samples(units[..., 0], units[..., 1], len(self.rows[0]), self.limits), np.repeat(truth, each)


def designs(matches: pd.DataFrame, games: pd.DataFrame, scores: pd.DataFrame, counted: pd.DataFrame) -> list[Design]:
    """What tables and figures of the three papers show means of.

    `matches`: agon.games.matrix.metrics.per_match of the counterfactual paper's; a row is a variant, model and opponent, or, with fixed
    cells, a variant and model over all opponents. TradeCraft: `games`: matchup, score (mean of a game), won (1 or 0); `scores`: matchup,
    match, name, value, a row per turn; `counted`: group, match, rejected, decisions. MAgIC publishes no decisions: four ballots of a game
    name the spy with a chance that differs from game to game as if they correlated by 0.3 (assumed).
    """
    found = []
    measures = {"points": "total_points", "m": "opponent_comprehension_as_done", "cooperation": "cooperation_rate"}
    for game, name in {"pd": "prisoner's dilemma", "rps": "rock, paper, scissors"}.items():
        own = matches[matches.game == game]
        possible = limits(own)
        for said, measure in measures.items():
            if own[measure].notna().any():
                units = own.dropna(subset=measure).groupby(["variant", "model", "opponent"], observed=True)[measure]
                rows = {key: [_alone(values)] for key, values in units}
                ends = _ends(possible[measure])
                found.append(Design("Counterfactual", f"{said}, {name}", [*rows.values()], ends))
                if said == "m":
                    fixed = [
                        [cells[0] for (*of, _), cells in rows.items() if of == [*key]]
                        for key in dict.fromkeys(key[:-1] for key in rows)
                    ]
                    fixed = [row for row in fixed if len(row) == max(map(len, fixed))]
                    found.append(Design("Counterfactual", f"{said}, {name}, over all opponents", fixed, ends))
    efficient = (
        matches[matches.game == "pd"].groupby(["variant", "model", "opponent"], observed=True).efficiency_as_done
    )
    alone = [[_alone(values)] for _, values in efficient]
    found.append(Design("Counterfactual", "efficiency, prisoner's dilemma", alone, None))
    pairs = games.groupby("matchup")
    found.append(Design("TradeCraft", "score of a game", [[_alone(own.score)] for _, own in pairs], SHARE))
    found.append(Design("TradeCraft", "won", [[_alone(own.won)] for _, own in pairs], SHARE))
    turns = scores.groupby(["matchup", "name", "match"]).value.agg(["sum", "size"])
    by_game = [[own.to_numpy(dtype=float)] for _, own in turns.groupby(["matchup", "name"])]
    found.append(Design("TradeCraft", "score of a turn, by game", by_game, SHARE, clusters=True))
    decided = counted[counted.decisions > 0].groupby("group")[["rejected", "decisions"]]
    by_game = [[own.to_numpy(dtype=float)] for _, own in decided]
    found.append(Design("TradeCraft", "rejected proposals, by game", by_game, SHARE, clusters=True))
    dice = np.random.default_rng(SEED)
    for share in (0.6, 0.9):
        won = np.column_stack([np.arange(1000) < 1000 * share, np.ones(1000)]).astype(float)
        found.append(Design("MAgIC", f"games won, {share:.0%} in truth", [[won]], SHARE))
        alike = 1 / 0.3 - 1
        chance = dice.beta(share * alike, (1 - share) * alike, size=4000)
        ballots = np.column_stack([dice.binomial(4, chance), np.full(4000, 4)]).astype(float)
        found.append(Design("MAgIC", f"ballots by game, {share:.0%} in truth", [[ballots]], SHARE, clusters=True))
    return found


def _alone(values: pd.Series) -> Numbers:
    return np.column_stack([values.to_numpy(dtype=float), np.ones(len(values))])


def _ends(possible: Limits) -> tuple[float, float]:
    """Of all rows together."""
    return float(np.min(possible[0])), float(np.max(possible[1]))


Interval = Callable[[Samples], Numbers]
"""Of samples: the ends of each, samples x 2."""


def in_use(samples: Samples) -> Numbers:
    """What `agon.metrics.summary` gives, or for clusters `agon.metrics.interval.pooled`."""
    rows, units = samples.hits.shape
    table = pd.DataFrame({"sample": np.repeat(np.arange(rows), units), "hits": samples.hits.ravel()})
    if (samples.sizes != 1).any():
        table = table.assign(n=samples.sizes.ravel(), match=np.tile(np.arange(units), rows))
        return pooled(table, ["sample"], limits=samples.limits)[["low", "high"]].to_numpy()
    table["cell"] = np.tile(np.repeat(np.arange(samples.cells), units // samples.cells), rows)
    possible = None if samples.limits is None else {"hits": samples.limits}
    cells = ["cell"] * (samples.cells > 1)
    return summary(table, ["hits"], ["sample"], limits=possible, cells=cells)[["low", "high"]].to_numpy()


def student(samples: Samples) -> Numbers:
    """The same without knowing of limits: Student's t."""
    return in_use(Samples(samples.hits, samples.sizes, samples.cells, None))


def percentiles(samples: Samples, level: float = 0.95) -> Numbers:
    """Percentiles of a bootstrap over units: what was in use before."""
    return np.quantile(samples.resampled, [(1 - level) / 2, (1 + level) / 2], axis=1).T


def bca(samples: Samples, level: float = 0.95) -> Numbers:
    """Bias-corrected and accelerated percentiles (Efron 1987); absent where all resamples are alike."""
    drawn, mean = samples.resampled, samples.mean[:, None]
    below = ((drawn < mean - 1e-12).mean(axis=1) + (drawn <= mean + 1e-12).mean(axis=1)) / 2
    bias = ndtri(np.clip(below, 1 / RESAMPLES, 1 - 1 / RESAMPLES))[:, None]
    left = (samples.hits.sum(axis=1, keepdims=True) - samples.hits) / (
        samples.sizes.sum(axis=1, keepdims=True) - samples.sizes
    )
    off = left.mean(axis=1, keepdims=True) - left
    with np.errstate(invalid="ignore", divide="ignore"):
        fast = ((off**3).sum(axis=1) / (6 * (off**2).sum(axis=1) ** 1.5))[:, None]
        tails = bias + ndtri([[(1 - level) / 2, (1 + level) / 2]])
        at = ndtr(bias + tails / (1 - fast * tails)) * (RESAMPLES - 1)
    known = np.ptp(drawn, axis=1) > 1e-12
    places = np.clip(np.nan_to_num(at), 0, RESAMPLES - 1).round().astype(int)
    return np.where(known[:, None], np.take_along_axis(drawn, places, axis=1), np.nan)


INTERVALS: Mapping[str, Interval] = {
    "in use": in_use,
    "Student's t": student,
    "BCa": bca,
    "bootstrap percentiles": percentiles,
}


def coverage(
    designs: Sequence[Design], sizes: Sequence[int], repetitions: int, intervals: Mapping[str, Interval]
) -> pd.DataFrame:
    """How often the 95 % interval of a mean has the true mean in it, for each design, number of units (in each cell) and kind of interval.

    Columns: paper, measure, units, interval, n, repetitions, given (share of samples that have an interval), covers (of these, with
    the true mean in them), error (standard error of covers).
    """
    rows = []
    for design in designs:
        for n in sizes:
            samples, truth = design.samples(n, repetitions)
            units = (
                "clusters"
                if design.clusters
                else f"matches in each of {samples.cells} cells"
                if samples.cells > 1
                else "matches"
            )
            parts = [*_chunks(samples)]
            for name, interval in intervals.items():
                low, high = np.concatenate([interval(part) for part in parts]).T
                given = ~np.isnan(low)
                right = ((low <= truth + 1e-9) & (truth - 1e-9 <= high))[given]
                covers, count = right.mean() if len(right) else np.nan, len(right)
                error = (covers * (1 - covers) / count) ** 0.5 if count else np.nan
                rows.append((design.paper, design.measure, units, name, n, len(truth), given.mean(), covers, error))
    names = ["paper", "measure", "units", "interval", "n", "repetitions", "given", "covers", "error"]
    return pd.DataFrame(rows, columns=names)


def _chunks(samples: Samples) -> Iterator[Samples]:
    for start in range(0, len(samples.hits), CHUNK):
        rows = slice(start, start + CHUNK)
        yield Samples(samples.hits[rows], samples.sizes[rows], samples.cells, samples.limits)
