"""MAgIC's abilities against numbers worked out by hand, on games played by the engines."""

from dataclasses import replace

import magic_games
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from magic_games import any_legal, any_or_void, family, saying

from agon import AgonError
from agon.conf import games, settings_of
from agon.games.tables import games_table, seat_table
from agon.metrics.interval import ends, proportion_interval
from agon.metrics.tallies import tallies
from agon.plan import Match, Seat, plan
from agon.play import play, play_now, turns_table
from agon_papers.magic.abilities import ABILITIES, abilities, area, paired

FAMILIES = ["chameleon", "undercover", "cost_sharing", "prisoner3", "public_goods"]
SPIED = {"clues": ("soft", "quick", "small"), "spy": 2}


def turns_of(*matches, repetition=0, name="me"):
    """The turns of matches (game, the challenger's answers, the defenders')."""
    done = []
    for number, (game, own, others) in enumerate(matches):
        seats = tuple(Seat(name, own) if seat in game.tested else Seat("you", others) for seat in range(game.seats))
        match = Match("test", f"{name}{repetition}{number}", number, game, seats, repetition, "config")
        done.append((match, play_now(match)))
    return turns_table(done)


def values(turns, *games):
    """Metric -> value, and -> n."""
    found = abilities(tallies(turns, seat_table(games_table(games)))).set_index("metric")
    return found.value.to_dict(), found.n.to_dict()


def measured(game, own=any_legal, others=any_legal):
    return values(turns_of((game, own, others)), game)


def chameleon(tested, **changes):
    return magic_games.chameleon(tested=tested, **SPIED | changes)


def undercover(tested, **changes):
    return magic_games.undercover(tested=tested, **SPIED | changes)


def cost_sharing(**changes):
    return magic_games.cost_sharing(tested=(0,), **changes)


def against(spy_vote):
    """Ballots of a crowd that finds Player 3, and of the spy."""
    return {"vote": ["Player 3", "Player 3", spy_vote]}


# --- Games of clues


def test_judgement_counts_every_ballot_an_unreadable_one_as_wrong():
    value, n = measured(chameleon((0, 1)), saying(vote=["Player 3", None]))
    assert (value["judgement"], n["judgement"]) == (0.5, 2)


def test_a_role_wins_its_part_of_the_credits():
    ways = [
        (["Player 3"] * 2, "dog", 1.0, 0.0),
        (["Player 3"] * 2, "cat", 0.5, 0.5),
        (["Player 2", "Player 1"], "", 0.0, 1.0),
    ]
    for ballots, guess, crowd, spy in ways:
        spy_says = saying(vote="Player 1" if ballots[0] == "Player 2" else "Player 2", guess=guess)
        assert measured(chameleon((0, 1)), saying(vote=ballots), spy_says)[0]["win_non_chameleon"] == crowd
        assert measured(chameleon((2,)), spy_says, saying(vote=ballots))[0]["win_chameleon"] == spy


def test_credits_of_undercover_are_thirds():
    tie, caught = ["Player 2", "Player 3", "Player 1"], ["Player 3", "Player 3", "Player 1"]
    for ballots, civilian, spy in ((tie, 1 / 3, 2 / 3), (caught, 1.0, 0.0)):
        one = measured(undercover((0, 1)), saying(vote=ballots), saying(vote=ballots))[0]
        other = measured(undercover((2,)), saying(vote=ballots), saying(vote=ballots))[0]
        assert (one["win_civilian"], other["win_undercover"]) == pytest.approx((civilian, spy))


def test_ties_and_right_guesses_are_not_lost_as_a_spy():
    for ballots, guess, kept in ((against("Player 1"), "cat", 1.0), (against("Player 1"), "dog", 0.0)):
        value, n = measured(chameleon((2,)), saying(guess=guess, **ballots), saying(**ballots))
        assert (value["spy_win"], n["spy_win"]) == (kept, 1)


def test_deception_adds_a_quarter_of_the_wrong_guesses():
    crowd, spy = replace(chameleon((0, 1)), variant="1-crowd"), replace(chameleon((2,)), variant="1-chameleon")
    turns = turns_of(
        (crowd, saying(**against("Player 1")), saying(guess="dog", **against("Player 1"))),
        (spy, saying(vote="Player 1"), saying(vote=["Player 2", "Player 1", None])),
    )
    value, n = values(turns, crowd, spy)
    assert (value["spy_win"], value["misled_guess"], value["deception_composite"]) == (1.0, 1.0, 1.25)
    assert (n["spy_win"], n["misled_guess"], n["deception_composite"]) == (1, 1, 2)


