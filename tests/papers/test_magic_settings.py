"""Settings of MAgIC's games as they are made: the shipped ones again, and the most even of many candidates."""

import json
import re

import pytest
from magic_games import BUILT, target

from agon import ROOT
from agon.cli import main
from agon.games.deduction.scripts import KNOWLEDGE
from agon.games.settings import variants

MAGIC = ROOT / "data/settings/magic"


def test_the_shipped_settings_are_those_that_the_command_makes(tmp_path):
    assert main(["make-settings", f"--folder={tmp_path}"]) == 0
    for game in BUILT:
        made, shipped = (
            {path.name: path.read_text() for path in (folder / game).iterdir()} for folder in (tmp_path, MAGIC)
        )
        assert made == shipped


def test_balancing_is_a_command_that_says_how_even_it_became(tmp_path, capsys):
    """Of candidates by the words of a list it keeps those in which both sides come out most even."""
    sizes = ["--games=chameleon", "--keep=6", "--matches=4", f"--topics={KNOWLEDGE}", "--prefix=mine-"]
    assert main(["make-settings", f"--folder={tmp_path}", *sizes]) == 0
    said = capsys.readouterr().out
    low, high, least, most = (int(number) for number in re.findall(r"(\d+)%", said))
    assert "6 settings of 176 candidates" in said and least < 25 < low <= 50 <= high < 75 < most
    assert [path.name for path in sorted((tmp_path / "chameleon").iterdir())] == [
        f"mine-0{n}.json" for n in range(1, 7)
    ]
    assert (
        len(variants({"_target_": target("chameleon"), "name": "chameleon", "settings": str(tmp_path / "chameleon")}))
        == 12
    )


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--games=chess"], 1, "there is no game chess: there are chameleon, undercover"),
        (["--topics=none.json"], 1, "none.json is not there"),
        (["--keep=0"], 2, "'--keep': 0 is not in the range x>=1"),
        (["--keeep=3"], 2, "there is no option --keeep: did you mean --keep?"),
        (["other"], 2, "make-settings takes only options, and other is none"),
        (["keep=3"], 2, "make-settings has options: write --keep 3 instead of keep=3"),
    ],
)
def test_what_balancing_does_not_understand_writes_nothing(arguments, code, said, tmp_path, capsys):
    assert main(["make-settings", f"--folder={tmp_path / 'made'}", *arguments]) == code
    assert said in capsys.readouterr().err and not (tmp_path / "made").exists()


def test_balancing_explains_itself(capsys):
    assert main(["make-settings", "--help"]) == 0 and "default: 20" in capsys.readouterr().out


def test_too_few_clues_are_said_in_a_line(tmp_path, capsys):
    clues = [{"clue": clue, "fits": ["rain", "snow", "hail"]} for clue in ("falls", "is wet")]
    topics = [{"topic": "Weather", "words": ["rain", "snow", "hail"], "pairs": [["rain", "snow"]], "clues": clues}]
    (tmp_path / "topics.json").write_text(json.dumps(topics))
    assert main(["make-settings", f"--folder={tmp_path / 'made'}", f"--topics={tmp_path / 'topics.json'}"]) == 1
    assert "topic Weather has too few clues" in capsys.readouterr().err
