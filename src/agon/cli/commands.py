"""The verbs of agon: each does one thing, and says in a line what it did. A verb's libraries are read when it runs, not before."""

from __future__ import annotations

import inspect
import json
import math
import os
import re
import shlex
import shutil
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from itertools import combinations
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import click

from agon import (
    CODE,
    ROOT,
    SHIPPED,
    AgonError,
    count,
    in_project,
    input_files,
    input_path,
    keep_file,
    shown,
    text_of,
    visible,
)
from agon.games.base import families
from agon.games.settings import Force, make_settings

if TYPE_CHECKING:
    from pandas import DataFrame, Series

    from agon.inference.until import Order
    from agon.models import Model
    from agon.models.ledger import Ledger
    from agon.models.limits import Budget, Spent
    from agon.models.recording import Recording
    from agon.plan import Match
    from agon.record.estimate import Estimate, Habits

T = TypeVar("T")

Settings = Mapping[str, Any]
"""conf/config.yaml as composed."""
MISSING = 12
"""So many lines of matches that are missing."""
OTHER = "name another place with out=, or say force=true to write there all the same"


def plan(settings: Settings) -> None:
    """The bill, unpaid: ranges of calls, tokens, cost, time.

    experiment=NAME is a file in conf/experiment; experiment.repetitions=2 changes a part of it; batch=true asks in batches.
    power=true says what the design can detect of `metric`, detect=2 how many matches show a difference of 2, and with
    budget.usd=50 what 50 dollars can decide; variance=[FILE,FILE] are turns whose matches vary alike (docs/how-to/plan-a-design.md).
    """
    from agon.models.batch import Journal, batched
    from agon.record.estimate import Habits, estimates

    name, matches, models, recording = _experiment(settings)
    variants = Counter((match.game.name, match.game.variant) for match in matches)
    for game, several in Counter(match.game.name for match in matches).items():
        own = [variant for name, variant in variants if name == game]
        number, _, noun = count(several, "match").partition(" ")
        click.echo(f"{game:14} {number:>10} {noun}: {', '.join(own) if len(own) <= 8 else count(len(own), 'setting')}")
    moves = [(match.game.fixed_rounds or 0) * match.game.seats for match in matches]
    decisions = f"{sum(moves):,} decisions, " if all(moves) else ""
    agents = {seat.agent for match in matches for seat in match.seats}
    click.echo(f"{count(len(matches), 'match')}, {decisions}{count(len(agents), 'agent')}")
    if not models:
        click.echo("all scripts: no calls, no cost")
        _say_power(settings, name, matches, models, None)
        return
    if len(recording):
        click.echo(f"recorded already: {count(len(recording), 'exchange')} in {shown(recording.path)}; what is left:")
    if settings["batch"]:
        models = batched(models, Journal(recording.path.parent, recording.holds), click.echo)
    habits = Habits(ROOT / "data/recordings")
    rows = estimates(matches, models, recording, habits)
    width = max(len("  at least"), *(len(name) for name in models))
    click.echo(f"{'':{width}} {'matches':>9} {'calls':>9} {'tokens in':>14} {'tokens out':>14} {'USD':>12} {'time':>9}")
    for each in rows:
        usds = [None] * 3 if each.usd is None else [*each.usd]
        for name, place in ((each.model, 1), ("  at least", 0), ("  at most", 2)):
            calls, sent, received = (_number(part[place]) for part in each.load)
            usd = usds[place]
            told = "unknown" if usd is None else _number(usd, ",.2f")
            played = f"{each.matches:,}" if place == 1 else ""
            click.echo(
                f"{name:{width}} {played:>9} {calls:>9} {sent:>14} {received:>14} {told:>12} {_clock(each.seconds[place]):>9}"
            )
        day = models[each.model].priced
        priced = "no price" if each.usd is None else f"price as of {day}" if day else ""
        click.echo(f"  {each.basis}" + (f"; {priced} in conf/model/{each.model}.yaml" if priced else ""))
    click.echo(_range(rows))
    _say_power(settings, name, matches, models, habits)


def _say_power(
    settings: Settings, name: str, matches: Sequence[Match], models: Mapping[str, Model], habits: Habits | None
) -> None:
    """What the design can detect, what a wanted difference takes, and what the budget can decide: where it is asked for."""
    wanted, metric, usd = settings["detect"], settings["metric"], settings["budget"]["usd"]
    if not (settings["power"] or wanted):
        return
    from agon.inference.power import design

    varying, files = _varying(settings, name, {match.game.name for match in matches})
    assumed = settings["sd"] or 1.0
    made = design(matches, varying, assumed)
    found = made.comparisons()
    if found.empty:
        click.echo("nothing is compared here: all matches of a game have the same agent and the same model")
        return
    bare = int((made.cells.basis == "assumed").sum())
    basis = f"spread as in {', '.join(files)}" if bare < len(made.cells) else f"spread {assumed:g}, assumed"
    if 0 < bare < len(made.cells):
        basis += f"; {bare:,} of {len(made.cells):,} cells are in no record: there {assumed:g} is assumed"
    unit = f"{metric}, in standard deviations within a cell" if bare and not settings["sd"] else metric
    click.echo(f"smallest difference found with a power of 80 % (t test, two-sided 5 %): {unit}; {basis}")
    _columns([["game", "variant", "by", "pairs", "shared cells", "matches of each", "sd", "detects"]], found)
    if found.detectable.isna().any():
        click.echo("-: with one match of each in one cell no difference can be told from chance")
    prices, by_model = _prices(matches, models, habits)
    if wanted:
        each, kinds = made.needed(wanted), len(made.kinds)
        told = "more than a million matches" if each is None else count(each, "match")
        cost = f": {_dollars(by_model * each)}" if each and models else ""
        click.echo(f"a difference of {wanted:g} in each of these takes {told} of each of {kinds:,} kinds{cost}")
    if usd is None or not models:
        return
    if prices.isna().any():
        unknown = ", ".join(by_model.index[by_model.isna()])
        click.echo(f"{usd:g} USD: what a match of {unknown} costs is not known: no price in conf/model")
        return
    if not prices.sum():
        click.echo(f"{usd:g} USD: these matches cost nothing")
        return
    if 2 * prices.sum() > usd:
        click.echo(
            f"{usd:g} USD are not two matches of each kind, which cost about {2 * prices.sum():,.2f}: leave some out"
        )
        return
    even, best = made.scaled(usd / float((prices * made.kinds.n).sum())), made.allocated(prices, usd)
    for title, n in (("in the proportions planned", even), ("placed by Neyman", best)):
        least = made.comparisons(n).groupby("by").detectable.max()
        told = ", ".join(f"{value:.3g} by {by}" for by, value in least.items())
        low, high = (
            f"{n[at]:,} ({made.kinds.game[at]} {made.kinds.variant[at]}, {made.kinds.players[at]})"
            for at in (n.idxmin(), n.idxmax())
        )
        click.echo(
            f"{usd:g} USD {title}: {count(n.sum(), 'match')}, {n @ prices:,.2f} USD, detect {told}; of a kind {low} to {high}"
        )


