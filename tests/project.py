"""A copy of the project, for commands that leave things behind, and a provider of its own to ask."""

import asyncio
import os
import shutil
import subprocess
import threading
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path

import prepared
import yaml
from models.fault_server import FaultServer
from patience import LONG

from agon import ROOT

FULL = os.environ.get("AGON_FULL") == "1"
"""Whether long tests run in their full size."""
KILLS = int(os.environ.get("AGON_KILLS", "0"))
"""How often tests kill what they begin; 0: as often as each finds enough."""
KEY = "PROJECT_TEST_KEY"


class Project:
    """A copy of the code and its settings in `folder`, without data. Its server model asks a server at `url`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        being_compiled = shutil.ignore_patterns("*.pyc.*")
        for part in ("src", "conf", "notebooks"):
            shutil.copytree(ROOT / part, folder / part, ignore=being_compiled)
        for family in yaml.safe_load((ROOT / "conf/config.yaml").read_text()).get("families") or ():  # a reader's own
            shutil.copytree(ROOT / family, folder / family, dirs_exist_ok=True)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("AGON")}
        self.environment |= {"PYTHONPATH": str(folder / "src"), KEY: "a-key-of-these-tests"}

    def model(self, url: str, name: str = "server", **settings) -> None:
        """Describes an OpenAI-compatible model at `url` in conf/model."""
        usual = {"model": "fault-server", "key": KEY, "parameters": {"max_tokens": 100}}
        usual["price"] = {"input": 1.0, "cached": 0.1, "output": 4.0}
        own = {"_target_": "agon.models.openai.OpenAI", "_convert_": "all", "base_url": url}
        self.conf("model", name, **(own | usual | settings))

    def experiment(self, name: str, repetitions: int, seats=(("zs",), ("uniform",)), games=("pd",)) -> None:
        """Describes an experiment with one pairing, on the model `server`, in conf/experiment."""
        pairing = {"games": list(games), "models": ["server"], "seats": [list(seat) for seat in seats]}
        self.conf("experiment", name, name=name, repetitions=repetitions, pairings=[pairing])

    def conf(self, group: str, name: str, /, **settings) -> None:
        """Writes conf/group/name.yaml."""
        (self.folder / "conf" / group / f"{name}.yaml").write_text(yaml.safe_dump(settings))

    def start(self, *arguments: str) -> prepared.Command:
        """Begins a command."""
        return prepared.Command(arguments, self.folder, self.environment)

    def run(self, *arguments: str) -> subprocess.CompletedProcess:
        """Runs a command to its end."""
        return prepared.run(arguments, self.folder, self.environment)

    def recordings(self, experiment: str) -> Path:
        """Where an experiment's exchanges are."""
        return self.folder / "data/recordings" / experiment


@contextmanager
def serving(**settings):
    """A fault server in a thread of this process."""
    server, ready, over = FaultServer(keep=False, **settings), threading.Event(), asyncio.Event()

    async def serve() -> None:
        async with server:
            ready.set()
            await over.wait()

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    assert ready.wait(LONG), "the server does not start"
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(LONG)
        loop.close()


def moved(body) -> str:
    """An answer that depends on the conversation alone; one in twenty cannot be read."""
    drawn = blake2b(repr(body["messages"]).encode(), digest_size=2).digest()
    return "I do not know." if drawn[0] < 13 else f"[move] {('cooperation', 'defection')[drawn[1] % 2]}"
