"""What rows of statements.toml cannot say: tables that compare some of the players' games with others, and tables of rules and problems."""

from collections.abc import Mapping

import pandas as pd
from scipy.stats import kruskal

from agon import input_files
from agon.games.tradecraft.problems import problem
from agon.games.tradecraft.recipes import Ruleset
from agon.games.tradecraft.rulesets import ruleset
from agon.games.tradecraft.settings import Certificate, Items
from agon.metrics.interval import contrasted
from agon_papers.draws import Draws
from agon_papers.statements import Missing
from agon_papers.tradecraft.counts import SHARES, head_to_head
from agon_papers.tradecraft.evidence import Evidence, chance
from agon_papers.tradecraft.facts import DIMENSIONS
from agon_papers.tradecraft.scores import PASSES

Who = Mapping[str, str]
"""Column of `Evidence.scores` -> the value wanted: whose scores."""


def gaps(evidence: Evidence, one: Who, other: Who, dimension: str = "") -> pd.DataFrame:
    """Mean scores of the one less the other's, over both passes: `least`, `most`; `low`, `high`: ends of the intervals over games."""
    if evidence.draws is not None:
        scores = evidence.rows("scores", {"dimension": [dimension] if dimension else [*DIMENSIONS]})
        return _drawn_gaps(evidence.draws, scores, one, other)
    rows = {}
    for name in [dimension] if dimension else DIMENSIONS:
        found = []
        for run in PASSES.values():
            every = ({key: [value] for key, value in who.items()} for who in (one, other))
            parts = [evidence.rows("scores", {"dimension": [name], "pass": [run], **who}) for who in every]
            found.append(contrasted(parts, lambda means: means[0] - means[1]))
        apart = [each.ratios[0] - each.ratios[1] for each in found]
        texts = [
            f"{each.ratios[0]:.3f} against {each.ratios[1]:.3f} ({each.low:+.3f} to {each.high:+.3f}, {each.clusters} games)"
            for each in found
        ]
        ends = min(each.low for each in found), max(each.high for each in found)
        rows[DIMENSIONS[name]] = (min(apart), max(apart), *ends, "; first pass ".join(texts))
    return pd.DataFrame.from_dict(rows, orient="index", columns=["least", "most", "low", "high", "said"])


def _drawn_gaps(draws: Draws, scores: pd.DataFrame, one: Who, other: Who) -> pd.DataFrame:
    keys = ["dimension", "pass"]
    sums = [draws.reduced(scores[_whose(scores, who)], keys, ["hits", "n"], ["sum"]) for who in (one, other)]
    apart = (sums[0].hits / sums[0].n - sums[1].hits / sums[1].n).unstack("pass")
    return pd.DataFrame({"least": apart.min(axis=1), "most": apart.max(axis=1)}).rename(index=DIMENSIONS, level=1)


def _whose(scores: pd.DataFrame, who: Who) -> pd.Series:
    """Which rows are of the players meant."""
    return (scores[list(who)] == pd.Series(who)).all(axis=1)


def rate_gaps(evidence: Evidence, group: str, measure: str) -> pd.DataFrame:
    """The rate of a group less that of each rival: `value`, with the ends of its interval over games, `low` and `high`."""
    rivals = evidence.groups[f"rivals of {group}"]
    if evidence.draws is not None:
        above, below = SHARES[measure]
        players = evidence.rows("players", {})
        sums = {name: evidence.draws.totals(players.loc[[name]], [above, below]) for name in (group, *rivals)}
        rates = pd.DataFrame({name: each[above] / each[below] for name, each in sums.items()})
        return rates[rivals].rsub(rates[group], axis=0).stack().to_frame("value")
    table = evidence.rows("players", {"group": [group, *rivals]}).rename(
        columns=dict(zip(SHARES[measure], ("hits", "n"), strict=True))
    )
    rows = {}
    for other in rivals:
        found = contrasted([table.loc[[group]], table.loc[[other]]], lambda rates: rates[0] - rates[1])
        rows[other] = (found.ratios[0] - found.ratios[1], found.low, found.high)
    return pd.DataFrame.from_dict(rows, orient="index", columns=["value", "low", "high"])


def met(evidence: Evidence, one: str, other: str) -> pd.DataFrame:
    """Games against each other: `one`, `other` (won by it alone), `both`, `neither`; `lead` of the one.

    `p`: of the games won alone, if both were as likely.
    """
    games = evidence.rows("players", {"group": [one], "against": [other]})
    if evidence.draws is not None:
        lead = evidence.draws.totals(games, ["alone"]).set_axis(["lead"], axis=1)
        return pd.concat({f"{one} and {other}": lead}).swaplevel()
    won = head_to_head(evidence.whole, one, other) or (0, 0, 0, 0)
    said = f"{won[0]} to {won[1]}, both {won[2]}, neither {won[3]} of {sum(won)}"
    table = pd.DataFrame([(*won, chance(*won[:2]), said)], columns=["one", "other", "both", "neither", "p", "said"])
    table["lead"] = table.one - table.other
    return table.set_axis([f"{one} and {other}"])


