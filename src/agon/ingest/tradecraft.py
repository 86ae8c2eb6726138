"""The recorded games of the TradeCraft paper as turns, from its facts: games.csv and events.parquet.

A row is one recorded call of a player, as the tools of agon.games.tradecraft are called; nothing is repaired. `match` is the
record's own id, `round` the game's turn, `turn` the call's place in the match, `agent` the player's name in the log. `detail` is
what the log says of the call: `ok`, `fault`, `default` (the harness acted for the player), `effect` and `spelled` (how a decision
was taken, where that is not what it says), `applied` (a refused craft that was done all the same), `recipes` (how many were named),
`flag` (what the client was told of a check), `hand` (after it), `hands` (of both); on a seat's first row also `target` and `start`,
its hand. Logs that break off after turn 12 end there, and only the winner is known.
"""

import io
import json
import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from hashlib import blake2b
from pathlib import Path
from typing import Any, cast

import pandas as pd

from agon.ingest.base import Bad, Ingested
from agon.ingest.files import UNFIT, first_line, parquet, read_whole, whole
from agon.ingest.recorded import MOST, is_name
from agon.turns import action_text, typed

RULES = 1
"""Version of what is written about a recorded game."""

FAULTS = {1: "no such recipe", 2: "not in the hand"}
"""Return code of a craft check -> fault. The log's code 1 also stands for a recipe with wrong amounts."""

DEFAULTS = {"max_iter": "step limit", "format_retry": "refused proposals"}
"""The harness's name -> why it acted for a player."""

PHASES = {"proposal": "propose", "decision": "decide"}
"""Kinds of event of one phase only; all others happen in the phase that the match is in."""


class Contradiction(Exception):
    """What a record cannot be; its text is one line."""


def ingest(path: Path, games: Sequence[object] = ()) -> Ingested:
    """The games under `path`, without those whose log is not there; those that contradict themselves are listed as bad.

    Raises AgonError when a file is missing or is not what it should be. `games` is not asked: the problems are in the records.
    """
    listed, events = read_games(path), read_events(path)
    logs = dict(iter(events.groupby("game", sort=False)))
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    bad, matches = [], 0
    if nameless := events.game.isna().sum():
        bad.append(Bad("events.parquet", f"{nameless} events left out: they are of no game"))
    for game in listed[listed.logged].to_dict("records"):
        try:
            rows = list(_rows(game, logs.pop(game["game"], events.iloc[:0])))
        except (Contradiction, AttributeError, ArithmeticError, RecursionError, *UNFIT) as reason:
            said = (
                str(reason) if isinstance(reason, Contradiction) else f"its log cannot be read ({first_line(reason)})"
            )
            bad.append(Bad(f"{game['matchup']}/{game['game']}", said))
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

SAID = tuple(f"{name}_{seat}" for name in ("model", "persona", "hand", "target", "name") for seat in (0, 1))
"""Columns of games.csv with what was said of each player."""

EVENT = (
    *("game", "turn", "step", "seat", "kind", "partner", "offered", "requested", "status", "spelled", "effect"),
    *("default", "inputs", "outputs", "hand", "item", "valid", "return_code", "refused", "n_recipes", "client_flag"),
)
"""Columns of events.parquet that are read here."""

TYPES = {"turn": "int64", "step": "int64", "seat": "Int64", "partner": "Int64", "kind": "str"}


def read_games(path: Path) -> pd.DataFrame:
    """games.csv: a row per game of the paper, seats in the game's order where the log says it (`logged`)."""
    with read_whole(path / "games.csv") as stream:
        flags = dict.fromkeys(("cut", "won_0", "won_1"), "boolean")
        table = pd.read_csv(io.BytesIO(whole(stream)), dtype=flags | dict.fromkeys(("game", "matchup", *SAID), "str"))
        if missing := {"game", "matchup", *SAID, *flags} - set(table):
            raise ValueError(f"no column {', '.join(sorted(missing))}")
        return table.astype({"problem": "Int64", "logged": "bool", "turns": "int64"})


def read_events(path: Path) -> pd.DataFrame:
    """events.parquet: a row per recorded event, in the order of each game's log."""
    with parquet(path / "events.parquet") as stream:
        table = pd.read_parquet(cast(Any, stream)).astype(TYPES)
        if missing := set(EVENT) - set(table):
            raise ValueError(f"no column {', '.join(sorted(missing))}")
        return table.sort_values(["game", "step"], kind="stable")


# ---- one game ----


