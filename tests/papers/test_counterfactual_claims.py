import re
from dataclasses import replace
from functools import cache
from itertools import product

import pandas as pd
import pytest
from claims import cells_of, decide

from agon import ROOT
from agon_papers.counterfactual import chance, grades
from agon_papers.counterfactual.cells import MODELS, VARIANTS
from agon_papers.counterfactual.records import PEERS, PLAIN, SCRIPTS, VOTED, Records, prepared, records_of
from agon_papers.verdict import COLUMNS, VERDICTS

_, STATEMENTS = cells_of("counterfactual")
FULL = {short: full for full, short in MODELS.items()}
ACTIONS = {"pd": ("cooperation", "defection"), "rps": ("rock", "paper", "scissors")}
TRULY = {"label": "payoff", "payoff": "joint", "joint": "label"}
UNRECORDED = ["votes_per_decision", "nucleus", "void_rounds_are_formatting"]
OTHER_CYCLE = [
    "labels_cost_many_points_against_the_cycle",
    "llama_loses_to_the_cycle_under_labels",
    "labels_delay_models_and_the_cycle_most",
]
"""Statements that compare variants by play against the cyclic script, which is another opponent in each of them."""
OTHER_REPLIES = {
    "joint_keeps_pp_exploitable": ("srep, mf, tft", "joint"),
    "payoffs_delay_comprehension": ("srep", "payoff"),
}
"""The same of the scripts that reply or play the equilibrium: statement -> the scripts and the changed variant."""
METRICS = {
    "total_points": "total_points",
    "opponent_comprehension": "opponent_comprehension_as_done",
    "cooperation_rate": "cooperation_rate",
    "efficiency": "efficiency_as_done",
}


@cache
def records() -> pd.DataFrame:
    """Two matches in every cell, all alike but for a mark of the variant, so that a table's true variant can be told."""
    rows = pd.DataFrame(
        [
            (game, variant, FULL[model], agent, opponent, repetition)
            for game, variant, model, agent, repetition in product(SCRIPTS, VARIANTS, FULL, (*PLAIN, *VOTED), range(2))
            for opponent in (*PEERS, *SCRIPTS[game])
        ],
        columns=["game", "variant", "model", "agent", "opponent", "repetition"],
    )
    mark = rows.variant.map(VARIANTS.index) / 5
    return rows.assign(
        rounds=rows.game.map({"pd": 16, "rps": 24}),
        tokens=1000.0,
        total_points=32 + mark,
        opponent_comprehension=5 + mark,
        opponent_comprehension_as_done=5 + mark,
        cooperation_rate=(0.1 + mark).where(rows.game == "pd"),
        efficiency=32 + mark,
        efficiency_as_done=32 + mark,
        validity_rate=100.0,
        distance_to_uniform=0.1,
        opponent_model=rows.model.where(rows.opponent.isin(PEERS)),
        match=named(rows),
    )


def named(rows: pd.DataFrame) -> pd.Series:
    """Ids of matches."""
    return rows[["game", "variant", "model", "agent", "opponent", "repetition"]].astype(str).agg("/".join, axis=1)


pytestmark = pytest.mark.usefixtures("few_draws")


def having(rows: pd.DataFrame, values: dict[str, object], **where: object) -> pd.DataFrame:
    """`rows` with other values where columns are what `where` says (one value or several)."""
    rows = rows.copy()
    named = {
        key: [FULL.get(v, v) for v in (value if isinstance(value, tuple | list) else (value,))]
        for key, value in where.items()
    }
    rows.loc[pd.concat([rows[key].isin(value) for key, value in named.items()], axis=1).all(axis=1), [*values]] = [
        *values.values()
    ]
    return rows


