"""What a planned experiment can detect, and how many matches a difference takes: by the noncentral t.

A kind is what matches have in common that differ in their repetition alone; a cell is one player's side of a kind. Cells are fixed,
matches are drawn; a comparison is of two agents, or of two models, within all else that they share, as `compare` does it, with
cells that count alike. Where some seat asks a model, players that ask none are opponents.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isfinite
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from agon.metrics.power import detectable, fewest
from agon.plan import Match
from agon.scores import scores, with_new_names
from agon_design.units import players

LEVELS = (["game", "variant", "agent", "opponent"], ["game", "variant", "opponent"], ["game", "variant"], ["game"])
"""A cell varies as recorded ones do that are alike in this: the first that has LEAST degrees of freedom."""

LEAST = 10
OWN = "its own"
"""In the place of the opponent's model: the same as the player's."""
MOST = 1_000_000
"""Matches of each cell, beyond which no number is named."""


@dataclass(frozen=True)
class Design:
    """A planned experiment, and how much its cells vary."""

    kinds: pd.DataFrame
    """One row per kind (index: its hash): game, variant, players, n (matches planned)."""
    cells: pd.DataFrame
    """One row per kind and side that is compared: kind, game, variant, agent, model, opponent, opponent_model, variance, basis."""

    def comparisons(self, n: Mapping[str, int] | pd.Series | None = None) -> pd.DataFrame:
        """What can be detected with `n` matches of each kind (none: as planned).

        One row per game, variant, and what is compared (`by`: agent or model): pairs, strata (that both share), n (matches of each of
        the two), sd (within cells), detectable (in the pair that is known least).
        """
        rows = []
        for (game, variant, by), pairs in self._pairs(self.kinds.n if n is None else pd.Series(n)):
            least = [_detected(*pair) for pair in pairs]
            worst = int(np.argmax(np.nan_to_num(least, nan=np.inf)))
            counts, variances = pairs[worst]
            sd = float(np.mean(variances)) ** 0.5
            rows.append((game, variant, by, len(pairs), len(counts), counts.sum(axis=0).min(), sd, least[worst]))
        return pd.DataFrame(rows, columns=["game", "variant", "by", "pairs", "strata", "n", "sd", "detectable"])

    def needed(self, wanted: float) -> int | None:
        """Matches of each kind with which every comparison detects a difference of `wanted`; None beyond MOST."""
        pairs = [pair for _, pairs in self._pairs(self.kinds.n) for pair in pairs]

        def enough(n: int) -> bool:
            return all(_detected(np.full_like(counts, n), variances) <= wanted for counts, variances in pairs)

        found = fewest(enough, MOST)
        return int(found) if isfinite(found) else None

    def scaled(self, share: float) -> pd.Series:
        """Matches of each kind, in the proportions planned, rounded down; 2 at least."""
        return np.floor(self.kinds.n * share + 1e-9).astype(int).clip(lower=2)

    def _pairs(
        self, n: pd.Series
    ) -> list[tuple[tuple[str, str, str], list[tuple[NDArray[np.float64], NDArray[np.float64]]]]]:
        """For all that is compared: of every pair the matches and variances in what they share, strata x 2."""
        cells, found = self.cells.assign(n=self.cells.kind.map(n)), []
        for (game, variant), own in cells.groupby(["game", "variant"], sort=True):
            for by, other in (("agent", "model"), ("model", "agent")):
                keys = [other, "opponent", "opponent_model"]
                tables = own.groupby([*keys, by])[["n", "variance"]].agg({"n": "sum", "variance": "mean"}).unstack()
                counts, variances = (
                    tables.xs(name, axis=1, level=0).to_numpy(dtype=float) for name in ("n", "variance")
                )
                pairs = []
                for pair in combinations(range(counts.shape[1]), 2):
                    shared = ~np.isnan(counts[:, pair]).any(axis=1)
                    if shared.any():
                        pairs.append((counts[shared][:, pair], variances[shared][:, pair]))
                if pairs:
                    found.append(((str(game), str(variant), by), pairs))
        return found


class Side(NamedTuple):
    """One player's side of a match."""

    agent: str
    model: str
    opponent: str
    """Agents of the others, joined by +."""
    opponent_model: str
    """Theirs; OWN where it is the player's."""
    seat: int
    """The first that it has."""


