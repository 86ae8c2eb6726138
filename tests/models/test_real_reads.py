"""With real weights (`make pocket`): constrained answers can be read in every game and role.

A question for each form of an action takes a minute in all, since the model is told no more than its end. AGON_FULL=1: each kind of
question of every game, in every role, in its own words, for half an hour.
"""

import asyncio
import json
import os
from dataclasses import replace
from functools import cache

import pytest
from games.test_conformance import ALL
from models.questions import questions
from models.test_local import real

from agon.agents.reads import Constrained
from agon.conf import load
from agon.games.tradecraft.roles import STEPS
from agon.models import extend

pytestmark = [real, pytest.mark.slow]

FORMS = {
    "Choice": "pd",
    "Number": "public_goods",
    "Offer": "cost_sharing",
    "Text": "chameleon",
    "Form": "chameleon",
    "Suspicions": "chameleon",
    "Ratings": "rating",
    "Ratings of orders": "rating",
    **{f"RoleCalls of {role}": "tradecraft" for role in STEPS},
}
"""Forms of actions, and a game in which each is asked for."""
ALIKE = {"rps_joint", "rps_label", "rps_payoff", "pd_label", "pd_payoff"}
"""Games that ask what others ask, with other words and numbers."""
TOLD = 500
"""Characters that are told of a question, where not all are."""


def shortest(game):
    """The game; a log that it rates has its first turn alone."""
    log = json.loads(getattr(game, "log", "{}"))
    return replace(game, log=json.dumps(log | {"turns": log["turns"][:1]})) if log else game


@cache
def asked(name, reads):
    """The first request for each form of an action in a game."""
    found = {}
    for (*_, form), request in questions(name, reads, shortest(ALL[name])).items():
        legal = request.view.legal
        more = "orders" if getattr(legal, "orders", False) else getattr(legal, "role", "")
        found.setdefault(f"{form} of {more}" if more else form, request)
    return found


@pytest.fixture(scope="module")
def real_model():
    """The model, at the most random that it is asked for anywhere, and what an answer comes to."""
    usual = load("model", "smollm2")
    model = replace(usual, parameters={**usual.parameters, "temperature": 1.0, "seed": 1})
    with asyncio.Runner() as runner:
        try:
            yield model, runner.run
        finally:
            runner.run(model.close())


@pytest.mark.parametrize("form", FORMS)
def test_each_form_of_an_action_is_answered_readably_at_once(real_model, form):
    (model, run), brief = real_model, Constrained(thought=20, text=20)
    request = asked(FORMS[form], brief)[form]
    answer = run(model.answer(replace(request, messages=extend((), "user", request.messages[-1].text[-TOLD:]))))
    assert brief.read(answer, request.view.legal, None).fault == "", answer.text


@pytest.mark.skipif("AGON_FULL" not in os.environ, reason="AGON_FULL=1 asks all questions of all games")
@pytest.mark.parametrize("name", sorted(ALL.keys() - ALIKE))
def test_every_kind_of_question_is_answered_readably_at_once(real_model, name):
    (model, run), brief = real_model, Constrained(thought=60, text=60)
    for kind, request in questions(name, brief).items():
        answer = run(model.answer(request))
        assert brief.read(answer, request.view.legal, None).fault == "", (kind, answer.text)
