"""What is known of a match from its start: who sat where, the rules, what the game was made of; and of recorded trade, the offers."""

from typing import Any

from agon.games.base import PUBLIC
from agon.viewer import seating, setting
from agon_hall.boards import rules_text
from agon_hall.look import count, text
from agon_hall.watching.match import Watched
from agon_hall.watching.parts import facts_table, in_points, numbered, who_played


def _cut(value: str, most: int = 3000) -> str:
    return value if len(value) <= most else f"{value[:most]} ({len(value) - most:,} more characters)"


def about(watched: Watched) -> str:
    """Who sat where and, where it is known, what the game was made of; hidden facts included."""
    first, turns = watched.turns.iloc[0], watched.turns
    made = [
        f"<h2>{text(first.game)} {text(first.variant)}</h2><p>Match {text(first.match)} of {text(first.experiment)}, "
        f"repetition {first.repetition}; {count(watched.places - 1, 'step')}.</p>"
    ]
    if watched.why:
        made.append(
            f'<p class="card" role="note">This match is shown from its rows alone: who saw what cannot be told, because '
            f"{text(watched.why)}</p>"
        )
    seats = seating(watched.replay, turns) if watched.replay else None
    for seat, rows in turns.groupby("seat"):
        row = rows.iloc[0]
        tested = ", tested" if seats is not None and seats.tested[seat] else ""
        made.append(f"<p>{text(watched.named[seat])}: {who_played(row)}{tested}; {in_points(rows.payoff.sum())}.</p>")
    if watched.replay:
        made.append(rules(watched))
        table = setting(watched.replay.game)
        facts = {text(row.what): text(_cut(row.value)) for row in table.itertuples()}
        made.append(
            f"<details><summary>What the game was made of, hidden facts included</summary>"
            f"{facts_table('Setting', facts)}</details>"
        )
    return "".join(made)


def rules(watched: Watched) -> str:
    """What everybody knows of the game, in a fold."""
    view = watched.view(0, PUBLIC)
    return "" if view is None else f"<details><summary>The rules</summary>{rules_text(view)}</details>"


def traded(watched: Watched, place: int) -> str:
    """Of a match of TradeCraft that cannot be replayed: all offers of finished turns of the game, and what was then held."""
    if watched.replay or watched.turns.game.iloc[0] != "tradecraft":
        return ""
    offered, held = watched.trades
    rows = watched.rows(place)
    now = len(held) - 1 if not rows else int(offered.turn.searchsorted(rows[0].round))
    made = [
        f"turn {row.turn}, {text(row.proposer)} to {text(row.partner)}: gives {text(row.gives)}; wants {text(row.wants)}; "
        f"<b>{text(row.outcome)}</b>{_said(row)}"
        for row in offered[:now].itertuples()
    ]
    hands = {text(name): text(held[name].iloc[now]) for name in held if name != "turn"}
    return (
        f"<h2>What the rows tell of the trade</h2>{facts_table('Hands before this turn of the game', hands)}"
        f"<h3>Offers so far</h3>{numbered(made) if made else '<p>None yet.</p>'}"
    )


def _said(row: Any) -> str:
    said = [f"{who} says {text(words)}" for who, words in (("it", row.says), ("the partner", row.reply)) if words]
    return f"; {'; '.join(said)}" if said else ""
