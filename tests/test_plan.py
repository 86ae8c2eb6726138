"""What will be played: ids and seeds are functions of each match's own content, and what does not fit is said in a line."""

import os
import re
import shutil
from collections import Counter
from dataclasses import dataclass, replace
from itertools import permutations, product

import pandas as pd
import pytest
from harness import WITHOUT_LOGS, experiment
from hypothesis import given, settings
from hypothesis import strategies as st

from agon import ROOT, AgonError
from agon.conf import CONF, FEW, configuration, expand_settings, games, load, names, settings_of, suggest
from agon.games import Choice, Game, Observation
from agon.games.matrix.game import MatrixGame
from agon.plan import cautions, models_of, plan
from agon.plan.matches import different_models
from agon.plan.symmetry import difference

AGENTS = ["grim", "tit_for_tat", "uniform", "srep"]


def known(asked, **where):
    """(game, variant, agents, repetition) -> (id, seed, config) of every match."""
    return {
        (m.game.name, m.game.variant, *(seat.agent for seat in m.seats), m.repetition): (m.id, m.seed, m.config)
        for m in plan(asked, **where)
    }


def refusal(asked, **where):
    """The one line that refuses an experiment."""
    with pytest.raises(AgonError) as caught:
        plan(asked, **where)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def conf(tmp_path):
    """A copy of conf/ to change."""
    return shutil.copytree(CONF, tmp_path / "conf")


# --- who meets whom


def test_challenges_without_defenders_have_those_of_the_experiment():
    challenge = {"games": ["chameleon/01-crowd"], "challengers": ["magic_selfish"]}
    asked = {"name": "x", "repetitions": 1, "challenges": [challenge]}
    assert refusal(asked).startswith("a challenge of x has no defenders: ")
    (one,) = known(asked | {"defenders": ["magic_fair"]}).values()
    (other,) = known(
        asked | {"challenges": [challenge | {"defenders": ["magic_fair"]}], "defenders": ["uniform"]}
    ).values()
    assert one == other


def test_everyone_meets_everyone_and_themselves():
    assert list(known(experiment(repetitions=1))) == [
        ("pd", "default", "grim", "grim", 0),
        ("pd", "default", "grim", "uniform", 0),
        ("pd", "default", "uniform", "uniform", 0),
    ]


def test_matches_are_pairs_times_repetitions_times_games():
    assert len(plan(experiment(repetitions=5, games=["pd", "rps"], agents=AGENTS[1:]))) == 6 * 5 * 2


@pytest.mark.parametrize(
    ("game", "bound", "seats"), [("cost_sharing/01", "rounds", 3), ("tradecraft_brief/minecraft-01", "turns", 2)]
)
def test_a_game_that_could_go_on_for_ever_is_refused_whatever_its_family(conf, game, bound, seats):
    file = conf / f"game/{game.partition('/')[0]}.yaml"
    file.write_text(re.sub(rf"^{bound}: \d+", f"{bound}: {10**9}", file.read_text(), flags=re.MULTILINE))
    asked = experiment(repetitions=1) | {"tournaments": [], "pairings": [{"games": [game]}]}
    asked["pairings"][0]["seats"] = [["anything"]] * seats
    assert f"1 match with {seats * 10**9:,} decisions" in refusal(asked, conf=conf)


# --- who sits where


def live(*words):
    """tradecraft_live as a command would take it."""
    return configuration(["experiment=tradecraft_live", *words])["experiment"]


def met(asked):
    """How often who met whom, seat by seat, each as persona@model."""
    return Counter(
        tuple(f"{seat.agent.removeprefix('tradecraft_')}@{seat.model}" for seat in m.seats) for m in plan(asked)
    )


def test_tradecraft_live_has_the_match_ups_and_seatings_as_published():
    models = {"gpt-4o": "gpt_4o", "claude": "claude_haiku_5_5", "gemini": "gpt_6_luna"}
    published = Counter[tuple[str, ...]]()
    for game in pd.read_csv(ROOT / "data/published/tradecraft/games.csv").itertuples():
        if game.logged:
            sides = [re.sub(r"-[12]$", "", name) for name in (game.name_0, game.name_1)]
            who = [("gemini", side[7:]) if side.startswith("gemini-") else (side, "unprimed") for side in sides]
            published[tuple(f"{persona}@{models[model]}" for model, persona in who)] += 1
    assert met(live()).total() == 90
    assert published.keys() == met(live()).keys() and all(n <= met(live())[pair] for pair, n in published.items())


