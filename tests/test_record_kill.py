"""Recording against all odds: killed at any moment, and with a provider that fails in every way it can.

AGON_FULL=1: 50 kills of 200 matches, and 10,000 decisions with faults; fewer of both otherwise. AGON_KILLS=100: so many kills.
"""

import re
import signal
import sys
import textwrap
import time
from random import Random

import pandas as pd
import patience
import pytest
from patience import LONG, until
from prepared import Command
from project import FULL, KILLS, Project, moved, serving

from agon.models.recording import FILE, Recording
from agon.turns import read

TIMES = KILLS or (50 if FULL else 3)
MATCHES = max(24, 4 * TIMES)
DECISIONS = 10_000 if FULL else 608
CONCURRENCY = 10
ROUNDS = 16
FAULTS = (
    *("429", "429 after", "429 after ms", "500", "503", "529", "408", "409", "silence", "drop", "cut", "drip", "html"),
    *("malformed", "no answer", "error in 200", "list", "empty", "length", "refusal", "policy", "flagged"),
)
"""All but those after which no call can succeed or a match stops (too long), and the date, which asks to wait half a minute."""


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path / "project")


def turns_of(name, *projects):
    """What `play` makes of an experiment, in each project; all columns but the seconds that calls took."""
    for project in projects:
        done(project.run("play", f"experiment={name}"))
    return [read(project.folder / f"transcripts/{name}.parquet").drop(columns="seconds") for project in projects]


def done(run):
    """What a command said, which came to its end."""
    out, errors = run.communicate(LONG) if isinstance(run, Command) else (run.stdout, run.stderr)
    assert run.returncode == 0, errors
    return out


def killed(process, server, dice, calls=MATCHES * ROUNDS):
    """Waits for a random moment, in the start as well as amid the `calls`, and kills; whether it was still running."""
    mean = calls / TIMES / 2
    most = 1.5 * mean  # so that there is something left for the last one, however slow the machine
    early = dice.random() < 0.2
    wanted = server.requests + (most if early else min(most, dice.expovariate(1 / mean)))
    end = time.monotonic() + (1.6 * dice.random() if early else LONG)
    while server.requests < wanted and time.monotonic() < end and process.poll() is None:
        time.sleep(0.002)
    if not early:
        time.sleep(0.02 * dice.random())
    process.kill()
    process.communicate(LONG)
    return process.returncode == -9


def test_after_any_kills_a_recording_ends_the_same(project, tmp_path):
    dice, kills = Random(), 0
    undisturbed = Project(tmp_path / "undisturbed")
    with serving(latency=0.004, answer=moved) as server, serving(latency=0.004, answer=moved) as quiet:
        for each, url in ((project, server.openai), (undisturbed, quiet.openai)):
            each.model(url, concurrency=CONCURRENCY)
            each.experiment("killed", MATCHES)
        whole = undisturbed.start("record", "experiment=killed")
        for _ in range(TIMES):
            kills += killed(project.start("record", "experiment=killed"), server, dice)
        done(project.run("record", "experiment=killed"))
        done(whole)
    recording, same = (Recording(each.recordings("killed")) for each in (project, undisturbed))
    assert quiet.requests == len(same) == len(recording) and recording.failures == 0
    repeated = server.requests - len(recording)
    print(f"{kills} kills, {len(recording)} exchanges, {repeated} calls repeated")
    assert kills >= (TIMES if FULL or KILLS else 2) and 0 <= repeated <= kills * CONCURRENCY
    pd.testing.assert_frame_equal(*turns_of("killed", project, undisturbed))


def test_ctrl_c_ends_in_one_line_and_keeps_all_that_was_answered(project):
    with serving(latency=0.02, answer=moved) as server:
        project.model(server.openai, concurrency=CONCURRENCY)
        project.experiment("stopped", 12)
        process = project.start("record", "experiment=stopped")
        until(lambda: server.requests >= 50 or process.poll() is not None, "50 requests")
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(LONG)
        assert (process.returncode, errors) == (130, "agon: stopped; the same command continues\n")
        assert 0 <= server.requests - len(Recording(project.recordings("stopped"))) <= CONCURRENCY
        done(project.run("record", "experiment=stopped"))
        recording = Recording(project.recordings("stopped"))
        assert 0 <= server.requests - len(recording) <= CONCURRENCY and recording.failures == 0


def test_under_any_provider_matches_end_and_calls_are_on_record(project):
    """What is countable: the server counts a request when it has read it, whatever it then does to it.

    So dropped and unanswered ones count on both sides. Calls that are given up before it has read them do not count there,
    if the machine does so much else that this takes 3 s.
    """
    shares = {fault: 0.2 / len(FAULTS) for fault in FAULTS}
    with serving(faults=shares, after=0.01, latency=0.004, answer=moved) as server:
        project.model(server.openai, concurrency=50, timeout=3.0, pause=0.01)
        project.experiment("faults", DECISIONS // ROUNDS)
        out = done(project.run("record", "experiment=faults"))
    recording = Recording(project.recordings("faults"))
    late = (project.recordings("faults") / FILE).read_text().count('"kind":"timeout"')
    print(f"{server.requests} calls, {sum(server.met.values())} faults, {len(recording)} exchanges, "
          f"{recording.failures} failures ({late} late), {len(recording.voids)} refused for good")  # fmt: skip
    calls = len(recording) + recording.failures
    assert 0 <= calls - server.requests <= late
    assert int(re.search(r"([\d,]+) calls", out)[1].replace(",", "")) == calls
    assert 0.15 < sum(server.met.values()) / server.requests < 0.25
    assert set(server.met) == set(FAULTS) or not FULL
    [turns] = turns_of("faults", project)
    of_turn = turns.groupby(["match", "turn"], observed=True)
    assert len(of_turn) == DECISIONS // ROUNDS * ROUNDS
    explained = of_turn.fallback.agg(lambda column: any(column != ""))
    assert (of_turn.valid.all() ^ explained).all()
    reasons = set(turns.fallback[turns.fallback != ""])
    assert all(reason.startswith("forfeit: ") and len(reason) > 12 for reason in reasons)
    assert any("refused by the provider: status 4" in reason for reason in reasons)
    assert recording.voids


LIMITED = """
    import resource, sys
    from agon.cli import main
    from agon.models.recording import Writer

    usual = Writer.{method}

    def limited(*given):
        resource.setrlimit(resource.RLIMIT_AS, (1, resource.RLIM_INFINITY))
        return usual(*given)

    Writer.{method} = limited
    sys.exit(main(["record", "experiment=limited"]))
"""
"""`agon record` that gets no more memory, and so no thread, from some moment on: as with `ulimit -v`, which batch systems set."""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit memory")
@pytest.mark.parametrize("method", ["__init__", "add"])
def test_without_memory_a_run_ends_in_a_line_and_has_what_was_answered(project, method):
    project.experiment("limited", 2)
    with serving(answer=moved) as server:
        project.model(server.openai, concurrency=1)
        command = [sys.executable, "-c", textwrap.dedent(LIMITED).format(method=method)]
        run = patience.run(command, cwd=project.folder, env=project.environment)
        recording = Recording(project.recordings("limited"))
        lost = server.requests - len(recording)
        assert lost in (0, 1)  # at most the one in flight
        if run.returncode or method == "__init__":
            [said] = run.stderr.splitlines()
            assert run.returncode == 1 and said.startswith("agon: ")
        done(project.run("record", "experiment=limited"))
        assert server.requests - len(Recording(project.recordings("limited"))) == lost
