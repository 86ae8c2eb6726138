"""The rule of docs/statements-rule.md: a statement holds or fails if nearly all record sets that could be drawn say it too.

A statement of a paper is a function in the paper's notebook:

    @statement("7.1", "share", "4 points a round")
    def peers_cooperate(m=played(game="pd", variant="default", opponent=PEERS), least=3.8):
        \"\"\"Between language models most models settle on mutual cooperation.

        Mutual cooperation pays 4 points a round.
        \"\"\"
        points = m.groupby("model").total_points.mean() / 16
        return most(points, lambda x: x >= least)

The first paragraph of its docstring is the claim, the second says how it is read. Parameters whose default is made by `rows` are tables:
the function is called with the records, and again with each record set that is drawn. Numbers are thresholds, which are moved by one step.
It returns one `Test`, or several of which all must hold; texts among them are shown and decide nothing.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol, TypeAlias

import numpy as np
import pandas as pd
from IPython.display import Markdown, display
from numpy.typing import NDArray
from pandas.api.types import is_bool_dtype, is_numeric_dtype
from scipy.special import ndtr, ndtri, stdtr, stdtrit
from scipy.stats import false_discovery_control

from agon.metrics.interval import proportion_interval

KINDS = ("exact", "level", "share", "comparison", "order", "extreme", "equivalence", "correlation", "spread")
"""Kinds of sentences: docs/statements-rule.md says how each is decided."""

COLUMNS = [
    *("paper", "statement", "section", "claim", "published", "recomputed", "verdict", "why"),
    *("estimate", "low", "high", "n", "unit", "chance", "stability", "draws", "rule"),
    *("p", "p_section", "verdict_section"),
]
"""Of the table of claims: numbers that do not apply are absent. `statement`: the name of the function."""

HOLDS, FAILS, UNDECIDED, UNCHECKED = "holds", "fails", "undecided", "cannot be checked"
ENOUGH = 0.95
"""Share of the record sets that must say what the records say."""
SEED = 20261123
BLOCK = 120
"""Record sets that are drawn at a time."""
LOOKS = (1, 2, 4, 8)
"""Blocks after which the share is looked at."""
SURE = 0.99
"""Level of the interval of that share that ends the drawing before the last look."""
TAILS = (0.025, 0.975)
HALF = 0.5
"""Of a row: a count is a whole number, and lies on neither side of a bound by less."""
STEP = 0.2
"""Of a threshold called margin, by which it moves: from 5 % of the range to 4 or 6."""
CHANCE_SETS = 10
"""Record sets of uniform play."""
DECIMALS = 9
"""Of the ends of intervals: processors sum in different orders, and differ beyond."""
REST = "the others"
LISTED = 12
"""Rows whose numbers are all written; of more, the smallest and the largest."""

Numbers: TypeAlias = "pd.Series | pd.DataFrame"
Condition = Callable[[Any], Numbers]


class Missing(Exception):
    """The records given cannot decide a statement; the text says what is missing."""


# ---- what a statement returns


@dataclass(frozen=True)
class Test:
    """A proposition about numbers, one row each: of how many rows a condition must be true."""

    __test__ = False  # pytest does not collect it
    numbers: Numbers
    condition: Condition
    enough: Callable[[Any, Any], Any]
    """Of (how many rows are as said, of how many): whether these are enough."""
    every: bool = True
    """Whether all rows must be as said: then each row is a part that can fail."""
    single: bool = False
    """Whether one row suffices."""
    gaps: Callable[[Any], pd.Series] | None = None
    """Of an order: how far each pair is apart."""
    doubt: bool = False
    """If it is false: whether the records leave that open."""
    nearly: bool = False
    """Whether it is true but for one unit of a printed number's last digit."""

    @cached_property
    def apart(self) -> pd.Series | None:
        """Of an order: its gaps."""
        return self.gaps(self.numbers) if self.gaps else None

    @cached_property
    def mask(self) -> pd.Series:
        """Which rows (of an order: pairs) are as said."""
        return self.condition(self.numbers).astype(bool) if self.apart is None else self.apart > 0

    @property
    def true(self) -> bool:
        """Whether the proposition is true of these numbers."""
        mask = self.mask
        return bool(self.enough(mask.sum(), len(mask)))

    @property
    def sized(self) -> bool:
        """Whether its estimate is a share of rows."""
        return self.gaps is None and not (self.every and len(self.numbers) == 1 and _numeric(self.numbers))

    @property
    def estimate(self) -> float:
        """The smallest gap of an order, the number of a single row, else the share of rows that are as said."""
        if self.apart is not None:
            return float(self.apart.min())
        return float(self.mask.mean() if self.sized else _first(self.numbers).iloc[0])

    def __str__(self) -> str:
        mask, by = self.mask, " and ".join(str(name) for name in self.numbers.index.names if name)
        count = f"{int(mask.sum())} of {len(mask)}" + f" by {by}" * bool(by)
        if len(self.numbers) > LISTED:
            return f"{count}; {_spans(self.numbers)}"
        return listed(self.numbers) if self.gaps or len(mask) == 1 else f"{count}: {listed(self.numbers)}"


