"""Twins: the same game in other clothes; what is claimed of them is checked, and false claims are refused with a counterexample."""

import pickle
import re
import sys
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import msgspec
import pandas as pd
import pytest
import yaml
from harness import GAMES, PD, RPS, first, small
from hypothesis import given
from hypothesis import strategies as st

from agon import ROOT, AgonError
from agon.agents import seat_dice
from agon.agents.scripts import anything, reference
from agon.agents.telling import observation_text
from agon.cli import main
from agon.conf import build, load, settings_of
from agon.games import Choice
from agon.games.base import Event
from agon.games.matrix.scripts import always, best_reply_to_last, favourite_equilibrium, tit_for_tat
from agon.games.tables import games_table
from agon.loop import total
from agon.plan import plan
from agon.play import play
from agon.replay import games_of, one_match, replay_match
from agon_twins.certificates import all_certificates, certificate, solution_changes, solutions
from agon_twins.check import check
from agon_twins.family import of_family
from agon_twins.invariance import PLAYERS as KNOWN
from agon_twins.invariance import measure_players, observe_situation, plane, sample_behaviour, situations
from agon_twins.isomorphism import PAYOFFS, Isomorphism, Words
from agon_twins.names import Twins, claims
from agon_twins.twin import Twin, twin
from agon_twins.walks import LONG

AMBER = {"cooperation": "amber", "defection": "slate"}


def renamed(words):
    return Isomorphism(Words(tuple(words.items())))


def experiment(*games, agents=("best_reply_to_last", "mf")):
    return {"name": "test", "repetitions": 1, "tournaments": [{"games": list(games), "agents": list(agents)}]}


def conf_of_twins(folder, text, name="mine"):
    """A folder of settings that declares twins."""
    (folder / "twin").mkdir()
    (folder / "twin" / f"{name}.yaml").write_text(text)
    (folder / "game").mkdir()
    for file in (ROOT / "conf/game").glob("p*.yaml"):
        (folder / "game" / file.name).write_text(file.read_text())
    return folder


# --- words


@given(
    st.lists(
        st.sampled_from(["stag", "hare", "Player 1", "Player 12", "cats", " ", ", ", "ox", "Ox", "STAG"]), max_size=9
    )
)
def test_words_are_a_permutation_of_texts(parts):
    words = Words((("stag", "ox"), ("ox", "hare"), ("Player 1", "Ann")))
    text = "".join(parts)
    assert words.back(words.forth(text)) == text == words.forth(words.back(text))
    assert words.inverse.forth(words.forth(text)) == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("A stag, and Stags.", "A ox, and Stags."),
        ("STAG Stag", "OX Ox"),
        ("an ox is a hare", "an hare is a stag"),
        ("Player 1 and Player 12", "Ann and Player 12"),
    ],
)
def test_whole_words_are_exchanged(text, said):
    assert Words((("stag", "ox"), ("ox", "hare"), ("Player 1", "Ann"))).forth(text) == said


# --- twins in conf


def test_a_twin_of_conf_is_asked_in_its_own_words():
    view = (game := load("game", "pd~amber")).observe(game.start(seat_dice(0, -1)), 0)
    said = observation_text(view)
    assert "if you choose amber and the other player chooses slate, you get 1" in said
    assert not any(word in said for word in AMBER)
    assert said == Words(tuple(AMBER.items())).forth(observation_text(PD.observe(PD.start(seat_dice(0, -1)), 0)))


def test_a_twin_is_played_and_paid_as_its_original():
    game = load("game", "pd~amber~turned~fives")
    for seed in range(5):
        paid = total(PD, [best_reply_to_last, best_reply_to_last], seed)
        assert len(paid) == 2
    assert game.normal_form.options == ("slate", "amber") and game.fixed_rounds == PD.rounds
    assert total(game, [tit_for_tat, tit_for_tat], 0) == [5 * 2 * 16] * 2, (
        "who takes the first action for the kind one is wrong here"
    )


def test_a_copy_is_equal_and_what_it_is_is_its_id():
    game = load("game", "pd~amber")
    assert pickle.loads(pickle.dumps(game)) == game == load("game", "pd~amber") != load("game", "pd~birch")
    alone, both = plan(experiment("pd")), plan(experiment("pd", "pd~amber", "pd~birch"))
    assert len({match.id for match in both}) == 3 * len(alone) and {match.id for match in alone} < {
        match.id for match in both
    }


def test_a_near_twin_is_the_game_with_other_settings():
    assert replace(load("game", "pd~hunt"), variant="") == replace(GAMES["pd_payoff"], variant="")


@pytest.mark.parametrize("name", ["pd~amber", "pd~amber~turned", "pd~coins", "chameleon/01-crowd~heron"])
def test_an_agent_with_beliefs_is_refused_in_a_twin_in_other_words(name):
    with pytest.raises(AgonError) as error:
        plan(experiment(name, agents=["beliefs@standin"]))
    assert "is described in other words" in str(error.value) and "\n" not in str(error.value)


