"""Time per game of exact equilibria: `pytest benchmarks/bench_equilibria.py --benchmark-only`."""

from itertools import cycle
from random import Random

import pytest

from agon.games.equilibria import equilibria, symmetric_equilibrium
from agon.games.matrix import MatrixGame


def games(size, top):
    """A hundred random games, payoffs from 0 to `top`: few values make degenerate games."""
    dice = Random(size)
    tables = [[[[dice.randint(0, top) for _ in "ab"] for _ in range(size)] for _ in range(size)] for _ in range(100)]
    return [MatrixGame("random", str(i), tuple("abcde"[:size]), table, 1) for i, table in enumerate(tables)]


@pytest.mark.parametrize("top", [2, 99])
@pytest.mark.parametrize("size", [2, 3, 4])
def test_equilibria(benchmark, size, top):
    after = cycle(games(size, top))
    benchmark.pedantic(lambda game: equilibria(game), setup=lambda: ((next(after),), {}), rounds=300)


def test_symmetric_equilibrium_of_a_game_seen_before(benchmark):
    game = MatrixGame("pd", "default", ("c", "d"), [[[4, 4], [1, 6]], [[6, 1], [2, 2]]], 16)
    assert benchmark(symmetric_equilibrium, game) == (0, 1)
