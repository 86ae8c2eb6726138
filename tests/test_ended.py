"""Why answers ended and who was asked: what was cut off is no move, is counted, and stands in the turns beside what was only paid."""

import json
import warnings
from functools import partial

import pandas as pd
import pyarrow.parquet as pq
import pytest
from harness import Told, at_the_table, in_turn, seated
from test_record import ROUNDS, Says, matches, recorded

from agon import ROOT, AgonError
from agon.agents.llm import LLM
from agon.agents.scripts import anything
from agon.agents.styles import SelfConsistency
from agon.conf import build, load, settings_of
from agon.games.matrix.scripts import grim
from agon.models import Answer, CallFailed, Request, message
from agon.models.anthropic import Anthropic
from agon.models.base import ENDS, ended_of
from agon.models.ledger import Replayed
from agon.models.limits import AnswerTally
from agon.models.openai import OpenAI
from agon.models.recording import Recording
from agon.models.responses import Responses
from agon.plan import Match, Seat
from agon.play import play, play_now, turns_table
from agon.report.caveats import caveats
from agon.turns import COLUMNS, cut_off, endings, read, tidy, write
from agon.turns import ENDS as ENDS_OF_TURNS
from agon.turns.files import MEANINGS

MOVE = "[move] cooperation"
REQUEST = Request((message("user", "Your move?"),), "s")


def chat(finish, content=MOVE):
    return {
        "choices": [{"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": finish}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14},
    }


def responses(status, reason=None):
    said = {"type": "message", "content": [{"type": "output_text", "text": MOVE}]}
    return {
        "status": status,
        "incomplete_details": reason and {"reason": reason},
        "output": [said],
        "usage": {"input_tokens": 9, "output_tokens": 5},
    }


def claude(reason):
    return {
        "content": [{"type": "text", "text": MOVE}],
        "stop_reason": reason,
        "usage": {"input_tokens": 9, "output_tokens": 5},
    }


SAID = [
    *((OpenAI, chat(word), end) for word, end in {"stop": "stop", "tool_calls": "stop", "length": "length"}.items()),
    *((OpenAI, chat(word), "filter") for word in ("content_filter", "SAFETY")),
    *((OpenAI, chat(word, None), "length") for word in ("length", "MAX_TOKENS", "model_length")),
    *((OpenAI, chat(word), "unknown") for word in (None, "a word that nobody has met")),
    (Responses, responses("completed"), "stop"),
    (Responses, responses("incomplete", "max_output_tokens"), "length"),
    (Responses, responses("incomplete", "content_filter"), "filter"),
    (Responses, responses("incomplete"), "length"),
    (Responses, responses("incomplete", "max_messages"), "length"),
    (Responses, responses("incomplete", "a word that nobody has met"), "length"),
    *((Anthropic, claude(word), "stop") for word in ("end_turn", "stop_sequence", "tool_use")),
    *((Anthropic, claude(word), "length") for word in ("max_tokens", "model_context_window_exceeded", "pause_turn")),
    (Anthropic, claude("refusal"), "filter"),
]


@pytest.mark.parametrize(("kind", "response", "end"), SAID)
def test_every_provider_says_in_its_own_words_why_an_answer_ended(kind, response, end):
    model = kind(model="m", parameters={"max_tokens": 99})
    assert ended_of(model.read_response(json.dumps(response).encode(), REQUEST).stop) == end


@pytest.mark.parametrize(
    ("word", "end"),
    [
        ("content_filter: PROHIBITED_CONTENT", "filter"),
        ("function_call_filter: MALFORMED_FUNCTION_CALL", "filter"),
        ("IMAGE_RECITATION", "filter"),
        ("ERROR_TOXIC", "filter"),
        ("max_new_tokens", "length"),
        ("too_many_tool_calls", "length"),
        ("malformed_response", "error"),
        ("timeout", "error"),
        ("network_error", "error"),
        ("stop_token", "stop"),
        ("EOS", "stop"),
        ("null", "unknown"),
        ("", "unknown"),
    ],
)
def test_a_word_that_a_provider_puts_together_is_read_by_its_parts(word, end):
    assert ended_of(word) == end


def test_half_an_answer_whose_end_is_an_error_is_a_failed_call():
    for word in ["error", "abort", "insufficient_system_resource"]:
        with pytest.raises(CallFailed, match=f"broke off: the provider calls its end {word}") as caught:
            OpenAI(model="m").read_response(json.dumps(chat(word)).encode(), REQUEST)
        assert caught.value.then == "retry"


# --- at the table


def only(*answers, agent=LLM, **settings):
    """The one turn that comes of these answers, and what the model was asked."""
    model = Told(in_turn(*answers))
    match = seated(partial(agent, **settings), grim)
    turns = turns_table([(match, at_the_table(match, model))])
    return turns[(turns.seat == 0) & (turns.turn == 1)].iloc[0], model.asked


def cut(end, text=MOVE):
    return Answer(text, tokens_in=7, tokens_out=3, ended=end)


