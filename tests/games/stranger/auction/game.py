"""First-price sealed-bid auctions with private values (Vickrey 1961): all bid at once, the highest bid wins and pays itself."""

from dataclasses import dataclass
from typing import NamedTuple

from agon.games.base import PUBLIC, Event, Game, Observation, empty_histories, refuse_illegal, reveal
from agon.games.spaces import Number


class Facts(NamedTuple):
    """What everybody knows."""

    name: str
    seats: int
    players: tuple
    rounds: int
    most: int


class State(NamedTuple):
    """Where a match stands."""

    values: tuple
    """values[round][seat]: what the good is worth to the seat (points)."""
    done: int
    seen: tuple


@dataclass(frozen=True)
class Auction(Game):
    """`rounds` auctions among `seats` bidders. A value is from 1 to `most`, drawn anew for each; of equal bids the first seat's wins."""

    name: str
    variant: str
    seats: int = 2
    rounds: int = 3
    most: int = 20
    rules: int = 1

    def start(self, dice):
        values = tuple(tuple(1 + int(dice.random() * self.most) for _ in range(self.seats)) for _ in range(self.rounds))
        return self._opened(State(values, 0, empty_histories(self.seats)))

    def to_move(self, state):
        return tuple(range(self.seats)) if state.done < self.rounds else ()

    def legal_actions(self, state, seat):
        return Number(0, self.most)

    def observe(self, state, seat):
        facts = Facts(self.name, self.seats, self.players, self.rounds, self.most)
        return Observation(seat, state.done + 1, Number(0, self.most), state.seen[seat], facts, "bid")

    def watch(self, state):
        return self.observe(state, PUBLIC)._replace(legal=None)

    def step(self, state, actions):
        refuse_illegal(self, state, actions)
        best = max(range(self.seats), key=lambda seat: (actions[seat] or 0, -seat))
        price, paid = actions[best] or 0, [0.0] * self.seats
        if price:
            paid[best] = float(state.values[state.done][best] - price)
        sold = Event("sold", best if price else None, price)
        return self._opened(state._replace(done=state.done + 1, seen=reveal(state.seen, sold))), tuple(paid)

    def _opened(self, state):
        seen = state.seen
        if state.done < self.rounds:
            for seat, value in enumerate(state.values[state.done]):
                seen = reveal(seen, Event("value", None, value), (seat,))
        return state._replace(seen=seen)
