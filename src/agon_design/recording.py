"""The work of the verbs register and record-until."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from math import isnan

import click

from agon.cli.hosts import say_hosts
from agon.cli.places import Settings, experiment_of, lock_of, same_words, say_cautions, say_differences
from agon.cli.recording import FailureNotes, await_with_progress, describe_spending
from agon.errors import AgonError, visible
from agon.models import Model
from agon.models.batch import Journal
from agon.models.ledger import Ledger
from agon.models.limits import Budget
from agon.models.recording import Writer
from agon.paths import ROOT, display_path
from agon.report.registration import Look, add_look, explain_other_plan, registration
from agon_design import fit, prereg, until


def register(settings: Settings, file: str) -> None:
    """Keeps a preregistration and the plan beside the recording."""
    _, matches, models, recording = experiment_of(settings)
    preregistration, _ = prereg.read(file)
    for note in fit.check(preregistration, matches):
        click.echo(f"note: {visible(note)}")
    if preregistration.until is not None:
        _warn_of_dependence(models)
    ids = [match.id for match in matches]
    click.echo(visible(prereg.register(file, recording.path.parent, ids, len(recording))))


def record_until(settings: Settings) -> int:
    """Asks block by block, and returns the exit code."""
    name, matches, models, recording = experiment_of(settings)
    entry = registration(recording.path.parent)
    rule = None if entry is None else prereg.content_of(entry).until
    if entry is None or rule is None:
        raise AgonError(
            f"experiment {name} has no registered question to stop by: write `until` into a file, and register it "
            f"(python -m agon register --file FILE experiment={name})"
        )
    if why := explain_other_plan(recording.path.parent, [match.id for match in matches]):
        raise AgonError(f"{why}: say the same settings")
    if settings["batch"]:
        raise AgonError("record-until waits for matches, one after another: leave batch=true out")
    say_cautions(settings)
    say_differences(matches, models, recording)
    say_hosts(models, settings["other_hosts"])
    _warn_of_dependence(models)
    planned = until.blocks(matches, rule)
    Journal(recording.path.parent, recording.holds).require_none_waiting()
    budget, writer = Budget(**settings["budget"]), Writer(recording, lock_of(name))
    failing, rules = FailureNotes(budget.costs), {"readable": settings["readable"], "served": settings["served"]}
    ledger = Ledger(models, writer, budget, say=lambda line: click.echo(visible(line), err=True), **rules)
    work = until.record_until(planned, rule, ledger, recording, settings["concurrency"], say=click.echo)
    try:
        answer, halted = asyncio.run(await_with_progress(work, failing.tell))
    finally:
        writer.close(forget_failures=True)
        click.echo(describe_spending(recording, budget, failing.said))
    ends = (None, None) if isnan(answer.low) else (float(answer.low), float(answer.high))
    add_look(recording.path.parent, Look(rule.metric, rule.by, str(answer), *ends))
    if halted:
        [(reason, _)] = Counter(map(str, halted)).most_common(1)
        click.echo(f"stopped: {visible(reason)}; the same command continues")
        return 3
    end = "" if answer.sign else "; no more matches are left in a cell"
    click.echo(f"{answer}{end}; {display_path(recording.path)} holds what it took")
    repro = "; for dvc repro write `partial: true` into conf/config.yaml" if (ROOT / "dvc.yaml").is_file() else ""
    click.echo(f"now: python -m agon play {f'{same_words()} '.lstrip()}partial=true{repro}")
    return 0


def _warn_of_dependence(models: Mapping[str, Model]) -> None:
    """Prints why repetitions may not be independent."""
    for warning in until.dependence(models):
        click.echo(f"note: {visible(warning)}")
