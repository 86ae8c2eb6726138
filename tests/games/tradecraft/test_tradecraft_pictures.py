"""TradeCraft looked at: tables of a match say what the engine did, the ways to a target are real, pictures say it in grey too."""

import json
from pathlib import Path

import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from tradecraft_games import HANDS, alchemy, proposal, tradecraft

from agon import figures
from agon.agents import seat_dice
from agon.agents.scripts import anything
from agon.figures import viewer
from agon.games.tables import games_table
from agon.games.tradecraft import Call, pictures, story, tables
from agon.games.tradecraft.pictures import crafting_graph, derivations, plan_steps
from agon.games.tradecraft.tables import CHANGES, OUTCOMES, timeline
from agon.plan import Match, Seat
from agon.play import play_now, turns_table
from agon.replay import replay_in

GAMES = {"two": tradecraft(), "three": tradecraft(3), "four": tradecraft(4, turns=4), "alchemy": alchemy()}
GAMES["first"] = tradecraft(end="first")
every_game = pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)


def clumsy(view, dice):
    """Any legal call, none, or one that is refused."""
    number = dice.random()
    return None if number < 0.1 else Call(tool="cheat") if number < 0.2 else view.legal.example(dice)


def played(game, script=clumsy, seed=7):
    match = Match("test", f"{seed:016x}", seed, game, (Seat("any", script),) * game.seats, 0, "c")
    return turns_table([(match, play_now(match))])


def states(game, seed=7):
    """The hands after every turn of the same match."""
    state, found = game.start(seat_dice(seed, -1)), []
    dice = [seat_dice(seed, seat) for seat in range(game.seats)]
    while asked := game.to_move(state):
        before = state.turn
        state, _ = game.step(state, {seat: clumsy(game.observe(state, seat), dice[seat]) for seat in asked})
        if state.turn != before or state.over:
            found.append((before, state))
    return found


# --- Tables


@every_game
def test_the_hands_of_a_story_are_those_of_the_engine(game):
    for seed in range(4):
        match = story.read(played(game, seed=seed))
        assert match.start == match.turns[0].before == game.hands
        for turn, (number, state) in zip(match.turns, states(game, seed), strict=True):
            assert turn.number == number and turn.after == state.hands
        assert set(match.turns[-1].winners) == set(states(game, seed)[-1][1].winners)


def scripted(view, dice):
    """One offer with a hostile message, accepted; then an offer that is refused, and none."""
    if view.phase == "craft":
        return Call(tool="craft_done")
    if view.phase == "decide":
        return Call(tool="decide", decision="accept", message="<b>ok</b>") if view.round == 1 else None
    return (
        Call(proposal("Player 2", {"stick": 2}, {"cobblestone": 1}, "<script>x</script>")) if view.round == 1 else None
    )


def test_offers_are_told_with_messages_and_outcomes():
    turns = played(tradecraft(turns=2), scripted)
    first, second = tables.offers(turns).to_dict("records")
    assert (first["gives"], first["wants"], first["outcome"]) == ("2 stick", "1 cobblestone", "accepted")
    assert (first["says"], first["reply"]) == ("<script>x</script>", "<b>ok</b>")
    assert second["outcome"] == "no proposal: no action" and second["proposer"] == "Player 2"
    assert tables.hands(turns)["Player 1"].iloc[-1] == "1 coal, 1 cobblestone, 2 oak_log, 3 raw_iron, 3 stick"
    shown = viewer.shown(tables.offers(turns)).data
    assert "<script" not in shown and "&lt;script&gt;" in shown


def test_refusals_are_told_with_their_reasons():
    found = tables.refusals(played(tradecraft(), clumsy))
    assert {"no such tool", "nothing done: no action"} <= set(found.why)
    assert found[found.why == "no such tool"].said.str.startswith("there is no such tool: this is the time for").all()
    assert tables.refusals(played(tradecraft(turns=1), anything)).empty


def test_an_undecided_offer_is_not_called_a_rejection():
    turns = played(tradecraft(turns=1), lambda view, dice: None if view.phase == "decide" else anything(view, dice))
    assert tables.offers(turns).outcome.tolist() == ["undecided in time, so rejected"]


def test_points_and_calls_are_summed_by_seat():
    turns = played(GAMES["three"])
    seated = tables.seating(turns)
    assert seated.points.tolist() == turns.groupby("seat").payoff.sum().tolist()
    assert seated.calls.sum() == turns.legal.notna().sum()


def test_what_was_told_is_what_each_seat_was_told():
    game = tradecraft(3, turns=2)
    rows = tables.tellings(replay_in(game, played(game, scripted)))
    assert "2 stick" in " ".join(rows.news[rows.player == "Player 3"])
    assert "script" in " ".join(rows.news[rows.player == "Player 2"])
    assert "script" not in " ".join(rows.news[rows.player == "Player 3"])


def test_a_match_of_other_rules_is_not_replayed_and_says_why():
    other = games_table([tradecraft(turns=2)])
    assert "the table of games has no settings of" in tables.replay_of(played(tradecraft(turns=1)), other)[1]


def recorded(*calls):
    """Rows as recorded games have them: (round, phase, seat, action, detail)."""
    rows = [
        {"match": "m", "round": n, "turn": turn, "phase": phase, "seat": seat, "payoff": 0.0}
        | {"action": json.dumps(action), "detail": json.dumps(detail)}
        for turn, (n, phase, seat, action, detail) in enumerate(calls, start=1)
    ]
    return pd.DataFrame(rows)


