"""What matches will ask of models: calls, tokens, money and time from a low to a high, by what was recorded or else by what is possible."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Annotated, Any, NamedTuple

import msgspec

from agon import AgonError
from agon.agents.keeping import Full
from agon.conf import CONF, names, settings_of
from agon.games.schemas import written
from agon.models import Answer, Halted, Model, Request
from agon.models.base import identity_of, key_of
from agon.models.batch import Batched
from agon.models.recording import FILE, Recording
from agon.models.standin import StandIn
from agon.plan import Match, models_of, plan
from agon.play import play_async

LETTERS = 5.0, 4.0, 2.5
"""Letters to a token: at the most, about, and at the least, in languages with Latin letters."""
CALL, TOKEN = (0.2, 0.7, 3.0), (0.003, 0.02, 0.1)
"""Seconds that a call takes beside its answer, and for each token of that."""
BATCH = 120.0, 3_600.0, 86_400.0
"""Seconds that a batch takes."""
SHORTEST, CORRECTION = 4.0, 60.0
"""Tokens of the shortest answer, and of what is said of one that cannot be read."""
LOOKED_AT = 16
"""Recorded seats that are looked at for one agent in one game with one model."""
OTHERS = 2.0
"""Factor by which a range is wider that comes from recordings of other models."""


class Spread(NamedTuple):
    """A range; `high` may be infinite."""

    low: float = 0.0
    middle: float = 0.0
    high: float = 0.0

    def plus(self, other: "Spread") -> "Spread":
        """Both together, where they are high and low together."""
        return Spread(*map(sum, zip(self, other, strict=True)))

    def times(self, other: "Spread") -> "Spread":
        """The product, of numbers that are not negative."""
        return Spread(*(one * another if one and another else 0.0 for one, another in zip(self, other, strict=True)))


class Load(NamedTuple):
    """What is asked of a model."""

    calls: Spread = Spread()
    tokens_in: Spread = Spread()
    tokens_out: Spread = Spread()

    def plus(self, other: "Load") -> "Load":
        """Both together."""
        return Load(*(one.plus(another) for one, another in zip(self, other, strict=True)))

    def times(self, other: "Load") -> "Load":
        """Part by part."""
        return Load(*(one.times(another) for one, another in zip(self, other, strict=True)))


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


Tokens = Annotated[int, msgspec.Meta(ge=0, le=10**9)]


class _Line(msgspec.Struct):
    """Of a recording's line, what an estimate needs."""

    exchange: str = ""
    model: str = ""
    parameters: dict[str, Any] = {}
    sample: Annotated[str, msgspec.Meta(pattern=r"^[^/]+/[0-9]{1,6}/")] = "match/0/0"
    tokens_in: Tokens = 0
    tokens_cached: Tokens = 0
    tokens_out: Tokens = 0
    seconds: Annotated[float, msgspec.Meta(ge=0, le=1e7)] = 0.0


class Counted(NamedTuple):
    """What was asked, or is expected to be."""

    calls: float = 0.0
    tokens_in: float = 0.0
    tokens_out: float = 0.0
    most: float = 0.0
    """Tokens that the answers may have."""
    least: float = 0.0
    """Tokens that they have at the least; none where answers are weighed, for some servers count none there."""

    def plus(self, other: "Counted") -> "Counted":
        """Both together."""
        return Counted(*map(sum, zip(self, other, strict=True)))


Questions = dict[str, Counted]
"""Sample of a question, without the number of the try -> what its tries took."""


def _question(sample: str) -> str:
    return sample.rpartition(".")[0]


def _seat(question: str) -> int:
    return int(question.split("/")[1])


