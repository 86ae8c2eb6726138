"""Hostile records and archives: one line, little memory, no link followed out. (What is merely wrong is in test_ingest.py.)"""

import bz2
import csv
import gzip
import io
import json
import lzma
import os
import struct
import sys
import tarfile
import zipfile
from pathlib import Path

import pandas as pd
import prepared
import pyarrow as pya
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from test_ingest import FILES, PATH, facts, folder, game, mutated, reason, saved, tar, variants, zipped  # noqa: F401
from test_ingest_tradecraft import EMPTY, LOG
from test_ingest_tradecraft import game as listed

from agon import ROOT, AgonError
from agon.cli import main
from agon.errors import visible
from agon.ingest import Ingested, ingest
from agon.ingest import files as reading
from agon.turns import validated

MEMORY = 640
"""MiB that any ingest may take, whatever it is given."""


def refused(path, games, source="counterfactual") -> str:
    with pytest.raises(AgonError) as error:
        ingest(source, path, games)
    assert "\n" not in str(error.value)
    return visible(str(error.value))


def said(ingested: Ingested) -> str:
    return reason(ingested)


# ---- memory ----


def peak(path, source="counterfactual") -> tuple[str, int]:
    """What `agon ingest` says of a path in a process of its own, and the MiB that it took."""
    words = ["ingest", f"source={source}", f"path={path}", f"out={path}.turns.parquet"]
    run = prepared.Command(words, ROOT, os.environ)
    try:
        _, errors = run.communicate(120)
    finally:
        run.kill()
    assert "Traceback" not in errors, errors
    return errors, run.peak


def many_rounds(place):
    """Facts of some kilobytes that stand for 15 million rounds."""
    rounds = pq.read_table(facts(place) / "rounds.parquet").replace_schema_metadata()
    many = rounds.take(pya.array([0] * 3_000_000))
    with pq.ParquetWriter(place / "rounds.parquet", many.schema, compression="zstd") as writer:
        for _ in range(5):
            writer.write_table(many, row_group_size=3_000_000)
    return place


def long_texts(place):
    """A million rounds whose action is one text of a megabyte, which is written once."""
    table = pd.read_parquet(facts(place) / "rounds.parquet")
    text = pya.DictionaryArray.from_arrays(pya.array([0] * 1_000_000, pya.int32()), ["x" * (1 << 20)])
    many = {name: pya.array([table[name].iloc[0]] * 1_000_000) for name in table if name != "action"}
    pq.write_table(pya.table(many | {"action": text}), place / "rounds.parquet", compression="zstd")
    return place


def lists(place):
    """A round whose number of points is a list of two million of them."""
    table = pq.read_table(facts(place) / "rounds.parquet").slice(0, 1)
    points = pya.ListArray.from_arrays([0, 2_000_000], pya.repeat(pya.scalar(4, pya.int8()), 2_000_000))
    pq.write_table(table.drop(["points"]).append_column("points", points), place / "rounds.parquet")
    return place


def header(kind: bytes, size: int) -> bytes:
    info = tarfile.TarInfo("x")
    info.size, info.type = size, kind
    return info.tobuf(tarfile.GNU_FORMAT)


def members(files) -> bytes:
    """A tar without its end."""
    content = tar(files).rstrip(b"\0")
    return content + zeros(-len(content) % 512)


def zeros(size: int) -> bytes:
    return b"\0" * size


def packed(place, *parts: bytes, size: int = 768 << 20):
    """A gzip file of `parts`, then of zeros: each 4 MiB of them a stream of its own, which is packed once."""
    place.write_bytes(gzip.compress(b"".join(parts), 1) + gzip.compress(zeros(1 << 22), 1) * (size >> 22))
    return place


def zip_bomb(place):
    """Sixty games of 16 MiB each."""
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for number in range(60):
            archive.writestr(PATH.replace("iteration_0", f"iteration_{number}"), b" " * (reading.LARGEST - 1))
    return place


