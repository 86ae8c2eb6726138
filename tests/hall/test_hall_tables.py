"""Tables without pages: what is accepted, what is kept, and that no restart, order or budget changes a match."""

import asyncio
import json
import re
import shutil
import sqlite3
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import driving
import pytest
import yaml
from driving import KINDS, answer_of, hall, seat_parts, settled, sit_all
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from patience import LONG, comes
from project import KEY, serving

from agon import AgonError
from agon.plan import PERSON
from agon.turns import is_games, matches, read, validated
from agon_hall import Refusal, tables, web
from agon_hall import table as table_module
from agon_hall.lobby import host_context
from agon_hall.store import StoredAnswer
from agon_hall.tables import Hall

SAME = [
    *("experiment", "match", "game", "variant", "rules", "repetition", "round", "turn", "phase", "seat", "role"),
    *("agent", "legal", "action", "valid", "fallback", "payoff", "config"),
]
"""What a match's turns do not owe to who clicked when."""
ENTRANTS = {name: [PERSON, PERSON, "anything"] for name in KINDS} | {
    "tradecraft": [PERSON, PERSON],
    "pd": [PERSON, "uniform"],
    "rps": [PERSON, PERSON],
}


def run(coroutine):
    return asyncio.run(asyncio.wait_for(coroutine, LONG))


def played(folder, place):
    return read(folder / "played" / f"{place.row.match}.parquet")


def answers(folder):
    with sqlite3.connect(folder / "tables.sqlite") as db:
        return db.execute("select place, seat, number, action from answers order by 1, 2, 3").fetchall()


def opened(place, game="pd", entrants=(PERSON, PERSON), **more):
    made = place.open(KINDS[game], entrants, **more)
    sit_all(made)
    return made


def refused(what, *arguments):
    with pytest.raises(Refusal) as said:
        what(*arguments)
    return str(said.value)


# --- a match is the same whatever happens


def same(place, turns, seed):
    wanted = asyncio.run(driving.reference(place, seed))
    for column in SAME:
        assert list(turns[column].astype(object).fillna("")) == list(wanted[column].astype(object).fillna("")), column
    people = turns[(turns.agent == PERSON) & turns.legal.notna()]
    assert (
        people.groupby("seat").head(1).detail.map(json.loads).map(lambda told: told["consent"]["words"]).nunique() == 1
    )


class Died(Exception):
    """The server is gone."""


async def one_life(folder, seed, dice, name, table, restarts):
    """Goes on with the match in a new hall until it is over (returns its table), or the hall dies, at any moment."""
    made = Hall(folder)
    try:
        place = made.tables.get(table) or made.open(KINDS[name], ENTRANTS[name])
        if place.status == "waiting":
            if restarts and dice.random() < 0.3:
                if not made.store.people(place.id):
                    place.sit(place.people[0], "Ada")
                raise Died(place.id)
            for seat in set(place.people) - set(made.store.people(place.id)):
                place.sit(seat, f"P{seat}")
        for _ in range(10_000):
            await settled(place)
            if place.status != "playing":
                return place
            seat = dice.choice(sorted(place.questions))
            question = place.questions[seat]
            actions = [answer_of(seed, seat, question.number, question.view)]
            while question.view.phase == "craft" and dice.random() < 0.5:  # several at once; some come to nothing
                actions.append(answer_of(seed, seat, question.number + len(actions), question.view))
            place.answer(seat, question.number, actions)
            if restarts and dice.random() < restarts:
                raise Died(place.id)
            if dice.random() < 0.5:
                await asyncio.sleep(0)
        raise AssertionError("the match comes to no end")
    finally:
        await made.close()


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(sorted(KINDS)), st.integers(0, 10**6), st.integers(0, 10**6), st.sampled_from([0.0, 0.1, 0.5]))
def test_order_of_answers_and_restarts_do_not_change_turns(short, name, seed, order, often):
    dice, place, table = Random(order), None, ""
    with TemporaryDirectory() as folder:
        folder = Path(folder)
        while place is None:
            try:
                place = run(one_life(folder, seed, dice, name, table, often))
            except Died as died:
                table = str(died)
        turns = validated(played(folder, place))
        same(place, turns, seed)
        assert len(matches(turns)) == place.game.seats


