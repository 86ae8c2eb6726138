"""What matches will ask of models: calls, tokens, money and time from a low to a high, by what was recorded or else by what is possible.

How many calls there are at the least and at the most is told by rules (`Game.times_asked`) and agents (`calls`), and holds whatever is
answered. Tokens, money and time go by letters to a token and by guesses.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from agon.games import Game
from agon.games.base import Times
from agon.loop import started
from agon.models import Model
from agon.models.batch import Batched
from agon.models.recording import Recording
from agon.plan import Match
from agon.record.habits import Habits
from agon.record.load import Load, Spread
from agon.record.supposed import CORRECTION, LETTERS, Counted, played_out, seat_of, summed

T = TypeVar("T")
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
    calls: Spread
    """At the least, about, at the most: whatever is answered, as rules and agents' settings have it."""
    load: Load
    """As far as recordings tell, what is likely; else what is possible."""
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
    Calls lie between what rules and agents' settings allow at the least and at the most. Where recordings tell nothing, tokens range
    from shortest answers to answers of max_tokens in all calls that are possible. `usd` is filled with what each match is expected to
    cost, by match and model (None: unknown).
    """
    total: dict[str, Load] = dict.fromkeys(models, Load())
    bounds, chain = dict.fromkeys(models, Spread()), dict.fromkeys(models, Spread())
    begun, questions, tight = dict.fromkeys(models, 0), dict.fromkeys(models, 0), set[str]()
    bases: dict[str, set[str]] = {name: set() for name in models}
    played: dict[Any, _Course] = {}
    loads: dict[Any, tuple[Load, Spread, str]] = {}
    for match in matches:
        names = list(dict.fromkeys(seat.model for seat in match.seats if seat.model))
        if not names:
            continue
        recorded = recording if recording is not None and recording.calls_of[match.id] else None
        limits = tuple(
            (models[name].parameters.get("max_tokens"), models[name].thinks, models[name].context) for name in names
        )
        seats = tuple((seat.agent, seat.model and names.index(seat.model)) for seat in match.seats)
        alike = match.id if recorded or _by_chance(match.game) else (match.game, seats, limits)
        if alike not in played:
            played[alike] = _Course(match, names, models, recorded)
        course = played[alike]
        for place, (name, expected) in enumerate(zip(names, course.expected, strict=True)):
            before, own = len({question for question, _ in expected.asked}), Load()
            questions[name] += before
            tight |= {name} if expected.full and not before else set()
            for seat in [number for number, each in enumerate(match.seats) if each.model == name and course.open]:
                if (key := (alike, seat, name)) not in loads:
                    calls, further, times = course.of_seat(seat, place)
                    possible = _possible(
                        calls, further, models[name], times, 1 if match.game.fixed_rounds else match.game.seats
                    )
                    known = habits.of(match, seat, models[name], matches, models) if habits and calls else None
                    if known is None:
                        loads[key] = possible, possible.calls, ""
                    else:
                        middle = Load(*(Spread(each, each, each) for each in summed(calls)[:3]))
                        load = middle.times(known[0])
                        within = Spread(*(min(max(each, times.least), times.most) for each in load.calls))
                        loads[key] = (
                            load._replace(calls=within),
                            possible.calls._replace(middle=within.middle),
                            known[1],
                        )
                load, bound, basis = loads[key]
                bases[name] |= {basis} if load.calls.middle else set()
                own, bounds[name] = own.plus(load), bounds[name].plus(bound)
            total[name], begun[name] = total[name].plus(own), begun[name] + (before > 0)
            if usd is not None:
                usd[match.id, name] = models[name].cost(own.tokens_in.middle, 0, own.tokens_out.middle)
            asked = len(expected.asked)
            longest = (expected.steps * each / asked for each in own.calls) if asked else (0.0,) * 3
            chain[name] = Spread(*map(max, zip(chain[name], longest, strict=True)))
    return [
        Estimate(
            name,
            begun[name],
            bounds[name],
            total[name],
            _usd(model, total[name]),
            _seconds(model, total[name], chain[name], habits),
            NOTHING_FITS if name in tight and not bases[name] else _basis(bases[name]),
            questions[name],
        )
        for name, model in models.items()
    ]


NOTHING_FITS = "nothing can be asked: no question fits into the model's context"


class _Course:
    """How a match may go: as it is expected to, and what it asks of each seat at the least and at the most."""

    def __init__(
        self, match: Match, names: Sequence[str], models: Mapping[str, Model], recording: Recording | None
    ) -> None:
        self.match, self.names, self.models = match, names, models
        self.expected = played_out(match, models, recording)
        full = any(each.full for each in self.expected)
        self.further = played_out(match, models, recording, roomy=True) if full else self.expected
        self.open = any(each.asked for each in self.expected)
        """Whether anything is left to ask."""
        self.first = set(started(match.game, match.seed)[1][1])
        """Who is asked first, whatever is answered."""

    def of_seat(self, seat: int, place: int) -> tuple[list[Counted], list[Counted], Times]:
        """The calls of a seat that are expected, those there would be if they all fitted, and how many there may be.

        `place`: of the seat's model among those of the match. Other models with the same limits may have the same course.
        """
        calls, further = (found[place].of_seat(seat) for found in (self.expected, self.further))
        times, held = self.times(seat), self.expected[place].held
        known = [(question, sure) for question, sure in held if seat_of(question) == seat]
        least = self._fitting(seat) - len({question for question, _ in known})
        most = max(times.most - sum(sure for _, sure in known), len(calls))
        return calls, further, times._replace(least=max(least, 0), most=most)

    def times(self, seat: int) -> Times:
        """How often a whole match asks for a seat, as its agent says; of one that does not say it nothing is known."""
        player = self.match.seats[seat].player
        counted = getattr(getattr(player, "func", player), "calls", None)
        times: Times = counted(self.match.game, seat, **player.keywords) if counted else Times()
        return times._replace(least=max(times.least, 1)) if counted and seat in self.first else times

    def _fitting(self, seat: int) -> int:
        """The least calls of a seat, fewer where a conversation that does not fit may end the match before."""
        least, rounds = self.times(seat).least, self.match.game.fixed_rounds
        sure = least
        for number, other in enumerate(self.match.seats):
            if other.model is None or (context := self.models[other.model].context) is None:
                continue
            calls, times = self.further[self.names.index(other.model)].of_seat(number), self.times(number)
            place = next((at for at, each in enumerate(calls) if not _fits(at, each, times, context)), None)
            if place is None:
                continue
            if number == seat:
                sure = min(sure, max(place, 1))
            else:  # all are asked once a round; where that is not so, nothing is known
                sure = min(sure, int(place * rounds / times.most) * least // rounds if rounds else 0)
        return sure


def _fits(number: int, each: Counted, times: Times, context: float) -> bool:
    """Whether a call fits after `number` of the longest answers."""
    before = min(number, times.together - 1)
    return each.tokens_in * LETTERS[1] / LETTERS[2] + (before and before * (each.most + CORRECTION)) <= context


class _Thrown:
    """Dice that tell whether they were thrown."""

    def __init__(self) -> None:
        self.thrown = False

    def random(self) -> float:
        """The least."""
        self.thrown = True
        return 0.0

    def choice(self, seq: Sequence[T]) -> T:
        """The first."""
        self.thrown = True
        return seq[0]


@lru_cache(1024)
def _by_chance(game: Game[Any]) -> bool:
    """Whether dice are thrown at the start of a match, so that matches of one game may differ in whom they ask."""
    game.start(dice := _Thrown())
    return dice.thrown


def _possible(calls: Sequence[Counted], further: Sequence[Counted], model: Model, times: Times, voices: int) -> Load:
    """The range of what calls may take, one after another in one conversation.

    `further`: the calls where they all fit. `voices`: how many seats may say as much as a longest answer between two calls.
    """
    least = min(times.least, len(calls))
    said, shortest = 0.0, list[float]()
    for each in calls:
        shortest.append(max(min(calls[0].tokens_in, each.tokens_in), each.tokens_in - said))
        said += each.tokens_out
    ins, outs = (sum(sorted(parts)[:least]) for parts in (shortest, [each.least for each in calls]))
    expected = summed(calls)
    most = max((each.most for each in further), default=model.parameters.get("max_tokens") or math.inf)
    return Load(
        Spread(least, min(len(calls), times.most), times.most),
        Spread(ins * LETTERS[1] / LETTERS[0], expected.tokens_in, _longest(further, model, times, most, voices)),
        Spread(outs, expected.tokens_out, times.most and times.most * most),
    )


def _longest(further: Sequence[Counted], model: Model, times: Times, most: float, voices: int) -> float:
    """Tokens sent at the most: every answer has `most` of them, and stays in the conversation."""
    context, calls = model.context or math.inf, times.most
    if not calls or math.isinf(calls):
        return calls
    widest = np.array([each.tokens_in * LETTERS[1] / LETTERS[2] for each in further] or [context])
    number = np.arange(round(calls))
    asked = widest[np.minimum(number // math.ceil(calls / len(widest)), len(widest) - 1)]
    before, spoken = np.minimum(number, times.together - 1), 1 if math.isfinite(times.together) else voices
    grown = np.where(before > 0, np.maximum(before, 1) * spoken * (most + CORRECTION), 0.0)
    return float(np.minimum(asked + grown, context).sum())


def _basis(found: set[str]) -> str:
    if not found:
        return "nothing is left to ask"
    known = sorted(each for each in found if each)
    rest = (
        [
            "a guess where nothing like it is recorded (at most: all calls that rules and agents allow, each answer of max_tokens)"
        ]
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