def deep(place):
    """A game of nothing but brackets."""
    return saved(place, tar({PATH: b"[" * 10_000_000, PATH.replace("n_0", "n_1"): b'{"a":' * 2_000_000}, "w:gz"))


def long_replies(place):
    """Forty games that can be read, each with a reply of 12 MiB."""
    record = json.dumps(game()).replace("so: cooperation", "so: " + "x" * (12 << 20), 1).encode()
    names = [PATH.replace("n_0", f"n_{number}") for number in range(40)]
    with tarfile.open(place, "w:gz", compresslevel=1) as archive:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = len(record)
            archive.addfile(info, io.BytesIO(record))
    return place


def empty_messages(place):
    """A game with millions of empty pieces of text."""
    record = json.dumps(game(player_0_context=[{"role": "user", "content": ["@"]}])).encode()
    return saved(place, tar({PATH: record.replace(b'"@"', b"{}," * 5_000_000 + b"{}")}, "w:gz"))


BOMBS = {
    "rounds": (many_rounds, "more than 2,000,000 rows"),
    "texts": (long_texts, "more than 2,000,000 rows or 512 MiB"),
    "lists": (lists, "points is list"),
    "pax header": (lambda place: packed(place, header(tarfile.XHDTYPE, 768 << 20)), "a header of 805,306,368 bytes"),
    "global header": (lambda place: packed(place, header(tarfile.XGLTYPE, 768 << 20)), "a header of 805,306,368 bytes"),
    "long name": (
        lambda place: packed(place, header(tarfile.GNUTYPE_LONGNAME, 768 << 20)),
        "a header of 805,306,368 bytes",
    ),
    "zip": (zip_bomb, "is no recorded game"),
    "deep": (deep, "is no recorded game"),
    "replies": (long_replies, "more than 384 MiB of replies: ingest it in parts"),
    "pieces": (empty_messages, "left out"),
}


@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted by /proc")
@pytest.mark.parametrize("name", BOMBS)
def test_memory_has_a_bound_whatever_a_file_says(name, tmp_path):
    make, why = BOMBS[name]
    place = make(tmp_path / "bomb")
    if place.is_file():
        assert place.stat().st_size < 20 << 20
    errors, taken = peak(place)
    assert why in errors and taken < MEMORY


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, zstandard.ZstdCompressor().compress])
def test_an_archive_that_unpacks_to_too_much_is_left(pack, tmp_path, variants, monkeypatch):  # noqa: F811
    monkeypatch.setattr(reading, "MOST_BYTES", 1 << 24)
    big = header(tarfile.REGTYPE, 1 << 26) + zeros(1 << 26)
    assert "unpacks to more than" in refused(saved(tmp_path / "big", pack(members(FILES) + big)), variants)


def test_a_game_that_is_too_large_is_passed_over(tmp_path, variants):  # noqa: F811
    large = {PATH.replace("n_0", "n_7"): b" " * (reading.LARGEST + 1)}
    for path in (
        saved(tmp_path / "a.tar", tar(large | FILES)),
        saved(tmp_path / "a.zip", zipped(large | FILES)),
        folder(tmp_path / "a", large | FILES),
    ):
        found = ingest("counterfactual", path, variants)
        assert found.matches == 3 and [bad.reason for bad in found.bad] == ["is larger than 16 MiB"]


def test_too_many_files_are_one_line(tmp_path, variants, monkeypatch):  # noqa: F811
    monkeypatch.setattr(reading, "MOST_FILES", 2)
    for path in (
        saved(tmp_path / "a.tar", tar(FILES)),
        saved(tmp_path / "a.zip", zipped(FILES)),
        folder(tmp_path / "a", FILES),
    ):
        assert "holds more than 2 files: give the recorded games alone" in refused(path, variants)


