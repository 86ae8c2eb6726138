"""The group of all commands, whose errors are one line.

Verbs are the click commands in VERBS, the entry points `agon.verbs` of other packages (name: the verb; value: its click command), and
those in VERBS of a `commands.py` in the folder of any family of games. Each does one thing, and prints a line about it. Its libraries
are imported when it runs.
"""

import os
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from errno import ENOSPC
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from traceback import extract_tb
from typing import Any

import click

from agon.cli.job import Job
from agon.cli.listing import list_
from agon.cli.notebooks import new, notebook
from agon.cli.options import Anywhere
from agon.cli.planning import plan
from agon.cli.playing import play
from agon.cli.recording import record
from agon.cli.upkeep import verify
from agon.errors import AgonError, interruption_message, visible
from agon.paths import CODE, CONFIG, MARK, ROOT, STRANGE, UNTRUSTED, display_path

VERBS: dict[str, click.Command] = {
    "new": new,
    "plan": Job(plan),
    "record": Job(record),
    "play": Job(play),
    "notebook": notebook,
    "list": list_,
    "verify": verify,
}
NUMBERS = {"float": "is not a number", "integer": "is not a whole number"}
"""Click's words for a kind of number -> ours."""


def _family_modules() -> Iterator[str]:
    """Modules with verbs of families of games: in agon, and outside src."""
    for path in sorted(CODE.glob("games/*/commands.py")):
        yield f"agon.games.{path.parent.name}.commands"
    from agon.conf import find_families

    with suppress(AgonError):  # the command that needs a game names the fault; help and completion still come
        yield from (f"{folder.name}.commands" for folder in find_families() if (folder / "commands.py").is_file())


@cache
def _entry_points() -> dict[str, EntryPoint]:
    """The verbs of other packages, by name."""
    return {entry.name: entry for entry in entry_points(group="agon.verbs")}


@cache
def _all_verbs() -> tuple[dict[str, click.Command], list[str]]:
    """All verbs by name; and a line on each module that cannot be used. Such a module breaks no other verb."""
    verbs, faults = dict(VERBS), []
    for name, entry in sorted(_entry_points().items()):
        try:
            verbs[name] = _load(entry)
        except AgonError as error:
            faults.append(str(error))
    for module in _family_modules():
        try:
            own_verbs = {verb.name or "": verb for verb in import_module(module).VERBS}
        except (Exception, SystemExit) as error:  # a reader's module may raise anything
            faults.append(f"{module} cannot be used: {type(error).__name__}: {' '.join(str(error).split())}")
            continue
        faults += [
            f"{module}: there is a command {name} already: rename its own" for name in own_verbs if name in verbs
        ]
        verbs |= {name: verb for name, verb in own_verbs.items() if name not in verbs}
    return verbs, list(dict.fromkeys(faults))


def _load(entry: EntryPoint) -> click.Command:
    """A verb of another package. Raises AgonError where the package is gone, or cannot be used."""
    package = entry.module.partition(".")[0]
    if find_spec(package) is None:
        raise AgonError(f"{package} is not installed: put its folder back, or install agon again")
    try:
        verb: click.Command = entry.load()
        return verb
    except (Exception, SystemExit) as error:  # another's package may raise anything
        raise AgonError(
            f"{entry.value} cannot be used: {type(error).__name__}: {' '.join(str(error).split())}"
        ) from error