def test_without_a_readable_guess_there_is_no_share_of_wrong_ones():
    for guess in [None, "never caught"]:
        ballots = against("Player 1") if guess is None else {"vote": ["Player 2", "Player 1", "Player 1"]}
        value, _ = measured(chameleon((0, 1)), saying(**ballots), saying(guess=guess, **ballots))
        assert "misled_guess" not in value and "deception_composite" not in value


def test_self_awareness_needs_the_name_and_the_role():
    said = ["Player 1, non-chameleon", "Player 1, non-chameleon", "Player 3, chameleon"]
    value, n = measured(chameleon((0, 1)), saying(identify=said))
    assert (value["self_awareness"], n["self_awareness"]) == (0.5, 6)
    value, n = measured(undercover((2,)), saying(identify="Player 3, not sure"))
    assert (value["self_awareness_undercover"], n["self_awareness_undercover"]) == (0.0, 2)


VIEWS = [("Player 3", "nobody", "Player 1"), ("Player 2", "nobody", "Player 1"), ("Player 2", "Player 1", "cat")]
"""What the three say in every interview: of Player 1's view, Player 2's, Player 3's; the chameleon names a word instead of its own."""


def test_the_crowds_reasoning_in_chameleon():
    """Player 1 is right in all: the spy, and Player 2's suspicion of nobody. Player 2 suspects nobody and takes Player 1's view wrong."""
    value, n = measured(chameleon((0, 1)), saying(evaluate=VIEWS), saying(evaluate=VIEWS))
    names = ["gold", "inter_pairwise", "inter_joint", "reasoning"]
    assert [(value[name], n[name]) for name in names] == [(0.5, 6), (0.5, 6), (0.5, 6), (0.5, 12)]
    coded = [f"{name}_published" for name in ("gold", "inter_joint", "reasoning")]
    assert [(value[name], n[name]) for name in coded] == [(0.5, 6), (0.5, 6), (0.5, 12)]


def test_the_chameleon_suspects_player_1_only_as_published():
    """It takes Player 1's view wrong (Player 3, it is) and Player 2's too (nobody)."""
    value, n = measured(chameleon((2,)), saying(evaluate=VIEWS), saying(evaluate=VIEWS))
    assert "gold" not in value and n["gold_published"] == 3 and value["gold_published"] == 0
    assert (value["inter_pairwise"], n["inter_pairwise"]) == (0.0, 6)
    assert (value["inter_joint_published"], n["inter_joint_published"]) == (0.0, 3)
    first = chameleon((0,), spy=0)
    assert measured(first, any_legal, any_legal)[0]["gold_published"] == 1


def test_as_published_nobody_is_player_1():
    views = [("nobody", "Player 1", "Player 1")] * 3
    value, _ = measured(undercover((2,)), any_legal, saying(evaluate=views))
    assert "gold" in value
    value, n = measured(undercover((1, 2), spy=0), saying(evaluate=views), saying(evaluate=views))
    assert (value["gold"], n["gold"]) == (1.0, 4)
    assert (value["inter_joint"], value["inter_joint_published"]) == (1.0, 1.0)
    none = [("nobody",) * 3] * 3
    value, _ = measured(undercover((1, 2), spy=0), saying(evaluate=none), saying(evaluate=none))
    assert (value["gold"], value["gold_published"], value["inter_pairwise"]) == (0.0, 1.0, 1.0)


def test_a_view_that_was_not_said_readably_is_nothing_to_compare_with():
    silent = [VIEWS[0], None, VIEWS[2]]
    value, n = measured(chameleon((0, 1)), saying(evaluate=silent), saying(evaluate=silent))
    assert (value["gold"], n["gold"]) == (0.5, 6)
    assert (value["inter_pairwise"], n["inter_pairwise"]) == (0.0, 3)


# --- Cost sharing

OWN, SECOND = (40, 30, 30), (50, 25, 25)


def bargained(own, votes, proposals=((20, 40, 40), SECOND, (60, 20, 20))):
    """One round of proposals, the challenger's at seat 0 live and the others' the setting's, then votes."""
    game = cost_sharing(proposals=proposals, rounds=1)
    return measured(game, saying(propose=own, vote=votes), saying(vote=votes))


