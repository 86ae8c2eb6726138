"""The folder one stands in is the project, and a study is one: its own files first, then agon's; with Git and DVC as they are."""

import json
import os
import re
import shutil
import sys
import zipfile
from pathlib import Path

import patience
import prepared
import pytest
import yaml
from project import FULL

from agon import ROOT, SHIPPED
from agon.study import TEMPLATE, make_study

BIN = Path(sys.executable).parent


def run(*command, where, code=0, **environment):
    """What a command says, by its name in this environment, in a folder."""
    env = os.environ | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"} | environment
    if command[0] in prepared.LIBRARIES:
        done = prepared.run(command[1:], where, env, command[0])
    else:
        done = patience.run(command, cwd=where, env=env)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def python(code, where):
    return run(sys.executable, "-c", code, where=where)


def put(folder, name, /, **settings):
    """A file of settings; the folder above it is made."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(settings))
    return folder


# --- which folder is the project


def test_the_nearest_folder_with_a_configuration_is_the_project(tmp_path):
    put(tmp_path / "study", "conf/config.yaml", agon=True)
    (tmp_path / "study/deep/down").mkdir(parents=True)
    ask = "import agon; print(agon.ROOT, agon.SHIPPED)"
    assert python(ask, tmp_path / "study/deep/down").split() == [str(tmp_path / "study"), str(SHIPPED)]
    assert python(ask, tmp_path).split() == [str(SHIPPED)] * 2, "outside of all, it is agon's checkout"


def test_a_project_of_another_program_is_none_of_agons(tmp_path):
    put(tmp_path, "conf/config.yaml", agon=True)
    other = put(tmp_path / "other", "conf/config.yaml", defaults=[{"db": "mysql"}], agon=None)
    ask = "import agon; print(agon.ROOT)"
    assert python(ask, other / "conf").split() == [str(tmp_path)]
    said = run("agon", "plan", where=other, code=1)
    assert said.startswith(f"agon: {other}/conf/config.yaml does not say `agon: true`") and len(said.splitlines()) == 1
    assert "is made" in run("agon", "new", "study", "own", "--model=standin", where=other)
    (other / "conf/config.yaml").write_text("agon: true\n")
    assert python(ask, other).split() == [str(other)]
    assert "matches" in run("agon", "plan", where=other)


def test_files_of_the_project_come_first_and_agons_own_are_found(tmp_path):
    put(tmp_path, "conf/config.yaml", agon=True, defaults=[{"override experiment": "own"}], budget={"usd": 3})
    put(tmp_path, "conf/game/pd.yaml", rounds=3, variant="brief", **_without("conf/game/pd.yaml", "rounds", "variant"))
    put(tmp_path, "conf/agent/mine.yaml", _target_="scripts.sulk", _partial_=True)
    put(tmp_path, "conf/experiment/own.yaml", name="own", repetitions=1, tournaments=[_meeting("mine", "grim")])
    (tmp_path / "scripts.py").write_text("def sulk(view, dice):\n    return view.legal.options[1]\n")
    assert "scripts.sulk' is not in" in run("agon", "plan", where=tmp_path, code=1)
    put(
        tmp_path,
        "conf/config.yaml",
        agon=True,
        defaults=[{"override experiment": "own"}],
        budget={"usd": 3},
        packages=["scripts"],
    )
    settings = yaml.safe_load(run("agon", "plan", "--cfg", "job", where=tmp_path))
    assert settings["budget"] == {"usd": 3, "tokens": None, "calls": None}
    assert "3 matches" in run("agon", "play", where=tmp_path)
    ask = "from agon.turns import read; turns = read('transcripts/own.parquet'); print(set(turns.variant), turns['round'].max())"
    assert python(ask, tmp_path) == "{'brief'} 3\n"
    assert not (SHIPPED / "transcripts/own.parquet").exists()


def test_a_game_with_the_name_of_agons_is_refused_where_both_are_compared(tmp_path):
    put(tmp_path, "conf/config.yaml", agon=True, defaults=[{"override experiment": "own"}])
    put(tmp_path, "conf/experiment/own.yaml", name="own", repetitions=1, tournaments=[_meeting("tit_for_tat", "grim")])
    put(tmp_path, "conf/game/pd.yaml", rounds=3, **_without("conf/game/pd.yaml", "rounds"))
    run("agon", "play", where=tmp_path)
    both = f"transcripts/own.parquet,{SHIPPED}/tests/smoke/scripted_turns.parquet"
    said = run("agon", "compare", f"--turns={both}", "--by=file", "--metric=regret", where=tmp_path, code=1)
    assert "two different games are called pd, variant default" in said and len(said.splitlines()) == 1


def _without(name, *keys):
    return {key: value for key, value in yaml.safe_load((ROOT / name).read_text()).items() if key not in keys}


def _meeting(*agents):
    return {"games": ["pd"], "agents": list(agents)}


def test_a_game_of_its_own_lies_in_the_study(tmp_path):
    shutil.copytree(ROOT / "tests/games/stranger/auction", tmp_path / "games/auction")
    put(tmp_path, "conf/config.yaml", agon=True, families=["games/auction"])
    put(tmp_path, "conf/game/auction.yaml", _target_="auction.game.Auction", name="auction", variant="default")
    put(tmp_path, "conf/agent/shade.yaml", _target_="auction.scripts.shade", _partial_=True)
    meeting = {"games": ["auction"], "agents": ["shade", "anything"]}
    put(tmp_path, "conf/experiment/own.yaml", name="own", repetitions=1, tournaments=[meeting])
    assert "3 matches" in run("agon", "play", "experiment=own", where=tmp_path)


def test_settings_problems_and_rulesets_of_both_are_found(tmp_path):
    if not (SHIPPED / "data/settings").is_dir():
        pytest.skip("no data/: `dvc pull data.dvc` fetches it")
    put(tmp_path, "conf/config.yaml", agon=True)
    of = {
        name: sorted((SHIPPED / f"data/{name}").glob("*.json"))[0]
        for name in ("settings/magic/public_goods", "rulesets")
    }
    for name, file in of.items():
        (tmp_path / "data" / name).mkdir(parents=True)
        shutil.copy(file, tmp_path / "data" / name / "mine.json")
    ask = """
