"""No test can wait for ever: what hangs is ended, every wait has a limit, and a loop that looks again and again gives up some time."""

import ast
import sys
import tomllib

import patience
import pytest

from agon import ROOT

WAITS = {"communicate", "get", "join", "result", "wait"}
"""Methods of processes, threads, futures and queues that wait without a limit where they are given none."""
LIMITS = {"monotonic", "timeout", "wait_for"}
"""What gives a loop an end by the clock."""


def called(node):
    return getattr(node.func, "attr", getattr(node.func, "id", "")) if isinstance(node, ast.Call) else ""


def named(node):
    return {getattr(each, "attr", getattr(each, "id", "")) for each in ast.walk(node)}


def without_limit(code):
    """The lines of some code that may wait for ever. In an event loop what is awaited is ended with it, when the test's time is up."""
    tree, inside = ast.parse(code), {}
    for node in ast.walk(tree):  # from outside to inside
        limited = isinstance(node, ast.AsyncWith) and any("timeout" in named(item) for item in node.items)
        for child in ast.iter_child_nodes(node):
            inside[child] = limited or inside.get(node, False)
    awaited = {node.value for node in ast.walk(tree) if isinstance(node, ast.Await)}
    awaited |= {node.args[0] for node in ast.walk(tree) if called(node) == "wait_for" and node.args}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node not in awaited:
            program = isinstance(node.func, ast.Attribute) and getattr(node.func.value, "id", "") == "subprocess"
            begins = program and called(node) in {"run", "call", "check_call", "check_output"}
            waits = isinstance(node.func, ast.Attribute) and called(node) in WAITS and not node.args
            if (begins or waits or called(node) == "urlopen") and not {"timeout", None} & {
                each.arg for each in node.keywords
            }:
                yield node.lineno
        if isinstance(node, ast.While) and not inside[node] and not LIMITS & named(node):
            ticks = ast.unparse(node.test) == "True" and not any(  # goes on until it is cancelled
                isinstance(each, ast.Break | ast.Return) for each in ast.walk(node)
            )
            if not ticks and {called(each) for each in ast.walk(node)} & {"sleep", "wait_for_timeout"}:
                yield node.lineno


@pytest.mark.parametrize("folder", ["tests", "benchmarks"])
def test_every_wait_in_tests_has_a_limit(folder):
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files and [f"{each}:{line}" for each in files for line in without_limit(each.read_text())] == []


@pytest.mark.parametrize(
    ("code", "endless"),
    [
        ("while len(workers) < 3:\n    time.sleep(0.05)", True),
        ("while True:\n    if done():\n        break\n    time.sleep(1)", True),
        ("async def one():\n    while not started:\n        await asyncio.sleep(0)", True),
        ("subprocess.run(['true'], check=True)", True),
        ("process.communicate()", True),
        ("thread.join()", True),
        ("queue.get()", True),
        ("urlopen(address)", True),
        ("while monotonic() < end:\n    time.sleep(1)", False),
        (
            "async def one():\n    async with asyncio.timeout(9):\n        while not x:\n            await asyncio.sleep(0)",
            False,
        ),
        ("async def tick():\n    while True:\n        await asyncio.sleep(1)", False),
        ("subprocess.run(['true'], timeout=9)", False),
        ("process.wait(9)\n', '.join(words)\nwords.get('a')", False),
    ],
)
def test_what_waits_without_a_limit_is_seen(code, endless):
    assert bool([*without_limit(code)]) == endless


def test_what_does_not_come_is_named():
    with pytest.raises(AssertionError, match=r"after 0\.01 s there is still not: a third worker"):
        patience.until(lambda: False, "a third worker", seconds=0.01)


HANGS = """
import threading, time
import pytest

def test_hangs():
    threading.Event().wait()

def test_polls():
    while True:
        time.sleep(0.01)

def test_goes_on():
    pass
"""


@pytest.mark.parametrize("workers", ["0", "1"])
def test_what_hangs_is_ended_and_the_others_go_on(tmp_path, workers):
    (tmp_path / "test_some.py").write_text(HANGS)
    (tmp_path / "pyproject.toml").write_text(
        (ROOT / "pyproject.toml").read_text().replace("timeout = 600", "timeout = 3")
    )
    found = patience.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:nbval", "-n", workers, "test_some.py"],
        cwd=tmp_path,
    )
    assert "2 failed, 1 passed" in found.stdout and "Timeout (>3.0s)" in found.stdout


def test_a_whole_test_has_more_time_than_what_it_waits_for():
    given = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]["timeout"]
    assert given >= 2 * patience.LONG
