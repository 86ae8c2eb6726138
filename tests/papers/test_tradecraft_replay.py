"""The recorded TradeCraft games, replayed: by themselves, and by agon's own rules."""

import json
from collections import Counter

import pytest

from agon import ROOT
from agon.games.tradecraft import TradeCraft
from agon.games.tradecraft.amounts import covers, minus
from agon.games.tradecraft.game import find_craft
from agon.games.tradecraft.rulesets import ruleset
from agon.games.tradecraft.story import items, stories
from agon_papers.ingest import ingest
from agon_papers.tradecraft.facts import read_facts
from agon_papers.tradecraft.replay import moves, replay

FACTS, RULES = ROOT / "data/published/tradecraft", ROOT / "data/rulesets/minecraft.json"

SURPLUS = {
    "{'iron_ingot': 2, 'iron_nugget': 2} -> {'chain': 1}": 6,
    "{'cherry_planks': '1/6', 'iron_ingot': 1} -> {'iron_nugget': 9}": 2,
    "{'iron_ingot': 1, 'iron_nugget': 2, 'raw_copper': 1} -> {'chain': 1}": 2,
    "{'iron_nugget': 9, 'raw_iron': 1} -> {'iron_ingot': 1}": 1,
}
"""Crafts that the recorded games allowed although they use up more than the recipe does, and how often they were checked or applied."""


@pytest.fixture(scope="module")
def facts():
    if not FACTS.is_dir():
        pytest.skip("the published facts are not there: `dvc pull data.dvc` or `make repro`")
    return read_facts(FACTS, ingest("tradecraft", FACTS, []).turns)


@pytest.fixture(scope="module")
def found(facts):
    return replay(facts)


@pytest.fixture(scope="module")
def minecraft():
    if not RULES.is_file():
        pytest.skip("the rulesets are not there: `dvc pull data.dvc` or `make repro`")
    return ruleset("minecraft")


def test_every_logged_hand_is_reproduced(found):
    assert found.hands.groupby("logged").equal.agg(["sum", "size"]).to_dict("index") == {
        "all hands": {"sum": 286, "size": 286},
        "craft_apply": {"sum": 453, "size": 453},
        "craft_done": {"sum": 926, "size": 926},
    }


def test_every_winner_is_where_the_log_is_whole(found):
    whole, cut = found.ends[~found.ends.cut], found.ends[found.ends.cut]
    assert whole.match.nunique() == 73 and (whole.holds == whole.won).all()
    assert cut.won.sum() == 2 and not cut.holds.any()


def test_three_winners_got_their_target_by_a_refused_craft(found):
    assert set(found.ends[found.ends.gift & found.ends.won].match) == {"bQ2uSrHk", "Tubb90Gs", "crCoiSuU"}


def test_every_refused_proposal_has_a_cause(found):
    proposals = found.refused[found.refused.tool == "submit_proposal"]
    assert proposals.cause.value_counts().to_dict() == {
        "request beyond the hand": 130,
        "bad partner": 32,
        "offer beyond the hand": 7,
        "offer and request beyond the hand": 4,
    }


def test_hands_are_added_exactly():
    assert minus(items({"coal": "7/8", "stick": 1}), items({"coal": "1/8", "stick": 1})) == items({"coal": "3/4"})
    assert covers(items({"coal": "7/8"}), items({"coal": "3/4"})) and not covers({}, items({"coal": 1}))


def crafts(facts):
    """Every recorded craft with arguments, and the hand that it was asked for with."""
    for story in stories(facts.turns):
        for call, before, _ in moves(story):
            if call.tool in ("craft_check", "craft_apply") and "inputs" in call.call:
                yield call, before[call.seat]


def test_strict_checks_agree_with_the_log_but_for_surplus_inputs(facts, minecraft):
    agreed, surplus, causes = 0, Counter(), Counter()
    for call, hand in crafts(facts):
        fault = getattr(find_craft(minecraft, {item: n for item, n in hand.items() if n > 0}, call.call), "fault", "")
        agreed += call.ok == (not fault)
        if call.ok and fault:
            surplus[f"{call.call['inputs']} -> {call.call['outputs']}"] += 1
        elif call.fault == "not in the hand" and fault != call.fault:
            causes[fault] += 1
        assert call.ok or fault, "the engine allows what the log refused"
    assert surplus == SURPLUS and agreed == 2105 + 453 - sum(SURPLUS.values())
    assert causes == {"wrong amounts": 1, "no such recipe": 1}


def strict(story):
    """Whether no craft of a game was applied that the engine refuses."""
    applied = [call for call in story.calls if call.tool == "craft_apply" and "hand" in call.detail]
    return all(call.ok and f"{call.call['inputs']} -> {call.call['outputs']}" not in SURPLUS for call in applied)


def driven(story, minecraft):
    """agon's engine led through a game by its recorded calls; counts the logged hands that are equal."""
    first = {call.seat: call.detail for call in reversed([*story.calls])}
    hands, targets = ([first[seat][name] for seat in (0, 1)] for name in ("start", "target"))
    game = TradeCraft("tradecraft", "recorded", minecraft, hands, targets, turns=30, attempts=99, calls=999)
    state, equal, seen, queues = game.start(None), 0, [], {0: [], 1: []}
    for call in story.calls:
        queues[call.seat].append(call)
        while (moving := game.to_move(state)) and all(queues[seat] for seat in moving):
            now = {seat: queues[seat].pop(0) for seat in moving}
            state, paid = game.step(state, {seat: told(call) for seat, call in now.items()})
            notes = {(seat, what): value for seat, what, value in state.notes}
            logged = [(notes.get((seat, "hand")), call.detail.get("hand")) for seat, call in now.items()]
            seen = next((call.detail["hands"] for call in now.values() if "hands" in call.detail), seen)
            if seen and (state.over or state.phase == "propose" or "decide" in [call.tool for call in now.values()]):
                logged += zip(state.hands, seen, strict=True)
                seen = []
            assert all(items(made) == items(hand) for made, hand in logged if hand is not None)
            equal += sum(hand is not None for _, hand in logged)
    return equal, state, paid


def told(call):
    """What the player's call comes to: nothing where the harness acted for it, what was made of its decision."""
    if call.default:
        return None
    if call.tool == "decide":
        return {**call.call, "decision": call.effect}
    return {"tool": "item_info", "name": "stick"} if call.call == {"tool": "craft_apply"} else call.call


def test_the_engine_replays_logged_calls_to_the_same_hands_and_winners(facts, minecraft):
    won = facts.players.set_index(["match", "seat"])
    games = equal = whole = 0
    for story in filter(strict, stories(facts.turns)):
        count, state, paid = driven(story, minecraft)
        games, equal = games + 1, equal + count
        if not won.cut[story.match, 0]:
            whole += 1
            assert state.over and list(paid) == [float(won.won[story.match, seat]) for seat in (0, 1)]
    assert (games, whole, equal) == (79, 64, 1426)


def test_the_smoke_sample_is_part_of_the_published_games(facts):
    sample = ROOT / "tests/smoke/tradecraft/games.csv"
    lines = set((FACTS / "games.csv").read_text().splitlines())
    assert set(sample.read_text().splitlines()) <= lines
    assert json.loads(facts.turns.action.iloc[0])["tool"] == "item_info"