def test_answers_are_on_disk_before_anybody_sees_them(short, tmp_path):
    """As after kill -9: the files as they are at the moment when an answer has been accepted, and nothing else."""

    async def before():
        async with hall(tmp_path / "before") as made:
            place = opened(made)
            await settled(place)
            place.answer(1, 0, ["defection"])
            shutil.copytree(tmp_path / "before", tmp_path / "after")
            return place.id

    async def after(table):
        async with hall(tmp_path / "after") as made:
            place = made.tables[table]
            await settled(place)
            assert sorted(place.questions) == [0]
            place.answer(0, 0, ["cooperation"])
            await settled(place)
            return place.view(None).past

    assert run(after(run(before()))) == (("cooperation", "defection"),)


def test_what_was_sent_at_once_is_played_after_a_restart(short, tmp_path):
    """The crafts of a turn are sent together; the server ends before the first of them has been played."""
    crafts = [
        {"tool": "craft_apply", "inputs": {"oak_log": 1}, "outputs": {"oak_planks": 4}},
        {"tool": "history"},
        {"tool": "craft_done"},
    ]

    async def before():
        async with hall(tmp_path) as made:
            place = opened(made, "tradecraft")
            await settled(place)
            place.answer(0, 0, [{"tool": "submit_proposal", "partner": "Player 2", "offer": {}, "request": {}}])
            await settled(place)
            place.answer(1, 0, [{"tool": "decide", "decision": "reject"}])
            await settled(place)
            place.answer(0, 1, crafts)
            return place.id

    async def after(table):
        async with hall(tmp_path) as made:
            place = made.tables[table]
            await settled(place)
            assert [(seat, asked.number) for seat, asked in place.questions.items()] == [(1, 1)]
            place.answer(1, 1, [{"tool": "craft_done"}])
            await settled(place)
            assert place.state.turn == 2
            assert place.state.hands[0]["oak_planks"] == 4

    run(after(run(before())))


# --- what is accepted


def test_what_is_not_legal_late_or_said_twice_changes_nothing(short, tmp_path):
    async def match():
        async with hall(tmp_path) as made:
            place = opened(made)
            assert "answered already" in refused(place.answer, 0, 0, ["cooperation"])  # it is not asked yet
            await settled(place)
            for wrong in (["perfidy"], [None], [], ["cooperation", "perfidy"], [["cooperation"]], [{}]):
                assert "not one of the answers" in refused(place.answer, 0, 0, wrong)
            assert not answers(tmp_path)
            assert "answered already" in refused(
                place.answer, 0, 1, ["cooperation"]
            )  # what comes next is not asked yet
            assert "answered already" in refused(place.answer, 2, 0, ["cooperation"])
            place.answer(0, 0, ["cooperation"])
            assert "answered already" in refused(place.answer, 0, 0, ["defection"])  # at once
            await asyncio.sleep(0)
            assert "answered already" in refused(place.answer, 0, 0, ["defection"])  # while the other one is waited for
            place.answer(1, 0, ["defection"])
            await settled(place)
            assert "answered already" in refused(place.answer, 0, 0, ["defection"])  # in the next round
            assert [each[1:] for each in answers(tmp_path)] == [(0, 0, '"cooperation"'), (1, 0, '"defection"')]
            while place.status == "playing":
                for seat in place.people:
                    place.answer(seat, place.questions[seat].number, ["cooperation"])
                await settled(place)
            assert "answered already" in refused(place.answer, 0, 3, ["defection"])
            turns = played(tmp_path, place)
            assert list(turns[turns["round"] == 1].attempts) == [7, 1]
            assert set(turns[turns["round"] > 1].attempts) == {1}

    run(match())


