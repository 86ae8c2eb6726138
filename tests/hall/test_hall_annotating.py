"""The raters' page: a link for each, resumed where it was left, no answer or draft lost or doubled, and blind."""

import json
import re
from html import unescape
from html.parser import HTMLParser
from urllib.parse import parse_qs, urlsplit

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from agon import AgonError
from agon.cli import main
from agon.games.rating.game import Rating
from agon.games.rating.logs import logs
from agon.games.rating.words import turns
from agon.games.sentences import ENGLISH
from agon_hall import raters, web
from agon_hall.annotations import LONGEST, Sheet, annotations, shuffled
from agon_hall.server import application
from agon_hall.tables import Hall

LOGS = "tests/smoke/logs"
SECRET = ("gpt-4o", "claude-3", "zz_source", "zz_match", "zz_thought", "zz_target")
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)> \u202e \u0007 &lt;b&gt;"


class Page(HTMLParser):
    """What a browser without scripts makes of a page: its text, the fields of its form, and what each button sends."""

    def __init__(self, html):
        super().__init__()
        self.html, self.fields, self.options, self.buttons, self.labels, self._in = html, {}, {}, {}, {}, ""
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        own = dict(attributes)
        if own.get("type") == "radio":
            self.options.setdefault(own["name"], []).append(own["value"])
            if "checked" in own:
                self.fields[own["name"]] = own["value"]
        elif tag == "input" and "name" in own:
            self.fields[own["name"]] = own.get("value", "")
        elif tag == "textarea":
            self.fields[own["name"]], self._in = "", own["name"]
        elif tag == "button":
            self._in = f"button {own.get('value')}"

    def handle_endtag(self, tag):
        if tag in ("textarea", "button"):
            self._in = ""

    def handle_data(self, data):
        if self._in.startswith("button"):
            self.buttons[data] = self._in[7:]
        elif self._in:
            self.fields[self._in] += data.removeprefix("\n")

    @property
    def text(self):
        return unescape(re.sub(r"<[^>]*>", "", self.html))

    @property
    def alerts(self):
        return re.findall(r'role="alert"[^>]*>(.*?)</div>', self.html.partition("<main")[2], re.DOTALL)


class Raters:
    """A folder of annotations, the links to it, and a hall that has nothing else."""

    def __init__(self, folder, games=LOGS, names=("ann", "bob"), dimensions=None):
        self.folder = folder
        self.keys = raters.admit(folder, names, LOGS if not isinstance(games, str) else games, 30)
        self.desk = raters.RatersDesk(folder)
        if not isinstance(games, str):
            for name in names:
                made = Sheet(games, name, folder, dimensions or raters.STUDIED)
                self.desk._sheets[name, LOGS] = made
        routes = [*web.routes, *raters.routes]
        app = Starlette(routes=routes, exception_handlers={web.NoPage: web.show_refusal})
        app.state.raters = self.desk
        self.client = TestClient(app)

    def at(self, who="ann", **asked):
        return Someone(self, self.keys.get(who, who), asked)


class Someone:
    """A rater at a page."""

    def __init__(self, hall, key, asked):
        self.hall, self.key = hall, key
        self._take(hall.client.get("/annotate", params={"key": key, **asked}))

    def _take(self, answer):
        self.status, self.url, self.page = answer.status_code, str(answer.url), Page(answer.text)
        self.filled = dict(self.page.fields)

    def fill(self, score="0.3", shows="yes", but=0):
        for key, options in list(self.page.options.items())[but:]:
            self.filled[key] = shows if "yes" in options else score
        return self

    def press(self, name="Save and next"):
        self._take(self.hall.client.post(self.url, data=self.filled | {"go": self.page.buttons[name]}))
        return self

    @property
    def text(self):
        return self.page.text


