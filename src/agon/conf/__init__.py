"""Configuration: the files in conf/ as Hydra composes them, and the games, agents and models that they describe.

`_target_` names what lies in packages that `agon.registry.located` allows, and nothing is read from the environment.
"""

from agon.conf.building import built, distinct, games, load
from agon.conf.composition import (
    MAIN,
    PRIMARY,
    VERSION,
    checked,
    compose_together,
    configuration,
    explained,
    file_of,
    forget_files,
    search_project,
    without_environment,
)
from agon.conf.derived import derived_games
from agon.conf.files import (
    CONF,
    FEW,
    LISTED,
    about,
    find_families,
    id_name,
    name_now,
    names,
    new_names,
    offered,
    offered_of,
    recorded_games,
    renaming_told,
)
from agon.conf.gate import FAULTS, document, reason
from agon.conf.named import expand_settings, settings_of

__all__ = [
    "CONF",
    "FAULTS",
    "FEW",
    "LISTED",
    "MAIN",
    "PRIMARY",
    "VERSION",
    "about",
    "built",
    "checked",
    "compose_together",
    "configuration",
    "derived_games",
    "distinct",
    "document",
    "expand_settings",
    "explained",
    "file_of",
    "find_families",
    "forget_files",
    "games",
    "id_name",
    "load",
    "name_now",
    "names",
    "new_names",
    "offered",
    "offered_of",
    "reason",
    "recorded_games",
    "renaming_told",
    "search_project",
    "settings_of",
    "without_environment",
]
