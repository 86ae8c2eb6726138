"""What runs again when a file is added or changed: DVC says it, of this project's stages, whose commands only pretend here."""

import fnmatch
import json
import os
import re
import shlex
import shutil
import sys

import patience
import prepared
import pytest
import yaml
from project import Project

from agon import ROOT

NEEDED = pytest.mark.skipif(not (ROOT / "data/recordings").is_dir(), reason="no inputs: make repro")
PRETEND = """
import sys
from pathlib import Path
for path in map(Path, sys.argv[1:]):
    file = path if path.suffix else path / "made.txt"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("made")
"""
GAME = """
_target_: agon.games.matrix.MatrixGame
name: chicken
variant: default
rules: 1
options: [swerve, straight]
payoff: [[[0, 0], [-1, 1]], [[1, -1], [-10, -10]]]
rounds: 16
"""
EXPERIMENT = "{name: mine, repetitions: 1, tournaments: [{games: [mine], agents: [mine]}]}"

CHANGES = {
    "conf/agent/always_third.yaml": "threshold: 0",
    "conf/model/standin.yaml": "tokens: 1",
    "conf/sampling/smollm2.yaml": "effort: low",
    "data/rulesets/alchemy.json": " ",
}
TWINS = {"twins", "twins_notebook"}
"""Those that look through all games."""
USERS = {
    *TWINS,
    *("play@scripted", "own@scripted", "play_notebook", "pocket"),  # the agent's: what plays, and what reads it
    *("replay@standin_demo", "beside@counterfactual_live"),  # the model's
    *("replay@pocket_magic", "replay@pocket_tradecraft"),  # the sampling's
    *("play@tradecraft_scripted", "own@match_viewer", "tradecraft_claims"),  # the ruleset's
}


def names(outs):
    """The paths of outputs, some of which have settings of their own."""
    return [out if isinstance(out, str) else next(iter(out)) for out in outs]


class Pipeline(Project):
    """A project with data and all stages; every stage but the first writes the same into its outputs, whatever it reads."""

    def __init__(self, folder):
        super().__init__(folder)
        for part in ("data", "docs/statistics"):
            shutil.copytree(ROOT / part, folder / part)
        for name in (".dvcignore", ".dvc/config", "docs/deviations.md"):
            (folder / name).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
        (folder / "pretend.py").write_text(PRETEND)
        stages = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
        self.outs = []
        for stage in stages.values():
            made = stage.get("do", stage)
            outs = [*names(made["outs"]), *names(made.get("metrics", ()))]
            pretended = made["cmd"] != "python -m agon compose"
            for name in stage.get("foreach", [""]) if pretended else ():
                self.outs += [out.replace("${key}", name).replace("${item}", name) for out in outs]
            made["cmd"] = f"{sys.executable} " + (f"pretend.py {' '.join(outs)}" if pretended else "-m agon compose")
        (folder / "dvc.yaml").write_text(yaml.safe_dump({"stages": stages}))
        self.dvc("config", "core.no_scm", "true")

    def dvc(self, *words):
        """What DVC prints."""
        run = prepared.run(words, self.folder, self.environment, "dvc")
        assert run.returncode == 0, run.stdout + run.stderr
        return run.stdout

    def begin(self):
        """Brings all stages up to date, without a process for each."""
        assert self.run("compose").returncode == 0
        patience.run([sys.executable, "pretend.py", *self.outs], cwd=self.folder, check=True)
        self.dvc("commit", "--force", "--quiet")

    def changed(self):
        """The stages that are not up to date."""
        return set(json.loads(self.dvc("status", "--json")))

    def repro(self, *words):
        """The stages that run."""
        return re.findall(r"^Running stage '(.+)':$", self.dvc("repro", *words), re.MULTILINE)

    def write(self, files):
        """Writes files, by their names."""
        for name, text in files.items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text(text)


@NEEDED
def test_what_no_experiment_names_runs_one_stage_and_what_is_used_runs_what_uses_it(tmp_path):
    pipeline = Pipeline(tmp_path)
    pipeline.begin()
    assert not pipeline.changed()
    own = {path.name: path.read_text() for path in (tmp_path / "transcripts/composed").iterdir()}
    pipeline.write(
        {
            "conf/agent/mine.yaml": (tmp_path / "conf/agent/best_reply_to_last.yaml").read_text(),
            "conf/agent/broken.yaml": "[",
            "conf/experiment/mine.yaml": EXPERIMENT,
            "conf/experiment/broken.yaml": "{name: broken}",
            "conf/game/mine.yaml": GAME,
            "conf/model/mine.yaml": (tmp_path / "conf/model/local.yaml").read_text(),
            "conf/sampling/mine.yaml": "{temperature: 0.5}",
            "data/problems/mine/01.json": (tmp_path / "data/problems/minecraft/01.json").read_text(),
            "data/rulesets/mine.json": (tmp_path / "data/rulesets/alchemy.json").read_text(),
            "data/settings/mine/01.json": "{}",
        }
    )
    assert pipeline.changed() == {"compose", *TWINS}
    pipeline.repro()
    composed = {path.name: path.read_text() for path in (tmp_path / "transcripts/composed").iterdir()}
    assert own.items() < composed.items() and set(composed) - set(own) == {"mine.json", "broken.json"}

    for name, text in CHANGES.items():
        pipeline.write({name: (tmp_path / name).read_text() + text + "\n"})
    pipeline.repro("compose")
    assert pipeline.changed() == USERS


