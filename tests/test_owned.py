"""Nothing is written over that another command has made, unless it is said; what a killed command left goes at the next run."""

import os
import shutil
import time

import pytest
from project import Project

from agon import ROOT
from agon.turns import read, write

PLAY = "play experiment=tiny"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of the project with two small experiments of scripts, both played."""
    copy = Project(tmp_path_factory.mktemp("owned"))
    topics = copy.folder / "data/settings/magic/topics.json"
    topics.parent.mkdir(parents=True)
    shutil.copy(ROOT / "data/settings/magic/topics.json", topics)
    for name in ("tiny", "other"):
        tournament = {"games": ["pd"], "agents": ["tit_for_tat", "grim"]}
        copy.conf("experiment", name, name=name, repetitions=1, tournaments=[tournament])
        assert copy.run("play", f"experiment={name}").returncode == 0
    return copy


def refused(project, *words):
    """The one line of a command that is refused."""
    run = project.run(*words)
    assert run.returncode == 1 and run.stdout == "" and run.stderr.count("\n") == 1, run
    return run.stderr


def files(folder):
    """Every file's bytes, outside .agon."""
    paths = [path for path in folder.rglob("*") if path.is_file() and not {".agon", "__pycache__"} & set(path.parts)]
    return {path: path.read_bytes() for path in paths}


TAKEN = [
    (
        "play experiment=tiny out=transcripts/other.parquet",
        "transcripts/other.parquet holds turns of other, not of tiny",
    ),
    (f"{PLAY} experiment.name=counterfactual", "counterfactual is a name that `agon ingest` uses"),
    ("record experiment=tiny experiment.name=tradecraft", "tradecraft is a name that `agon ingest` uses"),
    ("play experiment=tiny out=data/x.parquet", "is in data/"),
    ("play experiment=tiny out=notes.parquet", "is not a turns table"),
    ("play experiment=tiny out=folder.parquet", "is not a turns table"),
    ("make-settings --folder made --games prisoner3", "made/prisoner3/01.json exists with other content"),
    (
        "invent-ruleset --name mine --folder rules --items 60 --recipes 70 --raw 20 --depth 3",
        "rules/mine.json exists with other content",
    ),
]


@pytest.mark.parametrize(("command", "said"), TAKEN)
def test_what_another_made_stays(project, command, said):
    folder = project.folder
    (folder / "folder.parquet").mkdir(exist_ok=True)
    for name in ("counterfactual", "people"):  # as they would be there: the experiment is what it is called
        turns = read(folder / "transcripts/tiny.parquet")
        write(
            turns.assign(experiment=turns.experiment.cat.rename_categories([name])),
            folder / f"transcripts/{name}.parquet",
        )
    for name in ("made/prisoner3/01.json", "rules/mine.json", "notes.parquet"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("my own")
    before = files(folder)
    assert said in refused(project, *command.split())
    assert files(folder) == before


def test_with_force_it_is_written_over(project):
    target = project.folder / "transcripts/forced.parquet"
    target.write_bytes((project.folder / "transcripts/other.parquet").read_bytes())
    assert project.run(*PLAY.split(), f"out={target}", "force=true").returncode == 0
    assert set(read(target).experiment) == {"tiny"}
    again = ["invent-ruleset", "--name=again", "--folder=rules", "--items=60", "--recipes=70", "--raw=20", "--depth=3"]
    assert project.run(*again).returncode == project.run(*again).returncode == 0
    assert "--force" in refused(project, *again, "--seed=2")
    assert project.run(*again, "--seed=2", "--force").returncode == 0


def test_what_the_same_command_made_is_made_again(project):
    for words in (PLAY, f"{PLAY} fresh=true"):
        assert project.run(*words.split()).returncode == 0


def test_parts_of_killed_commands_go_and_those_of_living_ones_stay(project):
    import fcntl

    folder = project.folder / "transcripts"
    dead, alive = folder / "tiny.parquet.0123abcd.part", folder / "tiny.parquet.89abcdef.part"
    with alive.open("wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        dead.write_bytes(b"PAR1 half")
        for path in (dead, alive):
            os.utime(path, (time.time() - 60,) * 2)
        assert project.run(*PLAY.split(), "fresh=true").returncode == 0
        assert not dead.exists() and alive.exists()
    alive.unlink()


def test_a_table_of_nobody_may_be_written_over(project):
    empty = project.folder / "transcripts/empty.parquet"
    write(read(project.folder / "transcripts/tiny.parquet").iloc[:0], empty)
    assert project.run(*PLAY.split(), "out=transcripts/empty.parquet").returncode == 0
    assert len(read(empty))
