"""The pages of games for people: boards, forms and named aids.

A family of games may have a page.py in its folder, with a `FamilyPage` called `page`. It makes plain data and HTML, which
agon_hall draws. A family without one has the default board and form.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from agon.errors import AgonError
from agon.games.base import PUBLIC, Event, Observation, family_module
from agon.games.html import as_text, format_value, items, label, table, text
from agon.games.inputs import Entered, Thing
from agon.games.sentences import ENGLISH, Say
from agon.games.spaces import Space

if TYPE_CHECKING:
    from pandas import DataFrame

UNREADABLE = "(unreadable)"
UNREAD = "nothing that could be read"
"""The words for an unreadable action on boards."""
Parts = dict[str, str]
"""A board from top to bottom: name of a part -> its HTML. All views of a match have the same names."""


class Scene(NamedTuple):
    """All facts that a board or a form may show."""

    view: Observation
    totals: tuple[float, ...] | None = None
    """Points so far, by seat."""
    names: Sequence[str] = ()
    """The names of the people, by seat; empty: the game's names for the players are enough."""
    aids: Collection[str] | None = None
    """The aids that are shown; None: all."""
    unread: str = UNREAD
    """The words for an unreadable or missing answer."""
    over: bool = False
    """Whether the match is over."""
    say: Say = ENGLISH
    """Says the board's sentences in the reader's language."""

    @property
    def own(self) -> int:
        """The seat whose view it is; PUBLIC for a spectator."""
        return self.view.seat

    @property
    def watched(self) -> bool:
        """Whether it is the view of a spectator."""
        return self.view.seat == PUBLIC

    @property
    def players(self) -> tuple[str, ...]:
        """The game's names for the seats."""
        names = getattr(self.view.rules, "players", None)
        return tuple(names or (f"Player {seat + 1}" for seat in range(getattr(self.view.rules, "seats", 0) or 0)))

    @property
    def order(self) -> list[int]:
        """All seats, one's own first."""
        return sorted(range(len(self.players)), key=lambda seat: seat != self.own)

    def given(self, aid: str) -> bool:
        """Whether an aid is shown."""
        return self.aids is None or aid in self.aids

    def name(self, seat: int, limit: int = 60) -> str:
        """A player as plain text: `Player 2`, `Player 2 (Ada)`, `Player 1 (you)`."""
        player = self.players[seat] if seat < len(self.players) else f"Player {seat + 1}"
        person = label(self.names[seat], 24) if seat < len(self.names) else ""
        note = self.say("you") if seat == self.own else person if person != player else ""
        return label(f"{player} ({note})" if note else player, limit)

    def who(self, seat: int) -> str:
        """A player as HTML."""
        return text(self.name(seat))

    def called(self, player: object) -> str:
        """A player as HTML, by the game's name for it."""
        return self.who(self.players.index(player)) if player in self.players else text(player)

    def short(self, seat: int) -> str:
        """A short name of a player, for pictures."""
        return self.say("you") if seat == self.own else label(self.players[seat], 14)

    def done(self, action: object) -> str:
        """An action as HTML."""
        return f"<em>{self.say(self.unread)}</em>" if action is None else text(self.said(action))

    def said(self, value: object) -> object:
        """A value for `text`: numbers as the language writes them, all else as it is."""
        return self.say.number(value) if isinstance(value, int | float) else value

    def rounds(self) -> list[tuple[Any, ...]]:
        """The actions of each round in seat order, for games of rounds alone."""
        seat = 0 if self.watched else self.own
        return [(*actions[1 : seat + 1], actions[0], *actions[seat + 1 :]) for actions in self.view.past]


def final_points(scene: Scene) -> str:
    """A list of everybody's points at the end, one's own first."""
    totals = scene.totals or ()
    points_html = [f"<strong>{scene.say.count(round(total, 4), 'point')}</strong>" for total in totals]
    return items(
        f"{scene.who(seat)}: {points_html[seat]}" for seat in sorted(range(len(totals)), key=lambda at: at != scene.own)
    )


