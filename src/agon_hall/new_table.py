"""The form for a new table: the choice of games, settings, twins, agents, models and aids."""

import functools
import secrets
from typing import Any

from agon.conf import CONF, derived_games, describe_file, expand_settings, load, names
from agon.errors import AgonError
from agon.games.html import items, text
from agon.games.inputs import Button, Entered, Group, InvalidEntry, LineField, ListField, RadioField, Thing, TickField
from agon.games.pages import page_of
from agon.games.sentences import join_words, number
from agon.plan import PERSON
from agon_hall import Refusal
from agon_hall.family_pages import family_pages
from agon_hall.seating import agents_for, models_for
from agon_hall.table import has_openings

PERSON_LABEL = "a person"
ANY = "(any of them, drawn by the table)"
"""The choice of a random setting, which nobody at the table knows beforehand."""
ITSELF = "(as it is)"
"""The choice of the game itself, not of a twin."""
OPENINGS = {"all players say their own": False, "those of the setting, as in the published games": True}
OPENING_NOTE = (
    "<p>In this game one side is “tested”: in the published games the others open with a sentence or proposal "
    "that was written beforehand. Here everybody speaks for themselves, unless you choose otherwise; "
    "then the page says whose words they are.</p>"
)
ANYTHING = "anything"
"""The script that plays at random. It sits down only where no other script can."""
ALONE = "alone"
"""The key of the button that seats one person among scripts."""
ASIDES = {"no": False, "yes, as models are asked": True}
LANGUAGES = ("en", *names("language"))
"""The languages of pages."""
MILLION = 10**6
HELPS = "What people are shown beyond what models are told"


@functools.cache
def games_on_offer() -> dict[str, list[str]]:
    """Game file of conf/game that people can play at a table -> its settings; empty for a game without settings."""
    settings_of_file = {}
    for name in names("game"):
        try:
            settings = [name_of_setting.partition("/")[2] for name_of_setting in expand_settings([name])]
            game = _game(f"{name}/{settings[0]}" if settings[0] else name)
        except AgonError:  # its settings are absent
            continue
        if game.seats > 1:
            settings_of_file[name] = settings if settings[0] else []
    return settings_of_file


@functools.cache
def players(name: str) -> dict[str, bool]:
    """The agents that can play a game, or the games of a file -> whether the agent asks a model."""
    first = _first(name) if name in games_on_offer() else name
    family_page = page_of(_game(first))
    others = {agent for page in family_pages().values() if page is not family_page for agent in page.own_agents}
    return {agent: asks for agent, asks in agents_for(first).items() if agent not in others}


@functools.cache
def twins(name: str) -> dict[str, str]:
    """The games that derive from a game (agon.conf.building): label on the page -> name; empty if there are none."""
    labels = {f"{twin.replace('_', ' ')}: {what}": twin for twin, what in derived_games(name, CONF).items()}
    return {ITSELF: "", **labels} if labels else {}


@functools.cache
def models(name: str) -> list[str]:
    """The models that agents may ask in the games of a file. Stand-ins, which cost nothing, come first."""
    return models_for(_first(name))


def _first(name: str) -> str:
    settings = games_on_offer()[name]
    return f"{name}/{settings[0]}" if settings else name


@functools.cache
def _game(name: str) -> Any:
    return load("game", name)


@functools.cache
def has_setting_openings(name: str) -> bool:
    """Whether a setting of the file contains the first words of some players."""
    settings = games_on_offer()[name]
    return any(map(has_openings, [_game(f"{name}/{setting}") for setting in settings] or [_game(name)]))


@functools.cache
def price_of(model: str) -> str:
    """What a model costs, as HTML."""
    read, written = (load("model", model).cost(*tokens) for tokens in ((MILLION, 0, 0), (0, 0, MILLION)))
    told = "it costs nothing"
    if read is None or written is None:
        told = "its price is not known"
    elif read or written:
        told = (
            f"{number(read)} USD for a million tokens that it reads, {number(written)} USD for a million that it writes"
        )
    return f"<strong>{text(model)}</strong>: {told}"


def about(entrant: str) -> str:
    """A line on an agent, as HTML."""
    agent = entrant.partition("@")[0]
    return f"<strong>{text(agent)}</strong>: {text(describe_file('agent', agent))}"


@functools.cache
def hopeless(name: str) -> dict[str, str]:
    """Setting of the file -> the players who cannot win it, whatever all do; of the other settings nothing."""
    games = {setting: _game(f"{name}/{setting}") for setting in games_on_offer()[name]}
    seats = {setting: page_of(game).hopeless(game) for setting, game in games.items()}
    return {setting: join_words([games[setting].players[seat] for seat in at]) for setting, at in seats.items() if at}


def another_setting(name: str) -> str:
    """Another setting of the game's file that anybody can win, drawn at random; the game itself where there is none."""
    file, _, setting = name.partition("/")
    settings = games_on_offer().get(file, [])
    others = [other for other in settings if other != setting and other not in hopeless(file)]
    return f"{file}/{secrets.choice(others)}" if setting in settings and others else name


def warm() -> None:
    """Fills the caches of this module before anybody waits for them. This takes seconds."""
    for name in games_on_offer():
        players(name)
        models(name)
        has_setting_openings(name)
        hopeless(name)


