"""Recorded games made for the tests: clean logs that scripts of agon have played, in the forms in which others write them."""

import json

import numpy as np
import pandas as pd

from agon.conf import load
from agon.plan import plan
from agon.play import play_now, turns_table

PER_SEAT = [
    "player",
    "action",
    "submitted",
    "points",
    "total",
    "final",
    "result",
    "reply",
    "ended",
    "legal",
    "view",
    "hidden",
]
SECRETS = "amber", "cobalt"


def turns(games, agents, repetitions=2, seed="log"):
    """Turns of a tournament, with their games."""
    matches = plan({"name": seed, "repetitions": repetitions, "tournaments": [{"games": games, "agents": agents}]})
    return turns_table([(match, play_now(match)) for match in matches])


def wide(games, agents, repetitions=2, seed="log"):
    """A row for each round, with columns for both seats, and everything that a mapping can name."""
    rows = turns(games, agents, repetitions, seed)
    table = pd.DataFrame({"game": rows.variant.astype(str)[::2].array, "episode": rows.match.astype(str)[::2].array})
    table["episode"] = pd.factorize(table.episode)[0] + 1
    table["round"] = rows["round"].to_numpy()[::2]
    for seat in (0, 1):
        own = rows.iloc[seat::2].reset_index(drop=True)
        action = own.action.astype(str)
        values = {"player": own.agent.astype(str), "action": action, "submitted": action, "points": own.payoff}
        values |= {
            "reply": [f"**{word}**." if place % 2 else word for place, word in enumerate(action)],
            "ended": "stop",
        }
        values |= {
            "legal": json.dumps(sorted(set(action))),
            "view": f"You hold {SECRETS[seat]}.",
            "hidden": SECRETS[seat],
        }
        for name, column in values.items():
            table[f"{name}{seat + 1}"] = column
        table[f"legal{seat + 1}"] = own.legal.map(lambda text: json.dumps(json.loads(text)))
    for seat in "12":
        table[f"legal{seat}"] = json.dumps(sorted({*table.action1, *table.action2}))
        table[f"first{seat}"] = (table[f"action{seat}"] == first_action(table)).astype(int)
    table["order"] = np.where(np.arange(len(table)) % 2, "[0, 1]", "[1, 0]")
    return scored(table)


def first_action(table):
    """The action that the label `first` is about."""
    return sorted({*table.action1, *table.action2})[0]


def scored(table):
    """Totals, final points and results anew, after rounds were changed."""
    order = table.sort_values(["game", "episode", "round"], kind="stable").index
    for seat in "12":
        table[f"total{seat}"] = table.loc[order].groupby(["game", "episode"])[f"points{seat}"].cumsum()
        table[f"final{seat}"] = table.groupby(["game", "episode"])[f"points{seat}"].transform("sum")
    for one, other in ("12", "21"):
        table[f"result{one}"] = np.sign(table[f"final{one}"] - table[f"final{other}"])
    return table


def long(table):
    """A row for each seat."""
    shared = ["game", "episode", "round", "order"]
    parts = [
        table[[*shared, *(f"{name}{seat}" for name in [*PER_SEAT, "first"])]]
        .set_axis([*shared, *PER_SEAT, "first"], axis=1)
        .assign(seat=seat)
        for seat in (1, 2)
    ]
    return pd.concat(parts).sort_values(["seat"], kind="stable").sort_index(kind="stable").reset_index(drop=True)


def mapping(table, games, form="wide", **more):
    """The mapping of a log; `more` replaces fields."""

    def columns(name):
        return [f"{name}1", f"{name}2"] if form == "wide" else name

    fields = {"format": "csv", "match": ["game", "episode"], "round": "round", "condition": ["game"], "order": "order"}
    fields |= {name: columns(name) for name in PER_SEAT}
    fields |= {"seat": "seat"} if form == "long" else {}
    words = sorted({*table.action1.dropna(), *table.action2})
    fields["labels"] = {
        "first": {"column": columns("first"), "values": {word: int(word == words[0]) for word in words}}
    }
    fields["rules_of_condition"] = {load("game", game).variant: {"game": game} for game in games}
    return fields | more
