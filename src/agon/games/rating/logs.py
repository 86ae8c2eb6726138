"""Logs that can be rated: reading them as games, and making them of the matches of a turns table."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from agon.errors import AgonError
from agon.games.rating.game import Rating
from agon.games.settings import variants
from agon.games.tradecraft.amounts import hand_to_json
from agon.games.tradecraft.calls import ARGUMENTS
from agon.games.tradecraft.story import Call, Hands, Story, read


def logs(folder: str, targets: bool = False, full: bool = False) -> list[Rating]:
    """The games of rating of a folder of logs, from the project's root. Raises AgonError."""
    settings = variants({"_target_": f"{Rating.__module__}.Rating", "name": "rating", "settings": folder})
    return [Rating("rating", name, fields["log"], targets=targets, full=full) for name, fields in settings.items()]


def make_log(turns: pd.DataFrame, targets: Sequence[Mapping[str, Any]] | None = None) -> dict[str, Any]:
    """The log of one match from its turns; `targets`: the target of each seat, where the records do not have it.

    Raises AgonError when the records do not have the hands at the start.
    """
    story = read(turns)
    if not story.start:
        raise AgonError(f"match {story.match}: its records do not say what hands it began with")
    payoffs = turns.groupby("seat").payoff.sum()
    return {
        "match": story.match,
        "game": str(turns.game.iloc[0]),
        "players": list(story.players),
        "turns": _turns(story),
        "targets": [hand_to_json(target) for target in story.targets] if targets is None else targets,
        "won": [bool(payoffs.get(seat, 0) > 0) for seat in range(len(story.players))],
        "source": str(turns.experiment.iloc[0]),
    }


def dealt_targets(turns: pd.DataFrame, games: pd.DataFrame) -> list[dict[str, Any]]:
    """The target of each seat of a match, from the games beside its turns (agon.turns.read_games); empty if they lack it."""
    first = turns.iloc[0]
    same = games.game.eq(first.game) & games.variant.eq(first.variant) & games.rules.eq(first.rules)
    targets = games.facts[same].unique()
    return [facts["target"] for facts in json.loads(targets[0])] if len(targets) == 1 else []


def _turns(story: Story) -> list[list[dict[str, Any]]]:
    """The entries of every turn; each begins with all hands, as they were then."""
    turns: list[list[dict[str, Any]]] = []
    for turn in story.turns:
        while len(turns) < turn.number:
            turns.append([{"hands": _hands_by_player(story, turn.before)}])
        hands = turn.before
        for call in turn.calls:
            turns[-1] += _entries(call, story, hands)
            hands = call.after(hands)
    return turns


def _entries(call: Call, story: Story, hands: Hands) -> Iterator[dict[str, Any]]:
    """At most two entries for a call: the thoughts of the player, and its act. `hands`: those before the call."""
    who = {"player": story.players[call.seat], "phase": call.phase}
    thoughts = list(map(str, call.detail.get("thought", ())))
    if not thoughts and call.reply.strip():
        thoughts = [call.reply]  # players that do not tell thoughts from calls
    call_as_read, aside = _split_call(call.call)
    if call.tool == "rethink":
        call_as_read, aside = {}, {}
        thoughts.append(str(call.call.get("text")))
    if thoughts := thoughts + ([json.dumps(aside)] if aside else []):
        yield who | {"thought": "\n".join(thoughts)}
    entry: dict[str, Any] = {"call": call_as_read} if call_as_read else {}
    if call_as_read and not call.ok:
        entry |= {"refused": call.fault or "refused", **_details_of(call, "says")}
    entry |= _details_of(call, "default", "effect", "hand")
    if "hands" in call.detail and call.after(hands) != hands:
        entry["hands"] = _hands_by_player(story, call.after(hands))
    if entry:
        yield who | entry


def _hands_by_player(story: Story, hands: Hands) -> dict[str, Any]:
    return dict(zip(story.players, map(hand_to_json, hands), strict=True))


def _split_call(call: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parts of a call that the game reads, and all other parts, which no other player sees."""
    names = ("tool", *ARGUMENTS.get(str(call.get("tool")), ()))
    return {name: call[name] for name in call if name in names}, {n: call[n] for n in call if n not in names}


def _details_of(call: Call, *names: str) -> dict[str, Any]:
    return {name: call.detail[name] for name in names if call.detail.get(name)}


def format_log(log: dict[str, Any]) -> str:
    """A log as a file: one entry a line."""
    head = {key: value for key, value in log.items() if key != "turns"}
    turns = ",\n ".join("[" + ",\n  ".join(json.dumps(entry) for entry in turn) + "]" for turn in log["turns"])
    return json.dumps(head)[:-1] + f', "turns": [\n {turns}\n]}}\n'
