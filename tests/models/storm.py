"""A provider that fails in every way: bytes on a socket, a few hundred kinds of them. Its own process: python storm.py.

`KINDS` says of each kind what is sent, and what must come of it. What happens to a request is a hash of its body and how
often that body has come. The server counts what it truly charges: the tokens of every answer that it has made, arrived or not.
"""

import asyncio
import gzip
import json
import struct
import sys
import zlib
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from random import Random
from socket import SO_LINGER, SOL_SOCKET
from typing import Any

PRICE = {"input": 1.0, "cached": 0.1, "written": 1.25, "output": 4.0}
"""What it charges, in USD per million tokens."""
LIMIT = 2.5
"""Seconds that callers should wait for an answer; slow kinds take longer."""
TOLD = "ESC \x1b[31m BEL \a NUL \0 CSI \x9b BIDI \u202e END"
"""What some errors say: nothing of it may reach a terminal."""
Send = Callable[["Asked"], Awaitable[None]]


@dataclass(frozen=True)
class Kind:
    """One way to answer a request."""

    send: Send
    comes: str
    """What must come of it: answer, most (an answer whose cost is not believed), retry, void, stop, or any."""
    charged: bool
    """Whether the model has answered, which costs money."""


@dataclass
class Asked:
    """A request, and the way back."""

    body: dict[str, Any]
    key: str
    claude: bool
    writer: asyncio.StreamWriter
    over: bool = False
    """Whether the connection ends here."""

    @property
    def said(self) -> str:
        """The answer: as long as it may be, or a bit shorter."""
        most = next(self.body[name] for name in ("max_tokens", "max_completion_tokens") if name in self.body)
        return ("so it is " * most)[: 4 * most]

    @property
    def tokens(self) -> tuple[int, int]:
        """Truly sent and received."""
        texts = [text_of(message["content"]) for message in self.body["messages"]] + [
            text_of(self.body.get("system", ""))
        ]
        return sum(map(len, texts)) // 4 + 1, len(self.said) // 4

    def good(self, usage: Any = ..., text: Any = ..., **more: Any) -> dict[str, Any]:
        """A whole answer."""
        sent, received = self.tokens
        text = self.said if text is ... else text
        if self.claude:
            told = {"input_tokens": sent, "output_tokens": received} if usage is ... else usage
            return {
                "id": "msg",
                "content": [{"type": "text", "text": text}],
                "stop_reason": "end_turn",
                "usage": told,
            } | more
        told = {"prompt_tokens": sent, "completion_tokens": received, "total_tokens": sent + received}
        told["prompt_tokens_details"] = {"cached_tokens": 0, "cache_write_tokens": 0}
        choice = {"message": {"content": text}, "finish_reason": "stop"}
        return {"id": "chat", "choices": [choice], "usage": told if usage is ... else usage} | more

    def usage(self, **changed: Any) -> dict[str, Any]:
        """A good answer's usage, with parts changed (... is left out); sent and received are the protocol's own names."""
        told = dict(self.good()["usage"])
        names = {"sent": ("prompt_tokens", "input_tokens"), "received": ("completion_tokens", "output_tokens")}
        for name, value in changed.items():
            if isinstance(value, str) and value.startswith("x"):
                value = int(float(value[1:]) * self.tokens[name != "sent"])
            told[names.get(name, (name, name))[self.claude]] = value
            if name in names:
                told.pop("total_tokens", None)
        return {name: value for name, value in told.items() if value is not ...}

    async def write(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    def reset(self) -> None:
        """Ends the connection rudely."""
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()
        self.over = True


def text_of(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def http(body: bytes, *headers: str, status: str = "200 OK", kind: str | None = "application/json") -> bytes:
    """A response, of the content type `kind`."""
    lines = [
        f"HTTP/1.1 {status}",
        *([f"Content-Type: {kind}"] if kind else []),
        *headers,
        f"Content-Length: {len(body)}",
    ]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def chunked(pieces: list[bytes], extension: bytes = b"", trailer: bytes = b"") -> bytes:
    parts = b"".join(b"%x%s\r\n%s\r\n" % (len(piece), extension, piece) for piece in pieces)
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + parts + b"0\r\n" + trailer + b"\r\n"


def sends(made: Callable[[Asked], bytes], ends: bool = False) -> Send:
    """Sends what is made of a request at once; `ends`: and then the connection ends."""

    async def send(asked: Asked) -> None:
        asked.over = ends
        await asked.write(made(asked))

    return send


def dumped(asked: Asked, **more: Any) -> bytes:
    return json.dumps(asked.good(**more)).encode()


def answers() -> Iterator[tuple[str, Callable[[Asked], bytes], bool]]:
    """Good answers, oddly dressed."""
    yield "plain good", lambda asked: http(dumped(asked)), False
    for kind in ("text/plain", None, "text/html", "application/octet-stream", "application/problem+json", "///;;=", "image/png",
                 "application/json; charset=latin-1", "application/json; charset=none-such", "text/plain; charset=rot13",
                 "text/plain; charset=zlib", "text/event-stream", "multipart/form-data", "APPLICATION/JSON", "json"):  # fmt: skip
        yield f"as {kind}", lambda asked, kind=kind: http(dumped(asked), kind=kind), False
    for status in (
        "201 Created",
        "202 Accepted",
        "203 Whatever",
        "206 Partial Content",
        "299 Odd",
        "200",
    ):
        yield f"with {status!r}", lambda asked, status=status: http(dumped(asked), status=status), False
    packed: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "deflate": zlib.compress, "identity": bytes}
    packed |= {"GZIP": gzip.compress, "gzip, gzip": lambda data: gzip.compress(gzip.compress(data)), "none-such": bytes}
    packed |= {"deflate ": lambda data: zlib.compress(data)[2:-4], "": bytes}
    for name, pack in packed.items():
        yield f"packed {name!r}", lambda asked, n=name, p=pack: http(p(dumped(asked)), f"Content-Encoding: {n}"), False
    yield "chunked", lambda asked: chunked([dumped(asked)]), False
    yield "in chunks of a byte", lambda asked: chunked([bytes([each]) for each in dumped(asked)]), False
    yield "chunk extension", lambda asked: chunked([dumped(asked)], b";a=b"), False
    yield "trailer", lambda asked: chunked([dumped(asked)], b"", b"X-Sum: 1\r\n"), False
    yield "to the end", lambda asked: b"HTTP/1.1 200 OK\r\n\r\n" + dumped(asked), True
    yield "HTTP/1.0", lambda asked: http(dumped(asked)).replace(b"1.1", b"1.0", 1), True
    yield "asked to close", lambda asked: http(dumped(asked), "Connection: close"), True
    yield "continue first", lambda asked: b"HTTP/1.1 100 Continue\r\n\r\n" + http(dumped(asked)), False
    yield "hints first", lambda asked: b"HTTP/1.1 103 Early\r\nLink: <a>\r\n\r\n" + http(dumped(asked)), False
    yield "many headers", lambda asked: http(dumped(asked), *(f"X-{n}: {n}" for n in range(100))), False
    yield "long header", lambda asked: http(dumped(asked), "X: " + "x" * 7000), False
    yield "cookie", lambda asked: http(dumped(asked), "Set-Cookie: a=b", "Set-Cookie: c=d"), False
    yield "BOM", lambda asked: http(b"\xef\xbb\xbf" + dumped(asked)), False
    yield "white space", lambda asked: http(b" \n\t" * 999 + dumped(asked) + b"\n" * 999), False
    yield "UTF-16", lambda asked: http(json.dumps(asked.good()).encode("utf-16")), False
    yield "UTF-32", lambda asked: http(json.dumps(asked.good()).encode("utf-32")), False
    yield "Latin-1", lambda asked: http(dumped(asked, id="@").replace(b"@", b"\xe9")), False
    yield "half a letter", lambda asked: http(dumped(asked, id="@").replace(b"@", b"\xf0\x9f\xa6")), False
    yield "surrogate", lambda asked: http(dumped(asked, id="\ud83e")), False
    yield "NUL inside", lambda asked: http(dumped(asked, id="\0\x1b[31m")), False
    for name, text in {"NaN": "NaN", "Infinity": "-Infinity", "large number": "9" * 4000, "exponent": "1e999999",
                       "lists": "[" * 90 + "]" * 90, "names twice": '1,"extra":2', "emoji": '"\U0001f98c"'}.items():  # fmt: skip
        yield f"{name} beside", lambda a, t=text: http(dumped(a, extra="@").replace(b'"@"', t.encode())), False
    for value in (None, 7, [], {}, True, "x" * 10_000):
        yield f"id {str(value)[:9]}", lambda asked, value=value: http(dumped(asked, id=value)), False


USAGES: dict[str, dict[str, Any]] = {
    f"{name} {value!r}": {name: value}
    for name in ("sent", "received")
    for value in (..., None, -1, -1e30, "many", "", float("nan"), float("inf"), 1e30, 10**30, [], [5], {}, 0, 0.0, "x0.02", "-5")
} | {
    "nothing": {"sent": ..., "received": ...},
    "all null": {"sent": None, "received": None},
    "all 0": {"sent": 0, "received": 0},
    "all negative": {"sent": -5, "received": -5},
}  # fmt: skip
HONEST = {"as text": {"sent": "x1"}, "more than sent": {"sent": "x1.2"}, "true total": {"total_tokens": None}}
CLAUDE = [{"cache_read_input_tokens": 5}, {"cache_creation_input_tokens": "many"}, {"cache_read_input_tokens": -5}]
GPT = [
    {"total_tokens": -5},
    {"total_tokens": "x-1"},
    {"prompt_tokens_details": None},
    {"prompt_tokens_details": {"cached_tokens": 10**8}},
]

SHAPES: dict[str, Any] = {
    name: name.encode()
    for name in ("", " ", "null", "[]", "{}", "3", '"text"', "true", "[1, 2]", "{", "<html>", "NaN", "nul", "\x00", "\xff", "{}{}",
                 '{"a": 1} trailing', "'single'", "{a: 1}", "data: {}\n\n", '{"error": "busy"}', '{"error": null}',
                 '{"error": {"message": "upstream failed", "type": "server_error"}}', '{"error": {"message": {"a": {"b": 1}}}}',
                 '{"error": [[[1]]]}', '{"choices": null}', '{"choices": []}', '{"choices": {}}', '{"choices": [null]}',
                 '{"choices": [{}]}', '{"choices": [{"message": null}]}', '{"choices": "text", "content": "text"}',
                 '{"choices": [{"message": {"content": 3}}], "content": 3}', '{"choices": [{"message": {}}], "content": [{}]}',
                 '{"choices": [{"message": {"content": [3]}}], "content": [3]}',
                 '{"choices": [{"message": {"content": {"a": 1}}}], "content": {"a": 1}}',
                 '{"choices": [{"message": [1]}], "content": [{"type": "text"}]}',
                 '{"choices": [{"message": {"content": [{"type": "text", "text": null}]}}], "content": [{"type": "text", "text": null}]}')
} | {
    "deep lists": b"[" * 100_000, "deep objects": b'{"a":' * 100_000, "deep and whole": b"[" * 900 + b"]" * 900,
    "closed deep": b"[" * 100_000 + b"]" * 100_000, "deep error": b'{"error":' * 5000 + b"1" + b"}" * 5000,
    "digits": b"9" * 5000, "many digits": b"[" + b",".join([b"9" * 4000] * 500) + b"]", "many lists": b"[" + b"[]," * 1_300_000 + b"[]]",
    "many names": b"{" + b",".join(b'"%d":1' % n for n in range(300_000)) + b"}", "many letters": b'"' + b"x" * 3_900_000 + b'"',
    "10 MB": b'{"a":"' + b"x" * 10**7 + b'"}', "50 MB": b'{"a":"' + b"x y " * 12_500_000 + b'"}', "spaces": b" " * 3_900_000,
    "bomb": gzip.compress(b" " * 20_000_000, 1), "bomb in bomb": gzip.compress(gzip.compress(b"[" * 20_000_000, 1), 1),
}  # fmt: skip

STATUSES = {
    **dict.fromkeys((300, 301, 302, 303, 304, 305, 307, 308, 399), "stop"),
    **dict.fromkeys((401, 402, 404, 405, 406, 410, 411, 412, 414, 415, 416, 417, 418, 421, 423, 426, 428, 431, 451, 499), "stop"),
    **dict.fromkeys((400, 403, 422), "stop"),
    **dict.fromkeys((408, 409, 424, 425, 429), "retry"),
    413: "void",
    **dict.fromkeys((*range(500, 509), 510, 511, *range(520, 526), 527, 529, 530, 598, 599), "retry"),
    **dict.fromkeys((204, 205), "retry"),
    **dict.fromkeys((600, 999), "retry"),
}  # fmt: skip
ERRORS: dict[str, Callable[[Asked], bytes]] = {
    "empty": lambda asked: b"",
    "the key": lambda asked: f"Incorrect API key provided: {asked.key}. Bearer {asked.key}".encode(),
    "half the key": lambda asked: json.dumps({"error": {"message": f"wrong key {asked.key[: len(asked.key) * 2 // 3]}..."}}).encode(),
    "the key in lines": lambda asked: ("\n".join(["x" * 290, *[asked.key] * 3]) * 40).encode(),
    "controls": lambda asked: json.dumps({"error": {"message": TOLD}}).encode(),
    "raw controls": lambda asked: TOLD.encode(),
    "html": lambda asked: b"<!DOCTYPE html><h1>502 Bad Gateway</h1>" * 300,
    "deep": lambda asked: b"[" * 100_000,
    "shallow": lambda asked: b"[" * 9_000,
    "10 MB": lambda asked: b" " * 5_000_000 + b"x" * 5_000_000,
    "nulls": lambda asked: b'{"error": {"type": null, "code": 0, "message": null}}',
    "lists": lambda asked: b'{"error": {"type": ["a"], "code": {"b": 1}, "message": [[["c"]]]}}',
    "number": lambda asked: b"42",
    "UTF-16": lambda asked: json.dumps({"error": "no"}).encode("utf-16"),
    "binary": lambda asked: bytes(range(256)) * 9,
    "surrogate": lambda asked: b'{"error": "\\ud83e"}',
}  # fmt: skip

NOTHING_TO_WAIT = (
    *(
        "-1",
        "nan",
        "inf",
        "-inf",
        "1e999",
        "abc",
        "",
        " ",
        "0x1",
        "\xb2",
        "1,5",
        "[]",
        "0",
        "0.01",
        "0.02",
        "1 2",
        "Mon,",
        ",,,,",
    ),
    *(
        "Wed, 21 Oct 2015 07:28:00 GMT",
        "Mon, 01 Jan 2024 99999999999:00:00 GMT",
        "Mon, 99 Jan 2024 00:00:00 GMT",
        "00:00:00",
    ),
    *(
        "Mon, 01 Jan 99999999999 00:00:00 GMT",
        "Mon, 01 Jan 2024 00:00:00 +99999999999",
        "Mon, 01 Jan 0000 00:00:00 GMT",
    ),
    *(
        "Mon, 01 Jan 0001 00:00:00 +2359",
        "2015-10-21T07:28:00Z",
        "Mon, 01 Jan 2024 00:00:99999999999 GMT",
        "1" * 400,
        "9" * 5000,
    ),
)
"""What Retry-After may say without meaning a time that is worth waiting; a number of so many digits is none."""


async def nothing(asked: Asked) -> None:
    """No answer, until the other side gives up."""
    asked.over = True
    await asyncio.sleep(10 * LIMIT)


def slowly(made: Callable[[Asked], bytes], at: int = 0, pause: float = LIMIT / 40) -> Send:
    """A byte at a time, after the first `at` bytes."""

    async def send(asked: Asked) -> None:
        asked.over, data = True, made(asked)
        await asked.write(data[:at])
        for place in range(at, len(data)):
            await asked.write(data[place : place + 1])
            await asyncio.sleep(pause)

    return send


def for_ever(first: bytes, again: bytes) -> Send:
    """Without an end."""

    async def send(asked: Asked) -> None:
        asked.over = True
        await asked.write(first)
        for _ in range(20_000):
            await asked.write(again)

    return send


def cut(made: Callable[[Asked], bytes], share: float, rudely: bool = False) -> Send:
    """A part of it, and the connection ends."""

    async def send(asked: Asked) -> None:
        asked.over, data = True, made(asked)
        await asked.write(data[: int(len(data) * share)])
        if rudely:
            asked.reset()

    return send


async def late(asked: Asked) -> None:
    await asyncio.sleep(LIMIT / 10)
    await asked.write(http(dumped(asked)))


def framing() -> Iterator[tuple[str, Send, str]]:
    """HTTP that is broken, late, or without an end."""
    good: Callable[[Asked], bytes] = lambda asked: http(dumped(asked))  # noqa: E731
    yield "silence", nothing, "retry"
    yield "late", late, "answer"
    yield "drip", slowly(good), "retry"
    yield "drip of the body", slowly(good, 90), "retry"
    yield "drip of an error", slowly(lambda asked: http(b"x" * 999, status="500 no"), 60), "retry"
    for share in (0, 0.02, 0.2, 0.5, 0.95):
        yield f"cut at {share:.0%}", cut(good, share), "retry"
        yield f"reset at {share:.0%}", cut(good, share, True), "retry"
        yield f"chunks cut at {share:.0%}", cut(lambda asked: chunked([dumped(asked)] * 3), share), "retry"
    broken: dict[str, Callable[[Asked], bytes]] = {
        "a bare answer": dumped,
        "bare HTML": lambda asked: b"<html></html>\r\n\r\n",
        "TLS": lambda asked: b"\x15\x03\x01\x00\x02\x02\x16",
        "SSH": lambda asked: b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
        "no status": lambda asked: http(dumped(asked), status="abc OK"),
        "status 0": lambda asked: http(dumped(asked), status="000 OK"),
        "status -1": lambda asked: http(dumped(asked), status="-1 OK"),
        "status 20": lambda asked: http(dumped(asked), status="20 OK"),
        "status 2000": lambda asked: http(dumped(asked), status="2000 OK"),
        "HTTP/9.9": lambda asked: good(asked).replace(b"HTTP/1.1", b"HTTP/9.9"),
        "HTTP/x": lambda asked: good(asked).replace(b"HTTP/1.1", b"HTTP/x"),
        "ICY": lambda asked: good(asked).replace(b"HTTP/1.1", b"ICY"),
        "no colon": lambda asked: http(dumped(asked), "nocolon"),
        "colon first": lambda asked: http(dumped(asked), ": x"),
        "space in a name": lambda asked: http(dumped(asked), "a b: x"),
        "NUL in a header": lambda asked: http(dumped(asked), "a: \0"),
        "control in a header": lambda asked: http(dumped(asked), "a: \x1b[31m"),
        "folded": lambda asked: http(dumped(asked), "a: b\r\n c"),
        "header of 100 kB": lambda asked: http(dumped(asked), "X: " + "x" * 100_000),
        "10,000 headers": lambda asked: http(dumped(asked), *(f"X-{n}: {n}" for n in range(10_000))),
        "two lengths": lambda asked: http(dumped(asked), "Content-Length: 5"),
        "length and chunks": lambda asked: http(dumped(asked), "Transfer-Encoding: chunked"),
        "length -1": lambda asked: good(asked).replace(b"Content-Length: ", b"Content-Length: -"),
        "length abc": lambda asked: good(asked).replace(b"Content-Length: ", b"Content-Length: abc"),
        "length 1e30": lambda asked: good(asked).replace(b"Content-Length: ", b"Content-Length: 9" + b"0" * 30),
        "too long": lambda asked: good(asked).replace(b"Content-Length: ", b"Content-Length: 9"),
        "too short": lambda asked: b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n" + dumped(asked),
        "chunk ZZ": lambda asked: chunked([dumped(asked)]).replace(b"\r\n\r\n", b"\r\n\r\nZZ\r\n", 1),
        "chunk -5": lambda asked: chunked([dumped(asked)]).replace(b"\r\n\r\n", b"\r\n\r\n-5\r\n", 1),
        "chunk of 2^70": lambda asked: chunked([dumped(asked)]).replace(b"\r\n\r\n", b"\r\n\r\n4" + b"0" * 17 + b"\r\n", 1),
        "unknown transfer": lambda asked: http(dumped(asked), "Transfer-Encoding: snow"),
        "not gzip": lambda asked: http(dumped(asked), "Content-Encoding: gzip"),
        "not deflate": lambda asked: http(dumped(asked), "Content-Encoding: deflate"),
        "half gzip": lambda asked: http(gzip.compress(dumped(asked))[:40], "Content-Encoding: gzip"),
        "gzip of gzip": lambda asked: http(gzip.compress(gzip.compress(dumped(asked))), "Content-Encoding: gzip"),
        "ten times packed": lambda asked: http(dumped(asked), "Content-Encoding: " + ", ".join(["gzip"] * 10)),
        "not zstd": lambda asked: http(dumped(asked), "Content-Encoding: zstd"),
        "not br": lambda asked: http(dumped(asked), "Content-Encoding: br"),
        "switch": lambda asked: b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n",
        "only continue": lambda asked: b"HTTP/1.1 100 Continue\r\n\r\n" * 3,
        "two answers": lambda asked: good(asked) * 2,
        "an answer and more": lambda asked: good(asked) + b"more",
        "LF alone": lambda asked: good(asked).replace(b"\r\n", b"\n"),
        "event stream": lambda asked: http(b"data: " + dumped(asked) + b"\n\ndata: [DONE]\n\n", kind="text/event-stream"),
        "lines": lambda asked: http(dumped(asked) + b"\n" + dumped(asked), kind="application/x-ndjson"),
    }  # fmt: skip
    used = {
        "control in a header",
        "folded",
        "two answers",
        "an answer and more",
        "LF alone",
        "not br",
        "HTTP/9.9",
        "unknown transfer",
    }
    used |= {
        "status 000",
        "status 2000",
        "10,000 headers",
        "not zstd",
        "length and chunks",
        "NUL in a header",
        "two lengths",
        "switch",
    }
    for name, made in broken.items():
        yield name, sends(made, ends=True), "any" if name in used else "retry"
    endless = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    yield "endless chunks", for_ever(endless, b"ffff\r\n" + b" " * 65535 + b"\r\n"), "retry"
    yield "endless body", for_ever(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 65536), "retry"
    yield "endless error", for_ever(b"HTTP/1.1 500 no\r\n\r\n", b"x" * 65536), "retry"
    yield "endless header", for_ever(b"HTTP/1.1 200 OK\r\nX: ", b"x" * 1000), "retry"
    yield "endless headers", for_ever(b"HTTP/1.1 200 OK\r\n", b"X: x\r\n"), "retry"
    yield "endless continue", for_ever(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), "retry"


def _kinds() -> Iterator[tuple[str, Kind]]:
    for name, made, ends in answers():
        yield f"answer: {name}", Kind(sends(made, ends), "answer", True)
    for name, changed in USAGES.items():
        yield f"usage: {name}", Kind(sends(lambda a, c=changed: http(dumped(a, usage=a.usage(**c)))), "most", True)
    for name, changed in HONEST.items():
        yield f"usage: {name}", Kind(sends(lambda a, c=changed: http(dumped(a, usage=a.usage(**c)))), "any", True)
    for number, (gpt, claude) in enumerate(zip(GPT, [*CLAUDE, {"sent": None}], strict=True)):
        made = lambda a, both=(gpt, claude): http(dumped(a, usage=a.usage(**both[a.claude])))  # noqa: E731
        yield f"usage: contradiction {number}", Kind(sends(made), "most", True)
    for value in (None, [], "many", 5, True, {}):
        yield f"usage: {value!r}", Kind(sends(lambda asked, v=value: http(dumped(asked, usage=v))), "most", True)
    for name, body in SHAPES.items():
        packed = ["Content-Encoding: " + ", ".join(["gzip"] * (1 + name.count("in")))] if "bomb" in name else []
        yield (
            f"shape: {name}",
            Kind(sends(lambda asked, b=body, p=packed: http(b, *p), len(body) > 10**6), "retry", True),
        )
    for status, comes in STATUSES.items():
        body = b"" if status in (204, 205, 304) else b'{"error": {"message": "no", "type": "t", "code": "c"}}'
        yield (
            f"status {status}",
            Kind(sends(lambda a, b=body, s=status: http(b, status=f"{s} No")), comes, status < 300),
        )
    for where in ("http://127.0.0.1:9/", "/v1/elsewhere", "//", "javascript:1", "\x1b[31m", "http://[", "x" * 5000):
        yield (
            f"elsewhere {where[:20]!r}",
            Kind(sends(lambda a, w=where: http(b"", f"Location: {w}", status="307 Go")), "stop", False),
        )
    for name, made in ERRORS.items():
        for status, comes in ((400, "stop"), (429, "retry"), (500, "retry")):
            send = sends(lambda a, m=made, s=status: http(m(a), status=f"{s} No"), ends=name == "10 MB")
            yield f"{status} {name}", Kind(send, comes, False)
    for kind in (
        "text/plain; charset=rot13",
        "text/html; charset=zlib",
        "application/json; charset=utf-16",
        "a/b; charset=\xff",
    ):
        yield (
            f"500 as {kind!r}",
            Kind(sends(lambda a, k=kind: http(b'{"error": "x"}', status="500 No", kind=k)), "retry", False),
        )
    for packed in ("gzip", "br", "gzip, gzip, gzip, gzip, gzip, gzip"):
        send = sends(lambda asked, p=packed: http(SHAPES["bomb"], f"Content-Encoding: {p}", status="500 No"), ends=True)
        yield f"500 packed {packed}", Kind(send, "retry", False)
    for text in ("content_policy", "maximum context length is 8 tokens", "prompt is too long: 9 tokens > 8 maximum"):
        yield f"400 {text}", Kind(sends(lambda a, t=text: http(t.encode(), status="400 No")), "void", False)
    for text in ("insufficient_quota", "Your credit balance is too low"):
        yield f"429 {text}", Kind(sends(lambda a, t=text: http(t.encode(), status="429 No")), "stop", False)
    for value in NOTHING_TO_WAIT:
        shown = value if len(value) < 60 else f"{value[0]} x {len(value)}"
        yield (
            f"after {shown!r}",
            Kind(sends(lambda a, v=value: http(b"{}", f"Retry-After: {v}", status="429 No")), "retry", False),
        )
        send = sends(
            lambda a, v=value: http(
                b"{}", f"Retry-After-Ms: {v}", f"Retry-After: {v}", "Retry-After: 0", status="503 No"
            )
        )
        if value.strip() not in ("0.01", "0.02"):
            yield f"after ms {shown!r}", Kind(send, "retry", False)
    for name, send, comes in framing():
        yield f"wire: {name}", Kind(send, comes, name != "drip of an error")


KINDS = dict(_kinds())


class Storm:
    """Serves one kind after another, or `share` of all requests a kind drawn for each."""

    def __init__(self, names: list[str] | None = None, share: float = 1.0) -> None:
        self.names, self.share = names or list(KINDS), share
        self.requests, self.usd = 0, 0.0
        self.met: Counter[str] = Counter()
        self._seen: Counter[bytes] = Counter()

    def kind(self, raw: bytes) -> str:
        """What happens to a request: a text `kind NUMBER` in it asks for a kind the first time, else it is drawn."""
        number, self._seen[raw] = self._seen[raw], self._seen[raw] + 1
        dice = Random(raw + b"%d" % number)
        if b"<kind " in raw:
            return (
                self.names[int(raw.partition(b"<kind ")[2].partition(b">")[0])] if not number else "answer: plain good"
            )
        return dice.choice(self.names) if dice.random() < self.share else "answer: plain good"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        try:
            over = False
            while not over:
                head = await reader.readuntil(b"\r\n\r\n")
                fields = {
                    name.lower(): value
                    for name, _, value in (line.partition(": ") for line in head.decode("latin-1").split("\r\n"))
                }
                raw = await reader.readexactly(int(fields.get("content-length", 0)))
                if head.startswith(b"GET"):
                    told = {"requests": self.requests, "usd": self.usd, "met": dict(self.met)}
                    writer.write(http(json.dumps(told).encode()))
                    continue
                key = fields.get("x-api-key") or fields.get("authorization", "").removeprefix("Bearer ")
                asked = Asked(json.loads(raw), key, head.startswith(b"POST /v1/messages"), writer)
                name = self.kind(raw)
                self.requests += 1
                self.met[name] += 1
                if KINDS[name].charged:
                    sent, received = asked.tokens
                    self.usd += (sent * PRICE["input"] + received * PRICE["output"]) / 1e6
                await KINDS[name].send(asked)
                over = asked.over
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


async def main(share: float) -> None:
    """Serves until stopped; the first line printed is the port."""
    storm = Storm(share=share)
    server = await asyncio.start_server(storm.serve, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1])))
