"""Strategies for repeated normal-form games, grouped by source.

Each is a pure function of the observation; `options[0]` is the kind (cooperative) action of a dilemma.
Rounds in which an action was void (None) are part of the history and are skipped where a strategy counts actions.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from operator import mul
from typing import Literal

from agon.errors import require_choice
from agon.games import Dice, Observation
from agon.games.equilibria import equilibria, option_values, require_symmetric, symmetric_equilibrium
from agon.games.matrix import MatrixGame
from agon.registry import kind


def _draw(options: Sequence[str], weights: Sequence[float], dice: Dice) -> str:
    """An option drawn with probabilities `weights`. A certain option uses no dice."""
    for option, weight in zip(options, weights, strict=True):
        if weight == 1:
            return option
    point = dice.random()
    for option, weight in zip(options, weights, strict=True):
        point -= weight
        if point < 0:
            return option
    return options[-1]


@cache
def _best_replies(game: MatrixGame, seat: int) -> dict[str | None, str]:
    """For each action of the other, the reply that pays `seat` most; the earlier one where two pay the same."""

    def points(own: str, other: str) -> float:
        return game.payoffs((own, other) if seat == 0 else (other, own))[seat]

    own_actions, others = game.action_sets[seat], game.action_sets[1 - seat]
    return {other: max(own_actions, key=lambda own: points(own, other)) for other in others}


def _require_one_other(view: Observation) -> None:
    """Raises ValueError for a past with several others."""
    if view.past and view.rules.seats != 2:
        raise ValueError(f"{view.rules.name} has {view.rules.seats} seats: this script plays against one other")


def _common(view: Observation) -> tuple[str, ...]:
    """The actions of all players. Raises ValueError where they have different ones."""
    if len(set(view.rules.action_sets)) > 1:
        raise ValueError(f"in {view.rules.name} the players have different actions: this script needs the same for all")
    options: tuple[str, ...] = view.legal.options
    return options


# --- Georgousis et al., Evaluating Counterfactual Strategic Reasoning in LLMs, section 5.1, as done in their records


@kind("agon.agents.scripted.one_shot_equilibrium")
def one_shot_equilibrium(view: Observation, dice: Dice) -> str:
    """Play the one-shot game's symmetric equilibrium, the most mixed one where there are several. The paper's srep."""
    return _draw(view.legal.options, symmetric_equilibrium(view.rules), dice)


@kind("agon.agents.scripted.cycle")
def cycle(view: Observation, dice: Dice, orders: Sequence[Sequence[str]]) -> str:
    """Repeat an order of actions: the first of `orders` whose labels the game has; void rounds do not count. The paper's pp.

    Raises ValueError where no order fits.
    """
    for order in orders:
        if order[0] in view.legal.options:
            count = sum(action is not None for action, *_ in view.past)
            return order[count % len(order)]
    raise ValueError(f"cycle: none of the orders {[list(o) for o in orders]} fits the actions {view.legal.options}")


@kind("agon.agents.scripted.best_reply_to_last")
def best_reply_to_last(view: Observation, dice: Dice) -> str:
    """The best reply to the other's last action; random at first, the first action after a void one.

    It is the paper's tft, and not tit for tat.
    """
    if not view.past:
        return dice.choice(view.legal.options)
    if (last := view.past[-1][1]) is None:
        return view.legal.options[0]
    _require_one_other(view)
    return _best_replies(view.rules, view.seat)[last]


@kind("agon.agents.scripted.best_reply_to_most_frequent")
def best_reply_to_most_frequent(view: Observation, dice: Dice) -> str:
    """The best reply to the other's most frequent action, the earlier of equals; random at first. The paper's mf and ap."""
    _require_one_other(view)
    others = [other for _, other in view.past if other is not None]
    if not others:
        return dice.choice(view.legal.options)
    return _best_replies(view.rules, view.seat)[max(view.rules.action_sets[1 - view.seat], key=others.count)]


# --- Axelrod, The Evolution of Cooperation (1984), and its tournaments (1980)


@kind("agon.agents.scripted.tit_for_tat")
def tit_for_tat(view: Observation, dice: Dice) -> str:
    """Start kind, then repeat the other's last action; of several others the first one's. Rapoport, in Axelrod (1980)."""
    return (view.past[-1][1] if view.past else None) or _common(view)[0]


@kind("agon.agents.scripted.tit_for_two_tats")
def tit_for_two_tats(view: Observation, dice: Dice) -> str:
    """Kind, unless the other's last two actions were both unkind. Axelrod (1980)."""
    _require_one_other(view)
    kind, unkind = _common(view)[:2]
    return unkind if [other for _, other in view.past[-2:]] == [unkind, unkind] else kind


