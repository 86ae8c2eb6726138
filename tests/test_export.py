"""What is exported is what the turns and the recording hold: read again by others' readers, and compared."""

import asyncio
import json
import sys
from collections import Counter
from functools import partial
from pathlib import Path
from random import Random
from zipfile import ZipFile

import pandas as pd
import patience
import pytest
from harness import PD, RPS, anything

from agon import AgonError
from agon.agents.llm import LLM
from agon.agents.styles import SelfConsistency
from agon.bridges import inspect_log, jsonl
from agon.bridges.rows import Recorded
from agon.models import Answer, CallFailed, Model
from agon.models.ledger import Ledger, Live, Replayed
from agon.models.limits import Budget
from agon.models.recording import FILE, Recording, Writer
from agon.plan import Match, Seat
from agon.play import play, play_async
from agon.turns import COLUMNS, action_text, matches, typed

SAID = {}
"""(match, seat) -> the conversation as the agent itself has it."""


class Remembering(LLM):
    """A model's agent that leaves its conversation behind."""

    def take(self, *decided):
        reply = super().take(*decided)
        SAID[self.place.match, self.place.seat] = self.messages
        return reply


class Moody(Model):
    """Thinks now and then; mumbles, falls silent and refuses, by dice from the call's own name."""

    async def answer(self, request):
        dice = Random(request.sample)
        mood = dice.random()
        if mood < 0.03:
            raise CallFailed("400", "not this one", "void")
        move = dice.choice(request.view.legal.options)
        text = "" if mood < 0.1 else "hm" if mood < 0.2 else f"[move] {move}"
        thinking = f"thought {dice.random()}" if mood < 0.6 else ""
        return Answer(text, thinking, 100, 90, 7, 0.25, f"id {request.sample}", "stop" if text else "length")


ZS = Seat("zs", partial(Remembering, style="zs", attempts=2), "moody")
VOTES = Seat("votes", partial(SelfConsistency, k=3, agent=partial(Remembering, style="cot", attempts=2)), "moody")
SCRIPT = Seat("anything", anything)


def match(number, *seats, game=PD):
    return Match("test", f"{number:04}", number, game, seats, number, "0")


