"""Conditions compared, players rated, and transcripts for other tools."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Annotated, Literal

import click

from agon import AgonError, count, in_project, input_path, shown, visible
from agon.cli.places import OTHER, outside_data, own_folder, transcript_of
from agon.cli.words import say_columns
from agon.games.settings import Force


def compare(
    *,
    metric: Annotated[str, "one or several, as points,won (agon list metrics)"],
    by: Annotated[str, "COLUMN:ONE,OTHER, as agent:zs,cot; a column alone: all its values"],
    experiment: Annotated[
        str, "whose transcript, transcripts/NAME.parquet; nothing: the project's own experiment"
    ] = "",
    turns: Annotated[str, "or FILE,FILE: turns tables, told apart by the column `file`"] = "",
    within: Annotated[
        str, "columns that two matches must share to be compared; nothing: all that tell seats apart"
    ] = "",
    detect: Annotated[
        float | dict[str, float] | None,
        "a difference: how many matches show it? Of several metrics detect.METRIC=...",
    ] = None,
    alike: Annotated[bool, "all strata count alike, however many matches they have"] = False,
    out: Annotated[str, "a new folder for the tables and a figure per pair; nothing: they are not written"] = "",
    force: Force = False,
) -> None:
    """Compares conditions by a metric.

    Difference with interval, effect size, permutation test, and the matches that it takes: docs/how-to/compare-conditions.md.
    """
    import pandas as pd

    from agon.conf import configuration
    from agon.inference.compare import compare as compared
    from agon.inference.registered import excluded, registered
    from agon.turns import read, write_table

    if experiment and turns:
        raise AgonError("experiment= and turns= both say what to compare: write one of them")
    if not turns:
        experiment = experiment or configuration()["experiment"]["name"]
        turns = transcript_of(experiment)
    paths = [Path(each) for each in turns.split(",")]
    folder = own_folder(out, (), force) if out else None
    tables = [read(path) for path in paths]
    for (one, first), (other, second) in combinations(zip(paths, tables, strict=True), 2):
        if both := set(first.match) & set(second.match):
            raise AgonError(
                f"{shown(one)} and {shown(other)} hold the same match, {min(both)} ({len(both):,} such): take each once"
            )
    table = pd.concat([each.assign(file=name) for name, each in zip(_told_apart(paths), tables, strict=True)])
    keys = [each for each in within.split(",") if each]
    kept, left_out = excluded(table)
    if kept.empty and left_out:
        raise AgonError(f"no match is left to compare: {'; '.join(left_out)}")
    found = compared(kept, metric.split(","), by, within=keys, detect=detect, alike=alike)
    click.echo(str(found))
    for line in registered(table, found.pairs, by, keys, alike):
        click.echo(visible(line))
    if folder is not None:
        for name in ("pairs", "strata", "conditions"):
            write_table(getattr(found, name), folder / f"{name}.csv")
        from agon.figures import save

        for place, row in enumerate(found.pairs.itertuples()):
            save(found.figure(place), folder / re.sub(r"[^\w.-]+", "-", f"{row.metric}_{row.first}_{row.second}"))
        click.echo(f"{shown(folder)}: {count(3, 'table')}, and {count(len(found.pairs), 'figure')}")


def _told_apart(paths: Sequence[Path]) -> list[str]:
    """What files are called in short: without endings, and with as many of their folders as tell them apart."""
    parts = [in_project(path).with_suffix("").parts for path in paths]
    for depth in range(1, max(map(len, parts))):
        names = ["/".join(each[-depth:]) for each in parts]
        if len(set(names)) == len(names):
            return names
    return [str(path) for path in paths]


def rate(
    *,
    metric: Annotated[str, "of which more is better (agon list metrics)"] = "points",
    by: Annotated[str, "columns that name a player"] = "agent,model",
    experiment: Annotated[str, "whose transcript: transcripts/NAME.parquet"] = "",
    turns: Annotated[str, "or a turns table"] = "",
    out: Annotated[str, "a new CSV file for the table; nothing: it is not written"] = "",
) -> None:
    """Ranks all players at once.

    Strengths by Bradley and Terry's model, or Plackett and Luce's, with intervals, ranks and the advantage of seats:
    docs/how-to/rate-many-players.md.
    """
    from agon.inference.compare import rate as rated
    from agon.turns import read, write_table

    if bool(experiment) == bool(turns):
        raise AgonError("say whose matches: experiment=NAME, or turns=FILE")
    path = outside_data(out) if out else None
    if path is not None and path.exists():
        raise AgonError(f"out={out} is there: name another place")
    found = rated(read(turns or transcript_of(experiment)), metric, [each for each in by.split(",") if each])
    head = ["player", "matches", "strength", "95 %", "", "comes first", "rank", "from", "to"]
    say_columns([head], found.players)
    for each in found.seats.itertuples():
        click.echo(f"seat {each.seat} over the first: {each.advantage:+.2f} ({each.low:+.2f} to {each.high:+.2f})")
    if found.players.low.eq(found.players.high).all():
        click.echo("note: every match was a tie: nothing tells these players apart, and the intervals say nothing")
    if found.groups > 1:
        click.echo(f"note: {found.groups} groups of players never met: strengths compare within a group alone")
    if path is not None:
        write_table(found.players, path)


def export(
    *,
    experiment: Annotated[str, "whose transcript: transcripts/NAME.parquet"],
    format: Annotated[
        Literal["jsonl", "inspect"], "one JSONL file per match, or Inspect's log: one per model"
    ] = "jsonl",
    out: Annotated[str, "a folder, or for Inspect a file; nothing: exports/NAME"] = "",
    force: Force = False,
) -> None:
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
            raise AgonError(f"out={out or usual} is there: {OTHER}")
        made = inspect_log(turns, target, input_path(f"data/recordings/{experiment}"))
        click.echo(", ".join(shown(path) for path in made))
