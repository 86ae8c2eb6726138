"""The words of Table 25 as grades, beside the grades by the ranks of the eight models in the recorded matches."""

import numpy as np
import pandas as pd

from agon_papers.cells import COLUMNS
from agon_papers.counterfactual.cells import PAPER, READINGS, VARIANTS
from agon_papers.counterfactual.records import MODELS, SCRIPTS, prepared

TABLE = 25
ALL_VARIANTS = len(VARIANTS) * len(SCRIPTS)
"""Variants of both games."""

TABLED = {
    "Claude 3.7": "C3.7S",
    "Claude 4": "C4S",
    "DeepSeek R1": "DS-R1",
    "Llama 3.3": "L3.3-70B",
    "Mistral Large": "Mistral",
}
"""Name in Table 25 -> name in the other tables: Claude without thinking."""

GRADES = {
    **dict.fromkeys(("strong", "good", "relatively robust"), 3),
    **dict.fromkeys(("moderate", "mixed"), 2),
    **dict.fromkeys(("lower", "low", "brittle", "weak", "weakest"), 1),
}
"""Word -> grade: 3 for the first three models of eight, 1 for the last three. The words of the last column, main weaknesses, have none."""


def cells(matches: pd.DataFrame, payoffs: pd.DataFrame, words: pd.DataFrame, reading: str) -> pd.DataFrame:
    """Every word of Table 25 that grades a model, beside the grade of its rank; see COLUMNS (statistic: grade).

    `matches`: agon.games.matrix.metrics.per_match of the player under test. `payoffs`: rows of agon.games.payoff_rows. `words`:
    table_25.csv. The first three of eight have grade 3, the last three grade 1. Recomputed is absent where a model or game is not there.
    """
    graded = words[words.value.isin(list(GRADES))]
    printed = graded.value.map(GRADES).astype(float)
    grades = _grades(prepared(matches, payoffs), reading)
    recomputed = [
        grades.get((column, TABLED[model]), np.nan) for model, column in zip(graded.model, graded.column, strict=True)
    ]
    table = pd.DataFrame({"table": TABLE, "row": graded.model, "column": graded.column, "statistic": "grade"})
    table = table.assign(paper=PAPER, published=printed, recomputed=recomputed, reading=reading)
    return table.assign(agrees=table.published == table.recomputed)[COLUMNS].reset_index(drop=True)


def _grades(rows: pd.DataFrame, reading: str) -> dict[tuple[str, str], float]:
    """(column, model) -> grade."""
    rows = rows[rows.model.isin(MODELS)]
    if rows.groupby("game").model.nunique().tolist() != [len(MODELS)] * 2:
        return {}
    grades: dict[tuple[str, str], float] = {}
    for column, ranks in _ranks(rows, reading).items():
        thirds = np.select([ranks > len(MODELS) - 3, ranks <= 3], [3.0, 1.0], 2.0)
        grades |= {(column, str(model)): float(grade) for model, grade in zip(ranks.index, thirds, strict=True)}
    return grades


def places(matches: pd.DataFrame, payoffs: pd.DataFrame, model: str) -> dict[str, float]:
    """Column of Table 25 -> the place of `model` among itself and the eight models of the tables; the best model has place 1.

    Empty where one of these models has no match in one of the eight variants. Arguments as of `cells`.
    """
    rows = prepared(matches, payoffs)
    rows = rows[rows.model.isin([*MODELS, model])]
    variants = rows.groupby("model")[["game", "variant"]].value_counts().groupby("model").size()
    if len(variants) <= len(MODELS) or variants.min() < ALL_VARIANTS:
        return {}
    ranks = _ranks(rows, "reconciled")
    return {column: float(of_models.size + 1 - of_models[model]) for column, of_models in ranks.items()}


def _ranks(rows: pd.DataFrame, reading: str) -> dict[str, pd.Series]:
    """Column of Table 25 -> the rank of each model (1 for the worst). A column on both games averages the ranks in each."""
    efficiency = READINGS[reading]["efficiency"]
    means = rows.assign(kept=rows.total_points / rows.ceiling, spent=rows[efficiency])
    means = means.groupby(["game", "variant", "model"])[["total_points", "kept", "spent"]].mean().unstack("variant")
    ratio = means.kept.drop(columns="default").mean(axis=1) - means.kept.default
    points, spent = means.total_points.mean(axis=1), means.spent.mean(axis=1)
    columns = {"PD": points.loc[["pd"]], "RPS": points.loc[["rps"]], "Counterfactuals": ratio, "Efficiency": spent}
    return {
        column: values.groupby(level="game").rank().groupby(level="model").mean().rank()
        for column, values in columns.items()
    }
