"""Undercover by hand and by property: two words, two rounds, one ballot, and nobody who knows its role."""

from hypothesis import given, settings
from hypothesis import strategies as st
from magic_games import Run, any_or_void, family, known, saying, seen, undercover
from refusals import unrefused

from agon.agents import seat_dice
from agon.games.undercover.game import CREDITS

P = ["Player 1", "Player 2", "Player 3"]
seeds = st.integers(0, 2**32)


def test_ballots_pay_what_the_paper_says():
    assert Run(undercover(), saying(vote=[P[1], P[0], P[0]])).totals == (0, 3, 3)
    assert Run(undercover(), saying(vote=[P[1], P[2], P[1]])).totals == (3, 0, 0)
    assert Run(undercover(), saying(vote=[P[1], P[2], P[0]])).totals == (2, 1, 1)
    assert Run(undercover(), saying(vote=None)).totals == (2, 1, 1)


@settings(max_examples=100, deadline=None)
@given(seed=seeds, seats=st.integers(3, 6))
def test_every_match_has_one_outcome_and_its_credits_sum_to_3(seed, seats):
    game = undercover(spy=seed % seats, clues=[f"clue {n}" for n in range(seats)])
    run = Run(game, any_or_void, seed)
    spy, crowd = CREDITS[run.last.outcome]
    assert run.totals == tuple(spy if seat == game.spy else crowd for seat in range(seats)) and spy + crowd == 3


def test_every_outcome_occurs():
    assert {Run(undercover(), seed=seed).last.outcome for seed in range(30)} == {*CREDITS}


def test_calls_of_a_match_are_those_of_the_paper():
    run = Run(undercover())
    assert [run.asked(phase) for phase in ("clue", "identify", "evaluate", "vote", "guess")] == [6, 6, 6, 3, 0]
    assert {run.asked(phase, seat) for phase in ("identify", "evaluate") for seat in range(3)} == {2}


def test_rounds_and_phases_come_in_their_order():
    steps = [
        (view.round, view.phase, *views) for views, _, _ in Run(undercover()).steps for view in [*views.values()][:1]
    ]
    once = [("clue", 0), ("clue", 1), ("clue", 2), ("identify", 0, 1, 2), ("evaluate", 0, 1, 2)]
    assert steps == [(n, *step) for n in (1, 2) for step in once] + [(2, "vote", 0, 1, 2)]


def test_scripted_clues_are_of_the_first_round_before_the_challenger():
    def speakers(spy, tested):
        run = Run(undercover(spy=spy, tested=tested), saying(clue="live"))
        return [seat for seat, _ in run.actions("clue")]

    assert speakers(0, [1, 2]) == [1, 2, 0, 1, 2]
    assert speakers(2, [2]) == [2, 0, 1, 2]
    assert speakers(0, [0]) == speakers(1, [0, 2]) == [0, 1, 2] * 2


def test_twenty_settings_are_forty_games_with_the_papers_counts():
    games = family("undercover")
    assert len(games) == 40
    assert sum(Run(game).asked("identify", seat) for game in games.values() for seat in game.tested) == 40 + 80
    assert sum(len(game.tested) for variant, game in games.items() if variant.endswith("civilians")) == 40


@settings(max_examples=30, deadline=None)
@given(seed=seeds)
def test_nobody_sees_a_role_or_the_others_word(seed):
    """Who has "cat" sees the same whether it is the crowd's word or the spy's."""
    run = saying(vote=[P[1], P[2], P[1]])
    crowd = Run(undercover("cat", "dog", spy=0), run, seed)
    spy = Run(undercover("dog", "cat", spy=1), run, seed)
    for one, other in zip(crowd.states, spy.states, strict=True):
        view = crowd.game.observe(one, 1)
        assert view.role == "" and (one.outcome or seen(view) == seen(spy.game.observe(other, 1)))


@settings(max_examples=30, deadline=None)
@given(seed=seeds, other=seeds)
def test_nobody_sees_anothers_interviews(seed, other):
    def interviewed(dice):
        def answer(view, own):
            if view.phase in ("identify", "evaluate"):
                return view.legal.example(seat_dice(dice, view.seat))
            return saying(clue=["a", "b", "c"], vote=[P[1], P[2], P[1]])(view, own)

        return Run(undercover(), answer).states

    for one, two in zip(interviewed(seed), interviewed(other), strict=True):
        assert [seen(view) for view in known(undercover(), one)] == [seen(view) for view in known(undercover(), two)]


def test_the_own_word_in_a_clue_is_noted():
    run = Run(undercover(interviews=False), saying(clue=["cats and a dog", "a dog", "cat"]))
    assert [state.notes for state in run.states[1:4]] == [((0, "leak", True),), (), ((2, "leak", True),)]


@settings(max_examples=30, deadline=None)
@given(seed=seeds)
def test_the_same_answers_lead_to_the_same_states(seed):
    assert Run(undercover(), any_or_void, seed).states == Run(undercover(), any_or_void, seed).states


def test_a_game_that_cannot_be_says_why():
    cases = [
        ({"spy_word": "Cat"}, "needs two words"),
        ({"spy_word": ""}, "needs two words"),
        ({"spy_word": " c-at"}, "needs two words"),
        ({"rounds": -1}, "rounds is -1"),
        ({"clues": ("soft", "like a dog", "small")}, "the clue of seat 1 holds the word 'dog'"),
        ({"spy": -1}, "there is no seat -1"),
    ]
    assert unrefused(undercover, cases) == []
