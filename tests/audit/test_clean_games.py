"""Nothing is invented in clean games of others, and one fault in each of them is found."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from agon.turns import games_path, read, write
from agon_audit.audit import audit
from agon_audit.mapping import as_mapping

SMOKE = Path(__file__).parents[1] / "smoke"


def found(folder, **fields):
    """What an audit finds: check -> how often. A match and a decision must be there, and rules must have been applied."""
    result = audit(folder, as_mapping(fields, "mapping"), folder)
    assert result.rows and result.matches and result.rules
    return {name: outcome.count for name, outcome in result.found.items() if outcome.count}


TOURNAMENTS = {
    "short": {"turns": 1},
    "long": {"turns": 60},
    "repeated": {"turns": 8, "repetitions": 4},
    "noisy": {"turns": 20, "noise": 0.2},
    "of many players": {"turns": 5},
    "of another game": {"turns": 12},
    "of one player": {"turns": 9},
}


@pytest.fixture(params=TOURNAMENTS)
def tournament(request, tmp_path):
    """Interactions of a tournament of Axelrod with scores, and the mapping."""
    axelrod = pytest.importorskip("axelrod")
    settings = dict(TOURNAMENTS[request.param])
    game = axelrod.Game(r=2, s=-1, t=4, p=0.5) if request.param == "of another game" else axelrod.Game()
    kinds = [axelrod.TitForTat, axelrod.Alternator, axelrod.Grudger, axelrod.Random, axelrod.WinStayLoseShift]
    chosen = {"of many players": kinds * 3, "of one player": kinds[3:4]}.get(request.param, kinds)
    path = tmp_path / "interactions.csv"
    played = axelrod.Tournament([kind() for kind in chosen], game=game, seed=7, **settings)
    played.play(filename=str(path), build_results=False, progress_bar=False)
    rows = pd.read_csv(path)
    rows["Score"] = [
        sum(
            game.score((axelrod.Action.from_char(a), axelrod.Action.from_char(b)))[0]
            for a, b in zip(own, other, strict=True)
        )
        for own, other in zip(rows.Actions, rows.Actions[rows.index ^ 1], strict=True)
    ]
    payoff = [[[*game.score((first, second))] for second in axelrod.Action] for first in axelrod.Action]
    rules = {"actions": [str(action) for action in axelrod.Action], "payoff": payoff, "rounds": settings["turns"]}
    return path, rows, {"format": "axelrod", "rules": rules}


def test_a_tournament_of_axelrod_is_clean(tournament, tmp_path):
    path, rows, fields = tournament
    rows.to_csv(path, index=False)
    assert found(tmp_path, **fields) == {}
    rows.loc[1, "Score"] += 2
    rows.to_csv(path, index=False)
    assert found(tmp_path, **fields) == {"scores": 1}
    rows.loc[1, ["Score", "Actions"]] = [rows.Score[1] - 2, rows.Actions[1] + "C"]
    rows.to_csv(path, index=False)
    assert {"rounds_beyond", "seats"} <= {*found(tmp_path, **fields)}


PLAYS = {
    "tic_tac_toe": 20,
    "connect_four": 8,
    "kuhn_poker": 30,
    "leduc_poker": 30,
    "matrix_pd": 12,
    "blotto": 10,
    "goofspiel(imp_info=True,num_cards=4,points_order=descending)": 10,
    "kuhn_poker(players=3)": 20,
}
"""A game of OpenSpiel -> how many matches are played at random."""


def random_play(game, dice):
    """Rows (round, seat, action, final) of a match; chance has seat -1."""
    state, rows, round_ = game.new_initial_state(), [], 0
    while not state.is_terminal():
        round_ += 1
        if state.is_simultaneous_node():
            actions = [int(dice.choice(state.legal_actions(seat))) for seat in range(game.num_players())]
            rows += [(round_, seat, state.action_to_string(seat, action)) for seat, action in enumerate(actions)]
            state.apply_actions(actions)
        else:
            seat, action = max(state.current_player(), -1), int(dice.choice(state.legal_actions()))
            rows.append((round_, seat, action))
            state.apply_action(action)
    finals = state.returns()
    return [(*row, "" if row[1] < 0 else finals[row[1]]) for row in rows]


@pytest.mark.parametrize("name", PLAYS)
def test_plays_of_openspiel_are_clean(name, tmp_path):
    pyspiel = pytest.importorskip("pyspiel", reason="OpenSpiel is not installed: pip install open_spiel")
    game, dice = pyspiel.load_game(name), np.random.default_rng(11)
    rows = [(match, *row) for match in range(PLAYS[name]) for row in random_play(game, dice)]
    table = pd.DataFrame(rows, columns=["match", "round", "seat", "action", "final"])
    fields = {"format": "csv", "match": ["match"], "rules": {"openspiel": name}}
    fields |= {column: column for column in ("round", "seat", "action", "final")}
    table.to_csv(tmp_path / "log.csv", index=False)
    assert found(tmp_path, **fields) == {}
    last = table.index[table.seat == 0][-1]
    table.loc[table.match.eq(table.match[last]) & table.seat.eq(0), "final"] = 99
    table.to_csv(tmp_path / "log.csv", index=False)
    assert found(tmp_path, **fields) == {"scores": 1}
    table["action"] = table.action.astype(str).where(table.index != last, "nothing")
    table.to_csv(tmp_path / "log.csv", index=False)
    assert found(tmp_path, **fields)["replay"] == 1


OWN = [
    *("counterfactual_turns", "magic_scripted", "magic_standin", "pocket", "pocket_magic", "pocket_tradecraft"),
    *("scripted_turns", "standin_turns", "tradecraft_viewer", "twins_pocket"),
]


@pytest.mark.parametrize("name", OWN)
def test_turns_of_agon_are_clean(name, tmp_path):
    for path in (SMOKE / f"{name}.parquet", games_path(SMOKE / f"{name}.parquet")):
        shutil.copy(path, tmp_path)
    path = tmp_path / f"{name}.parquet"
    assert found(tmp_path, format="agon") == {}
    turns = read(path)
    paid = turns.index[turns.payoff.notna()][0]
    write(turns.assign(payoff=turns.payoff.where(turns.index != paid, turns.payoff + 13)), path)
    assert found(tmp_path, format="agon") in ({"points": 1}, {"replay": 1})
