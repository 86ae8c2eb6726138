"""Rulesets: the check, facts taken over, invented ones, other names and other recipes."""

import json
from collections import Counter

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_rulesets import crafting_depths

from agon import ROOT
from agon.cli import main
from agon.games.tradecraft import Recipe, Ruleset
from agon.games.tradecraft.rulesets import RulesetFile, build_ruleset, ruleset
from agon_problems.facts import import_facts
from agon_problems.faults import faults
from agon_problems.files import text_of
from agon_problems.invented import (
    Size,
    invented,
    permutation,
    rename,
    rewire,
    rewire_and_rename,
    unheard_names,
)

FOLDER = ROOT / "data/rulesets"
SHIPPED = sorted(path.stem for path in FOLDER.glob("*.json"))
MINECRAFT = msgspec.json.decode((FOLDER / "minecraft.json").read_bytes(), type=RulesetFile)
GOOD = {
    "ruleset": "mine",
    "source": "invented here",
    "items": ["log", "plank", "coal"],
    "recipes": [["plank", "saw", [[1, "#wood"]], "plank", 4], ["coal", "oven", [[1, "log"]], "coal", 1]],
    "tags": {"wood": ["log"]},
    "fuelled": ["oven"],
    "fuel": {"plank": [3, 2]},
}


def kinds(name):
    """How often the check finds what."""
    return Counter(line.partition(":")[0] for line in faults(ruleset(name)))


# --- those that are shipped


def test_the_check_finds_in_the_shipped_what_the_readme_says():
    assert {name: dict(kinds(name)) for name in SHIPPED if kinds(name)} == {
        "alchemy": {"unreachable item": 32},
        "minecraft": {"unreachable item": 51, "duplicate recipe": 33},
        "minecraft_renamed": {"unreachable item": 51, "duplicate recipe": 33},
    }
    page = (ROOT / "data/README.md").read_text()
    assert "51 items" in page and "33 recipes" in page and "32 items" in page


def test_the_shipped_are_those_that_the_command_makes(tmp_path):
    assert main(["remake-rulesets", f"--folder={tmp_path}"]) == 0
    made = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert len(made) == 4 and made == {name: (FOLDER / name).read_text() for name in made}


def test_a_file_is_written_in_one_way():
    texts = {name: (FOLDER / f"{name}.json").read_text() for name in SHIPPED}
    strays = [name for name, text in texts.items() if text_of(msgspec.json.decode(text, type=RulesetFile)) != text]
    assert not strays and texts


# --- facts taken over


def test_imported_facts_have_no_duplicates_and_lists_become_tags():
    minecraft = {
        "ruleset": "minecraft-java-1.20",
        "fuelled_kinds": ["smelting"],
        "items": ["a", "b", "c"],
        "tags": {"ab": ["b", "a"]},
        "fuel_smelts": {"a": [3, 2]},
        "recipes": [
            ["c", "shaped", [[2, ["a", "b"]]], "c", 1],
            ["c_again", "shaped", [[2, "#ab"]], "c", 1],
            ["c_of_more", "smelting", [[1, ["c", "a"]]], "c", 1],
        ],
    }
    file = import_facts(json.dumps(minecraft).encode())
    assert [(each.id, each.needs) for each in file.recipes] == [("c", [(2, "#ab")]), ("c/2", [(1, "#for_c")])]
    assert file.tags == {"ab": ["a", "b"], "for_c": ["a", "c"]} and file.fuel == {"a": (3, 2)}
    alchemy = {"ruleset": "little-alchemy-2", "items": ["air", "wind"], "recipes": [["air", "air", "wind"]] * 2}
    file = import_facts(json.dumps(alchemy).encode())
    assert [(each.needs, each.makes) for each in file.recipes] == [([(2, "air")], "wind")]


# --- the check


def test_the_check_names_everything_that_is_wrong():
    rules = Ruleset(
        "odd",
        ("air", "log", "plank", "stick", "egg", "hen", "dust", "moon"),
        (
            Recipe("plank", "saw", (("log", 1),), "plank", 4),
            Recipe("stick", "hand", (("plank", 2),), "stick", 4),
            Recipe("plank/2", "glue", (("#sticks", 1),), "plank", 1),
            Recipe("egg", "nest", (("hen", 1),), "egg", 1),
            Recipe("hen", "nest", (("egg", 1),), "hen", 1),
            Recipe("dust", "mill", (("log", 1), ("plank", 1)), "dust", 1),
            Recipe("dust/2", "hand", (("plank", 1), ("log", 1)), "dust", 1),
            Recipe("moon", "hand", (("#none", 1),), "moon", 1, True),
        ),
        {"sticks": ("stick",), "none": ()},
    )
    assert faults(rules) == [
        "dangling item: air is in no recipe",
        "unreachable item: egg cannot be made from what no recipe makes",
        "unreachable item: hen cannot be made from what no recipe makes",
        "unreachable item: moon cannot be made from what no recipe makes",
        "impossible recipe: moon takes #none, which has no members",
        "impossible recipe: moon burns fuel, and there is none",
        "duplicate recipe: dust/2 (hand) does what dust (mill) does",
        "matter from nothing: stick grows while nothing is used up, by stick, plank/2",
    ]


