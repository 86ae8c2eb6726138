"""Archives of recorded games are audited as the folder that they were packed from; hostile ones end in one line."""

import gzip
import io
import tarfile
from zipfile import ZIP_DEFLATED, ZipFile

import logs
import pytest

from agon import AgonError
from agon_audit.audit import audit
from agon_audit.formats import archives
from agon_audit.guess import guess
from agon_audit.mapping import as_mapping


def audited(folder, **fields):
    return audit(folder, as_mapping({"format": "csv", "action": "action"} | fields, "mapping"), folder)


def zipped(path, files):
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)


def tarred(path, files):
    with tarfile.open(path, "w:gz" if path.name.endswith("gz") else "w") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))


@pytest.fixture(scope="module")
def played():
    """A log with one fault, as files; and its mapping."""
    rows = logs.wide(["pd"], ["anything", "grim"], 1)
    rows.loc[40, "points1"] += 1
    rows = logs.scored(rows)
    parts = {f"games/{number}.csv": part.to_csv(index=False).encode() for number, part in rows.groupby("episode")}
    return parts, logs.mapping(rows, ["pd"])


@pytest.mark.parametrize("name", ["games.zip", "games.tar", "games.tar.gz", "games.tgz"])
def test_an_archive_is_audited_as_its_folder(played, name, tmp_path):
    parts, fields = played
    folder, packed = tmp_path / "folder", tmp_path / "packed"
    for number, data in parts.items():
        (folder / number).parent.mkdir(parents=True, exist_ok=True)
        (folder / number).write_bytes(data)
    packed.mkdir()
    (zipped if name.endswith("zip") else tarred)(packed / name, parts | {"games/readme.txt": b"none", ".x/a.csv": b""})
    plain, archive = audited(folder, **fields), audited(packed, **fields, files="games/*.csv")
    assert (archive.rows, archive.matches, archive.differences) == (plain.rows, plain.matches, 1)
    [row] = archive.found["points"].rows.itertuples()
    [same] = plain.found["points"].rows.itertuples()
    assert (row.file, row.line, row.what) == (f"{name}/{same.file}", same.line, same.what)
    assert {file: note["sha256"] for file, note in archive.files.items()} == {
        f"{name}/{file}": note["sha256"] for file, note in plain.files.items()
    }
    assert f"{name}/games/readme.txt" in archive.left_out
    assert audited(packed / name, **fields).differences == 1, "the archive itself may be named"


def test_a_file_that_is_compressed_alone_keeps_its_name(played, tmp_path):
    parts, fields = played
    for name, data in parts.items():
        (tmp_path / f"{name.replace('/', '-')}.gz").write_bytes(gzip.compress(data))
    result = audited(tmp_path, **fields, files="**/*.csv")
    assert result.differences == 1 and result.found["points"].rows.file.iloc[0].endswith(".csv.gz")


def test_a_guess_looks_into_an_archive(played, tmp_path):
    zipped(tmp_path / "games.zip", played[0])
    fields, _ = guess(tmp_path)
    assert fields["action"] == ["action1", "action2"] and fields["files"] == "**/*.csv"


GOOD = b"action\nC\n"


def link(path, _):
    with tarfile.open(path, "w") as archive:
        member = tarfile.TarInfo("a.csv")
        member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(member)


def long_head(path, _):
    with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT) as archive:
        member = tarfile.TarInfo("a.csv")
        member.pax_headers = {"comment": "x" * 2 * archives.HEAD}
        archive.addfile(member)


def cut(path, files):
    tarred(path, files)
    path.write_bytes(path.read_bytes()[:-40])


def flipped(path, files):
    zipped(path, files)
    data = bytearray(path.read_bytes())
    data[45] ^= 255
    path.write_bytes(data)


HOSTILE = {
    "a path that leaves": ("a.zip", zipped, {"../a.csv": GOOD}, "it names a file outside of it, '../a.csv'"),
    "a path from the root": ("a.tar", tarred, {"/etc/a.csv": GOOD}, "it names a file outside of it"),
    "an archive in it": ("a.tgz", tarred, {"b.zip": b""}, "it holds another archive, 'b.zip'"),
    "a link": ("a.tar", link, {}, "is a link or no plain file"),
    "a file without end": (
        "a.zip",
        zipped,
        {"a.csv": b"action\n" + b"C\n" * 9999},
        "unpacks to more than 10,000 bytes",
    ),
    "an archive without end": ("a.tar.gz", tarred, {"a.txt": b"C\n" * 99_999}, "it unpacks to more than 90,000 bytes"),
    "a head without end": ("a.tgz", long_head, {}, "or describes a file by more than"),
    "too many files": ("a.zip", zipped, {f"{number}.csv": GOOD for number in range(9)}, "it holds more than 8 files"),
    "an end that is missing": ("a.tgz", cut, {"a.csv": GOOD * 999}, "a.tgz cannot be read: "),
    "another content": ("a.zip", flipped, {"a.csv": GOOD * 9}, "a.zip cannot be read: "),
    "no archive": ("a.zip", lambda path, _: path.write_bytes(b"PK\3\4 no"), {}, "a.zip cannot be read: "),
    "no compressed file": ("a.csv.gz", lambda path, _: path.write_bytes(GOOD), {}, "a.csv.gz cannot be read: "),
    "a name to hide": ("a.zip", zipped, {"\x1b[2J/../a.csv": GOOD}, "'\\\\x1b[2J/../a.csv'"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_archive_is_one_line(name, tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "MOST_BYTES", 10_000)
    monkeypatch.setattr(archives, "MOST_FILES", 8)
    monkeypatch.setattr(archives, "MOST_UNPACKED", 90_000)
    monkeypatch.setattr(archives, "HEAD", 60_000)
    file, pack, files, why = HOSTILE[name]
    pack(tmp_path / file, files)
    with pytest.raises(AgonError) as error:
        audited(tmp_path)
    assert why in str(error.value) and str(error.value).isprintable() and len(str(error.value)) < 400


def test_turns_of_agon_in_an_archive_are_left_out(tmp_path):
    zipped(tmp_path / "a.zip", {"a.parquet": b""})
    with pytest.raises(AgonError, match=r"holds no file .* that ends in \.parquet"):
        audited(tmp_path, format="agon", action="")
