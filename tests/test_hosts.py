"""A project's file that hides agon's own model is told, and asks nobody elsewhere unless that is wanted."""

import os
import re

import prepared
import pytest
import yaml

from agon import ROOT

SECRET = "a-secret-of-somebody"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A folder of somebody else, whose gpt_4o asks a port where nobody listens, with another variable."""
    folder = tmp_path_factory.mktemp("study")
    model = yaml.safe_load((ROOT / "conf/model/gpt_4o.yaml").read_text())
    stranger = model | {"base_url": "http://127.0.0.1:9/v1", "key": "OTHER_SECRET", "tries": 1}
    files = {"config": {"agon": True}, "model/gpt_4o": stranger}
    for name, settings in files.items():
        path = folder / f"conf/{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(settings))
    return folder


def said(project, *words):
    """(exit code, output, errors) of a command in the project, without a terminal."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AGON")}
    environment |= {"PYTHONPATH": str(ROOT / "src"), "OTHER_SECRET": SECRET, "OPENAI_API_KEY": "none-of-its-business"}
    run = prepared.run(words, project, environment)
    assert SECRET not in run.stdout + run.stderr
    return run.returncode, run.stdout, run.stderr


def record(project, model, *more):
    words = ("experiment=counterfactual_live", f"experiment.models=[{model}]", "budget.calls=1", *more)
    return said(project, "record", *words)


def test_a_file_that_hides_agons_own_with_another_host_or_key_asks_nobody(project):
    code, out, errors = record(project, "gpt_4o")
    assert code == 1 and out == "asks gpt_4o (gpt-4o-2024-08-06) at 127.0.0.1:9, with OTHER_SECRET\n"
    note, fault = errors.splitlines()
    assert note == (
        "note: this project's conf/model asks gpt_4o at 127.0.0.1:9, with OTHER_SECRET; "
        "agon's own file of that name asks at api.openai.com, with OPENAI_API_KEY"
    )
    assert fault.endswith("add other_hosts=true if this is right")


def test_it_asks_there_if_that_is_said(project):
    code, out, _ = record(project, "gpt_4o", "other_hosts=true")
    assert code == 3 and "1 call, " in out and "errors: 1 x no connection" in out


def test_agons_own_file_is_said_and_needs_no_word(project):
    code, out, errors = record(project, "gpt_4o_mini", "budget.calls=0")
    assert code == 3 and "note: this project" not in errors
    assert re.match(r"asks gpt_4o_mini \(gpt-4o-mini-\S+\) at api.openai.com, with OPENAI_API_KEY\n", out)


def test_a_model_without_a_network_is_on_this_machine(project):
    code, out, _ = said(project, "record", "experiment=standin_demo", "budget.calls=0")
    assert code == 3 and out.startswith("asks standin (standin-tit-for-tat) on this machine, without a key\n")


def test_answers_of_another_host_are_told_before_they_are_used(project):
    words = ("experiment=standin_demo", "experiment.repetitions=1", "experiment.name=moved")
    assert said(project, "record", *words)[0] == 0 and "note:" not in said(project, "play", *words)[2]
    path = project / "data/recordings/moved/exchanges.jsonl"
    path.write_text(path.read_text().replace('"exchange":', '"host":"host.test:1","exchange":'))
    note = "the recorded answers of standin are from host.test:1, and its file now asks on this machine, without a key"
    for verb in ("record", "play"):
        code, _, errors = said(project, verb, *words)
        assert code == 0 and errors.count("note:") == errors.count(note) == 1, errors


def test_a_plan_says_what_a_budget_covers(project):
    words = ("plan", "experiment=standin_demo", "budget.calls=100", "budget.usd=1")
    code, out, _ = said(project, *words)
    [line] = re.findall(
        r"^budget.calls=100: about (\d+) of 100 matches, .*expected to take ([\d,]+)$", out, re.MULTILINE
    )
    assert code == 0 and 0 < int(line[0]) <= 100 * 100 / float(line[1].replace(",", "")) + 1
    assert "budget.usd=1: about 100 of 100 matches" in out
    assert not re.search("^budget", said(project, "plan", "experiment=standin_demo")[1], re.MULTILINE)


def test_a_recording_is_read_by_another_rule(project):
    assert (
        said(project, "record", "experiment=standin_demo", "experiment.repetitions=1", "experiment.name=mine")[0] == 0
    )
    words = ("experiment=standin_demo", "experiment.repetitions=1", "experiment.name=mine")
    code, out, errors = said(project, "reread", *words, "--rule", "as_done", "out=same.parquet")
    assert code == 0 and errors == "" and (project / "same.parquet").exists()
    changes = r"no action any more 0, an action now 0, another action 0 \(0.0% in all\)"
    line = rf"^zs@standin: [\d,]+ answers read strict; read as_done: {changes}$"
    assert re.search(line, out, re.MULTILINE) and re.search(
        r"^0 of \d+ matches have such an answer$", out, re.MULTILINE
    )
    same = said(project, "reread", *words)[1]
    assert "note: all were read strict when they were recorded; --rule as_done reads them otherwise\n" in same
    assert "note:" not in out
    code, _, errors = said(project, "reread", "experiment=scripted")
    assert code == 1 and errors == "agon: experiment scripted asks no model: there are no answers to read\n"
