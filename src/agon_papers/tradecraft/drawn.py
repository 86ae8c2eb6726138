"""The tables behind the TradeCraft figures: what is printed beside what the games give."""

from itertools import permutations

import pandas as pd

from agon_papers.tradecraft.counts import bars, heads, rates
from agon_papers.tradecraft.facts import DIMENSIONS, Facts, group_of
from agon_papers.tradecraft.scores import PLAYER, radars

MEASURES = {
    "invalid_behaviour": ("refusals", "turns", "invalid behaviour (calls per turn)"),
    "rejection": ("rejection", "decisions", "rejections (per received proposal)"),
    "turns": ("turns", "seats", "turns per game"),
}
"""Bar -> the measure of `rates` that Table 1 defines it as, what its n counts, and the unit."""

DONE = "As it was done: all craft checks, refused or not, and refused proposals; rejections as spelled;"
BAR_NOTES = {
    "j": [DONE, "means over a model's two pairs, an eleventh game of gpt-4o and claude added to the turns of ten"],
    "k": [DONE, "the sum of rejections over four players, half the sum of their turns"],
}
"""What is to be said with the bars."""


def radar_table(facts: Facts, panel: str) -> pd.DataFrame:
    """A panel of Figure 4 a to i: matchup, name, dimension, printed, value, n, low, high, games; recomputed as it was done."""
    printed = facts.figure_4[facts.figure_4.panel == panel].rename(columns={"measure": "dimension", "value": "printed"})
    return printed[[*PLAYER, "printed"]].merge(radars(facts, "reconciled"), on=PLAYER)


def radar_notes(table: pd.DataFrame, tolerance: float) -> list[str]:
    """What is to be said with a radar."""
    far = table[(table.value - table.printed).abs() > tolerance + 1e-9]
    off = ", ".join(f"{row.name} {DIMENSIONS[row.dimension]}" for row in far.itertuples(index=False))
    sizes = " to ".join(str(n) for n in sorted({table.n.min(), table.n.max()}))
    return [
        f"{sizes} scored turns a mark; second pass of the assessor",
        f"not as printed: {off}" if off else "all values as printed, to the width of reading them off",
    ]


def bar_panels(facts: Facts, panel: str) -> dict[str, pd.DataFrame]:
    """The three measures of Figure 4 j or k, by their unit.

    Tables: name, printed; value, n, games, low, high (as defined); least, most (as done); unit (of n).
    """
    defined, done = rates(facts).rename(columns={"group": "name"}), bars(facts, "reconciled")
    found = {}
    for measure, (column, counts, unit) in MEASURES.items():
        rows = facts.figure_4[(facts.figure_4.panel == panel) & (facts.figure_4.measure == measure)]
        ends = done[done.measure == measure].pivot(index="name", columns="statistic", values="value")
        printed = rows[["name", "value"]].rename(columns={"value": "printed"})
        found[unit] = printed.merge(defined[defined.measure == column]).merge(ends, on="name").assign(unit=counts)
    return found


def head_table(facts: Facts) -> pd.DataFrame:
    """Figure 5: `heads` with what the text prints, models first."""
    said = facts.text.set_index("key").value
    table, texts = heads(facts), []
    for row in table.itertuples():
        pair, back = (f"{a}_{b}" for a, b in permutations((group_of(row.one), group_of(row.other))))
        ends = {name: said.get(f"{pair}_{name}", said.get(f"{back}_{name}")) for name in ("both", "neither")}
        extra = "".join(f", {name} {count}" for name, count in ends.items() if count)
        known = pair in said and back in said
        texts.append(f"printed: {said[pair]} to {said[back]}{extra}" if known else "no numbers printed in the text")
    table = table.assign(printed=texts, persona=table.one.str.startswith("gemini-").astype(int))
    return table.sort_values(["persona", "matchup"], kind="stable").reset_index(drop=True)
