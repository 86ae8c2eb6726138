"""Notebooks through papermill: checked parameters in, an executed copy and its page out."""

import logging
import re
import warnings
from ast import literal_eval
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import nbformat
import papermill
import yaml  # type: ignore[import-untyped]
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from papermill.exceptions import PapermillException, PapermillExecutionError

from agon.conf import names, offered, settings_of
from agon.errors import AgonError
from agon.notebook.page import page, settle, title
from agon.paths import ROOT, input_files, input_path, shown

RUNS = "runs"
"""The folder of runs, each in a folder of its name."""
PARTS = ("figures", "replication", "tables")
"""What a notebook makes in its folder of results."""


def parameters(name: str, overrides: Sequence[str] = (), run: str = "") -> dict[str, Any]:
    """What notebooks/`name`.ipynb is run with: conf/notebook/`name`.yaml, where there is one, and `overrides` (name=value).

    The parameter `out`, where the notebook has one, is results/notebooks/`name` unless the file says otherwise. In a `run` it, and
    every other place below it, lies in the run's folder. Raises AgonError for an unknown notebook or parameter, for a name that
    no run can have, and for `out` among the overrides.
    """
    source = input_path(f"notebooks/{name}.ipynb")
    known = sorted(path.stem for path in input_files("notebooks", "*.ipynb"))
    if name not in known:
        raise AgonError(f"there is no notebook {name!r}: {offered(name, known, 'agon list notebooks')}")
    try:
        given: Any = OmegaConf.to_container(OmegaConf.from_dotlist(list(overrides)))
        usual = settings_of("notebook", name) if name in names("notebook") else {}
        declared = _declared(source)
        if "out" in given:
            raise AgonError(f"out={given['out']} is said by a name: with --run NAME all goes to {RUNS}/NAME")
        if "out" in declared:
            usual = {"out": f"results/notebooks/{name}"} | usual
        settings = _moved(usual, folder_of(run)) | given
    except AgonError as error:
        raise AgonError(f"conf/notebook/{name}.yaml: {error}") from None
    except (OmegaConfBaseException, yaml.YAMLError, AttributeError, RecursionError, TypeError, ValueError) as error:
        raise AgonError(f"parameters {' '.join(overrides)} cannot be read: {_line(error)}") from None
    if unknown := sorted(set(settings) - set(declared)):
        raise AgonError(f"notebook {name} has no parameter {unknown[0]!r}: it has {', '.join(declared) or 'none'}")
    for key, own in (_usual(source) | usual).items():
        if key in given and not _alike(given[key], own):
            raise AgonError(f"{key}={given[key]!r} does not fit notebook {name}: it must be such as {own!r}")
    return settings


def _alike(value: object, usual: object) -> bool:
    """Whether a parameter is of the kind of the usual one, of which None says nothing."""
    if isinstance(usual, bool) or isinstance(value, bool):
        return usual is None or type(value) is type(usual)
    if isinstance(usual, int | float):
        return isinstance(value, int | type(usual))
    return usual is None or isinstance(value, type(usual))


def folder_of(run: str) -> Path:
    """Where a run's reports and results lie; without a name the project's folder, for the report. Raises AgonError for other names."""
    if not run:
        return ROOT
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", run):
        raise AgonError(f"{run!r} cannot name a folder: take letters, digits, -, _ and . (100 at most)")
    return ROOT / RUNS / run


def _moved(usual: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Settings whose `out`, and all that lies below it, is in a folder. Raises AgonError where it cannot be."""
    out = str(usual.get("out", ""))
    if folder == ROOT or not out:
        return dict(usual)
    if not (folder / out).resolve().is_relative_to(folder.resolve()):
        raise AgonError(f"out: {out!r} is not a folder inside the project, so no run can have one of its own")
    target = Path(folder.relative_to(ROOT), out).as_posix()
    return {
        key: f"{target}{value.removeprefix(out)}"
        if isinstance(value, str) and f"{value}/".startswith(f"{out}/")
        else value
        for key, value in usual.items()
    }


def _declared(source: Path) -> dict[str, Any]:
    """The parameters of a notebook, which needs to say of no kernel that it is Python's. Raises AgonError."""
    try:
        made = nbformat.read(source, as_version=4)
        made.metadata.setdefault("kernelspec", {"name": "python3", "display_name": "Python 3", "language": "python"})
        made.metadata.setdefault("language_info", {"name": "python"})
        return dict(papermill.inspect_notebook(made))
    except (nbformat.ValidationError, nbformat.reader.NotJSONError, PapermillException) as error:
        raise AgonError(f"notebooks/{source.name} is no notebook: {_line(error)}") from None


def _usual(source: Path) -> dict[str, Any]:
    """The parameters of a notebook with the values that it has by itself; those alone that are written out."""
    found = {}
    for name, told in _declared(source).items():
        with suppress(ValueError, SyntaxError):
            found[name] = literal_eval(told["default"])
    return found


def run(name: str, parameters: Mapping[str, Any], folder: Path = ROOT) -> Path:
    """Runs notebooks/`name`.ipynb with `parameters`, all of which it declares.

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
        with warnings.catch_warnings():
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
            )
    except PapermillExecutionError as error:
        said = f"{error.ename}: {_line(error.evalue) or _failing(error.traceback)}"
        raise AgonError(f"notebook {name}, cell {error.exec_count}: {said} (see {shown(failed)})") from error
    except PapermillException as error:
        raise AgonError(f"notebook {name} did not run: {_line(error)}") from error
    except RuntimeError as error:  # a kernel that died, "Kernel died before replying to kernel_info"
        lacking = "its kernel ended: it was stopped, or memory was short; the same command runs it again"
        raise AgonError(f"notebook {name} did not run: {_line(error)} ({lacking})") from error
    executed = nbformat.read(failed, as_version=4)
    settle(executed)
    target.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(executed, target)
    out = parameters.get("out", "")
    way = {"all findings": "index.html"} if folder == ROOT else {}
    way |= {"this page as a notebook": target.name} | (
        {"its tables and figures": f"../{_below(out, folder)}/"} if out else {}
    )
    target.with_suffix(".html").write_text(page(executed, title(executed) or name, way), encoding="utf-8")
    failed.unlink()
    return target


def _failing(traceback: Sequence[str]) -> str:
    """The line of a cell that failed without a word, as Jupyter marks it."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(traceback))
    marked = re.findall(r"^-+> *\d+ (.*)$", plain, re.MULTILINE)
    return _line(marked[0] if marked else plain)


def _line(error: object) -> str:
    return " ".join(str(error).split())[:300]


def _below(out: str, folder: Path) -> str:
    return Path(out).relative_to(folder.relative_to(ROOT)).as_posix()