@pytest.mark.parametrize("path", ["/", "/usr/..", "//"])
def test_the_whole_machine_is_no_folder_of_games(path, capfd):
    assert main(["ingest", f"path={path}"]) == 1
    assert "all of this machine: give the folder of the recorded games" in capfd.readouterr().err


# ---- links ----


def test_a_link_that_leads_out_of_the_folder_is_bad(tmp_path, variants):  # noqa: F811
    place, secret = tmp_path / "games", folder(tmp_path / "secret", {"x": game()}) / "x"
    for number, target in enumerate([secret, "../" * 9 + str(secret), "/dev/zero", "/proc/self/mem", "nowhere"]):
        link = place / PATH.replace("n_0", f"n_{number}")
        link.parent.mkdir(parents=True)
        link.symlink_to(target)
    found = ingest("counterfactual", place, variants)
    assert found.matches == 0 and len(found.bad) == 5
    assert {bad.reason for bad in found.bad} <= {
        "is a link that leads out of the folder",
        "cannot be read: No such file or directory",
    }


def test_a_link_within_the_folder_is_read(tmp_path, variants):  # noqa: F811
    place = folder(tmp_path / "games", {"kept/elsewhere": game()})
    (place / PATH).parent.mkdir(parents=True)
    (place / PATH).symlink_to(place / "kept/elsewhere")
    assert ingest("counterfactual", place, variants).matches == 1


@pytest.mark.parametrize("name", ["matches.parquet", "rounds.parquet"])
@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "device"])
def test_a_table_that_is_no_file_of_the_folder_is_one_line(kind, name, tmp_path, variants):  # noqa: F811
    path = facts(tmp_path / "facts") / name
    path.rename(tmp_path / "away")
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(tmp_path / "away" if kind == "link" else "/dev/zero")
    assert "cannot be read" in refused(tmp_path / "facts", variants)


@pytest.mark.parametrize(
    "kind",
    [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, tarfile.GNUTYPE_SPARSE],
)
def test_what_is_no_file_in_a_tar_is_bad(kind, tmp_path, variants):  # noqa: F811
    info = tarfile.TarInfo(PATH)
    info.type, info.linkname = kind, "/etc/passwd"
    archive = info.tobuf(tarfile.GNU_FORMAT) + tar({"other": b"x"})
    assert "is no regular file" in said(ingest("counterfactual", saved(tmp_path / "a.tar", archive), variants))


def test_a_link_in_a_zip_is_bad(tmp_path, variants):  # noqa: F811
    info = zipfile.ZipInfo(PATH)
    info.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(info, "/etc/passwd")
    assert said(ingest("counterfactual", tmp_path / "a.zip", variants)) == "is no regular file"


@pytest.mark.parametrize("format_", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT, tarfile.USTAR_FORMAT])
def test_tars_of_every_format_are_read(format_, tmp_path, variants):  # noqa: F811
    long = "a folder of thirty letters - ä/" * (3 if format_ == tarfile.USTAR_FORMAT else 30)
    with tarfile.open(tmp_path / "a.tar", "w", format=format_, pax_headers={"comment": "x"}) as archive:
        for path, record in FILES.items():
            info = tarfile.TarInfo(long + path)
            info.size, data = len(json.dumps(record)), json.dumps(record).encode()
            archive.addfile(info, io.BytesIO(data))
            archive.addfile(tarfile.TarInfo(f"{long}empty"))
    found = ingest("counterfactual", tmp_path / "a.tar", variants)
    assert (found.matches, found.bad) == (3, [])


# ---- values, alike in every format ----

WRONG = {
    "tokens": [-5, -1, 10**12 + 1],
    "temperature": [float("inf"), -0.5, 1e300],
    "max_tokens": [-1, 10**13],
    "model": ["", "  ", "a\x1b[31mb", "a\nb", "x" * 201],
    "points": [float("inf"), -3.5, 1e18],
    "repetition": [-1],
}
CASES = [(name, value) for name, values in WRONG.items() for value in values]


