"""The tables behind the TradeCraft figures: what is printed beside what the games give."""

import numpy as np
import pandas as pd

from agon_papers.tradecraft import scores as tradecraft_scores
from agon_papers.tradecraft.counts import BARS, bars, heads, rates
from agon_papers.tradecraft.facts import DIMENSIONS, PANELS, Facts, group_of

MEASURES = {
    "invalid_behaviour": ("refusals", "turns", "invalid behaviour (calls per turn)"),
    "rejection": ("rejection", "decisions", "rejections (per received proposal)"),
    "turns": ("turns", "seats", "turns per game"),
}
"""Bar -> the measure of `rates` that Table 1 defines it as, what its n counts, and the unit."""


def radar_table(facts: Facts, panel: str) -> pd.DataFrame:
    """A panel of Figure 4 a to i: name, dimension, value, low, high, games, n, printed; recomputed as it was done."""
    found = tradecraft_scores.radars(facts, "reconciled")
    printed = facts.figure_4[facts.figure_4.panel == panel].rename(columns={"measure": "dimension", "value": "printed"})
    both = found.merge(printed[["matchup", "name", "dimension", "printed"]], on=["matchup", "name", "dimension"])
    order = {name: place for place, name in enumerate([*PANELS[panel], *DIMENSIONS])}
    both = both.assign(printed=both.printed.astype(float), one=both.name.map(order), two=both.dimension.map(order))
    return both.sort_values(["one", "two"], kind="stable").drop(columns=["one", "two"]).reset_index(drop=True)


def radar_notes(table: pd.DataFrame, tolerance: float) -> list[str]:
    """What is to be said with a radar."""
    far = table[(table.value - table.printed).abs() > tolerance + 1e-9]
    off = ", ".join(f"{row.name} {DIMENSIONS[row.dimension]}" for row in far.itertuples(index=False))
    least, most = int(table.n.min()), int(table.n.max())
    sizes = f"{least if least == most else f'{least} to {most}'} scored turns a mark; second pass of the assessor"
    return [sizes, f"not as printed: {off}" if off else "all values as printed, to the width of reading them off"]


def bar_table(facts: Facts, counted: pd.DataFrame, panel: str, measure: str) -> pd.DataFrame:
    """A measure of Figure 4 j or k: name, n, unit, games, printed, value, low, high (as defined), least, most (as done)."""
    column, unit, _ = MEASURES[measure]
    defined = rates(counted)
    defined = defined[defined.measure == column].set_index("group")
    done = bars(facts, counted, "reconciled")
    done = done[(done.panel == panel) & (done.measure == measure)]
    ends = done.pivot(index="name", columns="statistic", values="value")
    rows = facts.figure_4[(facts.figure_4.panel == panel) & (facts.figure_4.measure == measure)]
    names = [name for name in BARS[panel] if name in defined.index]
    printed = rows.set_index("name").value.astype(float)[names]
    table = defined.loc[names, ["value", "low", "high", "n", "games"]].join(ends)
    return table.assign(printed=printed, unit=unit).rename_axis("name").reset_index()


def bar_panels(facts: Facts, counted: pd.DataFrame, panel: str) -> dict[str, pd.DataFrame]:
    """Unit -> `bar_table` for the three measures of a panel."""
    return {unit: bar_table(facts, counted, panel, measure) for measure, (_, _, unit) in MEASURES.items()}


BAR_NOTES = {
    "j": [
        "As it was done: all craft checks, refused or not, and refused proposals; rejections as spelled;",
        "means over a model's two pairs, an eleventh game of gpt-4o and claude added to the turns of ten",
    ],
    "k": [
        "As it was done: all craft checks, refused or not, and refused proposals; rejections as spelled;",
        "the sum of rejections over four players, half the sum of their turns",
    ],
}
"""What is to be said with the bars."""


def head_table(facts: Facts) -> pd.DataFrame:
    """Figure 5: `heads` with what the text prints, models first."""
    table = heads(facts)
    said = facts.text.set_index("key").value
    rows = []
    for row in table.itertuples():
        one, other = group_of(row.one), group_of(row.other)
        wins = [said.get(f"{a}_{b}", "") for a, b in ((one, other), (other, one))]
        ends = {
            name: said.get(f"{one}_{other}_{name}", said.get(f"{other}_{one}_{name}", ""))
            for name in ("both", "neither")
        }
        extra = "".join(f", {name} {count}" for name, count in ends.items() if count)
        rows.append(f"printed: {wins[0]} to {wins[1]}{extra}" if all(wins) else "no numbers printed in the text")
    model = ~table.one.str.startswith("gemini-")
    found = table.assign(printed=rows, persona=np.where(model, 0, 1))
    return found.sort_values(["persona", "matchup"], kind="stable").reset_index(drop=True)


def outcome_table(facts: Facts) -> pd.DataFrame:
    """Figure 6: `tradecraft_scores.outcomes` of both passes, with their source."""
    parts = [
        tradecraft_scores.outcomes(facts, run).assign(source=tradecraft_scores.PASSES[run])
        for run in sorted(tradecraft_scores.PASSES, reverse=True)
    ]
    return pd.concat(parts, ignore_index=True)
