"""The HTTP client for the SDKs. It limits the size of responses, raises one error for broken HTTP, and uses a connection once.

It is imported with the first call, as the SDKs are, because that takes a second.
"""

from typing import Any

from aiohttp import ClientError
from httpx2 import AsyncClient, Limits, ReadError, RemoteProtocolError, Request, Response, create_ssl_context

MOST_ERROR_BYTES = 10_000
"""The most bytes of an error that are read."""
BODY_HEADERS = {b"content-encoding", b"content-length", b"content-type", b"transfer-encoding"}
"""Headers that are wrong or not needed once the body is unpacked."""
CERTIFICATES = create_ssl_context()
"""All clients of this process share it, because reading the certificates takes 20 ms."""


class TooLarge(ReadError):
    """The response is larger than allowed."""


def limited_client(kind: type[AsyncClient], connections: int, most: int, by_proxy: bool = True) -> AsyncClient:
    """A client of an SDK's own `kind`. It raises TooLarge for a response of more than `most` bytes, unpacked.

    connections: the most connections at once. by_proxy: whether the environment's proxies are used. For broken HTTP the
    client raises RemoteProtocolError, since the SDKs do not know what some kinds of client raise. Every request has its
    own connection. On a kept connection, a stray reply would be taken for the answer to the next question.
    """

    class LimitedClient(kind):  # type: ignore[misc, valid-type]
        """Reads every response itself."""

        async def send(self, request: Request, *, stream: bool = False, **more: Any) -> Response:
            """The whole response to a request. Raises TooLarge and RemoteProtocolError."""
            content = bytearray()
            try:
                response = await super().send(request, stream=True, **more)
                try:
                    async for piece in response.aiter_bytes():
                        content += piece
                        if not response.is_success and len(content) > MOST_ERROR_BYTES:
                            break
                        if len(content) > most:
                            raise TooLarge(f"the answer is longer than {most:,} bytes (most_bytes)")
                finally:
                    await response.aclose()
            except (ClientError, OSError, ValueError) as error:
                raise RemoteProtocolError(str(error)) from error
            headers = [(name, value) for name, value in response.headers.raw if name.lower() not in BODY_HEADERS]
            return Response(response.status_code, headers=headers, content=bytes(content), request=request)

    limits = Limits(max_connections=connections, keepalive_expiry=0)
    return LimitedClient(limits=limits, follow_redirects=False, verify=CERTIFICATES, trust_env=by_proxy)
