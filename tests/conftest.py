"""Here so that tests/ is on the path and every test can `import harness`; and what holds for all tests."""

import os
from pathlib import Path

from hypothesis import settings

os.environ["PYTHONPATH"] = str(Path(__file__).parents[1] / "src")  # what tests start is this clone's too

settings.register_profile("agon", deadline=None)  # on a shared machine a case may wait for its turn
settings.load_profile("agon")
