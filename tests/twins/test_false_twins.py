"""False twins of many kinds are refused, with a counterexample that a person can read; unusual true twins are not."""

import re
from dataclasses import dataclass, field, replace

import pytest

from agon.conf import load
from agon.games import Choice, Game, Observation
from agon.games.base import PUBLIC, Event
from agon.games.spaces import Text
from agon_twins.certificates import certificate
from agon_twins.check import check
from agon_twins.isomorphism import Isomorphism
from agon_twins.names import claims
from agon_twins.twin import Twin, twin

NAMES = {game.partition("/")[0]: claim.names for (game, _), claim in claims().items()}
"""The declared names of each game's texts."""


def judged(base, changes, settings=None):
    """The certificate of a twin of conf: its verdict and counterexample."""
    game = load("game", base)
    of = game if settings is None else replace(game, **settings)
    return certificate(game, twin(of, "x", **changes), True, 1, NAMES.get(base.partition("/")[0], ()))


# --- by conf alone

BY_CONF = {
    "payoffs exchanged in the text": ("pd_brief", {"words": {"4": "6", "6": "4"}}, "a number changes"),
    "a higher payoff in the text": ("pd_brief", {"words": {"6": "9"}}, "a number changes"),
    "a payoff in a phrase": ("pd_brief", {"words": {"get 1": "get 3"}}, "a number changes"),
    "a number of rounds in the text": ("prisoner3/01", {"words": {"5": "50"}}, "a number changes"),
    "an endowment in the text": ("public_goods/10", {"words": {"100": "10"}}, "a number changes"),
    "an amount in a rule": ("chameleon/01-crowd", {"words": {"2": "20"}}, "a number changes"),
    "a number of rounds in words": ("cost_sharing/01", {"words": {"one": "two"}}, "a number changes"),
    "many becomes few": ("pd_brief", {"words": {"many": "few"}}, "a word of the rules changes"),
    "higher becomes lower": ("public_goods/10", {"words": {"higher": "lower"}}, "a word of the rules changes"),
    "multiplied becomes divided": (
        "public_goods/10",
        {"words": {"multiplied": "divided"}},
        "a word of the rules changes",
    ),
    "a proposal may not be rejected": (
        "tradecraft/minecraft-01",
        {"words": {"several players": "only one player"}},
        "a word of the rules changes",
    ),
    "most votes become fewest": (
        "undercover/01-civilians",
        {"words": {"most": "fewest"}},
        "a word of the rules changes",
    ),
    "a label with a payoff in it": (
        "pd_brief",
        {"words": {"cooperation": "cooperation (you get 100)"}},
        "it holds the number 100",
    ),
    "a label with a rule in it": (
        "rps_brief",
        {"words": {"rock": "rock (pays double)"}},
        "says something of the rules",
    ),
    "a label that is a sentence": (
        "pd_brief",
        {"words": {"cooperation": "whatever the other player has done before"}},
        "longer than five words",
    ),
    "a bonus in the frame": ("pd_brief", {"frame": "Who cooperates alone gets 100 points."}, "the frame says 100"),
    "a bonus in words in the frame": (
        "pd_brief",
        {"frame": "Two friends meet. Whoever yields gets a bonus."},
        "the frame speaks of the rules",
    ),
    "advice in the frame": ("rps_brief", {"frame": "Rock is wise."}, "the frame speaks of 'rock'"),
    "a length in the frame": ("prisoner3/01", {"frame": "There are ten rounds."}, "the frame speaks of the rules"),
    "another currency in the frame": (
        "chameleon/01-crowd",
        {"scale": {"payoffs": 10}, "frame": "Each credit is paid out as 5 crowns."},
        "the frame says 5",
    ),
    "payoffs scaled, and not told": (
        "chameleon/01-crowd",
        {"scale": {"payoffs": 10}},
        "payoffs are times 10, and no text says so",
    ),
    "wins paid more, and not told": (
        "tradecraft/minecraft-01",
        {"scale": {"payoffs": 100}},
        "payoffs are times 100, and no text says so",
    ),
    "turns counted as an amount": (
        "tradecraft/minecraft-01",
        {"scale": {"by": 2, "amounts": ["turns"]}},
        "turns is multiplied by 2",
    ),
    "a multiplier counted as an amount": (
        "public_goods/10",
        {"scale": {"by": 2, "amounts": ["endowment", "contribute", "overspend", "multiplier", "payoffs"]}},
        "multiplier is multiplied by 2",
    ),
    "an endowment scaled without payoffs": (
        "public_goods/10",
        {"scale": {"by": 10, "amounts": ["endowment", "contribute", "overspend"]}},
        "is an amount of the game, too",
    ),
    "the format of answers renamed": ("tradecraft/minecraft-01", {"words": {"tool": "move"}}, ""),
    "a word of the rules that is also a phase": (
        "chameleon/01-crowd",
        {"words": {"word": "opposite of word"}},
        "a word of the rules changes",
    ),
    "a sum becomes a mean": ("prisoner3/01", {"words": {"total": "mean"}}, "a word of the rules changes"),
    "two sentences in a label": (
        "pd_brief",
        {"words": {"cooperation": "left. You win more"}},
        "punctuated like a sentence",
    ),
    "advice in a label": (
        "pd_brief",
        {"words": {"cooperation": "always the best choice"}},
        "says something of the rules",
    ),
    "a label that is read as another": (
        "pd_brief",
        {"words": {"cooperation": "[move] defection"}},
        "its answer is read as something else",
    ),
    "two labels that look alike": (
        "pd_brief",
        {"words": {"cooperation": "Moss", "defection": "moss"}},
        "means there both",
    ),
    "a player's name that hints at a role": (
        "undercover/01-civilians",
        {"words": {"Player 3": "undercover guest"}},
        "the name of something else",
    ),
    "a fine for a pool": ("public_goods/10", {"words": {"pool": "fine"}}, "says something of the rules"),
    "an aspect to rate becomes another": (
        "rating/3312a7248b4b1677",
        {"words": {"cooperation": "selfishness"}},
        "a word of the rules changes",
    ),
    "wins counted as an amount": (
        "tradecraft/minecraft-01",
        {"scale": {"by": 2, "amounts": ["payoffs"]}},
        "payoffs is multiplied by 2",
    ),
    "hands counted as an amount": (
        "tradecraft/minecraft-01",
        {"scale": {"by": 2, "amounts": ["hands"]}},
        "hands is multiplied by 2",
    ),
    "a frame that suspects a player": (
        "chameleon/01-crowd",
        {"words": {"Player 2": "Tamsin"}, "frame": "Tamsin has something to hide."},
        "the frame speaks of 'Tamsin'",
    ),
    "a frame that tells a secret": (
        "chameleon/01-crowd",
        {"frame": "It is about a cat."},
        "the frame speaks of 'cat'",
    ),
    "advice by a verb in the frame": (
        "pd_brief",
        {"frame": "Cooperate!"},
        "the frame speaks of 'cooperation'",
    ),
    "a category hidden": ("cost_sharing/01", {"words": {"large": "small", "small": "large"}}, "shapley"),
}


