"""Orders of players with what sampling does to them, and where a player stands between remembering and solving."""

import numpy as np
import pandas as pd
import pytest

from agon import AgonError
from agon.conf import load
from agon.plan import plan
from agon.play import play_now, turns_table
from agon_twins import records as twins

DICE = np.random.default_rng(1)


def scores(means, n=5, sd=0.01, cells=("a", "b"), dice=DICE):
    """Matches of models with these mean points, by variant."""
    rows = [
        {"variant": variant, "model": model, "cell": cell, "points": dice.normal(mean, sd)}
        for variant, of in means.items()
        for model, mean in of.items()
        for cell in cells
        for _ in range(n)
    ]
    return pd.DataFrame(rows)


UP, DOWN = {"A": 1, "B": 2, "C": 3, "D": 4}, {"A": 4, "B": 3, "C": 2, "D": 1}


def test_tau_is_1_for_the_same_order_and_minus_1_for_the_reverse():
    one = np.array([1.0, 2.0, 4.0])
    assert twins.tau(one, one * 7) == 1 and twins.tau(one, -one) == -1
    assert twins.tau(one, np.array([1.0, 4.0, 2.0])) == pytest.approx(1 / 3)
    assert np.isnan(twins.tau(np.array([1.0]), np.array([2.0])))


def test_orders_that_are_clear_are_found_and_stay_in_every_draw():
    ranks, taus = twins.orders(scores({"default": UP, "label": UP, "payoff": DOWN}))
    found = taus.set_index("variant")
    assert found.tau.to_dict() == found.low.to_dict() == found.apart.to_dict() == {"label": 1, "payoff": -1}
    assert (found.alike == 1).all()
    best = ranks[(ranks.variant == "payoff") & (ranks.model == "A")].iloc[0]
    assert (best["rank"], best.rank_low, best.rank_high, best.n) == (1, 1, 1, 10)


def test_halves_of_a_variant_agree_as_two_variants_for_equal_players():
    even = dict.fromkeys("ABCDEF", 0)
    drawn = [twins.orders(scores({"default": even, "label": even}, sd=1), seed=seed)[1].iloc[0] for seed in range(12)]
    assert abs(np.mean([row.apart - row.alike for row in drawn])) < 0.15


def test_a_difference_between_variants_is_told_from_sampling():
    p, (low, high) = twins.chance_of_orders(scores({"default": UP, "label": UP | {"A": 3.5}}), "default", "label")
    assert p < 0.02 and low <= high == 1
    assert twins.chance_of_orders(scores({"default": UP, "label": UP}), "default", "label") == (1, (1, 1))
    assert np.isnan(twins.chance_of_orders(scores({"default": {"A": 1}, "label": {"A": 1}}), "default", "label")[0])


@pytest.mark.parametrize("apart", [0, 0.3])
def test_the_difference_is_seldom_seen_where_there_is_none(apart):
    means = {model: apart * place for place, model in enumerate("ABCDEF")}
    dice = np.random.default_rng(2)
    found = [
        twins.chance_of_orders(scores({"default": means, "label": means}, sd=1, dice=dice), "default", "label", seed)[0]
        for seed in range(100)
    ]
    assert np.mean(np.array(found) <= 0.05) < 0.1


def test_what_knowing_a_game_is_worth_is_a_difference_within_cells():
    found = twins.loss(scores({"default": {"A": 3}, "label": {"A": 1}}), "default", "label")
    assert found["value"] == pytest.approx(2, abs=0.05) and found["low"] < 2.01 and found["high"] > 1.99
    assert found["known"] - found["twin"] == found["value"] and found["n"] == 20


def test_matches_drawn_anew_vary_as_the_mean_does():
    cells = pd.Series(["a"] * 2 + ["b"] * 5)
    values = np.array([0.0, 2, 1, 2, 3, 4, 5])
    weights = twins.bootstrap_weights(cells, np.random.default_rng(1), 40_000)
    assert weights.sum(axis=1) == pytest.approx(7)
    variance = (4 * 2 / 2 + 25 * 2.5 / 5) / 49
    assert (weights @ values / 7).var() == pytest.approx(variance, rel=0.05)


def test_halves_share_no_match():
    one, other = twins.split_weights(pd.Series(["a"] * 5 + ["b"] * 2), np.random.default_rng(1), 50)
    assert not (one * other).any() and one.sum(axis=1) == pytest.approx(7) == other.sum(axis=1)
    assert ((one + other)[:, :5] > 0).sum(axis=1).tolist() == [4] * 50


