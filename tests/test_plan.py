"""What will be played: ids and seeds are functions of each match's own content, and what does not fit is said in a line."""

import re
import shutil

import pytest
from harness import experiment
from hypothesis import given, settings
from hypothesis import strategies as st

from agon import AgonError
from agon.plan import CONF, configuration, games, plan, thing

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


def test_everyone_meets_everyone_and_themselves():
    assert list(known(experiment(repetitions=1))) == [
        ("pd", "default", "grim", "grim", 0),
        ("pd", "default", "grim", "uniform", 0),
        ("pd", "default", "uniform", "uniform", 0),
    ]


def test_matches_are_pairs_times_repetitions_times_games():
    assert len(plan(experiment(repetitions=5, games=["pd", "rps"], agents=AGENTS[1:]))) == 6 * 5 * 2


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
    assert "`repetition`" in refusal(experiment() | {"repetition": 3})


def test_an_unknown_key_of_a_tournament_is_named():
    assert "`game`" in refusal(experiment(game=["pd"]))


@pytest.mark.parametrize("key", ["name", "repetitions"])
def test_a_missing_key_is_named(key):
    assert f"`{key}`" in refusal({name: value for name, value in experiment().items() if name != key})


@pytest.mark.parametrize("value", ["3", 0, -1, 1.5, None, True, [2]])
def test_repetitions_are_a_whole_number_from_1(value):
    assert "$.repetitions" in refusal(experiment(repetitions=value))


@pytest.mark.parametrize("value", ["pd", None, {"pd": 1}, [1]])
def test_games_are_a_list_of_names(value):
    assert "$.tournaments[0].games" in refusal(experiment(games=value))


@pytest.mark.parametrize("nothing", [{"tournaments": []}, experiment(games=[]), experiment(agents=[])])
def test_an_experiment_without_a_match_is_refused(nothing):
    assert re.search("length >= 1|plays nothing", refusal(experiment() | nothing))


def test_an_experiment_without_tournaments_and_pairings_says_so():
    assert "give it tournaments or pairings" in refusal({"name": "test", "repetitions": 2})


def test_an_unknown_agent_is_named_and_the_nearest_offered():
    assert refusal(experiment(agents=["grimm"])) == "there is no agent 'grimm' in conf/agent: did you mean grim?"


def test_an_unknown_game_is_named_and_the_nearest_offered():
    assert refusal(experiment(games=["dp_label"])) == "there is no game 'dp_label' in conf/game: did you mean pd_label?"


def test_a_game_that_is_nothing_like_any_lists_those_there_are():
    assert "there are pd, pd_joint" in refusal(experiment(games=["chess"]))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("_target_: agon.games.NoGame\n", "NoGame"),
        ("_target_: agon.games.MatrixGame\nname: x\n", "missing 4 required"),
        ("_target_: agon.games.relabel\ndefaults: [pd@game, _self_]\nlabels: {a: b}\n", "must name every action"),
        ("defaults: [nothing@game]\n", "nothing"),
        ("a: [1\n", "parsing"),
    ],
)
def test_a_file_that_cannot_be_built_is_named(conf, text, said):
    (conf / "game/broken.yaml").write_text(text)
    assert said in refusal(experiment(games=["broken"]), conf=conf)


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


@pytest.mark.parametrize("path", sorted((CONF / "experiment").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_experiment_of_conf_can_be_planned(path):
    asked = configuration([f"experiment={path.stem}"])["experiment"]
    assert asked["name"] == path.stem and plan(asked | {"repetitions": 1})


@pytest.mark.parametrize("path", sorted((CONF / "agent").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_agent_of_conf_can_be_built(path):
    assert callable(thing("agent", path.stem))


def test_games_are_all_or_those_named():
    assert [game.variant for game in games(["pd_label", "pd"])] == ["label", "default"] and len(games()) >= 8
