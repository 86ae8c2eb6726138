"""The verb list."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence

import click

from agon.errors import AgonError, visible
from agon.paths import CODE, GAMES_SUFFIX, display_path, input_files, read_text_file


def _kinds(_: click.Context, __: click.Parameter, typed: str) -> list[str]:
    from agon.conf import LISTED

    return [kind for kind in LISTED if kind.startswith(typed)]


@click.command("list")
@click.argument("kinds", nargs=-1, required=True, shell_complete=_kinds)
def list_(kinds: Sequence[str]) -> None:
    """Lists names, each with a line that explains it.

    agon list games, agents, models, experiments, notebooks or metrics.
    """
    for kind in kinds:
        rows = [*map(_mark_broken(kind), describe_names(kind))]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            click.echo(visible("  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()))
        if kind == "agents":
            click.echo(
                f"Prompt sets of agents that ask models, experiment.prompts=SET: {', '.join(_prompt_sets())} "
                "(docs/how-to/choose-the-prompts.md)"
            )
        if kind == "metrics":
            click.echo(
                "For a metric of your own write METRICS and measured() in a module, and add it to `packages` in conf/config.yaml "
                "(docs/how-to/add-a-metric.md)"
            )


def _mark_broken(kind: str) -> Callable[[tuple[str, ...]], tuple[str, ...]]:
    """A function that adds the reason to the row of a game, agent or model that cannot be built."""
    from agon.conf import compose_together, expand_settings, load, names

    group = kind.removesuffix("s")
    if group not in ("game", "agent", "model"):
        return lambda row: row
    compose_together({group: names(group)})

    def mark(row: tuple[str, ...]) -> tuple[str, ...]:
        name, line = row
        try:
            for variant in expand_settings([name])[:1] if group == "game" else [name]:
                load(group, variant)
        except AgonError as error:
            return name, f"cannot be used: {error}. {line}"
        return row

    return mark


def _prompt_sets() -> list[str]:
    """The prompt sets of all families."""
    from agon.agents.prompts import prompt_sets
    from agon.conf import find_families

    return prompt_sets([*CODE.glob("games/*/"), *find_families()])


def describe_names(kind: str) -> list[tuple[str, ...]]:
    """The names of a kind, with a line on each. Raises AgonError for an unknown kind."""
    from agon.conf import LISTED, describe_file, names, suggest

    if kind not in LISTED:
        raise AgonError(f"{kind!r} cannot be listed: {suggest(kind, LISTED)}")
    if kind == "metrics":
        from agon.scores import all_metrics

        return [(metric.name, f"{metric.games}:", metric.gives) for metric in all_metrics()]
    if kind == "notebooks":
        cells = {path.stem: json.loads(read_text_file(path))["cells"] for path in input_files("notebooks", "*.ipynb")}
        return [
            (name, "".join(notebook_cells[0]["source"][:1]).strip("# \n")) for name, notebook_cells in cells.items()
        ]
    group = kind.removesuffix("s")
    rows = [(name, describe_file(group, name)) for name in names(group)]
    return rows + (_tables_without_experiment({name for name, _ in rows}) if kind == "experiments" else [])


def _tables_without_experiment(experiments: Collection[str]) -> list[tuple[str, ...]]:
    """Turns tables without an experiment in conf: experiment=NAME may name them, but not to record or play."""
    from agon.conf import recorded_games

    use = "for compare, rate and notebooks (no file in conf/experiment)"
    tables = [path for path in input_files("transcripts", "*.parquet") if not path.name.endswith(GAMES_SUFFIX)]
    descriptions = {path.stem: f"the turns of {display_path(path)}, {use}" for path in tables}
    for source in recorded_games():
        descriptions[source] = f"recorded games that `agon ingest source={source}` reads, {use}"
    return [(name, description) for name, description in descriptions.items() if name not in experiments]
