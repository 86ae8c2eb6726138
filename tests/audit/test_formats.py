"""Every format gives the same table; clean games are clean in all of them; a faulty file is one line."""

import json
import os
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import logs
import pandas as pd
import pytest

from agon import AgonError
from agon.cli import main
from agon.conf import load
from agon.games.matrix import MatrixGame
from agon_audit.audit import audit
from agon_audit.formats import find_files
from agon_audit.guess import guess, written
from agon_audit.mapping import as_mapping, read_mapping
from agon_audit.printed import read_numbers
from agon_audit.turns import tidy

PD = {"actions": ["C", "D"], "payoff": [[[3, 3], [0, 5]], [[5, 0], [1, 1]]]}


def audited(folder, **fields):
    return audit(folder, as_mapping(fields, "mapping"), folder)


def kinds(result):
    return {name: outcome.count for name, outcome in result.found.items() if outcome.count}


GAMES = ["pd", "pd_label", "pd_brief", "rps", "rps_payoff"]


@pytest.fixture(scope="module", params=GAMES)
def table(request):
    return request.param, logs.wide([request.param], ["anything", "uniform" if "rps" in request.param else "grim"], 1)


@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl", "json"])
def test_a_clean_game_is_clean_in_every_format(table, form, tmp_path):
    game, rows = table
    path = tmp_path / f"log.{form}"
    if form == "csv":
        rows.to_csv(path, index=False)
    elif form == "parquet":
        rows.to_parquet(path)
    elif form == "jsonl":
        rows.to_json(path, orient="records", lines=True)
    else:
        matches = [
            {
                "episode": int(number),
                "game": part.game.iloc[0],
                "rounds": json.loads(part.drop(columns=["episode", "game"]).to_json(orient="records")),
            }
            for number, part in rows.groupby("episode")
        ]
        path.write_text(json.dumps({"by": "tests", "matches": matches}))
    fields = logs.mapping(rows, [game], format=form, **({"rows": "matches.rounds"} if form == "json" else {}))
    result = audited(tmp_path, **fields)
    assert (result.rows, result.matches, kinds(result)) == (2 * len(rows), rows.episode.nunique(), {})
    assert result.found["points"].looked == result.found["totals"].looked == 2 * len(rows)


def test_interactions_of_axelrod_are_read_and_paid(tmp_path):
    axelrod = pytest.importorskip("axelrod")
    players = [axelrod.TitForTat(), axelrod.Alternator(), axelrod.Grudger()]
    tournament = axelrod.Tournament(players, turns=12, repetitions=2, seed=3)
    tournament.play(filename=str(tmp_path / "interactions.csv"), build_results=False, progress_bar=False)
    rows = pd.read_csv(tmp_path / "interactions.csv")
    result = audited(tmp_path, format="axelrod", rules=PD | {"rounds": 12})
    assert (result.rows, result.matches, kinds(result)) == (12 * len(rows), rows["Interaction index"].nunique(), {})
    match = axelrod.Match(players, turns=12).game
    rows["Score"] = [
        sum(
            match.score((axelrod.Action.from_char(a), axelrod.Action.from_char(b)))[0]
            for a, b in zip(own, other, strict=True)
        )
        for own, other in zip(rows.Actions, _others(rows), strict=True)
    ]
    rows.loc[3, "Score"] += 1
    rows.to_csv(tmp_path / "interactions.csv", index=False)
    result = audited(tmp_path, format="axelrod", rules=PD | {"rounds": 12})
    assert kinds(result) == {"scores": 1} and result.found["scores"].rows.line.iloc[0] == 5


def _others(rows):
    """The actions of the other player of each interaction."""
    return [rows.Actions[at + 1 if at % 2 == 0 else at - 1] for at in range(len(rows))]


def replay(actions, rewards, **info):
    """A replay of a prisoner's dilemma in the form of Kaggle's environments; rewards are the points so far."""
    steps = [[{"action": 0, "reward": 0, "observation": {}, "status": "ACTIVE"} for _ in range(2)]]
    for pair, scores in zip(actions, rewards, strict=True):
        steps.append(
            [{"action": action, "reward": score, "observation": {}} for action, score in zip(pair, scores, strict=True)]
        )
    return {"name": "dilemma", "info": {"TeamNames": ["one", "two"]} | info, "steps": steps}


NUMBERED = {"actions": ["0", "1"], "payoff": [[[3, 3], [0, 5]], [[5, 0], [1, 1]]]}


