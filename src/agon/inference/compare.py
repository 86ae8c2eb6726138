"""Metrics by their names, and conditions compared by them: does chain of thought change cooperation, by how much, and is it enough?"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.util import find_spec
from itertools import combinations, groupby
from math import inf, isclose, nan
from operator import itemgetter
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from agon import PACKAGES, ROOT, AgonError, count
from agon.conf import find_families, names, offered, settings_of
from agon.games.base import family_module, modules
from agon.games.tables import seat_table
from agon.inference.prereg import Exclusion, Hypothesis, checked, exclusions, hypotheses, registrations
from agon.metrics.differences import Cells, Difference, alone, difference
from agon.metrics.exact import holm
from agon.metrics.power import needed
from agon.metrics.strengths import Strengths, strengths
from agon.metrics.tallies import METRICS as OF_TESTED
from agon.metrics.tallies import OF_ASKING as ASKING_OF_TESTED
from agon.metrics.tallies import RANGES as RANGES_OF_TESTED
from agon.metrics.tallies import per_match as of_tested
from agon.replay import called, offering
from agon.turns import PARTIAL, matches, partial, replaced, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
"""Of these, those that say how asking went, not what was played: they count matches in which nothing could be read, too.

A module names its own as OF_ASKING."""
RANGES = dict.fromkeys(["won", "valid_share"], (0.0, 1.0))
"""Of these, those that have a least and a most value. A module names its own as RANGES."""

USUAL = ["match", "game", "variant", "seat", "role", "agent", "model"]
"""What turns say of a seat of a match."""

KEYS, CELL = (
    ["metric", "first", "second"],
    ["n_first", "n_second", "first_mean", "second_mean", "difference", "low", "high"],
)
OF_SEAT = ["game", "variant", "seat", "role", "agent", "model", "opponent", "opponent_model"]
"""What tells a seat's matches apart; conditions are compared within it."""


NEEDED = [
    *("experiment", "match", "game", "variant", "repetition", "round", "turn", "seat", "role", "agent", "model"),
    *("legal", "action", "valid", "fallback", "payoff", "tokens", "seconds"),
]
"""The columns of turns that metrics and comparisons take."""


class Known(NamedTuple):
    """A metric that can be asked for by its name."""

    name: str
    games: str
    """Which have it."""
    gives: str
    of_asking: bool = False
    """Whether it says how asking went, not what was played."""
    range: tuple[float, float] | None = None
    """Its least and its most value, where it has such."""

    @property
    def widest(self) -> float:
        """The largest difference that there can be."""
        return inf if self.range is None else self.range[1] - self.range[0]


def known() -> list[Known]:
    """All metrics: those of any game, of games with seats under test, of families of games, and of one's own packages.

    A module offers metrics by METRICS (name -> what it is, in a line) and `measured(turns, games, names, seats)`, which gives a row per
    match and seat (those of `seats` at least) with the columns match, seat, and `names`. OF_ASKING, where it has one, names those
    that say how asking went; RANGES (name -> least and most value) those that have bounds.
    Raises AgonError for a name that two of them have.
    """
    found = [Known(name, "any", gives, name in OF_ASKING, RANGES.get(name)) for name, gives in ANY.items()]
    found += [
        Known(name, "with seats under test", gives, name in ASKING_OF_TESTED, RANGES_OF_TESTED.get(name))
        for name, gives in OF_TESTED.items()
    ]
    for games, module in _modules():
        names = {each.name: each.games for each in found}
        if taken := [name for name in module.METRICS if name in names]:
            raise AgonError(
                f"{module.__name__} has a metric {taken[0]!r}, and so have games: {names[taken[0]]}; give yours another name"
            )
        asking, ranges = getattr(module, "OF_ASKING", ()), getattr(module, "RANGES", {})
        found += [Known(name, games, gives, name in asking, ranges.get(name)) for name, gives in module.METRICS.items()]
    return found


def _modules() -> Iterator[tuple[str, ModuleType]]:
    """For which games, and the module that measures them."""
    find_families()
    yield from ((family, each) for family, each in modules("metrics").items() if _offers(each))
    for package in sorted(each for each in PACKAGES if not each.startswith("agon.")):
        spec = find_spec(package)
        inside = [f"{package}.metrics"] if spec and spec.submodule_search_locations else []  # a single module has none
        for name in [package, *inside] if spec else []:
            if find_spec(name) and _offers(module := import_module(name)):
                yield package, module


