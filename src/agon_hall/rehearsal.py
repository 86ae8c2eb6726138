"""The rehearsal of a study before anybody is invited. Scripts walk through every page over HTTP, as participants do."""

import asyncio
import os
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from time import time
from typing import Any

import httpx
import pandas as pd

from agon.agents.languages import language_for, say_in
from agon.conf import load
from agon.errors import AgonError, count
from agon.games.html import as_text
from agon.games.pages import page_of
from agon.paths import display_path
from agon.plan import PERSON
from agon_hall.gather import gather
from agon_hall.protocol import END, Cell, Study, cells, matches_of, require_interviews_named, seat_cell, study
from agon_hall.server import Server, open_socket
from agon_hall.session import Session
from agon_hall.study import STAGES, WHY, State, earned, ending, meets_once
from agon_hall.study_pages import rules_of, stages_absent
from agon_hall.table import parse_budget, require_budget
from agon_hall.tables import Hall
from agon_hall.walkers import PAUSE, HttpPages, Walker

ANY = "anything"
"""The script in the place of every model, so that a rehearsal costs nothing."""
MANY = 10_000
"""The quota of a cell that always has a place."""
PATIENCE = 240.0
"""Seconds after which a rehearsal has failed."""


def checks(design: Study) -> tuple[list[str], list[str]]:
    """The faults that would stop a study, and notes about keys, budgets and placeholders."""
    faults, models = [], dict[str, Any]()
    cells_of_fault: defaultdict[str, list[str]] = defaultdict(list)
    for cell in cells(design):
        try:
            require_interviews_named(design, cell)
            table = seat_cell(design, cell)
            models |= table.models
            for name, model in table.models.items():
                require_budget(
                    name,
                    model,
                    parse_budget({key: getattr(design.budget, key) for key in ("usd", "tokens", "calls")}),
                )
        except AgonError as error:
            cells_of_fault[str(error)].append(cell.name)
    faults += [f"conf/study/{design.name}.yaml: {', '.join(at)}: {error}" for error, at in cells_of_fault.items()]
    for name, model in models.items():
        if (key := getattr(model, "key", None)) and not os.environ.get(key, "").strip():
            faults.append(f"model {name}: {key} is not in the environment")
    notes = omissions(design) + _losers(design) + _meetings(design) + _aims(design)
    if models and design.budget.usd is not None:
        matches = sum(matches_of(design, cell) for cell in cells(design))
        notes.append(
            f"models: at most {matches * design.budget.usd:,.2f} USD in {count(matches, 'match')}, "
            "beside those that all leave"
        )
    return faults, notes


def omissions(design: Study) -> list[str]:
    """Notes about what a study's file leaves open: placeholders, codes, facts that people do not learn."""
    contacts = {part: getattr(design.consent, part) for part in ("investigator", "contact", "ethics")}
    blank = [f"consent.{part}" for part, words in contacts.items() if "example.org" in words or words.isupper()]
    notes = [f"the consent has placeholders yet: {', '.join(blank)}"] if blank else []
    several = any(len(cell.people) > 1 for cell in cells(design))
    needs_code = {
        "complete": True,
        "screened": design.pay.screened and bool(design.quiz.questions),
        "unmatched": several,
    }
    missing = [kind for kind, is_needed in needs_code.items() if is_needed and kind not in design.finish.codes]
    if design.finish.links and missing:
        notes.append(
            f"finish.codes has no code for {', '.join(missing)}: "
            "everybody is given another one, which the platform does not know"
        )
    if design.dropout.then != END and several and not design.dropout.told:
        notes.append(
            f"where somebody leaves, {design.dropout.then} plays on, and the others are not told: "
            "say so in the consent or in the debriefing"
        )
    return notes


def _losers(design: Study) -> list[str]:
    """Notes about cells in which a person cannot win, whatever all players do."""
    notes = []
    for cell in cells(design):
        game: Any = load("game", cell.game) if "~" not in cell.game else None
        seats = set(page_of(game).hopeless(game) if game else ()) & {*cell.people}
        notes += [f"{cell.name}: {game.players[seat]} cannot win, whatever all players do" for seat in sorted(seats)]
    return notes


