"""Recorded games become turns; whatever is wrong with one is said, and the others are read."""

import json
import os
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pya
import pyarrow.parquet as pq
import pytest
from hydra import compose, initialize_config_dir
from hydra.utils import instantiate
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agon import ROOT, AgonError
from agon import turns as records
from agon.cli import main
from agon.games.matrix import MatrixGame
from agon_papers.ingest import Bad, Ingested, ingest

PATH = "logs_x/logs_3/data/iteration_0/Some Model/pd/any/pd_zs_tft/game.json"
STAG_PATH = "logs_x/logs_3/data_tot/iteration_1/Some Model/pd/any/pd_spp_default/game.json"
RPS_PATH = "logs/logs_3/data/iteration_4/Some Model/rps/any/rps_cot_ap/game.json"
PD = {"a": "cooperation", "aa": 4, "ab": 1, "b": "defection", "ba": 6, "bb": 2}
STAG = {"a": "stag", "aa": 6, "ab": 1, "b": "hare", "ba": 4, "bb": 2}
RPS = {"a": "rock", "ac": 1, "b": "paper", "ba": 1, "c": "scissors", "cb": 1}
NOT_RECORDED = ["reply", "attempts"]


# ---- games to read, in words of our own ----


def message(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": [{"text": text}]}


def context(answers: list[list[str]]) -> list[dict[str, Any]]:
    """A context in which each round has these answers: all but the last are sent back."""
    asked, ended = "[hint] Your turn.", ""
    messages = []
    for round_ in answers:
        asked = ended + asked
        for answer in round_:
            messages += [message("user", asked), message("assistant", answer)]
            asked = "[hint] An error occurred. Say it again."
        ended, asked = "Done. You scored some points. ", "Your turn." if round_ else asked
    return [*messages, message("user", ended)]


def game(moves: list[tuple[str | None, str | None]] | None = None, **changes: Any) -> dict[str, Any]:
    """A prisoner's dilemma in which both cooperate throughout; `changes` replace whole keys."""
    moves = moves or [("cooperation", "cooperation")] * 16
    pays = {("cooperation",) * 2: (4, 4), ("cooperation", "defection"): (1, 6), ("defection",) * 2: (2, 2)}
    pays[("defection", "cooperation")] = (6, 1)
    points = [pays.get(pair, (0, 0)) for pair in moves]
    record = {
        "player_0_player_type": "zs",
        "player_1_player_type": "tft",
        "player_0_temperature": 1.0,
        "player_0_max_tokens": 4096,
        "game_settings": PD,
        "valid_outcomes": [None not in pair for pair in moves],
        "player_0_response_objects": [{"nobody": "reads this"}],
    }
    for seat in (0, 1):
        record |= {
            f"player_{seat}_moves": [pair[seat] for pair in moves],
            f"player_{seat}_points": [pair[seat] for pair in points],
            f"player_{seat}_tokens": [100 + number for number in range(len(moves))],
            f"player_{seat}_context": context([[f"so: {pair[seat]}"] for pair in moves]),
        }
    return record | changes


def stag_hunt() -> dict[str, Any]:
    record = game(
        [("stag", "stag")] * 16,
        player_0_player_type="spp",
        player_1_player_type="default",
        game_settings=STAG,
    )
    return record | {f"player_{seat}_points": [6] * 16 for seat in (0, 1)}


def rock_paper_scissors() -> dict[str, Any]:
    record = game([("paper", "rock")] * 24, player_0_player_type="cot", player_1_player_type="ap", game_settings=RPS)
    return record | {"player_0_points": [1] * 24, "player_1_points": [-1] * 24}


FILES = {PATH: game(), STAG_PATH: stag_hunt(), RPS_PATH: rock_paper_scissors()}


def folder(place: Path, files: dict[str, Any]) -> Path:
    for path, data in files.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_bytes(json.dumps(data).encode() if isinstance(data, dict) else data)
    return place


@pytest.fixture(scope="session")
def variants() -> list[MatrixGame]:
    """The eight games of the paper, from conf/game."""
    names = sorted(f"{game}{variant}" for game in ("pd", "rps") for variant in ("", "_label", "_payoff", "_joint"))
    with initialize_config_dir(str(ROOT / "conf"), version_base=None):
        return [instantiate(compose(f"game/{name}").game) for name in names]


@pytest.fixture(scope="session")
def published_facts() -> Path:
    """The folder of matches.parquet and rounds.parquet."""
    folder = ROOT / "data/published/counterfactual"
    if not (folder / "rounds.parquet").exists():
        pytest.skip("no published facts here: `dvc pull data.dvc` brings data/published/counterfactual")
    return folder


@pytest.fixture
def read(tmp_path, variants):
    """Ingests files given as path -> record (or bytes), through a folder."""

    def read(files: dict[str, Any]) -> Ingested:
        return ingest("counterfactual", folder(tmp_path / "games", files), variants)

    return read


def reason(ingested: Ingested) -> str:
    assert ingested.matches == 0
    assert len(ingested.bad) == 1
    return ingested.bad[0].reason


# ---- what is read ----


def test_a_game_becomes_one_row_per_round_and_seat(read):
    ingested = read(FILES)
    assert (ingested.matches, ingested.bad) == (3, [])
    assert len(ingested.turns) == 2 * (16 + 16 + 24)
    records.validated(ingested.turns)


def test_the_game_is_known_by_its_payoffs(read):
    turns = read(FILES).turns
    played = turns[["repetition", "game", "variant"]].drop_duplicates().set_index("repetition").sort_index()
    assert [tuple(row) for row in played.to_numpy()] == [("pd", "default"), ("pd", "joint"), ("rps", "default")]


def test_scripts_have_no_model_and_models_have_their_agent(read):
    turns = read(FILES).turns
    who = turns[["repetition", "seat", "agent", "model"]].drop_duplicates().set_index(["repetition", "seat"])
    assert dict(who.agent) == {
        (0, 0): "zs",
        (0, 1): "tft",
        (1, 0): "sc-spp",
        (1, 1): "zs",
        (4, 0): "cot",
        (4, 1): "ap",
    }
    assert who.model[who.agent.isin(["tft", "ap"])].isna().all()
    assert who.model.dropna().eq("Some Model").all()


def test_a_script_costs_no_tokens(read):
    tokens = read({PATH: game()}).turns.groupby("seat").tokens.sum()
    assert dict(tokens) == {0: sum(range(100, 116)), 1: 0}


def test_in_a_void_round_only_the_seat_without_action_fell_back(read):
    turns = read({PATH: game([(None, "defection"), *[("cooperation", "cooperation")] * 15])}).turns
    first = turns[turns["round"] == 1].set_index("seat")
    assert dict(first.fallback) == {0: "void", 1: ""}
    assert not first.valid.any()
    assert first.payoff.eq(0).all()
    assert first.action.isna().tolist() == [True, False]


def test_the_reply_is_the_last_answer_of_its_round(read):
    answers = [["no", "neither", "cooperation"], *[["cooperation"]] * 15]
    turns = read({PATH: game(player_0_context=context(answers))}).turns
    seat = turns[turns.seat == 0]
    assert seat.attempts.tolist() == [3] + [1] * 15
    assert seat.reply.tolist() == ["cooperation"] * 16


def test_a_seat_that_was_not_asked_has_no_reply(read):
    moves = [(None, None), *[("cooperation", "cooperation")] * 15]
    answers = [[], *[["cooperation"]] * 15]
    turns = read({PATH: game(moves, player_0_context=context(answers))}).turns
    seat = turns[turns.seat == 0]
    assert seat.attempts.tolist() == [0] + [1] * 15
    assert seat.reply.isna().tolist() == [True] + [False] * 15


def test_replies_that_fit_no_round_are_left_out_of_the_game(read):
    ingested = read({PATH: game(player_0_context=context([["cooperation"]] * 15))})
    assert ingested.matches == 1
    assert ingested.bad == [Bad(PATH, "replies of seat 0 left out: its context tells of 15 rounds, not 16")]
    seat = ingested.turns.groupby("seat")
    assert dict(seat.reply.count()) == {0: 0, 1: 16}
    assert dict(seat.attempts.count()) == {0: 0, 1: 16}


def test_a_context_without_the_answer_of_a_move_is_not_believed(read):
    ingested = read({PATH: game(player_0_context=context([[], *[["cooperation"]] * 15]))})
    assert ingested.bad == [Bad(PATH, "replies of seat 0 left out: its context lacks the answer of a recorded move")]


def test_parts_of_a_message_that_are_no_text_are_passed_over(read):
    record = game()
    record["player_0_context"][1]["content"] = [{"thought": {"deep": 1}}, {"text": "so "}, {"text": "cooperation"}]
    assert read({PATH: record}).turns.reply[0] == "so cooperation"


def test_a_match_has_the_same_id_in_any_company(read, tmp_path, variants):
    alone = ingest("counterfactual", folder(tmp_path / "alone", {RPS_PATH: FILES[RPS_PATH]}), variants).turns
    assert set(alone.match) < set(read(FILES).turns.match)
    assert alone.match.nunique() == 1
    assert len(alone.match[0]) == 16


def test_a_folder_within_the_layout_is_read_too(tmp_path, variants):
    whole = folder(tmp_path, {PATH: game()})
    part = ingest("counterfactual", whole / "logs_x/logs_3/data/iteration_0", variants)
    pd.testing.assert_frame_equal(part.turns, ingest("counterfactual", whole, variants).turns)


# ---- what is bad, and why ----


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in game().items() if name != key}