def _offers(module: ModuleType) -> bool:
    return hasattr(module, "METRICS") and hasattr(module, "measured")


def scores(turns: pd.DataFrame, metrics: Sequence[str], seats: Sequence[int] | None = None) -> pd.DataFrame:
    """One row per match and seat: match, seat, and each of `metrics`, absent where a game does not have it.

    `seats`: which are needed; none: all.
    Raises AgonError for a metric that is not known, or that no match has.
    """
    names = [each.name for each in known()]
    if unknown := [each for each in metrics if each not in names]:
        raise AgonError(f"there is no metric {unknown[0]!r}: {offered(unknown[0], names, 'agon list metrics')}")
    turns = _with_all(turns)
    each = turns[["match", "seat"]].drop_duplicates().astype({"match": "str"})
    found = pd.DataFrame(index=pd.MultiIndex.from_frame(each.sort_values(["match", "seat"])))
    if not ANY.keys().isdisjoint(metrics):
        found = _of_any(turns).reindex(found.index, columns=metrics).dropna(axis=1, how="all")
    if wanted := [name for name in metrics if name not in ANY]:
        for part in _measured(turns, wanted, sorted(turns.seat.unique()) if seats is None else seats):
            own = part.astype({"match": "str"}).set_index(["match", "seat"])
            found = found.combine_first(own[own.columns.intersection(wanted)]).reindex(found.index)
    if gone := [name for name in metrics if name not in found or found[name].isna().all()]:
        games = ", ".join(each.games for each in known() if each.name == gone[0])
        raise AgonError(f"no match here has the metric {gone[0]}, which is for games: {games} (agon list metrics)")
    return found[list(metrics)].astype(float).reset_index()


def _with_all(turns: pd.DataFrame) -> pd.DataFrame:
    """`turns`, tidy. Raises AgonError where a column is missing that any metric takes."""
    if missing := [each for each in NEEDED if each not in turns]:
        raise AgonError(f"turns have no column {missing[0]!r}, which metrics and comparisons take")
    return tidy(turns)


def _of_any(turns: pd.DataFrame) -> pd.DataFrame:
    """ANY, by match and seat. Points of a match in which something was done in a player's stead are nobody's."""
    seats = matches(turns).set_index(["match", "seat"])
    asked = turns[_asked(turns)].astype({"tokens": float}).groupby(["match", "seat"], observed=True)
    each = asked[["tokens", "seconds"]]
    sums = each.sum().where(each.count().eq(asked.size(), axis=0))
    rounds = turns.groupby("match", observed=True)["round"].nunique()
    seats, sums, rounds = (_named(table) for table in (seats, sums, rounds))
    own = seats.replaced.groupby("match").transform("max") == 0
    found = {
        "points": seats.total.where(own),
        "points_per_round": seats.total.div(rounds, level="match").where(own),
        "won": seats.won.astype(float).where(own),
        "valid_share": seats.valid.where(_named(asked.size()).reindex(seats.index).notna()),
        "tokens_of_match": sums.tokens,
        "seconds_of_match": sums.seconds,
    }
    return pd.DataFrame(found).reindex(seats.index)


def _named(table: Any) -> Any:
    """A table by match and perhaps seat, with matches as texts."""
    match = table.index.get_level_values("match").astype("str")
    seat = [table.index.get_level_values("seat")] if table.index.nlevels > 1 else []
    return table.set_axis(pd.MultiIndex.from_arrays([match, *seat], names=["match", "seat"]) if seat else match)


def _asked(turns: pd.DataFrame) -> pd.Series:
    """Whether a seat was asked for its turn, not only paid; recorded games say so by the action alone."""
    return turns.legal.notna() | turns.action.notna()


