"""The way to a server, for the SDKs: replies of limited size, one error for broken HTTP, and connections that are kept.

It is imported with the first call, as the SDKs are, because that takes a second.
"""

from asyncio import sleep
from typing import Any
from urllib.request import getproxies, proxy_bypass

from aiohttp import ClientError, ClientSession, ClientTimeout, DummyCookieJar, TCPConnector
from aiohttp.connector import Connection
from httpx2 import (
    AsyncBaseTransport,
    AsyncClient,
    ReadError,
    RemoteProtocolError,
    Request,
    Response,
    create_ssl_context,
)

MOST_ERROR_BYTES = 10_000
"""The most bytes of an error that are read."""
KEPT = 4.0
"""Seconds for which an idle connection is kept. Common servers close theirs after 5, and then a request may get lost."""
BODY_HEADERS = {b"content-encoding", b"content-length", b"content-type", b"transfer-encoding"}
"""Headers that are wrong or not needed once the body is unpacked."""
CERTIFICATES = create_ssl_context()
"""All clients of this process share it, because reading the certificates takes 20 ms."""


class TooLarge(ReadError):
    """The response is larger than allowed."""


class SilentConnections(TCPConnector):
    """Keeps connections for the next question, but none on which the server spoke unasked.

    A reply that has come before the next question is noticed and dropped with its connection. One that comes after it
    is taken for the answer, since no client can tell the two apart.
    """

    async def connect(self, *request: Any, **more: Any) -> Connection:
        """A connection on which nothing has come since the last reply."""
        while True:
            connection = await super().connect(*request, **more)
            for _ in range(2):  # what has come is seen in one step of the loop and read in the next
                await sleep(0)
            if connection.protocol is not None and not connection.protocol.should_close:
                return connection
            connection.close()


class Transport(AsyncBaseTransport):
    """Sends requests to one server through aiohttp, which takes a fifth of the time of httpx's own transport."""

    def __init__(self, connections: int, most: int, by_proxy: bool) -> None:
        self.connections, self.most, self.by_proxy = connections, most, by_proxy
        self.session: ClientSession | None = None

    async def handle_async_request(self, request: Request) -> Response:
        """The whole response to a request. Raises TooLarge and RemoteProtocolError."""
        self.session = self.session or self._open(request)
        limits, content = request.extensions["timeout"], bytearray()
        sent = self.session.request(
            request.method,
            str(request.url),
            headers=[(name.decode(), value.decode()) for name, value in request.headers.raw],
            data=await request.aread() or None,
            allow_redirects=False,
            timeout=ClientTimeout(None, sock_connect=limits.get("connect"), sock_read=limits.get("read")),
        )
        try:
            async with sent as reply:
                packed = Response(reply.status, headers=reply.raw_headers, content=reply.content.iter_any())
                async for piece in packed.aiter_bytes():
                    content += piece
                    if not packed.is_success and len(content) > MOST_ERROR_BYTES:
                        break
                    if len(content) > self.most:
                        raise TooLarge(f"the answer is longer than {self.most:,} bytes (most_bytes)")
        except (ClientError, OSError, ValueError) as error:  # the SDKs know httpx's errors only
            raise RemoteProtocolError(str(error)) from error
        headers = [(name, value) for name, value in reply.raw_headers if name.lower() not in BODY_HEADERS]
        return Response(reply.status, headers=headers, content=bytes(content))

    def _open(self, request: Request) -> ClientSession:
        """A session that reads no file of passwords and sends no cookies back."""
        proxies = getproxies() if self.by_proxy and not proxy_bypass(request.url.host) else {}
        proxy = proxies.get(request.url.scheme) or proxies.get("all")
        return ClientSession(
            connector=SilentConnections(limit=self.connections, keepalive_timeout=KEPT, ssl=CERTIFICATES),
            proxy=proxy if not proxy or "://" in proxy else f"http://{proxy}",
            cookie_jar=DummyCookieJar(),
            auto_decompress=False,
        )

    async def aclose(self) -> None:
        """Closes its connections."""
        if self.session is not None:
            await self.session.close()


def limited_client(connections: int, most: int, by_proxy: bool = True) -> AsyncClient:
    """A client for an SDK. It raises TooLarge for a response of more than `most` bytes, unpacked.

    connections: the most connections at once. by_proxy: whether the environment's proxies are used. For broken HTTP the
    client raises RemoteProtocolError, since the SDKs do not know what aiohttp raises.
    """
    return AsyncClient(transport=Transport(connections, most, by_proxy), follow_redirects=False, trust_env=False)
