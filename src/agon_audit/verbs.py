"""The verbs of the room: audit, and reread."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from agon.cli import options
from agon.cli.job import Job
from agon.cli.places import Settings, experiment_of, own_folder, same_words, turns_file
from agon.errors import AgonError, count, visible
from agon.models.base import ReadingRule
from agon.paths import display_path, in_project, read_text_file, write_file

if TYPE_CHECKING:
    from agon_audit.audit import Audit

OUTPUTS = "verdict.json", "audit.html", "found.csv"
MOST_LINES = 10
"""So many differences of each kind are printed with --check; and so many kinds of rounds (FEW) that their rules do not pay."""
FEW = 3
OF_ROUNDS = "points", "exchanged"
OWN_MAPPING = "audit.yaml"
"""The mapping of a folder, where none is named."""


class CannotAudit(click.ClickException):
    """Nothing was audited: exit code 2, so that no script takes it for an audit without differences."""

    exit_code = 2


@click.command(cls=options.Anywhere)
@click.argument("folder")
@click.argument("mapping", required=False)
@click.option("--guess", is_flag=True, help="Writes a first MAPPING, and says what is unsure.")
@click.option("--numbers", metavar="FILE", help="A CSV file of printed numbers; its `how` is run.")
@click.option("--check", metavar="VERDICT", help="Compares with an earlier verdict.json.")
@options.out(help="A folder for the page; else runs/audit-FOLDER.")
@options.force
def audit(
    folder: str, mapping: str | None, guess: bool, numbers: str | None, check: str | None, out: str | None, force: bool
) -> int:
    """Checks recorded games against their rules.

    MAPPING says which column means what: docs/tutorials/audit-recorded-games.md. Exit code 0: no difference; 1:
    differences; 2: nothing could be audited.
    """
    try:
        if guess:
            return _guess(in_project(folder), in_project(mapping or OWN_MAPPING), force)
        return _audit(in_project(folder), mapping, numbers, check, out, force)
    except AgonError as error:
        raise CannotAudit(str(error)) from error
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, MemoryError) as error:
        text = " ".join(str(error).split())[:200]
        raise CannotAudit(f"these files cannot be audited: {type(error).__name__}: {text}") from error


def _guess(folder: Path, mapping: Path, force: bool) -> int:
    from agon_audit.audit import doubts
    from agon_audit.guess import guess, written

    fields, unsure = guess(folder)
    unsure += doubts(folder, fields)
    write_file(mapping, written(fields, unsure), force)
    for text in unsure:
        click.echo(visible(f"unsure: {text}"))
    click.echo(
        f"{display_path(mapping)}: read and complete it, then: agon audit {display_path(folder)} {display_path(mapping)}"
    )
    return 0


def _audit(
    folder: Path, mapping: str | None, numbers: str | None, check: str | None, out: str | None, force: bool
) -> int:
    from agon_audit.audit import audit
    from agon_audit.guess import guess
    from agon_audit.mapping import TABLES, as_mapping, read_mapping
    from agon_audit.page import page, summary
    from agon_audit.printed import read_numbers

    path = in_project(mapping) if mapping else folder / OWN_MAPPING
    if mapping or path.is_file():
        settings, base = read_mapping(path), path.parent
        click.echo(f"mapping: {display_path(path)}")
    else:
        fields, _ = guess(folder)
        if fields["format"] in TABLES:
            raise AgonError(
                f"which column is what? Write a mapping; this writes a first one: agon audit --guess {display_path(folder)}"
            )
        settings, base = as_mapping(fields, "the guess"), folder
        click.echo(f"mapping: none is named; the files look like {fields['format']}")
    place = None if check else own_folder(out or f"runs/audit-{folder.resolve().name}", OUTPUTS, force)
    if place is not None and place.resolve() == folder.resolve():
        raise AgonError(f"--out {display_path(folder)} holds the games: name another folder, which is not audited")
    result = audit(folder, settings, base, read_numbers(in_project(numbers)) if numbers else None)
    verdict = result.verdict()
    if check:
        return _compare(check, verdict, numbers)
    assert place is not None
    _say(result)
    _write(place, page(result), json.dumps(verdict, indent=1, ensure_ascii=False) + "\n", result.found, force)
    click.echo(f"{display_path(place / 'audit.html')}: {summary(result)}")
    return 1 if result.differences else 0


def _compare(check: str, verdict: dict[str, Any], numbers: str | None) -> int:
    """Prints the differences from an earlier verdict. Returns the exit code: 1 if that verdict no longer holds. Raises AgonError."""
    from agon_audit.audit import INPUT, VERDICT, changes

    try:
        old = json.loads(read_text_file(in_project(check), 2**28))
    except (ValueError, RecursionError):
        raise AgonError(f"{check} is no JSON: give a file verdict.json that agon audit has written") from None
    found = changes(old, verdict)
    if found and old.get("numbers") and not numbers:
        raise AgonError(f"{check} has printed numbers: name their file with --numbers")
    for kind, lines in found.items():
        for line in lines[:MOST_LINES]:
            click.echo(visible(f"{kind}: {line}"))
        if len(lines) > MOST_LINES:
            click.echo(f"{kind}: and {count(len(lines) - MOST_LINES, 'difference')} more")
    holds, changed = not {INPUT, VERDICT} & {*found}, " and ".join(found) or "nothing"
    click.echo(f"{check}: {'it holds' if holds else 'it does not hold'}; {changed} changed")
    return 0 if holds else 1


def _say(result: Audit) -> None:
    """Prints the differences, and the parts that could not be checked."""
    from agon_audit.page import ABOUT
    from agon_audit.printed import UNDECIDED, WRONG

    for name, outcome in result.found.items():
        if outcome.count:
            click.echo(visible(f"{ABOUT[name][0]}: {outcome.count:,} of {outcome.looked:,}"))
        if outcome.count and name in OF_ROUNDS:
            for text, (number, of) in outcome.said(FEW):
                click.echo(visible(f"  {text}: {number:,} of {of:,}"))
    for decision in result.numbers:
        if decision.verdict in WRONG or decision.verdict == UNDECIDED:
            click.echo(visible(f"{decision.where}: {decision.value} {decision.verdict}: {decision.why}"))
    for reason in result.skipped:
        click.echo(visible(f"not checked: {reason}"))


def _write(place: Path, html: str, verdict: str, found: dict[str, Any], force: bool) -> None:
    """Writes the outputs of an audit. Raises AgonError where those of another one are there, unless `force`."""
    import pandas as pd

    from agon.turns import no_formula
    from agon_audit.turns import PLACE

    rows = [outcome.rows.assign(check=name) for name, outcome in found.items() if len(outcome.rows)]
    table = pd.concat(rows) if rows else pd.DataFrame(columns=[*PLACE, "what", "check"])
    texts = {name: table[name].astype("str").map(no_formula) for name in ("file", "match", "what")}
    table = table.assign(**texts).to_csv(index=False, lineterminator="\n")
    for name, text in zip(OUTPUTS, (verdict, html, table), strict=True):
        write_file(place / name, text, force)


def reread(settings: Settings, rule: ReadingRule) -> None:
    """Reads recorded answers by another rule.

    It prints how many answers and matches change. experiment=NAME is the recording. out=FILE gets the turns of the
    matches in which no answer changes. Compare them with all turns.
    """
    from agon.games.tables import games_table
    from agon.play import turns_table
    from agon.turns import mark_partial, write, write_games
    from agon_audit.reread import CHANGES, Reread, reread_matches

    name, matches, models, recording = experiment_of(settings)
    if not models:
        raise AgonError(f"experiment {name} asks no model: there are no answers to read")
    out = turns_file(settings, name) if settings["out"] else None
    replayed = {item: Reread(item, model.identity, recording, model.room, rule=rule) for item, model in models.items()}
    answers, unchanged, incomplete = reread_matches(matches, replayed)
    if answers.empty:
        raise AgonError(f"of {name} no match is recorded to its end: python -m agon record {same_words()}".rstrip())
    for (agent, model), rows in answers.groupby(["agent", "model"], sort=False):
        changes, rules = rows.change.value_counts(), " and ".join(sorted(set(rows.recorded)))
        parts = ", ".join(f"{words} {changes.get(change, 0):,}" for change, words in zip(CHANGES, CHANGED, strict=True))
        share = rows.change.ne("").mean()
        click.echo(
            f"{agent}@{model}: {count(len(rows), 'answer')} read {rules}; read {rule}: {parts} ({share:.1%} in all)"
        )
    if set(answers.recorded) == {rule}:
        other = next(name for name in get_args(ReadingRule) if name != rule)
        click.echo(f"note: all were read {rule} when they were recorded; --rule {other} reads them otherwise")
    whole = answers["match"].nunique()
    click.echo(f"{whole - len(unchanged):,} of {count(whole, 'match')} have such an answer")
    if incomplete:
        click.echo(f"note: {count(len(incomplete), 'match')} not recorded to the end are left out")
    if out is None:
        return
    if not unchanged:
        raise AgonError("every match has such an answer: there are no turns to write")
    games = [match for match, _ in unchanged]
    write_games(games_table([match.game for match in games], [match.settings for match in games]), out)
    turns = turns_table(unchanged)
    write(mark_partial(turns, len(matches)) if len(unchanged) < len(matches) else turns, out)
    click.echo(f"{display_path(out)}: {count(len(unchanged), 'match')} without one; agon compare --turns takes it")


CHANGED = ("no action any more", "an action now", "another action")
"""The effects of another rule on answers, in words; the order is that of CHANGES."""


REREAD = Job(
    reread,
    click.Option(["--rule"], type=click.Choice(get_args(ReadingRule)), default="strict", help="The other rule."),
)
