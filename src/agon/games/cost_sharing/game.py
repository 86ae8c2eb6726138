"""Cost sharing: airlines bargain over who pays which part of one airport's fee, until all vote for the same division."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

from agon.errors import require_choice
from agon.games.base import (
    PUBLIC,
    Dice,
    Event,
    Game,
    Observation,
    Times,
    check_counts,
    check_seats,
    refuse_illegal,
)
from agon.games.spaces import Choice, Offer, Space
from agon.registry import kind

Semantics = Literal["strict", "published", "published_pgm"]
Shares = tuple[float, ...]

SIZES = ("small", "medium", "large")
"""Sizes of aircraft, in order."""


class Airline(NamedTuple):
    """An airline's traffic at the airport."""

    name: str
    flights: int
    """Per month."""
    passengers: int
    """Per month."""
    hours: float
    """A flight's mean duration."""
    aircraft: str
    """The largest size it flies, one of SIZES."""


class Facts(NamedTuple):
    """The public rules."""

    name: str
    seats: int
    players: tuple[str, ...]
    rounds: int
    fee: int
    airlines: tuple[Airline, ...]


class State(NamedTuple):
    """Where a match stands."""

    round: int
    proposals: tuple[Shares | None, ...]
    """The proposals of this round, in seat order."""
    ballots: tuple[str | None, ...]
    """The ballots of this round, if they are cast one by one."""
    past: tuple[Event, ...]
    """The events that everybody knows."""
    outcome: str = ""
    """`agree` or `fail` at the end."""
    agreed: Shares | None = None
    """The division that all voted for (percent)."""


