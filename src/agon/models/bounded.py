"""The HTTP client that the SDKs are given: it reads no more of a response than is allowed, and has one name for broken HTTP.

Read when the first call is made, as the SDKs are: that takes a second.
"""

from typing import Any

from aiohttp import ClientError
from httpx2 import AsyncClient, Limits, ReadError, RemoteProtocolError, Request, Response, create_ssl_context

TOLD = 10_000
"""Bytes of an error that are read by the SDKs and for messages."""
OF_THE_BODY = {b"content-encoding", b"content-length", b"content-type", b"transfer-encoding"}
"""Headers that no longer hold, or need not be trusted, once the body is unpacked."""
TRUSTED = create_ssl_context()
"""Whom all clients of this process trust: to read the certificates takes 20 ms."""


class TooLarge(ReadError):
    """The response is longer than allowed."""


def bounded(kind: type[AsyncClient], connections: int, most: int, by_proxy: bool = True) -> AsyncClient:
    """An SDK's own `kind` of client, with up to `connections`; a response may have `most` bytes, unpacked.

    Unless `by_proxy` the environment's proxies are not used. Where there are more bytes it raises TooLarge. For broken HTTP,
    of which some clients tell in ways unknown to the SDKs, it
    raises RemoteProtocolError.
    """

    class Bounded(kind):  # type: ignore[misc, valid-type]
        """Reads every response itself."""

        async def send(self, request: Request, *, stream: bool = False, **more: Any) -> Response:
            """The whole response to a request."""
            content = bytearray()
            try:
                response = await super().send(request, stream=True, **more)
                try:
                    async for piece in response.aiter_bytes():
                        content += piece
                        if not response.is_success and len(content) > TOLD:
                            break
                        if len(content) > most:
                            raise TooLarge(f"the answer is longer than {most:,} bytes (most_bytes)")
                finally:
                    await response.aclose()
            except (ClientError, OSError, ValueError) as error:
                raise RemoteProtocolError(str(error)) from error
            headers = [(name, value) for name, value in response.headers.raw if name.lower() not in OF_THE_BODY]
            return Response(response.status_code, headers=headers, content=bytes(content), request=request)

    limits = Limits(max_connections=connections, max_keepalive_connections=connections)
    return Bounded(limits=limits, follow_redirects=False, verify=TRUSTED, trust_env=by_proxy)
