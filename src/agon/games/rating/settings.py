"""The settings of rating: logs of matches, files of data/logs."""

from typing import Any

import msgspec

from agon.games import settings
from agon.games.rating.game import misfit


class Setting(settings.Setting):
    """The log of a match that is to be rated, as agon.games.rating.logs makes it: what raters may see, and what they may not."""

    match: str
    """Its id."""
    game: str
    """Its family."""
    players: list[str]
    turns: list[list[dict[str, Any]]]
    """Of each turn, in order, who did what and what came of it; `thought` is what nobody else saw."""
    targets: list[dict[str, int]] = msgspec.field(default_factory=list)
    """What each player was to get hold of; none: it is not known."""
    won: list[bool] = msgspec.field(default_factory=list)
    """Whether each player won; none: it is not known."""
    source: str = ""
    """Where the match comes from."""

    def __post_init__(self) -> None:
        if wrong := misfit(msgspec.to_builtins(self)):
            raise ValueError(wrong)

    def variants(self) -> dict[str, dict[str, Any]]:
        """One game. The log is one text without any $, so that nothing that players wrote can be taken for a setting."""
        return {"": {"log": msgspec.json.encode(self).decode().replace("$", "\\u0024")}}