def test_tradecraft_live_takes_one_model_or_several():
    own = met(live("experiment.models=[mistral_large]"))
    assert own.total() == 60 and {each.partition("@")[2] for pair in own for each in pair} == {"mistral_large"}
    [note] = cautions(live("experiment.models=[mistral_large]"))
    assert note.startswith("a pairing in tradecraft plays nothing") and note.endswith("name more models")
    assert met(live("experiment.models=[mistral_large,gpt_4o]")).total() == 70
    assert cautions(live()) == []


def test_models_that_differ_meet_in_every_order_and_none_meets_itself():
    pairing = {"games": ["pd"], "seats": [["zs"], ["zs"]], "models": ["gpt_4o", "gpt_4o_mini", "qwen"]}
    asked = {"name": "test", "repetitions": 1, "pairings": [pairing | {"take": "different"}]}
    assert sorted(met(asked)) == sorted((f"zs@{a}", f"zs@{b}") for a, b in permutations(pairing["models"], 2))
    assert "name more models" in refusal({**asked, "pairings": [{**asked["pairings"][0], "models": ["qwen"]}]})


def test_models_that_differ_are_found_seat_by_seat():
    seats = [["zs@a", "zs@b", "grim"], ["zs@a", "pp"], ["cot@b", "cot@c"]]
    models = {group: [each.partition("@")[2] for each in group if "@" in each] for group in product(*seats)}
    assert [*different_models(seats)] == [group for group, of in models.items() if len({*of}) == len(of)]
    assert [*different_models([["zs@a", "zs@b"]] * 60)] == []  # at once, though there are 2**60 groups


UNEVEN = MatrixGame("uneven", "test", ("a", "b"), (((3, 1), (0, 0)), ((0, 0), (2, 2))), 3)
RENAMED = replace(UNEVEN, options=("c", "d"))
UNEQUAL = {
    "tradecraft": "Player 1 moves first",
    "chameleon": "roles are",
    "undercover": "roles are",
    "cost_sharing": "moves first",
}


def test_the_seats_of_these_games_differ_and_of_no_others():
    games_of_conf = [load("game", expand_settings([name])[0]) for name in names("game") if name not in WITHOUT_LOGS]
    reasons = {game.name: difference(game) for game in games_of_conf}
    assert {name for name, reason in reasons.items() if reason} == {*UNEQUAL}
    assert [name for name, reason in UNEQUAL.items() if reason not in reasons[name]] == []


@pytest.mark.parametrize("game", [UNEVEN, RENAMED, replace(UNEVEN, payoff=(((1, 1), (0, 4)), ((5, 0), (1, 1))))])
def test_a_payoff_table_that_favours_a_seat_is_known(game):
    assert difference(game) == "the same actions pay them differently"


@dataclass(frozen=True)
class Election(Game):
    """Each player votes for another one, and is paid its votes."""

    players: tuple[str, ...]
    name: str = "election"
    variant: str = "default"
    seats: int = 3

    def start(self, dice):
        return 0

    def to_move(self, state):
        return (0, 1, 2)[: 3 * (state < 2)]

    def legal_actions(self, state, seat):
        return Choice(tuple(player for player in self.players if player != self.players[seat]))

    def observe(self, state, seat):
        return Observation(seat, state + 1, self.legal_actions(state, seat), (), self)

    def step(self, state, actions):
        return state + 1, tuple(float([*actions.values()].count(player)) for player in self.players)


@pytest.mark.parametrize("name", ["Ann", "Zo\u00eb", "\u5b89"])
def test_names_of_players_in_actions_make_no_seat_differ(name):
    assert difference(Election((name, "Bea", "Cid"))) == ""


def test_a_file_with_empty_defaults_stops_no_caution(conf):
    (conf / "game/mine.yaml").write_text("defaults:\n_target_: agon.games.matrix.game.MatrixGame\n")
    assert cautions(experiment(), conf=conf) == []


def test_a_tournament_where_seats_differ_is_told_what_to_write_instead():
    agents = ["trader_unprimed", "trader_cooperative"]
    asked = experiment(games=["tradecraft/minecraft-01"], agents=agents)
    [note] = cautions(asked)
    assert "Player 1 moves first" in note and note.count("[trader_unprimed, trader_cooperative]") == 2
    assert cautions(experiment(games=["tradecraft/minecraft-01"], agents=agents[:1])) == cautions(experiment()) == []