BAD = {
    "truncated": (json.dumps(game()).encode()[:-400], "is no recorded game: Input data was truncated"),
    "empty": (b"", "is no recorded game: Input data was truncated"),
    "no object": (b"[1, 2]", "is no recorded game: it must be names with values, and is a list"),
    "too deep": (b'{"x":' + b"[" * 100_000, "is no recorded game: maximum recursion depth"),
    "not UTF-8": (json.dumps(game(extra="x")).encode().replace(b'"x"', b'"\xff"'), "is not UTF-8"),
    "no moves": (without("player_0_moves"), "player_0_moves is missing"),
    "no settings": (without("game_settings"), "game_settings is missing"),
    "no tokens": (game(player_0_tokens=[None] * 16), "it must be a whole number, and is nothing"),
    "negative tokens": (game(player_0_tokens=[-1] * 16), "it must be a whole number, at least 0"),
    "foreign payoffs": (game(game_settings=PD | {"aa": 5}), "are no known variant"),
    "foreign labels": (game(game_settings=PD | {"a": "kindness"}), "are no known variant"),
    "surplus payoffs": (game(game_settings=PD | {"xy": 1}), "are no known variant"),
    "no payoffs": (game(game_settings={}), "payoffs {} are no known variant"),
    "foreign move": (
        game(player_0_moves=["stag"] + ["cooperation"] * 15),
        "round 1: stag and cooperation are not both moves of the game",
    ),
    "other case": (game(player_1_moves=["Cooperation"] * 16), "are not both moves of the game"),
    "wrong points": (
        game(player_1_points=[4] * 15 + [5]),
        "round 16: cooperation and cooperation pay 4 and 4, not 4 and 5",
    ),
    "void and paid": (
        game([("cooperation", "cooperation")] * 15 + [(None, "defection")], player_1_points=[4] * 15 + [1]),
        "round 16: none and defection pay 0 and 0, not 0 and 1",
    ),
    "valid without move": (
        game([(None, "defection")] * 16, valid_outcomes=[True] * 16),
        "round 1: valid is True, the moves none and defection",
    ),
    "void with moves": (
        game(valid_outcomes=[True] * 15 + [False]),
        "round 16: valid is False, the moves cooperation and cooperation",
    ),
    "uneven lists": (game(player_1_moves=["cooperation"] * 15), "player_1_moves has 15 entries, valid_outcomes 16"),
    "too few rounds": (game([("cooperation", "cooperation")] * 15), "has 15 rounds, not 16"),
    "no rounds": (game(valid_outcomes=[], **{f"player_{s}_{n}": [] for s in (0, 1) for n in ("moves", "points", "tokens")}),
                  "has 0 rounds, not 16"),
    "other players": (game(player_1_player_type="pp"), "is in a folder for zs against tft, but zs played pp"),
}  # fmt: skip


