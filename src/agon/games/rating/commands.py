"""What agon makes for raters."""

from typing import Annotated

import click
from msgspec import Meta

from agon import AgonError, in_project, shown

Count = Annotated[int, Meta(ge=1)]


def make_logs(
    *,
    turns: Annotated[str, "a turns table with matches of TradeCraft, played or ingested"],
    folder: Annotated[str, "where the logs go: FOLDER/MATCH.json"],
    matches: Annotated[Count | None, "only the first of them"] = None,
) -> None:
    """Makes logs that can be rated of matches of TradeCraft.

    conf/game/rating.yaml names a folder of logs; raters see of a log what that file allows.
    """
    from agon.games.rating.game import misfit
    from agon.games.rating.logs import dealt_targets, log_of, packed
    from agon.turns import read

    table = read(turns)
    own = table[table.game == "tradecraft"]
    names = list(dict.fromkeys(own.match.astype(str)))[:matches]
    if not names:
        raise AgonError(f"{turns} has no matches of TradeCraft to make logs of")
    place, aimless = in_project(folder), 0
    place.mkdir(parents=True, exist_ok=True)
    for name in names:
        rows = own[own.match == name]
        log = log_of(rows)
        if not log["targets"]:
            log["targets"] = dealt_targets(rows) or []
            aimless += not log["targets"]
        if wrong := misfit(log):
            raise AgonError(f"match {name}: {wrong}")
        (place / f"{name}.json").write_text(packed(log), encoding="utf-8")
    unknown = f", {aimless} without targets: their games are not in conf/game" if aimless else ""
    click.echo(f"{len(names)} logs in {shown(place)}{unknown}")


VERBS = [make_logs]
