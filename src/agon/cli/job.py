"""A verb that Hydra runs: its settings come from conf/, its words are overrides and options of Hydra."""

from __future__ import annotations

import inspect
import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from errno import ENOSPC, EPIPE
from functools import partial
from typing import TYPE_CHECKING

import click

from agon.cli.places import Settings
from agon.errors import AgonError
from agon.paths import SHIPPED, read_text_file

if TYPE_CHECKING:
    from omegaconf import DictConfig

OPTIONS = [
    click.Option(
        ["--cfg"], type=click.Choice(["job", "hydra", "all"]), help="Print the composed settings, and do nothing."
    ),
    click.Option(
        ["-i", "--info"],
        type=click.Choice(["all", "config", "defaults", "defaults-tree", "plugins", "searchpath"]),
        help="Print where settings come from, and do nothing.",
    ),
    click.Option(["-m", "--multirun"], is_flag=True, help="Run once for each value: experiment.repetitions=2,4."),
]
"""Options that go to Hydra unchanged."""


class Job(click.Command):
    """A verb from a function of settings. It may have options of its own, which the function takes by their names."""

    def __init__(self, run: Callable[..., int | None], *options: click.Option) -> None:
        words = click.Argument(["words"], nargs=-1, metavar="[setting=value ...]")
        name, params = run.__name__.replace("_", "-"), [words, *OPTIONS, *options]
        super().__init__(name, callback=self._start, params=params, help=inspect.getdoc(run))
        self.run = run

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the file of settings as it is."""
        formatter.write(f"\nSettings (conf/agon.yaml):\n\n{read_text_file(SHIPPED / 'conf/agon.yaml')}")

    def _start(self, words: Sequence[str], cfg: str | None, info: str | None, multirun: bool, **options: object) -> int:
        if strange := [word for word in words if word.startswith("-")]:
            raise click.NoSuchOption(strange[0])
        if writes := [word for word in words if word.lstrip("+").startswith(("hydra.output_subdir", "hydra.run"))]:
            raise click.UsageError(f"{writes[0]}: commands keep no copy of their settings; --cfg job prints them")
        of_hydra = [*(["--cfg", cfg] if cfg else []), *(["--info", info] if info else []), *["--multirun"] * multirun]
        if cfg and not multirun:  # Hydra prints settings as they are
            from agon.conf import configuration

            configuration(words)
        program = f"agon {self.name}"
        if multirun and not (cfg or info):
            _check_runs(program, [*of_hydra, *words])
        return _run_by_hydra(partial(self.run, **options), program, [*of_hydra, *words])


def _check_runs(program: str, words: Sequence[str]) -> None:
    """Checks the settings of all runs of --multirun before the first run. Raises AgonError, also where two would write one file."""
    from agon.plan.experiment import experiment_of

    files = Counter[str]()

    def check(settings: Settings) -> None:
        files[settings["out"] or experiment_of(settings["experiment"]).name] += 1

    _run_by_hydra(check, program, words)
    if program == "agon play" and max(files.values(), default=0) > 1:  # of other commands, runs may share a name
        raise AgonError(
            "several of these runs would write the same file: give each its own, such as out='smoke/${experiment.repetitions}.parquet'"
        )


class _Ended(BaseException):
    """Carries a job's error through Hydra, which would print an Exception itself."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


def _run_by_hydra(run: Callable[[Settings], int | None], program: str, words: Sequence[str]) -> int:
    """Composes settings by `hydra.main`, checks them, and calls `run`. Returns the largest exit code of its runs.

    Raises AgonError, and the errors of `run`.
    """
    import hydra
    from hydra.core.hydra_config import HydraConfig
    from hydra.errors import HydraException
    from hydra.types import RunMode

    from agon.conf import (
        FAULTS,
        MAIN,
        PRIMARY,
        VERSION,
        check_settings,
        explain_error,
        hydra_session,
        search_project,
    )

    codes = [0]

    def job(composed: DictConfig) -> None:
        try:
            codes.append(run(check_settings(composed)) or 0)
        except Exception as error:
            if isinstance(error, AgonError) and HydraConfig.get().mode == RunMode.MULTIRUN:
                error = AgonError(f"{' '.join(HydraConfig.get().overrides.task)}: {error}")
            raise _Ended(error) from error

    search_project()
    before = sys.argv
    sys.argv = [program, *words]
    os.environ["HYDRA_FULL_ERROR"] = "1"  # an error of composition is raised, and not printed by Hydra
    try:
        with hydra_session():
            hydra.main(str(MAIN), PRIMARY, VERSION)(job)()
        return max(codes)
    except (HydraException, *FAULTS) as error:
        if isinstance(error, OSError) and error.errno in (EPIPE, ENOSPC):  # Hydra could not print the settings
            raise
        raise explain_error(error) from error
    except _Ended as ended:
        raise ended.error from None
    finally:
        sys.argv = before
