"""The page for watching: everything opens, a place shows what was known there and no more, and what players wrote is only text."""

import json
import re
import shutil

import pandas as pd
import panel as pn
import pytest
from bokeh.core.json_encoder import serialize_json
from bokeh.document import Document
from harness import GAMES, first
from magic_games import any_or_void, saying

from agon import ROOT, AgonError
from agon.conf import games
from agon.figures import viewer
from agon.games.base import PUBLIC
from agon.games.pages import news
from agon.plan import Match, Seat
from agon.play import play_now, table
from agon.replay import replayed
from agon.turns import COLUMNS, read, typed, write
from agon_hall import watching
from agon_hall.look import Block
from agon_hall.watching import belief_tables as watching_beliefs
from agon_hall.watching import choice as watching_choice
from agon_hall.watching import files as watching_files
from agon_hall.watching import match as watching_match
from agon_hall.watching import parts as watching_parts

SMOKE = ROOT / "tests/smoke"
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
    return done, table([(made, done)]).assign(**changes)


FIELDS = {
    **{"step": ("Step", "Facts known"), "seat": "Seen by", "unfold": "Long", "first": "First", "back": "Back"},
    **{"next": "Next", "last": "Last", "file": "Transcript", "game": "Game", "agent": "Agent", "model": "Model"},
    **{"search": "Search", "match": "Match"},
}
"""How the labels of a page's widgets begin."""
PARTS = {
    **{"alert": 'role="alert"', "title": "<h2>(Step |The end|[^<]*: )", "about": "</h2><p>Match |The rules</summary>"},
    **{"done": '^<div class="cards">', "seen": "<h2>What (was seen|the rows tell)", "worth": "<h2>Points"},
    **{"facts": "All that was told", "shown": "<h2>"},
}
"""What its blocks have in them."""


class Viewer:
    """Somebody at the page, who sees nothing but widgets and what can be read."""

    def __init__(self, folder, **asked):
        self.panel = watching.Watching(folder, **asked).panel

    def __getattr__(self, name):
        if name in FIELDS:
            return next((each for each in self.widgets if each.label.startswith(FIELDS[name])), None)
        return "\n".join(each.object for each in self.panel.select(Block) if re.search(PARTS[name], each.object))

    @property
    def widgets(self):
        return self.panel.select(pn.widgets.Widget)


def page(folder, *turns, **asked):
    """The page upon these turns, each a file."""
    for number, each in enumerate(turns):
        write(each, folder / f"file{number}.parquet")
    return Viewer(folder, **asked)


def sent(made):
    """Everything that a browser is sent, as text."""
    document = Document()
    document.add_root(made.panel.get_root(document))
    return serialize_json(document.to_json())


def html(made):
    """All markup of a page that is shown."""
    return "\n".join(str(each.object) for each in made.panel.select(Block))


def places(made):
    """Every place of a match, one after another."""
    for value in range(made.step.start, made.step.end + 1):
        made.step.value = value
        yield value


def lines(views, named):
    return [[news(each, view, at, named) for at, each in enumerate(view.past)] for view in views]


# --- everything opens


@pytest.mark.parametrize("game", FAMILIES.values(), ids=FAMILIES)
@pytest.mark.parametrize("researcher", [True, False], ids=["researcher", "public"])
def test_every_game_can_be_stepped_through(tmp_path, game, researcher):
    made = page(tmp_path, played(game)[1], researcher=researcher)
    assert made.shown and not made.alert
    for place in places(made):
        for seat in made.seat.options.values() if researcher and place % 9 in (1, made.step.end % 9) else ():
            made.seat.value = seat
        assert "<h2>" in made.title
    assert sent(made)


@pytest.mark.parametrize("file", sorted(SMOKE.glob("*.parquet")), ids=lambda file: file.stem)
def test_every_kind_of_file_opens(tmp_path, file):
    shutil.copy(file, tmp_path)
    made = Viewer(tmp_path)
    assert made.shown and len(made.match.options) == min(200, read(file).match.nunique())
    for match in list(made.match.options.values())[:3]:
        made.match.value = match
        for _ in places(made):
            pass
        assert "The end" in made.title and not made.alert


def test_ratings_are_watched_too(tmp_path):
    found = ROOT / "transcripts/rating_standin.parquet"
    if not found.exists():
        pytest.skip("made by `make repro`")
    turns = watching_files.turns_of(found, str(read(found, ["match"]).match[0]))
    made = page(tmp_path, turns)
    for _ in places(made):
        assert made.title


