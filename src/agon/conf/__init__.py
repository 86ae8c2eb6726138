"""Configuration: the files in conf/ as Hydra composes them, and the games, agents and models that they describe.

`_target_` names what lies in packages that `agon.registry.locate` allows, and nothing is read from the environment.
"""

from agon.conf.building import build, derived_games, expand_settings, games, load, require_distinct_games, settings_of
from agon.conf.composition import (
    MAIN,
    PRIMARY,
    VERSION,
    check_settings,
    compose_together,
    configuration,
    explain_error,
    file_of,
    forget_files,
    hydra_session,
    search_project,
)
from agon.conf.files import (
    CONF,
    FEW,
    LISTED,
    current_name,
    current_names,
    describe_file,
    find_families,
    id_name,
    names,
    recorded_games,
    renaming_notes,
    suggest,
    suggest_file,
)
from agon.conf.gate import FAULTS, document, reason

__all__ = [
    "CONF",
    "FAULTS",
    "FEW",
    "LISTED",
    "MAIN",
    "PRIMARY",
    "VERSION",
    "build",
    "check_settings",
    "compose_together",
    "configuration",
    "current_name",
    "current_names",
    "derived_games",
    "describe_file",
    "document",
    "expand_settings",
    "explain_error",
    "file_of",
    "find_families",
    "forget_files",
    "games",
    "hydra_session",
    "id_name",
    "load",
    "names",
    "reason",
    "recorded_games",
    "renaming_notes",
    "require_distinct_games",
    "search_project",
    "settings_of",
    "suggest",
    "suggest_file",
]
