"""What the printed numbers allow of what is not printed: the four social roles, rounds of defection, and the common pool."""

from bisect import bisect_left
from collections.abc import Mapping
from functools import cache

import numpy as np
import pandas as pd

from agon_papers.magic.facts import Facts

SETTINGS, COMPETITIONS, ROUNDS = 20, 21, 5
"""Games per social role, games per game-theory role, and rounds of a game-theory game (Table 3)."""

BALLOTS = {"caught": (2, 2), "guessed": (2, 2), "even": (1, 1), "wrong": (0, 1)}
"""Outcome of a social game -> least and most right ballots of the two crowd seats, if nobody accuses itself."""

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
"""Reading -> game -> printed label -> its outcome. Reconciled: as in the released code, which pays a wrong accusation 2."""

UNIT = 120
"""Credits are counted in units of 1/120 of a role's win rate, so that halves of 20 games and thirds of 20 games are whole."""


def worth(facts: Facts, reading: str) -> dict[tuple[str, str], int]:
    """(game, role) -> units of a credit: a game's credits over 2n as printed; reconciled over the credits that a game has."""
    per_game = facts.credits.groupby(["game", "outcome"]).credits.sum().groupby("game").max()
    divisor = {
        game: facts.said("credits_divisor") if reading == "literal" else total for game, total in per_game.items()
    }
    return {
        (game, role): round(UNIT / SETTINGS / divisor[game]) for game in per_game.index for role in ("spy", "crowd")
    }


def outcomes(facts: Facts, reading: str, game: str, role: str) -> dict[str, int]:
    """Outcome -> credits of a role."""
    rows = facts.credits[(facts.credits.game == game) & (facts.credits.role == role)]
    return {LABELS[reading][game][label]: int(paid) for label, paid in zip(rows.label, rows.credits, strict=True)}


@cache
def _splits(games: int, ways: int) -> list[tuple[int, ...]]:
    if ways == 1:
        return [(games,)]
    return [(first, *rest) for first in range(games + 1) for rest in _splits(games - first, ways - 1)]


def _spy(paid: Mapping[str, int], unit: int) -> set[tuple[int, int]]:
    """Every (games not lost, units) of a spy's games."""
    return {
        (
            SETTINGS - split[[*paid].index("caught")],
            unit * sum(n * c for n, c in zip(split, paid.values(), strict=True)),
        )
        for split in _splits(SETTINGS, len(paid))
    }


def _crowd(paid: Mapping[str, int], unit: int) -> set[tuple[int, int]]:
    """Every (right ballots, units) of the crowd's games."""
    found = set()
    for split in _splits(SETTINGS, len(paid)):
        units = unit * sum(n * c for n, c in zip(split, paid.values(), strict=True))
        low, high = (sum(n * BALLOTS[name][end] for n, name in zip(split, paid, strict=True)) for end in (0, 1))
        found |= {(right, units) for right in range(low, high + 1)}
    return found


def roles(facts: Facts, reading: str) -> pd.DataFrame:
    """Per model of Table 2: the win rate its parts allow, and what its win rate and parts leave open in the social games.

    Columns: model, win_rate as printed; least, most: the win rates that Judgement, Deception and Table 2 allow; social: the four social
    rates together (percent, of 400) that remain of the printed win rate, and social_error, from half a unit of the last digit of every
    number; possible: whether any outcomes of 80 games give all of these; vote_low, vote_high: share of right ballots in Chameleon that such
    outcomes have; crowd_low, crowd_high: win rate of the crowd there. Deception is taken for the share of games not lost as spy.
    """
    details, pairs = facts.wide(2), facts.wide(4)
    units = worth(facts, reading)
    parts = {
        (game, role): (_spy if role == "spy" else _crowd)(outcomes(facts, reading, game, role), units[game, role])
        for game, role in units
    }
    names = [name for name in details.index if name in pairs.index]
    return pd.DataFrame([_role(details.loc[name], pairs.loc[name], parts) for name in names])


