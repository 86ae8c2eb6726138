"""Studies without pages: files, the way of a participant, assignment, pay, and that a killed server or a second tab loses nothing."""

import asyncio
import contextlib
import functools
import re
import shutil
from random import Random
from time import time
from urllib.parse import urlencode

import httpx
import msgspec
import pandas as pd
import pytest
import yaml
from driving import seat_parts
from hypothesis import given, settings
from hypothesis import strategies as st
from patience import LONG, comes

from agon import ROOT, AgonError
from agon.agents.languages import ENGLISH, language_for
from agon.plan import plan
from agon.turns import read
from agon_hall import Refusal, monitor, protocol, study_pages, tables
from agon_hall.gather import gather
from agon_hall.links import participant_in
from agon_hall.people import DRAFTS, LETTERS
from agon_hall.protocol import Study, cells, experiment, match_id, study
from agon_hall.questions import faults, wrong_questions
from agon_hall.seat import submit
from agon_hall.server import Server, open_socket
from agon_hall.session import Session
from agon_hall.study import (
    NOTE,
    WHY,
    Event,
    State,
    assign_cell,
    earned,
    ending,
    fold_events,
    next_state,
)
from agon_hall.tables import Hall
from agon_hall.web import Sent, parse_form

ASKED = [{"ask": "Who is it?", "options": ["a", "b"], "right": "b"}]
FILE = {
    "name": "own",
    "title": "A study",
    "consent": dict.fromkeys(("text", "investigator", "contact", "ethics", "withdrawal"), "words") | {"minutes": 5},
    "cells": {
        "one": {"games": ["pd", "pd~stags"], "seats": ["human", "tit_for_tat"], "quota": 3},
        "two": {"games": ["pd"], "seats": ["human", "human"], "quota": 4},
    },
    "quiz": {"questions": ASKED, "attempts": 2},
    "survey": [{"ask": "Why?"}, *ASKED],
    "dropout": {"timeouts": 1, "away": 30, "then": "tit_for_tat"},
    "lobby": {"seconds": 60, "pay": 0.5},
    "pay": {"currency": "GBP", "show_up": 2, "point": 0.1, "most": 3, "abandoned": 1},
    "finish": {"debrief": "Thanks", "codes": {"complete": "DONE"}},
}


def made(**changes):
    return msgspec.convert(FILE | changes, Study)


def written(folder, **changes):
    """A conf/ with the study in it, for what reads files."""
    (folder / "study").mkdir(parents=True, exist_ok=True)
    (folder / "study/own.yaml").write_text(yaml.safe_dump(FILE | changes))
    for group in ("agent", "game", "model", "twin", "sampling", "config.yaml"):
        with contextlib.suppress(FileExistsError):
            (folder / group).symlink_to(ROOT / "conf" / group)
    return folder


# --- the file


def one_cell(seats, quota):
    return {"cells": {"one": {"games": ["pd"], "seats": seats, "quota": quota}}}


UNFIT = [
    ({"colour": "red"}, "there is no setting colour"),
    ({"quiz": {"questions": [{"ask": "Why?"}]}}, "quiz: 'Why?' needs a right answer"),
    ({"survey": [{"ask": "Why?", "options": ["a"], "right": "b"}]}, "'b' is not among the options of 'Why?'"),
    (one_cell(["tit_for_tat"] * 2, 2), "nobody is human in one"),
    (one_cell(["human"] * 2, 3), "3 participants of one cannot sit down by 2"),
    ({"quiz": {"questions": [ASKED[0] | {"games": ["go"]}]}}, "a question of the quiz is of go, which is in no cell"),
    ({"name": "other"}, "name is 'other'; it must be the name of the file"),
    ({"pay": {"currency": "pounds", "show_up": 1}}, "pay.currency: it must be"),
]
"""Changes to a study's file, and the fault that the message names."""


def test_a_file_that_does_not_fit_is_refused_in_one_line(tmp_path, subtests):
    for number, (changes, fault) in enumerate(UNFIT):
        with subtests.test(fault):
            with pytest.raises(AgonError) as error:
                study("own", written(tmp_path / str(number), **changes))
            assert fault in str(error.value) and "\n" not in str(error.value)
    with pytest.raises(AgonError, match=r"no study 'counterfactual_peple' .*: did you mean counterfactual_people\?"):
        study("counterfactual_peple")


