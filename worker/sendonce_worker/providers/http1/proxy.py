"""HTTP proxies, as the environment names them (``HTTPS_PROXY``, ``HTTP_PROXY``, ``NO_PROXY``).

In: a target. Out: the proxy to use, or None; and for TLS targets a tunnel through it (CONNECT, RFC 9110
§9.3.6). A proxy that refuses is a :class:`DialError`: nothing of the message has left.
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from dataclasses import dataclass
from typing import cast
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies_environment, proxy_bypass_environment  # type: ignore[attr-defined]

from sendonce_worker.providers.dial import DialError, Endpoint, open_transport
from sendonce_worker.providers.http1.target import Target

_MAX_ANSWER = 16 * 1024


@dataclass(frozen=True, slots=True)
class Proxy:
    """A plain-HTTP proxy; ``authorization`` is the value of ``Proxy-Authorization`` or None."""

    endpoint: Endpoint
    authorization: str | None


def proxy_for(target: Target) -> Proxy | None:
    """Return the environment's proxy for the target. Raises ``ValueError`` for a proxy URL of another kind."""
    url = getproxies_environment().get(target.scheme)
    if not url or proxy_bypass_environment(f"{target.host}:{target.port}"):
        return None
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if parts.scheme != "http" or not parts.hostname:
        raise ValueError(f"the {target.scheme.upper()}_PROXY of the environment must be http://host:port")
    login = f"{unquote(parts.username)}:{unquote(parts.password or '')}" if parts.username else None
    basic = f"Basic {b64encode(login.encode()).decode()}" if login else None
    return Proxy(Endpoint(parts.hostname, parts.port or 3128), basic)


async def open_tunnel(proxy: Proxy, target: Target) -> tuple[asyncio.Transport, asyncio.BaseProtocol]:
    """Ask the proxy for a tunnel to the target. Raises ``DialError``."""
    transport, talk = await open_transport(_Connect, proxy.endpoint)
    where = f"{target.host_in_url}:{target.port}"
    login = f"Proxy-Authorization: {proxy.authorization}\r\n" if proxy.authorization else ""
    transport.write(f"CONNECT {where} HTTP/1.1\r\nHost: {where}\r\n{login}\r\n".encode("latin-1"))
    try:
        status_line = await talk.answer
    except BaseException:
        transport.abort()
        raise
    if status_line.split(" ")[1:2] != ["200"]:
        transport.abort()
        raise DialError("proxy_refused", f"proxy {proxy.endpoint}: {status_line}")
    return transport, talk


class _Connect(asyncio.Protocol):
    """Reads the proxy's answer to CONNECT, up to its empty line."""

    def __init__(self) -> None:
        self.answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._read = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._read += data
        if self.answer.done():
            return
        if b"\r\n\r\n" in self._read:
            self._transport.pause_reading()
            self.answer.set_result(self._read.split(b"\r\n", 1)[0].decode("latin-1"))
        elif len(self._read) > _MAX_ANSWER:
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.answer.done():
            self.answer.set_exception(DialError("proxy_failed", f"the proxy hung up: {exc or 'closed'}"))
