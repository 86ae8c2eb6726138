"""How people see a game: what a board is drawn from, what a family's page.py may do better, and aids, which are named.

A family of games may have a page.py in its folder, with a `FamilyPage` called `page`. Everything there is plain data and HTML;
agon_hall draws it. A family without one has the board and the form that any game has.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol

import pandas as pd

from agon.errors import AgonError
from agon.games.base import PUBLIC, Event, Observation, family_module
from agon.games.html import as_text, items, label, number, table, text, written
from agon.games.inputs import Entered, Thing

UNREADABLE = "(unreadable)"
UNREAD = "<em>nothing that could be read</em>"
"""The same on boards."""
Parts = dict[str, str]
"""What a board shows, from above: the name of a part -> its HTML; the same names in every view of a match."""


class Scene(NamedTuple):
    """All that a board, or a form, may know."""

    view: Observation
    totals: tuple[float, ...] | None = None
    """Points so far, by seat."""
    names: Sequence[str] = ()
    """What people call the players, by seat; empty where they are called what the game calls them."""
    aids: Collection[str] | None = None
    """The aids that are shown; None: all, as at a table whose settings name none."""
    unread: str = UNREAD
    """HTML in the place of an answer that could not be read, or did not come."""
    over: bool = False
    """Whether nobody is asked any more."""

    @property
    def own(self) -> int:
        """The seat that looks; PUBLIC for who only watches."""
        return self.view.seat

    @property
    def watched(self) -> bool:
        """Whether nobody's own seat is shown."""
        return self.view.seat == PUBLIC

    @property
    def players(self) -> tuple[str, ...]:
        """What the game calls the seats."""
        names = getattr(self.view.rules, "players", None)
        return tuple(names or (f"Player {seat + 1}" for seat in range(getattr(self.view.rules, "seats", 0) or 0)))

    @property
    def order(self) -> list[int]:
        """Seats, one's own first."""
        return sorted(range(len(self.players)), key=lambda seat: seat != self.own)

    def given(self, aid: str) -> bool:
        """Whether an aid is shown."""
        return self.aids is None or aid in self.aids

    def name(self, seat: int, limit: int = 60) -> str:
        """A player in plain words: `Player 2`, `Player 2 (Ada)`, `Player 1 (you)`."""
        player = self.players[seat] if seat < len(self.players) else f"Player {seat + 1}"
        person = label(self.names[seat], 24) if seat < len(self.names) else ""
        note = "you" if seat == self.own else person if person != player else ""
        return label(f"{player} ({note})" if note else player, limit)

    def who(self, seat: int) -> str:
        """The same as HTML."""
        return text(self.name(seat))

    def called(self, player: object) -> str:
        """A player that the game names, as HTML."""
        return self.who(self.players.index(player)) if player in self.players else text(player)

    def short(self, seat: int) -> str:
        """What the game calls a player, for pictures, where there is little room."""
        return "you" if seat == self.own else label(self.players[seat], 14)

    def done(self, action: object) -> str:
        """An action as HTML."""
        return self.unread if action is None else text(action)

    def rounds(self) -> list[tuple[Any, ...]]:
        """In games of rounds alone: what was done in each, in seat order."""
        seat = 0 if self.watched else self.own
        return [(*actions[1 : seat + 1], actions[0], *actions[seat + 1 :]) for actions in self.view.past]


def standing(scene: Scene) -> str:
    """Everybody's points at the end, the own first, as a list."""
    totals = scene.totals or ()
    points_html = [f"<strong>{number(round(total, 4))} point{'' if total == 1 else 's'}</strong>" for total in totals]
    return items(
        f"{scene.who(seat)}: {points_html[seat]}" for seat in sorted(range(len(totals)), key=lambda at: at != scene.own)
    )


def points(scene: Scene) -> str:
    """Totals as a table; nothing where they are not known, or nobody has any."""
    totals = scene.totals or ()
    if not any(totals):
        return ""
    rows = [(scene.who(seat), number(totals[seat])) for seat in scene.order if seat < len(totals)]
    return table("Points so far", ["Player", "Points"], rows, True)


def happened(event: Event, names: Sequence[str], value: str | None = None) -> str:
    """An event in words: who, in which phase, and what, or `value` in its place."""
    what = event.phase if event.seat is None else f"{names[event.seat]}, {event.phase}"
    if value is None and event.value is None:
        value = "nobody" if event.seat is None else UNREADABLE
    value = written(event.value) if value is None else value
    return f"{what}: {value}" if value else what


def news(
    item: Any, view: Observation, place: int, names: Sequence[str], own: str = "own", unread: str = UNREADABLE
) -> str:
    """What `view.past` holds at `place`, in words: an event, or a round, in which the view's own action comes first."""
    if isinstance(item, Event):
        return happened(item, names)
    first = [] if view.seat == PUBLIC else [own]
    others = [name for seat, name in enumerate(names) if seat != view.seat]
    parts = [
        f"{who} {unread if action is None else action}" for who, action in zip([*first, *others], item, strict=True)
    ]
    return f"round {place + 1}: {', '.join(parts)}"


def hides_totals(view: Observation) -> bool:
    """Whether points so far are shown to nobody before the end: they are known where all that has been played is."""
    return any(isinstance(item, Event) for item in view.past[:1])


def asked_for(space: Mapping[str, Any]) -> str:
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
            return "\n".join(f"{name}: {asked_for(part)}" for name, part in space["form"].items())
    if len(space) == 1 and isinstance(some := next(iter(space.values())), list):
        return f"a {next(iter(space))} of one of: {', '.join(map(str, some))}"
    return written(space)