@pytest.mark.filterwarnings("error")
def test_bad_files_are_listed_with_their_reasons_and_spoil_no_other(read, tmp_path, variants):
    good = ingest("counterfactual", folder(tmp_path / "good", FILES), variants).turns
    bad = {PATH.replace("iteration_0", f"iteration_{number}"): case for number, case in enumerate(BAD.values(), 1)}
    ingested = read(FILES | {path: data for path, (data, _) in bad.items()})
    assert ingested.matches == 3
    assert [path for path, _ in ingested.bad] == sorted(bad)
    assert [(bad[path][1], text) for path, text in ingested.bad if bad[path][1] not in text] == []
    pd.testing.assert_frame_equal(ingested.turns, good)


def test_a_path_that_names_no_conditions_is_bad(read):
    paths = [
        "game.json",
        PATH.replace("logs_3", "logs_2"),
        PATH.replace("iteration_0", "iteration_x"),
        PATH.replace("pd_zs_tft", "pd_zs_grim"),
        PATH.replace("pd_zs_tft", "pd_zs_tft copy"),
    ]
    ingested = read({path: game() for path in paths})
    assert ingested.matches == 0 and [bad.path for bad in ingested.bad] == sorted(paths)
    assert all(bad.reason.startswith("its path is not") for bad in ingested.bad)


