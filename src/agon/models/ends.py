"""Why an answer ended, in one word for all providers: whether it is whole."""

from typing import Literal, get_args

Ended = Literal["stop", "length", "filter", "error", "unknown"]
"""stop: the model ended it, also by the call of a tool; length: it was cut off at a limit (max_tokens, the context); filter: the
provider held back some of it, or refused; error: it failed; unknown: nobody says, as in recordings made before this was kept."""
ENDS: tuple[Ended, ...] = get_args(Ended)
CUT: dict[Ended, str] = {"length": "cut off at the limit of tokens", "filter": "held back or refused by the provider"}
"""Ends with which an answer is not whole, in words."""

_WORDS: dict[Ended, str] = {
    "stop": "stop end_turn stop_sequence tool_use tool_calls function_call completed complete eos eos_token end weighed",
    "length": "length max_tokens max_output_tokens model_length model_context_window_exceeded pause_turn incomplete",
    "filter": "content_filter content_filtered guardrail_intervened refusal safety recitation blocklist prohibited_content spii "
    "image_safety error_toxic",
    "error": "error abort aborted cancelled failed insufficient_system_resource malformed_function_call malformed_model_output "
    "malformed_tool_use unexpected_tool_call error_limit network_error",
}
_END: dict[str, Ended] = {word: end for end, words in _WORDS.items() for word in words.split()}


def ended_of(word: str) -> Ended:
    """What a provider's word for why an answer ended means; unknown for a word that nobody has met."""
    return _END.get(word.lower(), "unknown")
