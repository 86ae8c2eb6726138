"""Scripted players for the five games of MAgIC: reference players that play every phase sensibly without a model.

Each is a pure function of what the seat sees and the dice. What they know of words is a list of topics with graded clues.
"""

from agon import kind
from agon.games import Dice, Observation, clues
from agon.games.cost_sharing import scripts as bargaining

KNOWLEDGE = "data/settings/magic/topics.json"


@kind("agon.agents.magic.anything")
def anything(view: Observation, dice: Dice) -> object:
    """Any legal action, in any game."""
    return view.legal.example(dice)


@kind("agon.agents.magic.player")
def player(
    view: Observation,
    dice: Dice,
    *,
    breadth: int = 3,
    standard: str = "shapley",
    greed: float = 0.5,
    patience: int = 3,
    dilemma: str = "reciprocate",
    contribution: str = "conditional",
    knowledge: str = KNOWLEDGE,
) -> object:
    """Plays every game of MAgIC.

    `breadth`: words of its topic that a clue should fit (agon.games.clues); `standard`, `greed`, `patience`: how it
    bargains (agon.games.cost_sharing.scripts); `dilemma`, `contribution`: functions of this module; `knowledge`: a file of topics.
    """
    if view.phase == "move":
        return DILEMMA[dilemma](view)
    if view.phase == "contribute":
        return CONTRIBUTION[contribution](view)
    if view.phase in ("propose", "vote") and view.rules.name == "cost_sharing":
        return bargaining.bargain(view, standard, greed, patience)
    return clues.deduce(view, dice, breadth, clues.lexicon(knowledge))


# --- The three-player prisoner's dilemma: options[0] is to cooperate


def cooperate(view: Observation) -> str:
    """Always."""
    return view.legal.options[0]


def defect(view: Observation) -> str:
    """Always."""
    return view.legal.options[1]


def reciprocate(view: Observation) -> str:
    """Cooperate first; then defect where anybody else defected in the last round. Tit for tat among several."""
    kind, unkind = view.legal.options
    return unkind if view.past and unkind in view.past[-1][1:] else kind


# --- Public goods


def left(view: Observation) -> int:
    """What the seat has not contributed yet (points)."""
    return max(0, view.rules.endowment - sum(own or 0 for own, *_ in view.past))


def nothing(view: Observation) -> int:
    """Contribute nothing."""
    return 0


def everything(view: Observation) -> int:
    """Contribute all, at once."""
    return left(view)


def conditional(view: Observation) -> int:
    """An equal part of the endowment first; then what the others contributed last, on average. Fischbacher et al. (2001)."""
    if not view.past:
        return view.rules.endowment // view.rules.rounds
    others = [points or 0 for points in view.past[-1][1:]]
    return min(left(view), round(sum(others) / len(others)))


DILEMMA = {"cooperate": cooperate, "defect": defect, "reciprocate": reciprocate}
CONTRIBUTION = {"nothing": nothing, "everything": everything, "conditional": conditional}
