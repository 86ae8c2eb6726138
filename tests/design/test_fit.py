"""A preregistration that the planned matches cannot answer is refused before anything is asked."""

import pytest
from msgspec import yaml

from agon import AgonError
from agon.plan import plan
from agon_design.fit import check
from agon_design.prereg import Preregistration

PAIRING = {"games": ["pd", "rps"], "models": ["standin"], "seats": [["zs_once", "cot_once"], ["uniform", "anything"]]}
KIND = {**PAIRING, "games": ["pd"]}
GOODS = {"games": ["public_goods"], "seats": [["magic_fair", "magic_selfish"], ["anything"], ["anything"]]}


def registered(text, pairing=KIND):
    """The notes on a preregistration with `text` after its question."""
    content = yaml.decode(f"question: Why?\n{text}", type=Preregistration)
    return check(content, plan({"name": "said", "repetitions": 3, "pairings": [pairing]}))


def hypothesis(metric="cooperation_rate", by="agent:zs_once,cot_once", more=""):
    return f'hypotheses: [{{metric: {metric}, by: "{by}", expect: more{more}}}]'


FITS = hypothesis()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (hypothesis("coperation_rate"), "there is no metric 'coperation_rate': did you mean cooperation_rate"),
        (hypothesis("offers_of_tested"), "there is no metric 'offers_of_tested'"),
        (hypothesis(by="agent:zs_once,cot_one"), "no match has agent 'cot_one': did you mean cot_once?"),
        (hypothesis(by="agnt:zs_once,cot_once"), "no seat has 'agnt' before it plays: did you mean agent?"),
        (hypothesis(by="phase:move,talk"), "no seat has 'phase' before it plays"),
        (hypothesis(by="model:standin,gpt_4o"), "no match has model 'gpt_4o'"),
        (hypothesis(more=", within: [oponent]"), "no seat has 'oponent' before it plays: did you mean opponent?"),
        (hypothesis(more=", within: [agent]"), "agent is what is compared"),
        (hypothesis(by="opponent:uniform,anything", more=", within: [config]"), "share no stratum"),
        (hypothesis("all_win"), "no planned match has the metric all_win, which is for games: tradecraft"),
    ],
)
def test_hypotheses_that_the_plan_cannot_answer_are_refused(text, said):
    with pytest.raises(AgonError, match=r"hypothesis 1, \w+ by ") as refused:
        registered(text)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        FITS,
        hypothesis(more=", within: [game, opponent], alike: true"),
        hypothesis("points", "opponent:uniform,anything"),
        hypothesis("valid_share", "repetition:0,1"),
        f"{FITS}\nexclusions: [{{agent: uniform}}, {{unreadable: 0.5}}, {{rounds: 16}}, free words]",
        f'{FITS}\nuntil: {{by: "agent:zs_once,cot_once", range: [0, 96]}}',
        f'{FITS}\nuntil: {{metric: won, by: "agent:zs_once,cot_once", range: [0, 1]}}',
    ],
)
def test_what_the_plan_can_answer_needs_no_note(text):
    assert registered(text) == []


def test_a_metric_without_a_value_in_a_trial_match_is_noted():
    [note] = registered(FITS, PAIRING)
    assert note.startswith("a trial match of rps default with random moves has no cooperation_rate")


@pytest.mark.parametrize(("key", "near"), [("agent: unifrm", "uniform"), ("model: standn", "standin")])
def test_exclusions_of_nobody_are_refused(key, near):
    with pytest.raises(AgonError, match=f"exclusion of matches with .*: did you mean {near}?"):
        registered(f"{FITS}\nexclusions: [{{{key}}}]")


@pytest.mark.parametrize(
    ("exclusions", "says"),
    [
        (
            "[{agent: cot_once}]",
            r"hypothesis 1, .*: the exclusions leave nothing to compare \(no match has agent 'cot_once'",
        ),
        ("[{agent: zs_once}, {agent: anything}]", "hypothesis 1, .*: the exclusions leave nothing to compare"),
        ("[{model: standin}]", "the exclusions leave out every planned match"),
        ("[{rounds: 17}]", "the exclusions leave out every planned match"),
    ],
)
def test_exclusions_of_a_whole_side_are_refused(exclusions, says):
    with pytest.raises(AgonError, match=says):
        registered(f"{FITS}\nexclusions: {exclusions}")


@pytest.mark.parametrize(
    ("metric", "range_", "bounds"),
    [("points", "[0, 95]", "0 to 96"), ("points", "[1, 96]", "0 to 96"), ("points_per_round", "[1, 6]", "0 to 6")],
)
def test_a_range_that_a_match_can_leave_is_refused(metric, range_, bounds):
    until = f'until: {{metric: {metric}, by: "agent:zs_once,cot_once", range: {range_}}}'
    with pytest.raises(AgonError, match=rf"{metric} of pd default can be {bounds}: the range must hold all values"):
        registered(f"{FITS}\n{until}")


def test_a_range_of_values_that_nobody_knows_is_noted():
    by = "agent:magic_fair,magic_selfish"
    text = f'{hypothesis("points", by)}\nuntil: {{by: "{by}", range: [0, 50]}}'
    [note] = registered(text, GOODS)
    assert note.startswith(
        "which points a match of public_goods can have is not known: a value outside of until.range=[0, 50]"
    )
