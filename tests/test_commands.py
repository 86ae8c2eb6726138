"""What a user sees when something is wrong: one line, an exit code, nothing lost."""

import errno
import io
import json
import os
import re
import resource
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
import tomllib
from importlib.metadata import version
from pathlib import Path

import click
import patience
import pytest
from omegaconf import OmegaConf
from project import KEY, Project, serving

from agon import ROOT, AgonError
from agon.cli import agon, main
from agon.conf import configuration, names
from agon.games.base import Times
from agon.paths import write_file
from agon.turns import read, read_games, validated


def failed(capfd, *arguments: str, code: int = 1) -> str:
    """Runs a command that must fail with an exit code, and gives its one line."""
    assert main(arguments) == code
    lines = capfd.readouterr().err.strip().splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("agon: ") and "Traceback" not in lines[0]
    return lines[0]


@pytest.mark.parametrize(
    ("words", "why", "code"),
    [
        (
            "play experiment=scripted experiment.name=magic_scripted",
            "experiment.name=magic_scripted is the name of conf/experiment/",
            1,
        ),
        (
            "record experiment=magic_standin experiment.name=standin_demo",
            "but this is magic_standin: choose another name",
            1,
        ),
        (
            "make-settings --games prisoner3 --folder smoke --prefix ../x",
            "--prefix ../x: it is the beginning of a file's name",
            1,
        ),
        ("notebook scripted run=x", "notebook has options: write --run x instead of run=x", 2),
        ("notebook scripted --run x turns_path=null", "turns_path=None does not fit notebook scripted", 1),
        ("notebook scripted --run x force=true", "notebook has options: write --force instead of force=true", 2),
    ],
)
def test_what_would_take_another_s_place_is_refused(capfd, words, why, code):
    before = (ROOT / "README.md").read_bytes()
    assert why in failed(capfd, *words.split(), code=code)
    assert (ROOT / "README.md").read_bytes() == before and not (ROOT / "runs/x").exists()


def test_a_full_disk_leaves_a_file_as_it_was(tmp_path, monkeypatch):
    write_file(tmp_path / "kept.json", "before")
    (tmp_path / "link.json").symlink_to(tmp_path / "kept.json")
    write = Path.write_bytes

    def torn(path, data):
        write(path, data[:3])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full, pytest.raises(AgonError, match=r"kept\.json cannot be written: No space left"):
        full.setattr(Path, "write_bytes", torn)
        write_file(tmp_path / "kept.json", "afterwards", force=True)
    assert (tmp_path / "kept.json").read_text() == "before" and len([*tmp_path.iterdir()]) == 2
    write_file(tmp_path / "link.json", "afterwards", force=True)
    assert (tmp_path / "link.json").is_symlink() and (tmp_path / "kept.json").read_text() == "afterwards"
    write_file(Path("/dev/null"), "nothing", force=True)
    assert Path("/dev/null").is_char_device()


def test_an_unknown_command_names_those_there_are(capfd):
    assert "there are new, plan, record, " in (said := failed(capfd, "fly", code=2)) and said.endswith("(agon --help)")


def test_an_unknown_experiment_offers_the_nearest(capfd):
    assert "did you mean scripted?" in failed(capfd, "plan", "experiment=scriptd")


def test_a_misspelt_override_offers_the_nearest(capfd):
    assert "did you mean experiment.repetitions?" in failed(capfd, "plan", "repetition=3")


def test_a_setting_unlike_any_of_its_part_names_those_there_are(capfd):
    said = failed(capfd, "plan", "budget.dollars=5")
    assert said.endswith(
        "there is no setting 'budget.dollars' in conf/: there are budget.usd, budget.tokens, budget.calls (--cfg job prints all)"
    )


@pytest.mark.parametrize(
    ("word", "said"), [("--sd=much", "'much' is not a number"), ("--detect=x", "'x' is not a number")]
)
def test_what_is_no_number_is_said_in_plain_words(word, said, capfd):
    assert said in failed(capfd, "power", word, code=2)


def test_a_misspelt_file_of_turns_is_named_with_the_nearest(capfd, tmp_path, monkeypatch):
    for kind in ("", ".games"):
        shutil.copy(ROOT / f"tests/smoke/standin_turns{kind}.parquet", tmp_path / f"small{kind}.parquet")
    said = f"{tmp_path}/smal.parquet is not there: did you mean small.parquet? "
    with pytest.raises(AgonError, match=re.escape(said)):
        read_games(tmp_path / "smal.parquet")
    assert said in failed(capfd, "compare", f"--turns={tmp_path}/smal.parquet", "--metric=points", "--by=agent")
    (tmp_path / "small.games.parquet").unlink()
    with pytest.raises(AgonError, match="It says which games were played"):
        read_games(tmp_path / "small.parquet")


def test_names_are_checked_before_turns_are_read(capfd, monkeypatch):
    monkeypatch.setattr("agon.turns.read", lambda *_: pytest.fail("turns were read"))
    turns = "--turns=tests/smoke/standin_turns.parquet"
    asked = ("compare", turns, "--metric=points", "--by=agnt:zs,cot"), ("rate", turns, "--by=agnt")
    assert ["did you mean agent?" in failed(capfd, *words) for words in asked] == [True, True]
    assert "did you mean points?" in failed(capfd, "compare", turns, "--metric=pints", "--by=agent:zs,cot")
    assert "no column 'opponnt': did you mean opponent?" in failed(
        capfd, "compare", turns, "--metric=points", "--by=agent", "--within=opponnt"
    )


def test_games_that_cannot_be_built_are_marked_in_the_list(project):
    project.conf("game", "halfway", _target_="agon.games.matrix.MatrixGame", name="halfway")
    [(code, out, _)] = told(project, "list games")
    lines = {line.split()[0]: line for line in out.splitlines()}
    assert code == 0 and "cannot be used: conf/game/halfway.yaml cannot be built: " in lines["halfway"]
    assert "cannot be used: " in lines["rating_live"] and "cannot be used" not in lines["pd"]


def test_a_misspelt_nested_override_offers_the_nearest(capfd):
    assert "did you mean experiment.repetitions?" in failed(capfd, "plan", "experiment.repetition=3")


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("game=pd", "conf/game has files that an experiment names"),
        ("hydra.foo=1", "Hydra has no setting 'hydra.foo': --cfg hydra prints all"),
        ("experiment={a: 1}", "experiment takes the name of one file in conf/experiment"),
        ("scripted", "did you mean experiment=scripted?"),
    ],
)
def test_a_word_that_is_no_setting_says_what_to_write(word, said, capfd):
    assert said in failed(capfd, "plan", word)


