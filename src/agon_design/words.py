"""Comparisons in words: results, matches left out, and reasons for absent numbers."""

from collections.abc import Collection, Sequence
from math import isclose
from typing import Any

import click
import pandas as pd

from agon.errors import count, visible
from agon.scores import Metric
from agon_design.units import in_both


def say_columns(head: list[list[str]], table: pd.DataFrame) -> None:
    """Prints a table in columns: texts as they are, whole numbers in full, other numbers to three digits, "-" for absent ones."""
    lines = [
        [
            value
            if isinstance(value, str)
            else "-"
            if value != value
            else f"{value:,.3g}"
            if value % 1
            else f"{value:,.0f}"
            for value in row
        ]
        for row in table.itertuples(index=False)
    ]
    rows = [*head, *lines]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        click.echo(visible("  ".join(map(str.ljust, row, widths)).rstrip()))


def explain_pair(row: Any) -> str:
    """A row of the pairs: means, difference, effect size, p, and the number of matches that shows it."""
    unit = "pairs" if row.how == "paired" else "matches of each condition"
    floor = row.p_error > 0 and isclose(row.p, row.p_error)  # no arrangement differs as much: p is 1 / (draws + 1)
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
    sizes = [f"{row.needed:,.0f} {unit} at this difference"] if row.needed == row.needed else []
    if "needed_to_detect" in row._fields and row.needed_to_detect == row.needed_to_detect:
        sizes.append(f"{row.needed_to_detect:,.0f} {unit} at a difference of {row.detect:g}")
    behind = f" (spread {row.spread:.3g}, {count(int(row.df), 'degree')} of freedom)"
    return "\n".join([*lines, *([f"  for a power of 80 %: {', '.join(sizes)}{behind}"] if sizes else [])])


def _signed(row: Any) -> str:
    has_interval = row.low == row.low
    return (
        f"{row.difference:+.4g} (95 % interval {row.low:+.4g} to {row.high:+.4g})"
        if has_interval
        else f"{row.difference:+.4g}"
    )


def explain_condition(row: Any) -> str:
    """A row of the conditions: its matches, and counts of its answers."""
    counts = f"{count(row.matches, 'match')}, {count(row.answers, 'answer')}"
    return f"{row.condition}: {counts}, {row.void:,} void, {row.replaced:,} replaced, {row.cut_off:,} cut off"


def explain_fixed(table: pd.DataFrame, strata: Sequence[str]) -> str:
    """The note on what the conclusions are about, and what they are not about."""
    nouns = [noun for noun in ("game", "variant", "agent", "model", "opponent") if noun in strata]
    counts = {noun: table[noun][table[noun].ne("")].nunique() for noun in nouns}
    phrases = [count(number, noun) for noun, number in counts.items() if number]
    these = f"{', '.join(phrases[:-1])} and {phrases[-1]}" if len(phrases) > 1 else "".join(phrases) or "these strata"
    return (
        f"note: held fixed: {these}; interval and p hold for these alone, not for models, opponents or games in general"
    )


def explain_missing_pair(units: pd.DataFrame, name: str, pair: tuple[str, str], strata: Sequence[str]) -> str:
    """The reason why two conditions cannot be compared by a metric."""
    without = [column for column in pair if units[name][units.condition == column].isna().all()]
    if without:
        rows = units[units.condition == without[0]]
        silent = (
            f": in {rows.silent.sum():,} of {len(rows):,} a seat gave no answer at all" if rows.silent.any() else ""
        )
        return f"no match of {without[0]} has {name}{silent}"
    several = strata if len(strata) > 1 else ()
    apart = [column for column in several if in_both(units, name, pair, [key for key in strata if key != column])[1]]
    less = [key for key in strata if key not in apart[:1]]
    hint = ": name what they share with --within COLUMN,COLUMN"
    if apart:
        hint = f": they never have the same {' or '.join(apart)}; --within {','.join(less)} compares them all the same"
    return f"{pair[0]} and {pair[1]} share no stratum ({', '.join(strata)}){hint}"


def explain_left_out(
    units: pd.DataFrame, names: Sequence[str], asking: Collection[str], table: pd.DataFrame, strata: Sequence[str]
) -> list[str]:
    """Notes on the matches that do not count."""
    notes = []
    of_play = [name for name in names if name not in asking]
    less = f" of {', '.join(of_play)}" if len(of_play) < len(names) else ""
    for condition, rows in units.groupby("condition"):
        if of_play and (silent := int(rows.silent.sum())):
            notes.append(
                f"note: {of_matches(silent, rows)} of {condition} left out{less}: a seat gave no answer in them"
            )
    compared = {*table["first"], *table["second"]}
    if both := sum(not compared.isdisjoint(others) for others in units.beside[units.condition.isin(compared)]):
        notes.append(
            f"note: in {count(both, 'match')} two of the conditions sit at the table: each counts once, for the first seat"
        )
    for name in names:
        for condition, rows in units.groupby("condition"):
            in_some = table[(table.metric == name) & ((table["first"] == condition) | (table["second"] == condition))]
            keys = pd.MultiIndex.from_frame(rows[list(strata)])
            unshared = int((~keys.isin(pd.MultiIndex.from_frame(in_some[list(strata)])) & rows[name].notna()).sum())
            if unshared:
                of = f" with {name}" if len(names) > 1 else ""
                notes.append(
                    f"note: {of_matches(unshared, rows)} of {condition} in no stratum{of} that another has: left out"
                )
    return notes


def explain_missing_values(units: pd.DataFrame, metrics: Sequence[Metric], turns: pd.DataFrame) -> list[str]:
    """Notes on the matches without a value of a metric, and the reasons."""
    game_of_match = turns.drop_duplicates("match")[["match", "game"]].astype(str).set_index("match").game
    games, notes = units["match"].map(game_of_match), []
    for metric in metrics:
        has_value = units[metric.name].notna()
        lacking = ~has_value & (metric.of_asking | ~units.silent)
        without = lacking & ~games.isin(set(games[has_value]))
        for condition, rows in units.groupby("condition"):
            if not (absent := int(lacking[rows.index].sum())):
                continue
            games_without = sorted(set(games[rows.index][without[rows.index]]))
            rest = absent - int(without[rows.index].sum())
            why = [f"{', '.join(games_without)} {'has' if len(games_without) == 1 else 'have'} none"] * bool(
                games_without
            )
            why += [f"in {rest:,} nothing counts for it" if games_without else "nothing in them counts for it"] * bool(
                rest
            )
            note = f"note: {of_matches(absent, rows)} of {condition} without {metric.name}: {', '.join(why)}"
            notes.append(f"{note} ({metric.gives})" if games_without else note)
    return notes


def of_matches(some: int, every: Collection[Any]) -> str:
    """`3 of 8 matches`."""
    return f"{some:,} of {count(len(every), 'match')}"