def _measured(turns: pd.DataFrame, names: Sequence[str], seats: Sequence[int]) -> Iterator[pd.DataFrame]:
    """Tables of match, seat and metrics, from every module that offers one of `names` for some of the games."""
    pairs = set(turns[["game", "variant"]].drop_duplicates().astype(str).itertuples(index=False, name=None))
    games = {(game.name, game.variant): game for game in reversed(offering(called(pairs), turns))}
    families = modules("metrics")
    of_module: dict[ModuleType, list[tuple[str, str]]] = {}
    for pair in sorted(pairs):
        module = family_module(games[pair], "metrics") if pair in games else families.get(pair[0])
        if module is not None and _offers(module):
            of_module.setdefault(module, []).append(pair)
    for module in [each for _, each in _modules() if each not in families.values()]:
        of_module.setdefault(module, sorted(pairs))
    for module, own in of_module.items():
        if not module.METRICS.keys().isdisjoint(names):
            yield module.measured(_of_games(turns, own), [games[pair] for pair in own if pair in games], names, seats)
    tested = {pair: game for pair, game in games.items() if game.tested}
    if tested and not OF_TESTED.keys().isdisjoint(names):
        rows = _of_games(turns, tested)
        each = rows[["match", "seat"]].drop_duplicates().astype({"match": "str"})
        yield each.merge(of_tested(rows, seat_table(tested.values())), on="match")


def _of_games(turns: pd.DataFrame, pairs: Collection[tuple[str, str]]) -> pd.DataFrame:
    """The turns of some games and variants."""
    there = turns[["game", "variant"]].drop_duplicates().astype(str).itertuples(index=False, name=None)
    if set(there) <= set(pairs):
        return turns
    return turns[pd.MultiIndex.from_frame(turns[["game", "variant"]].astype(str)).isin(list(pairs))]


# ---- conditions ----


@dataclass(frozen=True)
class Comparison:
    """What `compare` found, as tables; as a text it says the same in words."""

    pairs: pd.DataFrame
    """One row per metric and two conditions: metric, first, second; the fields of agon.metrics.differences.Difference, where
    `difference` is the second less the first; holm (p after Holm's correction over all rows), needed_to_detect (matches of each)."""
    strata: pd.DataFrame
    """One row per metric, two conditions and stratum: what they share, and CELL."""
    conditions: pd.DataFrame
    """One row per condition: matches, answers (asked for), void (no readable action), replaced (something was done in its stead)."""
    notes: list[str]
    """What a reader must know: what was left out, and why something is absent."""

    def __str__(self) -> str:
        """In words."""
        return "\n".join(
            [*map(_told, self.pairs.itertuples()), *map(_counted, self.conditions.itertuples()), *self.notes]
        )

    def figure(self, row: int = 0) -> "Figure":
        """The strata of a row of `pairs`, as a picture."""
        from agon.figures.strata import strata_figure  # here: matplotlib takes a while to be read

        together = self.pairs.iloc[row]
        own = (self.strata[KEYS] == together[KEYS]).all(axis=1)
        keys = [each for each in self.strata if each not in (*KEYS, *CELL)]
        [most] = [each.widest for each in known() if each.name == together.metric]
        return strata_figure(self.strata[own].reset_index(drop=True), together, keys, most)


