"""Archives of recorded games. Their files are copied out one at a time, and each copy lasts until the next is asked for."""

import gzip
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from tempfile import NamedTemporaryFile
from typing import IO, Any, cast
from zipfile import ZipFile

from agon.errors import AgonError, visible
from agon_audit.formats.tables import MOST_BYTES, reading, require_size

ZIP, TAR, GZIP = ".zip", (".tar", ".tar.gz", ".tgz"), ".gz"
MOST_FILES = 100_000
MOST_UNPACKED = 2**33
"""An archive unpacks to so many bytes at most."""
HEAD = 2**20
"""The description of a file in a tar archive has so many bytes at most."""


def is_archive(name: str) -> bool:
    """Whether a file is an archive, by its ending."""
    return name.lower().endswith((ZIP, *TAR, GZIP))


def unpack(path: Path, name: str, wanted: Callable[[str], bool]) -> Iterator[tuple[str, Path | None]]:
    """Name and copy of each file in an archive; None for files that are not `wanted`, which are not copied.

    A file in an archive is called `name`/FILE, and one that is compressed alone `name`. Raises AgonError for an archive that cannot
    be read, is too large, holds an archive or a link, or names a file outside of it.
    """
    left = MOST_UNPACKED
    with reading(name):
        require_size(path)
        for number, (inner, file) in enumerate(_files(path, name), start=1):
            quoted = repr(visible(inner[:80]))
            if number > MOST_FILES:
                raise AgonError(f"it holds more than {MOST_FILES:,} files: split it")
            if inner.startswith("/") or ".." in PurePosixPath(inner).parts:
                raise AgonError(f"it names a file outside of it, {quoted}: pack it again")
            if file is None:
                raise AgonError(f"{quoted} is a link or no plain file: put the file itself there")
            if is_archive(inner):
                raise AgonError(f"it holds another archive, {quoted}: unpack this one first")
            full = f"{name}/{inner}" if name.lower().endswith((ZIP, *TAR)) else name
            if not wanted(full if full != name else inner):
                yield full, None
                continue
            with NamedTemporaryFile(suffix=PurePosixPath(inner).suffix) as copy:
                size, most = 0, min(left, MOST_BYTES)
                while data := file.read(2**20):
                    if (size := size + len(data)) > most:  # sizes in the archive's own list are not believed
                        raise AgonError(f"{quoted} unpacks to more than {most:,} bytes: split it between two matches")
                    copy.write(data)
                copy.flush()
                left -= size
                yield full, Path(copy.name)


def _files(path: Path, name: str) -> Iterator[tuple[str, IO[bytes] | None]]:
    """Name and content of each file, without folders. None: a link, or anything else that is no plain file."""
    lower = name.lower()
    if lower.endswith(ZIP):
        with ZipFile(path) as archive:
            for item in archive.infolist():
                if not item.is_dir():
                    with archive.open(item) as file:
                        yield item.filename, file
    elif lower.endswith(TAR):
        with path.open("rb") if lower.endswith(TAR[0]) else gzip.open(path) as whole:
            stream = _Stream(whole)
            with tarfile.open(fileobj=stream, mode="r|") as tar:  # type: ignore[call-overload]
                while (member := tar.next()) is not None:
                    stream.allow(MOST_UNPACKED)
                    if member.isreg() and not member.issparse():
                        file = tar.extractfile(member)
                        yield member.name, file
                        while file.read(2**20):  # passes over a file that nobody wanted
                            pass
                    elif not member.isdir():
                        yield member.name, None
                    stream.allow(HEAD)
    else:
        with gzip.open(path) as only:
            yield name[: -len(GZIP)], cast(IO[bytes], only)


class _Stream:
    """The bytes of a tar archive. They are limited, because the description of a file is read into memory at once."""

    def __init__(self, file: Any) -> None:
        self._file, self._count = file, 0
        self.allow(HEAD)

    def allow(self, more: int) -> None:
        """Lets so many bytes more be read."""
        self._most = min(self._count + more, MOST_UNPACKED)

    def read(self, size: int) -> bytes:
        """The next bytes. Raises AgonError for more than are allowed."""
        data: bytes = self._file.read(size)
        self._count += len(data)
        if self._count > self._most:
            raise AgonError(
                f"it unpacks to more than {MOST_UNPACKED:,} bytes, or describes a file by more than {HEAD:,}"
            )
        return data
