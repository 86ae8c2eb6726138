"""Unfinished recordings: what is whole is played, what is missing is named, and the turns say that they are not all."""

import pytest
from project import Project

from agon.turns import experiments, partial, read

NAME = "some"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of the project with an experiment of three matches, of which one is recorded to its end."""
    copy = Project(tmp_path_factory.mktemp("partial") / "project")
    pairing = {"games": ["pd"], "models": ["standin"], "seats": [["zs"], ["best_reply_to_last"]]}
    copy.conf("experiment", NAME, name=NAME, repetitions=3, sampling="as_done", pairings=[pairing])
    run = copy.run("record", f"experiment={NAME}", "budget.calls=25", "concurrency=1")
    assert run.returncode == 3, run
    return copy


def table(project):
    return project.folder / f"transcripts/{NAME}.parquet"


def test_what_is_whole_is_played_and_what_is_missing_is_named(project):
    refused = project.run("play", f"experiment={NAME}")
    assert refused.returncode == 1 and "partial=true plays the complete matches" in refused.stderr
    assert not table(project).exists()
    done = project.run("play", f"experiment={NAME}", "partial=true")
    assert done.returncode == 0, done
    turns = read(table(project))
    whole = turns.match.nunique()
    assert 0 < whole < 3 and set(turns.groupby("match", observed=True)["round"].max()) == {16}
    assert done.stdout.splitlines()[:2] == [
        f"PARTIAL: {3 - whole} of 3 matches not recorded to the end:",
        f"  pd default: zs@standin against best_reply_to_last: {3 - whole} of 3",
    ]
    assert partial(turns) == [f"{NAME}, {whole} of 3 matches"] and experiments(table(project)) == {NAME}


def test_a_complete_table_is_not_written_over_by_a_partial_one(project):
    assert project.run("record", f"experiment={NAME}").returncode == 0
    done = project.run("play", f"experiment={NAME}", "partial=true")
    assert done.returncode == 0 and "PARTIAL" not in done.stdout
    turns = read(table(project))
    assert turns.match.nunique() == 3 and partial(turns) == []
    longer = project.run("play", f"experiment={NAME}", "partial=true", "experiment.repetitions=5")
    assert longer.returncode == 1 and "has only complete matches" in longer.stderr
    none = project.run("play", f"experiment={NAME}", "partial=true", "experiment.sampling=as_printed")
    assert none.returncode == 1 and "of 3 matches none is recorded to its end" in none.stderr
