"""What a user sees when something is wrong: one line, an exit code, nothing lost."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agon import ROOT
from agon.commands import main


def failed(capfd, *arguments: str) -> str:
    """Runs a command that must fail, and gives its one line."""
    code = main(arguments)
    lines = capfd.readouterr().err.strip().splitlines()
    assert code != 0, "it should have failed"
    assert len(lines) == 1, lines
    assert lines[0].startswith("agon: ") and "Traceback" not in lines[0]
    return lines[0]


def test_an_unknown_command_names_those_there_are(capfd):
    assert "plan, record, play, ingest, notebook" in failed(capfd, "fly")


def test_an_unknown_experiment_offers_the_nearest(capfd):
    assert "did you mean scripted?" in failed(capfd, "plan", "experiment=scriptd")


def test_a_misspelt_override_offers_the_nearest(capfd):
    assert "did you mean experiment.repetitions?" in failed(capfd, "plan", "repetition=3")


def test_a_misspelt_nested_override_offers_the_nearest(capfd):
    assert "did you mean experiment.repetitions?" in failed(capfd, "plan", "experiment.repetition=3")


def test_an_override_that_is_none_says_so(capfd):
    assert "a==b" in failed(capfd, "plan", "a==b")


@pytest.mark.parametrize("value", ["many", "0", "-1", "1.5"])
def test_repetitions_must_be_a_whole_number_from_1(capfd, value):
    assert "repetitions" in failed(capfd, "plan", f"experiment.repetitions={value}")


def test_a_missing_agent_is_named(capfd):
    settings = "experiment.tournaments=[{games: [pd], agents: [tit_for_tatt]}]"
    assert "did you mean tit_for_tat?" in failed(capfd, "plan", settings)


def test_a_game_that_an_agent_cannot_play_names_the_match(capfd):
    settings = "experiment.tournaments=[{games: [rps], agents: [extort_2]}]"
    line = failed(
        capfd, "play", "experiment.name=cannot", "experiment.repetitions=1", settings, "out=smoke/cannot.parquet"
    )
    assert "rps" in line and "extort_2" in line


def test_an_unknown_notebook_names_those_there_are(capfd):
    assert "counterfactual_tables" in failed(capfd, "notebook", "counterfactual_table")


def test_an_unknown_notebook_parameter_names_those_there_are(capfd):
    assert "turns_path" in failed(capfd, "notebook", "counterfactual_tables", "turn_path=x")


def test_no_notebook_name_says_how_to_give_one(capfd):
    assert "name one notebook" in failed(capfd, "notebook")


def test_missing_data_say_where_they_come_from(capfd, tmp_path):
    assert str(tmp_path / "none") in failed(capfd, "ingest", f"path={tmp_path / 'none'}")


def test_an_unknown_source_names_those_there_are(capfd):
    assert "counterfactual" in failed(capfd, "ingest", "source=magic")


def test_a_corrupt_parquet_is_named(capfd, tmp_path):
    (tmp_path / "matches.parquet").write_bytes(b"PAR1 no, it is not PAR1")
    (tmp_path / "rounds.parquet").write_bytes(b"")
    assert "matches.parquet" in failed(capfd, "ingest", f"path={tmp_path}")


def test_a_corrupt_transcript_stops_a_notebook_in_one_line(capfd, tmp_path):
    broken = tmp_path / "turns.parquet"
    broken.write_bytes(b"PAR1 torn")
    line = failed(capfd, "notebook", "counterfactual_claims", f"turns_path={broken}", "out=smoke")
    assert "turns.parquet cannot be read" in line
    (ROOT / "reports/counterfactual_claims.failed.ipynb").unlink()


def test_an_out_that_cannot_be_written_is_named_and_nothing_is_lost(capfd):
    settings = [
        "experiment.name=unwritable",
        "experiment.repetitions=1",
        "experiment.tournaments=[{games: [pd], agents: [grim]}]",
    ]
    assert "cannot be written" in failed(capfd, "play", *settings, "out=README.md/x.parquet")
    assert list((ROOT / ".agon/played/unwritable").rglob("*.parquet"))
    shutil.rmtree(ROOT / ".agon/played/unwritable")


def test_debug_shows_the_traceback():
    from agon import AgonError

    with pytest.raises(AgonError, match="scriptd"):
        main(["plan", "experiment=scriptd", "debug=true"])


def test_help_lists_every_command(capfd):
    assert main(["help"]) == 0
    text = capfd.readouterr().out
    assert all(f"  {verb} " in text for verb in ("plan", "play", "ingest", "notebook"))


def test_plan_counts_matches_and_decisions(capfd):
    assert (
        main(["plan", "experiment.repetitions=1", "experiment.tournaments=[{games: [pd, rps], agents: [srep, pp]}]"])
        == 0
    )
    assert "6 matches, 240 decisions, 2 agents" in capfd.readouterr().out


@pytest.mark.parametrize("version", ["3.9.18", "3.10.2"])
def test_make_refuses_an_old_python_in_one_line(tmp_path, version):
    old = tmp_path / "python"
    old.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo "Python {version}" && exit 0\nexit 1\n')
    old.chmod(0o755)
    copy = tmp_path / "project"
    copy.mkdir()
    for name in ("Makefile", "requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, copy)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    made = subprocess.run(
        ["make", "repro", f"PYTHON={old}"], cwd=copy, env=environment, capture_output=True, text=True, check=False
    )
    assert made.returncode != 0 and not (copy / ".venv").exists()
    assert made.stderr.splitlines()[0].startswith("agon needs Python 3.11 or newer")
    assert f"Python {version}" in made.stderr.splitlines()[0]


def test_an_old_python_is_refused_before_anything_newer_is_read():
    source = (ROOT / "src/agon/__main__.py").read_text()
    faked = source.replace("import sys\n", "import sys\nsys.version_info = (3, 9, 1)\n", 1)
    run = subprocess.run([sys.executable, "-c", faked], cwd=Path(ROOT), capture_output=True, text=True, check=False)
    assert run.returncode == 1 and run.stderr.startswith("agon needs Python 3.11 or newer; this is 3.9")
