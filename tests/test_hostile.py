"""Files and words of strangers are data: nothing of theirs runs, reads the environment or goes on for ever; it is refused in a line."""

import json
import os
import re
import shutil

import pytest
import yaml

from agon import AgonError
from agon.agents.prompts import prompts, source_of, template_of
from agon.cli import main
from agon.cli.places import turns_file
from agon.conf import CONF, build, configuration, document, load
from agon.games.base import families
from agon.games.matrix import MatrixGame
from agon.models.batch import FILE as JOURNAL
from agon.models.batch import Journal
from agon.models.recording import FILE, Recording, read_lines
from agon.paths import input_path, read_text_file
from agon.plan import plan
from agon.turns import read, read_games

SECRET = "a-secret-of-these-tests"
GAME = {
    "_target_": "agon.games.matrix.MatrixGame",
    "_convert_": "all",
    "name": "mine",
    "variant": "default",
    "options": ["a", "b"],
    "payoff": [[[1, 1], [0, 0]], [[0, 0], [1, 1]]],
    "rounds": 2,
}
STAND_IN = {"_target_": "agon.models.standin.StandIn", "model": "mine", "policy": {}}


@pytest.fixture
def conf(tmp_path, monkeypatch):
    """A copy of conf/ to change, and a secret in the environment."""
    monkeypatch.setenv("A_SECRET", SECRET)
    for name in ("agon", "config", "experiment/scripted", "game/pd", "model/standin", "agent/zs"):
        (tmp_path / "conf" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(CONF / f"{name}.yaml", tmp_path / "conf" / f"{name}.yaml")
    return tmp_path / "conf"


def refused(ask):
    """The one line that refuses; it holds no secret."""
    with pytest.raises(AgonError) as caught:
        ask()
    text = str(caught.value)
    assert "\n" not in text and SECRET not in text and len(text) < 1000
    return text


def put(conf, group, settings, name="mine"):
    text = settings if isinstance(settings, str) else yaml.safe_dump(settings)
    (conf / group / f"{name}.yaml").write_text(text)
    return lambda: load(group, name, conf)


# --- what may be built

ELSEWHERE = [
    "os.system",
    "builtins.dict",
    "builtins.eval",
    "builtins.exec",
    "subprocess.run",
    "pathlib.Path.write_text",
    "IPython.utils.process.system",
    "distributed.utils.import_file",
    "pandas.read_pickle",
    "hydra.utils.get_method",
    "hydra.utils.instantiate",
    "importlib.import_module",
    "agon.conf.load",
    "agon_papers.report.index.gather",
    "agon.notebook.execution.run",
    "agon.cli.playing.play",
    "agon_papers.verdict.np",
    "agon.gamesx.Game",
]
WITHIN = [
    "agon.games.base.sys.exit",
    "agon.games.base.import_module",
    "agon.games.settings.json.loads",
    "agon.games.settings.Path",
    "agon.games.settings.located",
    "agon.models.recording.os.system",
    "agon.models.remote.aiohttp",
    "agon.games.matrix.game._frozen",
    "agon.games.matrix.MatrixGame.__init__",
    "agon.agents.__builtins__",
    "agon.games.matrix.",
    "agon.games",
    ".",
    "",
]
NO_GAME = ["agon.games.settings.variants", "agon.models.recording.Writer", "agon.games.matrix.scripts.grim"]


def is_refused(settings):
    """Whether settings are refused in one line without a secret."""
    try:
        build(settings)
    except AgonError as error:
        return "\n" not in str(error) and SECRET not in str(error) and len(str(error)) < 1000
    return False


def test_a_target_that_files_may_not_name_is_refused():
    targets = [*ELSEWHERE, *WITHIN, *NO_GAME, 7, ["os.system"], {"a": 1}, None]
    assert [target for target in targets if not is_refused({"_target_": target, "command": "id"})] == []
    assert "_target_" in refused(lambda: build({"_target_": "os.system", "command": "id"}))


@pytest.mark.parametrize("partial", [True, False])
def test_such_a_target_is_refused_deep_within_settings(partial):
    faults = []
    for target in [*ELSEWHERE, *WITHIN, *NO_GAME[:2]]:
        inner = {"_target_": target, "_partial_": partial, "command": "id"}
        teller = {"_target_": "agon.agents.telling.teller", "_partial_": True, "answer": inner}
        nested = [STAND_IN | {"policy": inner}, GAME | {"options": [{"deep": [inner]}]}, teller]
        faults += [settings for settings in nested if not is_refused(settings)]
    assert faults == []


def test_a_file_is_refused_like_its_settings(conf):
    assert "cannot be built: _target_: 'os.system' is not in" in refused(put(conf, "game", {"_target_": "os.system"}))


@pytest.mark.parametrize("more", [{"_args_": ["id"]}, {"_recursive_": False}, {"_partial_": "yes"}, {"_x_": 1}])
def test_other_directives_are_refused(conf, more):
    refused(put(conf, "game", GAME | more))


@pytest.mark.parametrize("name", ["os", "json", "agon", "builtins"])
def test_a_family_that_is_called_like_another_package_is_refused(conf, tmp_path, name):
    (tmp_path / name).mkdir()
    (tmp_path / name / "game.py").write_text("")
    config = conf / "config.yaml"
    config.write_text(f"agon: true\nfamilies: [{tmp_path / name}]\n")
    assert "another package is called" in refused(lambda: load("game", "pd", conf))


@pytest.mark.parametrize(
    "word", ["families=[/elsewhere]", "packages=[os]", "+packages=[os]", "++families=[/elsewhere]"]
)
def test_whose_code_is_run_is_not_said_on_the_way(word):
    assert "can only be set in conf/config.yaml" in refused(lambda: configuration([word]))


@pytest.mark.parametrize(
    "word",
    [
        "hydra.callbacks={x: {_target_: os.system, command: id}}",
        "experiment@families=scripted",
        "+experiment@_global_=scripted",
        "experiment=../../../elsewhere",
        "experiment.repetitions=1,2",
        "experiment.repetitions=range(3)",
        "experiment.repetitions=nan",
        "budget.usd=inf",
        "experiment.name=${oc.env:A_SECRET}",
        "experiment.name=${oc.env:A_SECRET,x}",
        "experiment.name=x${oc.decode:${oc.env:A_SECRET}}",
        "+x=${hydra:runtime.cwd}",
        "experiment.models=[${now:%Y}]",
        "experiment.pairings=[{games: ['${oc.env:A_SECRET}'], seats: [[a]]}]",
        "experiment." * 200 + "x=1",
        "experiment.models=" + "[" * 3000,
        "=",
        "==",
        "a.=1",
        "\x1b[31m=1",
    ],
)
def test_an_override_reads_nothing_but_itself(word, monkeypatch):
    monkeypatch.setenv("A_SECRET", SECRET)
    refused(lambda: configuration([word]))


# --- what fits


@pytest.mark.parametrize(
    ("group", "changes", "said"),
    [
        ("game", {"options": ["", "b"]}, "none empty"),
        ("game", {"options": [" ", "b"]}, "none empty"),
        ("game", {"options": ["\x1b[31ma", "b"]}, "none empty"),
        ("game", {"options": "ab"}, "options does not fit: it must be a list, and is text"),
        ("game", {"rules": -1}, "rules is -1"),
        ("game", {"rules": True}, "rules does not fit"),
        ("game", {"rules": "1"}, "rules does not fit"),
        ("game", {"rounds": 0}, "rounds is 0"),
        ("game", {"rounds": "many"}, "rounds does not fit"),
        ("game", {"name": ""}, "name is ''"),
        ("game", {"variant": "a\nb"}, "variant is"),
        ("game", {"ruond": 3}, "no setting 'ruond': did you mean rounds?"),
        ("game", {"payoff": None}, "payoff does not fit"),
        ("model", {"model": ""}, "model: "),
        ("model", {"model": "   "}, "model: "),
        ("model", {"context": "x"}, "context does not fit"),
        ("model", {"context": -5}, "context: "),
        ("model", {"price": {"inptu": 1}}, "inptu"),
        ("model", {"price": {"input": -1}}, "price"),
        ("model", {"price": [1]}, "price does not fit"),
        ("model", {"concurrency": 0}, "concurrency: "),
        ("model", {"concurency": 1}, "did you mean concurrency?"),
        ("model", {"parameters": "hot"}, "parameters does not fit"),
        ("agent", {"styel": "zs"}, "did you mean style?"),
        ("agent", {"attempts": "many"}, "attempts does not fit"),
        ("agent", {"on_invalid": "cheat"}, "on_invalid does not fit"),
    ],
)
def test_what_does_not_fit_is_refused_by_its_name(conf, group, changes, said):
    own = {"model": STAND_IN | {"policy": POLICY}, "game": GAME, "agent": AGENT}[group]
    assert put(conf, group, own)() is not None
    assert said in refused(put(conf, group, own | changes, "other"))


POLICY = {"_target_": "agon.games.matrix.scripts.grim", "_partial_": True}
AGENT = {"_target_": "agon.agents.llm.LLM", "_partial_": True}
SEATED = {"name": "mine", "repetitions": 1, "pairings": [{"games": ["pd"], "seats": [["kind"], ["kind"]]}]}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"repetitions": 10**23}, "100,000,000,000,000,000,000,000 matches"),
        ({"repetitions": 10**7}, "10,000,000 matches with 320,000,000 decisions"),
        ({"repetitions": 0}, "repetitions: "),
        ({"repetition": 3}, "there is no setting repetition"),
        ({"name": "mine\n"}, "name: "),
        ({"pairings": [{"games": ["long"], "seats": [["kind"], ["kind"]]}]}, "1 match with 2,000,000,000 decisions"),
        (
            {"pairings": [], "tournaments": [{"games": ["pd"], "agents": ["kind"] * 2000, "repetitions": 10**7}]},
            "add large=true",
        ),
    ],
)
def test_what_cannot_end_is_refused_with_what_it_comes_to(conf, changes, said):
    put(conf, "agent", POLICY, "kind")
    put(conf, "game", GAME | {"rounds": 10**9}, "long")
    assert said in refused(lambda: plan(SEATED | changes, conf))


