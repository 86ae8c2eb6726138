"""The way of a participant through a study, from the link to a completion code or a reason. All functions are pure."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from random import Random
from typing import Any, Literal, NamedTuple

import msgspec

from agon.errors import AgonError
from agon_hall import Refusal
from agon_hall.protocol import Cell, Dropout, Group, Lobby, Matches, Pay, Quiz, Study
from agon_hall.questions import FormQuestion, Page
from agon_hall.schedule import meetings, schedule

Stage = Literal["consent", "instructions", "quiz", "page", "lobby", "match", "survey", "debrief", "out"]
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
    "removed": "The host of the study has ended your part in it.",
}
"""The reasons for being out, in words for participants."""
STEPS = {
    "consent": "Consent",
    "instructions": "Rules",
    "quiz": "Questions",
    "page": "Pages",
    "lobby": "Waiting",
    "match": "Match",
    "survey": "Survey",
    "debrief": "End",
}
"""The stages without `out`, in their order -> their names on pages."""
LATE = "time was up"
"""The detail of a drop after missed answers. Other drops are for people who were away."""
BETWEEN = Page("between")
"""The page between two matches, where a study has none of its own."""
BEFORE = ("consent", "instructions", "quiz", "lobby")
STAGES = tuple(STEPS)


class Result(msgspec.Struct, frozen=True):
    """The result of a match for a participant."""

    match: str
    table: str
    seat: int
    points: float
    whole: bool


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
    """Points in the last match; None before its end."""
    whole: bool = True
    """Whether the last match came to its end."""
    earlier: tuple[Result, ...] = ()
    """The matches before the last one."""
    to_play: int = 0
    """The number of matches that come after the last one that is over."""
    page: int = 0
    """The number of own pages that are done since the last match."""
    group: str = ""
    """The people who play with nobody else; the match if there is only one."""
    member: int | None = None
    """The place in the group, for several matches."""
    seed: str = ""
    """The seed that draws the match that is paid."""
    agreed: float = 0.0
    """The time of the consent (seconds since 1970)."""
    waited: float = 0.0
    """Seconds in the lobby before this stage."""
    longer: int = 0
    """How often they have chosen to wait as long again, at this stage."""
    by_hand: float | None = None
    """What the host pays beside the computed pay; None if they have not said."""
    reason: str = ""
    """The reason for it."""
    is_released: bool = False
    """Whether the host has given the place to somebody else."""
    failed_checks: tuple[str, ...] = ()
    """Attention checks with a wrong answer."""
    is_forgotten: bool = False
    """Whether their data were erased."""

    @property
    def has_left_match(self) -> bool:
        """Whether the participant left before the end of their matches. A withdrawal at the survey does not count."""
        return bool((self.match or self.group) and self.why) and not self.match_over

    @property
    def match_over(self) -> bool:
        """Whether all matches are over. The participant is then paid for them, even after a withdrawal."""
        return self.points is not None and not self.to_play

    @property
    def results(self) -> tuple[Result, ...]:
        """The matches that are over."""
        if self.points is None:
            return self.earlier
        return (*self.earlier, Result(self.match, self.table, self.seat or 0, self.points, self.whole))

    @property
    def tables(self) -> tuple[tuple[str, str, int], ...]:
        """Match, table and seat of every match, also of one that is not over."""
        last = ((self.match, self.table, self.seat),) if self.seat is not None else ()
        return (*((result.match, result.table, result.seat) for result in self.earlier), *last)

    @property
    def place(self) -> str:
        """The place on the way: it differs for pages that ask for something else."""
        return f"{self.stage}-{len(self.results)}-{self.page}-{self.tries}"


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
        if state.stage == "lobby":
            more |= {"waited": state.waited + event.at - state.since, "longer": 0}
        return msgspec.structs.replace(state, stage=stage, since=event.at, **more)

    def go_on(state: State) -> State:
        """The state after an own page, or where the first of them comes."""
        played = len(state.results)
        if state.page < len(pages_after(study, played)):
            return msgspec.structs.replace(state, stage="page", since=event.at)
        stage: Stage = "lobby" if played < study.matches.number else "survey" if study.survey else "debrief"
        return msgspec.structs.replace(state, stage=stage, since=event.at)

    if kind in (NOTE, FORGOTTEN, "paid", "released"):
        return _noted(state, kind, detail)
    if stage in ("out", "debrief"):
        raise Refusal("This is over: the page shows how it ended.")
    if kind in ("withdrew", "removed"):
        return to("out", why=kind)
    if kind == "left" and (stage in BEFORE or stage == "page") and not state.match_over:
        return to("out", why="dropped" if state.group else kind)
    match stage, kind:
        case "consent", "arrived":
            return to("consent")
        case "consent", "declined" | "full":
            return to("out", why=kind)
        case "consent", "consented":
            return to("instructions", cell=detail["cell"], seed=detail.get("seed", ""), agreed=event.at)
        case "instructions", "read":
            return to("quiz") if study.quiz.questions else go_on(state)
        case "quiz", "answered":
            tried = msgspec.structs.replace(state, tries=state.tries + 1)
            if detail["right"]:
                return go_on(tried)
            if tried.tries >= study.quiz.attempts:
                return to("out", why="screened", tries=tried.tries)
            return tried
        case "page", "answered":
            return go_on(msgspec.structs.replace(state, page=state.page + 1))
        case "lobby", "grouped":
            return msgspec.structs.replace(state, group=detail["group"], member=detail["member"])
        case "lobby", "matched":
            where = {name: detail[name] for name in ("table", "match", "seat")}
            return to(
                "match", **where, group=state.group or detail["match"], earlier=state.results, points=None, page=0
            )
        case "lobby", "stayed" if state.longer < study.lobby.longer and not state.group:
            return msgspec.structs.replace(state, longer=state.longer + 1)
        case "lobby", "unmatched":
            return to("out", why="unmatched")
        case "match", "finished":
            to_play = study.matches.number - len(state.earlier) - 1
            result = {"points": float(detail["points"]), "whole": bool(detail["whole"]), "to_play": to_play}
            return go_on(msgspec.structs.replace(state, **result))
        case "match", "dropped":
            return to("out", why="late" if detail.get("how") == LATE else "dropped")
        case "survey", "answered":
            return to("debrief", failed_checks=tuple(detail.get("failed", ())))
    raise Refusal("This cannot be done now: the page shows what comes next.")


def _noted(state: State, kind: str, detail: Mapping[str, Any]) -> State:
    """The state after an event that changes no stage."""
    if kind == FORGOTTEN:
        return msgspec.structs.replace(state, is_forgotten=True)
    if kind == "released":
        return msgspec.structs.replace(state, is_released=True)
    if kind == "paid":
        return msgspec.structs.replace(state, by_hand=detail.get("amount"), reason=detail.get("reason", ""))
    return state


def pages_after(study: Study, played: int) -> Sequence[Page]:
    """The pages after so many matches. Between two matches there is one at least: it shows the points."""
    between = range(1, study.matches.number)
    pages = [page for page in study.pages if played in (page.after or between)]
    return pages or ([BETWEEN] if played in between else [])


def own_page(study: Study, state: State) -> Page:
    """The page of the study's own at which a participant is."""
    return pages_after(study, len(state.results))[state.page]


