"""What matches will ask of models: calls, tokens, money and time from a low to a high, by what was recorded or else by what is possible."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agon.models import Model
from agon.models.batch import Batched
from agon.models.recording import Recording
from agon.plan import Match
from agon.record.habits import Habits
from agon.record.load import Load, Spread
from agon.record.supposed import CORRECTION, LETTERS, Counted, Supposed, attempts_of, played_out, summed

CALL, TOKEN = (0.2, 0.7, 3.0), (0.003, 0.02, 0.1)
"""Seconds that a call takes beside its answer, and for each token of that."""
BATCH = 120.0, 3_600.0, 86_400.0
"""Seconds that a batch takes."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What is left to ask of one model."""

    model: str
    matches: int
    """Of which something is left to ask."""
    load: Load
    usd: Spread | None
    """None where the price is not known."""
    seconds: Spread
    basis: str
    """By what it is estimated."""
    questions: int
    """Asked once each, where every answer can be read."""


def estimates(
    matches: Sequence[Match],
    models: Mapping[str, Model],
    recording: Recording | None = None,
    habits: Habits | None = None,
    usd: dict[tuple[str, str], float | None] | None = None,
) -> list[Estimate]:
    """What `matches` will still ask of each model, beside what `recording` holds.

    Middle: every answer is as long as expected and readable, times what recordings of the same agents in the same games tell (`habits`).
    Where they tell nothing the range is what is possible: from shortest answers, all readable, to answers of max_tokens, none of them
    readable, as often as agents ask again. `usd` is filled with what each match is expected to cost, by match and model (None: unknown).
    """
    total: dict[str, Load] = dict.fromkeys(models, Load())
    chain: dict[str, Spread] = dict.fromkeys(models, Spread())
    begun, questions, tight = dict.fromkeys(models, 0), dict.fromkeys(models, 0), set[str]()
    bases: dict[str, set[str]] = {name: set() for name in models}
    played: dict[Any, list[Supposed]] = {}
    roomy: dict[Any, dict[str, Supposed]] = {}
    attempts: dict[Any, dict[int, float]] = {}
    loads: dict[Any, tuple[Load, str]] = {}
    for match in matches:
        names = list(dict.fromkeys(seat.model for seat in match.seats if seat.model))
        if not names:
            continue
        recorded = recording if recording is not None and recording.calls_of[match.id] else None
        limits = tuple(
            (models[name].parameters.get("max_tokens"), models[name].thinks, models[name].context) for name in names
        )
        seats = tuple((seat.agent, seat.model and names.index(seat.model)) for seat in match.seats)
        alike = match.id if recorded else (match.game, seats, limits)
        if alike not in played:
            played[alike] = played_out(match, models, recorded)
        for name, expected in zip(names, played[alike], strict=True):
            before, own = len(expected.asked), Load()
            questions[name] += before
            tight |= {name} if expected.full and not before else set()
            for seat in [number for number, each in enumerate(match.seats) if each.model == name and before]:
                if (place := (alike, seat, name)) not in loads:
                    calls = expected.of_seat(seat)
                    known = habits.of(match, seat, models[name], matches, models) if habits and calls else None
                    if known is not None:
                        middle = Load(*(Spread(each, each, each) for each in summed(calls)[:3]))
                        load = middle.times(known[0])
                        if match.game.fixed_rounds:  # such a match asks every question once at least
                            load = load._replace(calls=Spread(*(max(each, len(calls)) for each in load.calls)))
                        loads[place] = load, known[1]
                    else:
                        group = match.game, seats
                        if group not in attempts:
                            attempts[group] = attempts_of(match, models)
                        if expected.full and alike not in roomy:
                            roomy[alike] = dict(
                                zip(names, played_out(match, models, recorded, roomy=True), strict=True)
                            )
                        further = roomy[alike][name].of_seat(seat) if expected.full else calls
                        loads[place] = _possible(calls, further, models[name], attempts[group].get(seat, 1.0)), ""
                load, basis = loads[place]
                bases[name] |= {basis} if load.calls.middle else set()
                own = own.plus(load)
            total[name], begun[name] = total[name].plus(own), begun[name] + (before > 0)
            if usd is not None:
                usd[match.id, name] = models[name].cost(own.tokens_in.middle, 0, own.tokens_out.middle)
            longest = (expected.steps * each / before for each in own.calls) if before else (0.0,) * 3
            chain[name] = Spread(*map(max, zip(chain[name], longest, strict=True)))
    return [
        Estimate(
            name,
            begun[name],
            total[name],
            _usd(model, total[name]),
            _seconds(model, total[name], chain[name], habits),
            NOTHING_FITS if name in tight and not bases[name] else _basis(bases[name]),
            questions[name],
        )
        for name, model in models.items()
    ]