def test_no_experiment_but_one_of_a_stand_in_is_confounded_with_seats():
    planned = [name for name in names("experiment") if name not in WITHOUT_LOGS]
    assert [name for name in planned if cautions(settings_of("experiment", name))] == ["tradecraft_standin"]


def test_a_pairing_that_two_tournaments_share_is_played_once():
    asked = experiment()
    asked["tournaments"] *= 2
    assert plan(asked) == plan(experiment())


def test_plan_is_the_same_every_time():
    assert plan(experiment()) == plan(experiment())


# --- ids and seeds


def test_ids_and_seeds_are_all_different():
    matches = plan(experiment(repetitions=20, games=["pd", "pd_label", "rps"], agents=AGENTS))
    assert len({m.id for m in matches}) == len({m.seed for m in matches}) == len(matches)


def test_repetitions_share_their_settings_and_nothing_else():
    first, second = plan(experiment(agents=["uniform"]))
    assert first.config == second.config and first.seed != second.seed and first.id != second.id


def test_the_experiments_name_does_not_matter():
    assert known(experiment(name="one")) == known(experiment(name="other"))


@settings(max_examples=15, deadline=None)
@given(
    st.sets(st.sampled_from(AGENTS)), st.sampled_from([["pd"], ["rps", "pd"], ["pd_joint", "pd"]]), st.integers(1, 4)
)
def test_more_agents_games_and_repetitions_leave_a_match_as_it_is(others, among, repetitions):
    agents = [name for name in AGENTS if name in others | {"grim", "uniform"}]
    more = known(experiment(repetitions=repetitions + 1, games=among, agents=agents))
    assert known(experiment(repetitions=repetitions)).items() <= more.items()


@pytest.mark.parametrize(
    ("file", "old", "new"), [("game/pd", "rounds: 16", "rounds: 17"), ("game/pd", "rules: 1", "rules: 2")]
)
def test_a_match_is_another_one_when_its_game_changes(conf, file, old, new):
    path = conf / f"{file}.yaml"
    path.write_text(path.read_text().replace(old, new))
    assert not set(known(experiment()).values()) & set(known(experiment(), conf=conf).values())


def test_a_match_is_another_one_when_its_players_settings_change(conf):
    (conf / "agent/always_kind.yaml").write_text((conf / "agent/always_unkind.yaml").read_text())
    asked = experiment(repetitions=1, agents=["grim", "always_kind"])
    before, after = known(asked), known(asked, conf=conf)
    assert [key for key in before if before[key] == after[key]] == [("pd", "default", "grim", "grim", 0)]


def test_comments_in_conf_change_nothing(conf):
    path = conf / "game/pd.yaml"
    path.write_text("# another comment\n" + path.read_text())
    assert known(experiment(), conf=conf) == known(experiment())


# --- what does not fit


def test_an_unknown_key_is_named():
    assert "fit: there is no setting repetition" in refusal(experiment() | {"repetition": 3})


def test_an_unknown_key_of_a_tournament_is_named():
    assert "tournaments[0]: there is no setting game" in refusal(experiment(game=["pd"]))


@pytest.mark.parametrize("key", ["name", "repetitions"])
def test_a_missing_key_is_named(key):
    assert f"fit: {key} is missing" in refusal({name: value for name, value in experiment().items() if name != key})


@pytest.mark.parametrize("value", ["3", 0, -1, 1.5, None, True, [2]])
def test_repetitions_are_a_whole_number_from_1(value):
    assert "fit: repetitions: it must be a whole number" in refusal(experiment(repetitions=value))


@pytest.mark.parametrize("value", ["pd", None, {"pd": 1}, [1]])
def test_games_are_a_list_of_names(value):
    assert "fit: tournaments[0].games" in refusal(experiment(games=value))


@pytest.mark.parametrize("nothing", [{"tournaments": []}, experiment(games=[]), experiment(agents=[])])
def test_an_experiment_without_a_match_is_refused(nothing):
    assert re.search("of length at least 1|plays nothing", refusal(experiment() | nothing))


def test_an_experiment_without_tournaments_and_pairings_says_so():
    assert "give it tournaments, pairings or challenges" in refusal({"name": "test", "repetitions": 2})


