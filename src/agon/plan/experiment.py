"""Experiments: files of conf/experiment, which say who meets whom in which games."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from agon.errors import AgonError, describe_fault
from agon.models.base import Count


class Sampling(msgspec.Struct, forbid_unknown_fields=True):
    """A file in conf/sampling: parameters that models have; null ones are left out."""

    temperature: Annotated[float, msgspec.Meta(ge=0)] | None = None
    top_p: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    max_tokens: Count | None = None
    thinking: Annotated[int, msgspec.Meta(ge=0)] | str | None = None
    effort: str | None = None
    seed: int | None = None
    extra: dict[str, Any] | None = None


class Tournament(msgspec.Struct, forbid_unknown_fields=True):
    """Agents that all meet, themselves included, in every one of some games (names in conf/), in one seating each.

    An agent that asks a model enters once for each of `models`; `agent@model` names one of them.
    """

    games: Annotated[list[str], msgspec.Meta(min_length=1)]
    agents: Annotated[list[str], msgspec.Meta(min_length=1)]
    models: list[str] = []
    """An empty list stands for the models of the experiment."""
    repetitions: Count | None = None


class Cell(msgspec.Struct, forbid_unknown_fields=True):
    """A condition of a study: its name, and the seats of its subjects.

    Matches of one cell and one repetition throw the same dice, whoever plays them. Turns give the cell of each subject.
    """

    name: Annotated[str, msgspec.Meta(pattern=r"\S")]
    subjects: list[Annotated[int, msgspec.Meta(ge=0)]]


class Pairing(msgspec.Struct, forbid_unknown_fields=True):
    """For each seat, the agents that may sit there. Every combination plays, in each of some games (names in conf/).

    An agent that asks a model asks each of `models` in turn, the same model at all seats; `agent@model` names one of them.
    With `take: different`, every seat asks another one of `models`, in every order. With `take: first`, all ask the first.
    """

    games: Annotated[list[str], msgspec.Meta(min_length=1)]
    seats: Annotated[list[Annotated[list[str], msgspec.Meta(min_length=1)]], msgspec.Meta(min_length=1)]
    take: Literal["each", "different", "first"] = "each"
    models: list[str] = []
    """An empty list stands for the models of the experiment."""
    repetitions: Count | None = None
    cell: Cell | None = None


class Challenge(msgspec.Struct, forbid_unknown_fields=True):
    """Each challenger against each defender, in each of some games that say which seats are under test (`tested`).

    The challenger sits at these seats, and the defender at all others. An agent that asks a model enters once for each of
    `models`; `agent@model` names one of them.
    """

    games: Annotated[list[str], msgspec.Meta(min_length=1)]
    challengers: Annotated[list[str], msgspec.Meta(min_length=1)]
    defenders: list[str] = []
    """An empty list stands for the defenders of the experiment."""
    models: list[str] = []
    """An empty list stands for the models of the experiment."""
    repetitions: Count | None = None


class Experiment(msgspec.Struct, forbid_unknown_fields=True):
    """A file in conf/experiment: its own name, the matches per pairing, and who meets whom."""

    name: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-]{1,100}\Z")]
    repetitions: Count
    tournaments: list[Tournament] = []
    pairings: list[Pairing] = []
    challenges: list[Challenge] = []
    models: list[str] = []
    """Models of the meetings that name no model themselves."""
    defenders: list[str] = []
    """Defenders of the challenges that name none themselves."""
    prompts: Annotated[str, msgspec.Meta(pattern=r"^\w+\Z")] | None = None
    """The prompt set of all agents that ask models (agon.agents.prompts); None: the one that each agent's file names."""
    sampling: str | None = None
    """A file in conf/sampling: parameters of every model, unless its own file says otherwise."""
    paper: str | None = None
    """The paper whose experiment it is: `agon reproduce PAPER` makes its pages for `models`. None: it is of no paper."""

    @property
    def meetings(self) -> list[Tournament | Pairing | Challenge]:
        """The tournaments, pairings and challenges."""
        return [*self.tournaments, *self.pairings, *self.challenges]


def experiment_of(experiment: Mapping[str, Any]) -> Experiment:
    """The contents of a file in conf/experiment, after checks; `models` may be a single name instead of a list. Raises AgonError."""
    models = experiment.get("models", [])
    try:
        settings = {**experiment, "models": [models] if isinstance(models, str) else models}
        checked = msgspec.convert(settings, Experiment)
    except msgspec.ValidationError as error:
        raise AgonError(
            f"the experiment's settings do not fit: {describe_fault(error, Experiment, settings)}"
        ) from None
    if not checked.meetings:
        raise AgonError(f"experiment {checked.name} plays nothing: give it tournaments, pairings or challenges")
    for meeting in checked.meetings:
        meeting.models = meeting.models or checked.models
    for challenge in checked.challenges:
        challenge.defenders = challenge.defenders or checked.defenders
        if not challenge.defenders:
            raise AgonError(
                f"a challenge of {checked.name} has no defenders: name them in it, or for all in the experiment"
            )
    return checked


def names_in_experiment(experiment: Experiment) -> tuple[list[str], list[str]]:
    """The agents and the models that an experiment names, as often as it does."""
    entrants = [name for tournament in experiment.tournaments for name in tournament.agents]
    for challenge in experiment.challenges:
        entrants += [*challenge.challengers, *challenge.defenders]
    for pairing in experiment.pairings:
        entrants += [name for seat in pairing.seats for name in seat]
    pairs = [name.partition("@") for name in entrants]
    agents = [agent for agent, _, _ in pairs]
    models = [name for meeting in experiment.meetings for name in meeting.models]
    return agents, models + [model for _, _, model in pairs if model]