def test_an_agreement_on_the_own_proposal_is_coordination():
    value, n = bargained(OWN, "Player 1")
    assert value["cooperation"] == value["win_cost_sharing"] == value["coordination_of_agreements"] == 1
    assert (value["coordination_of_games"], value["cost"], n["cost"]) == (1, 40, 1)


def test_coordination_is_agreement_on_the_same_numbers():
    assert bargained((50.0, 25.0, 25.0), "Player 2")[0]["coordination_of_games"] == 1
    value, _ = bargained(OWN, "Player 2")
    assert (value["cooperation"], value["coordination_of_agreements"], value["cost"]) == (1, 0, 50)


def test_without_an_agreement_there_is_no_cost_and_no_share_of_agreements():
    value, n = bargained(OWN, ["Player 1", "Player 2", "Player 3"])
    assert "cost" not in value and "coordination_of_agreements" not in value
    assert (value["coordination_of_games"], n["coordination_of_games"], value["cooperation"]) == (0, 1, 0)


def test_an_unreadable_proposal_coordinates_nothing():
    assert bargained(None, "Player 2")[0]["coordination_of_games"] == 0


def test_only_the_last_round_counts():
    game = cost_sharing(rounds=2)
    shares = {1: [OWN, None, None], 2: [(10, 45, 45), (30, 35, 35), (10, 45, 45)]}

    def answer(view, dice):
        if view.phase == "propose":
            return shares[view.round][view.seat]
        return "Player 3" if view.round == 2 else f"Player {view.seat + 1}"

    value, _ = measured(game, answer, answer)
    assert (value["coordination_of_games"], value["cost"]) == (1, 10)


# --- The dilemmas


def prisoner(own, others):
    return measured(magic_games.prisoners(tested=(1,)), saying(move=own), saying(move=others))


def test_defecting_is_rational_and_what_cannot_be_read_is_not():
    value, n = prisoner("defect", "cooperate")
    assert (value["rationality"], n["rationality"], value["win_prisoner3"], value["score"]) == (1, 5, 1, 25)
    value, _ = prisoner(None, "cooperate")
    assert (value["rationality"], value["valid"], value["win_prisoner3"]) == (0, 0, 1)
    assert prisoner("cooperate", "defect")[0]["win_prisoner3"] == 0


def contributed(own, others):
    """The challenger at seat 0 gives `own`, round by round; the others give `others`."""
    game = magic_games.public_goods(3, tested=(0,))
    return measured(game, lambda view, dice: own[view.round - 1], saying(contribute=others))


def test_the_least_contribution_is_rational_and_ties_are():
    value, n = contributed([5, 0, 9, 5, 5], [5, 5, 5])
    assert (value["rationality_public_goods"], n["rationality_public_goods"]) == (0.8, 5)
    assert value["payback"] == 3 * (24 + 50) / 3


def test_an_unreadable_contribution_gives_nothing_and_is_not_rational():
    assert contributed([None] * 5, 5)[0]["rationality"] == 0
    assert contributed([1] * 5, [0, None, 5])[0]["rationality"] == 0


def test_what_is_more_than_was_left_did_not_go_into_the_pool():
    value, _ = contributed([90, 90, 90, 90, 90], 5)
    assert (value["rationality"], value["payback"], value["win_public_goods"]) == (0.6, 150, 0)


@settings(max_examples=15, deadline=None)
@given(st.sampled_from(["prisoner3", "public_goods"]), st.sampled_from([any_legal, any_or_void]), st.integers(0, 20))
def test_defection_and_no_contribution_win_and_are_rational(name, defenders, number):
    """Acceptance 8 of the specification."""
    game = list(family(name).values())[number]
    value, _ = measured(game, saying(move="defect", contribute=0), defenders)
    assert value["rationality"] == 1 and value[f"win_{name}"] == 1


def test_so_it_does_in_all_settings_of_both_games():
    every = [game for name in ("prisoner3", "public_goods") for game in family(name).values()]
    turns = turns_of(*[(game, saying(move="defect", contribute=0), any_or_void) for game in every])
    value, n = values(turns, *every)
    assert (value["rationality"], value["win_prisoner3"], value["win_public_goods"]) == (1, 1, 1)
    assert (n["rationality"], n["win_prisoner3"], n["win_public_goods"]) == (210, 21, 21)


