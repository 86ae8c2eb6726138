"""TradeCraft as tests build it: small problems by hand, and tables at which calls are made one after another."""

from agon.agents import seat_dice
from agon.games.tradecraft import TradeCraft
from agon.games.tradecraft.rulesets import ruleset

HANDS = [{"oak_log": 2, "raw_iron": 3, "coal": 1, "stick": 5}, {"oak_planks": 6, "cobblestone": 4, "iron_ingot": 1}]
TARGETS = [{"stone_shovel": 1}, {"bucket": 1}]
MORE = [{"string": 3, "wheat": 2}, {"flint": 2, "leather": 4}]
MORE_TARGETS = [{"bow": 1}, {"flint_and_steel": 1}]
ALCHEMY = {"hands": [{"air": 4, "earth": 4}, {"fire": 4, "water": 4}], "targets": [{"mud": 1}, {"steam": 1}]}


def tradecraft(seats=2, rules="minecraft", **changes):
    """A game for 2 to 4 players."""
    fields = {"hands": [*HANDS, *MORE][:seats], "targets": [*TARGETS, *MORE_TARGETS][:seats]}
    return TradeCraft("tradecraft", "test", ruleset(rules), **(fields | changes))


def alchemy(**changes):
    return tradecraft(rules="alchemy", **(ALCHEMY | changes))


class Table:
    """A match in the making: calls are made for whoever is to move."""

    def __init__(self, game=None, **changes):
        self.game = game or tradecraft(**changes)
        self.state, self.paid = self.game.start(seat_dice(0, -1)), None

    def does(self, *calls):
        """One call of each seat to move, in seat order."""
        actions = dict(zip(self.game.to_move(self.state), calls, strict=True))
        self.state, self.paid = self.game.step(self.state, actions)
        return self

    def proposes(self, partner="Player 2", offer=None, request=None, message=""):
        return self.does(proposal(partner, offer or {}, request or {}, message))

    def decides(self, decision, message=""):
        return self.does({"tool": "decide", "decision": decision, "message": message})

    def crafts(self, seat, **craft):
        """One seat crafts, all others wait."""
        return self.only(seat, {"tool": "craft_apply"} | craft)

    def only(self, seat, call):
        """One seat makes a call, all others that are to move remember something."""
        moving = self.game.to_move(self.state)
        return self.does(*[call if each == seat else {"tool": "rethink", "text": "wait"} for each in moving])

    def done(self):
        """Everybody has done crafting."""
        return self.does(*[{"tool": "craft_done"}] * len(self.game.to_move(self.state)))

    def idle(self):
        """A turn in which nothing is traded or made."""
        seats = self.game.players
        return self.proposes(seats[self.state.turn % len(seats)]).decides("reject").done()

    def view(self, seat):
        return self.game.observe(self.state, seat)

    def told(self, seat, phase=None):
        """What a seat knows: the values of its events, or of those of one phase."""
        return [event.value for event in self.view(seat).past if phase in (None, event.phase)]

    def answer(self, seat):
        """The last answer that a seat has been given."""
        return self.told(seat, "answer")[-1]

    @property
    def phase(self):
        return self.state.phase


def proposal(partner, offer, request, message=""):
    return {"tool": "submit_proposal", "partner": partner, "offer": offer, "request": request, "message": message}


def crafting(table=None, **changes):
    """A table at which all craft."""
    table = table or Table(**changes)
    return table.proposes(table.game.players[1]).decides("reject")
