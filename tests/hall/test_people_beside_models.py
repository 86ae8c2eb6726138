"""People beside models: a study of one's own by the guide's commands, and cells that are never taken for one another."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml
from project import Project

from agon import ROOT
from agon.metrics import head_to_head
from agon.plan import Match
from agon.play import play_now, turns_table
from agon.turns import in_cells, read, subjects
from agon_hall.beside_models import counterparts, in_their_cells
from agon_hall.seating import seating

GUIDE = ROOT / "docs/how-to/run-a-study-with-people.md"
LIMIT = 300
"""Seconds for a command."""
COME = """
import asyncio, sys
from pathlib import Path
from agon_hall.protocol import study
from agon_hall.rehearsal import play_rehearsal
asyncio.run(asyncio.wait_for(play_rehearsal(study(sys.argv[1]), Path(".agon/hall"), print), 240))
"""
"""Scripts come to a study as people do, and leave in the hall's folder what people would."""


class Host:
    """Somebody who follows the guide in a copy of the project."""

    def __init__(self, folder: Path) -> None:
        self.folder = Project(folder).folder
        tools = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        self.environment = os.environ | {"PATH": tools, "PYTHONPATH": str(folder / "src")}

    def does(self, line: str) -> str:
        """A line of a shell; gives what it says."""
        run = subprocess.run(
            ["bash", "-c", line], cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=LIMIT
        )
        assert run.returncode == 0, f"{line}: {run.stdout}{run.stderr}"
        return run.stdout

    def changes(self, name: str, **settings) -> None:
        """Other settings in a study's file."""
        path = self.folder / f"conf/study/{name}.yaml"
        path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | settings, sort_keys=False))

    def comes(self, name: str) -> None:
        """Has scripts come in the place of people."""
        command = [sys.executable, "-c", COME, name]
        subprocess.run(command, cwd=self.folder, env=self.environment, check=True, timeout=LIMIT, capture_output=True)

    def found(self, name: str) -> tuple[pd.DataFrame, pd.DataFrame]:
        """The notebook's tables: cells, and means."""
        place = self.folder / f"runs/{name}/results/notebooks/people_and_models/tables"
        return tuple(pd.read_csv(place / f"people_and_models{each}.csv") for each in ("_cells", ""))


def commands(text: str) -> list[str]:
    """Lines of the guide's blocks of commands."""
    return [line for block in re.findall(r"^```sh\n(.*?)^```$", text, re.M | re.S) for line in block.splitlines()]


def test_the_guide_s_commands_lead_a_study_of_one_s_own_to_its_end(tmp_path):
    host, lines = Host(tmp_path), commands(GUIDE.read_text().replace("NAME", "mine"))
    own = [line for line in lines if "mine" in line]
    assert len(own) >= 6 and "notebook people_and_models study=mine" in own[-1]
    host.does(own.pop(0))
    group = {"games": ["pd"], "quota": 2}
    cells = {"script": group | {"seats": ["human", "tit_for_tat"]}, "two": group | {"seats": ["human", "human"]}}
    host.changes("mine", cells=cells, models={"agents": ["zs"], "models": ["standin"], "repetitions": 2})
    for line in own:
        if " collect " in line:
            host.comes("mine")
        host.does(line)
    models = read(host.folder / "transcripts/mine.parquet")
    assert subjects(models).cell.value_counts().to_dict() == {"two": 4, "script": 2}  # of one game
    people = subjects(read(host.folder / "transcripts/studies/mine/turns.parquet"))
    came = pd.read_csv(host.folder / "transcripts/studies/mine/participants.csv").dropna(subset="match")
    assert set(zip(people.match, people.cell, strict=True)) == set(zip(came.match, came.cell, strict=True))
    both, means = host.found("mine")
    assert both.why.isna().all() and both.set_index("cell").models.to_dict() == {"script": 2, "two": 4}
    met = means[means.metric == "points"].set_index(["cell", "who"]).n.to_dict()
    assert met["script", "zs@standin"] == met["two", "zs@standin"] == 2 and ("two", "people") in met
    assert host.does(own[-1])  # again, when more have come


