"""Configuration: the files in conf/, and the games, agents and models that they describe.

Files are data: what they may name as `_target_` is said by `agon.located`, and nothing in them is replaced.
"""

import difflib
import functools
import inspect
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from itertools import product, takewhile
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_type_hints

import msgspec
import yaml  # type: ignore[import-untyped]
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from agon import (
    PACKAGES,
    ROOT,
    SHIPPED,
    AgonError,
    fault_of,
    input_files,
    input_path,
    input_places,
    located,
    shown,
    text_of,
)
from agon.games import Game
from agon.games.settings import variants

CONF = ROOT / "conf"
NODES, DEPTH = 50_000, 50
"""So many values a file may hold, aliases counted as what they stand for, and so deep they may lie."""
DIRECTIVES = {"_target_", "_partial_", "_convert_"}
"""What a file may say beside settings; `_convert_` does nothing any more, but is hashed by ids."""
TWIN = "agon.games.twins.twin"
OF_READER = ("families", "packages")
"""Settings that say whose code is run."""
LISTED = ("games", "agents", "models", "experiments", "notebooks", "metrics")
"""What `agon list` lists."""
FEW = 12
"""Up to so many names are all said to who asked for another."""


class Limit(msgspec.Struct, forbid_unknown_fields=True):
    """What one `record` may spend; null is no limit."""

    usd: Annotated[float, msgspec.Meta(ge=0)] | None
    tokens: Annotated[float, msgspec.Meta(ge=0)] | None
    calls: Annotated[float, msgspec.Meta(ge=0)] | None


class Executor(msgspec.Struct, forbid_unknown_fields=True):
    """Where matches are played."""

    name: Literal["local", "dask"]
    address: str | None
    insecure: bool
    workers: Annotated[int, msgspec.Meta(ge=1)]


class Serve(msgspec.Struct, forbid_unknown_fields=True):
    """Where and how people play."""

    address: str
    port: Annotated[int, msgspec.Meta(ge=1, le=65535)]
    origins: list[str]
    proxy: bool
    folder: Annotated[str, msgspec.Meta(pattern=r"\S")]
    sampling: str | None
    days: Annotated[float, msgspec.Meta(gt=0, le=3650)]


