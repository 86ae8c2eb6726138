"""Settings: the 103 that are shipped, those that users drop beside them, and bad ones, each refused in a line."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from magic_games import BUILT, family, target

from agon import ROOT, AgonError
from agon.cli import main
from agon.games.deduction.game import holds
from agon.games.deduction.scripts import KNOWLEDGE, lexicon
from agon.games.settings import variants

MAGIC = ROOT / "data/settings/magic"
GOOD = {
    "chameleon": {"topic": "Animals", "word": "cat", "spy": 2, "clues": ["soft", "quick", "small"]},
    "undercover": {"word": "cat", "spy_word": "dog", "spy": 0, "clues": ["soft", "quick", "small"]},
    "cost_sharing": {
        "tested": 0,
        "fee": 1000,
        "airlines": [
            {"name": name, "flights": 10, "passengers": 900, "hours": 1.5, "aircraft": "small"} for name in "ABC"
        ],
        "proposals": [[40, 30, 30]] * 3,
    },
    "prisoner3": {"tested": 1, "cooperate": 3, "one_defect": 5, "two_defect": 2, "defect": 1},
    "public_goods": {"tested": 2, "multiplier": 1.5},
}


def dropped(folder: Path, game, setting, name="mine"):
    """The games of a folder with one file."""
    (folder / f"{name}.json").write_text(setting if isinstance(setting, str) else json.dumps(setting))
    return variants(
        {
            "_target_": target(game) if game in BUILT else "agon.games.matrix.MatrixGame",
            "name": game,
            "rules": 1,
            "settings": str(folder),
        }
    )


# --- those that are shipped


def test_there_are_103_settings_and_143_games():
    files = {game: len(list((MAGIC / game).glob("*.json"))) for game in BUILT}
    assert list(files.values()) == [20, 20, 21, 21, 21]
    assert sum(len(family(game)) for game in BUILT) == 143


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
        (["--keeep=3"], 2, "'--keep'"),
        (["other"], 2, "unexpected extra argument (other)"),
        (["keep=3"], 2, "make-settings has options: write --keep 3 in the place of keep=3"),
    ],
)
def test_what_balancing_does_not_understand_writes_nothing(arguments, code, said, tmp_path, capsys):
    assert main(["make-settings", f"--folder={tmp_path / 'made'}", *arguments]) == code
    assert said in capsys.readouterr().err and not (tmp_path / "made").exists()


def test_a_family_outside_src_makes_settings_too(tmp_path, monkeypatch):
    """The dice that it throws are thrown last: shipped settings stay as they are."""
    (tmp_path / "far").mkdir()
    text = "def candidates(dice, topics):\n    yield {'size': dice.randrange(9), 'topics': topics}\n"
    (tmp_path / "far/settings.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("agon.conf.find_families", lambda: [tmp_path / "far"])
    assert main(["make-settings", f"--folder={tmp_path / 'made'}", "--games=far,cost_sharing"]) == 0
    assert [*json.loads((tmp_path / "made/far/01.json").read_text())] == ["size", "topics"]
    made, shipped = ((folder / "cost_sharing/01.json").read_text() for folder in (tmp_path / "made", MAGIC))
    assert made == shipped


def test_balancing_explains_itself(capsys):
    assert main(["make-settings", "--help"]) == 0 and "default: 20" in capsys.readouterr().out


def test_too_few_clues_are_said_in_a_line(tmp_path, capsys):
    clues = [{"clue": clue, "fits": ["rain", "snow", "hail"]} for clue in ("falls", "is wet")]
    topics = [{"topic": "Weather", "words": ["rain", "snow", "hail"], "pairs": [["rain", "snow"]], "clues": clues}]
    (tmp_path / "topics.json").write_text(json.dumps(topics))
    assert main(["make-settings", f"--folder={tmp_path / 'made'}", f"--topics={tmp_path / 'topics.json'}"]) == 1
    assert "topic Weather has too few clues" in capsys.readouterr().err


def test_spies_sit_everywhere_and_no_word_is_used_twice():
    for game in ("chameleon", "undercover"):
        settings = [setting for variant, setting in family(game).items() if variant.endswith(game)]
        assert sorted(Counter(setting.spy for setting in settings).values()) == [6, 7, 7]
        assert len({setting.word for setting in settings}) == 20


def test_the_topics_are_enough_and_no_clue_holds_a_word_of_its_topic():
    words = lexicon(KNOWLEDGE)
    topics = words.by_name.values()
    assert len(topics) >= 20 and all(len(topic.words) == 8 for topic in topics)
    assert len(words.by_word) == sum(len(topic.words) for topic in topics)
    assert sum(len(topic.pairs) for topic in topics) >= 40
    for topic in topics:
        assert not [clue.clue for clue in topic.clues for word in topic.words if holds(clue.clue, word)]


def test_every_word_has_clues_from_general_to_particular():
    faults = []
    for word, topic in lexicon(KNOWLEDGE).by_word.items():
        fits = [len(clue.fits) for clue in topic.clues if word in clue.fits]
        if not (min(fits) == 1 and max(fits) == 8 and len(fits) >= 4):
            faults.append(word)
    assert faults == []


# --- those that users drop


@pytest.mark.parametrize("game", GOOD)
def test_a_dropped_file_makes_games_that_are_named_after_it(game, tmp_path):
    made = dropped(tmp_path, game, GOOD[game])
    assert all(name.startswith("mine") and fields["variant"] == name for name, fields in made.items())
    for fields in made.values():
        assert fields.pop("_target_") == target(game) and "settings" not in fields and BUILT[game](**fields).tested


def test_one_game_of_clues_has_the_spy_under_test_and_one_everybody_else(tmp_path):
    made = dropped(tmp_path, "chameleon", GOOD["chameleon"])
    assert {name: fields["tested"] for name, fields in made.items()} == {"mine-chameleon": [2], "mine-crowd": [0, 1]}


def test_settings_of_a_game_without_a_schema_are_its_fields(tmp_path):
    assert dropped(tmp_path, "own", {"size": 3}) == {
        "mine": {"_target_": "agon.games.matrix.MatrixGame", "name": "own", "rules": 1, "variant": "mine", "size": 3}
    }


# --- bad ones

BAD = [
    ("chameleon", {"spy": [0, 2]}, r"it must be a whole number, and is a list"),
    ("chameleon", {"spy": 3}, "there is no seat 3: seats are 0 to 2"),
    ("chameleon", {"spy": None}, "it must be a whole number"),
    ("chameleon", {"word": None}, "it must be text"),
    ("chameleon", {"clues": ["soft", "a small cat", "quick"]}, "the clue of seat 1 holds the word 'cat'"),
    ("chameleon", {"clues": ["soft", "quick"]}, "there are 2 clues"),
    ("chameleon", {"colour": "red"}, "there is no setting colour"),
    ("undercover", {"spy_word": "cat"}, "needs two words"),
    ("undercover", {"clues": ["soft", "dogs", "no dog"]}, "the clue of seat 2 holds the word 'dog'"),
    (
        "cost_sharing",
        {"proposals": [[40, 30, 30], [50, 30, 30], [40, 30, 30]]},
        "seat 1, .*, must be 3 shares that sum to 100",
    ),
    ("cost_sharing", {"tested": 3}, "there is no seat 3"),
    ("cost_sharing", {"airlines": [{"name": "A"}]}, "flights is missing"),
    ("cost_sharing", {"fee": 0}, "it must be a whole number, at least 1"),
    ("prisoner3", {"tested": -1}, "it must be a whole number, at least 0"),
    ("prisoner3", {"defect": "1"}, "it must be a number"),
    ("public_goods", {"multiplier": 0}, "it must be a number, above 0"),
]


@pytest.mark.parametrize(("game", "changes", "said"), BAD)
def test_a_bad_setting_is_refused_in_a_line_that_names_the_file(game, changes, said, tmp_path):
    with pytest.raises(AgonError, match=said) as caught:
        dropped(tmp_path, game, GOOD[game] | changes)
    assert str(caught.value).startswith(f"{tmp_path}/mine.json: ") and "\n" not in str(caught.value)


@pytest.mark.parametrize("game", GOOD)
def test_a_missing_key_is_named(game, tmp_path):
    for number, key in enumerate(GOOD[game]):
        (tmp_path / str(number)).mkdir()
        with pytest.raises(AgonError, match=f"{key} is missing"):
            dropped(tmp_path / str(number), game, {k: v for k, v in GOOD[game].items() if k != key})


def test_what_is_no_json_and_an_empty_folder_are_refused(tmp_path):
    with pytest.raises(AgonError, match="there are no settings in"):
        variants({"_target_": target("chameleon"), "name": "chameleon", "settings": str(tmp_path)})
    (tmp_path / "broken").mkdir()
    with pytest.raises(AgonError, match=r"mine\.json: Input data was truncated"):
        dropped(tmp_path / "broken", "chameleon", "{")
