"""Files out of a folder or an archive, in memory: nothing is ever unpacked to disk.

What is read may be hostile: memory and time have bounds, whatever a file says of itself, and no link leads out of the folder.
"""

import bz2
import gzip
import io
import lzma
import os
import stat
import struct
import tarfile
import zipfile
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import pyarrow as pya
import pyarrow.compute as pc
import pyarrow.parquet as pq
import zstandard

from agon.errors import AgonError, visible
from agon.ingest.base import Bad
from agon.paths import ROOT, shown

LARGEST = 1 << 24
"""Bytes of one file that are still read into memory; recorded games have half a megabyte at most."""

MOST_FILES, MOST_BYTES = 200_000, 1 << 33
"""Files in a folder or archive, and bytes that an archive unpacks to; the paper's own tree has 31,170 and 2 GB."""

HEADER = 1 << 16
"""Bytes of one extended header of a tar, such as a long path."""

CHUNK = 1 << 20
"""Bytes of an archive that are unpacked at once."""

ROWS, TABLE = 2_000_000, 1 << 29
"""Rows and bytes of a published table; the largest has 189,504 rows."""

PLAIN = (
    *(pya.types.is_integer, pya.types.is_floating, pya.types.is_boolean, pya.types.is_null),
    *(pya.types.is_string, pya.types.is_large_string, pya.types.is_dictionary),
)
"""Types of a table's columns."""

UNFIT = (LookupError, TypeError, ValueError, OSError)
"""What comes of values that are not what they should be."""

BROKEN = (
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, zstandard.ZstdError),
    *(OSError, EOFError, ValueError, RuntimeError, LookupError, OverflowError, MemoryError, struct.error),
)
"""What the archive readers raise for damaged input."""


PACKED: dict[bytes, Callable[[BinaryIO], Any]] = {
    b"\x28\xb5\x2f\xfd": lambda packed: zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True),
    b"\x1f\x8b": gzip.open,
    b"\xfd7zXZ\x00": lzma.open,
    b"BZh": bz2.open,
}
"""First bytes -> how to unpack; anything else is taken for a plain tar."""


EXTENDED = b"xXgLK"
"""Types of a tar's headers that say more of what comes next: pax, Solaris's pax, of all that follows, GNU's long name and link."""


class File(NamedTuple):
    """One file's path inside the folder or archive, and all its bytes."""

    path: str
    data: bytes


Found = File | Bad


def files(path: Path, name: str) -> Iterator[Found]:
    """Every file called `name` under `path`: a folder, a tar (plain, gz, bz2, xz, zst) or a zip; unreadable ones as Bad.

    Raises AgonError when there is none.
    """
    if not path.exists():
        raise AgonError(
            f"{shown(path)} is not there: give a folder, a .tar, .tar.gz, .tar.xz, .tar.zst or .zip (`dvc pull data.dvc` fetches data/)"
        )
    if not (path.is_dir() or path.is_file()):
        raise AgonError(f"{shown(path)} is neither a folder nor a file")
    if path.resolve().parent == path.resolve():
        raise AgonError(f"{shown(path)} is all of this machine: give the folder of the recorded games")
    any_file = False
    try:
        for found in _walk(path, name) if path.is_dir() else _unpacked(path, name):
            any_file = any_file or isinstance(found, File) or found.path != path.name
            if not any_file:
                raise AgonError(f"{shown(path)} {cast(Bad, found).reason}")
            yield found
    except OSError as error:
        raise AgonError(f"{shown(path)} cannot be read: {error.strerror or error}") from None
    if not any_file:
        raise AgonError(f"{shown(path)} holds no {name}: is it the right folder or archive?")


def _walk(folder: Path, name: str) -> Iterator[Found]:
    closed: list[OSError] = []
    seen = 0
    for place, _, names in os.walk(folder, onerror=closed.append):
        seen = _counted(folder.name, seen + len(names))
        if name in names:
            path = f"{place}/{name}"
            yield _opened(path, printable(path[len(str(folder)) + 1 :]), folder)
    yield from (Bad(printable(str(error.filename)), f"cannot be read: {error.strerror or error}") for error in closed)


def _counted(name: str, files: int) -> int:
    """`files` itself. Raises AgonError when these are too many."""
    if files > MOST_FILES:
        raise AgonError(f"{visible(name)} holds more than {MOST_FILES:,} files: give the recorded games alone")
    return files


def _opened(path: str, inside: str, folder: Path) -> Found:
    try:
        with regular(path, folder) as stream:
            fault = _fault(inside, True, os.fstat(stream.fileno()).st_size)
            return Bad(inside, fault) if fault else File(inside, stream.read(LARGEST))
    except OSError as error:
        return Bad(inside, str(error) if error.errno is None else f"cannot be read: {error.strerror or error}")


@contextmanager
def regular(path: str | Path, folder: Path) -> Iterator[BinaryIO]:
    """A regular file in `folder`, opened. A link may lead to another place in it, or to where DVC keeps files; raises OSError else."""
    place = Path(path).resolve()
    if Path(path).is_symlink() and not any(place.is_relative_to(each.resolve()) for each in (folder, ROOT / ".dvc")):
        raise OSError("is a link that leads out of the folder")
    handle = os.open(place, os.O_RDONLY | os.O_NONBLOCK)  # a pipe must not keep us waiting
    with os.fdopen(handle, "rb", buffering=0) as stream:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError("is no regular file")
        yield cast(BinaryIO, stream)


