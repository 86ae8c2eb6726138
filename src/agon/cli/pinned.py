"""Whether inputs are what Git says: data/ is what data.dvc pins, and no stored copy of it is damaged."""

from collections.abc import Iterator
from fnmatch import fnmatch
from hashlib import md5
from pathlib import Path
from typing import Any

import msgspec

from agon.errors import AgonError

STORES = {
    "store": "`git checkout store` brings it back",
    ".dvc/cache": "delete it, and the same command gets it again",
}
"""Where DVC keeps files under their hashes -> what to do about a damaged one."""


def verify(root: Path) -> int:
    """How many files of data/ are what data.dvc says. Raises AgonError for the first that is not, and for a damaged copy.

    Every file is read: DVC believes a file whose size and time are as before, and the list of a folder's files.
    """
    for store, remedy in STORES.items():
        for path in sorted((root / store / "files" / "md5").glob("??/*")):
            if _hash(path) != path.parent.name + path.name.removesuffix(".dir"):
                raise AgonError(f"{path.relative_to(root)} is damaged: its content is not what its name says; {remedy}")
    pinned = {f"data/{entry['relpath']}": entry["md5"] for entry in _listed(root)}
    for name, wanted in pinned.items():
        if not (root / name).is_file():
            raise AgonError(f"{name} is not there: `dvc pull data.dvc` brings it, `dvc add data` does without it")
        if _hash(root / name) != wanted:
            raise _differs(f"{name} is not what data.dvc says")
    for name in sorted(_present(root)):
        if name not in pinned:
            raise _differs(f"{name!r:.200} is not in data.dvc")
    return len(pinned)


def _hash(path: Path) -> str:
    return md5(path.read_bytes(), usedforsecurity=False).hexdigest()


def _listed(root: Path) -> list[dict[str, str]]:
    """The files that data.dvc stands for, and their hashes."""
    pin: dict[str, Any] = msgspec.yaml.decode((root / "data.dvc").read_bytes())["outs"][0]
    for store in reversed(STORES):
        path = root / store / "files" / "md5" / pin["md5"][:2] / pin["md5"][2:]
        if path.exists():
            return msgspec.json.decode(path.read_bytes(), type=list[dict[str, str]])
    raise AgonError("what data.dvc stands for is not here: `dvc pull data.dvc` fetches it")


def _differs(what: str) -> AgonError:
    return AgonError(
        f"{what}: `dvc add data` keeps what is there now, such as a recording; `dvc checkout --force data.dvc` deletes it"
    )


def _present(root: Path) -> Iterator[str]:
    """Every file in data/ but those that .dvcignore names."""
    ignored = [line for line in (root / ".dvcignore").read_text().splitlines() if line.strip() and line[0] != "#"]
    for path in (root / "data").rglob("*"):
        name = path.relative_to(root)
        if (path.is_symlink() or not path.is_dir()) and not any(
            fnmatch(part, each) for part in name.parts for each in ignored
        ):
            yield name.as_posix()