def test_an_unknown_agent_is_named_and_the_nearest_offered():
    assert refusal(experiment(agents=["grimm"])) == "there is no agent 'grimm' in conf/agent: did you mean grim?"


def test_an_unknown_game_is_named_and_the_nearest_offered():
    assert refusal(experiment(games=["dp_label"])) == "there is no game 'dp_label' in conf/game: did you mean pd_label?"


def test_for_an_unlike_name_none_is_suggested_and_the_list_is_named():
    said = refusal(experiment(games=["chess"]))
    assert (
        said.endswith(f"none of the {len(names('game'))} is like it (agon list games)") and "did you mean" not in said
    )
    assert suggest("x", ["one", "two"]) == "there are one, two" and suggest("x", []) == "there are none"
    many = [f"name{number}" for number in range(FEW + 3)]
    assert suggest("x", many) == f"there are {', '.join(many[:FEW])} and 3 more"


def test_of_a_setting_the_settings_of_its_part_are_near():
    keys = ["budget.usd", "budget.calls", "experiment.name", "concurrency"]
    assert suggest("budget.dollars", keys) == "there are budget.usd, budget.calls"
    assert suggest("budget.call", keys) == suggest("budgets.calls", keys) == "did you mean budget.calls?"
    assert suggest("call", keys) == "did you mean budget.calls?" and "none of" not in suggest("budget.x", keys, "all")


def test_a_script_of_another_family_says_so():
    why = (
        "agent uniform cannot play public_goods: it is a script for games of matrix; `anything` draws any legal action"
    )
    assert refusal(experiment(games=["public_goods/01"], agents=["uniform"])).startswith(why)


def test_a_game_with_the_name_of_another_file_is_noted(conf):
    (conf / "game/mine.yaml").write_text("defaults: [pd, _self_]\nrounds: 3\n")
    asked = experiment(games=["mine"], agents=["grim"])
    (said,) = cautions(asked, conf)
    files = [name for name in names("game") if name.startswith(("pd", "rps"))]
    assert cautions(experiment(games=files, agents=["grim"])) == []
    assert said.startswith("conf/game/mine.yaml and conf/game/pd.yaml are both called pd, variant default: ")


def test_files_that_cannot_be_composed_do_not_hide_a_namesake(conf):
    (conf / "game/circle.yaml").write_text("defaults: [circle, _self_]\n")
    (conf / "game/torn.yaml").write_text("a: [1\n")
    (conf / "game/mine.yaml").write_text("defaults: [pd_brief, _self_]\nvariant: default\n")
    (said,) = cautions(experiment(games=["pd"], agents=["grim"]), conf)
    assert said.startswith("conf/game/pd.yaml and conf/game/mine.yaml are both called pd, variant default: ")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("_target_: agon.games.NoGame\n", "NoGame"),
        ("_target_: agon.games.matrix.MatrixGame\nname: x\n", "missing 4 required"),
        (
            "_target_: agon.games.matrix.relabel\ndefaults: [pd@game, _self_]\nlabels: {a: b}\n",
            "must name every action",
        ),
        ("_target_: agon.games.matrix.MatrixGam\n", "agon.games.matrix has no MatrixGam: did you mean MatrixGame?"),
        ("defaults: [nothing@game]\n", "nothing"),
        ("a: [1\n", "expected ',' or ']'"),
    ],
)
def test_a_file_that_cannot_be_built_is_named(conf, text, said):
    (conf / "game/broken.yaml").write_text(text)
    assert said in refusal(experiment(games=["broken"]), conf=conf)


def test_a_script_without_settings_says_that_it_has_none(conf):
    text = "_target_: agon.games.matrix.scripts.tit_for_tat\n_partial_: true\nfirst: x\n"
    (conf / "agent/firm.yaml").write_text(text)
    asked = experiment(games=["pd"], agents=["firm"])
    assert refusal(asked, conf=conf).endswith("tit_for_tat has no setting 'first': it has none, so take the line out")


def test_a_context_without_a_place_for_questions_is_noted(conf):
    text = "_target_: agon.models.openai.OpenAI\nmodel: m\nbase_url: http://127.0.0.1:9\ncontext: 100\n"
    (conf / "model/tight.yaml").write_text(text + "parameters: {max_tokens: 100}\n")
    asked = experiment(games=["pd"], agents=["zs"]) | {"models": ["tight"]}
    [line] = cautions(asked, conf)
    assert line.startswith("no question fits into the context of tight: it has 100 tokens, and max_tokens keeps 100")


