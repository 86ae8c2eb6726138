"""The commands: each composes the configuration, does one thing, and says what it did in a line."""

import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

from tqdm import tqdm

from agon import ROOT, AgonError
from agon.plan import configuration, games, plan

HELP = """python -m agon VERB [setting=value ...]

  plan experiment=NAME         what would be played, unpaid: matches, games, agents
  play experiment=NAME         plays into transcripts/NAME.parquet; goes on where it was stopped
  ingest source=S path=P       reads recorded games of a paper into turns; out=FILE names the file
  notebook NAME                runs notebooks/NAME.ipynb into reports/

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
    matches = plan(configuration(rest)["experiment"])
    counts = Counter((match.game.name, match.game.variant) for match in matches)
    decisions = sum(match.game.rounds * match.game.seats for match in matches)
    for (game, variant), count in counts.items():
        sys.stdout.write(f"{game:10} {variant:10} {count:8,} matches\n")
    agents = {seat.agent for match in matches for seat in match.seats}
    sys.stdout.write(
        f"{len(matches):,} matches, {decisions:,} decisions, {len(agents)} agents, all scripts: no calls, no cost\n"
    )
    return 0


def _play(rest: Sequence[str]) -> int:
    from agon.play import play
    from agon.records import shown, write

    settings = configuration(rest)
    matches = plan(settings["experiment"])
    name = settings["experiment"]["name"]
    journal = ROOT / ".agon" / "played" / name / _code()
    if settings["fresh"]:
        shutil.rmtree(journal.parent, ignore_errors=True)
    with _bar(len(matches), "match") as bar:
        turns = play(matches, journal, settings["concurrency"], bar.update)
    out = ROOT / (settings["out"] or f"transcripts/{name}.parquet")
    write(turns, out)
    for old in set(journal.parent.glob("*/")) - {journal}:
        shutil.rmtree(old, ignore_errors=True)
    sys.stdout.write(f"{shown(out)}: {len(matches):,} matches, {len(turns):,} turns\n")
    return 0


def _code() -> str:
    """A hash of the code that decides what a match becomes: a journal written by other code is not gone on with."""
    sources = [*(ROOT / "src/agon").glob("games/**/*.py"), *(ROOT / "src/agon").glob("agents/**/*.py")]
    sources += [ROOT / "src/agon" / name for name in ("plan.py", "play.py", "records.py")]
    return blake2b(b"".join(path.read_bytes() for path in sorted(sources)), digest_size=6).hexdigest()


def _bar(total: int, unit: str) -> Any:
    return tqdm(total=total, unit=unit, disable=not sys.stderr.isatty() and "AGON_PROGRESS" not in os.environ)


def _ingest(rest: Sequence[str]) -> int:
    from agon.ingest import ingest
    from agon.records import shown, write

    settings = configuration(rest)
    found = ingest(settings["source"], ROOT / Path(settings["path"]).expanduser(), games())
    for bad in found.bad:
        sys.stderr.write(f"bad: {bad.path}: {bad.reason}\n")
    if not found.matches:
        raise AgonError(f"no match in {settings['path']} could be read: {len(found.bad)} bad files")
    out = ROOT / (settings["out"] or f"transcripts/{settings['source']}.parquet")
    write(found.turns, out)
    sys.stdout.write(
        f"{shown(out)}: {found.matches:,} matches, {len(found.turns):,} turns; {len(found.bad):,} bad files\n"
    )
    return 3 if found.bad else 0


def _notebook(rest: Sequence[str]) -> int:
    from agon.notebook import run

    names = [item for item in rest if "=" not in item]
    if len(names) != 1:
        raise AgonError("name one notebook: python -m agon notebook NAME [parameter=value ...]")
    made = run(names[0], [item for item in rest if "=" in item and item != "debug=true"])
    sys.stdout.write(f"{made.relative_to(ROOT)}\n")
    return 0


def _failed(text: str, code: int) -> int:
    sys.stderr.write(f"agon: {text}\n")
    return code


VERBS: dict[str, Callable[[Sequence[str]], int]] = {
    "plan": _plan,
    "play": _play,
    "ingest": _ingest,
    "notebook": _notebook,
}
