"""Settings: files that make many games of one. A game's yaml names a folder; every file in it is a setting, and checked."""

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar

import msgspec

from agon import ROOT, AgonError, located
from agon.games.base import family_module

Seat = Annotated[int, msgspec.Meta(ge=0)]
Positive = Annotated[float, msgspec.Meta(gt=0)]


class Setting(msgspec.Struct, forbid_unknown_fields=True):
    """What a file says; field for field what a game takes."""

    by_folder: ClassVar[bool] = False
    """Whether the folder's name comes before the file's in that of the variant: for games with several folders."""

    def variants(self) -> dict[str, dict[str, Any]]:
        """The fields of each game that the setting makes, by what the variant's name gets besides the file's."""
        return {"": msgspec.to_builtins(self)}


class OneTested(Setting, kw_only=True):
    """A setting with one seat for the player under test."""

    tested: Seat

    def variants(self) -> dict[str, dict[str, Any]]:
        """One game."""
        return {"": msgspec.to_builtins(self) | {"tested": [self.tested]}}


def variants(game: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The games that a game's yaml and its folder of settings make: the variant's name -> what builds it.

    The yaml's `settings` is the folder, from the project's root. Raises AgonError for a folder without settings, and for
    a file that does not fit, in one line.
    """
    own = {key: value for key, value in game.items() if key != "settings"}
    return {
        name: own | {"variant": name} | fields
        for name, fields in _found(game["settings"], game.get("_target_", "")).items()
    }


@functools.cache
def _found(folder: str, target: str) -> dict[str, dict[str, Any]]:
    paths = sorted((ROOT / folder).glob("*.json"))
    if not paths:
        raise AgonError(f"there are no settings in {folder}: `dvc pull` fetches them, or drop a .json file there")
    module = family_module(located(target), "settings")
    schema = None if module is None else module.Setting
    before = Path(folder).name if schema is not None and schema.by_folder else ""
    return {
        "-".join(filter(None, (before, path.stem, suffix))): fields
        for path in paths
        for suffix, fields in _read(path, schema).items()
    }


def _read(path: Path, schema: type[Setting] | None) -> dict[str, dict[str, Any]]:
    try:
        if schema is None:
            return {"": msgspec.json.decode(path.read_bytes(), type=dict[str, Any])}
        return msgspec.json.decode(path.read_bytes(), type=schema).variants()
    except msgspec.DecodeError as error:  # a ValidationError is one
        shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
        raise AgonError(f"{shown}: {error}") from None


def by_role(setting: Any, spy: int, *roles: str) -> dict[str, dict[str, Any]]:
    """One game in which the player under test is the spy, and one in which it is everybody else; `roles` name them."""
    fields, seats = msgspec.to_builtins(setting), range(len(setting.clues))
    tested = [spy], [seat for seat in seats if seat != spy]
    return {role: fields | {"tested": seats_tested} for role, seats_tested in zip(roles, tested, strict=True)}
