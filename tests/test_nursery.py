"""Kernels forked from a process that has the libraries loaded are kernels like others, and none is left behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from patience import LONG, until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the nursery is for Linux")

NURSED = [sys.executable, "-m", "agon.notebook.nursery", "run"]
SHOWN = """
import os, sys
import pandas as pd
loaded = sorted(name for name in sys.modules if name.partition(".")[0].startswith("agon"))
print(pd.DataFrame({f"column {n}": [n] for n in range(20)}))
print({name: str(pd.get_option(name)) for name in ("display.max_columns", "display.width", "display.max_rows")})
print(loaded, os.getcwd(), os.environ["MARK"], os.environ.get("MPLBACKEND"), get_ipython().kernel is not None)
"""
EXECUTE = """
import sys
from jupyter_client.manager import start_new_kernel
manager, client = start_new_kernel(kernel_name="python3")
told = []
client.execute_interactive(sys.stdin.read(), output_hook=lambda message: told.append(message["content"].get("text", "")))
print("".join(told))
if "wait" in sys.argv:
    client.execute("import os; print(os.getpid(), flush=True); import time; time.sleep(600)")
    while "text" not in (content := client.get_iopub_msg(timeout=240)["content"]):
        pass
    print(content["text"], flush=True)
    sys.stdin.close()
    import time; time.sleep(600)
manager.shutdown_kernel()
"""


def executed(*before, code=SHOWN, **how):
    found = subprocess.run(
        [*before, sys.executable, "-c", EXECUTE],
        input=code,
        capture_output=True,
        text=True,
        timeout=LONG,
        env={**os.environ, "MARK": "one of its own"},
        **how,
    )
    assert found.returncode == 0, found.stderr
    return found.stdout


def test_a_forked_kernel_shows_what_any_kernel_shows(tmp_path):
    usual, forked = (executed(*before, cwd=tmp_path) for before in ([], NURSED))
    assert forked == usual and f"[] {tmp_path} one of its own" in usual
    where = "import sys; print('seaborn' in sys.modules, 'agon' in sys.modules)"
    assert [executed(*before, code=where).strip() for before in ([], NURSED)] == ["False False", "True False"]


@pytest.mark.parametrize("lacking", ["room", "door", "nursery"])
def test_where_none_can_be_forked_a_kernel_is_a_plain_one(tmp_path, lacking):
    how, before, where = {}, NURSED, "import sys; print('seaborn' in sys.modules)"
    if lacking == "room":  # more than a message can hold
        before = ["env", *(f"MUCH{number}={'x' * 100_000}" for number in range(4)), *NURSED]
    elif lacking == "door":  # the path of a socket has 108 bytes at most
        how = {"cwd": (deep := tmp_path / ("deep" * 30))}
        deep.mkdir()
        before = ["env", f"TMPDIR={deep}", *NURSED]
    else:
        kill = 'read nursery others < /proc/$PPID/task/$PPID/children; kill -KILL $nursery && exec "$0" "$@"'
        before = [*NURSED, "sh", "-c", kill]
    assert executed(*before, code=where, **how).strip() == "False"


@pytest.mark.parametrize("code", [0, 7])
def test_the_exit_code_is_the_command_s(code):
    assert subprocess.run([*NURSED, "sh", "-c", f"exit {code}"], timeout=240).returncode == code


def test_nothing_is_left_of_a_command_that_is_killed(tmp_path):
    command = [*NURSED, sys.executable, "-c", EXECUTE, "wait"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, process_group=0
    ) as running:
        running.stdin.write("print('begun')")
        running.stdin.close()
        lines = iter(running.stdout.readline, "")
        kernel = int(next(line for line in lines if line.strip().isdigit()))
        assert Path(f"/proc/{kernel}").exists()
        os.killpg(running.pid, signal.SIGKILL)
        running.wait(LONG)
    until(lambda: not Path(f"/proc/{kernel}").exists(), "the end of its kernel")


def test_a_kernel_can_be_interrupted():
    code = """
import time, sys
from jupyter_client.manager import start_new_kernel
manager, client = start_new_kernel(kernel_name="python3")
client.execute("print('begun', flush=True); import time; time.sleep(600)", stop_on_error=False)
while client.get_iopub_msg(timeout=240)["content"].get("text") != "begun\\n":
    pass
manager.interrupt_kernel()
while "ename" not in (content := client.get_shell_msg(timeout=240)["content"]):
    pass
print(content["ename"])
client.execute_interactive("print('goes on')")
manager.shutdown_kernel()
"""
    found = subprocess.run([*NURSED, sys.executable, "-c", code], capture_output=True, text=True, timeout=LONG)
    assert found.stdout.split() == ["KeyboardInterrupt", "goes", "on"], found.stderr
