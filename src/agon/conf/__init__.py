"""Configuration: the files in conf/, and the games, agents and models that they describe.

Files are data: what they may name as `_target_` is said by `agon.located`, and nothing in them is replaced.
"""

from agon.conf.building import built, distinct, games, load, require_own_names, smaller
from agon.conf.documents import document, reason
from agon.conf.files import (
    CONF,
    FEW,
    LISTED,
    about,
    config,
    file_of,
    find_families,
    id_name,
    name_now,
    names,
    new_names,
    offered,
    offered_of,
    renaming_told,
)
from agon.conf.named import Twins, claims, expand_settings, settings_of, twins
from agon.conf.overrides import configuration
from agon.conf.schema import Until

__all__ = [
    "CONF",
    "FEW",
    "LISTED",
    "Twins",
    "Until",
    "about",
    "built",
    "claims",
    "config",
    "configuration",
    "distinct",
    "document",
    "expand_settings",
    "file_of",
    "find_families",
    "games",
    "id_name",
    "load",
    "name_now",
    "names",
    "new_names",
    "offered",
    "offered_of",
    "reason",
    "renaming_told",
    "require_own_names",
    "settings_of",
    "smaller",
    "twins",
]
