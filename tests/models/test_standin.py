"""The stand-in: answers like a model, by a script, the same to the same question, without any network."""

import asyncio
import functools
import inspect
import json
import socket
from dataclasses import replace

import pytest
from harness import MATRIX, PD, RPS, anything, at_the_table, seated, seen, small

from agon import AgonError
from agon.agents.llm import LLM
from agon.conf import load, settings_of
from agon.games.matrix import scripts as scripted
from agon.games.reading import read
from agon.models import CallFailed, Request, extend
from agon.models.ledger import Ledger, Live
from agon.models.limits import Budget
from agon.models.recording import Recording, Writer
from agon.models.standin import StandIn
from agon.play import play_async, play_now, turns_table
from agon.record import record

VIEW = seen("CC", "CD")


def standin(policy=scripted.tit_for_tat, **settings):
    return StandIn(model="standin", policy=policy, **settings)


def request(sample="s", view=VIEW, text="Round 3: choose your action."):
    return Request(extend(extend((), "system", "rules"), "user", text), sample, view=view)


def answered(model, *requests):
    """What it answers; None where the try failed."""

    async def one(asked):
        try:
            return await model.answer(asked)
        except CallFailed:
            return None

    async def all_of_them():
        return [await one(asked) for asked in requests]

    return asyncio.run(all_of_them())


def shares(model, count=4000, view=VIEW):
    """(share of tries that failed, of answers that cannot be read, of answers that refuse)."""
    answers = answered(model, *[request(str(n), view) for n in range(count)])
    said = [answer.text for answer in answers if answer]
    refused = [text for text in said if "do not take part" in text]
    unread = [text for text in said if read(text, view.legal).action is None]
    return 1 - len(said) / count, (len(unread) - len(refused)) / count, len(refused) / count


# --- the same to the same


def test_the_same_request_has_the_same_answer():
    asked = [request(str(n)) for n in range(50)]
    chance = {"policy": scripted.random_mix, "malformed": 0.3, "refusal": 0.2}
    assert answered(standin(**chance), *asked) == answered(standin(**chance), *asked[::-1])[::-1]


def test_another_sample_of_the_same_question_may_have_another_answer():
    said = {answer.text for answer in answered(standin(scripted.random_mix), *[request(str(n)) for n in range(20)])}
    assert len(said) == 2


@pytest.mark.parametrize(
    "other",
    [
        {"words": 3},
        {"malformed": 0.1},
        {"refusal": 0.1},
        {"policy": scripted.grim},
        {"policy": functools.partial(scripted.always, position=1)},
        {"parameters": {"temperature": 0.5}},
    ],
)
def test_other_settings_make_another_model(other):
    assert standin(**other).identity != standin().identity and json.loads(standin(**other).identity)


def test_a_scripts_own_settings_make_another_model():
    one, other = (functools.partial(scripted.always, position=position) for position in (0, 1))
    assert standin(one).identity != standin(other).identity


@pytest.mark.parametrize("other", [{"delay": 1.0}, {"error": 0.5}, {"concurrency": 1}, {"timeout": 1.0}, {"price": {}}])
def test_how_fast_and_how_often_it_fails_does_not_make_another_model(other):
    assert standin(**other).identity == standin().identity


# --- by the script


SCRIPTS = {
    name: script
    for name, script in inspect.getmembers(scripted, inspect.isfunction)
    if list(inspect.signature(script).parameters)[:2] == ["view", "dice"]
}
SETTINGS = {
    "cycle": {"orders": [["defection", "cooperation"], ["rock", "paper"]]},
    "always": {"position": 1},
    "memory_one": {"first": 0.5, "kind": [0.9, 0.1, 0.5, 0.2]},
}
DILEMMAS_ONLY = {"generous_tit_for_tat", "extort_2", "memory_one", "reference"}


@pytest.mark.parametrize(
    ("name", "game"),
    [(name, game) for name in SCRIPTS for game in ("pd", "rps") if game == "pd" or name not in DILEMMAS_ONLY],
)
def test_every_script_that_plays_the_game_may_be_its_policy(name, game):
    model = standin(functools.partial(SCRIPTS[name], **SETTINGS.get(name, {})))
    match = seated(LLM, anything, game=MATRIX[game])
    turns = turns_table([(match, play(match, model))])
    assert turns.valid.all() and json.loads(model.identity)["parameters"]["standin"]["policy"].split(".")[-1] == name


def play(match, model):
    """The match, with the model at its first seat."""
    return at_the_table(match, model, live=True)


def test_it_does_what_its_script_would_do():
    match = seated(LLM, scripted.alternator)
    scripts = seated(scripted.tit_for_tat, scripted.alternator)
    done, expected = turns_table([(match, play(match, standin()))]), turns_table([(scripts, play_now(scripts))])
    assert done.action.tolist() == expected.action.tolist() and done.payoff.tolist() == expected.payoff.tolist()


def test_the_models_of_conf_that_stand_in_can_be_built_and_answer():
    assert answered(load("model", "standin"), request())[0].text
    assert settings_of("model", "standin")["_target_"].endswith("StandIn")


def test_a_script_that_does_not_fit_the_game_names_the_match():
    with pytest.raises(AgonError, match=r"match m0 .rps default"):
        play(seated(LLM, scripted.random_mix, game=RPS), standin(scripted.extort_2))