def test_a_cycle_makes_matter_where_its_fuel_is_made_too():
    cases = [
        ((("plank", 4),), 1, False, False),
        ((("plank", 3),), 1, False, True),
        ((("plank", 1),), 1, True, True),
        ((("plank", 3), ("stick", 2)), 1, False, False),
        ((("coal", 1),), 1, False, False),
        ((("coal", 1),), 2, False, True),
    ]
    for needs, number, fuelled, creates in cases:
        recipes = (
            Recipe("plank", "saw", (("log", 1),), "plank", 4),
            Recipe("stick", "hand", (("plank", 2),), "stick", 4),
            Recipe("coal", "oven", (("log", 1),), "coal", 1, True),
            Recipe("log", "odd", needs, "log", number, fuelled),
        )
        rules = Ruleset("odd", ("log", "plank", "stick", "coal"), recipes, fuel={"coal": 8, "plank": 1})
        found = [line for line in faults(rules) if line.startswith("matter")]
        assert bool(found) == creates and all("log" in line for line in found)


# --- invented ones

sizes = st.builds(
    lambda raw, made, more, **rest: Size(items=raw + made, recipes=made + more, raw=raw, **rest),
    raw=st.integers(3, 12),
    made=st.integers(6, 40),
    more=st.integers(0, 20),
    depth=st.integers(1, 6),
    branching=st.integers(2, 4),
    tags=st.integers(0, 4),
    fuels=st.integers(0, 4),
)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), sizes)
def test_invented_rulesets_are_coherent_as_large_and_as_deep_as_wanted(seed, size):
    try:
        file = invented(seed, size)
    except ValueError as error:
        assert str(error).startswith("no ruleset of this size")
        return
    rules = build_ruleset(file)
    assert faults(rules) == [] and text_of(file) == text_of(invented(seed, size))
    assert [len(rules.items), len(rules.recipes), len(rules.raw())] == [size.items, size.recipes, size.raw]
    assert max(len(recipe.needs) for recipe in rules.recipes) <= size.branching
    assert max(crafting_depths(rules).values()) == size.depth and len(rules.tags) <= size.tags


def test_invented_names_are_no_words_and_differ_by_seed():
    known = {part for name in ("minecraft", "alchemy") for item in ruleset(name).items for part in item.split("_")}
    names = set(ruleset("invented").items)
    assert not names & known and not {name[:2] for name in names} & {part[:2] for part in known}
    assert all(name.isalpha() and name.islower() and 5 <= len(name) <= 6 for name in names)
    assert len(names & set(invented(2).items)) < 100


def test_sizes_that_cannot_be_are_refused():
    cases = [
        ({"items": 10}, "150 of 10 items are raw"),
        ({"recipes": 100}, "850 items that are made need as many recipes"),
        ({"depth": 900}, "depth 900 needs as many items"),
        ({"depth": 0}, "must be at least 1"),
        ({"tags": -1}, "whole numbers"),
        ({"items": 2_000_000, "recipes": 2_000_000}, "invented names for 1,000,000 items at most"),
        ({"items": 4, "raw": 1, "depth": 1, "recipes": 100}, "too few items for so many recipes"),
        ({"items": 12, "raw": 2, "depth": 10, "recipes": 10, "branching": 1}, "1 raw items would be in no recipe"),
    ]
    for size, said in cases:
        with pytest.raises(ValueError, match=f"no ruleset of this size: .*{said}"):
            invented(1, Size(**size))


# --- other names, other recipes


def recipes_of(file, names=None):
    """What the recipes do, tags by their members, in other names."""
    names = names or {item: item for item in file.items}
    sets = {tag: frozenset(names[item] for item in items) for tag, items in file.tags.items()}
    return Counter(
        (
            each.station,
            frozenset((count, sets[need[1:]] if need[0] == "#" else names[need]) for count, need in each.needs),
            names[each.makes],
            each.number,
        )
        for each in file.recipes
    )


@pytest.mark.parametrize("words", [permutation, unheard_names])
def test_a_renamed_ruleset_is_the_same_in_other_words(words):
    names = words(MINECRAFT, 7)
    other = rename(MINECRAFT, names)
    assert recipes_of(other) == recipes_of(MINECRAFT, names) and build_ruleset(other)
    assert other.fuel == {names[item]: worth for item, worth in MINECRAFT.fuel.items()}
    assert all(names[item] != item for item in names) and other.items == sorted(set(names.values()))
    assert (set(other.items) == set(MINECRAFT.items)) == (words is permutation)
    assert not set(other.tags) & set(MINECRAFT.tags)
    back = {new: old for old, new in names.items()}
    assert recipes_of(rename(other, back)) == recipes_of(MINECRAFT)


