"""Whatever files and words hold: the command does it, or says in one line why not, and in no time. `make fuzz` tries for ten minutes.

What it has found stands beside each property as an example.
"""

import json
import os
import shutil
import signal
from contextlib import contextmanager
from itertools import count

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from magic_games import target
from test_hostile import AGENT, ELSEWHERE, ESCAPES, GAME, POLICY, RESOLVERS, SEATED, STAND_IN, WITHIN
from test_settings import GOOD

from agon import AgonError
from agon.agents.prompts import prompts, source_of
from agon.conf import CONF, configuration, load
from agon.games import Game
from agon.games.matrix import MatrixGame
from agon.games.settings import variants
from agon.models.recording import FILE, Recording
from agon.plan import plan
from agon.record.misfit import explain_cache_miss

EXAMPLES = int(os.environ.get("AGON_FUZZ", "40"))
"""Of each property; a hundred take about a second."""
LONG = 20
"""Seconds that nothing takes, on a busy machine either."""
NUMBER = count()

tried = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=EXAMPLES <= 40
)


@contextmanager
def one_line():
    """What goes on within ends, or is refused in one line that can be shown."""

    def late(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(LONG)
    try:
        yield
    except AgonError as error:
        assert str(error) and "\n" not in str(error) and len(str(error)) < 5000
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def conf(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzz") / "conf"
    for name in (
        "config",
        "experiment/scripted",
        "game/pd",
        "model/standin",
        "agent/zs",
        "sampling/as_done",
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(CONF / f"{name}.yaml", folder / f"{name}.yaml")
    (folder / "agent/kind.yaml").write_text(yaml.safe_dump(POLICY))
    return folder


# --- what is put into files

TEXTS = st.one_of(
    st.sampled_from(
        [
            *ELSEWHERE,
            *WITHIN,
            *RESOLVERS,
            "",
            " ",
            "???",
            "${",
            "pd",
            "grim",
            "zs@standin",
            "../x",
            "\x1b[2J",
            "a\nb",
        ]
    ),
    st.text(max_size=20),
)
NUMBERS = st.one_of(
    st.integers(-3, 20), st.sampled_from([10**9, 10**23, -(10**30), 0.5, -1.5, 1e308, float("nan"), float("inf")])
)
PLAIN = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS)
NAMES = st.one_of(
    st.sampled_from(
        [
            "_target_",
            "_partial_",
            "_args_",
            "_convert_",
            "defaults",
            "name",
            "rounds",
            "options",
            "settings",
            "",
            "@",
            "<<",
        ]
    ),
    st.text(max_size=8),
)
VALUES = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4), max_leaves=12
)


def places(value, above=()):
    """Where in a value something else may be put."""
    yield above
    for key, each in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(each, (*above, key))


@st.composite
def changed(draw, value):
    """A value with some of its parts replaced, taken away, or under another name."""
    value = json.loads(json.dumps(value))
    for _ in range(draw(st.integers(1, 3))):
        *way, last = draw(st.sampled_from([place for place in places(value) if place] or [("x",)]))
        inside = value
        for key in way:
            inside = inside[key]
        how = draw(st.sampled_from(["put", "take", "name"]))
        if how == "put" or isinstance(inside, list):
            inside[last] = draw(VALUES)
        else:
            old = inside.pop(last, None)
            if how == "name":
                inside[draw(NAMES)] = old
    return value


@st.composite
def damaged(draw, text):
    """A text with some of its parts cut out, doubled, or replaced."""
    for _ in range(draw(st.integers(1, 4))):
        start, stop = sorted((draw(st.integers(0, len(text))), draw(st.integers(0, len(text)))))
        text = (
            text[:start]
            + draw(st.sampled_from([text[start:stop] * 2, "", "\x00", "&a [*a]", "{{", "}}", "- ", ": "]) | TEXTS)
            + text[stop:]
        )
    return text


FILES = {
    "game": GAME,
    "model": STAND_IN
    | {"policy": POLICY, "parameters": {"temperature": 0.5}, "price": {"input": 1.0}, "context": 1000},
    "agent": AGENT | {"attempts": 2, "folder": None},
}


def built(conf, group, text):
    """Has a file of conf/ built, and matches planned with it; whether that went well."""
    name = f"f{next(NUMBER)}"
    path = conf / group / f"{name}.yaml"
    path.write_text(text, encoding="utf-8", errors="replace")
    try:
        with one_line():
            load(group, name, conf)
            pairing = {"games": ["pd"], "models": ["standin"], "seats": [["zs"], ["kind"]]}
            pairing |= {"game": {"games": [name]}, "model": {"models": [name]}, "agent": {"seats": [[name], ["kind"]]}}[
                group
            ]
            return bool(plan(SEATED | {"pairings": [pairing]}, conf))
    finally:
        path.unlink()
    return False


FOUND = [
    ("agent", "_target_: agon.agents.llm.LLM\nsettings: null\n"),
    ("game", 'settings: "\\0"\n'),
    ("model", " 1.0\n"),
    ("model", "---\n"),
    ("model", "--- a\n--- b\n"),
]


@pytest.mark.parametrize(("group", "text"), FOUND)
def test_files_that_once_broke_a_command_are_refused(conf, group, text):
    assert not built(conf, group, text)


@pytest.mark.parametrize("group", FILES)
@tried
@given(data=st.data())
def test_files_of_settings(conf, group, data):
    built(conf, group, yaml.safe_dump(data.draw(changed(FILES[group])), allow_unicode=True))


@pytest.mark.parametrize("group", FILES)
@tried
@given(data=st.data())
def test_files_that_are_damaged(conf, group, data):
    built(conf, group, data.draw(damaged(yaml.safe_dump(FILES[group]))))


