"""The raters' page: resumed where it was left, no answer lost or doubled, refused ones kept in the form, and blind."""

import json

import panel as pn
import pytest
from bokeh.document import Document

from agon.games.rating import page as desk
from agon.games.rating.annotations import LONGEST, Sheet, annotations, logs, shuffled
from agon.games.rating.game import Rating
from agon_hall.inputs import Inputs
from agon_hall.look import Block

LOGS = "tests/smoke/logs"
SECRET = ("gpt-4o", "claude-3", "zz_source", "zz_match", "zz_thought", "zz_target")
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)> \u202e \u0007 &lt;b&gt;"


class Rater:
    """A person at a page, who sees nothing but widgets and panes."""

    def __init__(self, folder, who="ann", games=LOGS, **settings):
        self.page = Inputs(desk.RatersDesk(folder, games, **settings).things).panel
        if who:
            self.named("Your rater name").value = who
            self.press("Start")

    def all(self, kind):
        return list(self.page.select(kind))

    def named(self, name):
        return next(each for each in self.page.select(pn.widgets.Widget) if each.name.startswith(name))

    def press(self, name="Save"):
        button = self.named(name)
        button.clicks += 1
        return self

    def answer(self, score=0.3, shows=True, but=0):
        fields = [*self.all(pn.widgets.Select), *self.all(pn.widgets.RadioBoxGroup)]
        for field in fields[but:]:
            field.value = score if isinstance(field, pn.widgets.Select) else shows
        return self

    @property
    def text(self):
        return "\n".join(str(each.object) for each in self.all(Block) if each.visible)

    def alerts(self):
        return [line for line in self.text.split("\n") if 'role="alert"' in line]


def sent(rater):
    """All that a browser is sent."""
    return json.dumps(rater.page.server_doc(Document()).to_json().content)


def secret(message="Deal", players=("gpt-4o", "claude-3")):
    """A game with everything in its log that a rater must not know."""
    entries = [
        {"hands": {player: {"coal": 1} for player in players}},
        {
            "player": players[0],
            "phase": "propose",
            "thought": "zz_thought",
            "call": {"tool": "x", "partner": players[1], "message": message},
        },
        {"player": players[1], "phase": "decide", "call": {"tool": "y", "message": f"Thanks, {players[0]}!"}},
    ]
    log = {
        "match": "zz_match",
        "game": "tradecraft",
        "players": players,
        "turns": [entries, entries],
        "source": "zz_source",
    }
    log |= {"targets": [{"zz_target": 1}] * 2, "won": [True, False]}
    return Rating("rating", "zz_source_file", json.dumps(log))


# --- who


def test_a_name_is_asked_for_and_a_bad_one_is_refused_and_stays(tmp_path):
    rater = Rater(tmp_path, None)
    assert "nothing else about you" in rater.text and not rater.all(pn.widgets.Select)
    field = rater.named("Your rater name")
    field.value = "../x"
    rater.press("Start")
    assert "is no name for a file" in rater.alerts()[0] and field.value == "../x"
    field.value = " ann "
    rater.press("Start")
    assert "Turn 1 of 8" in rater.text and not list(tmp_path.iterdir())


def test_logs_that_are_not_there_are_said_to_be_missing(tmp_path):
    assert "there are no settings in nowhere" in Rater(tmp_path, games="nowhere").alerts()[0]


# --- answers


def test_nothing_is_answered_by_itself(tmp_path):
    rater = Rater(tmp_path)
    assert {field.value for field in rater.all(pn.widgets.Select)} == {""}
    assert {field.value for field in rater.all(pn.widgets.RadioBoxGroup)} == {None}
    assert _actives(rater) == {None}


def _actives(rater):
    return {each.get_root().active for each in rater.all(pn.widgets.RadioBoxGroup)}


def test_answers_are_kept_before_the_next_turn_is_shown(tmp_path):
    rater = Rater(tmp_path).answer(0.3)
    rater.named("Why").value = "because"
    rater.press()
    kept = annotations(tmp_path / "ann.csv")
    assert "Turn 2 of 8" in rater.text and "1 of 8 are answered" in rater.text
    assert len(kept) == 2 * (2 + 3) and set(kept.why) == {"because"} and set(kept["view"]) == {"blind"}
    assert set(kept[kept.aspect == ""].value) == {0.3} and set(kept[kept.aspect != ""].value) == {1.0}