@pytest.mark.parametrize(("name", "value"), CASES)
def test_facts_with_impossible_values_are_bad(name, value, tmp_path, variants):  # noqa: F811
    change = {name: (16, value)} if name in ("tokens", "points") else {f"match_{name}": (0, value)}
    found = ingest("counterfactual", facts(tmp_path, **change), variants)
    assert found.matches == 1 and len(found.bad) == 1 and found.bad[0].path == "first"


@pytest.mark.parametrize(("name", "value"), CASES)
def test_games_with_the_same_values_are_bad_too(name, value, tmp_path, variants):  # noqa: F811
    record, path = game(), PATH
    if name in ("tokens", "points"):
        record[f"player_0_{name}"][0] = value
    elif name in ("temperature", "max_tokens"):
        record[f"player_0_{name}"] = value
    else:
        place = {"model": PATH.replace("Some Model", str(value)), "repetition": PATH.replace("_0/", f"_{value}/", 1)}
        path = place[name]
    if "//" in path or len(path) > 300:
        return
    data = json.dumps(record).replace("Infinity", "1e999").encode()
    assert ingest("counterfactual", saved(tmp_path / "a.tar", tar({path: data, "x": b""})), variants).matches == 0


def test_control_characters_of_a_path_come_as_escapes(tmp_path, capfd):
    folder(tmp_path / "ga\x1b[31mmes", {"a\x07\x1b]0;title\x07\n/game.json": b"{", PATH: game()})
    assert main(["ingest", f"path={tmp_path}", f"out={tmp_path}/turns.parquet"]) == 3
    error = capfd.readouterr().err
    assert r"bad: ga\x1b[31mmes/a\x07\x1b]0;title\x07\n/game.json: " in error
    assert error.count("\n") == 1 and error.strip().isprintable()


def test_control_characters_of_the_folder_itself_come_as_escapes(variants):  # noqa: F811
    assert r"absent\x1b\x9b\u202e is not there" in refused(Path("absent\x1b\x9b\u202e"), variants)


@pytest.mark.parametrize("name", ["source_path", "model", "payoffs"])
def test_a_text_that_is_not_utf_8_is_one_line(name, tmp_path, variants):  # noqa: F811
    path = facts(tmp_path) / "matches.parquet"
    table = pq.read_table(path)
    strange = pya.array([b"\x80zs", b"\xff"]).view(pya.string())
    pq.write_table(table.set_column(table.schema.get_field_index(name), name, strange), path)
    assert "matches.parquet cannot be read (" in refused(tmp_path, variants)


# ---- TradeCraft ----


def tradecraft(place, log=LOG, **changes):
    """A folder of one game; what `changes` begin with event_ is in every event."""
    in_events = {name.removeprefix("event_"): value for name, value in changes.items() if name.startswith("event_")}
    events = [EMPTY | {"game": "g", "turn": 1, "step": step} | event | in_events for step, event in enumerate(log)]
    whole = dict.fromkeys(("seat", "partner", "valid", "return_code", "refused", "n_recipes"), "Int64")
    pd.DataFrame(events).astype(whole).to_parquet(place / "events.parquet")
    row = listed(**{name: value for name, value in changes.items() if not name.startswith("event_")})
    pd.DataFrame([row]).to_csv(place / "games.csv", index=False, quoting=csv.QUOTE_MINIMAL)
    return place


AMOUNTS = ["1e999999999", "9" * 5000, "1e-400000000", "1/0", "inf", "nan", "1_0", "\u0661", "0x10", "1" * 19, ""]


@pytest.mark.parametrize("number", AMOUNTS)
def test_a_huge_or_strange_amount_is_bad(number, tmp_path):
    log = [event | ({"offered": json.dumps({"coal": number})} if "offered" in event else {}) for event in LOG]
    assert "is no amount" in said(ingest("tradecraft", tradecraft(tmp_path, log), []))


