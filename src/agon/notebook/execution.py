"""Notebooks through papermill: checked parameters in, an executed copy and its page out."""

import ast
import logging
import os
import re
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import nbformat
import papermill
import yaml  # type: ignore[import-untyped]
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from papermill.exceptions import PapermillException, PapermillExecutionError
from traitlets.config import Config

from agon.conf import names, settings_of, suggest
from agon.errors import AgonError
from agon.notebook.page import page, settle, title
from agon.paths import ROOT, SHIPPED, display_path, input_files, input_path, input_places
from agon.turns.files import explain_absence

RUNS = "runs"
"""The folder of runs, each in a folder of its name."""
LINK = re.compile(r'<a\b([^>]*?)href="(?!#|//|[a-z][\w+.-]*:)([^"#?]+)([^"]*)"([^>]*)>(.*?)</a>', re.DOTALL)
"""A link to a file, in five parts: the file's address is the second, the text the last."""
SHOW = re.compile(r"^show_caveats\(([\w, ]*)\)$", re.MULTILINE)
"""The line of a notebook that names its files."""
PARTS = ("figures", "replication", "tables")
"""The folders of a notebook's results."""


def parameters(name: str, overrides: Sequence[str] = (), run: str = "") -> dict[str, Any]:
    """The parameters of notebooks/`name`.ipynb: conf/notebook/`name`.yaml, if there is one, and `overrides` (name=value).

    The parameter `out`, where the notebook has one, is results/notebooks/`name` unless the file sets it. In a `run`, `out` and
    every other path below it lie in the run's folder. Raises AgonError for an unknown notebook or parameter, for a file that
    is not there, for a name that no run can have, and for `out` among the overrides.
    """
    source = input_path(f"notebooks/{name}.ipynb")
    notebooks = sorted(path.stem for path in input_files("notebooks", "*.ipynb"))
    if name not in notebooks:
        raise AgonError(f"there is no notebook {name!r}: {suggest(name, notebooks, 'agon list notebooks')}")
    try:
        overridden: Any = OmegaConf.to_container(OmegaConf.from_dotlist(list(overrides)))
        defaults = settings_of("notebook", name) if name in names("notebook") else {}
        declared = _declared_parameters(source)
        if "out" in overridden:
            raise AgonError(f"out={overridden['out']} cannot be set: with --run NAME everything goes to {RUNS}/NAME")
        if "out" in declared:
            defaults = {"out": f"results/notebooks/{name}"} | defaults
        settings = _move_below(defaults, folder_of(run)) | overridden
    except AgonError as error:
        raise AgonError(f"conf/notebook/{name}.yaml: {error}") from None
    except (OmegaConfBaseException, yaml.YAMLError, AttributeError, RecursionError, TypeError, ValueError) as error:
        raise AgonError(f"parameters {' '.join(overrides)} cannot be read: {_line(error)}") from None
    if unknown := sorted(set(settings) - set(declared)):
        raise AgonError(f"notebook {name} has no parameter {unknown[0]!r}: it has {', '.join(declared) or 'none'}")
    for key, default in (_default_values(source) | defaults).items():
        if key in overridden and not _is_of_same_kind(overridden[key], default):
            raise AgonError(f"{key}={overridden[key]!r} does not fit notebook {name}: it must be such as {default!r}")
    for key in _names_of_files(source):
        if isinstance(value := settings.get(key), str) and value and not (path := input_path(value)).exists():
            raise AgonError(f"notebook {name}, {key}: {explain_absence(path)}")
    return settings


def _is_of_same_kind(value: object, default: object) -> bool:
    """Whether a parameter has the type of its default. A default of None allows every type."""
    if isinstance(default, bool) or isinstance(value, bool):
        return default is None or type(value) is type(default)
    if isinstance(default, int | float):
        return isinstance(value, int | type(default))
    return default is None or isinstance(value, type(default))