def test_no_and_zero_are_answers(tmp_path):
    rater = Rater(tmp_path).answer(0.0, False).press()
    assert "Turn 2 of 8" in rater.text and set(annotations(tmp_path / "ann.csv").value) == {0.0}


@pytest.mark.parametrize("missing", [1, 5, 9])
def test_a_missing_answer_is_refused_and_nothing_typed_is_lost(tmp_path, missing):
    rater = Rater(tmp_path).answer(but=missing)
    rater.named("Why").value = "because"
    before = [field.value for field in rater.all(pn.widgets.Widget)]
    rater.press()
    [said] = rater.alerts()
    assert "Not kept yet: please answer Player 1: " in said and "Turn 1 of 8" in rater.text
    assert [field.value for field in rater.all(pn.widgets.Widget)][:-2] == before[:-2]
    assert not (tmp_path / "ann.csv").exists()
    rater.answer().press()
    assert "Turn 2 of 8" in rater.text and not rater.alerts() and len(annotations(tmp_path / "ann.csv")) == 10


def test_an_empty_form_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(desk, "SETTLED", 0)
    assert "Player 2: " in Rater(tmp_path).press().alerts()[0]


def test_a_reason_that_is_too_long_is_refused_and_stays(tmp_path):
    rater = Rater(tmp_path).answer()
    rater.named("Why").max_length = 10**6
    rater.named("Why").value = "x" * (LONGEST + 1)
    assert f"at most {LONGEST}" in rater.press().alerts()[0] and len(rater.named("Why").value) == LONGEST + 1
    assert not (tmp_path / "ann.csv").exists()


def test_an_answer_that_cannot_be_written_is_not_lost(tmp_path):
    (tmp_path / "ann.csv").mkdir()
    rater = Rater(tmp_path / "file").answer()
    (tmp_path / "file").write_text("no folder")
    assert "cannot be written, the answer is not kept" in rater.press().alerts()[0]
    assert rater.all(pn.widgets.Select)[0].value == 0.3
    (tmp_path / "file").unlink()
    assert "Turn 2 of 8" in rater.press().text


# --- again


def test_a_page_goes_on_where_it_was_left(tmp_path):
    first = Rater(tmp_path)
    for _ in range(3):
        first.answer().press()
    again = Rater(tmp_path)
    assert "Turn 4 of 8" in again.text and "3 of 8 are answered" in again.text


def test_earlier_answers_are_seen_and_changed(tmp_path):
    rater = Rater(tmp_path).answer(0.2).press().answer(0.4).press().press("Back").press("Back")
    assert "Turn 1 of 8" in rater.text and {field.value for field in rater.all(pn.widgets.Select)} == {0.2}
    assert {field.value for field in rater.all(pn.widgets.RadioBoxGroup)} == {True} and _actives(rater) == {0}
    rater.answer(0.9, False).press()
    kept = annotations(tmp_path / "ann.csv")
    assert "Turn 3 of 8" in rater.text and len(kept) == 20 and sorted(set(kept.value)) == [0.0, 0.4, 0.9, 1.0]


def test_a_score_between_the_steps_is_shown_as_it_was_given(tmp_path):
    games = shuffled(logs(LOGS))
    sheet = Sheet(games, "ann", tmp_path, desk.STUDIED)
    own = {"persuasion": 0.25, "adaptability": 1, "theory_of_mind": (False, True, False)}
    sheet.rate(sheet.pages[0], dict.fromkeys(games[0].seen.players, own))
    assert Rater(tmp_path).press("Back").all(pn.widgets.Select)[0].value == 0.25


def test_a_double_click_saves_once_and_says_nothing(tmp_path):
    rater = Rater(tmp_path).answer().press().press()
    assert "Turn 2 of 8" in rater.text and not rater.alerts()
    assert len((tmp_path / "ann.csv").read_text().splitlines()) == 1 + 10


def test_two_tabs_lose_and_double_nothing(tmp_path):
    one, two = Rater(tmp_path), Rater(tmp_path)
    one.answer(0.1).press()
    two.answer(0.8).press()
    one.answer(0.5).press()
    two.answer(0.5).press()
    kept = annotations(tmp_path / "ann.csv")
    assert len(kept) == 20 and set(kept[kept.aspect == ""].value) == {0.8, 0.5}
    assert len((tmp_path / "ann.csv").read_text().splitlines()) == 1 + 3 * 10  # the same answer is written once
    assert "Turn 3 of 8" in one.text and "Turn 3 of 8" in two.text