class _Supposed:
    """In the place of a model: answers as it may be expected to, and writes down what it was asked.

    With `wrong` no answer can be read, and it ends the match after the first step. `room` is the model's.
    """

    instant = True

    def __init__(
        self, model: Model, recording: Recording | None = None, wrong: bool = False, room: int | None = None
    ) -> None:
        self.identity, self.recording, self.wrong, self.room = model.identity, recording, wrong, room
        self.most, self.thinks = model.parameters.get("max_tokens") or math.inf, model.thinks
        self.asked: list[tuple[str, Counted]] = []
        """Question of every call, and what it takes."""
        self.steps = self.before = 0
        """Steps of the match in which it was asked."""
        self.full = False
        """Whether the match ended because a conversation did not fit into the model's room."""

    async def answer(self, request: Request) -> Answer:
        if self.recording and (found := self.recording.get(key_of(self.identity, request))) is not None:
            return found
        sent = sum(len(each.text) for each in request.messages) / LETTERS[1]
        tokens, most = self._length(request)
        least = 0.0 if request.options else min(SHORTEST, tokens)
        self.asked.append((_question(request.sample), Counted(1, sent, tokens, most, least)))
        text = "" if self.wrong or request.options else self._said(request, min(tokens, request.expected))
        weights = (0.0,) * len(request.options)
        return Answer(text, tokens_in=round(sent), tokens_out=round(tokens), weights=weights)

    def _length(self, request: Request) -> tuple[float, float]:
        """Tokens of an answer, and of the longest. What is weighed says nothing: a letter is one token, of words each is asked for."""
        if not request.options:
            return min(request.expected + self.thinks, self.most), self.most
        letters = sum(map(len, request.options))
        if letters == len(request.options):
            return 1, 1
        return letters / LETTERS[1], letters / LETTERS[2] + len(request.options)

    def _said(self, request: Request, tokens: float) -> str:
        legal = request.view.legal
        action = legal.example(Random(request.sample))
        move = f"[move] {legal.spelled(action)}" if request.schema is None else written(legal.as_value(action))
        return move.rjust(int(tokens * LETTERS[1]))

    def moved(self) -> None:
        """A step of the match is over."""
        self.steps, self.before = self.steps + (len(self.asked) > self.before), len(self.asked)
        if self.wrong and self.asked:
            raise Halted("the first step tells how often agents ask again")

    def of_seat(self, seat: int) -> list[Counted]:
        """Its calls for a seat, in order."""
        return [each for question, each in self.asked if _seat(question) == seat]

    def by_question(self) -> Questions:
        """What each question takes."""
        found: Questions = defaultdict(Counted)
        for question, each in self.asked:
            found[question] = found[question].plus(each)
        return found


def _played(
    match: Match,
    models: Mapping[str, Model],
    recording: Recording | None = None,
    wrong: bool = False,
    roomy: bool = False,
) -> list[_Supposed]:
    """The models of a match, in the order of its seats, after it was played with them; `roomy`: whatever fits into them."""
    rooms = {seat.model: None if roomy else models[seat.model].room for seat in match.seats if seat.model}
    found = {each: _Supposed(models[each], recording, wrong, room) for each, room in rooms.items()}

    def moved(*_: object) -> None:
        for each in found.values():
            each.moved()

    try:
        play_async(match, found, instant=True, moved=moved).send(None)
    except Full:
        for each in found.values():
            each.full = True
    except (StopIteration, Halted):
        pass
    return [*found.values()]


def _attempts(match: Match, models: Mapping[str, Model]) -> dict[int, float]:
    """Seat -> how often its agent asks for one answer, at most."""
    found = dict[int, float]()
    for each in _played(match, models, wrong=True):
        for seat in {_seat(question) for question, _ in each.asked}:
            questions = {question for question, _ in each.asked if _seat(question) == seat}
            found[seat] = len(each.of_seat(seat)) / len(questions)
    return found


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


