"""How often the rule of docs/statements-rule.md errs: by simulation, on the papers' own designs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from agon.metrics.sequential import decided
from agon_papers import draws
from agon_papers.comparisons import Trial
from agon_papers.draws import SEED, correlated, within_cells
from agon_papers.statements import KINDS
from agon_papers.verdicts import LOOKS, Settled, settle

Numbers = NDArray[np.float64]
CHUNK = 50
"""Simulated records that are worked on at a time."""
FAR = 1e6
"""Added to what is to lie far from its margin."""
AWAY = (2, 3)
"""How many standard errors of what is found a proposition lies from its margin, where power is measured."""
POWER = 250
"""Records on which it is measured at the most."""


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

    def numbers(self, played: Numbers, spreads: bool) -> Numbers:
        """Of each record: the mean of each cell, or its standard deviation."""
        return _cells(self, played, np.ones((1, played.shape[1])), spreads)[0]

    def drawn(self, played: Numbers, drawing: str, spreads: bool, dice: np.random.Generator) -> Numbers:
        """The same of all record sets that the rule draws, to its last look: record sets x records x cells."""
        if drawing == "count":
            n = np.array(self.sizes)
            hits = np.rint(self.numbers(played, spreads=False) * n)
            return dice.beta(hits + 0.5, n - hits + 0.5, size=(max(LOOKS) * draws.BLOCK, *hits.shape))
        units, cells = pd.RangeIndex(len(self.cells)), pd.Series(self.cells)
        each = [within_cells(units, cells, block, whole=drawing == "spread") for block in range(max(LOOKS))]
        weights = np.concatenate([one.weights for one in each]).astype(float)
        return _cells(self, played if drawing == "mean" else _stretched(self, played), weights, spreads)


@dataclass(frozen=True, eq=False)
class Models:
    """Models of which two things are known, that go together: drawn from all that could be, so that Kendall's tau is this on average."""

    n: int
    tau: float
    sizes: Sequence[int] = ()

    @property
    def means(self) -> Numbers:
        """Of no cell."""
        return np.array([])

    def played(self, dice: np.random.Generator, records: int) -> Numbers:
        """So many records: one thing of all models, and then the other."""
        alike = np.sin(np.pi * self.tau / 2)
        one, own = dice.normal(size=(2, records, self.n))
        return np.concatenate([one, alike * one + (1 - alike**2) ** 0.5 * own], axis=1)

    def numbers(self, played: Numbers, spreads: bool) -> Numbers:
        """As they are."""
        return played

    def drawn(self, played: Numbers, drawing: str, spreads: bool, dice: np.random.Generator) -> Numbers:
        """Of record sets in which models are drawn, all but one of them (`agon_papers.draws.any_rows`)."""
        chosen = dice.integers(0, self.n, size=(max(LOOKS) * draws.BLOCK, self.n - 1))
        return played[:, np.concatenate([chosen, chosen + self.n], axis=1)].swapaxes(0, 1)


