"""A game that agon does not know has its rules, a board and a form, and is watched, with nothing written for it."""

import pytest
from driving import AUCTION, STRANGER, conf
from harness import play_out
from test_hall_boards import Read, everybody, text_of
from test_hall_forms import Sheet
from test_hall_watching import page, played

from agon import AgonError
from agon.agents import seat_dice
from agon.conf import load
from agon.games.base import PUBLIC
from agon.games.tables import games_table
from agon_hall.rules import question_text, require_rules, rules_text


@pytest.fixture(scope="module")
def auction(tmp_path_factory):
    return load("game", "auction", conf(tmp_path_factory.mktemp("stranger")))


def state_after(game, *bids):
    state = game.start(seat_dice(0, -1))
    for each in bids:
        state, _ = game.step(state, dict(enumerate(each)))
    return state


def test_its_rules_are_those_of_its_prompt(auction):
    files = sorted(path.name for path in STRANGER.glob("*.*"))
    assert files == ["__init__.py", "game.py", "prompt.md", "scripts.py"]  # it has no page of its own
    start = state_after(auction)
    for view in everybody(auction, start).values():
        told = Read(rules_text(view, auction, start)).text
        assert "There are 2 auctions" in told and "The highest bid wins the good" in told and "[move]" not in told
        assert "Earn as many points" in told  # whoever watches reads what players try
    assert question_text(auction.observe(start, 1)) == "<h2>Auction 1 of 2: what do you bid?</h2>"


BROKEN = {
    "{% macro system(view, style) %}": "prompt .*: Unexpected end of template",
    "{% macro system(view, style) %}# Rules\n{{ 1 / 0 }}{% endmacro %}": "prompt .*: division by zero",
}


def test_a_prompt_that_people_cannot_read_is_refused_at_the_start(auction, monkeypatch, tmp_path, subtests):
    require_rules(auction)
    turn = "{% macro turn(view, told) %}?{% endmacro %}{% macro again(fault, view) %}?{% endmacro %}"
    for number, (text, why) in enumerate(BROKEN.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "prompt.md").write_text(f"{text}{turn}")
        monkeypatch.setattr("agon.agents.prompts.families", lambda game, folder=folder: (folder,))
        with subtests.test(why), pytest.raises(AgonError, match=why):
            require_rules(auction)
    (folder / "prompt.md").unlink()
    require_rules(auction)  # without a prompt the facts of the rules are shown


def test_its_board_shows_what_the_view_has(auction):
    state = state_after(auction, (3, 7, None))
    values = state.values
    for seat, view in everybody(auction, state).items():
        said = text_of(view, (0.0, 2.0, 0.0), ("Ada", "Bo", "Cy"))
        assert "sold: 7" in said and "Player 2" in said and "Round 2" in said
        known = {value[at] for value in values for at in range(3) if str(value[at]) in said}
        assert known == (set() if seat == PUBLIC else {values[0][seat], values[1][seat]})


def test_its_form_is_made_from_its_space(auction):
    def bid(view, dice):
        sheet = Sheet(view).enter(Your=str(AUCTION["most"] + 1)).press("Send")
        assert not sheet.sent and "from 0 to 1,000,000,000" in sheet.said
        return sheet.enter(Your="12").press("Send").sent[0][0]

    assert play_out(auction, seat_dice(1, 0), bid)[0][0] == {0: 12, 1: 12, 2: 12}


def test_it_is_watched_step_by_step(auction, tmp_path):
    done, turns = played(auction, lambda view, dice: view.past[-1].value // 2)
    made = page(tmp_path, turns, games=games_table([auction], [AUCTION]))
    assert "highest bid wins" in made.html
    for at in made.places():
        over = at.made["step"] == at.made["last"]
        assert over or f"value: {done.views[0].past[0].value}" in at.html
        assert ("The match is over" in at.html) == over and ("<h2>Round" in at.html) != over
    public = page(tmp_path, seat="public")
    assert "What was seen by everybody, in public" in public.html
    for at in public.places():
        assert "value:" not in at.facts
    assert "sold" in public.html