def _unpacked(path: Path, name: str) -> Iterator[Found]:
    with path.open("rb") as stream:
        start = stream.read(6)
        stream.seek(0)
        if start.startswith(b"PK"):
            yield from _unzipped(stream, path.name, name)
        else:
            open_as = next(
                (open_as for magic, open_as in PACKED.items() if start.startswith(magic)), lambda plain: plain
            )
            with ThreadPoolExecutor(1) as thread:
                yield from _untarred(io.BufferedReader(_Ahead(open_as(stream), thread), CHUNK), path.name, name)


def _unzipped(stream: BinaryIO, archive: str, name: str) -> Iterator[Found]:
    try:
        with zipfile.ZipFile(stream) as members, ThreadPoolExecutor(2) as threads:
            _counted(archive, len(members.infolist()))
            wanted = (info for info in members.infolist() if info.filename.rpartition("/")[2] == name)
            waiting = deque(threads.submit(_inflated, members, info) for info in islice(wanted, 4))
            while waiting:
                yield waiting.popleft().result()
                waiting.extend(threads.submit(_inflated, members, info) for info in islice(wanted, 1))
    except BROKEN as error:
        yield Bad(archive, f"is damaged ({first_line(error)})")


def _inflated(members: zipfile.ZipFile, info: zipfile.ZipInfo) -> Found:
    path = printable(info.filename).removeprefix("./")
    try:
        link = stat.S_ISLNK(info.external_attr >> 16)
        fault = _fault(path, not (link or info.is_dir()), info.file_size)
        return Bad(path, fault) if fault else File(path, members.read(info))
    except BROKEN as error:
        return Bad(path, f"cannot be unpacked: {first_line(error)}")


class _Ahead(io.RawIOBase):
    """A stream that is unpacked a few MiB ahead in a thread."""

    def __init__(self, stream: Any, thread: ThreadPoolExecutor) -> None:
        self._stream, self._thread, self._chunk, self._read = stream, thread, memoryview(b""), 0
        self._waiting = deque(thread.submit(stream.read, CHUNK) for _ in range(4))

    def readable(self) -> bool:
        """It can be read."""
        return True

    def readinto(self, place: Any) -> int:
        """Fills as much of `place` as one chunk holds."""
        if not self._chunk:
            self._waiting.append(self._thread.submit(self._stream.read, CHUNK))
            self._chunk = memoryview(self._waiting.popleft().result())
            self._read += len(self._chunk)
            if self._read > MOST_BYTES:
                raise AgonError(
                    f"the archive unpacks to more than {MOST_BYTES >> 30} GiB: give the recorded games alone"
                )
        size = min(len(place), len(self._chunk))
        place[:size], self._chunk = self._chunk[:size], self._chunk[size:]
        return size


class Member(NamedTuple):
    """A file of a tar, whose bytes come next in the stream."""

    path: str
    size: int
    regular: bool


def _untarred(stream: BinaryIO, archive: str, name: str) -> Iterator[Found]:
    try:
        for count, member in enumerate(_members(stream), start=1):
            _counted(archive, count)
            path = printable(member.path).removeprefix("./")
            wanted = member.path.rpartition("/")[2] == name
            fault = _fault(path, member.regular, member.size) if wanted else ""
            if wanted:
                yield Bad(path, fault) if fault else File(path, _exactly(stream, member.size))
            _passed(stream, -member.size % tarfile.BLOCKSIZE + (0 if wanted and not fault else member.size))
    except BROKEN as error:
        yield Bad(archive, f"is damaged or breaks off ({first_line(error)})")


def _members(stream: BinaryIO) -> Iterator[Member]:
    """What is in a tar, in its order; whoever takes a member passes its bytes and their padding before the next.

    Single headers are parsed by tarfile. Its own iteration keeps all of them, and reads an extended header whole, however large
    that says it is. (POSIX.1-2001, pax: ustar and pax formats; GNU tar's manual, "Basic Tar Format".) Raises TarError for damage.
    """
    extended: dict[bytes, bytes] = {}
    while (block := stream.read(tarfile.BLOCKSIZE)) != bytes(tarfile.BLOCKSIZE):
        info = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        if info.type in EXTENDED:
            data = _exactly(stream, info.size, HEADER)
            _passed(stream, -info.size % tarfile.BLOCKSIZE)
            if info.type == tarfile.GNUTYPE_LONGNAME:
                extended[b"path"] = data.partition(b"\0")[0]
            elif info.type in (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE):
                extended |= _records(data)
            continue
        more = info.type == tarfile.GNUTYPE_SPARSE and block[482]
        while more:
            more = _exactly(stream, tarfile.BLOCKSIZE)[504]
        name = extended.get(b"path", info.name.encode("utf-8", "surrogateescape"))
        sparse = info.type == tarfile.GNUTYPE_SPARSE or any(key.startswith(b"GNU.sparse") for key in extended)
        size = int(extended.get(b"size", info.size)) if info.isreg() or info.type not in tarfile.SUPPORTED_TYPES else 0
        if size < 0:
            raise tarfile.ReadError("a size is negative")
        yield Member(name.decode("utf-8", "surrogateescape"), size, info.isreg() and not sparse)
        extended = {}


