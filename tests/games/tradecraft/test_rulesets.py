"""Rulesets: those that are shipped, and bad files."""

import json
from collections import Counter

import pytest
from small_rulesets import crafting_depths

from agon import AgonError
from agon.games.tradecraft.rulesets import ruleset

GOOD = {
    "ruleset": "mine",
    "source": "invented here",
    "items": ["log", "plank", "coal"],
    "recipes": [["plank", "saw", [[1, "#wood"]], "plank", 4], ["coal", "oven", [[1, "log"]], "coal", 1]],
    "tags": {"wood": ["log"]},
    "fuelled": ["oven"],
    "fuel": {"plank": [3, 2]},
}


# --- those that are shipped


def test_shipped_rulesets_have_their_size():
    cases = [
        ("minecraft", 944, 1144, 77, 236),
        ("minecraft_renamed", 944, 1144, 77, 236),
        ("minecraft_rewired", 944, 1144, 77, 236),
        ("minecraft_joint", 944, 1144, 77, 236),
        ("alchemy", 749, 3529, 0, 0),
        ("invented", 1000, 1200, 19, 20),
    ]
    for name, items, recipes, tags, fuels in cases:
        rules = ruleset(name)
        assert [len(each) for each in (rules.items, rules.recipes, rules.tags, rules.fuel)] == [
            items,
            recipes,
            tags,
            fuels,
        ]
        assert rules.name == name


def test_minecraft_is_as_the_specification_counts_it():
    rules = ruleset("minecraft")
    assert Counter(recipe.station for recipe in rules.recipes) == {
        "shaped": 590, "shapeless": 232, "stonecutting": 201, "smelting": 70,
        "blasting": 24, "smoking": 9, "campfire": 9, "smithing": 9,
    }  # fmt: skip
    assert sum(not tag.startswith("for_") for tag in rules.tags) == 21
    assert {recipe.station for recipe in rules.recipes if recipe.fuelled} == {"smelting", "blasting", "smoking"}
    assert [str(rules.fuel[item]) for item in ("coal", "oak_planks", "stick")] == ["8", "3/2", "1/2"]


def test_alchemy_is_as_the_specification_counts_it():
    rules = ruleset("alchemy")
    deep = crafting_depths(rules)
    assert len(deep) == 717 == len(rules.reachable(["air", "earth", "fire", "water"])) and max(deep.values()) == 16
    assert len({recipe.needs for recipe in rules.recipes}) == 3385
    assert {sum(count for _, count in recipe.needs) for recipe in rules.recipes} == {2}


# --- bad files

BAD = [
    ({"items": ["log", "plank", "coal", "log"]}, "log is twice among the items"),
    ({"items": ["plank", "coal"]}, "log, which is not among the items"),
    ({"items": [*GOOD["items"], "#wood"]}, "do not begin with #"),
    ({"tags": {}}, "recipe plank names #wood, which is not among the tags"),
    ({"tags": {"wood": ["twig"]}}, "tag wood names twig"),
    ({"tags": {"wood": ["log", "log"]}}, "tag wood names an item twice"),
    ({"fuel": {"twig": [1, 2]}}, "fuel names twig"),
    ({"fuel": {"log": [1, 0]}}, "it must be a whole number, at least 1"),
    ({"basic": ["twig"]}, "basic names twig"),
    ({"recipes": [["x", "saw", [[1, "log"]], "twig", 1]]}, "recipe x names twig"),
    ({"recipes": [["x", "saw", [[1, "log"]], "coal"]] * 2}, "two recipes have the same id"),
    ({"recipes": [["x", "saw", [], "coal"]]}, "it must be a list of length at least 1"),
    ({"recipes": [["x", "saw", [[1, "log"]] * 10, "coal"]]}, "it must be a list of length"),
    ({"recipes": [["x", "saw", [[0, "log"]], "coal"]]}, "it must be a whole number, at least 1"),
    ({"recipes": [["x", "saw", [[1.5, "log"]], "coal"]]}, "it must be a whole number"),
    ({"colour": "red"}, "there is no setting colour"),
]


def test_a_bad_file_is_refused_in_a_line_that_names_it(tmp_path):
    for number, (changes, text) in enumerate(BAD):
        (tmp_path / f"mine{number}.json").write_text(json.dumps(GOOD | changes))
        with pytest.raises(AgonError, match=text) as caught:
            ruleset(f"mine{number}", str(tmp_path))
        assert f"{tmp_path}/mine{number}.json: " in str(caught.value) and "\n" not in str(caught.value)


def test_a_new_file_is_a_ruleset_and_a_missing_one_names_the_others(tmp_path):
    (tmp_path / "mine.json").write_text(json.dumps(GOOD))
    assert len(ruleset("mine", str(tmp_path)).recipes) == 2
    with pytest.raises(AgonError, match=r"there is no ruleset yours in .*: there are mine"):
        ruleset("yours", str(tmp_path))
