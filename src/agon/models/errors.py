"""The meaning of a failed call (try again, give up this conversation, stop the run), in a line without secrets."""

import json
import math
import os
import re
import socket
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal
from urllib.parse import quote

from agon.errors import visible
from agon.models.base import CallFailed, TooLong

LONGEST = 300
"""The most letters of a printed line."""
READ = 10_000
"""The most letters of a text that are looked at."""
PIECE = 8
"""If this many letters of a key follow each other, they are hidden, even if the rest of the key is missing."""
SHORTEST = 16
"""Shorter keys are not looked for in answers: for a server without keys a word such as EMPTY serves as the key."""
NEVER_SENT = ConnectionRefusedError, socket.gaierror
"""Failures of a connection before any request was sent."""
PASSING = {408, 409, 424, 425, 429}
"""Statuses below 500 after which the same call may succeed later."""

NO_MONEY = re.compile(r"insufficient[_ ](quota|balance|credit|funds)|billing_(hard|not|error)|credit balance", re.I)
REFUSED = re.compile(
    r"content[_ ](policy|filter|management)|content filtering|usage (policy|guidelines)|flagged|invalid_prompt|content exists risk"
    r"|data_inspection_failed",
    re.I,
)
TOO_LONG = re.compile(
    r"context[_ -](length|window|size|limit)|(prompt|input) is too long|too many (input )?tokens|request_too_large"
    r"|range of input length|input token count .*exceeds",
    re.I,
)
RETRY_DELAY = re.compile(r'"retryDelay":\s*"(\d{1,6}(?:\.\d{1,9})?)s"')
"""The seconds that Google asks to wait, in the body of an error."""
SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD")
SECRET = re.compile(r"\b(sk|pk|rk|gsk|hf|xai|tgp)[-_][\w*.-]{4,}|(?<=bearer )\S+|(?<=x-api-key: )\S+", re.I)


def broken_answer(stop: str) -> CallFailed:
    """The failure of an incomplete answer. `stop`: the provider's word for it."""
    return CallFailed("broken off", one_line(f"the answer broke off: the provider calls its end {stop}"))


def failure(error: Exception, key: str | None = None) -> CallFailed:
    """An error of a call as CallFailed. `key`: name of the environment variable whose value must stay hidden."""
    response: Any = getattr(error, "response", None)
    if hasattr(response, "status_code"):
        return refusal(response.status_code, response.headers, response.content.decode("utf-8", "replace"), key)
    causes = list(_causes(error))
    if any(isinstance(cause, TimeoutError) for cause in causes):
        return CallFailed("timeout", "no answer within the time limit")
    if any(type(cause).__name__ == "TooLarge" for cause in causes):  # agon.models.http takes long to import
        return CallFailed("too large", str(causes[-1]))
    if re.search("Connection|Timeout", type(error).__name__):  # OpenAI's SDK calls a dropped connection a time-out
        kind = "no connection" if any(isinstance(cause, NEVER_SENT) for cause in causes) else "connection"
        return CallFailed(kind, one_line(f"the connection failed: {causes[-1]}", key))
    return CallFailed(type(error).__name__, one_line(f"{type(error).__name__}: {error}", key), "stop")


def refusal(status: int, headers: Mapping[str, str], body: str, key: str | None = None) -> CallFailed:
    """The meaning of an HTTP status other than success."""
    text = error_text(body)
    if 300 <= status < 400:
        text = f"it redirects: use that address as base_url ({headers.get('location') or text})"
    then: Literal["retry", "void", "stop"] = "stop"
    long = status == 413 or (status in (400, 403, 422) and TOO_LONG.search(text))
    if long or (status in (400, 403, 422) and REFUSED.search(text)):
        then = "void"
    elif (status in PASSING or status >= 500 or status < 300) and not NO_MONEY.search(text):
        then = "retry"
    after = None
    if then == "retry":
        after = seconds_to_wait(headers)
        if after is None and (delay := RETRY_DELAY.search(body[:READ])):
            after = float(delay[1])
    advice = _advice(status, key) if then == "stop" else ""
    return (TooLong if long else CallFailed)(
        str(status), one_line(f"{advice}status {status}: {text}", key), then, after
    )


