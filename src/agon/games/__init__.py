"""Engines: frozen states and five verbs. They know no agent, model, prompt, file or plot. A folder for each family of games."""

from agon.games.base import Choice, Dice, Game, IllegalAction, Observation

__all__ = ["Choice", "Dice", "Game", "IllegalAction", "Observation"]
