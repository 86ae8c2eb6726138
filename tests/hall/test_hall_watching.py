"""The page for watching: everything opens, a place shows what was known there and no more, and what players wrote is only text."""

import json
import re
import shutil
from urllib.parse import parse_qsl

import pandas as pd
import pytest
from harness import GAMES, first
from magic_games import any_or_void

from agon import ROOT, AgonError
from agon.conf import expand_settings, games, settings_of
from agon.figures import viewer
from agon.games.base import PUBLIC
from agon.games.html import text
from agon.games.pages import describe_entry, describe_space
from agon.games.tables import games_table
from agon.plan import Match, Seat
from agon.play import play_now, turns_table
from agon.replay import replay_in
from agon.turns import COLUMNS, games_path, is_games, read, typed, write, write_games
from agon_hall import watching, web
from agon_hall.watching import choice as watching_choice
from agon_hall.watching import match as watching_match
from agon_hall.watching import view as watching_view
from agon_hall.watching.sight import prompt_of

SMOKE = ROOT / "tests/smoke"
SAMPLES = [path for path in sorted(SMOKE.glob("*.parquet")) if not is_games(path)]
CLUES = games(["chameleon/01-chameleon"])[0]
TRADE = games(["tradecraft/minecraft-01"])[0]
FAMILIES = {
    game.name: game
    for game in [GAMES["pd"], GAMES["rps"], CLUES, TRADE]
    + [first(name) for name in ("undercover", "cost_sharing", "prisoner3", "public_goods")]
}


def played(game, answers=any_or_void, match="a", **changes):
    """A match and what its seats saw, and its turns."""
    made = Match("test", match, int(match, 16), game, (Seat("any", answers),) * game.seats, 0, "c")
    done = play_now(made)
    return done, turns_table([(made, done)]).assign(**changes)


NEW = '<b class="new">new</b> '
NAMES = expand_settings(["pd", "rps", *FAMILIES.keys() - {"pd", "rps"}, "rating"])
TABLE = games_table(games(NAMES), [settings_of("game", name) for name in NAMES])


class Viewer:
    """Somebody at the page: what its address asks for, and what can be read."""

    def __init__(self, folder, **asked):
        self.folder = folder
        self.go(**asked)

    def go(self, **asked):
        """Another address, or the same with other steps or seats."""
        self.asked = {name: str(value) for name, value in asked.items() if value is not None}
        self.made = watching.page_context(self.asked, self.folder)
        made = {"title": "", "researcher": True, "links": (), "live": None, "at": 0, **self.made}
        self.html = web.templates.get_template("transcripts.html").render(made).partition("<main")[2]
        return self

    def to(self, **asked):
        """The same match with another step, seat and so on."""
        return self.go(**self.made["here"] | asked)

    def places(self):
        """Every place of the match, one after another."""
        for step in range(1, self.made["last"] + 1):
            yield self.to(step=step)

    @property
    def place(self):
        return self.made["place"]

    @property
    def alert(self):
        return self.made["why"]

    @property
    def lists(self):
        return self.made["lists"]

    @property
    def ids(self):
        return [id_ for id_, _ in self.lists.matches]

    @property
    def facts(self):
        """The list of all that was told."""
        return self.html.partition("What the game let ")[2].partition("</section>")[0]


def page(folder, *turns, games=None, **asked):
    """The page upon these turns, each a file."""
    for number, each in enumerate(turns):
        path = folder / f"file{number}.parquet"
        write_games(TABLE if games is None else games, path)
        write(each, path)
    return Viewer(folder, **asked)


def lines(views, named):
    return [[describe_entry(each, view, at, named) for at, each in enumerate(view.past)] for view in views]


# --- everything opens


def test_every_game_can_be_stepped_through(tmp_path):
    faults = []
    for name, game in FAMILIES.items():
        made = page(tmp_path, played(game)[1])
        assert made.place and not made.alert, name
        for at in made.places():
            for seat, seen_by in made.place["seats"] if at.made["step"] % 9 == 1 else ():
                if f"What was seen by {seen_by}" not in made.to(seat=seat).html:
                    faults.append((name, at.made["step"], seen_by))
            if f"{viewer.escaped(made.place['title'])}</h2>" not in made.html:
                faults.append((name, at.made["step"], "title"))
    assert not faults


