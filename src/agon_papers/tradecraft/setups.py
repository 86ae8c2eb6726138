"""The paper's rulesets and public set-ups as tables, with the planner's certificates of the set-ups."""

from collections.abc import Collection

import pandas as pd

from agon.games.tradecraft.recipes import Ruleset
from agon.games.tradecraft.rulesets import ruleset
from agon.games.tradecraft.settings import Certificate, Items, problem
from agon.paths import input_files
from agon_papers.verdict import Missing


def rulesets() -> pd.DataFrame:
    """The paper's two rulesets.

    Columns: items, recipes, fuelled (recipes that burn fuel), ways (recipes per craftable item), depth and mean_depth
    (the largest and the mean number of crafts in a row for a craftable item).
    """
    rows = {}
    for name in ("minecraft", "alchemy"):
        rules = ruleset(name)
        depths = pd.Series(_depths(rules))
        craftable_depths = depths[depths > 0]
        ways = sum(recipe.makes in craftable_depths.index for recipe in rules.recipes) / len(craftable_depths)
        fuelled = sum(recipe.fuelled for recipe in rules.recipes)
        rows[name] = (
            len(rules.items),
            len(rules.recipes),
            fuelled,
            ways,
            craftable_depths.max(),
            craftable_depths.mean(),
        )
    columns = ["items", "recipes", "fuelled", "ways", "depth", "mean_depth"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("ruleset")


def _depths(rules: Ruleset) -> dict[str, int]:
    """Item -> crafts in a row from raw items. Fuel is available. Items that nobody can craft are left out."""
    depths, step = dict.fromkeys(rules.raw(), 0), 0
    while True:
        step += 1
        new = {
            recipe.makes
            for recipe in rules.recipes
            if recipe.makes not in depths
            and all(any(item in depths for item in rules.members(need)) for need, _ in recipe.needs)
        }
        if not new:
            return depths
        depths |= dict.fromkeys(new, step)


def problems(played: Collection[float]) -> pd.DataFrame:
    """The public set-ups by their certificates.

    Columns: chain (the longest of its targets' shortest chains), trades (the fewest after which all can craft; absent:
    impossible), distractors (items that no shortest chain uses), played (in the recorded games).
    """
    rows = {}
    for number, (_, certificate) in _certified().items():
        chains = [goal.operations for goal in certificate.goals if goal.operations is not None]
        trades = certificate.together.trades
        fewest = None if trades is None else len(trades)
        rows[number] = (max(chains), fewest, len(certificate.distraction), number in set(played))
    columns = ["chain", "trades", "distractors", "played"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("problem")


def targets(played: Collection[float]) -> pd.DataFrame:
    """The targets of the played set-ups by problem, by their certificates. Raises Missing for a target without a
    certified chain.

    Columns: first, second (crafts of the shortest chain to the seat's target), trades (the most that one of the two
    targets takes), harder (the seat whose target takes more crafts: first, second or neither).
    """
    rows = {}
    for number in sorted(set(played) & set(certified := _certified())):
        goals = certified[int(number)][1].goals
        first, second = (goal.operations for goal in goals)
        if first is None or second is None:
            raise Missing(f"problem {number} of data/problems/minecraft_public has a target without a certified chain")
        harder = "neither" if first == second else "first" if first > second else "second"
        rows[number] = (first, second, max(goal.trades or 0 for goal in goals), harder)
    columns = ["first", "second", "trades", "harder"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("problem")


def goals() -> pd.DataFrame:
    """Every target of the public set-ups by its certificate. Index: problem, item. Columns: alone (craftable from the
    seat's own hand), craftable (from both hands).
    """
    rows = [
        (number, item, goal.alone == "craftable", goal.craftable == "craftable")
        for number, (targets, certificate) in _certified().items()
        for goal, target in zip(certificate.goals, targets, strict=True)
        for item in target
    ]
    return pd.DataFrame(rows, columns=["problem", "item", "alone", "craftable"]).set_index(["problem", "item"])


def _certified() -> dict[int, tuple[list[Items], Certificate]]:
    """Number of a public set-up -> (targets, certificate). Raises Missing if there are none."""
    files = {int(path.stem): problem(path) for path in input_files("data/problems/minecraft_public", "*.json")}
    if not files:
        raise Missing("the public set-ups are not in data/problems/minecraft_public")
    return {
        number: (setup.targets, setup.certificate) for number, setup in files.items() if setup.certificate is not None
    }