def test_an_agent_with_roles_plays_only_a_twin_in_the_games_own_words():
    """It notes in the family's words what it has seen, as an agent with beliefs does."""
    roles = {"agents": ["tradecraft_unprimed@standin_tradecraft"]}
    with pytest.raises(AgonError, match="is described in other words"):
        plan(experiment("tradecraft/minecraft-01~exchanged", **roles))
    assert plan(experiment("tradecraft/minecraft-01~seated", **roles))


@pytest.mark.parametrize("name", ["pd~turned", "pd~fives", "pd~partners", "pd~hunt", "chameleon/01-crowd~seated"])
def test_an_agent_that_notes_beliefs_plays_a_twin_in_the_games_own_words(name):
    assert plan(experiment(name, agents=["beliefs@standin_magic" if "chameleon" in name else "beliefs@standin"]))


def test_one_setting_of_a_game_has_twins():
    found = {
        match.game.variant for match in plan(experiment("prisoner3/01~glim", "prisoner3/01", agents=["magic_fair"]))
    }
    assert found == {"01~glim", "01"}


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("pd~ambr", "game pd has no twin 'ambr' in conf/twin: did you mean amber?"),
        ("rating~amber", "game rating has no twin 'amber' in conf/twin"),
        ("pd~amber~hunt", "game pd~amber~hunt: hunt changes settings, so it comes first: pd~hunt"),
    ],
)
def test_what_is_no_twin_of_conf_is_said_in_a_line(name, line):
    with pytest.raises(AgonError) as error:
        load("game", name)
    assert line in str(error.value)


@pytest.mark.parametrize("name", ["prisoner3/01~glim", "chameleon/01-crowd~heron~seated"])
def test_a_twin_in_which_everybody_speaks_is_the_twin_of_such_a_game(name):
    game = load("game", name)
    alone = game.without_tested
    assert game.tested and not alone.tested and alone.variant == game.variant
    assert alone.beneath.tested == () and alone == replace(game, of=game.of.without_tested)


# --- what cannot be a twin is not made


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            {"words": {"cooperation": "stag", "defection": "stag"}},
            "cooperation and defection would both be called stag",
        ),
        ({"words": {"cooperation": " "}}, "both must be words that can be printed"),
        ({"order": {"seats": [0, 0]}}, "seats [0, 0] is no permutation"),
        ({"order": {"seats": [1, 0, 2]}}, "is no permutation of the 2 seats of pd"),
        ({"order": {"seats": "10"}}, "order: seats is '10'; it must be a list"),
        ({"order": {"actions": None}}, "order: actions is None; it must be a list"),
        ({"scale": {"payoffs": "twice"}}, "scale: payoffs is 'twice'; it must be a number"),
        ({"scale": {"plus": float("inf")}}, "scale: plus is inf; it must be a number"),
        ({"scale": {"by": 2, "amounts": 5}}, "scale: amounts is 5; it must be a list"),
        ({"order": {"actions": ["defection", "defection"]}}, "one is named twice"),
        ({"order": {"actions": ["defection", "stag"]}}, "is no permutation of ['cooperation', 'defection']"),
        ({"scale": {"payoffs": -1}}, "must be above 0"),
        ({"scale": {"payoffs": 0}}, "must be above 0"),
        ({"scale": {"by": 1.5}}, "it must be a whole number"),
        ({"scale": {"by": 10}}, "name fields and phases under `amounts`"),
    ],
)
def test_a_change_that_makes_no_twin_is_refused(changes, line):
    with pytest.raises(AgonError) as error:
        twin(PD, "x", **changes)
    assert line in str(error.value) and "\n" not in str(error.value)


def test_points_that_are_added_need_a_fixed_number_of_rounds():
    with pytest.raises(AgonError, match="decide how long to play"):
        twin(first("cost_sharing"), "x", scale={"plus": 1})


# --- the papers' own variants come out as what they are

STAGS = {"cooperation": "stag", "defection": "hare"}
TURNED = {"rock": "paper", "paper": "rock"}
VARIANTS = {"label": True, "payoff": False, "joint": False}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("name", "words"), [("pd", STAGS), ("rps", TURNED)])
def test_label_is_a_twin_and_payoff_and_joint_are_near_twins(name, words, variant):
    game, other = GAMES[name], GAMES[f"{name}_{variant}"]
    map = renamed({} if variant == "payoff" else words)
    found = check(game, other, map)
    assert (found.counterexample == "") is VARIANTS[variant], found
    assert bool(solution_changes(game, other, map)) is not VARIANTS[variant]
    if not VARIANTS[variant]:
        assert found.counterexample.startswith("at the start: seat 0 is told payoff")


