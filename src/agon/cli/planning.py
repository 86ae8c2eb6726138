"""What a plan asks of models, and what it can decide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from agon.cli.places import Settings, experiment_of, say_cautions
from agon.cli.words import bill_of, clock, number_of, say_columns
from agon.errors import count
from agon.paths import ROOT, input_path, shown

if TYPE_CHECKING:
    from pandas import DataFrame, Series

    from agon.models import Model
    from agon.plan import Match
    from agon.record.habits import Habits


def plan(settings: Settings) -> None:
    """The bill, unpaid: ranges of calls, tokens, cost, time.

    experiment=NAME is a file in conf/experiment; experiment.repetitions=2 changes a part of it; batch=true asks in batches.
    power=true says what the design can detect of `metric`, detect=2 how many matches show a difference of 2, and with
    budget.usd=50 what 50 dollars can decide; variance=[FILE,FILE] are turns whose matches vary alike (docs/how-to/plan-a-design.md).
    """
    from agon.models.batch import Journal, batched
    from agon.record.estimate import estimates
    from agon.record.habits import Habits

    name, matches, models, recording = experiment_of(settings)
    variants = Counter((match.game.name, match.game.variant) for match in matches)
    for game, several in Counter(match.game.name for match in matches).items():
        own = [variant for name, variant in variants if name == game]
        number, _, noun = count(several, "match").partition(" ")
        click.echo(f"{game:14} {number:>10} {noun}: {', '.join(own) if len(own) <= 8 else count(len(own), 'setting')}")
    moves = [(match.game.fixed_rounds or 0) * match.game.seats for match in matches]
    decisions = f"{sum(moves):,} decisions, " if all(moves) else ""
    agents = {seat.agent for match in matches for seat in match.seats}
    click.echo(f"{count(len(matches), 'match')}, {decisions}{count(len(agents), 'agent')}")
    say_cautions(settings)
    if not models:
        click.echo("all scripts: no calls, no cost")
        _say_power(settings, name, matches, models, None)
        return
    if len(recording):
        click.echo(f"recorded already: {count(len(recording), 'exchange')} in {shown(recording.path)}; what is left:")
    if settings["batch"]:
        models = batched(models, Journal(recording.path.parent, recording.holds), click.echo)
    habits = Habits(ROOT / "data/recordings")
    rows = estimates(matches, models, recording, habits)
    width = max(len("  likely from"), *(len(name) for name in models))
    click.echo(f"{'':{width}} {'matches':>9} {'calls':>9} {'tokens in':>14} {'tokens out':>14} {'USD':>12} {'time':>9}")
    for each in rows:
        usds = [None] * 3 if each.usd is None else [*each.usd]
        likely = each.load.calls != each.calls
        ends = ("  likely from", "  likely to") if likely else ("  at least", "  at most")
        for line, place in zip((each.model, *ends), (1, 0, 2), strict=True):
            calls, sent, received = (number_of(part[place]) for part in each.load)
            usd = usds[place]
            told = "unknown" if usd is None else number_of(usd, ",.2f")
            played = f"{each.matches:,}" if place == 1 else ""
            click.echo(
                f"{line:{width}} {played:>9} {calls:>9} {sent:>14} {received:>14} {told:>12} {clock(each.seconds[place]):>9}"
            )
        day = models[each.model].priced
        priced = "no price" if each.usd is None else f"price as of {day}" if day else ""
        bounds = f"; {each.calls.low:,.0f} calls at least, {number_of(each.calls.high)} at most" if likely else ""
        click.echo(f"  {each.basis}{bounds}" + (f"; {priced} in conf/model/{each.model}.yaml" if priced else ""))
    click.echo(bill_of(rows))
    _say_power(settings, name, matches, models, habits)


def _say_power(
    settings: Settings, name: str, matches: Sequence[Match], models: Mapping[str, Model], habits: Habits | None
) -> None:
    """What the design can detect, what a wanted difference takes, and what the budget can decide: where it is asked for."""
    wanted, metric, usd = settings["detect"], settings["metric"], settings["budget"]["usd"]
    if not (settings["power"] or wanted):
        return
    from agon.inference.power import design

    varying, files = _varying(settings, name, {match.game.name for match in matches})
    assumed = settings["sd"] or 1.0
    made = design(matches, varying, assumed)
    found = made.comparisons()
    if found.empty:
        click.echo("nothing is compared here: all matches of a game have the same agent and the same model")
        return
    bare = int((made.cells.basis == "assumed").sum())
    basis = f"spread as in {', '.join(files)}" if bare < len(made.cells) else f"spread {assumed:g}, assumed"
    if 0 < bare < len(made.cells):
        basis += f"; {bare:,} of {len(made.cells):,} cells are in no record: there {assumed:g} is assumed"
    unit = f"{metric}, in standard deviations within a cell" if bare and not settings["sd"] else metric
    click.echo(f"smallest difference found with a power of 80 % (t test, two-sided 5 %): {unit}; {basis}")
    say_columns([["game", "variant", "by", "pairs", "shared cells", "matches of each", "sd", "detects"]], found)
    if found.detectable.isna().any():
        click.echo("-: with one match of each in one cell no difference can be told from chance")
    prices, by_model = _prices(matches, models, habits)
    if wanted:
        each, kinds = made.needed(wanted), len(made.kinds)
        told = "more than a million matches" if each is None else count(each, "match")
        cost = f": {_dollars(by_model * each)}" if each and models else ""
        click.echo(f"a difference of {wanted:g} in each of these takes {told} of each of {kinds:,} kinds{cost}")
    if usd is None or not models:
        return
    if prices.isna().any():
        unknown = ", ".join(by_model.index[by_model.isna()])
        click.echo(f"{usd:g} USD: what a match of {unknown} costs is not known: no price in conf/model")
        return
    if not prices.sum():
        click.echo(f"{usd:g} USD: these matches cost nothing")
        return
    if 2 * prices.sum() > usd:
        click.echo(
            f"{usd:g} USD are not two matches of each kind, which cost about {2 * prices.sum():,.2f}: leave some out"
        )
        return
    even, best = made.scaled(usd / float((prices * made.kinds.n).sum())), made.allocated(prices, usd)
    for title, n in (("in the proportions planned", even), ("placed by Neyman", best)):
        least = made.comparisons(n).groupby("by").detectable.max()
        told = ", ".join(f"{value:.3g} by {by}" for by, value in least.items())
        low, high = (
            f"{n[at]:,} ({made.kinds.game[at]} {made.kinds.variant[at]}, {made.kinds.players[at]})"
            for at in (n.idxmin(), n.idxmax())
        )
        click.echo(
            f"{usd:g} USD {title}: {count(n.sum(), 'match')}, {n @ prices:,.2f} USD, detect {told}; of a kind {low} to {high}"
        )


def _varying(settings: Settings, name: str, games: Collection[str]) -> tuple[DataFrame | None, list[str]]:
    """How recorded matches of these games vary, and the files that say so: those named, the experiment's own, or else the papers'."""
    import pandas as pd

    from agon.inference.power import variances
    from agon.turns import read, read_games

    files = list(settings["variance"])
    if not files and settings["sd"] is None:
        own, *others = (f"transcripts/{each}.parquet" for each in (name, *settings["recorded"]))
        files = [own] if input_path(own).is_file() else [each for each in others if input_path(each).is_file()]
    tables = {file: turns[turns.game.isin(games)] for file, turns in zip(files, map(read, files), strict=True)}
    known = {
        file: variances(turns, read_games(file), settings["metric"]) for file, turns in tables.items() if len(turns)
    }
    return (pd.concat(known.values()) if known else None), list(known)


def _prices(matches: Sequence[Match], models: Mapping[str, Model], habits: Habits | None) -> tuple[Series, Series]:
    """What a match is expected to cost, by kind, and one of every kind, by model: US dollars, absent where a price is not known."""
    import pandas as pd

    from agon.record.estimate import estimates

    first = {match.config: match for match in reversed(matches)}
    usd: dict[tuple[str, str], float | None] = {}
    if models:
        estimates([*first.values()], models, None, habits, usd)
    kinds = {match.id: kind for kind, match in first.items()}
    rows = [(kinds[match], model, cost) for (match, model), cost in usd.items()]
    costs = pd.DataFrame(rows, columns=["kind", "model", "usd"]).astype({"usd": float})
    by_kind, by_model = (costs.groupby(key).usd.agg(lambda each: each.sum(skipna=False)) for key in ("kind", "model"))
    return by_kind.reindex(list(first), fill_value=0.0), by_model


def _dollars(by_model: Series) -> str:
    """What each model costs, and all together."""
    each = ", ".join(f"{model} {'unknown' if cost != cost else f'{cost:,.2f}'}" for model, cost in by_model.items())
    return f"about {by_model.sum():,.2f} USD ({each})"