def test_what_is_said_to_be_large_is_planned(conf, monkeypatch):
    monkeypatch.setattr("agon.plan.matches.MATCHES", 2)
    put(conf, "agent", POLICY, "kind")
    assert "3 matches" in refused(lambda: plan(SEATED | {"repetitions": 3}, conf))
    assert len(plan(SEATED | {"repetitions": 3}, conf, large=True)) == 3


@pytest.mark.parametrize(
    "settings", [{"temperatur": 1}, {"temperature": -1}, {"max_tokens": 0}, {"top_p": 2}, {"seed": "x"}]
)
def test_sampling_has_names_and_bounds(conf, settings):
    put(conf, "agent", POLICY, "kind")
    (conf / "sampling").mkdir()
    put(conf, "sampling", settings)
    assert "conf/sampling/mine.yaml does not fit" in refused(lambda: plan(SEATED | {"sampling": "mine"}, conf))


# --- what is data

RESOLVERS = [
    "${oc.env:A_SECRET}",
    "${oc.env:A_SECRET,none}",
    "x ${oc.decode:${oc.env:A_SECRET}} y",
    "${oc.create:${oc.env:A_SECRET}}",
    "${hydra:runtime.cwd}",
]


@pytest.mark.parametrize("text", [*RESOLVERS, "${", "${elsewhere}", "${....name}"])
def test_nothing_is_read_from_elsewhere(conf, text, tmp_path):
    """A resolver is refused by what it is; so is a reference to what is not there."""
    why = "is not computed here" if text in RESOLVERS else "conf/"
    assert why in refused(put(conf, "game", GAME | {"options": ["a", text]}))
    assert why in refused(put(conf, "agent", {"_target_": "x", "deep": [{"a": {"b": text}}]}))
    (conf / "experiment/mine.yaml").write_text(yaml.safe_dump({"name": "mine", "repetitions": 1, "sampling": text}))
    refused(lambda: configuration(["experiment=mine"], conf))
    (tmp_path / "set").mkdir()
    (tmp_path / "set/one.json").write_text(json.dumps({"options": ["a", text]}))
    put(
        conf,
        "game",
        {key: value for key, value in GAME.items() if key != "options"} | {"settings": str(tmp_path / "set")},
    )
    assert load("game", "mine/one", conf).options == ("a", text)


