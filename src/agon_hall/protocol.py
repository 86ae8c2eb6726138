"""Studies with people: a file conf/study/NAME.yaml says who plays what and is told, asked and paid what; models can play the same cells."""

import difflib
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from agon.conf import CONF, expand_settings, file_of, names, settings_of
from agon.errors import AgonError, describe_fault
from agon.games.pages import check_aids
from agon.plan import PERSON, shared_chance
from agon_hall.seating import Seating, seating

Words = Annotated[str, msgspec.Meta(pattern=r"\S")]
Amount = Annotated[float, msgspec.Meta(ge=0, lt=1e6)]
Seconds = Annotated[float, msgspec.Meta(ge=5, le=86400)]
Some = Annotated[int, msgspec.Meta(ge=1)]
Code = Annotated[str, msgspec.Meta(pattern=r"^[\w-]{1,64}\Z")]
END = "end"
"""In the place of a script: the match ends when somebody has left it."""


class Part(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A section of a study's file: other settings than those below are refused."""


class Consent(Part, frozen=True):
    """What people agree to before anything else; texts are shown as they are."""

    text: Words
    investigator: Words
    contact: Words
    ethics: Words
    """Who has approved the study, and whom to ask about it."""
    minutes: Some
    """How long it takes, as people are told."""
    withdrawal: Words
    """How to leave, and what happens to what was kept."""
    drafts: bool = False
    """Whether what is typed in a match and not sent is kept, too; the page says so before anybody agrees."""


class FormQuestion(Part, frozen=True):
    """A question with some answers to choose from; without any, it is answered in words."""

    ask: Words
    options: list[Words] = []
    right: str | None = None
    """The right one of `options`; in a survey this makes the question an attention check."""
    optional: bool = False
    games: list[str] = []
    """Of a quiz: the games (as cells name them) before which it is asked; none named: all."""

    def __post_init__(self) -> None:
        """Raises ValueError for a right answer that nobody can choose."""
        if self.right is not None and self.right not in self.options:
            raise ValueError(f"right {self.right!r} is not among the options of {self.ask!r}")


class Quiz(Part, frozen=True):
    """The questions that people must answer rightly before they play."""

    questions: list[FormQuestion] = []
    attempts: Some = 3
    """Whoever has wrong answers after so many attempts goes no further."""

    def __post_init__(self) -> None:
        """Raises ValueError for a question without a right answer."""
        if without_answer := [question.ask for question in self.questions if question.right is None]:
            raise ValueError(f"{without_answer[0]!r} needs a right answer")


class Lobby(Part, frozen=True):
    """Where people wait for each other."""

    seconds: Seconds = 300.0
    """Whoever has found nobody by then is paid and goes."""
    pay: Amount = 0.0
    """The pay for waiting, beside the show-up fee."""


class Dropout(Part, frozen=True):
    """The rule by which somebody has left a match, and what happens then."""

    timeouts: Some = 2
    """So many answers that did not come in time end the participation."""
    away: Seconds = 60.0
    """Seconds without an open page."""
    then: Words = END
    """A script of conf/agent that plays on for them; or `end`."""
    told: bool = True
    """Whether the others are told who has left, and that a program plays on there."""


class Pay(Part, frozen=True):
    """What people are paid: a show-up fee, and a bonus for points."""

    currency: Annotated[str, msgspec.Meta(pattern=r"^[A-Z]{3}\Z")]
    show_up: Amount
    point: Amount = 0.0
    """The amount for a point; a negative total pays nothing."""
    most: Amount | None = None
    """The highest bonus."""
    abandoned: Amount = 0.0
    """The lowest bonus of who could not play to the end through no fault of their own."""
    screened: bool = False
    """Whether who fails the quiz is paid the show-up fee."""


class Finish(Part, frozen=True):
    """The end of a study: debriefing, completion codes and links back."""

    debrief: Words
    codes: dict[Literal["complete", "screened", "unmatched"], Code] = {}
    """Completion codes; where one is not said, everybody is given another."""
    links: dict[Literal["prolific", "mturk", "sona"], Annotated[str, msgspec.Meta(pattern=r"^https://\S+\Z")]] = {}
    """Where people go back to; {code} and {pid} are put in."""


class Group(Part, frozen=True):
    """A condition: a cell for each of its games."""

    games: Annotated[list[Words], msgspec.Meta(min_length=1)]
    """Of conf/game: FILE, FILE/SETTING, GAME~TWIN."""
    seats: Annotated[list[Words], msgspec.Meta(min_length=1)]
    """By seat: human, or an agent of conf/agent, as agent or agent@model."""
    quota: Some
    """Participants of each cell."""
    aids: list[str] = []
    """What people are shown beyond the rules; models that play this cell are told the same."""


class Limits(Part, frozen=True):
    """What the models of one match may cost."""

    usd: Amount | None = None
    tokens: Amount | None = None
    calls: Amount | None = None


class Subjects(Part, frozen=True):
    """The models that play the same cells, in the places of the people."""

    agents: list[Words] = []
    models: list[Words] = []
    repetitions: Some | None = None
    """Matches of each cell; null: as many as people play."""
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
    """Of conf/language, whose sentences stand on the pages; what games say stays as it is."""
    words: dict[str, str] = {}
    """Other sentences than those: English -> as it is said here; {} stands for an amount or a name."""
    signed: bool = False
    """Whether only those may come to whom a link of their own was given: the page Studies makes them. Platforms' links are none."""
    intro: str = ""
    """Stands above the rules."""
    quiz: Quiz = Quiz()
    lobby: Lobby = Lobby()
    seconds: Seconds = 60.0
    """For an answer in a match."""
    idle: Seconds = 900.0
    """Who opens no page for so long before the match has left."""
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

    @property
    def people(self) -> tuple[int, ...]:
        """Seats of participants."""
        return tuple(seat for seat, who in enumerate(self.entrants) if who == PERSON)


def study(name: str, conf: Path = CONF) -> Study:
    """conf/study/NAME.yaml. Raises AgonError, in one line, for what is not there or does not fit."""
    try:
        design = msgspec.convert(file_of("study", name, conf), Study)
    except msgspec.ValidationError as error:
        raise AgonError(f"conf/study/{name}.yaml: {describe_fault(error, Study)}") from None
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
        if cell.quota % len(cell.people):
            raise AgonError(
                f"conf/study/{name}.yaml: {cell.quota} participants of {cell.name} cannot sit down by {len(cell.people)}"
            )
    words_of(design, conf)
    quiz_games = {game for cell in design.quiz.questions for game in cell.games}
    if unknown := quiz_games - {cell.game for cell in cells(design, conf)}:
        raise AgonError(f"conf/study/{name}.yaml: a question of the quiz is of {min(unknown)}, which is in no cell")
    return design


def words_of(design: Study, conf: Path = CONF) -> dict[str, str]:
    """What stands on the pages themselves, English -> the study's language. Raises AgonError for what leaves out an amount or a name."""
    shipped = file_of("language", design.language, conf) if design.language in names("language", conf) else {}
    words = {**shipped, **design.words}
    for sentence, translation in words.items():
        if not isinstance(translation, str) or translation.count("{}") != sentence.count("{}"):
            raise AgonError(
                f"language {design.language}: {sentence!r} must be said in words with as many {{}}, not {translation!r}"
            )
    return words


def cells(made: Study, conf: Path = CONF) -> list[Cell]:
    """The cells of a study, in its order; a group of one game is a cell of its own name, others have the game's behind theirs."""
    all_cells = []
    for name, group in made.cells.items():
        games = expand_settings(group.games, conf)
        all_cells += [
            Cell(
                name if len(games) == 1 else f"{name}/{game}", game, tuple(group.seats), tuple(group.aids), group.quota
            )
            for game in games
        ]
    return all_cells


def match_id(made: Study, cell: Cell, number: int) -> str:
    """The id of the `number`th match of a cell (from 0), which seeds its chance: the same for people and for models."""
    return shared_chance(made.name, cell.name, number)


def seat_cell(made: Study, cell: Cell, conf: Path = CONF) -> Seating:
    """Who sits where in a cell. Raises AgonError for games, agents, aids and scripts that are not there or do not go together."""
    table = seating(cell.game, cell.entrants, made.models.sampling, conf)
    check_aids(table.game, cell.aids)
    if made.dropout.then != END:
        script = seating(cell.game, [made.dropout.then] * table.game.seats, None, conf)
        if script.models or not script.seats[0].immediate:
            raise AgonError(f"study {made.name}: dropout: {made.dropout.then} asks a model; it must be a script")
    return table


def experiment(made: Study, conf: Path = CONF) -> dict[str, Any]:
    """A study as an experiment (a file of conf/experiment), with models in the places of people.

    Raises AgonError where no agents are named, and for an agent that is told other aids than people are shown.
    """
    subjects = made.models
    if not subjects.agents:
        raise AgonError(f"study {made.name} names no agents in the places of people: set models.agents in conf/study")
    all_cells = cells(made, conf)
    for cell in all_cells:
        _require_same_aids(made, cell, conf)
    return {
        "name": made.name,
        "repetitions": subjects.repetitions or 1,
        "models": subjects.models,
        "sampling": subjects.sampling,
        "pairings": [_pairing(subjects, cell) for cell in all_cells],
    }


def _pairing(subjects: Subjects, cell: Cell) -> dict[str, Any]:
    return {
        "games": [cell.game],
        "seats": [subjects.agents if who == PERSON else [who] for who in cell.entrants],
        "repetitions": subjects.repetitions or cell.quota // len(cell.people),
        "cell": {"name": cell.name, "subjects": [*cell.people]},
    }


def _require_same_aids(made: Study, cell: Cell, conf: Path) -> None:
    for agent in {entrant.partition("@")[0] for entrant in made.models.agents}:
        agent_aids = settings_of("agent", agent, conf).get("aids") or []
        if sorted(agent_aids) != sorted(cell.aids):
            people_aids = ", ".join(cell.aids) or "none"
            raise AgonError(
                f"study {made.name}: people in {cell.name} are shown the aids {people_aids}, "
                f"{agent} is told {', '.join(agent_aids) or 'none'}: "
                f"write an agent with `aids: [{', '.join(cell.aids)}]`"
            )
