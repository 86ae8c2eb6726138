"""Recordings: exchanges with models on disk, a line each.

An answer is used only when its line is durable, and is paid for once.
"""

import fcntl
import os
from asyncio import Future, Task, create_task, get_running_loop, wrap_future
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from errno import ENOENT
from pathlib import Path
from typing import Any

import msgspec
from filelock import FileLock, Timeout

from agon.errors import AgonError
from agon.models.base import Answer, CallFailed, Ended, Message, ReadingRule, Tokens, TooLong
from agon.models.errors import one_line
from agon.paths import require_finite

FILE = "exchanges.jsonl"


class Exchange(msgspec.Struct, omit_defaults=True):
    """A call that was answered, or that the provider refused for good."""

    exchange: str
    """The key: a hash of the next four fields."""
    model: str
    parameters: dict[str, Any]
    asked: str
    """Id of the conversation's last message. Every message has the id of the one before."""
    sample: str
    text: str = ""
    thinking: str = ""
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_written: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    id: str = ""
    stop: str = ""
    void: str = ""
    """Why the provider refused this conversation for good. Empty: it answered."""
    too_long: bool = False
    """Whether it refused the conversation because of its length."""
    time: float = 0.0
    """When the answer came, in seconds since 1970."""
    unreported: bool = False
    """Whether the provider did not say credibly how many tokens the call took."""
    weights: tuple[float, ...] = ()
    """Log-probability of every option, in the order of the legal actions, if options were weighed."""
    usd: float | None = None
    """The price in USD that the provider says it charged. None: it does not say."""
    opaque: tuple[dict[str, Any], ...] = ()
    """JSON objects that go back to the provider with the answer."""
    ended: Ended = "unknown"
    """Why the answer ended. unknown: the recording is older than this field."""
    reading_rule: ReadingRule = "as_done"
    """How the answer was read when it was recorded. as_done also for recordings that are older than this field."""
    served: str = ""
    """The model that the reply names. Empty here and below: the reply does not say, or the recording is older than this field."""
    provider: str = ""
    """The provider behind a router, as the reply names it."""
    fingerprint: str = ""
    """The reply's fingerprint of the system that answered."""
    host: str = ""
    """The host that was asked, with its port if the address has one. Empty: this machine, without a network."""
    sent: dict[str, Any] = {}
    """Fields of the request beside the conversation and the model's parameters, by their names there. A schema and the tools are hashes."""

    @property
    def key(self) -> str:
        """The key of the exchange."""
        return self.exchange


class Failure(msgspec.Struct, omit_defaults=True):
    """A call that failed and is tried again. It is recorded so that every call has a line."""

    failed: str
    """Key of the exchange that the call was for."""
    kind: str
    text: str
    time: float = 0.0
    model: str = ""
    """The model that was asked. Empty: the recording is older than this field."""

    @property
    def key(self) -> str:
        """The key of the exchange."""
        return self.failed


class Line(msgspec.Struct):
    """The fields of any line that a replay needs.

    A line has one of the keys message, exchange and failed, which says what it is.
    """

    message: str = ""
    exchange: str = ""
    failed: str = ""
    text: str = ""
    thinking: str = ""
    tokens_in: Tokens = 0
    tokens_cached: Tokens = 0
    tokens_written: Tokens = 0
    tokens_out: Tokens = 0
    seconds: float = 0.0
    id: str = ""
    stop: str = ""
    void: str = ""
    too_long: bool = False
    unreported: bool = False
    sample: str = ""
    weights: tuple[float, ...] = ()
    usd: float | None = None
    opaque: tuple[dict[str, Any], ...] = ()
    ended: Ended = "unknown"
    reading_rule: ReadingRule = "as_done"
    model: str = ""
    parameters: msgspec.Raw = msgspec.Raw(b"{}")
    time: float = 0.0
    served: str = ""
    provider: str = ""
    fingerprint: str = ""
    host: str = ""


