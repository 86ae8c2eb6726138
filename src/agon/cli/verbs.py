"""The verbs of agon. Each does one thing, and prints a line about it. Its libraries are imported when it runs."""

from agon.cli.job import Job
from agon.cli.listing import list_
from agon.cli.notebooks import new, notebook
from agon.cli.planning import plan
from agon.cli.playing import play
from agon.cli.recording import record
from agon.cli.upkeep import verify

VERBS = [
    new,
    Job(plan),
    Job(record),
    Job(play),
    notebook,
    list_,
    verify,
]
