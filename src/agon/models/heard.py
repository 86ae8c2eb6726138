"""What agents make of answers while they are recorded: how many can be read, and when there are too few."""

from collections import Counter
from dataclasses import dataclass, field
from math import sqrt

from agon.errors import visible
from agon.models.base import Halted
from agon.models.ends import CUT, Ended

LEAST = 30
"""Answers before it is said that too few can be read."""
SURE = 2.33
"""Standard deviations: how clearly the share must lie below the one that is wanted (99 % sure)."""
FEW = 0.1
"""Below this share of readable answers, what is wrong is how the model is asked."""
SHOWN = 80
"""Letters of an answer that are shown."""

ROOM = "Give answers more room (max_tokens, in conf/sampling or the model's file), or take agents that say less"
"""What to do when answers are cut off."""
MEND = (
    "Take agents with `reads: constrained` (zs_constrained, cot_constrained), which can answer nothing but an action, or another model: "
    "docs/how-to/choose-how-answers-are-read.md"
)
"""What to do when answers cannot be read."""


class RunOver(Halted):
    """No match of a run can go on."""


class Unreadable(RunOver):
    """Too few answers can be read."""


@dataclass
class Heard:
    """Answers so far, those read from the recording included."""

    wanted: float | None = None
    """The share of answers that must be readable; None: any."""
    answers: int = 0
    unreadable: int = 0
    questions: int = 0
    """Asked now, further attempts not counted."""
    last: str = ""
    """The last answer in words, cut short."""
    example: str = ""
    """The last that could not be read."""
    ends: Counter[Ended] = field(default_factory=Counter)
    """Why answers ended."""
    reached: dict[str, int] = field(default_factory=dict)
    """Match -> the round that it has come to, by answers that came now."""

    @property
    def rounds(self) -> int:
        """Rounds of all matches."""
        return sum(self.reached.values())

    @property
    def share(self) -> str:
        """The readable share in words, and beside it what was not whole; empty before the first answer."""
        return f"{1 - self.unreadable / self.answers:.0%} readable{self._cut}" if self.answers else ""

    @property
    def _cut(self) -> str:
        return "".join(f", {self.ends[end]:,} {words}" for end, words in CUT.items() if self.ends[end])

    def add(self, sample: str, round_: int, text: str, fault: str, new: bool, ended: Ended = "unknown") -> None:
        """One more answer; `fault`: why it could not be read, if so; `ended`: why it ended."""
        self.answers += 1
        self.ends[ended] += 1
        told = f'"{" ".join(text[:SHOWN].split())}{"..." * (len(text) > SHOWN)}"'
        self.last = told if text else self.last
        if fault:
            self.unreadable += 1
            self.example = told
        if new:
            self.questions += sample.endswith(".0")
            match = sample.partition("/")[0]
            self.reached[match] = max(round_, self.reached.get(match, 0))

    @property
    def cause(self) -> str:
        """What is wrong, and what to do, where hardly an answer can be read; else empty."""
        if not self.answers or 1 - self.unreadable / self.answers >= FEW:
            return ""
        return f"{self._told}, and what cannot be read is asked again until the conversation is full. {self._mend}"

    @property
    def _mend(self) -> str:
        return f"{ROOM}; or: {MEND}" if 2 * self.ends["length"] > self.unreadable else MEND

    @property
    def _told(self) -> str:
        which = "none" if self.unreadable == self.answers else f"{self.answers - self.unreadable:,}"
        return f"{which} of {self.answers:,} answers could be read as an action{self._cut}"

    @property
    def too_few(self) -> Unreadable | None:
        """Why to stop: the readable share is clearly below the wanted one (Wilson's interval)."""
        if self.wanted is None or self.answers < LEAST:
            return None
        n, share = self.answers, 1 - self.unreadable / self.answers
        middle, half = share + SURE**2 / (2 * n), SURE * sqrt(share * (1 - share) / n + SURE**2 / (4 * n * n))
        if (middle + half) / (1 + SURE**2 / n) >= self.wanted:
            return None
        return Unreadable(
            f"{self._told} (readable={self.wanted:g}), the last that could not: {visible(self.example)}. {self._mend}"
        )
