"""A normal-form game whose players have different actions."""

from agon.conf import build

SETS = ("up", "down"), ("left", "middle", "right")
PAYOFF = [[[3, 1], [0, 0], [2, 2]], [[1, 1], [4, 2], [0, 5]]]
SETTINGS = {
    "_target_": "agon.games.matrix.MatrixGame",
    "_convert_": "all",
    "name": "cut",
    "variant": "default",
    "options": [list(own) for own in SETS],
    "payoff": PAYOFF,
    "rounds": 3,
}
GAME = build(SETTINGS)
