"""Several matches in one session: who meets whom, pay for one drawn match, own pages between, and what a host can do."""

import asyncio
import contextlib
import re
from itertools import combinations
from random import Random
from time import time

import msgspec
import pandas as pd
import pytest
import yaml
from bs4 import BeautifulSoup
from hypothesis import given
from hypothesis import strategies as st
from test_study_rules import (  # noqa: F401
    FILE,
    Clock,
    goes,
    made,
    plays,
    run,
    served,
    session,
    short,
    short_conf,
    written,
)

from agon import ROOT, AgonError
from agon.agents.languages import say_in
from agon.turns import read
from agon_hall import Refusal, monitor, upkeep
from agon_hall.gather import gather
from agon_hall.protocol import Study, cells, matches_of, study
from agon_hall.questions import faults, number_of
from agon_hall.rehearsal import checks, rehearse
from agon_hall.schedule import meetings, schedule
from agon_hall.study import State, drawn, earned, ending

PAGE = {
    "name": "mood",
    "text": "How was it?",
    "questions": [
        {"ask": "Do you trust them?", "scale": [1, 7], "ends": ["not at all", "fully"]},
        {"ask": "What will they earn?", "number": [0, 50], "optional": True},
        {"ask": "Why?", "optional": True},
    ],
}
FOUR = {
    "cells": {"two": FILE["cells"]["two"]},
    "matches": {"number": 3, "group": 4, "paid": "one", "seconds": 20},
    "pages": [PAGE],
    "quiz": {},
    "survey": [],
}
"""Groups of four, each of whom meets the three others."""


async def passes(place, *people, answers=None, stop=lambda: False, most=3000):
    """People play, answer pages and wait until all are at their ends, or until something is so."""
    for _ in range(most):
        if stop() or all(place.states[who].stage in ("out", "debrief") for who in people):
            return
        await asyncio.sleep(0)
        place.tick()
        for who in people:
            if stop():
                return
            state = place.states[who]
            if state.stage not in ("out", "debrief"):
                place.mark_presence(who)
            if state.stage == "page":
                place.do(who, "answered", page="mood", answers=answers or {"0": "6", "1": "3,5", "2": "=so"})
            elif state.stage == "match":
                table, seat = place.table(who), state.seat
                if (question := table.questions.get(seat)) is not None:
                    with contextlib.suppress(Refusal):
                        action = question.view.legal.example(Random(f"{who}/{question.number}"))
                        table.answer(seat, question.number, [action])
    raise AssertionError({who: place.states[who].place for who in people})


def partners(place, who):
    """Everybody whom a participant has met, in order."""
    tables = {table: seat for _, table, seat in place.states[who].tables}
    return [place._places.get((table, 1 - seat)) for table, seat in tables.items()]


