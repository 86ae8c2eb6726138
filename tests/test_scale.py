"""The same plan on worker processes: same recording, same transcript, limits shared, workers that die lose nothing."""

import asyncio
import datetime
import os
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import dask
import pandas as pd
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from distributed import LocalCluster
from harness import experiment
from patience import LONG, until
from project import Project, moved, serving

from agon import AgonError
from agon.bridges import dask as scale
from agon.models.ledger import Ledger, Replayed
from agon.models.limits import Budget, BudgetReached
from agon.models.openai import OpenAI
from agon.models.recording import Recording, Writer
from agon.plan import plan
from agon.play import play
from agon.record import record
from agon.turns import write

MATCHES = 12
ROUNDS = 16
OWN = {"name": "dask", "address": None, "workers": 2}
"""A cluster of its own."""


PAIRING = {"games": ["pd"], "models": ["standin"], "seats": [["zs"], ["uniform"]]}
FOUND = plan({"name": "scale", "repetitions": MATCHES, "pairings": [PAIRING]})
"""Matches of the prisoner's dilemma between a model and chance; the model is what each test records with."""


def model(server, **settings):
    return OpenAI(model="fault-server", base_url=server.openai, parameters={"max_tokens": 100}, **settings)


def recorded(folder, asked, executor=None, budget=None, concurrency=None):
    """Records; what was halted, and the ledger."""
    writer = Writer(Recording(folder), folder / "lock")
    ledger = Ledger({"standin": asked}, writer, budget or Budget())
    try:
        if executor is None:
            return asyncio.run(record(FOUND, ledger, concurrency)), ledger
        return asyncio.run(scale.record(FOUND, ledger, executor, concurrency)), ledger
    finally:
        writer.close()


def transcript(folder, asked, executor=None, seconds=True):
    """The bytes of the transcript that `play` makes of a recording, with or without the time that calls took."""
    answering = {"standin": Replayed("standin", asked.identity, Recording(folder))}
    made = scale.play(FOUND, answering, executor) if executor else play(FOUND, folder / "journal", answering)
    write(made if seconds else made.assign(seconds=0.0), folder / "turns.parquet")
    return (folder / "turns.parquet").read_bytes()


