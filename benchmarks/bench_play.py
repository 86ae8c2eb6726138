"""Recorded matches per second through the ordinary engine and turns, beside peers in the same run.

Run with `make bench`. Every test plays 16 rounds of the prisoner's dilemma between two scripts and keeps every move;
ours ends in the turns table. extra_info holds matches per second; compare within one run, machines are noisy.
"""

import gc
import time

import pytest

from agon.conf import games
from agon.games.matrix import scripts as scripted
from agon.plan import Match, Seat
from agon.play import play_at_once, play_now, turns_table

PAIRS = {
    "tit_for_tat, always_unkind": (scripted.tit_for_tat, lambda view, dice: view.legal.options[1]),
    "grim, win_stay_lose_shift": (scripted.grim, scripted.win_stay_lose_shift),
    "uniform, uniform": (scripted.random_mix, scripted.random_mix),
}
MATCHES = 2000


@pytest.fixture(scope="module")
def pd_game():
    return next(game for game in games() if (game.name, game.variant) == ("pd", "default"))


def rate(benchmark, work, matches: int = MATCHES) -> None:
    gc.collect()
    benchmark.pedantic(work, rounds=7, warmup_rounds=1)
    if benchmark.stats:
        benchmark.extra_info["matches_per_second"] = round(matches / benchmark.stats.stats.median)


def together(matches):
    played = []
    play_at_once(matches, {}, lambda *pair: played.append(pair))
    return played


WAYS = {"alone": lambda matches: [(match, play_now(match)) for match in matches], "repetitions": together}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("pair", PAIRS)
def test_agon_into_turns(benchmark, pd_game, pair, way):
    seats = tuple(Seat(f"player_{place}", player) for place, player in enumerate(PAIRS[pair]))
    matches = [Match("bench", f"{number:016x}", number, pd_game, seats, number, "bench") for number in range(MATCHES)]

    def work():
        gc.disable()
        try:
            turns = turns_table(WAYS[way](matches))
        finally:
            gc.enable()
        assert len(turns) == MATCHES * 32

    rate(benchmark, work)


def test_axelrod(benchmark):
    axelrod = pytest.importorskip("axelrod")

    def work():
        for _ in range(200):
            axelrod.Match((axelrod.TitForTat(), axelrod.Defector()), turns=16).play()

    rate(benchmark, work, 200)


def test_textarena(benchmark):
    textarena = pytest.importorskip("textarena", reason="textarena is not installed: pip install textarena to compare")

    def work():
        for _ in range(20):
            env = textarena.make("IteratedPrisonersDilemma-v0")
            env.reset(num_players=2)
            done = False
            while not done:
                env.get_observation()
                done, _ = env.step("[Cooperate]")

    rate(benchmark, work, 20)


def test_plain_python(benchmark):
    pays = {("C", "C"): (4, 4), ("C", "D"): (1, 6), ("D", "C"): (6, 1), ("D", "D"): (2, 2)}

    def work():
        for _ in range(MATCHES):
            mine, record = "C", []
            for _ in range(16):
                record.append((mine, "D", *pays[mine, "D"]))
                mine = "D"

    rate(benchmark, work)


def test_an_await_would_cost(benchmark):
    import asyncio

    async def nothing():
        return None

    async def many():
        start = time.perf_counter()
        await asyncio.gather(*(nothing() for _ in range(32 * 100)))
        return time.perf_counter() - start

    rate(benchmark, lambda: asyncio.run(many()), 100)
