"""Problems of TradeCraft: makes them for any ruleset, and certifies them. See docs/how-to/add-a-problem.md.

python -m agon.games.tradecraft.problems generate FOLDER RULESET [players=2] [count=1] [operations=4-6] [trades=1] [seed=1]
python -m agon.games.tradecraft.problems certify FILE ...
python -m agon.games.tradecraft.problems shipped [SET ...]
"""

import sys
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from math import ceil
from pathlib import Path
from random import Random
from typing import NamedTuple

import msgspec

from agon import ROOT, AgonError
from agon.games.tradecraft.amounts import LARGEST
from agon.games.tradecraft.planner.certificates import certify
from agon.games.tradecraft.planner.search import Plan, plan
from agon.games.tradecraft.planner.trading import MOST_TRADES, Exchange, exchange, union
from agon.games.tradecraft.recipes import Ruleset
from agon.games.tradecraft.rulesets import ruleset
from agon.games.tradecraft.settings import Problem

FOLDER = ROOT / "data/problems"
TRIES = 1000
"""Candidates for one problem, then it is given up."""
NODES = 50
"""Branches of the solver for a candidate: what is harder to certify is no candidate."""
FUELS = 8
"""Fuels that a problem may come with: those that most recipes take, so that they are good for something else too."""


class Wish(NamedTuple):
    """How difficult a problem is to be."""

    players: int = 2
    operations: tuple[int, int] = (4, 6)
    """The shortest chain of every target, from all hands: least and most operations."""
    trades: int = 1
    """The fewest trades after which all can craft their targets at once."""


class Set(NamedTuple):
    """A folder of problems that comes with agon."""

    ruleset: str
    seed: int
    wishes: Sequence[Wish]