# --- what was known, and when


@pytest.mark.parametrize("game", FAMILIES.values(), ids=FAMILIES)
def test_a_place_shows_what_a_seat_had_seen_before_it_and_nothing_else(tmp_path, game):
    done, turns = played(game)
    made, watched = page(tmp_path, turns), watching_match.Watched(turns)
    asked = turns.legal.notna()
    for view, turn, seat in zip(done.views, turns.turn, turns.seat, strict=True):
        if not asked[(turns.turn == turn) & (turns.seat == seat)].all():
            continue
        (own,) = lines([view], watched.named)
        told = watched.told(turn - 1, seat)
        assert [each.words for each in told] == own
        made.step.value, made.seat.value = turn, seat
        shown = re.findall(r"<li>(.*?)</li>", made.facts)
        assert [each.removeprefix("<b class=new>new</b> ") for each in shown] == [viewer.escaped(each) for each in own]
        assert [each.startswith("<b class=new>") for each in shown] == [each.new for each in told]


def test_new_is_what_was_not_known_at_the_step_before():
    watched = watching_match.Watched(played(CLUES)[1])
    for seat in (*range(3), PUBLIC):
        known = 0
        for place in range(watched.places):
            told = watched.told(place, seat)
            assert [each.new for each in told] == [False] * known + [True] * (len(told) - known)
            known = len(told)


def test_steps_are_states_of_the_replay():
    _, turns = played(CLUES)
    replay = replayed(turns)
    for step in replay.steps:
        assert tuple(step.views) == replay.game.to_move(step.state)
        assert all(replay.game.observe(step.state, seat) == view for seat, view in step.views.items())


# --- the public


def public_pages(folder, turns):
    """What the public is sent at every place, without what is a page's own: ids of the browser's parts, and the match's."""
    folder.mkdir()
    made = page(folder, turns, researcher=False)
    said = [made.step.label, made.match.label, *made.match.options]
    return [html(made) + str(said) for _ in places(made)]


def test_the_public_is_not_told_who_the_spy_is_nor_how_anybody_voted(tmp_path):
    """Two settings with other seats under test, other ballots, replies and thoughts, and the same clues: one page."""
    thought = '{"thought": ["SECRET"], "beliefs": [[1, 0, 0]]}'
    spy, crowd = games(["chameleon/02-chameleon", "chameleon/02-crowd"])
    clues, pages = list(spy.clues), []
    for number, (game, voted, held) in enumerate(((spy, "Player 2", thought), (crowd, "Player 3", "{}"))):
        answers = saying(clue=clues, vote=[voted, "Player 1", "Player 1"], identify=f"{voted}, chameleon")
        _, turns = played(game, answers, reply=f"SECRET {number}", detail=held)
        pages.append((turns.turn.max(), public_pages(tmp_path / str(number), turns)))
    assert pages[0][0] != pages[1][0]  # the table says clues for other seats
    assert pages[0][1] == pages[1][1] and "accused: Player 1" in pages[0][1][-1]
    text = "".join(pages[0][1])
    assert not [each for each in ("SECRET", "02-", "identify:", "vote:", f"word: {spy.word}") if each in text]


def test_browsers_of_the_public_are_sent_nothing_hidden(tmp_path):
    _, turns = played(CLUES, saying(vote=["Player 2", "Player 1", "Player 1"]), reply="SECRETREPLY")
    made = page(tmp_path, turns.assign(agent=pd.Categorical(["SECRETAGENT"] * len(turns))), researcher=False)
    for _ in places(made):
        everything = sent(made)
        assert "SECRET" not in everything and "01-chameleon" not in everything and "non-chameleon" not in everything
    made.search.value_input = "secretagent"
    assert made.match.value is None and "No match fits" in made.alert


def test_the_public_is_not_told_targets_nor_messages(tmp_path):
    def calls(view, dice):
        if view.phase == "propose":
            partner = view.rules.players[1 - view.seat]
            return {
                "tool": "submit_proposal",
                "partner": partner,
                "offer": {},
                "request": {"paper": 1},
                "message": "SECRET",
            }
        if view.phase == "decide":
            return {"tool": "decide", "decision": "reject", "message": "SECRETTOO"}
        return {"tool": "craft_done"}

    _, turns = played(TRADE, calls)
    targets = {item for target in TRADE.targets for item in target} - {item for hand in TRADE.hands for item in hand}
    made = page(tmp_path, turns, researcher=False)
    for _ in places(made):
        everything = html(made).replace(made.about, "")  # the rules
        assert "SECRET" not in everything and not [item for item in targets if item in everything]
    assert "SECRET" not in sent(made)
    assert "rejected" in made.facts
    (tmp_path / "full").mkdir()
    whole = page(tmp_path / "full", turns)
    for _ in places(whole):
        pass
    assert "SECRETTOO" in html(whole)


