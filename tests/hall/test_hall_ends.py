"""How a match goes on and ends for people: the question is in view, the end says who won and who played, and they play again."""

import asyncio
import json

import pytest
from driving import hall, seat_parts, settled, sit_all
from magic_games import chameleon, cost_sharing, public_goods
from test_hall_boards import Read, fixed, states

from agon.games.html import as_text
from agon.games.pages import Scene, board_of, page_of
from agon.plan import PERSON
from agon.turns import read
from agon_hall import Refusal, new_table
from agon_hall.people import consent
from agon_hall.seat import seat_context


def closing(game, state, seat, totals):
    return Read(page_of(game).closing(Scene(game.observe(state, seat), totals, over=True), game, state)).text


def test_the_end_says_who_has_most_points_and_ones_own_place():
    game = public_goods()
    *_, last = states(game, lambda view, dice: 0)
    ends = {
        (120.0, 90.0, 90.0): ("You have the most points.", "Player 1 has the most points. You are number 2 of 3."),
        (90.0, 90.0, 120.0): ("Player 3 has the most points. You are number 2 of 3.",) * 2,
        (90.0, 90.0, 90.0): ("All have the same points.",) * 2,
        (90.0, 90.0, 50.0): ("You and Player 2 have the most points, as many as each other.",)
        + ("You and Player 1 have",),
    }
    for totals, said in ends.items():
        for seat, words in enumerate(said):
            assert words in closing(game, last, seat, totals)


def test_votes_are_revealed_at_the_end_and_not_before():
    game = chameleon()
    *_, before, last = states(game, fixed)
    told = closing(game, last, 0, (0.0, 0.0, 2.0))
    assert "Votes, now that they are no secret" in told and told.count("Player 3") >= 2
    others = "".join(board_of(Scene(game.observe(before, 0))).values())
    assert "Votes, now" not in others


def test_this_rounds_proposals_are_above_the_form_and_older_ones_below():
    game = cost_sharing(rounds=3)
    shares = [(60, 25, 15), (50, 25, 25), (40, 30, 30)]

    def stubborn(view, dice):
        return shares[view.seat] if view.phase == "propose" else view.rules.players[view.seat]

    course = list(states(game, stubborn))
    asked = next(
        state for state in course if game.observe(state, 0).round == 2 and game.observe(state, 0).phase == "vote"
    )
    board = board_of(Scene(game.observe(asked, 0)))
    needed = page_of(game).needed
    assert (
        "The proposals" in board["now"]
        and "<summary>Round 1</summary>" in board["earlier"]
        and "Round 2" not in board["earlier"]
    )
    assert "now" in needed and "earlier" not in needed
    assert board_of(Scene(game.observe(course[0], 0)))["now"] == ""


async def over(place):
    sit_all(place)
    while place.status == "playing":
        await settled(place)
        for seat, question in list(place.questions.items()):
            place.answer(seat, question.number, ["cooperation"])
    await place.done()
    return place


@pytest.mark.parametrize("reveals", [True, False])
def test_the_end_names_the_others_where_that_is_allowed(tmp_path, short, reveals):
    async def plays():
        async with hall(tmp_path) as made:
            place = made.open("pd", [PERSON, "grim"])
            place.terms.reveals = reveals
            await over(place)
            return as_text(seat_parts(place, 0)["ask"])

    said = asyncio.run(plays())
    assert ("Player 2 was the script grim." in said) is reveals and "How it ended" in said


def test_people_are_no_more_than_a_person_to_each_other(tmp_path, short):
    async def plays():
        async with hall(tmp_path) as made:
            place = await over(made.open("pd", [PERSON] * 2))
            return as_text(seat_parts(place, 0)["ask"])

    said = asyncio.run(plays())
    assert "Player 2 was a person." in said and "Bo" not in said


def test_everybody_who_plays_again_comes_to_one_new_table(tmp_path, short):
    async def plays():
        async with hall(tmp_path) as made:
            place = made.open("pd", [PERSON] * 2, 60, aids=["payoffs"])
            with pytest.raises(Refusal, match="cannot be repeated"):
                made.repeat(place)
            await over(place)
            first = made.repeat(place)
            assert made.repeat(place) is first and first.id != place.id and first.match.id != place.match.id
            assert first.row[2:5] == place.row[2:5] and first.row.aids == ("payoffs",)
        async with hall(tmp_path) as made:
            assert made.repeat(made.find(place.id)).id == first.id

    asyncio.run(plays())


