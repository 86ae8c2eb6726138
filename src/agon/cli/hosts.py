"""Says at which host a command asks each model, and with which key."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agon.errors import AgonError, visible
from agon.paths import ROOT, SHIPPED

if TYPE_CHECKING:
    from agon.models import Model


def say_hosts(models: Mapping[str, Model], other_hosts: bool = True) -> None:
    """Prints a line for each model. Raises AgonError if its file sends a key elsewhere than agon's file of that name.

    At a terminal it asks first. `other_hosts`: nothing is asked, and nothing raised.
    """
    for name, model in models.items():
        click.echo(visible(f"asks {name} ({model.model}) {model.place}"))
    hidden = [line for name, model in models.items() if (line := _hides_another(name, model))]
    for line in hidden:
        click.echo(visible(f"note: {line}"), err=True)
    if not hidden or other_hosts:
        return
    if not sys.stdin.isatty():
        raise AgonError(
            "the note above names a host or key that agon's own file does not have: add other_hosts=true if this is right"
        )
    if not click.confirm("Ask there?"):
        raise AgonError("nothing was asked; remove the file from conf/model, or rename it")


def _hides_another(name: str, model: Model) -> str:
    """A line on the host or key of a project's model that differ from agon's file of that name. Empty: none do, or there is one file."""
    from agon.conf import build

    if ROOT == SHIPPED or not _shipped(name).is_file():
        return ""
    shipped: Model = build(_shipped_settings(name))
    if (shipped.host, shipped.key_name) == (model.host, model.key_name):
        return ""
    return f"this project's conf/model asks {name} {model.place}; agon's own file of that name asks {shipped.place}"


def _shipped(name: str) -> Path:
    return SHIPPED / f"conf/model/{name}.yaml"


def _shipped_settings(name: str) -> dict[str, Any]:
    """The settings of agon's own file, with those that it builds upon. Hydra would take the project's files for these."""
    from agon.conf import document

    settings = document(_shipped(name))
    bases = [_shipped_settings(base) for base in settings.pop("defaults", []) if base != "_self_"]
    return {key: value for part in (*bases, settings) for key, value in part.items()}
