"""The verb plan: an estimate of the bill."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import entry_points
from itertools import accumulate
from typing import TYPE_CHECKING

import click

from agon.cli.places import Settings, experiment_of, same_words, say_cautions
from agon.cli.words import bill_of, clock, number_of, range_of
from agon.errors import count, visible
from agon.paths import ROOT, display_path

if TYPE_CHECKING:
    from agon.plan import Match
    from agon.record.load import Load


MEETINGS = 8
"""The most groups of players that `plan` lists."""


def explain_budget(
    budget: Mapping[str, float | None], by_match: Mapping[tuple[str, str], tuple[Load, float | None]]
) -> Iterator[str]:
    """For each limit of the budget, how many of the matches that are not recorded yet it is expected to cover, in their order."""
    costs: dict[str, dict[str, float]] = {name: {} for name in budget}
    for (match, _), (load, usd) in by_match.items():
        spent = {
            "calls": load.calls.middle,
            "tokens": load.tokens_in.middle + load.tokens_out.middle,
            "usd": math.nan if usd is None else usd,
        }
        if load.calls.middle:
            for name, amount in spent.items():
                costs[name][match] = costs[name].get(match, 0.0) + amount
    for name, most in budget.items():
        amounts = list(costs[name].values())
        if most is None or not amounts:
            continue
        if math.isnan(sum(amounts)):
            yield f"budget.{name}={most:g}: how many matches it covers is not known, because a price is not known"
            continue
        covered = bisect_right(list(accumulate(amounts)), most)
        yield (
            f"budget.{name}={most:g}: about {covered:,} of {count(len(amounts), 'match')}, if they are asked one after another "
            f"(concurrency=1); all of them are expected to take {sum(amounts):,.6g}"
        )


def plan(settings: Settings) -> None:
    """Estimates the bill: calls, tokens, cost and time.

    experiment=NAME is a file in conf/experiment. experiment.repetitions=2 changes one of its settings. batch=true asks
    in batches.
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
    meetings = Counter(" against ".join(map(str, match.seats)) for match in matches)
    for players, total in [*meetings.items()][:MEETINGS]:
        click.echo(visible(f"{count(total, 'match'):>13}: {players}"))
    if len(meetings) > MEETINGS:
        click.echo(f"{'':15}and {count(len(meetings) - MEETINGS, 'more group')} of players")
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
    by_match: dict[tuple[str, str], tuple[Load, float | None]] = {}
    rows = estimates(matches, models, recording, Habits(ROOT / "data/recordings"), by_match)
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
            price_note = f"; no price in {file}: write it there, or limit `record` by budget.tokens"
        else:
            price_note = f"; price as of {day} in {file}" if day else ""
        bounds = (
            f"; {range_of(estimate.calls.low, estimate.calls.high)} calls by rules and agents" if is_measured else ""
        )
        click.echo(f"  {estimate.basis}{bounds}{price_note}")
    click.echo(bill_of(rows))
    for game, steps in _games_without_limit(matches).items() if any(row.questions for row in rows) else ():
        click.echo(
            f"note: {game} does not say how often it asks a seat, so `at most` assumes matches of {steps:,} steps; "
            "add `times_asked` to its class (docs/how-to/add-a-game.md)"
        )
    endless = [row.model for row in rows if math.isinf(row.load.tokens_out.high)]
    for name in [name for name in endless if not models[name].parameters.get("max_tokens")]:
        click.echo(
            f"note: conf/model/{name}.yaml sets no max_tokens, so answers have no limit: write parameters: {{max_tokens: N}} into it, "
            "or name a file of conf/sampling that has one"
        )
    for line in explain_budget(settings["budget"], by_match):
        click.echo(line)
    if entry_points(group="agon.verbs", name="power"):
        click.echo(
            f"what differences this design shows, and a smaller one: python -m agon power {same_words()}".rstrip()
        )


def _games_without_limit(matches: Sequence[Match]) -> dict[str, int]:
    """Name of each game that asks a model, and sets no limit to how often -> the most steps of its matches."""
    from agon.loop import longest

    return {
        match.game.name: longest(match.game)
        for match in matches
        if any(seat.model and math.isinf(match.game.times_asked(place).most) for place, seat in enumerate(match.seats))
    }
