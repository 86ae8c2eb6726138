"""Studies with people.

A file conf/study/NAME.yaml has the cells, texts, questions and pay. Models can play the same cells.
"""

import difflib
from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from agon.agents.languages import language_for, say_in
from agon.agents.prompts import OURS
from agon.conf import CONF, expand_settings, file_of, load, names, settings_of
from agon.errors import AgonError, describe_fault
from agon.games.pages import check_aids
from agon.plan import PERSON, shared_chance
from agon_hall.questions import Code, FormQuestion, Page, Part, Words, image_of
from agon_hall.seating import Seating, seating

Amount = Annotated[float, msgspec.Meta(ge=0, lt=1e6)]
Seconds = Annotated[float, msgspec.Meta(ge=5, le=86400)]
Some = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
Few = Annotated[int, msgspec.Meta(ge=1, le=100)]
END = "end"
"""Stands in the place of a script: the match ends when somebody leaves it."""


class Consent(Part, frozen=True):
    """The text that people agree to before anything else. It is shown as it is."""

    text: Words
    investigator: Words
    contact: Words
    ethics: Words
    """The board that approved the study, and its contact."""
    minutes: Some
    """The length of the study, as the page states it."""
    withdrawal: Words
    """How to leave, and what happens to the data then."""
    drafts: bool = False
    """Whether text that is typed in a match and not sent is stored too. The page says so before anybody agrees."""


class Matches(Part, frozen=True):
    """The matches of a participant, all in one cell."""

    number: Few = 1
    group: Few | None = None
    """The number of people who play with nobody else. It must be given if people play several matches with people."""
    paid: Literal["all", "one"] = "all"
    """Whether the points of all matches are paid, or those of one that is drawn for each participant."""
    seconds: Seconds = 120.0
    """The longest time on a page between matches. Then the page goes on by itself, without answers."""


class Quiz(Part, frozen=True):
    """The questions that people must answer correctly before they play."""

    questions: list[FormQuestion] = []
    attempts: Some = 3
    """The number of attempts. A person with wrong answers in the last one is out."""

    def __post_init__(self) -> None:
        """Raises ValueError for a question without a right answer."""
        if without_answer := [question.ask for question in self.questions if question.right is None]:
            raise ValueError(f"{without_answer[0]!r} needs a right answer")


class Lobby(Part, frozen=True):
    """The lobby, where people wait for each other."""

    seconds: Seconds = 300.0
    """The longest wait. A person who is not matched by then is paid and goes."""
    longer: Annotated[int, msgspec.Meta(ge=0, le=20)] = 0
    """The number of times that a person may wait as long again instead."""
    pay: Amount = 0.0
    """The pay for waiting, beside the show-up fee."""


class Dropout(Part, frozen=True):
    """The rule for leaving a match, and its consequence."""

    timeouts: Some = 2
    """The number of missed answers after which a person has left."""
    away: Seconds = 60.0
    """The seconds without an open page after which a person has left."""
    then: Words = END
    """The script of conf/agent that plays on for them, or `end`."""
    told: bool = True
    """Whether the others learn who has left, and that a program plays on there."""


class Pay(Part, frozen=True):
    """The pay: a show-up fee, and a bonus for points."""

    currency: Annotated[str, msgspec.Meta(pattern=r"^[A-Z]{3}\Z")]
    show_up: Amount
    point: Amount = 0.0
    """The amount for a point. A negative total pays nothing."""
    most: Amount | None = None
    """The highest bonus."""
    abandoned: Amount = 0.0
    """The lowest bonus of a person whose match ended early through no fault of theirs."""
    screened: bool = False
    """Whether a person who fails the quiz is paid the show-up fee."""
    waiting: Amount = 0.0
    """The amount for each full minute in the lobby, in the bonus of everybody who waited and is paid."""
    leaving: Amount = 0.0
    """The amount for each full minute since the consent, for a person who leaves a match or is put out of it.

    It is at most the show-up fee.
    """


class Finish(Part, frozen=True):
    """The end of a study: debriefing, completion codes and links back."""

    debrief: Words
    codes: dict[Literal["complete", "screened", "unmatched", "partial"], Code] = {}
    """Completion codes. If a code is absent, each participant gets a different one."""
    links: dict[Literal["prolific", "mturk", "sona"], Annotated[str, msgspec.Meta(pattern=r"^https://\S+\Z")]] = {}
    """The addresses to which people return. {code} and {pid} are replaced."""


class Group(Part, frozen=True):
    """A condition. It has a cell for each of its games."""

    games: Annotated[list[Words], msgspec.Meta(min_length=1)]
    """Games of conf/game: FILE, FILE/SETTING or GAME~TWIN."""
    seats: Annotated[list[Words], msgspec.Meta(min_length=1)]
    """By seat: human, or an agent of conf/agent, as agent or agent@model."""
    quota: Some
    """The number of participants of each cell."""
    aids: list[str] = []
    """The aids that people see beside the rules. Models that play this cell get the same."""
    interviews: bool = False
    """Whether the game asks questions that change nothing, such as interviews. It must say what the game's file says."""


