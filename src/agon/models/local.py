"""A model on this machine: weights in a GGUF file, and llama.cpp's server (xllamacpp), which agon starts, asks and stops."""

import asyncio
import json
import os
import re
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from hashlib import file_digest
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from secrets import token_hex
from subprocess import PIPE, Popen, TimeoutExpired
from tempfile import TemporaryFile
from threading import Lock, Thread, Timer
from typing import Annotated, Any, Literal

from msgspec import Meta

from agon.errors import AgonError
from agon.models.base import CallFailed, identity_of
from agon.models.errors import one_line
from agon.models.openai import OpenAI
from agon.paths import input_path

STARTING = Lock()
"""One server starts or stops at a time."""
START = 300.0
"""Seconds in which a server must have read its weights."""
LEAVE = 10.0
"""Seconds that a server has to end by itself."""
ERRORS = 1
"""Llama.cpp's name for telling errors alone."""


@dataclass(kw_only=True)
class Local(OpenAI):
    """Weights in a GGUF file. Their server runs from the first call to `close`, on a free port of this machine alone.

    It has `concurrency` slots of `context` tokens each. Where it has died, the next try of a call starts it again. The chat
    template is the one that the weights bring.
    """

    weights: str
    """The GGUF file: a path from the project's folder, or from the home folder (~/); inside `package` where one is named."""
    package: str | None = None
    """An installed package that holds the weights, by the name that pip knows; it is not imported."""
    sha256: str
    """Of the weights, in 64 hexadecimal digits: recordings know them by it, and other weights are refused."""
    context: Annotated[int, Meta(ge=1)] | None = 4096
    threads: Annotated[int, Meta(ge=1)] = 1
    """Cores that it computes on. More than are free make it many times slower."""
    cache_mb: Annotated[int, Meta(ge=0)] = 1024
    """Megabytes for conversations that wait for a slot, so that they need not be read again."""
    tools: bool = False
    """Whether the chat template that the weights bring knows tools; llama.cpp passes over them where it does not."""
    max_tokens_name: str = "max_tokens"

    by_proxy = False
    logprobs: Literal["chat", "llama.cpp"] | None = "llama.cpp"
    _server: "Server | None" = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.base_url is not None:
            raise AgonError(
                f"model {self.model}: base_url is for a server that runs already: ask it with "
                "_target_: agon.models.openai.OpenAI, as in conf/model/local.yaml"
            )
        if not re.fullmatch("[0-9a-f]{64}", str(self.sha256)):
            raise AgonError(f"model {self.model}: sha256 takes the 64 digits that `sha256sum` tells of the weights")
        if self.context is None:
            raise AgonError(
                f"model {self.model}: context takes the tokens that fit, for which its server sets memory aside"
            )

    @property
    def calls(self) -> bool:
        """As `tools` says."""
        return self.tools

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"_server": None, "base_url": None}  # a server stays with its process

    @property
    def identity(self) -> str:
        """Name and hash of the weights, which hold their chat template, and the parameters; nothing of the server."""
        return identity_of(f"{self.model}@sha256:{self.sha256[:16]}", self.parameters)

    async def _connect(self) -> Any:
        if self._server is None or not self._server.alive:
            server = await asyncio.to_thread(self._running)
            if server.address != self.base_url:
                self.base_url = server.address
                await super().close()  # of connections to the one before
        return await super()._connect()

    def _secret(self) -> str:
        return self._server.secret if self._server is not None else super()._secret()

    async def close(self) -> None:
        """Ends connections and the server."""
        await super().close()
        await asyncio.to_thread(self._stop)

    def _running(self) -> "Server":
        """The server, which is started where it does not run. Raises CallFailed."""
        with STARTING:
            if self._server is not None and not self._server.alive:
                self._server.stop()
                self._server = None
            if self._server is None:
                self._server = Server(self._checked(), self.context, self.concurrency, self.threads, self.cache_mb)
            return self._server

    def _stop(self) -> None:
        with STARTING:
            server, self._server = self._server, None
            if server is not None:
                server.stop()

    def _checked(self) -> Path:
        """The file of the weights, which are those that conf means. Raises CallFailed."""
        missing = [] if find_spec("xllamacpp") else ["xllamacpp"]
        path = input_path(self.weights)
        if self.package is not None:
            try:
                path = Path(str(distribution(self.package).locate_file(self.weights)))
            except PackageNotFoundError:
                missing.append(self.package)
        if missing:
            raise _useless(f"not installed: {' and '.join(missing)}; `make pocket` installs them")
        if not path.is_file():
            raise _useless(f"there are no weights at {path}")
        if (found := _sha256(path, path.stat().st_mtime_ns)) != self.sha256:
            raise _useless(f"the weights at {path} are not those of its file, their sha256 is {found}")
        return path


