"""Prompts: Jinja templates, one per game and one per style, out of agon's own folder or a user's."""

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2

from agon import ROOT, AgonError
from agon.games import MatrixGame, Observation

OWN = Path(__file__).parent.parent / "prompts"


class Prompts:
    """The texts for one game in one style.

    A game's template NAME.md defines three macros: `system(view, style)`, `turn(view, since)`, which tells what has
    happened since the seat was asked last (`view.past[since:]`) and asks, and `again(fault, view)`.
    """

    def __init__(self, game: str, style: str, folder: str | None = None) -> None:
        folders = [OWN] if folder is None else [_folder(folder), OWN]
        self._environment = environment = _environment(tuple(folders))
        self.files = [_found(folders, game), _found(folders, f"styles/{style}.md")]
        try:
            module = environment.get_template(self.files[0]).module
            style_text = environment.get_template(self.files[1]).render().strip()
            self._system, self._turn, self._again = (getattr(module, name) for name in ("system", "turn", "again"))
        except jinja2.TemplateError as error:
            raise AgonError(f"prompt {self.files[0]}: {_where(error)}") from None
        except AttributeError as error:
            raise AgonError(f"prompt {self.files[0]}: {error}; it needs the macros system, turn and again") from None
        self._style = style_text

    @property
    def text(self) -> str:
        """The templates' own text, for telling matches apart."""
        return "\n".join(self._environment.loader.get_source(self._environment, name)[0] for name in self.files)  # type: ignore[union-attr]

    def system(self, view: Observation) -> str:
        """Rules, objective, and how to answer."""
        return _rendered(self._system, view, self._style)

    def turn(self, view: Observation, since: int) -> str:
        """The news since event `since` of the view's past, and the question."""
        return _rendered(self._turn, view, since)

    def again(self, fault: str, view: Observation) -> str:
        """The question once more, with what was wrong."""
        return _rendered(self._again, fault, view)


@functools.cache
def prompts(game: str, style: str, folder: str | None = None) -> Prompts:
    """The texts for a game: its own template, else matrix.md. Raises AgonError when there is none, or it is broken."""
    return Prompts(game, style, folder)


@functools.cache
def template_of(game: Any) -> str:
    """Name of a game's template: its own where there is one."""
    return f"{game.name}.md" if not isinstance(game, MatrixGame) or (OWN / f"{game.name}.md").exists() else "matrix.md"


def _rendered(macro: Any, *values: Any) -> str:
    try:
        return str(macro(*values))
    except jinja2.TemplateError as error:
        raise AgonError(f"prompt {macro.name}: {_where(error)}") from None


@functools.cache
def _environment(folders: tuple[Path, ...]) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folders),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        autoescape=False,  # plain text for models; nothing of this reaches HTML unescaped
    )
    environment.filters["number"] = lambda value: f"{value:g}"
    environment.globals["points"] = _points
    return environment


def _points(view: Observation, actions: Sequence[str]) -> float:
    """What a round of a normal-form game paid the seat: its own action comes first in `actions`."""
    own, *others = actions
    payoffs: tuple[float, ...] = view.rules.payoffs((*others[: view.seat], own, *others[view.seat :]))
    return payoffs[view.seat]


def _folder(folder: str) -> Path:
    path = ROOT / Path(folder).expanduser()
    if not path.is_dir():
        raise AgonError(f"there is no folder {folder} with prompts")
    return path


def _found(folders: Sequence[Path], name: str) -> str:
    if not any((folder / name).is_file() for folder in folders):
        raise AgonError(f"there is no prompt {name} in {' or '.join(str(folder) for folder in folders)}")
    return name


def _where(error: jinja2.TemplateError) -> str:
    line = getattr(error, "lineno", None)
    return f"{error.message}" + (f" (line {line})" if line else "")