def ranks(scene: Scene) -> str:
    """Who has the most points, and the reader's place, as HTML."""
    totals, say = [round(total, 4) for total in scene.totals or ()], scene.say
    best = [seat for seat in scene.order if totals and totals[seat] == max(totals)]
    if len(best) == len(totals):
        return f"<p><strong>{say('All have the same points.')}</strong></p>" if totals else ""
    names = say.join([say("You") if seat == scene.own else scene.who(seat) for seat in best])
    if len(best) > 1:
        first = say("{} have the most points, as many as each other.", names)
    else:
        first = say("You have the most points.") if scene.own in best else say("{} has the most points.", names)
    place = 1 + sum(total > totals[scene.own] for total in totals) if not scene.watched else 1
    own = f" {say('You are number {} of {}.', place, len(totals))}" if place > 1 else ""
    return f"<p><strong>{first}</strong>{own}</p>"


def points(scene: Scene) -> str:
    """A table of the totals; empty where they are not known, or all are 0."""
    totals = scene.totals or ()
    if not any(totals):
        return ""
    say = scene.say
    rows = [(scene.who(seat), say.number(totals[seat])) for seat in scene.order if seat < len(totals)]
    return table(say("Points so far"), [say("Player"), say("Points")], rows, True)


def happened(event: Event, names: Sequence[str], value: str | None = None, say: Say = ENGLISH) -> str:
    """An event in words: player, phase and value, or `value` instead."""
    what = say(event.phase) if event.seat is None else f"{names[event.seat]}, {say(event.phase)}"
    if value is None and event.value is None:
        value = say("nobody") if event.seat is None else say(UNREADABLE)
    value = format_value(event.value) if value is None else value
    return f"{what}: {value}" if value else what


def describe_entry(item: Any, view: Observation, place: int, names: Sequence[str]) -> str:
    """The entry of `view.past` at `place` for researchers: an event, or a round with the seat's own action first."""
    if isinstance(item, Event):
        return happened(item, names)
    first = [] if view.seat == PUBLIC else ["own"]
    others = [name for seat, name in enumerate(names) if seat != view.seat]
    parts = [
        f"{who} {UNREADABLE if action is None else action}" for who, action in zip([*first, *others], item, strict=True)
    ]
    return f"round {place + 1}: {', '.join(parts)}"


def narrate(item: Any, place: int, names: Sequence[str], scene: Scene) -> str:
    """The entry of the view's past at `place` as a sentence for a player, as plain text.

    It is an event, or a round with the own action first.
    """
    say = scene.say
    if isinstance(item, Event):
        return happened(item, names, say=say)
    others = [name for seat, name in enumerate(names) if seat != scene.own]
    parts = []
    for name, action in zip(others if scene.watched else ["", *others], item, strict=True):
        if action is None:
            parts.append(f"{name or say('you')}: {say(scene.unread)}")
        else:
            chosen = scene.said(action)
            parts.append(say("{} chose {}", name, chosen) if name else say("you chose {}", chosen))
    return say("Round {}: {}", place + 1, ", ".join(parts))


def hides_totals(view: Observation) -> bool:
    """Whether points are hidden before the end, as in games whose history has events and not whole rounds."""
    return any(isinstance(item, Event) for item in view.past[:1])


def describe_space(space: Mapping[str, Any]) -> str:
    """A space of actions (the turns' column `legal`) in words."""
    match space:
        case {"choice": options}:
            return f"one of: {'; '.join(map(str, options))}"
        case {"number": [low, high], **rest}:
            step = f", in steps of {rest['step']}" if rest.get("step", 1) != 1 else ""
            return f"a whole number from {low} to {high}{step}"
        case {"text": length}:
            return f"a text of at most {length} characters"
        case {"offer": names, "total": total}:
            return f"shares that sum to {total}, for {', '.join(map(str, names))}"
        case {"form": {}}:
            return "\n".join(f"{name}: {describe_space(part)}" for name, part in space["form"].items())
    if len(space) == 1 and isinstance(some := next(iter(space.values())), list):
        return f"a {next(iter(space))} of one of: {', '.join(map(str, some))}"
    return format_value(space)