@pytest.mark.parametrize("game", FAMILIES.values(), ids=FAMILIES)
def test_the_public_comes_to_know_fact_by_fact_what_the_game_lets_it_watch(game):
    _, turns = played(game)
    watched = watching_match.Watched(turns)
    public = watching_match.Public(watched)
    end = watched.view(watched.places - 1, PUBLIC)
    assert [view.past for view in public.views] == [end.past[:known] for known in range(len(end.past) + 1)]
    assert all(view.seat == PUBLIC and view.legal is None and not view.role for view in public.views)


# --- what cannot be replayed


def test_a_match_of_an_unknown_game_is_shown_from_its_rows(tmp_path):
    _, turns = played(GAMES["pd"])
    made = page(tmp_path, turns.assign(game=pd.Categorical(["chess"] * len(turns))))
    assert "no game of conf/game is called chess" in made.about and made.seat is None
    assert len(list(places(made))) == 17 and "32" not in made.title
    hidden = page(tmp_path, researcher=False)
    assert not hidden.shown and "nothing can be shown in public" in hidden.alert
    assert "chess:" not in html(hidden)


def test_recorded_trade_is_told_from_its_rows(tmp_path):
    turns = read(SMOKE / "tradecraft_viewer.parquet")
    first = turns[turns.match == turns.match[0]]
    made = page(tmp_path, first.assign(variant=pd.Categorical(["elsewhere"] * len(first))))
    assert "Hands before this turn" in made.seen and "None yet" in made.seen
    made.step.value = made.step.end
    assert "<li>turn 1, Player 1 to Player" in made.seen


# --- what is absent, what it cost, what they believed


def test_what_was_not_recorded_is_not_zero(tmp_path):
    shutil.copy(SMOKE / "counterfactual_turns.parquet", tmp_path)
    made = Viewer(tmp_path)
    for _ in places(made):
        if "The end" in made.title:
            break
        assert "<td>not recorded; " in made.done  # tokens: together only
        assert '<th scope="row">cost</th><td>not recorded' in made.done and "USD</td>" not in made.done
    rows = dict(re.findall(r'<th scope="row">([^<]*)</th><td>([^<]*)</td>', made.worth))
    assert rows["tokens sent"] == rows["seconds"] == rows["cost, USD"] == "not recorded"
    assert rows["tokens, both"] != "0"


def test_a_cost_is_tokens_times_the_price_in_conf():
    def row(model, tokens_in, tokens_out):
        return pd.Series({"model": model, "tokens_in": tokens_in, "tokens_out": tokens_out})

    assert watching_match.cost(row("gpt_4o", 1000, 100)) == pytest.approx(0.0035)
    assert watching_match.cost(row("nobody knows it", 1000, 100)) is None
    assert watching_match.cost(row("gpt_4o", pd.NA, 100)) is None
    assert watching_match.cost(row(None, 0, 0)) == 0 and watching_match.cost(row(None, 5, 5)) is None


def test_sums_say_how_much_is_missing():
    assert watching_match.spent([1, pd.NA, 2]) == (3.0, 1) and watching_match.spent([None]) == (None, 1)
    assert watching_parts._sum(watching_match.Spent(3.0, 1)) == "3 and 1 time not recorded"


ONE, WORDS = [[0.5, 0, 0.5], [0, 0, 1], [0.25, 0.75, None]], [[None, "raise", "<b>"]] + [[None] * 3] * 2


