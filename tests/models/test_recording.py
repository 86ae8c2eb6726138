"""Recordings: nothing that was paid for is lost, whatever happens to the process, the file or the disk."""

import asyncio
import errno
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
import threading
from collections import Counter
from dataclasses import dataclass, field, replace

import patience
import pytest
from harness import experiment
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from patience import LONG

from agon import AgonError
from agon.models import Answer, CallFailed, Model, Request, extend
from agon.models.base import ended_of
from agon.models.ledger import Ledger, Live, Replayed, Unrecorded
from agon.models.limits import Budget
from agon.models.recording import FILE, ROOM, Exchange, Failure, Recording, Writer
from agon.plan import models_of, plan
from agon.record.estimate import estimates

ANYTHING = st.text(st.characters(exclude_categories=()))
"""Text of any characters, half surrogate pairs too."""


@dataclass(kw_only=True)
class Says(Model):
    """Answers `words` and the request's sample; what is in `failures` it raises instead, once."""

    model: str = "says"
    words: str = "I say"
    failures: dict = field(default_factory=dict)
    asked: Counter = field(default_factory=Counter)

    async def answer(self, request):
        self.asked[request.sample] += 1
        if failure := self.failures.pop(request.sample, None):
            raise failure
        return Answer(f"{self.words} {request.sample}", tokens_in=9, tokens_out=4, seconds=0.5, id="i", stop="stop")


def request(sample, turns=2):
    """A conversation of which all but the last message are the same for every sample."""
    messages = extend((), "system", "the rules")
    for turn in range(turns):
        messages = extend(extend(messages, "user", f"turn {turn}"), "assistant", "fine")
    return Request(extend(messages, "user", f"now {sample}"), sample)


def recorded(folder, samples, model=None, at_once=1):
    """Asks for all samples, `at_once` at a time, and records; the answers."""

    async def ask():
        writer = Writer(Recording(folder), folder / "lock")
        live = Live("says", model, Ledger({"says": model}, writer, Budget()), clock=lambda: 1.0)
        try:
            found = []
            for start in range(0, len(samples), at_once):
                found += await asyncio.gather(
                    *(live.answer(request(each)) for each in samples[start : start + at_once])
                )
            return found
        finally:
            writer.close()

    model = model or Says()
    return asyncio.run(ask())


def replayed(folder, sample):
    found = asyncio.run(Replayed("says", Says().identity, Recording(folder)).answer(request(sample)))
    return replace(found, recorded=False)


def lines(folder):
    return [json.loads(line) for line in (folder / FILE).read_bytes().splitlines()]


SAMPLES = [f"m{number}/0/0.0.0" for number in range(6)]


def test_a_recording_cut_anywhere_keeps_every_exchange_before(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda file: None)  # a thousand times is long
    recorded(tmp_path, SAMPLES)
    whole = (tmp_path / FILE).read_bytes()
    ends = [at + 1 for at, byte in enumerate(whole) if byte == 10]
    exchanges = [end for end, line in zip(ends, whole.splitlines(), strict=True) if b'"exchange"' in line]
    for cut in range(ends[-5], len(whole)):
        (tmp_path / FILE).write_bytes(whole[:cut])
        left = sum(end <= cut for end in exchanges)
        assert len(Recording(tmp_path)) == left
        model = Says()
        recorded(tmp_path, SAMPLES, model)
        assert model.asked.total() == len(SAMPLES) - left
        assert (tmp_path / FILE).read_bytes() == whole