def all_of(numbers: Any, condition: Condition = lambda x: x) -> Test:
    """Every row is as said."""
    return Test(_rows(numbers), condition, lambda hits, n: hits == n)


def none_of(numbers: Any, condition: Condition = lambda x: x) -> Test:
    """No row is as said."""
    return Test(_rows(numbers), lambda x: ~condition(x).astype(bool), lambda hits, n: hits == n)


def any_of(numbers: Any, condition: Condition = lambda x: x) -> Test:
    """At least one row is as said."""
    return Test(_rows(numbers), condition, lambda hits, n: hits > 0, every=False, single=True)


def most(numbers: Any, condition: Condition = lambda x: x) -> Test:
    """More than half of the rows are as said."""
    return _counting(numbers, condition, lambda hits, n: 2 * hits > n)


def half(numbers: Any, condition: Condition = lambda x: x) -> Test:
    """At least half of the rows are as said."""
    return _counting(numbers, condition, lambda hits, n: 2 * hits >= n)


def at_least(rows: int, numbers: Any, condition: Condition = lambda x: x) -> Test:
    """So many rows are as said."""
    return _counting(numbers, condition, lambda hits, n: hits >= rows)


def share_of(least: float, numbers: Any, condition: Condition = lambda x: x) -> Test:
    """At least this share of the rows (0 to 1) is as said."""
    return _counting(numbers, condition, lambda hits, n: hits >= np.round(least * n, DECIMALS))


def share_below(most_of: float, numbers: Any, condition: Condition = lambda x: x) -> Test:
    """Less than this share of the rows (0 to 1) is as said."""
    return _counting(numbers, condition, lambda hits, n: hits < np.round(most_of * n, DECIMALS))


def order(numbers: Any, *groups: str | Sequence[str]) -> Test:
    """Every number of a group of names is above every number of the next group; REST: all other names.

    Names are those of the rows of a series, or of the columns of a table, in each of its rows.
    """
    given = _rows(numbers)
    return Test(given, lambda x: x, lambda hits, n: hits == n, gaps=lambda x: _gaps(x, groups))


def largest(numbers: Any, *names: str) -> Test:
    """The rows of these names have the largest numbers."""
    return order(numbers, names, REST)


def smallest(numbers: Any, *names: str) -> Test:
    """The rows of these names have the smallest numbers."""
    return order(numbers, REST, names)


def printed(numbers: Any, texts: Mapping[Any, Any]) -> Test:
    """Each number rounds to the one that is printed, at its decimals. `texts`: by row, one or, of a table, one for each column."""
    given = _rows(numbers)
    table = given.to_frame() if isinstance(given, pd.Series) else given
    known = [[texts[name]] if isinstance(texts[name], str) else texts[name] for name in table.index]
    pairs = [[*zip(row, printed, strict=True)] for row, printed in zip(table.to_numpy(object), known, strict=True)]
    hits, near = ([all(printed_as(*pair, off) for pair in row) for row in pairs] for off in (0, 1))
    return Test(given, lambda x: pd.Series(hits, x.index), lambda count, n: count == n, nearly=all(near))


def open_if(test: Test, doubt: Any) -> Test:
    """The same test; where it is false and `doubt` is true, the records leave it open."""
    return replace(test, doubt=bool(doubt))