def _role(
    detail: pd.Series, pair: pd.Series, parts: Mapping[tuple[str, str], set[tuple[int, int]]]
) -> dict[str, object]:
    played = detail[["cost_sharing_wr", "prisoner_wr", "public_good_wr"]]
    slack = 0.05 * len(played)
    social, error = 7 * pair.win_rate - played.sum(), 0.05 * 7 + slack
    unlost, right = round(2 * SETTINGS * pair.deception / 100), round(4 * SETTINGS * pair.judgement / 100)
    spied = sorted({units for *_, units in _both(parts["chameleon", "spy"], parts["undercover", "spy"], unlost)})
    crowds = _both(parts["chameleon", "crowd"], parts["undercover", "crowd"], right)
    units = [one[2] for one in crowds]
    fitting = [
        one for one in crowds if _any_between(spied, *(UNIT * (social + e) / 100 - one[2] for e in (-error, error)))
    ]
    columns = np.array(fitting, dtype=float).T if fitting else np.full((3, 1), np.nan)
    votes, wins = 100 * columns[0] / (2 * SETTINGS), 100 * columns[1] / UNIT
    return {
        "model": detail.name,
        "win_rate": pair.win_rate,
        "least": (100 * (spied[0] + min(units)) / UNIT + played.sum() - slack) / 7,
        "most": (100 * (spied[-1] + max(units)) / UNIT + played.sum() + slack) / 7,
        "social": social,
        "social_error": error,
        "possible": bool(fitting),
        "vote_low": votes.min(),
        "vote_high": votes.max(),
        "crowd_low": wins.min(),
        "crowd_high": wins.max(),
    }


def _any_between(ordered: list[int], low: float, high: float) -> bool:
    at = bisect_left(ordered, low - 1e-9)
    return at < len(ordered) and ordered[at] <= high + 1e-9


def _both(chameleon: set[tuple[int, int]], undercover: set[tuple[int, int]], total: int) -> set[tuple[int, int, int]]:
    """Every (count in Chameleon, units in Chameleon, units in both) whose counts together are `total`."""
    by_count: dict[int, set[int]] = {}
    for count, units in undercover:
        by_count.setdefault(count, set()).add(units)
    return {(count, units, units + more) for count, units in chameleon for more in by_count.get(total - count, ())}


def defections(facts: Facts) -> pd.DataFrame:
    """Per model of Table 2: least and most share (percent) of its rounds in the prisoner's dilemma that were defections.

    Rationality counts defections and smallest contributions together. Who always defects, or always gives least, cannot lose: each lost
    game has a round that is not counted. Columns: model, rational (rounds of 210), low, high.
    """
    details, pairs = facts.wide(2), facts.wide(4)
    rounds, rows = COMPETITIONS * ROUNDS, []
    for name in [name for name in details.index if name in pairs.index]:
        rational = round(pairs.rationality[name] * 2 * rounds / 100)
        dilemma, good = (
            rounds - (COMPETITIONS - round(details[f"{game}_wr"][name] * COMPETITIONS / 100))
            for game in ("prisoner", "public_good")
        )
        low, high = max(0, rational - good), min(dilemma, rational)
        rows.append({"model": name, "rational": rational, "low": 100 * low / rounds, "high": 100 * high / rounds})
    return pd.DataFrame(rows)


def pools(facts: Facts) -> pd.DataFrame:
    """Per model of Table 2: what the mean payback says of the mean pool (points of all three seats, 300 if nobody overspends).

    Columns: model, payback; value: the pool if it is the same at every multiplier; low, high: if it may follow the multiplier.
    """
    [multipliers] = facts.drawn_rows(10, "multipliers")
    seats = 3
    most = seats * facts.said("budget")
    rows = []
    for name, payback in facts.wide(2).public_good_payback.items():
        value = seats * payback * len(multipliers) / sum(multipliers)
        ends = [_filled(seats * payback * len(multipliers), most, order) for order in (multipliers[::-1], multipliers)]
        low, high = (end / len(multipliers) for end in ends)
        rows.append({"model": name, "payback": payback, "value": value, "low": low, "high": high})
    return pd.DataFrame(rows)


def _filled(needed: float, most: float, multipliers: list[float]) -> float:
    """Sum of pools, filled one multiplier after the other, until `needed` is paid out."""
    total = 0.0
    for multiplier in multipliers:
        pool = min(most, needed / multiplier)
        total, needed = total + pool, needed - pool * multiplier
    return total