@pytest.mark.parametrize("name", BY_CONF)
def test_a_false_twin_of_conf_is_refused(name):
    base, changes, why = BY_CONF[name]
    row = judged(base, changes)
    assert not row["holds"] and row["verdict"] == "refused" and why in row["counterexample"], row
    assert "\n" not in row["counterexample"]


BY_SETTINGS = {
    "a round less": ("pd_brief", "rounds", 2),
    "a payoff changed": (
        "rps_brief",
        "payoff",
        (((0, 0), (-1, 1), (1, -1)), ((1, -1), (0, 0), (-1, 1)), ((-1, 1), (2, -1), (0, 0))),
    ),
    "a tie pays otherwise": ("undercover/01-civilians", "pays", {"even": (2, 2)}),
    "a right guess pays otherwise": ("chameleon/01-crowd", "pays", {"guessed": (2, 1)}),
    "fewer refused proposals": ("tradecraft/minecraft-01", "attempts", 4),
    "the first to hold its target ends it": ("tradecraft/minecraft-01", "end", "first"),
    "a share less comes out": ("public_goods/01", "multiplier", 1.19),
    "one round of clues more": ("undercover/01-civilians", "rounds", 3),
    "no interviews": ("chameleon/01-crowd", "interviews", False),
}


@pytest.mark.parametrize("name", BY_SETTINGS)
def test_a_twin_with_other_settings_is_refused(name):
    base, setting, value = BY_SETTINGS[name]
    game = load("game", base)
    assert getattr(game, setting) != value
    row = judged(base, {}, {setting: value})
    assert row["verdict"] == "refused" and row["counterexample"], row


