"""Scripted players of MAgIC's games: what they know, what they say, and that they can play against anybody."""

from fractions import Fraction
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from magic_games import (
    BUILT,
    Run,
    any_or_void,
    chameleon,
    cost_sharing,
    family,
    prisoners,
    public_goods,
    saying,
    undercover,
)

from agon import ROOT, AgonError
from agon.agents import seat_dice
from agon.agents.scripts import anything, reference
from agon.conf import load
from agon.games.cost_sharing.game import SIZES, Airline
from agon.games.cost_sharing.scripts import proportional, round_shares, shapley
from agon.games.deduction.scripts import KNOWLEDGE, VAGUE, infer_belief, lexicon

NAMES = ["magic_fair", "magic_selfish", "magic_generous", "anything"]
FAMILIES = {name: list(family(name).values()) for name in BUILT}
known = lexicon(KNOWLEDGE)
shares = st.lists(st.floats(0.01, 100), min_size=2, max_size=6).map(lambda parts: [100 * p / sum(parts) for p in parts])
P = ["Player 1", "Player 2", "Player 3"]


def script(name):
    return load("agent", name)


# --- all games


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(sorted(BUILT)),
    number=st.integers(0, 39),
    players=st.lists(st.sampled_from(NAMES), min_size=3, max_size=3),
    void=st.integers(0, 3),
    seed=st.integers(0, 2**32),
)
def test_everybody_plays_every_game_against_anybody_and_twice_the_same(name, number, players, void, seed):
    game = FAMILIES[name][number % len(FAMILIES[name])]
    scripts = [any_or_void if seat == void else script(each) for seat, each in enumerate(players)]
    assert Run(game, scripts, seed).states == Run(game, scripts, seed).states


def test_anything_is_any_legal_action():
    assert Run(cost_sharing(), anything, 4).states != Run(cost_sharing(), anything, 5).states


# --- clues


def told(view_word, *clues, spy=2, seat=0):
    """What a seat of Chameleon sees at the ballot, after clues by seat."""
    game = chameleon(view_word, spy, interviews=False)
    return game.observe(Run(game, saying(clue=list(clues))).states[3], seat)


def test_the_crowd_gives_clues_that_fit_the_word_and_about_three_words():
    for topic in known.by_name.values():
        for word in topic.words:
            game = chameleon(word, 2, ("x", "y", "z"), topic.topic, interviews=False)
            clue = reference(game.observe(game.start(None), 0), seat_dice(1, 0))
            (fits,) = [clue_.fits for clue_ in topic.clues if clue_.clue == clue]
            assert word in fits and 2 <= len(fits) <= 4


def test_a_clue_is_not_repeated():
    run = Run(undercover("violin", "cello"), reference, 3)
    clues = [clue for _, clue in run.actions("clue")]
    assert len(set(clues)) == 6


def test_the_crowd_votes_for_the_clue_that_does_not_fit():
    view = told("cat", "It purrs", "It has sharp teeth", "It lives on grass")
    assert reference(view, seat_dice(0, 0)) == P[2]


def test_the_crowd_votes_for_the_vaguest_clue_where_all_fit():
    view = told("cat", "It purrs", "It has sharp teeth", "It has two eyes and a heart")
    assert reference(view, seat_dice(0, 0)) == P[2]


def test_silence_is_most_suspicious():
    assert reference(told("cat", "It purrs", None, "It has two eyes and a heart"), seat_dice(0, 0)) == P[1]


def test_the_chameleon_guesses_the_word_that_fits_the_clues():
    view = told("cat", "People keep it", "It eats meat", "It is striped", seat=2)
    assert infer_belief(view, known).words == ["dog", "cat"]
    view = told("cat", "It purrs", "It has sharp teeth", "It eats meat", seat=2)
    assert reference(view._replace(phase="guess"), seat_dice(0, 0)) == "cat"


def test_who_alone_does_not_fit_holds_itself_for_undercover_and_says_so():
    game = undercover("horse", "eagle", spy=0, rounds=1)
    run = Run(game, saying(clue=["It has feathers", "It is striped", "It lives on grass"]))
    identify = next(state for state in run.states if game.observe(state, 0).phase == "identify")
    says = [reference(game.observe(identify, seat), seat_dice(0, 0)) for seat in range(3)]
    assert says == ["Player 1, undercover", "Player 2, civilian", "Player 3, undercover"]  # seat 1 led seat 2 astray


