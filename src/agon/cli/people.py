"""People: pages on which they play, studies tried out, and what they have played."""

from __future__ import annotations

import click

from agon.cli.job import Job
from agon.cli.places import Settings, outside_data, study_of, turns_file
from agon.errors import AgonError, count
from agon.paths import in_project, shown


@Job
def serve(settings: Settings) -> None:
    """People play, watch and annotate in a browser.

    serve.port=N and serve.address=A say where.
    """
    from agon_hall.server import serve as served

    asked = settings["serve"]
    where = asked["address"], asked["port"], asked["origins"], asked["proxy"]
    served(in_project(asked["folder"]), *where, asked["sampling"], click.echo, asked["days"])


@Job
def collect(settings: Settings) -> None:
    """Gathers what people have played into one transcript.

    The finished matches of serve are written to transcripts/people.parquet, or to out=FILE. study=NAME gathers a study's alone
    into transcripts/studies/NAME: participants.csv, events.parquet and turns.parquet; who is paid what stays beside the tables.
    """
    from agon.plan import PEOPLE, PERSON
    from agon.play import ordered
    from agon.turns import read, write

    folder = in_project(settings["serve"]["folder"])
    played = sorted((folder / "played").glob("*.parquet"))
    if study := study_of(settings):
        from agon_hall.gather import gather

        click.echo(gather(folder, study, outside_data(f"transcripts/studies/{study}")))
        return
    if not played:
        raise AgonError("nobody has finished a match yet: python -m agon serve opens the tables")
    out = turns_file(settings, PEOPLE)
    turns = ordered([read(path) for path in played], [path.stem for path in played])
    write(turns, out)
    people = turns[turns.agent == PERSON].groupby("match", observed=True).seat.nunique().sum()
    click.echo(
        f"{shown(out)}: {count(len(played), 'match')}, {count(people, 'seat')} of people, {count(len(turns), 'turn')}"
    )


@Job
def rehearse(settings: Settings) -> None:
    """Tries a study out before people are invited.

    study=NAME is a file in conf/study: keys, budgets and the bill are looked at, and scripts walk through every page as
    participants, and leave transcripts/rehearsed/NAME. It costs nothing: a script sits wherever a model does. browser=true
    shows them the pages in a real browser, where Playwright is installed.
    """
    from agon_hall.rehearsal import rehearse as rehearsed

    if not (study := study_of(settings)):
        raise AgonError("say which: python -m agon rehearse study=NAME, a file in conf/study")
    out = in_project("transcripts/rehearsed") / study
    rehearsed(study, click.echo, out, browsers=settings["browser"])
