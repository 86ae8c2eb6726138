"""Rating as a game: what the rater sees and does not see, what a rating is, and logs made of turns and of files."""

import json
import pickle
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from magic_games import Run, any_legal, any_or_void
from tradecraft_games import tradecraft

from agon import AgonError
from agon.agents.scripts import anything
from agon.cli import main
from agon.conf import expand_settings, load
from agon.games import IllegalAction
from agon.games.rating.game import DIMENSIONS, ORDERS, Rating, Ratings
from agon.games.rating.logs import format_log, make_log
from agon.games.settings import variants
from agon.games.tables import games_table
from agon.plan import Match, Seat
from agon.play import play_now, turns_table
from agon.turns import write, write_games

SAID = {"player": "Ann", "phase": "propose", "call": {"tool": "submit_proposal", "message": "Coal?"}}
THOUGHT = {"player": "Ann", "phase": "propose", "thought": "he cannot know that I need iron"}
LOG = {
    "match": "m1",
    "game": "tradecraft",
    "players": ["Ann", "Bob"],
    "turns": [[SAID | {"thought": "secret plan"}, THOUGHT], [{"player": "Bob", "phase": "craft", "call": None}]],
    "targets": [{"bucket": 1}, {"torch": 1}],
    "won": [True, False],
}
PAIR = Ratings(1, ("Ann", "Bob"))
MIND = Ratings(1, ("Ann",), orders=True)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def rating(log=LOG, **changes):
    return Rating("rating", "test", json.dumps(log), **changes)


def view(log=LOG, **changes):
    game = rating(log, **changes)
    return game.observe(game.start(None), 0)


# --- what is seen


HIDDEN = {"won": [False, True], "targets": [{"bow": 1}, {"lever": 1}], "source": "elsewhere"}


@pytest.mark.parametrize("key", HIDDEN)
def test_the_rater_sees_neither_result_nor_targets(key):
    assert view() == view(LOG | {key: HIDDEN[key]})


def test_the_rater_does_not_see_thoughts():
    other = [[SAID | {"thought": "other"}, THOUGHT | {"thought": "?"}, THOUGHT], LOG["turns"][1]]
    assert view() == view(LOG | {"turns": other}) and "secret" not in str(view()) and "iron" not in str(view())


def test_targets_can_be_shown_by_themselves():
    seen = str(view(targets=True))
    assert "bucket" in seen and "secret" not in seen and view(targets=True).rules.result == ""


def test_the_full_view_is_the_published_one():
    seen = str(view(full=True))
    assert "bucket" in seen and "secret plan" in seen and "cannot know" in seen
    assert view(full=True).rules.result == '{"Ann": true, "Bob": false}'


def test_no_dimension_is_coloured_by_another():
    game = rating()
    views = [views[0] for views, _, _ in Run(game, any_legal, seed=1).steps]
    assert [each.phase for each in views] == list(DIMENSIONS)
    assert len({(each.past, each.rules) for each in views}) == 1


@given(st.text())
def test_whatever_players_wrote_is_one_line_of_json(text):
    entry = {"player": "Ann", "call": {"tool": "decide", "message": text}}
    [line] = view(LOG | {"turns": [[entry]]}).rules.turns[0]
    assert json.loads(line) == entry and len(line.splitlines()) == 1


# --- what is answered