def test_every_kind_of_file_opens(tmp_path):
    faults = []
    for file in SAMPLES:
        folder = tmp_path / file.stem
        folder.mkdir()
        shutil.copy(file, folder)
        shutil.copy(games_path(file), folder)
        made = Viewer(folder)
        assert made.place and len(made.ids) == min(200, read(file).match.nunique()), file.stem
        for match in {made.ids[0], made.ids[-1]}:
            ends = [at.place["title"].startswith("The end") and not at.alert for at in made.go(match=match).places()]
            if ends != [False] * (len(ends) - 1) + [True]:
                faults.append((file.stem, match))
    assert SAMPLES and not faults


def test_ratings_are_watched_too(tmp_path):
    found = ROOT / "transcripts/rating_standin.parquet"
    if not found.exists():
        pytest.skip("made by `make repro`")
    turns = watching_choice.turns_of(found, str(read(found, ["match"]).match[0]))
    made = page(tmp_path, turns)
    assert [bool(at.place["title"]) for at in made.places()] == [True] * made.made["last"]


# --- what was known, and when


def test_a_place_shows_what_a_seat_had_seen_before_it_and_nothing_else(tmp_path, subtests):
    for name in ("chameleon", "tradecraft", "public_goods", "pd"):
        with subtests.test(name):
            (tmp_path / name).mkdir()
            require_past_alone(tmp_path / name, FAMILIES[name])


def require_past_alone(folder, game):
    """At every place of a match of the game a seat's history has what the seat had seen before, and no more."""
    done, turns = played(game)
    made, record = page(folder, turns), watching_match.MatchRecord(turns, folder / "file0.parquet")
    asked = turns.legal.notna()
    for view, turn, seat in zip(done.views, turns.turn, turns.seat, strict=True):
        if not asked[(turns.turn == turn) & (turns.seat == seat)].all():
            continue
        (own,) = lines([view], record.names)
        told = record.history(turn - 1, seat)
        assert [each.words for each in told] == own
        shown = re.findall(r"<li>(.*?)</li>", made.to(step=turn, seat=seat).facts, re.DOTALL)
        assert [each.removeprefix(NEW) for each in shown] == [text(each) for each in own]
        assert [each.startswith(NEW) for each in shown] == [each.new for each in told]


def test_new_is_what_was_not_known_at_the_step_before(tmp_path):
    write_games(TABLE, tmp_path / "turns.parquet")
    record = watching_match.MatchRecord(played(CLUES)[1], tmp_path / "turns.parquet")
    for seat in (*range(3), PUBLIC):
        known = 0
        for place in range(record.places):
            told = record.history(place, seat)
            assert [each.new for each in told] == [False] * known + [True] * (len(told) - known)
            known = len(told)


def test_steps_are_states_of_the_replay():
    _, turns = played(CLUES)
    replay = replay_in(CLUES, turns)
    for step in replay.steps:
        assert tuple(step.views) == replay.game.to_move(step.state)
        assert all(replay.game.observe(step.state, seat) == view for seat, view in step.views.items())


# --- what cannot be replayed


def test_a_match_that_cannot_be_replayed_is_shown_from_its_rows(tmp_path):
    _, turns = played(GAMES["pd"])
    made = page(tmp_path, turns.assign(game=pd.Categorical(["chess"] * len(turns))))
    assert "the table of games has no chess default" in made.html and not made.place["seats"]
    assert [at.place["title"][:8] for at in made.places()][-2:] == ["Step 16 ", "The end,"]

    turns = read(SMOKE / "tradecraft_viewer.parquet")
    first = turns[turns.match == turns.match[0]]
    made = page(tmp_path, first.assign(variant=pd.Categorical(["elsewhere"] * len(first))))
    assert "Hands before this turn" in made.html and "None yet" in made.html
    assert "<li>turn 1, Player 1 to Player" in made.to(step=made.made["last"]).html


# --- what is absent, what it cost, what they believed