# --- games in Python


@dataclass(frozen=True)
class Faulty(Twin):
    """A twin in which something is wrong: `faults` replaces methods."""

    faults: dict = field(default_factory=dict, hash=False)

    def _through(self, method, result, *arguments):
        fault = self.faults.get(method)
        return result if fault is None else fault(result, *arguments)

    def start(self, dice):
        return self._through("start", super().start(dice), dice)

    def observe(self, state, seat):
        return self._through("observe", super().observe(state, seat), state, seat)

    def watch(self, state):
        return self._through("watch", super().watch(state), state)

    def step(self, state, actions):
        after, payoffs = super().step(state, actions)
        return after, self._through("step", payoffs, self, after, actions)

    def notes(self, state):
        return self._through("notes", super().notes(state))

    def seat_facts(self, seat):
        return self._through("seat_facts", super().seat_facts(seat), seat)

    def legal_actions(self, state, seat):
        return self._through("legal_actions", super().legal_actions(state, seat), state, seat)

    @property
    def normal_form(self):
        return self._through("normal_form", super().normal_form)

    def times_asked(self, seat):
        return self._through("times_asked", super().times_asked(seat))


def faulty(base, **faults):
    game = load("game", base) if isinstance(base, str) else base
    return game, Faulty(game, Isomorphism(), "x", faults=faults)


def raised(amount, condition):
    """Payoffs of the first seat raised where a condition on the public history and the actions is met."""

    def pay(payoffs, game, after, actions):
        return (payoffs[0] + amount * condition(game.watch(after).past, actions), *payoffs[1:])

    return pay


@dataclass(frozen=True)
class Lie:
    """A wording that changes what one text says."""

    old: str
    new: str
    macro: str = ""
    literal = True

    def __call__(self, render, *values):
        text = render(*(value._replace(wording=None) if isinstance(value, Observation) else value for value in values))
        return text.replace(self.old, self.new)


def lying(old, new, when=lambda view, seat: True):
    return lambda view, state, seat: view._replace(wording=Lie(old, new)) if when(view, seat) else view


def hidden(view, state, seat):
    """What a waiting seat sees of the last event is missing."""
    return view._replace(past=view.past[:-1]) if view.phase == "clue" and seat == 2 and view.past else view


def all_of(option):
    return lambda past, actions: len(past) == 16 and all(set(entry) == {option} for entry in past)


