"""How time and memory grow with the amount of work: `python benchmarks/growth.py [largest] [work]` writes benchmarks/growth.csv.

With a `work`, such as "players rated", the rows of all other work stay as they are.

Each row is a process of its own: seconds of CPU without imports, and the largest memory with them. Linear algebra has one thread, because
several only wait for each other at small tables. After LIMIT seconds the process is stopped, and larger amounts of its kind are not tried.
`load`: how many processes wanted a processor, on average, in the last minute of the work. The notebook `growth` draws the table.
"""

import asyncio
import csv
import json
import os
import platform
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from datetime import date
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd

ROUNDS, AT_ONCE, MEETINGS, CELL = 16, 100, 10, 5
"""Rounds of a match, exchanges in flight, opponents that each rated player meets, and matches in a cell that is redrawn."""
LIMIT = 200
COLUMNS = "work", "tool", "amount", "seconds", "peak_mb", "note", "machine", "load", "measured"
PAYS = np.array([[[4, 4], [1, 6]], [[6, 1], [2, 2]]])


def play_agon(matches: int, folder: Path) -> None:
    from agon.games.tables import games_table
    from agon.plan import plan
    from agon.play import play
    from agon.turns import write, write_games

    seats = [["tit_for_tat", "grim"], ["uniform"]]
    pairing = {"games": ["pd"], "models": [], "seats": seats}
    planned = plan({"name": "growth", "repetitions": matches // 2, "pairings": [pairing]})
    write(play(planned, folder / f"journal-{matches}"), folder / f"{matches}.parquet")
    games = {id(match.game): match for match in planned}.values()
    table = games_table([match.game for match in games], [match.settings for match in games])
    write_games(table, folder / f"{matches}.parquet")


def play_axelrod(matches: int, _: Path) -> list[object]:
    import axelrod

    return [axelrod.Match((axelrod.TitForTat(), axelrod.Random()), turns=ROUNDS).play() for _ in range(matches)]


def play_pettingzoo(matches: int, _: Path) -> list[object]:
    rps = import_module("pettingzoo.classic.rps_v2")
    env, kept, dice = rps.env(max_cycles=ROUNDS), list[object](), np.random.default_rng(0)
    for _ in range(matches):
        env.reset()
        for agent in env.agent_iter():
            *_, ended, cut, _ = env.last()
            action = None if ended or cut else int(dice.integers(3))
            env.step(action)
            kept.append((agent, action, env.rewards.get(agent)))
    return kept


def play_numpy(matches: int, _: Path) -> object:
    moves = np.random.default_rng(0).integers(0, 2, (matches, ROUNDS, 2), dtype=np.int8)
    return moves, PAYS[moves[..., 0], moves[..., 1]]


def compare_agon(matches: int, folder: Path) -> None:
    from agon.turns import read_games, read_parts
    from agon_design.compare import compare_seats, question, seats_for
    from agon_design.units import columns_to_read

    path, asked = folder / f"{matches}.parquet", question("points", "agent:tit_for_tat,grim")
    games = read_games(path)
    compare_seats(seats_for(asked, read_parts(path, columns_to_read(["points"], ["agent"])), games), games, asked)


def compare_pandas(matches: int, folder: Path) -> object:
    from scipy.stats import ttest_ind

    turns = pd.read_parquet(folder / f"{matches}.parquet", columns=["match", "seat", "agent", "payoff"])
    points = turns.groupby(["match", "seat", "agent"], observed=True).payoff.sum().reset_index("agent")
    return ttest_ind(*(points.payoff[points.agent == agent] for agent in ("tit_for_tat", "grim")), equal_var=False)


def record_agon(exchanges: int, folder: Path) -> None:
    from agon.models import message
    from agon.models.recording import Exchange, Recording, Writer

    async def add_all(writer: Writer) -> None:
        for start in range(0, exchanges, AT_ONCE):
            await asyncio.gather(*(add(writer, number) for number in range(start, min(start + AT_ONCE, exchanges))))

    async def add(writer: Writer, number: int) -> None:
        asked = message("user", f"Match {number}: what do you do?")
        key, sample = f"{number:032x}", f"{number // ROUNDS}/0/{number % ROUNDS}"
        await writer.add(Exchange(key, "m", {}, asked.id, sample, "[move] cooperation", tokens_in=9), (asked,))

    writer = Writer(Recording(folder / f"recording-{exchanges}"), folder / "lock")
    asyncio.run(add_all(writer))
    writer.close()
    assert len(Recording(folder / f"recording-{exchanges}")) == exchanges


def record_json(exchanges: int, folder: Path) -> object:
    path = folder / f"plain-{exchanges}.jsonl"
    with path.open("w") as stream:
        for number in range(exchanges):
            line = {"key": f"{number:032x}", "asked": f"Match {number}: what do you do?", "text": "[move] cooperation"}
            stream.write(json.dumps(line) + "\n")
            if number % AT_ONCE == 0:
                stream.flush()
                os.fsync(stream.fileno())
    with path.open() as stream:
        return {line["key"]: line for line in map(json.loads, stream)}


def duels(players: int) -> tuple[np.ndarray, np.ndarray]:
    """Winners and losers: every player meets MEETINGS others, the next ones in a circle."""
    first = np.repeat(np.arange(players), MEETINGS)
    second = (first + np.tile(np.arange(1, MEETINGS + 1), players)) % players
    dice, strength = np.random.default_rng(0), np.random.default_rng(1).normal(0, 0.5, players)
    won = dice.random(len(first)) < 1 / (1 + np.exp(strength[second] - strength[first]))
    apart = first != second
    return np.where(won, first, second)[apart], np.where(won, second, first)[apart]


def rate_agon(players: int, _: Path) -> object:
    from agon_design.strengths import strengths

    pairs = np.stack(duels(players), axis=1)
    match, score = np.repeat(np.arange(len(pairs)), 2), np.tile([1.0, 0.0], len(pairs))
    return strengths(pd.DataFrame({"match": match, "player": pairs.ravel().astype(str), "score": score}))


def rate_choix(players: int, _: Path) -> object:
    return import_module("choix").ilsr_pairwise(players, [*zip(*duels(players), strict=True)], alpha=0.01)


def redraw_agon(matches: int, _: Path) -> object:
    from agon.metrics.record_sets import within_cells

    cells = np.arange(matches) // CELL
    return within_cells(cells, 0) @ np.random.default_rng(0).normal(size=matches) / matches


def redraw_scipy(matches: int, _: Path) -> object:
    from scipy.stats import bootstrap

    from agon.metrics.record_sets import BLOCK

    values = np.random.default_rng(0).normal(size=(matches // CELL, CELL))
    return bootstrap((values,), np.mean, axis=1, n_resamples=BLOCK, batch=1, method="percentile")


Work = Callable[[int, Path], object]
WORKS: dict[str, tuple[range, dict[str, Work]]] = {
    "matches played": (
        range(3, 7),
        {"agon": play_agon, "Axelrod": play_axelrod, "PettingZoo": play_pettingzoo, "numpy": play_numpy},
    ),
    "matches compared": (range(3, 7), {"agon": compare_agon, "pandas": compare_pandas}),
    "exchanges recorded and read": (range(3, 7), {"agon": record_agon, "json": record_json}),
    "players rated": (range(1, 5), {"agon": rate_agon, "choix": rate_choix}),
    "matches redrawn 120 times": (range(3, 7), {"agon": redraw_agon, "scipy": redraw_scipy}),
}
"""Work -> powers of ten, and the tools that do it. agon's own work comes first, as others read its files."""


def child(work: str, tool: str, amount: int, folder: Path) -> dict[str, object]:
    """Seconds and memory of one piece of work, measured in a process of its own, whose linear algebra has one thread."""
    command = [sys.executable, __file__, work, tool, str(amount), str(folder)]
    one_thread = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    done = subprocess.run(command, capture_output=True, text=True, timeout=100 * LIMIT, env=one_thread)
    if done.returncode == 0:
        return dict(json.loads(done.stdout.splitlines()[-1]))
    if done.returncode == -signal.SIGXCPU:
        return {"note": f"stopped after {LIMIT} s"}
    reason = (done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1]
    absent = reason.startswith("ModuleNotFoundError")
    return {"note": "not installed: " + reason.split("'")[1] if absent else reason}


def measure(work: str, tool: str, amount: int, folder: Path) -> None:
    """Does one piece of work and prints what it took. The smallest amount goes before, which imports what is needed."""
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT + 1))
    powers, tools = WORKS[work]
    run = tools[tool]
    with tempfile.TemporaryDirectory() as empty:
        run(10 ** powers[0], folder if work == "matches compared" else Path(empty))
    start = time.process_time()
    run(amount, folder)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"seconds": round(time.process_time() - start, 3), "peak_mb": round(most / 1024)}))


