"""Every kind of fault once (storm.py), with one SDK or the other; `make soak` draws 20,000 calls."""

import asyncio

import pytest
from soak import KEY, PAUSE, SECRET, Ticker, asked, checked, each_kind, storm, told
from storm import KINDS

from agon import AgonError
from agon.models import Answer, CallFailed
from agon.models.anthropic import Anthropic
from agon.models.limits import Budget
from agon.models.openai import OpenAI


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv(KEY, SECRET)


@pytest.fixture(scope="module")
def url():
    with storm() as found:
        yield found


def came(outcome, failures, line):
    """What came of a call, in the words of storm.py."""
    if isinstance(outcome, AgonError):
        return "stop"
    if isinstance(outcome, CallFailed):
        return outcome.then
    assert isinstance(outcome, Answer), outcome
    return "retry" if failures else "most" if line.get("unreported") else "answer"


@pytest.mark.parametrize("kind", [OpenAI, Anthropic])
def test_whatever_a_provider_sends_a_call_ends_as_it_should(kind, url, tmp_path):
    """Each kind by one SDK, usage by both. Those that say "too much" are asked apart: others would have to wait for each other."""
    place, parts = [OpenAI, Anthropic].index(kind), [dict[str, int]() for _ in range(3)]
    for number, name in enumerate(KINDS):
        if number % 2 == place or name.startswith("usage"):
            parts[name.startswith("wire") + 2 * ("429" in name or "529" in name or name.startswith("after"))][name] = (
                number
            )

    async def run():
        ticker = Ticker()
        await asked(kind, url, tmp_path / "first", ["begin"], Budget(), 4)
        before, ticking = told(url)["usd"], asyncio.create_task(ticker.tick())
        runs = [each_kind(kind, url, tmp_path / str(n), part) for n, part in enumerate(parts)]
        found = await asyncio.gather(*runs)
        ticking.cancel()
        return found, told(url)["usd"] - before, ticker

    found, charged, ticker = asyncio.run(run())
    assert charged <= sum(each.budget.used["usd"] for each in found)
    wrong = {}
    for part, each in zip(parts, found, strict=True):
        checked(each, 0.0)
        lines = {line["exchange"]: line for line in each.lines if "exchange" in line}
        failed = [line["failed"] for line in each.lines if "failed" in line]
        for name, (_, outcome) in zip(part, each.outcomes.items(), strict=True):
            exchange = getattr(outcome, "exchange", "")
            comes = came(outcome, failed.count(exchange), lines.get(exchange, {}))
            if KINDS[name].comes not in (comes, "any"):
                wrong[name] = (KINDS[name].comes, comes, str(outcome)[:100])
    assert wrong == {}, [wrong, [line for each in found for line in each.lines if "failed" in line][:3]]
    assert ticker.own < 2 * PAUSE  # on a busy machine everything takes longer
