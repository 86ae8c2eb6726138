"""Planted faults are found, each by its own check and in its own rows; clean logs have none."""

import json

import logs
import numpy as np
import pandas as pd
import pytest

from agon.conf import load
from agon_audit.audit import audit, doubts
from agon_audit.checks import OFTEN
from agon_audit.mapping import as_mapping

GAMES = {"dilemma": ["pd", "pd_payoff"], "rps": ["rps", "rps_joint"]}
AGENTS = ["anything", "tit_for_tat"]


@pytest.fixture(scope="module", params=GAMES)
def played(request):
    """Names of games, and a log of them."""
    games = GAMES[request.param]
    agents = AGENTS if request.param == "dilemma" else ["anything", "mf"]
    return games, logs.wide(games, agents, seed=request.param)


def found(folder, table, games, form="wide", **more):
    """What an audit of a log finds: check -> its outcome."""
    table.to_csv(folder / "log.csv", index=False)
    result = audit(
        folder,
        as_mapping(logs.mapping(table if form == "wide" else more.pop("of"), games, form, **more), "mapping"),
        folder,
    )
    return {name: outcome for name, outcome in result.found.items() if outcome.count}


# ---- faults in a log with a row for each round: each changes a table, or gives another, and says what is found how often ----


def other_action(table, row, seat=1):
    return next(word for word in sorted({*table.action1}) if word != table[f"action{seat}"][row])


def invented_action(table, row):
    table.loc[row, ["action1", "submitted1", "reply1", "legal1"]] = ["shrug", "shrug", "shrug", '["shrug"]']
    return {"actions": 1}


def other_spelling(table, row):
    word = table.action1[row].upper()
    table.loc[row, ["action1", "submitted1", "reply1", "legal1"]] = [word, word, word, json.dumps([word])]
    return {"actions": 1}


def too_many_points(table, row):
    table.loc[row, "points1"] += 7
    logs.scored(table)
    return {"points": 1}


def negative_points(table, row):
    table.loc[row, "points2"] = -99
    logs.scored(table)
    return {"points": 1}


def exchanged_points(table, row):
    row = table.index[(table.points1 != table.points2) & (table.index >= row)][0]
    table.loc[row, ["points1", "points2"]] = [table.points2[row], table.points1[row]]
    logs.scored(table)
    return {"exchanged": 2}


def last_row_of_match(table, row):
    same = (table.game == table.game[row]) & (table.episode == table.episode[row])
    return table.index[same][-1]


def rows_of_match(table, row):
    return table[(table.game == table.game[row]) & (table.episode == table.episode[row])]


def wrong_total(table, row):
    table.loc[last_row_of_match(table, row), "total1"] += 3
    return {"totals": 1}


def wrong_total_inside(table, row):
    table.loc[row, "total2"] -= 1
    return {"totals": 2}


def wrong_final(table, row):
    match = rows_of_match(table, row).index
    better = np.where(table.final1[row] >= table.final2[row], "1", "2")
    table.loc[match, f"final{better}"] += 0.5
    table.loc[match, ["result1", "result2"]] = [1, -1] if better == "1" else [-1, 1]
    return {"finals": 1}


def missing_round(table, row):
    return logs.scored(table.drop(row)), {"rounds_missing": 1}


def early_end(table, row):
    return logs.scored(table.drop(rows_of_match(table, row).index[-3:])), {"rounds_missing": 1}


def repeated_round(table, row):
    again = pd.concat([table, table.loc[[row]]]).sort_index(kind="stable").reset_index(drop=True)
    return logs.scored(again), {"rounds_repeated": 2}


def round_out_of_order(table, row):
    first = rows_of_match(table, row).index[4]
    table.loc[[first, first + 1]] = table.loc[[first + 1, first]].to_numpy()
    return {"rounds_order": 2}


def round_after_the_end(table, row):
    last = last_row_of_match(table, row)
    table.loc[len(table)] = table.loc[last]
    table.loc[len(table) - 1, "round"] += 1
    logs.scored(table)
    return {"rounds_beyond": 2}


