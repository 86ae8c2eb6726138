"""A study tried out before anybody is invited: scripts walk through every page as participants do, over HTTP or in browsers."""

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

from agon.errors import AgonError, count
from agon.paths import shown
from agon.plan import PERSON
from agon_hall.browsing import BrowserPages, browser
from agon_hall.gather import gather
from agon_hall.language import untranslated
from agon_hall.protocol import END, Cell, Study, cells, seated, study
from agon_hall.server import Server, listening
from agon_hall.session import Session
from agon_hall.study import STAGES, WHY, State, earned, ending
from agon_hall.study_pages import skipped
from agon_hall.table import budget_of, limited
from agon_hall.tables import Hall
from agon_hall.walkers import PAUSE, HttpPages, OwnModel, Walker

ANY = "anything"
"""The script that sits where a model does: a rehearsal costs nothing."""
MANY = 10_000
"""The quota of a cell that always has a place."""
PATIENCE = 240.0
"""Seconds for which a rehearsal is waited for; in browsers three times as long."""


def checks(own: Study) -> tuple[list[str], list[str]]:
    """What would stop a study, and what is worth knowing before: keys, budgets, placeholders."""
    faults, models = [], dict[str, Any]()
    where: defaultdict[str, list[str]] = defaultdict(list)
    for cell in cells(own):
        try:
            found = seated(own, cell)
            models |= found.models
            for name, model in found.models.items():
                limited(name, model, budget_of({key: getattr(own.budget, key) for key in ("usd", "tokens", "calls")}))
        except AgonError as error:
            where[str(error)].append(cell.name)
    faults += [f"conf/study/{own.name}.yaml: {', '.join(at)}: {error}" for error, at in where.items()]
    for name, model in models.items():
        if (key := getattr(model, "key", None)) and not os.environ.get(key, "").strip():
            faults.append(f"model {name}: {key} is not in the environment")
    notes = forgotten(own)
    if models and own.budget.usd is not None:
        matches = sum(cell.quota // len(cell.people) for cell in cells(own))
        notes.append(
            f"models: at most {matches * own.budget.usd:,.2f} USD in {count(matches, 'match')}, beside those that all leave"
        )
    return faults, notes


def forgotten(own: Study) -> list[str]:
    """What a study's file leaves open: placeholders, codes, what people are not told, sentences in no other language."""
    said = {part: getattr(own.consent, part) for part in ("investigator", "contact", "ethics")}
    blank = [f"consent.{part}" for part, words in said.items() if "example.org" in words or words.isupper()]
    notes = [f"the consent has placeholders yet: {', '.join(blank)}"] if blank else []
    several = any(len(cell.people) > 1 for cell in cells(own))
    given = {"complete": True, "screened": own.pay.screened and bool(own.quiz.questions), "unmatched": several}
    missing = [kind for kind, needed in given.items() if needed and kind not in own.finish.codes]
    if own.finish.links and missing:
        notes.append(
            f"finish.codes has no code for {', '.join(missing)}: everybody is given another one, which the platform does not know"
        )
    if own.dropout.then != END and several and not own.dropout.told:
        notes.append(
            f"where somebody leaves, {own.dropout.then} plays on, and the others are not told: "
            "say so in the consent or in the debriefing"
        )
    return notes + untranslated(own)


def bill(own: Study) -> str:
    """What the participants of a study are paid, at least and at most."""
    wanted = sum(cell.quota for cell in cells(own))
    at_most = own.pay.show_up + (own.pay.most or 0.0)
    bonus = f" to {wanted * at_most:,.2f}" if own.pay.most else " and bonuses without a limit" if own.pay.point else ""
    return f"the bill: {wanted} participants, {wanted * own.pay.show_up:,.2f}{bonus} {own.pay.currency}, without the platform's fee"


async def rehearsed(own: Study, folder: Path, said: Callable[[str], object], browsers: bool = False) -> Session:
    """Has every cell played once, beside people who decline, guess and leave at each stage; the session, when all is over.

    Raises AgonError for a page that fails, and for somebody who ends without a code or a reason.
    """
    hall, skew = Hall(folder), [0.0]
    server = Server(hall, listening())
    serving = asyncio.create_task(server.run_here())
    try:
        session = server.studies.session(own.name)
        session.clock = lambda: time() + skew[0]
        session.cells = {name: _free(cell) for name, cell in session.cells.items()}
        async with AsyncExitStack() as after:
            at = f"http://127.0.0.1:{server.port}"
            client = httpx.AsyncClient(base_url=at, follow_redirects=True, timeout=30, trust_env=False, verify=False)
            await after.enter_async_context(client)
            shown = await after.enter_async_context(browser()) if browsers else None

            async def walker(pid: str, stops: str | None = None) -> Walker:
                tab = await (await shown.new_context(base_url=at)).new_page() if shown else None
                return Walker(session, BrowserPages(tab) if tab else HttpPages(client), pid, stops)

            people = sum(len(cell.people) for cell in session.cells.values())
            odd = ["declines", *["guesses"] * bool(own.quiz.questions), "stays-1", "stays-2"]
            leave = [stage for stage in STAGES[1:-1] if stage not in skipped(own)]
            stay = [await walker(f"person-{number}") for number in range(people)]
            if browsers and own.models.agents and own.models.models:
                stay[0].model = model = OwnModel(own, folder / "model")
                after.push_async_callback(model.close)
            else:
                model = None
            await _walked(stay, session, skew)
            stay += (others := [await walker(pid) for pid in odd])
            await _walked([*others, *[await walker(f"leaves-{stage}", stage) for stage in leave]], session, skew)
            if several := next((cell for cell in session.cells.values() if len(cell.people) > 1), None):
                every, session.cells = session.cells, {several.name: several._replace(quota=MANY)}
                stay += (others := [await walker(f"plays-on-{number}") for number in several.people[1:]])
                await _walked([*others, await walker("leaves-the-others", "match")], session, skew)
                session.cells = every
            for _ in range(3):  # who has closed their pages has left
                skew[0] += own.idle + 1
                session.tick()
                await asyncio.sleep(PAUSE)
        if lost := [each.pid for each in stay if each.state.stage not in ("out", "debrief")]:
            raise AgonError(f"{', '.join(lost)} came to no end")
        if model is not None:
            silent = f"; it answers no more: {model.why}" if model.why else ""
            said(f"{model.name}: {count(model.answers, 'answer')} of one participant{silent}")
        if spoken := sum(each.spoken_for for each in stay):
            said(f"note: {count(spoken, 'answer')} came from a script, as forms were filled in at random for too long")
        return session
    finally:
        server.end()
        await serving
        await hall.close()


async def _walked(group: Sequence[Walker], session: Session, skew: list[float]) -> None:
    """Has some walk to their ends. Where all wait for somebody who has left, time goes faster: by `skew`, in seconds."""
    tasks = dict[Walker, asyncio.Task[None]]()
    for each in group:  # one is assigned after the other, so that the cells are the same in every rehearsal
        tasks[each] = asyncio.create_task(each.walk())
        while not (tasks[each].done() or each.assigned):
            await asyncio.sleep(PAUSE / 10)
    while under_way := [each for each, task in tasks.items() if not task.done()]:
        await asyncio.sleep(2 * PAUSE)
        for task in tasks.values():
            if task.done():
                task.result()  # what failed
        if all(each.waits for each in under_way):
            skew[0] += min(session.study.lobby.seconds, session.study.dropout.away) / 10
            for each in under_way:
                session.saw(each.who)
        session.tick()


def _free(cell: Cell) -> Cell:
    """The cell with a script wherever a model sits."""
    return cell._replace(entrants=tuple(ANY if "@" in each and each != PERSON else each for each in cell.entrants))


def rehearse(name: str, said: Callable[[str], object], out: Path, browsers: bool = False) -> None:
    """Checks a study and has it walked through, in a hall that is thrown away; what `collect` would write goes to `out`.

    With `browsers` everybody is at a real one; else pages are read and forms sent over HTTP.

    Raises AgonError where something fails.
    """
    own = study(name)
    faults, notes = checks(own)
    for note in notes:
        said(note)
    if faults:
        raise AgonError("; ".join(faults))
    with tempfile.TemporaryDirectory() as place:
        folder, began, patience = Path(place) / "hall", time(), 3 * PATIENCE if browsers else PATIENCE
        try:
            session = asyncio.run(asyncio.wait_for(rehearsed(own, folder, said, browsers=browsers), patience))
        except TimeoutError:
            raise AgonError(
                f"the rehearsal of {name} did not end in {patience:.0f} seconds: somebody waits for ever"
            ) from None
        ends = _ends(own, list(session.states.values()))
        said(
            f"{count(len(session.states), 'participant')} in {count(len(session.cells), 'cell')}, {time() - began:.0f} s: {ends}"
        )
        paid = [earned(own, state) for state in session.states.values() if state.stage == "debrief"]
        if paid:
            mean = sum(each.bonus for each in paid) / len(paid)
            said(f"bonus of who came to the end, by answers at random: {mean:.2f} {own.pay.currency} on average")
        gather(folder, name, out)
        said(_seen(own, pd.read_csv(out / "participants.csv")))
        said(bill(own))
        said(f"{shown(out)}: what `collect` writes of a study, of these participants that are scripts")


def _seen(own: Study, people: pd.DataFrame) -> str:
    """How many went through each stage, and what nobody met."""
    passed = ", ".join(
        f"{people[f'{stage} seconds'].notna().sum()} {stage}" for stage in STAGES[:-1] if stage not in skipped(own)
    )
    others = people["exclusions"].str.contains("another left the match").sum()
    unseen = sorted(WHY.keys() - set(people["why"]))
    return f"went through: {passed}; {others} played on after another had left; not tried: {', '.join(unseen)}"


def _ends(own: Study, states: Sequence[State]) -> str:
    ends = Counter(ending(own, each) or each.why or f"closed their pages at {each.stage}" for each in states)
    return ", ".join(f"{number} {what}" for what, number in sorted(ends.items()))