def compare(
    turns: pd.DataFrame,
    metrics: str | Sequence[str],
    by: str,
    *,
    within: Sequence[str] = (),
    detect: float | Mapping[str, float] | None = None,
    alike: bool = False,
) -> Comparison:
    """Compares conditions by metrics (see `known`), match by match, within what the conditions share.

    `by`: a column that has one value per match and seat, one of `turns` or opponent or opponent_model; COLUMN:ONE,OTHER compares
    these, else all values there are. Of three or more all pairs are compared.
    `within`: the columns whose values two matches must share to be compared; none: OF_SEAT without `by`. A match counts once: for the
    seats under test where its game has some, else for the first seat that has one of the conditions. With `repetition` among
    `within`, repetitions are pairs. A match in which a seat gave no answer of its own has no metric of what was played.
    A metric of OF_ASKING says how asking went, and counts these matches too: what gave no readable answer is a share of 0.
    `detect`: a difference, for which the matches needed are said too; of several metrics, the difference of each by its name.
    `alike`: all strata count alike, however many matches they have, as in `agon.inference.power`; else as their matches weigh.
    Raises AgonError for a metric, column or condition that is not there, and where no two conditions share anything.
    """
    turns = _with_all(turns)
    names = [metrics] if isinstance(metrics, str) else list(dict.fromkeys(metrics))
    if not names:
        raise AgonError("say by which metric to compare (agon list metrics)")
    wanted_differences = _by_metric(detect, names)
    column, _, listed = by.partition(":")
    strata = list(within) or [each for each in OF_SEAT if each != column]
    wanted = [each for each in dict.fromkeys(listed.split(",")) if each]
    _require_apart(column, strata, names)
    units = _units(turns, column, strata, wanted)
    conditions = wanted or sorted(units.condition.unique())
    if gone := [each for each in conditions if each not in set(units.condition)]:
        there = _units(turns, column, strata, ()).condition.unique()
        if column in turns and (turns[column] == gone[0]).any():
            raise AgonError(
                f"no match counts for {column} {gone[0]!r}: wherever it plays another condition sits before it, or is under test"
            )
        raise AgonError(f"no match has {column} {gone[0]!r}: {offered(gone[0], sorted(there))}")
    if len(conditions) < 2:
        raise AgonError(f"to compare takes two conditions, and {column} has {' '.join(conditions) or 'none'} alone")
    sides = units[["match", "seat_of"]].explode("seat_of").rename(columns={"seat_of": "seat"}).astype({"seat": int})
    known_scores = scores(turns[turns["match"].isin(units["match"])], names, sorted(sides.seat.unique()))
    means = sides.merge(known_scores, "left", ["match", "seat"]).groupby("match")[names].mean()
    units = units.join(means, on="match").assign(silent=units["match"].isin(_silent(turns)))
    metric_of = {each.name: each for each in known()}
    asking = {name for name, each in metric_of.items() if each.of_asking}
    units.loc[units.silent, [name for name in names if name not in asking]] = np.nan
    rows, cells, notes = (
        list[dict[str, Any]](),
        list[pd.DataFrame](),
        [f"note: partial: {each}" for each in partial(turns)],
    )
    apart = list[str]()
    for name in names:
        for pair in combinations(conditions, 2):
            shared, values = _shared(units, name, pair, strata)
            if not values:
                apart.append(_apart(units, name, pair, strata))
                continue
            found = difference(values, alike=alike)
            of = {"metric": name, "first": pair[0], "second": pair[1]}
            fields, most = (
                _fields(found, wanted_differences.get(name), bool(wanted_differences)),
                metric_of[name].widest,
            )
            rows.append(of | _possible(fields, most))
            cells.append(shared.assign(**_possible(alone(values), most), **of))
    if not rows:
        raise AgonError(apart[0])
    pairs = pd.DataFrame(rows)
    pairs.insert(pairs.columns.get_loc("p_error") + 1, "holm", holm(pairs.p.to_numpy()))
    table = pd.concat(cells, ignore_index=True)
    counts = _counts(turns, sides, units, conditions)
    return Comparison(
        pairs,
        table[[*KEYS, *table.columns.drop(KEYS)]],
        counts,
        [
            *(_fixed(table, strata), *notes, *dict.fromkeys(apart)),
            *_left_out(units, names, asking, table, strata),
            *_absent(units, [metric_of[name] for name in names], turns),
        ],
    )


def _possible(found: Mapping[str, Any], most: float) -> dict[str, Any]:
    """What was found, with an interval that leaves out what no difference can be: more than `most`."""
    return dict(found) | {end: np.clip(found[end], -most, most) for end in ("low", "high")}


def _fixed(table: pd.DataFrame, strata: Sequence[str]) -> str:
    """What the conclusions are about, and what they are not about."""
    nouns = [each for each in ("game", "variant", "agent", "model", "opponent") if each in strata]
    counts = {noun: table[noun][table[noun].ne("")].nunique() for noun in nouns}
    told = [count(number, noun) for noun, number in counts.items() if number]
    these = f"{', '.join(told[:-1])} and {told[-1]}" if len(told) > 1 else "".join(told) or "these strata"
    return (
        f"note: held fixed: {these}; interval and p hold for these alone, not for models, opponents or games in general"
    )


def _require_apart(column: str, strata: Sequence[str], names: Collection[str]) -> None:
    """Raises AgonError for a condition or stratum that no two matches can have, or whose name the result needs."""
    if column == "seat":
        raise AgonError("seat is no condition: every match has all its seats, and counts once")
    if "match" in (column, *strata):
        raise AgonError("match tells every match from all others: it is neither a condition nor what two can share")
    if column in strata:
        raise AgonError(f"{column} is what is compared: two conditions never share it, so leave it out of within")
    taken = {"condition", "both", "seat_of", "silent", *KEYS, *CELL, *names}
    if own := [each for each in strata if each in taken]:
        raise AgonError(f"within has a column {own[0]!r}, which the result has too: rename yours")


