"""What is public: `watch` shows what anybody may see, and nothing that only some were told."""

from random import Random

from harness import WITHOUT_LOGS

from agon.conf import expand_settings, load, names
from agon.games.base import PUBLIC
from agon.games.chameleon.game import Chameleon
from agon.games.tradecraft import Call, TradeCraft
from agon.games.tradecraft.rulesets import ruleset
from agon.games.undercover.game import Undercover

GAMES = [expand_settings([name])[0] for name in names("game") if name not in WITHOUT_LOGS]


def states(game, answer):
    """All states of a match, with the actions that led to each; `answer(state, seat)`."""
    state = game.start(Random(1))
    yield state, {}
    while asked := game.to_move(state):
        actions = {seat: answer(state, seat) for seat in asked}
        state, _ = game.step(state, actions)
        yield state, actions


def public(game, answer):
    return [repr(game.watch(state)._replace(rules=None)) for state, _ in states(game, answer)]


def test_the_public_has_no_seat_and_may_answer_nothing():
    assert len(GAMES) > 10
    for name in GAMES:
        game, dice, length = load("game", name), Random(name), 0
        for state, _ in states(
            game, lambda state, seat, game=game, dice=dice: game.legal_actions(state, seat).example(dice)
        ):
            view = game.watch(state)
            assert (view.seat, view.legal, view.role) == (PUBLIC, None, ""), name
            assert len(view.past) >= length, name
            length = len(view.past)


def saying(game, state, seat, texts):
    """A clue for a clue, the next player for a ballot, anything else as it comes."""
    phase = game.observe(state, seat).phase
    if phase == "clue":
        return texts[seat]
    return game.players[(seat + 1) % 3] if phase == "vote" else game.legal_actions(state, seat).example(Random(seat))


def test_in_chameleon_it_hears_topic_clues_and_who_was_accused():
    def match(**changes):
        facts = {"word": "cat", "spy": 0, "clues": ("soft", "quick", "small"), "topic": "Animals"} | changes
        return Chameleon("chameleon", "x", **facts)

    game = match()
    *_, last = public(game, lambda state, seat: saying(game, state, seat, ("deep", "tall", "wide")))
    for shown in ("Animals", "deep", "tall", "wide", "accused"):
        assert shown in last
    for hidden in ("'cat'", "'role'", "'word'", "phase='vote', seat", "chameleon'"):
        assert hidden not in last
    for other in (match(word="dog"), match(spy=2)):
        assert (
            public(other, lambda state, seat, other=other: saying(other, state, seat, ("deep", "tall", "wide")))[:4]
            == public(game, lambda state, seat: saying(game, state, seat, ("deep", "tall", "wide")))[:4]
        )


def test_in_undercover_it_hears_clues_and_who_was_accused():
    one, other = (
        Undercover("undercover", "x", word, 1, ("a1", "b2", "c3"), spy_word=spy)
        for word, spy in (("tea", "milk"), ("sun", "moon"))
    )
    shown = [
        public(game, lambda state, seat, game=game: saying(game, state, seat, ("deep", "tall", "wide")))
        for game in (one, other)
    ]
    assert shown[0] == shown[1]
    assert "deep" in shown[0][-1] and "phase='vote', seat" not in shown[0][-1]


def trading(targets, message, decision):
    """A match of two in which the first offers iron for coal, in public all the same but for what is said."""
    hands = [{"oak_planks": 2, "raw_iron": 1}, {"coal": 2}]
    game = TradeCraft("tradecraft", "x", ruleset("minecraft"), hands, targets, turns=2)

    def answer(state, seat):
        if state.phase == "propose":
            offer = {"offer": {"raw_iron": 1}, "request": {"coal": 1}} if seat == 0 else {"offer": {}, "request": {}}
            return Call(tool="submit_proposal", partner=game.players[1 - seat], message=message, **offer)
        return (
            Call(tool="decide", decision=decision, message=message)
            if state.phase == "decide"
            else Call(tool="craft_done")
        )

    return public(game, answer)


def test_in_tradecraft_it_sees_hands_and_trades_alone():
    shown = trading([{"torch": 1}, {"iron_ingot": 1}], "psst", "accept")
    assert shown == trading([{"stick": 1}, {"iron_ingot": 2}], "pssst", "accept")
    assert "'trade'" in shown[-1] and "'hands'" in shown[-1] and "psst" not in shown[-1] and "torch" not in shown[-1]


def test_of_a_proposal_that_was_rejected_it_hears_that_and_no_terms():
    last = trading([{"torch": 1}, {"iron_ingot": 1}], "psst", "reject")[-1]
    assert "'rejected'" in last and "'proposal'" not in last and "offer" not in last
