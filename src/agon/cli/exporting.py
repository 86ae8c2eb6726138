"""Transcripts for other tools."""

from __future__ import annotations

import click

from agon.cli import options
from agon.cli.places import ELSEWHERE, outside_data, own_folder, transcript_of
from agon.errors import AgonError, count
from agon.paths import input_path, shown


@click.command()
@options.experiment(required=True)
@click.option(
    "--format",
    type=click.Choice(["jsonl", "inspect"]),
    default="jsonl",
    help="One JSONL file per match, or Inspect's log: one per model.",
)
@options.out(help="A folder, or for Inspect a file; else exports/NAME.")
@options.force
def export(experiment: str, format: str, out: str | None, force: bool) -> None:
    """Writes a transcript for other tools."""
    from agon.bridges import inspect_log, jsonl
    from agon.turns import read

    turns = read(transcript_of(experiment))
    usual = f"exports/{experiment}{'.eval' if format == 'inspect' else ''}"
    target = outside_data(out or usual)
    if format == "jsonl":
        own_folder(out or usual, {each.name for each in target.glob("*.jsonl")}, force)
        click.echo(f"{shown(target)}: {count(jsonl(turns, target, force), 'match')}")
    else:
        if target.is_dir() or (target.exists() and out and not force):
            raise AgonError(f"--out {out or usual} is there: {ELSEWHERE}")
        made = inspect_log(turns, target, input_path(f"data/recordings/{experiment}"))
        click.echo(", ".join(shown(path) for path in made))
