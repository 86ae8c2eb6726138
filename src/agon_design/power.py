"""The power of a planned experiment: the smallest detectable difference, and the matches that a difference takes, by the noncentral t.

A kind is the set of matches that differ in their repetition only. A cell is one player's side of a kind. Cells are fixed, matches are
drawn. A comparison is of two agents, or of two models, within strata, as in `compare`, with equal weights of cells. As there, a match
counts once for two conditions: for the first seat with one of them. If some seat asks a model, players that ask none are opponents.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isfinite
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import chi2

from agon.metrics.power import detectable, fewest
from agon.plan import Match
from agon.scores import scores, with_new_names
from agon_design.units import players

LEVELS = (["game", "variant", "agent", "opponent"], ["game", "variant", "opponent"], ["game", "variant"], ["game"])
"""A cell's variance is that of recorded cells with the same values in these columns: the first level with LEAST degrees of freedom."""

LEAST = 10
CONFIDENCE = 0.8
"""A recorded spread is itself known from few matches: its upper limit counts, which the true one exceeds with a chance of 20 %."""
OWN = "its own"
"""Name of an opponent's model that is the player's."""
ALL = "all"
"""The game and variant of a comparison over several of them."""
MOST = 1_000_000
"""The largest number of matches of each cell that is computed."""


@dataclass(frozen=True)
class Design:
    """A planned experiment, with the variances of its cells."""

    kinds: pd.DataFrame
    """One row per kind (index: its hash): game, variant, players, n (matches planned)."""
    cells: pd.DataFrame
    """One row per kind and side that is compared: kind, game, variant, agent, model, opponent, opponent_model, variance (its upper
    limit, see CONFIDENCE), df (degrees of freedom of the records behind it; absent where it is assumed), basis."""

    def comparisons(self, n: Mapping[str, int] | pd.Series | None = None) -> pd.DataFrame:
        """The smallest detectable differences with `n` matches of each kind (None: as planned).

        One row per game, variant and `by` (agent or model), and of several of these one more over all (ALL), as `compare` does: pairs,
        strata (of both conditions), n (matches of each condition), sd (within cells, from the upper limits of the variances), df (the
        fewest behind one of these), detectable (in the pair with the least power).
        """
        rows = []
        for (game, variant, by), pairs in self._pairs(self.kinds.n if n is None else pd.Series(n)):
            least = [_smallest_difference(*pair) for pair in pairs]
            worst = int(np.argmax(np.nan_to_num(least, nan=np.inf)))
            counts, variances = pairs[worst]
            sd = float(np.mean(variances)) ** 0.5
            cells = self.cells[(game == ALL) | ((self.cells.game == game) & (self.cells.variant == variant))]
            n_of_each = counts.sum(axis=0).min()
            rows.append((game, variant, by, len(pairs), len(counts), n_of_each, sd, cells.df.min(), least[worst]))
        return pd.DataFrame(rows, columns=["game", "variant", "by", "pairs", "strata", "n", "sd", "df", "detectable"])

    def needed(self, difference: float) -> int | None:
        """Matches of each kind with which every comparison detects this difference; None beyond MOST."""
        pairs = [pair for _, pairs in self._pairs(self.kinds.n) for pair in pairs]

        def enough(n: int) -> bool:
            return all(
                _smallest_difference(np.full_like(counts, n), variances) <= difference for counts, variances in pairs
            )

        number = fewest(enough, MOST)
        return int(number) if isfinite(number) else None

    def scaled(self, share: float) -> pd.Series:
        """The planned matches of each kind times `share`, rounded down; 2 at least."""
        return np.floor(self.kinds.n * share + 1e-9).astype(int).clip(lower=2)

    def _pairs(
        self, n: pd.Series
    ) -> list[tuple[tuple[str, str, str], list[tuple[NDArray[np.float64], NDArray[np.float64]]]]]:
        """(game, variant, by) of each comparison, with the matches and variances (strata x 2) of every pair in their common strata."""
        cells, comparisons = self.cells.assign(n=self.cells.kind.map(n)), []
        tables = [*cells.groupby(["game", "variant"], sort=True)]
        for (game, variant), of_game in [*tables, *([((ALL, ALL), cells)] if len(tables) > 1 else [])]:
            for by, other in (("agent", "model"), ("model", "agent")):
                keys = ["game", "variant", other, "opponent", "opponent_model"]
                pairs = []
                for pair in combinations(sorted(of_game[by].unique()), 2):
                    once = of_game[of_game[by].isin(pair)].drop_duplicates("kind")
                    table = once.groupby([*keys, by]).agg({"n": "sum", "variance": "mean"}).unstack().dropna()
                    if once[by].nunique() == 2 and len(table):
                        pairs.append((table.n.to_numpy(dtype=float), table.variance.to_numpy(dtype=float)))
                if pairs:
                    comparisons.append(((str(game), str(variant), by), pairs))
        return comparisons


