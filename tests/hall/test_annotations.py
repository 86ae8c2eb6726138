"""People's ratings: a sheet is gone through turn by turn, resumed where it was left, and no answer is lost."""

import os
import random

import pandas as pd
import pytest

from agon import AgonError
from agon.agents.scripts import anything
from agon.games.rating.game import DIMENSIONS
from agon.games.rating.logs import logs
from agon.games.rating.metrics import reliability, scores
from agon.plan import Match, Seat
from agon.play import play_now, turns_table
from agon_hall.annotations import KEPT, LONGEST, Sheet, annotations, judged, setting, shuffled

LOGS = "tests/smoke/logs"
TWO = ("persuasion", "theory_of_mind")


def sheet(folder, who="ann", dimensions=TWO, **settings):
    return Sheet(logs(LOGS), who, folder, dimensions, **settings)


def answers(score=0.5, orders=(True, False, False), players=("Player 1", "Player 2")):
    return {player: {"persuasion": score, "theory_of_mind": orders} for player in players}


def test_answers_are_scores(tmp_path):
    own = sheet(tmp_path)
    own.rate(own.pages[1], answers(0.25), 'because,\n of "this" \u2028 =1+1')
    kept = annotations(own.path)
    assert list(kept) == KEPT and len(kept) == 2 * 4 and set(kept.rater) == {"human:ann"} and set(kept.turn) == {2}
    assert kept[kept.dimension == "persuasion"].value.tolist() == [0.25, 0.25] and set(kept.why) == {
        'because, of "this" =1+1'
    }
    assert kept[kept.aspect == "first"].value.tolist() == [1, 1] and set(kept["view"]) == {"blind"}


def test_a_sheet_goes_on_where_it_was_left(tmp_path):
    first = sheet(tmp_path)
    assert len(first.pages) == len(first.open_pages()) == 8
    for page in first.open_pages()[:3]:
        first.rate(page, answers())
    assert sheet(tmp_path).open_pages() == first.pages[3:]
    assert len(sheet(tmp_path, "bob").open_pages()) == len(sheet(tmp_path, repetition=1).open_pages()) == 8
    assert len(sheet(tmp_path, dimensions=["adaptability"]).open_pages()) == 8


def test_what_is_judged_in_another_view_is_asked_for_again(tmp_path):
    own = sheet(tmp_path)
    own.rate(own.pages[0], answers())
    assert len(own.open_pages()) == 7 and len(Sheet(logs(LOGS, full=True), "ann", tmp_path, TWO).open_pages()) == 8


def test_a_file_that_is_none_of_annotations_is_refused(tmp_path):
    own = sheet(tmp_path)
    own.rate(own.pages[0], answers())
    whole = own.path.read_text()
    for text, number in ((whole.replace("\n", "\r\n"), 8), (f"\ufeff{whole}", 8), (whole.partition("ch,")[0], 0)):
        own.path.write_text(text, newline="")
        assert len(annotations(own.path)) == number
    for text in (whole.replace(",", ";"), "who,what\n1,2\n"):
        own.path.write_text(text)
        with pytest.raises(AgonError, match=r"ann\.csv is no file of annotations: its columns must be match,rater"):
            own.open_pages()
    (tmp_path / "bob.csv").mkdir()
    with pytest.raises(AgonError, match=r"bob\.csv cannot be read"):
        annotations(tmp_path / "bob.csv")


def test_an_answer_given_again_replaces_the_first(tmp_path):
    own = sheet(tmp_path)
    for score in (0.1, 0.9):
        own.rate(own.pages[0], answers(score))
    kept = annotations(own.path)
    assert kept[kept.dimension == "persuasion"].value.tolist() == [0.9, 0.9]
    assert own.path.read_text().count("0.1") == 2


def test_the_same_answer_is_not_written_twice_and_any_other_is(tmp_path):
    own, before = sheet(tmp_path), 0
    for given, why in ((answers(), ""), (answers(), " because\n"), (answers(0.4), "because"), (answers(), "because")):
        for _ in range(2):
            own.rate(own.pages[0], given, why)
        before, after = len(own.path.read_bytes()), before
        assert before > after
    assert len(own.path.read_text().splitlines()) == 1 + 4 * 8


def test_what_was_answered_can_be_looked_up(tmp_path):
    own = sheet(tmp_path)
    assert own.answers_to(own.pages[0]) == ({}, "")
    own.rate(own.pages[0], answers(0.25, (False, True, False)), "because")
    assert own.answers_to(own.pages[0]) == (answers(0.25, (False, True, False)), "because")
    assert own.answers_to(own.pages[1]) == sheet(tmp_path, "bob").answers_to(own.pages[0]) == ({}, "")


