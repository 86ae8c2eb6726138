"""Repeated normal-form games for any number of players, and the transforms that make their variants."""

from agon.games.matrix.game import MatrixGame, joint, relabel, repay

__all__ = ["MatrixGame", "joint", "relabel", "repay"]
