"""Which folder above is the project, and whose code it may be: the user's own, in the same repository."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from patience import LONG

from agon import ROOT

WHERE = "from agon import ROOT; print(ROOT)"
ATTACK = 'raise SystemExit("CODE OF A STRANGER")'


@pytest.fixture
def place(tmp_path):
    """A folder above with a project and a source of its own, and a folder below it."""
    above = tmp_path / "above"
    for name, text in {"conf/config.yaml": "agon: true\n", "src/agon/__init__.py": ATTACK, "below/here/x": ""}.items():
        (above / name).parent.mkdir(parents=True, exist_ok=True)
        (above / name).write_text(text)
    return above


def run(folder, *words):
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=LONG
    )


def used(folder):
    """The project of a folder."""
    ended = run(folder, "-c", WHERE)
    assert ended.returncode == 0 and "STRANGER" not in ended.stdout + ended.stderr, ended
    return ended.stdout.strip()


def test_a_project_of_the_user_is_found_from_below_it(place):
    (place / "src/agon/__init__.py").unlink()
    (place / "conf/config.yaml").write_text("# mine\nagon:   true  # with blanks\n")
    assert used(place / "below/here") == str(place)


def test_a_source_of_the_user_above_is_named_and_not_run(place):
    ended = run(place / "below/here", "-c", WHERE)
    assert ended.returncode == 1 and f"{place} has its own agon" in ended.stderr and "STRANGER" not in ended.stderr


@pytest.mark.parametrize(
    "words", [["-m", "agon"], [str(Path(sys.executable).with_name("agon"))]], ids=["module", "script"]
)
def test_a_command_beside_another_source_ends_in_one_line(place, words):
    """Also where that source is a link to agon's own files."""
    for attack in (True, False):
        if not attack:
            (place / "src/agon/__init__.py").unlink()
            (place / "src/agon/__init__.py").symlink_to(ROOT / "src/agon/__init__.py")
        ended = run(place / "below/here", *words, "--version")
        assert ended.returncode == 1 and ended.stdout == "" and ended.stderr.count("\n") == 1, ended
        assert ended.stderr.startswith(f"agon: {place} has its own agon"), ended


@pytest.mark.parametrize("mode", [0o777, 0o1777], ids=oct)
@pytest.mark.parametrize("part", ["above", "below"])
def test_a_folder_that_everybody_may_write_to_ends_the_search(place, part, mode):
    """Also where it lies between the project and the folder one stands in."""
    (place if part == "above" else place / "below").chmod(mode)
    assert used(place / "below/here") == str(ROOT)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
@pytest.mark.parametrize("part", ["above", "below"])
def test_a_folder_of_another_user_ends_the_search(place, part):
    os.chown(place if part == "above" else place / "below", 12345, 12345)
    assert used(place / "below/here") == str(ROOT)


@pytest.mark.parametrize("make", [lambda path: path.mkdir(), lambda path: path.write_text("gitdir: x")])
def test_the_root_of_a_repository_ends_the_search(place, make):
    make(place / "below/.git")
    assert used(place / "below/here") == str(ROOT)


def test_a_project_that_is_not_used_is_named(place):
    place.chmod(0o777)
    ended = run(place / "below", "-m", "agon", "list", "metrics")
    assert ended.returncode == 0 and f"note: the project {place} is not used from here" in ended.stderr, ended
    assert f"note: the project is {ROOT}" in ended.stderr
    ended = run(place, "-m", "agon", "list", "metrics")  # who stands in it has chosen it
    assert "has its own agon" in ended.stderr
