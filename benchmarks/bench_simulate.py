"""Matches per second of the simulator, 16 rounds each: `pytest benchmarks/bench_simulate.py --benchmark-only`."""

import numpy as np
import pytest

from agon.games.matrix import MatrixGame
from agon.games.matrix.simulate import Policy, best_reply_to_last, memory_one, mixed, simulate, tit_for_tat

MATCHES = 200_000
PD = MatrixGame("pd", "default", ("c", "d"), [[[4, 4], [1, 6]], [[6, 1], [2, 2]]], 16)
RPS = MatrixGame(
    "rps",
    "default",
    ("r", "p", "s"),
    [[[0, 0], [-1, 1], [1, -1]], [[1, -1], [0, 0], [-1, 1]], [[-1, 1], [1, -1], [0, 0]]],
    16,
)
REACTIVE = memory_one(0.5, (0.9, 0.1, 0.6, 0.2))
DIRICHLET = Policy(*(np.random.default_rng(0).dirichlet([1] * 3, size) for size in (None, (3, 3))))

PAIRS = {
    "2 options, mixed against mixed": (PD, mixed([0.3, 0.7]), mixed([0.5, 0.5])),
    "2 options, memory one against memory one": (PD, REACTIVE, REACTIVE),
    "2 options, tit for tat against memory one": (PD, tit_for_tat(), REACTIVE),
    "3 options, mixed against mixed": (RPS, mixed([0.2, 0.2, 0.6]), mixed([0.2, 0.2, 0.6])),
    "3 options, memory one against memory one": (RPS, DIRICHLET, DIRICHLET),
    "3 options, best reply to last against mixed": (RPS, best_reply_to_last(RPS), mixed([0.2, 0.2, 0.6])),
}


@pytest.mark.parametrize("pair", PAIRS)
def test_simulate(benchmark, pair):
    game, *policies = PAIRS[pair]
    rng = np.random.default_rng(0)
    found = benchmark.pedantic(simulate, (game, tuple(policies), MATCHES, rng), rounds=9, warmup_rounds=1)
    assert found.actions.shape == (MATCHES, 16, 2)
    if benchmark.stats:
        benchmark.extra_info["million matches per second"] = MATCHES / benchmark.stats.stats.median / 1e6
