"""Makes and checks files of data/rulesets: python -m agon.games.tradecraft.ruleset_files COMMAND."""

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from agon import ROOT, AgonError
from agon.games.tradecraft.ruleset_files import (
    Size,
    faults,
    invented,
    joint,
    permuted,
    renamed,
    rewired,
    taken_over,
    text_of,
    unheard,
)
from agon.games.tradecraft.rulesets import FOLDER, RulesetFile, built

HELP = """python -m agon.games.tradecraft.ruleset_files COMMAND

  check NAME|FILE ...                      names every dangling or unreachable item, impossible or duplicate recipe,
                                           station that is not there, and cycle that makes matter from nothing; exit code 3 if there is any
  invent NAME [seed=1 items=1000 recipes=1200 raw=150 depth=12 branching=3 tags=0 fuels=0]
                                           writes an invented ruleset to data/rulesets/NAME.json
  permute|unheard|rewire|joint OF NAME [seed=1]
                                           writes ruleset OF with its items' names permuted, with invented names, with its
                                           outputs dealt out anew, or with both (joint), to data/rulesets/NAME.json
  take FACTS ... [folder=data/rulesets]    takes files of facts over into our schema
  make [folder=data/rulesets]              makes what is shipped besides: invented and three of minecraft
"""
TRANSFORMS: Mapping[str, Callable[[RulesetFile, int], RulesetFile]] = {
    "permute": lambda file, seed: renamed(file, permuted(file, seed)),
    "unheard": lambda file, seed: renamed(file, unheard(file, seed)),
    "rewire": rewired,
    "joint": joint,
}
SHIPPED = {"minecraft_renamed": "permute", "minecraft_rewired": "rewire", "minecraft_joint": "joint"}
SIZE = {"tags": 20, "fuels": 20}
"""Of the invented ruleset that is shipped, besides the defaults."""


def main(words: Sequence[str]) -> int:
    """Runs a command; the exit code is 2 where it could not be run."""
    settings = dict(word.split("=", 1) for word in words if "=" in word)
    command, *names = [word for word in words if "=" not in word] or ["help"]
    try:
        return run(command, names, settings)
    except (AgonError, ValueError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2


def run(command: str, names: Sequence[str], settings: dict[str, str]) -> int:
    """Raises AgonError or ValueError in one line."""
    folder = ROOT / settings.pop("folder", FOLDER)
    if wrong := [key for key, value in settings.items() if not value.isdecimal()]:
        raise ValueError(f"{wrong[0]} is {settings[wrong[0]]!r}; it must be a whole number")
    numbers = {"seed": 1, **{key: int(value) for key, value in settings.items()}}
    seed = numbers.pop("seed")
    match command, *names:
        case "check", _, *_:
            return max([_checked(path_of(name)) for name in names])
        case "invent", name if not numbers.keys() - Size.__dataclass_fields__.keys():
            write(folder, name, invented(seed, Size(**numbers)))
        case (("permute" | "unheard" | "rewire" | "joint"), of, name) if not numbers:
            write(folder, name, transformed(read(path_of(of)), command, seed))
        case "take", _, *_ if not numbers:
            for path in names:
                facts = Path(path).read_bytes()
                file = taken_over(facts)
                write(folder, file.ruleset, file)
                twice = len(msgspec.json.decode(facts)["recipes"]) - len(file.recipes)
                sys.stdout.write(f"{file.ruleset}: {len(file.recipes)} recipes; {twice} duplicates left out\n")
        case ("make",) if not numbers:
            write(folder, "invented", invented(seed, Size(**SIZE)))
            for name, how in SHIPPED.items():
                write(folder, name, transformed(read(path_of("minecraft")), how, seed))
        case _:
            sys.stdout.write(HELP)
            return 0 if command == "help" else 2
    return 0


def path_of(name: str) -> Path:
    """A file by its path, or by the ruleset's name."""
    return Path(name) if name.endswith(".json") else ROOT / FOLDER / f"{name}.json"


def read(path: Path) -> RulesetFile:
    """A ruleset's file. Raises AgonError in one line that names it."""
    if not path.is_file():
        raise AgonError(f"there is no file {path}")
    try:
        return msgspec.json.decode(path.read_bytes(), type=RulesetFile)
    except msgspec.DecodeError as error:
        raise AgonError(f"{path}: {error}") from None


def transformed(file: RulesetFile, how: str, seed: int) -> RulesetFile:
    """By one of TRANSFORMS, which its source then says."""
    return msgspec.structs.replace(TRANSFORMS[how](file, seed), source=f"{file.source}; {how}, seed {seed}")


def write(folder: Path, name: str, file: RulesetFile) -> None:
    """A file that says its name. Raises ValueError for a name that is not one of a file in the folder."""
    if not re.fullmatch(r"[\w.-]+", name) or name.startswith("."):
        raise ValueError(f"{name!r} is no name for a ruleset: use letters, digits, _ and -")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(text_of(msgspec.structs.replace(file, ruleset=name)), encoding="utf-8")


def _checked(path: Path) -> int:
    file = read(path)
    try:
        found = [*_unused(file, path), *faults(built(file))]
    except ValueError as error:
        raise AgonError(f"{path}: {error}") from None
    sys.stdout.write("".join(f"{path.stem}: {line}\n" for line in found or ["nothing is wrong"]))
    return 3 if found else 0


def _unused(file: RulesetFile, path: Path) -> Iterator[str]:
    """What a file says for nothing."""
    if file.ruleset != path.stem:
        yield f"other name: the file says that it is {file.ruleset}, and is called {path.name}"
    for station in sorted(set(file.fuelled) - {recipe.station for recipe in file.recipes}):
        yield f"unknown station: {station} is among the fuelled, and no recipe is done there"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
