"""`agon reproduce`: which commands it runs, and what it refuses; and the designs that its guide names."""

import re

import pytest

from agon import ROOT
from agon.cli import main
from agon.conf import configuration
from agon.plan import models_of, plan
from agon.record.estimate import estimates
from agon_papers import reproduce

GUIDE = (ROOT / "docs/how-to/reproduce-a-paper.md").read_text()


@pytest.fixture
def commands(monkeypatch):
    """The commands of agon that it runs."""
    runs = []
    monkeypatch.setattr(reproduce, "_run", lambda *words: runs.append(words) or 0)
    return runs


@pytest.fixture
def recorded(monkeypatch, tmp_path):
    """A folder as if it had the recording of every experiment."""
    monkeypatch.setattr(reproduce, "input_path", lambda _: tmp_path)


def test_scores_that_nobody_recorded_are_left_out_and_a_line_says_how_to_record_them(commands, capfd):
    assert main(["reproduce", "tradecraft", "turns_path=transcripts/x.parquet"]) == 0
    assert [run[0] for run in commands] == ["notebook"] and "ratings_path=''" in commands[0]
    said = capfd.readouterr().out
    assert "nothing is recorded of tradecraft_ratings" in said
    assert "make-logs --turns transcripts/x.parquet --folder data/logs/tradecraft_live" in said


def test_two_models_have_one_file_without_commas(commands, recorded):
    assert main(["reproduce", "tradecraft", "model=mine,gpt_4o"]) == 0
    assert [run[0] for run in commands] == ["play", "play", "notebook"]
    play, ratings, page = commands
    assert "experiment.models=[mine,gpt_4o]" in play and not any("models" in word for word in ratings)
    assert play[-1] == "out=transcripts/tradecraft-mine-gpt_4o-tradecraft_live.parquet"
    assert f"turns_path={play[-1][4:]}" in page and "tradecraft-mine-gpt_4o" in page


def test_many_models_have_a_name_that_a_folder_can_have(commands):
    models = [f"claude_3_7_sonnet_thinking_{number}" for number in range(8)]
    assert main(["reproduce", "counterfactual", f"model={','.join(models)}"]) == 0
    run = commands[-1][commands[-1].index("--run") + 1]
    assert run == f"counterfactual-{'-'.join(models[:4])}-and-4-more" and len(run) < 150


def test_another_prompt_set_has_files_of_its_own(commands):
    assert main(["reproduce", "magic", "model=mine", "prompts=ours", "partial=true"]) == 0
    play, page = commands
    assert {"experiment.prompts=ours", "partial=true"} <= {*play} and "magic-mine-ours" in page


def test_turns_that_are_there_are_not_played_again(commands):
    assert main(["reproduce", "counterfactual", "turns_path=transcripts/x.parquet"]) == 0
    assert [run[2] for run in commands] == ["turns_path=transcripts/x.parquet", "compare=transcripts/x.parquet"]
    assert [run[1] for run in commands] == ["counterfactual_live", "counterfactual_figures"]
    assert all(run[-3:] == ("--run", "counterfactual-x", "--force") for run in commands)


def test_no_page_is_made_where_a_recording_is_not_whole(monkeypatch):
    runs = []
    monkeypatch.setattr(reproduce, "_run", lambda *words: runs.append(words[0]) or 1)
    assert main(["reproduce", "counterfactual", "model=mine"]) == 1 and runs == ["play"]


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (["magic"], "magic needs a model: add model=NAME"),
        (["magic", "turns_path=a.parquet", "prompts=ours"], "prompts has no effect on turns_path=a.parquet"),
        (["magic", "turns_path=a.parquet", "nonsense=1"], "nonsense has no effect"),
        (["magic", "model=mine", "out=x.parquet"], "out cannot be set"),
        (["magic", "model=mine", "experiment=standin_demo"], "experiment cannot be set"),
        (["magic", "mine"], "'mine' sets nothing: write setting=value"),
    ],
)
def test_words_without_effect_are_refused(words, fault, commands, capfd):
    assert main(["reproduce", *words]) in (1, 2)
    assert fault in capfd.readouterr().err and commands == []


# --- the guide


def bill(*words):
    """What one model is expected to be asked, of an experiment."""
    experiment = configuration(words)["experiment"]
    (one,) = estimates(plan(experiment), models_of(experiment))
    return one


def test_the_guide_says_what_the_small_design_costs():
    small = bill("experiment=counterfactual_small")
    calls, usd, model = re.search(r"It takes ([\d,]+) calls, ([\d.]+) USD for `(\w+)`", GUIDE).groups()
    assert (calls, usd, model) == (f"{small.load.calls.middle:,.0f}", f"{small.usd.middle:.2f}", small.model)
    paper, once = (
        bill("experiment=counterfactual_live", "experiment.models=[gpt_4o_mini]", *more)
        for more in ((), ("experiment.repetitions=1",))
    )
    said = (
        f"takes {paper.load.calls.middle:,.0f} calls in `counterfactual_live`, and {once.load.calls.middle:,.0f} with"
    )
    assert said in GUIDE


@pytest.mark.skipif(not (ROOT / "transcripts/counterfactual.parquet").is_file(), reason="no transcripts: make repro")
def test_the_guide_says_what_the_small_design_detects(capfd):
    assert main(["power", "experiment=counterfactual_small"]) == 0
    rows = [line.split() for line in capfd.readouterr().out.splitlines() if line.startswith(("pd ", "rps "))]
    least = {(game, variant): float(detected) for game, variant, *_, detected in rows}
    pd, rps = re.search(
        r"a difference of ([\d.]+) points \(.*?\) in the .*, and of ([\d.]+) points in rock", GUIDE
    ).groups()
    assert (float(pd), float(rps)) == tuple(round(least[game, "default"], 1) for game in ("pd", "rps"))
    others = [value for (_, variant), value in least.items() if variant in ("payoff", "joint")]
    low, high = map(int, re.search(r"only differences of (\d+) to (\d+) points", GUIDE).groups())
    assert (low, high) == (round(min(others)), round(max(others)))


def test_one_model_can_play_all_seats_of_magic():
    words = ["experiment=magic_live", "experiment.models=[standin_magic]", "experiment.defenders=[zs]"]
    matches = plan(configuration(words)["experiment"])
    assert {seat.model for match in matches for seat in match.seats} == {"standin_magic"}
    assert {match.seats[seat].agent for match in matches for seat in range(3) if seat not in match.game.tested} == {
        "zs"
    }
    assert f"`'{words[2]}'`" in GUIDE