def test_people_and_models_play_the_same_cells_by_the_same_chance(tmp_path):
    own = study("own", written(tmp_path, models={"agents": ["zs"], "models": ["standin"]}))
    assert [(cell.name, cell.game, cell.people) for cell in cells(own)] == [
        ("one/pd", "pd", (0,)),
        ("one/pd~stags", "pd~stags", (0,)),
        ("two", "pd", (0, 1)),
    ]
    found = plan(experiment(own))
    assert {seat.model for match in found for seat in match.seats} == {"standin", None}
    assert len({match.id for match in found}) == 3 + 3 + 2
    for each, number in ((cell, n) for cell in cells(own) for n in range(cell.quota // len(cell.people))):
        assert any(match.seed == int(match_id(own, each, number), 16) for match in found)


def test_models_are_told_a_study_in_the_language_of_its_people(monkeypatch):
    models = {"agents": ["zs"], "models": ["standin"]}
    german = made(models=models, language="de")
    assert "prompts" not in experiment(made(models=models)) and experiment(german)["prompts"] == "german"
    assert {seat.prompts for match in plan(experiment(german)) for seat in match.seats} == {"german", None}
    monkeypatch.setattr(
        protocol,
        "language_for",
        lambda game, name, conf: (
            ENGLISH if game.name == "pd" and "~" in game.variant else language_for(game, name, conf)
        ),
    )
    with pytest.raises(AgonError, match="only some games are told in de: divide it into two studies"):
        experiment(german)


def test_models_are_told_the_aids_that_people_are_shown(tmp_path):
    group = {"games": ["tradecraft_public/minecraft_public-00"], "seats": ["human"] * 2, "quota": 2, "aids": ["tree"]}
    aids = list(protocol.seat_cell(made(dropout={}), cells(made(cells={"one": group | {"aids": []}}))[0]).game.players)
    assert len(aids) == 2
    own = made(cells={"one": group}, models={"agents": ["tradecraft_unprimed"], "models": ["standin_tradecraft"]})
    with pytest.raises(AgonError, match="are shown the aids tree, tradecraft_unprimed is told none"):
        experiment(own)


# --- the way of a participant


def test_the_whole_way_ends_with_a_code():
    own, state = made(), State()
    steps = [
        ("arrived", {}, "consent"),
        ("consented", {"cell": "two"}, "instructions"),
        ("read", {}, "quiz"),
        ("answered", {"right": False}, "quiz"),
        ("answered", {"right": True}, "lobby"),
        ("matched", {"table": "t", "match": "m", "seat": 1}, "match"),
        ("finished", {"points": 12, "whole": True}, "survey"),
        ("answered", {"answers": {}, "failed": ["Who is it?"]}, "debrief"),
    ]
    for at, (kind, detail, stage) in enumerate(steps):
        state = next_state(own, state, Event("p", float(at), kind, detail))
        assert (state.stage, state.since) == (stage, at if kind != "answered" or stage != "quiz" else 2)
    assert (
        ending(own, state) == "complete" and earned(own, state) == (2, 1.2) and state.failed_checks == ("Who is it?",)
    )


KINDS = [
    "arrived",
    "declined",
    "consented",
    "read",
    "answered",
    "matched",
    "unmatched",
    "finished",
    "dropped",
    "withdrew",
    "left",
    NOTE,
]
DETAIL = {
    "cell": "two", "right": st.booleans(), "table": "t", "match": "m", "seat": 1, "failed": (), "answers": {},
    "points": st.floats(-100, 100), "whole": st.booleans(),
}  # fmt: skip
DETAILS = st.fixed_dictionaries(
    {key: each if isinstance(each, st.SearchStrategy) else st.just(each) for key, each in DETAIL.items()}
)


@given(st.lists(st.tuples(st.sampled_from(KINDS), DETAILS), max_size=30))
def test_whatever_comes_in_whatever_order_ends_are_final_and_said(happening):
    own, state = made(), State()
    for at, (kind, detail) in enumerate(happening):
        before = state
        try:
            state = next_state(own, state, Event("p", float(at), kind, detail))
        except Refusal:
            assert state is before
        if before.stage in ("out", "debrief"):
            assert state == before
        assert (state.stage == "out") == (state.why in WHY)
        assert (state.stage in ("match", "survey")) <= bool(state.match)
        assert (ending(own, state) is not None) <= (state.stage in ("out", "debrief"))
        assert 0 <= earned(own, state).bonus <= 3 and earned(own, state).show_up in (0, 2)


@settings(max_examples=50)
@given(st.lists(st.sampled_from(["stay", "leave"]), max_size=20))
def test_cells_fill_evenly_and_never_beyond_their_quota(people):
    own, states = made(), {}
    some = [cell for cell in cells(own) if cell.name != "two"]
    for number, what in enumerate(people):
        cell = assign_cell(own, some, states)
        held = [sum(s.cell == each.name and not s.why for s in states.values()) for each in some]
        assert (cell is None) == (held == [3, 3])
        if cell is None:
            continue
        assert held[[each.name for each in some].index(cell)] == min(held)
        states[str(number)] = State("instructions", cell=cell)
        if what == "leave":
            states[str(number)] = State("out", "left", cell)


def test_a_match_that_some_wait_for_is_filled_first():
    own, states = made(), {}
    for number in range(10):
        states[str(number)] = State("lobby", cell=assign_cell(own, cells(own), states))
        waiting = sum(state.cell == "two" for state in states.values()) % 2
        assert not waiting or assign_cell(own, cells(own), states) == "two"
    assert assign_cell(own, cells(own), states) is None


def test_the_innocent_are_paid_and_nobody_is_paid_below_nothing():
    own = made()
    assert earned(own, State("debrief", points=-5)) == (2, 0)
    assert earned(own, State("debrief", points=100)) == (2, 3)
    assert earned(own, State("debrief", points=2, whole=False)) == (2, 1)
    assert earned(own, State("out", "unmatched")) == (2, 0.5)
    assert earned(own, State("out", "screened")) == (0, 0)
    assert earned(own, State("out", "dropped", points=None)) == (0, 0)


def test_forms_say_what_is_missing_and_what_is_wrong():
    asked = made().survey
    assert faults(asked, {"1": "c"}) == {0: "Please answer this question.", 1: "Please choose one of the answers."}
    assert faults(asked, {"0": "x" * 2001, "1": "a"}) == {0: "This answer is too long."}
    assert wrong_questions(asked, {"0": "x", "1": "a"}) == ["Who is it?"] and not wrong_questions(asked, {"1": "b"})


def test_platforms_tell_people_apart_by_their_own_names():
    assert participant_in({"PROLIFIC_PID": " 5f "}) == ("prolific", "5f")
    assert participant_in({"workerId": "W", "assignmentId": "A"}) == ("mturk", "W")
    assert participant_in({"survey_code": "7"}) == ("sona", "7")
    assert participant_in({"x": "1"}) is None
    assert participant_in({"participant": "a.b+c@example.org"}) == ("link", "a.b+c@example.org")
    for pid in ("x" * 101, "=1+1", "@SUM(A1)", "+1", "<b>", "a\nb", "\u202ea", "a\0"):
        with pytest.raises(Refusal, match="not whole"):
            participant_in({"pid": pid})


def test_a_file_that_was_changed_while_people_were_there_is_named():
    own = made(quiz={})
    happened = [("arrived", {}), ("consented", {"cell": "two"}), ("read", {}), ("answered", {"right": True})]
    with pytest.raises(AgonError, match="at stage lobby has `answered`") as error:
        fold_events(own, [Event("p", 0.0, *each) for each in happened])
    assert not isinstance(error.value, Refusal)


# --- under way


@pytest.fixture(scope="module")
def short_conf(tmp_path_factory):
    """conf/ with a dilemma of three rounds."""
    folder = tmp_path_factory.mktemp("short") / "conf"
    shutil.copytree(ROOT / "conf", folder)
    path = folder / "game/pd.yaml"
    path.write_text(re.sub("^rounds: 16", "rounds: 3", path.read_text(), flags=re.MULTILINE))
    return folder


@pytest.fixture
def short(short_conf, monkeypatch):
    """Tables of this process have short games."""
    monkeypatch.setattr(tables, "seating", functools.partial(tables.seating, conf=short_conf))


def raises(error):
    """Something that fails."""

    def fails(*given):
        raise error

    return fails


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


@contextlib.asynccontextmanager
async def session(folder, clock, **changes):
    hall = Hall(folder)
    try:
        yield Session(hall, made(**changes), clock)
    finally:
        await hall.close()


@contextlib.asynccontextmanager
async def served(folder, clock, **changes):
    """A session as long as it is used, and a client of the server on which it is."""
    async with session(folder, clock, **changes) as place:
        server = Server(place.hall, open_socket())
        server.studies.sessions["own"] = place
        serving = asyncio.create_task(server.run_here())
        at = f"http://127.0.0.1:{server.port}"
        try:
            async with httpx.AsyncClient(base_url=at, follow_redirects=True, trust_env=False) as client:
                yield place, client
        finally:
            server.end()
            await serving


def run(coroutine):
    return asyncio.run(asyncio.wait_for(coroutine, LONG))


def goes(place, pid, to="lobby"):
    """Somebody comes and goes on to a stage."""
    who = place.join("link", pid)
    steps = {"consent": ("consented", {}), "instructions": ("read", {}), "quiz": ("answered", {"right": True})}
    while (stage := place.states[who].stage) != to and stage in steps:
        place.do(who, steps[stage][0], **steps[stage][1])
    return who


async def plays(place, *people, most=1000):
    """People answer whatever they are asked until their matches are over."""
    for _ in range(most):
        await asyncio.sleep(0)
        open_ = [who for who in people if place.states[who].stage == "match"]
        if not open_:
            return
        for who in open_:
            place.mark_presence(who)
            table, seat = place.table(who), place.states[who].seat
            if (question := table.questions.get(seat)) is not None:
                table.answer(seat, question.number, [question.view.legal.example(Random(f"{who}/{question.number}"))])
        place.tick()


ONE = {"cells": {"one": FILE["cells"]["one"]}}
TWO = {"cells": {"two": FILE["cells"]["two"]}}


def test_two_who_wait_meet_play_and_are_paid(tmp_path, short):
    async def go():
        clock = Clock()
        async with session(tmp_path, clock, **TWO) as place:
            first, second = goes(place, "a"), goes(place, "b")
            place.tick()
            assert {place.states[who].seat for who in (first, second)} == {0, 1}
            await plays(place, first, second)
            for who in (first, second):
                assert place.states[who].stage == "survey" and place.code(who) is None
                place.do(who, "answered", answers={"0": "so", "1": "b"}, failed=[])
                assert place.code(who) == "DONE" and earned(place.study, place.states[who]).bonus > 0

    run(go())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("agon_hall.gather.study", lambda name: made(**TWO))
        said = gather(tmp_path, "own", tmp_path / "out")
    people = pd.read_csv(tmp_path / "out/participants.csv")
    turns, events = read(tmp_path / "out/turns.parquet"), pd.read_parquet(tmp_path / "out/events.parquet")
    assert "2 participants, 2 at the end, 1 match" in said
    assert (
        list(people.stage) == ["debrief"] * 2 and people.exclusions.isna().all() and people["survey 1"].eq("so").all()
    )
    totals = turns.groupby("seat").payoff.sum()
    assert all(totals[row.seat] == row.points for row in people.itertuples()) and turns.valid.all()
    assert set(events.participant) == set(people.participant) and set(turns.match) == set(people.match)
    assert pd.to_datetime(people.arrived).tolist() == list(
        events.groupby("participant", sort=False)["at"].min().dt.floor("s")
    )
    paid = (tmp_path / "bonus-own.csv").read_text().splitlines()
    assert sorted(line.split(",")[0] for line in paid) == ["a", "b"]
    assert all(re.fullmatch(r"[ab],\d+\.\d\d", line) for line in paid)


def test_people_learn_that_a_partner_left_and_not_who_it_was(tmp_path, short):
    async def go():
        async with session(tmp_path, Clock(), **TWO) as place:
            first, second = goes(place, "a"), goes(place, "b")
            place.tick()
            place.do(first, "withdrew")
            await plays(place, second)
            assert place.states[second].stage == "survey"

    run(go())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("agon_hall.gather.study", lambda name: made(**TWO))
        gather(tmp_path, "own", tmp_path / "out")
    known = pd.read_csv(tmp_path / "people-own.csv").set_index("participant")
    people = pd.read_csv(tmp_path / "out/participants.csv").set_index("participant")
    said = people.exclusions.groupby(known.number).first()
    assert said["a"] == "out: withdrew" and said["b"] == "not at the end: survey; another left the match"
    asked = pd.read_csv(tmp_path / "out/questions.csv")
    assert set(asked["column"]) < set(people.columns) and asked.question.notna().all()


def test_who_withdraws_after_the_match_has_left_nobody(tmp_path, short):
    async def go():
        async with session(tmp_path, Clock(), **TWO) as place:
            people = goes(place, "a"), goes(place, "b")
            place.tick()
            await plays(place, *people)
            place.do(people[0], "withdrew")
            state = place.states[people[0]]
            assert earned(place.study, state).show_up == 2 and place.code(people[0]) == "DONE"  # and is paid
            counted = monitor.monitor_context(place)
            assert counted["complete"]["two"] == counted["under_way"]["two"] == 1
            assert not counted["before"]["two"] and not counted["leavers"]["two"]

    run(go())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("agon_hall.gather.study", lambda name: made(**TWO))
        gather(tmp_path, "own", tmp_path / "out")
    people = pd.read_csv(tmp_path / "out/participants.csv")
    assert sorted(people.exclusions) == ["not at the end: survey", "out: withdrew"]


def test_a_link_opened_twice_is_one_participant_also_after_a_restart(tmp_path, short):
    async def go():
        clock = Clock()
        async with session(tmp_path, clock, **ONE) as place:
            who = goes(place, "a", "quiz")
            assert place.join("link", "a") == who and len(place.states) == 1 and place.join("mturk", "a") != who
            key, cell = place.key(who), place.states[who].cell
        async with session(tmp_path, clock, **ONE) as place:
            assert (
                place.join("link", "a") == who
                and place.participant_of(key) == who
                and place.participant_of(key[:-1] + "x") is None
            )
            assert place.states[who].stage == "quiz" and place.states[who].cell == cell

    run(go())


@pytest.mark.parametrize(("start", "later"), [(0, 0), (0, -90_000), (0, 90_000), (-90_000, 0)])
def test_no_wait_changes_with_the_clock_of_the_machine(tmp_path, short, monkeypatch, start, later):
    async def go(start=0, later=0):
        """The time of the study, and what is left of a wait, if the machine's clock is wrong at the start or later."""
        monkeypatch.setattr("time.time", lambda: true + start)
        async with session(tmp_path, None, **TWO) as place:
            who = goes(place, "a")
            monkeypatch.setattr("time.time", lambda: true + later)
            return place.clock(), place.seconds_left(who)

    true = time()
    first, _ = run(go())
    now, left = run(go(start, later))
    assert true - 1 < first - 1 <= now < true + LONG and 0 < left <= 60


def test_nobody_fills_the_disk_with_notes(tmp_path, short, monkeypatch):
    monkeypatch.setattr("agon_hall.session.NOTES", 3)

    async def go():
        async with session(tmp_path, Clock(), **ONE) as place:
            who = goes(place, "a", "quiz")
            for _ in range(5):
                study_pages.submit(place, who, {"do": "quiz"})
            return [detail["what"] for _, _, kind, detail in place.hall.store.events("own") if kind == "noted"]

    assert run(go()) == run(go()) == ["refused", "refused", "no more notes are kept"]


def test_who_finds_nobody_is_paid_and_goes(tmp_path, short):
    async def go():
        clock = Clock()
        async with session(tmp_path, clock, **TWO) as place:
            who = goes(place, "a")
            clock.now += 59
            place.mark_presence(who)
            place.tick()
            assert place.states[who].stage == "lobby"
            clock.now += 2
            place.mark_presence(who)
            place.tick()
            assert place.states[who].why == "unmatched" and re.fullmatch(r"[0-9A-F]{10}", place.code(who))
            assert assign_cell(place.study, list(place.cells.values()), place.states) == "two"

    run(go())


def test_who_finds_nobody_waits_on_as_often_as_the_study_allows(tmp_path, short):
    async def go():
        clock = Clock()
        async with session(tmp_path, clock, **TWO, lobby=FILE["lobby"] | {"longer": 1}) as place:
            who = goes(place, "a")
            clock.now += 59
            for _ in range(2):  # pressed twice, it is one time
                study_pages.submit(place, who, {"do": "stay", "longer": "0"})
            assert place.seconds_left(who) == 61
            with pytest.raises(Refusal):
                study_pages.submit(place, who, {"do": "stay", "longer": "1"})
            clock.now += 60
            place.mark_presence(who)
            place.tick()
            assert place.states[who].stage == "lobby"
            clock.now += 2
            place.mark_presence(who)
            place.tick()
            assert place.states[who].why == "unmatched" and place.states[who].waited == 121
        async with session(tmp_path, clock, **TWO, lobby=FILE["lobby"] | {"longer": 1}) as place:
            assert place.states[who].waited == 121

    run(go())


def test_nobody_waits_longer_where_the_study_does_not_say_so(tmp_path, short):
    async def go():
        async with session(tmp_path, Clock(), **TWO) as place:
            who = goes(place, "a")
            with pytest.raises(Refusal):
                study_pages.submit(place, who, {"do": "stay", "longer": "0"})

    run(go())


def test_who_closes_every_page_makes_room_before_the_match(tmp_path, short):
    async def go():
        clock = Clock()
        async with session(tmp_path, clock, **TWO) as place:
            who, other = goes(place, "a", "quiz"), goes(place, "b")
            clock.now += 31
            place.tick()
            assert place.states[other].why == "left" and place.states[who].stage == "quiz"
            clock.now += 900
            place.tick()
            assert place.states[who].why == "left" and place.code(who) is None
            with pytest.raises(Refusal, match="This is over"):
                place.do(who, "answered", right=True)

    run(go())


def test_a_dropout_does_not_ruin_the_partner(tmp_path, short):
    async def go(then):
        clock = Clock()
        dropout = {"timeouts": 1, "away": 30, "then": then}
        async with session(tmp_path / then, clock, **TWO, dropout=dropout) as place:
            stays, leaves = goes(place, "a"), goes(place, "b")
            place.tick()
            await asyncio.sleep(0)
            clock.now += 31
            place.mark_presence(stays)
            place.tick()
            assert place.states[leaves].why == "dropped" and place.code(leaves) is None
            await plays(place, stays)
            assert place.states[stays].stage == "survey" and place.states[stays].whole == (then != "end")
            return place.table(stays).path, place.states[stays]

    _, state = run(go("end"))
    assert earned(made(), state) == (2, 1)
    path, state = run(go("tit_for_tat"))
    turns = read(path)
    own = turns[turns.seat == state.seat]
    assert len(own) == 3 and own.valid.all() and own.payoff.sum() == state.points
    gone = turns[turns.seat != state.seat]
    assert not gone.valid.any() and gone.fallback.eq("stood in: tit_for_tat (left)").all() and gone.action.notna().all()


def test_a_person_out_of_a_match_reads_why(tmp_path, short):
    async def go():
        async with session(tmp_path, Clock(), **TWO) as place:
            stays, late = goes(place, "a"), goes(place, "b")
            place.tick()
            await asyncio.sleep(0)
            table, seat = place.table(late), place.states[late].seat
            assert "data-go" not in seat_parts(table, seat)["first"]
            table.terms.drop(seat)
            shown, other = seat_parts(table, seat), seat_parts(table, place.states[stays].seat)
            assert table.status == "playing" and f'data-go="{place.at(late)}"' in shown["first"]
            assert "You are out of the match" in shown["status"] and "Waiting for" not in shown["status"]
            assert "data-go" not in "".join(other.values()) and "You are out" not in other["status"]

    run(go())


def test_the_others_are_told_who_has_left_unless_the_study_says_no(tmp_path, short):
    async def go(told):
        dropout = FILE["dropout"] | {"told": told}
        async with session(tmp_path / str(told), Clock(), **TWO, dropout=dropout) as place:
            stays, leaves = goes(place, "a"), goes(place, "b")
            place.tick()
            await asyncio.sleep(0)
            table, seat = place.table(leaves), place.states[leaves].seat
            other = place.states[stays].seat
            assert "No longer" not in seat_parts(table, other)["status"]
            shown = []
            table.watchers.add(lambda: shown.append(seat_parts(table, other)["status"]))
            place.do(leaves, "withdrew")
            said = f"No longer in the match: {table.players[seat]}. A program plays on there."
            assert (said in shown[-1]) == told  # at once, whoever has the turn
            assert said not in seat_parts(table, seat)["status"]

    run(go(told=True))
    run(go(told=False))


def test_nobody_is_matched_with_somebody_whose_page_is_closed(tmp_path, short):
    async def go():
        clock = Clock()
        async with session(tmp_path, clock, **TWO) as place:
            left, waits = goes(place, "a"), goes(place, "b")
            place.mark_presence(left, 1)
            place.mark_presence(left, -1)
            place.mark_presence(waits, 1)
            place.tick()
            assert place.states[waits].stage == "lobby"
        async with session(tmp_path, clock, **TWO) as place:  # nor with whom nobody has seen since the server began
            place.mark_presence(waits, 1)
            place.tick()
            assert place.states[waits].stage == "lobby"
            place.mark_presence(left)  # the page is read again
            place.tick()
            assert {place.states[who].stage for who in (left, waits)} == {"match"}

    run(go())


def test_a_match_that_all_left_makes_room_on_the_monitor(tmp_path, short):
    async def go():
        async with session(tmp_path, Clock(), **TWO) as place:
            people = [goes(place, name) for name in "abcd"]
            place.tick()
            first = [who for who in people if place.states[who].match == place.states[people[0]].match]
            assert monitor.monitor_context(place)["places"]["two"] == 4 and place.states[goes(place, "e")].why == "full"
            place.do(first[0], "withdrew")
            assert monitor.monitor_context(place)["places"]["two"] == 4 and place.states[goes(place, "f")].why == "full"
            place.do(first[1], "withdrew")
            assert (
                monitor.monitor_context(place)["places"]["two"] == 2
                and monitor.monitor_context(place)["leavers"]["two"] == 2
            )
            others = [goes(place, name) for name in "gh"]
            place.tick()
            assert {place.states[who].stage for who in others} == {"match"}
            assert place.states[others[0]].match not in {place.states[who].match for who in people}
            assert place.states[goes(place, "i")].why == "full"

    run(go())


ALLOWED = {"cells": {"one": FILE["cells"]["one"] | {"quota": 9}, "more": FILE["cells"]["two"]}, "title": "New"}
FORBIDDEN = [
    ({"survey": [*ASKED, {"ask": "Why?"}]}, "survey"),
    ({"pay": FILE["pay"] | {"point": 0}, "seconds": 30}, r"pay.point \(was 0.1\); seconds \(was 60.0\)"),
    ({"lobby": FILE["lobby"] | {"pay": 0}}, r"lobby.pay \(was 0.5\)"),
    ({"cells": {"other": FILE["cells"]["one"]}}, r"cells\.one"),
]
"""Changes to a study in which people have begun, and the settings that the message names."""


def gathered(folder, **changes):
    """What `gather` says of the study."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("agon_hall.gather.study", lambda name: made(**{**ONE, **changes}))
        return gather(folder, "own", folder / "out")


def test_what_people_began_under_stays_as_it_was(tmp_path, short, subtests):
    async def go(**changes):
        async with session(tmp_path, Clock(), **{**ONE, **changes}) as place:
            goes(place, "a", "survey")
            return len(place.states)

    run(go())
    for changes, names in FORBIDDEN:
        with subtests.test(names):
            with pytest.raises(AgonError, match=f"began this study under other settings of {names}: put these back"):
                run(go(**changes))
            with pytest.raises(AgonError, match="other settings"):
                gathered(tmp_path, **changes)
    assert run(go(**ALLOWED)) == 1 and gathered(tmp_path, **ALLOWED)


def test_files_have_no_names_of_people_and_no_formulas(tmp_path, short):
    async def go():
        async with session(tmp_path, Clock(), **ONE) as place:
            goes(place, "qsecretpidq", "quiz")
            person = goes(place, "a")
            place.tick()
            await plays(place, person)
            sent = parse_form(urlencode({"do": "survey", "0": "=1+1\x00\x07 so\r\nit is", "1": "b"}))
            study_pages.submit(place, person, dict(sent))

    run(go())
    gathered(tmp_path)
    people = pd.read_csv(tmp_path / "out/participants.csv")
    assert list(people["survey 1"].dropna()) == ["'=1+1 so\nit is"]
    assert list(people.exclusions.dropna()) == ["not at the end: quiz"]
    assert not any(b"qsecretpidq" in path.read_bytes() for path in (tmp_path / "out").iterdir())


def test_links_and_hashed_names_need_the_secret_that_made_them(tmp_path, short):
    async def go():
        async with session(tmp_path, Clock(), **ONE) as place:
            goes(place, "a")

    run(go())
    (tmp_path / "secret").unlink()
    with pytest.raises(AgonError, match="secret is missing: links and hashed names are made with it"):
        run(go())
    with pytest.MonkeyPatch.context() as patch, pytest.raises(AgonError, match="secret is missing"):
        patch.setattr("agon_hall.gather.study", lambda name: made(**ONE))
        gather(tmp_path, "own", tmp_path / "out")
    assert not (tmp_path / "secret").exists()


def test_a_folder_of_other_files_is_no_hall(tmp_path):
    async def go():
        Hall(tmp_path)

    (tmp_path / "thesis.tex").touch()
    (tmp_path / "secret").touch()
    tmp_path.chmod(0o775)
    with pytest.raises(AgonError, match=r"holds other files, such as thesis.tex"):
        run(go())
    assert {each.name for each in tmp_path.iterdir()} == {
        "thesis.tex",
        "secret",
    } and tmp_path.stat().st_mode & 0o777 == 0o775


def test_a_table_that_was_forgotten_still_leads_on_to_the_survey(tmp_path, short):
    async def go():
        async with session(tmp_path, Clock(), **TWO, language="de") as place:
            people = goes(place, "a"), goes(place, "b")
            place.tick()
            await plays(place, *people)
            before, seat = place.table(people[0]), place.states[people[0]].seat
            await asyncio.sleep(0.05)
            place.hall.open("pd", ["human", "tit_for_tat"])  # as others come
            assert before.id not in place.hall.tables
            table = place.hall.find(before.id)
            await comes(lambda: table.state is not None and table.status == "over", "the end of the match")
            assert f'href="{place.at(people[0])}"' in seat_parts(table, seat)["first"] and table is not before
            assert "Die Partie ist vorbei" in seat_parts(table, seat)["status"] and table.terms.consent == place.consent

    run(go())


def test_a_person_who_left_during_a_full_disk_is_not_awaited(tmp_path, short, monkeypatch):
    async def go():
        async with session(tmp_path, Clock(), **TWO, dropout={"timeouts": 1, "away": 30, "then": "end"}) as place:
            stays, leaves = goes(place, "a"), goes(place, "b")
            place.tick()
            await asyncio.sleep(0)
            table, seat = place.table(leaves), place.states[leaves].seat
            with monkeypatch.context() as full:
                full.setattr(place.hall.store, "set_status", raises(AgonError("the disk is full")))
                with pytest.raises(Refusal, match="could not be kept"):
                    place.do(leaves, "withdrew")
            assert place.states[leaves].why == "withdrew" and table.status == "playing"
            table.terms.drop(seat)  # when their next answer does not come
            assert table.status == "closed" and table.why.endswith("has left")
            place.tick()
            assert place.states[stays].stage == "survey" and not place.states[stays].whole

    run(go())


def test_a_full_disk_while_somebody_is_late_stops_no_match(tmp_path, short, monkeypatch):
    async def go():
        async with session(tmp_path, Clock(), **TWO) as place:
            stays, late = goes(place, "a"), goes(place, "b")
            place.tick()
            await asyncio.sleep(0)
            table, seat = place.table(late), place.states[late].seat
            with monkeypatch.context() as full:
                full.setattr(place.hall.store, "add_events", raises(AgonError("the disk is full")))
                table.terms.drop(seat)
            assert table.status == "playing" and not table.leavers and place.states[late].stage == "match"
            table.terms.drop(seat)  # with the next answer that does not come
            assert table.leavers == {seat} and place.states[late].why == "late"
            await plays(place, stays)
            assert place.states[stays].stage == "survey" and place.states[stays].whole

    run(go())


def test_who_is_late_too_often_has_left_and_a_restart_does_not_change_it(tmp_path, short):
    async def go():
        clock = Clock()
        async with session(tmp_path, clock, **TWO) as place:
            stays, leaves = goes(place, "a"), goes(place, "b")
            place.tick()
            await asyncio.sleep(0)
            place.table(leaves).terms.drop(place.states[leaves].seat)
            assert place.states[leaves].why == "late"
        async with session(tmp_path, clock, **TWO) as place:
            await plays(place, stays)
            assert place.states[stays].stage == "survey" and place.states[leaves].why == "late"

    run(go())


def test_time_that_is_up_is_answered_by_the_script(tmp_path, short):
    async def go():
        async with session(tmp_path, Clock(), **TWO, dropout={"timeouts": 9, "then": "tit_for_tat"}) as place:
            _stays, late = goes(place, "a"), goes(place, "b")
            place.tick()
            table, seat = place.table(late), place.states[late].seat
            table.row = table.row._replace(seconds=0.01)
            await comes(lambda: table.timeouts[seat], "a timeout")
            await comes(lambda: place.hall.store.answer(table.id, seat, 0), "the answer of the script")
            answer = place.hall.store.answer(table.id, seat, 0)
            assert answer.fallback == "stood in: tit_for_tat (time is up)" and answer.action and not table.leavers

    run(go())


def test_what_is_typed_and_not_sent_is_kept_where_people_agreed_to_it(tmp_path, short):
    cell = {"one": {"games": ["public_goods"], "seats": ["human", *["anything"] * 2], "quota": 1}}

    async def go(drafts):
        clock, consent, folder = Clock(), FILE["consent"] | {"drafts": drafts}, tmp_path / str(drafts)
        async with session(folder, clock, cells=cell, consent=consent, dropout={"then": "end"}) as place:
            who = goes(place, "a")
            place.tick()
            table = place.table(who)
            await comes(lambda: table.questions, "a question", pause=0)
            question = table.questions[0]
            for typed in ("1", "12", "12", "long" * 1000, *map(str, range(300))):
                submit(
                    table, 0, Sent({"form": "answer", "question": str(question.number), "press": "", "answer": typed})
                )
            submit(table, 0, Sent({"form": "answer", "question": "77", "press": "", "answer": "another question"}))
            noted = [detail for _, _, kind, detail in place.hall.store.events("own") if detail.get("what") == "draft"]
            return [each["entered"]["answer"] for each in noted], {(each["round"], each["phase"]) for each in noted}

    assert run(go(drafts=False)) == ([], set())
    typed, where = run(
        go(drafts=True)
    )  # what changes nothing is not kept again, long texts are cut, and there is an end
    assert typed[:3] == ["1", "12", ("long" * 1000)[:LETTERS]] and len(typed) == DRAFTS and len(where) == 1


def test_a_server_killed_anywhere_loses_nothing(tmp_path, short, monkeypatch):
    """Every write may be the last one: the next server goes on from what was written."""

    async def go():
        clock = Clock()
        for writes in range(1, 50):  # noqa: B007
            await asyncio.sleep(0)
            async with session(tmp_path, clock, **TWO) as place:
                left, write = [2], place.hall.store._write

                def once(*commands, left=left, write=write):
                    left[0] -= 1
                    if left[0] < 0:
                        raise KeyboardInterrupt
                    return write(*commands)

                before = dict(place.states)
                monkeypatch.setattr(place.hall.store, "_write", once)
                with contextlib.suppress(KeyboardInterrupt, Refusal):
                    people = goes(place, "a"), goes(place, "b")
                    place.tick()
                    if all(place.states[who].match for who in people):
                        break
                assert all(place.states[who].since >= state.since for who, state in before.items())
        async with session(tmp_path, clock, **TWO) as place:
            place.tick()
            await plays(place, *people)
            assert all(place.states[who].stage == "survey" for who in people) and len(place.hall.store.tables()) == 1
            return writes

    assert 3 < run(go()) < 49


def test_nothing_is_said_to_have_happened_that_could_not_be_kept(tmp_path, short, monkeypatch):
    async def go():
        async with session(tmp_path, Clock(), **ONE) as place:
            who = goes(place, "a", "quiz")
            monkeypatch.setattr(place.hall.store, "add_events", raises(AgonError("the disk is full")))
            with pytest.raises(Refusal, match="has not been done"):
                place.do(who, "answered", right=True)
            assert place.states[who].stage == "quiz"

    run(go())
