"""The verb audit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agon.cli import options
from agon.cli.places import own_folder
from agon.errors import AgonError, count, visible
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

    MAPPING says which column is what: docs/tutorials/audit-recorded-games.md. Exit code 0: no difference; 1: differences;
    2: nothing could be audited.
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
    """Says what differs from an earlier verdict. The exit code is 1 where that one no longer holds. Raises AgonError."""
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
    """Prints what was found, and what could not be checked."""
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
