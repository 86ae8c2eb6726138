"""What plan says beforehand: what is expected, beside a range in which what is really asked lies; and only what is not recorded yet."""

import asyncio
import math
from dataclasses import replace
from functools import partial

import pytest
from harness import GAMES, WITHOUT_LOGS, experiment, first, seated
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agon import AgonError
from agon.agents import seat_dice
from agon.agents.llm import LLM
from agon.conf import configuration, expand_settings, load, names, settings_of
from agon.games.matrix.scripts import tit_for_tat
from agon.games.tradecraft.calls import Call, Calls
from agon.models import Request, extend
from agon.models.base import require_distinct
from agon.models.ledger import Ledger
from agon.models.limits import Budget
from agon.models.recording import Recording, Writer
from agon.models.standin import StandIn
from agon.plan import models_of, plan
from agon.record import record
from agon.record.dry_run import LETTERS, Counts, play_out
from agon.record.estimate import CALL, TOKEN, estimates
from agon.record.habits import Habits

EXPECTED = {"zs": 15, "zs_sc3": 15, "cot": 250}
"""Tokens of an answer, as the agents' files say."""
ROUNDS = GAMES["pd"].rounds


def standin(words=11, name="own", **more):
    price = {"input": 2.0, "cached": 0.2, "output": 8.0}
    return StandIn(
        **{"model": name, "policy": tit_for_tat, "words": words, "price": price, "parameters": {"max_tokens": 400}}
        | more
    )


def as_long_as(tokens, game):
    """A stand-in whose answers in a game are of that length, with the shortest label at the least."""
    view = GAMES[game].observe(GAMES[game].start(seat_dice(0, -1)), 0)
    shortest = min(map(len, view.legal.options))

    def letters(model):
        text = asyncio.run(model.answer(Request(extend((), "user", "move"), "s", view=view))).text
        return len(text) - len(view.legal.options[0]) + shortest

    return next(model for words in range(400) if letters(model := standin(words)) > LETTERS[1] * tokens)


def pairing(*seats, game="pd", repetitions=2):
    one = {"games": [game], "seats": [[seat] for seat in seats], "models": ["standin"]}
    return plan({"name": "test", "repetitions": repetitions, "pairings": [one]})


STANDINS = {
    **dict.fromkeys(["pd", "rps_joint"], "standin"),
    **{"rating": "standin_rating", "tradecraft": "standin_tradecraft"},
}
"""Game -> the stand-in that can play it, so that the match can be planned."""


def met(game, agent):
    """One match of an agent with itself in a game; of a game with several settings, in its first."""
    model = STANDINS.get(game, "standin_magic")
    one = {"games": expand_settings([game])[:1], "seats": [[agent]] * first(game).seats, "models": [model]}
    (match,) = plan({"name": "test", "repetitions": 1, "pairings": [one]})
    return [replace(match, seats=tuple(replace(seat, model="standin") for seat in match.seats))]


def of_rounds(matches, rounds):
    """The same matches with another number of rounds."""
    return [replace(match, game=replace(match.game, rounds=rounds)) for match in matches]


def overflowing(matches, overflow):
    """The same matches, in which the first seat's agent does this where its conversation does not fit."""
    seat = replace(matches[0].seats[0], player=partial(LLM, overflow=overflow))
    return [replace(match, seats=(seat, *match.seats[1:])) for match in matches]


def paid(folder, matches, model, budget=None, at_once=None):
    """What is spent in recording these matches."""
    return ran(folder, matches, model, budget, at_once).budget.costs


def ran(folder, matches, model, budget=None, at_once=None):
    """The ledger after recording these matches."""

    async def run():
        recording = Recording(folder)
        ledger = Ledger({"standin": model}, Writer(recording, folder / "lock"), budget or Budget(), readable=0)
        await record(matches, ledger, at_once)
        ledger.writer.close()
        return ledger

    return asyncio.run(run())


def estimate(matches, model, folder=None, recording=None):
    (found,) = estimates(matches, {"standin": model}, recording, None if folder is None else Habits(folder))
    return found


def expected(matches, model, recording=None):
    """The middle of what it is asked."""
    return Counts(*(part.middle for part in estimate(matches, model, recording=recording).load))


def holds(found, spent):
    """Whether what was spent lies in the range."""
    load = found.load
    pairs = (
        (load.calls, spent.answers),
        (load.tokens_in, spent.tokens_in),
        (load.tokens_out, spent.tokens_out),
        (found.usd, spent.usd),
    )
    return [low <= actual <= high for (low, _, high), actual in pairs] == [True] * 4