def exchanges(folder):
    """All that is recorded, but for what tells calls apart."""
    recording = Recording(folder)
    plain = {key: (answer.text, answer.tokens_in, answer.tokens_out) for key, answer in recording.answers.items()}
    return plain, recording.voids, recording.failures


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The folder of a local recording."""
    folder = tmp_path_factory.mktemp("local")
    with serving(answer=moved) as server:
        assert recorded(folder, model(server))[0] == []
    return folder


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=60) as running:
        yield running


def on(cluster):
    return {"name": "dask", "address": cluster.scheduler_address, "workers": 0}


def killed_at(server, wanted, process_id):
    """Kills a process when the server has had `wanted` requests."""

    def kill():
        until(lambda: server.requests >= wanted, f"{wanted} requests", pause=0.002)
        os.kill(process_id, signal.SIGKILL)

    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    return thread


def test_workers_record_the_same_exchanges_and_play_the_same_bytes(tmp_path, undisturbed, cluster):
    with serving(answer=moved) as server:
        asked = model(server)
        halted, ledger = recorded(tmp_path, asked, OWN)
    assert halted == []
    assert ledger.budget.spent.calls == server.requests == len(Recording(tmp_path))
    assert exchanges(tmp_path) == exchanges(undisturbed)
    assert transcript(tmp_path, asked, on(cluster)) == transcript(tmp_path, asked)
    assert transcript(tmp_path, asked, seconds=False) == transcript(undisturbed, asked, seconds=False)


def test_a_worker_killed_amid_a_match_loses_nothing_and_repeats_only_its_calls_in_flight(
    tmp_path, undisturbed, cluster
):
    with serving(answer=moved, latency=0.05) as server:
        thread = killed_at(server, MATCHES * ROUNDS // 3, cluster.workers[0].process.pid)
        halted, ledger = recorded(tmp_path, model(server, concurrency=6), on(cluster))
        thread.join(LONG)
        recording = Recording(tmp_path)
        repeated = server.requests - len(recording) - recording.failures
        assert repeated <= 6  # all calls in flight may have been the lost worker's
        assert server.most <= 6
    assert halted == []
    assert ledger.in_flight == {} and ledger.limiters["standin"].in_flight == 0
    assert exchanges(tmp_path)[:2] == exchanges(undisturbed)[:2]


def test_the_only_call_in_flight_may_be_that_of_a_worker_that_never_comes_back(tmp_path, undisturbed, cluster):
    command = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address, "--no-nanny"]
    command += ["--name", "third", "--nthreads", "1", "--no-dashboard"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as worker:
        try:
            until(lambda: "third" in {each.name for each in [*cluster.scheduler.workers.values()]}, "a third worker")
            with serving(answer=moved, latency=0.01) as server:
                thread = killed_at(server, 20, worker.pid)
                halted, _ = recorded(tmp_path, model(server, concurrency=1), on(cluster), concurrency=3)
                thread.join(LONG)
                assert server.requests - len(Recording(tmp_path)) <= 1
        finally:
            worker.kill()
    assert halted == []
    assert exchanges(tmp_path) == exchanges(undisturbed)


def test_workers_play_scripts_alone_as_one_process_does(tmp_path, cluster):
    matches = plan(experiment(games=["pd", "rps"], agents=["grim", "uniform"]))
    alone = play(matches, tmp_path / "journal")
    pd.testing.assert_frame_equal(scale.play(matches, {}, on(cluster), lambda n: None), alone)


def test_limits_hold_over_all_workers_together(tmp_path, cluster):
    times = []
    with serving(answer=lambda body: times.append(time.monotonic()) or moved(body), latency=0.02) as server:
        asked = model(server, concurrency=5, requests_per_minute=1200)
        recorded(tmp_path, asked, on(cluster), concurrency=MATCHES)
    burst = 101  # five seconds' worth, and the one after them
    late = 0.5  # seconds that the first call may take from its admission to the server
    assert len(times) - burst <= 20 * (times[-1] - times[0] + late)
    assert 3 <= server.most <= 5


def test_a_budget_holds_over_all_workers_together_and_what_was_done_is_kept(tmp_path, undisturbed, cluster):
    with serving(answer=moved) as server:
        asked = model(server)
        halted, ledger = recorded(tmp_path, asked, on(cluster), Budget(calls=100))
        assert ledger.budget.spent.calls == server.requests == 100 == len(Recording(tmp_path))
        assert halted and all(type(each) is BudgetReached for each in halted)
        assert recorded(tmp_path, asked, on(cluster))[0] == []
    assert exchanges(tmp_path) == exchanges(undisturbed)


def test_workers_do_not_go_on_for_ever_with_a_provider_that_is_down(tmp_path, cluster):
    with serving(faults={"500": 1.0}) as server:
        halted, _ = recorded(tmp_path, model(server, concurrency=1, tries=2, pause=0.01), on(cluster))
        assert 6 <= len(halted) <= 8 and server.requests == 2 * len(halted)
    assert "2 tries failed" in str(halted[0])


def test_a_wrong_key_stops_all_workers(tmp_path, cluster):
    with serving(key="another") as server:
        with pytest.raises(AgonError, match="401"):
            recorded(tmp_path, model(server), on(cluster))
        assert server.requests <= 2 * 8


def test_a_scheduler_without_workers_is_said_in_one_line(tmp_path):
    with (
        LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0", silence_logs=60) as empty,
        serving() as server,
        pytest.raises(AgonError, match=r"^the Dask scheduler at \S+ has no workers$"),
    ):
        recorded(tmp_path, model(server), on(empty))


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    made = Project(tmp_path_factory.mktemp("scale") / "project")
    made.model("http://127.0.0.1:1/v1")
    made.experiment("far", 2)
    made.experiment("broken", 2, seats=(("broken",), ("best_reply_to_last",)))
    (made.folder / "src/broken.py").write_text(BROKEN)
    made.conf("agent", "broken", _target_="broken.Broken", _partial_=True)
    config = made.folder / "conf/config.yaml"
    config.write_text(config.read_text() + "packages: [broken]\n")
    return made


BROKEN = """
from agon.agents.llm import LLM