class Desk(Protocol):
    """A page of a family's own, for people who have a link each. All of it may raise AgonError, which is shown."""

    template: Path
    """Of the page, in Jinja; it extends the hall's base.html."""

    def opened(self, key: str) -> str:
        """Whose link it is; empty for nobody's."""

    def progress(self) -> Sequence[tuple[str, str]]:
        """For the experimenter: everybody who has a link, and how far they are."""

    def shown(self, who: str, asked: Mapping[str, str]) -> Mapping[str, Any]:
        """What the template is filled in with; `asked`: what the address says."""

    def sent(self, who: str, form: Mapping[str, str]) -> Mapping[str, Any]:
        """What comes of a form: {"to": what the address says next}, or what the template is filled in with."""


class FamilyPage:
    """What a family's pages do; this one knows no game, and shows any."""

    title: ClassVar[str] = ""
    """What its games are called at a table, where their own name would say how to play; empty: by their name."""
    aids: ClassVar[Mapping[str, str]] = {}
    """What people are given beyond what models are told, each by its name, with a few words on what it is: parts of the
    board, and helps in forms. A table, or a model's agent (setting `aids`), has those that its settings name."""
    needed: ClassVar[Collection[str]] = ("round", "own")
    """Parts of the board that one must know to answer: they stand above the form, all others beside or below it."""
    own_agents: ClassVar[Collection[str]] = ()
    """Agents of conf/agent that are made for this family alone: no others' tables offer them."""

    def board(self, scene: Scene) -> Parts:
        """What is shown of a view. A part called `own` is what the seat alone knows: its form is filled in by it."""
        view = scene.view
        if view.rules is None:
            return {"known": "<p>There is nothing to watch.</p>"}
        seats = [(item.seat or 0) + 1 if isinstance(item, Event) else len(item) for item in view.past]
        names = [scene.name(seat) for seat in range(max([len(scene.players), *seats]))]
        lines = [text(news(item, view, place, names, own="you")) for place, item in enumerate(view.past)]
        role = f"<p>Your role: <strong>{text(view.role)}</strong></p>" if view.role else ""
        return {
            "round": f"<h2>{'The match is over' if scene.over else f'Round {view.round}'}</h2>{role}",
            "known": f"<h3>What is known, newest first</h3>{items(reversed(lines)) or '<p>Nothing yet.</p>'}",
        }

    def latest(self, event: Event, names: Sequence[str]) -> str:
        """An event told as what was done last; empty: something else was. What the table says is not, unless a page says so."""
        return "" if event.seat is None else happened(event, names, "" if isinstance(event.value, Mapping) else None)

    def question(self, view: Observation) -> str:
        """What a seat is asked, as HTML; empty: as its prompt asks."""
        return ""

    def told(self, view: Observation, action: Any) -> str:
        """An action as its player is told that it was sent, in words."""
        return label(view.legal.spelled(action), 200)

    def closing(self, scene: Scene, game: Any, state: Any) -> str:
        """How a match has ended, as HTML for its players: who was what, who has what, and why. By default roles and points."""
        roles = [f"{scene.who(seat)} was {text(role)}." for seat, role in enumerate(game.roles)]
        return items(roles) + standing(scene)

    def part(self, view: Observation, name: str) -> str:
        """What a part of a form of several questions is called."""
        return label(name)

    def form(self, scene: Scene, entered: Entered) -> Sequence[Thing] | None:
        """What a seat fills in, after something has been entered; None: what any space of actions is filled in by."""
        return None

    def ask(self, scene: Scene, entered: Entered) -> Sequence[Thing]:
        """What can be asked of the rules on the board, which is no action."""
        return ()

    def from_rows(self, turns: pd.DataFrame, before: int | None) -> str:
        """What the rows of a match tell, as HTML, where it cannot be replayed: before round `before`, or in all."""
        return ""

    def desks(self, folder: Path) -> Mapping[str, "Desk"]:
        """Pages of its own, which stand outside matches: name -> what they are. They keep what they keep in `folder`."""
        return {}


_ANY = FamilyPage()


def page_of(source: object) -> FamilyPage:
    """The page of the family of a game, of its rules, or of a class or function of it, or of one that it inherits from.

    Raises AgonError for a page.py that makes none.
    """
    module = family_module(source, "page")
    page = _ANY if module is None else getattr(module, "page", None)
    if not isinstance(page, FamilyPage):
        raise AgonError(f"{module} makes no FamilyPage called page")
    return page


def board_of(scene: Scene) -> Parts:
    """Everything that is shown of a view, and the points so far; empty parts for aids that are not given."""
    page = page_of(scene.view.rules)
    parts = page.board(scene)
    parts.setdefault("totals", points(scene))
    return {name: "" if name in page.aids and not scene.given(name) else html for name, html in parts.items()}


def known_aids(game: Any, names: Collection[str]) -> None:
    """Raises AgonError for the name of an aid that a game does not have."""
    aids = page_of(game).aids if names else ()
    if unknown := [name for name in names if name not in aids]:
        hint = f"there are {', '.join(aids)}" if aids else "it has none"
        raise AgonError(f"{game.name} has no aid {unknown[0]!r}: {hint}")


def aids_told(view: Observation, names: Collection[str]) -> str:
    """The aids of a view as a text, for a model; empty where they have nothing to tell."""
    parts = board_of(Scene(view, aids=names)) if names else {}
    return "\n".join(filter(None, (as_text(parts[name]) for name in names if name in parts)))