from agon.conf import expand_settings
from agon.games.tradecraft.rulesets import ruleset
print(len(expand_settings(["public_goods"])), len(ruleset("mine").items) > 0, len(ruleset("minecraft").items) > 0)
"""
    shipped = len(list((SHIPPED / "data/settings/magic/public_goods").glob("*.json")))
    assert python(ask, tmp_path) == f"{shipped + 1} True True\n"


def test_where_settings_come_from_is_said(tmp_path):
    put(tmp_path, "conf/config.yaml", agon=True)
    put(tmp_path, "conf/experiment/own.yaml", name="own")
    found = run("agon", "plan", "experiment=own", "--info", "searchpath", where=tmp_path)
    assert found.index(f"project://{tmp_path / 'conf'}") < found.index(f"file://{SHIPPED / 'conf'}")
    tree = run("agon", "plan", "experiment=own", "--info", "defaults-tree", where=tmp_path)
    assert "experiment: own" in tree and "config" in tree


@pytest.mark.parametrize("file", ["config", "experiment/own"])
def test_a_file_sets_nothing_of_hydras_own(tmp_path, file):
    """Hydra would call what its callbacks name, and write where its run.dir says."""
    put(tmp_path, "conf/config.yaml", agon=True)
    put(tmp_path, "conf/experiment/own.yaml", name="own")
    path = tmp_path / f"conf/{file}.yaml"
    head = "# @package _global_\n" if "own" in file else ""
    hook = {"_target_": "builtins.open", "file": str(tmp_path / "written"), "mode": "w"}
    hydra = {"callbacks": {"x": hook}, "run": {"dir": str(tmp_path / "made")}}
    resolver = "x: ${oc.env:HOME}\n"  # the gate refuses it too, but later
    path.write_text(head + path.read_text() + resolver + yaml.safe_dump({"hydra": hydra}))
    said = run("agon", "plan", "experiment=own", where=tmp_path, code=1)
    assert said.startswith(f"agon: conf/{file}.yaml: Hydra's own settings") and said.count("\n") == 1
    assert not (tmp_path / "written").exists() and not (tmp_path / "made").exists()


def test_a_file_in_a_linked_folder_sets_nothing_of_hydras_own(tmp_path):
    put(tmp_path, "project/conf/config.yaml", agon=True)
    put(tmp_path, "elsewhere/own.yaml", hydra={"output_subdir": "conf"})
    link = tmp_path / "project/conf/experiment/more"
    link.parent.mkdir()
    link.symlink_to(tmp_path / "elsewhere")
    said = run("agon", "plan", "experiment=more/own", where=tmp_path / "project", code=1)
    assert said.startswith("agon: conf/experiment/more/own.yaml: Hydra's own settings")
    link.unlink()
    link.symlink_to(tmp_path / "project/conf")
    assert "6,000 matches" in run("agon", "plan", where=tmp_path / "project")  # a circle hurts nobody


def test_no_setting_of_hydras_writes_over_settings(tmp_path):
    put(tmp_path, "conf/config.yaml", agon=True)
    before = (tmp_path / "conf/config.yaml").read_text()
    assert "--cfg job prints them" in run("agon", "plan", "hydra.output_subdir=conf", where=tmp_path, code=2)
    assert (tmp_path / "conf/config.yaml").read_text() == before


@pytest.mark.parametrize("name", ["agon.yaml", "hydra/config.yaml"])
def test_a_file_that_would_hide_what_commands_need_is_refused(tmp_path, name):
    put(tmp_path, "conf/config.yaml", agon=True)
    put(tmp_path, f"conf/{name}", metric="points")
    assert "would hide agon's file: write the settings that differ into conf/config.yaml" in run(
        "agon", "plan", where=tmp_path, code=1
    )


def test_the_environment_is_read_in_no_list_of_defaults(tmp_path, monkeypatch):
    monkeypatch.setenv("A_SECRET", "scripted")
    put(tmp_path, "conf/config.yaml", agon=True, defaults=[{"override experiment": "${oc.env:A_SECRET}"}])
    said = run("agon", "plan", where=tmp_path, code=1)
    assert "${oc.env:A_SECRET}" in said and "scripted" not in said and said.count("\n") == 1


def test_a_default_of_an_older_study_comes_with_what_to_write(tmp_path):
    put(tmp_path, "conf/config.yaml", agon=True, defaults=[{"experiment": "scripted"}])
    assert "write `override experiment: NAME`" in run("agon", "plan", where=tmp_path, code=1)


def test_one_command_runs_for_several_settings(tmp_path):
    put(tmp_path, "conf/config.yaml", agon=True)
    words = ["experiment.repetitions=1,2", "out=out/${experiment.repetitions}.parquet"]
    assert "1,200 matches" in run("agon", "play", "--multirun", *words, where=tmp_path)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        *("1.games.parquet", "1.parquet", "2.games.parquet", "2.parquet")
    ]
    failed = run("agon", "play", "-m", "experiment.repetitions=1,x", "force=true", where=tmp_path, code=1)
    assert "repetitions: it must be a whole number, and is text" in failed


# --- a second checkout under one environment


@pytest.fixture
def clone(tmp_path):
    """A checkout of another agon."""
    (tmp_path / "src/agon").mkdir(parents=True)
    (tmp_path / "src/agon/__init__.py").write_text("")
    put(tmp_path, "conf/config.yaml", agon=True)
    put(tmp_path, "studies/one/conf/config.yaml", agon=True)
    return tmp_path


@pytest.mark.parametrize("where", [".", "conf", "studies/one"])
@pytest.mark.parametrize("words", [["-c", "import agon"], ["-m", "agon", "plan"]])
def test_in_another_checkout_agon_refuses_and_says_what_to_do(clone, where, words):
    said = run(sys.executable, *words, where=clone / where, code=1).splitlines()
    assert (
        said[-1].startswith("agon: " if "-m" in words else "ImportError: ")
        and f"PYTHONPATH={clone / 'src'}" in said[-1]
    )
    assert len(said) == 1 or "-c" in words


# --- studies


@pytest.mark.slow
def test_a_study_runs_at_once_in_a_repository_that_stays_clean(tmp_path):
    for words in (
        "git init -q",
        "git config user.name Somebody",
        "git config user.email somebody@example.org",
        "dvc init -q",
    ):
        run(*words.split(), where=tmp_path)
    said = run("agon", "new", "study", "kind", "--model=standin", where=tmp_path)
    assert "cd studies/kind" in said and "dvc init" not in said
    study = tmp_path / "studies/kind"
    assert "now: python -m agon play" in run("agon", "record", where=study)
    run("dvc", "repro", "-q", where=study)
    assert "cooperation_rate" in (study / "reports/kind.html").read_text()
    run("git", "add", "-A", where=tmp_path)
    run("git", "commit", "-qm", "A study", where=tmp_path)
    assert run("dvc", "status", "-q", where=tmp_path) == "", "its stages are up to date, seen from above too"
    tracked = run("git", "ls-files", where=tmp_path).split()
    assert "studies/kind/data/recordings/kind/exchanges.jsonl" in tracked and "studies/kind/dvc.lock" in tracked
    assert all(name.startswith(("studies/kind/", ".dvc")) for name in tracked)

    changed = "conf/experiment/kind.yaml:repetitions={}"
    said = run("dvc", "exp", "run", "-n", "apart", "--temp", "-S", changed.format(2), "play", where=study)
    assert "8 matches" in said, "two conditions, two opponents, two repetitions"
    assert run("git", "status", "--porcelain", where=tmp_path) == "", "neither the page nor an experiment left a trace"
    if not FULL:
        return
    run("dvc", "exp", "run", "-q", "-n", "queued", "--queue", "-S", changed.format(2), "play", where=study)
    run("dvc", "exp", "run", "-q", "--run-all", where=study)
    said = run("dvc", "exp", "run", "-n", "here", "-S", changed.format(1), "play", where=study)
    assert "4 matches" in said
    shown = json.loads(run("dvc", "exp", "show", "--json", where=study))
    found = {each["revs"][0]["name"]: each["revs"][0]["data"] for each in shown[1]["experiments"]}
    asked = {name: each["params"]["studies/kind/conf/experiment/kind.yaml"]["data"] for name, each in found.items()}
    assert {name: each["repetitions"] for name, each in asked.items()} == {"apart": 2, "queued": 2, "here": 1}


def test_in_agons_own_folder_its_stages_depend_on_agon(tmp_path, monkeypatch):
    outside = yaml.safe_load((make_study("kind", "standin", str(tmp_path)) / "dvc.yaml").read_text())["stages"]
    monkeypatch.setattr("agon.study.SHIPPED", tmp_path)
    monkeypatch.setattr("agon.study.ROOT", tmp_path)
    for part in ("src", "conf"):
        (tmp_path / part).mkdir()
    inside = make_study("deep", "standin", str(tmp_path / "studies"))
    stages = yaml.safe_load((inside / "dvc.yaml").read_text())["stages"]
    deps = {dep for stage in stages.values() for dep in stage["deps"]} - {
        dep.replace("kind", "deep") for stage in outside.values() for dep in stage["deps"]
    }
    assert (
        deps == {"../../conf", "../../conf/game", "../../src/agon"}
        and (inside / "../../src").resolve() == tmp_path / "src"
    )


def test_a_file_of_its_own_is_taken_in_the_study_alone(tmp_path):
    put(tmp_path, "conf/config.yaml", agon=True)
    put(tmp_path, "conf/agent/tit_for_tat.yaml", _target_="agon.games.matrix.scripts.grim", _partial_=True)
    ask = "from agon.conf import load; print(load('agent', 'tit_for_tat').func.__name__)"
    assert python(ask, tmp_path) == "grim\n" and python(ask, tmp_path.parent) == "tit_for_tat\n"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["new"], "new needs {study}"),
        (["new", "game", "chess"], "'game' is not 'study'"),
        (["new", "study", "2x"], "is no name of a study"),
        (["new", "study", "a/b"], "is no name of a study"),
        (["new", "study", "scripted"], "agon's own conf/experiment already has scripted"),
        (["new", "study", "kind"], "studies/kind exists already"),
        (["new", "study", "x", "--model=gpt"], "there is no model 'gpt'"),
    ],
)
def test_what_cannot_be_a_study_is_refused_in_a_line(words, why, tmp_path):
    (tmp_path / "studies/kind").mkdir(parents=True)
    done = patience.run([sys.executable, "-m", "agon", *words], cwd=tmp_path)
    assert done.returncode in (1, 2) and why in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_study_inside_another_is_refused_with_the_way_out(tmp_path):
    run("agon", "new", "study", "one", "--model=standin", where=tmp_path)
    said = run("agon", "new", "study", "two", where=tmp_path / "studies/one/notebooks", code=1)
    way = re.search("`(agon .*)`", said)[1]
    assert not (tmp_path / "studies/one/studies").exists() and len(said.splitlines()) == 1
    run(*way.split(), where=tmp_path / "studies/one/notebooks")
    assert (tmp_path / "studies/two/dvc.yaml").is_file()


def test_a_study_without_its_model_and_beside_its_folder_says_what_to_type(tmp_path):
    said = patience.run([sys.executable, "-m", "agon", "new", "study", "thinking"], cwd=tmp_path).stdout
    if "cannot be asked yet" in said:
        assert (
            "note: to try it without a model: rm -r studies/thinking, then the same command with --model standin"
            in said
        )
    put(tmp_path, "conf/config.yaml", agon=True)
    for name in ("thinkin", "thinking"):
        said = run("agon", "play", f"experiment={name}", where=tmp_path, code=1)
        assert said.endswith("the study studies/thinking has thinking: type cd studies/thinking first\n")
    assert "did you mean scripted?" in run("agon", "play", "experiment=scriptd", where=tmp_path, code=1)


@pytest.mark.parametrize("path", ["src", "src/agon/games", "data", ".dvc", "tests", "conf/game"])
def test_a_study_keeps_out_of_what_a_project_runs_and_makes(path):
    assert "a study cannot be in" in run("agon", "new", "study", "x", f"--path={path}", where=ROOT, code=1)
    assert not (ROOT / path / "x").exists()


def test_a_name_may_hold_what_stands_for_the_model(tmp_path):
    made = make_study("MODEL_size", "standin", str(tmp_path))
    experiment = yaml.safe_load((made / "conf/experiment/MODEL_size.yaml").read_text())
    assert experiment["name"] == "MODEL_size" and experiment["models"] == ["standin"]


def test_a_study_may_have_modules_called_like_pythons_own(tmp_path):
    put(tmp_path, "conf/config.yaml", agon=True)
    (tmp_path / "statistics.py").write_text("mean = None\n")
    assert "games" in run(sys.executable, "-m", "agon", "list", "--help", where=tmp_path, PYTHONSAFEPATH="1")


def test_the_template_is_as_notebooks_and_stages_are_to_be():
    assert (TEMPLATE / "dvc.yaml.txt").is_file() and not list(TEMPLATE.rglob("dvc.yaml")), "DVC would take it for ours"
    cells = json.loads((TEMPLATE / "notebooks/STUDY.ipynb").read_text())["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] or cell["execution_count"] for cell in code)
    assert "".join(cells[0]["source"]).splitlines()[0].endswith("?")
    for path in filter(Path.is_file, TEMPLATE.rglob("*")):
        assert not re.search(r"\b(studies/(?!STUDY))", path.read_text()), "names come from the placeholder"


# --- as an installed package


def test_an_installed_package_plays_elsewhere(tmp_path):
    pytest.importorskip("hatchling", reason="hatchling builds agon; `make` installs it")
    code = "from hatchling.build import build_wheel; import sys; print(build_wheel(sys.argv[1]))"
    run(sys.executable, "-c", code, str(tmp_path), where=ROOT)
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        wheel.extractall(tmp_path / "site")
    ask = "import agon; print(agon.__file__, agon.ROOT)"
    (tmp_path / "elsewhere").mkdir()
    place = {"where": tmp_path / "elsewhere", "PYTHONPATH": str(tmp_path / "site")}
    assert run(sys.executable, "-c", ask, **place).split() == [
        str(tmp_path / "site/agon/__init__.py"),
        str(tmp_path / "elsewhere"),
    ]
    few = ["experiment.name=few", "experiment.tournaments=[{games: [pd, public_goods/01], agents: [anything]}]"]
    assert "matches" in run("agon", "play", *few, "experiment.repetitions=1", **place)
    assert (tmp_path / "elsewhere/transcripts/few.parquet").is_file()
    said = run("agon", "new", "study", "own", "--model=standin", **place)
    assert "git init" in said and (tmp_path / "elsewhere/studies/own/metrics.py").is_file()