class Until(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The questions with which `record` ends: which conditions differ in a metric, and in which direction."""

    range: tuple[float, float]
    """That the metric can take: all values lie in it."""
    metric: str = "points"
    by: Annotated[str, msgspec.Meta(pattern=r"^(agent|model)(:.+)?\Z")] = "agent"
    """agent or model, or agent:ONE,OTHER."""
    error: Annotated[float, msgspec.Meta(gt=0, lt=0.5)] = 0.05
    """Chance that any question is ever decided wrongly."""

    def __post_init__(self) -> None:
        if not self.range[0] < self.range[1]:
            raise ValueError("range: the lower end comes first")


class Settings(msgspec.Struct, forbid_unknown_fields=True):
    """conf/config.yaml as composed."""

    debug: bool
    fresh: bool
    partial: bool
    force: bool
    large: bool
    batch: bool
    concurrency: Annotated[int, msgspec.Meta(ge=1)] | None
    budget: Limit
    power: bool
    metric: str
    detect: Annotated[float, msgspec.Meta(gt=0)] | None
    variance: list[str]
    sd: Annotated[float, msgspec.Meta(gt=0)] | None
    until: Until | None
    readable: Annotated[float, msgspec.Meta(ge=0, le=1)] | None
    executor: Executor
    study: str | None
    browser: bool
    source: str
    path: str
    recorded: dict[str, list[str]]
    out: Annotated[str, msgspec.Meta(pattern=r"\.parquet$")] | None
    serve: Serve
    families: list[str]
    packages: list[str]
    experiment: dict[str, Any]


def configuration(overrides: Sequence[str] = (), conf: Path = CONF) -> dict[str, Any]:
    """conf/config.yaml with `overrides` (Hydra's syntax). Raises AgonError in one line for what is not there."""
    own, chosen = config(conf)
    changes, groups = [], {folder.name for place in input_places(conf) for folder in place.glob("*/")}
    for override in overrides:
        group, given, name = override.partition("=")
        if group.lstrip("+") in OF_READER:
            raise AgonError(
                f"{group} are named in conf/config.yaml alone: every command is to know the same, and trust it"
            )
        if not given:
            raise AgonError(f"{override!r} sets nothing: write setting=value, for instance experiment={override}")
        if group in chosen:
            chosen[group] = name
        elif group in groups and name not in names(group, conf):
            raise AgonError(f"there is no {group} {name!r} in conf/{group}: {offered_of(group, name, conf)}")
        else:
            changes.append(override)
    composed = OmegaConf.create(own | {group: file_of(group, str(name), conf) for group, name in chosen.items()})
    OmegaConf.set_struct(composed, True)
    if changes:
        _change(composed, changes)
    settings: dict[str, Any] = OmegaConf.to_container(composed)  # type: ignore[assignment]
    try:
        msgspec.convert(settings, Settings)
    except msgspec.ValidationError as error:
        raise AgonError(f"the settings do not fit: {fault_of(error, Settings)}") from None
    return settings


def config(conf: Path = CONF) -> tuple[dict[str, Any], dict[str, str]]:
    """conf/config.yaml, of agon and what the project's says otherwise: its settings, and the file that is taken of each group.

    Raises AgonError.
    """
    parts = [document(path) for path in reversed(input_places(conf / "config.yaml")) if path.is_file()]
    chosen: dict[str, str] = {}
    for part in parts or [document(conf / "config.yaml")]:
        part.pop("agon", None)  # agon.MARK
        for each in part.pop("defaults", None) or ():
            chosen |= each if isinstance(each, dict) else {}
    merged: dict[str, Any] = OmegaConf.to_container(OmegaConf.merge(*parts))  # type: ignore[assignment]
    return merged, chosen


def _change(settings: Any, overrides: Sequence[str]) -> None:
    """Has `settings` changed by `overrides`, in place. Raises AgonError."""
    from hydra.core.override_parser.overrides_parser import OverridesParser  # here: it takes a fifth of a second
    from hydra.errors import HydraException

    try:
        for override in OverridesParser.create().parse_overrides(list(overrides)):
            if override.is_sweep_override():
                _require_readable(overrides)
            if override.is_delete() or override.package is not None:
                raise AgonError(f"{override.input_line!r} cannot be done: write setting=value, or setting=null")
            key, value = str(override.key_or_group), override.value()
            _require_plain(value, repr(str(override.input_line)[:80]))
            adds = override.is_add() or override.is_force_add()
            try:
                OmegaConf.update(settings, key, value, force_add=adds)
            except (OmegaConfBaseException, AttributeError) as error:
                keys = _keys(OmegaConf.to_container(settings))
                if key in keys:
                    raise
                said = offered(key[:80], keys, "--cfg job prints all")
                raise AgonError(f"there is no setting {key[:80]!r} in conf/: {said}") from error
    except (HydraException, OmegaConfBaseException, ValueError, RecursionError) as error:
        with suppress(RecursionError):
            _require_readable(overrides)
        raise AgonError(reason(error)) from error


def load(group: str, name: str, conf: Path = CONF) -> Any:
    """What conf/`group`/`name`.yaml describes, built by its `_target_`. Raises AgonError when there is no such file."""
    settings = settings_of(group, name, conf)
    try:
        if "_target_" not in settings:
            raise AgonError("it has no _target_, which says what it is")
        made = built(settings)
        if isinstance(made, Game):
            _require_named(made)
        if group == "game" and not isinstance(made, Game):
            raise TypeError("its _target_ makes no game")
    except (AgonError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError) as error:
        raise AgonError(f"conf/{group}/{name}.yaml cannot be built: {reason(error)}") from error
    return made


def built(settings: Any) -> Any:
    """What settings describe: `_target_` called with the rest, or, with `_partial_: true`, kept to be called later.

    Called are only games and models; kept are only functions, and agents' classes. Raises AgonError for a `_target_` that is
    neither, and for settings that it does not have or whose types are others.
    """
    if isinstance(settings, list):
        return [built(each) for each in settings]
    if not isinstance(settings, dict):
        return settings
    if "_target_" not in settings:
        return {key: built(value) for key, value in settings.items()}
    made, partial = located(settings["_target_"]), settings.get("_partial_", False)
    if strange := [key for key in settings if str(key).startswith("_") and key not in DIRECTIVES]:
        raise AgonError(f"there is no setting {strange[0]!r}")
    if type(partial) is not bool:
        raise AgonError(f"_partial_ is {partial!r}; it must be true or false")
    makes = made if isinstance(made, type) else get_type_hints(made).get("return")
    if partial and isinstance(made, type) and not hasattr(made, "act"):
        raise AgonError(f"_target_: {settings['_target_']!r} is no agent: it has no `act`")
    if not partial and not (isinstance(makes, type) and (issubclass(makes, Game) or hasattr(makes, "identity"))):
        raise AgonError(f"_target_: {settings['_target_']!r} makes no game and no model; agents have _partial_: true")
    given = {key: value for key, value in settings.items() if key not in DIRECTIVES}
    _require_fitting(made, given)
    keywords = {key: built(value) for key, value in given.items()}
    return functools.partial(made, **keywords) if partial else made(**keywords)


def _require_fitting(made: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """Raises AgonError for settings that a class or function does not have, or whose values are of other types."""
    try:
        known = inspect.signature(made, eval_str=True).parameters
    except NameError:  # a type that is known to its author's tools alone
        known = inspect.signature(made).parameters
    unknown = [name for name in given if name not in known]
    if unknown and not any(each.kind is each.VAR_KEYWORD for each in known.values()):
        raise AgonError(f"{made.__qualname__} has no setting {unknown[0]!r}: {offered(unknown[0], list(known))}")
    for name, value in given.items():
        hint = known[name].annotation if name in known else inspect.Parameter.empty
        if hint is inspect.Parameter.empty or (isinstance(value, dict) and "_target_" in value):
            continue
        try:
            msgspec.convert(value, hint)
        except msgspec.ValidationError as error:
            raise AgonError(f"{name} does not fit: {fault_of(error, hint)}") from None
        except TypeError:  # a hint that msgspec does not know
            continue


def _require_named(game: Game[Any]) -> None:
    """Raises AgonError unless a game's name, variant and rules can stand in a table."""
    for what, text in {"name": game.name, "variant": game.variant}.items():
        if not isinstance(text, str) or not text.strip() or not text.isprintable():
            raise AgonError(f"{what} is {text!r}; it must be a word that can be printed")
    if type(game.rules) is not int or game.rules < 1:
        raise AgonError(f"rules is {game.rules!r}; it must be a whole number, 1 at least")


@functools.cache
def settings_of(group: str, name: str, conf: Path = CONF) -> dict[str, Any]:
    """conf/`group`/`name`.yaml as plain data; FILE/SETTING is one of a game that has `settings`, GAME~TWIN a twin of a game.

    Raises AgonError.
    """
    of, _, twin = name.rpartition("~")
    if of and group == "game":
        return _twin(of, twin, conf)
    file, _, setting = name.partition("/")
    settings = file_of(group, file, conf)
    if "/" not in name and "settings" not in settings:
        return settings
    found = variants(settings) if "settings" in settings else {}
    if setting not in found:
        raise AgonError(f"{group} {file} has no setting {setting!r}: {offered(setting, list(found))}")
    return found[setting]


class Twins(msgspec.Struct, forbid_unknown_fields=True):
    """A file of conf/twin: games, and what other games are made of each, by name."""

    of: Annotated[list[str], msgspec.Meta(min_length=1)]
    """Games of conf/game, as FILE or FILE/SETTING."""
    twins: dict[str, dict[str, Any]] = {}
    """The same games in other clothes: what agon.games.twins.twin takes."""
    near: dict[str, dict[str, Any]] = {}
    """Other games that look alike: the settings that differ, under `settings`, beside what a twin takes."""
    also: list[str] = []
    """Further settings of the same games, and near-twins of them, in which every twin is checked too."""
    small: dict[str, Any] = {}
    """Settings with which a game has so few states that all are compared."""


class Claim(NamedTuple):
    """What conf/twin says of a game and another that is made of it."""

    twin: bool
    """Whether it is said to be a twin, or else a near-twin."""
    changes: dict[str, Any]
    """What is changed."""
    also: tuple[str, ...]
    """Games of which the same is said."""
    small: dict[str, Any]
    """Settings that make the game small."""


def twins(conf: Path = CONF) -> dict[tuple[str, str], bool]:
    """All that conf/twin declares: game and name -> whether it is said to be a twin, or else a near-twin. Raises AgonError."""
    return {pair: claim.twin for pair, claim in claims(conf).items()}


@functools.cache
def claims(conf: Path = CONF) -> dict[tuple[str, str], Claim]:
    """All that conf/twin declares, by game and name. Raises AgonError."""
    found: dict[tuple[str, str], Claim] = {}
    for file in names("twin", conf):
        try:
            own = msgspec.convert(file_of("twin", file, conf), Twins)
        except msgspec.ValidationError as error:
            raise AgonError(f"conf/twin/{file}.yaml: {fault_of(error, Twins)}") from None
        files = {game.partition("/")[0] for game in own.of}
        if strange := [game for game in own.also if re.split("[/~]", game)[0] not in files]:
            raise AgonError(f"conf/twin/{file}.yaml: also: {strange[0]} is no setting of {' or '.join(sorted(files))}")
        for claimed, section in ((True, own.twins), (False, own.near)):
            for game, (name, changes) in product(own.of, section.items()):
                if (game, name) in found:
                    raise AgonError(f"conf/twin/{file}.yaml: {game} has another twin that is called {name}: rename one")
                found[game, name] = Claim(claimed, changes, tuple(own.also), own.small)
    return found


def smaller(of: str, name: str, conf: Path = CONF) -> tuple[Game[Any], Game[Any]] | None:
    """A game and its twin with the settings that make them small; None where there are none. Raises AgonError."""
    if not (small := claims(conf)[of, name].small):
        return None
    try:
        return built(settings_of("game", of, conf) | small), built(_twin(of, name, conf, small))
    except (AgonError, TypeError, ValueError) as error:
        raise AgonError(f"conf/twin: {of}~{name} cannot be built as its `small` says: {reason(error)}") from error


def _twin(of: str, name: str, conf: Path, more: dict[str, Any] | None = None) -> dict[str, Any]:
    """The settings of a game's twin, and `more` of the game's; a file's twins are those of all its settings."""
    known, bare = claims(conf), of.partition("~")[0]
    declared = known.get((bare, name)) or known.get((bare.partition("/")[0], name))
    declared = declared or next((each for (_, own), each in known.items() if own == name and bare in each.also), None)
    if declared is None:
        own = [twin for game, twin in known if game in (bare, bare.partition("/")[0])]
        raise AgonError(f"game {bare} has no twin {name!r} in conf/twin: {offered(name, own)}")
    settings, changes = settings_of("game", of, conf) | (more or {}), dict(declared.changes)
    variant = f"{settings.get('variant')}~{name}"
    if "settings" in changes and "~" in of:
        raise AgonError(f"game {of}~{name}: {name} changes settings, so it comes first: {bare}~{name}")
    settings = settings | changes.pop("settings", {})
    return (
        {"_target_": TWIN, "of": settings, "variant": variant, **changes}
        if changes
        else settings | {"variant": variant}
    )


@functools.cache
def file_of(group: str, name: str, conf: Path) -> dict[str, Any]:
    """conf/`group`/`name`.yaml, with what its `defaults` name. Raises AgonError.

    `defaults` are taken in their order: _self_ (the file itself; first unless named), NAME, or NAME@KEY, which goes under a key.
    """
    find_families(conf)
    if name not in names(group, conf):
        raise AgonError(f"there is no {group} {name!r} in conf/{group}: {offered_of(group, name, conf)}")
    path = input_path(conf / group / f"{name}.yaml")
    own = document(path)
    defaults = own.pop("defaults", [])
    if not isinstance(defaults, list) or not all(isinstance(each, str) for each in defaults):
        raise AgonError(f"{shown(path)}: defaults is a list of NAME or NAME@KEY, and _self_")
    if not defaults:
        return own
    parts = []
    for each in defaults if "_self_" in defaults else ["_self_", *defaults]:
        file, _, key = each.partition("@")
        try:
            part = own if each == "_self_" else file_of(group, file, conf)
        except RecursionError:
            raise AgonError(f"{shown(path)}: its defaults go round in a circle, by {file}") from None
        parts.append({key: part} if key else part)
        _require_plain(parts, shown(path))
    try:
        merged: dict[str, Any] = OmegaConf.to_container(OmegaConf.merge(*parts))  # type: ignore[assignment]
    except (OmegaConfBaseException, TypeError, ValueError) as error:
        raise AgonError(f"{shown(path)}: {reason(error)}") from error
    return merged


def document(path: Path) -> dict[str, Any]:
    """A file of YAML: names and values. Raises AgonError for what is none, too large, or not meant as data."""
    text = text_of(path)
    try:
        _weigh(text, shown(path))
        found: Any = OmegaConf.to_container(OmegaConf.create(text)) if text.strip() else {}
    except (OmegaConfBaseException, yaml.YAMLError, ValueError, RecursionError) as error:
        raise AgonError(f"{shown(path)}: {reason(error)}") from error
    if not isinstance(found, dict):
        raise AgonError(f"{shown(path)}: it holds a {type(found).__name__}, not settings: write name: value")
    _require_plain(found, shown(path))
    return found


def _weigh(text: str, place: str) -> None:
    """Raises AgonError for YAML that is too large or too deep, with aliases as what they stand for, before it is built."""
    sizes, open_ = dict[str | None, int](), [(None, [0])]
    for event in yaml.parse(text, yaml.CSafeLoader):
        size = 1
        if isinstance(event, yaml.ScalarEvent) and "${" in event.value:
            raise AgonError(f"{place}: {event.value[:80]!r}: nothing is put in the place of ${{...}}: write the value")
        if isinstance(event, yaml.ScalarEvent) and len(open_) == 1 and event.value:
            raise AgonError(f"{place}: it holds {event.value[:80]!r}, not settings: write name: value")
        if isinstance(event, yaml.CollectionStartEvent):
            open_.append((event.anchor, [1]))
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, counted = open_.pop()
            size = sizes[anchor] = counted[0]
        elif isinstance(event, yaml.AliasEvent):
            size = sizes.get(event.anchor, 1)
        open_[-1][1][0] += size
        if len(open_) > DEPTH or open_[-1][1][0] > NODES:
            raise AgonError(f"{place}: it holds more than {NODES:,} values, or more than {DEPTH} in one another")


def _require_plain(value: Any, place: str) -> None:
    """Raises AgonError unless all is data: names that are texts, numbers that are finite, and nothing to be replaced."""
    left, count = [value], 0
    while left:
        each = left.pop()
        count += 1
        if isinstance(each, dict):
            if strange := [key for key in each if not isinstance(key, str)]:
                raise AgonError(f"{place}: the name {strange[0]!r} is no text: put it in quotes")
            left += each.values()
        elif isinstance(each, list):
            left += each
        elif isinstance(each, float) and not isfinite(each):
            raise AgonError(f"{place}: {each} is no number to count with: null means none")
        elif isinstance(each, str) and "${" in each:
            raise AgonError(f"{place}: {each[:80]!r}: nothing is put in the place of ${{...}}: write the value")
        if count > NODES:
            raise AgonError(f"{place}: it holds more than {NODES:,} values")


@functools.cache
def find_families(conf: Path = CONF) -> list[Path]:
    """The folders named under `families` in conf/config.yaml, outside src, whose packages it makes importable.

    What files may name as `_target_` may then lie in them, and in its `packages`. Raises AgonError.
    """
    settings = config(conf)[0] if input_path(conf / "config.yaml").is_file() else {}
    for setting in OF_READER:
        given = settings.get(setting) or []
        if not isinstance(given, list) or not all(isinstance(each, str) and each.strip() for each in given):
            raise AgonError(f"{setting} in conf/config.yaml is {given!r}; it must be a list of names")
    folders = [input_path(each) for each in settings.get("families") or ()]
    for folder in folders:
        if not (folder / "game.py").is_file():
            raise AgonError(f"families in conf/config.yaml: {shown(folder)} has no game.py")
        if str(folder.parent) not in sys.path:
            sys.path.append(str(folder.parent))
        package = find_spec(folder.name)
        if package is None or folder.resolve() not in map(_resolved, package.submodule_search_locations or ()):
            raise AgonError(
                f"families in conf/config.yaml: another package is called {folder.name}: rename {shown(folder)}"
            )
    names = [folder.name for folder in folders]
    if twice := {name for name in names if names.count(name) > 1}:
        raise AgonError(f"families in conf/config.yaml: two folders are called {twice.pop()}: rename one")
    PACKAGES.update(names, settings.get("packages") or ())
    return folders


def _resolved(folder: str) -> Path:
    return Path(folder).resolve()


def expand_settings(names: Sequence[str], conf: Path = CONF) -> list[str]:
    """Names of games, with all its settings (FILE/SETTING) in the place of a game that has some. Raises AgonError."""
    found = []
    for name in names:
        file, mark, twin = name.partition("~")
        settings = {} if "/" in file else file_of("game", file, conf)
        own = [f"{file}/{setting}" for setting in variants(settings)] if "settings" in settings else [file]
        found += [f"{each}{mark}{twin}" for each in own]
    return found


def games(wanted: Sequence[str] | None = None) -> list[Game[Any]]:
    """The games of conf/game: those named, with all their settings, or all that have no settings."""
    if wanted is None:
        wanted = [name for name in names("game") if "settings" not in file_of("game", name, CONF)]
    return distinct([load("game", name) for name in expand_settings(wanted)])


def distinct(games: list[Game[Any]]) -> list[Game[Any]]:
    """The games as they are. Raises AgonError when different ones bear the same name and variant."""
    known: dict[tuple[str, str], Game[Any]] = {}
    for game in games:
        if known.setdefault((game.name, game.variant), game) != game:
            raise AgonError(
                f"two games in conf/game are called {game.name}, variant {game.variant}: give one another `variant`"
            )
    return games


def require_own_names(found: Mapping[str, Game[Any]], conf: Path = CONF) -> None:
    """Raises AgonError where a game, by its name in conf/game, is called like a different one there or of agon.

    Games with settings are left out: they may be there under several readings of their rules.
    """
    for path, other in _without_settings(conf):
        for name, game in found.items():
            if (game.name, game.variant) == (other.name, other.variant) and game != other:
                own = input_path(conf / "game" / f"{re.split('[/~]', name)[0]}.yaml")
                raise AgonError(
                    f"{shown(own)} and {shown(path)} are different games that are both called "
                    f"{game.name}, variant {game.variant}: give one another `name` or `variant`"
                )


def _without_settings(conf: Path) -> Iterator[tuple[Path, Game[Any]]]:
    """The games of conf/game that have no settings, with their files, and those of agon that a file there hides."""
    own = {path.stem for path in (conf / "game").glob("*.yaml")}
    for place, known in (
        (conf, names("game", conf)),
        (SHIPPED / "conf", own if conf == CONF != SHIPPED / "conf" else ()),
    ):
        for name in known:
            with suppress(AgonError):  # it cannot be used
                if "settings" not in file_of("game", name, place):
                    yield input_path(place / "game" / f"{name}.yaml"), load("game", name, place)


def names(group: str, conf: Path = CONF) -> list[str]:
    """The names of the files in a folder of conf/, of the project's and of agon's own."""
    return sorted(
        path.stem for path in input_files(conf / group, "*.yaml") if path.is_file() and path.stem.isprintable()
    )


def about(group: str, name: str, conf: Path = CONF) -> str:
    """A sentence on conf/`group`/`name`.yaml: the first of the comment that it begins with, else of its class or function."""
    lines = text_of(input_path(conf / group / f"{name}.yaml")).splitlines()
    said = " ".join(line.strip("# ") for line in takewhile(lambda line: line.startswith("#"), lines))
    if not said:
        with suppress(AgonError):  # it is listed though it cannot be used
            said = " ".join((inspect.getdoc(located(file_of(group, name, conf).get("_target_"))) or "").split())
    return re.split(r"(?<=[.?]) (?=[A-Z`])", said)[0]


def offered(name: str, names: Sequence[str], more: str = "") -> str:
    """What to say to who asked for a `name` that is not there: the nearest one, or all there are; of more than FEW some.

    `more`: the command that names all, which is said where the nearest one is not clear.
    """
    last = {key.rpartition(".")[2]: key for key in names}
    close = difflib.get_close_matches(name, names, 1) or [last[key] for key in difflib.get_close_matches(name, last, 1)]
    if close:
        return f"did you mean {close[0]}?"
    near = difflib.get_close_matches(name, names, FEW // 2, 0) if len(names) > FEW else []
    told = f"of {len(names):,} the nearest are {', '.join(near)}" if near else f"there are {', '.join(names) or 'none'}"
    return f"{told} ({more})" if more else told


def offered_of(group: str, name: str, conf: Path = CONF) -> str:
    """The same of the files in conf/`group`."""
    if group == "experiment" and name in config(conf)[0].get("recorded", {}):
        return (
            "it is of recorded games, which compare, rate, export and notebooks take; there is nothing to ask or play"
        )
    return offered(name, names(group, conf), f"agon list {group}s" if f"{group}s" in LISTED else "")


def _require_readable(overrides: Sequence[str]) -> None:
    """Raises AgonError for an override that Hydra's grammar does not read as one value, with how to write it."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    parser = OverridesParser.create()
    for override in overrides:
        with suppress(HydraException):
            if not parser.parse_override(override).is_sweep_override():
                continue
        key, _, value = override.partition("=")
        mark = "'" if "'" not in value else '"'
        inner = re.sub(rf"(\\*){mark}", rf"\1\1\\{mark}", value)
        inner = re.sub(r"(\\+)$", r"\1\1", inner)
        quoted = shlex.quote(f"{key}={mark}{inner}{mark}")
        raise AgonError(f"{override!r:.200} cannot be read: where its value is one text, write {quoted:.200}")


def _keys(settings: Any, above: str = "") -> list[str]:
    found = []
    for key, value in settings.items():
        found += [f"{above}{key}", *(_keys(value, f"{above}{key}.") if isinstance(value, dict) else ())]
    return found


def reason(error: BaseException) -> str:
    """What was wrong at first, in one line, which may be cut off."""
    while error.__cause__ is not None:
        error = error.__cause__
    return " ".join(str(error)[:300].split())
