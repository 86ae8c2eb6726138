"""Exchanges with models on disk: one line each, durable before the answer is used, read again for nothing."""

import os
from asyncio import Future, Task, create_task, get_running_loop, to_thread
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
from filelock import FileLock, Timeout

from agon import AgonError
from agon.models.base import Answer, CallFailed, Message

FILE = "exchanges.jsonl"


class Exchange(msgspec.Struct, omit_defaults=True):
    """One answered call, or one refused for good."""

    exchange: str
    """The key: a hash of what follows up to `sample`."""
    model: str
    parameters: dict[str, Any]
    asked: str
    """Id of the conversation's last message; each names the one before."""
    sample: str
    text: str = ""
    thinking: str = ""
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    id: str = ""
    stop: str = ""
    void: str = ""
    """Why the provider refuses this conversation for good; empty when it answered."""
    time: float = 0.0
    """When the answer came, in seconds since 1970."""


class Failure(msgspec.Struct, omit_defaults=True):
    """One call that failed and was, or will be, tried again; kept so that the lines equal the calls made."""

    failed: str
    """Key of the exchange that was wanted."""
    kind: str
    text: str
    time: float = 0.0


class _Line(msgspec.Struct):
    """Any line: which of the three it is shows in the key that it has."""

    message: str = ""
    exchange: str = ""
    failed: str = ""
    text: str = ""
    thinking: str = ""
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    id: str = ""
    stop: str = ""
    void: str = ""
    sample: str = ""


_line = msgspec.json.Decoder(_Line)
_encode = msgspec.json.Encoder().encode


class Recording:
    """The exchanges of one experiment, by key. Reading needs nothing; writing is for one process at a time."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self.answers: dict[str, Answer] = {}
        self.voids: dict[str, str] = {}
        self.failures = 0
        self.calls_of: Counter[str] = Counter()
        """Exchanges by match."""
        self._messages: set[str] = set()
        self._whole = 0
        self._read()

    def _read(self) -> None:
        if not self.path.exists():
            return
        with self.path.open("rb") as stream:
            for number, raw in enumerate(stream, 1):
                if not raw.endswith(b"\n"):  # torn by a crash: its exchange is asked for again
                    break
                try:
                    line = _line.decode(raw)
                except msgspec.DecodeError as error:
                    raise AgonError(
                        f"{self.path} is damaged in line {number} ({error}): restore the file (dvc checkout), "
                        "or delete the line and record again what it held"
                    ) from None
                self._whole += len(raw)
                if line.exchange:
                    self.hold(line)
                elif line.message:
                    self._messages.add(line.message)
                else:
                    self.failures += 1

    def hold(self, line: "Exchange | _Line") -> None:
        """Has one more exchange in memory."""
        self.calls_of[line.sample.partition("/")[0]] += 1
        if line.void:
            self.voids[line.exchange] = line.void
        else:
            self.answers[line.exchange] = _answer(line)

    def __len__(self) -> int:
        return len(self.answers) + len(self.voids)

    def get(self, key: str) -> Answer | None:
        """The recorded answer; None when there is none. Raises CallFailed for a conversation that was refused."""
        found = self.answers.get(key)
        if found is None and key in self.voids:
            raise CallFailed("recorded", self.voids[key], "void")
        return found


class Writer:
    """The one process that may add to a recording. Lines that come together are made durable together."""

    def __init__(self, recording: Recording, lock: Path) -> None:
        self.recording = recording
        self._waiting: list[tuple[bytes, Future[None]]] = []
        self._task: Task[None] | None = None
        lock.parent.mkdir(parents=True, exist_ok=True)
        self._lock = FileLock(lock)
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise AgonError(
                f"another process is recording into {recording.path.parent.name}: wait for it, or stop it"
            ) from None
        recording.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(recording.path, os.O_WRONLY | os.O_CREAT, 0o644)
        os.ftruncate(self._file, recording._whole)
        os.lseek(self._file, 0, os.SEEK_END)

    async def add(self, line: Exchange | Failure, messages: tuple[Message, ...] = ()) -> None:
        """Returns once the line, and every message of it that is not there yet, is on disk. Raises AgonError."""
        if isinstance(line, Failure):
            self.recording.failures += 1
            data = b""
        else:
            data = b"".join(
                _encode({"message": each.id, "after": each.before, "role": each.role, "text": each.text}) + b"\n"
                for each in messages
                if each.id not in self.recording._messages
            )
            self.recording._messages.update(each.id for each in messages)
        written: Future[None] = get_running_loop().create_future()
        self._waiting.append((data + _encode(line) + b"\n", written))
        if self._task is None or self._task.done():
            self._task = create_task(self._write_all())
        await written
        if isinstance(line, Exchange):
            self.recording.hold(line)

    async def _write_all(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            try:
                await to_thread(self._write, b"".join(data for data, _ in batch))
            except OSError as error:
                fault = AgonError(
                    f"{self.recording.path} cannot be written ({error.strerror}): what was recorded before is safe; "
                    "make room and give the same command again"
                )
                for _, written in batch + self._waiting:
                    if not written.done():
                        written.set_exception(fault)
                self._waiting = []
                return
            for _, written in batch:
                if not written.done():
                    written.set_result(None)

    def _write(self, data: bytes) -> None:
        start = os.lseek(self._file, 0, os.SEEK_CUR)
        try:
            while data:
                data = data[os.write(self._file, data) :]
            os.fsync(self._file)
        except OSError:
            os.ftruncate(self._file, start)  # no half lines
            os.lseek(self._file, start, os.SEEK_SET)
            raise

    def close(self) -> None:
        """Lets another process record."""
        os.close(self._file)
        self._lock.release()


def _answer(line: _Line | Exchange) -> Answer:
    return Answer(
        line.text,
        line.thinking,
        line.tokens_in,
        line.tokens_cached,
        line.tokens_out,
        line.seconds,
        line.id,
        line.stop,
        line.exchange,
        recorded=True,
    )
