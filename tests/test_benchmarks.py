"""Benchmarks still run: the quick ones, once."""

import os
import sys

import patience
import pytest

from agon import ROOT

QUICK = "agon_into_turns or challenger or printed or test_load"


@pytest.mark.skipif(not (ROOT / "transcripts/counterfactual.parquet").is_file(), reason="no transcripts: make repro")
def test_the_quick_ones_run():
    run = patience.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "benchmarks",
            "-o",
            "python_files=bench_*.py",
            "-n",
            "0",
            "-p",
            "no:nbval",
            "-k",
            QUICK,
        ]
        + ["--benchmark-disable"],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST")},
    )
    assert run.returncode == 0, run.stdout
