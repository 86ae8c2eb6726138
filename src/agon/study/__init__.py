"""Makes a reader's own study: a folder with conf, a metric, a notebook and stages, from the template beside this file."""

import re
from pathlib import Path

from agon.conf import names, suggest_file
from agon.errors import AgonError
from agon.paths import ROOT, SHIPPED, display_path, expand_home, write_file

TEMPLATE = Path(__file__).with_name("template")
"""The template's files. STUDY and MODEL stand for names, AGON for the path to agon's checkout; elsewhere lines with AGON are left out.

The name of a file that DVC or Git would use ends in .txt here.
"""
PROJECT_FOLDERS = {"conf", "data", "notebooks", "reports", "results", "src", "tests", "transcripts"}
"""Folders of a project that hold its inputs or outputs."""


def make_study(name: str, model: str, path: str) -> Path:
    """Makes the folder `path`/`name`, from the project's folder or, outside of all projects, from the working folder. Returns the folder.

    Raises AgonError for a name that is not valid or that agon uses, for a `model` that does not exist, for a folder that exists, and for
    a place inside another study or inside a folder of its project's files.
    """
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,59}", name):
        raise AgonError(
            f"{name!r:.80} is no name of a study: begin with a letter, then letters, digits, _ and -, 60 at most"
        )
    for group in ("experiment", "notebook"):
        if (SHIPPED / "conf" / group / f"{name}.yaml").is_file():
            raise AgonError(f"agon's own conf/{group} already has {name}: choose another name")
    if model not in names("model"):
        raise AgonError(f"there is no model {model!r} in conf/model: {suggest_file('model', model)}")
    here = ROOT if Path.cwd().is_relative_to(ROOT) else Path.cwd()
    folder = (here / expand_home(path) / name).resolve()
    if ROOT != SHIPPED and folder.is_relative_to(ROOT) and (ROOT / f"conf/experiment/{ROOT.name}.yaml").is_file():
        raise AgonError(
            f"a study cannot be inside {ROOT.name}, which is a study: `agon new study {name} --path ..` makes it beside it"
        )
    parents = folder.parent.relative_to(ROOT).parts if folder.is_relative_to(ROOT) else ()
    if reserved := [part for part in parents if part in PROJECT_FOLDERS or part.startswith(".")]:
        raise AgonError(f"a study cannot be in {'/'.join(parents)}: {reserved[0]} holds what its project runs or makes")
    if folder.exists():
        raise AgonError(
            f"{display_path(folder)} exists already: choose another name, or another folder with --path FOLDER"
        )
    words = {"STUDY": name, "MODEL": model, "AGON": ""}
    if (SHIPPED / "src").is_dir() and folder.is_relative_to(SHIPPED):
        words["AGON"] = "/".join([".."] * len(folder.relative_to(SHIPPED).parts))
    for source in sorted(TEMPLATE.rglob("*")):
        if source.is_file():
            place, text = str(source.relative_to(TEMPLATE)).removesuffix(".txt"), source.read_text(encoding="utf-8")
            if not words["AGON"]:
                text = re.sub("^.*AGON.*\n", "", text, flags=re.MULTILINE)
            write_file(
                folder / place.replace("STUDY", name), re.sub("STUDY|MODEL|AGON", lambda word: words[word[0]], text)
            )
    return folder
