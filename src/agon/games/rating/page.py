"""How people see the game of rating: the log in words, and a form for a dimension of all turns."""

from collections.abc import Sequence
from typing import Any

from agon.games.base import Observation
from agon.games.html import items, label, text
from agon.games.inputs import Button, Entered, Group, InvalidEntry, LineField, Thing, TickField, parse_share
from agon.games.pages import FamilyPage, Parts, Scene
from agon.games.rating.game import ORDERS, Ratings
from agon.games.rating.words import ORDER, lines_html, outcome_lines, turns
from agon.games.sentences import Say


class RatingPage(FamilyPage):
    """The board and the form of rating."""

    own_agents = ("rater", "rater_counts", "rater_random")

    def board(self, scene: Scene) -> Parts:
        """The dimension, and the log turn by turn."""
        log, say = scene.view.rules, scene.say
        log_html = "".join(
            f"<details open><summary>{say('Turn {}', place)}</summary>{lines_html(turn, say)}</details>"
            for place, turn in enumerate(turns(log, say), 1)
        )
        dimension = say(scene.view.phase.replace("_", " "))
        heading = f"<h2>{text(dimension[:1].upper() + dimension[1:])}</h2>"
        match = say("A finished match of {}.", text(log.game or say("a game")))
        note = f"<p>{match} {say('Players wrote to each other, never to you.')}</p>"
        known = items(map(text, outcome_lines(log, say)))
        return {"asked": heading, "log": f"<h3>{say('The match')}</h3>{note}{known}{log_html}"}

    def form(self, scene: Scene, entered: Entered) -> Sequence[Thing]:
        """A score (or three answers of yes or no) and a reason, for every turn and player."""
        space: Ratings = scene.view.legal
        say = scene.say
        rows = [
            Group(
                (
                    _value(space, f"{turn}/{player}", _place(space, turn, player, say), say),
                    _why(space, turn, player, say),
                )
            )
            for turn, player in space.units()
        ]
        ticks = [f"<p>{say('Tick what is shown; what is not ticked counts as not shown.')}</p>"] if space.orders else []
        return [*ticks, *rows, Button(say("Send"), lambda: [_ratings(space, entered, say)])]

    def confirmation(self, view: Observation, action: Any, say: Say) -> str:
        """How many ratings were sent."""
        return say.count(len(action), "rating")


page = RatingPage()


def _place(space: Ratings, turn: int, player: str, say: Say) -> str:
    """A turn and a player, called as in the log's words."""
    return f"{say('Turn {}', turn)}, Player {space.players.index(player) + 1}"


def _value(space: Ratings, key: str, who: str, say: Say) -> Thing:
    if space.orders:
        orders = {f"{who}: {say(ORDER[order])}": place for place, order in enumerate(ORDERS)}
        return TickField(key=key, label=say("{}: what is shown", who), options=orders, value=[])
    return LineField(key=key, label=say("{}: score, 0 to 1", who))


def _why(space: Ratings, turn: int, player: str, say: Say) -> Thing:
    key = f"{turn}/{player}/why"
    return LineField(key=key, label=say("{}: why (may be empty)", _place(space, turn, player, say)))


def _ratings(space: Ratings, entered: Entered, say: Say) -> tuple[Any, ...]:
    """A rating for every turn and player. Raises InvalidEntry."""
    rows = []
    for turn, player in space.units():
        entry = entered.get(f"{turn}/{player}")
        value: Any = (
            tuple(place in (entry or ()) for place in range(len(ORDERS))) if space.orders else parse_share(entry, say)
        )
        if not space.orders and (value is None or value > 1):
            raise InvalidEntry(say("{}: enter a score from 0 to 1, such as {}.", _place(space, turn, player, say), 0.7))
        rows.append((turn, player, value, entered.get(f"{turn}/{player}/why") or ""))
    ratings = tuple(rows)
    if fault := space.fault(ratings):
        raise InvalidEntry(label(fault[:1].upper() + fault[1:] + ".", 200))
    return ratings
