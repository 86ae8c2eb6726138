"""The page of games of clues (Chameleon, Undercover): one's role and word, the clues, and who was accused."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar

from agon.games.base import Event, Observation
from agon.games.html import items, label, table, text
from agon.games.pages import FamilyPage, Parts, Scene, final_points, happened

SIDES = {
    "chameleon": "the chameleon",
    "non-chameleon": "no chameleon",
    "undercover": "undercover",
    "civilian": "a civilian",
}
"""Role -> its words at the end of a match."""
ENDS = {
    "caught": "{} was found out, and the others win.",
    "escaped": "Somebody else was accused: {} was not found out, and wins.",
    "even": "Nobody was accused, as no player had more votes than every other: {} was not found out.",
    "guessed": "{} was found out, but guessed the word.",
}
"""Outcome -> how the match ended; {} is the spy."""
ROLES = {"chameleon": "the chameleon", "non-chameleon": "not the chameleon: you know the word"}


class CluesPage(FamilyPage):
    """The boards of games of clues."""

    def board(self, scene: Scene) -> Parts:
        """The seat's role and word, if it knows them; its ballot and the outcome; all clues."""
        return {"own": _own_card(scene), "outcome": _outcome(scene), "clues": _clues(scene)}

    needed: ClassVar = ("own", "outcome", "clues")

    def closing(self, scene: Scene, game: Any, state: Any) -> str:
        """Everybody's role and word, who was accused, who won and why."""
        spy = scene.who(game.spy)
        lines = []
        for seat in scene.order:
            word = _first_event(game.observe(state, seat).past, "word")
            had = "did not know the word" if word is None else f"had the word <strong>{text(word.value)}</strong>"
            lines.append(f"{scene.who(seat)} was {text(SIDES.get(game.roles[seat], game.roles[seat]))} and {had}.")
        return f"<p><strong>{ENDS[state.outcome].format(spy)}</strong></p>{items(lines)}<h3>Points</h3>{final_points(scene)}"

    def latest(self, event: Event, names: Sequence[str]) -> str:
        """Accusations are shown, too."""
        return happened(event, names) if event.phase == "accused" else super().latest(event, names)

    def question(self, view: Observation) -> str:
        """The guess has a question of its own: its prompt says how to write."""
        return "You are accused. What is the secret word? You have one guess." if view.phase == "guess" else ""

    def part(self, view: Observation, name: str) -> str:
        """The label of one part of an interview."""
        if name == "word":
            return "The secret word, as far as you can tell"
        return "You suspect" if name == view.rules.players[view.seat] else f"{label(name)} suspects"


page = CluesPage()


def _first_event(past: Sequence[Event], phase: str) -> Event | None:
    return next((event for event in past if event.phase == phase), None)


def _own_card(scene: Scene) -> str:
    """The topic, and the seat's private role and word."""
    paragraphs = []
    if topic := _first_event(scene.view.past, "topic"):
        paragraphs.append(f'<p>Topic, known to all: <span class="big">{text(topic.value)}</span></p>')
    role, word = _first_event(scene.view.past, "role"), _first_event(scene.view.past, "word")
    if role:
        paragraphs.append(f'<p>You are: <span class="big">{text(ROLES.get(str(role.value), role.value))}</span></p>')
    if word:
        paragraphs.append(
            f'<p>Your word; whoever says it gives it away: <span class="big">{text(word.value)}</span></p>'
        )
        if not role:
            paragraphs.append("<p>One player has another word than the rest. Nobody is told who; it may be you.</p>")
    elif role:
        paragraphs.append("<p>All others know a secret word; you do not. Do not let them notice.</p>")
    elif scene.watched:
        paragraphs.append("<p>You watch: words and roles stay hidden from you.</p>")
    return f'<div class="card">{"".join(paragraphs)}</div>'


def _clues(scene: Scene) -> str:
    """A row per player, a column per round."""
    rounds = scene.view.rules.rounds
    clues: dict[tuple[int, int], str] = {}
    counts: Counter[int] = Counter()
    for event in scene.view.past:
        if event.phase == "clue" and event.seat is not None:
            counts[event.seat] += 1
            clues[event.seat, counts[event.seat]] = scene.done(event.value)
    none = '<span class="soft">not yet</span>'
    rows = [
        [scene.who(seat), *(clues.get((seat, round_), none) for round_ in range(1, rounds + 1))]
        for seat in range(len(scene.players))
    ]
    head = ["Player", *(f"Clue {round_}" if rounds > 1 else "Clue" for round_ in range(1, rounds + 1))]
    return table("Clues, in the order in which players speak", head, rows)


def _outcome(scene: Scene) -> str:
    """The seat's ballot, the accused and the guess; empty before the ballot."""
    paragraphs = []
    if vote := _first_event(scene.view.past, "vote"):
        choice = scene.done(None) if vote.value is None else scene.called(vote.value)
        paragraphs.append(f"<p>Your ballot, which nobody else sees: {choice}</p>")
    if accused := _first_event(scene.view.past, "accused"):
        nobody = "nobody: no player had more votes than every other"
        whom = nobody if accused.value is None else scene.called(accused.value)
        paragraphs.append(f"<p>Accused: <strong>{whom}</strong></p>")
    if guess := _first_event(scene.view.past, "guess"):
        paragraphs.append(f"<p>The accused guessed the word: {scene.done(guess.value)}</p>")
    return f'<div class="card">{"".join(paragraphs)}</div>' if paragraphs else ""