class Limits(Part, frozen=True):
    """The budget for the models of one match."""

    usd: Amount | None = None
    tokens: Amount | None = None
    calls: Amount | None = None


class Subjects(Part, frozen=True):
    """The models that play the same cells, in the places of the people."""

    agents: list[Words] = []
    models: list[Words] = []
    repetitions: Some | None = None
    """Matches of each cell; null for as many as people play."""
    sampling: str | None = None


class Study(Part, frozen=True):
    """A file of conf/study."""

    name: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-]{1,60}\Z")]
    title: Words
    consent: Consent
    cells: Annotated[dict[Annotated[str, msgspec.Meta(pattern=r"^[\w-]+\Z")], Group], msgspec.Meta(min_length=1)]
    pay: Pay
    finish: Finish
    language: Annotated[str, msgspec.Meta(pattern=r"^[a-z]{2}(-[A-Z]{2})?\Z")] = "en"
    """The file of conf/language with the sentences of the pages, and the prompt set of rules and questions."""
    words: dict[str, str] = {}
    """Replacements for these sentences: English -> the study's wording. {} stands for an amount or a name."""
    signed: bool = False
    """Whether people need a personal link, which the page Studies makes. Links of platforms are then refused."""
    intro: str = ""
    """The text above the rules."""
    quiz: Quiz = Quiz()
    lobby: Lobby = Lobby()
    matches: Matches = Matches()
    pages: list[Page] = []
    """Pages of the study's own, in their order."""
    seconds: Seconds = 60.0
    """The time for an answer in a match."""
    reveal: bool = False
    """Whether people learn after the match whether a person, a script or a model sat on the other seats."""
    idle: Seconds = 900.0
    """The seconds without an open page after which a person has left before the match."""
    dropout: Dropout = Dropout()
    budget: Limits = Limits()
    survey: list[FormQuestion] = []
    models: Subjects = Subjects()


class Cell(NamedTuple):
    """A condition in one game."""

    name: str
    game: str
    entrants: tuple[str, ...]
    aids: tuple[str, ...]
    quota: int
    interviews: bool = False
    group: int = 0
    """The number of people who play with nobody else; 0 for those of one match."""

    @property
    def size(self) -> int:
        """The number of people who begin together."""
        return self.group or len(self.people)

    @property
    def people(self) -> tuple[int, ...]:
        """The seats of participants."""
        return tuple(seat for seat, who in enumerate(self.entrants) if who == PERSON)


def study(name: str, conf: Path = CONF) -> Study:
    """The study in conf/study/NAME.yaml. Raises AgonError if the file is absent or does not fit."""
    try:
        design = msgspec.convert(settings := file_of("study", name, conf), Study)
    except msgspec.ValidationError as error:
        raise AgonError(f"conf/study/{name}.yaml: {describe_fault(error, Study, settings)}") from None
    if design.name != name:
        raise AgonError(f"conf/study/{name}.yaml: name is {design.name!r}; it must be the name of the file")
    for cell in cells(design, conf):
        if near := difflib.get_close_matches(PERSON, set(cell.entrants) - {PERSON, *names("agent", conf)}, 1, 0.8):
            raise AgonError(
                f"conf/study/{name}.yaml: {cell.name}: there is no agent {near[0]!r}: did you mean {PERSON}?"
            )
        if not cell.people:
            raise AgonError(
                f"conf/study/{name}.yaml: nobody is human in {cell.name}: write human in the place of an agent"
            )
        _require_groups(design, cell)
    for page in design.pages:
        if late := [number for number in page.after if number > design.matches.number]:
            raise AgonError(f"conf/study/{name}.yaml: page {page.name}: there is no match {late[0]}")
        image_of(page, conf)
    if twice := [page for page, times in Counter(page.name for page in design.pages).items() if times > 1]:
        raise AgonError(f"conf/study/{name}.yaml: two pages have the name {twice[0]}")
    say_in(design.language, design.words, conf)
    quiz_games = {game for cell in design.quiz.questions for game in cell.games}
    if unknown := quiz_games - {cell.game for cell in cells(design, conf)}:
        raise AgonError(f"conf/study/{name}.yaml: a question of the quiz is of {min(unknown)}, which is in no cell")
    return design


