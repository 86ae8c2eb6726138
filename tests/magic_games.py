"""MAgIC's five games as tests build them: from their settings, or by hand, and matches of any answers."""

from agon.agents import seat_dice
from agon.games.chameleon.game import Chameleon
from agon.games.cost_sharing.game import CostSharing
from agon.games.prisoner3.game import prisoner3
from agon.games.public_goods.game import PublicGoods
from agon.games.settings import variants
from agon.games.undercover.game import Undercover

BUILT = {
    "chameleon": Chameleon,
    "undercover": Undercover,
    "cost_sharing": CostSharing,
    "prisoner3": prisoner3,
    "public_goods": PublicGoods,
}


def target(name):
    return f"{BUILT[name].__module__}.{BUILT[name].__qualname__}"


def family(name, **changes):
    """All games of a family's settings, by variant."""
    made = variants({"_target_": target(name), "settings": f"data/settings/magic/{name}"})
    fields_of = {variant: {**fields} for variant, fields in made.items()}
    for fields in fields_of.values():
        del fields["_target_"]
    return {variant: BUILT[name](name=name, **fields | changes) for variant, fields in fields_of.items()}


def chameleon(word="cat", spy=2, clues=("soft", "quick", "small"), topic="Animals", **changes):
    return Chameleon("chameleon", "test", word, spy, clues, topic=topic, **changes)


def undercover(word="cat", spy_word="dog", spy=0, clues=("soft", "quick", "small"), **changes):
    return Undercover("undercover", "test", word, spy, clues, spy_word=spy_word, **changes)


AIRLINES = [("A", 90, 7000, 1.75, "medium"), ("B", 50, 7500, 1.5, "small"), ("C", 50, 7500, 1.5, "small")]


def cost_sharing(proposals=((40, 30, 30), (50, 25, 25), (50, 25, 25)), **changes):
    return CostSharing("cost_sharing", "test", AIRLINES, proposals, **changes)


def prisoners(cooperate=3, one_defect=5, two_defect=5, defect=1, **changes):
    return prisoner3("prisoner3", "test", cooperate, one_defect, two_defect, defect, **changes)


def public_goods(multiplier=3.5, **changes):
    return PublicGoods("public_goods", "test", multiplier, **changes)


def any_legal(view, dice):
    """A strategy: any legal action, in any space."""
    return view.legal.example(dice)


def any_or_void(view, dice):
    """A strategy: any legal action, or, once in five times, none."""
    return None if dice.random() < 0.2 else view.legal.example(dice)


class Run:
    """A match: `steps` of (views, actions, payoffs), `states` from the first to the last, `totals`."""

    def __init__(self, game, answer=any_legal, seed=0):
        answers = answer if isinstance(answer, list) else [answer] * game.seats
        dice = [seat_dice(seed, seat) for seat in range(game.seats)]
        self.game, self.steps, self.states = game, [], [game.start(seat_dice(seed, -1))]
        while asked := game.to_move(self.states[-1]):
            views = {seat: game.observe(self.states[-1], seat) for seat in asked}
            actions = {seat: answers[seat](view, dice[seat]) for seat, view in views.items()}
            state, payoffs = game.step(self.states[-1], actions)
            self.steps.append((views, actions, payoffs))
            self.states.append(state)
        self.last = self.states[-1]
        self.totals = tuple(map(sum, zip(*[payoffs for _, _, payoffs in self.steps], strict=True)))

    def asked(self, phase, seat=None):
        """How often seats, or one seat, were asked in a phase."""
        return sum(
            view.phase == phase and seat in (None, own) for views, _, _ in self.steps for own, view in views.items()
        )

    def actions(self, phase):
        """What was answered in a phase: (seat, action), in order."""
        return [
            (seat, actions[seat])
            for views, actions, _ in self.steps
            for seat, view in views.items()
            if view.phase == phase
        ]


def saying(**answers):
    """A strategy that answers by phase; a list is gone through by seat, all else is any legal action."""

    def answer(view, dice):
        given = answers.get(view.phase, any_legal(view, dice))
        return given[view.seat] if isinstance(given, list) else given

    return answer


def known(game, state):
    """What every seat sees."""
    return [game.observe(state, seat) for seat in range(game.seats)]


def seen(view):
    """A view as values: spaces, some of which are compared by identity, as JSON."""
    return view._replace(legal=view.legal.as_json())