MATCHES = [match(1, ZS, SCRIPT), match(2, VOTES, ZS, game=RPS), match(3, SCRIPT, VOTES), match(4, SCRIPT, SCRIPT)]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Turns as they are replayed, and the folder of the recording."""
    folder = tmp_path_factory.mktemp("recorded")
    model = Moody(model="moody-1", parameters={"temperature": 1.0, "max_tokens": 50, "effort": "low"})
    writer = Writer(Recording(folder), folder / "lock")
    clock = iter(range(1_000_000, 2_000_000))
    live = Live("moody", model, Ledger({"moody": model}, writer, Budget()), lambda: next(clock))
    for each in MATCHES[:3]:
        asyncio.run(play_async(each, {"moody": live}))
    writer.close()
    return play(MATCHES, folder / "journal", {"moody": Replayed("moody", model.identity, Recording(folder))}), folder


@pytest.fixture(scope="module")
def turns(recorded):
    return recorded[0]


def described(turns):
    """Turns with what scripts and models do not have: details, odd actions and ids, seats that were only paid."""
    offers = ['{"give": 1}', "3", '"3"', "x", None] * (len(turns) // 5 + 1)
    return typed(
        dict(turns.items())
        | {
            "match": "a/b " + turns.match.astype(str),
            "action": offers[: len(turns)],
            "detail": [None if seat else '{"heard": ["ü\\u2028", null]}' for seat in turns.seat],
            "legal": turns.legal.astype(object).where(turns["round"] > 1, None),
        }
    )


# --- JSON lines


def exported(folder):
    """The files as a reader without agon takes them; no file may hold what JSON does not know (NaN)."""

    def refused(word):
        raise AssertionError(f"{word} is no JSON")

    return [
        [json.loads(line, parse_constant=refused) for line in path.read_text().splitlines()]
        for path in sorted(folder.glob("*.jsonl"))
    ]


def as_turns(files):
    """The turns table that the files tell of."""
    rows = []
    for head, *lines, _ in files:
        players = {player["seat"]: player for player in head["seats"]}
        of_match = {name: value for name, value in head.items() if name != "seats"}
        rows += [of_match | line | players[line["seat"]] for line in lines]
    for row in rows:
        for name in ("action", "legal", "detail"):
            row[name] = None if row[name] is None else (action_text if name == "action" else json.dumps)(row[name])
    return typed({name: [row[name] for row in rows] for name in COLUMNS})


@pytest.mark.parametrize("change", [lambda turns: turns, described], ids=["played", "described"])
def test_json_lines_hold_the_turns(turns, change, tmp_path):
    turns = change(turns)
    assert jsonl(turns, tmp_path) == 4 == len(exported(tmp_path))
    again = as_turns(exported(tmp_path)).astype(object)
    wanted = turns.astype(object).assign(
        detail=[None if text is pd.NA else json.dumps(json.loads(text)) for text in turns.detail]
    )
    for name in COLUMNS:
        known = wanted[name].notna()
        assert again[name].notna().equals(known), name
        assert again[name][known].tolist() == wanted[name][known].tolist(), name


def test_the_first_line_is_the_match_and_the_last_its_totals(turns, tmp_path):
    jsonl(turns, tmp_path)
    table = matches(turns).set_index(["match", "seat"])
    for head, *lines, last in exported(tmp_path):
        rows = turns[turns.match == head["match"]]
        assert len(lines) == len(rows) and head["seats"][0].keys() == {"seat", "agent", "model"}
        for total in last["totals"]:
            wanted = table.loc[(head["match"], total["seat"])]
            assert (total["points"], total["valid"]) == (wanted.total, wanted.valid)
    assert [player["model"] for player in head["seats"]] == [None, None]


def test_a_files_name_is_the_matchs_id_and_stays_in_the_folder(turns, tmp_path):
    jsonl(described(turns), tmp_path / "in")
    assert next(path.name for path in tmp_path.rglob("*.jsonl")).startswith("a%2Fb%20000")
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_exporting_again_gives_the_same_bytes_and_other_matches_are_not_mixed_in(turns, tmp_path):
    def files():
        return {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    jsonl(turns, tmp_path)
    first = files()
    jsonl(turns, tmp_path)
    assert files() == first
    fewer = turns[turns.match != "0001"]
    with pytest.raises(AgonError, match="holds 1 other match: --force deletes them"):
        jsonl(fewer, tmp_path)
    assert files() == first
    strange = tmp_path / "mine.jsonl"
    strange.write_text("not a match\n")
    for replace in (False, True):
        with pytest.raises(AgonError, match="holds 2 other matches: empty it"):
            jsonl(fewer, tmp_path, replace)
    strange.unlink()
    assert files() == first
    jsonl(fewer, tmp_path, replace=True)
    assert files() == {name: text for name, text in first.items() if name != "0001.jsonl"}


def test_a_folder_that_cannot_be_written_is_named(turns, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(AgonError, match="file cannot be written"):
        jsonl(turns, tmp_path / "file")


# --- Inspect


def test_without_inspect_there_is_one_clear_line(turns, tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "agon.bridges.inspect", raising=False)
    monkeypatch.setitem(sys.modules, "inspect_ai.event", None)
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    with pytest.raises(AgonError, match="needs inspect-ai"):
        inspect_log(turns, tmp_path / "x.eval")


@pytest.mark.parametrize("broken", ["not JSON\n", '{"exchange": 3}\n'])
def test_a_damaged_recording_is_named_by_line(broken, recorded, tmp_path):
    (tmp_path / FILE).write_text((recorded[1] / FILE).read_text() + broken)
    with pytest.raises(AgonError, match=r"is damaged in line \d+"):
        Recorded(tmp_path)


def test_a_torn_last_line_is_passed_over(recorded, tmp_path):
    (tmp_path / FILE).write_text((recorded[1] / FILE).read_text() + '{"exchange": "x", "text": "tor')
    assert Recorded(tmp_path).messages.keys() == Recorded(recorded[1]).messages.keys()


def test_a_lost_message_is_named(recorded):
    with pytest.raises(AgonError, match="lacks the message nowhere"):
        Recorded(recorded[1]).conversation("nowhere")


@pytest.fixture(scope="module")
def log(recorded, tmp_path_factory):
    """The exported log, as Inspect reads it."""
    reader = pytest.importorskip("inspect_ai.log", reason="inspect-ai is not installed: docs/how-to/export.md")
    file = tmp_path_factory.mktemp("inspect") / "deep" / "test.eval"
    assert inspect_log(recorded[0], file, recorded[1]) == [file]
    return reader.read_eval_log(str(file))


def test_inspect_reads_one_sample_per_match_and_seat_with_a_model(log, turns):
    assert (log.status, log.eval.task, log.eval.model, log.eval.dataset.samples) == ("success", "test", "moody", 4)
    assert [sample.id for sample in log.samples] == ["0001-0", "0002-0", "0002-1", "0003-1"]
    assert log.eval.dataset.sample_ids == [sample.id for sample in log.samples]
    assert (log.eval.model_generate_config.max_tokens, log.eval.model_args["effort"]) == (50, "low")


def test_scores_are_total_points_and_the_valid_share(log, turns):
    table = matches(turns).set_index(["match", "seat"])
    wanted = [table.loc[(sample.metadata["match"], sample.metadata["seat"])] for sample in log.samples]
    assert [sample.scores["points"].value for sample in log.samples] == [row.total for row in wanted]
    assert [sample.scores["valid"].value for sample in log.samples] == [row.valid for row in wanted]
    for score, column in zip(log.results.scores, ("total", "valid"), strict=True):
        assert score.metrics["mean"].value == pytest.approx(sum(row[column] for row in wanted) / 4)
        assert score.metrics["stderr"].value > 0 and score.scored_samples == 4


def test_metadata_say_who_played_what(log, turns):
    second = log.samples[1].metadata
    totals = matches(turns).set_index(["match", "seat"]).total
    assert (second["game"], second["variant"], second["experiment"], second["repetition"]) == (
        "rps",
        "default",
        "test",
        2,
    )
    assert (second["agent"], second["opponents"], second["opponents_points"]) == (
        "votes",
        "zs@moody",
        [totals["0002", 1]],
    )
    assert log.samples[0].metadata["opponents"] == "anything" and second["rounds"] == RPS.rounds


def test_messages_are_the_conversation_as_the_agent_had_it(log):
    for sample in log.samples:
        own = SAID[sample.metadata["match"], sample.metadata["seat"]]
        told = [(message.role, message.text) for message in sample.messages]
        assert sample.metadata["conversation"] == "recorded"
        assert [(role, text or "(no answer)") for role, text in told] == [(each.role, each.text) for each in own]
        assert sample.input == sample.messages[:2] and sample.output.completion == told[-1][1]


def lines(folder):
    return [json.loads(line) for line in (folder / FILE).read_text().splitlines()]


def thoughts(message):
    return (
        []
        if isinstance(message.content, str)
        else [each.reasoning for each in message.content if each.type == "reasoning"]
    )


def test_every_recorded_call_is_an_event_with_its_tokens_and_thoughts(log, recorded):
    calls = {line["exchange"]: line for line in lines(recorded[1]) if "exchange" in line}
    events = {event.uuid: event for sample in log.samples for event in sample.events}
    assert events.keys() == calls.keys() and sum(len(sample.events) for sample in log.samples) == len(calls)
    for key, event in events.items():
        line = calls[key]
        assert event.completed.timestamp() == line["time"] and event.working_time == line.get("seconds", 0)
        assert event.error == line.get("void")
        if "void" in line:
            continue
        assert thoughts(event.output.message) == ([line["thinking"]] if "thinking" in line else [])
        assert event.output.message.text == line.get("text", "")
        assert event.output.stop_reason == ("stop" if line["stop"] == "stop" else "max_tokens")
        assert event.output.usage.input_tokens == 10 and event.output.usage.input_tokens_cache_read == 90
    kinds = Counter((bool(line.get("void")), bool(line.get("text")), "thinking" in line) for line in calls.values())
    assert len(kinds) == 4, f"the test's model should show every mood: {kinds}"


def test_usage_is_that_of_the_turns(log, turns):
    for sample in log.samples:
        own = turns[(turns.match == sample.metadata["match"]) & (turns.seat == sample.metadata["seat"])]
        used = sample.model_usage["moody"]
        assert used.input_tokens + used.input_tokens_cache_read == own.tokens_in.sum()
        assert (used.output_tokens, used.total_tokens) == (own.tokens_out.sum(), own.tokens.sum())
    assert log.stats.model_usage["moody"].total_tokens == turns.tokens.sum()


def test_times_are_those_of_the_recording(log, recorded):
    times = [line["time"] for line in lines(recorded[1]) if "exchange" in line]
    assert pd.Timestamp(log.eval.created).timestamp() == max(times)
    assert pd.Timestamp(log.stats.started_at).timestamp() == pytest.approx(min(times), abs=0.25)


def test_exporting_again_gives_the_same_log(log, recorded, tmp_path):
    for name in ("a.json", "b.json", "a.eval"):
        inspect_log(recorded[0], tmp_path / name, recorded[1])
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    with ZipFile(tmp_path / "a.eval") as one, ZipFile(log.location.removeprefix("file://")) as other:
        assert {name: one.read(name) for name in one.namelist()} == {
            name: other.read(name) for name in other.namelist()
        }


@pytest.mark.filterwarnings("ignore::pandas.errors.Pandas4Warning")  # Inspect's own
def test_inspects_own_tables_and_commands_take_the_log(log, turns):
    from inspect_ai.analysis import messages_df, samples_df

    table = samples_df(log.location, quiet=True)
    assert table.score_points.tolist() == [sample.scores["points"].value for sample in log.samples]
    said = messages_df(log.location, quiet=True)
    assert set(said.content) >= {message.text for sample in log.samples for message in sample.messages}
    program = str(Path(sys.executable).with_name("inspect"))
    folder = str(Path(log.location.removeprefix("file://")).parent)
    listed = patience.run([program, "log", "list", "--log-dir", folder], check=True)
    assert listed.stdout.strip().endswith("test.eval")
    dumped = patience.run([program, "log", "dump", log.location], check=True)
    assert len(json.loads(dumped.stdout)["samples"]) == 4


@pytest.mark.parametrize("left", [0, 30])
def test_what_is_not_all_recorded_is_rebuilt_and_says_so(log, recorded, left, tmp_path):
    (tmp_path / FILE).write_text("".join((recorded[1] / FILE).read_text().splitlines(keepends=True)[:left]))
    inspect_log(recorded[0], tmp_path / "x.json", tmp_path)
    rebuilt = json.loads((tmp_path / "x.json").read_text())
    for sample in rebuilt["samples"]:
        own = recorded[0][
            (recorded[0].match == sample["metadata"]["match"]) & (recorded[0].seat == sample["metadata"]["seat"])
        ]
        assert sample["metadata"]["conversation"] == "rebuilt from the turns" and not sample["events"]
        assert len(sample["messages"]) == 2 * len(own) and "not recorded" in sample["messages"][0]["content"]
        answers = [message["content"] for message in sample["messages"][1::2]]
        assert answers == [
            reply if isinstance(reply, str) else "(no readable action)" if action != action else action
            for reply, action in zip(own.reply, own.action.astype(object), strict=True)
        ]
    assert rebuilt["eval"]["created"].startswith("1970-01-01T00:00:00") or left


def test_recorded_games_of_others_are_taken_too(log, turns, tmp_path):
    """No replies, no exchanges, no tokens but their sum; several models."""
    bare = typed(
        {
            name: turns[name]
            for name in COLUMNS
            if name not in ("reply", "attempts", "tokens_in", "tokens_out", "exchange")
        }
        | {"model": ["GPT (thinking)" if seat else "Llama/3" for seat in turns.seat]}
    )
    paths = inspect_log(bare, tmp_path / "x.json")
    assert [path.name for path in paths] == ["x-Llama-3.json", "x-GPT-thinking.json"]
    one = json.loads(paths[0].read_text())
    assert one["eval"]["model"] == "Llama/3" and len(one["samples"]) == 4
    assert one["samples"][3]["messages"][1]["content"] in PD.options and one["stats"]["started_at"] == ""
    used = one["samples"][0]["model_usage"]["Llama/3"]
    assert used["total_tokens"] > 0 and "input_tokens_cache_read" not in used


def test_models_never_share_a_file_and_scripts_have_none(log, turns, tmp_path):
    alike = typed(dict(turns.items()) | {"model": ["a b" if seat else "a-b" for seat in turns.seat]})
    with pytest.raises(AgonError, match="two models would have the same file"):
        inspect_log(alike, tmp_path / "x.eval")
    with pytest.raises(AgonError, match="no seat of these matches has a model"):
        inspect_log(turns[turns.match == "0004"], tmp_path / "x.eval")
    assert not list(tmp_path.iterdir())


def test_a_refused_conversation_shows_the_question_and_the_reason(log):
    refused = [sample for sample in log.samples if any(event.error for event in sample.events)]
    assert refused and all(event.error == "not this one" for each in refused for event in each.events if event.error)