def shown(what: str, numbers: Any, condition: Condition | None = None) -> str:
    """Numbers, or how many rows are as said, that are shown beside a test and decide nothing."""
    given = numbers if isinstance(numbers, pd.Series | pd.DataFrame) else pd.Series([numbers], ["all"])
    if given.empty:
        return f"{what}: none"
    if condition is not None:
        mask = condition(given).astype(bool)
        return f"{what}: {int(mask.sum())} of {len(mask)}"
    return f"{what}: {_spans(given) if len(given) > LISTED else listed(given)}"


def _counting(numbers: Any, condition: Condition, enough: Callable[[Any, Any], Any]) -> Test:
    given = _rows(numbers)
    n = len(given)
    every = bool(enough(n, n) and not enough(n - 1, n))  # nine in ten of fewer than ten
    return Test(given, condition, enough, every=every)


def _rows(numbers: Any) -> Numbers:
    made = numbers if isinstance(numbers, pd.Series | pd.DataFrame) else pd.Series([numbers], ["all"])
    if made.empty:
        raise ValueError("there is no row to test")
    return made


def _first(numbers: Numbers) -> pd.Series:
    return numbers if isinstance(numbers, pd.Series) else numbers.iloc[:, 0]


def _numeric(numbers: Numbers) -> bool:
    kind = _first(numbers).dtype
    return is_numeric_dtype(kind) and not is_bool_dtype(kind)


def _gaps(numbers: Numbers, groups: Sequence[str | Sequence[str]]) -> pd.Series:
    """How far the number of a name is above that of each name in the next group: an entry for each row and pair."""
    wide = numbers.to_frame().T if isinstance(numbers, pd.Series) else numbers
    named = [[group] if isinstance(group, str) else [*group] for group in groups]
    rest = [name for name in wide.columns if all(name not in group for group in named)]
    sets = [rest if group == [REST] else group for group in named]
    if gone := [name for group in sets for name in group if name not in wide.columns]:
        raise ValueError(f"no row is named {', '.join(gone)}; there are {', '.join(map(str, wide.columns[:9]))}")
    pairs = [(one, other) for above, below in pairwise(sets) for one in above for other in below]
    values, place = wide.to_numpy(dtype=float), {name: number for number, name in enumerate(wide.columns)}
    ones, others = ([place[name] for name in names] for names in zip(*pairs, strict=True))
    index = [f"{row}: {one} > {other}" for row in wide.index for one, other in pairs]
    return pd.Series((values[:, ones] - values[:, others]).ravel(), pd.Index(index, dtype=object))


# ---- how record sets are drawn


@dataclass(frozen=True)
class Rows:
    """Which rows of which table of the records a statement is about."""

    table: str
    where: Mapping[str, Any]


def rows(table: str, /, **where: Any) -> Any:
    """The default of a statement's parameter: the rows of a table that have these values, one or several, in a column or index level."""
    return Rows(table, where)


class Records(Protocol):
    """What a paper gives its statements."""

    unit: str
    """What is drawn: match, game, decision."""

    def rows(self, table: str, where: Mapping[str, Any]) -> pd.DataFrame:
        """The rows of a table. Raises Missing where any that is wanted is not there."""

    def redraws(self, table: pd.DataFrame, drawing: str) -> Callable[[int], pd.DataFrame]:
        """These rows in a record set, by its number; `drawing`: mean, spread or correlation."""

    def cells(self, tables: Sequence[pd.DataFrame]) -> Sequence[int]:
        """The cells that these rows are of: how many units each has; none where no units are drawn."""

    def by_chance(self, table: pd.DataFrame, number: int) -> pd.DataFrame:
        """These rows, had every player chosen uniformly. Raises Missing where that is not known."""

    def shown(self, table: int, variant: str) -> str:
        """The variant that a printed table truly shows. Raises Missing."""


