"""Every kind of game is played to its end by people at browsers, and leaves the record that scripts and models leave."""

import json

import pytest
from driving import KINDS, PHONE, checked, fits, play_on

from agon.plan import PERSON
from agon.turns import matches, read
from agon_hall import forms, new_table

TWO = ("tradecraft", "pd", "rps")
SEATS = {name: [PERSON, PERSON] if name in TWO else [PERSON, PERSON, "anything"] for name in KINDS}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_two_people_and_a_script_finish_a_game_of_three_seats(server, person, kind, monkeypatch):
    """One of them has a phone: whatever is asked and shown there fits, and every field has a name."""
    row = server.opened(kind, SEATS[kind])
    people = {0: person(**PHONE), 1: person()}
    people[0].page.goto(server.link("seat", row, 0))
    fits(people[0], "Before you play")
    people[0].agree("Person 0")
    people[1].sit(server.link("seat", row, 1), "Person 1")
    seen = set()

    def looks(each, phase):
        if each is people[0] and phase not in seen:
            seen.add(phase)
            fits(each, "Your turn")

    play_on(people, kind, looks=looks)
    turns = checked(server, row, monkeypatch)
    assert seen == set(turns[(turns.seat == 0) & turns.legal.notna()].phase)
    names = {json.loads(each)["name"] for each in turns.detail.dropna() if "consent" in each}
    assert names == {"Person 0", "Person 1"}
    fits(people[0], "The match is over")
    people[0].page.goto(server.link("watch", row))
    fits(people[0], "The match is over")
    assert not any(each.errors for each in people.values())


def test_a_person_finishes_a_game_with_a_script_that_trades(server, person, monkeypatch):
    row = server.opened("tradecraft", [PERSON, "trader_unprimed"])
    ada = person()
    ada.sit(server.link("seat", row, 0), "Ada")
    play_on({0: ada}, "tradecraft")
    checked(server, row, monkeypatch)


def test_a_table_is_made_on_the_page_and_its_match_is_collected(server, person, monkeypatch):
    """By hand: the hall, the host's page, two seats, and `python -m agon collect`."""
    host = person()
    host.page.goto(server.url)
    host.page.get_by_label("Game", exact=True).select_option("prisoner3")
    host.page.get_by_label("Setting or problem", exact=True).select_option("quince")
    host.page.get_by_label("Player 3", exact=True).select_option("anything")
    host.button("Make the table").click()
    host.page.get_by_text("It is waiting for people").wait_for()
    links = [each.get_attribute("href") for each in host.page.get_by_role("link").all()]
    seats = sorted(each for each in links if "/seat?key=" in each)
    people = {0: person(), 1: person()}
    for seat, each in people.items():
        each.sit(seats[seat], f"Guest {seat}")
    host.page.get_by_text("It is being played").wait_for()
    play_on(people, "prisoner3")
    host.page.get_by_text("It is over").wait_for()

    done = server.run("collect", "--out=transcripts/people_of_this_test.parquet")
    assert done.returncode == 0, done.stderr
    turns = read(server.project / "transcripts/people_of_this_test.parquet")
    own = turns[turns.match.isin(matches(turns)[lambda table: table.agent == PERSON].match)]
    assert {"Guest 0", "Guest 1"} <= {json.loads(each)["name"] for each in own.detail.dropna() if "consent" in each}
    assert {"human", "anything"} <= set(turns.agent)


def test_a_game_is_played_in_other_clothes(server, person):
    """A twin is chosen on the page; who plays it sees and presses its words."""
    pytest.importorskip("agon_twins")
    host, ada = person(), person()
    host.page.goto(server.url)
    host.page.get_by_label("Game", exact=True).select_option("pd")
    host.page.get_by_label("In other clothes", exact=True).select_option("amber: declared to be the same game")
    host.page.get_by_label("Player 2", exact=True).select_option("best_reply_to_last")
    host.button("Make the table").click()
    host.page.get_by_text("It is waiting for people").wait_for()
    (link,) = (each.get_attribute("href") for each in host.page.get_by_role("link", name="/seat?key=").all())
    ada.sit(link, "Ada")
    ada.page.get_by_text("Your turn, round 1").wait_for()
    assert "cooperation" not in ada.page.locator("body").aria_snapshot()
    play_on({0: ada}, "pd~amber")
    host.page.get_by_text("It is over").wait_for()


def test_twins_are_offered_where_there_are_some_and_agents_that_fit_them():
    pytest.importorskip("agon_twins")
    assert new_table.twins("pd")["amber: declared to be the same game"] == "amber" and new_table.twins("auction") == {}
    assert "hunt: another game, which looks like it" in new_table.twins("pd")
    assert "beliefs" in new_table.players("pd") and "beliefs" not in new_table.players("pd~amber")
    assert {"best_reply_to_last", "zs"} <= new_table.players("pd~amber").keys()


def test_the_form_says_what_a_model_costs():
    assert new_table.price_of("standin").endswith("it costs nothing")
    assert "3 USD for a million tokens that it reads, 15 USD" in new_table.price_of("claude_3_5_sonnet_v2")
    drawn = forms.draw(new_table.new_table, {"game": "pd", "who/1": "zs", "model/1": "claude_3_5_sonnet_v2"}, "table")
    assert new_table.price_of("claude_3_5_sonnet_v2") in drawn and "it costs nothing" not in drawn
