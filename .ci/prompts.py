"""Makes docs/prompts-PAPER.md: which elements of a paper's prompts a model gets in each prompt set, and the prompts themselves.

The elements are the rows of src/agon/games/FAMILY/prompt_sets/elements.csv:
- game, agent: files of conf/game (or FILE/SETTING) and conf/agent. The agent sits on every seat of the game.
- element, source: the name of the element, and where the paper has it.
- sets: the prompt sets with the element. No text to a seat in another set may match the pattern, translations apart.
- pattern: a regular expression. Case and line breaks do not matter.
- note: why a set lacks the element, or anything else a reader should know.

Run python .ci/prompts.py after you have changed a row or a prompt.
"""

import csv
import functools
import re
import sys
from pathlib import Path
from random import Random

from agon.agents.languages import all_languages
from agon.agents.prompts import prompt_sets
from agon.models import Answer, Message, Request
from agon.plan import plan
from agon.play import play_async

ROOT = Path(__file__).parents[1]
GAMES = ROOT / "src/agon/games"
PAPERS = {
    "counterfactual": ("Counterfactual repeated games", ["matrix"]),
    "magic": ("MAgIC", ["chameleon", "undercover", "prisoner3", "public_goods", "cost_sharing"]),
    "tradecraft": ("TradeCraft", ["tradecraft"]),
}
"""Paper -> (title, families of games)."""
SHOWN = ("as_printed", "as_played", "ours")
INTRODUCTION = """# Prompts: {title}

What a model is told, in each prompt set. `as_printed` has every element that the paper prints, `as_played` every element of the recorded
games, `ours` is agon's own. All words are agon's. An experiment names its set: `experiment.prompts=as_played`.

This page is made by `python .ci/prompts.py`: each prompt is rendered as a seat gets it, and searched for each element. A dash says that no
text of this set has the element. A test compares the page with the prompts.
"""


class Listener:
    """A model that keeps the messages to it. Its first answer is unreadable, so that it is asked again; the others are legal."""

    instant, room, weighs, calls = True, None, "", False

    def __init__(self) -> None:
        self.conversations: dict[str, list[Message]] = {}

    async def answer(self, request: Request) -> Answer:
        """An answer."""
        seat = request.sample.split("/")[1]
        messages = self.conversations.setdefault(seat, [])
        first = not messages
        messages += [message for message in request.messages if message not in messages]
        if first:
            return Answer("I have no answer yet.")
        legal = request.view.legal
        decision = request.sample.partition("/")[2]  # the id of the match may change, and these answers stay
        return Answer(f"[move] {legal.format(legal.example(Random(decision)))}")


@functools.cache
def conversations(game: str, agent: str, prompts: str) -> dict[str, list[Message]]:
    """Seat -> the distinct messages to and from it, in one match of the agent with itself."""
    from agon.conf import load

    seats = [[agent]] * load("game", game).seats
    pairing = {"games": [game], "seats": seats, "models": ["ollama"]}
    match = plan({"name": "prompts", "repetitions": 1, "prompts": prompts, "pairings": [pairing]})[0]
    listener = Listener()
    try:
        play_async(match, {"ollama": listener}, instant=True).send(None)
    except StopIteration:
        return listener.conversations
    raise RuntimeError(f"{agent} waits for something other than its model")


def text_of(game: str, agent: str, prompts: str) -> str:
    """All that the seats are told, without line breaks."""
    messages = [message for seat in conversations(game, agent, prompts).values() for message in seat]
    return " ".join(" ".join(message.text.split()) for message in messages if message.role != "assistant")


def elements(family: str) -> list[dict[str, str]]:
    """The rows of a family's elements.csv; none where it has no such file."""
    path = GAMES / family / "prompt_sets/elements.csv"
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def excerpt(row: dict[str, str], prompts: str) -> str:
    """The words of a prompt set that match the row's pattern; empty where none do."""
    match = re.search(row["pattern"], text_of(row["game"], row["agent"], prompts), re.IGNORECASE)
    return match[0] if match else ""


def faults(family: str) -> list[str]:
    """Where prompts differ from the family's elements.csv, in words. Translations have what `ours` has (agon_twins.languages)."""
    translations = {language.prompts for language in all_languages()[1:]}
    sets = [name for name in prompt_sets([GAMES / family]) if name not in translations]
    return [
        f"{family}: {row['element']} ({row['game']}, {row['agent']}): {'is' if excerpt(row, name) else 'is not'} in {name}"
        for row in elements(family)
        for name in sets
        if bool(excerpt(row, name)) != (name in row["sets"].split())
    ]


def table(rows: list[dict[str, str]], sets: list[str]) -> str:
    """The elements as a table in Markdown."""
    lines = [["element", "source", *sets, "note"], ["---"] * (len(sets) + 3)]
    for row in rows:
        words = [excerpt(row, name) or "-" for name in sets]
        lines.append([row["element"], row["source"], *map(_cell, words), row["note"]])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(text: str) -> str:
    short = text if len(text) <= 160 else f"{text[:150].rstrip()} ..."
    return short.replace("|", "\\|").replace("[", "\\[").replace("<", "&lt;")


def beginning(game: str, agent: str, prompts: str) -> str:
    """The first messages to the first seat: rules, question, and the first question about beliefs, if there is one."""
    messages = next(iter(conversations(game, agent, prompts).values()))
    beliefs = [message for message in messages[2:] if "a question to you alone" in message.text]
    return "\n\n".join(message.text.strip() for message in (*messages[:2], *beliefs[:1]))


def page(paper: str) -> str:
    """The page of a paper."""
    title, families = PAPERS[paper]
    parts = [INTRODUCTION.format(title=title)]
    for family in families:
        rows = elements(family)
        available = prompt_sets([GAMES / family])
        sets = [name for name in SHOWN if name in available]
        for game, agent in dict.fromkeys((row["game"], row["agent"]) for row in rows):
            chosen = [row for row in rows if (row["game"], row["agent"]) == (game, agent)]
            parts.append(f"## {game}, agent {agent}\n\n{table(chosen, sets)}\n")
            for name in sets:
                text = beginning(game, agent, name).replace("```", "'''")
                parts.append(f"### {game}, agent {agent}: {name}\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    mistakes = [fault for _, families in PAPERS.values() for family in families for fault in faults(family)]
    if mistakes:
        sys.exit("\n".join(mistakes))
    for paper, (_, families) in PAPERS.items():
        if any(elements(family) for family in families):
            (ROOT / f"docs/prompts-{paper}.md").write_text(page(paper), encoding="utf-8")
