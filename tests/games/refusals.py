"""Tables of things that must be refused, checked in one test that lists all faults."""

import re


def unrefused(make, cases, error=ValueError):
    """The cases (keyword arguments, pattern) in which `make` raises no `error`, or one that the pattern does not match."""
    faults = []
    for changes, pattern in cases:
        try:
            make(**changes)
        except error as refusal:
            if not re.search(pattern, str(refusal)):
                faults.append((changes, str(refusal)))
        else:
            faults.append((changes, "accepted"))
    return faults
