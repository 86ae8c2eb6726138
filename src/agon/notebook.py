"""Notebooks through papermill: checked parameters in, an executed copy without clock times and an HTML page out."""

import logging
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat
import papermill
from nbconvert import HTMLExporter
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from papermill.exceptions import PapermillException, PapermillExecutionError

from agon import ROOT, AgonError
from agon.plan import settings_of


def run(name: str, overrides: Sequence[str] = ()) -> Path:
    """Runs notebooks/`name`.ipynb with the parameters of conf/notebook/`name`.yaml and `overrides` (name=value).

    Writes reports/`name`.ipynb and .html, byte for byte the same for the same inputs; returns the former.
    Raises AgonError for an unknown notebook or parameter, and when a cell fails (the failed copy is kept beside).
    """
    source = ROOT / "notebooks" / f"{name}.ipynb"
    if not source.is_file():
        offered = ", ".join(sorted(path.stem for path in source.parent.glob("*.ipynb")))
        raise AgonError(f"there is no notebook {name!r}: there are {offered}")
    parameters = _parameters(name, overrides)
    declared = papermill.inspect_notebook(str(source))
    unknown = sorted(set(parameters) - set(declared))
    if unknown:
        raise AgonError(f"notebook {name} has no parameter {unknown[0]!r}: it has {', '.join(declared) or 'none'}")
    target = ROOT / "reports" / f"{name}.ipynb"
    target.parent.mkdir(exist_ok=True)
    failed = target.with_suffix(".failed.ipynb")
    logging.getLogger("papermill").setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            papermill.execute_notebook(
                str(source),
                str(failed),
                parameters,
                cwd=str(ROOT),
                kernel_name="python3",
                progress_bar=False,
                log_output=False,
                extra_arguments=["--log-level=50"],
                request_save_on_cell_execute=False,
            )
    except PapermillExecutionError as error:
        raise AgonError(
            f"notebook {name}, cell {error.exec_count}: {error.ename}: {_line(error.evalue)} (see reports/{failed.name})"
        ) from error
    except PapermillException as error:
        raise AgonError(f"notebook {name} did not run: {_line(error)}") from error
    executed = nbformat.read(failed, as_version=4)
    settle(executed)
    nbformat.write(executed, target)
    target.with_suffix(".html").write_text(page(executed, name), encoding="utf-8")
    failed.unlink()
    return target


def _parameters(name: str, overrides: Sequence[str]) -> dict[str, Any]:
    try:
        given: Any = OmegaConf.to_container(OmegaConf.from_dotlist(list(overrides)))
        return settings_of("notebook", name) | given
    except (OmegaConfBaseException, ValueError) as error:
        raise AgonError(f"parameters {' '.join(overrides)} cannot be read: {_line(error)}") from None


def _line(error: object) -> str:
    return " ".join(str(error).split())[:300]


def settle(notebook: Any) -> None:
    """Takes out what differs from run to run: clock times, cell ids, versions of the kernel's parts."""
    notebook.metadata.pop("papermill", None)
    notebook.metadata.get("language_info", {}).pop("version", None)
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
        cell.metadata.pop("execution", None)
        cell.metadata.pop("papermill", None)


def page(notebook: Any, title: str) -> str:
    """The notebook as one HTML page, with its outputs sanitized."""
    exporter = HTMLExporter(sanitize_html=True, mathjax_url="", require_js_url="", exclude_input_prompt=True)
    exporter.exclude_output_prompt = True
    body, _ = exporter.from_notebook_node(notebook, resources={"metadata": {"name": title}})
    return str(body)