class Verbs(click.Group):
    """All verbs. Other packages and families are searched only for names that agon itself does not have."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all verbs."""
        return list(_all_verbs()[0])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb of that name, if there is one. Raises AgonError for a verb whose package cannot be used."""
        if verb := VERBS.get(cmd_name):
            return verb
        entry = _entry_points().get(cmd_name)
        return _load(entry) if entry else _all_verbs()[0].get(cmd_name)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes why some commands are missing."""
        for fault in _all_verbs()[1]:
            formatter.write_paragraph()
            formatter.write_text(fault)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """The verb at the start of `args`. Raises AgonError and UsageError where it cannot run."""
        name, *words = args
        if not ctx.resilient_parsing:
            if (verb := self.get_command(ctx, name)) is None:
                from agon.conf import suggest

                suggestions = "; ".join([suggest(name, self.list_commands(ctx)), *_all_verbs()[1]])
                raise click.UsageError(f"there is no command {name!r}: {suggestions} (agon --help)")
            if name != "new" and not {"-h", "--help"} & {*words}:
                _require_project(verb)
            _require_options(verb, words, ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> int:
        """Runs a verb."""
        try:
            return super().invoke(ctx) or 0
        except KeyboardInterrupt:
            return _report_error(interruption_message([ctx.invoked_subcommand or ""]), 130)
        except (SystemExit, GeneratorExit) as error:  # a reader's own code may raise anything
            raise RuntimeError(f"{error!r} was raised while {ctx.invoked_subcommand} ran") from error


def _require_project(verb: click.Command) -> None:
    """Says which project is used if it is not the working folder. Raises AgonError where a nearer folder lacks the mark."""
    if STRANGE is not None and not isinstance(verb, Anywhere):
        raise AgonError(
            f"{STRANGE / CONFIG} does not say `{MARK}`: if {STRANGE} is a project of agon (such as an older study), "
            "add this line to the file; if not, go to a project, or make one: agon new study NAME"
        )
    if UNTRUSTED is not None:
        reason = "it belongs to another user, or everybody may write to it"
        click.echo(f"note: the project {UNTRUSTED} is not used from here, because {reason}", err=True)
    if ROOT not in (here := Path.cwd(), here.resolve()):
        click.echo(f"note: the project is {ROOT}", err=True)


def _require_options(verb: click.Command, words: Sequence[str], ctx: click.Context) -> None:
    """Raises UsageError for a word name=value where the verb has an option --name, for the reverse, and for a word without its option."""
    options = {option.name: option for option in verb.params if isinstance(option, click.Option)}
    for word in words:
        name, equals, value = word.partition("=")
        if isinstance(verb, Job) and name.startswith("--") and name[2:] not in {*options, "help", ""}:
            raise click.UsageError(f"{verb.name} has settings: write {_setting(name[2:])}=VALUE instead of {name}")
        if equals and name in options:
            correct = f"--{name}" if options[name].is_flag else f"--{name} {shlex.quote(value)}"
            raise click.UsageError(f"{verb.name} has options: write {correct} instead of {word}")
    if any(isinstance(parameter, click.Argument) for parameter in verb.params):
        return
    context = click.Context(verb, ctx, verb.name)
    alone: list[str] = []
    with suppress(click.UsageError):  # said when the verb is parsed
        alone = verb.make_parser(context).parse_args([*words])[1]
    if alone:
        correct = f": write --turns {shlex.quote(alone[0])}" if "turns" in options else f", and {alone[0]} is none"
        raise click.UsageError(f"{verb.name} takes only options{correct}", context)


def _setting(name: str) -> str:
    """The setting of a name: experiment.repetitions for `repetitions`; another name stays."""
    from agon.plan.experiment import Experiment

    return f"experiment.{name}" if name in Experiment.__struct_fields__ else name


@click.group(
    cls=Verbs,
    subcommand_metavar="VERB ...",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120, "show_default": True},
)
@click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of an error.")
@click.version_option(package_name="agon", message="%(prog)s %(version)s")
def agon() -> None:
    """Language models, scripts and people play games of social and strategic reasoning.

    Settings are in conf/agon.yaml and experiments in conf/experiment. Paths start at the project's folder: the nearest
    folder, from here upwards, whose conf/config.yaml says `agon: true`. To complete verbs, options and names in the
    shell, run eval "$(_AGON_COMPLETE=bash_source agon)", or zsh_source or fish_source.
    """


def main(words: Sequence[str] | None = None) -> int:
    """Runs one command (None: the words of this process).

    Exit code 0: done; 1: an error, in one line; 2: not understood; 3: stopped, or done but for what is listed; 130: interrupted
    (and 143 when a process is told to end, see `agon.__main__`).
    With --debug errors come with their traceback.
    """
    words = list(sys.argv[1:] if words is None else words)
    try:
        code: int = agon.main(["--help"] if words in ([], ["help"]) else words, "agon", standalone_mode=False)
        return code
    except click.ClickException as error:
        hint = f"({error.ctx.command_path} --help)" if isinstance(error, click.UsageError) and error.ctx else ""
        return _report_error(" ".join([*_words_of(error).split(), hint]).rstrip(), error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        return _report_error(interruption_message(words), 130)
    except Exception as error:
        if "--debug" in words:
            raise
        return _report_error(_describe_error(error), 1)


def _words_of(error: click.ClickException) -> str:
    """An error of click in our words."""
    if isinstance(error, click.NoSuchOption):
        near = f": did you mean {error.possibilities[0]}?" if error.possibilities else ""
        return f"there is no option {error.option_name}{near}"
    if isinstance(error, click.MissingParameter) and error.param and error.ctx:
        parameter = error.param
        if isinstance(parameter, click.Option):
            return (
                f"{error.ctx.info_name} needs {parameter.opts[0]} {parameter.make_metavar(error.ctx)}: {parameter.help}"
            )
        return f"{error.ctx.info_name} needs {parameter.make_metavar(error.ctx)}"
    return re.sub(r"is not a valid (float|integer)( range)?\b", lambda kind: NUMBERS[kind[1]], error.format_message())


def _describe_error(error: Exception) -> str:
    """An error in a line: the fault, and the remedy."""
    if isinstance(error, AgonError):
        return str(error)
    if isinstance(error, OSError) and error.filename:
        name = display_path(Path(os.fsdecode(error.filename)))
        return f"{name}: {error.strerror}: mend this, and give the same command again (agon --debug shows where)"
    if isinstance(error, OSError) and error.errno == ENOSPC:
        return "the disk is full: make room, and give the same command again"
    text = " ".join(str(error).split())
    if not text and (frames := extract_tb(error.__traceback__)):
        text = f"{frames[-1].line} in {display_path(Path(frames[-1].filename))}, line {frames[-1].lineno}"
    return f"{type(error).__name__}: {text} (agon --debug shows where)"


def _report_error(message: str, code: int) -> int:
    """Prints an error, and returns its exit code."""
    click.echo(f"agon: {visible(message)}", err=True)
    return code
