"""Exact tests on counts: whether a printed share can be a count, and whether gains in Table 4 are more than chance."""

from functools import cache
from math import lcm
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import binom, fisher_exact, ttest_1samp, ttest_ind_from_stats
from statsmodels.stats.multitest import multipletests

from agon.metrics.exact import mcnemar_bounds
from agon.metrics.interval import proportion_interval
from agon_papers.magic.facts import ABILITIES, AVERAGE, COMPETITIONS, PGM, ROUNDS, SETTINGS, Facts
from agon_papers.magic.granularity import Definition, as_printed, counted, sizes, summed

VOTES, SPY_GAMES = 4 * SETTINGS, 2 * SETTINGS
"""Number of ballots of two crowd seats, and number of games as spy, in both social games."""

SELF = {"chameleon": 9 * SETTINGS, "undercover": 6 * SETTINGS}
"""Number of interviews about one's own role: 3 or 2 per seat and game, for one seat as spy and two as crowd."""

INTERVIEWS = sum(SELF.values())
DECISIONS = 2 * COMPETITIONS * ROUNDS

GAMES = {
    "judgement": 2 * SETTINGS,
    "reasoning": 4 * SETTINGS,
    "deception": SPY_GAMES,
    "self_awareness": 4 * SETTINGS,
    "cooperation": COMPETITIONS,
    "coordination": COMPETITIONS,
    "rationality": 2 * COMPETITIONS,
}
"""Ability -> the number of games with its decisions. Every setting of a social game is played as spy and as both
crowd seats."""

LONGEST = 300
"""The largest sample size tried for `other_n`: the number of interviews."""