def test_a_replay_of_kaggle_is_paid_by_its_rules(tmp_path):
    path = tmp_path / "one.json"
    path.write_text(json.dumps(replay([(0, 0), (0, 1), (1, 1)], [(3, 3), (3, 8), (4, 9)])))
    assert kinds(audited(tmp_path, format="kaggle", rules=NUMBERED)) == {}
    path.write_text(json.dumps(replay([(0, 0), (0, 1), (1, 1)], [(3, 3), (3, 8), (4, 10)])))
    result = audited(tmp_path, format="kaggle", rules=NUMBERED)
    assert kinds(result) == {"totals": 1, "scores": 1} and result.found["totals"].rows.line.iloc[0] == 3


def test_a_replay_without_a_step_is_one_line(tmp_path):
    (tmp_path / "replay.json").write_text('{"steps": []}')
    with pytest.raises(AgonError, match=r"replay\.json: its list `steps` is empty"):
        audited(tmp_path, format="kaggle", files="*.json")


def test_a_forfeit_that_counts_as_an_action_is_found(tmp_path):
    step = {
        "action": {"submission": -1, "actionString": "<illegal>"},
        "info": {"actionApplied": 1},
        "observation": {},
        "reward": 3,
    }
    game = replay([(0, 0)], [(3, 3)])
    game["steps"].append(
        [step, {"action": {"submission": 1}, "info": {"actionApplied": 1}, "observation": {}, "reward": 4}]
    )
    (tmp_path / "one.json").write_text(json.dumps(game))
    assert kinds(audited(tmp_path, format="kaggle")) == {"applied": 1, "incomplete": 1}


SAMPLE = {
    "id": "g1",
    "epoch": 1,
    "messages": [
        {"role": "user", "content": "Choose."},
        {"role": "assistant", "content": [{"type": "text", "text": "[move] C"}]},
        {"role": "assistant", "content": "[move] D"},
    ],
    "output": {"model": "m/one", "choices": [{"stop_reason": "max_tokens"}]},
    "metadata": {"moves": [{"act": "C"}, {"act": "D"}], "act": "D"},
}


@pytest.mark.parametrize("ending", ["json", "eval"])
def test_a_log_of_inspect_is_read_by_sample(ending, tmp_path):
    if ending == "json":
        (tmp_path / "log.json").write_text(json.dumps({"eval": {}, "samples": [SAMPLE]}))
    else:
        with ZipFile(tmp_path / "log.eval", "w", ZIP_DEFLATED) as archive:
            archive.writestr("header.json", "{}")
            archive.writestr("samples/g1_epoch_1.json", json.dumps(SAMPLE))
    result = audited(
        tmp_path,
        format="inspect",
        action="metadata.act",
        tag="[move]",
        rules={"actions": [["C", "D"]], "payoff": [[1], [2]]},
    )
    assert (result.rows, result.matches) == (2, 1) and kinds(result) == {"replies": 1, "incomplete": 1}
    moves = audited(
        tmp_path,
        format="inspect",
        rows="metadata.moves",
        action="act",
        rules={"actions": [["C", "E"]], "payoff": [[1], [2]]},
    )
    assert moves.rows == 2 and kinds(moves) == {"actions": 1}


def test_traces_of_textarena_are_read_turn_by_turn(tmp_path):
    rows = [
        {
            "game_id": 7,
            "env_name": "Dilemma",
            "model_name": f"m{seat}",
            "player_id": seat,
            "observations": json.dumps(
                {
                    f"2026-01-0{day}": {"observation": "choose", "action": f"[{word}]"}
                    for day, word in enumerate(words, start=1)
                }
            ),
            "rewards": '{"0": 1, "1": -1}',
            "status": "finished",
        }
        for seat, words in enumerate((["cooperate", "defect"], ["cooperate", "wait"]))
    ]
    pd.DataFrame(rows).to_parquet(tmp_path / "traces.parquet")
    result = audited(
        tmp_path, format="textarena", rules={"actions": ["[cooperate]", "[defect]"], "payoff": PD["payoff"]}
    )
    assert (result.rows, result.matches) == (4, 1) and result.found["actions"].rows.line.tolist() == [2]