def test_formula_31_is_that_of_the_twin_only_in_its_own_words():
    """The paper gives one formula, by labels, for rock, paper, scissors and its label variant: six of nine entries are wrong."""
    label = GAMES["rps_label"]
    cells = list(product(RPS.options, repeat=2))
    off = [cell for cell in cells if label.payoffs(cell) != RPS.payoffs(cell)]
    assert len(cells) == 9 and len(off) == 6
    assert all(label.payoffs([TURNED.get(each, each) for each in cell]) == RPS.payoffs(cell) for cell in cells)
    assert check(RPS, label, Isomorphism()).counterexample and not check(RPS, label, renamed(TURNED)).counterexample


def test_captions_label_and_joint_show_a_near_twin_and_a_twin():
    """The captions are rotated (docs/deviations.md): what is printed as `label` was played with other payoffs."""
    said = (ROOT / "docs/deviations.md").read_text()
    rotated = dict(re.findall(r"\| captions: (\w+) \| the (\w+) variant \|", said))
    assert {caption: VARIANTS[shown] for caption, shown in rotated.items()} == {
        "label": False,
        "payoff": False,
        "joint": True,
    }


# --- a stranger's game has twins without a line of code

sys.path.append(str(ROOT / "tests/games/stranger"))
COINS = {"by": 10, "amounts": ["most", "value", "sold", "bid", "payoffs"]}
OF_STRANGER = [
    {"words": {"good": "painting", "auction": "sale", "points": "crowns"}},
    {"order": {"seats": [1, 0]}},
    {"scale": COINS},
    {"words": {"points": "cents"}, "order": {"seats": [1, 0]}, "scale": COINS, "frame": "An old house is cleared."},
]


@pytest.fixture(scope="module")
def auction():
    from auction.game import Auction

    return Auction("auction", "default")


@pytest.mark.parametrize("changes", OF_STRANGER, ids=lambda changes: " ".join(changes))
def test_a_strangers_game_has_twins_without_a_line_of_code(auction, changes):
    game = twin(auction, "x", **changes)
    found = check(auction, game, game.map, names=["good", "auction", "points"])
    assert found.counterexample == "" and found.plays >= 4, found
    assert total(game, [anything if "scale" in changes else reference] * 2, 3)  # its family's scripts play it


STRANGER = """
of: [auction]
names: [good, auction, points]
small: {most: 1, rounds: 1}
twins:
  paintings: {words: {good: painting, auction: sale, points: crowns}}
  seated: {order: {seats: [1, 0]}}
  tens: {scale: {by: 10, amounts: [most, value, sold, bid, payoffs]}}
  disguised:
    {words: {points: cents}, order: {seats: [1, 0]}, scale: {by: 5, amounts: [most, value, sold, bid, payoffs]}, frame: An old house.}
"""


def test_a_strangers_game_has_twins_by_a_file_of_settings_alone(tmp_path):
    conf = conf_of_twins(tmp_path, STRANGER)
    (conf / "config.yaml").write_text(f"families: [{ROOT / 'tests/games/stranger/auction'}]\npackages: []\n")
    game = "{_target_: auction.game.Auction, _convert_: all, name: auction, variant: default}"
    (conf / "game/auction.yaml").write_text(game)
    rows = list(all_certificates(conf))
    assert [row["twin"] for row in rows] == ["paintings", "seated", "tens", "disguised"]
    assert not any(row["counterexample"] for row in rows), rows
    assert all(" states of the only deal that " in row["small version"] for row in rows), rows


def test_a_strangers_game_is_told_in_other_words(auction):
    game = twin(auction, "x", **OF_STRANGER[3])
    said = observation_text(game.observe(game.start(seat_dice(1, -1)), 0))
    assert "# Rules\nAn old house is cleared. All amounts are multiples of 10.\n" in said
    assert "from 1 to 200 cents" in said and "points" not in said and "from 0 to 200" in said


# --- false twins are refused, with what speaks against them


@dataclass(frozen=True)
class Doctored(Twin):
    """A twin in which something is wrong: `fault` changes what a method gives."""

    fault: tuple = ()

    def _asked(self, method, given):
        return self.fault[1](given) if self.fault[0] == method else given

    def observe(self, state, seat):
        return self._asked("observe", super().observe(state, seat))

    def watch(self, state):
        return self._asked("watch", super().watch(state))

    def legal_actions(self, state, seat):
        return self._asked("legal_actions", super().legal_actions(state, seat))

    def step(self, state, actions):
        state, paid = super().step(state, actions)
        return state, self._asked("step", paid)

    def to_move(self, state):
        return self._asked("to_move", super().to_move(state))

    def secrets(self, seat):
        return self._asked("secrets", super().secrets(seat))


def doctored(game, method, change, map=None):
    return game, Doctored(game, map or Isomorphism(), "x", fault=(method, change)), map or Isomorphism()


