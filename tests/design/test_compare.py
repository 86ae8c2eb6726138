"""Conditions compared: what is set against what, what is left out, and what is said of it."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from test_ended import of_ends
from test_old_names import MINE, NEW, OLD, PAPERS, TOLD
from test_scores import PD, PLAYED, PLAYED_ROWS, TABLE, match, saved, together

from agon import ROOT, AgonError
from agon.cli import main
from agon.games.tables import games_table
from agon.scores import all_metrics, scores
from agon.turns import mark_partial, read, read_games, tidy, typed, write, write_games
from agon_design.compare import _counts, compare, rate
from agon_design.permutation import DRAWN
from agon_design.power import variances
from agon_design.seats import seat_rows
from agon_design.words import explain_condition


def test_conditions_are_compared_within_what_they_share():
    found = compare(PLAYED, TABLE, "cooperation_rate", "agent:zs,cot")
    [row] = found.pairs.itertuples()
    assert found.strata[["opponent", "n_first", "n_second"]].values.tolist() == [["grim", 2, 2], ["uniform", 3, 3]]
    uniform, grim = np.mean([4, 3, 3]) / 4 - np.mean([2, 1, 3]) / 4, np.mean([1, 2]) / 4 - np.mean([0, 1]) / 4
    assert row.difference == pytest.approx((uniform * 3 / 2 + grim) / (5 / 2))  # weights n1 n2 / (n1 + n2)
    assert row.low < row.difference < row.high and row.p == row.holm and row.p_error == 0


def test_what_is_left_out_and_what_was_void_is_said():
    found = compare(PLAYED, TABLE, "cooperation_rate", "agent:zs,cot")
    assert found.conditions[["condition", "matches", "answers", "void"]].values.tolist() == [
        ["zs", 6, 24, 0],
        ["cot", 7, 28, 1],
    ]
    told = str(found)
    assert "2 of 7 matches of cot in no stratum that another has" in told
    assert "in 1 match two of the conditions sit at the table" in told and "cot: 7 matches, 28 answers, 1 void" in told


def test_an_opponent_that_is_not_compared_is_no_condition_at_the_table():
    rows = [(agent, "uniform", own, "CCCC") for agent in ("zs", "cot") for own in ("CCDD", "CDDD")]
    found = str(compare(together(*rows), TABLE, "cooperation_rate", "agent", within=["opponent"]))
    assert "zs" in found and "two of the conditions sit at the table" not in found


def test_conditions_without_a_metric_are_named():
    mute = [(name, "uniform", "----", "CCCC") for name in ("spp", "srep")]
    found = compare(together(*PLAYED_ROWS, *mute), TABLE, "cooperation_rate", "agent:zs,cot,spp,srep")
    assert list(found.pairs["first"] + found.pairs["second"]) == ["zscot"]
    assert "no match of spp has cooperation_rate" in str(found)


def test_what_is_held_fixed_is_said():
    told = str(compare(PLAYED.assign(model="m"), TABLE, "cooperation_rate", "agent:zs,cot"))
    assert "held fixed: 1 game, 1 variant, 1 model and 2 opponents; interval and p hold for these alone" in told
    assert "not for models, opponents or games in general" in told


def test_matches_without_a_metric_come_with_the_reason():
    rps = PLAYED.assign(match=PLAYED["match"] + "r", game="other")
    replaced = match("zs", "uniform", "CCCC", "CCCC", match="m99").assign(fallback="random_legal: no")
    told = compare(
        pd.concat([PLAYED, rps, replaced]), TABLE, ["points_per_round", "cooperation_rate"], "agent:zs,cot"
    ).notes
    of = {each.name: each.gives for each in all_metrics()}
    assert f"note: 7 of 14 matches of cot without cooperation_rate: other has none ({of['cooperation_rate']})" in told
    assert not any("points_per_round" in each and "has none" in each for each in told)


def test_an_interval_leaves_out_what_no_difference_can_be():
    rows = [
        *(("zs", "uniform", own, "CCCC") for own in ("CCCC", "DDDD")),
        *(("cot", "uniform", own, "CCCC") for own in ("DDDD", "DDDC")),
    ]
    found = compare(together(*rows), TABLE, ["cooperation_rate", "points"], "agent:zs,cot")
    share, points = found.pairs.itertuples()
    assert (share.low, share.high) == (-1, 1) and share.low < share.difference < share.high
    whole = (points.low + points.high) / 2
    assert whole == pytest.approx(points.difference), "points have no bounds"
    assert found.strata[["low", "high"]].iloc[0].tolist() == [-1, 1]
    assert max(np.abs(found.figure(0).axes[0].get_xlim())) < 1.05 < max(np.abs(found.figure(1).axes[0].get_xlim()))


def test_turns_that_are_not_whole_are_named():
    some = mark_partial(tidy(PLAYED), 40)
    assert "note: partial: test, 13 of 40 matches" in compare(some, TABLE, "cooperation_rate", "agent:zs,cot").notes


def test_matches_in_which_something_stood_in_for_an_answer_are_named():
    rows = [
        ("zs", "uniform", "CD", "CC"),
        ("zs", "uniform", "CC", "CC"),
        ("cot", "uniform", "CD", "DC"),
        ("cot", "uniform", "DD", "DC"),
    ]
    found = compare(together(*rows, fallback="random_legal"), TABLE, "cooperation_rate", "agent:zs,cot")
    assert found.conditions.replaced.tolist() == [2, 2]
    with pytest.raises(AgonError, match="no match here has the metric points"):
        compare(together(*rows, fallback="random_legal"), TABLE, "points", "agent:zs,cot")


def test_matches_in_which_a_seat_never_answered_are_no_behaviour():
    some = together(*PLAYED_ROWS, ("cot", "uniform", "----", "CCCC"))
    metrics = ["cooperation_rate", "points", "won"]
    found, without = (compare(turns, TABLE, metrics, "agent:zs,cot") for turns in (some, PLAYED))
    pd.testing.assert_frame_equal(found.pairs, without.pairs)
    assert "note: 1 of 8 matches of cot left out: a seat gave no answer in them" in found.notes
    assert found.conditions.void.tolist() == [0, 5]
    silent = together(("zs", "uniform", "----", "CCCC"), ("cot", "uniform", "CCCC", "CCCC"))
    with pytest.raises(AgonError, match="no match of zs has won: in 1 of 1 a seat gave no answer at all"):
        compare(silent, TABLE, "won", "agent:zs,cot")


def test_what_says_how_asking_went_counts_matches_without_any_answer():
    rows = [
        ("zs", "uniform", "CCCC", "CCCC"),
        ("zs", "uniform", "----", "CCCC"),
        *(("cot", "uniform", "CCCC", "CCCC"),) * 2,
    ]
    some = together(*rows).assign(tokens=5)
    metrics = ["valid_share", "validity_rate", "void", "tokens_of_match", "cooperation_rate"]
    found = compare(some, TABLE, metrics, "agent:zs,cot")
    assert found.pairs.first_mean.tolist() == [0.5, 50, 2, 20, 1] and found.pairs.n_first.tolist() == [2, 2, 2, 2, 1]
    assert "note: 1 of 2 matches of zs left out of cooperation_rate: a seat gave no answer in them" in found.notes
    assert compare(some, TABLE, "valid_share", "agent:zs,cot").notes == found.notes[:1]


@pytest.mark.parametrize(("worth", "said"), [(np.nan, "payoff is missing in 1 rows"), (np.inf, "infinite in 1 rows")])
def test_payoffs_that_are_no_numbers_are_refused(worth, said):
    odd = PLAYED.reset_index(drop=True).assign(payoff=lambda turns: turns.payoff.mask(turns.index == 5, worth))
    with pytest.raises(AgonError, match=said):
        compare(odd, TABLE, "points", "agent:zs,cot")


def test_two_games_of_one_name_that_pay_otherwise_are_refused():
    two = games_table([PD, replace(PD, payoff=[[[5, 5], [1, 6]], [[6, 1], [2, 2]]])])
    with pytest.raises(AgonError, match="two different games are called pd, variant default"):
        compare(PLAYED, two, "regret", "agent:zs,cot")
    assert compare(PLAYED, two, "points", "agent:zs,cot").pairs.n_first[0] == 5


def test_p_that_draws_cannot_bring_lower_is_said_to_be_at_most_that():
    rows = [(agent, "uniform", letter * 4, "CCCC") for agent, letter in (("zs", "D"), ("cot", "C")) for _ in range(12)]
    found = compare(together(*rows), TABLE, ["cooperation_rate", "points"], "agent:zs,cot")
    assert found.pairs.p.eq(1 / (DRAWN + 1)).all() and str(found).count(f"p at most {1 / (DRAWN + 1):.3g} (1 of ") == 2
    assert f"after Holm at most {2 / (DRAWN + 1):.3g}" in str(found)
    assert "at most" not in str(compare(PLAYED, TABLE, "cooperation_rate", "agent:zs,cot"))


def test_order_index_and_types_of_the_turns_do_not_matter():
    mixed = PLAYED.sample(frac=1, random_state=1).astype(object).set_axis([7] * len(PLAYED))
    one, other = (compare(turns, TABLE, ["points", "won"], "agent:zs,cot") for turns in (PLAYED, mixed))
    pd.testing.assert_frame_equal(one.pairs, other.pairs)
    pd.testing.assert_frame_equal(one.strata, other.strata)


def test_of_three_conditions_all_pairs_are_compared_and_corrected():
    rows = [
        (agent, "uniform", own, "CCCC")
        for agent, owns in (("a", "CD"), ("b", "DC"), ("c", "DD"))
        for own in (owns * 2, "CCCD")
    ]
    found = compare(
        together(*rows), TABLE, ["cooperation_rate", "points"], "agent", detect={"points": 2, "cooperation_rate": 0.1}
    )
    assert found.pairs.groupby("metric").detect.unique().to_dict() == {"cooperation_rate": [0.1], "points": [2]}
    assert found.pairs[["first", "second"]].drop_duplicates().values.tolist() == [["a", "b"], ["a", "c"], ["b", "c"]]
    assert len(found.pairs) == 6 and (found.pairs.holm >= found.pairs.p).all() and "needed_to_detect" in found.pairs


@pytest.mark.parametrize(
    ("detect", "said"),
    [
        (0.1, "0.1 of which metric.* write --detect points=... --detect won=..."),
        ({"point": 1}, "detect has 'point', which is not compared: did you mean points?"),
        ({"points": -1}, "a difference to be detected must be a number above 0, not -1"),
        ({"points": float("nan")}, "a difference to be detected must be a number above 0, not nan"),
        ({"points": float("inf")}, "a difference to be detected must be a number above 0, not inf"),
    ],
)
def test_a_difference_to_detect_is_of_one_metric(detect, said):
    with pytest.raises(AgonError, match=said):
        compare(PLAYED, TABLE, ["points", "won"], "agent:zs,cot", detect=detect)
    one = compare(PLAYED, TABLE, ["points", "won"], "agent:zs,cot", detect={"points": 1}).pairs
    assert one.detect.notna().tolist() == [True, False]


def test_by_what_the_opponent_is_and_by_a_column_of_ones_own():
    found = compare(PLAYED, TABLE, "points", "opponent:uniform,grim")
    assert found.strata.agent.tolist() == ["cot", "zs"] and found.pairs.n_first[0] == 6
    own = PLAYED.assign(hot=lambda turns: np.where(turns["match"].isin(["m0", "m3"]), "hot", "cold"))
    assert compare(own, TABLE, "points", "hot:cold,hot", within=["agent", "opponent"]).pairs.n_second[0] == 2


def test_one_match_of_each_in_every_stratum_makes_pairs():
    rows = [
        (agent, other, own, "CCCC")
        for other in ("uniform", "grim", "pp")
        for agent, own in (("zs", "CDDD"), ("cot", "CCDD"))
    ]
    rows[-1] = ("cot", "pp", "CCCC", "CCCC")
    [row] = compare(together(*rows), TABLE, "cooperation_rate", "agent:zs,cot").pairs.itertuples()
    assert row.how == "paired" and row.strata == 3 and row.p == 0.25 and row.low < row.difference < row.high
    [row] = compare(together(*rows[:2]), TABLE, "cooperation_rate", "agent:zs,cot").pairs.itertuples()
    assert row.difference == 0.25 and "no interval" in row.how


@pytest.mark.parametrize(
    ("metric", "by", "said"),
    [
        (
            "cooperation",
            "agent:zs,cot",
            "no match here has the metric cooperation, which is for games: with seats under test",
        ),
        ("wins", "agent:zs,cot", r"did you mean win \(games: tradecraft\) or won \(games: any\)?"),
        ("cooperation_rat", "agent:zs,cot", "there is no metric 'cooperation_rat': did you mean cooperation_rate?"),
        ("points", "agnt:zs,cot", "turns have no column 'agnt': did you mean agent?"),
        ("points", "agent:zs,cott", "no match has agent 'cott': did you mean cot?"),
        ("points", "experiment", "to compare takes two conditions, and experiment has test alone"),
        ("points", "round", "round has several values for one seat of a match"),
        (
            "points",
            "agent:zs,pp",
            "zs and pp share no stratum .*: they never have the same seat; --within game,variant,role,model,opponent",
        ),
    ],
)
def test_what_cannot_be_compared_is_said_in_a_line(metric, by, said):
    with pytest.raises(AgonError, match=said):
        compare(PLAYED, TABLE, metric, by)


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("tests", "tests is a folder: name a table of turns in it"),
        ("tests/smoke/pocket.games.parquet", "is a table of games: name the table of turns beside it"),
    ],
)
@pytest.mark.parametrize("verb", ["compare --metric=points --by=agent", "rate"])
def test_what_is_no_table_of_turns_is_named(verb, path, says, capfd):
    assert main([*verb.split(), f"--turns={path}"]) == 1 and says in capfd.readouterr().err


def test_columns_that_tell_no_players_apart_are_refused():
    with pytest.raises(AgonError, match="by= names no column that tells players apart"):
        rate(PLAYED, TABLE, by=())


def test_turns_without_a_match_are_refused():
    for ask in (lambda: compare(PLAYED[:0], TABLE, "points", "agent"), lambda: rate(PLAYED[:0], TABLE)):
        with pytest.raises(AgonError, match="no match is in these turns: play or record some first"):
            ask()


@pytest.mark.parametrize(
    ("metrics", "by", "within", "said"),
    [
        ("points", "opponents", (), "no column 'opponents': did you mean opponent?"),
        ("points", "agent:zs,cot", ["opponentx"], "no column 'opponentx': did you mean opponent?"),
        ("points", "seat", (), "seat is no condition"),
        ("points", "match", (), "match tells every match from all others"),
        ("points", "agent:zs,cot", ["match"], "match tells every match from all others"),
        ("points", "agent:zs,cot", ["game", "agent"], "agent is what is compared"),
        ("points", "agent:zs,cot", ["condition"], "a column 'condition', which the result has too"),
        ("points", "agent:zs,cot", ["beside"], "a column 'beside', which the result has too"),
        ("points", "agent:zs,cot", ["points"], "a column 'points', which the result has too"),
        ([], "agent:zs,cot", (), "say by which metric"),
    ],
)
def test_what_is_asked_for_wrongly_is_said_in_a_line(metrics, by, within, said):
    own = PLAYED.assign(condition="a", beside="b", points="c")
    with pytest.raises(AgonError, match=said):
        compare(own, TABLE, metrics, by, within=within)


@pytest.mark.parametrize("gone", ["legal", "model", "payoff", "tokens"])
def test_a_column_of_turns_that_is_missing_is_named(gone):
    for asked in (
        lambda turns: compare(turns, TABLE, "points", "agent:zs,cot"),
        lambda turns: scores(turns, TABLE, ["points"]),
    ):
        with pytest.raises(AgonError, match=f"turns have no column '{gone}'"):
            asked(PLAYED.drop(columns=gone))


def test_games_with_seats_under_test_count_once_for_all_of_them():
    turns = read("tests/smoke/magic_scripted.parquet")
    games = read_games("tests/smoke/magic_scripted.parquet")
    turns = turns[turns.game == "public_goods"]
    found = compare(turns, games, ["rationality", "points"], "agent:magic_fair,magic_defector")
    assert (found.strata.n_first == found.strata.n_second).all() and found.pairs.second_mean[0] == 1


def test_tradecraft_is_compared_by_its_own_metrics():
    turns = read("tests/smoke/tradecraft/turns.parquet")
    one, other = sorted(turns.agent.unique())[:2]
    found = compare(
        turns,
        read_games("tests/smoke/tradecraft/turns.parquet"),
        ["win", "trades"],
        f"agent:{one},{other}",
        within=["game"],
    )
    assert found.pairs.metric.tolist() == ["win", "trades"] and found.pairs.first_mean.between(0, [1, 99]).all()


# --- commands


def test_the_command_says_it_writes_it_and_overwrites_nothing(tmp_path, capfd):
    saved(typed(dict(PLAYED.items())), tmp_path / "turns.parquet")
    words = [
        "compare",
        f"--turns={tmp_path}/turns.parquet",
        "--metric=cooperation_rate,points",
        "--by=agent:zs,cot",
        "--detect=cooperation_rate=0.1",
    ]
    assert main([*words, f"--out={tmp_path}/made"]) == 0
    told = capfd.readouterr().out
    assert "cooperation_rate: zs" in told and re.search(
        r"for a power of 80 %: .* at a difference of 0\.1 \(spread \S+, \d+ degrees of freedom\)", told
    )
    names = {path.name for path in (tmp_path / "made").iterdir()}
    assert names >= {"pairs.csv", "strata.csv", "conditions.csv", "points_zs_cot.png", "cooperation_rate_zs_cot.svg"}
    assert main([*words, f"--out={tmp_path}/made"]) == 1 and "another command has made" in capfd.readouterr().err
    for wrong, said in (
        ("--detect=0.1", "of which metric"),
        ("--detect=points=much", "write a number, or METRIC=NUMBER"),
        ("--experiment=scripted", "both say what to compare"),
    ):
        words[-1] = wrong
        assert main(words) == 1 + wrong.endswith("much") and said in capfd.readouterr().err


def test_without_a_name_it_is_the_projects_own_experiment(capfd, monkeypatch):
    asked = []
    monkeypatch.setattr("agon.turns.read_parts", lambda path, *_: asked.append(path) or iter([PLAYED]))
    assert main(["compare", "--metric=points", "--by=agent:zs,cot"]) == 0
    assert [str(path) for path in asked] == ["transcripts/scripted.parquet"], "as conf/config.yaml has it"


@pytest.mark.parametrize(
    ("metric", "by", "within"),
    [
        ("points", "agent:zs,cot", "opponent"),
        ("cooperation_rate", "agent:zs,cot", "opponent"),
        ("points", "config", "agent"),
    ],
)
def test_the_verb_reads_all_columns_that_a_comparison_needs(metric, by, within, tmp_path, capsys):
    odd = PLAYED["match"].str[-1].isin([*"13579"])
    turns = tidy(PLAYED.assign(config=np.where(odd, "one", "other")))
    saved(turns, tmp_path / "turns.parquet")
    words = [f"--turns={tmp_path}/turns.parquet", f"--metric={metric}", f"--by={by}", f"--within={within}"]
    assert main(["compare", *words]) == 0
    assert str(compare(turns, TABLE, [metric], by, within=[within])) in capsys.readouterr().out


def test_files_of_one_name_are_told_apart_by_their_folders(tmp_path, capfd):
    for place, (name, agent) in enumerate({"a/t": "zs", "b/t": "cot", "b/u": "cot"}.items()):
        some = pd.concat(
            [match(agent, "uniform", own, "CCCC", match=f"{name}{own}") for own in ("CCDD", "CCCC", "CDDD")]
        )
        saved(typed(dict(some.assign(repetition=place).items())), tmp_path / f"{name}.parquet")
    files = [f"{tmp_path}/{name}.parquet" for name in ("a/t", "b/t", "b/u")]
    assert main(["compare", f"--turns={','.join(files)}", "--metric=points", "--by=file", "--within=opponent"]) == 0
    told = capfd.readouterr().out
    assert all(f"\n{name}: 3 matches" in told for name in ("a/t", "b/t", "b/u"))


def test_two_tables_with_the_same_match_are_named(tmp_path, capfd):
    for name in ("one", "other"):
        saved(typed(dict(PLAYED.items())), tmp_path / f"{name}.parquet")
    files = f"--turns={tmp_path}/one.parquet,{tmp_path}/other.parquet"
    assert main(["compare", files, "--metric=points", "--by=agent:zs,cot"]) == 1
    assert "one.parquet and" in (said := capfd.readouterr().err) and "other.parquet have the same match, m0 (" in said
    with pytest.raises(
        AgonError, match="first match m0, turn 1, seat 0; if tables were put together, two of them have the same match"
    ):
        compare(pd.concat([PLAYED, PLAYED]), TABLE, "points", "agent:zs,cot")


def test_players_are_rated_by_the_matches_in_which_they_met():
    one_sided = together(
        *[("zs", "cot", "DDD", "CCC")] * 6, *[("cot", "zs", "CCD", "DDC")] * 2, ("zs", "uniform", "----", "CCCC")
    )
    found = rate(one_sided, TABLE, by=["agent"])
    assert found.players.player.tolist() == ["zs", "cot"] and found.players.matches.tolist() == [8, 8]
    assert rate(one_sided.assign(model="m"), TABLE, by=["agent", "model"]).players.player.tolist() == ["zs@m", "cot@m"]
    in_seats = rate(one_sided, TABLE, by=["agent", "seat"]).players
    assert in_seats.player.tolist() == ["zs@0", "zs@1", "cot@0", "cot@1"] and in_seats.matches.tolist() == [6, 2, 2, 6]
    with pytest.raises(AgonError, match="turns have no column 'agnet'"):
        rate(one_sided, TABLE, by=["agnet"])


def test_the_command_rates_players(capsys, tmp_path):
    path, out = tmp_path / "turns.parquet", tmp_path / "rated.csv"
    saved(tidy(together(*[("zs", "cot", "DDD", "CCC")] * 6, ("cot", "zs", "DDD", "CCC"))), path)
    assert main(["rate", f"--turns={path}", "--by=agent", f"--out={out}"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[:2] == ["zs", "7"]
    assert pd.read_csv(out)["rank"].tolist() == [1, 2]
    assert main(["rate", f"--turns={path}", f"--out={out}"]) == 1 and "exists already" in capsys.readouterr().err
    assert (
        main(["rate", f"--turns={path}", "--by=agent,agent"]) == 1 and "has a column twice" in capsys.readouterr().err
    )


def test_a_ranking_over_several_games_says_so(capsys, tmp_path):
    several = ROOT / "tests/smoke/scripted_turns.parquet"
    turns, games = read(several), read_games(several)
    write(turns[turns.game == "pd"], tmp_path / "one.parquet")
    write_games(games[games.game == "pd"], tmp_path / "one.parquet")
    for path, said in ((several, True), (tmp_path / "one.parquet", False)):
        assert main(["rate", f"--turns={path}", "--by=agent"]) == 0
        assert (
            "note: one list of 2 games (pd, rps): wins in all of them count together" in capsys.readouterr().out
        ) == said


def test_a_condition_that_only_plays_beside_another_one_is_said_to():
    turns = read(ROOT / "tests/smoke/standin_turns.parquet")
    beside_zs = turns[turns.match.isin(turns.match[turns.agent == "zs"])]
    with pytest.raises(AgonError, match="no match counts for agent 'srep'"):
        compare(beside_zs, TABLE, "points", "agent:zs,srep")


@pytest.mark.parametrize("column", ["match", "points"])
def test_players_are_not_told_apart_by_what_is_compared(column):
    with pytest.raises(AgonError, match=f"by={column} names no player"):
        rate(PLAYED, TABLE, "points", ["agent", column])


def test_where_every_match_is_a_tie_rate_says_that_nothing_is_known(tmp_path, capsys):
    saved(tidy(together(("grim", "pp", "CCCC", "CCCC"), ("pp", "zs", "CCCC", "CCCC"))), tmp_path / "ties.parquet")
    saved(tidy(together(("grim", "pp", "DDDD", "CCCC"), ("pp", "zs", "CCCC", "CCCC"))), tmp_path / "some.parquet")
    assert main(["rate", f"--turns={tmp_path / 'ties.parquet'}", "--by=agent"]) == 0
    assert "every match was a tie: nothing tells these players apart" in capsys.readouterr().out
    assert main(["rate", f"--turns={tmp_path / 'some.parquet'}", "--by=agent"]) == 0
    assert "every match was a tie" not in capsys.readouterr().out


def test_comparisons_take_both_names_and_old_turns_beside_new_ones():
    papers = read(PAPERS)
    old, new = (compare(papers, TABLE, "points", f"opponent:srep,{name}") for name in (OLD, NEW))
    assert old.pairs.equals(new.pairs) and old.pairs.second.tolist() == [NEW]
    assert sum(TOLD in note for note in old.notes) == 1
    mine = read(MINE).astype({"agent": object})
    both = pd.concat([papers.astype({"agent": object}), mine])
    assert NEW in set(compare(both, TABLE, "points", "opponent:srep,tft").pairs.second)


def test_players_are_rated_and_spread_under_the_new_name():
    papers = read(PAPERS)
    scripts = papers.assign(agent=papers.agent.astype(object), model=None)
    assert NEW in set(rate(scripts, TABLE).players.player) and OLD not in set(rate(scripts, TABLE).players.player)
    assert NEW in set(variances(papers, TABLE, "points").opponent) and OLD not in set(
        variances(papers, TABLE, "points").opponent
    )


def test_compare_names_the_answers_that_were_cut_off():
    seats = seat_rows(of_ends("length", "length", "stop"), TABLE)
    sides = seats[seats.seat == 0]
    [row] = _counts(sides, sides[["match"]].assign(condition="zs"), ["zs"]).itertuples()
    assert explain_condition(row).endswith("2 cut off")
