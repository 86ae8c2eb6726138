"""Actions: those of the game, those that were offered, the one that the player sent or named, and the one that was applied."""

import json

import numpy as np

from agon_audit.checks.base import Case, Found, check, skip, where
from agon_audit.checks.readings import TAGGED, WHOLE, readings
from agon_audit.turns import CHANCE_SEAT, NUMBERS


@check(
    "numbers",
    "cells that hold no number",
    "another decimal mark, a unit behind the number, or columns that have shifted",
)
def numbers(case: Case) -> Found:
    """Text where a number belongs."""
    bad, rows = case.games.unreadable, case.games.rows
    known = rows[[name for name in (*NUMBERS, "round", "seat") if name in rows]].notna().sum().sum()
    found = where(case, np.zeros(len(rows), bool), int(known) + len(bad), "")
    found.count, found.rows = len(bad), bad
    return found


@check(
    "actions",
    "actions that are not in the game",
    "another spelling, another language, or rules of another variant",
    "action",
)
def actions(case: Case) -> Found:
    """Actions that the rules do not have."""
    legal = case.payment.legal
    known = int((~np.isnan(legal)).sum())
    return (
        where(case, legal == 0, known, "{action!r:.80} is no action of the game")
        if known
        else skip("no rules say which actions there are")
    )


@check(
    "offered",
    "actions that were not offered",
    "a list of actions that belongs to the step before or after",
    "action",
    "legal",
)
def offered(case: Case) -> Found:
    """Actions that are not in the list that the log has for this seat and round."""
    rows = case.games.rows[["action", "legal"]].dropna()
    lists = {text: _strings(text) for text in rows.legal.unique()}
    mask = np.zeros(len(case.games.rows), bool)
    mask[rows.index] = [str(action) not in lists[text] for action, text in zip(rows.action, rows.legal, strict=True)]
    return where(case, mask, len(rows), "{action!r:.80} was not offered")


def _strings(text: str) -> set[str]:
    """The values of a JSON list as text; none where it is no list."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return set()
    return {*map(str, values)} if isinstance(values, list) else set()


@check(
    "applied",
    "actions that were applied though the player sent another or none",
    "a fallback on purpose",
    "action",
    "submitted",
)
def applied(case: Case) -> Found:
    """Compares a player's action with the action that was applied."""
    rows = case.games.rows
    sent, action = rows.submitted.astype("str"), rows.action.astype("str")
    mask = action.notna() & sent.ne(action).fillna(True) & (rows.seat != CHANCE_SEAT)
    return where(case, mask, int(action.notna().sum()), "sent {submitted!r:.40}, applied {action!r:.40}")


@check(
    "replies",
    "actions that the reply does not name",
    "a second answer that was not logged, or a misread reply",
    "action",
    "reply",
)
def replies(case: Case) -> Found:
    """Replies that are nothing but another action, or name another one after the mapping's tag. Other readings are notes."""
    rows = case.games.rows
    said = readings(rows.reply, [*map(str, rows.action.cat.categories), *case.words], case.games.mapping.tag)
    if said is None:
        return skip("there are too many different actions to look for them in replies")
    action, notes = rows.action.astype("str"), dict[str, tuple[int, int]]()
    for name, words in said.items():
        readable = words.notna() & action.notna()
        changed = readable & words.ne(action)
        notes[f"replies whose action was not applied, read as {name}"] = int(changed.sum()), int(readable.sum())
        notes[f"matches with such replies, read as {name}"] = (
            rows.match[changed].nunique(),
            rows.match[readable].nunique(),
        )
    clear = said[WHOLE].fillna(said[TAGGED]) if TAGGED in said else said[WHOLE]
    known = clear.notna() & action.notna()
    return where(
        case,
        known & clear.ne(action),
        int(known.sum()),
        "said {clear!r:.40}, applied {action!r:.40}",
        notes,
        clear=clear,
    )


INCOMPLETE = {
    *("length", "max_tokens", "model_length", "content_filter", "filter", "refusal", "error", "failed"),
    *("timeout", "forfeit", "cancelled", "invalid", "illegal"),
}
"""Reasons for which an answer ended before it was whole, as providers and programs call them."""


@check(
    "incomplete",
    "answers that were cut off, refused or forfeited and count as actions",
    "an action that stands before the cut",
    "action",
    "ended",
)
def incomplete(case: Case) -> Found:
    """An action whose answer was not whole."""
    rows = case.games.rows
    mask = rows.ended.astype("str").str.lower().isin(INCOMPLETE) & rows.action.notna()
    counts = rows.action[mask].astype("str").value_counts()
    notes = {f"answers that count as {name!r:.40}": (number, int(mask.sum())) for name, number in counts.items()}
    return where(case, mask, int(rows.ended.notna().sum()), "ended with {ended:.40}, counts as {action!r:.40}", notes)


@check(
    "silent",
    "actions without a reply",
    "a default action, or a reply that was not logged",
    "action",
    "reply",
)
def silent(case: Case) -> Found:
    """An action with an empty reply, of a player whose other replies are mostly not empty."""
    rows = case.games.rows
    empty = rows.reply.astype("str").str.strip().fillna("") == ""
    speaks = (~empty).groupby(rows.player if "player" in rows else rows.seat, observed=True).transform("mean") > 0.5
    acts = speaks & rows.action.notna()
    return where(case, empty & acts, int(acts.sum()), "no reply, applied {action!r:.40}")
