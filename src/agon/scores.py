"""Metrics by name: of any game, of families of games and of one's own packages; and their values by match and seat."""

from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from math import inf
from types import ModuleType
from typing import Any, NamedTuple

import pandas as pd

from agon.conf import current_names, find_families, suggest
from agon.errors import AgonError
from agon.games.base import modules
from agon.games.tables import seat_table
from agon.metrics.tallies import METRICS as OF_TESTED
from agon.metrics.tallies import OF_ASKING as ASKING_OF_TESTED
from agon.metrics.tallies import RANGES as RANGES_OF_TESTED
from agon.metrics.tallies import per_match as of_tested
from agon.registry import PACKAGES
from agon.turns import LATER, replaced, tidy

ANY = {
    "points": "points of the match",
    "points_per_round": "points of the match per round",
    "won": "whether no seat had more points (1 or 0)",
    "valid_share": "share of its turns that are valid",
    "tokens_of_match": "tokens sent and received; absent where an answer lacks them",
    "seconds_of_match": "time taken to answer; absent where an answer lacks it",
}
"""Metrics that any game has."""
OF_ASKING = {"valid_share", "tokens_of_match", "seconds_of_match"}
"""The metrics among ANY that say how asking went. They count matches without a readable answer, too.

A module has its own OF_ASKING."""
RANGES = dict.fromkeys(["won", "valid_share"], (0.0, 1.0))
"""Metric among ANY -> its least and most value. A module has its own RANGES."""
NEEDED = [
    *("experiment", "match", "game", "variant", "repetition", "round", "turn", "seat", "role", "agent", "model"),
    *("legal", "action", "ended", "asked", "valid", "fallback", "payoff", "tokens", "seconds"),
]
"""The columns of turns that metrics and comparisons need."""


class Metric(NamedTuple):
    """A metric and its facts."""

    name: str
    games: str
    """The games with this metric, in words."""
    gives: str
    """Its meaning, in a line."""
    of_asking: bool = False
    """Whether it says how asking went, and not what was played."""
    range: tuple[float, float] | None = None
    """Its least and its most value; None without bounds."""

    @property
    def widest(self) -> float:
        """The largest possible difference of two values."""
        return inf if self.range is None else self.range[1] - self.range[0]


def all_metrics() -> list[Metric]:
    """All metrics: those of any game, of games with seats under test, of families of games, and of one's own packages.

    A module offers metrics by METRICS (name -> its meaning, in a line) and `measured(turns, games, names, seats)`, which returns a row
    per match and seat (of `seats` at least) with the columns match, seat, and `names`. It may have OF_ASKING and RANGES, see there.
    Raises AgonError for a name of two metrics.
    """
    metrics = [Metric(name, "any", gives, name in OF_ASKING, RANGES.get(name)) for name, gives in ANY.items()]
    metrics += [
        Metric(name, "with seats under test", gives, name in ASKING_OF_TESTED, RANGES_OF_TESTED.get(name))
        for name, gives in OF_TESTED.items()
    ]
    for games, module in _modules():
        names = {metric.name: metric.games for metric in metrics}
        if doubles := [name for name in module.METRICS if name in names]:
            raise AgonError(
                f"{module.__name__} has a metric {doubles[0]!r}, and so have games: {names[doubles[0]]}; give yours another name"
            )
        asking, ranges = getattr(module, "OF_ASKING", ()), getattr(module, "RANGES", {})
        metrics += [
            Metric(name, games, gives, name in asking, ranges.get(name)) for name, gives in module.METRICS.items()
        ]
    return metrics


def _modules() -> Iterator[tuple[str, ModuleType]]:
    """(games, module) of each module with metrics."""
    find_families()
    yield from ((family, module) for family, module in modules("metrics").items() if _offers(module))
    for package in sorted(module for module in PACKAGES if not module.startswith("agon.")):
        spec = find_spec(package)
        inside = [f"{package}.metrics"] if spec and spec.submodule_search_locations else []  # a single module has none
        for name in [package, *inside] if spec else []:
            if find_spec(name) and _offers(module := import_module(name)):
                yield package, module


def _offers(module: ModuleType) -> bool:
    return hasattr(module, "METRICS") and hasattr(module, "measured")


