"""Recorded games of the papers, read into the same turns that agon's own matches make."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agon.errors import AgonError
from agon.games import Game
from agon_papers.ingest import counterfactual, tradecraft
from agon_papers.ingest.base import Bad, Ingested

__all__ = ["SOURCES", "Bad", "Ingested", "ingest"]

SOURCES = {"counterfactual": counterfactual.ingest, "tradecraft": tradecraft.ingest}


def ingest(source: str, path: Path, games: Sequence[Game[Any]]) -> Ingested:
    """The games recorded under `path`; those that are none of `games`, or contradict them, are listed as bad.

    Raises AgonError when nothing at all can be read.
    """
    if source not in SOURCES:
        raise AgonError(f"{source} is no source of recorded games: choose {', '.join(sorted(SOURCES))}")
    return SOURCES[source](Path(path), games)