# --- configuration


def test_configuration_is_conf_with_overrides():
    assert configuration(["experiment.repetitions=3"])["experiment"]["repetitions"] == 3


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("experiment=scriptd", "did you mean scripted?"),
        ("concurency=3", "did you mean concurrency?"),
        ("concurrency", "concurrency"),
    ],
)
def test_an_override_that_fits_nothing_says_so_in_a_line(override, said):
    with pytest.raises(AgonError, match=said.replace("?", r"\?")) as caught:
        configuration([override])
    assert "\n" not in str(caught.value)


def test_every_experiment_of_conf_can_be_planned():
    experiments = {name: configuration([f"experiment={name}"])["experiment"] for name in names("experiment")}
    assert {name: settings["name"] for name, settings in experiments.items()} == {name: name for name in experiments}
    planned = [settings for name, settings in experiments.items() if name not in WITHOUT_LOGS]
    assert len(planned) > 12 and all(plan(settings | {"repetitions": 1}) for settings in planned)


def test_every_agent_of_conf_can_be_built():
    assert len(names("agent")) > 40 and all(callable(load("agent", name)) for name in names("agent"))


@pytest.mark.parametrize(
    ("game", "agent"),
    [("chameleon", "tit_for_tat"), ("cost_sharing", "pp"), ("prisoner3", "grim"), ("rps", "magic_fair")],
)
def test_a_script_that_cannot_play_a_game_is_refused_at_the_plan(game, agent):
    assert refusal(experiment(games=[game], agents=[agent])).startswith(f"agent {agent} cannot play {game}: ")


def test_games_are_all_or_those_named():
    assert [game.variant for game in games(["pd_label", "pd"])] == ["label", "default"] and len(games()) >= 8


# --- models, and who asks them


def pairing(*seats, models=(), repetitions=1, games=("pd",), **more):
    """The contents of a file in conf/experiment with one pairing."""
    one = {"games": list(games), "seats": [list(seat) for seat in seats], "models": list(models)}
    return {"name": "test", "repetitions": repetitions, "pairings": [one]} | more


def groups(asked, **where):
    """Who sits down together, as agent or agent@model."""
    return [tuple("@".join(filter(None, (s.agent, s.model))) for s in m.seats) for m in plan(asked, **where)]


def ids(asked, **where):
    return {match.id for match in plan(asked, **where)}


def test_a_pairing_plays_every_combination_of_its_seats():
    assert groups(pairing(["grim", "uniform"], ["pp", "grim", "srep"])) == [
        *[("grim", other) for other in ("pp", "grim", "srep")],
        *[("uniform", other) for other in ("pp", "grim", "srep")],
    ]


def test_who_sits_where_makes_another_match():
    assert not ids(pairing(["grim"], ["uniform"])) & ids(pairing(["uniform"], ["grim"]))


def test_in_a_pairing_the_same_model_sits_at_all_seats():
    found = groups(pairing(["zs", "cot"], ["zs"], models=["gpt_4o", "standin"]))
    assert found == [(f"{own}@{m}", f"zs@{m}") for own in ("zs", "cot") for m in ("gpt_4o", "standin")]


def test_a_script_meets_every_model_and_scripts_meet_once():
    found = groups(pairing(["zs", "grim"], ["pp"], models=["gpt_4o", "standin"]))
    assert found == [("zs@gpt_4o", "pp"), ("zs@standin", "pp"), ("grim", "pp")]


def test_an_agent_may_name_its_model():
    found = groups(pairing(["zs@gpt_4o"], ["zs", "cot@local"], models=["standin"]))
    assert found == [("zs@gpt_4o", "zs@standin"), ("zs@gpt_4o", "cot@local")]


def test_models_may_be_named_once_for_the_whole_experiment():
    one = pairing(["zs"], ["cot"], models=["standin"])
    assert plan(pairing(["zs"], ["cot"]) | {"models": ["standin"]}) == plan(one)
    assert plan(one | {"models": ["gpt_4o"]}) == plan(one)


def test_a_pairing_may_have_repetitions_of_its_own():
    asked = pairing(["grim"], ["pp"], repetitions=5)
    asked["pairings"][0]["repetitions"] = 2
    assert len(plan(asked)) == 2


