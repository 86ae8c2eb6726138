"""The paper's printed tables, recomputed as text in their format, with marks on cells that do not agree."""

from collections.abc import Sequence

import pandas as pd

UNITS = {
    "total_points": "points per match",
    "opponent_comprehension": "round of comprehension m (N + 1: never)",
    "cooperation_rate": "share of rounds with the first action",
    "efficiency": "points per 1000 tokens of the largest round",
    "validity_rate": "% of rounds that were valid",
}


def published_table(table: pd.DataFrame, differing: Sequence[tuple[str, str]] = ()) -> pd.DataFrame:
    """One printed table as recomputed: a row per model and style, a column per opponent or variant, mean ± sd as text.

    `table`: agon_papers.counterfactual.cells.with_intervals of one table. `differing`: (row, column) of cells that do not agree; they
    get an asterisk. A cell without records is "none".
    """
    decimals, by_style = decimals_of(table.iloc[0].metric), table.prompt.ne("all").any()
    column = "opponent" if table.opponent.nunique() > 1 else "captioned_variant"
    cells = table.assign(
        row=table.model + " " + table.prompt if by_style else table.model,
        column=table[column].where(table[column] != "all", "all matches"),
        text=[f"{value:.{decimals}f} ± {sd:.{decimals}f}" for value, sd in table[["value", "sd"]].to_numpy()],
    )
    cells["text"] = cells.text.where(cells.value.notna(), "none")
    starred = pd.MultiIndex.from_frame(cells[["row", "column"]]).isin(list(differing))
    cells["text"] = cells.text + pd.Series(starred, cells.index).map({True: " *", False: ""})
    text = cells.pivot(index="row", columns="column", values="text").fillna("none")
    text = text.reindex(index=cells.row.unique(), columns=cells.column.unique())
    several = len(text.columns) > 1
    return text.rename_axis(
        index="model and style" if by_style else "model", columns=column.replace("_", " ") * several
    )


def title(table: pd.DataFrame) -> str:
    """The title of a printed table: metric, unit, game, variant and the number of matches behind a cell."""
    first = table.iloc[0]
    left_out = ", without those against ap" if (first.game, first.metric) == ("rps", "validity_rate") else ""
    return f"{heading(table)}; {_sizes(table)} in a cell{left_out}"


def heading(table: pd.DataFrame) -> str:
    """The title without the number of matches."""
    first = table.iloc[0]
    game = {"pd": "prisoner's dilemma family", "rps": "rock, paper, scissors family"}[first.game]
    metric = f"{first.metric.replace('_', ' ')} ({UNITS[first.metric]})"
    return f"Table {first.table}: {metric}, {game}, {_caption_words(table)}"


def decimals_of(metric: str) -> int:
    """Decimals of the paper's cells of a metric."""
    return 2 if metric == "efficiency" else 1


def _caption_words(table: pd.DataFrame) -> str:
    pairs = table[["captioned_variant", "variant"]].drop_duplicates()
    wrong = pairs[pairs.captioned_variant != pairs.variant]
    if len(pairs) > 1:
        truth = ", ".join(f"{captioned} shows {true}" for captioned, true in wrong.to_numpy())
        return f"by captioned variant; in truth {truth}" if truth else "by variant"
    captioned, true = pairs.iloc[0]
    return (
        "all variants"
        if captioned == "all"
        else f"{captioned} variant"
        if captioned == true
        else f"captioned {captioned}, in truth the {true} variant"
    )


def _sizes(table: pd.DataFrame) -> str:
    sizes = sorted(table.n.dropna().astype(int).unique())
    return f"{' or '.join(map(str, sizes)) if len(sizes) < 4 else f'{sizes[0]} to {sizes[-1]}'} matches"
