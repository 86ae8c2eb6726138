"""Composition of conf/ by Hydra: the settings of a command, and single files of its groups, as plain data."""

import functools
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Annotated, Any, Literal

import msgspec
from omegaconf import DictConfig, OmegaConf
from omegaconf.basecontainer import BaseContainer
from yaml import MarkedYAMLError  # type: ignore[import-untyped]

from agon.conf.files import CONF, OF_READER, current_name, find_families, names, reader_settings, suggest, suggest_file
from agon.conf.gate import FAULTS, plain, reason, require_small
from agon.errors import AgonError, describe_fault
from agon.paths import SHIPPED, display_path, read_text_file

MAIN = SHIPPED / "conf"
"""The folder of agon's own conf. Hydra searches a project's conf before it."""
PRIMARY = "agon"
"""The file of MAIN with the settings of all commands. It includes the project's conf/config.yaml."""
VERSION = "1.3"
"""The version of Hydra whose behaviour agon uses."""


class Limit(msgspec.Struct, forbid_unknown_fields=True):
    """The budget of one `record`; null is no limit."""

    usd: Annotated[float, msgspec.Meta(ge=0)] | None
    tokens: Annotated[float, msgspec.Meta(ge=0)] | None
    calls: Annotated[float, msgspec.Meta(ge=0, multiple_of=1)] | None


class Settings(msgspec.Struct, forbid_unknown_fields=True):
    """The settings of a command as composed."""

    agon: Literal[True]
    fresh: bool
    partial: bool
    force: bool
    large: bool
    batch: bool
    concurrency: Annotated[int, msgspec.Meta(ge=1)] | None
    budget: Limit
    readable: Annotated[float, msgspec.Meta(ge=0, le=1)] | None
    served: Literal["go_on", "stop"]
    other_hosts: bool
    source: str
    path: str | None
    recorded: dict[str, list[str]]
    out: Annotated[str, msgspec.Meta(pattern=r"\.parquet$")] | None
    families: list[str]
    packages: list[str]
    experiment: dict[str, Any]


@functools.cache
def search_project() -> None:
    """Makes Hydra search the project's conf before agon's own, and check each file of a project that it reads.

    Raises AgonError where that would hide settings of commands.
    """
    from hydra.core.config_search_path import ConfigSearchPath
    from hydra.core.plugins import Plugins
    from hydra.plugins.config_source import ConfigResult, ConfigSource
    from hydra.plugins.search_path_plugin import SearchPathPlugin

    plugins = Plugins.instance()
    sources: list[Any] = plugins.discover(ConfigSource)
    files = next(source for source in sources if source.scheme() == "file")
    own = _own_settings()

    class ProjectFiles(files):  # type: ignore[valid-type, misc]
        @staticmethod
        def scheme() -> str:
            return "project"

        def load_config(self, config_path: str) -> ConfigResult:
            path = CONF / self._normalize_file_name(config_path)
            if path != own and path.is_file():
                _require_harmless(path)
            return super().load_config(config_path)

    class ProjectConf(SearchPathPlugin):
        def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
            mains = [part.path.removeprefix("file://") for part in search_path.get_path() if part.provider == "main"]
            if mains == [str(MAIN)]:  # else another folder, or another program, is asked for
                search_path.prepend("project", f"project://{CONF}", anchor="main")

    plugins.register(ProjectFiles)
    plugins.register(ProjectConf)


def _own_settings() -> Path | None:
    """conf/agon.yaml of agon's checkout. Raises AgonError where a project's file hides agon's settings.

    A copy of the checkout, as `dvc exp run --temp` makes one, has the same conf/agon.yaml.
    """
    settings, hydra = CONF / "agon.yaml", CONF / "hydra"
    same = settings.is_file() and read_text_file(settings) == read_text_file(SHIPPED / "conf/agon.yaml")
    for hiding in [path for path in (settings, hydra) if path.exists() and not (same and path == settings)]:
        raise AgonError(
            f"conf/{hiding.name} would hide agon's file: write the settings that differ into conf/config.yaml"
        )
    return settings if same else None


def _require_harmless(path: Path) -> None:
    """Raises AgonError for a file that never comes to an end, or that sets Hydra's settings, which may name code to call."""
    text = read_text_file(path)
    try:
        require_small(text)
    except AgonError as error:
        raise AgonError(f"{display_path(path)}: {error}") from None
    if _sets_hydra(text):
        raise AgonError(
            f"{display_path(path)}: Hydra's own settings, and @package, belong on the command line: remove them from the file"
        )


