"""Who answered: what a reply says about it is kept, a change is told, and the environment chooses nobody."""

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import pandas as pd
import pytest

from agon import AgonError
from agon.models import Answer, Model, Request, extend
from agon.models.anthropic import Anthropic
from agon.models.ledger import Ledger, Live, Replayed, ServedByAnother
from agon.models.limits import Budget
from agon.models.openai import OpenAI
from agon.models.recording import FILE, Recording, Writer
from agon.models.responses import Responses
from agon.report.sources import answer_sources, explain_sources

KINDS = [OpenAI, Anthropic, Responses]
ASKED = extend(extend((), "system", "The rules."), "user", "Your move?")
CONTENT = {
    OpenAI: {"choices": [{"message": {"content": "[move] hare"}, "finish_reason": "stop"}]},
    Anthropic: {"content": [{"type": "text", "text": "[move] hare"}], "stop_reason": "end_turn"},
    Responses: {
        "status": "completed",
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "[move] hare"}]}],
    },
}
SAYS = {"model": "cheaper-2", "provider": "OtherCloud", "system_fingerprint": "fp_6b68a8204b"}


def http(content):
    body = json.dumps(content).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body


@asynccontextmanager
async def serving(*replies, unasked=None):
    """(address, heads of the requests) of a server that gives `replies`, the last one for ever, and `unasked` after each."""
    heads, left = [], list(replies)

    async def talk(reader, writer):
        async with asyncio.timeout(60):
            while head := await reader.readuntil(b"\r\n\r\n"):
                heads.append(head.decode())
                [length] = [
                    line.split(":")[1] for line in heads[-1].lower().split("\r\n") if line.startswith("content-length")
                ]
                await reader.readexactly(int(length))
                writer.write(http(left.pop(0) if len(left) > 1 else left[0]))
                await writer.drain()
                if unasked is not None:
                    await asyncio.sleep(0.02)
                    writer.write(http(unasked))
                    await writer.drain()

    async def until_closed(reader, writer):
        try:
            await talk(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(until_closed, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", heads
    finally:
        server.close()


def asked(kind, *replies, times=1, pause=0.0, unasked=None, **settings):
    """(answers, heads of the requests) of a model at such a server."""

    async def play():
        async with serving(*replies, unasked=unasked) as (url, heads):
            address = url if kind is Anthropic else f"{url}/v1"
            model = kind(**{"model": "m", "base_url": address, "parameters": {"max_tokens": 9}} | settings)
            answers = []
            for number in range(times):
                answers.append(await model.answer(Request(ASKED, f"m/0/{number}")))
                await asyncio.sleep(pause)
            await model.close()
            return answers, heads

    return asyncio.run(play())


# --- what replies say


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_says_who_gave_it(kind):
    [answer], _ = asked(kind, CONTENT[kind] | SAYS)
    assert (answer.served, answer.provider, answer.fingerprint) == tuple(SAYS.values())
    [answer], _ = asked(kind, CONTENT[kind] | {"model": None, "system_fingerprint": 7, "provider": "a\nb\x1b[2J"})
    assert (
        (answer.served, answer.fingerprint) == ("", "")
        and "\n" not in answer.provider
        and "\x1b" not in answer.provider
    )


@pytest.mark.parametrize("pause", [0, 0.1])
@pytest.mark.parametrize("kind", KINDS)
def test_an_unasked_reply_is_never_the_next_answer(kind, pause):
    poison = json.loads(json.dumps(CONTENT[kind]).replace("hare", "stag"))
    answers, heads = asked(kind, CONTENT[kind], times=4, pause=pause, unasked=poison)
    assert [answer.text for answer in answers] == ["[move] hare"] * 4 and len(heads) == 4


@pytest.mark.parametrize("kind", KINDS)
def test_the_environment_chooses_no_host_and_adds_no_header(kind, monkeypatch):
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/nobody")
    for name in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.setenv(name, "from-the-environment")
    for name in ("OPENAI_CUSTOM_HEADERS", "ANTHROPIC_CUSTOM_HEADERS"):
        monkeypatch.setenv(name, "X-Other: from-the-environment")
    _, [head] = asked(kind, CONTENT[kind], headers={"OpenAI-Organization": "org-of-conf"})
    assert "from-the-environment" not in head and "org-of-conf" in head
    own = kind(model="m", parameters={"max_tokens": 9})
    host = "api.anthropic.com" if kind is Anthropic else "api.openai.com"
    assert own.host == host and host in str(own.make_client("none").base_url)


def test_bedrock_is_where_its_file_says(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_BEDROCK_BASE_URL", "http://127.0.0.1:9/nobody")
    model = Anthropic(model="m", bedrock=True, region="eu-west-1", key="A_KEY", parameters={"max_tokens": 9})
    assert model.host == "bedrock-runtime.eu-west-1.amazonaws.com" in str(model.make_client("none").base_url)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"base_url": "file:///etc/passwd"}, "must begin with https:// or http:// and a host"),
        ({"base_url": "api.openai.com/v1"}, "must begin with https:// or http:// and a host"),
        ({"base_url": "https://"}, "must begin with https:// or http:// and a host"),
        ({"base_url": "https://me:quince@a.example/v1"}, "^(?!.*quince)model m: base_url holds a name or a password"),
        ({"base_url": "https://a.example:99999/v1"}, "has a port that is no number up to 65535"),
        ({"base_url": "https://a.example:quince/v1"}, "^(?!.*quince)model m: base_url has a port that is no number"),
        ({"base_url": "quince"}, "^(?!.*quince)model m: base_url must begin with https:// or http:// and a host"),
        ({"base_url": "https://a.example/v1?key=quince"}, r"^(?!.*quince)model m: base_url must have no \? and no #"),
        ({"base_url": "https://a.example#quince"}, r"^(?!.*quince)model m: base_url must have no \? and no #"),
        ({"key": "AGON_PASSWORD"}, "AGON_PASSWORD is a secret of agon's own"),
        ({"headers": {"Authorization": "Bearer quince"}}, "^(?!.*quince).*the header Authorization has a key"),
        ({"headers": {"X-Goog-Api-Key": "quince"}}, "^(?!.*quince).*the header X-Goog-Api-Key has a key"),
        ({"headers": {"x-auth-token": "quince"}}, "^(?!.*quince).*the header x-auth-token has a key"),
        ({"headers": {"Proxy-Authorization": "quince"}}, "^(?!.*quince).*the header Proxy-Authorization has a key"),
        ({"headers": {"X-Auth": "quince"}}, "^(?!.*quince).*the header X-Auth has a key"),
        ({"headers": {"X-Title": 3}}, "headers must be texts by name"),
        ({"headers": {"X-Title": "a\r\nb"}}, "headers must be texts by name"),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_hosts_keys_and_headers_that_cannot_be_are_refused_in_a_line(kind, settings, said):
    with pytest.raises(AgonError, match=said) as refused:
        kind(model="m", **settings)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["X-Author", "X-Author-Id", "x-authors", "X-Authority", "X-Title", "HTTP-Referer"])
