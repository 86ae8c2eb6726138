"""Studies by their pages: rehearsed over HTTP, walked in browsers, and one text of the rules for people and models."""

import asyncio
import gzip
import html
import json
import re

import httpx
import msgspec
import nbformat
import pandas as pd
import pytest
import yaml
from driving import seat_parts, settled
from patience import LONG, comes
from test_study_rules import FILE

from agon import ROOT, AgonError
from agon.agents.prompts import prompts, template_of
from agon.agents.telling import STYLE
from agon.conf import load
from agon.games.html import as_text
from agon.games.pages import page_of
from agon.loop import start_match
from agon.turns import read
from agon_hall import Refusal, access, monitor, study_pages, tables, web
from agon_hall.monitor import monitor_context
from agon_hall.protocol import Study, cells, match_id, study
from agon_hall.rehearsal import checks, rehearse
from agon_hall.rules import OWN_RULES, RULES, rules_text
from agon_hall.server import Server, open_socket
from agon_hall.session import Session
from agon_hall.store import Blocked, Store
from agon_hall.study_pages import rules_of
from agon_hall.tables import Hall

NAMES = ("counterfactual_people", "tradecraft_people")


def words(text):
    """Words and numbers alone: how they are set does not count."""
    return re.findall(r"[\w~']+", re.sub(r"^\d+\. ", "", text, flags=re.MULTILINE))


def sections(prompt):
    """What stands before the first heading of a prompt, and its sections by name."""
    first, *more = re.split(r"^# +(.*)$", prompt, flags=re.MULTILINE)
    return {"": first} | {name.lower(): told for name, told in zip(more[::2], more[1::2], strict=True)}


def test_people_and_models_read_one_text(subtests):
    for design in map(study, NAMES):
        for cell in cells(design):
            with subtests.test(cell.name, study=design.name):
                require_one_text(design, cell)


def require_one_text(design, cell):
    """The rules on people's pages are the words of the prompt of models."""
    game, seed = load("game", cell.game), int(match_id(design, cell, 0), 16)
    _, (state, views, _), _ = start_match(game, seed)
    for seat in cell.people:
        view = views.get(seat) or game.observe(state, seat)
        prompt = sections(prompts(template_of(view.rules), STYLE).system(view._replace(legal=views[min(views)].legal)))
        told = [f"{head} {text}" for head, text in prompt.items() if head in ("", *RULES, *OWN_RULES)]
        assert words(" ".join(told).lower()) == words(as_text(rules_text(view, game, state)).lower())
        assert set(prompt) - {"", *RULES, *OWN_RULES} <= {"how to answer", "tools"}
    before = words(as_text(rules_of(cell)))
    told = " ".join(prompt.get(head, "") for head in ("", *RULES))
    for sentence, other in page_of(game).rewording(game, cell.aids).items():
        told = told.replace(sentence, other)
    public = words(told)
    assert [word for word in before if word in public][-50:] == public[-50:]


def test_who_the_other_player_is_is_told_to_people_and_models_alike():
    told, untranslated = (
        next(each for each in cells(study(NAMES[0])) if each.name == name) for name in ("told/pd~program", "untold/pd")
    )
    sentence = "The other player is a computer program."
    assert sentence in as_text(rules_of(told)) and sentence not in as_text(rules_of(untranslated))


def test_a_rehearsal_walks_through_every_page(tmp_path):
    lines = []
    rehearse(NAMES[0], lines.append, tmp_path / "out")
    assert any(line.startswith("the bill: 160 participants, 320.00 to 800.00 GBP") for line in lines)
    (ends,) = (line for line in lines if " in 8 cells" in line)
    number = {what: int(n) for n, what in re.findall(r"(\d+) (\w+)", ends.rpartition(": ")[2])}
    assert (number["complete"], number["declined"], number["screened"]) == (10, 1, 1)
    assert number["left"] + number["dropped"] + number["closed"] == 5  # who left at each stage
    people, turns = pd.read_csv(tmp_path / "out/participants.csv"), read(tmp_path / "out/turns.parquet")
    assert people[people.exclusions.isna()].cell.nunique() == 8 and set(turns.agent) == {"human", "tit_for_tat"}


