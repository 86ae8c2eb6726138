"""The turns table: its schema, and files that are missing, torn, foreign, or written twice."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import duckdb
import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from harness import PD, anything, anything_or_void
from hypothesis import example, given
from hypothesis import strategies as st

from agon import ROOT, AgonError
from agon.plan import Match, Seat
from agon.play import play_now, turns_table
from agon.turns import (
    COLUMNS,
    LABEL,
    action_of,
    action_text,
    decoded,
    matches,
    read,
    read_parts,
    tidy,
    typed,
    validated,
    write,
    write_table,
)
from agon.turns.files import MEANINGS


def few(count=3):
    """Turns of a few matches, some of them void."""
    seats = Seat("any", anything), Seat("void", anything_or_void)
    asked = [Match("test", f"{number:02}", number, PD, seats, number, "config") for number in range(count)]
    return turns_table([(match, play_now(match)) for match in asked])


def refusal(act):
    """The one line with which something is refused."""
    with pytest.raises(AgonError) as caught:
        act()
    assert "\n" not in str(caught.value)
    return str(caught.value)


# --- schema


def test_turns_have_the_columns_in_their_order_and_types():
    turns = few()
    assert list(turns) == list(COLUMNS)
    for name, (dtype, _, _) in COLUMNS.items():
        assert isinstance(turns[name].dtype, type(dtype)) or turns[name].dtype == dtype, name


def test_every_column_says_what_it_means():
    assert all(meaning for _, _, meaning in COLUMNS.values())


def test_typed_fills_what_may_be_absent():
    turns = typed({name: few()[name] for name in COLUMNS if not COLUMNS[name][1]})
    assert validated(turns) is turns and turns.action.isna().all() and turns.seconds.isna().all()


def test_typed_refuses_columns_that_turns_do_not_have():
    assert "turns have no column colour, size" in refusal(lambda: typed({"size": [1], "colour": [2]}))


def test_typed_names_a_column_that_turns_need():
    assert "turns need a column experiment" in refusal(lambda: typed({"seat": [1]}))


def test_decoded_gives_json_strings_as_they_are_and_keeps_absence():
    column = pd.Series(['"rock"', None, '{"offer": 3}', '"rock"'])
    assert decoded(column).astype(object).where(column.notna(), None).tolist() == ["rock", None, '{"offer": 3}', "rock"]


def test_labels_that_become_the_same_word_are_one():
    assert decoded(pd.Series(['"3"', "3", "x", '"x"'])).tolist() == ["3", "3", "x", "x"]


# --- actions: words as they are, all else as JSON

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(), lambda each: st.lists(each)
)


@given(JSON)
@example("3")
@example('"quoted"')
@example("NaN")
@example("")
@example("null")
@example("[" * 5_000)
@example("a\nb")
@example("\ud800")
def test_an_action_is_written_so_that_the_same_is_read(action):
    assert action_of(action_text(action)) == action
    action_text(action).encode()


def test_a_word_compares_with_a_plain_string():
    for word in ["cooperation", "Player 2, spy", "3 apples", "größer", '"so" he said']:
        assert action_text(word) == word


def test_what_could_be_read_as_something_else_is_json():
    for action, text in [("3", '"3"'), (3, "3"), ("true", '"true"'), ({"give": 1}, '{"give": 1}')]:
        assert action_text(action) == text


def test_words_in_json_are_read_as_plain_words(tmp_path):
    turns = few()
    older = turns.assign(
        action=turns.action.cat.rename_categories([f'"{each}"' for each in turns.action.cat.categories])
    )
    for name, each in {"new": turns, "old": older}.items():
        write(each, tmp_path / name)
    pd.testing.assert_frame_equal(read(tmp_path / "old"), read(tmp_path / "new"))
    assert (read(tmp_path / "old").action == "cooperation").any()


# --- turns as pandas leaves them


def test_what_has_its_types_is_left_as_it_is():
    turns = few()
    assert tidy(turns) is turns and tidy(turns.assign(own="x")).own.eq("x").all()


def test_concatenated_turns_get_their_types_again():
    one, other = (
        few(),
        few().assign(experiment=pd.Categorical(["b"] * len(few())), match=lambda table: "x" + table.match.astype(str)),
    )
    both = tidy(pd.concat([one, other]).astype({"turn": float, "attempts": object}))
    assert validated(both).index.is_unique and len(both) == 2 * len(one)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda turns: pd.concat([turns, turns]), "rows repeat a .match, turn, seat."),
        (lambda turns: turns.assign(turn=turns.turn + 0.5), "turn is not int64"),
        (lambda turns: turns.assign(valid=3), "valid is not bool"),
        (lambda turns: turns.assign(seat=turns.seat.where(turns.turn > 1)), "seat is missing in 6 rows"),
    ],
)
def test_what_pandas_cannot_have_made_of_turns_is_refused(change, said):
    with pytest.raises(AgonError, match=said):
        tidy(change(few()))


# --- what is not a turns table


def changed(**columns):
    return few().assign(**columns)


@pytest.mark.parametrize(
    "columns",
    [
        {"seat": "0"},
        {"seat": 0.0},
        {"round": 1.5},
        {"payoff": "3"},
        {"valid": 1},
        {"attempts": 1.0},
        {"agent": "grim"},
        {"action": 3},
    ],
    ids=str,
)
def test_a_column_of_the_wrong_type_is_named(columns):
    assert next(iter(columns)) in refusal(lambda: validated(changed(**columns)))


def test_a_number_out_of_range_is_named():
    for name, value in [("round", 0), ("turn", 0), ("seat", -1), ("repetition", -1)]:
        assert name in refusal(partial(validated, changed(**{name: np.int64(value)})))


def test_a_value_that_may_not_be_absent_is_named():
    for name in ["match", "agent", "payoff"]:
        turns = few()
        turns.loc[3, name] = None
        assert name in refusal(partial(validated, turns))


def test_a_missing_column_is_named():
    for name in ["match", "detail"]:
        assert name in refusal(partial(validated, few().drop(columns=name)))


def test_columns_in_another_order_are_refused():
    assert "order" in refusal(lambda: validated(few()[[*COLUMNS][::-1]]))


def test_an_unknown_end_of_an_answer_is_named():
    ended = pd.Categorical(["tired"] * len(few()))
    assert "ended is 'tired'; it must be stop, length" in refusal(lambda: validated(changed(ended=ended)))


def test_a_column_too_many_is_named():
    assert "colour" in refusal(lambda: validated(changed(colour="red")))


def test_a_row_that_is_there_twice_is_named():
    turns = few()
    said = refusal(lambda: validated(pd.concat([turns, turns[5:6]], ignore_index=True)))
    assert "1 rows repeat" in said and "match 00" in said and "3" in said


# --- writing


def test_what_is_written_is_read_again(tmp_path):
    turns = few()
    write(turns, tmp_path / "turns.parquet")
    pd.testing.assert_frame_equal(read(tmp_path / "turns.parquet"), turns, check_categorical=False)


def test_what_was_read_again_is_the_same_bytes_when_written(tmp_path):
    write(few(), tmp_path / "one.parquet")
    write(read(tmp_path / "one.parquet"), tmp_path / "two.parquet")
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()


def test_the_order_of_labels_and_unused_ones_do_not_change_the_bytes(tmp_path):
    turns = few()
    labels = [name for name, (dtype, _, _) in COLUMNS.items() if dtype is LABEL]
    other = turns.assign(**{n: turns[n].cat.set_categories(["unused", *turns[n].cat.categories[::-1]]) for n in labels})
    write(turns, tmp_path / "one.parquet")
    write(other, tmp_path / "two.parquet")
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()


def test_what_is_no_turns_table_is_not_written(tmp_path):
    refusal(lambda: write(few().drop(columns="match"), tmp_path / "turns.parquet"))
    assert not list(tmp_path.iterdir())


def test_of_those_who_write_one_file_at_once_the_last_ones_is_there_whole(tmp_path):
    tables = [few(1), few(40)]
    for _ in range(5):
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda turns: write(turns, tmp_path / "turns.parquet"), tables * 2))
        assert len(read(tmp_path / "turns.parquet")) in [len(turns) for turns in tables]
    assert [path.name for path in tmp_path.iterdir()] == ["turns.parquet"]


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    write(few(), tmp_path / "turns.parquet")
    before = (tmp_path / "turns.parquet").read_bytes()
    monkeypatch.setattr(os, "fsync", full_disk)
    assert "cannot be written: No space left" in refusal(lambda: write(few(9), tmp_path / "turns.parquet"))
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("turns.parquet", before)]


def full_disk(_):
    raise OSError(28, "No space left on device")


def test_a_new_folder_is_made(tmp_path):
    write(few(), tmp_path / "a/b/turns.parquet")
    assert len(read(tmp_path / "a/b/turns.parquet")) == 3 * 32


def test_a_folder_that_is_a_file_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    assert "cannot be written" in refusal(lambda: write(few(), tmp_path / "file/turns.parquet"))


# --- reading


def test_a_missing_file_says_how_to_make_it(tmp_path):
    assert "nothing.parquet is not there: `dvc repro`" in refusal(lambda: read(tmp_path / "nothing.parquet"))


@pytest.mark.parametrize("keep", [0, 4, 100, 2000, -1, -8])
def test_a_truncated_file_says_what_to_do(tmp_path, keep):
    write(few(), tmp_path / "turns.parquet")
    (tmp_path / "turns.parquet").write_bytes((tmp_path / "turns.parquet").read_bytes()[:keep])
    assert "turns.parquet cannot be read" in refusal(lambda: read(tmp_path / "turns.parquet"))


def test_a_corrupt_file_says_what_to_do(tmp_path):
    write(few(), tmp_path / "turns.parquet")
    content = bytearray((tmp_path / "turns.parquet").read_bytes())
    content[4:3000] = bytes(2996)
    (tmp_path / "turns.parquet").write_bytes(content)
    said = refusal(lambda: read(tmp_path / "turns.parquet"))
    assert "is no table of turns, or is damaged" in said and "delete" not in said, "it may be somebody's only copy"


def test_a_wrong_bit_at_the_end_of_a_file_changes_nothing_or_says_what_to_do(tmp_path):
    """Types and names are described at the end of a file, in several forms."""
    path = tmp_path / "turns.parquet"
    write(few(), path)
    whole, said = path.read_bytes(), set()
    for place in range(len(whole) - int.from_bytes(whole[-8:-4], "little") - 8, len(whole), 61):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 2]) + whole[place + 1 :])
        try:
            pd.testing.assert_frame_equal(read(path), few())
        except AgonError as error:
            said.add("turns.parquet " in str(error) and "\n" not in str(error))
    assert said == {True}


def test_a_corrupt_file_of_a_stage_says_how_to_make_it_again(tmp_path, monkeypatch):
    monkeypatch.setattr("agon.paths.ROOT", tmp_path)
    (tmp_path / "transcripts").mkdir()
    (tmp_path / "transcripts/turns.parquet").write_text("nothing")
    assert "delete it, and `dvc repro` makes it again" in refusal(lambda: read("transcripts/turns.parquet"))


def test_text_is_no_parquet(tmp_path):
    (tmp_path / "turns.parquet").write_text("match,turn,seat\n")
    assert "cannot be read" in refusal(lambda: read(tmp_path / "turns.parquet"))


def test_a_folder_is_no_parquet(tmp_path):
    assert str(tmp_path) in refusal(lambda: read(tmp_path))


def test_a_turns_table_with_one_column_more_is_refused(tmp_path):
    few().assign(extra=1).to_parquet(tmp_path / "more.parquet")
    assert "more.parquet is not a turns table: it has a column extra more" in refusal(
        lambda: read(tmp_path / "more.parquet")
    )


@pytest.mark.parametrize("columns", [None, ["match", "payoff"]])
def test_somebody_elses_parquet_is_no_turns_table(tmp_path, columns):
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "other.parquet")
    assert "other.parquet" in refusal(lambda: read(tmp_path / "other.parquet", columns))


def test_parquet_with_the_right_names_and_wrong_types_is_no_turns_table(tmp_path):
    pd.DataFrame({name: ["x"] for name in COLUMNS}).to_parquet(tmp_path / "other.parquet")
    assert "is not a turns table" in refusal(lambda: read(tmp_path / "other.parquet"))


def test_some_columns_may_be_read(tmp_path):
    write(few(), tmp_path / "turns.parquet")
    assert list(read(tmp_path / "turns.parquet", ["match", "model", "payoff"])) == ["match", "model", "payoff"]


def test_labels_are_labels_after_reading_even_where_all_are_absent(tmp_path):
    write(few(), tmp_path / "turns.parquet")
    turns = read(tmp_path / "turns.parquet")
    assert all(isinstance(turns[n].dtype, pd.CategoricalDtype) for n in COLUMNS if COLUMNS[n][0] is LABEL)
    assert turns.model.isna().all()


# --- matches


def test_matches_total_what_turns_were_paid():
    turns = few()
    found = matches(turns)
    assert found.total.tolist() == turns.groupby(["match", "seat"], observed=True).payoff.sum().tolist()
    assert found.total.sum() == turns.payoff.sum() and found.rounds.eq(16).all()


def test_a_match_is_won_by_every_seat_that_nobody_surpassed():
    turns = few(2)
    turns["payoff"] = np.where(turns.match == "00", 1.0, turns.seat + 1.0)
    assert matches(turns).won.tolist() == [True, True, False, True]


def test_matches_give_the_share_of_valid_turns():
    turns = few(1)
    assert matches(turns).valid.tolist() == [turns.valid.mean()] * 2


def test_players_without_a_model_have_matches_too():
    assert matches(few()).model.isna().all() and len(matches(few())) == 6


def test_a_result_is_the_same_bytes_whatever_order_a_processor_sums_in(tmp_path):
    sums = [0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1]
    assert sums[0] != sums[1]
    for place, total in enumerate(sums):
        write_table(pd.DataFrame({"name": ["a", "b"], "value": [total, 12.0]}), tmp_path / f"{place}.csv")
    assert (tmp_path / "0.csv").read_bytes() == (tmp_path / "1.csv").read_bytes() == b"name,value\na,0.6\nb,12.0\n"


def test_a_result_that_cannot_be_written_leaves_the_one_before(tmp_path):
    write_table(pd.DataFrame({"n": [1]}), tmp_path / "n.csv")
    with pytest.raises(AgonError, match=r"n\.csv/more\.csv cannot be written"):
        write_table(pd.DataFrame({"n": [2]}), tmp_path / "n.csv/more.csv")
    with pytest.raises(UnicodeEncodeError):
        write_table(pd.DataFrame({"n": ["\ud800"]}), tmp_path / "n.csv")
    assert (tmp_path / "n.csv").read_text() == "n\n1\n" and len(list(tmp_path.iterdir())) == 1


def plain(path, source):
    """A table as other programs write it: words and numbers without the types that pandas notes."""
    table = pq.read_table(source)
    columns = [column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column for column in table.columns]
    pq.write_table(pa.table(columns, names=table.column_names), path)


def by_duckdb(path, source):
    duckdb.sql(f"copy (select * from '{source}') to '{path}' (format parquet)")


def by_polars(path, source):
    polars.read_parquet(source).write_parquet(path)


@pytest.mark.parametrize("copy", [plain, by_duckdb, by_polars])
@pytest.mark.parametrize("name", ["scripted_turns", "pocket", "magic_standin"])
def test_a_table_that_another_program_wrote_is_the_same(tmp_path, copy, name):
    source = ROOT / f"tests/smoke/{name}.parquet"
    copy(tmp_path / "copy.parquet", source)
    pd.testing.assert_frame_equal(read(tmp_path / "copy.parquet"), read(source), check_categorical=False)
    some = ["match", "seat", "agent", "payoff", "attempts"]
    pd.testing.assert_frame_equal(read(tmp_path / "copy.parquet", some), read(source, some), check_categorical=False)


def test_a_value_that_is_missing_is_named_with_its_file(tmp_path):
    table = pq.read_table(ROOT / "tests/smoke/scripted_turns.parquet")
    payoff = pa.array([None, *table["payoff"].to_pylist()[1:]])
    pq.write_table(table.set_column(table.column_names.index("payoff"), "payoff", payoff), tmp_path / "lost.parquet")
    with pytest.raises(AgonError, match=f"{tmp_path}/lost.parquet is not a turns table: payoff is missing in 1 rows"):
        read(tmp_path / "lost.parquet")


def test_a_table_says_what_its_columns_mean_to_duckdb():
    path = ROOT / "tests/smoke/scripted_turns.parquet"
    query = f"select decode(value) from parquet_kv_metadata('{path}') where decode(key) = '{MEANINGS}'"
    assert list(json.loads(duckdb.sql(query).fetchall()[0][0])) == list(COLUMNS)


@pytest.mark.parametrize("part", [1, 40, 1000])
def test_parts_are_whole_matches_that_know_no_others(tmp_path, monkeypatch, part):
    path = tmp_path / "turns.parquet"
    write(few(9), path)
    monkeypatch.setattr("agon.turns.files.PART", part)
    parts = [*read_parts(path)]
    assert [match for table in parts for match in table["match"].unique()] == [*read(path)["match"].unique()]
    assert all(set(table["match"].cat.categories) == set(table["match"]) for table in parts)
    pd.testing.assert_frame_equal(tidy(pd.concat(parts)), read(path), check_categorical=False)
