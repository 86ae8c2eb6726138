"""The verb record, and the lines that it prints while it asks models."""

from __future__ import annotations

import math
import shlex
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

import click

from agon.cli.hosts import say_hosts
from agon.cli.places import Settings, experiment_of, lock_of, same_words, say_cautions, say_differences
from agon.cli.words import bar_of, bill_of
from agon.errors import AgonError, count, visible
from agon.paths import ROOT, display_path

if TYPE_CHECKING:
    from pathlib import Path

    from agon.models.ledger import Ledger
    from agon.models.limits import Budget, Costs
    from agon.models.recording import Recording
    from agon.plan import Match

T = TypeVar("T")
PAGE_SETTINGS = {"experiment", "experiment.models", "experiment.prompts"}
"""Settings that `agon reproduce` has words of its own for."""


def record(settings: Settings) -> int:
    """Asks models and records every answer.

    experiment=NAME is recorded in data/recordings/NAME. budget.usd=N, budget.tokens=N and budget.calls=N are limits. If
    it stops, the same command continues. batch=true asks in batches, which costs less. It stops if none of a model's
    first 30 new answers can be read. readable=0.5 stops it if fewer than half can be read, and served=stop if another model
    answers than before.
    """
    import asyncio

    from agon.models.base import require_callable
    from agon.models.batch import Journal, use_batches
    from agon.models.ledger import Ledger
    from agon.models.limits import Budget, Unreadable
    from agon.models.recording import Writer
    from agon.record import record as record_matches
    from agon.record.estimate import estimates
    from agon.record.habits import Habits
    from agon.record.misfit import explain_cache_miss

    name, matches, models, recording = experiment_of(settings)
    asking = [match for match in matches if any(seat.model for seat in match.seats)]
    if not asking:
        raise AgonError(
            f"experiment {name} asks no model: there is nothing to record; python -m agon play experiment={name}"
        )
    say_cautions(settings)
    say_differences(matches, models, recording)
    say_hosts(models, settings["other_hosts"])
    if not settings["batch"]:
        Journal(recording.path.parent, recording.holds).require_none_waiting()
    budget = Budget(**settings["budget"])
    if why := explain_cache_miss(asking, models, recording):
        click.echo(f"note: {why}; all questions are asked again")
    writer = Writer(recording, lock_of(name))
    journal, failing = Journal(recording.path.parent, recording.holds), FailureNotes(budget.costs)
    try:
        if settings["batch"]:
            models = use_batches(models, journal, click.echo)
        rows = estimates(asking, models, recording, Habits(ROOT / "data/recordings"))
        require_callable({row.model: models[row.model] for row in rows if row.questions})
        expected = sum(estimate.questions for estimate in rows)
        with bar_of(min(expected, int(budget.most["calls"] or expected)), "question") as bar:
            failing.say, failing.once = click.echo if bar.disable else bar.write, not bar.disable
            rules = {"readable": settings["readable"], "served": settings["served"]}
            ledger = Ledger(
                models, writer, budget, say=lambda line: failing.say(visible(line), file=sys.stderr), **rules
            )
            matches_done, matches_at_once = Counter[str](), settings["concurrency"]

            def tick(match: Match) -> None:
                matches_done["matches"] += 1

            def show_progress() -> None:
                failing.tell()
                if not bar.disable:
                    _update_bar(bar, ledger, f"{matches_done['matches']:,}/{len(asking):,} matches")

            halted = asyncio.run(
                await_with_progress(record_matches(asking, ledger, matches_at_once, tick), show_progress)
            )
            show_progress()
    finally:
        try:
            writer.close(forget_failures=True)
            journal.close()
        finally:  # what was spent is said also where the disk is full
            if budget.costs.calls:
                click.echo(describe_spending(recording, budget, failing.said))
    if not budget.costs.calls:
        click.echo(describe_spending(recording, budget))
    limits = ", ".join(f"budget.{name}={most:g}" for name, most in budget.most.items() if most is not None)
    click.echo(f"expected before: {bill_of(rows)}{limits and f', if {limits} allowed it'}")
    last = f", the last: {visible(ledger.answers.last)}" if ledger.answers.last else ""
    click.echo(f"answers: {ledger.answers.share or 'none'}{last}")
    if unreadable := next((halt for halt in halted if isinstance(halt, Unreadable)), None):
        click.echo(f"stopped: {unreadable}\n{_how_to_begin_again(recording.path, journal.path)}")
        return 3
    if halted:
        reason = Counter(str(halt) for halt in halted).most_common(1)[0][0]
        if final_halts := sum(halt.final for halt in halted):
            who = "they" if final_halts == len(halted) else f"{final_halts:,} of them"
            again = f"{who} would end there again: change what is said above"
            again += f"; python -m agon play {same_words()}".rstrip() + " partial=true plays the complete matches"
        else:
            again = "the same command continues"
        if cause := ledger.answers.cause:
            click.echo(f"why: {cause}")
        if not budget.costs.answers and budget.costs.last not in reason:
            reason += f"; no call was answered, the last: {budget.costs.last}"
        complete = f"{matches_done['matches']:,} of {count(len(asking), 'match')} recorded to the end"
        click.echo(f"stopped; {complete}, {len(halted):,} begun: {visible(reason)}; {again}")
        return 3
    if cause := ledger.answers.cause:
        click.echo(f"note: {cause}")
    click.echo(f"now: python -m agon {_next_words(settings['experiment'])}".rstrip())
    return 0


