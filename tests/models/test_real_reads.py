"""With real weights (`make pocket`): constrained answers can be read in every game and role, and weights are the model's own.

AGON_FULL=1: each kind of question of every game, in every role, in its own words, for half an hour; otherwise one for each form of
an action, of which the model is told no more than the end.
"""

import asyncio
import json
import os
from dataclasses import replace
from math import exp, fsum

import pytest
from games.test_conformance import ALL
from models.questions import questions
from models.test_local import real

from agon.agents.reads import Constrained, Weighed, normalised
from agon.conf import load
from agon.games.spaces import Choice
from agon.models import Request, extend

pytestmark = [real, pytest.mark.slow]

FULL = bool(os.environ.get("AGON_FULL"))
BRIEF = Constrained(thought=60, text=60) if FULL else Constrained(thought=20, text=20)
OFTEN = {"rps_joint", "rps_label", "rps_payoff", "pd_label", "pd_payoff"}
"""Games that ask what others ask, of other numbers."""
VOCABULARY, MOST = 49_152, 50_000_000
"""The model's tokens, and bytes of an answer that tells of all of them."""
TOLD = 700
"""Characters that are told of a question, where not all are."""


def shortest(game):
    """A log of one turn, where a game rates one."""
    log = json.loads(getattr(game, "log", "{}"))
    return replace(game, log=json.dumps(log | {"turns": log["turns"][:1]})) if log else game


def kinds():
    """Kinds of questions, and the first request of each."""
    if FULL:
        return {key: each for name in ALL if name not in OFTEN for key, each in questions(name, BRIEF).items()}
    found = {}
    for name in ("pd", "chameleon", "cost_sharing", "public_goods", "rating", "tradecraft"):
        for (*_, role, form), request in questions(name, BRIEF, shortest(ALL[name])).items():
            legal = request.view.legal
            request = replace(request, messages=extend((), "user", request.messages[-1].text[-TOLD:]))
            key = form, role if form == "RoleCalls" else "", getattr(legal, "orders", None)
            found.setdefault(key, request)
    return found


@pytest.fixture(scope="module")
def real_model():
    """The model, at the most random that it is asked for anywhere, and what an answer or a call of its server comes to."""
    usual = load("model", "smollm2")
    model = replace(usual, most_bytes=MOST, parameters={**usual.parameters, "temperature": 1.0, "seed": 1})
    with asyncio.Runner() as runner:
        try:
            yield model, runner.run
        finally:
            runner.run(model.close())


@pytest.mark.parametrize("kind", KINDS := kinds(), ids=lambda kind: "-".join(map(str, filter(None, kind))))
def test_every_kind_of_question_is_answered_readably_at_once(real_model, kind):
    (model, run), request = real_model, KINDS[kind]
    answer = run(model.answer(request))
    assert BRIEF.read(answer, request.view.legal, None).fault == "", answer.text


# --- weighed

LABELS = ("cooperation", "cooper", "defection", "co", "cooperation now")
"""Labels of several tokens, some of which begin others."""
ASKED = extend(extend((), "system", "You play a game."), "user", "Answer with [move] and a word.")


async def by_the_whole_vocabulary(model, options):
    """How likely each option is, from what the server tells of all tokens after each beginning, none of which it is made to say."""
    said = [{"role": each.role, "content": each.text} for each in ASKED]
    prompt = (await model._native("/apply-template", {"messages": said}))["prompt"]

    async def tokens(text):
        asked = {"content": text, "add_special": True, "parse_special": True}
        return (await model._native("/tokenize", asked))["tokens"]

    begun = await tokens(prompt)
    end = (await tokens("<|im_end|>"))[-1]
    known, weights = {}, []
    await model._native("/completion", {"prompt": begun[:-1], "n_predict": 0, "cache_prompt": False})
    for option in options:
        path = [*(await tokens(prompt + option))[len(begun) :], end]
        for place in range(len(path)):
            before = tuple(path[:place])
            if before not in known:
                asked = {
                    "prompt": [*begun, *before],
                    "n_predict": 1,
                    "n_probs": VOCABULARY,
                    "temperature": 1.0,
                    "seed": 7,
                }
                told = await model._native("/completion", asked | {"cache_prompt": True})
                top = told["completion_probabilities"][0]["top_logprobs"]
                known[before] = {each["id"]: each["logprob"] for each in top}
        weights.append(sum(known[tuple(path[:place])][token] for place, token in enumerate(path)))
    return weights, known


def test_weights_are_those_of_whole_answers_by_another_way(real_model):
    model, run = real_model
    options = Weighed().options(Choice(LABELS))
    request = Request(ASKED, "s", options=options)
    found, again = run(model.answer(request)), run(model.answer(request))
    weights, known = run(by_the_whole_vocabulary(model, options))
    assert found.weights == again.weights
    assert all(fsum(map(exp, each.values())) == pytest.approx(1, abs=1e-3) for each in known.values())
    assert found.weights == pytest.approx(weights, abs=1e-3)
    assert normalised(found.weights) == pytest.approx(normalised(weights), abs=1e-3)
    assert fsum(normalised(found.weights)) == pytest.approx(1, abs=1e-6)
