"""The story of a match, read from rows by hand: what was called, proposed, answered and held."""

import json

import pandas as pd

from agon.games.tradecraft import story
from agon.games.tradecraft.amounts import exchange_items
from agon.games.tradecraft.story import Deal

OFFER = {
    "tool": "submit_proposal",
    "partner": "Player 2",
    "offer": {"coal": 1},
    "request": {"stick": 2},
    "message": "?",
}
ACCEPTED = {"tool": "decide", "decision": " Accept ", "message": "!"}
BEGIN = {"start": {"coal": "7/8", "ash": 1}, "target": {"stick": 1}}, {"start": {"stick": 3}, "target": {"coal": 1}}


def rows(*calls, match="m"):
    """(round, phase, seat, action, detail); no action is an answer that could not be read."""
    return pd.DataFrame(
        {"match": match, "round": number, "turn": turn, "phase": phase, "seat": seat, "payoff": 0.0, "reply": None}
        | {"action": action and json.dumps(action), "detail": json.dumps(detail)}
        for turn, (number, phase, seat, action, detail) in enumerate(calls, start=1)
    )


def proposed(**more):
    return (1, "propose", 0, OFFER, {"ok": True, **BEGIN[0], **more})


def decided(action=ACCEPTED, **more):
    return (1, "decide", 1, action, {"ok": True, **BEGIN[1], **more})


def deal_of(*calls):
    return story.read(rows(*calls)).turns[0].deal


def test_a_match_begins_with_the_hands_and_targets_of_its_records():
    told = story.read(rows(proposed(), decided()))
    assert told.start == ({"coal": story.items({"coal": "7/8"})["coal"], "ash": 1}, {"stick": 3})
    assert told.targets == ({"stick": 1}, {"coal": 1}) and told.players == ("Player 1", "Player 2")
    assert story.read(rows((1, "propose", 0, OFFER, {"ok": True}))).start == ()


def test_a_deal_is_what_was_proposed_and_what_came_of_it():
    known = {"offer": {"coal": 1}, "request": {"stick": 2}, "message": "?"}
    assert deal_of(proposed()) == Deal(1, "Player 1", "Player 2", **known)
    assert deal_of(proposed(), decided()) == Deal(1, "Player 1", "Player 2", **known, outcome="accepted", reply="!")
    refused = (1, "decide", 1, {"tool": "decide"}, {"ok": False, "fault": "bad decision"})
    assert deal_of(proposed(), refused).outcome == ""


def test_a_decision_counts_as_it_was_taken_and_a_default_is_nobodys():
    assert deal_of(proposed(), decided(effect="reject")).outcome == "rejected"
    late = deal_of(proposed(), decided(None, default="step limit"))
    assert (late.outcome, late.reply, late.accepted) == ("undecided in time, so rejected", "", False)
    assert deal_of(proposed(default="no action")).outcome == "no proposal: no action"


def test_an_accepted_deal_changes_hands_unless_the_records_give_them():
    (turn,) = story.read(rows(proposed(), decided())).turns
    assert (
        turn.after_trade
        == turn.after
        == ({"coal": turn.before[0]["coal"] - 1, "ash": 1, "stick": 2}, {"stick": 1, "coal": 1})
    )
    (turn,) = story.read(rows(proposed(), decided(hands=[{"stick": 2}, {"coal": 1}]))).turns
    assert turn.after == ({"stick": 2}, {"coal": 1})


def test_a_call_that_cannot_be_read_is_empty_and_says_what_was_done():
    both = [*story.read(rows(proposed(), decided(None, ok=False, fault="unreadable", default="no action"))).calls]
    assert both[1].call == {} and both[1].wrong == "unreadable; nothing done: no action" and not both[0].wrong


def test_calls_of_many_matches_are_columns_beside_the_turns():
    turns = pd.concat([rows(proposed(), decided()), rows(proposed(), match="n")]).set_index(pd.Index([7, 8, 9]))
    found = story.calls(turns)
    assert found.tool.to_dict() == {7: "submit_proposal", 8: "decide", 9: "submit_proposal"}
    assert found.decision.tolist() == ["", "accept", ""] and found.ok.all() and found.call[9] == OFFER
    assert [each.match for each in story.stories(turns)] == ["m", "n"]


def test_a_trade_leaves_what_both_had_together():
    assert exchange_items({"coal": 2}, {"stick": 1}, {"coal": 2}, {"stick": 1}) == ({"stick": 1}, {"coal": 2})
