"""The recorded games of the TradeCraft paper as turns, from its facts: games.csv and events.parquet.

A row is one recorded call of a player, written as a call of the tools of agon.games.tradecraft; nothing is repaired. `match` is
the record's own id, `round` the game's turn, `turn` the call's place in the match, `agent` the player's name in the log. `detail`
has what the log says of the call:

- `ok`, `fault`, and `default`: why the harness acted for the player.
- `effect` and `spelled`: how a decision was taken, where it was taken for the other one.
- `applied`: the craft was refused, and done all the same.
- `recipes`: how many recipes the answer named. `flag`: the result of a check, as the client got it.
- `hand`: the hand after the call. `hands`: both hands.
- `target` and `start`: the seat's target and first hand, on its first row.

Logs that break off after turn 12 end there, and only the winner is known.
"""

import json
import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pandas as pd

from agon.turns import action_text, typed
from agon_papers.ingest.base import LARGEST, UNFIT, Bad, Ingested, first_line, is_name, reading

RULES = 1
"""Version of the columns that are written about a recorded game."""

FAULTS = {1: "no such recipe", 2: "not in the hand"}
"""Return code of a craft check -> fault. Code 1 also stands for a recipe with wrong amounts."""

DEFAULTS = {"max_iter": "step limit", "format_retry": "refused proposals"}
"""The harness's word -> why it acted for a player."""

PHASES = {"proposal": "propose", "decision": "decide"}
"""Kind of event -> its phase; all other kinds happen in the phase that the match is in."""


class Contradiction(Exception):
    """A record contradicts itself; the text is one line."""


def ingest(path: Path, games: Sequence[object] = ()) -> Ingested:
    """The games under `path` that have a log; those that contradict themselves are listed as bad.

    `games` is ignored: the problems are in the records. Raises AgonError when a file is missing or damaged.
    """
    games_table, events = read_games(path), read_events(path)
    logs = dict(iter(events.groupby("game", sort=False)))
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    bad, matches = [], 0
    if nameless := events.game.isna().sum():
        bad.append(Bad("events.parquet", f"{nameless} events left out: they are of no game"))
    for game in games_table[games_table.logged].to_dict("records"):
        try:
            rows = list(_rows(game, logs.pop(game["game"], events.iloc[:0])))
        except (Contradiction, AttributeError, ArithmeticError, RecursionError, *UNFIT) as reason:
            known = isinstance(reason, Contradiction)
            text = str(reason) if known else f"its log cannot be read ({first_line(reason)})"
            bad.append(Bad(f"{game['matchup']}/{game['game']}", text))
            continue
        matches += 1
        for name in COLUMNS:
            columns[name] += [row[name] for row in rows]
    bad += [Bad(f"events.parquet: {name}", "games.csv has no such game") for name in logs]
    return Ingested(typed(columns), sorted(bad), matches)


COLUMNS = (
    *("experiment", "match", "game", "variant", "rules", "repetition", "round", "turn", "phase", "seat", "agent"),
    *("model", "action", "valid", "fallback", "detail", "payoff", "config"),
)

PLAYER_COLUMNS = tuple(f"{name}_{seat}" for name in ("model", "persona", "hand", "target", "name") for seat in (0, 1))
"""Columns of games.csv about each player."""

EVENT_COLUMNS = (
    *("game", "turn", "step", "seat", "kind", "partner", "offered", "requested", "status", "spelled", "effect"),
    *("default", "inputs", "outputs", "hand", "item", "valid", "return_code", "refused", "n_recipes", "client_flag"),
)
"""Columns of events.parquet that are read here."""

TYPES = {"turn": "int64", "step": "int64", "seat": "Int64", "partner": "Int64", "kind": "str"}


