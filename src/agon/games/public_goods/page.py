"""The page of the public good: the pool and everybody's remaining points, round by round, and what they would be worth."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from agon.games.base import Observation
from agon.games.html import items, lines, number, table
from agon.games.matrix.page import rounds_played
from agon.games.pages import FamilyPage, Parts, Scene
from agon.games.public_goods.game import PublicGoods
from agon.games.spaces import Number, Space

Rounds = Sequence[Sequence[Any]]
"""Each seat's contribution, by round."""


class PublicGoodsPage(FamilyPage):
    """The boards of the public good."""

    needed: ClassVar = ("round", "purse")
    aids: ClassVar = {
        "purse": "what is left, what is in the pool, and what the pool is worth",
        "chart": "a picture of what each would have if it ended then",
    }

    def playable(self, view: Observation) -> Space:
        """Points that are left, because a larger contribution is cut; all legal ones where the budget is not enforced."""
        game: PublicGoods = view.rules
        legal = view.legal
        if game.semantics != "strict" or not isinstance(legal, Number):
            return super().playable(view)
        points_left = remaining(game, Scene(view).rounds(), view.seat)
        return replace(legal, high=points_left - points_left % legal.step)

    def board(self, scene: Scene) -> Parts:
        """The pool, and everybody's contributions."""
        game: PublicGoods = scene.view.rules
        rounds = scene.rounds()
        worth = [worths(game, rounds[: place + 1]) for place in range(len(rounds))]
        series = [(scene.short(seat), [values[seat] for values in worth]) for seat in scene.order]
        return {
            "round": rounds_played(scene),
            "purse": _purse(scene, game, rounds),
            "chart": lines("What each would have if it ended then", series),
            "history": _history(scene, game, rounds),
        }


page = PublicGoodsPage()


def worths(game: PublicGoods, rounds: Rounds) -> list[float]:
    """Each seat's payoff (points) if the match ended after these rounds."""
    lost = game.semantics == "published_pgm" and len(rounds) == game.rounds
    pool = sum(points or 0 for round_ in (rounds[:-1] if lost else rounds) for points in round_)
    return [remaining(game, rounds, seat) + pool * game.multiplier / game.seats for seat in range(game.seats)]


def remaining(game: PublicGoods, rounds: Rounds, seat: int) -> int:
    """The seat's remaining points."""
    return game.endowment - sum(round_[seat] or 0 for round_ in rounds)


def _purse(scene: Scene, game: PublicGoods, rounds: Rounds) -> str:
    pool = sum(points or 0 for round_ in rounds for points in round_)
    facts = [
        f"In the pool: <strong>{number(pool)}</strong> points. Times {number(game.multiplier)} that is "
        f"{number(pool * game.multiplier)}, or {number(pool * game.multiplier / game.seats)} for each of {game.seats} players."
    ]
    if not scene.watched:
        points_left = number(remaining(game, rounds, scene.own))
        facts.insert(0, f"You have <strong>{points_left}</strong> of {game.endowment} points left.")
    return f'<div class="card">{items(facts)}</div>'


def _history(scene: Scene, game: PublicGoods, rounds: Rounds) -> str:
    if not rounds:
        return "<p>No round is finished yet.</p>"
    total = _sum_cell([points for round_ in rounds for points in round_])
    rows = [
        ["Left", *(number(remaining(game, rounds, seat)) for seat in scene.order), ""],
        ["All rounds", *(_sum_cell([round_[seat] for round_ in rounds]) for seat in scene.order), total],
    ]
    for place in reversed(range(len(rounds))):
        contributions = rounds[place]
        rows.append(
            [str(place + 1), *(scene.done(contributions[seat]) for seat in scene.order), _sum_cell(contributions)]
        )
    head = ["Round", *(scene.who(seat) for seat in scene.order), "Together"]
    return table("Points given to the pool, newest round first", head, rows)


def _sum_cell(contributions: Sequence[int | None]) -> str:
    return f"<strong>{number(sum(points or 0 for points in contributions))}</strong>"