def test_a_reference_to_another_setting_is_its_value(conf):
    assert put(conf, "game", GAME | {"options": ["a", "${..variant}"]})().options == ("a", "default")


@pytest.mark.parametrize("more", [{"_target_": "os.system"}, {"payoff": [{"_target_": "os.getcwd"}]}, {"_args_": [1]}])
def test_a_setting_builds_nothing(conf, more, tmp_path):
    (tmp_path / "set").mkdir()
    (tmp_path / "set/one.json").write_text(json.dumps(more))
    assert "has no place in a setting" in refused(
        put(conf, "game", GAME | {"settings": str(tmp_path / "set")}) and (lambda: load("game", "mine/one", conf))
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "- a\n- b\n",
        "word",
        "a: [1",
        "a: 1\na: 2\n",
        "1: a\n",
        "null: a\n",
        "a: !!python/object/apply:os.system [id]\n",
        "a: !!python/name:os.system\n",
        "a: !!bool 7\n",
        "a: !!int ''\n",
        "a: !!timestamp x\n",
        "a: !!map [1]\n",
        "a: !!set {b}\n",
        "a: .nan\n",
        "a: .inf\n",
        "a: *b\n",
        "\x00",
        "a: '" + "x" * 1_100_000 + "'",
        "defaults: [mine]\n",
        "defaults: [mine@a, mine@b]\n",
        "defaults: {a: b}\n",
        "defaults: [pd@game, /model/standin, _self_]\n",
        "defaults: [../../etc/passwd]\n",
    ],
    ids=range(25),
)
def test_what_is_no_file_of_settings_is_refused(conf, text):
    for group in ("game", "agent", "model"):
        refused(put(conf, group, text))
    put(conf, "experiment", text)
    refused(lambda: plan(configuration(["experiment=mine"], conf)["experiment"], conf))