def test_a_game_with_impossible_values_is_bad(read):
    numbers = [-5, 10**12 + 1]
    records_ = [game(player_0_tokens=[number] * 16) for number in numbers]
    records_ += [game(player_0_temperature=value) for value in (-0.5, 1e300)]
    records_ += [game(player_0_max_tokens=number) for number in numbers]
    paths = [PATH.replace("n_0", f"n_{number}") for number in range(len(records_))]
    strange = [PATH.replace("Some Model", name) for name in ("  ", "a\x1b[31mb", "x" * 201)]
    ingested = read(dict(zip(paths, records_, strict=True)) | {path: game() for path in strange})
    assert (ingested.matches, len(ingested.bad)) == (0, len(paths) + len(strange))


def test_control_characters_of_a_path_come_as_escapes(tmp_path, capfd):
    folder(tmp_path / "ga\x1b[31mmes", {"a\x07\x1b]0;title\x07\n/game.json": b"{", PATH: game()})
    assert main(["ingest", f"path={tmp_path}", f"out={tmp_path}/turns.parquet"]) == 3
    note, error = capfd.readouterr().err.splitlines()
    assert r"bad: ga\x1b[31mmes/a\x07\x1b]0;title\x07\n/game.json: " in error and error.isprintable()
    assert note == f"note: {tmp_path}/turns.parquet is outside of this project, {ROOT}"


def test_the_second_of_two_equal_matches_is_bad(read):
    again = PATH.replace("/any/", "/copy/")
    ingested = read({PATH: game(), again: game()})
    assert (ingested.matches, ingested.bad) == (1, [Bad(again, f"is the same match as {PATH}")])


def test_a_good_copy_of_a_bad_record_is_read(read):
    again = PATH.replace("/any/", "/copy/")
    ingested = read({PATH: game(player_0_points=[9] * 16), again: game()})
    assert (ingested.matches, [bad.path for bad in ingested.bad]) == (1, [PATH])


def test_other_files_are_not_taken_for_games(read):
    assert read({PATH: game(), "logs_x/notes.txt": b"hello", "logs_x/player.json": b"{}"}).bad == []


def test_a_pipe_in_the_place_of_a_game_is_bad(tmp_path, variants):
    whole = folder(tmp_path, {PATH: game()})
    pipe = whole / PATH.replace("iteration_0", "iteration_9")
    pipe.parent.mkdir(parents=True)
    os.mkfifo(pipe)
    assert [bad.reason for bad in ingest("counterfactual", whole, variants).bad] == ["is no regular file"]


