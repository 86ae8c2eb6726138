"""The commands: each composes the configuration, does one thing, and says what it did in a line."""

import asyncio
import inspect
import os
import shlex
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

from filelock import FileLock
from tqdm import tqdm

from agon import ROOT, AgonError
from agon.conf import configuration, games
from agon.estimate import Bill, bills
from agon.models import Halted
from agon.models.ledger import Ledger, Replayed, Unrecorded
from agon.models.limits import Budget, Spent
from agon.models.recording import Recording, Writer
from agon.plan import PERSON, Match, models_of, plan
from agon.turns import is_turns, read, shown, write

HELP = """python -m agon VERB [setting=value ...]

  plan experiment=NAME         the bill, unpaid: matches, and per model expected calls, tokens, cost and time
  record experiment=NAME       asks models and records every answer in data/recordings; goes on where it was stopped
  play experiment=NAME         plays from scripts and recordings into transcripts/NAME.parquet, for nothing
  ingest source=S path=P       reads recorded games of a paper into turns; out=FILE names the file
  serve                        people play, watch and annotate in a browser; serve.port=N, serve.address=A
  collect                      the finished matches of serve into transcripts/people.parquet
  notebook NAME                runs notebooks/NAME.ipynb into reports/
  export experiment=NAME       its transcript as one JSONL file per match, or format=inspect as Inspect's log

Settings are those of conf/config.yaml; experiments are files in conf/experiment. debug=true shows tracebacks."""


def main(arguments: Sequence[str]) -> int:
    """Runs one command. Exit code 0: done; 1: an error, in one line; 2: not understood; 3: done, but for bad files, listed."""
    verb, *rest = arguments or ["help"]
    if verb in ("help", "-h", "--help"):
        sys.stdout.write(HELP + "\n")
        return 0
    if verb not in VERBS:
        return _failed(f"there is no command {verb!r}: there are {', '.join(VERBS)} (python -m agon help)", 2)
    debug = "debug=true" in rest
    try:
        return VERBS[verb](rest)
    except AgonError as error:
        if debug:
            raise
        return _failed(str(error), 1)
    except KeyboardInterrupt:
        return _failed("stopped; the same command goes on where it was", 130)
    except Exception as error:
        if debug:
            raise
        return _failed(f"{type(error).__name__}: {' '.join(str(error).split())} (debug=true shows where)", 1)


def _plan(rest: Sequence[str]) -> int:

    settings = configuration(rest)
    matches = plan(settings["experiment"])
    variants = Counter((match.game.name, match.game.variant) for match in matches)
    for game, count in Counter(match.game.name for match in matches).items():
        own = [variant for name, variant in variants if name == game]
        shown_variants = ", ".join(own) if len(own) <= 8 else f"{len(own)} settings"
        _say(f"{game:14} {count:10,} matches: {shown_variants}")
    agents = {seat.agent for match in matches for seat in match.seats}
    if all(match.game.fixed_rounds for match in matches):
        decisions = sum((match.game.fixed_rounds or 0) * match.game.seats for match in matches)
        _say(f"{len(matches):,} matches, {decisions:,} decisions, {len(agents)} agents")
    else:
        _say(f"{len(matches):,} matches, {len(agents)} agents")
    models = models_of(settings["experiment"])
    if not models:
        _say("all scripts: no calls, no cost")
        return 0
    recording = Recording(_recordings(settings))
    if len(recording):
        _say(f"recorded already: {len(recording):,} exchanges in {shown(recording.path)}; what is left:")
    rows = bills(matches, models, recording)
    width = max(len(name) for name in models)
    _say(f"{'':{width}} {'matches':>9} {'calls':>9} {'tokens in':>14} {'tokens out':>12} {'USD':>10} {'time':>9}")
    for bill in rows:
        usd = "unknown" if bill.usd is None else f"{bill.usd:,.2f}"
        _say(
            f"{bill.model:{width}} {bill.matches:9,} {bill.asked.calls:9,.0f} {bill.asked.tokens_in:14,.0f} "
            f"{bill.asked.tokens_out:12,.0f} {usd:>10} {_clock(bill.seconds):>9}"
        )
    _say(_price(rows) + " (expected; prompt caches may make it cheaper, unreadable answers dearer)")
    return 0


def _price(rows: Sequence[Bill]) -> str:
    unknown = [bill.model for bill in rows if bill.usd is None]
    known = sum(bill.usd or 0.0 for bill in rows)
    return f"about {sum(bill.asked.calls for bill in rows):,.0f} calls, {known:,.2f} USD" + (
        f" and what {', '.join(unknown)} cost: no price in conf/model" if unknown else ""
    )


def _clock(seconds: float) -> str:
    return (
        f"{seconds / 3600:,.1f} h"
        if seconds >= 3600
        else f"{seconds / 60:.0f} min"
        if seconds >= 60
        else f"{seconds:.0f} s"
    )


def _recordings(settings: Mapping[str, Any]) -> Path:
    return ROOT / "data" / "recordings" / str(settings["experiment"]["name"])