def test_every_experiment_takes_a_prompt_set():
    for name in names("experiment"):
        composed = configuration([f"experiment={name}", "experiment.prompts=as_printed"])["experiment"]
        assert composed["prompts"] == "as_printed", name


def test_a_changed_experiment_replaces_no_table_of_a_stage(project):
    scripts = {"games": ["pd"], "seats": [["grim"], ["uniform"]]}
    project.conf("experiment", "staged", name="staged", repetitions=1, pairings=[scripts])
    (project.folder / "dvc.lock").write_text("outs:\n- path: transcripts/staged.parquet\n")
    words = "play experiment=staged"
    assert told(project, words)[0][0] == 0
    table = (project.folder / "transcripts/staged.parquet").read_bytes()
    [refused] = told(project, f"{words} experiment.repetitions=2")
    assert refused[:2] == [1, ""] and "choose another file with out=" in refused[2]
    assert (project.folder / "transcripts/staged.parquet").read_bytes() == table
    assert told(project, f"{words} experiment.repetitions=2 out=two.parquet")[0][0] == 0
    (project.folder / "dvc.lock").unlink()


def test_an_override_that_is_none_says_so(capfd):
    assert "a==b" in failed(capfd, "plan", "a==b")


def test_repetitions_must_be_a_whole_number_from_1(capfd):
    for value in ["many", "0", "-1", "1.5"]:
        assert "repetitions" in failed(capfd, "plan", f"experiment.repetitions={value}")


def test_a_missing_agent_is_named(capfd):
    settings = "experiment.tournaments=[{games: [pd], agents: [tit_for_tatt]}]"
    assert "did you mean tit_for_tat?" in failed(capfd, "plan", settings)


def test_a_game_that_an_agent_cannot_play_is_named(capfd):
    settings = "experiment.tournaments=[{games: [rps], agents: [extort_2]}]"
    line = failed(
        capfd, "play", "experiment.name=cannot", "experiment.repetitions=1", settings, "out=smoke/cannot.parquet"
    )
    assert "rps" in line and "extort_2" in line


def test_an_unknown_notebook_names_those_there_are(capfd):
    assert "counterfactual_tables" in failed(capfd, "notebook", "counterfactual_table")


def test_an_unknown_notebook_parameter_names_those_there_are(capfd):
    assert "turns_path" in failed(capfd, "notebook", "counterfactual_tables", "turn_path=x")


def test_no_notebook_name_says_how_to_give_one(capfd):
    assert "notebook needs NAME (agon notebook --help)" in failed(capfd, "notebook", code=2)


def test_missing_data_say_where_they_come_from(capfd, tmp_path):
    assert str(tmp_path / "none") in failed(capfd, "ingest", f"path={tmp_path / 'none'}")


def test_an_unknown_source_names_those_there_are(capfd):
    assert "counterfactual" in failed(capfd, "ingest", "source=magic")


def test_an_output_that_is_no_parquet_is_refused(capfd):
    assert "out: it must be text that ends in .parquet" in failed(capfd, "play", "out=/etc/passwd")


def test_a_corrupt_parquet_is_named(capfd, tmp_path):
    (tmp_path / "matches.parquet").write_bytes(b"PAR1 no, it is not PAR1")
    (tmp_path / "rounds.parquet").write_bytes(b"")
    assert "matches.parquet" in failed(capfd, "ingest", f"path={tmp_path}")


def test_a_corrupt_transcript_stops_a_notebook_in_one_line(capfd, tmp_path):
    broken = tmp_path / "turns.parquet"
    broken.write_bytes(b"PAR1 torn")
    line = failed(capfd, "notebook", "counterfactual_claims", f"turns_path={broken}", "--run=corrupt-by-a-test")
    assert "turns.parquet cannot be read" in line
    (ROOT / "runs/corrupt-by-a-test.counterfactual_claims.failed.ipynb").unlink()
    assert not (ROOT / "runs/corrupt-by-a-test").exists()


def test_an_out_that_cannot_be_written_is_named_and_nothing_is_lost(capfd):
    settings = [
        "experiment.name=unwritable",
        "experiment.repetitions=1",
        "experiment.tournaments=[{games: [pd], agents: [grim]}]",
    ]
    assert "cannot be written" in failed(capfd, "play", *settings, "out=README.md/x.parquet")
    assert list((ROOT / ".agon/played/unwritable").rglob("*.parquet"))
    shutil.rmtree(ROOT / ".agon/played/unwritable")


def test_debug_shows_the_traceback():
    from agon import AgonError

    with pytest.raises(AgonError, match="scriptd"):
        main(["--debug", "plan", "experiment=scriptd"])
    with pytest.raises(AgonError, match="scriptd"):
        main(["--debug", "rate", "--experiment", "scriptd"])


VERBS = agon.list_commands(click.Context(agon))


def test_help_lists_every_command(capfd):
    for words in [[], ["help"], ["-h"], ["--help"]]:
        assert main(words) == 0
        text = capfd.readouterr().out
        assert {"plan", "play", "ingest", "notebook", "make-settings", "make-problems", "make-logs"} <= set(VERBS)
        assert all(f"  {verb} " in text for verb in VERBS)


def test_every_verb_and_option_has_a_line_of_help(capfd):
    for verb in VERBS:
        assert main([verb, "--help"]) == 0
        assert capfd.readouterr().out.startswith(f"Usage: agon {verb} ")
        command = agon.get_command(click.Context(agon), verb)
        assert command.help and not command.get_short_help_str(56).endswith("...")
        assert all(option.help for option in command.params if isinstance(option, click.Option))


def test_an_option_of_a_verb_comes_with_its_default_and_a_note(capfd):
    assert main(["make-problems", "--help"]) == 0
    said = " ".join(capfd.readouterr().out.split())
    assert "--trades INTEGER The fewest trades after which all can craft. [default: 1]" in said


def test_a_verb_that_hydra_runs_shows_the_file_of_settings_as_it_is(capfd):
    for verb in ["plan", "ingest"]:
        assert main([verb, "--help"]) == 0
        assert capfd.readouterr().out.endswith((ROOT / "conf/agon.yaml").read_text())


def test_the_version_is_the_package_s(capfd):
    assert main(["--version"]) == 0 and capfd.readouterr().out == f"agon {version('agon')}\n"


def test_cfg_job_prints_the_composed_configuration_alone(capfd):
    for verb in ["plan", "record", "play", "ingest"]:
        words = ["experiment=standin_demo", "experiment.repetitions=7", "budget.usd=1"]
        assert main([verb, *words, "--cfg", "job"]) == 0
        printed = capfd.readouterr().out
        assert printed == OmegaConf.to_yaml(configuration(words)) and "repetitions: 7" in printed