def test_a_folder_without_games_is_an_error_of_one_line(tmp_path, variants):
    with pytest.raises(AgonError, match=r"holds no game\.json"):
        ingest("counterfactual", tmp_path, variants)
    with pytest.raises(AgonError, match="is not there"):
        ingest("counterfactual", tmp_path / "nowhere", variants)
    (tmp_path / "games.tar").touch()
    with pytest.raises(AgonError, match="unpack an archive first"):
        ingest("counterfactual", tmp_path / "games.tar", variants)


def test_an_unknown_source_is_one_line(tmp_path, variants):
    with pytest.raises(AgonError, match="choose counterfactual"):
        ingest("chess", tmp_path, variants)


# ---- facts ----


def facts(place: Path, **changes: Any) -> Path:
    """Two matches as facts; `changes` are column=(row, value) of rounds, or match_column of matches."""
    matches = pd.DataFrame(
        {
            "match": [7, 3],
            "source_path": ["first", "second"],
            "model": ["Some Model"] * 2,
            "prompt": ["zs", "cot"],
            "self_consistency": [False, True],
            "opponent": ["tft", "zs"],
            "repetition": [0, 1],
            "temperature": [1.0] * 2,
            "max_tokens": [4096] * 2,
            "payoffs": [json.dumps(PD)] * 2,
        }
    )
    rounds = pd.DataFrame(
        {
            "match": [3] * 16 + [7] * 16,
            "round": [*range(16, 0, -1), *range(1, 17)],
            "action": ["cooperation"] * 32,
            "opponent_action": ["cooperation"] * 32,
            "points": [4] * 32,
            "opponent_points": [4] * 32,
            "tokens": [*range(100, 132)],
            "opponent_tokens": [3] * 32,
            "valid": [True] * 32,
        }
    )
    for name, (row, value) in changes.items():
        table, column = (matches, name.removeprefix("match_")) if name.startswith("match_") else (rounds, name)
        table[column] = [value if at == row else old for at, old in enumerate(table[column])]
    place.mkdir(exist_ok=True)
    matches.to_parquet(place / "matches.parquet")
    rounds.to_parquet(place / "rounds.parquet")
    return place


def test_facts_are_read_in_the_order_of_their_matches(tmp_path, variants):
    ingested = ingest("counterfactual", facts(tmp_path), variants)
    assert (ingested.matches, ingested.bad) == (2, [])
    turns = records.validated(ingested.turns)
    assert turns.repetition.tolist() == [0] * 32 + [1] * 32
    assert turns["round"].tolist() == [number for number in range(1, 17) for _ in (0, 1)] * 2
    assert turns.tokens[0] == 116
    assert turns.tokens[turns.repetition.eq(1) & turns.seat.eq(1)].eq(3).all()
    assert turns[NOT_RECORDED].isna().all(axis=None)


def test_facts_that_contradict_the_game_are_bad(tmp_path, variants):
    cases = [
        ({"points": (16, 5)}, "round 1: cooperation and cooperation pay 4 and 4, not 5 and 4"),
        ({"action": (31, None)}, "round 16: valid is True, the moves none and cooperation"),
        ({"opponent_action": (16, "stag")}, "round 1: cooperation and stag are not both moves of the game"),
        ({"valid": (16, False)}, "round 1: valid is False, the moves cooperation and cooperation"),
        ({"round": (17, 1)}, "round 2: is missing or not in its place"),
        ({"match_payoffs": (0, "{}")}, "payoffs {} are no known variant"),
        ({"match_payoffs": (0, "{")}, "are no known variant"),
        ({"match_prompt": (0, "tot")}, "tot against tft are no known players"),
        ({"match_repetition": (0, -1)}, "repetition is -1"),
        ({"tokens": (16, -5)}, "round 1: tokens are -5 and 3"),
        ({"tokens": (16, 10**12 + 1)}, "round 1: tokens are"),
        ({"match_temperature": (0, float("inf"))}, "its temperature cannot be inf"),
        ({"match_max_tokens": (0, -1)}, "its max_tokens cannot be -1"),
        ({"match_model": (0, "a\nb")}, "its model cannot be"),
        ({"points": (16, float("inf"))}, "not inf and 4"),
    ]
    for change, why in cases:
        ingested = ingest("counterfactual", facts(tmp_path, **change), variants)
        assert ingested.matches == 1, change
        assert [bad.path for bad in ingested.bad] == ["first"], change
        assert why in ingested.bad[0].reason