def rows(largest: int, works: Collection[str]) -> Iterator[dict[str, object]]:
    """The rows of the table for some `works`, each as soon as it is measured."""
    model = next((line for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line), "")
    name = model.partition(": ")[2] or platform.machine()
    machine = f"{name}, {os.cpu_count()} cores, Python {platform.python_version()}"
    with tempfile.TemporaryDirectory() as folder:
        for work in works:
            powers, tools = WORKS[work]
            for tool in tools:
                for amount in [10**power for power in powers if 10**power <= largest]:
                    found = child(work, tool, amount, Path(folder)) | {"load": round(os.getloadavg()[0])}
                    about = {"work": work, "tool": tool, "amount": amount, "machine": machine}
                    yield dict.fromkeys(COLUMNS, "") | about | {"measured": date.today().isoformat()} | found
                    if "note" in found:
                        break


def main(largest: int, *only: str) -> None:
    path = Path(__file__).with_suffix(".csv")
    works = [work for work in WORKS if not only or work in only]
    kept = [row for row in csv.DictReader(path.open(newline="")) if row["work"] not in works] if path.exists() else []
    measured = list[dict[str, object]]()
    for row in rows(largest, works):
        measured.append(row)
        with path.open("w", newline="") as stream:
            table = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
            table.writeheader()
            table.writerows(sorted([*kept, *measured], key=lambda each: [*WORKS].index(str(each["work"]))))
        print(*[row[name] for name in COLUMNS[:6]], flush=True)


if __name__ == "__main__":
    if len(sys.argv) == 5:
        measure(sys.argv[1], sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]))
    else:
        main(int(sys.argv[1]) if sys.argv[1:] else 10**6, *sys.argv[2:3])
