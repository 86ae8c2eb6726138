"""Compares one's own models with those of the counterfactual paper: cooperation by round, and the round of comprehension."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pandas as pd

from agon.conf import current_name, current_names, suggest
from agon.errors import AgonError
from agon.games.matrix.metrics import limits, per_match, shares_over_rounds
from agon.games.tables import equilibrium_table, payoff_table
from agon.metrics import summary
from agon.metrics.interval import proportion_interval
from agon.paths import display_path, input_path
from agon.turns import read, read_games
from agon_papers.counterfactual.cells import MODELS, VARIANTS

Turns: TypeAlias = str | Path | pd.DataFrame
"""A table of turns, or its file."""
RECORDED = "transcripts/counterfactual.parquet"
PEERS = ["zs", "cot", "spp"]
"""Names of models as opponents."""
OWN = " (own)"
"""Suffix of the name of a model that is not the paper's."""
FAMILIES = {"pd": "Prisoner's dilemma family", "rps": "Rock, paper, scissors family"}


@dataclass(frozen=True)
class Comparison:
    """The matches to compare, with their turns and games."""

    matches: pd.DataFrame
    """Columns: match, game, variant, model (as figures call it), agent, opponent, own. They describe the player in seat 0."""
    turns: pd.DataFrame
    """Turns of the paper's models; of any models where `own` is None."""
    own: pd.DataFrame | None
    """One's own turns."""
    games: pd.DataFrame
    """The games of both tables (agon.turns.read_games)."""
    left_out: str
    """A text on the games, agents and opponents of one table that are not compared."""
    others: tuple[str, ...] = ()
    """Opponents that both sides have met, and that are not among these matches."""

    @cached_property
    def opponents(self) -> str:
        """The opponents of all matches, in words."""
        met = set(self.matches.opponent)
        if met != set(PEERS):
            return ", ".join(sorted(met))
        seats = pd.concat([part[["match", "model"]].drop_duplicates().astype(str) for part in self.parts()])
        return "models" if seats.match.duplicated().any() else "copies of themselves"

    @property
    def agents(self) -> str:
        """The agents of the models, in words."""
        return ", ".join(sorted(set(self.matches.agent)))

    def with_names(self, rows: pd.DataFrame) -> pd.DataFrame:
        """`rows` of these matches, with `model` as figures call it, and `own`."""
        names = self.matches.set_index("match")
        ids = rows.match.astype(str)
        return rows.assign(model=ids.map(names.model), own=ids.map(names.own).astype(bool))

    def parts(self) -> Iterator[pd.DataFrame]:
        """The turns of these matches, by table, so that each keeps its types."""
        for table in (self.turns, self.own):
            if table is not None:
                yield table[table.match.isin(self.matches.match)]


def comparison(
    own: Turns | None = None,
    recorded: Turns = RECORDED,
    models: Sequence[str] = (),
    agents: Sequence[str] = (),
    opponents: Sequence[str] = (),
    usual: Sequence[str] = (),
    games: pd.DataFrame | None = None,
) -> Comparison:
    """The matches that can be compared: of recorded games and variants, with agents and opponents that both sides have.

    `own`: one's own turns; None compares the models of `recorded`, which may be any turns. `models`, `agents` and `opponents` choose.
    Without them the models are the paper's eight, or else all. The agents are the `usual` ones, or else those that both sides have, or
    else all. The opponents are the paper's models where these played, or else those that both sides have met.
    An agent of one's own counts as the paper's style with which its name begins (zs_constrained as zs).
    `games`: the games of both tables, for turns that are in no file; else they are read beside the files.
    Matches without two players or without a table of payoffs are left out. Raises AgonError where nothing can be compared.
    """
    for name, choice in (("models", models), ("agents", agents), ("opponents", opponents)):
        if isinstance(choice, str):
            raise AgonError(f"{name}={choice} is a text: write a list, {name}=[{choice}]")
    opponents = [current_name("agent", opponent) for opponent in opponents]
    games = _games(*([recorded] if own is None else [own, recorded])) if games is None else games
    recorded_turns, own_turns, reasons = _turns(recorded), None, [""]
    matches = _players(recorded_turns, games)
    of_paper = bool(matches.model.isin(list(MODELS)).any())
    if of_paper and not models:
        matches = matches[matches.model.isin(list(MODELS))]
    matches = matches.assign(own=False)
    if own is not None:
        own_turns = _turns(own)
        if own_turns.empty:
            raise AgonError(f"{_source_name(own)} is empty: no match was played")
        own_matches, pairs = _players(own_turns, games).assign(own=True), set(_pairs(matches))
        if doubles := set(own_matches.match) & set(matches.match):
            raise AgonError(f"match {min(doubles)} is in both tables: name turns of your own")
        shared = own_matches[_pairs(own_matches).isin(pairs)]
        if shared.empty and pairs:
            whose = "the paper's" if of_paper else "those recorded"
            games_there = f"it has {_pair_names(set(_pairs(own_turns)))}, and they are {_pair_names(pairs)}"
            raise AgonError(f"no game of {_source_name(own)} is among {whose}: {games_there}")
        reasons = _explain_left_out(own_matches, shared, pairs)
        matches = pd.concat([matches, shared], ignore_index=True)
    if missing := [model for model in models if not matches.model.eq(model).any()]:
        raise AgonError(f"no match with model {missing[0]!r}: {suggest(missing[0], sorted(set(matches.model)))}")
    if models:
        matches = matches[matches.model.isin(list(models)) | matches.own]
    of_models = matches
    of_agents = _select(matches, "agent", agents, usual)
    matches = _select(of_agents, "opponent", opponents, PEERS if of_paper else ())
    met = [set(rows.opponent) for _, rows in of_agents.groupby("own")] if own is not None else [set()]
    others = () if opponents else tuple(sorted(set.intersection(*met) - set(matches.opponent)))
    if matches.empty or (own is not None and matches.own.nunique() < 2):
        raise AgonError("no match is left to compare: choose other models, agents or opponents")
    for column in ("agent", "opponent"):
        if own is not None and (
            unselected := sorted(set(of_models[column][of_models.own]) - set(matches[column][matches.own]))
        ):
            reasons.append(f"left out, unless {column}s=[...] names them: {', '.join(unselected)}")
    label = matches.model.map(MODELS).fillna(matches.model)
    is_ambiguous = matches.groupby("model").asked.transform("nunique").gt(1) & (not of_paper)
    has_other_style = matches.own & ~matches.asked.isin(matches.agent[~matches.own])
    label = label.where(~(is_ambiguous | has_other_style), label + " " + matches.asked)
    matches["model"] = np.where(matches.own, label + OWN, label)
    matches = matches.drop(columns="asked").reset_index(drop=True)
    games = games[_pairs(games).isin(set(_pairs(matches)))]
    return Comparison(matches, recorded_turns, own_turns, games, "; ".join(filter(None, reasons)), others)


