"""What was said before: files that do not fit, and registrations that leave nothing behind."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from agon import AgonError
from agon.cli import main
from agon.report.registration import FILE, registration
from agon.turns import read as turns_of
from agon.turns import read_games
from agon_design.compare import compare
from agon_design.prereg import Hypothesis, content_of, read, register
from agon_design.registered import Result, check_comparison, check_registration, exclude, run_registered
from agon_design.seats import seat_rows

TEXT = """
question: Does thinking make it kinder?
hypotheses: [{metric: points, by: "agent:zs,cot", expect: less}]
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "prereg.yaml"
    path.write_text(TEXT)
    return str(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("question: Why?\nhypotheses: []", "hypotheses"),
        (TEXT.replace("less", "perhaps"), "expect"),
        (TEXT.replace("zs,cot", "zs"), "by"),
        (TEXT + "alpha: 0.05\n", "alpha"),
        (TEXT + "exclusions: [{unreadable: 1.5}]\n", "unreadable"),
        (TEXT + "exclusions: [{rounds: 3, agent: zs}]\n", "an exclusion says one of"),
    ],
)
def test_files_that_do_not_fit_are_refused_in_a_line(file, text, said):
    Path(file).write_text(text)
    with pytest.raises(AgonError, match=f"prereg.yaml does not fit: .*{said}"):
        read(file)
    with pytest.raises(AgonError, match="is not there"):
        read(f"{file}.gone")


def test_a_registration_may_change_until_the_first_answer_only(file, tmp_path):
    folder = tmp_path / "recording"
    assert "before anything was asked" in register(file, folder, ["a", "b"], 0)
    assert "registered already" in register(file, folder, ["b", "a"], 5)
    Path(file).write_text(TEXT.replace("less", "more"))
    assert "before anything was asked" in register(file, folder, ["a", "b"], 0)
    Path(file).write_text(TEXT)
    for matches in (["a", "b"], ["a"]):
        with pytest.raises(AgonError, match="holds 1 exchange, and another one is registered"):
            register(file, folder, matches, 1)
    with pytest.raises(AgonError, match="holds 3 exchanges, and nothing is registered: a registration comes before"):
        register(file, tmp_path / "other", ["a"], 3)
    assert content_of(registration(folder)).hypotheses[0].expect == "more"


@pytest.mark.parametrize(
    ("low", "high", "p", "said"),
    [
        (-3, -1, 0.01, "as expected (95 % interval -3 to -1, p 0.01)"),
        (1, 3, 0.05, "the opposite (95 % interval +1 to +3, p 0.05)"),
        (-1, 1, 0.01, "undecided (95 % interval -1 to +1, p 0.01)"),
        (-3, -1, 0.06, "undecided (95 % interval -3 to -1, p 0.06)"),
        (float("nan"), float("nan"), float("nan"), "no interval"),
    ],
)
def test_a_hypothesis_is_held_against_the_interval_and_p(file, tmp_path, low, high, p, said):
    folder = tmp_path / "recording"
    assert check_registration(folder, []) == []  # nothing was registered
    register(file, folder, ["a"], 0)
    told = check_registration(folder, [Result(Hypothesis("points", "agent:zs,cot", "difference"), low, high, p)])
    assert f"registered: points by agent:zs,cot: less: {said}" in told
    other = check_registration(
        folder, [Result(Hypothesis("points", "agent:zs,cot", "difference", ("game",)), low, high, p)]
    )
    assert "not registered: points by agent:zs,cot; registered was: points by agent:zs,cot: less" in other


def test_verdicts_take_the_p_that_is_corrected_for_all_registered_hypotheses(file, tmp_path):
    folder = tmp_path / "recording"
    Path(file).write_text(TEXT.replace("}]", "}, {metric: won, by: 'agent:zs,cot', expect: less}]"))
    register(file, folder, ["a"], 0)
    points, won = (Result(Hypothesis(name, "agent:zs,cot", "less"), -3, -1, 0.03) for name in ("points", "won"))
    both, one = check_registration(folder, [points, won]), check_registration(folder, [points])
    for told in (both, one):
        assert "registered: points by agent:zs,cot: less: undecided (95 % interval -3 to -1, p 0.06)" in told
    over = "note: p of the verdicts is after Holm over the 2 registered hypotheses"
    assert over in both and f"{over}; it is an upper limit, because some are not looked at here" in one
    clear = check_registration(folder, [points, won._replace(p=0.001)])
    assert "registered: points by agent:zs,cot: less: as expected (95 % interval -3 to -1, p 0.03)" in clear


def test_a_damaged_registration_is_named(file, tmp_path):
    register(file, tmp_path / "recording", ["a"], 0)
    (tmp_path / "recording" / FILE).write_text("{")
    with pytest.raises(AgonError, match="is damaged"):
        registration(tmp_path / "recording")


TURNS = "tests/smoke/scripted_turns.parquet"
GAMES = read_games(TURNS)
OF_SCRIPTS = """
question: Does it pay to retaliate?
hypotheses:
  - {metric: points, by: "agent:uniform,grim", expect: more, within: [game, variant, opponent]}
  - {metric: points, by: "agent:uniform,nobody", expect: less}
exclusions: [matches in which nothing could be read]
"""


@pytest.fixture
def scripts(file, tmp_path, monkeypatch):
    """The turns of a recording that carries a preregistration, and a way to register for it."""
    monkeypatch.setattr("agon_design.registered.ROOT", tmp_path)
    Path(file).write_text(OF_SCRIPTS)
    turns = turns_of(TURNS)
    [name] = turns.experiment.unique()

    def said(matches=None):
        planned = turns["match"].unique() if matches is None else matches
        register(file, tmp_path / "data/recordings" / name, planned, 0)

    return turns, said