def test_headers_whose_names_only_resemble_those_of_keys_are_sent(name):
    assert OpenAI(model="m", headers={name: "anyone"}).headers == {name: "anyone"}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_sent_beside_parameters_and_conversation_is_known(kind):
    model = kind(model="m", parameters={"max_tokens": 9, "temperature": 0.0, "extra": {"user": "u"}})
    plain = model.sent(Request(ASKED, "m/0/0"))
    schemas = [model.sent(Request(ASKED, "m/0/0", schema={"type": "object", "title": name})) for name in "ab"]
    assert not {"model", "messages", "input", "system", "user", "temperature", model_limit(model)} & plain.keys()
    assert (
        all(plain.items() <= sent.items() and len(sent) > len(plain) for sent in schemas) and schemas[0] != schemas[1]
    )
    assert "title" not in json.dumps(schemas)


def model_limit(model):
    return getattr(model, "max_tokens_name", "max_tokens")


# --- what recordings keep


@dataclass(kw_only=True)
class Served(Model):
    """Says that it was answered by `who`, one after another; the last one for ever."""

    model: str = "wanted"
    who: list = field(default_factory=list)
    at: str = "host.test"

    @property
    def host(self):
        return self.at

    def sent(self, request):
        return {"top_k": 3}

    async def answer(self, request):
        who = self.who.pop(0) if len(self.who) > 1 else self.who[0]
        return replace(Answer("[move] hare", tokens_in=9, tokens_out=5, stop="stop"), **who)


