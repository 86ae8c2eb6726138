"""`agon reproduce`: which commands it runs, and what it refuses."""

import pytest

from agon.cli import main
from agon_papers import reproduce


@pytest.fixture
def commands(monkeypatch):
    """The commands of agon that it runs."""
    runs = []
    monkeypatch.setattr(reproduce, "_run", lambda *words: runs.append(words) or 0)
    return runs


def test_two_models_have_one_file_without_commas(commands):
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
        (["magic"], "whose magic? say model=NAME"),
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
