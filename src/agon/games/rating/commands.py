"""Commands that make logs, and links, for raters."""

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


@click.command()
@click.option("--names", metavar="NAME,...", required=True, help="Names such as ann,bob, of letters, digits, - and _.")
@click.option("--logs", default="data/logs/tradecraft", help="The folder of logs that they rate.")
@click.option(
    "--folder",
    default=".agon/hall/annotations",
    help="Where their answers go: annotations, in the folder of serve.",
)
@click.option("--days", type=click.IntRange(1, 3660), default=30, help="Days for which the links are valid.")
@click.option("--url", default="http://localhost:8642", help="Where browsers find the hall.")
@click.option("--language", default="en", help="The language of their pages, such as de.")
@click.option("--force", is_flag=True, help="Make new links also for raters who have one; old links end.")
def make_raters(names: str, logs: str, folder: str, days: int, url: str, language: str, force: bool) -> None:
    """Makes a personal link for each rater of logs.

    Raters work in a browser, turn by turn. All see the logs in the same order.

    A link opens only its owner's pages, and needs no password. It is printed once: agon keeps only its hash.
    """
    from agon.games.rating.raters import admit

    raters = list(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    if not raters:
        raise AgonError("--names must name somebody, as --names ann,bob")
    if not url.startswith(("http://", "https://")):
        raise AgonError(f"--url must begin with http:// or https://, not {url[:40]!r}")
    for name, key in admit(in_project(folder), raters, logs, days, force, language).items():
        click.echo(f"{name}  {url.rstrip('/')}/annotate?key={key}")


VERBS = [make_logs, make_raters]