def _sets_hydra(text: str) -> bool:
    """Whether a file's text has settings or defaults of Hydra's own. A text that Hydra cannot read has none."""
    if not re.search(r"hydra|@package|\\", text):  # a backslash can spell any letter
        return False
    try:
        settings: Any = OmegaConf.to_container(OmegaConf.create(text))
    except FAULTS:
        return False
    if not isinstance(settings, dict):
        return False
    header = re.search(r"^\s*#\s*@package", text, re.M)
    return "hydra" in settings or "hydra" in str(settings.get("defaults")) or header is not None


@contextmanager
def hydra_session() -> Iterator[None]:
    """In this context Hydra has no other state, and ${oc.env:...} does not exist, not even in lists of defaults.

    Afterwards a program that Hydra runs has its state and its resolver again. No public function of OmegaConf could put a resolver
    back. So the code uses a private name (tests/test_environment.py fails if it goes).
    """
    from hydra.core.global_hydra import GlobalHydra
    from hydra.core.hydra_config import HydraConfig

    resolver = BaseContainer._resolvers.pop("oc.env", None)
    hydra, settings = GlobalHydra.instance().hydra, HydraConfig.instance().cfg
    GlobalHydra.instance().clear()
    try:
        yield
    finally:
        GlobalHydra.instance().hydra, HydraConfig.instance().cfg = hydra, settings
        if resolver is not None:
            BaseContainer._resolvers["oc.env"] = resolver


_COMPOSING = Lock()
"""Hydra has one global state in a process."""


def compose(name: str | None, overrides: Sequence[str] = (), conf: Path = CONF) -> DictConfig:
    """The composition of conf/`name`.yaml (None: of an empty file) and overrides, by Hydra. Raises AgonError."""
    import hydra  # the import takes a fifth of a second
    from hydra.errors import HydraException

    search_project()
    folder = MAIN if conf == CONF else conf.absolute()
    with _COMPOSING, hydra_session():
        try:
            with hydra.initialize_config_dir(str(folder), version_base=VERSION):
                return hydra.compose(name, list(overrides))
        except (HydraException, *FAULTS) as error:
            fault = error
    raise explain_error(fault, conf) from fault


def configuration(overrides: Sequence[str] = (), conf: Path = CONF) -> dict[str, Any]:
    """The settings of a command: conf/agon.yaml, conf/config.yaml, and overrides in Hydra's syntax. Raises AgonError."""
    return check_settings(compose(PRIMARY, overrides, conf), conf)


def check_settings(composed: DictConfig, conf: Path = CONF) -> dict[str, Any]:
    """Composed settings as plain data. Raises AgonError for values that do not fit `Settings`."""
    settings = plain(composed)
    if any(settings.get(name) != reader_settings(conf)[name] for name in OF_READER):
        raise AgonError(
            f"{' and '.join(OF_READER)} can only be set in conf/config.yaml, so that every command trusts the same code"
        )
    try:
        msgspec.convert(settings, Settings)
    except msgspec.ValidationError as error:
        raise AgonError(f"the settings do not fit: {describe_fault(error, Settings, settings)}") from None
    return settings


_FILES: dict[tuple[Path, str, str], dict[str, Any]] = {}
"""The cache of composed files: (folder of conf, group, name) -> settings."""


def file_of(group: str, name: str, conf: Path = CONF) -> dict[str, Any]:
    """conf/`group`/`name`.yaml as Hydra composes it, as plain data. Raises AgonError."""
    find_families(conf)
    name = current_name(group, name, conf)
    if (conf, group, name) not in _FILES:
        if name not in names(group, conf):
            raise AgonError(f"there is no {group} {name!r} in conf/{group}: {suggest_file(group, name, conf)}")
        try:
            _compose_files([(group, name)], conf)
        except AgonError as error:
            if isinstance(error.__cause__, MarkedYAMLError):  # the message names the file, which may be another
                raise
            raise AgonError(f"conf/{group}/{name}.yaml: {error}") from error.__cause__
    return _FILES[conf, group, name]


def forget_files() -> None:
    """Clears the cache of composed files, which may have been corrected meanwhile."""
    _FILES.clear()


