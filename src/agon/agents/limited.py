"""Work with what strangers wrote, which may not come to an end: it is done in a child process of limited time and memory."""

import os
import resource
import select
import signal
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from agon.errors import AgonError

SECONDS = 5
"""The most processor time of the work."""
PATIENCE = 60
"""The most seconds to wait for it, whatever else the machine does."""
MEMORY = 500_000_000
"""The most bytes of memory that the work may add."""
LONGEST = 5_000_000
"""The most bytes of its text."""


class _Outcome(msgspec.Struct):
    """What the child sends back."""

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
            outcome = _Outcome(work())
            if len(outcome.text) > LONGEST:
                outcome = _Outcome(
                    fault=f"{name}: its text has {len(outcome.text):,} characters; at most {LONGEST:,} are taken"
                )
        except BaseException as error:  # a stranger's may do anything
            outcome = _Outcome(fault=" ".join(str(error).split())[:500] or type(error).__name__)
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(msgspec.json.encode(outcome))
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
