"""Pages for people, in a browser and in a notebook: they play games, watch them and annotate them."""

from agon.errors import AgonError


class Refusal(AgonError):
    """A request of a person that is not possible. Nothing has changed. The text tells this person why."""