def collected(folder, **changes):
    """The files that `collect` writes: participants, matches, answers and turns."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("agon_hall.gather.study", lambda name: made(**{**FOUR, **changes}))
        gather(folder, "own", folder / "out")
    tables = [pd.read_csv(folder / f"out/{name}.csv") for name in ("participants", "matches", "answers")]
    return *tables, read(folder / "out/turns.parquet")


# --- the schedule


@given(st.integers(1, 6), st.integers(2, 4), st.integers(1, 8), st.text())
def test_everybody_plays_once_at_a_time(matches, seats, number, seed):
    size = matches * seats
    divisions = schedule(size, seats, number, seed)
    assert divisions == schedule(size, seats, number, seed) and len(divisions) == number
    for division in divisions:
        assert sorted(member for match in division for member in match) == list(range(size))
        assert {len(match) for match in division} == {seats}
    if seats == 2 and number < size:
        assert meetings(divisions) == 1


def test_pairs_meet_everybody_before_they_meet_again():
    divisions = schedule(6, 2, 10, "seed")
    first = {frozenset(match) for division in divisions[:5] for match in division}
    assert first == {frozenset(pair) for pair in combinations(range(6), 2)}
    assert meetings(divisions) == 2 and meetings(schedule(2, 2, 3, "seed")) == 3
    assert schedule(6, 2, 10, "other") != divisions and meetings(schedule(9, 3, 2, "seed")) == 1


# --- the file


UNFIT = [
    ({"matches": {"number": 2}}, "set matches.group"),
    ({"matches": {"number": 2, "group": 3}}, "two: matches.group is 3: it must be a multiple of the 2 people"),
    ({"matches": {"number": 2, "group": 10**9}}, "matches.group: it must be a whole number, at most 100"),
    ({"matches": {"number": 101, "group": 4}}, "matches.number: it must be a whole number, at most 100"),
    ({"cells": {"two": FILE["cells"]["two"] | {"quota": 10**20}}}, "quota: it must be a whole number, at most 1000000"),
    ({"matches": {"number": 2, "group": 4}, "dropout": {}}, "dropout.then must name a script"),
    ({"pages": [PAGE | {"after": [4]}]}, "page mood: there is no match 4"),
    ({"pages": [PAGE, PAGE]}, "two pages have the name mood"),
    ({"pages": [PAGE | {"image": "no.png", "alt": "nothing"}]}, "page mood: conf/study has no image 'no.png'"),
    ({"pages": [PAGE | {"image": "../game/pd.yaml", "alt": "nothing"}]}, "has no image '../game/pd.yaml'"),
    ({"pages": [PAGE | {"image": "a.png"}]}, "`alt` must say what a.png shows"),
    ({"survey": [{"ask": "Who?", "scale": [7, 1]}]}, "7 to 1 is no range for 'Who?'"),
    ({"survey": [{"ask": "Who?", "scale": [0, 100]}]}, "has more than 21 points"),
    ({"survey": [{"ask": "Who?", "number": [0, 9], "options": ["a"]}]}, "one of them"),
    ({"survey": [{"ask": "Who?", "ends": ["a", "b"]}]}, "has `ends`, which need a scale"),
    ({"pages": [PAGE | {"questions": FILE["survey"]}]}, "only quiz and survey check answers"),
]


def test_a_file_with_matches_or_pages_that_do_not_fit_is_refused(tmp_path, subtests):
    for number, (changes, fault) in enumerate(UNFIT):
        with subtests.test(fault):
            with pytest.raises(AgonError) as error:
                study("own", written(tmp_path / str(number), **{**FOUR, **changes}))
            assert fault in str(error.value) and "\n" not in str(error.value)
    own = study("own", written(tmp_path / "fit", **FOUR))
    assert [matches_of(own, cell) for cell in cells(own)] == [6]


def test_the_settings_that_the_guide_shows_can_be_used():
    (block,) = re.findall("```yaml\n(.*?)```", (ROOT / "docs/how-to/host-a-session.md").read_text(), re.DOTALL)
    own = msgspec.convert(FILE | yaml.safe_load(block), Study)
    assert own.matches.group == 4 and [len(page.questions) for page in own.pages] == [3]


def test_answers_are_checked_by_the_kind_of_their_question():
    questions = msgspec.convert(FILE | FOUR, Study).pages[0].questions
    assert faults(questions, {}) == {0: "Please answer this question."}
    assert faults(questions, {"0": "8", "1": "51"}) == {
        0: "Please choose one of the answers.",
        1: "Please write a number within the limits.",
    }
    assert faults(questions, {"0": "7", "1": "nan"}) == {1: "Please write a number within the limits."}
    assert not faults(questions, {"0": "1", "1": "49,5"})


def test_a_number_is_read_as_its_page_writes_it():
    typed = ("1.500", "1.500,25", "1,5", "1.5", " 15 ", "-2", "1.2.3", "1e3", "nan", "1_0", "٣", "")
    read_in = {"de": (1500, 1500.25, 1.5, 1.5, 15, -2, *[None] * 6), "en": (1.5, None, 1.5, 1.5, 15, -2, *[None] * 6)}
    for language, numbers in read_in.items():
        assert tuple(number_of(each, say_in(language)) for each in typed) == numbers
    assert number_of("1,500.25") == 1500.25


# --- under way


def test_four_people_meet_each_other_and_one_match_is_paid(tmp_path, short):  # noqa: F811
    async def go():
        async with session(tmp_path, Clock(), **FOUR) as place:
            people = [goes(place, name) for name in "abc"]
            place.tick()
            assert not any(place.states[who].group for who in people)  # the fourth is not there yet
            people.append(goes(place, "d"))
            await passes(place, *people)
            for who in people:
                assert sorted(partners(place, who)) == sorted({*people} - {who})
                state = place.states[who]
                paid = state.results[drawn(place.study, state)]
                assert earned(place.study, state).bonus == round(min(3, 0.1 * paid.points), 2)
                assert ending(place.study, state) == "complete"
            return len({match for who in people for match, *_ in place.states[who].tables})

    assert run(go()) == 6
    people, matches, answers, turns = collected(tmp_path)
    assert len(matches) == 12 and set(matches.match) == set(turns.match) and people.group.nunique() == 1
    assert turns.valid.all() and matches.groupby("participant").paid.sum().eq(1).all()
    for row in people.itertuples():
        own = matches[matches.participant == row.participant].set_index("number")
        paid = Random(row.seed).randrange(3) + 1
        assert own.paid[paid] and own.points[paid] == row.points
        points = turns[(turns.match == own.match[paid]) & (turns.seat == own.seat[paid])].payoff.sum()
        assert points == row.points
    assert set(people["paid match"]) <= {1, 2, 3}
    assert set(answers.played) == {1, 2} and len(answers) == 4 * 2 * 3 and not answers.late.any()
    assert answers.groupby("number").answer.first().tolist() == ["6", "3,5", "'=so"]


@pytest.mark.parametrize("stage", ["lobby", "page", "match"])
def test_who_leaves_between_or_in_matches_leaves_nobody_waiting(tmp_path, short, stage):  # noqa: F811
    async def go():
        clock = Clock()
        async with session(tmp_path, clock, **FOUR) as place:
            people = [goes(place, name) for name in "abcd"]
            gone, stays = people[0], people[1:]

            def is_there():
                state = place.states[gone]
                return state.stage == stage and len(state.results) == 1

            await passes(place, *people, stop=is_there)
            place.do(gone, "withdrew")
            await passes(place, *stays)
            assert all(len(place.states[who].results) == 3 for who in stays)
            assert all(result.whole for who in stays for result in place.states[who].results)
            assert earned(place.study, place.states[gone]) == (0, 0) and place.code(gone) is None
            assert monitor.monitor_context(place)["places"]["two"] == 4

    run(go())
    people, _, _, turns = collected(tmp_path)
    assert (people.exclusions == "another left the match").sum() == 3
    assert turns[~turns.valid].fallback.str.startswith("stood in: tit_for_tat").all() and not turns.valid.all()


def test_a_closed_page_between_matches_holds_nobody_up(tmp_path, short):  # noqa: F811
    async def go():
        clock = Clock()
        async with session(tmp_path, clock, **FOUR) as place:
            people = [goes(place, name) for name in "abcd"]
            slow, stays = people[0], people[1:]
            await passes(place, *people, stop=lambda: place.states[slow].stage == "page")
            clock.now += 19
            place.tick()
            assert place.states[slow].stage == "page" and place.seconds_left(slow) == 1
            place.mark_presence(slow)
            clock.now += 2
            place.tick()
            assert place.states[slow].stage != "page"  # it went on by itself
            for who in stays:
                place.mark_presence(who)
            clock.now += 31
            await passes(place, *stays)
            assert place.states[slow].why == "dropped"

    run(go())
    _, _, answers, _ = collected(tmp_path)
    late = answers[answers.late]
    assert len(late) >= 3 and late.answer.isna().all()


class Killed(BaseException):
    """The server is killed at this point."""


def test_a_server_killed_between_any_two_writes_loses_no_match(tmp_path, short, monkeypatch):  # noqa: F811
    changes = {**FOUR, "matches": FOUR["matches"] | {"number": 2}}

    async def go():
        clock, kills = Clock(), 0
        for writes in range(1, 400):
            await asyncio.sleep(0)
            async with session(tmp_path, clock, **changes) as place:
                left = iter(range(writes % 7 + 1))
                for name in ("add_events", "add", "sit", "keep"):
                    write = getattr(place.hall.store, name)

                    def once(*given, left=left, write=write):
                        if next(left, None) is None:
                            raise Killed
                        return write(*given)

                    monkeypatch.setattr(place.hall.store, name, once)
                with contextlib.suppress(Killed):
                    people = [goes(place, name) for name in "abcd"]
                    await passes(place, *people, most=300)
                    if all(place.states[who].stage == "debrief" for who in people):
                        break
                kills += 1
        async with session(tmp_path, clock, **changes) as place:
            await passes(place, *people)
            assert {len(place.states[who].results) for who in people} == {2}
            assert all(len({*partners(place, who)}) == 2 for who in people)
            assert len(place.hall.store.tables()) == 4
        return kills

    assert run(go()) > 5


def test_a_rehearsal_walks_through_all_matches_and_pages(tmp_path, short, monkeypatch):  # noqa: F811
    lines = []
    for module in ("rehearsal", "study_pages", "gather"):
        monkeypatch.setattr(f"agon_hall.{module}.study", lambda name: made(**FOUR))
    monkeypatch.setattr("agon_hall.study_pages.names", lambda group: ["own"])
    rehearse("own", lines.append, tmp_path / "out")
    assert "two: groups of 4 people, 3 matches: nobody meets anybody twice" in lines
    answers, matches = pd.read_csv(tmp_path / "out/answers.csv"), pd.read_csv(tmp_path / "out/matches.csv")
    assert set(answers.page) == {"mood"} and set(answers.played) == {1, 2} and set(matches.number) == {1, 2, 3}


def test_a_group_that_changes_nothing_is_said():
    said = "matches.group changes nothing in two: it is for several matches of people with each other"
    assert said in checks(made(**FOUR | {"matches": {"group": 4}}))[1] and said not in checks(made(**FOUR))[1]


def test_of_who_is_forgotten_the_group_stays(tmp_path, short):  # noqa: F811
    async def go():
        async with session(tmp_path, time, **FOUR) as place:
            people = [goes(place, name) for name in "abcd"]
            await passes(place, *people)
            before = dict(place.states)
            place.hall.store.forget("own", people[0], 0.0, "forgotten")
        async with session(tmp_path, Clock(), **FOUR) as place:
            gone = place.states.pop(people[0])
            assert gone.is_forgotten and gone.tables == before.pop(people[0]).tables and place.states == before
            assert earned(place.study, gone) == (0, 0)
        async with served(tmp_path, time, **FOUR) as (place, client):
            replies = [await client.get(place.at(who)) for who in people]
            assert [reply.status_code for reply in replies] == [403, 200, 200, 200]
            assert "points" not in replies[0].text and all("was drawn" in reply.text for reply in replies[1:])
            await client.get("/join/own?pid=a")  # who comes again is somebody new
            assert len(place.states) == 5 and place.states[people[0]].is_forgotten

    run(go())
    people, matches, _, _ = collected(tmp_path)
    assert matches.participant.nunique() == 4 and people.seed.notna().sum() == 3
    assert matches.groupby("participant").paid.count().value_counts().to_dict() == {3: 3, 0: 1}


# --- what a host can do


def forgets(folder, monkeypatch, number, *, match=True):
    monkeypatch.setattr(upkeep, "study", lambda name: made(**FOUR))
    return upkeep.forget(folder, "own", number, match, lambda what: True)


def test_all_matches_of_who_is_forgotten_are_erased_on_request(tmp_path, short, monkeypatch):  # noqa: F811
    async def go():
        async with session(tmp_path, Clock(), **FOUR) as place:
            people = [goes(place, name) for name in "abcd"]
            await passes(place, *people)

    run(go())
    *_, before = collected(tmp_path)
    assert "3 matches with everybody's rows" in forgets(tmp_path, monkeypatch, "b")
    *_, turns = collected(tmp_path)
    assert (before.match.nunique(), turns.match.nunique()) == (6, 3)


def test_who_is_forgotten_between_matches_is_out_and_nobody_waits(tmp_path, short, monkeypatch):  # noqa: F811
    clock = Clock()

    async def begins():
        async with session(tmp_path, clock, **FOUR) as place:
            people = [goes(place, name) for name in "abcd"]
            await passes(place, *people, stop=lambda: place.states[people[1]].stage == "page")
            return people

    async def goes_on():
        async with session(tmp_path, clock, **FOUR) as place:
            assert (place.states[people[1]].why, place.states[people[1]].is_forgotten) == ("withdrew", True)
            await passes(place, *people)
            return [place.states[who].stage for who in people]

    people = run(begins())
    forgets(tmp_path, monkeypatch, "b", match=False)
    assert run(goes_on()) == ["debrief", "out", "debrief", "debrief"]


def test_a_match_that_others_play_is_not_erased(tmp_path, short, monkeypatch):  # noqa: F811
    async def go():
        async with session(tmp_path, Clock(), **FOUR) as place:
            people = [goes(place, name) for name in "abcd"]
            await passes(place, *people, stop=lambda: place.states[people[1]].stage == "match")
            place.do(people[1], "withdrew")

    run(go())
    with pytest.raises(AgonError, match="a match of b is not over: start the server"):
        forgets(tmp_path, monkeypatch, "b")


def test_a_host_ends_a_part_and_the_script_plays_on(tmp_path, short):  # noqa: F811
    async def go():
        async with session(tmp_path, Clock(), **FOUR) as place:
            people = [goes(place, name) for name in "abcd"]
            place.tick()
            await asyncio.sleep(0)
            gone = people[0]
            with pytest.raises(Refusal, match="Tick the box"):
                monitor.act(place, gone, {"do": "removed"})
            with pytest.raises(Refusal, match="Nobody has left this match"):
                monitor.act(place, gone, {"do": "release", "sure": "yes"})
            monitor.act(place, gone, {"do": "removed", "sure": "yes"})
            assert place.states[gone].why == "removed"
            await passes(place, *people[1:])
            assert all(place.states[who].stage == "debrief" for who in people[1:])
            places = monitor.monitor_context(place)["places"]
            assert places["two"] == 4 and place.states[goes(place, "e")].why == "full"
            monitor.act(place, people[1], {"do": "release", "sure": "yes"})
            assert monitor.monitor_context(place)["places"]["two"] == 0
            others = [goes(place, name) for name in "fghi"]
            place.tick()
            assert {place.states[who].stage for who in others} == {"match"}
            before = {who: state for who, state in place.states.items() if state.stage != "match"}
        async with session(tmp_path, Clock(), **FOUR) as place:
            assert {who: place.states[who] for who in before} == before

    run(go())


def test_pay_by_hand_stands_beside_the_computed_pay(tmp_path, short):  # noqa: F811
    async def go():
        async with session(tmp_path, Clock(), **FOUR) as place:
            people = [goes(place, name) for name in "abcd"]
            await passes(place, *people)
            for wrong in ("", "-1", "much", "nan", "1e9"):
                with pytest.raises(Refusal, match="a number of 0 or more"):
                    monitor.act(place, people[0], {"do": "paid", "amount": wrong, "reason": "time"})
            with pytest.raises(Refusal, match="Give a reason"):
                monitor.act(place, people[0], {"do": "paid", "amount": "1"})
            for _ in range(2):  # pressed twice, paid once
                monitor.act(place, people[0], {"do": "paid", "amount": "1,50", "reason": "=a slow line"})
            return place.states[people[0]], earned(place.study, place.states[people[0]])

    state, pay = run(go())
    assert (state.by_hand, state.reason) == (1.5, "=a slow line")
    people, *_ = collected(tmp_path)
    (row,) = people[people["by hand"].notna()].to_dict("records")
    assert (row["by hand"], row["reason"], row["bonus"]) == (1.5, "'=a slow line", pay.bonus)
    paid = dict(line.split(",") for line in (tmp_path / "bonus-own.csv").read_text().splitlines())
    assert float(paid["a"]) == pay.bonus + 1.5


def test_time_is_paid_where_the_study_says_so():
    own = made(pay=FILE["pay"] | {"waiting": 0.2, "leaving": 0.3})
    gone = State("out", "dropped", "two", since=460.0, agreed=100.0, match="m", group="m")
    assert earned(own, gone) == (0, 1.8) and ending(own, gone) == "partial"
    assert earned(own, msgspec.structs.replace(gone, since=9000.0)) == (0, 2)  # no more than the show-up fee
    assert earned(own, State("out", "withdrew", "two", since=700.0, agreed=100.0)) == (0, 0)
    assert earned(own, State("debrief", points=10.0, waited=179.0)) == (2, 1.4)
    assert earned(own, State("out", "unmatched", waited=60.0)) == (2, 0.7)
    assert ending(made(), gone) is None


# --- pages


def test_pages_between_matches_are_read_and_sent_by_a_browser(tmp_path, short):  # noqa: F811
    alone = {
        **FOUR,
        "cells": {"one": FILE["cells"]["one"] | {"games": ["pd"]}},
        "pages": [PAGE | {"after": [0, 1]}],
        "matches": {"number": 2, "paid": "one"},
    }

    async def go():
        async with served(tmp_path, time, **alone) as (place, client):
            link = str((await client.get("/join/own?pid=1")).url)
            await client.post(link, data={"do": "agree"})
            page = BeautifulSoup((await client.post(link, data={"do": "read"})).text, "html.parser")
            assert "How was it?" in page.text and len(page.find_all("input", type="radio")) == 7
            assert page.find("fieldset").legend.text.strip() == "Do you trust them?"
            refused = await client.post(link, data={"do": "page", "0": "9", "1": "4", "2": "kept"})
            assert "Please choose one of the answers." in refused.text and "kept" in refused.text
            sent = {"do": "page", "place": "page-0-0-0", "0": "2", "1": "3,5"}
            await client.post(link, data=sent)
            (who,) = place.states
            place.tick()
            await plays(place, who)
            shown = (await client.get(link)).text
            assert "Match 1 of 2 is over." in shown and place.states[who].place == "page-1-0-0"
            again = await client.post(link, data=sent)  # an old page that is sent again
            assert "This has been answered already" in again.text and place.states[who].stage == "page"
            await client.post(link, data=sent | {"place": "page-1-0-0"})
            place.tick()
            await plays(place, who)
            shown = (await client.get(link)).text
            assert place.states[who].stage == "debrief" and "DONE" in shown and "was drawn" in shown
            (answers, *_) = [event[3]["answers"] for event in place.hall.store.events("own") if event[2] == "answered"]
            assert answers == {"0": "2", "1": "3.5", "2": ""}

    run(go())
