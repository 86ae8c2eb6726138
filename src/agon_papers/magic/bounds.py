"""Bounds of numbers that are not printed: the four social roles, rounds of defection, the common pool."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from agon_papers.magic.facts import COMPETITIONS, ROUNDS, SETTINGS, WIN_RATES, Facts

UNLOST = {"caught": (0,), "guessed": (1,), "even": (1,), "wrong": (1,)}
"""Outcome of a social game -> possible counts for Deception: 1 if the spy did not lose."""

BALLOTS = {"caught": (2,), "guessed": (2,), "even": (1,), "wrong": (0, 1)}
"""Outcome of a social game -> possible counts for Judgement: right ballots of the two crowd seats, if nobody votes
for itself."""

LABELS = {
    "literal": {
        "chameleon": {"crowd wins": "caught", "spy wins": "wrong", "even votes": "even", "word guessed": "guessed"},
        "undercover": {"crowd wins": "caught", "spy wins": "wrong", "even votes": "even"},
    },
    "reconciled": {
        "chameleon": {"crowd wins": "caught", "spy wins": "guessed", "even votes": "wrong", "word guessed": "even"},
        "undercover": {"crowd wins": "caught", "spy wins": "wrong", "even votes": "even"},
    },
}
"""Reading -> game -> printed label -> outcome. Reconciled: as in the released code, which pays 2 for a wrong
accusation."""

UNIT = 120
"""Credits are counted in units of 1/120 of a role's win rate, so that halves and thirds of 20 games are integers."""

Sums = set[tuple[int, int]]
"""Possible sums over a role's games: (count, units of credit)."""


def roles(facts: Facts, reading: str) -> pd.DataFrame:
    """For each model of Table 2: bounds of its win rate by its parts, and bounds of the social games by the win rate.

    Deception counts as the share of games that the spy did not lose. Columns:
    model; win_rate: as printed; least, most: the win rates that Judgement, Deception and Table 2 allow.
    social: the sum of the four social rates (percent, of 400) by the printed win rate.
    social_error: its error, from half a unit of the last digit of every number.
    possible: whether some outcomes of 80 games give all these numbers.
    vote_low, vote_high: the share of right ballots in Chameleon in such outcomes.
    crowd_low, crowd_high: the win rate of the crowd there.
    """
    details, pairs = facts.wide(2), facts.wide(4)
    spy_sums, crowd_sums = (
        [_sums(facts, reading, game, role, counts) for game in ("chameleon", "undercover")]
        for role, counts in (("spy", UNLOST), ("crowd", BALLOTS))
    )
    names = [name for name in details.index if name in pairs.index]
    return pd.DataFrame([_role(details.loc[name], pairs.loc[name], spy_sums, crowd_sums) for name in names])


def _sums(facts: Facts, reading: str, game: str, role: str, counts: Mapping[str, Sequence[int]]) -> Sums:
    """The possible sums over a role's games of one family.

    Credits are divided by 2n; reconciled, by all credits of a game.
    """
    of_game = facts.credits[facts.credits.game == game]
    all_credits = of_game.groupby("outcome").credits.sum().max()
    unit = round(UNIT / SETTINGS / (facts.text_number("credits_divisor") if reading == "literal" else all_credits))
    credits_by_outcome = of_game[of_game.role == role].set_index("label").credits.rename(LABELS[reading][game])
    items = credits_by_outcome.items()
    of_one = {(count, unit * int(credits)) for outcome, credits in items for count in counts[outcome]}
    sums = {(0, 0)}
    for _ in range(SETTINGS):
        sums = {(count + more, units + more_units) for count, units in sums for more, more_units in of_one}
    return sums