def _how_to_begin_again(*files: Path) -> str:
    """What the same command does with recorded answers, and the command that deletes them."""
    paths = shlex.join(display_path(file) for file in files if file.exists())
    return (
        "the recorded answers stay, and the same command asks only what is missing. To begin again after a repair, "
        f"delete them first (rm {paths}): then everything is asked, and paid for, once more"
    )


def _next_words(experiment: Mapping[str, Any]) -> str:
    """The command that goes on from a whole recording: a paper's pages for its own experiment, or a table of turns.

    A copy of a paper's experiment has both, one after the other.
    """
    words, paper = shlex.split(same_words()), experiment.get("paper")
    if not paper or experiment["name"] != f"{paper}_live":
        turns = f"turns_path=transcripts/{experiment['name']}.parquet"
        pages = f" and then python -m agon reproduce {paper} {turns}" if paper else ""
        return f"play {shlex.join(words)}{pages}"
    others = [word for word in words if word.lstrip("+").partition("=")[0] not in PAGE_SETTINGS]
    prompts = [word.lstrip("+").removeprefix("experiment.") for word in words if "experiment.prompts=" in word]
    models = experiment["models"] if isinstance(experiment["models"], str) else ",".join(experiment["models"])
    return f"reproduce {paper} {shlex.join([f'model={models}', *prompts, *others])}"


def describe_spending(recording: Recording, budget: Budget, said: str = "") -> str:
    """The size of the recording, and the spending of this command. `said`: the last failure that was already printed."""
    from agon.models.limits import UNCOUNTED

    spent, unknown = budget.costs, budget.unreported
    cached = (
        f", {spent.tokens_cached / spent.tokens_in:.0%} of them from the provider's cache" if spent.tokens_in else ""
    )
    unpriced = f" and {count(spent.unpriced, 'answer')} of unknown price" if spent.unpriced else ""
    if spent.without_usage and not unknown.tokens:
        unpriced += f", without the cost of {count(spent.without_usage, 'answer')} {UNCOUNTED}"
    charged = f" ({spent.charges:,.4f} as charged by the provider, the rest reckoned)" if spent.charges else ""
    errors = ", ".join(f"{number:,} x {kind}" for kind, number in spent.errors.most_common()) or "none"
    errors += f", the last: {spent.last}" if spent.last not in ("", said) else ""
    parts = [f"{unknown.tokens:,} tokens"] * bool(unknown.usd or budget.most["tokens"])
    parts += [f"{unknown.usd:,.4f} USD"] * bool(unknown.usd)
    unreported = f", and at most {' and '.join(parts)} more for calls {UNCOUNTED}" if unknown.tokens and parts else ""
    return (
        f"{display_path(recording.path)}: {count(len(recording), 'exchange')}; "
        f"{count(spent.calls, 'call')}, {spent.tokens_in:,} tokens in{cached}, {spent.tokens_out:,} out, "
        f"{spent.usd:,.4f} USD{charged}{unpriced}{unreported}; errors: {errors}"
    )


async def await_with_progress(work: Awaitable[T], show: Callable[[], object]) -> T:
    """Awaits `work`, and calls `show` twice a second meanwhile."""
    import asyncio

    async def watch() -> None:
        while True:
            show()
            await asyncio.sleep(0.5)

    watching = asyncio.create_task(watch())
    try:
        return await work
    finally:
        watching.cancel()


class FailureNotes:
    """Prints that calls fail: once for every kind of failure, and if more fail, again after 1, 2, 4 ... minutes.

    With `once`, for use beside a bar that counts failures, it prints the first time alone.
    """

    def __init__(self, spent: Costs, say: Callable[..., object] = click.echo, once: bool = False) -> None:
        self.spent, self.say, self.once = spent, say, once
        self.failed, self.kinds, self.wait, self.next = 0, 0, 60.0, math.inf
        self.said = ""
        """The last failure that was printed."""

    def tell(self) -> None:
        """Prints a note when one is due."""
        failed, kinds, now = self.spent.errors.total(), len(self.spent.errors), monotonic()
        anew = kinds > self.kinds and self.spent.last and not (self.once and self.kinds)
        if anew or (failed > self.failed and now >= self.next):
            again = "; failed calls are tried again" * self.spent.again
            why = f", the last: {self.spent.last}{again}" * (self.spent.last != self.said)
            self.say(visible(f"note: {count(failed, 'call')} failed so far{why}"), file=sys.stderr)
            self.said = self.spent.last
            self.failed, self.kinds = failed, kinds
            self.wait, self.next = 2 * self.wait, math.inf if self.once else now + self.wait


def _update_bar(bar: Any, ledger: Ledger, matches: str) -> None:
    """Updates the bar: questions so far, of those expected; rounds, calls, readable answers, costs, and errors by kind."""
    spent, answers = ledger.budget.costs, ledger.answers
    errors = " ".join(f"{kind}:{number}" for kind, number in spent.errors.most_common(3))
    parts = [matches, count(answers.rounds, "round"), count(spent.calls, "call"), answers.share, f"{spent.usd:.2f} USD"]
    bar.n = answers.questions
    bar.total = max(bar.total, bar.n)
    bar.set_postfix_str(", ".join(filter(None, [*parts, errors and f"errors {errors}"])), refresh=True)