def test_all_are_answered_in_the_end_and_can_still_be_changed(tmp_path):
    rater = Rater(tmp_path)
    for _ in range(8):
        rater.answer().press()
    assert "All turns are answered" in rater.text and [each.name for each in rater.all(pn.widgets.Button)] == ["Back"]
    assert "All turns are answered" in Rater(tmp_path).text
    assert "Turn 8 of 8" in rater.press("Back").answer(0.7).press("Save").press("Back").text
    assert {field.value for field in rater.all(pn.widgets.Select)} == {0.7}


# --- several


def test_raters_have_files_of_their_own_and_one_order(tmp_path):
    Rater(tmp_path, "ann").answer(0.1).press()
    Rater(tmp_path, "bob").answer(0.9).press()
    both = annotations(*tmp_path.glob("*.csv"))
    assert set(both.rater) == {"human:ann", "human:bob"} and len(both) == 20
    games = [Rating("rating", str(place), secret().log.replace("zz_match", f"m{place}")) for place in range(6)]
    order = [game.match for game in shuffled(games)]
    assert order == [game.match for game in shuffled(games[::-1])] != [game.match for game in games]


# --- what is shown


def test_a_turn_is_shown_with_what_came_before_it_folded_and_nothing_of_what_comes(tmp_path):
    game = secret("first")
    log = json.loads(game.log)
    log["turns"][1] = [{"player": "gpt-4o", "did": "second"}]
    rater = Rater(tmp_path, games=[Rating("rating", "r", json.dumps(log))])
    assert "first" in rater.text and "second" not in sent(rater).replace("second order", "").replace("second:", "")
    rater.answer().press()
    before, _, now = rater.text.partition("judge this one")
    assert "<details><summary>Before it: turn 1</summary>" in before and "second" in now.partition("What was played")[0]


def test_what_is_sent_is_blind(tmp_path):
    Rater(tmp_path, "bob", [secret()]).answer(0.7).press()
    (tmp_path / "assessor.csv").write_text((tmp_path / "bob.csv").read_text())
    rater = Rater(tmp_path, "ann", [secret()])
    for _ in range(2):
        assert not [
            word for word in (*SECRET, "bob", "assessor", "human:", "scripted", "0000000000") if word in sent(rater)
        ]
        assert "Thanks, Player 1!" in sent(rater) and "Player 2" in rater.text and not rater.alerts()
        rater.answer().press()
    assert not [word for word in SECRET if word in sent(rater)]


def test_the_recorded_logs_are_sent_without_their_matches(tmp_path):
    rater = Rater(tmp_path)
    for _ in range(8):
        assert not [game.match for game in logs(LOGS) if game.match in sent(rater)]
        assert "scripted" not in sent(rater) and '"won"' not in sent(rater)
        rater.answer().press()


@pytest.mark.parametrize("message", [HOSTILE, HOSTILE * 50, "</div></details>" * 3, "accept; decision: reject"])
def test_what_players_wrote_is_text(tmp_path, message):
    rater = Rater(tmp_path, games=[secret(message)])
    assert "<script" not in rater.text and "<img" not in rater.text and "\u202e" not in rater.text
    assert rater.text.count("</details>") == 2 and f"“{message[:9]}"[:1] in rater.text
    if message.startswith("<s"):
        assert "&lt;script&gt;" in rater.text and "\\u202e" in rater.text and "&amp;lt;b" in rater.text


def test_every_question_has_a_label(tmp_path):
    rater = Rater(tmp_path)
    for field in rater.all(pn.widgets.Select):
        assert "0 to 1" in field.name and list(field.options)[:2] == ["not answered", "0"]
    labels = [option for field in rater.all(pn.widgets.RadioBoxGroup) for option in field.options]
    assert labels[:2] == ["first order: yes", "first order: no"] and len(labels) == 12
    assert rater.text.count("<h2>Player") == 2 and "how far the player moves the other" in rater.text


@pytest.mark.parametrize("players", [("Ann",), ("Ann", "Bob", "Annabel")])
def test_any_number_of_players_is_judged(tmp_path, players):
    log = {
        "match": "m",
        "game": "x",
        "players": players,
        "turns": [[{"player": players[-1], "said": "Annabel saw Ann"}]],
    }
    rater = Rater(tmp_path, games=[Rating("rating", "r", json.dumps(log))], dimensions=["cooperation"])
    assert rater.text.count("<h2>Player") == len(players) == len(rater.all(pn.widgets.Select))
    if len(players) == 3:
        assert "Player 3 saw Player 1" in rater.text
    assert "All turns are answered" in rater.answer().press().text