def _varying(settings: Settings, name: str, games: Collection[str]) -> tuple[DataFrame | None, list[str]]:
    """How recorded matches of these games vary, and the files that say so: those named, the experiment's own, or else the papers'."""
    import pandas as pd

    from agon.inference.power import variances
    from agon.turns import read

    files = list(settings["variance"])
    if not files and settings["sd"] is None:
        own, *others = (f"transcripts/{each}.parquet" for each in (name, *settings["recorded"]))
        files = [own] if input_path(own).is_file() else [each for each in others if input_path(each).is_file()]
    tables = {file: turns[turns.game.isin(games)] for file, turns in zip(files, map(read, files), strict=True)}
    known = {file: variances(turns, settings["metric"]) for file, turns in tables.items() if len(turns)}
    return (pd.concat(known.values()) if known else None), list(known)


def _prices(matches: Sequence[Match], models: Mapping[str, Model], habits: Habits | None) -> tuple[Series, Series]:
    """What a match is expected to cost, by kind, and one of every kind, by model: US dollars, absent where a price is not known."""
    import pandas as pd

    from agon.record.estimate import estimates

    first = {match.config: match for match in reversed(matches)}
    usd: dict[tuple[str, str], float | None] = {}
    if models:
        estimates([*first.values()], models, None, habits, usd)
    kinds = {match.id: kind for kind, match in first.items()}
    rows = [(kinds[match], model, cost) for (match, model), cost in usd.items()]
    costs = pd.DataFrame(rows, columns=["kind", "model", "usd"]).astype({"usd": float})
    by_kind, by_model = (costs.groupby(key).usd.agg(lambda each: each.sum(skipna=False)) for key in ("kind", "model"))
    return by_kind.reindex(list(first), fill_value=0.0), by_model


def _dollars(by_model: Series) -> str:
    """What each model costs, and all together."""
    each = ", ".join(f"{model} {'unknown' if cost != cost else f'{cost:,.2f}'}" for model, cost in by_model.items())
    return f"about {by_model.sum():,.2f} USD ({each})"


def _columns(head: list[list[str]], table: DataFrame) -> None:
    """Prints a table in columns, numbers to three digits."""
    lines = [
        [
            each if isinstance(each, str) else "-" if each != each else f"{each:,.3g}" if each % 1 else f"{each:,.0f}"
            for each in row
        ]
        for row in table.itertuples(index=False)
    ]
    rows = [*head, *lines]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        click.echo(visible("  ".join(map(str.ljust, row, widths)).rstrip()))


