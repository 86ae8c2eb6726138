"""The TradeCraft paper's games as turns, the assessor's scores, and the printed numbers. It holds facts only."""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

from agon.games.tradecraft import story
from agon.games.tradecraft.metrics import trading

PAPER = "tradecraft"

DIMENSIONS = {
    "cooperation": "Cooperation",
    "goal_alignment": "Goal align.",
    "strategic_planning": "Strategic plan.",
    "intention_concealment": "Concealment",
    "persuasion": "Persuasion",
    "information_utilization": "Information use",
    "adaptability": "Adaptability",
    "self_interested_behavior": "Self-interest",
}
"""Dimension of the assessor, in the order of the radars' axes -> its name in figures."""

STRATEGIC = ("goal_alignment", "strategic_planning", "information_utilization")
"""The dimensions in which winners and losers differ, according to the paper."""

MODELS = ("gpt-4o", "claude", "gemini")
PERSONAS = ("cooperative", "competitive", "unprimed")

PANELS = {
    "a": ("gpt-4o", "claude"),
    "b": ("gemini", "gpt-4o"),
    "c": ("gemini", "claude"),
    "d": ("gemini-competitive-1", "gemini-competitive-2"),
    "e": ("gemini-cooperative-1", "gemini-cooperative-2"),
    "f": ("gemini-unprimed-1", "gemini-unprimed-2"),
    "g": ("gemini-cooperative", "gemini-competitive"),
    "h": ("gemini-unprimed", "gemini-competitive"),
    "i": ("gemini-unprimed", "gemini-cooperative"),
}
"""Panel of Figure 4 -> its two players. The caption names groups of three panels. We chose the order within a to c
and g to i."""

LOG_TURNS = 12
"""Turns in a log that breaks off."""
LIMIT = 15
"""The most turns of a game, by default."""


def group_of(name: str) -> str:
    """The model or persona of a player: 'gemini-cooperative-1' gives 'cooperative', 'gpt-4o' gives 'gpt-4o'."""
    return next((persona for persona in PERSONAS if persona in name), name)


METRIC_PARTS = {
    "invalid_with_checks": ("refused", "turns"),
    "failed_check": ("bad_checks", "turns"),
    "refused_proposal": ("bad_proposals", "turns"),
    "empty_proposal": ("empty", "turns"),
    "not_accepted": ("rejected", "decisions"),
    "undecided": ("defaults", "decisions"),
    "rejected": ("chosen_reject", "chosen"),
}
"""Metric of `trading` -> its numerator and denominator, as columns of `Facts.counts`."""


@dataclass(frozen=True)
class Facts:
    """The paper's data. turns: by agon_papers.ingest.tradecraft.

    All others: files of data/published/tradecraft, with values as printed.
    """

    turns: pd.DataFrame
    games: pd.DataFrame
    scores: pd.DataFrame
    figure_4: pd.DataFrame
    table_2: pd.DataFrame
    text: pd.DataFrame
    log_turns: int = LOG_TURNS
    """The most turns in a log."""

    def text_number(self, key: str) -> float:
        """A number of the paper's text."""
        return float(self.text.set_index("key").value[key])

    @cached_property
    def calls(self) -> pd.DataFrame:
        """The calls in the turns (agon.games.tradecraft.story)."""
        return story.calls(self.turns.astype({"match": "str"}))

    @cached_property
    def seats(self) -> pd.DataFrame:
        """The listed games, a row per seat: match, seat, matchup, problem, turns (header lines), cut, logged, name,
        group, against (the other's group), target, hand, won. Values that only a log has are absent without a log.
        """
        sides = ["name", "model", "persona", "target", "hand", "won"]
        table = pd.wide_to_long(self.games.rename(columns={"game": "match"}), sides, "match", "seat", "_").reset_index()
        table = table.sort_values(["match", "seat"], kind="stable").reset_index(drop=True)
        group = table.name.map(group_of)
        against = group.groupby(table.match).transform(lambda pair: pair.to_numpy()[::-1])
        target = [None if pd.isna(text) else next(iter(json.loads(text))) for text in table.target]
        return table.assign(group=group, against=against, target=target)

    @cached_property
    def players(self) -> pd.DataFrame:
        """`seats` of the games that are logged and in the turns. logged: the number of logged turns.
        length: the number of all turns (15 if the log breaks off).
        """
        rows = self.seats[self.seats.logged & self.seats.match.isin(self.turns.match)]
        table = rows.astype({"cut": bool, "won": bool}).reset_index(drop=True)
        return table.assign(logged=table.turns.clip(upper=self.log_turns), length=table.turns.mask(table.cut, LIMIT))

    @cached_property
    def counts(self) -> pd.DataFrame:
        """`players` with counts over their logged turns, by agon's own metrics.

        Calls. refused: all refused calls. bad_checks, bad_proposals: refused checks and proposals. empty: empty
        proposals, without the program's defaults. violations: refused and empty. checks: all craft checks.

        Decisions on received proposals. decisions: all. rejected: those that took effect as reject. defaults: those
        that the program made. chosen: all others. chosen_reject: those of the chosen that took effect as reject.
        said_reject: all that say reject, with defaults.

        one: 1, for the game.
        """
        metrics = trading(self.turns, ["match", "seat"])
        wide = metrics.pivot(index=["match", "seat"], columns="metric", values=["value", "n"])
        wide = wide.reindex(columns=pd.MultiIndex.from_product([["value", "n"], METRIC_PARTS])).fillna(0)
        columns = {n: wide["n", metric] for metric, (_, n) in METRIC_PARTS.items()}
        columns |= {
            hits: (wide["value", metric] * wide["n", metric]).round() for metric, (hits, _) in METRIC_PARTS.items()
        }
        tools = {
            "checks": self.calls.tool == "craft_check",
            "said_reject": (self.calls.tool == "decide") & (self.calls.decision == "reject"),
        }
        calls_by_seat = self.calls.assign(**tools).groupby(["match", "seat"])[[*tools]].sum()
        table = pd.DataFrame(columns).join(calls_by_seat).drop(columns="turns").astype(int)
        table = table.assign(one=1, violations=table["refused"] + table["empty"])
        return self.players.merge(table, on=["match", "seat"], validate="one_to_one")


def read_facts(folder: Path, turns: pd.DataFrame) -> Facts:
    """Reads a folder with games.csv, scores.parquet, figure_4.csv, table_2.csv and text.csv.

    `turns`: the ingested games.
    """
    games = pd.read_csv(folder / "games.csv", dtype={"cut": "boolean", "won_0": "boolean", "won_1": "boolean"})
    figure_4, table_2 = (pd.read_csv(folder / f"{name}.csv") for name in ("figure_4", "table_2"))
    text = pd.read_csv(folder / "text.csv", dtype={"value": str})
    return Facts(turns, games, pd.read_parquet(folder / "scores.parquet"), figure_4, table_2, text)