def test_every_turn_and_player_is_rated_exactly_once_and_in_range():
    cases = [
        ([[1, "Ann", 0.5, "why"], [1, "Bob", 1, ""]], ""),
        ([[1, "Bob", 0, ""], [1, "Ann", 1.0, ""]], ""),
        ([[1, "Ann", 0.5, ""]], "Bob in turn 1 is not rated"),
        ([[1, "Ann", 0.5, ""], [1, "Ann", 0.5, ""]], "Ann in turn 1 is rated twice"),
        ([[2, "Ann", 0.5, ""]], "there is no turn 2: turns are 1 to 1"),
        ([[True, "Ann", 0.5, ""]], "there is no turn true"),
        ([[1, "Cid", 0.5, ""]], 'there is no player "Cid"'),
        ([[1, "Ann", 1.01, ""]], "Ann in turn 1: the score 1.01 is no number from 0 to 1"),
        ([[1, "Ann", True, ""]], "the score true is no number"),
        ([[1, "Ann", "0.5", ""]], 'the score "0.5" is no number'),
        ([[1, "Ann", float("nan"), ""]], "the score NaN is no number"),
        ([[1, "Ann", 0.5, None]], "the justification is no text"),
        ([[1, "Ann", 0.5, "x" * 2001]], "has 2001 characters"),
        ([[1, "Ann", 0.5, "\ud800"]], "cannot be written down"),
        ([[1, "Ann", 0.5]], "does not have turn, player, value and justification"),
        ("Ann", "it is no list"),
    ]
    strays = [
        (action, PAIR.fault(action))
        for action, fault in cases
        if fault not in PAIR.fault(action) or (action in PAIR) != (not fault)
    ]
    assert not strays


def test_orders_of_theory_of_mind_are_three_booleans():
    assert [[1, "Ann", [True, False, False], ""]] in MIND
    assert all([[1, "Ann", value, ""]] not in MIND for value in (0.5, [1, 0, 0], [True], [True] * 4, None))


@settings(max_examples=50, deadline=None)
@given(json_values)
def test_any_json_value_is_a_rating_or_refused(action):
    game = rating()
    try:
        game.step(game.start(None), {0: action})
    except IllegalAction:
        assert action not in game.legal_actions(game.start(None), 0)
    else:
        assert action is None or action in game.legal_actions(game.start(None), 0)


def test_ratings_are_json_values_that_can_be_looked_up():
    run = Run(rating(), any_legal)
    for views, actions, payoffs in run.steps:
        legal, action = views[0].legal, actions[0]
        assert json.loads(json.dumps(action)) in legal and hash(action) and payoffs == (0.0,)
        assert json.loads(json.dumps(legal.as_json())) == legal.as_json() and json.loads(legal.format(action))
    assert run.steps[-1][0][0].legal.as_json()["ratings"]["value"] == list(ORDERS)


def test_an_unreadable_rating_is_passed_over():
    assert len(Run(rating(), any_or_void, seed=3).steps) == len(DIMENSIONS)


def test_a_copy_is_equal_and_the_records_say_what_was_rated():
    game = rating(targets=True)
    assert pickle.loads(pickle.dumps(game)) == game and hash(game) == hash(rating(targets=True))
    assert Run(game).last.notes == ((0, "rated", "m1"), (0, "view", "with targets"))


# --- logs


def test_a_bad_log_is_refused_in_a_line(tmp_path):
    cases = [
        ({"players": []}, "`players` must be"),
        ({"players": ["Ann", "Ann"]}, "`players` must be"),
        ({"players": ["Ann", "Bob\nTurn 2"]}, "`players` must be"),
        ({"turns": []}, "`turns` must be"),
        ({"turns": [["x"]]}, "it must be names with values, and is text"),
        ({"won": [True]}, "`won` must have an entry for each of the 2 players"),
        ({"targets": [3]}, "it must be names with values, and is a whole number"),
        ({"colour": 1}, "there is no setting colour"),
    ]
    for changes, said in cases:
        (tmp_path / "x.json").write_text(json.dumps(LOG | changes))
        with pytest.raises(AgonError, match=said) as caught:
            variants({"_target_": "agon.games.rating.game.Rating", "name": "rating", "settings": str(tmp_path)})
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["${oc.env:HOME}", "${full}", "$", "???", "\\${x}", "<script>", "[move]", '{"_target_": "os.getcwd"}']
)
def test_nothing_that_players_wrote_is_taken_for_a_setting(text, tmp_path, monkeypatch):
    entry = SAID | {"call": {"tool": "decide", "message": text, "_target_": "os.getcwd"}}
    (tmp_path / "game").mkdir()
    (tmp_path / "x.json").write_text(json.dumps(LOG | {"turns": [[entry]]}))
    conf = f"_target_: agon.games.rating.game.Rating\nname: rating\nsettings: {tmp_path}\n"
    (tmp_path / "game/rating.yaml").write_text(conf)
    game = load("game", "rating/x", tmp_path)
    assert json.loads(game.observe(game.start(None), 0).rules.turns[0][0]) == entry


