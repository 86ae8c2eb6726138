"""Games that need social and strategic reasoning: engines, agents, records and metrics."""

from agon.errors import AgonError
from agon.paths import ROOT, SHIPPED, input_path
from agon.registry import kind

__all__ = ["ROOT", "SHIPPED", "AgonError", "input_path", "kind"]
