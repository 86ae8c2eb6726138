"""The batch interfaces of both providers, for the fault server: files, batches, and what may become of a request in one."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

from aiohttp import web

Body = dict[str, Any]
OUTCOMES = ("expired", "cancelled", "400", "429", "500", "policy", "missing", "twice", "torn", "unreadable")
"""What may become of a request: missing, no line about it; twice, two answers; torn, half a line; unreadable, no answer in it."""
ERRORS = {
    "400": "invalid_request_error",
    "429": "rate_limit_error",
    "500": "api_error",
    "policy": "invalid_request_error",
}
WORDS = {"policy": "Output blocked by content filtering policy", "400": "no such parameter"}


@dataclass
class Batches:
    """Batches of one server."""

    answer: Callable[[Body], Body]
    """The response to the body of a request, in either protocol."""
    takes: float = 0.0
    """Seconds until a batch is over."""
    shares: Mapping[str, float] = field(default_factory=dict)
    """Share of requests that meet each outcome; none the second time that they come."""
    fails: Sequence[str] = ()
    """What becomes of the first batches as wholes: "" as usual, "limit", "failed", "lost" (made, but its id never arrives), or
    "refused" (not made, and no word of it)."""
    hidden: float = 0.0
    """Seconds until a new batch is in the list."""
    written: Callable[[Body], Body | None] = lambda line: line
    """What becomes of each line of results; None: it is left out."""
    unnamed: int = 0
    """Looks at which OpenAI's batches that are over name no files yet."""
    slow: float = 0.0
    """Seconds that handing in takes."""
    made: dict[str, Body] = field(default_factory=dict)
    """Id -> a batch: requests, created, name, results."""
    files: dict[str, bytes] = field(default_factory=dict)
    paid: Counter[str] = field(default_factory=Counter)
    """Key of a request -> how often it was answered, which costs money."""
    seen: Counter[str] = field(default_factory=Counter)
    looks: Counter[str] = field(default_factory=Counter)

    def routes(self, app: web.Application) -> None:
        app.router.add_post("/v1/files", self._upload)
        app.router.add_get("/v1/files/{id}/content", self._download)
        for path, create, shown in (
            ("/v1/batches", self._create_openai, self._openai),
            ("/v1/messages/batches", self._create_anthropic, self._anthropic),
        ):
            app.router.add_post(path, create)
            app.router.add_get(path, partial(self._list, shown=shown))
            app.router.add_get(path + "/{id}", partial(self._one, shown=shown))
        app.router.add_get("/v1/messages/batches/{id}/results", self._results)

    # --- making one

    async def _upload(self, request: web.Request) -> web.Response:
        form = await request.post()
        name = f"file-{len(self.files)}"
        self.files[name] = form["file"].file.read()
        assert form["purpose"] == "batch"
        return web.json_response({"id": name, "object": "file", "bytes": 1, "created_at": 0, "filename": "x", "purpose": "batch",
                                  "status": "processed"})  # fmt: skip

    async def _create_openai(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        await asyncio.sleep(self.slow)
        lines = [json.loads(line) for line in self.files[body["input_file_id"]].splitlines()]
        assert {line["url"] for line in lines} == {body["endpoint"]} and body["completion_window"] == "24h"
        asked = {line["custom_id"]: line["body"] for line in lines}
        return self._made(request, asked, body["metadata"], self._openai)

    async def _create_anthropic(self, request: web.Request) -> web.StreamResponse:
        asked = {each["custom_id"]: each["params"] for each in (await request.json())["requests"]}
        await asyncio.sleep(self.slow)
        return self._made(request, asked, {}, self._anthropic)

    def _made(self, request: web.Request, asked: Mapping[str, Body], metadata: Body, shown: Any) -> web.StreamResponse:
        number = len(self.made) + self.seen["refused"]
        fails = self.fails[number] if number < len(self.fails) else ""
        if fails == "refused":
            self.seen["refused"] += 1
            request.transport.abort()
            return web.Response()
        name = f"batch_{number}"
        ends = {} if fails in ("limit", "failed") else {key: self._outcome(key) for key in asked}
        if not {"", "twice"} & {*ends.values()}:  # a batch of which nothing can be read ends a run: see `written`
            ends |= dict.fromkeys([key for key in ends if ends[key] in ("torn", "unreadable", "missing")][:1], "")
        self.made[name] = {"asked": asked, "metadata": metadata, "made": time.time(), "fails": fails, "ends": ends}
        for key, end in ends.items():
            self.paid[key] += {"": 1, "twice": 2, "torn": 1, "unreadable": 1, "missing": 1}.get(end, 0)
        if fails == "lost":
            request.transport.abort()
            return web.Response()
        return web.json_response(shown(name))

    def _outcome(self, key: str) -> str:
        self.seen[key] += 1
        drawn = Random(key).random()
        for name, share in self.shares.items() if self.seen[key] == 1 else ():
            if drawn < share:
                return name
            drawn -= share
        return ""

    # --- looking at one

    def _over(self, batch: Body) -> bool:
        return time.time() >= batch["made"] + self.takes

    async def _list(self, request: web.Request, shown: Callable[[str], Body]) -> web.Response:
        names = [name for name, batch in self.made.items() if time.time() >= batch["made"] + self.hidden][::-1]
        after = request.query.get("after") or request.query.get("after_id")
        left = names[names.index(after) + 1 :] if after else names
        page, more = [shown(name) for name in left[:2]], len(left) > 2  # short pages: there is more than one
        ends = {"first_id": page[0]["id"], "last_id": page[-1]["id"]} if page else {"first_id": None, "last_id": None}
        return web.json_response({"object": "list", "data": page, "has_more": more} | ends)

    async def _one(self, request: web.Request, shown: Callable[[str], Body]) -> web.Response:
        name = request.match_info["id"]
        if name not in self.made:
            return web.json_response({"error": {"type": "not_found_error", "message": "no such batch"}}, status=404)
        return web.json_response(shown(name))

    def _openai(self, name: str) -> Body:
        batch = self.made[name]
        over, ends = self._over(batch), {*batch["ends"].values()}
        status = "in_progress"
        if over:
            status = next((each for each in ("expired", "cancelled") if each in ends), "completed")
        shown = {"id": name, "object": "batch", "endpoint": "/v1/chat/completions", "input_file_id": "file", "status": status,
                 "completion_window": "24h", "created_at": int(batch["made"]), "metadata": batch["metadata"]}  # fmt: skip
        if batch["fails"] in ("limit", "failed"):
            code = {"limit": "token_limit_exceeded"}.get(batch["fails"], "invalid_json")
            return shown | {"status": "failed", "errors": {"object": "list", "data": [{"code": code, "message": "no"}]}}
        if over:
            self.looks[name] += 1
        if over and self.looks[name] > self.unnamed:
            self.files[f"out-{name}"], self.files[f"err-{name}"] = self._lines(batch, True), self._lines(batch, False)
            shown |= {"output_file_id": f"out-{name}", "error_file_id": f"err-{name}"}
        return shown

    def _anthropic(self, name: str) -> Body:
        batch = self.made[name]
        over, day = self._over(batch), "2099-01-01T00:00:00Z"
        counts = dict.fromkeys(("canceled", "errored", "expired", "processing", "succeeded"), 0)
        counts["succeeded" if over else "processing"] = len(batch["asked"])
        made = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(batch["made"]))
        return {"id": name, "type": "message_batch", "created_at": made, "expires_at": day, "request_counts": counts,
                "processing_status": "ended" if over else "in_progress",
                "results_url": f"/v1/messages/batches/{name}/results" if over else None}  # fmt: skip

    # --- results

    async def _download(self, request: web.Request) -> web.Response:
        return web.Response(body=self.files[request.match_info["id"]])

    def _lines(self, batch: Body, good: bool) -> bytes:
        """OpenAI's files: answers, or errors; in another order than asked."""
        lines = []
        for key, end in reversed(batch["ends"].items()):
            response = {"status_code": 200, "request_id": "r", "body": self.answer(batch["asked"][key])}
            error = None
            if end in ("expired", "cancelled"):
                response, error = None, {"code": f"batch_{end}", "message": "This request was not executed."}
            elif end in ERRORS:
                told = {"error": {"type": ERRORS[end], "message": WORDS.get(end, end)}}
                response = {"status_code": int(end) if end.isdecimal() else 400, "request_id": "r", "body": told}
            elif end == "unreadable":
                response["body"] = {"id": "x"}
            if end != "missing" and (error is None and end not in ERRORS) == good:
                lines += [{"id": "b", "custom_id": key, "response": response, "error": error}] * (1 + (end == "twice"))
        return self._written(lines, batch)

    async def _results(self, request: web.Request) -> web.Response:
        batch, lines = self.made[request.match_info["id"]], []
        for key, end in reversed(batch["ends"].items()):
            result: Body = {"type": "succeeded", "message": self.answer(batch["asked"][key])}
            if end in ("expired", "cancelled"):
                result = {"type": {"cancelled": "canceled"}.get(end, end)}
            elif end in ERRORS:
                error = {"type": ERRORS[end], "message": WORDS.get(end, end)}
                result = {"type": "errored", "error": {"type": "error", "error": error}}
            elif end == "unreadable":
                result["message"] = {"id": "x"}
            if end != "missing":
                lines += [{"custom_id": key, "result": result}] * (1 + (end == "twice"))
        return web.Response(body=self._written(lines, batch), content_type="application/x-jsonl")

    def _written(self, lines: Sequence[Body], batch: Body) -> bytes:
        pairs = [(line["custom_id"], json.dumps(told)) for line in lines if (told := self.written(line)) is not None]
        torn = [text[: len(text) // 2] if batch["ends"][key] == "torn" else text for key, text in pairs]
        return "\n".join([*torn, "", json.dumps({"custom_id": "nobody asked", "result": {"type": "expired"}})]).encode()
