"""Comparisons in words: what was found, what was left out, and why something is absent."""

from collections.abc import Collection, Sequence
from math import isclose
from typing import Any

import pandas as pd

from agon.errors import count
from agon.scores import Known
from agon_design.units import in_both


def pair_told(row: Any) -> str:
    """A row of the pairs: what two conditions have, how far they are apart, and what that is worth."""
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


def condition_told(row: Any) -> str:
    """A row of the conditions: its matches, and what became of its answers."""
    told = f"{count(row.matches, 'match')}, {count(row.answers, 'answer')}"
    return f"{row.condition}: {told}, {row.void:,} void, {row.replaced:,} replaced, {row.cut_off:,} cut off"


def held_fixed(table: pd.DataFrame, strata: Sequence[str]) -> str:
    """What the conclusions are about, and what they are not about."""
    nouns = [each for each in ("game", "variant", "agent", "model", "opponent") if each in strata]
    counts = {noun: table[noun][table[noun].ne("")].nunique() for noun in nouns}
    told = [count(number, noun) for noun, number in counts.items() if number]
    these = f"{', '.join(told[:-1])} and {told[-1]}" if len(told) > 1 else "".join(told) or "these strata"
    return (
        f"note: held fixed: {these}; interval and p hold for these alone, not for models, opponents or games in general"
    )


def why_apart(units: pd.DataFrame, name: str, pair: tuple[str, str], strata: Sequence[str]) -> str:
    """Why two conditions cannot be compared."""
    gone = [each for each in pair if units[name][units.condition == each].isna().all()]
    if gone:
        own = units[units.condition == gone[0]]
        silent = f": in {own.silent.sum():,} of {len(own):,} a seat gave no answer at all" if own.silent.any() else ""
        return f"no match of {gone[0]} has {name}{silent}"
    apart = [each for each in strata if in_both(units, name, pair, [key for key in strata if key != each])[1]]
    less = [key for key in strata if key not in apart[:1]]
    hint = ": name what they share with --within COLUMN,COLUMN"
    if apart:
        hint = f": they never have the same {' or '.join(apart)}; --within {','.join(less)} compares them all the same"
    return f"{pair[0]} and {pair[1]} share no stratum ({', '.join(strata)}){hint}"


def left_out(
    units: pd.DataFrame, names: Sequence[str], asking: Collection[str], table: pd.DataFrame, strata: Sequence[str]
) -> list[str]:
    """What does not count, in words."""
    notes = []
    played = [name for name in names if name not in asking]
    less = f" of {', '.join(played)}" if len(played) < len(names) else ""
    for condition, own in units.groupby("condition"):
        if played and (silent := int(own.silent.sum())):
            notes.append(f"note: {of_matches(silent, own)} of {condition} without any answer of a seat, left out{less}")
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
                notes.append(
                    f"note: {of_matches(alone, own)} of {condition} in no stratum{of} that another has: left out"
                )
    return notes


def without_value(units: pd.DataFrame, metrics: Sequence[Known], turns: pd.DataFrame) -> list[str]:
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
            note = f"note: {of_matches(absent, own)} of {condition} without {metric.name}: {', '.join(why)}"
            notes.append(f"{note} ({metric.gives})" if named else note)
    return notes


def of_matches(some: int, every: Collection[Any]) -> str:
    """`3 of 8 matches`."""
    return f"{some:,} of {count(len(every), 'match')}"
