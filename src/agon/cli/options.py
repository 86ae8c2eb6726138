"""Options that several verbs have, those of families of games among them."""

from collections.abc import Callable
from functools import partial

import click

AT_LEAST_1 = click.IntRange(min=1)

Completion = Callable[[click.Context, click.Parameter, str], list[str]]
"""The function that click calls for the names that begin with the typed text."""


class Anywhere(click.Command):
    """A verb that also runs in the folder of another program, which has a conf/config.yaml of its own."""


def names_of(kind: str) -> Completion:
    """The names that `agon list KIND` lists."""

    def names(_: click.Context, __: click.Parameter, typed: str) -> list[str]:
        from agon.cli.listing import describe_names

        return [name for name, *_ in describe_names(kind) if name.startswith(typed)]

    return names


force = click.option("--force", is_flag=True, help="Replace files that exist.")
out = partial(click.option, "--out", metavar="PATH")
experiment = partial(
    click.option,
    "--experiment",
    metavar="NAME",
    shell_complete=names_of("experiments"),
    help="The experiment; reads transcripts/NAME.parquet.",
)
turns = partial(click.option, "--turns", metavar="FILE", help="A turns table instead of an experiment.")
