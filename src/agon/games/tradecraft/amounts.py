"""Amounts of items and hands that hold them, as values and as players write them."""

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, cast

Amount = int | Fraction
"""How much of an item; a whole number wherever it is one."""
Hand = Mapping[str, Amount]
"""Item -> how much of it, above 0. Never changed: `plus` and `minus` make another."""

LARGEST = 10_000
"""A larger amount is refused."""
NEAR = Fraction(1, 10**9)
"""Decimals this close to a fraction with a small denominator mean that fraction: 0.6666666666666666 is 2/3."""
SMALL = 1000
"""The largest small denominator."""
LONGEST = 10**12
"""A message does not show a larger number."""
_WRITTEN = re.compile(r" *([0-9]{1,12})(?: */ *([0-9]{1,6})|(\.[0-9]{1,30}))? *")


def whole(amount: Amount) -> Amount:
    """An amount, as an int where it is a whole number."""
    return int(amount) if type(amount) is Fraction and amount.denominator == 1 else amount


def plus(hand: Hand, more: Hand) -> dict[str, Amount]:
    """The sum of two hands."""
    total = dict(hand)
    for item, amount in more.items():
        total[item] = whole(total.get(item, 0) + amount)
    return total


def minus(hand: Hand, less: Hand) -> dict[str, Amount]:
    """The hand without `less`. Amounts that the hand does not cover become negative."""
    rest = dict(hand)
    for item, amount in less.items():
        if amount_left := whole(rest.get(item, 0) - amount):
            rest[item] = amount_left
        else:
            rest.pop(item, None)
    return rest


def exchange_items(giver: Hand, taker: Hand, offer: Hand, request: Hand) -> tuple[dict[str, Amount], dict[str, Amount]]:
    """Two hands after a trade: the first one gives `offer` for `request`."""
    return plus(minus(giver, offer), request), plus(minus(taker, request), offer)


def covers(hand: Hand, needs: Hand) -> bool:
    """Whether the hand has at least the amounts of `needs`."""
    return all(hand.get(item, 0) >= amount for item, amount in needs.items())


def shortage(hand: Hand, needs: Hand) -> dict[str, Amount]:
    """The amounts that a hand lacks to cover `needs`."""
    return {item: amount - hand.get(item, 0) for item, amount in needs.items() if amount > hand.get(item, 0)}


def floor_hand(hand: Hand) -> dict[str, Amount]:
    """The hand without fractions: what a player keeps when it is done crafting."""
    return {item: int(amount) for item, amount in hand.items() if amount >= 1}


def amount_of(value: object) -> Amount:
    """The amount that a player writes as 3, "3", "1/8" or 0.125. Raises ValueError, in one line, for 0 and for anything else.

    Decimals within 1e-9 of a fraction whose denominator is at most 1,000 mean that fraction.
    """
    if type(value) is int and 0 < value <= LARGEST:
        return value
    if isinstance(value, str):
        text = value
    else:  # no bool; a longer number may have too many digits to be written
        text = repr(value) if type(value) in (int, float) and -LONGEST < cast(float, value) < LONGEST else ""
    match = _WRITTEN.fullmatch(text) if len(text) < 60 else None
    if match is None or (match[2] and not int(match[2])):
        raise ValueError(f"{shorten(value)} is no amount: write a positive number such as 3, or a fraction such as 1/8")
    amount: Amount = int(match[1]) if match[2] is None else Fraction(int(match[1]), int(match[2]))
    if match[3]:
        amount += Fraction(match[3])
        simple = amount.limit_denominator(SMALL)
        amount = simple if abs(simple - amount) < NEAR else amount
    if not 0 < amount <= LARGEST:
        raise ValueError(f"{shorten(value)} is no amount: it must be above 0 and at most {LARGEST}")
    return whole(amount)


def hand_of(value: object) -> dict[str, Amount]:
    """The hand of a JSON object of item names and amounts. Raises ValueError, in one line, for any other value."""
    if not isinstance(value, Mapping):
        raise ValueError(f'{shorten(value)} is no list of items: write an object such as {{"stick": 2}}')
    hand: dict[str, Amount] = {}
    for item, amount in value.items():
        if not isinstance(item, str) or not item:
            raise ValueError(f"{shorten(item)} is no item")
        try:
            hand[item] = amount_of(amount)
        except ValueError as error:
            raise ValueError(f"{shorten(item)}: {error}") from None
    return hand


def hand_to_json(hand: Hand) -> dict[str, int | str]:
    """A hand as JSON: items in order, whole amounts as numbers, others as "1/8"."""
    return {item: int(amount) if amount == int(amount) else str(amount) for item, amount in sorted(hand.items())}


def hand_from_json(hand: Mapping[str, int | str]) -> dict[str, Amount]:
    """A hand from the JSON of `hand_to_json`. Its amounts may be larger than those that a player can name."""
    return {item: amount if isinstance(amount, int) else Fraction(amount) for item, amount in hand.items()}


def format_hand(hand: Mapping[str, Any] | None) -> str:
    """A hand in words: '1 coal, 2 stick', or 'nothing'."""
    return ", ".join(f"{amount} {item}" for item, amount in sorted((hand or {}).items())) or "nothing"


def shorten(value: object) -> str:
    """A value for a message, cut off where it is long."""
    text = "a number" if isinstance(value, int) and abs(value) > LONGEST else repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
