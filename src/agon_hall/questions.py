"""Questions and pages of a study's own: how its file describes them, and what is wrong with answers."""

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from agon.conf import CONF
from agon.errors import AgonError
from agon.games.sentences import ENGLISH, Say
from agon.paths import input_path

Words = Annotated[str, msgspec.Meta(pattern=r"\S")]
Code = Annotated[str, msgspec.Meta(pattern=r"^[\w-]{1,64}\Z")]
LONG = 2000
"""The most letters of an answer in words."""
LONGEST_SCALE = 21
"""The most points of a scale."""
IMAGES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp"}
"""The endings of image files, and their kinds."""
LARGEST_IMAGE = 500_000
"""The most bytes of an image."""
FAULTS = {
    "missing": "Please answer this question.",
    "other": "Please choose one of the answers.",
    "number": "Please write a number within the limits.",
    "long": "This answer is too long.",
    "wrong": "This is not right.",
}
"""The faults of answers, in words for participants."""


class Part(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A section of a study's file. Unknown settings are refused."""


class FormQuestion(Part, frozen=True):
    """A question: a choice (`options`), a `scale` or a `number`; without these it is answered in words."""

    ask: Words
    options: list[Words] = []
    scale: tuple[int, int] | None = None
    """The first and the last point of a scale of whole numbers."""
    ends: tuple[Words, Words] | None = None
    """The words at the two ends of the scale."""
    number: tuple[float, float] | None = None
    """The least and the largest number that may be entered."""
    right: str | None = None
    """The right one of `options`. In a survey it makes the question an attention check."""
    optional: bool = False
    games: list[str] = []
    """For a quiz: the games (as in cells) before which the question is asked; empty for all."""

    def __post_init__(self) -> None:
        """Raises ValueError for settings that do not fit together."""
        if sum(map(bool, (self.options, self.scale, self.number))) > 1:
            raise ValueError(f"{self.ask!r} needs options, or a scale, or a number: one of them")
        for low, high in filter(None, (self.scale, self.number)):
            if not low < high:
                raise ValueError(f"{low} to {high} is no range for {self.ask!r}: write the lower number first")
        if self.scale and self.scale[1] - self.scale[0] >= LONGEST_SCALE:
            raise ValueError(f"the scale of {self.ask!r} has more than {LONGEST_SCALE} points: use `number`")
        if self.ends and not self.scale:
            raise ValueError(f"{self.ask!r} has `ends`, which need a scale")
        if self.right is not None and self.right not in self.choices:
            raise ValueError(f"right {self.right!r} is not among the options of {self.ask!r}")

    @property
    def choices(self) -> list[str]:
        """The options, or the points of the scale; empty for numbers and words."""
        return [str(point) for point in range(self.scale[0], self.scale[1] + 1)] if self.scale else self.options


class Page(Part, frozen=True):
    """A page of a study's own, with a text, an image and questions."""

    name: Code
    text: str = ""
    image: str = ""
    """A PNG, JPEG, GIF or WebP file in conf/study."""
    alt: str = ""
    """What the image shows, for people who do not see it."""
    questions: list[FormQuestion] = []
    after: list[Annotated[int, msgspec.Meta(ge=0)]] = []
    """The numbers of the matches after which it comes, 0 for before the first; empty for between all matches."""

    def __post_init__(self) -> None:
        """Raises ValueError for an image without a description, or a question with a right answer."""
        if self.image and not self.alt.strip():
            raise ValueError(f"page {self.name}: `alt` must say what {self.image} shows")
        if checks := [question.ask for question in self.questions if question.right is not None]:
            raise ValueError(f"page {self.name}: {checks[0]!r} has a right answer: only quiz and survey check answers")


def faults(questions: Sequence[FormQuestion], answers: Mapping[str, str], say: Say = ENGLISH) -> dict[int, str]:
    """Place of a question -> the fault of its answer. `answers` has the place of the question as key.

    Numbers are read in the language of `say`.
    """
    faults_by_place = {}
    for place, question in enumerate(questions):
        answer = answers.get(str(place), "")
        if not answer.strip():
            if not question.optional:
                faults_by_place[place] = FAULTS["missing"]
        elif question.choices and answer not in question.choices:
            faults_by_place[place] = FAULTS["other"]
        elif question.number and not _is_within(number_of(answer, say), question.number):
            faults_by_place[place] = FAULTS["number"]
        elif len(answer) > LONG:
            faults_by_place[place] = FAULTS["long"]
    return faults_by_place


def number_of(answer: str, say: Say = ENGLISH) -> float | None:
    """The number that was typed, as the language of `say` writes it; None if it is none.

    Either mark stands for the decimal point, unless it marks the thousands: in German 1.5 is 1,5, and 1.500 is 1500.
    """
    thousands, decimal = map(re.escape, (say.thousands, say.decimal))
    typed = answer.strip()
    if re.fullmatch(rf"-?\d{{1,3}}({thousands}\d{{3}})+({decimal}\d+)?", typed, re.ASCII):
        typed = typed.replace(say.thousands, "")
    typed = typed.replace(",", ".")
    return float(typed) if re.fullmatch(r"-?\d+(\.\d+)?", typed, re.ASCII) else None


def _is_within(number: float | None, limits: tuple[float, float]) -> bool:
    return number is not None and limits[0] <= number <= limits[1]


def wrong_questions(questions: Sequence[FormQuestion], answers: Mapping[str, str]) -> list[str]:
    """The texts of the questions with a wrong answer."""
    return [
        question.ask
        for place, question in enumerate(questions)
        if question.right is not None and answers.get(str(place), "") != question.right
    ]


def image_of(page: Page, conf: Path = CONF) -> str:
    """The image of a page as a data URI; empty if it has none. Raises AgonError for a file that is no small image."""
    if not page.image:
        return ""
    path = input_path(conf / "study" / page.image)
    kind = IMAGES.get(path.suffix.lower())
    if kind is None or path.name != page.image or not path.is_file():
        raise AgonError(f"page {page.name}: conf/study has no image {page.image!r} (endings: {', '.join(IMAGES)})")
    if path.stat().st_size > LARGEST_IMAGE:
        raise AgonError(f"page {page.name}: {page.image} has more than {LARGEST_IMAGE:,} bytes: make it smaller")
    return f"data:{kind};base64,{b64encode(path.read_bytes()).decode()}"
