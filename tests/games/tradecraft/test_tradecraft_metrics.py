"""TradeCraft's heuristics, on two matches of two turns that can be counted by hand, and on played ones."""

import json

import pytest
from tradecraft_games import tradecraft

from agon import AgonError
from agon.agents.scripts import anything
from agon.games.tradecraft.metrics import KINDS, first_seat, players, trading
from agon.metrics.interval import proportion_interval
from agon.plan import Match, Seat
from agon.play import play_now, turns_table
from agon.turns import action_text, typed


def call(tool, **arguments):
    return {"tool": tool, **arguments}


def offer(give=None, ask=None):
    return call("submit_proposal", partner="Player 2", offer=give or {}, request=ask or {})


def decide(word):
    return call("decide", decision=word)


OK, CUT = {"ok": True}, {"ok": True, "default": "step limit"}


def no(fault, **more):
    return {"ok": False, "fault": fault, **more}


# (round, phase, seat, what it called, what came of it, paid)
ONE = [
    (1, "propose", 0, offer({"coal": 9}), no("beyond the hand"), 0),
    (1, "propose", 0, call("craft_done"), no("wrong phase"), 0),
    (1, "propose", 0, offer({"coal": 1}), OK, 0),  # a gift
    (1, "decide", 1, call("fly"), no("no such tool"), 0),
    (1, "decide", 1, decide("ACCEPT"), OK, 0),
    (1, "craft", 0, call("craft_check"), no("no such recipe"), 0),
    (1, "craft", 1, call("craft_apply"), no("wrong amounts"), 0),
    (1, "craft", 0, None, {"default": "no action"}, 0),
    (1, "craft", 1, call("craft_done"), OK, 0),
    (2, "propose", 1, offer({"log": 1}, {"coal": 2}), OK, 0),
    (2, "decide", 0, decide("reject"), OK, 0),
    (2, "craft", 0, call("craft_done"), OK, 0),
    (2, "craft", 1, call("craft_done"), OK, 1),
]
TWO = [
    (1, "propose", 0, offer(), OK, 0),  # of nothing
    (1, "decide", 1, decide("reject"), CUT, 0),
    (1, "craft", 0, call("craft_apply"), OK, 1),
    (1, "craft", 1, call("craft_apply"), OK, 1),
]


def turns(*matches, **changes):
    """Turns of matches; seat 0 is agent a, seat 1 is b."""
    rows = [(f"m{number}", place, *row) for number, match in enumerate(matches) for place, row in enumerate(match, 1)]
    match, turn, round_, phase, seat, action, detail, paid = zip(*rows, strict=True)
    same = {"experiment": "test", "game": "tradecraft", "variant": "v", "config": "c"}
    columns = {
        **{name: [value] * len(rows) for name, value in same.items()},
        **{"match": match, "turn": turn, "round": round_, "phase": phase, "seat": seat, "payoff": paid},
        **{"rules": [1] * len(rows), "repetition": [0] * len(rows), "valid": [True] * len(rows)},
        "agent": ["ab"[each] for each in seat],
        "legal": ["{}"] * len(rows),
        "action": [None if each is None else action_text(each) for each in action],
        "detail": [json.dumps(each) for each in detail],
    }
    return typed({name: list(values) for name, values in (columns | changes).items()})


def found(*matches, by=("agent",), **changes):
    """(keys..., metric) -> (value, n)."""
    rows = trading(turns(*matches, **changes), by)
    return {(*row[: len(by)], row[len(by)]): row[len(by) + 1 : len(by) + 3] for row in rows.itertuples(index=False)}


def test_wins_and_turns_are_per_game():
    told = found(ONE, TWO)
    assert told["a", "win"] == (0.5, 2) and told["b", "win"] == (1, 2)
    assert told["a", "all_win"] == told["a", "some_win"] == (0.5, 2) and told["b", "none_win"] == (0, 2)
    assert told["a", "turns"] == (1.5, 2)


def test_each_kind_of_invalid_call_is_counted_per_turn():
    counts = {
        ("a", "refused_proposal"): 1,
        ("a", "refused_proposal: beyond the hand"): 1,
        ("a", "wrong_phase"): 1,
        ("a", "failed_check"): 1,
        ("a", "failed_check: no such recipe"): 1,
        ("a", "unreadable"): 1,
        ("a", "malformed"): 0,
        ("a", "invalid"): 3,
        ("a", "invalid_with_checks"): 4,
        ("a", "empty_proposal"): 1,
        ("a", "default: no action"): 1,
        ("b", "refused_craft"): 1,
        ("b", "refused_craft: wrong amounts"): 1,
        ("b", "malformed: no such tool"): 1,
        ("b", "invalid"): 2,
        ("b", "invalid_with_checks"): 2,
        ("b", "default: step limit"): 1,
    }
    metrics = found(ONE, TWO)
    assert {key: metrics[key] for key in counts} == {key: (pytest.approx(n / 3), 3) for key, n in counts.items()}


def test_a_default_is_no_decision():
    told = found(ONE, TWO)
    assert told["b", "rejected"] == (0, 1) and told["b", "undecided"] == (0.5, 2)
    assert told["b", "not_accepted"] == (0.5, 2) and told["a", "rejected"] == (1, 1)
    assert told["b", "turned_down"] == (1, 1) and told["a", "turned_down"] == (0.5, 2)


def test_trades_and_gifts_are_per_game_and_nothing_for_nothing_is_none():
    told = found(ONE, TWO)
    assert told["a", "trades"] == told["b", "trades"] == (0.5, 2)
    assert told["a", "gifts_given"] == told["b", "gifts_received"] == (0.5, 2)
    assert told["a", "gifts_received"] == told["b", "gifts_given"] == (0, 2)