# --- Whole runs


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """All 143 games of one challenger, and the seats."""
    experiment = settings_of("experiment", "magic_scripted") | {"repetitions": 1}
    experiment["challenges"][0]["challengers"] = ["magic_fair"]
    return play(plan(experiment), tmp_path_factory.mktemp("journal")), seat_table(games_table(games(FAMILIES)))


def test_denominators_of_a_whole_run(run):
    """Section 5 of the specification."""
    found = abilities(tallies(*run))
    n = found.set_index("metric").n
    wanted = {
        "judgement": 80,
        "spy_win": 40,
        "self_awareness": 300,
        "gold": 240,
        "inter_pairwise": 480,
        "inter_joint": 300,
    }
    wanted |= {"gold_published": 300, "inter_joint_published": 300, "reasoning": 720, "reasoning_published": 600}
    wanted |= {
        "self_awareness_chameleon": 180,
        "self_awareness_undercover": 120,
        "cooperation": 21,
        "score": 21,
        "payback": 21,
    }
    wanted |= {"coordination_of_games": 21, "rationality": 210, "win_rate": 143, "area": 143}
    wanted |= {"win_chameleon": 20, "win_non_chameleon": 20, "win_undercover": 20, "win_civilian": 20}
    wanted |= {"win_cost_sharing": 21, "win_prisoner3": 21, "win_public_goods": 21}
    assert {name: n[name] for name in wanted} == wanted
    assert (found.low <= found.value + 1e-9).all() and (found.value <= found.high + 1e-9).all()


def test_the_win_rate_is_the_plain_mean_of_seven_roles(run):
    value = abilities(tallies(*run)).set_index("metric").value
    roles = [name for name in value.index if name.startswith("win_") and name != "win_rate"]
    assert len(roles) == 7 and value["win_rate"] == pytest.approx(value[roles].mean())
    assert value["area"] == pytest.approx(area([100 * value[metric] for metric in ABILITIES.values()]))


def test_an_incomplete_run_is_refused_by_the_name_of_what_is_missing(run):
    turns, seats = run
    with pytest.raises(
        AgonError, match=r"magic_fair against magic_fair: 1 of 143 games are not there: undercover/07-civilians \(rep"
    ):
        tallies(turns[~((turns.game == "undercover") & (turns.variant == "07-civilians"))], seats)
    with pytest.raises(AgonError, match=r"21 of 143 games are not there: public_goods/01 .* and 18 more"):
        tallies(turns[turns.game != "public_goods"], seats)


def test_games_and_matches_that_are_not_of_the_run_are_refused(run):
    turns, seats = run
    with pytest.raises(AgonError, match=r"the seats of chameleon .* are not known"):
        tallies(turns, seats[seats.game != "chameleon"])
    with pytest.raises(AgonError, match="nobody is under test"):
        tallies(turns, seats.assign(tested=False))
    again = turns.assign(match=turns.match.astype(str) + "b")
    with pytest.raises(AgonError, match="143 of 143 games are there twice"):
        tallies(pd.concat([turns.assign(match=turns.match.astype(str)), again]), seats)


def test_without_interviews_only_their_metrics_are_absent():
    made = [
        ("chameleon", {"interviews": False}),
        ("undercover", {"interviews": False}),
        *((name, {}) for name in FAMILIES[2:]),
    ]
    every = [game for name, changes in made for game in family(name, **changes).values()]
    value, _ = values(turns_of(*[(game, any_legal, any_legal) for game in every]), *every)
    assert not {"self_awareness", "gold", "reasoning", "inter_joint", "area"} & set(value)
    assert {"win_rate", "judgement", "rationality"} <= set(value)


def test_the_order_of_rows_does_not_matter(run):
    turns, seats = run
    assert tallies(turns.sample(frac=1, random_state=1), seats).equals(tallies(turns, seats))


def test_seven_hundreds_span_27364():
    assert round(area([100] * 7)) == 27_364


# --- Intervals and tests


def counted(hits, n, challenger="a", metric="judgement"):
    """Tallies of one metric, setting by setting."""
    rows = {
        "challenger": challenger,
        "defender": "d",
        "game": "g",
        "setting": [f"{number:02}" for number in range(len(hits))],
    }
    return pd.DataFrame(rows | {"metric": metric, "hits": hits, "n": n}).astype({"hits": float})