def test_a_file_that_is_not_there_is_one_line_for_every_verb_that_reads_turns(capfd):
    for words in (
        "compare --metric cooperation_rate --by agent --turns no.parquet",
        "rate --turns no.parquet",
        "make-logs --turns no.parquet --folder x",
    ):
        assert "no.parquet is not there: " in failed(capfd, *words.split())


def test_unknown_words_are_one_line_that_offers_the_nearest(capfd):
    for words, said in {
        ("paly",): "there is no command 'paly': did you mean play?",
        ("plan", "--colour"): "plan has settings: write colour=VALUE instead of --colour",
        ("plan", "--repetitions"): "write experiment.repetitions=VALUE instead of --repetitions",
        ("make-settings", "--keeep=3"): "there is no option --keeep: did you mean --keep? (agon make-settings --help)",
        ("plan", "experiment=scripted", "-x"): "there is no option -x (agon plan --help)",
        ("make-settings", "--keep=0"): "'--keep': 0 is not in the range x>=1. (agon make-settings --help)",
        ("make-settings", "other"): "make-settings takes only options, and other is none (agon make-settings --help)",
        ("make-logs", "--turns=x"): "make-logs needs --folder TEXT: ",
        (
            "compare",
            "no.parquet",
            "--by",
            "agent",
        ): "compare takes only options: write --turns no.parquet (agon compare --help)",
        ("rate", "my games.parquet"): "rate takes only options: write --turns 'my games.parquet' (agon rate --help)",
        ("compare", "--turns=no.parquet"): "compare needs --metric ",
        ("compare", "by=agent: zs"): "compare has options: write --by 'agent: zs' instead of by=agent: zs",
        ("certify-problems",): "certify-problems needs FILES... (agon certify-problems --help)",
    }.items():
        assert said in failed(capfd, *words, code=2)


def test_a_family_s_verb_is_found_in_its_folder(capfd):
    assert main(["check-rulesets", "invented"]) == 0
    assert capfd.readouterr().out == "invented: nothing is wrong\n"


CHESS = '''"""Of chess."""
import click
@click.command()
@click.option("--size", default=8, help="Of the board.")
def set_up(size):
    "Sets up."
    if not size: raise SystemExit
    print(size * size)
@click.command()
def plan(): "Plans."
VERBS = [set_up]
'''


@pytest.fixture(scope="module")
def with_chess(tmp_path_factory):
    """A project with a family outside src, and a function that writes its commands.py and runs a command."""
    folder = tmp_path_factory.mktemp("chess")
    copy, family = Project(folder / "copy"), folder / "chess"
    family.mkdir()
    for name in ("__init__.py", "game.py"):
        (family / name).write_text("")
    config = copy.folder / "conf/config.yaml"
    config.write_text(config.read_text() + f"families: [{family}]\n")

    def run(code, *words):
        (family / "commands.py").write_text(code)
        return copy.run(*words)

    return run


def test_a_family_outside_src_has_verbs_of_its_own_too(with_chess):
    assert with_chess(CHESS, "set-up", "--size=3").stdout == "9\n" and "  set-up " in with_chess(CHESS, "--help").stdout
    ended = with_chess(CHESS, "set-up", "--size=0")
    assert ended.returncode == 1 and "SystemExit() was raised while set-up ran" in ended.stderr


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        (
            "import nowhere_at_all",
            "chess.commands cannot be used: ModuleNotFoundError: No module named 'nowhere_at_all'",
        ),
        ("VERBS = [", "chess.commands cannot be used: SyntaxError: "),
        ("raise SystemExit(3)", "chess.commands cannot be used: SystemExit: 3"),
        ("", "chess.commands cannot be used: AttributeError: "),
        (
            "def set_up(size): pass\nVERBS = [set_up]",
            "chess.commands cannot be used: AttributeError: 'function'",
        ),
        (CHESS.replace("[set_up]", "[plan]"), "chess.commands: there is a command plan already: rename its own"),
    ],
)
def test_broken_commands_of_a_family_break_no_others(with_chess, code, fault):
    shown = with_chess(code, "--help")
    assert shown.returncode == 0 and fault in " ".join(shown.stdout.split()) and "  make-settings " in shown.stdout
    for words in (["plan", "--help"], ["make-settings", "--help"]):
        assert with_chess(code, *words).stdout.startswith(f"Usage: agon {words[0]} ")
    missed = with_chess(code, "set-up")
    assert missed.returncode == 2 and missed.stderr.startswith("agon: there is no command 'set-up': ")
    assert fault in missed.stderr and missed.stderr.count("\n") == 1


def test_a_path_may_begin_in_the_home_folder(capfd, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "x.parquet").write_text("mine")
    said = failed(capfd, "play", "experiment=scripted", "out='~/x.parquet'")
    assert f"{tmp_path}/x.parquet exists and is not a turns table" in said
    with pytest.raises(AgonError, match=str(tmp_path / "x.parquet")):
        read("~/x.parquet")


VALUES = ["a=b", "a(b", "it's", "~/x", "ü/x", "a#b", 'a"b', "'\"", "a;b", "{x", "[x", "a\\'b\"", "'\"\\"]


@pytest.mark.parametrize("value", VALUES)
def test_a_value_with_special_characters_comes_with_how_to_write_it(capfd, value):
    line = failed(capfd, "plan", f"path={value}")
    assert " cannot be read: if its value is one text, write " in line
    (word,) = shlex.split(line.partition(", write ")[2])
    assert configuration([word])["path"] == value


def test_a_list_without_brackets_is_one_line_with_what_it_may_mean(capfd):
    line = failed(capfd, "plan", "budget.usd=0,5")
    assert "'budget.usd=0,5' has several values: for a list write budget.usd=[0,5], " in line and "--multirun" in line


def test_quotation_marks_about_a_value_are_none_of_it(capfd, tmp_path):
    said = failed(capfd, "play", f"out='{tmp_path}/a b.txt'")
    assert f"'{tmp_path}" not in said and "/a b.txt'" not in said


# --- the script, and the shell


def process(code, *words, **environment):
    """Runs Python code with words behind it."""
    return patience.run([sys.executable, "-c", code, *words], cwd=ROOT, env=os.environ | environment)


SCRIPT = "import sys; from agon.__main__ import run; sys.exit(run())"


def test_the_script_is_the_module():
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"] == {"agon": "agon.__main__:run"}
    for words in (["--version"], ["fly"], ["plan", "experiment=scriptd"]):
        module = patience.run([sys.executable, "-m", "agon", *words], cwd=ROOT)
        script = process(SCRIPT, *words)
        assert (script.returncode, script.stdout, script.stderr) == (module.returncode, module.stdout, module.stderr)


