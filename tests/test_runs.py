"""Notebooks: one file is enough, a run has a name and overwrites nothing, and findings say what their data are."""

import nbformat
import pytest
from links import Page
from nbclient import NotebookClient
from project import Project

from agon import ROOT, AgonError, figures
from agon.cli import main
from agon.cli.notebooks import set_aside
from agon.notebook.execution import folder_of, parameters
from agon.report import registration
from agon.report.caveats import caveats, show_caveats
from agon.turns import mark_partial, read, write

WRITES = """
from agon import ROOT
from agon.turns import write_table
import pandas as pd
write_table(pd.DataFrame({"n": [n]}), ROOT / out / f"tables/of_{n}.csv")
"""
SAMPLE = "tests/smoke/pocket.parquet"
LINKS = "[Source](../notebooks/mine.ipynb#x), [Nowhere](nowhere.html) and [Others](https://example.org/a.html)."


def files(folder):
    """Every file's bytes."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and ".agon" not in path.parts}


def refused(project, *words):
    """The one line of a command that is refused, and leaves all as it was."""
    before = files(project.folder)
    run = project.run(*words)
    assert run.returncode in (1, 2) and run.stdout == "" and run.stderr.count("\n") == 1, run
    assert files(project.folder) == before
    return run.stderr


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of the project with a notebook that is one file and names no kernel, as the report has it."""
    copy = Project(tmp_path_factory.mktemp("runs") / "project")
    cells = [nbformat.v4.new_code_cell('n = 1\nout = "smoke"'), nbformat.v4.new_code_cell(WRITES)]
    cells[0].metadata["tags"] = ["parameters"]
    cells.append(nbformat.v4.new_markdown_cell(LINKS))
    nbformat.write(nbformat.v4.new_notebook(cells=cells), copy.folder / "notebooks/mine.ipynb")
    run = copy.run("notebook", "mine")
    assert (run.returncode, run.stdout) == (0, "reports/mine.html\n"), run
    return copy


def test_data_that_were_looked_at_repeatedly_bear_the_interval_that_holds(tmp_path, monkeypatch):
    monkeypatch.setattr(registration, "ROOT", tmp_path)
    [name] = read(SAMPLE, ["experiment"]).experiment.unique()
    folder = tmp_path / "data/recordings" / name
    folder.mkdir(parents=True)
    (folder / registration.FILE).write_text("the registration\n")
    assert len(caveats([SAMPLE])) == 1 and registration.last_look(name) is None
    looks = [registration.Look("points", "agent:a,b", f"b more than a after {n} blocks", 0.1, 0.2) for n in (4, 8)]
    for look in (*looks, looks[-1]):
        registration.add_look(folder, look)
    assert len((folder / registration.FILE).read_text().splitlines()) == 3
    assert registration.last_look(f"{name} (partial: 2 of 3 matches)") == looks[-1]
    assert caveats([SAMPLE])[1] == (
        f"LOOKED AT REPEATEDLY: points in {name}: b more than a after 8 blocks; this interval holds, others are too narrow"
    )
    (folder / registration.FILE).write_text("the registration\n{")
    with pytest.raises(AgonError, match=r"registered\.jsonl is damaged"):
        caveats([SAMPLE])


def test_one_file_is_a_notebook(project):
    assert (project.folder / "reports/mine.html").is_file()
    assert (project.folder / "results/notebooks/mine/tables/of_1.csv").read_text() == "n\n1\n"
    assert not (project.folder / "smoke").exists()


def test_a_run_has_a_name_and_overwrites_nothing(project):
    report, folder = files(project.folder), project.folder / "runs/a-run"
    run = project.run("notebook", "mine", "n=2", "--run=a-run")
    assert (run.returncode, run.stdout) == (0, "runs/a-run/reports/mine.html\n"), run
    made = {str(path.relative_to(folder)) for path in files(folder)}
    assert made == {"reports/mine.ipynb", "reports/mine.html", "results/notebooks/mine/tables/of_2.csv"}
    assert report.items() <= files(project.folder).items()
    assert "runs/a-run has a page of mine already" in refused(project, "notebook", "mine", "n=3", "--run=a-run")
    assert project.run("notebook", "mine", "n=3", "--run=a-run", "--force").returncode == 0
    assert [path.name for path in (folder / "results").rglob("*.csv")] == ["of_3.csv"]
    assert report.items() <= files(project.folder).items()
    before = files(folder)
    failed = project.run("notebook", "mine", "n=" + "9" * 300, "--run=a-run", "--force")
    assert failed.returncode == 1 and "see runs/a-run.mine.failed.ipynb" in failed.stderr, failed
    (folder.parent / "a-run.mine.failed.ipynb").unlink()
    assert files(folder) == before, "a run that fails leaves what was there"