def recorded(folder, model, samples, **more):
    """(what came of each sample, what was said) of one run."""
    told = []

    async def run():
        writer = Writer(Recording(folder), folder / "lock")
        try:
            live = Live("wanted", model, Ledger({"wanted": model}, writer, Budget(), say=told.append, **more))
            calls = [
                await asyncio.gather(live.answer(Request(ASKED, each)), return_exceptions=True) for each in samples
            ]
            return [each for [each] in calls]
        finally:
            writer.close()

    return asyncio.run(run()), told


def exchanges(folder):
    lines = [json.loads(line) for line in (folder / FILE).read_text().splitlines()]
    return [line for line in lines if "exchange" in line]


A, B = {"served": "a", "fingerprint": "fp_1"}, {"served": "b", "fingerprint": "fp_2"}
SAMPLES = [f"m/0/{number}.0" for number in range(5)]


def test_an_exchange_keeps_who_answered_and_how_it_was_read(tmp_path):
    [answer], _ = recorded(tmp_path, Served(who=[A]), SAMPLES[:1])
    [line] = exchanges(tmp_path)
    kept = {name: line[name] for name in ("served", "fingerprint", "host", "sent", "reading_rule", "ended")}
    assert kept == {**A, "host": "host.test", "sent": {"top_k": 3}, "reading_rule": "strict", "ended": "stop"}
    assert "provider" not in line, "what is not said is absent"
    [replayed] = [Recording(tmp_path).get(line["exchange"])]
    assert replayed.reading_rule == answer.reading_rule == "strict"


def test_keys_do_not_depend_on_who_answered_or_how_it_is_read(tmp_path):
    for name, model, rule in (("x", Served(who=[A]), "strict"), ("y", Served(who=[B], at="other.test"), "as_done")):
        recorded(tmp_path / name, model, SAMPLES[:1])
        request = Request(ASKED, SAMPLES[0], reading_rule=rule)
        assert asyncio.run(Replayed("wanted", model.identity, Recording(tmp_path / name)).answer(request)).text
    assert exchanges(tmp_path / "x")[0]["exchange"] == exchanges(tmp_path / "y")[0]["exchange"]


def test_an_older_recording_says_nobody_and_is_read_as_it_was(tmp_path):
    recorded(tmp_path, Served(who=[A]), SAMPLES[:1])
    [line] = exchanges(tmp_path)
    for name in ("served", "fingerprint", "host", "sent", "reading_rule"):
        del line[name]
    (tmp_path / FILE).write_text(json.dumps(line) + "\n")
    recording = Recording(tmp_path)
    assert recording.get(line["exchange"]).reading_rule == "as_done"
    _, told = recorded(tmp_path, Served(who=[B]), SAMPLES[1:2], served="stop")
    assert told == [], "nobody known is no change"


@pytest.mark.parametrize(
    ("first", "then", "said"),
    [
        (
            {"who": [A]},
            {"who": [B]},
            "the model that answers is now b (before: a); the system's fingerprint is now fp_2 (before: fp_1)",
        ),
        ({"who": [A]}, {"who": [A], "at": "else.test"}, "the host that is asked is now else.test (before: host.test)"),
        ({"who": [{"provider": "P"}]}, {"who": [{"provider": "Q"}]}, "the provider that answers is now Q (before: P)"),
    ],
)
def test_another_than_before_is_told_once_also_by_a_later_command(tmp_path, first, then, said):
    assert recorded(tmp_path, Served(**first), SAMPLES[:2])[1] == []
    answers, told = recorded(tmp_path, Served(**then), SAMPLES)
    assert told == [f"note: model wanted: {said}"] and {answer.text for answer in answers} == {"[move] hare"}
    assert recorded(tmp_path, Served(**first), ["m/0/9.0"])[1] == [], "it is known from before"


