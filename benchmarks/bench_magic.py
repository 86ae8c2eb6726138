"""MAgIC's games between scripts, into turns: a challenger's 143 games, and 10,000 games of Chameleon.

Run with `make bench`. Limits are those that the project promises on a slow machine: 2 s and 20 s.
"""

import gc
from itertools import cycle, islice

import pytest

from agon.agents.scripts import reference
from agon.games.chameleon.game import Chameleon
from agon.games.cost_sharing.game import CostSharing
from agon.games.prisoner3.game import prisoner3
from agon.games.public_goods.game import PublicGoods
from agon.games.settings import variants
from agon.games.undercover.game import Undercover
from agon.plan import Match, Seat
from agon.play import play_now, table

BUILT = {
    "chameleon": Chameleon,
    "undercover": Undercover,
    "cost_sharing": CostSharing,
    "prisoner3": prisoner3,
    "public_goods": PublicGoods,
}


def games(name, **changes):
    made = variants({"name": name, "settings": f"data/settings/magic/{name}"})
    return [BUILT[name](**fields, **changes) for fields in made.values()]


def turns(played, count):
    """The turns of `count` matches of reference references, all of `played` in turn."""
    seats = (Seat("magic_fair", reference),) * 3
    chosen = enumerate(islice(cycle(played), count))
    matches = [Match("bench", f"{number:016x}", number, game, seats, 0, "bench") for number, game in chosen]
    gc.disable()
    try:
        return table([(match, play_now(match)) for match in matches])
    finally:
        gc.enable()


def test_the_143_games_of_a_challenger(benchmark):
    every = [game for name in BUILT for game in games(name)]
    made = benchmark.pedantic(lambda: turns(every, len(every)), rounds=5, warmup_rounds=1)
    assert made.match.nunique() == 143 and benchmark.stats.stats.median < 2


@pytest.mark.parametrize("interviews", [True, False])
def test_10_000_games_of_chameleon(benchmark, interviews):
    every = games("chameleon", interviews=interviews)
    made = benchmark.pedantic(lambda: turns(every, 10_000), rounds=2, warmup_rounds=0)
    benchmark.extra_info["games_per_second"] = round(10_000 / benchmark.stats.stats.median)
    assert made.match.nunique() == 10_000 and benchmark.stats.stats.median < 20
