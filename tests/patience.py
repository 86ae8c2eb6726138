"""How long tests wait: long enough for a machine that does much else, and never without an end (tests/test_patience.py)."""

import asyncio
import subprocess
import time

LONG = 300
"""Seconds in which whatever a test waits for has come, however busy the machine; pyproject.toml gives a whole test twice as many."""


def until(holds, what, pause=0.01, seconds=LONG):
    """Returns what `holds()` came to, once that is true. Raises AssertionError, which says that `what` did not come, after `seconds`."""
    end = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < end, f"after {seconds} s there is still not: {what}"
        time.sleep(pause)
    return found


async def comes(holds, what, pause=0.01, seconds=LONG):
    """As `until`, while the event loop goes on."""
    end = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < end, f"after {seconds} s there is still not: {what}"
        await asyncio.sleep(pause)
    return found


def run(words, **how):
    """A command to its end, and what it said, as text. Raises TimeoutExpired."""
    return subprocess.run(words, **({"capture_output": True, "text": True, "timeout": LONG} | how))