def meets_once(study: Study, cell: Cell) -> bool:
    """Whether nobody of a cell meets anybody twice in their matches."""
    return meetings(schedule(cell.group, len(cell.people), study.matches.number, "")) == 1


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

    Leaving before the match frees a place; so does a match, or a group, that all have left, and the host.
    """
    live_groups = {state.group or state.match for state in states if not state.has_left_match}
    return Counter(
        state.cell
        for state in states
        if state.cell
        and not state.is_released
        and (group in live_groups if (group := state.group or state.match) else not state.why)
    )


def assign_cell(study: Study, cells: Sequence[Cell], states: Mapping[str, State]) -> str | None:
    """The cell of the next participant; None if all cells are full.

    A match for which others wait comes first. Otherwise the draw is among the cells with the fewest complete matches,
    so that these numbers differ by at most one while nobody leaves. The draw depends on the study and on the number
    of assignments so far.
    """
    places = places_taken(states.values())
    free = [cell for cell in cells if places[cell.name] < cell.quota]
    if incomplete := [cell for cell in free if places[cell.name] % cell.size]:
        free = incomplete
    else:
        fewest = min((places[cell.name] // cell.size for cell in free), default=0)
        free = [cell for cell in free if places[cell.name] // cell.size == fewest]
    assigned = sum(bool(state.cell) for state in states.values())
    return Random(f"{study.name}/{assigned}").choice(free).name if free else None


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
    matches: Matches = Matches()
    pages: list[Page] = []


def terms_of(study: Study) -> FixedTerms:
    """The fixed terms of a study."""
    cells = {name: msgspec.structs.replace(group, quota=1, interviews=False) for name, group in study.cells.items()}
    settings = {name: getattr(study, name) for name in FixedTerms.__struct_fields__}
    return FixedTerms(**settings | {"cells": cells})


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
    """The pay by the study's rule: for points, for waiting, and for participants who could not finish.

    What the host pays by hand is not in it, and nothing is known of a participant who was forgotten.
    """
    pay = study.pay
    if state.is_forgotten:
        return Earned(0.0, 0.0)
    waiting = pay.waiting * (state.waited // 60)
    if state.why == "unmatched":
        return Earned(pay.show_up, round(study.lobby.pay + waiting, 2))
    if state.why and not state.match_over:
        if state.why == "screened":
            return Earned(pay.show_up if pay.screened else 0.0, 0.0)
        minutes = (state.since - state.agreed) // 60 if state.has_left_match else 0.0
        return Earned(0.0, round(min(pay.show_up, pay.leaving * minutes), 2))
    if not state.match_over:
        return Earned(0.0, 0.0)
    paid = paid_results(study, state)
    bonus = max(0.0, sum(result.points for result in paid) * pay.point)
    bonus = bonus if pay.most is None else min(bonus, pay.most)
    bonus = bonus if all(result.whole for result in paid) else max(bonus, pay.abandoned)
    return Earned(pay.show_up, round(bonus + waiting, 2))


def drawn(study: Study, state: State) -> int | None:
    """The match (from 0) that is paid, drawn from the participant's seed; None if all are paid, or before the end."""
    is_drawn = study.matches.paid == "one" and state.match_over and not state.is_forgotten
    return Random(state.seed).randrange(study.matches.number) if is_drawn else None


def paid_results(study: Study, state: State) -> tuple[Result, ...]:
    """The matches whose points are paid. Empty before the end of the last match, and if the seed was erased."""
    if not state.match_over or state.is_forgotten:
        return ()
    paid = drawn(study, state)
    return state.results if paid is None else state.results[paid : paid + 1]


def ending(study: Study, state: State) -> Literal["complete", "screened", "unmatched", "partial"] | None:
    """The kind of completion code of a participant; None for a participant without a code, or not at an end yet."""
    if state.stage == "debrief" or (state.why and state.match_over):
        return "complete"
    if state.why == "unmatched":
        return "unmatched"
    if state.why == "screened" and study.pay.screened:
        return "screened"
    return "partial" if state.has_left_match and earned(study, state).bonus else None


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
        + (["match ended early"] if not all(result.whole for result in state.results) else [])
        + [f"attention: {check}" for check in state.failed_checks]
    )
