"""The verbs of this package. They import their libraries when they run, not before."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import click

from agon.cli import options
from agon.cli.job import Job
from agon.cli.places import Settings, note_outside, outside_data, own_folder, transcript_of
from agon.errors import AgonError, count, visible
from agon.paths import display_path, in_project

OF_PROJECT = "Takes transcripts/NAME.parquet; else that of the project's own experiment."


def _differences(_: click.Context, __: click.Parameter, words: Sequence[str]) -> float | dict[str, float] | None:
    """One difference, or that of each metric by its name."""
    pairs = [word.rpartition("=") for word in words]
    try:
        differences = {metric: float(number) for metric, _, number in pairs}
    except ValueError:
        raise click.BadParameter("write a number, or METRIC=NUMBER") from None
    if "" in differences and len(words) > 1:
        raise click.BadParameter("write METRIC=NUMBER for each of several metrics")
    return differences.get("", differences or None)


@click.command()
@click.option(
    "--metric",
    metavar="METRIC,...",
    required=True,
    shell_complete=options.names_of("metrics"),
    help="One or several, such as points,won (agon list metrics).",
)
@click.option(
    "--by",
    metavar="COLUMN:ONE,OTHER",
    required=True,
    help="Such as agent:zs,cot. A column alone compares all its values.",
)
@options.experiment(help=OF_PROJECT)
@options.turns(metavar="FILE,...", help="Turns tables instead; the column `file` names them.")
@click.option(
    "--within",
    metavar="COLUMN,...",
    help="Columns in which two matches must agree to be compared; by default all columns that describe seats.",
)
@click.option(
    "--detect",
    metavar="[METRIC=]NUMBER",
    multiple=True,
    callback=_differences,
    help="Says how many matches detect this difference. With several metrics give METRIC=NUMBER for each.",
)
@click.option("--alike", is_flag=True, help="Give all strata the same weight, however many matches they have.")
@options.out(help="A new folder for the tables and a figure of each pair; else they are not written.")
@options.force
def compare(
    metric: str,
    by: str,
    experiment: str | None,
    turns: str | None,
    within: str | None,
    detect: float | dict[str, float] | None,
    alike: bool,
    out: str | None,
    force: bool,
) -> None:
    """Compares conditions by a metric.

    It prints the difference with its interval, the effect size, a permutation test, and how many matches are needed:
    docs/how-to/compare-conditions.md.
    """
    from agon.conf import configuration

    if experiment and turns:
        raise AgonError("--experiment and --turns both say what to compare: write one of them")
    if not turns:
        experiment = experiment or configuration()["experiment"]["name"]
        turns = transcript_of(experiment)
    paths = [Path(item) for item in turns.split(",")]
    folder = own_folder(out, (), force) if out else None
    keys = [item for item in (within or "").split(",") if item]
    metrics, columns = metric.split(","), [by.partition(":")[0], *keys]
    _require_names(metrics, columns, paths)

    import pandas as pd

    from agon.report.sources import answer_sources, explain_sources
    from agon.turns import read_games, read_parts, write_table
    from agon_design.compare import compare_seats, question, seats_for
    from agon_design.registered import check_comparison, exclude
    from agon_design.units import columns_to_read

    asked, games = question(metrics, by, within=keys, detect=detect, alike=alike), read_games(*paths)
    tables = [
        seats_for(
            asked, (part.assign(file=name) for part in read_parts(path, columns_to_read(metrics, columns))), games
        )
        for path, name in zip(paths, _short_names(paths), strict=True)
    ]
    for (one, first), (other, second) in combinations(zip(paths, tables, strict=True), 2):
        if both := set(first.match) & set(second.match):
            raise AgonError(
                f"{display_path(one)} and {display_path(other)} have the same match, {min(both)} ({len(both):,} in all): keep each once"
            )
    seats = pd.concat(tables, ignore_index=True)
    analysed, left_out = exclude(seats)
    if analysed.empty and left_out:
        raise AgonError(f"no match is left to compare: {'; '.join(left_out)}")
    comparison = compare_seats(analysed, games, asked)
    click.echo(str(comparison))
    for source in answer_sources(seats[seats.model.ne("")]).itertuples():
        click.echo(visible(explain_sources(source)))
    for line in [*check_comparison(seats, comparison.pairs, by, keys, alike), *left_out]:
        click.echo(visible(line))
    if folder is not None:
        for name in ("pairs", "strata", "conditions"):
            write_table(getattr(comparison, name), folder / f"{name}.csv")
        from agon.figures import save

        for place, row in enumerate(comparison.pairs.itertuples()):
            save(comparison.figure(place), folder / re.sub(r"[^\w.-]+", "-", f"{row.metric}_{row.first}_{row.second}"))
        click.echo(f"{display_path(folder)}: {count(3, 'table')}, and {count(len(comparison.pairs), 'figure')}")


def _require_names(metrics: Sequence[str], columns: Sequence[str], paths: Sequence[Path]) -> None:
    """Raises AgonError for a metric, column or file that does not exist, before anything large is read."""
    from agon.scores import require_metrics
    from agon.turns import column_names
    from agon_design.units import OPPONENTS, require_columns

    of_turns = [name for path in paths for name in column_names(path)]
    require_columns(columns, list(dict.fromkeys([*of_turns, *OPPONENTS, "file"])))
    require_metrics(metrics)


def _short_names(paths: Sequence[Path]) -> list[str]:
    """Short names of files: without endings, and with as many of their folders as tell them apart."""
    parts = [in_project(path).with_suffix("").parts for path in paths]
    for depth in range(1, max(map(len, parts))):
        names = ["/".join(part[-depth:]) for part in parts]
        if len(set(names)) == len(names):
            return names
    return [str(path) for path in paths]


@click.command()
@click.option(
    "--metric",
    default="points",
    shell_complete=options.names_of("metrics"),
    help="A metric of which more is better (agon list metrics).",
)
@click.option("--by", metavar="COLUMN,...", default="agent,model", help="Columns that name a player.")
@options.experiment(help=OF_PROJECT)
@options.turns()
@options.out(help="A new CSV file for the table; else it is not written.")
def rate(metric: str, by: str, experiment: str | None, turns: str | None, out: str | None) -> None:
    """Ranks all players at once.

    It estimates strengths by Davidson's model of ties, with intervals and ranks: docs/how-to/rate-many-players.md.
    """
    from agon.conf import configuration

    if experiment and turns:
        raise AgonError("--experiment and --turns both say whose matches: write one of them")
    source = turns or transcript_of(experiment or configuration()["experiment"]["name"])
    path = outside_data(out) if out else None
    if path is not None and path.exists():
        raise AgonError(f"--out {out} exists already: choose another file")
    if path is not None:
        note_outside(path)
    columns = [name for name in by.split(",") if name]
    _require_names([metric], columns, [Path(source)])

    from agon.turns import read_games, read_parts, write_table
    from agon_design.compare import rate_seats, seats_to_rate
    from agon_design.units import columns_to_read
    from agon_design.words import say_columns

    parts = read_parts(source, columns_to_read([metric], columns))
    seats = seats_to_rate(parts, read_games(source), metric, columns)
    strengths = rate_seats(seats, metric, columns)
    head = ["player", "matches", "strength", "95 %", "", "comes first", "rank", "from", "to"]
    say_columns([head], strengths.players)
    click.echo(
        "note: strength: log-odds of decided matches, by Davidson's model of ties (without ties Bradley and Terry's)"
    )
    click.echo(f"note: {strengths.ties:.0%} of all pairs tied; from, to: ranks that 95 % confidence leaves")
    if strengths.ties == 1:
        click.echo("note: every match was a tie: nothing tells these players apart")
    if len(games := sorted(set(seats.game))) > 1:
        click.echo(f"note: one list of {len(games)} games ({', '.join(games)}): wins in all of them count together")
    if strengths.groups > 1:
        click.echo(f"note: {strengths.groups} groups of players never met: strengths compare within a group alone")
    if path is not None:
        write_table(strengths.players, path)


def power(settings: Settings, metric: str, detect: float | None, sd: float | None, variance: str | None) -> None:
    """Says how small a difference a plan can detect.

    experiment=NAME is a file in conf/experiment. With budget.usd=50 it also says what difference 50 dollars can detect:
    docs/how-to/plan-a-design.md.
    """
    from agon_design import planning

    planning.power(settings, metric, detect, sd, variance)


def register(settings: Settings, file: str) -> None:
    """Registers hypotheses before the first answer.

    experiment=NAME is the experiment to record. The hypotheses and the planned matches are kept beside its recording.
    They cannot change after the first answer: docs/how-to/preregister.md.
    """
    from agon_design import recording

    recording.register(settings, file)


def record_until(settings: Settings) -> int:
    """Asks models until the registered question is decided.

    The question is in `until` of the registration (agon register). budget.usd=N, budget.tokens=N and budget.calls=N are
    limits. If it stops, the same command continues and decides in the same way: docs/how-to/preregister.md.
    """
    from agon_design import recording

    return recording.record_until(settings)


def _above_0(_: click.Context, option: click.Parameter, value: float | None) -> float | None:
    if value is not None and not 0 < value < float("inf"):
        raise AgonError(f"--{option.name} must be a number above 0, not {value:g}")
    return value


POWER = Job(
    power,
    click.Option(
        ["--metric"],
        default="points",
        shell_complete=options.names_of("metrics"),
        help="The metric that is compared (agon list metrics).",
    ),
    click.Option(
        ["--detect"],
        type=float,
        callback=_above_0,
        help="Says how many matches show this difference, and what they cost.",
    ),
    click.Option(
        ["--sd"],
        type=float,
        callback=_above_0,
        help="The standard deviation within a cell, where nothing is recorded.",
    ),
    click.Option(
        ["--variance"],
        metavar="FILE,...",
        help="Turns that vary as the planned ones will; else the experiment's own, or the papers'.",
    ),
)
"""`agon power`."""
REGISTER = Job(register, click.Option(["--file"], required=True, help="Question, hypotheses, exclusions and until."))
"""`agon register`."""
RECORD_UNTIL = Job(record_until)
"""`agon record-until`."""
