"""The page of games of clues (Chameleon, Undercover): one's role and word, the clues, and who was accused."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

from agon.games.base import Event, Observation
from agon.games.deduction.game import holds, plain
from agon.games.html import items, label, table, text
from agon.games.inputs import Button, Entered, InvalidEntry, Thing, text_fields
from agon.games.pages import FamilyPage, Parts, Scene, final_points, happened, ranks
from agon.games.sentences import Say

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
        spy, say = scene.who(game.spy), scene.say
        lines = []
        for seat in scene.order:
            word = _first_event(game.observe(state, seat).past, "word")
            whose = scene.who(seat), text(say(SIDES.get(game.roles[seat], game.roles[seat])))
            if word is None:
                lines.append(say("{} was {} and did not know the word.", *whose))
            else:
                lines.append(say("{} was {} and had the word {}.", *whose, f"<strong>{text(word.value)}</strong>"))
        votes = [(seat, _first_event(game.observe(state, seat).past, "vote")) for seat in scene.order]
        rows = [
            [scene.who(seat), scene.done(None) if vote is None or vote.value is None else scene.called(vote.value)]
            for seat, vote in votes
        ]
        heads = [say("Player"), say("Voted for")]
        ballots = table(say("Votes, now that they are no secret any more"), heads, rows)
        end = f"<p><strong>{say(ENDS[state.outcome], spy)}</strong></p>{ranks(scene)}"
        return f"{end}{items(lines)}{ballots}<h3>{say('Points')}</h3>{final_points(scene)}"

    def rewording(self, game: Any, aids: Collection[str] | None) -> Mapping[str, str]:
        """Leaves the sentence on interviews out where there are none."""
        return {} if game.asides else {ASIDES: ""}

    def form(self, scene: Scene, entered: Entered) -> Sequence[Thing] | None:
        """A clue that breaks the rules is sent only after a warning."""
        view = scene.view
        if view.phase != "clue":
            return None
        say = scene.say
        part = text_fields(view.legal, "answer", say("Your clue"), entered, say)
        fault = say(clue_fault(view, str(entered.get("answer") or "")))

        def send() -> list[Any]:
            words = part.read()
            if fault:
                raise InvalidEntry(f"{fault} {say('Write another clue, or press “{}”.', say(ANYWAY))}")
            return [words]

        warning: list[Thing] = [
            f'<p class="bad" role="status">{fault}</p>',
            Button(say(ANYWAY), lambda: [part.read()], main=False),
        ]
        return [*part.things, Button(say("Send"), send), *(warning if fault else [])]

    def latest(self, event: Event, names: Sequence[str], say: Say) -> str:
        """Accusations are shown, too."""
        return happened(event, names, say=say) if event.phase == "accused" else super().latest(event, names, say)

    def question(self, view: Observation, say: Say) -> str:
        """A question for the guess, because its prompt says how to write; else empty."""
        if view.phase != "guess":
            return ""
        return say("You are accused. What is the secret word? You have one guess.")

    def part(self, view: Observation, name: str, say: Say) -> str:
        """The label of one part of an interview."""
        if name == "word":
            return say("The secret word, as far as you can tell")
        return say("You suspect") if name == view.rules.players[view.seat] else say("{} suspects", label(name))


page = CluesPage()


def clue_fault(view: Observation, clue: str) -> str:
    """The rule of the game that a clue breaks, in English; empty if it breaks none."""
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
    lines, say = [], scene.say
    if topic := _first_event(scene.view.past, "topic"):
        lines.append(say("Topic, known to all: {}", _big(topic.value)))
    role, word = _first_event(scene.view.past, "role"), _first_event(scene.view.past, "word")
    if role:
        lines.append(say("You are: {}", _big(say(ROLES.get(str(role.value), str(role.value))))))
    if word:
        lines.append(say("Your word; whoever says it gives it away: {}", _big(word.value)))
        if not role:
            lines.append(say("One player has another word than the rest. Nobody is told who; it may be you."))
    elif role:
        lines.append(say("All others know a secret word; you do not. Do not let them notice."))
    elif scene.watched:
        lines.append(say("You watch: words and roles stay hidden from you."))
    return _card(lines)


def _big(value: object) -> str:
    return f'<span class="big">{text(value)}</span>'


def _card(lines: Sequence[str]) -> str:
    """Paragraphs (HTML) in a box."""
    return f'<div class="card">{"".join(f"<p>{line}</p>" for line in lines)}</div>'


def _clues(scene: Scene) -> str:
    """A row per player, a column per round."""
    rounds, say = scene.view.rules.rounds, scene.say
    clues: dict[tuple[int, int], str] = {}
    counts: Counter[int] = Counter()
    for event in scene.view.past:
        if event.phase == "clue" and event.seat is not None:
            counts[event.seat] += 1
            clues[event.seat, counts[event.seat]] = scene.done(event.value)
    none = f'<span class="soft">{say("not yet")}</span>'
    rows = [
        [scene.who(seat), *(clues.get((seat, round_), none) for round_ in range(1, rounds + 1))]
        for seat in range(len(scene.players))
    ]
    clue_heads = [say("Clue {}", round_) if rounds > 1 else say("Clue") for round_ in range(1, rounds + 1)]
    return table(say("Clues, in the order in which players speak"), [say("Player"), *clue_heads], rows)


def _outcome(scene: Scene) -> str:
    """The seat's ballot, the accused and the guess; empty before the ballot."""
    lines, say = [], scene.say
    if not scene.over and (vote := _first_event(scene.view.past, "vote")):
        choice = scene.done(None) if vote.value is None else scene.called(vote.value)
        lines.append(say("Your ballot, which nobody else sees: {}", choice))
    if accused := _first_event(scene.view.past, "accused"):
        nobody = say("nobody: no player had more votes than every other")
        whom = nobody if accused.value is None else scene.called(accused.value)
        lines.append(say("Accused: {}", f"<strong>{whom}</strong>"))
    if guess := _first_event(scene.view.past, "guess"):
        lines.append(say("The accused guessed the word: {}", scene.done(guess.value)))
    return _card(lines) if lines else ""