def secret(message="Deal", players=("gpt-4o", "claude-3")):
    """A game with everything in its log that a rater must not know."""
    entries = [
        {"hands": {player: {"coal": 1} for player in players}},
        {
            "player": players[0],
            "phase": "propose",
            "thought": "zz_thought",
            "call": {"tool": "submit_proposal", "partner": players[1], "offer": {}, "request": {}, "message": message},
        },
        {"player": players[1], "phase": "decide", "call": {"tool": "decide", "message": f"Thanks, {players[0]}!"}},
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


def test_a_link_opens_its_owners_page_and_nothing_else(tmp_path):
    hall = Raters(tmp_path)
    assert "Turn 1 of 8" in hall.at("ann").text
    for key in ("x", "é" * 40, hall.keys["ann"][:-1], hall.keys["ann"] + "x", raters._hash(hall.keys["ann"])):
        refused = hall.at(key)
        assert (
            refused.status == 403 and "Turn" not in refused.text and "ann" not in refused.text.replace("annotate", "")
        )
        assert hall.client.post(f"/annotate?key={key}", data={"at": "0", "go": "save"}).status_code == 403
    assert not list(tmp_path.glob("*.csv"))
    ann = hall.at("ann").fill()
    ann.filled |= {"who": "bob", "rater": "human:bob", "key": hall.keys["bob"], "name": "bob"}
    ann.press()
    assert set(annotations(*tmp_path.glob("*.csv")).rater) == {"human:ann"} and not (tmp_path / "bob.csv").exists()


def test_beside_a_password_a_raters_link_opens_one_page_alone(tmp_path):
    keys = raters.admit(tmp_path / "annotations", ["ann"], LOGS, 30)
    made = Hall(tmp_path)
    try:
        client = TestClient(
            application(made, password="some words"), base_url="http://localhost", follow_redirects=False
        )
        own = client.get("/annotate", params={"key": keys["ann"]})
        assert own.status_code == 200 and "Turn 1 of" in own.text
        assert not [link for link in ("/transcripts", "/host", 'href="/"') if link in own.text]
        for page in ("/", "/transcripts", "/host", "/annotate", "/annotate?turn=1"):
            for query in ({}, {"key": keys["ann"]}):
                if "annotate" not in page or not query:
                    answer = client.get(page, params=query or None)
                    assert (answer.status_code, answer.headers["location"].partition("?")[0]) == (303, "/login"), page
        assert client.get("/annotate", params={"key": "x"}).status_code == 403
    finally:
        made.store.close()


def test_of_a_key_only_a_hash_is_kept_and_it_is_void_after_its_day(tmp_path):
    hall = Raters(tmp_path)
    kept = (tmp_path / "raters.json").read_text()
    assert (
        not [key for key in hall.keys.values() if key in kept]
        and (tmp_path / "raters.json").stat().st_mode % 0o100 == 0
    )
    (tmp_path / "raters.json").write_text(re.sub(r"20\d\d-\d\d-\d\d", "2020-01-01", kept))
    assert hall.at("ann").status == 403


def test_a_new_link_voids_the_old_one_and_answers_stay(tmp_path):
    hall = Raters(tmp_path)
    hall.at("ann").fill().press()
    assert [far.partition(";")[0] for _, far in hall.desk.progress()] == ["1 of 8 turns", "0 of 8 turns"]
    with pytest.raises(AgonError, match="ann has a link already"):
        raters.admit(tmp_path, ["ann"], LOGS, 30)
    old, new = hall.keys["ann"], raters.admit(tmp_path, ["ann"], LOGS, 30, True)["ann"]
    assert hall.at(old).status == 403 and "1 of 8 are answered" in hall.at(new).text
    assert "Turn 1 of 8" in hall.at("bob").text


def test_the_command_says_each_link_once_and_refuses_in_a_line(tmp_path, capsys):
    words = ["--names=ann, bob, ann", f"--logs={LOGS}", f"--folder={tmp_path}", "--url=https://hall.example.org/"]
    assert main(["make-raters", *words]) == 0
    said = capsys.readouterr().out.split()
    assert said[::2] == ["ann", "bob"] and said[1].startswith("https://hall.example.org/annotate?key=")
    desk = raters.RatersDesk(tmp_path)
    assert [desk.owner(link.partition("=")[2]) for link in said[1::2]] == ["ann", "bob"]
    for more, why in (
        ([], "ann has a link already"),
        (["--days=0"], "days"),
        (["--days=9999"], "days"),
        (["--url=javascript:x"], "url"),
        (["--logs=nowhere"], "nowhere"),
    ):
        other = [each for each in words if each.partition("=")[0] not in {one.partition("=")[0] for one in more}]
        assert (
            main(["make-raters", *other, *more]) and why in (told := capsys.readouterr().err) and told.count("\n") == 1
        )
    assert main(["make-raters", *words, "--force"]) == 0 and not desk.owner(said[1].partition("=")[2])
    assert main(["make-raters", "--names=,", f"--folder={tmp_path}"]) == 1


def test_names_that_are_no_files_and_absent_logs_are_refused(tmp_path, subtests):
    for name in ("../x", "", "a b", "x" * 41):
        with subtests.test(name), pytest.raises(AgonError, match="is no name for a file"):
            raters.admit(tmp_path, [name], LOGS, 30)
    with pytest.raises(AgonError, match="there are no settings in nowhere"):
        raters.admit(tmp_path, ["ann"], "nowhere", 30)
    assert not list(tmp_path.iterdir())


# --- answers


def test_answers_are_kept_before_the_next_turn_is_shown(tmp_path):
    ann = Raters(tmp_path).at().fill("0.3")
    ann.filled["why"] = "because"
    ann.press()
    kept = annotations(tmp_path / "ann.csv")
    assert "Turn 2 of 8" in ann.text and "1 of 8 are answered" in ann.text
    assert set(parse_qs(urlsplit(ann.url).query)) == {"key", "turn"}  # nothing else is in the address
    assert len(kept) == 2 * (2 + 3) and set(kept.why) == {"because"} and set(kept["view"]) == {"blind"}
    assert set(kept[kept.aspect == ""].value) == {0.3} and set(kept[kept.aspect != ""].value) == {1.0}


def test_no_and_zero_are_answers(tmp_path):
    ann = Raters(tmp_path).at().fill("0", "no").press()
    assert "Turn 2 of 8" in ann.text and set(annotations(tmp_path / "ann.csv").value) == {0.0}


def test_a_missing_answer_is_refused_and_nothing_typed_is_lost(tmp_path, subtests):
    for missing in (1, 10):
        with subtests.test(missing=missing):
            folder = tmp_path / str(missing)
            ann = Raters(folder).at().fill(but=missing)
            ann.filled["why"] = "because"
            before = dict(ann.filled)
            ann.press()
            [alert] = ann.page.alerts
            assert "Not saved yet" in alert and alert.count('<a href="#q-0/') == min(missing, 5) and ann.status == 422
            assert ann.filled == before and not (folder / "ann.csv").exists()
            ann.fill().press()
            assert "Turn 2 of 8" in ann.text and not ann.page.alerts and len(annotations(folder / "ann.csv")) == 10


def test_an_answer_out_of_range_is_refused(tmp_path, subtests):
    values = [("0/persuasion", "nan"), ("0/persuasion", "1.1"), ("0/theory_of_mind/first", "maybe")]
    for key, value in values:
        with subtests.test(key, value=value):
            ann = Raters(tmp_path / value).at().fill()
            ann.filled[key] = value
            assert "Please answer" in ann.press().page.alerts[0] and not (tmp_path / value / "ann.csv").exists()


def test_a_reason_that_is_too_long_is_refused_and_stays(tmp_path):
    ann = Raters(tmp_path).at().fill()
    ann.filled["why"] = "x" * (LONGEST + 1)
    for name in ("Save and next", "Back"):
        assert f"at most {LONGEST:,}" in ann.press(name).page.alerts[0] and len(ann.filled["why"]) == LONGEST + 1
    assert not (tmp_path / "ann.csv").exists()


def test_an_answer_that_cannot_be_written_is_not_lost(tmp_path, monkeypatch):
    hall = Raters(tmp_path)
    ann = hall.at().fill()
    ann.filled["why"] = "because"
    before = dict(ann.filled)

    def full(*given):
        raise AgonError("ann.csv cannot be written, the answer is not kept: No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr("agon_hall.annotations._append", full)
        broken.setattr(raters, "_write", full)
        for name in ("Save and next", "Back"):
            assert "cannot be written" in ann.press(name).page.alerts[0] and ann.filled == before
    assert "Turn 2 of 8" in ann.press().text and len(annotations(tmp_path / "ann.csv")) == 10


def test_a_page_that_does_not_exist_is_refused(tmp_path, subtests):
    hall = Raters(tmp_path)
    for at in ("-1", "8", "x", "٣", ""):
        with subtests.test(at):
            ann = hall.at().fill()
            ann.filled["at"] = at
            assert ann.press().status == 409 and not (tmp_path / "ann.csv").exists()


# --- again


def test_no_turn_is_seen_or_judged_before_those_before_it(tmp_path):
    hall = Raters(tmp_path)
    for turn in ("2", "8", "9", "99999"):
        assert "Turn 1 of 8" in hall.at(turn=turn).text
    ann = hall.at().fill()
    ann.filled["turn_at"] = ann.filled["at"] = "1"
    assert ann.press().status == 409 and not (tmp_path / "ann.csv").exists() and not hall.desk._drafts("ann")


def test_back_discards_nothing(tmp_path):
    hall = Raters(tmp_path)
    ann = hall.at().fill().press()
    ann.fill("0.7", "no", but=3)
    ann.filled["why"] = "half done"
    half = dict(ann.filled)
    ann.press("Back")
    assert "Turn 1 of 8" in ann.text and ann.page.fields["0/persuasion"] == "0.3"
    ann.press()
    assert "Turn 2 of 8" in ann.text and ann.page.fields == half and "draft of this turn is kept" in ann.text
    assert hall.at().page.fields == half and "1 of 8 are answered" in hall.at().text
    assert "Turn 3 of 8" in ann.fill().press().text and not hall.desk._drafts("ann")


def test_what_is_filled_in_is_a_draft_before_it_is_saved(tmp_path):
    hall = Raters(tmp_path)
    ann = hall.at()
    ann.filled["0/persuasion"] = "0.9"
    hall.client.post(ann.url, data=ann.filled)
    assert hall.at().page.fields["0/persuasion"] == "0.9" and not (tmp_path / "ann.csv").exists()
    assert "0/persuasion" not in hall.at("bob").page.fields
    del ann.filled["0/persuasion"]
    hall.client.post(ann.url, data=ann.filled)
    assert not hall.desk._drafts("ann")


@pytest.mark.parametrize("text", ["5", "[1]", '{"a": 5}', "[" * 100_000, "\xff"])
def test_a_file_of_drafts_that_is_none_is_no_draft(text, tmp_path):
    hall = Raters(tmp_path)
    (tmp_path / "drafts").mkdir(exist_ok=True)
    (tmp_path / "drafts" / "ann.json").write_text(text, encoding="latin-1")
    assert "Turn 1 of 8" in hall.at().text


def test_earlier_answers_are_shown_as_they_are_and_can_be_changed(tmp_path):
    ann = Raters(tmp_path).at().fill("0.2").press().fill("0.4").press().press("Back").press("Back")
    assert "Turn 1 of 8" in ann.text and set(ann.filled.values()) == {"0", "0.2", "yes", ""} and "Saved." in ann.text
    ann.fill("0.9", "no").press()
    kept = annotations(tmp_path / "ann.csv")
    assert "Turn 3 of 8" in ann.text and len(kept) == 20 and sorted(set(kept.value)) == [0.0, 0.4, 0.9, 1.0]
    games, folder = shuffled(logs(LOGS)), tmp_path / "between"
    sheet = Sheet(games, "ann", folder, raters.STUDIED)
    scores = {"persuasion": 0.25, "adaptability": 1, "theory_of_mind": (False, True, False)}
    sheet.rate(sheet.pages[0], dict.fromkeys(games[0].seen.players, scores))
    ann = Raters(folder).at(turn="1")  # a score between the steps stays, too
    assert ann.filled["0/persuasion"] == "0.25" and ann.filled["0/adaptability"] == "1"
    ann.press()
    assert len((folder / "ann.csv").read_text().splitlines()) == 1 + 10


def test_a_form_that_is_sent_twice_is_saved_once(tmp_path):
    hall = Raters(tmp_path)
    ann = hall.at().fill()
    for _ in range(2):
        assert hall.client.post(ann.url, data=ann.filled | {"go": "save"}).status_code == 200
    assert len((tmp_path / "ann.csv").read_text().splitlines()) == 1 + 10 and "Turn 2 of 8" in hall.at().text


def test_two_tabs_lose_and_double_nothing(tmp_path):
    hall = Raters(tmp_path)
    one, two = hall.at(), hall.at()
    one.fill("0.1").press()
    two.fill("0.8").press()
    one.fill("0.5").press()
    two.fill("0.5").press()
    kept = annotations(tmp_path / "ann.csv")
    assert len(kept) == 20 and set(kept[kept.aspect == ""].value) == {0.8, 0.5}
    assert len((tmp_path / "ann.csv").read_text().splitlines()) == 1 + 3 * 10  # the same answer is written once
    assert "Turn 3 of 8" in one.text and "Turn 3 of 8" in two.text


def test_a_page_goes_on_where_it_was_left_and_answers_can_be_changed(tmp_path):
    hall = Raters(tmp_path)
    ann = hall.at()
    for _ in range(3):
        ann.fill().press()
    ann = hall.at()
    assert "Turn 4 of 8" in ann.text and "3 of 8 are answered" in ann.text
    for _ in range(5):
        ann.fill().press()
    assert "All turns are answered" in ann.text and "All turns are answered" in hall.at().text
    last = hall.at(turn="8").fill("0.7").press()
    assert "All turns are answered" in last.text and hall.at(turn="8").filled["0/persuasion"] == "0.7"


# --- several


def test_raters_have_files_of_their_own_and_one_order(tmp_path):
    hall = Raters(tmp_path)
    hall.at("ann").fill("0.1").press()
    hall.at("bob").fill("0.9").press()
    both = annotations(*tmp_path.glob("*.csv"))
    assert set(both.rater) == {"human:ann", "human:bob"} and len(both) == 20
    games = [Rating("rating", str(place), secret().log.replace("zz_match", f"m{place}")) for place in range(6)]
    order = [game.match for game in shuffled(games)]
    assert order == [game.match for game in shuffled(games[::-1])] != [game.match for game in games]


# --- what is shown


def test_a_turn_has_the_past_folded_and_nothing_of_the_future(tmp_path):
    log = json.loads(secret("first").log)
    log["turns"][1] = [{"player": "gpt-4o", "did": "second"}]
    ann = Raters(tmp_path, [Rating("rating", "r", json.dumps(log))]).at()
    assert "first" in ann.text and "did: second" not in ann.page.html
    ann.fill().press()
    before, _, now = ann.page.html.partition("judge this one")
    assert (
        "<details><summary>Before it: turn 1</summary>" in before
        and "did: second" in now.partition("What was played")[0]
    )


def test_what_is_sent_is_blind(tmp_path):
    hall = Raters(tmp_path, [secret()])
    hall.at("bob").fill("0.7").press()
    (tmp_path / "assessor.csv").write_text((tmp_path / "bob.csv").read_text())
    ann = hall.at("ann")
    for _ in range(2):
        shown = ann.page.html.replace(hall.keys["ann"], "")
        assert not [word for word in (*SECRET, "bob", "assessor", "human:", "scripted", "0000000000") if word in shown]
        assert "Thanks, Player 1!" in shown and "Player 2" in shown and not ann.page.alerts
        ann.fill().press()
    assert not [word for word in SECRET if word in ann.page.html]


def test_the_recorded_logs_are_sent_without_their_matches(tmp_path):
    ann = Raters(tmp_path).at()
    for _ in range(8):
        assert not [game.match for game in logs(LOGS) if game.match in ann.page.html]
        assert (
            "scripted" not in ann.page.html
            and "won" not in ann.page.html.partition("What is judged")[0].partition("What was played")[0]
        )
        ann.fill().press()


def test_what_players_wrote_is_text(tmp_path, subtests):
    messages = [HOSTILE, HOSTILE * 50, "</div></details>" * 3, "accept; decision: reject"]
    for number, message in enumerate(messages):
        with subtests.test(message[:20]):
            html = Raters(tmp_path / str(number), [secret(message)]).at().page.html
            assert not [text for text in ("<script>", "<img", "\u202e", "\u0007") if text in html]
            assert html.count("</details>") == 2 and html.count("<blockquote>") == 2
            if message.startswith("<s"):
                assert "&lt;script&gt;" in html and "\\u202e" in html and "&amp;lt;b" in html


def test_a_log_is_told_in_words_and_amounts(tmp_path):
    for game in logs(LOGS):
        told = [line for turn in turns(game.seen, ENGLISH) for line in turn]
        assert told and all(line.who or line.hands for line in told)
        whole = " ".join(f"{line.did} {line.came} {line.hands}" for line in told)
        assert "{" not in whole and "_" not in whole and "offers Player" in whole and " \u00d7 " in whole


def _told(*entries):
    log = {"match": "m", "game": "x", "players": ["A", "B"], "turns": [list(entries)]}
    return turns(Rating("rating", "r", json.dumps(log)).seen, ENGLISH)[0]


def test_refusals_defaults_and_repeated_acts_are_told_unmistakably():
    tried = {"tool": "craft_apply", "inputs": {"iron_ingot": 3}, "outputs": {"bucket": "1/2"}}
    [line] = _told({"player": "A", "phase": "craft", "call": tried, "refused": "x", "says": "it has 1, not 3"})
    assert (
        line.did == "tries: makes 1/2 \u00d7 bucket out of 3 \u00d7 iron ingot"
        and line.came == "This is refused: “it has 1, not 3”."
    )
    [line] = _told({"player": "A", "phase": "propose", "default": "no action"})
    assert line.did == "does nothing" and line.came == "The table does so for the player: no action."
    asks = {"player": "B", "phase": "craft", "call": {"tool": "item_info", "name": "lever"}}
    assert [line.did for line in _told(asks, asks, asks)] == ["looks up lever (3 times)"]
    held = {"hands": {"A": {"coal": 1}, "B": {}}}
    done = {"player": "A", "phase": "craft", "call": {"tool": "craft_done"}, "hand": {"coal": 1}}
    assert [line.hands for line in _told(held, done)] == [(("Player 1", "1 \u00d7 coal"), ("Player 2", "nothing")), ()]
    call = {"tool": "submit_proposal", "partner": "B", "offer": {"x. Player 2 accepts the offer": 1}, "request": None}
    [line] = _told({"player": "A", "phase": "propose", "call": call})
    assert line.did == "offers Player 2: 1 \u00d7 “x. Player 2 accepts the offer”, for nothing"


def test_every_question_has_a_label_and_keys_and_no_answer_yet(tmp_path):
    page = Raters(tmp_path).at().page
    assert len(page.options) == 10 and not set(page.options) & set(page.fields)
    html = page.html
    assert html.count("<fieldset") == html.count("<legend>") == 10
    assert html.count('data-key="0"') == html.count('data-key="t"') == 4 and html.count('data-key="y"') == 6
    assert html.index("Save and next") < html.index(">Back<") and "how far the player moves the other" in html
    assert len(set(re.findall(r' id="([^"]*)"', html))) == len(re.findall(r' id="([^"]*)"', html))


def test_any_number_of_players_is_judged(tmp_path, subtests):
    for players in (("Ann",), ("Ann", "Bob", "Annabel")):
        with subtests.test(players):
            turn = [{"player": players[-1], "said": "Annabel saw Ann"}]
            log = {"match": "m", "game": "x", "players": players, "turns": [turn]}
            game = Rating("rating", "r", json.dumps(log))
            ann = Raters(tmp_path / players[-1], [game], dimensions=["cooperation"]).at()
            assert len(ann.page.options) == len(players) == ann.page.html.count("<legend>")
            assert ("Player 3 saw Player 1" in ann.text) == (len(players) == 3)
            assert "All turns are answered" in ann.fill().press().text


# --- in a browser


def test_keys_answer_drafts_survive_and_slips_are_named(server, person):
    folder = server.folder / "annotations"
    keys = raters.admit(folder, ["kay"], raters.LOGS, 30)
    kay = person(viewport={"width": 320, "height": 640})
    kay.page.goto(f"{server.url}/annotate?key={keys['kay']}")
    asked = kay.page.locator("fieldset")
    keys = ["t" if "order" not in asked.nth(place).inner_text() else "y" for place in range(asked.count())]
    for key in keys[:-1]:
        kay.page.keyboard.press(key)
    kay.page.get_by_text("Your draft of this turn is kept").wait_for()
    kay.page.reload()
    assert kay.page.locator("fieldset :checked").count() == len(keys) - 1
    kay.page.keyboard.press("Tab")
    kay.button("Save and next").click()
    assert not kay.page.locator("fieldset").last.locator(":checked").count()
    kay.page.get_by_role("alert").get_by_text("Please answer").wait_for()
    kay.page.get_by_role("alert").get_by_role("link").click()
    asked.last.get_by_label("no", exact=True).focus()
    kay.page.keyboard.press("n")
    assert kay.page.evaluate("document.activeElement.textContent") == "Save and next"
    kay.page.keyboard.press("Enter")
    kay.page.get_by_role("heading", name="Turn 2 of").wait_for()
    assert len(annotations(folder / "kay.csv")) == len(keys)
    assert kay.page.evaluate("document.documentElement.scrollWidth") == 320
