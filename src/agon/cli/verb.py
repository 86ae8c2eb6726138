"""A verb whose settings are those of conf/config.yaml, overridden in Hydra's syntax."""

import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from agon import CONFIG, ROOT, SHIPPED, STRANGE, AgonError, input_path, input_places, text_of

SETTINGS = "[setting=value ...]"


class Configured(click.Command):
    """A function as a verb: its docstring is the help, and what it returns is the exit code (None: 0)."""

    def __init__(self, run: Callable[..., int | None]) -> None:
        told = "Print the folders and files that the settings come from, and do nothing."
        many = "Not here: a loop in the shell plays several settings, or `dvc exp run --queue -S`."
        words = click.Argument(["words"], nargs=-1, metavar=SETTINGS, shell_complete=self._completed)
        options = [
            click.Option(["--cfg"], type=click.Choice(["job"]), help="Print the composed settings, and do nothing."),
            click.Option(["-i", "--info"], is_flag=True, help=told),
            click.Option(["-m", "--multirun"], is_flag=True, help=many, hidden=True),
        ]
        super().__init__(run.__name__, callback=self._called, params=[words, *options], help=inspect.getdoc(run))
        self.run = run

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the settings that it takes, then the options."""
        with formatter.section("Settings"):
            formatter.write_dl([*_noted(str(self.name))])
        super().format_options(ctx, formatter)

    def _called(self, words: Sequence[str], cfg: str | None, info: bool, multirun: bool) -> int:
        if multirun:
            loop = f"for n in 2 4; do agon {self.name} experiment.repetitions=$n out=smoke/$n.parquet; done"
            queue = "dvc exp run --queue -S conf/experiment/NAME.yaml:repetitions=2,4"
            raise click.UsageError(f"one command has one setting of everything; for several: {loop}; or {queue}")
        if info:
            click.echo("\n".join(self._origin(words)))
            return 0
        if STRANGE is None and ROOT not in (here := Path.cwd(), here.resolve()):
            click.echo(f"note: the project is {ROOT}", err=True)
        if twice := [
            name
            for name, times in Counter(word.partition("=")[0] for word in words if "=" in word).items()
            if times > 1
        ]:
            raise click.UsageError(f"{twice[0]}= is there twice: write it once")
        from agon.conf import configuration

        settings = configuration(words)
        if not cfg:
            return self.run(settings) or 0
        import yaml  # type: ignore[import-untyped]

        click.echo(yaml.safe_dump(settings, sort_keys=False, allow_unicode=True), nl=False)
        return 0

    def _origin(self, words: Sequence[str]) -> Iterator[str]:
        from agon.conf import CONF, config, names

        yield f"project: {ROOT}"
        yield f"agon's own: {SHIPPED}"
        yield from (f"settings: {path}" for path in input_places(CONF / "config.yaml") if path.is_file())
        for group, name in (config()[1] | _given(words)).items():
            if name in names(group):
                yield f"{group}={name}: {input_path(CONF / group / f'{name}.yaml')}"

    def _completed(self, ctx: click.Context, _: click.Parameter, typed: str) -> list[CompletionItem[str]]:
        found: list[str] = []
        with suppress(AgonError):  # it is said when the command runs
            found = [each for each in self._offers(ctx.params["words"] or ()) if each.startswith(typed)]
        return [CompletionItem(each) for each in found] or [CompletionItem(typed, type="file")]

    def _offers(self, words: Sequence[str]) -> Iterator[str]:
        from agon.conf import config, names

        settings, chosen = config()
        for group, name in (chosen | _given(words)).items():
            if group in chosen and name in names(group):
                yield from (f"{group}={each}" for each in names(group))
                settings[group] = _loaded(group, name)
        yield from _keys(settings)


def _given(words: Sequence[str]) -> dict[str, str]:
    return {name: value for name, given, value in (word.partition("=") for word in words) if given}


def _loaded(group: str, name: str) -> dict[str, Any]:
    """A file of conf/ as it is."""
    from agon.conf import CONF, document

    return document(input_path(CONF / group / f"{name}.yaml"))


NOTED = re.compile(r"( *)(?:- )?(?!agon:)(\w+):(?: (\S.*?))? +# (?:((?:(?!true|null)[a-z]+(?:, )?)+): )?(.+)")
"""A line of conf/config.yaml: how deep it is, a setting, its value, the verbs that take it, and a note on it."""


def _noted(verb: str) -> Iterator[tuple[str, str]]:
    """The settings of conf/config.yaml that a verb takes, each with its value, and the notes on them; a group's are its settings' too."""
    above, theirs = "", True
    for line in text_of(SHIPPED / CONFIG).splitlines():
        if not (match := NOTED.fullmatch(line)):
            continue
        deep, name, value, verbs, note = match.groups()
        inside = bool(deep) and bool(above)
        if not inside or verbs:
            theirs = not verbs or verb in verbs.split(", ")
        if theirs and value:
            yield f"{above if inside else ''}{name}={value}", note
        above = above if inside else "" if value else f"{name}."


def _keys(settings: Mapping[str, Any], above: str = "") -> Iterator[str]:
    for key, value in settings.items():
        if isinstance(value, dict):
            yield from _keys(value, f"{above}{key}.")
        else:
            yield from (f"{above}{key}={each}" for each in (["true", "false"] if isinstance(value, bool) else [""]))
