"""Each room, a package beside agon in src/, can be deleted with its tests, its notebooks and its entries in pyproject.toml."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest

from agon import ROOT

PACKAGES = sorted(path.parent.name for path in (ROOT / "src").glob("*/__init__.py"))
ROOMS = [package for package in PACKAGES if package != "agon"]
LIBRARIES = sysconfig.get_paths()["purelib"]
LIMIT = 400
"""Seconds for one command, on a machine with much else to do."""
BUILT = ROOT / "transcripts/standin_demo.parquet"
IMPORT_ALL = """
import pkgutil, sys
from importlib import import_module
for package in sys.argv[1:]:
    for module in pkgutil.walk_packages(import_module(package).__path__, f"{package}."):
        try:
            import_module(module.name)
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("agon"):
                raise  # else it is a library that a module may do without
"""


def imports(file, room):
    return re.search(rf"(?:from|import) {room}\b", file.read_text()) is not None


def part_of(name, room):
    """Whether a file of the checkout goes with a room."""
    if name.startswith((f"src/{room}/", f"tests/{room.removeprefix('agon_')}/")):
        return True
    if name.startswith("conf/notebook/"):
        name = f"notebooks/{Path(name).stem}.ipynb"
    return name.startswith("notebooks/") and (ROOT / name).is_file() and imports(ROOT / name, room)


def checkout():
    """The files of the checkout, without what is stored for `dvc pull`."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=LIMIT)
    return [name for name in listed.stdout.splitlines() if not name.startswith("store/") and (ROOT / name).is_file()]


def entries_without(room):
    """The entry points of pyproject.toml that are not the room's, as an installed package has them."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    lines = []
    for group, entries in groups.items():
        lines.append(f"[{group}]")
        lines += [f"{name} = {value}" for name, value in entries.items() if not value.startswith(room)]
    return "\n".join(lines)


@pytest.fixture(scope="module", params=ROOMS)
def rest(request, tmp_path_factory):
    """A room, and a copy of the checkout without it, with the data, installed under its own entry points."""
    room, copy = request.param, tmp_path_factory.mktemp(request.param) / "project"
    for name in checkout():
        if not part_of(name, room):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, copy / name)
    (copy / "data").symlink_to(ROOT / "data")
    installed = copy / "src/agon-0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: agon\nVersion: 0\n")
    (installed / "entry_points.txt").write_text(entries_without(room))
    subprocess.run(["git", "init", "--quiet"], cwd=copy, check=True, timeout=LIMIT)
    return room, copy


def run(copy, *words):
    """Python in the copy; -S, so that the source of this checkout is not found as well."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("AGON", "PYTEST"))}
    environment |= {"PYTHONPATH": f"{copy / 'src'}{os.pathsep}{LIBRARIES}", "PYTHONDONTWRITEBYTECODE": "1"}
    ended = subprocess.run(
        [sys.executable, "-S", *words], cwd=copy, env=environment, capture_output=True, text=True, timeout=LIMIT
    )
    assert ended.returncode == 0, (ended.stdout + ended.stderr)[-3000:]
    return ended.stdout


def test_the_rest_is_imported_without_a_room(rest):
    room, copy = rest
    run(copy, "-c", IMPORT_ALL, *(package for package in PACKAGES if package != room))


def test_the_rest_lists_its_verbs_without_a_room(rest):
    room, copy = rest
    verbs = run(copy, "-m", "agon", "--help")
    entries = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["agon.verbs"]
    assert "cannot be used" not in verbs and "play" in verbs
    for verb, value in entries.items():
        assert (re.search(rf"^  {verb}\b", verbs, re.MULTILINE) is None) is value.startswith(room), verb


@pytest.mark.skipif(not BUILT.is_file(), reason="nothing is built yet: make repro")
def test_the_rest_plays_the_same_without_a_room(rest):
    _, copy = rest
    run(copy, "-m", "agon", "play", "experiment=standin_demo", "fresh=true", "out=played.parquet")
    assert (copy / "played.parquet").read_bytes() == BUILT.read_bytes()


@pytest.mark.slow
def test_the_tests_of_the_rest_are_collected_without_a_room(rest):
    _, copy = rest
    collected = run(copy, "-m", "pytest", "--collect-only", "-q", "-n", "0", "-p", "no:nbval", "-p", "no:cacheprovider")
    assert "tests/test_plan.py: " in collected