def test_a_seat_is_taken_once_by_a_name_of_letters(short, tmp_path):
    async def match():
        async with hall(tmp_path) as made:
            place = made.open("pd", [PERSON, "uniform"])
            for name in ("", "   ", "x" * 41, "A\u202eda", "A\u0000da", "\ud800"):
                assert "1 to 40 letters" in refused(place.sit, 0, name)
            assert "Nobody can sit" in refused(place.sit, 1, "Ada")
            assert "Nobody can sit" in refused(place.sit, -1, "Ada")
            place.sit(0, "  Ada \n Lovelace ")
            assert made.store.people(place.id)[0].name == "Ada Lovelace"
            assert "now" in refused(place.sit, 0, "Bo")

            pair = made.open("pd", [PERSON, PERSON])
            pair.sit(0, "Ada")
            assert "already" in refused(pair.sit, 0, "Bo")

    run(match())


def test_a_person_whose_time_is_up_has_done_nothing(short, tmp_path):
    async def match():
        async with hall(tmp_path) as made:
            assert "5 to" in refused(lambda: made.open("pd", [PERSON, PERSON], 1))
            place = made.open("pd", [PERSON, PERSON], 5)
            place.row = place.row._replace(seconds=1.0)
            sit_all(place)
            place.readers |= {0, 1}  # both have read the rules: their clocks run
            while place.status == "playing":
                await comes(lambda: 0 in place.questions or place.status != "playing", "a question", pause=0.001)
                if 0 in place.questions:
                    place.answer(0, place.questions[0].number, ["cooperation"])
            return place

    place = run(match())
    turns = validated(played(tmp_path, place))
    own, other = (turns[turns.seat == seat] for seat in (0, 1))
    assert list(own.action) == ["cooperation"] * 3
    assert list(own.fallback) == [""] * 3
    assert other.action.isna().all()
    assert list(other.fallback) == ["time is up"] * 3
    assert (other.seconds >= 0.3).all()
    assert not turns.valid.any()


# --- keys


def test_a_key_opens_one_seat_or_one_table_and_nothing_else(short, tmp_path):
    async def match():
        async with hall(tmp_path / "one") as made, hall(tmp_path / "other") as other:
            first, second = (made.open("pd", [PERSON, PERSON]) for _ in range(2))
            seat, host = made.keys.key_of("seat", first.id, 1), made.keys.key_of("host", first.id)
            assert made.place_of("seat", seat) == (first, 1)
            assert made.place_of("host", host) == (first, None)
            _, _, mac = seat.partition(".1.")
            altered = [f"{first.id}.0.{mac}", f"{second.id}.1.{mac}", f"{first.id}.{mac}", f"{first.id}.01.{mac}"]
            altered += [
                seat[:-1],
                seat + "0",
                seat.upper(),
                seat[:-1] + ("0" if seat[-1] != "0" else "1"),
                "",
                ".",
                "..",
                "é",
            ]
            altered += [
                f"{first.id}.1.",
                f"{first.id}.\u0661.{mac}",
                f"{first.id}.-1.{mac}",
                f"\x00.{mac}",
                seat + "\n",
            ]
            assert [made.place_of("seat", key) for key in altered] == [None] * len(altered)
            assert made.place_of("host", seat) is None and made.place_of("seat", host) is None
            assert other.place_of("seat", seat) is None
            assert len({made.keys.key_of("seat", first.id, each) for each in range(2)}) == 2
            assert (tmp_path / "one/secret").stat().st_mode & 0o777 == 0o600
        async with hall(tmp_path / "one") as again:
            assert again.keys.key_of("seat", first.id, 1) == seat
            assert again.place_of("seat", seat)[0].id == first.id

    run(match())


def test_a_folder_is_used_by_one_hall_at_a_time(tmp_path):
    async def both():
        async with hall(tmp_path):
            with pytest.raises(AgonError, match="in use by another server"):
                Hall(tmp_path)
        async with hall(tmp_path):
            pass

    run(both())


# --- stopping


def test_a_match_given_up_takes_no_answers_and_keeps_its_turns(short, tmp_path):
    async def match():
        async with hall(tmp_path) as made:
            place = opened(made)
            await settled(place)
            for round_ in range(2):
                place.answer(0, round_, ["cooperation"])
                if not round_:
                    place.answer(1, round_, ["defection"])
                await settled(place)
            place.give_up()
            assert refused(place.answer, 1, 1, ["cooperation"])
            await asyncio.sleep(0.05)
            assert (place.status, place.questions) == ("closed", {})
            place.go_on()
            await asyncio.sleep(0.05)
            assert place.status == "closed"
        async with hall(tmp_path) as made:
            assert made.find(place.id).status == "closed"
            assert not list(tmp_path.glob("played/*"))
            kept, _ = sorted(
                tmp_path.glob("given_up/*"), key=is_games
            )  # what was played until then, apart from what is collected
            assert list(validated(read(kept)).action) == ["cooperation", "defection"]

    run(match())