def difficulty(evidence: Evidence) -> pd.DataFrame:
    """Problems by their two targets: mean `length` of their games; `p`: of a rank test (Kruskal-Wallis) of all lengths."""
    lengths = evidence.rows("players", {"seat": [0]}).groupby(["problem", "targets"]).length
    table = lengths.agg(length="mean", games="size").droplevel("problem")
    return table.assign(p=kruskal(*(each for _, each in lengths)).pvalue)


def countable(evidence: Evidence, printed: dict[str, str]) -> pd.DataFrame:
    """Whether printed shares of a model's turns can be counts over its logged turns."""
    turns = evidence.players.groupby("group").logged.sum()
    texts = {}
    for name, share in printed.items():
        n = int(turns[name])
        fits = any(f"{k / n:.3f}" == share for k in range(n + 1))
        texts[name] = f"{share} is {'a' if fits else 'no'} count over its {n} logged turns"
    return pd.Series(texts).to_frame("said")


def rulesets(evidence: Evidence) -> pd.DataFrame:
    """The paper's two rulesets: items, recipes, fuelled (recipes that burn fuel), ways (recipes for each item that can be made), depth and
    mean_depth (crafts in a row that such an item takes).
    """
    rows = {}
    for name in ("minecraft", "alchemy"):
        rules = ruleset(name)
        depths = pd.Series(_depths(rules))
        made = depths[depths > 0]
        ways = sum(recipe.makes in made.index for recipe in rules.recipes) / len(made)
        fuelled = sum(recipe.fuelled for recipe in rules.recipes)
        rows[name] = (len(rules.items), len(rules.recipes), fuelled, ways, made.max(), made.mean())
    columns = ["items", "recipes", "fuelled", "ways", "depth", "mean_depth"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("ruleset")


def _depths(rules: Ruleset) -> dict[str, int]:
    """Crafts in a row that each item takes from what no recipe makes; fuel is taken as given. Without items that cannot be made."""
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


def problems(evidence: Evidence) -> pd.DataFrame:
    """The public set-ups, as certified: chain (the longest shortest one of its targets), trades (the fewest after which all can craft),
    distractors (items that no shortest chain uses), played (in the recorded games). Absent where it cannot be done.
    """
    known = set(evidence.facts.players.problem)
    rows = {}
    for number, (_, certificate) in _certified().items():
        chains = [goal.operations for goal in certificate.goals if goal.operations is not None]
        trades = certificate.together.trades
        fewest = None if trades is None else len(trades)
        rows[number] = (max(chains), fewest, len(certificate.distraction), number in known)
    columns = ["chain", "trades", "distractors", "played"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("problem")


def targets(evidence: Evidence) -> pd.DataFrame:
    """The targets of the played set-ups by problem, as certified: first, second (crafts of the shortest chain for the seat's target),
    trades (of both seats' targets, the most that one takes), harder (whose target takes more crafts: first, second or neither).
    """
    rows = {}
    for number in sorted(set(evidence.facts.players.problem) & set(certified := _certified())):
        goals = certified[number][1].goals
        first, second = (goal.operations for goal in goals)
        if first is None or second is None:
            raise Missing(f"problem {number} of data/problems/minecraft_public has a target without a certified chain")
        harder = "neither" if first == second else "first" if first > second else "second"
        rows[number] = (first, second, max(goal.trades or 0 for goal in goals), harder)
    columns = ["first", "second", "trades", "harder"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("problem")


def goals(evidence: Evidence) -> pd.DataFrame:
    """Every target of the public set-ups, as certified: alone, craftable (from both hands); index problem, item."""
    rows = [
        (number, item, goal.alone == "craftable", goal.craftable == "craftable")
        for number, (targets, certificate) in _certified().items()
        for goal, target in zip(certificate.goals, targets, strict=True)
        for item in target
    ]
    return pd.DataFrame(rows, columns=["problem", "item", "alone", "craftable"]).set_index(["problem", "item"])


def _certified() -> dict[int, tuple[list[Items], Certificate]]:
    """The paper's ten public set-ups by number: targets and certificate. Raises Missing where they are not there."""
    files = {int(path.stem): problem(path) for path in input_files("data/problems/minecraft_public", "*.json")}
    if not files:
        raise Missing("the public set-ups are not in data/problems/minecraft_public")
    return {number: (each.targets, each.certificate) for number, each in files.items() if each.certificate is not None}
