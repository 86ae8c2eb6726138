"""Prompts: Jinja templates, one per game and one per style, out of agon's own folder or a user's."""

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import jinja2
from jinja2.meta import find_referenced_templates
from jinja2.runtime import Macro

from agon import ROOT, AgonError
from agon.games import MatrixGame, Observation

OWN = Path(__file__).parent.parent / "prompts"


class Prompts:
    """The texts for one game in one style.

    A game's template NAME.md defines three macros: `system(view, style)`, `turn(view, since)`, which tells what has
    happened since the seat was asked last (`view.past[since:]`) and asks, and `again(fault, view)`; it may set `asides`.
    """

    def __init__(self, game: str, style: str, folder: str | None = None) -> None:
        folders = [OWN] if folder is None else [_folder(folder), OWN]
        environment = _environment(tuple(folders))
        self.file, styled = _found(folders, game), _found(folders, f"styles/{style}.md")
        with _blamed(styled):
            self._style = environment.get_template(styled).render().strip()
        with _blamed(self.file):
            self._macros = vars(environment.get_template(self.file).module)
            self.asides: Sequence[str] = self._macros.get("asides", ())
            """Phases whose questions are answered and then forgotten: they must change nothing."""
            self.text = "\n".join([*_sources(environment, self.file), *_sources(environment, styled)])
            """The templates' own text, for telling matches apart."""
        for name in ("system", "turn", "again"):
            if not isinstance(self._macros.get(name), Macro):
                raise AgonError(f"prompt {self.file} has no macro {name}: it needs system, turn and again")

    def system(self, view: Observation) -> str:
        """Rules, objective, and how to answer."""
        return self._rendered("system", view, self._style)

    def turn(self, view: Observation, since: int) -> str:
        """The news since event `since` of the view's past, and the question."""
        return self._rendered("turn", view, since)

    def again(self, fault: str, view: Observation) -> str:
        """The question once more, with what was wrong."""
        return self._rendered("again", fault, view)

    def _rendered(self, name: str, *values: Any) -> str:
        with _blamed(self.file):
            return str(self._macros[name](*values))


@functools.cache
def prompts(game: str, style: str, folder: str | None = None) -> Prompts:
    """The texts for a game: its own template, else matrix.md. Raises AgonError when there is none, or it is broken."""
    return Prompts(game, style, folder)


@functools.cache
def template_of(game: Any, folder: str | None = None) -> str:
    """Name of a game's template: its own where there is one."""
    own, folders = f"{game.name}.md", [OWN] if folder is None else [_folder(folder), OWN]
    return own if not isinstance(game, MatrixGame) or any((each / own).is_file() for each in folders) else "matrix.md"


@contextmanager
def _blamed(name: str) -> Iterator[None]:
    """Says in which template it is that something is wrong."""
    try:
        yield
    except AgonError:
        raise
    except jinja2.TemplateNotFound as error:
        raise AgonError(f"prompt {name}: there is no template {error.name}") from None
    except jinja2.TemplateSyntaxError as error:
        raise AgonError(f"prompt {error.name or name}: {error.message} (line {error.lineno})") from None
    except Exception as error:  # a template may do anything
        raise AgonError(f"prompt {name}: {' '.join(str(error).split())}") from None


def _sources(environment: jinja2.Environment, name: str) -> list[str]:
    """The text of a template, and of those it includes or imports by name."""
    source = environment.loader.get_source(environment, name)[0]  # type: ignore[union-attr]
    others = sorted(set(filter(None, find_referenced_templates(environment.parse(source)))))
    return [source, *chain.from_iterable(_sources(environment, other) for other in others if other != name)]


@functools.cache
def _environment(folders: tuple[Path, ...]) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folders),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        autoescape=False,  # plain text for models; nothing of this reaches HTML unescaped
    )
    environment.filters["number"] = lambda value: str(int(value)) if value == int(value) else str(value)
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