def test_a_match_that_is_over_can_be_looked_at_after_a_restart(short, tmp_path):
    own = tmp_path / "own"

    async def life():
        async with hall(own) as made:
            place = opened(made, "prisoner3", ENTRANTS["prisoner3"])
            while place.status == "playing":
                await settled(place)
                for seat in list(place.questions):
                    place.answer(seat, place.questions[seat].number, ["cooperate" if seat else "defect"])
            return place.id, place.totals, place.view(None)

    async def later(table, totals, seen):
        async with hall(own) as made:
            place = made.find(table)
            for _ in range(200):
                await asyncio.sleep(0.005)
            assert (place.status, place.totals, place.view(None)) == ("over", totals, seen)

    async def options():
        async with hall(tmp_path / "other") as made:
            return made.open(KINDS["prisoner3"], ENTRANTS["prisoner3"]).game

    assert run(options()).seats == 3
    before = (own, run(life()))
    written = {path: path.read_bytes() for path in own.glob("played/*")}
    run(later(*before[1]))
    assert {path: path.read_bytes() for path in own.glob("played/*")} == written


def test_a_script_that_answers_otherwise_than_before_stops_the_match(short, tmp_path):
    async def match():
        async with hall(tmp_path) as made:
            place = made.open("pd", [PERSON, "always_kind"])
            made.store.keep(place.id, 1, [StoredAnswer(0, 1, "move", "defection")])
            sit_all(place)
            await asyncio.sleep(0.05)
            assert place.status == "stopped"
            assert "otherwise" in place.why

    run(match())


def damaged(folder, text):
    """Another text in the place of the first answer; gives the one that was there."""
    with sqlite3.connect(folder / "tables.sqlite") as db:
        ((before,),) = db.execute("select action from answers where seat = 0 and number = 0").fetchall()
        db.execute("update answers set action = ? where seat = 0 and number = 0", [text])
    return before


def in_the_way(folder, name):
    """A file where there must be a folder, as one that cannot be written."""
    if (folder / name).is_file():
        (folder / name).unlink()
        (folder / f"{name}.before").rename(folder / name)
    else:
        (folder / name).rename(folder / f"{name}.before")
        (folder / name).touch()


def unforeseen(monkeypatch):
    def fails(folder):
        raise RuntimeError("no good")

    monkeypatch.setattr(table_module, "Recording", fails)


STOPS = {
    "answer": "answer 0 of seat 0 at table .* cannot be read",
    "recordings": "recordings/.* cannot be written",
    "locks": "locks cannot be used",
    "unforeseen": "the log of the server says what it is",
}
"""What breaks, and the reason on the pages."""


def test_a_match_that_stopped_goes_on_with_all_its_answers(short, tmp_path, monkeypatch, caplog, subtests):
    for breaks, why in STOPS.items():
        with subtests.test(breaks):
            caplog.clear()
            require_recovery(tmp_path / breaks, monkeypatch, caplog, breaks, why)