IN_PYTHON = {
    "a bonus after sixteen rounds of cooperation": (
        lambda: faulty("pd", step=raised(1, all_of("cooperation"))),
        "is paid 5 there, not 4",
    ),
    "a fine after sixteen rounds of defection": (
        lambda: faulty("pd", step=raised(-1, all_of("defection"))),
        "is paid 1 there",
    ),
    "a reward for always the third option": (
        lambda: faulty("rps", step=raised(1, lambda past, actions: past[-9:] == (("scissors", "scissors"),) * 9)),
        "seat 0 is paid",
    ),
    "a payoff off by a thousandth": (lambda: faulty("pd_brief", step=raised(0.001, lambda *_: True)), "is paid"),
    "shares are rounded": (
        lambda: faulty("public_goods/01", step=lambda payoffs, *_: tuple(map(float, map(round, payoffs)))),
        "is paid",
    ),
    "a win pays nothing": (
        lambda: faulty("tradecraft/minecraft-01", step=lambda payoffs, *_: (0.0,) * len(payoffs)),
        "is paid 0 there, not 1",
    ),
    "an agreement pays nothing": (
        lambda: faulty("cost_sharing/01", step=lambda payoffs, *_: (0.0,) * len(payoffs)),
        "is paid 0 there, not 1",
    ),
    "a right guess pays nothing": (
        lambda: faulty(
            "chameleon/01-crowd",
            step=lambda payoffs, game, after, actions: (0.0,) * 3 if after.outcome == "guessed" else payoffs,
        ),
        "is paid 0 there, not 1",
    ),
    "a tie pays nothing": (
        lambda: faulty(
            "undercover/01-civilians",
            step=lambda payoffs, game, after, actions: (0.0,) * 3 if after.outcome == "even" else payoffs,
        ),
        "is paid 0 there",
    ),
    "silence of all is paid": (
        lambda: faulty("prisoner3/01", step=raised(3, lambda past, actions: set(actions.values()) == {None})),
        "is paid",
    ),
    "contributions above the rest are not noted": (
        lambda: faulty("public_goods/10", notes=lambda notes: ()),
        "overspend",
    ),
    "answers of tools are not noted": (
        lambda: faulty("tradecraft/minecraft-01", notes=lambda notes: ()),
        "what is noted is []",
    ),
    "a note that nobody made": (
        lambda: faulty("pd_brief", notes=lambda notes: ((0, "leak", True),)),
        "what is noted is [(0, 'leak', True)]",
    ),
    "another spy is noted": (
        lambda: faulty("chameleon/01-crowd", seat_facts=lambda facts, seat: facts | {"spy": "Player 2"}),
        "what is noted of it of seat 0 (spy)",
    ),
    "another target is noted": (
        lambda: faulty("tradecraft/minecraft-01", seat_facts=lambda facts, seat: facts | {"target": {"stick": 1}}),
        "what is noted of it",
    ),
    "a seat is asked less often": (
        lambda: faulty("cost_sharing/01", times_asked=lambda times: times._replace(least=0)),
        "how often it is asked",
    ),
    "a waiting seat misses a clue": (
        lambda: faulty("undercover/01-civilians", observe=hidden),
        "what it has seen of seat 2",
    ),
    "the public hears what is private": (
        lambda: faulty(
            "tradecraft/minecraft-01",
            watch=lambda view, state: view._replace(past=(*view.past, Event("message", 0, "hello"))),
        ),
        "what it has seen of the public",
    ),
    "another payoff is read": (lambda: faulty("pd_brief", observe=lying("you get 6", "you get 9")), "you get 9"),
    "one seat reads something else": (
        lambda: faulty("prisoner3/01", observe=lying("total", "mean", lambda view, seat: seat == 2)),
        "of seat 2 says",
    ),
    "a lie in the fourth round": (
        lambda: faulty("pd", observe=lying("You scored", "You lost", lambda view, seat: len(view.past) == 4)),
        "after 4 steps",
    ),
    "a lie to who is asked again": (
        lambda: faulty("public_goods/10", observe=lying("Please answer again", "You lose this round", lambda *_: True)),
        "the second question",
    ),
    "a hint in one style": (
        lambda: faulty("pd_brief", observe=lying("step by step", "of defection")),
        "in style cot",
    ),
    "a lie in another style in the second round": (
        lambda: faulty(
            "pd_brief", observe=lying("Before you move", "Before you lose", lambda view, seat: view.round == 2)
        ),
        "in style",
    ),
    "a lie in the twelfth round to who is asked again": (
        lambda: faulty(
            "pd", observe=lying("Please answer again", "Your points are lost", lambda view, seat: view.round == 12)
        ),
        "the second question",
    ),
    "a lie after two silences": (
        lambda: faulty(
            "pd_brief", observe=lying("You scored", "You lost", lambda view, seat: view.past[:1] == ((None, None),))
        ),
        "says",
    ),
    "spectators read other rules": (
        lambda: faulty("pd_brief", watch=lambda view, state: view._replace(wording=Lie("you get 6", "you get 9"))),
        "what the public reads of the rules",
    ),
    "regret is measured by other payoffs": (
        lambda: faulty("pd_brief", normal_form=lambda form: replace(form, payoff=(((4, 4), (1, 9)), ((6, 1), (2, 2))))),
        "the payoff table",
    ),
    "options in another order from the third round": (
        lambda: faulty(
            "pd_brief",
            legal_actions=lambda legal, state, seat: Choice(legal.options[::-1]) if len(state) == 2 else legal,
        ),
        "what it may do of seat 0",
    ),
    "a form in another order": (
        lambda: faulty(
            "rps_brief", observe=lambda view, state, seat: view._replace(legal=Choice(view.legal.options[::-1]))
        ),
        "what the form shows",
    ),
    "memory ends after ten rounds": (
        lambda: faulty("pd", observe=lambda view, state, seat: view._replace(past=view.past[-10:])),
        "what it has seen",
    ),
    "a long clue late": (
        lambda: faulty(
            "undercover/01-civilians",
            legal_actions=lambda legal, state, seat: (
                Text(2000) if isinstance(legal, Text) and len(state.seen[PUBLIC]) > 4 else legal
            ),
        ),
        "what it may do",
    ),
    "the public learns the word at the vote": (
        lambda: faulty(
            "chameleon/01-crowd",
            watch=lambda view, state: (
                view._replace(past=(*view.past, Event("word", None, "cat"))) if view.phase == "vote" else view
            ),
        ),
        "what it has seen of the public",
    ),
    "a reply is told to one who waits": (
        lambda: faulty(
            "tradecraft/minecraft-01",
            observe=lambda view, state, seat: (
                view._replace(past=(*view.past, Event("message", 0, "hi"))) if view.phase == "decide" else view
            ),
        ),
        "what it has seen",
    ),
    "the history is told in part": (
        lambda: faulty("rps_brief", observe=lying("Round 2:", "Round 1:")),
        "Round 2:",
    ),
}