@pytest.mark.parametrize(
    ("game", "shares"),
    [
        ("pd", [0, 1]),
        ("pd~hunt", [1, 0]),
        ("rps", [1 / 3] * 3),
        ("rps_payoff", [0.2, 0.2, 0.6]),
        ("prisoner3/01", [0, 1]),
    ],
)
def test_the_solution_is_the_equilibrium_that_pays_most(game, shares):
    assert twins.solver_mix(load("game", game)).tolist() == pytest.approx(shares)


def test_a_game_without_payoff_table_is_refused_in_a_line():
    with pytest.raises(AgonError, match="chameleon has no payoff table"):
        twins.solver_mix(load("game", "chameleon/01-crowd"))


def played(agent):
    """Turns of two short games and their twins, as if the agent in seat 0 were a model."""
    games = [
        "pd_brief",
        "pd_brief~exchanged",
        "pd_brief~turned",
        "pd_brief~hunt",
        "prisoner3/01",
        "prisoner3/01~seated",
    ]
    matches = [
        {"games": games[:4], "seats": [[agent], ["tit_for_tat"]]},
        {"games": games[4:], "seats": [["uniform"]] * 3},
    ]
    turns = turns_table(
        [(match, play_now(match)) for match in plan({"name": "t", "repetitions": 1, "pairings": matches})]
    )
    return turns.assign(model=turns.model.astype(object).where(turns.seat.ne(0), "m"))


def behaviour(agent):
    turns = played(agent)
    names = {f"pd brief{each}": f"pd_brief{each}" for each in ("", "~exchanged", "~turned", "~hunt")}
    names |= {f"prisoner3 01{each}": f"prisoner3/01{each}" for each in ("", "~seated")}
    games = {tuple(key.split(" ")): load("game", name) for key, name in names.items()}
    places = {key: twins.Place(games[key[0], key[1].partition("~")[0]], game) for key, game in games.items()}
    done = twins.behaviour(turns, places)
    claims = {("pd", "brief~exchanged"): True, ("pd", "brief~turned"): True, ("pd", "brief~hunt"): False}
    return done, twins.compare_situations(done, claims, {key: twins.solver_mix(game) for key, game in games.items()})


def test_who_defects_by_the_payoffs_does_the_same_in_the_twins():
    done, found = behaviour("srep")
    assert done[done.variant == "brief"].situation.tolist()[0] == "0 []"
    assert found[found.variant == "brief~exchanged"].value.tolist() == [1, 1, 1]


def test_a_player_by_position_changes_in_a_reordered_twin_only():
    done, found = behaviour("always_kind")
    values = found.groupby("variant").value.first()
    assert values.to_dict() == {"brief~exchanged": 1, "brief~turned": 0, "brief~hunt": 0}
    solution_changes = done[(done.game == "prisoner3") & (done.variant == "01~seated")].situation.iloc[0]
    assert solution_changes.startswith("2 ")


def test_a_player_is_placed_by_what_it_does_in_the_papers_variants():
    options = {"C": np.array([1.0, 0.0]), "D": np.array([0.0, 1.0])}
    solutions = {"default": options["D"], "label": options["D"], "payoff": options["C"], "joint": options["C"]}

    def place(acts):
        rows = [
            {"match": f"{variant}{number}", "variant": variant, "situation": "0 []", "mix": options[act]}
            for variant, act in zip(solutions, acts, strict=True)
            for number in range(10)
        ]
        found = twins.positions(pd.DataFrame(rows), {row["match"]: "cell" for row in rows}, solutions)
        return found.set_index("metric")

    assert place("DDCC").value.to_dict() == {"invariance": 1, "sensitivity": 1}
    assert place("DCDC").value.to_dict() == {"invariance": 0, "sensitivity": 0}
    still = place("CCCC")
    assert still.value.to_dict() == {"invariance": 1, "sensitivity": 0}
    assert 0.5 < still.low["invariance"] < 1 == still.high["invariance"] and np.isnan(still.low["sensitivity"])


def test_models_that_earn_the_same_share_a_rank_in_every_draw():
    ranks, _ = twins.orders(scores({"default": dict.fromkeys("ABC", 2.0) | {"D": 1.0}}, sd=0.0))
    found = ranks.set_index("model")[["rank", "rank_low", "rank_high"]]
    assert found.loc[["A", "B", "C"]].to_numpy().tolist() == [[1, 1, 3]] * 3 and found.loc["D"].tolist() == [4, 4, 4]
