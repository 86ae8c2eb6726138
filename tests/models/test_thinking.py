"""Providers that want their thinking back: they refuse a conversation in which a piece of it is missing or changed."""

import asyncio
import json
from hashlib import sha256
from itertools import pairwise

import pytest
from aiohttp import web
from test_record import matches

from agon.models.anthropic import Anthropic
from agon.models.ledger import Ledger, Replayed
from agon.models.limits import Budget
from agon.models.recording import Recording, Writer
from agon.models.responses import Responses
from agon.play import play
from agon.record import record

GOOD = "[move] cooperation"


class Jealous:
    """Answers with a signed thought and knows each one that it gave: as Anthropic's messages, or as items of /responses."""

    def __init__(self):
        self.issued, self.refused, self.asked = {}, 0, 0

    async def answer(self, request):
        body = await request.json()
        self.asked += 1
        for message in body.get("messages", ()):
            if message["role"] == "assistant":
                first = message["content"][0] if isinstance(message["content"], list) else {}
                if self.issued.get(first.get("signature")) != first:
                    self.refused += 1
                    error = {"type": "invalid_request_error", "message": "thinking blocks cannot be modified"}
                    return web.json_response({"type": "error", "error": error}, status=400)
        for before, item in pairwise(body.get("input", ())):
            if item.get("role") == "assistant" and self.issued.get(before.get("encrypted_content")) != before:
                self.refused += 1
                return web.json_response(
                    {"error": {"message": "a reasoning item is missing or was changed"}}, status=400
                )
        signature = sha256(f"{self.asked} {json.dumps(body)}".encode()).hexdigest()
        thought = {"type": "thinking", "thinking": f"thought {len(self.issued)}", "signature": signature}
        if "input" in body:
            thought = {"type": "reasoning", "id": f"r{self.asked}", "summary": [], "encrypted_content": signature}
            self.issued[signature] = thought
            said = {"type": "message", "content": [{"type": "output_text", "text": GOOD}]}
            usage = {"input_tokens": 900, "output_tokens": 50}
            return web.json_response({"id": "m", "status": "completed", "output": [thought, said], "usage": usage})
        self.issued[signature] = thought
        content = [thought, {"type": "text", "text": GOOD}]
        usage = {"input_tokens": 900, "output_tokens": 50}
        return web.json_response({"id": "m", "content": content, "usage": usage, "stop_reason": "end_turn"})


def anthropic(url):
    parameters = {"max_tokens": 2000, "thinking": 1024}
    return Anthropic(model="m", base_url=url, parameters=parameters, tries=1)


def responses(url):
    parameters = {"max_tokens": 2000, "effort": "low"}
    return Responses(model="m", base_url=f"{url}/v1", parameters=parameters, tries=1)


async def recorded(server, folder, found, budget, kind):
    app = web.Application()
    app.router.add_post("/v1/messages", server.answer)
    app.router.add_post("/v1/responses", server.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    model = kind("http://{}:{}".format(*runner.addresses[0]))
    writer = Writer(Recording(folder), folder / "lock")
    try:
        return await record(found, Ledger({"standin": model}, writer, budget)), model
    finally:
        writer.close()
        await runner.cleanup()


@pytest.mark.parametrize("kind", [anthropic, responses])
def test_thinking_goes_back_unchanged_also_when_a_match_is_gone_on_with(tmp_path, kind):
    server, found = Jealous(), matches(2)
    halted, _ = asyncio.run(recorded(server, tmp_path, found, Budget(calls=9), kind))
    assert halted and server.asked == 9
    halted, model = asyncio.run(recorded(server, tmp_path, found, Budget(), kind))
    assert halted == [] and server.refused == 0 and server.asked == 32
    replayed = {"standin": Replayed("standin", model.identity, Recording(tmp_path))}
    turns = play(found, tmp_path / "journal", replayed)
    asked = turns[turns.model.notna()]
    assert set(asked.reply) == {GOOD} and asked.fallback.eq("").all() and not asked.detail.notna().any()
