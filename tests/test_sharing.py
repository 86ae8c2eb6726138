"""The recipe of docs/how-to/share-a-study.md, command by command, from one clone to another; and what archives and hosts read."""

import json
import os
import re
import shlex
import shutil
import tomllib
from pathlib import Path

import patience
import prepared
import pytest
import yaml

from agon import ROOT
from agon.cli.upkeep import verify_data

RECIPE = ROOT / "docs/how-to/share-a-study.md"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text())
ARCHIVE = json.loads((ROOT / ".zenodo.json").read_text())
STAGES = {"one": {"cmd": "wc -c data/one.txt > made.txt", "deps": ["data/one.txt"], "outs": ["made.txt"]}}
AUTHOR = {f"GIT_{who}_{what}": "someone" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
ALONE = AUTHOR | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


def run(folder, *words):
    """Runs git or dvc."""
    if words[0] == "dvc":
        made = prepared.run(words[1:], folder, os.environ | ALONE, "dvc")
    else:
        made = patience.run(words, cwd=folder, env=os.environ | ALONE)
    assert made.returncode == 0, (words, made.stderr)
    return made.stdout


def steps(heading):
    """The commands below a heading of the recipe, but for those of make."""
    part = RECIPE.read_text().partition(f"## {heading}\n")[2].partition("\n## ")[0]
    lines = "\n".join(re.findall(r"^```sh\n(.*?)^```$", part, re.MULTILINE | re.DOTALL)).splitlines()
    return [words for words in map(shlex.split, lines) if words[0] != "make"]


def kept(folder):
    return {path.name for path in folder.rglob("*") if path.is_file()}


def test_a_colleague_gets_what_was_recorded_and_the_store_does_not_grow(tmp_path):
    origin, mine, theirs, remote = (tmp_path / name for name in ("origin", "mine", "theirs", "remote"))
    run(tmp_path, "git", "init", "--quiet", "--bare", str(origin))
    run(tmp_path, "git", "clone", "--quiet", str(origin), str(mine))
    for name in (".dvcignore", ".gitignore", ".dvc/config"):
        (mine / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, mine / name)
    (mine / "dvc.yaml").write_text(yaml.safe_dump({"stages": STAGES}))
    (mine / "data").mkdir()
    (mine / "data/one.txt").write_text("what agon came with")
    run(mine, "dvc", "add", "--quiet", "data")
    run(mine, "dvc", "push", "--quiet", "data.dvc")
    run(mine, "dvc", "repro", "--quiet")
    run(mine, "git", "add", ".")
    run(mine, "git", "commit", "--quiet", "-m", "as it comes")
    came = kept(mine / "store")

    (mine / "data/recordings/mine").mkdir(parents=True)
    (mine / "data/recordings/mine/exchanges.jsonl").write_text("what was paid for")
    for words in [*steps("Set up a remote"), *steps("Push")]:
        run(mine, *[str(remote) if word.startswith("/mnt") else word for word in words])
    assert kept(mine / "store") == came and not run(mine, "git", "status", "--porcelain")
    assert not kept(remote) & {yaml.safe_load((mine / "dvc.lock").read_text())["stages"]["one"]["outs"][0]["md5"][2:]}

    for words in steps("Clone"):
        run(tmp_path, *[str(origin) if ":" in word else word for word in words], str(theirs))
    run(theirs, "dvc", "pull", "--quiet", "data.dvc")  # as make repro does
    assert verify_data(theirs) == 2 and kept(theirs / "store") == came
    assert (theirs / "data/recordings/mine/exchanges.jsonl").read_text() == "what was paid for"
    assert not run(theirs, "git", "status", "--porcelain")


def test_archives_and_readers_are_told_the_same():
    assert CITATION["version"] == ARCHIVE["version"] == PROJECT["version"]
    assert CITATION["license"] == ARCHIVE["license"] == PROJECT["license"]
    assert CITATION["title"] == ARCHIVE["title"] and CITATION["keywords"] == ARCHIVE["keywords"]
    assert [each["name"] for each in CITATION["authors"]] == [each["name"] for each in ARCHIVE["creators"]]
    assert "doi" not in CITATION and "doi" not in ARCHIVE, "nobody has given one yet; then say it in both"


def test_every_paper_is_cited():
    titles = {each["title"] for each in CITATION["references"]}
    papers = {path.stem for path in ROOT.glob("notebooks/*_claims.ipynb")}
    assert len(titles) == len(papers)
    assert {title.partition(":")[0] for title in titles} == set(
        re.findall(r"\*(.+?)[:*]", (ROOT / "README.md").read_text())[:3]
    )


@pytest.mark.parametrize("path", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda path: path.stem)
def test_what_a_host_reads_is_yaml_with_the_parts_that_it_wants(path):
    read = yaml.safe_load(path.read_text())
    if path.parent.name == "workflows":
        assert read["jobs"] and True in read  # YAML reads `on` as true
        assert read["permissions"].get("contents") == "read"
        for job in read["jobs"].values():
            assert job["runs-on"] and all(("uses" in step) != ("run" in step) for step in job["steps"])
    elif path.stem == "action":
        steps = read["runs"]["steps"]
        assert read["name"] and read["description"] and all(("uses" in step) != ("run" in step) for step in steps)
    elif path.stem != "config":
        assert read["name"] and read["description"] and read["body"]


def test_what_runs_of_others_is_pinned_by_its_hash():
    texts = [path.read_text() for part in ("workflows", "actions") for path in (ROOT / ".github" / part).rglob("*.yml")]
    used = [line for text in texts for line in re.findall(r"uses: *(\S+)", text)]
    assert used and [one for one in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", one)] == []


def commands(path):
    """What a workflow runs."""
    jobs = yaml.safe_load(path.read_text())["jobs"].values()
    return [step["run"] for job in jobs for step in job["steps"] if "run" in step]


def test_a_workflow_runs_what_people_run():
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for path in (ROOT / ".github/workflows").glob("*.yml"):
        for line in "\n".join(commands(path)).splitlines():
            program, *rest = shlex.split(line)
            assert (ROOT / program).exists() or shutil.which(program), line
            assert program != "make" or {word for word in rest if "=" not in word} <= targets, line


def test_a_container_makes_what_make_makes():
    container = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text())
    assert container["postCreateCommand"].startswith("make ") and container["image"].count(":") == 1
    python = container["customizations"]["vscode"]["settings"]["python.defaultInterpreterPath"]
    assert Path(python).parts[-3:] == (".venv", "bin", "python")