@dataclass(frozen=True)
class Case:
    """A proposition that lies on its margin, in a design."""

    kind: str
    design: str
    says: str
    of: Design | Models
    gaps: Callable[[Numbers], Numbers]
    """Of the numbers of cells (the last axis): what must be above its margin, a column each; or which rows are counted."""
    drawing: Literal["mean", "spread", "correlation", "count"] = "mean"
    """How record sets are drawn (`agon_papers.statements.Statement.drawing`); of printed counts from their distribution."""
    spreads: bool = False
    """Whether the numbers are standard deviations of cells, not means."""
    counts: bool = False
    """Whether the rows that are true are counted."""
    some: bool = False
    """Whether one true part is enough."""
    far: int = 0
    """So many parts, the last, are true beyond doubt."""
    bent: bool = False
    """Whether numbers are moved to the records' mean first (`agon_papers.statements`)."""


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
    ahead = Design([leads.values[0] - leads.means[0] + 0.3], leads.sizes)
    three = Design([*pair.values] * 3, [*pair.sizes] * 3)
    apart = Design([*(values + 5 for values in one.values), *one.values], [*one.sizes, *one.sizes])
    eight = Design([*one.values] * 8, [*one.sizes] * 8)
    cells, agents, half = len(one.sizes), len(few.sizes), len(votes.sizes) // 2
    middle, bound, average = np.median(styles.means), np.median(few.means), one.means.mean()
    placed = [*(each + place for place in (0, 0, 0, FAR, FAR, -FAR, -FAR, -FAR) for each in one.values)]
    parted = Design(placed, [*one.sizes] * 8)

    def first_less_second(means: Numbers) -> Numbers:
        halves = np.split(means, 2, axis=-1)
        return (halves[0].mean(axis=-1) - halves[1].mean(axis=-1))[..., None]

    def by_model(means: Numbers, models: int) -> Numbers:
        return means.reshape(*means.shape[:-1], models, -1).mean(axis=-1)

    def first_less_others(means: Numbers, models: int = 8) -> Numbers:
        each = by_model(means, models)
        return each[..., :1] - each[..., 1:]

    def models_above(means: Numbers) -> Numbers:
        return np.where(by_model(means, 8) > average, 1.0, 0.0)

    def between_styles(means: Numbers) -> Numbers:
        styles_of = means.reshape(*means.shape[:-1], 2, agents, -1).std(axis=-2, ddof=1).mean(axis=-1)
        return styles_of[..., :1] - styles_of[..., 1:]

    def chances(n: int, share: float, players: int = 2) -> Design:
        values = np.zeros(1000)
        values[: round(1000 * share)] = 1
        return Design([values] * players, [n] * players)

    dilemma = f"prisoner's dilemma, {model}"
    pp = "prisoner's dilemma: 48 cells against pp"
    cases = [
        Case("level", f"{dilemma}: {cells} cells", "a mean", one, lambda m: m.mean(axis=-1)[..., None]),
        Case("level", "TradeCraft: 10 games of a pair", "a mean lead", leads, lambda m: m),
        Case("level", "MAgIC: 21 games", "a share", chances(21, 0.6, 1), lambda m: m, "count"),
        Case("comparison", f"{dilemma}: 2 x {cells} cells", "one mean above another", one.twice(), first_less_second),
        Case("comparison", f"{dilemma}: 2 x {agents} cells", "one mean above another", few.twice(), first_less_second),
        Case("comparison", "TradeCraft: 2 x 10 games", "one mean score above another", pair.twice(), first_less_second),
    ]
    for n, share, what in ((21, 0.6, "games"), (80, 0.8, "ballots"), (420, 0.7, "decisions")):
        design = f"MAgIC: 2 x {n} {what}"
        cases.append(
            Case("comparison", design, "one share above another", chances(n, share), first_less_second, "count")
        )
    within, above = "within a margin of", "above seven, one of them at par"
    cases += [
        Case(
            "equivalence", f"{dilemma}: 2 x {cells} cells", f"{within} 5", apart, lambda m: -abs(first_less_second(m))
        ),
        Case("equivalence", "TradeCraft: 10 games of a pair", f"{within} 0.3", ahead, lambda m: -abs(m)),
        Case("order", f"{dilemma}: 8 x {cells} cells", above, eight, first_less_others, far=6),
        Case(
            "order",
            f"{dilemma}: 3 x {cells} cells",
            "one of three above a bound, all at par",
            Design([*one.values] * 3, [*one.sizes] * 3),
            lambda m: by_model(m, 3),
            some=True,
        ),
        Case("extreme", f"{dilemma}: 8 x {cells} cells", "above seven, all at par", eight, first_less_others),
        Case(
            "extreme",
            "TradeCraft: 3 x 10 games",
            "above two, one of them at par",
            three,
            partial(first_less_others, models=3),
            far=1,
        ),
        Case("extreme", "MAgIC: 8 x 80 ballots", above, chances(80, 0.8, 8), first_less_others, "count", far=6),
        Case(
            "share",
            pp,
            "cells in a range",
            styles,
            lambda m: np.where((m >= 53.5) & (m <= 63.5), 1.0, 0.0),
            counts=True,
        ),
        Case("share", pp, "cells above a bound", styles, lambda m: np.where(m > middle, 1.0, 0.0), counts=True),
        Case(
            "share",
            f"{dilemma}: {agents} cells",
            "cells above a bound",
            few,
            lambda m: np.where(m > bound, 1.0, 0.0),
            counts=True,
        ),
        Case(
            "share",
            f"{dilemma}: 8 x {cells} cells",
            "models above a bound, three of them at par",
            parted,
            models_above,
            counts=True,
        ),
        Case(
            "share",
            f"{dilemma}: 8 x {cells} cells",
            "models above a bound, all at par",
            eight,
            models_above,
            counts=True,
        ),
        Case(
            "correlation",
            f"prisoner's dilemma: {half} pairs of cells",
            "with and without votes",
            votes,
            _ranked_alike,
            "correlation",
            bent=True,
        ),
        Case(
            "spread",
            f"{dilemma}: 2 x {cells} cells",
            "one varies more",
            one.twice(),
            first_less_second,
            "spread",
            spreads=True,
        ),
        Case(
            "spread",
            f"{dilemma}: 2 x {cells} cells",
            "one varies more between styles",
            one.twice(),
            between_styles,
            "spread",
            bent=True,
        ),
        Case(
            "spread",
            f"{dilemma}: 8 x {cells} cells",
            f"varies most, {above}",
            eight,
            first_less_others,
            "spread",
            spreads=True,
            far=6,
        ),
    ]
    for n in (6, 8):
        going = Models(n, 0.3)
        cases.append(
            Case(
                "correlation",
                f"MAgIC: {n} models",
                "Kendall's tau above 0.3",
                going,
                _ordered_alike,
                "correlation",
                bent=True,
            )
        )
    return sorted(cases, key=lambda case: KINDS.index(case.kind))


