"""Prompts: Jinja templates, one in the folder of each family of games and one per style; a user's folder comes first.

A family may have further prompt sets: prompt_sets/NAME in its folder. The files of a set replace files of the same name; the
family's own file is then called ours/FILE. What families share in a set, such as a language, is in prompts/prompt_sets/NAME.
"""

import functools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import jinja2
from jinja2.meta import find_referenced_templates
from jinja2.runtime import Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment

from agon.agents.limited import run_limited
from agon.errors import AgonError
from agon.games import Game, Observation
from agon.games.base import families, quote_players
from agon.games.spaces import quoted
from agon.paths import display_path, input_path

OWN = Path(__file__).with_name("prompts")
OURS, SETS = "ours", "prompt_sets"
"""The prompt set of all other files, and the folder of further sets: of a family, and of agon for what families share."""
SYSTEMS = 1000
"""Size of the cache of system messages. Most matches of an experiment share theirs."""


class Source(NamedTuple):
    """A template: the name of its file, and the folders that are searched for it and its includes, in this order."""

    file: str
    folders: tuple[Path, ...]
    sandboxed: bool = False
    """Whether a user's folder is among them. Its files may come from anybody. Families are trusted, because their code runs anyway."""


class Template:
    """A file of macros, with the text of its includes. Raises AgonError when it is broken or lacks one of `macros`.

    A user's template may never come to an end, so it is rendered in a child process (agon.agents.limited).
    """

    def __init__(self, source: Source, macros: Sequence[str]) -> None:
        self.file, self._environment = source.file, _environment(source.folders, source.sandboxed)
        self.path = _look_up(source)
        self._limited = run_limited if source.sandboxed else lambda _, work: work()
        contents = json.loads(self._limited(f"prompt {self.path}", self._contents))
        with _blame(self.path):
            for name in contents["compiled"]:  # the child has compiled them, so compiling comes to an end
                self._environment.get_template(name)
            self.text = "\n".join(_sources(self._environment, source.file))
            """The templates' own text, which ids of matches hash."""
        self.asides: Sequence[str] = contents["asides"]
        """Phases whose questions leave the conversation once they are answered. Such a question must change nothing in the match."""
        for macro in macros:
            if macro not in contents["macros"]:
                names = f"{', '.join(macros[:-1])} and {macros[-1]}"
                raise AgonError(f"prompt {self.path} has no macro {macro}: it needs {names}")

    @functools.cached_property
    def _macros(self) -> dict[str, Any]:
        return vars(self._environment.get_template(self.file).module)

    def _contents(self) -> str:
        """The names of the macros, the asides, and the names of the templates that were compiled, as JSON."""
        with _blame(self.path):
            macros = [name for name, value in self._macros.items() if isinstance(value, Macro)]
            compiled = [name for _, name in self._environment.cache or {}]
            return json.dumps({"macros": macros, "asides": list(self._macros.get("asides", ())), "compiled": compiled})

    def render(self, macro: str, *values: object) -> str:
        """The text of a macro for some values. A view among them may have its own wording."""
        view = next((value for value in values if isinstance(value, Observation)), None)
        if view is not None and view.wording is not None:
            return view.wording(functools.partial(self.render, macro), *values)
        values = tuple(quote_players(value) if isinstance(value, Observation) else value for value in values)

        def text() -> str:
            try:
                return str(self._macros[macro](*values))
            except Exception:
                with _blame(self.path):
                    raise

        return self._limited(f"prompt {self.path}", text)


GUIDES = {"_reads.md": ("constrained", "letters"), "_called.md": ("called",)}
"""Files with instructions on the format of answers, and their macros."""


class Prompts(Template):
    """The texts for one game in one style.

    A game's template defines three macros. `system(view, style)` has the rules. `turn(view, since)` tells the events since the
    seat's last question (`view.past[since:]`) and asks. `again(fault, view)` asks again. The template may set `asides`.
    """

    def __init__(self, source: Source, style: str, guide: str = "") -> None:
        super().__init__(source, ("system", "turn", "again"))
        style_file = f"styles/{style}.md"
        path = _look_up(source._replace(file=style_file))
        self._style = self._limited(f"prompt {path}", lambda: self._style_of(style_file, path))
        with _blame(path):
            self.text = "\n".join([self.text, *_sources(self._environment, style_file)])
        self.reads = reads_template(source, guide) if guide else None
        """Instructions for answers that are no move line (agon.agents.reads)."""
        if self.reads:
            self.text += f"\n{self.reads.text}"
        self._systems: dict[Observation, str] = {}

    def _style_of(self, file: str, path: str) -> str:
        with _blame(path):
            return self._environment.get_template(file).render().strip()

    def system(self, view: Observation) -> str:
        """Rules, objective, and how to answer."""
        try:
            text = self._systems.get(view)
        except TypeError:  # the rules cannot be hashed
            return self.render("system", view, self._style)
        if text is None:
            if len(self._systems) >= SYSTEMS:
                self._systems.clear()
            text = self._systems[view] = self.render("system", view, self._style)
        return text

    def turn(self, view: Observation, since: int) -> str:
        """The news since event `since` of the view's past, and the question."""
        return self.render("turn", view, since)

    def again(self, fault: str, view: Observation) -> str:
        """The question once more, with the fault of the last answer."""
        return self.render("again", fault, view)