def record(settings: Settings) -> int:
    """Asks models and records every answer.

    experiment=NAME is recorded in data/recordings/NAME. budget.usd=N, budget.tokens=N and budget.calls=N are limits; the
    same command goes on where it was stopped. batch=true asks in batches, for less money. readable=0.5 stops it when fewer than
    half of the answers can be read; 'until={by: agent, metric: points, range: [0, 96]}' once it is decided who has more.
    """
    import asyncio

    from agon.inference.prereg import register, withdraw
    from agon.models.batch import Journal, batched
    from agon.models.heard import Unreadable
    from agon.models.ledger import Ledger
    from agon.models.limits import Budget
    from agon.models.recording import Writer
    from agon.record import record as recorded
    from agon.record.estimate import Habits, estimates
    from agon.record.misfit import misfit

    name, matches, models, recording = _experiment(settings)
    asking = [match for match in matches if any(seat.model for seat in match.seats)]
    if not asking:
        raise AgonError(
            f"experiment {name} asks no model: there is nothing to record; python -m agon play experiment={name}"
        )
    dask = settings["executor"]["name"] == "dask"
    if settings["until"] and (settings["batch"] or dask):
        raise AgonError("until waits for matches, one after another: leave batch=true and executor=dask out")
    if settings["batch"] and dask:
        raise AgonError("batch=true needs no workers: the providers do the work; leave executor=dask out")
    if not settings["batch"]:
        Journal(recording.path.parent, recording.holds).require_none_waiting()
    order = _order(settings, asking, models, recording) if settings["until"] else None
    prereg = settings["experiment"].get("prereg")
    planned, asking = len(asking), order.candidates if order else asking
    budget = Budget(**settings["budget"])
    if why := misfit(asking, models, recording):
        click.echo(f"note: {why}; all is asked anew")
    writer = Writer(recording, _lock(name))
    journal, failing = Journal(recording.path.parent, recording.holds), _Failing(budget.spent)
    try:
        if prereg:
            until = order.until if order else None
            for note in register(prereg, recording.path.parent, [each.id for each in matches], len(recording), until):
                click.echo(visible(note))
        if settings["batch"]:
            models = batched(models, journal, click.echo)
        rows = estimates(asking, models, recording, Habits(ROOT / "data/recordings"))
        expected = sum(each.questions for each in rows)
        with _bar(min(expected, int(budget.most["calls"] or expected)), "question") as bar:
            ledger = Ledger(models, writer, budget, readable=settings["readable"])
            ended, matches_at_once = Counter[str](), settings["concurrency"]
            failing.say, failing.once = click.echo if bar.disable else bar.write, not bar.disable

            def tick(match: Match) -> None:
                ended["matches"] += 1

            def told() -> None:
                failing.tell()
                if not bar.disable:
                    _show(bar, ledger, f"{ended['matches']:,}/{len(asking):,} matches")

            if dask:
                from agon.bridges import dask as scale

                asked = scale.record(asking, ledger, settings["executor"], matches_at_once, tick)
            else:
                asked = recorded(asking, ledger, matches_at_once, tick, order)
            halted = asyncio.run(_watched(asked, told))
            told()
    finally:
        writer.close(forgets=True)
        journal.close()
        withdraw(recording.path.parent)
        if budget.spent.calls:
            click.echo(_recorded(recording, budget, failing.said))
    if not budget.spent.calls:
        click.echo(_recorded(recording, budget))
    limits = ", ".join(f"budget.{name}={most:g}" for name, most in budget.most.items() if most is not None)
    click.echo(f"expected before: {_range(rows)}{limits and f', if {limits} allowed it'}")
    last = f", the last: {visible(ledger.answers.last)}" if ledger.answers.last else ""
    click.echo(f"answers: {ledger.answers.share or 'none'}{last}")
    if unread := next((each for each in halted if isinstance(each, Unreadable)), None):
        click.echo(f"stopped: {unread}")
        return 3
    if halted:
        reason = Counter(str(each) for each in halted).most_common(1)[0][0]
        if final := sum(each.final for each in halted):
            again = f"{'they' if final == len(halted) else f'{final:,} of them'} would end there again: change what is said above"
            again += f"; python -m agon play {_same()}".rstrip() + " partial=true plays what is whole"
        else:
            again = "the same command goes on where it was"
        if cause := ledger.answers.cause:
            click.echo(f"why: {cause}")
        click.echo(f"stopped; {count(len(halted), 'match')} begun and not at the end: {visible(reason)}; {again}")
        return 3
    if cause := ledger.answers.cause:
        click.echo(f"note: {cause}")
    if order:
        click.echo("\n".join(map(str, order.answers())))
        click.echo(
            f"{count(len(order.played), 'match')} played of {planned:,} planned"
            + "; no more are left in a cell" * bool(order.undecided())
        )
    click.echo(f"now: python -m agon play {_same()}{' partial=true' if order else ''}".rstrip())
    return 0


def _order(settings: Settings, asking: Sequence[Match], models: Mapping[str, Model], recording: Recording) -> Order:
    """The matches that decide a question, in their order, and what those that are recorded have decided."""
    import msgspec

    from agon.conf import Until
    from agon.inference.until import Order
    from agon.models.ledger import Replayed

    order = Order(asking, msgspec.convert(settings["until"], Until), models)
    order.recorded({name: Replayed(name, model.identity, recording, model.room) for name, model in models.items()})
    return order


def play(settings: Settings) -> None:
    """Plays from scripts and recordings, for nothing.

    experiment=NAME is written to transcripts/NAME.parquet, or to out=FILE. The same command goes on where it was stopped;
    fresh=true plays everything again. partial=true plays the matches that are recorded to their end, and says which are not.
    """
    from filelock import FileLock

    from agon.models.ledger import Replayed, Unrecorded
    from agon.play import play as played
    from agon.record.estimate import Habits, estimates
    from agon.record.misfit import misfit
    from agon.turns import write

    name, matches, models, recording = _experiment(settings)
    out = _out(settings, name)
    lacking: list[Match] | None = [] if settings["partial"] else None
    if settings["partial"] and settings["executor"]["name"] == "dask":
        raise AgonError("partial=true plays here, from the recording, and needs no workers: leave executor=dask out")
    answering = {each: Replayed(each, model.identity, recording, model.room) for each, model in models.items()}
    journal = ROOT / ".agon/played" / name / _code(matches, recording.path if models else None)
    with FileLock(_lock(f"play-{name}"), timeout=-1):
        if settings["fresh"]:
            shutil.rmtree(journal.parent, ignore_errors=True)
        with _bar(len(matches)) as bar:
            try:
                if settings["executor"]["name"] == "dask":
                    from agon.bridges import dask as scale

                    turns = scale.play(matches, answering, settings["executor"], bar.update)
                else:
                    at_once = settings["concurrency"] or 8
                    turns = played(matches, journal, answering, concurrency=at_once, tick=bar.update, lacking=lacking)
            except Unrecorded as error:
                why = misfit(matches, models, recording)
                price = _range(estimates(matches, models, recording, Habits(ROOT / "data/recordings")))
                raise AgonError(
                    f"{error}: {why and f'{why}; '}`dvc pull data.dvc` fetches what was recorded; "
                    f"{f'python -m agon record {_same()}'.rstrip()} would record what is missing, for {price}"
                    + ("; partial=true plays what is whole" if lacking is None else "")
                ) from None
        if lacking:
            turns = _some(turns, len(matches), out, settings["force"])
        write(turns, out)
        for old in set(journal.parent.glob("*/")) - {journal}:
            shutil.rmtree(old, ignore_errors=True)
    if lacking:
        click.echo(f"PARTIAL: {len(lacking):,} of {count(len(matches), 'match')} not recorded to the end:")
        _list(lacking, matches)
    whole = len(matches) - len(lacking or ())
    click.echo(f"{shown(out)}: {count(whole, 'match')}, {count(len(turns), 'turn')}")


