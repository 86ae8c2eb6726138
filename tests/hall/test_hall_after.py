"""After a study: wide tables for spreadsheets, a participant who is forgotten, and a backup that is the hall as it was."""

import shutil
import sqlite3
import stat
from contextlib import closing

import pandas as pd
import pytest
from click.testing import CliRunner
from driving import settled
from test_study_rules import ONE, TWO, Clock, gathered, goes, made, plays, run, session, short, short_conf  # noqa: F401

from agon import AgonError
from agon_hall import monitor, study_pages, upkeep, verbs, wide

NUMBER = "qsecretpidq"


@pytest.fixture
def played(tmp_path, short, monkeypatch):  # noqa: F811
    """A study with two matches against a script: one participant writes into the survey, one leaves in the match."""

    async def go():
        clock = Clock()
        async with session(tmp_path, clock, **ONE) as place:
            person, gone = goes(place, NUMBER), goes(place, "other")
            place.tick()
            await plays(place, person)
            study_pages.submit(place, person, {"do": "survey", "0": "=my own words", "1": "b"})
            table = place.table(gone)
            table.terms.note(place.states[gone].seat, "page closed", {})
            clock.now += 31
            place.tick()
            await table.done()

    run(go())
    monkeypatch.setattr(upkeep, "study", lambda name: made(**ONE))
    return tmp_path


def forget(folder, number=NUMBER, *, match=False, yes=True):
    asked = []
    said = upkeep.forget(folder, "own", number, match, lambda what: asked.append(what) or yes)
    return said, asked


def bytes_of(folder):
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


# --- tables


def test_rounds_of_a_participant_are_one_row(played):
    gathered(played)
    table = pd.read_csv(played / "out/wide.csv").set_index("participant")
    assert len(table) == 2 and table["match"].nunique() == 2
    columns = [name for name in table.columns if name.startswith("1 ")]
    phase = columns[0]
    assert columns == [phase, f"{phase} seconds", f"{phase} stood in", "1 points"]
    stood_in = table[table[f"{phase} stood in"].notna()]
    assert list(stood_in[f"{phase} stood in"]) == ["tit_for_tat (left)"] and len(stood_in) == 1
    points = table[[f"{number} points" for number in (1, 2, 3)]].sum(axis=1)
    people = pd.read_csv(played / "out/participants.csv").set_index("participant")
    known = people.points.dropna()
    assert len(known) == 1 and (points[known.index] == known).all()


def test_stood_in_rounds_are_a_column(played):
    gathered(played)
    people = pd.read_csv(played / "out/participants.csv").set_index("stage")
    assert people["stood in"].to_dict() == {"debrief": 0, "out": 3} and people.missed.eq(0).all()


def test_the_time_on_each_page_is_a_row(played):
    gathered(played)
    table = pd.read_csv(played / "out/pages.csv")
    for _, rows in table.groupby("participant"):
        stages = list(rows.page)
        assert stages[:4] == ["consent", "instructions", "quiz", "lobby"] and stages[-1] in ("debrief", "out")
        assert rows.seconds.iloc[:-1].notna().all() and rows.seconds.isna().iloc[-1]
    left = table[table.page.eq("match") & table.seconds.eq(31)]
    assert len(left) == 1 and left["pages closed"].item() == 1


def rows(*actions):
    """Turns of one match: (seat, phase, legal, action) in their order."""
    made_up = [
        {"match": "m", "round": 1, "turn": number, "phase": phase, "seat": seat, "agent": "human", "legal": legal,
         "action": action, "payoff": 1.0, "asked": True, "seconds": 2.0, "fallback": ""}
        for number, (seat, phase, legal, action) in enumerate(actions, 1)
    ]  # fmt: skip
    return pd.DataFrame(made_up)


def test_what_players_write_is_a_table_without_formulas():
    calls = '{"calls": "decide"}'
    turns = rows(
        (0, "clue", '{"text": 500}', "=1+1"),
        (1, "vote", '{"choice": ["Player 1"]}', "Player 1"),
        (1, "propose", calls, '{"tool": "submit_proposal", "offer": {}, "message": "hello"}'),
        (0, "decide", calls, '{"tool": "decide", "decision": "accept", "message": ""}'),
        (0, "clue", '{"text": 500}', None),
    )
    table = wide.chat(turns, {("m", 0): "somebody"})
    assert list(table.text) == ["'=1+1", "hello"] and list(table.phase) == ["clue", "propose"]
    assert table.participant[0] == "somebody" and pd.isna(table.participant[1])


def test_a_phase_that_is_asked_again_has_columns_of_its_own():
    turns = rows(
        *[(0, "craft", '{"text": 9}', action) for action in ("-1.5", "-b", None)], (1, "craft", '{"text": 9}', "z")
    )
    table = wide.rounds_in_columns(turns, {("m", 0): "somebody"})
    assert list(table.columns)[3:6] == ["1 craft", "1 craft seconds", "1 craft stood in"]
    assert table[["1 craft", "1 craft 2"]].iloc[0].tolist() == ["-1.5", "'-b"] and pd.isna(table["1 craft 3"][0])
    assert table["1 points"].tolist() == [3.0] and list(table.columns)[-1] == "1 points"


# --- forgetting


