"""Scripts for games of clues. They use a list of topics, words and the clues that fit each word."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Annotated, Any, NamedTuple

import msgspec

from agon.errors import AgonError
from agon.games import Dice, Observation
from agon.games.deduction.game import NOBODY, UNSURE
from agon.paths import input_path, read_text_file

KNOWLEDGE = "data/settings/magic/topics.json"

VAGUE = ("Many people know it", "It comes up now and then", "There is more than one kind", "It has its friends")
"""Clues for words that are not on the list."""

SILENCE = ""
"""A clue that could not be read."""

UNHEARD, UNKNOWN, WRONG, BROAD = 1.5, 0.4, 1.0, 0.5
"""Suspicion for four kinds of clues: absent, not on the list, not fitting the word, and fitting every word."""


class Clue(msgspec.Struct, frozen=True):
    """A clue, and the words of its topic that it fits."""

    clue: str
    fits: frozenset[str]


class Topic(msgspec.Struct, forbid_unknown_fields=True):
    """Words of one topic; those of `pairs` are so alike that most clues fit both."""

    topic: str
    words: Annotated[list[str], msgspec.Meta(min_length=3)]
    pairs: list[tuple[str, str]]
    clues: list[Clue]

    def __post_init__(self) -> None:
        references = {word for clue in self.clues for word in clue.fits} | {
            word for pair in self.pairs for word in pair
        }
        if not references <= set(self.words):
            raise ValueError(f"topic {self.topic} has no word {', '.join(sorted(references - set(self.words)))}")


class Lexicon(NamedTuple):
    """The topics of a file, by name and by word."""

    by_name: Mapping[str, Topic]
    by_word: Mapping[str, Topic]
    fits: Mapping[str, Mapping[str, frozenset[str]]]
    """Topic -> clue -> the words it fits."""


@cache
def lexicon(path: str) -> Lexicon:
    """The topics of a file. Raises AgonError."""
    if not (file := input_path(path)).exists():
        raise AgonError(f"{path} is not there: `dvc pull data.dvc` fetches it")
    try:
        topics = msgspec.json.decode(read_text_file(file), type=list[Topic])
    except msgspec.DecodeError as error:
        raise AgonError(f"{path}: {error}") from None
    return Lexicon(
        {topic.topic: topic for topic in topics},
        {word: topic for topic in topics for word in topic.words},
        {topic.topic: {clue.clue: clue.fits for clue in topic.clues} for topic in topics},
    )


class Belief(NamedTuple):
    """A seat's belief after some clues."""

    topic: Topic | None
    """None if it is not on the list."""
    words: Sequence[str]
    """Candidates for the crowd's word; all equally likely."""
    spy: bool | None
    """Whether the seat itself is the spy; None: not sure."""
    heard: Mapping[int, Sequence[str]]
    """Clues by seat, the own ones included."""


def reference(view: Observation, dice: Dice, *, breadth: int = 3, knowledge: str = KNOWLEDGE) -> Any:
    """The reference player: an answer in any phase of Chameleon and Undercover.

    `breadth`: words of its topic (8) that a clue should fit; `knowledge`: a file of topics, words and the clues that fit them.

    The crowd gives clues that fit about `breadth` words of the topic: they show knowledge without giving the word away.
    It votes for the seat whose clues fit the word least. The spy gives clues that fit the likeliest words, votes for the
    seat that the crowd would suspect next, and guesses one of the words that fit most clues. A player that is not sure of
    its role (Undercover) gives clues that fit twice as many words.
    """
    vocabulary = lexicon(knowledge)
    belief = infer_belief(view, vocabulary)
    if view.phase == "clue":
        return _choose_clue(belief, dice, 2 * breadth if belief.spy is None else breadth, vocabulary)
    if view.phase == "guess":
        return _guess_word(belief, dice)
    if view.phase == "identify":
        role = UNSURE if belief.spy is None else view.rules.roles[0 if belief.spy else 1]
        return f"{view.rules.players[view.seat]}, {role}"
    doubts = suspicion(belief, view.rules.seats, vocabulary)
    if view.phase == "vote":
        suspects = _top_suspects(doubts, view.seat)
        return view.rules.players[dice.choice(suspects)]
    answers = []
    for seat, (question, _) in enumerate(view.legal.parts):
        suspects = _top_suspects(doubts, seat)
        suspect = view.rules.players[suspects[0]] if len(suspects) == 1 else NOBODY
        answers.append(_guess_word(belief, dice) if question == "word" else suspect)
    return tuple(answers)