def _ranked_alike(means: Numbers) -> Numbers:
    """Rank correlation of the first half of the cells and the second."""
    one, other = np.split(means, 2, axis=-1)
    return correlated(one, other, "spearman")[..., None]


def _ordered_alike(numbers: Numbers) -> Numbers:
    """Kendall's tau of the first half and the second."""
    one, other = np.split(numbers, 2, axis=-1)
    return correlated(one, other, "kendall")[..., None]


def simulated(cases: Iterable[Case], repetitions: int) -> pd.DataFrame:
    """Each case in so many simulated records: kind, design, says, repetitions; holds, fails (shares so decided), covers (share of intervals
    that have the true number in them); holds_2, fails_2 ... (share rightly so decided where the truth lies AWAY from the margin, by 2
    standard errors of what is found, ...); and the standard error of each (column error_...).
    """
    rows = []
    for case in cases:
        found = pd.DataFrame(_decided(case, repetitions), dtype=float)
        shares = found.mean()
        errors = (shares * (1 - shares) / found.count()) ** 0.5
        named = {"kind": case.kind, "design": case.design, "says": case.says, "repetitions": repetitions}
        rows.append({**named, **shares, **errors.add_prefix("error_")})
    return pd.DataFrame(rows)


def _decided(case: Case, repetitions: int) -> list[dict[str, bool]]:
    """For each repetition: what `simulated` has the shares of."""
    dice = np.random.default_rng([SEED, *case.kind.encode(), *case.design.encode(), *case.says.encode()])
    design = case.of
    nature = case.gaps(design.numbers(design.played(dice, 4000), case.spreads))
    if case.counts:
        margin, error = np.array(nature.mean()), nature.mean(axis=1).std()
    else:
        sums = case.bent or case.spreads
        margin, error = nature.mean(axis=0) if sums else case.gaps(design.means), nature.std(axis=0)
    places = np.arange(nature.shape[-1])
    far = np.where(places >= len(places) - case.far, FAR, 0.0)
    truth = _found(case, nature, margin, far).estimate.mean() if nature.shape[-1] > 1 else 0.0
    out: list[dict[str, bool]] = []
    for _ in range(0, repetitions, CHUNK):
        played = design.played(dice, min(CHUNK, repetitions - len(out)))
        own = case.gaps(design.numbers(played, case.spreads))
        drawn = np.nan_to_num(case.gaps(design.drawn(played, case.drawing, case.spreads, dice)))
        if case.bent:
            drawn = drawn - drawn.mean(axis=0) + own
        for one, many in zip(own, drawn.swapaxes(0, 1), strict=True):
            verdict, found = _verdict(case, one, many, margin, far)
            low, high = found.tests[0].ends(found.tails)
            row = {"holds": verdict == "holds", "fails": verdict == "fails"}
            row["covers"] = bool(low - 1e-9 <= truth <= high + 1e-9)
            for away in AWAY if len(out) < POWER else ():
                for says, sign in (("holds", -1), ("fails", 1)):
                    row[f"{says}_{away}"] = _verdict(case, one, many, margin + sign * away * error, far)[0] == says
            out.append(row)
    return out


