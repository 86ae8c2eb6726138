"""When nothing can be written: nobody waits for long, nothing that was accepted is lost, and the match goes on when it can."""

import asyncio
import os
import re
import sqlite3
from contextlib import closing, contextmanager
from random import Random
from time import monotonic

import driving
import httpx
import pytest
import yaml
from driving import Server, Visitor, serving
from patience import LONG, comes

from agon.plan import PERSON
from agon_hall import Refusal, people
from agon_hall.store import Blocked, Store, TableRow

ROUNDS = 60
KILLS = int(os.environ.get("AGON_KILLS", "2"))


@contextmanager
def locked(place):
    """Another program writes."""
    with closing(sqlite3.connect(place.folder / "tables.sqlite", isolation_level=None)) as other:
        other.execute("begin immediate")
        yield
        other.execute("rollback")


@contextmanager
def full(place):
    """There is no more room. A page of the file that has been given back would be room."""
    db = place.store._db
    (most,) = db.execute("pragma max_page_count").fetchone()
    (pages,) = db.execute("pragma page_count").fetchone()
    db.execute(f"pragma max_page_count={pages}")
    with pytest.raises(sqlite3.OperationalError, match="full"):
        db.execute(
            "create table more as with recursive n(i) as (select 1 union select i + 1 from n limit 9999) select * from n"
        )
    yield
    db.execute(f"pragma max_page_count={most}")


def test_a_file_of_an_earlier_version_is_read_and_then_taken_up(tmp_path, short):
    """Beside a server of that version, and by the next server: what it lacks is as it was then."""
    later = ("language", "paused", "message")
    with closing(Store(tmp_path)) as store:
        store.add(TableRow("a", "b", "pd", (PERSON, "grim"), None, {}, {}), "1", "words")
        for column in later:
            store._db.execute(f"alter table tables drop column {column}")
        old = Store(tmp_path, read_only=True)
        assert [old.table("a")[at] for at in map(TableRow._fields.index, later)] == ["en", False, ""]
        old.close()
    with closing(Store(tmp_path)) as store:
        store.set_pause("a", True)
        store.set_message("a", "wait")
        assert store.table("a")[-4:-1] == ("en", True, "wait")


def kept(place):
    with closing(sqlite3.connect(place.folder / "tables.sqlite")) as db:
        return db.execute(
            "select seat, number, action from answers where place = ? order by 1, 2", (place.id,)
        ).fetchall()


def test_what_cannot_be_kept_is_not_accepted_and_can_be_sent_again(tmp_path, short, subtests):
    for closed in (locked, full):
        with subtests.test(closed.__name__), pytest.MonkeyPatch.context() as patch:
            require_refusal(tmp_path / closed.__name__, patch, closed)


def require_refusal(folder, monkeypatch, closed):
    """While the file is closed, answers are refused and nothing is stored."""
    long = "x" * 20_000  # no page of the file has so much room left

    async def run():
        async with serving(folder) as (place, path, _, port):
            place.sit(0, "Ada")
            await comes(lambda: 0 in place.questions, "a question")
            page = await Visitor(f"http://localhost:{port}", path).opens()
            spelled = type(place.questions[0].view.legal).format
            monkeypatch.setattr(type(place.questions[0].view.legal), "format", lambda *given: spelled(*given) + long)
            with closed(place):
                before = monotonic()
                await page.presses("cooperation")
                with pytest.raises(Refusal, match="could not be kept"):
                    place.answer(1, 0, ["defection"])
                for do in (lambda: place.leave(1), place.give_up):
                    if closed is locked:
                        with pytest.raises(Refusal, match="could not be kept"):
                            do()
                assert monotonic() - before < 15  # of another program's lock, a tenth of a second each
                assert "Not sent." in page.text() and "could not be kept" in page.text()
                assert "sqlite" not in page.reply.text
                assert kept(place) == [] and place.last_answers == {} and place.status == "playing"
                assert (await page.opens()).reply.status_code == 200
            await page.presses("cooperation")
            place.answer(1, 0, ["defection"])
            await comes(lambda: place.steps, "a step")
            assert kept(place) == [(0, 0, '"cooperation"'), (1, 0, '"defection"')]

    asyncio.run(run())