def folder_of(run: str) -> Path:
    """The folder of a run's reports and results; without a name, the project's folder.

    Raises AgonError for a name that cannot name a folder.
    """
    if not run:
        return ROOT
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", run):
        raise AgonError(f"{run!r} cannot name a folder: use letters, digits, -, _ and . (100 at most)")
    return ROOT / RUNS / run


def _move_below(defaults: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Settings whose `out`, and every path below it, is moved into a folder. Raises AgonError where that cannot be."""
    out = str(defaults.get("out", ""))
    if folder == ROOT or not out:
        return dict(defaults)
    if not (folder / out).resolve().is_relative_to(folder.resolve()):
        raise AgonError(f"out: {out!r} is not a folder inside the project, so no run can have one of its own")
    target = Path(folder.relative_to(ROOT), out).as_posix()
    return {
        key: f"{target}{value.removeprefix(out)}"
        if isinstance(value, str) and f"{value}/".startswith(f"{out}/")
        else value
        for key, value in defaults.items()
    }


def _read(source: Path) -> Any:
    """A notebook. Raises AgonError for a file that is none."""
    try:
        return nbformat.read(source, as_version=4)
    except (nbformat.ValidationError, nbformat.reader.NotJSONError) as error:
        raise AgonError(f"notebooks/{source.name} is no notebook: {_line(error)}") from None


def _names_of_files(source: Path) -> list[str]:
    """The variables of a notebook that name files: those that it gives to `show_caveats`, in a line of its own."""
    code = "\n".join(cell.source for cell in _read(source).cells if cell.cell_type == "code")
    return [name for names in SHOW.findall(code) for name in re.findall(r"\w+", names)]


def _declared_parameters(source: Path) -> dict[str, ast.expr]:
    """The parameters of a notebook (variables of the cell with the tag `parameters`) and their defaults, as code. Raises AgonError."""
    notebook = _read(source)
    cell = next((cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", ())), None)
    try:
        statements = ast.parse(cell.source).body if cell else []
    except SyntaxError as error:
        raise AgonError(f"notebooks/{source.name}: its cell of parameters cannot be read: {_line(error)}") from None
    declared = dict[str, ast.expr]()
    for statement in statements:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            declared |= {target.id: statement.value for target in targets if isinstance(target, ast.Name)}
    return declared


def _default_values(source: Path) -> dict[str, Any]:
    """The parameters of a notebook whose default is a literal, with that value."""
    defaults = {}
    for name, default in _declared_parameters(source).items():
        with suppress(ValueError):
            defaults[name] = ast.literal_eval(default)
    return defaults


def run(name: str, parameters: Mapping[str, Any], folder: Path = ROOT) -> Path:
    """Runs notebooks/`name`.ipynb with `parameters`, all of which the notebook declares.

    Writes reports/`name`.ipynb and .html in `folder`, byte for byte the same for the same inputs; returns the former.
    Raises AgonError when a cell fails. The failed copy is kept: in reports/, or of a run beside its folder, as RUN.NAME.failed.ipynb.
    """
    source = input_path(f"notebooks/{name}.ipynb")
    target = folder / "reports" / f"{name}.ipynb"
    failed = target.with_suffix(".failed.ipynb")
    if folder != ROOT:
        failed = folder.with_name(f"{folder.name}.{failed.name}")
    failed.parent.mkdir(parents=True, exist_ok=True)
    logging.getLogger("papermill").setLevel(logging.ERROR)
    try:
        with tempfile.TemporaryDirectory(prefix="agon-kernel-") as sockets, warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            papermill.execute_notebook(
                str(source),
                str(failed),
                dict(parameters),
                cwd=str(ROOT),
                kernel_name="python3",
                language="python",
                progress_bar=False,
                log_output=False,
                extra_arguments=["--log-level=50"],
                request_save_on_cell_execute=False,
                config=_kernel_settings(sockets),
            )
    except PapermillExecutionError as error:
        kind = "" if error.ename == AgonError.__name__ else f"{error.ename}: "
        message = f"{kind}{_line(error.evalue) or _failing_line(error.traceback)}"
        raise AgonError(f"notebook {name}, cell {error.exec_count}: {message} (see {display_path(failed)})") from error
    except PapermillException as error:
        raise AgonError(f"notebook {name} did not run: {_line(error)}") from error
    except RuntimeError as error:  # "Kernel died before replying to kernel_info"
        explanation = "its kernel ended: it was stopped, or memory was short; the same command runs it again"
        raise AgonError(f"notebook {name} did not run: {_line(error)} ({explanation})") from error
    executed = nbformat.read(failed, as_version=4)
    cells = [cell for cell in executed.cells if cell.cell_type == "code" and cell.source.strip()]
    is_complete = [cell.metadata.get("papermill", {}).get("status") == "completed" for cell in cells]
    if not all(is_complete):
        where = f"cell {is_complete.index(False) + 1} of {len(cells)} ended the run, as `exit` does"
        raise AgonError(f"notebook {name}: {where} (see {display_path(failed)})")
    settle(executed)
    target.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(executed, target)
    out = parameters.get("out", "")
    figures = ROOT / out / "figures" if out else None
    guides = _report().get("guides", ()) if folder == ROOT else ()
    html = page(executed, title(executed) or name, _links(name, out, folder), figures, guides)
    if not folder == ROOT == SHIPPED:
        html = LINK.sub(lambda link: _redirect(link, target.parent), html)
    target.with_suffix(".html").write_text(html, encoding="utf-8")
    failed.unlink()
    return target


def _links(name: str, out: str, folder: Path) -> dict[str, str]:
    """Text -> target of a page's links: the front page, the pages before and after it there, the notebook, and its outputs."""
    links = {}
    if folder == ROOT and (ROOT / "notebooks/report.ipynb").is_file():
        links["all findings"] = "index.html"
        order = list(_report().get("notebooks", ()))
        place = order.index(name) if name in order else len(order)
        for word, neighbours in (("previous", order[:place][-1:]), ("next", order[place + 1 :][:1])):
            links |= {f"{word}: {other.replace('_', ' ')}": f"{other}.html" for other in neighbours}
    links["this page as a notebook"] = f"{name}.ipynb"
    return links | ({"its tables and figures": f"../{_path_below(out, folder)}/"} if out else {})


def _redirect(link: re.Match[str], reports: Path) -> str:
    """A link on a page in `reports`, to the file beside the page if there is one, else to the project's or agon's own; else its text."""
    before, address, place_in_page, after, text = link.groups()
    name = os.path.normpath(Path("reports", unquote(unescape(address))))
    places = [reports.parent / name, *input_places(name)]
    there = next((place for place in places if place.exists()), None)
    if there is None:
        return text
    return f'<a{before}href="{quote(os.path.relpath(there, reports))}{place_in_page}"{after}>{text}</a>'


def _report() -> dict[str, Any]:
    """The settings of the report, if the project has one."""
    return settings_of("notebook", "report") if "report" in names("notebook") else {}


def _kernel_settings(folder: str) -> Config:
    """The settings of a kernel that listens in `folder`. Ports would be unsafe: two kernels that start at once may
    choose the same one."""
    return Config({"KernelManager": {"transport": "ipc", "connection_file": f"{folder}/kernel.json"}})


def _failing_line(traceback: Sequence[str]) -> str:
    """The line that failed in a cell, as Jupyter marks it, for an error without a message."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(traceback))
    failing = re.findall(r"^-+> *\d+ (.*)$", plain, re.MULTILINE)
    return _line(failing[0] if failing else plain)


def _line(error: object) -> str:
    return " ".join(str(error).split())[:300]


def _path_below(out: str, folder: Path) -> str:
    return Path(out).relative_to(folder.relative_to(ROOT)).as_posix()
