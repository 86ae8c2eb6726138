"""Exchanges with models on disk: one line each, durable before the answer is used, read again for nothing."""

import os
from asyncio import Future, Task, create_task, get_running_loop, wrap_future
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from errno import ENOENT
from pathlib import Path
from typing import Any

import msgspec
from filelock import FileLock, Timeout

from agon.errors import AgonError
from agon.models.base import Answer, CallFailed, Message, Tokens, TooLong
from agon.models.ends import Ended
from agon.models.errors import one_line

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
    tokens_written: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    id: str = ""
    stop: str = ""
    void: str = ""
    """Why the provider refuses this conversation for good; empty when it answered."""
    too_long: bool = False
    """Whether it refuses it for its length."""
    time: float = 0.0
    """When the answer came, in seconds since 1970."""
    unreported: bool = False
    """Whether the provider did not say, or not credibly, what the call took."""
    weights: tuple[float, ...] = ()
    """Log-probabilities of the answers that were weighed, in the order of the legal actions."""
    usd: float | None = None
    """What the provider says that it charged; absent where it does not say."""
    opaque: tuple[dict[str, Any], ...] = ()
    """What the provider wants back with the answer, as it came."""
    ended: Ended = "unknown"
    """Why it ended, in agon's word; recordings made before this was kept do not have it."""

    @property
    def key(self) -> str:
        """Whose line it is."""
        return self.exchange


class Failure(msgspec.Struct, omit_defaults=True):
    """One call that failed and was, or will be, tried again; kept so that the lines equal the calls made."""

    failed: str
    """Key of the exchange that was wanted."""
    kind: str
    text: str
    time: float = 0.0

    @property
    def key(self) -> str:
        """Whose line it is."""
        return self.failed


class Line(msgspec.Struct):
    """Any line, as far as a replay needs it: which of the three it is shows in the key that it has."""

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


_line = msgspec.json.Decoder(Line)
_encode = msgspec.json.Encoder().encode