@kind("agon.agents.scripted.grim")
def grim(view: Observation, dice: Dice) -> str:
    """Kind until the other is unkind once, then unkind for ever. Friedman (1971)."""
    _require_one_other(view)
    kind, unkind = _common(view)[:2]
    return unkind if unkind in [other for _, other in view.past] else kind


@kind("agon.agents.scripted.always")
def always(view: Observation, dice: Dice, position: int) -> str:
    """Always the action at `position` in the game's order (0 is the kind one of a dilemma)."""
    options: tuple[str, ...] = view.legal.options
    if not 0 <= position < len(options):
        raise ValueError(f"always: position is {position}, and the actions have the positions 0 to {len(options) - 1}")
    return options[position]


@kind("agon.agents.scripted.alternator")
def alternator(view: Observation, dice: Dice) -> str:
    """Kind in odd rounds, unkind in even ones. Axelrod library."""
    return view.legal.options[len(view.past) % 2]


@kind("agon.agents.scripted.random_mix")
def random_mix(view: Observation, dice: Dice, weights: Sequence[float] | None = None) -> str:
    """Each round anew, an action with probability `weights` in the game's order; uniform where none are given."""
    options = view.legal.options
    if weights is None:
        weights = [1 / len(options)] * len(options)
    elif len(weights) != len(options) or min(weights) < 0 or abs(sum(weights) - 1) > 1e-6:
        raise ValueError(
            f"random_mix: weights are {list(weights)}; they must be {len(options)} probabilities that sum to 1"
        )
    return _draw(options, weights, dice)


@kind("agon.agents.scripted.favourite_equilibrium")
def favourite_equilibrium(view: Observation, dice: Dice) -> str:
    """Play the seat's part of the one-shot equilibrium that pays the seat most, or of the first such equilibrium."""
    return _draw(view.legal.options, _favourite(view.rules, view.seat), dice)


@cache
def _favourite(game: MatrixGame, seat: int) -> Sequence[float]:
    return [float(share) for share in favourites(game, seat)[0][seat]]


@cache
def favourites(game: MatrixGame, seat: int) -> Sequence[Sequence[Sequence[Fraction]]]:
    """The one-shot equilibria that pay the seat most, as [equilibrium][player][option] -> probability."""
    worths = {
        profile: sum(map(mul, profile[seat], option_values(game, seat, profile)))
        for profile in equilibria(game).profiles
    }
    return [profile for profile, value in worths.items() if value == max(worths.values())]


# --- Memory-one strategies: the action depends on the last round alone


@kind("agon.agents.scripted.memory_one")
def memory_one(view: Observation, dice: Dice, first: float, kind: Sequence[float]) -> str:
    """Kind with probability `first` in round 1, then `kind[i]` after CC, CD, DC, DD (own action first).

    Nowak and Sigmund (1993). A void action counts as kind.
    """
    _require_one_other(view)
    options = _common(view)
    probability = first
    if view.past:
        own, other = view.past[-1]
        probability = kind[2 * (own == options[1]) + (other == options[1])]
    return _draw(options, (probability, 1 - probability), dice)


@kind("agon.agents.scripted.win_stay_lose_shift")
def win_stay_lose_shift(view: Observation, dice: Dice) -> str:
    """Kind at first; repeat the last action after the other was kind, else change it. Nowak and Sigmund (1993)."""
    return memory_one(view, dice, 1, (1, 0, 0, 1))


