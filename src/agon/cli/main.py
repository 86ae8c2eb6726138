"""The one parser of commands: `agon VERB [setting=value ...]`, with help, completion, and errors in one line.

A verb is a function among the VERBS of a `commands.py`: in agon, and in the folder of any family of games. Its docstring is the help;
what it returns is the exit code (None: 0). What it takes says what may be given: `settings`, those of conf/config.yaml,
overridden in Hydra's syntax; `name` and `parameters`, a notebook and its own; else each keyword is a setting, whose annotation ends in a
note for the help, and `*names` are what stands without a `=`.
"""

import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from errno import ENOSPC
from functools import cache, partial
from importlib import import_module
from itertools import chain
from pathlib import Path
from traceback import extract_tb
from typing import Any, get_args, get_origin, get_type_hints

import click
import msgspec
from click.shell_completion import BashComplete, CompletionItem, add_completion_class

from agon import (
    CODE,
    CONFIG,
    MARK,
    ROOT,
    SHIPPED,
    STRANGE,
    AgonError,
    fault_of,
    input_path,
    input_places,
    shown,
    stopped,
    visible,
)

SETTINGS = "[setting=value ...]"
OF_RUNS = ("run", "force")
"""Settings of the verb that runs notebooks, beside a notebook's own parameters."""
Composed = tuple[Callable[[], int | None], Mapping[str, Any]]
"""A call that is ready to be made, and its settings."""


class Verb(click.Command):
    """A function as a verb."""

    def __init__(self, run: Callable[..., int | None], metavar: str = SETTINGS) -> None:
        words = click.Argument(["words"], nargs=-1, metavar=metavar, shell_complete=self._completed)
        cfg = click.Option(["--cfg"], type=click.Choice(["job"]), help="Print the composed settings, and do nothing.")
        name = run.__name__.rstrip("_").replace("_", "-")
        super().__init__(name, callback=self._called, params=[words, cfg], help=inspect.getdoc(run))
        self.run = run

    def _composed(self, words: Sequence[str]) -> Composed:
        """What `words` ask for. Raises AgonError or UsageError in one line."""
        raise NotImplementedError

    def _offers(self, words: Sequence[str]) -> Iterator[str]:
        """What may follow `words`: setting=, setting=value, or a name."""
        raise NotImplementedError

    def _called(self, words: Sequence[str], cfg: str | None) -> int:
        if STRANGE is not None and self.name != "new":
            raise AgonError(
                f"{STRANGE / CONFIG} does not say `{MARK}`: if {STRANGE} is a project of agon (a study from before needs it), "
                "write this line into the file; if not, go to one that is, or make one: agon new study NAME"
            )
        run, settings = self._composed(words)
        if not cfg:
            return run() or 0
        import yaml  # type: ignore[import-untyped]

        click.echo(yaml.safe_dump(dict(settings), sort_keys=False, allow_unicode=True), nl=False)
        return 0

    def _completed(self, ctx: click.Context, _: click.Parameter, typed: str) -> list[CompletionItem[str]]:
        found = [each for each in self._offers(ctx.params["words"] or ()) if each.startswith(typed)]
        return [CompletionItem(each) for each in found] or [CompletionItem(typed, type="file")]


class Configured(Verb):
    """A verb whose settings are those of conf/config.yaml."""

    def __init__(self, run: Callable[..., int | None]) -> None:
        super().__init__(run)
        told = "Print the folders and files that the settings come from, and do nothing."
        many = "Not here: a loop in the shell plays several settings, or `dvc exp run --queue -S`."
        self.params += [
            click.Option(["-i", "--info"], is_flag=True, help=told),
            click.Option(["-m", "--multirun"], is_flag=True, help=many),
        ]

    def _called(self, words: Sequence[str], cfg: str | None, info: bool = False, multirun: bool = False) -> int:
        if multirun:
            loop = f"for n in 2 4; do agon {self.name} experiment.repetitions=$n out=smoke/$n.parquet; done"
            queue = "dvc exp run --queue -S conf/experiment/NAME.yaml:repetitions=2,4"
            raise click.UsageError(f"one command has one setting of everything; for several: {loop}; or {queue}")
        if info:
            click.echo("\n".join(self._origin(words)))
            return 0
        if STRANGE is None and ROOT not in (here := Path.cwd(), here.resolve()):
            click.echo(f"note: the project is {ROOT}", err=True)
        return super()._called(words, cfg)

    def _origin(self, words: Sequence[str]) -> Iterator[str]:
        from agon.conf import CONF, config, names

        yield f"project: {ROOT}"
        yield f"agon's own: {SHIPPED}"
        yield from (f"settings: {path}" for path in input_places(CONF / "config.yaml") if path.is_file())
        for group, name in (config()[1] | _given(words)).items():
            if name in names(group):
                yield f"{group}={name}: {input_path(CONF / group / f'{name}.yaml')}"

    def _composed(self, words: Sequence[str]) -> Composed:
        from agon.conf import configuration

        settings = configuration(words)
        return partial(self.run, settings), settings

    def _offers(self, words: Sequence[str]) -> Iterator[str]:
        from agon.conf import config, names

        settings, chosen = config()
        for group, name in (chosen | _given(words)).items():
            if group in chosen and name in names(group):
                yield from (f"{group}={each}" for each in names(group))
                settings[group] = _loaded(group, name)
        yield from _keys(settings)