def _role(detail: pd.Series, pair: pd.Series, spy_sums: list[Sums], crowd_sums: list[Sums]) -> dict[str, object]:
    game_rates = detail[WIN_RATES]
    slack = 0.05 * len(game_rates)
    social, error = 7 * pair.win_rate - game_rates.sum(), 0.05 * 7 + slack
    spy = np.unique(_together(spy_sums, round(2 * SETTINGS * pair.deception / 100))[:, 2])
    crowd = _together(crowd_sums, round(4 * SETTINGS * pair.judgement / 100))
    low, high = (UNIT * (social + end) / 100 - crowd[:, 2] for end in (-error, error))
    fitting = crowd[np.searchsorted(spy, low - 1e-9) < np.searchsorted(spy, high + 1e-9, side="right")]
    columns = fitting.T if len(fitting) else np.full((3, 1), np.nan)
    votes, wins = 100 * columns[0] / (2 * SETTINGS), 100 * columns[1] / UNIT
    return {
        "model": detail.name,
        "win_rate": pair.win_rate,
        "least": (100 * (spy[0] + crowd[:, 2].min()) / UNIT + game_rates.sum() - slack) / 7,
        "most": (100 * (spy[-1] + crowd[:, 2].max()) / UNIT + game_rates.sum() + slack) / 7,
        "social": social,
        "social_error": error,
        "possible": bool(len(fitting)),
        "vote_low": votes.min(),
        "vote_high": votes.max(),
        "crowd_low": wins.min(),
        "crowd_high": wins.max(),
    }


def _together(games: list[Sums], total: int) -> NDArray[np.int64]:
    """Rows of (count in Chameleon, units in Chameleon, units in both games) with a joint count of `total`."""
    chameleon, undercover = games
    rest: dict[int, list[int]] = {}
    for count, units in undercover:
        rest.setdefault(total - count, []).append(units)
    return np.array([(count, units, units + more) for count, units in chameleon for more in rest.get(count, ())])


def defections(facts: Facts) -> pd.DataFrame:
    """For each model of Table 2: bounds of the share of defections (percent) in its rounds of the prisoner's dilemma.

    Rationality counts defections and smallest contributions together. A player that always defects, or always gives
    least, cannot lose. So in every lost game at least one round does not count. Columns: model, rational (rounds of
    210), low, high.
    """
    details, rounds = facts.wide(2), COMPETITIONS * ROUNDS
    share = facts.wide(4).rationality.reindex(details.index).dropna()
    rational = (share * 2 * rounds / 100).round()
    won = (details.loc[share.index, ["prisoner_wr", "public_good_wr"]] * COMPETITIONS / 100).round()
    dilemma, good = (rounds - COMPETITIONS + won[name] for name in won)
    low, high = (rational - good).clip(lower=0), np.minimum(dilemma, rational)
    table = pd.DataFrame({"rational": rational.astype(int), "low": 100 * low / rounds, "high": 100 * high / rounds})
    return table.rename_axis("model").reset_index()


def pools(facts: Facts) -> pd.DataFrame:
    """For each model of Table 2: the mean pool by the mean payback (points of all three seats, 300 if nobody
    overspends).

    Columns: model, payback; value: the pool if it is the same at every multiplier; low, high: bounds if it may depend
    on the multiplier.
    """
    [multipliers] = facts.figure_rows(10, "multipliers")
    seats = 3
    most = seats * facts.text_number("budget")
    payback = facts.wide(2).public_good_payback
    total_paid = seats * payback * len(multipliers)
    low, high = (
        total_paid.map(lambda amount: _fill(amount, most, order)) / len(multipliers)  # noqa: B023 - mapped at once
        for order in (multipliers[::-1], multipliers)
    )
    table = pd.DataFrame({"payback": payback, "value": total_paid / sum(multipliers), "low": low, "high": high})
    return table.rename_axis("model").reset_index()


def _fill(amount: float, most: float, multipliers: list[float]) -> float:
    """The sum of pools, filled one multiplier after the other, until `amount` is paid out."""
    total = 0.0
    for multiplier in multipliers:
        pool = min(most, amount / multiplier)
        total, amount = total + pool, amount - pool * multiplier
    return total
