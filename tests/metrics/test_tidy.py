"""Every metric of turns gives the same, whatever pandas has done to them."""

import numpy as np
import pandas as pd
from harness import GAMES

from agon.conf import games
from agon.games.matrix.metrics import action_shares, per_match, shares_over_rounds, weighed
from agon.games.rating.metrics import scores
from agon.games.tables import games_table, payoff_table, seat_table
from agon.games.tradecraft.metrics import first_seat, players, trading
from agon.metrics import head_to_head, tallies
from agon.metrics.tallies import per_match as of_tested
from agon.turns import COLUMNS, matches, read

PAYOFFS = payoff_table(games_table(GAMES.values()))
SMOKE = {
    "matrix": "counterfactual_turns",
    "pocket": "pocket",
    "magic": "magic_scripted",
    "tradecraft": "tradecraft/turns",
    "rating": "tradecraft_own/ratings",
}


def seats():
    return seat_table(games_table(games(["chameleon", "undercover", "cost_sharing", "prisoner3", "public_goods"])))


METRICS = {
    "matches": ("magic", matches),
    "head_to_head": ("matrix", lambda turns: head_to_head(turns, "zs")),
    "tallies": ("magic", lambda turns: tallies(turns, seats().merge(turns[["game", "variant"]].drop_duplicates()))),
    "of_tested": ("magic", lambda turns: of_tested(turns, seats())),
    "per_match": ("matrix", lambda turns: per_match(turns, PAYOFFS, seats=(0, 1))),
    "weighed": ("pocket", lambda turns: weighed(turns, PAYOFFS)),
    "action_shares": ("matrix", action_shares),
    "shares_over_rounds": ("pocket", shares_over_rounds),
    "trading": ("tradecraft", trading),
    "first_seat": ("tradecraft", lambda turns: first_seat(turns, ["game"])),
    "players": ("tradecraft", players),
    "scores": ("rating", scores),
}


def sample(name):
    """A few matches of every game and variant."""
    turns = read(f"tests/smoke/{SMOKE[name]}.parquet")
    first = turns.drop_duplicates("match").groupby(["game", "variant"], observed=True).head(3).match
    return turns[turns.match.isin(first)]


def concatenated(turns):
    half = turns.match.isin(sorted(turns.match.unique())[::2])
    return pd.concat(
        [part.assign(match=part.match.cat.remove_unused_categories()) for part in (turns[half], turns[~half])]
    )


WAYS = {
    "concatenated": concatenated,
    "of one index": lambda turns: turns.set_axis([0] * len(turns)),
    "shuffled": lambda turns: turns.iloc[np.random.default_rng(1).permutation(len(turns))],
    "reset": lambda turns: turns.sort_values(["seat", "turn"]).reset_index(drop=True),
    "objects": lambda turns: turns.astype(object),
    "floats": lambda turns: turns.astype({name: float for name, (dtype, *_) in COLUMNS.items() if dtype == np.int64}),
}


def settled(table):
    """Numbers and words alone, in an order of their own."""
    plain = table.astype({name: "str" for name in table if table[name].dtype.kind not in "ifb"}).convert_dtypes()
    return plain.sort_values(sorted(plain.columns)).sort_index(axis=1).reset_index(drop=True)


def test_a_metric_does_not_depend_on_what_pandas_has_done():
    for metric in METRICS:
        name, measure = METRICS[metric]
        turns = sample(name)
        wanted = settled(measure(turns))
        assert len(wanted)
        for way, change in WAYS.items():
            pd.testing.assert_frame_equal(settled(measure(change(turns))), wanted, obj=way, check_dtype=False)
