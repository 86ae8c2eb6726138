"""Chameleon by hand and by property: clues, the ballot, the guess, interviews, and who may know what."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from magic_games import Run, any_legal, any_or_void, chameleon, family, known, saying, seen
from refusals import unrefused

from agon.agents import seat_dice
from agon.games import IllegalAction
from agon.games.chameleon.game import CREDITS
from agon.games.deduction.game import most_voted

P = ["Player 1", "Player 2", "Player 3"]
seeds = st.integers(0, 2**32)
words = st.sampled_from(["cat", "dog", "house", "sky blue"])


def voted(ballots, **changes):
    """A match with these ballots, by seat; the chameleon, at seat 2, guesses wrong."""
    return Run(chameleon(**changes), saying(vote=list(ballots), guess="nothing"))


# --- the ballot


def test_how_many_of_the_crowd_are_right_decides():
    for ballots in product(P[1:], [P[0], P[2]], P[:2]):
        right = sum(ballot == P[2] for ballot in ballots[:2])
        outcome = voted(ballots).last.outcome
        assert outcome in {2: ["caught"], 1: ["even", "escaped"], 0: ["escaped"]}[right], ballots


def test_a_sole_leader_is_accused_and_abstentions_are_no_votes():
    assert most_voted(["a", "a", "b"]) == "a" and most_voted([None, None, "b"]) == "b"
    for ballots in (["a", "b", "c"], [None, None, None], [None, "a", "b"], ["a", "a", "b", "b"]):
        assert most_voted(ballots) is None, ballots


def test_nobody_may_vote_for_itself():
    with pytest.raises(IllegalAction, match="seat 1 may not play 'Player 2'"):
        voted([P[1], P[1], P[1]])


def test_the_released_code_counts_a_vote_for_oneself():
    run = Run(chameleon(semantics="published"), saying(vote=[P[0], P[0], P[0]]))
    assert run.last.outcome == "escaped"


def test_ballots_and_guess_pay_what_the_paper_says():
    assert voted([P[2], P[2], P[0]]).totals == (2, 2, 0)
    assert voted([P[1], P[0], P[0]]).totals == (0, 0, 2)
    assert voted([P[1], P[2], P[0]]).totals == (1, 1, 1)
    assert Run(chameleon(), saying(vote=[P[2], P[2], P[0]], guess="CAT")).totals == (1, 1, 1)


# --- the guess


def test_a_guess_is_right_by_its_letters_and_digits():
    def result(guess):
        run = Run(chameleon("sky blue"), saying(vote=[P[2], P[2], P[0]], guess=guess))
        return run.last.outcome, run.totals[2]

    assert result("Sky Blue") == result(' "skyblue". ') == ("guessed", 1)
    wrong = ("sky", "the sky blue", "sky blues", None, "...")
    assert {guess: result(guess) for guess in wrong} == dict.fromkeys(wrong, ("caught", 0))


def test_an_accent_may_be_written_in_two_ways():
    run = Run(chameleon("caf\u00e9"), saying(clue="a Cafe\u0301!", vote=[P[2], P[2], P[0]], guess="cafe\u0301"))
    assert run.last.outcome == "guessed" and {state.notes for state in run.states if state.notes} == {
        ((seat, "leak", True),) for seat in range(3)
    }


@settings(max_examples=60, deadline=None)
@given(seed=seeds, spy=st.integers(0, 2), interviews=st.booleans())
def test_a_caught_chameleon_guesses_once_and_nobody_else_ever(seed, spy, interviews):
    run = Run(chameleon(spy=spy, interviews=interviews), any_or_void, seed)
    accused = [event.value for event in run.last.seen[0] if event.phase == "accused"]
    assert run.asked("guess") == run.asked("guess", spy) == (accused == [P[spy]])


@settings(max_examples=100, deadline=None)
@given(seed=seeds, clues=st.integers(3, 6), published=st.booleans())
def test_every_match_has_one_outcome_and_its_credits_sum_to_2(seed, clues, published):
    semantics = "published" if published else "strict"
    game = chameleon(spy=seed % clues, clues=[f"clue {n}" for n in range(clues)], semantics=semantics)
    run = Run(game, any_or_void, seed)
    spy, crowd = CREDITS[run.last.outcome]
    assert run.totals == tuple(spy if seat == game.spy else crowd for seat in range(clues)) and spy + crowd == 2
    assert all(not any(payoffs) for _, _, payoffs in run.steps[:-1])


def test_every_outcome_occurs():
    assert {
        Run(chameleon(), saying(guess=guess), seed).last.outcome for guess in ("cat", "?") for seed in range(30)
    } == {*CREDITS}


# --- who is asked how often


def test_calls_of_a_match_are_those_of_the_paper():
    run = voted([P[2], P[2], P[0]])
    assert [run.asked(phase) for phase in ("clue", "identify", "evaluate", "vote", "guess")] == [3, 9, 9, 3, 1]


def test_each_seat_is_interviewed_three_times_of_each_kind():
    run = Run(chameleon())
    assert {run.asked(phase, seat) for phase in ("identify", "evaluate") for seat in range(3)} == {3}


def test_without_interviews_there_are_clues_ballots_and_the_guess():
    run = voted([P[2], P[2], P[0]], interviews=False)
    assert [next(iter(views.values())).phase for views, _, _ in run.steps] == ["clue"] * 3 + ["vote", "guess"]


def test_defenders_before_the_challenger_say_their_scripted_clues():
    clues = ("soft", "quick", "small")
    for spy, tested, live in [
        (2, [2], [2]),
        (2, [0, 1], [0, 1, 2]),
        (0, [0], [0, 1, 2]),
        (0, [1, 2], [1, 2]),
        (1, [1], [1, 2]),
        (1, [], [0, 1, 2]),
    ]:
        run = Run(chameleon(spy=spy, tested=tested), saying(clue="live"))
        assert [seat for seat, _ in run.actions("clue")] == live
        scripted = {seat: clue for _, seat, clue in run.last.seen[0] if seat is not None and clue in clues}
        assert scripted == {seat: clues[seat] for seat in range(3) if seat not in live}


def test_twenty_settings_are_forty_games_with_the_papers_counts():
    games = family("chameleon")
    assert len(games) == 40 and len({game.topic for game in games.values()}) == 20
    crowd = [game for variant, game in games.items() if variant.endswith("crowd")]
    assert sum(len(game.tested) for game in crowd) == 40  # ballots of the player under test
    asked = [Run(game).asked("identify", seat) for game in games.values() for seat in game.tested]
    assert sum(asked) == 60 + 120


# --- who may know what


@settings(max_examples=40, deadline=None)
@given(one=words, other=words, seed=seeds)
def test_the_chameleon_never_sees_the_word(one, other, seed):
    runs = [Run(chameleon(word, 1), saying(guess="?"), seed) for word in (one, other)]
    assert all(
        seen(runs[0].game.observe(a, 1)) == seen(runs[1].game.observe(b, 1))
        for a, b in zip(runs[0].states, runs[1].states, strict=True)
    )


@settings(max_examples=40, deadline=None)
@given(seed=seeds)
def test_the_crowd_does_not_see_who_the_chameleon_is(seed):
    runs = [Run(chameleon(spy=spy, interviews=False), saying(vote=[P[1], P[0], P[0]]), seed) for spy in (1, 2)]
    before = [run.states[:4] for run in runs]
    views = [[seen(run.game.observe(state, 0)) for state in states] for run, states in zip(runs, before, strict=True)]
    assert views[0] == views[1]


@settings(max_examples=40, deadline=None)
@given(seed=seeds, other=seeds)
def test_nobody_sees_anothers_interviews(seed, other):
    """The same clues and ballots, and interviews by different dice."""

    def interviewed(dice):
        def answer(view, own):
            return (
                any_legal(view, seat_dice(dice, view.seat))
                if view.phase in ("identify", "evaluate")
                else fixed(view, own)
            )

        return Run(chameleon(), answer).states

    fixed = saying(clue=["a", "b", "c"], vote=[P[1], P[2], P[1]])
    for one, two in zip(interviewed(seed), interviewed(other), strict=True):
        assert [seen(view) for view in known(chameleon(), one)] == [seen(view) for view in known(chameleon(), two)]


def test_a_ballot_is_known_to_its_voter_alone():
    one, other = voted([P[1], P[2], P[1]]), voted([P[1], P[0], P[1]])  # the same is accused
    assert seen(one.game.observe(one.last, 0)) == seen(other.game.observe(other.last, 0))
    assert seen(one.game.observe(one.last, 2)) == seen(other.game.observe(other.last, 2))
    assert seen(one.game.observe(one.last, 1)) != seen(other.game.observe(other.last, 1))


def test_scripted_clues_and_who_is_under_test_are_not_known_beforehand():
    def start(**changes):
        game = chameleon(spy=0, **{"clues": ("soft", "quick", "small"), "tested": [1, 2]} | changes)
        return [seen(view) for view in known(game, game.start(None))]

    assert start() == start(clues=("soft", "deep", "tall")) == start(tested=[2]) == start(tested=[0, 1])


def test_clues_are_heard_by_all_and_an_unreadable_one_as_none():
    run = Run(chameleon(interviews=False), saying(clue=["tail", None, "paws"]))
    heard = [[event.value for event in past if event.phase == "clue"] for past in run.last.seen[:-1]]
    assert heard == [["tail", None, "paws"]] * 3


# --- the rest


def test_the_word_in_a_clue_is_noted_and_changes_nothing():
    run = Run(chameleon(interviews=False), saying(clue=["My CAT!", "category", None], vote=[P[1], P[0], P[0]]))
    assert [state.notes for state in run.states[1:4]] == [((0, "leak", True),), (), ()]
    assert run.totals == (0, 0, 2)


@settings(max_examples=30, deadline=None)
@given(seed=seeds)
def test_the_same_answers_lead_to_the_same_states(seed):
    assert Run(chameleon(), any_or_void, seed).states == Run(chameleon(), any_or_void, seed).states


def test_only_who_is_asked_acts_and_legally():
    game = chameleon(interviews=False)
    start = game.start(seat_dice(0, 0))
    illegal = [{}, {0: "x", 1: "y"}, {1: "x"}, {0: ""}, {0: 3}, {0: "x" * 501}]
    cases = [({"actions": actions}, "") for actions in illegal]
    assert unrefused(lambda actions: game.step(start, actions), cases, IllegalAction) == []


def test_nobody_acts_after_the_end():
    run = Run(chameleon())
    with pytest.raises(IllegalAction, match=r"to move: \[\]"):
        run.game.step(run.last, {0: "x"})


def test_a_game_that_cannot_be_says_why():
    cases = [
        ({"spy": 3}, "there is no seat 3: seats are 0 to 2"),
        ({"spy": [0, 2]}, r"there is no seat \[0, 2\]"),
        ({"tested": [5]}, "there is no seat 5"),
        ({"clues": ("soft", "a cat", "small")}, "the clue of seat 1 holds the word 'cat'"),
        ({"clues": ("soft", "Soft!", "small")}, "must be different"),
        ({"clues": ("soft", " ", "small")}, "must be different, and not empty"),
        ({"clues": ("soft", "quick")}, "there are 2 clues"),
        ({"semantics": "paper"}, "it must be strict or published"),
        ({"word": " "}, "needs a topic and a word"),
        ({"word": "?!"}, "needs a topic and a word"),
        ({"topic": "Cat people", "word": "cat"}, "the topic, which all know, holds the word 'cat'"),
        ({"word": "ice cream", "clues": ("soft", "an Ice-cream", "small")}, "the clue of seat 1 holds the word"),
        ({"clues": ("soft", "quick " * 99, "small")}, "the clue of seat 1 is longer than 500"),
        ({"clues": ("soft", "quick\nPlayer 3: small", "small")}, "the clue of seat 1 is not one line of visible text"),
        ({"rounds": 0}, "rounds is 0; it must be a whole number, 1 at least"),
        ({"rounds": 1.5}, "rounds is 1.5"),
        ({"length": 0}, "length is 0"),
    ]
    assert unrefused(chameleon, cases) == []
