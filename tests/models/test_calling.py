"""Tools that providers offer: TradeCraft's roles call them, natively, in each of the three protocols."""

import asyncio
import json

import pytest
from aiohttp import web
from games.tradecraft.test_roles import FAR, match

from agon.conf import load
from agon.models.anthropic import Anthropic
from agon.models.base import Request, extend
from agon.models.ledger import Ledger, Replayed
from agon.models.limits import Budget
from agon.models.openai import OpenAI
from agon.models.recording import Recording, Writer
from agon.models.remote import join_calls
from agon.models.responses import Responses
from agon.play import play
from agon.record import record

USUAL = ("craft_done", "decide", "submit_proposal", "rethink")
"""What the provider's model calls, the first of these that it is offered."""


def least(schema):
    """The first value that fits a schema."""
    if "anyOf" in schema:
        return least(schema["anyOf"][0])
    if "enum" in schema:
        return schema["enum"][-1]
    if schema["type"] == "object":
        return {name: least(part) for name, part in schema["properties"].items()}
    return schema.get("minimum", "fine")


class Strict:
    """Offers the tools that it is given; refuses a conversation in which a call of its own is changed or has no result."""

    def __init__(self):
        self.issued, self.asked, self.faults = {}, 0, []

    def called(self, tools):
        """A name, the arguments and an id."""
        self.asked += 1
        name = next(name for name in USUAL if name in tools)
        return name, least(tools[name]), f"call{self.asked}"

    def check(self, fits, why):
        if not fits:
            self.faults.append(why)

    def pairs(self, calls, results, by):
        """Every call that came back is as it was given, and has its result."""
        for call in calls:
            self.check(self.issued.get(call[by]) == call, "a call was changed")
        self.check([call[by] for call in calls] == results, "a call without its result")

    async def chat(self, request):
        body = await request.json()
        self.check(body["tool_choice"] == "required" and body["parallel_tool_calls"] is False, "nothing must be called")
        said = body["messages"]
        calls = [call for message in said for call in message.get("tool_calls", [])]
        self.pairs(calls, [each["tool_call_id"] for each in said if each["role"] == "tool"], "id")
        tools = {each["function"]["name"]: each["function"]["parameters"] for each in body["tools"]}
        name, given, key = self.called(tools)
        call = {"id": key, "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
        self.issued[key] = call
        answer = {"role": "assistant", "content": None, "tool_calls": [call]}
        usage = {"prompt_tokens": 2000, "completion_tokens": 50}
        return web.json_response(
            {"id": key, "choices": [{"message": answer, "finish_reason": "tool_calls"}], "usage": usage}
        )

    async def messages(self, request):
        body = await request.json()
        self.check(body["tool_choice"] == {"type": "any", "disable_parallel_tool_use": True}, "nothing must be called")
        blocks = [block for message in body["messages"] for block in message["content"] if isinstance(block, dict)]
        calls = [block for block in blocks if block["type"] == "tool_use"]
        self.pairs(calls, [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"], "id")
        name, given, key = self.called({each["name"]: each["input_schema"] for each in body["tools"]})
        call = {"type": "tool_use", "id": key, "name": name, "input": given}
        self.issued[key] = call
        content = [{"type": "text", "text": "Let me see."}, call]
        usage = {"input_tokens": 2000, "output_tokens": 50}
        return web.json_response({"id": key, "content": content, "usage": usage, "stop_reason": "tool_use"})

    async def responses(self, request):
        body = await request.json()
        self.check(body["tool_choice"] == "required" and body["parallel_tool_calls"] is False, "nothing must be called")
        items = body["input"]
        calls = [item for item in items if item.get("type") == "function_call"]
        done = [item["call_id"] for item in items if item.get("type") == "function_call_output"]
        self.pairs(calls, done, "call_id")
        name, given, key = self.called({each["name"]: each["parameters"] for each in body["tools"]})
        call = {"type": "function_call", "id": f"f{key}", "call_id": key, "name": name, "arguments": json.dumps(given)}
        self.issued[key] = call
        usage = {"input_tokens": 2000, "output_tokens": 50}
        return web.json_response({"id": key, "status": "completed", "output": [call], "usage": usage})


ADAPTERS = {
    "chat": lambda url: OpenAI(model="m", base_url=f"{url}/v1", tries=1),
    "messages": lambda url: Anthropic(model="m", base_url=url, parameters={"max_tokens": 900}, tries=1),
    "responses": lambda url: Responses(model="m", base_url=f"{url}/v1", tries=1),
}


AGENTS = ("tradecraft_called",) * 2


def called_match():
    """Two turns of two players in roles, who call tools."""
    return match(agents=AGENTS, model="m", targets=FAR, turns=2)


async def recorded(server, kind, folder, budget):
    app = web.Application()
    app.router.add_post("/v1/chat/completions", server.chat)
    app.router.add_post("/v1/messages", server.messages)
    app.router.add_post("/v1/responses", server.responses)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    model = ADAPTERS[kind]("http://{}:{}".format(*runner.addresses[0]))
    writer = Writer(Recording(folder), folder / "lock")
    try:
        return await record([called_match()], Ledger({"m": model}, writer, budget)), model
    finally:
        writer.close()
        await runner.cleanup()


@pytest.mark.parametrize("kind", ADAPTERS)
def test_roles_call_tools_and_get_results_also_after_a_restart(tmp_path, kind):
    server = Strict()
    halted, _ = asyncio.run(recorded(server, kind, tmp_path, Budget(calls=5)))
    assert halted and server.asked == 5
    halted, model = asyncio.run(recorded(server, kind, tmp_path, Budget()))
    assert halted == [] and server.faults == []
    turns = play([called_match()], tmp_path / "journal", {"m": Replayed("m", model.identity, Recording(tmp_path))})
    asked = turns[turns.attempts.gt(0)]
    assert len(asked) == server.asked and asked.fallback.eq("").all()
    assert {json.loads(each)["tool"] for each in asked.action} >= {"craft_done", "decide", "submit_proposal"}
    noted = [json.loads(each)["thought"] for each in asked.detail]
    assert noted[0] == ["Let me see.\nfine" if kind == "messages" else "fine"]


def test_the_stand_in_calls_tools_too(tmp_path):
    found, model = [match(agents=AGENTS, targets=FAR, turns=2)], load("model", "standin_tradecraft")
    writer = Writer(Recording(tmp_path / "one"), tmp_path / "lock")
    assert asyncio.run(record(found, Ledger({"standin_tradecraft": model}, writer, Budget()))) == []
    writer.close()
    replayed = Replayed("standin_tradecraft", model.identity, Recording(tmp_path / "one"))
    turns = play(found, tmp_path / "journal", {"standin_tradecraft": replayed})
    assert len(turns) > 10 and turns.fallback.eq("").all()


def test_arguments_that_are_no_object_and_several_calls_are_no_call():
    assert join_calls("Hm.", [("craft_done", "{")]) == ("Hm.\ncraft_done({)", False)
    assert join_calls("", [("craft_done", "[]")]) == ("craft_done([])", False)
    assert join_calls("", [("craft_done", "{}"), ("decide", "{}")]) == ("craft_done({})\ndecide({})", False)


def test_where_no_tools_are_offered_calls_go_as_text():
    call = {"type": "tool_use", "id": "c", "name": "decide", "input": {}}
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    messages = extend(extend((), "user", "And?"), "assistant", "{}", (thought, {"type": "text", "text": "So."}, call))
    messages, model = extend(messages, "user", "Done."), ADAPTERS["messages"]("http://127.0.0.1:9")
    asked, answered, _ = model.request_body(Request(messages, "s", tools={"decide": {}}))["messages"]
    assert answered["content"][1:] == [{"type": "text", "text": "So."}, call] and asked["content"] == "And?"
    *_, plain, last = model.request_body(Request(messages, "s"))["messages"]
    assert plain["content"] == [thought, {"type": "text", "text": "{}"}] and last["content"][0]["type"] == "text"
