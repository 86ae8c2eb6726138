"""Boards of games that are played in rounds in which all move at once: normal-form games and the public good."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, product
from typing import Any

from agon.games import MatrixGame
from agon.games.public_goods.game import PublicGoods
from agon_hall.boards.pictures import lines
from agon_hall.boards.scene import Scene
from agon_hall.look import count, items, number, table, text

MOST = 64
"""Outcomes that are listed."""


def rounds_played(scene: Scene) -> str:
    """Which round it is."""
    game, done = scene.view.rules, len(scene.view.past)
    now = "all are played" if done >= game.rounds else f"round {done + 1} is being played"
    return f"<h2>{count(done, 'round')} of {game.rounds} played: {now}</h2>"


def in_seat_order(scene: Scene, done: Sequence[Any]) -> tuple[Any, ...]:
    """What was done in a round, of which a view has its own action first."""
    if scene.watched:
        return tuple(done)
    return (*done[1 : scene.own + 1], done[0], *done[scene.own + 1 :])


def matrix(scene: Scene) -> dict[str, str]:
    """What each outcome pays, what was done, and what it paid."""
    game: MatrixGame = scene.view.rules
    rounds = [in_seat_order(scene, done) for done in scene.view.past]
    paid = [game.payoffs(profile) for profile in rounds]
    running = [list(accumulate(each[seat] for each in paid)) for seat in range(game.seats)]
    names = [(scene.short(seat), running[seat]) for seat in scene.order]
    return {
        "round": rounds_played(scene),
        "payoffs": payoffs(scene),
        "chart": lines("Points so far", names),
        "history": _history(scene, rounds, paid),
    }


def _history(scene: Scene, rounds: Sequence[Sequence[Any]], paid: Sequence[Sequence[float]]) -> str:
    """What was done, newest round first, with the points of each."""
    if not rounds:
        return "<p>No round is finished yet. When one is, what everybody did and got stands here.</p>"
    head = ["Round", *(scene.who(seat) for seat in scene.order)]
    sums = ["All rounds", *(f"<strong>{_points(sum(each[seat] for each in paid))}</strong>" for seat in scene.order)]
    rows = [
        [
            str(place + 1),
            *(
                f"{scene.done(rounds[place][seat])}<br><small>{_points(paid[place][seat])}</small>"
                for seat in scene.order
            ),
        ]
        for place in reversed(range(len(rounds)))
    ]
    return table("What was done, newest round first, and what it paid", head, [sums, *rows])


def _points(value: float) -> str:
    return f"{number(value)} point{'' if value == 1 else 's'}"


def payoffs(scene: Scene) -> str:
    """The payoff table, as one seat reads it."""
    game: MatrixGame = scene.view.rules
    if game.seats == 2:
        return _two(scene, game)
    if len(game.options) ** game.seats <= 1024 and (pays := _alike(game)):
        return _symmetric(scene, game, pays)
    return _list(scene, game)


def _two(scene: Scene, game: MatrixGame) -> str:
    first, second = scene.order
    mine, other = ("you", "the other") if not scene.watched else (scene.short(first), scene.short(second))
    rows = []
    for own in game.options:
        cells = []
        for theirs in game.options:
            got = game.payoffs((own, theirs) if first == 0 else (theirs, own))
            cells.append(f"<strong>{text(mine)} {number(got[first])}</strong><br>{text(other)} {number(got[second])}")
        rows.append([f"{'you play ' if not scene.watched else ''}{text(own)}", *cells])
    theirs = "the other plays" if not scene.watched else f"{text(other)}:"
    head = ["" if not scene.watched else text(f"{mine}:"), *(f"{theirs} {text(option)}" for option in game.options)]
    return table("Points for a round, by what both do in it", head, rows)


@lru_cache(maxsize=256)
def _alike(game: MatrixGame) -> dict[tuple[str, tuple[int, ...]], float] | None:
    """Points by own action and how many of the others do what; None where it matters who does it."""
    pays: dict[tuple[str, tuple[int, ...]], float] = {}
    for profile in product(game.options, repeat=game.seats):
        for seat, got in enumerate(game.payoffs(profile)):
            others = profile[:seat] + profile[seat + 1 :]
            key = str(profile[seat]), tuple(others.count(option) for option in game.options)
            if pays.setdefault(key, got) != got:
                return None
    return pays


def _symmetric(scene: Scene, game: MatrixGame, pays: dict[tuple[str, tuple[int, ...]], float]) -> str:
    """One column per own action, one row per what the others do, whoever does it."""
    kinds = list(dict.fromkeys(others for _, others in pays))
    who = "you play" if not scene.watched else "a player plays"
    rows = [[_others(game, others), *(number(pays[own, others]) for own in game.options)] for others in kinds]
    whose = "Your points" if not scene.watched else "A player's points"
    head = [f"The {game.seats - 1} others", *(f"{who} {text(own)}" for own in game.options)]
    return table(f"{whose} for a round; the same for everybody", head, rows)


def _others(game: MatrixGame, counts: tuple[int, ...]) -> str:
    return ", ".join(f"{times} {text(option)}" for times, option in zip(counts, game.options, strict=True) if times)


def _list(scene: Scene, game: MatrixGame) -> str:
    """Every outcome in a row."""
    outcomes = game.outcomes(max(scene.own, 0))
    who = [scene.who(seat) for seat in scene.order]
    head = [*(f"{each} plays" for each in who), *(f"{each} gets" for each in who)]
    rows = [[*map(text, profile), *map(number, got)] for profile, got in outcomes[:MOST]]
    more = f"<p>And {len(outcomes) - MOST} more outcomes.</p>" if len(outcomes) > MOST else ""
    return table("Points for a round, by what everybody does in it", head, rows) + more


def public_goods(scene: Scene) -> dict[str, str]:
    """What is in the pool and what is left, round by round, and what it would be worth."""
    game: PublicGoods = scene.view.rules
    rounds = [in_seat_order(scene, done) for done in scene.view.past]
    worth = [worths(game, rounds[: place + 1]) for place in range(len(rounds))]
    series = [(scene.short(seat), [each[seat] for each in worth]) for seat in scene.order]
    return {
        "round": rounds_played(scene),
        "purse": _purse(scene, game, rounds),
        "chart": lines("What each would have if it ended then", series),
        "history": _given(scene, game, rounds),
    }


def worths(game: PublicGoods, rounds: Sequence[Sequence[Any]]) -> list[float]:
    """What each seat would be paid if the match ended after these rounds."""
    lost = game.semantics == "published_pgm" and len(rounds) == game.rounds
    pool = sum(points or 0 for round_ in (rounds[:-1] if lost else rounds) for points in round_)
    return [left(game, rounds, seat) + pool * game.multiplier / game.seats for seat in range(game.seats)]


def left(game: PublicGoods, rounds: Sequence[Sequence[Any]], seat: int) -> int:
    """What a seat has not contributed."""
    return game.endowment - sum(round_[seat] or 0 for round_ in rounds)


def _purse(scene: Scene, game: PublicGoods, rounds: Sequence[Sequence[Any]]) -> str:
    pool = sum(points or 0 for round_ in rounds for points in round_)
    share = pool * game.multiplier / game.seats
    said = [
        f"In the pool: <strong>{number(pool)}</strong> points. Times {number(game.multiplier)} that is "
        f"{number(pool * game.multiplier)}, or {number(share)} for each of {game.seats} players."
    ]
    if not scene.watched:
        said.insert(
            0, f"You have <strong>{number(left(game, rounds, scene.own))}</strong> of {game.endowment} points left."
        )
    return f'<div class="card">{items(said)}</div>'


def _given(scene: Scene, game: PublicGoods, rounds: Sequence[Sequence[Any]]) -> str:
    if not rounds:
        return "<p>No round is finished yet. When one is, what everybody gave stands here.</p>"
    head = ["Round", *(scene.who(seat) for seat in scene.order), "Together"]
    rows = [
        [str(place + 1), *(scene.done(rounds[place][seat]) for seat in scene.order), _together(rounds[place])]
        for place in reversed(range(len(rounds)))
    ]
    whole = ["All rounds", *(_together([each[seat] for each in rounds]) for seat in scene.order)]
    rest = ["Left", *(number(left(game, rounds, seat)) for seat in scene.order), ""]
    return table(
        "Points given to the pool, newest round first",
        head,
        [rest, [*whole, _together([points for each in rounds for points in each])], *rows],
    )


def _together(given: Sequence[int | None]) -> str:
    return f"<strong>{number(sum(points or 0 for points in given))}</strong>"
