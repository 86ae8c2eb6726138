"""Ids of matches and keys of recordings hash what a thing is, not where its code lies."""

import json
import shutil
import subprocess
import sys

import pytest
from project import Project

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
    run = subprocess.run(
        [sys.executable, "-c", CODE], cwd=project.folder, env=project.environment, capture_output=True, text=True
    )
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


def test_another_script_is_another_match(project):
    before = ids(project)
    file = project.folder / "src/agon/games/matrix/scripts.py"
    file.write_text(file.read_text().replace('@kind("agon.agents.scripted.tit_for_tat")', '@kind("another")'))
    after = ids(project)
    assert not {each[0] for each in before if isinstance(each, list)} & {
        each[0] for each in after if isinstance(each, list)
    }
