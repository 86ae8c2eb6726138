"""For tests of what statements say, and not of the rule: few record sets are drawn."""

import pytest

from agon_papers import draws, verdict, verdicts


@pytest.fixture(scope="module")
def few_draws():
    """The rule itself is tested in test_verdicts; where matches of a cell are alike, few record sets tell as much as many."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(draws, "BLOCK", 4)
        for module in (verdict, verdicts):
            patched.setattr(module, "LOOKS", (1,))
        patched.setattr(verdict, "BLOCK", 4)
        draws.jeffreys.cache_clear()
        yield
    draws.jeffreys.cache_clear()  # what was drawn is too few for others
