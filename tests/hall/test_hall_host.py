"""What a host can do at a table: pause it, give more time, write to its people, and find a participant's table."""

import asyncio
import functools
import shutil

import pandas as pd
import pytest
from bs4 import BeautifulSoup
from driving import THOUGHT, Visitor, hall, seat_parts, serving, settled, sit_all
from patience import comes
from test_study_rules import TWO, Clock, gathered, goes, plays, run, served, session

from agon import ROOT
from agon.games.html import as_text
from agon.plan import PERSON
from agon_hall import Refusal, monitor, table, tables
from agon_hall.lobby import _change, host_context
from agon_hall.web import parts_of


@pytest.fixture
def short_study(monkeypatch, tmp_path_factory):
    """Tables of this process have a dilemma of three rounds."""
    folder = tmp_path_factory.mktemp("short") / "conf"
    shutil.copytree(ROOT / "conf", folder)
    path = folder / "game/pd.yaml"
    path.write_text(path.read_text().replace("rounds: 16", "rounds: 3"))
    monkeypatch.setattr(tables, "seating", functools.partial(tables.seating, conf=folder))


def at_table(folder, short, play, entrants=(PERSON, PERSON), seconds=60):
    async def go():
        async with hall(folder) as made:
            place = made.open("pd", entrants, seconds)
            sit_all(place)
            await settled(place)
            return await play(place)

    return asyncio.run(go())


def test_a_paused_clock_stands_still_and_the_pause_is_not_counted(tmp_path, short):
    async def play(place):
        question = place.questions[0]
        place.has_read(0)
        place.pause()
        left = question.seconds_left()
        await asyncio.sleep(0.3)
        assert question.seconds_left() == left and question.clock.when() is None
        with pytest.raises(Refusal, match="paused the match"):
            place.answer(0, 0, ["cooperation"])
        place.resume()
        assert left - 0.2 < question.seconds_left() <= left and question.clock.when() is not None
        place.answer(0, 0, ["cooperation"])
        return place.store.answer(place.id, 0, 0).seconds

    assert at_table(tmp_path, short, play) < 0.3


def test_rules_that_are_read_in_a_pause_start_the_clock_once(tmp_path, short):
    async def play(place):
        place.pause()
        await asyncio.sleep(0.3)
        place.has_read(0)
        place.resume()
        await asyncio.sleep(0.2)
        left = place.questions[0].seconds_left()
        place.has_read(0)  # pressed twice, or in another tab
        assert 59 < place.questions[0].seconds_left() <= left < 59.9
        place.answer(0, 0, ["cooperation"])
        return place.store.answer(place.id, 0, 0).seconds

    assert 0.15 < at_table(tmp_path, short, play) < 5


def test_time_goes_on_to_be_up_after_a_pause(tmp_path, short):
    async def play(place):
        for seat in (0, 1):
            place.has_read(seat)
        place.questions[0].set_clock(0.05)
        place.pause()
        await asyncio.sleep(0.2)
        assert 0 in place.questions and not place.missed_rounds
        place.resume()
        await comes(lambda: place.missed_rounds.get(0) == 1, "the end of the time")

    at_table(tmp_path, short, play)


def test_no_model_is_asked_during_a_pause(tmp_path, short):
    async def play(place):
        asked = place.store.answer(place.id, 1, 1)
        place.pause()
        place.resume()
        place.answer(0, 0, ["cooperation"])
        place.pause()
        for _ in range(50):
            await asyncio.sleep(0.01)
        assert asked is None and place.store.answer(place.id, 1, 1) is None
        place.resume()
        await comes(lambda: place.store.answer(place.id, 1, 1) is not None, THOUGHT)

    at_table(tmp_path, short, play, [PERSON, "zs@thinker"])


