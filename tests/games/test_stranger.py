"""A family of games that agon does not know, dropped in as one folder and one conf file, is played in every place."""

import json
import shutil
import sys
from pathlib import Path

import patience
import pytest
from project import Project

from agon import ROOT
from agon.turns import read

HERE = Path(__file__).parent / "stranger" / "auction"


@pytest.fixture(scope="module", params=["in src", "elsewhere"])
def project(request, tmp_path_factory):
    """A copy of the project with the family, among agon's own or in a folder of the reader's."""
    made = Project(tmp_path_factory.mktemp("stranger"))
    inside = request.param == "in src"
    folder = made.folder / ("src/agon/games/auction" if inside else "mine/auction")
    shutil.copytree(HERE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    package = "agon.games.auction" if inside else "auction"
    if not inside:
        config = made.folder / "conf/config.yaml"
        config.write_text(config.read_text() + "families: [mine/auction]\n")
    made.conf("game", "auction", _target_=f"{package}.game.Auction", _convert_="all", name="auction", variant="default")
    made.conf("agent", "shade", _target_=f"{package}.scripts.shade", _partial_=True)
    policy = {"_target_": f"{package}.scripts.shade", "_partial_": True}
    made.conf(
        "model",
        "bidder",
        _target_="agon.models.standin.StandIn",
        _convert_="all",
        model="bidder",
        policy=policy,
        context=20000,
    )
    agents = ["shade", "anything", "magic_fair", "zs@bidder", "beliefs@bidder"]
    made.conf(
        "experiment", "auction", name="auction", repetitions=2, tournaments=[{"games": ["auction"], "agents": agents}]
    )
    return made


def done(run):
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.fixture(scope="module")
def played(project):
    """The same, after its experiment was planned, asked of a stand-in and played."""
    assert "auction" in done(project.run("plan", "experiment=auction"))
    done(project.run("record", "experiment=auction"))
    assert "30 matches" in done(project.run("play", "experiment=auction"))
    return project


def test_it_is_planned_asked_of_a_stand_in_with_beliefs_and_played(played):
    turns = read(played.folder / "transcripts/auction.parquet")
    assert turns.match.nunique() == 30 and len(turns) == 30 * 3 * 2 and turns.valid.all()
    thought = turns[turns.agent.eq("beliefs") & turns["round"].gt(1)].detail.map(json.loads)
    assert len(thought) and all("beliefs" in each for each in thought)
    halves = turns[turns.agent.eq("shade") & turns.model.isna()]
    assert (halves.payoff >= 0).all(), "who bids a half of the value never loses"


def test_it_is_replayed_and_watched(played):
    code = """
from agon.conf import games
from agon.replay import one_match, replay_match
from agon import ROOT
from agon.turns import read, read_games
from agon.games.base import PUBLIC
from agon.games.tables import games_table, payoff_table, seat_table
turns = read("transcripts/auction.parquet")  # nothing of conf was read before: a new kernel replays them, too
for match in turns.match.unique()[:5]:
    replay = replay_match(one_match(turns, match), read_games("transcripts/auction.parquet"))
    seen = replay.game.watch(replay.state).past
    assert len(seen) == 3 and {event.phase for event in seen} == {"sold"}
assert "auction" not in set(payoff_table(games_table(games())).game) and "auction" in set(seat_table(games_table(games())).game)
print("seen")
"""
    (played.folder / "look.py").write_text(code)
    found = patience.run([sys.executable, "look.py"], cwd=played.folder, env=played.environment)
    assert found.stdout == "seen\n", found.stderr


def test_recorded_games_of_others_are_read_beside_it(project):
    path = f"path={ROOT / 'data/published/counterfactual'}"
    assert "9,492 matches" in done(project.run("ingest", "source=counterfactual", path, "out=transcripts/x.parquet"))