def _records(data: bytes) -> dict[bytes, bytes]:
    """The records of a pax header: each is its own length, a space, KEY=VALUE and a newline."""
    found: dict[bytes, bytes] = {}
    while data.rstrip(b"\0"):
        digits = data[:6].partition(b" ")[0]
        length = int(digits)
        if not len(digits) < length <= len(data):
            raise tarfile.ReadError("an extended header is damaged")
        key, _, value = data[len(digits) + 1 : length - 1].partition(b"=")
        found[key], data = value, data[length:]
    return found


def _exactly(stream: BinaryIO, size: int, most: int = LARGEST) -> bytes:
    if not 0 <= size <= most:
        raise tarfile.ReadError(f"a header of {size:,} bytes")
    data = stream.read(size)
    if len(data) < size:
        raise tarfile.ReadError("unexpected end of data")
    return data


def _passed(stream: BinaryIO, size: int) -> None:
    """Reads what nobody wants."""
    while size:
        size -= len(_exactly(stream, min(size, CHUNK)))


def _fault(path: str, regular: bool, size: int) -> str:
    if path.startswith("/") or ".." in path.split("/"):
        return "its path leads out of the archive"
    if not regular:
        return "is no regular file"
    return f"is larger than {LARGEST >> 20} MiB" if size > LARGEST else ""


@contextmanager
def read_whole(path: Path) -> Iterator[BinaryIO]:
    """A file of a table, opened; what readers of tables raise becomes an AgonError of one line."""
    try:
        with regular(path, path.parent) as stream:
            yield stream
    except FileNotFoundError:
        raise AgonError(f"{shown(path)} is not there: `dvc pull data.dvc` brings the published facts") from None
    except (pya.ArrowException, AttributeError, MemoryError, OverflowError, *UNFIT) as error:
        raise AgonError(f"{shown(path)} cannot be read ({first_line(error)}): get it again") from None


@contextmanager
def parquet(path: Path, names: Sequence[str] = ()) -> Iterator[BinaryIO]:
    """As read_whole, after a look at the columns `names` (none: all), whose rows and texts must be within bounds.

    A file of some kilobytes can stand for any number of rows. So texts stay in their dictionaries while rows are counted.
    """
    with read_whole(path) as stream:
        file = pq.ParquetFile(stream, thrift_string_size_limit=LARGEST, thrift_container_size_limit=MOST_FILES)
        fields = [field for field in file.schema_arrow if not names or field.name in names]
        if strange := [field.name for field in fields if not any(fits(field.type) for fits in PLAIN)]:
            raise ValueError(f"{strange[0]:.40} is {file.schema_arrow.field(strange[0]).type!s:.40}")
        texts = [field.name for field in fields if not pya.types.is_primitive(field.type)]
        claimed = [file.metadata.row_group(at) for at in range(file.metadata.num_row_groups)]
        if file.metadata.num_rows > ROWS or sum(group.total_byte_size for group in claimed) > TABLE:
            raise ValueError(f"more than {ROWS:,} rows or {TABLE >> 20} MiB")
        stream.seek(0)
        rows = size = 0
        lazy = pq.ParquetFile(stream, read_dictionary=texts)
        for batch in lazy.iter_batches(CHUNK >> 4, columns=[field.name for field in fields], use_threads=False):
            rows, size = rows + len(batch), size + sum(_spelled_out(column) for column in batch.columns)
            if rows > ROWS or size > TABLE:
                raise ValueError(f"more than {ROWS:,} rows or {TABLE >> 20} MiB")
        stream.seek(0)
        yield stream


def whole(stream: BinaryIO) -> bytes:
    """All of a file of text with columns. Raises ValueError where it, or its first line, is too long."""
    data = stream.read(LARGEST + 1)
    if len(data) > LARGEST or len(data.partition(b"\n")[0]) > HEADER:
        raise ValueError(f"more than {LARGEST >> 20} MiB, or a first line of more than {HEADER >> 10} KiB")
    return data


def _spelled_out(column: pya.Array) -> int:
    """Bytes of a column without its dictionary. Raises ArrowInvalid where it is none, or a text is not UTF-8."""
    column.validate(full=True)
    if not pya.types.is_dictionary(column.type):
        return int(column.nbytes)
    lengths = pc.binary_length(column.dictionary.cast(pya.large_string()))
    return int(column.indices.nbytes + (pc.sum(lengths.take(column.indices)).as_py() or 0))


def printable(path: str) -> str:
    """A path that any file can hold, whatever bytes the file system or archive had."""
    return path.encode("utf-8", "backslashreplace").decode()


def first_line(error: BaseException) -> str:
    """What an error says, in one line of at most 200 characters."""
    return visible(next(iter(str(error).splitlines()), type(error).__name__)[:200])