@pytest.mark.parametrize("group", ["game", "experiment"])
def test_a_file_that_is_no_yaml_is_named_once(conf, group):
    put(conf, group, "name: [1,\n")
    said = refused(
        lambda: configuration(["experiment=mine"], conf) if group == "experiment" else load(group, "mine", conf)
    )
    assert said.count("mine.yaml") == 1 and "in line 2, column 1" in said


def test_a_file_of_comments_has_no_settings(tmp_path):
    (tmp_path / "mine.yaml").write_text("# nothing yet\n---\n")
    assert document(tmp_path / "mine.yaml") == {}


@pytest.mark.parametrize("kind", ["folder", "pipe", "binary", "latin"])
def test_what_is_no_text_is_refused(conf, kind):
    path = conf / "game/mine.yaml"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.write_bytes(b"\x89PNG\r\n\x00\xff" if kind == "binary" else "name: Zoë".encode("latin-1"))
    refused(lambda: load("game", "mine", conf))


# --- templates

ESCAPES = [
    "{{ cycler.__init__.__globals__.os.system('id') }}",
    "{{ joiner.__init__.__globals__ }}",
    "{{ lipsum.__globals__ }}",
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ ''|attr('__class__') }}",
    "{{ view.rules.payoffs.__func__.__globals__ }}",
    "{{ '{0.__class__}'.format(view) }}",
    "{{ '{0.rules.__class__.__init__.__globals__}'.format(view) }}",
    "{{ points.__globals__ }}",
    "{{ self._TemplateReference__context }}",
    "{{ self.__init__.__globals__ }}",
    "{{ [1].append(2) }}",
    "{% include '../../../../etc/passwd' %}",
    "{% include '/etc/passwd' %}",
    "{% import 'os' as os %}",
    "{{ range(10**9)|list }}",
    "{{ lipsum(1000000) }}",
    "{{ [1, 2]|random }}",
]


@pytest.mark.parametrize("text", ESCAPES)
def test_a_template_reaches_nothing_but_its_arguments(text, tmp_path, monkeypatch):
    monkeypatch.setenv("A_SECRET", SECRET)
    for macro in ("system", "turn", "again"):
        render = escaping_template(text, macro, tmp_path / macro)
        assert f"prompt {tmp_path}/{macro}/mine.md: " in refused(render)


def escaping_template(text, macro, folder):
    """Renders one macro of a prompt in `folder` whose body is `text`."""
    heads = {"system": "system(view, style)", "turn": "turn(view, since)", "again": "again(fault, view)"}
    macros = "\n".join(
        f"{{% macro {head} %}}{text if name == macro else ''}{{% endmacro %}}" for name, head in heads.items()
    )
    folder.mkdir()
    (folder / "mine.md").write_text(macros)
    game = MatrixGame(**{key: value for key, value in GAME.items() if not key.startswith("_")})
    view = game.observe(game.start(None), 0)

    def render():
        texts = prompts(source_of(game, "mine.md", str(folder)), "zs")
        values = {"system": (view, ""), "turn": (view, 0), "again": ("", view)}[macro]
        return texts.render(macro, *values)

    return render


NESTED = "{% set n = namespace(s=[1], t=[1]) %}{% for i in range(60) %}{% set n.s = [n.s, n.s] %}{% set n.t = [n.t, n.t] %}{% endfor %}"
ENDLESS = {
    "comparison": NESTED + "{% if n.s == n.t %}x{% endif %}",
    "membership": NESTED + "{{ n.s in [n.t] }}",
    "sorting": NESTED + "{{ [n.s, n.t]|sort }}",
    "hashing": NESTED.replace("[n.s, n.s]", "(n.s, n.s)").replace("s=[1]", "s=1") + "{{ {n.s: 1} }}",
    "writing": NESTED + "{{ n.s }}",
    "a long text": "{% set n = namespace(s='a') %}{% for i in range(60) %}{% set n.s = n.s ~ n.s %}{% endfor %}{{ n.s }}",
    "loops": "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    "a constant": "{{ 9**(9**9) }}",
    "recursion": "{% macro m(n) %}{{ m(n) }}{{ m(n) }}{% endmacro %}{{ m(1) }}",
}