def _aims(design: Study) -> list[str]:
    """Notes about the aims that people read, if points are paid: an aim may ask for something else than points."""
    cells_of_aim: defaultdict[str, list[str]] = defaultdict(list)
    for cell in cells(design) if design.pay.point else ():
        heading = language_for(load("game", cell.game), design.language).words["objective"]
        _, found, aim = as_text(rules_of(cell, say_in(design.language, design.words))).partition(f"\n{heading}\n")
        if found:
            cells_of_aim[" ".join(aim.split())].append(cell.name)
    return [
        f"{', '.join(at)}: each point is paid, and the rules give this aim: “{aim}” Is this the aim that you pay for?"
        for aim, at in cells_of_aim.items()
    ]


def _meetings(design: Study) -> list[str]:
    """Notes about who meets whom in cells of several matches, and about a group that changes nothing."""
    alone = [cell.name for cell in cells(design) if design.matches.group and not cell.group]
    return [
        f"matches.group changes nothing in {name}: it is for several matches of people with each other"
        for name in alone
    ] + [
        f"{cell.name}: groups of {cell.group} people, {design.matches.number} matches: "
        + ("nobody meets anybody twice" if meets_once(design, cell) else "some people meet more than once")
        for cell in cells(design)
        if cell.group
    ]


def bill(design: Study) -> str:
    """The pay of all participants of a study, at least and at most, in words."""
    quota = sum(cell.quota for cell in cells(design))
    at_most = design.pay.show_up + (design.pay.most or 0.0)
    bonus = (
        f" to {quota * at_most:,.2f}" if design.pay.most else " and bonuses without a limit" if design.pay.point else ""
    )
    show_up = quota * design.pay.show_up
    return f"the bill: {quota} participants, {show_up:,.2f}{bonus} {design.pay.currency}, without the platform's fee"


async def play_rehearsal(design: Study, folder: Path, report: Callable[[str], object]) -> Session:
    """Plays every cell once, beside people who decline, guess and leave at each stage. Returns the session at the end.

    Raises AgonError for a page that fails, and for a participant who reaches no end.
    """
    hall, skew = Hall(folder), [0.0]
    server = Server(hall, open_socket())
    serving = asyncio.create_task(server.run_here())
    try:
        session = server.studies.session(design.name)
        session.clock = lambda: time() + skew[0]
        session.cells = {name: _without_models(cell) for name, cell in session.cells.items()}
        async with AsyncExitStack() as after:
            at = f"http://127.0.0.1:{server.port}"
            client = httpx.AsyncClient(base_url=at, follow_redirects=True, timeout=30, trust_env=False, verify=False)
            await after.enter_async_context(client)

            def walker(pid: str, stops: str | None = None) -> Walker:
                return Walker(session, HttpPages(client), pid, stops)

            people = sum(cell.size for cell in session.cells.values())
            odd = ["declines", *["guesses"] * bool(design.quiz.questions), "stays-1", "stays-2"]
            leave = [stage for stage in STAGES[1:-1] if stage not in stages_absent(design)]
            stay = [walker(f"person-{number}") for number in range(people)]
            await _walk_all(stay, session, skew)
            stay += (others := [walker(pid) for pid in odd])
            await _walk_all([*others, *[walker(f"leaves-{stage}", stage) for stage in leave]], session, skew)
            if several := next((cell for cell in session.cells.values() if len(cell.people) > 1), None):
                all_cells, session.cells = session.cells, {several.name: several._replace(quota=MANY)}
                stay += (others := [walker(f"plays-on-{number}") for number in range(1, several.size)])
                await _walk_all([*others, walker("leaves-the-others", "match")], session, skew)
                session.cells = all_cells
            for _ in range(3):  # people with closed pages count as having left
                skew[0] += design.idle + 1
                session.tick()
                await asyncio.sleep(PAUSE)
        if stranded := [participant.pid for participant in stay if participant.state.stage not in ("out", "debrief")]:
            raise AgonError(f"{', '.join(stranded)} came to no end")
        if script_answers := sum(participant.script_answers for participant in stay):
            report(
                f"note: {count(script_answers, 'answer')} came from a script, "
                "as forms were filled in at random for too long"
            )
        return session
    finally:
        server.end()
        await serving
        await hall.close()


