"""Games that need social and strategic reasoning: engines, agents, records and metrics."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The project's root folder, whatever the working folder is."""


class AgonError(Exception):
    """Something the user can mend; its text is one line that says what is wrong and what to do."""
