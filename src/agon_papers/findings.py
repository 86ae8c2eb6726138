"""Findings: pictures whose titles are results, each with the paper's statements about it and with links to its sources."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from urllib.parse import quote

import pandas as pd
from IPython.display import Markdown

from agon.errors import AgonError

COLUMNS = ["paper", "question", "finding", "figure", "statements", "verdicts"]


@dataclass
class Findings:
    """The findings of a page. `claims`: the paper's statements with their verdicts (the claims.csv of its claims notebook)."""

    paper: str
    claims: pd.DataFrame
    rows: list[tuple[str, ...]] = field(default_factory=list)

    def explain(
        self,
        question: str,
        finding: str,
        figure: str,
        statements: Sequence[str],
        how: str,
        data: str,
        notebook: str,
        matches: str = "",
    ) -> Markdown:
        """Adds a finding; returns the text below its picture: section and verdict of each statement, how they were read, links.

        `statements`: texts of column claim. `data`: a file in results/. `notebook`: the name of the notebook with the reasoning.
        `matches`: the page of the matches, with a selection (PAGE.html#FIELD=VALUE); empty where no matches are published.
        Raises AgonError for a statement that is not in `claims`.
        """
        statements_by_claim = self.claims.drop_duplicates("claim").set_index("claim")
        if missing := [claim for claim in statements if claim not in statements_by_claim.index]:
            raise AgonError(
                f"no statement of {self.paper} reads {missing[0]!r}: see column claim of {self.paper}_claims.csv"
            )
        rows = [statements_by_claim.loc[claim] for claim in statements]
        verdicts = "; ".join(str(row.verdict) for row in rows)
        self.rows.append((self.paper, question, finding, figure, "; ".join(statements), verdicts))
        matches_link = f", [the matches]({matches})" * bool(matches)
        rule = "[the rule of the verdicts](../docs/statements-rule.md)"
        places = f"[The numbers](../results/{data}), [the reasoning]({notebook}.html){matches_link}, {rule}"
        text = "\n".join([*map(_line, rows), "", f"{how} {places}."])
        return Markdown(text)  # type: ignore[no-untyped-call]

    def remaining_statements(self) -> Markdown:
        """The abstract's statements, with verdicts, that no finding so far is about."""
        explained = {claim for row in self.rows for claim in row[4].split("; ")}
        sections = self.claims.section.astype(str).str.split(",")
        of_abstract = sections.map(lambda names: "abstract" in map(str.strip, names))
        others = self.claims[of_abstract & ~self.claims.claim.isin(explained)].drop_duplicates("claim")
        text = "\n".join(map(_line, others.set_index("claim").iloc)) or "None: all of them are above."
        return Markdown(text)  # type: ignore[no-untyped-call]

    def table(self) -> pd.DataFrame:
        """A row per finding, in the page's order. Semicolons divide several statements, and their verdicts."""
        return pd.DataFrame(self.rows, columns=COLUMNS)


def _line(statement: pd.Series) -> str:
    """A list item: a statement's verdict, section and claim, with a link to how it was decided."""
    claim = str(statement.name)
    return (
        f"- **{str(statement.verdict).capitalize()}** (section {escape(str(statement.section))}): {escape(claim)}."
        f" [How it was decided](explore_claims.html#statement={quote(f'{statement.paper}.{statement.statement}')})"
    )