def _units(turns: pd.DataFrame, column: str, strata: Sequence[str], wanted: Collection[str]) -> pd.DataFrame:
    """One row per match that has a condition: match, condition, seat_of (the seats that count for it), and all that `strata` may be.

    `both`: whether another condition sits at the table too. All values are texts. Raises AgonError.
    """
    opponents = ["opponent", "opponent_model"]
    columns = [each for each in dict.fromkeys([*USUAL, column, *strata]) if each not in opponents]
    if unknown := [each for each in columns if each not in turns]:
        raise AgonError(f"turns have no column {unknown[0]!r}: {offered(unknown[0], [*map(str, turns), *opponents])}")
    for each in [each for each in columns if each not in USUAL]:
        if turns.groupby(["match", "seat"], observed=True)[each].nunique(dropna=False).max() > 1:
            raise AgonError(f"{each} has several values for one seat of a match: conditions and strata have one")
    seats = turns[columns].drop_duplicates(["match", "seat"]).sort_values(["match", "seat"])
    tested, kept = _tested(seats), list(dict.fromkeys(["match", *strata]))
    seats = _texts(seats)
    if wanted and column in seats:  # others are not looked at
        seats = seats[seats["match"].isin(set(seats["match"][seats[column].isin(wanted)]))]
    found = []
    for under_test, compared in _compared(seats, tested):
        able = [row for row in compared if (row[column] in wanted if wanted else row[column])]
        if able:
            first = able[0]
            same = [row["seat"] for row in able if row[column] == first[column]]
            of = {
                "condition": first[column],
                "seat_of": same if under_test else same[:1],
                "both": len(same) < len(able),
            }
            found.append({each: first[each] for each in kept} | of)
    return pd.DataFrame(found, columns=[*kept, "condition", "seat_of", "both"])


def players(turns: pd.DataFrame) -> pd.DataFrame:
    """One row per match and seat that is compared, those under test or else all: USUAL, opponent and opponent_model, as texts."""
    seats = turns[USUAL].drop_duplicates(["match", "seat"]).sort_values(["match", "seat"])
    return pd.DataFrame([row for _, rows in _compared(_texts(seats), _tested(seats)) for row in rows])


def _texts(seats: pd.DataFrame) -> pd.DataFrame:
    seats = seats.astype(dict.fromkeys(seats.columns.drop("seat"), "str")).astype(object)
    return seats.where(seats.notna(), "")


def _compared(
    seats: pd.DataFrame, tested: Mapping[tuple[str, str], Collection[int]]
) -> Iterator[tuple[Collection[int], list[dict[str, Any]]]]:
    """Match by match the seats under test, and those that are compared, with their opponents."""
    for _, group in groupby(seats.to_dict("records"), key=itemgetter("match")):
        rows = [*group]
        under_test = tested.get((rows[0]["game"], rows[0]["variant"]), ())
        yield (
            under_test,
            [_beside(row, rows, under_test) for row in rows if not under_test or row["seat"] in under_test],
        )


def _beside(row: dict[str, Any], rows: Sequence[Mapping[str, Any]], under_test: Collection[int]) -> dict[str, Any]:
    """A seat with its opponents: all others, or where it is under test those that are not."""
    own = under_test if row["seat"] in under_test else (row["seat"],)
    others = [each for each in rows if each["seat"] not in own]
    if len(others) == 1:
        return row | {"opponent": others[0]["agent"], "opponent_model": others[0]["model"]}
    agents, models = (sorted({each[name] for each in others} - {""}) for name in ("agent", "model"))
    return row | {"opponent": "+".join(agents), "opponent_model": "+".join(models)}


def _tested(seats: pd.DataFrame) -> dict[tuple[str, str], Sequence[int]]:
    """The seats under test of games of more than two seats that conf/game has, by game and variant."""
    many = seats[seats.seat > 1][["game", "variant"]].drop_duplicates().astype(str)
    return {(game.name, game.variant): game.tested for game in called(set(many.itertuples(index=False, name=None)))}


