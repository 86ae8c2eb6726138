"""The verbs of the room: they make and check problems and rulesets of TradeCraft."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import click
import msgspec

from agon.cli import options
from agon.errors import AgonError, count, describe_fault
from agon.paths import display_path, in_project, input_path, read_text_file, write_file

if TYPE_CHECKING:
    from agon.games.tradecraft.rulesets import RulesetFile
    from agon.games.tradecraft.settings import Problem
    from agon_problems.problems import Wish

RULESETS = "data/rulesets"
AT_LEAST_0 = click.IntRange(min=0)
name_option = click.option("--name", required=True, help="The name of the new ruleset.")
seed_option = click.option("--seed", type=AT_LEAST_0, default=1, help="The same seed makes the same file.")
folder_option = click.option("--folder", default=RULESETS, help="Where files go: FOLDER/NAME.json.")
Change = Literal["permute", "unheard", "rewire", "joint"]
OF_MINECRAFT: dict[str, Change] = {
    "minecraft_renamed": "permute",
    "minecraft_rewired": "rewire",
    "minecraft_joint": "joint",
}


@click.command()
@click.option("--folder", required=True, help="Writes FOLDER/01.json, ...")
@click.option("--ruleset", required=True, help="A file of data/rulesets.")
@click.option("--players", default=2, help="How many players, 2 or more.")
@click.option("--count", type=options.AT_LEAST_1, default=1, help="How many problems.")
@click.option(
    "--operations",
    metavar="LEAST-MOST",
    default="4-6",
    help="The shortest chain of every target, from all hands.",
)
@click.option("--trades", default=1, help="The fewest trades after which all can craft.")
@click.option("--seed", default=1, help="The seed of the candidates.")
@options.force
def make_problems(
    folder: str,
    ruleset: str,
    players: int,
    count: int,
    operations: str,
    trades: int,
    seed: int,
    force: bool,
) -> None:
    """Makes certified problems for any ruleset.

    docs/how-to/add-a-problem.md explains the certificates.
    """
    from agon_problems.problems import Wish

    low, _, high = operations.partition("-")
    if not (low.isdecimal() and (high or low).isdecimal() and 1 <= int(low) <= int(high or low)):
        raise AgonError(f"--operations are two whole numbers, from least to most, and at least 1 (4-6): {operations}")
    _make(folder, ruleset, [Wish(players, (int(low), int(high or low)), trades)] * count, seed, force)


@click.command()
@click.option("--sets", metavar="SET,...", help="Folders of data/problems, as alchemy,invented; else all.")
@options.force
def remake_problems(sets: str | None, force: bool) -> None:
    """Makes the shipped problems again."""
    from agon_problems.problems import SHIPPED

    names = sets.split(",") if sets else list(SHIPPED)
    if unknown := [name for name in names if name not in SHIPPED]:
        raise AgonError(f"there is no set {unknown[0]}: there are {', '.join(SHIPPED)}")
    for name in names:
        _make(f"data/problems/{name}", SHIPPED[name].ruleset, SHIPPED[name].wishes, SHIPPED[name].seed, force)


@click.command()
@click.argument("files", nargs=-1, required=True)
def certify_problems(files: Sequence[str]) -> None:
    """Proves that problems can be solved, or lists errors.

    The certificate, with the proof, is written into the file.
    """
    from agon.games.tradecraft.settings import problem
    from agon_problems.problems import with_certificate

    for file in files:
        _save(in_project(file), with_certificate(problem(input_path(file))), force=True)


@click.command()
@name_option
@seed_option
@click.option("--items", type=AT_LEAST_0, default=1000, help="How many items.")
@click.option("--recipes", type=AT_LEAST_0, default=1200, help="How many recipes.")
@click.option("--raw", type=AT_LEAST_0, default=150, help="Items that no recipe makes.")
@click.option("--depth", type=AT_LEAST_0, default=12, help="Crafts in a row that the deepest item takes.")
@click.option("--branching", type=AT_LEAST_0, default=3, help="Kinds of ingredients of a recipe, at most.")
@click.option("--tags", type=AT_LEAST_0, default=0, help="Tags, at most.")
@click.option("--fuels", type=AT_LEAST_0, default=0, help="Items that burn, at most; 0: no recipe is fuelled.")
@folder_option
@options.force
def invent_ruleset(
    name: str,
    seed: int,
    items: int,
    recipes: int,
    raw: int,
    depth: int,
    branching: int,
    tags: int,
    fuels: int,
    folder: str,
    force: bool,
) -> None:
    """Makes an invented ruleset."""
    from agon_problems.invented import Size, invented

    with _refusals():
        _write(folder, name, invented(seed, Size(items, recipes, raw, depth, branching, tags, fuels)), force)


@click.command()
@click.option("--of", required=True, help="A ruleset of data/rulesets, or the path of its file.")
@name_option
@click.option(
    "--by",
    type=click.Choice(get_args(Change)),
    required=True,
    help="Permute names; unheard, that is invented names; rewire outputs; joint: permute and rewire.",
)
@seed_option
@folder_option
@options.force
def change_ruleset(of: str, name: str, by: Change, seed: int, folder: str, force: bool) -> None:
    """Makes a ruleset from another: new names or recipes."""
    with _refusals():
        _write(folder, name, _change(_read(_path(of)), by, seed), force)


@click.command()
@click.argument("facts", nargs=-1, required=True)
@folder_option
@options.force
def take_rulesets(facts: Sequence[str], folder: str, force: bool) -> None:
    """Makes rulesets from files of facts.

    Duplicate recipes are left out.
    """
    from agon_problems.facts import import_facts

    for name in facts:
        text = read_text_file(path := input_path(name), most=10_000_000).encode()
        with _refusals(f"{display_path(path)}: "):
            file = import_facts(text)
            _write(folder, file.ruleset, file, force)
        twice = len(msgspec.json.decode(text)["recipes"]) - len(file.recipes)
        click.echo(f"{file.ruleset}: {count(len(file.recipes), 'recipe')}; {count(twice, 'duplicate')} left out")


@click.command()
@folder_option
@options.force
def remake_rulesets(folder: str, force: bool) -> None:
    """Makes the shipped rulesets again.

    There are an invented ruleset, and three that are made from minecraft.
    """
    from agon_problems.invented import Size, invented

    minecraft = _read(_path("minecraft"))
    _write(folder, "invented", invented(1, Size(tags=20, fuels=20)), force)
    for name, by in OF_MINECRAFT.items():
        _write(folder, name, _change(minecraft, by, 1), force)


@click.command()
@click.argument("rulesets", nargs=-1, required=True)
def check_rulesets(rulesets: Sequence[str]) -> int:
    """Lists all errors in rulesets.

    RULESETS are names or paths of files. Errors are items that do not exist or cannot be made, impossible and duplicate
    recipes, missing stations, and cycles that make matter from nothing. Exit code 3: there are errors.
    """
    from agon.games.tradecraft.rulesets import build_ruleset
    from agon_problems.faults import faults

    code = 0
    for path in map(_path, rulesets):
        file = _read(path)
        with _refusals(f"{display_path(path)}: "):
            problems = [*_useless_fields(file, path), *faults(build_ruleset(file))]
        click.echo("\n".join(f"{path.stem}: {line}" for line in problems or ["nothing is wrong"]))
        code = 3 if problems else code
    return code


def _make(folder: str, name: str, wishes: Sequence[Wish], seed: int, force: bool) -> None:
    from agon.games.tradecraft.rulesets import ruleset
    from agon_problems.problems import generate_problems

    for number, problem in enumerate(generate_problems(ruleset(name), wishes, seed), 1):
        _save(in_project(folder) / f"{number:02}.json", problem, force)


def _save(path: Path, problem: Problem, force: bool) -> None:
    """Writes a problem, and prints the faults and remarks of its certificate."""
    from agon_problems.problems import problem_json

    write_file(path, problem_json(problem), force)
    certificate = problem.certificate
    lines = [*(certificate.wrong or ["good"]), *certificate.notes] if certificate else ["not certified"]
    click.echo(f"{path.name}: {'; '.join(lines)}")


@contextmanager
def _refusals(place: str = "") -> Iterator[None]:
    """Turns an error about a ruleset into an AgonError of one line."""
    try:
        yield
    except msgspec.DecodeError as error:
        raise AgonError(f"{place}{describe_fault(error)}") from None
    except RecursionError:
        raise AgonError(f"{place}it is nested too deeply") from None
    except ValueError as error:
        raise AgonError(f"{place}{error}") from None


def _path(name: str) -> Path:
    """A file by its path, or by the ruleset's name."""
    return input_path(name if name.endswith(".json") else f"{RULESETS}/{name}.json")


