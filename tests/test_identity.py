"""Ids of matches and keys of recordings hash what a thing is, not where its code lies."""

import json
import shutil
import sys
from importlib import import_module

import patience
import pytest
from project import Project

from agon.conf import load
from agon.registry import kind_of
from agon.turns import read

CODE = """
import json
from agon.conf import configuration
from agon.models.base import Request, key_of
from agon.plan import models_of, plan
settings = configuration(["experiment=standin_demo"])["experiment"]
matches, models = plan(settings), models_of(settings)
print(json.dumps([[match.id, match.config, match.seed] for match in matches] + [model.identity for model in models.values()]))
"""


def ids(project):
    run = patience.run([sys.executable, "-c", CODE], cwd=project.folder, env=project.environment)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path / "project")


def test_code_that_moves_keeps_its_ids(project):
    before = ids(project)
    assert len(before) > 50
    source = project.folder / "src/agon"
    for old, new in (
        (source / "games/matrix", source / "games/tables_of_points"),
        (source / "agents/llm.py", source / "agents/chat.py"),
    ):
        shutil.move(old, new)
    renamed = {
        "agon.games.matrix": "agon.games.tables_of_points",
        "agon.agents.llm": "agon.agents.chat",
    }
    for path in [
        *source.rglob("*.py"),
        *(project.folder / "src").rglob("*.py"),
        *(project.folder / "conf").rglob("*.yaml"),
    ]:
        text = path.read_text()
        lines = [line if "@kind(" in line else _renamed(line, renamed) for line in text.split("\n")]
        path.write_text("\n".join(lines))
    assert ids(project) == before


def _renamed(line, names):
    for old, new in names.items():
        line = line.replace(old, new)
    return line


def test_a_class_has_its_familys_name_wherever_in_its_folder_it_lies(tmp_path, monkeypatch):
    for path in (
        "chess_/__init__.py",
        "chess_/game.py",
        "chess_/deep/__init__.py",
        "chess_/deep/rules.py",
        "alone_.py",
    ):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("class Board: ...")
    monkeypatch.syspath_prepend(tmp_path)
    names = ("chess_", "chess_.game", "chess_.deep.rules", "alone_")
    found = {name: kind_of(import_module(name).Board) for name in names}
    assert found == dict.fromkeys(names[:3], "chess_.Board") | {"alone_": "alone_.Board"}


def test_another_script_is_another_match(project):
    before = ids(project)
    file = project.folder / "src/agon/games/matrix/scripts.py"
    file.write_text(file.read_text().replace('@kind("agon.agents.scripted.tit_for_tat")', '@kind("another")'))
    after = ids(project)
    assert not {each[0] for each in before if isinstance(each, list)} & {
        each[0] for each in after if isinstance(each, list)
    }


MINE = "from helpers import ANSWER\n\n\ndef bid(view, dice):\n    return ANSWER\n"


@pytest.fixture
def own(project):
    """The project with a package of the reader's own, in which two scripts have the same name, and a module that they import."""
    (project.folder / "src/flock").mkdir()
    (project.folder / "src/helpers.py").write_text("ANSWER = 'cooperation'\n")
    for module in ("birds", "other"):
        (project.folder / f"src/flock/{module}.py").write_text(MINE)
        project.conf("agent", module, _target_=f"flock.{module}.bid", _partial_=True)
    file = project.folder / "conf/config.yaml"
    file.write_text(file.read_text() + "packages: [flock]\n")
    return project


def of_two(one, other):
    return {"name": "mine", "repetitions": 1, "pairings": [{"games": ["pd"], "seats": [[one], [other]]}]}


def test_two_scripts_that_ids_cannot_tell_apart_are_refused(own):
    own.conf("experiment", "mine", **of_two("birds", "other"))
    run = own.run("plan", "experiment=mine")
    assert run.returncode == 1 and run.stderr.count("\n") == 1
    assert "ids would call both flock.birds.bid and flock.other.bid flock.bid" in run.stderr and "@kind" in run.stderr


def test_what_own_code_imports_is_followed(own):
    own.conf("experiment", "mine", **of_two("birds", "birds"))
    options = load("game", "pd").options
    for answer in options:
        (own.folder / "src/helpers.py").write_text(f"ANSWER = {answer!r}\n")
        run = own.run("play", "experiment=mine")
        assert run.returncode == 0, run.stderr
        assert set(read(own.folder / "transcripts/mine.parquet").action) == {answer}


def test_a_module_that_leaves_the_program_is_named(own):
    (own.folder / "src/flock/birds.py").write_text("raise SystemExit(4)\n")
    own.conf("experiment", "mine", **of_two("birds", "birds"))
    run = own.run("plan", "experiment=mine")
    assert run.returncode == 1 and run.stderr.endswith("'flock.birds.bid' cannot be imported: SystemExit\n"), run
