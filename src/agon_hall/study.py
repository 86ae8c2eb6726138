"""The way of a participant through a study, from the link to a completion code or a reason. All functions are pure."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from random import Random
from typing import Any, Literal, NamedTuple

import msgspec

from agon.errors import AgonError
from agon_hall import Refusal
from agon_hall.protocol import Cell, Dropout, FormQuestion, Group, Lobby, Pay, Quiz, Study

Stage = Literal["consent", "instructions", "quiz", "lobby", "match", "survey", "debrief", "out"]
LONG = 2000
"""The most letters of an answer in words."""
NOTE = "noted"
"""An event that changes no stage: a refusal, a look-up, a page that opens or closes."""
FORGOTTEN = "forgotten"
"""The last event of a participant whose data were erased. It changes no stage."""
WHY = {
    "declined": "You did not agree to take part. Only this is kept, with the number by which you came.",
    "full": "The study has all the people that it needs. Thank you for your interest.",
    "screened": "Some answers about the rules were not right, so you cannot play in this study.",
    "unmatched": "Nobody else came while you waited. You are paid for your time all the same.",
    "left": "No page of yours was open for a long time, so your place was given to somebody else.",
    "withdrew": "You have left the study.",
    "dropped": "You were away from the match for too long, so it went on without you.",
    "late": "Your answers did not come in time too often, so the match went on without you.",
}
"""The reasons for being out, in words for participants."""
FAULTS = {
    "missing": "Please answer this question.",
    "other": "Please choose one of the answers.",
    "long": "This answer is too long.",
    "wrong": "This is not right.",
}
"""The faults of answers, in words for participants."""
STEPS = {
    "consent": "Consent",
    "instructions": "Rules",
    "quiz": "Questions",
    "lobby": "Waiting",
    "match": "Match",
    "survey": "Survey",
    "debrief": "End",
}
"""The stages without `out`, in their order -> their names on pages."""
LATE = "time was up"
"""The detail of a drop after missed answers. Other drops are for people who were away."""
BEFORE = ("consent", "instructions", "quiz", "lobby")
STAGES = tuple(STEPS)


class State(msgspec.Struct, frozen=True):
    """The state of a participant."""

    stage: Stage = "consent"
    why: str = ""
    """A key of WHY, for a participant who is out."""
    cell: str = ""
    since: float = 0.0
    """The start of the stage (seconds since 1970)."""
    tries: int = 0
    """Attempts at the quiz."""
    table: str = ""
    match: str = ""
    seat: int | None = None
    points: float | None = None
    """Points in the match; None before its end."""
    whole: bool = True
    """Whether the match came to its end."""
    failed_checks: tuple[str, ...] = ()
    """Attention checks with a wrong answer."""
    is_forgotten: bool = False
    """Whether their data were erased."""

    @property
    def has_left_match(self) -> bool:
        """Whether the participant left the match before its end. A withdrawal at the survey does not count."""
        return bool(self.match and self.why) and not self.match_over

    @property
    def match_over(self) -> bool:
        """Whether the match is over. The participant is then paid for it, even after a withdrawal."""
        return self.points is not None


class Event(NamedTuple):
    """An event of a participant."""

    participant: str
    at: float
    """Seconds since 1970."""
    kind: str
    detail: Mapping[str, Any]


def next_state(study: Study, state: State, event: Event) -> State:
    """The state of a participant after an event. Raises Refusal for an event that cannot happen at this stage."""
    kind, detail, stage = event.kind, event.detail, state.stage

    def to(stage: Stage, **more: Any) -> State:
        return msgspec.structs.replace(state, stage=stage, since=event.at, **more)

    if kind == NOTE:
        return state
    if kind == FORGOTTEN:
        return msgspec.structs.replace(state, is_forgotten=True)
    if stage in ("out", "debrief"):
        raise Refusal("This is over: the page shows how it ended.")
    if kind == "withdrew" or (kind == "left" and stage in BEFORE):
        return to("out", why=kind)
    match stage, kind:
        case "consent", "arrived":
            return to("consent")
        case "consent", "declined" | "full":
            return to("out", why=kind)
        case "consent", "consented":
            return to("instructions", cell=detail["cell"])
        case "instructions", "read":
            return to("quiz") if study.quiz.questions else to("lobby")
        case "quiz", "answered":
            if detail["right"]:
                return to("lobby", tries=state.tries + 1)
            if state.tries + 1 >= study.quiz.attempts:
                return to("out", why="screened", tries=state.tries + 1)
            return msgspec.structs.replace(state, tries=state.tries + 1)
        case "lobby", "matched":
            return to("match", table=detail["table"], match=detail["match"], seat=detail["seat"])
        case "lobby", "unmatched":
            return to("out", why="unmatched")
        case "match", "finished":
            result = {"points": float(detail["points"]), "whole": bool(detail["whole"])}
            return to("survey", **result) if study.survey else to("debrief", **result)
        case "match", "dropped":
            return to("out", why="late" if detail.get("how") == LATE else "dropped")
        case "survey", "answered":
            return to("debrief", failed_checks=tuple(detail.get("failed", ())))
    raise Refusal("This cannot be done now: the page shows what comes next.")


def course(study: Study, events: Sequence[Event]) -> Iterator[tuple[Event, State, State]]:
    """Every event in order, with the states of its participant before and after it.

    Raises AgonError for an event that does not fit the study's file.
    """
    states: dict[str, State] = {}
    for event in events:
        before = states.get(event.participant, State())
        try:
            states[event.participant] = next_state(study, before, event)
        except Refusal:
            raise AgonError(
                f"conf/study/{study.name}.yaml does not fit what has happened in this study: "
                f"somebody at stage {before.stage} has `{event.kind}`. "
                "Put back what was changed in it since people came, or give the study another name"
            ) from None
        yield event, before, states[event.participant]


def fold_events(study: Study, events: Sequence[Event]) -> dict[str, State]:
    """Participant -> state after all events."""
    return {event.participant: state for event, _, state in course(study, events)}


def places_taken(states: Collection[State]) -> Counter[str]:
    """Cell -> the number of its places in use.

    Leaving before the match frees a place; so does a match that all have left.
    """
    live_matches = {state.match for state in states if not state.has_left_match}
    return Counter(
        state.cell for state in states if state.cell and (state.match in live_matches if state.match else not state.why)
    )


def assign_cell(study: Study, cells: Sequence[Cell], states: Mapping[str, State]) -> str | None:
    """The cell of the next participant; None if all cells are full.

    A match for which others wait comes first. Otherwise the draw is among the cells with the fewest complete matches,
    so that these numbers differ by at most one while nobody leaves. The draw depends on the study and on the number
    of assignments so far.
    """
    places = places_taken(states.values())
    free = [cell for cell in cells if places[cell.name] < cell.quota]
    if incomplete := [cell for cell in free if places[cell.name] % len(cell.people)]:
        free = incomplete
    else:
        fewest = min((places[cell.name] // len(cell.people) for cell in free), default=0)
        free = [cell for cell in free if places[cell.name] // len(cell.people) == fewest]
    assigned = sum(bool(state.cell) for state in states.values())
    return Random(f"{study.name}/{assigned}").choice(free).name if free else None


def faults(questions: Sequence[FormQuestion], answers: Mapping[str, str]) -> dict[int, str]:
    """Place of a question -> the fault of its answer. `answers` has the place of the question as key."""
    faults_by_place = {}
    for place, question in enumerate(questions):
        answer = answers.get(str(place), "")
        if not answer.strip():
            if not question.optional:
                faults_by_place[place] = FAULTS["missing"]
        elif question.options and answer not in question.options:
            faults_by_place[place] = FAULTS["other"]
        elif len(answer) > LONG:
            faults_by_place[place] = FAULTS["long"]
    return faults_by_place


def wrong_questions(questions: Sequence[FormQuestion], answers: Mapping[str, str]) -> list[str]:
    """The texts of the questions with a wrong answer."""
    return [
        question.ask
        for place, question in enumerate(questions)
        if question.right is not None and answers.get(str(place), "") != question.right
    ]


class FixedTerms(msgspec.Struct, frozen=True):
    """The settings that must not change after people have come, because data and pay depend on them."""

    cells: dict[str, Group]
    """The cells, without what may change (their quotas) and what the game's file says (their interviews)."""
    quiz: Quiz
    survey: list[FormQuestion]
    pay: Pay
    dropout: Dropout
    lobby: Lobby
    seconds: float