@pytest.mark.parametrize("name", IN_PYTHON)
def test_a_false_twin_in_python_is_refused(name):
    make, why = IN_PYTHON[name]
    game, other = make()
    found = check(game, other, Isomorphism(), states=1)
    assert why in found.counterexample, found
    assert found.counterexample.startswith(("at the start", "after ")) and "\n" not in found.counterexample


def test_at_least_forty_false_twins_are_planted_half_by_conf():
    by_conf = len(BY_CONF) + len(BY_SETTINGS)
    assert by_conf + len(IN_PYTHON) >= 40 and by_conf >= 20


# --- a game with a deal at its start


@dataclass(frozen=True)
class Cards(Game):
    """Two seats are dealt a card of `cards` each, and keep or drop it; who keeps the higher card gets a point."""

    cards: int = 3
    bonus: int = 0
    """Points for the highest card that there is."""
    name: str = "cards"
    variant: str = "x"
    seats: int = 2

    def start(self, dice):
        return (tuple(dice.choice(range(self.cards)) for _ in range(2)), False)

    def to_move(self, state):
        return () if state[1] else (0, 1)

    def legal_actions(self, state, seat):
        return Choice(("keep", "drop"))

    def observe(self, state, seat):
        return Observation(seat, 1, self.legal_actions(state, seat), (Event("card", None, state[0][seat]),), ("rules",))

    def step(self, state, actions):
        values = [card if actions[seat] == "keep" else -1 for seat, card in enumerate(state[0])]
        best = self.bonus * (max(values) == self.cards - 1)
        return (state[0], True), tuple(float(value == max(values) > -1) + best for value in values)


@pytest.mark.parametrize("cards", [3, 5, 40])
def test_all_deals_are_compared_where_they_are_few(cards):
    found = check(Cards(cards), Cards(cards), Isomorphism())
    assert not found.counterexample and not found.complete, "chance is sampled, and proves nothing"
    expected = f"all {cards**2} deals" if cards < 5 else "24 of "
    assert found.deals.startswith(expected), found


@pytest.mark.parametrize("cards", [3, 10])
def test_a_bonus_for_the_best_card_is_found(cards):
    found = check(Cards(cards), Cards(cards, bonus=1), Isomorphism())
    assert "is paid" in found.counterexample


# --- what a certificate says of itself


def test_a_sample_proves_nothing_and_says_how_much_it_saw():
    row = certificate(load("game", "pd"), load("game", "pd~amber"), True, 1)
    assert not row["holds"] and not row["counterexample"]
    assert re.fullmatch(r"no difference found in \d+ states of \d+ matches", row["verdict"]), row


def test_all_states_and_names_of_the_game_alone_are_a_proof():
    row = certificate(load("game", "pd_brief"), load("game", "pd_brief~exchanged_turned"), True)
    assert row["holds"] and row["verdict"] == "proved in all 820 states" and not row["taken for granted"]


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("pd_brief~partners", "the frame, a free text, says nothing of the rules"),
        ("pd_brief~coins", "what is only a name: points"),
    ],
)
def test_what_is_taken_for_granted_is_said_and_proves_nothing(name, what):
    row = certificate(load("game", "pd_brief"), load("game", name), True, names=NAMES["pd_brief"])
    assert row["taken for granted"] == what and not row["holds"] and not row["counterexample"]