# --- what is expected: as many calls as are made, about as many tokens


@pytest.mark.parametrize(
    ("game", "agent", "other"),
    [
        ("pd", "zs", "best_reply_to_last"),
        ("pd", "cot", None),
        ("pd", "zs_sc3", None),
        ("rps_joint", "zs", None),
        ("rps_joint", "zs_sc3", "best_reply_to_last"),
        ("rps_joint", "cot", "best_reply_to_last"),
    ],
)
def test_calls_are_those_that_are_made_and_tokens_nearly(tmp_path, agent, game, other):
    matches = pairing(agent, other or agent, game=game)
    model = as_long_as(EXPECTED[agent], game)
    found, spent = expected(matches, model), paid(tmp_path, matches, model)
    assert found.calls == spent.calls
    assert found.tokens_in == pytest.approx(spent.tokens_in, rel=0.05)
    assert found.tokens_out == pytest.approx(spent.tokens_out, rel=0.05)


@pytest.mark.parametrize(
    ("game", "agent"),
    [("pd", "zs_constrained"), ("rps_joint", "cot_constrained"), ("pd", "zs_weighed"), ("rps_joint", "zs_weighed")],
)
def test_constrained_and_weighed_answers_are_counted_as_asked_for(tmp_path, agent, game):
    matches, model = pairing(agent, "best_reply_to_last", game=game), standin(words=200)
    found, spent = expected(matches, model), paid(tmp_path, matches, model)
    assert found.calls == spent.calls == len(matches) * GAMES[game].rounds
    assert found.tokens_in == pytest.approx(spent.tokens_in, rel=0.05)


def test_weighing_costs_what_its_labels_have_of_tokens_and_no_answer():
    weighed, free = (expected(pairing(agent, "best_reply_to_last"), standin()) for agent in ("zs_weighed", "zs"))
    labels = sum(len(f"[move] {label}") for label in GAMES["pd"].options) / LETTERS[1]
    assert weighed.calls == free.calls
    assert weighed.tokens_out == weighed.calls * labels and free.tokens_out == free.calls * EXPECTED["zs"]


def test_a_weighed_answer_is_no_longer_than_its_labels():
    short, long = (
        estimate(pairing("zs_weighed", "best_reply_to_last"), standin(parameters={"max_tokens": most})).load
        for most in (50, 5000)
    )
    assert short == long and long.calls.high == long.calls.low


def test_samples_of_a_vote_are_all_counted():
    one, three = (expected(pairing(agent, "best_reply_to_last"), standin()).calls for agent in ("zs", "zs_sc3"))
    assert three == 3 * one == 3 * 2 * ROUNDS


class Waits(LLM):
    """An agent that waits for something other than its model."""

    async def act(self, view, dice):
        await asyncio.sleep(0)
        return await super().act(view, dice)


def test_an_agent_that_waits_for_others_is_named_before_anything_is_paid():
    with pytest.raises(AgonError, match="an agent waits for something other than its model"):
        play_out(seated(Waits, tit_for_tat), {"0": standin()})


def test_scripts_are_for_nothing():
    scripts = plan(
        {"name": "test", "repetitions": 1, "pairings": [{"games": ["pd"], "seats": [["best_reply_to_last"], ["srep"]]}]}
    )
    assert estimates(scripts, {}) == []
    assert estimate(pairing("zs", "best_reply_to_last") + scripts, standin()).matches == 2


def test_each_model_has_an_estimate_of_its_own():
    asked = experiment(agents=["zs", "best_reply_to_last"], models=["standin", "gpt_4o"], repetitions=1)
    found = {each.model: each for each in estimates(plan(asked), models_of(asked))}
    assert found["standin"].load.calls.middle == found["gpt_4o"].load.calls.middle == (2 + 1 + 1) * ROUNDS
    assert found["standin"].matches == found["gpt_4o"].matches == 3
    assert found["standin"].usd.middle == 0 and found["gpt_4o"].usd.middle > 0


def test_two_files_of_one_model_are_refused():
    with pytest.raises(AgonError, match=r"^models standin and slow cannot be told apart"):
        require_distinct({"standin": standin(), "slow": standin(delay=1.0)})