@dataclass
class Habits:
    """What recordings tell of how much models are asked, beyond what is expected. `folder` holds recordings by experiment."""

    folder: Path
    conf: Path = CONF
    _seen: dict[Any, tuple[Load, str] | None] = field(default_factory=dict)
    _expected: dict[str, list[_Supposed]] = field(default_factory=dict)

    @cached_property
    def lines(self) -> dict[str, list[_Line]]:
        """Match -> its recorded exchanges, each once: several experiments may have recorded the same match."""
        found: dict[str, dict[str, _Line]] = defaultdict(dict)
        read = msgspec.json.Decoder(_Line)
        for path in filter(Path.is_file, sorted(self.folder.glob(f"*/{FILE}"))):
            for raw in path.read_bytes().splitlines():
                with suppress(msgspec.MsgspecError, RecursionError, ValueError):  # what is no exchange tells nothing
                    if (line := read.decode(raw)).exchange:
                        found[line.sample.partition("/")[0]][line.exchange] = line
        return {match: [*lines.values()] for match, lines in found.items()}

    @cached_property
    def matches(self) -> list[tuple[Match, Mapping[str, Model]]]:
        """Recorded matches of the experiments in conf, and their models."""
        found: dict[str, tuple[Match, Mapping[str, Model]]] = {}
        for path in sorted(self.folder.glob(f"*/{FILE}")):
            with suppress(AgonError):
                if path.parent.name in names("experiment", self.conf):
                    experiment = settings_of("experiment", path.parent.name, self.conf)
                    models = models_of(experiment, self.conf)
                    found |= {
                        each.id: (each, models)
                        for each in plan(experiment, self.conf, large=True)
                        if each.id in self.lines
                    }
        return list(found.values())

    def of(
        self, match: Match, seat: int, model: Model, own: Sequence[Match], models: Mapping[str, Model]
    ) -> tuple[Load, str] | None:
        """By what factors an agent in a game asks a model more than is expected, and how that is known; None where it is not.

        `own` are the matches of the experiment that is estimated. Recordings of the same model come first.
        """
        agent = match.seats[seat].agent
        wanted = (match.game.name, agent, model.identity)
        if wanted not in self._seen:
            known = {each.id: (each, models) for each in own if each.id in self.lines}
            known |= {each.id: (each, theirs) for each, theirs in self.matches}
            alike = [(each, theirs) for each, theirs in known.values() if each.game.name == match.game.name]
            self._seen[wanted] = None
            for same in (True,) if isinstance(model, StandIn) else (True, False):  # one script tells nothing of another
                ratios = list(islice(self._ratios(alike, agent, model, same), LOOKED_AT))
                if ratios:
                    seats = "seat" if len(ratios) == 1 else "seats"
                    told = f"{len(ratios)} recorded {seats} of {agent} in {match.game.name}" + (
                        "" if same else ", of other models"
                    )
                    self._seen[wanted] = Load(*(_range([each[n] for each in ratios], same) for n in range(3))), told
                    break
        return self._seen[wanted]

    def _ratios(
        self, known: Iterable[tuple[Match, Mapping[str, Model]]], agent: str, model: Model, same: bool
    ) -> Iterator[tuple[float, float, float]]:
        """Of recorded seats: calls, tokens sent and received, as multiples of what was expected."""
        for match, models in known:
            for number, seat in enumerate(match.seats):
                asked = models.get(seat.model or "")
                if seat.agent != agent or asked is None or (_apart(asked) == _apart(model)) is not same:
                    continue
                if isinstance(asked, StandIn) and not same:
                    continue
                actual: Questions = defaultdict(Counted)
                for line in self.lines[match.id]:
                    if _seat(line.sample) == number and identity_of(line.model, line.parameters) == asked.identity:
                        own = Counted(1, line.tokens_in, line.tokens_out)
                        actual[_question(line.sample)] = actual[_question(line.sample)].plus(own)
                if match.id not in self._expected:
                    self._expected[match.id] = _played(match, models)
                expected = next(
                    each for each in self._expected[match.id] if each.identity == asked.identity
                ).by_question()
                common = [each for each in actual if each in expected]
                if common and sum(actual[each].tokens_in for each in common):
                    sums = [_total(part[each] for each in common) for part in (actual, expected)]
                    yield (sums[0][0] / sums[1][0], sums[0][1] / sums[1][1], sums[0][2] / (sums[1][2] or 1))

    def seconds(self, model: Model) -> Spread | None:
        """Seconds of a call to a model, by recorded ones; where there are none, by those with another max_tokens."""
        means: dict[bool, list[float]] = {True: [], False: []}
        for lines in self.lines.values():
            for exactly, known in means.items():
                own = [each.seconds for each in lines if each.seconds and _same(each, model, exactly)]
                if own:
                    known.append(fmean(own))
        found = means[True] or means[False]
        return _range(found, True) if found else None


def _apart(model: Model) -> str:
    """What tells a model apart, whatever the longest answer that is allowed."""
    return _unbounded(model.identity)


@cache
def _unbounded(identity: str) -> str:
    known = msgspec.json.decode(identity)
    return identity_of(
        known["model"], {name: value for name, value in known["parameters"].items() if name != "max_tokens"}
    )


def _same(line: _Line, model: Model, exactly: bool) -> bool:
    identity = identity_of(line.model, line.parameters)
    return identity == model.identity if exactly else _unbounded(identity) == _apart(model)


def _total(parts: Iterable[Counted]) -> Counted:
    found = Counted()
    for each in parts:
        found = found.plus(each)
    return found


def _range(values: Sequence[float], same: bool) -> Spread:
    """From the least to the greatest of some values, wider where they are few, or of other models."""
    wider = (1 + 1 / len(values)) * (1 if same else OTHERS)
    return Spread(min(values) / wider, fmean(values), max(values) * wider)


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
    begun, questions = dict.fromkeys(models, 0), dict.fromkeys(models, 0)
    bases: dict[str, set[str]] = {name: set() for name in models}
    played: dict[Any, list[_Supposed]] = {}
    roomy: dict[Any, dict[str, _Supposed]] = {}
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
            played[alike] = _played(match, models, recorded)
        for name, expected in zip(names, played[alike], strict=True):
            before, own = len(expected.asked), Load()
            questions[name] += before
            for seat in [number for number, each in enumerate(match.seats) if each.model == name and before]:
                if (place := (alike, seat, name)) not in loads:
                    calls = expected.of_seat(seat)
                    known = habits.of(match, seat, models[name], matches, models) if habits and calls else None
                    if known is not None:
                        middle = Load(*(Spread(each, each, each) for each in _total(calls)[:3]))
                        load = middle.times(known[0])
                        if match.game.fixed_rounds:  # such a match asks every question once at least
                            load = load._replace(calls=Spread(*(max(each, len(calls)) for each in load.calls)))
                        loads[place] = load, known[1]
                    else:
                        group = match.game, seats
                        if group not in attempts:
                            attempts[group] = _attempts(match, models)
                        if expected.full and alike not in roomy:
                            roomy[alike] = dict(zip(names, _played(match, models, recorded, roomy=True), strict=True))
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
            _basis(bases[name]),
            questions[name],
        )
        for name, model in models.items()
    ]


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