HEAVY = {
    "anthropic",
    "distributed",
    "hydra",
    "matplotlib",
    "numpy",
    "openai",
    "pandas",
    "papermill",
    "scipy",
}


@pytest.mark.parametrize("words", [["--help"], ["plan", "--help"], ["make-problems", "--help"], ["--version"]])
def test_help_reads_no_library_that_takes_its_time(words):
    code = f"import sys; from agon.cli import main; main(); sys.exit(', '.join({HEAVY!r} & set(sys.modules)) or 0)"
    run = process(code, *words)
    assert (run.returncode, run.stderr) == (0, "")


def completed(*words, shell="zsh"):
    """What the shell is offered for the last of some words."""
    asked = {
        "_AGON_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": " ".join(["agon", *words]),
        "COMP_CWORD": str(len(words)),
    }
    code = f"import sys; from agon.cli import main\ntry: main()\nfinally: assert not {HEAVY!r} & set(sys.modules)"
    run = process(code, **asked)
    assert (run.returncode, run.stderr) == (0, "")
    return run.stdout.splitlines()[1::3]


def test_the_shell_completes_verbs_options_and_names():
    assert completed("make-l") == ["make-logs"]
    assert completed("plan", "--c") == ["--cfg"] and completed("plan", "--cfg", "j") == ["job"]
    assert "tradecraft_own" in completed("notebook", "trade")
    assert completed("notebook", "scripted", "--r") == ["--run"]
    assert completed("rate", "--experiment", "stand") == ["standin_demo"]


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash")
def test_bash_completes_verbs_options_and_names(tmp_path):
    (tmp_path / "agon").write_text(f'#!/bin/sh\nexec {sys.executable} -m agon "$@"\n')
    (tmp_path / "agon").chmod(0o755)
    for words, offered in {
        "agon list mo": ["models"],
        "agon rate --exp": ["--experiment"],
        "agon rate --experiment script": ["scripted"],
        "agon compare --metric opponent_comprehension_": ["opponent_comprehension_as_done"],
        "agon new": ["new"],
        "agon new st": ["study"],
        "agon new study x --model smollm2_c": ["smollm2_cool"],
    }.items():
        asked = f"compopt() {{ :; }}; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))"
        script = f'eval "$(_AGON_COMPLETE=bash_source agon)"; {asked}; _agon_completion agon; echo "${{COMPREPLY[@]}}"'
        path = f"{tmp_path}:{os.environ['PATH']}"
        run = patience.run(["bash", "-c", script], cwd=ROOT, env=os.environ | {"PATH": path})
        assert (run.stdout.split(), run.stderr) == (offered, "")


# --- what commands do


@pytest.mark.parametrize("is_limited", [True, False])
def test_plan_says_what_an_endless_at_most_comes_from(monkeypatch, capfd, is_limited):
    if not is_limited:
        monkeypatch.setattr("agon.games.matrix.game.MatrixGame.times_asked", lambda *_: Times())
    assert main(["plan", "experiment=standin_demo", "experiment.name=anew", "experiment.repetitions=1"]) == 0
    said = "note: pd does not say how often it asks a seat, so `at most` assumes matches of"
    assert (said in capfd.readouterr().out) == (not is_limited)


def test_plan_counts_matches_and_decisions(capfd):
    assert (
        main(["plan", "experiment.repetitions=1", "experiment.tournaments=[{games: [pd, rps], agents: [srep, pp]}]"])
        == 0
    )
    assert "6 matches, 240 decisions, 2 agents" in capfd.readouterr().out


