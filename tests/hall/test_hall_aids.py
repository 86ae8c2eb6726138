"""Aids: what people are shown beyond models has a name, is there or not for people and models alike, and is recorded."""

import asyncio
import json
import shutil
import sqlite3
from dataclasses import replace
from functools import partial

import pytest
from collecting import over
from driving import hall, seat_parts, settled, sit_all
from games.test_conformance import ALL
from harness import PD, RPS, Told, at_the_table, experiment, in_turn, seated
from test_hall_boards import everybody, states
from test_hall_forms import Sheet, workshop
from tradecraft_games import Table

from agon import ROOT, AgonError
from agon.agents import seat_dice
from agon.agents.llm import LLM
from agon.conf import settings_of
from agon.games.html import as_text, prose
from agon.games.matrix.scripts import grim
from agon.games.pages import Scene, aids_as_text, board_of, page_of
from agon.plan import PERSON, plan
from agon.turns import read
from agon_hall.store import Store

every_game = over(ALL)


@every_game
def test_what_is_not_given_is_not_shown_and_all_else_is_as_it_was(name):
    game = ALL[name]
    aids = page_of(game).aids
    for state in list(states(game))[:3]:
        for view in everybody(game, state).values():
            whole, bare = board_of(Scene(view)), board_of(Scene(view, aids=()))
            assert bare == {part: "" if part in aids else html for part, html in whole.items()}
            for aid in aids:
                assert board_of(Scene(view, aids=[aid])).get(aid) == whole.get(aid)


def test_an_aid_is_the_same_to_people_and_to_models():
    view = PD.observe(PD.start(None), 0)
    told = aids_as_text(view, ["payoffs"])
    assert told == as_text(board_of(Scene(view))["payoffs"])
    assert "you play cooperation | you 4, the other 4 | you 1, the other 6" in told
    view = Table().view(0)
    assert "get 1 cobblestone (Player 2 has 4)" in aids_as_text(view, ["tree"]) and not aids_as_text(view, ["look up"])


def test_boxes_to_look_up_in_and_amounts_that_are_filled_in_are_aids_too():
    view = Table().view(0)
    assert not page_of(view.rules).ask(Scene(view, aids=()), {}) and page_of(view.rules).ask(Scene(view), {})
    _, sheet = workshop()
    recipe = next(each for each in sheet.labelled("What").options.values() if str(each).startswith("iron_ingot"))
    bare = Sheet(sheet.view, aids=())
    for each in (sheet, bare):
        each.enter(What=recipe)
    assert any(box.value for box in sheet.boxes().values()) and not any(box.value for box in bare.boxes().values())


# --- models


def asked(*said, rounds=3, **settings):
    """What a model is told, question by question."""
    model = Told(in_turn(*(said or ["[move] cooperation"])))
    at_the_table(seated(partial(LLM, **settings), grim, game=replace(PD, rounds=rounds)), model)
    return [request.messages for request in model.asked]


def test_a_model_that_is_given_no_aid_is_asked_as_ever():
    assert asked() == asked(aids=[]) and "To help you" not in str(asked())


def test_a_model_is_told_an_aid_when_it_is_new_and_only_once():
    table = "you play cooperation | you 4, the other 4"
    said = [message.text for message in asked(aids=["payoffs"])[-1] if message.role == "user"]
    assert [table in each for each in said] == [True, False, False]
    assert (
        said[0].endswith("you 2, the other 2")
        and said[1:] == [message.text for message in asked()[-1] if message.role == "user"][1:]
    )
    counted = [message.text for message in asked(aids=["rounds"])[-1] if message.role == "user"]
    assert ["of 3" in each for each in counted] == [True] * 3

    questions = asked("I do not know.", "[move] cooperation", rounds=1, aids=["payoffs"])[-1]
    assert sum("# To help you" in message.text for message in questions) == 1


