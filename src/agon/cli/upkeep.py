"""The verbs that check inputs and make settings."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fnmatch import fnmatch
from hashlib import md5
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import click
import msgspec

from agon.cli import options
from agon.errors import AgonError, count
from agon.games.base import modules
from agon.paths import ROOT, display_path, in_project, write_file

SETTINGS = "data/settings/magic"
STORES = {
    "store": "`git checkout store` brings it back",
    ".dvc/cache": "delete it, and the same command gets it again",
}
"""Folder of DVC's copies, named by their hashes -> the remedy for a damaged one."""


@click.command()
def verify() -> None:
    """Checks data/ against data.dvc.

    Every file is read, and every copy of it in store/ and .dvc/cache. make repro begins with it.
    """
    if not (ROOT / "data.dvc").is_file():
        raise AgonError(f"{ROOT} has no data.dvc: nothing is pinned there that could be checked")
    verify_data(ROOT)


@click.command()
@click.option("--folder", default=SETTINGS, help="Where the files go: FOLDER/GAME/01.json, ...")
@click.option("--games", metavar="GAME,...", help="Which games; else all that can make settings.")
@click.option("--topics", metavar="FILE", default=f"{SETTINGS}/topics.json", help="Words and clues.")
@click.option("--keep", type=options.AT_LEAST_1, default=20, help="Settings kept of a game of clues.")
@click.option("--matches", type=options.AT_LEAST_1, default=25, help="Simulated per candidate and role.")
@click.option("--seed", type=options.AT_LEAST_1, default=20231115, help="Of the candidates.")
@click.option("--prefix", help="Of the files' names, which tells the games from shipped ones.")
@options.force
def make_settings(
    folder: str,
    games: str | None,
    topics: str,
    keep: int,
    matches: int,
    seed: int,
    prefix: str | None,
    force: bool,
) -> None:
    """Makes settings for MAgIC's games.

    Of many candidates for the games of clues all are simulated and the most even are kept. Without anything it makes the
    shipped ones again, byte for byte.
    """
    dice, makers = Random(seed), _makers()
    candidates = {name: list(maker.candidates(dice, topics)) for name, maker in makers.items()}
    names = games.split(",") if games else list(candidates)
    if unknown := sorted(set(names) - set(candidates)):
        raise AgonError(f"there is no game {', '.join(unknown)}: there are {', '.join(candidates)}")
    prefix = prefix or ""
    if Path(prefix).name != prefix:
        raise AgonError(f"--prefix {prefix}: it is the beginning of a file's name, without folders")
    for game in names:
        settings, note, target = candidates[game], "", in_project(folder) / game
        if hasattr(makers[game], "chosen"):
            settings, note = makers[game].chosen(settings, topics, keep, matches)
        for number, setting in enumerate(settings, 1):
            write_file(target / f"{prefix}{number:02}.json", json.dumps(setting, indent=1) + "\n", force)
        click.echo(f"{display_path(target)}: {count(len(settings), 'setting')} {note}".rstrip())


def _makers() -> dict[str, Any]:
    """The families that make settings, in the order in which they use the same dice.

    First come agon's families that choose among candidates, then its others, then families outside src.
    """
    from agon.conf import find_families

    own_makers = sorted(modules("settings").items(), key=lambda maker: not hasattr(maker[1], "chosen"))
    outside = [folder.name for folder in find_families() if (folder / "settings.py").is_file()]
    makers = dict(own_makers) | {name: import_module(f"{name}.settings") for name in outside}
    return {name: module for name, module in makers.items() if hasattr(module, "candidates")}


def verify_data(root: Path) -> int:
    """Checks every file of data/ against data.dvc; how many. Raises AgonError for the first difference, and for a damaged copy.

    Every file is read: DVC itself trusts size and time of a file, and the list of a folder's files.
    """
    for store, remedy in STORES.items():
        for path in sorted((root / store / "files" / "md5").glob("??/*")):
            if _hash(path) != path.parent.name + path.name.removesuffix(".dir"):
                raise AgonError(f"{path.relative_to(root)} is damaged: its content is not what its name says; {remedy}")
    pinned = {f"data/{entry['relpath']}": entry["md5"] for entry in _pinned_files(root)}
    for name, pinned_hash in pinned.items():
        if not (root / name).is_file():
            raise AgonError(f"{name} is not there: `dvc pull data.dvc` brings it, `dvc add data` does without it")
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
    raise AgonError("what data.dvc stands for is not here: `dvc pull data.dvc` fetches it")


def _difference(fault: str) -> AgonError:
    return AgonError(
        f"{fault}: `dvc add data` keeps what is there now, such as a recording; "
        "`dvc checkout --force --relink data.dvc` puts back what was pinned"
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