def test_an_answer_that_is_not_whole_is_asked_again_and_says_why():
    for end, told in [("length", "cut off at the limit"), ("filter", "held back or refused")]:
        turn, asked = only(cut(end), cut("stop", "[move] defection"))
        assert (turn.action, turn.attempts, turn.ended, turn.valid) == ("defection", 2, "stop", True)
        assert told in asked[1].messages[-1].text


@pytest.mark.parametrize("end", ["length", "filter"])
def test_what_is_never_whole_is_void(end):
    turn, _ = only(cut(end), attempts=2)
    assert pd.isna(turn.action) and turn.asked and not turn.valid
    assert (turn.attempts, turn.ended, turn.reply) == (2, end, MOVE)


def test_as_done_takes_what_was_said_and_still_says_how_it_ended():
    for end in ["length", "filter", "unknown", "stop"]:
        turn, _ = only(cut(end), cut_off="as_done")
        assert (turn.action, turn.attempts, turn.ended, turn.valid) == ("cooperation", 1, end, True)


def test_answers_that_were_cut_off_have_no_vote():
    said = [cut("length"), cut("length"), cut("stop", "[move] defection")]
    model = Told(in_turn(*said))
    match = seated(partial(SelfConsistency, k=3, agent=partial(LLM, attempts=1)), grim)
    turn = turns_table([(match, at_the_table(match, model))]).iloc[0]
    assert (turn.action, turn.ended) == ("defection", "stop")


def test_a_conversation_that_is_refused_for_good_ended_in_an_error():
    assert only(CallFailed("400", "content policy", "void"))[0].ended == "error"


def test_another_word_than_void_or_as_done_is_refused():
    with pytest.raises(AgonError, match="cut_off does not fit: it is 'whole', and must be as_done or void"):
        build(settings_of("agent", "zs") | {"cut_off": "whole"})


# --- recorded, and played again


def replayed(folder, found, model, recording):
    return play(found, folder / "journal", {"standin": Replayed("standin", model.identity, recording)})


class Cut(Says):
    """Says the move, whose end has a provider's word."""

    def __init__(self, word, most=None, out=5, **more):
        super().__init__(parameters={"max_tokens": most} if most else {}, **more)
        self.word, self.out = word, out

    async def answer(self, request):
        await super().answer(request)
        return Answer(self.text, tokens_in=100, tokens_out=self.out, stop=self.word)


@pytest.mark.parametrize(("word", "end"), [("length", "length"), ("refusal", "filter")])
def test_a_recording_keeps_why_answers_ended_and_its_replay_says_so(tmp_path, word, end):
    found, model = matches(1, "zs_once"), Cut(word)
    halted, recording = recorded(tmp_path, found, {"standin": model})
    assert halted == [] and len(recording) == ROUNDS
    turns = replayed(tmp_path, found, model, recording)
    own = turns[turns.model.notna()]
    assert own.ended.eq(end).all() and own.action.isna().all() and own.asked.all()
    assert turns[turns.model.isna()].ended.isna().all()


def test_an_answer_that_is_all_thought_up_to_the_limit_was_cut_off(tmp_path):
    _, recording = recorded(tmp_path, matches(1, "zs_once"), {"standin": Cut("stop", most=50, out=50, text="")})
    assert {answer.ended for answer in recording.answers.values()} == {"length"}


def test_a_recording_made_before_replays_as_it_did(tmp_path):
    found, model = matches(1, "zs_once"), Cut("stop")
    recorded(tmp_path, found, {"standin": model})
    file = tmp_path / "exchanges.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for line in (each for each in lines if "exchange" in each):
        assert line.pop("ended") == line["stop"] == "stop"
        line["stop"] = "length"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    own = replayed(tmp_path, found, model, Recording(tmp_path)).query("model.notna()")
    assert own.ended.eq("unknown").all() and own.action.eq("cooperation").all() and own.valid.all()


def test_a_model_whose_answers_break_off_is_tried_again(tmp_path):
    class Breaks(Cut):
        async def answer(self, request):
            said = await super().answer(request)
            return Answer(said.text, tokens_in=9, tokens_out=5, stop="error" if self.asked % 2 else "stop")

    halted, recording = recorded(tmp_path, matches(1), {"standin": Breaks("", pause=0)})
    assert halted == [] and len(recording) == recording.failures == ROUNDS


def test_record_counts_cut_off_and_filtered_answers():
    tally = AnswerTally()
    for place, end in enumerate(["stop", "length", "length", "filter"]):
        tally.add(f"m/0.{place}", 1, MOVE, "" if end == "stop" else "cut", True, end)
    assert tally.share == "25% readable, 2 cut off at the limit of tokens, 1 held back or refused by the provider"


def test_where_answers_are_cut_off_they_want_more_room():
    tally = AnswerTally()
    for _ in range(20):
        tally.add("m/0.0", 1, MOVE, "it was cut off", True, "length")
    assert "max_tokens" in tally.cause


