"""All 7,120 printed cells from the turns. extra_info: the most memory that a process which does this alone has held."""

import re
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pandas as pd
import pytest

from agon import ROOT
from agon.conf import games
from agon.games.matrix.metrics import per_match
from agon.games.tables import games_table, payoff_table
from agon.turns import read
from agon_papers.counterfactual import cells as counterfactual

COLUMNS = ["experiment", "match", "game", "variant", "repetition", "round", "turn", "seat", "agent", "model", "action"]
MORE = ["valid", "fallback", "payoff", "tokens"]


def made():
    """What makes the cells, once the turns are read."""
    turns = read("transcripts/counterfactual.parquet", [*COLUMNS, *MORE])
    published = pd.read_csv(ROOT / "data/published/counterfactual/tables.csv", dtype={"mean": str, "std": str})
    payoffs = payoff_table(games_table(games()))

    def work():
        found = counterfactual.statistics(per_match(turns, payoffs), "reconciled")
        variants = counterfactual.true_variants(counterfactual.agreement(found, published), published)
        return counterfactual.cells(found, published, "reconciled", variants)

    return work


def peak():
    """MB that this process has held at most, when it has made the cells; None where the system is not Linux."""
    made()()
    status = Path("/proc/self/status")  # ru_maxrss would begin with what the process that started this one held
    return round(int(re.search(r"VmHWM:\s*(\d+) kB", status.read_text())[1]) / 1000) if status.is_file() else None


@pytest.mark.skipif(
    not (ROOT / "transcripts/counterfactual.parquet").is_file(), reason="no transcripts: run `make repro` first"
)
def test_all_printed_cells(benchmark):
    cells = benchmark.pedantic(made(), rounds=5, warmup_rounds=1)
    assert len(cells) == 2 * 7120
    with ProcessPoolExecutor(1, get_context("spawn")) as alone:
        benchmark.extra_info["peak_MB"] = alone.submit(peak).result(600)
