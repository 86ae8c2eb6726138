"""Matches worth watching: each rule chooses the match that its words promise, from columns alone, in any order of the rows."""

import json

import pandas as pd
import pytest

from agon import ROOT
from agon.turns import read
from agon_papers.report.showcases import NEEDED, RULES, showcases

ABSENT = dict.fromkeys(NEEDED, None) | {"asked": True, "valid": True, "game": "g", "payoff": 0.0}


def match(name, *turns, **columns):
    """A match; a turn is a list of (action, payoff) by seat."""
    return [
        ABSENT
        | {
            "match": name,
            "turn": number,
            "round": number,
            "phase": "move",
            "seat": seat,
            "action": action,
            "payoff": paid,
        }
        | columns
        for number, turn in enumerate(turns, 1)
        for seat, (action, paid) in enumerate(turn)
    ]


def votes(name, *rounds, roles=(None, None, None)):
    """A match of votes; in each round every seat names a player."""
    rows = match(name, *[[(f"Player {voted}", 0.0) for voted in ballots] for ballots in rounds], phase="vote")
    return [row | {"role": roles[row["seat"]]} for row in rows]


def chosen(rule, *matches):
    """The match that a rule chooses, with its score in words; nothing where none has any of it."""
    table = pd.DataFrame([row for rows in matches for row in rows])
    found = showcases(table.sample(frac=1, random_state=3))
    [row] = found[found.rule == rule].itertuples() or [None]
    return row.match, RULES[rule].words(row.score)


def silent(rule, *matches):
    """Whether a rule chooses nothing."""
    return rule not in set(showcases(pd.DataFrame([row for rows in matches for row in rows])).rule)


KIND, LEFT, BOTH = [("c", 3), ("c", 3)], [("d", 5), ("c", 0)], [("d", 1), ("d", 1)]


def test_a_betrayal_ends_the_longest_peace_by_one_alone():
    long, short = match("long", KIND, KIND, KIND, LEFT, BOTH), match("short", KIND, LEFT, BOTH, BOTH, BOTH)
    assert chosen("a betrayal", long, short) == (
        "long",
        "All players made the same move for 3 turns, to the gain of all. Then one of them made another and gained more.",
    )


@pytest.mark.parametrize(
    "turns",
    [(KIND, KIND, BOTH), (BOTH, KIND), (KIND, KIND), (KIND, [("d", 0), ("c", 5)]), (KIND, [(None, 5), ("c", 0)])],
    ids=["both leave", "peace comes", "nobody leaves", "who leaves loses", "no readable move"],
)
def test_what_is_no_betrayal(turns):
    assert silent("a betrayal", match("m", *turns))


def test_a_comeback_is_the_deepest_of_a_single_winner():
    behind = match("behind", [("a", 0), ("b", 4)], [("a", 9), ("b", 0)])
    further = match("further", [("a", 0), ("b", 7)], [("a", 7), ("b", 0)])  # but they end alike
    assert chosen("a comeback", behind, further) == ("behind", "The winner had been 4 points behind.")


def test_a_false_suspicion_is_of_ones_own_party():
    roles = ("spy", "crowd", "crowd")
    wrong, right = votes("wrong", [2, 3, 1], roles=roles), votes("right", [3, 1, 1], roles=roles)
    assert chosen("a false suspicion", wrong, right) == ("wrong", "1 player voted for one of their own party.")
    assert silent("a false suspicion", right, votes("none", [2, 3, 1]))


def test_a_late_agreement_is_the_first_unanimous_vote():
    late, early = votes("late", [1, 2, 3], [1, 1, 2], [1, 1, 1]), votes("early", [1, 1, 1], [1, 2, 3])
    assert chosen("a late agreement", late, early) == ("late", "All votes agree for the first time in round 3.")
    unread = votes("unread", [1, 2, 3], [1, 1, 1])
    assert silent("a late agreement", [row | {"action": row["action"] if row["turn"] == 1 else None} for row in unread])


def test_an_unequal_end_and_equal_scores():
    one, other = match("b", [("a", 9), ("b", 0.5)]), match("a", [("a", 0.5), ("b", 9)])
    assert chosen("an unequal end", one, other) == (
        "a",
        "At the end the highest and the lowest total differ by 8.5 points.",
    ), "of equals the lowest id"


def test_a_change_of_belief_is_from_the_first_one():
    beliefs = [[[None, 0.5], [0.2, None]], [[0.9, 0.75], [0.9, None]], [[None, 0.6], []], "words"]
    rows = match("m", *[[("a", 0)]] * 4)
    told = [row | {"detail": json.dumps({"beliefs": each})} for row, each in zip(rows, beliefs, strict=True)]
    assert chosen("recorded beliefs", told, match("n", [("a", 0)])) == (
        "m",
        "A player's beliefs were recorded; one changed by 25 percentage points.",
    )


def test_words_of_a_model_count_if_its_answer_was_read():
    said = match("said", [("a", 0)], [("a", 0)], reply="a")
    unread = match("unread", *[[("a", 0)]] * 3, reply="a", valid=False)
    assert chosen("words of a model", said, unread)[0] == "said"


def test_recorded_matches_are_chosen_once_for_each_reason():
    turns = read(ROOT / "tests/smoke/pocket_magic.parquet")
    found = showcases(turns)
    assert {"chameleon", "undercover", "public_goods"} <= set(found.game) <= set(turns.game)
    assert not found.duplicated(["game", "rule"]).any() and found.score.gt(0).all()