def test_beliefs_are_tables_that_say_their_numbers_and_since_when():
    _, turns = played(CLUES)
    details = pd.Series(None, index=turns.index, dtype=object)
    own = turns.index[turns.seat == 1]
    details[own[0]], details[own[2]] = json.dumps({"beliefs": ONE}), json.dumps({"beliefs": WORDS})
    watched = watching_match.Watched(turns.assign(detail=details))
    at, words = int(turns.turn[own[0]]), int(turns.turn[own[2]])
    now, later = watching_beliefs.beliefs(watched, at - 1), watching_beliefs.beliefs(watched, words - 1)
    assert f"new at step {at}" in now and ">0.250<" in now and "nan" not in now and "raise" not in now
    assert f"unchanged since step {at}" in later and ">raise<" in later and "&lt;b&gt;" in later and "<b>" not in later
    assert watching_beliefs.beliefs(watching_match.Watched(turns), 0) == ""


def test_points_are_those_before_the_step_and_after_it(tmp_path):
    _, turns = played(GAMES["pd"], lambda view, dice: "cooperation")
    made = page(tmp_path, turns)
    made.step.value = 3
    assert "<td>8</td><td>8</td>" in made.worth and "<td>12</td><td>12</td>" in made.worth
    assert "Now: Player 1 8; Player 2 8" in made.worth
    made.step.value = made.step.end
    assert "<td>64</td><td>64</td>" in made.worth


def test_unreadable_answers_and_what_was_done_instead_are_said(tmp_path):
    _, turns = played(GAMES["pd"], lambda view, dice: None, fallback=pd.Categorical(["forfeit: <no move>"] * 32))
    made = page(tmp_path, turns)
    assert "(unreadable)" in made.done and "forfeit: &lt;no move&gt;" in made.done


# --- hostile texts


HOSTILE = "<script>alert(1)</script>\n<img src=x onerror=alert(2)> \u202egnp.exe\x1b[31m"


@pytest.mark.parametrize("researcher", [True, False], ids=["researcher", "public"])
def test_what_players_and_settings_say_is_only_text(tmp_path, researcher):
    def says(view, dice):
        return HOSTILE if view.phase in ("clue", "guess") else any_or_void(view, dice)

    _, turns = played(CLUES, says)
    names = ("agent", "model", "experiment", "role", "phase", "fallback")
    labels = dict.fromkeys(names, pd.Categorical([HOSTILE] * len(turns)))
    detail = json.dumps({"thought": [HOSTILE], HOSTILE: HOSTILE, "beliefs": [[HOSTILE] * 3] * 3})
    made = page(tmp_path, turns.assign(**labels, reply=HOSTILE, detail=detail), researcher=researcher)
    for _ in places(made):
        shown = html(made)
        assert "<script" not in shown and "<img" not in shown and "\u202e" not in shown and "\x1b" not in shown
    assert "&lt;script&gt;" in shown
    for label in [*made.match.options, *(made.agent.options if researcher else ()), made.match.label]:
        assert "\u202e" not in label and "\n" not in label


def test_hostile_names_of_games_and_reasons_are_only_text(tmp_path):
    _, turns = played(GAMES["pd"])
    for column in ("game", "variant"):
        made = page(tmp_path, turns.assign(**{column: pd.Categorical([HOSTILE] * len(turns))}))
        assert "<script" not in html(made) and "&lt;script&gt;" in html(made)
    made = page(tmp_path, match=HOSTILE)
    assert "<script" not in html(made) and "There is no match" in made.alert


# --- choosing


def several():
    """Three matches in one table."""
    made = (("pd", "a", "one"), ("pd", "b", "two"), ("rps", "c", "two"))
    parts = [played(GAMES[name], match=match)[1].astype(object).assign(agent=agent) for name, match, agent in made]
    return typed({name: pd.concat([part[name] for part in parts], ignore_index=True) for name in COLUMNS})


def test_matches_are_found_by_game_agent_and_words(tmp_path):
    made = page(tmp_path, several())
    assert list(made.match.options.values()) == ["a", "b", "c"] and "3 found" in made.match.label
    made.agent.value = "two"
    assert list(made.match.options.values()) == ["b", "c"] and made.match.value == "b"
    made.game.value = "rps"
    assert list(made.match.options.values()) == ["c"]
    made.game.value = made.agent.value = ""
    made.search.value_input = "TWO pd"
    assert list(made.match.options.values()) == ["b"]


def test_a_match_stays_open_while_it_fits_what_is_searched(tmp_path):
    made = page(tmp_path, several(), match="c")
    made.step.value = 5
    made.search.value_input = "two"
    assert made.match.value == "c" and made.step.value == 5


def test_a_long_file_is_listed_in_part_and_reached_in_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(watching_choice, "OFFERED", 2)
    made = page(tmp_path, several(), match="c")
    assert list(made.match.options.values()) == ["c", "a", "b"] and "the first 2" in made.match.label
    made.search.value_input = "rps"
    assert list(made.match.options.values()) == ["c"]


