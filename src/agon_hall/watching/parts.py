"""The parts of a page about one place of a match, as HTML: who was asked what and did what, what was told, what it was worth and cost."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from agon.games.html import count, items, lines, listed, number, table, text, written
from agon.games.pages import UNREADABLE, asked_for
from agon.turns import action_of
from agon_hall.watching.match import Spent, Told, Watched, held, spent

ABSENT = "not recorded"
SHORT = 200
"""Characters: longer replies and thoughts are folded."""
RECENT = 40
"""Facts that are shown at once; older ones are folded."""


def title(watched: Watched, place: int) -> str:
    """Where we are, and who is asked."""
    rows, steps = watched.rows(place), watched.places - 1
    if not rows:
        return f"<h2>The end</h2><p>After {count(steps, 'step')}. Nobody is asked any more.</p>"
    asked = [text(watched.named[row.seat]) for row in rows if _acting(row)]
    who = f"{listed(asked)} {'is' if len(asked) == 1 else 'are'} asked{' at once' if len(asked) > 1 else ''}."
    return f"<h2>Step {place + 1} of {steps}: round {rows[0].round}, {text(rows[0].phase)}</h2><p>{who}</p>"


def public_title(watched: Watched, place: int, facts: int) -> str:
    """The same for the public: how much of what will be known is known."""
    game = text(watched.turns.game.iloc[0])
    state = "the start" if not place else "the end" if place == facts else f"{place} of {count(facts, 'fact')} known"
    return f"<h2>{game}: {state}</h2>"


def _acting(row: Any) -> bool:
    """Whether a row's seat was asked: recorded games do not tell what was legal, but what was done."""
    return not (pd.isna(row.legal) and pd.isna(row.action))


def cards(watched: Watched, place: int, unfolded: bool) -> str:
    """One table for each seat that was asked, and what the others were paid."""
    rows = watched.rows(place)
    made = [_card(watched, place, row, unfolded) for row in rows if _acting(row)]
    aside = [row for row in rows if not _acting(row) and row.payoff != 0]
    paid = [f"{text(watched.named[row.seat])} {number(float(row.payoff))}" for row in aside]
    others = f"<p>Paid without being asked: {', '.join(paid)}.</p>" if paid else ""
    return f'<div class="cards">{"".join(made)}</div>{others}'


def _card(watched: Watched, place: int, row: Any, unfolded: bool) -> str:
    detail = held(row.detail)
    thought = detail.pop("thought", None)
    rest = [
        f"{name}: {_meant(watched, name, each)}" for name, each in detail.items() if name not in ("thought", "beliefs")
    ]
    thoughts = "\n".join(map(str, thought)) if isinstance(thought, list) else thought
    unknown = f"{ABSENT}: no price in conf/model" if not pd.isna(row.tokens_in) else ABSENT
    facts = {
        "asked for": _legal(row.legal),
        "did": f"<b>{_done(watched, place, row)}</b>",
        "thoughts, private": folded("Thoughts", thoughts, unfolded) if thoughts else "",
        "raw reply": ABSENT if pd.isna(row.reply) else folded("Reply", row.reply, unfolded),
        "read": _read(row),
        "paid by this step": in_points(row.payoff),
        "tokens sent / received": _tokens(row),
        "cost": unknown if pd.isna(row.usd) else f"{_usd(row.usd)} USD",
        "seconds": f"{_amount(row.seconds)}{', answered from a recording' if row.cached else ''}",
        "also recorded": folded("Details", "\n".join(rest), unfolded) if rest else "",
    }
    return facts_table(f"{text(watched.named[row.seat])}: {who_played(row)}", facts)


def _meant(watched: Watched, name: str, value: Any) -> str:
    """What `detail` holds, in words; seats have names."""
    if name in ("target", "suspect") and type(value) is int and value in range(len(watched.named)):
        return watched.named[value]
    return "nobody" if value is None and name in ("target", "suspect") else written(value)


def facts_table(caption: str, facts: Mapping[str, str]) -> str:
    """Names and values, all HTML; empty values are left out."""
    body = "".join(f'<tr><th scope="row">{name}</th><td>{value}</td></tr>' for name, value in facts.items() if value)
    return f'<table class="facts"><caption>{caption}</caption><tbody>{body}</tbody></table>'


def who_played(row: Any) -> str:
    """A row's agent, model and role."""
    model = "" if pd.isna(row.model) else f" with {text(row.model)}"
    return f"{text(row.agent)}{model}{f', {text(row.role)}' if row.role else ''}"


def folded(name: str, said: Any, unfolded: bool = False) -> str:
    """A text, in a fold when it is long."""
    words = str(said)
    if len(words) <= SHORT and words.count("\n") < 5:
        return text(words)
    opened = " open" if unfolded else ""
    return f"<details{opened}><summary>{name}, {count(len(words), 'character')}</summary>{text(words)}</details>"


def _legal(legal: Any) -> str:
    """What could be answered."""
    return ABSENT if pd.isna(legal) else folded("Possible answers", asked_for(json.loads(legal)))


