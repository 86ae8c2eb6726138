"""Prompts: Jinja templates, one per game and one per style, out of agon's own folder or a user's."""

import functools
import json
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
SYSTEMS = 1000
"""So many system messages are kept: most matches of an experiment begin alike."""


class Template:
    """A file of macros, with the text of all that it includes: agon's own, or one in a user's folder that comes before it."""

    def __init__(self, name: str, needed: Sequence[str], folder: str | None = None) -> None:
        self._folders = [OWN] if folder is None else [_folder(folder), OWN]
        self._environment = _environment(tuple(self._folders))
        self.file = _found(self._folders, name)
        with _blamed(self.file):
            self._macros = vars(self._environment.get_template(self.file).module)
            self.text = "\n".join(_sources(self._environment, self.file))
            """The templates' own text, for telling matches apart."""
        for macro in needed:
            if not isinstance(self._macros.get(macro), Macro):
                known = f"{', '.join(needed[:-1])} and {needed[-1]}"
                raise AgonError(f"prompt {self.file} has no macro {macro}: it needs {known}")

    def rendered(self, macro: str, *values: Any) -> str:
        """What a macro makes of some values."""
        try:
            return str(self._macros[macro](*values))
        except Exception:
            with _blamed(self.file):
                raise


class Prompts(Template):
    """The texts for one game in one style.

    A game's template NAME.md defines three macros: `system(view, style)`, `turn(view, since)`, which tells what has
    happened since the seat was asked last (`view.past[since:]`) and asks, and `again(fault, view)`; it may set `asides`.
    """

    def __init__(self, game: str, style: str, folder: str | None = None) -> None:
        super().__init__(game, ("system", "turn", "again"), folder)
        styled = _found(self._folders, f"styles/{style}.md")
        with _blamed(styled):
            self._style = self._environment.get_template(styled).render().strip()
            self.text = "\n".join([self.text, *_sources(self._environment, styled)])
        self._systems: dict[Observation, str] = {}
        self.asides: Sequence[str] = self._macros.get("asides", ())
        """Phases whose questions are answered and then forgotten: they must change nothing."""

    def system(self, view: Observation) -> str:
        """Rules, objective, and how to answer."""
        try:
            known = self._systems.get(view)
        except TypeError:  # a game whose rules cannot be looked up
            return self.rendered("system", view, self._style)
        if known is None:
            if len(self._systems) >= SYSTEMS:
                self._systems.clear()
            known = self._systems[view] = self.rendered("system", view, self._style)
        return known

    def turn(self, view: Observation, since: int) -> str:
        """The news since event `since` of the view's past, and the question."""
        return self.rendered("turn", view, since)

    def again(self, fault: str, view: Observation) -> str:
        """The question once more, with what was wrong."""
        return self.rendered("again", fault, view)


@functools.cache
def prompts(game: str, style: str, folder: str | None = None) -> Prompts:
    """The texts for a game: its own template, else matrix.md. Raises AgonError when there is none, or it is broken."""
    return Prompts(game, style, folder)


@functools.cache
def template_of(game: Any, folder: str | None = None) -> str:
    """Name of a game's template: its own where there is one."""
    return _own_or(f"{game.name}.md", "matrix.md", game, folder)


@functools.cache
def beliefs_of(game: Any, folder: str | None = None) -> Template:
    """What an agent that thinks about beliefs is asked in a game: its own template in beliefs/, else beliefs/matrix.md.

    Three macros: `ask(view, since, mind)`, `again(fault, view)`, and `recall(view, mind)`, what is said to the agent of its
    beliefs when it is next asked for a decision. Raises AgonError when there is none, or it is broken.
    """
    name = _own_or(f"beliefs/{game.name}.md", "beliefs/matrix.md", game, folder)
    return Template(name, ("ask", "again", "recall"), folder)


def _own_or(own: str, other: str, game: Any, folder: str | None) -> str:
    """The template of a game's own; for a normal-form game that has none, the other."""
    folders = [OWN] if folder is None else [_folder(folder), OWN]
    return own if not isinstance(game, MatrixGame) or any((each / own).is_file() for each in folders) else other


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
    environment.filters["join"] = lambda values, between="": between.join(map(str, values))  # Jinja's own is slow
    environment.filters["quoted"] = quoted
    environment.globals["points"] = _points
    return environment


def quoted(text: str) -> str:
    """A text as JSON, in one line, whatever it holds: how what others have said is told."""
    written = json.dumps(text, ensure_ascii=False)
    if written.isprintable():
        return written
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in written)


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
