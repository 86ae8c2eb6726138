"""How people see games of clues, Chameleon and Undercover: what one is, the clues, and who was accused."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar

from agon.games.base import Event, Observation
from agon.games.html import items, label, table, text
from agon.games.pages import FamilyPage, Parts, Scene, happened, standing

SIDES = {
    "chameleon": "the chameleon",
    "non-chameleon": "no chameleon",
    "undercover": "undercover",
    "civilian": "a civilian",
}
"""Roles as they are told when all is over."""
ENDS = {
    "caught": "{} was found out, and the others win.",
    "escaped": "Somebody else was accused: {} was not found out, and wins.",
    "even": "Nobody was accused, as no player had more votes than every other: {} was not found out.",
    "guessed": "{} was found out, but guessed the word.",
}
"""Outcome -> how it ended; {} is the one to be found."""
ROLES = {"chameleon": "the chameleon", "non-chameleon": "not the chameleon: you know the word"}


class CluesPage(FamilyPage):
    """Of games of clues."""

    def board(self, scene: Scene) -> Parts:
        """One's own role and word, where the view has them; clues; one's own ballot, and how it ended."""
        return {"own": _own(scene), "outcome": _outcome(scene), "clues": _clues(scene)}

    needed: ClassVar = ("own", "outcome", "clues")

    def closing(self, scene: Scene, game: Any, state: Any) -> str:
        """Who was what and had which word, who was accused, who won and why."""
        spy = scene.who(game.spy)
        lines = []
        for seat in scene.order:
            word = _told(game.observe(state, seat).past, "word")
            had = "did not know the word" if word is None else f"had the word <strong>{text(word.value)}</strong>"
            lines.append(f"{scene.who(seat)} was {text(SIDES.get(game.roles[seat], game.roles[seat]))} and {had}.")
        return (
            f"<p><strong>{ENDS[state.outcome].format(spy)}</strong></p>{items(lines)}<h3>Points</h3>{standing(scene)}"
        )

    def latest(self, event: Event, named: Sequence[str]) -> str:
        """Who was accused is told, too."""
        return happened(event, named) if event.phase == "accused" else super().latest(event, named)

    def question(self, view: Observation) -> str:
        """The one question whose prompt tells how to write."""
        return "You are accused. What is the secret word? You have one guess." if view.phase == "guess" else ""

    def part(self, view: Observation, name: str) -> str:
        """What a part of an interview asks."""
        if name == "word":
            return "The secret word, as far as you can tell"
        return "You suspect" if name == view.rules.players[view.seat] else f"{label(name)} suspects"


page = CluesPage()


def _told(past: Sequence[Event], phase: str) -> Event | None:
    return next((event for event in past if event.phase == phase), None)


def _own(scene: Scene) -> str:
    """What only this seat was told, and the topic."""
    said = []
    if topic := _told(scene.view.past, "topic"):
        said.append(f'<p>Topic, known to all: <span class="big">{text(topic.value)}</span></p>')
    role, word = _told(scene.view.past, "role"), _told(scene.view.past, "word")
    if role:
        said.append(f'<p>You are: <span class="big">{text(ROLES.get(str(role.value), role.value))}</span></p>')
    if word:
        said.append(f'<p>Your word; whoever says it gives it away: <span class="big">{text(word.value)}</span></p>')
        if not role:
            said.append("<p>One player has another word than the rest. Nobody is told who; it may be you.</p>")
    elif role:
        said.append("<p>All others know a secret word; you do not. Do not let them notice.</p>")
    elif scene.watched:
        said.append("<p>You watch: words and roles stay hidden from you.</p>")
    return f'<div class="card">{"".join(said)}</div>'


def _clues(scene: Scene) -> str:
    """A row per player, a column per round."""
    rounds = scene.view.rules.rounds
    given: dict[tuple[int, int], str] = {}
    counts: Counter[int] = Counter()
    for event in scene.view.past:
        if event.phase == "clue" and event.seat is not None:
            counts[event.seat] += 1
            given[event.seat, counts[event.seat]] = scene.done(event.value)
    none = '<span class="soft">not yet</span>'
    rows = [
        [scene.who(seat), *(given.get((seat, round_), none) for round_ in range(1, rounds + 1))]
        for seat in range(len(scene.players))
    ]
    head = ["Player", *(f"Clue {round_}" if rounds > 1 else "Clue" for round_ in range(1, rounds + 1))]
    return table("Clues, in the order in which players speak", head, rows)


def _outcome(scene: Scene) -> str:
    """One's own ballot, who was accused, what was guessed; nothing before the ballot."""
    said = []
    if vote := _told(scene.view.past, "vote"):
        named = scene.done(None) if vote.value is None else scene.called(vote.value)
        said.append(f"<p>Your ballot, which nobody else sees: {named}</p>")
    if accused := _told(scene.view.past, "accused"):
        nobody = "nobody: no player had more votes than every other"
        whom = nobody if accused.value is None else scene.called(accused.value)
        said.append(f"<p>Accused: <strong>{whom}</strong></p>")
    if guess := _told(scene.view.past, "guess"):
        said.append(f"<p>The accused guessed the word: {scene.done(guess.value)}</p>")
    return f'<div class="card">{"".join(said)}</div>' if said else ""
