"""Makes logs that can be rated (agon.games.rating) of the matches of a turns table: see HELP."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from agon import ROOT, AgonError
from agon.games.rating.game import misfit
from agon.games.tradecraft.calls import ARGUMENTS
from agon.games.tradecraft.recipes import written
from agon.games.tradecraft.story import Call, Hands, Story, read
from agon.replay import replayed
from agon.turns import read as read_turns
from agon.turns import shown

HELP = """python -m agon.games.rating.logs TURNS FOLDER [name=value ...]

Writes FOLDER/MATCH.json, a log to be rated, for every match of TradeCraft in a turns table: played, or ingested.
conf/game/rating.yaml names the folder; raters see of a log what that file allows.

  matches=10                   only the first ten
"""


def log_of(turns: pd.DataFrame, targets: Sequence[Mapping[str, Any]] | None = None) -> dict[str, Any]:
    """The log of one match from its turns; `targets`: what each seat was to get hold of, where the records do not say it.

    Raises AgonError when the records do not say what hands the match began with.
    """
    story = read(turns)
    if not story.start:
        raise AgonError(f"match {story.match}: its records do not say what hands it began with")
    paid = turns.groupby("seat").payoff.sum()
    return {
        "match": story.match,
        "game": str(turns.game.iloc[0]),
        "players": list(story.players),
        "turns": _turns(story),
        "targets": [written(target) for target in story.targets] if targets is None else targets,
        "won": [bool(paid.get(seat, 0) > 0) for seat in range(len(story.players))],
        "source": str(turns.experiment.iloc[0]),
    }


def dealt_targets(turns: pd.DataFrame) -> list[dict[str, Any]] | None:
    """What each seat of a match that was played was to get, as conf/game has it; None when its game is not there."""
    try:
        game = replayed(turns).game
        return [game.seat_facts(seat)["target"] for seat in range(game.seats)]
    except AgonError:
        return None


def _turns(story: Story) -> list[list[dict[str, Any]]]:
    """The entries of every turn; each begins with all hands, as they were then."""
    found: list[list[dict[str, Any]]] = []
    for turn in story.turns:
        while len(found) < turn.number:
            found.append([{"hands": _named(story, turn.before)}])
        hands = turn.before
        for call in turn.calls:
            found[-1] += _entries(call, story, hands)
            hands = call.after(hands)
    return found


def _entries(call: Call, story: Story, hands: Hands) -> Iterator[dict[str, Any]]:
    """What a call says, as one or two entries: what was thought, and what was done. `hands`: as they were known before it."""
    who = {"player": story.players[call.seat], "phase": call.phase}
    thoughts = list(map(str, call.detail.get("thought", ())))
    if not thoughts and call.reply.strip():
        thoughts = [call.reply]  # players that do not tell thoughts from calls
    own, aside = _parted(call.call)
    if call.tool == "rethink":
        own, aside = {}, {}
        thoughts.append(str(call.call.get("text")))
    if thoughts := thoughts + ([json.dumps(aside)] if aside else []):
        yield who | {"thought": "\n".join(thoughts)}
    done: dict[str, Any] = {"call": own} if own else {}
    if own and not call.ok:
        done |= {"refused": call.fault or "refused", **_known(call, "says")}
    done |= _known(call, "default", "effect", "hand")
    if "hands" in call.detail and call.after(hands) != hands:
        done["hands"] = _named(story, call.after(hands))
    if done:
        yield who | done


def _named(story: Story, hands: Hands) -> dict[str, Any]:
    return dict(zip(story.players, map(written, hands), strict=True))


def _parted(call: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A call as the table reads it, and what else the player has written into it, which is told to nobody."""
    names = ("tool", *ARGUMENTS.get(str(call.get("tool")), ()))
    return {name: call[name] for name in call if name in names}, {n: call[n] for n in call if n not in names}


def _known(call: Call, *names: str) -> dict[str, Any]:
    return {name: call.detail[name] for name in names if call.detail.get(name)}


def main(turns: str, folder: Path, matches: int | None = None, say: Callable[[str], object] = sys.stdout.write) -> int:
    """Writes a log for each match of TradeCraft, the first `matches` of them; how many. Raises AgonError."""
    table = read_turns(turns)
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
