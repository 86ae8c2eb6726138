"""Settings: the 103 that are shipped, those that users drop beside them, and bad ones, each refused in a line."""

import json
from collections import Counter
from pathlib import Path

import pytest
from magic_games import BUILT, family, target

from agon import ROOT, AgonError
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
