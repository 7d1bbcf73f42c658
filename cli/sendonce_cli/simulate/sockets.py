"""Listening sockets that can go away and come back on their port, and connections that are reset.

In: an address and a way to make a server on a socket. Out: a port that stays the same for good.
"""

import asyncio
import contextlib
import socket
import struct
from collections.abc import Awaitable, Callable

from sendonce_cli.simulate.behaviour import SettingsError

_LINGER_NOT = struct.pack("ii", 1, 0)

Opener = Callable[[socket.socket], Awaitable[asyncio.Server]]


class Listener:
    """A port that is either served or refuses connections, and is kept meanwhile.

    A second socket holds the port without listening: while ours is closed, nobody gets it by chance
    and connections are refused.
    """

    def __init__(self, field: str, host: str, port: int, opener: Opener) -> None:
        """Take the port, 0 for a free one; raises ``SettingsError`` that names ``field``."""
        self._opener = opener
        self._server: asyncio.Server | None = None
        self._host = host
        try:
            self._keeper = _bound(host, port)
        except OSError as error:
            problem = f"cannot listen on {host} port {port}: {error.strerror}"
            raise SettingsError(field, problem) from error
        self.port: int = self._keeper.getsockname()[1]

    async def open(self) -> None:
        """Serve; does nothing if it does already."""
        if self._server is None:
            self._server = await self._opener(_bound(self._host, self.port))

    def close(self) -> None:
        """Refuse connections from now on; existing ones stay."""
        if self._server is not None:
            self._server.close()
            self._server = None

    def give_up(self) -> None:
        """Close for good and let go of the port."""
        self.close()
        self._keeper.close()


def reset(transport: asyncio.WriteTransport) -> None:
    """Cut a connection with a TCP reset, unsent answers included."""
    # A connection that is gone already has no socket to set this on.
    with contextlib.suppress(OSError):
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOT)
    transport.abort()


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        # With this on both, Linux lets one that listens in beside one that does not, but not beside
        # another that listens: a port that is in use is still refused.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
    except OSError:
        sock.close()
        raise
    return sock
