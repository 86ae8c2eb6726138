"""All 7,120 printed cells from the turns. extra_info: seconds and the most memory the process has held."""

import resource

import pandas as pd
import pytest

from agon import ROOT
from agon.metrics import per_match
from agon.plan import games
from agon.records import read
from agon.replication import counterfactual
from agon.rules import payoff_table

COLUMNS = ["experiment", "match", "game", "variant", "repetition", "round", "turn", "seat", "agent", "model", "action"]


@pytest.mark.skipif(
    not (ROOT / "transcripts/counterfactual.parquet").is_file(), reason="no transcripts: run `make repro` first"
)
def test_all_printed_cells(benchmark):
    turns = read("transcripts/counterfactual.parquet", [*COLUMNS, "valid", "payoff", "tokens"])
    published = pd.read_csv(ROOT / "data/published/counterfactual/tables.csv", dtype={"mean": str, "std": str})
    payoffs = payoff_table(games())

    def work():
        found = counterfactual.statistics(per_match(turns, payoffs), "reconciled")
        variants = counterfactual.true_variants(counterfactual.agreement(found, published), published)
        return counterfactual.cells(found, published, "reconciled", variants)

    cells = benchmark.pedantic(work, rounds=5, warmup_rounds=1)
    assert len(cells) == 2 * 7120
    benchmark.extra_info["peak_MB"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000)