def other(game, map=None, **fields):
    """A game whose fields are said to make no difference."""
    return game, replace(game, **fields), map or Isomorphism()


def added(rules, *, need=None, **changes):
    """A ruleset with its first recipe changed, or with another that makes the same of one `need`."""
    recipe = rules.recipes[0]
    if need is None:
        recipes = (recipe._replace(**changes), *rules.recipes[1:])
    else:
        recipes = (*rules.recipes, recipe._replace(id="shortcut", needs=((need, 1),), fuelled=False))
    return replace(rules, recipes=recipes)


def exchanged(view):
    return view._replace(
        past=tuple(
            each._replace(value=each.value[::-1]) if isinstance(each.value, tuple) else each for each in view.past
        )
    )


SMALL = small([[(4, 4), (1, 6)], [(6, 1), (2, 2)]], "cd")
LOPSIDED = small([[(4, 3), (1, 6)], [(5, 1), (2, 0)]], "cd")
SWAP = Isomorphism(Words((("c", "d"), ("d", "c"))))
SEATS = Isomorphism(seats=(1, 0), names=("Player 1", "Player 2"))
P3 = first("prisoner3")
GOOD = first("public_goods")
FEE = first("cost_sharing")
TENS = Isomorphism(unit=10, factor=10, amounts=of_family(GOOD, "AMOUNTS"))
CHAMELEON, UNDERCOVER, TRADE, RATING = (first(name) for name in ("chameleon", "undercover", "tradecraft", "rating"))
FALSE = {
    "a payoff off by one": (lambda: other(SMALL, payoff=[[(4, 4), (1, 6)], [(6, 2), (2, 2)]]), "is told payoff 1 0 1"),
    "a payoff off by one that the rules do not tell": (
        lambda: doctored(SMALL, "step", lambda paid: (paid[0], paid[1] + (paid[1] == 6))),
        "seat 1 is paid 7 there, not 6",
    ),
    "payoffs doubled, and said to be trebled": (
        lambda: (SMALL, twin(SMALL, "x", scale={"payoffs": 2}), Isomorphism(factor=3)),
        "payoff",
    ),
    "one seat's payoffs scaled": (
        lambda: doctored(SMALL, "step", lambda paid: (paid[0] * 2, paid[1])),
        "seat 0 is paid",
    ),
    "labels exchanged without their payoffs": (lambda: (SMALL, SMALL, SWAP), "options 0: 'd' is said there to be 'c'"),
    "options listed otherwise than said": (
        lambda: (SMALL, twin(SMALL, "x", order={"actions": "reversed"}), Isomorphism()),
        "options 0",
    ),
    "two labels coincide": (
        lambda: doctored(SMALL, "legal_actions", lambda legal: Choice(("c", "c"))),
        "what it may do of seat 0",
    ),
    "an option more": (
        lambda: doctored(SMALL, "legal_actions", lambda legal: Choice((*legal.options, "e"))),
        "what it may do of seat 0",
    ),
    "a round less": (lambda: other(SMALL, rounds=1), "the number of rounds is 1 there, not 2"),
    "seats exchanged in a game that is not symmetric": (lambda: (LOPSIDED, LOPSIDED, SEATS), "seat 0 is told payoff"),
    "nobody is asked any more": (lambda: doctored(SMALL, "to_move", lambda asked: asked[:1]), "who is to move is"),
    "silence pays otherwise": (lambda: other(P3, semantics="published"), "semantics: 'strict'"),
    "another seat is under test": (lambda: other(P3, tested=(1,)), "the seats under test"),
    "a multiplier a little higher": (lambda: other(GOOD, multiplier=1.01), "multiplier: 1"),
    "a budget that is not enforced": (lambda: other(GOOD, semantics="published"), "semantics"),
    "amounts in tens without their payoffs": (
        lambda: (GOOD, twin(GOOD, "x", scale={"by": 10, "amounts": ["endowment", "contribute", "overspend"]}), TENS),
        "is paid",
    ),
    "amounts in tens and all between": (
        lambda: (GOOD, replace(GOOD, endowment=1000), TENS),
        "what it may do of seat 0",
    ),
    "shares that are not checked": (lambda: other(FEE, semantics="published"), "what it may do of seat 0"),
    "shares told in another order": (lambda: doctored(FEE, "observe", exchanged), "what it has seen of seat"),
    "an airline with more flights": (
        lambda: other(FEE, airlines=[FEE.airlines[0]._replace(flights=86), *FEE.airlines[1:]]),
        "airlines 0 flights: 85 is said there to be 86",
    ),
    "the chameleon is told the word": (
        lambda: doctored(
            CHAMELEON, "observe", lambda view: view._replace(past=(*view.past, Event("word", None, CHAMELEON.word)))
        ),
        "what it has seen of seat 0",
    ),
    "all who watch are told the word": (
        lambda: doctored(CHAMELEON, "watch", lambda view: view._replace(past=(*view.past, Event("word", None, "cat")))),
        "what it has seen of the public",
    ),
    "the undercover is told its role": (
        lambda: doctored(UNDERCOVER, "observe", lambda view: view._replace(role=UNDERCOVER.roles[view.seat])),
        "its role of seat 0 is 'civilian' there",
    ),
    "another player is the spy": (lambda: other(UNDERCOVER, spy=0), "the roles"),
    "a word that is no secret": (
        lambda: doctored(UNDERCOVER, "secrets", lambda known: known[:0]),
        "what it must not see",
    ),
    "a recipe that frees a shortcut": (
        lambda: other(TRADE, ruleset=added(TRADE.ruleset, need=min(TRADE.hands[0]))),
        "ruleset recipes",
    ),
    "a recipe that makes more": (
        lambda: other(TRADE, ruleset=added(TRADE.ruleset, number=7)),
        "ruleset recipes acacia_boat number",
    ),
    "targets exchanged": (lambda: other(TRADE, targets=TRADE.targets[::-1]), "what is noted of it of seat 0 (target)"),
    "a piece more in a hand": (
        lambda: other(TRADE, hands=[{item: n + 1 for item, n in TRADE.hands[0].items()}, TRADE.hands[1]]),
        "what it has seen of seat 0",
    ),
    "a score off by one where all cooperate": (
        lambda: doctored(P3, "step", lambda paid: (*paid[:2], paid[2] + (min(paid) == max(paid) > 2))),
        "seat 2 is paid",
    ),
    "a vote that everybody sees": (
        lambda: doctored(
            CHAMELEON,
            "observe",
            lambda view: (
                view._replace(past=(*view.past, Event("ballot", 1, "Player 3"))) if view.phase == "vote" else view
            ),
        ),
        "what it has seen of seat",
    ),
    "a clue may be longer": (lambda: other(CHAMELEON, length=501), "what it may do of seat"),
    "an airline's fee a little lower": (lambda: other(FEE, fee=999_999), "fee: 1000000"),
    "a dimension less": (
        lambda: other(RATING, dimensions=RATING.dimensions[:-1]),
        "how often it is asked of seat 0 (least) is 8 there, not 9",
    ),
    "the rater is shown who won": (lambda: other(RATING, full=True), "is told"),
    "a turn more to trade": (lambda: other(TRADE, turns=16), "turns"),
    "a log that says something else": (
        lambda: (RATING, replace(RATING, log=RATING.log.replace("accept", "reject", 1)), Isomorphism()),
        "is told turns",
    ),
}