def within_cells(cells: NDArray[np.intp], block: int, *, whole: bool = False) -> NDArray[np.int8]:
    """How often each unit is in each of BLOCK record sets: record sets x units. `cells`: the code of each unit's cell.

    Of the n units of a cell n - 1 are drawn (Rao and Wu, JASA 83, 1988); all n if `whole`, for units that are `stretched`. A cell of one
    unit keeps it. `block`: which record sets; the same number gives the same ones.
    """
    by_cell = np.argsort(cells, kind="stable")
    sizes = np.bincount(cells)
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(int)
    dice = np.random.default_rng([SEED, block])
    weights = np.zeros((BLOCK, len(cells)), dtype=np.int8)
    for n in np.unique(sizes):
        which = np.flatnonzero(sizes == n)
        members = by_cell[first[which, None] + np.arange(n)]
        chosen = dice.integers(0, n, size=(BLOCK, len(which), n if whole or n == 1 else n - 1))
        taken = members[np.arange(len(which))[None, :, None], chosen].reshape(BLOCK, -1)
        np.add.at(weights, (np.arange(BLOCK)[:, None], taken), 1)
    return weights


def stretched(table: pd.DataFrame, cell: Sequence[str]) -> pd.DataFrame:
    """Numbers with deviations from their cell's mean times sqrt(n / (n - 1)): of these all n are drawn, and spreads come out right."""
    numbers = table.select_dtypes("float")
    groups = numbers.groupby([table[key] for key in cell], observed=True, sort=False)
    mean, n = groups.transform("mean"), groups.transform("size")
    factor = np.sqrt(n / (n - 1).clip(lower=1))
    return table.assign(**(mean + (numbers - mean).mul(factor, axis=0)))


def any_rows(n: int, block: int) -> NDArray[np.intp]:
    """Positions of n - 1 rows of n, drawn with replacement: BLOCK record sets x rows."""
    return np.random.default_rng([SEED, block]).integers(0, n, size=(BLOCK, n - 1))


def jeffreys(k: float, n: int, key: str, block: int) -> NDArray[np.float64]:
    """BLOCK shares that a count of k in n leaves possible, Beta(k + 1/2, n - k + 1/2). `key`: what is counted; it seeds them."""
    return np.random.default_rng([SEED, block, *key.encode()]).beta(k + 0.5, n - k + 0.5, size=BLOCK)


# ---- the rule


@dataclass(frozen=True)
class Trial:
    """A test in many record sets."""

    estimate: NDArray[np.float64]
    parts: NDArray[np.bool_]
    """Record sets x all that must be true for it to hold: rows, pairs of an order, or that enough rows are as said. Of `any_of`: rows."""
    sizes: NDArray[np.float64] | None = None
    """Where the estimate is a share of rows: how many there are."""
    chosen: int = 1
    """Of how many rows the one was chosen that is true most often."""

    @classmethod
    def joined(cls, blocks: Sequence["Trial"]) -> "Trial":
        """The same test in the record sets of several blocks."""
        estimate, parts = (np.concatenate([getattr(each, name) for each in blocks]) for name in ("estimate", "parts"))
        sizes = None if blocks[0].sizes is None else np.concatenate([each.sizes for each in blocks])
        return cls(estimate, parts, sizes)

    def centred(self, own: Test, cells: Sequence[int]) -> "Trial":
        """Moved so that the record sets' mean is what the records give, `own`. `cells`: how many units each has.

        A share of rows, and the smallest of several gaps, have the records' noise in them, and that of the draws on top. Counts of rows
        are stretched too (`stretch`), and where they vary must be beyond their bound by HALF a row. Of `any_of` the row is taken that is
        true most often.
        """
        off = self.estimate.mean() - own.estimate
        if self.sizes is None:
            return self if self.parts.shape[1] == 1 else replace(self, estimate=self.estimate - off)
        if own.single:
            if own.true:
                of_true = self.parts[:, own.mask.to_numpy()]
                best = of_true[:, [of_true.mean(axis=0).argmax()]]
                centred = (self.estimate - off).clip(0, 1)
                return replace(self, estimate=centred, parts=best, chosen=self.parts.shape[1])
            return replace(self, estimate=(self.estimate - off).clip(0, 1), parts=self.parts.any(axis=1, keepdims=True))
        if own.every:
            return replace(self, estimate=(self.estimate - off).clip(0, 1))
        mean = own.estimate
        moved = mean + (self.estimate - off - mean) * stretch(cells, float(self.sizes.mean()))
        beyond = HALF if np.unique(moved).size > 1 else 0.0
        ways = [own.enough((moved * self.sizes + each).round(9), self.sizes) for each in (beyond, -beyond)]
        parts: NDArray[np.bool_] = np.asarray(np.all(ways, axis=0) if own.true else np.any(ways, axis=0))
        return replace(self, estimate=moved.clip(0, 1), parts=parts[:, None])

    def ends(self, tails: Sequence[float]) -> tuple[float, float]:
        """Of an interval of the estimate; where a share of rows varies, by HALF a row more."""
        low, high = np.quantile(self.estimate, tails)
        if self.sizes is not None and low < high:
            more = HALF / self.sizes.mean()
            return max(low - more, 0.0), min(high + more, 1.0)
        return low, high


