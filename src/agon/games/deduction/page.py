"""The page of games of clues (Chameleon, Undercover): one's role and word, the clues, and who was accused."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

from agon.games.base import Event, Observation
from agon.games.deduction.game import holds, plain
from agon.games.html import items, label, table, text
from agon.games.inputs import Button, Entered, InvalidEntry, Thing, text_fields
from agon.games.pages import FamilyPage, Parts, Scene, final_points, happened, ranks

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
ASIDES = " Sometimes you are asked what you think of the game; nobody else sees these answers, and they change nothing."
"""The sentence of the prompts about interviews."""
ANYWAY = "Send it all the same"
"""The button for a clue that breaks the rules."""
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
        votes = [(seat, _first_event(game.observe(state, seat).past, "vote")) for seat in scene.order]
        rows = [
            [scene.who(seat), scene.done(None) if vote is None or vote.value is None else scene.called(vote.value)]
            for seat, vote in votes
        ]
        ballots = table("Votes, now that they are no secret any more", ["Player", "Voted for"], rows)
        end = f"<p><strong>{ENDS[state.outcome].format(spy)}</strong></p>{ranks(scene)}"
        return f"{end}{items(lines)}{ballots}<h3>Points</h3>{final_points(scene)}"

    def rewording(self, game: Any, aids: Collection[str] | None) -> Mapping[str, str]:
        """Nobody reads about interviews that are not held."""
        return {} if game.asides else {ASIDES: ""}

    def form(self, scene: Scene, entered: Entered) -> Sequence[Thing] | None:
        """A clue that breaks the rules is sent only after a warning."""
        view = scene.view
        if view.phase != "clue":
            return None
        part = text_fields(view.legal, "answer", "Your clue", entered)
        fault = clue_fault(view, str(entered.get("answer") or ""))

        def send() -> list[Any]:
            words = part.read()
            if fault:
                raise InvalidEntry(f"{fault} Write another clue, or press “{ANYWAY}”.")
            return [words]

        warning: list[Thing] = [
            f'<p class="bad" role="status">{fault}</p>',
            Button(ANYWAY, lambda: [part.read()], main=False),
        ]
        return [*part.things, Button("Send", send), *(warning if fault else [])]

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


def clue_fault(view: Observation, clue: str) -> str:
    """The rule of the game that a clue breaks, as HTML; empty if it breaks none."""
    word = _first_event(view.past, "word")
    if word and holds(clue, str(word.value)):
        return "This clue has your secret word in it: it gives the word away to everybody, and the rules forbid it."
    if plain(clue) in {plain(str(event.value)) for event in view.past if event.phase == "clue" and event.value}:
        return "This clue was given before, and the rules forbid to repeat one."
    return ""


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
