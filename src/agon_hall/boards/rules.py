"""The rules of each family for a person: short, in plain words, with the numbers of the match."""

from collections.abc import Callable
from typing import Any

from agon.games import MatrixGame, Observation
from agon.games.base import PUBLIC
from agon.games.chameleon import game as chameleon
from agon.games.cost_sharing import game as costs
from agon.games.prisoner3.game import Prisoner3
from agon.games.public_goods.game import PublicGoods
from agon.games.rating.game import THEORY_OF_MIND, Shown
from agon.games.tradecraft.game import Facts
from agon.games.undercover import game as undercover
from agon.viewer import written
from agon_hall.boards.rounds import payoffs
from agon_hall.boards.scene import Scene
from agon_hall.look import count, items, listed, number, text


def rules_text(view: Observation) -> str:
    """The rules of the match that a view is of, as HTML."""
    return _family(view.rules)(view)


def _family(rules: object) -> Callable[[Observation], str]:
    match rules:
        case MatrixGame():
            return _matrix
        case PublicGoods():
            return _public_goods
        case chameleon.Facts():
            return _chameleon
        case undercover.Facts():
            return _undercover
        case costs.Facts():
            return _cost_sharing
        case Facts():
            return _tradecraft
        case Shown() | None:
            return _rating
    return _any


def _matrix(view: Observation) -> str:
    game: MatrixGame = view.rules
    void = "An answer that cannot be read voids the round: nobody gets points in it."
    if isinstance(game, Prisoner3):
        taken = game.options[0 if game.semantics == "strict" else 1]
        void = f"An answer that cannot be read pays as if it were {text(taken)}."
    lines = [
        f"{count(game.seats, 'player')}, {count(game.rounds, 'round')}.",
        f"In each round all choose at the same time: {text(listed(game.options, 'or'))}. Nobody can change a choice.",
        "Then everybody sees what all have chosen, and gets points by the table.",
        "The points of all rounds are added. More is better; it does not matter to be ahead of the others.",
        void,
    ]
    return items(lines) + payoffs(Scene(view))


def _public_goods(view: Observation) -> str:
    game: PublicGoods = view.rules
    over = "You cannot give more than you have left: what is too much is cut to that."
    if game.semantics != "strict":
        over = "Nobody checks that you still have what you give; whoever gives more ends below zero."
    lines = [
        f"{count(game.seats, 'player')}, {count(game.rounds, 'round')}. Each has {number(game.endowment)} points, "
        "once, for the whole match.",
        "In each round all choose at the same time how many points, from 0, they give to a common pool. "
        "Then everybody sees what all have given.",
        over,
        f"After the last round the pool is multiplied by {number(game.multiplier)} and shared equally among all, whoever gave.",
        f"You end with what you did not give, and your share. One point given comes back to you as "
        f"{number(game.multiplier / game.seats)}, and as much to every other player.",
    ]
    if game.semantics == "published_pgm":
        lines.append("What is given in the last round comes too late: it is lost.")
    return items(lines)


def _chameleon(view: Observation) -> str:
    facts: chameleon.Facts = view.rules
    again = f", in each of {facts.rounds} rounds" if facts.rounds > 1 else ""
    pay = {
        how: f"{spy} for the chameleon, {each} for each other player" for how, (spy, each) in chameleon.CREDITS.items()
    }
    lines = [
        f"{count(facts.seats, 'player')}. All know the topic. All but one know a secret word; the one who does not is the chameleon.",
        f"In turn, each gives a clue about the word{again}. The chameleon tries to sound as if it knew.",
        "Say enough to be trusted, and not enough to give the word away. Never say the word.",
        "Then all vote at once, in secret, for who they think is the chameleon. Whoever has most votes is accused; "
        "if several have as many, nobody is.",
        "An accused chameleon may guess the word, once.",
        "Points: "
        + items(
            [
                f"chameleon not accused, another player is: {pay['escaped']}",
                f"nobody accused: {pay['even']}",
                f"chameleon accused, guesses the word: {pay['guessed']}",
                f"chameleon accused, does not guess it: {pay['caught']}",
            ]
        ),
        _ASIDE,
    ]
    return items(lines)