def require_metrics(metrics: Sequence[str]) -> None:
    """Raises AgonError for a metric that does not exist."""
    names = [metric.name for metric in all_metrics()]
    if unknown := [name for name in metrics if name not in names]:
        raise AgonError(f"there is no metric {unknown[0]!r}: {_suggest_metric(unknown[0])}")


def _suggest_metric(name: str) -> str:
    """The nearest metric. If only some games have it, also the nearest one of any game that begins with the same letter."""
    games = {metric.name: metric.games for metric in all_metrics()}
    near = get_close_matches(name, games, 1)
    if near and near[0] not in ANY:
        near += get_close_matches(name, [key for key in ANY if key[0] == name[0]], 1, 0.5)
    if len(near) < 2:
        return suggest(name, [*games], "agon list metrics")
    return f"did you mean {' or '.join(f'{key} (games: {games[key]})' for key in near)}?"


def scores(
    turns: pd.DataFrame, games: pd.DataFrame, metrics: Sequence[str], seats: Sequence[int] | None = None
) -> pd.DataFrame:
    """One row per match and seat: match, seat, and each of `metrics`, NaN where a game does not have it.

    `games`: the games of the turns (agon.turns.read_games). `seats`: those that need values; None: all.
    Raises AgonError for a metric that does not exist, or that no match has.
    """
    require_metrics(metrics)
    table = measure(with_all(turns), games, metrics, seats)
    require_values(table, metrics)
    return table


def measure(
    turns: pd.DataFrame, games: pd.DataFrame, metrics: Sequence[str], seats: Sequence[int] | None = None
) -> pd.DataFrame:
    """The table of `scores`, of turns that `with_all` returned. A metric may be absent everywhere."""
    seat_rows = turns[["match", "seat"]].drop_duplicates().astype({"match": "str"})
    index = pd.MultiIndex.from_frame(seat_rows.sort_values(["match", "seat"]))
    table = pd.DataFrame(index=index)
    if of_any := [name for name in metrics if name in ANY]:
        table = _of_any(turns, of_any).reindex(index)
    if others := [name for name in metrics if name not in ANY]:
        for part in _measured(turns, games, others, sorted(turns.seat.unique()) if seats is None else seats):
            values = part.astype({"match": "str"}).set_index(["match", "seat"])
            table = table.combine_first(values[values.columns.intersection(others)]).reindex(index)
    return table.reindex(columns=metrics).astype(float).reset_index()


def games_with(metric: str, games: pd.DataFrame) -> set[tuple[str, str]]:
    """The (game, variant) of `games` that may have a metric, by its module; in some of them it can be absent all the same."""
    pairs = _pairs(games)
    if metric in ANY:
        return pairs
    if metric in OF_TESTED:
        return _pairs(games[games.tested.map(len) > 0])
    return {pair for module, own in _measuring(pairs, games) if metric in module.METRICS for pair in own}


def require_values(table: pd.DataFrame, metrics: Sequence[str]) -> None:
    """Raises AgonError for a metric that no row of a table has."""
    if absent := [name for name in metrics if table[name].isna().all()]:
        games = ", ".join(metric.games for metric in all_metrics() if metric.name == absent[0])
        raise AgonError(f"no match here has the metric {absent[0]}, which is for games: {games} (agon list metrics)")


def with_all(turns: pd.DataFrame) -> pd.DataFrame:
    """`turns`, tidy, with the present names of agents. Raises AgonError where a column of NEEDED is missing and is none of LATER."""
    if missing := [column for column in NEEDED if column not in turns and column not in LATER]:
        raise AgonError(f"turns have no column {missing[0]!r}, which metrics and comparisons take")
    return with_new_names(tidy(turns))


def with_new_names(turns: pd.DataFrame) -> pd.DataFrame:
    """`turns` with the agents' present names in conf/agent, so that old turns can be compared with new ones."""
    agents, new = turns.agent, current_names("agent")
    if not agents.isin([*new]).any():
        return turns
    names = agents.astype(object).map(lambda agent: new.get(agent, agent))
    return turns.assign(
        agent=names.astype("category" if isinstance(agents.dtype, pd.CategoricalDtype) else agents.dtype)
    )