def test_a_match_waits_while_nothing_can_be_written_and_goes_on_by_itself(tmp_path, short, monkeypatch):
    monkeypatch.setattr(people, "AGAIN", 0.05)

    async def run():
        async with driving.hall(tmp_path) as hall:
            place = hall.open("pd", [PERSON, "uniform"], seconds=5)
            place.row = place.row._replace(seconds=0.2)
            with locked(place):
                pass
            place.sit(0, "Ada")
            place.has_read(0)
            await asyncio.sleep(0.05)
            with locked(place):
                await comes(lambda: place.waits, "a match that waits")
                await asyncio.sleep(0.3)
                with pytest.raises(Refusal):  # it was too late, though nothing has been written
                    place.answer(0, 0, ["cooperation"])
                assert place.status == "playing"
            async with asyncio.timeout(LONG):
                await place.done()
            assert (place.status, place.waits) == ("over", False)
            assert [(seat, number) for seat, number, _ in kept(place)] == [
                (at, number) for at in (0, 1) for number in range(3)
            ]
            assert all(action is None for seat, _, action in kept(place) if seat == 0)

    asyncio.run(run())


def test_a_transcript_that_cannot_be_written_is_written_when_it_can(tmp_path, short, monkeypatch):
    monkeypatch.setattr(people, "AGAIN", 0.05)

    async def run():
        async with driving.hall(tmp_path) as hall:
            (tmp_path / "played").write_text("in the way")
            place = hall.open("pd", ["uniform", "uniform"])
            await comes(lambda: place.waits, "a match that waits")
            (tmp_path / "played").unlink()
            async with asyncio.timeout(LONG):
                await place.done()
            assert place.status == "over" and place.path.is_file()

    asyncio.run(run())


def test_a_file_that_somebody_else_holds_alone_stops_no_page(tmp_path, short):
    async def run():
        async with serving(tmp_path) as (place, path, _, port):

            async def pages():
                before = monotonic()
                await asyncio.gather(*(Visitor(f"http://localhost:{port}", path).opens() for _ in range(3)))
                return monotonic() - before

            usual = await pages()
            with locked(place):
                assert await pages() < 12 + 4 * usual

    asyncio.run(run())


def test_acknowledged_answers_survive_every_kill_and_once_only(tmp_path):
    """AGON_KILLS says how often the server is killed while people answer."""
    project = driving.folder_of(tmp_path)
    settings = yaml.safe_load((project / "conf/game/pd.yaml").read_text()) | {"rounds": ROUNDS}
    for each in (project / "conf/game").iterdir():  # with one game it starts sooner
        each.unlink()
    (project / "conf/game/long.yaml").write_text(yaml.safe_dump(settings))
    server, dice, pressed, told = Server(project, tmp_path / "hall"), Random(1), {}, {}

    async def plays(row, seat):
        """A person who answers as fast as it can, and remembers what the page has said is sent."""
        page = Visitor(server.url, server.link("seat", row, seat))
        while True:
            await page.opens()
            if "Before you play" in page.text():
                await page.presses("I agree, and sit down", name="Ada")
            if turn := re.search(r"Your turn, round (\d+)", page.text("status")):
                given = row.id, seat, int(turn[1]) - 1
                pressed.setdefault(given, []).append(dice.choice(["cooperation", "defection"]))
                await page.presses(pressed[given][-1])
                assert page.reply.status_code == 200 and "Not sent" not in page.text()
                told[given] = pressed[given][-1]
            await asyncio.sleep(0.005)

    async def killed(rows):
        playing = [asyncio.create_task(plays(row, seat)) for row in rows for seat in (0, 1)]
        wanted = len(told) + dice.randint(4, 30)
        await comes(lambda: len(told) >= wanted, f"{wanted} answers")
        await asyncio.sleep(dice.uniform(0, 0.1))
        server.kill()
        done = await asyncio.gather(*playing, return_exceptions=True)
        assert all(isinstance(each, OSError | httpx.TransportError) for each in done), done

    rows = []
    try:
        for number in range(KILLS):
            if number:
                server.start()
            while sum(len(server.answers(row)) < ROUNDS for row in rows) < 3:
                rows.append(server.opened("long", [PERSON] * 2))
            asyncio.run(killed([row for row in rows if len(server.answers(row)) < ROUNDS]))
            there = {(row.id, seat, number): action for row in rows for seat, number, action in server.answers(row)}
            assert {each: there.get(each) for each in told} == told
            assert all(action in pressed.get(each, ()) for each, action in there.items())
    finally:
        server.stop()
    print(f"{KILLS} kills, {len(told)} answers that pages had said were sent, none lost, none twice")


class NoMemory:
    """A file for which SQLite gets no memory."""

    def __enter__(self):
        raise MemoryError

    def __exit__(self, *why):
        pass

    def execute(self, *given):
        raise MemoryError


def test_without_memory_nothing_is_accepted_and_it_can_be_sent_again(tmp_path):
    store = Store(tmp_path / "hall")
    db, store._db = store._db, NoMemory()
    for do in (lambda: store.set_away("table", 0, True), lambda: store.people("table")):
        with pytest.raises(Blocked, match="there is no more memory"):
            do()
    store._db = db
    store.set_away("table", 0, True)
    store.close()