@pytest.mark.parametrize("away", [shutil.rmtree, lambda folder: folder.rename(folder.with_name("elsewhere"))])
def test_a_recording_that_is_deleted_or_moved_meanwhile_stops_what_asks(tmp_path, away):
    folder, model = tmp_path / "mine", Says()

    async def ask():
        writer = Writer(Recording(folder), tmp_path / "lock")
        live = Live("says", model, Ledger({"says": model}, writer, Budget()), clock=lambda: 1.0)
        try:
            await live.answer(request(SAMPLES[0]))
            away(folder)
            await live.answer(request(SAMPLES[1]))
        finally:
            with pytest.raises(AgonError, match="it was deleted or moved meanwhile"):
                writer.close()

    with pytest.raises(
        AgonError, match=r"mine/exchanges.jsonl cannot be written \(it was deleted or moved meanwhile\): put"
    ):
        asyncio.run(ask())
    assert model.asked.total() == 2


@pytest.mark.parametrize("tokens", [-5, 10**30, "many"])
def test_tokens_that_cannot_be_are_named_with_their_line(tmp_path, tokens):
    recorded(tmp_path, SAMPLES[:1])
    made = lines(tmp_path)
    made[-1]["tokens_out"] = tokens
    (tmp_path / FILE).write_text("".join(json.dumps(line) + "\n" for line in made))
    with pytest.raises(AgonError, match=rf"is damaged in line {len(made)} \("):
        Recording(tmp_path)


def test_only_one_writes_though_the_lock_beside_it_is_deleted(tmp_path):
    writer = Writer(Recording(tmp_path / "mine"), tmp_path / "lock")
    with pytest.raises(AgonError, match="another process is recording into mine: wait for it, or stop it"):
        Writer(Recording(tmp_path / "mine"), tmp_path / "another lock")
    writer.close()
    Writer(Recording(tmp_path / "mine"), tmp_path / "lock").close()


def test_two_answers_to_one_question_are_named_unless_equal(tmp_path):
    recorded(tmp_path, SAMPLES[:2])
    file = tmp_path / FILE
    line = next(each for each in file.read_text().splitlines() if '"exchange"' in each)
    count = len(lines(tmp_path))
    with file.open("a") as more:
        more.write(line + "\n")
    assert replayed(tmp_path, SAMPLES[0]).text == f"I say {SAMPLES[0]}"
    with file.open("a") as more:
        more.write(line.replace("I say", "I do not say") + "\n")
    with pytest.raises(AgonError, match=f"line {count + 2} has another answer to what was asked before .*: delete one"):
        Recording(tmp_path)


def test_what_is_only_read_is_not_changed_even_when_it_is_torn(tmp_path):
    recorded(tmp_path, SAMPLES)
    torn = (tmp_path / FILE).read_bytes()[:-5]
    (tmp_path / FILE).write_bytes(torn)
    with pytest.raises(Unrecorded, match="no recorded answer of says for m5/"):
        replayed(tmp_path, SAMPLES[-1])
    assert replayed(tmp_path, SAMPLES[0]).text == "I say m0/0/0.0.0"
    assert (tmp_path / FILE).read_bytes() == torn


@pytest.mark.parametrize(
    "damage", [b"\0" * 40, b'{"exchange": "1', b"", b"[1]", b'{"text": 3}', b"{}", b'{"message": "\xff"}']
)
def test_a_damaged_line_is_named_in_one_line(tmp_path, damage):
    recorded(tmp_path, SAMPLES)
    found = (tmp_path / FILE).read_bytes().split(b"\n")
    (tmp_path / FILE).write_bytes(b"\n".join([*found[:2], damage, *found[3:]]))
    with pytest.raises(AgonError) as caught:
        Recording(tmp_path)
    assert f"{tmp_path / FILE} is damaged in line 3" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_damaged_line_is_named_by_its_number_in_the_file(tmp_path):
    recorded(tmp_path, SAMPLES[:2])
    recording = Recording(tmp_path)
    count = len(lines(tmp_path))
    with (tmp_path / FILE).open("ab") as stream:
        stream.write(b'{"failed": "x", "kind": "y", "text": "z"}\nrubbish\n')
    with pytest.raises(AgonError, match=f"damaged in line {count + 2} "):
        recording.read_on()


