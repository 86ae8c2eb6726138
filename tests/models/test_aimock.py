"""Both adapters against an independent server that speaks both protocols: npm's @copilotkit/aimock. Skipped where it cannot be had."""

import asyncio
import contextlib
import json
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

import pytest

from agon import ROOT
from agon.models import CallFailed, Request, message
from agon.models.anthropic import Anthropic
from agon.models.openai import OpenAI

PACKAGE, VERSION = "@copilotkit/aimock", "1.43.0"
KINDS = [OpenAI, Anthropic]
MOVE = "I cooperate, since we meet again.\n[move] cooperation"
FIXTURES = [
    {
        "match": {"userMessage": "with usage"},
        "response": {
            "content": MOVE,
            "usage": {
                "prompt_tokens": 1200,
                "completion_tokens": 34,
                "total_tokens": 1234,
                "prompt_tokens_details": {"cached_tokens": 1000},
            },
        },
    },
    {"match": {"userMessage": "think"}, "response": {"content": MOVE, "reasoning": "They cooperated so far."}},
    {"match": {"userMessage": "be cut off"}, "response": {"content": "I", "finishReason": "length"}},
    {
        "match": {"userMessage": "too many"},
        "response": {"error": {"message": "Slow down.", "type": "rate_limit_error"}, "status": 429, "retryAfter": 3},
    },
    {
        "match": {"userMessage": "overloaded"},
        "response": {"error": {"message": "Overloaded", "type": "overloaded_error"}, "status": 529},
    },
    {"match": {"userMessage": "Your move?"}, "response": {"content": MOVE}},
]


def installed():
    """The folder with the package, fetched once into .agon/; skips when it cannot be fetched."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if not node or not npm:
        pytest.skip("the independent server needs Node 20 and npm, which are not here")
    folder = ROOT / ".agon" / f"aimock-{VERSION}"
    if not folder.is_dir():
        folder.parent.mkdir(exist_ok=True)
        fresh = Path(tempfile.mkdtemp(dir=folder.parent))
        options = ["--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=1", "--loglevel=error"]
        command = [npm, "install", *options, "--prefix", fresh, f"{PACKAGE}@{VERSION}"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=120)
            if done.returncode:
                pytest.skip(f"npm cannot fetch {PACKAGE}: {' '.join(done.stderr.split())[:200]}")
            with contextlib.suppress(OSError):  # another worker may have been quicker
                fresh.rename(folder)
        except subprocess.TimeoutExpired:
            pytest.skip(f"npm did not fetch {PACKAGE} within two minutes")
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    return folder / "node_modules" / PACKAGE


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The server's address."""
    package = installed()
    fixtures = tmp_path_factory.mktemp("aimock") / "fixtures.json"
    fixtures.write_text(json.dumps({"fixtures": FIXTURES}))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = ["node", package / "dist/cli.js", "-p", str(port), "-f", fixtures, "--strict", "--log-level", "warn"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(f"{address}/health", timeout=1).close()
                break
            except OSError:
                assert process.poll() is None, f"the server ended: {process.stdout.read()}"
                time.sleep(0.1)
        yield address
    finally:
        process.terminate()
        process.wait(60)


def ask(kind, server, text="Your move?", **settings):
    """The answer of one call."""
    address = f"{server}/v1" if kind is OpenAI else server
    names = {OpenAI: "gpt-6-luna", Anthropic: "claude-sonnet-4-5"}
    given = {"model": names[kind], "key": "SOME_KEY", "base_url": address, "parameters": {"max_tokens": 4096}}

    async def play():
        model = kind(**given | settings)
        try:
            return await model.answer(Request((message("system", "The rules."), message("user", text)), "s"))
        finally:
            await model.close()

    return asyncio.run(play())


def refused(kind, server, text):
    with pytest.raises(CallFailed) as caught:
        ask(kind, server, text)
    return caught.value


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("SOME_KEY", "canary-5f0c1e77d2")


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_arrives(kind, server):
    answer = ask(kind, server)
    assert (answer.text, answer.thinking) == (MOVE, "")
    assert answer.stop == {OpenAI: "stop", Anthropic: "end_turn"}[kind]
    assert answer.id


@pytest.mark.parametrize("kind", KINDS)
def test_usage_arrives(kind, server):
    answer = ask(kind, server, "with usage")
    assert (answer.tokens_in, answer.tokens_out) == (1200, 34)


def test_a_server_of_another_make_tells_its_cached_tokens_too(server):
    answer = ask(OpenAI, server, "with usage", base_url=f"{server}/api/v1", model="meta-llama/llama-3.3-70b-instruct")
    assert (answer.text, answer.tokens_in, answer.tokens_cached) == (MOVE, 1200, 1000)


@pytest.mark.parametrize("kind", KINDS)
def test_thinking_arrives_apart(kind, server):
    answer = ask(kind, server, "think")
    assert (answer.text, answer.thinking) == (MOVE, "They cooperated so far.")


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_that_was_cut_off_says_so(kind, server):
    assert ask(kind, server, "be cut off").stop == {OpenAI: "length", Anthropic: "max_tokens"}[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_too_many_requests_are_tried_again_when_it_says(kind, server):
    failed = refused(kind, server, "too many")
    assert (failed.kind, failed.then, failed.after) == ("429", "retry", 3.0)
    assert "Slow down." in str(failed)


@pytest.mark.parametrize("kind", KINDS)
def test_an_overloaded_provider_is_tried_again(kind, server):
    assert (refused(kind, server, "overloaded").kind, refused(kind, server, "overloaded").then) == ("529", "retry")


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_server_has_no_answer_for_is_a_failure(kind, server):
    assert refused(kind, server, "nobody prepared this").then in ("retry", "stop")


def test_bedrock_is_spoken_too(server):
    answer = ask(Anthropic, server, model="anthropic.claude-3-5-sonnet-20241022-v2:0", bedrock=True, region="us-west-2")
    assert answer.text == MOVE