def played(game=None, number=1):
    match = Match("test", f"{number:016x}", number, game or tradecraft(turns=3), (Seat("any", anything),) * 2, 0, "c")
    return turns_table([(match, play_now(match))])


def test_a_log_has_every_call_and_the_hands_of_every_turn():
    turns = played()
    log = make_log(turns, [{"stone_shovel": 1}, {"bucket": 1}])
    calls = [entry["call"] for turn in log["turns"] for entry in turn if "call" in entry]
    assert calls == [json.loads(action) for action in turns.action]
    assert all("hands" in turn[0] for turn in log["turns"]) and len(log["turns"]) == turns["round"].max()
    assert log["turns"][0][0]["hands"]["Player 2"] == tradecraft().hands[1]
    assert json.loads(format_log(log)) == log and rating(log).match == log["match"]


def test_thoughts_of_the_records_are_thoughts_of_the_log():
    turns = played().assign(reply="I want the coal")
    assert sum("thought" in entry for turn in make_log(turns)["turns"] for entry in turn) == len(turns)
    assert "want" not in str(view(make_log(turns))) and "want" in str(view(make_log(turns), full=True))


def test_what_players_write_into_a_call_for_themselves_is_a_thought_too():
    for call in [{"tool": "craft_done", "thought": "SECRET"}, {"tool": "think", "text": "SECRET"}]:
        turns = played().assign(action=json.dumps(call))
        assert "SECRET" not in str(view(make_log(turns))) and "SECRET" in str(view(make_log(turns), full=True))


def test_the_command_makes_logs_that_can_be_rated(tmp_path, capsys):
    write_games(games_table([]), tmp_path / "turns.parquet")
    write(played(), tmp_path / "turns.parquet")
    assert main(["make-logs", f"--turns={tmp_path / 'turns.parquet'}", f"--folder={tmp_path / 'logs'}"]) == 0
    said = capsys.readouterr().out
    assert "1 log in" in said and "1 without targets" in said
    assert list(
        variants({"_target_": "agon.games.rating.game.Rating", "name": "rating", "settings": str(tmp_path / "logs")})
    ) == [f"{1:016x}"]


def test_logs_of_other_matches_are_replaced_by_force_alone(tmp_path, capsys):
    write_games(games_table([]), tmp_path / "turns.parquet")
    write(played(), tmp_path / "turns.parquet")
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/other.json").write_text("{}")
    words = ["make-logs", f"--turns={tmp_path / 'turns.parquet'}", f"--folder={tmp_path / 'logs'}"]
    assert main(words) == 1 and "has 1 log of other matches" in capsys.readouterr().err
    assert main([*words, "--force"]) == 0
    assert [path.stem for path in (tmp_path / "logs").iterdir()] == [f"{1:016x}"]


def test_the_command_says_what_is_wrong(tmp_path, capsys):
    for words in ([], ["--turns=a", "--folder=b", "--colour=red"], ["--turns=a", "--folder=b", "--matches=0"]):
        assert main(["make-logs", *words]) == 2 and capsys.readouterr().err.count("\n") == 1
    assert main(["make-logs", f"--turns={tmp_path / 'none.parquet'}", f"--folder={tmp_path}"]) == 1
    assert "is not there" in capsys.readouterr().err


def test_turns_without_hands_make_no_log():
    with pytest.raises(AgonError, match="do not say what hands it began with"):
        make_log(played().assign(detail=None))


needs_logs = pytest.mark.skipif(not Path("data/logs/tradecraft").is_dir(), reason="no logs: dvc pull")


@needs_logs
@pytest.mark.parametrize("name", ["rating", "rating_full"])
def test_every_log_that_is_shipped_can_be_rated(name):
    games = [load("game", each) for each in expand_settings([name])]
    assert len(games) == 10 and all(len(Run(game).steps) == 9 for game in games)
