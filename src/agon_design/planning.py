"""What a plan can decide: the smallest difference that it can show, and what a wanted one takes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import click
import pandas as pd

from agon.cli.places import Settings, experiment_of
from agon.conf import recorded_games
from agon.errors import count
from agon.models import Model
from agon.paths import ROOT, input_path
from agon.plan import Match
from agon.record.estimate import estimates
from agon.record.habits import Habits
from agon.record.load import Load
from agon.turns import read, read_games
from agon_design.power import ALL, MOST, Design, design, variances
from agon_design.words import say_columns


def power(settings: Settings, metric: str, detect: float | None, sd: float | None, variance: str | None) -> None:
    """Prints the smallest detectable difference, the matches that a wanted one needs, and what a budget can detect."""
    name, matches, models, _ = experiment_of(settings)
    games = {match.game.name for match in matches}
    usual = () if variance is None and sd is not None else (name, *recorded_games())
    varying, files = _recorded_variances(
        variance.split(",") if variance else _existing_transcripts(usual), metric, games
    )
    assumed = sd or 1.0
    planned = design(matches, varying, assumed)
    comparisons = planned.comparisons()
    if comparisons.empty:
        click.echo("nothing is compared here: all matches of a game have the same agent and the same model")
        return
    bare = int((planned.cells.basis == "assumed").sum())
    basis = (
        f"spread as in {', '.join(files)}, upper 80 % limit"
        if bare < len(planned.cells)
        else f"spread {assumed:g}, assumed"
    )
    if 0 < bare < len(planned.cells):
        basis += f"; {bare:,} of {len(planned.cells):,} cells are in no record: there {assumed:g} is assumed"
    unit = f"{metric}, in standard deviations within a cell" if bare and sd is None else metric
    click.echo(f"smallest difference found with a power of 80 % (t test, two-sided 5 %): {unit}; {basis}")
    say_columns(
        [["game", "variant", "by", "pairs", "shared cells", "matches of each condition", "sd", "df", "detects"]],
        comparisons,
    )
    if comparisons.game.eq(ALL).any():
        click.echo(f"{ALL}: over all games and variants, as `agon compare` counts matches of each condition")
    if comparisons.df.notna().any():
        click.echo(
            "sd: the true spread is larger with a chance of 20 %; df: degrees of freedom of the records behind it"
        )
    if comparisons.detectable.isna().any():
        click.echo("-: with one match of each in one cell no difference can be told from chance")
    by_kind, by_model = _prices(matches, models)
    if detect is not None:
        click.echo(_explain_needed(planned, detect, by_model))
    if settings["budget"]["usd"] is not None and models:
        click.echo(_explain_affordable(planned, settings["budget"]["usd"], by_kind, by_model))


def _explain_needed(planned: Design, difference: float, by_model: pd.Series) -> str:
    """The matches that a difference needs, and their cost."""
    number = planned.needed(difference)
    line = f"a difference of {difference:g} in each of these takes"
    if number is None:
        return f"{line} more than {MOST:,} matches in a cell"
    comparisons, kinds = planned.comparisons(dict.fromkeys(planned.kinds.index, number)), len(planned.kinds)
    of_condition = comparisons.n[comparisons.game != ALL]
    sizes = " to ".join(f"{size:,.0f}" for size in sorted({of_condition.min(), of_condition.max()}))
    each = " of a game and variant" * (len(of_condition) < len(comparisons))
    line += f" {sizes} matches of each condition{each} ({number:,} in each of {count(kinds, 'kind')}, {number * kinds:,} in all)"
    if by_model.empty:
        return line
    costs = by_model * number
    parts = (f"{model} {'unknown' if cost != cost else f'{cost:,.2f}'}" for model, cost in costs.items())
    return f"{line}: about {costs.sum():,.2f} USD ({', '.join(parts)})"


def _explain_affordable(planned: Design, usd: float, by_kind: pd.Series, by_model: pd.Series) -> str:
    """What can be detected for so many dollars, in the proportions planned."""
    if by_kind.isna().any():
        unknown = ", ".join(by_model.index[by_model.isna()])
        return f"{usd:g} USD: what a match of {unknown} costs is not known: no price in conf/model"
    if not by_kind.sum():
        return f"{usd:g} USD: these matches cost nothing"
    if 2 * by_kind.sum() > usd:
        least = f"{2 * by_kind.sum():,.2f}"
        return f"{usd:g} USD are not two matches of each kind, which cost about {least}: leave some out"
    n = planned.scaled(usd / float((by_kind * planned.kinds.n).sum()))
    least = planned.comparisons(n).groupby("by").detectable.max()
    detects = ", ".join(f"{value:.3g} by {by}" for by, value in least.items())
    return f"{usd:g} USD: {count(int(n.sum()), 'match')}, {n @ by_kind:,.2f} USD, detect {detects}"


def _existing_transcripts(experiments: Sequence[str]) -> list[str]:
    """The transcript of the first of some experiments, or else those of the others."""
    files = [f"transcripts/{name}.parquet" for name in experiments]
    first = [name for name in files[:1] if input_path(name).is_file()]
    return first or [name for name in files[1:] if input_path(name).is_file()]


def _recorded_variances(
    files: Sequence[str], metric: str, games: Collection[str]
) -> tuple[pd.DataFrame | None, list[str]]:
    """How recorded matches of these games vary, and the files that say so."""
    tables = {file: turns[turns.game.isin(games)] for file, turns in zip(files, map(read, files), strict=True)}
    tables_of_variances = {
        file: variances(turns, read_games(file), metric) for file, turns in tables.items() if len(turns)
    }
    return (pd.concat(tables_of_variances.values()) if tables_of_variances else None), list(tables_of_variances)


def _prices(matches: Sequence[Match], models: Mapping[str, Model]) -> tuple[pd.Series, pd.Series]:
    """Expected costs in US dollars: of a match by kind, and of one match of every kind by model. Absent if a price is
    unknown."""
    first = {match.config: match for match in reversed(matches)}
    by_match: dict[tuple[str, str], tuple[Load, float | None]] = {}
    if models:
        estimates([*first.values()], models, None, Habits(ROOT / "data/recordings"), by_match)
    kinds = {match.id: kind for kind, match in first.items()}
    rows = [(kinds[match], model, cost) for (match, model), (_, cost) in by_match.items()]
    costs = pd.DataFrame(rows, columns=["kind", "model", "usd"]).astype({"usd": float})
    by_kind, by_model = (
        costs.groupby(key).usd.agg(lambda costs_of_group: costs_of_group.sum(skipna=False)) for key in ("kind", "model")
    )
    return by_kind.reindex(list(first), fill_value=0.0), by_model