def test_words_that_are_not_on_the_list_get_vague_clues_and_no_error():
    run = Run(chameleon("zebroid", 1, topic="Hybrids"), reference, 1)
    assert {clue for _, clue in run.actions("clue")} <= {*VAGUE}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '[{"topic": "x", "words": ["a", "b", "c"], "pairs": [], "clues": [{"clue": "y", "fits": ["d"]}]}]',
            "has no word d",
        ),
        ("[", "truncated"),
    ],
)
def test_a_bad_list_of_topics_is_refused_in_a_line(text, said, tmp_path):
    (tmp_path / "topics.json").write_text(text)
    with pytest.raises(AgonError, match=said):
        lexicon(str(tmp_path / "topics.json"))
    with pytest.raises(AgonError, match="is not there"):
        lexicon("data/settings/none.json")
    with pytest.raises(AgonError, match="there is no file"):
        lexicon(str(tmp_path))


@pytest.mark.parametrize(
    ("game", "setting"),
    [(public_goods(), "contribution"), (prisoners(), "dilemma"), (cost_sharing(), "standard")],
)
def test_a_word_that_is_no_choice_is_refused_by_its_setting(game, setting):
    view = game.observe(game.start(seat_dice(0, -1)), 0)
    with pytest.raises(ValueError, match=f"^{setting} is 'foo'; it must be "):
        reference(view, seat_dice(0, 0), **{setting: "foo"})


# --- bargaining

small_airports = st.lists(
    st.builds(Airline, st.just("A"), st.integers(1, 2), st.integers(1, 9), st.just(1.0), st.sampled_from(SIZES)),
    min_size=1,
    max_size=3,
)


@settings(max_examples=40, deadline=None)
@given(small_airports)
def test_the_shapley_value_is_the_mean_marginal_cost_over_all_orders(airlines):
    flights = [(owner, SIZES.index(a.aircraft) + 1) for owner, a in enumerate(airlines) for _ in range(a.flights)]
    added = [Fraction(0)] * len(airlines)
    orders = list(permutations(flights))
    for order in orders:
        built = 0
        for owner, size in order:
            added[owner] += max(0, size - built)
            built = max(built, size)
    cost = max(size for _, size in flights)
    assert shapley(airlines) == pytest.approx([float(100 * each / len(orders) / cost) for each in added])


@given(shares)
def test_proposals_are_in_fives_and_sum_to_100(parts):
    made = round_shares(parts)
    assert sum(made) == 100 and all(
        share % 5 == 0 and abs(share - part) < 5 for share, part in zip(made, parts, strict=True)
    )


def test_fair_standards_by_hand():
    airlines = [Airline("A", 10, 100, 1.0, "small"), Airline("B", 10, 300, 1.0, "large")]
    assert proportional(airlines) == (37.5, 62.5)
    assert shapley(airlines) == pytest.approx((100 * 0.5 / 3, 100 * 2.5 / 3))


def test_who_concedes_agrees_and_two_who_do_not_fail():
    assert Run(cost_sharing(), reference).last.outcome == "agree"
    stubborn = script("magic_selfish")
    assert {Run(game, stubborn).last.outcome for game in FAMILIES["cost_sharing"]} >= {"fail"}


def test_a_vote_where_nobody_could_be_read_is_for_oneself():
    run = Run(cost_sharing(), saying(propose=None))
    assert reference(run.game.observe(run.states[3], 1), seat_dice(0, 0)) == P[1]


# --- dilemmas


def test_reciprocators_punish_a_defector_one_round_later():
    run = Run(prisoners(), [script("magic_selfish"), reference, reference])
    assert [tuple(actions.values()) for _, actions, _ in run.steps[:2]] == [
        ("defect", "cooperate", "cooperate"),
        ("defect", "defect", "defect"),
    ]
    assert Run(prisoners(), [script("magic_generous"), reference, reference]).totals == (15, 15, 15)


def test_contributions_are_nothing_everything_or_what_the_others_gave():
    run = Run(public_goods(), [script("magic_selfish"), script("magic_generous"), reference])
    assert run.last.given == ((0, 100, 20), (0, 0, 50), (0, 0, 0), (0, 0, 0), (0, 0, 0))


def test_the_files_of_the_agents_are_in_conf():
    assert all((ROOT / f"conf/agent/{name}.yaml").is_file() for name in NAMES)
