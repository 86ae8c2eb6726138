"""The settings of TradeCraft: problems, files of data/problems."""

from typing import Annotated, Any

import msgspec

from agon import kind
from agon.games import settings
from agon.games.tradecraft import TradeCraft, rulesets


class Setting(settings.Setting):
    """A problem of TradeCraft: a ruleset (a file of data/rulesets), and a hand and a target for every seat."""

    by_folder = True
    ruleset: str
    hands: list[dict[str, int]]
    targets: list[dict[str, int]]
    max_turn: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """At most so many turns; none: what the game's yaml says."""
    source: str = ""
    certificate: dict[str, Any] = msgspec.field(default_factory=dict)
    """What is known of it (agon.games.tradecraft.problems)."""

    def __post_init__(self) -> None:
        TradeCraft("tradecraft", "", rulesets.ruleset(self.ruleset), self.hands, self.targets)

    def variants(self) -> dict[str, dict[str, Any]]:
        """The problem as it is, and rotated: every hand and its target one seat further on."""
        turns = {} if self.max_turn is None else {"turns": self.max_turn}
        own = {"ruleset": self.ruleset, "digest": rulesets.ruleset(self.ruleset).digest, **turns}
        return {
            name: own
            | {"hands": self.hands[-by:] + self.hands[:-by], "targets": self.targets[-by:] + self.targets[:-by]}
            for name, by in (("", len(self.hands)), ("rotated", 1))
        }


@kind("agon.settings.tradecraft")
def tradecraft(name: str, variant: str, ruleset: str, digest: str, **fields: Any) -> TradeCraft:
    """A game of TradeCraft by the ruleset of that name. Raises ValueError where its file is not the one that `digest` names."""
    found = rulesets.ruleset(ruleset)
    if found.digest != digest:
        raise ValueError(f"ruleset {ruleset} is {found.digest}, not {digest}")
    return TradeCraft(name, variant, found, **fields)
