"""Recorded TradeCraft games become turns: one row per call, with what the log says of it and no more."""

import json

import pandas as pd
import pytest

from agon import ROOT, AgonError
from agon.turns import validated
from agon_papers.ingest import Bad, ingest
from agon_papers.ingest.tradecraft import Contradiction, amount

FACTS = ROOT / "data/published/tradecraft"
EMPTY = dict.fromkeys(
    "offered requested status outcome spelled effect default inputs outputs hand item client_flag result".split()  # noqa: SIM905
) | dict.fromkeys(["valid", "return_code", "refused", "message_chars", "n_recipes", "partner"], pd.NA)


def game(**changes):
    """A game in which the second seat gives a stick, and wins with the torch that it makes of what it gets."""
    row = {"game": "g", "matchup": "m", "logged": True, "problem": 7, "turns": 1, "cut": False}
    for seat, (target, held, won) in enumerate((("shears", "coal", False), ("torch", "stick", True))):
        row |= {f"name_{seat}": f"gemini-{seat}", f"model_{seat}": "gemini", f"persona_{seat}": "", f"won_{seat}": won}
        row |= {f"target_{seat}": json.dumps({target: 1}), f"hand_{seat}": json.dumps({held: 1})}
    return row | changes


LOG = [
    {"seat": 0, "kind": "start"},
    {"seat": 0, "kind": "item_info", "item": "shears"},
    {"seat": 0, "kind": "proposal", "partner": -1, "offered": "{}", "requested": "{}", "status": "invalid"},
    {"seat": 0, "kind": "proposal", "partner": 1, "offered": '{"coal":"1"}', "requested": "{}", "status": "sent"},
    {"seat": 1, "kind": "decision", "spelled": "Accept", "effect": "reject"},
    {"seat": 1, "kind": "craft_check", "inputs": '{"coal":"0.125"}', "outputs": "{}", "return_code": 2},
    {
        "seat": 1,
        "kind": "craft_apply",
        "inputs": '{"coal":"1"}',
        "outputs": "{}",
        "valid": 0,
        "hand": '{"coal":"-7/8"}',
    },
    {"seat": 0, "kind": "recipes_query"},
    {"seat": 0, "kind": "recipes_reply", "n_recipes": 4},
    {"seat": 0, "kind": "craft_done", "hand": "{}"},
    {"seat": 1, "kind": "craft_done", "hand": '{"torch":"4"}'},
    {"seat": pd.NA, "kind": "all_hands", "hand": '{"0":{},"1":{"torch":"4"}}'},
    {"seat": pd.NA, "kind": "game_over"},
]


@pytest.fixture
def read(tmp_path):
    """What is ingested from one game with a log."""

    def ingested(log=LOG, **changes):
        events = [EMPTY | {"game": "g", "turn": 1, "step": step} | event for step, event in enumerate(log)]
        whole = dict.fromkeys(("seat", "partner", "valid", "return_code", "refused", "n_recipes"), "Int64")
        pd.DataFrame(events).astype(whole).to_parquet(tmp_path / "events.parquet")
        pd.DataFrame([game(**changes)]).to_csv(tmp_path / "games.csv", index=False)
        return ingest("tradecraft", tmp_path, [])

    return ingested


def test_a_row_is_one_call(read):
    turns = validated(read().turns)
    tools = [json.loads(action)["tool"] for action in turns.action]
    assert tools == [
        *("item_info", "submit_proposal", "submit_proposal", "decide", "craft_check", "craft_apply"),
        *("possible_recipes_from_hand", "craft_done", "craft_done"),
    ]
    assert list(turns.phase.unique()) == ["propose", "decide", "craft"] and list(turns.turn) == list(range(1, 10))


def test_only_a_winners_last_row_is_paid(read):
    turns = read().turns
    assert list(turns.payoff) == [0] * 8 + [1] and turns.seat.iloc[-1] == 1


