"""The TradeCraft paper's games as turns, the assessor's scores, and the printed numbers. Facts, no sentences."""

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
"""What the assessor scores, in the order of the radars' axes -> its name in figures."""

STRATEGIC = ("goal_alignment", "strategic_planning", "information_utilization")
"""The dimensions in which the paper says that winners and losers differ."""

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
"""Panel of Figure 4 -> its two players. The caption gives the letters to groups of three; their order within a to c and g to i is ours."""

LOGGED = 12
"""Turns after which a log breaks off."""
LIMIT = 15
"""Turns after which a game ends, by default."""


def group_of(name: str) -> str:
    """The model or the persona of a player: 'gemini-cooperative-1' is 'cooperative', 'gpt-4o' itself."""
    return next((persona for persona in PERSONAS if persona in name), name)


COUNTED = {
    "invalid_with_checks": ("refused", "turns"),
    "failed_check": ("bad_checks", "turns"),
    "refused_proposal": ("bad_proposals", "turns"),
    "empty_proposal": ("empty", "turns"),
    "not_accepted": ("rejected", "decisions"),
    "undecided": ("defaults", "decisions"),
    "rejected": ("chosen_reject", "chosen"),
}
"""Metric of `trading` -> what it counts and what it divides by, as columns of `Facts.counts`."""


@dataclass(frozen=True)
class Facts:
    """turns: agon.ingest.tradecraft; games, scores, figure_4, table_2, text: the files of data/published/tradecraft, values as printed."""

    turns: pd.DataFrame
    games: pd.DataFrame
    scores: pd.DataFrame
    figure_4: pd.DataFrame
    table_2: pd.DataFrame
    text: pd.DataFrame

    def text_number(self, key: str) -> float:
        """A number of the paper's text."""
        return float(self.text.set_index("key").value[key])

    @cached_property
    def calls(self) -> pd.DataFrame:
        """The turns with what is in them; see agon.games.tradecraft.story."""
        return story.calls(self.turns.astype({"match": "str"}))

    @cached_property
    def seats(self) -> pd.DataFrame:
        """The listed games, a row per seat: match, seat, matchup, problem, turns (header lines), cut, logged, name, group, against
        (the other's group), target, hand, won. What only a log tells is absent where there is none.
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
        """`seats` of the games that are both logged and in the turns; `logged` is the number of their logged turns (12 at most),
        `length` of all turns (15 where the log breaks off).
        """
        rows = self.seats[self.seats.logged & self.seats.match.isin(self.turns.match)]
        table = rows.astype({"cut": bool, "won": bool}).reset_index(drop=True)
        return table.assign(logged=table.turns.clip(upper=LOGGED), length=table.turns.mask(table.cut, LIMIT))

    @cached_property
    def counts(self) -> pd.DataFrame:
        """`players` with counts over their logged turns, as agon's own metrics count them.

        refused: all refused calls; bad_checks, bad_proposals: some of these; empty: proposals of nothing, without those that the program
        made for it; violations: refused and empty. decisions: on proposals that it received; rejected: those that
        took effect as reject; defaults: those that were made for it; chosen: all others; chosen_reject: those of them that
        took effect as reject.
        checks: craft checks, refused or not; said_reject: decisions that say reject, defaults included; one: 1, the game.
        """
        metrics = trading(self.turns, ["match", "seat"])
        wide = metrics.pivot(index=["match", "seat"], columns="metric", values=["value", "n"])
        wide = wide.reindex(columns=pd.MultiIndex.from_product([["value", "n"], COUNTED])).fillna(0)
        columns = {n: wide["n", metric] for metric, (_, n) in COUNTED.items()}
        columns |= {hits: (wide["value", metric] * wide["n", metric]).round() for metric, (hits, _) in COUNTED.items()}
        tools = {
            "checks": self.calls.tool == "craft_check",
            "said_reject": (self.calls.tool == "decide") & (self.calls.decision == "reject"),
        }
        called = self.calls.assign(**tools).groupby(["match", "seat"])[[*tools]].sum()
        table = pd.DataFrame(columns).join(called).drop(columns="turns").astype(int)
        table = table.assign(one=1, violations=table.refused + table.empty)
        return self.players.merge(table, on=["match", "seat"], validate="one_to_one")


def read_facts(folder: Path, turns: pd.DataFrame) -> Facts:
    """The facts of a folder with games.csv, scores.parquet, figure_4.csv, table_2.csv and text.csv, beside the ingested turns."""
    games = pd.read_csv(folder / "games.csv", dtype={"cut": "boolean", "won_0": "boolean", "won_1": "boolean"})
    figure_4, table_2 = (pd.read_csv(folder / f"{name}.csv") for name in ("figure_4", "table_2"))
    text = pd.read_csv(folder / "text.csv", dtype={"value": str})
    return Facts(turns, games, pd.read_parquet(folder / "scores.parquet"), figure_4, table_2, text)