def test_turns_of_agon_are_replayed_by_the_games_beside_them(tmp_path):
    from agon.turns import games_path, read, read_games, write, write_games

    smoke = Path(__file__).parents[1] / "smoke/magic_scripted.parquet"
    games, turns = read_games(smoke), read(smoke)
    write(turns, tmp_path / "turns.parquet")
    write_games(games, tmp_path / "turns.parquet")
    result = audited(tmp_path, format="agon")
    assert kinds(result) == {} and result.found["points"].looked == len(turns)
    wrong = turns.assign(payoff=turns.payoff.where(turns.index != 5, 1234.0))
    write(wrong, tmp_path / "turns.parquet")
    assert kinds(audited(tmp_path, format="agon")) in ({"points": 1}, {"replay": 1})
    write(turns, tmp_path / "turns.parquet")
    write_games(games.assign(variant="another"), tmp_path / "turns.parquet")
    result = audited(tmp_path, format="agon")
    assert kinds(result) == {} and any("do not have this game" in text for text in result.skipped)
    games_path(tmp_path / "turns.parquet").unlink()
    with pytest.raises(AgonError, match=r"games"):
        audited(tmp_path, format="agon")


def test_points_of_seats_that_take_turns_are_not_compared_by_their_actions(tmp_path):
    rows = [(1, turn, turn % 2, "pass", int(turn == 30)) for turn in range(1, 41)]
    table = pd.DataFrame(rows, columns=["m", "t", "s", "a", "x"])
    table.to_csv(tmp_path / "log.csv", index=False)
    fields = {"format": "csv", "match": ["m"], "round": "t", "seat": "s", "action": "a", "points": "x"}
    assert kinds(audited(tmp_path, **fields)) == {}


# ---- files that cannot be read ----