def _shared(units: pd.DataFrame, name: str, pair: tuple[str, str], strata: Sequence[str]) -> tuple[pd.DataFrame, Cells]:
    """What the strata that have both conditions share, a row each, and the values of the two."""
    rows = units[units.condition.isin(pair) & units[name].notna()]
    if rows.empty:  # neither plays what the metric is of
        return rows[list(strata)], []
    codes = rows.groupby(list(strata), sort=True).ngroup().to_numpy() * 2 + (rows.condition == pair[1]).to_numpy()
    order = np.argsort(codes, kind="stable")
    there, starts = np.unique(codes[order], return_index=True)
    parts = dict(zip(there.tolist(), np.split(rows[name].to_numpy(dtype=float)[order], starts[1:]), strict=True))
    both = [code for code in there.tolist() if code % 2 == 0 and code + 1 in parts]
    firsts = rows[list(strata)].iloc[order[starts[np.searchsorted(there, both)]]]
    return firsts.reset_index(drop=True), [(parts[code], parts[code + 1]) for code in both]


def _apart(units: pd.DataFrame, name: str, pair: tuple[str, str], strata: Sequence[str]) -> str:
    """Why two conditions cannot be compared."""
    gone = [each for each in pair if units[name][units.condition == each].isna().all()]
    if gone:
        own = units[units.condition == gone[0]]
        silent = f": in {own.silent.sum():,} of {len(own):,} a seat gave no answer at all" if own.silent.any() else ""
        return f"no match of {gone[0]} has {name}{silent}"
    apart = [each for each in strata if _shared(units, name, pair, [key for key in strata if key != each])[1]]
    less = [key for key in strata if key not in apart[:1]]
    hint = ": name what they share with within=COLUMN,COLUMN"
    if apart:
        hint = f": they never have the same {' or '.join(apart)}; within={','.join(less)} compares them all the same"
    return f"{pair[0]} and {pair[1]} share no stratum ({', '.join(strata)}){hint}"


def _by_metric(detect: float | Mapping[str, float] | None, names: Sequence[str]) -> Mapping[str, float]:
    """The difference to be detected of each metric that has one. Raises AgonError."""
    if isinstance(detect, Mapping):
        if strange := [each for each in detect if each not in names]:
            raise AgonError(f"detect has {strange[0]!r}, which is not compared: {offered(strange[0], names)}")
        return detect
    if detect is not None and len(names) > 1:
        each = " ".join(f"detect.{name}=..." for name in names)
        raise AgonError(f"detect={detect:g} of which metric? Their units differ; write {each}, or some of them")
    return {} if detect is None else {names[0]: detect}


def _fields(found: Difference, detect: float | None, asked: bool) -> dict[str, Any]:
    count = nan if detect is None else needed(detect, found.spread, found.how == "paired")
    return asdict(found) | ({"detect": nan if detect is None else detect, "needed_to_detect": count} if asked else {})


def _counts(turns: pd.DataFrame, sides: pd.DataFrame, units: pd.DataFrame, conditions: Sequence[str]) -> pd.DataFrame:
    """One row per condition: its matches, and what became of the answers of its seats."""
    asked = _asked(turns)
    rows = turns[["match", "seat"]].assign(answers=asked, void=asked & turns.action.isna(), replaced=replaced(turns))
    each = rows.groupby(["match", "seat"], observed=True).sum().reset_index().astype({"match": "str"})
    own = sides.merge(each, on=["match", "seat"]).merge(units[["match", "condition"]], on="match")
    sums = own.groupby("condition")[["answers", "void", "replaced"]].sum()
    sums.insert(0, "matches", own.groupby("condition")["match"].nunique())
    return sums.reindex(conditions).reset_index()


def _silent(turns: pd.DataFrame) -> pd.Index:
    """The matches in which a seat that was asked gave no answer of its own."""
    asked = turns[_asked(turns)]
    own = asked.action.notna() & ~replaced(asked)
    answered = own.groupby([asked["match"], asked.seat], observed=True).any().groupby("match", observed=True).all()
    return answered.index[~answered].astype("str")


