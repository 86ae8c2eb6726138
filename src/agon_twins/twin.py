"""Twins: a game and a map make the same game in other clothes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, cached_property
from typing import Any, Literal

from agon.agents.languages import all_languages
from agon.errors import AgonError
from agon.games.base import Dice, Game, Note, Observation, Times, refuse_illegal
from agon.games.spaces import Space
from agon.registry import kind
from agon_twins.family import of_family
from agon_twins.isomorphism import BY_SEAT, PAYOFFS, REVERSED, Isomorphism, Words, restated


def heads() -> list[str]:
    """The headings below which a frame stands, in all languages."""
    return [f"# {language.words[head]}\n" for language in all_languages() for head in ("rules", "the game")]


@dataclass(frozen=True)
class OtherWords:
    """The wording of a twin's texts (agon.games.base.Wording)."""

    words: Isomorphism
    """The words alone."""
    frame: str = ""
    """The first sentences of the rules."""
    under: "OtherWords | None" = None
    """The wording of the game beneath, if that is a twin too."""

    @property
    def literal(self) -> bool:
        """Whether all words are those of the family's texts."""
        return not self.words.words.pairs and (self.under is None or self.under.literal)

    def __call__(self, render: Callable[..., str], *values: Any) -> str:
        """Renders values in the words of the game beneath, and returns the text in the twin's words."""
        text = self.words.words.forth(render(*map(self._beneath, values)))
        for head in heads() if self.frame else ():
            text = text.replace(head, f"{head}{self.frame}\n", 1)
        return text

    def _beneath(self, value: Any) -> Any:
        if isinstance(value, Observation):
            return self.words.inverse.view(value)._replace(wording=self.under)
        return self.words.words.back(value) if isinstance(value, str) else value