class OfNotebook(Verb):
    """A verb whose settings are the parameters of the notebook that is named."""

    def _composed(self, words: Sequence[str]) -> Composed:
        from agon.notebook.execution import parameters

        names = [word for word in words if "=" not in word]
        if len(names) != 1:
            raise AgonError("name one notebook: python -m agon notebook NAME [parameter=value ...]")
        name, given = names[0].removeprefix("notebooks/").removesuffix(".ipynb"), _given(words)
        overrides = [word for word in words if "=" in word and word.partition("=")[0] not in (*OF_RUNS, "debug")]
        settings = parameters(name, overrides, given.get("run", ""))
        force = given.get("force", "false") == "true"
        return partial(self.run, name, settings, run=given.get("run", ""), changed=overrides, force=force), settings

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
        for each in inspect.signature(run).parameters.values():
            if each.kind is each.VAR_POSITIONAL:
                self.names = f"{each.name.upper()} ..."
            else:
                usual = msgspec.NODEFAULT if each.default is each.empty else each.default
                fields.append((each.name, hints[each.name], usual))
        kinds = {name: get_args(get_args(hint)[0]) for name, hint, _ in fields}
        self.tables = {name for name, parts in kinds.items() if any(get_origin(part) is dict for part in parts)}
        self.schema = msgspec.defstruct(run.__name__, fields, kw_only=True, forbid_unknown_fields=True)
        super().__init__(run, f"{self.names} {SETTINGS if fields else ''}".strip())

    def _composed(self, words: Sequence[str]) -> Composed:
        names, given = [word for word in words if "=" not in word], self._folded(_given(words))
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
        for field in msgspec.structs.fields(self.schema):
            values = [value for value in get_args(get_args(field.type)[0]) if isinstance(value, str)]
            yield from (f"{field.name}={value}" for value in values or [""])

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


def _loaded(group: str, name: str) -> dict[str, Any]:
    """A file of conf/ as it is."""
    from agon.conf import CONF, document

    return document(input_path(CONF / group / f"{name}.yaml"))


def _keys(settings: Mapping[str, Any], above: str = "") -> Iterator[str]:
    for key, value in settings.items():
        if isinstance(value, dict):
            yield from _keys(value, f"{above}{key}.")
        else:
            yield from (f"{above}{key}={each}" for each in (["true", "false"] if isinstance(value, bool) else [""]))


def _families() -> Iterator[str]:
    """The modules of verbs of families of games: those in agon, and those outside src."""
    for path in sorted(CODE.glob("games/*/commands.py")):
        yield f"agon.games.{path.parent.name}.commands"
    from agon.conf import find_families

    with suppress(AgonError):  # said when a game is asked for; help and completion still come
        yield from (f"{folder.name}.commands" for folder in find_families() if (folder / "commands.py").is_file())


@cache
def _verbs(module: str) -> dict[str, Verb]:
    """The verbs of a commands.py, by name."""
    verbs = [_verb(run) for run in import_module(module).VERBS]
    return {verb.name or "": verb for verb in verbs}


def _verb(run: Callable[..., int | None]) -> Verb:
    takes = inspect.signature(run).parameters
    return Configured(run) if "settings" in takes else OfNotebook(run) if "parameters" in takes else Plain(run)


@cache
def _all() -> tuple[dict[str, Verb], list[str]]:
    """All verbs by name; and, in a line each, what is wrong with a family's commands, which breaks no others."""
    known, faults = dict(_verbs("agon.cli.commands")), []
    for module in _families():
        try:
            own = _verbs(module)
        except (Exception, SystemExit) as error:  # a reader's own may do anything
            faults.append(f"{module} cannot be used: {type(error).__name__}: {' '.join(str(error).split())}")
            continue
        faults += [f"{module}: there is a command {name} already: rename its own" for name in own if name in known]
        known |= {name: verb for name, verb in own.items() if name not in known}
    return known, faults


