"""The paper's tables with rows for other models, above the rows as printed."""

import pandas as pd

from agon_papers.counterfactual import cells, grades
from agon_papers.counterfactual.beside import styles_of
from agon_papers.counterfactual.tables import decimals_of

PAPER_NAMES = {"best_reply_to_last": "tft"}
"""Name of an agent in conf/agent -> its name in the paper's tables."""
VOTES = r"^(zs|cot|spp)_sc\d+$"
"""Names of agents that take a vote."""


def with_paper_names(matches: pd.DataFrame) -> pd.DataFrame:
    """Matches (agon.games.matrix.metrics.per_match) with agents and opponents as the paper's tables call them: sc-zs for zs_sc3.

    Another agent whose name begins with a style of the paper counts as this style, and its name is added to the model's:
    `mine zs_constrained` with agent zs.
    """
    agents = matches.agent.astype(str)
    styles, opponents = (styles_of(matches[name]).replace(PAPER_NAMES) for name in ("agent", "opponent"))
    is_other = agents.str.match(r"(zs|cot|spp)_") & ~agents.str.match(VOTES)
    models = matches.model.astype(object)
    models = models.where(models.isna() | ~is_other, models.astype(str) + " " + agents)
    return matches.assign(model=models, agent=styles, opponent=opponents)


def statistics(matches: pd.DataFrame) -> pd.DataFrame:
    """`cells.statistics` of matches by their models' own names, in the reading that the printed numbers have (reconciled)."""
    names = {str(model): str(model) for model in matches.model.dropna().unique()}
    return cells.statistics(matches, "reconciled", names=names)


def table_beside(printed: pd.DataFrame, own: pd.DataFrame, variants: pd.DataFrame) -> pd.DataFrame:
    """One table of the paper as text: mean ± sd, with n for the models in `own`, whose rows come first.

    `printed`: the rows of one table in tables.csv, with numbers as text. `own`: `statistics`. `variants`: `cells.true_variants`; a cell
    of `own` is of the variant that was played under this caption.
    """
    first = printed.iloc[0]
    columns = "opponent" if printed.opponent.nunique() > 1 else "captioned_variant"
    played = variants[variants.table == first.table][["captioned_variant", "variant"]]
    own_cells = own[(own.game == first.game) & (own.metric == first.metric)].merge(played, on="variant")
    own_cells = own_cells.merge(printed[["prompt", "opponent"]].drop_duplicates(), on=["prompt", "opponent"])
    digits = decimals_of(first.metric)
    own_cells = own_cells.assign(
        model=own_cells.model + " (own)",
        text=[_text(row.value, row.sd, row.n, digits) for row in own_cells.itertuples()],
    )
    both = pd.concat([own_cells, printed.assign(text=printed["mean"] + " ± " + printed["std"])], ignore_index=True)
    keys = ["model", "prompt"] if printed.prompt.nunique() > 1 else ["model"]
    both["row"] = both[keys].agg(" ".join, axis=1)
    text = both.pivot(index="row", columns=columns, values="text")
    prompts = list(printed.prompt.unique())
    order = [" ".join([model, prompt][: len(keys)]) for model in both.model.unique() for prompt in prompts]
    rows = [row for row in dict.fromkeys(order) if row in text.index]
    return (
        text.reindex(index=rows, columns=printed[columns].unique())
        .fillna("")
        .rename_axis(index=" and ".join(keys), columns=None)
    )


def _text(value: float, sd: float, n: float, digits: int) -> str:
    spread = f" ± {sd:.{digits}f}" if pd.notna(sd) else ""
    return f"{value:.{digits}f}{spread} (n {int(n)})"


def words_beside(
    own: pd.DataFrame, recorded: pd.DataFrame, payoffs: pd.DataFrame, words: pd.DataFrame
) -> tuple[pd.DataFrame, list[str]]:
    """Table 25 with a row for each of one's own models, and the own models that cannot have one.

    The word is that of the model's place among the paper's eight and itself: strong for the first three, weak for the last three.
    `own`, `recorded`: matches with the paper's names. Matches count in cells (game, variant, agent, opponent) that both sides played.
    """
    printed = words.pivot(index="model", columns="column", values="value")[list(words.column.unique())]
    cell = ["game", "variant", "agent", "opponent"]
    rows, unranked = {}, []
    for model, matches in own.astype(dict.fromkeys([*cell, "model"], str)).groupby("model"):
        same = recorded.astype(dict.fromkeys(cell, str))
        both = pd.concat([matches, same.merge(matches[cell].drop_duplicates(), on=cell)], ignore_index=True)
        places = grades.places(both, payoffs, str(model))
        if places:
            rows[f"{model} (own)"] = {column: _place_words(place) for column, place in places.items()}
        else:
            unranked.append(str(model))
    table = pd.concat([pd.DataFrame.from_dict(rows, orient="index"), printed])
    return table.reindex(columns=printed.columns).fillna("not ranked").rename_axis(index="model"), unranked


def _place_words(place: float) -> str:
    number = len(cells.MODELS) + 1
    word = "strong" if place <= 3 else "weak" if place > number - 3 else "moderate"
    return f"{word} (place {place:g} of {number})"
