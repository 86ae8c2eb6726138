"""Whether each stage of dvc.yaml depends on all that its command executes and reads: every command is run, and watched."""

import os
import re
import shlex
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest
from dvc.repo import Repo

from agon import ROOT

AUDIT = Path(__file__).parent / "reads"
LIMIT = 1800
"""Seconds for one command, on a machine with much else to do."""
TOO_LONG = {"counterfactual_claims": "it takes twelve minutes; magic_claims and tradecraft_claims run the same code"}
"""Stages that are not run again, and why."""
BUILT = pytest.mark.skipif(not (ROOT / "reports/index.html").is_file(), reason="nothing is built yet: make repro")
OWN = {".agon", "played", "reports"}
"""Where commands keep what is theirs, besides their outputs: locks, what a table in a notebook has
played, and the copy of a notebook while it runs."""
NAMES = {"conf/agent", "conf/experiment", "conf/notebook"}
"""Looked through for names of files. What is in a file is read by stages that name it."""


def stages():
    """Name of every stage -> its command, inputs and outputs."""
    with Repo(ROOT) as repo:
        return {
            stage.addressing: (
                stage.cmd,
                {dep.def_path for dep in stage.deps},
                {out.def_path for out in stage.outs},
            )
            for stage in repo.index.stages
            if stage.cmd
        }


STAGES = stages()


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A copy of the project with its data and all outputs; a stage's command leaves it as it was."""
    folder = tmp_path_factory.mktemp("built") / "project"
    for part in ("benchmarks", "conf", "data", "docs", "notebooks", "reports", "results", "src", "transcripts"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("*.pyc*", "reference"))
    shutil.copytree(ROOT / "tests/smoke", folder / "tests/smoke")
    shutil.copy(ROOT / "CITATION.cff", folder)
    return folder


def files(folder, outs):
    """What lies in outputs: each file's name and bytes."""
    found = {}
    for out in outs:
        path = folder / out
        for file in [path] if path.is_file() else sorted(path.rglob("*")):
            if file.is_file():
                found[str(file.relative_to(folder))] = file.read_bytes()
    return found


def remove(folder, outs):
    """Deletes outputs, as DVC does before it runs a stage."""
    for out in outs:
        path = folder / out
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def restore(folder, contents):
    """Writes outputs as they were, for the stages that read them."""
    for name, content in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


@contextmanager
def hidden(folder, away, places):
    """Takes away the data and outputs that are not in `places`: libraries in C read files that Python's audit does not see.

    A file whose name alone is looked through has nothing in it meanwhile.
    """
    unnamed = [
        path
        for part in ("data", "results", "transcripts", *NAMES)
        for path in sorted((folder / part).rglob("*"))
        if path.is_file() and outside([str(path.relative_to(folder))], places)
    ]
    try:
        for number, path in enumerate(unnamed):
            away.mkdir(exist_ok=True)
            path.rename(away / str(number))
            if path.suffix == ".yaml":
                path.write_text("{}")
        yield
    finally:
        for number, path in enumerate(unnamed):
            path.parent.mkdir(parents=True, exist_ok=True)
            (away / str(number)).rename(path)


def run(command, folder, log):
    """Runs a stage's command in a folder; the files below it that its processes have read."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("AGON", "PYTEST"))}
    environment |= {
        "AUDITED": str(folder),
        "AUDIT_LOG": str(log),
        "PYTHONPATH": f"{folder / 'src'}{os.pathsep}{AUDIT}",
    }
    ended = subprocess.run(
        shlex.split(command), cwd=folder, env=environment, capture_output=True, text=True, timeout=LIMIT
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    read = set(log.read_text().splitlines())
    return {re.sub(r"__pycache__/([^/]+)\.cpython-\d+(\.opt-\d)?\.pyc(\.\d+)?$", r"\1.py", path) for path in read}


def outside(read, allowed):
    """The files that none of these files and folders is or holds."""
    return sorted(path for path in read if not any(f"{path}/".startswith(f"{place}/") for place in allowed))


@BUILT
@pytest.mark.timeout(LIMIT + 300)  # the certificates of twins, beside three busy processes
@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_depends_on_all_that_it_reads(stage, built, tmp_path):
    if stage in TOO_LONG:
        pytest.skip(TOO_LONG[stage])
    command, deps, outs = STAGES[stage]
    named = deps | outs | OWN
    before = files(ROOT, outs)
    remove(built, outs)
    try:
        with hidden(built, tmp_path / "away", named):
            read = run(command, built, tmp_path / "log")
        after = files(built, outs)
    finally:
        restore(built, before)
    assert any(path.startswith("src/agon/") for path in read), "nothing was watched"
    assert not outside(read, named | NAMES)
    assert sorted(after) == sorted(before)
    assert [name for name in after if after[name] != before[name]] == []
