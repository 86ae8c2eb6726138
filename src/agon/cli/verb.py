"""What a verb is: a function, which says what may be given to it.

Its docstring is the help; what it returns is the exit code (None: 0). What it takes says what may be given: `settings`, those of
conf/config.yaml, overridden in Hydra's syntax; `name` and `parameters`, a notebook and its own; else each keyword is a setting, whose
annotation ends in a note for the help, and `*names` are what stands without a `=`; a function in their annotation gives those there are.
"""

import inspect
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import Any, get_args, get_origin, get_type_hints

import click
import msgspec
from click.shell_completion import CompletionItem

from agon import CONFIG, MARK, STRANGE, AgonError, fault_of, input_path
from agon.cli.job import Job

SETTINGS = "[setting=value ...]"
OF_RUNS = ("run", "force")
"""Settings of the verb that runs notebooks, beside a notebook's own parameters."""
Composed = tuple[Callable[[], int | None], Mapping[str, Any]]
"""A call that is ready to be made, and its settings."""


class Verb(click.Command, ABC):
    """A function as a verb."""

    def __init__(self, run: Callable[..., int | None], metavar: str = SETTINGS) -> None:
        words = click.Argument(["words"], nargs=-1, metavar=metavar, shell_complete=self._completed)
        cfg = click.Option(["--cfg"], type=click.Choice(["job"]), help="Print the composed settings, and do nothing.")
        name = run.__name__.rstrip("_").replace("_", "-")
        super().__init__(name, callback=self._called, params=[words, cfg], help=inspect.getdoc(run))
        self.run = run

    @abstractmethod
    def _composed(self, words: Sequence[str]) -> Composed:
        """What `words` ask for. Raises AgonError or UsageError in one line."""

    @abstractmethod
    def _offers(self, words: Sequence[str]) -> Iterator[str]:
        """What may follow `words`: setting=, setting=value, or a name."""

    def _called(self, words: Sequence[str], cfg: str | None) -> int:
        if STRANGE is not None and self.name != "new":
            raise AgonError(
                f"{STRANGE / CONFIG} does not say `{MARK}`: if {STRANGE} is a project of agon (a study from before needs it), "
                "write this line into the file; if not, go to one that is, or make one: agon new study NAME"
            )
        if twice := [
            name
            for name, times in Counter(word.partition("=")[0] for word in words if "=" in word).items()
            if times > 1
        ]:
            raise click.UsageError(f"{twice[0]}= is there twice: write it once")
        run, settings = self._composed(words)
        if not cfg:
            return run() or 0
        import yaml  # type: ignore[import-untyped]

        click.echo(yaml.safe_dump(dict(settings), sort_keys=False, allow_unicode=True), nl=False)
        return 0

    def _completed(self, ctx: click.Context, _: click.Parameter, typed: str) -> list[CompletionItem[str]]:
        found: list[str] = []
        with suppress(AgonError):  # it is said when the command runs
            found = [each for each in self._offers(ctx.params["words"] or ()) if each.startswith(typed)]
        return [CompletionItem(each) for each in found] or [CompletionItem(typed, type="file")]


def _study_of(overrides: Sequence[str]) -> str:
    """The study that a notebook is of, which names its run where nothing else does."""
    return dict(word.split("=", 1) for word in overrides).get("study", "")


class OfNotebook(Verb):
    """A verb whose settings are the parameters of the notebook that is named."""

    def _composed(self, words: Sequence[str]) -> Composed:
        from agon.conf import name_now, renaming_told
        from agon.notebook.execution import parameters

        names = [word for word in words if "=" not in word]
        if len(names) != 1:
            raise AgonError("name one notebook: python -m agon notebook NAME [parameter=value ...]")
        name, given = names[0].removeprefix("notebooks/").removesuffix(".ipynb"), _given(words)
        for line in renaming_told("notebook", [name]):
            click.echo(line, err=True)
        name = name_now("notebook", name)
        overrides = [word for word in words if "=" in word and word.partition("=")[0] not in (*OF_RUNS, "debug")]
        run = given.get("run", "") or _study_of(overrides)
        settings = parameters(name, overrides, run)
        if (force := given.get("force", "false")) not in ("true", "false"):
            raise click.UsageError(f"force={force}: it is true or false")
        return partial(
            self.run,
            name,
            settings,
            run=run,
            changed=overrides,
            force=force == "true" or ("run" not in given and run != ""),
        ), settings

    def _offers(self, words: Sequence[str]) -> Iterator[str]:
        from agon.conf import names

        named = [word for word in words if word in names("notebook")]
        if not named:
            return iter(names("notebook"))
        return chain(_keys(_loaded("notebook", named[0])), (f"{each}=" for each in OF_RUNS))