def test_in_a_tournament_an_agent_is_there_once_for_each_model():
    found = groups(experiment(repetitions=1, agents=["zs", "pp"], models=["standin", "gpt_4o"]))
    entrants = ["pp", "zs@gpt_4o", "zs@standin"]
    assert found == [(a, b) for i, a in enumerate(entrants) for b in entrants[i:]]


def test_a_model_that_an_agent_names_itself_is_one_entrant():
    found = groups(experiment(repetitions=1, agents=["zs@standin", "zs"], models=["standin", "gpt_4o"]))
    assert len(found) == 3


@settings(max_examples=20, deadline=None)
@given(st.permutations(["zs", "cot@gpt_4o", "pp", "zs_sc3", "grim"]), st.permutations(["standin", "gpt_4o", "local"]))
def test_ids_do_not_depend_on_the_order_of_agents_and_models(agents, models):
    usual = experiment(agents=["zs", "cot@gpt_4o", "pp", "zs_sc3", "grim"], models=["standin", "gpt_4o", "local"])
    assert plan(experiment(agents=agents, models=models)) == plan(usual)


@settings(max_examples=10, deadline=None)
@given(st.permutations(["zs", "cot", "grim"]), st.permutations(["standin", "local"]))
def test_nor_do_those_of_a_pairing(agents, models):
    assert ids(pairing(agents, ["zs", "pp"], models=models)) == ids(
        pairing(["zs", "cot", "grim"], ["pp", "zs"], models=["local", "standin"])
    )


@pytest.mark.parametrize("asked", [pairing(["zs"], ["pp"]), experiment(agents=["zs", "pp"])])
def test_an_agent_without_a_model_says_how_to_give_it_one(asked):
    assert refusal(asked) == "agent zs asks a model: add models: [...] beside it, or write zs@MODEL"


@pytest.mark.parametrize("asked", [pairing(["pp@standin"], ["pp"]), experiment(agents=["pp@standin"])])
def test_a_script_cannot_be_given_a_model(asked):
    assert refusal(asked) == "agent pp asks no model, but pp@standin gives it one"


@pytest.mark.parametrize("seats", [[["grim"]], [["grim"]] * 3])
def test_a_pairing_has_as_many_seats_as_the_game(seats):
    assert refusal(pairing(*seats)) == f"pd has 2 seats, the pairing gives {len(seats)}"


@pytest.mark.parametrize("seats", [[], [["grim"], []]])
def test_no_seat_of_a_pairing_is_empty(seats):
    assert "of length at least 1" in refusal(pairing(*seats))


@pytest.mark.parametrize(
    "asked",
    [
        pairing(["zs"], ["pp"], models=["standinn"]),
        pairing(["zs@standinn"], ["pp"]),
        experiment(agents=["zs@standinn"]),
    ],
)
def test_an_unknown_model_is_named_and_the_nearest_offered(asked):
    assert refusal(asked) == "there is no model 'standinn' in conf/model: did you mean standin?"


def test_an_unknown_sampling_is_named_and_the_nearest_offered():
    asked = pairing(["zs"], ["pp"], models=["standin"], sampling="as_don")
    assert refusal(asked) == "there is no sampling 'as_don' in conf/sampling: did you mean as_done?"


def test_every_model_of_conf_can_be_built_without_a_key(monkeypatch):
    for name in list(os.environ):
        if name.endswith("_KEY"):
            monkeypatch.delenv(name)
    models = [load("model", name) for name in names("model")]
    assert len(models) > 30 and all(model.concurrency >= 1 and model.identity for model in models)


# --- sampling


def sampled(conf, parameters, sampling):
    """The parameters of a model whose own file says `parameters`."""
    (conf / "model/own.yaml").write_text(
        "_target_: agon.models.standin.StandIn\n_convert_: all\nmodel: own\nconcurrency: 1\n"
        f"policy: {{_target_: agon.games.matrix.scripts.grim, _partial_: true}}\nparameters: {parameters}\n"
    )
    return models_of(pairing(["zs"], ["pp"], models=["own"], sampling=sampling), conf)["own"].parameters


