"""The way to a provider, asked of its SDK once: the SDK makes the first request, later ones are like it at a tenth of the work."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.request import getproxies, proxy_bypass

import aiohttp
import msgspec

OWN = {"accept-encoding", "connection", "content-length", "host", "transfer-encoding"}
"""Headers that belong to one request, or to whoever sends it."""


class Response(NamedTuple):
    """What came back."""

    status: int
    headers: Mapping[str, str]
    text: str
    content: Any
    """The text as JSON; the text itself when it is none."""


class Shortcut:
    """Makes requests like one that an SDK (on httpx) has made, with other bodies; up to `limit` at once."""

    def __init__(self, like: Any, limit: int, timeout: float) -> None:
        from httpx2 import create_ssl_context

        self.url = str(like.url)
        self.session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=limit, ssl=like.url.scheme != "https" or create_ssl_context()),
            headers={name: value for name, value in like.headers.items() if name.lower() not in OWN},
            timeout=aiohttp.ClientTimeout(total=timeout),
            cookie_jar=aiohttp.DummyCookieJar(),
            proxy=_proxy(like.url.scheme, like.url.host),
        )

    async def post(self, body: Mapping[str, Any]) -> Response:
        """One request. Raises TimeoutError and ConnectionError."""
        try:
            async with self.session.post(self.url, data=msgspec.json.encode(body), allow_redirects=False) as response:
                raw = await response.read()
        except TimeoutError:
            raise
        except (aiohttp.ClientError, OSError) as error:
            kind = ConnectionRefusedError if isinstance(error, aiohttp.ClientConnectorError) else ConnectionError
            raise kind(str(error) or type(error).__name__) from None
        text = raw.decode("utf-8", "replace")
        try:
            content = json.loads(raw)
        except (ValueError, RecursionError):
            content = text
        return Response(response.status, response.headers, text, content)

    async def close(self) -> None:
        """Ends connections."""
        await self.session.close()


def _proxy(scheme: str, host: str) -> str | None:
    """Where the environment says that requests should go (HTTPS_PROXY, NO_PROXY)."""
    proxies = getproxies()
    return None if proxy_bypass(host) else proxies.get(scheme) or proxies.get("all")