def test_no_answer_is_longer_than_it_may_be():
    matches = pairing("cot", "best_reply_to_last", repetitions=1)
    free, short = (expected(matches, standin(parameters={"max_tokens": most})) for most in (None, 50))
    assert (free.tokens_out, short.tokens_out) == (ROUNDS * 250, ROUNDS * 50) and short.tokens_in < free.tokens_in


def test_a_history_is_sent_again_in_every_round():
    short, long = (
        expected(of_rounds(pairing("zs", "best_reply_to_last"), rounds), standin()).tokens_in for rounds in (8, 16)
    )
    assert 2.3 < long / short < 4


def test_a_whole_paper_is_counted_match_by_match():
    models = ["gpt_4o", "mistral_large"]
    settings = ["experiment=counterfactual_live", f"experiment.models=[{','.join(models)}]", "experiment.repetitions=1"]
    asked = configuration(settings)["experiment"]
    matches = plan(asked)
    found = estimates(matches, models_of(asked))
    one_shot = (3 * 3 * 2 + 3 * 4) * 4
    voted = {k: (3 * 3 * (k + 1) + 3 * 4 * k) * 4 * 2 for k in (3, 5)}
    calls = 16 * (one_shot + voted[3]) + 24 * (one_shot + voted[5])
    assert {each.load.calls.middle for each in found} == {calls}
    assert len(found) == len(models) and sum(each.matches for each in found) == len(matches)


# --- the range


@given(
    st.floats(0, 1),
    st.integers(0, 60),
    st.sampled_from(["zs", "cot", "zs_sc3", "zs_constrained", "zs_weighed", "beliefs_matrix"]),
    st.sampled_from(["best_reply_to_last", None]),
)
@example(0.0, 0, "zs_weighed", "best_reply_to_last")
@settings(max_examples=12, deadline=None)
def test_without_recordings_whatever_is_possible_lies_in_the_range(tmp_path_factory, malformed, words, agent, other):
    matches, model = pairing(agent, other or agent, repetitions=1), standin(words, malformed=malformed)
    found = estimate(matches, model)
    assert holds(found, paid(tmp_path_factory.mktemp("e"), matches, model))
    assert found.basis.startswith("a guess where nothing like it is recorded")


@given(st.floats(0, 0.6), st.integers(0, 200), st.sampled_from(["zs", "cot", "zs_sc3"]), st.integers(2, 12))
@settings(max_examples=10, deadline=None)
def test_recordings_of_the_same_agent_and_game_narrow_the_range(tmp_path_factory, malformed, words, agent, recorded):
    folder, model = tmp_path_factory.mktemp("e"), standin(words, malformed=malformed)
    matches = pairing(agent, "best_reply_to_last", repetitions=recorded + 12)
    paid(folder / "mine", matches[:recorded], model)
    found = estimate(matches, model, folder, Recording(folder / "mine"))
    blind = estimate(matches[recorded:], model)
    narrow = (part.high - part.low for part in found.load)
    assert found.basis == f"estimated from {min(recorded, 16)} recorded seats of {agent} in pd"
    assert all(
        one < another for one, another in zip(narrow, (part.high - part.low for part in blind.load), strict=True)
    )
    assert all(part.low <= part.middle < part.high for part in found.load)  # no question can be asked less than once
    assert holds(found, paid(folder / "theirs", matches[recorded:], model))


@given(st.floats(0, 0.6), st.integers(0, 200), st.sampled_from(["stop", "cut"]), st.integers(700, 4000), st.booleans())
@settings(max_examples=15, deadline=None)
def test_the_range_holds_where_conversations_do_not_fit_into_the_context(
    tmp_path_factory, malformed, words, overflow, context, known
):
    folder = tmp_path_factory.mktemp("e")
    matches = overflowing(pairing("zs", "best_reply_to_last", repetitions=4), overflow)
    model = standin(words, malformed=malformed, context=context, parameters={"max_tokens": 250})
    if known:
        paid(folder / "mine", matches[:2], model)
    found = estimate(matches[2:], model, folder if known else None)
    assert holds(found, paid(folder / "theirs", matches[2:], model)), found


def test_it_says_by_what_it_was_calibrated(tmp_path):
    matches, model = pairing("zs", "zs", repetitions=4), standin()
    paid(tmp_path / "mine", matches[:2], model)
    assert estimate(matches, model, tmp_path).basis == "estimated from 4 recorded seats of zs in pd"
    assert estimate(matches[:2], model, tmp_path, Recording(tmp_path / "mine")).basis == "nothing is left to ask"
    other = estimate(pairing("zs", "zs", game="rps"), model, tmp_path)
    assert other.basis.startswith("a guess where nothing like it is recorded")


