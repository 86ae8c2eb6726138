"""pyproject.toml, environment.yml and requirements.lock ask for the same packages."""

import re
import tomllib

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from agon import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def by_name(lines):
    """Requirements by canonical name; none may be asked for twice."""
    parsed = [Requirement(line) for line in lines]
    found = {canonicalize_name(one.name): one for one in parsed}
    assert len(found) == len(parsed), "a package is asked for twice"
    return found


def in_conda():
    """What environment.yml asks for, its pip section included; Python, pip and the project itself are left out."""
    asked = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    lines = [line for line in asked if isinstance(line, str) and line != "pip"]
    lines += [line for part in asked if isinstance(part, dict) for line in part["pip"] if line != "--editable ."]
    return by_name(lines)


def pins():
    """Name -> every version that requirements.lock has for it (one per Python version or system)."""
    found = {}
    for line in (ROOT / "requirements.lock").read_text().splitlines():
        if pinned := re.match(r"([A-Za-z0-9._-]+)==(\S+)", line):
            found.setdefault(canonicalize_name(pinned[1]), []).append(pinned[2])
    return found


NEEDED = by_name([*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["dev"]])


def test_environment_yml_asks_for_nothing_else():
    assert set(in_conda()) - {"python"} == set(NEEDED)


@pytest.mark.parametrize("name", sorted(NEEDED))
def test_every_dependency_has_the_same_bound_in_environment_yml(name):
    assert in_conda()[name].specifier == NEEDED[name].specifier


@pytest.mark.parametrize("name", sorted(NEEDED))
def test_every_dependency_is_pinned_within_its_bound(name):
    versions = pins().get(name, [])
    assert versions, f"{name} is not in requirements.lock"
    assert all(NEEDED[name].specifier.contains(version, prereleases=True) for version in versions)


def test_python_starts_at_the_same_version_everywhere():
    conda = in_conda()["python"].specifier
    assert SpecifierSet(PROJECT["requires-python"]) == SpecifierSet(
        ",".join(str(part) for part in conda if part.operator == ">=")
    )
    least = PROJECT["requires-python"].removeprefix(">=")
    assert f"--python-version {least}" in (ROOT / "requirements.lock").read_text()


def test_environment_yml_uses_one_channel_only():
    assert yaml.safe_load((ROOT / "environment.yml").read_text())["channels"] == ["conda-forge"]
