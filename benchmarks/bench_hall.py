"""The browser's server under load: `pytest benchmarks/bench_hall.py --benchmark-only`, on a machine that does nothing else.

Wanted of 100 tables with 200 people on 2 cores: 95 % of actions seen by the others within 0.3 s, none lost, less than 400 MB.
AGON_MINUTES=30 plays for so long, not for one minute.
"""

import asyncio
import os

import pytest
from hall_clients import measured

MINUTES = float(os.environ.get("AGON_MINUTES", 1))


@pytest.mark.parametrize("tables", [20, 100])
def test_people_see_what_others_do(benchmark, tmp_path, tables):
    run = lambda: asyncio.run(measured(tmp_path, MINUTES, tables))  # noqa: E731
    found = benchmark.pedantic(run, rounds=1)
    benchmark.extra_info.update(found)
    assert found["lost or other"] == found["doubled"] == 0
    assert found["told, seconds"]["p95"] < 0.3
    assert max(found["MB"]) < 400
