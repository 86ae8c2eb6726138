"""Here so that tests/ is on the path and every test can `import harness`; and what holds for all tests."""

import gc
import os
from pathlib import Path

import pytest
from hypothesis import settings

os.environ["PYTHONPATH"] = str(Path(__file__).parents[1] / "src")  # what tests start is this clone's too

EXAMPLES = 100 if os.environ.get("AGON_FULL") == "1" else 40
"""Cases of a property that does not say itself how many; on a shared machine a case may wait for its turn."""
settings.register_profile("agon", deadline=None, max_examples=EXAMPLES)
settings.load_profile("agon")


def pytest_collection_finish():
    """What is there for good is never looked through again, and garbage is looked for less often: a twentieth of all time goes there."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def pytest_collection_modifyitems(items):
    """First come files with slow tests, and those with a server or a browser: one worker has most of these, and none waits at the end."""

    def takes_long(item):
        return {"server", "browsing"} & set(getattr(item, "fixturenames", ())) or item.get_closest_marker("slow")

    if {"AGON_FULL", "AGON_FUZZ", "AGON_KILLS"} & os.environ.keys():  # tests in their full size
        for item in items:
            item.add_marker(pytest.mark.timeout(6 * 3600))
    first = {item.path for item in items if takes_long(item)}
    items.sort(key=lambda item: item.path not in first)
