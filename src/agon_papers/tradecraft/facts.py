"""The TradeCraft paper's games as turns, the assessor's scores, and the printed numbers. Facts, no sentences."""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

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


def group_of(name: str) -> str:
    """The model or the persona of a player: 'gemini-cooperative-1' is 'cooperative', 'gpt-4o' itself."""
    return next((persona for persona in PERSONAS if persona in name), name)


@dataclass(frozen=True)
class Facts:
    """turns: agon.ingest.tradecraft; games, scores, figure_4, text: the files of data/published/tradecraft, values as printed."""

    turns: pd.DataFrame
    games: pd.DataFrame
    scores: pd.DataFrame
    figure_4: pd.DataFrame
    text: pd.DataFrame

    def said(self, key: str) -> float:
        """A number of the paper's text."""
        return float(self.text.set_index("key").value[key])

    @cached_property
    def calls(self) -> pd.DataFrame:
        """The turns, read: match, round, turn, phase, seat, payoff, name, group, tool, call, detail, and what these say.

        That is ok, fault, default (both empty when there is none), decision (in the player's words) and effect (accept or reject).
        """
        table = self.turns[["match", "round", "turn", "phase", "seat", "agent", "payoff"]].astype(
            {"match": "str", "agent": "str", "phase": "str"}
        )
        calls, details = list(map(json.loads, self.turns.action)), list(map(json.loads, self.turns.detail))
        found: dict[str, Any] = {
            "tool": [call["tool"] for call in calls],
            "call": calls,
            "detail": details,
            "ok": [detail["ok"] for detail in details],
            "fault": [detail.get("fault", "") for detail in details],
            "default": [detail.get("default", "") for detail in details],
            "decision": [call.get("decision", "") for call in calls],
            "effect": [
                detail.get("effect", call.get("decision", "")) for call, detail in zip(calls, details, strict=True)
            ],
        }
        return table.rename(columns={"agent": "name"}).assign(group=table.agent.map(group_of), **found)

    @cached_property
    def seats(self) -> pd.DataFrame:
        """A row per logged game and seat: match, matchup, problem, seat, name, group, target, won, turns (header lines), cut."""
        logged = self.games[self.games.logged]
        columns = ["game", "matchup", "problem", "turns", "cut"]
        parts = [
            logged[columns].assign(
                seat=seat,
                name=logged[f"name_{seat}"],
                group=logged[f"name_{seat}"].map(group_of),
                target=[next(iter(json.loads(target))) for target in logged[f"target_{seat}"]],
                won=logged[f"won_{seat}"].astype(bool),
            )
            for seat in (0, 1)
        ]
        found = pd.concat(parts).rename(columns={"game": "match"})
        return found.sort_values(["match", "seat"], kind="stable").reset_index(drop=True)

    @cached_property
    def players(self) -> pd.DataFrame:
        """`seats` of the games that are both listed and in the turns, with their logged turns (12 at most)."""
        known = self.seats[self.seats.match.isin(self.calls.match.unique())]
        return known.assign(logged=known.turns.clip(upper=LOGGED)).reset_index(drop=True)


def read_facts(folder: Path, turns: pd.DataFrame) -> Facts:
    """The facts of a folder with games.csv, scores.parquet, figure_4.csv and text.csv, beside the ingested turns."""
    games = pd.read_csv(folder / "games.csv", dtype={"cut": "boolean", "won_0": "boolean", "won_1": "boolean"})
    figure_4 = pd.read_csv(folder / "figure_4.csv", dtype={"value": str}, keep_default_na=False)
    text = pd.read_csv(folder / "text.csv", dtype={"value": str})
    return Facts(turns, games, pd.read_parquet(folder / "scores.parquet"), figure_4, text)