def _some(turns: DataFrame, planned: int, out: Path, force: bool) -> DataFrame:
    """The turns of an experiment that lacks matches, named so. Raises AgonError where a whole table is."""
    from agon.turns import marked_partial, partial, read

    if out.exists() and not force and not partial(read(out, ["experiment"])):
        raise AgonError(f"{shown(out)} is of matches that are all whole: {OTHER}")
    return marked_partial(turns, planned)


def _list(lacking: Sequence[Match], matches: Sequence[Match]) -> None:
    """Says which matches are missing, by game and players; the first so many."""

    def kind(match: Match) -> str:
        players = " against ".join(f"{seat.agent}@{seat.model}" if seat.model else seat.agent for seat in match.seats)
        return f"{match.game.name} {match.game.variant}: {players}"

    planned, missing = Counter(map(kind, matches)), Counter(map(kind, lacking))
    for each, number in list(missing.items())[:MISSING]:
        click.echo(visible(f"  {each}: {number:,} of {planned[each]:,}"))
    if len(missing) > MISSING:
        click.echo(f"  and {count(len(missing) - MISSING, 'more such line')}")


def ingest(settings: Settings) -> int:
    """Reads recorded games of a paper into turns.

    source=S path=P is written to transcripts/S.parquet, or to out=FILE. Exit code 3: files that could not be read are listed.
    """
    from agon.conf import games
    from agon.ingest import ingest as ingested
    from agon.turns import write

    out = _out(settings, settings["source"])
    held = games(settings["recorded"].get(settings["source"], []))
    found = ingested(settings["source"], input_path(settings["path"]), held)
    for bad in found.bad:
        click.echo(visible(f"bad: {bad.path}: {bad.reason}").replace("\n", "\\n"), err=True)
    if not found.matches:
        raise AgonError(f"no match in {visible(settings['path'])} could be read: {count(len(found.bad), 'bad file')}")
    write(found.turns, out)
    click.echo(
        f"{shown(out)}: {count(found.matches, 'match')}, {count(len(found.turns), 'turn')}; {count(len(found.bad), 'bad file')}"
    )
    return 3 if found.bad else 0


def compose(*, experiment: Annotated[str, "a file in conf/experiment; nothing: all"] = "") -> None:
    """Writes what each experiment is composed of.

    transcripts/composed/NAME.json has all settings that experiment NAME uses, and for a source of recorded games the games
    that it may hold. `dvc repro` begins with it: stages depend on these files, so what nothing uses runs nothing else again.
    Files of experiments that are gone are deleted, if it wrote them; what another has made stays.
    """
    from agon.conf import configuration, expand_settings, names, settings_of
    from agon.plan import composed

    folder, sources = ROOT / "transcripts/composed", configuration()["recorded"]
    found: dict[str, Any] = {
        source: {"game": {name: settings_of("game", name) for name in expand_settings(held)}}
        for source, held in sources.items()
        if not experiment
    }
    for name in [experiment] if experiment else names("experiment"):
        if name in sources:
            raise AgonError(f"conf/experiment/{name}.yaml is called like a source of recorded games: rename it")
        try:
            if (called := _called(name)) not in (name, None):
                raise AgonError(_misnamed(name, str(called)))
            found[name] = composed(settings_of("experiment", name))
        except AgonError as fault:  # its own stage, if it has one, says the same and fails; others go on
            if experiment:
                raise
            click.echo(visible(f"conf/experiment/{name}.yaml: {fault}"), err=True)
            found[name] = {"fault": str(fault)}
    for name in found:
        if (path := folder / f"{name}.json").exists() and not _is_composed(path):
            raise AgonError(f"{shown(path)} was not written by `agon compose`: move it away")
    written = ROOT / ".agon/composed.json"
    before = set(json.loads(text_of(written)) if written.is_file() else ())
    for name in () if experiment else sorted(before - set(found)):
        if _is_composed(old := folder / f"{name}.json"):
            old.unlink()
    for name, settings in found.items():
        keep_file(folder / f"{name}.json", json.dumps(settings, indent=1, sort_keys=True) + "\n", force=True)
    keep_file(written, json.dumps(sorted(before | set(found) if experiment else found)), force=True)
    click.echo(f"{shown(folder)}: {count(len(found), 'file')}")


def _is_composed(path: Path) -> bool:
    """Whether a file is of the form that `compose` writes."""
    try:
        made = json.loads(text_of(path, 100_000_000))
    except (AgonError, ValueError, RecursionError):
        return False
    parts = {"experiment", "game", "agent", "model", "sampling"}
    return isinstance(made, dict) and set(made) in ({"fault"}, {"game"}, parts)


def verify() -> None:
    """Checks data/ against data.dvc.

    Every file is read, and every copy of it in store/ and .dvc/cache. make repro begins with it.
    """
    from agon.cli.pinned import verify as verified

    if not (ROOT / "data.dvc").is_file():
        raise AgonError(f"{ROOT} has no data.dvc: nothing is pinned there that could be checked")
    verified(ROOT)


def certify_twins(*, out: Annotated[str, "a CSV file for the certificates"] = "results/twins/certificates.csv") -> int:
    """Checks all twins and near-twins that conf/twin declares.

    One row each: what was compared, what solves both, what moved, or a counterexample. Exit code 3: a claim is wrong.
    """
    import pandas as pd

    from agon.games.certificates import certified
    from agon.turns import write_table

    path, rows = _outside_data(out), []
    for row in certified():
        rows.append(row)
        if not row["holds"]:
            click.echo(
                visible(f"{row['game']} {row['setting']}~{row['twin']} is no {row['claim']}: {row['counterexample']}")
            )
    write_table(pd.DataFrame(rows), path)
    wrong = sum(not row["holds"] for row in rows)
    click.echo(f"{shown(path)}: {count(len(rows), 'certificate')}, {count(wrong, 'wrong claim')}")
    return 3 if wrong else 0