WHO = {
    "host": "the host that is asked",
    "served": "the model that answers",
    "provider": "the provider that answers",
    "fingerprint": "the system's fingerprint",
}
"""Fields of an exchange that say who answered -> the same in words."""


def asked_model(line: Exchange | Line) -> bytes:
    """The model and parameters that were asked, as a key."""
    parameters = line.parameters if isinstance(line.parameters, msgspec.Raw) else _encode(line.parameters)
    return line.model.encode() + b"\n" + bytes(parameters)


_line = msgspec.json.Decoder(Line)
_encode = msgspec.json.Encoder().encode


def read_lines(path: Path) -> Iterator[Line]:
    """The complete lines of a recording's file. Raises AgonError for a damaged line."""
    with require_finite(path).open("rb") as stream:
        for number, raw in enumerate(stream, 1):
            if not raw.endswith(b"\n"):  # torn by a crash: its exchange is asked for again
                return
            yield _decode(path, number, raw)


def _decode(path: Path, number: int, raw: bytes) -> Line:
    try:
        line = _line.decode(raw)
        if not (line.message or line.exchange or line.failed):
            raise msgspec.DecodeError("it is no line of a recording")
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise AgonError(
            f"{path} is damaged in line {number} ({error}): restore the file (dvc checkout), "
            "or delete the line and record again what it held"
        ) from None
    return line