def cooperation_of(comparison: Comparison) -> pd.DataFrame:
    """The share of the first (cooperative) action by round, in games of two actions: one's own models beside the paper's.

    Shares are of valid decisions, over all matches. Columns: game, variant, model, round, action, value (share), n (decisions, one per
    match), own, low, high (Clopper and Pearson's 95 % interval, of one's own models only).
    """
    parts = []
    for turns in comparison.parts():
        seat = turns[turns.seat.eq(0)]
        kind = {text: options[0] for text, options in _options(seat).items() if len(options) == 2}
        seat = seat[seat.legal.isin(list(kind))]
        shares = shares_over_rounds(comparison.with_names(seat), ["game", "variant", "model", "own"])
        first = seat[["game", "variant", "legal"]].drop_duplicates().astype(str)
        first = first.assign(action=first.legal.map(kind)).drop(columns="legal")
        parts.append(shares.astype({"game": str, "variant": str}).merge(first, on=["game", "variant", "action"]))
    table = pd.concat(parts, ignore_index=True).sort_values(["own", "model", "round"], kind="stable", ignore_index=True)
    bounds = [
        proportion_interval(round(row.value * row.n), row.n) if row.own else (np.nan, np.nan)
        for row in table.itertuples()
    ]
    low, high = zip(*bounds, strict=True) if bounds else ((), ())
    variants = pd.Categorical(table.variant, sort_variants(table.variant), ordered=True)
    columns = ["game", "variant", "model", "round", "action", "value", "n", "own", "low", "high"]
    return table.assign(variant=variants, low=low, high=high)[columns]


def comprehension_of(comparison: Comparison) -> pd.DataFrame:
    """The round from which the opponent is understood, by game, variant and model: one's own models beside the paper's.

    Columns of `agon.metrics.summary` (value, sd, n, low, high), with `own`, and `never`: the round that stands for never.
    One's own matches in which no decision was readable do not count.
    """
    matches = metrics_of(comparison)
    matches = matches[~matches.own | matches.void.lt(matches.rounds)]
    keys, cells = ["own", "game", "variant", "model"], ["agent", "opponent"]
    table = summary(matches, ["opponent_comprehension_as_done"], keys, limits=limits(matches), cells=cells)
    never = 1 + matches.groupby("game").rounds.max()
    return table.assign(
        never=table.game.map(never), variant=pd.Categorical(table.variant, sort_variants(table.variant), ordered=True)
    )


def metrics_of(comparison: Comparison) -> pd.DataFrame:
    """agon.games.matrix.metrics.per_match of a comparison, with `own`."""
    rules, equilibria = payoff_table(comparison.games), equilibrium_table(comparison.games)
    parts = [comparison.with_names(per_match(turns, rules, equilibria)) for turns in comparison.parts()]
    labels = dict.fromkeys(("game", "variant", "agent", "opponent"), str)
    return pd.concat([part.astype(labels) for part in parts], ignore_index=True)