def _undercover(view: Observation) -> str:
    facts: undercover.Facts = view.rules
    pay = {
        how: f"{spy} for the undercover, {each} for each other player"
        for how, (spy, each) in undercover.CREDITS.items()
    }
    lines = [
        f"{count(facts.seats, 'player')}. Each has a word. All have the same one but for one player, the undercover, "
        "whose word is a similar one. Nobody is told which of the two they are.",
        f"In {count(facts.rounds, 'round')}, each in turn gives a clue about the own word. Never say the word.",
        "Work out whether your word is the odd one, and act like the rest.",
        "Then all vote at once, in secret, for who they think is the undercover. Whoever has most votes is accused; "
        "if several have as many, nobody is.",
        "Points: "
        + items(
            [
                f"another player is accused: {pay['escaped']}",
                f"nobody accused: {pay['even']}",
                f"the undercover is accused: {pay['caught']}",
            ]
        ),
        _ASIDE,
    ]
    return items(lines)


_ASIDE = "Around the clues all are asked who they are and whom each player suspects. Nobody else sees the answers, and they pay nothing."


def _cost_sharing(view: Observation) -> str:
    facts: costs.Facts = view.rules
    lines = [
        f"{count(facts.seats, 'airline')} use one airport, and together must pay its fee of {number(facts.fee)}.",
        "In each round every player in turn proposes how to divide the fee: a share in percent for each airline, 100 in all. "
        "The first proposals may be prepared: then the table makes them for some players.",
        "Then all vote at once, each for one proposal; it may be the own one.",
        "If all vote for the same proposal, or for proposals of the same numbers, there is an agreement: everybody gets 1 point, "
        "and the match is over.",
        f"Without an agreement after {count(facts.rounds, 'round')} everybody gets 0.",
        "Pay as little as you can, but agree: flights, passengers and the size of aircraft are arguments for who should pay what.",
    ]
    return items(lines)


def _tradecraft(view: Observation) -> str:
    facts: Facts = view.rules
    goal = (
        "Whoever holds its target at the end of a turn wins; several players may win together."
        if facts.end == "turn"
        else "Whoever holds its target first wins at once."
    )
    lines = [
        f"{count(facts.seats, 'player')}, at most {count(facts.turns, 'turn')}. Everybody has a hand of items, which all see, "
        "and a target, which only its owner knows.",
        f"{goal} A winner gets 1 point. If nobody wins in time, nobody gets any.",
        "A turn has three parts: "
        + items(
            [
                "One player (they take turns) proposes a trade to one other: what it gives, what it asks for, and a message "
                f"for that player alone. Whole numbers only; {count(facts.attempts, 'proposal')} that cannot be carried out "
                "end the trade of the turn.",
                "The other accepts or rejects. An accepted trade is carried out at once and told to everybody.",
                "All craft at the same time, as often as they like: a recipe turns exactly what it takes into what it makes.",
            ],
            "ol",
        ),
        "While crafting, fuel may be used in fractions; when you finish, what is left of a broken piece is lost.",
        f"At most {count(facts.calls, 'step')} in one part of a turn, and {number(facts.length)} characters in a message.",
        "The recipes are those of this match. Looking them up costs nothing.",
    ]
    return items(lines)


def _rating(view: Observation) -> str:
    if view.rules is None:
        return "<p>One person judges the log of a finished match. There is nothing to watch.</p>"
    asked = (
        "Say of every player in every turn which orders of thinking about another's mind it shows."
        if view.phase == THEORY_OF_MIND
        else "Give every player in every turn a score from 0 (not at all) to 1 (fully)."
    )
    lines = [
        "You judge a finished match that you did not take part in, one question after another, each by itself.",
        asked,
        "You may say why in a few words. Nothing is paid.",
    ]
    return items(lines)


def _any(view: Observation) -> str:
    """A game that is not known here: its facts as they are."""
    rules: Any = view.rules
    fields: Any = getattr(rules, "_fields", None) or getattr(rules, "__dataclass_fields__", {})
    facts = {name: getattr(rules, name) for name in fields if not name.startswith("_")}
    said = items(
        f"<strong>{text(name.replace('_', ' '))}</strong>: {text(written(value))}" for name, value in facts.items()
    )
    seat = "" if view.seat == PUBLIC else f"<p>You sit at seat {view.seat + 1}.</p>"
    return seat + (said or f"<p>{text(rules)}</p>")