def test_a_pause_and_a_message_survive_a_restart_and_the_match_goes_on(tmp_path, short):
    async def go():
        async with hall(tmp_path) as made:
            id_ = made.open("pd", [PERSON, "zs@thinker"], 60).id
            sit_all(made.find(id_))
            await settled(made.find(id_))
            made.find(id_).answer(0, 0, ["cooperation"])
            await comes(lambda: 0 in made.find(id_).questions, "the second question")
            made.find(id_).tell("Lunch until one")
            made.find(id_).pause()
        async with hall(tmp_path) as made:
            place = made.find(id_)
            await comes(lambda: 0 in place.questions, "the second question again")
            told = seat_parts(place, 0)["status"]
            assert "The match is paused." in told and "From the host: Lunch until one" in told
            assert place.questions[0].clock.when() is None
            with pytest.raises(Refusal, match="paused the match"):
                place.answer(0, 1, ["defection"])
            place.resume()
            place.answer(0, 1, ["defection"])
            await comes(lambda: 0 in place.questions and place.questions[0].number == 2, "the third question")
            place.tell("")
        async with hall(tmp_path) as made:
            await comes(lambda: 0 in made.find(id_).questions, "the third question again")
            told = seat_parts(made.find(id_), 0)["status"]
            assert "paused" not in told and "From the host" not in told

    asyncio.run(go())


def test_a_paused_match_with_a_model_can_be_given_up(tmp_path, short):
    async def play(place):
        place.pause()
        place.give_up()
        await comes(lambda: place.running is None, "the end of the match")
        assert place.status == "closed"

    at_table(tmp_path, short, play, [PERSON, "zs@thinker"])


def test_a_host_gives_more_time_by_a_whole_number(tmp_path, short):
    async def play(place):
        left = place.questions[0].seconds_left()
        _change(place, {"do": "extend", "seconds": "90"})
        assert 89 < place.questions[0].seconds_left() - left + 1 < 91.5
        for wrong in ("", "-5", "1.5", "9" * 30, "003600999", "000001" + "9" * 400, "0", "3601"):
            with pytest.raises(Refusal, match="whole number of 1 to 3,600"):
                _change(place, {"do": "extend", "seconds": wrong})

    at_table(tmp_path, short, play)


def test_a_message_is_text_on_the_pages_of_people_alone(tmp_path, short):
    async def play(place):
        _change(place, {"do": "tell", "message": "<b>Please hurry</b>"})
        for seat in (0, 1):
            html = seat_parts(place, seat)["status"]
            assert "From the host: <b>Please hurry</b>" in as_text(html) and not BeautifulSoup(html, "html.parser").b
        assert "hurry" not in seat_parts(place, None)["status"]
        _change(place, {"do": "tell", "message": ""})
        assert "From the host" not in seat_parts(place, 0)["status"]

    at_table(tmp_path, short, play)


def test_tokens_and_money_are_written_in_full(tmp_path, short):
    async def go():
        async with hall(tmp_path) as made:
            place = made.open("pd", [PERSON, "zs@thinker"])
            place.spending = {"tokens": 50_090.0, "usd": 0.0125}
            return as_text(parts_of("host.html", host_context(made, place, ""))["host"])

    assert "tokens 50,090, usd 0.0125" in asyncio.run(go())


def test_the_hosts_page_pauses_and_goes_on_without_scripts(tmp_path, short):
    async def go():
        async with serving(tmp_path) as (place, path, made, port):
            place.sit(0, "Ada")
            host = Visitor(f"http://localhost:{port}", f"/host?key={made.keys.key_of('host', place.id)}")
            player = Visitor(f"http://localhost:{port}", path)
            await host.opens()
            assert "It is paused" in (await host.presses("Pause the match")).text()
            assert "The match is paused." in (await player.opens()).text()
            assert "It is paused" not in (await host.presses("End the pause")).text()
            assert "The match is paused." not in (await player.opens()).text()

    asyncio.run(go())


