"""The bill of a plan."""

from __future__ import annotations

from collections import Counter
from importlib.metadata import entry_points

import click

from agon.cli.places import Settings, experiment_of, same_words, say_cautions
from agon.cli.words import bill_of, clock, number_of
from agon.errors import count
from agon.paths import ROOT, display_path


def plan(settings: Settings) -> None:
    """Estimates the bill: calls, tokens, cost and time.

    experiment=NAME is a file in conf/experiment; experiment.repetitions=2 changes a part of it; batch=true asks in batches.
    """
    from agon.models.batch import Journal, use_batches
    from agon.record.estimate import estimates
    from agon.record.habits import Habits

    _, matches, models, recording = experiment_of(settings)
    variants = Counter((match.game.name, match.game.variant) for match in matches)
    for game, total in Counter(match.game.name for match in matches).items():
        names = [variant for name, variant in variants if name == game]
        number, _, noun = count(total, "match").partition(" ")
        click.echo(
            f"{game:14} {number:>10} {noun}: {', '.join(names) if len(names) <= 8 else count(len(names), 'setting')}"
        )
    moves = [(match.game.fixed_rounds or 0) * match.game.seats for match in matches]
    decisions = f"{sum(moves):,} decisions, " if all(moves) else ""
    agents = {seat.agent for match in matches for seat in match.seats}
    click.echo(f"{count(len(matches), 'match')}, {decisions}{count(len(agents), 'agent')}")
    say_cautions(settings)
    if not models:
        click.echo("all scripts: no calls, no cost")
        return
    if len(recording):
        click.echo(
            f"recorded already: {count(len(recording), 'exchange')} in {display_path(recording.path)}; what is left:"
        )
    if settings["batch"]:
        models = use_batches(models, Journal(recording.path.parent, recording.holds), click.echo)
    rows = estimates(matches, models, recording, Habits(ROOT / "data/recordings"))
    width = max(len("  likely from"), *(len(name) for name in models))
    click.echo(f"{'':{width}} {'matches':>9} {'calls':>9} {'tokens in':>14} {'tokens out':>14} {'USD':>12} {'time':>9}")
    for estimate in rows:
        usds = [None] * 3 if estimate.usd is None else [*estimate.usd]
        is_measured = estimate.load.calls != estimate.calls
        ends = ("  likely from", "  likely to") if is_measured else ("  at least", "  at most")
        for line, place in zip((estimate.model, *ends), (1, 0, 2), strict=True):
            calls, tokens_in, tokens_out = (number_of(part[place]) for part in estimate.load)
            usd = usds[place]
            price = "unknown" if usd is None else number_of(usd, ",.2f")
            number, time = f"{estimate.matches:,}" if place == 1 else "", clock(estimate.seconds[place])
            click.echo(f"{line:{width}} {number:>9} {calls:>9} {tokens_in:>14} {tokens_out:>14} {price:>12} {time:>9}")
        day, file = models[estimate.model].priced, f"conf/model/{estimate.model}.yaml"
        if estimate.usd is None:
            priced = f"; no price in {file}: write it there, or limit `record` by budget.tokens"
        else:
            priced = f"; price as of {day} in {file}" if day else ""
        bounds = (
            f"; {estimate.calls.low:,.0f} calls at least, {number_of(estimate.calls.high)} at most"
            if is_measured
            else ""
        )
        click.echo(f"  {estimate.basis}{bounds}{priced}")
    click.echo(bill_of(rows))
    if entry_points(group="agon.verbs", name="power"):
        click.echo(
            f"what differences this design shows, and a smaller one: python -m agon power {same_words()}".rstrip()
        )
