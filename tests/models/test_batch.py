"""Batches: the same recording as live, at half the price, whatever becomes of them, and nothing is handed in twice."""

import asyncio
import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models.batch_server import OUTCOMES
from models.fault_server import FaultServer, conversation
from patience import LONG, comes, until

from agon import AgonError
from agon.cli import recording
from agon.models import CallFailed
from agon.models.anthropic import Anthropic
from agon.models.batch import FILE, Batch, Journal, use_batches
from agon.models.ledger import Ledger, Replayed
from agon.models.limits import Budget
from agon.models.openai import OpenAI
from agon.models.recording import Recording, Writer
from agon.models.remote import Remote
from agon.models.responses import Responses
from agon.plan import plan
from agon.play import play
from agon.record import record

KINDS = [OpenAI, Anthropic, Responses]
PAID_AGAIN = {"torn", "unreadable", "missing"}
"""Outcomes after which a request is paid, and nothing of it can be read."""


def said(body):
    """A move that depends on the whole conversation; now and then none."""
    dice = Random(json.dumps(conversation(body)))
    return "I think." if dice.random() < 0.1 else f"[move] {dice.choice(('cooperation', 'defection'))}"


def matches(count=3, agents=("zs", "best_reply_to_last")):
    seats = [[agents[0]], [agents[1]]]
    pairing = {"games": ["pd"], "models": ["standin"], "seats": seats}
    found = plan({"name": "b", "repetitions": count, "pairings": [pairing]})
    return [replace(match, game=replace(match.game, rounds=4)) for match in found]


def model(kind, url, **more):
    address = url if kind is Anthropic else f"{url}/v1"
    price = {"input": 2.0, "cached": 0.2, "written": 2.0, "output": 8.0}
    common = {"model": "m", "base_url": address, "parameters": {"max_tokens": 50}, "price": price, "pause": 0.0}
    return kind(**common | {"batch": 0.5, "poll": 0.02, "timeout": 20.0} | more)


class Run:
    """One `record`, its budget and what is told of batches."""

    def __init__(self, folder, found, asked, budget=None, in_batches=True, appears=0.3, told=None):
        self.folder, self.told, self.budget = folder, [] if told is None else told, budget or Budget()
        self.recording = Recording(folder)
        writer = Writer(self.recording, folder / "lock")
        journal = Journal(folder, self.recording.holds)
        models = {"standin": asked}
        if in_batches:
            models = use_batches(models, journal, self.told.append)
            models["standin"].quiet, models["standin"].appears = 0.02, appears
        try:
            self.halted = asyncio.run(record(found, Ledger(models, writer, self.budget)))
        finally:
            writer.close()
            journal.close()

    def lines(self, *without):
        """Exchanges, without what depends on order and time."""
        left = {"time", "seconds", "id", *without}
        every = [json.loads(line) for line in (self.folder / "exchanges.jsonl").read_bytes().splitlines()]
        return sorted(json.dumps({name: each[name] for name in each if name not in left}) for each in every)

    def turns(self, found, asked):
        models = {"standin": Replayed("standin", asked.identity, self.recording)}
        return play(found, self.folder / "journal", models).drop(columns="seconds")


def ran(serve, *, times=1, **batch):
    """What `serve(server)` gives, at a server in a thread of its own event loop."""
    started, stop, servers = [], [], []

    async def serving():
        async with FaultServer(answer=said, batch=batch) as server:
            servers.append(server)
            started.append(True)
            await comes(lambda: stop, "the end of the test", seconds=2 * LONG)

    from threading import Thread

    thread = Thread(target=lambda: asyncio.run(serving()), daemon=True)
    thread.start()
    until(lambda: started, "a server")
    try:
        return serve(servers[0]), servers[0]
    finally:
        stop.append(True)
        thread.join(LONG)


# --- as live


