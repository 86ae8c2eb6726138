"""The verbs of the room: hypotheses registered, asking until a question is decided, and what a plan can decide."""

import re
from hashlib import blake2b
from random import Random

import msgspec
import pytest
from project import FULL, KILLS, Project, serving
from test_record_kill import CONCURRENCY, done, killed

from agon.models.recording import Recording
from agon.report.registration import FILE as FILE_OF_REGISTRATION
from agon.report.registration import Look

FILE = """
question: Does thinking change how often it cooperates?
hypotheses:
  - {metric: cooperation_rate, by: "agent:zs_once,cot_once", expect: less}
  - {metric: points, by: "agent:zs_once,cot_once", expect: difference, within: [game, opponent]}
exclusions: [matches in which nothing could be read]
"""
UNTIL = 'until: {metric: cooperation_rate, by: "agent:zs_once,cot_once", range: [0, 1]}\n'
SEATS = (("zs_once", "cot_once"), ("uniform", "best_reply_to_last"))


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path / "project")


def leaning(body) -> str:
    """Cooperates in nine answers of ten, and in one of ten where it is asked to think first."""
    drawn = blake2b(repr(body["messages"]).encode(), digest_size=1).digest()[0] / 256
    kind = drawn < (0.1 if "step by step" in repr(body["messages"]) else 0.9)
    return f"[move] {'cooperation' if kind else 'defection'}"


def written(project, text=FILE):
    (project.folder / "file.yaml").write_text(text)
    return "--file=file.yaml"


def test_a_registered_hypothesis_cannot_change_and_is_recognised(project):
    project.experiment("said", 2, seats=SEATS)
    with serving(answer=leaning) as server:
        project.model(server.openai)
        first = done(project.run("register", "experiment=said", written(project)))
        assert re.search(r"^registered: file.yaml \([0-9a-f]{16}\), 8 matches, before anything was asked$", first, re.M)
        done(project.run("record", "experiment=said"))
    assert "registered already" in done(project.run("register", "experiment=said", written(project)))
    late = project.run("register", "experiment=said", written(project, FILE.replace("less", "more")))
    assert late.returncode == 1 and "128 exchanges, and another one is registered" in late.stderr
    whole = done(project.run("play", "experiment=said"))
    other = done(project.run("play", "experiment=said", "experiment.repetitions=1", "out=transcripts/one.parquet"))
    note = (
        "note: the plan is not the registered one (data/recordings/said/registered.jsonl): 4 matches are planned, and 8"
    )
    assert note in other and "the plan is not" not in first + whole
    again = done(project.run("record", "experiment=said", "experiment.repetitions=1"))
    assert note in again
    by = ("compare", "--experiment=said", "--by=agent:zs_once,cot_once")
    registered = done(project.run(*by, "--metric=points", "--within=game,opponent"))
    assert "registered: points by agent:zs_once,cot_once within game,opponent: difference: " in registered
    assert "registered, and not looked at here: cooperation_rate by agent:zs_once,cot_once: less" in registered
    assert "registered exclusion, not checked: matches in which nothing could be read" in registered
    assert "matches are here" not in registered
    assert "not registered: won by agent:zs_once,cot_once" in done(project.run(*by, "--metric=won"))


@pytest.mark.parametrize(
    ("text", "words", "why"),
    [
        (None, (), "has no registered question to stop by"),
        (FILE, (), "has no registered question to stop by"),
        (
            FILE + UNTIL,
            ("experiment.repetitions=2",),
            "8 matches are planned, and 12 were registered: say the same settings",
        ),
        (FILE + UNTIL, ("batch=true",), "leave batch=true"),
    ],
)
def test_what_cannot_be_stopped_by_a_question_is_named(project, text, words, why):
    project.experiment("said", 3, seats=SEATS)
    project.model("http://127.0.0.1:9")
    if text:
        done(project.run("register", "experiment=said", written(project, text)))
    run = project.run("record-until", "experiment=said", *words)
    assert run.returncode == 1 and why in run.stderr


def test_a_question_that_the_matches_cannot_decide_is_not_registered(project):
    project.experiment("said", 3, seats=SEATS)
    project.model("http://127.0.0.1:9")
    for text, why in (
        (
            FILE + UNTIL.replace("cot_once", "cot"),
            "until.by=agent:zs_once,cot: no match has agent 'cot': there are cot_once, zs_once",
        ),
        (FILE.replace("{metric: cooperation_rate", "{metric: coperation_rate"), "did you mean cooperation_rate"),
        (FILE + UNTIL.replace("[0, 1]", "[0.2, 1]"), "cooperation_rate of pd default can be 0 to 1"),
    ):
        run = project.run("register", "experiment=said", written(project, text))
        assert run.returncode == 1 and why in run.stderr and run.stderr.count("\n") == 1
    assert not project.recordings("said").exists(), "nothing is registered"


@pytest.mark.parametrize(
    ("parameters", "reasons"),
    [
        ({"temperature": 0.0}, "answers at temperature 0"),
        ({"extra": {"seed": 7}}, "always has the same seed"),
        ({"temperature": 0, "seed": 0}, "answers at temperature 0 and always has the same seed"),
        ({"temperature": 1.0}, None),
    ],
)
def test_repetitions_that_are_copies_are_warned_of(project, parameters, reasons):
    project.experiment("said", 3, seats=SEATS)
    project.model("http://127.0.0.1:9", parameters={"max_tokens": 100} | parameters)
    registered = done(project.run("register", "experiment=said", written(project, FILE + UNTIL)))
    assert (f"note: server {reasons}: repetitions" in registered) == (reasons is not None)
    assert ("may decide too soon" in project.run("record-until", "experiment=said").stdout) == (reasons is not None)


