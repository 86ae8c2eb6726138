"""What models are asked: each kind of question of each game, in every role, with any legal answers to those before it."""

from functools import partial
from random import Random

from games.test_conformance import ALL
from harness import Told, at_the_table, seated

from agon.agents.llm import LLM
from agon.agents.pgm import Beliefs
from agon.games.schemas import write_answer
from agon.games.tradecraft.roles import Roles


def obedient(request):
    """Any legal answer, in the form that is asked for."""
    legal = request.view.legal
    action = legal.example(Random(request.sample))
    if request.schema is None:
        return f"[move] {legal.format(action)}"
    return write_answer(legal.encode(action), "so" if "thought" in request.schema["properties"] else None)


def agents_of(name, reads):
    """The agents that can be constrained in a game, by name."""
    if name == "tradecraft":
        return {"roles": partial(Roles, reads=reads, plan_before=("propose", "decide", "craft"))}
    plain = partial(LLM, reads=reads)
    if name.startswith("rating"):
        return {"llm": plain}
    spied = (
        {"beliefs_matrix": partial(Beliefs, agent=plain, form="matrix")} if name in ("chameleon", "undercover") else {}
    )
    return {"llm": plain, "beliefs": partial(Beliefs, agent=plain), **spied}


def questions(name, reads, game=None):
    """The first question of each kind, in a game of tests or one like it: (game, agent, phase, role, space) -> the request."""
    found, game = {}, game or ALL[name]
    for label, agent in agents_of(name, reads).items():
        model = Told(obedient)
        at_the_table(seated(*[agent] * game.seats, game=game), *[model] * game.seats)
        for request in model.asked:
            view = request.view
            role = getattr(view.legal, "role", view.role)
            found.setdefault((name, label, view.phase, role, type(view.legal).__name__), request)
    return found