def _rows(game: dict[str, Any], log: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """A game's calls; winners are paid on their last one."""
    for name in ("game", "name_0", "name_1", "model_0", "model_1"):
        if not is_name(game[name]):
            raise Contradiction(f"its {name} cannot be {game[name]!r:.40}")
    known = {
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
        paid = bool(game[f"won_{seat}"]) and last[seat] == place
        who = {"agent": game[f"name_{seat}"], "model": game[f"model_{seat}"]}
        detail = json.dumps(call.pop("detail"))
        yield {**known, **who, **call, "turn": place + 1, "detail": detail, "payoff": float(paid)}


def _config(game: dict[str, Any]) -> str:
    said = [str(game[f"{name}_{seat}"]) for name in ("model", "persona", "hand", "target") for seat in (0, 1)]
    return blake2b(json.dumps(said).encode(), digest_size=8).hexdigest()


def _calls(game: dict[str, Any], log: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The calls of one log. Events that are no calls (what the table shows, answers, refusals) belong to the call before them."""
    calls: list[dict[str, Any]] = []
    phase, seen = "propose", set()
    for event in log:
        kind, seat = event["kind"], event["seat"]
        if kind in TELLING:
            _told(calls, event)
            continue
        if kind not in CALLS or seat not in (0, 1):
            raise Contradiction(f"step {event['step']}: {kind!s:.40} is no known event of a player")
        if not 1 <= event["turn"] <= MOST:
            raise Contradiction(f"step {event['step']}: turn is {event['turn']}: they are numbered from 1")
        if not calls or event["turn"] != calls[-1]["round"]:
            phase = "propose"
        due = PHASES.get(kind, "craft" if kind.startswith("craft") else phase)
        if due != phase:
            raise Contradiction(f"step {event['step']}: {kind} in the phase {phase}")
        action, detail = CALLS[kind](event)
        default = DEFAULTS.get(event["default"], "")
        if default:
            detail["default"] = default
        if seat not in seen:
            detail |= {"target": _items(game[f"target_{seat}"]), "start": _items(game[f"hand_{seat}"])}
            seen.add(seat)
        said = {"round": event["turn"], "phase": phase, "seat": seat, "action": action_text(action), "detail": detail}
        calls.append({**said, "valid": detail["ok"] and not default, "fallback": default})
        if kind == "proposal" and detail["ok"]:
            phase = "decide"
        elif kind == "decision":
            phase = "craft"
    return calls


def _told(calls: list[dict[str, Any]], event: dict[str, Any]) -> None:
    """What an event that is no call says of the call before it."""
    if event["kind"] == "all_hands":
        calls[-1]["detail"]["hands"] = [_hand(hand) for _, hand in sorted(_json(event, "hand").items())]
    elif event["kind"] == "phase_error":
        calls[-1]["detail"]["fault"] = "wrong phase"
    elif event["kind"] == "recipes_reply":
        calls[-1]["detail"]["recipes"] = int(event["n_recipes"])


TELLING = ("start", "all_hands", "game_over", "recipes_reply", "proposal_invalid", "phase_error")
"""Kinds of event that are no calls."""

# ---- calls: what was called, and what the log says of it ----

Told = tuple[dict[str, Any], dict[str, Any]]


def _item_info(event: dict[str, Any]) -> Told:
    return {"tool": "item_info", "name": event["item"]}, {"ok": True}


def _recipes(event: dict[str, Any]) -> Told:
    return {"tool": "possible_recipes_from_hand"}, {"ok": True}


def _proposal(event: dict[str, Any]) -> Told:
    partner = event["partner"]
    named = None if pd.isna(partner) or partner < 0 else f"Player {int(partner) + 1}"
    sides = {"offer": _hand(_json(event, "offered")), "request": _hand(_json(event, "requested"))}
    ok = event["status"] == "sent"
    fault = {} if ok else {"fault": "bad partner" if named is None else "beyond the hand"}
    return {"tool": "submit_proposal", "partner": named, **sides}, {"ok": ok, **fault}


def _decision(event: dict[str, Any]) -> Told:
    word = str(event["spelled"]).lower()
    effect = {} if event["effect"] == word else {"effect": event["effect"], "spelled": event["spelled"]}
    return {"tool": "decide", "decision": word}, {"ok": True, **effect}


def _craft_check(event: dict[str, Any]) -> Told:
    code = int(event["return_code"])
    fault = {"fault": FAULTS[code]} if code else {}
    return {"tool": "craft_check", **_sides(event)}, {"ok": not code, **fault, "flag": event["client_flag"]}


def _craft_apply(event: dict[str, Any]) -> Told:
    """Its arguments were not recorded when it came in the wrong phase."""
    if event["refused"] == 1:
        return {"tool": "craft_apply"}, {"ok": False, "fault": "refused"}
    ok = bool(event["valid"] == 1)
    detail = {"ok": ok, **({} if ok else {"fault": "refused", "applied": True}), "hand": _hand(_json(event, "hand"))}
    return {"tool": "craft_apply", **_sides(event)}, detail


def _craft_done(event: dict[str, Any]) -> Told:
    return {"tool": "craft_done"}, {"ok": True, "hand": _hand(_json(event, "hand"))}


CALLS = {
    "item_info": _item_info,
    "recipes_query": _recipes,
    "proposal": _proposal,
    "decision": _decision,
    "craft_check": _craft_check,
    "craft_apply": _craft_apply,
    "craft_done": _craft_done,
}
"""Kind of event -> the call that it is, and what the log says of it."""


def _sides(event: dict[str, Any]) -> dict[str, Any]:
    return {name: _hand(_json(event, name)) for name in ("inputs", "outputs")}


def _json(event: dict[str, Any], name: str) -> dict[str, Any]:
    try:
        found = json.loads(event[name])
        if isinstance(found, dict):
            return found
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
    """A recorded amount as an integer, or as a fraction such as '7/8': 0.6666666666666666 was taken for 2/3."""
    if not AMOUNT.fullmatch(text) or re.search("/0+$", text):
        raise Contradiction(f"{text!r:.40} is no amount")
    exact = Fraction(text).limit_denominator()
    return int(exact) if exact.denominator == 1 else str(exact)


AMOUNT = re.compile(r"-?[0-9]{1,18}(?:/[0-9]{1,18}|(?:\.[0-9]{0,18})?(?:e-?[0-9]{1,2})?)", re.ASCII)
"""What may be an amount: as a fraction, 1e999999999 would fill all memory."""