def require_recovery(folder, monkeypatch, caplog, breaks, why):
    """A match stops for this reason, and goes on with all its answers when the cause is gone."""

    async def begins():
        async with hall(folder) as made:
            place = made.open("pd", [PERSON, "zs@thinker"])
            sit_all(place)
            await settled(place)
            place.answer(0, 0, ["cooperation"])
            await thought(place)
            assert place.steps == 1 and place.status == "playing"
            return place.id

    async def ends(table):
        async with hall(folder) as made:
            place = made.tables[table]
            await settled(place)
            assert place.status == "stopped" and re.search(why, place.why)
            pages = (
                seat_parts(place, 0),
                seat_parts(place, None),
                web.parts_of("host.html", host_context(made, place, "")),
            )
            return ["".join(parts.values()) for parts in pages]

    async def goes_on(table):
        async with hall(folder) as made:
            place = made.tables[table]
            place.go_on()
            await to_the_end(place)
            return place

    table = run(begins())
    kept = answers(folder)
    first = None
    with monkeypatch.context() as broken:
        if breaks == "answer":
            first = damaged(folder, "{")
        elif breaks == "unforeseen":
            unforeseen(broken)
        else:
            in_the_way(folder, breaks)
        own, watching, host = run(ends(table))
    assert "has been stopped" in own and "has been stopped" in watching and re.search(why, host)
    assert re.search(f"the match of table {table} stops: .*{why}", caplog.text)
    assert ("RuntimeError: no good" in caplog.text) == (breaks == "unforeseen")
    if breaks == "answer":
        damaged(folder, first)
    elif breaks != "unforeseen":
        in_the_way(folder, breaks)
    assert answers(folder) == kept
    place = run(goes_on(table))
    assert place.status == "over" and set(kept) <= set(answers(folder))
    assert played(folder, place).action.iloc[0] == "cooperation"


# --- models


def test_a_secret_that_is_none_is_refused(tmp_path):
    async def begun():
        async with hall(tmp_path / "hall") as made:
            return made.keys._secret

    assert run(begun()) == run(begun()) and len(run(begun())) == 32
    assert [each.name for each in (tmp_path / "hall").glob("secret*")] == ["secret"]
    (tmp_path / "hall/secret").write_bytes(b"")
    with pytest.raises(AgonError, match="must hold 32 bytes, not 0"):
        run(begun())


def test_answers_that_cannot_be_kept_are_not_played(short, tmp_path):
    async def played_on():
        async with hall(tmp_path / "hall") as made:
            place = made.open("pd", [PERSON, PERSON])
            sit_all(place)
            await settled(place)
            (tmp_path / "hall/tables.sqlite").rename(tmp_path / "elsewhere")
            assert "could not be kept" in refused(place.answer, 0, 0, ["cooperation"])
            assert 0 in place.questions
            (tmp_path / "elsewhere").rename(tmp_path / "hall/tables.sqlite")
            place.answer(0, 0, ["cooperation"])

    run(played_on())


@pytest.fixture
def paid(tmp_path, monkeypatch, request):
    """Tables of this process may ask a model that costs money: a server of this test."""
    import functools

    monkeypatch.setenv(KEY, "a-key-of-these-tests")
    with serving(answer=lambda body: f"[move] cooperation, thought over {len(body['messages'])} times"[:18]) as server:
        conf = driving.conf(tmp_path / "paid")
        own = {"_target_": "agon.models.openai.OpenAI", "_convert_": "all", "base_url": server.openai}
        own |= {"model": "fault-server", "key": KEY, "parameters": {"max_tokens": 100}}
        own["price"] = {"input": 1000.0, "cached": 1000.0, "output": 1000.0}  # USD for a million tokens
        (conf / "model/server.yaml").write_text(yaml.safe_dump(own))
        (conf / "model/unpriced.yaml").write_text(yaml.safe_dump(own | {"price": {"input": 1.0, "output": None}}))
        game = yaml.safe_load((conf / "game/pd.yaml").read_text()) | {"rounds": 6}
        (conf / "game/pd.yaml").write_text(yaml.safe_dump(game))
        monkeypatch.setattr(tables, "seating", functools.partial(tables.seating, conf=conf))
        yield server


async def thought(place):
    """Returns when a model has been asked, and has answered, all it is to answer for now."""
    await asyncio.sleep(0.02)
    await comes(lambda: place.status != "playing" or (place.questions and not place.thinking), "an answer of the model")


async def to_the_end(place):
    while place.status == "playing":
        await thought(place)
        if 0 in place.questions and not place.questions[0].future.done():
            place.answer(0, place.questions[0].number, ["cooperation"])