def read_games(path: Path) -> pd.DataFrame:
    """games.csv: a row per game of the paper, seats in the game's order where the log says it (`logged`)."""
    with reading(path / "games.csv"):
        flags = dict.fromkeys(("cut", "won_0", "won_1"), "boolean")
        table = pd.read_csv(
            path / "games.csv", dtype=flags | dict.fromkeys(("game", "matchup", *PLAYER_COLUMNS), "str")
        )
        if missing := {"game", "matchup", *PLAYER_COLUMNS, *flags} - set(table):
            raise ValueError(f"no column {', '.join(sorted(missing))}")
        return table.astype({"problem": "Int64", "logged": "bool", "turns": "int64"})


def read_events(path: Path) -> pd.DataFrame:
    """events.parquet: a row per recorded event, in the order of each game's log."""
    with reading(path / "events.parquet"):
        table = pd.read_parquet(path / "events.parquet").astype(TYPES)
        if missing := set(EVENT_COLUMNS) - set(table):
            raise ValueError(f"no column {', '.join(sorted(missing))}")
        return table.sort_values(["game", "step"], kind="stable")


# ---- one game ----


def _rows(game: dict[str, Any], log: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """A game's calls; winners are paid on their last one."""
    for name in ("game", "name_0", "name_1", "model_0", "model_1"):
        if not is_name(game[name]):
            raise Contradiction(f"its {name} cannot be {game[name]!r:.40}")
    constants = {
        "experiment": "tradecraft",
        "match": game["game"],
        "game": "tradecraft",
        "variant": f"problem_{game['problem']}_{game['name_0']}_first",
        "rules": RULES,
        "repetition": 0,
        "config": _config(game),
    }
    calls = _calls(game, log.to_dict("records"))
    if {call["seat"] for call in calls} != {0, 1}:
        raise Contradiction("its log does not have calls of both players")
    last = {call["seat"]: place for place, call in enumerate(calls)}
    for place, call in enumerate(calls):
        seat = call["seat"]
        wins = bool(game[f"won_{seat}"]) and last[seat] == place
        player = {"agent": game[f"name_{seat}"], "model": game[f"model_{seat}"]}
        detail = json.dumps(call.pop("detail"))
        yield {**constants, **player, **call, "turn": place + 1, "detail": detail, "payoff": float(wins)}


def _config(game: dict[str, Any]) -> str:
    values = [str(game[f"{name}_{seat}"]) for name in ("model", "persona", "hand", "target") for seat in (0, 1)]
    return blake2b(json.dumps(values).encode(), digest_size=8).hexdigest()


def _calls(game: dict[str, Any], log: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The calls of one log. Other events (the table's notices, answers, refusals) belong to the call before them."""
    calls: list[dict[str, Any]] = []
    phase, seats = "propose", set()
    for event in log:
        kind, seat = event["kind"], event["seat"]
        if kind in NOTICES:
            _add_notice(calls, event)
            continue
        if seat not in (0, 1):
            raise Contradiction(f"step {event['step']}: {kind!s:.40} is no known event of a player")
        if not 1 <= event["turn"] <= LARGEST:
            raise Contradiction(f"step {event['step']}: turn is {event['turn']}: they are numbered from 1")
        if not calls or event["turn"] != calls[-1]["round"]:
            phase = "propose"
        own_phase = PHASES.get(kind, "craft" if kind.startswith("craft") else phase)
        if own_phase != phase:
            raise Contradiction(f"step {event['step']}: {kind} in the phase {phase}")
        action, detail = _read_call(event)
        default = DEFAULTS.get(event["default"], "")
        if default:
            detail["default"] = default
        if seat not in seats:
            detail |= {"target": _items(game[f"target_{seat}"]), "start": _items(game[f"hand_{seat}"])}
            seats.add(seat)
        call = {"round": event["turn"], "phase": phase, "seat": seat, "action": action_text(action), "detail": detail}
        calls.append({**call, "valid": detail["ok"] and not default, "fallback": default})
        if kind == "proposal" and detail["ok"]:
            phase = "decide"
        elif kind == "decision":
            phase = "craft"
    return calls


def _add_notice(calls: list[dict[str, Any]], event: dict[str, Any]) -> None:
    """Adds to the last call what an event that is no call says of it."""
    if event["kind"] == "all_hands":
        calls[-1]["detail"]["hands"] = [_hand(hand) for _, hand in sorted(_json(event, "hand").items())]
    elif event["kind"] == "phase_error":
        calls[-1]["detail"]["fault"] = "wrong phase"
    elif event["kind"] == "recipes_reply":
        calls[-1]["detail"]["recipes"] = int(event["n_recipes"])


NOTICES = ("start", "all_hands", "game_over", "recipes_reply", "proposal_invalid", "phase_error")
"""Kinds of event that are no calls."""

# ---- events -> calls ----

Call = tuple[dict[str, Any], dict[str, Any]]
"""The call, and its `detail`."""


def _read_call(event: dict[str, Any]) -> Call:
    """An event of a player as a call. Of a craft in the wrong phase the arguments were not recorded."""
    match kind := event["kind"]:
        case "item_info":
            return {"tool": "item_info", "name": event["item"]}, {"ok": True}
        case "recipes_query":
            return {"tool": "possible_recipes_from_hand"}, {"ok": True}
        case "proposal":
            partner = event["partner"]
            player = None if pd.isna(partner) or partner < 0 else f"Player {int(partner) + 1}"
            sides = {"offer": _hand(_json(event, "offered")), "request": _hand(_json(event, "requested"))}
            ok = event["status"] == "sent"
            fault = {} if ok else {"fault": "bad partner" if player is None else "beyond the hand"}
            return {"tool": "submit_proposal", "partner": player, **sides}, {"ok": ok, **fault}
        case "decision":
            word = str(event["spelled"]).lower()
            effect = {} if event["effect"] == word else {"effect": event["effect"], "spelled": event["spelled"]}
            return {"tool": "decide", "decision": word}, {"ok": True, **effect}
        case "craft_check":
            code = int(event["return_code"])
            fault = {"fault": FAULTS[code]} if code else {}
            return {"tool": kind, **_sides(event)}, {"ok": not code, **fault, "flag": event["client_flag"]}
        case "craft_apply" if event["refused"] == 1:
            return {"tool": kind}, {"ok": False, "fault": "refused"}
        case "craft_apply":
            ok = bool(event["valid"] == 1)
            forced = {} if ok else {"fault": "refused", "applied": True}
            return {"tool": kind, **_sides(event)}, {"ok": ok, **forced, "hand": _hand(_json(event, "hand"))}
        case "craft_done":
            return {"tool": kind}, {"ok": True, "hand": _hand(_json(event, "hand"))}
    raise Contradiction(f"step {event['step']}: {kind!s:.40} is no known event of a player")


def _sides(event: dict[str, Any]) -> dict[str, Any]:
    return {name: _hand(_json(event, name)) for name in ("inputs", "outputs")}


def _json(event: dict[str, Any], name: str) -> dict[str, Any]:
    try:
        value = json.loads(event[name])
        if isinstance(value, dict):
            return value
    except (TypeError, ValueError, RecursionError):
        pass
    raise Contradiction(f"step {event['step']}: {name} of {event['kind']} is no JSON object")


def _items(text: str) -> dict[str, Any]:
    """A hand or target as it was written."""
    items: dict[str, Any] = json.loads(text)
    _hand(items)
    return items


def _hand(items: dict[str, Any]) -> dict[str, int | str]:
    return {str(item): amount(str(number)) for item, number in sorted(items.items())}


def amount(text: str) -> int | str:
    """A recorded amount as an integer, or as a fraction such as '7/8'; 0.6666666666666666 is read as 2/3."""
    if not AMOUNT.fullmatch(text) or re.search("/0+$", text):
        raise Contradiction(f"{text!r:.40} is no amount")
    exact = Fraction(text).limit_denominator()
    return int(exact) if exact.denominator == 1 else str(exact)


AMOUNT = re.compile(r"-?[0-9]{1,18}(?:/[0-9]{1,18}|(?:\.[0-9]{0,18})?(?:e-?[0-9]{1,2})?)", re.ASCII)
"""The form of an amount, with bounds: as a fraction, 1e999999999 would fill all memory."""
