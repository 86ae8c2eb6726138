"""A model on this machine: weights in a GGUF file, and llama.cpp's server (xllamacpp).

agon starts and stops the server.
"""

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
from agon.models.base import CallFailed, Count, identity_of
from agon.models.errors import one_line
from agon.models.openai import OpenAI
from agon.paths import input_path

STARTING = Lock()
"""Only one server starts or stops at a time."""
START = 300.0
"""Seconds that a server has to read its weights."""
LEAVE = 10.0
"""Seconds that a server has to end by itself."""
ERRORS = 1
"""Llama.cpp's level of logging for errors only."""


@dataclass(kw_only=True)
class Local(OpenAI):
    """Weights in a GGUF file. A server runs from the first call to `close`, on a free port that only this machine
    reaches.

    It has `concurrency` slots of `context` tokens each. If it died, the next try of a call starts it again. The weights
    contain the chat template.
    """

    weights: str
    """The GGUF file: a path from the project's folder or from the home folder (~/). With `package`: a path inside of
    it."""
    package: str | None = None
    """pip's name of an installed package with the weights. It is not imported."""
    sha256: str
    """The hash of the weights, 64 hexadecimal digits. It identifies them in recordings. Other weights are refused."""
    context: Count | None = 4096
    threads: Count = 1
    """Number of cores. With more than are free it is many times slower."""
    cache_mb: Annotated[int, Meta(ge=0)] = 1024
    """Megabytes for conversations that wait for a slot. The server need not read them again."""
    tools: bool = False
    """Whether the chat template knows tools. If not, llama.cpp ignores them."""
    max_tokens_name: str = "max_tokens"

    by_proxy = False
    logprobs: Literal["chat", "llama.cpp"] | None = "llama.cpp"
    _server: "Server | None" = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.base_url is not None:
            raise AgonError(
                f"model {self.model}: base_url is for a server that already runs: use "
                "_target_: agon.models.openai.OpenAI, as in conf/model/local.yaml"
            )
        if not re.fullmatch("[0-9a-f]{64}", str(self.sha256)):
            raise AgonError(f"model {self.model}: sha256 must be the 64 digits that `sha256sum` prints for the weights")
        if self.context is None:
            raise AgonError(
                f"model {self.model}: set context, the size of the context window in tokens: its server reserves memory for it"
            )

    @property
    def calls(self) -> bool:
        """Whether it calls tools: `tools`."""
        return self.tools

    @property
    def obstacle(self) -> str:
        """What is wrong with the installed packages or the weights."""
        try:
            self._weights_path()
        except CallFailed as fault:
            return str(fault)
        return ""

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"_server": None, "base_url": None}  # a server stays with its process

    @property
    def identity(self) -> str:
        """Name, hash of the weights (with their chat template) and parameters. The server is no part of it."""
        return identity_of(f"{self.model}@sha256:{self.sha256[:16]}", self.parameters)

    @property
    def host(self) -> str:
        """Empty: its server runs on this machine, for agon alone."""
        return ""

    async def _connect(self) -> Any:
        if self._server is None or not self._server.alive:
            server = await asyncio.to_thread(self._start_server)
            if server.address != self.base_url:
                self.base_url = server.address
                await super().close()  # connections to the previous server
        return await super()._connect()

    def _secret(self) -> str:
        return self._server.secret if self._server is not None else super()._secret()

    async def close(self) -> None:
        """Closes connections and stops the server."""
        await super().close()
        await asyncio.to_thread(self._stop)

    def _start_server(self) -> "Server":
        """The running server. Starts one if there is none. Raises CallFailed."""
        with STARTING:
            if self._server is not None and not self._server.alive:
                self._server.stop()
                self._server = None
            if self._server is None:
                self._server = Server(self._weights_path(), self.context, self.concurrency, self.threads, self.cache_mb)
            return self._server

    def _stop(self) -> None:
        with STARTING:
            server, self._server = self._server, None
            if server is not None:
                server.stop()

    def _weights_path(self) -> Path:
        """The path of the weights, whose hash is checked. Raises CallFailed."""
        missing = [] if find_spec("xllamacpp") else ["xllamacpp"]
        path = input_path(self.weights)
        if self.package is not None:
            try:
                path = Path(str(distribution(self.package).locate_file(self.weights)))
            except PackageNotFoundError:
                missing.append(self.package)
        if missing:
            raise _settings_error(f"not installed: {' and '.join(missing)}; `make pocket` installs them")
        if not path.is_file():
            raise _settings_error(f"there are no weights at {path}")
        digest = _sha256(path, path.stat().st_mtime_ns)
        if digest != self.sha256:
            raise _settings_error(f"the weights at {path} are not those of its file: their sha256 is {digest}")
        return path