class Side(NamedTuple):
    """One player's side of a match."""

    agent: str
    model: str
    opponent: str
    """Agents of the others, joined by +."""
    opponent_model: str
    """Models of the others, joined by +; OWN for the player's."""
    seat: int
    """The player's first seat."""


def sides(match: Match, asking: bool) -> list[Side]:
    """The sides of a match that are compared: seats under test; or else those that ask a model, if `asking`; or else all."""
    tested, sides_by_player = set(match.game.tested or ()), dict[tuple[str, str], Side]()
    for place, seat in enumerate(match.seats):
        if place in tested if tested else seat.model or not asking:
            beside = [seat_beside for other, seat_beside in enumerate(match.seats) if other not in (tested or {place})]
            models_beside = {seat_beside.model for seat_beside in beside if seat_beside.model}
            model = OWN if models_beside == {seat.model} else "+".join(sorted(models_beside))
            opponent = "+".join(sorted({seat_beside.agent for seat_beside in beside}))
            side = Side(seat.agent, seat.model or "", opponent, model, place)
            sides_by_player.setdefault((side.agent, side.model), side)
    return [*sides_by_player.values()]


def design(matches: Sequence[Match], varying: pd.DataFrame | None, assumed: float = 1.0) -> Design:
    """The design of planned matches. `varying`: `variances` of recorded ones. `assumed`: the standard deviation of all other cells."""
    asking = any(seat.model for match in matches for seat in match.seats)
    kinds: dict[str, Match] = {}
    counts: dict[str, int] = {}
    for match in matches:
        kinds.setdefault(match.config, match)
        counts[match.config] = counts.get(match.config, 0) + 1
    rows, cells = [], []
    for kind, match in kinds.items():
        game = match.game
        players = " against ".join(map(str, match.seats))
        rows.append((kind, game.name, game.variant, players, counts[kind]))
        cells += [(kind, game.name, game.variant, *side[:4]) for side in sides(match, asking)]
    frame = pd.DataFrame(rows, columns=["kind", "game", "variant", "players", "n"]).set_index("kind")
    sides_ = pd.DataFrame(cells, columns=["kind", "game", "variant", "agent", "model", "opponent", "opponent_model"])
    sides_ = sides_.drop_duplicates(["kind", "agent", "model"])
    return Design(frame, _with_variances(sides_, varying, assumed))


def variances(turns: pd.DataFrame, games: pd.DataFrame, metric: str) -> pd.DataFrame:
    """The variance of a metric within recorded cells of several matches, a row each: game, variant, agent, opponent, df, variance.

    Raises AgonError for a metric that does not exist, or that no match has.
    """
    seats = players(with_new_names(turns), games)
    cell = [*seats.columns.drop("match")]
    values = scores(turns, games, [metric]).astype({"match": "str"}).dropna(subset=metric)
    groups = values.merge(seats, on=["match", "seat"]).groupby(cell)[metric]
    table = groups.agg(df=lambda values_of_cell: len(values_of_cell) - 1, variance="var").reset_index()
    return table[table.df > 0][["game", "variant", "agent", "opponent", "df", "variance"]].reset_index(drop=True)


def _with_variances(cells: pd.DataFrame, varying: pd.DataFrame | None, assumed: float) -> pd.DataFrame:
    """`cells` with variance, df and basis, by the first of LEVELS with enough degrees of freedom."""
    table = cells.assign(variance=np.nan, df=np.nan, basis="")
    for level in LEVELS if varying is not None else ():
        sums = varying.assign(parts=varying.df * varying.variance).groupby(level)[["df", "parts"]].sum()  # type: ignore[union-attr]
        sums = sums[sums.df >= LEAST]
        limits = sums.assign(variance=sums.parts / chi2.ppf(1 - CONFIDENCE, sums.df))[["variance", "df"]]
        nearest = cells[level].merge(limits, "left", left_on=level, right_index=True)[["variance", "df"]]
        new = table.variance.isna().to_numpy() & nearest.variance.notna().to_numpy()
        table.loc[new, ["variance", "df"]] = nearest.to_numpy()[new]
        table.loc[new, "basis"] = " ".join(level)
    return table.fillna({"variance": assumed**2}).assign(basis=table.basis.replace("", "assumed"))


def _smallest_difference(counts: NDArray[np.float64], variances: NDArray[np.float64]) -> float:
    """The smallest detectable difference of two conditions' means over strata of equal weight. Arguments: strata x 2."""
    parts = variances / counts / len(counts) ** 2
    total, free = parts.sum(), counts - 1
    if not free.any():  # one match in each: by the differences of strata
        return detectable(float(total) ** 0.5, len(counts) - 1)
    df = total**2 / (parts**2 / free.clip(min=1)).sum() if total > 0 else free.sum()
    return detectable(float(total) ** 0.5, float(df))