class FamilyPage:
    """The page of a family of games. This class itself shows any game."""

    title: ClassVar[str] = ""
    """The title of its games at a table, where their name would give away how to play; empty: their name."""
    aids: ClassVar[Mapping[str, str]] = {}
    """Aid -> a short description. Aids are parts of boards and forms that a model's prompt does not have. A table, or a
    model's agent (setting `aids`), has those that its settings name."""
    needed: ClassVar[Collection[str]] = ("round", "own")
    """Parts of the board that are needed for an answer. They stand above the form, all others beside or below it."""
    own_agents: ClassVar[Collection[str]] = ()
    """Agents of conf/agent for this family alone; tables of other games do not offer them."""

    def board(self, scene: Scene) -> Parts:
        """The board of a view. A part `own` has the facts that the seat alone knows; the seat's form uses it."""
        view, say = scene.view, scene.say
        if view.rules is None:
            return {"known": f"<p>{say('There is nothing to watch.')}</p>"}
        seats = [(item.seat or 0) + 1 if isinstance(item, Event) else len(item) for item in view.past]
        names = [scene.name(seat) for seat in range(max([len(scene.players), *seats]))]
        lines = [text(narrate(item, place, names, scene)) for place, item in enumerate(view.past)]
        role = f"<p>{say('Your role: {}', f'<strong>{text(view.role)}</strong>')}</p>" if view.role else ""
        known = items(reversed(lines)) or f"<p>{say('Nothing yet.')}</p>"
        return {
            "round": f"<h2>{say('The match is over') if scene.over else say('Round {}', view.round)}</h2>{role}",
            "known": f"<h3>{say('What is known, newest first')}</h3>{known}",
        }

    def latest(self, event: Event, names: Sequence[str], say: Say) -> str:
        """The text of the latest action; empty for an event that is none, such as a statement of the table."""
        value = "" if isinstance(event.value, Mapping) else None
        return "" if event.seat is None else happened(event, names, value, say)

    def rewording(self, game: Any, aids: Collection[str] | None) -> Mapping[str, str]:
        """Sentence of the prompt's rules -> its words for people, who have forms in the place of tools.

        `aids`: the aids on their pages (None: all).
        """
        return {}

    def hopeless(self, game: Any) -> tuple[int, ...]:
        """The seats that cannot win, whatever all players do."""
        return ()

    def question(self, view: Observation, say: Say) -> str:
        """The question to a seat, as HTML; empty: that of its prompt."""
        return ""

    def confirmation(self, view: Observation, action: Any, say: Say) -> str:
        """The player's own action in words, to confirm that it was sent."""
        return label(view.legal.format(action), 200)

    def closing(self, scene: Scene, game: Any, state: Any) -> str:
        """The end of a match, as HTML for its players: roles, points and reasons. By default ranks, roles and points."""
        roles = [scene.say("{} was {}.", scene.who(seat), text(role)) for seat, role in enumerate(game.roles)]
        return ranks(scene) + items(roles) + final_points(scene)

    def playable(self, view: Observation) -> Space:
        """The actions of a seat's form: those that are played as they are. By default all that are legal."""
        space: Space = view.legal
        return space

    def part(self, view: Observation, name: str, say: Say) -> str:
        """The label of one question of a form with several."""
        return label(name)

    def form(self, scene: Scene, entered: Entered) -> Sequence[Thing] | None:
        """A seat's form after some entries; None: the default form of its action space."""
        return None

    def ask(self, scene: Scene, entered: Entered) -> Sequence[Thing]:
        """Questions to the rules that the board offers; they are no actions."""
        return ()

    def from_rows(self, turns: DataFrame, before: int | None) -> str:
        """The rows of a match as HTML, where it cannot be replayed: those before round `before`, or all."""
        return ""


_ANY = FamilyPage()


def page_of(source: object) -> FamilyPage:
    """The page of a family, or of one that it inherits from; `source`: a game, its rules, a class or a function.

    Raises AgonError for a page.py without a FamilyPage.
    """
    module = family_module(source, "page")
    page = _ANY if module is None else getattr(module, "page", None)
    if not isinstance(page, FamilyPage):
        raise AgonError(f"{module} makes no FamilyPage called page")
    return page


def board_of(scene: Scene) -> Parts:
    """The board of a view with the points so far. Parts of aids that are not shown are empty."""
    page = page_of(scene.view.rules)
    parts = page.board(scene)
    parts.setdefault("totals", points(scene))
    return {name: "" if name in page.aids and not scene.given(name) else html for name, html in parts.items()}


def check_aids(game: Any, names: Collection[str]) -> None:
    """Raises AgonError for an aid that the game does not have."""
    aids = page_of(game).aids if names else ()
    if unknown := [name for name in names if name not in aids]:
        hint = f"there are {', '.join(aids)}" if aids else "it has none"
        raise AgonError(f"{game.name} has no aid {unknown[0]!r}: {hint}")


def aids_as_text(view: Observation, names: Collection[str]) -> str:
    """The aids of a view as text for a model; empty where they have no content."""
    parts = board_of(Scene(view, aids=names))
    return "\n".join(filter(None, (as_text(parts[name]) for name in names if name in parts)))
