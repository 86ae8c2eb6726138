"""What is fair to people: forms take what is played as it is, rules say what models are told, and no question is only for research."""

import asyncio
import re
from dataclasses import replace

import msgspec
import pytest
import yaml
from driving import hall, settled
from harness import PD
from magic_games import chameleon, public_goods, undercover
from test_hall_forms import Sheet, at
from tradecraft_games import Table, tradecraft

from agon import ROOT, AgonError, replay
from agon.agents import seat_dice
from agon.agents.languages import say_in
from agon.conf import forget_files, load
from agon.games.html import as_text
from agon.games.pages import Scene, page_of
from agon.plan import PERSON
from agon.turns import read, read_games
from agon_hall import new_table
from agon_hall.protocol import cells, require_interviews_named, study
from agon_hall.rehearsal import checks
from agon_hall.rules import rules_text


def asked(game, phase, *, seat=None):
    """What the first seat sees that is asked in a phase, or `seat`."""
    state, dice = game.start(seat_dice(0, -1)), seat_dice(1, 0)
    while (view := game.observe(state, (movers := game.to_move(state))[0])).phase != phase or seat not in (
        None,
        *movers,
    ):
        state, _ = game.step(state, {mover: game.legal_actions(state, mover).example(dice) for mover in movers})
    return view if seat is None else game.observe(state, seat)


def rules_for_people(game, seat=0, aids=None):
    state = game.start(seat_dice(0, -1))
    words = page_of(game).rewording(game, aids)
    return as_text(rules_text(game.observe(state, seat), game, state, words=words))


# --- public good


def test_the_pool_takes_what_is_left_and_nothing_else():
    view = at(public_goods(), {0: 60, 1: 0, 2: 0})
    sheet = Sheet(view).enter(Your="41").press("Send")
    assert not sheet.sent and "from 0 to 40" in sheet.said
    assert sheet.enter(Your="40").press("Send").sent == [[40]]


def test_with_nothing_left_the_only_number_is_a_button():
    view = at(public_goods(), {0: 100, 1: 0, 2: 0})
    sheet = Sheet(view)
    assert [each.label for each in sheet.widgets] == ["Go on with 0, the only number that is left"]
    assert sheet.press("Go on").sent == [[0]]


def test_without_an_enforced_budget_the_form_takes_what_the_rules_take():
    view = at(public_goods(semantics="published"), {0: 100, 1: 0, 2: 0})
    assert Sheet(view).enter(Your="100").press("Send").sent == [[100]]


# --- clues


@pytest.mark.parametrize("game", [chameleon(spy=2), undercover(spy=2)], ids=["chameleon", "undercover"])
def test_a_clue_with_the_word_is_sent_only_on_purpose(game):
    view = asked(game, "clue", seat=0)
    word = next(event.value for event in view.past if event.phase == "word")
    sheet = Sheet(view).enter(Your=f"It is a {word.upper()}!")
    assert "has your secret word in it" in sheet.drawn
    assert not sheet.press("Send").sent and "Send it all the same" in sheet.said
    assert sheet.press("Send it all").sent == [[f"It is a {word.upper()}!"]]


def test_a_clue_that_was_given_is_warned_of_and_another_is_not():
    view = asked(chameleon(spy=2), "clue", seat=1)
    given = next(event.value for event in view.past if event.phase == "clue")
    sheet = Sheet(view).enter(Your=given)
    assert "given before" in sheet.drawn and not sheet.press("Send").sent
    assert sheet.enter(Your="quite another thing").press("Send").sent == [["quite another thing"]]


def test_who_does_not_know_the_word_is_not_told_it_by_a_warning():
    view = asked(chameleon(spy=0), "clue", seat=0)
    assert Sheet(view).enter(Your=chameleon(spy=0).word).press("Send").sent


# --- interviews


def test_a_free_table_asks_no_interviews_and_is_replayed(tmp_path):
    async def plays(asides):
        async with hall(tmp_path / str(asides)) as made:
            place = made.open("chameleon/01-chameleon", [PERSON, "anything", "anything"], everybody=True, asides=asides)
            place.sit(0, "Ada")
            phases = []
            while place.status == "playing":
                await settled(place)
                for seat, question in list(place.questions.items()):
                    phases.append(question.view.phase)
                    place.answer(seat, question.number, [question.view.legal.example(seat_dice(0, seat))])
            await place.done()
            assert place.status == "over"
            replay.replay_match(read(place.path), read_games(place.path))
            return phases

    phases = {asides: asyncio.run(plays(asides)) for asides in (False, True)}
    assert set(phases[False]) <= {"clue", "vote", "guess"} and {"identify", "evaluate"} < set(phases[True])


def test_rules_speak_of_interviews_only_where_they_are_held():
    for game in (chameleon(), undercover()):
        assert "Sometimes you are asked" in rules_for_people(game)
        assert "Sometimes you are asked" not in rules_for_people(game.without_asides)
        assert not game.without_asides.asides and game.without_asides.without_asides is game.without_asides


def test_the_form_for_a_table_leaves_interviews_off():
    new_table.games_on_offer.cache_clear()
    things = new_table.new_table({"game": "chameleon"})
    made = next(thing for thing in things if getattr(thing, "label", "") == "Make the table").do()
    assert made[0]["asides"] is False
    assert any("interviews" in getattr(thing, "label", "") for thing in things)