def _advice(status: int, key: str | None) -> str:
    """What is wrong with a call that the provider refuses for its key or its model. Empty for other statuses."""
    advice = {
        401: f"the provider refuses the key in {key}: check it, or make a new one"
        if key
        else "the provider wants a key: name its environment variable as `key` in the model's file",
        403: f"the provider does not let {f'the key in {key}' if key else 'you'} use this model: ask it for access",
        404: "the provider does not know the model, or the address: correct `model` or `base_url` in the model's file",
    }
    return f"{advice[status]}; nothing is paid for a refused call; " if status in advice else ""


def seconds_to_wait(headers: Mapping[str, str]) -> float | None:
    """The seconds that the header retry-after asks for, in milliseconds, seconds or as a date.

    None: it has no such value.
    """
    after = headers.get("retry-after", "")
    for text, unit in ((headers.get("retry-after-ms", ""), 1000), (after, 1)):
        try:
            seconds = float(text) / unit
        except ValueError:
            continue
        if math.isfinite(seconds) and seconds >= 0:
            return seconds
    try:
        date = parsedate_to_datetime(after)
        return max(0.0, (date.replace(tzinfo=date.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
    except (ArithmeticError, LookupError, TypeError, ValueError):  # a year or an hour may have any number of digits
        return None


def error_text(body: str) -> str:
    """The message in the body of an error, in any provider's form. If the body is long or no JSON: its beginning."""
    if len(body) > READ:
        return body[:READ]
    try:
        content = json.loads(body)
        if isinstance(content, list) and content and isinstance(content[0], dict):  # Google's form
            content = content[0]
        error = (content.get("error") or content) if isinstance(content, dict) else content
        if not isinstance(error, dict):
            return str(error)
        parts = [str(error[name]) for name in ("type", "code", "message", "Message", "detail") if error.get(name)]
        return ": ".join(dict.fromkeys(parts)) or str(content)
    except (RecursionError, ValueError):
        return body


def one_line(text: str, key: str | None = None) -> str:
    """The text as one line of at most 300 characters, without control characters and without possible secrets."""
    secrets = {value for name, value in os.environ.items() if len(value) > 7 and SECRET_NAME.search(name)}
    if key and (value := os.environ.get(key, "").strip()):
        secrets.add(value)
    cut = text[:READ]
    for value in sorted(secrets, key=len, reverse=True):
        for spelling in (value, quote(value, safe="")):
            cut = cut.replace(spelling, "[hidden]")
    if len(text) > READ:  # a secret at the end may be cut in two
        cut = cut[: -max(LONGEST, *map(len, secrets), 0)]
    line = hide_pieces(" ".join(cut.split())[: 3 * LONGEST], key)
    line = visible(SECRET.sub("[hidden]", line))
    return line if len(line) <= LONGEST and len(text) <= READ else line[: LONGEST - 3] + "..."


def hide_pieces(text: str, key: str | None) -> str:
    """The text without the value of the environment variable `key` and without pieces of it, also if white space divides them.

    A value that is encoded, or that other signs divide, is not recognized.
    """
    value = os.environ.get(key or "", "").strip()
    if len(value) < SHORTEST:
        return text
    letters = "".join(text.split())
    half = PIECE // 2  # any piece holds one of these halves, so that few are looked for in usual texts
    if not any(value[start : start + half] in letters for start in range(0, len(value) - half + 1, half + 1)):
        return text
    starts = set[int]()
    for piece in {value[start : start + PIECE] for start in range(len(value) - PIECE + 1)}:
        start = letters.find(piece)
        while start >= 0:
            starts.add(start)
            start = letters.find(piece, start + 1)
    if not starts:
        return text
    places = [place for place, letter in enumerate(text) if not letter.isspace()]
    parts, end = list[str](), 0
    for start in sorted(starts):
        if not parts or places[start] > end:
            parts += [text[end : places[start]], "[hidden]"]
        end = places[start + PIECE - 1] + 1
    return "".join(parts) + text[end:]


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__