def trial_of(tests: Sequence[Test]) -> Trial:
    """The same test in many record sets."""
    masks = [test.mask for test in tests]
    estimate = np.array([test.estimate for test in tests])
    sizes = np.array([len(mask) for mask in masks], dtype=float) if tests[0].sized else None
    if not tests[0].every:
        if tests[0].single:
            return Trial(estimate, _wide(masks, absent=False), sizes)
        enough = [bool(test.enough(mask.sum(), len(mask))) for test, mask in zip(tests, masks, strict=True)]
        return Trial(estimate, np.array(enough)[:, None], sizes)
    return Trial(estimate, _wide(masks, absent=True), sizes)


def _wide(masks: Sequence[pd.Series], *, absent: bool) -> NDArray[np.bool_]:
    if all(mask.index.equals(masks[0].index) for mask in masks):
        return np.stack([mask.to_numpy(bool) for mask in masks])
    table = pd.concat(masks, axis=1, keys=range(len(masks)))
    return np.asarray(table.T.astype(object).fillna(absent).astype(bool))


def stretch(cells: Sequence[int], rows: float) -> float:
    """By what deviations of a count of rows are too small, that are made of cells with so many units each, all of as many cells.

    Drawn means of n units vary as means do, but fall on one side of a bound too often: by n / (n - 1) of the variance.
    """
    units = np.asarray(cells, dtype=float) * max(1.0, len(cells) / rows)
    units = units[units > 1]
    return float(np.mean(units / (units - 1)) ** 0.5) if rows <= len(cells) and len(units) else 1.0


@dataclass(frozen=True)
class Settled:
    """How many record sets say what the records say."""

    trials: Sequence[Trial]
    agreeing: int
    draws: int
    parts: int
    """How many can be refuted; where the records say yes 1, or of how many rows one was chosen."""
    free: float
    """Degrees of freedom."""

    @property
    def stability(self) -> float:
        """The share of record sets that agree."""
        return self.agreeing / self.draws

    @property
    def wanted(self) -> float:
        """The share that must agree: ENOUGH, or as much more as Student's t asks where few units are drawn; Bonferroni's for parts."""
        return float(ndtr(stdtrit(self.free, 1 - (1 - ENOUGH) / self.parts)))

    @property
    def tails(self) -> list[float]:
        """Between which shares of the record sets 95 % lie, or as many more as Student's t asks."""
        return [float(ndtr(stdtrit(self.free, tail))) for tail in TAILS]

    @property
    def p(self) -> float:
        """One-sided, of what the records say against its opposite: the share that disagrees, as Student's t has it, for all parts.

        Half a record set more is taken to disagree: none of 120 does not mean never.
        """
        disagreeing = (self.draws - self.agreeing + 0.5) / (self.draws + 1)
        return min(1.0, self.parts * float(stdtr(self.free, ndtri(disagreeing))))


def settle(recorded: Sequence[Test], drawn: Callable[[int], Sequence[Trial]], cells: Sequence[int] = ()) -> Settled:
    """Draws blocks of record sets until it is clear whether enough of them say what the records say, or to the last look.

    `recorded`: the tests of a statement in the records; `drawn`: the same in the record sets of a block. `cells`: that the statement is
    about, with so many units each; none where no units are drawn.
    """
    holds = all(test.true for test in recorded)
    free = max(1, sum(cells) - len(cells)) if len(cells) else np.inf
    blocks: list[Sequence[Trial]] = []
    for look in LOOKS:
        blocks += [drawn(block) for block in range(len(blocks), look)]
        joined = map(Trial.joined, zip(*blocks, strict=True))
        trials = [trial.centred(own, cells) for trial, own in zip(joined, recorded, strict=True)]
        parts = np.concatenate([trial.parts for trial in trials], axis=1)
        agreeing = int(parts.all(axis=1).sum() if holds else (~parts).sum(axis=0).max())
        many = max(trial.chosen for trial in trials) if holds else parts.shape[1]
        found = Settled(trials, agreeing, len(parts), many, free)
        low, high = proportion_interval(agreeing, len(parts), SURE)
        if not low <= found.wanted <= high:
            break
    return found


