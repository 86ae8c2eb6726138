"""Estimates of the calls, tokens, costs and time of matches, as ranges. They use recordings if there are any.

The rules (`Game.times_asked`) and the agents (`calls`) give the least and the greatest number of calls, whatever the
answers. Tokens, costs and time follow from letters to a token and from guesses.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from agon.games import Game
from agon.games.base import Times
from agon.loop import start_match
from agon.models import Model
from agon.models.batch import BatchModel
from agon.models.recording import Recording
from agon.plan import Match
from agon.record.dry_run import CORRECTION, LETTERS, Counts, play_out, seat_of, sum_counts
from agon.record.habits import Habits
from agon.record.load import Load, Spread

T = TypeVar("T")
NOTHING_FITS = "nothing can be asked: no question fits into the model's context"
GUESS = "a guess where nothing like it is recorded (at most: all calls that rules and agents allow, each answer of max_tokens)"
CALL, TOKEN = (0.2, 0.7, 3.0), (0.003, 0.02, 0.1)
"""Seconds of a call without its answer, and seconds per token of the answer: low, middle, high."""
BATCH = 120.0, 3_600.0, 86_400.0
"""Seconds of a batch: low, middle, high."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimate of the calls to one model that are not recorded yet."""

    model: str
    matches: int
    """Number of matches with such calls."""
    calls: Spread
    """Bounds of the number of calls, by the rules and the agents' settings."""
    load: Load
    """The likely range if recordings show it, else the possible range."""
    usd: Spread | None
    """Costs. None: the price is unknown."""
    seconds: Spread
    basis: str
    """The source of the estimate, in words."""
    questions: int
    """Number of calls if every first answer is readable."""


def estimates(
    matches: Sequence[Match],
    models: Mapping[str, Model],
    recording: Recording | None = None,
    habits: Habits | None = None,
    by_match: dict[tuple[str, str], tuple[Load, float | None]] | None = None,
) -> list[Estimate]:
    """Estimates the calls of `matches` to each model that `recording` does not hold.

    For the middle, every answer is readable and has the expected length. `habits` multiplies it by the ratios in
    recordings of the same agents in the same games. Calls stay within the bounds of rules and agents. Without
    recordings, tokens range from the shortest answers to answers of max_tokens in all possible calls. `by_match`, if
    present, gets the load and the expected cost in USD (None: unknown) by match and model.
    """
    total: dict[str, Load] = dict.fromkeys(models, Load())
    bounds, chain = dict.fromkeys(models, Spread()), dict.fromkeys(models, Spread())
    match_counts, questions, tight = dict.fromkeys(models, 0), dict.fromkeys(models, 0), set[str]()
    bases: dict[str, set[str]] = {name: set() for name in models}
    courses: dict[Any, _Course] = {}
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
        course_key = match.id if recorded or _by_chance(match.game) else (match.game, seats, limits)
        if course_key not in courses:
            courses[course_key] = _Course(match, names, models, recorded)
        course = courses[course_key]
        for place, (name, expected) in enumerate(zip(names, course.expected, strict=True)):
            before, load_of_match = len({question for question, _ in expected.calls}), Load()
            questions[name] += before
            tight |= {name} if expected.full and not before else set()
            for seat in [number for number, other in enumerate(match.seats) if other.model == name and course.open]:
                if (key := (course_key, seat, name)) not in loads:
                    calls, further, times = course.of_seat(seat, place)
                    possible = _possible(
                        calls, further, models[name], times, 1 if match.game.fixed_rounds else match.game.seats
                    )
                    ratios = habits.of(match, seat, models[name], matches, models) if habits and calls else None
                    if ratios is None:
                        loads[key] = possible, possible.calls, ""
                    else:
                        middle = Load(*(Spread(value, value, value) for value in sum_counts(calls)[:3]))
                        load = middle.times(ratios[0])
                        in_bounds = Spread(*(min(max(value, times.least), times.most) for value in load.calls))
                        loads[key] = (
                            load._replace(calls=in_bounds),
                            possible.calls._replace(middle=in_bounds.middle),
                            ratios[1],
                        )
                load, bound, basis = loads[key]
                bases[name] |= {basis} if load.calls.middle else set()
                load_of_match, bounds[name] = load_of_match.plus(load), bounds[name].plus(bound)
            total[name], match_counts[name] = total[name].plus(load_of_match), match_counts[name] + (before > 0)
            if by_match is not None:
                cost = models[name].cost(load_of_match.tokens_in.middle, 0, load_of_match.tokens_out.middle)
                by_match[match.id, name] = load_of_match, cost
            calls_left = len(expected.calls)
            longest = (
                (expected.steps * value / calls_left for value in load_of_match.calls) if calls_left else (0.0,) * 3
            )
            chain[name] = Spread(*map(max, zip(chain[name], longest, strict=True)))
    return [
        Estimate(
            name,
            match_counts[name],
            bounds[name],
            total[name],
            _usd(model, total[name]),
            _seconds(model, total[name], chain[name], habits),
            NOTHING_FITS if name in tight and not bases[name] else _basis(bases[name]),
            questions[name],
        )
        for name, model in models.items()
    ]


