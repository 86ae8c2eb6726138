"""The settings of rating: logs of matches, files of data/logs."""

from typing import Any

import msgspec

from agon.games import settings
from agon.games.rating.game import Log


class Setting(settings.Setting, Log):
    """The log of a match that is to be rated."""

    def variants(self) -> dict[str, dict[str, Any]]:
        """One game. The log is one text without any $, so that nothing that players wrote can be taken for a setting."""
        return {"": {"log": msgspec.json.encode(self).decode().replace("$", "\\u0024")}}