def changed_player(table, row):
    table.loc[last_row_of_match(table, row), "player1"] = "somebody"
    return {"players": 1}


def exchanged_players(table, row):
    table.loc[last_row_of_match(table, row), ["player1", "player2"]] = ["second", "first"]
    return {"players": 2}


def cut_off(table, row):
    table.loc[row, "ended1"] = "length"
    return {"incomplete": 1}


def refused(table, row):
    table.loc[row, "ended2"] = "content_filter"
    return {"incomplete": 1}


def forfeited(table, row):
    table.loc[row, ["ended1", "ended2"]] = "Forfeit"
    return {"incomplete": 2}


def other_reply(table, row):
    table.loc[row, "reply1"] = f"<think>{table.action1[row]}?</think> {other_action(table, row)}!".replace("!", ".")
    return {"replies": 1}


def other_submission(table, row):
    table.loc[row, "submitted1"] = other_action(table, row)
    return {"applied": 1}


def no_submission(table, row):
    table.loc[row, "submitted2"] = None
    return {"applied": 1}


def not_offered(table, row):
    table.loc[row, "legal1"] = json.dumps([other_action(table, row)])
    return {"offered": 1}


def number_as_word(table, row):
    table["points1"] = table.points1.astype(object)
    table.loc[row, "points1"] = "three"
    return {"numbers": 1}


def decimal_comma(table, row):
    table["total2"] = table.total2.astype(object)
    table.loc[row, "total2"] = "4,0"
    return {"numbers": 1}


def half_a_round(table, row):
    last = last_row_of_match(table, row)
    table["round"] = table["round"].astype(object)
    table.loc[last, "round"] = "15.5"
    return {"numbers": 2, "rounds_missing": 1, "finals": None}


def match_won(table):
    """A row of a match that has a winner."""
    return table.index[table.result1 != 0][0]


def wrong_winner(table, row):
    match = rows_of_match(table, match_won(table)).index
    table.loc[match, ["result1", "result2"]] *= -1
    return {"winners": 1}


def tie_with_a_winner(table, row):
    match = rows_of_match(table, row).index
    table.loc[match, ["points1", "points2"]] = table.loc[match, ["points1", "points1"]].to_numpy()
    logs.scored(table)
    table.loc[match, "result1"] = 1
    return {"ties": 1, "points": None}


def wrong_label(table, row):
    table.loc[row, "first1"] = 1 - table.first1[row]
    return {"labels": 1}


def leak(table, row):
    table.loc[row, "view2"] = "You hold cobalt. The other holds Amber!"
    return {"leaks": 1}


def repeated_option(table, row):
    table.loc[row, "order"] = "[0, 0]"
    return {"order": 2}


def paid_without_action(table, row):
    table.loc[row, ["action1", "submitted1", "reply1", "first1"]] = None
    return {"void": 1}


def no_reply(table, row):
    table.loc[row, "reply2"] = None
    return {"silent": 1}


FAULTS = [
    *(invented_action, other_spelling, too_many_points, negative_points, exchanged_points),
    *(wrong_total, wrong_total_inside, wrong_final, missing_round, early_end, repeated_round, round_out_of_order),
    *(round_after_the_end, changed_player, exchanged_players, cut_off, refused, forfeited, other_reply),
    *(
        other_submission,
        no_submission,
        not_offered,
        number_as_word,
        decimal_comma,
        half_a_round,
        wrong_winner,
        tie_with_a_winner,
    ),
    *(wrong_label, leak, repeated_option, paid_without_action, no_reply),
]


def same_counts(outcomes, expected):
    """Whether exactly the expected checks found something, and as often (None: any number of times, but not never)."""
    counts = {name: None if expected.get(name, 0) is None else outcome.count for name, outcome in outcomes.items()}
    return counts == expected


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_planted_fault_is_found_by_its_check_alone(played, fault, tmp_path):
    games, table = played[0], played[1].copy()
    planted = fault(table, 9)
    table, expected = planted if isinstance(planted, tuple) else (table, planted)
    outcomes = found(tmp_path, table, games, labels=logs.mapping(played[1], games)["labels"])
    assert same_counts(outcomes, expected), {name: [*outcome.rows.what[:3]] for name, outcome in outcomes.items()}