def sides(match: Match, asking: bool) -> list[Side]:
    """The sides of a match that are compared: seats under test, or else those that ask a model (`asking`: some do), or else all."""
    tested, found = set(match.game.tested or ()), dict[tuple[str, str], Side]()
    for place, seat in enumerate(match.seats):
        if place in tested if tested else seat.model or not asking:
            beside = [each for other, each in enumerate(match.seats) if other not in (tested or {place})]
            theirs = {each.model for each in beside if each.model}
            model = OWN if theirs == {seat.model} else "+".join(sorted(theirs))
            opponent = "+".join(sorted({each.agent for each in beside}))
            side = Side(seat.agent, seat.model or "", opponent, model, place)
            found.setdefault((side.agent, side.model), side)
    return [*found.values()]


def design(matches: Sequence[Match], varying: pd.DataFrame | None, assumed: float = 1.0) -> Design:
    """The design of planned matches. `varying`: `variances` of recorded ones; where they tell nothing a standard deviation is `assumed`."""
    asking = any(seat.model for match in matches for seat in match.seats)
    kinds: dict[str, Match] = {}
    counts: dict[str, int] = {}
    for match in matches:
        kinds.setdefault(match.config, match)
        counts[match.config] = counts.get(match.config, 0) + 1
    told, cells = [], []
    for kind, match in kinds.items():
        game = match.game
        players = " against ".join(f"{seat.agent}@{seat.model}" if seat.model else seat.agent for seat in match.seats)
        told.append((kind, game.name, game.variant, players, counts[kind]))
        cells += [(kind, game.name, game.variant, *side[:4]) for side in sides(match, asking)]
    frame = pd.DataFrame(told, columns=["kind", "game", "variant", "players", "n"]).set_index("kind")
    sides_ = pd.DataFrame(cells, columns=["kind", "game", "variant", "agent", "model", "opponent", "opponent_model"])
    sides_ = sides_.drop_duplicates(["kind", "agent", "model"])
    return Design(frame, _with_variances(sides_, varying, assumed))


def variances(turns: pd.DataFrame, games: pd.DataFrame, metric: str) -> pd.DataFrame:
    """How a metric varied within recorded cells, a row each: game, variant, agent, opponent, df, variance. Cells of one match have none.

    Raises AgonError for a metric that is not known, or that no match has.
    """
    seats = players(with_new_names(turns), games)
    cell = [*seats.columns.drop("match")]
    values = scores(turns, games, [metric]).astype({"match": "str"}).dropna(subset=metric)
    groups = values.merge(seats, on=["match", "seat"]).groupby(cell)[metric]
    found = groups.agg(df=lambda each: len(each) - 1, variance="var").reset_index()
    return found[found.df > 0][["game", "variant", "agent", "opponent", "df", "variance"]].reset_index(drop=True)


def _with_variances(cells: pd.DataFrame, varying: pd.DataFrame | None, assumed: float) -> pd.DataFrame:
    """`cells` with variance and basis, by the nearest of LEVELS that has enough of them."""
    found = cells.assign(variance=np.nan, basis="")
    for level in LEVELS if varying is not None else ():
        sums = varying.assign(parts=varying.df * varying.variance).groupby(level)[["df", "parts"]].sum()  # type: ignore[union-attr]
        sums = sums[sums.df >= LEAST]
        own = cells[level].merge((sums.parts / sums.df).rename("known"), "left", left_on=level, right_index=True).known
        new = found.variance.isna().to_numpy() & own.notna().to_numpy()
        found.loc[new, "variance"], found.loc[new, "basis"] = own.to_numpy()[new], " ".join(level)
    return found.fillna({"variance": assumed**2}).assign(basis=found.basis.replace("", "assumed"))


def _detected(counts: NDArray[np.float64], variances: NDArray[np.float64]) -> float:
    """The smallest difference of the means over cells that is detected, of two conditions in strata (strata x 2) that count alike."""
    parts = variances / counts / len(counts) ** 2
    total, free = parts.sum(), counts - 1
    if not free.any():  # one match in each: by the differences of strata
        return detectable(float(total) ** 0.5, len(counts) - 1)
    df = total**2 / (parts**2 / free.clip(min=1)).sum() if total > 0 else free.sum()
    return detectable(float(total) ** 0.5, float(df))