def test_what_was_not_recorded_is_not_zero(tmp_path):
    for kind in ("", ".games"):
        shutil.copy(SMOKE / f"counterfactual_turns{kind}.parquet", tmp_path)
    made = Viewer(tmp_path)
    for at in made.places():
        cards = [{fact.name: fact.value for fact in card} for _, card in at.place["cards"]]
        assert all(card["tokens sent / received"].startswith("not recorded; ") for card in cards)  # together only
        assert all(card["cost"].startswith("not recorded") for card in cards)
        rows = {name: values for name, *values in at.place["worth"].rows}
        assert {*rows["tokens sent"], *rows["seconds"], *rows["cost, USD"]} == {"not recorded"}
        assert rows["tokens, both"] != ["0", "0"]


def test_a_cost_is_tokens_times_price_and_sums_say_what_is_missing():
    def row(model, tokens_in, tokens_out):
        return pd.Series({"model": model, "tokens_in": tokens_in, "tokens_out": tokens_out})

    assert watching_match.cost(row("gpt_4o", 1000, 100)) == pytest.approx(0.0035)
    assert watching_match.cost(row("nobody knows it", 1000, 100)) is None
    assert watching_match.cost(row("gpt_4o", pd.NA, 100)) is None
    assert watching_match.cost(row(None, 0, 0)) == 0 and watching_match.cost(row(None, 5, 5)) is None
    assert watching_view.sum_recorded([1, pd.NA, 2]) == "3 and 1 time not recorded"
    assert watching_view.sum_recorded([None]) == "not recorded" and watching_view.sum_recorded([]) == "0"


ONE, WORDS = [[0.5, 0, 0.5], [0, 0, 1], [0.25, 0.75, None]], [[None, "raise", "<b>"]] + [[None] * 3] * 2


def test_beliefs_are_tables_that_say_their_numbers_and_since_when(tmp_path):
    _, turns = played(CLUES)
    details = pd.Series(None, index=turns.index, dtype=object)
    own = turns.index[turns.seat == 1]
    details[own[0]], details[own[2]] = json.dumps({"beliefs": ONE}), json.dumps({"beliefs": WORDS})
    made = page(tmp_path, turns.assign(detail=details.astype("string")))
    at, words = int(turns.turn[own[0]]), int(turns.turn[own[2]])
    now, later = made.to(step=at).html, made.to(step=words).html
    assert f"new at step {at}" in now and '<td class="number s2">0.250</td>' in now and "nan" not in now
    assert (
        '<td class="number s10">1.000</td>' in now and '<td class="number s0">0.000</td>' in now and "raise" not in now
    )
    assert f"unchanged since step {at}" in later and ">raise<" in later and "&lt;b&gt;" in later and "<b>" not in later
    assert not page(tmp_path, turns).place["has_beliefs"]


def test_points_are_those_before_the_step_and_after_it(tmp_path):
    _, turns = played(GAMES["pd"], lambda view, dice: "cooperation")
    made = page(tmp_path, turns).to(step=3)
    assert made.place["worth"].rows[:2] == [["points before this step", "8", "8"], ["points after it", "12", "12"]]
    assert "Now: Player 1 8; Player 2 8" in made.html
    assert made.to(step=made.made["last"]).place["worth"].rows[0] == ["points", "64", "64"]


def test_unreadable_answers_and_what_was_done_instead_are_said(tmp_path):
    _, turns = played(GAMES["pd"], lambda view, dice: None, fallback=pd.Categorical(["forfeit: <no move>"] * 32))
    made = page(tmp_path, turns)
    assert "<strong>(unreadable)</strong>" in made.html and "forfeit: &lt;no move&gt;" in made.html


# --- hostile texts


HOSTILE = "<script>alert(1)</script>\n<img src=x onerror=alert(2)> \u202egnp.exe\x1b[31m"