class Server:
    """llama.cpp's server in another process, which ends with this one, however this one ends.

    Raises CallFailed if it does not start: with "retry" if it was killed, else with "stop".
    """

    def __init__(self, weights: Path, context: int | None, slots: int, threads: int, cache_mb: int) -> None:
        self.secret = token_hex()
        """The key that the server asks for, so that it answers nobody else on this machine."""
        settings = [str(weights), context, slots, threads, cache_mb, self.secret]
        with TemporaryFile("w+", errors="replace") as stderr:
            self.process = Popen(
                [sys.executable, "-m", __name__],
                stdin=PIPE,
                stdout=PIPE,
                stderr=stderr,
                text=True,
                start_new_session=True,  # Ctrl-C is for agon alone, which lets calls in flight end
            )
            assert self.process.stdin is not None and self.process.stdout is not None
            with suppress(BrokenPipeError):
                self.process.stdin.write(json.dumps(settings) + "\n")
                self.process.stdin.flush()
            timer = Timer(START, self.process.kill)
            timer.start()
            self.address = self.process.stdout.readline().strip()
            """The server's base_url."""
            timer.cancel()
            if not self.address:
                try:
                    code = self.process.wait(LEAVE)
                except TimeoutExpired:  # it closed its output and still runs
                    self.process.kill()
                    code = self.process.wait()
                stderr.seek(0)
                self.stop()
                why = one_line(stderr.read() or f"exit code {code}")
                if code < 0:
                    raise CallFailed("no connection", f"its server was killed: {why}")
                raise _settings_error(f"its server does not start: {why}")

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self.process.poll() is None

    def stop(self) -> None:
        """Stops the server, and returns when it has ended."""
        try:
            self.process.communicate(timeout=LEAVE)  # closes its standard input, and so ends it
        except TimeoutExpired:
            self.process.kill()
            self.process.communicate()


def serve() -> None:
    """The server's process. It prints its base_url and ends when its standard input ends, which agon holds open."""
    import xllamacpp

    weights, context, slots, threads, cache_mb, secret = json.loads(sys.stdin.readline())
    watcher = Thread(target=lambda: (sys.stdin.read(), os._exit(0)))
    watcher.start()
    params = xllamacpp.CommonParams()
    params.model_alias = {Path(weights).name}  # it answers by this name, else by the path on this machine
    params.model.path, params.n_ctx, params.n_parallel = weights, context * slots, slots
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.cache_ram_mib, params.api_keys, params.ui, params.verbosity = cache_mb, [secret], False, ERRORS
    try:
        server = xllamacpp.Server(params)
    except RuntimeError as error:  # the server wrote the cause itself
        sys.stderr.write(str(error))
        sys.stderr.flush()
        os._exit(1)
    sys.stdout.write(f"{server.listening_address}/v1\n")
    sys.stdout.flush()
    watcher.join()


@cache
def _sha256(path: Path, changed: int) -> str:
    """The hash of a file. `changed`: its time of change, so that the cache notices a new file."""
    with path.open("rb") as stream:
        return file_digest(stream, "sha256").hexdigest()


def _settings_error(why: str) -> CallFailed:
    return CallFailed("settings", why, "stop")


if __name__ == "__main__":
    serve()
