"""TradeCraft looked at: tables of a match say what the engine did, plans reach targets, the timeline is read in grey too."""

import json
from pathlib import Path

import pandas as pd
import pytest
from claims import executed, functions_of
from matplotlib.colors import to_rgb
from tradecraft_games import HANDS, alchemy, proposal, tradecraft

from agon import figures
from agon.agents import seat_dice
from agon.agents.scripts import anything
from agon.figures import viewer
from agon.games.tables import games_table
from agon.games.tradecraft import Call, story
from agon.plan import Match, Seat
from agon.play import play_now, turns_table
from agon.replay import replay_in
from agon.turns import write, write_games
from agon_papers.tradecraft.timeline import CHANGES, OUTCOMES, timeline

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


@pytest.fixture
def page(tmp_path):
    """A function from a game and a script to the names of the notebook after its run on such a match."""

    def run(game, script=clumsy):
        turns, path = played(game, script), tmp_path / "turns.parquet"
        write(turns, path)
        write_games(games_table([game]), path)
        return executed("tradecraft_viewer", turns_path=str(path), match=str(turns.match.iloc[0]))

    return run


def crafts(game):
    """The shortest plan for each target of a game."""
    plan = functions_of("tradecraft_viewer")["crafts"]
    return pd.concat(plan(game, *pair) for pair in zip(game.players, game.targets, strict=True))


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


def test_offers_are_told_with_messages_and_outcomes(page):
    names = page(tradecraft(turns=2), scripted)
    first, second = names["offers"].to_dict("records")
    assert (first["gives"], first["wants"], first["outcome"]) == ("2 stick", "1 cobblestone", "accepted")
    assert (first["says"], first["reply"]) == ("<script>x</script>", "<b>ok</b>")
    assert second["outcome"] == "no proposal: no action" and second["proposer"] == "Player 2"
    assert names["hands"]["Player 1"].iloc[-1] == "1 coal, 1 cobblestone, 2 oak_log, 3 raw_iron, 3 stick"
    shown = viewer.shown(names["offers"]).data
    assert "<script" not in shown and "&lt;script&gt;" in shown


def test_refusals_are_told_with_their_reasons(page):
    found = page(tradecraft())["refused"]
    assert {"no such tool", "nothing done: no action"} <= set(found.why)
    assert found[found.why == "no such tool"].said.str.startswith("there is no such tool: this is the time for").all()
    assert page(tradecraft(turns=1), anything)["refused"].empty


def test_an_undecided_offer_is_not_called_a_rejection(page):
    names = page(tradecraft(turns=1), lambda view, dice: None if view.phase == "decide" else anything(view, dice))
    assert names["offers"].outcome.tolist() == ["undecided in time, so rejected"]


def test_points_and_calls_are_summed_by_seat(page):
    names = page(GAMES["three"])
    assert names["seats"].points.tolist() == names["turns"].groupby("seat").payoff.sum().tolist()
    assert names["seats"].calls.sum() == names["turns"].legal.notna().sum()


def test_what_was_told_is_what_each_seat_was_told():
    game = tradecraft(3, turns=2)
    news_of = functions_of("tradecraft_viewer", players=game.players)["news_of"]
    rows = pd.DataFrame(news_of(replay_in(game, played(game, scripted))))
    assert "2 stick" in " ".join(rows.news[rows.player == "Player 3"])
    assert "script" in " ".join(rows.news[rows.player == "Player 2"])
    assert "script" not in " ".join(rows.news[rows.player == "Player 3"])


def test_a_match_of_other_rules_is_not_replayed_and_says_why(page):
    names = page(tradecraft(turns=1))
    assert names["replay"] is None and "the table of games has no settings of" in names["why"]


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


def test_the_crafts_are_those_of_a_plan_with_all_its_amounts():
    table = crafts(tradecraft())
    assert tuple(table.iloc[0]) == (
        "Player 1", "1 stone_shovel", 1, "1 stone_shovel", "1 cobblestone, 2 stick"
    )  # fmt: skip
    assert dict(table.groupby("player").craft.max()) == {"Player 1": 1, "Player 2": 2}
    assert table.makes.iloc[-1] == "1 bucket" and table.takes.iloc[-1] == "3 iron_ingot"


@every_game
def test_the_crafts_end_with_each_target(game):
    last = crafts(game).groupby("player", sort=False).last()
    made = [dict(reversed(part.split(" ")) for part in line.split(", ")) for line in last.makes]
    assert all(
        int(items[item]) >= number
        for items, target in zip(made, game.targets, strict=True)
        for item, number in target.items()
    )


def test_a_target_that_cannot_be_made_or_is_held_says_so():
    game = tradecraft(hands=[*HANDS[:1], {"bow": 1}], targets=[{"bow": 1}, {"diamond_sword": 1}])
    assert crafts(game).makes.tolist() == ["no craft is needed", "not craftable"]


# --- the timeline


@pytest.mark.parametrize("game", [GAMES["first"], GAMES["three"]], ids=["first", "three"])
def test_the_same_pictures_are_the_same_bytes(game, tmp_path: Path):
    turns = played(game)
    turns = turns[turns["round"] <= 4]
    for name in ("one", "other"):
        figures.save(timeline(turns, "A match"), tmp_path / name)
    for kind in ("png", "svg"):
        assert (tmp_path / f"one.{kind}").read_bytes() == (tmp_path / f"other.{kind}").read_bytes()


def test_marks_are_told_apart_without_colour():
    marks = [*OUTCOMES.values(), *CHANGES.values()]
    assert len({(mark.marker, mark.filled) for mark in marks}) == len(marks)
    greys = [sum(to_rgb(colour)) for colour in {mark.colour for mark in marks}]
    assert len(set(greys)) == len(greys)


def texts(made):
    return [text.get_text() for axes in made.axes for text in axes.texts]


def test_the_timeline_names_offers_and_winners():
    def script(view, dice):
        crafts = (
            view.phase == "craft" and view.rules.players[view.seat] == "Player 1" and view.legal.hand.get("oak_log")
        )
        if crafts:
            return Call(tool="craft_apply", inputs={"oak_log": 1}, outputs={"oak_planks": 4})
        return anything(view, dice) if view.phase == "decide" else scripted(view, dice)

    fields = {"hands": [{"oak_log": 1, "stick": 2}, {"cobblestone": 1}], "targets": [{"oak_planks": 4}, {"bucket": 1}]}
    made = timeline(played(tradecraft(**fields), script), "A match")
    assert {"P1 to P2", "2 stick", "for", "1 cobblestone", "wins"} <= set(texts(made))
    title = " ".join(made.get_suptitle().split())
    assert title == "A match: Player 1 has its target after turn 1 (proposals: 1, trades: 1)"
