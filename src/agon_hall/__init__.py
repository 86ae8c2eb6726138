"""People at the table: pages on which games are played, watched and annotated, in a browser and in a notebook."""

from agon.errors import AgonError


class Refused(AgonError):
    """What somebody wants is not possible; nothing has changed. Its text says why, for them to read."""
