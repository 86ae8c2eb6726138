"""The hall's own sentences in the language of a study; what games say (rules, boards, questions) is not among them."""

import ast
from collections.abc import Callable, Mapping
from pathlib import Path

import jinja2
from jinja2 import nodes

from agon_hall.protocol import Study, words_of

HERE = Path(__file__).parent
TEMPLATES = HERE / "templates"
TOLD = ("WHY", "FAULTS", "STEPS", "DONE")
"""Dictionaries whose values are sentences."""
SAID = 5
"""Sentences that are named where some are missing."""
MODULES = ("links.py", "people.py", "seat.py", "session.py", "study.py", "study_pages.py", "table.py", "tables.py")
Say = Callable[..., str]
"""A sentence in English, and what is put in the place of each {} -> the sentence in another language."""


def spoken(words: Mapping[str, str]) -> Say:
    """Says sentences by `words`, English -> other; those that are not there in English."""

    def say(sentence: str, *given: object) -> str:
        said = words.get(sentence, sentence)
        first, *others = said.split("{}")
        return first + "".join(f"{each}{after}" for each, after in zip(given, others, strict=True)) if given else said

    return say


ENGLISH = spoken({})


def sentences() -> set[str]:
    """All sentences that pages of studies have, in English."""
    found = set[str]()
    for path in TEMPLATES.glob("*.html"):
        for call in jinja2.Environment().parse(path.read_text(encoding="utf-8")).find_all(nodes.Call):
            match call:
                case nodes.Call(node=nodes.Name(name="say"), args=[nodes.Const(value=str(said)), *_]):
                    found.add(said)
    for name in MODULES:
        for node in ast.walk(ast.parse((HERE / name).read_text(encoding="utf-8"))):
            match node:
                case ast.Call(ast.Name("Refused") | ast.Attribute(attr="say"), [ast.Constant(str(said)), *_]):
                    found.add(said)
                case ast.Assign([ast.Name(called)], ast.Dict(values=values)) if called in TOLD:
                    found |= {
                        each.value for each in values if isinstance(each, ast.Constant) and isinstance(each.value, str)
                    }
    return found


def untranslated(own: Study) -> list[str]:
    """What is to be known of a study's language: what stays English, and words for what nobody says."""
    known, words, notes = sentences(), words_of(own), list[str]()
    if own.language != "en":
        notes.append(
            f"language {own.language}: rules, boards, questions and their forms stay in the words of the games, as models read them"
        )
        if missing := sorted(known - words.keys()):
            said = "; ".join(map(repr, missing[:SAID])) + ("; ..." if len(missing) > SAID else "")
            notes.append(
                f"language {own.language}: {len(missing)} of {len(known)} sentences of the pages stay English, as neither "
                f"conf/language/{own.language}.yaml nor `words` has them: {said}"
            )
    if strange := sorted(words.keys() - known):
        notes.append(f"words: the pages do not say {'; '.join(map(repr, strange[:SAID]))}")
    return notes
