"""The settings of the public good: files of data/settings."""

from agon.games.settings import OneTested, Positive


class Setting(OneTested):
    """By how much the pool grows."""

    multiplier: Positive
