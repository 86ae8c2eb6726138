"""The settings of the three-player dilemma: files of data/settings."""

from agon.games.settings import OneTested


class Setting(OneTested):
    """A score table (points per round): all cooperate, a lone defector, each of two, all defect."""

    cooperate: float
    one_defect: float
    two_defect: float
    defect: float
