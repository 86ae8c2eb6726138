"""The pages of all families in conf/game."""

from functools import cache

from agon.conf import CONF, file_of, names
from agon.games.pages import FamilyPage, page_of
from agon.registry import locate


@cache
def family_pages() -> dict[str, FamilyPage]:
    """Family -> its page, of all games in conf/game."""
    all_settings = [file_of("game", file, CONF) for file in names("game")]
    return {
        str(settings["name"]): page_of(locate(settings["_target_"])) for settings in all_settings if "name" in settings
    }