class _Course:
    """The expected course of a match, and bounds on the calls of each seat."""

    def __init__(
        self, match: Match, names: Sequence[str], models: Mapping[str, Model], recording: Recording | None
    ) -> None:
        self.match, self.names, self.models = match, names, models
        self.expected = play_out(match, models, recording)
        full = any(model.full for model in self.expected)
        self.further = play_out(match, models, recording, roomy=True) if full else self.expected
        self.open = any(model.calls for model in self.expected)
        """Whether a call is not recorded yet."""
        self.first = set(start_match(match.game, match.seed)[1][1])
        """The seats that are asked first in any case."""

    def of_seat(self, seat: int, place: int) -> tuple[list[Counts], list[Counts], Times]:
        """The expected calls of a seat, its calls if all fitted into the context, and the bounds of their number.

        `place`: index of the seat's model among the models of the match. Models with the same limits may share this
        course.
        """
        calls, further = (course[place].of_seat(seat) for course in (self.expected, self.further))
        times, all_recorded = self.times(seat), self.expected[place].recorded
        recorded = [(question, sure) for question, sure in all_recorded if seat_of(question) == seat]
        least = self._fitting(seat) - len({question for question, _ in recorded})
        most = max(times.most - sum(sure for _, sure in recorded), len(calls))
        return calls, further, times._replace(least=max(least, 0), most=most)

    def times(self, seat: int) -> Times:
        """The bounds of a seat's calls in a whole match, from its agent. Some agents have no bounds."""
        player = self.match.seats[seat].player
        count_calls = getattr(getattr(player, "func", player), "calls", None)
        times: Times = count_calls(self.match.game, seat, **player.keywords) if count_calls else Times()
        return times._replace(least=max(times.least, 1)) if count_calls and seat in self.first else times

    def _fitting(self, seat: int) -> int:
        """The least number of a seat's calls. It is lower if a full context window may end the match early."""
        least, rounds = self.times(seat).least, self.match.game.fixed_rounds
        sure = least
        for number, other in enumerate(self.match.seats):
            if other.model is None or (context := self.models[other.model].context) is None:
                continue
            calls, times = self.further[self.names.index(other.model)].of_seat(number), self.times(number)
            place = next((at for at, call in enumerate(calls) if not _fits(at, call, times, context)), None)
            if place is None:
                continue
            if number == seat:
                sure = min(sure, max(place, 1))
            else:  # assumes one question in a round; without rounds nothing is sure
                sure = min(sure, int(place * rounds / times.most) * least // rounds if rounds else 0)
        return max(sure, 1) if least and seat in self.first else sure


def _fits(number: int, call: Counts, times: Times, context: float) -> bool:
    """Whether a call fits into the context after `number` answers of the greatest length."""
    before = min(number, times.together - 1)
    return call.tokens_in * LETTERS[1] / LETTERS[2] + (before and before * (call.most + CORRECTION)) <= context


class _WatchedDice:
    """Dice that remember whether they were thrown."""

    def __init__(self) -> None:
        self.has_thrown = False

    def random(self) -> float:
        """The least number."""
        self.has_thrown = True
        return 0.0

    def choice(self, seq: Sequence[T]) -> T:
        """The first element."""
        self.has_thrown = True
        return seq[0]


@lru_cache(1024)
def _by_chance(game: Game[Any]) -> bool:
    """Whether the start of a match throws dice, so that matches of one game may ask different seats."""
    game.start(dice := _WatchedDice())
    return dice.has_thrown


def _possible(calls: Sequence[Counts], further: Sequence[Counts], model: Model, times: Times, voices: int) -> Load:
    """The possible load of successive calls in one conversation.

    `further`: the calls if all fitted into the context. `voices`: number of seats that may give a longest answer
    between two calls.
    """
    least = min(times.least, len(calls))
    answer_tokens, shortest = 0.0, list[float]()
    for call in calls:
        shortest.append(max(min(calls[0].tokens_in, call.tokens_in), call.tokens_in - answer_tokens))
        answer_tokens += call.tokens_out
    ins, outs = (sum(sorted(parts)[:least]) for parts in (shortest, [call.least for call in calls]))
    expected = sum_counts(calls)
    most = max((call.most for call in further), default=model.parameters.get("max_tokens") or math.inf)
    return Load(
        Spread(least, min(len(calls), times.most), times.most),
        Spread(ins * LETTERS[1] / LETTERS[0], expected.tokens_in, _longest(further, model, times, most, voices)),
        Spread(outs, expected.tokens_out, times.most and times.most * most),
    )


def _longest(further: Sequence[Counts], model: Model, times: Times, most: float, voices: int) -> float:
    """The most tokens sent: every answer has `most` tokens and stays in the conversation."""
    context, calls = model.context or math.inf, times.most
    if not calls or math.isinf(calls):
        return calls
    widest = np.array([call.tokens_in * LETTERS[1] / LETTERS[2] for call in further] or [context])
    number = np.arange(round(calls))
    questions = widest[np.minimum(number // math.ceil(calls / len(widest)), len(widest) - 1)]
    before, spoken = np.minimum(number, times.together - 1), 1 if math.isfinite(times.together) else voices
    answer_tokens = np.where(before > 0, np.maximum(before, 1) * spoken * (most + CORRECTION), 0.0)
    return float(np.minimum(questions + answer_tokens, context).sum())


def _basis(bases: set[str]) -> str:
    if not bases:
        return "nothing is left to ask"
    parts = []
    if recorded := sorted(basis for basis in bases if basis):
        more = f" and {len(recorded) - 3} more" if len(recorded) > 3 else ""
        parts.append(f"estimated from {'; '.join(recorded[:3])}{more}")
    if "" in bases:
        parts.append(GUESS)
    return "; ".join(parts)


def _usd(model: Model, load: Load) -> Spread | None:
    """Costs in USD. Low: all input comes from the provider's cache. High: all input is written to the cache."""
    (low_in, in_, high_in), (low_out, out, high_out) = load.tokens_in, load.tokens_out
    if math.isinf(high_out) or math.isinf(high_in):
        highest: float | None = math.inf if model.price.get("output") else 0.0
    else:
        highest = model.cost(high_in, 0, high_out, high_in if model.writing_costs_more else 0)
    costs = model.cost(low_in, low_in, low_out), model.cost(in_, 0, out), highest
    return None if None in costs else Spread(*(cost or 0.0 for cost in costs))


def _seconds(model: Model, load: Load, chain: Spread, habits: Habits | None) -> Spread:
    """Seconds: the greatest of the times by concurrency, by the calls of the longest match, and by rate limits."""
    if isinstance(model, BatchModel):
        return chain.times(Spread(*BATCH))
    per_call = habits.seconds(model) if habits else None
    seconds = []
    for n in range(3):
        calls, tokens = load.calls[n], load.tokens_out[n]
        one = per_call[n] if per_call else CALL[n] + TOKEN[n] * (tokens / calls if calls else 0.0)
        rates = (
            calls / (model.requests_per_minute or math.inf) * 60,
            (load.tokens_in[n] + tokens) / model.tokens_per_minute * 60 if model.tokens_per_minute else 0.0,
        )
        seconds.append(max(calls * one / model.concurrency, chain[n] * one if calls else 0.0, *rates) if calls else 0.0)
    return Spread(*seconds)
