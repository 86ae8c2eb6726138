"""The links by which participants come to a study. The platform's parameters in a link identify the participant."""

import re
from collections.abc import Mapping

from agon_hall import Refusal

PARAMETERS = {
    "PROLIFIC_PID": "prolific",
    "workerId": "mturk",
    "survey_code": "sona",
    "pid": "link",
    "participant": "link",
}
"""Parameter that identifies a participant -> the platform that sends it."""
SIGNATURE = "sig"
"""The parameter with a link's signature."""
LONGEST_NAME = 100
"""The most letters of a participant's name."""
NAME_PATTERN = re.compile(r"\w[\w .:@+~-]*")
"""A valid name. People open files with these names in spreadsheets, which would read `=` as the start of a formula."""


def participant_in(query: Mapping[str, str]) -> tuple[str, str] | None:
    """The platform and the name of a participant, from a link's parameters; None if there are none.

    Raises Refusal for a name that is not valid.
    """
    for parameter, source in PARAMETERS.items():
        if pid := query.get(parameter, "").strip():
            if len(pid) > LONGEST_NAME or not NAME_PATTERN.fullmatch(pid):
                raise Refusal("This link is not whole: please open it again where you found it.")
            return source, pid
    return None
