"""Rules that choose matches worth watching. They read only the recorded columns."""

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

import pandas as pd

from agon.errors import count

NEEDED = [
    "match",
    "game",
    "turn",
    "round",
    "phase",
    "seat",
    "role",
    "action",
    "asked",
    "valid",
    "reply",
    "payoff",
    "detail",
]
"""The columns of turns that the rules read."""

Rows = Sequence[Any]
"""All rows of a match, in order of turn and seat, with NEEDED as fields; None for an absent value."""


class Rule(NamedTuple):
    """A reason to watch a match."""

    meaning: str
    """A sentence for readers about the chosen match."""
    score: Callable[[Rows], float]
    """Computes the score of a match; 0 if the rule does not fit it."""
    words: Callable[[float], str]
    """The score in words."""


def comeback(rows: Rows) -> float:
    """The largest number of points by which the only winner was behind; 0 without a single winner."""
    sums, leads = defaultdict[int, float](float), list[tuple[float, dict[int, float]]]()
    for _, turn in groupby(rows, key=attrgetter("turn")):
        for row in turn:
            sums[row.seat] += row.payoff
        leads.append((max(sums.values()), dict(sums)))
    winners = [seat for seat, points in sums.items() if points == leads[-1][0]]
    return max(lead - before.get(winners[0], 0.0) for lead, before in leads) if len(winners) == 1 else 0.0


def betrayal(rows: Rows) -> float:
    """The number of turns in a row in which all gained by one action, before one player alone changed it and gained most."""
    run, best, common = 0, 0, None
    for _, turn in groupby((row for row in rows if row.asked), key=attrgetter("turn")):
        actions, payoffs = zip(*((row.action, row.payoff) for row in turn), strict=True)
        alone = [place for place, action in enumerate(actions) if action != common]
        if run and len(actions) > 1 and len(alone) == 1 and actions[alone[0]] is not None:
            others = payoffs[: alone[0]] + payoffs[alone[0] + 1 :]
            best = max(best, run) if payoffs[alone[0]] > max(others) else best
        same = len(actions) > 1 and actions[0] is not None and len(set(actions)) == 1 and min(payoffs) > 0
        run = (run + 1 if actions[0] == common else 1) if same else 0
        common = actions[0] if same else None
    return float(best)


def false_suspicion(rows: Rows) -> float:
    """How many players of the greater party voted for one of their own.

    One player alone is of the other party. A vote names a seat, as `Player 1`.
    """
    votes = [row for row in rows if row.phase == "vote" and row.role]
    parties = defaultdict[str, set[int]](set)
    for row in votes:
        parties[row.role].add(row.seat)
    small, large = sorted(parties.values(), key=len) if len(parties) == 2 else ({0}, {0})
    own = {f"Player {seat + 1}" for seat in large}
    return float(sum(row.seat in large and row.action in own for row in votes)) if len(small) < len(large) else 0.0


def late_agreement(rows: Rows) -> float:
    """The first round in which all votes were the same; 0 if it was the first round with votes."""
    ballots = defaultdict[int, set[str | None]](set)
    for row in rows:
        if row.phase == "vote":
            ballots[row.round].add(row.action)
    agreed = [number for number, votes in sorted(ballots.items()) if len(votes) == 1 and None not in votes]
    return float(agreed[0]) if agreed and agreed[0] > min(ballots) else 0.0


def inequality(rows: Rows) -> float:
    """The points between the highest and the lowest total."""
    sums = defaultdict[int, float](float)
    for row in rows:
        sums[row.seat] += row.payoff
    return max(sums.values()) - min(sums.values())


def change_of_belief(rows: Rows) -> float:
    """The largest change of a seat's belief about another seat, from its first belief."""
    first, moved = dict[tuple[int, int], float](), 0.0
    for row in rows:
        detail = json.loads(row.detail or "{}")
        beliefs = detail.get("beliefs") if isinstance(detail, dict) else None
        own = beliefs[row.seat] if isinstance(beliefs, list) and row.seat < len(beliefs) else []
        for other, share in enumerate(own):
            if isinstance(share, int | float):
                moved = max(moved, abs(share - first.setdefault((row.seat, other), share)))
    return moved


def readable_words(rows: Rows) -> float:
    """How many answers were recorded in the player's words and could be read."""
    return float(sum(row.reply is not None and row.valid for row in rows))


RULES = {
    "a betrayal": Rule(
        "All players made the same move for the longest time, to the gain of all. Then one of them made another and gained more.",
        betrayal,
        lambda score: (
            f"All players made the same move for {count(int(score), 'turn')}, to the gain of all. "
            "Then one of them made another and gained more."
        ),
    ),
    "a comeback": Rule(
        "The winner had been furthest behind.", comeback, lambda score: f"The winner had been {score:g} points behind."
    ),
    "a false suspicion": Rule(
        "More players than in any other match voted for one of their own party.",
        false_suspicion,
        lambda score: f"{count(int(score), 'player')} voted for one of their own party.",
    ),
    "a late agreement": Rule(
        "It took the most rounds until all votes agreed.",
        late_agreement,
        lambda score: f"All votes agree for the first time in round {score:g}.",
    ),
    "an unequal end": Rule(
        "The final points differ most.",
        inequality,
        lambda score: f"At the end the highest and the lowest total differ by {score:.4g} points.",
    ),
    "recorded beliefs": Rule(
        "A player's beliefs about the others were recorded, and one of them changed most.",
        change_of_belief,
        lambda score: f"A player's beliefs were recorded; one changed by {100 * score:.2g} percentage points.",
    ),
    "words of a model": Rule(
        "A model's words were recorded, and more answers could be read than in any other match.",
        readable_words,
        lambda score: f"{count(int(score), 'answer')} of a model could be read, and its words were recorded.",
    ),
}
"""Name -> rule."""


def showcases(turns: pd.DataFrame) -> pd.DataFrame:
    """One row per game and rule: game, match, rule, score.

    It is the match with the highest score above 0; of equals, the one with the lowest id.
    """
    plain = turns[NEEDED].sort_values(["match", "turn", "seat"]).astype(object)
    plain = plain.where(plain.notna(), None)
    scores = pd.DataFrame(
        [
            {"game": rows[0].game, "match": match, "rule": name, "score": rule.score(rows)}
            for match, group in groupby(plain.itertuples(index=False), key=attrgetter("match"))
            for rows in [list(group)]
            for name, rule in RULES.items()
        ],
        columns=["game", "match", "rule", "score"],
    )
    ranked = scores[scores.score > 0].sort_values(["score", "match"], ascending=[False, True], kind="stable")
    first = ranked.drop_duplicates(["game", "rule"])
    return first.sort_values(["game", "rule"], kind="stable", ignore_index=True)
