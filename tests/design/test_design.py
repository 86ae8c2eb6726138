"""What a planned experiment is said to detect: against the test that will be made, drawn matches, and other designs for the same money."""

import numpy as np
import pandas as pd
import pytest

from agon.games.tables import games_table
from agon.metrics.differences import estimate
from agon.metrics.power import POWER, detectable
from agon.plan import plan
from agon.play import play_now, turns_table
from agon.turns import read, read_games
from agon_design.compare import compare
from agon_design.differences import difference
from agon_design.power import OWN, design, variances


def planned(repetitions=5, seats=(("zs", "cot"), ("tit_for_tat", "grim", "uniform")), models=("gpt_4o",)):
    pairing = {"games": ["pd"], "seats": [[*each] for each in seats], "models": [*models]}
    return plan({"name": "planned", "repetitions": repetitions, "pairings": [pairing]})


def varying(df=10**8, **variance):
    """Recorded variances of points by opponent; they are known well unless it says otherwise."""
    rows = [{"agent": "any", "opponent": each, "df": df, "variance": value} for each, value in variance.items()]
    return pd.DataFrame(rows).assign(game="pd", variant="default")


MODELS = planned(seats=(("zs", "cot"), ("zs", "best_reply_to_last")), models=["gpt_4o", "gpt_4o_mini"])


def test_two_cells_are_the_two_sample_t_test():
    [row] = design(planned(5, (("zs", "cot"), ("uniform",))), None, 3.0).comparisons().itertuples()
    assert row.by == "agent" and row.detectable == pytest.approx(detectable(3.0 * (2 / 5) ** 0.5, 8))


def test_agents_are_compared_within_models_and_models_within_agents():
    found = design(MODELS, None).comparisons().set_index("by")
    assert found.pairs.to_dict() == {"agent": 1, "model": 1}
    assert found.strata.to_dict() == {"agent": 4, "model": 4} and found.n.to_dict() == {"agent": 20, "model": 20}
    assert OWN in set(
        design(MODELS, None).cells.opponent_model
    )  # what plays with the same model, whichever that is, is shared


def test_matches_of_each_condition_are_those_that_compare_counts():
    tournament = {"games": ["pd", "pd_label"], "agents": ["uniform", "grim", "tit_for_tat"]}
    matches = plan({"name": "played", "repetitions": 3, "tournaments": [tournament]})
    found = design(matches, None).comparisons().set_index(["game", "variant"])
    games = games_table([match.game for match in matches])
    within = ["game", "variant", "opponent"]
    for variant, chosen in (("all", None), ("default", "default"), ("label", "label")):
        turns = turns_table([(match, play_now(match)) for match in matches if chosen in (None, match.game.variant)])
        pairs = [compare(turns, games, "points", f"agent:{a},{b}", within=within).pairs for a, b in PAIRS]
        counts = {(row.n_first, row.n_second, row.strata) for pair in pairs for row in pair.itertuples()}
        row = found.loc["all" if chosen is None else "pd", variant]
        assert counts == {(row.n, row.n, row.strata)}


PAIRS = [("uniform", "grim"), ("grim", "tit_for_tat"), ("uniform", "tit_for_tat")]


def test_cells_have_variances_of_like_records_or_assumed_ones():
    known = varying(grim=4.0, uniform=100.0)
    cells = design(planned(), known).cells.set_index(["agent", "opponent"])
    assert (
        cells.variance["zs", "grim"] == pytest.approx(4, rel=1e-3)
        and cells.basis["zs", "grim"] == "game variant opponent"
    )
    assert (
        cells.variance["zs", "tit_for_tat"] == pytest.approx(52, rel=1e-3)
        and cells.basis["zs", "tit_for_tat"] == "game variant"
    )
    assert set(design(planned(), known.assign(game="rps"), 2.0).cells.basis) == {"assumed"}
    assert set(design(planned(), known.assign(df=1)).cells.basis) == {"assumed"}  # too few to be believed


def test_the_smallest_difference_is_found_in_80_percent_of_experiments():
    spreads = {"grim": 1.0, "tit_for_tat": 3.0, "uniform": 6.0}
    made = design(planned(4), varying(**{name: spread**2 for name, spread in spreads.items()}))
    [least] = made.comparisons().detectable
    dice, found = np.random.default_rng(3), []
    for _ in range(600):
        cells = [(dice.normal(0, each, 4), dice.normal(least, each, 4)) for each in spreads.values()]
        found.append(estimate(cells, alike=True).low > 0)
    assert np.mean(found) == pytest.approx(POWER, abs=0.06)


def test_a_spread_known_from_few_matches_counts_with_its_upper_limit():
    dice, df = np.random.default_rng(2), 10
    rows = [
        design(planned(5, (("zs", "cot"), ("uniform",))), varying(df, uniform=variance)).comparisons().iloc[0]
        for variance in dice.chisquare(df, 80) / df
    ]
    enough = [row.detectable >= detectable((2 / 5) ** 0.5, 8) for row in rows]  # as the true spread takes
    assert np.mean(enough) == pytest.approx(0.8, abs=0.12) and {row.df for row in rows} == {df}
    assert np.isnan(design(planned(), None).comparisons().df).all(), "an assumed spread has none"


@pytest.mark.parametrize("wanted", [0.5, 2.0, 7.0])
def test_no_fewer_matches_would_do(wanted):
    made = design(planned(), varying(grim=4.0, uniform=49.0))
    each = made.needed(wanted)
    least = [made.comparisons(dict.fromkeys(made.kinds.index, n)).detectable.max() for n in (each, each - 1)]
    assert least[0] <= wanted < least[1]


def test_matches_that_never_vary_decide_everything():
    made = design(planned(), varying(grim=0.0, uniform=0.0))
    assert made.needed(0.1) == 2 and made.comparisons().detectable.max() == 0


def test_recorded_cells_are_those_of_all_that_tells_seats_apart():
    turns = read("tests/smoke/scripted_turns.parquet")
    found = variances(turns, read_games("tests/smoke/scripted_turns.parquet"), "points")
    chosen = turns[turns.variant.eq("default") & turns.game.eq("pd")]
    sums = chosen.groupby(["match", "seat", "agent"], observed=True).payoff.sum().reset_index()
    pairs = sums.merge(sums, on="match").query("seat_x == 0 and seat_y == 1")
    for (agent, opponent), own in pairs.groupby(["agent_x", "agent_y"], observed=True):
        rows = found[(found.game == "pd") & (found.variant == "default") & (found.agent == agent)]
        if len(own) > 1:
            assert np.isclose(rows.variance[rows.opponent == opponent], own.payoff_x.var()).any()


def test_strata_count_alike_if_asked_for():
    cells = [(np.array([1.0, 2.0]), np.array([2.0, 4.0])), (np.zeros(6), np.arange(6.0))]
    assert difference(cells, alike=True).difference == pytest.approx((1.5 + 2.5) / 2)
    assert difference(cells).difference == pytest.approx((1.5 + 3 * 2.5) / 4)


def test_recorded_and_planned_cells_agree_on_seats_under_test():
    pairing = {"games": ["prisoner3"], "seats": [["magic_defector", "magic_selfish"], ["uniform"], ["uniform"]]}
    matches = plan({"name": "played", "repetitions": 2, "pairings": [pairing]})
    cell = ["game", "variant", "agent", "opponent"]
    turns = turns_table([(match, play_now(match)) for match in matches])
    played, designed = (
        variances(turns, games_table([match.game for match in matches]), "points")[cell],
        design(matches, None).cells[cell],
    )
    assert set(played.itertuples(index=False, name=None)) == set(designed.itertuples(index=False, name=None))
