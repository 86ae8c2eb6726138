"""Rules from payoff tables, conf, files of Gambit and OpenSpiel; printed numbers; the command with its outputs."""

import json
import math
import os
import re
import shutil
import subprocess
import sys
from decimal import Decimal
from functools import partial

import logs
import numpy as np
import pandas as pd
import pytest
import yaml
from patience import LONG
from scipy import stats
from unlike_actions import GAME, SETS

from agon import ROOT, AgonError
from agon.cli import main
from agon_audit.audit import audit, changes
from agon_audit.mapping import as_mapping
from agon_audit.printed import decide_all, decide_interval, decide_statement, decide_test, grim, read_numbers
from agon_audit.rules import form_rules, openspiel_rules


def kinds(folder, **fields):
    """What an audit finds: check -> how often."""
    result = audit(folder, as_mapping(fields, "mapping"), folder)
    return {name: outcome.count for name, outcome in result.found.items() if outcome.count}


COLUMNS = {"format": "csv", "match": ["m"], "round": "t", "action": ["a", "b"], "points": ["x", "y"]}
TWO_BY_THREE = """NFG 1 R "two by three" { "row" "column" } { { "up" "down" } { "left" "middle" "right" } } ""
{ { "" 1, 2 } { "" 3, 4 } { "" 5, 6 } { "" 7, 8 } { "" 1/2, 10 } { "" 11, 12 } } 1 2 3 4 5 6
"""


def test_a_file_of_gambit_pays_games_with_other_actions_for_each_seat(tmp_path):
    (tmp_path / "game.nfg").write_text(TWO_BY_THREE)
    (tmp_path / "log.csv").write_text("m,t,a,b,x,y\n1,1,up,left,1,2\n1,2,down,left,3,4\n1,3,up,right,0.5,10\n")
    assert kinds(tmp_path, rules={"file": "game.nfg"}, **COLUMNS) == {}
    (tmp_path / "log.csv").write_text("m,t,a,b,x,y\n1,1,up,left,1,3\n1,2,left,left,3,4\n")
    assert kinds(tmp_path, rules={"file": "game.nfg"}, **COLUMNS) == {"points": 1, "actions": 1}


TREE = """EFG 2 R "a call after a card" { "first" "second" } ""
c "" 1 "" { "high" 1/2 "low" 1/2 } 0
p "" 1 1 "" { "raise" "fold" } 0
p "" 2 1 "" { "call" "pass" } 0
t "" 1 "won" { 2, -2 }
t "" 2 "left" { 1, -1 }
t "" 3 "gone" { -1, 1 }
p "" 1 2 "" { "raise" "fold" } 0
p "" 2 1 "" { "call" "pass" } 0
t "" 4 "lost" { -2, 2 }
t "" 5 "left again" { 1, -1 }
t "" 6 "gone again" { -1, 1 }
"""
MOVES = {"format": "csv", "match": ["m"], "round": "t", "seat": "s", "action": "a", "final": "f"}


def tree_log(folder, *rows):
    (folder / "game.efg").write_text(TREE)
    (folder / "log.csv").write_text("m,t,s,a,f\n" + "\n".join(rows) + "\n")
    return kinds(folder, rules={"file": "game.efg"}, **MOVES)


def test_a_game_tree_replays_matches_whose_chance_is_not_recorded(tmp_path):
    assert tree_log(tmp_path, "1,1,0,raise,2", "1,2,1,call,-2", "2,1,0,raise,-2", "2,2,1,call,2", "3,1,0,fold,-1") == {}
    assert tree_log(tmp_path, "1,1,0,raise,3", "1,2,1,call,-2") == {"scores": 1}
    assert tree_log(tmp_path, "1,1,0,raise,1", "1,2,1,raise,-1") == {"replay": 1}
    assert tree_log(tmp_path, "1,1,0,raise,1") == {"replay": 1}


def test_recorded_chance_leaves_one_way_through_a_game_tree(tmp_path):
    assert tree_log(tmp_path, "1,0,-1,low,", "1,1,0,raise,-2", "1,2,1,call,2") == {}
    assert tree_log(tmp_path, "1,0,-1,high,", "1,1,0,raise,-2", "1,2,1,call,2") == {"scores": 2}