def test_of_who_is_forgotten_a_tombstone_is_left(played):
    gathered(played)
    before = pd.read_csv(played / "out/participants.csv").set_index("participant")
    name = before.index[before["survey 1"].notna()].item()
    said, asked = forget(played)
    assert "is forgotten" in said and "cannot be undone" in asked[0]
    gathered(played)
    after = pd.read_csv(played / "out/participants.csv").set_index("participant")
    assert list(after.index) == list(before.index) and after.loc[name, "exclusions"] == "forgotten"
    assert after.loc[name, ["cell", "match", "stage"]].tolist() == before.loc[name, ["cell", "match", "stage"]].tolist()
    assert after.loc[name, ["bonus", "points", "arrived", "survey 1", "seconds"]].isna().all()
    pd.testing.assert_frame_equal(after.drop(index=name), before.drop(index=name), check_dtype=False)
    times = pd.read_parquet(played / "out/events.parquet").set_index("participant")["at"]
    assert times[[name]].nunique() == 1 < times.nunique()
    assert name not in set(pd.read_csv(played / "out/pages.csv").participant)
    kept = bytes_of(played)
    assert NUMBER.encode() not in kept and b"my own words" not in kept


def test_the_rows_of_others_and_all_places_stay(played):
    gathered(played)
    turns = pd.read_parquet(played / "out/turns.parquet")

    async def places():
        async with session(played, Clock(), **ONE) as place:
            return monitor.monitor_context(place)["places"], {who: s.stage for who, s in place.states.items()}

    before = run(places())
    forget(played)
    gathered(played)
    assert run(places()) == before and pd.read_parquet(played / "out/turns.parquet").equals(turns)


def test_who_was_forgotten_comes_back_as_somebody_new(played):
    async def come():
        """Who comes by the link, their stage, and the key of their page."""
        async with session(played, Clock(), **ONE) as place:
            who = place.join("link", NUMBER)
            return who, place.states[who].stage, place.key(who)

    async def opens(key):
        async with session(played, Clock(), **ONE) as place:
            return place.participant_of(key)

    old, stage, key = run(come())
    assert stage == "debrief" and run(opens(key)) == old
    forget(played)
    new, stage, _ = run(come())
    assert new != old and stage == "consent" and run(opens(key)) is None


def test_a_whole_match_is_erased_on_request(played):
    forget(played, match=True)
    gathered(played)
    turns = pd.read_parquet(played / "out/turns.parquet")
    assert turns.match.nunique() == 1
    with closing(sqlite3.connect(played / "tables.sqlite")) as db:
        assert sorted(db.execute("select status, why from tables")) == [("closed", "erased"), ("over", "")]
    forget(played, "other", match=True)
    gathered(played)
    assert not {path.name for path in (played / "out").iterdir()} & {"turns.parquet", "wide.csv", "chat.csv"}


def test_nothing_is_erased_without_a_yes(played):
    before = bytes_of(played / "played")
    assert forget(played, yes=False)[0] == "nothing is erased"
    gathered(played)
    assert NUMBER.encode() in bytes_of(played) and bytes_of(played / "played") == before


def test_who_cannot_be_forgotten_now_is_said_in_one_line(played, short):  # noqa: F811
    with pytest.raises(AgonError, match="study own has no participant 'nobody'"):
        forget(played, "nobody")

    async def go():
        async with session(played, Clock(), **ONE) as place:
            goes(place, "third")
            place.tick()
            with pytest.raises(AgonError, match="in use by another server"):
                forget(played)

    run(go())
    with pytest.raises(AgonError, match="third is in a match"):
        forget(played, "third")
    with pytest.raises(AgonError, match="has no tables yet"):
        forget(played / "none")


# --- backup


def test_a_backup_of_a_running_hall_goes_on_from_its_moment(tmp_path, short):  # noqa: F811
    folder, copy = tmp_path / "hall", tmp_path / "copy"

    async def go():
        async with session(folder, Clock(), **TWO) as place:
            people = [goes(place, "a"), goes(place, "b")]
            place.tick()
            table = place.table(people[0])
            await settled(table)
            table.answer(0, 0, ["cooperation"])
            said = upkeep.back_up(folder, copy)
            assert "1 table, 1 answer" in said
            await plays(place, *people)
        async with session(copy, Clock(), **TWO) as place:
            assert {state.stage for state in place.states.values()} == {"match"}
            table = place.table(people[0])
            await settled(table)
            assert set(table.questions) == {1} and table.store.answer(table.id, 0, 0).action == "cooperation"
            assert place.key(people[0]) and place.hall.keys.key_of("host", table.id)
            await plays(place, *people)
            assert {state.stage for state in place.states.values()} == {"survey"}

    run(go())
    assert stat.S_IMODE(copy.stat().st_mode) == 0o700 and stat.S_IMODE((copy / "tables.sqlite").stat().st_mode) == 0o600


def test_a_backup_has_matches_and_no_locks_and_comes_back(played):
    copy = played.parent / f"{played.name}-copy"
    done = CliRunner().invoke(verbs.backup, [str(copy), "--folder", str(played)])
    assert done.exit_code == 0, done.output
    names = {path.name for path in copy.iterdir()}
    assert {"tables.sqlite", "secret", "played"} <= names and not {"serve.lock", "locks"} & names
    assert bytes_of(copy / "played") == bytes_of(played / "played")
    shutil.rmtree(played)
    upkeep.back_up(copy, played)
    assert "2 participants" in gathered(played)


def test_a_backup_writes_over_nothing_and_leaves_no_half(played, monkeypatch):
    copy = played.parent / f"{played.name}-copy"
    copy.mkdir()
    with pytest.raises(AgonError, match="exists already"):
        upkeep.back_up(played, copy)
    with pytest.raises(AgonError, match="inside the hall's folder"):
        upkeep.back_up(played, played / "new/copy")
    copy.rmdir()
    monkeypatch.setattr(shutil, "copytree", lambda *given, **more: (_ for _ in ()).throw(OSError(28, "No space left")))
    with pytest.raises(AgonError, match="No space left"):
        upkeep.back_up(played, copy)
    assert not copy.exists()
