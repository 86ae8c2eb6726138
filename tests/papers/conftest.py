"""For tests of what statements say, and not of the rule: few resamples are drawn."""

import pytest

from agon_papers import verdict


@pytest.fixture(scope="module")
def few_draws():
    """The rule itself is tested in test_verdict; where matches of a cell are alike, few resamples tell as much as many."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(verdict, "BLOCK", 4)
        patched.setattr(verdict, "LOOKS", (1,))
        yield