@pytest.mark.parametrize("kind", KINDS)
def test_batches_record_what_live_play_records_at_half_the_price(kind, tmp_path):
    found = matches(4, ("zs", "zs_sc3"))

    def both(server):
        live = Run(tmp_path / "live", found, model(kind, server.url), in_batches=False)
        return live, Run(tmp_path / "batch", found, model(kind, server.url))

    (live, batch), server = ran(both)
    assert live.halted == batch.halted == [] and live.lines() == batch.lines()
    assert batch.turns(found, model(kind, server.url)).equals(live.turns(found, model(kind, server.url)))
    assert batch.budget.costs.usd == pytest.approx(live.budget.costs.usd / 2)
    assert batch.budget.costs.calls == live.budget.costs.calls == sum(server.batches.paid.values())
    assert not (tmp_path / "batch" / FILE).exists()
    assert len(server.batches.made) < 16  # one for all matches at once: 4 rounds, and some asked again


def test_what_is_told_is_how_many_and_what_came(tmp_path):
    run, _ = ran(lambda server: Run(tmp_path, matches(2), model(OpenAI, server.url)))
    assert run.told[:2] == [
        "m: batch batch_0 of 2 requests is submitted",
        "m: batch batch_0 is over: 2 answers, 0 failures",
    ]


def test_probabilities_are_not_asked_for_in_batches(tmp_path):
    found = matches(1, ("zs_weighed", "best_reply_to_last"))
    with pytest.raises(AgonError, match="leave batch=true out"):
        ran(lambda server: Run(tmp_path, found, model(OpenAI, server.url, logprobs="llama.cpp")))


class Unbatched(OpenAI):
    """A protocol of a reader's own, with a price for batches and none of their verbs."""

    submit, find_batch, results = Remote.submit, Remote.find_batch, Remote.results


def test_a_protocol_without_batches_says_so_whatever_is_asked_of_them(tmp_path):
    asked = model(Unbatched, "http://localhost:1")
    says = "model m: its protocol has no batches here: leave batch=true out"
    with pytest.raises(AgonError, match=rf"^model standin \(at localhost:1, without a key\): {says}$"):
        Run(tmp_path, matches(1), asked)
    for look in (asked.find_batch("agon-1", ["key"], 0.0, []), asked.results("id")):
        with pytest.raises(CallFailed, match=f"^{says}$"):
            asyncio.run(look)


def test_models_without_a_batch_interface_are_refused_by_name():
    with pytest.raises(AgonError, match=r"^batch=true: no batch interface is known of standin"):
        use_batches({"standin": model(OpenAI, "http://x", batch=None)}, None, None)


# --- what may become of a request


shares = st.dictionaries(st.sampled_from(OUTCOMES), st.floats(0, 0.3), max_size=5)


@pytest.mark.parametrize("kind", KINDS)
@given(shares)
@settings(max_examples=6, deadline=None)
def test_every_request_is_accounted_for_whatever_becomes_of_it(kind, tmp_path_factory, shares):
    folder, shares = tmp_path_factory.mktemp("faults"), dict(shares)
    shares.pop("400", None)  # ends a run: below
    found = matches(3)
    run, server = ran(lambda server: Run(folder, found, model(kind, server.url), Budget(usd=1.0)), shares=shares)
    assert run.halted == []
    lines = [json.loads(line) for line in (folder / "exchanges.jsonl").read_bytes().splitlines()]
    exchanges = {line["exchange"]: line for line in lines if "exchange" in line}
    failures = [line for line in lines if "failed" in line]
    asked = sum(len(batch["asked"]) for batch in server.batches.made.values())
    assert len(exchanges) + len(failures) == asked == run.budget.costs.calls
    for key, count in server.batches.paid.items():
        ends = [batch["ends"][key] for batch in server.batches.made.values() if key in batch["ends"]]
        good = ends.count("") + ends.count("twice")
        assert good == (key in exchanges and not exchanges[key].get("void")) and count == good + (
            "twice" in ends
        ) + sum(end in PAID_AGAIN for end in ends)
        assert exchanges[key].get("unreported", False) == ("twice" in ends)
    assert all(server.batches.seen[line["failed"]] > 1 for line in failures)
    assert not (folder / FILE).exists()


