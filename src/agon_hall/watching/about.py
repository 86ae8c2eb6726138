"""What is known of a match from its start: who sat where, the rules, what the game was made of; or what its rows tell."""

from agon.figures.viewer import seating, setting
from agon.games.base import PUBLIC
from agon.games.html import count, text
from agon_hall.families import known_pages
from agon_hall.rules import rules_text
from agon_hall.watching.match import Watched
from agon_hall.watching.parts import facts_table, in_points, who_played


def _cut(value: str, most: int = 3000) -> str:
    return value if len(value) <= most else f"{value[:most]} ({count(len(value) - most, 'more character')})"


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
    if view is None or watched.replay is None:
        return ""
    replay = watched.replay
    told = rules_text(view, replay.game, replay.steps[0].state if replay.steps else replay.state)
    return f"<details><summary>The rules</summary>{told}</details>"


def from_rows(watched: Watched, place: int) -> str:
    """What a family can tell of a match that cannot be replayed, up to a place; nothing of others."""
    page = known_pages().get(str(watched.turns.game.iloc[0]))
    if watched.replay or page is None:
        return ""
    rows = watched.rows(place)
    return page.from_rows(watched.turns, int(rows[0].round) if rows else None)