@pytest.mark.parametrize(
    ("own", "sampling", "merged"),
    [
        ("{}", None, {}),
        ("{}", "as_done", {"temperature": 1.0, "max_tokens": 4096}),
        ("{}", "as_printed", {"temperature": 0.7, "top_p": 1.0, "max_tokens": 50}),
        ("{temperature: 0.2, seed: 4}", None, {"temperature": 0.2, "seed": 4}),
        ("{temperature: 0.2}", "as_done", {"temperature": 0.2, "max_tokens": 4096}),
        ("{temperature: null, thinking: 9}", "as_done", {"thinking": 9, "max_tokens": 4096}),
        ("{top_p: null}", "as_printed", {"temperature": 0.7, "max_tokens": 50}),
    ],
)
def test_a_models_parameters_override_sampling_and_null_removes_one(conf, own, sampling, merged):
    assert sampled(conf, own, sampling) == merged


def test_an_experiment_asks_the_models_that_it_names_anywhere():
    asked = pairing(["zs@gpt_4o"], ["zs"], models=["standin"])
    asked["tournaments"] = [{"games": ["pd"], "agents": ["cot@local", "grim"]}]
    assert set(models_of(asked)) == {"standin", "gpt_4o", "local"}


# --- what makes a match with a model another one

LIVE = pairing(["zs"], ["pp"], models=["standin"], sampling="as_done")


def changed(conf, file, old, new):
    """Ids before and after a change to a file of conf."""
    path, before = conf / f"{file}.yaml", ids(LIVE)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return before, ids(LIVE, conf=conf)


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("model/standin", "concurrency: 50", "concurrency: 2"),
        ("model/standin", "concurrency: 50", "concurrency: 50\ntimeout: 1.0\ntries: 3\npause: 2.0"),
        ("model/standin", "concurrency: 50", "concurrency: 50\nrequests_per_minute: 9\ntokens_per_minute: 900"),
        ("model/standin", "concurrency: 50", "concurrency: 50\nprice: {input: 3.0, output: 15.0}"),
        ("model/standin", "context: 200000", "context: null"),
        ("model/standin", "delay: 0.0", "delay: 2.0"),
        ("agent/zs", "answer_tokens: 15", "answer_tokens: 99"),
    ],
)
def test_prices_limits_and_guesses_leave_a_match_as_it_is(conf, file, old, new):
    before, after = changed(conf, file, old, new)
    assert before == after


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("model/standin", "model: standin-tit-for-tat", "model: standin-other"),
        ("model/standin", "tit_for_tat\n", "grim\n"),
        ("model/standin", "malformed: 0.03", "malformed: 0.04"),
        ("sampling/as_done", "temperature: 1.0", "temperature: 0.9"),
        ("sampling/as_done", "max_tokens: 4096", "max_tokens: 2000"),
        ("agent/zs", "style: zs", "style: cot"),
        ("agent/zs", "attempts: 5", "attempts: 2"),
        ("agent/zs", "on_invalid: forfeit", "on_invalid: random_legal"),
    ],
)
def test_what_may_change_an_answer_makes_another_match(conf, file, old, new):
    before, after = changed(conf, file, old, new)
    assert not before & after


def test_other_prompt_texts_make_another_match_wherever_they_lie(tmp_path):
    ours = CONF.parent / "src/agon/agents/prompts"

    def found(name, more):
        folder, conf = shutil.copytree(ours, tmp_path / name), shutil.copytree(CONF, tmp_path / f"conf {name}")
        (folder / "styles/zs.md").write_text((ours / "styles/zs.md").read_text() + more)
        path = conf / "agent/zs.yaml"
        path.write_text(path.read_text().replace("folder: null", f"folder: {folder}"))
        return ids(LIVE, conf=conf)

    assert found("copy", "") == ids(LIVE) and not found("other", "Hurry.\n") & ids(LIVE)


@pytest.mark.parametrize(
    ("old", "new", "same"), [("answer_tokens: 15", "answer_tokens: 99", True), ("attempts: 5", "attempts: 2", False)]
)
def test_a_style_around_an_agent_follows_the_agent_that_it_wraps(conf, old, new, same):
    asked = pairing(["zs_sc3"], ["pp"], models=["standin"])
    path = conf / "agent/zs.yaml"
    path.write_text(path.read_text().replace(old, new))
    assert (ids(asked) == ids(asked, conf=conf)) == same


def test_a_broken_template_is_said_when_planning(conf, tmp_path):
    (tmp_path / "matrix.md").write_text("{% macro system(view, style) %}")
    text = (CONF / "agent/zs.yaml").read_text()
    (conf / "agent/mine.yaml").write_text(text.replace("folder: null", f"folder: {tmp_path}"))
    assert f"prompt {tmp_path}/matrix.md: " in refusal(pairing(["mine"], ["pp"], models=["standin"]), conf=conf)


