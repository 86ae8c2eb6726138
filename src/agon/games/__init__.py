"""Games: a folder for each family. An engine has frozen states and five methods; it knows no agent, model, prompt, file or plot."""

from agon.games.base import Choice, Dice, Game, IllegalAction, Observation

__all__ = ["Choice", "Dice", "Game", "IllegalAction", "Observation"]