def steps_of(name: str, threshold: float) -> list[float]:
    """A threshold moved by one step, up and down: a margin by a fifth, else by one unit of the last digit as written.

    Where that unit is half of the number or more, by a tenth of the number. 0 does not move.
    """
    if name == "margin":
        return [threshold * (1 + STEP), threshold * (1 - STEP)]
    unit = 10.0 ** -len(repr(threshold).partition(".")[2])
    step = threshold / 10 if 2 * unit >= abs(threshold) else unit
    return [round(threshold + step, DECIMALS), round(threshold - step, DECIMALS)] if threshold else []


def centred(sets: Sequence[Sequence[Test]], recorded: Sequence[Test]) -> list[list[Test]]:
    """Numbers of many record sets, moved so that the mean of each row's over these is the records'."""
    moved = []
    for tests, own in zip(zip(*sets, strict=True), recorded, strict=True):
        every = pd.concat([test.numbers for test in tests], keys=range(len(tests)))
        mean = every.groupby(level=[*range(1, every.index.nlevels)], sort=False).mean()
        off = own.numbers - mean.reindex(own.numbers.index)
        moved.append([replace(test, numbers=test.numbers + off.reindex(test.numbers.index)) for test in tests])
    return [list(each) for each in zip(*moved, strict=True)]


# ---- statements


