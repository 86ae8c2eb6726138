"""Kernels that are forked from one process, which has the libraries loaded, and so start in a third of the time. For Linux.

`python -m agon.notebook.nursery run COMMAND ...`: in the command, whatever starts the kernel `python3` through Jupyter gets such a
one. agon's own code is not loaded before: each kernel reads it as it is then.
"""

import builtins
import json
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from select import select
from subprocess import PIPE, Popen, call
from threading import Thread
from types import SimpleNamespace

LIBRARIES = (
    *("ipykernel.kernelapp", "ipykernel.debugger", "matplotlib_inline.backend_inline", "IPython.extensions.storemagic"),
    *("matplotlib.backends.backend_svg", "pandas", "pyarrow.parquet", "scipy.optimize", "scipy.stats", "seaborn"),
)
"""What takes a kernel, and then notebooks, long to import."""
MOST = 1 << 20
"""Bytes that a kernel is told at its start, at most."""


def run(*command: str) -> int:
    """Runs a command beside a nursery, which ends with it; the command's exit code."""
    with tempfile.TemporaryDirectory(prefix="agon-") as folder:
        door = f"{folder}/door"
        spec = Path(folder, "kernels/python3/kernel.json")
        spec.parent.mkdir(parents=True)
        argv = [sys.executable, "-S", "-E", __file__, "kernel", door, "-f", "{connection_file}"]
        spec.write_text(json.dumps({"argv": argv, "display_name": "Python 3", "language": "python"}))
        path = os.pathsep.join(filter(None, [folder, os.environ.get("JUPYTER_PATH")]))
        own = [sys.executable, "-Xfrozen_modules=off", __file__, "nurse", door]  # an option that all kernels have
        with Popen(own, stdin=PIPE, stdout=PIPE) as nursery:
            nursery.stdout.read(1)  # type: ignore[union-attr]  # it is at the door, or has ended: then kernels are plain
            try:
                return call(command, env={**os.environ, "JUPYTER_PATH": path})
            except KeyboardInterrupt:  # the command has said what it has to say
                return 130


def nurse(door: str) -> None:
    """Forks a kernel for each who asks at a door, a Unix socket. Ends with the process that began it, or as a kernel."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the command, and that this
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a kernel
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)  # what is told arrives whole
    try:
        listening.bind(door)
    except OSError:  # such as a path that is too long
        return
    listening.listen()
    os.write(1, b".")
    os.dup2(2, 1)
    os.environ |= {"MPLBACKEND": "module://matplotlib_inline.backend_inline", "JPY_PARENT_PID": "1"}  # as in a kernel
    vars(builtins)["get_ipython"] = lambda: SimpleNamespace(kernel=None)  # pandas shows more columns in a kernel
    for name in LIBRARIES:
        import_module(name)
    del vars(builtins)["get_ipython"]
    while 0 not in select([0, listening.fileno()], [], [])[0]:
        asking, _ = listening.accept()
        told, streams, _, _ = socket.recv_fds(asking, MOST, 3)
        if not os.fork():
            listening.close()
            _become(asking, streams, **json.loads(told))
            return
        asking.close()
        for stream in streams:
            os.close(stream)


def _become(
    asking: socket.socket, streams: list[int], argv: list[str], folder: str, environment: dict[str, str]
) -> None:
    """A kernel with the streams, folder and environment of who asks; when that ends, it does."""
    from ipykernel.kernelapp import launch_new_instance

    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = argv
    asking.send(str(os.getpid()).encode())
    Thread(target=_ended_with, args=[asking], daemon=True).start()
    launch_new_instance()


def _ended_with(asking: socket.socket) -> None:
    """Ends this process when the other end is gone."""
    asking.recv(1)
    os.kill(os.getpid(), signal.SIGKILL)


def kernel(door: str, *argv: str) -> None:
    """Is a kernel for Jupyter: asks for one at a door, hands interrupts on to it, and ends with it or with who began this.

    Where there is none to be had at the door, it is a plain one.
    """
    asking = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    told = {"argv": [sys.argv[0], *argv], "folder": str(Path.cwd()), "environment": dict(os.environ)}
    try:
        asking.connect(door)
        socket.send_fds(asking, [json.dumps(told).encode()], [0, 1, 2])
        forked = int(asking.recv(16))
    except (OSError, ValueError):  # it is gone, its path is too long, or there is more to tell than a message can hold
        os.execv(sys.executable, [sys.executable, "-Xfrozen_modules=off", "-m", "ipykernel_launcher", *argv])
    signal.signal(signal.SIGINT, lambda number, frame: os.kill(forked, number))
    begun_by = os.getppid()
    while os.getppid() == begun_by and not select([asking.fileno()], [], [], 1)[0]:
        pass


if __name__ == "__main__":
    begun: dict[str, Callable[..., int | None]] = {"run": run, "nurse": nurse, "kernel": kernel}
    sys.exit(begun[sys.argv[1]](*sys.argv[2:]))
