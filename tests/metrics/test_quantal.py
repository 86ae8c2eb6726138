"""The precision of quantal responses: against pygambit, against players of known precision, and at its ends."""

import numpy as np
import pygambit
import pytest
from harness import RPS
from hypothesis import given, settings
from hypothesis import strategies as st

from agon import AgonError
from agon.games.matrix.quantal import fit, precision
from agon.games.tables import payoff_table
from agon.replay import games_of
from agon.turns import read

COUNT = st.integers(0, 30)
PAID = st.integers(-5, 5)


def counted(actions):
    return st.lists(COUNT, min_size=actions, max_size=actions).filter(any)


@given(st.data(), st.integers(2, 4))
@settings(max_examples=120, deadline=None)
def test_it_is_what_pygambit_gives_on_random_games(data, actions):
    table = st.lists(st.lists(PAID, min_size=actions, max_size=actions), min_size=actions, max_size=actions)
    one, other = (np.array(data.draw(table), dtype=float) for _ in range(2))
    first, second = (np.array(data.draw(counted(actions)), dtype=float) for _ in range(2))
    worth = np.array([one @ (second / second.sum()), (first / first.sum()) @ other])
    found = fit(np.array([[first, second]]), worth).precision
    if not found < 20:  # always best: beyond that likelihoods are alike to pygambit
        return
    game = pygambit.StrategicGame.from_arrays(one, other)
    played = game.mixed_strategy_profile([first.tolist(), second.tolist()])
    wanted = pygambit.qre.logit_estimate(played, use_empirical=True)
    assert found == pytest.approx(wanted.lam, abs=2e-3, rel=5e-3)


def test_intervals_cover_the_precision_of_players_who_have_it():
    dice, worth, inside = np.random.default_rng(3), np.array([[0.0, 0.4, 1.0]]), []
    for _ in range(400):
        own = dice.normal(2.0, 0.4, 6)  # players differ, so that decisions of a match are not independent
        shares = np.exp(own[:, None] * worth)
        counts = np.stack([dice.multinomial(40, each / each.sum()) for each in shares])[:, None].astype(float)
        found = fit(counts, worth)
        inside.append(found.low <= 2.0 <= found.high)
    assert np.mean(inside) == pytest.approx(0.95, abs=0.03)


@pytest.mark.parametrize(
    ("counts", "precision"),
    [([0, 5], np.inf), ([5, 5], 0.0), ([9, 1], 0.0), ([1, np.e], 1.0)],
)
def test_the_ends_and_a_case_by_hand(counts, precision):
    assert fit(np.array([[counts]], dtype=float), np.array([[0.0, 1.0]])).precision == pytest.approx(precision)


def test_what_cannot_be_said_is_absent():
    assert np.isnan(fit(np.zeros((3, 1, 2)), np.array([[0.0, 1.0]]))).all()
    assert np.isnan(fit(np.ones((3, 1, 2)), np.array([[1.0, 1.0]]))).all()
    assert np.isnan(fit(np.ones((1, 1, 2)), np.array([[0.0, 1.0]]))[1:]).all()


def test_turns_have_a_precision_in_every_cell():
    turns = read("tests/smoke/scripted_turns.parquet")
    turns = turns[(turns.variant == "default") & (turns.game == "rps")]
    rules = payoff_table(games_of(turns))
    found = precision(turns, rules, ["agent", "opponent"]).set_index(["game", "variant", "agent", "opponent"])
    sides = [turns[turns.seat == seat].set_index(["match", "round"]) for seat in (0, 1)]
    both = sides[0].join(sides[1][["agent", "action"]].add_suffix("_other"))
    for (agent, opponent), own in both.groupby(["agent", "agent_other"], observed=True):
        counts, faced = (
            own[name].value_counts().reindex(RPS.options, fill_value=0).to_numpy()
            for name in ("action", "action_other")
        )
        paid = np.array([[RPS.payoffs((a, b))[0] for b in RPS.options] for a in RPS.options])
        wanted = fit(counts[None, None].astype(float), (paid @ (faced / faced.sum()))[None]).precision
        row = found.loc[("rps", "default", agent, opponent)]
        assert row.precision == pytest.approx(wanted, nan_ok=True) and row.decisions == len(own)
    with pytest.raises(AgonError, match="no payoffs for rps"):
        precision(turns, rules[rules.game != "rps"])