def new_table(entries: Entered) -> list[Thing]:
    """The fields of the form: game, setting, players, time, budget, aids."""
    files = {name.replace("_", " "): name for name in games_on_offer()}
    file = ListField(key="game", label="Game", value=next(iter(files.values())), options=files)
    name = file.chosen(entries)
    settings, model_names = games_on_offer()[name], models(name)
    unfair = hopeless(name)
    options_of_setting = {ANY: ANY} | {
        f"{option}, which {unfair[option]} cannot win" if option in unfair else option: option for option in settings
    }
    setting = ListField(key="setting", label="Setting or problem", value=ANY, options=options_of_setting)
    chosen = setting.chosen(entries)
    twin_options = twins(at := f"{name}/{chosen}" if settings else name)
    twin = ListField(key=f"twin/{at}", label="In other clothes", value="", options=twin_options)
    suffix = f"~{twin.chosen(entries)}" if twin_options and twin.chosen(entries) else ""
    game = _game(f"{at if chosen in settings or not settings else _first(name)}{suffix}")
    agents = players(f"{at}{suffix}" if suffix else name)
    labels = {f"{agent}, asks a model" if asks else agent: agent for agent, asks in agents.items()}
    agent_options = {PERSON_LABEL: PERSON} | labels
    seats: list[Thing] = []
    entrants = []
    for seat, player in enumerate(game.players):
        who = ListField(key=f"who/{seat}", label=player, value=PERSON, options=agent_options)
        model = ListField(
            key=f"model/{seat}",
            label=f"Model of {player}",
            value=next(iter(model_names), None),
            options={option: option for option in model_names},
        )
        asks = agents.get(who.chosen(entries), False)
        seats += [who, model] if asks else [who]
        entrants.append(f"{who.chosen(entries)}@{model.chosen(entries)}" if asks else who.chosen(entries))
    asking = RadioField(
        key="asides",
        label=f"Also ask the questions for research, which change nothing ({game.asides})",
        value=False,
        options=ASIDES,
    )
    language = ListField(
        key="language", label="Language of the players' pages", value="en", options={name: name for name in LANGUAGES}
    )
    opening = RadioField(key="opening", label="First words", value=False, options=OPENINGS)
    aids = page_of(game).aids
    helps = TickField(
        key=f"aids/{name}", label=HELPS, options={f"{aid}: {what}": aid for aid, what in aids.items()}, value=list(aids)
    )

    scripts = [agent for agent, asks in agents.items() if not asks]
    able = [agent for agent in scripts if agent != ANYTHING] or scripts

    def alone() -> list[Any]:
        others = [entrant if entrant in scripts else secrets.choice(able) for entrant in entrants[1:]]
        return [make()[0] | {"entrants": [PERSON, *others], "seconds": None}]

    def make() -> list[Any]:
        fair = [option for option in settings if option not in unfair]
        game_name = f"{name}/{chosen if chosen in settings else secrets.choice(fair or settings)}" if settings else name
        try:
            seconds, budget = _number("The time", entries.get("seconds")), parse_budget_fields(entries)
        except Refusal as refusal:
            raise InvalidEntry(str(refusal)) from None
        settings_of_table = {
            "game": f"{game_name}{suffix}",
            "entrants": entrants,
            "seconds": seconds,
            "budget": budget,
            "aids": helps.chosen(entries),
            "asides": bool(asking.chosen(entries)),
            "language": language.chosen(entries),
        }
        return [settings_of_table | ({"everybody": not opening.chosen(entries)} if has_setting_openings(name) else {})]

    first: list[Thing] = [OPENING_NOTE, opening]
    money: list[Thing] = [
        LineField(key="usd", label="What its models may cost, in USD (empty: nothing that costs)", keys="decimal"),
        LineField(key="tokens", label="Tokens that its models may use (empty: no limit)", keys="numeric"),
    ]
    return [
        file,
        *([setting] if settings else []),
        *([twin] if twin_options else []),
        Group(tuple(seats), "bar"),
        items(about(agent) for agent in dict.fromkeys(entrants) if agent != PERSON),
        items(price_of(model) for model in dict.fromkeys(entrant.partition("@")[2] for entrant in entrants) if model),
        f"<details><summary>What every agent does</summary>{items(map(about, agents))}</details>",
        *(first if has_setting_openings(name) else []),
        *([asking] if game.asides else []),
        LineField(
            key="seconds", label="Seconds that a person may take for an answer (empty: no limit)", keys="numeric"
        ),
        *(money if any("@" in entrant for entrant in entrants) else []),
        *([helps] if aids else []),
        *([language] if len(LANGUAGES) > 1 else []),
        Button("Make the table", make),
        *([Button("Try it alone now", alone, main=False, key=ALONE)] if able else []),
    ]


def parse_budget_fields(entries: Entered) -> dict[str, float | None]:
    """The budget in the fields usd and tokens. Raises Refusal for what is no number."""
    return {"usd": _number("The cost", entries.get("usd")), "tokens": _number("The tokens", entries.get("tokens"))}


def _number(what: str, typed: str | None) -> float | None:
    """The number that a person typed; None for an empty field. Raises Refusal."""
    if not (typed or "").strip():
        return None
    try:
        return float(typed or "")
    except ValueError:
        raise Refusal(f"{what} must be a number, not {(typed or '')[:40]!r}.") from None
