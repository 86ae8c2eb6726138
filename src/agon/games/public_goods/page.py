"""The page of the public good: the pool and everybody's remaining points, round by round, and their worth."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from agon.games.base import Observation
from agon.games.html import items, table
from agon.games.matrix.page import chart, rounds_played
from agon.games.pages import FamilyPage, Parts, Scene
from agon.games.public_goods.game import PublicGoods, Rounds
from agon.games.spaces import Number, Space


class PublicGoodsPage(FamilyPage):
    """The boards of the public good."""

    needed: ClassVar = ("round", "purse")
    aids: ClassVar = {
        "purse": "what is left, what is in the pool, and what the pool is worth",
        "chart": "a picture of what each would have if it ended then",
    }

    def playable(self, view: Observation) -> Space:
        """The remaining points at most, because a larger contribution is cut; all legal ones where the budget is not enforced."""
        game: PublicGoods = view.rules
        legal = view.legal
        if game.semantics != "strict" or not isinstance(legal, Number):
            return super().playable(view)
        points_left = game.remaining(Scene(view).rounds(), view.seat)
        return replace(legal, high=points_left - points_left % legal.step)

    def board(self, scene: Scene) -> Parts:
        """The pool, and everybody's contributions."""
        game: PublicGoods = scene.view.rules
        rounds = scene.rounds()
        worth = [game.worths(rounds[: place + 1]) for place in range(len(rounds))]
        running = [[values[seat] for values in worth] for seat in range(game.seats)]
        return {
            "round": rounds_played(scene),
            "purse": _purse(scene, game, rounds),
            "chart": chart(scene, scene.say("What each would have if it ended then"), running),
            "history": _history(scene, game, rounds),
        }


page = PublicGoodsPage()


def _purse(scene: Scene, game: PublicGoods, rounds: Rounds) -> str:
    pool, say = sum(points or 0 for round_ in rounds for points in round_), scene.say
    worth = pool * game.multiplier
    facts = [
        say("In the pool: {} points.", f"<strong>{say.number(pool)}</strong>")
        + " "
        + say(
            "Times {} that is {}, or {} for each of {} players.", game.multiplier, worth, worth / game.seats, game.seats
        )
    ]
    if not scene.watched:
        points_left = f"<strong>{say.number(game.remaining(rounds, scene.own))}</strong>"
        facts.insert(0, say("You have {} of {} points left.", points_left, game.endowment))
    return f'<div class="card">{items(facts)}</div>'


def _history(scene: Scene, game: PublicGoods, rounds: Rounds) -> str:
    say = scene.say
    if not rounds:
        return f"<p>{say('No round is finished yet.')}</p>"

    def sum_cell(contributions: Sequence[int | None]) -> str:
        return f"<strong>{say.number(sum(points or 0 for points in contributions))}</strong>"

    total = sum_cell([points for round_ in rounds for points in round_])
    rows = [
        [say("Left"), *(say.number(game.remaining(rounds, seat)) for seat in scene.order), ""],
        [say("All rounds"), *(sum_cell([round_[seat] for round_ in rounds]) for seat in scene.order), total],
    ]
    for place in reversed(range(len(rounds))):
        contributions = rounds[place]
        rows.append(
            [str(place + 1), *(scene.done(contributions[seat]) for seat in scene.order), sum_cell(contributions)]
        )
    head = [say("Round"), *(scene.who(seat) for seat in scene.order), say("Together")]
    return table(say("Points given to the pool, newest round first"), head, rows)
