"""The links by which participants come to a study: who somebody is, by the parameters of the platform that sends them."""

import re
from collections.abc import Mapping

from agon_hall import Refused

PARAMETERS = {
    "PROLIFIC_PID": "prolific",
    "workerId": "mturk",
    "survey_code": "sona",
    "pid": "link",
    "participant": "link",
}
"""Parameter of a link by which participants are told apart -> where they come from."""
SIGNED = "sig"
"""Parameter with a link's signature."""
PID = 100
"""Letters that a participant's name may have."""
NAMED = re.compile(r"\w[\w .:@+~-]*")
"""What it is made of; it stands in a file that is opened in spreadsheets, which take `=` and the like for sums."""


def participant_in(query: Mapping[str, str]) -> tuple[str, str] | None:
    """Source and name of a participant, from the parameters of a link; None where it has none. Raises Refused for no names."""
    for parameter, source in PARAMETERS.items():
        if pid := query.get(parameter, "").strip():
            if len(pid) > PID or not NAMED.fullmatch(pid):
                raise Refused("This link is not whole: please open it again where you found it.")
            return source, pid
    return None