def terms_of(study: Study) -> FixedTerms:
    """The fixed terms of a study."""
    cells = {name: msgspec.structs.replace(group, quota=1, interviews=False) for name, group in study.cells.items()}
    return FixedTerms(cells, study.quiz, study.survey, study.pay, study.dropout, study.lobby, study.seconds)


def require_unchanged(study: Study, terms: str | None) -> None:
    """Raises AgonError if the fixed terms differ from the stored ones (`terms`, as JSON; None if unknown).

    New cells are allowed.
    """
    if terms is None:
        return
    now = terms_of(study)
    try:
        then = msgspec.json.decode(terms, type=FixedTerms)
    except msgspec.MsgspecError as error:
        raise AgonError(f"study {study.name} was begun with another version of agon: {error}") from None
    now = msgspec.structs.replace(now, cells={name: now.cells.get(name) for name in then.cells})
    if differences := list(_differences("", msgspec.to_builtins(then), msgspec.to_builtins(now))):
        raise AgonError(
            f"conf/study/{study.name}.yaml: people began this study under other settings of {'; '.join(differences)}: "
            "put these back, or give the new ones another name"
        )


def _differences(where: str, then: Any, now: Any) -> Iterator[str]:
    """The names of settings that differ, with their former values."""
    if isinstance(then, dict) and isinstance(now, dict):
        for name in then:
            yield from _differences(f"{where}.{name}".strip("."), then[name], now.get(name))
    elif then != now:
        yield where if isinstance(then, dict | list) else f"{where} (was {then})"


