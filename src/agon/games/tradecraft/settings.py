"""The settings of TradeCraft: problems with their certificates, files of data/problems."""

from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any

import msgspec

from agon.errors import AgonError, describe_fault
from agon.games import settings
from agon.games.tradecraft import Ruleset, TradeCraft, rulesets
from agon.games.tradecraft.amounts import LARGEST
from agon.games.tradecraft.rulesets import Count
from agon.paths import display_path
from agon.registry import kind

Items = dict[str, Count]
Written = dict[str, int | str]
"""Amounts as a file has them: 3, "1/8"."""


class Craft(msgspec.Struct, forbid_unknown_fields=True):
    """A craft of a plan."""

    recipe: str
    times: int
    inputs: Written
    outputs: Written


class Swap(msgspec.Struct, forbid_unknown_fields=True):
    """A trade of an exchange: two seats, the offer of the first and the request, which the second gives."""

    seats: list[int]
    offer: dict[str, int]
    request: dict[str, int]


class Goal(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The certificate of one seat's target."""

    craftable: str
    """From all hands together: craftable, not craftable, or not decided."""
    alone: str
    """From the seat's own hand: craftable, or not craftable and why (see `explain_alone`)."""
    operations: int | None = None
    """The length of the shortest chain from all hands: crafts of one operation each."""
    proved: bool = True
    """Whether it is proved that no chain is shorter, and that no fewer units are enough."""
    units: int | None = None
    """The fewest units that others must give, of what they hold at first."""
    trades: int | None = None
    """The fewest other seats with which it must trade."""
    gives: dict[int, dict[str, int]] = msgspec.field(default_factory=dict)
    """Seat -> the items that it gives."""
    plan: list[Craft] = msgspec.field(default_factory=list)
    """A shortest chain from all hands."""


class Together(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Whether all targets can be reached in one game."""

    craftable: str
    """From all hands in one."""
    operations: int | None = None
    """The shortest chain for all targets."""
    trades: list[Swap] | None = None
    """The fewest trades after which all craft their targets in the same turn, if there is such an exchange."""
    crafts_between: bool = False
    """Whether there must be crafts before the last trade, because no division of the first hands lets all craft."""


class Certificate(msgspec.Struct, forbid_unknown_fields=True):
    """The proofs about a problem, and its faults."""

    goals: list[Goal]
    together: Together
    distraction: list[str]
    """Items of the hands that no shortest chain for any target uses."""
    wrong: list[str]
    """The faults of the problem, a line each. A good problem has none."""
    notes: list[str]
    """Further remarks, a line each."""


class Problem(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Hands and targets, one for each seat, in a ruleset."""

    ruleset: str
    hands: Annotated[list[Items], msgspec.Meta(min_length=2)]
    targets: list[Annotated[Items, msgspec.Meta(min_length=1)]]
    max_turn: Count | None = None
    source: str = ""
    certificate: Certificate | None = None

    def __post_init__(self) -> None:
        if len(self.hands) != len(self.targets):
            raise ValueError(f"{len(self.hands)} hands, but {len(self.targets)} targets")


def problem(path: Path) -> Problem:
    """The problem of a file. Raises AgonError in one line for an invalid file."""
    name = display_path(path)
    try:
        problem = msgspec.json.decode(path.read_bytes(), type=Problem)
    except FileNotFoundError:
        raise AgonError(f"there is no problem {name}") from None
    except OSError as error:
        raise AgonError(f"{name} cannot be read: {error.strerror}") from None
    except msgspec.DecodeError as error:  # a ValidationError is one
        raise AgonError(f"{name}: {describe_fault(error, Problem)}") from None
    items = set(rulesets.ruleset(problem.ruleset).items)
    if unknown := sorted({item for hand in [*problem.hands, *problem.targets] for item in hand} - items):
        raise AgonError(f"{name}: {unknown[0]} is no item of {problem.ruleset}")
    for hand in [*problem.hands, *problem.targets]:
        if large := [item for item, amount in hand.items() if amount > LARGEST]:
            raise AgonError(f"{name}: {hand[large[0]]} {large[0]} are too many: no amount is above {LARGEST}")
    return problem


class Setting(settings.Setting, Problem):
    """A problem that can be played."""

    by_folder = True

    def __post_init__(self) -> None:
        super().__post_init__()
        TradeCraft("tradecraft", "", rulesets.ruleset(self.ruleset), self.hands, self.targets)

    def variants(self) -> dict[str, dict[str, Any]]:
        """The problem as it is, and rotated: every hand and its target one seat further on."""
        turns = {} if self.max_turn is None else {"turns": self.max_turn}
        fields = {"ruleset": self.ruleset, "digest": rulesets.ruleset(self.ruleset).digest, **turns}
        return {
            name: fields
            | {"hands": self.hands[-by:] + self.hands[:-by], "targets": self.targets[-by:] + self.targets[:-by]}
            for name, by in (("", len(self.hands)), ("rotated", 1))
        }


@kind("agon.settings.tradecraft")
def tradecraft(
    name: str,
    variant: str,
    ruleset: str,
    digest: str,
    recipes: dict[str, list[tuple[Count, str]]] | None = None,
    **fields: Any,
) -> TradeCraft:
    """A game of TradeCraft by the ruleset of that name. `recipes`: new ingredients of some recipes, id -> [number, item or #tag].

    Raises ValueError if the ruleset's file has another digest, and for a recipe or item that it does not have.
    """
    rules = rulesets.ruleset(ruleset)
    if rules.digest != digest:
        raise ValueError(f"ruleset {ruleset} is {rules.digest}, not {digest}")
    return TradeCraft(name, variant, _with_recipes(rules, recipes or {}), **fields)


def _with_recipes(rules: Ruleset, recipes: dict[str, list[tuple[int, str]]]) -> Ruleset:
    """A ruleset in which some recipes have other ingredients."""
    words = {*rules.items, *(f"#{tag}" for tag in rules.tags)}
    for id, needs in recipes.items():
        strange = [need for _, need in needs if need not in words]
        if rules.recipe(id) is None or strange or not needs:
            raise ValueError(
                f"recipes: ruleset {rules.name} has no {strange[0] if strange else f'recipe {id} that takes something'}"
            )
    if not recipes:
        return rules
    new_needs = {id: tuple((need, count) for count, need in needs) for id, needs in recipes.items()}
    new_recipes = tuple(recipe._replace(needs=new_needs.get(recipe.id, recipe.needs)) for recipe in rules.recipes)
    return replace(
        rules,
        recipes=new_recipes,
        digest=f"{rules.digest} {blake2b(repr(new_needs).encode(), digest_size=8).hexdigest()}",
    )