@pytest.mark.parametrize("name", FALSE)
def test_a_false_twin_is_refused_with_a_counterexample(name):
    make, why = FALSE[name]
    found = check(*make())
    assert why in found.counterexample, found
    assert found.counterexample.startswith(("at the start", "after ")) and "\n" not in found.counterexample


def test_values_of_other_dice_are_refused(auction):
    class Loaded(type(auction)):
        def start(self, dice):
            dice.random()
            return super().start(dice)

    found = check(auction, Loaded("auction", "default"), Isomorphism())
    assert "what it has seen of seat 0" in found.counterexample


def test_what_others_bid_for_is_not_told_in_a_twin(auction):
    class Leaky(type(auction)):
        def observe(self, state, seat):
            return super().observe(state, seat)._replace(past=state.seen[0])

    assert "what it has seen of seat 1" in check(auction, Leaky("auction", "default"), Isomorphism()).counterexample


# --- what conf declares

FAMILIES = ["pd", "rps", "prisoner3", "public_goods", "cost_sharing", "chameleon", "undercover", "rating"]
FAMILIES += ["tradecraft", "tradecraft3", "tradecraft_alchemy", "tradecraft_invented"]
SAMPLE = [
    "rps~disguised",
    "prisoner3/01~disguised",
    "public_goods/10~disguised",
    "cost_sharing/01~disguised",
    "chameleon/01-crowd~disguised",
    "undercover/01-civilians~shifted",
    "tradecraft_invented/invented-01~known",
    "tradecraft3/minecraft3-01~seated",
    "rating/3312a7248b4b1677~rotated",
]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_has_a_dozen_twins_and_half_a_dozen_near_twins(family):
    own = [claim.twin for (game, _), claim in claims().items() if game.partition("/")[0] == family]
    assert own.count(True) >= 12 and own.count(False) >= 6


@pytest.mark.parametrize("name", SAMPLE)
def test_what_conf_says_is_a_twin_is_one(name):
    game, other = load("game", name.rpartition("~")[0]), load("game", name)
    game_of_file = name.partition("/")[0].partition("~")[0]
    names = next(claim.names for (of, _), claim in claims().items() if of.partition("/")[0] == game_of_file)
    found = check(game, other, other.map, states=1, plays=4, names=names, elsewhere=True)
    assert found.counterexample == "" and found.plays >= 2, found
    assert solutions(game) and not solution_changes(game, other, other.map)