@kind("agon.agents.scripted.generous_tit_for_tat")
def generous_tit_for_tat(view: Observation, dice: Dice) -> str:
    """Tit for tat that forgives with the largest safe probability, min(1-(T-R)/(R-S), (R-P)/(T-P)). Nowak and Sigmund (1992)."""
    return memory_one(view, dice, 1, _generous(view.rules))


@kind("agon.agents.scripted.extort_2")
def extort_2(view: Observation, dice: Dice) -> str:
    """Zero-determinant extortion with factor 2: own surplus over P is twice the other's. Press and Dyson (2012)."""
    return memory_one(view, dice, 1, _extortionate(view.rules))


NO_EFFECT = "the points of an action are the same whatever the other does"


def dilemma_payoffs(game: MatrixGame) -> tuple[float, float, float, float]:
    """(reward, sucker's payoff, temptation, punishment) of a symmetric two-action game, in points, called R, S, T and P here.

    Raises ValueError for any other game.
    """
    if game.seats != 2 or len(set(game.action_sets)) > 1 or len(game.action_sets[0]) != 2:
        sizes = " x ".join(str(len(own)) for own in game.action_sets)
        raise ValueError(f"{game.name} has {sizes} actions: this needs two players with the same two actions")
    require_symmetric(game)
    reward, sucker, temptation, punishment = (game.payoffs(pair)[0] for pair in product(game.action_sets[0], repeat=2))
    return reward, sucker, temptation, punishment


@cache
def _generous(game: MatrixGame) -> tuple[float, float, float, float]:
    reward, sucker, temptation, punishment = dilemma_payoffs(game)
    if reward == sucker or temptation == punishment:
        raise ValueError(f"{game.name}: {NO_EFFECT}, so generous tit for tat is not defined")
    safe = min(1 - (temptation - reward) / (reward - sucker), (reward - punishment) / (temptation - punishment))
    forgive = min(1.0, max(0.0, safe))
    return 1, forgive, 1, forgive


@cache
def _extortionate(game: MatrixGame) -> tuple[float, float, float, float]:
    """Press and Dyson (2012): slope 1/2 through (P, P), and half of the largest phi with which all values are probabilities."""
    reward, sucker, temptation, punishment = dilemma_payoffs(game)
    loss, gain = punishment - sucker, temptation - punishment
    steps = ((reward - punishment) / 2, loss / 2 + gain, loss + gain / 2)
    if min(steps) < 0 or not max(steps):
        raise ValueError(f"{game.name}: extortion needs payoffs with R >= P >= S and T >= P, not all of them equal")
    phi = 1 / (2 * max(steps))
    return 1 - phi * steps[0], 1 - phi * steps[1], phi * steps[2], 0


# --- MAgIC's dilemma among several players: options[0] is to cooperate


def _reciprocate(view: Observation) -> str:
    """Cooperate first; then defect where anybody else defected in the last round. Tit for tat among several."""
    kind, unkind = _common(view)
    return unkind if view.past and unkind in view.past[-1][1:] else kind


Dilemma = Literal["cooperate", "defect", "reciprocate"]
DILEMMA: dict[Dilemma, Callable[[Observation], str]] = {
    "cooperate": lambda view: view.legal.options[0],
    "defect": lambda view: view.legal.options[1],
    "reciprocate": _reciprocate,
}


def reference(view: Observation, dice: Dice, *, dilemma: Dilemma | None = None) -> str:
    """The reference player. In dilemmas it cooperates, defects or reciprocates, as `dilemma` says; without it, it reciprocates.

    Other games, in which not all players have the same two actions, it plays as `favourite_equilibrium` does. Raises ValueError
    for them where `dilemma` is set, and for another word.
    """
    if len(set(view.rules.action_sets)) == 1 and len(view.legal.options) == 2:
        dilemma = "reciprocate" if dilemma is None else dilemma
        require_choice("dilemma", dilemma, Dilemma)
        return DILEMMA[dilemma](view)
    if dilemma is not None:
        raise ValueError("the setting `dilemma` is for games in which all players have the same two actions")
    return favourite_equilibrium(view, dice)
