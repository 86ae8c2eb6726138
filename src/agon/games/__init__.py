"""Engines: frozen states and six verbs. They know no agent, model, prompt, file or plot."""

from agon.games.base import Choice, Dice, Game, IllegalAction, Observation
from agon.games.matrix.game import MatrixGame, joint, relabel, repay

__all__ = ["Choice", "Dice", "Game", "IllegalAction", "MatrixGame", "Observation", "joint", "relabel", "repay"]