def test_what_players_and_settings_say_is_only_text(tmp_path):
    def says(view, dice):
        return view.legal.parse(HOSTILE) if view.phase in ("clue", "guess") else any_or_void(view, dice)

    _, turns = played(CLUES, says)
    names = ("agent", "model", "experiment", "role", "phase", "fallback")
    labels = dict.fromkeys(names, pd.Categorical([HOSTILE] * len(turns)))
    detail = json.dumps({"thought": [HOSTILE], HOSTILE: HOSTILE, "beliefs": [[HOSTILE] * 3] * 3})
    made = page(tmp_path, turns.assign(**labels, reply=HOSTILE, detail=detail))
    for at in made.places():
        shown = at.html
        assert "<script" not in shown and "<img" not in shown and "\u202e" not in shown and "\x1b" not in shown
    assert "&lt;script&gt;" in shown


def test_hostile_names_of_games_and_reasons_are_only_text(tmp_path):
    _, turns = played(GAMES["pd"])
    for column in ("game", "variant"):
        made = page(tmp_path, turns.assign(**{column: pd.Categorical([HOSTILE] * len(turns))}))
        assert "<script" not in made.html and "&lt;script&gt;" in made.html and "\u202e" not in made.html
    for asked in ("file", "match", "search", "game", "seat", "step"):
        made = page(tmp_path, **{asked: HOSTILE})
        assert "<script" not in made.html and "<img" not in made.html
    assert "There is no match" in page(tmp_path, match=HOSTILE).alert


# --- choosing


def several():
    """Three matches in one table."""
    made = (("pd", "a", "one"), ("pd", "b", "two"), ("rps", "c", "two"))
    parts = [played(GAMES[name], match=match)[1].astype(object).assign(agent=agent) for name, match, agent in made]
    return typed({name: pd.concat([part[name] for part in parts], ignore_index=True) for name in COLUMNS})


def test_matches_are_found_by_game_and_words_also_in_a_long_file(tmp_path, monkeypatch):
    made = page(tmp_path, several())
    assert made.ids == ["a", "b", "c"] and "Match (3 found)" in made.html
    assert made.go(search="two").ids == ["b", "c"] and made.lists.match == "b"
    assert made.go(search="two", game="rps").ids == ["c"]
    assert made.go(search="TWO pd").ids == ["b"]
    assert made.go(game="no such game").ids == ["a", "b", "c"]
    monkeypatch.setattr(watching_choice, "MOST_MATCHES", 2)
    assert made.go(match="c").ids == ["c", "a", "b"]
    assert made.go().ids == ["a", "b"] and "2 of them listed" in made.html
    assert made.go(search="rps").ids == ["c"]


def test_a_match_stays_open_while_it_fits_what_is_searched(tmp_path):
    made = page(tmp_path, several(), match="c", step=5)
    made.go(match="c", of="c", step=5, search="two")
    assert made.lists.match == "c" and made.made["step"] == 5
    made.go(match="b", of="c", step=5, search="two")
    assert made.lists.match == "b" and made.made["step"] == 1  # another match begins at its start


def test_another_file_opens_at_its_first_match_without_filters(tmp_path):
    made = page(tmp_path, several(), played(GAMES["rps"], match="d")[1], match="d")
    assert (made.lists.file, made.lists.match) == ("file1", "d")  # the file with this match
    assert page(tmp_path, file="file1").lists.match == "d"
    made.go(file="file1", was="file0", match="b", of="b", game="pd", search="two", step="7")
    assert (made.lists.match, made.made["step"], made.alert) == ("d", 1, "") and not made.lists.search


def test_what_is_not_there_is_said(tmp_path):
    assert "no transcripts here yet" in page(tmp_path).alert
    (tmp_path / "broken.parquet").write_bytes(b"PAR1")
    assert "no transcripts here yet" in page(tmp_path).alert
    made = page(tmp_path, played(GAMES["pd"])[1], file="other")
    assert "There is no transcript" in made.alert and made.place
    assert "There is no match" in page(tmp_path, match="none").alert
    pd.DataFrame({"match": ["a"], "turn": [1], "seat": [0]}).to_parquet(tmp_path / "file0.parquet")
    made = page(tmp_path)
    assert "cannot be read (No match for FieldRef.Name(game)" in made.alert and not made.place


