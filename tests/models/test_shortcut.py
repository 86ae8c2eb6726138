"""The first request is the SDK's; those after it are like it, and fail like it."""

import asyncio
import time

import pytest
from fault_server import FAULTS, FaultServer
from test_adapters import KINDS, LONG, SHORT, model

from agon.models import CallFailed
from agon.models.openai import OpenAI
from agon.models.shortcut import OWN

NEVER_COMES = ("silence", "drip")


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("SOME_KEY", "canary-5f0c1e77d2")


def asked(kind, requests, settings=None, **server):
    """What each request was answered, one after another, or raised; the server and the model."""

    async def play():
        async with FaultServer(**server) as running:
            asked_model, found = model(kind, running, **settings or {}), []
            for request in requests:
                try:
                    found.append(await asked_model.answer(request))
                except CallFailed as failed:
                    found.append(failed)
            short = asked_model._short
            await asked_model.close()
            return found, running, short

    return asyncio.run(play())


@pytest.mark.parametrize("kind", KINDS)
def test_later_requests_have_the_sdks_headers_and_their_own_bodies(kind):
    (first, second), server, short = asked(kind, [SHORT, LONG])
    assert short is not None and first.text == second.text
    plain = [{name: value for name, value in headers.items() if name.lower() not in OWN} for headers in server.headers]
    assert plain[0] == plain[1] and "canary-5f0c1e77d2" in str(plain[1])
    assert [len(body["messages"]) for body in server.bodies] == ([2, 4] if kind is OpenAI else [1, 3])
    assert server.bodies[0] | {"messages": []} == server.bodies[1] | {"messages": []}


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault != "429 date"])
@pytest.mark.parametrize("kind", KINDS)
def test_later_requests_fail_as_the_first_would(kind, fault):
    """What is said may differ in words, not in what it means."""
    settings = {"timeout": 0.3 if fault in NEVER_COMES else 20.0}
    (as_first,), _, _ = asked(kind, [SHORT], settings, script=[fault])
    (good, as_later), server, _ = asked(kind, [SHORT, LONG], settings, script=[None, fault])
    assert good.text == "[move] cooperation" and server.requests == 2
    assert type(as_first) is type(as_later)
    if isinstance(as_later, CallFailed):
        assert (as_later.kind, as_later.then, as_later.after) == (as_first.kind, as_first.then, as_first.after)
        assert "canary" not in str(as_later) and "\n" not in str(as_later)
        assert as_later.__context__ is None
    else:
        assert (as_later.text, as_later.stop) == (as_first.text, as_first.stop)


@pytest.mark.parametrize("kind", KINDS)
def test_of_many_at_once_one_goes_through_the_sdk(kind):
    async def play():
        async with FaultServer(latency=0.05) as server:
            asked_model, through = model(kind, server, concurrency=30), []
            connected = asked_model.connected

            def counted(key):
                client = connected(key)
                post = client.post
                client.post = lambda *arguments, **named: through.append(1) or post(*arguments, **named)
                return client

            asked_model.connected = counted
            found = await asyncio.gather(*(asked_model.answer(SHORT) for _ in range(30)))
            await asked_model.close()
            assert server.requests == 30 and server.most > 20
            assert len({answer.text for answer in found}) == 1
            return len(through)

    assert asyncio.run(play()) == 1


def test_seconds_are_those_of_the_call_and_not_of_waiting_for_the_first():
    async def play():
        async with FaultServer(latency=0.05) as server:
            asked_model = model(OpenAI, server)
            found = await asyncio.gather(*(asked_model.answer(SHORT) for _ in range(3)))
            await asked_model.close()
            return found

    start = time.monotonic()
    found = asyncio.run(play())
    assert all(0.05 <= answer.seconds <= time.monotonic() - start for answer in found)


@pytest.mark.parametrize("address", ["nowhere", "http://127.0.0.1:1/v1"])
def test_a_first_that_cannot_be_sent_holds_nobody_up(address):
    async def play():
        asked_model = OpenAI(model="m", base_url=address)
        found = await asyncio.gather(*(asked_model.answer(SHORT) for _ in range(10)), return_exceptions=True)
        await asked_model.close()
        return found

    kinds = {error.kind for error in asyncio.run(asyncio.wait_for(play(), 10))}
    assert kinds <= {"connection", "no connection"} and len(kinds) == 1


def test_a_cancelled_first_holds_nobody_up():
    async def play():
        async with FaultServer(latency=0.05) as server:
            asked_model = model(OpenAI, server)
            first = asyncio.create_task(asked_model.answer(SHORT))
            second = asyncio.create_task(asked_model.answer(LONG))
            await asyncio.sleep(0)
            first.cancel()
            answer = await asyncio.wait_for(second, 10)
            await asked_model.close()
            return answer

    assert asyncio.run(play()).text == "[move] cooperation"


def test_a_proxy_that_the_environment_names_is_used_throughout(monkeypatch):
    async def play():
        async with FaultServer() as proxy:
            monkeypatch.setenv("http_proxy", proxy.url)
            monkeypatch.setenv("no_proxy", "elsewhere.test")
            asked_model = OpenAI(model="m", base_url="http://model.test/v1")
            found = [await asked_model.answer(request) for request in (SHORT, LONG)]
            await asked_model.close()
            return found, proxy.headers

    found, headers = asyncio.run(play())
    assert len(found) == 2 and [each["Host"] for each in headers] == ["model.test", "model.test"]


def test_a_model_that_has_been_closed_can_be_asked_again():
    async def play():
        async with FaultServer() as server:
            asked_model = model(OpenAI, server)
            for _ in range(2):
                await asked_model.answer(SHORT)
                await asked_model.answer(LONG)
                await asked_model.close()
            return server.requests

    assert asyncio.run(play()) == 4
