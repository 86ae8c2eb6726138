"""The page of cost sharing: the airlines, and the proposals and votes of each round."""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

from agon.games.html import bars, items, table, text
from agon.games.pages import FamilyPage, Parts, Scene


class RoundRecord(NamedTuple):
    """Proposals and votes of one round, by seat."""

    proposals: dict[int, Any]
    votes: dict[int, Any]


class CostSharingPage(FamilyPage):
    """The boards of cost sharing."""

    needed: ClassVar = ("round", "airlines", "now")

    def closing(self, scene: Scene, game: Any, state: Any) -> str:
        """Whether all agreed, the part of the fee that each pays, and the points."""
        say = scene.say
        if state.agreed is None:
            return f"<p><strong>{say('No agreement was reached: nobody has a point.')}</strong></p>"
        facts, names = scene.view.rules, [text(airline.name) for airline in game.airlines]
        shares = [
            say("{}, {}: {} %, that is {}", scene.who(seat), names[seat], share, facts.fee * share / 100)
            for seat, share in enumerate(state.agreed)
        ]
        agreed = say("Each has 1 point, whatever it pays of the fee:")
        return f"<p><strong>{say('All agreed.')}</strong> {agreed}</p>{items(shares)}"

    def board(self, scene: Scene) -> Parts:
        """The proposals of this round, the airlines, and the earlier rounds, the newest first."""
        rounds, limit = rounds_of(scene), scene.view.rules.rounds
        now = rounds[-1] if rounds and not scene.over and len(rounds[-1].votes) < len(scene.players) else None
        earlier = rounds[: -1 if now else None]
        folded = [
            _round(scene, round_, place, place == len(earlier)) for place, round_ in reversed([*enumerate(earlier, 1)])
        ]
        return {
            "round": f"<h2>{scene.say('Round {} of at most {}', min(scene.view.round, limit), limit)}</h2>",
            "airlines": _airlines(scene),
            "now": _votes(scene, now, [airline.name for airline in scene.view.rules.airlines]) if now else "",
            "earlier": "".join(folded),
        }


page = CostSharingPage()


def rounds_of(scene: Scene) -> list[RoundRecord]:
    """The proposals and votes of every round."""
    rounds: list[RoundRecord] = []
    for event in scene.view.past:
        if event.phase == "propose" and (not rounds or event.seat in rounds[-1].proposals):
            rounds.append(RoundRecord({}, {}))
        if rounds and event.seat is not None:
            (rounds[-1].proposals if event.phase == "propose" else rounds[-1].votes)[event.seat] = event.value
    return rounds


def _airlines(scene: Scene) -> str:
    facts, say = scene.view.rules, scene.say
    head = [
        say("Airline"),
        *(f"{text(airline.name)}<br>{scene.who(seat)}" for seat, airline in enumerate(facts.airlines)),
    ]
    rows = [
        [say("Flights a month"), *(say.number(airline.flights) for airline in facts.airlines)],
        [say("Passengers a month"), *(say.number(airline.passengers) for airline in facts.airlines)],
        [say("Hours a flight"), *(say.number(airline.hours) for airline in facts.airlines)],
        [say("Largest aircraft"), *(text(airline.aircraft) for airline in facts.airlines)],
    ]
    return table(say("The airlines, which share a fee of {}", facts.fee), head, rows)


def _round(scene: Scene, round_: RoundRecord, place: int, recent: bool) -> str:
    """A round's proposals, as bars and as a table, with the votes for each. A round that is not `recent` is folded."""
    airlines, say = [airline.name for airline in scene.view.rules.airlines], scene.say
    rows = [(say("{} proposes:", scene.name(seat, 34)), shares) for seat, shares in round_.proposals.items()]
    title = say("Round {}: who would pay which part of the fee, in percent", place)
    picture = bars(title, rows, airlines, 100, say)
    return (
        f"<details{' open' if recent else ''}><summary>{say('Round {}', place)}</summary>"
        f"{picture}{_votes(scene, round_, airlines)}{_agreement(scene, round_)}</details>"
    )


def _votes(scene: Scene, round_: RoundRecord, airlines: Sequence[str]) -> str:
    voted, say = bool(round_.votes), scene.say
    rows = []
    for seat, shares in round_.proposals.items():
        cells = [scene.done(None)] * len(airlines) if shares is None else [f"{say.number(share)} %" for share in shares]
        backers = [scene.who(voter) for voter, ballot in round_.votes.items() if ballot == scene.players[seat]]
        rows.append([scene.who(seat), *cells, *([", ".join(backers) or say("none")] if voted else [])])
    unreadable = [scene.who(voter) for voter, ballot in round_.votes.items() if ballot is None]
    note = f"<p>{say('No vote that could be read: {}', ', '.join(unreadable))}</p>" if unreadable else ""
    pays = [say("{} pays", text(name)) for name in airlines]
    head = [say("Proposal of"), *pays, *([say("Votes for it")] if voted else [])]
    title = say("The proposals, and the votes for them") if voted else say("The proposals")
    return table(title, head, rows) + note


def _agreement(scene: Scene, round_: RoundRecord) -> str:
    """Whether the votes of a round agree; empty before all are cast."""
    players = scene.players
    if len(round_.votes) < len(players):
        return ""
    ballots = [ballot for ballot in round_.votes.values() if ballot in players]
    choices = {None if (p := round_.proposals.get(players.index(b))) is None else tuple(p) for b in ballots}
    if len(ballots) == len(players) and len(choices) == 1:
        return "" if None in choices else f"<p><strong>{scene.say('All agree.')}</strong></p>"
    return f"<p><strong>{scene.say('No agreement in this round.')}</strong></p>"
