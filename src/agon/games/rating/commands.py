"""The verb that makes logs for raters."""

from collections.abc import Sequence
from pathlib import Path

import click

from agon.cli import options
from agon.errors import AgonError, count
from agon.paths import display_path, in_project, write_file


@click.command()
@options.turns(required=True, help="A turns table with matches of TradeCraft, played or ingested.")
@click.option("--folder", required=True, help="Where the logs go: FOLDER/MATCH.json.")
@click.option("--matches", type=options.AT_LEAST_1, help="Use only the first matches.")
@options.force
def make_logs(turns: str, folder: str, matches: int | None, force: bool) -> None:
    """Makes logs of TradeCraft's matches for raters.

    Files such as conf/game/rating.yaml name a folder of logs, and say what raters see of them.
    """
    from agon.games.rating.game import log_fault
    from agon.games.rating.logs import dealt_targets, format_log, make_log
    from agon.turns import read, read_games

    table, games = read(turns), read_games(turns)
    rows_of_game = table[table.game == "tradecraft"]
    names = list(dict.fromkeys(rows_of_game.match.astype(str)))[:matches]
    if not names:
        raise AgonError(f"{turns} has no matches of TradeCraft to make logs of")
    place, aimless = in_project(folder), 0
    _clear(place, names, force)
    for name in names:
        rows = rows_of_game[rows_of_game.match == name]
        log = make_log(rows)
        if not log["targets"]:
            log["targets"] = dealt_targets(rows, games)
            aimless += not log["targets"]
        if fault := log_fault(log):
            raise AgonError(f"match {name}: {fault}")
        write_file(place / f"{name}.json", format_log(log), force)
    unknown = f", {aimless} without targets: the table of games beside it does not have them" if aimless else ""
    click.echo(f"{count(len(names), 'log')} in {display_path(place)}{unknown}")


def _clear(folder: Path, names: Sequence[str], force: bool) -> None:
    """Removes the logs of other matches, or raises AgonError unless `force` allows it: all logs of a folder are rated together."""
    others = [path for path in sorted(folder.glob("*.json")) if path.stem not in names]
    if others and not force:
        raise AgonError(
            f"{display_path(folder)} has {count(len(others), 'log')} of other matches: name another folder, "
            "or add --force to replace them"
        )
    for path in others:
        path.unlink()


VERBS = [make_logs]