def test_an_aid_that_a_game_does_not_have_is_named_at_the_plan():
    with pytest.raises(AgonError, match="pd has no aid 'tree': there are rounds, payoffs, chart"):
        LLM.texts(PD, aids=["tree"])
    with pytest.raises(AgonError, match="has no aid 'payoffs': it has none"):
        LLM.texts(ALL["chameleon"], aids=["payoffs"])
    assert LLM.texts(RPS, aids=["payoffs"]) is LLM.texts(RPS)


def planned(folder, agent):
    """The id of a match between stand-ins, with the project's settings and another agent in them."""
    return plan(experiment(agents=[f"{agent}@standin"], repetitions=1), folder / "conf")[0].id


def test_a_setting_gives_an_agent_aids_and_changes_no_other_match(tmp_path):
    shutil.copytree(ROOT / "conf", tmp_path / "conf")
    for name, aid in (("helped", "payoffs"), ("misled", "tree")):
        (tmp_path / f"conf/agent/{name}.yaml").write_text(f"defaults: [zs, _self_]\naids: [{aid}]\n")
    assert planned(tmp_path, "zs") == plan(experiment(agents=["zs@standin"], repetitions=1))[0].id
    assert planned(tmp_path, "helped") != planned(tmp_path, "zs") and "aids" not in settings_of("agent", "zs")
    with pytest.raises(AgonError, match="has no aid 'tree'"):
        planned(tmp_path, "misled")


# --- tables


def shown(place, seat):
    return "\n".join(seat_parts(place, seat).values())


def test_a_table_shows_the_aids_of_its_settings_and_records_which(short, tmp_path):
    async def match():
        async with hall(tmp_path) as made:
            with pytest.raises(AgonError, match="pd has no aid 'tree'"):
                made.open("pd", [PERSON, PERSON], aids=["tree"])
            some, every = made.open("pd", [PERSON, "uniform"], aids=["payoffs"]), made.open("pd", [PERSON, "uniform"])
            for place in (some, every):
                sit_all(place)
                await settled(place)
            assert "the other plays" in shown(some, 0) and "Round 1 of 3" not in shown(some, 0)
            assert "the other plays" in shown(every, 0) and "Round 1 of 3" in shown(every, 0)
        async with hall(tmp_path) as again:
            place = again.tables[some.id]
            assert place.row.aids == ("payoffs",) and again.tables[every.id].row.aids is None
            while place.status == "playing":
                await settled(place)
                if 0 in place.questions:
                    place.answer(0, place.questions[0].number, ["cooperation"])
            first = read(place.path).query("seat == 0").detail.iloc[0]
            assert json.loads(first)["aids"] == ["payoffs"]

    asyncio.run(match())


def test_a_folder_of_before_there_were_aids_is_read(tmp_path):
    Store(tmp_path).close()
    with sqlite3.connect(tmp_path / "tables.sqlite") as db:
        db.execute("alter table tables drop column aids")
        db.execute(
            "insert into tables (id, match, game, entrants, budget, made) values ('t', 'm', 'pd', '[\"human\"]', '{}', 0)"
        )
    (row,) = Store(tmp_path).tables()
    assert row.id == "t" and row.aids is None and row.entrants == (PERSON,)


# --- the two directions


def test_prompts_become_paragraphs_and_lists_and_nothing_else():
    html = prose("A <b>.\n# Rules\n- one\n- two\n1. first\n2. second\n\nEnd. [a](b)")
    assert html == (
        "<p>A &lt;b&gt;.</p><h3>Rules</h3><ul><li>one</li><li>two</li></ul><ol><li>first</li><li>second</li></ol>"
        "<p>End. [a](b)</p>"
    )


@every_game
def test_no_mark_up_is_left_in_what_models_are_told(name):
    game = ALL[name]
    state = game.start(seat_dice(0, -1))
    for view in everybody(game, state).values():
        told = "".join(map(as_text, board_of(Scene(view)).values()))
        assert told.strip() and "<" not in told.replace("<b>", "") and "&" not in told