def test_one_match_is_read_as_the_whole_table_has_it():
    for file in SAMPLES:
        turns = read(file)
        match = str(turns.match.iloc[-1])
        own = watching_choice.turns_of(file, match)
        whole = turns[turns.match == match].sort_values(["turn", "seat"]).reset_index(drop=True)
        for name in turns:
            assert own[name].astype(object).where(own[name].notna(), None).tolist() == (
                whole[name].astype(object).where(whole[name].notna(), None).tolist()
            )
    with pytest.raises(AgonError, match="there is no match"):
        watching_choice.turns_of(file, "none")


def test_a_file_that_was_written_anew_is_read_anew(tmp_path):
    page(tmp_path, played(GAMES["pd"])[1])
    write(played(GAMES["rps"], match="abc")[1], tmp_path / "file0.parquet")
    assert Viewer(tmp_path).lists.match == "abc"


# --- for everybody


def test_links_go_to_the_first_and_last_place_and_no_further(tmp_path):
    made = page(tmp_path, played(GAMES["pd"])[1], seat=1, full=1)
    for name, at in (("Back", 1), ("Next", 2), ("Last", 17), ("Next", 17), ("Back", 16), ("First", 1)):
        made.go(**dict(parse_qsl(made.made["links_to"][name][1:])))
        assert made.made["step"] == at and made.made["here"]["seat"] == "1" and made.made["here"]["full"] == "1"
    assert "Step 4 of 16" in made.to(step=4).html
    for given, at in (("0", 1), ("99", 17), ("x", 1), ("", 1), ("-3", 1), ("9" * 30, 1)):
        assert made.to(step=given).made["step"] == at


def test_every_field_has_a_label_and_every_table_a_caption_and_headings(tmp_path):
    made = page(tmp_path, read(SMOKE / "magic_standin.parquet"))
    for at in made.places():
        shown = at.html
        assert shown.count("<label") == len(re.findall(r'<(?:select|input(?! type="hidden"))', shown))
        assert shown.count("<table") == shown.count("<caption") and shown.count("<table") <= shown.count('scope="row"')
        assert len(set(ids := re.findall(r' id="([^"]*)"', shown))) == len(ids)


def test_long_texts_are_folded_unless_asked_for(tmp_path):
    made = page(tmp_path, played(GAMES["pd"], reply="word " * 100)[1])
    assert "<details><summary>Reply, 500 characters" in made.html
    assert "<details open><summary>Reply, 500 characters" in made.to(full=1).html


def test_what_was_asked_is_said_in_words():
    sentences = [
        ({"choice": ["a", "b"]}, "one of: a; b"),
        ({"number": [0, 20], "step": 5}, "a whole number from 0 to 20, in steps of 5"),
        ({"text": 500}, "a text of at most 500 characters"),
        ({"offer": ["A", "B"], "total": 100, "tolerance": 0.5}, "shares that sum to 100, for A, B"),
        ({"form": {"x": {"choice": ["a"]}}}, "x: one of: a"),
        ({"call": ["decide"]}, "a call of one of: decide"),
        ({"ratings": {"turns": 3}}, "ratings: turns 3"),
    ]
    assert [describe_space(space) for space, _ in sentences] == [words for _, words in sentences]


# --- in a browser


def test_steps_are_gone_through_without_losing_focus_and_back_goes_back(server, person):
    ada = person()
    ada.page.goto(f"{server.url}/transcripts?file=scripted")
    for step in (2, 3):
        ada.page.get_by_role("link", name="Next").press("Enter")
        ada.page.get_by_role("heading", name=f"Step {step} of").wait_for()
        assert ada.page.evaluate("document.activeElement.id") == "to-next"
    ada.page.get_by_label("long texts in full").check()
    ada.page.wait_for_url("**full=1*")
    ada.page.reload()
    ada.page.get_by_role("heading", name="Step 3 of").wait_for()
    assert ada.page.get_by_label("long texts in full").is_checked()
    ada.page.get_by_label("Search").fill("no such match")
    ada.page.get_by_role("button", name="Show").click()
    ada.page.get_by_role("alert").get_by_text("No match fits").wait_for()
    ada.page.go_back()
    ada.page.go_back()
    ada.page.get_by_role("heading", name="Step 3 of").wait_for()
    ada.page.go_back()
    ada.page.get_by_role("heading", name="Step 2 of").wait_for()
    for key, step in (("ArrowRight", 3), ("ArrowLeft", 2)):
        ada.page.keyboard.press(key)
        ada.page.get_by_role("heading", name=f"Step {step} of").wait_for()


