"""The tutorial, done as it is written; and the files with which other repositories audit their games."""

import re
import shlex

import yaml

from agon import ROOT
from agon.cli import main

PAGE = ROOT / "docs/tutorials/audit-recorded-games.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_tutorial_finds_what_it_says(tmp_path, monkeypatch, capfd):
    blocks = BLOCK.findall(PAGE.read_text())
    log, numbers = (text for kind, text in blocks if kind == "text" and "," in text)
    [mapping] = (text for kind, text in blocks if kind == "yaml")
    folder = tmp_path / "mygames"
    folder.mkdir()
    (folder / "log.csv").write_text(log)
    (tmp_path / "numbers.csv").write_text(numbers)
    commands = [shlex.split(line)[1:] for kind, text in blocks if kind == "sh" for line in text.splitlines()]
    said = [text.splitlines() for kind, text in blocks if kind == "console"]
    guess, first, check, printed, check_printed = [[_in(tmp_path, word) for word in words] for words in commands]
    assert main(guess) == 0 and set(said[0]) <= set(capfd.readouterr().out.splitlines())
    (tmp_path / "mygames.yaml").write_text(mapping)
    assert main(first) == 1
    lines = capfd.readouterr().out.replace(f"{tmp_path}/", "").splitlines()
    assert [line for line in lines if not line.startswith("mapping: ")] == said[1]
    assert main(check) == 0
    assert main(printed) == 1
    assert "Table" not in capfd.readouterr().out, "the printed numbers agree"
    assert main(check_printed) == 0 and main(check) == 2, "printed numbers need their file again"
    assert set(yaml.safe_load(mapping)) <= {*yaml.safe_load((tmp_path / "mygames.yaml").read_text())}


def _in(folder, word):
    """A word of a command, with the folder before a path."""
    return str(folder / word) if re.match("mygames|audited|numbers", word) else word


def test_the_action_and_the_hook_run_the_command_that_is_there():
    [hook] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert hook["id"] == "agon-audit" and hook["entry"].startswith("agon audit ")
    action = yaml.safe_load((ROOT / ".github/actions/audit/action.yml").read_text())
    [run] = [step["run"] for step in action["runs"]["steps"] if "agon audit" in step.get("run", "")]
    assert "${{" not in run, "what a workflow gives is no part of the script"
    assert set(action["inputs"]) == {"folder", "mapping", "numbers"}
    names = {name: f"${name.upper()}" for name in action["inputs"]}
    assert all(value in run for value in names.values())
    assert main([*shlex.split(hook["entry"])[1:], "--help"]) == 0