class Plain(Verb):
    """A verb whose settings are the keywords of its function."""

    def __init__(self, run: Callable[..., int | None]) -> None:
        hints, fields, self.names = get_type_hints(run, include_extras=True), [], ""
        self.there: Callable[[], Iterable[str]] = tuple
        for each in inspect.signature(run).parameters.values():
            if each.kind is each.VAR_POSITIONAL:
                self.names = f"{each.name.upper()} ..."
                self.there = next((note for note in get_args(hints[each.name])[1:] if callable(note)), tuple)
            else:
                usual = msgspec.NODEFAULT if each.default is each.empty else each.default
                fields.append((each.name, hints[each.name], usual))
        kinds = {name: get_args(get_args(hint)[0]) for name, hint, _ in fields}
        self.tables = {name for name, parts in kinds.items() if any(get_origin(part) is dict for part in parts)}
        self.schema = msgspec.defstruct(run.__name__, fields, kw_only=True, forbid_unknown_fields=True)
        super().__init__(run, f"{self.names} {SETTINGS if fields else ''}".strip())

    def _composed(self, words: Sequence[str]) -> Composed:
        values = {name: _unquoted(value) for name, value in _given(words).items()}
        names, given = [word for word in words if "=" not in word], self._folded(values)
        if names and not self.names:
            raise click.UsageError(f"{names[0]!r} sets nothing: write setting=value (agon {self.name} --help)")
        if self.names and not names:
            raise click.UsageError(f"say which: agon {self.name} {self.names}")
        if unknown := [name for name in given if name not in self.schema.__struct_fields__]:
            from agon.conf import offered

            near = offered(unknown[0], self.schema.__struct_fields__)
            raise click.UsageError(f"{self.name} has no setting {unknown[0]!r}: {near}")
        try:
            settings = msgspec.structs.asdict(msgspec.convert(given, self.schema, strict=False))
        except msgspec.ValidationError as error:
            raise click.UsageError(
                f"the settings do not fit: {fault_of(error, self.schema)} (agon {self.name} --help)"
            ) from None
        return partial(self.run, *names, **settings), settings

    def _folded(self, given: Mapping[str, str]) -> dict[str, Any]:
        """Settings with those of one table, SETTING.NAME=value, together. Raises UsageError where the table has a value of its own."""
        found: dict[str, Any] = {}
        for name, value in given.items():
            table, _, key = name.partition(".")
            if not key or table not in self.tables:
                found[name] = value
            elif table in given:
                raise click.UsageError(f"{table}= and {name}= are both there: write one of them")
            else:
                found.setdefault(table, {})[key] = value
        return found

    def _offers(self, words: Sequence[str]) -> Iterator[str]:
        yield from self.there()
        for field in msgspec.structs.fields(self.schema):
            values = [value for value in get_args(get_args(field.type)[0]) if isinstance(value, str)]
            yield from (f"{field.name}={value}" for value in values or _listed(f"{field.name}s") or [""])

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the settings, then the options."""
        rows = []
        for field in msgspec.structs.fields(self.schema):
            usual = "..." if field.required else "null" if field.default is None else field.default
            rows.append((f"{field.name}={usual}", get_args(field.type)[-1]))
        if rows:
            with formatter.section("Settings"):
                formatter.write_dl(rows)
        super().format_options(ctx, formatter)


def _given(words: Sequence[str]) -> dict[str, str]:
    return {name: value for name, given, value in (word.partition("=") for word in words) if given and name != "debug"}


def _unquoted(value: str) -> str:
    """What is in quotation marks, as Hydra's syntax has it for texts with spaces."""
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value


def _loaded(group: str, name: str) -> dict[str, Any]:
    """A file of conf/ as it is."""
    from agon.conf import CONF, document

    return document(input_path(CONF / group / f"{name}.yaml"))


def _listed(kind: str) -> list[str]:
    """The names that `agon list KIND` lists; none where there is no such kind."""
    from agon.cli.listing import listed
    from agon.conf import LISTED

    return [name for name, *_ in listed(kind)] if kind in LISTED else []


def _keys(settings: Mapping[str, Any], above: str = "") -> Iterator[str]:
    for key, value in settings.items():
        if isinstance(value, dict):
            yield from _keys(value, f"{above}{key}.")
        else:
            yield from (f"{above}{key}={each}" for each in (["true", "false"] if isinstance(value, bool) else [""]))


def verb(run: Callable[..., int | None]) -> click.Command:
    """The function as the kind of verb that fits what it takes."""
    takes = inspect.signature(run).parameters
    return Job(run) if "settings" in takes else OfNotebook(run) if "parameters" in takes else Plain(run)
