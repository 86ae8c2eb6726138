"""Settings of strangers, and agon in a program of others: nothing of theirs is called, and nothing of others is changed."""

import subprocess
import sys

import pytest
from patience import LONG
from project import Project

from agon import AgonError
from agon.conf.gate import document

CALL = "callbacks: {x: {_target_: os.mkdir, path: CALLED}}"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return Project(tmp_path_factory.mktemp("strangers"))


@pytest.fixture
def put(project):
    """Writes a file of conf/, which is gone after the test."""
    written = []

    def write(name, text):
        written.append(project.folder / "conf" / name)
        written[-1].write_text(text)

    yield write
    for path in written:
        path.unlink()


def refused(project, *words):
    run = project.run(*words)
    assert run.returncode in (1, 2) and run.stderr.count("\n") == 1 and "Traceback" not in run.stderr, run
    assert not (project.folder / "CALLED").exists()
    return run.stderr


@pytest.mark.parametrize(
    "text",
    [
        f"# @package _global_\nhydra:\n  {CALL}\n",
        f"# @package hydra\n{CALL}\n",
        "# @package _global_\nhydra: {output_subdir: CALLED, run: {dir: .}}\n",
        "defaults: [/hydra/job_logging: disabled]\nname: mine\n",
        f'"hydr\\u0061":\n  {CALL}\n',
        f"base: &base\n  hydra: {{{CALL}}}\n<<: *base\nname: mine\n",
    ],
)
def test_a_checkouts_own_file_does_not_set_hydra(project, put, text):
    put("experiment/mine.yaml", text)
    said = refused(project, "plan", "experiment=mine")
    assert "conf/experiment/mine.yaml: Hydra's own settings, and @package, belong on the command line" in said


BOMB = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]\n" for level in range(1, 12)
)


def test_names_that_repeat_without_end_are_refused_at_once(project, put, tmp_path):
    put("experiment/bomb.yaml", f"name: bomb\nrepetitions: 1\n{BOMB}")
    assert "conf/experiment/bomb.yaml: its names (*name) repeat so much" in refused(project, "plan", "experiment=bomb")
    for text in (
        BOMB,
        BOMB.replace("[", "{k: [").replace("]", "]}"),
        f"deep: {{x: [{BOMB.splitlines()[0][4:]}]}}\n{BOMB}",
    ):
        (tmp_path / "bomb.yaml").write_text(text)
        with pytest.raises(AgonError, match=r"bomb.yaml: "):
            document(tmp_path / "bomb.yaml")
    for text in (
        "x: &a [*a, *a]\n",
        "x: &a {b: *a}\n",
        "x: &a {b: [*a]}\n",
        "x: &a {<<: *a}\n",
        "&a {x: &b {<<: [*a, *b]}}\n",
        f"x: &a {{z: {{<<: [{', '.join(['*a'] * 90_000)}]}}}}\n",  # a small file whose merges fill the memory
    ):
        (tmp_path / "bomb.yaml").write_text(text)
        with pytest.raises(AgonError, match=r"bomb.yaml: its names \(\*name\) repeat so much"):
            document(tmp_path / "bomb.yaml")
    (tmp_path / "fair.yaml").write_text("a: &a [1, 2]\nb: [*a, *a]\n")
    assert document(tmp_path / "fair.yaml") == {"a": [1, 2], "b": [[1, 2], [1, 2]]}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("experiment.repetitions=1,2", "has several values: for a list write experiment.repetitions=[1,2]"),
        ("experiment.repetitions=range(1,3)", "stands for several values: add --multirun"),
        ("experiment.name=${variant}", "experiment.name is ${variant}, and there is no setting of this name"),
        ("budget.calls=1.5", "budget.calls: it must be a whole number"),
        ("--cfg job budget.calls=many", "budget.calls: it must be a number or nothing, and is text"),
        ("--cfg job experiment.nme=x", "there is no setting 'experiment.nme'"),
        ("-m experiment.repetitions=0", "experiment.repetitions=0: the experiment's settings do not fit: repetitions"),
        (f"experiment.name={'x' * 300}", "name: it must be text of letters, digits, _ and -, 100 at most"),
    ],
)
def test_what_hydra_would_say_is_said_plainly(project, words, said):
    assert said in refused(project, "plan", "experiment=scripted", *words.split())


HOST = """
import os, sys
import hydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import OmegaConf
OmegaConf.register_new_resolver("oc.env", lambda name: "of the host", replace=True)

@hydra.main(version_base="1.3", config_path=None)
def host(settings):
    from agon.cli import main
    job = HydraConfig.get().job.name
    assert main(["plan", "experiment=scripted"]) == 0
    assert main(["plan", "experiment=scriptd"]) == 1
    assert HydraConfig.get().job.name == job == "host"
    assert OmegaConf.create({"a": "${oc.env:PATH}"}).a == "of the host"
    print("the host goes on")

host()
"""


def test_a_program_that_hydra_runs_may_call_agon(project):
    (project.folder / "host.py").write_text(HOST)
    words = [sys.executable, "host.py", "hydra.run.dir=.", "hydra.output_subdir=null"]
    run = subprocess.run(
        words, cwd=project.folder, env=project.environment, capture_output=True, text=True, timeout=LONG
    )
    assert run.returncode == 0 and "the host goes on" in run.stdout and "6,000 matches" in run.stdout, run
