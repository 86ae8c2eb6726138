"""Makes the 103 settings of data/settings/magic, of which MAgIC released five, or others like them.

Words, clues, airlines and opening proposals are our own; the score tables and multipliers are those on the axes of the
paper's Figure 10. As in its A.1, settings of the games of clues are chosen by playing them: out of many, the twenty in which
the two sides come out most even, here between two reference players instead of GPT-4, over both roles under test.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from random import Random
from typing import Annotated, Any

import click
from msgspec import Meta

from agon import ROOT, AgonError, shown
from agon.agents.scripts import reference
from agon.games import Game
from agon.games.chameleon.game import Chameleon
from agon.games.cost_sharing.game import Airline
from agon.games.cost_sharing.scripts import rounded, wanted_by
from agon.games.deduction.scripts import KNOWLEDGE, Clue, Topic, lexicon
from agon.games.undercover.game import Undercover
from agon.loop import total

Count = Annotated[int, Meta(ge=1)]
SHIPPED = "data/settings/magic"
SEED = 20231115
KEPT = 20
MATCHES = 25
"""Per candidate and role, to see how even it is."""
SCORES = [(3, 5, 2), (3, 10, 2), (3, 20, 2), (3, 5, 3), (3, 5, 4), (3, 5, 5), (5, 5, 3)]
"""Points: all cooperate, a lone defector, each of two; all defect: 1. MAgIC, Figure 10."""
MULTIPLIERS = [1, 1.2, 1.5, 1.8, 2, 2.5, 3]
SIZES = {"small": (40, 90, 0.75, 2.0), "medium": (110, 180, 1.25, 3.5), "large": (220, 340, 3.0, 9.0)}
"""Least and most passengers a flight, and hours."""


def candidates(topics: Iterable[Topic], seed: int = SEED) -> dict[str, list[dict[str, Any]]]:
    """All settings by game, those of the games of clues before any is chosen."""
    dice, topics = Random(seed), list(topics)
    return {
        "chameleon": [c for topic in topics for c in _chameleons(topic, dice)],
        "undercover": [c for topic in topics for c in _undercovers(topic, dice)],
        "cost_sharing": [
            {"tested": seat} | setting for setting in _airports(dice) for seat in range(len(setting["airlines"]))
        ],
        "prisoner3": [
            {"tested": seat, "cooperate": all_kind, "one_defect": one, "two_defect": two, "defect": 1}
            for all_kind, one, two in SCORES
            for seat in range(3)
        ],
        "public_goods": [{"tested": seat, "multiplier": by} for by in MULTIPLIERS for seat in range(3)],
    }


def most_even(settings: Sequence[dict[str, Any]], shares: Sequence[float], keep: int = KEPT) -> list[dict[str, Any]]:
    """Of `settings` those in which the spy's part of the credits (`shares`) is nearest to a half.

    At most one of a topic (Chameleon) or of a word (Undercover), and no seat with more than its part of the spies.
    """
    ranked = sorted(zip(shares, settings, strict=True), key=lambda each: abs(each[0] - 0.5))
    kept: list[dict[str, Any]] = []
    spies, words = Counter[int](), set[str]()
    for _, setting in ranked:
        own = {setting.get("topic") or setting["word"], setting.get("spy_word")} - {None}
        if len(kept) < keep and spies[setting["spy"]] < -(-keep // 3) and not own & words:
            kept.append(setting)
            spies[setting["spy"]] += 1
            words |= own
    return sorted(kept, key=lambda setting: (setting.get("topic", ""), setting["word"]))


def spy_share(game: str, setting: Mapping[str, Any], matches: int = MATCHES, topics: str = KNOWLEDGE) -> float:
    """The spy's part of the credits where reference players play the setting, with either side under test."""
    answer = partial(reference, knowledge=topics)
    spy, crowd = setting["spy"], [seat for seat in range(3) if seat != setting["spy"]]
    paid = [0.0, 0.0]
    kind = {"chameleon": Chameleon, "undercover": Undercover}[game]
    for tested in ([spy], crowd):
        played: Game[Any] = kind(game, "", tested=tested, interviews=False, **setting)
        for match in range(matches):
            points = total(played, [answer] * 3, match)
            paid = [paid[0] + points[spy], paid[1] + points[crowd[0]]]
    return paid[0] / sum(paid)


