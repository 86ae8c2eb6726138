"""Cards of statements: the estimate in words, and what the interval and the resamples are about."""

import re

import pandas as pd
import pytest

from agon_papers.report.cards import statement_cards
from agon_papers.verdict import CLOSE, COLUMNS

ROW = dict.fromkeys(COLUMNS) | {
    "paper": "p",
    "statement": "many_do",
    "section": "7, abstract",
    "claim": "Many do",
    "recomputed": "5 of 8 by model: a 1.0, b 2.0",
    "verdict": "holds",
    "verdict_section": "holds",
    "rule": "share",
}


def card(**changes):
    """The card of one statement."""
    claims = pd.DataFrame([ROW | changes]).astype({"n": float, "estimate": float, "chance": float, "stability": float})
    return statement_cards(claims, {"p": ["7"]}).iloc[0]


def decided(estimate_of, n, **changes):
    numbers = {"estimate": 0.625, "low": 0.455, "high": 0.7064, "stability": 0.9896, "draws": 960, "unit": "match"}
    return card(**numbers | {"estimate_of": estimate_of, "n": n} | changes)


def test_a_card_says_the_estimate_its_interval_and_its_sample():
    assert (
        decided("share of 8 rows", 504).estimate
        == "62.5 % of 8 rows (95 % interval 45.5 % to 70.6 %), from 504 matches"
    )
    assert decided("gap", 1).estimate == "gap: 0.625 (95 % interval 0.455 to 0.706), from 1 match"
    in_points = decided("smallest gap (points)", 504)
    assert in_points.estimate == "smallest gap: 0.625 points (95 % interval 0.455 to 0.706), from 504 matches"
    assert "about the smallest gap." in in_points.resamples
    shown = decided("number", 9, low=0.625, high=0.625, unit="game", rule="correlation")
    assert shown.estimate == "rank correlation: 0.625 (the same in every resample), from 9 games"
    assert shown.numbers == ROW["recomputed"]


def test_a_card_without_an_estimate_says_the_numbers_once():
    shown = card()
    assert shown.estimate == ROW["recomputed"] and pd.isna(shown.numbers) and pd.isna(shown.resamples)
    assert pd.isna(card(recomputed=None).estimate)


@pytest.mark.parametrize(
    ("estimate_of", "n", "interval", "verdict"),
    [
        ("share of 8 rows", 504, "the share of rows", "about single rows: the part"),
        ("share of 30 rows", 600, "the share of rows", "about single rows: the part"),
        ("share of 30 rows", 599, "the share of rows", "about single rows, or the number of rows"),
        ("smallest gap", 504, "the smallest gap", "about single pairs"),
        ("gap", 504, "the same number", "the condition has the same answer"),
    ],
)
def test_a_card_says_what_the_interval_and_the_resamples_are_about(estimate_of, n, interval, verdict):
    told = decided(estimate_of, n).resamples
    assert interval in told and verdict in told and told.endswith("as in the records in 99 % of 960 resamples.")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"p": 0.0344},
            "The p that decides is one-sided: 3.44 %. The rule allows 5 %. The interval leaves out 2.5 % on each side",
        ),
        ({"p": 0.02}, None),
        ({"p": 0.0344, "estimate_of": "share of 8 rows"}, None),
        (
            {"p": 0.0761, "verdict": "undecided", "reason": "too few records: with 2 times"},
            "one-sided: 7.61 %.*The interval is not",
        ),
        ({"p": 0.0761, "verdict": "undecided", "reason": CLOSE.format("one row more or less")}, "The interval is not"),
        (
            {"p": 0.004, "verdict": "undecided", "reason": "knife-edge: margin 4"},
            "p alone would decide. The reason above",
        ),
        ({"p": 0.4, "verdict": "undecided", "reason": "two readings: holds by a, fails by b"}, None),
        ({"p": None, "verdict": "undecided", "reason": "unknown noise"}, None),
    ],
)
def test_a_card_says_why_verdict_and_interval_may_seem_to_disagree(changes, said):
    told = decided(**{"estimate_of": "number", "n": 9, "rule": "comparison"} | changes).p
    assert pd.isna(told) if said is None else re.search(said, told)