@tried
@given(settings=changed(SEATED | {"sampling": "as_done", "models": ["standin"]}))
@example(settings=SEATED | {"\n": "mine"})
def test_experiments(conf, settings):
    path = conf / f"experiment/f{next(NUMBER)}.yaml"
    path.write_text(yaml.safe_dump(settings, allow_unicode=True), encoding="utf-8", errors="replace")
    try:
        with one_line():
            plan(configuration([f"experiment={path.stem}"], conf)["experiment"], conf)
    finally:
        path.unlink()


WORDS = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "", "+", "++", "~", "hydra.", "@"]),
    st.sampled_from(
        [
            "experiment",
            "experiment.name",
            "experiment.repetitions",
            "experiment.pairings",
            "budget.usd",
            "budget",
            "families",
            "readable",
            "variance",
            "out",
            "game",
            "game@x",
            "a.b.c",
            "force",
            "experiment.tournaments.0.games",
        ]
    )
    | TEXTS,
    st.sampled_from(["=", "=", "=", "", "==", ":="]),
    TEXTS
    | PLAIN.map(str)
    | VALUES.map(lambda value: json.dumps(value).replace('"', ""))
    | st.sampled_from(["{a: 1}", "[1,2", "1,2", "range(9)", "'", "${x}"]),
)


@tried
@given(words=st.lists(WORDS, min_size=1, max_size=3))
def test_overrides(conf, words):
    with one_line():
        configuration(words, conf)


@pytest.mark.parametrize("game", GOOD)
@tried
@given(data=st.data())
def test_settings_of_games(tmp_path_factory, game, data):
    folder = tmp_path_factory.getbasetemp() / f"settings{next(NUMBER)}"
    folder.mkdir()
    whole = data.draw(changed(GOOD[game]))
    text = json.dumps(whole) if data.draw(st.booleans()) else data.draw(damaged(json.dumps(whole)))
    (folder / "mine.json").write_text(text, encoding="utf-8", errors="replace")
    own = {"_target_": target(game), "name": game, "rules": 1, "settings": str(folder)}
    (folder / "conf/game").mkdir(parents=True)
    (folder / "conf/game/mine.yaml").write_text(yaml.safe_dump(own))
    with one_line():
        for name in variants(own):
            assert isinstance(load("game", f"mine/{name}", folder / "conf"), Game)


PIECES = [
    "{{ view }}",
    "{{ view.past }}",
    "{{ style }}",
    "{% if view %}",
    "{% endif %}",
    "{% for a in view.legal.options %}",
    "{% endfor %}",
    "{{ a }}\n| {% set x = view %}",
    "{{ x~x~x }}",
    "{{ points(view, view.legal.options) }}",
    "{% raw %}",
    "{{ view.legal }}",
    "{{ 1/0 }}",
    "{#",
    "{{ a.b.c }}\n| {{ view.rules.payoffs(view.legal.options) }}",
    "{% macro m() %}",
    "{% endmacro %}",
    "{{ m() }}",
    '{% include "mine.md" %}',
]


@tried
@given(pieces=st.lists(st.sampled_from([*ESCAPES, *PIECES]) | TEXTS, max_size=6))
def test_templates(tmp_path_factory, pieces):
    folder = tmp_path_factory.getbasetemp() / f"templates{next(NUMBER)}"
    folder.mkdir()
    rest = "{% macro turn(view, since) %}{% endmacro %}{% macro again(fault, view) %}{% endmacro %}"
    text = "{% macro system(view, style) %}" + "".join(pieces) + "{% endmacro %}" + rest
    (folder / "mine.md").write_text(text, encoding="utf-8", errors="replace")
    game = MatrixGame(**{key: value for key, value in GAME.items() if not key.startswith("_")})
    with one_line():
        prompts(source_of(game, "mine.md", str(folder)), "zs").system(game.observe(game.start(None), 0))


LINES = [
    {"message": "m1", "after": "", "role": "system", "text": "Rules."},
    {"message": "m2", "after": "m1", "role": "user", "text": "Ask."},
    {
        "exchange": "k1",
        "model": "mine",
        "parameters": {"temperature": 1.0},
        "asked": "m2",
        "sample": "x/0/0.0.0",
        "text": "[move] a",
    },
    {"failed": "k2", "kind": "429", "text": "later", "time": 1.0},
]


@pytest.mark.parametrize("line", [{"message": "m1", "after": None}, {"exchange": "k1", "model": None}])
def test_lines_of_recordings_that_were_not_compared_once(tmp_path, conf, line):
    compared(tmp_path / "recording", conf, "".join(json.dumps(each) + "\n" for each in (line, LINES[2])))


def compared(folder, conf, text):
    """Reads a recording, and asks whether it fits."""
    folder.mkdir()
    (folder / FILE).write_text(text, encoding="utf-8", errors="replace")
    with one_line():
        asked = SEATED | {"pairings": [{"games": ["pd"], "models": ["standin"], "seats": [["zs"], ["kind"]]}]}
        explain_cache_miss(plan(asked, conf), {"standin": load("model", "standin", conf)}, Recording(folder))


@tried
@given(data=st.data())
def test_recordings(tmp_path_factory, conf, data):
    lines = data.draw(st.lists(st.sampled_from(LINES).flatmap(lambda line: changed(line) | st.just(line)), max_size=6))
    text = "".join(json.dumps(line) + "\n" for line in lines)
    text = data.draw(damaged(text) | st.just(text))
    compared(tmp_path_factory.getbasetemp() / f"recording{next(NUMBER)}", conf, text)
