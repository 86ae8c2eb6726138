"""The form for a new table: which games, settings, twins, agents, models and aids there are to choose from."""

import functools
import secrets
from typing import Any

from agon.conf import CONF, derived_games, expand_settings, load, names
from agon.errors import AgonError
from agon.games.inputs import Button, Entered, Group, InvalidEntry, LineField, ListField, RadioField, Thing, TickField
from agon.games.pages import page_of
from agon.plan import PERSON
from agon.turns import schema
from agon_hall import Refused
from agon_hall.family_pages import known_pages
from agon_hall.seating import agents_for, models_for
from agon_hall.table import has_openings

PERSON_SHOWN = "a person"
ANY = "(any of them, drawn by the table)"
"""A setting that nobody at the table knows beforehand."""
ITSELF = "(as it is)"
"""The game, and none of its twins."""
OPENINGS = {"everybody does": False, "the table does, as in the published games": True}
TESTED = (
    "<p>In this game one side is “tested”: in the published games the others open with a sentence or proposal that was written "
    "beforehand. Here everybody speaks for themselves, unless you choose otherwise; then the page says whose words they are.</p>"
)
HELPS = "What people are shown beyond what models are told"


@functools.cache
def offered() -> dict[str, list[str]]:
    """Game files of conf/game that can be played at a table -> their settings; none for a game without."""
    settings_of_file = {}
    for name in names("game"):
        try:
            settings = [name_of_setting.partition("/")[2] for name_of_setting in expand_settings([name])]
            game = _game(f"{name}/{settings[0]}" if settings[0] else name)
        except AgonError:  # its settings are not there
            continue
        if game.seats > 1:
            settings_of_file[name] = settings if settings[0] else []
    return settings_of_file


@functools.cache
def players(name: str) -> dict[str, bool]:
    """The agents that can play a game, or the games of a file, and whether each asks a model."""
    first = _first(name) if name in offered() else name
    own = page_of(_game(first))
    others = {agent for page in known_pages().values() if page is not own for agent in page.own_agents}
    return {agent: asks for agent, asks in agents_for(first).items() if agent not in others}


@functools.cache
def twins(name: str) -> dict[str, str]:
    """The games that are made of a game (agon.conf.derived): what they are called on the page -> name; nothing where there are none."""
    labels = {f"{twin.replace('_', ' ')}: {what}": twin for twin, what in derived_games(name, CONF).items()}
    return {ITSELF: "", **labels} if labels else {}


@functools.cache
def models(name: str) -> list[str]:
    """The models that agents may ask in the games of a file; stand-ins, which cost nothing, first."""
    return models_for(_first(name))


def _first(name: str) -> str:
    settings = offered()[name]
    return f"{name}/{settings[0]}" if settings else name


@functools.cache
def _game(name: str) -> Any:
    return load("game", name)


@functools.cache
def opens(name: str) -> bool:
    """Whether settings of a file speak first for some of the players."""
    return any(map(has_openings, [_game(f"{name}/{each}") for each in offered()[name]] or [_game(name)]))


def warm() -> None:
    """Looks up all that the hall offers, which takes seconds, before anybody waits for it."""
    for name in offered():
        players(name)
        models(name)
        opens(name)
    schema()  # which is needed when a match is over


def new_table(entered: Entered) -> list[Thing]:
    """What a new table is to be: game, setting, who sits where, time, budget, aids."""
    files = {name.replace("_", " "): name for name in offered()}
    file = ListField(key="game", label="Game", value=next(iter(files.values())), options=files)
    name = file.chosen(entered)
    settings, model_names = offered()[name], models(name)
    setting_options = [ANY, *settings] if settings else [""]
    setting = ListField(
        key="setting",
        label="Setting or problem",
        value=setting_options[0],
        options={each: each for each in setting_options},
    )
    chosen = setting.chosen(entered)
    twin_options = twins(at := f"{name}/{chosen}" if settings else name)
    twin = ListField(key=f"twin/{at}", label="In other clothes", value="", options=twin_options)
    suffix = f"~{twin.chosen(entered)}" if twin_options and twin.chosen(entered) else ""
    game = _game(f"{at if chosen in settings or not settings else _first(name)}{suffix}")
    agents = players(f"{at}{suffix}" if suffix else name)
    agent_options = {PERSON_SHOWN: PERSON} | {
        f"{one}, asks a model" if asks else one: one for one, asks in agents.items()
    }
    seats: list[Thing] = []
    entrants = []
    for seat, player in enumerate(game.players):
        who = ListField(key=f"who/{seat}", label=player, value=PERSON, options=agent_options)
        model = ListField(
            key=f"model/{seat}",
            label=f"Model of {player}",
            value=next(iter(model_names), None),
            options={each: each for each in model_names},
        )
        asks = agents.get(who.chosen(entered), False)
        seats += [who, model] if asks else [who]
        entrants.append(f"{who.chosen(entered)}@{model.chosen(entered)}" if asks else who.chosen(entered))
    opening = RadioField(key="opening", label="Who speaks first", value=False, options=OPENINGS)
    aids = page_of(game).aids
    helps = TickField(
        key=f"aids/{name}", label=HELPS, options={f"{aid}: {what}": aid for aid, what in aids.items()}, value=list(aids)
    )

    def make() -> list[Any]:
        game_name = f"{name}/{chosen if chosen in settings else secrets.choice(settings)}" if settings else name
        try:
            seconds, budget = _number("The time", entered.get("seconds")), budget_typed(entered)
        except Refused as refused:
            raise InvalidEntry(str(refused)) from None
        settings_of_table = {
            "game": f"{game_name}{suffix}",
            "entrants": entrants,
            "seconds": seconds,
            "budget": budget,
            "aids": helps.chosen(entered),
        }
        return [settings_of_table | ({"everybody": not opening.chosen(entered)} if opens(name) else {})]

    first: list[Thing] = [TESTED, opening]
    money: list[Thing] = [
        LineField(key="usd", label="What its models may cost, in USD (empty: nothing that costs)", keys="decimal"),
        LineField(key="tokens", label="Tokens that its models may use (empty: no limit)", keys="numeric"),
    ]
    return [
        file,
        *([setting] if settings else []),
        *([twin] if twin_options else []),
        Group(tuple(seats), "bar"),
        *(first if opens(name) else []),
        LineField(
            key="seconds", label="Seconds that a person may take for an answer (empty: no limit)", keys="numeric"
        ),
        *(money if any("@" in each for each in entrants) else []),
        *([helps] if aids else []),
        Button("Make the table", make),
    ]


def budget_typed(entered: Entered) -> dict[str, float | None]:
    """A budget as typed. Raises Refused."""
    return {"usd": _number("The cost", entered.get("usd")), "tokens": _number("The tokens", entered.get("tokens"))}


def _number(what: str, typed: str | None) -> float | None:
    """An amount as typed; None where nothing is. Raises Refused."""
    if not (typed or "").strip():
        return None
    try:
        return float(typed or "")
    except ValueError:
        raise Refused(f"{what} must be a number, not {(typed or '')[:40]!r}.") from None