@pytest.mark.skipif(not (ROOT / "data/problems/minecraft_public").is_dir(), reason="made by `make repro`")
def test_the_study_of_trade_comes_to_its_page(tmp_path):
    host = Host(tmp_path)
    for part in ("problems", "rulesets"):
        if (ROOT / "data" / part).is_dir():
            shutil.copytree(ROOT / "data" / part, tmp_path / "data" / part)
    for line in ("rehearse", "seat-models", "record experiment=", "play experiment="):
        host.does(f"python -m agon {line if '=' in line else f'{line} '}tradecraft_people")
    host.does("python -m agon notebook people_and_models study=tradecraft_people people=transcripts/rehearsed")
    both, means = host.found("tradecraft_people")
    assert both.models.to_dict() == {0: 2, 1: 2, 2: 1, 3: 1} and set(means.metric) == {"points", "readable"}
    assert set(means.who) == {"people", "tradecraft_unprimed@standin_tradecraft"}


# --- cells


def matches(*entrants, game="pd", number=1, subject=0, cell="one", people=True):
    """One match, and the cell of its subject; of people where a script sits in their place."""
    made = seating(game, entrants)
    match = Match("s", f"{number:x}", number, made.game, made.seats, 0, "")
    turns = turns_table([(match, play_now(match))])
    if people:
        own = turns.agent.astype("str").mask(turns.seat == subject, "human")
        turns = turns.assign(agent=own.astype("category"))
    return in_cells(turns, {(match.id, subject): cell})


def side_by_side(people, models):
    """Why the cells of two tables of turns are not put side by side."""
    ours, theirs = (in_their_cells(turns, subjects(turns)) for turns in (people, models))
    return counterparts(ours, theirs, []).set_index("cell").why.to_dict()


def test_a_cell_is_not_taken_for_another_of_the_same_game():
    people = matches("uniform", "tit_for_tat", cell="a")
    models = matches("uniform", "tit_for_tat", cell="b", people=False)
    assert side_by_side(people, models) == {"a": "no models in this cell", "b": "no people in this cell"}
    assert side_by_side(people, matches("grim", "tit_for_tat", cell="a", people=False)) == {"a": ""}


def test_a_cell_whose_people_met_other_players_says_so():
    people = matches("uniform", "tit_for_tat")

    def difference(*entrants, **changes):
        return side_by_side(people, matches(*entrants, people=False, **changes))["one"]

    opponents = "others: people seat 1: a subject, seat 2: tit_for_tat; models seat 1: a subject, seat 2: grim"
    assert opponents in difference("uniform", "grim")
    assert "others: people seat 1: a subject" in difference("tit_for_tat", "uniform", subject=1)
    assert "variant: people default; models default~stags" in difference("uniform", "tit_for_tat", game="pd~stags")


def test_styles_of_one_model_are_not_one_player():
    turns = matches("uniform", "tit_for_tat").assign(model=None)
    first = turns.assign(model=pd.Categorical(["m" if seat else None for seat in turns.seat]))
    other = matches("uniform", "tit_for_tat", number=2).assign(model=first.model)
    other = other.assign(agent=other.agent.cat.rename_categories({"tit_for_tat": "grim"}).astype("str"))
    found = head_to_head(pd.concat([first.assign(agent=first.agent.astype("str")), other], ignore_index=True))
    assert set(found.opponent) == {"grim@m", "tit_for_tat@m"}


def test_a_partner_that_is_no_subject_is_not_counted_as_one():
    models = matches("uniform", "tit_for_tat", people=False)
    assert in_their_cells(models, subjects(models)).seat.to_list() == [0]


def test_what_a_row_says_already_stays_beside_its_cell():
    turns = matches("uniform", "tit_for_tat").assign(detail=None)
    turns = turns.assign(detail=turns.detail.astype("string"))
    turns.loc[0, "detail"] = json.dumps({"aids": []})
    assert json.loads(in_cells(turns, {("1", 0): "x"}).detail[0]) == {"aids": [], "cell": "x"}
    assert subjects(turns).empty  # as turns of older studies
