"""A key is told to its provider and to nobody else: not to files, output, errors, notebooks or pages, however a run fails."""

import base64
import re
import secrets
import string
from urllib.parse import quote

import nbformat
import pandas as pd
import pytest
from project import FULL, Project, serving

NAME = "CANARY"
"""The variable that holds the key; its name does not tell that it is one."""
READ = """
from agon.turns import read
read("transcripts/canary.parquet")[["match", "action", "reply"]]
"""
FAIL = """
%xmode Verbose
import asyncio
from agon.cli import main
await asyncio.to_thread(main, ["--debug", "record", "experiment=canary"])
"""
"""Tracebacks show what variables hold, too."""


def notebook(project, name, source):
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("number = 1"), nbformat.v4.new_code_cell(source)])
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    made.cells[0].metadata["tags"] = ["parameters"]
    nbformat.write(made, project.folder / "notebooks" / f"{name}.ipynb")
    project.conf("notebook", name, number=1)


def forms(secret):
    """A text as it is, and as encodings leave it."""
    yield from (secret, secret[::-1], secret.encode().hex(), quote(secret, safe=""))
    yield from (
        "".join(f"%{byte:02X}" for byte in secret.encode()),
        "".join(f"\\u{byte:04x}" for byte in secret.encode()),
    )
    for shift in range(3):
        coded = base64.b64encode(b"-" * shift + secret.encode() + b"-" * (-(shift + len(secret)) % 3)).decode()
        yield coded[4 if shift else 0 : len(coded) - 4]


def places_of(secret, folder, said):
    """Where a secret is to be found, in whatever form, in files, in their names, and in what was said."""
    texts = [form.encode() for form in forms(secret)]
    found = [name for name, text in said.items() if any(form in text.encode() for form in texts)]
    for path in filter(lambda path: path.is_file(), folder.rglob("*")):
        content = str(path).encode() + path.read_bytes()
        if path.suffix == ".parquet":
            content += pd.read_parquet(path).to_csv().encode()
        found += [str(path)] * any(form in content for form in texts)
    return found


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The project after every kind of run, what it said, and the key; the server tells the key back whenever it can."""
    project = Project(tmp_path_factory.mktemp("canary") / "project")
    key = "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(40))
    project.environment |= {NAME: key, "HOME": str(project.folder / "home"), "TMPDIR": str(project.folder)}
    said = {}

    def does(name, code, *arguments):
        process = project.run(*arguments)
        said[name] = process.stdout + process.stderr
        assert process.returncode == code, said[name]

    with serving() as server:
        project.model(server.openai, key=NAME, pause=0.001, tries=2)
        project.experiment("canary", 1)
        does("plan", 0, "plan", "experiment=canary")
        does("record", 0, "record", "experiment=canary")
        does("play", 0, "play", "experiment=canary")
        assert server.given == key
        notebook(project, "canary", READ)
        notebook(project, "failing", FAIL)
        does("notebook", 0, "notebook", "canary")
        project.experiment("canary", 2)
        server.key = "another"
        does("refused", 1, "record", "experiment=canary")
        does("refused, debug", 1, "--debug", "record", "experiment=canary")
        does("not recorded, debug", 1, "--debug", "play", "experiment=canary")
        does("failing notebook", 1, "notebook", "failing")
        if FULL:
            does("failing notebook, debug", 1, "--debug", "notebook", "failing")
        server.key, server.faults = None, {"drop": 0.5, "malformed": 0.5}
        does("dropped", 3, "record", "experiment=canary")
        project.model(server.openai.replace("http", "https"), key=NAME, pause=0.001, tries=2)
        does("no TLS, debug", 3, "--debug", "record", "experiment=canary")
        project.model("not an address", key=NAME, pause=0.001, tries=2)
        does("no address, debug", 1, "--debug", "record", "experiment=canary")
        project.model(server.openai, key=NAME, parameters={"temprature": 1})
        does("misspelt, debug", 1, "--debug", "plan", "experiment=canary")
    return project, said, key


def test_the_key_is_nowhere_after_every_kind_of_run(run):
    project, said, key = run
    assert places_of(key, project.folder, said) == []


def test_runs_failed_as_they_were_meant_to(run):
    """Else nothing would have been there to hide."""
    project, said, _ = run
    assert "401" in said["refused"] and "[hidden]" in said["refused"] and len(said["refused"].splitlines()) == 3
    for name in ("refused, debug", "not recorded, debug", "misspelt, debug", "no address, debug"):
        assert "Traceback" in said[name]
    assert "connection" in said["dropped"] or "not JSON" in said["dropped"]
    failed = (project.folder / "reports/failing.failed.ipynb").read_text()
    assert "401" in failed and "Traceback" in failed and "[hidden]" in failed
    page = (project.folder / "reports/canary.html").read_text()
    assert "cooperation" in page and (project.folder / "data/recordings/canary/exchanges.jsonl").stat().st_size
    assert any((project.folder / ".agon").rglob("*.parquet"))


def test_a_key_that_is_written_somewhere_would_be_found(tmp_path):
    """The search itself: what it must find, in files of several kinds."""
    key = "q" * 20 + "Zx9_-/+=" * 2 + "wxyz"
    (tmp_path / "a.txt").write_text(f"x{key}y")
    for shift in range(3):
        (tmp_path / f"{shift}.txt").write_bytes(base64.b64encode(b"." * shift + key.encode() + b"after"))
    (tmp_path / "b.txt").write_text(quote(f"?key={key}", safe=""))
    pd.DataFrame({"text": [key]}).to_parquet(tmp_path / "c.parquet", compression="zstd")
    (tmp_path / "nothing.txt").write_text(key[:-1])
    found = places_of(key, tmp_path, {"output": f"Bearer {key}", "quiet": "Bearer [hidden]"})
    assert sorted(re.sub(".*/", "", each) for each in found) == [
        "0.txt",
        "1.txt",
        "2.txt",
        "a.txt",
        "b.txt",
        "c.parquet",
        "output",
    ]