def serve(settings: Settings) -> None:
    """People play, watch and annotate in a browser.

    serve.port=N and serve.address=A say where.
    """
    from agon_hall.server import serve as served

    asked = settings["serve"]
    where = asked["address"], asked["port"], asked["origins"], asked["proxy"]
    served(in_project(asked["folder"]), *where, asked["sampling"], click.echo, asked["days"])


def collect(settings: Settings) -> None:
    """Gathers what people have played into one transcript.

    The finished matches of serve are written to transcripts/people.parquet, or to out=FILE. study=NAME gathers a study's alone
    into transcripts/studies/NAME: participants.csv, events.parquet and turns.parquet; who is paid what stays beside the tables.
    """
    from agon.plan import PEOPLE, PERSON
    from agon.play import ordered
    from agon.turns import read, write

    folder = in_project(settings["serve"]["folder"])
    played = sorted((folder / "played").glob("*.parquet"))
    if settings["study"]:
        from agon_hall.gather import gather

        click.echo(gather(folder, settings["study"], _outside_data(f"transcripts/studies/{settings['study']}")))
        return
    if not played:
        raise AgonError("nobody has finished a match yet: python -m agon serve opens the tables")
    out = _out(settings, PEOPLE)
    turns = ordered([read(path) for path in played], [path.stem for path in played])
    write(turns, out)
    people = turns[turns.agent == PERSON].groupby("match", observed=True).seat.nunique().sum()
    click.echo(
        f"{shown(out)}: {count(len(played), 'match')}, {count(people, 'seat')} of people, {count(len(turns), 'turn')}"
    )


def rehearse(settings: Settings) -> None:
    """Tries a study out before people are invited.

    study=NAME is a file in conf/study: keys, budgets and the bill are looked at, and scripts walk through every page as
    participants, and leave transcripts/rehearsed/NAME. It costs nothing: a script sits wherever a model does. browser=true
    shows them the pages in a real browser, where Playwright is installed.
    """
    from agon_hall.rehearsal import rehearse as rehearsed

    if not settings["study"]:
        raise AgonError("say which: python -m agon rehearse study=NAME, a file in conf/study")
    out = in_project("transcripts/rehearsed") / settings["study"]
    rehearsed(settings["study"], click.echo, out, browsers=settings["browser"])


def notebook(name: str, parameters: Mapping[str, Any], run: str, changed: Sequence[str], force: bool) -> None:
    """Runs a notebook.

    agon notebook NAME runs notebooks/NAME.ipynb as the report has it, into reports/; conf/notebook/NAME.yaml, where it is there,
    has its parameters. Others, parameter=value, need a name: run=RUN writes all of it below runs/RUN/. A run that is there is
    made again with force=true.
    """
    from agon.notebook.execution import PARTS, folder_of
    from agon.notebook.execution import run as executed

    folder = folder_of(run)
    if changed and not run and not force:
        raise AgonError(
            f"{' '.join(changed)} is not what the report has: name the run with run=NAME, and all goes to runs/NAME; "
            "force=true writes over the report's own page"
        )
    again = bool(run) and (folder / "reports" / f"{name}.ipynb").exists()
    if again and not force:
        raise AgonError(f"run={run} has a page of {name} already: take another name, or make it again with force=true")
    changes = [in_project(parameters["out"]) / part for part in PARTS] if again and "out" in parameters else []
    with _aside([folder] if run and not folder.exists() else changes):
        made = executed(name, parameters, folder)
    click.echo(shown(made))


@contextmanager
def _aside(folders: Iterable[Path]) -> Iterator[None]:
    """Folders are away, and are as they were where what is done meanwhile fails."""
    places = [*folders]
    before = {each: each.with_name(f".{each.name}.before") for each in places if each.is_dir()}
    for each, away in before.items():
        shutil.rmtree(away, ignore_errors=True)
        each.rename(away)
    try:
        yield
    except BaseException:
        for each in places:
            shutil.rmtree(each, ignore_errors=True)
        for each, away in before.items():
            away.rename(each)
        raise
    for away in before.values():
        shutil.rmtree(away, ignore_errors=True)


def export(
    *,
    experiment: Annotated[str, "whose transcript: transcripts/NAME.parquet"],
    format: Annotated[
        Literal["jsonl", "inspect"], "one JSONL file per match, or Inspect's log: one per model"
    ] = "jsonl",
    out: Annotated[str, "a folder, or for Inspect a file; nothing: exports/NAME"] = "",
    force: Force = False,
) -> None:
    """Writes a transcript for other tools."""
    from agon.bridges import inspect_log, jsonl
    from agon.turns import read

    turns = read(_transcript(experiment))
    usual = f"exports/{experiment}{'.eval' if format == 'inspect' else ''}"
    target = _outside_data(out or usual)
    if format == "jsonl":
        own = {f"{match}.jsonl" for match in turns.match.unique()}
        _own_folder(out or usual, own, force)
        click.echo(f"{shown(target)}: {count(jsonl(turns, target), 'match')}")
    else:
        if target.is_dir() or (target.exists() and out and not force):
            raise AgonError(f"out={out or usual} is there: {OTHER}")
        made = inspect_log(turns, target, input_path(f"data/recordings/{experiment}"))
        click.echo(", ".join(shown(path) for path in made))


