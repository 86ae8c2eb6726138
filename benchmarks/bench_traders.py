"""1,000 scripted matches of TradeCraft into turns, out of those of `tradecraft_scripted`: `make bench`.

Every ruleset and number of players has its share; the planner's memory is empty at first, as in a new process.
"""

from agon.conf import configuration
from agon.games.tradecraft.planner import search as planner
from agon.games.tradecraft.planner import trading
from agon.plan import plan
from agon.play import play_now, turns_table

MATCHES = 1000


def test_1_000_scripted_matches(benchmark):
    every = plan(configuration(["experiment=tradecraft_scripted"])["experiment"])
    chosen = [every[number * len(every) // MATCHES] for number in range(MATCHES)]

    def work():
        for kept in (planner._plan, trading._needs):
            kept.cache_clear()
        return turns_table([(match, play_now(match)) for match in chosen])

    made = benchmark.pedantic(work, rounds=1, warmup_rounds=0)
    assert made.match.nunique() == MATCHES and made.valid.all() and benchmark.stats.stats.median < 60