def test_what_the_log_says_of_a_call_is_kept(read):
    details = [json.loads(detail) for detail in read().turns.detail]
    assert details[0] == {"ok": True, "target": {"shears": 1}, "start": {"coal": 1}}
    assert details[1] == {"ok": False, "fault": "bad partner"}
    assert details[3]["effect"] == "reject" and details[3]["spelled"] == "Accept"
    assert details[4] == {"ok": False, "fault": "not in the hand", "flag": None}
    assert details[5] == {"ok": False, "fault": "refused", "applied": True, "hand": {"coal": "-7/8"}}
    assert details[6]["recipes"] == 4 and details[8]["hands"] == [{}, {"torch": 4}]


def test_refused_calls_and_defaults_are_not_valid(read):
    log = [event | ({"default": "max_iter"} if event["kind"] == "decision" else {}) for event in LOG]
    turns = read(log).turns
    assert list(turns.valid) == [True, False, True, False, False, False, True, True, True]
    assert list(turns.fallback[turns.fallback != ""]) == ["step limit"]


def test_a_log_that_cannot_be_is_left_out_and_named(read):
    cases = [
        ({"kind": "shout"}, "shout is no known event"),
        ({"kind": "craft_done", "hand": "{}"}, "craft_done in the phase propose"),
        ({"kind": "proposal", "offered": "[", "status": "sent"}, "offered of proposal is no JSON object"),
        ({"kind": "item_info", "seat": pd.NA}, "is no known event of a player"),
        ({"kind": "item_info", "turn": 0}, "turn is 0: they are numbered from 1"),
        ({"kind": "recipes_reply", "n_recipes": pd.NA}, "its log cannot be read"),
    ]
    for event, reason in cases:
        found = read([{"seat": 0} | event])
        assert found.matches == 0 and found.bad[0].path == "m/g", event
        assert reason in found.bad[0].reason


def test_a_player_that_cannot_be_is_named(read):
    changes = [
        {"target_0": "[" * 100_000},
        {"target_0": "[1]"},
        {"hand_1": '{"coal":{"coal":1}}'},
        {"hand_1": '{"coal":1e999}'},
        {"name_0": " "},
        {"model_1": "a\x1b[0m"},
        {"model_1": "x" * 300},
    ]
    for change in changes:
        found = read(**change)
        assert (found.matches, len(found.bad)) == (0, 1), change
        assert len(found.bad[0].reason) < 300


def test_a_log_of_no_listed_game_is_named(read):
    assert read(game="h").bad == [
        Bad("events.parquet: g", "games.csv has no such game"),
        Bad("m/h", "its log does not have calls of both players"),
    ]


def test_a_missing_file_is_an_error_in_one_line(tmp_path):
    with pytest.raises(AgonError, match=r"games\.csv is not there"):
        ingest("tradecraft", tmp_path, [])


def test_a_damaged_table_is_an_error_in_one_line(read, tmp_path):
    read()
    for text in (b"", b"\xff\xfe", b"game,matchup\ng,m\n", b'"' * 1000):
        (tmp_path / "games.csv").write_bytes(text)
        with pytest.raises(AgonError, match=r"games\.csv cannot be read"):
            ingest("tradecraft", tmp_path, [])


def test_amounts_are_exact():
    amounts = {"2": 2, "1.0": 1, "0.6666666666666666": "2/3", "-1/8": "-1/8", "0.333": "333/1000"}
    assert {text: amount(text) for text in amounts} == amounts


def test_what_is_no_amount_is_refused():
    texts = ["x", "1e999999999", "9" * 5000, "1e-400000000", "1/0", "inf", "nan", "1_0", "\u0661", "0x10", "1" * 19, ""]
    for text in texts:
        with pytest.raises(Contradiction, match="is no amount"):
            amount(text)


def test_the_published_games():
    if not FACTS.is_dir():
        pytest.skip("the published facts are not there: `dvc pull data.dvc` or `make repro`")
    found = ingest("tradecraft", FACTS, [])
    turns = found.turns
    assert (found.matches, found.bad, len(turns), turns.payoff.sum()) == (90, [], 8388, 82)
    assert turns["round"].max() == 12 and turns.groupby("match", observed=True).agent.nunique().eq(2).all()
    assert turns.fallback.value_counts().to_dict() == {"": 8338, "step limit": 39, "refused proposals": 11}
    assert "Yd3DsoC4" not in set(turns.match)