def printed(rows: pd.DataFrame, truly: dict[str, str] = TRULY) -> pd.DataFrame:
    """Tables 2 to 4, 6 to 8 and 10 to 13 as if printed from `rows`, each caption showing the variant that `truly` names."""
    parts = []
    for first, (metric, column) in zip((1, 5, 9, 13), METRICS.items(), strict=True):
        keys = ["model", "agent"] if metric == "efficiency" else ["model", "agent", "opponent"]
        for step, caption in enumerate(VARIANTS[1:], start=1):
            shown = rows[(rows.game == "pd") & (rows.variant == truly.get(caption, caption))]
            stats = shown.groupby(keys)[column].agg(mean="mean", std="std").reset_index()
            table = first if metric == "efficiency" else first + step
            parts.append(
                stats.assign(table=table, game="pd", metric=metric, captioned_variant=caption).assign(
                    opponent=stats.get("opponent", "all"), model=stats.model.map(MODELS), prompt=stats.agent
                )
            )
    table = pd.concat(parts)
    digits = table.metric.map({"efficiency": 2}).fillna(1).astype(int)
    text = {name: [f"{v:.{d}f}" for v, d in zip(table[name], digits, strict=True)] for name in ("mean", "std")}
    return table.assign(**text)


def action_rows(shares: dict[str, float] | None = None) -> pd.DataFrame:
    shares = shares or dict.fromkeys(ACTIONS["rps"], 1 / 3)
    rows = pd.DataFrame(
        [
            ("rps", variant, full, "zs", opponent, repetition, action, value, 300)
            for variant, full, opponent, repetition in product(VARIANTS, MODELS, PEERS, range(2))
            for action, value in shares.items()
        ],
        columns=["game", "variant", "model", "agent", "opponent", "repetition", "action", "value", "n"],
    )
    return rows.assign(match=named(rows))


@cache
def usual_actions() -> pd.DataFrame:
    return action_rows()


@cache
def payoff_rows() -> pd.DataFrame:
    matrices = {
        ("pd", False): [[4, 1], [6, 2]],
        ("pd", True): [[6, 1], [4, 2]],
        ("rps", False): [[0, -1, 1], [1, 0, -1], [-1, 1, 0]],
        ("rps", True): [[0, -3, 1], [3, 0, -1], [-1, 1, 0]],
    }
    names = {"label": ("paper", "rock", "scissors"), "joint": ("paper", "rock", "scissors")}
    rows = []
    for game, variant in product(ACTIONS, VARIANTS):
        labels = ACTIONS["pd"] if game == "pd" else names.get(variant, ACTIONS["rps"])
        matrix = matrices[game, variant in ("payoff", "joint")]
        for (i, own), (j, other), seat in product(enumerate(labels), enumerate(labels), (0, 1)):
            rows.append((game, variant, seat, own, other, float(matrix[i][j])))
    return pd.DataFrame(rows, columns=["game", "variant", "seat", "action", "others", "payoff"])


def tables(rows: pd.DataFrame, **other: object) -> dict[str, object]:
    published = other.pop("published") if "published" in other else printed(rows)
    return {"matches": rows, "shares": usual_actions(), "payoffs": payoff_rows(), "published": published, **other}


def verdict(name: str, rows: pd.DataFrame, **other: object) -> str:
    if other or "captions=" in STATEMENTS[name]:
        return row(records_of(**tables(rows, **other)), name).verdict
    return row(replace(plain_records(), matches=prepared(rows, payoff_rows())), name).verdict


def row(records: Records, name: str) -> pd.Series:
    return decide("counterfactual", records, [name]).loc[name]


@cache
def plain_records() -> Records:
    return records_of(**tables(records()))


RULES = [
    "pd_equilibria",
    "rps_equilibrium",
    "rps_payoff_equilibrium",
    "expected_pd_payoff",
    "expected_stag_hunt_payoff",
]
FOR_BOTH = ["expected_rps_payoff", "expected_rps_payoff_at_three"]
NAMED = [
    *RULES,
    *FOR_BOTH,
    *UNRECORDED,
    "decoding",
    "near_mutual_defection",
    "strong_models_cooperate_fully",
    "repetitions",
]
SOME = [name for number, name in enumerate(STATEMENTS) if number % 32 == 0 or name in NAMED]
"""One statement in 32, and those that are named: the notebook decides all of them."""


def some(given: Records) -> pd.DataFrame:
    return decide("counterfactual", given, SOME)


@pytest.fixture(scope="module")
def alike():
    return some(plain_records())


