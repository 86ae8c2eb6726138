"""Metrics by their names: what a match and seat has of them, and what is listed."""

import sys

import pandas as pd
import pytest
from harness import GAMES, actions

from agon import ROOT, AgonError
from agon.cli import main
from agon.games.matrix.metrics import per_match
from agon.games.tables import games_table, payoff_table
from agon.scores import all_metrics, scores
from agon.turns import read, typed, write, write_games

PD = GAMES["pd"]
TABLE = games_table(GAMES.values())


def match(one, other, own, theirs, **more):
    """The turns of one match from the agents and letters of both seats."""
    rows = []
    for number, pair in enumerate(zip(actions(own, PD), actions(theirs, PD), strict=True), 1):
        for seat, action in enumerate(pair):
            rows.append(
                {
                    **{"experiment": "test", "match": more["match"], "game": "pd", "variant": "default", "rules": 1},
                    **{"repetition": 0, "round": number, "turn": number, "phase": "move", "seat": seat, "config": "c"},
                    **{"agent": (one, other)[seat], "model": more.get("models", {}).get(seat), "action": action},
                    **{"legal": "{}", "valid": None not in pair, "payoff": float(PD.payoffs(pair)[seat])},
                    "fallback": more.get("fallback", "") if seat == 0 and number == 1 else "",
                }
            )
    return typed({name: [row[name] for row in rows] for name in rows[0]})


def together(*matches, **more):
    """Matches (agent, other, own letters, the other's) as one table, as pandas puts them together."""
    return pd.concat([match(*each, match=f"m{place}", **more) for place, each in enumerate(matches)])


def saved(turns, path):
    """Turns as a file, with the games beside it."""
    write_games(TABLE, path)
    write(turns, path)


PLAYED_ROWS = [
    *(("zs", "uniform", own, "CCCC") for own in ("CCDD", "CDDD", "CCCD")),
    *(("cot", "uniform", own, "CCCC") for own in ("CCCC", "CCC-", "CCCD")),
    *(("zs", "grim", own, "CCCC") for own in ("DDDD", "DDDC")),
    *(("cot", "grim", own, "CCCC") for own in ("CDDD", "CCDD")),
    *(("cot", "pp", "CCCC", "CCCC"),) * 2,
    ("zs", "cot", "CCCC", "DDDD"),
]
PLAYED = together(*PLAYED_ROWS)


@pytest.mark.parametrize(("file", "games"), [("pocket", "matrix"), ("tradecraft_viewer", "tradecraft")])
def test_metrics_keep_to_their_ranges(file, games):
    turns = read(f"tests/smoke/{file}.parquet")
    bounded = {
        each.name: each.range for each in all_metrics() if each.range is not None and each.games in ("any", games)
    }
    found = scores(turns, TABLE, [*bounded])
    assert len(bounded) > 6
    assert all(found[name].dropna().between(*bounded[name]).all() for name in bounded)


def test_a_seat_that_was_never_asked_has_no_share_of_valid_answers():
    paid = match("zs", "uniform", "CC", "CC", match="m")
    paid.loc[paid.seat == 1, ["legal", "action"]] = None
    paid.loc[paid.seat == 1, "asked"] = False
    assert scores(paid, TABLE, ["valid_share"]).valid_share.isna().tolist() == [False, True]


def test_tokens_and_seconds_of_a_match_are_all_or_absent():
    whole = match("zs", "uniform", "CC", "CC", match="m").assign(tokens=[1, 2, 4, 8], seconds=[0.5, 1, 2, 4])
    names = ["tokens_of_match", "seconds_of_match"]
    assert scores(whole, TABLE, names)[names].values.tolist() == [[5, 2.5], [10, 5]]
    some = whole.assign(tokens=[1, 2, None, 8], seconds=[0.5, 1, 2, None])
    assert scores(some, TABLE, names)[names].isna().values.tolist() == [[True, False], [False, True]]


def test_points_per_round_are_of_the_rounds_that_are_there():
    late = PLAYED[PLAYED["round"] > 2]
    found = scores(late, TABLE, ["points", "points_per_round"])
    assert found.points_per_round.tolist() == (found.points / 2).tolist()


@pytest.fixture
def own(monkeypatch, tmp_path):
    """Writes a module of one's own, which conf/config.yaml names among its packages."""

    def written(name, metric):
        text = f"METRICS = {{{metric!r}: 'one'}}\ndef measured(turns, games, names, seats):\n"
        text += f"    return turns[['match', 'seat']].drop_duplicates().assign({metric}=turns.seat * 2)\n"
        (tmp_path / f"{name}.py").write_text(text)

    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("agon.scores.PACKAGES", {"own_measures"})
    yield written
    sys.modules.pop("own_measures", None)


def test_a_single_module_of_ones_own_offers_metrics(own):
    own("own_measures", "doubled")
    assert [each.games for each in all_metrics() if each.name == "doubled"] == ["own_measures"]
    assert scores(PLAYED, TABLE, ["doubled"]).doubled.tolist() == [0, 2] * PLAYED["match"].nunique()


@pytest.mark.parametrize("name", ["points", "regret", "cooperation"])
def test_ones_own_metric_with_a_name_of_agons_is_refused(own, name):
    own("own_measures", name)
    with pytest.raises(AgonError, match=f"own_measures has a metric '{name}', and so have games: .*another name"):
        all_metrics()


def test_scores_are_those_of_the_family():
    turns = read("tests/smoke/counterfactual_turns.parquet")
    turns = turns[turns.match.isin(turns.match.unique()[:20])]
    found = scores(turns, TABLE, ["regret", "points_per_round"])
    wanted = per_match(turns, payoff_table(TABLE), seats=(0, 1)).astype({"match": str}).set_index(["match", "seat"])
    found = found.set_index(["match", "seat"])
    assert found.regret.to_dict() == pytest.approx(wanted.regret.to_dict())
    assert found.points_per_round.to_dict() == pytest.approx((wanted.total_points / wanted.rounds).to_dict())


def test_every_metric_has_a_line():
    assert len({each.name for each in all_metrics()}) == len(all_metrics()) and all(
        each.gives and each.games for each in all_metrics()
    )


@pytest.mark.parametrize("kind", ["games", "agents", "models", "experiments", "notebooks", "metrics"])
def test_what_there_is_is_listed_with_a_line_each(kind, capsys):
    assert main(["list", kind]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line.split()) > 1 for line in lines), lines
    if kind == "metrics":
        assert (
            lines[-1].startswith("For a metric of your own write METRICS and measured()")
            and "add-a-metric.md" in lines[-1]
        )
    if kind == "agents":
        assert "experiment.prompts=SET: ours, as_played, as_printed" in lines[-1]
    if kind == "games":
        assert [line.split()[0] for line in lines] == sorted(path.stem for path in (ROOT / "conf/game").glob("*.yaml"))


def test_what_cannot_be_listed_is_said(capfd):
    assert main(["list", "game"]) == 1 and "did you mean games?" in capfd.readouterr().err
