"""The one parser of commands: `agon VERB [setting=value ...]`, with help, completion, and errors in one line.

Verbs are the functions (agon.cli.verb) among the VERBS of agon.cli.verbs, and of a `commands.py` in the folder of any family of games.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from errno import ENOSPC
from functools import cache
from importlib import import_module
from pathlib import Path
from traceback import extract_tb
from typing import Any

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class

from agon import CODE, AgonError, shown, stopped, visible
from agon.cli.verb import SETTINGS, Verb, verb


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
    verbs = [verb(run) for run in import_module(module).VERBS]
    return {each.name or "": each for each in verbs}


@cache
def _all() -> tuple[dict[str, Verb], list[str]]:
    """All verbs by name; and, in a line each, what is wrong with a family's commands, which breaks no others."""
    known, faults = dict(_verbs("agon.cli.verbs")), []
    for module in _families():
        try:
            own = _verbs(module)
        except (Exception, SystemExit) as error:  # a reader's own may do anything
            faults.append(f"{module} cannot be used: {type(error).__name__}: {' '.join(str(error).split())}")
            continue
        faults += [f"{module}: there is a command {name} already: rename its own" for name in own if name in known]
        known |= {name: each for name, each in own.items() if name not in known}
    return known, faults


class Verbs(click.Group):
    """All verbs. Those of families are looked for only where agon itself has none of the name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names."""
        return list(_all()[0])

    def get_command(self, ctx: click.Context, cmd_name: str) -> Verb | None:
        """The verb of that name, if there is one."""
        return _verbs("agon.cli.verbs").get(cmd_name) or _all()[0].get(cmd_name)

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
