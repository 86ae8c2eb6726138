"""The tutorials, done as they are written: their files are made, their commands run, and what they promise is there."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pandas as pd
import patience
import prepared
import pytest
from patience import LONG
from project import Project

from agon import ROOT
from agon.turns import read

TUTORIALS = ROOT / "docs/tutorials"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COME = """
import asyncio
from pathlib import Path
from agon_hall.protocol import study
from agon_hall.rehearsal import play_rehearsal
asyncio.run(asyncio.wait_for(play_rehearsal(study("table"), Path(".agon/hall"), print), 240))
"""
"""Scripts come to a server as people do, until the study is full."""
NAMED = re.compile(r"# ([\w/.]+\.(?:py|yaml|md))\n")


class Reader:
    """Who goes through a tutorial, in a copy of the project with small records."""

    def __init__(self, folder):
        self.folder = Project(folder).folder
        (folder / "transcripts").mkdir()
        for kind in ("", ".games"):
            source = ROOT / f"tests/smoke/counterfactual_turns{kind}.parquet"
            shutil.copy(source, folder / f"transcripts/counterfactual{kind}.parquet")
        tools = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        self.environment = os.environ | {"PATH": tools, "PYTHONPATH": str(folder / "src")}

    def run(self, commands):
        for line in commands.splitlines():
            if line.startswith("cd "):
                self.folder /= line.removeprefix("cd ")
                continue
            self.done([sys.executable, "-c", COME] if line == "agon serve" else shlex.split(line, comments=True))

    def done(self, command, code=0):
        """Runs a command; gives what it says."""
        if command[:1] and command[0] in prepared.LIBRARIES:
            run = prepared.run(command[1:], self.folder, self.environment, command[0])
        else:
            run = patience.run(command, cwd=self.folder, env=self.environment)
        assert run.returncode == code, f"{command}: {run.stderr}"
        return run.stdout + run.stderr

    def write(self, text):
        place = self.folder / NAMED.match(text)[1]
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    def edit(self, change):
        """Changes lines of dvc.yaml."""
        path = self.folder / "dvc.yaml"
        [old], [new] = ([line[1:] for line in change.splitlines() if line[0] == sign] for sign in "-+")
        stages = path.read_text()
        assert stages.count(f"{old}\n") == 1
        path.write_text(stages.replace(f"{old}\n", f"{new}\n"))

    def add(self, cells):
        """Puts cells in the place of all behind the cell of parameters."""
        [path] = (self.folder / "notebooks").glob("*.ipynb")
        notebook = nbformat.read(path, as_version=4)
        [at] = [place for place, cell in enumerate(notebook.cells) if "parameters" in cell.metadata.get("tags", [])]
        notebook.cells[at + 1 :] = [nbformat.v4.new_code_cell(cell) for cell in cells]
        nbformat.write(notebook, path)

    def follow(self, tutorial):
        """Does all that it says; gives what it promises, the texts of its last kind of block."""
        cells, promised = [], ""
        for language, text in BLOCK.findall((TUTORIALS / f"{tutorial}.md").read_text()):
            if language == "sh":
                if cells:
                    self.add(cells)
                    cells = []
                self.run(text)
            elif language == "text":
                promised = text
            elif language == "diff":
                self.edit(text)
            elif NAMED.match(text):
                self.write(text)
            elif text.startswith("# in Python\n"):
                self.done([sys.executable, "-c", f"{text}assert any(table.model.str.endswith(' (own)'))"])
            elif text.startswith("# a cell\n"):
                cells.append(text.removeprefix("# a cell\n"))
        return promised.split("\n")[:-1]


@pytest.fixture
def reader(tmp_path):
    return Reader(tmp_path)


def outside(folder):
    """All files of a project but those of its studies and what commands leave behind."""
    left = ("studies", ".agon", ".dvc", "__pycache__")
    return {
        path.relative_to(folder): path.stat().st_mtime_ns
        for path in folder.rglob("*")
        if path.is_file() and not set(left) & set(path.parts)
    }


def test_a_game_of_mine(reader, tmp_path):
    reader.done(["dvc", "init", "-q", "--no-scm"])
    before = outside(tmp_path)
    [sentence] = reader.follow("a-game-of-mine")
    assert sentence in (reader.folder / "reports/hawks.html").read_text()
    assert (reader.folder / "results/figures/hawks_fights.png").stat().st_size > 10_000
    pairs = pd.read_csv(reader.folder / "results/tables/hawks_fights.csv")
    assert len(pairs) == 10 and set(pairs.n) == {3 * 16}, "each pair once, and all its rounds"
    assert "zs_constrained" not in (reader.folder / "README.md").read_text()
    birds = reader.folder / "birds.py"
    birds.write_text(birds.read_text().replace('== "hawk" else', '== "dove" else'))
    assert "birds.py" in reader.done(["dvc", "status", "--json", "play"])
    assert outside(tmp_path) == before


def test_two_conditions_compared(reader, tmp_path):
    before = outside(tmp_path)
    for file in reader.follow("two-conditions-compared"):
        assert (reader.folder / "compared" / file).read_text().count("\n") > 1
    [rate] = pd.read_csv(reader.folder / "compared/pairs.csv").query("metric == 'cooperation_rate'").itertuples()
    assert rate.low < 0 < rate.high and rate.difference != 0, "a difference, and an interval that has a width"
    said = (TUTORIALS / "two-conditions-compared.md").read_text()
    assert f"difference {rate.difference:.4g} (95 % interval {rate.low:.4g} to {rate.high:+.4g})" in said
    assert f"(spread {rate.spread:.3g}, {rate.df:.0f} degrees of freedom)" in said
    patience.run(["git", "init", "-q"], cwd=reader.folder, check=True)
    seen = subprocess.check_output(
        ["git", "status", "--porcelain", "-uall"], cwd=reader.folder, text=True, timeout=LONG
    )
    assert "data/recordings/thinking/" in seen and "compared/" not in seen
    other = reader.folder / "conf/notebook/thinking.yaml"
    other.write_text(f"{other.read_text()}first: plain\n")
    said = reader.done(["agon", "notebook", "thinking"], code=1)
    assert "no model played as plain (there are: cot_constrained, zs_constrained)" in said
    assert outside(tmp_path) == before


def test_your_model_beside_the_papers(reader, tmp_path):
    before = outside(tmp_path)
    for file in reader.follow("your-model-beside-the-papers"):
        assert (reader.folder / "runs/mine/results/notebooks/counterfactual_play" / file).stat().st_size > 100
    assert "my-stand-in" in (reader.folder / "conf/model/mine.yaml").read_text()
    page = (reader.folder / "runs/mine/reports/counterfactual_play.html").read_text()
    assert re.search(r"mine.*cooperate \(recorded models", page)
    assert outside(tmp_path) == before


def test_a_game_with_phases(reader, tmp_path):
    before = outside(tmp_path)
    for file in reader.follow("a-game-with-phases"):
        assert (reader.folder / "compared" / file).read_text().count("\n") > 1
    [points] = pd.read_csv(reader.folder / "compared/pairs.csv").itertuples()
    said = (TUTORIALS / "a-game-with-phases.md").read_text()
    assert f"fair {points.first_mean:.4g}, greedy {points.second_mean:.4g}; difference {points.difference:+.4g}" in said
    assert f"(95 % interval {points.low:+.4g} to {points.high:+.4g})" in said
    ways = pd.read_csv(reader.folder / "compared/strata.csv").set_index("opponent")
    assert ways.high["fair"] < 0 < ways.low["greedy"], "greed costs against the one, and pays against the other"
    turns = read(reader.folder / "transcripts/ultimatum.parquet")
    assert set(turns.phase[turns.asked]) == {"offer", "answer"} and turns.valid.all()
    assert outside(tmp_path) == before


def test_people_and_models(reader, tmp_path):
    before = outside(tmp_path)
    tables = "runs/table/results/notebooks/people_and_models/tables"
    for file in reader.follow("people-and-models"):
        assert (reader.folder / tables / file).read_text().count("\n") > 1
    met = pd.read_csv(reader.folder / tables / "people_and_models.csv").query("metric == 'points'").set_index("who").n
    assert met.to_dict() == {"people": 2, "zs_constrained@standin": 2}
    assert (reader.folder / "runs/table/reports/people_and_models.html").exists()
    assert outside(tmp_path) == before
