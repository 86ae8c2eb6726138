"""How fast recorded games become turns: MB of uncompressed JSON per second, the turns table included.

`pytest benchmarks/bench_ingest.py`; the recorded sample is used where it is (AGON_RAW_SAMPLE), made-up games elsewhere.
"""

import json
import os
import tarfile
from pathlib import Path

import pytest
import zstandard

from agon import ROOT
from agon.conf import configuration
from agon.conf import games as games_of
from agon_papers.ingest import ingest

SAMPLE = Path(os.environ.get("AGON_RAW_SAMPLE", ROOT / "../shared/published/counterfactual/raw_sample.tar.zst"))
WORDS = "the other side has been kind so far, and kindness pays as long as it is returned; " * 20


@pytest.fixture(scope="module")
def variants():
    return games_of(configuration()["recorded"]["counterfactual"])


def made_up(place: Path) -> None:
    """300 games of about 100 kB in which both cooperate."""
    record = {
        "game_settings": {"a": "cooperation", "aa": 4, "ab": 1, "b": "defection", "ba": 6, "bb": 2},
        "valid_outcomes": [True] * 16,
    }
    messages = [
        {"role": role, "content": [{"text": text}]}
        for role, text in [("user", "Go on. You scored 4 points."), ("assistant", f"{WORDS}\n\ncooperation\n")] * 16
    ]
    for seat in (0, 1):
        values = {"player_type": "zs", "temperature": 1.0, "max_tokens": 4096, "context": [*messages, messages[0]][1:]}
        values |= {"moves": ["cooperation"] * 16, "points": [4] * 16, "tokens": [900] * 16}
        record |= {f"player_{seat}_{name}": value for name, value in values.items()}
    for number in range(300):
        path = place / f"logs/logs_3/data/iteration_{number}/Somebody/pd/pd/pd_zs_zs/game.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(record))


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """A folder of games in their original layout, and its size in MB."""
    place = tmp_path_factory.mktemp("recorded")
    if SAMPLE.exists():
        with (
            SAMPLE.open("rb") as packed,
            tarfile.open(fileobj=zstandard.ZstdDecompressor().stream_reader(packed), mode="r|") as members,
        ):
            members.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.0 to 3.11.3 have none
            members.extractall(place)
    else:
        made_up(place)
    return place, sum(file.stat().st_size for file in place.rglob("game.json")) / 1e6


def test_original_layout(originals, variants, benchmark):
    place, megabytes = originals
    ingested = benchmark.pedantic(ingest, ("counterfactual", place, variants), rounds=12, iterations=1, warmup_rounds=1)
    assert ingested.bad == []
    benchmark.extra_info["MB"] = round(megabytes, 1)
    benchmark.extra_info["MB_per_s"] = round(megabytes / benchmark.stats.stats.median)


def test_facts(variants, benchmark):
    folder = ROOT / "data/published/counterfactual"
    if not (folder / "rounds.parquet").exists():
        pytest.skip("no published facts here: `dvc pull` brings data/published/counterfactual")
    ingested = benchmark.pedantic(ingest, ("counterfactual", folder, variants), rounds=5, iterations=1)
    benchmark.extra_info["rows_per_s"] = round(len(ingested.turns) / benchmark.stats.stats.min)