def test_a_run_s_page_links_to_what_is_there(project):
    made = project.run("notebook", "mine", "n=4", "--run=links").stdout.strip()
    page = Page(project.folder / made)
    assert {link for link in page.links if not link.startswith("#")} == {
        "mine.ipynb",
        "../results/notebooks/mine",
        "../../../notebooks/mine.ipynb#x",
        "https://example.org/a.html",
    }
    assert "Nowhere and" in (project.folder / made).read_text()


def test_a_kernel_that_is_killed_is_told_with_its_notebook(project):
    dies = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("import os; os.kill(os.getpid(), 9)")])
    nbformat.write(dies, project.folder / "notebooks/dies.ipynb")
    run = project.run("notebook", "dies")
    assert run.returncode == 1 and "Traceback" not in run.stderr
    assert run.stderr.splitlines()[-1].startswith("agon: notebook dies did not run: Kernel died (its kernel ended: ")
    (project.folder / "notebooks/dies.ipynb").unlink()


@pytest.mark.parametrize(
    ("source", "ends"),
    [
        ("raise SystemExit", True),
        ("raise SystemExit(0)", True),
        ("import sys; sys.exit()", True),
        ("import os; os._exit(0)", True),
        ("exit()", False),  # a kernel takes no notice of these, and goes on
        ("quit()", False),
    ],
)
def test_a_run_that_ends_before_its_last_cell_is_no_success(project, source, ends):
    cells = [nbformat.v4.new_code_cell(text) for text in ("1 + 1", source, "print('the', 'result')")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), project.folder / "notebooks/leaves.ipynb")
    run, report = project.run("notebook", "leaves"), project.folder / "reports/leaves.ipynb"
    if ends:
        assert run.returncode == 1 and run.stdout == "" and "Traceback" not in run.stderr, run
        assert run.stderr.splitlines()[-1].startswith("agon: notebook leaves") and not report.exists()
    else:
        assert run.returncode == 0 and "the result" in report.read_text(), run
        report.unlink()
    (project.folder / "notebooks/leaves.ipynb").unlink()


def test_parameters_may_have_any_annotation(project):
    source = "limit: int | None = None\nlabel: None|str = None\nrate: 'float | int' = 0.5  # of all\nequal = 'a=b=c'\nx, y = 1, 2\n"
    cell = nbformat.v4.new_code_cell(source, metadata={"tags": ["parameters"]})
    shows = nbformat.v4.new_code_cell("print(limit, label, rate, equal)")
    nbformat.write(nbformat.v4.new_notebook(cells=[cell, shows]), project.folder / "notebooks/typed.ipynb")
    run = project.run("notebook", "typed", "limit=5", "label=b", "equal=c", "--run=typed")
    assert run.returncode == 0 and "5 b 0.5 c" in (project.folder / "runs/typed/reports/typed.ipynb").read_text(), run
    assert "it has limit, label, rate, equal" in refused(project, "notebook", "typed", "x=3", "--run=other")
    (project.folder / "notebooks/typed.ipynb").unlink()


def test_a_run_that_fails_leaves_its_failed_copy_alone(project):
    run = project.run("notebook", "mine", "n=" + "9" * 300, "--run=first")
    copy = project.folder / "runs/first.mine.failed.ipynb"
    assert "(see runs/first.mine.failed.ipynb)" in run.stderr and copy.is_file()
    assert not (project.folder / "runs/first").exists()
    assert project.run("notebook", "mine", "n=2", "--run=first").returncode == 0 and not copy.exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("simulated=5", "add --run NAME to write into runs/NAME"),
        ("out=elsewhere", "with --run NAME everything goes to runs/NAME"),
        ("out=elsewhere --run=b", "with --run NAME everything goes to runs/NAME"),
        ("simulate=5 --run=b", "has no parameter 'simulate': it has turns_path, out, simulated, seed"),
        ("seed=abc --run=b", "seed='abc' does not fit notebook scripted: it must be such as 1"),
        ("simulated=1.5 --run=b", "simulated=1.5 does not fit notebook scripted"),
        ("turns_path=5 --run=b", "turns_path=5 does not fit notebook scripted"),
        ("turns_path=none/a.csv --run=b", "notebook scripted, turns_path: none/a.csv is not there"),
        ("--run=../b", "cannot name a folder"),
        ("--run=.b", "cannot name a folder"),
        ("--run=b/c", "cannot name a folder"),
    ],
)
def test_what_is_no_run_is_refused_in_a_line(capfd, words, said):
    assert main(["notebook", "scripted", *words.split()]) == 1
    out, errors = capfd.readouterr()
    assert out == "" and errors.count("\n") == 1 and said in errors