def test_a_round_of_chance_alone_is_not_missing(tmp_path):
    (tmp_path / "log.csv").write_text("m,t,s,a,f\n1,1,0,raise,\n1,2,-1,high,\n1,3,1,call,\n2,1,0,fold,\n")
    assert kinds(tmp_path, **MOVES) == {}
    (tmp_path / "log.csv").write_text("m,t,s,a,f\n1,1,0,raise,\n1,2,-1,high,\n1,4,1,call,\n2,1,0,fold,\n")
    assert kinds(tmp_path, **MOVES) == {"rounds_missing": 1}


def test_a_game_of_openspiel_replays_and_pays_matches(tmp_path):
    pytest.importorskip("pyspiel", reason="OpenSpiel is not installed: pip install open_spiel")
    moves = ["1,1,0,4,1", "1,2,1,0,-1", "1,3,0,3,1", "1,4,1,1,-1", "1,5,0,5,1"]
    (tmp_path / "log.csv").write_text("m,t,s,a,f\n" + "\n".join(moves) + "\n")
    assert kinds(tmp_path, rules={"openspiel": "tic_tac_toe"}, **MOVES) == {}
    (tmp_path / "log.csv").write_text("m,t,s,a,f\n" + "\n".join(moves).replace("1,5,0,5", "1,5,0,4") + "\n")
    assert kinds(tmp_path, rules={"openspiel": "tic_tac_toe"}, **MOVES) == {"replay": 1}
    (tmp_path / "log.csv").write_text("m,t,s,a,f\n" + "\n".join(moves).replace(",1\n", ",0\n") + "\n")
    assert kinds(tmp_path, rules={"openspiel": "tic_tac_toe"}, **MOVES) == {"scores": 1}


def test_a_game_of_openspiel_that_reads_a_file_is_refused():
    pytest.importorskip("pyspiel", reason="OpenSpiel is not installed: pip install open_spiel")
    for name in (
        "efg_game(filename=/etc/passwd)",
        "bargaining(instances_file=x)",
        "misere(game=tic_tac_toe())",
        "no_such_game",
    ):
        with pytest.raises(AgonError, match=r"OpenSpiel"):
            openspiel_rules(name)