@pytest.mark.parametrize("version", ["3.9.18", "3.10.2"])
def test_make_refuses_an_old_python_in_one_line(tmp_path, version):
    old = tmp_path / "python"
    old.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo "Python {version}" && exit 0\nexit 1\n')
    old.chmod(0o755)
    copy = tmp_path / "project"
    (copy / ".ci").mkdir(parents=True)
    for name in ("Makefile", "requirements.lock", ".ci/installer.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, copy / name)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    made = patience.run(["make", "repro", f"PYTHON={old}"], cwd=copy, env=environment)
    assert made.returncode != 0 and not (copy / ".venv").exists()
    assert made.stderr.splitlines()[0].startswith("agon needs Python 3.11 or newer")
    assert f"Python {version}" in made.stderr.splitlines()[0]


def test_an_old_python_is_refused_before_anything_newer_is_read():
    source = (ROOT / "src/agon/__main__.py").read_text()
    faked = source.replace("import sys\n", "import sys\nsys.version_info = (3, 9, 1)\n", 1)
    run = patience.run([sys.executable, "-c", faked], cwd=Path(ROOT))
    assert run.returncode == 1 and run.stderr.startswith("agon needs Python 3.11 or newer; this is 3.9")


# --- models: plan, record, play (in a copy of the project: they leave things behind)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of the project with a stand-in and small experiments that ask it."""
    copy = Project(tmp_path_factory.mktemp("commands"))
    script = {"_target_": "agon.games.matrix.scripts.tit_for_tat", "_partial_": True}
    stand_in = {"_target_": "agon.models.standin.StandIn", "_convert_": "all", "model": "quick", "policy": script}
    copy.conf("model", "quick", **stand_in, malformed=0.1, concurrency=3)
    copy.conf("model", "narrow", **stand_in, context=700, parameters={"max_tokens": 100})
    copy.conf("model", "dear", **stand_in, price={"input": 50, "output": 250})
    copy.conf("model", "priceless", **stand_in, price={}, parameters={"max_tokens": 100})
    for model, name in (
        ("quick", "tiny"),
        ("quick", "halted"),
        ("quick", "whole"),
        ("quick", "unplayed"),
        ("narrow", "narrow"),
        ("priceless", "priceless"),
    ):
        pairing = {"games": ["pd", "rps_joint"], "models": [model], "seats": [["zs", "zs_sc3"], ["zs", "srep"]]}
        copy.conf("experiment", name, name=name, repetitions=1, pairings=[pairing])
    pairing = {"games": ["pd"], "models": ["quick"], "seats": [["best_reply_to_last"], ["best_reply_to_last"]]}
    copy.conf("experiment", "scripts", name="scripts", repetitions=1, pairings=[pairing])
    return copy


def told(project, *commands):
    """[exit code, output, errors] of commands, one after another."""
    runs = [project.run(*command.split()) for command in commands]
    return [[run.returncode, run.stdout, run.stderr] for run in runs]


def recorded(project, name):
    """The lines of a recording that are calls."""
    lines = (project.recordings(name) / "exchanges.jsonl").read_text().splitlines()
    return [line for line in map(json.loads, lines) if "exchange" in line or "failed" in line]


def test_plan_record_and_play_from_end_to_end(project):
    verbs = "plan", "record", "record", "play", "plan", "play fresh=true out=transcripts/again.parquet"
    plan, record, again, play, left, more = told(project, *[f"{verb} experiment=tiny" for verb in verbs])
    assert [code for code, *_ in (plan, record, again, play, left, more)] == [0] * 6
    made = len(recorded(project, "tiny"))
    expected = int(re.search(r"about ([\d,]+) calls, 0.00 USD", plan[1])[1].replace(",", ""))
    assert re.search(rf"^quick +8 +{expected}\b", plan[1], re.MULTILINE) and expected < made < 1.4 * expected
    assert f"data/recordings/tiny/exchanges.jsonl: {made} exchanges; {made} calls, " in record[1]
    assert (
        f"expected before: about {expected} calls" in record[1]
        and "now: python -m agon play experiment=tiny" in record[1]
    )
    assert f"{made} exchanges; 0 calls, " in again[1] and len(recorded(project, "tiny")) == made
    assert play[1].startswith("transcripts/tiny.parquet: 8 matches, 320 turns")
    assert f"recorded already: {made} exchanges" in left[1] and "about 0 calls, 0.00 USD" in left[1]
    path = project.folder / "transcripts/tiny.parquet"
    assert path.with_name("again.parquet").read_bytes() == path.read_bytes()
    turns = read(path)
    asked = turns[turns.model.notna()]
    assert asked.attempts.sum() == made and asked.cached.all() and set(asked.model) == {"quick"}
    assert asked.reply.str.contains("stand-in").mean() > 0.8 and validated(turns) is turns


def test_old_unreadable_answers_stop_no_run_whose_new_ones_can_be_read(project):
    words = "experiment=nonsense experiment.models=[nonsense]"
    lines = project.recordings("nonsense") / "exchanges.jsonl"
    pairing = {"games": ["pd"], "models": ["nonsense"], "seats": [["zs"], ["uniform"]]}
    project.conf("experiment", "nonsense", name="nonsense", repetitions=3, models=["nonsense"], pairings=[pairing])
    with serving(answer=lambda body: "what?") as server:
        project.model(server.openai, "nonsense", concurrency=1)
        for run in (1, 2):
            [(code, said, _)] = told(project, f"record {words}")
            assert code == 3 and "none of the first 3" in said and run * 30 <= server.requests <= run * 32
        assert said.count("(rm data/recordings/nonsense/exchanges.jsonl)") == 1 and "paid for, once more" in said
    with serving() as server:
        project.model(server.openai, "nonsense", concurrency=1)
        assert told(project, f"record {words}")[0][0] == 0 and 0 < server.requests < 48
        lines.unlink()
        assert told(project, f"record {words} budget.calls=48")[0][0] == 0 and len(recorded(project, "nonsense")) == 48


@pytest.mark.parametrize(
    ("price", "limit", "words"),
    [
        (0.0, "budget.usd=1", ""),
        (0.0, "", ""),
        (
            0.0,
            "budget.tokens=1e6",
            r", and at most [\d,]+ tokens more for calls without a credible count of tokens \(it",
        ),
        (9.0, "budget.usd=1", r", and at most [\d,]+ tokens and 0\.\d+ USD more for calls without a credible count of"),
        (9.0, "", r", without the cost of 10 answers without a credible count of tokens \(it is absent, or too small"),
    ],
)
def test_only_what_costs_or_is_limited_is_said_of_calls_without_counts(project, price, limit, words):
    name = f"uncounted_{price:g}_{limit.partition('=')[0].removeprefix('budget.')}"
    project.experiment(name, 1)
    with serving(answer=lambda body: "no") as server:  # two letters are 0 tokens to this server
        project.model(server.openai, price={"input": price, "cached": price, "output": price})
        [(code, said, _)] = told(project, f"record experiment={name} readable=0 budget.calls=10 {limit}")
    [line] = [line for line in said.splitlines() if "10 exchanges" in line]
    assert code == 3 and re.search(r"\d USD" + words, line) and ("credible" in line) == bool(words)


def test_plan_lists_who_meets_whom_and_names_the_setting_that_limits_answers(project):
    pairing = {"games": ["pd"], "models": ["quick"], "seats": [["zs", "cot"], ["zs", "srep", "grim", "mf", "uniform"]]}
    project.conf("experiment", "meetings", name="meetings", repetitions=2, pairings=[pairing])
    [(_, said, _), (_, limited, _)] = told(
        project,
        "plan experiment=meetings",
        "plan experiment=meetings experiment.models=[quick] +experiment.sampling=as_done",
    )
    listed = re.findall(r"^ +2 matches: (\S+) against (\S+)$", said, re.MULTILINE)
    assert len(listed) == len({*listed}) == 8 and {first for first, _ in listed} == {"zs@quick", "cot@quick"}
    assert re.search(r"^ +and 2 more groups of players$", said, re.MULTILINE)
    note = "note: conf/model/quick.yaml sets no max_tokens, so answers have no limit: write parameters: {max_tokens: N}"
    assert (
        note in said
        and re.search(r"^  (at most|likely to) .* no limit", said, re.MULTILINE)
        and "no limit" not in limited
    )


def test_a_tournament_where_seats_differ_is_noted_before_anything_is_paid(project):
    game = {"_target_": "agon.games.matrix.MatrixGame", "_convert_": "all", "name": "uneven", "variant": "default"}
    table = [[[3, 1], [0, 0]], [[0, 0], [2, 2]]]
    project.conf("game", "uneven", **game, options=["cooperation", "defection"], payoff=table, rounds=2)
    tournament = {"games": ["uneven"], "agents": ["zs@quick", "uniform"]}
    project.conf("experiment", "uneven", name="uneven", repetitions=1, tournaments=[tournament])
    for _, said, _ in told(project, "plan experiment=uneven", "record experiment=uneven budget.calls=1"):
        assert "note: the seats of uneven differ (the same actions pay them differently)" in said
        assert "seats: [[zs@quick, uniform], [zs@quick, uniform]]" in said


def test_what_was_recorded_anew_is_played_anew(project):
    told(project, "record experiment=tiny", "play experiment=tiny")
    (project.recordings("tiny") / "exchanges.jsonl").write_bytes(b"")
    [(code, _, errors)] = told(project, "play experiment=tiny")
    assert code == 1 and "no recorded answer of quick" in errors


def test_a_budget_stops_cleanly_and_the_same_command_goes_on(project):
    limited = ["record experiment=halted budget.calls=10"] * 2
    first, second, rest, _ = told(project, *limited, "record experiment=halted", "record experiment=whole")
    assert first[0] == second[0] == 3 and rest[0] == 0 and first[2] == second[2] == rest[2] == ""
    assert re.search(
        r"stopped; \d of \d matches recorded to the end, \d begun: budget.calls=10; the same command continues",
        first[1],
    )
    assert ": 10 exchanges; 10 calls, " in first[1] and ": 20 exchanges; 10 calls, " in second[1]
    samples = [line["sample"] for line in recorded(project, "halted")]
    assert len(samples) == len(set(samples)) and f": {len(samples)} exchanges; {len(samples) - 20} calls, " in rest[1]
    halted, whole = (
        {each["exchange"]: each.get("text") for each in recorded(project, name)} for name in ("halted", "whole")
    )
    assert halted == whole


def test_a_bill_is_not_zero_where_no_question_fits(project):
    script = {"_target_": "agon.games.matrix.scripts.tit_for_tat", "_partial_": True}
    project.conf("model", "tight", _target_="agon.models.standin.StandIn", model="tight", policy=script, context=100)
    (code, said, _), (_, usual, _) = told(
        project, *[f"plan experiment=unplayed {more}" for more in ("experiment.pairings.0.models=[tight]", "")]
    )
    assert code == 0 and "nothing can be asked: no question fits into the model's context" in said
    assert "nothing can be asked" not in usual


def test_ingest_takes_the_folder_of_its_source_and_notes_a_file_outside(tmp_path, capfd):
    assert main(["ingest", "source=tradecraft", f"out={tmp_path}/read.parquet"]) == 0
    out, errors = capfd.readouterr()
    assert "90 matches, 8,388 turns; 0 bad files" in out
    assert f"note: {tmp_path}/read.parquet is outside of this project, {ROOT}\n" in errors
    assert set(read(tmp_path / "read.parquet").game) == {"tradecraft"}


REFUSED = (
    "play experiment=unplayed",
    "record experiment=unplayed budget.usd=1",
    "record experiment=unplayed budget.calls=0",
    "plan experiment=scripts",
    "record experiment=scripts",
    "plan experiment=priceless",
    "record experiment=priceless budget.usd=1",
    "record experiment=priceless budget.tokens=3000",
)


@pytest.fixture(scope="module")
def said(project):
    """Command -> (exit code, output, errors), for commands that do not do what they are asked."""
    return dict(zip(REFUSED, told(project, *REFUSED), strict=True))


def test_playing_what_nobody_recorded_says_how_and_for_how_much(project, said):
    code, out, errors = said["play experiment=unplayed"]
    assert code == 1 and out == "" and not (project.folder / "transcripts/unplayed.parquet").exists()
    assert re.fullmatch(
        r"agon: no recorded answer of quick for \w+/\d/0.0.0: "  # nothing is pinned here, so nothing can be pulled
        r"python -m agon record experiment=unplayed would record the rest, for about [\d,]+ calls, 0.00 USD \(.*\)"
        r"; partial=true plays the complete matches\n",
        errors,
    )


def test_a_budget_without_a_bound_on_answers_is_refused(project, said):
    code, _, errors = said["record experiment=unplayed budget.usd=1"]
    assert code == 1 and errors.startswith("agon: model quick: without max_tokens")
    code, out, errors = said["record experiment=unplayed budget.calls=0"]
    assert code == 3 and errors == "" and "exchanges.jsonl: 0 exchanges; 0 calls, " in out and "budget.calls=0" in out
    assert not project.recordings("unplayed").exists()  # else it would be pinned with data/


def test_recording_what_asks_no_model_says_what_to_do_instead(said):
    assert "about 0 calls, 0.00 USD" in said["plan experiment=scripts"][1]
    assert said["record experiment=scripts"] == [
        1,
        "",
        "agon: experiment scripts asks no model: there is nothing to record; python -m agon play experiment=scripts\n",
    ]


def test_an_unknown_price_forbids_a_budget_in_money(said):
    plan, money, tokens = (said[command] for command in REFUSED[-3:])
    assert re.search(r"^priceless .* unknown ", plan[1], re.MULTILINE)
    assert "; no price in conf/model/priceless.yaml: write it there, or limit `record` by budget.tokens\n" in plan[1]
    assert "; without the cost of priceless: conf/model does not say its price" in plan[1]
    assert money[0] == 1 and money[2].startswith("agon: model priceless: budget.usd needs its price")
    assert tokens[0] == 3 and "budget.tokens=3000" in tokens[1] and "answers of unknown price" in tokens[1]


def test_all_missing_keys_are_one_line_and_no_call(project):
    project.model("http://127.0.0.1:9", key="A_KEY_THAT_NOBODY_SET")
    project.model("http://127.0.0.1:9", "other", key="ANOTHER_KEY", model="other")
    one = {"games": ["pd"], "models": ["server", "other"], "seats": [["zs"], ["uniform"]]}
    project.conf("experiment", "keyless", name="keyless", repetitions=4, pairings=[one])
    [(code, out, errors)] = told(project, "record experiment=keyless")
    of_server, of_other = (
        f"the environment variable {key}, for its key, is not set (for {name})"
        for key, name in (("A_KEY_THAT_NOBODY_SET", "server"), ("ANOTHER_KEY", "other"))
    )
    lines = [
        "asks server (fault-server) at 127.0.0.1:9, with A_KEY_THAT_NOBODY_SET",
        "asks other (other) at 127.0.0.1:9, with ANOTHER_KEY",
    ]
    assert (code, out.splitlines(), errors) == (1, lines, f"agon: nothing was asked: {of_server}; {of_other}\n")
    assert not project.recordings("keyless").exists()


def test_a_dead_port_is_reported_and_changes_no_recording(project):
    with socket.socket() as dead:  # bound, but nobody listens
        dead.bind(("127.0.0.1", 0))
        project.model(f"http://127.0.0.1:{dead.getsockname()[1]}/v1", tries=4, pause=0.3)
        project.experiment("dead", 1)
        [(code, out, errors)] = told(project, "record experiment=dead")
    notes = re.findall(
        r"note: (\d) calls? failed so far, the last: the connection failed: .+; failed calls are tried again", errors
    )
    assert code == 3 and len(notes) == 1 and int(notes[0]) < 4
    assert "3 x no connection\n" in out, "why is said in the note already"
    assert "no server answers" in out and "correct base_url in conf/model/server.yaml" in out
    assert not project.recordings("dead").exists()


def test_a_server_that_refuses_or_fails_is_named_with_the_variable_of_its_key(project):
    for fault, tries in (("401", "1 x 401"), ("404", "1 x 404"), ("500", "2 x 500")):
        with serving(faults={fault: 1.0}) as server:
            host = server.url.removeprefix("http://")
            project.model(server.openai, fault, tries=2, pause=0.1, concurrency=1)
            one = {"games": ["pd"], "models": [fault], "seats": [["zs"], ["uniform"]]}
            project.conf("experiment", f"meets{fault}", name=f"meets{fault}", repetitions=1, pairings=[one])
            [(code, out, errors)] = told(project, f"record experiment=meets{fault}")
        assert code in (1, 3) and tries in out and "a-key-of-these-tests" not in out + errors
        assert f"model {fault} (at {host}, with {KEY}): " in (out if fault == "500" else errors)
        assert ("nothing is paid for a refused call" in errors) is (fault != "500")
        assert fault == "500" or "tried again" not in errors


def test_a_failure_that_ends_the_run_is_said_once_for_all_matches(project):
    project.experiment("ended", 12)
    for fault, words in (("401", "the provider refuses the key"), ("404", "the provider does not know the model")):
        with serving(faults={fault: 1.0}, latency=0.7) as server:  # notes on failures come every half second
            project.model(server.openai)
            [(code, out, errors)] = told(project, "record experiment=ended")
        assert code == 1 and (out + errors).count(words) == (out + errors).count(f"status {fault}") == 1
        assert re.search(rf"errors: \d+ x {fault}$", out, re.MULTILINE)


def test_settings_that_a_full_disk_cannot_take_are_said_as_such(monkeypatch, capsys):
    class Full(io.StringIO):
        def write(self, _):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(sys, "stdout", Full())
    assert main(["plan", "--cfg", "job"]) == 1
    assert capsys.readouterr().err == "agon: the disk is full: make room, and give the same command again\n"


def test_a_copy_of_a_papers_experiment_says_how_its_pages_are_made(project):
    project.model("http://127.0.0.1:9")
    settings = {"repetitions": 1, "paper": "counterfactual", "models": ["quick"]}
    pairing = {"games": ["pd"], "seats": [["zs"], ["srep"]]}
    for name in ("counterfactual_live", "mine_small"):
        project.conf("experiment", name, name=name, pairings=[pairing], **settings)
    of_paper, of_copy = (out.splitlines()[-1] for _, out, _ in told(
        project, "record experiment=counterfactual_live", "record experiment=mine_small budget.calls=900"
    ))  # fmt: skip
    assert of_paper == "now: python -m agon reproduce counterfactual model=quick"
    play, pages = of_copy.removeprefix("now: ").split(" and then ")
    assert play == "python -m agon play experiment=mine_small"
    assert pages == "python -m agon reproduce counterfactual turns_path=transcripts/mine_small.parquet"


def test_beside_a_bar_a_dead_port_is_said_once(project, monkeypatch):
    monkeypatch.setitem(project.environment, "AGON_PROGRESS", "1")
    with socket.socket() as dead:
        dead.bind(("127.0.0.1", 0))
        project.model(f"http://127.0.0.1:{dead.getsockname()[1]}/v1", tries=3, pause=0.3)
        project.experiment("dead", 1)
        run = project.run("record", "experiment=dead")
    said = re.findall(r"note: \d calls? failed so far, the last: the connection failed", run.stderr)
    assert run.returncode == 3 and len(said) == 1 and run.stderr.index(said[0]) < run.stderr.rindex("question")


def test_a_recording_that_ends_for_lack_of_context_is_none_to_go_on_from(project):
    [(code, out, _)] = told(project, "record experiment=narrow")
    assert code == 3 and "does not fit into the model's context" in out and "same command continues" not in out
    play = "python -m agon play experiment=narrow partial=true plays the complete matches"
    assert out.endswith(f"they would end there again: change what is said above; {play}\n")


def test_recorded_games_are_listed_with_what_takes_them(project):
    project.folder.joinpath("transcripts").mkdir(exist_ok=True)
    for kind in ("", ".games"):
        source = ROOT / f"tests/smoke/scripted_turns{kind}.parquet"
        shutil.copy(source, project.folder / f"transcripts/lent{kind}.parquet")
    listed, planned, compared = told(
        project,
        "list experiments",
        "plan experiment=counterfactual",
        "compare --experiment lent --metric points --by agent:grim,best_reply_to_last",
    )
    lines = {line.split()[0]: line for line in listed[1].splitlines()}
    for name, made in (("counterfactual", "agon ingest source=counterfactual"), ("lent", "transcripts/lent.parquet")):
        assert made in lines[name] and "for compare, rate and notebooks" in lines[name]
    assert "tiny" in lines and "for compare" not in lines["tiny"] and compared[0] == 0
    assert planned[0] == 1 and "these are recorded games, for compare, rate and notebooks" in planned[2]


def test_what_a_budget_did_not_allow_is_named_beside_what_was_expected(project):
    [(_, out, _)] = told(project, "record experiment=unplayed experiment.name=few budget.calls=1")
    assert re.search(r"expected before: about .* USD\), if budget.calls=1 allowed it$", out, re.MULTILINE)
    assert ": 1 exchange; 1 call, " in out and re.search(r'^answers: \d+% readable, the last: ".*"$', out, re.MULTILINE)


def test_a_budget_is_a_number_that_is_not_negative(capfd):
    for value in ["-1", "many"]:
        assert "budget.usd" in failed(capfd, "record", "experiment=standin_demo", f"budget.usd={value}")


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        (
            "src/agon/games/matrix/prompt.md",
            "a repeated game with",
            "a long game with",
            "the system prompt (line 1: recorded",
        ),
        ("src/agon/games/matrix/prompt.md", ": choose your action.", ": choose.", "the first question"),
        ("conf/game/pd.yaml", "rounds: 16", "rounds: 15", "a setting of the game or of an agent"),
        (
            "conf/model/quick.yaml",
            "malformed: 0.1",
            "malformed: 0.2",
            "the model or its parameters (standin: recorded with",
        ),
        (
            "conf/model/quick.yaml",
            "model: quick",
            "model: slow",
            "the model or its parameters (model: recorded with 'quick'",
        ),
    ],
)
def test_recorded_answers_that_do_not_fit_any_more_are_said_to_be_there(project, file, old, new, said):
    pairing = {"games": ["pd"], "models": ["quick"], "seats": [["zs"], ["best_reply_to_last"]]}
    project.conf("experiment", "changed", name="changed", repetitions=1, pairings=[pairing])
    assert project.run("record", "experiment=changed").returncode == 0
    path = project.folder / file
    before = path.read_text()
    assert old in before
    try:
        path.write_text(before.replace(old, new))
        play, record = told(project, "play experiment=changed", "record experiment=changed budget.calls=0")
    finally:
        path.write_text(before)
    held = len(recorded(project, "changed"))
    assert play[0] == 1 and play[2].count("\n") == 1
    for text in (play[2], record[1]):
        assert f"the recording has {held} answers, none of them of these matches: what differs is {said}" in text