def _verdict(case: Case, one: Numbers, many: Numbers, margin: Numbers, far: Numbers) -> tuple[str, Settled]:
    """What is decided, and by which record sets. `one`: the records' gaps; `many`: record sets x gaps."""
    recorded, drawn = (_found(case, each, margin, far) for each in (one[None], many))
    cells = () if case.drawing == "count" else case.of.sizes
    found = settle([recorded], lambda block: [_block(drawn, block)], cells)
    sure = found.decided and all(each.true == recorded.true for each in recorded.stepped())
    said = "undecided" if not sure else "holds" if recorded.true else "fails"
    return said, found


def _found(case: Case, gaps: Numbers, margin: Numbers, far: Numbers) -> Trial:
    """The test of record sets x gaps."""
    if case.counts:
        sizes = pd.Series(gaps.shape[1], range(len(gaps)))
        trial = Trial(pd.Series(gaps.mean(axis=1)), pd.DataFrame(), sizes, f"{100 * margin:.6f}%")
        return trial.having(pd.Series(gaps.sum(axis=1)))
    gaps = gaps - margin + far
    parts = pd.DataFrame(gaps > 0)
    if case.some:
        return Trial(parts.mean(axis=1), parts, pd.Series(parts.shape[1], parts.index), "any")
    return Trial(pd.Series(gaps.min(axis=1)), parts)


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


def worlds(matches: pd.DataFrame, games: pd.DataFrame) -> dict[str, Sequence[Numbers]]:
    """Of designs as in `cases`: the values that a match can have in each cell, as parts of their range. Wins are of no paper."""
    dilemma, lead, *_ = (
        (case.design, case.of.values)
        for case in cases(matches, games)
        if case.kind == "level" and isinstance(case.of, Design)
    )
    return {
        f"points, {dilemma[0]}": [np.clip((each - 16) / 80, 0, 1) for each in dilemma[1]],
        f"lead, {lead[0]}": [np.clip((each + 1) / 2, 0, 1) for each in lead[1]],
        "won or lost, as often": [np.array([0.0, 1.0])],
    }


def stopping(
    worlds: Mapping[str, Sequence[Numbers]], raises: Sequence[float], repetitions: int, blocks: int = 300
) -> pd.DataFrame:
    """Two players who are alike, but that one has so much more in each match (`raises`, parts of the range; at most all of it).

    They are looked at after each block, up to so many: a match of each in a cell drawn anew, as in `agon.inference.until`. Columns: world,
    difference (of their means), repetitions; wrong (share that ever decides for the wrong one, or for any where both are alike), right
    (for the right one), their standard errors (error_...), and half (blocks after which half of all are decided rightly).
    """
    rows = []
    for world, cells in worlds.items():
        dice, sizes, values = np.random.default_rng([SEED, *world.encode()]), [*map(len, cells)], np.concatenate(cells)
        drawn = dice.integers(0, len(cells), (repetitions, blocks))
        places = (dice.random((2, *drawn.shape)) * np.array(sizes)[drawn]).astype(int)
        one, other = values[np.cumsum([0, *sizes[:-1]])[drawn] + places]
        for raised in raises:
            found = [decided(each) for each in np.minimum(other + raised, 1) - one]
            signs = np.array([each.sign for each in found])
            right = (signs > 0) & (raised > 0)
            shares = pd.Series({"wrong": ((signs != 0) & ~right).mean(), "right": right.mean()})
            took = np.sort([each.n if rightly else np.inf for each, rightly in zip(found, right, strict=True)])
            difference = float(np.mean([(np.minimum(each + raised, 1) - each).mean() for each in cells]))
            errors = ((shares * (1 - shares) / repetitions) ** 0.5).add_prefix("error_")
            half = took[repetitions // 2]
            said = {"world": world, "difference": difference, "repetitions": repetitions}
            rows.append(said | {**shares, **errors, "half": half if np.isfinite(half) else np.nan})
    return pd.DataFrame(rows)