class Earned(NamedTuple):
    """The pay of a participant, in the study's currency."""

    show_up: float
    bonus: float


def earned(study: Study, state: State) -> Earned:
    """The pay by the study's rule: for points, and for participants who could not finish through no fault of theirs."""
    pay = study.pay
    if state.why == "unmatched":
        return Earned(pay.show_up, study.lobby.pay)
    if state.why and not state.match_over:
        return Earned(pay.show_up if state.why == "screened" and pay.screened else 0.0, 0.0)
    if state.points is None:
        return Earned(0.0, 0.0)
    bonus = max(0.0, state.points * pay.point)
    bonus = bonus if pay.most is None else min(bonus, pay.most)
    return Earned(pay.show_up, round(bonus if state.whole else max(bonus, pay.abandoned), 2))


def ending(study: Study, state: State) -> Literal["complete", "screened", "unmatched"] | None:
    """The kind of completion code of a participant; None for a participant without a code, or not at an end yet."""
    if state.stage == "debrief" or (state.why and state.match_over):
        return "complete"
    if state.why == "unmatched" or (state.why == "screened" and study.pay.screened):
        return "unmatched" if state.why == "unmatched" else "screened"
    return None


def exclusions(state: State, partner_left: bool = False) -> list[str]:
    """The reasons for which an analysis may exclude a participant, in the words of participants.csv."""
    if state.is_forgotten:
        return [FORGOTTEN]
    reasons = (
        [f"out: {state.why}"] if state.why else [f"not at the end: {state.stage}"] if state.stage != "debrief" else []
    )
    reasons += ["another left the match"] if partner_left and not state.has_left_match else []
    return (
        reasons
        + (["match ended early"] if not state.whole else [])
        + [f"attention: {check}" for check in state.failed_checks]
    )
