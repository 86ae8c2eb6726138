"""A match of TradeCraft as tables, from its turns alone: hands, offers and what came of them, refusals, who was told what.

Turns are those of the game or of recorded games (agon.games.tradecraft.story). What players wrote is data here;
agon.figures.viewer.shown makes it safe to look at.
"""

import pandas as pd

from agon import AgonError
from agon.agents.prompts import prompts, template_of
from agon.agents.telling import STYLE
from agon.games.tradecraft.amounts import listed
from agon.games.tradecraft.story import read
from agon.replay import Replay, replayed


def seating(turns: pd.DataFrame) -> pd.DataFrame:
    """Who sat where, and what it came to: player, agent, model, calls, refused (of these), points."""
    own = turns.drop_duplicates("seat").sort_values("seat", kind="stable").set_index("seat")
    asked = turns[turns.legal.notna() | turns.action.notna()].groupby("seat").size()
    story = read(turns)
    return pd.DataFrame(
        {
            "player": [story.players[seat] for seat in own.index],
            **{name: own[name].astype(object) for name in ("agent", "model")},
            "calls": asked.reindex(own.index),
            "refused, or nothing done": [sum(turn.wrong(seat) for turn in story.turns) for seat in own.index],
            "points": turns.groupby("seat").payoff.sum().reindex(own.index),
        }
    )


def offers(turns: pd.DataFrame) -> pd.DataFrame:
    """Who proposed what to whom: turn, proposer, partner, gives, wants, says, outcome, reply."""
    return pd.DataFrame(
        {
            "turn": deal.turn,
            "proposer": deal.proposer,
            "partner": deal.partner,
            "gives": listed(deal.offer),
            "wants": listed(deal.request),
            "says": deal.message,
            "outcome": deal.outcome or "(the records end)",
            "reply": deal.reply,
        }
        for deal in (turn.deal for turn in read(turns).turns)
    )


def hands(turns: pd.DataFrame) -> pd.DataFrame:
    """Every hand at the start and at the end of every turn: turn, and a column for each player."""
    story = read(turns)
    all_hands = [("start", story.turns[0].before), *((str(turn.number), turn.after) for turn in story.turns)]
    return pd.DataFrame(
        [{"turn": turn} | dict(zip(story.players, map(listed, held), strict=True)) for turn, held in all_hands]
    )


def refusals(turns: pd.DataFrame) -> pd.DataFrame:
    """Calls that were refused and what was done for players that did nothing: turn (of the game), player, tool, why, said."""
    story = read(turns)
    found = [
        (call.round, story.players[call.seat], call.tool, call.wrong, str(call.detail.get("says", "")))
        for call in story.calls
        if call.wrong
    ]
    return pd.DataFrame(found, columns=["turn", "player", "tool", "why", "said"])


def replay_of(turns: pd.DataFrame) -> tuple[Replay | None, str]:
    """The match replayed by its rules; None, and why, where that cannot be done: recorded games know other rules."""
    try:
        return replayed(turns), ""
    except AgonError as error:
        return None, str(error)


def tellings(replay: Replay) -> pd.DataFrame:
    """What every player was told, in the words of the game's prompts, when it was asked: turn, phase, player, told."""
    known, found = [0] * replay.game.seats, []
    for step in replay.steps:
        for seat, view in step.views.items():
            texts = prompts(template_of(view.rules), STYLE)
            news = texts.turn(view, known[seat]).removesuffix(texts.turn(view, len(view.past))).strip()
            known[seat] = len(view.past)
            if news:
                player = replay.game.players[seat]
                found.append({"turn": view.round, "phase": view.phase, "player": player, "told": news})
    return pd.DataFrame(found, columns=["turn", "phase", "player", "told"])