def test_rounds_of_no_match_are_listed(tmp_path, variants):
    ingested = ingest("counterfactual", facts(tmp_path, match=(16, 99)), variants)
    assert [bad.path for bad in ingested.bad] == ["first", "rounds.parquet"]
    assert ingested.bad[0].reason == "has 15 rounds, not 16"


@pytest.mark.parametrize("name", ["matches.parquet", "rounds.parquet"])
def test_facts_that_cannot_be_read_are_one_line(name, tmp_path, variants):
    path = facts(tmp_path) / name
    table, content = pd.read_parquet(path), path.read_bytes()
    damages = {
        "not there": path.unlink,
        "corrupt": lambda: path.write_bytes(content[:-30]),
        "no columns": lambda: table[["match"]].to_parquet(path),
        "no numbers": lambda: table.assign(match="many").to_parquet(path),
        "lists": lambda: table.assign(match=[[1]] * len(table)).to_parquet(path),
        "gaps": lambda: table.assign(match=table.match.astype("Int64").mask(table.index == 0)).to_parquet(path),
    }
    for damage in damages.values():
        damage()
        with pytest.raises(AgonError, match=name) as error:
            ingest("counterfactual", tmp_path, variants)
        assert "\n" not in str(error.value)


def test_a_text_that_is_not_utf_8_is_one_line(tmp_path, variants):
    path = facts(tmp_path) / "matches.parquet"
    table = pq.read_table(path)
    strange = pya.array([b"\x80zs", b"\xff"]).view(pya.string())
    pq.write_table(table.set_column(table.schema.get_field_index("model"), "model", strange), path)
    with pytest.raises(AgonError, match=r"matches\.parquet cannot be read \("):
        ingest("counterfactual", tmp_path, variants)


# ---- nothing crashes ----

FUZZ = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=8,
)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A recorded game with something else somewhere, or with some of its bytes changed."""
    record = game()
    key = draw(st.sampled_from(sorted(record)))
    if isinstance(record[key], list) and draw(st.booleans()):
        record[key][draw(st.integers(0, len(record[key]) - 1))] = draw(VALUES)
    else:
        record[key] = draw(VALUES)
    data = bytearray(json.dumps(record).encode())
    for at, byte in draw(st.lists(st.tuples(st.integers(0, len(data) - 1), st.integers(0, 255)), max_size=3)):
        data[at] = byte
    return bytes(data)


def survives(files: Path, variants: list[MatrixGame]) -> Ingested:
    ingested = ingest("counterfactual", files, variants)
    records.validated(ingested.turns)
    assert all("\n" not in bad.reason for bad in ingested.bad)
    return ingested


@FUZZ
@given(st.binary(max_size=300) | mutated())
def test_no_bytes_crash_the_reading(tmp_path, variants, data):
    ingested = survives(folder(tmp_path, {PATH: data}), variants)
    assert ingested.matches or ingested.bad


@FUZZ
@given(st.sampled_from(["matches.parquet", "rounds.parquet"]), st.data())
def test_no_table_of_facts_crashes_the_reading(tmp_path, variants, name, data):
    path = facts(tmp_path) / name
    table = pd.read_parquet(path).astype(object)
    column = data.draw(st.sampled_from(sorted(table)))
    table[column] = data.draw(st.lists(VALUES, min_size=len(table), max_size=len(table)))
    try:
        table.to_parquet(path)
    except (pya.ArrowException, OverflowError, TypeError, ValueError):
        return  # no such file
    try:
        survives(tmp_path, variants)
    except AgonError as error:
        assert "\n" not in str(error)


# ---- the published games ----


def test_all_published_facts_are_read(published_facts, variants):
    ingested = ingest("counterfactual", published_facts, variants)
    assert (ingested.matches, len(ingested.turns), ingested.bad) == (9_492, 379_008, [])
    records.validated(ingested.turns)
    void = ingested.turns[~ingested.turns.valid]
    assert len(void) == 2 * 260
    assert void.payoff.eq(0).all()
