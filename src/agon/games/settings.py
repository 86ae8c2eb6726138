"""Settings: files that make many games of one. A game's yaml names a folder; every file in it is a setting, and checked."""

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar

import msgspec

from agon import ROOT, AgonError, kind
from agon.games.chameleon.game import Chameleon
from agon.games.cost_sharing.game import CostSharing
from agon.games.rating.game import misfit
from agon.games.tradecraft import TradeCraft, rulesets
from agon.games.undercover.game import Undercover

Seat = Annotated[int, msgspec.Meta(ge=0)]
Positive = Annotated[float, msgspec.Meta(gt=0)]


class Setting(msgspec.Struct, forbid_unknown_fields=True):
    """What a file says; field for field what a game takes."""

    by_folder: ClassVar[bool] = False
    """Whether the folder's name comes before the file's in that of the variant: for games with several folders."""

    def variants(self) -> dict[str, dict[str, Any]]:
        """The fields of each game that the setting makes, by what the variant's name gets besides the file's."""
        return {"": msgspec.to_builtins(self)}


class OneTested(Setting, kw_only=True):
    """A setting with one seat for the player under test."""

    tested: Seat

    def variants(self) -> dict[str, dict[str, Any]]:
        """One game."""
        return {"": msgspec.to_builtins(self) | {"tested": [self.tested]}}


class ChameleonSetting(Setting):
    """A topic, the word that all but the spy know, and a first clue for every seat."""

    topic: str
    word: str
    spy: Seat
    clues: list[str]

    def __post_init__(self) -> None:
        Chameleon("chameleon", "", self.word, self.spy, self.clues, topic=self.topic)

    def variants(self) -> dict[str, dict[str, Any]]:
        """One game in which the player under test is the spy, and one in which it is everybody else."""
        return _by_role(self, self.spy, "chameleon", "crowd")


class UndercoverSetting(Setting):
    """The word of all but the spy, the spy's, and a first clue for every seat."""

    word: str
    spy_word: str
    spy: Seat
    clues: list[str]

    def __post_init__(self) -> None:
        Undercover("undercover", "", self.word, self.spy, self.clues, spy_word=self.spy_word)

    def variants(self) -> dict[str, dict[str, Any]]:
        """One game in which the player under test is the spy, and one in which it is everybody else."""
        return _by_role(self, self.spy, "undercover", "civilians")


class AirlineSetting(msgspec.Struct, forbid_unknown_fields=True):
    """What an airline does at the airport, as agon.games.cost_sharing.game.Airline."""

    name: str
    flights: int
    passengers: int
    hours: float
    aircraft: str


class CostSharingSetting(OneTested):
    """A fee (currency units), an airline for every seat, and the seats' opening proposals (percent)."""

    fee: Annotated[int, msgspec.Meta(gt=0)]
    airlines: list[AirlineSetting]
    proposals: list[list[float]]

    def __post_init__(self) -> None:
        airlines = msgspec.to_builtins(self.airlines)
        CostSharing("cost_sharing", "", airlines, self.proposals, tested=[self.tested])


class PrisonerSetting(OneTested):
    """A score table (points per round): all cooperate, a lone defector, each of two, all defect."""

    cooperate: float
    one_defect: float
    two_defect: float
    defect: float


class PublicGoodsSetting(OneTested):
    """By how much the pool grows."""

    multiplier: Positive


class ProblemSetting(Setting):
    """A problem of TradeCraft: a ruleset (a file of data/rulesets), and a hand and a target for every seat."""

    by_folder = True
    ruleset: str
    hands: list[dict[str, int]]
    targets: list[dict[str, int]]
    max_turn: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """At most so many turns; none: what the game's yaml says."""
    source: str = ""
    certificate: dict[str, Any] = {}
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


class RatingSetting(Setting):
    """The log of a match that is to be rated, as agon.games.rating.logs makes it: what raters may see, and what they may not."""

    match: str
    """Its id."""
    game: str
    """Its family."""
    players: list[str]
    turns: list[list[dict[str, Any]]]
    """Of each turn, in order, who did what and what came of it; `thought` is what nobody else saw."""
    targets: list[dict[str, int]] = []
    """What each player was to get hold of; none: it is not known."""
    won: list[bool] = []
    """Whether each player won; none: it is not known."""
    source: str = ""
    """Where the match comes from."""

    def __post_init__(self) -> None:
        if wrong := misfit(msgspec.to_builtins(self)):
            raise ValueError(wrong)

    def variants(self) -> dict[str, dict[str, Any]]:
        """One game. The log is one text without any $, so that nothing that players wrote can be taken for a setting."""
        return {"": {"log": msgspec.json.encode(self).decode().replace("$", "\\u0024")}}


SCHEMAS: dict[str, type[Setting]] = {
    "chameleon": ChameleonSetting,
    "undercover": UndercoverSetting,
    "cost_sharing": CostSharingSetting,
    "prisoner3": PrisonerSetting,
    "public_goods": PublicGoodsSetting,
    "rating": RatingSetting,
    "tradecraft": ProblemSetting,
}
"""The game's `name` -> what its settings hold; the settings of other games are any JSON objects."""


def variants(game: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The games that a game's yaml and its folder of settings make: the variant's name -> what builds it.

    The yaml's `settings` is the folder, from the project's root. Raises AgonError for a folder without settings, and for
    a file that does not fit, in one line.
    """
    own = {key: value for key, value in game.items() if key != "settings"}
    return {
        name: own | {"variant": name} | fields
        for name, fields in _found(game["settings"], game.get("name", "")).items()
    }


@functools.cache
def _found(folder: str, game: str) -> dict[str, dict[str, Any]]:
    paths = sorted((ROOT / folder).glob("*.json"))
    if not paths:
        raise AgonError(f"there are no settings in {folder}: `dvc pull` fetches them, or drop a .json file there")
    schema = SCHEMAS.get(game)
    before = Path(folder).name if schema is not None and schema.by_folder else ""
    return {
        "-".join(filter(None, (before, path.stem, suffix))): fields
        for path in paths
        for suffix, fields in _read(path, schema).items()
    }


def _read(path: Path, schema: type[Setting] | None) -> dict[str, dict[str, Any]]:
    try:
        if schema is None:
            return {"": msgspec.json.decode(path.read_bytes(), type=dict[str, Any])}
        return msgspec.json.decode(path.read_bytes(), type=schema).variants()
    except msgspec.DecodeError as error:  # a ValidationError is one
        shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
        raise AgonError(f"{shown}: {error}") from None


def _by_role(setting: Any, spy: int, *roles: str) -> dict[str, dict[str, Any]]:
    fields, seats = msgspec.to_builtins(setting), range(len(setting.clues))
    tested = [spy], [seat for seat in seats if seat != spy]
    return {role: fields | {"tested": seats_tested} for role, seats_tested in zip(roles, tested, strict=True)}