def test_columns_and_verdicts_are_those_of_claims_csv(alike):
    assert ["statement", *alike.columns] == [COLUMNS[1], COLUMNS[0], *COLUMNS[2:]]
    assert set(alike.verdict) <= {*VERDICTS}
    assert alike.paper.eq("counterfactual").all()


def test_every_decided_claim_says_its_numbers_and_how(alike):
    checked = alike[alike.verdict != "cannot be checked"]
    assert checked.recomputed.str.contains(r"\d|defection", regex=True).all()
    assert alike.why.str.endswith(".").all()


PD = {"game": "pd", "variant": "default"}
RPS = {"game": "rps", "variant": "default"}
STRONG, WARY = ("C3.5Sv2", "C3.7S", "C3.7S(T)", "L3.3-70B"), ("C4S", "C4S(T)", "DS-R1")
M = ("opponent_comprehension", "opponent_comprehension_as_done")


def m(value: float) -> dict[str, float]:
    return dict.fromkeys(M, value)


def spent(value: float) -> dict[str, float]:
    return {"efficiency": value, "efficiency_as_done": value}


@pytest.mark.parametrize(
    ("name", "values", "where", "expected"),
    [
        ("near_mutual_defection", {"total_points": 30}, {**PD, "opponent": "srep"}, "holds"),
        ("near_mutual_defection", {"total_points": 20}, {**PD, "opponent": "srep"}, "fails"),
        ("alternating_script_pays", {"total_points": 58}, {**PD, "opponent": "pp"}, "holds"),
        ("alternating_script_pays", {"total_points": 50}, {**PD, "opponent": "pp"}, "fails"),
        ("peers_cooperate", {"total_points": 64}, {**PD, "opponent": PEERS}, "holds"),
        ("peers_cooperate", {"total_points": 64}, {**PD, "opponent": PEERS, "model": WARY}, "fails"),
        ("strong_models_cooperate_fully", {"total_points": 64}, {**PD, "opponent": PEERS}, "holds"),
        ("strong_models_cooperate_fully", {"total_points": 63.9}, {**PD, "opponent": PEERS}, "fails"),
        ("wary_models_score_less", {"total_points": 40}, {**PD, "opponent": PEERS}, "holds"),
        ("wary_models_score_less", {"total_points": 50.6}, {**PD, "opponent": PEERS, "model": "C4S"}, "fails"),
        ("thinking_does_not_help", {"total_points": 60}, {**PD, "model": "C4S"}, "holds"),
        ("thinking_does_not_help", {"total_points": 60}, {**PD, "model": "C4S(T)"}, "fails"),
        ("srep_is_understood_early", m(2), {**PD, "opponent": "srep"}, "holds"),
        ("srep_is_understood_early", {**m(9), M[1]: 2}, {**PD, "opponent": "srep"}, "undecided"),
        ("wary_models_start_right", m(1), {**PD, "opponent": "srep"}, "holds"),
        ("mistral_never_understands", m(17), {**PD, "model": "Mistral"}, "holds"),
        ("mistral_never_understands", m(16), {**PD, "model": "Mistral"}, "fails"),
        ("alternation_is_hardest", m(12), {**PD, "opponent": "pp"}, "holds"),
        ("alternation_is_hardest", m(12), {**PD, "opponent": "mf"}, "fails"),
        ("little_cooperation_with_srep", {"cooperation_rate": 0.1}, {**PD, "opponent": "srep"}, "holds"),
        ("little_cooperation_with_srep", {"cooperation_rate": 0.2}, {**PD, "opponent": "srep"}, "fails"),
        ("wary_models_defect", {"cooperation_rate": 0.02}, {**PD, "model": WARY}, "holds"),
        ("wary_models_defect", {"cooperation_rate": 0.2}, {**PD, "model": "C4S"}, "fails"),
        ("srep_is_most_efficient", spent(99), {**PD, "opponent": "srep"}, "holds"),
        ("srep_is_most_efficient", spent(99), {**PD, "opponent": PEERS}, "fails"),
        ("few_void_rounds", {"validity_rate": 99.5}, {"game": "pd", "model": "DS-R1"}, "holds"),
        ("few_void_rounds", {"validity_rate": 98.5}, {"game": "pd", "model": "DS-R1"}, "fails"),
        ("void_rounds_change_nothing", {"validity_rate": 99}, {"game": "pd", "repetition": 1}, "holds"),
        (
            "void_rounds_change_nothing",
            {"validity_rate": 50, "total_points": 9},
            {"game": "pd", "repetition": 1, "model": "Mistral"},
            "fails",
        ),
        ("labels_keep_the_maximum", {"total_points": 96}, {"game": "pd", "variant": "label"}, "holds"),
        ("labels_keep_the_maximum", {"total_points": 96}, {"game": "pd", "variant": "payoff"}, "fails"),
        ("labels_hurt_wary_models", {"total_points": 20}, {"game": "pd", "variant": "label"}, "holds"),
        ("labels_hurt_wary_models", {"total_points": 20}, {"game": "pd", "variant": "payoff"}, "fails"),
        ("labels_make_mistral_kinder", {"cooperation_rate": 0.9}, {"game": "pd", "variant": "label"}, "holds"),
        ("labels_make_mistral_kinder", {"cooperation_rate": 0.0}, {"game": "pd", "variant": "label"}, "fails"),
        ("payoffs_bring_cooperation", {"total_points": 96}, {"game": "pd", "variant": "payoff"}, "holds"),
        ("payoffs_bring_cooperation", {"total_points": 96}, {"game": "pd", "variant": "joint"}, "fails"),
        ("joint_stays_at_64", {"total_points": 64}, {"game": "pd", "variant": "joint"}, "holds"),
        ("joint_stays_at_64", {"total_points": 64}, {"game": "pd", "variant": "label"}, "fails"),
        ("stag_hunt_is_harder_to_read", m(15), {"game": "pd", "variant": "payoff"}, "holds"),
        ("stag_hunt_is_harder_to_read", {**m(2), M[1]: 15}, {"game": "pd", "variant": "payoff"}, "undecided"),
        ("stag_hunt_is_harder_to_read", m(1), {"game": "pd", "variant": "payoff", "opponent": "tft"}, "holds"),
        ("labels_keep_peers_readable", m(1), {"game": "pd", "variant": "label"}, "holds"),
        ("labels_keep_peers_readable", {M[0]: 1}, {"game": "pd", "variant": "label"}, "undecided"),
        ("labels_delay_comprehension", m(15), {"game": "pd", "variant": "label"}, "holds"),
        ("labels_delay_comprehension", m(15), {"game": "pd", "variant": "payoff"}, "fails"),
        ("llama_is_most_efficient", spent(99), {"game": "pd", "model": "L3.3-70B"}, "holds"),
        ("llama_is_most_efficient", spent(99), {"game": "pd", "model": "Mistral"}, "fails"),
        ("efficient_models_are_terse", {"tokens": 10.0}, {"game": "pd", "model": ("DS-R1", "Mistral")}, "holds"),
        ("efficient_models_are_terse", {"tokens": 10.0}, {"game": "pd", "model": "DS-R1"}, "fails"),
        ("peers_score_zero", {"total_points": 0}, {**RPS, "opponent": PEERS}, "holds"),
        ("peers_score_zero", {"total_points": 3}, {**RPS, "opponent": PEERS}, "fails"),
        ("equilibrium_script_gives_nothing", {"total_points": 0}, {**RPS, "opponent": "srep"}, "holds"),
        ("equilibrium_script_gives_nothing", {"total_points": 3}, {**RPS, "opponent": "srep"}, "fails"),
        ("adaptive_script_is_understood_late", m(14), {**RPS, "opponent": "ap"}, "holds"),
        ("adaptive_script_is_understood_late", m(14), {**RPS, "opponent": "tft"}, "fails"),
        ("cycle_biases_actions", {"distance_to_uniform": 0.5}, {**RPS, "opponent": "pp"}, "holds"),
        ("cycle_biases_actions", {"distance_to_uniform": 0.5}, {**RPS, "opponent": "srep"}, "fails"),
        ("labels_cost_points", {"total_points": 1}, {"game": "rps", "variant": "label"}, "holds"),
        ("labels_cost_points", {"total_points": 99}, {"game": "rps", "variant": "label"}, "fails"),
        ("labels_cost_points", {"total_points": 1}, {"game": "rps", "variant": "label", "opponent": "pp"}, "fails"),
        ("joint_is_most_demanding", m(20), {"game": "rps", "variant": "joint"}, "holds"),
        ("joint_is_most_demanding", m(20), {"game": "rps", "variant": "label"}, "fails"),
        ("payoffs_are_most_efficient", spent(99), {"game": "rps", "variant": "payoff"}, "holds"),
        ("payoffs_are_most_efficient", spent(99), {"game": "rps", "variant": "label"}, "fails"),
        ("votes_keep_tendencies", {"cooperation_rate": 0.9}, {"game": "pd", "opponent": PEERS}, "holds"),
        ("votes_keep_tendencies", {"cooperation_rate": 0.9}, {"game": "pd", "agent": VOTED}, "fails"),
        ("votes_keep_tendencies", {"total_points": -9}, {"game": "rps", "agent": VOTED, "model": "DS-R1"}, "fails"),
        ("mistral_exploits_least", {"total_points": 1, **m(15)}, {"model": "Mistral"}, "holds"),
        ("mistral_exploits_least", {"total_points": 1}, {"model": "Mistral"}, "undecided"),
        ("rounds_per_match", {"rounds": 16}, {"game": "pd"}, "holds"),
        ("rounds_per_match", {"rounds": 17}, {"game": "pd", "variant": "joint"}, "fails"),
        ("pd_bounds", {"total_points": 96}, {"game": "pd"}, "holds"),
        ("pd_bounds", {"total_points": 12}, {"game": "pd", "repetition": 1}, "fails"),
        ("scripts_pay_more_than_models", {"total_points": 20}, {**PD, "opponent": PEERS}, "holds"),
        ("scripts_pay_more_than_models", {"total_points": 40}, {**PD, "opponent": PEERS}, "fails"),
        ("thinking_lowers_efficiency", spent(9), {"game": "pd", "model": ("C3.7S(T)", "C4S(T)")}, "holds"),
        ("thinking_lowers_efficiency", spent(99), {"game": "pd", "model": ("C3.7S(T)", "C4S(T)")}, "fails"),
        (
            "llama_reads_scripts_late_under_joint",
            m(14),
            {"game": "pd", "variant": "joint", "model": "L3.3-70B"},
            "holds",
        ),
        (
            "llama_reads_scripts_late_under_joint",
            m(2),
            {"game": "pd", "variant": "joint", "model": "L3.3-70B"},
            "fails",
        ),
        (
            "mistral_fails_extremely_under_votes",
            {"total_points": -60},
            {"variant": "joint", "model": "Mistral"},
            "holds",
        ),
        ("mistral_fails_extremely_under_votes", {"total_points": -60}, {"variant": "joint", "model": "DS-R1"}, "fails"),
        ("opponents_are_the_same_model", {"opponent_model": FULL["C4S"]}, {**PD, "model": "C4S"}, "holds"),
        ("opponents_are_the_same_model", {"opponent_model": FULL["C4S"]}, {**PD, "model": "DS-R1"}, "fails"),
        ("mistral_fails_most_often_in_rps", {"validity_rate": 90.0}, {"game": "rps", "model": "Mistral"}, "holds"),
        ("mistral_fails_most_often_in_rps", {"validity_rate": 99.0}, {"game": "rps", "model": "Mistral"}, "undecided"),
        ("mistral_fails_most_often_in_rps", {"validity_rate": 90.0}, {"game": "rps", "model": "DS-R1"}, "fails"),
        ("table_25_mistral_is_weak_in_rps", {"total_points": -9}, {"game": "rps", "model": "Mistral"}, "holds"),
        ("table_25_mistral_is_weak_in_rps", {"total_points": 99}, {"game": "rps", "model": "Mistral"}, "fails"),
    ],
)
def test_a_claim_follows_its_numbers(name, values, where, expected):
    assert verdict(name, having(records(), values, **where)) == expected


