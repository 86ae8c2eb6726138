"""How people see the public good: what is in the pool and what is left, round by round, and what it would be worth."""

from collections.abc import Sequence
from typing import Any, ClassVar

from agon.games.html import items, lines, number, table
from agon.games.matrix.page import rounds_played
from agon.games.pages import FamilyPage, Parts, Scene
from agon.games.public_goods.game import PublicGoods

Rounds = Sequence[Sequence[Any]]
"""What each seat gave, by round."""


class PublicGoodsPage(FamilyPage):
    """Of the public good."""

    needed: ClassVar = ("round", "purse")
    aids: ClassVar = {
        "purse": "what is left, what is in the pool, and what the pool is worth",
        "chart": "a picture of what each would have if it ended then",
    }

    def board(self, scene: Scene) -> Parts:
        """The pool, and what everybody gave."""
        game: PublicGoods = scene.view.rules
        rounds = scene.rounds()
        worth = [worths(game, rounds[: place + 1]) for place in range(len(rounds))]
        series = [(scene.short(seat), [each[seat] for each in worth]) for seat in scene.order]
        return {
            "round": rounds_played(scene),
            "purse": _purse(scene, game, rounds),
            "chart": lines("What each would have if it ended then", series),
            "history": _given(scene, game, rounds),
        }


page = PublicGoodsPage()


def worths(game: PublicGoods, rounds: Rounds) -> list[float]:
    """What each seat would be paid if the match ended after these rounds."""
    lost = game.semantics == "published_pgm" and len(rounds) == game.rounds
    pool = sum(points or 0 for round_ in (rounds[:-1] if lost else rounds) for points in round_)
    return [left(game, rounds, seat) + pool * game.multiplier / game.seats for seat in range(game.seats)]


def left(game: PublicGoods, rounds: Rounds, seat: int) -> int:
    """What a seat has not contributed."""
    return game.endowment - sum(round_[seat] or 0 for round_ in rounds)


def _purse(scene: Scene, game: PublicGoods, rounds: Rounds) -> str:
    pool = sum(points or 0 for round_ in rounds for points in round_)
    said = [
        f"In the pool: <strong>{number(pool)}</strong> points. Times {number(game.multiplier)} that is "
        f"{number(pool * game.multiplier)}, or {number(pool * game.multiplier / game.seats)} for each of {game.seats} players."
    ]
    if not scene.watched:
        rest = number(left(game, rounds, scene.own))
        said.insert(0, f"You have <strong>{rest}</strong> of {game.endowment} points left.")
    return f'<div class="card">{items(said)}</div>'


def _given(scene: Scene, game: PublicGoods, rounds: Rounds) -> str:
    if not rounds:
        return "<p>No round is finished yet.</p>"
    whole = _together([points for each in rounds for points in each])
    rows = [
        ["Left", *(number(left(game, rounds, seat)) for seat in scene.order), ""],
        ["All rounds", *(_together([each[seat] for each in rounds]) for seat in scene.order), whole],
    ]
    for place in reversed(range(len(rounds))):
        given = rounds[place]
        rows.append([str(place + 1), *(scene.done(given[seat]) for seat in scene.order), _together(given)])
    head = ["Round", *(scene.who(seat) for seat in scene.order), "Together"]
    return table("Points given to the pool, newest round first", head, rows)


def _together(given: Sequence[int | None]) -> str:
    return f"<strong>{number(sum(points or 0 for points in given))}</strong>"
