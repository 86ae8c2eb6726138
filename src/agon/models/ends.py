"""Why an answer ended, in one word for all providers: whether it is whole."""

from typing import Literal, get_args

Ended = Literal["stop", "length", "filter", "error", "unknown"]
"""stop: the model ended it, also by the call of a tool; length: it was cut off at a limit (max_tokens, the context); filter: the
provider held back some of it, or refused; error: it failed; unknown: nobody says, as in recordings made before this was kept."""
ENDS: tuple[Ended, ...] = get_args(Ended)
CUT: dict[Ended, str] = {"length": "cut off at the limit of tokens", "filter": "held back or refused by the provider"}
"""Ends with which an answer is not whole, in words."""

_STOPS = "stop end_turn stop_sequence tool_use tool_calls function_call completed complete eos eos_token end weighed"
_PARTS: dict[Ended, str] = {
    "filter": "filter refus safety recitation blocklist blocked prohibited sensitive spii guardrail toxic language",
    "error": "error fail abort cancel malformed unexpected timeout timed_out insufficient no_image other",
    "stop": "stop eos",
    "length": "length max limit window pause incomplete token repetition too_many",
}
"""Parts of providers' words, in the order in which they are looked for: providers spell one reason in many ways."""


def ended_of(word: str) -> Ended:
    """What a provider's word for why an answer ended means; unknown where it has no known part."""
    plain = word.strip().lower().replace(" ", "_")
    if plain in _STOPS.split():
        return "stop"
    return next((end for end, parts in _PARTS.items() if any(part in plain for part in parts.split())), "unknown")