@pytest.mark.parametrize(
    "file", [MINECRAFT, invented(3, Size(200, 260, 40, 6, tags=5, fuels=3))], ids=lambda file: file.ruleset
)
def test_a_rewired_ruleset_deals_the_same_outputs_to_the_same_ingredients(file):
    other = rewire(file, 7)
    for what in (lambda each: (each.makes, each.number), lambda each: (each.station, tuple(each.needs))):
        assert Counter(map(what, other.recipes)) == Counter(map(what, file.recipes))
    old = {(each.makes, tuple(each.needs)) for each in file.recipes}
    assert not [each.id for each in other.recipes if (each.makes, tuple(each.needs)) in old]
    assert faults(build_ruleset(other)) == [] and (other.items, other.tags, other.fuel) == (
        file.items,
        file.tags,
        file.fuel,
    )
    assert text_of(other) == text_of(rewire(file, 7)) != text_of(rewire(file, 8))


def test_joint_is_both():
    names = permutation(MINECRAFT, 7)
    assert recipes_of(rewire_and_rename(MINECRAFT, 7)) == recipes_of(rewire(MINECRAFT, 7), names)


def test_a_ruleset_that_cannot_be_rewired_is_refused():
    with pytest.raises(ValueError, match="mine cannot be rewired"):
        rewire(msgspec.convert(GOOD, RulesetFile), 1)


# --- the commands

SMALL = "--items=40", "--recipes=50", "--raw=6", "--depth=4"


def test_the_check_names_stations_that_are_not_there_and_another_name(tmp_path, capsys):
    file = {"ruleset": "other", "source": "us", "items": ["log", "plank"], "fuelled": ["ovne"]}
    (tmp_path / "mine.json").write_text(json.dumps(file | {"recipes": [["plank", "oven", [[1, "log"]], "plank", 4]]}))
    assert main(["check-rulesets", str(tmp_path / "mine.json")]) == 3
    assert capsys.readouterr().out.splitlines() == [
        "mine: other name: the file says that it is other, and is called mine.json",
        "mine: unknown station: ovne is among the fuelled, and no recipe is done there",
    ]


def test_a_ruleset_without_recipes_is_checked(tmp_path, capsys):
    (tmp_path / "mine.json").write_text('{"ruleset": "mine", "source": "us", "items": ["log"], "recipes": []}')
    assert main(["check-rulesets", str(tmp_path / "mine.json")]) == 3
    assert capsys.readouterr().out == "mine: dangling item: log is in no recipe\n"


@pytest.mark.parametrize("name", ["../evil", "a/b", ".hidden", "a b"])
def test_a_ruleset_is_written_into_its_folder_and_nowhere_else(tmp_path, capsys, name):
    (tmp_path / "in").mkdir()
    assert main(["invent-ruleset", f"--name={name}", *SMALL, f"--folder={tmp_path / 'in'}"]) == 1
    assert "is no name for a ruleset" in capsys.readouterr().err
    assert [path.name for path in tmp_path.rglob("*")] == ["in"]


@pytest.mark.parametrize("text", ["5", "{}", '{"ruleset": ["minecraft-java-1.20"]}', '{"ruleset": ' + "[" * 100_000])
def test_a_file_without_facts_is_refused_in_a_line(tmp_path, capsys, text):
    (tmp_path / "facts.json").write_text(text)
    assert main(["take-rulesets", str(tmp_path / "facts.json"), f"--folder={tmp_path}"]) == 1
    error = capsys.readouterr().err
    assert "facts.json: " in error and error.count("\n") == 1


def test_the_command_writes_checks_and_refuses(tmp_path, capsys):
    mine, here = tmp_path / "mine.json", f"--folder={tmp_path}"
    assert main(["invent-ruleset", "--name=mine", *SMALL, "--seed=5", here]) == 0
    assert main(["check-rulesets", str(mine)]) == 0 and capsys.readouterr().out == "mine: nothing is wrong\n"
    assert main(["change-ruleset", f"--of={mine}", "--by=joint", "--name=yours", here]) == 0
    yours = json.loads((tmp_path / "yours.json").read_text())
    assert yours["ruleset"] == "yours" and yours["source"].endswith(
        "depth 4, branching 3, tags 0, fuels 0; joint, seed 1"
    )
    assert main(["check-rulesets", "alchemy"]) == 3 and "zeus cannot be made from air, earth" in capsys.readouterr().out
    (tmp_path / "bad.json").write_text("{}")
    for code, *words in (
        (1, "check-rulesets", str(tmp_path / "bad.json")),
        (1, "check-rulesets", "none"),
        (1, "take-rulesets", str(mine)),
        (1, "invent-ruleset", "--name=x", "--items=3"),
        (2, "invent-ruleset", "--name=x", "--items=z"),
        (2, "invent-ruleset", "--name=x", "--colour=3"),
        (2, "invent-ruleset"),
        (2, "check-rulesets"),
        (2, "change-ruleset", "--of=minecraft", "--name=x", "--by=baking"),
    ):
        assert main(words) == code
        assert capsys.readouterr().err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.json", "mine.json", "yours.json"]