def _left_out(
    units: pd.DataFrame, names: Sequence[str], asking: Collection[str], table: pd.DataFrame, strata: Sequence[str]
) -> list[str]:
    """What does not count, in words."""
    notes = []
    played = [name for name in names if name not in asking]
    less = f" of {', '.join(played)}" if len(played) < len(names) else ""
    for condition, own in units.groupby("condition"):
        if played and (silent := int(own.silent.sum())):
            notes.append(f"note: {_of(silent, own)} of {condition} without any answer of a seat, left out{less}")
    if both := int(units.both.sum()):
        notes.append(
            f"note: in {count(both, 'match')} two of the conditions sit at the table: each counts once, for the first seat"
        )
    for name in names:
        for condition, own in units.groupby("condition"):
            in_some = table[(table.metric == name) & ((table["first"] == condition) | (table["second"] == condition))]
            keys = pd.MultiIndex.from_frame(own[list(strata)])
            alone = int((~keys.isin(pd.MultiIndex.from_frame(in_some[list(strata)])) & own[name].notna()).sum())
            if alone:
                of = f" with {name}" if len(names) > 1 else ""
                notes.append(f"note: {_of(alone, own)} of {condition} in no stratum{of} that another has: left out")
    return notes


def _absent(units: pd.DataFrame, metrics: Sequence[Known], turns: pd.DataFrame) -> list[str]:
    """Which matches have no value of a metric, and why, in words."""
    played = turns.drop_duplicates("match")[["match", "game"]].astype(str).set_index("match").game
    games, notes = units["match"].map(played), []
    for metric in metrics:
        here = units[metric.name].notna()
        lacking = ~here & (metric.of_asking | ~units.silent)
        without = lacking & ~games.isin(set(games[here]))
        for condition, own in units.groupby("condition"):
            if not (absent := int(lacking[own.index].sum())):
                continue
            named = sorted(set(games[own.index][without[own.index]]))
            rest = absent - int(without[own.index].sum())
            why = [f"{', '.join(named)} {'has' if len(named) == 1 else 'have'} none"] * bool(named)
            why += [f"in {rest:,} nothing counts for it" if named else "nothing in them counts for it"] * bool(rest)
            note = f"note: {_of(absent, own)} of {condition} without {metric.name}: {', '.join(why)}"
            notes.append(f"{note} ({metric.gives})" if named else note)
    return notes


def _of(some: int, every: Collection[Any]) -> str:
    """`3 of 8 matches`."""
    return f"{some:,} of {count(len(every), 'match')}"


def rate(turns: pd.DataFrame, metric: str = "points", by: Sequence[str] = ("agent", "model")) -> Strengths:
    """How strong players are by a metric of which more is better, from the matches in which they met (agon.metrics.strengths).

    A player is what its seat has in the columns `by`, as agent@model. A match counts where every seat has the metric.
    Raises AgonError for a metric or column that is not there, and where no two players met.
    """
    turns = _with_all(turns)
    if unknown := [each for each in by if each not in turns]:
        raise AgonError(f"turns have no column {unknown[0]!r}: {offered(unknown[0], [*map(str, turns)])}")
    seats = turns.drop_duplicates(["match", "seat"])[["match", "seat", *by]].astype({"match": "str"})
    names = seats[list(by)].astype("str").astype(object)
    texts = ["@".join(each for each in row if isinstance(each, str) and each) for row in names.to_numpy()]
    values = scores(turns, [metric]).rename(columns={metric: "score"})
    values.loc[values["match"].isin(_silent(turns)), "score"] = np.nan
    found = seats[["match", "seat"]].assign(player=texts).merge(values, on=["match", "seat"])
    return strengths(found[found.score.notna().groupby(found["match"]).transform("all")])


# ---- what was registered ----


def registered(turns: pd.DataFrame, found: pd.DataFrame, by: str, within: Sequence[str], alike: bool) -> list[str]:
    """Of the experiments in turns that carry a preregistration: whether `found` is what it names, in words.

    `found`: the pairs of `compare`, of what `excluded` leaves of the turns.
    """
    column = by.partition(":")[0]
    own = [
        (
            Hypothesis(row.metric, f"{column}:{row.first},{row.second}", "difference", tuple(within), alike),
            row.low,
            row.high,
        )
        for row in found.itertuples()
    ]
    lines = [
        line
        for name, rows in _carrying(turns)
        for line in checked(_recording(name), own, _file(name), rows["match"].unique())
    ]
    return lines + excluded(turns)[1]


