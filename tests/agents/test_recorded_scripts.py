"""The scripted opponents of the counterfactual paper's 9,492 recorded matches, move for move."""

import pytest

from agon import ROOT
from agon.conf import games, load
from agon.games import Observation
from agon.games.equilibria import symmetric_equilibrium
from agon.games.matrix.scripts import best_reply_to_last, best_reply_to_most_frequent, cycle

pd = pytest.importorskip("pandas")

FACTS = ROOT / "data/published/counterfactual"
pytestmark = pytest.mark.skipif(
    not (FACTS / "rounds.parquet").exists(), reason="no recorded games: `dvc pull data.dvc`"
)

VARIANTS = {
    **{"pd": "default", "sh-alt": "label", "pd-alt": "payoff", "sh": "joint"},
    **{"eq1": "default", "eq1-alt": "label", "ba3": "payoff", "ba3-alt": "joint"},
}
GAMES = {
    (game.name, game.variant): game
    for game in games()
    if game.name in ("pd", "rps") and game.variant in VARIANTS.values()
}


@pytest.fixture(scope="module")
def recorded():
    """Opponent's name -> [(game, [(script's own action, the player's action), ...]), ...]."""
    facts = pd.read_parquet(FACTS / "matches.parquet").set_index("match")
    rounds = pd.read_parquet(FACTS / "rounds.parquet", columns=["match", "round", "action", "opponent_action"])
    rounds = rounds[rounds.match.map(facts.opponent).isin(["pp", "mf", "ap", "tft", "srep"])]
    rounds = rounds.astype(object).where(rounds.notna(), None).sort_values(["match", "round"])
    found = {}
    for match, group in rounds.groupby("match", sort=True):
        fact = facts.loc[match]
        past = list(zip(group.opponent_action, group.action, strict=True))
        found.setdefault(fact.opponent, []).append((GAMES[fact.game, VARIANTS[fact.source_variant]], past))
    return found


class Thrown(Exception):
    """Dice were thrown: what follows is chance."""


class NoDice:
    """Dice that nobody may throw."""

    def random(self, *_):
        raise Thrown

    choice = random


def differences(script, matches):
    """(moves that chance did not decide, those of them that the script would have made otherwise)."""
    checked, other = 0, []
    for game, past in matches:
        for number, (own, _) in enumerate(past):
            view = Observation(1, number + 1, game.legal_actions((), 1), tuple(past[:number]), game)
            try:
                answer = script.func(view, NoDice(), **script.keywords)
            except Thrown:
                continue
            if own is not None:
                checked += 1
                other += [(game.variant, number, own, answer)] if answer != own else []
    return checked, other


@pytest.mark.parametrize(
    ("name", "function", "matches", "least"),
    [
        ("pp", cycle, 1344, 26_000),
        ("mf", best_reply_to_most_frequent, 672, 10_000),
        ("ap", best_reply_to_most_frequent, 672, 15_000),
        ("tft", best_reply_to_last, 1344, 25_000),
    ],
)
def test_every_recorded_move_that_chance_did_not_decide_is_ours(recorded, name, function, matches, least):
    script = load("agent", name)
    checked, other = differences(script, recorded[name])
    assert script.func is function and len(recorded[name]) == matches
    assert checked >= least and other == []


@pytest.mark.parametrize("key", GAMES, ids=" ".join)
def test_srep_plays_the_equilibrium_of_its_variant(recorded, key):
    made = [own for game, past in recorded["srep"] if game is GAMES[key] for own, _ in past if own is not None]
    assert len(made) > 2000
    for option, share in zip(GAMES[key].options, symmetric_equilibrium(GAMES[key]), strict=True):
        assert made.count(option) / len(made) == pytest.approx(share, abs=4 * (share * (1 - share) / len(made)) ** 0.5)
