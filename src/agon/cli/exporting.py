"""Transcripts for other tools."""

from __future__ import annotations

import click

from agon.cli import options
from agon.cli.places import outside_data, own_folder, transcript_of
from agon.errors import count
from agon.paths import display_path


@click.command()
@options.experiment(required=True)
@click.option(
    "--format", type=click.Choice(["jsonl"]), default="jsonl", expose_value=False, help="One JSONL file per match."
)
@options.out(help="A folder; else exports/NAME.")
@options.force
def export(experiment: str, out: str | None, force: bool) -> None:
    """Writes a transcript for other tools."""
    from agon.bridges import jsonl
    from agon.turns import read

    turns = read(transcript_of(experiment))
    name = out or f"exports/{experiment}"
    folder = outside_data(name)
    own_folder(name, {path.name for path in folder.glob("*.jsonl")}, force)
    click.echo(f"{display_path(folder)}: {count(jsonl(turns, folder, force), 'match')}")
