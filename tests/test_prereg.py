"""What was said before: files that do not fit, and registrations that leave nothing behind."""

from pathlib import Path

import pytest

from agon import AgonError
from agon.conf import Until
from agon.prereg import FILE, Hypothesis, checked, read, register, registrations, withdraw

TEXT = """
question: Does thinking make it kinder?
hypotheses: [{metric: points, by: "agent:zs,cot", expect: less}]
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "prereg.yaml"
    path.write_text(TEXT)
    return str(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("question: Why?\nhypotheses: []", "hypotheses"),
        (TEXT.replace("less", "perhaps"), "expect"),
        (TEXT.replace("zs,cot", "zs"), "by"),
        (TEXT + "alpha: 0.05\n", "alpha"),
    ],
)
def test_files_that_do_not_fit_are_refused_in_a_line(file, text, said):
    Path(file).write_text(text)
    with pytest.raises(AgonError, match=f"prereg.yaml does not fit: .*{said}"):
        read(file)
    with pytest.raises(AgonError, match="is not there"):
        read(f"{file}.gone")


def test_a_registration_is_kept_once_and_taken_back_where_nothing_was_asked(file, tmp_path):
    folder = tmp_path / "recording"
    assert "before anything was asked" in register(file, folder, ["a", "b"], 0, None)[0]
    assert register(file, folder, ["b", "a"], 5, None) == [] and len(registrations(folder)) == 1
    assert "until is not" in register(file, folder, ["a", "b"], 5, Until(range=(0, 1)))[0]
    withdraw(folder)
    assert not folder.exists()
    register(file, folder, ["a"], 0, None)
    (folder / "exchanges.jsonl").touch()
    withdraw(folder)
    assert (folder / FILE).exists()


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [(-3, -1, "as expected"), (1, 3, "the opposite"), (-1, 1, "undecided"), (float("nan"),) * 2 + ("no interval",)],
)
def test_a_hypothesis_is_held_against_the_interval(file, tmp_path, low, high, said):
    folder = tmp_path / "recording"
    assert checked(folder, [], file) == []  # nothing was registered
    register(file, folder, ["a"], 7, None)
    told = checked(folder, [(Hypothesis("points", "agent:zs,cot", "difference"), low, high)], file)
    assert (
        f"registered: points by agent:zs,cot: less: {said}" in told
        and "note: registered after 7 exchanges had been recorded" in told
    )
    other = checked(folder, [(Hypothesis("points", "agent:zs,cot", "difference", ("game",)), low, high)], file)
    assert "not registered: points by agent:zs,cot; registered was: points by agent:zs,cot: less" in other


def test_a_damaged_registration_is_named(file, tmp_path):
    register(file, tmp_path / "recording", ["a"], 0, None)
    (tmp_path / "recording" / FILE).write_text("{")
    with pytest.raises(AgonError, match="is damaged"):
        registrations(tmp_path / "recording")
