"""Findings: answers with a picture each, the paper's statements about them, and links to their sources."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas as pd
from IPython.display import Image, Markdown

from agon.errors import AgonError

RULE = "../docs/statements-rule.md"
"""The page of the rule, from a page in reports/."""
COLUMNS = ["paper", "question", "finding", "figure", "statements", "verdicts"]


LONGEST = 20
"""Words of an answer."""


@dataclass
class Findings:
    """The findings of a page. `claims`: the paper's statements with their verdicts (the claims.csv of its claims notebook).

    `stage`: the stage of dvc.yaml that makes the page.
    """

    paper: str
    claims: pd.DataFrame
    stage: str
    rows: list[tuple[str, ...]] = field(default_factory=list)

    def explain(
        self,
        question: str,
        answer: str,
        picture: Image,
        statements: Sequence[str],
        *,
        found: str,
        marks: str,
        sure: str,
        wrong: str,
        data: str,
        notebook: str,
        links: Mapping[str, str] | None = None,
    ) -> list[Any]:
        """Adds a finding; returns what a cell displays: the answer, its picture, and the text below the picture.

        The text has the paper's statements (`statements`: texts of column claim) with their verdicts. Then it says what we
        `found`, what the `marks` of the picture mean, how `sure` we are, what may be `wrong`, where everything lies, and
        which command makes it again. `data`: a file in results/. `notebook`: the name of the notebook with the reasoning.
        `links`: text -> target, such as an example of a match. Raises AgonError for a statement that is not in `claims`,
        and for an answer of more than LONGEST words.
        """
        if len(re.findall(r"[\w'./-]+", answer)) > LONGEST:
            raise AgonError(f"this answer has more than {LONGEST} words: {answer}")
        statements_by_claim = self.claims.drop_duplicates("claim").set_index("claim")
        if missing := [claim for claim in statements if claim not in statements_by_claim.index]:
            raise AgonError(
                f"no statement of {self.paper} reads {missing[0]!r}: see column claim of {self.paper}_claims.csv"
            )
        rows = [statements_by_claim.loc[claim] for claim in statements]
        verdicts = "; ".join(str(row.verdict) for row in rows)
        figure = Path(picture.filename).stem
        self.rows.append((self.paper, question, answer, figure, "; ".join(statements), verdicts))
        here = f"{self.paper}_findings.html#{quote(question.replace(' ', '-'))}"
        places = {
            **{text: _led_from(here, target) for text, target in (links or {}).items()},
            "The numbers": f"../results/{data}",
            "The reasoning": f"{notebook}.html",
            "The rule of the verdicts": RULE,
        }
        parts = [
            "\n".join(["**The paper says**, in our words:", "", *(_line(row, here) for row in rows)]),
            f"**We find:** {found}",
            f"**In the picture:** {marks}",
            f"**How sure:** {sure}",
            f"**What could be wrong:** {wrong}",
            " · ".join(f"[{text}]({target})" for text, target in places.items()),
            f"To make this again: `dvc repro {self.stage}`",
        ]
        below = "\n\n".join(parts)
        return [Markdown(f"**{answer}.**"), picture, Markdown(below)]  # type: ignore[no-untyped-call]

    def remaining_statements(self) -> Markdown:
        """The abstract's statements, with verdicts, that no finding so far is about."""
        explained = {claim for row in self.rows for claim in row[4].split("; ")}
        sections = self.claims.section.astype(str).str.split(",")
        of_abstract = sections.map(lambda names: "abstract" in map(str.strip, names))
        others = self.claims[of_abstract & ~self.claims.claim.isin(explained)].drop_duplicates("claim")
        here = f"{self.paper}_findings.html"
        text = "\n".join(_line(row, here) for row in others.set_index("claim").iloc) or "None: all of them are above."
        return Markdown(text)  # type: ignore[no-untyped-call]

    def table(self) -> pd.DataFrame:
        """A row per finding, in the page's order. Semicolons divide several statements, and their verdicts."""
        return pd.DataFrame(self.rows, columns=COLUMNS)


def _led_from(here: str, target: str) -> str:
    """The address of an explorer, which says from where a reader comes (base.js leads back); another address as it is."""
    way = f"{'&' if '#' in target else '#'}from={quote(here, safe='')}"
    return target + way if target.startswith("explore_") else target


def said_in(section: object) -> str:
    """The place of a statement in words: a number is that of a section."""
    return re.sub(r"^(?=[A-D]?\d|[A-D]\b)", "section ", str(section))


def _line(statement: pd.Series, here: str) -> str:
    """A list item: a statement's verdict, place and claim, with a link from `here` to how it was decided."""
    claim = str(statement.name)
    decided = _led_from(here, f"explore_claims.html#statement={quote(f'{statement.paper}.{statement.statement}')}")
    return (
        f"- **{str(statement.verdict).capitalize()}** ({escape(said_in(statement.section))}): {escape(claim)}."
        f" [How it was decided]({decided})"
    )