def test_a_match_is_found_in_whatever_file_it_is(tmp_path):
    made = page(tmp_path, played(GAMES["pd"])[1], played(GAMES["rps"], match="b")[1], match="b")
    assert made.file.value == "file1" and made.match.value == "b"
    assert page(tmp_path, name="file1").match.value == "b"


def test_what_is_not_there_is_said(tmp_path):
    assert "no transcripts here yet" in page(tmp_path).alert
    (tmp_path / "broken.parquet").write_bytes(b"PAR1")
    assert "no transcripts here yet" in page(tmp_path).alert
    made = page(tmp_path, played(GAMES["pd"])[1], name="other")
    assert "There is no transcript" in made.alert and made.shown
    assert "There is no match" in page(tmp_path, match="none").alert
    pd.DataFrame({"match": ["a"], "turn": [1], "seat": [0]}).to_parquet(tmp_path / "file0.parquet")
    made = page(tmp_path)
    assert "cannot be read (No match for FieldRef.Name(game)" in made.alert and not made.shown


def test_one_match_is_read_as_the_whole_table_has_it():
    for file in sorted(SMOKE.glob("*.parquet")):
        turns = read(file)
        match = str(turns.match.iloc[-1])
        own = watching_files.turns_of(file, match)
        whole = turns[turns.match == match].sort_values(["turn", "seat"]).reset_index(drop=True)
        for name in turns:
            assert own[name].astype(object).where(own[name].notna(), None).tolist() == (
                whole[name].astype(object).where(whole[name].notna(), None).tolist()
            )
    with pytest.raises(AgonError, match="there is no match"):
        watching_files.turns_of(file, "none")


def test_a_file_that_was_written_anew_is_read_anew(tmp_path):
    made = page(tmp_path, played(GAMES["pd"])[1])
    write(played(GAMES["rps"], match="abc")[1], tmp_path / "file0.parquet")
    assert Viewer(tmp_path).match.value == "abc" and made.match.value == "a"


# --- for everybody


def test_buttons_go_to_the_first_and_last_place_and_no_further(tmp_path):
    made = page(tmp_path, played(GAMES["pd"])[1])
    turned = ((made.back, 1), (made.next, 2), (made.last, 17), (made.next, 17), (made.back, 16), (made.first, 1))
    for button, at in turned:
        button.clicks += 1
        assert made.step.value == at
    made.step.value = 4
    assert made.step.value == 4 and "Step 4 of 16" in made.title


def test_every_widget_has_a_label_and_every_table_a_caption_and_headings(tmp_path):
    made = page(tmp_path, read(SMOKE / "magic_standin.parquet"))
    assert all(each.label for each in made.widgets)
    for _ in places(made):
        shown = html(made)
        assert shown.count("<table") == shown.count("<caption") and shown.count("<table") <= shown.count('scope="row"')


def test_long_texts_are_folded_unless_asked_for(tmp_path):
    made = page(tmp_path, played(GAMES["pd"], reply="word " * 100)[1])
    assert "<details><summary>Reply, 500 characters" in made.done
    made.unfold.value = True
    assert "<details open><summary>Reply, 500 characters" in made.done
    assert watching_parts.folded("Reply", "short") == "short"


@pytest.mark.parametrize(
    ("space", "said"),
    [
        ({"choice": ["a", "b"]}, "one of: a; b"),
        ({"number": [0, 20], "step": 5}, "a whole number from 0 to 20, in steps of 5"),
        ({"text": 500}, "a text of at most 500 characters"),
        ({"offer": ["A", "B"], "total": 100, "tolerance": 0.5}, "shares that sum to 100, for A, B"),
        ({"form": {"x": {"choice": ["a"]}}}, "x: one of: a"),
        ({"call": ["decide"]}, "a call of one of: decide"),
        ({"ratings": {"turns": 3}}, "ratings: turns 3"),
    ],
)
def test_what_was_asked_is_said_in_words(space, said):
    assert watching_parts.asked_for(space) == said


def test_the_page_is_one_object_for_a_browser_and_a_notebook(tmp_path):
    write(played(GAMES["pd"])[1], tmp_path / "one.parquet")
    assert isinstance(watching.page(tmp_path, "one"), pn.viewable.Viewable)