# --- ways in which agents read

SILENT = "does not tell how likely an answer is: set `logprobs` in its file, or take reads: constrained"
MANY = "it would weigh {} (at most {}): take an agent with reads: constrained"
UNFIT = {
    "zs_weighed@claude_opus_5_5": f"agent zs_weighed cannot ask model claude_opus_5_5: claude-opus-5-5 {SILENT}",
    "thinks@claude_opus_5_5": f"agent thinks cannot ask model claude_opus_5_5: claude-opus-5-5 {SILENT}",
    "votes@smollm2": "agent votes cannot ask model smollm2: self-consistency votes over several answers, and an agent with "
    "reads: weighed gives just one",
    "zs_weighed@chatty": "agent zs_weighed cannot ask model chatty: gpt-4o-2024-08-06 tells how likely single letters are, "
    "no whole answers: take reads: {way: weighed, labels: letters}",
    "tools@smollm2": "agent tools cannot ask model smollm2: SmolLM2-135M-Instruct-Q4_1 calls no tools: set `tools: true` in its "
    "file where its chat template knows them, or take reads: constrained",
    "odd@smollm2": "reads is 'guessed': way: Invalid value 'guessed'; it is free, constrained, called or weighed",
    "long@smollm2": "reads is {'way': 'constrained', 'thought': 9000}: thought: it must be a whole number, at most 2000; "
    "it is free, constrained, called or weighed",
}
TOO_MANY = {
    ("undercover/01-undercover", "zs_weighed"): "agent zs_weighed cannot play undercover (phase clue): "
    + MANY.format("more actions than can be listed", "200 words"),
    ("tradecraft/minecraft-01", "weighs"): "agent weighs cannot play tradecraft (phase propose): "
    + MANY.format("more actions than can be listed", "200 words"),
    ("public_goods/01", "letters"): "agent letters cannot play public_goods (phase contribute): "
    + MANY.format("101 actions", "20 letters"),
}


@pytest.fixture
def ways(conf):
    """conf/ with agents that read in other ways, and a model that tells how likely letters are."""
    for name, text in {
        "agent/weighs": "reads: weighed\ndefaults: [tradecraft_unprimed, _self_]\n",
        "agent/letters": "reads: {way: weighed, labels: letters}\ndefaults: [zs, _self_]\n",
        "agent/tools": "reads: called\ndefaults: [zs, _self_]\n",
        "agent/odd": "reads: guessed\ndefaults: [zs, _self_]\n",
        "agent/long": "reads: {way: constrained, thought: 9000}\ndefaults: [zs, _self_]\n",
        "agent/thinks": "defaults: [beliefs, zs_weighed@agent, _self_]\n",
        "agent/votes": "defaults: [zs_sc3, zs_weighed@agent, _self_]\n",
        "model/chatty": "logprobs: chat\ndefaults: [gpt_4o, _self_]\n",
    }.items():
        (conf / f"{name}.yaml").write_text(text)
    return conf


@pytest.mark.parametrize("entrant", UNFIT)
def test_an_agent_that_cannot_read_its_model_in_its_way_is_refused(ways, entrant):
    assert refusal(pairing([entrant], [entrant]), conf=ways) == UNFIT[entrant]


@pytest.mark.parametrize(("game", "agent"), TOO_MANY)
def test_an_agent_that_cannot_weigh_the_actions_of_a_game_is_refused(ways, game, agent):
    seats = [[agent]] * load("game", game).seats
    assert refusal(pairing(*seats, games=[game], models=["smollm2"]), conf=ways) == TOO_MANY[game, agent]


def test_a_stand_in_whose_script_cannot_play_a_game_is_refused():
    why = "model standin cannot play public_goods: it is a script for games of matrix"
    assert refusal(pairing(*[["zs"]] * 3, games=["public_goods/01"], models=["standin"])).startswith(why)


def test_who_can_weigh_a_game_may_play_it(ways):
    assert groups(pairing(["letters@chatty"], ["zs_weighed@smollm2"]), conf=ways)
    assert groups(pairing(*[["zs_weighed"]] * 3, games=["public_goods/01"], models=["standin_magic"]), conf=ways)