def test_what_no_match_came_to_is_named():
    row = certificate(load("game", "rating/3312a7248b4b1677"), load("game", "rating/3312a7248b4b1677~rotated"), True, 1)
    assert row["never reached"] == "any payment"
    game = load("game", "pd")
    none = check(
        game, twin(game, "x", order={"actions": "reversed"}), Isomorphism(order=("defection", "cooperation")), 1, 0
    )
    assert none.unreached == ("an end", "any payment", "in the phase move: cooperation, defection")


def test_recorded_matches_are_walked_along():
    """A fault after a history of 16 rounds that only a recorded match has."""
    rows = [("cooperation" if place % 3 else "defection", "defection") for place in range(16)]
    record = tuple({0: one, 1: other} for one, other in rows)
    game, other = faulty("pd", step=raised(1, lambda past, actions: past == tuple(rows)))
    assert not check(game, other, Isomorphism(), states=1).counterexample
    assert "after 16 steps" in check(game, other, Isomorphism(), states=1, recorded=[record]).counterexample


# --- unusual true twins

TRUE = {
    "all at once": (
        "pd_brief",
        {
            "words": {"cooperation": "defection", "defection": "cooperation"},
            "order": {"actions": "reversed", "seats": [1, 0]},
            "scale": {"payoffs": 0.1, "plus": -7},
            "frame": "Two neighbours share a well.",
        },
    ),
    "letters of another alphabet, and two words": (
        "pd_brief",
        {"words": {"cooperation": "αβγ", "defection": "left out"}},
    ),
    "three seats in a circle": ("prisoner3/01", {"order": {"seats": [1, 2, 0]}}),
    "words turned in a circle": ("rps_brief", {"words": {"rock": "paper", "paper": "scissors", "scissors": "rock"}}),
    "roles exchange their names": (
        "undercover/01-civilians",
        {"words": {"undercover": "civilian", "civilian": "undercover"}},
    ),
    "amounts in sevens": ("public_goods/10", {"scale": {"by": 7}}),
    "airlines renamed in a circle": ("cost_sharing/01", {"words": {"A": "B", "B": "C", "C": "A"}}),
    "nothing changes": ("rps_brief", {}),
    "a name with a number": ("prisoner3/01", {"words": {"Player 1": "Player 2", "Player 2": "Player 1"}}),
    "a factor that the frame tells": (
        "tradecraft/minecraft-01",
        {"scale": {"payoffs": 100}, "frame": "Who wins is paid 100 crowns."},
    ),
}


TRUE |= {
    "roles, players and seats change at once": (
        "undercover/01-civilians",
        {
            "words": {
                "undercover": "guest",
                "civilian": "host",
                "civilians": "hosts",
                "Player 1": "Player 3",
                "Player 3": "Player 1",
            },
            "order": {"seats": [1, 2, 0], "actions": "reversed"},
        },
    ),
    "words of another script": ("pd_brief", {"words": {"cooperation": "合作", "defection": "背叛"}}),
    "a hyphen and an apostrophe": ("rps_brief", {"words": {"rock": "rock-hard", "paper": "cat's cradle"}}),
    "thousandths and a million": ("pd_brief", {"scale": {"payoffs": 0.001, "plus": 1000000}}),
    "players exchange names and seats": (
        "tradecraft/minecraft-01",
        {"words": {"Player 1": "Player 2"}, "order": {"seats": [1, 0]}},
    ),
    "thousands of another currency": (
        "public_goods/10",
        {"scale": {"by": 1000}, "words": {"points": "kronor"}, "order": {"seats": [2, 0, 1]}},
    ),
}


@pytest.mark.parametrize("name", TRUE)
def test_an_unusual_true_twin_is_not_refused(name):
    base, changes = TRUE[name]
    row = judged(base, changes)
    assert not row["counterexample"], row


def test_a_twin_of_an_unusual_twin_is_proved():
    game = twin(load("game", "pd_brief"), "x", **TRUE["letters of another alphabet, and two words"][1])
    other = twin(game, "y", words={"αβγ": "left out", "left out": "αβγ"}, order={"actions": "reversed"})
    assert certificate(game, other, True)["holds"]
