"""The TradeCraft paper's printed numbers against its recorded games: Figure 4 (radars and bars), Figure 5 and section 4's text."""

import numpy as np
import pandas as pd

from agon_papers.tradecraft.counts import bars, heads, tallies
from agon_papers.tradecraft.facts import PANELS, PAPER, Facts
from agon_papers.tradecraft.scores import radars

READINGS = ("literal", "reconciled")

COLUMNS = ["paper", "table", "row", "column", "statistic", "published", "recomputed", "agrees", "reading"]

RADAR = 0.005 + 0.0005
"""How far a radar's value may be off: it was read off the picture to 0.005, and has three decimals."""
BAR = 0.005 + 0.005
"""The same of a bar, read to two decimals."""

ROUNDING = 1e-9

PAIRS = (("gpt-4o", "claude"), ("gpt-4o", "gemini"), ("claude", "gemini"))
PERSONA_PAIRS = (("cooperative", "competitive"), ("unprimed", "competitive"))
"""The pairs of Figure 5 that the text gives numbers of."""

EXCHANGED = {"cooperative": "unprimed", "unprimed": "cooperative", "competitive": "competitive"}
"""Reconciled: the two ratios of section 4.3 belong to each other's pairs."""


def cells(facts: Facts, reading: str) -> pd.DataFrame:
    """Every printed number of section 4 that the records give, beside what they give; see COLUMNS.

    Statistics: mean; least and most (what unlogged turns leave open; agrees if the printed number is not beyond); count. Where there
    are no records, recomputed is absent and it does not agree.
    """
    found = pd.concat([_radars(facts, reading), _bars(facts, reading), _counts(facts, reading)], ignore_index=True)
    apart = found.recomputed - found.published
    slack = found.tolerance + ROUNDING
    agrees = (apart.abs() <= slack).where(
        ~found.statistic.isin(["least", "most"]),
        ((found.statistic == "least") & (apart <= slack)) | ((found.statistic == "most") & (apart >= -slack)),
    )
    return found.assign(paper=PAPER, agrees=agrees, reading=reading)[COLUMNS]


def _radars(facts: Facts, reading: str) -> pd.DataFrame:
    printed = facts.figure_4[facts.figure_4.panel.isin(list(PANELS))]
    found = radars(facts, reading).rename(columns={"dimension": "measure", "value": "recomputed"})
    keys = ["matchup", "name", "measure"]
    both = printed.merge(found[[*keys, "recomputed"]], on=keys, how="left")
    return _named(both.assign(statistic="mean", tolerance=RADAR))


def _bars(facts: Facts, reading: str) -> pd.DataFrame:
    printed = facts.figure_4[~facts.figure_4.panel.isin(list(PANELS))]
    found = bars(facts, tallies(facts), reading).rename(columns={"value": "recomputed"})
    both = printed.merge(found, on=["panel", "name", "measure"], how="left")
    return _named(both.assign(statistic=both.statistic.fillna("mean"), tolerance=BAR))


def _named(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of figure_4.csv under the columns' names."""
    named = rows.assign(table="figure 4" + rows.panel, row=rows.name, column=rows.measure)
    named["published"] = rows.value.astype(float)
    return named[["table", "row", "column", "statistic", "published", "recomputed", "tolerance"]]


def _counts(facts: Facts, reading: str) -> pd.DataFrame:
    """Numbers of the text. A win is a game that the player won and the other did not, as the figure's caption has it."""
    rows = [
        ("text 4", "all", "initial states", "states", float(facts.players.problem.nunique())),
        ("text 4.4", "persona games", "records", "records", float(persona_games(facts))),
    ]
    pairs = [(pair, pair, "figure 5a") for pair in PAIRS]
    for pair in PERSONA_PAIRS:
        taken = tuple(EXCHANGED[name] for name in pair) if reading == "reconciled" else pair
        pairs.append((pair, (taken[0], taken[1]), "figure 5b"))
    for (one, other), (taken_one, taken_other), table in pairs:
        won = head_to_head(facts, taken_one, taken_other)
        row = f"{one} against {other}"
        said = {f"{one}_{other}": (one, won[0]), f"{other}_{one}": (other, won[1])}
        said |= {
            f"{one}_{other}_{name}": (name, count) for name, count in zip(("both", "neither"), won[2:], strict=True)
        }
        rows += [(table, row, name, key, count) for key, (name, count) in said.items() if key in set(facts.text.key)]
    table = pd.DataFrame(rows, columns=["table", "row", "column", "key", "recomputed"])
    published = [facts.said(key) for key in table.key]
    return table.assign(statistic="count", published=published, tolerance=0.0).drop(columns="key")


def persona_games(facts: Facts) -> int:
    """Logged games of personas."""
    return int(facts.players[facts.players.name.str.startswith("gemini-")].match.nunique())


def head_to_head(facts: Facts, one: str, other: str) -> tuple[float, float, float, float]:
    """Games between two models or personas: won by one alone, by the other alone, by both, by neither. Absent if there are none."""
    table = heads(facts)
    names = {"one": table.one.str.removeprefix("gemini-"), "other": table.other.str.removeprefix("gemini-")}
    for first, second in ((one, other), (other, one)):
        found = table[(names["one"] == first) & (names["other"] == second)]
        if len(found):
            row = found.iloc[0]
            alone = (row.only_one, row.only_other) if first == one else (row.only_other, row.only_one)
            return float(alone[0]), float(alone[1]), float(row.both), float(row.neither)
    return np.nan, np.nan, np.nan, np.nan
