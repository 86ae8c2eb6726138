"""For twins of games of clues (agon_twins.family): whom to accuse, and the worth of every outcome, computed by playing."""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from agon.games import Game, Observation
from agon.games.spaces import Text

BY_SEAT = frozenset({"evaluate", "parts"})
POINTS = frozenset({"worth"})


def solutions(game: Game[Any]) -> dict[str, Any]:
    """The spy, each player's words, the payoffs (points) of both sides for each outcome, and each side's best outcomes.

    Outcomes: `caught` (the spy is accused), `guessed` (and then guesses the word), `escaped` (another is accused), `even` (nobody).
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
    """The payoffs of all seats if all vote for one of the `accused` and the spy guesses `guess`. Without `accused`
    nobody votes."""
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
    """A player that knows the spy and votes for what pays the crowd most; it mixes evenly where both votes pay the same.

    It has no answer for the spy.
    """
    solution = solutions(game)
    caught, escaped = (solution["worth"]["crowd"][outcome] for outcome in ("caught", "escaped"))

    def mix(view: Observation) -> Mapping[str, float]:
        if view.phase != "vote" or game.players[view.seat] == solution["spy"]:
            return {}
        others = [player for player in view.legal.options if player != solution["spy"]]
        share = 1.0 if caught > escaped else 0.0 if caught < escaped else 1 / (len(others) + 1)
        votes = {solution["spy"]: share} | dict.fromkeys(others, (1 - share) / len(others))
        return {player: weight for player, weight in votes.items() if weight}

    return mix
