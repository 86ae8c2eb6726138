"""Work of strangers in a child process: it gives its text, or an error that says what is wrong."""

import pytest

from agon import AgonError
from agon.agents.limited import LONGEST, run_limited


def fails(error):
    raise error


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (lambda: fails(ValueError("no \x1b[31m such\nword")), r"^no \\x1b\[31m such word$"),
        (lambda: fails(SystemExit(3)), "^3$"),
        (lambda: fails(KeyError()), "^KeyError$"),
        (lambda: "\ud800", "surrogates not allowed"),
        (lambda: fails(ValueError("\ud800")), r"^\\ud800$"),
        (lambda: "x" * (LONGEST + 1), "the text: its text has 5,000,001 characters; at most 5,000,000 are taken"),
    ],
    ids=["error", "exit", "wordless", "half a character", "half a character in an error", "long"],
)
def test_work_that_fails_says_why(work, said):
    with pytest.raises(AgonError, match=said):
        run_limited("the text", work)


def test_work_gives_its_text():
    assert run_limited("the text", lambda: "ü" * 3) == "üüü"