async def _walk_all(group: Sequence[Walker], session: Session, skew: list[float]) -> None:
    """Lets a group walk to their ends.

    If all wait for a person who has left, `skew` (seconds) moves the clock forward.
    """
    tasks = dict[Walker, asyncio.Task[None]]()
    for participant in group:  # one is assigned after another, so that the cells are the same in every rehearsal
        tasks[participant] = asyncio.create_task(participant.walk())
        while not (tasks[participant].done() or participant.is_assigned):
            await asyncio.sleep(PAUSE / 10)
    while under_way := [participant for participant, task in tasks.items() if not task.done()]:
        await asyncio.sleep(2 * PAUSE)
        for task in tasks.values():
            if task.done():
                task.result()  # what failed
        if all(participant.waits for participant in under_way):
            skew[0] += min(session.study.lobby.seconds, session.study.dropout.away) / 10
            for participant in under_way:
                session.mark_presence(participant.who)
        session.tick()


def _without_models(cell: Cell) -> Cell:
    """The cell with a script in the place of every model."""
    return cell._replace(
        entrants=tuple(ANY if "@" in entrant and entrant != PERSON else entrant for entrant in cell.entrants)
    )


def rehearse(name: str, report: Callable[[str], object], out: Path) -> None:
    """Checks a study and rehearses it in a temporary hall. The files that `collect` would write go to `out`.

    Raises AgonError if something fails.
    """
    design = study(name)
    faults, notes = checks(design)
    for note in notes:
        report(note)
    if faults:
        raise AgonError("; ".join(faults))
    with tempfile.TemporaryDirectory() as place:
        folder, began = Path(place) / "hall", time()
        try:
            session = asyncio.run(asyncio.wait_for(play_rehearsal(design, folder, report), PATIENCE))
        except TimeoutError:
            raise AgonError(
                f"the rehearsal of {name} did not end in {PATIENCE:.0f} seconds: somebody waits for ever"
            ) from None
        ends = _ends(design, list(session.states.values()))
        report(
            f"{count(len(session.states), 'participant')} in {count(len(session.cells), 'cell')}, "
            f"{time() - began:.0f} s: {ends}"
        )
        paid_bonuses = [earned(design, state) for state in session.states.values() if state.stage == "debrief"]
        if paid_bonuses:
            mean = sum(earnings.bonus for earnings in paid_bonuses) / len(paid_bonuses)
            report(f"bonus of who came to the end, by answers at random: {mean:.2f} {design.pay.currency} on average")
        gather(folder, name, out)
        report(_coverage(design, pd.read_csv(out / "participants.csv")))
        report(bill(design))
        report(f"{display_path(out)}: what `collect` writes of a study, of these participants that are scripts")


def _coverage(design: Study, people: pd.DataFrame) -> str:
    """The number of participants at each stage, and the ends that nobody reached, in words."""
    counts = ", ".join(
        f"{people[f'{stage} seconds'].notna().sum()} {stage}"
        for stage in STAGES[:-1]
        if stage not in stages_absent(design)
    )
    others = people["exclusions"].str.contains("another left the match").sum()
    unseen = sorted(WHY.keys() - set(people["why"]))
    return f"went through: {counts}; {others} played on after another had left; not tried: {', '.join(unseen)}"


def _ends(design: Study, states: Sequence[State]) -> str:
    ends = Counter(ending(design, state) or state.why or f"closed their pages at {state.stage}" for state in states)
    return ", ".join(f"{number} {what}" for what, number in sorted(ends.items()))