NOTHING_FITS = "nothing can be asked: no question fits into the model's context"


def _possible(calls: Sequence[Counted], further: Sequence[Counted], model: Model, attempts: float) -> Load:
    """The range of what calls may take, one after another in one conversation.

    `further`: the calls where they all fit. Where they may not, at least as many are made as fit with the longest answers.
    """
    context = model.context or math.inf
    ins, outs, said, longest, sure = Spread(), Spread(), 0.0, 0.0, len(calls)
    for number, each in enumerate(further):
        widest = each.tokens_in * LETTERS[1] / LETTERS[2]
        fits = widest + (number and number * (each.most + CORRECTION)) <= context
        sure = sure if fits else min(sure, max(number, 1))
        grown = [number * attempts + tried for tried in range(round(attempts))]
        longest += sum(min(widest + (before and before * (each.most + CORRECTION)), context) for before in grown)
    for number, each in enumerate(calls):
        shortest = max(min(calls[0].tokens_in, each.tokens_in), each.tokens_in - said) if number < sure else 0.0
        least = each.least if number < sure else 0.0
        ins = ins.plus(Spread(shortest * LETTERS[1] / LETTERS[0], each.tokens_in))
        outs = outs.plus(Spread(least, each.tokens_out))
        said += each.tokens_out
    most = attempts * sum(each.most for each in further)
    return Load(Spread(sure, len(calls), len(further) * attempts), ins._replace(high=longest), outs._replace(high=most))


def _basis(found: set[str]) -> str:
    if not found:
        return "nothing is left to ask"
    known = sorted(each for each in found if each)
    rest = (
        ["a guess where nothing like it is recorded (at most: every answer has max_tokens and none can be read)"]
        if "" in found
        else []
    )
    return "; ".join(
        (
            ["estimated from " + "; ".join(known[:3]) + (f" and {len(known) - 3} more" if len(known) > 3 else "")]
            if known
            else []
        )
        + rest
    )


def _usd(model: Model, load: Load) -> Spread | None:
    """Low: all that is sent is read from the provider's cache. High: all is written to it."""
    (low_in, in_, high_in), (low_out, out, high_out) = load.tokens_in, load.tokens_out
    if math.isinf(high_out) or math.isinf(high_in):
        highest: float | None = math.inf if model.price.get("output") else 0.0
    else:
        highest = model.cost(high_in, 0, high_out, high_in if model.writing_costs_more else 0)
    found = model.cost(low_in, low_in, low_out), model.cost(in_, 0, out), highest
    return None if None in found else Spread(*(each or 0.0 for each in found))


def _seconds(model: Model, load: Load, chain: Spread, habits: Habits | None) -> Spread:
    """By calls at once, calls one after another in the longest match, and the limits of rates."""
    if isinstance(model, Batched):
        return chain.times(Spread(*BATCH))
    each = habits.seconds(model) if habits else None
    found = []
    for n in range(3):
        calls, tokens = load.calls[n], load.tokens_out[n]
        one = each[n] if each else CALL[n] + TOKEN[n] * (tokens / calls if calls else 0.0)
        rates = (
            calls / (model.requests_per_minute or math.inf) * 60,
            (load.tokens_in[n] + tokens) / model.tokens_per_minute * 60 if model.tokens_per_minute else 0.0,
        )
        found.append(max(calls * one / model.concurrency, chain[n] * one if calls else 0.0, *rates) if calls else 0.0)
    return Spread(*found)
