"""The settings of the public good: files of data/settings."""

from agon.games.settings import OneTested, Positive


class Setting(OneTested):
    """The factor by which the pool is multiplied."""

    multiplier: Positive