@pytest.mark.parametrize(
    ("name", "script", "variant"),
    [(name, "pp", "label") for name in OTHER_CYCLE] + [(name, *other) for name, other in OTHER_REPLIES.items()],
)
def test_another_opponent_in_each_variant_compares_nothing(name, script, variant):
    found = row(plain_records(), name)
    assert found.verdict == "cannot be checked"
    assert f"{script} is not the same opponent in default and {variant}" in found.why


WORDS = pd.DataFrame(
    {
        "model": ["Claude 4", "Llama 3.3", "Mistral Large", "Mistral Large"],
        "column": ["PD", "RPS", "Efficiency", "Main weakness"],
        "value": ["strong", "moderate", "low", "comprehension"],
    }
)


def test_words_are_thirds_of_the_models():
    rows = records().assign(total_points=lambda table: table.model.map([*MODELS].index), efficiency=0.0)
    rows["efficiency_as_done"] = rows.total_points
    found = {reading: grades.cells(rows, payoff_rows(), WORDS, reading) for reading in ("literal", "reconciled")}
    assert found["reconciled"].published.tolist() == [3, 2, 1] and set(found["literal"].statistic) == {"grade"}
    assert found["reconciled"].recomputed.tolist() == [2, 3, 3] and found["literal"].recomputed.tolist() == [2, 3, 2]
    assert not found["reconciled"].agrees.any()


