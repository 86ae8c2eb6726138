"""Files out of a folder or an archive, in memory: nothing is ever unpacked to disk."""

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
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple, cast

import pyarrow as pya
import zstandard

from agon import AgonError
from agon.ingest.base import Bad
from agon.turns import shown

LARGEST = 1 << 28
"""Bytes of one file that are still read into memory; recorded games have less than a megabyte."""

CHUNK = 1 << 20
"""Bytes of an archive that are unpacked at once."""

BROKEN = (
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, zstandard.ZstdError),
    *(OSError, EOFError, ValueError, RuntimeError, LookupError, OverflowError, struct.error),
)
"""What the archive readers raise for damaged input."""


PACKED: dict[bytes, Callable[[BinaryIO], Any]] = {
    b"\x28\xb5\x2f\xfd": lambda packed: zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True),
    b"\x1f\x8b": gzip.open,
    b"\xfd7zXZ\x00": lzma.open,
    b"BZh": bz2.open,
}
"""First bytes -> how to unpack; anything else is taken for a plain tar."""


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
            f"{shown(path)} is not there: give a folder, a .tar, .tar.gz, .tar.xz, .tar.zst or .zip (`dvc pull` fetches data/)"
        )
    if not (path.is_dir() or path.is_file()):
        raise AgonError(f"{shown(path)} is neither a folder nor a file")
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
    for place, _, names in os.walk(folder, onerror=closed.append):
        if name in names:
            path = f"{place}/{name}"
            yield _opened(path, printable(path[len(str(folder)) + 1 :]))
    yield from (Bad(printable(str(error.filename)), f"cannot be read: {error.strerror or error}") for error in closed)


def _opened(path: str, inside: str) -> Found:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe must not keep us waiting
        with os.fdopen(handle, "rb", buffering=0) as stream:
            status = os.fstat(handle)
            fault = _fault(inside, stat.S_ISREG(status.st_mode), status.st_size)
            return Bad(inside, fault) if fault else File(inside, stream.read())
    except OSError as error:
        return Bad(inside, f"cannot be read: {error.strerror or error}")


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
            wanted = (info for info in members.infolist() if info.filename.rpartition("/")[2] == name)
            waiting = deque(threads.submit(_inflated, members, info) for info in islice(wanted, 16))
            while waiting:
                yield waiting.popleft().result()
                waiting.extend(threads.submit(_inflated, members, info) for info in islice(wanted, 1))
    except BROKEN as error:
        yield Bad(archive, f"is damaged ({first_line(error)})")


def _inflated(members: zipfile.ZipFile, info: zipfile.ZipInfo) -> Found:
    path = printable(info.filename).removeprefix("./")
    try:
        fault = _fault(path, not info.is_dir(), info.file_size)
        return Bad(path, fault) if fault else File(path, members.read(info))
    except BROKEN as error:
        return Bad(path, f"cannot be unpacked: {first_line(error)}")


class _Ahead(io.RawIOBase):
    """A stream that is unpacked a few MiB ahead in a thread."""

    def __init__(self, stream: Any, thread: ThreadPoolExecutor) -> None:
        self._stream, self._thread, self._chunk = stream, thread, memoryview(b"")
        self._waiting = deque(thread.submit(stream.read, CHUNK) for _ in range(4))

    def readable(self) -> bool:
        """It can be read."""
        return True

    def readinto(self, place: Any) -> int:
        """Fills as much of `place` as one chunk holds."""
        if not self._chunk:
            self._waiting.append(self._thread.submit(self._stream.read, CHUNK))
            self._chunk = memoryview(self._waiting.popleft().result())
        size = min(len(place), len(self._chunk))
        place[:size], self._chunk = self._chunk[:size], self._chunk[size:]
        return size


class _Header(tarfile.TarInfo):
    """A tar header that is damaged or missing is an error; tarfile would take it for the archive's end."""

    @classmethod
    def fromtarfile(cls, tarfile_: tarfile.TarFile) -> "_Header":
        try:
            return super().fromtarfile(tarfile_)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]
            raise
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(str(error)) from None


def _untarred(stream: BinaryIO, archive: str, name: str) -> Iterator[Found]:
    try:
        with tarfile.open(fileobj=stream, mode="r|", bufsize=1 << 16, tarinfo=_Header) as members:
            for info in members:
                if info.name.rpartition("/")[2] == name:
                    path = printable(info.name).removeprefix("./")
                    fault = _fault(path, info.isreg() and not info.issparse(), info.size)
                    yield Bad(path, fault) if fault else File(path, _bytes(members, info))
    except BROKEN as error:
        yield Bad(archive, f"is damaged or breaks off ({first_line(error)})")


def _bytes(members: tarfile.TarFile, info: tarfile.TarInfo) -> bytes:
    with cast(IO[bytes], members.extractfile(info)) as stream:
        return stream.read()


def _fault(path: str, regular: bool, size: int) -> str:
    if path.startswith("/") or ".." in path.split("/"):
        return "its path leads out of the archive"
    if not regular:
        return "is no regular file"
    return f"is larger than {LARGEST >> 20} MiB" if size > LARGEST else ""


@contextmanager
def read_whole(path: Path) -> Iterator[None]:
    """Turns what readers of tables raise into an AgonError of one line."""
    try:
        yield
    except FileNotFoundError:
        raise AgonError(f"{shown(path)} is not there: `dvc pull` brings the published facts") from None
    except (pya.ArrowException, AttributeError, KeyError, ValueError, TypeError, OSError) as error:
        raise AgonError(f"{shown(path)} cannot be read ({first_line(error)}): get it again") from None


def printable(path: str) -> str:
    """A path that any file or message can hold, whatever bytes the file system or archive had."""
    return path.encode("utf-8", "backslashreplace").decode()


def first_line(error: BaseException) -> str:
    """What an error says, in one line."""
    return next(iter(str(error).splitlines()), type(error).__name__)
