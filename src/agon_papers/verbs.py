"""The verb `ingest`, as Hydra runs it. Its libraries are imported when it runs."""

from __future__ import annotations

import click

from agon.cli.job import Job
from agon.cli.places import Settings, turns_file
from agon.errors import AgonError, count, visible
from agon.paths import display_path, input_path


def ingest(settings: Settings) -> int:
    """Reads recorded games of a paper into turns.

    source=S path=P is written to transcripts/S.parquet, or to out=FILE. Exit code 3: files that could not be read are listed.
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