def _record(rest: Sequence[str]) -> int:
    settings = configuration(rest)
    name = settings["experiment"]["name"]
    matches, models = plan(settings["experiment"]), models_of(settings["experiment"])
    asking = [match for match in matches if any(seat.model for seat in match.seats)]
    if not asking:
        raise AgonError(
            f"experiment {name} asks no model: there is nothing to record; python -m agon play experiment={name}"
        )
    recording, budget = Recording(_recordings(settings)), Budget(**settings["budget"])
    expected = _price(bills(asking, models, recording))
    writer = Writer(recording, ROOT / ".agon" / "locks" / f"{name}.lock")
    try:
        with _bar(len(asking), "match") as bar:
            ledger = Ledger(models, writer, budget, lambda: _show(bar, budget.spent))
            halted = asyncio.run(_recorded(asking, ledger, settings, lambda match: bar.update(1)))
    finally:
        writer.close()
        _say(f"{shown(recording.path)}: {len(recording):,} exchanges; {_bill(budget.spent)}")
    _say(f"expected before: {expected}")
    if halted:
        reason = Counter(str(each) for each in halted).most_common(1)[0][0]
        _say(
            f"stopped; {len(halted):,} of the matches begun are not at their end: {reason}; the same command goes on where it was"
        )
        return 3
    _say(f"now: python -m agon play {_same(rest)}")
    return 0


def _same(rest: Sequence[str]) -> str:
    """The settings of a command, for another command on the same matches."""
    spent_or_run = ("budget", "executor", "concurrency", "fresh", "debug", "out")
    return shlex.join(each for each in rest if not each.startswith(spent_or_run))


async def _recorded(
    matches: Sequence[Match], ledger: Ledger, settings: Mapping[str, Any], tick: Callable[[Match], object]
) -> list[Halted]:
    if settings["executor"]["name"] == "dask":
        from agon.bridges import dask as scale

        return await scale.record(matches, ledger, settings["executor"], settings["concurrency"], tick)
    from agon.record import record

    return await record(matches, ledger, settings["concurrency"], tick)


def _bill(spent: Spent) -> str:
    cached = (
        f", {spent.tokens_cached / spent.tokens_in:.0%} of them from the provider's cache" if spent.tokens_in else ""
    )
    unpriced = f" and {spent.unpriced:,} answers of unknown price" if spent.unpriced else ""
    errors = ", ".join(f"{count:,} x {kind}" for kind, count in spent.errors.most_common()) or "none"
    errors += f", the last: {spent.last}" if spent.last else ""
    return (
        f"{spent.calls:,} calls, {spent.tokens_in:,} tokens in{cached}, {spent.tokens_out:,} out, "
        f"{spent.usd:,.4f} USD{unpriced}; errors: {errors}"
    )


def _show(bar: Any, spent: Spent) -> None:
    """Calls, tokens, cost and errors so far, beside the matches; now and then."""
    if bar.disable or bar.format_dict["elapsed"] - getattr(bar, "shown", -1.0) < 0.5:
        return
    bar.shown = bar.format_dict["elapsed"]
    rate = spent.calls / max(bar.shown, 1e-9)
    errors = " ".join(f"{kind}:{count}" for kind, count in spent.errors.most_common(3))
    bar.set_postfix_str(f"{rate:.1f} calls/s, {spent.tokens:,} tokens, {spent.usd:.2f} USD {errors}")


def _play(rest: Sequence[str]) -> int:
    from agon.play import play

    settings = configuration(rest)
    matches, models = plan(settings["experiment"]), models_of(settings["experiment"])
    name = settings["experiment"]["name"]
    out = _out(settings, name)
    recording = Recording(_recordings(settings))
    answering = {each: Replayed(each, model.identity, recording) for each, model in models.items()}
    journal = ROOT / ".agon" / "played" / name / _code(matches, recording.path if models else None)
    with FileLock(_lock(f"play-{name}"), timeout=-1):
        if settings["fresh"]:
            shutil.rmtree(journal.parent, ignore_errors=True)
        with _bar(len(matches), "match") as bar:
            try:
                if settings["executor"]["name"] == "dask":
                    from agon.bridges import dask as scale

                    turns = scale.play(matches, answering, settings["executor"], bar.update)
                else:
                    turns = play(matches, journal, answering, concurrency=settings["concurrency"] or 8, tick=bar.update)
            except Unrecorded as error:
                price = _price(bills(matches, models, recording))
                raise AgonError(
                    f"{error}: `dvc pull` fetches what was recorded; "
                    f"python -m agon record {_same(rest)} would record what is missing, for {price}"
                ) from None
        write(turns, out)
        for old in set(journal.parent.glob("*/")) - {journal}:
            shutil.rmtree(old, ignore_errors=True)
    _say(f"{shown(out)}: {len(matches):,} matches, {len(turns):,} turns")
    return 0