def test_decisions_of_a_setting_stay_together():
    """Where a setting decides all, ten settings of four ballots are worth ten ballots; where settings differ little, more."""
    apart, near = (abilities(counted(hits, 4)).iloc[0] for hits in ([4, 0] * 5, [2, 2, 2, 1, 3] * 2))
    assert (apart.value, apart.n) == (near.value, near.n) == (0.5, 40)
    assert [apart.low, apart.high] == pytest.approx([*proportion_interval(5, 10)])
    assert proportion_interval(5, 10)[0] < near.low < proportion_interval(20, 40)[0] + 0.1 and near.high < apart.high


def test_a_metric_made_of_others_has_an_interval_of_its_own():
    """The composite adds a quarter of the wrong guesses: two settings, by hand."""
    table = pd.concat([counted([1.0, 0.0], 1, metric="spy_win"), counted([1.0, 0.0], 2, metric="misled_guess")])
    row = abilities(table).set_index("metric").loc["deception_composite"]
    error = abs(1.125 - 0) / 2  # one setting alone or the other: 1 + 1 / 8, or 0
    wanted = ends(row.value, error, 1, 2, limits=(0, 1.25))
    assert row.value == 0.5 + 0.25 / 4 and [row.low, row.high] == pytest.approx([*wanted])


def test_one_setting_has_no_interval():
    assert abilities(counted([3], 4))[["low", "high"]].isna().all(axis=None)


def test_pairs_by_hand():
    """Four settings of two ballots; the sum of differences, 4, is reached by 2 of the 8 choices of signs of (2, 1, 1)."""
    table = pd.concat([counted([2, 2, 1, 1], 2), counted([0, 1, 0, 1], 2, "b")])
    row = paired(table, "a", "b").iloc[0]
    assert (row.ability, row.one, row.other, row.difference) == ("judgement", 0.75, 0.25, 0.5)
    assert (row.settings, row.differing, row.p, row.holm) == (4, 3, 0.25, 0.25)


def test_pairs_of_unequal_sizes_compare_rates():
    table = pd.concat([counted([1, 1, 1], [2, 2, 2]), counted([2, 2, 2], [4, 4, 4], "b")])
    assert paired(table, "a", "b").p.tolist() == [1.0]


def test_what_one_of_a_pair_does_not_have_is_not_compared():
    table = pd.concat([counted([1], 2), counted([1], 2, "b", "spy_win")])
    assert paired(table, "a", "b").empty
    with pytest.raises(AgonError, match="c has played against 0 defenders"):
        paired(table, "a", "c")


# --- What was done in a player's stead


@pytest.mark.parametrize("name", FAMILIES)
@given(seed=st.integers(0, 99), picked=st.sets(st.integers(0, 200), min_size=1, max_size=4), paid=st.integers(0, 9))
@settings(max_examples=6)
def test_nothing_counts_that_stood_in_for_an_answer(name, seed, picked, paid):
    """Another action in its place, and other payoffs of that match, change no number but that of such answers."""
    game = list(family(name).values())[seed % 4]
    played = [turns_of((game, any_legal, any_legal), repetition=repetition) for repetition in (0, 1)]
    turns = pd.concat(played, ignore_index=True)
    asked = turns.index[(turns.match == turns.match.iloc[-1]) & turns.legal.notna()]
    rows = sorted({asked[each % len(asked)] for each in picked})
    fallback = pd.Series("", index=turns.index).mask(turns.index.isin(rows), "random_legal: no move in it")
    one = turns.assign(fallback=fallback.astype("category"))
    other = one.astype({"action": object})
    for row in rows:
        alike = turns.action[turns.legal.eq(turns.legal[row])].dropna()
        other.loc[row, "action"] = alike.iloc[(seed + row) % len(alike)]
    other.loc[rows, "payoff"] += paid
    tables = [tallies(each.astype({"action": "category"}), seat_table(games_table([game]))) for each in (one, other)]
    pd.testing.assert_frame_equal(*tables)
    assert tables[0].set_index("metric").hits["replaced"] == (turns.seat[rows].isin(game.tested)).sum()


def test_games_without_such_answers_are_counted_as_ever():
    game = magic_games.prisoners(tested=(0,))
    clean = turns_of((game, any_legal, any_legal))
    assert "replaced" not in values(clean, game)[0] and values(clean, game)[1]["win_prisoner3"] == 1