def _read(path: Path) -> RulesetFile:
    """A ruleset's file. Raises AgonError in one line that names it."""
    from agon.games.tradecraft.rulesets import RulesetFile

    if not path.is_file():
        raise AgonError(f"there is no file {display_path(path)}")
    try:
        return msgspec.json.decode(path.read_bytes(), type=RulesetFile)
    except msgspec.DecodeError as error:
        raise AgonError(f"{display_path(path)}: {describe_fault(error, RulesetFile)}") from None


def _change(file: RulesetFile, by: Change, seed: int) -> RulesetFile:
    """Another ruleset of a file, whose source says how it was made."""
    from agon_problems.invented import permutation, rename, rewire, rewire_and_rename, unheard_names

    names, recipes = {"permute": permutation, "unheard": unheard_names}, {"rewire": rewire, "joint": rewire_and_rename}
    ruleset = rename(file, names[by](file, seed)) if by in names else recipes[by](file, seed)
    return msgspec.structs.replace(ruleset, source=f"{file.source}; {by}, seed {seed}")


def _write(folder: str, name: str, file: RulesetFile, force: bool) -> None:
    """Writes a ruleset under a name, which is in the file, too. Raises ValueError for a name that cannot be that of a file."""
    from agon_problems.files import text_of

    if not re.fullmatch(r"[\w.-]+", name) or name.startswith("."):
        raise ValueError(f"{name!r} is no name for a ruleset: use letters, digits, _ and -")
    text = text_of(msgspec.structs.replace(file, ruleset=name))
    write_file(in_project(folder) / f"{name}.json", text, force)


def _useless_fields(file: RulesetFile, path: Path) -> Iterator[str]:
    """Lines on fields of a file that contradict its name, or have no effect."""
    if file.ruleset != path.stem:
        yield f"other name: the file says that it is {file.ruleset}, and is called {path.name}"
    for station in sorted(set(file.fuelled) - {recipe.station for recipe in file.recipes}):
        yield f"unknown station: {station} is among the fuelled, and no recipe is done there"