@pytest.mark.parametrize(
    "change",
    [
        {"target_0": "[" * 100_000},
        {"target_0": "[1]"},
        {"hand_1": '{"coal":{"coal":1}}'},
        {"hand_1": "7"},
        {"hand_1": '{"coal":1e999}'},
        {"name_0": " "},
        {"model_1": "a\x1b[0m"},
        {"model_1": "x" * 300},
        {"event_turn": 0},
        {"event_turn": -7},
        {"event_turn": 10**15},
        {"event_kind": "x" * 1000},
        {"event_kind": "all_hands"},
        {"event_kind": "recipes_reply", "event_n_recipes": pd.NA},
        {"event_kind": "proposal", "event_offered": '{"a":1}', "event_requested": "[[]]"},
        {"event_kind": "item_info", "event_seat": 3},
    ],
)
def test_a_game_that_cannot_be_is_named_and_left_out(change, tmp_path):
    found = ingest("tradecraft", tradecraft(tmp_path, **change), [])
    assert found.matches == 0 and len(found.bad) == 1 and len(found.bad[0].reason) < 300


@pytest.mark.parametrize(
    "text",
    [b"," * 5_000_000, b"game\n" + b"x\n" * 20_000_000, b"", b"\xff\xfe", b"game,matchup\ng,m\n", b'"' * 1000],
    ids=["columns", "rows", "empty", "bytes", "few columns", "quotes"],
)
def test_a_table_of_text_that_is_too_large_or_none_is_one_line(text, tmp_path):
    (tradecraft(tmp_path) / "games.csv").write_bytes(text)
    assert "games.csv cannot be read" in refused(tmp_path, [], "tradecraft")


def test_many_events_are_counted_before_they_are_read(tmp_path):
    events = pq.read_table(tradecraft(tmp_path) / "events.parquet").replace_schema_metadata()
    pq.write_table(events.take(pya.array([0] * 2_000_001)), tmp_path / "events.parquet", compression="zstd")
    assert "more than 2,000,000 rows" in refused(tmp_path, [], "tradecraft")


# ---- anything at all ----

FUZZ = settings(
    max_examples=int(os.environ.get("AGON_FUZZ", "30")),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)


def survives(source, path, games):
    """Whatever is there is read, or refused in one line."""
    try:
        found = ingest(source, path, games)
    except AgonError as error:
        assert "\n" not in str(error) and len(str(error)) < 1000
        return
    assert found.matches or found.bad
    assert all(len(bad.reason) < 1000 for bad in found.bad)
    if found.matches:
        validated(found.turns)


NUMBERS = st.integers() | st.floats() | st.sampled_from([2**63 - 1, -(2**63), 1e308])
CELLS = st.one_of(
    *(st.none(), NUMBERS, st.booleans(), st.text(max_size=8), st.lists(st.integers(), max_size=2)),
    st.sampled_from(['{"a":1}', "[]", "{", '{"0":{},"1":{}}', '{"a":"1e9999"}', "zs", "tft", "\x1b", "g"]),
)


@FUZZ
@given(st.data())
def test_no_table_of_facts_crashes_the_reading(tmp_path, variants, data):  # noqa: F811
    path = facts(tmp_path) / data.draw(st.sampled_from(["matches.parquet", "rounds.parquet"]))
    table = pd.read_parquet(path).astype(object)
    name = data.draw(st.sampled_from(sorted(table)))
    table[name] = data.draw(
        st.lists(CELLS, min_size=len(table), max_size=len(table)) | CELLS.map(lambda one: [one] * len(table))
    )
    try:
        table.to_parquet(path)
    except (pya.ArrowException, OverflowError, TypeError, ValueError):
        return  # no such file
    survives("counterfactual", tmp_path, variants)