@pytest.mark.parametrize("kind", KINDS)
def test_a_hopeless_request_ends_the_run_and_answers_are_kept(kind, tmp_path):
    with pytest.raises(
        AgonError,
        match=r"^model standin \(at 127.0.0.1:\d+, without a key\): status 400: invalid_request_error: no such parameter",
    ):
        ran(lambda server: Run(tmp_path, matches(8), model(kind, server.url)), shares={"400": 0.3})
    assert 0 < len(Recording(tmp_path)) < 8


@pytest.mark.parametrize("kind", KINDS)
def test_every_request_is_booked_at_its_most_before_its_batch(kind, tmp_path):
    budget = Budget(usd=0.01)
    run, server = ran(lambda server: Run(tmp_path, matches(20), model(kind, server.url), budget))
    assert run.halted and budget.used["usd"] <= 0.01 and not budget.bookings
    prompt = sum(
        len(text.encode()) for text in conversation(next(iter(server.batches.made["batch_0"]["asked"].values())))
    )
    most = (prompt * 2.0 + 50 * 8.0) / 1e6 / 2
    assert 1 < len(server.batches.made["batch_0"]["asked"]) <= 0.01 / most


# --- batches that do not come, and those that may have


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fails", [["lost"], ["", "lost", "lost"], ["refused"], ["", "refused", "lost"]])
def test_a_batch_without_an_id_is_looked_for_and_never_made_twice(kind, fails, tmp_path):
    run, server = ran(
        lambda server: Run(tmp_path, matches(3), model(kind, server.url)), fails=fails, hidden=0.1, takes=0.1
    )
    assert run.halted == [] and set(server.batches.paid.values()) == {1}
    assert run.told[-1].endswith("0 failures")


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_whose_slow_upload_broke_has_time_to_appear(kind, tmp_path):
    run, server = ran(
        lambda server: Run(tmp_path, matches(2), model(kind, server.url)), fails=["lost"], slow=0.5, hidden=0.2
    )
    assert run.halted == [] and set(server.batches.paid.values()) == {1}


@pytest.mark.parametrize("kind", KINDS)
def test_an_older_batch_of_the_same_requests_is_not_taken_for_a_new_one(kind, tmp_path):
    run, server = ran(
        lambda server: Run(tmp_path, matches(3), model(kind, server.url)),
        shares={"500": 1.0},
        fails=["", "lost"],
        hidden=0.15,
    )
    assert run.halted == [] and set(server.batches.paid.values()) == {1}


def test_too_much_at_once_is_handed_in_again_later(tmp_path, monkeypatch):
    monkeypatch.setattr("agon.models.openai.FULL", 0.05)
    run, server = ran(lambda server: Run(tmp_path, matches(2), model(OpenAI, server.url)), fails=["limit", "", "limit"])
    assert run.halted == [] and run.budget.costs.errors == {"429": 4} and set(server.batches.paid.values()) == {1}


def test_a_batch_that_is_refused_as_a_whole_says_why(tmp_path):
    with pytest.raises(
        AgonError, match=r"^model standin \(at 127.0.0.1:\d+, without a key\): the batch is failed: invalid_json: no$"
    ):
        ran(lambda server: Run(tmp_path, matches(2), model(OpenAI, server.url)), fails=["failed"])


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_unknown_to_the_provider_is_not_paid_again(kind, tmp_path):
    asked = model(kind, "http://127.0.0.1:9")
    key_of_none = Journal(tmp_path, lambda key: False)
    run, _ = ran(lambda server: Run(tmp_path / "x", matches(1), model(kind, server.url)))
    keys = [*run.recording.answers]
    key_of_none.add(Batch("agon-1", asked.identity, keys, 1.0))
    key_of_none.add(Batch("agon-1", id="batch_of_another"))
    with pytest.raises(
        AgonError, match=r"batch batch_of_another of \d+ requests: the provider does not know it: it is too old"
    ):
        ran(lambda server: Run(tmp_path, matches(1), model(kind, server.url)))
    assert (tmp_path / FILE).exists() and not Recording(tmp_path)