DEEP = "[" * 100_000 + "]" * 100_000
BAD = {
    "another encoding": ("a.csv", "action\nr\u00e9ponse\n".encode("latin-1"), "a.csv cannot be read: "),
    "a missing column": ("a.csv", b"answer\nC\n", "it has no column 'action': there are answer"),
    "a column twice": ("a.csv", b"action,action\nC,D\n", "two columns are called 'action'"),
    "a ragged table": ("a.csv", b"action,round\nC,1\nD\n", "a.csv cannot be read: CSV parse error"),
    "no rows": ("a.csv", b"action\n", "no file has a row"),
    "an empty file": ("a.csv", b"", "it has no column 'action'"),
    "no parquet": ("a.parquet", b"PAR1 not", "a.parquet cannot be read"),
    "no JSON": ("a.json", b"{", "it is no JSON"),
    "deep JSON": ("a.json", DEEP.encode(), "it is nested too deeply"),
    "deep JSON lines": ("a.jsonl", DEEP.encode(), "line 1: it is nested too deeply"),
    "no list": ("a.json", b'{"action": "C"}', "this is no list; write the path"),
    "no JSON in a line": ("a.jsonl", b'{"action": "C"}\n{]\n', "line 2: it is no JSON"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_cannot_be_read_is_one_line(name, tmp_path):
    file, data, why = BAD[name]
    (tmp_path / file).write_bytes(data)
    with pytest.raises(AgonError) as error:
        audited(tmp_path, format=file.partition(".")[2], action="action")
    assert why in str(error.value) and "\n" not in str(error.value) and len(str(error.value)) < 400


def test_an_archive_that_unpacks_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("agon_audit.formats.inspect_logs.MOST_JSON_BYTES", 10_000)
    with ZipFile(tmp_path / "bomb.eval", "w", ZIP_DEFLATED) as archive:
        archive.writestr("samples/1.json", "[" + " " * 5_000_000 + "]")
    assert (tmp_path / "bomb.eval").stat().st_size < 10_000
    with pytest.raises(AgonError, match="samples unpack to more than 10,000 bytes"):
        audited(tmp_path, format="inspect")


def test_too_large_files_and_too_many_rows_are_refused(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("action\n" + "C\n" * 50)
    monkeypatch.setattr("agon_audit.formats.tables.MOST_ROWS", 49)
    with pytest.raises(AgonError, match="more than 49 rows"):
        audited(tmp_path, format="csv", action="action")
    (tmp_path / "a.json").write_text("[]" + " " * 5000)
    monkeypatch.setattr("agon_audit.formats.tables.MOST_JSON_BYTES", 5000)
    with pytest.raises(AgonError, match="it has 5,002 bytes, and 5,000 are read at most"):
        audited(tmp_path, format="json", action="action")


def test_a_link_out_of_the_folder_is_refused(tmp_path):
    folder = tmp_path / "games"
    folder.mkdir()
    (tmp_path / "secret.csv").write_text("action\nC\n")
    (folder / "a.csv").symlink_to(tmp_path / "secret.csv")
    with pytest.raises(AgonError, match="is a link out of the folder"):
        audited(folder, format="csv", action="action")
    with pytest.raises(AgonError, match="write a pattern for files below the folder"):
        audited(folder, format="csv", action="action", files="../*.csv")


@pytest.mark.parametrize("files", ["one", "many"])
def test_batches_of_whole_matches_give_the_same_verdict(files, tmp_path, monkeypatch):
    rows = logs.wide(["pd"], ["anything", "grim"], 2)
    rows.loc[40, "points1"] += 1
    rows = logs.scored(rows)
    for number, part in [("all", rows)] if files == "one" else rows.groupby("episode"):
        part.to_csv(tmp_path / f"{number}.csv", index=False)
    fields = logs.mapping(rows, ["pd"])
    at_once = audited(tmp_path, **fields).verdict()
    monkeypatch.setattr("agon_audit.audit.BATCH", 1)
    sizes = []
    monkeypatch.setattr("agon_audit.audit.tidy", lambda raw, mapping: sizes.append(len(raw)) or tidy(raw, mapping))
    assert audited(tmp_path, **fields).verdict() == at_once and at_once["differences"] == 1
    assert len(sizes) == rows.episode.nunique() and sum(sizes) == len(rows)


# ---- mappings ----

BAD_MAPPINGS = {
    "an unknown field": ({"format": "csv", "action": "a", "colour": "b"}, "there is no setting colour"),
    "a misspelled field": ({"format": "csv", "action": "a", "pionts": "b"}, "did you mean points?"),
    "a misspelled field of rules": (
        {"format": "csv", "action": "a", "rules": {"openspeil": "x"}},
        "did you mean openspiel?",
    ),
    "no action": ({"format": "csv"}, "action is missing"),
    "an unknown format": ({"format": "xls"}, "it is 'xls', and must be"),
    "lists of two lengths": (
        {"format": "csv", "action": ["a", "b"], "points": ["c"]},
        "lists of columns differ in length",
    ),
    "seat and lists": ({"format": "csv", "action": ["a", "b"], "seat": "s"}, "write one or the other"),
    "two kinds of rules": (
        {"format": "csv", "action": "a", "rules": {"game": "pd", "file": "x.nfg"}},
        "not game and file",
    ),
    "no rules in rules": ({"format": "csv", "action": "a", "rules": {"rounds": 3}}, "not none"),
    "payoff without actions": (
        {"format": "csv", "action": "a", "rules": {"payoff": [1]}},
        "actions and payoff belong together",
    ),
    "no rounds": ({"format": "csv", "action": "a", "rules": {"game": "pd", "rounds": 0}}, "it is 1 at least"),
}


@pytest.mark.parametrize("name", BAD_MAPPINGS)
def test_a_faulty_mapping_is_one_line(name):
    fields, why = BAD_MAPPINGS[name]
    with pytest.raises(AgonError) as error:
        as_mapping(fields, "my.yaml")
    assert why in str(error.value) and str(error.value).startswith("my.yaml: ")


def test_a_guess_is_a_mapping_that_says_what_is_unsure(tmp_path):
    rows = logs.wide(["pd"], ["grim"], 1).drop(
        columns=[
            "view1",
            "view2",
            "hidden1",
            "hidden2",
            "first1",
            "first2",
            "submitted1",
            "submitted2",
            "legal1",
            "legal2",
        ]
    )
    rows.to_csv(tmp_path / "log.csv", index=False)
    fields, unsure = guess(tmp_path)
    assert (
        fields["action"] == ["action1", "action2"]
        and fields["total"] == ["total1", "total2"]
        and fields["round"] == "round"
    )
    (tmp_path / "audit.yaml").write_text(written(fields, unsure))
    mapping = read_mapping(tmp_path / "audit.yaml")
    assert mapping.seats == 2 and any("rules" in text for text in unsure) and "match: it may also be episode" in unsure
    assert kinds(audit(tmp_path, mapping, tmp_path)) == {}


def test_a_guess_knows_the_formats_that_explain_themselves(tmp_path):
    (tmp_path / "one.json").write_text(json.dumps(replay([(0, 0)], [(3, 3)])))
    assert guess(tmp_path)[0]["format"] == "kaggle"
    (tmp_path / "one.json").write_text(json.dumps({"eval": {}, "samples": [SAMPLE]}))
    assert guess(tmp_path)[0]["format"] == "inspect"
    (tmp_path / "one.json").unlink()
    with pytest.raises(AgonError, match=r"holds no file .* that ends in"):
        guess(tmp_path)


@pytest.fixture
def several(tmp_path):
    """A file in which the column `game` names many matches at once."""
    rows = logs.wide(["pd"], ["anything", "grim", "tit_for_tat"], 1)
    rows["time"] = range(len(rows))
    rows.drop(columns="episode").to_csv(tmp_path / "log.csv", index=False)
    return rows, logs.mapping(rows, ["pd"], match=["game"])


def test_columns_that_name_several_matches_at_once_are_suspected(several, tmp_path):
    rows, fields = several
    with pytest.raises(AgonError, match=r"repeat a round of their match.*match: \[game, player1, player2\]"):
        audited(tmp_path, **fields)
    result = audited(tmp_path, **fields | {"match": ["game", "player1", "player2"]})
    assert (kinds(result), result.matches) == ({}, rows.episode.nunique())


def test_a_log_that_was_written_twice_is_a_finding(several, tmp_path):
    rows, fields = several
    pd.concat([rows, rows]).to_csv(tmp_path / "log.csv", index=False)
    result = audited(tmp_path, **fields | {"match": ["game", "player1", "player2"]})
    assert result.found["rounds_repeated"].count == 2 * len(rows)


def test_a_guess_looks_for_what_tells_matches_apart(several, tmp_path):
    fields, unsure = guess(tmp_path)
    assert fields["match"] == ["game", "player1", "player2"]
    assert any(text.endswith("each value of game, player1, player2 together has it once") for text in unsure)
    several[0].drop(columns=["episode", "game"]).to_csv(tmp_path / "log.csv", index=False)
    assert guess(tmp_path)[0]["match"] == ["player1", "player2"]


# ---- samples of others, where they are ----

FOREIGN = Path(os.environ.get("AGON_FOREIGN", "nowhere"))
"""A folder with recorded games of others, which are no part of the project."""


@pytest.mark.skipif(not (FOREIGN / "repeatedgames").is_dir(), reason="AGON_FOREIGN names no folder with repeatedgames/")
def test_games_between_models_agree_with_themselves():
    path = FOREIGN / "repeatedgames/all_games"
    fields = {
        "format": "csv",
        "match": ["game_number", "player1", "player2"],
        "round": "round",
        "condition": ["game_number"],
        "order": "option_order",
    }
    fields |= {
        name: [f"{column}1", f"{column}2"]
        for name, column in {"player": "player", "action": "answer", "points": "points", "total": "total"}.items()
    }
    result = audited(path, options=["choice_option1", "choice_option2"], **fields)
    assert kinds(result) == {} and result.matches == 3600


@pytest.mark.skipif(not (FOREIGN / "kaggle").is_dir(), reason="AGON_FOREIGN names no folder with kaggle/")
def test_replays_with_forfeits_name_what_they_counted_as():
    result = audited(FOREIGN / "kaggle", format="kaggle")
    assert result.found["incomplete"].count == result.found["applied"].count == 3


@pytest.mark.parametrize("name", GAMES)
def test_the_games_of_the_logs_are_in_normal_form(name):
    assert isinstance(load("game", name), MatrixGame)


def test_an_audit_does_not_write_among_the_games(tmp_path, capfd):
    (tmp_path / "games.csv").write_text("m,r,s,a,x\n0,1,0,C,3\n0,1,1,C,3\n")
    (tmp_path / "audit.yaml").write_text("{format: csv, match: [m], round: r, seat: s, action: a, points: x}")
    before = {*tmp_path.iterdir()}
    assert main(["audit", str(tmp_path), "--out", str(tmp_path), "--force"]) == 2
    assert "holds the games: name another folder" in capfd.readouterr().err and {*tmp_path.iterdir()} == before


@pytest.mark.timeout(60)
@pytest.mark.parametrize("opener", [lambda pipe: list(find_files(pipe, "**/*")), read_numbers])
def test_a_pipe_in_the_place_of_a_file_is_refused(tmp_path, opener):
    os.mkfifo(tmp_path / "games.csv")
    with pytest.raises(AgonError, match=r"games.csv is a pipe or a device: name a file$"):
        opener(tmp_path / "games.csv")


@pytest.mark.parametrize("second", ["", "D"])
@pytest.mark.parametrize("first", ["", "C"])
def test_both_decisions_of_a_seat_in_one_round_are_named(tmp_path, first, second):
    rounds = [f"{match},{number},{seat},C,3" for match in range(9) for number in range(1, 9) for seat in (0, 1)]
    rounds[2:3] = [f"0,2,0,{first},3", f"0,2,0,{second},3"]
    (tmp_path / "games.csv").write_text("\n".join(["m,r,s,a,x", *rounds, ""]))
    fields = {"match": ["m"], "round": "r", "seat": "s", "action": "a", "points": "x"}
    [row] = audited(tmp_path, format="csv", rules=PD, **fields).found["rounds_repeated"].rows.itertuples()
    said = [action or "no action" for action in (second, first)]
    assert row.line == 5 and row.what == f"the round is there again: {said[0]} here, and {said[1]} in line 4"