prompts = functools.cache(Prompts)
"""The texts for a game (see `template_of`). Raises AgonError when there is none, or it is broken."""


def reads_template(source: Source, guide: str) -> Template:
    """The instructions for answers that are no move line: a file among a game's templates (`guide` in agon.agents.reads)."""
    return Template(source._replace(file=guide), GUIDES[guide])


def prompt_sets(folders: Sequence[Path]) -> list[str]:
    """The prompt sets in the folders of a game's families: `ours`, then the others in alphabetical order.

    Their names have letters, digits and _ only.
    """
    paths = chain.from_iterable((folder / SETS).glob("*") for folder in folders)
    return [OURS, *sorted({path.name for path in paths if path.is_dir() and re.fullmatch(r"\w+", path.name)} - {OURS})]


def answer_tokens_of(answer_tokens: int | Mapping[str, int], prompt_set: str) -> int:
    """The expected tokens of an answer, from one number or from numbers by prompt set. A set without a number has that of `ours`."""
    if isinstance(answer_tokens, int):
        return answer_tokens
    if OURS not in answer_tokens:
        raise ValueError(f"answer_tokens has no number for the prompt set {OURS}")
    return answer_tokens.get(prompt_set, answer_tokens[OURS])


def template_of(game: Any, folder: str | None = None, prompt_set: str = OURS) -> Source:
    """A game's template: NAME.md in a user's `folder`, else prompt.md of the prompt set, else prompt.md of its family.

    The field `prompt` of a game's rules may name another file than prompt.md.
    """
    return _find_template(game, "", getattr(game, "prompt", "prompt.md"), folder, prompt_set)


def has_prompt(game: object) -> bool:
    """Whether there is a prompt.md for the game. It may be broken."""
    source = source_of(game, "prompt.md")
    return any((folder / source.file).is_file() for folder in source.folders)


def beliefs_of(game: Any, folder: str | None = None, prompt_set: str = OURS) -> Template:
    """A game's template of questions about beliefs: beliefs/NAME.md in a user's `folder`, else beliefs.md as in `template_of`.

    It has three macros. `ask(view, since, mind)` and `again(fault, view)` are the questions. `recall(view, mind)` reminds the
    agent of its beliefs at its next decision. Raises AgonError when there is no template, or it is broken.
    """
    return _beliefs(_find_template(game, "beliefs/", "beliefs.md", folder, prompt_set))


@functools.cache
def _beliefs(source: Source) -> Template:
    return Template(source, ("ask", "again", "recall"))


def require_own_words(game: Game[Any]) -> None:
    """Raises AgonError for a game with a wording of its own: the agent's notes are in the family's words."""
    wording = game.watch(game.start(Random(0))).wording
    if wording is not None and not wording.literal:
        raise AgonError(
            f"{game.name} {game.variant} is described in other words, but this agent's notes are not: choose an agent without notes"
        )


def source_of(game: object, file: str, folder: str | None = None, prompt_set: str = OURS) -> Source:
    """A file among the templates of a game (or of a class of games).

    A user's `folder` is searched first, then the family's prompt set, the families, agon's part of the set, and agon's own.
    Raises AgonError for an unknown set.
    """
    user_folders = [] if folder is None else [_folder(folder)]
    set_folders = () if prompt_set == OURS else _set_folders(families(game), prompt_set)
    shared = [OWN / SETS / prompt_set] if (OWN / SETS / prompt_set).is_dir() else []
    return Source(file, (*user_folders, *set_folders, *families(game), *shared, OWN), sandboxed=bool(user_folders))


@functools.cache
def _set_folders(families_of_game: tuple[Path, ...], prompt_set: str) -> tuple[Path, ...]:
    names = prompt_sets(families_of_game)
    if prompt_set not in names:
        family = families_of_game[0].name if families_of_game else "this game"
        raise AgonError(f"{family} has no prompt set {prompt_set!r}: it has {', '.join(names)}")
    folders = [folder / SETS / prompt_set for folder in families_of_game]
    folders = [folder for folder in folders if folder.is_dir()]
    for folder in folders:
        _check_set(folder, families_of_game)
    return tuple(folders)