def test_however_often_it_is_killed_it_decides_the_same(project, tmp_path):
    dice, kills = Random(), 0
    undisturbed = Project(tmp_path / "undisturbed")
    with serving(latency=0.004, answer=leaning) as server, serving(latency=0.004, answer=leaning) as quiet:
        for each, url in ((project, server.openai), (undisturbed, quiet.openai)):
            each.model(url, concurrency=CONCURRENCY)
            each.experiment("until", 40, seats=SEATS)
            done(each.run("register", "experiment=until", written(each, FILE + UNTIL)))
        whole = done(undisturbed.start("record-until", "experiment=until")).splitlines()
        for _ in range(KILLS or (50 if FULL else 2)):
            kills += killed(project.start("record-until", "experiment=until"), server, dice, quiet.requests)
        again = done(project.run("record-until", "experiment=until")).splitlines()
    decide_sign = [line for line in whole if "less than zs_once after" in line]
    assert decide_sign and decide_sign[0] == whole[-4] and set(decide_sign) <= set(again)
    recording, same = (Recording(each.recordings("until")) for each in (project, undisturbed))
    repeated = server.requests - len(recording)
    assert recording.answers.keys() == same.answers.keys() and quiet.requests == len(same)
    assert 0 <= repeated <= kills * CONCURRENCY and kills


def test_a_budget_stops_it_and_the_same_command_goes_on(project):
    project.experiment("until", 40, seats=SEATS)
    with serving(answer=leaning) as server:
        project.model(server.openai)
        done(project.run("register", "experiment=until", written(project, FILE + UNTIL)))
        cut = project.run("record-until", "experiment=until", "budget.calls=150")
        assert cut.returncode == 3 and server.requests <= 150 and "the same command continues" in cut.stdout
        whole = done(project.run("record-until", "experiment=until"))
    assert "cot_once less than zs_once after" in whole
    *_, before, look = (project.recordings("until") / FILE_OF_REGISTRATION).read_bytes().splitlines()
    look, before = (msgspec.json.decode(line, type=Look) for line in (look, before))
    assert look.answer in whole and look.low < look.high < 0 and before.answer in cut.stdout + cut.stderr
    assert before.answer.startswith("cot_once undecided against zs_once")
    assert "now: python -m agon play experiment=until partial=true" in whole
    config = project.folder / "conf/config.yaml"
    config.write_text(f"{config.read_text()}\npartial: true\n")
    play = project.run("play", "experiment=until", "fresh=true")  # as a study's stage does
    compared = done(
        project.run("compare", "--experiment=until", "--metric=cooperation_rate", "--by=agent:zs_once,cot_once")
    )
    assert play.returncode == 0 and "intervals here are too narrow" in compared


def test_a_plan_says_what_it_can_decide(project):
    project.experiment("planned", 5, seats=(("zs", "cot"), ("uniform",)))
    project.model("http://127.0.0.1:9")
    said = done(project.run("power", "experiment=planned", "--sd=3", "--detect=2", "budget.usd=1"))
    assert "points; spread 3, assumed" in said and re.search(r"^pd +default +agent +1 +1 +5 +3 +- +6\.\d", said, re.M)
    assert re.search(
        r"a difference of 2 in each of these takes (\d+) matches of each condition \(\1 in each of 2 kinds, \d+ in all\): about [\d.]+ USD",
        said,
    )
    assert re.search(r"^1 USD: \d+ matches, [\d.]+ USD, detect [\d.]+ by agent$", said, re.M)
    wrong = project.run("power", "experiment=planned", "--detect=0")
    assert wrong.returncode == 1 and "--detect must be a number above 0" in wrong.stderr


def test_a_budget_decides_what_it_can_pay_for(project):
    project.experiment("planned", 3, seats=(("zs", "cot"), ("best_reply_to_last", "uniform")))
    project.model("http://127.0.0.1:9", price={"input": 50, "output": 250})
    words = ("power", "experiment=planned", "--sd=4", "--detect=2")
    said, poor = (done(project.run(*words, f"budget.usd={usd}")) for usd in (50, 1))
    assert "1 USD are not two matches of each kind, which cost about" in poor
    assert re.search(r"^pd +default +agent +1 +2 +6 +4 +- +\d", said, re.M)
    usd = re.search(r"in each of 4 kinds, \d+ in all\): about ([\d.,]+) USD \(server", said)[1]
    [(spent, least)] = re.findall(r"^50 USD: [\d,]+ matches, ([\d.]+) USD, detect ([\d.]+) by agent", said, re.M)
    assert float(spent) <= 50 and (float(least) > 2) == (float(usd.replace(",", "")) > 50)


def test_cells_vary_as_what_the_experiment_has_played(project):
    project.experiment("varied", 12, seats=(("zs", "cot"), ("uniform",)))
    with serving(answer=leaning) as server:
        project.model(server.openai)
        before = done(project.run("power", "experiment=varied"))
        done(project.run("record", "experiment=varied"))
    done(project.run("play", "experiment=varied"))
    assert "transcripts/varied.parquet" not in before
    assert "spread as in transcripts/varied.parquet" in done(project.run("power", "experiment=varied"))