class Verbs(click.Group):
    """All verbs. Those of families are looked for only where agon itself has none of the name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names."""
        return list(_all()[0])

    def get_command(self, ctx: click.Context, cmd_name: str) -> Verb | None:
        """The verb of that name, if there is one."""
        return _verbs("agon.cli.commands").get(cmd_name) or _all()[0].get(cmd_name)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes which commands are missing."""
        for fault in _all()[1]:
            formatter.write_paragraph()
            formatter.write_text(fault)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """The verb that `args` begin with. Raises UsageError, which names the nearest."""
        if self.get_command(ctx, args[0]) is None and not ctx.resilient_parsing:
            from agon.conf import offered

            near = "; ".join([offered(args[0], self.list_commands(ctx)), *_all()[1]])
            raise click.UsageError(f"there is no command {args[0]!r}: {near} (agon --help)")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> int:
        """Runs a verb."""
        try:
            code: int = super().invoke(ctx)
        except KeyboardInterrupt:
            return _failed(stopped([ctx.invoked_subcommand or ""]), 130)
        except (SystemExit, GeneratorExit) as error:  # a reader's own code may raise anything
            raise RuntimeError(f"{error!r} was raised while {ctx.invoked_subcommand} ran") from error
        return code


@click.group(
    cls=Verbs,
    subcommand_metavar=f"VERB {SETTINGS}",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)
@click.version_option(package_name="agon", message="%(prog)s %(version)s")
def agon() -> None:
    """Games that need social and strategic reasoning, played by language models, scripts and people.

    Settings are those of conf/config.yaml, experiments are files in conf/experiment, and paths begin in the project's
    folder: the nearest one, from here upwards, whose conf/config.yaml says `agon: true`. debug=true shows tracebacks. The shell completes
    verbs and settings after eval "$(_AGON_COMPLETE=bash_source agon)"; zsh_source and fish_source are there too.
    """


@add_completion_class
class Bash(BashComplete):
    """Bash ends a word at `=`, so a setting comes in three words; and it must put no space behind `budget.usd=`."""

    source_template = BashComplete.source_template.replace(
        "    return 0", "    [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace\n    return 0"
    )
    cut = False

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before, and the one that is being typed."""
        args, typed = super().get_completion_args()
        if typed == "=":
            args, typed, self.cut = args[:-1], f"{args[-1]}=", True
        elif args[-1:] == ["="]:
            args, typed, self.cut = args[:-2], f"{args[-2]}={typed}", True
        return args, typed

    def format_completion(self, item: CompletionItem[str]) -> str:
        """What takes the place of the word, as Bash takes it."""
        value = item.value.partition("=")[2] if self.cut else item.value
        return super().format_completion(CompletionItem(value, item.type))


def main(words: Sequence[str] | None = None) -> int:
    """Runs one command (None: the words of this process).

    Exit code 0: done; 1: an error, in one line; 2: not understood; 3: stopped, or done but for what is listed; 130: interrupted
    (and 143 when a process is told to end, see `agon.__main__`).
    With debug=true errors come with their traceback.
    """
    words = list(sys.argv[1:] if words is None else words)
    try:
        code: int = agon.main(["--help"] if words in ([], ["help"]) else words, "agon", standalone_mode=False)
        return code
    except click.ClickException as error:
        return _failed(error.format_message(), error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        return _failed(stopped(words), 130)
    except Exception as error:
        if "debug=true" in words:
            raise
        return _failed(_said(error), 1)


def _said(error: Exception) -> str:
    """An error in a line: what is wrong, and what to do."""
    if isinstance(error, AgonError):
        return str(error)
    if isinstance(error, OSError) and error.filename:
        name = shown(Path(os.fsdecode(error.filename)))
        return f"{name}: {error.strerror}: mend this, and give the same command again (debug=true shows where)"
    if isinstance(error, OSError) and error.errno == ENOSPC:
        return "the disk is full: make room, and give the same command again"
    text = " ".join(str(error).split())
    if not text and (frames := extract_tb(error.__traceback__)):
        text = f"{frames[-1].line} in {shown(Path(frames[-1].filename))}, line {frames[-1].lineno}"
    return f"{type(error).__name__}: {text} (debug=true shows where)"


def _failed(text: str, code: int) -> int:
    click.echo(f"agon: {visible(text)}", err=True)
    return code
