"""Proofs that something cannot be crafted, which can be checked without a solver."""

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array

from agon.games.tradecraft.planner.parts import Part, part
from agon.games.tradecraft.recipes import Hand, Ruleset

FIRE = " fire"
"""The price of one smelt, among the prices of items."""
PARTS = 100_000
"""The largest denominator of a price."""


def prices(ruleset: Ruleset, hand: Hand, target: Hand) -> dict[str, Fraction] | None:
    """Prices at which no craft gains, and the hand is worth less than the target: so it cannot become the target.

    None where there are none: then at most whole numbers stand in the way.
    """
    matters = part(ruleset, hand, target, enough=True)
    names = [*matters.items, *(item for item in target if item not in matters.items), FIRE]
    rows: list[dict[int, float]] = []
    column = {name: number for number, name in enumerate(names)}
    columns = len(names)
    for way in matters.ways:
        row = {column[way.recipe.makes]: float(way.recipe.number)}
        if way.recipe.fuelled:
            row[column[FIRE]] = -1.0
        for count, members in way.needs:
            place = column[members[0]]
            if len(members) > 1:  # the price of the cheapest
                place, columns = columns, columns + 1
                rows += [{place: 1.0, column[item]: -1.0} for item in members]
            row[place] = row.get(place, 0.0) - count
        rows.append(row)
    rows += [{column[FIRE]: float(worth), column[item]: -1.0} for item, worth in matters.fuel.items()]
    starts = np.cumsum([0, *(len(row) for row in rows)])
    data = [factor for row in rows for factor in row.values()]
    matrix = csr_array((data, [place for row in rows for place in row], starts), shape=(len(rows), columns))
    cost = np.zeros(columns)
    for item, amount in hand.items():
        if item in column:
            cost[column[item]] = float(amount)
    asked = np.zeros((1, columns))
    for item, amount in target.items():
        asked[0, column[item]] = float(amount)
    found = linprog(cost, A_ub=matrix, b_ub=np.zeros(len(rows)), A_eq=asked, b_eq=[1.0], bounds=(0, None))
    if found.x is None or found.fun > 1 - 1e-6:
        return None
    made = {name: Fraction(value).limit_denominator(PARTS) for name, value in zip(names, found.x, strict=False)}
    named = {name: price for name, price in made.items() if price}
    return named if holds(matters, hand, target, named) else None


def holds(matters: Part, hand: Hand, target: Hand, named: Mapping[str, Fraction]) -> bool:
    """Whether prices prove that the hand cannot become the target, in exact fractions. What has no price is free."""

    def worth(item: str) -> Fraction:
        return named.get(item, Fraction(0))

    for way in matters.ways:
        spent = sum((need.number * min(map(worth, need.members)) for need in way.needs), Fraction(0))
        if way.recipe.number * worth(way.recipe.makes) > spent + way.recipe.fuelled * worth(FIRE):
            return False
    if any(smelts * worth(FIRE) > worth(item) for item, smelts in matters.fuel.items()):
        return False
    total = [sum((amount * worth(item) for item, amount in some.items()), Fraction(0)) for some in (hand, target)]
    return min(named.values(), default=Fraction(0)) >= 0 and total[0] < total[1]
