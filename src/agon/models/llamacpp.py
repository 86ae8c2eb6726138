"""Log-probabilities of whole answers from llama.cpp's server, through addresses that only it has.

The server tells the log-probability of every token that it samples, over the whole vocabulary and before sampling settings,
and a bias makes it sample the token that is asked for. So an option costs a call per token and one for its end, each of which
computes one token after what the server keeps of the call before; options that begin alike share the calls of their beginning.

What it computes depends on which tokens it computes together: by up to half a unit of a logarithm with weights of 4 bits. So the
conversation is computed anew for every question, and then token by token. This is the same twice where the server computes
nothing else meanwhile (`concurrency: 1`).
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from agon.models.base import Answer, CallFailed

Post = Callable[[str, dict[str, Any]], Awaitable[Any]]
"""Asks an address of the server, and gives the JSON that it answers."""

FORCED = 1000.0
"""A bias that makes a token certain; what is told of it is its probability without."""


async def weighed(post: Post, messages: Sequence[Mapping[str, str]], options: Sequence[str]) -> Answer:
    """The log-probability that the model answers with each option and then ends, at temperature 1 (one float per option).

    Raises CallFailed where the server has no such addresses, or its chat template changes answers.
    """
    try:
        prompt = await _prompt(post, messages)
        begun = await _tokens(post, prompt)
        wholes = [await _tokens(post, prompt + option) for option in options]
        [end, *_] = await _tokens(post, await _after(post, messages, prompt, options[0]), first=False)
        if any(whole[: len(begun)] != begun for whole in wholes):
            raise CallFailed(
                "settings", "the tokens of the conversation change with the answer: it cannot be weighed", "stop"
            )
        paths = [(*whole[len(begun) :], end) for whole in wholes]
        await post("/completion", {"prompt": begun[:-1], "n_predict": 0, "cache_prompt": False})
        known = dict[tuple[int, ...], float]()
        for way in sorted({path[:length] for path in paths for length in range(1, len(path) + 1)}, key=_in_order):
            known[way] = await _logprob(post, [*begun, *way[:-1]], way[-1])
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise CallFailed(
            "no answer", f"the server does not answer as llama.cpp's does: {type(error).__name__}"
        ) from None
    weights = [sum(known[path[:length]] for length in range(1, len(path) + 1)) for path in paths]
    return Answer("", tokens_in=len(begun), tokens_out=len(known), stop="weighed", weights=tuple(weights))


def _in_order(path: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    """Tokens after one beginning together, and the beginnings as a tree is walked: what comes next is mostly in the cache."""
    return path[:-1], path[-1]


async def _prompt(post: Post, messages: Sequence[Mapping[str, str]]) -> str:
    found = (await post("/apply-template", {"messages": list(messages)}))["prompt"]
    if not isinstance(found, str):
        raise TypeError
    return found


async def _after(post: Post, messages: Sequence[Mapping[str, str]], prompt: str, option: str) -> str:
    """What the template puts after an answer: it begins with the token that ends it."""
    more = ({"role": "assistant", "content": option}, {"role": "user", "content": "?"})
    whole = await _prompt(post, [*messages, *more])
    if not whole.startswith(prompt + option):
        raise CallFailed("settings", "the model's chat template changes answers: they cannot be weighed", "stop")
    return whole[len(prompt + option) :]


async def _tokens(post: Post, text: str, first: bool = True) -> list[int]:
    """A text's tokens; where it is the `first` one of all, with what the model wants before it."""
    found = await post("/tokenize", {"content": text, "add_special": first, "parse_special": True})
    return [int(token) for token in found["tokens"]]


async def _logprob(post: Post, before: Sequence[int], token: int) -> float:
    body = {"prompt": before, "n_predict": 1, "n_probs": 1, "temperature": 0, "logit_bias": [[token, FORCED]]}
    [told] = (await post("/completion", body | {"cache_prompt": True}))["completion_probabilities"]
    if told["id"] != token:
        raise ValueError
    return float(told["logprob"])
