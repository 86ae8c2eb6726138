"""`python -m agon ...`, or dvc, in a process of its own that has read the libraries already, but nothing of agon: a fork of one that waits.

What a command costs is mostly its libraries. Its code, folder and environment are its own, and it can be killed as any other process.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

LIBRARIES = {
    "agon": (
        "asyncio",
        "click",
        "filelock",
        "httpcore2",
        "hydra",
        "jinja2",
        "msgspec",
        "nbconvert",
        "numpy",
        "omegaconf",
        "openai",
        "pandas",
        "papermill",
        "pyarrow.dataset",
        "scipy.stats",
        "starlette.applications",
        "statistics",
        "tqdm",
        "uvicorn",
        "yaml",
        "zstandard",
    ),
    "dvc": (
        "dulwich.repo",
        "dvc.cachemgr",
        "dvc.cli.parser",
        "dvc.data_cloud",
        "dvc.repo.reproduce",
        "dvc.rwlock",
        "networkx",
        "rich.text",
        "scmrepo.git",
    ),
}
"""Module that is run as a command -> what it reads."""
ALONE = threading.Lock()
LONG = 500
"""Seconds after which a command is taken to hang: it is killed. A whole test may take a little more (pyproject.toml)."""


def run(words, folder, environment, module="agon") -> subprocess.CompletedProcess:
    """A command of agon, or of dvc, to its end. Raises TimeoutExpired."""
    begun = Command(words, folder, environment, module=module)
    try:
        out, errors = begun.communicate(LONG)
    finally:
        begun.kill()
    return subprocess.CompletedProcess(words, begun.returncode, out, errors)


class Command:
    """A command that has begun, used as a subprocess.Popen is. `log` takes what it says; else `communicate` gives it."""

    def __init__(self, words, folder, environment, log=None, module="agon") -> None:
        self.words, self._place = words, tempfile.TemporaryDirectory(prefix="command")
        self._code, *own = [Path(self._place.name) / name for name in ("code", "out", "errors")]
        self._told = [log, log] if log else own
        with ALONE:
            waiting = _waiting(module)
            asked = [words, str(folder), dict(environment), [*map(str, self._told)], str(self._code)]
            waiting.stdin.write(json.dumps(asked) + "\n")
            waiting.stdin.flush()
            self.pid = int(waiting.stdout.readline())
        self.returncode = self.peak = None

    def poll(self) -> int | None:
        """How it ended; None while it runs. The MiB that it took at most, libraries included, are in `peak` then."""
        if self.returncode is None and self._code.exists():
            self.returncode, self.peak = map(int, self._code.read_text().split())
        return self.returncode

    def wait(self, timeout) -> int:
        """How it ends. Raises TimeoutExpired."""
        end = time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired(self.words, timeout)
            time.sleep(0.005)
        return self.returncode

    def communicate(self, timeout) -> tuple[str, str]:
        """What it has said, and what has gone wrong, when it has ended."""
        self.wait(timeout)
        return tuple(path.read_text() for path in self._told)

    def send_signal(self, number) -> None:
        """As os.kill; nothing for one that has ended."""
        with suppress(ProcessLookupError):
            if self.poll() is None:
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Ends it at once."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Asks it to end."""
        self.send_signal(signal.SIGTERM)


@cache
def _waiting(module) -> subprocess.Popen:
    """The process that waits; it ends with this one."""
    return subprocess.Popen(
        [sys.executable, __file__, module], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def _serve(module) -> None:
    """Forks for every line, and says as which process; how each fork ended is in a file then. In a fork it returns."""
    import gc
    from importlib import import_module

    signal.signal(signal.SIGINT, signal.default_int_handler)  # tests in the background ignore it
    for name in LIBRARIES[module]:
        import_module(name)
    gc.freeze()
    installed = [path for path in sys.path if path != str(Path(__file__).parent)]
    replies = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        words, folder, environment, told, code = json.loads(line)
        if guard := os.fork():
            os.waitpid(guard, 0)
            continue
        if os.fork():  # nobody waits for who waits
            os._exit(0)
        if child := os.fork():
            print(child, file=replies, flush=True)
            ended = Path(f"{code}.new")
            _, status, used = os.wait4(child, 0)
            ended.write_text(f"{os.waitstatus_to_exitcode(status)} {used.ru_maxrss >> 10}")
            ended.rename(code)
            os._exit(0)
        for own, path in enumerate(("/dev/null", *told)):
            opened = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
            os.dup2(opened, own)
            os.close(opened)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        sys.path[:] = [folder, *environment.get("PYTHONPATH", "").split(os.pathsep), *installed]
        sys.argv[1:] = words
        replies.close()
        return
    os._exit(0)


if __name__ == "__main__":
    import runpy

    module = sys.argv[1]
    _serve(module)
    runpy.run_module(module, run_name="__main__", alter_sys=True)