def _lock(name: str) -> Path:
    path = ROOT / ".agon" / "locks" / f"{name}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _out(settings: Mapping[str, Any], name: str) -> Path:
    """The file to write: a turns table, or none yet. Raises AgonError for inputs and for other tables."""
    out = ROOT / Path(settings["out"] or f"transcripts/{name}.parquet").expanduser()
    if out.resolve().is_relative_to(ROOT / "data"):
        raise AgonError(f"out={settings['out']} lies in data/, which holds inputs only: name a file elsewhere")
    if out.exists() and not is_turns(out):
        raise AgonError(f"out={settings['out']} is there and is no turns table: name another file, or move it away")
    return out


def _code(matches: Sequence[Match], recording: Path | None) -> str:
    """A hash of the code and answers that decide what a match becomes: a journal of others is not gone on with."""
    sources = {path for part in ("games", "agents", "models") for path in (ROOT / "src/agon" / part).rglob("*.py")}
    sources |= {ROOT / "src/agon" / name for name in ("plan.py", "play.py", "turns.py")}
    players = {getattr(seat.player, "func", seat.player) for match in matches for seat in match.seats}
    sources |= {Path(file) for player in players if (file := inspect.getsourcefile(player))}
    if recording is not None and recording.is_file():
        sources.add(recording)
    return blake2b(b"".join(path.read_bytes() for path in sorted(sources)), digest_size=6).hexdigest()


def _bar(total: int, unit: str) -> Any:
    return tqdm(total=total, unit=unit, disable=not sys.stderr.isatty() and "AGON_PROGRESS" not in os.environ)


def _ingest(rest: Sequence[str]) -> int:
    from agon.ingest import ingest

    settings = configuration(rest)
    out = _out(settings, settings["source"])
    found = ingest(settings["source"], ROOT / Path(settings["path"]).expanduser(), games())
    for bad in found.bad:
        sys.stderr.write(f"bad: {bad.path}: {bad.reason}\n")
    if not found.matches:
        raise AgonError(f"no match in {settings['path']} could be read: {len(found.bad)} bad files")
    write(found.turns, out)
    _say(f"{shown(out)}: {found.matches:,} matches, {len(found.turns):,} turns; {len(found.bad):,} bad files")
    return 3 if found.bad else 0


def _notebook(rest: Sequence[str]) -> int:
    from agon.notebook import run

    names = [item for item in rest if "=" not in item]
    if len(names) != 1:
        raise AgonError("name one notebook: python -m agon notebook NAME [parameter=value ...]")
    made = run(names[0], [item for item in rest if "=" in item and item != "debug=true"])
    _say(f"{made.relative_to(ROOT)}")
    return 0


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")


def _export(rest: Sequence[str]) -> int:
    from agon.bridges import inspect_log, jsonl

    said = dict(item.partition("=")[::2] for item in rest)
    name, form = said.get("experiment.name", said.get("experiment")), said.get("format", "jsonl")
    known = {"experiment", "experiment.name", "format", "out", "debug"}
    if not name or form not in ("jsonl", "inspect") or set(said) - known:
        raise AgonError("say what to export: python -m agon export experiment=NAME format=jsonl|inspect [out=PATH]")
    turns = read(f"transcripts/{name}.parquet")
    out = ROOT / Path(said.get("out") or f"exports/{name}{'.eval' if form == 'inspect' else ''}").expanduser()
    if out.resolve().is_relative_to(ROOT / "data"):
        raise AgonError(f"out={said['out']} lies in data/, which holds inputs only: name a place elsewhere")
    if form == "jsonl":
        _say(f"{shown(out)}: {jsonl(turns, out):,} matches")
    else:
        _say(", ".join(shown(path) for path in inspect_log(turns, out, ROOT / "data" / "recordings" / name)))
    return 0


def _failed(text: str, code: int) -> int:
    sys.stderr.write(f"agon: {text}\n")
    return code


def _serve(rest: Sequence[str]) -> int:
    from agon_hall.server import serve

    asked = configuration(rest)["serve"]
    serve(ROOT / asked["folder"], asked["address"], asked["port"], asked["origins"], asked["sampling"], _say)
    return 0


def _collect(rest: Sequence[str]) -> int:
    from agon.play import ordered

    settings = configuration(rest)
    played = sorted((ROOT / settings["serve"]["folder"] / "played").glob("*.parquet"))
    if not played:
        raise AgonError("nobody has finished a match yet: python -m agon serve opens the tables")
    out, parts = _out(settings, "people"), [read(path) for path in played]
    turns = ordered(parts, [path.stem for path in played])
    write(turns, out)
    people = turns[turns.agent == PERSON].groupby("match", observed=True).seat.nunique().sum()
    _say(f"{shown(out)}: {len(played):,} matches, {people:,} seats of people, {len(turns):,} turns")
    return 0


VERBS: dict[str, Callable[[Sequence[str]], int]] = {
    "plan": _plan,
    "record": _record,
    "play": _play,
    "ingest": _ingest,
    "serve": _serve,
    "collect": _collect,
    "notebook": _notebook,
    "export": _export,
}