def test_a_found_row_is_named_by_its_line(played, tmp_path):
    games, table = played[0], played[1].copy()
    too_many_points(table, 9)
    [row] = found(tmp_path, table, games)["points"].rows.itertuples()
    assert (row.file, row.line, row.seat) == ("log.csv", 11, 0) and "the rules pay" in row.what
    assert (tmp_path / "log.csv").read_text().splitlines()[row.line - 1].count(f",{table.points1[9]},") >= 1


def test_missing_rounds_are_named_where_the_gap_begins(played, tmp_path):
    games, table = played
    match = rows_of_match(table, 9).index
    [row] = found(tmp_path, logs.scored(table.drop(match[[3, 4, 7]])), games)["rounds_missing"].rows.itertuples()
    assert (row.line, row.round) == (match[2] + 2, 3)
    assert row.what == f"rounds 4, 5, 8 are missing: it has {len(match) - 3} of {len(match)} rounds"
    [row] = found(tmp_path, logs.scored(table.drop(match[0])), games)["rounds_missing"].rows.itertuples()
    assert row.what.startswith("round 1 is missing") and row.round == 2
    far = logs.scored(table.copy())
    far.loc[match[-1], "round"] = 10**15
    rows = found(tmp_path, far, games, rules_of_condition={})["rounds_missing"].rows
    assert len(rows) == 1 and rows.what.iloc[0].startswith(f"rounds {len(match)}, {len(match) + 1}, ")


def test_a_line_is_right_behind_replies_of_several_lines(played, tmp_path):
    games, table = played[0], played[1].copy()
    table["reply1"] = "so\nit\nis: " + table.action1
    too_many_points(table, 9)
    [row] = found(tmp_path, table, games)["points"].rows.itertuples()
    lines = (tmp_path / "log.csv").read_text().splitlines()
    assert row.line == 1 + 10 * 3 and f",{table.points1[9]}," in "".join(lines[row.line - 3 : row.line])


def test_a_missing_seat_is_found_in_a_long_log(played, tmp_path):
    games, table = played
    rows = logs.long(table).drop(21)
    outcomes = found(tmp_path, rows, games, "long", of=table)
    assert outcomes.pop("seats").count == 1 and set(outcomes) <= {"totals", "finals"}


def test_a_copied_match_is_found_where_chance_takes_part(played, tmp_path):
    games, table = played
    table = table[(table.player1 == "anything") & (table.player2 == "anything")]
    copy = rows_of_match(table, table.index[0]).assign(episode=99)
    outcomes = found(tmp_path, pd.concat([table, copy]), games, chance=True)
    assert {name: outcome.count for name, outcome in outcomes.items()} == {"transcripts": 1}
    assert found(tmp_path, pd.concat([table, copy]), games) == {}


def test_a_copied_condition_is_found_where_chance_takes_part(played, tmp_path):
    games, table = played
    table = table[(table.player1 == "anything") & (table.player2 == "anything") & (table.game == table.game[0])]
    both = pd.concat([table.assign(prompt="warm"), table.assign(prompt="cold")])
    fields = {
        "condition": ["prompt"],
        "rules_of_condition": {},
        "match": ["prompt", "episode"],
        "rules": {"game": games[0]},
    }
    outcomes = found(tmp_path, both, games, chance=True, **fields)
    assert {name: outcome.count for name, outcome in outcomes.items()} == {"conditions": 1}


def test_a_copied_file_is_found(played, tmp_path):
    games, table = played
    table.to_csv(tmp_path / "again.csv", index=False)
    assert {name: outcome.count for name, outcome in found(tmp_path, table, games).items()} == {"files": 1}


