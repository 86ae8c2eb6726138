"""The pages of all families of games in conf/game."""

from functools import cache
from pathlib import Path

from agon import located
from agon.conf import CONF, file_of, names
from agon.games.pages import Desk, FamilyPage, page_of


@cache
def known_pages() -> dict[str, FamilyPage]:
    """Family -> its page, of all games in conf/game."""
    files = [file_of("game", file, CONF) for file in names("game")]
    return {str(each["name"]): page_of(located(each["_target_"])) for each in files if "name" in each}


def desks(folder: Path) -> dict[str, Desk]:
    """The pages that families have of their own, outside matches: name -> what they are; what they keep is in `folder`."""
    return {name: made for each in known_pages().values() for name, made in each.desks(folder).items()}
