"""Statements of a paper and what decides them, as rows of results/replication/PAPER_claims.csv."""

import inspect
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

COLUMNS = ["paper", "section", "claim", "published", "recomputed", "verdict", "why"]

VERDICTS: Mapping[bool | None, str] = {True: "holds", False: "fails", None: "cannot be checked"}


class Missing(Exception):
    """The records given cannot decide a claim; the text says what is missing."""


def decisions(*modules: ModuleType) -> dict[str, Callable[..., Any]]:
    """What decides a statement, under its name: every public function of the modules."""
    return {
        name: decide
        for module in modules
        for name, decide in inspect.getmembers(module, inspect.isfunction)
        if decide.__module__ == module.__name__ and not name.startswith("_")
    }


def row(
    paper: str, entry: Mapping[str, Any], decide: Callable[[], tuple[bool | None, str]], why: Callable[[], str]
) -> dict[str, str]:
    """One statement: `decide` gives whether it holds (None: it cannot be checked) and the deciding numbers; `why` is asked after it."""
    said = {"paper": paper, **{key: entry[key] for key in ("section", "claim", "published")}}
    try:
        held, numbers = decide()
    except Missing as gap:
        return {**said, "recomputed": "", "verdict": VERDICTS[None], "why": f"Missing: {gap}."}
    return {**said, "recomputed": numbers, "verdict": VERDICTS[held], "why": why()}


def filled(entry: Mapping[str, str], text: Any) -> dict[str, str]:
    """A statement in which {names} have become the numbers of the paper's `text` (a table: key, value)."""
    numbers = text.set_index("key").value.to_dict()
    return {key: words.format_map(numbers) for key, words in entry.items()}