def test_a_match_that_two_experiments_have_recorded_counts_once(tmp_path):
    matches, model = pairing("zs", "best_reply_to_last"), standin()
    paid(tmp_path / "mine", matches, model)
    once = estimate(matches, model, tmp_path)
    paid(tmp_path / "theirs", matches, model)
    assert estimate(matches, model, tmp_path) == once


def test_one_script_tells_nothing_of_another(tmp_path):
    matches = pairing("zs", "best_reply_to_last", repetitions=2)
    paid(tmp_path / "mine", matches, standin())
    assert estimate(matches, standin(name="another"), tmp_path).basis.startswith("a guess")


def test_recordings_with_another_limit_of_answers_are_the_same_models(tmp_path):
    own = pairing("zs", "best_reply_to_last")
    seat, other = own[0].seats
    theirs = [replace(each, id=f"0{each.id}", seats=(replace(seat, model="longer"), other)) for each in own]
    paid(tmp_path / "mine", own, standin())
    models = {"standin": standin(), "longer": standin(parameters={"max_tokens": 800})}
    found = {each.model: each.basis for each in estimates(own + theirs, models, None, Habits(tmp_path))}
    assert set(found.values()) == {"estimated from 2 recorded seats of zs in pd"}


def test_without_max_tokens_there_is_no_bound():
    found = estimate(pairing("zs", "best_reply_to_last"), standin(parameters={}))
    assert math.isinf(found.load.tokens_out.high) and math.isinf(found.usd.high) and math.isfinite(found.usd.middle)
    assert math.isfinite(
        estimate(pairing("zs", "best_reply_to_last"), standin(parameters={}, context=1000)).load.tokens_in.high
    )


def test_no_more_is_sent_than_fits():
    short, long = (
        estimate(pairing("cot", "best_reply_to_last"), standin(context=each)).load.tokens_in.high
        for each in (3000, None)
    )
    assert short <= 2 * ROUNDS * 5 * 3000 < long


def test_whoever_is_asked_first_is_asked_once_however_soon_the_context_is_full():
    seats = [["tradecraft_cooperative"], ["tradecraft_competitive"]]
    one = {"games": ["tradecraft_public/minecraft_public-00"], "seats": seats, "models": ["standin_tradecraft"]}
    matches = plan({"name": "test", "repetitions": 2, "pairings": [one]})
    model = standin(name="standin_tradecraft", context=8192)
    (found,) = estimates(matches, {"standin_tradecraft": model})
    assert found.calls.low == found.load.calls.low == len(matches) and found.load.tokens_in.low > 0


# --- how often models are asked: whatever they answer, no less and no more


def hasty(view, dice):
    """Ends its part of a turn with the first call; in any other game, any legal action."""
    if not isinstance(view.legal, Calls):
        return view.legal.example(dice)
    if getattr(view.legal, "role", "") == "planner":
        return Call(tool="rethink", text="nothing")
    if view.phase == "propose":
        return Call(tool="submit_proposal", partner=sorted(view.legal.others)[0], offer={}, request={}, message="")
    return Call(tool="decide", decision="reject", message="") if view.phase == "decide" else Call(tool="craft_done")


def slow(view, dice):
    """Asks for what it knows, whenever it may; in any other game, any legal action."""
    if isinstance(view.legal, Calls) and "possible_recipes_from_hand" in view.legal.tools:
        return Call(tool="possible_recipes_from_hand")
    return Call(tool="history") if isinstance(view.legal, Calls) else view.legal.example(dice)


def anything(view, dice):
    return view.legal.example(dice)


MET = {
    "pd": ["zs", "zs_sc3", "cot", "beliefs", "zs_constrained", "zs_weighed", "zs_once", "zs_thrice"],
    "rps_joint": ["zs", "zs_sc5"],
    "prisoner3": ["zs", "beliefs"],
    "public_goods": ["zs", "beliefs"],
    "cost_sharing": ["zs", "beliefs"],
    "chameleon": ["zs", "beliefs", "beliefs_matrix"],
    "undercover": ["zs", "beliefs"],
    "tradecraft": ["tradecraft_unprimed", "zs", "tradecraft_called"],
    "rating": ["rater", "rater_constrained"],
}
"""Families of games, and agents that ask models in them."""