def test_after_an_outage_the_same_command_fetches_the_batch(tmp_path):
    def twice(server):
        with pytest.MonkeyPatch.context() as patch:

            async def down(*_):
                from agon.models import CallFailed

                raise CallFailed("503", "down")

            patch.setattr(OpenAI, "results", down)
            first = Run(tmp_path, matches(2), model(OpenAI, server.url, tries=2))
        return first, Run(tmp_path, matches(2), model(OpenAI, server.url))

    (first, second), server = ran(twice)
    assert len(first.halted) == 2 and "batch batch_0 cannot be reached: down" in str(first.halted[0])
    assert second.halted == [] and set(server.batches.paid.values()) == {1}


UNREAD = {
    "left out": lambda line: None,
    "no answer": lambda line: line | {"response": {"status_code": 200}, "result": {"type": "succeeded"}},
    "another form": lambda line: {"key": line["custom_id"]},
    "neither": lambda line: line | {"response": None, "error": None, "result": {}},
}
"""What may become of every line of results, so that no answer can be read."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("written", UNREAD.values(), ids=UNREAD)
def test_an_unreadable_batch_ends_the_run_and_is_not_paid_again(kind, written, tmp_path):
    def twice(server):
        for _ in range(2):
            with pytest.raises(AgonError, match=r"batch batch_0 of 2 requests: it is over, but no answer .* can be"):
                Run(tmp_path, matches(2), model(kind, server.url))
        server.batches.written = lambda line: line
        return Run(tmp_path, matches(2), model(kind, server.url))

    run, server = ran(twice, written=written)
    assert run.halted == [] and set(server.batches.paid.values()) == {1}


ODD = {
    "code and message are null": lambda line: line | {"error": {"code": None, "message": None}},
    "status as text": lambda line: line | {"response": line["response"] | {"status_code": "200"}},
}


@pytest.mark.parametrize("written", ODD.values(), ids=ODD)
def test_lines_of_results_in_a_somewhat_other_form_are_read(written, tmp_path):
    def own(line):
        return written(line) if line.get("response") else line

    run, server = ran(lambda server: Run(tmp_path, matches(2), model(OpenAI, server.url)), written=own)
    assert run.halted == [] and set(server.batches.paid.values()) == {1}


def test_of_several_lines_of_a_request_the_first_that_can_be_read_counts(tmp_path):
    seen = set()

    def first_spoiled(line):
        if line["custom_id"] in seen or not line.get("response"):
            return line
        seen.add(line["custom_id"])
        return line | {"response": {"status_code": 200, "body": {"id": "x"}}}

    found = matches(2)
    run, server = ran(
        lambda server: Run(tmp_path, found, model(OpenAI, server.url)), shares={"twice": 1.0}, written=first_spoiled
    )
    assert run.halted == [] and set(server.batches.seen.values()) == {1} and not run.recording.failures


def test_a_completed_batch_without_a_file_is_asked_again_then_ends(tmp_path):
    def twice(server):
        first = Run(tmp_path, matches(2), model(OpenAI, server.url, tries=2))
        server.batches.unnamed = 3
        return first, Run(tmp_path, matches(2), model(OpenAI, server.url))

    (first, second), server = ran(twice, unnamed=9)
    assert "batch batch_0 cannot be reached: it is completed, but names no file" in str(first.halted[0])
    assert second.halted == [] and set(server.batches.paid.values()) == {1}


def test_without_batches_nothing_is_asked_that_is_in_batches_already(tmp_path, monkeypatch):
    monkeypatch.setattr(recording, "experiment_of", lambda settings: ("b", matches(1), {}, Recording(tmp_path)))
    monkeypatch.setattr(recording, "say_cautions", lambda settings: None)
    monkeypatch.setattr(recording, "say_hosts", lambda *_: None)
    journal, given = (
        Journal(tmp_path, lambda key: False),
        {"batch": False, "until": None, "other_hosts": False},
    )
    journal.add(Batch("b", "one model", ["k", "l"]))
    journal.add(Batch("c", "another", ["m", "n"]))
    journal.add(Batch("c", lost={"n"}))
    with pytest.raises(AgonError, match=rf"^3 requests are in batches: add batch=true .*, or delete {journal.path} to"):
        recording.record(given)
    assert journal.path.exists()


@pytest.mark.parametrize("end", ["is submitted", "is over"])
def test_after_a_broken_pipe_the_same_command_fetches_the_batch(end, tmp_path):
    class Closed(list):
        def append(self, line):
            if end in line:
                raise BrokenPipeError(32, "Broken pipe")

    def twice(server):
        with pytest.raises(
            AgonError,
            match=r"^model standin \(at 127.0.0.1:\d+, without a key\): batches cannot go on: BrokenPipeError: ",
        ):
            Run(tmp_path, matches(2), model(OpenAI, server.url), told=Closed())
        return Run(tmp_path, matches(2), model(OpenAI, server.url))

    run, server = ran(twice)
    assert run.halted == [] and set(server.batches.paid.values()) == {1}


def test_an_answer_is_kept_though_the_clock_was_ahead(tmp_path, monkeypatch):
    ahead = iter([time.time() + 3600])
    monkeypatch.setattr("agon.models.batch.time", lambda: next(ahead, None) or time.time())
    run, _ = ran(lambda server: Run(tmp_path, matches(2), model(OpenAI, server.url)))
    assert run.halted == [] and len(run.recording)


def test_a_damaged_journal_is_not_passed_over(tmp_path):
    (tmp_path / FILE).write_text('{"batch": 3}\n')
    with pytest.raises(AgonError, match=r"is damaged .*: restore it, or the batches in it are paid again"):
        Journal(tmp_path, lambda key: False)
    (tmp_path / FILE).write_text('{"batch": "b", "keys": ["k"], "identity": "i"}\n{"batch": "b", "i')
    journal = Journal(tmp_path, lambda key: False)
    assert [*journal.open("i")] == ["k"]
    journal.add(journal.batches["b"])
    assert Journal(tmp_path, lambda key: key == "k").open("i") == {}


# --- killed at any moment

KILLED = """
import sys
sys.path[:0] = {tests!r}
from pathlib import Path
from test_batch import Run, matches, model, KINDS
run = Run(Path(sys.argv[1]), matches(4), model(KINDS[int(sys.argv[2])], sys.argv[3]))
print("done", len(run.halted))
"""


@pytest.mark.parametrize("kind", [0, 1])
def test_a_run_that_is_killed_at_any_moment_pays_for_nothing_twice(kind, tmp_path):
    tests = [str(path) for path in Path(__file__).parents[:2]]
    dice, command = Random(kind), [sys.executable, "-c", KILLED.format(tests=tests)]

    def killed(server):
        for kills in range(5):
            run = subprocess.Popen([*command, tmp_path, str(kind), server.url], stdout=subprocess.PIPE, text=True)
            before, wait = len(server.batches.made), dice.randint(1, 4)
            if kills < 4:
                over = lambda run=run, made=before + wait: len(server.batches.made) >= made or run.poll() is not None  # noqa: E731
                until(over, "a batch", pause=0.002)
                time.sleep(dice.choice((0.0, 0.0, 0.05, 0.1)))
                run.send_signal(signal.SIGKILL)
            out, _ = run.communicate(timeout=LONG)
            if out:
                break
        return out

    out, server = ran(killed, takes=0.05)
    assert out == "done 0\n" and set(server.batches.paid.values()) == {1}
    assert not (tmp_path / FILE).exists()
    fresh, _ = ran(lambda server: Run(tmp_path / "whole", matches(4), model(KINDS[kind], server.url)))
    assert {*Recording(tmp_path).answers} == {*fresh.recording.answers}