def test_all_certificates_hold():
    """What `agon certify-twins` has written."""
    path = ROOT / "results/twins/certificates.csv"
    if not path.is_file():
        pytest.skip("no certificates: dvc repro twins")
    table = pd.read_csv(path)
    if "verdict" not in table:
        pytest.skip("certificates of an older version: dvc repro twins")
    assert table.counterexample.isna().all() and not table.duplicated(["game", "setting", "twin"]).any()
    assert set(zip(table.game, table.twin, strict=True)) == {(load("game", game).name, name) for game, name in claims()}
    near = table[table.claim == "near-twin"]
    assert near.moved.notna().all() and table[table.claim == "twin"].moved.isna().all()
    own = table[table.claim == "twin"]
    assert own["also compared in"].notna().all() and own["small version"].str.startswith("all ").all()
    assert (
        (near.holds | near["taken for granted"].notna()).all()
        and (own.holds == own.verdict.str.startswith("proved")).all()
        and own.holds.any()
    )


@pytest.mark.parametrize(
    "name", ["pd~hunt", "public_goods/10~above", "cost_sharing/01~small_first", "chameleon/01-crowd~caught_wins"]
)
def test_what_moved_in_a_near_twin_is_told(name):
    game, other = load("game", name.rpartition("~")[0]), load("game", name)
    map = other.map if isinstance(other, Twin) else Isomorphism()
    assert check(game, other, map).counterexample
    shift = solution_changes(game, other, map)
    assert shift and all(one != after for one, after in shift.values())


@pytest.mark.parametrize(
    ("make", "claimed", "why"),
    [
        (lambda: twin(PD, "x", words={"coperation": "moss"}), True, "none of the words coperation is told"),
        (lambda: twin(PD, "x", words=AMBER), False, "what solves the one solves the other"),
        (lambda: replace(CHAMELEON, pays={"caught": (2, 0)}), False, "what is told is the same"),
        (lambda: replace(PD, payoff=RPS.payoff, options=RPS.options), False, "what the seats may do"),
        (lambda: GAMES["pd_payoff"], True, "payoff 0 0 0: 4 is said there to be 6"),
    ],
)
def test_a_claim_that_says_nothing_is_refused(make, claimed, why):
    other = make()
    found = certificate(CHAMELEON if other.name == "chameleon" else PD, other, claimed)
    assert not found["holds"] and why in found["counterexample"]


def test_what_random_matches_miss_a_small_version_shows():
    """A fault after one history of many: both cooperate, and then seat 1 alone defects."""

    class Late(Doctored):
        def step(self, state, actions):
            after, paid = Twin.step(self, state, actions)
            rare = list(self.watch(after).past)[:2] == [("c", "c"), ("c", "d")]
            return after, (paid[0] + rare, paid[1])

    def pair(rounds):
        game = replace(SMALL, rounds=rounds)
        return game, Late(game, Isomorphism(), "x", fault=("", None)), Isomorphism()

    assert not check(*pair(40), plays=2, elsewhere=True).counterexample
    assert "seat 0 is paid" in check(*pair(2), plays=0).counterexample


def test_a_twin_that_is_none_in_a_further_setting_is_refused(tmp_path, monkeypatch):
    text = "of: [pd]\nalso: [pd~hunt]\ntwins: {x: {words: {cooperation: pit, defection: top}}}\n"
    text += "near: {hunt: {settings: {payoff: [[[6, 6], [1, 4]], [[4, 1], [2, 2]]]}}}\n"
    conf = conf_of_twins(tmp_path, text)
    assert next(all_certificates(conf))["also compared in"] == "pd~hunt"

    def faulty(group, name, conf):
        made = load(group, name, conf)
        if name != "pd~hunt~x":
            return made
        return Doctored(made.of, made.map, "x", fault=("step", lambda paid: (paid[0], paid[1] + 1)))

    monkeypatch.setattr("agon_twins.certificates.load", faulty)
    row = next(all_certificates(conf))
    assert not row["holds"] and row["counterexample"].startswith("in pd~hunt, ") and "is paid" in row["counterexample"]


def test_a_further_setting_need_not_tell_the_words_of_a_twin():
    """The twin renames animals, and the other setting is about another topic."""
    game, other = (load("game", f"chameleon/02-crowd{end}") for end in ("", "~metals"))
    names = claims()["chameleon/01-crowd", "metals"].names
    assert "none of the words" in check(game, other, other.map, 1, 2, names=names).counterexample
    assert not check(game, other, other.map, 1, 2, names=names, elsewhere=True).counterexample


