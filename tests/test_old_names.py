"""Old names: they are understood, they say what they are, and what was recorded under them stays valid."""

import re

import nbformat
import pytest
import yaml

from agon import ROOT
from agon.cli import main
from agon.conf import current_name, id_name, names, renaming_notes, settings_of
from agon.plan import plan
from agon.replay import one_match
from agon.turns import read

OLD, NEW = "tft", "best_reply_to_last"
PAPERS = ROOT / "tests/smoke/counterfactual_turns.parquet"
"""Turns of the paper, whose script is called tft."""
MINE = ROOT / "tests/smoke/pocket.parquet"
TOLD = "note: agent tft is called best_reply_to_last here. The counterfactual paper's name for the best reply to the last move"


def asked(other, agent="zs"):
    """An experiment of one pairing."""
    pairing = {"games": ["pd"], "seats": [[agent], [other]], "models": ["standin"] * agent.startswith("zs")}
    return {"name": "x", "repetitions": 2, "pairings": [pairing]}


def content(experiment):
    """What is planned, without names of agents."""
    return [(match.id, match.seed, match.config) for match in plan(experiment)]


def test_a_match_has_the_same_id_under_the_old_and_the_new_name():
    old, new = asked(OLD), asked(NEW)
    assert content(old) == content(new) and {match.seats[1].agent for match in plan(old)} == {NEW}


@pytest.mark.parametrize("name", [OLD, NEW])
def test_ids_and_seats_are_those_of_before_there_was_a_new_name(name):
    tournament = {"games": ["pd"], "agents": ["pp", name, "tit_for_tat"]}
    met = plan({"name": "x", "repetitions": 1, "tournaments": [tournament]})
    assert [(match.id, *(seat.agent for seat in match.seats)) for match in met if match.seats[0] != match.seats[1]] == [
        ("ee5ed2a727a9fdea", "pp", NEW),
        ("047e5c0067b7131c", "pp", "tit_for_tat"),
        ("a287e6a5d33c2530", NEW, "tit_for_tat"),
    ]


@pytest.mark.parametrize("name", ["pocket", "twins_pocket"])
def test_matches_that_were_recorded_under_the_old_name_are_planned(name):
    experiment = settings_of("experiment", name)
    recorded = set(read(ROOT / f"tests/smoke/{name}.parquet").match)
    assert NEW in str(experiment) and recorded <= {match.id for match in plan(experiment)}


def test_an_old_name_that_is_typed_works_and_says_once_what_it_is(capfd):
    pairings = "experiment.pairings=[{games:[pd],seats:[[grim,pp],[tft]]}]"
    assert main(["plan", "experiment=standin_demo", "experiment.name=old", "experiment.models=[]", pairings]) == 0
    said = capfd.readouterr()
    assert said.err.count(TOLD) == 1 and len(said.err.splitlines()) == 1 and "match" in said.out


def test_an_old_name_is_not_offered():
    assert OLD not in names("agent") and "magic_viewer" not in names("notebook")


def test_a_file_of_ones_own_takes_an_old_name_back(tmp_path):
    conf = renamed(tmp_path, {"one": "two"}, one=SCRIPT, two=SCRIPT)
    assert current_name("agent", "one", conf) == "one"


def test_own_matches_are_laid_beside_the_papers_under_both_names():
    beside = pytest.importorskip("agon_papers.counterfactual.beside")
    old, new = (beside.comparison(MINE, PAPERS, opponents=[name]) for name in (OLD, NEW))
    assert old.matches.equals(new.matches) and set(old.matches.opponent) == {NEW} and old.matches.own.nunique() == 2


@pytest.mark.parametrize("path", [PAPERS, MINE], ids=["old turns", "new turns"])
def test_a_match_is_looked_up_under_both_names(path):
    turns = read(path)
    one, other = (one_match(turns, f"pd/default/{name}") for name in (OLD, NEW))
    assert one.equals(other) and len(one)


def test_the_old_name_of_a_notebook_is_understood(capfd):
    assert main(["notebook", "magic_viewer", "nothing=1", "--run=old-name"]) == 1
    said = capfd.readouterr().err
    assert said.count("magic_viewer is called match_viewer") == 1
    assert "agon: notebook match_viewer has no parameter 'nothing'" in said


# --- pages

QUOTES = {
    "docs/deviations.md": "what the paper says, and what it did",
    "docs/glossary.md": "the paper's names, explained",
    "docs/not-judged.md": "sentences of the papers",
    "docs/tutorials/your-model-beside-the-papers.md": "says what the paper calls it",
    "notebooks/counterfactual_claims.ipynb": "the paper's records",
    "notebooks/counterfactual_findings.ipynb": "the paper's records",
    "notebooks/counterfactual_live.ipynb": "the paper's rows beside own ones",
    "notebooks/statistics.ipynb": "designs of the paper's records",
    "notebooks/twins.ipynb": "the paper's records",
}
"""Where the paper's name stands, and why; each says there what it is, or quotes."""
TEXTS = sorted(
    path
    for pattern in (
        "README.md",
        "docs/**/*.md",
        "notebooks/*.ipynb",
        "conf/**/*.yaml",
        "src/agon/study/template/**/*.*",
    )
    for path in ROOT.glob(pattern)
    if path.is_file() and path.name != "old_names.yaml"
)


def words(path):
    """What a page, a notebook or a file says."""
    if path.suffix == ".ipynb":
        return "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells)
    return path.read_text()


def test_only_quotes_of_the_paper_say_tft():
    with_name = {str(path.relative_to(ROOT)) for path in TEXTS if re.search(r"\btft\b", words(path), re.IGNORECASE)}
    assert len(TEXTS) > 200 and with_name == set(QUOTES)


def test_a_page_with_the_papers_name_explains_it():
    faults = []
    for name in set(QUOTES) - {"docs/not-judged.md"}:
        text = " ".join(words(ROOT / name).split())
        if not (re.search(r"best[ _]reply", text) and re.search(r"not (a real )?tit for tat|best_reply_to_last", text)):
            faults.append(name)
    assert faults == []


def test_no_text_takes_best_reply_for_tit_for_tat():
    faults = []
    for path in TEXTS:
        text = words(path)
        if path.name == "deviations.md" or not re.search(r"\btft\b|best_reply_to_last", text):
            continue  # the former quotes the paper
        sentences = [part for part in re.split(r"(?<=[.;|])\s", text) if "tit for tat" in part]
        faults += [f"{path.name}: {part}" for part in sentences if not re.search(r"\b(not|never)\b", part)]
    assert faults == []


SCRIPT = "_target_: agon.agents.scripts.anything\n_partial_: true\n"


def renamed(folder, old, **files):
    """A folder of conf with agents, some of which have old names."""
    (folder / "agent").mkdir()
    for name, text in files.items():
        (folder / f"agent/{name}.yaml").write_text(text)
    entries = {name: {"name": new, "note": "It was short."} for name, new in old.items()}
    (folder / "old_names.yaml").write_text(yaml.safe_dump({"agent": entries}))
    return folder


def test_a_second_new_name_keeps_the_ids_of_the_first(tmp_path):
    conf = renamed(tmp_path, {"one": "three", "two": "three"}, three=SCRIPT)
    assert id_name("agent", "three", conf) == "one"
    assert {current_name("agent", name, conf) for name in ("one", "two", "three")} == {"three"}
    assert renaming_notes("agent", ["one"], conf) == ["note: agent one is called three here. It was short."]