def _require_groups(design: Study, cell: Cell) -> None:
    """Raises AgonError if the participants of a cell cannot be divided into matches and groups."""
    place, seats = f"conf/study/{design.name}.yaml", len(cell.people)
    if cell.quota % seats:
        raise AgonError(f"{place}: {cell.quota} participants of {cell.name} cannot sit down by {seats}")
    if seats == 1 or design.matches.number == 1:
        return
    if not cell.group:
        raise AgonError(
            f"{place}: set matches.group, the number of people who play with nobody else: {seats} for the same people "
            f"in all matches, or a multiple of {seats}"
        )
    if cell.group % seats or cell.quota % cell.group:
        raise AgonError(
            f"{place}: {cell.name}: matches.group is {cell.group}: it must be a multiple of the {seats} people of a "
            f"match, and the quota ({cell.quota}) a multiple of it"
        )
    if design.dropout.then == END:
        raise AgonError(
            f"{place}: dropout.then must name a script if people play several matches: "
            "it takes the place of those who leave"
        )


def cells(design: Study, conf: Path = CONF) -> list[Cell]:
    """The cells of a study, in the file's order. A group of several games has cells with the names GROUP/GAME."""
    all_cells = []
    for name, group in design.cells.items():
        games, seats, aids = expand_settings(group.games, conf), tuple(group.seats), tuple(group.aids)
        meets = design.matches.group if design.matches.number > 1 and seats.count(PERSON) > 1 else None
        all_cells += [
            Cell(
                name if len(games) == 1 else f"{name}/{game}",
                game,
                seats,
                aids,
                group.quota,
                group.interviews,
                meets or 0,
            )
            for game in games
        ]
    return all_cells


def match_id(design: Study, cell: Cell, number: int) -> str:
    """The id of a cell's match; `number` counts from 0.

    It is the seed of chance, the same for people and for models.
    """
    return shared_chance(design.name, cell.name, number)


def require_interviews_named(design: Study, cell: Cell, conf: Path = CONF) -> None:
    """Raises AgonError if a cell does not say whether its game asks questions that change nothing."""
    setting = load("game", cell.game, conf).asides
    if bool(setting) != cell.interviews:
        asks = f"asks questions that change nothing ({setting})" if setting else "asks no questions that change nothing"
        instead = f", or take a game whose file says `{setting}: false`" if setting else ""
        value = str(bool(setting)).lower()
        raise AgonError(
            f"study {design.name}: {cell.name}: {cell.game} {asks}: write `interviews: {value}` in the cell{instead}"
        )


def seat_cell(design: Study, cell: Cell, conf: Path = CONF) -> Seating:
    """The seating of a cell.

    Raises AgonError for games, agents, aids and scripts that are absent or do not fit together.
    """
    table = seating(cell.game, cell.entrants, design.models.sampling, conf)
    check_aids(table.game, cell.aids)
    if design.dropout.then != END:
        script = seating(cell.game, [design.dropout.then] * table.game.seats, None, conf)
        if script.models or not script.seats[0].immediate:
            raise AgonError(f"study {design.name}: dropout: {design.dropout.then} asks a model; it must be a script")
    return table


def experiment(design: Study, conf: Path = CONF) -> dict[str, Any]:
    """A study as an experiment (a file of conf/experiment), with models in the places of people.

    Raises AgonError if no agents are named, for an agent with other aids than people have, and if only some games have
    prompts in the study's language.
    """
    subjects = design.models
    if not subjects.agents:
        raise AgonError(f"study {design.name} names no agents in the places of people: set models.agents in conf/study")
    all_cells = cells(design, conf)
    for cell in all_cells:
        _require_same_aids(design, cell, conf)
    prompt_sets = {language_for(load("game", cell.game, conf), design.language, conf).prompts for cell in all_cells}
    if len(prompt_sets) > 1:
        raise AgonError(
            f"study {design.name}: only some games are told in {design.language}: divide it into two studies"
        )
    return {
        "name": design.name,
        **({} if prompt_sets <= {OURS} else {"prompts": prompt_sets.pop()}),
        "repetitions": subjects.repetitions or 1,
        "models": subjects.models,
        "sampling": subjects.sampling,
        "pairings": [_pairing(design, cell) for cell in all_cells],
    }


def matches_of(design: Study, cell: Cell) -> int:
    """The number of matches of a cell whose participants all come to the end."""
    return cell.quota // len(cell.people) * design.matches.number


def _pairing(design: Study, cell: Cell) -> dict[str, Any]:
    subjects = design.models
    return {
        "games": [cell.game],
        "seats": [subjects.agents if who == PERSON else [who] for who in cell.entrants],
        "repetitions": subjects.repetitions or matches_of(design, cell),
        "cell": {"name": cell.name, "subjects": [*cell.people]},
    }


def _require_same_aids(design: Study, cell: Cell, conf: Path) -> None:
    for agent in {entrant.partition("@")[0] for entrant in design.models.agents}:
        agent_aids = settings_of("agent", agent, conf).get("aids") or []
        if sorted(agent_aids) != sorted(cell.aids):
            people_aids = ", ".join(cell.aids) or "none"
            raise AgonError(
                f"study {design.name}: people in {cell.name} are shown the aids {people_aids}, "
                f"{agent} is told {', '.join(agent_aids) or 'none'}: "
                f"write an agent with `aids: [{', '.join(cell.aids)}]`"
            )