def new(
    *what: str,
    path: Annotated[str, "the folder in which it is made"] = "studies",
    model: Annotated[str, "who is asked at first: a file in conf/model; standin needs no model at all"] = "smollm2",
) -> None:
    """Makes a study: a folder of one's own.

    agon new study NAME makes studies/NAME, with conf, a metric, a notebook and stages of its own, which run at once.
    """
    from agon.study import make_study

    if len(what) != 2 or what[0] != "study":
        raise click.UsageError("say: agon new study NAME")
    folder, here = make_study(what[1], model, path), Path.cwd()
    inside = {part for part in (".git", ".dvc") for each in (folder, *folder.parents) if (each / part).exists()}
    first = {0: ["git init", "dvc init"], 1: ["dvc init --subdir"], 2: []}[len(inside)]
    place = folder.relative_to(here) if folder.is_relative_to(here) else folder
    lines = [f"cd {shlex.quote(str(place))}", *first, f"agon record   # asks {model}", "dvc repro     # makes the page"]
    click.echo("\n  ".join([f"{place} is made; what is in it, its README.md says. Now:", *lines]))


def compare(
    *,
    metric: Annotated[str, "one or several, as points,won (agon list metrics)"],
    by: Annotated[str, "COLUMN:ONE,OTHER, as agent:zs,cot; a column alone: all its values"],
    experiment: Annotated[
        str, "whose transcript, transcripts/NAME.parquet; nothing: the project's own experiment"
    ] = "",
    turns: Annotated[str, "or FILE,FILE: turns tables, told apart by the column `file`"] = "",
    within: Annotated[
        str, "columns that two matches must share to be compared; nothing: all that tell seats apart"
    ] = "",
    detect: Annotated[
        float | dict[str, float] | None,
        "a difference: how many matches show it? Of several metrics detect.METRIC=...",
    ] = None,
    alike: Annotated[bool, "all strata count alike, however many matches they have"] = False,
    out: Annotated[str, "a new folder for the tables and a figure per pair; nothing: they are not written"] = "",
    force: Force = False,
) -> None:
    """Compares conditions by a metric.

    Difference with interval, effect size, permutation test, and the matches that it takes: docs/how-to/compare-conditions.md.
    """
    import pandas as pd

    from agon.conf import configuration
    from agon.inference.compare import compare as compared
    from agon.inference.compare import excluded, registered
    from agon.turns import read, write_table

    if experiment and turns:
        raise AgonError("experiment= and turns= both say what to compare: write one of them")
    if not turns:
        experiment = experiment or configuration()["experiment"]["name"]
        turns = _transcript(experiment)
    paths = [Path(each) for each in turns.split(",")]
    folder = _own_folder(out, (), force) if out else None
    tables = [read(path) for path in paths]
    for (one, first), (other, second) in combinations(zip(paths, tables, strict=True), 2):
        if both := set(first.match) & set(second.match):
            raise AgonError(
                f"{shown(one)} and {shown(other)} hold the same match, {min(both)} ({len(both):,} such): take each once"
            )
    table = pd.concat([each.assign(file=name) for name, each in zip(_told_apart(paths), tables, strict=True)])
    keys = [each for each in within.split(",") if each]
    kept, left_out = excluded(table)
    if kept.empty and left_out:
        raise AgonError(f"no match is left to compare: {'; '.join(left_out)}")
    found = compared(kept, metric.split(","), by, within=keys, detect=detect, alike=alike)
    click.echo(str(found))
    for line in registered(table, found.pairs, by, keys, alike):
        click.echo(visible(line))
    if folder is not None:
        for name in ("pairs", "strata", "conditions"):
            write_table(getattr(found, name), folder / f"{name}.csv")
        from agon.figures import save

        for place, row in enumerate(found.pairs.itertuples()):
            save(found.figure(place), folder / re.sub(r"[^\w.-]+", "-", f"{row.metric}_{row.first}_{row.second}"))
        click.echo(f"{shown(folder)}: {count(3, 'table')}, and {count(len(found.pairs), 'figure')}")


def _told_apart(paths: Sequence[Path]) -> list[str]:
    """What files are called in short: without endings, and with as many of their folders as tell them apart."""
    parts = [in_project(path).with_suffix("").parts for path in paths]
    for depth in range(1, max(map(len, parts))):
        names = ["/".join(each[-depth:]) for each in parts]
        if len(set(names)) == len(names):
            return names
    return [str(path) for path in paths]


def rate(
    *,
    metric: Annotated[str, "of which more is better (agon list metrics)"] = "points",
    by: Annotated[str, "columns that name a player"] = "agent,model",
    experiment: Annotated[str, "whose transcript: transcripts/NAME.parquet"] = "",
    turns: Annotated[str, "or a turns table"] = "",
    out: Annotated[str, "a new CSV file for the table; nothing: it is not written"] = "",
) -> None:
    """Ranks all players at once.

    Strengths by Bradley and Terry's model, or Plackett and Luce's, with intervals, ranks and the advantage of seats:
    docs/how-to/rate-many-players.md.
    """
    from agon.inference.compare import rate as rated
    from agon.turns import read, write_table

    if bool(experiment) == bool(turns):
        raise AgonError("say whose matches: experiment=NAME, or turns=FILE")
    path = _outside_data(out) if out else None
    if path is not None and path.exists():
        raise AgonError(f"out={out} is there: name another place")
    found = rated(read(turns or _transcript(experiment)), metric, [each for each in by.split(",") if each])
    head = ["player", "matches", "strength", "95 %", "", "comes first", "rank", "from", "to"]
    _columns([head], found.players)
    for each in found.seats.itertuples():
        click.echo(f"seat {each.seat} over the first: {each.advantage:+.2f} ({each.low:+.2f} to {each.high:+.2f})")
    if found.groups > 1:
        click.echo(f"note: {found.groups} groups of players never met: strengths compare within a group alone")
    if path is not None:
        write_table(found.players, path)


def list_(*kinds: str) -> None:
    """Lists what there is, with a line on each.

    agon list games, agents, models, experiments, notebooks or metrics.
    """
    for kind in kinds:
        rows = _listed(kind)
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            click.echo(visible("  ".join(f"{each:{width}}" for each, width in zip(row, widths, strict=True)).rstrip()))
        if kind == "metrics":
            click.echo(
                "One of your own: METRICS and measured() in a module that `packages` in conf/config.yaml names "
                "(docs/how-to/name-a-metric.md)"
            )