def test_an_agent_that_takes_too_long_stops_the_match_and_goes_on(tmp_path, short, monkeypatch):
    async def play(place):
        monkeypatch.setattr(table, "PATIENCE", 0.0)
        place.answer(0, 0, ["cooperation"])
        await comes(lambda: place.status == "stopped", "the end of patience")
        assert "zs has not answered" in place.why and "its host can let the match go on" in place.why
        monkeypatch.setattr(table, "PATIENCE", 60.0)
        await comes(lambda: place.running is None, "the end of what is under way")
        place.go_on()
        await comes(lambda: place.store.answer(place.id, 1, 1) is not None, "an answer")
        assert place.status == "playing" and place.store.answer(place.id, 0, 0).action == "cooperation"

    at_table(tmp_path, short, play, [PERSON, "zs@thinker"])


def test_nobody_is_dropped_from_a_paused_match(tmp_path, short_study):
    async def go():
        clock = Clock()
        async with served(tmp_path, clock, **TWO) as (place, client):
            people = [goes(place, "a"), goes(place, "b")]
            place.tick()
            await asyncio.sleep(0)
            host = f"/host?key={place.hall.keys.key_of('host', place.table(people[0]).id)}"
            assert "It is paused" in (await client.post(host, data={"do": "pause"})).text
            clock.now += 31
            place.tick()
            assert {state.stage for state in place.states.values()} == {"match"}
            assert "It is paused" not in (await client.post(host, data={"do": "resume"})).text
            for seconds, stage in ((29, "match"), (2, "out")):  # only the time after the pause counts
                clock.now += seconds
                place.tick()
                assert {state.stage for state in place.states.values()} == {stage}

    run(go())


def test_what_a_host_does_in_a_study_is_among_its_events(tmp_path, short_study):
    async def go():
        async with session(tmp_path, Clock(), **TWO) as place:
            people = [goes(place, "a"), goes(place, "b")]
            place.tick()
            await asyncio.sleep(0)
            match = place.table(people[0])
            match.pause()
            match.resume()
            match.extend(5)
            match.tell("hello")
            await plays(place, *people)

    run(go())
    gathered(tmp_path, **TWO)
    events = pd.read_parquet(tmp_path / "out/events.parquet")
    told = "\n".join(events.detail)
    for kind in ("host: paused", "host: resumed", "host: extended", "host: message"):
        assert told.count(kind) == 2


def test_the_monitor_leads_from_a_participant_to_table_and_transcript(tmp_path, short_study, monkeypatch):
    async def go():
        async with session(tmp_path, Clock(), **TWO) as place:
            people = [goes(place, "a"), goes(place, "b")]
            place.tick()
            await plays(place, *people)
            context = {"say": place.say, **monitor.monitor_context(place)}
            page = BeautifulSoup(parts_of("monitor.html", context)["people"], "html.parser")
            names = [link["href"].partition("who=")[2] for link in page.find_all("a")]
            assert names == [place.hall.keys.pseudonym(who) for who in reversed(people)]
            pages = [{"say": place.say, **monitor.participant_context(place, who)} for who in people]
            ways = "".join(parts_of("participant.html", context)["way"] for context in pages)
            links = BeautifulSoup(ways, "html.parser").find_all("a")
            return [link["href"] for link in links], place.states[people[0]], place.hall

    monkeypatch.setattr(monitor, "ROOT", tmp_path / "root")
    links, state, made = run(go())
    key = made.keys.key_of("host", state.table)
    assert links == [f"/host?key={key}"] * 2
    gathered(tmp_path, **TWO)
    (tmp_path / "root/transcripts/studies").mkdir(parents=True)
    (tmp_path / "out").rename(tmp_path / "root/transcripts/studies/own")
    links, *_ = run(go())
    transcripts = [link for link in links if link.startswith("/transcripts")]
    assert len(transcripts) == 2 and f"match={state.match}" in transcripts[0] and "studies" in transcripts[0]


def test_a_table_of_a_study_has_no_links_for_its_host_to_send(tmp_path, short_study):
    async def go():
        async with session(tmp_path, Clock(), **TWO) as place:
            people = [goes(place, "a"), goes(place, "b")]
            place.tick()
            shown = dict(parts_of("host.html", host_context(place.hall, place.table(people[0]), "")))
            assert "/seat?key=" not in shown["host"] and shown["host"].count("came by the link of the study") == 2

    run(go())