def test_words_of_some_models_are_no_thirds():
    few = records().query("model != @FULL['DS-R1']")
    assert grades.cells(few, payoff_rows(), WORDS, "literal").recomputed.isna().all()


def test_every_word_of_table_25_but_the_last_columns_is_a_grade():
    words = pd.read_csv(ROOT / "tests/smoke/counterfactual_words.csv")
    known = words.value.isin(list(grades.GRADES))
    assert (
        set(words.column[~known]) == {"Main weakness"} and set(words.model) == set(grades.TABLED) and known.sum() == 20
    )


def test_equilibria_and_formulas_come_from_the_payoffs(alike):
    assert alike.verdict[RULES].eq("holds").all()
    assert "scissors 0.60" in alike.recomputed["rps_payoff_equilibrium"]


def test_formulas_for_both_dominance_orders_cannot_be_right(alike):
    assert alike.verdict[FOR_BOTH].eq("fails").all()


def test_wrong_payoffs_break_the_formula():
    payoffs = payoff_rows().replace({"payoff": {4.0: 5.0}})
    assert verdict("expected_pd_payoff", records(), payoffs=payoffs) == "fails"


@pytest.mark.parametrize(("truly", "expected"), [(TRULY, "fails"), ({}, "holds")])
def test_captions_are_compared_with_the_records(truly, expected):
    rows = records()
    assert verdict("captions_are_right", rows, published=printed(rows, truly)) == expected


