"""Own games of MAgIC in the shape of the paper: counted as the printed numbers are, and absent where nothing was played."""

from collections import Counter

import pandas as pd
import pytest
from claims import executed, functions_of

from agon import ROOT, AgonError
from agon.conf import configuration
from agon.plan import plan
from agon.turns import read, read_games, typed, write, write_games
from agon_papers.magic import live
from agon_papers.magic.facts import read_facts

PATH = "tests/smoke/magic_standin.parquet"


@pytest.fixture(scope="module")
def sample():
    """(turns, games) of a stand-in's whole run, without and with beliefs, and with numbers in Chameleon."""
    turns, games = read(PATH), read_games(PATH)
    of_beliefs = turns.match.isin(turns.match[turns.agent.eq("beliefs")]) & turns.game.eq("chameleon")
    numbers = turns[of_beliefs].assign(match=turns.match.astype(str) + "x")
    numbers = numbers.assign(agent=numbers.agent.astype(str).replace("beliefs", "beliefs_matrix"))
    return pd.concat([turns.astype({"agent": str, "match": str}), numbers], ignore_index=True), games


@pytest.fixture(scope="module")
def page(sample, tmp_path_factory):
    """The names of the notebook after its run on the sample, in which each round of a public good names 30 points."""
    turns, games = sample
    path = tmp_path_factory.mktemp("live") / "turns.parquet"
    turns = turns.assign(action=turns.action.astype(object).mask(turns.game.eq("public_goods"), "30"))
    write(typed(dict(turns)), path)
    write_games(games, path)
    return executed("magic_live", turns_path=str(path))


@pytest.fixture(scope="module")
def scores(sample):
    return live.scores_of(live.tally(*sample))


def test_rows_are_labelled_by_the_arms_of_the_paper(page):
    model = "own: standin_magic"
    assert list(page["rows"].index) == [model, f"{model}+PGM", f"{model}+ProPGM"]


@pytest.mark.parametrize(
    ("challenger", "label"),
    [
        ("zs@gpt", "own: gpt"),
        ("beliefs@gpt", "own: gpt+PGM"),
        ("beliefs_as_played@gpt", "own: gpt+PGM"),
        ("beliefs_matrix@gpt", "own: gpt+ProPGM"),
        ("zs_constrained@gpt", "own: gpt (constrained)"),
        ("beliefs_constrained@gpt", "own: gpt (constrained)+PGM"),
        ("cot@gpt", "own: gpt (cot)"),
        ("magic_fair", "own: magic_fair"),
    ],
)
def test_a_challenger_is_labelled_by_its_model_and_its_arm(challenger, label):
    assert live.label_of(challenger) == label


def test_two_agents_of_one_arm_keep_their_names(sample):
    turns, games = sample
    turns = turns.assign(agent=turns.agent.replace("beliefs_matrix", "beliefs_as_played"))
    labels = set(live.scores_of(live.tally(turns, games)).model)
    assert labels == {f"own: standin_magic{end}" for end in ("", " (beliefs)", " (beliefs_as_played)")}


def test_reasoning_counts_600_deductions_as_the_printed_numbers_do(scores):
    sizes = scores[scores.metric == "reasoning"].set_index("model").n
    assert sizes["own: standin_magic"] == 600 and "reasoning_published" not in set(scores.metric)


def test_an_arm_that_played_one_game_has_no_win_rate_and_no_area(page):
    row = page["rows"].loc["own: standin_magic+ProPGM"]
    assert row[["win_rate", "area", "cooperation", "rationality"]].isna().all() and 0 <= row.judgement <= 100


def test_a_challenger_is_measured_by_the_papers_design_and_not_by_its_own_table(sample):
    turns, games = sample
    few = turns[turns.match.isin(turns.groupby("game").match.first())]
    rows = live.coverage(few, games[games.variant.isin(few.variant)])
    assert set(rows.model) == {"own: standin_magic"}
    assert rows.set_index("game")[["played", "designed"]].T.to_dict("list") == {
        "chameleon": [1, 40],
        "undercover": [1, 40],
        "cost_sharing": [1, 21],
        "prisoner3": [1, 21],
        "public_goods": [1, 21],
    }


def test_games_that_are_missing_are_counted_and_the_others_count(sample):
    turns, games = sample
    first = turns.match[turns.game == "undercover"].iloc[0]
    rest = turns[(turns.match != first) & (turns.game != "prisoner3")]
    whole, lacking = live.coverage(turns, games), live.coverage(rest, games)
    assert whole.played.equals(whole.designed) and whole.groupby("model").played.sum().to_dict() == {
        "own: standin_magic": 143,
        "own: standin_magic+PGM": 143,
        "own: standin_magic+ProPGM": 40,
    }
    gaps = lacking[lacking.played < lacking.designed]
    assert list(gaps[["model", "game", "played", "designed"]].itertuples(index=False, name=None)) == [
        ("own: standin_magic", "undercover", 39, 40),
        ("own: standin_magic", "prisoner3", 0, 21),
        ("own: standin_magic+PGM", "prisoner3", 0, 21),
    ]
    sizes = live.tally(rest, games)
    assert sizes[(sizes.challenger == "zs@standin_magic") & (sizes.metric == "spy_win")].n.sum() == 39


def test_turns_in_which_nobody_is_under_test_are_refused_in_a_line():
    path = "tests/smoke/standin_turns.parquet"
    with pytest.raises(AgonError, match="these matches have no seat under test: use turns of MAgIC's games"):
        live.tally(read(path), read_games(path))


def test_the_mean_change_is_over_pairs():
    table = pd.DataFrame({"win_rate": [10.0, 14, 20, 30, 99]}, index=["a", "a+PGM", "b", "b+PGM", "alone"])
    assert functions_of("magic_live")["mean_change"](table, "mean").loc["mean", "win_rate"] == 7


def test_investments_are_the_points_that_were_named_even_above_the_endowment(page):
    table = page["invested"]
    assert set(table.value) == {150.0} and set(table.above) == {100.0}
    assert set(table.axis) == {"1", "1.2", "1.5", "1.8", "2", "2.5", "3"} and set(table.n) == {3}


def test_defection_is_a_share_of_the_rounds_of_a_setting_of_figure_10(page):
    table = page["defections"]
    assert table.value.between(0, 100).all() and set(table.n) == {15} and len(table) == 2 * 7
    assert set(table.axis) == {"3-5-2", "3-10-2", "3-20-2", "3-5-3", "3-5-4", "3-5-5", "5-5-3"}


def test_the_experiment_has_all_arms_of_the_paper_and_tells_them_what_it_prints():
    matches = plan(configuration(["experiment=magic_live", "experiment.models=[standin_magic]"])["experiment"])
    arms = Counter(match.seats[match.game.tested[0]].agent for match in matches)
    assert arms == {"zs": 143, "beliefs": 143, "beliefs_matrix": 40}
    of_text = Counter(match.game.name for match in matches if match.seats[match.game.tested[0]].agent == "zs")
    assert of_text == live.DESIGN
    assert {seat.prompts for match in matches for seat in match.seats} == {"as_printed"}


def test_details_have_the_columns_of_table_2(page):
    printed = read_facts(ROOT / "tests/smoke/magic").wide(2)
    assert list(page["own_rows"]) == list(printed) and page["own_rows"].loc["own: standin_magic"].notna().all()