def _listed(kind: str) -> list[tuple[str, ...]]:
    from agon.conf import LISTED, about, names, offered

    if kind not in LISTED:
        raise AgonError(f"{kind!r} cannot be listed: {offered(kind, LISTED)}")
    if kind == "metrics":
        from agon.inference.compare import known

        return [(each.name, f"{each.games}:", each.gives) for each in known()]
    if kind == "notebooks":
        cells = {path.stem: json.loads(text_of(path))["cells"] for path in input_files("notebooks", "*.ipynb")}
        return [(name, "".join(own[0]["source"][:1]).strip("# \n")) for name, own in cells.items()]
    group = kind.removesuffix("s")
    rows = [(name, about(group, name)) for name in names(group)]
    return rows + (_tables({name for name, _ in rows}) if kind == "experiments" else [])


def _tables(known: Collection[str]) -> list[tuple[str, ...]]:
    """Turns tables that are no experiment of conf: what takes experiment=NAME takes them, but there is nothing to ask or play."""
    from agon.conf import configuration

    use = "for compare, rate, export and notebooks (no file in conf/experiment)"
    found = {path.stem: f"the turns of {shown(path)}, {use}" for path in input_files("transcripts", "*.parquet")}
    for source in configuration()["recorded"]:
        found[source] = f"recorded games that `agon ingest source={source}` reads, {use}"
    return [(name, told) for name, told in found.items() if name not in known]


def _experiment(settings: Settings) -> tuple[str, list[Match], dict[str, Model], Recording]:
    """The experiment's name, its matches, the models that they ask, and what these have answered already."""
    from agon.conf import names
    from agon.ingest import SOURCES
    from agon.models.recording import Recording
    from agon.plan import PEOPLE, models_of, plan

    experiment = settings["experiment"]
    if settings["study"]:
        from agon_hall.protocol import matches as of_study
        from agon_hall.protocol import study

        made = study(settings["study"])
        (matches, models), name = of_study(made), made.name
    else:
        matches, models = plan(experiment, large=settings["large"]), models_of(experiment)
        name = experiment["name"]
    if (maker := {**dict.fromkeys(SOURCES, "ingest"), PEOPLE: "collect"}.get(name)) is not None:
        raise AgonError(f"{name} is the name of what `agon {maker}` makes: set experiment.name to another")
    for file in names("experiment"):
        if file != name and _called(file) == name:
            raise AgonError(_misnamed(file, name))
    return name, matches, models, Recording(ROOT / "data/recordings" / name)


def _transcript(experiment: str) -> str:
    """Where an experiment's turns are. Raises AgonError where nothing is called so, in conf or in transcripts/."""
    from agon.conf import configuration, names, offered

    path = f"transcripts/{experiment}.parquet"
    known = {*names("experiment"), *configuration().get("recorded", {})}
    if experiment not in known and not (ROOT / path).exists():
        raise AgonError(
            f"there is no experiment {experiment!r}: {offered(experiment, sorted(known), 'agon list experiments')}"
        )
    return path


def _called(file: str) -> str | None:
    """How conf/experiment/`file`.yaml calls itself; None where it cannot be read, which is said where it is used."""
    from agon.conf import settings_of

    try:
        return str(settings_of("experiment", file).get("name", file))
    except AgonError:
        return None


def _misnamed(file: str, name: str) -> str:
    return f"conf/experiment/{file}.yaml says `name: {name}`: call both the same, for stages and files go by it"


def _lock(name: str) -> Path:
    path = ROOT / ".agon/locks" / f"{name}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _outside_data(out: str) -> Path:
    path = in_project(out)
    if any(path.resolve().is_relative_to(project / "data") for project in (ROOT, SHIPPED)):
        raise AgonError(f"out={out} lies in data/, which holds inputs only: name another place")
    return path


def _out(settings: Settings, name: str) -> Path:
    """The file to write: none yet, or a turns table of `name`. Raises AgonError for inputs, and for what others have made."""
    from agon.turns import experiments, is_turns

    out = _outside_data(settings["out"] or f"transcripts/{name}.parquet")
    if not out.exists() or (settings["force"] and out.is_file()):
        return out
    if not is_turns(out):
        raise AgonError(f"out={settings['out']} is there and is no turns table: name another file, or move it away")
    if others := sorted(experiments(out) - {name}):
        raise AgonError(f"{shown(out)} holds turns of {', '.join(others)}, not of {name}: {OTHER}")
    return out


def _own_folder(out: str, own: Collection[str], force: bool) -> Path:
    """The folder, which is none yet, or holds only files of `own` names. Raises AgonError."""
    path = _outside_data(out)
    if path.exists() and not path.is_dir():
        raise AgonError(f"out={out} is a file: name a folder")
    strange = [each.name for each in sorted(path.glob("*")) if each.name not in own] if path.is_dir() else []
    if strange and not force:
        raise AgonError(f"out={out} holds {strange[0]}, which another has made: {OTHER}")
    return path


def _same() -> str:
    """The settings of this command, for another on the same matches."""
    spent_or_run = (
        "budget",
        "until",
        "batch",
        "readable",
        "executor",
        "concurrency",
        "fresh",
        "partial",
        "debug",
        "out",
    )
    words = click.get_current_context().params["words"]
    return shlex.join(word for word in words if not word.startswith(spent_or_run))


