"""placeholder being written"""

from agon.games.matrix import MatrixGame


def symmetric_equilibrium(game: MatrixGame) -> tuple[float, ...]:
    raise NotImplementedError