class Broken(LLM):
    async def act(self, view, dice):
        raise ValueError("I am broken")
"""


@pytest.mark.parametrize(("verb", "address"), [("record", "tcp://127.0.0.1:1"), ("play", "nowhere")])
def test_a_scheduler_that_cannot_be_reached_is_said_in_one_line_within_seconds(project, verb, address):
    start = time.monotonic()
    run = project.run(verb, "experiment=far", "executor=dask", f"executor.address={address}")
    assert run.returncode == 1 and time.monotonic() - start < 120  # Dask's own patience is for ever
    lines = run.stderr.splitlines()  # Dask itself may warn of a busy machine
    assert [line for line in lines if line.startswith("agon: ")] == lines[-1:] and "Traceback" not in run.stderr
    assert lines[-1].startswith(f"agon: no Dask scheduler answers at {address}")


def test_an_agents_error_on_a_worker_is_said_in_one_line(project):
    run = project.run("record", "experiment=broken", "executor=dask")
    assert run.returncode == 1
    [line] = run.stderr.splitlines()
    assert (
        line.startswith("agon: match ")
        and "broken against best_reply_to_last): ValueError: I am broken (MatrixGame, src/broken.py:" in line
    )


def test_ctrl_c_is_said_in_one_line_and_keeps_what_was_done(project):
    with serving(latency=0.1, answer=moved) as server:
        project.model(server.openai, concurrency=4)
        project.experiment("stopped", 4)
        process = project.start("record", "experiment=stopped", "executor=dask")
        until(lambda: server.requests >= 12 or process.poll() is not None, "12 requests")
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(LONG)
        assert (process.returncode, errors) == (130, "agon: stopped; the same command goes on where it was\n")
        assert 0 <= server.requests - len(Recording(project.recordings("stopped"))) <= 4


@pytest.mark.parametrize(
    "address", ["tcp://192.0.2.7:8786", "192.0.2.7:8786", "tcp://[2001:db8::1]:8786", "ws://192.0.2.7:80"]
)
@pytest.mark.parametrize("verb", ["record", "play"])
def test_another_machine_without_tls_is_refused_before_anything_is_sent(address, verb, monkeypatch):
    monkeypatch.setattr(scale, "connect", None)
    executor = {"name": "dask", "address": address, "workers": 1, "insecure": False}
    with pytest.raises(AgonError, match=r"has no TLS: .* executor.insecure=true"):
        if verb == "play":
            scale.play([], {}, executor)
        else:
            asyncio.run(scale.record([], SimpleNamespace(models={}), executor))


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "tcp://localhost:1", "tcp://[::1]:1", "tls://192.0.2.7:1"])
def test_this_machine_and_tls_are_not(address):
    scale._trusted({"address": address, "insecure": False})
    scale._trusted({"address": "tcp://192.0.2.7:8786", "insecure": True})


def certificates(folder):
    """A key and its own certificate, which is also the authority, as Dask's settings."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "tests")])
    now = datetime.datetime.now(datetime.UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    made = (
        made.not_valid_before(now)
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.BasicConstraints(True, 0), True)
    )
    pem = serialization.Encoding.PEM
    (folder / "cert").write_bytes(made.sign(key, hashes.SHA256()).public_bytes(pem))
    form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / "key").write_bytes(key.private_bytes(pem, *form))
    part = "distributed.comm.tls"
    of_each = {f"{part}.{who}.{what}": str(folder / what) for who in ROLES for what in ("cert", "key")}
    return {f"{part}.ca-file": str(folder / "cert"), **of_each}


ROLES = ("scheduler", "worker", "client")


def test_with_certificates_all_goes_over_tls(tmp_path, undisturbed):
    with (
        dask.config.set(certificates(tmp_path)),
        LocalCluster(
            n_workers=1, threads_per_worker=1, protocol="tls://", dashboard_address="127.0.0.1:0", silence_logs=60
        ) as secured,
        serving(answer=moved) as server,
    ):
        assert secured.scheduler_address.startswith("tls://")
        assert recorded(tmp_path / "run", model(server), on(secured))[0] == []
    assert exchanges(tmp_path / "run") == exchanges(undisturbed)