@pytest.mark.parametrize("text", ENDLESS.values(), ids=ENDLESS)
def test_a_template_comes_to_an_end(text, tmp_path, monkeypatch):
    """The work of a user's prompt is limited, also where it is one comparison in C, in a macro and outside of all."""
    monkeypatch.setattr("agon.agents.limited.SECONDS", 1)
    assert f"prompt {tmp_path}/turn/mine.md" in refused(escaping_template(text, "turn", tmp_path / "turn"))
    render = escaping_template("", "turn", tmp_path / "outside")
    path = tmp_path / "outside/mine.md"
    path.write_text(text + path.read_text())
    assert f"prompt {path}" in refused(render)


def test_a_style_that_does_not_end_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("agon.agents.limited.SECONDS", 1)
    (tmp_path / "styles").mkdir()
    (tmp_path / "styles/mine.md").write_text(ENDLESS["comparison"])
    game = MatrixGame(**{key: value for key, value in GAME.items() if not key.startswith("_")})
    said = refused(lambda: prompts(template_of(game, str(tmp_path)), "mine"))
    assert said.startswith(f"prompt {tmp_path}/styles/mine.md does not end")


def test_a_users_prompt_says_what_the_same_prompt_of_a_family_says(tmp_path):
    """Text, asides and hash are those of a prompt that is rendered without limits."""
    game = load("game", "undercover/01-civilians")
    view, folder = game.observe(game.start(None), 0), families(game)[0]
    shutil.copy(folder / "prompt.md", tmp_path / "undercover.md")
    ours, theirs = (prompts(template_of(game, place), "cot") for place in (None, str(tmp_path)))
    assert ours.asides == theirs.asides != [] and ours.text == theirs.text
    for render in (
        lambda texts: texts.system(view),
        lambda texts: texts.turn(view, 0),
        lambda texts: texts.again("x", view),
    ):
        assert render(ours) == render(theirs) != ""


def test_a_command_says_it_in_a_line(capsys):
    assert main(["plan", "experiment.name=${oc.env:PATH}"]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and os.environ["PATH"] not in said


# --- which of several values is wrong


@pytest.mark.parametrize(
    ("group", "settings", "fault"),
    [
        (
            "agent",
            {"steps": {"proposer": 3, "crafter": 0}},
            "steps does not fit: crafter: it must be a whole number, at least 1",
        ),
        ("agent", {"steps": {"proposr": 3}}, "a name is 'proposr', .*: did you mean proposer[?]"),
        ("agent", {"expected": {"planner": 1, "crafter": "many"}}, "crafter: it must be a whole number, and is text"),
        ("model", {"price": {"input": 1, "output": -1}}, "price.output: it must be a number, at least 0.0"),
    ],
)
def test_a_faulty_value_among_several_is_named(conf, group, settings, fault):
    target = {
        "agent": {"_target_": "agon.games.tradecraft.roles.Roles", "_partial_": True},
        "model": {"_target_": "agon.models.openai.OpenAI", "model": "m"},
    }
    assert re.search(fault, refused(put(conf, group, target[group] | settings)))


# --- what never ends

OPENERS = {
    "recording": (FILE, lambda pipe: Recording(pipe.parent)),
    "lines of a recording": ("any.jsonl", lambda pipe: list(read_lines(pipe))),
    "batches": (JOURNAL, lambda pipe: Journal(pipe.parent, lambda key: False)),
    "turns": ("turns.parquet", read),
    "games": ("turns.games.parquet", lambda pipe: read_games(pipe.with_name("turns.parquet"))),
    "notebook, ruleset, problem": ("any.json", input_path),
    "settings": ("settings.yaml", document),
    "text": ("any.txt", read_text_file),
    "output": ("out.parquet", lambda pipe: turns_file({"out": str(pipe), "force": False}, "any")),
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize(("name", "opener"), OPENERS.values(), ids=OPENERS)
def test_a_pipe_or_a_device_in_the_place_of_a_file_is_refused(tmp_path, name, opener):
    os.mkfifo(tmp_path / name)
    assert refused(lambda: opener(tmp_path / name)).endswith(f"{name} is a pipe or a device: name a file")
    (tmp_path / name).unlink()
    (tmp_path / name).symlink_to("/dev/zero")
    assert refused(lambda: opener(tmp_path / name)).endswith("is a pipe or a device: name a file")
