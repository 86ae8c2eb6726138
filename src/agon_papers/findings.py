"""Findings: a picture whose title says what was found, the paper's statements that it is about, and where all of it comes from."""

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
    """Those of a page. `claims`: the paper's statements with their verdicts, as its claims notebook writes them (claims.csv)."""

    paper: str
    claims: pd.DataFrame
    rows: list[tuple[str, ...]] = field(default_factory=list)

    def told(
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
        """What stands below a picture: each statement's section, verdict and evidence, how it was read, and links.

        `statements`: texts of column claim. `data`: a file in results/, `notebook`: the name of the one that reasons it out,
        `matches`: the page of the matches, with what is chosen there (PAGE.html#FIELD=VALUE); empty where none are published.
        Raises AgonError for a statement that is not in `claims`.
        """
        known = self.claims.drop_duplicates("claim").set_index("claim")
        if missing := [each for each in statements if each not in known.index]:
            raise AgonError(
                f"no statement of {self.paper} reads {missing[0]!r}: see column claim of {self.paper}_claims.csv"
            )
        verdicts = [str(known.verdict[each]) for each in statements]
        self.rows.append((self.paper, question, finding, figure, "; ".join(statements), "; ".join(verdicts)))
        lines = [_line(known.loc[each]) for each in statements]
        played = f", [the matches]({matches})" * bool(matches)
        rule = "[the rule of the verdicts](../docs/statements-rule.md)"
        places = f"[The numbers](../results/{data}), [the reasoning]({notebook}.html){played}, {rule}"
        text = "\n".join([*lines, "", f"{how} {places}."])
        return Markdown(text)  # type: ignore[no-untyped-call]

    def besides(self) -> Markdown:
        """The abstract's statements that no finding so far is about, with their verdicts."""
        told = {each for row in self.rows for each in row[4].split("; ")}
        of_abstract = (
            self.claims.section.astype(str).str.split(",").map(lambda named: "abstract" in map(str.strip, named))
        )
        left = self.claims[of_abstract & ~self.claims.claim.isin(told)].drop_duplicates("claim")
        text = "\n".join(map(_line, left.set_index("claim").iloc)) or "None: all of them are above."
        return Markdown(text)  # type: ignore[no-untyped-call]

    def table(self) -> pd.DataFrame:
        """A row per finding, in the page's order; several statements and their verdicts are divided by semicolons."""
        return pd.DataFrame(self.rows, columns=COLUMNS)


def _line(statement: pd.Series) -> str:
    """A statement, by name, with its section and verdict, and where it is told how it was decided."""
    claim = str(statement.name)
    return (
        f"- **{str(statement.verdict).capitalize()}** (section {escape(str(statement.section))}): {escape(claim)}."
        f" [How it was decided](explore_claims.html#q={quote(claim)})"
    )
