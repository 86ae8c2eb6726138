"""Inputs are what Git says: `make repro` ends with one line when a byte of them is another, wherever it lies."""

import os
import re
import shutil
import sys
from pathlib import Path

import patience
import prepared
import pytest
from project import Project

from agon import ROOT, AgonError
from agon.cli.upkeep import verify_data

STAGES = """
stages:
  one:
    cmd: mkdir -p reports && cp data/one.txt reports/summary.txt && touch reports/index.html
    deps: [data/one.txt]
    outs: [reports/summary.txt, reports/index.html]
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A project of one stage and three inputs, with agon's own Makefile and DVC settings, after `make repro`."""
    folder = tmp_path_factory.mktemp("inputs")
    Project(folder)
    for name in ("Makefile", ".dvcignore", ".dvc/config", "requirements.lock", ".ci/installer.lock", "pyproject.toml"):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    tools = folder / ".venv/bin"
    tools.mkdir(parents=True)
    (tools / "python").write_text(f'#!/bin/sh\nPYTHONPATH="$PWD/src" exec {sys.executable} "$@"\n')
    (tools / "dvc").write_text(f'#!/bin/sh\nexec {sys.executable} -m dvc "$@"\n')
    for tool in tools.iterdir():
        tool.chmod(0o755)
    (folder / ".venv/.ok").touch()
    for name in ("one.txt", "two.txt", "below/three.txt"):
        (folder / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "data" / name).write_text(f"the content of {name}\n")
    (folder / "dvc.yaml").write_text(STAGES)
    dvc(folder, "config", "core.no_scm", "true")
    dvc(folder, "add", "data")
    dvc(folder, "push")
    assert summary(folder) == "the content of one.txt"
    return folder


@pytest.fixture
def project(made, tmp_path):
    return Path(shutil.copytree(made, tmp_path / "project", symlinks=True))


def dvc(folder, *words):
    made = prepared.run([*words, "--quiet"], folder, os.environ, "dvc")
    assert made.returncode == 0, made.stderr


def repro(folder):
    """The exit code of `make repro`, and what it says: its errors first. make's own last line is left out."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    words = ["make", "repro", "PIP=false"]
    run = patience.run(words, cwd=folder, env=environment)
    return run.returncode, [line for line in (run.stderr + run.stdout).splitlines() if not line.startswith("make:")]


def summary(folder):
    """The last line of a `make repro` that ends well."""
    code, said = repro(folder)
    assert code == 0, said
    return said[-1]


def flip(path: Path) -> str:
    """Changes one byte, and neither the size nor the time. Gives the path within its project."""
    before, mode = path.stat(), path.stat().st_mode
    path.chmod(0o644)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    path.chmod(mode)
    return path.as_posix()


def kept(folder: Path, store: str, of: str = "one.txt") -> Path:
    """Where DVC keeps a file of data/; the list of all files ends in `.dir`."""
    if of == "list":
        return next((folder / store / "files/md5").glob("??/*.dir"))
    content = (folder / "data" / of).read_bytes()
    return next(path for path in (folder / store / "files/md5").glob("??/*") if path.read_bytes() == content)


def refused(folder, *parts):
    """`make repro` ends with one line that has all `parts`, and rewrites nothing."""
    before = [(folder / name).read_bytes() for name in ("dvc.lock", "data.dvc")]
    code, said = repro(folder)
    assert code != 0 and len(said) == 1, said
    assert all(part in said[0] for part in parts), said
    assert [(folder / name).read_bytes() for name in ("dvc.lock", "data.dvc")] == before


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("of", ["one.txt", "list"])
@pytest.mark.parametrize("store", ["store", ".dvc/cache"])
def test_a_damaged_copy_is_named(project, store, of, fresh):
    damaged = kept(project, store, of)
    flip(damaged)
    if fresh:
        shutil.rmtree(project / "data")
    if fresh and store == "store":
        shutil.rmtree(project / ".dvc/cache")
    remedy = "`git checkout store`" if store == "store" else "delete it"
    refused(project, str(damaged.relative_to(project)), remedy)


@pytest.mark.parametrize("name", ["one.txt", "below/three.txt"])
def test_a_changed_input_is_named_with_both_ways_out(project, name):
    flip(project / "data" / name)
    refused(
        project, f"data/{name} ", "`dvc fetch data.dvc && dvc checkout --force --relink data.dvc`", "`dvc add data`"
    )


@pytest.mark.parametrize("change", ["rots", "is edited", "is new"])
def test_what_the_line_says_undoes_the_change(project, change):
    """Also where a disk changed a byte, of which DVC knows nothing."""
    changed = project / ("data/new.txt" if change == "is new" else "data/one.txt")
    if change == "is new":
        changed.write_text("new\n")
    else:
        flip(changed)
    if change == "is edited":
        changed.touch()
    code, said = repro(project)
    assert code != 0 and len(said) == 1, said
    shutil.rmtree(project / ".dvc/cache")  # as in a clone that was pulled to a newer commit
    for command in re.search("`(dvc fetch [^`]*)`", said[0])[1].split(" && "):
        dvc(project, *command.split()[1:])
    assert summary(project) == "the content of one.txt"


def test_a_pin_that_changes_while_stages_run_is_told(project):
    stages = (project / "dvc.yaml").read_text().replace("cmd: ", "cmd: echo '# x' >> data.dvc && ")
    (project / "dvc.yaml").write_text(stages)
    code, said = repro(project)
    assert code != 0 and any(line.startswith("data.dvc is not what it was") for line in said), said


def test_what_the_line_says_keeps_the_change_on_purpose(project):
    (project / "data/one.txt").write_text("mine\n")
    dvc(project, "add", "data")
    assert summary(project) == "mine"


@pytest.mark.parametrize("damaged", ["one.txt", "list"])
def test_a_damaged_cache_is_mended_as_the_line_says(project, damaged):
    path = kept(project, ".dvc/cache", damaged)
    flip(path)
    path.unlink()
    assert summary(project) == "the content of one.txt"


def test_without_a_cache_all_is_made_again(project):
    shutil.rmtree(project / ".dvc/cache")
    assert summary(project) == "the content of one.txt"


def fails(folder, part):
    with pytest.raises(AgonError, match=part) as error:
        verify_data(folder)
    assert "\n" not in str(error.value)


def test_files_that_are_missing_or_too_many_are_named(project):
    assert verify_data(project) == 3
    (project / "data/below/three.txt").rename(project / "data/below/four\n.txt")
    fails(project, r"^data/below/three.txt is missing: `dvc pull data.dvc`")
    shutil.copy(project / "data/below/four\n.txt", project / "data/below/three.txt")
    fails(project, r"^'data/below/four\\n.txt' is not in data.dvc")
    (project / "data/below/four\n.txt").unlink()
    assert verify_data(project) == 3


def test_a_link_in_place_of_an_input_is_read_and_one_beside_it_is_refused(project, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (project / "data/below/link").symlink_to(tmp_path / "elsewhere")
    fails(project, "below/link' is not in data.dvc")


def test_what_dvc_ignores_is_no_input(project):
    (project / "data/__pycache__").mkdir()
    (project / "data/__pycache__/one.pyc").touch()
    assert verify_data(project) == 3


def test_inputs_that_were_never_fetched_say_how(project):
    for folder in ("store", ".dvc/cache"):
        shutil.rmtree(project / folder)
    fails(project, "`dvc pull data.dvc` fetches it")


def test_what_comes_from_the_store_is_checked_on_its_way():
    settings = (ROOT / ".dvc/config").read_text()
    assert "verify = true" in settings.split("['remote \"store\"']")[1]