# --- in tables


def test_turns_and_models_know_the_same_ends():
    assert ENDS == ENDS_OF_TURNS


def of_ends(*ends):
    """Turns of one round for each of these ends."""
    match = seated(partial(LLM, attempts=1, cut_off="as_done"), grim)
    turns = turns_table([(match, at_the_table(match, Told(in_turn(*(cut(end) for end in ends)))))])
    return turns[turns.turn <= len(ends)].reset_index(drop=True)


def test_what_is_not_whole_is_told_in_words():
    turns = of_ends("stop", "length", "filter", "unknown")
    assert cut_off(turns).sum() == 2
    told = endings(turns)
    assert told.startswith("of 4 decisions of models 1 cut off at the limit of tokens, 1 held back")
    assert endings(turns[turns.model.isna()]) == "no model was asked"


def test_a_word_that_is_no_end_is_refused_when_turns_are_read(tmp_path):
    turns = of_ends("stop", "length")
    changed = turns.assign(ended=turns.ended.astype("str").replace("length", "max_tokens").astype("category"))
    with pytest.raises(
        AgonError, match="ended is 'max_tokens'; it must be stop, length, filter, error, unknown, or absent"
    ):
        tidy(changed)


def test_a_notebook_on_answers_that_were_cut_off_says_so(tmp_path):
    write(of_ends("stop", "length"), tmp_path / "turns.parquet")
    write(of_ends("stop", "unknown"), tmp_path / "whole.parquet")
    [told] = caveats([str(tmp_path / "turns.parquet"), str(tmp_path / "whole.parquet")])
    assert told.startswith("NOT WHOLE: of 2 decisions of models 1 cut off")


# --- who was asked


def paid_alone():
    """Turns of a game in which some seats are paid in steps in which they are not asked."""
    game = load("game", "chameleon/01-crowd")
    seats = (Seat("any", anything),) * game.seats
    played = [Match("test", f"{seed:016x}", seed, game, seats, 0, "config") for seed in range(12)]
    return turns_table([(match, play_now(match)) for match in played])


def test_of_rows_that_were_asked_those_without_an_action_are_void():
    turns = paid_alone()
    assert (~turns.asked).any() and turns.action.isna().any()
    assert turns[turns.asked].action.isna().mean() == 0
    assert turns.asked.eq(turns.legal.notna()).all()


TRANSCRIPTS = sorted((ROOT / "transcripts").glob("*.parquet"))


@pytest.mark.skipif(not TRANSCRIPTS, reason="the transcripts are made by `make repro`")
@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_transcripts_distinguish_the_two_kinds_of_missing_action(path):
    if "asked" not in pq.read_schema(path).names:
        pytest.skip("made before: `dvc repro` makes it again")
    turns = read(path)
    only_paid = ~turns.asked
    assert turns[only_paid].action.isna().all()
    void = turns.asked & turns.action.isna()
    assert not turns[void].valid.any() and turns[void].fallback.ne("").all()
    assert turns.ended.notna().eq(turns.asked & turns.model.notna() & turns.attempts.ne(0).fillna(True)).all()


def test_recorded_games_of_tradecraft_were_all_asked():
    turns = read(ROOT / "tests/smoke/tradecraft/turns.parquet")
    assert turns.legal.isna().all() and turns.asked.all() and turns.ended.eq("unknown").all()


def older(turns, path):
    """A file as it was before there were the two columns."""
    turns.drop(columns=["asked", "ended"]).to_parquet(path, index=False)
    return path


def test_older_turns_are_read_as_they_would_be_written_now(tmp_path):
    for turns in (paid_alone(), of_ends("unknown", "unknown")):
        path = older(turns, tmp_path / "older.parquet")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = read(path)
        assert list(found) == list(COLUMNS)
        assert found.asked.eq(turns.asked).all() and found.ended.notna().eq(turns.ended.notna()).all()
        some = read(path, ["asked", "seat", "ended"])
        assert list(some) == ["asked", "seat", "ended"] and some.asked.eq(turns.asked).all()
        assert tidy(pd.read_parquet(path)).asked.eq(turns.asked).all()


def test_where_it_cannot_be_known_who_was_asked_a_line_says_so(tmp_path):
    turns = paid_alone()
    turns["legal"] = turns.legal.mask(turns.legal.notna())
    unsure = int(turns.action.isna().sum())
    with pytest.warns(UserWarning, match=f"{unsure} rows of these turns do not say whether their seat was asked"):
        found = read(older(turns, tmp_path / "older.parquet"))
    assert found.asked.all()


def test_a_file_of_turns_says_what_its_columns_mean(tmp_path):
    write(paid_alone(), tmp_path / "turns.parquet")
    told = json.loads(pq.read_schema(tmp_path / "turns.parquet").metadata[MEANINGS.encode()])
    assert told == {name: meaning for name, (_, _, meaning) in COLUMNS.items()}