class Server:
    """llama.cpp's server in a process of its own, which ends when this one does, however that ends.

    Raises CallFailed when it does not start: for good, unless it was killed.
    """

    def __init__(self, weights: Path, context: int | None, slots: int, threads: int, cache_mb: int) -> None:
        self.secret = token_hex()
        """Without it nobody on this machine is answered."""
        settings = [str(weights), context, slots, threads, cache_mb, self.secret]
        with TemporaryFile("w+", errors="replace") as told:
            self.process = Popen(
                [sys.executable, "-m", __name__],
                stdin=PIPE,
                stdout=PIPE,
                stderr=told,
                text=True,
                start_new_session=True,  # Ctrl-C is for agon, which lets calls in flight come to their end
            )
            assert self.process.stdin is not None and self.process.stdout is not None
            with suppress(BrokenPipeError):
                self.process.stdin.write(json.dumps(settings) + "\n")
                self.process.stdin.flush()
            late = Timer(START, self.process.kill)
            late.start()
            self.address = self.process.stdout.readline().strip()
            """Where it answers, as base_url."""
            late.cancel()
            if not self.address:
                try:
                    code = self.process.wait(LEAVE)
                except TimeoutExpired:  # it has closed its output, and goes on
                    self.process.kill()
                    code = self.process.wait()
                told.seek(0)
                self.stop()
                why = one_line(told.read() or f"exit code {code}")
                if code < 0:
                    raise CallFailed("no connection", f"its server was killed: {why}")
                raise _useless(f"its server does not start: {why}")

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self.process.poll() is None

    def stop(self) -> None:
        """Ends it, and returns when it has."""
        try:
            self.process.communicate(timeout=LEAVE)  # closes its standard input, at which it ends
        except TimeoutExpired:
            self.process.kill()
            self.process.communicate()


def serve() -> None:
    """The server's own process: says where it answers, and ends with its standard input, which ends with agon."""
    import xllamacpp

    weights, context, slots, threads, cache_mb, secret = json.loads(sys.stdin.readline())
    ends = Thread(target=lambda: (sys.stdin.read(), os._exit(0)))
    ends.start()
    params = xllamacpp.CommonParams()
    params.model.path, params.n_ctx, params.n_parallel = weights, context * slots, slots
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.cache_ram_mib, params.api_keys, params.ui, params.verbosity = cache_mb, [secret], False, ERRORS
    try:
        server = xllamacpp.Server(params)
    except RuntimeError as error:  # what is wrong it has written itself
        sys.stderr.write(str(error))
        sys.stderr.flush()
        os._exit(1)
    sys.stdout.write(f"{server.listening_address}/v1\n")
    sys.stdout.flush()
    ends.join()


@cache
def _sha256(path: Path, changed: int) -> str:
    """Of a file, as it was `changed` (a time)."""
    with path.open("rb") as stream:
        return file_digest(stream, "sha256").hexdigest()


def _useless(why: str) -> CallFailed:
    return CallFailed("settings", why, "stop")


if __name__ == "__main__":
    serve()
