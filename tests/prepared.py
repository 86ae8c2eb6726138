"""`python -m agon ...` in a process of its own that has read the libraries already, but nothing of agon: a fork of one that waits.

What a command costs is mostly its libraries. Its code, folder and environment are its own. What is to be killed, or started from
nothing, is started as `python -m agon`.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
from functools import cache
from pathlib import Path

LIBRARIES = (
    *(
        "asyncio",
        "click",
        "filelock",
        "hydra",
        "jinja2",
        "msgspec",
        "nbconvert",
        "numpy",
        "omegaconf",
        "openai",
        "pandas",
        "pandera.pandas",
        "papermill",
        "pyarrow.dataset",
    ),
    *("pandera.strategies.pandas_strategies", "scipy.stats", "statistics", "tqdm", "yaml", "zstandard"),
)
ALONE = threading.Lock()


def run(words, folder, environment) -> subprocess.CompletedProcess:
    """A command of agon, to its end."""
    with tempfile.TemporaryDirectory() as place:
        told = [Path(place) / name for name in ("out", "errors")]
        with ALONE:
            waiting = _waiting()
            waiting.stdin.write(json.dumps([words, str(folder), dict(environment), [*map(str, told)]]) + "\n")
            waiting.stdin.flush()
            code = int(waiting.stdout.readline())
        return subprocess.CompletedProcess(words, code, *(path.read_text() for path in told))


@cache
def _waiting() -> subprocess.Popen:
    """The process that waits; it ends with this one."""
    return subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _serve() -> None:
    """Forks for every line, and says how each fork ended. In a fork it returns."""
    import gc
    import signal
    from importlib import import_module

    signal.signal(signal.SIGINT, signal.default_int_handler)  # tests in the background ignore it
    for name in LIBRARIES:
        import_module(name)
    gc.freeze()
    installed = [path for path in sys.path if path != str(Path(__file__).parent)]
    replies = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        words, folder, environment, told = json.loads(line)
        if child := os.fork():
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), file=replies, flush=True)
            continue
        for own, path in enumerate(("/dev/null", *told)):
            opened = os.open(path, os.O_RDWR | os.O_CREAT)
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

    _serve()
    runpy.run_module("agon", run_name="__main__", alter_sys=True)
