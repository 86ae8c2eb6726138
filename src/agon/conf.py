"""Configuration: the files in conf/ as Hydra composes them, and the games, agents and models that they describe."""

import difflib
import functools
import re
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from hydra.utils import instantiate
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError  # type: ignore[import-untyped]

from agon import ROOT, AgonError
from agon.games import Game
from agon.games.settings import variants

CONF = ROOT / "conf"


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
    folder: str
    sampling: str | None


class Settings(msgspec.Struct, forbid_unknown_fields=True):
    """conf/config.yaml as composed."""

    debug: bool
    fresh: bool
    concurrency: Annotated[int, msgspec.Meta(ge=1)] | None
    budget: Limit
    executor: Executor
    source: str
    path: str
    out: Annotated[str, msgspec.Meta(pattern=r"\.parquet$")] | None
    serve: Serve
    families: list[str]
    experiment: dict[str, Any]


def configuration(overrides: Sequence[str] = (), conf: Path = CONF) -> dict[str, Any]:
    """conf/config.yaml with `overrides` (Hydra's syntax). Raises AgonError in one line for what is not there."""
    for override in overrides:
        group, given, name = override.partition("=")
        if group == "families":
            raise AgonError("families are named in conf/config.yaml alone, so that every command knows the same games")
        if not given:
            raise AgonError(f"{override!r} sets nothing: write setting=value, for instance experiment={override}")
        if (conf / group).is_dir() and not (conf / group / f"{name}.yaml").is_file():
            raise AgonError(f"there is no {group} {name!r} in conf/{group}: {offered(name, names(group, conf))}")
    settings = _composed("config", overrides, conf)
    try:
        msgspec.convert(settings, Settings)
    except msgspec.ValidationError as error:
        raise AgonError(f"the settings do not fit: {error}") from None
    return settings


def load(group: str, name: str, conf: Path = CONF) -> Any:
    """What conf/`group`/`name`.yaml describes, built by its `_target_`. Raises AgonError when there is no such file."""
    settings = settings_of(group, name, conf)
    try:
        return instantiate(settings)
    except (HydraException, OmegaConfBaseException, TypeError, ValueError) as error:
        raise AgonError(f"conf/{group}/{name}.yaml cannot be built: {reason(error)}") from error


@functools.cache
def settings_of(group: str, name: str, conf: Path = CONF) -> dict[str, Any]:
    """conf/`group`/`name`.yaml as plain data; FILE/SETTING is one of a game that has `settings`. Raises AgonError."""
    file, _, setting = name.partition("/")
    settings = file_of(group, file, conf)
    if "/" not in name and "settings" not in settings:
        return settings
    found = variants(settings) if "settings" in settings else {}
    if setting not in found:
        raise AgonError(f"{group} {file} has no setting {setting!r}: {offered(setting, list(found))}")
    return found[setting]


@functools.cache
def file_of(group: str, name: str, conf: Path) -> dict[str, Any]:
    """conf/`group`/`name`.yaml as it is composed. Raises AgonError."""
    find_families(conf)
    if name not in names(group, conf):
        raise AgonError(f"there is no {group} {name!r} in conf/{group}: {offered(name, names(group, conf))}")
    settings: dict[str, Any]
    with suppress(OmegaConfBaseException, YAMLError, ValueError):  # what is wrong is said below
        plain = OmegaConf.load(conf / group / f"{name}.yaml")
        if "defaults" not in plain:  # nothing to compose, for which Hydra takes fifty times as long
            settings = OmegaConf.to_container(plain, resolve=True)  # type: ignore[assignment]
            return settings
    settings = _composed(f"{group}/{name}", (), conf)[group]
    return settings


@functools.cache
def find_families(conf: Path = CONF) -> list[Path]:
    """The folders named under `families` in conf/config.yaml, outside src, whose packages it makes importable. Raises AgonError."""
    config: Any = OmegaConf.load(conf / "config.yaml") if (conf / "config.yaml").is_file() else {}
    folders = [ROOT / Path(each).expanduser() for each in config.get("families") or ()]
    for folder in folders:
        if not (folder / "game.py").is_file():
            raise AgonError(f"families in conf/config.yaml: {folder} has no game.py")
        if str(folder.parent) not in sys.path:
            sys.path.append(str(folder.parent))
    names = [folder.name for folder in folders]
    if twice := {name for name in names if names.count(name) > 1}:
        raise AgonError(f"families in conf/config.yaml: two folders are called {twice.pop()}: rename one")
    return folders


def expand_settings(names: Sequence[str], conf: Path = CONF) -> list[str]:
    """Names of games, with all its settings (FILE/SETTING) in the place of a game that has some. Raises AgonError."""
    found = []
    for name in names:
        settings = {} if "/" in name else file_of("game", name, conf)
        found += [f"{name}/{setting}" for setting in variants(settings)] if "settings" in settings else [name]
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


def names(group: str, conf: Path = CONF) -> list[str]:
    """The names of the files in a folder of conf/."""
    return sorted(path.stem for path in (conf / group).glob("*.yaml"))


def offered(name: str, names: Sequence[str]) -> str:
    """What to say to who asked for a `name` that is not there: the nearest one, or all there are."""
    last = {key.rpartition(".")[2]: key for key in names}
    close = difflib.get_close_matches(name, names, 1) or [last[key] for key in difflib.get_close_matches(name, last, 1)]
    return f"did you mean {close[0]}?" if close else f"there are {', '.join(names) or 'none'}"


def _composed(name: str, overrides: Sequence[str], conf: Path) -> dict[str, Any]:
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(str(conf.resolve()), version_base="1.3"):
            composed = compose(name, overrides=list(overrides))
        settings: dict[str, Any] = OmegaConf.to_container(composed, resolve=True)  # type: ignore[assignment]
    except (HydraException, OmegaConfBaseException, YAMLError, ValueError) as error:
        unknown = re.match(r"Key '.*' is not in struct\s+full_key: (\S+)", reason(error))
        _require_readable(overrides)
        if unknown:
            keys = _keys(_composed(name, (), conf))
            raise AgonError(f"there is no setting {unknown[1]!r} in conf/: {offered(unknown[1], keys)}") from error
        raise AgonError(reason(error)) from error
    return settings


def _require_readable(overrides: Sequence[str]) -> None:
    """Raises AgonError for an override that Hydra's grammar does not read as one value, with how to write it."""
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
        raise AgonError(f"{override!r} cannot be read: where its value is one text, write {quoted}")


def _keys(settings: dict[str, Any], above: str = "") -> list[str]:
    found = []
    for key, value in settings.items():
        found += [f"{above}{key}", *(_keys(value, f"{above}{key}.") if isinstance(value, dict) else ())]
    return found


def reason(error: BaseException) -> str:
    """What was wrong at first, in one line."""
    while error.__cause__ is not None:
        error = error.__cause__
    return " ".join(str(error).split())