def test_a_small_version_is_compared_state_by_state(tmp_path):
    text = "of: [pd]\nsmall: {rounds: 2}\ntwins: {x: {words: {cooperation: moss, defection: fern}}}\n"
    (row,) = all_certificates(conf_of_twins(tmp_path, text))
    assert not row["counterexample"] and row["small version"] == "all 91 states where rounds 2"


def test_a_wrong_claim_is_one_line_and_an_exit_code(tmp_path, monkeypatch, capsys):
    text = "of: [pd]\ntwins: {x: {words: {coperation: moss}}}\nnear: {y: {order: {actions: reversed}}}\n"
    rows = list(all_certificates(conf_of_twins(tmp_path, text)))
    monkeypatch.setattr("agon_twins.certificates.all_certificates", lambda recorded: rows)
    assert main(["certify-twins", f"--out={tmp_path}/certificates.csv"]) == 3
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "pd default~x is no twin: at the start: none of the words coperation is told"
    assert said[1].startswith("pd default~y is no near-twin: what solves the one solves the other")
    assert said[2].endswith("2 certificates, 0 proved, 2 wrong claims") and len(said) == 3


@pytest.mark.parametrize("out", ["README.md", "docs"])
def test_certificates_take_no_other_files_place(out, capsys):
    before = (ROOT / "README.md").read_bytes()
    assert main(["certify-twins", "--out", out]) == 1
    assert f"--out {out} exists and has no certificates: choose another file" in capsys.readouterr().err
    assert (ROOT / "README.md").read_bytes() == before


def test_the_file_that_the_guide_shows_can_be_used():
    (block,) = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/how-to/make-a-twin.md").read_text(), re.DOTALL)
    shown = msgspec.convert(yaml.safe_load(block), Twins)
    for name, changes in shown.twins.items():
        assert twin(load("game", shown.of[0]), name, **changes)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("of: [pd]\nalso: [rps]\ntwins: {x: {order: {actions: reversed}}}\n", "also: rps is no setting of pd"),
        ("of: [pd]\nsmall: {round: 2}\ntwins: {x: {order: {actions: reversed}}}\n", "has no setting 'round'"),
    ],
)
def test_settings_in_which_a_twin_cannot_be_checked_are_said_in_a_line(tmp_path, text, line):
    with pytest.raises(AgonError) as error:
        list(all_certificates(conf_of_twins(tmp_path, text)))
    assert line in str(error.value) and "\n" not in str(error.value)


def test_paying_more_than_the_players_number_turns_what_is_best():
    low, high = (solutions(load("game", name)) for name in ("public_goods/10", "public_goods/10~barely"))
    assert (low["alone"], high["alone"]) == (0, 100) and low["together"] == high["together"] == 100


def test_payoffs_among_facts_are_scaled_as_payoffs_and_amounts_as_amounts():
    map = Isomorphism(factor=3, shift=1, unit=10, amounts=frozenset({"bid"}))
    assert map.value({"payoffs": {"worth": 2}, "bid": {"Ann": 5}, "round": 6}) == {
        "payoffs": {"worth": 7},
        "bid": {"Ann": 50},
        "round": 6,
    }
    assert map.inverse.value(map.value(2, PAYOFFS), PAYOFFS) == 2


def test_a_model_is_told_of_a_near_twin_what_is_true_of_it():
    game = load("game", "chameleon/01-crowd~caught_wins")
    said = observation_text(game.observe(game.start(seat_dice(0, -1)), 1))
    assert "guesses wrong: the others get 0 credits each, the chameleon 2" in said


def test_a_recipe_of_a_near_twin_is_the_games_own():
    game = load("game", "tradecraft/minecraft-01~less_paper")
    rules = game.observe(game.start(seat_dice(0, -1)), 0).rules.ruleset
    assert rules.recipe("book").needs == (("leather", 1), ("paper", 2)) and rules != TRADE.ruleset
    assert rules == load("game", "tradecraft/minecraft-01~less_paper").ruleset


@pytest.mark.parametrize("recipes", [{"nothing": [[1, "paper"]]}, {"book": [[1, "nothing"]]}, {"book": []}])
def test_recipes_that_cannot_be_are_refused(recipes):
    settings = settings_of("game", "tradecraft/minecraft-01")
    with pytest.raises(ValueError, match="ruleset minecraft has no"):
        build(settings | {"recipes": recipes})


def test_pays_of_outcomes_that_are_none_are_refused():
    with pytest.raises(ValueError, match="outcomes are caught, guessed, escaped, even"):
        replace(CHAMELEON, pays={"won": (1, 1)})


@pytest.mark.parametrize("pay", [(1,), (1, 1, 1), 1, "12", (1, "1"), (1, None)])
def test_pays_of_an_outcome_are_two_numbers(pay):
    with pytest.raises(ValueError, match=r"pays of caught is .*; it must be two numbers"):
        replace(CHAMELEON, pays={"caught": pay})


