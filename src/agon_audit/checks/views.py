"""Views of seats: hidden facts in them, and the order of the options."""

import json
import re

import numpy as np

from agon.games.reading import folded
from agon_audit.checks.base import Case, Found, check, where


@check(
    "leaks",
    "hidden facts in what another seat saw",
    "a word that stands there by chance, or a fact that may be known by then",
    "view",
    "hidden",
)
def leaks(case: Case) -> Found:
    """The hidden fact of one seat, as whole words, in the view of another seat. Facts of less than three letters are not looked for."""
    rows = case.games.rows
    facts = rows[rows.hidden.notna()].drop_duplicates(["match", "seat"])
    of_match: dict[str, dict[int, str]] = {}
    for match, seat, fact in zip(facts.match, facts.seat, facts.hidden, strict=True):
        of_match.setdefault(match, {})[seat] = _words(fact)
    shown = np.full(len(rows), "", dtype=object)
    looked = 0
    for at, (match, seat, view) in enumerate(zip(rows.match, rows.seat, rows["view"], strict=True)):
        own = of_match.get(match, {})
        others = [
            fact for other, fact in own.items() if other != seat and fact != own.get(seat) and len(fact.strip()) > 2
        ]
        if others and isinstance(view, str):
            looked += 1
            text = _words(view)
            shown[at] = next((fact.strip() for fact in others if fact in text), "")
    return where(case, shown != "", looked, "it shows {shown!r:.40}, which is hidden from this seat", shown=shown)


def _words(text: str) -> str:
    """The words of a text, with one space around each."""
    return " ".join(["", *re.findall(r"[^\W_]+", folded(text)), ""])


@check("order", "orders of options that are none", "an order that is written in another way", "order")
def order(case: Case) -> Found:
    """An order that does not name each option once."""
    column = case.games.rows.order.astype("category")
    good = {text: _is_order(text, len(case.games.mapping.options)) for text in column.cat.categories}
    known, counts = int(column.notna().sum()), column.value_counts()
    notes = {f"orders {text:.60}": (number, known) for text, number in counts.items()}
    mask = column.isin([text for text, is_good in good.items() if not is_good])
    return where(case, mask, known, "{order!r:.60} does not name each option once", notes)


def _is_order(text: str, size: int) -> bool:
    try:
        values = json.loads(text.replace("'", '"'))
    except (ValueError, RecursionError):
        return False
    return isinstance(values, list) and len({*map(str, values)}) == len(values) and len(values) == (size or len(values))