class Recording:
    """The exchanges of one experiment, by key. Any process may read them; `Writer` adds to them."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self.answers: dict[str, Answer] = {}
        self.voids: dict[str, str] = {}
        self.too_long: set[str] = set()
        """Keys of the voids that were refused because of their length."""
        self.failures = 0
        self.calls_of: Counter[str] = Counter()
        """Number of exchanges by match."""
        self.who: dict[bytes, dict[str, Counter[str]]] = {}
        """Model and parameters -> field of `WHO` -> its values -> number of answers. What replies do not say is left out."""
        self._messages: set[str] = set()
        self._whole = self._lines = 0
        self.read_on()

    def read_on(self) -> None:
        """Reads the lines that were added to the file since the last call. Raises AgonError for a damaged file."""
        if not require_finite(self.path).exists():
            return
        with self.path.open("rb") as stream:
            stream.seek(self._whole)
            for number, raw in enumerate(stream, self._lines + 1):
                if not raw.endswith(b"\n"):  # torn by a crash: its exchange is asked for again
                    break
                line = _decode(self.path, number, raw)
                self._whole, self._lines = self._whole + len(raw), number
                if line.exchange:
                    earlier = self.answers.get(line.exchange)
                    if earlier and earlier.text != line.text and not line.void:
                        raise AgonError(
                            f"{self.path}: line {number} has another answer to what was asked before (exchange "
                            f"{line.exchange}): delete one of the two lines, or restore the file (dvc checkout)"
                        )
                    self.hold(line)
                elif line.message:
                    self._messages.add(line.message)
                else:
                    self.failures += 1

    def describe_change(self, line: "Exchange") -> str:
        """The change of who answered: what a new answer says and no earlier answer of the same model and parameters says.

        Empty: nothing, or no earlier answer says anything.
        """
        earlier, changes = self.who.get(asked_model(line), {}), []
        for field, words in WHO.items():
            value, before = getattr(line, field), earlier.get(field)
            if value and before and value not in before:
                changes.append(f"{words} is now {value} (before: {', '.join([*before][-3:])})")
        return one_line("; ".join(changes))

    def hosts_of(self, identity: str) -> list[str]:
        """The hosts that gave the recorded answers of a model (`Model.identity`). Older recordings do not say them."""
        line = Exchange(exchange="", asked="", sample="", **msgspec.json.decode(identity))
        return sorted(self.who.get(asked_model(line), {}).get("host", ()))

    def hold(self, line: "Exchange | Line") -> None:
        """Adds an exchange to those in memory."""
        if not line.void:
            who = self.who.setdefault(asked_model(line), {})
            for field in WHO:
                if value := getattr(line, field):
                    who.setdefault(field, Counter())[value] += 1
        self.calls_of[line.sample.partition("/")[0]] += 1
        if line.void:
            self.voids[line.exchange] = line.void
            if line.too_long:
                self.too_long.add(line.exchange)
        else:
            self.answers[line.exchange] = _answer(line)

    def __len__(self) -> int:
        return len(self.answers) + len(self.voids)

    def holds(self, key: str) -> bool:
        """Whether there is an answer or a refusal for good."""
        return key in self.answers or key in self.voids

    def get(self, key: str) -> Answer | None:
        """The recorded answer. None: there is none. Raises CallFailed (TooLong) for a conversation that was refused."""
        answer = self.answers.get(key)
        if answer is None and key in self.voids:
            raise (TooLong if key in self.too_long else CallFailed)("recorded", self.voids[key], "void")
        return answer


ROOM = 16_000_000
"""Bytes that must be free on the disk before a call is made, for its answer and those of all calls in flight."""
IN_USE = "another process is recording into {}: wait for it, or stop it"


class _Write(msgspec.Struct):
    """A line that waits to be written."""

    line: Exchange | Failure
    data: bytes
    """The new messages of the line and the line itself, as they are written."""
    future: Any
    """Done when the line is on disk."""


class Writer:
    """Adds to a recording. Only one process may have its writer. Lines that come together are made durable together.

    Raises AgonError if another process has it, or if the file cannot be written.
    """

    def __init__(self, recording: Recording, lock: Path) -> None:
        self.recording = recording
        self._waiting: list[_Write] = []
        """Lines that are not on disk yet. A line leaves only when it is on disk, so `close` finds it after any
        error."""
        self._task: Task[None] | None = None
        self.fault = ""
        """Why nothing can be written any more. Empty: it can."""
        lock.parent.mkdir(parents=True, exist_ok=True)
        self._lock = FileLock(lock)
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise AgonError(IN_USE.format(recording.path.parent.name)) from None
        recording.read_on()  # another process may have recorded between reading and locking
        self._before = self._end = recording._whole
        """Length of the file in bytes: at the start, and of its durable part."""
        self._has_answer = False
        try:
            self._thread = ThreadPoolExecutor(1)
            self._thread.submit(int).result(timeout=60)  # if no thread can start, nothing is asked and paid
            self._file = _open_file(recording.path)
            _lock_file(self._file, recording.path.parent.name)
            os.ftruncate(self._file, self._before)
        except Exception as error:
            self._lock.release()
            if isinstance(error, AgonError):
                raise
            raise AgonError(f"{recording.path} cannot be written: {_reason(error)}") from None

    async def add(self, line: Exchange | Failure, messages: tuple[Message, ...] = ()) -> None:
        """Returns when the line and its new messages are on disk.

        Raises AgonError if they cannot be written. `close` then tries once more.
        """
        message_ids = self.recording._messages
        new = [message for message in messages if message.id not in message_ids]
        lines = [
            {"message": message.id, "after": message.before, "role": message.role, "text": message.text}
            for message in new
        ]
        data = b"".join(_encode(part) + b"\n" for part in (*lines, line))
        future: Future[None] = get_running_loop().create_future()
        self._waiting.append(_Write(line, data, future))
        message_ids.update([message.id for message in new])
        self.recording.failures += isinstance(line, Failure)
        self._has_answer = self._has_answer or isinstance(line, Exchange)
        if self.fault:
            raise AgonError(self.fault)
        if self._task is None or self._task.done():
            self._task = create_task(self._write_all())
        await future
        if isinstance(line, Exchange):
            self.recording.hold(line)

    def require_room(self) -> None:
        """Raises AgonError where an answer could not be recorded: an earlier one could not, or the disk is nearly full."""
        if self.fault:
            raise AgonError(self.fault)
        disk = os.fstatvfs(self._file)
        free = disk.f_bavail * disk.f_frsize
        if disk.f_blocks and free < ROOM:  # some file systems do not say their size
            raise AgonError(
                f"the disk of {self.recording.path} is nearly full, with {free:,} bytes left of {ROOM:,} that answers may need: "
                "nothing more is asked; make room and give the same command again"
            )

    async def _write_all(self) -> None:
        try:
            while self._waiting:
                for write in await wrap_future(self._thread.submit(self._write)):
                    if not write.future.done():
                        write.future.set_result(None)
        except Exception as error:  # any error at all, so that nobody waits for ever
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        """Ends all waiting with an error. The lines stay for `close`."""
        advice = "what was recorded before is safe; make room and give the same command again"
        if not isinstance(error, OSError):
            advice = "what was recorded before is safe; give it the memory or threads that it lacks, and the same command again"
        elif not self._is_in_place():
            advice = "put the file back where it was, if it is somewhere, and give the same command again"
        self.fault = f"{self.recording.path} cannot be written ({_reason(error)}): {advice}"
        for write in self._waiting:
            if not write.future.done():
                write.future.set_exception(AgonError(self.fault))

    def _write(self) -> list[_Write]:
        """Writes all waiting lines or none, and returns them.

        Runs in the thread, and in `close` after the thread has ended.
        """
        batch = self._waiting[:]
        data = memoryview(b"".join([write.data for write in batch]))
        end = self._end + len(data)
        os.lseek(self._file, self._end, os.SEEK_SET)
        try:
            while data:
                data = data[os.write(self._file, data) :]
            os.fsync(self._file)
            if not self._is_in_place():
                raise OSError(ENOENT, "it was deleted or moved meanwhile")
        except BaseException:
            os.ftruncate(self._file, self._end)  # no half lines
            raise
        self._end = end
        del self._waiting[: len(batch)]
        return batch

    def _is_in_place(self) -> bool:
        """Whether the path still leads to the open file."""
        try:
            return os.path.samestat(self.recording.path.stat(), os.fstat(self._file))
        except OSError:
            return False

    def close(self, forget_failures: bool = False) -> None:
        """Writes the lines that still wait after an error or Ctrl-C, and lets another process record. Raises AgonError.

        An empty recording is deleted, so that data/ does not pin it. `forget_failures`: if no call was answered, the
        lines of failed calls are removed, and the file is as it was before.
        """
        self._thread.shutdown()
        try:
            for write in self._write():
                if isinstance(write.line, Exchange):
                    self.recording.hold(write.line)
            if forget_failures and not self._has_answer:
                os.ftruncate(self._file, self._before)
        except Exception as error:
            raise AgonError(self.fault or f"{self.recording.path} cannot be written: {_reason(error)}") from None
        finally:
            if not os.fstat(self._file).st_size and self._is_in_place():
                with suppress(OSError):
                    self.recording.path.unlink()
                    self.recording.path.parent.rmdir()
            os.close(self._file)
            self._lock.release()


def _reason(error: Exception) -> str:
    """Why a file could not be written, in words."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return one_line(f"{type(error).__name__}: {error}").removesuffix(":")


def _lock_file(file: int, name: str) -> None:
    """Locks the open file too, if its file system can, because somebody may delete the lock beside it. Raises AgonError."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        raise AgonError(IN_USE.format(name)) from None
    except OSError:  # a file system without locks
        return


def _open_file(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # makes the file's name durable too
    finally:
        os.close(folder)
    return file


def _answer(line: Line | Exchange) -> Answer:
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
        tokens_written=line.tokens_written,
        weights=line.weights,
        unreported=line.unreported,
        usd=line.usd,
        opaque=line.opaque,
        ended=line.ended,
        reading_rule=line.reading_rule,
    )