def test_another_than_before_ends_the_run_if_that_is_wanted(tmp_path):
    answers, told = recorded(tmp_path, Served(who=[A, A, B]), SAMPLES, served="stop")
    assert [type(each) for each in answers] == [Answer] * 3 + [ServedByAnother] * 2 and len(told) == 1
    assert "(served=stop); its answer is recorded" in str(answers[-1]) and len(exchanges(tmp_path)) == 3
    answers, told = recorded(tmp_path, Served(who=[B]), SAMPLES, served="stop")
    assert [type(each) for each in answers] == [Answer] * 5 and told == [], "the same command goes on with it"


def test_another_word_for_what_to_do_then_is_refused(tmp_path):
    with pytest.raises(AgonError, match=r"^served is 'halt'; it must be go_on or stop$"):
        recorded(tmp_path, Served(who=[A]), SAMPLES, served="halt")


# --- the table


def turns_of(*seats, experiment="e"):
    rows = [{"experiment": experiment, "match": match, "seat": seat, "model": model} for match, seat, model in seats]
    return pd.DataFrame(rows)


def write_lines(folder, *lines):
    (folder / "e").mkdir()
    (folder / "e" / FILE).write_text("".join(json.dumps(line) + "\n" for line in lines))


def line(sample, **more):
    return {"exchange": sample, "model": "m", "parameters": {}, "asked": "", "sample": sample, "text": "x", **more}


def test_the_table_counts_what_failed_was_cut_off_asked_again_and_left_out(tmp_path):
    write_lines(
        tmp_path,
        line("one/0/0.0.0", served="a", host="h", time=86_400.0, ended="stop"),
        line("one/0/1.0.0", served="b", host="h", time=0.0, ended="length"),
        line("one/0/1.0.1", served="a", host="h", time=3 * 86_400.0, ended="stop"),
        line("two/0/0.0.0", served="a", host="h", ended="filter"),
        line("one/0/2.0.0", void="refused"),
        {"failed": "k", "kind": "500", "text": "oh", "model": "m"},
    )
    table = answer_sources(turns_of(("one", 0, "mine"), ("one", 1, None)), tmp_path)
    [row] = table.to_dict("records")
    assert {name: value for name, value in row.items() if not pd.isna(value)} == {
        **{
            "experiment": "e",
            "model": "mine",
            "host": "h",
            "served": "a; b",
            "first_day": "1970-01-02",
            "last_day": "1970-01-04",
        },
        **{"answers": 4, "failed": 1, "refused": 1, "cut_off": 2, "asked_again": 1, "skipped": 1},
    }
    assert explain_sources(next(table.itertuples())) == (
        "mine in e: 4 answers of 1970-01-02 to 1970-01-04; host h; served model a; b; failed 1, refused 1, cut off 2, asked again 1; "
        "1 match begun and not here"
    )


def test_what_an_older_recording_does_not_say_is_absent_and_not_zero(tmp_path):
    write_lines(tmp_path, line("one/0/0.0"), line("one/1/0.0", model="n"), {"failed": "k", "kind": "500", "text": "oh"})
    table = answer_sources(turns_of(("one", 0, "mine"), ("one", 1, "yours")), tmp_path)
    assert table.model.tolist() == ["mine", "yours"] and table.answers.tolist() == [1, 1]
    assert table[["failed", "cut_off", "served", "first_day"]].isna().all(axis=None)
    assert "failed unknown, refused 0, cut off unknown" in explain_sources(next(table.itertuples()))


def test_turns_without_a_recording_have_a_row_that_says_so(tmp_path):
    table = answer_sources(turns_of(("one", 0, "mine"), experiment="gone (partial: 1 of 2 matches)"), tmp_path)
    assert table.drop(columns=["experiment", "model"]).isna().all(axis=None) and table.model.tolist() == ["mine"]
    assert explain_sources(next(table.itertuples())).endswith(
        "there is no recording here, so who answered is not known"
    )
    assert answer_sources(turns_of(("one", 0, None)), tmp_path).empty