@pytest.mark.parametrize("out", ["/elsewhere", "../../results"])
def test_a_run_does_not_write_outside_its_folder(monkeypatch, out):
    monkeypatch.setattr("agon.notebook.execution.settings_of", lambda *_: {"out": out})
    with pytest.raises(AgonError, match=r"conf/notebook/scripted.yaml: out: .* is not a folder inside the project"):
        parameters("scripted", run="mine")


def test_all_that_a_run_writes_lies_in_its_folder():
    usual, moved = parameters("tradecraft_annotate"), parameters("tradecraft_annotate", run="mine")
    assert moved["out"] == f"runs/mine/{usual['out']}" and moved["folder"] == f"runs/mine/{usual['folder']}"
    assert {name for name in usual if usual[name] != moved[name]} == {"out", "folder"}
    assert folder_of("") == ROOT and folder_of("mine") == ROOT / "runs/mine"


def partial_table(folder):
    """Turns of two of the three matches of an experiment."""
    turns = read(SAMPLE)
    turns = turns[turns.match.isin(turns.match.unique()[:2])].reset_index(drop=True)
    write(mark_partial(turns, 3), folder / "some.parquet")
    return folder / "some.parquet"


def test_samples_and_partial_turns_are_told(tmp_path):
    assert caveats(["", "data/published", "transcripts/none.parquet"]) == []
    assert caveats([SAMPLE]) == [f"SAMPLE, not the report's data: {SAMPLE}"]
    some = partial_table(tmp_path)
    assert caveats([str(some)]) == ["PARTIAL: pocket, 2 of 3 matches"]


def test_a_figure_bears_what_is_known_of_its_data(tmp_path):
    words = []
    for paths in ([], [SAMPLE, str(partial_table(tmp_path))], []):
        show_caveats(*paths)
        made, _ = figures.figure(1, 1, (3, 2))
        figures.save(made, tmp_path / "made")
        figures.save(made, tmp_path / "again")
        assert (tmp_path / "made.png").read_bytes() == (tmp_path / "again.png").read_bytes()
        words.append(made.get_supxlabel())
    assert words[0] == words[2] == "" and "SAMPLE" in words[1] and "PARTIAL: pocket, 2 of 3 matches" in words[1]


def test_every_finding_of_a_notebook_says_that_it_is_of_a_sample():
    sources = [
        f"from agon.report.caveats import show_caveats\nshow_caveats({SAMPLE!r})",
        "1 + 1",
        "silent = 1",
        "show_caveats(); 'no more'",
    ]
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    NotebookClient(made, kernel_name="python3").execute()
    told = [[output.get("data", {}).get("text/markdown", "") for output in cell.outputs] for cell in made.cells]
    assert [["SAMPLE" in text for text in texts] for texts in told] == [[], [False, True], [], [False]]


def test_a_notebook_that_is_none_is_one_line(tmp_path, monkeypatch):
    torn = tmp_path / "torn.ipynb"
    torn.write_text('{"cells": [')
    monkeypatch.setattr("agon.notebook.execution.input_files", lambda *_: [torn])
    monkeypatch.setattr("agon.notebook.execution.input_path", lambda _: torn)
    with pytest.raises(AgonError, match=r"notebooks/torn\.ipynb is no notebook"):
        parameters("torn")


def test_folders_of_a_run_that_was_killed_are_back_before_the_next_one(tmp_path):
    tables = tmp_path / "tables"
    away = tmp_path / ".tables.before"
    for folder, text in ((away, "whole"), (tables, "half")):
        folder.mkdir()
        (folder / "a.csv").write_text(text)
    with pytest.raises(KeyboardInterrupt), set_aside([tables]):
        raise KeyboardInterrupt
    assert (tables / "a.csv").read_text() == "whole" and not away.exists()
