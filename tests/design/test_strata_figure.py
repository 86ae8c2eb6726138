"""The figure of a comparison: a row for each stratum, with names and limits."""

import numpy as np
import pandas as pd
import pytest

from agon_design.strata import VALUES, strata_figure


@pytest.mark.parametrize(("models", "opponents", "rows"), [(4, 5, 20), (9, 5, 2 + 9 + 5), (300, 1, 1 + VALUES)])
def test_the_rows_of_strata_have_names_however_many_there_are(models, opponents, rows):
    cells = [{"model": f"m{model}", "opponent": f"o{other}"} for model in range(models) for other in range(opponents)]
    apart = np.linspace(-1, 1, len(cells))
    strata = pd.DataFrame(cells).assign(n_first=2, n_second=3, difference=apart, low=apart - 1, high=apart + 1)
    whole = {"metric": "points", "first": "a", "second": "b", "difference": 0, "low": -0.1, "high": 0.1}
    whole |= {"n_first": 2 * len(cells), "n_second": 3 * len(cells), "how": "welch"}
    made = strata_figure(strata, pd.Series(whole), ["model", "opponent"])
    names = [label.get_text() for label in made.axes[0].get_yticklabels()]
    assert len(names) == len(set(names)) == rows + 2 and names[-1].startswith("all (")
    assert ("farthest from 0" in made.get_suptitle()) == (models > VALUES)


def test_the_axis_of_differences_ends_where_none_can_be():
    cells = pd.DataFrame({"opponent": ["x", "y"], "n_first": 2, "n_second": 2, "difference": [0.5, -0.9]})
    strata = cells.assign(low=[-0.4, -1.0], high=[1.0, 0.2])
    whole = {"metric": "won", "first": "a", "second": "b", "difference": -0.2, "low": -0.6, "high": 0.2, "how": "welch"}
    made = strata_figure(strata, pd.Series(whole | {"n_first": 4, "n_second": 4}), ["opponent"], most=1.0)
    assert max(np.abs(made.axes[0].get_xlim())) < 1.05
    assert "none goes beyond 1, the largest difference that there can be" in " ".join(made.get_suptitle().split())


def test_bars_weigh_strata_as_the_overall_difference_does():
    names = [f"o{number}" for number in range(50)]
    strata = pd.DataFrame({"opponent": names, "by": ["x", "y"] * 25, "n_first": range(2, 52), "n_second": 9})
    strata = strata.assign(difference=np.arange(50) / 100, low=-1.0, high=1.0)
    whole = {"metric": "won", "first": "a", "second": "b", "difference": 0.2, "low": 0.1, "high": 0.3, "how": "welch"}
    whole |= {"n_first": 9, "n_second": 9}
    means = strata.groupby("by").difference.mean()
    for alike in (True, False):
        axes = strata_figure(strata, pd.Series(whole), ["by"], alike=alike).axes[0]
        bars = [line.get_xdata()[0] for line in axes.lines if line.get_marker() == "|"]
        assert np.allclose(bars, sorted(means, reverse=True)) == alike