def test_a_table_speaks_its_language_from_the_consent_to_the_next_match(tmp_path, short):
    async def plays():
        async with hall(tmp_path) as made:
            with pytest.raises(Refusal, match="no language xx: conf/language has de"):
                made.open("pd", [PERSON, "grim"], language="xx")
            place = made.open("pd", [PERSON, "grim"], language="de")
            asked = as_text(seat_parts(place, 0)["ask"])
            assert consent("de").words in asked and consent("de").version == "1-de" != consent().version
            await over(place)
            assert "Wie es ausging" in as_text(seat_parts(place, 0)["ask"])
            known = json.loads(read(place.path).detail.iloc[0])
            assert known["consent"] == {"version": "1-de", "words": consent("de").words}
            return made.repeat(place).id

    async def comes_back(id_):
        async with hall(tmp_path) as made:
            return as_text(seat_parts(made.find(id_), 0)["ask"])

    assert consent("de").words in asyncio.run(comes_back(asyncio.run(plays())))


def test_only_the_host_repeats_a_match_with_models(tmp_path, short):
    async def plays():
        async with hall(tmp_path) as made:
            place = await over(made.open("pd", [PERSON, "zs@thinker"]))
            assert not seat_context(place, 0)["can_repeat"]
            with pytest.raises(Refusal, match="ask its host"):
                made.repeat(place)

    asyncio.run(plays())


def test_a_repeated_game_has_another_setting_that_anybody_can_win():
    drawn = {new_table.another_setting("tradecraft_public/minecraft_public-00") for _ in range(300)}
    names = {name.partition("/")[2] for name in drawn}
    assert len(drawn) > 10 and not names & {"minecraft_public-00", *new_table.hopeless("tradecraft_public")}
    assert new_table.another_setting("pd") == "pd" and new_table.another_setting("pd~stags") == "pd~stags"


def test_one_person_is_seated_among_scripts_at_once(server, person):
    ada = person()
    ada.page.goto(server.url)
    ada.page.get_by_label("Game", exact=True).select_option("rps")
    ada.button("Try it alone now").click()
    ada.agree("Ada")
    ada.page.get_by_text("Your turn, round 1").wait_for()
    row = server.newest()
    assert row.entrants[0] == PERSON and PERSON not in row.entrants[1:] and "anything" not in row.entrants


def test_agents_of_a_new_table_have_a_sentence():
    things = new_table.new_table({"game": "pd", "who/1": "grim"})
    told = [as_text(thing) for thing in things if isinstance(thing, str)]
    assert any(line.startswith("- grim: ") for line in told)
    assert any("tit_for_tat: " in line for line in told)


# --- in the browser


def test_a_button_is_the_same_when_others_bring_news(server, person):
    row = server.opened("pd", [PERSON] * 2)
    ada, bo = person(), person()
    ada.page.goto(server.link("seat", row, 0))
    ada.button("I agree, and sit down").wait_for()
    button = ada.button("I agree, and sit down").element_handle()
    bo.sit(server.link("seat", row, 1), "Bo")
    bo.page.get_by_text("Waiting for Player 1 to sit down").wait_for()
    ada.page.wait_for_timeout(500)
    assert button.evaluate("button => button.isConnected")
    ada.agree("Ada")
    ada.page.get_by_text("Your turn, round 1").wait_for()


SINCE = "() => document.querySelector('#status [data-since]')?.textContent || ''"
FOCUS = "() => document.activeElement.textContent.trim().slice(0, 40)"


def soon(someone, what, words):
    """Returns when the page says these words there."""
    for _ in range(300):
        if words in someone.page.evaluate(what):
            return
        someone.page.wait_for_timeout(100)
    raise AssertionError(f"{words!r} is not in {someone.page.evaluate(what)!r}")


def test_focus_goes_to_the_question_and_nothing_jumps(server, person):
    row = server.opened("pd", [PERSON] * 2)
    ada, bo = person(viewport={"width": 390, "height": 844}), person()
    for seat, each in enumerate((ada, bo)):
        each.sit(server.link("seat", row, seat), "Ada")
    ada.press("I have read the rules")
    soon(ada, FOCUS, "Round 1")
    below = "() => document.querySelector('#more').getBoundingClientRect().top + scrollY"
    before = ada.page.evaluate(below)
    ada.press("cooperation")
    ada.page.get_by_text("Waiting for Player 2").wait_for()
    assert abs(ada.page.evaluate(below) - before) < 40
    soon(ada, SINCE, "second")
    bo.press("cooperation")
    soon(ada, FOCUS, "Round 2")
    assert not ada.errors
