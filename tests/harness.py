"""What tests play with: strategies against fixed moves, whole games, small experiments. Letters are labels' initials."""

import asyncio
from inspect import isfunction

from agon.agents import seat_dice
from agon.conf import expand_settings, games
from agon.games.base import families
from agon.games.matrix import MatrixGame
from agon.models import Answer
from agon.plan import Match, Seat
from agon.play import play_async, play_instantly

VOID = "-"
GAMES = {game.name + ("" if game.variant == "default" else f"_{game.variant}"): game for game in games()}
"""The games of conf/game, by the names of their files."""

MATRIX = {name: game for name, game in GAMES.items() if families(game)[:1] == families(MatrixGame)}
"""Those that models are told about by prompts/matrix.md."""

WITHOUT_LOGS = {"rating_live", "tradecraft_ratings"}
"""Files of conf/game and conf/experiment whose logs somebody makes, by make-logs, after own games."""

PD, STAG, RPS = GAMES["pd"], GAMES["pd_payoff"], GAMES["rps"]


def first(name):
    """A game of conf/game with its first setting."""
    return games(expand_settings([name])[:1])[0]


def small(payoff, options="abcd", rounds=2):
    """A game of a given payoff table, with one-letter labels."""
    return MatrixGame("small", "test", tuple(options[: len(payoff)]), payoff, rounds)


def actions(letters, game=PD):
    """Labels from their initials; "-" is a void action."""
    labels = {option[0].upper(): option for option in game.options} | {VOID: None}
    return [labels[letter] for letter in letters]


def letters(labels):
    """Initials from labels; a void action is "-"."""
    return "".join(VOID if label is None else label[0].upper() for label in labels)


def seen(own, other, game=PD):
    """What seat 0 sees after both have played these letters."""
    state = game.start(seat_dice(0, -1))
    for pair in zip(actions(own, game), actions(other, game), strict=True):
        state, _ = game.step(state, dict(enumerate(pair)))
    return game.observe(state, 0)


def moves(strategy, against, game=PD, dice=None):
    """The letters that a strategy answers, round by round, to an opponent who plays the letters `against`."""
    own = ""
    for round_ in range(len(against)):
        own += letters([strategy(seen(own, against[:round_], game), dice or seat_dice(1, 0))])
    return own


def anything(view, dice):
    """A strategy: any legal action."""
    return dice.choice(view.legal.options)


def anything_or_void(view, dice):
    """A strategy: any legal action, or none."""
    return dice.choice((*view.legal.options, None))


def played(game, scripts, dice):
    """Every step of a match: (actions, payoffs), until nobody is to move."""
    state, steps = game.start(seat_dice(0, -1)), []
    while asked := game.to_move(state):
        chosen = {seat: scripts[seat](game.observe(state, seat), dice[seat]) for seat in asked}
        state, payoffs = game.step(state, chosen)
        steps.append((chosen, payoffs))
    return steps


def play_out(game, dice, script=anything):
    """`played` with random legal moves for every seat."""
    return played(game, [script] * game.seats, [dice] * game.seats)


def experiment(name="test", repetitions=2, **tournament):
    """The contents of a file in conf/experiment with one tournament."""
    return {
        "name": name,
        "repetitions": repetitions,
        "tournaments": [{"games": ["pd"], "agents": ["grim", "uniform"]} | tournament],
    }


class Fed:
    """Dice that show given numbers, one after another, and fail when there are none left."""

    def __init__(self, *numbers):
        self.numbers = list(numbers)

    def random(self):
        return self.numbers.pop(0)

    def choice(self, seq):
        return seq[int(self.random() * len(seq))]


class Told:
    """A model that says what `say` gives for a request (text, an Answer, or an exception), and keeps what it was asked."""

    def __init__(self, say, instant=True):
        self.say, self.instant, self.asked = say, instant, []

    async def answer(self, request):
        self.asked.append(request)
        said = self.say(request)
        if isinstance(said, BaseException):
            raise said
        return said if isinstance(said, Answer) else Answer(said, tokens_in=7, tokens_out=3, seconds=0.5)


def in_turn(*texts):
    """For `Told`: one text after another, then the last one again and again."""
    left = list(texts)
    return lambda request: left.pop(0) if len(left) > 1 else left[0]


def seated(*players, game=PD, number=0):
    """A match by hand; a player that is no function asks the model that is called by the seat's number."""
    seats = tuple(
        Seat(getattr(player, "__name__", "agent"), player, None if isfunction(player) else str(seat))
        for seat, player in enumerate(players)
    )
    return Match("test", f"m{number}", number, game, seats, number, "config")


def at_the_table(match, *models, live=False):
    """The match as it was played, with a model for each seat (None for scripts)."""
    by_seat = {str(seat): model for seat, model in enumerate(models)}
    return asyncio.run(play_async(match, by_seat)) if live else play_instantly(match, by_seat)
