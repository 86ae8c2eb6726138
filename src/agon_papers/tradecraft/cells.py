"""Compares the TradeCraft paper's printed numbers with its records: Figures 4 and 5, the text, Table 2."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from agon_papers.cells import COLUMNS
from agon_papers.tradecraft.counts import bars, head_to_head
from agon_papers.tradecraft.facts import DIMENSIONS, MODELS, PAPER, PERSONAS, Facts
from agon_papers.tradecraft.scores import radars

RADAR = 0.005 + 0.0005
"""Tolerance of a radar's value, which was read off the picture to 0.005 and has three decimals."""
BAR = 0.005 + 0.005
"""Tolerance of a bar, which was read off to two decimals."""

ROUNDING = 1e-9

PERSONA_PAIRS = (("cooperative", "competitive"), ("unprimed", "competitive"))
"""The pairs of Figure 5 b with numbers in the text."""

EXCHANGED = {PERSONA_PAIRS[0]: PERSONA_PAIRS[1], PERSONA_PAIRS[1]: PERSONA_PAIRS[0]}
"""Reconciled: the two ratios of section 4.3 have changed places."""

WHY = {
    "2": "neither the judgements of theory of mind nor the thoughts that were judged are published",
    "text C.3": "the human scores are not published",
}
"""Table -> the reason why its numbers cannot be recomputed."""


def cells(facts: Facts, reading: str) -> pd.DataFrame:
    """Every printed number of section 4 and of C.3, beside its recomputed value; see COLUMNS.

    Statistics: mean; count; least and most, the bounds from turns that are not logged (they agree if the printed number
    lies within). Without records, recomputed is absent and the number does not agree.
    """
    parts = [_figure_4(facts, reading), _counts(facts, reading), _unrecorded(facts)]
    table = pd.concat(parts, ignore_index=True)
    apart = table.recomputed - table.published
    slack = table.tolerance + ROUNDING
    below, above = apart <= slack, apart >= -slack
    agrees = (below | (table.statistic == "most")) & (above | (table.statistic == "least"))
    return table.assign(paper=PAPER, agrees=agrees, reading=reading)[COLUMNS]


def _figure_4(facts: Facts, reading: str) -> pd.DataFrame:
    """Radars, then bars. The names of players occur in two radars each, so the matchup tells these apart."""
    marks = radars(facts, reading).rename(columns={"dimension": "measure"}).assign(statistic="mean")
    keys = ["name", "measure"]
    radar = facts.figure_4.measure.isin(list(DIMENSIONS))
    parts = [
        facts.figure_4[radar].merge(marks, on=["matchup", *keys], how="left", suffixes=("_printed", "")),
        facts.figure_4[~radar].merge(bars(facts, reading), on=keys, how="left", suffixes=("_printed", "")),
    ]
    table = pd.concat([parts[0].assign(tolerance=RADAR), parts[1].assign(tolerance=BAR)])
    names = {"name": "row", "measure": "column", "value_printed": "published", "value": "recomputed"}
    columns = ["table", "row", "column", "statistic", "published", "recomputed", "tolerance"]
    return table.assign(table="figure 4" + table.panel).fillna({"statistic": "mean"}).rename(columns=names)[columns]


def _counts(facts: Facts, reading: str) -> pd.DataFrame:
    """Numbers of the text. A win is a game that the player won and the other did not, as in the figure's caption."""
    personas = facts.players[facts.players.group.isin(PERSONAS)]
    rows = [
        ("text 4", "all", "initial states", "states", facts.players.problem.nunique()),
        ("text 4.4", "persona games", "records", "records", personas.match.nunique()),
    ]
    for one, other in (*combinations(MODELS, 2), *PERSONA_PAIRS):
        table = f"figure 5{'b' if (one, other) in PERSONA_PAIRS else 'a'}"
        pair = EXCHANGED.get((one, other), (one, other)) if reading == "reconciled" else (one, other)
        counts: Sequence[float] = head_to_head(facts, *pair) or [np.nan] * 4
        keys = (f"{one}_{other}", f"{other}_{one}", f"{one}_{other}_both", f"{one}_{other}_neither")
        for name, key, count in zip((one, other, "both", "neither"), keys, counts, strict=True):
            if key in set(facts.text.key):
                rows.append((table, f"{one} against {other}", name, key, count))
    numbers = pd.DataFrame(rows, columns=["table", "row", "column", "key", "recomputed"]).astype({"recomputed": float})
    return numbers.assign(statistic="count", published=numbers.key.map(facts.text_number), tolerance=0.0).drop(
        columns="key"
    )


def _unrecorded(facts: Facts) -> pd.DataFrame:
    """Theory of mind (Table 2) and the human study (C.3)."""
    orders = facts.table_2.rename(columns={"name": "row", "order": "column", "value": "published"}).assign(table="2")
    study = facts.text[facts.text.key.str.startswith("human_")]
    columns = study.key.str.removeprefix("human_")
    humans = pd.DataFrame({"table": "text C.3", "row": "human raters", "column": columns, "published": study.value})
    table = pd.concat([orders, humans.astype({"published": float})])
    return table.assign(statistic="mean", recomputed=np.nan, tolerance=0.0)