@dataclass
class Statements:
    """The statements of a paper, in the order in which they are decided. `said`: numbers of the paper's text, for {names} in claims."""

    paper: str
    records: Records
    said: Mapping[str, str] = field(default_factory=dict)
    decided: list[dict[str, Any]] = field(default_factory=list)

    def __call__(
        self,
        section: str,
        kind: str,
        published: str,
        *,
        biased: bool = False,
        drawing: str = "",
        captions: Mapping[str, int] | None = None,
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Decides the function below it, and shows the verdict.

        `kind`: see KINDS. `biased`: noise moves the mean of its numbers, as of a spread of means, so that record sets are moved back.
        `drawing`: spread or correlation, where the kind does not say so. `captions`: variant -> the table in whose caption it stands;
        where the table shows another one, the statement is read with that one too. Raises ValueError for a kind that is not in KINDS.
        """
        if kind not in KINDS:
            raise ValueError(f"there is no kind {kind}; there are {', '.join(KINDS)}")
        how = drawing or (kind if kind in ("spread", "correlation") else "mean")

        def decide(function: Callable[..., Any]) -> Callable[..., Any]:
            claim, _, why = inspect.cleandoc(function.__doc__ or "").partition("\n\n")
            claim, why = (" ".join(text.split()) for text in (claim, why))
            row = {"paper": self.paper, "statement": function.__name__, "section": section, "rule": kind}
            row |= {"claim": claim.rstrip(".").format_map(self.said), "published": published.format_map(self.said)}
            try:
                made = self._judged(function, kind, how, biased, captions or {})
                row |= {"why": why} | made
            except Missing as gap:
                row |= {"recomputed": "", "verdict": UNCHECKED, "why": f"Missing: {gap}."}
            self.decided.append(row)
            display(Markdown(words(row)))  # type: ignore[no-untyped-call]
            return function

        return decide

    def table(self) -> pd.DataFrame:
        """All that was decided, see COLUMNS; those of a section (the first that a row names) are seen together."""
        table = pd.DataFrame(self.decided).reindex(columns=COLUMNS)
        table = table.astype({"n": "Int64", "draws": "Int64", "p": float})
        tested = table[table.p.notna()]
        if len(tested):
            sections = tested.section.str.partition(",")[0]
            adjusted = tested.groupby(sections).p.transform(lambda p: false_discovery_control(p).round(DECIMALS))
            table["p_section"] = adjusted
        table["p_section"] = table.p_section.astype(float)
        table["verdict_section"] = table.verdict.mask(table.p_section > 1 - ENOUGH, UNDECIDED)
        return table

    def _judged(
        self, function: Callable[..., Any], kind: str, how: str, biased: bool, captions: Mapping[str, int]
    ) -> dict[str, Any]:
        given = {name: each.default for name, each in inspect.signature(function).parameters.items()}
        asked = {name: each for name, each in given.items() if isinstance(each, Rows)}
        thresholds = {name: each for name, each in given.items() if type(each) in (int, float)}
        shown = {variant: self.records.shown(table, variant) for variant, table in captions.items()}
        tables = {name: self.records.rows(each.table, each.where) for name, each in asked.items()}
        returned = function(**tables)
        tests, text = tests_of(returned), text_of_all(returned)
        row: dict[str, Any] = {"recomputed": text}
        if others := {variant: name for variant, name in shown.items() if variant != name}:
            row |= {"recomputed": f"{text} | {self._as_captioned(function, given, others)}"}
        units = {unit for table in tables.values() if "match" in table for unit in table.match}
        row |= {"n": len(units), "unit": self.records.unit} if units else {}
        if not tests or any(test.doubt and not test.true for test in tests):
            failed = any(not test.true and not test.doubt for test in tests)
            return row | {"verdict": FAILS if failed else UNCHECKED}
        holds = all(test.true for test in tests)
        if kind == "exact":
            near = all(test.true or test.nearly for test in tests)
            return row | {"verdict": HOLDS if holds else UNDECIDED if near else FAILS}
        redraws = {name: self.records.redraws(table, how) for name, table in tables.items()}

        def drawn(block: int) -> Sequence[Trial]:
            numbers = range(block * BLOCK, (block + 1) * BLOCK)
            sets = [tests_of(function(**{name: draw(k) for name, draw in redraws.items()})) for k in numbers]
            return [*map(trial_of, zip(*(centred(sets, tests) if biased else sets), strict=True))]

        found = settle(tests, drawn, self.records.cells([*tables.values()]))
        weakest = min(range(len(tests)), key=lambda test: found.trials[test].parts.all(axis=1).mean())
        low, high = found.trials[weakest].ends(found.tails)
        if kind == "correlation":
            low, high = max(low, -1.0), min(high, 1.0)
        moved = [
            tests_of(function(**tables, **{name: step}))
            for name, each in thresholds.items()
            for step in steps_of(name, each)
        ]
        decided = found.stability >= found.wanted and not on_edge(tests, moved)
        return row | {
            "verdict": (HOLDS if holds else FAILS) if decided else UNDECIDED,
            "estimate": tests[weakest].estimate,
            "low": round(low, DECIMALS),
            "high": round(high, DECIMALS),
            "unit": self.records.unit,
            "chance": self._chance(function, tables, weakest),
            "stability": found.stability,
            "draws": found.draws,
            "p": found.p,
        }

    def _chance(self, function: Callable[..., Any], tables: Mapping[str, pd.DataFrame], test: int) -> float | None:
        """What uniform play gives in a test's place; None where that cannot be said."""
        found = []
        try:
            for number in range(CHANCE_SETS):
                sets = {name: self.records.by_chance(table, number) for name, table in tables.items()}
                found.append(tests_of(function(**sets))[test].estimate)
        except (Missing, KeyError, AttributeError, NameError):  # uniform play has no tokens, for example
            return None
        return float(np.mean(found))

    def _as_captioned(self, function: Callable[..., Any], given: Mapping[str, Any], others: Mapping[str, str]) -> str:
        """What the statement gives with the variants that the tables truly show."""

        def changed(value: Any) -> Any:
            if isinstance(value, Rows):
                return self.records.rows(value.table, {key: changed(each) for key, each in value.where.items()})
            if isinstance(value, list | tuple):
                return [*dict.fromkeys(map(changed, value))]
            return others.get(value, value) if isinstance(value, str) else value

        returned = function(**{name: changed(value) for name, value in given.items()})
        true, text = all(test.true for test in tests_of(returned)), text_of_all(returned)
        names = ", ".join(f"{variant}: {name}" for variant, name in others.items())
        return f"as the tables show ({names}): {text} ({'true' if true else 'false'} there)"


def tests_of(returned: Any) -> list[Test]:
    """The tests among what a statement returns."""
    return [each for each in _flat(returned) if isinstance(each, Test)]


def text_of_all(returned: Any) -> str:
    """All that a statement returns, as text."""
    return "; ".join(filter(None, map(str, _flat(returned))))


def _flat(returned: Any) -> Iterator[Any]:
    if isinstance(returned, list | tuple):
        for each in returned:
            yield from _flat(each)
    else:
        yield returned


def on_edge(recorded: Sequence[Test], moved: Sequence[Sequence[Test]]) -> bool:
    """Whether the statement turns where one threshold, or a number of rows, moves by one step.

    `moved`: its tests in the records, for each way to move a threshold.
    """
    ways = [[tests[n].true for tests in moved] for n in range(len(recorded))]
    for n, test in enumerate(recorded):
        if not test.every and not test.single:
            hits, size = int(test.mask.sum()), len(test.mask)
            ways[n] += [bool(test.enough(hits + step, size)) for step in (1, -1)]
    true = [test.true for test in recorded]
    if all(true):
        return not all(each for way in ways for each in way)
    return true.count(False) == 1 and any(ways[true.index(False)])


# ---- how numbers are written


def words(row: Mapping[str, Any]) -> str:
    """A statement and its verdict, for the page."""
    numbers = ""
    if "stability" in row:
        numbers = f" · estimate {row['estimate']:.3g} ({row['low']:.3g} to {row['high']:.3g})"
        numbers += f" · {row['stability']:.0%} of {row['draws']} record sets agree"
        numbers += f" · chance {row['chance']:.3g}" if row["chance"] is not None else ""
    head = f"**{row['claim']}** ({row['published']})  \n*{row['verdict']}*{numbers}"
    return "  \n".join(filter(None, [head, row["recomputed"], row["why"]])).replace("|", "\\|")


def listed(numbers: Numbers) -> str:
    """'C4S 40.2, DS-R1 33.6'; of a table 'C4S (pp 40.2, ap 30.1), ...'."""
    if isinstance(numbers, pd.DataFrame):
        return ", ".join(f"{name_of(name)} ({listed(row)})" for name, row in numbers.iterrows())
    if [*numbers.index] == ["all"]:
        return text_of(numbers.iloc[0])
    return ", ".join(f"{name_of(name)} {text_of(value)}" for name, value in numbers.items())


def _spans(numbers: Numbers) -> str:
    table = numbers.to_frame("") if isinstance(numbers, pd.Series) else numbers
    kept = [name for name in table if is_numeric_dtype(table[name]) and not is_bool_dtype(table[name])]
    return "; ".join(f"{name} {text_of(table[name].min())} to {text_of(table[name].max())}".strip() for name in kept)


def name_of(key: Any) -> str:
    """A row's name; of several keys, with spaces between."""
    return " ".join(map(str, key)) if isinstance(key, tuple) else str(key)


def text_of(value: Any) -> str:
    """A number with as many decimals as its size asks for; anything else as it is."""
    if isinstance(value, str | bool | np.bool_ | int | np.integer):
        return str(value)
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def rounded(values: Any, digits: int = 1) -> Any:
    """As tables print them: half away from below, beyond what a processor's sum may lack."""
    unit = 10.0**-digits
    return (np.floor((values + unit / 2 + 1e-9) / unit) * unit).round(digits)


def printed_as(value: float | str, printed: str | float, off: int = 0) -> bool:
    """Whether a value rounds to a printed number at that number's decimals, or is a printed text; or is `off` by so many units."""
    if isinstance(value, str):
        return value == printed
    decimals = len(str(printed).partition(".")[2])
    return any(rounds_to(value, float(printed) + unit * 10.0**-decimals, decimals) for unit in range(-off, off + 1))


def rounds_to(value: Any, printed: Any, decimals: Any) -> Any:
    """Whether `value` (a number or a column) rounds to `printed` at that many decimals; half may round either way. False where absent."""
    return abs(value - printed) <= 0.5 * 10.0**-decimals + 1e-9
