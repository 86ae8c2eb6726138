"""The precision of quantal responses: against pygambit, against players of known precision, and at its ends."""

import numpy as np
import pandas as pd
import pygambit
import pytest
from harness import RPS
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax

from agon import AgonError
from agon.games.matrix.quantal import Branch, fit, fit_equilibrium, precision
from agon.games.tables import payoff_table
from agon.turns import read, read_games

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


def normal(dice, actions):
    return dice.normal(size=(actions, actions))


def pairs_of(payoffs, games):
    """Random games whose payoffs have no ties, with random counts of choices (2 sides x actions)."""
    dice = np.random.default_rng(7)
    for _ in range(games):
        actions = int(dice.integers(2, 4))
        own, other = (payoffs(dice, actions) for _ in range(2))
        yield own, other, dice.multinomial(40, dice.dirichlet(np.ones(actions), 2)).astype(float)


def test_an_equilibrium_is_an_exact_fixed_point_and_the_one_that_pygambit_estimates_on_random_games():
    def short(event, limit=1000):
        steps.append(event)
        if len(steps) > limit:
            raise TimeoutError  # it does not end in every game

    compared = 0
    for own, other, counts in pairs_of(normal, 120):
        found, steps = fit_equilibrium(counts[None], own, other), []
        played = pygambit.StrategicGame.from_arrays(own, other).mixed_strategy_profile(counts.tolist())
        try:
            wanted = pygambit.qre.logit_estimate(played, event_callback=short)
        except RuntimeError:
            continue
        compared += 1
        assert "fork" not in found.why
        if found.precision == np.inf:  # as far as pygambit went
            assert wanted.lam > 20
        else:
            assert found.precision == pytest.approx(wanted.lam, abs=2e-3, rel=5e-3)
    assert compared > 110


def test_points_of_a_branch_are_replies_to_themselves():
    for own, other, _ in pairs_of(normal, 20):
        path = Branch(own, other).path()
        assert path[-1].precision >= 1000
        for here in path:
            worth = here.precision * np.array([own @ here.chances[1], here.chances[0] @ other])
            assert here.chances == pytest.approx(softmax(worth, axis=1), abs=1e-8)


def test_both_methods_agree_where_the_other_does_not_change_what_pays():
    def added(dice, actions):
        return dice.normal(size=(actions, 1)) + dice.normal(size=(1, actions))

    dice = np.random.default_rng(8)
    for own, other, counts in pairs_of(added, 40):
        units = dice.poisson(counts, (5, *counts.shape)).astype(float)
        reply = fit(units, np.stack([own.mean(axis=1), other.mean(axis=0)]))
        found = fit_equilibrium(units, own, other)
        if reply.precision == 0:  # below it, intervals are cut
            assert found.precision == found.low == reply.low == 0
        else:
            assert found[:3] == pytest.approx(reply[:3], rel=1e-5, abs=1e-6)


def test_uniform_play_has_precision_0_by_both_methods():
    for own, other, counts in pairs_of(normal, 30):
        units = np.full((3, *counts.shape), 5.0)
        assert fit_equilibrium(units, own, other).precision == 0
        assert fit(units, np.stack([own.mean(axis=1), other.mean(axis=0)])).precision == pytest.approx(0, abs=1e-9)


def test_players_of_an_equilibrium_are_found_in_it_and_the_interval_covers_them():
    dice, inside = np.random.default_rng(4), []
    own, other = np.array([[9.0, 0.0], [0.0, 1.0]]), np.array([[0.0, 1.0], [1.0, 0.0]])  # matching pennies, Ochs (1995)
    game = pygambit.StrategicGame.from_arrays(own, other)
    [solved] = pygambit.qre.logit_solve_lambda(game, [1.5])
    here = [[chance for _, chance in solved.profile[player]] for player in game.players]
    for _ in range(100):
        counts = np.stack([[dice.multinomial(40, each) for each in here] for _ in range(8)]).astype(float)
        found = fit_equilibrium(counts, own, other)
        inside.append(found.low <= 1.5 <= found.high)
    assert np.mean(inside) == pytest.approx(0.95, abs=0.06)


@pytest.mark.parametrize(
    ("counts", "own", "precision", "why"),
    [
        ([[0, 0], [0, 0]], [[3, 0], [5, 1]], np.nan, "no choices"),
        ([[3, 2], [3, 2]], [[1, 2], [1, 2]], np.nan, "every precision has the same equilibrium"),
        ([[0, 9], [0, 9]], [[3, 0], [5, 1]], np.inf, "no precision is more likely than an infinite one"),
        ([[9, 1], [9, 1]], [[3, 0], [5, 1]], 0.0, "one unit: no interval"),
        (
            [[9, 5], [5, 9]],
            [[2, 0], [0, 2]],
            np.nan,
            "every precision has the same equilibrium; the equilibria fork at 1,",
        ),
    ],
)
def test_where_no_equilibrium_is_fitted_a_line_says_why(counts, own, precision, why):
    table = np.array(own, dtype=float)
    found = fit_equilibrium(np.array([counts], dtype=float), table, table.T)
    assert why in found.why and np.isnan(found[1:3]).all()
    assert found.precision == pytest.approx(precision, nan_ok=True)


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
    for counts, worth, why in (
        (np.zeros((3, 1, 2)), [[0.0, 1.0]], "no choices"),
        (np.ones((3, 1, 2)), [[1.0, 1.0]], "all actions are worth the same against what the others did"),
    ):
        found = fit(counts, np.array(worth))
        assert np.isnan(found[:3]).all() and found.why == why
    one = fit(np.array([[[1.0, 2.0]]]), np.array([[0.0, 1.0]]))
    assert one.precision > 0 and np.isnan(one[1:3]).all() and one.why == "one unit: no interval"


def test_turns_have_a_precision_in_every_cell():
    turns = read("tests/smoke/scripted_turns.parquet")
    turns = turns[(turns.variant == "default") & (turns.game == "rps")]
    rules = payoff_table(read_games("tests/smoke/scripted_turns.parquet"))
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
    third = rules.assign(seat=2)
    with pytest.raises(AgonError, match="rps, default has 3 players"):
        precision(turns, pd.concat([rules, third]))


def test_turns_have_an_equilibrium_s_precision_in_every_cell_or_a_reason():
    turns = read("tests/smoke/counterfactual_turns.parquet")
    turns = turns[(turns.variant == "default") & turns.game.isin(["pd", "rps"])]
    found = precision(
        turns, payoff_table(read_games("tests/smoke/counterfactual_turns.parquet")), ["opponent"], method="equilibrium"
    ).set_index("game")
    assert (found.precision.notna() | found.why.ne("")).all() and found.precision["pd"].notna().all()
    assert found.why["rps"].eq("every precision has the same equilibrium").all()  # uniform play
