"""Opening a connection: name, TCP, TLS; and telling why it could not be opened.

In: where to, and a protocol factory. Out: a connected transport, or :class:`DialError`, which means that
no byte of any message has left. Every exception of the resolver, the sockets and the TLS library is
translated here.
"""

from __future__ import annotations

import asyncio
import select
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

ProtocolT = TypeVar("ProtocolT", bound=asyncio.BaseProtocol)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to connect. ``tls`` is None for a connection in the clear."""

    host: str
    port: int
    tls: ssl.SSLContext | None = None

    def __str__(self) -> str:
        """Return ``host:port`` as people write it."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class DialError(Exception):
    """No connection. ``code``: name_not_resolved, connect_failed, tls_failed or tls_not_trusted."""

    def __init__(self, code: str, message: str) -> None:
        """``message`` names the endpoint."""
        self.code = code
        self.message = message
        super().__init__(f"{code}: {message}")


def client_tls_context(*, verify: bool = True, ca: bytes | None = None) -> ssl.SSLContext:
    """Build a TLS 1.2+ context that trusts the authorities in ``ca`` (PEM), else the system's.

    Raises ``ValueError`` if ``ca`` holds no certificates.
    """
    try:
        context = ssl.create_default_context(cadata=None if ca is None else ca.decode("ascii"))
    except (ssl.SSLError, UnicodeDecodeError, ValueError) as error:
        raise ValueError(f"ca.crt must hold certificates in PEM: {error}") from error
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


async def open_transport(factory: Callable[[], ProtocolT], endpoint: Endpoint) -> tuple[asyncio.Transport, ProtocolT]:
    """Connect, and complete the TLS handshake where the endpoint asks for one. Raises ``DialError``."""
    loop = asyncio.get_running_loop()
    name = endpoint.host if endpoint.tls else None
    try:
        return await loop.create_connection(
            factory, endpoint.host, endpoint.port, ssl=endpoint.tls, server_hostname=name
        )
    except (OSError, UnicodeError, ValueError) as error:
        raise dial_error(error, endpoint) from error


async def upgrade_to_tls(
    transport: asyncio.Transport, protocol: asyncio.BaseProtocol, context: ssl.SSLContext, endpoint: Endpoint
) -> asyncio.Transport:
    """Start TLS on an open connection (STARTTLS, a proxy's tunnel). Raises ``DialError``."""
    loop = asyncio.get_running_loop()
    try:
        upgraded = await loop.start_tls(transport, protocol, context, server_hostname=endpoint.host)
    except (OSError, UnicodeError, ValueError) as error:
        transport.abort()
        raise dial_error(error, endpoint) from error
    if upgraded is None:
        raise DialError("tls_failed", f"{endpoint}: the connection closed during the TLS handshake")
    return upgraded


def dial_error(error: Exception, endpoint: Endpoint) -> DialError:
    """Name what went wrong while connecting."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return DialError("tls_not_trusted", f"{endpoint}: {error.verify_message}")
    if isinstance(error, ssl.SSLError):
        return DialError("tls_failed", f"{endpoint}: {error.reason or error}")
    if isinstance(error, (socket.gaierror, UnicodeError)):
        return DialError("name_not_resolved", f"{endpoint.host}: {error}")
    if endpoint.tls and isinstance(error, (ConnectionResetError, ConnectionAbortedError)):
        return DialError("tls_failed", f"{endpoint}: the far end broke off the TLS handshake")
    return DialError("connect_failed", f"{endpoint}: {error}")


class Ear:
    """Hears what the event loop has not read yet.

    The loop learns only between two tasks that a kept connection was closed, and then a message may have been
    written to it. One system call before that tells.
    """

    def __init__(self, transport: asyncio.BaseTransport) -> None:
        """Listen on the transport's socket."""
        self._poll = select.poll()
        self._poll.register(transport.get_extra_info("socket").fileno(), select.POLLIN)

    def hears(self) -> bool:
        """Say whether the quiet connection has become readable: closed by the peer, or talking out of turn."""
        return bool(self._poll.poll(0))