def test_a_statement_under_a_wrong_caption_is_read_on_both_variants():
    rows = having(records(), {"total_points": 96}, game="pd", variant="payoff", opponent=PEERS)
    found = row(records_of(**tables(rows)), "labels_keep_the_maximum")
    assert found.verdict == "fails"
    _, _, shown = found.recomputed.partition(" | as the tables show (label: payoff): ")
    assert shown.startswith("C3.5Sv2 36 of 36; ") and shown.endswith("(true there)")


def test_a_statement_under_a_right_caption_is_read_once():
    rows = records()
    found = row(records_of(**tables(rows, published=printed(rows, {}))), "labels_keep_the_maximum")
    assert "|" not in found.recomputed


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ({"rock": 1 / 3, "paper": 1 / 3, "scissors": 1 / 3}, "holds"),
        ({"rock": 0.2, "paper": 0.2, "scissors": 0.6}, "fails"),
    ],
)
def test_uniform_play_is_told_from_the_equilibrium(shares, expected):
    assert verdict("uniform_play_persists", records(), shares=action_rows(shares)) == expected


@pytest.mark.parametrize("name", ["uniform_play_persists", "peers_are_played_uniformly"])
def test_uniform_players_are_near_uniform_too(name, monkeypatch):
    monkeypatch.setattr(chance, "MATCHES", 500)
    cycles = {(game, variant): ACTIONS[game] for game, variant in product(ACTIONS, VARIANTS)}
    found = row(records_of(**tables(records(), cycles=cycles)), name)
    assert found.chance > 0.5 and found.constant_low == found.constant_high == 0