def excluded(turns: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """`turns` without the matches that their experiments' preregistrations leave out, and how many each exclusion names, in words.

    Exclusions in free words leave out nothing. Raises AgonError where a column is missing.
    """
    gone, lines = set[str](), list[str]()
    for name, rows in _carrying(turns):
        for each in exclusions(_recording(name)):
            own = _named_by(each, _with_all(rows))
            lines.append(f"registered exclusion: {each}: {_of(len(own), rows['match'].unique())} left out")
            gone |= own
    return turns[~turns["match"].isin(gone)], lines


def _named_by(exclusion: Exclusion, turns: pd.DataFrame) -> set[str]:
    """The matches that it names."""
    if exclusion.unreadable is not None:
        asked = turns[_asked(turns)]
        lost = asked.action.isna() | replaced(asked)
        shares = lost.groupby([asked["match"], asked.seat], observed=True).mean()
        return set(shares[shares > exclusion.unreadable].index.get_level_values("match"))
    if exclusion.rounds is not None:
        rounds = turns.groupby("match", observed=True)["round"].nunique()
        return set(rounds.index[rounds < exclusion.rounds])
    column, value = ("agent", exclusion.agent) if exclusion.agent is not None else ("model", exclusion.model)
    return set(turns["match"][turns[column] == value])


def as_registered(turns: pd.DataFrame) -> list[str]:
    """What the registered analyses of the experiments in turns say, in words: every hypothesis is compared as it was registered."""
    lines = []
    for name, rows in _carrying(turns):
        kept, left_out = excluded(rows)
        found, failed = [], list[str]()
        for each in hypotheses(_recording(name)):
            try:
                pairs = compare(kept, each.metric, each.by, within=each.within, alike=each.alike).pairs
            except AgonError as error:
                found.append((each, nan, nan))
                failed.append(f"{each.metric} by {each.by}: {error}")
            else:
                found.append((each, pairs.low[0], pairs.high[0]))
        lines += checked(_recording(name), found, _file(name), rows["match"].unique()) + left_out + failed
    return lines


def carrying(experiments: Iterable[str]) -> list[str]:
    """Those whose recording carries a preregistration, as turns call them (partial ones too)."""
    return [each for each in experiments if registrations(_recording(each))]


def _carrying(turns: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    return [(each, turns[turns.experiment == each]) for each in carrying(turns.experiment.unique())]


def _recording(experiment: str) -> Path:
    return ROOT / "data/recordings" / _named_alone(experiment)


def _named_alone(experiment: str) -> str:
    """Without what turns say of being partial, or of folders."""
    return PARTIAL.sub("", experiment).replace("/", "_")


def _file(experiment: str) -> str | None:
    """The preregistration that an experiment names now."""
    name = _named_alone(experiment)
    return settings_of("experiment", name).get("prereg") if name in names("experiment") else None


# ---- in words, and as a picture ----


def _told(row: Any) -> str:
    unit = "pairs" if row.how == "paired" else "matches of each"
    floor = row.p_error > 0 and isclose(
        row.p, row.p_error
    )  # no arrangement that was drawn is as far apart: p is 1 / (draws + 1)
    most = "at most " if floor else ""
    error = f" (1 of {1 / row.p:,.0f})" if floor else f" (+- {row.p_error:.1g})" if row.p_error else ""
    effect = (
        f"{row.effect:+.2f} ({row.effect_low:+.2f} to {row.effect_high:+.2f})" if row.effect == row.effect else "absent"
    )
    lines = [
        f"{row.metric}: {row.first} {row.first_mean:.4g}, {row.second} {row.second_mean:.4g}; difference {_signed(row)}",
        f"  {row.n_first:,} and {count(row.n_second, 'match')} in {count(row.strata, 'stratum', 'strata')} ({row.how}); "
        f"effect size {effect}",
        f"  permutation p {most}{row.p:.3g}{error}, after Holm {most}{row.holm:.3g}",
    ]
    told = [f"{row.needed:,.0f} {unit} at this difference"] if row.needed == row.needed else []
    if "needed_to_detect" in row._fields and row.needed_to_detect == row.needed_to_detect:
        told.append(f"{row.needed_to_detect:,.0f} at {row.detect:g}")
    return "\n".join([*lines, *([f"  for a power of 80 %: {', '.join(told)}"] if told else [])])


def _signed(row: Any) -> str:
    known = row.low == row.low
    return (
        f"{row.difference:+.4g} (95 % interval {row.low:+.4g} to {row.high:+.4g})"
        if known
        else f"{row.difference:+.4g}"
    )


def _counted(row: Any) -> str:
    told = f"{count(row.matches, 'match')}, {count(row.answers, 'answer')}"
    return f"{row.condition}: {told}, {row.void:,} void, {row.replaced:,} replaced"
