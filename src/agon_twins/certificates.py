"""Certificates: the extent to which a game and its twin were compared, or a counterexample; and the solutions that move in a near-twin.

`solutions(game)` in a family's `twins.py` gives the solutions of its games: facts by name.
"""

from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from math import isclose
from pathlib import Path
from typing import Any

from agon.agents.telling import observation_text
from agon.conf import CONF, load
from agon.errors import count
from agon.games.base import Game
from agon_twins.check import MENU, STATES, Check, check
from agon_twins.compare import differences, short
from agon_twins.family import of_family
from agon_twins.isomorphism import PAYOFFS, Isomorphism
from agon_twins.names import claims, smaller
from agon_twins.twin import map_of
from agon_twins.walks import Recorded, deal

SILENT = "at the start: what is told is the same, so that nobody can know of the change"
FURTHER = 2
"""Most random matches in each further setting."""


@lru_cache(maxsize=64)
def solutions(game: Game[Any]) -> Mapping[str, Any]:
    """The solutions of a game, by the names of its family; empty where the family has none. Cached for all twins of a game."""
    solve = of_family(game, "solutions")
    return solve(game) if solve else {}


def solution_changes(game: Game[Any], other: Game[Any], map: Isomorphism) -> dict[str, tuple[Any, Any]]:
    """The solutions of `game` under `map` that differ from those of `other`: name -> (from, to)."""
    points = of_family(game, "POINTS", ())
    before = {name: map.value(value, PAYOFFS if name in points else name) for name, value in solutions(game).items()}
    after = solutions(other)
    return {name: (value, after.get(name)) for name, value in before.items() if not _alike(value, after.get(name))}


def _alike(one: Any, other: Any) -> bool:
    """Equality, but for the last digits of numbers."""
    pairs = [pair for _, *pair in differences(one, other)]
    numbers = [pair for pair in pairs if all(isinstance(value, int | float) for value in pair)]
    return len(numbers) == len(pairs) and all(isclose(*pair, rel_tol=1e-9, abs_tol=1e-9) for pair in numbers)


def rule_changes(game: Game[Any], other: Game[Any], map: Isomorphism) -> list[str]:
    """The facts of the rules that differ at the start, beyond `map`: path, from and to; at most twenty."""
    states = [(side, side.start(deal(0))) for side in (game, other)]
    view, other_view = (side.observe(state, side.to_move(state)[0]) for side, state in states)
    facts = islice(differences(map.view(view).rules, other_view.rules), 20)
    return [f"{path}: from {format_fact(one)} to {format_fact(after)}" for path, one, after in facts]


# ---- the table


def all_certificates(conf: Path = CONF, recorded: Recorded | None = None) -> Iterator[dict[str, Any]]:
    """A certificate for each twin and near-twin that conf/twin declares, in the order of its files. Raises AgonError.

    `recorded`: matches that the twins of their settings walk along (agon_twins.walks.recorded_matches).
    """
    for (name, twin), claim in claims(conf).items():
        game, other = load("game", name, conf), load("game", f"{name}~{twin}", conf)
        row = {"game": game.name, "setting": game.variant, "twin": twin}
        row |= {"claim": "twin" if claim.twin else "near-twin"}
        row |= certificate(game, other, claim.twin, names=claim.names, recorded=recorded)
        yield row | (_check_elsewhere(name, twin, conf) if claim.twin and not row["counterexample"] else {})


def _check_elsewhere(name: str, twin: str, conf: Path) -> dict[str, Any]:
    """Columns on whether a twin is one in the small version of its game, and in other settings, with the first counterexample."""
    columns, claim = dict[str, Any](), claims(conf)[name, twin]
    if pair := smaller(name, twin, conf):
        small = check(*pair, map_of(pair[1]), plays=0, menu=MENU, names=claim.names)
        extent = small.how if small.complete else f"{count(small.states, 'state')} of {small.deals}"
        few = f", by {MENU} answers in place of many" if small.sample else ""
        columns["small version"] = f"{extent} where {format_fact(claim.small)}{few}"
        if small.counterexample:
            return columns | _refused(f"where {format_fact(claim.small)}, {small.counterexample}")
    for setting in claim.also:
        game, other = load("game", setting, conf), load("game", f"{setting}~{twin}", conf)
        result = check(game, other, map_of(other), states=1, plays=FURTHER, names=claim.names, elsewhere=True)
        moved = _format_changes(solution_changes(game, other, map_of(other)))
        if fault := result.counterexample or "".join(moved[:1]):
            return columns | _refused(f"in {setting}, {fault}")
    return columns | {"also compared in": ", ".join(claim.also)}