@cache
def definitions(agreed: int | None = None) -> dict[str, dict[str, Definition]]:
    """Column -> reading -> the definition. Literal: the paper's formula. Reconciled: the definition that most cells
    fit.

    `agreed`: the number of games that ended in agreement; without it, columns that count these games have no
    definition.
    """
    games, chameleon, undercover = f"games of {COMPETITIONS}", SELF["chameleon"], SELF["undercover"]
    guesses = lcm(*range(1, SETTINGS + 1))
    misled = np.unique([guesses // n * k for n in range(1, SETTINGS + 1) for k in range(n + 1)])
    spies, provoked = (np.arange(SPY_GAMES + 1), SPY_GAMES), (misled, 4 * guesses)
    selves = (3 * np.arange(chameleon + 1), 5 * chameleon), (np.arange(undercover + 1), undercover)

    def both(definition: Definition) -> dict[str, Definition]:
        return {"literal": definition, "reconciled": definition}

    def win_rate(words: str, *credits_of: int) -> Definition:
        parts = [(range(2 * most + 1), 7 * most) for most in credits_of]
        of_games = range(3 * COMPETITIONS + 1), 7 * COMPETITIONS
        return summed(f"mean of seven roles, {words}", *parts, of_games)

    table = {
        "win_rate": {
            "literal": win_rate("all social credits over 2n", SPY_GAMES, SPY_GAMES),
            "reconciled": win_rate("Undercover credits over 3n", SPY_GAMES, 3 * SETTINGS),
        },
        "judgement": both(counted(VOTES, "right ballots")),
        "reasoning": {
            "literal": counted(3 * INTERVIEWS, "right deductions, two predictions each by itself"),
            "reconciled": counted(2 * INTERVIEWS, "right deductions, two predictions as one"),
        },
        "deception": {
            "literal": summed("games not lost as spy plus a quarter of the wrong guesses provoked", spies, provoked),
            "reconciled": counted(SPY_GAMES, "games not lost as spy"),
        },
        "self_awareness": {
            "literal": summed("0.6 of the Chameleon share plus the whole Undercover share", *selves),
            "reconciled": counted(INTERVIEWS, "right self-identifications, pooled"),
        },
        "cooperation": both(counted(COMPETITIONS, f"agreed {games}")),
        "rationality": both(counted(DECISIONS, "rounds of defection or least contribution")),
        "cost_sharing_wr": both(counted(COMPETITIONS, f"agreed {games}")),
        "prisoner_wr": both(counted(COMPETITIONS, f"won {games}")),
        "public_good_wr": both(counted(COMPETITIONS, f"won {games}")),
        "prisoner_score": both(counted(COMPETITIONS, f"points over {games}", scale=1, most=100)),
        "public_good_payback": both(counted(30 * COMPETITIONS, "thirds of multiplied pools", scale=1, most=300)),
    }
    if agreed is None:
        return table
    costs = {"whole percents": 1, "steps of five percent, as the released prompt asks for": 5}
    exact, stepped = (
        counted(agreed, f"mean over agreed games, {words}", scale=1, step=step, most=100)
        for words, step in costs.items()
    )
    return table | {
        "coordination": {
            "literal": counted(agreed, "agreed games with the challenger's shares"),
            "reconciled": counted(COMPETITIONS, f"{games} agreed with the challenger's shares"),
        },
        "cost_sharing_cost": {**both(exact), "prompted": stepped},
    }


NOT_SHARES = ("win_rate", "cost_sharing_cost", "prisoner_score", "public_good_payback")
"""Columns that are not the share of one sample."""


def granularity(facts: Facts) -> pd.DataFrame:
    """Whether every printed cell of Tables 1, 2 and 4 fits its definition, under each reading.

    Columns: table, model, metric, published (text), reading, definition.
    n, k: the sample and the count (absent: it is no count). nearest: the nearest possible value.
    low, high: 95 % interval (Clopper and Pearson; decisions count as independent).
    fits: without trailing zeros. fits_digits: with all printed digits. how: rounded, cut off, rounded up, or empty.
    chance: the share of all printable values that would fit.
    other_n: the six smallest sample sizes up to LONGEST for which a count would fit.
    """
    printed = pd.concat([facts.tables[number].assign(table=number) for number in (1, 2, 4)])
    printed = printed[printed.model != AVERAGE].rename(columns={"value": "published"})
    shares = printed[printed.metric == "cooperation"].set_index("model").published.astype(float)
    agreed = {str(model): round(share * COMPETITIONS / 100) for model, share in shares.items()}
    rows = [
        cell | {"reading": reading} | _test(definition, cell["published"])
        for cell in printed[["table", "model", "metric", "published"]].to_dict("records")
        for reading, definition in definitions(agreed.get(cell["model"])).get(cell["metric"], {}).items()
    ]
    table = pd.DataFrame(rows).astype({"n": "Int64", "k": "Int64"})
    smallest = table.published.map(lambda text: " ".join(map(str, sizes(as_printed(text), LONGEST)[:6])))
    return table.assign(other_n=smallest.mask(table.metric.isin(NOT_SHARES), ""))


@cache
def _test(definition: Definition, text: str) -> dict[str, Any]:
    """The columns of `granularity` for one printed number."""
    printed, n = as_printed(text), definition.n
    k = int(definition.nearest(*printed))
    low, high = proportion_interval(k, n) if n else (np.nan, np.nan)
    return {
        "definition": definition.says,
        "n": n,
        "k": k if n else None,
        "nearest": definition.scale * k / definition.denominator,
        "low": 100 * low,
        "high": 100 * high,
        "fits": definition.fits(printed),
        "fits_digits": definition.fits(as_printed(text, filled=True)),
        "how": definition.how(printed),
        "chance": definition.chance(printed.digits),
    }


def fitting(tested: pd.DataFrame) -> pd.DataFrame:
    """The number of cells of each column that fit: metric, reading, definition, cells, fit, chance (of one), by_luck (p
    of as many fits).

    tested: the table of `granularity`. Cells in both Tables 1 and 4 count once.
    """
    once = tested.drop_duplicates(["model", "metric", "published", "reading"])
    table = once.groupby(["metric", "reading"], sort=False).agg(
        definition=("definition", "first"), cells=("fits", "size"), fit=("fits", "sum"), chance=("chance", "mean")
    )
    return table.assign(by_luck=binom.sf(table.fit - 1, table.cells, table.chance)).reset_index()


TESTS = ("fisher", "fisher_games", "paired_least", "paired_most")


def significance(tested: pd.DataFrame) -> pd.DataFrame:
    """Every pair of Table 4 with two-sided p values, from the reconciled counts of `tested` (`granularity`).

    Decisions count as independent. `fisher_games` is the other extreme: all decisions of a game are equal, so only games
    count. Columns:
    model, metric, vanilla, enhanced, gain, n, k_vanilla, k_enhanced, games (GAMES).
    counted: both cells are exactly such counts.
    t: t-test of two samples, as the paper may have computed. t_least: the smallest p of any t-test, one-sided, with the
    pairing that favours a gain most.
    fisher: exact test of two samples. fisher_games: the same with the nearest numbers of games.
    paired_least, paired_most: the smallest and the largest p of McNemar's exact test over all pairings of decisions.
    holm_NAME: Holm's correction of the last four over a model's seven abilities. all_fisher, all_fisher_games: Holm's
    correction over all pairs and abilities.
    """
    cells = tested[(tested.table == 4) & (tested.reading == "reconciled") & tested.metric.isin(ABILITIES)]
    enhanced = cells.model.str.endswith(PGM)
    after = cells[enhanced].assign(model=cells.model.str.removesuffix(PGM))
    both = cells[~enhanced].merge(after, on=["model", "metric", "n"], suffixes=("_vanilla", "_enhanced"))
    both = both.assign(
        vanilla=both.published_vanilla.astype(float),
        enhanced=both.published_enhanced.astype(float),
        gain=lambda table: (table.enhanced - table.vanilla).round(2),
        counted=both.fits_vanilla & both.fits_enhanced,
    )
    table = both[["model", "metric", "vanilla", "enhanced", "gain", "n", "k_vanilla", "k_enhanced", "counted"]]
    counts = zip(table.k_vanilla, table.k_enhanced, table.n, strict=True)
    table = table.join(pd.DataFrame([p_values(*count) for count in counts])).assign(games=table.metric.map(GAMES))
    table["fisher_games"] = [
        float(fisher_exact([[k, games - k] for k in (round(before * games / n), round(after * games / n))]).pvalue)
        for before, after, n, games in zip(table.k_vanilla, table.k_enhanced, table.n, table.games, strict=True)
    ]
    for test in ("fisher", "fisher_games"):
        table[f"all_{test}"] = _holm(table[test])
    for test in TESTS:
        table[f"holm_{test}"] = table.groupby("model", sort=False)[test].transform(_holm)
    return table


def _holm(p: pd.Series) -> NDArray[np.float64]:
    return multipletests(p, method="holm")[1]


@cache
def p_values(before: int, after: int, n: int) -> dict[str, float]:
    """p of k of n against k of n: t, fisher, paired_least, paired_most, two-sided, and t_least, one-sided."""
    least, most = mcnemar_bounds(before, after, n)
    samples = [number for k in (before, after) for number in (k / n, (k * (n - k) / n / (n - 1)) ** 0.5, n)]
    return {
        "t": float(ttest_ind_from_stats(*samples).pvalue) if before != after else 1.0,
        "t_least": float(ttest_1samp(np.arange(n) < after - before, 0, alternative="greater").pvalue)
        if 0 < after - before < n
        else float(after <= before),
        "fisher": float(fisher_exact([[before, n - before], [after, n - after]]).pvalue),
        "paired_least": least,
        "paired_most": most,
    }
