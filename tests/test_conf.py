"""Configuration: what is built is what Hydra would build, and files composed together are those composed alone."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import SimpleNamespace

import hydra
import pytest

from agon import AgonError
from agon.conf import (
    CONF,
    build,
    compose_together,
    derived_games,
    document,
    file_of,
    forget_files,
    names,
    recorded_games,
    settings_of,
)
from agon.conf.building import derived_settings
from agon.conf.files import reader_settings

FILES = [
    (group, name)
    for group in ("agent", "game", "model")
    for name in names(group)
    if group != "game" or "settings" not in file_of(group, name)
]


def parts(value):
    """An object, whose partial functions, at any depth of their keywords, are what they consist of."""
    if isinstance(value, partial):
        return [value.func, value.args, {name: parts(item) for name, item in value.keywords.items()}]
    if hasattr(value, "policy"):
        return [type(value), vars(value) | {"policy": parts(value.policy)}]
    return value


def test_an_object_is_built_as_hydra_instantiates_it():
    settings = {file: settings_of(*file) for file in FILES}
    ours = {file: parts(build(setting)) for file, setting in settings.items()}
    theirs = {file: parts(hydra.utils.instantiate(setting, _convert_="all")) for file, setting in settings.items()}
    assert len(settings) > 90 and [file for file in settings if ours[file] != theirs[file]] == []


def test_a_game_made_of_another_is_refused_where_no_package_makes_any(monkeypatch):
    monkeypatch.setattr("agon.conf.building.makers", dict)
    with pytest.raises(AgonError) as error:
        settings_of("game", "pd~nowhere")
    assert "game pd~nowhere: no installed package makes games from games" in str(
        error.value
    ) and "install agon_twins" in str(error.value)
    assert derived_games("pd", CONF) == {}


def test_several_packages_may_make_games_of_games(monkeypatch):
    def door(only):
        def settings(game, name, conf):
            if name != only:
                raise AgonError(f"{only} makes no {name}")
            return {"made by": only}

        module = SimpleNamespace(settings=settings, made_of=lambda game, conf: {only: f"of {game}"})
        return SimpleNamespace(load=lambda: module)

    monkeypatch.setattr("agon.conf.building.makers", lambda: {"a": door("moss"), "b": door("mirror")})
    assert derived_settings("pd", "moss", CONF) == {"made by": "moss"}
    assert derived_settings("pd", "mirror", CONF) == {"made by": "mirror"}
    assert derived_games("pd", CONF) == {"moss": "of pd", "mirror": "of pd"}
    with pytest.raises(AgonError, match="moss makes no fern; mirror makes no fern"):
        derived_settings("pd", "fern", CONF)


@pytest.mark.parametrize(("line", "said"), [("families:", "families in conf"), ("recorded:", "recorded in ")])
def test_a_setting_that_is_empty_is_named(tmp_path, line, said):
    (tmp_path / "config.yaml").write_text(f"agon: true\n{line}\n")
    with pytest.raises(AgonError, match=f"^{said}.* is None; it must be "):
        (reader_settings if line == "families:" else recorded_games)(tmp_path)


@pytest.mark.parametrize("group", ["agent", "game", "model", "twin"])
def test_files_that_are_composed_together_are_as_composed_alone(group):
    forget_files()
    compose_together({group: names(group)[:8]})
    together = {name: file_of(group, name) for name in names(group)[:8]}
    forget_files()
    assert together == {name: file_of(group, name) for name in together}


def test_a_file_with_a_fault_stops_no_other_that_is_composed_with_it(tmp_path):
    (tmp_path / "game").mkdir()
    (tmp_path / "game/good.yaml").write_text("rounds: 3\n")
    (tmp_path / "game/broken.yaml").write_text("rounds: [\n")
    compose_together({"game": ["good", "broken"]}, tmp_path)
    assert file_of("game", "good", tmp_path) == {"rounds": 3}
    with pytest.raises(AgonError, match=r"game/broken\.yaml: "):
        file_of("game", "broken", tmp_path)


def test_a_file_without_defaults_is_composed_as_it_is_written():
    files = [(group, name) for group in ("experiment", "sampling", "study", "notebook") for name in names(group)]
    documents = {(group, name): document(CONF / f"{group}/{name}.yaml") for group, name in files}
    plain = [file for file, settings in documents.items() if "defaults" not in settings]
    assert len(plain) > 40 and [file for file in plain if file_of(*file) != documents[file]] == []


def test_files_are_composed_beside_a_program_of_hydras_own(tmp_path):
    (tmp_path / "agon.yaml").write_text("x: 1\nhydra: {verbose: true}\n")
    with hydra.initialize_config_dir(str(tmp_path), version_base="1.3"):
        forget_files()
        assert file_of("game", "pd")["name"] == "pd"
        assert hydra.compose("agon") == {"x": 1}
    with hydra.initialize_config_dir(str(tmp_path), version_base="1.3"):
        assert hydra.compose("agon") == {"x": 1}


def test_threads_compose_at_once():
    forget_files()
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda name: file_of("model", name), names("model")[:12]))
    forget_files()
    assert together == [file_of("model", name) for name in names("model")[:12]]