def test_a_paid_model_is_asked_within_a_budget_and_never_twice(paid, tmp_path):
    folder = tmp_path / "hall"
    seats = [PERSON, "zs@server"]

    async def first():
        async with hall(folder) as made:
            assert "costs money" in refused(made.open, "pd", seats)
            assert "costs money" in refused(made.open, "pd", seats, None, {"calls": 3})
            assert "0 or more" in refused(made.open, "pd", seats, None, {"usd": -1})
            assert "0 or more" in refused(made.open, "pd", seats, None, {"usd": float("nan")})
            unpriced = [PERSON, "zs@unpriced"]
            assert "not known: set a budget in tokens" in refused(made.open, "pd", unpriced)
            assert "not in USD" in refused(made.open, "pd", unpriced, None, {"usd": 1.5, "tokens": 9})
            other = made.open("pd", unpriced, None, {"tokens": 9})
            assert "not known" in refused(other.allow, {"tokens": None})
            assert other.row.budget["tokens"] == 9
            other.give_up()
            assert paid.requests == 0
            place = made.open("pd", seats, None, {"usd": 1.5})
            assert "costs money" in refused(place.allow, {"usd": None})
            sit_all(place)
            await to_the_end(place)
            assert place.status == "stopped"
            assert "may cost" in place.why
            assert 0 < paid.requests < 6
            assert 0 < place.spending["usd"] <= 1.5
            assert refused(place.answer, 0, place.steps, ["cooperation"])
            return place.id, place.spending

    async def second(table, spent):
        """Stopped it stays; with more money it goes on, and dies amid the match."""
        async with hall(folder) as made:
            place, asked = made.tables[table], paid.requests
            assert (place.status, place.spending) == ("stopped", spent)
            place.allow({"usd": 4.0})
            place.go_on()
            await thought(place)
            for _ in range(2):
                if 0 in place.questions:
                    place.answer(0, place.questions[0].number, ["cooperation"])
                await thought(place)
            assert paid.requests > asked
            assert place.spending["usd"] > spent["usd"]
            return place.spending

    async def third(table, spent):
        async with hall(folder) as made:
            place, asked = made.tables[table], paid.requests
            await thought(place)
            assert paid.requests == asked
            assert place.spending == spent
            place.allow({"usd": 100.0})
            if place.status == "playing":  # another budget holds from the next time that the match goes on
                await to_the_end(place)
            assert "may cost" in place.why
            await comes(lambda: place.running is None, "the end of what was under way")
            place.go_on()
            await to_the_end(place)
            assert place.status == "over", place.why
            return place

    table, spent = run(first())
    place = run(third(table, run(second(table, spent))))
    turns = validated(played(folder, place))
    assert paid.requests == paid.answers == 6
    assert list(turns.action) == ["cooperation"] * 12
    assert place.spending["calls"] == 6
    model = turns[turns.agent == "zs"]
    assert set(model.model) == {"server"}
    assert (model.tokens_in > 0).all()
    assert place.spending["tokens"] == model.tokens.sum()


def test_a_budget_counts_failed_and_cut_off_calls_after_a_restart(paid, tmp_path):
    paid.script = ["no answer", "no answer", "silence"]
    most = 0.1  # USD: 100 tokens of an answer, without those of the question

    async def table(folder, then, name=None):
        async with hall(folder) as made:
            place = made.tables[name] if name else made.open("pd", [PERSON, "zs@server"], None, {"usd": 8.0})
            place.models["server"].tries, place.models["server"].pause = 2, 0.0
            await then(made, place)
            return place

    async def fails(made, place):
        sit_all(place)
        await thought(place)
        assert "2 tries failed" in place.why and place.spending["usd"] > 2 * most

    async def is_cut_off(made, place):
        assert place.spending == before.spending and place.spending["calls"] == 2
        place.go_on()
        await comes(lambda: paid.requests >= 3, "three requests")
        [stored] = made.store.tables()
        assert place.spending["usd"] == before.spending["usd"] < stored.spent["usd"] - most  # as if it were killed now

    async def goes_on(made, place):
        assert place.spending["usd"] > before.spending["usd"] + most and place.spending["calls"] == 3
        await to_the_end(place)
        assert "may cost" in place.why and place.spending["usd"] <= 8.0

    before = run(table(tmp_path / "hall", fails))
    run(table(tmp_path / "hall", is_cut_off, before.id))
    run(table(tmp_path / "hall", goes_on, before.id))
