"""With real weights (`make pocket`): constrained answers can be read in every game and role, and weights are the model's own."""

import asyncio
from dataclasses import replace
from functools import partial

import pytest
from games.test_conformance import ALL
from models.test_local import real

from agon.agents import Place
from agon.agents.llm import LLM
from agon.conf import load
from agon.loop import started

pytestmark = [real, pytest.mark.slow]

BRIEF = {"way": "constrained", "thought": 60, "text": 60}
ONCE = partial(LLM, reads=BRIEF, attempts=1)
GAMES = {name: game for name, game in ALL.items() if name not in ("rating_full",)}


@pytest.fixture
def asked():
    """What `play` comes to with the model, at the most random that it is asked for anywhere; its server runs for one test."""
    usual = load("model", "smollm2")
    model = replace(usual, concurrency=1, parameters={**usual.parameters, "temperature": 1.0, "seed": 1})

    def run(play):
        async def whole():
            try:
                return await play(model)
            finally:
                await model.close()

        return asyncio.run(whole())

    return run


async def replies(model, game, agent, steps=12):
    """What an agent at each seat replies to the first question of each kind; all others are answered at random."""
    match, (_, views, _), dice = started(game, 5)
    agents, known, found = {}, set(), []
    for _ in range(steps):
        done = {seat: view.legal.example(dice[seat]) for seat, view in views.items()}
        for seat, view in views.items():
            if (kind := (view.phase, view.role, type(view.legal))) not in known:
                known.add(kind)
                player = agents.setdefault(seat, agent(Place("match", seat, model)))
                reply = await player.act(view, dice[seat])
                found.append((kind, reply))
                done[seat] = reply.action if reply.action is not None else done[seat]
        if not views:
            break
        _, views, _ = match.send(done)
    return found


@pytest.mark.parametrize("name", GAMES)
def test_every_kind_of_question_is_answered_readably_at_once(asked, name):
    found = asked(partial(replies, game=GAMES[name], agent=ONCE))
    assert found and [(kind, reply.fallback) for kind, reply in found if reply.action is None] == []