def _check_set(folder: Path, families_of_game: tuple[Path, ...]) -> None:
    """Raises AgonError for a set without files, and for one with a file that replaces none. Names with _ are for its own use."""
    files = [path.relative_to(folder) for path in sorted(folder.rglob("*.*")) if not path.name.startswith((".", "_"))]
    if not files:
        raise AgonError(f"the prompt set {display_path(folder)} has no file: it would be the same as {OURS}")
    folders_by_family = {family.name: family / "prompts" for family in families_of_game}
    for file in files:
        places = [place / file for place in (*families_of_game, OWN)]
        if file.parts[0] in folders_by_family:
            places.append(folders_by_family[file.parts[0]] / Path(*file.parts[1:]))
        if not any(place.is_file() for place in places):
            raise AgonError(f"the prompt set {display_path(folder)} has {file}, which replaces no file of this name")


def _find_template(game: Any, prefix: str, default: str, folder: str | None, prompt_set: str) -> Source:
    """The template of a game. A user's file has the name of the game or of its family."""
    if folder is not None:
        for name in (game.name, *(family.name for family in families(game))):
            if (_folder(folder) / f"{prefix}{name}.md").is_file():
                return source_of(game, f"{prefix}{name}.md", folder, prompt_set)
    return source_of(game, default, folder, prompt_set)


@contextmanager
def _blame(path: str) -> Iterator[None]:
    """Turns an error into an AgonError that names the template."""
    try:
        yield
    except AgonError:
        raise
    except jinja2.TemplateNotFound as error:
        raise AgonError(f"prompt {path}: there is no template {error.name}") from None
    except jinja2.TemplateSyntaxError as error:
        at = display_path(Path(error.filename)) if error.filename else path
        raise AgonError(f"prompt {at}: {error.message} (line {error.lineno})") from None
    except Exception as error:  # a template may do anything
        raise AgonError(f"prompt {path}: {' '.join(str(error).split()) or type(error).__name__}") from None


def _sources(environment: jinja2.Environment, name: str) -> list[str]:
    """The text of a template, and of those it includes or imports by name."""
    source = environment.loader.get_source(environment, name)[0]  # type: ignore[union-attr]
    others = sorted(set(filter(None, find_referenced_templates(environment.parse(source)))))
    return [source, *chain.from_iterable(_sources(environment, other) for other in others if other != name)]


@functools.cache
def _environment(folders: tuple[Path, ...], sandboxed: bool) -> jinja2.Environment:
    families = {folder.name: jinja2.FileSystemLoader(folder / "prompts") for folder in reversed(folders)}
    plain_folders = [folder for folder in folders if folder == OWN or (folder / "game.py").is_file()]
    families[OURS] = jinja2.FileSystemLoader(plain_folders)
    environment = (ImmutableSandboxedEnvironment if sandboxed else jinja2.Environment)(
        loader=jinja2.ChoiceLoader([jinja2.FileSystemLoader(folders), jinja2.PrefixLoader(families)]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        autoescape=False,  # plain text for models; nothing of this reaches HTML unescaped
    )
    environment.filters["number"] = lambda value: str(int(value)) if value == int(value) else str(value)
    environment.filters["quoted"] = quoted
    environment.globals["points"] = _points
    del environment.globals["lipsum"], environment.filters["random"]  # the text of a prompt must not depend on chance
    return environment


def _points(view: Observation, actions: Sequence[str]) -> float:
    """The seat's payoff of a round of a normal-form game. Its own action comes first in `actions`."""
    own_action, *others = actions
    payoffs: tuple[float, ...] = view.rules.payoffs((*others[: view.seat], own_action, *others[view.seat :]))
    return payoffs[view.seat]


def _folder(folder: str) -> Path:
    path = input_path(folder)
    if not path.is_dir():
        raise AgonError(f"there is no folder {folder} with prompts")
    return path


def _look_up(source: Source) -> str:
    """The path of a template, for messages. Raises AgonError where there is none, or it is no text."""
    folders = " or ".join(map(display_path, source.folders))
    nearest = next((folder for folder in source.folders if (folder / source.file).is_file()), Path())
    with _blame(display_path(nearest / source.file)):
        try:
            loader: Any = _environment(source.folders, source.sandboxed).loader
            return display_path(Path(loader.get_source(_environment(source.folders, source.sandboxed), source.file)[1]))
        except jinja2.TemplateNotFound:
            raise AgonError(f"there is no prompt {source.file} in {folders}") from None