@dataclass(frozen=True)
class Twin(Game[Any]):
    """A game in other clothes: it steps `of` beneath, and maps every input and output. `make_twin` makes it."""

    of: Game[Any]
    map: Isomorphism
    variant: str
    frame: str = ""
    name: str = field(init=False)
    seats: int = field(init=False)
    rules: int = field(init=False)
    players: tuple[str, ...] = field(init=False, repr=False)
    beneath: Game[Any] = field(init=False, repr=False, compare=False)
    """The game that is stepped: `of`, changed by the part of the map that its settings can express."""
    residual: Isomorphism = field(init=False, repr=False, compare=False)
    """The rest of the map."""
    wording: OtherWords | None = field(init=False, repr=False, compare=False)
    _legal: dict[int, tuple[Any, Space]] = field(init=False, repr=False, compare=False, default_factory=dict)
    """Seat -> its last state and the action space there. Each step asks for it several times."""

    def __post_init__(self) -> None:
        if self.map.seats and len(self.map.seats) != self.of.seats:
            raise AgonError(
                f"order: seats {list(self.map.seats)} is no permutation of the {self.of.seats} seats of {self.of.name}"
            )
        beneath, residual = (self.of, self.map) if isinstance(self.of, Twin) else restated(self.of, self.map)
        if residual.shift and beneath.fixed_rounds is None:
            raise AgonError(
                f"scale: {self.of.name} has no fixed number of rounds: points that are added decide how long to play"
            )
        under = beneath.wording if isinstance(beneath, Twin) else None
        has_new_words = residual.words.pairs or self.frame
        for name, value in {
            "name": self.of.name,
            "seats": self.of.seats,
            "rules": self.of.rules,
            "beneath": beneath,
            "residual": residual,
            "wording": OtherWords(Isomorphism(residual.words), self.frame, under) if has_new_words else under,
            "players": residual.by_seats([residual.text(name) for name in beneath.players]),
        }.items():
            object.__setattr__(self, name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return make_twin, (self.of, self.map, self.variant, self.frame)

    @cached_property
    def roles(self) -> tuple[str, ...]:
        """Those of the game beneath."""
        return self.residual.by_seats([self.residual.text(role) for role in self.beneath.roles])

    @cached_property
    def tested(self) -> Sequence[int]:
        """Those of the game beneath."""
        return tuple(sorted(map(self.residual.seat, self.beneath.tested)))

    @cached_property
    def without_tested(self) -> Game[Any]:
        """The twin of the game without seats under test."""
        return replace(self, of=self.of.without_tested) if self.tested else self

    @cached_property
    def asides(self) -> str:
        """As beneath."""
        return self.of.asides

    @cached_property
    def without_asides(self) -> Game[Any]:
        """The twin of the game without questions that change nothing."""
        return replace(self, of=self.of.without_asides) if self.asides else self

    @cached_property
    def independent(self) -> bool:
        """As beneath."""
        return self.beneath.independent

    @cached_property
    def normal_form(self) -> Any:
        """As beneath, in other words; named as the twin."""
        form: Any = self.beneath.normal_form
        return None if form is None else replace(self.residual.rules(form), variant=self.variant)

    @cached_property
    def fixed_rounds(self) -> int | None:
        """As beneath."""
        return self.beneath.fixed_rounds

    @cached_property
    def max_rounds(self) -> int | None:
        """As beneath."""
        return self.beneath.max_rounds

    def times_asked(self, seat: int) -> Times:
        """As beneath."""
        return self.beneath.times_asked(self._seat_beneath(seat))

    def start(self, dice: Dice) -> Any:
        """The same chance."""
        return self.beneath.start(dice)

    def to_move(self, state: Any) -> tuple[int, ...]:
        """The same players, where they sit now."""
        return tuple(sorted(map(self.residual.seat, self.beneath.to_move(state))))

    def legal_actions(self, state: Any, seat: int) -> Space:
        """The same actions in other clothes."""
        cached = self._legal.get(seat)
        if cached is None or cached[0] is not state:
            seat_beneath = self._seat_beneath(seat)
            phase = self.beneath.observe(state, seat_beneath).phase
            cached = self._legal[seat] = (
                state,
                self.residual.space(self.beneath.legal_actions(state, seat_beneath), phase),
            )
        return cached[1]

    def observe(self, state: Any, seat: int) -> Observation:
        """The same in other clothes."""
        return self._view(self.beneath.observe(state, self._seat_beneath(seat)))

    def watch(self, state: Any) -> Observation:
        """The same in other clothes."""
        return self._view(self.beneath.watch(state))

    def step(self, state: Any, actions: Mapping[int, Any]) -> tuple[Any, tuple[float, ...]]:
        """The same step, with its payoffs. Raises IllegalAction."""
        refuse_illegal(self, state, actions)
        actions_beneath = {}
        for seat, action in actions.items():
            seat_beneath = self._seat_beneath(seat)
            actions_beneath[seat_beneath] = self.residual.inverse.value(
                action, self.beneath.observe(state, seat_beneath).phase
            )
        state, payoffs = self.beneath.step(state, dict(sorted(actions_beneath.items())))
        return state, self.residual.map_payoffs(payoffs)

    def notes(self, state: Any) -> Sequence[Note]:
        """Those of the game beneath."""
        return tuple(
            (self.residual.seat(seat), what, self.residual.value(value, what))
            for seat, what, value in self.beneath.notes(state)
        )

    def secrets(self, seat: int) -> tuple[str, ...]:
        """The same in other words."""
        return tuple(map(self.residual.text, self.beneath.secrets(self._seat_beneath(seat))))

    def seat_facts(self, seat: int) -> dict[str, Any]:
        """Those of the game beneath."""
        facts = self.beneath.seat_facts(self._seat_beneath(seat))
        return {what: value if what == "win" else self.residual.value(value, what) for what, value in facts.items()}

    def _seat_beneath(self, seat: int) -> int:
        return self.residual.inverse.seat(seat)

    def _view(self, view: Observation) -> Observation:
        return self.residual.view(view)._replace(wording=self.wording)


def make_twin(of: Game[Any], map: Isomorphism, variant: str, frame: str = "") -> Twin:
    """A twin that belongs to the family of the game, and so has the family's texts, scripts and pages."""
    original = of
    while isinstance(original, Twin):
        original = original.of
    return _twin_class(type(original))(of, map, variant, frame)


@cache
def _twin_class(family: type[Game[Any]]) -> type[Twin]:
    """A class of twins that agon.games.base.families finds in a family, because it inherits from the family's own."""
    return type("Twin", (Twin, family), {"__doc__": Twin.__doc__})


def map_of(game: Game[Any]) -> Isomorphism:
    """The map of a twin; the identity for any other game."""
    return game.map if isinstance(game, Twin) else Isomorphism()


@kind("agon.games.twins.twin")
def twin(
    of: Game,  # type: ignore[type-arg]
    variant: str,
    words: dict[str, str] | None = None,
    order: dict[Literal["actions", "seats"], Any] | None = None,
    scale: dict[Literal["payoffs", "plus", "amounts", "by"], Any] | None = None,
    frame: str = "",
) -> Twin:
    """A twin of a game, from the settings of conf.

    `words`: old -> new. `order`: actions, a list of options or `reversed`; seats, the new seat of each seat. `scale`: payoffs, the
    factor of all payoffs; plus, the number that is then added to each; by, a whole number by which all amounts are multiplied; amounts,
    the fields of rules and phases that are amounts, instead of the family's (`payoffs` may be among them).
    `frame`: a sentence or two before the rules. Raises AgonError for a map that makes no twin.
    """
    order, scale = order or {}, scale or {}
    actions, seats = order.get("actions", ()), _tuple("order: seats", order.get("seats", ()))
    unit = scale.get("by", 1)
    if type(unit) is not int or unit < 1:
        raise AgonError(f"scale: by is {unit!r}; it must be a whole number, 1 at least")
    names = _tuple("scale: amounts", scale.get("amounts", tuple(of_family(of, "AMOUNTS", ()))))
    amounts = frozenset(names) if unit > 1 else frozenset[str]()
    if unit > 1 and not amounts:
        raise AgonError(
            f"scale: {of.name} does not say which of its numbers are amounts: name fields and phases under `amounts`"
        )
    map = Isomorphism(
        Words(tuple((words or {}).items())),
        seats,
        of.players if seats else (),
        order=REVERSED if actions == "reversed" else _tuple("order: actions", actions),
        factor=_fraction("scale: payoffs", scale.get("payoffs", 1)) * (unit if PAYOFFS in amounts else 1),
        shift=_fraction("scale: plus", scale.get("plus", 0)),
        unit=unit,
        amounts=amounts,
        by_seat=BY_SEAT | of_family(of, "BY_SEAT", frozenset()),
    )
    return make_twin(of, map, variant, " ".join(filter(None, (frame, amount_note(unit)))))


def _tuple(what: str, value: Any) -> tuple[Any, ...]:
    """A list of a setting. Raises AgonError for any other value."""
    if not isinstance(value, list | tuple):
        raise AgonError(f"{what} is {value!r}; it must be a list")
    return tuple(value)


def _fraction(what: str, value: Any) -> Fraction:
    """A number of a setting, exactly as it is written. Raises AgonError for any other value."""
    try:
        return Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        raise AgonError(f"{what} is {value!r}; it must be a number") from None


def amount_note(unit: Any) -> str:
    """The sentence on amounts in the frame of a twin; empty where they stay the same."""
    return f"All amounts are multiples of {unit}." if unit > 1 else ""
