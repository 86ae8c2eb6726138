"""Counts of printed cells and statements that agree with the records: as tables, as lines, and as JSON."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from agon.errors import AgonError


def gathered(paths: Sequence[Path]) -> pd.DataFrame:
    """The tables of several papers (csv), one below the other. Raises AgonError for a missing one."""
    missing = [path.name for path in paths if not path.is_file()]
    if missing:
        raise AgonError(f"{', '.join(missing)} is not there: run the notebook that writes it first, or `dvc repro`")
    return pd.concat([pd.read_csv(path) for path in paths], ignore_index=True)


def whole_cells(cells: pd.DataFrame) -> pd.DataFrame:
    """One row per printed cell (mean and sd together): `agrees` when both do."""
    return cells.groupby(["paper", "reading", "table", "row", "column"], sort=False).agrees.all().reset_index()


COUNTED = (
    "A mean and its standard deviation count as one number, and so do the two bounds of a number. "
    "The number agrees if both parts agree."
)
"""What `agreed` counts, on every page that shows its counts."""


def agreed(cells: pd.DataFrame, by: Sequence[str] = ("paper", "reading")) -> pd.DataFrame:
    """agree, of, absent for each group of `by`: how many printed numbers agree, of those recomputed (COUNTED).

    absent: how many cannot be recomputed. Words (statistic: grade) are no numbers; `graded` counts them.
    """
    numbers = cells[cells.statistic != "grade"]
    keys = list(by)
    found = whole_cells(numbers[numbers.recomputed.notna()]).groupby(keys).agrees.agg(agree="sum", of="size")
    absent = whole_cells(numbers[numbers.recomputed.isna()]).groupby(keys).size().rename("absent")
    return found.join(absent, how="outer").fillna(0).astype(int).reset_index()


def by_table(cells: pd.DataFrame) -> pd.DataFrame:
    """The counts of `agreed` for each table of a paper, and for all of them in the last row. Columns: reading, count."""
    tables = agreed(cells.astype({"table": str}), ["table", "reading"])
    counts = pd.concat([tables, agreed(cells, ["reading"]).assign(table="all")])
    names = {"absent": "not recomputed"}
    wide = counts.rename(columns=names).pivot(index="table", columns="reading").fillna(0).astype(int)
    return wide.swaplevel(axis=1).reindex([*pd.unique(tables.table), "all"])[pd.unique(counts.reading)]


def graded(cells: pd.DataFrame) -> pd.DataFrame:
    """paper, reading, agree, of: the counts of words that are read as grades."""
    words = cells[(cells.statistic == "grade") & cells.recomputed.notna()]
    return words.groupby(["paper", "reading"]).agrees.agg(agree="sum", of="size").reset_index()


def absent(cells: pd.DataFrame, why: Mapping[str, str]) -> pd.DataFrame:
    """table, reading, cells, why: how many printed cells cannot be recomputed. `why`: by table."""
    lacking = whole_cells(cells[cells.recomputed.isna()])
    counts = lacking.groupby(["table", "reading"], sort=False).size().rename("cells").reset_index()
    return counts.assign(why=counts.table.map(why))


def differing(cells: pd.DataFrame) -> pd.DataFrame:
    """The printed cells that do not agree even as reconciled: paper, table, row, column, published, recomputed, why."""
    numbers = cells[cells.recomputed.notna() & (cells.statistic != "grade")]
    parts = numbers[(numbers.reading == "reconciled") & ~numbers.agrees]
    rounded = [f"{row.recomputed:.{len(f'{row.published:g}'.partition('.')[2])}f}" for row in parts.itertuples()]
    keys = ["paper", "table", "row", "column"]
    groups = parts.assign(rounded=rounded).groupby(keys, sort=False)
    found = groups[["published", "recomputed", "rounded"]].agg(_both).assign(statistic=groups.statistic.first())
    found["why"] = [WHY.get(row.statistic, "rounds to {0.rounded}").format(row) for row in found.itertuples()]
    return found.drop(columns=["rounded", "statistic"]).reset_index()


WHY = {
    "most": "the records allow at most {0.recomputed}",
    "least": "the records need at least {0.recomputed}",
    "more than": "printed as more than {0.published}",
    "copy": "another place prints {0.recomputed}",
    "counted": "no count gives it; the nearest gives {0.rounded}",
}
"""Statistic -> why a printed number does not agree; any other one rounds to another number."""


def _both(values: pd.Series) -> str:
    return " ± ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in values)


def causes(cells: pd.DataFrame, variants: pd.DataFrame) -> pd.DataFrame:
    """paper, literal, variant, calculation, known, lost, reconciled: how the agreeing cells of the two readings differ.

    literal + variant + calculation + known - lost = reconciled. `variant`: cells that agree once they are compared with
    another variant than the one that their caption names, or the head of their column. `calculation`: that agree by
    another calculation. `known`: that only the reconciled reading can recompute. `lost`: that agree literally alone.
    `variants`: `true_variants`.
    """
    keys = ["paper", "table", "row", "column"]
    numbers = cells[(cells.statistic != "grade") & cells.recomputed.notna()].astype({"table": str})
    both = numbers.groupby([*keys, "reading"], sort=False).agrees.all().astype(object).unstack("reading").reset_index()
    first, then = (both[reading] if reading in both else pd.Series(None, both.index, object) for reading in READINGS)
    sets = variants.astype({"table": str})
    alone = ~sets.duplicated(["paper", "table"], keep=False)
    renamed = sets.variant != sets.captioned_variant
    tables, heads = (
        pd.MultiIndex.from_frame(sets.loc[renamed & of, names])
        for of, names in ((alone, keys[:2]), (~alone, ["paper", "table", "captioned_variant"]))
    )
    other = pd.MultiIndex.from_frame(both[keys[:2]]).isin(tables)
    other |= pd.MultiIndex.from_frame(both[["paper", "table", "column"]]).isin(heads)
    turned = then.eq(True) & first.eq(False)
    counts = {
        "literal": first.eq(True),
        "variant": turned & other,
        "calculation": turned & ~other,
        "known": then.eq(True) & first.isna(),
        "lost": first.eq(True) & ~then.eq(True),
        "reconciled": then.eq(True),
    }
    return pd.DataFrame(counts).groupby(both.paper, sort=False).sum().reset_index()


def verdicts(claims: pd.DataFrame) -> pd.DataFrame:
    """paper, holds, as_chance, fails, undecided, unchecked: numbers of statements. turned: those with another verdict in their section."""
    counts = pd.crosstab(claims.paper, claims.verdict).reindex(columns=VERDICTS, fill_value=0)
    turned = (claims.verdict != claims.verdict_section).groupby(claims.paper).sum()
    names = ["holds", "as_chance", "fails", "undecided", "unchecked"]
    return counts.set_axis(names, axis=1).assign(turned=turned).reset_index()


READINGS = ["literal", "reconciled"]
VERDICTS = ["holds", "holds, as chance does", "fails", "undecided", "cannot be checked"]
WEIGHTS = ["abstract", "introduction and conclusion", "details"]


def weights(claims: pd.DataFrame, heads: Mapping[str, Sequence[str]]) -> list[str]:
    """One of WEIGHTS for every statement, by its section. `heads`: paper -> sections that sum it up."""

    def weight(paper: str, section: str) -> str:
        sections = {name.strip() for name in section.split(",")}
        if "abstract" in sections:
            return WEIGHTS[0]
        return WEIGHTS[1] if sections & set(heads.get(paper, ())) else WEIGHTS[2]

    return [weight(paper, str(section)) for paper, section in zip(claims.paper, claims.section, strict=True)]


def summary_line(cells: pd.DataFrame, claims: pd.DataFrame) -> str:
    """The lines that `make repro` prints at its end."""
    lines = [
        f"{row.paper}, {row.reading}: {row.agree:,} of {row.of:,} printed cells agree"
        + f"; {row.absent:,} more cannot be recomputed" * bool(row.absent)
        for row in agreed(cells).itertuples()
    ]
    lines += [
        f"{row.paper}, {row.reading}: {row.agree} of {row.of} words fit the models' ranks"
        for row in graded(cells).itertuples()
    ]
    lines += [
        f"{row.paper}: {row.holds} statements hold, {row.as_chance} more hold as chance does, {row.fails} fail, "
        f"{row.undecided} are undecided, {row.unchecked} cannot be checked"
        for row in verdicts(claims).itertuples()
    ]
    return "\n".join([*lines, "open reports/index.html", ""])


def agreement(cells: pd.DataFrame, claims: pd.DataFrame) -> str:
    """JSON for `dvc metrics`: paper -> reading -> agree, of, absent (cells); paper -> verdict -> statements."""
    counts_of: dict[str, Any] = {}
    for row in agreed(cells).itertuples():
        counts_of.setdefault(str(row.paper), {})[str(row.reading)] = {
            name: int(getattr(row, name)) for name in ("agree", "of", "absent")
        }
    for paper, counts in verdicts(claims).set_index("paper").iterrows():
        counts_of.setdefault(str(paper), {})["statements"] = {
            str(verdict): int(count) for verdict, count in counts.items()
        }
    return json.dumps(counts_of, indent=1) + "\n"


def leaning(variants: pd.DataFrame) -> pd.DataFrame:
    """paper, agree, runner_up_agree, of: over all cells whose variant was chosen by agreement (`true_variants` of a replication).

    agree: how many agree with the chosen variants; runner_up_agree: with each set's second best.
    """
    counts = ["agree", "runner_up_agree", "of"]
    return chosen(variants).groupby("paper")[counts].sum().astype(int).reset_index()


def chosen(variants: pd.DataFrame) -> pd.DataFrame:
    """The sets of cells whose variant was chosen by agreement: those with a second best."""
    return variants.dropna(subset="runner_up").astype(dict.fromkeys(["agree", "runner_up_agree", "of"], int))
