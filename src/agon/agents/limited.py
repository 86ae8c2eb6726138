"""Runs code of strangers, such as a template that may never end, in a child process with limits of time and memory."""

import os
import resource
import select
import signal
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from agon.errors import AgonError, visible

SECONDS = 5
"""The most processor time of the work."""
PATIENCE = 60
"""The most seconds without a word from the child, however busy the machine is."""
MEMORY = 500_000_000
"""The most bytes of memory that the work may add."""
LONGEST = 5_000_000
"""The most characters of the text that the work makes."""


class _Outcome(msgspec.Struct):
    """The message that the child sends back: a text, or the fault."""

    text: str = ""
    fault: str = ""


def run_limited(name: str, work: Callable[[], str]) -> str:
    """The text that `work` makes in a child process. `name` is what errors call it.

    Raises AgonError where the work fails, or does not end within the limits.

    The kernel ends the child, so a comparison in C ends as well. What the work changes in memory is lost.
    """
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # of forks beside threads: the child starts none and waits for none
        child = os.fork()
    if not child:
        _work(name, work, reader, writer)
    os.close(writer)
    try:
        sent = _receive(reader)
    finally:
        os.close(reader)
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    if not sent:
        raise AgonError(f"{name} does not end within {SECONDS} seconds of work, or takes too much memory")
    outcome = msgspec.json.decode(sent, type=_Outcome)
    if outcome.fault:
        raise AgonError(outcome.fault)
    return outcome.text


def _work(name: str, work: Callable[[], str], reader: int, writer: int) -> None:
    """The child: sends the outcome, and ends at once."""
    try:
        os.close(reader)
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with suppress(OSError, ValueError):  # where the system does not tell what is in use
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            most = pages * resource.getpagesize() + MEMORY
            resource.setrlimit(resource.RLIMIT_AS, (most, most))
        try:
            text = work()
            fault = f"{name}: its text has {len(text):,} characters; at most {LONGEST:,} are taken"
            outcome = msgspec.json.encode(_Outcome(text) if len(text) <= LONGEST else _Outcome(fault=fault))
        except BaseException as error:  # a stranger's code may raise anything
            fault = visible(" ".join(str(error).split()))[:500] or type(error).__name__
            outcome = msgspec.json.encode(_Outcome(fault=fault))
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(outcome)
    finally:
        os._exit(0)


def _receive(reader: int) -> bytes:
    """All that the child sends; nothing where it does not end in time, or sends too much."""
    parts, size = list[bytes](), 0
    while size <= 4 * LONGEST and select.select([reader], [], [], PATIENCE)[0]:
        part = os.read(reader, 1 << 16)
        if not part:
            return b"".join(parts)
        parts.append(part)
        size += len(part)
    return b""
