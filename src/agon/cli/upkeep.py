"""The verb that checks inputs."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatch
from hashlib import md5
from pathlib import Path
from typing import Any

import click
import msgspec

from agon.errors import AgonError
from agon.paths import ROOT

STORES = {
    "store": "`git checkout store` brings it back",
    ".dvc/cache": "delete it, and the same command gets it again",
}
"""Folder of DVC's copies, named by their hashes -> the remedy for a damaged one."""


@click.command()
def verify() -> None:
    """Checks data/ against data.dvc.

    It reads every file, and every copy of it in store/ and .dvc/cache. `make repro` begins with this check.
    """
    if not (ROOT / "data.dvc").is_file():
        raise AgonError(f"{ROOT} has no data.dvc, so there is nothing to check")
    verify_data(ROOT)


def verify_data(root: Path) -> int:
    """Checks every file of data/ against data.dvc, and returns their number. Raises AgonError for the first difference or damaged copy.

    Every file is read: DVC itself trusts size and time of a file, and the list of a folder's files.
    """
    for store, remedy in STORES.items():
        for path in sorted((root / store / "files" / "md5").glob("??/*")):
            if _hash(path) != path.parent.name + path.name.removesuffix(".dir"):
                raise AgonError(f"{path.relative_to(root)} is damaged: its content is not what its name says; {remedy}")
    pinned = {f"data/{entry['relpath']}": entry["md5"] for entry in _pinned_files(root)}
    for name, pinned_hash in pinned.items():
        if not (root / name).is_file():
            raise AgonError(
                f"{name} is missing: `dvc pull data.dvc` fetches it, `dvc add data` accepts that it is gone"
            )
        if _hash(root / name) != pinned_hash:
            raise _difference(f"{name} is not what data.dvc says")
    for name in sorted(_files_there(root)):
        if name not in pinned:
            raise _difference(f"{name!r:.200} is not in data.dvc")
    return len(pinned)


def _hash(path: Path) -> str:
    return md5(path.read_bytes(), usedforsecurity=False).hexdigest()


def _pinned_files(root: Path) -> list[dict[str, str]]:
    """The files in data.dvc, and their hashes."""
    pin: dict[str, Any] = msgspec.yaml.decode((root / "data.dvc").read_bytes())["outs"][0]
    for store in reversed(STORES):
        path = root / store / "files" / "md5" / pin["md5"][:2] / pin["md5"][2:]
        if path.exists():
            return msgspec.json.decode(path.read_bytes(), type=list[dict[str, str]])
    raise AgonError("the data of data.dvc are not here: `dvc pull data.dvc` fetches it")


def _difference(fault: str) -> AgonError:
    return AgonError(
        f"{fault}: `dvc add data` keeps the files as they are now, such as a new recording; "
        "`dvc fetch data.dvc && dvc checkout --force --relink data.dvc` restores the pinned files"
    )


def _files_there(root: Path) -> Iterator[str]:
    """Every file in data/, except those in .dvcignore."""
    ignored = [line for line in (root / ".dvcignore").read_text().splitlines() if line.strip() and line[0] != "#"]
    for path in (root / "data").rglob("*"):
        name = path.relative_to(root)
        if (path.is_symlink() or not path.is_dir()) and not any(
            fnmatch(part, pattern) for part in name.parts for pattern in ignored
        ):
            yield name.as_posix()
