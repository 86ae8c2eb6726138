"""A study of one's own: a folder with conf, a metric, a notebook and stages, made from the template beside this file."""

import re
from pathlib import Path

from agon.conf import names, offered_of
from agon.errors import AgonError
from agon.paths import ROOT, SHIPPED, from_home, keep_file, shown

TEMPLATE = Path(__file__).with_name("template")
"""Its files; STUDY and MODEL stand for what is asked for, AGON for the way to agon's checkout: lines with it are left out elsewhere.

A name ends in .txt where DVC or Git would take the file for theirs.
"""
TAKEN = {"conf", "data", "notebooks", "reports", "results", "src", "tests", "transcripts"}
"""Folders of a project that hold what it runs or makes."""


def make_study(name: str, model: str, path: str) -> Path:
    """Makes the folder `path`/`name`, from the project's folder or, outside of all projects, from the working folder.

    Raises AgonError for a name that cannot be one, for a folder that is there, and for a place where none can be, as in another.
    """
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,59}", name):
        raise AgonError(
            f"{name!r:.80} is no name of a study: begin with a letter, then letters, digits, _ and -, 60 at most"
        )
    for group in ("experiment", "notebook"):
        if (SHIPPED / "conf" / group / f"{name}.yaml").is_file():
            raise AgonError(f"agon's own conf/{group} has {name}: take another name")
    if model not in names("model"):
        raise AgonError(f"there is no model {model!r} in conf/model: {offered_of('model', model)}")
    here = ROOT if Path.cwd().is_relative_to(ROOT) else Path.cwd()
    folder = (here / from_home(path) / name).resolve()
    if ROOT != SHIPPED and folder.is_relative_to(ROOT) and (ROOT / f"conf/experiment/{ROOT.name}.yaml").is_file():
        raise AgonError(
            f"{ROOT.name} is a study, which holds no other: `agon new study {name} --path ..` makes it beside"
        )
    above = folder.parent.relative_to(ROOT).parts if folder.is_relative_to(ROOT) else ()
    if wrong := [part for part in above if part in TAKEN or part.startswith(".")]:
        raise AgonError(f"a study cannot be in {'/'.join(above)}: {wrong[0]} holds what its project runs or makes")
    if folder.exists():
        raise AgonError(f"{shown(folder)} is there: take another name, or --path FOLDER for another place")
    asked = {"STUDY": name, "MODEL": model, "AGON": ""}
    if (SHIPPED / "src").is_dir() and folder.is_relative_to(SHIPPED):
        asked["AGON"] = "/".join([".."] * len(folder.relative_to(SHIPPED).parts))
    for source in sorted(TEMPLATE.rglob("*")):
        if source.is_file():
            place, text = str(source.relative_to(TEMPLATE)).removesuffix(".txt"), source.read_text(encoding="utf-8")
            if not asked["AGON"]:
                text = re.sub("^.*AGON.*\n", "", text, flags=re.MULTILINE)
            keep_file(folder / place.replace("STUDY", name), re.sub("STUDY|MODEL|AGON", lambda at: asked[at[0]], text))
    return folder
