"""Problems: what files may say, what is generated, and that all that are shipped are what their certificates say."""

import json
import os

import pytest

from agon import ROOT, AgonError
from agon.cli import main
from agon.games.tradecraft.recipes import Recipe, Ruleset
from agon.games.tradecraft.rulesets import ruleset
from agon.games.tradecraft.settings import problem
from agon_problems.problems import (
    BANDS,
    SHIPPED,
    Wish,
    generate_problems,
    problem_json,
    with_certificate,
)

FILES = sorted((ROOT / "data/problems").glob("*/*.json"))
SAMPLE = FILES if os.environ.get("AGON_FULL") else FILES[::12]
GOOD = {
    "ruleset": "minecraft",
    "hands": [{"coal": 1}, {"stick": 1, "apple": 1}],
    "targets": [{"torch": 3}, {"torch": 2}],
}


def name(path):
    return f"{path.parent.name}/{path.stem}"


def test_as_many_problems_as_promised_are_shipped():
    counts = {
        folder: len([path for path in FILES if path.parent.name == folder]) for folder in (*SHIPPED, "minecraft_public")
    }
    assert counts == {"minecraft": 40, "minecraft3": 20, "alchemy": 20, "invented": 20, "minecraft_public": 10}


def test_a_certificate_is_found_again():
    strays = [path for path in SAMPLE if problem_json(with_certificate(problem(path))) != path.read_bytes()]
    assert SAMPLE and not strays


def test_what_is_shipped_is_as_difficult_as_wished():
    for folder in SHIPPED:
        for number, wish in enumerate(SHIPPED[folder].wishes, 1):
            found = problem(ROOT / f"data/problems/{folder}/{number:02}.json")
            assert len(found.hands) == wish.players and not found.certificate.wrong and found.certificate.distraction
            assert all(wish.operations[0] <= goal.operations <= wish.operations[1] for goal in found.certificate.goals)
            assert all(goal.alone.startswith("not craftable") and goal.proved for goal in found.certificate.goals)
            assert (
                len(found.certificate.together.trades) == wish.trades and not found.certificate.together.crafts_between
            )


def test_no_target_is_shipped_twice_in_a_set():
    for folder in SHIPPED:
        targets = [
            item for path in FILES if path.parent.name == folder for each in problem(path).targets for item in each
        ]
        assert len(targets) == len(set(targets))


@pytest.mark.parametrize("folder", ["minecraft", "invented"])
def test_the_generator_makes_what_is_shipped(folder):
    made = next(generate_problems(ruleset(SHIPPED[folder].ruleset), SHIPPED[folder].wishes, SHIPPED[folder].seed))
    assert problem_json(made) == (ROOT / f"data/problems/{folder}/01.json").read_bytes()


def test_problems_are_as_difficult_as_wished():
    for wish in [Wish(2, BANDS[1], 1), Wish(3, BANDS[0], 2), Wish(3, BANDS[0], 3)]:
        (found,) = generate_problems(ruleset("minecraft_rewired"), [wish], 7)
        assert len(found.certificate.together.trades) == wish.trades
        assert all(wish.operations[0] <= goal.operations <= wish.operations[1] for goal in found.certificate.goals)


def test_a_wish_that_cannot_be_had_is_refused():
    for wish in [Wish(2, (4, 6), 2), Wish(3, (4, 6), 1), Wish(1, (4, 6), 1), Wish(2, (4000, 5000), 1)]:
        with pytest.raises(AgonError, match=r"trades$|has no target left"):
            list(generate_problems(ruleset("invented"), [wish], 1))


def test_recipes_that_burn_are_left_out_where_nothing_burns():
    cold = Ruleset(
        "cold",
        ("a", "b", "c", "d"),
        (
            Recipe("c", "joining", (("a", 1), ("b", 1)), "c", 1),
            Recipe("d", "firing", (("a", 1), ("b", 1)), "d", 1, fuelled=True),
        ),
    )
    with pytest.raises(AgonError, match=r"no problem like|has no target left"):
        list(generate_problems(cold, [Wish(2, (1, 2), 1)], 1))


def test_a_bad_file_is_refused_in_a_line(tmp_path):
    cases = [
        ({"hands": [{"coal": 1}]}, "it must be a list of length at least 2"),
        ({"targets": [{"torch": 1}]}, "2 hands, but 1 targets"),
        ({"targets": [{"torch": 1}, {}]}, "of length at least 1"),
        ({"hands": [{"coal": 0}, {"stick": 1}]}, "at least 1"),
        ({"hands": [{"coal": 10_001}, {"stick": 1}]}, "10001 coal are too many: no amount is above 10000"),
        ({"hands": [{"coal": 1.5}, {"stick": 1}]}, "it must be a whole number"),
        ({"hands": [{"cole": 1}, {"stick": 1}]}, "cole is no item of minecraft"),
        ({"ruleset": "chess"}, "there is no ruleset chess"),
        ({"goal": 1}, "there is no setting"),
    ]
    for change, complaint in cases:
        (tmp_path / "x.json").write_text(json.dumps(GOOD | change))
        with pytest.raises(AgonError, match=complaint) as error:
            problem(tmp_path / "x.json")
        assert "\n" not in str(error.value)


def test_the_command_certifies_and_generates(tmp_path, capsys):
    (tmp_path / "mine.json").write_text(json.dumps(GOOD))
    made = [f"--folder={tmp_path / 'new'}", "--ruleset=invented"]
    assert main(["certify-problems", str(tmp_path / "mine.json")]) == 0
    assert main(["make-problems", *made, "--count=2", "--operations=2-3"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["01.json: good", "02.json: good"]
    assert problem(tmp_path / "mine.json").certificate.wrong == [
        "not all targets can be reached in one game: not craftable"
    ]
    for code, *wrong in (
        (2, "make-problems"),
        (2, "make-problems", *made, "--size=3"),
        (2, "make-problems", *made, "--count=many"),
        (2, "make-problems", *made, "--count=0"),
        (1, "make-problems", *made, "--operations=6-4"),
        (1, "make-problems", *made, "--operations=0"),
        (1, "remake-problems", "--sets=x"),
        (1, "certify-problems", str(tmp_path)),
    ):
        assert main(wrong) == code and capsys.readouterr().err.count("\n") == 1
