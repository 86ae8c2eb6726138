"""Prompt sets: which texts a model gets, and that pages and ids know them."""

import runpy

import pytest
from harness import MATRIX, PD

from agon import ROOT, AgonError
from agon.agents.llm import LLM
from agon.agents.prompts import _set_folders, prompt_sets
from agon.games.base import families
from agon.plan import plan
from agon.play import play_async
from agon.play.rows import turns_table

MAKER = runpy.run_path(str(ROOT / ".ci/prompts.py"))
FAMILIES = [family for _, of_paper in MAKER["PAPERS"].values() for family in of_paper if MAKER["elements"](family)]


def experiment(**settings):
    pairing = {"games": ["pd"], "seats": [["zs"], ["cot_sc3"]], "models": ["ollama"]}
    return {"name": "x", "repetitions": 1, "pairings": [pairing], **settings}


@pytest.mark.parametrize("family", FAMILIES)
def test_each_prompt_set_has_the_elements_of_its_table(family):
    assert MAKER["faults"](family) == []


@pytest.mark.parametrize("paper", [name for name in MAKER["PAPERS"] if (ROOT / f"docs/prompts-{name}.md").exists()])
def test_the_page_of_prompts_is_made_of_its_tables(paper):
    assert MAKER["page"](paper) == (ROOT / f"docs/prompts-{paper}.md").read_text(), "run python .ci/prompts.py"


def test_an_element_that_is_not_told_is_a_fault(monkeypatch):
    rows = [
        {"game": "pd", "agent": "zs", "element": "a joke", "sets": "as_played", "pattern": "knock knock"},
        {"game": "pd", "agent": "zs", "element": "rules", "sets": "as_played as_printed", "pattern": "repeated game"},
    ]
    monkeypatch.setitem(MAKER["faults"].__globals__, "elements", lambda family: rows)
    assert MAKER["faults"]("matrix") == [
        "matrix: a joke (pd, zs): is not in as_played",
        "matrix: rules (pd, zs): is in ours",
        "matrix: rules (pd, zs): is not in as_played",
        "matrix: rules (pd, zs): is not in as_printed",
    ]


def test_a_prompt_set_is_in_the_identity_of_a_match_and_ours_is_the_usual_one():
    ids = {name: plan(experiment(prompts=name))[0].id for name in (None, "ours", "as_printed", "as_played")}
    assert ids[None] == ids["ours"] and len(set(ids.values())) == 3


def test_the_seats_of_a_match_name_their_prompt_set():
    match = plan(experiment(prompts="as_played"))[0]
    assert [seat.prompts for seat in match.seats] == ["as_played"] * 2
    scripts = experiment(pairings=[{"games": ["pd"], "seats": [["zs"], ["grim"]], "models": ["ollama"]}])
    assert [seat.prompts for seat in plan(scripts)[0].seats] == ["ours", None]


def test_turns_have_the_prompt_set_of_models_and_none_of_scripts():
    pairing = {"games": ["pd"], "seats": [["zs"], ["grim"]], "models": ["ollama"]}
    match = plan(experiment(prompts="as_printed", pairings=[pairing]))[0]
    with pytest.raises(StopIteration) as end:
        play_async(match, {"ollama": MAKER["Listener"]()}, instant=True).send(None)
    turns = turns_table([(match, end.value.value)])
    assert turns[turns.seat == 0].prompts.eq("as_printed").all() and turns[turns.seat == 1].prompts.isna().all()


def test_a_set_that_a_family_does_not_have_is_refused_with_those_it_has():
    with pytest.raises(
        AgonError, match=r"matrix has no prompt set 'as_sung': it has ours, as_played, as_printed, german$"
    ):
        plan(experiment(prompts="as_sung"))


@pytest.mark.parametrize(("file", "fault"), [("", "has no file"), ("Prompt.md", "Prompt.md, which replaces no file")])
def test_a_set_that_replaces_nothing_is_refused(tmp_path, file, fault):
    folder = tmp_path / "prompt_sets/mine"
    folder.mkdir(parents=True)
    if file:
        (folder / file).write_text("Play.")
    assert prompt_sets([tmp_path]) == ["ours", "mine"]
    with pytest.raises(AgonError, match=fault):
        _set_folders((tmp_path, *families(PD)), "mine")


def test_the_folder_of_a_user_comes_before_a_prompt_set(tmp_path):
    (tmp_path / "styles").mkdir()
    (tmp_path / "styles/cot.md").write_text("Think of my own words.")
    text = LLM.texts(PD, "cot", str(tmp_path), "as_played").text
    assert "Think of my own words." in text and "heed it" in text and "baker" not in text


@pytest.mark.parametrize("name", MATRIX)
def test_every_prompt_set_can_be_told_of_every_matrix_game(name):
    sets = prompt_sets(families(MATRIX[name]))
    texts = {MAKER["text_of"](name, "zs", prompts) for prompts in sets}
    assert len(texts) == len(sets) == 4