def sort_variants(variants: pd.Series) -> list[str]:
    """The different variants, the paper's first and in its order."""
    names = [str(name) for name in pd.unique(variants)]
    return [name for name in VARIANTS if name in names] + sorted(set(names) - set(VARIANTS))


def styles_of(agents: pd.Series) -> pd.Series:
    """Agents by the paper's names of styles; scripts by their names in conf/agent, which both sides share."""
    names = (
        agents.astype(str).replace(current_names("agent")).str.replace(r"^(zs|cot|spp)_sc\d+$", r"sc-\1", regex=True)
    )
    return names.str.replace(r"^(zs|cot|spp)_.*$", r"\1", regex=True)


def _turns(turns: Turns) -> pd.DataFrame:
    return turns if isinstance(turns, pd.DataFrame) else read(turns)


def _games(*sources: Turns) -> pd.DataFrame:
    """The games beside files of turns. Raises AgonError for turns that are in no file."""
    if any(isinstance(source, pd.DataFrame) for source in sources):
        raise AgonError("turns that are in no file need games=, their table of games (agon.turns.read_games)")
    return read_games(*sources)


def _source_name(turns: Turns) -> str:
    return "the turns table" if isinstance(turns, pd.DataFrame) else display_path(input_path(turns))


def _pair_names(pairs: Iterable[tuple[str, str]]) -> str:
    return ", ".join(sorted(map(" ".join, pairs)))


def _players(turns: pd.DataFrame, games: pd.DataFrame) -> pd.DataFrame:
    """The players in seat 0 of matches with two seats and a table of payoffs.

    Columns: match, game, variant, model, agent (the paper's style where it is one), asked (the agent's name), opponent.
    """
    columns = ["match", "game", "variant", "model", "agent"]
    pair = [
        turns.loc[turns.seat.eq(seat), columns].drop_duplicates("match").astype(object).set_index("match")
        for seat in (0, 1)
    ]
    others = set(turns.match[turns.seat.gt(1)])
    players = pair[0][~pair[0].index.isin(others)].join(pair[1].agent.rename("opponent"), how="inner").reset_index()
    with_payoffs = games[games.options.map(len) > 0]
    players = players[_pairs(players).isin(set(_pairs(with_payoffs)))]
    players = players.assign(asked=players.agent, agent=styles_of(players.agent), opponent=styles_of(players.opponent))
    return players.assign(model=players.model.where(players.model.notna(), players.asked))


def _pairs(table: pd.DataFrame) -> pd.Series:
    """(game, variant) of every row."""
    return pd.Series(list(zip(table.game, table.variant, strict=True)), index=table.index, dtype=object)


def _select(matches: pd.DataFrame, what: str, choices: Sequence[str], usual: Sequence[str]) -> pd.DataFrame:
    """Rows whose column `what` is one of the choices. Without choices: the usual values that both sides have, or else all of these.

    Raises AgonError for a choice that no row has, and where no opponent is shared.
    """
    sides = [set(rows[what]) for _, rows in matches.groupby("own")]
    if choices:
        if missing := [choice for choice in choices if not any(choice in side for side in sides)]:
            raise AgonError(f"no match with {what} {missing[0]!r}: {suggest(missing[0], sorted(set().union(*sides)))}")
        return matches[matches[what].isin(list(choices))]
    both = set.intersection(*sides) if sides else set()
    if not both and what == "opponent":
        lists = " and ".join(", ".join(sorted(side)[:8]) for side in sides)
        raise AgonError(f"no opponent that both have met, without which nothing can be compared: {lists}")
    shared = both & set(usual) or both
    return matches[matches[what].isin(shared)] if shared else matches


def _explain_left_out(matches: pd.DataFrame, recorded: pd.DataFrame, pairs: set[tuple[str, str]]) -> list[str]:
    """Texts on the games that only one of two tables has."""
    reasons = []
    if counts := Counter(_pairs(matches[~matches.index.isin(recorded.index)])):
        reasons.append(
            "not recorded: " + ", ".join(f"{game} {variant} ({n} matches)" for (game, variant), n in counts.items())
        )
    if lacks := pairs - set(_pairs(recorded)):
        reasons.append("not played: " + _pair_names(lacks))
    return reasons


def _options(seat: pd.DataFrame) -> dict[str, list[str]]:
    """JSON of an action space -> its options, where it is a choice."""
    texts = [text for text in seat.legal.unique() if isinstance(text, str)]
    return {text: list(json.loads(text).get("choice", ())) for text in texts}


def sample_sizes(rows: pd.DataFrame, what: str) -> str:
    """The least number of decisions or matches behind a point of a figure, in words, with one's own apart."""
    recorded, own = (part.n.min() for part in (rows[~rows.own], rows[rows.own]))
    texts = [] if np.isnan(recorded) else [f"n at least {recorded:.0f} per {what}"]
    return ", ".join(texts + ([] if np.isnan(own) else [f"own: at least {own:.0f}"]))