POLICIES = [(anything, 0.0), (anything, 0.5), (anything, 1.0)]
CALLING = [(hasty, 0.0), (slow, 0.0), (slow, 0.5)]
"""Policies that differ where a game is played by calls of tools."""


@pytest.mark.parametrize(("game", "agent"), [(game, agent) for game, agents in MET.items() for agent in agents])
def test_no_model_is_asked_less_than_at_least_or_more_than_at_most(tmp_path, game, agent):
    matches = met(game, agent)
    rate = "refusal" if "constrained" in agent or "called" in agent else "malformed"  # which a schema does not hinder
    times = matches[0].game.times_asked(0)
    for number, (policy, malformed) in enumerate(POLICIES + (CALLING if game == "tradecraft" else [])):
        model = StandIn(model="own", policy=policy, parameters={"max_tokens": 400}, **{rate: malformed})
        calls = estimate(matches, model).calls
        answers = paid(tmp_path / str(number), matches, model).answers
        assert calls.low <= answers <= calls.high < math.inf, (policy, malformed)
        assert calls.low <= calls.middle <= calls.high, (policy, malformed)
        if not malformed and times.least == times.most:
            assert calls.middle == answers, (policy, malformed)


def test_the_calls_of_every_shipped_experiment_lie_within_their_bounds():
    unbounded = []
    for name in set(names("experiment")) - WITHOUT_LOGS:
        experiment = settings_of("experiment", name) | {"repetitions": 1}
        found = estimates(plan(experiment), models_of(experiment), None, None)
        bounds = [(0, *each.calls, math.inf) for each in found]
        unbounded += [(name, each) for each in bounds if sorted(each) != list(each) or each[-2] == math.inf]
    assert unbounded == []


def test_models_that_are_alike_are_estimated_each_by_its_name():
    matches = pairing("zs", "zs", repetitions=1)
    seats = [tuple(replace(seat, model=name) for seat in matches[0].seats) for name in ("standin", "other")]
    matches = [replace(matches[0], id=str(place), seats=both) for place, both in enumerate(seats)]
    one, two = estimates(matches, {"standin": standin(), "other": standin()}, None, None)
    assert (one.model, two.model) == ("standin", "other") and one.calls == two.calls


def test_a_conversation_that_is_cut_takes_more_calls_at_most():
    def most(**settings):
        return LLM.calls(load("game", "pd"), 0, attempts=1, **settings)

    assert most().least == most().most == ROUNDS and most(overflow="cut").most >= ROUNDS + sum(range(ROUNDS))


def test_a_rater_is_asked_once_for_each_dimension_and_its_bill_says_so():
    matches = met("rating", "rater")
    found = estimate(matches, standin())
    each = len(matches) * len(matches[0].game.dimensions)
    assert found.calls == (each, each, 3 * each) and found.questions == each


def test_recordings_say_what_is_likely_and_never_what_is_at_least(tmp_path):
    matches, model = pairing("zs", "tft", repetitions=4), standin(malformed=0.6)
    paid(tmp_path / "mine", matches[:2], model)
    found = estimate(matches, model, tmp_path, Recording(tmp_path / "mine"))
    assert found.load.calls.low > found.calls.low == 2 * ROUNDS and found.calls.high == 5 * 2 * ROUNDS


# --- what is left


def test_what_is_recorded_is_left_out(tmp_path):
    matches, model = pairing("zs", "zs", repetitions=3) + pairing("cot", "best_reply_to_last"), standin()
    whole = expected(matches, model).calls
    made = paid(tmp_path, matches, model, Budget(calls=90), at_once=1).calls
    left = estimate(matches, model, recording=Recording(tmp_path))
    assert made == 90 and left.load.calls.middle == pytest.approx(whole - 90) and left.matches < len(matches)
    paid(tmp_path, matches, model)
    done = estimate(matches, model, recording=Recording(tmp_path))
    assert {each for part in (*done.load, done.usd, done.seconds) for each in part} == {0.0} and done.matches == 0


def test_what_is_recorded_in_part_is_left_out(tmp_path):
    matches, model = pairing("zs", "best_reply_to_last", repetitions=2), standin()
    paid(tmp_path / "mine", matches[:1], model)
    left = estimate(matches, model, recording=Recording(tmp_path / "mine"))
    assert (left.matches, left.load.calls.low, left.load.calls.middle) == (1, ROUNDS, ROUNDS)