def test_a_rehearsal_names_what_is_missing(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    group = {"games": ["pd"], "seats": ["human", "zs@gpt_4o"], "quota": 2}
    faults, _ = checks(msgspec.convert(FILE | {"cells": {"one": group}}, Study))
    assert faults == [
        "conf/study/own.yaml: one: gpt_4o costs money: set a budget in USD.",
        "model gpt_4o: OPENAI_API_KEY is not in the environment",
    ]
    _, notes = checks(msgspec.convert(FILE | {"cells": {"one": group}, "budget": {"usd": 0.5}}, Study))
    assert "models: at most 1.00 USD in 2 matches, beside those that all leave" in notes


@pytest.mark.parametrize(
    ("language", "aims"), [("en", ("higher total", "as many points")), ("de", ("höhere Summe", "so viele Punkte"))]
)
def test_a_rehearsal_quotes_the_aims_of_those_whose_points_are_paid(language, aims):
    two = {"games": ["pd", "pd~stags"], "seats": ["human"] * 2, "quota": 2}
    three = {"games": ["public_goods/01"], "seats": ["human"] * 3, "quota": 3}
    own = msgspec.convert(FILE | {"language": language, "cells": {"three": three, "two": two}, "quiz": {}}, Study)
    notes = [note for note in checks(own)[1] if "each point is paid" in note]
    assert [note.partition(": ")[0] for note in notes] == ["three", "two/pd, two/pd~stags"]
    assert all(aim in note for aim, note in zip(aims, notes, strict=True))
    free = msgspec.structs.replace(own, pay=msgspec.structs.replace(own.pay, point=0.0))
    assert not [note for note in checks(free)[1] if "each point is paid" in note]


def walking(tmp_path, walk, password="", **changes):
    """Has `walk` use the pages of a study; what it returns."""

    async def go():
        hall = Hall(tmp_path)
        server = Server(hall, open_socket(), password=password)
        server.studies.sessions["own"] = Session(hall, msgspec.convert(FILE | changes, Study))
        serving = asyncio.create_task(server.run_here())
        try:
            async with httpx.AsyncClient(
                base_url=f"http://127.0.0.1:{server.port}", follow_redirects=True, trust_env=False
            ) as client:
                return await walk(client, server.studies.sessions["own"])
        finally:
            server.end()
            await serving
            await hall.close()

    return asyncio.run(asyncio.wait_for(go(), LONG))


def test_links_that_are_none_open_nothing(tmp_path):
    async def walk(client, session):
        assert (await client.get("/join/nowhere?pid=1")).status_code == 404
        page = await client.get("/part/events?key=1")  # `events` is the name of a study here
        assert page.status_code == 404 and page.headers["content-type"].startswith("text/html")
        assert "Your participant number" in (await client.get("/join/own")).text
        assert (await client.get("/join/own", params={"pid": "x" * 101})).status_code == 400
        assert (await client.head("/join/own?pid=1")).status_code == 200 and not session.states  # asked by a machine
        at = str((await client.get("/join/own?pid=1")).url)
        for wrong in (at[:-1] + ("0" if at[-1] != "0" else "1"), at.rsplit(".", 1)[0], "/part/own"):
            for page in (wrong, wrong.replace("/own", "/own/~events")):
                assert (await client.get(page)).status_code == 403
        assert (await client.post(at.replace("own", "counterfactual_people"), data={"do": "agree"})).status_code == 403
        foreign = await client.post(at, data={"do": "agree"}, headers={"Origin": "http://elsewhere.example"})
        assert foreign.status_code == 403 and next(iter(session.states.values())).stage == "consent"

    walking(tmp_path, walk)


def test_where_links_are_signed_nobody_comes_by_one_of_their_own_making(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(monitor, "names", lambda group: ["own"])

    async def walk(client, session):
        shown = html.unescape((await client.get("/monitor?study=own&number=3")).text)
        first, second, third = re.findall(r"/join/own\?pid=\d&sig=\w+", shown)
        assert "PROLIFIC" not in shown and third
        sig = second.partition("sig=")[2]
        others = [
            "",
            "?pid=1",
            "?pid=1&sig=",
            f"?pid=1&sig={sig}",
            f"?PROLIFIC_PID=1&pid=2&sig={sig}",
            f"?workerId=2&sig={sig}",
        ]
        for query in [*others, f"?participant=9&sig={sig}", "?pid=1&sig=\u00e9"]:
            page = await client.get(f"/join/own{query}")
            assert page.status_code == 400 and "This link is not whole" in page.text and not session.states, query
        assert "refused: a study's link: This link is not whole" in caplog.text and sig not in caplog.text
        for link in (first, second, second):
            assert "Do you want to take part?" in (await client.get(link)).text
        assert sorted(session.hall.store.sources("own").values()) == [("link", "1"), ("link", "2")]

    walking(tmp_path, walk, signed=True)


def test_nobody_fills_a_study_from_one_place_in_a_moment(tmp_path, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(access, "monotonic", lambda: now[0])

    async def walk(client, session):
        most, pause = access.NEWCOMERS
        came = [(await client.get(f"/join/own?pid={number}")).status_code for number in range(most + 3)]
        assert came.count(200) == len(session.states) == most + 1 and came[-2:] == [429, 429]
        assert (await client.get("/join/own?pid=1")).status_code == 200  # who has come before may come again
        page = await client.get("/join/own?pid=new")
        assert page.status_code == 429 and "from your network" in page.text and len(session.states) == most + 1
        now[0] += pause
        assert (await client.get("/join/own?pid=new")).status_code == 200

    walking(tmp_path, walk)


def test_a_participants_link_holds_for_some_days_after_they_last_went_on(tmp_path):
    async def walk(client, session):
        at = str((await client.get("/join/own?pid=1")).url)
        (who,) = session.states
        session.states[who] = msgspec.structs.replace(session.states[who], since=session.clock() - 31 * 86400)
        for link in (at, at.replace("/own", "/own/~events"), "/join/own?pid=1"):
            page = await client.get(link)
            assert page.status_code == 410 and FILE["consent"]["contact"] in page.text
        assert (await client.post(at, data={"do": "agree"})).status_code == 410 and session.states[
            who
        ].stage == "consent"
        assert (await client.get("/join/own?pid=2")).status_code == 200

    walking(tmp_path, walk)


def test_participants_need_no_password_and_see_nothing_of_others(tmp_path):
    async def walk(client, session):
        assert "/login" in str((await client.get("/monitor?study=own")).url)
        page = await client.get("/join/own?PROLIFIC_PID=qsecretq")
        assert "qsecretq" not in page.text + str(page.url) and "/monitor" not in page.text
        shown = json.dumps(dict(web.parts_of("monitor.html", monitor_context(session))))
        who = next(iter(session.states))
        assert session.hall.keys.pseudonym(who) in shown and who not in shown and "qsecretq" not in shown

    walking(tmp_path, walk, password="a long password")


def test_what_people_write_is_text_and_faults_are_said_and_kept(tmp_path):
    async def walk(client, session):
        at = str((await client.get("/join/own?pid=1")).url)
        for do in ("agree", "read"):
            await client.post(at, data={"do": do})
        page = await client.post(at, data={"do": "quiz"})
        assert page.status_code == 200 and "Please answer this question." in page.text
        page = await client.post(at, data={"do": "quiz", "0": "a"})
        assert "This is not right." in page.text and "Tries left: 1" in page.text
        page = await client.post(at, data={"do": "quiz", "place": "quiz-0-0-0", "0": "a"})  # a reload sends it again
        assert "This has been answered already" in page.text and "Tries left: 1" in page.text
        assert 'name="place" value="quiz-0-0-1"' in page.text
        assert "This has been answered already" in (await client.post(at, data={"do": "survey"})).text
        (who,) = session.states
        table = session.hall.open("pd", ["human", "tit_for_tat"])
        session.do(who, "answered", right=True)
        for kind, detail in (
            ("matched", {"table": table.id, "match": "m", "seat": 0}),
            ("finished", {"points": 7, "whole": False}),
        ):
            session.do(who, kind, **detail)
        page = await client.post(at, data={"do": "survey", "0": "<b>bold</b>", "1": "x"})
        assert page.status_code == 200 and "&lt;b&gt;bold" in page.text and "<b>bold" not in page.text
        assert "which was not your doing" in page.text
        page = await client.post(at, data={"do": "survey", "0": "so", "1": "a"})
        assert "DONE" in page.text and "3.00 GBP" in page.text and session.states[who].failed_checks == ("Who is it?",)
        kinds = [(kind, detail.get("what")) for _, _, kind, detail in session.hall.store.events("own")]
        assert kinds.count(("noted", "refused")) == 2

    walking(tmp_path, walk)


def test_who_is_asked_to_agree_is_told_what_is_kept_of_their_typing(tmp_path):
    async def walk(client, session):
        page = await client.get("/join/own?pid=1")
        assert ("also what you do not send" in page.text) == session.study.consent.drafts

    for drafts in (False, True):
        walking(tmp_path / str(drafts), walk, consent=FILE["consent"] | {"drafts": drafts})


def test_pages_are_light_and_in_the_studys_language(tmp_path):
    async def walk(client, session):
        page = await client.get("/join/own?pid=1")
        assert '<html lang="de">' in page.text and "Ich nehme teil" in page.text
        files = re.findall(r'(?:href|src)="(/static/[^"]+)"', page.text)
        sent = [page.content, *[(await client.get(html.unescape(file))).content for file in files]]
        assert len(files) == 2 and sum(len(gzip.compress(each)) for each in sent) < 15_000
        for refused in ("/part/own?key=1", "/join/own?pid=%3D1"):  # a screen reader speaks the language that they name
            page = await client.get(refused)
            assert (
                '<html lang="de">' in page.text
                and "Zum Inhalt" in page.text
                and "link" not in page.text.split("<h1>")[1]
            )

    walking(tmp_path, walk, language="de", words={"I agree, and take part": "Ich nehme teil"})


def test_a_seat_and_its_game_speak_the_studys_language(tmp_path):
    async def walk(client, session):
        at = str((await client.get("/join/own?pid=1")).url)
        page = await client.post(at, data={"do": "agree"})
        assert "So geht es" in page.text and "Für jede Antwort hast du 60 Sekunden." in page.text
        assert (
            '<div lang="de"><p>Du spielst ein wiederholtes Spiel' in page.text
            and "Alle wählen im selben Moment" in page.text
        )
        await client.post(at, data={"do": "read"})
        assert "Das ist nicht richtig." in (await client.post(at, data={"do": "quiz", "0": "a"})).text
        await client.post(at, data={"do": "quiz", "0": "b"})
        session.tick()
        page = await client.get(at)
        assert "/seat?" in str(page.url) and '<html lang="de">' in page.text
        assert "Du bist am Zug, Runde 1." in page.text and "Verbleibende Zeit:" in page.text
        assert '<div lang="de"><h2>Runde 1: Wähle deine Aktion.</h2></div>' in page.text
        assert "Erziele im ganzen Spiel so viele Punkte wie möglich." in page.text and "Zugzeile" not in page.text
        assert "Noch keine Runde ist zu Ende." in page.text and "cooperation" in page.text
        assert not [each for each in ("Your turn", "Time left", "Leave the study") if each in page.text]
        sent = await client.post(str(page.url), data={"form": "answer", "question": "7"})
        assert "Your turn" not in sent.text

    walking(
        tmp_path, walk, language="de", cells={"one": {"games": ["pd"], "seats": ["human", "tit_for_tat"], "quota": 1}}
    )


def test_without_questions_on_a_game_there_is_no_quiz(tmp_path):
    async def walk(client, session):
        at = str((await client.get("/join/own?pid=1")).url)
        await client.post(at, data={"do": "agree"})
        page = await client.post(at, data={"do": "read"})
        assert "Please wait for another participant." in page.text

    asked = [FILE["quiz"]["questions"][0] | {"games": ["pd~stags"]}]
    walking(tmp_path, walk, cells={"two": FILE["cells"]["two"]}, quiz={"questions": asked})


def test_a_cell_that_is_gone_from_the_file_strands_nobody(tmp_path):
    async def walk(client, session):
        at = str((await client.get("/join/own?pid=1")).url)
        await client.post(at, data={"do": "agree"})
        await client.post(at, data={"do": "read"})
        (who,) = session.states
        del session.cells[session.states[who].cell]
        page = await client.get(at)
        assert page.status_code == 200 and "Who is it?" in page.text
        assert "Please wait for another participant." in (await client.post(at, data={"do": "quiz", "0": "b"})).text
        since = session.states[who].since
        session.clock = lambda: since + 61
        session.mark_presence(who)
        session.tick()
        assert "Nobody else came while you waited." in (await client.get(at)).text

    walking(tmp_path, walk)


def test_who_leaves_is_out_for_good(tmp_path, monkeypatch):
    monkeypatch.setattr(monitor, "names", lambda group: ["own"])

    async def walk(client, session):
        shown = html.unescape((await client.get("/monitor?study=own")).text)
        assert "/join/own?PROLIFIC_PID={{%PROLIFIC_PID%}}" in shown  # as Prolific's documentation writes it
        at = str((await client.get("/join/own?pid=1")).url)
        await client.post(at, data={"do": "agree"})
        assert "Leave the study?" in (await client.get(at + "&leave=1")).text
        page = await client.post(at, data={"do": "withdraw"})
        assert "You have left the study." in page.text and "no completion code" in page.text
        assert "You have left the study." in (await client.get("/join/own?pid=1")).text

    walking(tmp_path, walk)


def test_a_wrong_answer_is_shown_by_a_page_that_can_be_read_again(tmp_path):
    async def walk(client, session):
        at = str((await client.get("/join/own?pid=1")).url)
        for do in ("agree", "read"):
            await client.post(at, data={"do": do})
        reply = await client.post(at, data={"do": "quiz", "0": "a", "9" * 4000: "x"}, follow_redirects=False)
        assert reply.status_code == 303
        for _ in range(2):
            page = (await client.get(at)).text
            assert "This is not right." in page and re.search(r'value="a" checked', page)
        (rejection,) = session.rejections.values()
        assert rejection.answers == {"0": "a", "1": "", "2": ""}
        await client.post(at, data={"do": "quiz", "0": "b"})
        assert "This is not right." not in (await client.get(at)).text

    walking(tmp_path, walk)


def test_what_cannot_be_kept_or_run_is_not_called_a_wrong_link(tmp_path, monkeypatch):
    def blocked(*_):
        raise Blocked("the disk is full")

    def unfit(name):
        raise AgonError("its file does not fit")

    async def walk(client, session):
        at = str((await client.get("/join/own?pid=1")).url)
        with monkeypatch.context() as full:
            full.setattr(session.hall.store, "participant", blocked)
            page = await client.get("/join/own?pid=2")
        assert page.status_code == 503 and "You cannot be let in just now." in page.text and len(session.states) == 1
        monkeypatch.setattr(study_pages.Studies, "session", lambda self, name: unfit(name))
        for each in (at, "/join/own?pid=1", "/join/own?pid=3"):
            page = await client.get(each)
            assert page.status_code == 503 and "What you did is kept." in page.text and "does not fit" not in page.text
        assert "There is no study here." in (await client.get("/join/none?pid=1")).text

    walking(tmp_path, walk)


def hall_events(folder):
    """All that has happened in the study, beside a server."""
    store = Store(folder, read_only=True)
    try:
        return store.events("own")
    finally:
        store.close()


def test_the_matches_of_a_study_that_cannot_be_run_wait_for_it(tmp_path, short, monkeypatch, subtests):
    for lost in ("the study's file", "an agent's"):
        with subtests.test(lost):
            require_wait(tmp_path / lost, monkeypatch, lost)


def require_wait(tmp_path, monkeypatch, lost):
    """The matches wait while something is lost, and go on by themselves afterwards."""
    file = FILE | {"cells": {"two": FILE["cells"]["two"]}}

    def there(name):
        return msgspec.convert(file, Study)

    def broken(*_, **__):
        raise AgonError("conf/study/own.yaml: it cannot be read")

    async def go():
        monkeypatch.setattr(study_pages, "study", there)
        hall = Hall(tmp_path)
        session = study_pages.Studies(hall, asyncio.Event()).session("own")
        people = [session.join("link", pid) for pid in "ab"]
        for who in people:
            session.do(who, "consented")
            session.do(who, "read")
            session.do(who, "answered", answers={}, right=True)
        session.tick()
        (table,) = hall.tables.values()
        await settled(table)
        assert table.status == "playing" and table.questions
        await hall.close()

        places = {"the study's file": (study_pages, "study"), "an agent's": (tables, "seating")}
        happened = hall_events(tmp_path)
        with monkeypatch.context() as gone:
            gone.setattr(*places[lost], broken)
            hall = Hall(tmp_path)
            studies = study_pages.Studies(hall, asyncio.Event())
            with pytest.raises(AgonError):
                studies.session("own")
            await asyncio.sleep(0.1)
            assert not studies.sessions and not hall.table_listeners  # nothing is left of those that could not be made
            for table in hall.tables.values():
                assert table.on_hold and not table.questions and not table.running
                assert "The study cannot go on just now." in seat_parts(table, 0)["status"]
                with pytest.raises(Refusal):
                    table.go_on()
            assert bool(hall.tables) == (lost == "the study's file")
        assert hall.store.tables()[0].status == "playing" and hall_events(tmp_path) == happened

        await comes(lambda: studies.sessions, "a session, now that the file is mended: nobody has to do anything")
        session, (table,) = studies.sessions["own"], hall.tables.values()
        await settled(table)
        assert not table.on_hold and table.questions and table.terms.stand_in.agent == "tit_for_tat"
        assert {session.states[who].stage for who in people} == {"match"}
        await hall.close()

    asyncio.run(go())


def test_of_a_study_with_one_match_that_cannot_go_on_none_does(tmp_path, short, monkeypatch):
    file, seating, calls = FILE | {"cells": {"two": FILE["cells"]["two"]}}, tables.seating, []

    def second_is_gone(*words, **more):
        calls.append(words)
        if len(calls) > 1:
            raise AgonError("there is no agent of this name")
        return seating(*words, **more)

    async def go():
        monkeypatch.setattr(study_pages, "study", lambda name: msgspec.convert(file, Study))
        hall = Hall(tmp_path)
        session = study_pages.Studies(hall, asyncio.Event()).session("own")
        for pid in "abcd":
            who = session.join("link", pid)
            session.do(who, "consented")
            session.do(who, "read")
            session.do(who, "answered", answers={}, right=True)
        session.tick()
        assert len(hall.tables) == 2
        await hall.close()
        with monkeypatch.context() as gone:
            gone.setattr(tables, "seating", second_is_gone)
            hall = Hall(tmp_path)
            studies = study_pages.Studies(hall, asyncio.Event())
            (table,) = hall.tables.values()
            await asyncio.sleep(0.1)
            assert table.on_hold and not table.running and not studies.sessions and not hall.table_listeners
        await hall.close()

    asyncio.run(go())


def test_a_study_whose_file_is_gone_stops_nothing_else(tmp_path):
    async def go():
        hall = Hall(tmp_path)
        hall.store.add_events("gone", [(hall.store.participant("gone", "link", "1"), 0.0, "arrived", {})])
        found = study_pages.Studies(hall, asyncio.Event())
        assert not found.sessions
        with pytest.raises(AgonError, match="there is no study 'gone'"):
            found.session("gone")
        await hall.close()

    asyncio.run(go())


# --- in browsers


def goes(person, server, pid):
    """Somebody comes by the link and goes on to the lobby, or the match."""
    page = person.page
    page.goto(f"{server.url}/join/own?PROLIFIC_PID={pid}")
    page.get_by_role("button", name="I agree, and take part").click()
    page.get_by_role("button", name="I have read the rules").click()
    page.get_by_label("b", exact=True).check()
    page.get_by_role("button", name="Send").click()


def plays(people, rounds):
    """Everybody cooperates for some rounds."""
    for number in range(rounds):
        for each in people:
            button = each.page.locator("#answer-form").get_by_role("button", name="cooperation")
            button.wait_for()
            assert f"ound {number + 1}" in each.page.locator("#status").inner_text()
            button.click()


def test_two_people_meet_lose_the_server_and_come_to_their_codes(server, person):
    changes = {"name": "own", "cells": {"two": FILE["cells"]["two"]}, "seconds": 600, "dropout": {"away": 600}}
    (server.project / "conf/study/own.yaml").write_text(yaml.safe_dump(FILE | changes))
    one, other = person(), person(viewport={"width": 320, "height": 640})
    goes(one, server, "a")
    one.page.get_by_text("Please wait for another participant.").wait_for()
    assert one.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    goes(other, server, "b")
    for each in (one, other):
        each.page.wait_for_url("**/seat?*")
    plays((one, other), 1)
    one.page.get_by_text("ound 2").first.wait_for()  # both answers have come
    server.kill()
    one.page.get_by_text("Not connected.").wait_for()
    server.start()
    other.page.goto(f"{server.url}/join/own?PROLIFIC_PID=b")  # a second time, by the first link
    other.page.wait_for_url("**/seat?*")
    assert other.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for each in (one, other):
        each.page.get_by_text("ound 2").first.wait_for()
    for number in (2, 3):
        for each in (one, other):
            button = each.page.locator("#answer-form").get_by_role("button", name="cooperation")
            each.page.get_by_text(f"Round {number}: choose").wait_for()
            button.click()
    for each in (one, other):
        each.page.get_by_role("link", name="Go on with the study").click()
        each.page.get_by_label("Why?").fill("so")
        each.page.get_by_label("b", exact=True).check()
        each.page.reload()  # what is not sent yet is there again
        assert each.page.get_by_label("Why?").input_value() == "so"
        assert each.page.get_by_label("b", exact=True).is_checked()
        each.page.get_by_role("button", name="Send").click()
        each.page.get_by_text("DONE").wait_for()
        assert each.page.evaluate("sessionStorage.length") == 0
        assert "3.20 GBP" in each.page.locator("main").inner_text()  # 2 for coming, 0.1 for each of 12 points
    said = server.run("collect", "own")
    assert said.returncode == 0 and "2 participants, 2 at the end, 1 match" in said.stdout


def test_six_tabs_of_one_person_leave_the_browser_free(server, person):
    changes = {"name": "own", "cells": {"two": FILE["cells"]["two"]}, "seconds": 600, "dropout": {"away": 600}}
    (server.project / "conf/study/own.yaml").write_text(yaml.safe_dump(FILE | changes))
    one, other = person(), person()
    goes(one, server, "c")
    one.page.get_by_text("Please wait for another participant.").wait_for()
    tabs = [one.page.context.new_page() for _ in range(6)]
    for tab in tabs:
        tab.goto(one.page.url)
        tab.get_by_text("Please wait for another participant.").wait_for()
    goes(other, server, "d")
    for tab in (one.page, *tabs):  # those that listen, and those that ask now and then
        tab.wait_for_url("**/seat?*")
    for tab in tabs:
        tab.reload()
    tabs[-1].locator("#answer-form").get_by_role("button", name="cooperation").click()
    plays((other,), 1)
    for tab in tabs:
        tab.get_by_text("ound 2").first.wait_for()


def test_the_notebook_sets_people_beside_models():
    cells = nbformat.read(ROOT / "notebooks/people_and_models.ipynb", as_version=4).cells
    variables = {}
    for cell in cells:
        if cell.cell_type == "code":
            exec(cell.source, variables)
    means = variables["means"]
    first = means[means.metric == "first"]
    assert first.groupby("who").n.sum().to_dict() == {"people": 24, "zs@standin": 24} and first.cell.nunique() == 8
    assert set(variables["included"].participant) < set(variables["participants"].participant)
