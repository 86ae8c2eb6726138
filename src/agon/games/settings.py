"""Settings: files that make many variants of a game. A game's yaml names a folder; every file in it is a checked setting.

A family's `settings.py` has the schema `Setting`.
"""

import functools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar

import msgspec

from agon.errors import AgonError, describe_fault
from agon.games.base import family_module
from agon.paths import display_path, input_files, read_text_file
from agon.registry import locate

Seat = Annotated[int, msgspec.Meta(ge=0)]
Positive = Annotated[float, msgspec.Meta(gt=0)]
LARGEST = 16_000_000
"""Largest file (bytes)."""


class Setting(msgspec.Struct, forbid_unknown_fields=True):
    """The content of a file; its fields are parameters of the game."""

    by_folder: ClassVar[bool] = False
    """Whether variants are named by folder and file; else by the file alone. For games with several folders."""

    def variants(self) -> dict[str, dict[str, Any]]:
        """The parameters of each game of the setting, by the suffix of its variant."""
        return {"": msgspec.to_builtins(self)}


class OneTested(Setting, kw_only=True):
    """A setting with one seat for the player under test."""

    tested: Seat

    def variants(self) -> dict[str, dict[str, Any]]:
        """One game."""
        return {"": msgspec.to_builtins(self) | {"tested": [self.tested]}}


def variants(game: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Variant -> its whole conf, for a game's yaml whose `settings` names a folder (from the project's root).

    Raises AgonError for a folder without settings, and for a file that does not fit, in one line.
    """
    shared = {key: value for key, value in game.items() if key != "settings"}
    if not isinstance(game["settings"], str) or not game["settings"].isprintable():
        raise AgonError(f"settings is {game['settings']!r}; it must be the name of a folder")
    return {
        name: shared | {"variant": name} | fields
        for name, fields in _load_settings(game["settings"], game.get("_target_", "")).items()
    }


@functools.cache
def _load_settings(folder: str, target: str) -> dict[str, dict[str, Any]]:
    paths = input_files(folder, "*.json")
    if not paths:
        raise AgonError(
            f"there are no settings in {folder}: `dvc pull data.dvc` fetches the shipped ones, and "
            "`agon make-settings`, `make-problems` or `make-logs` makes others"
        )
    module = family_module(locate(target), "settings")
    schema = None if module is None else module.Setting
    prefix = Path(folder).name if schema is not None and schema.by_folder else ""
    return {
        "-".join(filter(None, (prefix, path.stem, suffix))): fields
        for path in paths
        for suffix, fields in _read_setting(path, schema).items()
    }


def _read_setting(path: Path, schema: type[Setting] | None) -> dict[str, dict[str, Any]]:
    text = read_text_file(path, most=LARGEST)
    try:
        if schema is None:
            games = {"": msgspec.json.decode(text, type=dict[str, Any])}
        else:
            games = msgspec.json.decode(text, type=schema).variants()
    except (msgspec.DecodeError, RecursionError) as error:  # a ValidationError is one
        raise AgonError(f"{display_path(path)}: {describe_fault(error, schema)}") from None
    if directive := next(_directives(games), None):
        raise AgonError(
            f"{display_path(path)}: {directive} has no place in a setting, which is data: conf/game says what is built"
        )
    return games


def _directives(value: Any) -> Iterator[str]:
    """The keys in a value with which Hydra would build an object."""
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ():
        yield from _directives(item)
    if isinstance(value, dict):
        yield from value.keys() & {"_target_", "_partial_", "_args_"}