def test_the_registered_analysis_is_done_as_it_was_registered(scripts):
    turns, said = scripts
    assert (
        run_registered(turns, GAMES)
        == []
        == check_comparison(turns, compare(turns, GAMES, "points", "agent:uniform,grim").pairs, "agent", (), False)
    )
    said()
    lines = run_registered(turns, GAMES)
    keys = ["game", "variant", "opponent"]
    [row] = compare(turns, GAMES, "points", "agent:uniform,grim", within=keys).pairs.itertuples()
    assert row.low > 0
    verdict = "registered: points by agent:uniform,grim within game,variant,opponent: more: as expected ("
    assert any(line.startswith(verdict) for line in lines)
    assert "registered: points by agent:uniform,nobody: less: no interval" in lines
    assert any(line.startswith("points by agent:uniform,nobody: no match has agent 'nobody'") for line in lines)
    assert "registered exclusion, not checked: matches in which nothing could be read" in lines
    other = check_comparison(turns, compare(turns, GAMES, "won", "agent:uniform,grim").pairs, "agent", (), False)
    assert "not registered: won by agent:uniform,grim" in other and not any("were registered" in line for line in lines)


@pytest.mark.parametrize(
    ("exclusion", "words", "named"),
    [
        ("{unreadable: 0.1}", "matches in which more than 0.1 of a seat's answers could not be read", None),
        ("{rounds: 16}", "matches of fewer than 16 rounds", lambda rows: rows["round"].nunique() < 16),
        ("{agent: tit_for_tat}", "matches with agent tit_for_tat", lambda rows: rows.agent.eq("tit_for_tat").any()),
        ("{model: m}", "matches with model m", lambda rows: rows.model.eq("m").any()),
    ],
)
def test_exclusions_remove_their_matches_and_say_how_many(file, scripts, exclusion, words, named):
    turns, said = scripts
    Path(file).write_text(OF_SCRIPTS.replace("[matches", f"[{exclusion}, matches"))
    void = sorted(turns["match"].unique())[:5]
    turns = turns[~turns["match"].isin(void) | turns["round"].le(12)].reset_index(drop=True)
    seat = turns["match"].isin(void) & turns.seat.eq(1)
    action = turns.action.mask(seat & turns["round"].le(4))  # 4 of 12 answers
    turns = turns.assign(action=action, model=pd.Series(np.where(seat, "m", None), dtype="category"))
    said()
    gone = [key for key, rows in turns.groupby("match", observed=True) if named(rows)] if named else void
    kept, lines = exclude(seat_rows(turns, GAMES))
    many = turns["match"].nunique()
    assert sorted(gone) == sorted(set(turns["match"]) - set(kept["match"])) and 0 < len(gone) < many
    assert lines == [f"registered exclusion: {words}: {len(gone):,} of {many:,} matches left out"]
    told, keys = run_registered(turns, GAMES), ["game", "variant", "opponent"]
    assert lines[0] in told and sum("registered exclusion" in line for line in told) == 2
    rest = turns[turns["match"].isin(kept["match"])]
    [row] = compare(rest, GAMES, "points", "agent:uniform,grim", within=keys).pairs.itertuples()
    assert any(f"95 % interval {row.low:+.4g} to {row.high:+.4g}" in line for line in told)
    assert "matches are here" not in " ".join(told), "the matches are those that were registered"


def test_compare_leaves_out_what_was_registered(file, scripts, capfd):
    turns, said = scripts
    Path(file).write_text(OF_SCRIPTS.replace("[matches", "[{agent: tit_for_tat}, matches"))
    said()
    words = ["compare", f"--turns={TURNS}", "--metric=points", "--by=agent:uniform,grim"]
    assert main(words) == 0
    told = capfd.readouterr().out
    lost = turns["match"][turns.agent.eq("tit_for_tat")].nunique()
    rest = compare(
        turns[~turns["match"].isin(turns["match"][turns.agent.eq("tit_for_tat")])],
        GAMES,
        "points",
        words[-1].removeprefix("--by="),
    )
    assert str(rest) in told and f"with agent tit_for_tat: {lost:,} of {turns['match'].nunique():,} matches" in told


def test_exclusions_that_leave_nothing_are_named(file, scripts, capfd):
    turns, said = scripts
    Path(file).write_text(OF_SCRIPTS.replace("[matches", "[{rounds: 99}, matches"))
    said()
    assert main(["compare", f"--turns={TURNS}", "--metric=points", "--by=agent:uniform,grim"]) == 1
    assert "no match is left to compare: registered exclusion: matches of fewer than 99" in capfd.readouterr().err
    assert any(line.startswith("points by agent:uniform,grim: no match") for line in run_registered(turns, GAMES))


def test_other_matches_are_named(scripts):
    turns, said = scripts
    said(["a", "b", "c"])
    lines = run_registered(turns.assign(experiment=turns.experiment.astype(str) + " (partial: 9 of 10 matches)"), GAMES)
    assert f"note: {turns['match'].nunique():,} matches are here, and 3 were registered" in lines


def test_after_a_stop_intervals_are_called_too_narrow(file, scripts):
    turns, said = scripts
    Path(file).write_text(OF_SCRIPTS + 'until: {metric: points, by: "agent:uniform,grim", range: [0, 96]}\n')
    said()
    lines = run_registered(turns, GAMES)
    assert (
        "registered: asking stops when points by agent:uniform,grim in 0 to 96 is decided, wrongly with a chance of 0.05"
        in lines
    )
    assert any("the interval of `agon record-until` holds" in line for line in lines)