class Recording:
    """The exchanges of one experiment, by key. Reading needs nothing; writing is for one process at a time."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self.answers: dict[str, Answer] = {}
        self.voids: dict[str, str] = {}
        self.too_long: set[str] = set()
        """Of the voids, those that were refused for their length."""
        self.failures = 0
        self.calls_of: Counter[str] = Counter()
        """Exchanges by match."""
        self._messages: set[str] = set()
        self._whole = self._lines = 0
        self.read_on()

    def read_on(self) -> None:
        """Reads what has been added to the file since it was last read."""
        if not self.path.exists():
            return
        with self.path.open("rb") as stream:
            stream.seek(self._whole)
            for number, raw in enumerate(stream, self._lines + 1):
                if not raw.endswith(b"\n"):  # torn by a crash: its exchange is asked for again
                    break
                try:
                    line = _line.decode(raw)
                    if not (line.message or line.exchange or line.failed):
                        raise msgspec.DecodeError("it is no line of a recording")
                except (msgspec.DecodeError, UnicodeDecodeError) as error:
                    raise AgonError(
                        f"{self.path} is damaged in line {number} ({error}): restore the file (dvc checkout), "
                        "or delete the line and record again what it held"
                    ) from None
                self._whole, self._lines = self._whole + len(raw), number
                if line.exchange:
                    if (known := self.answers.get(line.exchange)) and known.text != line.text and not line.void:
                        raise AgonError(
                            f"{self.path}: line {number} has another answer to what was asked before (exchange "
                            f"{line.exchange}): delete one of the two lines, or restore the file (dvc checkout)"
                        )
                    self.hold(line)
                elif line.message:
                    self._messages.add(line.message)
                else:
                    self.failures += 1

    def hold(self, line: "Exchange | Line") -> None:
        """Has one more exchange in memory."""
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
        """Whether there is an answer, or a refusal for good."""
        return key in self.answers or key in self.voids

    def get(self, key: str) -> Answer | None:
        """The recorded answer; None when there is none. Raises CallFailed for a conversation that was refused."""
        found = self.answers.get(key)
        if found is None and key in self.voids:
            raise (TooLong if key in self.too_long else CallFailed)("recorded", self.voids[key], "void")
        return found


TAKEN = "another process is recording into {}: wait for it, or stop it"


class _Line(msgspec.Struct):
    """What waits to be written: a line and the messages before it, as bytes, and who waits for it."""

    line: Exchange | Failure
    data: bytes
    written: Any


class Writer:
    """The one process that may add to a recording. Lines that come together are made durable together."""

    def __init__(self, recording: Recording, lock: Path) -> None:
        self.recording = recording
        self._waiting: list[_Line] = []
        """What is not on disk; a line leaves when it is there, so whatever goes wrong `close` finds it here."""
        self._task: Task[None] | None = None
        self.fault = ""
        """Why nothing more can be written; empty while it can."""
        lock.parent.mkdir(parents=True, exist_ok=True)
        self._lock = FileLock(lock)
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise AgonError(TAKEN.format(recording.path.parent.name)) from None
        recording.read_on()  # another process may have recorded between reading and locking
        self._before = self._end = recording._whole
        """Bytes of the file: at first, and that are durable."""
        self._answered = False
        try:
            self._thread = ThreadPoolExecutor(1)
            self._thread.submit(int).result(timeout=60)  # where there can be no thread, nothing is paid for
            self._file = _opened(recording.path)
            _hold(self._file, recording.path.parent.name)
            os.ftruncate(self._file, self._before)
        except Exception as error:
            self._lock.release()
            if isinstance(error, AgonError):
                raise
            raise AgonError(f"{recording.path} cannot be written: {_why(error)}") from None

    async def add(self, line: Exchange | Failure, messages: tuple[Message, ...] = ()) -> None:
        """Returns once the line, and every message of it that is not there yet, is on disk.

        Raises AgonError where it cannot be written; `close` then tries once more.
        """
        known = self.recording._messages
        new = [each for each in messages if each.id not in known]
        lines = [{"message": each.id, "after": each.before, "role": each.role, "text": each.text} for each in new]
        data = b"".join(_encode(each) + b"\n" for each in (*lines, line))
        written: Future[None] = get_running_loop().create_future()
        self._waiting.append(_Line(line, data, written))
        known.update([each.id for each in new])
        self.recording.failures += isinstance(line, Failure)
        self._answered = self._answered or isinstance(line, Exchange)
        if self.fault:
            raise AgonError(self.fault)
        if self._task is None or self._task.done():
            self._task = create_task(self._write_all())
        await written
        if isinstance(line, Exchange):
            self.recording.hold(line)

    async def _write_all(self) -> None:
        try:
            while self._waiting:
                for each in await wrap_future(self._thread.submit(self._write)):
                    if not each.written.done():
                        each.written.set_result(None)
        except Exception as error:  # whatever it is: nobody waits for ever
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        """Ends all waiting. What waited stays for `close`."""
        held = "what was recorded before is safe; make room and give the same command again"
        if not isinstance(error, OSError):
            held = "what was recorded before is safe; give it the memory or threads that it lacks, and the same command again"
        elif not self._there():
            held = "put the file back where it was, if it is somewhere, and give the same command again"
        self.fault = f"{self.recording.path} cannot be written ({_why(error)}): {held}"
        for each in self._waiting:
            if not each.written.done():
                each.written.set_exception(AgonError(self.fault))

    def _write(self) -> list[_Line]:
        """Has all that waits on disk, or nothing of it; what it was. In the thread, and in `close` when that has ended."""
        batch = self._waiting[:]
        data = memoryview(b"".join([each.data for each in batch]))
        end = self._end + len(data)
        os.lseek(self._file, self._end, os.SEEK_SET)
        try:
            while data:
                data = data[os.write(self._file, data) :]
            os.fsync(self._file)
            if not self._there():
                raise OSError(ENOENT, "it was deleted or moved meanwhile")
        except BaseException:
            os.ftruncate(self._file, self._end)  # no half lines
            raise
        self._end = end
        del self._waiting[: len(batch)]
        return batch

    def _there(self) -> bool:
        """Whether the path still leads to the file that is written."""
        try:
            return os.path.samestat(self.recording.path.stat(), os.fstat(self._file))
        except OSError:
            return False

    def close(self, forgets: bool = False) -> None:
        """Writes what is still waiting, after an error or a Ctrl-C, and lets another process record. Raises AgonError.

        A recording without a line is not left behind: it would be one more file of data/, and pinned there. With `forgets`
        calls that failed are forgotten where none was answered: the file is as it was.
        """
        self._thread.shutdown()
        try:
            for each in self._write():
                if isinstance(each.line, Exchange):
                    self.recording.hold(each.line)
            if forgets and not self._answered:
                os.ftruncate(self._file, self._before)
        except Exception as error:
            raise AgonError(self.fault or f"{self.recording.path} cannot be written: {_why(error)}") from None
        finally:
            if not os.fstat(self._file).st_size and self._there():
                with suppress(OSError):
                    self.recording.path.unlink()
                    self.recording.path.parent.rmdir()
            os.close(self._file)
            self._lock.release()


def _why(error: Exception) -> str:
    """What stands in the way of writing, in words."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return one_line(f"{type(error).__name__}: {error}").removesuffix(":")


def _hold(file: int, name: str) -> None:
    """Holds the open file itself, where the system can: the lock beside it may be deleted while this writes. Raises AgonError."""
    try:
        import fcntl
    except ImportError:  # Windows
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        raise AgonError(TAKEN.format(name)) from None
    except OSError:  # a file system without locks
        return


def _opened(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # that there is a file is durable too
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
    )