def test_an_experiment_that_cannot_be_composed_is_named_and_stops_no_other(tmp_path):
    project = Project(tmp_path)
    for path in (tmp_path / "conf/experiment").iterdir():
        if path.stem not in ("scripted", "standin_demo"):
            path.unlink()
    project.experiment("lost", 1, games=["nowhere"])
    run = project.run("compose")
    assert run.returncode == 0 and run.stderr.startswith("conf/experiment/lost.yaml: there is no game 'nowhere'")
    folder = tmp_path / "transcripts/composed"
    files = {path.stem: json.loads(path.read_text()) for path in folder.iterdir()}
    assert set(files) == {"scripted", "standin_demo", "lost", "counterfactual", "tradecraft"}
    assert files["lost"].keys() == {"fault"} and files["scripted"]["game"]["pd"]["options"]
    assert files["counterfactual"]["game"] == files["scripted"]["game"] and set(files["standin_demo"]["model"]) == {
        "standin"
    }


def test_compose_owns_what_it_wrote_and_nothing_else(tmp_path):
    project = Project(tmp_path)
    for path in (tmp_path / "conf/experiment").iterdir():
        if path.stem not in ("scripted", "standin_demo"):
            path.unlink()
    folder = tmp_path / "transcripts/composed"
    assert project.run("compose").returncode == 0
    copied, notes = folder / "copied.json", folder / "notes.json"
    copied.write_text((folder / "scripted.json").read_text())
    notes.write_text('{"mine": 1}')
    (tmp_path / "conf/experiment/standin_demo.yaml").unlink()
    run = project.run("compose", "--experiment=scripted")
    assert run.stdout == "transcripts/composed: 1 file\n" and (folder / "standin_demo.json").is_file()
    assert project.run("compose").returncode == 0
    names = {path.stem for path in folder.iterdir()}
    assert names == {"scripted", "counterfactual", "tradecraft", "copied", "notes"}, "gone is what it wrote alone"
    (folder / "scripted.json").write_text(notes.read_text())
    run = project.run("compose")
    assert run.returncode == 1 and "transcripts/composed/scripted.json was not written by" in run.stderr
    assert (folder / "scripted.json").read_text() == '{"mine": 1}'


def test_an_experiment_is_not_called_like_recorded_games(tmp_path):
    project = Project(tmp_path)
    project.experiment("counterfactual", 1)
    run = project.run("compose")
    assert run.returncode == 1 and run.stderr.startswith("agon: conf/experiment/counterfactual.yaml is called like")


def test_the_lock_has_the_stages_that_there_are_and_no_others():
    listed = prepared.run(["stage", "list", "--name-only"], ROOT, os.environ, "dvc")
    locked = yaml.safe_load((ROOT / "dvc.lock").read_text())["stages"]
    assert set(locked) == set(listed.stdout.split()) - {"data.dvc"}


def test_from_nothing_a_stage_runs_after_all_that_it_reads():
    makefile = (ROOT / "Makefile").read_text()
    lines = {
        name: shlex.split(globs) for name, globs in re.findall(r"^line-(\w+): STAGES = (.*)$", makefile, re.MULTILINE)
    }
    first: dict[str, list[str]] = {name: [] for name in lines}
    for names, needed in re.findall(r"^((?:line-\w+ ?)+): ((?:line-\w+ ?)+)$", makefile, re.MULTILINE):
        for name in names.split():
            first[name.removeprefix("line-")] += [each.removeprefix("line-") for each in needed.split()]
    drawn = prepared.run(["dag", "--dot"], ROOT, os.environ, "dvc")
    reads = re.findall(r'"(\S+)" -> "(\S+)"', drawn.stdout)
    stages = {stage for pair in reads for stage in pair}
    runs = {name: [each for glob in globs for each in fnmatch.filter(stages, glob)] for name, globs in lines.items()}

    def before(name):
        return {stage for needed in first[name] for stage in {*runs[needed], *before(needed)}}

    assert sorted(stage for every in runs.values() for stage in every) == sorted(
        stages - {"compose", "data.dvc", "report"}
    )
    for name, every in runs.items():
        for place, stage in enumerate(every):
            made = {"compose", "data.dvc", *before(name), *every[:place]}
            assert {one for one, reader in reads if reader == stage} <= made, stage