@FUZZ
@given(st.data())
def test_no_game_of_tradecraft_crashes_the_reading(tmp_path, data):
    log = [dict(event) for event in LOG]
    for _ in range(data.draw(st.integers(0, 3))):
        event = data.draw(st.sampled_from(log))
        event[data.draw(st.sampled_from(sorted({*EMPTY, "turn", "step", "seat", "kind", "game"})))] = data.draw(CELLS)
    changes = {data.draw(st.sampled_from(sorted(listed()))): data.draw(CELLS)} if data.draw(st.booleans()) else {}
    try:
        tradecraft(tmp_path, log, **changes)
    except (pya.ArrowException, OverflowError, TypeError, ValueError, UnicodeError):
        return
    survives("tradecraft", tmp_path, [])


@FUZZ
@given(st.sampled_from(["matches.parquet", "rounds.parquet"]), st.data())
def test_no_damage_to_a_table_crashes_the_reading(tmp_path, variants, name, data):  # noqa: F811
    path = facts(tmp_path) / name
    content = bytearray(path.read_bytes())
    for at, byte in data.draw(st.lists(st.tuples(st.integers(0, len(content) - 1), st.integers(0, 255)), max_size=8)):
        content[at] = byte
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))] if data.draw(st.booleans()) else content)
    survives("counterfactual", tmp_path, variants)


BLOCKS = st.one_of(
    st.builds(
        lambda kind, size, name, data: (
            header(kind, size)[:100].replace(b"x", name, 1)[:100].ljust(100, b"\0") + header(kind, size)[100:] + data
        ),
        st.sampled_from([*b"0123457xgXLKSVM"]).map(lambda kind: bytes([kind])),
        st.sampled_from([0, 1, 511, 512, 513, 1 << 16, (1 << 16) + 1, 1 << 33, (1 << 62)]),
        st.sampled_from([b"game.json", b"x", b"../x"]),
        st.binary(max_size=40) | st.sampled_from([zeros(512), b"19 path=game.json\n".ljust(512, b"\0"), b"9" * 512]),
    ),
    st.just(zeros(512)),
    st.binary(max_size=600),
    st.just(members(FILES)),
)


@FUZZ
@example([header(b"x", 512) + b"0 a=b\n".ljust(512, b"\0")])
@example([header(b"x", 512) + b"-5 a=b\n".ljust(512, b"\0")])
@example([header(b"x", 512) + b"18 size=-99999999\n".ljust(512, b"\0"), tar(FILES)])
@example([header(b"S", 0)[:482] + b"\1" + header(b"S", 0)[483:]])
@given(st.lists(BLOCKS, max_size=6))
def test_no_tar_crashes_the_reading(tmp_path, variants, blocks):  # noqa: F811
    survives("counterfactual", saved(tmp_path / "a.tar", b"".join(blocks)), variants)


@FUZZ
@given(st.data())
def test_no_damage_to_a_packed_archive_crashes_the_reading(tmp_path, variants, data):  # noqa: F811
    pack = data.draw(
        st.sampled_from([gzip.compress, bz2.compress, lzma.compress, zstandard.ZstdCompressor().compress, bytes])
    )
    content = bytearray(pack(tar(FILES)) if data.draw(st.booleans()) else zipped(FILES))
    for at, byte in data.draw(st.lists(st.tuples(st.integers(0, len(content) - 1), st.integers(0, 255)), max_size=6)):
        content[at] = byte
    survives("counterfactual", saved(tmp_path / "a", bytes(content)), variants)


@FUZZ
@given(mutated())
def test_no_game_crashes_the_reading(tmp_path, variants, record):  # noqa: F811
    survives("counterfactual", saved(tmp_path / "a.tar", tar({PATH: record})), variants)


def test_a_zip_that_says_less_than_it_holds_is_bad(tmp_path, variants):  # noqa: F811
    """Both sizes in the directory are 9 bytes; the stream goes on."""
    content = zipped({PATH: b" " * (1 << 20)})
    at = content.rindex(b"PK\x01\x02")
    lied = content[: at + 24] + struct.pack("<I", 9) + content[at + 28 :]
    assert ingest("counterfactual", saved(tmp_path / "a.zip", lied), variants).matches == 0