def compose_together(names_of_group: Mapping[str, Iterable[str]], conf: Path = CONF) -> None:
    """Composes files of conf/ (group -> names) together, which is quicker. An error in one is left to `file_of`, which names the file."""
    find_families(conf)
    files = {(group, current_name(group, name, conf)) for group, names in names_of_group.items() for name in names}
    with suppress(AgonError):
        _compose_files(sorted(file for file in files if (conf, *file) not in _FILES), conf)


def _compose_files(files: Sequence[tuple[str, str]], conf: Path) -> None:
    words = [
        "+{}@file{}='{}'".format(group, place, name.replace("'", "\\'")) for place, (group, name) in enumerate(files)
    ]
    composed = compose(None, words, conf) if files else {}
    for place, file in enumerate(files):
        _FILES[conf, *file] = plain(composed[f"file{place}"])


def explain_error(error: Exception, conf: Path = CONF) -> AgonError:
    """An error of Hydra in one line: what is wrong, and the nearest name that exists."""
    from hydra.errors import MissingConfigException, OverrideParseException

    if isinstance(error, OverrideParseException):
        name, _, value = error.override.partition("=")
        if not value:
            is_experiment = error.override in names("experiment", conf)
            hint = f"did you mean experiment={error.override}?" if is_experiment else "write setting=value"
            return AgonError(f"{error.override!r:.200} sets nothing: {hint}")
        return AgonError(
            f"{error.override!r:.200} cannot be read: if its value is one text, write {_quoted(name, value):.200}"
        )
    if isinstance(error, MissingConfigException) and error.missing_cfg_file:
        group, _, name = str(error.missing_cfg_file).rpartition("/")
        hint = suggest_file(group, name, conf) if group else "mend `defaults`"
        return AgonError(f"there is no {group or 'file'} {name!r} in conf/{group}: {hint}")
    if unknown := re.match(r"Could not override '([^']*)'", str(error)):
        return AgonError(_explain_unknown(unknown[1], conf))
    if isinstance(error, RecursionError):
        return AgonError(
            "it is nested too deeply, or its `defaults` form a circle: a file names itself, or a file that names it"
        )
    if several := re.match(r"Ambiguous value for argument '([^']*)'", str(error)):
        name, _, value = several[1].partition("=")
        return AgonError(
            f"{several[1]!r:.200} has several values: for a list write {name}=[{value}], for one text "
            f"{_quoted(name, value):.200}, to run with each of them add --multirun"
        )
    if sweep := re.match(r"Sweep parameters '([^']*)' requires", str(error)):
        return AgonError(f"{sweep[1]!r:.200} stands for several values: add --multirun to run with each of them")
    if duplicate := re.match(r"Multiple values for (\S+)\.|(\S+) appears more than once", str(error)):
        group = duplicate[1] or duplicate[2]
        return AgonError(
            f"`defaults` choose {group} twice: in conf/config.yaml, or in the file, write `override {group}: NAME`"
        )
    if isinstance(error, MarkedYAMLError) and error.problem_mark:
        return AgonError(f"{display_path(Path(error.problem_mark.name))}: {reason(error)}")
    return AgonError(reason(error))


def _quoted(name: str, value: str) -> str:
    """An override whose value is one text, quoted for Hydra and for a shell."""
    mark = '"' if "'" in value else "'"
    text = re.sub(rf"(\\*){mark}", rf"\1\1\\{mark}", value)
    text = re.sub(r"(\\+)$", r"\1\1", text)
    return shlex.quote(f"{name}={mark}{text}{mark}")


def _explain_unknown(key: str, conf: Path) -> str:
    """The message for a setting that does not exist: what is wrong, and what to write."""
    if key == "experiment":
        return "experiment takes the name of one file in conf/experiment: agon list experiments"
    if key.startswith("hydra."):
        return f"Hydra has no setting {key[:80]!r}: --cfg hydra prints all"
    if key.isidentifier() and any((folder / key).is_dir() for folder in (conf, MAIN)):
        return f"conf/{key} has files that an experiment names: name one in a file of conf/experiment"
    return f"there is no setting {key[:80]!r} in conf/: {suggest(key[:80], _keys(compose(PRIMARY)), '--cfg job prints all')}"


def _keys(settings: Any, prefix: str = "") -> list[str]:
    keys = []
    for key, value in settings.items():
        keys += [f"{prefix}{key}", *(_keys(value, f"{prefix}{key}.") if isinstance(value, dict | DictConfig) else ())]
    return keys