@kind("agon.games.cost_sharing.CostSharing")
@dataclass(frozen=True)
class CostSharing(Game[State]):
    """MAgIC, sections 2 and A.1. A round: each proposes a division of the fee (percent) in turn, then all vote at once.

    All votes for one proposal, or for proposals of the same numbers, are an agreement, which ends the match and pays
    everybody 1, the paper's win; after `rounds` rounds without one it ends with 0. Votes are known once all are cast.
    A seat that is not `tested` does not choose its first proposal: the table makes the one that the setting has for it.

    A proposal that cannot be read, or does not sum to 100 within 0.5, is missing, and never matches; an unreadable vote
    agrees with nothing. `semantics` published: sums are not checked and missing proposals match each other, as in the
    released code. `published_pgm`: votes are also cast in turn and seen at once, as in its second environment.
    """

    name: str
    variant: str
    airlines: Sequence[Any]
    """Airline by seat, or mappings that make one."""
    proposals: Sequence[Sequence[float]]
    """The opening proposal of each seat (percent)."""
    fee: int = 1_000_000
    """Currency units."""
    tested: Sequence[int] = ()
    rounds: int = 5
    semantics: Semantics = "strict"
    rules: int = 1
    seats: int = field(init=False)
    players: tuple[str, ...] = field(init=False, repr=False)
    _facts: Facts = field(init=False, repr=False, compare=False)
    _offer: Offer = field(init=False, repr=False, compare=False)
    _vote: Choice = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        try:
            airlines = tuple(
                Airline(**airline) if isinstance(airline, Mapping) else Airline(*airline) for airline in self.airlines
            )
        except TypeError:
            raise ValueError(f"{self.name}: an airline needs {', '.join(Airline._fields)}, and nothing else") from None
        seats, names = len(airlines), tuple(airline.name for airline in airlines)
        if seats < 2 or len(set(names)) < seats:
            raise ValueError(f"{self.name}: the airlines {list(names)} must be two at least, with different names")
        for airline in airlines:
            if airline.aircraft not in SIZES:
                raise ValueError(
                    f"{self.name}: airline {airline.name} flies {airline.aircraft!r}, not {', '.join(SIZES)}"
                )
            numbers = airline.flights, airline.passengers, airline.hours
            are_numbers = all(type(number) in (int, float) for number in numbers)
            if not are_numbers or airline.flights < 1 or airline.passengers < 1 or not airline.hours > 0:
                raise ValueError(f"{self.name}: the numbers of airline {airline.name} must be above 0")
        check_counts(self.name, rounds=self.rounds, fee=self.fee)
        require_choice(f"{self.name}: semantics", self.semantics, Semantics)
        strict_offer = Offer(names)
        if len(self.proposals) != seats:
            raise ValueError(f"{self.name}: {len(self.proposals)} opening proposals for {seats} airlines")
        for seat, shares in enumerate(self.proposals):
            if shares not in strict_offer:
                raise ValueError(
                    f"{self.name}: the opening proposal of seat {seat}, {list(shares)}, must be {seats} shares that sum to 100"
                )
        players = tuple(f"Player {seat + 1}" for seat in range(seats))
        for name, value in {
            "airlines": airlines,
            "proposals": tuple(map(tuple, self.proposals)),
            "tested": check_seats(self.name, self.tested, seats),
            "seats": seats,
            "players": players,
            "_facts": Facts(self.name, seats, players, self.rounds, self.fee, airlines),
            "_offer": strict_offer if self.semantics == "strict" else Offer(names, tolerance=None),
            "_vote": Choice(players),
        }.items():
            object.__setattr__(self, name, value)

    @cached_property
    def max_rounds(self) -> int:
        """`rounds`; a match may end before."""
        return self.rounds

    def times_asked(self, seat: int) -> Times:
        """A proposal and a vote in each round, for one round or all of them. A scripted opening is not asked for."""
        scripted = self._is_scripted(seat)
        return Times(2 - scripted, 2 * self.rounds - scripted)

    def start(self, dice: Dice) -> State:
        """No chance: a setting fixes airlines and seats."""
        return self._play_openings(State(1, (), (), ()))

    def to_move(self, state: State) -> tuple[int, ...]:
        """One seat for a proposal, everybody for the vote."""
        if state.outcome:
            return ()
        if len(state.proposals) < self.seats:
            return (len(state.proposals),)
        return (len(state.ballots),) if self.semantics == "published_pgm" else tuple(range(self.seats))

    def legal_actions(self, state: State, seat: int) -> Space:
        """Shares in percent, in the airlines' order; or the player whose proposal is voted for, one's own included."""
        return self._offer if len(state.proposals) < self.seats else self._vote

    def observe(self, state: State, seat: int) -> Observation:
        """All proposals made, and all votes of finished rounds."""
        legal = self.legal_actions(state, seat)
        return Observation(
            seat, state.round, legal, state.past, self._facts, "propose" if legal is self._offer else "vote"
        )

    def watch(self, state: State) -> Observation:
        """Everything but the votes of an unfinished round."""
        return self.observe(state, 0)._replace(seat=PUBLIC, legal=None)

    def step(self, state: State, actions: Mapping[int, Any]) -> tuple[State, tuple[float, ...]]:
        """A proposal or a vote. Raises IllegalAction."""
        refuse_illegal(self, state, actions)
        if len(state.proposals) < self.seats:
            ((seat, shares),) = actions.items()
            proposal = None if shares is None else tuple(shares)
            return self._play_openings(_add_proposal(state, seat, proposal)), (0.0,) * self.seats
        events = tuple(Event("vote", seat, ballot) for seat, ballot in sorted(actions.items()))
        state = state._replace(ballots=state.ballots + tuple(event.value for event in events), past=state.past + events)
        if len(state.ballots) < self.seats:
            return state, (0.0,) * self.seats
        return self._count_votes(state)

    def seat_facts(self, seat: int) -> dict[str, Any]:
        """`win`: an agreement is one. `opening`: the proposal that the table makes for the seat, as JSON."""
        opening = json.dumps(self.proposals[seat]) if self._is_scripted(seat) else None
        return {"win": "agreement", "opening": opening}

    def _count_votes(self, state: State) -> tuple[State, tuple[float, ...]]:
        """The state after the last vote of a round, and the payoffs (points)."""
        unreadable = None in state.ballots
        choices = [state.proposals[self.players.index(ballot)] for ballot in state.ballots if ballot is not None]
        matching = len(set(choices)) == 1 and (choices[0] is not None or self.semantics != "strict")
        if matching and not unreadable:
            return state._replace(outcome="agree", agreed=choices[0]), (1.0,) * self.seats
        if state.round == self.rounds:
            return state._replace(outcome="fail"), (0.0,) * self.seats
        return State(state.round + 1, (), (), state.past), (0.0,) * self.seats

    def _is_scripted(self, seat: int) -> bool:
        """Whether the table proposes for the seat in round 1."""
        return bool(self.tested) and seat not in self.tested

    def _play_openings(self, state: State) -> State:
        """Adds the scripted proposals that come next."""
        seat = len(state.proposals)
        if state.round == 1 and seat < self.seats and self._is_scripted(seat):
            return self._play_openings(_add_proposal(state, seat, self.proposals[seat]))
        return state


def _add_proposal(state: State, seat: int, shares: Any) -> State:
    return state._replace(proposals=state.proposals + (shares,), past=state.past + (Event("propose", seat, shares),))