def _done(watched: Watched, place: int, row: Any) -> str:
    if pd.isna(row.action):
        return UNREADABLE
    action = action_of(row.action)
    if watched.replay and isinstance(action, list):
        action = watched.replay.steps[place].views[row.seat].legal.spelled(action)
    return folded("Action", written(action))


def _read(row: Any) -> str:
    """Whether, and at which attempt, an action could be read, and what was done where none could."""
    asked = "attempts not recorded" if pd.isna(row.attempts) else f"asked {count(int(row.attempts), 'time')}"
    if pd.isna(row.action):
        state = "no readable action"
    elif row.fallback:
        state = "something else was done in its place"
    else:
        state = "readable"
    return f"{state}, {asked}{f': {text(row.fallback)}' if row.fallback else ''}{'' if row.valid else '; not valid'}"


def _tokens(row: Any) -> str:
    if pd.isna(row.tokens_in) and pd.isna(row.tokens_out) and not pd.isna(row.tokens):
        return f"{ABSENT}; {int(row.tokens):,} together"
    return f"{_amount(row.tokens_in)} / {_amount(row.tokens_out)}"


def _amount(value: Any) -> str:
    return ABSENT if pd.isna(value) else number(round(float(value), 2))


def worth(watched: Watched, place: int) -> str:
    """Points over time, and what everybody has and has cost, the step at `place` included."""
    rows, after = watched.until(place), min(place + 1, watched.places - 1)
    asked = [[row for row in rows if row.seat == seat and _acting(row)] for seat in range(len(watched.named))]
    known = {
        "points before this step": [number(float(each)) for each in watched.points[place]],
        "points after it": [number(float(each)) for each in watched.points[after]],
        **{
            name: [_sum(spent([getattr(row, column) for row in each])) for each in asked]
            for name, column in (
                ("tokens sent", "tokens_in"),
                ("tokens received", "tokens_out"),
                ("seconds", "seconds"),
            )
        },
        "cost, USD": [_sum(spent([row.usd for row in each]), money=True) for each in asked],
    }
    if all(pd.isna(row.tokens_in) for row in rows) and not all(pd.isna(row.tokens) for row in rows):
        known["tokens, both"] = [_sum(spent([row.tokens for row in each])) for each in asked]
    if place == watched.places - 1:
        known["points"] = known.pop("points after it")
        del known["points before this step"]
    series = [(name, watched.points[:, seat].tolist()) for seat, name in enumerate(watched.named)]
    chart = (
        lines("Points so far", series, place, "step")
        if watched.points.any()
        else "<p>Nothing is paid in this match.</p>"
    )
    return (
        f"<h2>Points, tokens and cost so far</h2>{chart}"
        + table("So far, this step included", ["what", *map(text, watched.named)], [[n, *v] for n, v in known.items()])
        + "<p class=soft>Cost is by the prices that conf/model has today, without what caches saved. What is absent from the "
        f"records is {ABSENT}; it is not 0.</p>"
    )


def _sum(found: Spent, money: bool = False) -> str:
    if found.known is None:
        return ABSENT if found.absent else "0"
    some = f" and {count(found.absent, 'time')} {ABSENT}" if found.absent else ""
    return f"{_usd(found.known) if money else number(round(found.known, 2))}{some}"


def _usd(value: float) -> str:
    return f"{value:,.6f}".rstrip("0").rstrip(".")


def in_points(value: Any) -> str:
    """`1 point`, `2 points`."""
    return f"{number(float(value))} {'point' if value == 1 else 'points'}"


def news(watched: Watched, place: int, seats: Sequence[int]) -> str:
    """What each of `seats` has been told since the place before."""
    rows = []
    for seat in seats:
        new = [text(each.words) for each in watched.told(place, seat) if each.new]
        rows.append((text(watched.named[seat]) if seat >= 0 else "everybody, in public", items(new) or "nothing new"))
    body = "".join(f'<tr><th scope="row">{who}</th><td>{what}</td></tr>' for who, what in rows)
    since = "at the start" if not place else f"since step {place}"
    return f'<table class="facts"><caption>New {since}</caption><tbody>{body}</tbody></table>'


def known(facts: Sequence[Told]) -> str:
    """All that has been told, oldest first; what is new is marked, and of many the older ones are folded."""
    if not facts:
        return "<p>Nothing so far.</p>"
    lines = [f"{'<b class=new>new</b> ' if each.new else ''}{text(each.words)}" for each in facts]
    cut = max(0, len(lines) - RECENT)
    older = f"<details><summary>{count(cut, 'older one')}</summary>{numbered(lines[:cut], 1)}</details>" if cut else ""
    return older + numbered(lines[cut:], cut + 1)


def numbered(lines: Iterable[str], first: int = 1) -> str:
    """A list of which the first item has this number."""
    return f'<ol start="{first}">{"".join(f"<li>{each}</li>" for each in lines)}</ol>'
