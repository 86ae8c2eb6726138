"""Amounts from a low to a high: calls, and tokens sent and received."""

from typing import NamedTuple


class Spread(NamedTuple):
    """A range. `high` may be infinite."""

    low: float = 0.0
    middle: float = 0.0
    high: float = 0.0

    def plus(self, other: "Spread") -> "Spread":
        """The sum of two ranges that are low or high together."""
        return Spread(*map(sum, zip(self, other, strict=True)))

    def times(self, other: "Spread") -> "Spread":
        """The product of two ranges of numbers that are not negative."""
        return Spread(*(one * another if one and another else 0.0 for one, another in zip(self, other, strict=True)))


class Load(NamedTuple):
    """The calls to a model and their tokens."""

    calls: Spread = Spread()
    tokens_in: Spread = Spread()
    tokens_out: Spread = Spread()

    def plus(self, other: "Load") -> "Load":
        """The sum."""
        return Load(*(one.plus(another) for one, another in zip(self, other, strict=True)))

    def times(self, other: "Load") -> "Load":
        """The product, part by part."""
        return Load(*(one.times(another) for one, another in zip(self, other, strict=True)))