def test_a_decision_counts_by_its_effect_in_every_metric():
    spelled = [
        (*TWO[0][:3], offer({"coal": 1}), OK, 0),
        (1, "decide", 1, decide("accept"), OK | {"effect": "reject"}, 0),
    ]
    told = found(spelled)
    assert told["b", "rejected"] == (1, 1) and told["b", "not_accepted"] == (1, 1) and told["a", "trades"] == (0, 1)


def test_a_random_call_for_an_unreadable_one_counts_as_unreadable():
    fallback = ["random_legal: no"] * len(TWO)
    told = found(TWO, fallback=fallback)
    assert told["a", "unreadable"] == (2, 1) and told["a", "refused_craft"] == (0, 1) and ("b", "rejected") not in told


def test_a_player_without_a_question_is_a_default_not_unreadable():
    stopped = [(1, "craft", 0, None, {"default": "no action"}, 0), (1, "craft", 1, call("craft_done"), OK, 0)]
    told = found(stopped, attempts=[0, 1], fallback=["step limit", ""])
    assert told["a", "unreadable"] == (0, 1) and told["a", "default: step limit"] == (1, 1)


def test_recorded_games_have_no_spaces_and_are_counted_all_the_same():
    told = found(ONE, TWO, legal=[None] * len(ONE + TWO))
    assert told["b", "invalid"] == found(ONE, TWO)["b", "invalid"]


def test_intervals_are_between_matches_and_one_match_has_none():
    rows = trading(turns(ONE, TWO)).set_index(["agent", "metric"])
    for agent, won in (("a", 1), ("b", 2)):
        row = rows.loc[(agent, "win")]
        assert [row.low, row.high] == pytest.approx([*proportion_interval(won, 2)])
    assert rows.loc[("a", "turns"), "low"] >= 0 and trading(turns(ONE)).low.isna().all()


def test_any_columns_may_be_keys():
    assert found(ONE, TWO, by=())[("win",)] == (0.75, 4)
    assert found(ONE, TWO, by=("seat",))[0, "win"] == (0.5, 2)
    assert found(ONE, TWO, by=("match", "seat"))["m1", 1, "win"] == (1, 1)


def test_the_order_of_rows_does_not_matter():
    rows = turns(ONE, TWO)
    assert trading(rows).equals(trading(rows[::-1]))


def test_the_first_seat_is_compared_with_the_others():
    [row] = first_seat(turns(ONE, TWO)).itertuples(index=False)
    assert row[:3] == ("first_seat_advantage", -0.5, 2)


def test_intervals_can_be_between_problems_instead_of_matches():
    rows = turns(ONE, TWO, ONE, TWO)
    rows["problem"] = rows["match"].astype("str").map({"m0": "x", "m1": "x", "m2": "y", "m3": "y"})
    row = trading(rows, cluster="problem").set_index(["agent", "metric"]).loc[("a", "win")]
    assert (row.value, row.n) == (0.5, 4) and [row.low, row.high] == pytest.approx([*proportion_interval(1, 2)])
    [row] = first_seat(rows, cluster="problem").itertuples(index=False)
    low, high = (2 * end - 1 for end in proportion_interval(0.5, 2))  # of the way from -1 to 1, where both are alike
    assert row == ("first_seat_advantage", -0.5, 4, pytest.approx(low), pytest.approx(high))


def test_winners_are_those_who_were_paid():
    assert players(turns(ONE, TWO)).won.tolist() == [False, True, True, True]


def test_played_matches_are_counted_without_invalid_calls():
    seats = (Seat("one", anything), Seat("other", anything))
    done = [Match("test", f"{n:02}", n, tradecraft(turns=4), seats, n, "c") for n in range(3)]
    told = trading(turns_table([(match, play_now(match)) for match in done])).set_index(["agent", "metric"]).value
    assert all(told["one", kind] == 0 for kind in KINDS) and told["one", "turns"] == told["other", "turns"] <= 4
    assert (
        told["one", "gifts_given"] == told["other", "gifts_received"]
        and told["one", "trades"] == told["other", "trades"]
    )


def test_turns_of_no_tradecraft_are_refused_in_a_line():
    for count in [trading, first_seat]:
        known = turns(ONE)
        for other in (known.head(0), known.assign(phase="play")):
            with pytest.raises(AgonError, match="there are no turns of TradeCraft"):
                count(other)


@pytest.mark.parametrize("row", range(len(TWO)))
def test_games_with_a_random_call_have_no_winners_and_no_such_trades(row):
    spelled = [(*TWO[0][:3], offer({"coal": 1}), OK, 0), (1, "decide", 1, decide("accept"), OK, 0), *TWO[2:]]
    fallback = ["random_legal: no" if place == row else "" for place in range(len(TWO))] + [""] * len(ONE)
    told = found(spelled, ONE, fallback=fallback)
    assert told["a", "win"] == (0, 1) and told["b", "win"] == told["b", "some_win"] == (1, 1)
    assert told["ab"[spelled[row][2]], "replaced"] == (1 / 3, 3)
    assert told["a", "trades"] == ((0.5, 2) if row < 2 else (1, 2))
    [first] = first_seat(turns(spelled, ONE, fallback=fallback)).itertuples(index=False)
    assert first[:3] == ("first_seat_advantage", -1, 1)


def test_where_random_calls_stood_in_everywhere_there_is_no_result():
    told = found(TWO, fallback=["random_legal: no"] * len(TWO))
    assert ("a", "win") not in told and told["a", "replaced"] == (2, 1)
    assert first_seat(turns(TWO, fallback=["random_legal: no"] * len(TWO))).empty