LIMITED = """
    import resource, sys
    sys.path[:0] = {path}
    from pathlib import Path
    from test_recording import SAMPLES, recorded
    for limit in {limits}:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        try:
            recorded(Path({folder!r}) / str(limit), SAMPLES, at_once=2)
        except Exception as error:
            print(type(error).__name__, error)
"""


def python(code, **values):
    code = textwrap.dedent(code).format(path=[os.path.dirname(__file__), *sys.path], **values)  # noqa: PTH120
    return [sys.executable, "-c", code]


def test_a_full_disk_is_said_in_one_line_and_the_same_command_goes_on(tmp_path):
    recorded(tmp_path / "whole", SAMPLES, at_once=2)
    size = (tmp_path / "whole" / FILE).stat().st_size
    limits = [int(size * share) for share in (0.05, 0.4, 0.75, 0.99)]
    run = patience.run(python(LIMITED, folder=str(tmp_path), limits=limits))
    assert run.stderr == ""
    said = run.stdout.splitlines()
    assert len(said) == len(limits)
    for limit, line in zip(limits, said, strict=True):
        folder = tmp_path / str(limit)
        assert line.startswith(f"AgonError {folder / FILE} cannot be written (File too large)") and "make room" in line
        assert not (folder / FILE).exists() or (folder / FILE).read_bytes().endswith(b"\n")
        kept, model = len(Recording(folder)), Says()
        recorded(folder, SAMPLES, model, at_once=2)
        assert model.asked.total() == len(SAMPLES) - kept > 0
        assert len(Recording(folder)) == len(SAMPLES)