def test_all_raters_see_the_logs_in_one_order():
    games = logs(LOGS)
    assert shuffled(games) == shuffled(games[::-1])
    assert sorted(game.match for game in shuffled(games)) == sorted(game.match for game in games)


def test_a_reason_that_is_too_long_is_refused_and_nothing_is_kept(tmp_path):
    own = sheet(tmp_path)
    with pytest.raises(AgonError, match="the reason has 2001 characters; at most 2000"):
        own.rate(own.pages[0], answers(), "x" * (LONGEST + 1))
    assert not own.path.exists()


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_line_that_was_cut_off_is_asked_for_again_and_costs_no_other(tmp_path, cut):
    own = sheet(tmp_path)
    own.rate(own.pages[0], answers())
    own.rate(own.pages[1], answers(), 'a "long" reason, with a comma, which is cut off somewhere')
    own.path.write_bytes(own.path.read_bytes()[:-cut])
    again = sheet(tmp_path)
    assert again.open_pages()[0] in own.pages[1:3]
    again.rate(own.pages[1], answers(0.75))
    assert sheet(tmp_path).open_pages() == own.pages[2:] and len(annotations(own.path)) == 16


def test_an_answer_that_cannot_be_kept_says_so_and_can_be_given_again(tmp_path, monkeypatch):
    own = sheet(tmp_path)
    own.rate(own.pages[0], answers())
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full_disk)
        with pytest.raises(AgonError, match="the answer is not kept: No space left"):
            own.rate(own.pages[1], answers())
    assert own.pages[0] not in sheet(tmp_path).open_pages()
    synced = []
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", synced.append)
        own.rate(own.pages[1], answers())
    assert synced and len(annotations(own.path)) == 16


def full_disk(_):
    raise OSError(28, "No space left on device")


def test_a_bad_answer_is_refused_and_nothing_is_kept(tmp_path):
    cases = [
        (answers(1.5), "Player 1, persuasion: the score 1.5 is no number from 0 to 1"),
        (answers(True), "the score true is no number"),
        (answers(orders=(1, 0, 0)), "theory_of_mind: first, second, third must each be true or false"),
        (answers(players=["Player 1"]), "rate each of Player 1, Player 2, and nobody else"),
        ({player: {"persuasion": 1} for player in ("Player 1", "Player 2")}, "rate each of persuasion, theory_of_mind"),
    ]
    for given, said in cases:
        own = sheet(tmp_path)
        with pytest.raises(AgonError, match=said):
            own.rate(own.pages[0], given)
        assert not own.path.exists() and annotations(own.path).empty


def test_a_name_is_one_of_a_file(tmp_path):
    for who in ["", "../x", "a b", "x" * 41, "a/b"]:
        with pytest.raises(AgonError, match="is no name for a file"):
            sheet(tmp_path, who)


def test_a_dimension_that_is_not_there_is_named(tmp_path):
    with pytest.raises(AgonError, match="there is no dimension charm"):
        sheet(tmp_path, dimensions=["charm"])


def test_a_page_shows_what_came_before_and_nothing_of_what_comes(tmp_path):
    own = sheet(tmp_path)
    assert set(own.text(own.pages[1]).turn) == {1, 2} and "won" not in " ".join(own.text(own.pages[3]).what)


def test_people_are_told_what_models_are_told():
    text = judged(DIMENSIONS)
    assert text.count("\n- **") == 8 and text.count("<br>0: ") == 8
    told = setting(logs(LOGS)[0])
    assert (
        told.startswith("TradeCraft: ")
        and told.endswith("several may win.")
        and logs(LOGS)[0].seen.players[0] not in told
    )


def test_people_and_assessors_are_compared(tmp_path):
    own, dice = sheet(tmp_path), random.Random(1)
    for page in own.pages:
        own.rate(page, own.drawn(page, dice))
    seats = (Seat("rater_random", anything),)
    played = [Match("t", game.match, 1, game, seats, 0, "") for game in logs(LOGS)]
    assessor = scores(turns_table([(match, play_now(match)) for match in played]))
    found = reliability(pd.concat([annotations(own.path), assessor])).set_index(["dimension", "metric"])
    assert found.n["persuasion", "mae"] == 16 and found.n["theory_of_mind", "agreement"] == 48
    assert 0.2 < found.value["theory_of_mind", "agreement"] < 0.8