def test_other_points_for_the_same_actions_are_found_without_rules(played, tmp_path):
    games, table = played[0], played[1].copy()
    too_many_points(table, 9)
    outcomes = found(tmp_path, table, games, rules_of_condition={})
    assert {name: outcome.count for name, outcome in outcomes.items()} == {"same_actions": 1}


def test_rules_of_another_variant_do_not_pay_the_points(played, tmp_path):
    games, table = played
    outcomes = found(tmp_path, table, games, rules_of_condition={}, rules={"game": games[1]})
    assert set(outcomes) <= {"points", "exchanged", "actions", "rounds_missing"} and outcomes["points"].count > 10


def test_one_wrong_cell_of_the_rules_reads_as_one_finding(played, tmp_path):
    games, table = played
    first, second = sorted({*table.action1})[:2]
    rules = load("game", games[0]).normal_form
    payoff = np.array(rules.payoff, float)
    at = [rules.action_sets[0].index(word) for word in (first, second)]
    payoff[tuple(at)] += 1
    rules = {"actions": [*rules.action_sets[0]], "payoff": payoff.tolist()}
    table = table[table.game == load("game", games[0]).variant]
    outcome = found(tmp_path, table, games, rules_of_condition={}, rules=rules)["points"]
    rounds = int((table.action1.eq(first) & table.action2.eq(second)).sum())
    [(text, counts)] = outcome.notes.items()
    assert f"with {first}, {second}, in which" in text and counts == (rounds, rounds) and outcome.count == 2 * rounds


def test_games_of_one_name_that_pay_differently_are_not_compared(played, tmp_path):
    games, table = played
    table = table.assign(name="one")
    table.to_csv(tmp_path / "log.csv", index=False)
    fields = logs.mapping(table, games, condition=["name"], rules_of_condition={})
    result = audit(tmp_path, as_mapping(fields, "mapping"), tmp_path)
    assert result.differences == 0 and result.found["same_actions"].skipped
    [reason] = [text for text in result.skipped if text.startswith(OFTEN)]
    assert reason.endswith("(1 condition: one)")
    fields |= {"condition": ["game"]}
    assert audit(tmp_path, as_mapping(fields, "mapping"), tmp_path).found["same_actions"].looked == 2 * len(table)
    assert any(OFTEN in text for text in doubts(tmp_path, {key: fields[key] for key in fields if key != "condition"}))


def test_a_label_that_contradicts_most_rows_is_found_without_its_values(played, tmp_path):
    games, table = played[0], played[1].copy()
    wrong_label(table, 9)
    label = {"first": {"column": ["first1", "first2"]}}
    outcomes = found(tmp_path, table, games, labels=label)
    assert {name: outcome.count for name, outcome in outcomes.items()} == {"labels": 1}
    table["first1"] = np.arange(len(table)) % 2
    result = found(tmp_path, table, games, labels=label)
    assert result == {}, "a label that follows from nothing contradicts nothing"


def test_the_text_after_the_tag_is_what_was_said(played, tmp_path):
    games, table = played[0], played[1].copy()
    for seat in "12":
        table[f"reply{seat}"] = "Not " + table.action1[0] + "! [move] " + table[f"action{seat}"]
    table.loc[9, "reply1"] = "[move] " + other_action(table, 9)
    outcomes = found(tmp_path, table, games, tag="[move]")
    assert {name: outcome.count for name, outcome in outcomes.items()} == {"replies": 1}


@pytest.mark.parametrize("chance", [False, True], ids=["fixed", "chance"])
@pytest.mark.parametrize("form", ["wide", "long"])
def test_nothing_is_invented_in_a_clean_log(played, form, chance, tmp_path):
    games, table = played
    table = table[table.player1.eq("anything") & table.player2.eq("anything")] if chance else table
    rows = table if form == "wide" else logs.long(table)
    more = {} if form == "wide" else {"of": table}
    assert found(tmp_path, rows, games, form, chance=chance, **more) == {}