def _code(matches: Sequence[Match], recording: Path | None) -> str:
    """A hash of the code and answers that decide what a match becomes: a journal of others is not gone on with."""
    sources = {path for part in ("games", "agents", "models") for path in (CODE / part).rglob("*.py")}
    sources |= {CODE / name for name in ("conf.py", "loop.py", "plan.py", "play.py", "turns.py")}
    made = {getattr(seat.player, "func", seat.player) for match in matches for seat in match.seats}
    made |= {type(match.game) for match in matches}
    sources |= {Path(file) for each in made if (file := inspect.getsourcefile(each))}
    folders = {folder for match in matches for folder in families(match.game)}
    sources |= {path for folder in folders for path in folder.rglob("*") if path.suffix in (".py", ".md")}
    if recording is not None and recording.is_file():
        sources.add(recording)
    return blake2b(b"".join(path.read_bytes() for path in sorted(sources)), digest_size=6).hexdigest()


def _range(rows: Sequence[Estimate]) -> str:
    """About how many calls and US dollars, from a low to a high; models of unknown price are named."""
    unknown = [each.model for each in rows if each.usd is None]
    (low, calls, high), (least, usd, most) = (
        [sum(part[place] for part in parts) for place in range(3)]
        for parts in ([each.load.calls for each in rows], [each.usd or (0.0, 0.0, 0.0) for each in rows])
    )
    return (
        f"about {count(round(calls), 'call')}, {usd:,.2f} USD"
        + f" ({low:,.0f} to {_number(high)} calls, {least:,.2f} to {_number(most, ',.2f')} USD)"
        + (f"; the money for {', '.join(unknown)} is not in it, whose price conf/model does not say" if unknown else "")
    )


def _number(value: float, form: str = ",.0f") -> str:
    return format(value, form) if math.isfinite(value) else "no bound"


def _clock(seconds: float) -> str:
    if not math.isfinite(seconds):
        return "no bound"
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3 * 86_400:
        return f"{seconds / 60:.0f} min" if seconds < 3600 else f"{seconds / 3600:,.1f} h"
    return f"{seconds / 86_400:,.0f} days"


def _recorded(recording: Recording, budget: Budget, said: str = "") -> str:
    """What is in the recording now, and what this command has spent; `said`: why a call failed, as was told before."""
    spent, unknown = budget.spent, budget.unreported
    cached = (
        f", {spent.tokens_cached / spent.tokens_in:.0%} of them from the provider's cache" if spent.tokens_in else ""
    )
    unpriced = f" and {count(spent.unpriced, 'answer')} of unknown price" if spent.unpriced else ""
    told = f" ({spent.charged:,.4f} as charged by the provider, the rest reckoned)" if spent.charged else ""
    errors = ", ".join(f"{number:,} x {kind}" for kind, number in spent.errors.most_common()) or "none"
    errors += f", the last: {spent.last}" if spent.last not in ("", said) else ""
    more = (
        f", and for calls that did not say what they cost {unknown.tokens:,} tokens and {unknown.usd:,.4f} USD at most"
    )
    return (
        f"{shown(recording.path)}: {count(len(recording), 'exchange')}; "
        f"{count(spent.calls, 'call')}, {spent.tokens_in:,} tokens in{cached}, {spent.tokens_out:,} out, "
        f"{spent.usd:,.4f} USD{told}{unpriced}{more if unknown.tokens else ''}; errors: {errors}"
    )


def _bar(total: int, unit: str = "match") -> Any:
    """A bar whose rate is the mean since it began, and which says so whatever happens meanwhile."""
    from tqdm import tqdm

    disable = not sys.stderr.isatty() and "AGON_PROGRESS" not in os.environ
    return tqdm(total=total, unit=unit, disable=disable, smoothing=0, dynamic_ncols=True)


async def _watched(work: Awaitable[T], show: Callable[[], object]) -> T:
    """Does some work, and calls `show` now and then, also while the work waits for others."""
    import asyncio

    async def watch() -> None:
        while True:
            show()
            await asyncio.sleep(0.5)

    watching = asyncio.create_task(watch())
    try:
        return await work
    finally:
        watching.cancel()


class _Failing:
    """Says that calls fail: once for every kind of failure, and if more fail, again after 1, 2, 4 ... minutes.

    `once`, beside a bar that counts them: the first time alone.
    """

    def __init__(self, spent: Spent, say: Callable[..., object] = click.echo, once: bool = False) -> None:
        self.spent, self.say, self.once = spent, say, once
        self.failed, self.kinds, self.wait, self.next = 0, 0, 60.0, math.inf
        self.said = ""
        """Why a call failed, as last told."""

    def tell(self) -> None:
        """Says so where it is time."""
        failed, kinds, now = self.spent.errors.total(), len(self.spent.errors), monotonic()
        anew = kinds > self.kinds and not (self.once and self.kinds)
        if anew or (failed > self.failed and now >= self.next):
            why = f", the last: {self.spent.last}; failed calls are tried again" * (self.spent.last != self.said)
            self.say(visible(f"note: {count(failed, 'call')} failed so far{why}"), file=sys.stderr)
            self.said = self.spent.last
            self.failed, self.kinds = failed, kinds
            self.wait, self.next = 2 * self.wait, math.inf if self.once else now + self.wait


def _show(bar: Any, ledger: Ledger, matches: str) -> None:
    """Questions asked now, of those that were expected; what came of them, what it cost, and errors by kind."""
    spent, heard = ledger.budget.spent, ledger.answers
    errors = " ".join(f"{kind}:{number}" for kind, number in spent.errors.most_common(3))
    parts = [matches, count(heard.rounds, "round"), count(spent.calls, "call"), heard.share, f"{spent.usd:.2f} USD"]
    bar.n = heard.questions
    bar.total = max(bar.total, bar.n)
    bar.set_postfix_str(", ".join(filter(None, [*parts, errors and f"errors {errors}"])), refresh=True)


VERBS = [
    new,
    plan,
    record,
    play,
    ingest,
    serve,
    collect,
    rehearse,
    notebook,
    export,
    compare,
    rate,
    list_,
    compose,
    verify,
    certify_twins,
    make_settings,
]
