"""The verbs that make inputs: turns of recorded games, and settings. Their libraries are imported when they run."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import click

from agon.cli import options
from agon.cli.job import Job
from agon.cli.places import Settings, turns_file
from agon.errors import AgonError, count, visible
from agon.paths import display_path, in_project, input_path, write_file

MAGIC = "data/settings/magic"
"""The settings of MAgIC's games."""


def ingest(settings: Settings) -> int:
    """Reads recorded games of a paper into turns.

    source=S path=P is written to transcripts/S.parquet, or to out=FILE. Exit code 3: some files could not be read, and
    are listed.
    """
    from agon.conf import expand_settings, games, settings_of
    from agon.games.tables import games_table
    from agon.turns import write, write_games
    from agon_papers.ingest import ingest as read_games

    out = turns_file(settings, settings["source"])
    names = expand_settings(settings["recorded"].get(settings["source"], []))
    variants = games(names)
    result = read_games(
        settings["source"], input_path(settings["path"] or f"data/published/{settings['source']}"), variants
    )
    for bad in result.bad:
        click.echo(visible(f"bad: {bad.path}: {bad.reason}").replace("\n", "\\n"), err=True)
    if not result.matches:
        raise AgonError(f"no match in {visible(settings['path'])} could be read: {count(len(result.bad), 'bad file')}")
    write_games(games_table(variants, [settings_of("game", name) for name in names]), out)
    write(result.turns, out)
    click.echo(
        f"{display_path(out)}: {count(result.matches, 'match')}, {count(len(result.turns), 'turn')}; {count(len(result.bad), 'bad file')}"
    )
    return 3 if result.bad else 0


INGEST = Job(ingest)


@click.command()
@click.option("--folder", default=MAGIC, help="Where the files go: FOLDER/GAME/01.json, ...")
@click.option("--games", metavar="GAME,...", help="Which games; else all.")
@click.option("--topics", metavar="FILE", default=f"{MAGIC}/topics.json", help="Words and clues.")
@click.option("--keep", type=options.AT_LEAST_1, default=20, help="Settings kept of a game of clues.")
@click.option("--matches", type=options.AT_LEAST_1, default=25, help="Simulated per candidate and role.")
@click.option("--seed", type=options.AT_LEAST_1, default=20231115, help="The seed of the candidates.")
@click.option("--prefix", help="Of the files' names, which tells the games from shipped ones.")
@options.force
def make_settings(
    folder: str,
    games: str | None,
    topics: str,
    keep: int,
    matches: int,
    seed: int,
    prefix: str | None,
    force: bool,
) -> None:
    """Makes settings for MAgIC's games.

    For the games with clues it simulates many candidates, and keeps the most even ones. Without options it makes the
    shipped settings again, byte for byte.
    """
    from agon_papers.magic.settings import CANDIDATES, OF_CLUES, most_even

    dice = Random(seed)
    candidates = {game: list(draw(dice, topics)) for game, draw in CANDIDATES.items()}
    names = games.split(",") if games else list(candidates)
    if unknown := sorted(set(names) - set(candidates)):
        raise AgonError(f"there is no game {', '.join(unknown)}: there are {', '.join(candidates)}")
    prefix = prefix or ""
    if Path(prefix).name != prefix:
        raise AgonError(f"--prefix {prefix}: it is the beginning of a file's name, without folders")
    for game in names:
        settings, note, target = candidates[game], "", in_project(folder) / game
        if game in OF_CLUES:
            settings, note = most_even(OF_CLUES[game], settings, topics, keep, matches)
        for number, setting in enumerate(settings, 1):
            write_file(target / f"{prefix}{number:02}.json", json.dumps(setting, indent=1) + "\n", force)
        click.echo(f"{display_path(target)}: {count(len(settings), 'setting')} {note}".rstrip())