def test_a_disk_that_is_full_in_the_middle_of_a_line_leaves_no_half_line(tmp_path, monkeypatch):
    recorded(tmp_path, SAMPLES[:3])
    before, write = (tmp_path / FILE).read_bytes(), os.write

    def half(file, data):
        if len(data) < 40:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(file, data[: len(data) // 2])

    monkeypatch.setattr(os, "write", half)
    with pytest.raises(AgonError, match="No space left on device"):
        recorded(tmp_path, SAMPLES)
    assert (tmp_path / FILE).read_bytes() == before


def test_nothing_is_asked_where_the_disk_has_no_room_for_the_answer(tmp_path, monkeypatch):
    model, disk, calls = Says(), os.statvfs(tmp_path), []

    def filling(file):
        """A disk that has room for three calls."""
        calls.append(file)
        blocks = ROOM // disk.f_frsize + (len(calls) <= 3)
        return os.statvfs_result([disk.f_bsize, disk.f_frsize, 10**9, blocks, blocks, *disk[5:]])

    monkeypatch.setattr(os, "fstatvfs", filling)
    with pytest.raises(AgonError, match=r"is nearly full, with .* bytes left of .*: nothing more is asked; make room"):
        recorded(tmp_path, SAMPLES, model, at_once=2)
    assert model.asked.total() == len(Recording(tmp_path)) == 3
    monkeypatch.undo()
    recorded(tmp_path, SAMPLES, model)
    assert model.asked.total() == len(SAMPLES)


def out_of_memory(*_):
    raise MemoryError


def no_thread(*_, **__):
    raise RuntimeError("can't start new thread")


def no_room(*_):
    raise OSError(errno.EIO, "broken")


def ended_by(fault, patch, break_what):
    """Six calls at once, of which the first two are answered at once, and the others after the write has failed: what each raised."""

    async def ask(folder):
        gate, model = asyncio.Event(), Says()

        async def answered(request):
            model.asked[request.sample] += 1
            if request.sample not in SAMPLES[:2]:
                await gate.wait()
            return await Says().answer(request)

        writer = Writer(Recording(folder), folder / "lock")
        ledger = Ledger({"says": model}, writer, Budget())
        live = Live("says", model, ledger, clock=lambda: 1.0)
        with patch.context() as broken, patch.context() as asked:
            asked.setattr(model, "answer", answered)
            break_what(broken, writer, fault)
            tasks = [asyncio.create_task(live.answer(request(sample))) for sample in SAMPLES[:4]]
            first = await asyncio.wait_for(asyncio.gather(*tasks[:2], return_exceptions=True), LONG)
            gate.set()
            later = await asyncio.wait_for(asyncio.gather(*tasks[2:], return_exceptions=True), LONG)
            with pytest.raises(AgonError):  # nothing more is paid for
                await asyncio.wait_for(live.answer(request(SAMPLES[4])), LONG)
            await asyncio.wait_for(ledger.drain(), LONG)
        assert model.asked.total() == 4
        writer.close()
        assert len(writer.recording) == 4
        return [*first, *later]

    return ask


def breaks_fsync(patch, writer, fault):
    patch.setattr(os, "fsync", fault)


def breaks_submit(patch, writer, fault):
    patch.setattr(writer._thread, "submit", fault)


@pytest.mark.parametrize(
    ("fault", "break_what", "said"),
    [
        (out_of_memory, breaks_fsync, r"\(MemoryError\): .* give it the memory or threads that it lacks"),
        (out_of_memory, breaks_submit, r"\(MemoryError\): "),
        (no_thread, breaks_fsync, r"\(RuntimeError: can't start new thread\): "),
        (no_thread, breaks_submit, r"\(RuntimeError: can't start new thread\): "),
        (no_room, breaks_fsync, r"\(broken\): what was recorded before is safe; make room"),
    ],
)
def test_whatever_stops_the_writer_ends_all_calls_and_loses_no_answer(tmp_path, monkeypatch, fault, break_what, said):
    raised = asyncio.run(ended_by(fault, monkeypatch, break_what)(tmp_path))
    assert {type(each) for each in raised} == {AgonError} and len(set(map(str, raised))) == 1
    assert re.search(rf"{FILE} cannot be written {said}", str(raised[0])) and "\n" not in str(raised[0])
    model = Says()
    recorded(tmp_path, SAMPLES, model)
    assert model.asked.total() == 2 and len(Recording(tmp_path)) == len(SAMPLES)


def test_without_threads_nothing_is_asked_and_nothing_is_left(tmp_path, monkeypatch):
    with (
        monkeypatch.context() as broken,
        pytest.raises(AgonError, match=r"cannot be written: .*can't start new thread"),
    ):
        broken.setattr(threading.Thread, "start", no_thread)
        Writer(Recording(tmp_path / "mine"), tmp_path / "lock")
    assert not (tmp_path / "mine").exists()
    Writer(Recording(tmp_path / "mine"), tmp_path / "lock").close()


def test_a_half_line_that_cannot_be_cut_off_is_written_over(tmp_path, monkeypatch):
    """A write stops in the middle, and the file cannot be shortened then: at the close all is there, once."""
    recorded(tmp_path / "whole", SAMPLES[:2], at_once=2)
    write = os.write

    async def ask():
        model = Says()
        writer = Writer(Recording(tmp_path), tmp_path / "lock")
        live = Live("says", model, Ledger({"says": model}, writer, Budget()), clock=lambda: 1.0)
        with monkeypatch.context() as broken:
            broken.setattr(os, "write", lambda file, data: write(file, data[:100]) and no_room())
            broken.setattr(os, "ftruncate", no_room)
            await asyncio.gather(*(live.answer(request(each)) for each in SAMPLES[:2]), return_exceptions=True)
        writer.close()

    asyncio.run(ask())
    assert (tmp_path / FILE).read_bytes() == (tmp_path / "whole" / FILE).read_bytes()


RECORDING = """
    import asyncio, sys
    sys.path[:0] = {path}
    from pathlib import Path
    from test_recording import *
    folder = Path({folder!r})

    async def ask():
        model = Says()
        writer = Writer(Recording(folder), folder / "lock")
        live = Live("says", model, Ledger(dict(says=model), writer, Budget()))
        for sample in SAMPLES:
            await live.answer(request(sample))
            print(sample, flush=True)
            sys.stdin.readline()
        writer.close()

    asyncio.run(ask())
"""


def test_of_two_processes_the_second_is_told_so_and_the_first_is_unharmed(tmp_path):
    with subprocess.Popen(
        python(RECORDING, folder=str(tmp_path)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as first:
        assert first.stdout.readline().strip() == SAMPLES[0]
        with pytest.raises(AgonError) as caught:
            recorded(tmp_path, SAMPLES)
        first.communicate("\n" * len(SAMPLES))
    assert str(caught.value) == f"another process is recording into {tmp_path.name}: wait for it, or stop it"
    assert first.returncode == 0
    model = Says()
    recorded(tmp_path, SAMPLES, model)
    assert not model.asked


def test_another_process_records_between_reading_and_locking(tmp_path):
    recorded(tmp_path, SAMPLES[:2])
    early = Recording(tmp_path)
    recorded(tmp_path, SAMPLES)
    Writer(early, tmp_path / "lock").close()
    assert len(early) == len(Recording(tmp_path)) == len(SAMPLES)


def test_a_killed_process_leaves_no_lock(tmp_path):
    with subprocess.Popen(
        python(RECORDING, folder=str(tmp_path)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as first:
        first.stdout.readline()
        first.kill()
    model = Says()
    recorded(tmp_path, SAMPLES, model)
    assert model.asked.total() == len(SAMPLES) - 1


def test_answers_are_on_disk_before_they_are_used(tmp_path, monkeypatch):
    path, synced, fsync = tmp_path / FILE, [], os.fsync

    def noted(file):
        fsync(file)
        synced.append(path.read_bytes() if path.exists() else b"")

    async def ask(live, sample):
        key = (await live.answer(request(sample))).exchange.encode()
        return any(b'"exchange":"' + key in content for content in synced)

    async def ask_all():
        model = Says()
        writer = Writer(Recording(tmp_path), tmp_path / "lock")
        live = Live("says", model, Ledger({"says": model}, writer, Budget()))
        found = await asyncio.gather(*(ask(live, sample) for sample in SAMPLES))
        writer.close()
        return found

    monkeypatch.setattr(os, "fsync", noted)
    assert all(asyncio.run(ask_all()))


def test_messages_stand_before_every_exchange_that_needs_them(tmp_path):
    recorded(tmp_path, [f"m{number}/0/0.0.0" for number in range(40)], at_once=20)
    known = {""}
    for line in lines(tmp_path):
        if "message" in line:
            assert line["after"] in known and line["message"] not in known
            known.add(line["message"])
        else:
            assert line["asked"] in known
    assert len(known) == 1 + 5 + 40


def test_what_was_answered_before_an_interruption_is_recorded(tmp_path, monkeypatch):
    """The disk is slow; meanwhile more is answered, and then the run is cancelled, as by Ctrl-C."""
    go, fsync = threading.Event(), os.fsync

    async def ask():
        model = Says()
        writer = Writer(Recording(tmp_path), tmp_path / "lock")
        live = Live("says", model, Ledger({"says": model}, writer, Budget()))
        monkeypatch.setattr(os, "fsync", lambda file: go.wait(LONG) and fsync(file))
        tasks = [asyncio.create_task(live.answer(request(SAMPLES[0])))]
        await asyncio.sleep(0.05)
        tasks += [asyncio.create_task(live.answer(request(sample))) for sample in SAMPLES[1:]]
        await asyncio.sleep(0.05)
        for task in tasks:
            task.cancel()
        return writer

    writer = asyncio.run(ask())
    go.set()
    writer.close()
    assert len(Recording(tmp_path)) == len(SAMPLES)


@settings(max_examples=100, deadline=None)
@given(ANYTHING, ANYTHING, ANYTHING)
def test_any_text_comes_back_as_it_was(tmp_path_factory, asked, text, other):
    assume(ended_of(text) != "error")  # `stop` is the text, too: an answer that broke off is asked again
    folder = tmp_path_factory.mktemp("any")

    class Any(Model):
        async def answer(self, request):
            return Answer(text, thinking=other, id=other, stop=text, tokens_in=3)

    async def ask():
        model = Any(model="any")
        writer = Writer(Recording(folder), folder / "lock")
        try:
            return await Live("any", model, Ledger({"any": model}, writer, Budget())).answer(what)
        finally:
            writer.close()

    what = Request(extend(extend((), "system", other), "user", asked), "m/0/0.0.0")
    answer = asyncio.run(ask())
    again = asyncio.run(Replayed("any", Any(model="any").identity, Recording(folder)).answer(what))
    assert again == replace(answer, recorded=True)
    messages = [line["text"] for line in lines(folder) if "message" in line]
    assert messages == [message.text for message in what.messages]
    for said, kept in ((text, answer.text), (other, answer.thinking), (asked, messages[1])):
        assert kept == said or any("\ud800" <= letter <= "\udfff" for letter in said)
    shutil.rmtree(folder)


def test_a_refusal_for_good_is_recorded_replayed_and_not_asked_again(tmp_path):
    void = CallFailed("400", "status 400: not\ud800 that", "void")
    model = Says(failures={SAMPLES[0]: void})
    for _ in range(2):
        with pytest.raises(CallFailed) as caught:
            recorded(tmp_path, SAMPLES[:1], model)
        assert caught.value.then == "void" and str(caught.value) == "status 400: not? that"
    assert model.asked.total() == 1
    with pytest.raises(CallFailed) as caught:
        replayed(tmp_path, SAMPLES[0])
    assert caught.value.then == "void" and str(caught.value) == "status 400: not? that"


def test_failed_tries_are_lines_of_their_own(tmp_path):
    failures = {sample: CallFailed("500", "no") for sample in SAMPLES[:4]}
    recorded(tmp_path, SAMPLES, Says(failures=failures, pause=0.001))
    recording = Recording(tmp_path)
    assert (len(recording), recording.failures) == (6, 4)
    assert [line["kind"] for line in lines(tmp_path) if "failed" in line] == ["500"] * 4


@pytest.mark.parametrize("answered", [0, 1])
def test_failed_calls_without_answers_are_forgotten_on_demand(tmp_path, answered):
    recorded(tmp_path, SAMPLES[:1])
    before = (tmp_path / FILE).read_bytes()

    async def run():
        writer = Writer(Recording(tmp_path), tmp_path / "lock")
        await writer.add(Failure("wanted", "500", "no"))
        for key in range(answered):
            await writer.add(Exchange(f"key{key}", "m", {}, "asked", "match/0/0.0.0"))
        writer.close(forget_failures=True)

    asyncio.run(run())
    assert ((tmp_path / FILE).read_bytes() == before) is not bool(answered)
    assert Recording(tmp_path).failures == answered


def test_a_recording_without_exchanges_is_as_none(tmp_path):
    (tmp_path / FILE).write_bytes(b"")
    settings = experiment(agents=["zs", "best_reply_to_last"], models=["standin"])
    matches, models = plan(settings), models_of(settings)
    for folder in (tmp_path / "none", tmp_path):
        empty = Recording(folder)
        assert len(empty) == 0 and empty.get("x") is None
        assert estimates(matches, models, empty) == estimates(matches, models)


def test_exchanges_are_counted_to_their_matches(tmp_path):
    recorded(tmp_path, ["m0/0/0.0.0", "m0/1/0.0.0", "m1/0/0.0.0"])
    assert Recording(tmp_path).calls_of == {"m0": 2, "m1": 1}
