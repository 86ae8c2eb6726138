"""A match of TradeCraft as a picture, from its turns: offers, hands, refusals and wins.

The turns are of our own matches or of recorded games (agon.games.tradecraft.story).
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from agon.figures import COLOURS, figure, headline, legend, styled
from agon.games.tradecraft.amounts import Amount, format_hand
from agon.games.tradecraft.story import Deal, Story, Turn, read


class Mark(NamedTuple):
    """A sign in the picture. Hollow and filled signs differ without colour, too."""

    marker: str
    colour: str
    filled: bool
    meaning: str


CHANGES = {
    "got": Mark("^", COLOURS[1], True, "got in a trade"),
    "gave": Mark("v", COLOURS[2], True, "given in a trade"),
    "made": Mark("D", COLOURS[3], True, "made by crafting"),
    "used": Mark("D", COLOURS[0], False, "used up, or a fraction lost"),
}
OUTCOMES = {
    "accepted": Mark("o", COLOURS[3], True, "offer accepted"),
    "rejected": Mark("X", COLOURS[2], True, "offer rejected"),
    "undecided": Mark("X", COLOURS[0], False, "no decision: rejected by default"),
    "no": Mark("s", COLOURS[0], False, "no proposal"),
}
WIN = Mark("*", COLOURS[0], True, "holds its target")
COLUMN, ROW = 1.35, 0.21
"""Width of a turn, height of a line (inches)."""
LETTERS = 21
"""The letters in the width of a column."""


@styled
def timeline(turns: pd.DataFrame, title: str) -> Figure:
    """A match turn by turn: every offer with its outcome; every hand with its changes; refusals and wins.

    The headline is `title` and how the match ended.
    """
    match = read(turns)
    story, players = match.turns, match.players
    offers = [_offer(turn.deal, players) for turn in story]
    items = [_items(story, seat) for seat in range(len(players))]
    lines = max(map(len, offers)) + 1
    rows = lines + sum(len(turn) + 3 for turn in items)
    picture, (axes,) = figure(1, 1, (1.5 + COLUMN * (len(story) + 1), ROW * rows + 3.4))
    _frame(axes, story, rows)
    headline(picture, f"{title}: {_ending(match)}")
    labels, top = {0.0: "offer"}, float(lines)
    for place, (turn, lines_of_offer) in enumerate(zip(story, offers, strict=True), start=1):
        _draw_offer(axes, place, turn, lines_of_offer)
    for seat, name in enumerate(players):
        labels |= _block(axes, story, seat, top, name, items[seat])
        top += len(items[seat]) + 3
    axes.set_yticks(list(labels), list(labels.values()))
    for text in axes.get_yticklabels():
        text.set_fontweight("bold" if text.get_text() in (*players, "offer") else "normal")
    _legend(picture, axes)
    return picture


def _ending(match: Story) -> str:
    """Who got its target and when, and how many proposals and trades there were, in words."""
    deals = [turn.deal for turn in match.turns]
    winners = [
        f"{match.players[seat]} has its target after turn {turn.number}"
        for turn in match.turns
        for seat in turn.winners
    ]
    proposals, trades = sum(deal.offer is not None for deal in deals), sum(deal.accepted for deal in deals)
    return f"{' and '.join(winners) or 'nobody gets its target'} (proposals: {proposals}, trades: {trades})"


def _frame(axes: Axes, story: Sequence[Turn], rows: float) -> None:
    """The columns of the turns. Every other one is shaded."""
    axes.set(xlim=(-0.5, len(story) + 0.5), ylim=(rows - 0.8, -0.8))
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    axes.xaxis.set_ticks_position("top")
    axes.set_xticks(range(len(story) + 1), ["start", *(f"turn {turn.number}" for turn in story)])
    for place in range(1, len(story) + 1, 2):
        axes.add_patch(Rectangle((place - 0.5, -0.8), 1, rows, fc="#f4f4f4", ec="none", zorder=0))


def _offer(deal: Deal, players: Sequence[str]) -> list[str]:
    """An offer in short lines."""
    short = {name: name.replace("Player ", "P") for name in players}
    if not deal.proposer:
        return ["", "no proposal"]
    who = short[deal.proposer]
    if deal.outcome.startswith("no"):
        return [who, *deal.outcome.split(": ")]
    sides = [format_hand(side).split(", ") for side in (deal.offer, deal.request)]
    return [
        f"{who} to {short.get(deal.partner, deal.partner)}",
        *sides[0],
        "for",
        *sides[1],
        deal.outcome.partition(",")[0] or "not decided",
    ]


def _draw_offer(axes: Axes, place: int, turn: Turn, lines: Sequence[str]) -> None:
    _draw(axes, OUTCOMES.get(turn.deal.outcome.split(" ")[0].rstrip(":"), OUTCOMES["no"]), place - 0.4, 0, 8)
    for line, text in enumerate(lines):
        short = text if len(text) <= LETTERS else f"{text[: LETTERS - 2]}.."
        weight = "bold" if line in (0, len(lines) - 1) else "normal"
        axes.text(place - 0.44 + 0.14 * (line == 0), line, short, va="center", weight=weight)


def _draw(axes: Axes, mark: Mark, x: float, y: float, size: float) -> None:
    face = mark.colour if mark.filled else "white"
    axes.plot([x], [y], ls="", marker=mark.marker, ms=size, mfc=face, mec=mark.colour)


def _items(story: Sequence[Turn], seat: int) -> list[str]:
    """All items that the seat ever holds, in the order in which it gets them."""
    hands = [hand for turn in story for hand in (turn.before[seat], turn.after_trade[seat], turn.after[seat])]
    return list(dict.fromkeys(item for hand in hands for item in sorted(hand)))


def _block(
    axes: Axes, story: Sequence[Turn], seat: int, top: float, name: str, items: Sequence[str]
) -> dict[float, str]:
    """Draws the lines of a player: the amounts of every item, then refusals. Returns height -> label."""
    axes.plot([-0.5, len(story) + 0.5], [top - 0.6] * 2, color="#999999", lw=0.6)
    for line, item in enumerate(items, start=1):
        for place, turn in enumerate([None, *story]):
            hand = story[0].before[seat] if turn is None else turn.after[seat]
            changes = [] if turn is None else _changes(turn, seat, item)
            if item in hand or changes:
                _amount(axes, place, top + line, hand.get(item, 0), changes)
    end = top + 1 + len(items)
    for place, turn in enumerate(story, start=1):
        if count := turn.wrong(seat):
            axes.text(place, end, f"{count}", va="center", ha="center", style="italic")
        if seat in turn.winners:
            _draw(axes, WIN, place - 0.1, top, 11)
            axes.text(place + 0.04, top, "wins", va="center", weight="bold")
    return {
        top: name,
        **{top + line: item for line, item in enumerate(items, start=1)},
        end: "refused, or\nnothing done",
    }


def _amount(axes: Axes, place: float, line: float, amount: Amount, changes: Sequence[Mark]) -> None:
    weight = "bold" if changes else "normal"
    axes.text(place, line, f"{amount}", va="center", ha="center", weight=weight)
    for number, mark in enumerate(changes):
        _draw(axes, mark, place - 0.22 - 0.13 * number, line, 5)


def _changes(turn: Turn, seat: int, item: str) -> list[Mark]:
    """The marks of the changes of an item's amount in one turn."""
    amounts = [hands[seat].get(item, 0) for hands in (turn.before, turn.after_trade, turn.after)]
    trade, craft = (after - before for before, after in pairwise(amounts))
    effects = {"got": trade > 0, "gave": trade < 0, "made": craft > 0, "used": craft < 0}
    return [CHANGES[name] for name, holds in effects.items() if holds]


def _legend(picture: Figure, axes: Axes) -> None:
    """The legend of the marks, below the picture."""
    for mark in (*OUTCOMES.values(), *CHANGES.values(), WIN):
        face = mark.colour if mark.filled else "white"
        axes.plot([], [], ls="", marker=mark.marker, ms=7, mfc=face, mec=mark.colour, label=mark.meaning)
    axes.set_xlabel("amounts at the end of the turn; bold: changed", loc="left")
    legend(picture, axes, max(1, min(4, int(picture.get_figwidth() / 2.7))))
