"""One's own games of MAgIC in the shape of the paper's tables and figures, counted as the printed numbers are."""

import numpy as np
import pandas as pd

from agon.errors import AgonError
from agon.games.tables import seat_table
from agon.metrics.tallies import tallies
from agon_papers.magic.abilities import abilities
from agon_papers.magic.facts import COMPETITIONS, PGM, SETTINGS

PRO = "+ProPGM"
"""Suffix of the arm that plays Chameleon alone."""

ARMS = {"beliefs_matrix": PRO, "beliefs": PGM, "zs": ""}
"""Beginning of an agent's name -> suffix of the model's name in the paper's tables. The rest of the name follows in
brackets."""

DESIGN = {
    "chameleon": 2 * SETTINGS,
    "undercover": 2 * SETTINGS,
    "cost_sharing": COMPETITIONS,
    "prisoner3": COMPETITIONS,
    "public_goods": COMPETITIONS,
}
"""Family -> the games of it that a challenger plays in the paper. Chameleon and Undercover have two roles."""

OWN = "own: "
"""Begins the label of a row that is not the paper's."""

POINTS = ("area", "cost", "score", "payback")
"""Metrics that are no shares."""


def tally(turns: pd.DataFrame, games: pd.DataFrame) -> pd.DataFrame:
    """agon.metrics.tallies.tallies of each challenger, over the games that it has played (`coverage` counts them).

    Reasoning counts as in the printed numbers: two predictions as one, 600 in a full run (docs/deviations.md).
    Raises AgonError for turns in which nobody is under test.
    """
    seats, parts = seat_table(games), []
    of_challengers = turns.astype({"game": str, "variant": str}).groupby(challengers_of(turns, seats), sort=False)
    for _, rows in of_challengers:
        played = rows[["game", "variant"]].drop_duplicates()
        parts.append(tallies(turns.loc[rows.index], seats.merge(played, on=["game", "variant"])))
    if not parts:
        raise AgonError(
            "these matches have no seat under test: use turns of MAgIC's games, such as those of magic_live"
        )
    table = pd.concat(parts, ignore_index=True)
    table = table[table.metric != "reasoning"]
    return table.assign(metric=table.metric.replace({"reasoning_published": "reasoning"}))


def coverage(turns: pd.DataFrame, games: pd.DataFrame) -> pd.DataFrame:
    """How much of DESIGN each challenger has played: challenger, model (`labels_of`), game, played, designed.

    played, designed: numbers of different games of a family. A family of DESIGN that a challenger has not played has 0.
    """
    challengers = challengers_of(turns, seat_table(games)).dropna()
    played = turns.astype({"game": str}).groupby([challengers, "game"], sort=False).variant.nunique()
    rows = [
        (challenger, game, played.get((challenger, game), 0), number)
        for challenger in challengers.unique()
        for game, number in DESIGN.items()
        if game == "chameleon" or ARMS.get(_arm_of(challenger)) != PRO
    ]
    table = pd.DataFrame(rows, columns=["challenger", "game", "played", "designed"])
    table.insert(1, "model", labels_of(table.challenger))
    return table


def challengers_of(turns: pd.DataFrame, seats: pd.DataFrame) -> pd.Series:
    """The challenger of each turn's match, as in agon.metrics.tallies: agent, or agent@model, of the seats under test."""
    rows = turns[["match", "game", "variant", "seat", "agent", "model"]].astype(str)
    tested = seats[seats.tested].astype({"seat": str})[["game", "variant", "seat"]]
    rows = rows.assign(has_model=turns.model.notna().to_numpy()).merge(tested, on=["game", "variant", "seat"])
    names = rows.agent + ("@" + rows.model).where(rows.has_model, "")
    of_matches = dict(zip(rows["match"], names, strict=True))
    return turns["match"].astype(str).map(of_matches).rename("challenger")


def label_of(challenger: str) -> str:
    """A challenger as a row of the paper's tables: `own: MODEL`, with the suffix of its arm. A script has its own name.

    `zs_constrained` and `beliefs_constrained` of a model are a pair: `own: MODEL (constrained)`, and the same with `+PGM`.
    """
    agent, _, model = challenger.partition("@")
    if not model:
        return OWN + agent
    arm = _arm_of(challenger)
    rest = agent.removesuffix("_as_played").removeprefix(arm).removeprefix("_")
    return OWN + model + (f" ({rest})" if rest else "") + ARMS.get(arm, "")


def _arm_of(challenger: str) -> str:
    """The key of ARMS with which the name of a challenger's agent begins; empty if there is none."""
    name = challenger.partition("@")[0].removesuffix("_as_played")
    return next((arm for arm in ARMS if name == arm or name.startswith(f"{arm}_")), "")


def labels_of(challengers: pd.Series) -> pd.Series:
    """`label_of` each; several agents of one arm and model have their names in brackets."""
    labels = challengers.map(label_of)
    is_ambiguous = challengers.groupby(labels).transform("nunique") > 1
    return labels.where(~is_ambiguous, challengers.map(_spell_out))


def _spell_out(challenger: str) -> str:
    agent, _, model = challenger.partition("@")
    return f"{OWN}{model} ({agent})"


def scores_of(tallied: pd.DataFrame) -> pd.DataFrame:
    """agon_papers.magic.abilities.abilities with a column `model` (`labels_of`), and value, low and high in percent or points."""
    table = abilities(tallied)
    factor = np.where(table.metric.isin(POINTS), 1.0, 100.0)
    scaled = {name: table[name] * factor for name in ("value", "low", "high")}
    labelled = table.assign(model=labels_of(table.challenger), **scaled)
    return labelled.sort_values("model", kind="stable", ignore_index=True)
