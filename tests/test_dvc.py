"""DVC's own commands, typed in a fresh clone as its documentation shows them."""

import csv
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from agon import ROOT

LIMIT = 600
"""Seconds for one command, on a machine with much else to do."""
EXPERIMENT = "conf/experiment/scripted.yaml:repetitions"


class Clone:
    """A repository with one commit, which has what Git keeps of this project, and nothing that was made or pulled."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        who = {f"GIT_{part}_{kind}": f"a@{part}" for part in ("AUTHOR", "COMMITTER") for kind in ("NAME", "EMAIL")}
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(("AGON", "DVC"))}
        self.environment |= who | {"PATH": path, "PYTHONPATH": str(folder / "src")}
        kept = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT, capture_output=True, text=True, check=True, timeout=LIMIT,
        )  # fmt: skip
        for name in filter(None, kept.stdout.split("\0")):
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, folder / name)
        for words in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message", "all"]):
            assert self.run("git", *words).returncode == 0

    def run(self, *words):
        """A command, to its end."""
        return subprocess.run(
            words, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=LIMIT
        )

    def dvc(self, *words):
        """What a command of DVC prints; it must end well, and without a word of failure."""
        ended = self.run("dvc", *words)
        assert ended.returncode == 0, ended.stderr[-2000:]
        assert "failed" not in ended.stderr and "ERROR" not in ended.stderr, ended.stderr[-2000:]
        return ended.stdout


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    if not (ROOT / ".git").exists():
        pytest.skip("this is no Git repository")
    return Clone(tmp_path_factory.mktemp("clone"))


@pytest.fixture(scope="module")
def pulled(clone):
    clone.dvc("pull")
    return clone


def test_plots_show_needs_nothing_but_the_clone(clone):
    said = clone.dvc("plots", "show")
    assert "index.html" in said
    drawn = [path.name for path in (clone.folder / "dvc_plots/static").iterdir()]
    assert len(drawn) == len(yaml.safe_load((ROOT / "dvc.yaml").read_text())["plots"])


def test_the_lock_has_the_stages_that_there_are_and_no_others(clone):
    stages = set(clone.dvc("stage", "list", "--name-only").split()) - {"data.dvc"}
    assert stages == set(yaml.safe_load((ROOT / "dvc.lock").read_text())["stages"])


def test_a_plain_pull_brings_all_that_the_lock_says_is_stored(pulled):
    with_places = json.loads(pulled.dvc("data", "status", "--json"))
    assert not with_places.get("not_in_cache")
    assert (pulled.folder / "data/published").is_dir()
    locked = yaml.safe_load((ROOT / "dvc.lock").read_text())["stages"]
    transcripts = [out["path"] for stage in locked.values() for out in stage["outs"] if ".parquet" in out["path"]]
    assert transcripts and all((pulled.folder / path).is_file() for path in transcripts)
    assert [*(pulled.folder / "results/tables").glob("*.csv")]


def changed_deps(clone):
    """Stage -> what it depends on and `dvc status` calls changed."""
    stages = json.loads(clone.dvc("status", "--json"))
    return {
        name: {
            path: how for change in changes if "changed deps" in change for path, how in change["changed deps"].items()
        }
        for name, changes in stages.items()
        if name != "data.dvc"
    }


def test_in_a_fresh_clone_only_pages_are_to_be_made(pulled):
    changed = changed_deps(pulled)
    assert {how for deps in changed.values() for how in deps.values()} <= {"deleted"}
    assert not [name for name in changed if name.startswith(("ingest@", "play@", "replay@"))]


def test_an_agent_that_is_added_concerns_what_plays_and_no_paper(pulled):
    added = pulled.folder / "conf/agent/added.yaml"
    shutil.copy(added.with_name("grim.yaml"), added)
    try:
        concerned = {name for name, deps in changed_deps(pulled).items() if "conf/agent" in deps}
    finally:
        added.unlink()
    stages = pulled.dvc("stage", "list", "--name-only").split()
    plays = {name for name in stages if name.startswith(("play@", "replay@"))}
    others = {"play_notebook", "replays", "twins"}  # a script may be walked in a twin, and replays explains names
    assert plays and concerned == plays | others


@pytest.mark.parametrize("where", [(), ("--temp",)], ids=["workspace", "temp"])
def test_an_experiment_runs_with_another_setting_of_a_stage(pulled, where):
    said = pulled.dvc("exp", "run", *where, "-S", f"{EXPERIMENT}={1 + len(where)}", "play@scripted")
    assert "Ran experiment(s)" in said
    rows = list(csv.DictReader(io.StringIO(pulled.dvc("exp", "show", "--csv"))))
    assert str(1 + len(where)) in [row[EXPERIMENT] for row in rows]
    pulled.run("git", "checkout", "--quiet", ".")
    pulled.run("dvc", "checkout", "--quiet", "--force")


def test_the_parameters_of_notebooks_are_those_of_stages(pulled):
    path = pulled.folder / "conf/notebook/scripted.yaml"
    before = path.read_text()
    simulated = str(yaml.safe_load(before)["simulated"])
    path.write_text(before.replace(f"simulated: {simulated}", "simulated: 77"))
    try:
        changes = json.loads(pulled.dvc("params", "diff", "--json"))
    finally:
        path.write_text(before)
    assert [*changes] == ["conf/notebook/scripted.yaml"] and [*changes["conf/notebook/scripted.yaml"]] == ["simulated"]
    rows = list(csv.DictReader(io.StringIO(pulled.dvc("exp", "show", "--csv"))))
    shown = [
        row.get("simulated") or row["conf/notebook/scripted.yaml:simulated"] for row in rows
    ]  # short where it is alone
    assert simulated in shown


def test_each_stage_of_a_notebook_has_its_parameters():
    stages = [stage.get("do", stage) for stage in yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"].values()]
    notebooks = [stage for stage in stages if "agon notebook" in stage["cmd"]]
    assert notebooks
    for stage in notebooks:
        _, _, name = stage["cmd"].rpartition(" ")
        assert f"conf/notebook/{name}.yaml" in [file for params in stage["params"] for file in params]


def test_metrics_say_what_agrees_without_anything_made(clone):
    shown = json.loads(clone.dvc("metrics", "show", "--json"))
    agreement = json.loads((ROOT / "results/agreement.json").read_text())
    assert shown[""]["data"]["results/agreement.json"]["data"] == agreement


def test_metrics_diff_says_what_agrees_less_than_at_the_last_commit(clone):
    path = clone.folder / "results/agreement.json"
    before = path.read_text()
    agreement = json.loads(before)
    agree = agreement["magic"]["literal"]["agree"]
    agreement["magic"]["literal"]["agree"] = agree - 7
    path.write_text(json.dumps(agreement))
    try:
        changes = json.loads(clone.dvc("metrics", "diff", "--json"))
    finally:
        path.write_text(before)
    change = {"old": agree, "new": agree - 7, "diff": -7}
    assert changes == {"results/agreement.json": {"magic.literal.agree": change}}
