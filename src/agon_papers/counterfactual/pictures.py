"""Pictures of the paper's printed tables: shades and numbers of what was recomputed, frames around what is not as printed."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure

from agon.figures import figure, heatmap

UNITS = {
    "total_points": "points per match",
    "opponent_comprehension": "round of comprehension m (N + 1: never)",
    "cooperation_rate": "share of rounds with the first action",
    "efficiency": "points per 1000 tokens of the largest round",
    "validity_rate": "% of rounds that were valid",
}


def published_table(table: pd.DataFrame, differing: Sequence[tuple[str, str]] = ()) -> Figure:
    """One printed table as recomputed: a row per model and style, a column per opponent or variant, mean ± sd as text.

    `table`: agon_papers.counterfactual.cells.with_intervals of one table; `differing`: (row, column) that do not agree.
    """
    first = table.iloc[0]
    decimals, by_style = _decimals(first.metric), table.prompt.ne("all").any()
    column = "opponent" if table.opponent.nunique() > 1 else "captioned_variant"
    shown = table.assign(
        row=table.model + " " + table.prompt if by_style else table.model,
        column=table[column].where(table[column] != "all", "all matches"),
        text=[f"{value:.{decimals}f} ± {sd:.{decimals}f}" for value, sd in table[["value", "sd"]].to_numpy()],
    )
    order = {"index": "row", "columns": "column"}
    values = shown.pivot(**order, values="value").reindex(index=shown.row.unique(), columns=shown.column.unique())
    text = shown.pivot(**order, values="text").reindex_like(values).where(values.notna(), "none")
    text.index.name = "model and style" if by_style else "model"
    text.columns.name = column.replace("_", " ") if len(text.columns) > 1 else ""
    frames = pd.DataFrame(False, index=values.index, columns=values.columns)
    for row, place in differing:
        if row in frames.index and place in frames.columns:  # else there is no cell to frame
            frames.loc[row, place] = True
    made, axes = figure(1, 1, (max(8.0, 2.6 + 0.95 * values.shape[1]), 1.9 + 0.21 * values.shape[0]))
    game = {"pd": "prisoner's dilemma family", "rps": "rock, paper, scissors family"}[first.game]
    title = f"Table {first.table}: {first.metric.replace('_', ' ')}, {game}\n{_captioned(table)}\n"
    title += f"mean ± standard deviation over {_sizes(table)}" + ("; *: not as printed" if differing else "")
    heatmap(axes[0], values, text, title, UNITS[first.metric], outlined=frames)
    return made


def _decimals(metric: str) -> int:
    return 2 if metric == "efficiency" else 1


def _captioned(table: pd.DataFrame) -> str:
    pairs = table[["captioned_variant", "variant"]].drop_duplicates()
    wrong = pairs[pairs.captioned_variant != pairs.variant]
    if len(pairs) > 1:
        truth = ", ".join(f"{said} shows {true}" for said, true in wrong.to_numpy())
        return f"by captioned variant; in truth {truth}" if truth else "by variant"
    said, true = pairs.iloc[0]
    return (
        "all variants"
        if said == "all"
        else f"{said} variant"
        if said == true
        else f"captioned {said}, in truth the {true} variant"
    )


def _sizes(table: pd.DataFrame) -> str:
    sizes = sorted(table.n.dropna().astype(int).unique())
    return f"{' or '.join(map(str, sizes)) if len(sizes) < 4 else f'{sizes[0]} to {sizes[-1]}'} matches"