def _guess_word(belief: Belief, dice: Dice) -> str:
    return dice.choice(belief.words) if belief.words else "I cannot tell"


def infer_belief(view: Observation, vocabulary: Lexicon) -> Belief:
    """The seat's belief, from its word or the topic, and from the clues so far.

    Undercover: a seat takes itself for the spy if its word fits the clues of none of the others, of whom there are two at least.
    """
    opening: dict[str, str] = {event.phase: event.value for event in view.past if event.seat is None}
    heard: dict[int, list[str]] = {}
    for event in view.past:
        if event.phase == "clue":
            heard.setdefault(event.seat, []).append(event.value or SILENCE)
    if "word" not in opening:
        topic = vocabulary.by_name.get(opening["topic"])
        return Belief(topic, _likeliest(topic, view.seat, heard, vocabulary) if topic else (), True, heard)
    word = opening["word"]
    if "topic" in opening:
        topic = vocabulary.by_name.get(opening["topic"])
        return Belief(topic if topic and word in topic.words else None, (word,), False, heard)
    topic = vocabulary.by_word.get(word)
    if topic is None:
        return Belief(None, (word,), None, heard)
    fits = vocabulary.fits[topic.topic]
    misfits = [
        seat
        for seat, clues in heard.items()
        if seat != view.seat and any(word not in fits[clue] for clue in clues if clue in fits)
    ]
    if len(misfits) >= 2 and len(misfits) == view.rules.seats - 1:
        return Belief(topic, _likeliest(topic, view.seat, heard, vocabulary), True, heard)
    return Belief(topic, (word,), False if misfits else None, heard)


def suspicion(belief: Belief, seats: int, vocabulary: Lexicon) -> list[float]:
    """The suspicion against each seat by its clues: little for a narrow clue that fits, most for none at all."""
    fits = vocabulary.fits[belief.topic.topic] if belief.topic else {}
    return [_doubt(belief, belief.heard.get(seat, ()), fits) for seat in range(seats)]


def _doubt(belief: Belief, clues: Sequence[str], fits: Mapping[str, frozenset[str]]) -> float:
    doubt = 0.0
    for clue in clues:
        if clue == SILENCE:
            doubt += UNHEARD
        elif clue not in fits:
            doubt += UNKNOWN
        else:
            right = sum([word in fits[clue] for word in belief.words]) / (len(belief.words) or 1)
            size = len(belief.topic.words) if belief.topic else 1
            doubt += WRONG * (1 - right) + BROAD * right * len(fits[clue]) / size
    return doubt


def _likeliest(topic: Topic, own_seat: int, heard: Mapping[int, Sequence[str]], vocabulary: Lexicon) -> Sequence[str]:
    """The words that most of the others' clues fit."""
    fits = vocabulary.fits[topic.topic]
    fit_sets = [fits[clue] for seat, clues in heard.items() if seat != own_seat for clue in clues if clue in fits]
    score = [sum([word in words for words in fit_sets]) for word in topic.words]
    return [word for word, fit in zip(topic.words, score, strict=True) if fit == max(score)]


def _choose_clue(belief: Belief, dice: Dice, breadth: int, vocabulary: Lexicon) -> str:
    past_clues = {clue for clues in belief.heard.values() for clue in clues}
    if belief.topic is None:
        return next((clue for clue in VAGUE if clue not in past_clues), VAGUE[0])

    def rank(clue: Clue) -> tuple[int, int]:
        return -sum([word in clue.fits for word in belief.words]), abs(len(clue.fits) - breadth)

    candidates = [clue for clue in belief.topic.clues if clue.clue not in past_clues] or belief.topic.clues
    ranks = [rank(clue) for clue in candidates]
    return dice.choice(
        [clue.clue for clue, clue_rank in zip(candidates, ranks, strict=True) if clue_rank == min(ranks)]
    )


def _top_suspects(doubts: Sequence[float], exclude: int) -> list[int]:
    """The most suspicious seats but for `exclude`."""
    highest = max([doubt for seat, doubt in enumerate(doubts) if seat != exclude])
    return [seat for seat, doubt in enumerate(doubts) if seat != exclude and doubt == highest]
