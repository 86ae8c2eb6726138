"""MAgIC's games between scripts, into turns: a challenger's 143 games, and 10,000 games of Chameleon.

Run with `make bench`. Limits are those that the project promises on a slow machine: 2 s and 20 s.
"""

import gc
from dataclasses import replace
from itertools import cycle, islice

import pytest

from agon.agents.scripts import reference
from agon.conf import expand_settings, load
from agon.plan import Match, Seat
from agon.play import play_now, turns_table

GAMES = ("chameleon", "undercover", "cost_sharing", "prisoner3", "public_goods")


def games(name):
    return [load("game", each) for each in expand_settings([name])]


def turns(played, count):
    """The turns of `count` matches of reference references, all of `played` in turn."""
    seats = (Seat("magic_fair", reference),) * 3
    chosen = enumerate(islice(cycle(played), count))
    matches = [Match("bench", f"{number:016x}", number, game, seats, 0, "bench") for number, game in chosen]
    gc.disable()
    try:
        return turns_table([(match, play_now(match)) for match in matches])
    finally:
        gc.enable()


def test_the_143_games_of_a_challenger(benchmark):
    every = [game for name in GAMES for game in games(name)]
    made = benchmark.pedantic(lambda: turns(every, len(every)), rounds=5, warmup_rounds=1)
    assert made.match.nunique() == 143
    if benchmark.stats:
        assert benchmark.stats.stats.median < 2


@pytest.mark.parametrize("interviews", [True, False])
def test_10_000_games_of_chameleon(benchmark, interviews):
    every = [replace(game, interviews=interviews) for game in games("chameleon")]
    made = benchmark.pedantic(lambda: turns(every, 10_000), rounds=2, warmup_rounds=0)
    benchmark.extra_info["games_per_second"] = round(10_000 / benchmark.stats.stats.median)
    assert made.match.nunique() == 10_000 and benchmark.stats.stats.median < 20