def test_a_study_names_its_interviews(tmp_path):
    file = yaml.safe_load((ROOT / "conf/study/counterfactual_people.yaml").read_text())
    (tmp_path / "study").mkdir(parents=True)
    for part in ("game", "agent", "model", "language", "sampling", "twin"):
        (tmp_path / part).symlink_to(ROOT / "conf" / part)

    def named(game, **more):
        file["cells"] = {"only": {"games": [game], "seats": ["human", *["anything"] * 2], "quota": 2} | more}
        file["quiz"] = {}
        (tmp_path / "study/counterfactual_people.yaml").write_text(yaml.safe_dump(file))
        forget_files()
        design = study("counterfactual_people", tmp_path)
        require_interviews_named(design, cells(design, tmp_path)[0], tmp_path)

    named("chameleon/01-chameleon", interviews=True)
    named("prisoner3/01")
    with pytest.raises(AgonError, match="write `interviews: true` in the cell, or take a game"):
        named("chameleon/01-chameleon")
    with pytest.raises(AgonError, match=r"write `interviews: false` in the cell$"):
        named("prisoner3/01", interviews=True)


# --- rules


def test_people_are_told_the_aim_and_what_is_known_of_the_length():
    sentence = "You are not told how many rounds there are."
    assert sentence in rules_for_people(PD, aids=()) and "Score as many points" in rules_for_people(PD, aids=())
    assert sentence not in rules_for_people(PD) and "Score as many points" in rules_for_people(PD)
    assert "Have a higher total than the others" in rules_for_people(public_goods())


@pytest.mark.parametrize("language", ["en", "de"])
def test_every_other_wording_is_of_a_sentence_that_models_read(language):
    """Else a prompt has changed, and people read what models no longer read."""
    for game in (PD, chameleon().without_asides, undercover().without_asides, tradecraft()):
        state = game.start(seat_dice(0, -1))
        told = rules_text(game.observe(state, 0), game, state, say=say_in(language))
        for sentence, words in page_of(game).rewording(game, None).items():
            found = rules_text(game.observe(state, 0), game, state, words={sentence: words}, say=say_in(language))
            assert found != told, sentence
            assert language == "en" or not words or words not in found, f"{words} is still English"


def test_people_read_of_no_tools():
    told = rules_for_people(tradecraft())
    assert not re.search(r"tool|item_info|\{\}", told) and "“Look up an item” says how many smelts" in told
    assert "Look up" not in rules_for_people(tradecraft(), aids=())


# --- TradeCraft


def test_a_plan_asks_others_for_whole_numbers():
    for name in ("tradecraft_public/minecraft_public-01", "tradecraft_public/minecraft_public-07"):
        game = load("game", name)
        for seat in range(game.seats):
            view = game.observe(game.start(seat_dice(0, -1)), seat)
            way = as_text(page_of(game).board(Scene(view))["tree"])
            assert all(amount.isdigit() for amount in re.findall(r"get (\S+) ", way)), way


def test_a_plan_counts_no_broken_pieces_of_others():
    table = Table(hands=[{"stick": 1}, {"oak_log": 1}], targets=[{"oak_planks": 2}, {"stick": 9}])
    past = table.view(0).past
    broken = [
        event._replace(value={**event.value, "Player 2": {"oak_log": "1/2"}}) if event.phase == "hands" else event
        for event in past
    ]
    view = table.view(0)
    assert "get 1 oak log" in as_text(page_of(table.game).board(Scene(view))["tree"])
    assert "cannot be made" in as_text(page_of(table.game).board(Scene(view._replace(past=tuple(broken))))["tree"])


def test_seats_that_cannot_win_are_marked_and_not_drawn():
    found = new_table.hopeless("tradecraft_public")
    assert found == {"minecraft_public-08": "Player 2", "minecraft_public-08-rotated": "Player 1"}
    things = new_table.new_table({"game": "tradecraft_public"})
    setting = next(thing for thing in things if getattr(thing, "key", "") == "setting")
    assert "minecraft_public-08, which Player 2 cannot win" in setting.options
    make = next(thing for thing in things if getattr(thing, "label", "") == "Make the table").do
    assert not {make()[0]["game"].partition("/")[2] for _ in range(300)} & set(found)


def test_a_rehearsal_names_a_person_who_cannot_win():
    design = study("tradecraft_people")
    for games, seats, people in (
        (["tradecraft_public/minecraft_public-08"], ["human", "human"], ["Player 2"]),
        (["tradecraft_public/minecraft_public-08"], ["human", "anything"], []),
        (["tradecraft_public/minecraft_public-00"], ["human", "human"], []),
    ):
        group = msgspec.structs.replace(next(iter(design.cells.values())), games=games, seats=seats)
        _, notes = checks(msgspec.structs.replace(design, cells={"only": group}))
        said = [f"only: {who} cannot win, whatever all players do" for who in people]
        assert [note for note in notes if "cannot win" in note] == said


def test_a_game_in_which_anybody_can_win_marks_nobody():
    assert page_of(tradecraft()).hopeless(tradecraft()) == ()
    impossible = replace(tradecraft(), targets=({"bow": 3}, {"stick": 1}))
    assert 0 in page_of(impossible).hopeless(impossible)