def test_an_experiment_plays_twins_and_its_records_are_replayed(tmp_path):
    matches = plan(experiment("pd", "pd~amber", "pd~hunt~amber"))
    turns = play(matches, tmp_path)
    table = games_table([match.game for match in matches], [match.settings for match in matches])
    found = {(game.name, game.variant) for game in games_of(table)}
    assert found == {("pd", "default"), ("pd", "default~amber"), ("pd", "default~hunt~amber")}
    for match in turns.match.unique():
        assert len(replay_match(one_match(turns, match), table).steps) == PD.rounds


# --- what players do in twins


def by_words(view, dice):
    """Takes the word that was good elsewhere, and anything where it is not there."""
    return "defection" if "defection" in view.legal.options else dice.choice(view.legal.options)


PLAYERS = {
    "solver": sample_behaviour(favourite_equilibrium, 30),
    "by words": sample_behaviour(by_words, 1),
    "by position": sample_behaviour(partial(always, position=1), 1),
}


@pytest.fixture(scope="module")
def points():
    """Measures in all the dilemma's twins and near-twins."""
    table = measure_players(PLAYERS, PLAYERS["solver"], "pd", number=10)
    return table, plane(table).set_index("player")


def test_a_solver_is_in_one_corner_and_memorisers_in_the_other(points):
    _, found = points
    assert found.loc["solver", ["invariance", "sensitivity"]].tolist() == pytest.approx([1, 1], abs=0.02)
    for name in ("by words", "by position"):
        assert found.loc[name, ["invariance", "sensitivity"]].tolist() == pytest.approx([0, 0], abs=0.02)


def test_words_pull_who_goes_by_words_and_order_who_goes_by_order(points):
    table = points[0][points[0].metric == "invariance"].groupby(["player", "kind"]).value.min()
    assert table["by words", "words"] == table["by position", "order"] == 0
    assert table["by words", "order"] == table["by position", "words"] == table["by position", "scale"] == 1


def test_situations_are_matched():
    twin_, map = load("game", "pd~exchanged_turned"), load("game", "pd~exchanged_turned").map
    for situation in situations(PD, 5):
        view, there = observe_situation(PD, situation), observe_situation(twin_, situation, map)
        assert there.past == tuple(map.value(each) for each in view.past) and there.legal.options == PD.options
    assert situations(PD, 5) == situations(PD, 5) != situations(PD, 5, seed=1)


def test_situations_of_endless_games_come_from_the_first_steps():
    long = replace(PD, rounds=2 * LONG)
    assert LONG / 2 < max(len(situation.history) for situation in situations(long, 5)) < LONG


SOLVED = [
    "rps",
    "prisoner3/01",
    "public_goods/10",
    "cost_sharing/01",
    "chameleon/01-crowd",
    "undercover/01-civilians",
    "rating/3312a7248b4b1677",
    "tradecraft/minecraft-01",
]


@pytest.mark.parametrize("name", SOLVED)
def test_in_every_family_solver_and_memorisers_are_in_their_corners(name):
    """A log has no order that could be changed, so that who rates by position does not show it."""
    table = measure_players(KNOWN, None, name, number=5)
    found = plane(table).set_index("player")
    assert found.loc["solver", ["invariance", "sensitivity"]].tolist() == pytest.approx([1, 1], abs=0.02)
    for player in ("by words", "by position"):
        ordered = player == "by words" or not name.startswith("rating")
        assert found.loc[player, "sensitivity"] == pytest.approx(0, abs=0.02)
        assert found.loc[player, "invariance"] == pytest.approx(0 if ordered else 1, abs=0.02)


def test_measures_say_what_chance_and_the_solver_give(points):
    table = points[0].set_index(["player", "twin", "metric"]).sort_index()
    turned = table.loc["by position", "turned"]
    assert turned.loc["invariance", ["value", "chance", "solver"]].tolist() == [0, 0.5, 1]
    assert turned.loc["surface pull", ["value", "chance", "solver"]].tolist() == [1, 0.5, 0]
    assert table.loc[("by words", "hunt", "sensitivity"), ["value", "solver"]].tolist() == [0, 1]
    pulled = points[0][points[0].metric == "surface pull"]
    assert set(pulled.kind) == {"words", "order"}
    assert points[0][["low", "high"]].notna().all().all() and (points[0].low <= points[0].value).all()


def test_uniform_play_in_a_near_twin_moves_part_of_the_way_at_most():
    table = measure_players({"by words": KNOWN["by words"]}, None, "rps", number=5)
    moved_ = table[table.metric == "sensitivity"]
    assert moved_.chance.between(-1, 1).all() and (moved_.solver == 1).all()


def test_a_game_without_a_solver_says_so(auction):
    with pytest.raises(AgonError, match="auction has no solver"):
        KNOWN["solver"].make(auction)