def _of_any(turns: pd.DataFrame, names: Collection[str]) -> pd.DataFrame:
    """The metrics of ANY with these names, by match and seat. A match with a replaced action has no points."""
    columns = {"total": turns.payoff, "valid": turns.valid, "asked": turns.asked, "replaced": replaced(turns)}
    for name in [name for name in ("tokens", "seconds") if f"{name}_of_match" in names]:
        values = turns[name].astype(float)
        columns |= {name: values.where(turns.asked), f"no_{name}": turns.asked & values.isna()}
    by_seat = pd.DataFrame(columns).groupby([turns["match"], turns.seat], observed=True, sort=False)
    sums, size = _by_text_ids(by_seat.sum()), _by_text_ids(by_seat.size())
    sums_of_match = sums.groupby("match", sort=False)
    values = {"valid_share": (sums.valid / size).where(sums.asked > 0)}
    for name in sums.columns.intersection(["tokens", "seconds"]):
        values[f"{name}_of_match"] = sums[name].where((sums.asked > 0) & (sums[f"no_{name}"] == 0))
    is_own_play = sums_of_match.replaced.transform("max") == 0
    values["points"] = sums.total.where(is_own_play)
    values["won"] = sums.total.eq(sums_of_match.total.transform("max")).astype(float).where(is_own_play)
    if "points_per_round" in names:
        rounds = _by_text_ids(turns.groupby("match", observed=True)["round"].nunique())
        values["points_per_round"] = values["points"].div(rounds, level="match")
    return pd.DataFrame({name: values[name] for name in names})


def _by_text_ids(table: Any) -> Any:
    """A table by match, and perhaps seat, with the matches' ids as texts in its index."""
    match = table.index.get_level_values("match").astype("str")
    seat = [table.index.get_level_values("seat")] if table.index.nlevels > 1 else []
    return table.set_axis(pd.MultiIndex.from_arrays([match, *seat], names=["match", "seat"]) if seat else match)


def _measured(
    turns: pd.DataFrame, games: pd.DataFrame, names: Sequence[str], seats: Sequence[int]
) -> Iterator[pd.DataFrame]:
    """Tables of match, seat and metrics, from every module with one of `names` for any of the games."""
    pairs = _pairs(turns)
    for module, own_pairs in _measuring(pairs, games):
        if own_pairs and not module.METRICS.keys().isdisjoint(names):
            yield module.measured(_of_games(turns, own_pairs), _of_games(games, own_pairs), names, seats)
    tested = _pairs(games[games.tested.map(len) > 0]) & pairs
    if tested and not OF_TESTED.keys().isdisjoint(names):
        rows = _of_games(turns, tested)
        seat_rows = rows[["match", "seat"]].drop_duplicates().astype({"match": "str"})
        yield seat_rows.merge(of_tested(rows, seat_table(_of_games(games, tested))), on="match")


def _measuring(
    pairs: Collection[tuple[str, str]], games: pd.DataFrame
) -> Iterator[tuple[ModuleType, list[tuple[str, str]]]]:
    """(module, its games and variants) of each module with metrics: those of its family, or all for other packages."""
    folders = {*modules("metrics"), *(folder.name for folder in find_families())}
    measuring = list(_modules())
    able = folders & {name for name, _ in measuring}
    nearest = {
        (row.game, row.variant): next((family for family in row.families if family in able), "")
        for row in games.itertuples(index=False)
    }
    for name, module in measuring:
        own_pairs = [pair for pair in sorted(pairs) if nearest.get(pair, pair[0]) == name]
        yield module, own_pairs if name in folders else sorted(pairs)


def _pairs(table: pd.DataFrame) -> set[tuple[str, str]]:
    """The different (game, variant) of a table."""
    return set(table[["game", "variant"]].drop_duplicates().astype(str).itertuples(index=False, name=None))


def _of_games(turns: pd.DataFrame, pairs: Collection[tuple[str, str]]) -> pd.DataFrame:
    """The rows of these games and variants."""
    if _pairs(turns) <= set(pairs):
        return turns
    return turns[pd.MultiIndex.from_frame(turns[["game", "variant"]].astype(str)).isin(list(pairs))]
