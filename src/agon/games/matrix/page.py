"""The page of normal-form games: the payoff table from one's own side, and actions and points, round by round."""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, product
from math import prod
from typing import Any, ClassVar

from agon.games.html import lines, table, text
from agon.games.matrix.game import MatrixGame
from agon.games.pages import FamilyPage, Parts, Scene

MAX_OUTCOMES = 64
"""The most outcomes that are listed."""


def rounds_played(scene: Scene) -> str:
    """The number of the round, and of all rounds."""
    rounds, past, say = scene.view.rules.rounds, len(scene.view.past), scene.say
    title = say("All {} are played", say.count(rounds, "round"))
    if past < rounds:
        title = say("Round {} of {}", past + 1, rounds)
    return f"<h2>{title}</h2>"


class MatrixPage(FamilyPage):
    """The boards of all normal-form games."""

    title = "A repeated game"
    needed: ClassVar = ("rounds", "payoffs")
    aids: ClassVar = {
        "rounds": "how many rounds there are",
        "payoffs": "the payoff table, from one's own side",
        "chart": "a picture of the points so far",
    }

    def rewording(self, game: Any, aids: Collection[str] | None) -> Mapping[str, str]:
        """Leaves the sentence that the number of rounds is not told out of pages that show it."""
        return {" You are not told how many rounds there are.": ""} if aids is None or "rounds" in aids else {}

    def board(self, scene: Scene) -> Parts:
        """The payoff table, and the history with its points."""
        game: MatrixGame = scene.view.rules
        rounds = scene.rounds()
        round_payoffs = [game.payoffs(profile) for profile in rounds]
        running = [list(accumulate(points[seat] for points in round_payoffs)) for seat in range(game.seats)]
        note = scene.say("In this match you are told how many rounds there are.")
        return {
            "rounds": rounds_played(scene) + ("" if scene.over else f'<p class="soft">{note}</p>'),
            "payoffs": payoffs(scene),
            "chart": chart(scene, scene.say("Points so far"), running),
            "history": _history(scene, rounds, round_payoffs),
            "totals": "",  # the history has them
        }


page = MatrixPage()


def chart(scene: Scene, title: str, running: Sequence[Sequence[float]]) -> str:
    """A line for each seat's amounts, round by round, the own seat's first."""
    series = [(scene.short(seat), running[seat]) for seat in scene.order]
    return lines(title, series, along=scene.say("round"), say=scene.say)


def _history(scene: Scene, rounds: Sequence[Sequence[Any]], round_payoffs: Sequence[Sequence[float]]) -> str:
    """Actions and points of each round, the newest first."""
    say = scene.say
    if not rounds:
        return f"<p>{say('No round is finished yet.')}</p>"

    def cell(place: int, seat: int) -> str:
        return f"{scene.done(rounds[place][seat])}<br><small>{say.count(round_payoffs[place][seat], 'point')}</small>"

    head = [say("Round"), *(scene.who(seat) for seat in scene.order)]
    totals = [sum(points[seat] for points in round_payoffs) for seat in scene.order]
    sums = [say("All rounds"), *(f"<strong>{say.count(total, 'point')}</strong>" for total in totals)]
    rows = [[str(at + 1), *(cell(at, seat) for seat in scene.order)] for at in reversed(range(len(rounds)))]
    return table(say("What was done, newest round first, and what it paid"), head, [sums, *rows])


def payoffs(scene: Scene) -> str:
    """The payoff table, as one seat reads it."""
    game: MatrixGame = scene.view.rules
    if game.seats == 2:
        return _two_player_table(scene, game)
    if prod(map(len, game.action_sets)) <= 1024 and (pays := _symmetric_payoffs(game)):
        return _symmetric_table(scene, game, pays)
    return _outcome_table(scene, game)


def _two_player_table(scene: Scene, game: MatrixGame) -> str:
    (first, second), say = scene.order, scene.say
    mine, other = (say("you"), say("the other")) if not scene.watched else (scene.short(first), scene.short(second))
    rows = []
    for own in game.action_sets[first]:
        cells = []
        for theirs in game.action_sets[second]:
            points = game.payoffs((own, theirs) if first == 0 else (theirs, own))
            cells.append(
                f"<strong>{text(mine)} {say.number(points[first])}</strong><br>"
                f"{text(other)} {say.number(points[second])}"
            )
        rows.append([text(own) if scene.watched else say("you play {}", text(own)), *cells])
    options = [text(option) for option in game.action_sets[second]]
    head = [text(f"{mine}:"), *(f"{text(other)}: {option}" for option in options)]
    if not scene.watched:
        head = ["", *(say("the other plays {}", option) for option in options)]
    return table(say("Points for a round, by what both do in it"), head, rows)


@lru_cache(maxsize=256)
def _symmetric_payoffs(game: MatrixGame) -> dict[tuple[str, tuple[int, ...]], float] | None:
    """Points by own action and the counts of the others' actions; None where it matters who plays what."""
    pays: dict[tuple[str, tuple[int, ...]], float] = {}
    if len(set(game.action_sets)) > 1:
        return None
    options = game.action_sets[0]
    for profile in product(options, repeat=game.seats):
        for seat, points in enumerate(game.payoffs(profile)):
            others = profile[:seat] + profile[seat + 1 :]
            key = str(profile[seat]), tuple(others.count(option) for option in options)
            if pays.setdefault(key, points) != points:
                return None
    return pays


def _symmetric_table(scene: Scene, game: MatrixGame, pays: dict[tuple[str, tuple[int, ...]], float]) -> str:
    """One column per own action, one row per combination of the others' actions."""
    kinds = list(dict.fromkeys(others for _, others in pays))
    options, say = game.action_sets[0], scene.say
    rows = [[_format_others(options, others), *(say.number(pays[own, others]) for own in options)] for others in kinds]
    if scene.watched:
        title, heads = say("A player's points for a round; the same for everybody"), [text(own) for own in options]
    else:
        title = say("Your points for a round; the same for everybody")
        heads = [say("you play {}", text(own)) for own in options]
    return table(title, [say("The {} others", game.seats - 1), *heads], rows)


def _format_others(options: Sequence[str], counts: tuple[int, ...]) -> str:
    return ", ".join(f"{times} {text(option)}" for times, option in zip(counts, options, strict=True) if times)


def _outcome_table(scene: Scene, game: MatrixGame) -> str:
    """Every outcome in a row."""
    outcomes, say = game.outcomes(max(scene.own, 0)), scene.say
    who = [scene.who(seat) for seat in scene.order]
    head = [*(say("{} plays", player) for player in who), *(say("{} gets", player) for player in who)]
    rows = [[*map(text, profile), *map(say.number, points)] for profile, points in outcomes[:MAX_OUTCOMES]]
    more = len(outcomes) - MAX_OUTCOMES
    note = f"<p>{say('And {}.', say.count(more, 'more outcome'))}</p>" if more > 0 else ""
    return table(say("Points for a round, by what everybody does in it"), head, rows) + note