def test_openspiel_that_is_not_installed_is_said_and_nothing_else_stops(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    with pytest.raises(AgonError, match="OpenSpiel is not installed"):
        openspiel_rules("tic_tac_toe")


BAD_RULES = {
    "a missing file": ({"file": "none.nfg"}, "there is no file"),
    "no file of Gambit": ({"file": "log.csv"}, "Gambit cannot read log.csv"),
    "an unknown game": ({"game": "pdd"}, "agon list games"),
    "a game in no normal form": ({"game": "undercover"}, "undercover"),
    "a ragged table": ({"actions": ["C", "D"], "payoff": [[[1, 1], [2]], [[1, 1], [2, 2]]]}, "payoff must be numbers"),
    "another shape": ({"actions": ["C", "D"], "payoff": [[[1, 1]], [[2, 2]]]}, "has shape (2, 1, 2)"),
    "an action twice": (
        {"actions": ["C", "C"], "payoff": [[[1, 1], [1, 1]], [[1, 1], [1, 1]]]},
        "the same action twice",
    ),
}


@pytest.mark.parametrize("name", BAD_RULES)
def test_rules_that_cannot_be_used_are_one_line(name, tmp_path):
    (tmp_path / "log.csv").write_text("m,t,a,b,x,y\n1,1,up,left,1,2\n")
    rules, why = BAD_RULES[name]
    with pytest.raises(AgonError) as error:
        kinds(tmp_path, rules=rules, **COLUMNS)
    assert why in str(error.value)


# ---- printed numbers ----


def test_a_printed_mean_must_be_possible_for_its_n():
    for n in (10, 17, 25):
        possible = {round(total / n, 2) for total in range(5 * n + 1)}
        for cents in range(501):
            printed = pd.to_numeric(cents / 100)
            verdict = grim(Decimal(f"{printed:.2f}"), n) == ""
            near = any(abs(total / n - printed) <= 0.005 + 1e-9 for total in range(5 * n + 1))
            assert verdict is near and (round(printed, 2) not in possible or verdict)


def table_of(*rows):
    return pd.DataFrame(rows, columns=["where", "value", "kind", "how", "n", "unit"])


TURNS = pd.DataFrame({"points": [1.0, 2.0, 4.0], "action": ["C", "D", "C"]})
NUMBERS = {
    "agrees": ("2.33", "mean", "turns.points.mean()", "3", ""),
    "a share in percent": ("66.7%", "percent", "(turns.action == 'C').mean()", "3", ""),
    "cut off": ("66.6", "percent", "(turns.action == 'C').mean()", "", ""),
    "differs": ("2.43", "number", "turns.points.mean()", "", ""),
    "impossible": ("2.50", "mean", "", "3", ""),
    "possible by half points": ("2.50", "mean", "", "3", "0.5"),
    "no number": ("two", "number", "turns.points.mean()", "", ""),
    "an expression that fails": ("2.33", "number", "turns.nothing.mean()", "", ""),
    "nothing to compute": ("2.33", "number", "", "", ""),
    "no n": ("2.33", "mean", "", "three", ""),
}
VERDICTS = [
    "agrees",
    "agrees",
    "agrees if it was cut off, not rounded",
    "differs",
    "impossible",
    "agrees",
    *["cannot be checked"] * 4,
]


@pytest.mark.parametrize(("name", "verdict"), [*zip(NUMBERS, VERDICTS, strict=True)])
def test_a_printed_number_is_decided_by_its_digits(name, verdict):
    [decision] = decide_all(table_of((name, *NUMBERS[name])), TURNS)
    assert decision.verdict == verdict and decision.where == name


EXTREME = [
    *(("1e999", "mean", how, n, "") for how, n in (("", "5"), ("1.0", ""))),
    *(("1e-999", "mean", how, n, "") for how, n in (("", "5"), ("1.0", ""))),
    ("1", "mean", "", "9" * 400, ""),
    ("1", "mean", "", "5", "1e-320"),
    *((f"M = 1, SD = 1, n = {n}, 95% CI [0, 2]", "interval", "", "", "") for n in ("0", "-5", "9" * 400)),
    *((f"share = 62%, n = {n}, 95% CI [47, 75]", "interval", "", "", "") for n in ("0", "9" * 20)),
    (f"t(28) = {'9' * 400}, p = .036", "test", "", "", ""),
]


def test_numbers_that_no_float_can_hold_stop_no_audit():
    decisions = decide_all(table_of(*(("x", *row) for row in EXTREME)), TURNS)
    assert [decision.verdict for decision in decisions] == ["cannot be checked"] * len(EXTREME)


@pytest.mark.parametrize(("name", "free"), [("t", (28,)), ("F", (2, 57)), ("chi2", (3,)), ("z", ())])
def test_a_printed_p_fits_its_statistic(name, free):
    tails = {"t": stats.t, "F": stats.f, "chi2": stats.chi2, "z": stats.norm}[name]
    sides = 2 if name in "tz" else 1
    degrees = f"({', '.join(map(str, free))})" if free else ""
    for value in (0.5, 1.37, 2.2, 4.81):
        p = sides * tails.sf(value, *free)
        assert decide_test(f"{name}{degrees} = {value:.2f}, p = {p:.3f}")[0] == "agrees"
        assert decide_test(f"{name}{degrees} = {value:.2f}, p = {p / 4 + 0.2 * (p < 0.1):.3f}")[0] == "differs"
        assert decide_test(f"{name}{degrees} = {value:.2f}, p < {math.ceil(p * 100) / 100 + 0.01:.2f}")[0] == "agrees"


def test_a_test_without_its_degrees_of_freedom_is_not_decided():
    assert [decide_test(text)[0] for text in ("t = 2.0, p = .05", "F(2) = 3.0, p = .05", "p < .05")] == [
        "cannot be checked"
    ] * 3


@pytest.mark.parametrize("level", [90, 95, 99])
@pytest.mark.parametrize("n", [3, 12, 400])
def test_a_printed_interval_of_a_mean_fits_its_spread(n, level):
    for mean, spread in np.random.default_rng(n).uniform([-5, 0.5], [5, 3], (20, 2)):
        half = stats.t.isf(0.5 - level / 200, n - 1) * spread / n**0.5
        head, ci = f"M = {mean:.2f}, SD = {spread:.2f}, n = {n}, {level}% CI", (mean - half, mean + half)
        assert decide_interval(f"{head} [{ci[0]:.2f}, {ci[1]:.2f}]") == ("agrees", "an interval of Student's t")
        assert decide_interval(f"{head} [{ci[0] - 0.2 * half - 0.1:.2f}, {ci[1]:.2f}]")[0] == "differs"
        error = f"mean = {mean:.2f}, SE = {spread / n**0.5:.3f}, n = {n}, {level} % CI ({ci[0]:.1f} to {ci[1]:.1f})"
        assert decide_interval(error)[0] == "agrees"


@pytest.mark.parametrize("method", ["exact", "wilson", "wilsoncc"])
def test_a_printed_interval_of_a_share_fits_its_number_of_values(method):
    for n in (8, 50, 333):
        for k in (0, 1, n // 3, n):
            ci = stats.binomtest(k, n).proportion_ci(0.95, method)
            text = f"share = {100 * k / n:.1f}%, n = {n}, 95% CI [{100 * ci.low:.1f}, {100 * ci.high:.1f}]"
            assert decide_interval(text)[0] == "agrees"
            wrong = text.replace(f"[{100 * ci.low:.1f}", f"[{-1.0 if k else -30}").replace("n = 8", "n = 9")
            assert decide_interval(wrong)[0] in ("differs", "impossible")


INTERVALS = {
    "the mean lies outside of the interval": "M = 3.0, SD = 1.0, n = 9, 95% CI [4.0, 5.0]",
    "no share of 50 values is printed so": "share = 63%, n = 50, 95% CI [48, 76]",
    "it needs a number n above 0, and for a mean SD or SE": "M = 3.0, SD = 1.0, 95% CI [2.0, 4.0]",
    "it is no interval in the form": "M = 3.0, SD = ..., n = 9, 95% CI [2.0, 4.0]",
}


@pytest.mark.parametrize("why", INTERVALS)
def test_what_is_wrong_with_an_interval_is_said(why):
    assert decide_interval(INTERVALS[why])[1].startswith(why)
    [decision] = decide_all(table_of(("Table 2", INTERVALS[why], "interval", "", "", "")), TURNS)
    assert decision.why.startswith(why)


def played(shares, matches, rounds=5):
    """Turns of matches of two conditions, in which a round is C with these probabilities."""
    dice = np.random.default_rng(5)
    parts = [
        pd.DataFrame({"condition": name, "match": f"{name} {number}", "seat": 0, "player": "one"}, range(rounds))
        for name in shares
        for number in range(matches)
    ]
    table = pd.concat(parts, ignore_index=True)
    table["action"] = np.where(dice.random(len(table)) < table.condition.map(shares), "C", "D")
    return table


MORE = "turns[turns.condition == 'a'].action.eq('C').mean() > turns[turns.condition == 'b'].action.eq('C').mean()"
STATEMENTS = {
    "holds": ({"a": 0.9, "b": 0.2}, 20),
    "fails": ({"a": 0.2, "b": 0.9}, 20),
    "undecided": ({"a": 0.55, "b": 0.5}, 6),
    "cannot be checked": ({"a": 0.9, "b": 0.2}, 1),
}


@pytest.mark.parametrize("verdict", STATEMENTS)
def test_a_statement_is_decided_with_the_noise_of_its_matches(verdict):
    turns = played(*STATEMENTS[verdict])
    [decision] = decide_all(table_of(("Abstract", "a cooperates more", "statement", MORE, "", "")), turns)
    assert decision.verdict == verdict


def test_a_statement_about_matches_counts_drawn_matches_once():
    turns = played({"a": 0.5}, 9)
    lengths = "turns.groupby('match').size().eq(5)"
    assert decide_statement(lengths, turns)[0] == "holds"
    assert "NameError" in decide_statement("nothing", turns)[1]


def test_a_file_of_numbers_has_the_columns_that_it_must_have(tmp_path):
    (tmp_path / "numbers.csv").write_text("where,value\nTable 1,3\n")
    with pytest.raises(AgonError, match="they must be where, value, kind"):
        read_numbers(tmp_path / "numbers.csv")
    (tmp_path / "numbers.csv").write_text("where,value,kind\nTable 1,3,median\n")
    with pytest.raises(AgonError, match="kind is 'median', and must be number"):
        read_numbers(tmp_path / "numbers.csv")


# ---- the command ----


@pytest.fixture
def games(tmp_path):
    """A folder of games with a mapping, and the words that audit it."""
    folder = tmp_path / "games"
    folder.mkdir()
    table = logs.wide(["pd"], ["anything", "grim"], 1)
    table.to_csv(folder / "log.csv", index=False)
    (tmp_path / "mapping.yaml").write_text(yaml.safe_dump(logs.mapping(table, ["pd"])))
    return table, folder, ["audit", str(folder), str(tmp_path / "mapping.yaml"), "--out", str(tmp_path / "out")]


def test_the_exit_code_says_whether_there_are_differences(games, tmp_path, capfd):
    table, folder, words = games
    assert main(words) == 0 and "no difference" in capfd.readouterr().out
    table.loc[3, "points1"] += 1
    logs.scored(table).to_csv(folder / "log.csv", index=False)
    assert main(words) == 2 and "verdict.json exists with other content" in capfd.readouterr().err
    words.append("--force")
    assert main(words) == 1 and "points that the rules do not pay: 1 of" in capfd.readouterr().out
    [row] = pd.read_csv(tmp_path / "out/found.csv").itertuples()
    assert (row.check, row.line, row.round) == ("points", 5, 4)
    (folder / "log.csv").write_text("nothing\n")
    assert main(words) == 2
    note, fault = capfd.readouterr().err.strip().splitlines()
    assert note.endswith(f"/out is outside of this project, {ROOT}") and "it has no column" in fault


def test_a_verdict_is_checked_against_the_files_later(games, tmp_path, capfd):
    table, folder, words = games
    main(words)
    verdict = tmp_path / "out/verdict.json"
    check = [*words[:3], "--check", str(verdict)]
    before = verdict.read_bytes()
    assert main(check) == 0 and "it holds; nothing changed" in capfd.readouterr().out
    table.assign(view1="changed").to_csv(folder / "log.csv", index=False)
    assert main(check) == 1
    said = capfd.readouterr().out
    assert "input: files, log.csv, sha256: was" in said and "it does not hold; input changed" in said
    assert verdict.read_bytes() == before
    verdict.write_text("[]")
    assert main(check) == 2 and "it is no verdict of agon audit" in capfd.readouterr().err


def test_the_same_files_give_the_same_bytes(games, tmp_path):
    main(games[2])
    first = [(tmp_path / "out" / name).read_bytes() for name in ("audit.html", "verdict.json")]
    assert main(games[2]) == 0
    assert [(tmp_path / "out" / name).read_bytes() for name in ("audit.html", "verdict.json")] == first


def test_what_a_model_wrote_is_escaped_on_the_page(games, tmp_path):
    table, folder, words = games
    table.loc[3, "action1"] = "<script>alert(1)</script>"
    table.to_csv(folder / "log.csv", index=False)
    assert main(words) == 1
    table.loc[3, "player1"] = "=1+1"
    table.to_csv(folder / "log.csv", index=False)
    main([*words, "--force"])
    assert ",'=1+1, and before" in (tmp_path / "out/found.csv").read_text().replace('"', "")
    page = (tmp_path / "out/audit.html").read_text()
    assert "<script" not in page and "&lt;script&gt;alert(1)" in page and page.count("<h1>") == 1


def test_a_row_whose_round_is_no_number_is_on_the_page(games, tmp_path):
    table, folder, words = games
    table["round"] = table["round"].astype(object)
    table.loc[3, "round"] = "START"
    table.to_csv(folder / "log.csv", index=False)
    assert main(words) == 1
    page = (tmp_path / "out/audit.html").read_text()
    assert "log.csv, line 5; match default/1, round START, seat 0" in page and "looked at" in page


def test_the_page_says_what_no_check_can_see(games, tmp_path):
    main(games[2])
    agrees, unchecked = (
        (tmp_path / "out/audit.html").read_text().split("<h2>What agrees")[1].split("<h2>What could not")
    )
    assert "seats that were exchanged in all columns" in unchecked
    assert '<td class="number">0</td>' not in agrees and "the games have nothing to look at" in unchecked


def test_without_rules_the_summary_says_that_no_payoff_was_checked(games, tmp_path, capfd):
    _, _, words = games
    unchecked = "Without rules in the mapping no payoff could be checked."
    assert main(words) == 0 and unchecked not in capfd.readouterr().out
    mapping = yaml.safe_load((tmp_path / "mapping.yaml").read_text())
    bare = {key: value for key, value in mapping.items() if key != "rules_of_condition"}
    (tmp_path / "mapping.yaml").write_text(yaml.safe_dump(bare))
    assert main([*words, "--force"]) == 0
    assert capfd.readouterr().out.rstrip().endswith(f"no difference. {unchecked}")


def test_a_number_that_cannot_be_checked_is_named(games, tmp_path, capfd):
    _, _, words = games
    (tmp_path / "numbers.csv").write_text("where,value,kind,how\nTable 1,3,number,turns.nothing.mean()\n")
    assert main([*words, "--numbers", str(tmp_path / "numbers.csv")]) == 0
    said = capfd.readouterr().out
    assert (
        "Table 1: 3 cannot be checked: " in said and "no difference. 1 of 1 printed number could not be checked" in said
    )
    check = [*words[:3], "--check", str(tmp_path / "out/verdict.json")]
    assert main(check) == 2 and "has printed numbers: name their file with --numbers" in capfd.readouterr().err


def test_a_verdict_holds_in_another_copy_of_the_project(games, tmp_path):
    main(games[2])
    copy = tmp_path / "elsewhere/agon2"
    for name in ("src", "conf", "pyproject.toml"):
        part = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy.mkdir(parents=True, exist_ok=True)
        part(ROOT / name, copy / name)
    shutil.move(games[1], copy / "same games")
    shutil.move(tmp_path / "mapping.yaml", copy / "other.yaml")
    shutil.move(tmp_path / "out/verdict.json", copy / "theirs.json")
    words = ["audit", "same games", "other.yaml", "--check", "theirs.json"]
    environment = os.environ | {"PYTHONPATH": str(copy / "src")}
    run = partial(subprocess.run, cwd=copy, env=environment, capture_output=True, text=True, timeout=LONG)
    ended = run([sys.executable, "-m", "agon", *words])
    assert ended.returncode == 0 and "theirs.json: it holds; nothing changed" in ended.stdout, ended
    log = pd.read_csv(copy / "same games/log.csv")
    log.assign(points1=log.points1 + 1).to_csv(copy / "same games/log.csv", index=False)
    ended = run([sys.executable, "-m", "agon", *words])
    assert ended.returncode == 1 and "it does not hold; input and verdict changed" in ended.stdout, ended


def test_an_edited_verdict_does_not_hold(games, tmp_path, capfd):
    _, _, words = games
    main(words)
    verdict = tmp_path / "out/verdict.json"
    verdict.write_text(json.dumps(json.loads(verdict.read_text()) | {"rows": 9999, "differences": 3}))
    assert main([*words[:3], "--check", str(verdict)]) == 1
    said = capfd.readouterr().out
    assert "verdict: rows: was 9999, is" in said and "verdict: differences: was 3, is 0" in said


LONG_TEXT = "a word " * 40
CHANGES = {
    "another version": ({"agon": "0.0.1"}, "version: agon: was 0.0.1, is ", 0),
    "other rules": (
        {"rules": {"all games": {"source": "x", "sha256": "0"}}},
        'rules: all games: was {"source": "x"',
        0,
    ),
    "another mapping": ({"mapping": {"format": "json"}}, "input: mapping, format: was json, is csv", 1),
    "another verdict": ({"differences": 7}, "verdict: differences: was 7, is 0", 1),
    "other words of another version": (
        {"agon": "0.0.1", "skipped": [LONG_TEXT]},
        "version: skipped, 1: was a word ",
        0,
    ),
    "other words of this version": ({"skipped": [LONG_TEXT]}, "verdict: skipped, 1: was a word ", 1),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_changed_decides_whether_a_verdict_holds(what, games, tmp_path, capfd):
    _, _, words = games
    main(words)
    verdict, (fields, line, code) = tmp_path / "out/verdict.json", CHANGES[what]
    verdict.write_text(json.dumps(json.loads(verdict.read_text()) | fields))
    capfd.readouterr()
    assert main([*words[:3], "--check", str(verdict)]) == code
    said = capfd.readouterr().out
    assert line in said and ("it does not hold" in said) == bool(code)


def test_long_values_are_shown_where_they_differ():
    verdict = {"agon": "1", "folder": "f", "files": {}, "rules": {}, "checks": {}}
    old, new = (verdict | {"mapping": {"tag": f"{LONG_TEXT}{end}{LONG_TEXT}"}} for end in ("then", "than"))
    [line] = changes(old, new)["input"]
    assert "then" in line and "than" in line and len(line) < 200


def test_numbers_are_run_only_when_their_file_is_named(games, tmp_path, capfd):
    _, folder, words = games
    (folder / "numbers.csv").write_text(
        "where,value,kind,how\nTable 1,3.2,number,open('ran'.join(['', '']) or 1 / 0)\n"
    )
    words[2] = str(tmp_path / "own.yaml")
    fields = yaml.safe_load((tmp_path / "mapping.yaml").read_text()) | {"files": "log.csv"}
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(fields))
    assert main(words) == 0
    (tmp_path / "numbers.csv").write_text("where,value,kind,how\nTable 1,999,number,turns.points.mean()\n")
    assert main([*words, "--numbers", str(tmp_path / "numbers.csv"), "--force"]) == 1
    assert "Table 1: 999 differs" in capfd.readouterr().out
    [number] = json.loads((tmp_path / "out/verdict.json").read_text())["numbers"]
    assert number["recomputed"] == pytest.approx(np.concatenate([games[0].points1, games[0].points2]).mean())


def test_a_folder_without_a_mapping_says_how_to_get_one(games, tmp_path, capfd):
    assert main(["audit", str(games[1]), "--out", str(tmp_path / "out")]) == 2
    assert "agon audit --guess" in capfd.readouterr().err
    assert main(["audit", "--guess", str(games[1]), str(tmp_path / "first.yaml")]) == 0
    assert "unsure: rules" in capfd.readouterr().out and 'format: "csv"' in (tmp_path / "first.yaml").read_text()


def test_another_folder_of_files_is_not_written_over(games, tmp_path, capfd):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/notes.txt").write_text("mine")
    assert main(games[2]) == 2 and "holds notes.txt" in capfd.readouterr().err


def test_games_beside_another_programs_conf_are_audited(games, tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/config.yaml").write_text("defaults: [model]\nfamilies: [nowhere]\n")
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    run = partial(subprocess.run, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=LONG)
    ended = run([sys.executable, "-m", "agon", *games[2]])
    assert ended.returncode == 0 and "no difference" in ended.stdout, ended
    assert "does not say `agon: true`" in run([sys.executable, "-m", "agon", "list", "games"]).stderr


def test_the_page_fits_a_phone(games, tmp_path):
    playwright = pytest.importorskip("playwright.sync_api")
    table, folder, words = games
    table.loc[3, ["action1", "reply1"]] = ["an_action_with_a_name_without_any_blank_in_it" * 5, None]
    table.to_csv(folder / "log.csv", index=False)
    main(words)
    chromium = next(
        (
            path
            for path in ("/usr/bin/chromium", "/usr/bin/chromium-browser")
            if subprocess.run(["test", "-x", path], timeout=9).returncode == 0
        ),
        None,
    )
    if chromium is None:
        pytest.skip("there is no Chromium")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium)
        for scheme in ("light", "dark"):
            page = browser.new_page(viewport={"width": 390, "height": 800}, color_scheme=scheme)
            page.goto((tmp_path / "out/audit.html").as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= 390
            assert re.match("Audit of games", page.inner_text("h1"))
        browser.close()


def test_players_with_different_actions_have_their_own_lists():
    assert form_rules(GAME, "here", 3, None).actions == [[*own] for own in SETS]
