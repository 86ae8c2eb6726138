"""The verbs of agon. Each does one thing, and prints a line about it. Its libraries are imported when it runs."""

from typing import get_args

import click

from agon.cli.job import Job
from agon.cli.listing import list_
from agon.cli.notebooks import new, notebook
from agon.cli.planning import plan
from agon.cli.playing import export, play, reread
from agon.cli.recording import record
from agon.cli.upkeep import make_settings, verify
from agon.models.base import ReadingRule

VERBS = [
    new,
    Job(plan),
    Job(record),
    Job(play),
    Job(
        reread,
        click.Option(["--rule"], type=click.Choice(get_args(ReadingRule)), default="strict", help="The other rule."),
    ),
    notebook,
    export,
    list_,
    verify,
    make_settings,
]
