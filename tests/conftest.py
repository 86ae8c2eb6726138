"""Here so that tests/ is on the path and every test can `import harness`."""

import os
from pathlib import Path

os.environ["PYTHONPATH"] = str(Path(__file__).parents[1] / "src")  # what tests start is this clone's too