# --- stopped, and what cannot be written

SLOW = """
import signal, sys, time
from importlib.abc import MetaPathFinder

class Slow(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            print("now", flush=True)
            time.sleep(30)

sys.meta_path.insert(0, Slow())
sys.argv = ["agon", "plan", "experiment=standin_demo"]
from agon.__main__ import run
sys.exit(run())
"""


@pytest.mark.parametrize(
    "module", ["click", "agon.cli", "agon.cli.parser", "omegaconf", "agon.plan", "agon.record.estimate"]
)
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_command_stopped_during_its_imports_says_so_in_a_line(module, number, code):
    run = subprocess.Popen(
        [sys.executable, "-c", SLOW.format(module=module)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert "now\n" in iter(run.stdout.readline, "")
    run.send_signal(number)
    _, errors = run.communicate(timeout=patience.LONG)
    assert (run.returncode, errors.strip()) == (code, "agon: stopped")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("verb", ["record", "play"])
def test_a_command_stopped_in_its_work_says_so_in_a_line(project, verb, number, code):
    script = {"_target_": "agon.games.matrix.scripts.tit_for_tat", "_partial_": True}
    slow = {"_target_": "agon.models.standin.StandIn", "_convert_": "all", "model": "snail", "policy": script}
    project.conf("model", "snail", **slow, delay=0.5)
    models = ["snail"] if verb == "record" else []
    pairing = {"games": ["pd"], "models": models, "seats": [["zs"] if models else ["grim"], ["grim"]]}
    name = f"snail{code}"
    project.conf("experiment", name, name=name, repetitions=100 if models else 50_000, pairings=[pairing])
    run = project.start(verb, f"experiment={name}")
    made = project.folder / ("data/recordings" if models else ".agon/played") / name
    patience.until(lambda: list(made.rglob("*.*")), "a file of it")
    run.send_signal(number)
    _, errors = run.communicate(timeout=patience.LONG)
    assert (run.returncode, errors.strip()) == (code, "agon: stopped; the same command continues")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stop_does_not_wait_as_long_as_the_provider_asks(project, number, code):
    with serving(faults={"429 after": 1.0}, after=3000.0) as server:
        project.model(server.openai, "resting")
        one = {"games": ["pd"], "models": ["resting"], "seats": [["zs"], ["uniform"]]}
        project.conf("experiment", "rests", name="rests", repetitions=1, pairings=[one])
        run = project.start("record", "experiment=rests")
        patience.until(lambda: server.requests, "a request")
        run.send_signal(number)
        began = time.monotonic()
        _, errors = run.communicate(timeout=patience.LONG)
    assert run.returncode == code and errors.endswith("agon: stopped; the same command continues\n")
    assert time.monotonic() - began < 60 and not project.recordings("rests").exists()


def test_a_sweep_is_checked_before_its_first_run(project):
    with serving() as server:
        project.model(server.openai, "swept")
        one = {"games": ["pd"], "models": ["swept"], "seats": [["zs"], ["uniform"]]}
        project.conf("experiment", "sweep", name="sweep", repetitions=1, pairings=[one])
        words = "experiment=sweep -m experiment.repetitions=1,2"
        wrong, same = told(project, f"record {words} budget.usd=1,x", f"play {words}")
        assert wrong[0] == 1 and "budget.usd=x: the settings do not fit" in wrong[2]
        assert same[0] == 1 and same[2].startswith("agon: several of these runs would write the same file")
        assert server.requests == 0 and not (project.folder / "transcripts/sweep.parquet").exists()
        assert told(project, f"record {words} budget.usd=1")[0][0] == 0


def test_where_the_disk_is_full_it_says_what_was_spent_and_goes_on_later(project):
    def has_little_room():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    with serving() as server:
        project.model(server.openai, "filling", concurrency=1)
        one = {"games": ["pd"], "models": ["filling"], "seats": [["zs"], ["uniform"]]}
        project.conf("experiment", "fills", name="fills", repetitions=3, pairings=[one])
        words = [sys.executable, "-m", "agon", "record", "experiment=fills", "concurrency=1"]
        full = subprocess.run(
            words,
            cwd=project.folder,
            env=project.environment,
            capture_output=True,
            text=True,
            timeout=patience.LONG,
            preexec_fn=has_little_room,
        )
        kept = len(recorded(project, "fills"))
        assert full.returncode == 1 and full.stderr.count("\n") == 1 and "make room" in full.stderr
        assert f"{kept} exchanges; {kept + 1} calls" in full.stdout and 0 < kept < 48
        assert told(project, "record experiment=fills")[0][0] == 0
        assert server.requests == 48 + 1, "only what was in flight is asked again"


def test_an_error_without_a_word_says_where_it_was(capfd, monkeypatch):
    def fails(*_, **__):
        raise AssertionError

    monkeypatch.setattr("agon.plan.plan", fails)
    assert "AssertionError: raise AssertionError in tests/test_commands.py, line " in failed(capfd, "plan")


def test_a_notebook_is_one_of_the_folder(capfd):
    for name in ["../tests/smoke/x", "..", "/etc/passwd", "scripted/../scripted", ""]:
        assert "notebook" in failed(capfd, "notebook", name)


def test_control_characters_do_nothing_to_the_terminal(capfd):
    for words in (["plan", "experiment=\x1b[2J\x07"], ["ingest", "path=\x1b]0;title\x07"], ["notebook", "\x1b[31mx"]):
        line = failed(capfd, *words)
        assert "\x1b" not in line and "\x07" not in line and "\\x1b" in line


def test_an_experiment_and_its_file_are_called_the_same(project):
    text = (ROOT / "conf/experiment/scripted.yaml").read_text()
    assert re.search("^name: scripted$", text, re.MULTILINE)
    oops = project.folder / "conf/experiment/oops.yaml"
    oops.write_text(re.sub("^name: scripted$", "name: ops", text, flags=re.MULTILINE))
    said = (
        "agon: conf/experiment/oops.yaml says `name: ops`: give both the same name, because stages and files use it\n"
    )
    try:
        asked = [f"{verb} experiment=oops" for verb in ("plan", "record", "play")]
        assert [each[1:] for each in told(project, *asked)] == [["", said]] * 3
        assert not (project.folder / "transcripts/ops.parquet").exists()
    finally:
        oops.unlink()


def test_a_misspelt_experiment_is_said_to_be_none(project):
    asked = ("compare --experiment scriptd --metric points --by agent", "rate --experiment scriptd")
    assert [each[2] for each in told(project, *asked)] == [
        "agon: there is no experiment 'scriptd': did you mean scripted?\n"
    ] * 2
