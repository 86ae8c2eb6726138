"""Picking a match: a transcript, filters, a search, and a list of what fits."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from agon import AgonError
from agon.games.html import label
from agon.games.inputs import Entered, Field, LineField, ListField
from agon_hall.watching.files import Listing, listing

ANY = {"any": ""}
OFFERED = 200
"""Matches in the list at once; filters and the search reach all others."""


class Choice(NamedTuple):
    """The fields that pick a match, and what is picked."""

    fields: tuple[Field, ...]
    path: Path | None
    """The file; None where no match is picked."""
    match: str
    """Its id."""
    why: str
    """Why no match is picked."""


def opened(files: Mapping[str, Path], name: str | None, match: str | None) -> tuple[dict[str, Any], str]:
    """What is entered for a match of a file, or of the file that holds it, or the first; and what of that cannot be had."""
    if name is None and match is not None:
        name = next((each for each, path in files.items() if _holds(path, match)), None)
    said = "" if name is None or name in files else f"There is no transcript {label(name)!r}."
    file = name if name in files else next(iter(files), None)
    if match is not None and (file is None or not _holds(files[file], match)):
        return {"file": file}, said or f"There is no match {label(match)!r}."
    return {"file": file, f"{file}/match": match}, said


def picking(files: Mapping[str, Path], public: bool, entered: Entered) -> Choice:
    """What has been picked so far. The public may look for games and ids: players and variants tell roles."""
    file = _list("file", "Transcript", {name: name for name in files}, next(iter(files), None))
    name = file.chosen(entered)
    hint = "id" if public else "id, variant, agent, model"
    sought = LineField(key=f"{name}/search", label="Search", live=True, hint=hint, wide=190)
    found, why = None, "There are no transcripts here yet: play some matches first."
    if name is not None:
        try:
            found = listing(files[name])
        except AgonError as error:
            why = "This transcript cannot be read." if public else str(error)
    if found is None:
        return Choice((file, sought, _list(f"{name}/match", "Match", {}, None)), None, "", why)
    filters = [_filter(f"{name}/game", "Game", found.matches.game)]
    if not public:
        filters.append(_filter(f"{name}/agent", "Agent", found.agents.to_numpy().ravel()))
        filters.append(_filter(f"{name}/model", "Model", found.models.to_numpy().ravel()))
    picked = _matches(name, found, public, entered, [each.chosen(entered) for each in filters], sought)
    match = picked.chosen(entered)
    return Choice((file, *filters, sought, picked), files[name] if match else None, match or "", "No match fits.")


def _matches(
    name: str, found: Listing, public: bool, entered: Entered, wanted: list[str], sought: LineField
) -> ListField:
    """The matches that fit; the one that is shown stays where it does."""
    search = str(entered.get(sought.key) or "")
    fits = found.found(**dict(zip(("game", "agent", "model"), wanted, strict=False)), search=search, public=public)
    offered, keep = fits[:OFFERED], entered.get(f"{name}/match")
    if keep in fits.index and keep not in offered.index:
        offered = fits.loc[[keep, *offered.index]]
    labels = {_label(row, public): row.Index for row in offered.itertuples()}
    more = f"; the first {OFFERED} are listed" if len(fits) > OFFERED else ""
    first = next(iter(labels.values()), None)
    return _list(f"{name}/match", f"Match ({len(fits):,} found{more})", labels, first, 300)


def _list(key: str, name: str, options: Mapping[str, Any], value: Any, wide: int = 190) -> ListField:
    return ListField(key=key, label=name, options=options, value=value, wide=wide)


def _filter(key: str, name: str, values: Collection[str]) -> ListField:
    return _list(key, name, ANY | {label(each): each for each in sorted({each for each in values if each})}, "")


def _label(row: Any, public: bool) -> str:
    """A match in a line; its id makes it one of a kind."""
    if public:
        return f"{label(row.game)} {label(row.Index)}"
    again = f" #{row.repetition + 1}" if row.repetition else ""
    return f"{label(row.game)} {label(row.variant)}: {label(row.who, 120)}{again} · {label(row.Index)}"


def _holds(path: Path, match: str) -> bool:
    try:
        return match in listing(path).matches.index
    except AgonError:
        return False
