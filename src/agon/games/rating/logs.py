"""Makes logs that can be rated (agon.games.rating) of the matches of a turns table: see HELP."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from agon import ROOT, AgonError
from agon.games.rating.game import misfit
from agon.games.tradecraft.calls import ARGUMENTS
from agon.replay import replayed
from agon.turns import read, shown

HELP = """python -m agon.games.rating.logs TURNS FOLDER [name=value ...]

Writes FOLDER/MATCH.json, a log to be rated, for every match of TradeCraft in a turns table: played, or ingested.
conf/game/rating.yaml names the folder; raters see of a log what that file allows.

  matches=10                   only the first ten
"""

Hands = list[dict[str, Any]]


def log_of(turns: pd.DataFrame, targets: Hands | None = None) -> dict[str, Any]:
    """The log of one match from its turns; `targets`: what each seat was to get hold of, where the records do not say it.

    Raises AgonError when the records do not say what hands the match began with.
    """
    rows = turns.sort_values(["turn", "seat"], kind="stable").to_dict("records")
    details = [json.loads(row["detail"]) if isinstance(row["detail"], str) else {} for row in rows]
    first = {row["seat"]: own for row, own in zip(rows, details, strict=True) if "start" in own}
    dealt: Hands = next((own["hands"] for own in details if "hands" in own), [])
    hands = [first[seat]["start"] for seat in sorted(first)] or dealt
    if not hands or max(row["seat"] for row in rows) >= len(hands):
        raise AgonError(f"match {rows[0]['match']}: its records do not say what hands it began with")
    if targets is None:
        targets = [first[seat].get("target", {}) for seat in sorted(first)]
    players = [f"Player {seat + 1}" for seat in range(len(hands))]
    return {
        "match": str(rows[0]["match"]),
        "game": str(rows[0]["game"]),
        "players": players,
        "turns": _turns(rows, details, players, [dict(hand) for hand in hands]),
        "targets": targets,
        "won": [sum(row["payoff"] for row in rows if row["seat"] == seat) > 0 for seat in range(len(hands))],
        "source": str(rows[0]["experiment"]),
    }


def dealt_targets(turns: pd.DataFrame) -> Hands | None:
    """What each seat of a match that was played was to get, as conf/game has it; None when its game is not there."""
    try:
        game = replayed(turns).game
        return [game.seat_facts(seat)["target"] for seat in range(game.seats)]
    except AgonError:
        return None


def _turns(rows: list[Any], details: list[Any], players: Sequence[str], hands: Hands) -> list[list[dict[str, Any]]]:
    """The entries of every turn; each begins with all hands, as they were then."""
    turns: list[list[dict[str, Any]]] = []
    number = 0
    for row, detail in zip(rows, details, strict=True):
        while number < row["round"]:
            number += 1
            turns.append([{"hands": dict(zip(players, map(dict, hands), strict=True))}])
        if detail.get("hands") == hands:
            detail.pop("hands")
        turns[-1] += _entries(row, detail, players)
        if "hands" in detail:
            hands[:] = detail["hands"]
        elif "hand" in detail:
            hands[row["seat"]] = detail["hand"]
    return turns


def _entries(row: dict[str, Any], detail: dict[str, Any], players: Sequence[str]) -> Iterator[dict[str, Any]]:
    """What a row says, as one or two entries: what was thought, and what was done."""
    who = {"player": players[row["seat"]], "phase": str(row["phase"])}
    call = json.loads(row["action"]) if isinstance(row["action"], str) else None
    thoughts = list(map(str, detail.get("thought", ())))
    if not thoughts and isinstance(row["reply"], str) and row["reply"].strip():
        thoughts = [row["reply"]]  # players that do not tell thoughts from calls
    if isinstance(call, dict) and call.get("tool") == "rethink":
        thoughts, call = [*thoughts, str(call.get("text"))], None
    if isinstance(call, dict):
        call, aside = _parted(call)
        thoughts += [json.dumps(aside)] if aside else []
    if thoughts:
        yield who | {"thought": "\n".join(thoughts)}
    done: dict[str, Any] = {} if call is None else {"call": call}
    if call is not None and not detail.get("ok"):
        done |= {"refused": detail.get("fault", "refused"), **_known(detail, "says")}
    done |= _known(detail, "default", "effect", "hand")
    if "hands" in detail:
        done["hands"] = dict(zip(players, detail["hands"], strict=True))
    if done:
        yield who | done


def _parted(call: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A call as the table reads it, and what else the player has written into it, which is told to nobody."""
    names = ("tool", *ARGUMENTS.get(str(call.get("tool")), ()))
    return {name: call[name] for name in call if name in names}, {n: call[n] for n in call if n not in names}


def _known(detail: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: detail[name] for name in names if detail.get(name)}


def main(turns: str, folder: Path, matches: int | None = None, say: Callable[[str], object] = sys.stdout.write) -> int:
    """Writes a log for each match of TradeCraft, the first `matches` of them; how many. Raises AgonError."""
    table = read(turns)
    own = table[table.game == "tradecraft"]
    names = list(dict.fromkeys(own.match.astype(str)))[:matches]
    if not names:
        raise AgonError(f"{turns} has no matches of TradeCraft to make logs of")
    folder.mkdir(parents=True, exist_ok=True)
    aimless = 0
    for name in names:
        rows = own[own.match == name]
        log = log_of(rows)
        if not log["targets"]:
            log["targets"] = dealt_targets(rows) or []
            aimless += not log["targets"]
        if wrong := misfit(log):
            raise AgonError(f"match {name}: {wrong}")
        (folder / f"{name}.json").write_text(packed(log), encoding="utf-8")
    unknown = f", {aimless} without targets: their games are not in conf/game" if aimless else ""
    say(f"{len(names)} logs in {shown(folder.resolve())}{unknown}\n")
    return len(names)


def packed(log: dict[str, Any]) -> str:
    """A log as a file: one entry a line."""
    head = {key: value for key, value in log.items() if key != "turns"}
    turns = ",\n ".join("[" + ",\n  ".join(json.dumps(entry) for entry in turn) + "]" for turn in log["turns"])
    return json.dumps(head)[:-1] + f', "turns": [\n {turns}\n]}}\n'


def run(arguments: Sequence[str]) -> int:
    """The command: see HELP. Exit code 0: done; 1: an error, in one line; 2: not understood."""
    places = [each for each in arguments if "=" not in each]
    given = dict(each.split("=", 1) for each in arguments if "=" in each)
    count = given.pop("matches", "")
    if given or len(places) != 2 or places[0].startswith("-") or (count and not (count.isdecimal() and int(count))):
        sys.stderr.write(HELP)
        return 2
    try:
        main(places[0], ROOT / places[1], int(count) if count else None)
    except (AgonError, OSError) as error:
        sys.stderr.write(f"agon: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