# --- what is said to have been seen is recorded, or not shown


def as_sat(turns, agent, aids=None, model=None):
    """The turns as if the first seat had been somebody else, whose first row names aids."""
    first = turns.seat == 0
    detail = turns.detail.astype("object")
    if aids is not None:
        detail[first.idxmax()] = json.dumps({"name": "Ada", "aids": aids})
    own = turns.assign(
        agent=turns.agent.astype("str").mask(first, agent).astype("category"),
        model=pd.Categorical([model if seat == 0 else None for seat in turns.seat]),
        detail=detail.astype("string"),
    )
    return typed({name: own[name] for name in COLUMNS})


def seen(made):
    """The part of a page that says what was seen."""
    return made.html.partition("What was seen by")[2].partition("What the game let Player")[0]


def test_a_person_s_page_has_the_aids_that_are_recorded_and_no_others(tmp_path):
    turns = played(GAMES["pd"])[1]
    shows = {("payoffs",): (True, False), ("rounds",): (False, True), (): (False, False)}
    for number, (aids, has) in enumerate(shows.items()):
        place = tmp_path / str(number)
        place.mkdir()
        html = seen(page(place, as_sat(turns, "human", list(aids)), step=3, seat=0))
        assert ("Points for a round" in html) is has[0]
        assert ("you are told how many rounds" in html) is has[1]
        assert ("without aids" in html) is not any(has)
    place = tmp_path / "unrecorded"
    place.mkdir()
    html = seen(page(place, as_sat(turns, "human"), step=3, seat=0))
    assert "Which aids their page had is not recorded" in html and "told how many rounds" not in html


def test_scripts_and_models_saw_no_page_and_models_a_prompt(tmp_path, monkeypatch):
    trade = tmp_path / "trade"
    trade.mkdir()
    made = page(trade, played(TRADE)[1], seat=0)
    assert "A script" in seen(made) and "How to make" not in seen(made)
    tmp_path = tmp_path / "model"
    tmp_path.mkdir()
    turns = as_sat(played(GAMES["pd"])[1], "zs", model="m")
    html = seen(page(tmp_path, turns, step=3, seat=0))
    assert "prompt is not recorded" in html and "told how many rounds" not in html and "which it did not see" in html
    sent = [("system", "You are a player"), ("user", "Round 1: choose")]
    monkeypatch.setattr("agon_hall.watching.sight.prompt_of", lambda experiment, exchange: sent)
    keys = pd.array(["k" if seat == 0 else None for seat in turns.seat], dtype="string")
    html = seen(page(tmp_path, turns.assign(exchange=keys), step=3, seat=0))
    assert "as it was sent" in html and "You are a player" in html and "Round 1: choose" in html


def test_the_prompt_of_a_model_is_that_of_its_recording(tmp_path):
    lines = [
        {"message": "a", "after": "", "role": "system", "text": "Rules"},
        {"message": "b", "after": "a", "role": "user", "text": "Choose"},
        {"exchange": "k", "asked": "b", "sample": "1/0/0.0", "text": "[move] x", "model": "m", "parameters": {}},
    ]
    (tmp_path / "own").mkdir()
    (tmp_path / "own/exchanges.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert prompt_of("own (partial: 1 of 2 matches)", "k", tmp_path) == (("system", "Rules"), ("user", "Choose"))
    assert (
        prompt_of("own", "other", tmp_path)
        == prompt_of("../own", "k", tmp_path)
        == prompt_of("none", "k", tmp_path)
        == ()
    )


def test_points_that_no_table_shows_are_not_among_what_was_seen(tmp_path):
    turns = played(first("undercover"))[1]
    made = page(tmp_path, as_sat(turns, "human", []), seat=0, step=int(turns.turn.nunique()))
    assert "Points so far" not in seen(made)