def _wishes(count: int, players: int, trades: Sequence[int], bands: Sequence[tuple[int, int]]) -> list[Wish]:
    """From easy to hard."""
    return [Wish(players, bands[number * len(bands) // count], trades[number % len(trades)]) for number in range(count)]


BANDS = (2, 3), (4, 6), (7, 10), (11, 16)
SHIPPED = {
    "minecraft": Set("minecraft", 1, _wishes(40, 2, [1], BANDS)),
    "minecraft3": Set("minecraft", 2, _wishes(20, 3, [2, 3], BANDS)),
    "alchemy": Set("alchemy", 3, _wishes(20, 2, [1], [(2, 3), (3, 4), (4, 5), (6, 7)])),
    "invented": Set("invented", 4, _wishes(20, 2, [1], BANDS)),
}
"""Folder in data/problems -> what is made there; minecraft_public is TradeCraft's own."""


def problem(path: Path) -> Problem:
    """The problem of a file. Raises AgonError in one line for one that does not fit."""
    shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Problem)
    except FileNotFoundError:
        raise AgonError(f"there is no problem {shown}") from None
    except OSError as error:
        raise AgonError(f"{shown} cannot be read: {error.strerror}") from None
    except msgspec.DecodeError as error:  # a ValidationError is one
        raise AgonError(f"{shown}: {error}") from None
    known = set(ruleset(found.ruleset).items)
    if unknown := sorted({item for hand in [*found.hands, *found.targets] for item in hand} - known):
        raise AgonError(f"{shown}: {unknown[0]} is no item of {found.ruleset}")
    for hand in [*found.hands, *found.targets]:
        if large := [item for item, amount in hand.items() if amount > LARGEST]:
            raise AgonError(f"{shown}: {hand[large[0]]} {large[0]} are too many: no amount is above {LARGEST}")
    return found


def certified(found: Problem) -> Problem:
    """The problem with its certificate."""
    return msgspec.structs.replace(found, certificate=certify(ruleset(found.ruleset), found))


def text(found: Problem) -> bytes:
    """The problem as its file has it."""
    return msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n"


def generated(rules: Ruleset, wishes: Sequence[Wish], seed: int) -> Iterator[Problem]:
    """A certified problem for every wish; no two with the same target. Raises AgonError for what cannot be had.

    Every target is craftable from all hands, none alone, all at once after the trades wished for; some items only distract.
    """
    used: set[str] = set()
    for number, wish in enumerate(wishes, 1):
        least, most = ceil(wish.players / 2), 1 if wish.players == 2 else MOST_TRADES
        if wish.players < 2 or not least <= wish.trades <= most:
            raise AgonError(f"problems for {wish.players} players need 2 or more of them, and {least} to {most} trades")
        dice = Random(f"{rules.name} {seed} {number}")
        found = next((each for _ in range(TRIES) if (each := _tried(rules, wish, used, dice))), None)
        if found is None:
            raise AgonError(f"no problem like {wish} was found in {rules.name}: wish for other operations or trades")
        used |= {item for target in found.targets for item in target}
        source = f"generated by agon.problems: seed {seed}, number {number}"
        yield msgspec.structs.replace(found, source=source)


def _tried(rules: Ruleset, wish: Wish, used: Collection[str], dice: Random) -> Problem | None:
    """A candidate, if it turns out to be as wished."""
    needed: dict[str, Counter[str]] = {}
    while len(needed) < wish.players:
        found_one = next((each for _ in range(TRIES) if (each := _target(rules, wish, {*used, *needed}, dice))), None)
        if found_one is None:
            raise AgonError(
                f"{rules.name} has no target left whose chain is {wish.operations[0]} to {wish.operations[1]} long"
            )
        needed |= dict([found_one])
    targets, parts = list(needed), list(needed.values())
    if any(target in part for target in targets for part in parts):
        return None
    hands = _dealt(parts, wish.trades, dice)
    _distract(rules, hands, {*targets, *(item for part in parts for item in part)}, dice)
    found = Problem(rules.name, [dict(sorted(hand.items())) for hand in hands], [{item: 1} for item in targets])
    if not _fits(rules, found, wish):
        return None
    certificate = certify(rules, found)
    proved = all(goal.proved for goal in certificate.goals)
    return msgspec.structs.replace(found, certificate=certificate) if proved and not certificate.wrong else None


def _target(rules: Ruleset, wish: Wish, used: Collection[str], dice: Random) -> tuple[str, Counter[str]] | None:
    """A target and what it can be made of, if that takes as many operations as wished."""
    target = dice.choice(rules.items)
    part = _leaves(rules, target, wish.operations, dice) if rules.made_by(target) and target not in used else None
    if part is None or len(part) < 2:
        return None
    found = plan(rules, part, {target: 1}, NODES)
    right = isinstance(found, Plan) and wish.operations[0] <= found.operations <= wish.operations[1]
    return (target, part) if right else None


def _fits(rules: Ruleset, found: Problem, wish: Wish) -> bool:
    """Whether chains and trades are as wished; what is quick to find out comes first."""
    pool = union(found.hands)
    for hand, target in zip(found.hands, found.targets, strict=True):
        shared = plan(rules, pool, target, NODES)
        if not isinstance(shared, Plan) or not wish.operations[0] <= shared.operations <= wish.operations[1]:
            return False
        if plan(rules, hand, target, NODES).verdict != "not craftable":
            return False
    met = exchange(rules, found.hands, found.targets, crafts=False, nodes=NODES)
    return isinstance(met, Exchange) and len(met.trades) == wish.trades


def _leaves(rules: Ruleset, target: str, operations: tuple[int, int], dice: Random) -> Counter[str] | None:
    """What a target is made of, some operations before."""
    asked, made = Counter({target: 1}), set[str]()
    wanted, done, smelts = dice.randint(*operations), 0, 0
    while open_items := sorted(item for item in asked if item not in made and rules.made_by(item)):
        item = dice.choice(open_items)
        made.add(item)
        recipe = dice.choice(rules.made_by(item))
        needs = [(dice.choice(rules.members(need)), count) for need, count in recipe.needs if rules.members(need)]
        times = ceil(asked[item] / recipe.number)
        if len(needs) < len(recipe.needs) or made & {item for item, _ in needs} or done + times > wanted:
            continue
        done += times
        smelts += times * recipe.fuelled
        del asked[item]
        for need, count in needs:
            asked[need] += times * count
    if smelts:
        common = sorted(rules.fuel, key=lambda item: (-len(rules.used_in(item)), item))[:FUELS]
        fuel = dice.choice(common)
        asked[fuel] += ceil(smelts / rules.fuel[fuel])
    return asked if done >= operations[0] else None


def _dealt(needed: Sequence[Counter[str]], trades: int, dice: Random) -> list[Counter[str]]:
    """Hands that hold all that is needed; of what a seat needs, another has something, or several if that takes more trades."""
    hands = [Counter[str]() for _ in needed]
    for seat, part in enumerate(needed):
        items = sorted(part)
        dice.shuffle(items)
        others = [other for other in range(len(hands)) if other != seat]
        dice.shuffle(others)
        givers = others[: max(1, trades - 1)]
        for number, item in enumerate(items):
            holder = givers[number] if number < len(givers) else dice.randrange(len(hands))
            hands[holder][item] += part[item]
    return hands


def _distract(rules: Ruleset, hands: Sequence[Counter[str]], taken: Collection[str], dice: Random) -> None:
    """Give everybody something of what other targets are made of."""
    for hand in hands:
        for _ in range(dice.randint(1, 2)):
            item = dice.choice(rules.items)
            part = _leaves(rules, item, (1, 3), dice) or {item: 1}
            other = dice.choice(sorted(part))
            if other not in taken:
                hand[other] += min(part[other], 4)


def main(words: Sequence[str]) -> int:
    """Does what the module's docstring says."""
    match list(words):
        case ["generate", folder, name, *options]:
            wish, count, seed = _wished(options)
            _write(Path(folder), name, [wish] * count, seed)
        case ["certify", *files] if files:
            for file in map(Path, files):
                file.write_bytes(text(found := certified(problem(file))))
                _say(file, found)
        case ["shipped", *names]:
            if unknown := [name for name in names if name not in SHIPPED]:
                raise AgonError(f"there is no set {unknown[0]}: there are {', '.join(SHIPPED)}")
            for name in names or SHIPPED:
                _write(FOLDER / name, SHIPPED[name].ruleset, SHIPPED[name].wishes, SHIPPED[name].seed)
        case _:
            raise AgonError(f"that is no command: {(__doc__ or '').partition(chr(10) * 2)[2].strip()}")
    return 0


def _wished(options: Sequence[str]) -> tuple[Wish, int, int]:
    given = {"players": "2", "count": "1", "operations": "4-6", "trades": "1", "seed": "1"}
    for option in options:
        key, _, value = option.partition("=")
        if key not in given:
            raise AgonError(f"there is no option {key}: there are {', '.join(given)}")
        given[key] = value
    try:
        low, _, high = given["operations"].partition("-")
        wish = Wish(int(given["players"]), (int(low), int(high or low)), int(given["trades"]))
        count, seed = int(given["count"]), int(given["seed"])
    except ValueError:
        raise AgonError(f"options are whole numbers, operations two of them (4-6): {' '.join(options)}") from None
    if not 1 <= wish.operations[0] <= wish.operations[1] or count < 1:
        raise AgonError(f"count and operations are at least 1, from least to most: {' '.join(options)}")
    return wish, count, seed


def _write(folder: Path, name: str, wishes: Sequence[Wish], seed: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number, found in enumerate(generated(ruleset(name), wishes, seed), 1):
        file = folder / f"{number:02}.json"
        file.write_bytes(text(found))
        _say(file, found)


def _say(file: Path, found: Problem) -> None:
    known = found.certificate
    lines = [*(known.wrong or ["good"]), *known.notes] if known else ["not certified"]
    sys.stdout.write(f"{file.name}: {'; '.join(lines)}\n")


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (AgonError, OSError) as error:
        sys.exit(str(error))