def _refused(fault: str) -> dict[str, Any]:
    return {"holds": False, "verdict": "refused", "counterexample": fault}


def certificate(
    game: Game[Any],
    other: Game[Any],
    claimed: bool,
    states: int = STATES,
    names: Collection[str] = (),
    recorded: Recorded | None = None,
) -> dict[str, Any]:
    """Checks the claim that another game is a twin (`claimed`), or else a near-twin. Returns the columns of its certificate.

    `holds`: whether the claim is proved. A twin is proved if all states of its only deal were compared and nothing was taken for
    granted; else the verdict is that no difference was found. A near-twin is proved if it asks the same seats for the same, says what
    is different, and has another solution. `compared`, `deals`: the extent of the comparison. `changed`: facts of a near-twin's
    rules, at most twenty.
    `taken for granted`: parts that could not be compared. `never reached`: ends, payments and options that no match came to.
    `same solutions`, `moved`: the solutions that both have, and the others, from and to. `states`, `names`, `recorded`: see `check`.
    """
    map = map_of(other)
    shift = solution_changes(game, other, map)
    moved = _format_changes(shift)
    if claimed:
        result = check(
            game, other, map, states, names=names, recorded=(recorded or {}).get((game.name, game.variant), ())
        )
        facts, compared = list[str](), result.how
        proved = result.complete and not result.given
        verdict = f"{'proved' if proved else 'no difference found'} in {compared}"
        fault = result.counterexample or "".join(moved[:1])
    else:
        facts = rule_changes(game, other, map)
        result, proved, verdict = _near(game, other, map, bool(facts)), bool(facts), "the solution moves"
        fault = result.counterexample or ("" if shift else "what solves the one solves the other")
        compared = "the rules at the start" if facts else "the texts at the start"
    return {
        "holds": proved and not fault,
        "verdict": "refused" if fault else verdict,
        "compared": compared,
        "deals": result.deals,
        "taken for granted": "; ".join(result.given),
        "never reached": "; ".join(result.unreached),
        "states": result.states,
        "matches": result.plays,
        "same solutions": ", ".join(sorted(set(solutions(game)) - set(shift))),
        "changed": "; ".join(facts),
        "moved": "; ".join(moved),
        "counterexample": fault,
    }


def _near(game: Game[Any], other: Game[Any], map: Isomorphism, known: bool) -> Check:
    """Whether a near-twin asks the same seats for the same at the start, and tells of its change. `known`: its rules differ."""
    state, near_state = game.start(deal(0)), other.start(deal(0))
    views = [game.observe(state, seat) for seat in game.to_move(state)]
    near_views = [other.observe(near_state, seat) for seat in other.to_move(near_state)]
    texts, near_texts = ({observation_text(view) for view in side} for side in (views, near_views))
    questions = {map.seat(view.seat): map.space(view.legal, view.phase).as_json() for view in views}
    near_questions = {view.seat: view.legal.as_json() for view in near_views}
    fault = ""
    if questions != near_questions:
        fault = f"at the start: what the seats may do is {short(near_questions)} there, not {short(questions)}"
    elif not known and texts == near_texts:
        fault = SILENT
    given = ("the new words of the rules tell what has changed",) if not known else ()
    return Check(fault, 1, 0, complete=False, given=given)


def _format_changes(shift: Mapping[str, tuple[Any, Any]]) -> list[str]:
    """Each solution that moves, from and to, in words."""
    texts = []
    for name, (one, other) in shift.items():
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            keys = [key for key in {**one, **other} if not _alike(one.get(key), other.get(key))]
            one, other = ({key: solution[key] for key in keys if key in solution} for solution in (one, other))
        texts.append(f"{name}: from {format_fact(one)} to {format_fact(other)}")
    return texts


def format_fact(value: Any) -> str:
    """A fact in one line, the same in every run."""
    if isinstance(value, Mapping):
        items = sorted(value.items(), key=lambda item: format_fact(item[0]))
        return ", ".join(f"{format_fact(key)} {format_fact(part)}" for key, part in items) or "nothing"
    if isinstance(value, frozenset | set):
        return "{" + ", ".join(sorted(map(format_fact, value))) + "}"
    if isinstance(value, tuple | list):
        return " ".join(map(format_fact, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