def test_recorded_games_without_hands_after_a_trade_are_followed():
    offer = {"tool": "submit_proposal", "partner": "Player 2", "offer": {"coal": 1}, "request": {"stick": "2"}}
    told = story.read(
        recorded(
            (1, "propose", 0, offer, {"ok": True, "start": {"coal": 3}}),
            (1, "decide", 1, {"tool": "decide", "decision": "accept"}, {"ok": True, "start": {"stick": 2}}),
            (2, "propose", 1, offer | {"partner": None}, {"ok": False, "fault": "bad partner"}),
        )
    )
    assert told.turns[0].after == ({"coal": 2, "stick": 2}, {"coal": 1}) == told.turns[1].before
    assert told.turns[1].deal.outcome == "" and told.turns[1].wrong(1) == 1
    assert [call.wrong for call in told.calls] == ["", "", "bad partner"]


# --- Ways to a target


def taken(node):
    """What goes in: (key, how much)."""
    return {(need.key, str(need.amount)) for need in node.needs}


def test_the_crafts_are_those_of_a_plan_with_all_its_amounts():
    nodes = derivations(tradecraft())
    assert taken(nodes["stone_shovel"]) == {("cobblestone", "1"), ("stick", "2")}
    assert taken(nodes["bucket"]) == {("iron_ingot", "3")} and ("raw_iron", "2") in taken(nodes["iron_ingot"])
    assert [need.fuel for need in nodes["iron_ingot"].needs].count(True) >= 1 and nodes["iron_ingot"].total == 3


@every_game
def test_ingredients_stand_left_of_products_and_begin_with_the_hands(game):
    nodes = derivations(game)
    for item, node in nodes.items():
        assert all(nodes[need.key].column < node.column for need in node.needs)
        assert node.needs or any(item in hand for hand in game.hands)
    assert {item for target in game.targets for item in target} <= nodes.keys()


@every_game
def test_no_plan_takes_more_than_all_hands_hold(game):
    assert plan_steps(game) is not None
    sheet = pictures.Sheet(game, derivations(game))
    assert not any("too few" in line.text for key in sheet.nodes for line in sheet.text(key))


def test_targets_that_exclude_each_other_say_what_is_too_little():
    game = tradecraft(hands=[{"raw_iron": 4}, {"coal": 1}], targets=[{"bucket": 1}, {"shears": 1}])
    sheet = pictures.Sheet(game, derivations(game))
    assert "too few: 5 needed" in [line.text for line in sheet.text("raw_iron")]


def test_without_a_plan_some_way_is_shown_whatever_the_amounts():
    game = tradecraft(hands=[{"iron_ore": 1, "oak_planks": 1}, {"coal": 1}], targets=[{"bucket": 1}, {"shield": 1}])
    nodes = derivations(game)
    assert plan_steps(game) is None and taken(nodes["bucket"]) == {("iron_ingot", "3")}
    assert taken(nodes["iron_ingot"]) == {("iron_ore", "4"), ("oak_planks", "8/3")}
    assert "too few: 4 needed" in texts(crafting_graph(game))


def test_a_target_that_cannot_be_made_says_so():
    game = tradecraft(targets=[{"stone_shovel": 1}, {"diamond_sword": 1}])
    sheet = pictures.Sheet(game, derivations(game))
    assert [line.text for line in sheet.text("diamond_sword")] == [
        "diamond_sword",
        "cannot be made",
        "target of Player 2",
    ]
    assert crafting_graph(game)


def test_a_target_that_another_holds_needs_no_way():
    game = tradecraft(hands=[*HANDS[:1], {"bow": 1}], targets=[{"bow": 1}, {"bucket": 1}])
    assert not derivations(game)["bow"].needs and crafting_graph(game)


# --- Pictures


@pytest.mark.parametrize("game", [GAMES["first"], GAMES["three"]], ids=["first", "three"])
def test_the_same_pictures_are_the_same_bytes(game, tmp_path: Path):
    turns = played(game)
    turns = turns[turns["round"] <= 4]
    for draw in (lambda: crafting_graph(game), lambda: timeline(turns)):
        for name in ("one", "other"):
            figures.save(draw(), tmp_path / name)
        for kind in ("png", "svg"):
            assert (tmp_path / f"one.{kind}").read_bytes() == (tmp_path / f"other.{kind}").read_bytes()


def test_marks_are_told_apart_without_colour():
    marks = [*OUTCOMES.values(), *CHANGES.values()]
    assert len({(mark.marker, mark.filled) for mark in marks}) == len(marks)
    greys = [sum(to_rgb(colour)) for colour in {mark.colour for mark in marks}]
    assert len(set(greys)) == len(greys)


def texts(made):
    return [text.get_text() for axes in made.axes for text in axes.texts]


def test_the_graph_names_holders_and_targets():
    said = texts(crafting_graph(tradecraft(3)))
    assert {"target of Player 1", "target of Player 2", "target of Player 3"} <= set(said)
    assert "held by Player 3, and how many; not needed here: 2 wheat" in said


def test_the_timeline_names_offers_and_winners():
    def script(view, dice):
        crafts = (
            view.phase == "craft" and view.rules.players[view.seat] == "Player 1" and view.legal.hand.get("oak_log")
        )
        if crafts:
            return Call(tool="craft_apply", inputs={"oak_log": 1}, outputs={"oak_planks": 4})
        return anything(view, dice) if view.phase == "decide" else scripted(view, dice)

    fields = {"hands": [{"oak_log": 1, "stick": 2}, {"cobblestone": 1}], "targets": [{"oak_planks": 4}, {"bucket": 1}]}
    said = texts(timeline(played(tradecraft(**fields), script)))
    assert {"P1 to P2", "2 stick", "for", "1 cobblestone", "wins"} <= set(said)