def test_a_script_that_does_not_fit_ends_a_recording_at_once(tmp_path):
    models = {name: StandIn(model=name, policy=scripted.extort_2) for name in "01"}
    writer = Writer(Recording(tmp_path), tmp_path / "lock")
    ledger = Ledger(models, writer, Budget())
    with pytest.raises(AgonError, match=r"model [01]: ValueError: rps has 3 x 3 actions"):
        asyncio.run(asyncio.wait_for(record([seated(LLM, LLM, game=RPS)], ledger), 60))
    writer.close()
    assert not ledger.in_flight and set(ledger.budget.costs.errors) == {"ValueError"}


def test_labels_with_braces_and_brackets_are_said_as_they_are():
    game = small([[[1, 2], [3, 4]], [[5, 6], [7, 8]]], options=("{0}", "{x}"), rounds=1)
    view = game.observe(((), ()), 0)
    for answer in answered(standin(scripted.random_mix, malformed=0.5), *[request(str(n), view) for n in range(40)]):
        assert read(answer.text, view.legal).action in (None, "{0}", "{x}")


# --- rates


@pytest.mark.parametrize("rate", [0.0, 0.03, 0.3, 1.0])
@pytest.mark.parametrize("which", ["error", "malformed", "refusal"])
def test_a_rate_is_hit(which, rate):
    count = 4000
    failed, malformed, refused = shares(standin(**{which: rate}), count)
    found = {"error": failed, "malformed": malformed, "refusal": refused}
    assert abs(found[which] - rate) <= 4 * (rate * (1 - rate) / count) ** 0.5
    assert all(value == 0 for name, value in found.items() if name != which)


@pytest.mark.parametrize("name", MATRIX)
def test_no_malformed_answer_can_be_read_in_any_game(name):
    view = MATRIX[name].observe(MATRIX[name].start(None), 0)
    answers = answered(standin(malformed=1.0), *[request(str(n), view) for n in range(60)])
    assert {read(answer.text, view.legal).action for answer in answers} == {None}
    assert len({answer.text for answer in answers}) >= 5


def test_a_failed_try_says_that_it_may_pass_and_the_next_may_succeed():
    model, asked = standin(error=0.5), [request(str(n)) for n in range(50)]
    first, second = answered(model, *asked), answered(model, *asked)
    assert any(one is None and other is not None for one, other in zip(first, second, strict=True))
    with pytest.raises(CallFailed) as caught:
        asyncio.run(standin(error=1.0).answer(request()))
    assert (caught.value.kind, caught.value.then) == ("500", "retry")


def test_a_failed_try_does_not_change_the_answer():
    patient, asked = standin(scripted.random_mix, error=0.8), [request(str(n)) for n in range(20)]
    steady = answered(standin(scripted.random_mix), *asked)
    for question, answer in zip(asked, steady, strict=True):
        assert next(filter(None, answered(patient, *[question] * 99))) == answer


def test_tokens_are_a_quarter_of_the_letters_and_cost_nothing():
    model, asked = standin(), request(text="x" * 400)
    answer = answered(model, asked)[0]
    assert answer.tokens_in == (len("rules") + 400) // 4 and answer.tokens_out == len(answer.text) // 4
    assert model.cost(answer.tokens_in, answer.tokens_cached, answer.tokens_out) == 0


def test_a_delay_is_waited_for(monkeypatch):
    slept = []

    async def sleep(seconds):
        slept.append(seconds)

    monkeypatch.setattr("agon.models.standin.sleep", sleep)
    answered(standin(delay=2.0, spread=0.5), *[request(str(n)) for n in range(400)])
    assert len(slept) == 400 and 1.7 < sorted(slept)[200] < 2.3 and max(slept) > 4


# --- whatever goes on around it


def recorded(folder, at_once, **settings):
    """The turns of 6 matches of two stand-ins through ledger and recording, `at_once` at a time."""

    async def everything():
        model = standin(
            scripted.random_mix,
            malformed=0.4,
            refusal=0.2,
            error=0.2,
            concurrency=at_once,
            pause=0.0,
            tries=50,
            **settings,
        )
        writer = Writer(Recording(folder), folder / "lock")
        live = Live("standin", model, Ledger({"standin": model}, writer, Budget()))
        matches = [seated(LLM, LLM, game=replace(PD, rounds=4), number=number) for number in range(6)]
        places = asyncio.Semaphore(at_once)

        async def one(match):
            async with places:
                return match, await play_async(match, {"0": live, "1": live})

        try:
            return turns_table(await asyncio.gather(*map(one, matches)))
        finally:
            writer.close()

    return asyncio.run(everything())


def test_how_many_are_asked_at_once_changes_nothing(tmp_path):
    one, ten = recorded(tmp_path / "1", 1), recorded(tmp_path / "10", 10, delay=0.001)
    assert one.drop(columns="seconds").equals(ten.drop(columns="seconds"))
    assert 0 < one.valid.mean() < 1


def test_it_needs_no_network(monkeypatch):
    def nothing(*_, **__):
        raise AssertionError("the stand-in opened a connection")

    model = standin()
    loop = asyncio.new_event_loop()  # makes its own socket pair
    monkeypatch.setattr(socket.socket, "connect", nothing)
    monkeypatch.setattr(socket, "getaddrinfo", nothing)
    assert loop.run_until_complete(model.answer(request())).text
    loop.close()


def test_it_says_that_it_is_a_stand_in():
    assert "stand-in" in answered(standin(), request())[0].text