@pytest.mark.parametrize(("second", "expected"), [("rock", "holds"), ("paper", "fails")])
def test_a_script_that_opens_in_two_ways_draws(second, expected):
    rows = records()
    replies = ["rock" if number % 2 else second for number in rows.repetition]
    given = replace(plain_records(), moves=rows[["match"]].assign(round=1, model_action="rock", script_action=replies))
    assert row(given, "scripts_draw_nothing").verdict == expected


@pytest.mark.parametrize(
    ("temperature", "tokens", "expected"), [(0.7, 50, "holds"), (1.0, 50, "fails"), (0.7, 4096, "fails")]
)
def test_decoding_is_read_from_the_settings(temperature, tokens, expected):
    settings = pd.DataFrame({"temperature": [temperature], "max_tokens": [tokens]})
    assert verdict("decoding", records(), settings=settings) == expected


def test_what_no_record_holds_cannot_be_checked(alike):
    unknown = alike.loc[["decoding", *UNRECORDED]]
    assert unknown.verdict.eq("cannot be checked").all()
    assert unknown.why.str.startswith("Missing: ").all()


@cache
def without(column, value):
    """Some claims, where the records lack some."""
    rows = records()
    few = rows[rows[column] != FULL.get(value, value)]
    return some(records_of(**tables(few, published=printed(rows))))


@pytest.mark.parametrize(
    ("column", "value"),
    [("model", "Mistral"), ("opponent", "srep"), ("agent", "sc-cot"), ("variant", "label"), ("game", "pd")],
)
def test_claims_that_lack_records_say_what_is_missing(column, value):
    found = without(column, value)
    silent = found[found.verdict == "cannot be checked"]
    assert silent.why.str.contains(value, regex=False).any()
    if column == "model":
        assert found.verdict["repetitions"] == "cannot be checked"


def test_claims_on_other_models_survive_a_missing_one():
    found = without("model", "Mistral")
    assert found.verdict["strong_models_cooperate_fully"] == "fails"
    assert "Mistral" in found.why["near_mutual_defection"]


def test_no_records_at_all_decide_only_what_payoffs_can():
    empty = records().iloc[:0]
    given = tables(empty, published=printed(records())) | {"shares": action_rows().iloc[:0]}
    found = decide("counterfactual", records_of(**given))
    checked = found.index[found.verdict != "cannot be checked"]
    of_rules = {name for name, text in STATEMENTS.items() if "played(" not in text}
    assert {"hares_are_risk_dominant", "rps_equilibrium"} <= set(checked) <= of_rules


def test_the_same_tables_give_the_same_intervals():
    once, again = (row(records_of(**tables(records())), "labels_cost_points") for _ in range(2))
    assert once.equals(again)


DECIDED = ROOT / "results/replication/counterfactual_claims.csv"


@pytest.mark.skipif(not DECIDED.exists(), reason="the published records are not decided yet: `dvc repro`")
def test_the_published_records_decide_nearly_all_claims():
    decided = pd.read_csv(DECIDED).set_index("statement")
    verdict = decided.verdict
    for name in decided.index[decided.draws.notna() & decided.chance.isna()]:
        assert re.search("EFFICIENCY|efficiency|token|validity|void", STATEMENTS[name]), f"{name} lacks uniform play"
    assert set(verdict.index[verdict == "cannot be checked"]) == {*UNRECORDED, *OTHER_CYCLE, *OTHER_REPLIES}
    assert verdict["strong_models_cooperate_fully"] == verdict["claude_37_reads_patterns_under_labels"] == "holds"
    fails = [
        "captions_are_right",
        "labels_keep_the_maximum",
        "decoding",
        "hares_are_risk_dominant",
        "scripts_draw_nothing",
    ]
    assert verdict[fails].eq("fails").all()