def test_of_a_match_that_stopped_as_its_context_was_full_nothing_is_left(tmp_path):
    matches, model = pairing("zs", "best_reply_to_last", repetitions=1), standin(words=200, context=2000)
    assert 0 < paid(tmp_path, matches, model).calls < ROUNDS
    assert expected(matches, model, Recording(tmp_path)).calls == 0


def test_a_match_with_more_calls_than_expected_counts_as_zero(tmp_path):
    matches, model = pairing("zs", "best_reply_to_last"), standin(malformed=0.6)
    assert paid(tmp_path, matches[:1], model).calls > ROUNDS
    assert expected(matches, model, Recording(tmp_path)).calls == ROUNDS


def test_what_was_recorded_and_leads_nowhere_is_not_left_out(tmp_path):
    """An answer that has been altered since: the match goes another way, and asks for what nobody has recorded."""
    matches, model = pairing("zs", "best_reply_to_last"), standin()
    paid(tmp_path, matches[:1], model)
    file = Recording(tmp_path).path
    first, second = "[move] cooperation", "[move] defection"
    file.write_text(file.read_text().replace(f'{first}","tokens_in"', f'{second}","tokens_in"'))
    assert expected(matches[:1], model, Recording(tmp_path)).calls == ROUNDS - 1


def test_what_other_matches_recorded_does_not_count(tmp_path):
    model = standin()
    paid(tmp_path, pairing("zs", "grim"), model)
    own = pairing("zs", "best_reply_to_last")
    assert estimate(own, model, recording=Recording(tmp_path)) == estimate(own, model)


# --- money and time


def test_a_price_is_per_million_tokens():
    found = estimate(pairing("zs", "best_reply_to_last"), standin())
    sent, received = found.load.tokens_in.middle, found.load.tokens_out.middle
    assert found.usd.middle == pytest.approx((2 * sent + 8 * received) / 1e6)


@pytest.mark.parametrize("price", [{}, {"input": 1.0}, {"input": None, "output": None}])
def test_an_unknown_price_is_unknown(price):
    assert estimate(pairing("zs", "best_reply_to_last"), standin(price=price)).usd is None


def test_what_is_left_to_ask_after_a_stop_is_counted_as_the_run_counts_it(tmp_path):
    matches, model = pairing("zs", "best_reply_to_last", repetitions=5), standin(malformed=0.4)
    paid(tmp_path / "mine", matches[:3], model)
    found = estimate(matches, model, tmp_path, Recording(tmp_path / "mine"))
    heard = ran(tmp_path / "mine", matches, model).answers
    assert found.questions == heard.questions == 2 * ROUNDS < round(found.load.calls.middle)


def test_a_match_takes_as_long_as_its_questions_one_after_another():
    one = estimate(pairing("zs", "zs", repetitions=1), standin(concurrency=50)).seconds
    assert one.low >= ROUNDS * CALL[0] and one.middle >= ROUNDS * CALL[1]
    many = estimate(pairing("zs", "zs", repetitions=100), standin(concurrency=4)).seconds
    assert many.middle == pytest.approx(100 * 2 * ROUNDS / 4 * (CALL[1] + TOKEN[1] * EXPECTED["zs"]))


def test_time_is_that_of_the_tightest_limit():
    matches = pairing("zs", "best_reply_to_last", repetitions=10)
    calls = expected(matches, standin()).calls
    assert estimate(matches, standin(requests_per_minute=10)).seconds.middle == pytest.approx(calls / 10 * 60)
    rated = estimate(matches, standin(tokens_per_minute=1000))
    tokens = rated.load.tokens_in.middle + rated.load.tokens_out.middle
    assert rated.seconds.middle == pytest.approx(tokens / 1000 * 60)


def test_recorded_calls_tell_how_long_calls_take(tmp_path):
    class Timed(StandIn):
        async def answer(self, request):
            return replace(await super().answer(request), seconds=0.02)

    model = Timed(model="timed", policy=tit_for_tat)
    matches = pairing("zs", "best_reply_to_last", repetitions=2)
    paid(tmp_path / "mine", matches[:1], model)
    found = estimate(matches, model, tmp_path, Recording(tmp_path / "mine")).seconds
    assert found.middle == pytest.approx(ROUNDS * 0.02) and 0.05 < found.low < found.middle < found.high < 2
