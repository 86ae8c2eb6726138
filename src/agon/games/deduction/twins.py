"""For twins of games of clues (agon_twins.family).

What solves one once all is known: whom to accuse, and what every outcome is worth. Found by playing it.
"""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from agon.games import Game, Observation
from agon.games.spaces import Text

BY_SEAT = frozenset({"evaluate", "parts"})
POINTS = frozenset({"worth"})


def solutions(game: Game[Any]) -> dict[str, Any]:
    """The spy, the words of each player, what each outcome is worth to both sides, and which one either side would choose.

    Outcomes: the spy is accused (`caught`; `guessed` where it may then guess, and is right), another player (`escaped`), nobody (`even`).
    """
    spy = game.players.index(game.seat_facts(0)["spy"])
    other = next(seat for seat in range(game.seats) if seat != spy)
    state = game.start(Random(0))
    words = {
        game.players[seat]: [event.value for event in game.observe(state, seat).past if event.phase == "word"]
        for seat in range(game.seats)
    }
    word = words[game.players[other]][0]
    worth = {"caught": _outcome_payoffs(game, spy, {spy}, ""), "guessed": _outcome_payoffs(game, spy, {spy}, word)}
    worth |= {"escaped": _outcome_payoffs(game, spy, {other}, ""), "even": _outcome_payoffs(game, spy, set(), "")}
    if worth["guessed"] == worth["caught"]:  # a guess is in vain, or not asked for
        del worth["guessed"]
    sides = {
        side: {outcome: float(payoffs[seat]) for outcome, payoffs in worth.items()}
        for side, seat in (("spy", spy), ("crowd", other))
    }
    best = {
        side: frozenset(outcome for outcome in payoffs if payoffs[outcome] == max(payoffs.values()))
        for side, payoffs in sides.items()
    }
    return {"spy": game.players[spy], "words": words, "worth": sides, "best": best}


def _outcome_payoffs(game: Game[Any], spy: int, accused: set[int], guess: str) -> list[float]:
    """What everybody gets where all vote for one of the `accused`, or nobody votes, and an accused spy makes a guess."""
    state, total, count = game.start(Random(0)), [0.0] * game.seats, 0
    while seats := game.to_move(state):
        actions: dict[int, Any] = {}
        for seat in seats:
            view, count = game.observe(state, seat), count + 1
            if view.phase == "vote":
                targets = [game.players[player] for player in accused if player != seat]
                actions[seat] = targets[0] if targets else None
            elif isinstance(view.legal, Text):
                actions[seat] = guess or "nothing" if view.phase == "guess" else f"a clue, {count}"
            else:
                actions[seat] = None
        state, payoffs = game.step(state, actions)
        total = [before + now for before, now in zip(total, payoffs, strict=True)]
    return total


def solver(game: Game[Any]) -> Callable[[Observation], Mapping[str, float]]:
    """Who knows all, and votes so that the crowd is paid most: for the spy, for another, or either way as often. No answer for the spy."""
    solution = solutions(game)
    caught, escaped = (solution["worth"]["crowd"][outcome] for outcome in ("caught", "escaped"))

    def mix(view: Observation) -> Mapping[str, float]:
        if view.phase != "vote" or game.players[view.seat] == solution["spy"]:
            return {}
        others = [each for each in view.legal.options if each != solution["spy"]]
        share = 1.0 if caught > escaped else 0.0 if caught < escaped else 1 / (len(others) + 1)
        voted = {solution["spy"]: share} | dict.fromkeys(others, (1 - share) / len(others))
        return {player: each for player, each in voted.items() if each}

    return mix
