"""Log-probabilities of complete answers from llama.cpp's server, through addresses that only this server has.

The server reports the log-probability of every token that it samples: over the whole vocabulary, and before sampling
settings apply. A bias makes it sample the token in question. So an option costs one call for every token and one for
its end. Each call computes one token, because the server keeps the tokens of the call before. Options with the same
beginning share its calls.

Results depend on which tokens the server computes together: by up to 0.5 in the logarithm with weights of 4 bits. So
every question computes the conversation anew and then token by token. This gives the same numbers twice if the server
computes nothing else at the same time (`concurrency: 1`).
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from agon.models.base import Answer, CallFailed

Post = Callable[[str, dict[str, Any]], Awaitable[Any]]
"""Sends JSON to an address of the server, and returns the JSON of the answer."""

FORCED = 1000.0
"""A bias that makes a token certain. The server reports the probability without the bias."""


async def weigh(post: Post, messages: Sequence[Mapping[str, str]], options: Sequence[str]) -> Answer:
    """For every option, the log-probability that the model answers with it and then ends, at temperature 1.

    Raises CallFailed if the server has no such addresses, or if its chat template changes answers.
    """
    try:
        prompt = await _prompt(post, messages)
        beginning = await _tokens(post, prompt)
        answers = [await _tokens(post, prompt + option) for option in options]
        [end, *_] = await _tokens(post, await _text_after(post, messages, prompt, options[0]), first=False)
        if any(tokens[: len(beginning)] != beginning for tokens in answers):
            raise CallFailed(
                "settings", "the tokens of the conversation change with the answer: it cannot be weighed", "stop"
            )
        paths = [(*tokens[len(beginning) :], end) for tokens in answers]
        await post("/completion", {"prompt": beginning[:-1], "n_predict": 0, "cache_prompt": False})
        logprobs = dict[tuple[int, ...], float]()
        prefixes = {path[:length] for path in paths for length in range(1, len(path) + 1)}
        for prefix in sorted(prefixes, key=_tree_order):
            logprobs[prefix] = await _logprob(post, [*beginning, *prefix[:-1]], prefix[-1])
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise CallFailed(
            "no answer", f"the server does not answer as llama.cpp's does: {type(error).__name__}"
        ) from None
    weights = [sum(logprobs[path[:length]] for length in range(1, len(path) + 1)) for path in paths]
    return Answer("", tokens_in=len(beginning), tokens_out=len(logprobs), stop="weighed", weights=tuple(weights))


def _tree_order(path: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    """A sort key.

    Prefixes of a common beginning follow each other, as in a walk through a tree, so the cache helps the next call.
    """
    return path[:-1], path[-1]


async def _prompt(post: Post, messages: Sequence[Mapping[str, str]]) -> str:
    prompt = (await post("/apply-template", {"messages": list(messages)}))["prompt"]
    if not isinstance(prompt, str):
        raise TypeError
    return prompt


async def _text_after(post: Post, messages: Sequence[Mapping[str, str]], prompt: str, option: str) -> str:
    """The text that the template puts after an answer. Its first token ends the answer."""
    more = ({"role": "assistant", "content": option}, {"role": "user", "content": "?"})
    whole = await _prompt(post, [*messages, *more])
    if not whole.startswith(prompt + option):
        raise CallFailed("settings", "the model's chat template changes answers: they cannot be weighed", "stop")
    return whole[len(prompt + option) :]


async def _tokens(post: Post, text: str, first: bool = True) -> list[int]:
    """The tokens of a text.

    `first`: it is the start of the prompt, so the tokens that the model wants there come before it.
    """
    body = {"content": text, "add_special": first, "parse_special": True}
    return [int(token) for token in (await post("/tokenize", body))["tokens"]]


async def _logprob(post: Post, before: Sequence[int], token: int) -> float:
    body = {"prompt": before, "n_predict": 1, "n_probs": 1, "temperature": 0, "logit_bias": [[token, FORCED]]}
    [result] = (await post("/completion", body | {"cache_prompt": True}))["completion_probabilities"]
    if result["id"] != token:
        raise ValueError
    return float(result["logprob"])