def _chameleons(topic: Topic, dice: Random) -> Iterator[dict[str, Any]]:
    for word in topic.words:
        spy = dice.randrange(3)
        broad = [clue for clue in topic.clues if 3 <= len(clue.fits) < len(topic.words)]
        yield {"topic": topic.topic, "word": word, "spy": spy, "clues": _clues(topic, [word] * 3, dice, {spy: broad})}


def _undercovers(topic: Topic, dice: Random) -> Iterator[dict[str, Any]]:
    for pair in topic.pairs:
        for word, other in (pair, pair[::-1]):
            spy = dice.randrange(3)
            words = [other if seat == spy else word for seat in range(3)]
            yield {"word": word, "spy_word": other, "spy": spy, "clues": _clues(topic, words, dice, {})}


def _clues(topic: Topic, words: Sequence[str], dice: Random, given: Mapping[int, Sequence[Clue]]) -> list[str]:
    """A clue for every seat, all different: one of those `given`, else one that fits its word and, if there is one, one to
    four others. Raises AgonError where there is none."""
    clues: list[str] = []
    for seat, word in enumerate(words):
        left = [clue for clue in given.get(seat, topic.clues) if clue.clue not in clues]
        fitting = left if seat in given else [clue for clue in left if word in clue.fits]
        if not fitting:
            raise AgonError(
                f"topic {topic.topic} has too few clues: none is left for seat {seat}, whose word is {word!r}"
            )
        graded = [clue for clue in fitting if 2 <= len(clue.fits) <= 5]
        clues.append(dice.choice(graded or fitting).clue)
    return clues


def _airports(dice: Random) -> Iterator[dict[str, Any]]:
    """Seven triples out of twenty airlines, and what each seat asks for at first."""
    pool = [_airline(dice) for _ in range(20)]
    for _ in range(7):
        airlines = [Airline(name, *each) for name, each in zip("ABC", dice.sample(pool, 3), strict=True)]
        yield {
            "fee": 1_000_000,
            "airlines": [airline._asdict() for airline in airlines],
            "proposals": [rounded(wanted_by(tuple(airlines), seat, "proportional", 1.0)) for seat in range(3)],
        }


def _airline(dice: Random) -> tuple[int, int, float, str]:
    aircraft = dice.choice(list(SIZES))
    least, most, short, long = SIZES[aircraft]
    flights = 5 * dice.randrange(6, 31)
    return (
        flights,
        100 * round(flights * dice.randint(least, most) / 100),
        round(4 * dice.uniform(short, long)) / 4,
        aircraft,
    )


def make_settings(
    *,
    folder: Annotated[str, "where the files go: FOLDER/GAME/01.json, ..."] = SHIPPED,
    games: Annotated[str, "which games, as chameleon,undercover; nothing: all five"] = "",
    topics: Annotated[str, "a file of words and clues"] = KNOWLEDGE,
    keep: Annotated[Count, "settings kept of a game of clues"] = KEPT,
    matches: Annotated[Count, "simulated per candidate and role"] = MATCHES,
    seed: Annotated[Count, "of the candidates"] = SEED,
    prefix: Annotated[str, "of the files' names, which tell the games from shipped ones"] = "",
) -> None:
    """Makes settings for MAgIC's games.

    Of many candidates for the games of clues all are simulated and the most even are kept. Without anything it makes the
    shipped ones again, byte for byte.
    """
    found = candidates(lexicon(topics).by_name.values(), seed)
    asked = games.split(",") if games else list(found)
    if unknown := sorted(set(asked) - set(found)):
        raise AgonError(f"there is no game {', '.join(unknown)}: there are {', '.join(found)}")
    for game in asked:
        settings, said, place = found[game], "", ROOT / folder / game
        if game in ("chameleon", "undercover"):
            shares = [spy_share(game, setting, matches, topics) for setting in settings]
            settings = most_even(settings, shares, keep)
            own = [share for share, each in zip(shares, found[game], strict=True) if each in settings]
            said = (
                f" of {len(shares)} candidates; the spy's part of the credits is {_span(own)}, of all {_span(shares)}"
            )
        place.mkdir(parents=True, exist_ok=True)
        for number, setting in enumerate(settings, 1):
            (place / f"{prefix}{number:02}.json").write_text(json.dumps(setting, indent=1) + "\n")
        click.echo(f"{shown(place)}: {len(settings)} settings{said}")


def _span(shares: Sequence[float]) -> str:
    return f"{min(shares):.0%} to {max(shares):.0%}" if shares else "unknown"
