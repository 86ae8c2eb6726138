"""Here so that tests/ is on the path and every test can `import harness`; and what holds for all tests."""

import os
from pathlib import Path

from hypothesis import settings

os.environ["PYTHONPATH"] = str(Path(__file__).parents[1] / "src")  # what tests start is this clone's too

EXAMPLES = 100 if os.environ.get("AGON_FULL") == "1" else 40
"""Cases of a property that does not say itself how many; on a shared machine a case may wait for its turn."""
settings.register_profile("agon", deadline=None, max_examples=EXAMPLES)
settings.load_profile("agon")


def pytest_collection_modifyitems(items):
    """First what is slow, or needs a server and a browser: one worker has most of it, and none waits for it in the end."""

    def late(item):
        return not ({"server", "browsing"} & set(getattr(item, "fixturenames", ())) or item.get_closest_marker("slow"))

    items.sort(key=late)
