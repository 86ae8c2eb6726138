"""Experiments: files of conf/experiment, which say who meets whom in which games."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from agon.errors import AgonError, fault_of


class Sampling(msgspec.Struct, forbid_unknown_fields=True):
    """A file in conf/sampling: parameters that models have; null ones are left out."""

    temperature: Annotated[float, msgspec.Meta(ge=0)] | None = None
    top_p: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    max_tokens: Annotated[int, msgspec.Meta(ge=1)] | None = None
    thinking: Annotated[int, msgspec.Meta(ge=0)] | str | None = None
    effort: str | None = None
    seed: int | None = None
    extra: dict[str, Any] | None = None


class Tournament(msgspec.Struct, forbid_unknown_fields=True):
    """Agents that all meet, themselves included, in every one of some games (names in conf/), in one seating each.

    An agent that asks a model is there once for each of `models`; `agent@model` names one.
    """

    games: Annotated[list[str], msgspec.Meta(min_length=1)]
    agents: Annotated[list[str], msgspec.Meta(min_length=1)]
    models: list[str] = []
    """None named: those of the experiment."""
    repetitions: Annotated[int, msgspec.Meta(ge=1)] | None = None


class Cell(msgspec.Struct, forbid_unknown_fields=True):
    """A condition of a study: its name, and the seats of those whom the study is about.

    Matches of one cell and one repetition have the same chance, whoever plays them. Turns say the cell of each subject.
    """

    name: Annotated[str, msgspec.Meta(pattern=r"\S")]
    subjects: list[Annotated[int, msgspec.Meta(ge=0)]]


class Pairing(msgspec.Struct, forbid_unknown_fields=True):
    """Seat by seat, who may sit there: every combination plays, in every one of some games (names in conf/).

    An agent that asks a model asks each of `models` in turn, the same one at all seats; `agent@model` names one. `take`
    different: at every seat another one of `models`, in every order; first: the first of them alone.
    """

    games: Annotated[list[str], msgspec.Meta(min_length=1)]
    seats: Annotated[list[Annotated[list[str], msgspec.Meta(min_length=1)]], msgspec.Meta(min_length=1)]
    take: Literal["each", "different", "first"] = "each"
    models: list[str] = []
    """None named: those of the experiment."""
    repetitions: Annotated[int, msgspec.Meta(ge=1)] | None = None
    cell: Cell | None = None


class Challenge(msgspec.Struct, forbid_unknown_fields=True):
    """Each challenger against each defender, in every one of some games that say which seats are under test (`tested`).

    The challenger sits at these seats and the defender at all others; one that asks a model is there once for each of
    `models`; `agent@model` names one.
    """

    games: Annotated[list[str], msgspec.Meta(min_length=1)]
    challengers: Annotated[list[str], msgspec.Meta(min_length=1)]
    defenders: Annotated[list[str], msgspec.Meta(min_length=1)]
    models: list[str] = []
    """None named: those of the experiment."""
    repetitions: Annotated[int, msgspec.Meta(ge=1)] | None = None


class Experiment(msgspec.Struct, forbid_unknown_fields=True):
    """A file in conf/experiment: its own name, the matches per pairing, and who meets whom."""

    name: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-]+\Z")]
    repetitions: Annotated[int, msgspec.Meta(ge=1)]
    tournaments: list[Tournament] = []
    pairings: list[Pairing] = []
    challenges: list[Challenge] = []
    models: list[str] = []
    """Models of the tournaments and pairings that name none themselves."""
    sampling: str | None = None
    """A file in conf/sampling: parameters of every model, unless its own file says otherwise."""

    @property
    def meetings(self) -> list[Tournament | Pairing | Challenge]:
        """All of them."""
        return [*self.tournaments, *self.pairings, *self.challenges]


def experiment_of(experiment: Mapping[str, Any]) -> Experiment:
    """The contents of a file in conf/experiment, checked; one model may stand without a list. Raises AgonError."""
    models = experiment.get("models", [])
    try:
        asked = msgspec.convert({**experiment, "models": [models] if isinstance(models, str) else models}, Experiment)
    except msgspec.ValidationError as error:
        raise AgonError(f"the experiment's settings do not fit: {fault_of(error, Experiment)}") from None
    if not asked.meetings:
        raise AgonError(f"experiment {asked.name} plays nothing: give it tournaments, pairings or challenges")
    for each in asked.meetings:
        each.models = each.models or asked.models
    return asked


def named(asked: Experiment) -> tuple[list[str], list[str]]:
    """The agents and the models that an experiment names, as often as it does."""
    entrants = [name for each in asked.tournaments for name in each.agents]
    entrants += [name for each in asked.challenges for name in (*each.challengers, *each.defenders)]
    entrants += [name for each in asked.pairings for seat in each.seats for name in seat]
    models = [name for each in asked.meetings for name in each.models]
    split = [name.partition("@") for name in entrants]
    return [agent for agent, _, _ in split], models + [model for _, _, model in split if model]
