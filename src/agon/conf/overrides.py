"""The settings of a command: conf/config.yaml, and what the command says otherwise."""

import re
import shlex
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from agon import AgonError, fault_of, input_places
from agon.conf.documents import reason, require_plain
from agon.conf.files import CONF, OF_READER, config, file_of, names, offered, offered_of
from agon.conf.schema import Settings


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
            require_plain(value, repr(str(override.input_line)[:80]))
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
        if re.fullmatch(r"[-+]?\d+,\d+", value):
            raise AgonError(
                f"{override!r:.200} cannot be read: a number has a point, as in {key}={value.replace(',', '.')}"
            )
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
